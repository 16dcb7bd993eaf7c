r"""Cells that cover a region, and a bound on how far a kernel expansion can fall between their corners.

A point x of a cell is a mixture :math:`x = \sum_i \lambda_i v_i` of its corners. In an expansion of
:math:`k_{v_i} = k(v_i, \cdot)` around x the linear terms cancel. The remainder is

.. math:: \Bigl\| k_x - \sum_i \lambda_i k_{v_i} \Bigr\|_H \le \tfrac12 D \sum_i \lambda_i \|v_i - x\|^2
          \le \tfrac12 D r^2 =: \varepsilon ,

with D a bound on the second derivatives of the kernel (``Kernel.derivative_bound``) and :math:`r` the
radius of the smallest ball around the cell. Hence :math:`f(x) \ge \min_i f(v_i) - \varepsilon \|g\|_H` in
the whole cell. The bound also holds for slopes of f, with third derivatives.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from scipy.spatial import Delaunay, HalfspaceIntersection, QhullError

from ..._utils.arrays import Array, distinct_rows
from .sets import PolyhedronSet, Set


class Cells(ABC):
    """Cells of one shape, in the user's units."""

    @property
    @abstractmethod
    def corners(self) -> Array:
        """Corners of the cells, of shape (n, corners, d)."""

    @property
    @abstractmethod
    def middles(self) -> Array:
        """A point inside each cell, of shape (n, d)."""

    @abstractmethod
    def squared_radius(self, unit: Array) -> Array:
        """Return the squared radius of a ball around each cell, with lengths measured in ``unit``."""

    @abstractmethod
    def least_quadratic(self, slope: Array, curvature: Array) -> Array:
        r"""Return a lower bound of :math:`s^\top u + \frac12 u^\top H u` in each cell, u from its middle."""

    def squared_reach(self, unit: Array) -> Array:
        """Return the squared distance from each middle to its farthest corner."""
        return np.max(
            np.sum(((self.corners - self.middles[:, None]) / unit) ** 2, axis=2), axis=1, initial=0.0
        )

    @abstractmethod
    def halved(self, unit: Array, region: Set) -> Self:
        """Cut every cell in two along its longest side, and drop cells that miss the region."""

    @abstractmethod
    def __getitem__(self, chosen: Any) -> Self: ...

    @abstractmethod
    def __add__(self, other: Self) -> Self: ...

    def __len__(self) -> int:
        return len(self.corners)


@dataclass(frozen=True, eq=False)
class Boxes(Cells):
    """Boxes ``low <= x <= high``, one row for each."""

    low: Array
    high: Array

    @property
    def corners(self) -> Array:
        d = self.low.shape[1]
        upper = np.array(np.meshgrid(*[[False, True]] * d, indexing="ij")).reshape(d, -1).T
        return np.where(upper, self.high[:, None], self.low[:, None])

    @property
    def middles(self) -> Array:
        return (self.low + self.high) / 2

    def squared_radius(self, unit: Array) -> Array:
        return np.sum(((self.high - self.low) / (2 * unit)) ** 2, axis=1)

    def least_quadratic(self, slope: Array, curvature: Array) -> Array:
        r"""Return the bound of the least eigenvalue of H after :math:`u = h t`.

        Each :math:`t_j` then has a parabola of its own.
        """
        half = (self.high - self.low) / 2
        a = np.abs(slope * half)
        least = np.linalg.eigvalsh(curvature * half[:, :, None] * half[:, None])[:, :1]
        inside = a < least  # the parabola along t_j has its vertex between -1 and 1
        at_vertex = -(a**2) / (2 * np.where(inside, least, 1.0))
        return np.sum(np.where(inside, at_vertex, least / 2 - a), axis=1)

    def halved(self, unit: Array, region: Set) -> Boxes:
        rows = np.arange(len(self))
        longest = np.argmax((self.high - self.low) / unit, axis=1)
        middle = (self.low + self.high)[rows, longest] / 2
        low = self.low.copy()
        high = self.high.copy()
        low[rows, longest] = high[rows, longest] = middle
        halves = Boxes(np.vstack([self.low, low]), np.vstack([high, self.high]))
        return halves[region.meets(halves.low, halves.high)]

    def __getitem__(self, chosen: Any) -> Boxes:
        return Boxes(self.low[chosen], self.high[chosen])

    def __add__(self, other: Boxes) -> Boxes:
        return Boxes(np.vstack([self.low, other.low]), np.vstack([self.high, other.high]))

    def __len__(self) -> int:
        return len(self.low)


@dataclass(frozen=True, eq=False)
class Simplices(Cells):
    """Triangles, tetrahedra and so on: an exact partition of a polyhedron."""

    vertices: Array

    @property
    def corners(self) -> Array:
        return self.vertices

    @property
    def middles(self) -> Array:
        return self.vertices.mean(axis=1)

    def least_quadratic(self, slope: Array, curvature: Array) -> Array:
        r"""Return the least :math:`\frac12 s^\top (u_i + u_j) + \frac12 u_i^\top H u_j` over corners i, j."""
        u = self.vertices - self.middles[:, None]
        linear = np.einsum("nid,nd->ni", u, slope)
        coefficients = linear[:, :, None] + linear[:, None] + u @ curvature @ np.swapaxes(u, 1, 2)
        return 0.5 * np.min(coefficients, axis=(1, 2))

    def squared_radius(self, unit: Array) -> Array:
        """Return the bound of Jung's theorem, from the longest edge."""
        d = self.vertices.shape[2]
        return d / (2 * (d + 1)) * self._edges(unit)[0].max(axis=1)

    def halved(self, unit: Array, region: Set) -> Simplices:
        lengths, ends = self._edges(unit)
        rows = np.arange(len(self))
        longest = np.argmax(lengths, axis=1)
        a, b = ends[longest].T
        middle = (self.vertices[rows, a] + self.vertices[rows, b]) / 2
        first = self.vertices.copy()
        second = self.vertices.copy()
        first[rows, a] = second[rows, b] = middle
        return Simplices(np.concatenate([first, second]))

    def _edges(self, unit: Array) -> tuple[Array, Array]:
        """Return the squared length of every edge, and the corners it joins."""
        ends = np.array(np.triu_indices(self.vertices.shape[1], 1)).T
        edges = (self.vertices[:, ends[:, 0]] - self.vertices[:, ends[:, 1]]) / unit
        return np.sum(edges**2, axis=2), ends

    def __getitem__(self, chosen: Any) -> Simplices:
        return Simplices(self.vertices[chosen])

    def __add__(self, other: Simplices) -> Simplices:
        return Simplices(np.concatenate([self.vertices, other.vertices]))


def first_cells(region: Set) -> Cells:
    """Return the coarsest cells that cover a region.

    These are simplices for a polyhedron with interior points, and else the box around the region.
    """
    low, high = region.box
    if isinstance(region, PolyhedronSet) and len(low) > 1 and np.all(high > low):
        try:
            return Simplices(_triangulated(region))
        except QhullError:
            pass
    return Boxes(low[None], high[None])


def _triangulated(region: PolyhedronSet) -> Array:
    low, high = region.box
    # In the unit cube, so that units do not matter.
    B = region.B * (high - low)
    d = region.d - region.B @ low
    length = np.linalg.norm(B, axis=1)
    B = B[length > 0] / length[length > 0, None]
    d = d[length > 0] / length[length > 0]
    # The variables are the centre and the radius of an inscribed ball.
    ball = PolyhedronSet(np.column_stack([B, np.ones(len(B))]), d)
    _, found = ball.lowest(np.append(np.zeros(B.shape[1]), -1.0))
    if not found[-1] > 1e-9:
        raise QhullError("no interior")
    corners = HalfspaceIntersection(np.column_stack([B, -d]), found[:-1]).intersections
    corners = distinct_rows(np.round(corners, 12))[0]
    return low + corners[Delaunay(corners).simplices] * (high - low)


def interpolation_error(cells: Cells, kernel: Any, scale: Any, direction: Array | None = None) -> Array:
    r"""Return :math:`\varepsilon` of every cell, for values of f, or for its slopes along a direction."""
    unit = np.ones(cells.corners.shape[2]) if scale is None else scale.width
    speed = 1.0 if direction is None else float(np.linalg.norm(direction / unit))
    largest = largest_derivative(cells, kernel, scale, 2 if direction is None else 3)
    return 0.5 * largest * speed * cells.squared_radius(unit)


def largest_derivative(cells: Cells, kernel: Any, scale: Any, order: int) -> Array:
    """Return a bound on the derivatives of the kernel of this order in each cell."""
    corners = cells.corners if scale is None else scale.points(cells.corners)
    reach = np.sqrt(np.max(np.sum(corners**2, axis=2), axis=1, initial=0.0))
    return np.asarray(kernel.derivative_bound(order, reach))


@dataclass(frozen=True, eq=False)
class Interpolation:
    """The function :func:`interpolation_error` of one model and direction, as data that can be saved."""

    kernel: Any
    scale: Any
    direction: Array | None

    def __call__(self, cells: Cells) -> Array:
        return interpolation_error(cells, self.kernel, self.scale, self.direction)


@dataclass(frozen=True, eq=False)
class Cover:
    """Cells that cover a region, and the bound at their corners.

    Attributes
    ----------
    cells : Cells
    error : callable
        Maps cells to how far f can fall between the corners of each, for f of norm 1.
    unit : array of shape (d,)
        The unit of length in each column.
    """

    cells: Cells
    error: Callable[[Cells], Array]
    unit: Array

    @classmethod
    def of(cls, region: Set, unit: Array, error: Callable[[Cells], Array], fine: float, limit: int) -> Cover:
        """Build a cover with no error above ``fine``, or as fine as ``limit`` cells allow."""
        todo = first_cells(region)
        done = todo[:0]
        while len(todo):
            good = error(todo) <= fine
            done = done + todo[good]
            todo = todo[~good]
            if len(todo) == 0 or len(done) + 2 * len(todo) > limit:
                break
            todo = todo.halved(unit, region)
        return cls(done + todo, error, unit)

    def __len__(self) -> int:
        return len(self.cells)

    @cached_property
    def _corners(self) -> tuple[Array, Array]:
        """Distinct corners, and the indices of the corners of each cell."""
        corners = self.cells.corners
        distinct, _, of = distinct_rows(corners.reshape(-1, corners.shape[2]))
        return distinct, of.reshape(corners.shape[:2])

    @property
    def corners(self) -> Array:
        """Distinct corners."""
        return self._corners[0]

    @cached_property
    def drop(self) -> Array:
        """Largest error of the cells around each corner: how far f of norm 1 can fall near it."""
        corners, of = self._corners
        drop = np.zeros(len(corners))
        np.maximum.at(drop, of, self.error(self.cells)[:, None])
        return drop

    def refined(self, low: Array, region: Set, limit: int) -> Cover:
        """Return the cover with its cells of ``low < 0`` at a corner halved along every side.

        Cells with the lowest corners come first, until there are ``limit`` cells.
        """
        _, of = self._corners
        lowest = low[of].min(axis=1)
        d = self.corners.shape[1]
        room = max(limit - len(self), 0) // (2**d - 1)
        order = np.argsort(lowest)[:room]
        split = np.zeros(len(self), bool)
        split[order[lowest[order] < 0]] = True
        new = self.cells[split]
        for _ in range(d if split.any() else 0):
            new = new.halved(self.unit, region)
        return Cover(self.cells[~split] + new, self.error, self.unit)
