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
from typing import Any, NamedTuple, Protocol

import numpy as np
from scipy.linalg.blas import dsymv
from scipy.linalg.lapack import dpotrs

from ..._utils.arrays import Array, products
from ..._utils.deadline import NEVER, Deadline
from ..._utils.linalg import lifted_cholesky

# Lifts of the diagonal of K, relative to its largest entry. Equal rows make K singular, and the next step
# corrects the effect of a lift.
LIFTS = 1e-11 * 100.0 ** np.arange(4)

# Rows that may meet a bound before the free rows are factored again.
PINNED = 200

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
        wrong_side = ~free & (
            ((a < rows.upper) & (excess < -tolerance)) | ((a > rows.lower) & (excess > tolerance))
        )
        released = at_limit & (move.slack < -tolerance)
        residual_before = residual
        residual = float(np.abs(excess[free]).max(initial=0.0))
        if wrong_side.any() or released.any():
            free |= wrong_side
            at_limit &= ~released
            residual = np.inf
        elif residual <= tolerance or residual > 0.5 * residual_before:  # no progress in floating point
            unbalanced = abs(float(rows.bias_weight @ a)) > 1e-9 * total
            if move.bias is None and unbalanced:
                return None
            return ActiveSetSolution(a, bias, Ka + bias * rows.bias_weight, steps)
    return None


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


class _Direction(NamedTuple):
    """Step d of the free rows, with the dual variables of its conditions.

    ``sums`` are the indices of the sums that a step keeps: 0 for e, k for column k - 1 of T. ``duals`` has b,
    then the slacks.
    """

    d: Array
    Kd: Array
    sums: Array
    duals: Array
    accurate: bool


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
    while len(system.pinned) < len(a):
        direction = system.direction()
        if direction is None:
            return None
        if system.pinned and not direction.accurate:
            return system.interrupted()
        if system.take(direction):
            return system.finished(direction)
        if len(system.pinned) >= PINNED:
            return system.interrupted()
    return system.interrupted(complete=True)


class _FreeRows:
    r"""Free rows and their linear system, with one factorisation for many steps.

    .. math:: K d + C \eta = r, \qquad C^\top d = t, \qquad
              C = (e,\; T_{\text{at limit}},\; I_{\text{pinned}}) .

    A row that meets its bound is pinned: it keeps d = 0. So does a sum that meets its limit. Each condition
    is a column of C with a dual variable η, found from the small system :math:`C^\top K^{-1} C\,\eta =
    C^\top K^{-1} r - t`.
    """

    def __init__(
        self, K: Array, rows: RowDual, a: Array, residual: Array, total: float, at_limit: Array
    ) -> None:
        e = rows.bias_weight
        # K + m ee' changes the solution by m e'd in b only, and is regular where K is not: rows of few
        # features. A further matrix between the free rows would have to be paged in.
        multiple = float(K.diagonal().max(initial=0.0))
        K += multiple if (e == 1.0).all() else np.outer(multiple * e, e)
        self.K = K
        self.bias_shift = multiple * total
        self.rows = rows
        self.a = a
        self.residual = residual
        self.total = total
        self.at_limit = at_limit.copy()
        self.pinned = list[int]()
        self.loose = np.ones(len(a), bool)
        self.steps = 0
        self.sums = np.column_stack([e, rows.sum_weight])
        largest = float(self.K.diagonal().max(initial=0.0))
        self.factor = lifted_cholesky(
            self.K.T, largest * LIFTS
        )  # symmetric, and the transpose has LAPACK's order
        if self.factor is not None:
            self.newton = self._solve(residual)
            self.solved_sums = self._solve(self.sums)
            self.solved_units = np.empty((len(a), 0))

    def _solve(self, right: Array) -> Array:
        return np.asarray(dpotrs(self.factor, right, lower=1)[0])

    def direction(self) -> _Direction | None:
        """Return the step to the targets, refined once if needed, or None if the system is singular."""
        sums = self._independent_sums()
        C = self.sums[:, sums]
        solved = np.column_stack([self.solved_sums[:, sums], self.solved_units])
        inner = np.vstack([C.T @ solved, solved[self.pinned]])
        d = np.zeros(len(self.a))
        duals = np.zeros(self.sums.shape[1])
        size = float(np.abs(self.residual).max())
        newton = self.newton
        for _ in range(2):
            remaining = np.where(sums == 0, self.total, 0.0) - C.T @ d
            try:
                eta = np.linalg.solve(inner, np.append(C.T @ newton - remaining, newton[self.pinned]))
            except np.linalg.LinAlgError:
                return None
            duals[sums] += eta[: len(sums)]
            d += newton - solved @ eta
            d[self.pinned] = 0.0
            Kd = self.K @ d
            error = np.where(self.loose, self.residual - Kd - self.sums @ duals, 0.0)
            worst = float(np.abs(error).max())
            if not np.isfinite(worst):
                return None
            if worst <= 1e-10 * size:
                break
            newton = self._solve(error)
        return _Direction(d, Kd, sums, duals, worst <= 1e-3 * size)

    def _independent_sums(self) -> Array:
        """Return e and the sums at their limits, without sums that depend linearly on the preceding ones."""
        sums = self.sums * self.loose[:, None]
        fixed = [k for k in np.flatnonzero(np.append(True, self.at_limit)) if sums[:, k].any()]
        if len(fixed) > 1:
            size = np.abs(np.diag(np.linalg.qr(sums[:, fixed], mode="r")))
            fixed = [k for k, value in zip(fixed, size, strict=False) if value > 1e-10 * size[0]]
        return np.array(fixed, int)

    def take(self, direction: _Direction) -> bool:
        """Move along a direction to the first bound or limit, and return whether the step was complete."""
        self.steps += 1
        d = direction.d
        rows = self.rows
        with np.errstate(divide="ignore", invalid="ignore"):
            not_falling = np.where(d > 0, (rows.upper - self.a) / d, np.inf)
            to_bound = np.where(d < 0, (rows.lower - self.a) / d, not_falling)
            growth = rows.sum_weight.T @ d
            spare = rows.sum_limit - rows.sum_weight.T @ self.a
            to_limit = np.where(~self.at_limit & (growth > 0), spare / growth, np.inf)
        t = min(float(to_bound.min()), float(to_limit.min(initial=np.inf)))
        if t >= 1:
            self.a = self.a + d
            return True
        self.at_limit |= to_limit <= t
        self.a = self.a + t * d
        self.newton = self.newton - t * d
        self.residual = self.residual - t * direction.Kd
        self.total = (1 - t) * self.total
        self._pin(np.flatnonzero(to_bound <= t), d)
        return False

    def _pin(self, hit: Array, d: Array) -> None:
        """Set rows to the bounds that they met, and add their conditions."""
        self.a[hit] = np.where(d[hit] > 0, self.rows.upper[hit], self.rows.lower[hit])
        self.pinned += hit.tolist()
        self.loose[hit] = False
        units = np.zeros((len(self.a), len(hit)), order="F")
        units[hit, np.arange(len(hit))] = 1.0
        self.solved_units = np.column_stack([self.solved_units, self._solve(units)])

    def finished(self, direction: _Direction) -> _FreeMove:
        """Return the rows after a whole step."""
        bias = float(direction.duals[0]) + self.bias_shift if 0 in direction.sums else None
        return _FreeMove(self.a, bias, direction.duals[1:], self.steps, self.pinned, self.at_limit, True)

    def interrupted(self, complete: bool = False) -> _FreeMove:
        """Return the rows as they are, without bias and slacks."""
        none = np.zeros(len(self.at_limit))
        return _FreeMove(self.a, None, none, self.steps, self.pinned, self.at_limit, complete)
