"""Route NORMAL: the interior point of :mod:`.normal_equations`, and a polish from its active set.

A linear model has the rows of X. A kernel model has the rows of a low-rank factor of its kernel matrix, and
takes this route if C is so large that LIBSVM stalls.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from ..._utils.cache import Cache
from ...errors import SolverFailed
from ..methods.active import FullKernelMatrix, LinearKernelMatrix, polish
from ..methods.normal_equations import GUESS, low_rank_rows, solve_normal
from ..route import Problem
from ..solution import Solution
from ..weighted import Weighted, worth_sharing
from .weighted_route import WeightedRoute

# Largest gap of the interior point for a linear model.
EXACT = 1e-10


class Normal(WeightedRoute):
    """Route of linear models, and of kernels of low rank."""

    name = "NORMAL"
    note = "linear models with either loss, and kernels of low rank with the hinge"

    def obstacle(self, problem: Problem) -> str | None:
        reason = super().obstacle(problem)
        if reason is not None or problem.spec.linear:
            return reason
        if problem.spec.loss != "hinge":
            return "with a kernel it has the hinge only, not loss='squared_hinge'"
        n = problem.n_rows
        if not worth_sharing(n, n):
            return f"the kernel matrix of {n} rows is too large to keep"
        return None

    def solve_weighted(self, weighted: Weighted, grams: Cache | None, options: dict[str, Any]) -> Solution:
        if weighted.spec.linear:
            return _solve_linear(weighted)
        return _solve_low_rank(weighted, grams)


def _solve_linear(problem: Weighted) -> Solution:
    """Return the polished solution if it is accurate, else the better of the two."""
    start = time.perf_counter()
    spec = problem.spec
    y = problem.y
    bound = problem.bound
    found = solve_normal(
        problem.Z, y, bound, problem.margin, problem.squared, min(spec.tol, EXACT), deadline=spec.deadline
    )
    solutions = []
    a = y * found.guess(bound)
    between = np.count_nonzero((a != 0) & (np.abs(a) < bound))
    # More rows between the bounds than a basis has: equal rows on the margin have no unique dual variables.
    if between <= 2 * problem.Z.shape[1] + 2 and not problem.squared:
        kernel = LinearKernelMatrix(problem.Z)
        exact = polish(kernel, y, bound, a, spec.tol, problem.margin, deadline=spec.deadline)
        if exact is not None:
            seconds = time.perf_counter() - start
            solution = problem.solution(
                "NORMAL", exact.a, exact.bias, seconds, found.steps, scores=exact.scores
            )
            if solution.residuals.worst <= spec.tol:
                return solution
            solutions.append(solution)
    a = y * (found.alpha if problem.squared else np.minimum(found.alpha, bound))
    seconds = time.perf_counter() - start
    solutions.append(problem.solution("NORMAL", a, found.bias, seconds, found.steps, coef=found.c))
    return min(solutions, key=lambda solution: solution.residuals.worst)


def _solve_low_rank(problem: Weighted, grams: Cache | None) -> Solution:
    """Return the solution for a kernel matrix, polished from the active set of its low-rank factor."""
    start = time.perf_counter()
    y = problem.y
    bound = problem.bound
    K = problem.gram(grams)
    spec = problem.spec
    found = solve_normal(low_rank_rows(K), y, bound, problem.margin, tol=GUESS, deadline=spec.deadline)
    kernel = FullKernelMatrix(K)
    guess = y * found.guess(bound)
    exact = polish(kernel, y, bound, guess, spec.tol, problem.margin, deadline=spec.deadline)
    if exact is None:
        raise SolverFailed(
            "NORMAL: the low-rank kernel has too many other rows on the margin. Use solver='auto', or a "
            "smaller C."
        )
    seconds = time.perf_counter() - start
    return problem.solution("NORMAL", exact.a, exact.bias, seconds, found.steps, scores=exact.scores)
