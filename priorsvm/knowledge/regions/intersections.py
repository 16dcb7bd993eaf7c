r"""Points that two regions share, and paths from one region to another."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._utils.arrays import Array
from ...errors import SolverFailed
from .sets import SEARCHED, BoxSet, EllipsoidSet, LevelSet, PolyhedronSet, Set, linear_minimum


def common_point(a: Set, b: Set) -> Array | None:
    """Return a point of both sets, or None if none exists; for a LevelSet, if none was found."""
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
        both = candidates[a.contains(candidates, SEARCHED) & b.contains(candidates, SEARCHED)]
        return both[0] if len(both) else None
    return _common_point_of_convex(a, b)


def _common_point_of_convex(a: Set, b: Set) -> Array | None:
    d = len(a.box[0])
    found = _joined_convex(a, b, np.empty((0, d)), everything(d))
    return None if found is None else found[0]


def everything(d: int) -> BoxSet:
    """Return the whole space of d columns as a box."""
    return BoxSet(np.full(d, -np.inf), np.full(d, np.inf))


def joined(a: Set, b: Set, along: Array, space: BoxSet) -> tuple[Array, Array] | None:
    r"""Return a point x of a and a point :math:`y = x + \sum_j t_j v_j` of b with :math:`t \ge 0`.

    The rows of ``along`` are the :math:`v_j`. Both points lie in the box ``space``. The result is None if no
    such points exist, or if a set is a LevelSet and none were found.
    """
    if isinstance(a, LevelSet) or isinstance(b, LevelSet):
        return _joined_by_rays(a, b, along, space)
    axes = np.count_nonzero(along, axis=1) == 1
    if isinstance(a, BoxSet) and isinstance(b, BoxSet) and axes.all():
        return _joined_boxes(a, b, along, space)
    return _joined_convex(a, b, along, space)


def _joined_boxes(a: BoxSet, b: BoxSet, along: Array, space: BoxSet) -> tuple[Array, Array] | None:
    """Solve column by column, without rounding: every direction is along one column."""
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
    """Try points of a, shifted along each direction as far as both boxes reach."""
    if not a.bounded or not b.bounded:
        return None
    starts = a.points(256)
    starts = starts[a.contains(starts, SEARCHED) & space.contains(starts, SEARCHED)]
    reach = np.max(np.concatenate([a.box, b.box]), axis=0) - np.min(np.concatenate([a.box, b.box]), axis=0)
    for v in along:
        steps = np.linspace(0.0, 1.0, 65) * float(np.max(reach[v != 0] / np.abs(v[v != 0])))
        ends = (starts[:, None] + steps[:, None] * v).reshape(-1, len(v))
        found = np.flatnonzero(b.contains(ends, SEARCHED) & space.contains(ends, SEARCHED))
        if len(found):
            return starts[found[0] // len(steps)], ends[found[0]]
    return None


def _joined_convex(a: Set, b: Set, along: Array, space: BoxSet) -> tuple[Array, Array] | None:
    """Solve a linear programme, or a cone programme if a set is an ellipsoid."""
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
        raise SolverFailed(
            f"Clarabel cannot decide whether two regions meet: {problem.status}. Scale the columns of X, and "
            "the regions alike."
        )
    return np.asarray(x.value), np.asarray(y.value)


def only_touch(a: Set, b: Set) -> bool:
    """Return whether two boxes or polyhedra with interior points meet only on their borders."""
    if not all(isinstance(s, (BoxSet, PolyhedronSet)) for s in (a, b)):
        return False
    ends = np.concatenate([a.box, b.box])
    ends = np.where(np.isfinite(ends), ends, 0.0)
    low = ends.min(axis=0)
    size = np.ptp(ends, axis=0)
    size = np.where(size > 0, size, 1.0)
    parts = [s.inequalities for s in (a, b)]  # type: ignore[attr-defined]
    parts = [(B * size, d - B @ low) for B, d in parts]  # in the unit cube, so that units do not matter
    both = np.vstack([B for B, _ in parts]), np.concatenate([d for _, d in parts])
    return all(_has_inside(B, d) for B, d in parts) and not _has_inside(*both)


def _has_inside(B: Array, d: Array) -> bool:
    """Return whether ``Bx <= d`` contains a box of half-width 1e-6."""
    length = np.abs(B).sum(axis=1)
    length = np.where(length > 0, length, 1.0)
    return linear_minimum(np.zeros(B.shape[1]), B / length[:, None], d / length - 1e-6)[1] is not None
