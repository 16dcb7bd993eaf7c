"""
Ellipsoid: a known class near a point
=====================================

You can say: everything near this point belongs to that class. Use :class:`~priorsvm.Ellipsoid` with a
centre and a radius, semi-axes or a matrix.

Guide: :doc:`/guide/ellipsoid`.

.. alt: Two panels. With the block, the hatched ellipse below the rows lies wholly on the side of its
   class.
"""

from sklearn.datasets import make_blobs

from priorsvm import RBF, Ellipsoid, PriorSVC, plot

X, y = make_blobs(40, centers=[[0, 0], [3, 1]], cluster_std=0.8, random_state=5)
near = Ellipsoid([2.0, -2.2], [1.2, 0.6], label=0, hard=True)

plain = PriorSVC(kernel=RBF(0.4), C=10).fit(X, y)
model = PriorSVC(near, kernel=RBF(0.4), C=10).fit(X, y)
plot.compare({"plain": plain, "f ≤ −1 in an ellipse": model})
