"""Route BAND: :func:`.band.solve_band` for linear models with many features."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from ..._utils.cache import Cache
from ..methods.band import LinearRows, solve_band
from ..route import Problem
from ..solution import Solution
from ..weighted import Weighted
from .weighted_route import WeightedRoute


class Band(WeightedRoute):
    """Route of linear models with the hinge."""

    name = "BAND"
    note = "linear models with many features, dense or sparse X, with the hinge"

    def __init__(self, most: int | None = None) -> None:
        """Set the number of sparse rows near the margin beyond which the route fails; None for no limit."""
        self.most = most

    def obstacle(self, problem: Problem) -> str | None:
        reason = super().obstacle(problem)
        if reason is None and not problem.spec.linear:
            reason = "it takes linear models only"
        if reason is None and problem.spec.loss != "hinge":
            reason = "it has the hinge only, not loss='squared_hinge'"
        return reason

    def solve_weighted(self, weighted: Weighted, grams: Cache | None, options: dict[str, Any]) -> Solution:
        start = time.perf_counter()
        if weighted.far_from_origin:
            rows = LinearRows(weighted.Z, np.zeros(weighted.Z.shape[1]))
        else:
            rows = LinearRows(weighted.rows, weighted.middle)
        spec = weighted.spec
        found = solve_band(
            rows, weighted.y, weighted.bound, weighted.margin, spec.tol, self.most, spec.deadline
        )
        coef = rows.total(found.a)
        scores = rows.values(coef) + found.bias
        seconds = time.perf_counter() - start
        return weighted.solution("BAND", found.a, found.bias, seconds, found.steps, scores=scores, total=coef)
