"""
HaarIntegration: the mean over all changes of both rows
=======================================================

You can say: turned patterns are alike, on average over all turns. Use :class:`~priorsvm.HaarIntegration`
if the kernel itself should be invariant. It is positive definite.

Guide: :doc:`/guide/invariant_kernels`.

.. alt: Two panels with values of a kernel around one point. The invariant kernel is bright along the arc
   of turns of this point.
"""

import matplotlib.pyplot as plt
import numpy as np

from priorsvm import RBF, FromFunction, HaarIntegration, plot


def turn(P, t):
    return P @ [[np.cos(t), np.sin(t)], [-np.sin(t), np.cos(t)]]


turns = FromFunction(turn, thetas=np.linspace(-1, 1, 25), isometric=True)
kernels = {"RBF": RBF(3.0), "HaarIntegration": HaarIntegration(RBF(3.0), turns)}
figure, axes = plt.subplots(1, 2, figsize=(9.2, 3.6), layout="constrained")
for ax, (title, kernel) in zip(axes, kernels.items(), strict=True):
    plot.kernel(kernel, [0.6, 1.0], extent=(-2, 2, -2, 2), ax=ax).set_title(title)
