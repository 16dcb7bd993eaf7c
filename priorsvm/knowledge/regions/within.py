r"""The part of the space that a region covers: ``within``, and bounds by column."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..._utils.arrays import Array
from ..._utils.cache import kept_while_alive
from ..._utils.checks import LARGEST, check_moderate
from ...errors import InvalidInput
from ...sample import Sample
from .sets import BoxSet, PolyhedronSet, Set, polyhedron


def close_all(regions: Sequence[Set], within: Any, sample: Sample) -> list[Set]:
    """Return the regions restricted to the part of the space that ``within`` describes."""
    if within is None:
        return list(regions)
    space = part_of_space(within, sample)
    return [close(region, space, sample) for region in regions]


def close(region: Set, space: tuple[Array, Array, Array, Array], sample: Sample) -> Set:
    """Return the region restricted to a part of the space.

    "data" closes open sides of the region at the range of the training rows. It never cuts a side that has an
    end, and a region beyond the data stays as it is. A dict cuts the columns it names; the remaining columns
    are treated as "data".
    """
    low, high = region.box
    floor, ceiling, given_low, given_high = space
    # Bounds of the user cut. The range of the data closes open sides, unless the region would be empty.
    new_low = np.where(
        given_low, np.maximum(low, floor), np.where(np.isinf(low) & (floor <= high), floor, low)
    )
    new_high = np.where(
        given_high, np.minimum(high, ceiling), np.where(np.isinf(high) & (ceiling >= low), ceiling, high)
    )
    if np.any(new_low > new_high):
        j = int(np.argmax(new_low > new_high))
        raise InvalidInput(
            f"within leaves nothing of the region: in {column_name(j, sample)} it is {floor[j]:g} to "
            f"{ceiling[j]:g}, and the region is {low[j]:g} to {high[j]:g}. Widen within, or correct the "
            "region."
        )
    if isinstance(region, BoxSet):
        return BoxSet(new_low, new_high)
    assert isinstance(region, PolyhedronSet)
    eye = np.eye(len(low))
    cut_low = new_low > low
    cut_high = new_high < high
    B = np.vstack([region.B, eye[cut_high], -eye[cut_low]])
    closed = polyhedron(B, np.concatenate([region.d, new_high[cut_high], -new_low[cut_low]]))
    if not closed.empty:
        return closed
    if not (given_low | given_high).any():
        return region
    raise InvalidInput("within leaves nothing of the region. Widen within, or correct the region.")


def part_of_space(within: Any, sample: Sample) -> tuple[Array, Array, Array, Array]:
    """Return the lower and upper ends of the box that ``within`` describes, and masks of the given ends.

    "data" is the range of the training rows. A dict replaces it for the columns it names. An end None is the
    end of the data, and an infinite end is open.
    """
    low, high = range_of_rows(sample)
    given_low = np.zeros(len(low), bool)
    given_high = np.zeros(len(low), bool)
    if isinstance(within, str) and within == "data":
        return low, high, given_low, given_high
    if not isinstance(within, dict):
        raise InvalidInput(
            f"within must be 'data', a dict of column to (low, high), or None, got {within!r}."
        )
    bounds_of(within, sample, "within")
    for column, (a, b) in within.items():
        j = sample.column(column)
        if a is not None:
            low[j] = a
            given_low[j] = True
        if b is not None:
            high[j] = b
            given_high[j] = True
    return low, high, given_low, given_high


def range_of_rows(sample: Sample) -> tuple[Array, Array]:
    """Return the lower and upper ends of the training rows.

    An encoded value of a column with categories ranges from 0 to 1, even if no row has the value.
    """
    low, high = _range(sample)
    return low.copy(), high.copy()


@kept_while_alive
def _range(sample: Sample) -> tuple[Array, Array]:
    X = sample.weighted_rows()[0]  # a row of weight 0 does not count
    low = np.nanmin(X, axis=0)
    high = np.nanmax(X, axis=0)
    if sample.encoding is not None:
        low[sample.encoding.in_group] = 0.0
        high[sample.encoding.in_group] = 1.0
    return low, high


def box_within(within: Any, sample: Sample) -> tuple[Array, Array]:
    """Return the box that ``within`` describes, for a block that applies to all of it."""
    if within is None:
        raise InvalidInput("within must be 'data' or a dict of column to (low, high), got None.")
    low, high, *_ = part_of_space(within, sample)
    if np.any(low > high):
        j = int(np.argmax(low > high))
        raise InvalidInput(
            f"within leaves nothing in {column_name(j, sample)}: {low[j]:g} to {high[j]:g}. Give both ends."
        )
    return low, high


def bounds_of(bounds: Any, sample: Sample, what: str = "bounds") -> BoxSet:
    """Return the box of a dict of column to (low, high); an end None is open."""
    if not isinstance(bounds, dict) or not bounds:
        raise InvalidInput(f"{what} must be a dict of column to (low, high), got {bounds!r}.")
    d = sample.X.shape[1]
    low = np.full(d, -np.inf)
    high = np.full(d, np.inf)
    whose = "the bounds" if what == "bounds" else f"{what}: the bounds"
    for j, (column, pair) in zip(columns(bounds, what, sample), bounds.items(), strict=True):
        try:
            a, b = pair
            a = -np.inf if a is None else float(a)
            b = np.inf if b is None else float(b)
        except (TypeError, ValueError, OverflowError) as error:
            raise InvalidInput(f"{whose} of column {column!r} must be (low, high), got {pair!r}.") from error
        if math.isnan(a) or math.isnan(b) or a == np.inf or b == -np.inf or isinstance(pair, str):
            raise InvalidInput(f"{whose} of column {column!r} must be numbers or None, got {pair!r}.")
        if a > b:
            raise InvalidInput(
                f"{whose} of column {column!r} are empty: {a:g} is above {b:g}. Exchange the two numbers."
            )
        if a < -LARGEST or b > LARGEST:  # a call for each column of many boxes takes time
            check_moderate(f"{whose} of column {column!r}", [a, b], "Use None for an open side.")
        low[j] = a
        high[j] = b
    return BoxSet(low, high)


def columns(keys: Any, what: str, sample: Sample) -> list[int]:
    """Return the positions of columns given by name or index; raise if a column occurs twice."""
    found = [sample.column(key) for key in keys]
    if len(set(found)) < len(found):
        j = next(j for k, j in enumerate(found) if j in found[:k])
        raise InvalidInput(
            f"{what} contains {column_name(j, sample)} twice, by name and by index. Remove one."
        )
    return found


def signs_of(label: Any, count: int, sample: Sample) -> Array:
    """Return +1 or -1 for each of ``count`` regions, from one label for all or one for each."""
    several = isinstance(label, (list, tuple)) or (isinstance(label, np.ndarray) and label.ndim > 0)
    labels = list(label) if several else [label]
    if len(labels) not in (1, count):
        raise InvalidInput(
            f"there are {count} regions and {len(labels)} labels. Give one label for each, or one for all."
        )
    return np.broadcast_to([sample.sign(entry) for entry in labels], (count,))


def column_name(j: int, sample: Sample, quoted: bool = True) -> str:
    """Return the name of a column in messages."""
    if sample.feature_names is None:
        return f"column {j}"
    name = sample.feature_names.tolist()[j]
    return f"column {name!r}" if quoted else str(name)


def limits_in_words(within: Any, sample: Sample | None = None) -> str:
    """Return the limits that a dict ``within`` gives, such as " within bp 150 to 168"; else an empty text."""
    if not isinstance(within, dict):
        return ""
    names = [key_name(key, sample) for key in within]
    parts = [f"{name} {_limits(*pair)}" for name, pair in zip(names, within.values(), strict=True)]
    return f" within {' and '.join(parts)}"


def key_name(key: Any, sample: Sample | None) -> str:
    """Return a column that is given by name or index as a name: x0, x1, ... without names."""
    if isinstance(key, str):
        return key
    if sample is None or sample.feature_names is None:
        return f"x{key}"
    return column_name(sample.column(key), sample, quoted=False)


def _limits(low: Any, high: Any) -> str:
    if low is None:
        return "of any value" if high is None else f"up to {high:g}"
    return f"from {low:g}" if high is None else f"{low:g} to {high:g}"


def ends_at_data(region: Set, sample: Sample) -> bool:
    """Return whether a side of the region, in a column of numbers, is an end of the training rows."""
    low, high = region.box
    least, most = range_of_rows(sample)
    ends = (low == least) | (high == most)
    return bool(np.any(ends if sample.encoding is None else ends & ~sample.encoding.in_group))


def require_bounded(region: Set, within: Any, sample: Sample) -> None:
    """Raise unless the region is bounded, with the range of the data as a suggestion."""
    if region.bounded:
        return
    low, high = region.box
    j = int(np.flatnonzero(~(np.isfinite(low) & np.isfinite(high)))[0])
    column = j if sample.feature_names is None else sample.feature_names.tolist()[j]
    X = sample.weighted_rows()[0][:, j]
    least = np.nanmin(X)
    most = np.nanmax(X)
    message = (
        f"the region is unbounded in column {column!r} (from {low[j]:g} to {high[j]:g}), and a kernel model "
        f"requires a bounded region. The training rows range from {least:g} to {most:g}: "
        f"give within={{{column!r}: (low, high)}}"
    )
    message += " or within='data'." if within is None else "."
    if low[j] > most or high[j] < least:
        message += " The whole region lies beyond these rows: check its units."
    raise InvalidInput(message)
