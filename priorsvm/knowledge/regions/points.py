r"""The method "points": the requirement at fixed points of the region, and nowhere else."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from ..._utils.arrays import Array
from ..._utils.checks import is_whole
from ...errors import InvalidInput
from ...function.atoms import Atoms
from ...sample import Sample
from ..checks import check_points
from ..views import PointTerms
from .method import Method
from .requirement import Requirement
from .search import Search

# Points drawn by default, and at least so many on a grid.
DRAWN = 256
# Largest number of points that are drawn, and of cells.
MOST_POINTS = 1_000_000


class Points(Method):
    """The requirement at fixed points of the region: drawn, on a grid, or given by the user."""

    everywhere: ClassVar[bool] = False

    def first_points(self, requirement: Requirement, given: Array | None, sample: Sample) -> Array:
        region = requirement.region
        if given is not None:
            inside = given[region.contains(given)]
            if len(inside) == 0:
                raise InvalidInput(
                    "none of the points given lies in the region. Give points inside it, or a number."
                )
            return inside
        if not region.bounded:
            return np.empty((0, sample.X.shape[1]))
        if isinstance(self.points, str):
            return region.grid(DRAWN)
        return region.points(DRAWN if self.points is None else int(self.points), sample.seed)


def given_points(points: Any, sample: Sample) -> Array | None:
    """Return the points of the user as an array, or None if points have to be drawn."""
    if points is None or is_whole(points):
        return None
    if np.isscalar(points):
        if isinstance(points, str) and points == "grid":
            return None
        raise InvalidInput(
            f"points must be a whole number from 1 to {MOST_POINTS}, 'grid' or an array of points, got "
            f"{points!r}."
        )
    return check_points("points", points, sample)


def at_points(f: Any, state: Search, zeta: Any) -> Any:
    r"""Return :math:`s_l f(x_p) \ge h(x_p) + \delta_p - \zeta_l` for the points of all regions."""
    rows = [
        (requirement.expression(f, points), target)
        for requirement, points, target in zip(state.requirements, state.points, targets(state), strict=True)
    ]
    return stacked(rows, zeta)


def targets(state: Search) -> list[Array]:
    r"""Return :math:`h(x_p) + \delta_p` for the points of each region."""
    lifts: Any = state.lift or (0.0,) * len(state.requirements)
    return [
        requirement.threshold(points) + lift
        for requirement, points, lift in zip(state.requirements, state.points, lifts, strict=True)
    ]


def point_terms(state: Search, hard: bool) -> PointTerms:
    """Return the constraints at the points as arrays, with a slack for each region unless they are hard."""
    counts = [len(points) for points in state.points]
    signs = [requirement.sign for requirement in state.requirements]
    of = np.repeat(np.arange(len(counts)), counts)
    atoms = [
        Atoms(points, r.along(points)) for r, points in zip(state.requirements, state.points, strict=True)
    ]
    return PointTerms(
        Atoms.together(atoms),
        np.repeat(signs, counts),
        np.concatenate(targets(state)),
        of,
        None if hard else "mu",
        duals={"points": None},
        start=None if state.start is None else np.concatenate(state.start),
    )


def stacked(rows: list[tuple[Any, Array]], zeta: Any) -> Any:
    """Return one constraint ``left >= right - zeta``, from the sides and the slack of each requirement."""
    import cvxpy as cp

    of = np.repeat(np.arange(len(rows)), [len(right) for _, right in rows])
    required = np.concatenate([right for _, right in rows])
    return cp.hstack([left for left, right in rows if len(right)]) >= required - zeta[of]
