r"""Interior-point method for a weighted SVM with many rows and few parameters.

.. math:: \min_{c,b,\xi}\; \tfrac12\|c\|^2 + \sum_i C_i \xi_i \quad\text{s.t.}\quad
          y_i(\varphi_i^\top c + b) = \rho_i - \xi_i + s_i, \quad \xi, s \ge 0 .

Only c and b couple the rows. The dual variable of row i satisfies :math:`0 \le \alpha_i \le C_i`. A Newton
step towards :math:`\alpha_i s_i = (C_i - \alpha_i)\,\xi_i = \mu` leaves d + 1 normal equations,

.. math:: \left[\begin{pmatrix} I & 0\\ 0 & 0\end{pmatrix} + \Phi^\top W \Phi\right]
          \begin{pmatrix} \Delta c\\ \Delta b\end{pmatrix} = r, \qquad
          W_i = \Bigl(\frac{s_i}{\alpha_i} + \frac{\xi_i}{C_i - \alpha_i}\Bigr)^{-1},

with a last column of ones in :math:`\Phi`. A step costs one product of N d², and 10 to 30 steps are enough
for any N. For the squared hinge :math:`\sum_i C_i \xi_i^2` the slack is :math:`\xi_i = \alpha_i / 2C_i`, and
its part of W is :math:`1/2C_i`.

For a linear model :math:`\Phi` contains the rows of X. For a kernel matrix of low rank it is a pivoted
Cholesky factor, :math:`K \approx \Phi\Phi^\top`. Nearly the same rows lie on the margin for both, and
:func:`.active.polish` continues to the exact answer for K.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import cho_solve
from scipy.linalg.lapack import dpstrf
from scipy.sparse import diags_array, issparse

from ..._utils.arrays import Array
from ..._utils.deadline import NEVER, Deadline
from ..._utils.linalg import lifted_cholesky, step_to_boundary
from ...errors import SolverFailed

# Rows weighted and multiplied at a time: between both operations they stay in the processor's cache.
BLOCK = 1000

# The factor of a kernel matrix ends where its pivots fall below FINE, or at its largest rank. This rank is
# the share RANK of the rows, at least LEAST, and there pivots must be below COARSE. All are relative to the
# diagonal.
FINE = 1e-4
COARSE = 1e-3
RANK = 1 / 3
LEAST = 50

# Steps without progress after which the method ends, before and after the gap is below GUESS.
PATIENCE = 15
PATIENCE_AT_END = 5

# Gap that is enough to guess the active set.
GUESS = 1e-5

# Lifts of the diagonal of the unit-diagonal normal equations.
LIFTS = (0.0, *10.0 ** np.arange(-15, -8))


@dataclass(frozen=True, eq=False)
class Interior:
    """Last iterate of the method.

    Attributes
    ----------
    alpha, beta : the dual variable of every row, and its distance from the bound: both positive.
    slack, left : xi and s, both positive.
    c, bias : primal variables; c equals the sum of all alpha y phi up to rounding errors.
    gap : the relative duality gap.
    steps : the number of steps.
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
        """Return the dual variables, moved to zero or to the bound if that is nearer than the margin."""
        idle = self.alpha < bound * self.left
        full = self.beta < bound * self.slack
        at_end = np.where(full, bound, self.alpha)
        return np.where(idle, 0.0, at_end)


@np.errstate(all="ignore")
def solve_normal(
    Phi: Any,
    y: Array,
    bound: Array,
    margin: Array | None = None,
    squared: bool = False,
    tol: float = 1e-9,
    max_steps: int = 100,
    deadline: Deadline = NEVER,
) -> Interior:
    """Solve the weighted SVM with the rows of ``Phi``.

    Parameters
    ----------
    Phi : (n, d) array or sparse array
    y : (n,) array of -1.0 and 1.0
    bound : (n,) positive array, C of every row
    margin : (n,) array, by default ones
    squared : whether the loss is the squared hinge
    tol : relative residuals and duality gap
    max_steps, deadline : limits; the best answer so far is returned
    """
    rows = _Rows(Phi, y, bound, np.ones(len(y)) if margin is None else margin, squared)
    point = rows.start()
    best = np.inf
    lowest = np.full(2, np.inf)
    since = 0
    answer = None
    for step, _ in enumerate(deadline.steps(max_steps), 1):
        if squared:
            point.beta = np.full(len(y), np.inf)
            point.xi = 0.5 * point.alpha / bound
        state = rows.measure(point)
        progress = np.array([state.gap, state.left])
        improved = state.worst < best
        since = 0 if improved or np.any(progress < 0.9 * lowest) else since + 1
        lowest = np.minimum(lowest, progress)
        if improved:
            best = state.worst
            answer = Interior(point.alpha, point.beta, point.xi, point.s, point.c, point.b, state.worst, step)
        # After this many steps there is no further progress in floating point.
        patience = PATIENCE if best > GUESS else PATIENCE_AT_END
        if state.worst <= tol or since > patience or not rows.advance(point, state):
            break
    if answer is None:
        raise SolverFailed(
            f"NORMAL: costs up to {bound.max():.0e} and rows up to {abs(Phi).max():.0e} exceed double "
            "precision. Use scale='standard', or a smaller C."
        )
    return answer


@dataclass(eq=False)
class _Point:
    """Current iterate."""

    alpha: Array
    beta: Array
    xi: Array
    s: Array
    c: Array
    b: float


class _State(NamedTuple):
    """Residuals of an iterate; ``left`` is the total complementarity, ``total`` the sum of alpha y phi."""

    scores: Array
    total: Array
    balance: float
    gap: float
    left: float
    worst: float


@dataclass(frozen=True, eq=False)
class _Rows:
    """Data of the problem."""

    Phi: Any
    y: Array
    bound: Array
    rho: Array
    squared: bool

    def start(self) -> _Point:
        """Return balanced dual variables of about half of their bounds."""
        n = len(self.y)
        up = self.bound[self.y > 0].sum()
        down = self.bound[self.y < 0].sum()
        share = np.where(self.y > 0, min(1.0, down / up), min(1.0, up / down))
        alpha = 0.5 * self.bound * share
        c = np.zeros(self.Phi.shape[1])
        return _Point(alpha, self.bound - alpha, np.full(n, 2.0), np.ones(n), c, 0.0)

    def measure(self, point: _Point) -> _State:
        """Return the residuals of an iterate."""
        alpha = point.alpha
        c = point.c
        scores = self.y * (self.Phi @ c + point.b)
        total = (alpha * self.y) @ self.Phi
        balance = float(alpha @ self.y)
        missing = np.maximum(self.rho - scores, 0.0)
        primal = 0.5 * float(c @ c) + float(self.bound @ (missing**2 if self.squared else missing))
        dual = float(self.rho @ alpha) - 0.5 * float(total @ total)
        dual -= float(alpha @ point.xi) / 2 if self.squared else 0.0
        off_c = float(np.abs(c - total).max(initial=0.0)) / (1.0 + float(np.abs(c).max(initial=0.0)))
        least = 1e-12 * float(self.bound.sum())  # with margins of zero the optimum is zero
        gap = abs(primal - dual)
        worst = max(gap / max(primal, least), abs(balance) / max(float(alpha.max()), 1e-300), off_c)
        left = float(alpha @ point.s) + (0.0 if self.squared else float(point.beta @ point.xi))
        return _State(scores, total, balance, gap, left, worst)

    def advance(self, point: _Point, state: _State) -> bool:
        """Move an iterate by a predictor-corrector step; return False if there is no factorisation."""
        n = len(self.y)
        alpha = point.alpha
        beta = point.beta
        diagonal = 0.5 / self.bound if self.squared else point.xi / beta
        W = 1.0 / (point.s / alpha + diagonal)
        factor, size = _factor(self.Phi, W)
        if factor is None:
            return False
        off = state.scores - self.rho + point.xi - point.s
        target = 0.0
        bent_s = np.zeros(n)
        bent_xi = np.zeros(n)
        for correcting in (False, True):
            to_s = (target - bent_s) / alpha - point.s
            to_xi = np.zeros(n) if self.squared else (target - bent_xi) / beta - point.xi
            pull = W * (to_s - to_xi - off)
            right = np.append(
                (self.y * pull) @ self.Phi + state.total - point.c, float(self.y @ pull) + state.balance
            )
            move = cho_solve((factor, True), right / size, check_finite=False) / size
            da = pull - W * self.y * (self.Phi @ move[:-1] + move[-1])
            ds = to_s - point.s / alpha * da
            dxi = to_xi if self.squared else to_xi + point.xi / beta * da
            to_end = 1.0 if self.squared else step_to_boundary(point.xi, dxi)
            t = min(
                step_to_boundary(alpha, da),
                step_to_boundary(beta, -da),
                step_to_boundary(point.s, ds),
                to_end,
            )
            if not correcting:
                after = float((alpha + t * da) @ (point.s + t * ds))
                after += 0.0 if self.squared else float((beta - t * da) @ (point.xi + t * dxi))
                mean = state.left / (n if self.squared else 2 * n)
                target = mean * (after / state.left) ** 3
                bent_s = da * ds
                bent_xi = -da * dxi
        t = min(1.0, 0.995 * t)
        point.alpha = alpha + t * da
        point.beta = beta - t * da
        point.s = point.s + t * ds
        point.xi = point.xi + t * dxi
        point.c = point.c + t * move[:-1]
        point.b = point.b + t * float(move[-1])
        return True


def _factor(Phi: Any, W: Array) -> tuple[Array | None, Array]:
    """Return the Cholesky factor of the normal equations with unit diagonal, or None, and the scaling.

    If few rows have a large weight, the rest is lost in rounding. The diagonal is then raised, and the next
    step corrects the error.
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


def low_rank_rows(K: Array) -> Array:
    """Return the rows of a pivoted Cholesky factor of K, and raise SolverFailed if its rank is not low."""
    n = len(K)
    size = float(K.diagonal().max())
    factor, order, rank, _ = dpstrf(K.T, tol=0.1 * FINE * size, lower=1)
    pivots = factor.diagonal()[:rank] ** 2 / size
    kept = min(int(np.count_nonzero(pivots > FINE)), max(int(RANK * n), LEAST))
    if kept < rank and pivots[kept] > COARSE:
        raise SolverFailed(
            f"NORMAL: the kernel matrix does not have a low rank. {kept} of {n} columns leave "
            f"{pivots[kept]:.1e} of it, and at most {COARSE:.0e} may be left. Use solver='auto'."
        )
    rows = np.empty((n, kept))
    rows[order - 1] = np.tril(factor[:, :kept])
    return rows
