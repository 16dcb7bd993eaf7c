r"""An active-set method for the dual of a weighted SVM: from a good guess to the exact answer.

.. math:: \max_a\; (\rho y)^\top a - \tfrac12 a^\top K a \quad\text{s.t.}\quad 0 \le y_i a_i \le C_i, \quad
          \textstyle\sum_i a_i = 0,

where :math:`a_i = y_i \alpha_i`. Rows strictly between their bounds are free and lie on the margin,
:math:`K_{FF}\,\Delta a + b = (\rho y - Ka)_F`. The step towards that ends where a row meets a bound, which it
then keeps. Once the whole step can be taken, rows on the wrong side of the margin become free. The objective
never falls, so no set of free rows comes twice.
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
    """The exact answer, from signed multipliers ``a`` near it; None if that takes too much work.

    ``effort`` is counted in factorisations of a matrix between all rows.
    """
    n, steps, work, asked = len(y), 0, 0.0, y * margin
    at_bound = np.abs(a) > (1 - 1e-8) * bound
    free = (a != 0) & ~at_bound
    a = np.where(at_bound, y * bound, a)
    Ka, rough = kernel.times(a), np.inf
    while work <= effort:
        F = np.flatnonzero(free)
        moved = _to_margin(kernel.among(F), y[F], bound[F], a[F], asked[F] - Ka[F], -float(a.sum()))
        if moved is None:
            return None
        steps += moved.steps
        work += (len(F) / n) ** 3 + 20 * moved.steps * len(F) ** 2 / n**3 + 3 / n
        a[F] = moved.a
        hit = F[moved.met]
        free[hit], at_bound[hit] = False, a[hit] != 0
        Ka = kernel.times(a)
        if not moved.whole:
            continue
        bias = moved.bias if free.any() else _middle(y, bound, a, asked - Ka)
        if bias is None:
            return None
        excess = y * (Ka + bias) - margin
        slight = max(1e-3 * min(tol, 1e-6), 4e-16 * float(np.abs(a).sum()))
        wrong = ~free & np.where(at_bound, excess > slight, excess < -slight)
        before, rough = rough, float(np.abs(excess[free]).max(initial=0.0))
        if wrong.any():
            free |= wrong
            at_bound &= ~wrong
            rough = np.inf
        elif rough <= slight or rough > 0.5 * before:  # or rounding has had the last word
            return Polished(a, bias, Ka + bias, steps)
    return None


@dataclass(frozen=True, eq=False)
class _Moved:
    """The new multipliers of free rows, the bias, the steps, who met a bound, and whether it is done."""

    a: Array
    bias: float
    steps: int
    met: list[int]
    whole: bool


def _to_margin(K: Array, y: Array, bound: Array, a: Array, missing: Array, total: float) -> _Moved | None:
    r"""Bring free rows to the margin, K d + b = missing with sum d = total, as far as their bounds allow.

    A row that meets its bound keeps it: d is 0 there from then on. Each such condition, and the sum, has a
    multiplier, so one factorisation serves many steps, for as long as rounding permits.
    """
    n, met, steps = len(y), list[int](), 0
    if n == 0:
        return _Moved(a, 0.0, 0, met, True)
    # A constant more in K is one less in b, and leaves a factor where K alone has none: rows of few columns.
    more = float(K.diagonal().max(initial=0.0))
    K, shift = K + more, more * total
    factor = _factor(K)
    if factor is None:
        return None
    newton, V = dpotrs(factor, missing, lower=1)[0], dpotrs(factor, np.ones((n, 1)), lower=1)[0]
    while len(met) < n:
        inner = np.vstack([V.sum(axis=0), V[met]])
        weights = np.linalg.solve(inner, np.append(newton.sum() - total, newton[met]))
        bias, d = float(weights[0]), newton - V @ weights
        d[met] = 0.0
        off = K @ d
        lost = np.abs(missing - off - bias)
        lost[met] = 0.0
        if met and lost.max() > 1e-3 * np.abs(missing).max():
            return _Moved(a, bias, steps, met, False)
        steps += 1
        alpha, step = y * a, y * d
        with np.errstate(divide="ignore", invalid="ignore"):
            room = np.where(step < 0, -alpha / step, np.where(step > 0, (bound - alpha) / step, np.inf))
        t = float(room.min())
        if t >= 1:
            return _Moved(a + d, bias + shift, steps, met, True)
        hit = np.flatnonzero(room <= t)
        a, newton, missing, total = a + t * d, newton - t * d, missing - t * off, (1 - t) * total
        a[hit] = np.where(step[hit] > 0, y[hit] * bound[hit], 0.0)
        met += hit.tolist()
        units = np.zeros((n, len(hit)), order="F")
        units[hit, np.arange(len(hit))] = 1.0
        V = np.column_stack([V, dpotrs(factor, units, lower=1)[0]])
        if len(met) >= PINNED:
            return _Moved(a, bias, steps, met, False)
    return _Moved(a, 0.0, steps, met, True)


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


def _middle(y: Array, bound: Array, a: Array, asked: Array) -> float | None:
    """A bias between what the rows that could move up and those that could move down ask for.

    None where all rows could move one way only: such multipliers do not add up to zero.
    """
    alpha = y * a
    up = np.where(y > 0, alpha < bound, alpha > 0)
    down = np.where(y > 0, alpha > 0, alpha < bound)
    if not (up.any() and down.any()):
        return None
    return 0.5 * (float(asked[up].max()) + float(asked[down].min()))
