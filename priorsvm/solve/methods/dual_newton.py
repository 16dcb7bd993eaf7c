r"""Newton's method on the dual of a linear model with sparse rows and many features.

.. math:: \max_\alpha\; \rho^\top \alpha - \tfrac12 \|Z^\top (y \alpha)\|^2 \quad\text{s.t.}\quad
          0 \le \alpha \le C, \quad y^\top \alpha = 0

The matrix of inner products would be dense, and so would the normal equations. Both are only applied to
vectors, as :math:`Z (Z^\top v)`. Rows on the margin are free, and their dual variables solve

.. math:: Z_F Z_F^\top \Delta a + b = (\rho y - Z Z^\top a)_F, \qquad
          \textstyle\sum_F \Delta a_i = -\sum_i a_i, \qquad a = y \alpha,

by conjugate gradients. Few are needed, because sparse rows are nearly orthogonal. Then
:math:`t_i = \alpha_i + (\rho_i - y_i f(x_i)) / \|z_i\|^2` is computed for every row. If :math:`t_i \le 0`,
the dual variable is zero. If :math:`t_i \ge C`, it is at its bound. Otherwise the row is free. This is
Newton's method for the optimality conditions, which hold once no row changes sides.

The start is LIBLINEAR's answer. LIBLINEAR penalises the bias, but with the best bias for its w nearly the
same rows are on the margin. For the squared hinge no row has a bound, and :math:`1/2C_i` is added to the
diagonal. Far from the optimum the steps may diverge, which raises SolverFailed.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from sklearn.exceptions import ConvergenceWarning

from ..._utils.arrays import Array
from ..._utils.deadline import NEVER, Deadline
from ...errors import SolverFailed

# Rows within NEAR of their margin, or within SHARE of the deviation of f, are free at first; at least FEW.
NEAR = 0.05
SHARE = 0.1
FEW = 100

# Residual of the equations of a step, before and after at most this share of free rows changes sides.
ROUGH = 1e-4
FINE = 1e-12
SETTLED = 0.01

# Steps, and conjugate gradients of each. For 20 000 texts it takes 4 to 6 steps of 10 to 100 gradients.
STEPS = 40
GRADIENTS = 500

# Relative increase of the diagonal: equal rows share a dual variable. The next step corrects the error.
LIFT = 1e-10


def newton(
    Z: Any, y: Array, bound: Array, rho: Array, squared: bool = False, deadline: Deadline = NEVER
) -> tuple[Array, float, int]:
    """Return dual variables, the bias, and the number of steps.

    Parameters
    ----------
    Z : (n, d) sparse array
    y : (n,) array of -1.0 and 1.0
    bound : (n,) positive array, C of every row
    rho : (n,) array, the margins
    squared : whether the loss is the squared hinge
    deadline : when the method has to end, with OutOfTime
    """
    diagonal = 0.5 / bound if squared else np.zeros(len(y))
    upper = np.full(len(y), np.inf) if squared else bound
    size = Z.multiply(Z).sum(axis=1) + diagonal
    if not size.any():
        raise SolverFailed("SPARSE: all rows are zero. Use solver='auto'.")
    size = size + 1e-6 * size.max()
    alpha, free, bias = _guess(_liblinear(Z, y, bound, rho, squared), y, bound, rho, squared)
    loss_of_zero = _loss(rho, bound, squared)
    ones = np.zeros(len(y))
    tol = ROUGH
    for step in range(1, STEPS + 1):
        deadline.check()
        F = np.flatnonzero(free)
        a = y * alpha
        if not len(F):
            break
        system = _System(Z[F], diagonal[F], size[F])
        missing = (rho * y - diagonal * a - Z @ (a @ Z) - bias)[F]
        total = -float(a.sum())
        change, ones[F] = system.solved(missing, ones[F], tol)
        inner = (float(change.sum()) - total) / float(ones[F].sum())
        a[F] += change - inner * ones[F]
        w = a @ Z
        bias = bias + inner + system.shift * total
        alpha = y * a
        short = rho - y * (Z @ w + bias)
        if not 0.5 * float(w @ w) + _loss(short, bound, squared) <= loss_of_zero:
            break
        target = alpha + (short - diagonal * alpha) / size
        free_before = free
        free = (target > 0) & (target < upper)
        alpha = np.clip(alpha, 0.0, upper)
        changed = np.count_nonzero(free != free_before)
        if changed == 0 and tol == FINE:
            return alpha, bias, step
        tol = FINE if changed <= SETTLED * len(F) else tol
        at_end = np.where(target > 0, upper, 0.0)
        alpha = np.where(free, alpha, at_end)
    raise SolverFailed(
        "SPARSE: Newton's steps do not converge. They have no step length, and may fail if many rows are on "
        "the margin or X has more rows than features. Use solver='auto'."
    )


def _loss(short: Array, bound: Array, squared: bool) -> float:
    """Return the loss of rows that miss their margin by ``short``."""
    slack = np.maximum(short, 0.0)
    return float(bound @ (slack**2 if squared else slack))


def _guess(scores: Array, y: Array, bound: Array, rho: Array, squared: bool) -> tuple[Array, Array, float]:
    """Return dual variables, which rows are free, and the bias, from an f that is accurate up to its bias."""
    near = min(NEAR, SHARE * float(scores.std()))
    if squared:
        short = rho - y * scores
        return 2.0 * bound * np.maximum(short, 0.0), short > -near, 0.0
    # The loss is least where the rows on the left of their margin weigh as much as the positive rows.
    wanted = y * rho - scores
    order = np.argsort(wanted)
    place = int(np.searchsorted(np.cumsum(bound[order]), bound[y > 0].sum()))
    bias = float(wanted[order[min(place, len(y) - 1)]])
    short = y * (wanted - bias)
    few = min(FEW, len(y))
    free = np.abs(short) <= max(near, float(np.sort(np.abs(short))[few - 1]))
    at_end = np.where(short > 0, bound, 0.0)
    return np.where(free, 0.5 * bound, at_end), free, bias


def _liblinear(Z: Any, y: Array, bound: Array, rho: Array, squared: bool) -> Array:
    """Return f at all rows from LIBLINEAR; its margins are 1, so rows are divided by their margins."""
    from sklearn.svm import LinearSVC

    unit = np.where(rho > 0, rho, 1.0)
    rows = csr_array((Z.data, Z.indices.astype(np.int32), Z.indptr.astype(np.int32)), Z.shape)
    model = LinearSVC(loss="squared_hinge" if squared else "hinge", dual=True, tol=1e-3, random_state=0)
    weight = bound * unit ** (2 if squared else 1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the answer is a start only
        model.fit(rows.multiply(1.0 / unit[:, None]), y, sample_weight=weight)
    scores: Array = model.decision_function(rows)
    return scores


class _System:
    """Equations of the free rows, regular because a constant is moved from b into the inner products."""

    def __init__(self, Z: Any, diagonal: Array, size: Array):
        self.Z = Z
        self.Zt = csr_array(Z.T)
        self.shift = float(size.mean())
        self.diagonal = (diagonal + LIFT * size)[:, None]
        self.inverse = 1.0 / (size + self.shift)[:, None]

    def times(self, v: Array) -> Array:
        out: Array = self.Z @ (self.Zt @ v) + self.shift * v.sum(axis=0) + self.diagonal * v
        return out

    def solved(self, right: Array, ones: Array, tol: float) -> tuple[Array, Array]:
        """Return the solutions for ``right`` and for ones; the second starts from ``ones``."""
        x = np.column_stack([np.zeros(len(right)), ones])
        rights = np.column_stack([right, np.ones(len(right))])
        left = rights - self.times(x)
        enough = tol * np.maximum(np.abs(rights).max(axis=0), 1e-300)
        z = self.inverse * left
        p = z
        height = (left * z).sum(axis=0)
        for _ in range(GRADIENTS):
            if np.all(np.abs(left).max(axis=0) <= enough):
                break
            Kp = self.times(p)
            step = height / np.maximum((p * Kp).sum(axis=0), 1e-300)
            x = x + step * p
            left = left - step * Kp
            z = self.inverse * left
            before = np.maximum(height, 1e-300)
            height = (left * z).sum(axis=0)
            p = z + height / before * p
        return x[:, 0], x[:, 1]
