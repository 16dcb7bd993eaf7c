r"""The fast route of kernel machines: LIBSVM for a good guess, and an active-set method for the exact answer.

.. math:: \max_\alpha \sum_i \alpha_i - \tfrac12 \alpha^\top Y K Y \alpha, \qquad
          0 \le \alpha_i \le C\,\mathrm{cost}_i, \quad y^\top \alpha = 0 .

LIBSVM stops at a tolerance and keeps its kernel matrix in single precision. At a loose tolerance it already
has nearly all rows where they belong: at zero, at their bound, or on the margin between.
:func:`.active.polish` puts the others right and solves for those on the margin in double precision, with all
rows in view.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..._utils.arrays import Array
from ..._utils.cache import Cache
from ..._utils.foreign import check_svc_options, fit_libsvm
from ...errors import InvalidInput
from ...prior import Member
from ...sample import Sample
from ...spec import Spec
from ..methods.active import LazyKernelMatrix, polish
from . import weighted
from .weighted import Answer, Weighted, worth_sharing

# With tol below LOOSE the answer is polished, and LIBSVM stops at ROUGH. Measured at 1e-1, 1e-2 and 1e-3: the
# first leaves most to the polish, the last took up to twice the iterations and saved a hundredth of the time.
LOOSE = 1e-3
ROUGH = 1e-2

# Iterations, at least and per row, as LIBSVM itself has them where scikit-learn has no limit.
LIMIT = (10_000_000, 100)

# A run that was cut short can be polished if this share of the rows, or less, lies between the bounds.
FEW = 0.05

OPTIONS = {"cache_size", "max_iter", "random_state", "shrinking", "tol", "verbose"}

# A machine on these many rows says whether LIBSVM needs most of the kernel matrix. Then, up to this size, it
# is worked out at once.
PILOT_ROWS = 100
GRAM_BYTES = 2**28


def obstacle(spec: Spec, members: Sequence[Member], sample: Sample) -> str | None:
    """Why LIBSVM cannot solve this problem, or None if it can."""
    reason = weighted.obstacle(spec, members)
    if reason is not None:
        return reason
    if spec.loss != "hinge":
        return "it has the hinge only, not loss='squared_hinge'"
    if np.any(sample.margin[sample.cost > 0] != 1.0):
        return "some rows ask for a margin other than 1"
    return None


def solve(problem: Weighted, grams: Cache | None = None, options: dict[str, Any] | None = None) -> Answer:
    """The exact answer where it was polished, else what LIBSVM says; the residuals tell.

    With ``grams`` the kernel matrix is computed once and kept there for the next machine on the same rows.
    """
    spec = problem.spec
    y = problem.y
    bound = problem.bound
    n = len(problem)
    options = _checked(options or {}, n)
    native = {"kernel": "linear"} if spec.kernel is None else spec.kernel.libsvm_params()
    start = time.perf_counter()
    rows = problem.Z
    if native is not None and native["kernel"] == "rbf":
        rows = rows - rows.mean(axis=0)  # distances far from the origin would lose their digits in LIBSVM
    everything = np.arange(n)
    tol = options.get("tol", spec.tol)
    polishing = tol < LOOSE and "tol" not in options
    attempts = [(everything, ROUGH if polishing else tol, 5.0)] + [(everything, tol, 5.0)] * polishing
    gram = None
    if native is None or problem.sparse or (grams is not None and worth_sharing(n, n)):
        gram = problem.gram(grams)
    elif n >= 5 * PILOT_ROWS:
        few, weights, bias = _pilot(rows, y, bound, native)
        share = len(few) / PILOT_ROWS
        noisy = bool((np.abs(weights) >= bound[few]).any())
        # The share of support vectors falls with N. These numbers were found on data of several kinds.
        if 8 * n**2 <= GRAM_BYTES and share * (PILOT_ROWS / n) ** (1 / 6) > 0.38:
            gram = problem.gram()
        # Noise puts rows at their bound, and such rows lie anywhere.
        elif n >= 10 * PILOT_ROWS and 0 < share < 1 / 3 and polishing and not noisy:
            scores = y * (problem.facing(few) @ weights + bias)
            near = np.sort(np.argsort(scores)[: int(1.5 * share * n)])
            attempts = [(near, ROUGH, 0.01), *attempts] if np.ptp(y[near]) > 0 else attempts
    for shown, loose, effort in attempts:
        if gram is not None:
            a, bias, ended, steps = fit_libsvm(gram, y, bound, {"kernel": "precomputed"}, loose, options)
            kernel: LazyKernelMatrix | None = LazyKernelMatrix(gram, everything, problem.facing)
        else:
            assert native is not None
            of_shown, bias, ended, steps = fit_libsvm(
                rows[shown], y[shown], bound[shown], native, loose, options
            )
            a = np.zeros(n)
            a[shown] = of_shown
            columns = np.flatnonzero(a)
            fits = worth_sharing(n, len(columns))
            kernel = LazyKernelMatrix(problem.facing(columns), columns, problem.facing) if fits else None
        between = np.count_nonzero((a != 0) & (np.abs(a) < bound))
        polished = None
        if kernel is not None and loose != tol and (ended or between <= FEW * n):
            polished = polish(kernel, y, bound, a, tol, effort=effort)
        if polished is not None or (not ended and shown is everything):
            break
    if polished is None:
        known = None if kernel is None else kernel.times(a) + bias
        status = "optimal" if ended else "user_limit"
        seconds = time.perf_counter() - start
        answer = problem.answer(a, bias, status, seconds, steps, known)
        if ended and kernel is not None and answer.residuals.gap > 10 * spec.tol and "tol" not in options:
            polished = polish(kernel, y, bound, a, tol)
        if polished is None:
            return answer
    seconds = time.perf_counter() - start
    return problem.answer(polished.a, polished.bias, "optimal", seconds, steps, polished.scores)


def _checked(options: dict[str, Any], n: int) -> dict[str, Any]:
    """The options, if LIBSVM takes them, with ours for those not given."""
    unknown = sorted(set(options) - OPTIONS)
    if unknown:
        raise InvalidInput(
            f"LIBSVM does not take these solver_options: {', '.join(unknown)}. "
            f"It takes: {', '.join(sorted(OPTIONS))}."
        )
    if set(options) != {"max_iter"} or type(options["max_iter"]) is not int or options["max_iter"] < -1:
        check_svc_options(options)
    return {"cache_size": 500, "max_iter": max(LIMIT[0], LIMIT[1] * n), "shrinking": True, **options}


def _pilot(Z: Array, y: Array, bound: Array, native: dict[str, Any]) -> tuple[Array, Array, float]:
    """Support vectors, their signed multipliers and the bias of a machine on a few of the rows.

    Many support vectors: LIBSVM would work out most columns of the kernel matrix, one entry at a time, and
    BLAS has the whole matrix sooner. Few: they will lie where this machine has its margin, and LIBSVM need
    not look at the other rows: the polish does.
    """
    few = np.linspace(0, len(y) - 1, PILOT_ROWS).astype(int)
    if np.ptp(y[few]) == 0:
        return few[:0], np.empty(0), 0.0
    options = {"cache_size": 10, "max_iter": 10 * PILOT_ROWS, "shrinking": True}
    a, bias, *_ = fit_libsvm(Z[few], y[few], bound[few], native, LOOSE, options)
    return few[a != 0], a[a != 0], bias
