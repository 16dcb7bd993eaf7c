r"""Band method: the loss of many rows, replaced by the rows near their margins.

With :math:`t_i = \rho_i - y_i f(x_i)` at a reference f and a radius r,

- rows with :math:`|t_i| \le r` are the band, and stay as they are;
- rows with :math:`t_i > r` become one row for each class, with the cost :math:`\sum_i C_i` and the
  cost-weighted means of :math:`x_i` and :math:`\rho_i`;
- rows with :math:`t_i < -r` are left out.

Since :math:`\sum_i C_i \max(t_i, 0) \ge \max(\sum_i C_i t_i, 0)`, the loss of these rows is never larger than
the loss of all rows. The optimum of the smaller problem is therefore a lower bound. At its solution the two
losses differ by at most :math:`\sum_i C_i |t_i|` over the rows that changed side. These rows join the band.
The answer is exact once no row changes side.

References come from random rows. First f is fitted to them. Then a wide band is thinned at random, and a
linear term gives its loss the gradient of the loss of all rows. Each such correction shortens the next step.
The last step is the radius of the next band. A band of few rows is not thinned.

Every pass reads the rows in chunks, has no state for each chunk, and adds up in the order of the chunks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol

import numpy as np

from ..._utils.arrays import Array

# Rows read at a time.
CHUNK = 50_000

# Margin of the rows that stand for a linear term: far above values of f at the mean of the rows.
FAR_MARGIN = 30.0

# The cost of rows that changed side, as a share of the loss, up to which an answer is exact.
EXACT = 1e-12

# A band is not thinned if it has at most this multiple of the rows of a thinned one.
WHOLE = 2

# The radius of the next band: this quantile of the last step of f, over drawn rows.
QUANTILE = 0.99

# A correction that shortens the step by less than this factor was made from too few rows.
SHORTER = 0.7

_SIGNS = np.array([-1.0, 1.0])


@dataclass(frozen=True, eq=False)
class LossRows:
    r"""Rows of the loss: X, signs, costs :math:`C_i` and margins :math:`\rho_i`. Cost 0 leaves a row out."""

    X: Array
    y: Array
    bound: Array
    margin: Array

    def __len__(self) -> int:
        return len(self.y)

    def __getitem__(self, which: Array | slice) -> LossRows:
        return LossRows(self.X[which], self.y[which], self.bound[which], self.margin[which])

    def excess(self, f: Any) -> Array:
        r"""Return :math:`t_i = \rho_i - y_i f(x_i)`."""
        return np.asarray(self.margin - self.y * f.value(self.X))


def stacked(parts: list[LossRows]) -> LossRows:
    """Return the rows of all parts, in order."""
    return LossRows(
        np.vstack([part.X for part in parts]),
        np.concatenate([part.y for part in parts]),
        np.concatenate([part.bound for part in parts]),
        np.concatenate([part.margin for part in parts]),
    )


class RowChunks(Protocol):
    """Rows in chunks: each iteration yields the number of the first row and the rows of every chunk."""

    def __iter__(self) -> Iterator[tuple[int, LossRows]]: ...


class ArrayChunks:
    """Chunks of arrays in memory; each chunk of X becomes an array of float64."""

    def __init__(self, X: Any, y: Array, bound: Array, margin: Array, size: int = CHUNK):
        self.rows = LossRows(X, y, bound, margin)
        self.size = size

    def __iter__(self) -> Iterator[tuple[int, LossRows]]:
        for start in range(0, len(self.rows), self.size):
            part = self.rows[start : start + self.size]
            yield start, replace(part, X=np.asarray(part.X, float))


class Sums(NamedTuple):
    """Sums over rows of the negative and the positive class: costs, costs times margins, costs times x."""

    bound: Array
    margin: Array
    X: Array

    @classmethod
    def of(cls, rows: LossRows, chosen: Array) -> Sums:
        """Return the sums over chosen rows."""
        weights = np.where(chosen, rows.bound, 0.0) * (rows.y == _SIGNS[:, None])
        return cls(weights.sum(axis=1), weights @ rows.margin, weights @ rows.X)

    def plus(self, other: Sums, factor: float = 1.0) -> Sums:
        """Return these sums plus a multiple of other sums."""
        return Sums(*(a + factor * b for a, b in zip(self, other, strict=True)))

    def rows(self) -> LossRows:
        """Return one row for each class of positive cost."""
        which = np.flatnonzero(self.bound > 0)
        bound = self.bound[which]
        return LossRows(self.X[which] / bound[:, None], _SIGNS[which], bound, self.margin[which] / bound)

    def linear_term(self, middle: Array, width: Array) -> LossRows:
        """Return two rows whose loss has the gradient of the loss of the rows of these sums, at any f.

        Parameters
        ----------
        middle, width : mean and standard deviation of the features, near which the two rows lie.
        """
        by_bias = float(self.bound[0] - self.bound[1])
        half = 0.5 * (self.X[0] - self.X[1] - by_bias * middle)
        varying = width > 0
        distance = float(np.max(np.abs(half[varying]) / width[varying], initial=0.0))
        bound = max(distance, abs(by_bias), 1e-300) - 0.5 * by_bias * _SIGNS
        return LossRows(middle - np.outer(_SIGNS / bound, half), _SIGNS, bound, np.full(2, FAR_MARGIN))


@dataclass(frozen=True, eq=False)
class Band:
    """Rows near their margins at a reference f, and sums over rows beyond them.

    Attributes
    ----------
    f, radius : the reference and the radius.
    index, near : numbers of the rows of the band in increasing order, and the rows; random ones if thinned.
    inside, far : sums over rows with t from 0 to the radius, and over rows with larger t outside the band.
    """

    f: Any
    radius: float
    index: Array
    near: LossRows
    inside: Sums
    far: Sums

    @property
    def rows(self) -> LossRows:
        """The rows of the smaller problem."""
        return stacked([self.near, self.far.rows()])

    def corrected(self) -> LossRows:
        """Return the rows of a thinned band, with the gradient of the loss of all rows at the reference."""
        thinned = Sums.of(self.near, self.near.excess(self.f) > 0)
        missing = self.inside.plus(thinned, -1.0)
        X = self.near.X
        return stacked([self.rows, missing.linear_term(X.mean(axis=0), X.std(axis=0))])

    def joined(self, crossed: Crossed) -> Band:
        """Return the band with the rows that changed side."""
        index = np.concatenate([self.index, crossed.index])
        order = np.argsort(index, kind="stable")
        near = stacked([self.near, crossed.rows])[order]
        over = Sums.of(crossed.rows, crossed.rows.excess(self.f) > 0)
        return replace(self, index=index[order], near=near, far=self.far.plus(over, -1.0))


@dataclass(frozen=True, eq=False)
class Crossed:
    """Rows that changed side between the reference of a band and a new f.

    Attributes
    ----------
    index, rows : their numbers and the rows.
    lost : their costs times distances from the margin, by which the smaller problem underestimates the loss.
    loss : loss of all rows at the new f.
    """

    index: Array
    rows: LossRows
    lost: float
    loss: float


@dataclass(frozen=True, eq=False)
class Drawn:
    """Random rows of both classes, which have the cost of all rows of their class.

    Attributes
    ----------
    rows : the rows.
    count : the number of rows that each row stands for.
    """

    rows: LossRows
    count: Array

    def numbers(self, f: Any, radius: float) -> Array:
        """Return the estimated number of rows of each class in a band."""
        near = np.abs(self.rows.excess(f)) <= radius
        return np.asarray((near * (self.rows.y == _SIGNS[:, None])) @ self.count)


def drawn(chunks: RowChunks, size: int, seed: int) -> Drawn:
    """Return about ``size`` random rows: in each class the rows of the smallest random numbers."""
    half = -(-size // 2)
    parts: list[list[LossRows]] = [[], []]
    keys: list[list[Array]] = [[], []]
    cost = np.zeros(2)
    present = np.zeros(2, int)
    for number, (_, chunk) in enumerate(chunks):
        random = np.random.default_rng([seed, number]).random(len(chunk))
        for k, sign in enumerate(_SIGNS):
            rows = np.flatnonzero((chunk.y == sign) & (chunk.bound > 0))
            cost[k] += chunk.bound[rows].sum()
            present[k] += len(rows)
            if len(rows) > half:
                rows = rows[np.argpartition(random[rows], half - 1)[:half]]
            parts[k].append(chunk[rows])
            keys[k].append(random[rows])
    found = []
    for k in range(2):
        part = stacked(parts[k])[np.argsort(np.concatenate(keys[k]), kind="stable")[:half]]
        found.append(replace(part, bound=part.bound * (cost[k] / part.bound.sum())))
    sizes = [len(part) for part in found]
    count = np.repeat(present / sizes, sizes)
    return Drawn(stacked(found), count)


def divide(chunks: RowChunks, f: Any, radius: float, share: Array | None = None, seed: int = 0) -> Band:
    """Return the band of rows with \\|t\\| up to a radius; with ``share`` random rows of each class."""
    index = []
    near = []
    inside = []
    far = []
    for number, (start, chunk) in enumerate(chunks):
        t = chunk.excess(f)
        inside.append(Sums.of(chunk, (t > 0) & (t <= radius)))
        far.append(Sums.of(chunk, t > radius))
        chosen = (np.abs(t) <= radius) & (chunk.bound > 0)
        if share is not None:
            random = np.random.default_rng([seed, number]).random(len(chunk))
            of_row = share[(chunk.y > 0).astype(int)]
            chosen &= random < of_row
            chunk = replace(chunk, bound=chunk.bound / of_row)
        rows = np.flatnonzero(chosen)
        index.append(start + rows)
        near.append(chunk[rows])
    return Band(f, radius, np.concatenate(index), stacked(near), _total(inside), _total(far))


def _total(sums: list[Sums]) -> Sums:
    """Return the total of sums, added up in their order."""
    total = sums[0]
    for part in sums[1:]:
        total = total.plus(part)
    return total


def crossed(chunks: RowChunks, band: Band, f: Any) -> Crossed:
    """Return the rows outside a band that are on another side of their margin at f."""
    index = []
    rows = []
    lost = 0.0
    loss = 0.0
    for start, chunk in chunks:
        t = chunk.excess(f)
        loss += float(chunk.bound @ np.maximum(t, 0.0))
        before = chunk.excess(band.f)
        outside = (np.abs(before) > band.radius) & (chunk.bound > 0)
        first, last = np.searchsorted(band.index, [start, start + len(chunk)])
        outside[band.index[first:last] - start] = False
        found = np.flatnonzero(outside & (before * t < 0))
        lost += float(chunk.bound[found] @ np.abs(t[found]))
        index.append(start + found)
        rows.append(chunk[found])
    return Crossed(np.concatenate(index), stacked(rows), lost, loss)


class Found(NamedTuple):
    """Solution on the last band, the band, and what the last pass found."""

    answer: Any
    band: Band
    crossed: Crossed


def solve_band(chunks: RowChunks, fit: Callable[[LossRows, bool], Any], size: int, seed: int = 0) -> Found:
    """Return the solution for all rows.

    Parameters
    ----------
    chunks : RowChunks
        The rows.
    fit : callable
        Returns the solution for some rows, with the decision function ``f``. The second argument is whether
        its digits count: not for references.
    size : int
        Number of rows of each smaller problem. It grows if it is too small.
    seed : int, default=0
        Seed of the random rows.
    """
    sample = drawn(chunks, size, seed)
    f = fit(sample.rows, False).f
    radius = np.inf
    for step in range(1, 10**6):
        numbers = sample.numbers(f, radius)
        if numbers.sum() <= WHOLE * size:
            found = _exact(chunks, divide(chunks, f, radius), fit, size)
            if found is not None:
                return found
            size *= 2
            radius *= 2.0
            continue
        share = np.minimum(1.0, 0.5 * size / np.maximum(numbers, 1.0))
        new = fit(divide(chunks, f, radius, share, seed + step).corrected(), False).f
        change = np.abs(new.value(sample.rows.X) - f.value(sample.rows.X))
        length = float(np.quantile(change, QUANTILE))
        if length > SHORTER * radius:
            size *= 2
        radius = length
        f = new
    raise AssertionError("the rows of a band never become all rows")


def _exact(chunks: RowChunks, band: Band, fit: Callable[[LossRows, bool], Any], limit: int) -> Found | None:
    """Return the exact solution from a band; None if more rows than a limit change side at once."""
    while True:
        answer = fit(band.rows, True)
        found = crossed(chunks, band, answer.f)
        if found.lost <= EXACT * found.loss:
            return Found(answer, band, found)
        if len(found.index) > limit:
            return None
        band = band.joined(found)
