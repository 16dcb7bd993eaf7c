"""Best bias of a decision function whose other coefficients are fixed."""

from __future__ import annotations

import numpy as np

from ..._utils.arrays import Array

# A slope is 0 if it is smaller, in parts of the sum of all C.
ROUNDING = 1e-13


def best_bias(required: Array, y: Array, C: Array) -> tuple[float, Array]:
    r"""Return the b of least :math:`\sum_i C_i [r_i - y_i b]_+`, and the dual variables there.

    The slope of the sum starts at minus the cost of class +1 and grows by C at each :math:`b = y_i r_i`.
    Where it changes sign, the rows with their kink there take the rest of the balance. If the slope is 0
    between two kinks, b is the middle between them.
    """
    kinks = y * required
    order = np.argsort(kinks, kind="stable")
    slope = np.cumsum(C[order]) - C[y > 0].sum()
    rounding = ROUNDING * float(C.sum())
    k = min(int(np.searchsorted(slope, -rounding)), len(order) - 1)
    b = float(kinks[order[k]])
    if slope[k] <= rounding and k + 1 < len(order):
        b = 0.5 * (b + float(kinks[order[k + 1]]))
    a = np.where((required > y * b) & (kinks != b), C, 0.0)
    left = -float(y @ a)
    there = np.flatnonzero((kinks == b) & (y * left > 0))
    before = np.cumsum(C[there]) - C[there]
    a[there] = np.clip(abs(left) - before, 0.0, C[there])
    return b, a
