"""Linear algebra that the interior-point and active-set methods share.

:mod:`priorsvm.schur` does not use this module. It imports nothing of the library, works with the upper
triangle, and measures steps in the scaled coordinates of its cones.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from scipy.linalg.lapack import dpotrf

from .arrays import Array


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
