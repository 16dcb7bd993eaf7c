"""
Polyhedron: a known class where linear inequalities hold
========================================================

You can say: where these linear inequalities hold, the class is known. Use :class:`~priorsvm.Polyhedron`
if limits depend on several columns, such as x0 + x1 ≤ 1.

Guide: :doc:`/guide/polyhedron`.

.. alt: Two panels. With the block, the hatched triangle lies wholly on the side of its class.
"""

from sklearn.datasets import make_blobs

from priorsvm import Polyhedron, PriorSVC, plot

X, y = make_blobs(40, centers=[[0, 3], [3, 2]], cluster_std=0.6, random_state=0)
B, d = [[1, 1], [-1, 0], [0, -1]], [2, 0, 0]
triangle = Polyhedron(B, d, label=1, hard=True)

plain = PriorSVC().fit(X, y)
model = PriorSVC(triangle).fit(X, y)
plot.compare({"plain": plain, "f ≥ 1 in a triangle": model})
