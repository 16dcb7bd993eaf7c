r"""Curves :math:`\theta \mapsto T_\theta x_i` of the training rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats.qmc import Sobol

from ..._utils.arrays import Array
from ...transforms.base import Transform
from .polynomials import interpolation_matrix, lobatto, monomials


@dataclass(frozen=True, eq=False)
class Curves:
    r"""Points of the curves at the nodes :math:`u \in [-1, 1]^q`, where f is evaluated.

    Attributes
    ----------
    low : array of shape (q,), or (p, q) with ``part``
        Parameters at u = -1, for each range.
    high : array of the shape of ``low``
        Parameters at u = 1.
    nodes : array of shape (m, q)
        The u at which f is evaluated.
    points : array of shape (n, m, d)
        The transformed training rows at the nodes.
    coefficients : array of shape (n, r + 1, d) or None
        Coefficients of polynomial curves; None for the curves of the transform.
    part : array of shape (n,) or None
        Range of each training row, -1 for a row without a curve; None if all rows have the same range.
    """

    low: Array
    high: Array
    nodes: Array
    points: Array
    coefficients: Array | None = None
    part: Array | None = None

    @property
    def moving(self) -> Array:
        """Whether each training row has a curve."""
        return np.ones(len(self.points), bool) if self.part is None else self.part >= 0

    def theta(self, u: Array, row: Any = None) -> Array:
        """Return the parameters at u, of shape (k, q), on the curve of a row, or of a row for each u."""
        low = self.low
        high = self.high
        if self.part is not None:
            low = low[self.part[row]]
            high = high[self.part[row]]
        middle = (low + high) / 2
        half = (high - low) / 2
        return np.where(np.isinf(u), u, middle + half * np.where(np.isinf(u), 0.0, u))

    def basis(self, u: Array) -> Array:
        """Return the matrix that maps values at the nodes to values of the polynomial at u, (k, m)."""
        if len(self.nodes) == 1:
            return np.ones((len(u), 1))
        if self.nodes.shape[1] == 1:
            return interpolation_matrix(self.nodes[:, 0], u[:, 0])
        return np.linalg.solve(monomials(self.nodes).T, monomials(u).T).T

    def grid(self, count: int, between: bool = False) -> Array:
        """Return about ``count`` values of u over the whole range; ``between`` gives other values."""
        q = self.nodes.shape[1]
        if q == 1:
            u = np.linspace(-1, 1, count)
            return ((u[1:] + u[:-1]) / 2 if between else u)[:, None]
        inside = 2 * Sobol(q, seed=int(between)).random_base2(int(np.ceil(np.log2(count)))) - 1
        if q > 5:
            return np.asarray(inside)
        # Corners, where the margin is usually smallest, and the midpoints of edges and faces.
        rim = np.stack(np.meshgrid(*[[-1.0, 0.0, 1.0]] * q, indexing="ij"), axis=-1).reshape(-1, q)
        return np.vstack([rim, inside])


def points_at(coefficients: Array, theta: Array) -> Array:
    r"""Return :math:`\sum_j \theta^j X_{ij}` for every row i."""
    return np.einsum("j,njd->nd", theta[0] ** np.arange(coefficients.shape[1]), coefficients)


def taylor_coefficients(transform: Transform, X: Array, degree: int) -> Array:
    r"""Return the Taylor coefficients of :math:`T_\theta x_i` about 0, (n, degree + 1, d), by differences."""
    [(low, high)] = transform.span()
    # With two extra nodes, this step balances rounding errors and the truncated terms.
    h = (high - low) / 2 * (2 ** (degree + 1) * np.finfo(float).eps) ** (1.0 / (degree + 4))
    nodes = lobatto(degree + 2)
    transformed = np.stack([transform.apply(X, u * h) for u in nodes], axis=1)
    inverse = np.linalg.inv(np.vander(nodes, increasing=True))[: degree + 1]
    found = np.einsum("jm,nmd->njd", inverse / h ** np.arange(degree + 1)[:, None], transformed)
    found[:, 0] = X
    return found
