"""
FeatureScaling: a few features may be scaled
============================================

You can say: any k features may be half or twice as large as measured. Use
:class:`~priorsvm.FeatureScaling` in InvariantLoss. The worst of all scalings is found exactly.

Guide: :doc:`/guide/feature_scaling`.

.. alt: Two panels with the same rows. With the block, the decision boundary tilts, and both features have
   a weight.
"""

from sklearn.datasets import make_blobs

from priorsvm import FeatureScaling, InvariantLoss, PriorSVC, plot

centres = [[1, 1], [5, 3]]
X, y = make_blobs(40, centers=centres, cluster_std=0.5, random_state=2)
scaled = InvariantLoss(FeatureScaling(k=1, low=0.5, high=2.0))

plain = PriorSVC(C=10).fit(X, y)
model = PriorSVC(scaled, C=10).fit(X, y)
plot.compare({"plain": plain, "one feature × 0.5 to 2": model}, verify=False)
