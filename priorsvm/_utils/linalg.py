"""Linear algebra that the interior-point and active-set methods share.

:mod:`priorsvm.schur` does not use this module. It imports nothing of the library, works with the upper
triangle, and measures steps in the scaled coordinates of its cones.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from scipy.linalg.blas import dsyrk, ssyrk
from scipy.linalg.lapack import dpotrf

from .arrays import Array

# A Gram matrix is summed in single precision if it has more rows than columns, with so many rows at once, and
# if its diagonal stays below this number. Its error is then below 1e-3.
ROWS_AT_ONCE = 1024
LARGE = 1e4


def lifted_cholesky(M: Array, lifts: Iterable[float]) -> Array | None:
    r"""Return the lower Cholesky factor of :math:`M + \delta I` for the first lift that has one, or None.

    Near its optimum an interior-point method factors matrices that are singular in floating point. A small
    lift :math:`\delta` restores the factor; the caller corrects its effect by refinement or by the next
    step.

    Parameters
    ----------
    M : (n, n) array
        Symmetric matrix. Only the lower triangle is read, and M is not changed.
    lifts : iterable of float
        Values of δ, in the order in which they are tried.

    Returns
    -------
    (n, n) array or None
        Lower triangle L with :math:`L L^\top = M + \delta I`.
    """
    diagonal = M.diagonal()
    rows = np.arange(len(M))
    for lift in lifts:
        work = np.array(M, order="F")
        work[rows, rows] = diagonal + lift
        factor, failed = dpotrf(work, lower=1, overwrite_a=1)
        if not failed:
            return np.asarray(factor)
    return None


def step_to_boundary(x: Array, dx: Array) -> float:
    r"""Return the largest t with :math:`x + t\,dx \ge 0`, for positive x.

    A direction that never leaves the orthant returns 1e300 or more.
    """
    return 1.0 / max(float(np.max(-dx / x)), 1e-300)


def scaled_gram(B: Array, some: Array, factors: Array) -> Array:
    r"""Return the lower triangle of :math:`\sum_i f_i^2 b_i b_i^\top` over some rows of B, for a metric.

    Many rows are summed in single precision, unless an entry is so large that its error matters beside an
    identity matrix. Newton's method corrects this error in its next step.

    Parameters
    ----------
    B : (n, d) array
        The rows.
    some : (m,) array of int
        Positions of the rows in the sum.
    factors : (m,) array
        The factor of each of these rows.

    Returns
    -------
    (d, d) array
        Only the lower triangle is set.
    """
    size = B.shape[1]
    if len(some) > size:
        H = np.zeros((size, size), np.float32, order="F")
        for start in range(0, len(some), ROWS_AT_ONCE):
            part = slice(start, start + ROWS_AT_ONCE)
            with np.errstate(over="ignore"):
                scaled = (B[some[part]] * factors[part, None]).astype(np.float32)
            H = ssyrk(1.0, scaled.T, beta=1.0, c=H, lower=1, overwrite_c=1)
        if H.diagonal().max() <= LARGE:  # not if it is NaN
            return np.asarray(H, float)
    return np.asarray(dsyrk(1.0, (B[some] * factors[:, None]).T, lower=1))
