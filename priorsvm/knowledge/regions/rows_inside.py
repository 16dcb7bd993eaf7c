r"""What the training rows have to say about a region: how many lie in it, and whose class they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..._utils.arrays import Array
from ...sample import Sample
from .demand import Demand
from .sets import BoxSet, LevelSet, PolyhedronSet, Set
from .within import column_name

# Farther from the data than so many times their range, a rule is likely to be in other units.
FAR = 2.0
# So many rows of another class, and three quarters of those inside, speak against a region.
AGAINST = 5
# More columns than these are counted.
NAMED = 3


@dataclass(frozen=True)
class RowsInside:
    """Training rows in the regions of a block, and a region that lies where no data are.

    Attributes
    ----------
    rows : how many lie in at least one of the regions.
    contrary : how many of them have another class than the region they lie in.
    beyond : the region farthest from the data, in words; empty if all regions lie within their range.
    far : how far it is, in ranges of what the data have instead.
    total : how many training rows there are.

    Examples
    --------
    >>> from priorsvm import Box, PriorSVC
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1]
    >>> print(PriorSVC(Box({0: (1, 3)}, label=1)).fit(X, y).findings_["box"])
    3 training rows inside, 1 of another class
    >>> print(PriorSVC(Box({0: (4, 5)}, label=1)).fit(X, y).findings_["box"])
    no training row inside: it asks about column 0 >= 4, and the data end at 3
    """

    rows: int
    contrary: int
    beyond: str = ""
    far: float = 0.0
    total: int = 0

    def __str__(self) -> str:
        told = "no training row inside"
        if self.rows:
            inside = "row inside" if self.rows == 1 else "rows inside"
            told = f"{self.rows} training {inside}, {self.contrary or 'none'} of another class"
        if self.covers_all:
            return f"all {self.rows} training rows are inside, {self.contrary} of another class: other units?"
        if not self.beyond:
            return told
        return f"{told}{';' if self.rows else ':'} {self.beyond}" + (": other units?" if self.is_far else "")

    @property
    def covers_all(self) -> bool:
        """Whether all rows are inside although their classes differ: its units may be others."""
        return self.rows == self.total and self.contrary >= AGAINST

    @property
    def is_against(self) -> bool:
        """Whether most rows inside have another class, or the regions tell no classes apart at all."""
        return self.covers_all or self.contrary >= max(AGAINST, 0.75 * self.rows)

    @property
    def is_far(self) -> bool:
        """Whether a region is so far from the data that its units may be others."""
        return self.far > FAR


def rows_inside(demands: Sequence[Demand], sample: Sample) -> RowsInside | None:
    """Of the regions whose class is known in this machine; None if there are none."""
    own = [demand for demand in demands if names_class(demand, sample)]
    if not own:
        return None
    X, y = _rows(sample)
    inside = np.array([demand.region.contains(X) for demand in own])
    contrary = inside & (y != np.array([[demand.sign] for demand in own]))
    empty = [demand.region for demand, rows in zip(own, inside, strict=True) if not rows.any()]
    far, beyond = max((_beyond(region, X, sample) for region in empty), default=(0.0, ""))
    return RowsInside(int(inside.any(axis=0).sum()), int(contrary.any(axis=0).sum()), beyond, far, len(X))


def names_class(demand: Demand, sample: Sample) -> bool:
    """Whether it says of which class rows are, not only of which they are not, or how f slopes."""
    return demand.direction is None and (demand.sign > 0 or len(sample.classes) == 2)


def _rows(sample: Sample) -> tuple[Array, Array]:
    """The training rows that have a weight, and their signs."""
    return sample.weighted_rows()[0], sample.y_train[sample.shares["svm"][: sample.n_train] > 0]


def _beyond(region: Set, X: Array, sample: Sample) -> tuple[float, str]:
    """By how much the rows miss an inequality, in ranges of its left side, and which; (0, "") if none."""
    bounds = region if isinstance(region, (BoxSet, PolyhedronSet)) else BoxSet(*region.box)
    worst = (0.0, "")
    for b, d in zip(*bounds.inequalities, strict=True):
        columns = np.flatnonzero(b)
        if len(columns) == 0:
            continue
        first = b[columns[0]]  # written with a plus in front, and of one column without a factor
        b, d = (b / abs(first), d / abs(first)) if len(columns) == 1 else (b, d)
        values = X @ b
        if values.min() > d:
            far = float((values.min() - d) / np.ptp(values)) if np.ptp(values) > 0 else 0.0
            end = (
                f"and the data begin at {values.min():.4g}"
                if first > 0
                else f"and the data end at {-values.min():.4g}"
            )
            asked = f"<= {d:g}" if first > 0 else f">= {-d:g}"
            told = f"it asks about {_sum(np.sign(first) * b, sample)} {asked}, {end}"
            worst = max(worst, (far, told))
    return worst


def _sum(b: Array, sample: Sample) -> str:
    """A sum of columns, such as ``glucose - 2 bmi``."""
    parts = []
    for j in np.flatnonzero(b):
        factor = "" if abs(b[j]) == 1 else f"{abs(b[j]):g} "
        parts.append(f"{'-' if b[j] < 0 else '+'} {factor}{column_name(int(j), sample, quoted=False)}")
    return " ".join(parts).removeprefix("+ ")


def checked_range(region: Set, sample: Sample, word: str = "any ") -> str:
    """The columns a region does not name, with the range over which it was checked; empty if it names all."""
    low, high = region.box
    if isinstance(region, LevelSet):  # whose function may be about any of them
        columns = np.flatnonzero(np.isfinite(low) | np.isfinite(high))
        word = ""
    elif isinstance(region, (BoxSet, PolyhedronSet)):
        columns = np.flatnonzero(leaves_free(region, sample) & ~_oblique(region))
    else:
        return ""
    told = [f"{word}{column_name(j, sample, quoted=False)}{_range(low[j], high[j])}" for j in columns[:NAMED]]
    more = len(columns) - len(told)
    return ", ".join([*told, *([f"{more} more columns" if more > 1 else "1 more column"] if more else [])])


def leaves_free(region: Set, sample: Sample) -> Array:
    """In which columns the box around a region is just the range of the data, or the whole axis."""
    X = _rows(sample)[0]
    (low, high) = region.box
    least = np.nanmin(X, axis=0)
    most = np.nanmax(X, axis=0)
    rounding = 1e-9 * np.maximum(np.abs(least), np.abs(most))  # that of a box around a polyhedron
    of_data = (np.abs(low - least) <= rounding) & (np.abs(high - most) <= rounding)
    return np.asarray(of_data | (np.isinf(low) & np.isinf(high)))


def _range(low: float, high: float) -> str:
    return f" ({low:.4g} to {high:.4g})" if np.isfinite(low) or np.isfinite(high) else ""


def _oblique(region: BoxSet | PolyhedronSet) -> Array:
    """Which columns stand in an inequality together with others."""
    B = region.inequalities[0]
    return np.asarray((B[np.count_nonzero(B, axis=1) > 1] != 0).any(axis=0))
