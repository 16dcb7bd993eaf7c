r"""Cells that cover a region, and what a kernel machine can do between their corners: what proofs stand on.

A point x of a cell is a mixture :math:`x = \sum_i \lambda_i v_i` of its corners. Expanding
:math:`k_{v_i} = k(v_i, \cdot)` around x, the linear terms cancel, and what is left is

.. math:: \Bigl\| k_x - \sum_i \lambda_i k_{v_i} \Bigr\|_H \le \tfrac12 D \sum_i \lambda_i \|v_i - x\|^2
          \le \tfrac12 D \rho^2 =: \eta ,

with D the length of the second derivatives of the kernel (``Kernel.derivative_bound``) and :math:`\rho` the
radius of the smallest ball around the cell. So
:math:`f(x) \ge \min_i f(v_i) - \eta \|g\|_H` everywhere in it, and the same holds for slopes of f, with third
derivatives.

With its slopes s and second derivatives H at the middle m of a cell, f is known one order better,

.. math:: f(m + u) \ge f(m) + s^\top u + \tfrac12 u^\top H u - \tfrac16 D_3 \|u\|^3 \|g\|_H ,

so that cells can be several times as wide in every column before a bound is lost (:class:`Expansion`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from scipy.spatial import Delaunay, HalfspaceIntersection, QhullError

from ..._utils.arrays import Array
from .sets import PolyhedronSet, Set


class Cells(ABC):
    """Cells of one kind, in the user's units."""

    @property
    @abstractmethod
    def corners(self) -> Array:
        """(n, corners, d)."""

    @property
    @abstractmethod
    def middles(self) -> Array:
        """(n, d): a point inside each cell."""

    @abstractmethod
    def squared_radius(self, unit: Array) -> Array:
        """Of a ball around each cell, with lengths measured in ``unit``."""

    @abstractmethod
    def least_quadratic(self, slope: Array, curvature: Array) -> Array:
        r"""No more than :math:`s^\top u + \frac12 u^\top H u` anywhere in each cell, u from its middle."""

    def squared_reach(self, unit: Array) -> Array:
        """Of the corner farthest from each middle."""
        return np.max(
            np.sum(((self.corners - self.middles[:, None]) / unit) ** 2, axis=2), axis=1, initial=0.0
        )

    @abstractmethod
    def halved(self, unit: Array, region: Set) -> Self:
        """Every cell cut in two where it is longest; what misses the region is dropped."""

    @abstractmethod
    def __getitem__(self, chosen: Any) -> Self: ...

    @abstractmethod
    def __add__(self, other: Self) -> Self: ...

    def __len__(self) -> int:
        return len(self.corners)


@dataclass(frozen=True, eq=False)
class Boxes(Cells):
    """``low <= x <= high``, one row each."""

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
        r"""With :math:`u = h t` the least eigenvalue stands for H: each :math:`t_j` is on its own."""
        half = (self.high - self.low) / 2
        a = np.abs(slope * half)
        least = np.linalg.eigvalsh(curvature * half[:, :, None] * half[:, None])[:, :1]
        inside = a < least  # where the parabola along t_j has its foot within -1 and 1
        at_foot = -(a**2) / (2 * np.where(inside, least, 1.0))
        return np.sum(np.where(inside, at_foot, least / 2 - a), axis=1)

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
    """Triangles, tetrahedra: they fill a polyhedron and nothing else."""

    vertices: Array

    @property
    def corners(self) -> Array:
        return self.vertices

    @property
    def middles(self) -> Array:
        return self.vertices.mean(axis=1)

    def least_quadratic(self, slope: Array, curvature: Array) -> Array:
        r"""Mixtures of :math:`\frac12 s^\top (u_i + u_j) + \frac12 u_i^\top H u_j` over pairs of corners."""
        u = self.vertices - self.middles[:, None]
        linear = np.einsum("nid,nd->ni", u, slope)
        coefficients = linear[:, :, None] + linear[:, None] + u @ curvature @ np.swapaxes(u, 1, 2)
        return 0.5 * np.min(coefficients, axis=(1, 2))

    def squared_radius(self, unit: Array) -> Array:
        """By Jung's theorem, from the longest edge."""
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
        """Their squared lengths, and which corners they join."""
        ends = np.array(np.triu_indices(self.vertices.shape[1], 1)).T
        edges = (self.vertices[:, ends[:, 0]] - self.vertices[:, ends[:, 1]]) / unit
        return np.sum(edges**2, axis=2), ends

    def __getitem__(self, chosen: Any) -> Simplices:
        return Simplices(self.vertices[chosen])

    def __add__(self, other: Simplices) -> Simplices:
        return Simplices(np.concatenate([self.vertices, other.vertices]))


def first_cells(region: Set) -> Cells:
    """A polyhedron as simplices, any other set (or a polyhedron without an inside) as the box around it."""
    low, high = region.box
    if isinstance(region, PolyhedronSet) and len(low) > 1 and np.all(high > low):
        try:
            return Simplices(_triangulated(region))
        except QhullError:
            pass
    return Boxes(low[None], high[None])


def _triangulated(region: PolyhedronSet) -> Array:
    low, high = region.box
    # in the unit cube, whatever the units are
    B = region.B * (high - low)
    d = region.d - region.B @ low
    length = np.linalg.norm(B, axis=1)
    B = B[length > 0] / length[length > 0, None]
    d = d[length > 0] / length[length > 0]
    ball = PolyhedronSet(np.column_stack([B, np.ones(len(B))]), d)  # centre and radius of a ball inside
    _, found = ball.lowest(np.append(np.zeros(B.shape[1]), -1.0))
    if not found[-1] > 1e-9:
        raise QhullError("no inside")
    corners = HalfspaceIntersection(np.column_stack([B, -d]), found[:-1]).intersections
    corners = np.unique(np.round(corners, 12), axis=0)
    return low + corners[Delaunay(corners).simplices] * (high - low)


def interpolation_error(cells: Cells, kernel: Any, scale: Any, direction: Array | None = None) -> Array:
    r""":math:`\eta` of every cell, for the values of f, or for its slopes along a direction."""
    unit = np.ones(cells.corners.shape[2]) if scale is None else scale.width
    speed = 1.0 if direction is None else float(np.linalg.norm(direction / unit))
    steepest = _steepest(cells, kernel, scale, 2 if direction is None else 3)
    return 0.5 * steepest * speed * cells.squared_radius(unit)


def _steepest(cells: Cells, kernel: Any, scale: Any, order: int) -> Array:
    """The most that derivatives of the kernel can be long in each cell."""
    corners = cells.corners if scale is None else scale.points(cells.corners)
    reach = np.sqrt(np.max(np.sum(corners**2, axis=2), axis=1, initial=0.0))
    return np.asarray(kernel.derivative_bound(order, reach))


@dataclass(frozen=True, eq=False)
class Interpolation:
    """:func:`interpolation_error` of one machine along one direction, as data that can be saved."""

    kernel: Any
    scale: Any
    direction: Array | None

    def __call__(self, cells: Cells) -> Array:
        return interpolation_error(cells, self.kernel, self.scale, self.direction)


@dataclass(frozen=True, eq=False)
class Cover:
    """Cells that cover a region, and the bound that their corners give.

    Attributes
    ----------
    cells : the cells.
    error : cells -> how far f may fall between the corners of each, per norm of f.
    unit : what lengths are measured in.
    """

    cells: Cells
    error: Callable[[Cells], Array]
    unit: Array

    @classmethod
    def of(cls, region: Set, unit: Array, error: Callable[[Cells], Array], fine: float, limit: int) -> Cover:
        """With no error above ``fine``, or as fine as ``limit`` cells can be."""
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
        """The distinct corners, and which of them each cell has."""
        corners = self.cells.corners
        distinct, of = np.unique(corners.reshape(-1, corners.shape[2]), axis=0, return_inverse=True)
        return distinct, of.reshape(corners.shape[:2])

    @property
    def corners(self) -> Array:
        """The distinct corners."""
        return self._corners[0]

    @cached_property
    def drop(self) -> Array:
        """For each corner, how far f may fall near it, per norm of f: the largest error of its cells."""
        corners, of = self._corners
        drop = np.zeros(len(corners))
        np.maximum.at(drop, of, self.error(self.cells)[:, None])
        return drop

    def refined(self, low: Array, region: Set, limit: int) -> Cover:
        """Cells with a corner of value ``low < 0`` halved along every side, lowest first, to ``limit``."""
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


@dataclass(frozen=True)
class Look:
    """A point of each cell, the value there, and a bound on all values in the cell."""

    points: Array
    values: Array
    bounds: Array


@dataclass(frozen=True, eq=False)
class Corners:
    """Look at the corners of cells; ``error`` is how far the values may fall between them."""

    value: Callable[[Array], Array]
    error: Callable[[Cells], Array]

    def __call__(self, cells: Cells) -> Look:
        corners = cells.corners
        values = self.value(corners.reshape(-1, corners.shape[2])).reshape(corners.shape[:2])
        lowest = values.argmin(axis=1)
        rows = np.arange(len(values))
        return Look(corners[rows, lowest], values[rows, lowest], values[rows, lowest] - self.error(cells))


@dataclass(frozen=True, eq=False)
class Expansion:
    """Look at the middles of cells, with the slopes and second derivatives of ``sign * f`` there."""

    f: Any
    sign: float
    value: Callable[[Array], Array]

    def __call__(self, cells: Cells) -> Look:
        Z = cells.middles
        f = self.f
        n, d = Z.shape
        unit = np.ones(d) if f.scale is None else f.scale.width
        axes = np.eye(d)
        (first, second) = np.triu_indices(d)
        slope = np.column_stack([f.slope(Z, np.broadcast_to(e, Z.shape)) for e in axes])
        curvature = np.empty((n, d, d))
        for i, j in zip(first, second, strict=True):
            along = (np.broadcast_to(axes[k], Z.shape) for k in (i, j))
            curvature[:, i, j] = curvature[:, j, i] = f.curve(Z, *along)
        rest = _steepest(cells, f.kernel, f.scale, 3) * cells.squared_reach(unit) ** 1.5 / 6
        values = self.value(Z)
        parabola = cells.least_quadratic(self.sign * slope, self.sign * curvature)
        return Look(Z, values, values + parabola - f.length * rest)


@dataclass(frozen=True)
class Minimum:
    """The least value over a region lies from ``low`` to ``high``; ``high`` is taken ``where``."""

    low: float
    high: float
    where: Array
    cells: int


def minimum(
    region: Set,
    look: Callable[[Cells], Look],
    start: tuple[Array, float],
    unit: Array,
    tol: float,
    limit: int = 40_000,
    progress: Callable[[int], Any] | None = None,
) -> Minimum:
    """The least value of a function over a region, by branch and bound from a point of it and its value.

    No more than ``limit`` cells are looked at beyond the first; ``progress`` is told how many, as they are.
    """
    where, best = start
    cells = first_cells(region)
    low = np.inf
    count = 0
    while len(cells):
        count += len(cells)
        found = look(cells)
        if progress is not None:
            progress(len(cells))
        lowest = int(np.argmin(found.values))
        if found.values[lowest] < best and region.contains(found.points[lowest][None])[0]:
            best = float(found.values[lowest])
            where = found.points[lowest]
        left = found.bounds < best - tol
        low = min(low, float(found.bounds[~left].min(initial=np.inf)))
        if count + 2 * int(left.sum()) > limit:  # their halves would be too many
            low = min(low, float(found.bounds[left].min(initial=np.inf)))
            break
        cells = cells[left].halved(unit, region) if left.any() else cells[:0]
    return Minimum(min(low, best), best, where, count)
