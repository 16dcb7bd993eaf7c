r"""What a block about a region asks of f, and what that means for a linear one.

A :class:`Demand` is :math:`s\,Lf(x) \ge h(x)` for all x of a set. A linear f obeys it through finitely many
constraints (:func:`exactly`); how a kernel machine is held to it is in ``regions.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import block_diag

from ..._utils.arrays import Array
from ...function.fitted import FittedLinear
from .cover import Corners, Expansion, Interpolation, Minimum, minimum
from .sets import BoxSet, EllipsoidSet, PolyhedronSet, Set

# The search for the worst point: local descent from the lowest of many candidates.
CANDIDATES = 256
STARTS = 16
# A violation of this size is none: cuts stop there, or at the tolerance of the fit if that is larger.
CUT = 1e-4


@dataclass(frozen=True, eq=False)
class Demand:
    r""":math:`s\,Lf(x) \ge h(x)` for all x of a set; Lf is f, or its slope along a direction.

    Attributes
    ----------
    region : the set.
    sign : +1 or -1.
    h : a number, or a function of (n, d) points.
    direction : None for the value of f, else the vector along which the slope is taken.
    """

    region: Set
    sign: float
    h: Any = 1.0
    direction: Array | None = None

    def along(self, Z: Array) -> Array | None:
        """The direction, once for every row."""
        return None if self.direction is None else np.broadcast_to(self.direction, Z.shape)

    def expression(self, f: Any, Z: Array) -> Any:
        """Return s Lf(Z) in the problem.

        With slopes f expands over the points, not over the slopes. This is not exact on a kernel model, and
        far cheaper: points are shared by all directions.
        """
        if self.direction is None:
            return self.sign * f(Z)
        f.span(Z)
        return self.sign * f.slope(Z, self.along(Z), spans=False)

    def value(self, f: Any, Z: Array) -> Array:
        """s Lf(Z), solved."""
        return self.sign * (f.value(Z) if self.direction is None else f.slope(Z, self.along(Z)))

    def asked(self, Z: Array) -> Array:
        """h(Z)."""
        return np.broadcast_to(self.h(Z) if callable(self.h) else self.h, (len(Z),))

    def excess(self, f: Any, Z: Array) -> Array:
        """By how much the demand is exceeded at each row; negative where it is violated."""
        return self.value(f, Z) - self.asked(Z)

    def worst(self, f: Any, known: Array, seed: int, starts: int = STARTS) -> Array:
        """Low points of the excess: where descent ends from the lowest of many, and these themselves."""
        candidates = np.vstack([self.region.points(CANDIDATES * starts // STARTS, seed), known])
        if len(candidates) == 0:
            return candidates
        # Apart from each other, or all would start in the same basin.
        order = candidates[np.argsort(self.excess(f, candidates))]
        spread = distinct(order, known[:0], self.region, apart=0.1, limit=2 * starts)
        return np.vstack(
            [self.region.minima(lambda Z: self.excess(f, Z), self._gradient(f), spread[:starts]), spread]
        )

    def _gradient(self, f: Any) -> Callable[[Array], Array]:
        """Of the excess at rows of points; by differences where f or h has no derivative."""
        kernel = getattr(f, "kernel", None)
        capable = kernel is None or (kernel.has_slope if self.direction is None else kernel.has_curve)
        if callable(self.h) or not capable:
            step = 1e-6 * size_of(self.region)

            def differences(Z: Array) -> Array:
                moved = np.concatenate([Z[:, None] + np.diag(step), Z[:, None] - np.diag(step)])
                up, down = self.excess(f, moved.reshape(-1, Z.shape[1])).reshape(2, len(Z), -1)
                return (up - down) / (2 * step)

            return differences

        def gradient(Z: Array) -> Array:
            rows = np.repeat(Z, Z.shape[1], axis=0)
            axes = np.tile(np.eye(Z.shape[1]), (len(Z), 1))
            slopes = f.slope(rows, axes) if self.direction is None else f.curve(rows, axes, self.along(rows))
            return self.sign * slopes.reshape(Z.shape)

        return gradient

    @property
    def exact_on_linear(self) -> bool:
        """Whether a linear f can be held to it by finitely many constraints."""
        return self.region.exact and not callable(self.h)


def distinct(
    points: Array, known: Array, region: Set, apart: float = 1e-3, limit: int | None = None
) -> Array:
    """The first points that are apart from each other, in parts of the region's size, and not known."""
    size = size_of(region)
    kept = np.empty((0, points.shape[1]))
    for x in points:
        fresh = len(known) == 0 or np.abs((known - x) / size).max(axis=1).min() > 1e-7
        if fresh and (len(kept) == 0 or np.abs((kept - x) / size).max(axis=1).min() > apart):
            kept = np.vstack([kept, x])
        if len(kept) == limit:
            break
    return kept


def size_of(region: Set) -> Array:
    """The widths of the box around a region; 1 where it has none."""
    low, high = region.box
    return np.where(high > low, high - low, 1.0)


def proven_minimum(
    f: Any,
    demand: Demand,
    known: Array,
    limit: int = 40_000,
    progress: Callable[[int], Any] | None = None,
) -> Minimum:
    """Of what the demand leaves over, by branch and bound from the lowest of some known points."""
    values = demand.excess(f, known)
    start = known[int(np.argmin(values))], float(values.min())
    return minimum(demand.region, _look(f, demand), start, unit_of(f, demand), CUT / 2, limit, progress)


def _look(f: Any, demand: Demand) -> Corners | Expansion:
    """What bounds the excess in cells: second derivatives of f, where they are known exactly.

    The third derivatives of kernels that look at more than the distance grow with that from the origin:
    corners take fewer cells there.
    """

    def excess(Z: Array) -> Array:
        return demand.excess(f, Z)

    near = f.kernel.depends_on == "distance" and f.kernel.has_curve and f.slopes is None
    if demand.direction is None and near:
        return Expansion(f, demand.sign, excess)
    error = Interpolation(f.kernel, f.scale, demand.direction)
    return Corners(excess, lambda cells: f.length * error(cells))


def unit_of(f: Any, demand: Demand) -> Array:
    """The machine's unit of every column."""
    return np.ones(len(demand.region.box[0])) if f.scale is None else f.scale.width


def least_value(f: FittedLinear, demand: Demand) -> tuple[float, Array | None]:
    """The least value of s Lf over the region, and where."""
    if demand.direction is not None:
        return demand.sign * float(demand.direction @ f.coef), None
    coef = f.coef
    unit = 1.0 if f.scale is None else f.scale.width
    if not demand.region.bounded:  # a solver's zero times infinity must stay zero
        coef = np.where(np.abs(coef * unit) <= 1e-7 * max(np.abs(coef * unit).max(), 1.0), 0.0, coef)
    least, where = demand.region.lowest(demand.sign * coef)
    return least + demand.sign * f.bias, where


def exactly(f: Any, demands: list[Demand], zeta: Any) -> dict[str, Any]:
    """Everything a linear f needs to obey demands on boxes, polyhedra and ellipsoids."""
    constraints: dict[str, Any] = {}
    kinds = [type(d.region) if d.direction is None else "slope" for d in demands]
    forms: list[tuple[Any, Any]] = [
        (BoxSet, _boxes),
        (PolyhedronSet, polyhedra),
        (EllipsoidSet, _ellipsoids),
        ("slope", _slopes),
    ]
    for kind, write in forms:
        chosen = [k for k, other in enumerate(kinds) if other is kind]
        if chosen:
            own = [demands[k] for k in chosen]
            asked = np.array([d.h for d in own]) - zeta[chosen]
            constraints.update(write(f, own, np.array([d.sign for d in own]), asked))
    return constraints


def _boxes(f: Any, demands: list[Demand], signs: Array, asked: Any) -> dict[str, Any]:
    r"""The least value of :math:`w^\top x` over a box is :math:`w^\top c - r^\top |w|`: no dual variables."""
    import cvxpy as cp

    low, high = (np.array(ends) for ends in zip(*(d.region.box for d in demands), strict=True))
    up = np.isinf(high)
    down = np.isinf(low)
    end = np.where(up, np.where(down, 0.0, low), high)
    with np.errstate(invalid="ignore"):
        centre = np.where(up | down, end, (low + high) / 2)
        radius = np.where(up | down, 0.0, (high - low) / 2)
    constraints = {}
    least = cp.multiply(signs, f(centre))
    if radius.any():
        v = cp.Variable(f.n_features, nonneg=True, name="v")
        unit = 1.0 if f.scale is None else f.scale.width
        constraints["size"] = cp.hstack([f.c, -f.c]) <= cp.hstack([v, v])
        least = least - (radius / unit) @ v
    constraints = {"box": least >= asked, **constraints}
    # Where x_j has no upper end s w_j must not be negative, where it has no lower end not positive.
    pushes = {(signs[k], j) for k, j in np.argwhere(up)} | {(-signs[k], j) for k, j in np.argwhere(down)}
    if pushes:
        sign, column = (np.array(part) for part in zip(*sorted(pushes), strict=True))
        constraints["open"] = cp.multiply(sign, f.c[column.astype(int)]) >= 0
    return constraints


def in_machine_units(f: Any, B: Array, d: Array, normed: bool = True) -> tuple[Array, Array]:
    """``B x <= d`` for the x that f sees, its rows of length one."""
    scale = f.scale
    if scale is not None:
        B, d = B * scale.width, d - B @ scale.shift
    if not normed:
        return B, d
    length = np.linalg.norm(B, axis=1)
    length = np.where(length > 0, length, 1.0)
    return B / length[:, None], d / length


def polyhedra(
    f: Any, demands: list[Demand], signs: Array, asked: Any, residual: Any = None
) -> dict[str, Any]:
    r"""By duality, eqs. (47), (49): :math:`B^\top u + s w = 0`, :math:`d^\top u - s b + 1 \le \zeta`."""
    import cvxpy as cp

    parts = [in_machine_units(f, d.region.B, d.region.d) for d in demands]  # type: ignore[attr-defined]
    B = block_diag([part[0] for part in parts])
    d = block_diag([part[1][None] for part in parts])
    u = cp.Variable(B.shape[0], nonneg=True, name="u")
    turned = B.T @ u + np.kron(signs[:, None], np.eye(f.n_features)) @ f.c
    value = {"value": cp.multiply(signs, f.b * np.ones(len(signs))) - d @ u >= asked}
    if residual is None:
        return {"dual": turned == 0, **value}
    return {"residual": cp.hstack([turned, -turned]) <= cp.hstack([residual, residual]), **value}


def _ellipsoids(f: Any, demands: list[Demand], signs: Array, asked: Any) -> dict[str, Any]:
    r"""The least :math:`w^\top x` over an ellipsoid is :math:`w^\top c - \|A^\top w\|`: one stacked cone."""
    import cvxpy as cp

    regions: Any = [d.region for d in demands]
    width = max(region.A.shape[1] for region in regions)
    unit = 1.0 if f.scale is None else f.scale.width
    factors = [np.pad(region.A.T / unit, ((0, width - region.A.shape[1]), (0, 0))) for region in regions]
    centres = np.array([region.centre for region in regions])
    stacked = cp.reshape(np.vstack(factors) @ f.c, (width, len(regions)), order="F")
    return {"cone": cp.SOC(cp.multiply(signs, f(centres)) - asked, stacked, axis=0)}


def _slopes(f: Any, demands: list[Demand], signs: Array, asked: Any) -> dict[str, Any]:
    """The slope of a linear f is the same everywhere."""
    import cvxpy as cp

    V = np.array([d.direction for d in demands])
    return {"slope": cp.multiply(signs, f.slope(np.zeros_like(V), V)) >= asked}
