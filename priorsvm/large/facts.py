"""Pass 0: counts, moments, ranges and a random sample of rows that are read in chunks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from sklearn.utils.multiclass import check_classification_targets

from .._utils.arrays import Array
from .._utils.progress import progress
from ..encoding import check_labels_known
from ..errors import InvalidInput
from ..function.scale import Scale
from ..sample import RowTotals
from .sources import RowChunk, RowSource
from .table import fingerprint, numbers, places_of_extremes, squares_from, weights

# With more labels than this y is not a column of classes.
MOST_CLASSES = 1000


@dataclass(frozen=True, eq=False)
class Moments:
    """Weighted mean and squared deviations of each column, which add up over chunks."""

    weight: float
    mean: Array
    squares: Array

    @classmethod
    def of(cls, X: Array, weight: Array) -> Moments:
        """Return the moments of the columns of X."""
        total = float(weight.sum())
        mean = weight @ X / total if total > 0 else np.zeros(X.shape[1])
        return cls(total, mean, squares_from(X, mean, weight))

    def plus(self, other: Moments) -> Moments:
        """Return the moments of both groups of rows."""
        total = self.weight + other.weight
        if total == 0:
            return self
        step = other.mean - self.mean
        between = self.weight * other.weight / total * step**2
        return Moments(total, self.mean + other.weight / total * step, self.squares + other.squares + between)


@dataclass(frozen=True, eq=False)
class SomeRows:
    """Rows with their numbers: X, labels, sample weights and random numbers."""

    index: Array
    X: Array
    labels: Array
    weight: Array
    random: Array

    def __len__(self) -> int:
        return len(self.index)

    def __getitem__(self, which: Array) -> SomeRows:
        return SomeRows(*(part[which] for part in vars(self).values()))

    @classmethod
    def stacked(cls, parts: Sequence[SomeRows]) -> SomeRows:
        """Return the rows of all parts."""
        return cls(*(np.concatenate(part) for part in zip(*(vars(p).values() for p in parts), strict=True)))

    def first(self, limit: int) -> SomeRows:
        """Return the rows of the smallest random numbers of each label."""
        order = np.lexsort([self.index, self.random])
        chosen = [order[self.labels[order] == label][:limit] for label in np.unique(self.labels)]
        return self[np.concatenate(chosen)] if chosen else self


@dataclass(frozen=True, eq=False)
class Extremes:
    """The rows with the smallest and the largest value of each column, and these values."""

    low: Array
    high: Array
    rows: SomeRows

    def plus(self, other: Extremes) -> Extremes:
        """Return the extremes of both groups of rows; of equal values the first row counts."""
        d = len(self.low)
        take = np.concatenate([other.low < self.low, other.high > self.high])
        place = np.where(take, np.arange(2 * d) + 2 * d, np.arange(2 * d))
        both = SomeRows.stacked([self.rows, other.rows])
        return Extremes(np.minimum(self.low, other.low), np.maximum(self.high, other.high), both[place])


@dataclass(frozen=True, eq=False)
class ChunkFacts:
    """What pass 0 keeps of a chunk."""

    n: int
    mark: int
    labels: Array
    counts: Array
    weights: Array
    moments: Moments
    extremes: Extremes | None
    drawn: SomeRows


@dataclass
class ReadFacts:
    """Work of a chunk in pass 0: check its values and return its facts.

    Attributes
    ----------
    names, n_features : columns of the first chunk.
    limit, seed : number of drawn rows of each label, and seed of their random numbers.
    enough : label -> a random number up to which ``limit`` rows are known. Rows above it are not drawn. It is
        replaced during the pass. A worker of dask may have an earlier state, and returns more rows.
    """

    names: Sequence[str] | None
    n_features: int
    limit: int
    seed: int
    enough: dict[Any, float] = field(default_factory=dict)

    def __call__(self, number: int, chunk: RowChunk) -> ChunkFacts:
        X = numbers(chunk.X, self.names, self.n_features, chunk.where)
        y = known_labels(chunk.y, len(X), chunk.where)
        weight = weights(chunk.weight, len(X), chunk.where)
        random = np.random.default_rng([self.seed, number]).random(len(X))
        labels = np.unique(y)
        _require_few(labels)
        of_row = np.searchsorted(labels, y)
        on = weight > 0
        counted = np.flatnonzero(on)
        rows = SomeRows(np.arange(len(X)), X, y, weight, random)
        extremes = None
        if len(counted):
            part = X if len(counted) == len(X) else X[counted]
            low, high = places_of_extremes(part)
            columns = np.arange(X.shape[1])
            outermost = rows[counted[np.concatenate([low, high])]]
            extremes = Extremes(part[low, columns], part[high, columns], outermost)
        chosen = [np.zeros(0, int)]
        for k, label in enumerate(labels.tolist()):
            possible = np.flatnonzero((of_row == k) & on & (random <= self.enough.get(label, 1.0)))
            chosen.append(_smallest(possible, random, self.limit))
        return ChunkFacts(
            len(X),
            fingerprint(X, y, weight),
            labels,
            np.bincount(of_row, on, minlength=len(labels)),
            np.bincount(of_row, weight, minlength=len(labels)),
            Moments.of(X, weight),
            extremes,
            rows[np.concatenate(chosen)],
        )

    def partition(self, chunks: Iterable[tuple[int, RowChunk]]) -> list[ChunkFacts]:
        """Return the facts of the chunks of a partition, on a worker.

        Together the chunks have at most ``limit`` drawn rows of each label. Otherwise the first pass would
        send most rows to the client.
        """
        work = replace(self, enough=dict(self.enough))
        drawn = _Draws(self.limit)
        found = []
        for number, chunk in chunks:
            facts = work(number, chunk)
            found.append(facts)
            work.enough |= drawn.joined(facts.drawn)
        enough = drawn.narrowed()
        return [replace(facts, drawn=facts.drawn[_below(facts.drawn, enough)]) for facts in found]


class _Draws:
    """The rows of the smallest random numbers of each label so far."""

    def __init__(self, limit: int):
        self.limit = limit
        self.parts: list[SomeRows] = []

    def joined(self, rows: SomeRows) -> dict[Any, float]:
        """Add rows, and return bounds of random numbers, if they were computed again."""
        self.parts.append(rows)
        return self.narrowed() if sum(map(len, self.parts)) > 4 * self.limit else {}

    def narrowed(self) -> dict[Any, float]:
        """Leave out rows that are not drawn in the end, and return the largest random number of each label.

        Labels with fewer than ``limit`` rows are not part of the result.
        """
        if not self.parts:
            return {}
        self.parts = [SomeRows.stacked(self.parts).first(self.limit)]
        return _largest(self.parts[0], self.limit)


def _below(rows: SomeRows, enough: dict[Any, float]) -> Array:
    """Return whether the random number of each row is at most the bound of its label."""
    labels, of_row = np.unique(rows.labels, return_inverse=True)
    bounds = np.array([enough.get(label, 1.0) for label in labels.tolist()])
    return np.asarray(rows.random <= bounds[of_row]) if len(rows) else np.zeros(0, bool)


def _smallest(rows: Array, random: Array, limit: int) -> Array:
    """Return the rows of the smallest random numbers."""
    return rows if len(rows) <= limit else rows[np.argpartition(random[rows], limit - 1)[:limit]]


def known_labels(y: Any, n: int, where: str) -> Array:
    """Return the labels of a chunk; raise InvalidInput unless there is a known label for each row."""
    labels = np.asarray(y)
    if labels.shape != (n,):
        raise InvalidInput(f"{where}: y has shape {labels.shape}, but X has {n} rows.")
    check_labels_known(labels)
    if labels.dtype.kind == "O" and n:
        labels = np.array(labels.tolist())
    return labels


@dataclass(frozen=True, eq=False)
class Facts:
    """Facts of all rows.

    Attributes
    ----------
    classes : the labels, sorted.
    lengths, marks : number of rows and fingerprint of each chunk.
    totals : numbers of rows and sums of weights by class, and the mean.
    moments : weighted moments of the columns.
    low, high : ranges of the columns.
    sample : drawn rows and the rows of the ranges, in the order of their numbers. The weights of each class
        add up to the weight of all its rows.
    count : the number of rows that each row of the sample stands for.
    random : whether each row of the sample was drawn.
    """

    classes: Array
    lengths: Array
    marks: list[int]
    totals: RowTotals
    moments: Moments
    low: Array
    high: Array
    sample: SomeRows
    count: Array
    random: Array

    def scale(self, kind: str | None) -> Scale | None:
        """Return the scaling of all rows."""
        if kind is None:
            return None
        width = self.high - self.low
        shift = self.low
        if kind == "standard":
            width = np.sqrt(self.moments.squares / self.moments.weight)
            shift = self.moments.mean
        return Scale.from_facts(shift, width, np.maximum(np.abs(self.low), np.abs(self.high)))


def read_facts(source: RowSource, size: int, seed: int, verbose: int = 0) -> Facts:
    """Return the facts of all rows, with about ``size`` drawn rows, in one pass."""
    half = -(-size // 2)
    work = ReadFacts(source.feature_names, source.n_features, half, seed)
    lengths: list[int] = []
    marks: list[int] = []
    labels: list[Array] = []
    counts: list[Array] = []
    totals: list[Array] = []
    moments = Moments.of(np.zeros((0, source.n_features)), np.zeros(0))
    extremes: Extremes | None = None
    drawn = _Draws(half)
    with progress(verbose, total=source.n_rows, desc="pass 0", unit=" rows", unit_scale=True) as bar:
        for found in source.map(work):
            start = sum(lengths)
            lengths.append(found.n)
            marks.append(found.mark)
            labels.append(found.labels)
            counts.append(found.counts)
            totals.append(found.weights)
            moments = moments.plus(found.moments)
            extremes = _joined_extremes(extremes, found.extremes, start)
            work.enough = work.enough | drawn.joined(_shifted(found.drawn, start))
            bar.update(found.n)
    classes = _classes(labels)
    number = _by_class(classes, labels, counts).astype(int)
    weight = _by_class(classes, labels, totals)
    _require_weight(classes, weight)
    assert extremes is not None
    sample, count, random = _weighted_sample(
        SomeRows.stacked(drawn.parts), extremes.rows, classes, number, weight, size
    )
    return Facts(
        classes,
        np.array(lengths),
        marks,
        RowTotals(sum(lengths), number, weight, moments.mean),
        moments,
        extremes.low,
        extremes.high,
        sample,
        count,
        random,
    )


def _shifted(rows: SomeRows, start: int) -> SomeRows:
    """Return rows with their numbers among all rows."""
    return replace(rows, index=rows.index + start)


def _joined_extremes(first: Extremes | None, second: Extremes | None, start: int) -> Extremes | None:
    """Return the extremes of both groups of rows."""
    if second is None:
        return first
    second = replace(second, rows=_shifted(second.rows, start))
    return second if first is None else first.plus(second)


def _largest(rows: SomeRows, limit: int) -> dict[Any, float]:
    """Return the largest random number of each label that has at least ``limit`` rows."""
    of_label = {label: rows.random[rows.labels == label] for label in np.unique(rows.labels).tolist()}
    return {label: float(random.max()) for label, random in of_label.items() if len(random) >= limit}


def _require_few(labels: Array) -> None:
    """Raise InvalidInput if there are too many labels for classes."""
    if len(labels) > MOST_CLASSES:
        raise InvalidInput(
            f"y has {len(labels)} different labels or more. Give classes, at most {MOST_CLASSES}."
        )


def _classes(labels: list[Array]) -> Array:
    """Return the sorted labels of all chunks; raise InvalidInput unless they are two classes or more."""
    present = [part for part in labels if len(part)]
    if not present:
        raise InvalidInput("X contains no rows.")
    kinds = {"text" if part.dtype.kind in "US" else "number" for part in present}
    if len(kinds) > 1:
        raise InvalidInput("y contains both strings and numbers. Use labels of one type.")
    classes = np.unique(np.concatenate(present))
    _require_few(classes)
    check_classification_targets(classes)
    if len(classes) < 2:
        raise InvalidInput(
            f"y contains one class only, {classes.tolist()[0]!r}. At least two classes are required."
        )
    return classes


def _by_class(classes: Array, labels: list[Array], parts: list[Array]) -> Array:
    """Return the sum over chunks for each class, in the order of the chunks."""
    total = np.zeros(len(classes))
    for label, part in zip(labels, parts, strict=True):
        total[np.searchsorted(classes, label)] += part
    return total


def _require_weight(classes: Array, weight: Array) -> None:
    """Raise InvalidInput if no row of a class has a positive weight."""
    for label in classes[weight == 0].tolist():
        raise InvalidInput(
            f"sample_weight is 0 for every row of class {label!r}. Give at least one row of each class a "
            "positive weight."
        )


def _weighted_sample(
    drawn: SomeRows, extreme: SomeRows, classes: Array, number: Array, weight: Array, size: int
) -> tuple[SomeRows, Array, Array]:
    """Return drawn rows and rows of the ranges with weights for all rows, counts, and which are drawn.

    A row of a range stands for itself. The drawn rows of a class stand for all its other rows.
    """
    drawn = drawn.first(-(-size // len(classes)))
    extreme = extreme[np.unique(extreme.index, return_index=True)[1]]
    extreme = extreme[~np.isin(extreme.index, drawn.index)]
    rows = SomeRows.stacked([drawn, extreme])
    random = np.arange(len(rows)) < len(drawn)
    count = np.ones(len(rows))
    total = rows.weight.copy()
    of_row = np.searchsorted(classes, rows.labels)
    for k in range(len(classes)):
        of_class = of_row == k
        chosen = of_class & random
        others = of_class & ~random
        count[chosen] = (number[k] - others.sum()) / chosen.sum()
        total[chosen] *= (weight[k] - rows.weight[others].sum()) / rows.weight[chosen].sum()
    order = np.argsort(rows.index)
    return replace(rows, weight=total)[order], count[order], random[order]
