r"""The method of linear models: the least value of f over a region in closed form, as constraints."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from scipy.sparse import block_diag, coo_array

from ..._utils.arrays import Array
from ...function.fitted import FittedLinear
from ...sample import Sample
from .method import Method
from .requirement import Requirement
from .sets import BoxSet, EllipsoidSet, PolyhedronSet


class Exact(Method):
    """Constraints that hold if and only if a linear f satisfies the requirement at every point."""

    needs_bounds: ClassVar[bool] = False

    def first_points(self, requirement: Requirement, given: Array | None, sample: Sample) -> Array:
        """Return no points: the constraints do not depend on points."""
        return np.empty((0, sample.X.shape[1]))


def least_value(f: FittedLinear, requirement: Requirement) -> tuple[float, Array | None]:
    """Return the least value of s Lf over the region, and a minimiser; None for a slope."""
    if requirement.direction is not None:
        return requirement.sign * float(requirement.direction @ f.coef), None
    coef = f.coef
    unit = 1.0 if f.scale is None else f.scale.width
    if not requirement.region.bounded:  # a weight of rounding size, times infinity, has to stay zero
        coef = np.where(np.abs(coef * unit) <= 1e-7 * max(np.abs(coef * unit).max(), 1.0), 0.0, coef)
    least, where = requirement.region.lowest(requirement.sign * coef)
    return least + requirement.sign * f.bias, where


def exact_constraints(f: Any, requirements: list[Requirement], zeta: Any) -> dict[str, Any]:
    """Return the constraints on a linear f for requirements on boxes, polyhedra and ellipsoids."""
    constraints: dict[str, Any] = {}
    kinds = [type(r.region) if r.direction is None else "slope" for r in requirements]
    forms: list[tuple[Any, Any]] = [
        (BoxSet, _boxes),
        (PolyhedronSet, polyhedra),
        (EllipsoidSet, _ellipsoids),
        ("slope", _slopes),
    ]
    for kind, write in forms:
        chosen = [k for k, other in enumerate(kinds) if other is kind]
        if chosen:
            group = [requirements[k] for k in chosen]
            required = np.array([r.h for r in group]) - zeta[chosen]
            constraints.update(write(f, group, np.array([r.sign for r in group]), required))
    return constraints


def _boxes(f: Any, requirements: list[Requirement], signs: Array, required: Any) -> dict[str, Any]:
    r"""Return the constraints of boxes, where the least :math:`w^\top x` is :math:`w^\top c - r^\top |w|`."""
    import cvxpy as cp

    centre, radius, up, down = box_shapes(requirements, f.n_features)
    constraints = {}
    least = cp.multiply(signs, f(centre))
    if radius.any():
        v = cp.Variable(f.n_features, nonneg=True, name="v")
        unit = 1.0 if f.scale is None else f.scale.width
        constraints["size"] = cp.hstack([f.c, -f.c]) <= cp.hstack([v, v])
        least = least - (radius / unit) @ v
    constraints = {"box": least >= required, **constraints}
    sign, column = open_sides(signs, up, down)
    if len(sign):
        constraints["open"] = cp.multiply(sign, f.c[column]) >= 0
    return constraints


def box_shapes(requirements: list[Requirement], columns: int) -> tuple[Array, Array, Array, Array]:
    """Return centres and half-widths of boxes, and masks of their columns without an upper or lower end.

    A column without an end has half-width 0, and its centre is the other end.
    """
    low = np.array([r.region.box[0] for r in requirements]).reshape(-1, columns)
    high = np.array([r.region.box[1] for r in requirements]).reshape(-1, columns)
    up = np.isinf(high)
    down = np.isinf(low)
    end = np.where(up, np.where(down, 0.0, low), high)
    with np.errstate(invalid="ignore"):
        centre = np.where(up | down, end, (low + high) / 2)
        radius = np.where(up | down, 0.0, (high - low) / 2)
    return centre, radius, up, down


def open_sides(signs: Array, up: Array, down: Array) -> tuple[Array, Array]:
    """Return signs and columns of the weights that open sides restrict: the sign times w_j is at least 0.

    Without an upper end of x_j, s w_j must not be negative; without a lower end, not positive.
    """
    found = {(signs[k], j) for k, j in np.argwhere(up)} | {(-signs[k], j) for k, j in np.argwhere(down)}
    sides = np.array(sorted(found)).reshape(-1, 2)
    return sides[:, 0], sides[:, 1].astype(int)


def in_model_units(f: Any, B: Array, d: Array, normed: bool = True) -> tuple[Array, Array]:
    """Return B and d of ``B x <= d`` for x in the units of the model, with rows of length one if normed."""
    scale = f.scale
    if scale is not None:
        d = d - B @ scale.shift
        B = B * scale.width
    if not normed:
        return B, d
    length = np.linalg.norm(B, axis=1)
    length = np.where(length > 0, length, 1.0)
    return B / length[:, None], d / length


def polyhedra(
    f: Any, requirements: list[Requirement], signs: Array, required: Any, residual: Any = None
) -> dict[str, Any]:
    r"""Return eqs. (47), (49): :math:`B^\top u + s w = 0`, :math:`d^\top u - s b + 1 \le \zeta`."""
    import cvxpy as cp

    parts = [in_model_units(f, r.region.B, r.region.d) for r in requirements]  # type: ignore[attr-defined]
    B = block_diag([coo_array(part[0]) for part in parts])
    d = block_diag([coo_array(part[1][None]) for part in parts])
    u = cp.Variable(B.shape[0], nonneg=True, name="u")
    dual = B.T @ u + np.kron(signs[:, None], np.eye(f.n_features)) @ f.c
    value = {"value": cp.multiply(signs, f.b * np.ones(len(signs))) - d @ u >= required}
    if residual is None:
        return {"dual": dual == 0, **value}
    return {"residual": cp.hstack([dual, -dual]) <= cp.hstack([residual, residual]), **value}


def _ellipsoids(f: Any, requirements: list[Requirement], signs: Array, required: Any) -> dict[str, Any]:
    r"""Return one stacked cone: the least :math:`w^\top x` is :math:`w^\top c - \|A^\top w\|`."""
    import cvxpy as cp

    regions: Any = [r.region for r in requirements]
    width = max(region.A.shape[1] for region in regions)
    unit = 1.0 if f.scale is None else f.scale.width
    factors = [np.pad(region.A.T / unit, ((0, width - region.A.shape[1]), (0, 0))) for region in regions]
    centres = np.array([region.centre for region in regions])
    stacked = cp.reshape(np.vstack(factors) @ f.c, (width, len(regions)), order="F")
    return {"cone": cp.SOC(cp.multiply(signs, f(centres)) - required, stacked, axis=0)}


def _slopes(f: Any, requirements: list[Requirement], signs: Array, required: Any) -> dict[str, Any]:
    """Return the constraints on slopes, which are constant for a linear f."""
    import cvxpy as cp

    V = np.array([r.direction for r in requirements])
    return {"slope": cp.multiply(signs, f.slope(np.zeros_like(V), V)) >= required}
