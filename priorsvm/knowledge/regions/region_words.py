"""A region in words, with the names of the columns and their values."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from ..._utils.arrays import Array
from ...sample import Sample
from .groups import allowed_values
from .rows_inside import leaves_free
from .rule_tokens import written
from .sets import BoxSet, EllipsoidSet, PolyhedronSet, Set
from .within import range_of_rows

# Number of conditions that are listed.
MOST_LISTED = 6


def region_in_words(region: Set, sample: Sample, restricted: bool = False) -> str:
    """Return a region as a clause such as ``where age >= 50 and sex == 'female'``.

    Parameters
    ----------
    region : Set
        The region, in encoded columns.
    sample : Sample
        Training rows, with the names of the columns.
    restricted : bool, default=False
        Whether to leave out columns in which the region is the range of the data.

    Returns
    -------
    str
    """
    if isinstance(region, EllipsoidSet):
        low, high = region.box
        centre = [
            f"{name} = {c:g} ± {w:g}"
            for name, c, w in zip(column_names(sample), region.centre, (high - low) / 2, strict=True)
            if w > 0 or c != 0
        ]
        return f"in the ellipsoid with {listed(first_of(centre))}"
    if not isinstance(region, (BoxSet, PolyhedronSet)):
        return "where g(x) <= 0"
    shown = ~leaves_free(region, sample) if restricted else np.ones(sample.X.shape[1], bool)
    if sample.encoding is not None:
        shown = shown & ~sample.encoding.in_group
    names = column_names(sample)
    B, d = region.inequalities
    single = np.count_nonzero(B, axis=1) == 1
    low, high = _limits(B[single], d[single])
    if restricted:  # without the ends of the data
        least, most = range_of_rows(sample)
        low = np.where(low == least, -np.inf, low)
        high = np.where(high == most, np.inf, high)
    limited = np.isfinite(low) | np.isfinite(high)
    sides = [_between(names[j], low[j], high[j]) for j in np.flatnonzero(limited & shown)]
    sides += [
        _side(b, end, names)
        for b, end in zip(B[~single], d[~single], strict=True)
        if shown[b != 0].any() or not b.any()
    ]
    conditions = [*sides, *_values(region, sample)]
    return f"where {listed(first_of(conditions))}" if conditions else "everywhere"


def column_names(sample: Sample) -> list[str]:
    """Return the names of the columns: x0, x1, ... for an array."""
    named = sample.feature_names
    return [f"x{j}" for j in range(sample.X.shape[1])] if named is None else [str(name) for name in named]


def listed(parts: Iterable[str], word: str = "and") -> str:
    """Return parts as an enumeration, with "and" before the last."""
    found = list(parts)
    if len(found) <= 1:
        return "".join(found)
    return f"{', '.join(found[:-1])} {word} {found[-1]}"


def first_of(parts: list[str]) -> list[str]:
    """Return the first parts, and the number of the rest."""
    if len(parts) <= MOST_LISTED:
        return parts
    return [*parts[: MOST_LISTED - 1], f"{len(parts) - MOST_LISTED + 1} more"]


def _values(region: Set, sample: Sample) -> list[str]:
    """Return the conditions of a region on columns with categories."""
    found = []
    for group in [] if sample.encoding is None else sample.encoding.groups:
        allowed = allowed_values(region, group.members)
        name = sample.encoding.names[group.column] if sample.encoding is not None else ""
        texts = [
            "missing" if v is None else written(v) for v, a in zip(group.values, allowed, strict=True) if a
        ]
        if len(texts) == 1:
            found.append(f"{name} is missing" if texts == ["missing"] else f"{name} == {texts[0]}")
        elif not allowed.all():
            found.append(f"{name} in ({', '.join(texts)})")
    return found


def _limits(B: Array, d: Array) -> tuple[Array, Array]:
    """Return the ends of the columns in inequalities of one column each."""
    column = np.argmax(B != 0, axis=1)
    factor = B[np.arange(len(B)), column]
    low = np.full(B.shape[1], -np.inf)
    high = np.full(B.shape[1], np.inf)
    np.minimum.at(high, column[factor > 0], (d / factor)[factor > 0] + 0.0)
    np.maximum.at(low, column[factor < 0], (d / factor)[factor < 0] + 0.0)
    return low, high


def _between(name: str, low: float, high: float) -> str:
    if low == high:
        return f"{name} = {low:g}"
    if not np.isfinite(low):
        return f"{name} <= {high:g}"
    if not np.isfinite(high):
        return f"{name} >= {low:g}"
    return f"{low:g} <= {name} <= {high:g}"


def _side(b: Array, d: float, names: list[str]) -> str:
    """Return an inequality b x <= d, with its first coefficient positive."""
    used = np.flatnonzero(b)
    sign = 1.0 if len(used) == 0 or b[used[0]] > 0 else -1.0
    terms = ""
    for j in used:
        size = abs(b[j])
        factor = "" if size == 1 else f"{size:g} "
        joint = " - " if sign * b[j] < 0 else " + "
        terms += f"{joint if terms else ''}{factor}{names[j]}"
    return f"{terms or '0'} {'<=' if sign > 0 else '>='} {sign * d:g}"
