"""
Shift: a vector may drift
=========================

You can say: a sensor may drift by so much in these columns. Use :class:`~priorsvm.Shift` for tables. The
vector is the largest drift.

Guide: :doc:`/guide/transforms`.

.. alt: Two panels with the same rows. With copies along the drift, the decision boundary becomes parallel
   to the drift.
"""

from sklearn.datasets import make_blobs

from priorsvm import PriorSVC, Shift, VirtualSamples, plot

X, y = make_blobs(24, centers=[[0, 0], [2.5, 0]], cluster_std=0.5, random_state=1)
drift = Shift([0.6, 1.2], steps=5)

plain = PriorSVC(C=10).fit(X, y)
model = PriorSVC(VirtualSamples(drift), C=10).fit(X, y)
plot.compare({"plain": plain, "copies along the drift": model}, verify=False)
