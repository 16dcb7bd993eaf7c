"""The route of the 1-norm machine: column generation over centres, or over the columns of a linear machine.

CVXPY would carry the dense kernel matrix twice through its expressions, and a simplex method would visit most
of its columns. Here the matrix is made once, and the method of :mod:`linear_programme` picks from it.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse import issparse

from ..._utils.arrays import Array
from ..._utils.cache import Cache
from ...function.fitted import Fitted
from ...function.maps import KernelMap, LinearMap
from ...function.memory import refuse_beyond_memory
from ...prior import Member
from ...problem.assemble import l1_centres
from ...problem.residuals import Residuals
from ...sample import Sample
from ...spec import Spec
from ..methods.linear_programme import solve_1norm
from ..solvers import Outcome


def obstacle(spec: Spec, members: Sequence[Member], sample: Sample) -> str | None:
    """Why this route cannot solve the problem, or None if it can."""
    for name, block, weight in members:
        if weight > 0 and not block.only_rows:
            return f"block '{name}' does more than add or reweight rows"
    if spec.norm != "l1":
        return "it has the 1-norm only, not norm='l2'"
    if spec.loss != "hinge":
        return "it has the hinge only, not loss='squared_hinge'"
    if issparse(sample.X):
        return "it takes no sparse X"
    return None


def prefers(spec: Spec, sample: Sample) -> bool:
    """Whether ``solver="auto"`` takes this route when it can: always."""
    return True


@dataclass(frozen=True, eq=False)
class Solved:
    """f, its values at the rows that have a cost, the dual variable of every row, and how it went."""

    f: Fitted
    values: Array
    alpha: Array
    outcome: Outcome


def solve(spec: Spec, sample: Sample, grams: Cache | None = None) -> Solved:
    """Solve the machine. With ``grams`` the matrix is kept there for the next one on the same rows."""
    start = time.perf_counter()
    active = np.flatnonzero(sample.cost > 0)
    X = sample.X[active]
    y = sample.y[active]
    rho = sample.margin[active]
    features, Phi = _matrix(spec, sample, X, Cache() if grams is None else grams)
    before = time.perf_counter()
    found = solve_1norm(Phi, y, rho, spec.C * sample.cost[active])
    seconds = time.perf_counter() - before
    alpha = np.zeros(len(sample))
    alpha[active] = found.alpha
    balance = abs(float(y @ found.alpha)) / (1.0 + float(found.alpha.sum()))
    residuals = Residuals(0.0, 0.0, balance, found.gap)
    rest = time.perf_counter() - start - seconds
    outcome = Outcome("CENTRES", "optimal", residuals, rest, seconds, found.steps)
    return Solved(features.fitted(found.c, found.bias), Phi @ found.c + found.bias, alpha, outcome)


def _matrix(spec: Spec, sample: Sample, X: Array, grams: Cache) -> tuple[LinearMap | KernelMap, Array]:
    """The map behind f, and its values at the rows."""
    if spec.kernel is None:
        features = LinearMap(X.shape[1], spec.scale)
        return features, features.rows(X)
    around = KernelMap(spec.kernel.double, l1_centres(spec, sample), spec.scale)
    refuse_beyond_memory(len(X), around.size, "the kernel matrix", "Set n_centres to work with fewer.")
    key = ("1-norm", spec.kernel, spec.scale and vars(spec.scale), X, around.centres)
    return around, grams.get(key, lambda: around.rows(X))
