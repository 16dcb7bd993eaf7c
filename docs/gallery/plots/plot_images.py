"""
plot.images: rows as images
===========================

Draw rows as :func:`~priorsvm.plot.images`, side by side and on one grey scale. Use it to look at images,
at their changes and at kernel matrices.

Guide: :doc:`/guide/plots`.

.. alt: Sixteen handwritten digits in two lines, with their classes above them.
"""

from sklearn.datasets import load_digits

from priorsvm import plot

X, y = load_digits(return_X_y=True)
plot.images(X[:16], (8, 8), titles=y[:16])
