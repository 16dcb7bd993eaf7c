"""The solution of a problem that was solved, and perhaps changed, outside of priorsvm."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InvalidInput, InvalidType, NotFitted, SolverFailed
from ..knowledge.own_terms import NOT_STORED, OwnTerms
from ..prior import Member
from ..solve.classes import class_of
from ..solve.model import BinaryModel
from ..solve.registry import find_route
from ..solve.route import Problem
from ..solve.routes.conic import solution_of
from ..solve.solution import Outcome, Solution, judge
from ..solve.solvers import able
from .assemble import Compiled, Term
from .residuals import residuals

if TYPE_CHECKING:
    import cvxpy as cp

# An answer of a solver that the registry does not contain is accurate up to this residual.
ACCURACY = 1e-4


def adopted(problem: Problem, solved: cp.Problem, own: str) -> BinaryModel:
    """Return the model of a problem whose solution another solver left in the variables.

    Parameters
    ----------
    problem : Problem
        The problem of a round.
    solved : cvxpy.Problem
        ``problem.compiled.problem``, or a problem with the same variables and other terms.
    own : str
        Name of the block for terms that ``solved`` has besides.

    Raises
    ------
    InvalidInput, InvalidType, NotFitted
        If ``solved`` is not such a problem, or not solved.
    SolverFailed
        If there is no answer, or its residuals are too large.
    """
    compiled = problem.compiled
    _check(compiled, solved)
    compiled.require_own_parameters()
    known = {constraint.id for constraint in solved.constraints}
    for constraint in compiled.constraints.values():
        for variable in constraint.dual_variables if constraint.id not in known else ():
            variable.save_value(np.zeros(variable.shape))
    solution = solution_of(problem, _outcome(compiled, solved))
    if solved is compiled.problem:
        return BinaryModel.of(problem, solution)
    return _with_own_terms(problem, solution, solved, own)


def _check(compiled: Compiled, solved: Any) -> None:
    """Raise an error unless a problem is solved and contains f of the assembled problem."""
    import cvxpy as cp

    if not isinstance(solved, cp.Problem):
        raise InvalidType(f"problem must be a cvxpy.Problem, got {type(solved).__name__}.")
    if not isinstance(solved.objective, cp.Minimize):
        raise InvalidInput("problem must be a minimisation, as assembly.problem is.")
    if solved.is_mixed_integer():
        raise InvalidInput("the problem has integer variables, and a classifier requires a convex problem.")
    if solved.status is None:
        raise NotFitted("the problem is not solved: call problem.solve() first.")
    if solved.value is None or not np.isfinite(solved.value):
        raise SolverFailed(f"the problem has no answer: its status is '{solved.status}'.")
    variables = {variable.id for variable in solved.variables()}
    needed = [*compiled.tie.coefficients.halves, compiled.f.b]
    missing = [variable.name() for variable in needed if variable.id not in variables]
    if missing:
        raise InvalidInput(
            f"the problem does not contain the variables {', '.join(missing)} of this assembly. Read "
            "assembly.problem again, and keep its constraints."
        )
    known = {constraint.id for constraint in solved.constraints}
    used = [e.variable for e in compiled.f.evaluations if e.variable.id in variables]
    tied = {g.id for equation, (g, *_) in compiled.tie.parts.items() if equation in known}
    loose = [variable.name() for variable in used if variable.id not in tied]
    if loose:
        raise InvalidInput(
            f"the problem uses the values {', '.join(loose)} of f without the equations that define them. "
            "Evaluate f at all points first, then read assembly.problem, and keep its constraints."
        )


def _outcome(compiled: Compiled, solved: cp.Problem) -> Outcome:
    """Return the judged outcome of a solved problem."""
    stats = solved.solver_stats
    name = str(stats.solver_name) if stats is not None else "CVXPY"
    unit, costs = compiled.units()
    found = residuals(solved, compiled.jacobians(), unit, {**costs, compiled.f.b: unit}, compiled.products())
    route = find_route(name)
    accepted = ACCURACY if route is None else route.accuracy(compiled.spec.tol)
    others = ", ".join(other for other in able(class_of(compiled)) if other != name)
    status, remark = judge(name, solved.status, found, accepted, others, compiled.spec.scale is not None)
    seconds = float(getattr(stats, "solve_time", None) or 0.0)
    steps = getattr(stats, "num_iters", None)
    return Outcome(name, status, found, float(solved.compilation_time or 0.0), seconds, steps, remark=remark)


def _with_own_terms(problem: Problem, solution: Solution, solved: cp.Problem, own: str) -> BinaryModel:
    """Return the model with one more block: the terms of ``solved`` that the problem does not have."""
    import cvxpy as cp

    compiled = problem.compiled
    original = compiled.problem
    present = {constraint.id for constraint in original.constraints}
    added = [constraint for constraint in solved.constraints if constraint.id not in present]
    new = {c.label or f"constraint_{k}": c for k, c in enumerate(added, 1)}
    solution.value = float(solved.value)
    solution.duals.update({f"{own}.{label}": c.dual_value for label, c in new.items()})
    # The changes are not known term by term, so the problem cannot be assembled again.
    changes = Member(own, OwnTerms(NOT_STORED, new), 1.0)
    states = {**problem.states, own: None}
    solution.compiled = copy.copy(compiled)
    vars(solution.compiled)["problem"] = solved
    solution.compiled.members = [*compiled.members, changes]
    solution.compiled.constraints = {
        **compiled.constraints,
        **{f"{own}.{label}": constraint for label, constraint in new.items()},
    }
    binary = BinaryModel.of(replace(problem, members=[*problem.members, changes], states=states), solution)
    margin = compiled.constraints["svm.margin"].id
    if solved.objective is not original.objective or margin not in {c.id for c in solved.constraints}:
        remainder = solution.value - binary.objective
        binary.penalties[own, "mu"] = remainder
        weight = cp.Parameter(nonneg=True, value=1.0, name=f"{own}.mu")
        solution.compiled.terms = [*compiled.terms, Term(own, "mu", weight, cp.Constant(remainder))]
    return binary
