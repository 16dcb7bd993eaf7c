r"""Newton's method for an SVM whose margins are reduced by norms of slopes.

.. math:: \min_{c, b}\; \tfrac12\|c\|^2 + \sum_i C_i \xi_i \quad\text{s.t.}\quad
          y_i (\varphi_i^\top c + b) - \|B_i c\| \ge \rho_i - \xi_i, \quad \xi \ge 0 .

Each norm is smoothed by ε, and has dual variables :math:`u_i`. A step linearises the margins and the norms,
as in :mod:`.cone_margins`. With the gradient :math:`v_i` of each norm, it is the dual of an SVM with the rows
:math:`g_i = y_i \varphi_i - B_i^\top v_i` in the metric H of :mod:`.cone_metric`.

The active-set method of :mod:`.active` solves it from the dual variables of the step before. The first step
starts from the SVM with these rows, this metric and the margins :math:`\rho_i`. Rows outside the margin have
:math:`\alpha_i = 0` and are not part of H. The dual variables are feasible after every step, so the gap
is exact. ε decreases with it.

The first steps keep f in the span of few coordinates. Then f has all coordinates. If these and the slopes are
many, H is exact in some coordinates and diagonal in the rest. The last steps keep the active set and use the
exact H, by conjugate gradients.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Protocol

import numpy as np

from ..._utils.arrays import Array, products
from ..._utils.deadline import NEVER, Deadline
from .active import ActiveSetSolution, KeptKernelMatrix, KernelMatrix, RowDual, optimise
from .bias import best_bias
from .cone_margins import ConeMargins, Linearised
from .cone_metric import Metric, Saddle, SlopeMetric

# Steps of the method at most.
MAX_STEPS = 60

# Coordinates in which the SVM without slopes is solved.
FIRST_COORDINATES = 400

# Number of coordinates in the first steps, at least.
FEWEST = 100.0

# Largest number of multiplications for the metric in the first steps, and for an exact one in the last steps.
FIRST_WORK = 6e8
LAST_WORK = 3e9

# The method ends after so many steps that leave more of the gap, and lower the objective by less.
STALLED = 8
PROGRESS = 0.5
FALL = 1e-3

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
FASTEST = 0.01

# Kinks and the exact H are used from this relative gap on, after a step of this share.
SETTLED = 1e-3
SETTLED_SHARE = 0.5

# A slope of this share of the first slope is nearly flat.
FLAT = 0.1

# Bisections of the line search.
BISECTIONS = 12

# Work of the active-set method in one step, in factorisations of a matrix between all rows; more where rows
# are few.
EFFORT = 20.0
SMALL = 2000.0


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
    least = np.inf  # objective
    for count in deadline.steps(MAX_STEPS):
        found = now.solution(count)
        since = 0 if found.value < (1.0 - FALL) * least else since + 1
        least = min(least, found.value)
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


class _Steps:
    """The current point.

    Attributes
    ----------
    size : number of coordinates of f.
    exact : number of coordinates in which the metric is exact.
    c, bias, values, s : coefficients, bias, values of f without bias, and slopes.
    dual : feasible dual variables.
    warm : signed dual variables of the last linearised problem.
    share : share of the last step that was taken.
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
        most = max((FIRST_WORK / self.work) ** 0.5, FIRST_WORK / self.work**2)
        self.size = int(min(self.all, max(FEWEST, most)))
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
        self.dual = self._dual(np.abs(a), self.s / problem.norms(self.s, self.smoothing)[problem.owner])
        self.before = np.inf
        self.share = 0.0
        self.settled = False
        self.metric: Metric | SlopeMetric | None = None
        self.warm = a

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

    def _linearised(self, alpha: Array, gap: float) -> Linearised:
        """Return the linearised norms; kinks are known near the solution, after a long step."""
        unit = self.dual.unit
        problem = self.problem
        near = gap <= SETTLED and self.share > SETTLED_SHARE
        at = problem.at_kinks(self.s, unit, self.smoothing) if near else self.s
        return Linearised.of(problem, self.s, at, self.smoothing, unit, alpha)

    def _short(self, local: Linearised) -> Array:
        """Return by how much each row falls short of its linearised margin."""
        return self.problem.short(self.values + self.bias, local.values)

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
        if self.all * min(self.all, self.work) <= LAST_WORK / self.work:
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
        self._smooth(found)
        local = self._linearised(self.dual.alpha, found.gap)
        B = self.features.slopes(self.exact)
        if self.exact == self.size:
            along = problem.grouped(local.direction) @ B
        else:
            along = self.features.combined(local.direction, np.arange(len(problem.rows)))
        # Signed rows y g, as the active-set method has them.
        S = self.phi.copy()
        S[problem.rows] -= y[problem.rows, None] * along
        few = self.exact == self.size and problem.rank[local.alpha > 0].sum() <= self.size
        self.metric = SlopeMetric.of(local, B) if few else Metric.of(local, B, along)
        if self.metric is None:
            return False
        c = self.c + self._summed(local.curved(local.offset))
        target = self._short(local) + y * (self.bias + S @ self.metric.solved(c))
        K = KeptKernelMatrix(self.metric.matrix(S))
        answer = self._optimised(
            K, problem.rows_with(target), found.gap > SETTLED and self.share <= SETTLED_SHARE
        )
        if answer is None:
            return False
        self.warm = answer.a
        alpha = np.abs(answer.a)
        self._move(local, alpha, answer.bias, self.metric.solved(answer.a @ S - c))
        self.settled = self.size == self.all and self.share > SETTLED_SHARE
        return True

    def _optimised(self, K: KernelMatrix, rows: RowDual, guess_first: bool) -> ActiveSetSolution | None:
        """Return the solution of the linearised problem, from the last dual variables or from a guess."""
        effort = max(EFFORT, SMALL / len(self.warm))
        for guessed in (guess_first, not guess_first):
            start = self.guess(K.among(np.arange(len(self.warm)))) if guessed else self.warm
            answer = optimise(K, rows, start, 1e-6, effort)
            if answer is not None:
                return answer
        return None

    def polish(self, found: ConeSolution) -> bool:
        """Take a step with the exact H that keeps the active set; return whether that is possible."""
        if self.exact == self.all or found.gap > SETTLED or not self.settled:
            return False
        problem = self.problem
        y = problem.y
        assert isinstance(self.metric, Metric)
        alpha = np.abs(self.warm)
        free = np.flatnonzero((alpha > 0) & (alpha < problem.bound))
        self._smooth(found)
        local = self._linearised(alpha, found.gap)
        A = y[free, None] * self.phi[free]
        has = np.isin(free, problem.rows)
        A[has] -= self.features.combined(local.direction, np.searchsorted(problem.rows, free[has]))
        weights = local.alpha[problem.owner] * local.direction + local.curved(local.offset)
        right = (y * alpha) @ self.phi - self.features.summed(weights) - self.c
        saddle = Saddle(self.metric, A, y[free], partial(self._exact_product, local))
        d, rise, change = saddle.solve(right, self._short(local)[free])
        with np.errstate(divide="ignore", invalid="ignore"):
            reach = np.where(change > 0, problem.bound[free] - alpha[free], -alpha[free]) / change
        most = min(1.0, float(np.where(change == 0, 1.0, reach).min(initial=1.0)))
        alpha[free] += most * change
        self.warm = y * alpha
        self._move(local, alpha, self.bias + rise, d, most)
        self.settled = self.share == 1.0
        return True

    def _exact_product(self, local: Linearised, d: Array) -> Array:
        """Return H d."""
        s = self.features.slopes_of(d, np.flatnonzero(local.weight > 0))
        return d + self.features.summed(local.curved(s))

    def _move(self, local: Linearised, alpha: Array, bias: float, d: Array, most: float = 1.0) -> None:
        """Take the step d as far as the smoothed objective decreases.

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
            change[problem.rows] += problem.sums(at * s) / norms
            short = problem.short(self.values + self.bias + t * (values + rise), norms)
            return float((self.c + t * d) @ d) + float(problem.bound[short > 0] @ change[short > 0])

        t = _least(slope, most)
        dual = self.dual
        unit = local.unit_after(s)
        self.dual = self._dual(alpha, unit)
        if self.dual.value < dual.value and t < 1.0:
            part = dual.alpha + t * (alpha - dual.alpha)
            self.dual = self._dual(part, dual.unit + t * (unit - dual.unit))
        self.share = t
        self.c = self.c + t * d
        self.bias = self.bias + t * rise
        self.values = self.values + t * values
        self.s = self.s + t * s

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
