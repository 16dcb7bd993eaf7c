r"""The method "cuts": search for the worst points of a region, add them to the problem, and solve again.

Most rounds use a loose search, from known points, mixed points and points next to centres that lower f. A
strict search has more starts and longer descents. A hard block ends if two or more of them find no violation,
a soft block if one finds none. At the end a cut of a hard block is raised by its own violation. With
``MARGIN`` ten times as large, slopes kept lifts they did not need, and the objective was 1e-4 higher.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from ..._utils.arrays import Array
from ...sample import Sample
from ..views import Solved
from .method import Method
from .minimum import has_bound, proven_minimum
from .requirement import CUT, STARTS, Requirement, distinct, size_of
from .search import Search
from .slide import movable, replaced, slide

# Cuts of a soft block may stop at violations so many times larger than violations of a hard block.
SOFT = 10
# A larger violation is reduced by more points, not by raising the requirement at the points.
LIFTABLE = 5e-4
# Slopes that cells do not prove: the same number, and how much the requirement at all points is raised then.
LIFTABLE_SLOPES = 1e-3
MARGIN = 1e-3
# Seeds of the strict searches that end a hard block differ by this number.
SEEDS = 1000
# Rows of the other class next to which the first points lie.
FIRST = 32
# New points are so far from each other in feature space.
ALIKE = 0.01
# Points with a larger excess leave the problem. Points with a smaller excess count as active.
FAR = 0.3
ACTIVE = 1e-5


class Limits(NamedTuple):
    """Limits of the points of a requirement.

    Attributes
    ----------
    apart : distance of new points from each other, in parts of the size of the region.
    most : most new points of a round; None without a limit.
    few, spare : points beyond so many, and so many for each active point, leave the problem.
    """

    apart: float
    most: int | None
    few: int
    spare: int


VALUES = Limits(0.005, None, 500, 10)
SLOPES = Limits(0.05, 80, 100, 2)


@dataclass(frozen=True, eq=False)
class _Found:
    """Result of a search.

    Attributes
    ----------
    kept : mask of the points that stay in the problem.
    new, violations : new points, and the violation at each.
    liftable : a larger violation is reduced by more points.
    margin : how much the requirement at all points is raised, once it is raised.
    """

    kept: Array
    new: Array
    violations: Array
    liftable: float = LIFTABLE
    margin: float = 0.0

    @property
    def small(self) -> bool:
        """Whether all violations are small enough to raise the requirement."""
        return bool(np.all(self.violations <= self.liftable))


class Cuts(Method):
    """Cutting planes: the points of largest violation enter the problem until none is violated.

    A loose search finds the points of most rounds. Only if it finds none, a closer search follows, or a proof
    where the columns are few. A hard block ends with a strict search that finds nothing.
    """

    @property
    def accepted(self) -> float:
        """Violation at which the search stops, with a margin if the block is hard."""
        return (2 if self.hard else SOFT) * CUT

    def first_points(self, requirement: Requirement, given: Array | None, sample: Sample) -> Array:
        """Return the first points, and points next to the nearest rows of the other class."""
        points = super().first_points(requirement, given, sample)
        region = requirement.region
        if given is not None or requirement.direction is not None or not region.bounded:
            return points
        rows = sample.X[sample.counted & (sample.y != requirement.sign)]
        rows = rows[~np.isnan(rows).any(axis=1)]
        near = region.nearest(rows)
        if len(near) < len(rows):  # without a projection, rows inside
            return np.vstack([points, near[:FIRST]])
        distance = np.linalg.norm((near - rows) / size_of(region), axis=1)
        nearest = near[np.lexsort((*near.T, distance))[:FIRST]]
        return distinct(np.vstack([points, nearest]), points[:0], region, VALUES.apart)

    def refine(self, f: Any, view: Solved) -> Search | None:
        """Return the state with the worst points of every region added, or None if none is violated."""
        state: Search = view.state
        gain = view.objective - state.bound  # NaN in the first round, so that both comparisons are False
        tol = max(view.tol, CUT)
        if not self.hard and gain <= 1e-4 * abs(view.objective):
            tol = SOFT * tol  # another round would change the objective by less than 0.01 %
        stable = gain <= 1e-3 * abs(view.objective)
        provable = self._provable(f, state)
        slopes = all(
            r.direction is not None and not p for r, p in zip(state.requirements, provable, strict=True)
        )
        bound = state.bound if slopes and state.lift else view.objective
        state = replace(self._with_duals(state, view), bound=bound)
        if self.hard and stable and state.searches == 0 and not slopes:
            # A new minimum costs fewer rounds if it is found before the search has converged elsewhere.
            first = self._searched_strictly(f, replace(state, searches=1), view, tol)
            if first is not None:
                return first
        for effort in self._efforts(slopes, stable):
            found = [
                self._search(f, state, k, view.sample.seed, effort, proof, tol)
                for k, proof in enumerate(provable)
            ]
            if any(len(part.new) for part in found):
                return self._extended(f, state, found, stable)
        return None

    def _efforts(self, slopes: bool, stable: bool) -> tuple[int, ...]:
        """Return the sizes of the searches to try in turn, until one finds a violation."""
        if slopes:
            return (1,) if self.hard else (1, 4)
        return (4,) if stable else (1, 4)

    def settle(self, f: Any, view: Solved) -> Search | None:
        """Return the state with violations that a strict search finds; None for slopes of a soft block."""
        state = self._with_duals(view.state, view)
        if not self.hard and any(requirement.direction is not None for requirement in state.requirements):
            return None
        state = replace(state, searches=state.searches + 1)
        return self._searched_strictly(f, state, view, max(view.tol, self.accepted))

    def _with_duals(self, state: Search, view: Solved) -> Search:
        """Return the state with the dual variables of its points, if they are known."""
        duals = view.duals.get("points")
        if duals is None or len(duals) != sum(map(len, state.points)):
            return replace(state, start=None)
        return replace(state, start=np.split(duals, np.cumsum([len(p) for p in state.points])[:-1]))

    def _searched_strictly(self, f: Any, state: Search, view: Solved, tol: float) -> Search | None:
        """Return the state with violations that a strict search finds, or None.

        A hard block passes as many searches as there were before, at least two, because a search finds narrow
        minima in most trials only. The second one starts from all rows and centres, too, as the last check.
        """
        provable = self._provable(f, state)
        first = view.sample.seed + state.searches
        rows = view.sample.weighted_rows()[0]
        for trial in range(max(2, state.searches) if self.hard else 1):
            starts = rows if trial == 1 else rows[:0]
            found = [
                self._search_strictly(f, state, k, first + trial * SEEDS, starts, proof, tol)
                for k, proof in enumerate(provable)
            ]
            if any(len(part.new) for part in found):
                return self._extended(f, state, found, True)
        return None

    def _search_strictly(
        self, f: Any, state: Search, k: int, seed: int, rows: Array, provable: bool, tol: float
    ) -> _Found:
        """Return points of requirement k that a strict search finds violated; none if it is proven."""
        known = state.points[k]
        points = known[:0]
        if not provable:
            requirement = state.requirements[k]
            points = requirement.lowest_strictly(f, known, seed)
            if len(rows):
                points = np.vstack([points, requirement.lowest_from(f, rows)])
        return self._violated(f, state, k, points, provable, tol)

    def _provable(self, f: Any, state: Search) -> list[bool]:
        """Return for each requirement whether cells prove its least value at little expense."""
        return [
            len(size_of(requirement.region)) < 4 and has_bound(requirement, f, self.max_dimension)
            for requirement in state.requirements
        ]

    def _search(
        self, f: Any, state: Search, k: int, seed: int, effort: int, provable: bool, tol: float
    ) -> _Found:
        """Return violated points of requirement k."""
        requirement = state.requirements[k]
        known = state.points[k]
        found = requirement.lowest(f, known, seed + len(known), effort * STARTS)
        if effort > 1 and provable:
            found = np.vstack([found, proven_minimum(f, requirement, found).where])
        return self._violated(f, state, k, found, provable, tol)

    def _violated(self, f: Any, state: Search, k: int, found: Array, provable: bool, tol: float) -> _Found:
        """Return the points found that violate requirement k, and the known points that may be active."""
        requirement = state.requirements[k]
        known = state.points[k]
        at_known = requirement.excess(f, known)
        zeta = self.slack(at_known)
        excess = requirement.excess(f, found) + zeta
        # If one value is violated, values with any violation may be violated in the next round.
        limit = -tol if requirement.direction is not None else 0.0
        low = np.flatnonzero(excess < (limit if excess.min(initial=0.0) < -tol else -np.inf))
        low = low[np.argsort(excess[low], kind="stable")]
        limits = VALUES if requirement.direction is None else SLOPES
        new = distinct(found[low], known, requirement.region, limits.apart, limits.most)
        if requirement.direction is None:
            new = requirement.apart(f, new, ALIKE)
        kept = np.ones(len(known), bool)
        if len(new):
            # Points far from active have dual variable 0: the optimum does not change without them.
            left = at_known + zeta - (state.lift[k] if state.lift else 0.0)
            kept = left < FAR
            order = np.argsort(left, kind="stable")
            kept[order[limits.few + limits.spare * int(np.sum(left < ACTIVE)) :]] = False
        violations = -(requirement.excess(f, new) + zeta)
        if requirement.direction is None or provable:
            return _Found(kept, new, violations)
        return _Found(kept, new, violations, LIFTABLE_SLOPES, MARGIN)

    def _extended(self, f: Any, state: Search, found: list[_Found], stable: bool) -> Search:
        """Return the state with the new points.

        Where a requirement is active along a whole face of its region, f falls slightly below it between any
        points. Once the objective is stable, the requirement at a new point of a hard block is raised by the
        violation there. The cost is in proportion to the violation.
        """
        sticky = state.lift is not None and any(part.margin for part in found)
        raises = self.hard and (sticky or (stable and all(part.small for part in found)))
        extended = []
        for k, part in enumerate(found):
            # Points move in turn: moves of several requirements at once may raise the norm of f.
            f, of_requirement = self._points(f, state, k, part, raises)
            extended.append(of_requirement)
        points, lift, start = (list(parts) for parts in zip(*extended, strict=True))
        raised = raises or state.lift is not None
        known = all(part is not None for part in start)
        return replace(state, points=points, lift=lift if raised else None, start=start if known else None)

    def _points(
        self, f: Any, state: Search, k: int, found: _Found, raises: bool
    ) -> tuple[Any, tuple[Array, Array, Array | None]]:
        """Return f and the points of requirement k, their lifts, and their dual variables if these are known.

        If the dual variables are known, active points move, also in f, and inactive points are left out.
        Points of slopes that cells prove are few, and stay.
        """
        known = state.points[k]
        lift = np.full(len(known), found.margin) if state.lift is None else state.lift[k]
        liftable = raises & (found.violations <= found.liftable)
        more = raises * found.margin + np.where(liftable, np.maximum(found.violations, 0.0), 0.0)
        duals = None
        if state.start is not None and (found.margin or state.requirements[k].direction is None):
            duals = movable(f, state.requirements[k], known, state.start[k])
        if duals is None or state.start is None:
            return f, (np.vstack([known[found.kept], found.new]), np.append(lift[found.kept], more), None)
        moves = duals > 0
        stays = (state.start[k] > 0) & ~moves
        points, weights, lifts = slide(f, state.requirements[k], known[moves], duals[moves], lift[moves])
        if len(state.points) > 1 and moves.any():
            f = replaced(f, state.requirements[k], known[moves], points, weights)
        start = np.concatenate([state.start[k][stays], weights, np.zeros(len(more))])
        points = np.vstack([known[stays], points, found.new])
        return f, (points, np.concatenate([lift[stays], lifts, more]), start)
