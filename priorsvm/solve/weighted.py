r"""Weighted SVM: the problem that remains if all blocks only add or reweight rows.

.. math:: \min_f\; \tfrac12\|f\|^2 + \sum_i C_i \xi_i \quad\text{s.t.}\quad
          y_i f(x_i) \ge \rho_i - \xi_i, \quad \xi \ge 0, \qquad C_i = C\,\mathrm{cost}_i,

or :math:`\sum_i C_i \xi_i^2` for the squared hinge. An answer is
:math:`f = \sum_i \alpha_i y_i k(x_i, \cdot) + b` with :math:`0 \le \alpha_i \le C_i` and
:math:`\sum_i \alpha_i y_i = 0`. Its duality gap is an upper bound on the distance to the optimum.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import issparse

from .._utils.arrays import Array, products
from .._utils.cache import Cache
from .._utils.parallel import in_threads
from ..function.factor import require_psd
from ..function.fitted import Fitted, FittedKernel
from ..function.maps import LinearMap
from ..function.memory import fits_in_memory, refuse_beyond_memory
from ..kernels.base import Kernel
from ..problem.residuals import Residuals, unit_of
from ..sample import Sample
from ..spec import Spec
from .methods.neighbour import Neighbour
from .solution import Outcome, Solution

# A kernel matrix up to this size is kept for the next model, or for polishing.
SHARED_BYTES = 2**31

# Rows of the kernel matrix computed at a time: blocks of this size reuse memory, and new memory is slow.
GRAM_BLOCK = 128

# Sparse rows are solved as dense rows if at least this share of their entries is stored, up to this size.
# Their inner products then take a third of the time or less.
DENSE_SHARE = 0.1
DENSE_BYTES = 2**28

# The square of the length of the mean, relative to the mean square distance from it, beyond which the mean is
# subtracted from the rows before sums over them.
FAR = 1e4

# A kernel matrix of more rows is computed in threads, if there are workers.
THREADED_ROWS = 2000


class Weighted:
    r"""Weighted SVM over the rows of positive cost, in the model's units.

    Attributes
    ----------
    Z, y, bound, margin : rows, signs, :math:`C_i` and :math:`\rho_i`.
    rows : the rows before their mean is subtracted.
    middle : mean of the rows of a linear model, subtracted from Z: the bias absorbs it, sums keep digits.
    neighbour : the last model of a path on the same rows, or None.
    """

    def __init__(self, spec: Spec, sample: Sample, neighbour: Neighbour | None = None):
        self.spec = spec
        self.neighbour = neighbour
        self.size = len(sample)
        self.active = sample.counted_rows
        self.X = sample.X if len(self.active) == len(sample) else sample.X[self.active]
        self.y = sample.y[self.active]
        self.margin = sample.margin[self.active]
        self.bound = spec.C * sample.cost[self.active]
        self.squared = spec.loss == "squared_hinge"
        self.features = LinearMap(self.X.shape[1], spec.scale)
        rows: Any = self.features.rows(self.X)
        self.rows: Any = rows.toarray() if issparse(rows) and faster_dense(rows) else rows
        self.sparse = issparse(self.rows)
        self._centred = spec.linear and not self.sparse
        self.middle = self.rows.mean(axis=0) if self._centred else np.zeros(self.rows.shape[1])
        self._K: Array | None = None

    @cached_property
    def Z(self) -> Any:
        """The rows, minus their mean if the model is linear and they are dense."""
        if self.sparse:
            return self.rows
        return np.ascontiguousarray(self.rows - self.middle if self._centred else self.rows)

    @property
    def far_from_origin(self) -> bool:
        """Whether sums over rows lose digits unless the mean is subtracted first."""
        if self.sparse:
            return False
        middle = float(self.middle @ self.middle)
        entries = self.rows.ravel()
        return middle > FAR * (float(entries @ entries) / len(self) - middle)

    def __len__(self) -> int:
        return len(self.y)

    def facing(self, rows: Array) -> Array:
        """Return the kernel matrix between some rows and all rows."""
        kernel = self.spec.kernel
        return products(self.Z[rows], self.Z) if kernel is None else kernel(self.Z[rows], self.Z)

    def gram(self, grams: Cache | None = None) -> Array:
        """Return the kernel matrix between all rows, from the cache if it is there."""
        if self._K is None:
            spec = self.spec
            key = (spec.kernel, spec.scale and vars(spec.scale), self.X)
            self._K = self._gram() if grams is None else grams.get(key, self._gram)
        return self._K

    def _gram(self) -> Array:
        n = len(self)
        kernel = self.spec.kernel
        advice = "Give fewer rows, or set n_centres."
        if self.spec.linear:
            advice = "Give fewer rows, or a smaller C, for which SPARSE does without it, if X is sparse."
        refuse_beyond_memory(n, n, "the kernel matrix", advice)
        return products(self.Z, self.Z) if kernel is None else gram(kernel, self.Z)

    def solution(
        self,
        name: str,
        a: Array,
        bias: float,
        seconds: float,
        steps: int | None = None,
        status: str = "optimal",
        scores: Array | None = None,
        coef: Array | None = None,
        total: Array | None = None,
    ) -> Solution:
        """Return f and its residuals.

        Parameters
        ----------
        name : name of the route.
        a : dual variables times y.
        bias, status, seconds, steps : results of the route.
        scores : f at the rows, if it is known.
        coef : weights of a linear model, if they are known to more digits than the sum of all a z has.
        total : the sum of all a z of a linear model, if it is known.
        """
        support = np.flatnonzero(a)
        alpha = np.zeros(self.size)
        alpha[self.active] = np.abs(a)
        f: Fitted
        if self.spec.kernel is None:
            total = np.asarray(a[support] @ self.Z[support]) if total is None else total
            coef = total if coef is None else coef
            f = self.features.fitted(coef, bias - float(coef @ self.middle))
            scores = self.Z @ coef + bias if scores is None else scores
            half = 0.5 * float(coef @ coef)
            dual_half = 0.5 * float(total @ total)
        else:
            f = FittedKernel(bias, self.spec.kernel, self.X[support], a[support], self.spec.scale)
            scores = f.value(self.X) if scores is None else scores
            half = 0.5 * float(a @ (scores - bias))
            dual_half = half
        value, found = judged(
            (half, dual_half), self.y * scores, np.abs(a), self.bound, self.y, self.margin, self.squared
        )
        outcome = Outcome(name, status, found, 0.0, seconds, steps)
        duals = {"svm.margin": alpha[self.active]}
        return Solution(f, alpha, alpha > 0, outcome, duals, value=value)


def gram(kernel: Kernel, Z: Array) -> Array:
    """Return the kernel matrix between all rows, and raise KernelNotPSD if it is not semidefinite."""
    if kernel.definiteness != "psd" or kernel.whole:
        K = kernel(Z)
        require_psd(kernel, K)
        return K
    K = np.empty((len(Z), len(Z)))

    def compute(start: int) -> None:
        stop = start + GRAM_BLOCK
        K[start:stop, start:] = kernel(Z[start:stop], Z[start:])
        K[stop:, start:stop] = K[start:stop, stop:].T

    starts = range(0, len(Z), GRAM_BLOCK)
    if len(Z) >= THREADED_ROWS:
        in_threads(compute, starts)
    else:
        for start in starts:
            compute(start)
    return K


def faster_dense(Z: Any) -> bool:
    """Return whether a linear model on sparse rows is solved faster on dense rows."""
    entries = Z.shape[0] * Z.shape[1]
    return bool(Z.nnz >= DENSE_SHARE * entries and 8 * entries <= DENSE_BYTES)


def worth_sharing(rows: int, columns: int) -> bool:
    """Return whether a kernel matrix is small enough to keep."""
    return 8 * rows * columns <= SHARED_BYTES and fits_in_memory(rows, columns, 0.25)


def judged(
    halves: tuple[float, float],
    scores: Array,
    alpha: Array,
    bound: Array,
    y: Array,
    margin: Array,
    squared: bool = False,
) -> tuple[float, Residuals]:
    """Return the objective and its residuals.

    Parameters
    ----------
    halves : half the squared norm of f, and of the sum which the dual variables define.
    scores : y f at the rows.
    alpha, bound, y, margin : dual variables, their bounds, signs and margins of the rows.
    squared : whether the loss is the squared hinge.
    """
    half, dual_half = halves
    xi = np.maximum(margin - scores, 0.0)
    primal = half + float(bound @ (xi**2 if squared else xi))
    dual = float(margin @ alpha) - dual_half
    if squared:
        positive = bound > 0
        dual -= 0.25 * float(alpha[positive] @ (alpha[positive] / bound[positive]))
    balance = abs(float(alpha @ y)) / max(float(alpha.sum()), 1e-300)
    size = abs(primal) + unit_of(bound, y)
    return primal, Residuals(0.0, 0.0, balance, abs(primal - dual) / size)
