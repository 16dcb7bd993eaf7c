"""Rows of the loss from a row source: each chunk is prepared by the blocks on its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from .._utils.arrays import Array
from .._utils.progress import progress
from ..errors import InvalidInput
from ..prior import Member
from ..problem.assemble import prepare
from ..sample import Sample
from ..solve.methods.chunks import Drawn
from ..solve.methods.loss_rows import LossRows
from .facts import Facts, known_labels
from .memory import MemoryPlan
from .sources import RowChunk, RowSource
from .table import fingerprint, numbers, weights

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class LargeRows:
    """Rows that are read in chunks, with the facts of the first pass and the limits of memory."""

    source: RowSource
    facts: Facts
    plan: MemoryPlan
    verbose: int = 0


@dataclass(frozen=True, eq=False)
class PreparedChunk:
    """Work of a chunk: prepare its rows, and apply the work of a pass.

    Attributes
    ----------
    work : work of the pass.
    members, states : blocks that reweight rows, and their states.
    template : facts of all rows, and no row.
    C : weight of the slacks.
    lengths, marks, starts : number of rows, fingerprint and number of the first row of each chunk.
    feature_names : names of the columns, or None.
    shares : names of the parts of the costs.
    """

    work: Callable[[int, int, LossRows], Any]
    members: Sequence[Member]
    states: Mapping[str, Any]
    template: Sample
    C: float
    lengths: Array
    marks: Sequence[int]
    starts: Array
    feature_names: Sequence[str] | None
    shares: Sequence[str]

    def __call__(self, number: int, chunk: RowChunk) -> tuple[int, Any]:
        template = self.template
        X = numbers(chunk.X, self.feature_names, template.X.shape[1], chunk.where)
        if number >= len(self.lengths) or len(X) != self.lengths[number]:
            raise InvalidInput(
                f"{chunk.where} has {len(X)} rows, and had another number of rows in the first pass. Give a "
                "source that returns the same rows in every pass."
            )
        y = known_labels(chunk.y, len(X), chunk.where)
        weight = weights(chunk.weight, len(X), chunk.where)
        if fingerprint(X, y, weight) != self.marks[number]:
            raise InvalidInput(
                f"{chunk.where} has other rows, labels or weights than in the first pass. Give a source that "
                "returns the same rows in every pass, with a fixed seed if rows are drawn or changed."
            )
        sample = Sample.training(
            X,
            y,
            template.classes,
            template.positive,
            weight,
            template.feature_names,
            template.seed,
            template.model,
            None,
            template.against,
            totals=template.totals,
        )
        rows = loss_rows(prepare(self.members, sample, self.states), self.C, self.shares)
        return len(X), self.work(number, int(self.starts[number]), rows)


def loss_rows(sample: Sample, C: float, shares: Sequence[str]) -> LossRows:
    """Return prepared rows as rows of the loss, with the parts of some blocks in the costs."""
    nothing = np.zeros(len(sample))
    parts = np.array([sample.shares.get(name, nothing) for name in shares])
    return LossRows(sample.X, sample.y, C * sample.cost, sample.margin, C * parts)


class SourceChunks:
    """Chunks of a row source, followed by one chunk of the rows that blocks add.

    Attributes
    ----------
    passes : number of passes so far, with the first pass.
    """

    def __init__(self, large: LargeRows, sample: Sample, members: Sequence[Member], states: Any, C: float):
        self.large = large
        self.sample = sample
        self.C = C
        self.passes = 1
        self.shares = list(sample.shares)
        lengths = large.facts.lengths
        self.starts = np.concatenate([[0], np.cumsum(lengths)])
        reweighting = [m for m in members if m.block.prepares == "reweights"]
        rows = np.zeros(0, int)
        self.prepared = PreparedChunk(
            _nothing,
            reweighting,
            {m.name: states.get(m.name) for m in reweighting},
            replace(
                sample,
                X=sample.X[:0],
                y=sample.y[:0],
                cost=sample.cost[:0],
                margin=sample.margin[:0],
                source=rows,
                n_train=0,
                labels=sample.labels[:0],
                shares={},
                all_weights=None,
                added_labels=None,
            ),
            C,
            lengths,
            large.facts.marks,
            self.starts,
            large.source.feature_names,
            self.shares,
        )

    def __len__(self) -> int:
        return int(self.starts[-1]) + self.n_added

    @property
    def n_added(self) -> int:
        """The number of rows that blocks add."""
        return len(self.sample) - self.sample.n_train

    def map(self, work: Callable[[int, int, LossRows], T]) -> Iterator[T]:
        """Yield the results of all chunks in one pass."""
        count = len(self.large.facts.lengths)
        number = 0
        bar = progress(
            self.large.verbose,
            total=int(self.starts[-1]),
            desc=f"pass {self.passes}",
            unit=" rows",
            unit_scale=True,
        )
        self.passes += 1
        with bar:
            for n, found in self.large.source.map(replace(self.prepared, work=work)):
                number += 1
                bar.update(n)
                yield found
        if number != count:
            raise InvalidInput(
                f"X has {number} chunks, and had {count} chunks in the first pass. Give a source that "
                "returns the same rows in every pass."
            )
        if self.n_added:
            added = loss_rows(self.sample, self.C, self.shares)[slice(self.sample.n_train, None)]
            yield work(count, int(self.starts[-1]), added)

    def drawn(self) -> Drawn:
        """Return the drawn rows of the first pass, and the rows that blocks add."""
        facts = self.large.facts
        added = self.n_added
        rows = loss_rows(self.sample, self.C, self.shares)
        counted = np.flatnonzero(rows.bound > 0)
        count = np.concatenate([facts.count, np.ones(added)])
        random = np.concatenate([facts.random, np.ones(added, bool)])
        return Drawn(rows[counted], count[counted], random[counted])


def _nothing(number: int, start: int, rows: LossRows) -> None:
    """Return nothing: the work that the work of a pass replaces."""
