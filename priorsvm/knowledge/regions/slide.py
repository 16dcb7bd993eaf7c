r"""Joint movement of the active points of a requirement, at fixed dual variables.

At the optimum of a region everywhere, the active points are local minima of :math:`s f`. At fixed dual
variables :math:`\lambda_p`, any points of the region give a lower bound on the optimum,

.. math:: \rho^\top a - \tfrac12 \|g\|_H^2, \qquad g = r + s \sum_p \lambda_p k(x_p, \cdot), \qquad
          \nabla_{x_p} \tfrac12 \|g\|_H^2 = s \lambda_p \nabla g(x_p) .

So points that decrease :math:`\|g\|_H` are better points. A cut at each of these points replaces several
cuts around it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ..._utils.arrays import Array
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
    if duals is None or f.linear or f.slopes is not None or not f.kernel.has_slope:
        return None
    constant = requirement.direction is None and not callable(requirement.h)
    if not constant or requirement.region.chart(unit_of(f, requirement)) is None:
        return None
    weight = dict(zip((row.tobytes() for row in f.centres), requirement.sign * f.weights, strict=True))
    own = np.array([weight.get(row.tobytes(), 0.0) for row in np.ascontiguousarray(points)])
    return np.where(own == duals, duals, 0.0)


def slide(
    f: Any, requirement: Requirement, points: Array, duals: Array, lift: Array
) -> tuple[Array, Array, Array]:
    """Return points that decrease the norm of f at their dual variables, these dual variables, and lifts.

    Points near each other become one point, with the mean of their lifts. If the norm does not decrease, the
    points themselves are returned.
    """
    own = {row.tobytes() for row in np.ascontiguousarray(points)}
    others = np.array([row.tobytes() not in own for row in f.centres], bool)
    rest = replace(f, bias=0.0, centres=f.centres[others], weights=f.weights[others])

    def energy(x: Array, signed: Array) -> tuple[float, Array]:
        values, gradients = rest.values_and_gradients(x)
        among, along = replace(rest, centres=x, weights=signed).values_and_gradients(x)
        return float(signed @ values + 0.5 * signed @ among), signed[:, None] * (gradients + along)

    means, weights = merged(np.column_stack([points, lift]), duals, half_distances(f, points), NEAR)
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
