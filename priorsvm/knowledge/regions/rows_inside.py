r"""Counts of training rows inside a region, by class, and regions beyond the data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..._utils.arrays import Array
from ...errors import AgainstData, FarFromData
from ...sample import Sample
from ..views import Caution
from .against import FACTORS, LEVEL, contradiction, unit_factors
from .on_rows import inside_as_given
from .requirement import Requirement
from .sets import BoxSet, LevelSet, PolyhedronSet, Set
from .within import column_name, range_of_rows

# A region farther from the data than so many times their range probably has other units.
FAR = 0.5
# So does a threshold that differs from all values by this factor.
TIMES = 3.0
# A region of all rows contradicts the data if so many of them have another class.
AGAINST = 5
# Columns named in a text; further columns are counted.
NAMED = 3
# Advice at the end of a line of the report.
UNITS = "check its units"


@dataclass(frozen=True)
class GivenWeight:
    """The weight of a soft block whose ``mu`` is a number.

    Attributes
    ----------
    mu : float
        The weight, as a number of rows.
    own : float or None
        AUC of this block alone at the training rows. Below one half, the rows contradict the block.
    """

    mu: float
    own: float | None = None

    @property
    def scores(self) -> dict[float, float]:
        """Nothing: no factor was chosen."""
        return {}

    def __str__(self) -> str:
        return ""


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
    weight : ChosenWeight, GivenWeight or None
        How the weight of the block was chosen, or the number that was given; None for a hard block. Both have
        ``mu`` and ``own``, the AUC of the block alone.
    total_contrary : int
        Number of training rows of another class than the regions, inside or not.
    p : float
        Probability of so many contrary rows inside if the regions did not depend on the class.
    factors : tuple of float
        Factors between usual units that bring the threshold of this region into the range of the data.
    is_far : bool
        Whether the threshold is so far from the data that its units may be wrong.
    warnings : tuple of str
        Texts of the warnings of the block.
    completed : int
        Number of further rows inside, by a completed value in a column that the region restricts.
    rule : str
        A rule with quantiles and their numbers, such as ``bmi > 90% (= 31.2)``; empty without quantiles.
    drawn : bool
        Whether the rows were read in chunks, and the counted rows are drawn, as many of each class.
    scaled : bool
        Whether the model scales the columns, with ``scale=``.

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
    total_contrary: int = 0
    p: float = 1.0
    factors: tuple[float, ...] = ()
    is_far: bool = False
    warnings: tuple[str, ...] = ()
    completed: int = 0
    rule: str = ""
    drawn: bool = False
    scaled: bool = False

    def __str__(self) -> str:
        text = f"{self.rule}: {self.counts}" if self.rule else self.counts
        weight = "" if self.weight is None else str(self.weight)
        return f"{text}; {weight}" if weight else text

    @property
    def counts(self) -> str:
        """The counts in words."""
        kind = "drawn" if self.drawn else "training"
        if self.covers_all:
            return f"all {self.rows} {kind} rows are inside, {self.contrary} of another class; {UNITS}"
        text = f"no {kind} row inside"
        if self.rows:
            inside = "row inside" if self.rows == 1 else "rows inside"
            text = f"{self.rows} {kind} {inside}, {self.contrary or 'none'} of another class"
            if self.drawn:
                text += " (as many rows of each class were drawn)"
        if self.completed:
            text += f", {self.completed} more by completed values"
        if self.beyond:
            text += f"{';' if self.rows else ':'} {self.beyond}"
        return f"{text}; {UNITS}" if self.is_far else text

    @property
    def covers_all(self) -> bool:
        """Whether all rows are inside although their classes differ: the units may be wrong."""
        return self.rows == self.total and self.contrary >= AGAINST

    @property
    def is_against(self) -> bool:
        """Whether rows inside have another class more often than all rows, or all rows are inside."""
        return self.covers_all or self.p < LEVEL

    def cautions(self, words: str) -> list[Caution]:
        """Return the warnings about a block that is described by some words."""
        found = []
        advice = "use PriorSVC(scale='standard') instead"
        if self.scaled:
            advice = "fit on X before the scaler, as scale= is set"
        if self.is_far:
            fitting = " or ".join(_factor(a) for a in self.factors[:NAMED])
            units = f"The threshold {fitting} is inside the data. " if fitting else ""
            found.append(
                Caution(
                    FarFromData,
                    f"{words}: {self.beyond}, {self.far:.2g} times their range away. Check its units. {units}"
                    f"After a scaler columns have other units: {advice}.",
                )
            )
        if self.is_against and not self.is_far:
            # Rows that are inside by a completed value are not evidence.
            counts = replace(self, completed=0).counts.removesuffix(f"; {UNITS}")
            share = self.total_contrary / max(self.total, 1)
            against = "" if self.covers_all else f", where {share:.0%} are expected (p = {self.p:.1g})"
            found.append(
                Caution(
                    AgainstData,
                    f"{words}: {counts}{against}. Check its label and its units. If it overrules these rows "
                    "on purpose, silence this warning.",
                )
            )
        return found


def rows_inside(requirements: Sequence[Requirement], sample: Sample) -> RowsInside | None:
    """Count the training rows in regions of a known class; return None without such regions."""
    named = [requirement for requirement in requirements if names_class(requirement, sample)]
    if not named:
        return None
    X, y = _rows(sample)
    counted = sample.weights > 0
    inside = np.array([inside_as_given(requirement.region, sample)[counted] for requirement in named])
    completed = np.zeros_like(inside)
    if sample.gaps is not None:
        completed = np.array([r.region.contains(X) for r in named]) & ~inside.any(axis=0)
    signs = np.array([requirement.sign for requirement in named])
    contrary = inside & (y != signs[:, None])
    rows = int(inside.any(axis=0).sum())
    more = int(completed.any(axis=0).sum())
    counts = RowsInside(
        rows, int(contrary.any(axis=0).sum()), total=len(X), completed=more, drawn=sample.totals is not None
    )
    all_inside = counts.covers_all
    checked = [
        r.region for r, of_region in zip(named, inside, strict=True) if all_inside or not of_region.any()
    ]
    worst = max(
        (_beyond(region, X, sample, all_inside) for region in checked), key=_Beyond.size, default=_Beyond()
    )
    return replace(
        counts,
        beyond=worst.text,
        far=worst.far,
        total_contrary=int((y[:, None] != signs).all(axis=1).sum()),
        p=_p_value(inside, signs, y),
        factors=worst.factors,
        is_far=worst.is_far,
        scaled=sample.model is not None and sample.model.scale is not None,
    )


def area_alone(requirements: Sequence[Requirement], sample: Sample) -> float | None:
    """Return the AUC of regions without a model, or None if a class has no weight.

    The score of a row is the sign of its class if it is inside, else 0.
    """
    weight = sample.weights
    signs = [r.sign * inside_as_given(r.region, sample) for r in requirements if names_class(r, sample)]
    if not signs:
        return None
    level = np.sign(np.sum(signs, axis=0)).astype(int) + 1
    positive = sample.y_train > 0
    up = np.bincount(level, weight * positive, 3)
    down = np.bincount(level, weight * ~positive, 3)
    pairs = float(up.sum() * down.sum())
    return float(up @ (np.cumsum(down) - 0.5 * down)) / pairs if pairs > 0 else None


def _p_value(inside: Array, signs: Array, y: Array) -> float:
    """Return the p value of the contrary rows, for the class with the smaller one if the regions have two."""
    found = []
    for sign in np.unique(signs):
        rows = inside[signs == sign].any(axis=0)
        other = y != sign
        found.append(contradiction(int(rows.sum()), int((rows & other).sum()), len(y), int(other.sum())))
    return min(1.0, min(found) * len(found))


def names_class(requirement: Requirement, sample: Sample) -> bool:
    """Return whether a requirement is about values of f and determines the class of rows in its region."""
    return requirement.direction is None and (requirement.sign > 0 or sample.negative is not None)


def _rows(sample: Sample) -> tuple[Array, Array]:
    """Return the training rows of positive weight, and their signs."""
    return sample.weighted_rows()[0], sample.y_train[sample.weights > 0]


def _factor(factor: float) -> str:
    """Return a factor between units in words."""
    return f"times {factor:g}" if factor in FACTORS else f"divided by {1 / factor:g}"


@dataclass(frozen=True)
class _Beyond:
    """The inequality of a region that is farthest from the data.

    Attributes
    ----------
    far : float
        Distance from the data to the threshold, in multiples of the range of the left-hand side.
    text : str
        The inequality in words; empty if some row satisfies every inequality.
    factors : tuple of float
        Factors between usual units that bring the threshold into the range of the data.
    is_far : bool
        Whether the units of the threshold may be wrong.
    satisfied : bool
        Whether all rows satisfy the inequality; otherwise none does.
    """

    far: float = 0.0
    text: str = ""
    factors: tuple[float, ...] = ()
    is_far: bool = False
    satisfied: bool = False

    def size(self) -> tuple[bool, float, str]:
        """Return the order of the inequalities: thresholds in other units come first."""
        return self.is_far, self.far, self.text


def _beyond(region: Set, X: Array, sample: Sample, all_inside: bool) -> _Beyond:
    """Return the inequality of the region that is farthest from all rows.

    An inequality is far if no row satisfies it. If all rows are inside, an inequality that all rows satisfy
    by a factor of 3 is far if another usual unit brings its threshold into the range of the data.
    """
    region = getattr(region, "hull", region)
    bounds = region if isinstance(region, (BoxSet, PolyhedronSet)) else BoxSet(*region.box)
    worst = _Beyond()
    for b, d in zip(*bounds.inequalities, strict=True):
        columns = np.flatnonzero(b)
        if len(columns) == 0 or _in_group(sample)[columns].any():
            continue
        first = np.sign(b[columns[0]])
        if len(columns) == 1:  # written without a factor
            d = d / abs(b[columns[0]])
            b = b / abs(b[columns[0]])
        sign = "<=" if first > 0 else ">="  # written with a plus in front
        values = first * (X @ b)
        found = _compared(values, float(first * d), sign, _sum(first * b, sample), len(columns) == 1)
        if found.satisfied == all_inside:
            worst = max(worst, found, key=_Beyond.size)
    return worst


def _compared(values: Array, threshold: float, sign: str, words: str, single: bool) -> _Beyond:
    """Return how far the inequality ``values <= threshold``, or ``>=``, is from the values."""
    low = float(values.min())
    high = float(values.max())
    above = threshold > high
    if low <= threshold <= high:
        return _Beyond()
    end = f"end at {high:.4g}" if above else f"begin at {low:.4g}"
    gap = threshold - high if above else low - threshold
    far = gap / (high - low) if high > low else 0.0
    times = low > 0 and threshold > 0 and (threshold > TIMES * high or threshold < low / TIMES)
    factors = tuple(unit_factors(threshold, values)) if single and high > low else ()
    satisfied = above == (sign == "<=")
    is_far = times and bool(factors) if satisfied else high > low and (times or far > FAR)
    text = f"the region has {words} {sign} {threshold:g}, but the data {end}"
    return _Beyond(far, text, factors if is_far else (), is_far, satisfied)


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
        columns = np.flatnonzero(leaves_free(region, sample) & ~_oblique(region) & ~_in_group(sample))
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
    low, high = region.box
    least, most = range_of_rows(sample)
    rounding = 1e-9 * np.maximum(np.abs(least), np.abs(most))  # of the box around a polyhedron
    of_data = (np.abs(low - least) <= rounding) & (np.abs(high - most) <= rounding)
    return np.asarray(of_data | (np.isinf(low) & np.isinf(high)))


def _in_group(sample: Sample) -> Array:
    """Return a mask of the encoded columns of columns with categories."""
    return np.zeros(sample.X.shape[1], bool) if sample.encoding is None else sample.encoding.in_group


def _range(low: float, high: float) -> str:
    return f" ({low:.4g} to {high:.4g})" if np.isfinite(low) or np.isfinite(high) else ""


def _oblique(region: BoxSet | PolyhedronSet) -> Array:
    """Return a mask of the columns that share an inequality with another column."""
    B = region.inequalities[0]
    return np.asarray((B[np.count_nonzero(B, axis=1) > 1] != 0).any(axis=0))
