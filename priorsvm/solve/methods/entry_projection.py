r"""Projection on the dual variables of rows whose entries change.

For each row, the nearest point :math:`(\alpha, \beta)` to :math:`(\tilde\alpha, \tilde\beta)` in

.. math:: 0 \le \alpha \le C, \qquad 0 \le \beta_j \le \alpha, \qquad \textstyle\sum_j \beta_j \le k \alpha .

With the dual variable :math:`\tau \ge 0` of the last constraint,

.. math:: \beta_j = \mathrm{clip}(\tilde\beta_j - \tau,\, 0,\, \alpha), \qquad
          \alpha = \mathrm{clip}\bigl(\tilde\alpha + k \tau
          + \textstyle\sum_j (\tilde\beta_j - \tau - \alpha)_+,\; 0,\, C\bigr) .

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
    """Rows to project, and their entries with positive :math:`\\tilde\\beta`.

    Attributes
    ----------
    target : (n,) array, :math:`\\tilde\\alpha`.
    bound, limit : (n,) arrays, C and k.
    row : (m,) array, the row of each entry.
    entry : (m,) array, :math:`\\tilde\\beta`.
    """

    target: Array
    bound: Array
    limit: Array
    row: Array
    entry: Array

    def pick(self, rows: Array) -> Rows:
        """Return some of the rows."""
        place = np.full(len(self.target), -1)
        place[rows] = np.arange(len(rows))
        moved = place[self.row]
        kept = moved >= 0
        return Rows(self.target[rows], self.bound[rows], self.limit[rows], moved[kept], self.entry[kept])


class _Sets(NamedTuple):
    """Numbers and sums of entries at α and between 0 and α, for each row."""

    n_full: Array
    n_free: Array
    full: Array
    free: Array

    @classmethod
    def of(cls, rows: Rows, above: Array, alpha: Array) -> _Sets:
        """Return the sets of entries that exceed τ by ``above``."""
        n = len(rows.target)
        positive = above > 0
        at_full = positive & (above >= alpha[rows.row])
        between = positive & ~at_full
        of_full = rows.row[at_full]
        of_free = rows.row[between]
        return cls(
            np.bincount(of_full, minlength=n).astype(float),
            np.bincount(of_free, minlength=n).astype(float),
            np.bincount(of_full, rows.entry[at_full], minlength=n),
            np.bincount(of_free, rows.entry[between], minlength=n),
        )


def project(rows: Rows, alpha: Array, tau: Array) -> tuple[Array, Array]:
    """Return α and τ of the projection of each row, from a start near them."""
    found_alpha = alpha.copy()
    found_tau = tau.copy()
    left = np.arange(len(alpha))
    for _ in range(STEPS):
        new_alpha, new_tau, solved = _step(rows, alpha, tau)
        found_alpha[left[solved]] = new_alpha[solved]
        found_tau[left[solved]] = new_tau[solved]
        rest = np.flatnonzero(~solved)
        if not len(rest):
            return found_alpha, found_tau
        rows = rows.pick(rest)
        alpha = new_alpha[rest]
        tau = new_tau[rest]
        left = left[rest]
    found_alpha[left], found_tau[left] = _enclosed(rows, alpha, tau)
    return found_alpha, found_tau


def _step(rows: Rows, alpha: Array, tau: Array) -> tuple[Array, Array, Array]:
    """Return α and τ after a Newton step, and which rows are solved."""
    target, bound, limit, row, entry = rows
    sets = _Sets.of(rows, entry - tau[row], alpha)
    rest = limit - sets.n_full
    some = sets.n_free > 0
    share = some / np.maximum(sets.n_free, 1.0)
    # The limit of the sum is active unless its dual variable would be negative.
    tied = target + sets.full + rest * sets.free * share
    tied = np.clip(tied / (1.0 + sets.n_full + rest * rest * share), 0.0, bound)
    loose = np.clip((target + sets.full) / (1.0 + sets.n_full), 0.0, bound)
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
    high = np.zeros(len(tau))
    np.maximum.at(high, rows.row, rows.entry)
    tau = np.minimum(tau, high)
    found_alpha = alpha.copy()
    found_tau = tau.copy()
    left = np.arange(len(tau))
    for _ in range(ENCLOSING):
        above = rows.entry - tau[rows.row]
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
        slope = sets.n_free + inside * rest**2 / (1.0 + sets.n_full)
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
    n = len(tau)
    base = rows.target + rows.limit * tau
    size = 1e-15 * (np.abs(rows.target) + tau + rows.bound)
    for _ in range(ENCLOSING):
        at_full = above > alpha[rows.row]
        of_full = rows.row[at_full]
        count = np.bincount(of_full, minlength=n)
        new = base + np.bincount(of_full, above[at_full], minlength=n)
        new = np.clip(new / (1.0 + count), 0.0, rows.bound)
        if np.all(np.abs(new - alpha) <= size):
            return new
        alpha = new
    return alpha
