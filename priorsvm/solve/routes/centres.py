r"""Column generation for the 1-norm model, over centres or over the features of a linear model.

.. math:: \min_{c, b, \xi}\; \|c\|_1 + \sum_i C_i \xi_i \quad\text{s.t.}\quad
          y_i(\varphi_i^\top c + b) \ge \rho_i - \xi_i, \quad \xi \ge 0 .

CVXPY would copy the dense kernel matrix twice, and a simplex method would visit most of its columns. Here the
matrix is computed once, and :func:`.linear_programme.solve_1norm` selects columns from it.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from scipy.sparse import issparse

from ..._utils.arrays import Array
from ..._utils.cache import Cache
from ...function.maps import KernelMap, LinearMap
from ...function.memory import refuse_beyond_memory
from ...problem.assemble import l1_centres
from ...problem.residuals import Residuals
from ...sample import Sample
from ...spec import Spec
from ..methods.linear_programme import solve_1norm
from ..route import Problem, Route
from ..solution import Outcome, Solution


class Centres(Route):
    """Route of 1-norm models with the hinge and dense X."""

    name = "CENTRES"
    kind = "1-norm SVM"
    factor = 1.0
    floor = 1e-9
    note = "hinge, dense X, blocks that add or reweight rows"

    def obstacle(self, problem: Problem) -> str | None:
        reason = problem.beyond_rows()
        if reason is not None:
            return reason
        if problem.spec.norm != "l1":
            return "it has the 1-norm only, not norm='l2'"
        if problem.spec.loss != "hinge":
            return "it has the hinge only, not loss='squared_hinge'"
        if issparse(problem.sample.X):
            return "it takes no sparse X"
        if problem.spec.hard:
            return "it requires a finite C"
        return None

    def solve(self, problem: Problem, options: dict[str, Any]) -> Solution:
        start = time.perf_counter()
        spec = problem.spec
        sample = problem.sample
        active = sample.counted_rows
        y = sample.y[active]
        features, Phi = _matrix(spec, sample, sample.X[active], problem.grams or Cache())
        before = time.perf_counter()
        cost = spec.C * sample.cost[active]
        found = solve_1norm(Phi, y, sample.margin[active], cost, deadline=spec.deadline)
        seconds = time.perf_counter() - before
        alpha = np.zeros(len(sample))
        alpha[active] = found.alpha
        balance = abs(float(y @ found.alpha)) / (1.0 + float(found.alpha.sum()))
        residuals = Residuals(0.0, 0.0, balance, found.gap)
        rest = time.perf_counter() - start - seconds
        return Solution(
            features.fitted(found.c, found.bias),
            alpha,
            alpha > spec.negligible_dual(sample.cost, float(alpha.max())),
            Outcome(self.name, "optimal", residuals, rest, seconds, found.steps),
            {"svm.margin": alpha[active]},
        )


def _matrix(spec: Spec, sample: Sample, X: Array, grams: Cache) -> tuple[LinearMap | KernelMap, Array]:
    """Return the feature map of f and its values at the rows, which are kept in ``grams``."""
    if spec.kernel is None:
        features = LinearMap(X.shape[1], spec.scale)
        return features, features.rows(X)
    around = KernelMap(spec.kernel.double, l1_centres(spec, sample), spec.scale)
    refuse_beyond_memory(len(X), around.size, "the kernel matrix", "Set n_centres to work with fewer.")
    key = ("1-norm", spec.kernel, spec.scale and vars(spec.scale), X, around.centres)
    return around, grams.get(key, lambda: around.rows(X))
