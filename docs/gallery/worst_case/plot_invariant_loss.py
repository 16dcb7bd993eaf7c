"""
InvariantLoss: the worst of many changes counts
===============================================

You can say: a row keeps its class under all these changes, and the worst change counts. Use
:class:`~priorsvm.InvariantLoss` if a row should count once, with its worst change.

Guide: :doc:`/guide/invariant`.

.. alt: Two panels. With the block every row has small dots for its changes, and the decision boundary
   keeps its distance from the worst of them.
"""

import numpy as np

from priorsvm import InvariantLoss, PriorSVC, Shift, plot

rng = np.random.default_rng(5)
X = rng.normal(0, 0.5, (24, 2))
X[12:] += [2.5, 1.5]
y = np.repeat([0, 1], 12)
along = Shift([1.0, -1.5], steps=7)

plain = PriorSVC(C=10).fit(X, y)
model = PriorSVC(InvariantLoss(along), C=10).fit(X, y)
plot.compare({"plain": plain, "worst of seven shifts": model})
