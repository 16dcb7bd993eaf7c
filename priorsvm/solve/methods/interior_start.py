r"""Start of the active-set method for a linear model: an interior-point solution of the dual.

.. math:: \min_{w, a}\; \tfrac12\|w\|^2 + \tfrac12 a^\top D a - \rho^\top a \quad\text{s.t.}\quad
          w = Z^\top a, \quad e^\top a = 0, \quad l \le a \le u, \quad T^\top a \le \mu .

CLARABEL solves it without CVXPY. Rows of few features are linearly dependent, and the active-set method takes
many steps if rows that share a slack are unknown.

The 32 vertices of one box took 150 steps from LIBSVM's start, and take one from this start.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csc_array

from ..._utils.arrays import Array
from .active import RowDual


def interior_start(Z: Array, diagonal: Array, rows: RowDual) -> Array | None:
    """Return dual variables near the answer, at their bounds if these are active; None without an answer.

    Parameters
    ----------
    Z : (n, d) array
        Rows of the linear model.
    diagonal : (n,) array
        D.
    rows : RowDual
        The rest of the dual problem.
    """
    import clarabel

    n, d = Z.shape
    low = np.flatnonzero(np.isfinite(rows.lower))
    high = np.flatnonzero(np.isfinite(rows.upper))
    first_low = d + 1
    first_high = first_low + len(low)
    first_sum = first_high + len(high)
    size = first_sum + len(rows.sum_limit)
    row, sum_column = np.nonzero(rows.sum_weight)
    at = np.arange(n)
    entries = [
        (np.ones(d), np.arange(d), np.arange(d)),
        (-Z.ravel(), np.tile(np.arange(d), n), d + np.repeat(at, d)),
        (rows.bias_weight, np.full(n, d), d + at),
        (np.full(len(low), -1.0), first_low + np.arange(len(low)), d + low),
        (np.ones(len(high)), first_high + np.arange(len(high)), d + high),
        (rows.sum_weight[row, sum_column], first_sum + sum_column, d + row),
    ]
    values, i, j = (np.concatenate(part) for part in zip(*entries, strict=True))
    A = csc_array((values, (i, j)), (size, d + n))
    b = np.concatenate([np.zeros(d + 1), -rows.lower[low], rows.upper[high], rows.sum_limit])
    costs = np.concatenate([np.ones(d), diagonal])
    P = csc_array((costs, (np.arange(d + n), np.arange(d + n))), (d + n, d + n))
    q = np.concatenate([np.zeros(d), -rows.target])
    cones = [clarabel.ZeroConeT(d + 1), clarabel.NonnegativeConeT(size - d - 1)]
    settings: Any = clarabel.DefaultSettings()
    settings.verbose = False
    answer = clarabel.DefaultSolver(P, q, A, b, cones, settings).solve()
    if str(answer.status) not in ("Solved", "AlmostSolved"):
        return None
    a = np.array(answer.x)[d:]
    pressure = np.array(answer.z)
    at_low = a[low] - rows.lower[low] < pressure[first_low:first_high]
    at_high = rows.upper[high] - a[high] < pressure[first_high:first_sum]
    a[low[at_low]] = rows.lower[low[at_low]]
    a[high[at_high]] = rows.upper[high[at_high]]
    return a
