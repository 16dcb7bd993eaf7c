r"""An active-set method for the dual of a machine of rows: from a good guess to the exact answer.

.. math:: \max_a\; \rho^\top a - \tfrac12 a^\top K a \quad\text{s.t.}\quad l \le a \le u, \quad
          e^\top a = 0, \quad T^\top a \le \mu, \qquad e \ge 0 .

Rows ask for a value :math:`\rho` of f, and e says how often the bias is in it. A weighted SVM has
:math:`a_i = y_i \alpha_i` between 0 and :math:`y_i C_i`, a target of :math:`\pm 1`, and :math:`e = 1`. Rows
strictly between their bounds are free and get what they ask for,
:math:`K_{FF}\,\Delta a + b\,e_F + T_F\zeta = (\rho - Ka)_F`; rows that share a slack :math:`\zeta_k` share a
limit :math:`\mu_k`, and the slack is 0 unless that is reached. The step towards all this ends where a row
meets a bound or a sum its limit, which it then keeps. Once the whole step can be taken, rows on the wrong
side of their target become free, and limits with a negative slack are given up. The objective never falls,
so no set of free rows comes twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs

from ..._utils.arrays import Array, products

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


class Columns:
    """A kernel matrix of which some ``columns`` are there, K, and others can be made, by ``facing``."""

    def __init__(self, K: Array, columns: Array, facing: Callable[[Array], Array]) -> None:
        self.parts = [K]
        self.columns = columns
        self.facing = facing
        self.place = np.full(len(K), -1)
        self.place[columns] = np.arange(len(columns))

    def among(self, rows: Array) -> Array:
        """Its entries between some rows."""
        self._make(rows)
        place = self.place[rows]
        out = np.empty((len(rows), len(rows)))
        for K, start in self._each():
            here = np.flatnonzero((place >= start) & (place < start + K.shape[1]))
            if len(here) == len(rows):
                return np.asarray(K[np.ix_(rows, place - start)])
            out[:, here] = K[np.ix_(rows, place[here] - start)]
        return out

    def times(self, a: Array) -> Array:
        """Its product with a vector that is zero but for support vectors."""
        self._make(np.flatnonzero(a))
        out = np.zeros(len(a))
        for K, start in self._each():
            own = a[self.columns[start : start + K.shape[1]]]
            few = np.flatnonzero(own)
            out += K[:, few] @ own[few] if 3 * len(few) < len(own) else K @ own
        return out

    def _each(self) -> Iterator[tuple[Array, int]]:
        """The parts, and the place of their first column."""
        start = 0
        for K in self.parts:
            yield K, start
            start += K.shape[1]

    def _make(self, rows: Array) -> None:
        """The columns of these rows, as far as they are missing."""
        new = rows[self.place[rows] < 0]
        if len(new):
            self.parts.append(self.facing(new))
            self.place[new] = len(self.columns) + np.arange(len(new))
            self.columns = np.concatenate([self.columns, new])


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
    """The problem but for K.

    Attributes
    ----------
    asked, low, high, balance : what rows ask for, the bounds of their multipliers, and e.
    shares, limit : (n, k) matrix T and the k limits of :math:`T^\\top a`, for rows that share a slack; such a
        row has a multiplier of any size, and an entry of +1 or -1 if it is nonnegative or not positive.
    """

    asked: Array
    low: Array
    high: Array
    balance: Array
    shares: Array
    limit: Array

    def some(self, rows: Array) -> Bounds:
        """The same for some of the rows."""
        asked, low, high, balance = (x[rows] for x in (self.asked, self.low, self.high, self.balance))
        return Bounds(asked, low, high, balance, self.shares[rows], self.limit)


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
    n = len(y)
    low = np.minimum(signed, 0.0)
    high = np.maximum(signed, 0.0)
    rows = Bounds(y * margin, low, high, np.ones(n), np.zeros((n, 0)), np.zeros(0))
    return optimise(kernel, rows, a, tol, effort)


def optimise(kernel: Kernel, rows: Bounds, a: Array, tol: float, effort: float = 5.0) -> Polished | None:
    """The exact answer for rows of any kind, from multipliers near it; None if that is too much work.

    Rows that share a slack start at 0.
    """
    n = len(a)
    steps = 0
    work = 0.0
    low = rows.low
    high = rows.high
    width = high - low
    near = np.where(np.isfinite(width), 1e-8 * width, 0.0)
    a = np.where(a >= high - near, high, np.where(a <= low + near, low, a))
    free = (a > low) & (a < high)
    full = np.zeros(len(rows.limit), bool)
    Ka = kernel.times(a)
    rough = np.inf
    while work <= effort:
        F = np.flatnonzero(free)
        own = rows.some(F)
        balance = -float(rows.balance @ a)
        moved = _to_margin(kernel.among(F), own, a[F], own.asked - Ka[F], balance, full)
        if moved is None:
            return None
        steps += moved.steps
        work += (len(F) / n) ** 3 + 20 * moved.steps * len(F) ** 2 / n**3 + 3 / n
        a[F] = moved.a
        full = moved.full
        free[F[moved.met]] = False
        Ka = kernel.times(a)
        if not moved.whole:
            continue
        given = Ka + rows.shares @ moved.slack
        bias = _middle(rows, a, given) if moved.bias is None else moved.bias
        excess = given + bias * rows.balance - rows.asked
        slight = max(1e-3 * min(tol, 1e-6), 4e-16 * float(np.abs(a).sum()))
        wrong = ~free & (((a < high) & (excess < -slight)) | ((a > low) & (excess > slight)))
        given_up = full & (moved.slack < -slight)
        before = rough
        rough = float(np.abs(excess[free]).max(initial=0.0))
        if wrong.any() or given_up.any():
            free |= wrong
            full &= ~given_up
            rough = np.inf
        elif rough <= slight or rough > 0.5 * before:  # or rounding has had the last word
            if moved.bias is None and abs(float(rows.balance @ a)) > 1e-9 * float(np.abs(a).sum()):
                return None  # rows at bounds that do not add up to zero
            return Polished(a, bias, Ka + bias * rows.balance, steps)
    return None


@dataclass(frozen=True, eq=False)
class _Moved:
    """What became of free rows.

    Attributes
    ----------
    a, bias, slack : multipliers, the bias, if free rows have it, and the shared slacks.
    steps : how many were taken.
    met, full : rows that met a bound, and sums that have reached their limit.
    whole : whether the rows have what they ask for.
    """

    a: Array
    bias: float | None
    slack: Array
    steps: int
    met: list[int]
    full: Array
    whole: bool


def _to_margin(K: Array, rows: Bounds, a: Array, missing: Array, total: float, full: Array) -> _Moved | None:
    r"""Give free rows what they ask for, K d + b e + T slack = missing with e'd = total, as far as that goes.

    A row that meets its bound keeps it: d is 0 there from then on; so does a sum that meets its limit. Each
    such condition has a multiplier, so one factorisation serves many steps, for as long as rounding permits.
    """
    n = len(a)
    met = list[int]()
    steps = 0
    e = rows.balance
    full = full.copy()
    none = np.zeros(len(full))
    if n == 0:
        return _Moved(a, None, none, 0, met, full, True)
    # A constant more in K is one less in b, and leaves a factor where K alone has none: rows of few columns.
    more = float(K.diagonal().max(initial=0.0))
    K = K + (more if (e == 1.0).all() else np.outer(more * e, e))
    shift = more * total
    factor = _factor(K)
    if factor is None:
        return None
    sums = np.column_stack([e, rows.shares])
    newton, of_sums = (dpotrs(factor, right, lower=1)[0] for right in (missing, sums))
    V = np.empty((n, 0))
    loose = np.ones(n, bool)
    while len(met) < n:
        held = _independent(sums * loose[:, None], np.append(True, full))
        every = np.column_stack([of_sums[:, held], V])
        inner = np.vstack([sums[:, held].T @ every, every[met]])
        d = np.zeros(n)
        prices = np.zeros(sums.shape[1])
        wanted = newton
        for _ in range(2):  # the second time for what rounding took
            left = np.where(held == 0, total, 0.0) - sums[:, held].T @ d
            try:
                weights = np.linalg.solve(inner, np.append(sums[:, held].T @ wanted - left, wanted[met]))
            except np.linalg.LinAlgError:
                return None
            prices[held] += weights[: len(held)]
            d += wanted - every @ weights
            d[met] = 0.0
            off = K @ d
            lost = np.where(loose, missing - off - sums @ prices, 0.0)
            worst = float(np.abs(lost).max())
            size = float(np.abs(missing).max())
            if not np.isfinite(worst):
                return None
            if worst <= 1e-10 * size:
                break
            wanted = dpotrs(factor, lost, lower=1)[0]
        if met and worst > 1e-3 * size:
            return _Moved(a, None, none, steps, met, full, False)
        steps += 1
        with np.errstate(divide="ignore", invalid="ignore"):
            room = np.where(d < 0, (rows.low - a) / d, np.where(d > 0, (rows.high - a) / d, np.inf))
            growth = rows.shares.T @ d
            spare = rows.limit - rows.shares.T @ a
            beyond = np.where(~full & (growth > 0), spare / growth, np.inf)
        t = min(float(room.min()), float(beyond.min(initial=np.inf)))
        if t >= 1:
            bias = float(prices[0]) + shift if 0 in held else None
            return _Moved(a + d, bias, prices[1:], steps, met, full, True)
        hit = np.flatnonzero(room <= t)
        full |= beyond <= t
        a = a + t * d
        newton = newton - t * d
        missing = missing - t * off
        total = (1 - t) * total
        a[hit] = np.where(d[hit] > 0, rows.high[hit], rows.low[hit])
        met += hit.tolist()
        loose[hit] = False
        units = np.zeros((n, len(hit)), order="F")
        units[hit, np.arange(len(hit))] = 1.0
        V = np.column_stack([V, dpotrs(factor, units, lower=1)[0]])
        if len(met) >= PINNED:
            return _Moved(a, None, none, steps, met, full, False)
    return _Moved(a, None, none, steps, met, full, True)


def _independent(sums: Array, wanted: Array) -> Array:
    """Which of the sums that are wanted are conditions of their own for the rows that can still move."""
    some = [k for k in np.flatnonzero(wanted) if sums[:, k].any()]
    if len(some) > 1:
        size = np.abs(np.diag(np.linalg.qr(sums[:, some], mode="r")))
        some = [k for k, own in zip(some, size, strict=False) if own > 1e-10 * size[0]]
    return np.array(some, int)


def _factor(K: Array) -> Array | None:
    """The Cholesky factor of K, lifted a little."""
    n = len(K)
    lift = LIFT * float(K.diagonal().max(initial=0.0))
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
