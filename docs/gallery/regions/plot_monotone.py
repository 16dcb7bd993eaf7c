"""
Monotone: the score rises with a feature, everywhere
====================================================

You can say: the more of this column, the higher the score. Use :class:`~priorsvm.Monotone` if the
direction of an effect is known. With ``hard=True`` it holds everywhere.

Guide: :doc:`/guide/monotone`.

.. alt: Two panels with noisy labels. With the block, every horizontal line crosses the decision boundary
   at most once.
"""

import numpy as np

from priorsvm import RBF, Monotone, PriorSVC, plot

rng = np.random.default_rng(4)
X = rng.uniform(0, 3, (40, 2))
y = (X[:, 0] + rng.normal(0, 0.8, 40) > 1.5).astype(int)

plain = PriorSVC(kernel=RBF(2.0), C=10).fit(X, y)
model = PriorSVC(Monotone({0: +1}, hard=True), kernel=RBF(2.0), C=10).fit(X, y)
plot.compare({"plain": plain, "f rises with x0 everywhere": model})
