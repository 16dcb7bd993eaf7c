r"""Projection on the dual variables of rows whose entries change.

For each row, the point :math:`(\alpha, \beta)` with

.. math:: 0 \le \alpha \le C, \qquad 0 \le \beta_j \le \alpha, \qquad \textstyle\sum_j \beta_j \le k \alpha

that minimises :math:`r (\alpha - \tilde\alpha)^2 + \sum_j (\beta_j - \tilde\beta_j)^2`. With the dual
variable :math:`\tau \ge 0` of the last constraint,

.. math:: \beta_j = \mathrm{clip}(\tilde\beta_j - \tau,\, 0,\, \alpha), \qquad
          \alpha = \mathrm{clip}\Bigl(\tilde\alpha + \tfrac1r \bigl(k \tau
          + \textstyle\sum_j (\tilde\beta_j - \tau - \alpha)_+\bigr),\; 0,\, C\Bigr) .

Newton steps on both numbers of all rows at once solve most rows from a near start. For the rest, α is solved
for each τ, and τ is enclosed.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..._utils.arrays import Array

# Newton steps on both numbers, then on each, and relative rounding of a solved row.
STEPS = 5
ENCLOSING = 120
ROUNDING = 1e-13


class Rows(NamedTuple):
    """Rows to project, and their entries.

    Attributes
    ----------
    target : (n,) array, :math:`\\tilde\\alpha`.
    bound, limit : (n,) arrays, C and k.
    counts : (n,) array of int, the number of entries of each row.
    entry : (m,) array, :math:`\\tilde\\beta`, in the order of the rows.
    ratio : r
    """

    target: Array
    bound: Array
    limit: Array
    counts: Array
    entry: Array
    ratio: float

    def pick(self, rows: Array) -> Rows:
        """Return some of the rows, in their order."""
        if len(rows) == len(self.target):
            return self
        kept = np.zeros(len(self.target), bool)
        kept[rows] = True
        entries = np.flatnonzero(np.repeat(kept, self.counts))
        return Rows(
            self.target[rows],
            self.bound[rows],
            self.limit[rows],
            self.counts[rows],
            self.entry[entries],
            self.ratio,
        )

    def above(self, tau: Array) -> Array:
        """Return the distance of each entry from τ."""
        above = np.repeat(tau, self.counts)
        return np.subtract(self.entry, above, out=above)

    def sums(self, values: Array) -> Array:
        """Return the sum of the entries of each row; every row has an entry."""
        starts = np.cumsum(self.counts) - self.counts
        return np.add.reduceat(values, starts, dtype=float)


class _Sets(NamedTuple):
    """Numbers and sums of entries at α and between 0 and α, for each row."""

    n_full: Array
    n_free: Array
    full: Array
    free: Array

    @classmethod
    def of(cls, rows: Rows, above: Array, alpha: Array) -> _Sets:
        """Return the sets of entries that exceed τ by ``above``."""
        free = above > 0
        full = above >= np.repeat(alpha, rows.counts)
        full &= free
        free ^= full
        size = rows.entry * full
        of_full = rows.sums(size)
        np.multiply(rows.entry, free, out=size)
        return cls(rows.sums(full), rows.sums(free), of_full, rows.sums(size))


def project(rows: Rows, alpha: Array, tau: Array) -> tuple[Array, Array]:
    """Return α and τ of the projection of each row, from a start near them."""
    found_alpha = np.clip(rows.target, 0.0, rows.bound)
    found_tau = np.zeros(len(tau))
    rest = np.flatnonzero(rows.counts)
    left = np.arange(len(alpha))
    for _ in range(STEPS):
        rows = rows.pick(rest)
        left = left[rest]
        if not len(left):
            return found_alpha, found_tau
        alpha, tau, solved = _step(rows, alpha[rest], tau[rest])
        found_alpha[left] = alpha
        found_tau[left] = tau
        rest = np.flatnonzero(~solved)
    if len(rest):
        left = left[rest]
        found_alpha[left], found_tau[left] = _enclosed(rows.pick(rest), alpha[rest], tau[rest])
    return found_alpha, found_tau


def _step(rows: Rows, alpha: Array, tau: Array) -> tuple[Array, Array, Array]:
    """Return α and τ after a Newton step, and which rows are solved."""
    bound = rows.bound
    limit = rows.limit
    ratio = rows.ratio
    target = ratio * rows.target
    sets = _Sets.of(rows, rows.above(tau), alpha)
    rest = limit - sets.n_full
    some = sets.n_free > 0
    share = some / np.maximum(sets.n_free, 1.0)
    # The limit of the sum is active unless its dual variable would be negative.
    tied = target + sets.full + rest * sets.free * share
    tied = np.clip(tied / (ratio + sets.n_full + rest * rest * share), 0.0, bound)
    loose = np.clip((target + sets.full) / (ratio + sets.n_full), 0.0, bound)
    new_tau = (sets.free - rest * tied) * share
    level = ~some & (rest == 0)  # every tau between two entries is a solution
    new_tau[level] = tau[level]
    is_tied = level | (new_tau > 0)
    new_alpha = np.where(is_tied, tied, loose)
    new_tau = np.where(is_tied, new_tau, 0.0)
    over = ~some & (rest < 0)
    new_tau[over] = ((sets.full - limit * new_alpha) / np.maximum(sets.n_full, 1.0))[over]
    # Any tau with a nonpositive sum proves that alpha is 0.
    sum_above = sets.full + sets.free - (sets.n_full + sets.n_free) * tau
    zero = target + limit * tau + sum_above <= 0
    new_alpha[zero] = 0.0
    new_tau[zero] = tau[zero]
    size = ROUNDING * (np.abs(target) + bound + new_tau)
    same = (np.abs(new_alpha - alpha) <= size) & (np.abs(new_tau - tau) <= size) & ~over
    return new_alpha, new_tau, zero | same


def _enclosed(rows: Rows, alpha: Array, tau: Array) -> tuple[Array, Array]:
    """Return α and τ by Newton steps on τ between bounds, with the exact α for each τ."""
    low = np.zeros(len(tau))
    high = np.maximum(np.maximum.reduceat(rows.entry, np.cumsum(rows.counts) - rows.counts), 0.0)
    tau = np.minimum(tau, high)
    found_alpha = alpha.copy()
    found_tau = tau.copy()
    left = np.arange(len(tau))
    for _ in range(ENCLOSING):
        above = rows.above(tau)
        alpha = _alpha(rows, above, tau, alpha)
        sets = _Sets.of(rows, above, alpha)
        rest = rows.limit - sets.n_full
        excess = sets.free - sets.n_free * tau - rest * alpha
        size = 0.1 * ROUNDING * (1.0 + sets.n_free + sets.n_full) * (tau + alpha + rows.bound)
        solved = (np.abs(excess) <= size) | ((excess <= 0) & (tau <= 0)) | (high - low <= 1e-15 * high)
        found_alpha[left] = alpha
        found_tau[left] = tau
        kept = np.flatnonzero(~solved)
        if not len(kept):
            break
        low = np.where(excess > 0, tau, low)
        high = np.where(excess <= 0, tau, high)
        inside = (alpha > 0) & (alpha < rows.bound)
        slope = sets.n_free + inside * rest**2 / (rows.ratio + sets.n_full)
        new = tau + excess / np.maximum(slope, 1e-300)
        new = np.where((new <= 0) & (low <= 0) & (slope > 0), 0.0, new)
        outside = ((new <= low) & (new > 0)) | (new >= high) | (new < low) | (new == tau)
        new[outside] = 0.5 * (low + high)[outside]
        rows = rows.pick(kept)
        alpha = alpha[kept]
        tau = new[kept]
        low = low[kept]
        high = high[kept]
        left = left[kept]
    return found_alpha, found_tau


def _alpha(rows: Rows, above: Array, tau: Array, alpha: Array) -> Array:
    """Return the α of each row for this τ; the function is concave, so Newton steps converge."""
    base = rows.ratio * rows.target + rows.limit * tau
    size = 1e-15 * (np.abs(rows.target) + tau + rows.bound)
    for _ in range(ENCLOSING):
        full = above > np.repeat(alpha, rows.counts)
        new = (base + rows.sums(above * full)) / (rows.ratio + rows.sums(full))
        new = np.clip(new, 0.0, rows.bound)
        if np.all(np.abs(new - alpha) <= size):
            return new
        alpha = new
    return alpha
