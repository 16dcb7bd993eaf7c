r"""Counts of training rows inside a region, by class, and regions beyond the data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._utils.arrays import Array
from ...sample import Sample
from .requirement import Requirement
from .sets import BoxSet, LevelSet, PolyhedronSet, Set
from .within import column_name

# A region farther from the data than so many times their range probably has other units.
FAR = 2.0
# A region contradicts the data if so many rows inside, and three quarters, have another class.
AGAINST = 5
# Columns named in a text; further columns are counted.
NAMED = 3
# Advice at the end of a line of the report.
UNITS = "check its units"


@dataclass(frozen=True)
class RowsInside:
    """Counts of training rows in the regions of a block, and the region farthest from the data.

    Attributes
    ----------
    rows : int
        Number of training rows in at least one region.
    contrary : int
        Number of these rows that have another class than their region.
    beyond : str
        The region farthest from the data, in words; empty if all regions reach the range of the data.
    far : float
        The distance of this region from the data, in multiples of the range of the data.
    total : int
        Number of training rows.
    weight : ChosenWeight or None
        How the weight of the block was chosen; None if it was given.

    Examples
    --------
    >>> from priorsvm import Box, PriorSVC
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1]
    >>> print(PriorSVC(Box({0: (1, 3)}, label=1, mu=1.0)).fit(X, y).findings_["box"])
    3 training rows inside, 1 of another class
    >>> print(PriorSVC(Box({0: (4, 5)}, label=1, mu=1.0)).fit(X, y).findings_["box"])
    no training row inside: the region has column 0 >= 4, but the data end at 3
    """

    rows: int
    contrary: int
    beyond: str = ""
    far: float = 0.0
    total: int = 0
    weight: Any = None

    def __str__(self) -> str:
        return self.counts if self.weight is None else f"{self.counts}; {self.weight}"

    @property
    def counts(self) -> str:
        """The counts in words."""
        if self.covers_all:
            return f"all {self.rows} training rows are inside, {self.contrary} of another class; {UNITS}"
        text = "no training row inside"
        if self.rows:
            inside = "row inside" if self.rows == 1 else "rows inside"
            text = f"{self.rows} training {inside}, {self.contrary or 'none'} of another class"
        if self.beyond:
            text += f"{';' if self.rows else ':'} {self.beyond}"
        return f"{text}; {UNITS}" if self.is_far else text

    @property
    def covers_all(self) -> bool:
        """Whether all rows are inside although their classes differ: the units may be wrong."""
        return self.rows == self.total and self.contrary >= AGAINST

    @property
    def is_against(self) -> bool:
        """Whether most rows inside have another class, or all rows of all classes are inside."""
        return self.covers_all or self.contrary >= max(AGAINST, 0.75 * self.rows)

    @property
    def is_far(self) -> bool:
        """Whether a region is so far from the data that its units may be wrong."""
        return self.far > FAR


def rows_inside(requirements: Sequence[Requirement], sample: Sample) -> RowsInside | None:
    """Count the training rows in regions of a known class; return None without such regions."""
    named = [requirement for requirement in requirements if names_class(requirement, sample)]
    if not named:
        return None
    X, y = _rows(sample)
    inside = np.array([requirement.region.contains(X) for requirement in named])
    contrary = inside & (y != np.array([[requirement.sign] for requirement in named]))
    empty = [requirement.region for requirement, rows in zip(named, inside, strict=True) if not rows.any()]
    far, beyond = max((_beyond(region, X, sample) for region in empty), default=(0.0, ""))
    return RowsInside(int(inside.any(axis=0).sum()), int(contrary.any(axis=0).sum()), beyond, far, len(X))


def names_class(requirement: Requirement, sample: Sample) -> bool:
    """Return whether a requirement is about values of f and determines the class of rows in its region."""
    return requirement.direction is None and (requirement.sign > 0 or sample.negative is not None)


def _rows(sample: Sample) -> tuple[Array, Array]:
    """Return the training rows of positive weight, and their signs."""
    return sample.weighted_rows()[0], sample.y_train[sample.weights > 0]


def _beyond(region: Set, X: Array, sample: Sample) -> tuple[float, str]:
    """Return how far all rows are from satisfying an inequality of the region, and the inequality in words.

    The distance is in multiples of the range of the left-hand side. The result is (0, "") if every inequality
    holds for some row.
    """
    bounds = region if isinstance(region, (BoxSet, PolyhedronSet)) else BoxSet(*region.box)
    worst = (0.0, "")
    for b, d in zip(*bounds.inequalities, strict=True):
        columns = np.flatnonzero(b)
        if len(columns) == 0:
            continue
        first = b[columns[0]]
        if len(columns) == 1:  # written without a factor
            d = d / abs(first)
            b = b / abs(first)
        values = X @ b
        if values.min() > d:
            far = float((values.min() - d) / np.ptp(values)) if np.ptp(values) > 0 else 0.0
            text = f"<= {d:g}, but the data begin at {values.min():.4g}"
            if first < 0:  # written with a plus in front
                text = f">= {-d:g}, but the data end at {-values.min():.4g}"
            worst = max(worst, (far, f"the region has {_sum(np.sign(first) * b, sample)} {text}"))
    return worst


def _sum(b: Array, sample: Sample) -> str:
    """Format a sum of columns, such as ``glucose - 2 bmi``."""
    parts = []
    for j in np.flatnonzero(b):
        factor = "" if abs(b[j]) == 1 else f"{abs(b[j]):g} "
        parts.append(f"{'-' if b[j] < 0 else '+'} {factor}{column_name(int(j), sample, quoted=False)}")
    return " ".join(parts).removeprefix("+ ")


def checked_range(region: Set, sample: Sample, word: str = "any ") -> str:
    """Return the columns that a region leaves free, with the range that was checked; empty if none."""
    low, high = region.box
    if isinstance(region, LevelSet):  # its function may depend on any column
        columns = np.flatnonzero(np.isfinite(low) | np.isfinite(high))
        word = ""
    elif isinstance(region, (BoxSet, PolyhedronSet)):
        columns = np.flatnonzero(leaves_free(region, sample) & ~_oblique(region))
    else:
        return ""
    parts = [
        f"{word}{column_name(j, sample, quoted=False)}{_range(low[j], high[j])}" for j in columns[:NAMED]
    ]
    more = len(columns) - len(parts)
    if more:
        parts.append(f"{more} more columns" if more > 1 else "1 more column")
    return ", ".join(parts)


def leaves_free(region: Set, sample: Sample) -> Array:
    """Return a mask of the columns in which the region is the range of the data, or the whole axis."""
    X = _rows(sample)[0]
    low, high = region.box
    least = np.nanmin(X, axis=0)
    most = np.nanmax(X, axis=0)
    rounding = 1e-9 * np.maximum(np.abs(least), np.abs(most))  # of the box around a polyhedron
    of_data = (np.abs(low - least) <= rounding) & (np.abs(high - most) <= rounding)
    return np.asarray(of_data | (np.isinf(low) & np.isinf(high)))


def _range(low: float, high: float) -> str:
    return f" ({low:.4g} to {high:.4g})" if np.isfinite(low) or np.isfinite(high) else ""


def _oblique(region: BoxSet | PolyhedronSet) -> Array:
    """Return a mask of the columns that share an inequality with another column."""
    B = region.inequalities[0]
    return np.asarray((B[np.count_nonzero(B, axis=1) > 1] != 0).any(axis=0))
