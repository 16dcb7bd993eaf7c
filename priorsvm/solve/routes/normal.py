r"""An interior-point method for a weighted SVM of many rows and few parameters.

.. math:: \min_{c,b,\xi}\; \tfrac12\|c\|^2 + \sum_i C_i \xi_i \quad\text{s.t.}\quad
          y_i(\varphi_i^\top c + b) = \rho_i - \xi_i + s_i, \quad \xi, s \ge 0 .

Rows meet in c and b only. With :math:`0 \le \alpha_i \le C_i` the multiplier of row i, a Newton step towards
:math:`\alpha_i s_i = (C_i - \alpha_i)\,\xi_i = \mu` leaves d + 1 normal equations,

.. math:: \left[\begin{pmatrix} I & 0\\ 0 & 0\end{pmatrix} + \Phi^\top W \Phi\right]
          \begin{pmatrix} \Delta c\\ \Delta b\end{pmatrix} = r, \qquad
          W_i = \Bigl(\frac{s_i}{\alpha_i} + \frac{\xi_i}{C_i - \alpha_i}\Bigr)^{-1},

with a last column of ones in :math:`\Phi`: one product of N d² a step, and 10 to 30 steps for any N. For the
squared hinge :math:`\sum_i C_i \xi_i^2` the slack is :math:`\xi_i = \alpha_i / 2C_i`, and its part of W is
:math:`1/2C_i`.

A linear machine has its rows for :math:`\Phi`. A kernel machine of low rank has those of a pivoted Cholesky
factor, :math:`K \approx \Phi\Phi^\top`: which rows lie on the margin is the same for both but for a few, and
:func:`.active.polish` takes it from there to the exact answer for K. That is the way where C is so large that
LIBSVM stalls.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import cho_solve
from scipy.linalg.lapack import dpstrf
from scipy.sparse import diags_array, issparse

from ..._utils.arrays import Array
from ..._utils.cache import Cache
from ..._utils.linalg import lifted_cholesky, step_to_boundary
from ...errors import InvalidInput, SolverFailed
from ...prior import Member
from ...sample import Sample
from ...spec import Spec
from ..methods.active import LazyKernelMatrix, LinearKernelMatrix, polish
from . import weighted
from .weighted import Answer, Weighted, worth_sharing

# Rows that are weighted and multiplied at a time: they stay in the processor's cache between both.
BLOCK = 1000

# The factor of a kernel matrix ends where its pivots fall below FINE, or after this share of the rows and no
# fewer than LEAST; there they must have fallen below COARSE. All relative to the diagonal.
FINE = 1e-4
COARSE = 1e-3
RANK = 1 / 3
LEAST = 50

# Steps without any gain after which no more are tried.
PATIENCE = 15

# A guess of the active set needs no more than this; an answer is brought as far as rounding permits.
GUESS = 1e-5
EXACT = 1e-10

# Lifts of the diagonal of the unit-diagonal normal equations.
LIFTS = (0.0, *10.0 ** np.arange(-15, -8))


def obstacle(spec: Spec, members: Sequence[Member], sample: Sample) -> str | None:
    """Why this method cannot solve the problem, or None if it can."""
    reason = weighted.obstacle(spec, members)
    if reason is not None or spec.kernel is None:
        return reason
    if spec.loss != "hinge":
        return "with a kernel it has the hinge only, not loss='squared_hinge'"
    n = int(np.count_nonzero(sample.cost))
    if not worth_sharing(n, n):
        return f"the kernel matrix of {n} rows is too large to keep"
    return None


def solve(problem: Weighted, grams: Cache | None = None, options: dict[str, Any] | None = None) -> Answer:
    """The answer of a linear machine, or the polished one of a kernel machine of low rank."""
    if options:
        raise InvalidInput(f"NORMAL takes no solver_options, got {', '.join(options)}.")
    start = time.perf_counter()
    spec = problem.spec
    y = problem.y
    bound = problem.bound
    rho = problem.margin
    linear = spec.kernel is None
    if linear:
        kernel: LinearKernelMatrix | LazyKernelMatrix = LinearKernelMatrix(problem.Z)
        found = solve_normal(problem.Z, y, bound, rho, problem.squared, min(spec.tol, EXACT))
    else:
        K = problem.gram(grams)
        kernel = LazyKernelMatrix(K, np.arange(len(y)), problem.facing)
        found = solve_normal(_low_rank(K), y, bound, rho, tol=GUESS)
    answers = []
    a = y * found.guess(bound)
    between = np.count_nonzero((a != 0) & (np.abs(a) < bound))
    # Equal rows on the margin need no order.
    if not linear or (between <= 2 * problem.Z.shape[1] + 2 and not problem.squared):
        exact = polish(kernel, y, bound, a, spec.tol, rho)
        if exact is not None:
            answers.append(
                problem.answer(exact.a, exact.bias, "optimal", _since(start), found.steps, exact.scores)
            )
    if linear and not (answers and answers[0].residuals.worst <= spec.tol):
        a = y * (found.alpha if problem.squared else np.minimum(found.alpha, bound))
        answers.append(problem.answer(a, found.bias, "optimal", _since(start), found.steps, coef=found.c))
    if answers:
        return min(answers, key=lambda answer: answer.residuals.worst)
    raise SolverFailed(
        "NORMAL: a kernel of low rank has too many other rows on the margin. Use solver='auto', or a smaller "
        "C."
    )


def _since(start: float) -> float:
    return time.perf_counter() - start


def _low_rank(K: Array) -> Array:
    """The rows of a pivoted Cholesky factor of K; an error if it takes too many columns."""
    n = len(K)
    size = float(K.diagonal().max())
    factor, order, rank, _ = dpstrf(K.T, tol=0.1 * FINE * size, lower=1)
    pivots = factor.diagonal()[:rank] ** 2 / size
    kept = min(int(np.count_nonzero(pivots > FINE)), max(int(RANK * n), LEAST))
    if kept < rank and pivots[kept] > COARSE:
        raise SolverFailed(
            f"NORMAL: the kernel matrix has no low rank. {kept} of {n} columns leave {pivots[kept]:.1e} of "
            f"it, and at most {COARSE:.0e} may be left. Use solver='auto'."
        )
    rows = np.empty((n, kept))
    rows[order - 1] = np.tril(factor[:, :kept])
    return rows


@dataclass(frozen=True, eq=False)
class Interior:
    """Where the method ended.

    Attributes
    ----------
    alpha, beta : the multiplier of every row, and what is left to its bound: both positive.
    slack, left : xi and s, both positive.
    c, bias : as the steps have them; c is also the sum of all alpha y phi, but for rounding, which large rows
        make much of.
    gap : the relative duality gap.
    steps : how many it took.
    """

    alpha: Array
    beta: Array
    slack: Array
    left: Array
    c: Array
    bias: float
    gap: float
    steps: int

    def guess(self, bound: Array) -> Array:
        """Multipliers at zero or at their bound where that is nearer than the margin, else as found."""
        idle = self.alpha < bound * self.left
        full = self.beta < bound * self.slack
        return np.where(idle, 0.0, np.where(full, bound, self.alpha))


@np.errstate(all="ignore")
def solve_normal(
    Phi: Any,
    y: Array,
    bound: Array,
    margin: Array | None = None,
    squared: bool = False,
    tol: float = 1e-9,
    max_steps: int = 100,
) -> Interior:
    """Solve the machine whose rows are those of ``Phi``.

    Parameters
    ----------
    Phi : (n, d) array or sparse array
    y : (n,) array of -1.0 and 1.0
    bound : (n,) positive array, C of every row
    margin : (n,) array, by default ones
    squared : whether the loss is the squared hinge
    tol : relative residuals and duality gap
    """
    n = len(y)
    rho = np.ones(n) if margin is None else margin
    alpha = _middle(y, bound)
    beta = bound - alpha
    xi = np.full(n, 2.0)
    s = np.ones(n)
    c = np.zeros(Phi.shape[1])
    b = 0.0
    best = np.inf
    lowest = np.full(2, np.inf)
    since = 0
    answer = None
    least = 1e-12 * float(bound.sum())  # with margins of zero the optimum is zero
    for step in range(1, max_steps + 1):
        if squared:  # whatever beta and xi were, they ask nothing
            beta = np.full(n, np.inf)
            xi = 0.5 * alpha / bound
        scores = y * (Phi @ c + b)
        total = (alpha * y) @ Phi
        balance = float(alpha @ y)
        missing = np.maximum(rho - scores, 0.0)
        primal = 0.5 * float(c @ c) + float(bound @ (missing**2 if squared else missing))
        dual = float(rho @ alpha) - 0.5 * float(total @ total) - (float(alpha @ xi) / 2 if squared else 0.0)
        off_c = float(np.abs(c - total).max(initial=0.0)) / (1.0 + float(np.abs(c).max(initial=0.0)))
        worst = max(abs(primal - dual) / max(primal, least), abs(balance) / float(alpha.max()), off_c)
        left = float(alpha @ s) + (0.0 if squared else float(beta @ xi))
        found = np.array([abs(primal - dual), left])
        since = 0 if worst < best or np.any(found < 0.9 * lowest) else since + 1
        lowest = np.minimum(lowest, found)
        if worst < best:
            best = worst
            answer = Interior(alpha, beta, xi, s, c, b, worst, step)
        if worst <= tol or since > (PATIENCE if best > GUESS else 5):  # or rounding has had the last word
            break
        W = 1.0 / (s / alpha + (0.5 / bound if squared else xi / beta))
        factor, size = _factor(Phi, W)
        if factor is None:
            break
        off = scores - rho + xi - s
        target = 0.0
        bent_s = np.zeros(n)
        bent_xi = np.zeros(n)
        for correcting in (False, True):
            to_s = (target - bent_s) / alpha - s
            to_xi = np.zeros(n) if squared else (target - bent_xi) / beta - xi
            pull = W * (to_s - to_xi - off)
            right = np.append((y * pull) @ Phi + total - c, float(y @ pull) + balance)
            move = cho_solve((factor, True), right / size, check_finite=False) / size
            da = pull - W * y * (Phi @ move[:-1] + move[-1])
            ds = to_s - s / alpha * da
            dxi = to_xi if squared else to_xi + xi / beta * da
            t = min(
                step_to_boundary(alpha, da),
                step_to_boundary(beta, -da),
                step_to_boundary(s, ds),
                1.0 if squared else step_to_boundary(xi, dxi),
            )
            if not correcting:
                after = float((alpha + t * da) @ (s + t * ds))
                after += 0.0 if squared else float((beta - t * da) @ (xi + t * dxi))
                target = left / (n if squared else 2 * n) * (after / left) ** 3
                bent_s = da * ds
                bent_xi = -da * dxi
        t = min(1.0, 0.995 * t)
        alpha = alpha + t * da
        beta = beta - t * da
        s = s + t * ds
        xi = xi + t * dxi
        c = c + t * move[:-1]
        b = b + t * float(move[-1])
    if answer is None:
        raise SolverFailed(
            f"NORMAL: costs up to {bound.max():.0e} and rows up to {abs(Phi).max():.0e} are too much for "
            "double precision. Use scale='standard', or a smaller C."
        )
    return answer


def _middle(y: Array, bound: Array) -> Array:
    """Multipliers that balance, half of what their bounds allow."""
    up = bound[y > 0].sum()
    down = bound[y < 0].sum()
    return 0.5 * bound * np.where(y > 0, min(1.0, down / up), min(1.0, up / down))


def _factor(Phi: Any, W: Array) -> tuple[Array | None, Array]:
    """The Cholesky factor of the normal equations brought to unit diagonal, if there is one, and the roots.

    Few rows of large weight leave the rest to rounding: what is lifted there, the next step corrects.
    """
    d = Phi.shape[1]
    M = np.zeros((d + 1, d + 1))
    if issparse(Phi):
        weighted = diags_array(np.sqrt(W)) @ Phi
        M[:d, :d] = (weighted.T @ weighted).toarray()
        M[:d, d] = W @ Phi
    else:
        root = np.sqrt(W)
        for start in range(0, len(W), BLOCK):
            part = slice(start, start + BLOCK)
            rows = Phi[part] * root[part, None]
            M[:d, :d] += rows.T @ rows
            M[:d, d] += root[part] @ rows
    M[d, :d] = M[:d, d]
    M[d, d] = W.sum()
    M[np.arange(d), np.arange(d)] += 1.0
    size = np.sqrt(M.diagonal())
    M /= size
    M /= size[:, None]
    M[np.arange(d + 1), np.arange(d + 1)] = 1.0
    return lifted_cholesky(M, LIFTS), size
