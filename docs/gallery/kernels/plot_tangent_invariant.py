"""
TangentInvariant: a kernel that is flat along tangents
======================================================

You can say: at the training rows, the score does not change with a small change. Use
:class:`~priorsvm.TangentInvariant` if the kernel should contain what TangentPenalty adds to the problem.

Guide: :doc:`/guide/tangents`.

.. alt: Two panels with two classes on rings. With the tangent-invariant kernel, the decision boundary
   follows the rings.
"""

import numpy as np

from priorsvm import RBF, FromFunction, PriorSVC, TangentInvariant, plot

rng = np.random.default_rng(2)
angle, radius = rng.uniform(0, 6.3, 24), np.repeat([1.0, 2.0], 12)
X = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])
y = np.repeat([0, 1], 12)


def turn(P, t):
    return P @ [[np.cos(t), np.sin(t)], [-np.sin(t), np.cos(t)]]


turns = FromFunction(turn, thetas=[-0.2, 0.2])
plain = PriorSVC(kernel=RBF(2.0), C=10).fit(X, y)
flat = TangentInvariant(RBF(2.0), turns, gamma=3000.0)
model = PriorSVC(kernel=flat, C=10).fit(X, y)
plot.compare({"RBF": plain, "TangentInvariant": model}, extent=(-2.6, 2.6, -2.6, 2.6))
