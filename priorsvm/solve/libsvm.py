r"""The fast route: a problem that only adds or reweights rows *is* a weighted SVM, so LIBSVM solves its dual.

.. math:: \max_\alpha \sum_i \alpha_i - \tfrac12 \alpha^\top Y K Y \alpha, \qquad
          0 \le \alpha_i \le C\,\mathrm{cost}_i, \quad y^\top \alpha = 0 .
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..assemble import Spec
from ..decision import Fitted, LinearMap, refuse_beyond_memory
from ..errors import InvalidInput
from ..prior import Member
from ..sample import Array, Sample

# Beyond this many rows a linear machine is solved faster by an interior point on its d + 1 parameters.
LINEAR_ROWS = 2000


def obstacle(spec: Spec, members: Sequence[Member], sample: Sample) -> str | None:
    """Why LIBSVM cannot solve this problem, or None if it can."""
    for name, block, weight in members:
        if weight > 0 and not block.only_rows:
            return f"block '{name}' does more than add or reweight rows"
    if spec.norm != "l2":
        return "it has the 2-norm only, not norm='l1'"
    if spec.loss != "hinge":
        return "it has the hinge only, not loss='squared_hinge'"
    if spec.n_centres is not None:
        return "it takes no n_centres"
    active = sample.cost > 0
    if np.any(sample.margin[active] != 1.0):
        return "some rows ask for a margin other than 1"
    return None


def prefers(spec: Spec, sample: Sample) -> bool:
    """Whether ``solver="auto"`` takes this route when it can."""
    return spec.kernel is not None or np.count_nonzero(sample.cost) <= LINEAR_ROWS


def solve(
    spec: Spec, sample: Sample, grams: dict[bytes, Array] | None = None, options: dict[str, Any] | None = None
) -> tuple[Fitted, Array, str, float]:
    """f, the dual variable of every row, the status and the seconds LIBSVM took.

    With ``grams`` the kernel matrix is computed once and kept there for the next machine on the same rows.
    """
    from sklearn.svm import SVC

    active = np.flatnonzero(sample.cost > 0)
    y = sample.y[active]
    if len(np.unique(y)) < 2:
        raise InvalidInput("the rows that have a positive cost are all of one class: two classes are needed.")
    X = sample.X[active]
    features = LinearMap(X.shape[1], spec.scale)
    Z = features.rows(X)
    native = {"kernel": "linear"} if spec.kernel is None else spec.kernel.libsvm_params()
    machine = SVC(C=spec.C, tol=spec.tol, cache_size=500, **(native or {}))
    if native is None or grams is not None:
        machine.kernel = "precomputed"
        Z = _gram(spec, X, Z, {} if grams is None else grams)
    try:
        machine.set_params(**(options or {}))
    except ValueError as error:
        raise InvalidInput(f"LIBSVM does not take these solver_options: {error}") from error
    cost = sample.cost[active]
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Solver terminated early")  # the status says so
        machine.fit(Z, y, sample_weight=None if np.all(cost == 1.0) else cost)
    seconds = time.perf_counter() - start
    weights, support = machine.dual_coef_[0], machine.support_
    bias = float(machine.intercept_[0])
    gram = Z[np.ix_(support, support)] if machine.kernel == "precomputed" else _between(spec, Z[support])
    weights, bias = polish(gram, y[support], spec.C * cost[support], weights, bias, spec.tol)
    alpha = np.zeros(len(sample))
    alpha[active[support]] = np.abs(weights)
    if spec.kernel is None:
        f = features.fitted(weights @ features.rows(X[support]), bias)
    else:
        f = Fitted(bias, None, spec.kernel, X[support], weights, spec.scale)
    return f, alpha, "optimal" if machine.fit_status_ == 0 else "optimal_inaccurate", seconds


def _gram(spec: Spec, X: Array, Z: Array, grams: dict[bytes, Array]) -> Array:
    key = X.tobytes()
    if key not in grams:
        refuse_beyond_memory(len(X), len(X), "the kernel matrix", "Give fewer rows, or set n_centres.")
        grams.clear()  # one at a time
        grams[key] = _between(spec, Z)
    return grams[key]


def _between(spec: Spec, Z: Array) -> Array:
    return Z @ Z.T if spec.kernel is None else spec.kernel(Z)


def polish(K: Array, y: Array, bound: Array, weights: Array, bias: float, tol: float) -> tuple[Array, float]:
    r"""Solve the optimality conditions exactly on the support vectors LIBSVM found.

    Those strictly between the bounds lie on the margin: :math:`K_F\,(y \alpha) + b = y_F` with
    :math:`y^\top \alpha = 0`. One linear system replaces LIBSVM's tolerance, and the rounding of its kernel
    cache, by that of the linear algebra. An answer that leaves the bounds, or moves by more than LIBSVM's
    tolerance explains, means that the set is not settled: then LIBSVM's own answer stands.
    """
    alpha = np.abs(weights)
    free = (alpha > 1e-8 * bound) & (alpha < (1 - 1e-8) * bound)
    n = np.count_nonzero(free)
    if n == 0:
        return weights, bias
    system = np.ones((n + 1, n + 1))
    system[:n, :n] = K[np.ix_(free, free)]
    system[n, n] = 0.0
    fixed = np.where(free, 0.0, y * bound)
    right = np.append(y[free] - K[free] @ fixed, -fixed.sum())
    try:
        solution = np.linalg.solve(system, right)
    except np.linalg.LinAlgError:  # two equal rows, say: LIBSVM's choice among many is as good as any
        return weights, bias
    exact = fixed
    exact[free] = solution[:n]
    inside = (y * exact >= 0).all() and (y * exact <= bound * (1 + 1e-12)).all()
    moved = np.abs(K @ (exact - weights) + solution[n] - bias).max()
    return (exact, float(solution[n])) if inside and moved <= 100 * tol else (weights, bias)
