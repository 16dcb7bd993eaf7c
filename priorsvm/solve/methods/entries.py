r"""A linear model whose rows change in their worst entries, with one dual variable for each entry.

.. math:: \min_{w, b}\; \tfrac12 \|w\|^2 + \sum_i C_i \Bigl[\rho_i - y_i f(x_i)
          + \max_{\theta \in [0, 1]^m,\; \sum_j \theta_j \le k_i} \textstyle\sum_j \theta_j g_{ij} w_j\Bigr]_+

The dual has :math:`\alpha_i` and :math:`\beta_{ij} = \alpha_i \theta_{ij}` for each row, and :math:`w =
\sum_i (\alpha_i y_i x_i - \sum_j \beta_{ij} g_{ij} e_j)`. The augmented Lagrangian method adds
:math:`\tfrac1{2\sigma} \|(\alpha, \beta) - (\bar\alpha, \bar\beta)\|^2` to the dual. Then the loss of a row
is smooth, and its derivative is a projection (:mod:`.entry_projection`). The second derivative is a diagonal
matrix of the entries between their bounds, and two vectors for each row. Newton steps by conjugate gradients
minimise it. Then σ grows.

Entries far below the k largest of their row are left out of a stage: their dual variables are 0. The duality
gap is computed on all entries, for the w of the dual variables and its best bias.

At the optimum a row has many equally bad deletions: 3000 texts have 39 000 columns. Rounds of columns took
over 3 minutes on 2500 mails, and this method takes 1.4 s.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

from ..._utils.arrays import Array
from ..._utils.deadline import NEVER, Deadline
from ...transforms.features import largest_entries
from .bias import best_bias
from .entry_projection import Rows, project

# The first sigma times the margin, in parts of C, and its growth: a small one keeps all starts near.
FIRST = 0.5
GROWTH = 1.5

# Stages, Newton steps of each, and conjugate gradients of each step.
STAGES = 80
STEPS = 40
GRADIENTS = 400
REDUCTION = 0.1

# A stage ends if the gradient is this share of the change of the dual variables.
SHARE = 0.1

# Entries above this share of the k-th largest of their row are part of a stage.
NEAR = 0.5

# Slope after a step, in parts of the slope before it, and evaluations of the slope.
FLAT = 0.4
TRIALS = 14

# Curvature of the bias in parts of sigma, besides the rows inside their bounds; 1 if there are none.
STEADY = 1e-6


@dataclass(frozen=True, eq=False)
class EntryMargins:
    """Rows and the gains of their entries.

    Attributes
    ----------
    signed : (n, d) csr_array, the rows times their classes.
    y, margin, bound : (n,) arrays, the classes, margins and costs.
    limit : (n,) array of int, how many entries of a row change at once.
    row, column, gain : (m,) arrays, entries that change, in the order of their rows.
    """

    signed: csr_array
    y: Array
    margin: Array
    bound: Array
    limit: Array
    row: Array
    column: Array
    gain: Array

    @cached_property
    def groups(self) -> list[tuple[int, Array, Array, Array]]:
        """For each number of entries that change: it, its rows, their entries, and the ends of the rows."""
        found = []
        for k in np.unique(self.limit[self.limit > 0]):
            rows = np.flatnonzero(self.limit == k)
            mine = np.flatnonzero(self.limit[self.row] == k)
            counts = np.bincount(self.row[mine], minlength=len(self.y))[rows]
            found.append((int(k), rows, mine, np.concatenate([[0], np.cumsum(counts)])))
        return found

    def worst(self, gains: Array) -> tuple[Array, Array]:
        """Return the sum of the k largest gains of each row, and the k-th largest, 0 if there is none."""
        n = len(self.y)
        total = np.zeros(n)
        least = np.zeros(n)
        for k, rows, mine, ends in self.groups:
            top = mine[largest_entries(gains[mine], ends, k)]
            owner = self.row[top]
            total += np.bincount(owner, gains[top], minlength=n)
            smallest = np.full(n, np.inf)
            np.minimum.at(smallest, owner, gains[top])
            filled = rows[np.bincount(owner, minlength=n)[rows] == k]
            least[filled] = smallest[filled]
        return total, least

    def weights(self, alpha: Array, beta: Array) -> Array:
        """Return w of dual variables."""
        used = np.flatnonzero(beta)
        d = self.signed.shape[1]
        moved = np.bincount(self.column[used], self.gain[used] * beta[used], minlength=d)
        return np.asarray(alpha @ self.signed - moved)


class EntrySolution(NamedTuple):
    """Dual variables of rows and entries, f, slacks, the objectives and the number of Newton steps."""

    alpha: Array
    beta: Array
    w: Array
    bias: float
    slack: Array
    primal: float
    dual: float
    steps: int

    @property
    def gap(self) -> float:
        """The relative duality gap."""
        return (self.primal - self.dual) / max(abs(self.primal), 1e-300)


def minimise(problem: EntryMargins, tol: float, deadline: Deadline = NEVER) -> EntrySolution | None:
    """Return the solution with a duality gap of at most ``tol``, or None if the stages do not reach it."""
    state = _Stages(problem)
    for _ in range(STAGES):
        deadline.check()
        if not state.stage(deadline):
            return None
        found = state.certified()
        if found.gap <= tol:
            return found
    return None


class _Stages:
    """The current w, bias and dual variables, and σ."""

    def __init__(self, problem: EntryMargins) -> None:
        self.problem = problem
        n, d = problem.signed.shape
        self.w = np.zeros(d)
        self.bias = 0.0
        self.alpha = 0.5 * problem.bound
        self.beta = np.zeros(len(problem.row))
        self.near_alpha = self.alpha
        self.tau = np.zeros(n)
        self.sigma = FIRST * float(np.median(problem.bound)) / max(float(np.median(problem.margin)), 1e-3)
        self.least = np.zeros(n)
        self.steps = 0

    def stage(self, deadline: Deadline) -> bool:
        """Minimise the smooth loss approximately, and change σ; return whether all numbers are finite."""
        problem = self.problem
        gains = problem.gain * self.w[problem.column]
        entries = np.flatnonzero((self.beta > 0) | ((gains > 0) & (gains >= NEAR * self.least[problem.row])))
        smooth = _Smooth(problem, entries, self.alpha, self.beta[entries], self.sigma)
        line = _Line(self.w, self.bias, problem.signed @ self.w, gains[entries])
        at = smooth.at(line, self.near_alpha, self.tau)
        converged = False
        for _ in range(STEPS):
            deadline.check()
            of_w, of_bias = smooth.gradient(line, at)
            inside = max(1, int(np.count_nonzero(at.inside)))
            size = float(of_w @ of_w) + of_bias**2 / (self.sigma * inside)
            rounding = 1e-12 * float(np.linalg.norm(line.w))
            converged = np.sqrt(size) <= max(SHARE * smooth.change(at), rounding)
            if converged:
                break
            self.steps += 1
            direction = smooth.direction(at, of_w, of_bias)
            line, at = smooth.minimised(
                line, direction, at, float(of_w @ direction.w) + of_bias * direction.bias
            )
        self.w = line.w
        self.bias = line.bias
        self.alpha = at.alpha
        self.near_alpha = at.alpha
        self.beta = np.zeros(len(problem.row))
        self.beta[entries] = at.beta
        growth = GROWTH if converged else 1.0 / GROWTH
        self.sigma *= growth
        self.tau = at.tau * growth
        return bool(np.isfinite(self.w).all() and np.isfinite(self.bias))

    def certified(self) -> EntrySolution:
        """Return f of the dual variables, and both objectives."""
        problem = self.problem
        positive = problem.y > 0
        up = float(self.alpha[positive].sum())
        down = float(self.alpha[~positive].sum())
        share = np.where(positive, min(1.0, down / max(up, 1e-300)), min(1.0, up / max(down, 1e-300)))
        alpha = share * self.alpha
        beta = share[problem.row] * self.beta
        w = problem.weights(alpha, beta)
        total, self.least = problem.worst(problem.gain * w[problem.column])
        required = problem.margin - problem.signed @ w + total
        bias = best_bias(required, problem.y, problem.bound)[0]
        slack = np.maximum(required - problem.y * bias, 0.0)
        energy = 0.5 * float(w @ w)
        primal = energy + float(problem.bound @ slack)
        dual = float(problem.margin @ alpha) - energy
        return EntrySolution(alpha, beta, w, bias, slack, primal, dual, self.steps)


class _Line(NamedTuple):
    """w, the bias, y f without the bias, and the gains of the entries of a stage; or a change of them."""

    w: Array
    bias: float
    values: Array
    gains: Array

    def moved(self, length: float, by: _Line) -> _Line:
        return _Line(
            self.w + length * by.w,
            self.bias + length * by.bias,
            self.values + length * by.values,
            self.gains + length * by.gains,
        )


class _Point(NamedTuple):
    """Dual variables of a point: the derivative of the smooth loss.

    ``above`` is the distance of each entry from τ, ``inside`` whether α is between its bounds.
    """

    alpha: Array
    tau: Array
    beta: Array
    above: Array
    inside: Array


class _Smooth:
    """The smooth loss of one stage."""

    def __init__(
        self, problem: EntryMargins, entries: Array, alpha: Array, beta: Array, sigma: float
    ) -> None:
        self.problem = problem
        self.entries = entries
        self.row = problem.row[entries]
        self.column = problem.column[entries]
        self.gain = problem.gain[entries]
        self.alpha = alpha
        self.beta = beta
        self.sigma = sigma

    def at(self, line: _Line, alpha: Array, tau: Array) -> _Point:
        """Return the dual variables at a point; α and τ are a start."""
        problem = self.problem
        target = self.alpha + self.sigma * (problem.margin - line.values - line.bias * problem.y)
        entry = self.beta + self.sigma * line.gains
        some = np.flatnonzero(entry > 0)
        rows = Rows(target, problem.bound, problem.limit.astype(float), self.row[some], entry[some])
        alpha, tau = project(rows, alpha, tau)
        above = entry - tau[self.row]
        beta = np.clip(above, 0.0, alpha[self.row])
        return _Point(alpha, tau, beta, above, (alpha > 0) & (alpha < problem.bound))

    def gradient(self, line: _Line, at: _Point) -> tuple[Array, float]:
        """Return the gradient of the smooth loss for w and the bias."""
        d = len(line.w)
        moved = np.bincount(self.column, self.gain * at.beta, minlength=d)
        of_w = line.w - at.alpha @ self.problem.signed + moved
        return of_w, -float(self.problem.y @ at.alpha)

    def change(self, at: _Point) -> float:
        """Return the change of the dual variables in this stage, in the units of the gradient."""
        square = np.sum((at.alpha - self.alpha) ** 2) + np.sum((at.beta - self.beta) ** 2)
        return float(np.sqrt(square / self.sigma))

    def direction(self, at: _Point, of_w: Array, of_bias: float) -> _Line:
        """Return the Newton direction by conjugate gradients."""
        w, bias = _Hessian(self, at).solved(-of_w, -of_bias)
        return _Line(w, bias, self.problem.signed @ w, self.gain * w[self.column])

    def minimised(self, line: _Line, by: _Line, at: _Point, first: float) -> tuple[_Line, _Point]:
        """Return a point of small slope along a direction; ``first`` is the slope at its start."""
        low = 0.0
        of_low = first
        high = np.inf
        of_high = 0.0
        length = 1.0
        for _ in range(TRIALS):
            new = line.moved(length, by)
            at = self.at(new, at.alpha, at.tau)
            slope = float(new.w @ by.w) + float(at.beta @ by.gains)
            slope -= float(at.alpha @ (by.values + by.bias * self.problem.y))
            if abs(slope) <= FLAT * abs(first):
                break
            if slope > 0:
                high = length
                of_high = slope
            else:
                low = length
                of_low = slope
            if np.isinf(high):
                length = 2.0 * low
            else:
                share = -of_low / max(of_high - of_low, 1e-300)
                length = low + (high - low) * min(max(share, 0.1), 0.9)
        return new, at


class _Hessian:
    """The second derivative at a point: a diagonal matrix, and vectors of rows."""

    def __init__(self, smooth: _Smooth, at: _Point) -> None:
        problem = smooth.problem
        n, d = problem.signed.shape
        self.sigma = smooth.sigma
        self.steady = self.sigma * (STEADY if at.inside.any() else 1.0)
        bounds = at.alpha[smooth.row]
        free = np.flatnonzero((at.above > 0) & (at.above < bounds))
        full = np.flatnonzero((at.above >= bounds) & (bounds > 0))
        row = smooth.row[free]
        column = smooth.column[free]
        gain = smooth.gain[free]
        count = np.bincount(row, minlength=n)
        rest = problem.limit - np.bincount(smooth.row[full], minlength=n)
        tied = (at.tau > 0) & (count > 0)
        share = tied / np.maximum(count, 1)
        ends = np.concatenate([[0], np.cumsum(count)])
        self.diagonal = 1.0 + self.sigma * np.bincount(column, gain**2, minlength=d)
        # Entries of a tied row have a constant sum.
        sums = csr_array((gain * np.sqrt(share[row]), column, ends), shape=(n, d))
        self.sums = sums[np.flatnonzero(tied)]
        # Entries at alpha, and a share of the tied entries, move with alpha.
        inside = np.flatnonzero(at.inside)
        move_row = np.concatenate([smooth.row[full], row])
        move_column = np.concatenate([smooth.column[full], column])
        factor = (rest * share)[row]
        move = np.concatenate([smooth.gain[full], factor * gain])
        moves = csr_array((move, (move_row, move_column)), shape=(n, d))
        length = 1.0 / np.sqrt(1.0 + problem.limit - rest + rest * rest * share)[inside]
        with_alpha = (moves[inside] - problem.signed[inside]).tocsr()
        with_alpha.data *= np.repeat(length, np.diff(with_alpha.indptr))
        self.with_alpha = with_alpha
        self.with_alpha_t = with_alpha.T
        self.sums_t = self.sums.T
        self.of_bias = -problem.y[inside] * length
        own = np.bincount(with_alpha.indices, with_alpha.data**2, minlength=d)
        lost = np.bincount(column, gain**2 * share[row], minlength=d)
        self.inverse = 1.0 / (self.diagonal + self.sigma * (own - lost))
        self.inverse_bias = 1.0 / (self.steady + self.sigma * float(self.of_bias @ self.of_bias))

    def times(self, w: Array, bias: float) -> tuple[Array, float]:
        """Return the product with a vector."""
        along = self.with_alpha @ w + bias * self.of_bias
        of_w = self.diagonal * w + self.sigma * (self.with_alpha_t @ along - self.sums_t @ (self.sums @ w))
        return of_w, self.steady * bias + self.sigma * float(self.of_bias @ along)

    def solved(self, right: Array, right_bias: float) -> tuple[Array, float]:
        """Return the approximate solution of the Newton equations."""
        w = np.zeros(len(right))
        bias = 0.0
        left = right.copy()
        left_bias = right_bias
        z = self.inverse * left
        z_bias = self.inverse_bias * left_bias
        p = z
        p_bias = z_bias
        height = float(left @ z) + left_bias * z_bias
        enough = REDUCTION**2 * height
        for _ in range(GRADIENTS):
            if height <= max(enough, 1e-300):
                break
            of_p, of_p_bias = self.times(p, p_bias)
            length = height / (float(p @ of_p) + p_bias * of_p_bias)
            w += length * p
            bias += length * p_bias
            left -= length * of_p
            left_bias -= length * of_p_bias
            z = self.inverse * left
            z_bias = self.inverse_bias * left_bias
            before = height
            height = float(left @ z) + left_bias * z_bias
            p = z + height / before * p
            p_bias = z_bias + height / before * p_bias
        return w, bias
