"""
TangentDistance: the distance between tangents of rows
======================================================

You can say: small turns have no effect, so distances are measured between tangents. Use
:class:`~priorsvm.TangentDistance` if changes are small and smooth.

Guide: :doc:`/guide/tangents`.

.. alt: Two panels with values of a kernel around one point. With tangents, the kernel is high along a
   band in the direction of the turn.
"""

import matplotlib.pyplot as plt
import numpy as np

from priorsvm import RBF, FromFunction, TangentDistance, plot


def turn(P, t):
    return P @ [[np.cos(t), np.sin(t)], [-np.sin(t), np.cos(t)]]


turns = FromFunction(turn, thetas=np.linspace(-0.5, 0.5, 9))
kernels = {"RBF": RBF(3.0), "TangentDistance": TangentDistance(3.0, turns, sides=1, bounds=0.5)}
figure, axes = plt.subplots(1, 2, figsize=(9.2, 3.6), layout="constrained")
for ax, (title, kernel) in zip(axes, kernels.items(), strict=True):
    plot.kernel(kernel, [0.6, 1.0], extent=(-2, 2, -2, 2), ax=ax).set_title(title)
