"""
plot.support_trajectories: where a trajectory is active
=======================================================

Draw the active trajectories and the places that touch the margin. Use
:func:`~priorsvm.plot.support_trajectories` for models with Trajectories.

Guide: :doc:`/guide/trajectories`.

.. alt: Arcs of the active rows, with diamonds and angles at the places that touch the margin.
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
model = PriorSVC(Trajectories(turns), C=100).fit(X, y)
plot.support_trajectories(model)
