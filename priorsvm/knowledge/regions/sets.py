r"""Sets of points, in the user's units: their bounds, their points, and where a function is least on them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from scipy.linalg import lstsq
from scipy.optimize import LinearConstraint, NonlinearConstraint, linprog, minimize
from scipy.stats import norm, qmc

from ..._utils.arrays import Array
from ...errors import InvalidInput, SolverFailed

Function = Callable[[Array], Array]


class Set(ABC):
    """A closed set of points that is not empty."""

    #: Whether the least value of a linear function over the set is known exactly.
    exact: bool = True

    @property
    @abstractmethod
    def box(self) -> tuple[Array, Array]:
        """The smallest box around it; infinite where the set is unbounded."""

    @abstractmethod
    def contains(self, X: Array, tol: float = 1e-9) -> Array:
        """Which rows of X lie in it."""

    @abstractmethod
    def lowest(self, w: Array) -> tuple[float, Array]:
        r""":math:`\min_{x} w^\top x` over the set and a point where it is taken."""

    def meets(self, low: Array, high: Array) -> Array:
        """Which boxes may meet the set: never wrong when it says no."""
        return np.ones(len(low), bool)

    @property
    def bounded(self) -> bool:
        """Whether the set fits in a box."""
        return bool(np.isfinite(np.concatenate(self.box)).all())

    def points(self, n: int, seed: int = 0) -> Array:
        """Well-spread points of the set: those of n points of a Sobol sequence in its box that lie inside."""
        low, high = self.box
        inside = low + _sobol(n, len(low), seed) * (high - low)
        return inside[self.contains(inside)]

    def grid(self, n: int) -> Array:
        """The points of a regular grid of at least n points over its box that lie in the set."""
        low, high = self.box
        side = max(2, int(np.ceil(n ** (1.0 / len(low)) - 1e-9)))
        if side ** len(low) > 10**6:
            raise InvalidInput(
                f"a grid in {len(low)} dimensions would have {side ** len(low):.0e} points: draw them "
                "instead (points=256)."
            )
        axes = [np.linspace(a, b, side) if b > a else np.array([a]) for a, b in zip(low, high, strict=True)]
        points = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(low))
        return points[self.contains(points)]

    def minima(self, value: Function, gradient: Function, starts: Array) -> Array:
        """Where local descent of a function ends, from each start; points of the set."""
        low, high = self.box
        width = np.where(high > low, high - low, 1.0)
        constraints = self._constraints(low, width)
        ends = []
        for start in (starts - low) / width:  # every column from 0 to 1, so that steps mean the same in each
            result = minimize(
                lambda z: float(value((low + z * width)[None])[0]),
                start,
                jac=lambda z: gradient((low + z * width)[None])[0] * width,
                bounds=[(0.0, 1.0 if b > a else 0.0) for a, b in zip(low, high, strict=True)],
                constraints=constraints,
                method="SLSQP" if constraints else "L-BFGS-B",
            )
            ends.append(low + result.x * width)
        found = np.clip(np.array(ends).reshape(len(starts), len(low)), low, high)
        return found[self.contains(found, 1e-7)]

    def _constraints(self, low: Array, width: Array) -> list[Any]:
        """What scipy has to be told of the set besides its box, for :math:`z = (x - low) / width`."""
        return []


def _sobol(n: int, d: int, seed: int) -> Array:
    return qmc.Sobol(d, seed=seed).random_base2(max(int(np.ceil(np.log2(max(n, 1)))), 0))


@dataclass(frozen=True, eq=False)
class BoxSet(Set):
    """``low <= x <= high``; either may be infinite."""

    low: Array
    high: Array

    @property
    def box(self) -> tuple[Array, Array]:
        return self.low, self.high

    @property
    def inequalities(self) -> tuple[Array, Array]:
        """``B x <= d``, one row for each finite side."""
        eye = np.eye(len(self.low))
        above = np.isfinite(self.high)
        below = np.isfinite(self.low)
        return np.vstack([eye[above], -eye[below]]), np.concatenate([self.high[above], -self.low[below]])

    def contains(self, X: Array, tol: float = 1e-9) -> Array:
        left = np.arange(len(X))
        inside = np.zeros(len(X), bool)
        unbounded = np.isinf(self.low) & np.isinf(self.high)
        for j in np.argsort(unbounded, kind="stable"):  # few rows are left for the columns that come last
            x = X[left, j]
            slack = tol * (1.0 + np.abs(x))
            left = left[(self.low[j] - slack <= x) & (self.high[j] + slack >= x)]
        inside[left] = True
        return inside

    def lowest(self, w: Array) -> tuple[float, Array]:
        corner = np.where(w > 0, self.low, np.where(w < 0, self.high, np.clip(0.0, self.low, self.high)))
        used = w != 0
        return float(w[used] @ corner[used]), corner

    def minima(self, value: Function, gradient: Function, starts: Array) -> Array:
        """Descent from all starts at once: projected gradient steps of Barzilai and Borwein's length."""
        low = self.low
        width = np.where(self.high > self.low, self.high - self.low, 0.0)
        z = (starts - low) / np.where(width > 0, width, 1.0)
        v = value(low + z * width)
        g = gradient(low + z * width) * width
        step = 0.1 / (np.linalg.norm(g, axis=1, keepdims=True) + 1e-12)
        for _ in range(60):
            new = np.clip(z - step * g, 0.0, 1.0)
            moved = new - z
            if np.abs(moved).max(initial=0.0) < 1e-7:
                break
            new_v = value(low + new * width)
            new_g = gradient(low + new * width) * width
            better = (new_v <= v + 1e-4 * np.sum(g * moved, axis=1))[:, None]
            bend = np.abs(np.sum(moved * (new_g - g), axis=1, keepdims=True))
            length = np.sum(moved**2, axis=1, keepdims=True) / np.maximum(bend, 1e-12)
            step = np.where(better, np.clip(length, 1e-9, 1e9), step / 4)
            z = np.where(better, new, z)
            g = np.where(better, new_g, g)
            v = np.where(better[:, 0], new_v, v)
        return low + z * width

    def points(self, n: int, seed: int = 0) -> Array:
        """A Sobol sequence, the middle, and the corners, or some of them if there are many."""
        d = len(self.low)
        if d <= 6:
            corners = np.array(np.meshgrid(*[[0.0, 1.0]] * d)).reshape(d, -1).T
        else:
            corners = np.random.default_rng(seed).integers(0, 2, size=(min(n, 64), d)).astype(float)
        cube = np.vstack([np.full((1, d), 0.5), corners, _sobol(n, d, seed)])
        return np.unique(self.low + cube * (self.high - self.low), axis=0)


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
        """``B x <= d``."""
        return self.B, self.d

    def contains(self, X: Array, tol: float = 1e-9) -> Array:
        reach = np.abs(X) @ np.abs(self.B).T + np.abs(self.d)
        return np.all(X @ self.B.T - self.d <= tol * reach, axis=1)

    def lowest(self, w: Array) -> tuple[float, Array]:
        least, where = linear_minimum(w, self.B, self.d)
        if where is None and least == np.inf:
            raise SolverFailed("HiGHS finds no point of a polyhedron it found not to be empty.")
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
        """Some of its corners: where linear functions in random directions are least."""
        width = self.B.shape[1]
        directions = np.random.default_rng(0).normal(size=(4 * width, width))
        found = np.array([self.lowest(v)[1] for v in directions])
        size = np.abs(found).max() or 1.0  # the same corner comes in several roundings
        return found[np.unique(np.round(found / size, 9), axis=0, return_index=True)[1]]

    def points(self, n: int, seed: int = 0) -> Array:
        """Corners, Sobol points of its box that lie inside, and for a thin set mixtures of corners."""
        inside = super().points(n, seed)
        rng = np.random.default_rng(seed)
        share = rng.dirichlet(np.full(len(self._vertices), 0.5), size=max(n - len(inside), 0))
        return np.vstack([self._vertices, inside, share @ self._vertices])

    def _constraints(self, low: Array, width: Array) -> list[Any]:
        return [LinearConstraint(self.B * width, -np.inf, self.d - self.B @ low)]


def polyhedron(B: Array, d: Array) -> PolyhedronSet:
    """The set, which remembers what linear programmes have found out about it."""
    return _polyhedron(B.tobytes(), d.tobytes(), B.shape[1])


@lru_cache(maxsize=1024)
def _polyhedron(B: bytes, d: bytes, columns: int) -> PolyhedronSet:
    return PolyhedronSet(np.frombuffer(B).reshape(-1, columns), np.frombuffer(d))


def linear_minimum(w: Array, B: Array, d: Array) -> tuple[float, Array | None]:
    """The least w'x with Bx <= d, and where; infinity if there is no such x, minus infinity if no end.

    HiGHS has absolute tolerances, so it is given columns, rows and sides of size one.
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
    """HiGHS's answer: status 0, 2 (no point) or 3 (no end)."""
    answer = linprog(w, A_ub=B, b_ub=d, bounds=(None, None), method="highs")
    if answer.status in (2, 4):  # its presolve takes some unbounded problems for infeasible ones
        answer = linprog(w, A_ub=B, b_ub=d, bounds=(None, None), method="highs", options={"presolve": False})
    if answer.status not in (0, 2, 3):
        raise SolverFailed(f"HiGHS could not decide on the polyhedron {{x : Bx <= d}}: {answer.message}")
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
        """Whether it lies in a plane of fewer dimensions."""
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
        """Half of them on its surface, half inside, and the middle."""
        k = self.A.shape[1]
        cube = np.clip(_sobol(n // 2, k + 1, seed), 1e-9, 1 - 1e-9)
        directions = norm.ppf(cube[:, :k])
        directions /= np.linalg.norm(directions, axis=1, keepdims=True)
        z = np.vstack([np.zeros((1, k)), directions, directions * cube[:, k:] ** (1 / k)])
        return self.centre + z @ self.A.T

    def minima(self, value: Function, gradient: Function, starts: Array) -> Array:
        """Descent in z, inside the unit ball."""
        ball = _UnitBall(self.A.shape[1])
        inner = (starts - self.centre) @ self._inverse.T
        ends = ball.minima(
            lambda z: value(self.centre + z @ self.A.T),
            lambda z: gradient(self.centre + z @ self.A.T) @ self.A,
            inner,
        )
        return self.centre + ends @ self.A.T


class _UnitBall(EllipsoidSet):
    def __init__(self, k: int):
        super().__init__(np.zeros(k), np.eye(k))

    minima = Set.minima

    def _constraints(self, low: Array, width: Array) -> list[Any]:
        return [
            {
                "type": "ineq",
                "fun": lambda z: 1.0 - float(np.sum((low + z * width) ** 2)),
                "jac": lambda z: -2.0 * (low + z * width) * width,
            }
        ]


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

    def contains(self, X: Array, tol: float = 1e-9) -> Array:
        inside = BoxSet(self.low, self.high).contains(X, tol)
        if inside.any():
            inside[inside] = np.all(self.g(X[inside]) <= tol, axis=1)
        return inside

    def points(self, n: int, seed: int = 0) -> Array:
        """The first n points of a Sobol sequence in its box that lie inside, if 2^17 of them hold so many."""
        size = max(n, 256)
        inside = super().points(size, seed)
        while len(inside) < n and size < 2**17:
            size *= 8
            inside = super().points(size, seed)
        return inside[:n]

    def lowest(self, w: Array) -> tuple[float, Array]:
        raise InvalidInput("the least value over a region given by a function is not known in closed form.")

    def _constraints(self, low: Array, width: Array) -> list[Any]:
        return [NonlinearConstraint(lambda z: self.g((low + z * width)[None])[0], -np.inf, 0.0)]


def common_point(a: Set, b: Set) -> Array | None:
    """A point of both sets, or None if there is none (or, for sets given by functions, none was found)."""
    (low_a, high_a), (low_b, high_b) = a.box, b.box
    low = np.maximum(low_a, low_b)
    high = np.minimum(high_a, high_b)
    if np.any(low > high):
        return None
    if isinstance(a, BoxSet) and isinstance(b, BoxSet):
        return np.clip(np.zeros(len(low)), low, high)
    if isinstance(a, LevelSet) or isinstance(b, LevelSet):
        shared = BoxSet(low, high)
        candidates = shared.points(4096) if shared.bounded else np.empty((0, len(low)))
        both = candidates[a.contains(candidates) & b.contains(candidates)]
        return both[0] if len(both) else None
    return _common_point_of_convex(a, b)


def _common_point_of_convex(a: Set, b: Set) -> Array | None:
    d = len(a.box[0])
    found = _joined_convex(a, b, np.empty((0, d)), everything(d))
    return None if found is None else found[0]


def everything(d: int) -> BoxSet:
    """All points of d columns."""
    return BoxSet(np.full(d, -np.inf), np.full(d, np.inf))


def joined(a: Set, b: Set, along: Array, space: BoxSet) -> tuple[Array, Array] | None:
    r"""A point x of a and one of b that is reached from it, :math:`x + \sum_j t_j v_j` with :math:`t \ge 0`.

    Both lie in the box ``space``. None if there are no such points, or if a set is given by a function and
    none were found.
    """
    if isinstance(a, LevelSet) or isinstance(b, LevelSet):
        return _joined_by_rays(a, b, along, space)
    axes = np.count_nonzero(along, axis=1) == 1
    if isinstance(a, BoxSet) and isinstance(b, BoxSet) and axes.all():
        return _joined_boxes(a, b, along, space)
    return _joined_convex(a, b, along, space)


def _joined_boxes(a: BoxSet, b: BoxSet, along: Array, space: BoxSet) -> tuple[Array, Array] | None:
    """Column by column, to the last digit: every direction is along one of them."""
    low_a = np.maximum(a.low, space.low)
    high_a = np.minimum(a.high, space.high)
    low_b = np.maximum(b.low, space.low)
    high_b = np.minimum(b.high, space.high)
    up = (along > 0).any(axis=0)
    down = (along < 0).any(axis=0)
    empty = (low_a > high_a) | (low_b > high_b)
    if np.any(empty | (~up & (low_b > high_a)) | (~down & (low_a > high_b))):
        return None
    middle_low = np.maximum(low_a, low_b)
    middle_high = np.minimum(high_a, high_b)
    apart = middle_low > middle_high
    common = np.clip(0.0, np.where(apart, -np.inf, middle_low), np.where(apart, np.inf, middle_high))
    x = np.where(apart, np.where(low_b > high_a, high_a, low_a), common)
    y = np.where(apart, np.where(low_b > high_a, low_b, high_b), common)
    return x, y


def _joined_by_rays(a: Set, b: Set, along: Array, space: BoxSet) -> tuple[Array, Array] | None:
    """Points of a, moved along one direction after another as far as both boxes go."""
    if not a.bounded or not b.bounded:
        return None
    starts = a.points(256)
    starts = starts[a.contains(starts) & space.contains(starts)]
    reach = np.max(np.concatenate([a.box, b.box]), axis=0) - np.min(np.concatenate([a.box, b.box]), axis=0)
    for v in along:
        steps = np.linspace(0.0, 1.0, 65) * float(np.max(reach[v != 0] / np.abs(v[v != 0])))
        ends = (starts[:, None] + steps[:, None] * v).reshape(-1, len(v))
        found = np.flatnonzero(b.contains(ends) & space.contains(ends))
        if len(found):
            return starts[found[0] // len(steps)], ends[found[0]]
    return None


def _joined_convex(a: Set, b: Set, along: Array, space: BoxSet) -> tuple[Array, Array] | None:
    """A linear programme, or a cone programme if one of them is an ellipsoid."""
    import cvxpy as cp

    d = len(a.box[0])
    steps = len(along)
    if not (isinstance(a, EllipsoidSet) or isinstance(b, EllipsoidSet)):
        rows = [np.column_stack([np.zeros((steps, d)), -np.eye(steps)])]
        limits = [np.zeros(steps)]
        for s, moves in ((a, 0.0), (space, 0.0), (b, 1.0), (space, 1.0)):
            B, limit = s.inequalities  # type: ignore[attr-defined]
            rows.append(np.column_stack([B, moves * (B @ along.T)]))
            limits.append(limit)
        found = linear_minimum(np.zeros(d + steps), np.vstack(rows), np.concatenate(limits))[1]
        return None if found is None else (found[:d], found[:d] + found[d:] @ along)
    x = cp.Variable(d)
    y = cp.Variable(d)
    constraints: list[Any] = [x == y]
    if steps:
        constraints = [y == x + along.T @ cp.Variable(steps, nonneg=True)]
    for point, s in ((x, a), (y, b), (x, space), (y, space)):
        if isinstance(s, EllipsoidSet):
            z = cp.Variable(s.A.shape[1])
            constraints += [point == s.centre + s.A @ z, cp.norm(z) <= 1]
        else:
            B, limit = s.inequalities  # type: ignore[attr-defined]
            constraints += [B @ point <= limit] if len(B) else []
    problem = cp.Problem(cp.Minimize(0), constraints)
    problem.solve(solver="CLARABEL")
    if problem.status == cp.INFEASIBLE:
        return None
    if problem.status != cp.OPTIMAL:
        raise SolverFailed(f"Clarabel could not decide whether two regions meet: {problem.status}.")
    return np.asarray(x.value), np.asarray(y.value)


def only_touch(a: Set, b: Set) -> bool:
    """Whether two boxes or polyhedra that have an inside meet nowhere but on their borders."""
    if not all(isinstance(s, (BoxSet, PolyhedronSet)) for s in (a, b)):
        return False
    ends = np.concatenate([a.box, b.box])
    ends = np.where(np.isfinite(ends), ends, 0.0)
    low = ends.min(axis=0)
    size = np.ptp(ends, axis=0)
    size = np.where(size > 0, size, 1.0)
    parts = [s.inequalities for s in (a, b)]  # type: ignore[attr-defined]
    parts = [(B * size, d - B @ low) for B, d in parts]  # in the unit cube, whatever the units are
    both = np.vstack([B for B, _ in parts]), np.concatenate([d for _, d in parts])
    return all(_has_inside(B, d) for B, d in parts) and not _has_inside(*both)


def _has_inside(B: Array, d: Array) -> bool:
    """Whether ``Bx <= d`` holds in some box around a point, of half-width 1e-6."""
    length = np.abs(B).sum(axis=1)
    length = np.where(length > 0, length, 1.0)
    return linear_minimum(np.zeros(B.shape[1]), B / length[:, None], d / length - 1e-6)[1] is not None
