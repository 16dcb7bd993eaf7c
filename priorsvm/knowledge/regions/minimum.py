r"""Proven least values over a region, by branch and bound over cells.

The slopes s and second derivatives H of f at the middle m of a cell bound f one order better than its values
at the corners,

.. math:: f(m + u) \ge f(m) + s^\top u + \tfrac12 u^\top H u - \tfrac16 D_3 \|u\|^3 \|g\|_H ,

with :math:`D_3` a bound on the third derivatives of the kernel. Cells can then be several times as wide in
every column before the bound is too weak (:class:`Expansion`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._utils.arrays import Array
from ...errors import InvalidInput, MissingCapability
from .cover import Cells, Interpolation, first_cells, largest_derivative
from .requirement import CUT, Requirement, unit_of
from .sets import SEARCHED, LevelSet, Set


@dataclass(frozen=True)
class Bounds:
    """A point of each cell, the value there, and a lower bound on all values in the cell."""

    points: Array
    values: Array
    bounds: Array


@dataclass(frozen=True, eq=False)
class Corners:
    """Bounds from the corners of cells; ``error`` maps cells to how far values can fall between corners."""

    value: Callable[[Array], Array]
    error: Callable[[Cells], Array]

    def __call__(self, cells: Cells) -> Bounds:
        corners = cells.corners
        values = self.value(corners.reshape(-1, corners.shape[2])).reshape(corners.shape[:2])
        lowest = values.argmin(axis=1)
        rows = np.arange(len(values))
        return Bounds(corners[rows, lowest], values[rows, lowest], values[rows, lowest] - self.error(cells))


@dataclass(frozen=True, eq=False)
class Expansion:
    """Bounds from the slopes and second derivatives of ``sign * f`` at the middles of cells."""

    f: Any
    sign: float
    value: Callable[[Array], Array]

    def __call__(self, cells: Cells) -> Bounds:
        Z = cells.middles
        f = self.f
        n, d = Z.shape
        unit = np.ones(d) if f.scale is None else f.scale.width
        axes = np.eye(d)
        slope = np.column_stack([f.slope(Z, np.broadcast_to(e, Z.shape)) for e in axes])
        curvature = np.empty((n, d, d))
        for i, j in zip(*np.triu_indices(d), strict=True):
            along = (np.broadcast_to(axes[k], Z.shape) for k in (i, j))
            curvature[:, i, j] = curvature[:, j, i] = f.curve(Z, *along)
        rest = largest_derivative(cells, f.kernel, f.scale, 3) * cells.squared_reach(unit) ** 1.5 / 6
        values = self.value(Z)
        parabola = cells.least_quadratic(self.sign * slope, self.sign * curvature)
        return Bounds(Z, values, values + parabola - f.length * rest)


@dataclass(frozen=True)
class Minimum:
    """An interval [low, high] that contains the least value; ``high`` is attained at ``where``."""

    low: float
    high: float
    where: Array
    cells: int


def minimum(
    region: Set,
    bound: Callable[[Cells], Bounds],
    start: tuple[Array, float],
    unit: Array,
    tol: float,
    limit: int = 40_000,
    progress: Callable[[int], Any] | None = None,
) -> Minimum:
    """Bound the least value of a function over a region, by branch and bound.

    Parameters
    ----------
    region : Set
    bound : callable
        Maps cells to :class:`Bounds`.
    start : tuple of array and float
        A point of the region and the value there.
    unit : array of shape (d,)
        The unit of length in each column.
    tol : float
        Width of the interval at which the search stops.
    limit : int, default=40_000
        Largest number of cells beyond the first.
    progress : callable or None, default=None
        Called with the number of cells in each step.

    Returns
    -------
    Minimum
    """
    where, best = start
    cells = first_cells(region)
    low = np.inf
    count = 0
    while len(cells):
        count += len(cells)
        found = bound(cells)
        if progress is not None:
            progress(len(cells))
        lowest = int(np.argmin(found.values))
        if found.values[lowest] < best and region.contains(found.points[lowest][None], SEARCHED)[0]:
            best = float(found.values[lowest])
            where = found.points[lowest]
        left = found.bounds < best - tol
        low = min(low, float(found.bounds[~left].min(initial=np.inf)))
        if count + 2 * int(left.sum()) > limit:
            low = min(low, float(found.bounds[left].min(initial=np.inf)))
            break
        cells = cells[left].halved(unit, region) if left.any() else cells[:0]
    return Minimum(min(low, best), best, where, count)


def proven_minimum(
    f: Any,
    requirement: Requirement,
    known: Array,
    limit: int = 40_000,
    progress: Callable[[int], Any] | None = None,
) -> Minimum:
    """Bound the least excess of a requirement, from the lowest of some known points."""
    values = requirement.excess(f, known)
    start = known[int(np.argmin(values))], float(values.min())
    bound = _bound(f, requirement)
    return minimum(requirement.region, bound, start, unit_of(f, requirement), CUT / 2, limit, progress)


def _bound(f: Any, requirement: Requirement) -> Corners | Expansion:
    """Return the bound of the excess in cells that needs the fewest cells.

    It is an expansion where second derivatives of f are available. For kernels that depend on more than the
    distance, third derivatives grow with the distance from the origin, and corners need fewer cells.
    """

    def excess(Z: Array) -> Array:
        return requirement.excess(f, Z)

    smooth = f.kernel.depends_on == "distance" and f.kernel.has_curve and f.slopes is None
    if requirement.direction is None and smooth:
        return Expansion(f, requirement.sign, excess)
    error = Interpolation(f.kernel, f.scale, requirement.direction)
    return Corners(excess, lambda cells: f.length * error(cells))


def require_bound(requirement: Requirement, kernel: Any, max_dimension: int) -> None:
    """Raise unless f has a lower bound in the cells of a cover of the region."""
    d = len(requirement.region.box[0])
    if isinstance(requirement.region, LevelSet) or callable(requirement.h):
        raise InvalidInput(
            "method='guaranteed' has no bound on a function g or h between points. Use a Polyhedron, Box or "
            "Ellipsoid with a number for h, or method='cuts'."
        )
    if d > max_dimension:
        raise InvalidInput(
            "method='guaranteed' covers the region with cells, which is practical to "
            f"{max_dimension} dimensions, and there are {d}. Use method='cuts'."
        )
    if kernel is None or not kernel.has_derivative_bound:
        raise MissingCapability(
            f"method='guaranteed' requires a bound on the derivatives of {kernel!r}, which is known for RBF, "
            "for Polynomial and Linear, and for their sums. Use method='cuts'."
        )


def has_bound(requirement: Requirement, f: Any, max_dimension: int) -> bool:
    """Return whether the least value over the region can be proven."""
    try:
        require_bound(requirement, None if f.linear else f.kernel, max_dimension)
    except (InvalidInput, MissingCapability):
        return False
    return True
