r"""Margins that are reduced by norms of slopes, and their linearisation.

Row i has the smoothed norm :math:`n = \sqrt{\|s\|^2 + \epsilon^2}` of its slopes s, and a dual variable u.
At the optimum :math:`n u = s`, so u is inside the unit ball. The norm has the gradient :math:`v = s / n`.
Newton's method on :math:`n u = s` and on the margins gives the row the curvature

.. math:: W = \frac{\alpha}{n} \bigl(I - \tfrac12 (u v^\top + v u^\top)\bigr) .

A row may have a kink: at the solution its slopes are 0. With a lower ε the slopes tend to 0, and u hardly
changes. So the norm of this row is linearised at :math:`\epsilon u / \sqrt{1 - \|u\|^2}`, the slopes that
belong to u. If it is linearised at the current slopes, each ε takes several steps.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.sparse import csr_array, diags_array

from ..._utils.arrays import Array
from .active import RowDual

# A row has a kink if u plus the slopes over so many ε is inside the ball. Rows without a kink have a u within
# about (ε / n)² / 2 of the sphere. With 1e3 some kinks are missed, and with 1e6 a fit takes as many steps.
KINK = 1e4


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

    def sums(self, s: Array) -> Array:
        """Return the sum over the slopes of each of ``rows``."""
        return np.bincount(self.owner, s, len(self.rows))

    def norms(self, s: Array, smoothing: float = 0.0) -> Array:
        """Return the smoothed norm for each of ``rows``."""
        return np.sqrt(self.sums(s * s) + smoothing**2)

    def grouped(self, weights: Array) -> csr_array:
        """Return the matrix that sums the slopes of each of ``rows`` with these weights."""
        ends = np.concatenate([[0], np.cumsum(self.rank)])
        return csr_array((weights, np.arange(len(weights)), ends), (len(self.rows), len(weights)))

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

    def at_kinks(self, s: Array, unit: Array, smoothing: float) -> Array:
        """Return the slopes, and at kinks of the norm the slopes that belong to the dual variables."""
        below = np.sqrt(np.maximum(1.0 - self.sums(unit * unit), 0.0))
        kink = (self.norms(unit + s / (KINK * smoothing)) < 1.0) & (below > 0)
        some = kink[self.owner]
        at = s.copy()
        at[some] = smoothing * unit[some] / below[self.owner[some]]
        return at


@dataclass(frozen=True, eq=False)
class Linearised:
    """Linearised norms, with the curvature that the dual variables give them.

    Attributes
    ----------
    problem : the rows.
    norms : smoothed norms at the slopes where they are linearised.
    direction : their gradients v.
    offset : current slopes minus these slopes.
    unit : dual variables u of the norms.
    alpha : dual variables α of ``problem.rows``.
    """

    problem: ConeMargins
    norms: Array
    direction: Array
    offset: Array
    unit: Array
    alpha: Array

    @classmethod
    def of(
        cls, problem: ConeMargins, s: Array, at: Array, smoothing: float, unit: Array, alpha: Array
    ) -> Linearised:
        """Return the norms of slopes s, linearised at other slopes."""
        norms = problem.norms(at, smoothing)
        return cls(problem, norms, at / norms[problem.owner], s - at, unit, alpha[problem.rows])

    @property
    def values(self) -> Array:
        """The linearised norms at the current slopes."""
        return self.norms + self.problem.sums(self.direction * self.offset)

    @property
    def weight(self) -> Array:
        """The factor α / n of the curvature of each row."""
        return self.alpha / self.norms

    def curved(self, s: Array) -> Array:
        """Return W s."""
        owner = self.problem.owner
        along = self.problem.sums(self.direction * s)[owner]
        across = self.problem.sums(self.unit * s)[owner]
        return self.weight[owner] * (s - 0.5 * (self.unit * along + self.direction * across))

    def unit_after(self, s: Array) -> Array:
        """Return the dual variables of the norms after a change s of the slopes, within the ball."""
        owner = self.problem.owner
        far = s + self.offset
        along = self.problem.sums(self.direction * far)[owner]
        unit = self.direction + (far - self.unit * along) / self.norms[owner]
        return np.asarray(unit / np.maximum(self.problem.norms(unit), 1.0)[owner])

    def root(self) -> csr_array:
        r"""Return the symmetric root of W.

        The matrix :math:`u v^\top + v u^\top` of a row has the eigenvectors
        :math:`u / \|u\| \pm v / \|v\|`.
        """
        problem = self.problem
        owner = problem.owner
        long = problem.norms(self.unit)
        wide = problem.norms(self.direction)
        inner = problem.sums(self.unit * self.direction)
        scale = np.sqrt(self.weight)
        root = csr_array(diags_array(scale[owner]))
        for sign in (1.0, -1.0):
            along = self.unit / np.maximum(long, 1e-300)[owner]
            along += sign * self.direction / np.maximum(wide, 1e-300)[owner]
            along /= np.maximum(problem.norms(along), 1e-300)[owner]
            left = np.sqrt(np.maximum(1.0 - 0.5 * (inner + sign * long * wide), 0.0))
            root += problem.grouped(along).T @ problem.grouped((scale * (left - 1.0))[owner] * along)
        return root
