r"""Checks of region blocks: against the training rows before a fit, and against the fitted f after it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from scipy.stats import hypergeom, mannwhitneyu

from ..._utils.arrays import Array
from ...errors import DirectionAgainstData, NotKept, Outbid, ZeroedColumns
from ...sample import Sample
from ..cautions import names_of, zeroed_columns
from ..views import Caution, Solved
from .exact import least_value
from .requirement import CHECK, Requirement
from .search import Search
from .sets import SEARCHED
from .within import column_name

# Level of the tests against the training rows.
LEVEL = 0.05
# Factors between usual units: mm and cm, months and years, mmol/l and mg/dl of glucose, inches and cm, pounds
# and kg, shares and per cent, units and thousands.
FACTORS = (10.0, 12.0, 18.0, 2.54, 0.4536, 100.0, 1000.0)
# A soft block is outbid if f violates it at more than this share of its places.
MOST = 0.5
# Places of a region everywhere, and of all regions of a block.
PLACES = 256
ALL_PLACES = 10 * PLACES
# Drawn points, and rows, of the check that replaces a search once the time of a fit has run out.
DRAWN = 1000
# Columns of a place in a text.
NAMED = 5
# Up to so many columns method="guaranteed" is advised.
FEW_COLUMNS = 4


@lru_cache(maxsize=256)  # a fit compares the same counts several times
def contradiction(rows: int, contrary: int, total: int, total_contrary: int) -> float:
    """Return the one-sided p value of so many rows of another class inside a region, by the base rate.

    Under the hypothesis that the region does not depend on the class, their number is hypergeometric.

    Parameters
    ----------
    rows, contrary : int
        Number of rows inside, and of rows inside that have another class.
    total, total_contrary : int
        The same numbers for all rows.
    """
    return float(hypergeom.sf(contrary - 1, total, total_contrary, rows))


def direction_cautions(requirements: Sequence[Requirement], sample: Sample, words: str) -> list[Caution]:
    """Return a warning for each feature whose direction the classes of the training rows contradict.

    The test of Mann and Whitney compares the values of the feature in both classes, one-sided.
    """
    X = sample.weighted_rows()[0]
    y = sample.y_train[sample.weights > 0]
    found = []
    for requirement in requirements:
        assert requirement.direction is not None
        j = int(np.argmax(np.abs(requirement.direction)))
        sign = requirement.sign * np.sign(requirement.direction[j])
        known = ~np.isnan(X[:, j])
        values = sign * X[known, j]
        upper = values[y[known] > 0]
        lower = values[y[known] < 0]
        if len(upper) == 0 or len(lower) == 0 or np.ptp(values) == 0:
            continue
        p = float(mannwhitneyu(upper, lower, alternative="less").pvalue)
        if p < LEVEL:
            column = column_name(j, sample, quoted=False)
            named, remaining = (upper, lower) if requirement.sign > 0 else (lower, upper)
            compared = "lower" if requirement.direction[j] > 0 else "higher"
            found.append(
                Caution(
                    DirectionAgainstData,
                    f"{words}: the training rows of this class have {compared} values of {column} (median "
                    f"{np.median(sign * named):.4g}) than the remaining rows "
                    f"({np.median(sign * remaining):.4g}, p = {p:.1g}). Check the direction and the label. "
                    "If other columns explain the difference, silence this warning.",
                )
            )
    return found


def unit_factors(threshold: float, values: Array) -> list[float]:
    """Return the factors between usual units that bring a threshold into the range of values.

    The factor whose threshold is nearest to the median comes first.
    """
    factors = [*FACTORS, *(1.0 / factor for factor in FACTORS)]
    inside = [a for a in factors if values.min() < a * threshold < values.max()]
    return sorted(inside, key=lambda a: abs(a * threshold - float(np.median(values))))


def outbid(f: Any, state: Search, on_rows: bool, view: Solved, words: str, weight: Any) -> Caution | None:
    """Return a warning if f violates a soft block at most of its places.

    A place of a region is violated if f has the sign of another class there. The places of a block on rows
    are its points; the places of a region everywhere are drawn in it.
    """
    violated = 0
    count = 0
    most = min(PLACES, ALL_PLACES // len(state.requirements))
    for requirement, points in zip(state.requirements, state.points, strict=True):
        places = points if on_rows else _places(requirement, points, view, most)
        if len(places) == 0:
            continue
        excess = requirement.value(f, places)
        if requirement.direction is not None or callable(requirement.h):
            excess = excess - requirement.threshold(places)
        violated += int(np.sum(excess < -view.tol))
        count += len(places)
    return outbid_at(violated, count, "added rows" if on_rows else "places", words, weight)


def outbid_at(violated: int, count: int, places: str, words: str, weight: Any) -> Caution | None:
    """Return a warning if a soft block is violated at most of its places, which are named ``places``."""
    if violated <= MOST * count:
        return None
    advice = "Raise its weight mu, or remove it."
    if weight is not None:
        advice = f"mu='auto' chose {weight.mu:.3g} rows. Check its label, remove it, or give a larger mu."
    return Caution(
        Outbid,
        f"{words}: the training rows outbid it at {violated / count:.0%} of its {count} {places}. {advice}",
    )


def _places(requirement: Requirement, points: Array, view: Solved, most: int) -> Array:
    """Return places of a region everywhere: drawn points, or training rows inside an open region."""
    region = requirement.region
    if not region.exact:
        return points[region.contains(points, SEARCHED)] if len(points) else points
    if region.bounded:
        return region.points(most, view.sample.seed)
    X = view.sample.weighted_rows()[0]
    return X[region.contains(X)]


def not_kept(f: Any, state: Search, tol: float, view: Solved, words: str, sample: Sample) -> Caution | None:
    """Return a warning if f violates a hard block."""
    found = [
        least_excess(f, requirement, points, view.sample, view.late)
        for requirement, points in zip(state.requirements, state.points, strict=True)
    ]
    excess, where = min(found, key=lambda pair: pair[0])
    if excess >= -tol:
        return None
    place = "at every row"  # the slope of a linear f is constant
    if where is not None:
        parts = _values_of(where, sample)
        place = f"at ({', '.join(parts[:NAMED])}{', ...' if len(parts) > NAMED else ''})"
    size = f"by {-excess:.1e} {place}"
    limit = "max_rounds"
    if view.late:
        size = f"by at least {-excess:.1e}, found {place} by a short check. verify() searches longer"
        limit = "max_seconds, which ended the fit"
    few = sample.X.shape[1] <= FEW_COLUMNS
    other = "method='guaranteed'" if few else "holds='rows' where rows are enough"
    return Caution(
        NotKept,
        f"{words}: the hard block is violated {size}. Raise {limit}, use {other}, or a smaller region.",
    )


def _values_of(row: Array, sample: Sample) -> list[str]:
    """Return the values of a row in words, by column of the user."""
    if sample.encoding is not None:
        return sample.encoding.in_words(row, form=".4g")
    return [f"{column_name(j, sample, quoted=False)} {value:.4g}" for j, value in enumerate(row)]


def least_excess(
    f: Any, requirement: Requirement, known: Array, sample: Sample, late: bool = False
) -> tuple[float, Array | None]:
    """Return the least excess that a search finds, and its place: in closed form if f is linear.

    Slopes have many narrow minima, so descents from all rows and centres follow. If the time of the fit has
    run out (``late``), there is no search, and the excess is the least at drawn points and rows.
    """
    if f.linear and requirement.exact_on_linear:
        least, where = least_value(f, requirement)
        return float(least - requirement.h), where
    if not requirement.region.bounded:
        return np.inf, None
    if late:
        rows = requirement.region.nearest(sample.weighted_rows()[0][:DRAWN])
        points = np.vstack([known, rows, requirement.region.points(DRAWN, sample.seed)])
        excess = requirement.excess(f, points)
        k = int(np.argmin(excess))
        return float(excess[k]), points[k]
    points = np.vstack([known, requirement.lowest_strictly(f, known, sample.seed + CHECK)])
    points = np.vstack([points, requirement.lowest_from(f, sample.weighted_rows()[0])])
    excess = requirement.excess(f, points)
    k = int(np.argmin(excess))
    return float(excess[k]), points[k]


def zeroing(f: Any, view: Solved, words: str, sample: Sample) -> Caution | None:
    """Return a warning if a block everywhere sets weights to 0 that a model without blocks uses."""
    found = zeroed_columns(f, view)
    if found is None:
        return None
    zero, used = found
    return Caution(
        ZeroedColumns,
        f"{len(zero)} of {len(f.coef)} weights become 0, although the model without blocks uses "
        f"{names_of(used, sample)}. holds='rows' avoids it.",
        about=words,
    )
