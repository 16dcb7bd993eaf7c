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
    alpha = np.zeros(len(sample))
    alpha[active[support]] = np.abs(weights)
    bias = float(machine.intercept_[0])
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
        grams[key] = Z @ Z.T if spec.kernel is None else spec.kernel(Z)
    return grams[key]
