r"""The fast route: a problem that only adds or reweights rows *is* a weighted SVM, so LIBSVM solves its dual.

.. math:: \max_\alpha \sum_i \alpha_i - \tfrac12 \alpha^\top Y K Y \alpha, \qquad
          0 \le \alpha_i \le C\,\mathrm{cost}_i, \quad y^\top \alpha = 0 .
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy import linalg
from scipy.linalg import LinAlgWarning

from ..assemble import Spec
from ..cache import Cache
from ..decision import (
    Fitted,
    FittedKernel,
    LinearMap,
    fits_in_memory,
    refuse_beyond_memory,
    require_psd,
)
from ..diagnose import Residuals
from ..errors import InvalidInput
from ..prior import Member
from ..sample import Array, Sample

# With more rows than this, and than columns, a linear machine is solved faster by an interior point on its
# d + 1 parameters: LIBSVM took 10 s for 1000 rows of 20 columns at C = 100, Clarabel 0.07 s.
LINEAR_ROWS = 300

# LIBSVM mostly has the right support vectors at this tolerance; polishing takes it from there to 1e-12, and
# proves it. It costs a kernel matrix of rows x support vectors, as any check of the answer would.
LOOSE = 1e-3

# Up to this many rows "auto" asks a CVXPY solver when LIBSVM's answer is not good enough.
SECOND_TRY_ROWS = 2000
POLISH_STEPS = 20

OPTIONS = {"cache_size", "max_iter", "random_state", "shrinking", "tol", "verbose"}

# A kernel matrix up to this size is kept for the next machine, or for polishing.
SHARED_BYTES = 2**31


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
    rows = int(np.count_nonzero(sample.cost))
    return spec.kernel is not None or rows <= max(LINEAR_ROWS, sample.X.shape[1])


def solve(
    spec: Spec, sample: Sample, grams: Cache | None = None, options: dict[str, Any] | None = None
) -> tuple[Fitted, Array, str, float, Residuals | None]:
    """f, the dual variable of every row, the status, the seconds it took, and the residuals.

    The residuals are None where they would take a kernel matrix that is better worked out in pieces.

    With ``grams`` the kernel matrix is computed once and kept there for the next machine on the same rows.
    """
    from sklearn import config_context
    from sklearn.svm import SVC
    from sklearn.utils._param_validation import InvalidParameterError

    active = np.flatnonzero(sample.cost > 0)
    X, y, bound = sample.X[active], sample.y[active], spec.C * sample.cost[active]
    features = LinearMap(X.shape[1], spec.scale)
    Z = features.rows(X)
    middle = Z.mean(axis=0) if spec.kernel is None else np.zeros(Z.shape[1])
    Z = Z - middle  # a linear machine's bias absorbs it, and LIBSVM's single-precision cache keeps its digits
    native = {"kernel": "linear"} if spec.kernel is None else spec.kernel.libsvm_params()
    gram = None
    if native is None or (grams is not None and _worth_sharing(len(X), len(X))):
        native = {"kernel": "precomputed"}
        gram = (grams or Cache()).get(
            (spec.kernel, spec.scale and vars(spec.scale), X), lambda: _gram(spec, Z)
        )
    options = {"cache_size": 500, **(options or {})}
    unknown = sorted(set(options) - OPTIONS)
    if unknown:
        raise InvalidInput(
            f"LIBSVM does not take these solver_options: {', '.join(unknown)}. "
            f"It takes: {', '.join(sorted(OPTIONS))}."
        )
    machine = SVC(C=1.0, **options, **native)

    def between(rows: Array, columns: Array) -> Array:
        if gram is not None:
            return gram[np.ix_(rows, columns)]
        return Z[rows] @ Z[columns].T if spec.kernel is None else spec.kernel(Z[rows], Z[columns])

    start = time.perf_counter()
    polishing = spec.tol < LOOSE and "tol" not in options
    checked = set(options) <= {"cache_size", "max_iter"} and isinstance(options.get("max_iter", 0), int)
    for tol in [LOOSE, spec.tol] if polishing else [options.get("tol", spec.tol)]:
        machine.tol = tol
        with config_context(assume_finite=True, skip_parameter_validation=checked), warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Solver terminated early")  # the status says so
            try:
                machine.fit(Z if gram is None else gram, y, sample_weight=bound)
            except InvalidParameterError as error:
                raise InvalidInput(f"LIBSVM does not take these solver_options: {error}") from error
        support, weights, bias = machine.support_, machine.dual_coef_[0], float(machine.intercept_[0])
        polished = polish(between, y, bound, support, weights, spec.tol) if polishing else None
        if polished is not None:
            support, weights, bias = polished
            break
    found = None
    if polished is None and _worth_sharing(len(y), len(support)):
        K = between(np.arange(len(y)), support)
        half = 0.5 * float(weights @ K[support] @ weights)
        found = gap_of(half, y * (K @ weights + bias), np.abs(weights), bound, y[support])
        if found.gap > 10 * spec.tol and "tol" not in options:
            polished = polish(between, y, bound, support, weights, min(spec.tol, 1e-6))
            if polished is not None:
                support, weights, bias = polished
    seconds = time.perf_counter() - start
    alpha = np.zeros(len(sample))
    alpha[active[support]] = np.abs(weights)
    f: Fitted
    if spec.kernel is None:
        coef = weights @ Z[support]
        f = features.fitted(coef, bias - float(coef @ middle))
    else:
        f = FittedKernel(bias, spec.kernel, X[support], weights, spec.scale)
    if polished is not None:
        return f, alpha, "polished", seconds, None
    return f, alpha, "optimal" if machine.fit_status_ == 0 else "optimal_inaccurate", seconds, found


def gap_of(half: float, scores: Array, alpha: Array, bound: Array, y: Array) -> Residuals:
    """Residuals of a weighted SVM, from half its squared norm, y f of all rows, and signed duals."""
    primal = half + float(bound @ np.maximum(1.0 - scores, 0.0))
    dual = float(alpha.sum()) - half
    balance = abs(float(alpha @ y)) / (1.0 + float(alpha.max(initial=0.0)))
    return Residuals(0.0, 0.0, balance, abs(primal - dual) / (1.0 + abs(primal)))


def _worth_sharing(rows: int, columns: int) -> bool:
    return 8 * rows * columns <= SHARED_BYTES and fits_in_memory(rows, columns, 0.25)


def _gram(spec: Spec, Z: Array) -> Array:
    refuse_beyond_memory(len(Z), len(Z), "the kernel matrix", "Give fewer rows, or set n_centres.")
    if spec.kernel is None:
        return Z @ Z.T
    K = spec.kernel(Z)
    require_psd(spec.kernel, K)
    return K


def polish(
    between: Callable[[Array, Array], Array],
    y: Array,
    bound: Array,
    support: Array,
    weights: Array,
    tol: float,
) -> tuple[Array, Array, float] | None:
    r"""Solve the optimality conditions exactly, starting from the support vectors LIBSVM found.

    Rows strictly between their bounds lie on the margin: :math:`K_F\,(y \alpha) + b = y_F` with
    :math:`y^\top \alpha = 0`. One linear system replaces LIBSVM's tolerance, and the rounding of its kernel
    cache, by that of the linear algebra. Rows that leave their bounds become fixed, rows on the wrong side
    of the margin become free, until neither happens: then every condition holds to ``tol``. None if that
    does not end soon.
    """
    signed = np.zeros(len(y))
    signed[support] = weights
    at_bound = np.abs(signed) > (1 - 1e-8) * bound
    free = (signed != 0) & ~at_bound
    columns = support
    if not _worth_sharing(len(y), len(columns)):
        return None
    K = between(np.arange(len(y)), columns)
    for _ in range(POLISH_STEPS):
        signed = np.where(at_bound, y * bound, 0.0)
        among = free[columns]
        inner = columns[among]
        right = np.append(y[inner] - K[inner] @ signed[columns], -signed.sum())
        solution = _bordered(K[np.ix_(inner, among)], right)
        if solution is None:
            return None
        signed[inner], bias = solution[:-1], float(solution[-1])
        below, above = free & (y * signed < 0), free & (y * signed > bound * (1 + 1e-12))
        if below.any() or above.any():
            free &= ~(below | above)
            at_bound |= above
            continue
        excess = y * (K @ signed[columns] + bias) - 1.0
        wrong = np.where(at_bound, excess > tol, (excess < -tol) & ~free) | (free & (np.abs(excess) > tol))
        if not wrong.any():
            kept = np.flatnonzero(signed)
            return kept, signed[kept], bias
        free |= wrong
        at_bound &= ~wrong
        new = np.setdiff1d(np.flatnonzero(wrong), columns)
        if len(new):
            K = np.hstack([K, between(np.arange(len(y)), new)])
            columns = np.concatenate([columns, new])
    return None


def _bordered(K: Array, right: Array) -> Array | None:
    """Solve [K 1; 1' 0] x = right; of many solutions (equal rows) the shortest."""
    n = len(right) - 1
    if n == 0:
        return None
    system = np.ones((n + 1, n + 1))
    system[:n, :n] = K
    system[n, n] = 0.0
    with warnings.catch_warnings():
        warnings.simplefilter("error", LinAlgWarning)
        try:
            return linalg.solve(system, right, assume_a="sym", check_finite=False)
        except (linalg.LinAlgError, LinAlgWarning):
            return linalg.lstsq(system, right, cond=1e-12, check_finite=False)[0]
