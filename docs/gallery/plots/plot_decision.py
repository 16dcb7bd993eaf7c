"""
plot.decision: f and what is known, over a plane
================================================

Draw the :func:`~priorsvm.plot.decision` boundary, margins, rows, support vectors and the regions of
blocks. Use it for models with two columns, or for a slice through more columns.

Guide: :doc:`/guide/plots`.

.. alt: Decision boundary and margins of a model with one hard box, rows of two classes, rings around
   support vectors, and a legend.
"""

from sklearn.datasets import make_blobs

from priorsvm import RBF, Box, PriorSVC, plot

X, y = make_blobs(40, centers=[[0, 0], [3, 1]], cluster_std=0.8, random_state=5)
box = Box({0: (-1.0, 1.0), 1: (2.5, 4.0)}, label=0, hard=True)

model = PriorSVC(box, kernel=RBF(0.4), C=10).fit(X, y)
plot.decision(model)
