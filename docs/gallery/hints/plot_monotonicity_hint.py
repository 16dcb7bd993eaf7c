"""
MonotonicityHint: scores rise with a feature, at pairs of rows
==============================================================

You can say: of two rows, the row with the larger value has the higher score. Use
:class:`~priorsvm.MonotonicityHint` for a preference at pairs of rows. For a guarantee use Monotone.

Guide: :doc:`/guide/monotonicity_hint`.

.. alt: Two panels with noisy labels. The plain model has an island of class 1 at the upper left. With the
   hint this island disappears.
"""

import numpy as np

from priorsvm import RBF, MonotonicityHint, PriorSVC, plot

rng = np.random.default_rng(4)
X = rng.uniform(0, 3, (50, 2))
y = (X[:, 0] + rng.normal(0, 0.8, 50) > 1.5).astype(int)

plain = PriorSVC(kernel=RBF(2.0), C=10).fit(X, y)
hint = MonotonicityHint({0: +1}, mu=1000, pairs=300)
model = PriorSVC(hint, kernel=RBF(2.0), C=10).fit(X, y)
plot.compare({"plain": plain, "f rises with x0, at pairs": model}, verify=False)
