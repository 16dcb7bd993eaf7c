"""
Trajectories: a row keeps its class along a curve
=================================================

You can say: a row keeps its class all along a continuous change. Use :class:`~priorsvm.Trajectories` if
the worst place on the curve counts, also between two copies.

Guide: :doc:`/guide/trajectories`.

.. alt: Two panels. With the block every row is a short arc, and no arc crosses the decision boundary.
"""

import numpy as np

from priorsvm import FromFunction, PriorSVC, Trajectories, plot

rng = np.random.default_rng(0)
angle, radius = rng.uniform(-0.3, 0.3, 14), np.repeat([1.0, 2.0], 7)
X = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])
y = np.repeat([0, 1], 7)


def turn(P, t):
    return P @ [[np.cos(t), np.sin(t)], [-np.sin(t), np.cos(t)]]


turns = FromFunction(turn, thetas=[-0.5, 0.5])
plain = PriorSVC(C=100).fit(X, y)
model = PriorSVC(Trajectories(turns), C=100).fit(X, y)
plot.compare({"plain": plain, "along turns": model})
