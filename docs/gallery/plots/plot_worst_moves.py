"""
plot.worst_moves: the worst change of each image
================================================

Draw images and below each its change with the smallest margin. Use :func:`~priorsvm.plot.worst_moves` for
any block with a transform.

Guide: :doc:`/guide/plots`.

.. alt: Eight handwritten digits, and below each the same digit moved by one pixel, with the margins
   before and after.
"""

from sklearn.datasets import load_digits

from priorsvm import InvariantLoss, PriorSVC, Translation, plot

X, y = load_digits(n_class=2, return_X_y=True)
block = InvariantLoss(Translation((8, 8)))

model = PriorSVC(block).fit(X[:40] / 16, y[:40])
plot.worst_moves(model, count=8)
