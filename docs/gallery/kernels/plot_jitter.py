"""
Jitter: the nearest changed row counts
======================================

You can say: two patterns are alike if some turn of one is near the other. Use :class:`~priorsvm.Jitter`
if the best match should count. Correct it with ``psd="clip"``, because it is not positive definite.

Guide: :doc:`/guide/invariant_kernels`.

.. alt: Two panels with values of a kernel around one point. The jittering kernel has its highest value
   all along the arc of turns.
"""

import matplotlib.pyplot as plt
import numpy as np

from priorsvm import RBF, FromFunction, Jitter, plot


def turn(P, t):
    return P @ [[np.cos(t), np.sin(t)], [-np.sin(t), np.cos(t)]]


turns = FromFunction(turn, thetas=np.linspace(-1, 1, 25), isometric=True)
kernels = {"RBF": RBF(3.0), "Jitter": Jitter(RBF(3.0), turns)}
figure, axes = plt.subplots(1, 2, figsize=(9.2, 3.6), layout="constrained")
for ax, (title, kernel) in zip(axes, kernels.items(), strict=True):
    plot.kernel(kernel, [0.6, 1.0], extent=(-2, 2, -2, 2), ax=ax).set_title(title)
