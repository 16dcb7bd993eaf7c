r"""Sets of points, in the user's units: bounds, membership, well-spread points, least values of functions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache, partial
from typing import Any

import numpy as np
from scipy.linalg import lstsq
from scipy.optimize import LinearConstraint, linprog, minimize
from scipy.stats import norm, qmc

from ..._utils.arrays import Array, distinct_rows
from ...errors import InvalidInput, SolverFailed
from .descent import STEPS, Differentiable, Projection, descend, onto_level_set
from .halfspaces import Halfspaces

Function = Callable[[Array], Array]

# The first step of a descent, in parts of the extent of a set.
REACH = 0.02
# Ends of descent in a polyhedron from which an exact method continues.
POLISHED = 4
# Tolerance of points that a search or a draw puts on the border of a set.
SEARCHED = 1e-9
# Rounding of a sum or a product of a few numbers, relative to its terms.
ROUNDING = 8 * float(np.finfo(float).eps)
# So few rows are compared with all sides of a box at once.
FEW_LEFT = 64


@dataclass(frozen=True, eq=False)
class Chart:
    """Coordinates z of the points ``shift + A z`` of a set, and the projection of coordinates onto it.

    ``inverse`` is an inverse of A on the set. ``low`` and ``high`` are the ends of the box around the set.
    """

    shift: Array
    A: Array
    inverse: Array
    project: Projection
    low: Array
    high: Array

    def inner(self, X: Array) -> Array:
        """Return the coordinates of points."""
        return (X - self.shift) @ self.inverse.T

    def outer(self, z: Array) -> Array:
        """Return the points of coordinates."""
        return np.clip(self.shift + z @ self.A.T, self.low, self.high)

    def gradients(self, gradients: Array) -> Array:
        """Return gradients by the coordinates, from gradients by the points."""
        return gradients @ self.A

    @property
    def reach(self) -> float:
        """A small part of the largest extent of the set, in coordinates."""
        return REACH * float((np.abs(self.inverse) @ (self.high - self.low)).max(initial=0.0))

    def minima(self, function: Differentiable, starts: Array, steps: int) -> Array:
        """Return the ends of local descent of a function, from all starts at once."""

        def inner(z: Array) -> tuple[Array, Array]:
            value, gradient = function(self.shift + z @ self.A.T)
            return value, gradient @ self.A

        return self.outer(descend(inner, self.project, self.inner(starts), self.reach, steps))


class Set(ABC):
    """A closed, nonempty set of points."""

    #: Whether the least value of a linear function over the set has a closed form.
    exact: bool = True

    @property
    @abstractmethod
    def box(self) -> tuple[Array, Array]:
        """Lower and upper ends of the smallest box around the set; infinite where it is unbounded."""

    @abstractmethod
    def contains(self, X: Array, tol: float = 0.0) -> Array:
        """Return a mask of the rows of X that lie in the set.

        Rows are compared exactly, apart from the rounding of sums. ``tol`` is for points of a search. It is
        relative to the size of the set.
        """

    @abstractmethod
    def lowest(self, w: Array) -> tuple[float, Array]:
        r"""Return :math:`\min_{x} w^\top x` over the set, and a minimiser."""

    def meets(self, low: Array, high: Array) -> Array:
        """Return a mask of boxes that may meet the set; boxes left out certainly miss it."""
        return np.ones(len(low), bool)

    @property
    def bounded(self) -> bool:
        """Whether the set is bounded."""
        return bool(np.isfinite(np.concatenate(self.box)).all())

    def points(self, n: int, seed: int = 0) -> Array:
        """Return the points inside the set, of n points of a Sobol sequence in its box."""
        low, high = self.box
        inside = low + _sobol(n, len(low), seed) * (high - low)
        return inside[self.contains(inside)]

    def faces(self, n: int, seed: int = 0) -> Array:
        """Return about n points of the set, many of them on its border."""
        return self.points(n, seed)

    def chart(self, unit: Array) -> Chart | None:
        """Return coordinates in which the set has a projection, or None.

        ``unit`` is the unit of each column.
        """
        return None

    def nearest(self, X: Array) -> Array:
        """Return the points of the set nearest to some points; without a projection, the points inside."""
        chart = self.chart(np.ones(X.shape[1]))
        return X[self.contains(X)] if chart is None else chart.outer(chart.project(chart.inner(X)))

    def grid(self, n: int) -> Array:
        """Return the points inside the set, of a regular grid of at least n points over its box."""
        low, high = self.box
        side = max(2, int(np.ceil(n ** (1.0 / len(low)) - 1e-9)))
        if side ** len(low) > 10**6:
            raise InvalidInput(
                f"a grid in {len(low)} dimensions would have {side ** len(low):.0e} points. Draw points "
                "instead, for example points=256."
            )
        axes = [np.linspace(a, b, side) if b > a else np.array([a]) for a, b in zip(low, high, strict=True)]
        points = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(low))
        return points[self.contains(points, SEARCHED)]

    def minima(
        self, function: Differentiable, starts: Array, steps: int = STEPS, unit: Array | None = None
    ) -> Array:
        """Return the points where local descent of a function ends; the starts if there is no projection.

        ``unit`` is the unit of each column, default 1.
        """
        chart = self.chart(np.ones(starts.shape[1]) if unit is None else unit)
        return starts if chart is None else chart.minima(function, starts, steps)


@lru_cache(maxsize=1)  # boxes of one block have equal numbers of points and columns, and one seed
def _sobol(n: int, d: int, seed: int) -> Array:
    points: Array = qmc.Sobol(d, seed=seed).random_base2(max(int(np.ceil(np.log2(max(n, 1)))), 0))
    points.flags.writeable = False
    return points


@dataclass(frozen=True, eq=False)
class BoxSet(Set):
    """``low <= x <= high``; both ends may be infinite."""

    low: Array
    high: Array

    @property
    def box(self) -> tuple[Array, Array]:
        return self.low, self.high

    @property
    def inequalities(self) -> tuple[Array, Array]:
        """B and d of ``B x <= d``, one row for each finite side."""
        eye = np.eye(len(self.low))
        above = np.isfinite(self.high)
        below = np.isfinite(self.low)
        return np.vstack([eye[above], -eye[below]]), np.concatenate([self.high[above], -self.low[below]])

    def contains(self, X: Array, tol: float = 0.0) -> Array:
        left = np.arange(len(X))
        inside = np.zeros(len(X), bool)
        unbounded = np.isinf(self.low) & np.isinf(self.high)
        for j in np.flatnonzero(~unbounded):
            if len(left) <= FEW_LEFT and not tol:
                left = left[((self.low <= X[left]) & (self.high >= X[left]) | unbounded).all(axis=1)]
                break
            x = X[left, j]
            slack = self._slack(int(j), tol) if tol else 0.0
            left = left[(self.low[j] - slack <= x) & (self.high[j] + slack >= x)]
        # An unbounded column contains every number; few rows are left.
        left = left[~np.isnan(X[left][:, unbounded]).any(axis=1)]
        inside[left] = True
        return inside

    def _slack(self, j: int, tol: float) -> float:
        """Return a tolerance relative to the width of a column; of one end only, relative to this end."""
        ends = np.array([self.low[j], self.high[j]])
        ends = np.abs(ends[np.isfinite(ends)])
        width = self.high[j] - self.low[j]
        return float(tol * (width if np.isfinite(width) else ends.max()) + ROUNDING * ends.max())

    def lowest(self, w: Array) -> tuple[float, Array]:
        corner = np.where(w > 0, self.low, np.where(w < 0, self.high, np.clip(0.0, self.low, self.high)))
        used = w != 0
        return float(w[used] @ corner[used]), corner

    def chart(self, unit: Array) -> Chart:
        scale = np.diag(1.0 / unit)
        onto = partial(np.clip, a_min=np.zeros(len(unit)), a_max=(self.high - self.low) / unit)
        return Chart(self.low, np.diag(unit), scale, onto, self.low, self.high)

    def points(self, n: int, seed: int = 0) -> Array:
        """Return a Sobol sequence, the centre, and the corners; a selection of corners beyond 6 columns."""
        d = len(self.low)
        if d <= 6:
            corners = np.array(np.meshgrid(*[[0.0, 1.0]] * d)).reshape(d, -1).T
        else:
            corners = np.random.default_rng(seed).integers(0, 2, size=(min(n, 64), d)).astype(float)
        cube = np.vstack([np.full((1, d), 0.5), corners, _sobol(n, d, seed)])
        return distinct_rows(self.low + cube * (self.high - self.low))[0]

    def faces(self, n: int, seed: int = 0) -> Array:
        """Return n random points, each moved to the nearer end in a random share of its columns."""
        d = len(self.low)
        cube = np.random.default_rng(seed).random((n, 2 * d + 1))
        at_end = cube[:, d : 2 * d] < cube[:, 2 * d :]
        place = np.where(at_end, np.round(cube[:, :d]), cube[:, :d])
        return np.asarray(self.low + place * (self.high - self.low))


@dataclass(frozen=True, eq=False)
class PolyhedronSet(Set):
    """``B x <= d``."""

    B: Array
    d: Array

    @cached_property
    def box(self) -> tuple[Array, Array]:
        eye = np.eye(self.B.shape[1])
        low = np.full(self.B.shape[1], -np.inf)
        high = -low
        for j in np.flatnonzero(self.B.any(axis=0)):
            low[j] = self.lowest(eye[j])[0]
            high[j] = -self.lowest(-eye[j])[0]
        return low, high

    @property
    def inequalities(self) -> tuple[Array, Array]:
        """B and d of ``B x <= d``."""
        return self.B, self.d

    def contains(self, X: Array, tol: float = 0.0) -> Array:
        reach = np.abs(X) @ np.abs(self.B).T + np.abs(self.d)
        return np.all(X @ self.B.T - self.d <= max(tol, ROUNDING) * reach, axis=1)

    def lowest(self, w: Array) -> tuple[float, Array]:
        least, where = linear_minimum(w, self.B, self.d)
        if where is None and least == np.inf:
            raise SolverFailed(
                "HiGHS reports a nonempty polyhedron as empty. Scale the columns of X, and B and d alike."
            )
        return least, np.full(len(w), np.nan) if where is None else where

    @cached_property
    def empty(self) -> bool:
        """Whether no point satisfies all inequalities."""
        return linear_minimum(np.zeros(self.B.shape[1]), self.B, self.d)[0] == np.inf

    def meets(self, low: Array, high: Array) -> Array:
        least = low @ np.maximum(self.B, 0.0).T + high @ np.minimum(self.B, 0.0).T
        reach = np.maximum(np.abs(low), np.abs(high)) @ np.abs(self.B).T + np.abs(self.d)
        return np.all(least - self.d <= 1e-9 * reach, axis=1)

    @cached_property
    def _vertices(self) -> Array:
        """Some vertices: minimisers of linear functions in random directions."""
        width = self.B.shape[1]
        directions = np.random.default_rng(0).normal(size=(4 * width, width))
        found = np.array([self.lowest(v)[1] for v in directions])
        size = np.abs(found).max() or 1.0  # rounding may return a vertex in several versions
        return found[distinct_rows(np.round(found / size, 9))[1]]

    def points(self, n: int, seed: int = 0) -> Array:
        """Return vertices, Sobol points inside, and mixtures of vertices where too few points lie inside."""
        inside = super().points(n, seed)
        rng = np.random.default_rng(seed)
        share = rng.dirichlet(np.full(len(self._vertices), 0.5), size=max(n - len(inside), 0))
        return np.vstack([self._vertices, inside, share @ self._vertices])

    def chart(self, unit: Array) -> Chart:
        low, high = self.box
        size = np.linalg.norm(self.B * unit, axis=1)
        used = size > 0
        B = (self.B * unit)[used] / size[used, None]
        d = (self.d - self.B @ low)[used] / size[used]
        return Chart(low, np.diag(unit), np.diag(1.0 / unit), Halfspaces(B, d), low, high)

    def minima(
        self, function: Differentiable, starts: Array, steps: int = STEPS, unit: Array | None = None
    ) -> Array:
        """Return the ends of local descent, from all starts at once; the lowest ends are polished."""
        ends = super().minima(function, starts, steps, unit)
        if steps == STEPS:
            best = np.argsort(function(ends)[0], kind="stable")[:POLISHED]
            ends = np.vstack([ends, self._minima(function, ends[best])])
        return ends[self.contains(ends, 1e-7)]

    def _minima(self, function: Differentiable, starts: Array) -> Array:
        """Return the ends of local descent by SLSQP, one start after the other."""
        low, high = self.box
        width = np.where(high > low, high - low, 1.0)
        sides = LinearConstraint(self.B * width, -np.inf, self.d - self.B @ low)

        def scaled(z: Array) -> tuple[float, Array]:
            value, gradient = function((low + z * width)[None])
            return float(value[0]), gradient[0] * width

        ends = []
        # Every column is scaled to [0, 1], so that a step is as large in each.
        for start in (starts - low) / width:
            result = minimize(
                scaled,
                start,
                jac=True,
                bounds=[(0.0, 1.0 if b > a else 0.0) for a, b in zip(low, high, strict=True)],
                constraints=[sides],
                method="SLSQP",
            )
            ends.append(low + result.x * width)
        found = np.clip(np.array(ends).reshape(len(starts), len(low)), low, high)
        return found[self.contains(found, 1e-7)]


def polyhedron(B: Array, d: Array) -> PolyhedronSet:
    """Return the set; equal arguments share an instance, and its solved linear programmes."""
    return _polyhedron(B.tobytes(), d.tobytes(), B.shape[1])


@lru_cache(maxsize=1024)
def _polyhedron(B: bytes, d: bytes, columns: int) -> PolyhedronSet:
    return PolyhedronSet(np.frombuffer(B).reshape(-1, columns), np.frombuffer(d))


def linear_minimum(w: Array, B: Array, d: Array) -> tuple[float, Array | None]:
    """Return the least w'x subject to Bx <= d, and a minimiser.

    The value is infinite if no x satisfies Bx <= d, and minus infinity if w'x is unbounded below. Columns,
    rows and right-hand sides are scaled to size one, because the tolerances of HiGHS are absolute.
    """
    column = np.abs(B).max(axis=0, initial=0.0)
    column = np.where(column > 0, column, 1.0)
    row = np.abs(B / column).max(axis=1, initial=0.0)
    row = np.where(row > 0, row, 1.0)
    size = np.abs(d / row).max(initial=0.0) or 1.0
    goal = w / column
    reach = np.abs(goal).max(initial=0.0) or 1.0
    answer = _linprog(goal / reach, B / column / row[:, None], d / row / size)
    if answer.status == 0:
        return float(reach * size * answer.fun), size * answer.x / column
    return (np.inf if answer.status == 2 else -np.inf), None


def _linprog(w: Array, B: Array, d: Array) -> Any:
    """Return the result of HiGHS, of status 0 (optimal), 2 (infeasible) or 3 (unbounded)."""
    answer = linprog(w, A_ub=B, b_ub=d, bounds=(None, None), method="highs")
    if answer.status in (2, 4):  # the presolve of HiGHS reports some unbounded problems as infeasible
        answer = linprog(w, A_ub=B, b_ub=d, bounds=(None, None), method="highs", options={"presolve": False})
    if answer.status not in (0, 2, 3):
        raise SolverFailed(
            f"HiGHS cannot decide whether the polyhedron {{x : Bx <= d}} is empty: {answer.message} "
            "Scale the columns of X, and B and d alike."
        )
    return answer


@dataclass(frozen=True, eq=False)
class EllipsoidSet(Set):
    r"""``centre + A z`` with :math:`\|z\| \le 1`."""

    centre: Array
    A: Array

    @property
    def box(self) -> tuple[Array, Array]:
        reach = np.linalg.norm(self.A, axis=1)
        return self.centre - reach, self.centre + reach

    @cached_property
    def _inverse(self) -> Array:
        return np.linalg.pinv(self.A)

    @property
    def flat(self) -> bool:
        """Whether the ellipsoid lies in a subspace of lower dimension."""
        return bool(np.linalg.matrix_rank(self.A) < len(self.centre))

    def contains(self, X: Array, tol: float = 1e-9) -> Array:
        z = lstsq(self.A, (X - self.centre).T)[0]
        off = np.linalg.norm(X - self.centre - (self.A @ z).T, axis=1)
        near = 1e-7 * np.abs(self.A).max() + 1e-12 * np.abs(self.centre).max()
        return (np.linalg.norm(z, axis=0) <= 1 + tol) & (off <= near)

    def lowest(self, w: Array) -> tuple[float, Array]:
        direction = self.A.T @ w
        length = float(np.linalg.norm(direction))
        point = self.centre - self.A @ (direction / length if length else direction)
        return float(w @ self.centre) - length, point

    def meets(self, low: Array, high: Array) -> Array:
        if self.flat:
            return super().meets(low, high)
        middle = np.linalg.norm(((low + high) / 2 - self.centre) @ self._inverse.T, axis=1)
        return middle - np.linalg.norm((high - low) / 2 @ np.abs(self._inverse).T, axis=1) <= 1.0 + 1e-9

    def points(self, n: int, seed: int = 0) -> Array:
        """Return the centre and n points, half of them on the surface and half inside."""
        k = self.A.shape[1]
        cube = np.clip(_sobol(n // 2, k + 1, seed), 1e-9, 1 - 1e-9)
        directions = norm.ppf(cube[:, :k])
        directions /= np.linalg.norm(directions, axis=1, keepdims=True)
        z = np.vstack([np.zeros((1, k)), directions, directions * cube[:, k:] ** (1 / k)])
        return self.centre + z @ self.A.T

    def chart(self, unit: Array) -> Chart:
        low, high = self.box
        return Chart(self.centre, self.A, self._inverse, _onto_unit_ball, low, high)


def _onto_unit_ball(z: Array) -> Array:
    return z / np.maximum(np.linalg.norm(z, axis=1, keepdims=True), 1.0)


@dataclass(frozen=True, eq=False)
class LevelSet(Set):
    r""":math:`g(x) \le 0` inside a box; ``g`` maps (n, d) to (n, q)."""

    g: Function
    low: Array
    high: Array

    exact = False

    @property
    def box(self) -> tuple[Array, Array]:
        return self.low, self.high

    def contains(self, X: Array, tol: float = 0.0) -> Array:
        inside = BoxSet(self.low, self.high).contains(X, tol)
        if inside.any():
            inside[inside] = np.all(self.g(X[inside]) <= (tol * self._size if tol else 0.0), axis=1)
        return inside

    @cached_property
    def _size(self) -> Array | float:
        """The usual size of each value of g in the box, at most 1."""
        if not self.bounded:
            return 1.0
        usual = np.median(np.abs(self.g(BoxSet(self.low, self.high).points(64))), axis=0)
        return np.asarray(np.where(usual > 0, np.minimum(usual, 1.0), 1.0))

    def points(self, n: int, seed: int = 0) -> Array:
        """Return the first n points inside, of up to 2^17 points of a Sobol sequence in the box."""
        size = max(n, 256)
        inside = super().points(size, seed)
        while len(inside) < n and size < 2**17:
            size *= 8
            inside = super().points(size, seed)
        return inside[:n]

    def lowest(self, w: Array) -> tuple[float, Array]:
        raise InvalidInput("the least value over a region given by a function is not known in closed form.")

    def minima(
        self, function: Differentiable, starts: Array, steps: int = STEPS, unit: Array | None = None
    ) -> Array:
        """Return the ends of local descent inside the set, from all starts at once."""
        units = np.ones(starts.shape[1]) if unit is None else unit
        box = BoxSet(self.low, self.high).chart(units)
        onto = partial(onto_level_set, lambda z: self.g(box.outer(z)), box.project, 1e-6 * box.reach / REACH)
        ends = replace(box, project=onto).minima(function, starts, steps)
        return ends[self.contains(ends, 1e-7)]
