r"""LIBSVM for an approximate answer, then an active-set method for the exact one.

.. math:: \max_\alpha \sum_i \alpha_i - \tfrac12 \alpha^\top Y K Y \alpha, \qquad
          0 \le \alpha_i \le C\,\mathrm{cost}_i, \quad y^\top \alpha = 0 .

LIBSVM stops at a tolerance and stores its kernel matrix in single precision. At a loose tolerance nearly all
dual variables are already in the right place: at zero, at their bound, or between. :func:`.active.polish`
corrects the remaining rows and solves for the rows on the margin in double precision.

The gap is then about 1e-12, below what LIBSVM reaches at any tolerance.
"""

from __future__ import annotations

import time
from typing import Any, NamedTuple

import numpy as np

from ..._utils.arrays import Array, column_means
from ..._utils.cache import Cache
from ..._utils.foreign import check_svc_options, fit_libsvm
from ...errors import SolverFailed
from ..methods.active import ActiveSetSolution, FullKernelMatrix, KernelMatrix, LazyKernelMatrix, polish
from ..route import Problem
from ..solution import Solution
from ..weighted import Weighted, worth_sharing
from .weighted_route import WeightedRoute

# If tol is below LOOSE, LIBSVM stops at CLOSE or ROUGH and the answer is polished. With CLOSE the polish
# takes fewer steps, and the fit 0.8 to 1.0 of the time. With more than CLOSE_ROWS rows and a bound above
# CLOSE_BOUND, LIBSVM reaches its limit of iterations more often.
LOOSE = 1e-3
ROUGH = 1e-2
CLOSE = 3e-3
CLOSE_ROWS = 400
CLOSE_BOUND = 30.0

# Iterations, at least and per row: the limit of LIBSVM itself.
LIMIT = (10_000_000, 100)

# Iterations, at least and per row, after which LIBSVM counts as stalled. Up to LARGE_C most runs take
# fewer, in less time than NORMAL. With a larger C it rarely converges, and NORMAL follows soon.
STALLED = (20_000, 50)
IMPATIENT = (5000, 10)
LARGE_C = 1000.0

# Iterations of a run whose time limits the number of iterations, if there is a deadline.
TIMED = 1000

# A run that reaches its limit is polished if at most this share of the rows lies between the bounds.
FEW = 0.05

# A model on this many rows predicts whether LIBSVM needs most of the kernel matrix. If so, a matrix up to
# this size is computed at once.
PILOT_ROWS = 100
GRAM_BYTES = 2**28

# From so many rows on, the model on a few rows has three times as many.
MANY_ROWS = 2000

# Rows of so many features have their kernel matrix computed at once if they are too few for a prediction.
FEATURES = 10


class Libsvm(WeightedRoute):
    """Route of weighted SVMs with the hinge and margins of 1."""

    name = "LIBSVM"
    takes = ("cache_size", "max_iter", "random_state", "shrinking", "tol", "verbose")
    package = "scikit-learn"
    paper = "chang2011"
    note = "hinge, margins of 1, blocks that add or reweight rows"

    def obstacle(self, problem: Problem) -> str | None:
        reason = super().obstacle(problem)
        if reason is not None:
            return reason
        if problem.spec.loss != "hinge":
            return "it has the hinge only, not loss='squared_hinge'"
        if np.any(problem.sample.margin[problem.sample.counted] != 1.0):
            return "some rows have a margin other than 1"
        return None

    def solve_weighted(self, weighted: Weighted, grams: Cache | None, options: dict[str, Any]) -> Solution:
        return solve(weighted, grams, options)

    def tolerance(self, problem: Problem, options: dict[str, Any]) -> float:
        return max(problem.spec.tol, float(options.get("tol", 0.0)))

    def judge(self, problem: Problem, solution: Solution, options: dict[str, Any], final: bool) -> None:
        if solution.outcome.status == "user_limit" and not (final or problem.spec.deadline.limited):
            raise SolverFailed(f"LIBSVM did not converge. {self.hint(problem, solution)}")
        super().judge(problem, solution, options, final)


class Guess(NamedTuple):
    """Answer of one run of LIBSVM.

    Attributes
    ----------
    a, bias : dual variables times y, and the bias.
    ended : whether LIBSVM reached its tolerance.
    steps : number of iterations.
    kernel : the kernel matrix for the polish, or None if it is too large to keep.
    """

    a: Array
    bias: float
    ended: bool
    steps: int
    kernel: KernelMatrix | None


def solve(problem: Weighted, grams: Cache | None = None, options: dict[str, Any] | None = None) -> Solution:
    """Return the exact solution if the polish succeeds, else LIBSVM's.

    With ``grams`` the kernel matrix is computed once and kept for the next model on these rows.
    """
    options = _with_defaults(options or {}, len(problem))
    start = time.perf_counter()
    search = _Search(problem, grams, options)
    tol = search.tol
    deadline = problem.spec.deadline
    continued = search.continued()
    if continued is not None:
        seconds = time.perf_counter() - start
        return problem.solution(
            "LIBSVM", continued.a, continued.bias, seconds, continued.steps, scores=continued.scores
        )
    for shown, loose, effort in search.attempts:
        guess = search.run(shown, loose)
        between = np.count_nonzero((guess.a != 0) & (np.abs(guess.a) < problem.bound))
        polished = None
        settled = guess.ended or between <= FEW * len(problem)
        if guess.kernel is not None and loose != tol and settled:
            polished = polish(
                guess.kernel, problem.y, problem.bound, guess.a, tol, effort=effort, deadline=deadline
            )
        if polished is not None or (not guess.ended and shown is None):
            break
    if polished is None:
        scores = None if guess.kernel is None else guess.kernel.times(guess.a) + guess.bias
        status = "optimal" if guess.ended else "user_limit"
        seconds = time.perf_counter() - start
        solution = problem.solution("LIBSVM", guess.a, guess.bias, seconds, guess.steps, status, scores)
        inaccurate = solution.residuals.gap > 10 * problem.spec.tol and "tol" not in options
        if guess.ended and guess.kernel is not None and inaccurate:
            polished = polish(guess.kernel, problem.y, problem.bound, guess.a, tol, deadline=deadline)
        if polished is None:
            return solution
    seconds = time.perf_counter() - start
    if problem.neighbour is not None and search.gram is not None:
        problem.neighbour.keep(search.gram, problem.y, problem.bound, polished.a)
    return problem.solution("LIBSVM", polished.a, polished.bias, seconds, guess.steps, scores=polished.scores)


class _Search:
    """Runs of LIBSVM on one problem.

    Attributes
    ----------
    attempts : rows (None for all), tolerance of LIBSVM and effort of the polish, in order.
    """

    def __init__(self, problem: Weighted, grams: Cache | None, options: dict[str, Any]):
        spec = problem.spec
        self.problem = problem
        self.options = options
        self.native = {"kernel": "linear"} if spec.kernel is None else spec.kernel.libsvm_params()
        self.rows = problem.Z
        if self.native is not None and self.native["kernel"] == "rbf":
            # Far from the origin distances would lose their digits in LIBSVM.
            self.rows = self.rows - column_means(self.rows)
        self.tol = options.get("tol", spec.tol)
        polishing = self.tol < LOOSE and "tol" not in options
        self.attempts: list[tuple[Array | None, float, float]] = [(None, self.tol, 5.0)]
        close = len(problem) <= CLOSE_ROWS or problem.bound.max() <= CLOSE_BOUND
        self.rough = CLOSE if close else ROUGH
        if polishing:
            self.attempts.insert(0, (None, self.rough, 5.0))
        self.gram: Array | None = None
        n = len(problem)
        if self.native is None or problem.sparse or (grams is not None and worth_sharing(n, n)):
            self.gram = problem.gram(grams)
        elif n >= 5 * PILOT_ROWS:
            self._use_pilot(polishing, PILOT_ROWS if n < MANY_ROWS else 3 * PILOT_ROWS)
        elif problem.Z.shape[1] >= FEATURES and not spec.linear:
            self.gram = problem.gram()

    def _use_pilot(self, polishing: bool, rows: int) -> None:
        """Compute the kernel matrix if many support vectors are expected, or select rows if few are.

        With many support vectors LIBSVM would compute most of the kernel matrix entry by entry, and BLAS is
        faster. With few, they lie near the margin of the pilot model, and the polish visits the other rows.
        """
        problem = self.problem
        n = len(problem)
        few, weights, bias = _pilot(self.rows, problem.y, problem.bound, self.native, rows)
        share = len(few) / rows
        # The share of support vectors falls with N. The numbers were found on data of several kinds. From
        # 2000 rows on the matrix saves up to a fifth of a fit above 0.32. Rows that nearly repeat each other
        # have fewer support vectors than predicted: at 0.31 the matrix took half of the fit.
        most = 0.38 if n < MANY_ROWS else 0.32
        if 8 * n**2 <= GRAM_BYTES and share * (rows / n) ** (1 / 6) > most:
            self.gram = problem.gram()
            return
        # Noise puts rows at their bound, and these rows lie anywhere.
        noisy = np.count_nonzero(np.abs(weights) >= problem.bound[few]) >= rows / PILOT_ROWS
        if n >= 10 * PILOT_ROWS and 0 < share < 1 / 3 and polishing and not noisy:
            scores = problem.y * (weights @ problem.facing(few) + bias)
            count = int(1.5 * share * n)
            near = np.sort(np.argpartition(scores, count)[:count])
            if np.ptp(problem.y[near]) > 0:
                self.attempts.insert(0, (near, self.rough, 0.01))

    def continued(self) -> ActiveSetSolution | None:
        """Return the exact solution from the last model of a path, or None."""
        neighbour = self.problem.neighbour
        if neighbour is None or self.gram is None or len(self.attempts) == 1:
            return None
        return neighbour.solve(self.gram, self.problem.y, self.problem.bound, self.tol)

    def _fit(
        self, rows: Array, y: Array, bound: Array, kernel: Any, tol: float
    ) -> tuple[Array, float, bool, int]:
        """Return LIBSVM's answer. It has no time limit: the time of a few iterations limits their number."""
        deadline = self.problem.spec.deadline
        if not deadline.limited:
            return fit_libsvm(rows, y, bound, kernel, tol, self.options)
        deadline.check()
        most = self.options["max_iter"]
        few = min(TIMED, most) if most > 0 else TIMED
        start = time.perf_counter()
        found = fit_libsvm(rows, y, bound, kernel, tol, {**self.options, "max_iter": few})
        allowed = int(few * deadline.left / (time.perf_counter() - start))
        most = min(allowed, most) if most > 0 else allowed
        if found[2] or most <= few:
            return found
        return fit_libsvm(rows, y, bound, kernel, tol, {**self.options, "max_iter": most})

    def run(self, shown: Array | None, tol: float) -> Guess:
        """Return LIBSVM's answer on some rows, None for all."""
        problem = self.problem
        n = len(problem)
        if self.gram is not None:
            precomputed = {"kernel": "precomputed"}
            found = self._fit(self.gram, problem.y, problem.bound, precomputed, tol)
            return Guess(*found, FullKernelMatrix(self.gram))
        assert self.native is not None
        rows = np.arange(n) if shown is None else shown
        points = self.rows[rows]
        found = self._fit(points, problem.y[rows], problem.bound[rows], self.native, tol)
        a = np.zeros(n)
        a[rows] = found[0]
        support = np.flatnonzero(a)
        kernel = None
        if worth_sharing(n, len(support)):
            kernel = LazyKernelMatrix(problem.facing(support), support, problem.facing)
        return Guess(a, *found[1:], kernel)


def _with_defaults(options: dict[str, Any], n: int) -> dict[str, Any]:
    """Return the options with defaults for n rows, and raise InvalidInput if a value is not allowed."""
    if set(options) != {"max_iter"} or type(options["max_iter"]) is not int or options["max_iter"] < -1:
        check_svc_options(options)
    return {"cache_size": 500, "max_iter": max(LIMIT[0], LIMIT[1] * n), "shrinking": True, **options}


def _pilot(Z: Array, y: Array, bound: Array, native: Any, rows: int) -> tuple[Array, Array, float]:
    """Return support vectors, their dual variables times y and the bias of a model on a few rows."""
    few = np.linspace(0, len(y) - 1, rows).astype(int)
    if np.ptp(y[few]) == 0:
        return few[:0], np.empty(0), 0.0
    options = {"cache_size": 10, "max_iter": 10 * rows, "shrinking": True}
    a, bias, *_ = fit_libsvm(Z[few], y[few], bound[few], native, LOOSE, options)
    return few[a != 0], a[a != 0], bias
