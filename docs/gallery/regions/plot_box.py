"""
Box: a known class between two values
=====================================

You can say: between these values the class is known. Use :class:`~priorsvm.Box` for ranges of columns. By
default it applies to rows. With ``hard=True`` it holds in the whole box.

Guide: :doc:`/guide/box`.

.. alt: Two panels. The hatched box at the upper left belongs to the other class for the plain model. With
   the block it lies wholly on the side of its class.
"""

from sklearn.datasets import make_blobs

from priorsvm import RBF, Box, PriorSVC, plot

X, y = make_blobs(40, centers=[[0, 0], [3, 1]], cluster_std=0.8, random_state=5)
box = Box({0: (-1.0, 1.0), 1: (2.5, 4.0)}, label=0, hard=True)

plain = PriorSVC(kernel=RBF(0.4), C=10).fit(X, y)
model = PriorSVC(box, kernel=RBF(0.4), C=10).fit(X, y)
plot.compare({"plain": plain, "f ≤ −1 in a box": model})
