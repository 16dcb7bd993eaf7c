r"""The method "cuts": search for the worst points of a region, add them to the problem, and solve again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from ..._utils.arrays import Array
from ..views import Solved
from .method import Method
from .minimum import has_bound, proven_minimum
from .requirement import CUT, STARTS, distinct, size_of
from .search import Search

# Cuts of a soft block may stop at violations so many times larger than violations of a hard block.
SOFT = 10
# A larger violation is reduced by more points, not by raising the requirement at the points.
LIFTABLE = 3e-3
# Slopes that cells do not prove: the same number, and how much the requirement at all points is raised then.
LIFTABLE_SLOPES = 1e-2
MARGIN = 1e-3
# A hard block ends if so many strict searches in a row find nothing. Their seeds differ by this number.
SEARCHES = 2
SEEDS = 1000
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

    def refine(self, f: Any, view: Solved) -> Search | None:
        """Return the state with the worst points of every region added, or None if none is violated."""
        state: Search = view.state
        gain = view.objective - state.bound  # NaN in the first round, so that both comparisons are False
        tol = max(view.tol, CUT)
        if not self.hard and gain <= 1e-4 * abs(view.objective):
            tol = SOFT * tol  # another round would change the objective by less than 0.01 %
        stable = gain <= 1e-3 * abs(view.objective)
        provable = self._provable(f, state)
        for effort in self._efforts(state, provable, stable):
            found = [
                self._search(f, state, k, view.sample.seed, effort, proof, tol)
                for k, proof in enumerate(provable)
            ]
            if any(len(part.new) for part in found):
                state = state if state.lift else replace(state, bound=view.objective)
                return self._extended(state, found, stable)
        return None

    def settle(self, f: Any, view: Solved) -> Search | None:
        """Return the state with violations that a strict search finds; None if soft or proven."""
        state: Search = view.state
        if not self.hard:
            return None
        tol = max(view.tol, self.accepted)
        provable = self._provable(f, state)
        first = view.sample.seed + state.searches
        for seed in range(first, first + SEARCHES * SEEDS, SEEDS):
            found = [self._search_strictly(f, state, k, seed, proof, tol) for k, proof in enumerate(provable)]
            if any(len(part.new) for part in found):
                return self._extended(replace(state, searches=state.searches + 1), found, True)
        return None

    def _search_strictly(
        self, f: Any, state: Search, k: int, seed: int, provable: bool, tol: float
    ) -> _Found:
        """Return points of requirement k that a strict search finds violated; none if it is proven."""
        known = state.points[k]
        points = known[:0] if provable else state.requirements[k].lowest_on_faces(f, known, seed)
        return self._violated(f, state, k, points, provable, tol)

    def _provable(self, f: Any, state: Search) -> list[bool]:
        """Return for each requirement whether cells prove its least value at little expense."""
        return [
            len(size_of(requirement.region)) < 4 and has_bound(requirement, f, self.max_dimension)
            for requirement in state.requirements
        ]

    def _efforts(self, state: Search, provable: Sequence[bool], stable: bool) -> tuple[int, ...]:
        """Return the sizes of the searches to try in turn, until one finds a violation."""
        slopes = np.array([requirement.direction is not None for requirement in state.requirements])
        if np.all(slopes & ~np.array(provable)):
            return (1,) if self.hard else (1, 4)
        closer: tuple[int, ...] = (4, 16)
        if self.hard or all(np.logical_or(provable, slopes)):
            closer = (4,)  # a proof or a strict search replaces the largest search
        return closer if stable else (1, *closer)

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
        low = np.flatnonzero(excess < -tol)
        low = low[np.argsort(excess[low], kind="stable")]
        limits = VALUES if requirement.direction is None else SLOPES
        new = distinct(found[low], known, requirement.region, limits.apart, limits.most)
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

    def _extended(self, state: Search, found: list[_Found], stable: bool) -> Search:
        """Return the state with the new points.

        Where a requirement is active along a whole face of its region, f falls slightly below it between any
        points. Once the objective is stable, the requirement at a new point of a hard block is raised by the
        violation there. The cost is in proportion to the violation.
        """
        raises = self.hard and (bool(state.lift) or (stable and all(part.small for part in found)))
        lift = state.lift
        if raises:
            pairs = list(zip(state.points, found, strict=True))
            before = lift or [np.full(len(points), part.margin) for points, part in pairs]
            more = [
                part.margin + np.where(part.violations <= part.liftable, part.violations, 0.0)
                for part in found
            ]
            lift = [np.append(b[p.kept], m) for b, p, m in zip(before, found, more, strict=True)]
        points = [np.vstack([x[p.kept], p.new]) for x, p in zip(state.points, found, strict=True)]
        return replace(state, points=points, lift=lift)
