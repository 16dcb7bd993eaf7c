"""Routes for weighted SVMs: all blocks only add or reweight rows."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

from ..._utils.cache import Cache
from ..route import Problem, Route
from ..solution import Solution
from ..weighted import Weighted


class WeightedRoute(Route):
    """Route for 2-norm models whose blocks only add or reweight rows."""

    kind = "weighted SVM"
    floor = 1e-4

    def accuracy(self, tol: float, final: bool = True) -> float:
        # A route that follows may reach tol, so the floor is for the last route only.
        return super().accuracy(tol) if final else self.factor * tol

    def obstacle(self, problem: Problem) -> str | None:
        reason = problem.beyond_rows()
        if reason is None and problem.spec.norm != "l2":
            reason = "it has the 2-norm only, not norm='l1'"
        if reason is None and problem.spec.n_centres is not None:
            reason = "it takes no n_centres"
        if reason is None and problem.spec.hard:
            reason = "it requires a finite C"
        return reason

    def hint(self, problem: Problem, solution: Solution) -> str:
        limited = solution.outcome.status == "user_limit" and "max_iter" in (self.takes or ())
        if not limited or problem.spec.deadline.passed:
            return ""
        return (
            f"It stopped after {solution.outcome.iterations} iterations: a larger tol takes fewer, and "
            "solver_options={'max_iter': ...} allows more."
        )

    def solve(self, problem: Problem, options: dict[str, Any]) -> Solution:
        weighted = problem.weighted
        start = time.perf_counter()
        solution = self.solve_weighted(weighted, problem.grams, options)
        rest = time.perf_counter() - start - solution.outcome.solve_seconds
        solution.outcome = replace(solution.outcome, compile_seconds=rest)
        return solution

    def solve_weighted(self, weighted: Weighted, grams: Cache | None, options: dict[str, Any]) -> Solution:
        """Return the solution of a weighted SVM; kernel matrices are kept in ``grams`` if it is given."""
        raise NotImplementedError
