r"""The method "cuts": search for the worst points of a region, add them to the problem, and solve again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..._utils.arrays import Array
from ..views import Solved
from .method import Method
from .minimum import has_bound, proven_minimum
from .requirement import CUT, STARTS, Requirement, distinct, size_of
from .search import Search

# Cuts of a soft block may stop at violations so many times larger than violations of a hard block.
SOFT = 10
# A larger violation is reduced by more points, not by lifting the requirement at the points.
LIFTABLE = 3e-3
# Most strict searches after the cuts have settled, each of which takes seconds.
STRICT = 10


@dataclass(frozen=True, eq=False)
class _Found:
    """The points of the next problem, how many are new, and the largest violation."""

    points: Array
    new: int
    violation: float


class Cuts(Method):
    """Cutting planes: the points of largest violation enter the problem until none is violated."""

    @property
    def accepted(self) -> float:
        """Violation at which the search stops, with a margin if the block is hard."""
        return (2 if self.hard else SOFT) * CUT

    def refine(self, f: Any, view: Solved) -> Search | None:
        """Return the state with the worst points of every region added, or None if none is violated."""
        state: Search = view.state
        tol = max(view.tol, CUT)
        gain = view.objective - state.bound  # NaN in the first round, so that both comparisons are False
        stable = gain <= 1e-3 * abs(view.objective)
        provable = self._provable(f, state)
        for effort in self._efforts(state, provable, stable):
            found = [
                self._search(f, requirement, known, view.sample.seed, effort, proof, tol)
                for requirement, known, proof in zip(state.requirements, state.points, provable, strict=True)
            ]
            worst = [part.violation for part in found]
            if not self.hard and max(worst) <= SOFT * tol and gain <= 1e-4 * abs(view.objective):
                return None  # another round would change the objective by less than 0.01 %
            if max(worst) > tol:
                lifted = self._lifted(state, worst, view.objective, stable)
                if not any(part.new for part in found) and lifted.lift == state.lift:
                    return None
                return replace(lifted, points=[part.points for part in found])
        return None

    def settle(self, f: Any, view: Solved) -> Search | None:
        """Return the state with violations that a strict search finds; None if soft or proven."""
        state: Search = view.state
        if not self.hard or state.searches >= STRICT:
            return None
        tol = max(view.tol, self.accepted)
        points = []
        for requirement, known, proof in zip(
            state.requirements, state.points, self._provable(f, state), strict=True
        ):
            new = known[:0]
            if not proof:
                found = requirement.lowest_on_faces(f, known, view.sample.seed + state.searches)
                new = distinct(found[requirement.excess(f, found) < -tol], known, requirement.region)
            points.append(np.vstack([known, new]))
        if all(len(more) == len(known) for more, known in zip(points, state.points, strict=True)):
            return None
        return replace(state, points=points, searches=state.searches + 1)

    def _provable(self, f: Any, state: Search) -> list[bool]:
        """Return for each requirement whether cells prove its least value at little expense."""
        return [
            len(size_of(requirement.region)) < 4 and has_bound(requirement, f, self.max_dimension)
            for requirement in state.requirements
        ]

    @staticmethod
    def _efforts(state: Search, provable: Sequence[bool], stable: bool) -> tuple[int, ...]:
        """Return the sizes of the searches to try in turn, until one finds a violation."""
        slopes = [requirement.direction is not None for requirement in state.requirements]
        # A proof replaces the largest search, and second derivatives of f make it expensive.
        closer = (4,) if all(np.logical_or(provable, slopes)) else (4, 16)
        return closer if stable or state.lift else (1, *closer)

    def _search(
        self,
        f: Any,
        requirement: Requirement,
        known: Array,
        seed: int,
        effort: int,
        provable: bool,
        tol: float,
    ) -> _Found:
        at_known = requirement.excess(f, known)
        zeta = self.slack(at_known)
        found = requirement.lowest(f, known, seed + len(known), effort * STARTS)
        if effort > 1 and provable:
            found = np.vstack([found, proven_minimum(f, requirement, found).where])
        excess = requirement.excess(f, found) + zeta
        new = distinct(found[excess < -tol], known, requirement.region)
        # Points far from active have dual variable 0: the optimum does not change without them.
        kept = known[at_known + zeta < 0.3] if len(new) else known
        return _Found(np.vstack([kept, new]), len(new), max(0.0, -float(excess.min(initial=0.0))))

    def _lifted(self, state: Search, worst: list[float], objective: float, stable: bool) -> Search:
        """Raise the requirement at the points, once more points do not change the objective.

        Where a requirement is active along a whole face of its region, f falls slightly below it between any
        points. Once the objective is stable, the requirement at the points is raised by the violation between
        them. This ends the search, at a cost in proportion to the violation.
        """
        if state.lift is None:
            state = replace(state, bound=objective)
            if not (stable and self.hard and max(worst) <= LIFTABLE):
                return state
        before = state.lift or (0.0,) * len(worst)
        return replace(state, lift=tuple(b + 1.1 * w for b, w in zip(before, worst, strict=True)))
