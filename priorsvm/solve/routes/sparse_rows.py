"""Route SPARSE: :func:`.dual_newton.newton` for linear models with sparse rows and many features."""

from __future__ import annotations

import time
from typing import Any

from scipy.sparse import csr_array, issparse

from ..._utils.cache import Cache
from ..methods.dual_newton import newton
from ..route import Problem
from ..solution import Solution
from ..weighted import Weighted
from .weighted_route import WeightedRoute


class Sparse(WeightedRoute):
    """Route of linear models with sparse X."""

    name = "SPARSE"
    note = "linear models with sparse X and many features, with either loss"

    def obstacle(self, problem: Problem) -> str | None:
        reason = super().obstacle(problem)
        if reason is None and (not problem.spec.linear or not issparse(problem.sample.X)):
            reason = "it takes sparse rows of a linear model only"
        return reason

    def solve_weighted(self, weighted: Weighted, grams: Cache | None, options: dict[str, Any]) -> Solution:
        start = time.perf_counter()
        Z = csr_array(weighted.features.rows(weighted.X))
        y = weighted.y
        deadline = weighted.spec.deadline
        alpha, bias, steps = newton(Z, y, weighted.bound, weighted.margin, weighted.squared, deadline)
        coef = (y * alpha) @ Z
        bias = bias + float(coef @ weighted.middle)
        seconds = time.perf_counter() - start
        return weighted.solution("SPARSE", y * alpha, bias, seconds, steps, total=coef)
