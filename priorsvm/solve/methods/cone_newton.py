r"""Newton's method for an SVM whose margins are reduced by norms of slopes.

.. math:: \min_{c, b}\; \tfrac12\|c\|^2 + \sum_i C_i \xi_i \quad\text{s.t.}\quad
          y_i (\varphi_i^\top c + b) - \|B_i c\| \ge \rho_i - \xi_i, \quad \xi \ge 0 .

Each norm is smoothed, :math:`n_i = \sqrt{\|B_i c\|^2 + \epsilon^2}`, and has a dual variable :math:`u_i` with
:math:`\|u_i\| \le 1` and :math:`n_i u_i = B_i c` at the optimum. A step linearises the margins and both
equations. It is the dual of an SVM with the rows :math:`g_i = y_i \varphi_i - B_i^\top B_i c / n_i` in the
metric of

.. math:: H = I + \sum_i \frac{\alpha_i}{n_i} B_i^\top \bigl(I - u_i (B_i c / n_i)^\top\bigr) B_i ,

and the active-set method of :mod:`.active` solves it from the dual variables of the step before. Rows outside
the margin have :math:`\alpha_i = 0` and are not part of H. The dual variables are feasible after every step,
so the duality gap is exact. ε decreases with it.

The first steps keep f in the span of few coordinates. Then f has all coordinates. If they are many, H is
exact in some of them and diagonal in the rest. The last steps keep the active set and use the exact H, by
conjugate gradients.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, Protocol

import numpy as np
from scipy.linalg import lu_factor, lu_solve, solve_triangular
from scipy.linalg.blas import dsyr2k, dsyrk
from scipy.linalg.lapack import dpotrs
from scipy.sparse import csr_array, eye_array

from ..._utils.arrays import Array, products
from ..._utils.deadline import NEVER, Deadline
from ..._utils.linalg import lifted_cholesky, scaled_gram
from .active import LinearKernelMatrix, RowDual, optimise
from .bias import best_bias

# Steps of the method at most.
MAX_STEPS = 60

# Coordinates in which the SVM without slopes is solved.
FIRST_COORDINATES = 400

# Number of coordinates in the first steps, at least.
FEWEST = 100.0

# Largest number of multiplications for the metric in the first steps, and for an exact one in the last steps.
FIRST_WORK = 6e8
LAST_WORK = 3e9

# The method ends after so many steps that leave more than this share of the gap.
STALLED = 8
PROGRESS = 0.5

# Share of the stationarity that counts as gap.
STATIONARITY = 1e-3

# Relative gap at which f gets all its coordinates.
COARSE = 1e-3

# H is made exact in twice as many coordinates if a step leaves more than this share of the gap.
SLOW = 0.5

# First ε, relative to the mean norm.
FIRST_SMOOTHING = 0.5

# Share of the gap that ε may cause, and the smallest factor of ε in one step.
SMOOTHING = 0.1
FASTEST = 0.1

# The exact H is used from this relative gap on, after a step of this share, with so many products a step.
SETTLED = 1e-3
SETTLED_SHARE = 0.5
CONJUGATE = 5

# A slope of this share of the first slope is nearly flat.
FLAT = 0.1

# Bisections of the line search.
BISECTIONS = 12

# Work of the active-set method in one step, in factorisations of a matrix between all rows.
EFFORT = 20.0

# Lifts of the diagonal of H, whose smallest eigenvalue is 1 except for rounding.
LIFTS = (0.0, 1e-12, 1e-8, 1e-4)


class Features(Protocol):
    """Coordinates of the values and slopes, in an orthonormal basis with the important directions first."""

    @property
    def values(self) -> Array:
        """The coordinates φ of all rows, of shape (n, r)."""

    def slopes(self, size: int) -> Array:
        """Return the first coordinates of all slopes B, of shape (m, size)."""

    def combined(self, weights: Array, some: Array) -> Array:
        """Return for some of the rows with slopes the sum of their slopes with these weights."""

    def summed(self, weights: Array) -> Array:
        """Return the sum of all slopes with these weights."""

    def slopes_of(self, c: Array, some: Array) -> Array:
        """Return B c; 0 for slopes of rows that are not among some."""


@dataclass(frozen=True, eq=False)
class ConeMargins:
    """The problem without its features.

    Attributes
    ----------
    y, margin, bound : (n,) arrays
        Signs, ρ and C of the rows.
    rows : (k,) array
        Rows with slopes, in increasing order.
    rank : (k,) array
        Number of slopes of each of them.
    """

    y: Array
    margin: Array
    bound: Array
    rows: Array
    rank: Array

    @cached_property
    def owner(self) -> Array:
        """The position in ``rows`` of each slope."""
        return np.repeat(np.arange(len(self.rows)), self.rank)

    def norms(self, s: Array, smoothing: float = 0.0) -> Array:
        """Return the smoothed norm for each of ``rows``."""
        return np.sqrt(np.bincount(self.owner, s * s, len(self.rows)) + smoothing**2)

    def grouped(self, weights: Array) -> csr_array:
        """Return the matrix that sums the slopes of each of ``rows`` with these weights."""
        ends = np.concatenate([[0], np.cumsum(self.rank)])
        return csr_array((weights, np.arange(len(weights)), ends), (len(self.rows), len(weights)))

    def curved_root(self, unit: Array, direction: Array) -> csr_array:
        r"""Return the symmetric root of :math:`I - (u v^\top + v u^\top) / 2` of each of ``rows``, as one matrix.

        The matrix has the eigenvectors :math:`u / \|u\| \pm v / \|v\|`.
        """
        long = self.norms(unit)
        wide = self.norms(direction)
        inner = np.bincount(self.owner, unit * direction, len(self.rows))
        root = csr_array(eye_array(len(self.owner)))
        for sign in (1.0, -1.0):
            along = unit / np.maximum(long, 1e-300)[self.owner]
            along += sign * direction / np.maximum(wide, 1e-300)[self.owner]
            along /= np.maximum(self.norms(along), 1e-300)[self.owner]
            value = 1.0 - 0.5 * (inner + sign * long * wide)
            grouped = self.grouped(along)
            root += grouped.T @ (self.grouped((np.sqrt(np.maximum(value, 0.0)) - 1.0)[self.owner] * along))
        return root

    def rows_with(self, target: Array) -> RowDual:
        """Return the dual of the SVM in which the rows have these targets."""
        n = len(self.y)
        signed = self.y * self.bound
        lower = np.minimum(signed, 0.0)
        upper = np.maximum(signed, 0.0)
        return RowDual(self.y * target, lower, upper, np.ones(n), np.zeros((n, 0)), np.zeros(0))

    def short(self, values: Array, norms: Array) -> Array:
        """Return by how much each row falls short of its margin; negative if it exceeds the margin."""
        short = self.margin - self.y * values
        short[self.rows] += norms
        return short


@dataclass(frozen=True, eq=False)
class ConeSolution:
    """The solution.

    Attributes
    ----------
    c, bias : coefficients and bias.
    alpha, unit : dual variables of the margins and of the norms.
    slack : slacks of the rows.
    value, lower : the objective, and the dual objective.
    stationarity : distance of c from the coefficients that the dual variables define, relative to c.
    steps : number of steps.
    """

    c: Array
    bias: float
    alpha: Array
    unit: Array
    slack: Array
    value: float
    lower: float
    stationarity: float
    steps: int

    @property
    def gap(self) -> float:
        """The gap between the objective and its lower bound, relative to the objective."""
        return (self.value - self.lower) / (1.0 + abs(self.value))

    @property
    def worst(self) -> float:
        """The gap, or a share of the stationarity if it is larger."""
        return max(abs(self.gap), STATIONARITY * self.stationarity)


def minimise(
    problem: ConeMargins,
    features: Features,
    guess: Callable[[Array], Array],
    tol: float,
    deadline: Deadline = NEVER,
) -> ConeSolution | None:
    """Return the solution; None if a step fails.

    Parameters
    ----------
    problem : ConeMargins
        Rows and their costs.
    features : Features
        Coordinates of the rows and slopes.
    guess : callable
        Function from a kernel matrix of the rows to signed dual variables near those of its SVM.
    tol : float
        Relative gap at which the method ends. It ends earlier if the gap does not decrease any more.
    deadline : Deadline, default=NEVER
        When the method has to end.
    """
    now = _Steps(problem, features, guess, tol)
    best: ConeSolution | None = None
    since = 0
    for count in deadline.steps(MAX_STEPS):
        found = now.solution(count)
        since += 1
        if now.size == now.all and (best is None or found.worst < best.worst):
            since = 0 if best is None or found.worst < PROGRESS * best.worst else since
            best = found
        if best is not None and (best.worst <= tol or since > STALLED):
            return best
        if now.size < now.all and found.gap <= COARSE:
            now.widen()
        elif not (now.polish(found) or now.step(found)):
            return best
    return best


@dataclass(frozen=True, eq=False)
class _Dual:
    """Feasible dual variables.

    Attributes
    ----------
    alpha, unit : dual variables of margins and norms.
    c : the coefficients that they define.
    value : the dual objective.
    """

    alpha: Array
    unit: Array
    c: Array
    value: float


@dataclass(frozen=True, eq=False)
class _Local:
    """The smoothed problem at the current point.

    Attributes
    ----------
    norms : smoothed norms.
    direction : their gradients by the slopes.
    short : by how much each row falls short of its margin.
    """

    norms: Array
    direction: Array
    short: Array


class _Steps:
    """The current point.

    Attributes
    ----------
    size : number of coordinates of f.
    exact : number of coordinates in which the metric is exact.
    c, bias, values, s : coefficients, bias, values of f without bias, and slopes.
    dual : feasible dual variables.
    warm : signed dual variables of the last linearised problem, or None.
    settled : whether its active set is likely to be the active set of the solution.
    """

    def __init__(
        self, problem: ConeMargins, features: Features, guess: Callable[[Array], Array], tol: float
    ) -> None:
        self.problem = problem
        self.features = features
        self.tol = tol
        self.all = features.values.shape[1]
        self.work = max(len(problem.owner), 1)
        self.size = int(min(self.all, max(FEWEST, (FIRST_WORK / self.work) ** 0.5)))
        self.exact = self.size
        self.guess = guess
        few = self.phi[:, :FIRST_COORDINATES]
        a = guess(products(few, few))
        self.c = a @ self.phi
        self.values = self.phi @ self.c
        self.s = self._slopes_of(self.c)
        self._shrink()
        norms = problem.norms(self.s)
        self.smoothing = max(FIRST_SMOOTHING * float(norms.mean()), 1e-6) if len(norms) else 1.0
        self.dual = self._dual(np.abs(a), self._local().direction)
        self.before = np.inf
        self.settled = False
        self.metric: _Metric | _SlopeMetric | None = None
        self.warm: Array | None = None

    @property
    def phi(self) -> Array:
        """The coordinates of the rows."""
        return self.features.values[:, : self.size]

    def _slopes_of(self, c: Array) -> Array:
        if self.exact == self.size:
            return np.asarray(self.features.slopes(self.size) @ c)
        return self.features.slopes_of(c, np.arange(len(self.problem.rows)))

    def _summed(self, weights: Array) -> Array:
        """Return the sum of all slopes with these weights."""
        if self.exact == self.size:
            return np.asarray(weights @ self.features.slopes(self.size))
        return self.features.summed(weights)

    def _local(self) -> _Local:
        problem = self.problem
        norms = problem.norms(self.s, self.smoothing)
        direction = self.s / norms[problem.owner]
        return _Local(norms, direction, problem.short(self.values + self.bias, norms))

    def _shrink(self) -> None:
        """Scale f, and set the best bias: with norms of slopes a smaller f is better."""
        problem = self.problem
        best = np.inf
        norms = problem.norms(self.s)
        for factor in 0.5 ** np.arange(8):
            short = problem.short(factor * self.values, factor * norms)
            bias, _ = best_bias(short, problem.y, problem.bound)
            loss = problem.bound @ np.maximum(short - problem.y * bias, 0.0)
            value = 0.5 * factor**2 * float(self.c @ self.c) + float(loss)
            if value < best:
                best = value
                chosen = factor
                self.bias = bias
        self.c = chosen * self.c
        self.values = chosen * self.values
        self.s = chosen * self.s

    def _dual(self, alpha: Array, unit: Array) -> _Dual:
        """Return dual variables with their objective."""
        problem = self.problem
        weights = alpha[problem.rows][problem.owner] * unit
        c = (problem.y * alpha) @ self.phi - self._summed(weights)
        return _Dual(alpha, unit, c, float(problem.margin @ alpha) - 0.5 * float(c @ c))

    def solution(self, steps: int) -> ConeSolution:
        """Return the current point with its objective and its lower bound."""
        problem = self.problem
        slack = np.maximum(problem.short(self.values + self.bias, problem.norms(self.s)), 0.0)
        value = 0.5 * float(self.c @ self.c) + float(problem.bound @ slack)
        dual = self.dual
        away = float(np.linalg.norm(self.c - dual.c)) / (1.0 + float(np.linalg.norm(self.c)))
        return ConeSolution(self.c, self.bias, dual.alpha, dual.unit, slack, value, dual.value, away, steps)

    def widen(self) -> None:
        """Let f have all coordinates."""
        self.size = self.all
        self.c = np.concatenate([self.c, np.zeros(self.all - len(self.c))])
        if self.all**2 <= LAST_WORK / self.work:
            self.exact = self.all
        self.dual = self._dual(self.dual.alpha, self.dual.unit)
        self.smoothing = max(self.smoothing, self._allowed(self.solution(0)))
        self.before = np.inf
        self.settled = False

    def step(self, found: ConeSolution) -> bool:
        """Move towards the solution of the linearised problem; return False if it is not found."""
        problem = self.problem
        y = problem.y
        if self.size == self.all and found.gap > SLOW * self.before:
            self.exact = min(self.all, 2 * self.exact)
        self.before = found.gap
        local = self._local()
        B = self.features.slopes(self.exact)
        if self.exact == self.size:
            along = problem.grouped(local.direction) @ B
        else:
            along = self.features.combined(local.direction, np.arange(len(problem.rows)))
        G = y[:, None] * self.phi
        G[problem.rows] -= along
        weight = self.dual.alpha[problem.rows] / local.norms
        active = np.flatnonzero(weight[problem.owner] > 0)
        if self.exact == self.size and len(active) <= self.size:
            self.metric = _SlopeMetric.of(problem, B, self.dual.unit, local.direction, weight)
        else:
            self.metric = _Metric.of(problem, B, along, self.dual.unit, weight)
        if self.metric is None:
            return False
        target = local.short + y * self.bias + G @ self.metric.solved(self.c)
        K = self.metric.matrix(y[:, None] * G)
        start = self.guess(K.among(np.arange(len(y)))) if self.warm is None else self.warm
        answer = optimise(K, problem.rows_with(target), start, 1e-6, EFFORT)
        if answer is None:
            return False
        self.warm = answer.a
        alpha = np.abs(answer.a)
        t = self._move(local, alpha, answer.bias, self.metric.solved(alpha @ G - self.c))
        self.settled = self.size == self.all and t > SETTLED_SHARE
        self._smooth(found)
        return True

    def polish(self, found: ConeSolution) -> bool:
        """Take a step with the exact H that keeps the active set; return whether that is possible."""
        if self.exact == self.all or found.gap > SETTLED or not self.settled:
            return False
        problem = self.problem
        y = problem.y
        assert self.metric is not None and self.warm is not None
        alpha = np.abs(self.warm)
        free = np.flatnonzero((alpha > 0) & (alpha < problem.bound))
        local = self._local()
        A = y[free, None] * self.phi[free]
        has = np.isin(free, problem.rows)
        A[has] -= self.features.combined(local.direction, np.searchsorted(problem.rows, free[has]))
        size = alpha[problem.rows]
        exact = partial(self._exact_product, local, size / local.norms)
        right = (y * alpha) @ self.phi - self.features.summed(size[problem.owner] * local.direction) - self.c
        d, rise, change = _Saddle(self.metric, A, y[free], exact).solve(right, local.short[free])
        with np.errstate(divide="ignore", invalid="ignore"):
            reach = np.where(change > 0, problem.bound[free] - alpha[free], -alpha[free]) / change
        most = min(1.0, float(np.where(change == 0, 1.0, reach).min(initial=1.0)))
        alpha[free] += most * change
        self.warm = y * alpha
        self.settled = self._move(local, alpha, self.bias + rise, d, most) == 1.0
        self._smooth(found)
        return True

    def _exact_product(self, local: _Local, weight: Array, d: Array) -> Array:
        """Return H d; ``weight`` is α over the norm of each row."""
        problem = self.problem
        owner = problem.owner
        unit = self.dual.unit
        s = self.features.slopes_of(d, np.flatnonzero(weight > 0))
        along = np.bincount(owner, local.direction * s, len(problem.rows))[owner]
        other = np.bincount(owner, unit * s, len(problem.rows))[owner]
        turned = s - 0.5 * (unit * along + local.direction * other)
        return d + self.features.summed(weight[owner] * turned)

    def _move(self, local: _Local, alpha: Array, bias: float, d: Array, most: float = 1.0) -> float:
        """Take the step d as far as the smoothed objective decreases, and return its share.

        The share is at most ``most``. Dual variables take the whole step if their objective increases.
        """
        problem = self.problem
        values = self.phi @ d
        s = self._slopes_of(d)
        rise = bias - self.bias

        def slope(t: float) -> float:
            at = self.s + t * s
            norms = problem.norms(at, self.smoothing)
            change = -problem.y * (values + rise)
            change[problem.rows] += np.bincount(problem.owner, at * s, len(problem.rows)) / norms
            short = problem.short(self.values + self.bias + t * (values + rise), norms)
            return float((self.c + t * d) @ d) + float(problem.bound[short > 0] @ change[short > 0])

        t = _least(slope, most)
        dual = self.dual
        along = np.bincount(problem.owner, local.direction * s, len(problem.rows))[problem.owner]
        unit = local.direction + (s - dual.unit * along) / local.norms[problem.owner]
        unit = unit / np.maximum(problem.norms(unit), 1.0)[problem.owner]
        self.dual = self._dual(alpha, unit)
        if self.dual.value < dual.value and t < 1.0:
            part = dual.alpha + t * (alpha - dual.alpha)
            self.dual = self._dual(part, dual.unit + t * (unit - dual.unit))
        self.c = self.c + t * d
        self.bias = self.bias + t * rise
        self.values = self.values + t * values
        self.s = self.s + t * s
        return t

    def _allowed(self, found: ConeSolution) -> float:
        """Return the ε whose effect is a share of the gap, or the tolerance."""
        size = max(SMOOTHING * min(found.gap, 1.0), self.tol) * (1.0 + abs(found.value))
        return size / max(float(self.dual.alpha[self.problem.rows].sum()), 1e-300)

    def _smooth(self, found: ConeSolution) -> None:
        """Lower ε with the gap, until its effect is below the tolerance."""
        allowed = self._allowed(found)
        self.smoothing = min(self.smoothing, max(allowed, FASTEST * self.smoothing))


def _least(slope: Callable[[float], float], most: float) -> float:
    """Return where a convex function of this slope is least in [0, most]; ``most`` if it is nearly flat."""
    steepest = FLAT * abs(slope(0.0))
    if slope(most) <= steepest:
        return most
    low = 0.0
    high = most
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        if slope(middle) <= 0:
            low = middle
        else:
            high = middle
    return high


@dataclass(frozen=True, eq=False)
class _Saddle:
    r"""Equations of a step in which the rows A keep their margins.

    .. math:: H d - A^\top \lambda = r, \qquad A d + y b = e, \qquad y^\top \lambda = 0 .

    They are solved by conjugate gradients with exact products by H, and a metric as preconditioner.
    """

    metric: _Metric
    A: Array
    y: Array
    times: Callable[[Array], Array]

    @cached_property
    def _factors(self) -> Any:
        half = self.metric.halved(self.A)
        n = len(self.y)
        K = np.zeros((n + 1, n + 1))
        K[:n, :n] = half @ half.T
        K[:n, n] = self.y
        K[n, :n] = self.y
        return lu_factor(K, check_finite=False)

    def _preconditioned(self, r: Array, e: Array) -> tuple[Array, float, Array]:
        """Return d, b and λ with the metric instead of H."""
        first = self.metric.solved(r)
        found = lu_solve(self._factors, np.append(e - self.A @ first, 0.0), check_finite=False)
        dual = found[:-1]
        return first + self.metric.solved(dual @ self.A), float(found[-1]), dual

    def solve(self, r: Array, e: Array) -> tuple[Array, float, Array]:
        """Return d, b and λ."""
        d, b, _ = self._preconditioned(r, e)
        none = np.zeros(len(self.y))
        left = r - self.times(d)
        g, rise, dual = self._preconditioned(left, none)
        first = float(left @ g)
        squared = first
        p = g
        up = rise
        for _ in range(CONJUGATE):
            if squared <= 1e-12 * first:
                break
            Hp = self.times(p)
            step = squared / float(p @ Hp)
            d = d + step * p
            b = b + step * up
            left = left - step * Hp
            g, rise, dual = self._preconditioned(left, none)
            before = squared
            squared = float(left @ g)
            p = g + (squared / before) * p
            up = rise + (squared / before) * up
        return d, b, dual


@dataclass(frozen=True, eq=False)
class _Metric:
    """H: the lower Cholesky factor of its exact part, and the diagonal of the rest."""

    factor: Array
    rest: Array

    @classmethod
    def of(cls, problem: ConeMargins, B: Array, along: Array, unit: Array, weight: Array) -> _Metric | None:
        """Return H; None if it has no factor.

        Parameters
        ----------
        problem : the rows.
        B : the slopes in the coordinates in which H is exact.
        along : the gradient of the norm of each row, in all coordinates.
        unit : dual variables of the norms.
        weight : α over the norm of each row.
        """
        size = B.shape[1]
        root = np.sqrt(weight)
        used = np.flatnonzero(weight > 0)
        active = np.flatnonzero(weight[problem.owner] > 0)
        H = scaled_gram(B, active, root[problem.owner[active]])
        first = along[used, :size] * root[used, None]
        second = (problem.grouped(unit)[used] @ B) * root[used, None]
        H = dsyr2k(-0.5, first.T, second.T, beta=1.0, c=H, lower=1, overwrite_c=1)
        H[np.diag_indices(size)] += 1.0
        factor = lifted_cholesky(H, LIFTS)
        if factor is None:
            return None
        # A row has as much curvature across its direction as along it, for each of its further slopes.
        rest = 1.0 + (weight * (problem.rank - 1.0)) @ along[:, size:] ** 2
        return cls(factor, rest)

    def matrix(self, G: Array) -> LinearKernelMatrix:
        r"""Return the kernel matrix :math:`G H^{-1} G^\top`."""
        return LinearKernelMatrix(self.halved(G))

    def halved(self, G: Array) -> Array:
        r"""Return :math:`G H^{-1/2}`, with a root of H that is not symmetric."""
        size = len(self.factor)
        out = np.empty(G.shape)
        out[..., :size] = solve_triangular(self.factor, G[..., :size].T, lower=True, check_finite=False).T
        out[..., size:] = G[..., size:] / np.sqrt(self.rest)
        return out

    def solved(self, c: Array) -> Array:
        r"""Return :math:`H^{-1} c`."""
        size = len(self.factor)
        half = self.halved(c)
        half[:size] = solve_triangular(self.factor, half[:size], lower=True, trans=1, check_finite=False)
        half[size:] /= np.sqrt(self.rest)
        return half


@dataclass(frozen=True, eq=False)
class _SlopeMetric:
    r""":math:`H = I + P^\top P` with few rows P, and the lower Cholesky factor of :math:`I + P P^\top`."""

    P: Array
    factor: Array

    @classmethod
    def of(
        cls, problem: ConeMargins, B: Array, unit: Array, direction: Array, weight: Array
    ) -> _SlopeMetric | None:
        """Return H; None if it has no factor.

        Parameters
        ----------
        problem : the rows.
        B : the slopes.
        unit, direction : dual variables of the norms, and gradients of the norms by the slopes.
        weight : α over the norm of each row.
        """
        used = np.flatnonzero(weight[problem.owner] > 0)
        root = np.sqrt(weight)[problem.owner[used], None]
        P = root * (problem.curved_root(unit, direction)[used] @ B)
        P = P[np.einsum("md,md->m", P, P) > 1e-6]
        M = dsyrk(1.0, P.T, trans=1, lower=1)
        M[np.diag_indices(len(M))] += 1.0
        factor = lifted_cholesky(M, LIFTS)
        return None if factor is None else cls(P, factor)

    def matrix(self, G: Array) -> _SlopeKernelMatrix:
        return _SlopeKernelMatrix(self, G)

    def solved(self, c: Array) -> Array:
        r"""Return :math:`H^{-1} c`."""
        return np.asarray(c - dpotrs(self.factor, self.P @ c, lower=1)[0] @ self.P)


@dataclass(frozen=True, eq=False)
class _SlopeKernelMatrix:
    metric: _SlopeMetric
    G: Array

    def among(self, rows: Array) -> Array:
        some = self.G[rows]
        half = solve_triangular(self.metric.factor, self.metric.P @ some.T, lower=True, check_finite=False)
        return np.asarray(some @ some.T - half.T @ half)

    def times(self, a: Array) -> Array:
        support = np.flatnonzero(a)
        return np.asarray(self.G @ self.metric.solved(a[support] @ self.G[support]))
