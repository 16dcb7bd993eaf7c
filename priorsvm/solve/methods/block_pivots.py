r"""Block pivots: a start of the active-set method in which many rows change between their bounds at once.

A step meets the targets of all free rows, whatever their bounds. Then rows beyond a bound are set to it, and
rows on the wrong side of their target become free, all at once. Near the solution a few steps suffice. They
may also cycle, so :func:`.active.optimise` continues from the result.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg.lapack import dpotrs

from ..._utils.arrays import Array
from ..._utils.linalg import lifted_cholesky
from .active import LIFTS, KernelMatrix, RowDual

# Most steps, and steps that may pass without fewer rows out of place.
STEPS = 20
PATIENCE = 4


def block_pivots(kernel: KernelMatrix, rows: RowDual, a: Array, tol: float) -> Array:
    """Return dual variables nearer to the solution, within their bounds.

    The start is returned unless at most half as many rows are out of place as after the first step.
    """
    best = a
    fewest = len(a) + 1
    first = None
    patience = PATIENCE
    free = (a > rows.lower) & (a < rows.upper)
    at_limit = rows.sum_weight.T @ a >= rows.sum_limit * (1 - 1e-12)
    for _ in range(STEPS):
        step = _met_targets(kernel, rows, a, free, at_limit)
        if step is None:
            break
        a, bias, slack = step
        excess = kernel.times(a) + bias * rows.bias_weight + rows.sum_weight @ slack - rows.target
        beyond = (a < rows.lower) | (a > rows.upper)
        wrong = ~free & (((a < rows.upper) & (excess < -tol)) | ((a > rows.lower) & (excess > tol)))
        over = ~at_limit & (rows.sum_weight.T @ a > rows.sum_limit * (1 + 1e-12))
        released = at_limit & (slack < -tol)
        a = np.clip(a, rows.lower, rows.upper)
        count = sum(int(part.sum()) for part in (beyond, wrong, over, released))
        patience -= 1
        first = count if first is None else first
        if count < fewest and 2 * count <= first:
            fewest = count
            best = a
            patience = PATIENCE
        if count == 0 or patience == 0:
            break
        free = (free & ~beyond) | wrong
        at_limit = (at_limit & ~released) | over
    total = rows.sum_weight.T @ best
    for k in np.flatnonzero(total > rows.sum_limit):
        best = np.where(rows.sum_weight[:, k] != 0, best * (rows.sum_limit[k] / total[k]), best)
    return best


def _met_targets(
    kernel: KernelMatrix, rows: RowDual, a: Array, free: Array, at_limit: Array
) -> tuple[Array, float, Array] | None:
    """Return dual variables at which free rows meet their targets, the bias and the slacks, or None."""
    F = np.flatnonzero(free)
    limits = np.flatnonzero(at_limit)
    C = np.column_stack([rows.bias_weight[F], rows.sum_weight[F][:, limits]])
    if len(F) == 0 or np.linalg.matrix_rank(C) < C.shape[1]:
        return None
    sums = np.append(-rows.bias_weight @ a, (rows.sum_limit - rows.sum_weight.T @ a)[limits])
    K = kernel.among(F)
    multiple = float(K.diagonal().max())
    # K + m ee' is regular where K is not, and has the same solution with another bias.
    factor = lifted_cholesky((K + multiple * np.outer(C[:, 0], C[:, 0])).T, 2 * multiple * LIFTS)
    if factor is None:
        return None
    right = rows.target[F] - kernel.times(a)[F]
    solved = np.asarray(dpotrs(factor, np.column_stack([right, C]), lower=1)[0])
    try:
        eta = np.linalg.solve(C.T @ solved[:, 1:], C.T @ solved[:, 0] - sums)
    except np.linalg.LinAlgError:
        return None
    found = a.copy()
    found[F] += solved[:, 0] - solved[:, 1:] @ eta
    slack = np.zeros(len(at_limit))
    slack[limits] = eta[1:]
    return found, float(eta[0] + multiple * sums[0]), slack
