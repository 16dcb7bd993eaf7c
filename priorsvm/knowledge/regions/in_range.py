r"""Points of a region in the range of the data, or at the end of the region that is nearest to the data."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product

import numpy as np

from ..._utils.arrays import Array, distinct_rows
from ...errors import InvalidInput
from .sets import SEARCHED, LevelSet, PolyhedronSet, Set

# Points of a region without a closed form that rows can move to.
CANDIDATES = 256
# Largest number of combinations of two-valued columns that are tried, and that have points of their own.
MOST_CHOICES = 256
MOST_PARTS = 16
# The near end of a region beyond the data is so thick, relative to its distance from the data.
THICKNESS = 1e-6


def candidates(region: Set, low: Array, high: Array, deviation: Array, values: Mapping[int, Array]) -> Array:
    """Return points of a polyhedron, an ellipsoid or a level set that rows can move to.

    Parameters
    ----------
    region : Set
        It may be unbounded.
    low, high : arrays of shape (d,)
        The range of the data.
    deviation : array of shape (d,)
        The units of the distance from the data.
    values : dict of int to array
        The values that a point may have in a column of two values.

    Returns
    -------
    array of shape (m, d)
        Points in the range of the data. If the region lies beyond the data, points of its near end.
    """
    if isinstance(region, PolyhedronSet):
        return _of_polyhedron(region, low, high, deviation, values)
    if isinstance(region, LevelSet):
        # Beyond the data its own bounds apply.
        region = LevelSet(
            region.g, np.clip(low, region.low, region.high), np.clip(high, region.low, region.high)
        )
    points = region.points(CANDIDATES)
    if not values or len(points) == 0:
        return points
    snapped = points.copy()
    for j, allowed in values.items():
        nearest = np.argmin(np.abs(points[:, j, None] - allowed), axis=1)
        snapped[:, j] = allowed[nearest]
    inside = region.contains(snapped, SEARCHED)
    return snapped[inside] if inside.any() else points


def _of_polyhedron(
    region: PolyhedronSet, low: Array, high: Array, deviation: Array, values: Mapping[int, Array]
) -> Array:
    """Return points of a polyhedron whose two-valued columns have one of their values."""
    fixed = [j for j in values if region.B[:, j].any()]
    if not fixed:
        return _in_range(region, low, high, deviation).points(CANDIDATES)
    choices = _choices([values[j] for j in fixed])
    lows = np.tile(low, (len(choices), 1))
    highs = np.tile(high, (len(choices), 1))
    lows[:, fixed] = choices
    highs[:, fixed] = choices
    possible = region.meets(lows, highs)
    parts = _spread(choices[possible])
    found = [_part(region, fixed, choice, low, high, CANDIDATES // len(parts)) for choice in parts]
    found = [points for points in found if len(points)]
    if found:
        return np.vstack(found)
    ends = [(choice, _fixed(region, fixed, choice)) for choice in _spread(choices)]
    near = [(choice, near_end(part, low, high, deviation)) for choice, part in ends if not part.empty]
    if not near:  # no combination of values lies in the region
        return _in_range(region, low, high, deviation).points(CANDIDATES)
    choice, (_, part) = min(near, key=lambda pair: pair[1][0])
    points = part.points(CANDIDATES)
    points[:, fixed] = choice
    return points


def _choices(values: list[Array]) -> Array:
    """Return all combinations of values, or a random selection if there are many."""
    count = int(np.prod([float(len(v)) for v in values]))
    if count <= MOST_CHOICES:
        return np.array(list(product(*values)))
    rng = np.random.default_rng(0)
    share = rng.random((MOST_CHOICES, 1))  # few and many large values
    first = rng.random((MOST_CHOICES, len(values))) < share
    chosen = np.column_stack([v[np.where(first[:, k], -1, 0)] for k, v in enumerate(values)])
    return distinct_rows(chosen)[0]


def _spread(choices: Array) -> Array:
    """Return at most MOST_PARTS of some combinations, evenly spread."""
    if len(choices) <= MOST_PARTS:
        return choices
    return choices[np.linspace(0, len(choices) - 1, MOST_PARTS).astype(int)]


def _fixed(region: PolyhedronSet, fixed: list[int], choice: Array) -> PolyhedronSet:
    """Return a polyhedron with the values of some columns fixed."""
    eye = np.eye(region.B.shape[1])[fixed]
    return PolyhedronSet(np.vstack([region.B, eye, -eye]), np.concatenate([region.d, choice, -choice]))


def _part(
    region: PolyhedronSet, fixed: list[int], choice: Array, low: Array, high: Array, count: int
) -> Array:
    """Return points in the range of the data with fixed values of some columns, if there are any."""
    part = _within(_fixed(region, fixed, choice), low, high)
    if part.empty:
        return np.empty((0, len(low)))
    points = part.points(max(count, 1))
    points[:, fixed] = choice
    return points


def _within(region: PolyhedronSet, low: Array, high: Array) -> PolyhedronSet:
    """Return a polyhedron restricted to a box."""
    eye = np.eye(len(low))
    return PolyhedronSet(np.vstack([region.B, eye, -eye]), np.concatenate([region.d, high, -low]))


def _in_range(region: PolyhedronSet, low: Array, high: Array, deviation: Array) -> PolyhedronSet:
    """Return the part of a polyhedron in the range of the data, or its near end."""
    closed = _within(region, low, high)
    return near_end(region, low, high, deviation)[1] if closed.empty else closed


def near_end(region: PolyhedronSet, low: Array, high: Array, deviation: Array) -> tuple[float, PolyhedronSet]:
    r"""Return the distance of a polyhedron from a box, and the part of it that is nearest to the box.

    The least steps :math:`u, v \ge 0` from the box to the polyhedron solve

    .. math:: \min \|u / \sigma\|^2 + \|v / \sigma\|^2 \quad\text{s.t.}\quad B x \le d,\;
              low - v \le x \le high + u .

    The near end is the part of the polyhedron in the box that is extended by these steps.
    """
    import cvxpy as cp

    used = np.flatnonzero(region.B.any(axis=0))
    unit = deviation[used]
    middle = (low[used] + high[used]) / 2
    B = region.B[:, used] * unit
    length = np.linalg.norm(B, axis=1)
    length = np.where(length > 0, length, 1.0)
    ends = (region.d - region.B[:, used] @ middle) / length
    half = (high[used] - low[used]) / 2 / unit
    size = max(float(np.abs(ends).max()), float(half.max()))
    up = cp.Variable(len(used), nonneg=True)
    down = cp.Variable(len(used), nonneg=True)
    z = cp.Variable(len(used))
    problem = cp.Problem(
        cp.Minimize(cp.sum_squares(up) + cp.sum_squares(down)),
        [(B / length[:, None]) @ z <= ends / size, z <= half / size + up, z >= -half / size - down],
    )
    try:
        problem.solve(solver=cp.CLARABEL)
    except cp.SolverError:
        up.value = None
    if up.value is not None:
        steps = size * np.vstack([np.maximum(down.value, 0.0), np.maximum(up.value, 0.0)])
        distance = float(np.linalg.norm(steps))
        for thickness in THICKNESS * distance * np.array([1.0, 10.0, 100.0]):
            extended = unit * (steps + thickness)
            new_low = low.copy()
            new_high = high.copy()
            new_low[used] -= np.where(steps[0] > thickness, extended[0], 0.0)
            new_high[used] += np.where(steps[1] > thickness, extended[1], 0.0)
            part = _within(region, new_low, new_high)
            if not part.empty:
                return distance, part
    raise InvalidInput(
        "the region lies beyond the data, and its end near the data was not found. Check its units, or give "
        "rows inside it as unlabeled=."
    )
