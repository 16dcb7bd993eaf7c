"""
plot.kernel: which patterns a kernel takes for alike
====================================================

Draw the :func:`~priorsvm.plot.kernel` of one point with all points of the plane. Use it to see what a
kernel takes for alike.

Guide: :doc:`/guide/kernels`.

.. alt: Three panels with values of kernels around one point. The RBF is bright near the point, the
   polynomial is bright in two directions, and the sum is bright in both places.
"""

import matplotlib.pyplot as plt

from priorsvm import RBF, Polynomial, plot

rbf, square = RBF(0.5), Polynomial(2, gamma=1.0, coef0=1.0)
kernels = {"RBF": rbf, "Polynomial of degree 2": square, "their sum": 5 * rbf + square}
figure, axes = plt.subplots(1, 3, figsize=(13.2, 3.6), layout="constrained")
for ax, (title, kernel) in zip(axes, kernels.items(), strict=True):
    plot.kernel(kernel, [0.6, 1.0], extent=(-2, 2, -2, 2), ax=ax).set_title(title)
