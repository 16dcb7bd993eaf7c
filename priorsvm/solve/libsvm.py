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
from scipy.linalg.lapack import dpotrf, dpotrs
from scipy.sparse import issparse

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
from ..rows import products
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

# A machine on these many rows says whether LIBSVM needs most of the kernel matrix. Then, up to this size, it
# is worked out at once, by so few rows at a time that no new memory is needed for them, which is slow to get.
PILOT_ROWS = 100
GRAM_BYTES = 2**28
GRAM_BLOCK = 128


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
    active = np.flatnonzero(sample.cost > 0)
    X, y, bound = sample.X[active], sample.y[active], spec.C * sample.cost[active]
    features = LinearMap(X.shape[1], spec.scale)
    Z = features.rows(X)
    sparse = issparse(Z)
    middle = np.zeros(Z.shape[1]) if sparse or spec.kernel is not None else Z.mean(axis=0)
    # A linear machine's bias absorbs the middle, and LIBSVM's single-precision cache keeps its digits.
    Z = Z if sparse else np.ascontiguousarray(Z if spec.kernel is not None else Z - middle)
    options = _checked(options or {})
    native = {"kernel": "linear"} if spec.kernel is None else spec.kernel.libsvm_params()

    def facing(columns: Array) -> Array:
        """The kernel matrix between all rows and some."""
        return products(Z, Z[columns]) if spec.kernel is None else spec.kernel(Z, Z[columns])

    start = time.perf_counter()
    polishing = spec.tol < LOOSE and "tol" not in options
    everything, gram = np.arange(len(y)), None
    attempts = [(everything, LOOSE)] * polishing + [(everything, options.get("tol", spec.tol))]
    if native is None or sparse or (grams is not None and _worth_sharing(len(y), len(y))):
        key = (spec.kernel, spec.scale and vars(spec.scale), X)
        gram = (grams or Cache()).get(key, lambda: _gram(spec, Z))
    elif len(y) >= 5 * PILOT_ROWS:
        few, weights, bias = _pilot(Z, y, bound, native)
        share = len(few) / PILOT_ROWS
        # The share of support vectors falls with N. These numbers were found on data of several kinds.
        if 8 * len(y) ** 2 <= GRAM_BYTES and share * (PILOT_ROWS / len(y)) ** (1 / 6) > 0.38:
            gram = _gram(spec, Z)
        elif len(y) >= 10 * PILOT_ROWS and 0 < share < 1 / 3 and "tol" not in options:
            scores = y * (facing(few) @ weights + bias)
            near = np.sort(np.argsort(scores)[: int(1.5 * share * len(y))])
            attempts = [(near, LOOSE), *attempts] if np.ptp(y[near]) > 0 else attempts
    for rows, tol in attempts:
        if gram is not None:
            support, weights, bias, ended = _run(gram, y, bound, {"kernel": "precomputed"}, tol, options)
            K, columns = gram, everything
        else:
            assert native is not None
            support, weights, bias, ended = _run(Z[rows], y[rows], bound[rows], native, tol, options)
            support = rows[support]
            columns = np.sort(support)
            K = facing(columns) if _worth_sharing(len(y), len(columns)) else None
        signed = np.zeros(len(y))
        signed[support] = weights
        polished = None
        if polishing or rows is not everything:
            polished = polish(K, columns, facing, y, bound, signed, spec.tol if polishing else 1e-6)
        if polished is not None:
            break
    found = None
    if polished is None and K is not None:
        inner = K @ signed[columns]
        half = 0.5 * float(signed @ inner)
        found = gap_of(half, y * (inner + bias), np.abs(signed), bound, y)
        if found.gap > 10 * spec.tol and "tol" not in options:
            polished = polish(K, columns, facing, y, bound, signed, min(spec.tol, 1e-6))
    if polished is not None:
        signed, bias = polished
    seconds = time.perf_counter() - start
    support = np.flatnonzero(signed)
    alpha = np.zeros(len(sample))
    alpha[active] = np.abs(signed)
    f: Fitted
    if spec.kernel is None:
        coef = np.asarray(signed[support] @ Z[support])
        f = features.fitted(coef, bias - float(coef @ middle))
    else:
        f = FittedKernel(bias, spec.kernel, X[support], signed[support], spec.scale)
    if polished is not None:
        return f, alpha, "polished", seconds, None
    return f, alpha, "optimal" if ended else "optimal_inaccurate", seconds, found


def _checked(options: dict[str, Any]) -> dict[str, Any]:
    """The options, if LIBSVM takes them, with ours for those not given."""
    unknown = sorted(set(options) - OPTIONS)
    if unknown:
        raise InvalidInput(
            f"LIBSVM does not take these solver_options: {', '.join(unknown)}. "
            f"It takes: {', '.join(sorted(OPTIONS))}."
        )
    if set(options) != {"max_iter"} or not isinstance(options["max_iter"], int):
        from sklearn.svm import SVC
        from sklearn.utils._param_validation import InvalidParameterError

        try:
            SVC(**options)._validate_params()
        except InvalidParameterError as error:
            raise InvalidInput(f"LIBSVM does not take these solver_options: {error}") from error
    return {"cache_size": 500, "max_iter": -1, "shrinking": True, **options}


def _run(
    points: Array, y: Array, bound: Array, kernel: dict[str, Any], tol: float, options: dict[str, Any]
) -> tuple[Array, Array, float, bool]:
    """LIBSVM's support vectors, their signed dual variables, the bias, and whether it came to its end.

    Without SVC around it, which would check rows again that have been checked: one millisecond for any N.
    """
    from sklearn.svm import _libsvm

    _libsvm.set_verbosity_wrap(int(options.get("verbose", False)))
    support, _, _, weights, bias, *_, status, _ = _libsvm.fit(
        points,
        y,
        svm_type=0,
        C=1.0,
        sample_weight=bound,
        tol=tol,
        shrinking=int(options["shrinking"]),
        cache_size=float(options["cache_size"]),
        max_iter=int(options["max_iter"]),
        **kernel,
    )
    return support, -weights[0], -float(bias[0]), status == 0  # LIBSVM's first class is -1


def _pilot(Z: Array, y: Array, bound: Array, native: dict[str, Any]) -> tuple[Array, Array, float]:
    """Support vectors, their signed dual variables and the bias of a machine on a few of the rows.

    Many support vectors: LIBSVM would work out most columns of the kernel matrix, one entry at a time, and
    BLAS has the whole matrix sooner. Few: they will lie where this machine has its margin, and LIBSVM need
    not look at the other rows: the polish does.
    """
    few = np.linspace(0, len(y) - 1, PILOT_ROWS).astype(int)
    if np.ptp(y[few]) == 0:
        return few[:0], np.empty(0), 0.0
    options = {"cache_size": 10, "max_iter": 10 * PILOT_ROWS, "shrinking": True}
    support, weights, bias, _ = _run(Z[few], y[few], bound[few], native, LOOSE, options)
    return few[support], weights, bias


def gap_of(half: float, scores: Array, alpha: Array, bound: Array, y: Array) -> Residuals:
    """Residuals of a weighted SVM, from half its squared norm, y f of all rows, and signed duals."""
    primal = half + float(bound @ np.maximum(1.0 - scores, 0.0))
    dual = float(alpha.sum()) - half
    balance = abs(float(alpha @ y)) / (1.0 + float(alpha.max(initial=0.0)))
    return Residuals(0.0, 0.0, balance, abs(primal - dual) / (1.0 + abs(primal)))


def _worth_sharing(rows: int, columns: int) -> bool:
    return 8 * rows * columns <= SHARED_BYTES and fits_in_memory(rows, columns, 0.25)


def _gram(spec: Spec, Z: Any) -> Array:
    n = Z.shape[0]
    refuse_beyond_memory(n, n, "the kernel matrix", "Give fewer rows, or set n_centres.")
    if spec.kernel is None:
        return products(Z, Z)
    if spec.kernel.definiteness != "psd" or spec.kernel.whole:
        K = spec.kernel(Z)
        require_psd(spec.kernel, K)
        return K
    K = np.empty((n, n))
    for start in range(0, n, GRAM_BLOCK):
        stop = start + GRAM_BLOCK
        K[start:stop, start:] = spec.kernel(Z[start:stop], Z[start:])
        K[stop:, start:stop] = K[start:stop, stop:].T
    return K


def polish(
    K: Array | None,
    columns: Array,
    facing: Callable[[Array], Array],
    y: Array,
    bound: Array,
    signed: Array,
    tol: float,
) -> tuple[Array, float] | None:
    r"""Solve the optimality conditions exactly, starting from the signed dual variables LIBSVM found.

    Rows strictly between their bounds lie on the margin: :math:`K_F\,(y \alpha) + b = y_F` with
    :math:`y^\top \alpha = 0`. One linear system replaces LIBSVM's tolerance, and the rounding of its kernel
    cache, by that of the linear algebra. Rows that leave their bounds become fixed, rows on the wrong side
    of the margin become free, until neither happens: then every condition holds to ``tol``. None if that
    does not end soon.

    ``K`` is the kernel matrix between all rows and ``columns``, ``facing`` makes more of it.
    """
    at_bound = np.abs(signed) > (1 - 1e-8) * bound
    free = (signed != 0) & ~at_bound
    if K is None:
        return None
    for _ in range(POLISH_STEPS):
        signed = np.where(at_bound, y * bound, 0.0)
        among, fixed = np.flatnonzero(free[columns]), np.flatnonzero(at_bound[columns])
        inner = columns[among]
        fixed_part = K[np.ix_(inner, fixed)] @ signed[columns[fixed]]
        right = np.append(y[inner] - fixed_part, -signed.sum())
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
            return signed, bias
        free |= wrong
        at_bound &= ~wrong
        new = np.setdiff1d(np.flatnonzero(wrong), columns)
        if len(new):
            K = np.hstack([K, facing(new)])
            columns = np.concatenate([columns, new])
    return None


def _bordered(K: Array, right: Array) -> Array | None:
    """Solve [K 1; 1' 0] x = right; of many solutions (equal rows) the shortest."""
    n = len(right) - 1
    if n == 0:
        return None
    factor, failed = dpotrf(K.T, lower=1)  # .T is the order of LAPACK, and K is symmetric
    pivots = factor.diagonal()
    if not failed and pivots.min() > 1e-6 * pivots.max():
        u, v = dpotrs(factor, np.column_stack([right[:n], np.ones(n)]), lower=1)[0].T
        bias = (u.sum() - right[n]) / v.sum()
        return np.append(u - bias * v, bias)
    system = np.ones((n + 1, n + 1))
    system[:n, :n] = K
    system[n, n] = 0.0
    with warnings.catch_warnings():
        warnings.simplefilter("error", LinAlgWarning)
        try:
            return linalg.solve(system, right, assume_a="sym", check_finite=False)
        except (linalg.LinAlgError, LinAlgWarning):
            return linalg.lstsq(system, right, cond=1e-12, check_finite=False)[0]
