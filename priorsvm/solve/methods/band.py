r"""Newton's method on the rows near the margin of a linear model.

.. math:: \min_{w, b}\; \tfrac12 \|w\|^2 + \sum_i C_i \max(0,\; \rho_i - y_i f(x_i)), \qquad
          f(x) = w^\top x + b

The hinge has a kink. With signed dual variables :math:`\bar a` of the step before and a number σ, a smooth
loss has the derivative

.. math:: a_i(w, b) = \mathrm{clip}\bigl(\bar a_i + \sigma\,(y_i \rho_i - f(x_i)),\; 0,\; y_i C_i\bigr) .

Rows with :math:`a_i` strictly between its bounds form the band. Only they occur in the second derivative,
:math:`I + \sigma \sum_{\text{band}} x_i x_i^\top`. A Newton step factors a matrix of their number or of the
number of features, whichever is smaller. Its length minimises the smooth loss along the direction, so the
steps converge from any start. Then :math:`\bar a = a`, σ grows, and the band shrinks to the rows on the
margin. This is the augmented Lagrangian method, or the proximal point method on the dual. Near the optimum
:func:`.active.polish` gives the exact answer. Its duality gap on all rows is the certificate.

The start is a few passes of LIBLINEAR. LIBLINEAR penalises the bias, so the best bias for its w is computed.

Two other ways were tried. With all other rows fixed at their bounds the steps diverged for C = 100.
LIBLINEAR's own answer was 55 % above the optimum there after 50 passes, so the costs of its start are limited
to :math:`1/\|x_i\|^2` for dense rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs
from scipy.sparse import issparse

from ..._utils.arrays import Array, products
from ..._utils.deadline import NEVER, Deadline
from ..._utils.foreign import fit_liblinear
from ...errors import SolverFailed
from .active import ActiveSetSolution, polish
from .bias import best_bias

# Passes of LIBLINEAR. For dense rows its costs are at most 1 / |x|^2: above it passes progress slowly.
PASSES = 12
SPARSE_PASSES = 30

# Rows of the first band: at least FIRST, more by this power of C |x|^2, and at most a multiple of the
# features of dense rows, or a number of sparse rows.
FIRST = 120
POWER = 0.38
MOST_OF_FEATURES = 2
MOST = 700

# Distance from the margin at which rows of LIBLINEAR's answer count as rows on the margin.
TIGHT = 0.02

# Factor on sigma after steps that converge, and its inverse after steps that do not.
GROWTH = 2.5

# Newton steps with one sigma, and in all.
STEPS = 60
LIMIT = 250

# The active-set method starts at the first gap, and again after the gap is smaller by SMALLER. Its effort,
# for n rows at least FEW_ROWS / n, limits it to about 100 sets of free rows.
NEAR = 1e-3
SMALLER = 0.03
EFFORT = 0.05
FEW_ROWS = 300

# Gap of an answer that needs no active-set method, and of an answer after the last step, in parts of tol.
EXACT = 1e-11
ENOUGH = 1e-3


class LinearRows:
    """Rows of a linear model minus their mean, which is subtracted from results instead of the rows.

    Inner products between rows that were used are kept.

    Parameters
    ----------
    Z : (n, d) array or sparse array
    middle : (d,) array
        The mean; zeros for sparse rows.
    """

    def __init__(self, Z: Any, middle: Array) -> None:
        self.Z = Z
        self.middle = middle
        self.shape = Z.shape
        self.sparse = issparse(Z)
        self._place = np.full(Z.shape[0], -1)
        self._rows = np.zeros(0, int)
        self._K = np.zeros((0, 0))

    def pick(self, rows: Array) -> Any:
        """Return some rows."""
        return self.Z[rows] if self.sparse else self.Z[rows] - self.middle

    def values(self, w: Array) -> Array:
        """Return the inner products of all rows with a vector."""
        return np.asarray(self.Z @ w - float(self.middle @ w))

    def total(self, a: Array) -> Array:
        """Return the sum of all rows, multiplied by a number each."""
        used = np.flatnonzero(a)
        if not self.sparse and 3 * len(used) < len(a):
            return np.asarray(a[used] @ self.Z[used] - a.sum() * self.middle)
        return np.asarray(a @ self.Z - a.sum() * self.middle)

    def times(self, a: Array) -> Array:
        """Return the product of the matrix of all inner products with a vector."""
        return self.values(self.total(a))

    def among(self, rows: Array) -> Array:
        """Return the inner products between some rows."""
        new = rows[self._place[rows] < 0]
        if len(new):
            self._grow(new)
        place = self._place[rows]
        return np.asarray(self._K[np.ix_(place, place)])

    def _grow(self, new: Array) -> None:
        known = len(self._rows)
        size = known + len(new)
        if size > len(self._K):
            K = np.empty((size + size // 2, size + size // 2))
            K[:known, :known] = self._K[:known, :known]
            self._K = K
        points = self.pick(new)
        self._K[known:size, known:size] = products(points, points)
        if known:
            columns = products(points, self.pick(self._rows))
            self._K[known:size, :known] = columns
            self._K[:known, known:size] = columns.T
        self._place[new] = np.arange(known, size)
        self._rows = np.concatenate([self._rows, new])


@dataclass(frozen=True, eq=False)
class BandSolution:
    """Signed dual variables, the bias, and the number of steps."""

    a: Array
    bias: float
    steps: int


def solve_band(
    rows: LinearRows,
    y: Array,
    bound: Array,
    rho: Array,
    tol: float,
    most: int | None = None,
    deadline: Deadline = NEVER,
) -> BandSolution:
    """Return the solution of a weighted SVM with the hinge.

    Parameters
    ----------
    rows : LinearRows
    y : (n,) array of -1.0 and 1.0
    bound : (n,) positive array, C of every row
    rho : (n,) array, the margins
    tol : tolerance of the model
    most : number of sparse rows in the band beyond which the method fails; None for no limit
    deadline : when the method has to end, with the answer so far
    """
    band = _Band(rows, y, bound, rho, most)
    near = NEAR
    effort = max(EFFORT, FEW_ROWS / len(y))
    while band.steps < LIMIT:
        gap = band.minimise()
        balanced = abs(float(band.a.sum())) <= 1e-12 * float(np.abs(band.a).sum())
        if deadline.passed or (gap <= EXACT and balanced):
            return band.solution()
        if gap > near:
            continue
        exact: ActiveSetSolution | None = polish(rows, y, bound, band.a, tol, rho, effort, deadline)
        if exact is not None:
            return BandSolution(exact.a, exact.bias, band.steps + exact.steps)
        near = SMALLER * gap
        band.accuracy = 1e-3
    if gap <= ENOUGH * tol:
        return band.solution()
    raise SolverFailed(
        f"BAND: the duality gap is {gap:.1e} after {band.steps} steps. Use solver='auto', or a smaller C."
    )


class _Band:
    """Current iterate: w and the bias, f without the bias, and signed dual variables.

    ``accuracy`` is the gradient, relative to the change of the dual variables, at which steps end.
    """

    def __init__(self, rows: LinearRows, y: Array, bound: Array, rho: Array, most: int | None = None) -> None:
        self.rows = rows
        self.most = most
        self.y = y
        self.bound = bound
        self.rho = rho
        self.target = y * rho
        self.lower = np.minimum(y * bound, 0.0)
        self.upper = np.maximum(y * bound, 0.0)
        self.steps = 0
        self.accuracy = 1.0
        size = _mean_square(rows)
        if size == 0:
            raise SolverFailed("BAND: all rows are zero. Use solver='auto'.")
        self.w = _first_weights(rows, y, bound, rho, size)
        self.f = rows.values(self.w)
        self.bias = best_bias(rho - y * self.f, y, bound)[0]
        self._first_band(size)

    def solution(self) -> BandSolution:
        """Return the dual variables with the best bias; if many are best, the middle."""
        bias, _ = best_bias(self.rho - self.y * self.f, self.y, self.bound)
        return BandSolution(self.a, bias, self.steps)

    def _first_band(self, size: float) -> None:
        """Set the rows nearest to their margin to half of their bounds, and sigma to their distance."""
        n = len(self.y)
        C = float(np.median(self.bound))
        most = MOST if self.rows.sparse else MOST_OF_FEATURES * self.rows.shape[1]
        count = int(min(FIRST * max(1.0, C * size) ** POWER, max(most, FIRST), n))
        short = self.rho - self.y * (self.f + self.bias)
        distance = np.abs(short)
        self._require_few(int(np.count_nonzero(distance <= TIGHT)))
        width = max(float(np.partition(distance, count - 1)[count - 1]), 1e-6)
        at_end = np.where(short > 0, self.bound, 0.0)
        self.a = self.y * np.where(distance <= width, 0.5 * self.bound, at_end)
        self.sigma = 0.5 * C / width

    def _require_few(self, count: int) -> None:
        """Raise SolverFailed if too many sparse rows are near the margin."""
        if self.rows.sparse and self.most is not None and count > self.most:
            raise SolverFailed(
                f"BAND: {count} rows are near the margin, more than {self.most}. Use solver='auto'."
            )

    def minimise(self) -> float:
        """Minimise the smooth loss approximately, change sigma, and return the relative duality gap."""
        before = self.a
        start = before + self.sigma * self.target
        converged = False
        for _ in range(STEPS):
            t = start - self.sigma * (self.f + self.bias)
            self.a = np.clip(t, self.lower, self.upper)
            total = self.rows.total(self.a)
            of_w = self.w - total
            of_bias = -float(self.a.sum())
            inside = np.flatnonzero((t > self.lower) & (t < self.upper))
            if not len(inside):
                inside = np.array([np.argmin(np.minimum(np.abs(t - self.lower), np.abs(t - self.upper)))])
            gradient = np.sqrt(float(of_w @ of_w) + of_bias**2 / (self.sigma * len(inside)))
            change = float(np.linalg.norm(self.a - before)) / np.sqrt(self.sigma)
            rounding = 1e-13 * float(np.linalg.norm(self.w))
            converged = gradient <= max(self.accuracy * change, rounding)
            if converged:
                break
            self._step(t, of_w, of_bias, inside)
        self.sigma *= GROWTH if converged else 1.0 / GROWTH
        slack = np.maximum(self.rho - self.y * (self.f + self.bias), 0.0)
        primal = 0.5 * float(self.w @ self.w) + float(self.bound @ slack)
        dual = float(self.target @ self.a) - 0.5 * float(total @ total)
        return abs(primal - dual) / max(abs(primal), 1e-300)

    def _step(self, t: Array, of_w: Array, of_bias: float, inside: Array) -> None:
        """Take a Newton step; ``t`` is the argument of clip, ``inside`` the rows of the band."""
        self.steps += 1
        if not self.rows.sparse and len(inside) > self.rows.shape[1]:
            dw, db = self._primal_direction(of_w, of_bias, inside)
        else:
            dw, db = self._dual_direction(of_w, of_bias, inside)
        df = self.rows.values(dw)
        length = self._length(t, float(self.w @ dw), float(dw @ dw), df + db)
        self.w = self.w + length * dw
        self.f = self.f + length * df
        self.bias += length * db

    def _primal_direction(self, of_w: Array, of_bias: float, inside: Array) -> tuple[Array, float]:
        """Return the direction from the equations of w and the bias."""
        points = self.rows.pick(inside)
        d = points.shape[1]
        H = np.empty((d + 1, d + 1))
        H[:d, :d] = points.T @ points
        H[:d, d] = points.sum(axis=0)
        H[d, :d] = H[:d, d]
        H[d, d] = len(points)
        H *= self.sigma
        H[np.arange(d), np.arange(d)] += 1.0
        move = -_solved(H, np.append(of_w, of_bias)[:, None])[:, 0]
        return move[:d], float(move[d])

    def _dual_direction(self, of_w: Array, of_bias: float, inside: Array) -> tuple[Array, float]:
        """Return the direction from the equations of the dual variables of the band."""
        self._require_few(len(inside))
        points = self.rows.pick(inside)
        K = self.rows.among(inside)
        m = len(inside)
        # A constant moved from the bias into the inner products makes them regular.
        shift = max(float(K.diagonal().max()), 1e-300)
        K += shift
        K[np.arange(m), np.arange(m)] += 1.0 / self.sigma
        found = _solved(K, np.column_stack([points @ of_w, np.ones(m)]))
        db = (float(found[:, 0].sum()) - of_bias) / float(found[:, 1].sum())
        change = found[:, 0] - db * found[:, 1]
        return change @ points - of_w, db + shift * of_bias

    def _length(self, t: Array, linear: float, square: float, df: Array) -> float:
        """Return a step length at which the smooth loss has at most a tenth of its first slope."""

        def slope(length: float) -> float:
            a = np.clip(t - self.sigma * length * df, self.lower, self.upper)
            return linear + length * square - float(a @ df)

        low = 0.0
        high = 1.0
        at_low = slope(low)
        at_high = slope(high)
        enough = 0.1 * abs(at_low)
        while at_high < -enough and high < 64:
            low = high
            at_low = at_high
            high *= 2.0
            at_high = slope(high)
        length = high
        value = at_high
        for _ in range(20):
            if abs(value) <= enough:
                break
            share = -at_low / max(at_high - at_low, 1e-300)
            length = low + (high - low) * min(max(share, 0.1), 0.9)
            value = slope(length)
            if value > 0:
                high = length
                at_high = value
            else:
                low = length
                at_low = value
        return length


def _solved(M: Array, right: Array) -> Array:
    """Return the solution of a positive definite system; M is overwritten."""
    factor, failed = dpotrf(M.T, lower=1, overwrite_a=1, clean=0)
    if failed:
        raise SolverFailed("BAND: a linear system is singular in floating point. Use scale='standard'.")
    return np.asarray(dpotrs(factor, right, lower=1)[0])


def _mean_square(rows: LinearRows) -> float:
    """Return the mean squared length of the stored rows."""
    entries = rows.Z.data if rows.sparse else rows.Z.ravel()
    return float(entries @ entries) / rows.shape[0]


def _first_weights(rows: LinearRows, y: Array, bound: Array, rho: Array, size: float) -> Array:
    """Return w of LIBLINEAR after a few passes; its margins are 1, so rows are divided by their margins."""
    Z = rows.Z
    unit = np.where(rho > 0, rho, 1.0)
    if np.any(unit != 1.0):
        Z = Z.multiply(1.0 / unit[:, None]).tocsr() if rows.sparse else Z / unit[:, None]
    C = bound * unit
    passes = SPARSE_PASSES
    if not rows.sparse:
        C = np.minimum(C, 1.0 / size)
        passes = PASSES
    return fit_liblinear(Z, y, C, np.sqrt(size), 0.1, passes)
