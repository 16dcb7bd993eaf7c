"""
Region: a known class where a function is at most 0
===================================================

You can say: where my function g(x) is at most 0, the class is known. Use :class:`~priorsvm.Region` for
shapes that are not boxes, polyhedra or ellipsoids. Its result is checked at points, not proven.

Guide: :doc:`/guide/region`.

.. alt: Two panels. With the block, a hatched ring around the centre belongs to the second class, also
   where there are no rows.
"""

import numpy as np

from priorsvm import RBF, PriorSVC, Region, plot

rng = np.random.default_rng(0)
X = np.vstack([rng.normal(0, 0.5, (15, 2)), rng.normal([2, 0], 0.25, (15, 2))])
y = np.repeat([0, 1], 15)


def g(P):
    return np.abs(np.hypot(P[:, 0], P[:, 1]) - 2.0) - 0.2


ring = Region(g, 64, label=1, hard=True, within={0: (-2.3, 2.3), 1: (-2.3, 2.3)})
plain = PriorSVC(kernel=RBF(1.0), C=10).fit(X, y)
model = PriorSVC(ring, kernel=RBF(1.0), C=10).fit(X, y)
plot.compare({"plain": plain, "f ≥ 1 on a ring": model}, verify=False)
