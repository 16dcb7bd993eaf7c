"""
TangentVector: distances along tangents count less
==================================================

You can say: a difference in the direction of a small change counts less. Use
:class:`~priorsvm.TangentVector` if changes are small and their usual size is known.

Guide: :doc:`/guide/tangents`.

.. alt: Two panels with values of a kernel around one point. With tangents, the kernel falls slowly in the
   direction of the turn.
"""

import matplotlib.pyplot as plt
import numpy as np

from priorsvm import RBF, FromFunction, TangentVector, plot


def turn(P, t):
    return P @ [[np.cos(t), np.sin(t)], [-np.sin(t), np.cos(t)]]


turns = FromFunction(turn, thetas=np.linspace(-0.5, 0.5, 9))
kernels = {"RBF": RBF(3.0), "TangentVector": TangentVector(3.0, turns, spread=0.7)}
figure, axes = plt.subplots(1, 2, figsize=(9.2, 3.6), layout="constrained")
for ax, (title, kernel) in zip(axes, kernels.items(), strict=True):
    plot.kernel(kernel, [0.6, 1.0], extent=(-2, 2, -2, 2), ax=ax).set_title(title)
