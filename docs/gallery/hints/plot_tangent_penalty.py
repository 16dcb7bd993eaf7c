"""
TangentPenalty: the score is flat along small changes
=====================================================

You can say: a very small change of this kind has no effect on the score. Use
:class:`~priorsvm.TangentPenalty` if changes are small and smooth. It acts at the training rows.

Guide: :doc:`/guide/tangent_penalty`.

.. alt: Two panels with two classes on rings around the origin. With the penalty, the decision boundary
   follows the rings.
"""

import numpy as np

from priorsvm import RBF, FromFunction, PriorSVC, TangentPenalty, plot

rng = np.random.default_rng(2)
angle, radius = rng.uniform(0, 6.3, 24), np.repeat([1.0, 2.0], 12)
X = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])
y = np.repeat([0, 1], 12)


def turn(P, t):
    return P @ [[np.cos(t), np.sin(t)], [-np.sin(t), np.cos(t)]]


turns = FromFunction(turn, thetas=[-0.2, 0.2])
plain = PriorSVC(kernel=RBF(2.0), C=10).fit(X, y)
model = PriorSVC(TangentPenalty(turns, gamma=3000.0), kernel=RBF(2.0), C=10).fit(X, y)
models = {"plain": plain, "flat along turns": model}
plot.compare(models, extent=(-2.6, 2.6, -2.6, 2.6), verify=False)
