r"""Interior-point method with column selection for the 1-norm SVM.

.. math:: \min_{c, b, \xi}\; \|c\|_1 + p^\top \xi \quad\text{s.t.}\quad
          y_i \left((\Phi c)_i + b\right) \ge \rho_i - \xi_i, \quad \xi \ge 0

Its dual has one variable for each row and one interval for each column of :math:`\Phi`:

.. math:: \max_\alpha\; \rho^\top \alpha \quad\text{s.t.}\quad
          |\Phi^\top (y \alpha)| \le 1, \quad 0 \le \alpha \le p, \quad y^\top \alpha = 0 .

With :math:`c = u - v` and :math:`g = \Phi^\top (y \alpha)`, the reduced costs of u and v are :math:`1 - g`
and :math:`1 + g`. Few columns have a coefficient at the optimum. A step works with the columns whose reduced
cost is small, and the remaining columns have coefficient zero. The step length respects the reduced costs of
all columns. The dual variables are therefore always feasible, and the duality gap is the gap of the whole
problem.

Once the gap is small, each variable is assigned to the bound that it approaches. Two linear systems remain.
One has the coefficients for which the free rows meet their margin. The other has the dual variables for which
the reduced costs of the used columns are zero. If the gap confirms this vertex, it is the answer, accurate to
rounding.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy import linalg
from scipy.linalg.blas import dsyrk
from scipy.linalg.lapack import dpotrs

from ..._utils.arrays import Array
from ..._utils.deadline import NEVER, Deadline
from ..._utils.linalg import lifted_cholesky, step_to_boundary

# A column enters a step if |g| exceeds ENTERS, and leaves when |g| falls below LEAVES.
ENTERS = 0.8
LEAVES = 0.6
# A column stays if it changes some margin by this share of the largest change of any column.
CONTRIBUTES = 1e-2
# At least this share of the columns is used, and at least FEW columns; the largest |g| come first.
AT_LEAST = 0.1
FEW = 100
# The relative gap below which a vertex is computed.
SETTLED = 1e-5
# Steps without a smaller gap or a smaller mu, after which the method stops.
PATIENCE = 8
# Share of the step to the boundary that is taken.
SHORTENED = 0.995
# Lifts of the diagonal of the unit-diagonal Newton matrix.
LIFTS = 10.0 ** np.arange(-14, -5)
# Refinements of a direction, at most.
REFINEMENTS = 10


@dataclass(frozen=True)
class LinearProgrammeSolution:
    """Primal and dual solution of the 1-norm SVM.

    Attributes
    ----------
    c : (m,) array
        Coefficients of all columns.
    bias : float
        b.
    alpha : (n,) array
        Dual variables, feasible for all columns.
    objective : float
        Objective of ``c`` and ``bias``, with the slacks that they need.
    gap : float
        Relative duality gap.
    steps : int
        Newton steps taken.
    """

    c: Array
    bias: float
    alpha: Array
    objective: float
    gap: float
    steps: int

    def scaled(self, factor: float) -> LinearProgrammeSolution:
        """Return the solution in other units of c."""
        parts = {part: factor * getattr(self, part) for part in ("c", "alpha", "objective")}
        return replace(self, **parts)


def solve_1norm(
    Phi: Array,
    y: Array,
    rho: Array,
    cost: Array,
    tol: float = 1e-10,
    max_steps: int = 200,
    deadline: Deadline = NEVER,
) -> LinearProgrammeSolution:
    """Solve the 1-norm SVM and its dual.

    Parameters
    ----------
    Phi : (n, m) array
        Values of the m functions that f is a combination of.
    y : (n,) array
        Signs of the rows. Both signs occur.
    rho : (n,) array
        Required margins.
    cost : (n,) array
        Positive costs of the slacks.
    tol : float, default=1e-10
        Relative duality gap.
    max_steps : int, default=200
        Newton steps, at most.
    deadline : Deadline, default=NEVER
        When the method has to end.

    Returns
    -------
    LinearProgrammeSolution
        The solution with the smallest gap. Its ``gap`` may exceed ``tol`` if no further progress was
        possible.
    """
    unit = float(np.abs(Phi).max(initial=0.0)) or 1.0  # in these units of c the entries of g are near 1
    A = np.asfortranarray((y / unit)[:, None] * Phi)
    problem = _Problem(A, y, rho, unit * cost)
    iterate = _Iterate(problem)
    smallest_gap = np.inf
    smallest_mu = np.inf
    vertex_below = SETTLED
    stalled = 0
    for step in deadline.steps(max_steps):
        iterate.choose_columns()
        gap = iterate.gap()
        stalled = 0 if gap < smallest_gap or iterate.mu < smallest_mu else stalled + 1
        smallest_mu = min(smallest_mu, iterate.mu)
        if gap < smallest_gap:
            smallest_gap = gap
            best = iterate.candidate()
            best_step = step
        if gap < vertex_below:
            vertex_below = 0.3 * gap
            vertex = problem.solution(iterate.vertex(), step)
            if vertex.gap <= tol:
                return vertex.scaled(1.0 / unit)
        if gap <= tol or stalled > PATIENCE or not iterate.advance():
            break
    return problem.solution(best, best_step).scaled(1.0 / unit)


class _Candidate(NamedTuple):
    """Some columns, their coefficients, the bias, and dual variables that may be slightly infeasible."""

    columns: Array
    c: Array
    bias: float
    alpha: Array


@dataclass(frozen=True, eq=False)
class _Problem:
    """The problem with the rows of Phi multiplied by their signs: ``A``."""

    A: Array
    y: Array
    rho: Array
    cost: Array

    def solution(self, candidate: _Candidate, step: int) -> LinearProgrammeSolution:
        """Return a candidate with feasible dual variables and the resulting gap."""
        columns, c, bias, alpha = candidate
        alpha = np.clip(alpha, 0.0, self.cost)
        positive, negative = _class_sums(alpha, self.y)
        if positive != negative and min(positive, negative) > 0:
            alpha = alpha * _balancing(self.y, positive, negative)
        alpha = alpha / max(1.0, float(np.abs(self.A.T @ alpha).max()))
        objective = self.objective(self.A[:, columns] @ c + bias * self.y, c)
        gap = self.relative(abs(objective - float(self.rho @ alpha)), objective)
        coefficients = np.zeros(self.A.shape[1])
        coefficients[columns] = c
        return LinearProgrammeSolution(coefficients, bias, alpha, objective, gap, step)

    def relative(self, gap: float, objective: float) -> float:
        """Return the gap relative to the objective, or to the objective of f = 0 if that is nearly zero."""
        return gap / (abs(objective) + min(1.0, float(self.cost.sum())))

    def objective(self, margins: Array, c: Array) -> float:
        """Return the objective of c, with the slacks that these margins need."""
        return float(np.abs(c).sum() + self.cost @ np.maximum(self.rho - margins, 0.0))


def _class_sums(values: Array, y: Array) -> tuple[float, float]:
    """Return the sums over the rows with y = 1 and over the rows with y = -1."""
    return float(values[y == 1.0].sum()), float(values[y == -1.0].sum())


def _balancing(y: Array, positive: float, negative: float) -> Array:
    """Return factors, at most 1, that make two class sums equal."""
    return np.where(y > 0, min(1.0, negative / positive), min(1.0, positive / negative))


class _Iterate:
    r"""Interior point of both problems.

    :math:`s = y(\Phi c + b) - \rho + \xi` is the excess of each margin. ``x`` holds u, v, s and :math:`\xi`;
    ``z`` holds :math:`1 - g`, :math:`1 + g`, :math:`\alpha` and :math:`p - \alpha`. All entries are
    positive, and an optimal point has :math:`x_i z_i = 0`.

    Attributes
    ----------
    columns : indices of the columns in use.
    B : (n, k + 1) array, the columns in use, and y for the bias.
    reduced_u, reduced_v : (m,) arrays, the reduced costs :math:`1 - g` and :math:`1 + g` of all columns.
    mu : mean of the products :math:`x_i z_i`.
    margins : values y f of all rows.
    """

    def __init__(self, problem: _Problem):
        self.problem = problem
        A = problem.A
        y = problem.y
        cost = problem.cost
        self.column_sizes = np.abs(A).max(axis=0)
        n = len(y)
        alpha = 0.5 * cost * _balancing(y, *_class_sums(cost, y))
        g = A.T @ alpha
        shrink = min(1.0, 0.5 / float(np.abs(g).max(initial=1e-300)))
        alpha = shrink * alpha
        self.reduced_u = 1.0 - shrink * g
        self.reduced_v = 1.0 + shrink * g
        self.columns = np.empty(0, int)
        self.bias = 0.0
        self.x = np.concatenate([np.full(n, 0.5), np.maximum(problem.rho, 0.0) + 0.5])
        self.z = np.concatenate([alpha, cost - alpha])
        self.mu = float(self.x @ self.z) / len(self.x)

    def choose_columns(self) -> None:
        """Select the columns with |g| near 1; new columns start at u = v = mu."""
        m = len(self.reduced_u)
        k = len(self.columns)
        u = np.full(m, self.mu)
        v = np.full(m, self.mu)
        u[self.columns] = self.x[:k]
        v[self.columns] = self.x[k : 2 * k]
        columns = self._near_one(u - v)
        if not np.array_equal(columns, self.columns):
            self.B = np.empty((len(self.problem.y), len(columns) + 1), order="F")
            np.take(self.problem.A.T, columns, axis=0, out=self.B.T[:-1])
            self.B[:, -1] = self.problem.y
            self.columns = columns
        self.x = np.concatenate([u[columns], v[columns], self.x[2 * k :]])
        self.z = np.concatenate([self.reduced_u[columns], self.reduced_v[columns], self.z[2 * k :]])
        self.mu = float(self.x @ self.z) / len(self.x)
        self.margins = self.B @ np.append(self.c, self.bias)

    def _near_one(self, c: Array) -> Array:
        """Return the columns to use: |g| near 1, or a coefficient that matters, or the largest |g|."""
        size = 1.0 - np.minimum(self.reduced_u, self.reduced_v)
        chosen = size > ENTERS
        chosen[self.columns] |= size[self.columns] > LEAVES
        contribution = np.abs(c) * self.column_sizes
        chosen |= contribution > CONTRIBUTES * contribution.max()
        fewest = min(len(c), max(FEW, int(AT_LEAST * len(c))))
        if np.count_nonzero(chosen) < fewest:
            chosen[np.argpartition(-size, fewest - 1)[:fewest]] = True
        return np.flatnonzero(chosen)

    def split(self, stacked: Array) -> list[Array]:
        """Return the four parts of ``x``, ``z``, or a change of either."""
        k = len(self.columns)
        n = len(self.problem.y)
        return np.split(stacked, [k, 2 * k, 2 * k + n])

    @property
    def c(self) -> Array:
        u, v, *_ = self.split(self.x)
        return u - v

    @property
    def alpha(self) -> Array:
        return self.split(self.z)[2]

    def candidate(self) -> _Candidate:
        return _Candidate(self.columns, self.c, self.bias, self.alpha)

    def gap(self) -> float:
        """Return the relative duality gap of the problem with all columns."""
        objective = self.problem.objective(self.margins, self.c)
        return self.problem.relative(objective - float(self.problem.rho @ self.alpha), objective)

    def vertex(self) -> _Candidate:
        """Return the vertex with each variable at the bound that it approaches."""
        cost = self.problem.cost
        rho = self.problem.rho
        *_, s, xi = self.split(self.x)
        reduced_u, reduced_v, alpha, below_cost = self.split(self.z)
        c = self.c
        largest = float(alpha.max())
        size = max(float(np.abs(c).max()), 1e-6 * self.problem.objective(self.margins, c))
        used = np.flatnonzero(np.abs(c) > size * np.minimum(reduced_u, reduced_v))
        at_cost = below_cost < largest * xi
        free = np.flatnonzero((alpha > largest * s) & ~at_cost)
        used_and_bias = np.append(used, len(c))
        system = self.B[np.ix_(free, used_and_bias)]
        w = np.append(c[used], self.bias)
        w += _solve_or_least_squares(system, rho[free] - system @ w)
        # Rounding leaves some margins slightly short, which large costs would magnify in the objective.
        required = rho[free] > 0
        w *= 1.0 + float(np.max(1.0 - (system @ w)[required] / rho[free][required], initial=0.0))
        alpha = np.where(at_cost, cost, 0.0) + np.where(np.isin(np.arange(len(alpha)), free), alpha, 0.0)
        signs = np.append(np.sign(c[used]), 0.0)
        alpha[free] += _solve_or_least_squares(system.T, signs - self.B[:, used_and_bias].T @ alpha)
        return _Candidate(self.columns[used], w[:-1], float(w[-1]), alpha)

    @np.errstate(all="ignore")
    def advance(self) -> bool:
        """Take Mehrotra's predictor-corrector step, and return whether the new point is positive and finite.

        Primal and dual variables have step lengths of their own.
        """
        x = self.x
        z = self.z
        newton = _NewtonSystem(self)
        if newton.factor is None:
            return False
        dx, dz, *_ = newton.direction(-x * z, refine=False)
        t = min(1.0, step_to_boundary(x, dx))
        t_dual = min(1.0, step_to_boundary(z, dz))
        predicted = float((x + t * dx) @ (z + t_dual * dz)) / len(x)
        target = self.mu * (predicted / self.mu) ** 3
        dx, dz, d_bias, d_alpha = newton.direction(target - x * z - dx * dz, refine=True)
        dg = self.problem.A.T @ d_alpha
        if not all(np.isfinite(part).all() for part in (dx, dz, dg)):
            return False
        dual_parts = ((z, dz), (self.reduced_u, -dg), (self.reduced_v, dg))
        t = SHORTENED * min(1.0, step_to_boundary(x, dx))
        t_dual = SHORTENED * min(1.0, *(step_to_boundary(part, change) for part, change in dual_parts))
        self.x = x + t * dx
        self.z = z + t_dual * dz
        self.bias = self.bias + t * d_bias
        self.reduced_u = self.reduced_u - t_dual * dg
        self.reduced_v = self.reduced_v + t_dual * dg
        return bool(min(part.min() for part in (self.x, self.z, self.reduced_u, self.reduced_v)) > 0)


class _NewtonSystem:
    r"""Linear system of a Newton step, for the columns in use and the bias.

    .. math:: B\,dw + W^{-1} d\alpha = r, \qquad B^\top d\alpha - D\,dw = r_w, \qquad
              W^{-1} = \tfrac{s}{\alpha} + \tfrac{\xi}{p - \alpha}, \quad
              D^{-1} = \tfrac{u}{1 - g} + \tfrac{v}{1 + g} .

    Eliminating :math:`d\alpha` leaves :math:`H = B^\top W B + D`, one row for each column in use. Refinement
    uses the residuals of both equations, because residuals of the eliminated system carry rounding errors of
    the size of W.

    Attributes
    ----------
    factor : lower Cholesky factor of H, scaled to unit diagonal, or None if it has none.
    """

    def __init__(self, iterate: _Iterate):
        self.iterate = iterate
        self.B = iterate.B
        u, v, s, xi = iterate.split(iterate.x)
        reduced_u, reduced_v, alpha, below_cost = iterate.split(iterate.z)
        self.W = 1.0 / (s / alpha + xi / below_cost)
        self.D = np.append(1.0 / (u / reduced_u + v / reduced_v), 0.0)
        H = dsyrk(1.0, self.B * np.sqrt(self.W)[:, None], trans=1, lower=1)
        diagonal = np.arange(len(H)), np.arange(len(H))
        H[diagonal] += self.D
        self.scale = 1.0 / np.sqrt(H[diagonal])
        H *= self.scale
        H *= self.scale[:, None]
        H[diagonal] = 1.0
        self.factor = lifted_cholesky(H, LIFTS)

    def _solve(self, r: Array, r_w: Array) -> tuple[Array, Array]:
        """Return dw and dα without refinement."""
        reduced = self.B.T @ (self.W * r) - r_w
        dw = self.scale * dpotrs(self.factor, self.scale * reduced, lower=1)[0]
        return dw, self.W * (r - self.B @ dw)

    def _refined(self, r: Array, r_w: Array, refinements: int) -> tuple[Array, Array]:
        """Return dw and dα after up to so many refinements."""
        dw, d_alpha = self._solve(r, r_w)
        for _ in range(refinements):
            residual = r - self.B @ dw - d_alpha / self.W
            residual_w = r_w - self.B.T @ d_alpha + self.D * dw
            if (
                np.abs(residual).max() <= 1e-3 * min(1.0, self.iterate.mu)
                and np.abs(residual_w).max() <= 1e-10
            ):
                break
            more, more_alpha = self._solve(residual, residual_w)
            dw = dw + more
            d_alpha = d_alpha + more_alpha
        return dw, d_alpha

    def direction(self, kappa: Array, refine: bool) -> tuple[Array, Array, float, Array]:
        """Return the changes of x, z, the bias and the dual variables that change x z by ``kappa``."""
        iterate = self.iterate
        problem = iterate.problem
        u, v, s, xi = iterate.split(iterate.x)
        reduced_u, reduced_v, alpha, below_cost = iterate.split(iterate.z)
        kappa_u, kappa_v, kappa_s, kappa_xi = iterate.split(kappa)
        primal_residual = problem.rho - iterate.margins - xi + s
        r = primal_residual + kappa_s / alpha - kappa_xi / below_cost
        r_w = np.append(-self.D[:-1] * (kappa_u / reduced_u - kappa_v / reduced_v), -float(problem.y @ alpha))
        dw, d_alpha = self._refined(r, r_w, REFINEMENTS if refine else 0)
        dg = (self.B.T @ d_alpha)[:-1]
        dz = np.concatenate([-dg, dg, d_alpha, -d_alpha])
        dx = (kappa - iterate.x * dz) / iterate.z
        # The difference u - v changes by dw exactly: the larger part is computed from the smaller one.
        du, dv, *rows = iterate.split(dx)
        u_larger = u * reduced_v > v * reduced_u
        du_exact = np.where(u_larger, dw[:-1] + dv, du)
        dv_exact = np.where(u_larger, dv, du - dw[:-1])
        return np.concatenate([du_exact, dv_exact, *rows]), dz, float(dw[-1]), d_alpha


def _solve_or_least_squares(M: Array, right: Array) -> Array:
    """Return the solution of M x = right, or the shortest least-squares solution if it is not unique."""
    if M.shape[0] == M.shape[1]:
        with warnings.catch_warnings():
            warnings.simplefilter("error", linalg.LinAlgWarning)
            try:
                solution: Array = linalg.solve(M, right, check_finite=False)
                return solution
            except (linalg.LinAlgError, linalg.LinAlgWarning):
                pass
    if M.size == 0:
        return np.zeros(M.shape[1])
    nearest: Array = linalg.lstsq(M, right, cond=1e-13, lapack_driver="gelsy", check_finite=False)[0]
    return nearest
