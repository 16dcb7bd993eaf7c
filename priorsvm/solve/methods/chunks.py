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

References come from random rows. First f is fitted to them. The distance from an f of half of them is the
first radius: it is about the distance from the solution. A band of many rows is thinned at random, and a
linear term gives its loss the gradient of the loss of all rows. Each such correction shortens the next step.
Half of the last step is the radius of the next band. A band of few rows is not thinned. If a class is rare,
too few rows give the linear term a slope that no loss limits, and f moves far out of the band. A step of more
than twice the radius is therefore discarded, and the next band has twice as many rows.

If nearly all rows lie on their margins, as for a constant f, no radius makes a narrow band. The band then has
random rows of these, and the radius 0 for all others: it is a lower bound, too. Rounding moves the others to
either side, and the cost of this is negligible.

Every pass reads the rows in chunks, has no state for each chunk, and adds up in the order of the chunks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np

from ..._utils.arrays import Array
from ..._utils.deadline import NEVER, Deadline
from ...errors import OutOfTime, SolverFailed, TooLarge
from .loss_rows import SIGNS, LossRows, Sums, distinct, stacked

T = TypeVar("T")

# Rows read at a time.
CHUNK = 50_000

# The cost of rows that changed side, as a share of the loss, up to which an answer is exact.
EXACT = 1e-12

# The cost of rows that changed side, as a share of the loss, if they are too many to join the band.
CLOSE = 1e-9

# A band is not thinned if it has at most this multiple of the rows of a thinned one.
WHOLE = 2

# The length of a step of f: this quantile of its change over drawn rows.
QUANTILE = 0.99

# The radius of the next band, as a share of the last step. Corrections shorten steps to 0.04 to 0.25.
NEXT = 0.5

# A correction that shortens the step by less than this factor was made from too few rows.
SHORTER = 0.7

# The smallest radius, above rounding, and the radius after a band with rows of one class only.
NARROWEST = 1e-8
WIDER = 1e-3

# Rows within this radius are on their margins, if they are too many for a band.
ON_MARGIN = 1e-4

# Steps after which the method has failed. It takes 3 to 8.
MOST_STEPS = 50


class RowChunks(Protocol):
    """Rows in chunks."""

    def map(self, work: Callable[[int, int, LossRows], T]) -> Iterator[T]:
        """Yield ``work(number, start, rows)`` of every chunk in order, with the number of its first row."""
        ...


class ArrayChunks:
    """Chunks of arrays in memory; each chunk of X becomes an array of float64."""

    def __init__(self, X: Any, y: Array, bound: Array, margin: Array, size: int = CHUNK):
        self.rows = LossRows(X, y, bound, margin)
        self.size = size

    def map(self, work: Callable[[int, int, LossRows], T]) -> Iterator[T]:
        """Yield the results of all chunks."""
        for number, start in enumerate(range(0, len(self.rows), self.size)):
            part = self.rows[start : start + self.size]
            yield work(number, start, replace(part, X=np.asarray(part.X, float)))


@dataclass(frozen=True, eq=False)
class Band:
    """Rows near their margins at a reference f, and sums over rows beyond them.

    Attributes
    ----------
    f, radius : the reference and the radius.
    index, near : numbers of the rows of the band in increasing order, and the rows; random ones if thinned.
    far : sums over rows with t above the radius, outside the band.
    inside : sums over rows with t from 0 to the radius; None if the band is not thinned.
    """

    f: Any
    radius: float
    index: Array
    near: LossRows
    far: Sums
    inside: Sums | None = None

    @property
    def rows(self) -> LossRows:
        """The rows of the smaller problem."""
        return stacked([self.near, self.far.rows()])

    def corrected(self) -> LossRows:
        """Return the rows of a thinned band, with the gradient of the loss of all rows at the reference."""
        assert self.inside is not None
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


class Figures(NamedTuple):
    """Sums over all rows for the part of each block in the costs, by block, and by class where named.

    Attributes
    ----------
    loss : losses.
    rows, slack : number of rows and sum of their slacks.
    far_rows, far_bound : number and costs of the rows beyond the band on the wrong side, by class.
    """

    loss: Array
    rows: Array
    slack: Array
    far_rows: Array
    far_bound: Array

    @classmethod
    def of(
        cls, rows: LossRows, shares: Array, slack: Array, far: Array, count: Array | None = None
    ) -> Figures:
        """Return the sums over some rows, each of which stands for ``count`` rows of a part of its cost."""
        on = ((shares != 0) & (rows.bound > 0)).astype(float)
        number = on if count is None else on * count
        of_class = ((rows.y == SIGNS[:, None]) & far).astype(float)
        return cls(
            shares @ slack,
            number.sum(axis=1),
            number @ slack,
            number @ of_class.T,
            on @ (rows.bound * of_class).T,
        )

    def plus(self, other: Figures) -> Figures:
        """Return the sums over both groups of rows."""
        return Figures(*(a + b for a, b in zip(self, other, strict=True)))


@dataclass(frozen=True, eq=False)
class Crossed:
    """Rows that changed side between the reference of a band and a new f.

    Attributes
    ----------
    index, rows : their numbers and the rows.
    lost : their costs times distances from the margin, by which the smaller problem underestimates the loss.
    loss : loss of all rows at the new f.
    figures : sums over all rows by block, if the rows have shares.
    """

    index: Array
    rows: LossRows
    lost: float
    loss: float
    figures: Figures | None = None


@dataclass(frozen=True, eq=False)
class Drawn:
    """Random rows of both classes, which have the cost of all rows of their class.

    Attributes
    ----------
    rows : the rows.
    count : the number of rows that each row stands for.
    random : whether each row was drawn; other rows were chosen.
    """

    rows: LossRows
    count: Array
    random: Array

    def half(self) -> LossRows:
        """Return half of the rows of each class, with the cost of all rows of their class."""
        parts = []
        for sign in SIGNS:
            of_class = self.rows[self.rows.y == sign]
            half = of_class[::2]
            parts.append(replace(half, bound=half.bound * (of_class.bound.sum() / half.bound.sum())))
        return stacked(parts)

    def numbers(self, f: Any, radius: float) -> Array:
        """Return the estimated number of rows of each class in a band."""
        near = np.abs(self.rows.excess(f)) <= radius
        return np.asarray((near * (self.rows.y == SIGNS[:, None])) @ self.count)

    def repeated(self, f: Any, radius: float) -> bool:
        """Return whether most rows of a band are equal to other rows, so that few distinct rows remain."""
        near = self.rows[np.abs(self.rows.excess(f)) <= radius]
        return len(near) > 0 and distinct(near) is not None

    def step(self, f: Any, new: Any) -> float:
        """Return a large quantile of the change of f."""
        X = self.rows.X[self.random]
        return float(np.quantile(np.abs(new.value(X) - f.value(X)), QUANTILE))


def drawn(chunks: RowChunks, size: int, seed: int) -> Drawn:
    """Return about ``size`` random rows: in each class the rows of the smallest random numbers."""
    half = -(-size // 2)
    chosen: list[LossRows | None] = [None, None]
    keys = [np.zeros(0), np.zeros(0)]
    cost = np.zeros(2)
    present = np.zeros(2, int)
    for found in chunks.map(_Draw(half, seed)):
        for k, (rows, random, total, number) in enumerate(found):
            cost[k] += total
            present[k] += number
            before = chosen[k]
            both = rows if before is None else stacked([before, rows])
            keys[k] = np.concatenate([keys[k], random])
            first = np.argsort(keys[k], kind="stable")[:half]
            chosen[k] = both[first]
            keys[k] = keys[k][first]
    parts = []
    for part, total in zip(chosen, cost, strict=True):
        assert part is not None
        parts.append(replace(part, bound=part.bound * (total / part.bound.sum())))
    sizes = [len(part) for part in parts]
    count = np.repeat(present / sizes, sizes)
    return Drawn(stacked(parts), count, np.ones(len(count), bool))


@dataclass(frozen=True)
class _Draw:
    """Work of a chunk: random rows of each class, their random numbers, and cost and number of all rows."""

    half: int
    seed: int

    def __call__(self, number: int, start: int, chunk: LossRows) -> list[tuple[LossRows, Array, float, int]]:
        random = np.random.default_rng([self.seed, number]).random(len(chunk))
        found = []
        for sign in SIGNS:
            rows = np.flatnonzero((chunk.y == sign) & (chunk.bound > 0))
            total = float(chunk.bound[rows].sum())
            present = len(rows)
            if present > self.half:
                rows = rows[np.argpartition(random[rows], self.half - 1)[: self.half]]
            found.append((chunk[rows], random[rows], total, present))
        return found


def divide(
    chunks: RowChunks,
    f: Any,
    radius: float,
    share: Array | None = None,
    seed: int = 0,
    most: float = np.inf,
    bounding: bool = False,
) -> Band | None:
    """Return the band of rows with \\|t\\| up to a radius; with ``share`` random rows of each class.

    Random rows stand for all rows of the band. If the loss of the band is ``bounding``, a lower bound, they
    have their own costs, and all others are beyond the band, of radius 0. None if the band has more rows than
    ``most``.
    """
    index = []
    near = []
    inside = []
    far = []
    count = 0
    for rows, kept, far_sums, near_sums in chunks.map(_Divide(f, radius, share, seed, bounding)):
        count += len(rows)
        if count > most:
            return None
        index.append(rows)
        near.append(kept)
        far.append(far_sums)
        if near_sums is not None:
            inside.append(near_sums)
    total = _total(inside) if inside else None
    radius = 0.0 if bounding else radius
    return Band(f, radius, np.concatenate(index), stacked(near), _total(far), total)


@dataclass(frozen=True)
class _Divide:
    """Work of a chunk: its part of a band."""

    f: Any
    radius: float
    share: Array | None
    seed: int
    bounding: bool

    def __call__(self, number: int, start: int, chunk: LossRows) -> tuple[Array, LossRows, Sums, Sums | None]:
        t = chunk.excess(self.f)
        inside = None
        wrong = np.flatnonzero(t > 0)
        over = chunk[wrong]
        beyond = t[wrong] > self.radius
        chosen = (np.abs(t) <= self.radius) & (chunk.bound > 0)
        if self.share is not None:
            random = np.random.default_rng([self.seed, number]).random(len(chunk))
            of_row = self.share[(chunk.y > 0).astype(int)]
            chosen &= random < of_row
            if self.bounding:
                beyond = ~chosen[wrong]
            else:
                inside = Sums.of(over, ~beyond)
                chunk = replace(chunk, bound=chunk.bound / of_row)
        rows = np.flatnonzero(chosen)
        return start + rows, chunk[rows], Sums.of(over, beyond), inside


def _total(sums: list[Sums]) -> Sums:
    """Return the total of sums, added up in their order."""
    total = sums[0]
    for part in sums[1:]:
        total = total.plus(part)
    return total


def crossed(chunks: RowChunks, band: Band, f: Any, most: float = np.inf) -> Crossed:
    """Return the rows outside a band on another side of their margin at f, about ``most`` of them at most."""
    index = []
    rows = []
    lost = 0.0
    loss = 0.0
    figures = None
    count = 0
    for part in chunks.map(_Cross(band.f, band.index, f)):
        lost += part.lost
        loss += part.loss
        if count <= most:
            index.append(part.index)
            rows.append(part.rows)
        count += len(part.index)
        figures = part.figures if figures is None or part.figures is None else figures.plus(part.figures)
    return Crossed(np.concatenate(index), stacked(rows), lost, loss, figures)


@dataclass(frozen=True)
class _Cross:
    """Work of a chunk: its rows that changed side."""

    reference: Any
    index: Array
    f: Any

    def __call__(self, number: int, start: int, chunk: LossRows) -> Crossed:
        t = chunk.excess(self.f)
        slack = np.maximum(t, 0.0)
        far = chunk.excess(self.reference) > 0
        outside = chunk.bound > 0
        first, last = np.searchsorted(self.index, [start, start + len(chunk)])
        outside[self.index[first:last] - start] = False
        found = np.flatnonzero(outside & np.where(far, t < 0, t > 0))
        lost = float(chunk.bound[found] @ np.abs(t[found]))
        figures = None
        if chunk.shares is not None:
            figures = Figures.of(chunk, chunk.shares, slack, outside & far)
        return Crossed(start + found, chunk[found], lost, float(chunk.bound @ slack), figures)


class Found(NamedTuple):
    """Solution on the last band, the band, and what the last pass found.

    If the time has run out (``late``), the loss is estimated from drawn rows. Then ``lower`` is the loss of
    the last smaller problem if it is a lower bound, else NaN.
    """

    answer: Any
    band: Band
    crossed: Crossed
    late: bool = False
    lower: float = np.nan


class _Limited:
    """Chunks whose passes end with OutOfTime after a deadline."""

    def __init__(self, chunks: RowChunks, deadline: Deadline):
        self.chunks = chunks
        self.deadline = deadline

    def map(self, work: Callable[[int, int, LossRows], T]) -> Iterator[T]:
        """Yield the results of all chunks."""
        for found in self.chunks.map(work):
            self.deadline.check()
            yield found


class _LastFit:
    """Solver of smaller problems that keeps its last answer, and the rows of the problem if digits count."""

    def __init__(self, fit: Callable[[LossRows, bool], Any]):
        self.fit = fit
        self.answer: Any = None
        self.rows: LossRows | None = None

    def __call__(self, rows: LossRows, final: bool) -> Any:
        """Return the solution for some rows."""
        self.answer = self.fit(rows, final)
        self.rows = rows if final else None
        return self.answer

    def found(self, sample: Drawn) -> Found:
        """Return the last answer, with sums over all rows that are estimated from drawn rows."""
        f = self.answer.f
        rows = sample.rows
        t = rows.excess(f)
        slack = np.maximum(t, 0.0)
        far = Sums.of(rows, t > 0)
        figures = None
        if rows.shares is not None:
            figures = Figures.of(rows, rows.shares, slack, t > 0, sample.count)
        band = Band(f, 0.0, np.zeros(0, int), rows[:0], far)
        none = Crossed(band.index, band.near, 0.0, float(rows.bound @ slack), figures)
        lower = np.nan
        if self.rows is not None:
            lower = float(self.rows.bound @ np.maximum(self.rows.excess(f), 0.0))
        return Found(replace(self.answer, alpha=far.rows().bound), band, none, True, lower)


def solve_band(
    chunks: RowChunks,
    fit: Callable[[LossRows, bool], Any],
    size: int,
    seed: int = 0,
    sample: Drawn | None = None,
    most: float = np.inf,
    deadline: Deadline = NEVER,
) -> Found:
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
    sample : Drawn or None, default=None
        Random rows; None draws them.
    most : float, default=inf
        Most rows of a smaller problem. A larger band is discarded.
    deadline : Deadline, default=NEVER
        When the method has to end, with the answer of the last smaller problem.

    Raises
    ------
    OutOfTime
        If the time ends before the random rows have an answer.
    TooLarge
        If a smaller problem needs more rows than ``most``.
    SolverFailed
        If the bands do not become narrow enough.
    """
    limited = _Limited(chunks, deadline)
    last = _LastFit(fit)
    if sample is None:
        sample = drawn(limited, size, seed)
    try:
        return _solved(limited, last, size, seed, sample, most, deadline)
    except (OutOfTime, SolverFailed):
        if last.answer is None or not deadline.passed:
            raise
        return last.found(sample)


def _solved(
    chunks: RowChunks,
    fit: Callable[[LossRows, bool], Any],
    size: int,
    seed: int,
    sample: Drawn,
    most: float,
    deadline: Deadline,
) -> Found:
    """Return the solution for all rows; the parameters are those of :func:`solve_band`."""
    f = fit(sample.rows, False).f
    radius = max(sample.step(f, fit(sample.half(), False).f), NARROWEST)
    longest = np.inf
    for step in range(1, MOST_STEPS):
        if size > most:
            raise TooLarge(f"the rows near their margins are too many: more than {int(most)} are needed.")
        deadline.check()
        numbers = sample.numbers(f, radius)
        share = np.minimum(1.0, 0.5 * size / np.maximum(numbers, 1.0))
        whole = numbers.sum() <= WHOLE * size or sample.repeated(f, radius)
        if whole or radius <= ON_MARGIN:
            some = None if whole else share
            band = divide(chunks, f, radius, some, seed + step, most=most, bounding=not whole)
            if band is not None:
                if len(np.unique(band.rows.y)) < len(SIGNS):
                    radius = max(2.0 * radius, WIDER)
                    continue
                found = _exact(chunks, band, fit, size, most)
                if found is not None:
                    return found
                size *= 2
                radius *= 2.0
                continue
        thinned = divide(chunks, f, radius, share, seed + step)
        assert thinned is not None
        new = fit(thinned.corrected(), False).f
        length = sample.step(f, new)
        if length > radius / NEXT:
            size *= 2
            radius *= 2.0
            continue
        if length > longest:
            size *= 2
        radius = max(NEXT * length, NARROWEST)
        longest = SHORTER * length
        f = new
    raise SolverFailed(
        "CHUNKS did not converge. If most rows repeat other rows, give each of them once, with its number as "
        "sample_weight."
    )


def _exact(
    chunks: RowChunks, band: Band, fit: Callable[[LossRows, bool], Any], limit: int, most: float
) -> Found | None:
    """Return the exact solution from a band; None if too many rows change side at once, or join the band."""
    while True:
        answer = fit(band.rows, True)
        room = min(limit, most - len(band.near))
        found = crossed(chunks, band, answer.f, room)
        many = len(found.index) > room
        if found.lost <= (CLOSE if many else EXACT) * found.loss:
            return Found(answer, band, found)
        if many:
            return None
        band = band.joined(found)
