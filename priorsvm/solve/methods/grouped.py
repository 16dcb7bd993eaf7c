r"""An interior-point method for the dual of an SVM whose rows form groups that share a slack.

.. math:: \min_\alpha\; \tfrac12 \alpha^\top Q \alpha - \delta^\top \alpha \quad\text{s.t.}\quad
          \alpha \ge 0, \quad \sum_{k \in i} g_k \alpha_k \le C_i, \quad y^\top \alpha = 0 .

The dual variable of the sum over group i is its slack :math:`\xi_i`. The dual variable of
:math:`y^\top\alpha = 0` is the bias. Each step takes one dense Cholesky factorisation, for Mehrotra's
predictor and corrector.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from ..._utils.arrays import Array
from ..._utils.deadline import NEVER, Deadline
from ..._utils.linalg import step_to_boundary
from ...errors import SolverFailed

# Dual variables below this share of the largest are zeros of an interior-point method.
ROUNDING = 1e-12

# The share of the step to the boundary that is taken.
DAMPING = 0.995

# The method stops after this many steps without progress: no further progress in floating point.
PATIENCE = 4


@dataclass(frozen=True)
class GroupedSolution:
    """The solution of the dual.

    Attributes
    ----------
    alpha : (m,) array
        The variables.
    slack : (n,) array
        The slack of every group.
    bias : float
        The dual variable of the equality; 0 without the equality.
    gap : float
        The relative duality gap.
    steps : int
        The number of steps.
    """

    alpha: Array
    slack: Array
    bias: float
    gap: float
    steps: int


def solve_grouped(
    Q: Array,
    delta: Array,
    group: Array,
    limit: Array,
    y: Array | None = None,
    share: Array | None = None,
    tol: float = 1e-9,
    max_steps: int = 100,
    deadline: Deadline = NEVER,
) -> GroupedSolution:
    """Solve the dual.

    Parameters
    ----------
    Q : (m, m) positive semidefinite array
    delta : (m,) array
    group : (m,) array
        The group of every variable, from 0 to n - 1.
    limit : (n,) positive array
        C of every group.
    y : (m,) array or None, default=None
        The classes, for a model with a bias.
    share : (m,) positive array or None, default=None
        The coefficients g; None means ones.
    tol : float, default=1e-9
        The relative residuals and duality gap.
    max_steps : int, default=100
    deadline : Deadline, default=NEVER
        When the method has to end.

    Returns
    -------
    GroupedSolution

    Raises
    ------
    SolverFailed
        If the residuals stay far above ``tol``.
    OutOfTime
        If the deadline has passed.
    """
    problem = _Problem(Q, delta, group, limit, y, share)
    point = problem.start()
    best = np.inf
    since = 0
    for step in range(1, max_steps + 1):
        deadline.check()
        residuals = problem.residuals(point)
        if residuals.worst < best:
            best = residuals.worst
            since = 0
            answer = GroupedSolution(point.alpha * problem.scale, point.xi, point.b, residuals.gap, step)
        since += 1
        if residuals.worst <= tol or since > PATIENCE:
            break
        point = problem.advance(point, residuals)
    if best > max(1e3 * tol, 1e-6):
        raise SolverFailed(
            f"the residuals of the dual of the invariant loss stay at {best:.1e}. Scale the data."
        )
    return answer


@dataclass(frozen=True, eq=False)
class _Point:
    """A point, or a direction: alpha, the slacks s of the bounds, and the dual variables z, xi and b."""

    alpha: Array
    s: Array
    z: Array
    xi: Array
    b: float

    def step_lengths(self, direction: _Point) -> tuple[float, float]:
        """Return the primal and the dual step to the boundary."""
        primal = min(
            1.0, step_to_boundary(self.alpha, direction.alpha), step_to_boundary(self.s, direction.s)
        )
        dual = min(1.0, step_to_boundary(self.z, direction.z), step_to_boundary(self.xi, direction.xi))
        return primal, dual

    def moved(self, direction: _Point, length: float) -> _Point:
        return _Point(
            self.alpha + length * direction.alpha,
            self.s + length * direction.s,
            self.z + length * direction.z,
            self.xi + length * direction.xi,
            self.b + length * direction.b,
        )


@dataclass(frozen=True, eq=False)
class _Residuals:
    """Residuals of the optimality conditions; ``mu`` is the mean complementarity, ``worst`` the largest."""

    dual: Array
    primal: Array
    balance: float
    mu: float
    gap: float
    worst: float


class _Problem:
    """The dual, with variables scaled to at most 1."""

    def __init__(
        self, Q: Array, delta: Array, group: Array, limit: Array, y: Array | None, share: Array | None
    ):
        m = len(delta)
        self.scale = float(np.max(limit))
        self.Q = Q * self.scale
        self.delta = delta
        self.group = group
        self.C = limit / self.scale
        self.y = y
        self.g = np.ones(m) if share is None else share
        self.total = m + len(limit)
        self.size = 1.0 + float(np.abs(delta).max())
        self.unit = min(1.0, float(limit.sum())) / self.scale  # the gap is relative to small costs too
        self.pairs = pairs_of_groups(group)

    def sums(self, values: Array) -> Array:
        """Return the weighted sum over each group."""
        return np.bincount(self.group, self.g * values, minlength=len(self.C))

    def start(self) -> _Point:
        """Return the starting point: half of every bound is used."""
        counts = np.bincount(self.group, self.g, minlength=len(self.C))
        alpha = (0.5 * self.C / np.maximum(counts, 1e-300))[self.group]
        return _Point(alpha, self.C - self.sums(alpha), np.ones(len(alpha)), np.ones(len(self.C)), 0.0)

    def residuals(self, point: _Point) -> _Residuals:
        """Return the residuals at a point."""
        alpha = point.alpha
        Qa = self.Q @ alpha
        dual = Qa - self.delta - point.z + self.g * point.xi[self.group]
        balance = 0.0
        if self.y is not None:
            dual = dual + point.b * self.y
            balance = float(self.y @ alpha)
        primal = self.sums(alpha) + point.s - self.C
        mu = float(alpha @ point.z + point.s @ point.xi) / self.total
        value = abs(0.5 * float(alpha @ Qa)) + float(self.C @ point.xi)
        gap = mu * self.total / (self.unit + value)
        worst = max(gap, float(np.abs(dual).max()) / self.size, float(np.abs(primal).max()), abs(balance))
        return _Residuals(dual, primal, balance, mu, gap, worst)

    def advance(self, point: _Point, residuals: _Residuals) -> _Point:
        """Return the next point, by a predictor and a corrector."""
        system = _NewtonSystem(self, point, residuals)
        predictor = system.predictor()
        primal, dual = point.step_lengths(predictor)
        left = (point.alpha + primal * predictor.alpha) @ (point.z + dual * predictor.z)
        left = left + (point.s + primal * predictor.s) @ (point.xi + dual * predictor.xi)
        target = residuals.mu * float(left / self.total / residuals.mu) ** 3
        corrector = system.corrector(predictor, target)
        # One length for primal and dual variables, because Q occurs in the dual residual.
        return point.moved(corrector, DAMPING * min(point.step_lengths(corrector)))


class _NewtonSystem:
    """The linear equations of one step, reduced to the variables alpha and factored once."""

    turned: Array  # the solution for the right-hand side y

    def __init__(self, problem: _Problem, point: _Point, residuals: _Residuals):
        self.problem = problem
        self.point = point
        self.residuals = residuals
        g = problem.g
        group = problem.group
        rows, columns = problem.pairs
        M = problem.Q.copy()
        diagonal = np.arange(len(g))
        M[diagonal, diagonal] += point.z / point.alpha
        M[rows, columns] += g[rows] * g[columns] * (point.xi / point.s)[group[rows]]
        self.factor = lift_and_factor(M)
        self.M = M

    def predictor(self) -> _Point:
        """Return the direction to complementarity 0."""
        point = self.point
        sign = np.zeros(len(point.alpha)) if self.problem.y is None else self.problem.y
        right = np.stack([self._right(-point.z, -point.xi), sign], axis=1)
        direction, self.turned = cho_solve(self.factor, right, check_finite=False).T
        return self._direction(direction, -point.z, -point.xi)

    def corrector(self, predictor: _Point, target: float) -> _Point:
        """Return the direction to complementarity ``target``, corrected by products of the predictor."""
        point = self.point
        inner = (target - predictor.alpha * predictor.z) / point.alpha - point.z
        outer = (target - predictor.s * predictor.xi) / point.s - point.xi
        right = self._right(inner, outer)
        direction = cho_solve(self.factor, right, check_finite=False)
        direction += cho_solve(self.factor, right - self.M @ direction, check_finite=False)  # refinement
        return self._direction(direction, inner, outer)

    def _right(self, inner: Array, outer: Array) -> Array:
        point = self.point
        shift = outer + point.xi / point.s * self.residuals.primal
        return np.asarray(inner - self.residuals.dual - self.problem.g * shift[self.problem.group])

    def _direction(self, alpha: Array, inner: Array, outer: Array) -> _Point:
        """Return the direction in all variables, with the bias that restores the balance."""
        point = self.point
        y = self.problem.y
        b = 0.0
        if y is not None:
            b = float((y @ alpha + self.residuals.balance) / (y @ self.turned))
        alpha = alpha - b * self.turned
        s = -self.residuals.primal - self.problem.sums(alpha)
        z = inner - point.z / point.alpha * alpha
        xi = outer - point.xi / point.s * s
        return _Point(alpha, s, z, xi, b)


def without_rounding(alpha: Array) -> Array:
    """Return the variables with zeros in place of rounding."""
    return np.where(alpha > ROUNDING * alpha.max(), alpha, 0.0)


def pairs_of_groups(group: Array) -> tuple[Array, Array]:
    """Return all pairs of variables of one group, in both orders and with themselves."""
    order = np.argsort(group, kind="stable")
    counts = np.bincount(group)
    starts = np.concatenate([[0], np.cumsum(counts)[:-1]])
    owner = group[order]
    each = counts[owner]
    rows = np.repeat(order, each)
    within = np.arange(each.sum()) - np.repeat(np.cumsum(each) - each, each)
    return rows, order[np.repeat(starts[owner], each) + within]


def lift_and_factor(M: Array) -> tuple[Array, bool]:
    """Return the Cholesky factor; if rounding prevents it, add the smallest multiple of I that suffices.

    M itself is lifted, unlike in ``_utils.linalg``: refinement against the matrix without the lift took 6 %
    more steps on matrices of low rank.
    """
    lift = 0.0
    for _ in range(8):
        try:
            factor: tuple[Array, bool] = cho_factor(M, lower=True, check_finite=False)
            return factor
        except np.linalg.LinAlgError:
            more = max(10 * lift, 1e-14 * float(np.abs(M.diagonal()).max()))
            M[np.diag_indices(len(M))] += more - lift
            lift = more
    raise SolverFailed("the dual of the invariant loss is singular in floating point. Scale the data.")
