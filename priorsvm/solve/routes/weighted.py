r"""A weighted SVM: what is left of a problem whose blocks only add or reweight rows.

.. math:: \min_f\; \tfrac12\|f\|^2 + \sum_i C_i \xi_i \quad\text{s.t.}\quad
          y_i f(x_i) \ge \rho_i - \xi_i, \quad \xi \ge 0, \qquad C_i = C\,\mathrm{cost}_i,

or :math:`\sum_i C_i \xi_i^2` for the squared hinge. Every answer can be judged by its dual:
:math:`f = \sum_i \alpha_i y_i k(x_i, \cdot) + b` with :math:`0 \le \alpha_i \le C_i` and
:math:`\sum_i \alpha_i y_i = 0` is no farther from the optimum than both objectives are from each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import issparse

from ..._utils.arrays import Array, products
from ..._utils.cache import Cache
from ...function.factor import require_psd
from ...function.fitted import Fitted, FittedKernel
from ...function.maps import LinearMap
from ...function.memory import fits_in_memory, refuse_beyond_memory
from ...kernels.base import Kernel
from ...prior import Member
from ...problem.residuals import Residuals, unit_of
from ...sample import Sample
from ...spec import Spec

# A kernel matrix up to this size is kept for the next machine, or for polishing.
SHARED_BYTES = 2**31

# Rows of the kernel matrix that are worked out at a time: so few need no new memory, which is slow to get.
GRAM_BLOCK = 128


def obstacle(spec: Spec, members: Sequence[Member]) -> str | None:
    """Why this problem is no weighted SVM with the 2-norm, or None if it is."""
    for name, block, weight in members:
        if weight > 0 and not block.only_rows:
            return f"block '{name}' does more than add or reweight rows"
    if spec.norm != "l2":
        return "it has the 2-norm only, not norm='l1'"
    if spec.n_centres is not None:
        return "it takes no n_centres"
    return None


@dataclass(frozen=True, eq=False)
class Answer:
    """What a route found.

    Attributes
    ----------
    f : the decision function.
    alpha : the multiplier of every row of the sample.
    value : the objective.
    residuals : by f and alpha, on all rows.
    status : what the route says of it.
    seconds, steps : what it took.
    """

    f: Fitted
    alpha: Array
    value: float
    residuals: Residuals
    status: str
    seconds: float
    steps: int | None = None


class Weighted:
    """The rows that count, in the machine's units.

    Attributes
    ----------
    Z, y, bound, margin : rows, signs, C_i and rho_i.
    middle : what was taken off all rows of a linear machine: its bias absorbs it, and sums keep their digits.
    """

    def __init__(self, spec: Spec, sample: Sample):
        self.spec = spec
        self.size = len(sample)
        self.active = np.flatnonzero(sample.cost > 0)
        everything = len(self.active) == len(sample)
        self.X = sample.X if everything else sample.X[self.active]
        self.y, self.margin = sample.y[self.active], sample.margin[self.active]
        self.bound = spec.C * sample.cost[self.active]
        self.squared = spec.loss == "squared_hinge"
        self.features = LinearMap(self.X.shape[1], spec.scale)
        Z = self.features.rows(self.X)
        self.sparse = issparse(Z)
        centred = spec.kernel is None and not self.sparse
        self.middle = Z.mean(axis=0) if centred else np.zeros(Z.shape[1])
        self.Z: Any = np.ascontiguousarray(Z - self.middle) if centred else Z
        if spec.kernel is not None:
            self.Z = np.ascontiguousarray(Z)
        self._K: Array | None = None

    def __len__(self) -> int:
        return len(self.y)

    def facing(self, rows: Array) -> Array:
        """The kernel matrix between all rows and some."""
        kernel = self.spec.kernel
        return products(self.Z, self.Z[rows]) if kernel is None else kernel(self.Z, self.Z[rows])

    def gram(self, grams: Cache | None = None) -> Array:
        """The kernel matrix between all rows, from what is kept where it is there."""
        if self._K is None:
            spec = self.spec
            key = (spec.kernel, spec.scale and vars(spec.scale), self.X)
            self._K = self._gram() if grams is None else grams.get(key, self._gram)
        return self._K

    def _gram(self) -> Array:
        n = len(self)
        kernel = self.spec.kernel
        Z = self.Z
        way_out = "Give fewer rows, or set n_centres."
        if kernel is None:
            way_out = "Give fewer rows, or a smaller C, for which SPARSE does without it, if X is sparse."
        refuse_beyond_memory(n, n, "the kernel matrix", way_out)
        return products(Z, Z) if kernel is None else gram(kernel, Z)

    def answer(
        self,
        a: Array,
        bias: float,
        status: str,
        seconds: float,
        steps: int | None = None,
        scores: Array | None = None,
        coef: Array | None = None,
    ) -> Answer:
        """f and what it is worth, from signed multipliers; ``scores`` is f on the rows, if known.

        The weights ``coef`` of a linear machine are the sum of all a z, unless they are known better than to
        its rounding errors.
        """
        support = np.flatnonzero(a)
        alpha = np.zeros(self.size)
        alpha[self.active] = np.abs(a)
        f: Fitted
        if self.spec.kernel is None:
            summed = np.asarray(a[support] @ self.Z[support])
            coef = summed if coef is None else coef
            f = self.features.fitted(coef, bias - float(coef @ self.middle))
            scores = self.Z @ coef + bias if scores is None else scores
            halves = 0.5 * float(coef @ coef), 0.5 * float(summed @ summed)
        else:
            f = FittedKernel(bias, self.spec.kernel, self.X[support], a[support], self.spec.scale)
            scores = f.value(self.X) if scores is None else scores
            halves = (0.5 * float(a @ (scores - bias)),) * 2
        value, found = judged(
            halves, self.y * scores, np.abs(a), self.bound, self.y, self.margin, self.squared
        )
        return Answer(f, alpha, value, found, status, seconds, steps)


def gram(kernel: Kernel, Z: Array) -> Array:
    """The kernel matrix between all rows, of a kernel that is, or proves to be, positive semidefinite."""
    if kernel.definiteness != "psd" or kernel.whole:
        K = kernel(Z)
        require_psd(kernel, K)
        return K
    K = np.empty((len(Z), len(Z)))
    for start in range(0, len(Z), GRAM_BLOCK):
        stop = start + GRAM_BLOCK
        K[start:stop, start:] = kernel(Z[start:stop], Z[start:])
        K[stop:, start:stop] = K[start:stop, stop:].T
    return K


def worth_sharing(rows: int, columns: int) -> bool:
    """Whether a kernel matrix is of a size to keep."""
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
    """The objective and its residuals, from y f of all rows and their multipliers.

    ``halves`` are half the squared norms of f and of what the multipliers sum up to, the same but for
    rounding.
    """
    half, summed = halves
    xi = np.maximum(margin - scores, 0.0)
    primal = half + float(bound @ (xi**2 if squared else xi))
    dual = float(margin @ alpha) - summed
    if squared:
        costly = bound > 0
        dual -= 0.25 * float(alpha[costly] ** 2 @ (1.0 / bound[costly]))
    balance = abs(float(alpha @ y)) / max(float(alpha.sum()), 1e-300)
    size = abs(primal) + unit_of(bound, y)
    return primal, Residuals(0.0, 0.0, balance, abs(primal - dual) / size)
