r"""Joint movement of the active points of a requirement, at fixed dual variables.

At the optimum of a region everywhere, the active points are local minima of :math:`s f`. At fixed dual
variables :math:`\lambda_p`, any points of the region give a lower bound on the optimum,

.. math:: \rho^\top a - \tfrac12 \|g\|_H^2, \qquad g = r + s \sum_p \lambda_p k(x_p, \cdot), \qquad
          \nabla_{x_p} \tfrac12 \|g\|_H^2 = s \lambda_p \nabla g(x_p) .

So points that decrease :math:`\|g\|_H` are better points. A cut at each of these points replaces several
cuts around it.

Rounds fell from 78 to 21 (soft, 569 x 30) and from 50 to 16 (hard, 768 x 8). Two changes were tried and left
out. Moving points and solving for the free dual variables together leaves their bounds, and the rounds do not
end. Keeping the points before the move saves rounds, but no time.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ..._utils.arrays import Array
from ...function.atoms import Atoms
from ...function.fitted import Slopes
from .descent import descend_jointly
from .requirement import Requirement, half_distances, merged, unit_of

# Evaluations of the norm.
EVALUATIONS = 10
# Points are one if their half squared distance in feature space, relative to their lengths, is smaller.
NEAR = 0.02


def movable(f: Any, requirement: Requirement, points: Array, duals: Array | None) -> Array | None:
    """Return the dual variables of points that have the weight in f of their dual variable, 0 for the others.

    None is returned if the points of the requirement cannot move.
    """
    if duals is None or f.linear or callable(requirement.h):
        return None
    capable = f.kernel.has_slope if requirement.direction is None else f.kernel.has_curve
    if not capable or requirement.region.chart(unit_of(f, requirement)) is None:
        return None
    at, weights, _ = _own(f, requirement)
    weight = dict(zip((row.tobytes() for row in at), requirement.sign * weights, strict=True))
    own = np.array([weight.get(row.tobytes(), 0.0) for row in np.ascontiguousarray(points)])
    return np.where(own == duals, duals, 0.0)


def slide(
    f: Any, requirement: Requirement, points: Array, duals: Array, lift: Array
) -> tuple[Array, Array, Array]:
    """Return points that decrease the norm of f at their dual variables, these dual variables, and lifts.

    Points near each other become one point, with the mean of their lifts. If the norm does not decrease, the
    points themselves are returned.
    """
    if not len(points):  # f has no slopes if all of them are inactive
        return points, duals, lift
    rest = _without(f, requirement, points)

    def energy(x: Array, signed: Array) -> tuple[float, Array]:
        values, gradients = _pairs(rest, requirement, x)
        among, along = _pairs(_over(f, requirement, x, signed), requirement, x)
        return float(signed @ values + 0.5 * signed @ among), signed[:, None] * (gradients + along)

    distances = half_distances(f, Atoms(points, requirement.along(points)))
    means, weights = merged(np.column_stack([points, lift]), duals, distances, NEAR)
    x = means[:, :-1]
    chart = requirement.region.chart(unit_of(f, requirement))
    assert chart is not None

    def inner(z: Array) -> tuple[float, Array]:
        value, gradients = energy(chart.outer(z), requirement.sign * weights)
        return value, chart.gradients(gradients)

    metric = np.maximum(weights, 1e-3 * weights.max(initial=0.0))[:, None]
    z, least = descend_jointly(inner, chart.project, chart.inner(x), metric, chart.reach, EVALUATIONS)
    if least > energy(points, requirement.sign * duals)[0]:
        return points, duals, lift
    return chart.outer(z), weights, means[:, -1]


def replaced(f: Any, requirement: Requirement, points: Array, new: Array, weights: Array) -> Any:
    """Return f with new points of a requirement and their dual variables in place of its points."""
    rest = _without(f, requirement, points)
    part = _over(f, requirement, new, requirement.sign * weights)
    if requirement.direction is None:
        centres = np.vstack([rest.centres, part.centres])
        return replace(rest, centres=centres, weights=np.concatenate([rest.weights, part.weights]))
    pairs = [
        (rest.slopes.points, part.slopes.points),
        (rest.slopes.directions, part.slopes.directions),
        (rest.slopes.weights, part.slopes.weights),
    ]
    return replace(rest, slopes=Slopes(*(np.concatenate(both) for both in pairs)))


def _own(f: Any, requirement: Requirement) -> tuple[Array, Array, Array]:
    """Return the centres or slopes of f that a requirement is about, their weights, and their mask."""
    if requirement.direction is None:
        return np.ascontiguousarray(f.centres), f.weights, np.ones(len(f.weights), bool)
    if f.slopes is None:
        return f.centres[:0], f.weights[:0], np.zeros(0, bool)
    along = (f.slopes.directions == requirement.direction).all(axis=1)
    return np.ascontiguousarray(f.slopes.points[along]), f.slopes.weights[along], along


def _without(f: Any, requirement: Requirement, points: Array) -> Any:
    """Return f without the bias and without the points of a requirement."""
    at, _, kind = _own(f, requirement)
    own = {row.tobytes() for row in np.ascontiguousarray(points)}
    left = np.ones(len(kind), bool)
    left[kind] = [row.tobytes() not in own for row in at]
    if requirement.direction is None:
        return replace(f, bias=0.0, centres=f.centres[left], weights=f.weights[left])
    parts = (f.slopes.points, f.slopes.directions, f.slopes.weights)
    return replace(f, bias=0.0, slopes=Slopes(*(part[left] for part in parts)))


def _over(f: Any, requirement: Requirement, points: Array, weights: Array) -> Any:
    """Return the part of f over the points of a requirement."""
    if requirement.direction is None:
        return replace(f, bias=0.0, centres=points, weights=weights, slopes=None)
    along = np.tile(requirement.direction, (len(points), 1))
    slopes = Slopes(points, along, weights)
    return replace(f, bias=0.0, centres=f.centres[:0], weights=f.weights[:0], slopes=slopes)


def _pairs(f: Any, requirement: Requirement, points: Array) -> tuple[Array, Array]:
    """Return values or slopes of f at points, and their gradients."""
    if requirement.direction is None:
        return f.values_and_gradients(points)
    return f.slopes_and_gradients(points, requirement.along(points))
