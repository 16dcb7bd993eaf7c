"""Routes of models with an invariant loss."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from ..._utils.cache import Cache
from ..._utils.messages import warn
from ..._utils.progress import progress
from ...errors import InaccurateSolution, InvalidInput
from ...prior import Member
from ...problem.residuals import Residuals
from ..route import Problem, Route
from ..solution import Outcome, Solution
from . import columns, pegasos


class Columns(Route):
    """Route of 2-norm models with one invariant loss."""

    name = "COLUMNS"
    kind = "InvariantLoss"
    floor = 1e-5
    note = "2-norm with the hinge, other blocks add or reweight rows"

    def obstacle(self, problem: Problem) -> str | None:
        return columns.obstacle(problem.spec, problem.members, problem.sample)

    def solve(self, problem: Problem, options: dict[str, Any]) -> Solution:
        grams = Cache() if problem.grams is None else problem.grams
        found = columns.solve(problem.spec, problem.members, problem.states, problem.sample, grams)
        largest = max(float(dual.max(initial=0.0)) for dual in found.duals.values())
        threshold = problem.spec.negligible_dual(problem.sample.cost, largest)
        return Solution(
            found.f,
            found.alpha,
            found.alpha > threshold,
            found.outcome,
            found.duals,
            threshold=threshold,
            slack=found.slack,
            scores=found.scores,
        )


class Pegasos(Route):
    """Route of linear models with an invariant loss and very many rows, chosen by the block's ``method``."""

    name = "PEGASOS"
    kind = "InvariantLoss"
    factor = np.inf  # the gap is reported instead
    takes = ("batch",)
    note = "selected by method='pegasos', for very many rows; accurate to about 1 %"
    selectable = False

    def required_by(self, problem: Problem) -> list[Member]:
        return [m for m in problem.live if getattr(m.block, "method", None) == "pegasos"]

    def obstacle(self, problem: Problem) -> str | None:
        name = self.required_by(problem)[0].name
        for other in problem.live:
            if other.name != name and (not other.block.only_rows or other.block.iterative):
                return (
                    f"block '{name}': method='pegasos' requires that all other blocks only add or reweight "
                    f"rows, and '{other.name}' does more. Use method='columns'."
                )
        return None

    def require_suited(self, problem: Problem) -> None:
        reason = self.obstacle(problem)
        if reason is not None:
            raise InvalidInput(reason)

    def check_options(self, options: Any) -> None:
        """Skip the check: the method checks names and values."""

    def solve(self, problem: Problem, options: dict[str, Any]) -> Solution:
        [(name, block, _)] = self.required_by(problem)
        spec = problem.spec
        sample = problem.sample
        start = time.perf_counter()
        with progress(problem.verbose, desc="passes") as bar:
            found = pegasos.solve(spec, block, sample, options, problem.max_rounds, bar)
        last = found.history[-1]
        if last["gap"] > spec.tol:
            warn(
                f"block '{name}': the objective is within {last['gap']:.1e} of the optimum after "
                f"{last['round']} of max_rounds={problem.max_rounds} passes, and tol={spec.tol:g}. "
                "Raise max_rounds or tol, or use method='columns', which is exact.",
                InaccurateSolution,
            )
        residuals = Residuals(0.0, 0.0, 0.0, last["gap"])
        alpha = found.alpha
        return Solution(
            found.f,
            alpha,
            alpha > spec.negligible_dual(sample.cost, float(alpha.max(initial=0.0))),
            Outcome(self.name, last["status"], residuals, 0.0, time.perf_counter() - start),
            {f"{name}.worst": alpha[: sample.n_train][sample.cost[: sample.n_train] > 0]},
            slack=found.slack,
            history=found.history,
        )

    def judge(self, problem: Problem, solution: Solution, options: dict[str, Any], final: bool) -> None:
        """Keep the status of the passes: the gap is reported instead."""
