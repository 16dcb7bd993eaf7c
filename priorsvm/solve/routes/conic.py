"""Routes for whole problem classes: CVXPY compiles the problem, a general solver solves it.

The answer is judged by its residuals in the problem as the blocks state it, not in the data of the solver.
SCHUR receives its data from :mod:`.direct`, without the dense parts passing through CVXPY.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.sparse import issparse

from ...errors import InvalidInput, PriorSVMError, SolverFailed, Unbounded
from ...function.memory import refuse_beyond_memory
from ...knowledge.traits import OnRowSlack
from ...problem.assemble import Compiled
from ...problem.conflicts import conflict_error
from ...problem.residuals import Residuals, residuals
from .. import solvers
from ..classes import class_of, classes_of
from ..feasibility import verdicts
from ..route import Problem, Route
from ..solution import Outcome, Solution, flat
from ..solvers import SOLVERS, Solver, quiet

# Matrices of the size of the kernel matrix that CVXPY and a solver keep at a time. Solvers written in other
# languages end the process if they have no memory.
WORK = 4
# Numbers that a linear model keeps at a time, for each row, entry of X and pair of columns. SCHUR on the
# 1-norm with a hint takes 2.3 kB a row at 5 columns and 4.2 kB at 40. The pairs of 500 columns take 98 MB.
# Other solvers take more.
OF_ROW = 260
OF_ENTRY = 7
OF_PAIR = 49

_CONES = {
    "QP": "a quadratic objective",
    "SOCP": "second-order cones",
    "SDP": "semidefinite cones",
    "EXP": "exponential cones",
}


class Conic(Route):
    """Route through one solver of CVXPY."""

    def __init__(self, name: str, facts: Solver | None = None):
        facts = facts or SOLVERS[name]
        self.facts = facts
        self.name = name
        self.solves = facts.solves
        self.certifies = facts.certifies
        self.floor = facts.accuracy
        self.takes = facts.takes
        self.package = facts.package
        self.note = facts.note

    def installed(self) -> bool:
        return self.name in solvers.installed()

    def require_installed(self) -> None:
        solvers.require_installed(self.name)

    def obstacle(self, problem: Problem) -> str | None:
        compiled = problem.compiled
        classes = classes_of(compiled)
        svm = "the 2-norm model" if compiled.spec.norm == "l2" else "the squared hinge"
        reasons = [
            f"{svm} has {_CONES[c]}" if block == "svm" else f"block '{block}' adds {_CONES[c]}"
            for block, c in classes.items()
            if c not in self.solves
        ]
        return "; ".join(reasons) or None

    def refusal(self, problem: Problem, reason: str) -> str:
        problem_class = class_of(problem.compiled)
        return (
            f"{self.name} cannot solve this {problem_class}: {reason}. "
            f"Installed solvers that can: {', '.join(solvers.able(problem_class))}."
        )

    def solve(self, problem: Problem, options: dict[str, Any]) -> Solution:
        compiled = problem.compiled
        what = f"{self.name}: its matrices"
        if problem.spec.linear:
            X = compiled.sample.X
            # The size of a sparse X counts its stored entries.
            pairs = 0 if issparse(X) else OF_PAIR * min(X.shape) ** 2
            size = OF_ROW + (OF_ENTRY * X.size + pairs) // X.shape[0]
            advice = "Use fewer rows" + (", or norm='l2'." if problem.spec.norm == "l1" else ".")
            refuse_beyond_memory(X.shape[0], size, what, advice)
        else:
            advice = "Set n_centres to work with fewer."
            refuse_beyond_memory(WORK * compiled.f.n_rows, compiled.tie.features.size, what, advice)
        start = time.perf_counter()
        self._run(compiled, options)
        total = time.perf_counter() - start
        return solution_of(problem, self._outcome(compiled, total))

    def alternatives(self, problem: Problem) -> str:
        return self._others(problem.compiled)

    def hint(self, problem: Problem, solution: Solution) -> str:
        return _hard_blocks(problem.compiled)

    def _run(self, compiled: Compiled, options: dict[str, Any]) -> None:
        """Run the solver, which leaves its answer in the variables and constraints of the problem."""
        import cvxpy as cp

        deadline = compiled.spec.deadline
        if (
            deadline.limited and type(self) is Conic
        ):  # CVXPY keeps what it compiled, so the solver gets the rest
            compiled.problem.get_problem_data(self.name)
        arguments = {**self.facts.options(compiled.spec.tol), **self.facts.within(deadline), **options}
        try:
            with quiet():
                try:
                    self._call(compiled, arguments)
                except cp.SolverError:
                    if not self.facts.retries or options:
                        raise
                    # Its own tolerances, for problems near the edge.
                    self._call(compiled, self.facts.within(deadline))
        except cp.SolverError as error:
            reason = str(error).partition("Try another solver")[0].strip()
            if any(option in reason for option in options):
                raise InvalidInput(f"{self.name} does not take these solver_options: {reason}") from error
            raise SolverFailed(
                f"{self.name} broke down: {reason} Try another solver ({self._others(compiled)})"
                f"{_scaling(compiled)}.{_hard_blocks(compiled)}"
            ) from error
        except (TypeError, ValueError, KeyError, AttributeError, OverflowError) as error:
            if not options:
                raise
            raise InvalidInput(
                f"{self.name} does not take these solver_options: {', '.join(options)} ({error})"
            ) from error

    def _call(self, compiled: Compiled, arguments: dict[str, Any]) -> None:
        solvers.run(compiled.problem, self.name, warm_start=self.facts.warm_start, **arguments)

    def _outcome(self, compiled: Compiled, total: float) -> Outcome:
        import cvxpy as cp

        problem = compiled.problem
        stats = problem.solver_stats
        compiling = float(problem.compilation_time or 0.0)
        seconds = float(getattr(stats, "solve_time", None) or max(total - compiling, 0.0))
        if problem.status not in (cp.OPTIMAL, cp.OPTIMAL_INACCURATE, cp.USER_LIMIT) or problem.value is None:
            raise self._no_answer(compiled)
        if any(c.size and not flat(c.dual_value).size for c in compiled.constraints.values()):
            raise SolverFailed(
                f"{self.name} returned no dual variables, so its answer cannot be judged. Try another solver "
                f"({self._others(compiled)})."
            )
        found = self._residuals(compiled)
        steps = getattr(stats, "num_iters", None)
        return Outcome(self.name, problem.status, found, max(total - seconds, 0.0), seconds, steps)

    def _residuals(self, compiled: Compiled) -> Residuals:
        """Return the residuals of the answer in the problem as stated."""
        unit, costs = compiled.units()
        costs = {**costs, compiled.f.b: unit}
        return residuals(compiled.problem, compiled.jacobians(), unit, costs, compiled.products())

    def _no_answer(self, compiled: Compiled) -> PriorSVMError:
        import cvxpy as cp

        status = compiled.problem.status
        unproven = self.facts.measured and not self.certifies
        if status in (cp.INFEASIBLE, cp.INFEASIBLE_INACCURATE) and unproven:
            return SolverFailed(
                f"{self.name} reported '{status}', which it cannot certify. Use a solver that certifies "
                f"infeasibility: {', '.join(solvers.certifying())}."
            )
        # If no block forbids anything, the problem is feasible, and numbers of very different size mislead
        # the solver.
        if status == cp.INFEASIBLE and compiled.may_be_infeasible:
            conflict = conflict_error(compiled, *verdicts(compiled.spec.deadline))
            return conflict or SolverFailed(
                f"{self.name} reported '{status}', and another solver could not confirm it."
                f"{_hard_blocks(compiled)} Try another solver ({self._others(compiled)})."
            )
        unbounded = [t for t in compiled.terms if not t.expression.is_nonneg()]
        if status == cp.UNBOUNDED and unbounded:
            blocks = "; ".join(
                f"block '{t.block}' has a penalty without a lower bound ({t.name})" for t in unbounded
            )
            return Unbounded(
                f"{self.name} found that the objective has no lower bound: {blocks}. Penalties must be "
                "nonnegative."
            )
        return SolverFailed(
            f"{self.name} ended with status '{status}' and no answer. Try another solver "
            f"({self._others(compiled)}){_scaling(compiled)}, or a smaller C (it is {compiled.spec.C:g})."
        )

    def _others(self, compiled: Compiled) -> str:
        return ", ".join(name for name in solvers.able(class_of(compiled)) if name != self.name)


class Schur(Conic):
    """Route through SCHUR.

    With ``corner`` HiGHS continues from its answer of an LP to a corner. With ``reference`` the residuals are
    those that SCHUR reports, which takes less time than the residuals in the problem as stated.
    """

    def __init__(self, corner: bool = False, reference: bool = False):
        super().__init__("SCHUR")
        self.corner = corner
        self.reference = reference

    def solve(self, problem: Problem, options: dict[str, Any]) -> Solution:
        solution = super().solve(problem, options)
        if self.corner:
            solution.outcome = replace(solution.outcome, solver="HIGHS", start="SCHUR")
        return solution

    def _call(self, compiled: Compiled, arguments: dict[str, Any]) -> None:
        from .direct import Direct

        compiled.memo[self.name] = Direct.of(compiled).solve(self.corner, **arguments)

    def _residuals(self, compiled: Compiled) -> Residuals:
        if not self.reference:
            return super()._residuals(compiled)
        primal, stationarity, gap = compiled.memo[self.name]
        return Residuals(primal, 0.0, stationarity, gap)


def solution_of(problem: Problem, outcome: Outcome) -> Solution:
    """Return the solution which a solver left in the compiled problem."""
    compiled = problem.compiled
    sample = problem.sample
    duals = compiled.duals()
    alpha = np.zeros(len(sample))
    alpha[compiled.active] = np.abs(duals["svm.margin"])
    # On inactive rows an interior-point method leaves numbers that are small against the row's own bound.
    largest = max(float(np.abs(flat(dual)).max(initial=0.0)) for dual in duals.values())
    threshold = problem.spec.negligible_dual(sample.cost, largest)
    slack = None
    if any(isinstance(member.block, OnRowSlack) for member in compiled.members):
        slack = np.zeros(len(sample))
        slack[compiled.active] = compiled.slack.value
    return Solution(
        compiled.fitted(),
        alpha,
        alpha > threshold,
        outcome,
        duals,
        compiled.penalties(),
        threshold=threshold,
        slack=slack,
        compiled=compiled,
    )


def _hard_blocks(compiled: Compiled) -> str:
    """Return advice for hard margins, or for blocks that may contradict each other."""
    if compiled.spec.hard:
        return " With C=inf the margins of all rows are hard constraints: use a finite C."
    names = [f"'{m.name}'" for m in compiled.members if getattr(m.block, "hard", False)]
    if len(names) < 2:
        return ""
    return f" The hard blocks {', '.join(names)} may contradict each other: soften one with hard=False."


def _scaling(compiled: Compiled) -> str:
    """Suggest scale='standard' unless a scale is set."""
    return ", or scale='standard'" if compiled.spec.scale is None else ""
