r"""An active-set method for the dual of a machine of rows: from a good guess to the exact answer.

.. math:: \max_a\; \rho^\top a - \tfrac12 a^\top K a \quad\text{s.t.}\quad l \le a \le u, \quad
          e^\top a = 0, \qquad e \ge 0 .

Rows ask for a value :math:`\rho` of f, and e says how often the bias is in it. A weighted SVM has
:math:`a_i = y_i \alpha_i` between 0 and :math:`y_i C_i`, a target of :math:`\pm 1`, and :math:`e = 1`. Rows
strictly between their bounds are free and get what they ask for,
:math:`K_{FF}\,\Delta a + b\,e_F = (\rho - Ka)_F`. The step towards that ends where a row meets a bound, which
it then keeps. Once the whole step can be taken, rows on the wrong side of their target become free. The
objective never falls, so no set of free rows comes twice.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs

from ..rows import products
from ..sample import Array

# Added to the diagonal of K, relative to its largest entry: equal rows leave no factor otherwise. Whatever it
# does to a step, the next one corrects.
LIFT = 1e-11

# Rows that may meet a bound before the free rows are factored again.
PINNED = 200


class Kernel(Protocol):
    """What the method asks of a kernel matrix."""

    def among(self, rows: Array) -> Array:
        """Its entries between some rows."""

    def times(self, a: Array) -> Array:
        """Its product with a vector that is zero but for support vectors."""


@dataclass(eq=False)
class Columns:
    """A kernel matrix of which some columns are there, and others can be made."""

    K: Array
    columns: Array
    facing: Callable[[Array], Array]

    def among(self, rows: Array) -> Array:
        place = self._place(rows)
        return self.K[np.ix_(rows, place)]

    def times(self, a: Array) -> Array:
        place = self._place(np.flatnonzero(a))
        if 3 * len(place) < len(self.columns):
            return np.asarray(self.K[:, place] @ a[self.columns[place]])
        return np.asarray(self.K @ a[self.columns])

    def _place(self, rows: Array) -> Array:
        """Where the columns of these rows stand, after those that are missing have been made."""
        if len(self.columns) == len(self.K):
            return rows
        place = np.full(len(self.K), -1)
        place[self.columns] = np.arange(len(self.columns))
        new = rows[place[rows] < 0]
        if len(new):
            self.K = np.hstack([self.K, self.facing(new)])
            self.columns = np.concatenate([self.columns, new])
            place[new] = np.arange(len(self.columns) - len(new), len(self.columns))
        return place[rows]


@dataclass(eq=False)
class Linear:
    """The matrix of all inner products of rows, dense or sparse, which is never made."""

    Z: Any

    def among(self, rows: Array) -> Array:
        return products(self.Z[rows], self.Z[rows])

    def times(self, a: Array) -> Array:
        support = np.flatnonzero(a)
        return np.asarray(self.Z @ (a[support] @ self.Z[support]))


@dataclass(frozen=True, eq=False)
class Bounds:
    """What the rows ask of f, the bounds of their multipliers, and how often each has the bias."""

    asked: Array
    low: Array
    high: Array
    balance: Array

    def some(self, rows: Array) -> Bounds:
        return Bounds(self.asked[rows], self.low[rows], self.high[rows], self.balance[rows])


@dataclass(frozen=True, eq=False)
class Polished:
    """The signed multipliers, the bias, f on all rows, and the steps taken."""

    a: Array
    bias: float
    scores: Array
    steps: int


def polish(
    kernel: Kernel,
    y: Array,
    bound: Array,
    a: Array,
    tol: float,
    margin: Array | float = 1.0,
    effort: float = 5.0,
) -> Polished | None:
    """The exact answer of a weighted SVM, from signed multipliers near it; None if that is too much work.

    ``effort`` is counted in factorisations of a matrix between all rows.
    """
    signed = y * bound
    rows = Bounds(y * margin, np.minimum(signed, 0.0), np.maximum(signed, 0.0), np.ones(len(y)))
    return optimise(kernel, rows, a, tol, effort)


def optimise(kernel: Kernel, rows: Bounds, a: Array, tol: float, effort: float = 5.0) -> Polished | None:
    """The exact answer for rows of any kind, from multipliers near it; None if that is too much work."""
    n, steps, work, low, high = len(a), 0, 0.0, rows.low, rows.high
    width = high - low
    near = np.where(np.isfinite(width), 1e-8 * width, 0.0)
    a = np.where(a >= high - near, high, np.where(a <= low + near, low, a))
    free = (a > low) & (a < high)
    Ka, rough = kernel.times(a), np.inf
    while work <= effort:
        F = np.flatnonzero(free)
        own, balance = rows.some(F), -float(rows.balance @ a)
        moved = _to_margin(kernel.among(F), own, a[F], own.asked - Ka[F], balance)
        if moved is None:
            return None
        steps += moved.steps
        work += (len(F) / n) ** 3 + 20 * moved.steps * len(F) ** 2 / n**3 + 3 / n
        a[F] = moved.a
        free[F[moved.met]] = False
        Ka = kernel.times(a)
        if not moved.whole:
            continue
        bias = _middle(rows, a, Ka) if moved.bias is None else moved.bias
        excess = Ka + bias * rows.balance - rows.asked
        slight = max(1e-3 * min(tol, 1e-6), 4e-16 * float(np.abs(a).sum()))
        wrong = ~free & (((a < high) & (excess < -slight)) | ((a > low) & (excess > slight)))
        before, rough = rough, float(np.abs(excess[free]).max(initial=0.0))
        if wrong.any():
            free |= wrong
            rough = np.inf
        elif rough <= slight or rough > 0.5 * before:  # or rounding has had the last word
            return Polished(a, bias, Ka + bias * rows.balance, steps)
    return None


@dataclass(frozen=True, eq=False)
class _Moved:
    """New multipliers of free rows, the bias if they have it, steps, who met a bound, and if it is done."""

    a: Array
    bias: float | None
    steps: int
    met: list[int]
    whole: bool


def _to_margin(K: Array, rows: Bounds, a: Array, missing: Array, total: float) -> _Moved | None:
    r"""Give free rows what they ask for, K d + b e = missing with e'd = total, as far as their bounds allow.

    A row that meets its bound keeps it: d is 0 there from then on. Each such condition, and the sum, has a
    multiplier, so one factorisation serves many steps, for as long as rounding permits.
    """
    n, met, steps, e = len(a), list[int](), 0, rows.balance
    if n == 0:
        return _Moved(a, None, 0, met, True)
    # A constant more in K is one less in b, and leaves a factor where K alone has none: rows of few columns.
    more = float(K.diagonal().max(initial=0.0))
    K, shift = K + more * np.outer(e, e), more * total
    factor = _factor(K)
    if factor is None:
        return None
    newton, V = dpotrs(factor, missing, lower=1)[0], dpotrs(factor, e[:, None], lower=1)[0]
    loose = e > 0  # rows that can still move the sum
    while len(met) < n:
        if V.shape[1] > len(met) and not loose.any():
            V = V[:, 1:]
        tied = V.shape[1] > len(met)
        inner, right = V[met], newton[met]
        if tied:
            inner, right = np.vstack([e @ V, inner]), np.append(e @ newton - total, right)
        try:
            weights = np.linalg.solve(inner, right)
        except np.linalg.LinAlgError:
            return None
        bias, d = float(weights[0]) if tied else 0.0, newton - V @ weights
        d[met] = 0.0
        off = K @ d
        lost = np.abs(missing - off - bias * e)
        lost[met] = 0.0
        if not np.isfinite(d).all():
            return None
        if met and lost.max() > 1e-3 * np.abs(missing).max():
            return _Moved(a, bias, steps, met, False)
        steps += 1
        with np.errstate(divide="ignore", invalid="ignore"):
            room = np.where(d < 0, (rows.low - a) / d, np.where(d > 0, (rows.high - a) / d, np.inf))
        t = float(room.min())
        if t >= 1:
            return _Moved(a + d, bias + shift if tied else None, steps, met, True)
        hit = np.flatnonzero(room <= t)
        a, newton, missing, total = a + t * d, newton - t * d, missing - t * off, (1 - t) * total
        a[hit] = np.where(d[hit] > 0, rows.high[hit], rows.low[hit])
        met += hit.tolist()
        loose[hit] = False
        units = np.zeros((n, len(hit)), order="F")
        units[hit, np.arange(len(hit))] = 1.0
        V = np.column_stack([V, dpotrs(factor, units, lower=1)[0]])
        if len(met) >= PINNED:
            return _Moved(a, bias, steps, met, False)
    return _Moved(a, None, steps, met, True)


def _factor(K: Array) -> Array | None:
    """The Cholesky factor of K, lifted a little."""
    n, lift = len(K), LIFT * float(K.diagonal().max(initial=0.0))
    for _ in range(4):
        M = K.T.copy(order="F")  # symmetric, and in the order of LAPACK
        M[np.arange(n), np.arange(n)] += lift
        factor, failed = dpotrf(M, lower=1, overwrite_a=1)
        if not failed:
            return np.asarray(factor)
        lift *= 100
    return None


def _middle(rows: Bounds, a: Array, Ka: Array) -> float:
    """A bias between what the rows that could move up and those that could move down ask for."""
    with np.errstate(divide="ignore", invalid="ignore"):
        bias = (rows.asked - Ka) / rows.balance
    least = float(bias[(rows.balance > 0) & (a < rows.high)].max(initial=-np.inf))
    most = float(bias[(rows.balance > 0) & (a > rows.low)].min(initial=np.inf))
    ends = [end for end in (least, most) if np.isfinite(end)]
    return sum(ends) / max(len(ends), 1)
