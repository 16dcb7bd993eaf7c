r"""Active-set method for the dual of an SVM of rows, from a good start to the exact solution.

.. math:: \max_a\; \rho^\top a - \tfrac12 a^\top K a \quad\text{s.t.}\quad l \le a \le u, \quad
          e^\top a = 0, \quad T^\top a \le \mu, \qquad e \ge 0 .

Row i has the target :math:`\rho_i` for f, and :math:`e_i` is the coefficient of the bias in it. A weighted
SVM has :math:`a_i = y_i \alpha_i` between 0 and :math:`y_i C_i`, targets :math:`y_i`, and :math:`e = 1`.
Rows that share a slack :math:`\zeta_k` share a limit :math:`\mu_k`. The slack is 0 unless its limit is
reached.

Rows strictly between their bounds are free. They meet their targets after the step

.. math:: K_{FF}\,\Delta a + b\,e_F + T_F\zeta = (\rho - Ka)_F, \qquad e_F^\top \Delta a = -e^\top a .

A step ends where a row meets a bound or a sum meets its limit; both then stay there. After a full step, rows
on the wrong side of their target become free, and limits with a negative slack are released. The objective
never decreases, so no set of free rows occurs twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from scipy.linalg.blas import dsymv
from scipy.linalg.lapack import dpotrs, dtrtrs

from ..._utils.arrays import Array, products
from ..._utils.deadline import NEVER, Deadline
from ..._utils.linalg import lifted_cholesky

# Lifts of the diagonal of K, relative to its largest entry. Equal rows make K singular, and the next step
# corrects the effect of a lift.
LIFTS = 1e-11 * 100.0 ** np.arange(4)

# Rows that may meet a bound before the free rows are factored again.
PINNED = 200

# Times that the free rows move to their targets with one factor: once, and to correct the rest.
PASSES = 3

# Relative difference of the steps to two bounds that are met together.
TIE = 1e-12

# A step this much smaller than the first one is rounding. It may be longer than the way to a bound.
ROUNDING = 1e-12

# A condition is dependent on others if at most this share of its square remains.
INDEPENDENT = 1e-14

# From so many rows on, a product is corrected by the rows that change. With fewer it is computed again.
MANY_ROWS = 1000

# Rows of a kernel matrix that are copied at a time.
ROWS_AT_A_TIME = 64


class KernelMatrix(Protocol):
    """Kernel matrix of all rows, as far as the method uses it."""

    def among(self, rows: Array) -> Array:
        """Return the entries between some rows, in a new array that may be changed."""

    def times(self, a: Array) -> Array:
        """Return the product with a vector that is zero except at support vectors."""


@dataclass(eq=False)
class FullKernelMatrix:
    """Kernel matrix of which all entries are known."""

    K: Array

    def among(self, rows: Array) -> Array:
        return np.asarray(self.K[rows[:, None], rows])

    def times(self, a: Array) -> Array:
        nonzero = np.flatnonzero(a)
        if 4 * len(nonzero) < len(a):
            return _sum_of_rows(self.K, nonzero, a[nonzero])
        return np.asarray(dsymv(1.0, self.K.T, a, lower=1))  # reads one triangle


class LazyKernelMatrix:
    """Kernel matrix of which rows are computed when they are first used.

    Parameters
    ----------
    K : (m, n) array
        The rows that are known.
    rows : (m,) array
        Their indices.
    facing : callable
        Function that returns the rows of given indices.
    """

    def __init__(self, K: Array, rows: Array, facing: Callable[[Array], Array]) -> None:
        self.parts = [K]
        self.rows = rows
        self.facing = facing
        self.place = np.full(K.shape[1], -1)
        self.place[rows] = np.arange(len(rows))

    def among(self, rows: Array) -> Array:
        """Return the entries between some rows."""
        self._compute(rows)
        place = self.place[rows]
        out = np.empty((len(rows), len(rows)))
        for K, start in self._parts():
            here = np.flatnonzero((place >= start) & (place < start + len(K)))
            if len(here) == len(rows):
                return np.asarray(K[(place - start)[:, None], rows])
            out[here] = K[(place[here] - start)[:, None], rows]
        return out

    def times(self, a: Array) -> Array:
        """Return the product with a vector that is zero except at support vectors."""
        self._compute(np.flatnonzero(a))
        out = np.zeros(len(a))
        for K, start in self._parts():
            part = a[self.rows[start : start + len(K)]]
            nonzero = np.flatnonzero(part)
            out += _sum_of_rows(K, nonzero, part[nonzero]) if 2 * len(nonzero) < len(part) else part @ K
        return out

    def _parts(self) -> Iterator[tuple[Array, int]]:
        """Yield the parts, each with the place of its first row."""
        start = 0
        for K in self.parts:
            yield K, start
            start += len(K)

    def _compute(self, rows: Array) -> None:
        """Add the rows that are missing."""
        missing = rows[self.place[rows] < 0]
        if len(missing):
            self.parts.append(self.facing(missing))
            self.place[missing] = len(self.rows) + np.arange(len(missing))
            self.rows = np.concatenate([self.rows, missing])


def _sum_of_rows(K: Array, rows: Array, weights: Array) -> Array:
    """Return the weighted sum of some rows, a few at a time so that their copies stay in the cache."""
    out = np.zeros(K.shape[1])
    for start in range(0, len(rows), ROWS_AT_A_TIME):
        part = slice(start, start + ROWS_AT_A_TIME)
        out += weights[part] @ K[rows[part]]
    return out


@dataclass(eq=False)
class LinearKernelMatrix:
    """Kernel matrix ZZ', with Z dense or sparse, of which only needed entries are computed."""

    Z: Any

    def among(self, rows: Array) -> Array:
        return products(self.Z[rows], self.Z[rows])

    def times(self, a: Array) -> Array:
        support = np.flatnonzero(a)
        return np.asarray(self.Z @ (a[support] @ self.Z[support]))


class KeptKernelMatrix:
    """Kernel matrix that keeps the entries between the last rows: further steps often use some of them."""

    def __init__(self, matrix: KernelMatrix) -> None:
        self.matrix = matrix
        self.rows = np.empty(0, int)
        self.entries = np.empty((0, 0))

    def among(self, rows: Array) -> Array:
        """Return the entries between some rows in increasing order."""
        if not np.isin(rows, self.rows).all():
            self.rows = rows
            self.entries = self.matrix.among(rows)
        place = np.searchsorted(self.rows, rows)
        return np.asarray(self.entries[place[:, None], place])

    def times(self, a: Array) -> Array:
        """Return the product with a vector that is zero except at support vectors."""
        return self.matrix.times(a)


@dataclass(frozen=True, eq=False)
class RowDual:
    """The dual problem without its kernel matrix.

    Attributes
    ----------
    target : (n,) array
        ρ, the values that f shall have.
    lower, upper : (n,) arrays
        Bounds of the dual variables.
    bias_weight : (n,) array
        e, the coefficient of the bias in each row.
    sum_weight : (n, k) array
        T, for rows that share a slack. Their entries are positive if the dual variable is nonnegative, and
        negative if it is nonpositive.
    sum_limit : (k,) array
        μ, the limits of :math:`T^\\top a`.
    """

    target: Array
    lower: Array
    upper: Array
    bias_weight: Array
    sum_weight: Array
    sum_limit: Array

    def subset(self, rows: Array) -> RowDual:
        """Return the problem of some of the rows."""
        return RowDual(
            self.target[rows],
            self.lower[rows],
            self.upper[rows],
            self.bias_weight[rows],
            self.sum_weight[rows],
            self.sum_limit,
        )


@dataclass(frozen=True, eq=False)
class ActiveSetSolution:
    """Signed dual variables, the bias, values of f at all rows, and the number of steps."""

    a: Array
    bias: float
    scores: Array
    steps: int


def polish(
    kernel: KernelMatrix,
    y: Array,
    bound: Array,
    a: Array,
    tol: float,
    margin: Array | float = 1.0,
    effort: float = 5.0,
    deadline: Deadline = NEVER,
) -> ActiveSetSolution | None:
    """Return the exact solution of a weighted SVM near signed dual variables, or None beyond ``effort``.

    Parameters
    ----------
    kernel : KernelMatrix
        Kernel matrix of the rows.
    y : (n,) array
        Signs of the rows.
    bound : (n,) array
        C of every row.
    a : (n,) array
        Signed dual variables to start from.
    tol : float
        Tolerance of the model.
    margin : array or float, default=1.0
        Required margins.
    effort : float, default=5.0
        Work limit, in factorisations of a matrix between all rows.
    deadline : Deadline, default=NEVER
        When the method has to end, with None.
    """
    signed = y * bound
    n = len(y)
    lower = np.minimum(signed, 0.0)
    upper = np.maximum(signed, 0.0)
    rows = RowDual(y * margin, lower, upper, np.ones(n), np.zeros((n, 0)), np.zeros(0))
    return optimise(kernel, rows, a, tol, effort, deadline)


def optimise(
    kernel: KernelMatrix,
    rows: RowDual,
    a: Array,
    tol: float,
    effort: float = 5.0,
    deadline: Deadline = NEVER,
) -> ActiveSetSolution | None:
    """Return the exact solution near the dual variables ``a``, or None beyond ``effort`` or the deadline.

    Sums of ``a`` are within their limits. None is also returned if a linear system has no accurate solution.
    """
    n = len(a)
    steps = 0
    work = 0.0
    a = _at_near_bounds(rows, a)
    free = (a > rows.lower) & (a < rows.upper)
    at_limit = rows.sum_weight.T @ a >= rows.sum_limit * (1 - 1e-12)
    Ka = kernel.times(a)
    residual = np.inf
    while work <= effort and not deadline.passed:
        F = np.flatnonzero(free)
        work += (len(F) / n) ** 3
        if work > effort:
            break
        free_rows = rows.subset(F)
        balance = -float(rows.bias_weight @ a)
        K = kernel.among(F)
        largest = float(K.diagonal().max(initial=0.0))
        move = _move_free_rows(K, free_rows, a[F], free_rows.target - Ka[F], balance, at_limit)
        del K  # it was changed, and the next step has a matrix of its own
        if move is None:
            return None
        steps += move.steps
        work += 20 * move.steps * len(F) ** 2 / n**3 + 3 / n
        change = np.zeros(n)
        change[F] = move.a - a[F]
        a[F] = move.a
        at_limit = move.at_limit
        free[F[move.pinned]] = False
        total = float(np.abs(a).sum())
        tolerance = max(1e-3 * min(tol, 1e-6), 4e-16 * total)
        # Few of many rows change, unless sums of large terms need all digits.
        by_change = n >= MANY_ROWS and 3e-15 * largest * total < tolerance
        Ka = Ka + kernel.times(change) if by_change else kernel.times(a)
        if not move.complete:
            continue
        with_slack = Ka + rows.sum_weight @ move.slack
        bias = _bias_between(rows, a, with_slack) if move.bias is None else move.bias
        excess = with_slack + bias * rows.bias_weight - rows.target
        wrong_side = ~free & _on_wrong_side(rows, a, excess, tolerance)
        released = at_limit & (move.slack < -tolerance)
        residual_before = residual
        residual = float(np.abs(excess[free]).max(initial=0.0))
        if wrong_side.any() or released.any():
            # Without other free rows, all rows may be pinned again before they move. A pair does move.
            free |= wrong_side if change.any() else _worst_pair(excess, wrong_side)
            at_limit &= ~released
            residual = np.inf
        elif residual <= tolerance or residual > 0.5 * residual_before:  # no progress in floating point
            if move.bias is None and abs(float(rows.bias_weight @ a)) > 1e-9 * total:  # unbalanced
                return None
            return ActiveSetSolution(a, bias, Ka + bias * rows.bias_weight, steps)
    return None


def _on_wrong_side(rows: RowDual, a: Array, excess: Array, tolerance: float) -> Array:
    """Return a mask of the rows whose dual variable may change towards their target."""
    return ((a < rows.upper) & (excess < -tolerance)) | ((a > rows.lower) & (excess > tolerance))


def _worst_pair(excess: Array, wrong_side: Array) -> Array:
    """Return a mask of the rows that are farthest below and above their targets."""
    outside = np.where(wrong_side, excess, 0.0)
    pair = np.zeros(len(excess), bool)
    pair[[outside.argmin(), outside.argmax()]] = True
    return pair & wrong_side


def _at_near_bounds(rows: RowDual, a: Array) -> Array:
    """Return a with entries set to a bound that is within 1e-8 of their range."""
    width = rows.upper - rows.lower
    near = np.where(np.isfinite(width), 1e-8 * width, 0.0)
    not_upper = np.where(a <= rows.lower + near, rows.lower, a)
    return np.where(a >= rows.upper - near, rows.upper, not_upper)


def _bias_between(rows: RowDual, a: Array, Ka: Array) -> float:
    """Return the middle of the biases for which no row at a bound is on the wrong side of its target."""
    with np.errstate(divide="ignore", invalid="ignore"):
        bias = (rows.target - Ka) / rows.bias_weight
    least = float(bias[(rows.bias_weight > 0) & (a < rows.upper)].max(initial=-np.inf))
    most = float(bias[(rows.bias_weight > 0) & (a > rows.lower)].min(initial=np.inf))
    ends = [end for end in (least, most) if np.isfinite(end)]
    return sum(ends) / max(len(ends), 1)


@dataclass(frozen=True, eq=False)
class _FreeMove:
    """Free rows after their steps.

    Attributes
    ----------
    a : dual variables.
    bias : the bias, or None if no free row determines it.
    slack : the shared slacks.
    steps : steps taken.
    pinned : rows that met a bound.
    at_limit : whether each sum has reached its limit.
    complete : whether the rows that are still free meet their targets.
    """

    a: Array
    bias: float | None
    slack: Array
    steps: int
    pinned: list[int]
    at_limit: Array
    complete: bool


def _move_free_rows(
    K: Array, rows: RowDual, a: Array, residual: Array, total: float, at_limit: Array
) -> _FreeMove | None:
    """Move free rows towards their targets, until these are met or the free rows must be factored again.

    Parameters
    ----------
    K, rows, a : entries of the problem for the free rows. K is changed.
    residual : target minus value of f, without the bias.
    total : required change of :math:`e^\\top a`.
    at_limit : whether each sum is at its limit.
    """
    if not len(a):
        return _FreeMove(a, None, np.zeros(len(at_limit)), 0, [], at_limit, True)
    system = _FreeRows(K, rows, a, residual, total, at_limit)
    if system.factor is None:
        return None
    size = float(np.abs(residual).max())
    error = residual
    for _ in range(PASSES):
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            if not system.walk(system.towards(error)):
                return system.interrupted(complete=len(system.pinned) == len(a))
        duals, error = system.remaining()
        worst = float(np.abs(error).max())
        if not np.isfinite(worst):
            return None
        if worst <= 1e-10 * size and system.balanced():
            break
    return system.interrupted() if system.pinned and worst > 1e-3 * size else system.finished(duals)


class _FreeRows:
    r"""Free rows and their linear system, with one factorisation for many steps.

    .. math:: K d + C \eta = r, \qquad C^\top d = t, \qquad
              C = (e,\; T_{\text{at limit}},\; I_{\text{pinned}}) .

    A row that meets its bound is pinned: it keeps d = 0. So does a sum that meets its limit. Each condition
    adds a column to C and to two matrices U and L, with

    .. math:: K^{-1} C = U L^\top, \qquad C^\top K^{-1} C = L L^\top, \qquad
              d = K^{-1} r + U L^{-1} (t - C^\top K^{-1} r) .

    So a new condition changes d by a multiple of one column, without a new linear system.
    """

    def __init__(
        self, K: Array, rows: RowDual, a: Array, residual: Array, total: float, at_limit: Array
    ) -> None:
        e = rows.bias_weight
        # K + m ee' changes the solution by m e'd in b only, and is regular where K is not: rows of few
        # features. A further matrix between the free rows would have to be paged in. Rows may all be 0.
        multiple = float(K.diagonal().max()) or 1.0
        K += multiple if (e == 1.0).all() else np.outer(multiple * e, e)
        self.K = K
        self.multiple = multiple
        self.rows = rows
        self.start = a
        self.a = a
        self.residual = residual
        self.at_limit = at_limit.copy()
        self.pinned = list[int]()
        self.loose = np.ones(len(a), bool)
        self.steps = 0
        self.sums = np.column_stack([e, rows.sum_weight])
        largest = float(K.diagonal().max()) or 1.0
        # K is symmetric, and its transpose has LAPACK's order.
        self.factor = lifted_cholesky(K.T, largest * LIFTS)
        if self.factor is None:
            return
        most = min(PINNED, len(a)) + self.sums.shape[1]
        self.C = np.zeros((len(a), most), order="F")
        self.U = np.empty((len(a), most), order="F")
        self.L = np.zeros((most, most), order="F")
        self.goal = np.empty(most)
        self.count = 0
        goals = np.append(total + float(e @ a), rows.sum_limit)
        for k in np.flatnonzero(np.append(e.any(), at_limit)):
            self._add(self.sums[:, k], goals[k])

    def _solve(self, right: Array) -> Array:
        return np.asarray(dpotrs(self.factor, right, lower=1)[0])

    def _add(self, c: Array, goal: float) -> bool:
        """Add the condition c'a = goal; return False if it depends linearly on the conditions before."""
        k = self.count
        before = self.U[:, :k]
        u = self._solve(c)
        whole = float(c @ u)
        row = c @ before
        u -= before @ row
        rest = float(c @ u)
        if not rest > INDEPENDENT * whole:
            return False
        length = rest**0.5
        self.C[:, k] = c
        self.goal[k] = goal
        self.U[:, k] = u / length
        self.L[k, :k] = row
        self.L[k, k] = length
        self.count += 1
        return True

    def towards(self, error: Array) -> Array:
        """Return the step that removes an error and keeps all conditions."""
        k = self.count
        d = self._solve(error)
        if k:
            missing = self.goal[:k] - (self.a + d) @ self.C[:, :k]
            d += self.U[:, :k] @ dtrtrs(self.L[:k, :k], missing, lower=1)[0]
        d[~self.loose] = 0.0
        return d

    def walk(self, d: Array) -> bool:
        """Move along d to the targets, and keep rows at bounds that they meet; False if too many do."""
        rows = self.rows
        least = ROUNDING * float(np.abs(d).max())
        while True:
            self.steps += 1
            to_bound = np.full(len(d), np.inf)
            np.divide(np.where(d > 0, rows.upper, rows.lower) - self.a, d, out=to_bound, where=d != 0)
            to_limit = self._to_limits(d)
            t = min(float(to_bound.min()), float(to_limit.min(initial=np.inf)))
            if not t < 1:  # also if a step overflows: then the remaining distances are NaN
                self.a = self.a + d
                return True
            self.a = self.a + t * d
            hit = (to_bound <= t * (1 + TIE)).nonzero()[0]
            self.a[hit] = np.where(d[hit] > 0, rows.upper[hit], rows.lower[hit])
            self.pinned += hit.tolist()
            self.loose[hit] = False
            reached = (to_limit <= t).nonzero()[0]
            self.at_limit[reached] = True
            if len(self.pinned) >= min(PINNED, len(d)):
                return False
            d = (1 - t) * d
            for k in reached:
                self._restrict(d, self.sums[:, 1 + k], rows.sum_limit[k])
            for i in hit:
                unit = np.zeros(len(d))
                unit[i] = 1.0
                self._restrict(d, unit, self.a[i])
            d[~self.loose] = 0.0
            if np.abs(d).max() <= least:
                return True

    def _to_limits(self, d: Array) -> Array:
        """Return the multiples of d at which sums meet their limits."""
        rows = self.rows
        if not len(self.at_limit):
            return np.empty(0)
        growth = rows.sum_weight.T @ d
        spare = rows.sum_limit - rows.sum_weight.T @ self.a
        return np.where(~self.at_limit & (growth > 0), spare / growth, np.inf)

    def _restrict(self, d: Array, c: Array, goal: float) -> None:
        """Add a condition that a meets, and change d to keep it."""
        if self._add(c, goal):
            k = self.count - 1
            d -= self.U[:, k] * (float(c @ d) / self.L[k, k])

    def remaining(self) -> tuple[Array, Array]:
        """Return the dual variables of e and of the sums, and the remaining distances to the targets."""
        left = self.residual - self.K @ (self.a - self.start)
        duals = np.zeros(self.sums.shape[1])
        fixed = np.flatnonzero(np.append(True, self.at_limit))
        known = self.sums[:, fixed] * self.loose[:, None]
        if len(fixed) > 1:
            duals[fixed] = np.linalg.lstsq(known, left, rcond=1e-10)[0]
        else:
            e = known[:, 0]
            duals[0] = float(e @ left) / max(float(e @ e), 1e-300)
        return duals, np.where(self.loose, left - self.sums @ duals, 0.0)

    def balanced(self) -> bool:
        """Return whether all conditions hold but for rounding."""
        missing = self.goal[: self.count] - self.a @ self.C[:, : self.count]
        return float(np.abs(missing).max(initial=0.0)) <= 1e-13 * float(np.abs(self.a).sum())

    def finished(self, duals: Array) -> _FreeMove:
        """Return the rows after a whole step."""
        e = self.rows.bias_weight
        bias = None
        if e[self.loose].any():
            bias = float(duals[0]) + self.multiple * float(e @ (self.a - self.start))
        return _FreeMove(self.a, bias, duals[1:], self.steps, self.pinned, self.at_limit, True)

    def interrupted(self, complete: bool = False) -> _FreeMove:
        """Return the rows as they are, without bias and slacks."""
        none = np.zeros(len(self.at_limit))
        return _FreeMove(self.a, None, none, self.steps, self.pinned, self.at_limit, complete)
