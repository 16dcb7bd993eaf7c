"""Verdicts of certifying solvers on the constraints of a problem."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from .._utils.deadline import NEVER, Deadline
from ..problem.residuals import residuals
from . import solvers
from .classes import classify
from .solvers import SOLVERS, choose, quiet

if TYPE_CHECKING:
    import cvxpy as cp


def verdicts(deadline: Deadline) -> tuple[Callable[[cp.Problem], bool], Callable[[cp.Problem, float], float]]:
    """Return :func:`is_infeasible` and :func:`least`, which raise OutOfTime after a deadline."""
    return partial(is_infeasible, deadline=deadline), partial(least, deadline=deadline)


def is_infeasible(problem: cp.Problem, deadline: Deadline = NEVER) -> bool:
    """Return whether a certifying solver proves that no point satisfies the constraints."""
    import cvxpy as cp

    problem_class = classify([], problem.constraints)
    names = [choose(problem_class)]
    if problem_class in SOLVERS["SCHUR"].solves:
        names.append("SCHUR")
    for name in names:
        try:
            with quiet():
                solvers.run(problem, name, **SOLVERS[name].within(deadline))
        except cp.SolverError:
            continue
        if problem.status in (cp.INFEASIBLE, cp.OPTIMAL):
            return bool(problem.status == cp.INFEASIBLE)
    return False


def least(problem: cp.Problem, reach: float, deadline: Deadline = NEVER) -> float:
    """Return a lower bound on a nonnegative optimum from a solver's dual variables, or 0.

    Parameters
    ----------
    problem : cvxpy.Problem
    reach : float
        Largest size of a variable: the residual slope of the Lagrangian is multiplied by it.
    deadline : Deadline, default=NEVER
        When the solver has to end, with OutOfTime.
    """
    import cvxpy as cp

    problem_class = classify([problem.objective.expr], problem.constraints)
    for name in dict.fromkeys((choose(problem_class), "CLARABEL", "SCHUR")):
        try:
            with quiet():
                facts = SOLVERS[name]
                solvers.run(problem, name, **facts.options(1e-9), **facts.within(deadline))
        except cp.SolverError:
            continue
        if problem.status in (cp.OPTIMAL, cp.OPTIMAL_INACCURATE):
            with np.errstate(divide="ignore", invalid="ignore"):  # CVXPY's distance of 0 from a cone
                found = residuals(problem)
            lost = found.gap * (1.0 + abs(problem.value)) + (found.stationarity + found.dual) * reach
            if found.primal <= 1e-5 and lost <= 1e-2:
                return max(float(problem.value) - lost, 0.0)
    return 0.0
