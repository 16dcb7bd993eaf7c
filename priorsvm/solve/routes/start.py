"""Start of the active-set method on rows of f: dual variables of a quick run of LIBSVM."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._utils.arrays import Array, as_slice
from ..._utils.foreign import fit_libsvm
from ..methods.active import RowDual
from .libsvm import IMPATIENT

# Work of the active-set method, in factorisations of a matrix between all rows; more where rows are few.
EFFORT = 10.0
SMALL = 2000.0

# Tolerance of LIBSVM. On 1100 rows with C = 0.1 to 100, the fit takes 0.6 to 1.1 of the time with 0.01. With
# 0.3 it takes 0.7 to 1.5.
ROUGH = 0.1

# Up to this many rows LIBSVM takes less time than steps of the active-set method, and has this tolerance. On
# 100 rows the two take 0.3 to 0.7 of the time with 0.1.
FEW = 400
CLOSE = 1e-3

# Runs of LIBSVM with the worst of the rows that share a slack.
UPDATES = 4

# Bound for LIBSVM of dual variables without a bound.
NEVER = 1e100


def guess(Q: Array, rows: RowDual) -> Array:
    """Return dual variables near the answer: LIBSVM's for rows that are margins, 0 for other rows.

    If there are few rows, the worst of the rows that share a slack is a margin, too.
    """
    none = np.clip(0.0, rows.lower, rows.upper)
    zero_end = np.where(rows.target > 0, rows.lower, rows.upper)
    bound = np.minimum(np.where(rows.target > 0, rows.upper, -rows.lower), NEVER)
    weight = 1.0 if rows.bias_weight.any() else 0.0
    plain = (np.abs(rows.target) == 1.0) & (rows.bias_weight == weight) & (zero_end == 0.0) & (bound > 0)
    shared = rows.sum_weight != 0
    margins = np.flatnonzero(plain & ~shared.any(axis=1))
    if not len(margins) or np.ptp(rows.target[margins]) == 0:
        return none
    groups = [np.flatnonzero(plain & of) for of in shared.T]
    limits = [(group, limit) for group, limit in zip(groups, rows.sum_limit, strict=True) if len(group)]
    worst: list[int] = []
    for _ in range(1 + UPDATES if limits and len(none) <= FEW else 1):
        some = np.concatenate([margins, worst]).astype(int)
        a = none.copy()
        a[some] = _libsvm(Q, some, rows.target[some], bound[some], weight > 0)
        before = worst
        excess = np.sign(rows.target) * (Q @ a)
        worst = [int(group[np.argmin(excess[group])]) for group, _ in limits]
        if worst == before:
            break
        bound[worst] = [limit for _, limit in limits]
    return a


def _libsvm(Q: Array, some: Array, y: Array, bound: Array, biased: bool) -> Array:
    """Return the dual variables of some rows that are margins."""
    at = as_slice(some)
    K = np.ascontiguousarray(Q[at, at] if isinstance(at, slice) else Q[np.ix_(some, some)])
    options = {"cache_size": 500, "max_iter": IMPATIENT[0] + IMPATIENT[1] * len(some), "shrinking": True}
    tol = CLOSE if len(some) <= FEW else ROUGH
    fit = _with_bias if biased else _without_bias
    return fit(K, y, bound, tol, options)


def _with_bias(K: Array, y: Array, bound: Array, tol: float, options: dict[str, Any]) -> Array:
    """Return the dual variables of LIBSVM."""
    return fit_libsvm(K, y, bound, {"kernel": "precomputed"}, tol, options)[0]


def _without_bias(K: Array, y: Array, bound: Array, tol: float, options: dict[str, Any]) -> Array:
    """Return the dual variables of LIBSVM for f without a bias.

    Every row has a mirror image of the other class, so that the best bias is 0.
    """
    n = len(y)
    doubled = np.empty((2 * n, 2 * n))
    doubled[:n, :n] = K
    doubled[n:, n:] = K
    doubled[:n, n:] = -K
    doubled[n:, :n] = -K
    halves = np.concatenate([bound, bound]) / 2
    found = _with_bias(doubled, np.concatenate([y, -y]), halves, tol, options)
    return np.clip(found[:n] - found[n:], np.where(y < 0, -bound, 0.0), np.where(y > 0, bound, 0.0))
