"""
OddnessHint: opposite rows have opposite scores
===============================================

You can say: changing all signs changes the class. Use :class:`~priorsvm.OddnessHint` with two classes if
the problem has this symmetry.

Guide: :doc:`/guide/oddness_hint`.

.. alt: Two panels with rows in the right half. With the hint, the left half has the opposite classes, and
   the decision boundary is symmetric about the origin.
"""

import numpy as np

from priorsvm import RBF, OddnessHint, PriorSVC, plot

rng = np.random.default_rng(0)
X = rng.uniform([0, -2], [2, 2], (40, 2))
y = (X[:, 1] > np.sin(2 * X[:, 0])).astype(int)

plain = PriorSVC(kernel=RBF(0.7), C=10).fit(X, y)
model = PriorSVC(OddnessHint(hard=True), kernel=RBF(0.7), C=10).fit(X, y)
panels = plot.compare({"plain": plain, "odd": model}, extent=(-2.2, 2.2, -2.2, 2.2))
