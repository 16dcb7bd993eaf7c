r"""The metric of a step of :mod:`.cone_newton`, and its equations if the active set is kept.

.. math:: H = I + \sum_i B_i^\top W_i B_i ,

with the slopes :math:`B_i` and the curvature :math:`W_i` of row i. :class:`Metric` has a factor of H in the
coordinates. :class:`SlopeMetric` has a factor of a matrix between the slopes, of rows with
:math:`\alpha_i > 0` only. It is used if these slopes are fewer than the coordinates.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg import cho_solve, lu_factor, lu_solve, solve_triangular
from scipy.linalg.blas import dsyr2k, dsyrk

from ..._utils.arrays import Array
from ..._utils.linalg import lifted_cholesky, scaled_gram
from .active import LinearKernelMatrix
from .cone_margins import Linearised

# Largest number of products with H in a step that keeps the active set.
CONJUGATE = 5

# Lifts of the diagonal of H, whose smallest eigenvalue is 1 except for rounding.
LIFTS = (0.0, 1e-12, 1e-8, 1e-4)

# A direction that adds less curvature than this is left out. The next step corrects the effect.
FLAT_DIRECTION = 1e-6


@dataclass(frozen=True, eq=False)
class Metric:
    """H: the lower Cholesky factor of its exact part, and the diagonal of the rest."""

    factor: Array
    rest: Array

    @classmethod
    def of(cls, local: Linearised, B: Array, along: Array) -> Metric | None:
        """Return H; None if it has no factor.

        Parameters
        ----------
        local : the curvature.
        B : the slopes in the coordinates in which H is exact.
        along : the gradient of the norm of each row, in all coordinates.
        """
        problem = local.problem
        weight = local.weight
        size = B.shape[1]
        root = np.sqrt(weight)
        used = np.flatnonzero(weight > 0)
        active = np.flatnonzero(weight[problem.owner] > 0)
        H = scaled_gram(B, active, root[problem.owner[active]])
        first = along[used, :size] * root[used, None]
        second = (problem.grouped(local.unit)[used] @ B) * root[used, None]
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
class SlopeMetric:
    r""":math:`H = I + P^\top P` with few rows P, and the lower Cholesky factor of :math:`I + P P^\top`."""

    P: Array
    factor: Array

    @classmethod
    def of(cls, local: Linearised, B: Array) -> SlopeMetric | None:
        """Return H from the slopes in all coordinates; None if it has no factor."""
        active = np.flatnonzero(local.weight[local.problem.owner] > 0)
        P = local.root()[active] @ B
        P = P[np.einsum("md,md->m", P, P) > FLAT_DIRECTION]
        M = dsyrk(1.0, P.T, trans=1, lower=1) if len(P) else np.empty((0, 0))
        M[np.diag_indices(len(M))] += 1.0
        factor = lifted_cholesky(M, LIFTS)
        return None if factor is None else cls(P, factor)

    def matrix(self, G: Array) -> SlopeKernelMatrix:
        r"""Return the kernel matrix :math:`G H^{-1} G^\top`."""
        return SlopeKernelMatrix(self, G)

    def solved(self, c: Array) -> Array:
        r"""Return :math:`H^{-1} c`."""
        return np.asarray(c - cho_solve((self.factor, True), self.P @ c, check_finite=False) @ self.P)


@dataclass(frozen=True, eq=False)
class SlopeKernelMatrix:
    r"""Kernel matrix :math:`G H^{-1} G^\top`, of which only needed entries are computed."""

    metric: SlopeMetric
    G: Array

    def among(self, rows: Array) -> Array:
        some = self.G[rows]
        half = solve_triangular(self.metric.factor, self.metric.P @ some.T, lower=True, check_finite=False)
        return np.asarray(some @ some.T - half.T @ half)

    def times(self, a: Array) -> Array:
        support = np.flatnonzero(a)
        return np.asarray(self.G @ self.metric.solved(a[support] @ self.G[support]))


@dataclass(frozen=True, eq=False)
class Saddle:
    r"""Equations of a step in which the rows A keep their margins.

    .. math:: H d - A^\top \lambda = r, \qquad A d + y b = e, \qquad y^\top \lambda = 0 .

    They are solved by conjugate gradients with exact products by H, and a metric as preconditioner.
    """

    metric: Metric
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
