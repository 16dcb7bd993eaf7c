"""
FeatureDeletion: a few features may be absent
=============================================

You can say: any k features may be absent when the model is used. Use :class:`~priorsvm.FeatureDeletion`
in InvariantLoss, for example against spam that avoids telling words.

Guide: :doc:`/guide/feature_deletion`.

.. alt: Two panels with the same rows. With the block both features have a weight, so the model works with
   either of them.
"""

from sklearn.datasets import make_blobs

from priorsvm import FeatureDeletion, InvariantLoss, PriorSVC, plot

centres = [[-2, -1], [2, 1]]
X, y = make_blobs(40, centers=centres, cluster_std=0.4, random_state=2)
robust = InvariantLoss(FeatureDeletion(k=1))

plain = PriorSVC(C=10).fit(X, y)
model = PriorSVC(robust, C=10).fit(X, y)
plot.compare({"plain": plain, "one feature may be absent": model}, verify=False)
