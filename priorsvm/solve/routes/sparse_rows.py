r"""Newton's method on the dual of a linear machine whose rows are sparse, and many as their columns.

.. math:: \max_\alpha\; \rho^\top \alpha - \tfrac12 \|Z^\top (y \alpha)\|^2 \quad\text{s.t.}\quad
          0 \le \alpha \le C, \quad y^\top \alpha = 0

The matrix of inner products would be dense, and so would the normal equations of as many columns. Here both
are only multiplied with, as :math:`Z (Z^\top v)`. Rows on the margin are free, and their multipliers solve

.. math:: Z_F Z_F^\top \Delta a + b = (\rho y - Z Z^\top a)_F, \qquad
          \textstyle\sum_F \Delta a_i = -\sum_i a_i, \qquad a = y \alpha,

by conjugate gradients, which sparse rows, nearly at right angles to each other, make short. Then every row
goes where :math:`\alpha_i + (\rho_i - y_i f(x_i)) / \|z_i\|^2` says: to zero below 0, to its bound above C,
else it is free. That is Newton's method for the optimality conditions; once no row changes sides they hold.
It starts from LIBLINEAR, whose bias is penalised: another problem, but with the best bias for its w nearly
the same rows are on the margin. For the squared hinge there are no bounds, and :math:`1/2C_i` is added to the
diagonal.

Far from the optimum such steps may lead astray, which shows at once; then the next route is taken.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse
from sklearn.exceptions import ConvergenceWarning

from ..._utils.arrays import Array
from ..._utils.cache import Cache
from ...errors import InvalidInput, SolverFailed
from ...prior import Member
from ...sample import Sample
from ...spec import Spec
from . import weighted
from .weighted import Answer, Weighted

# Rows this near to their margin, or by this share of how f varies, are free at first, and no fewer than FEW.
NEAR = 0.05
SHARE = 0.1
FEW = 100

# What is left of the equations of a step, before and after no more than this share of free rows change sides.
ROUGH = 1e-4
FINE = 1e-12
SETTLED = 0.01

# Steps, and conjugate gradients of each. Of 20 000 texts it takes 4 to 6 and 10 to 100.
STEPS = 40
GRADIENTS = 500

# Added to the diagonal, relatively: equal rows share a multiplier. The next step corrects what it does.
LIFT = 1e-10


def obstacle(spec: Spec, members: Sequence[Member], sample: Sample) -> str | None:
    """Why this method cannot solve the problem, or None if it can."""
    reason = weighted.obstacle(spec, members)
    if reason is not None:
        return reason
    if spec.kernel is not None or not issparse(sample.X):
        return "it takes sparse rows of a linear machine only"
    return None


def solve(problem: Weighted, grams: Cache | None = None, options: dict[str, Any] | None = None) -> Answer:
    """The answer, to the last digits; an error where Newton's steps do not lead to it."""
    if options:
        raise InvalidInput(f"SPARSE takes no solver_options, got {', '.join(options)}.")
    start = time.perf_counter()
    alpha, bias, steps = newton(problem.Z, problem.y, problem.bound, problem.margin, problem.squared)
    return problem.answer(problem.y * alpha, bias, "optimal", time.perf_counter() - start, steps)


def newton(Z: Any, y: Array, bound: Array, rho: Array, squared: bool = False) -> tuple[Array, float, int]:
    """Multipliers, bias, and how many steps it took.

    Parameters
    ----------
    Z : (n, d) sparse array
    y : (n,) array of -1.0 and 1.0
    bound : (n,) positive array, C of every row
    rho : (n,) array, the margins
    squared : whether the loss is the squared hinge
    """
    own, most = (0.5 / bound, np.full(len(y), np.inf)) if squared else (np.zeros(len(y)), bound)
    size = Z.multiply(Z).sum(axis=1) + own
    if not size.any():
        raise SolverFailed("SPARSE: all rows are zero. Use solver='auto'.")
    size = size + 1e-6 * size.max()
    alpha, free, bias = _guess(_liblinear(Z, y, bound, rho, squared), y, bound, rho, squared)
    worthless = _loss(rho, bound, squared)  # what f = 0 costs
    ones = np.zeros(len(y))
    tol = ROUGH
    for step in range(1, STEPS + 1):
        F = np.flatnonzero(free)
        a = y * alpha
        if not len(F):
            break
        system = _System(Z[F], own[F], size[F])
        missing = (rho * y - own * a - Z @ (a @ Z) - bias)[F]
        total = -float(a.sum())
        moves, ones[F] = system.solved(missing, ones[F], tol)
        inner = (float(moves.sum()) - total) / float(ones[F].sum())
        a[F] += moves - inner * ones[F]
        w = a @ Z
        bias = bias + inner + system.more * total
        alpha = y * a
        short = rho - y * (Z @ w + bias)
        if not 0.5 * float(w @ w) + _loss(short, bound, squared) <= worthless:
            break
        wanted = alpha + (short - own * alpha) / size
        before = free
        free = (wanted > 0) & (wanted < most)
        alpha = np.clip(alpha, 0.0, most)
        changed = np.count_nonzero(free != before)
        if changed == 0 and tol == FINE:
            return alpha, bias, step
        tol = FINE if changed <= SETTLED * len(F) else tol
        alpha = np.where(free, alpha, np.where(wanted > 0, most, 0.0))
    raise SolverFailed(
        "SPARSE: Newton's steps do not lead to an answer. They have no step length, and need not converge "
        "where many rows are on the margin or there are more rows than columns. Use solver='auto'."
    )


def _loss(short: Array, bound: Array, squared: bool) -> float:
    """Of rows that fall short of their margin by so much."""
    slack = np.maximum(short, 0.0)
    return float(bound @ (slack**2 if squared else slack))


def _guess(scores: Array, y: Array, bound: Array, rho: Array, squared: bool) -> tuple[Array, Array, float]:
    """Multipliers, which rows are free, and the bias, from an f that is near but for its bias."""
    near = min(NEAR, SHARE * float(scores.std()))
    if squared:
        short = rho - y * scores
        return 2.0 * bound * np.maximum(short, 0.0), short > -near, 0.0
    # The loss is least where rows to the left of their margin weigh as much as the positive ones.
    wanted = y * rho - scores
    order = np.argsort(wanted)
    weighing = int(np.searchsorted(np.cumsum(bound[order]), bound[y > 0].sum()))
    bias = float(wanted[order[min(weighing, len(y) - 1)]])
    short = y * (wanted - bias)
    few = min(FEW, len(y))
    free = np.abs(short) <= max(near, float(np.sort(np.abs(short))[few - 1]))
    return np.where(free, 0.5 * bound, np.where(short > 0, bound, 0.0)), free, bias


def _liblinear(Z: Any, y: Array, bound: Array, rho: Array, squared: bool) -> Array:
    """f of all rows as LIBLINEAR has it, roughly; its margins are 1, so rows are divided by theirs."""
    from sklearn.svm import LinearSVC

    unit = np.where(rho > 0, rho, 1.0)
    rows = csr_array((Z.data, Z.indices.astype(np.int32), Z.indptr.astype(np.int32)), Z.shape)
    machine = LinearSVC(loss="squared_hinge" if squared else "hinge", dual=True, tol=1e-3, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # it is a guess
        machine.fit(
            rows.multiply(1.0 / unit[:, None]), y, sample_weight=bound * unit ** (2 if squared else 1)
        )
    scores: Array = machine.decision_function(rows)
    return scores


class _System:
    """The equations of the free rows: a constant more in the products is one less in b, and regular."""

    def __init__(self, Z: Any, own: Array, size: Array):
        self.Z = Z
        self.Zt = csr_array(Z.T)
        self.more = float(size.mean())
        self.diagonal = (own + LIFT * size)[:, None]
        self.inverse = 1.0 / (size + self.more)[:, None]

    def times(self, v: Array) -> Array:
        out: Array = self.Z @ (self.Zt @ v) + self.more * v.sum(axis=0) + self.diagonal * v
        return out

    def solved(self, right: Array, ones: Array, tol: float) -> tuple[Array, Array]:
        """The solutions for ``right`` and for ones, the latter from the last step's."""
        x = np.column_stack([np.zeros(len(right)), ones])
        asked = np.column_stack([right, np.ones(len(right))])
        left = asked - self.times(x)
        enough = tol * np.maximum(np.abs(asked).max(axis=0), 1e-300)
        p = z = self.inverse * left
        height = (left * z).sum(axis=0)
        for _ in range(GRADIENTS):
            if np.all(np.abs(left).max(axis=0) <= enough):
                break
            Kp = self.times(p)
            along = height / np.maximum((p * Kp).sum(axis=0), 1e-300)
            x = x + along * p
            left = left - along * Kp
            z = self.inverse * left
            before = np.maximum(height, 1e-300)
            height = (left * z).sum(axis=0)
            p = z + height / before * p
        return x[:, 0], x[:, 1]
