r"""Sums of Gaussian functions and their slopes, with gradients, from one kernel matrix and one product.

.. math:: S(z) = \sum_j w_j\, D\, k(z, b_j), \qquad
          D = 1,\ \partial_v,\ \partial'_u \text{ or } \partial_v \partial'_u ,

with one direction v for all z and one direction u for all centres. The terms are :math:`k(z, b_j)` times
polynomials in :math:`v^\top z` and :math:`u^\top z`. So the products of the kernel matrix with the
coefficients of the polynomials, and with coefficients times centres, give S and its gradient.

An evaluation takes 0.25 to 0.4 of the time of separate matrices for values and gradients.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .._utils.arrays import Array


class RBFSum:
    """A sum of Gaussian functions, or of their slopes, as a function of many points.

    Parameters
    ----------
    gamma : float
    centres : (m, d) array
    weights : (m,) array
    along : (d,) array or None
        u, the direction of the slopes in the centres; None for values.
    direction : (d,) array or None
        v, the direction of the slopes in the points; None for values.
    dtype : float or numpy.float32
    """

    def __init__(
        self,
        gamma: float,
        centres: Array,
        weights: Array,
        along: Array | None,
        direction: Array | None,
        dtype: Any,
    ) -> None:
        self.gamma = gamma
        self.middle = centres.mean(axis=0)  # rows far from the origin would lose digits
        B = centres - self.middle
        self.directions = [v for v in (direction, along) if v is not None]
        coefficients = _coefficients(gamma, B, weights, along, direction)
        extended = np.column_stack([np.ones(len(B)), B])
        self.right = (coefficients[:, :, None] * extended[:, None]).reshape(len(B), -1).astype(dtype)
        half = gamma * np.einsum("ij,ij->i", B, B)
        # The exponent -gamma |z - b|² is one product of (z, gamma |z|², 1) and these columns.
        self.left = np.vstack([2 * gamma * B.T, -np.ones(len(B)), -half]).astype(dtype)
        self.reach = float(half.max(initial=0.0))

    def __call__(self, Z: Array) -> tuple[Array, Array]:
        """Return the sums at the rows of Z, and their gradients."""
        n, d = Z.shape
        Z = Z - self.middle
        extended = np.empty((n, d + 2), self.left.dtype)
        extended[:, :d] = Z
        extended[:, d] = self.gamma * np.einsum("ij,ij->i", Z, Z)
        extended[:, d + 1] = 1.0
        K = extended @ self.left
        np.minimum(K, 0, out=K)
        np.exp(K, out=K)
        parts = (K @ self.right).reshape(n, -1, d + 1)
        heights = [(Z @ v).astype(parts.dtype) for v in self.directions]
        total, derivatives = _polynomial(parts, heights)
        gradients = total[:, 1:] - total[:, :1] * Z
        gradients *= 2 * self.gamma
        for derivative, v in zip(derivatives, self.directions, strict=True):
            gradients += derivative[:, None] * v
        return total[:, 0], gradients


def _polynomial(parts: Array, heights: list[Array]) -> tuple[Array, list[Array]]:
    """Return polynomials with coefficients ``parts``, and the derivatives of their first entries."""
    if not heights:
        return parts[:, 0], []
    s = heights[0]
    low = parts[:, 0] + s[:, None] * parts[:, 1]
    if len(heights) == 1:
        return low, [parts[:, 1, 0]]
    t = heights[1]
    high = parts[:, 2] + s[:, None] * parts[:, 3]
    return low + t[:, None] * high, [parts[:, 1, 0] + t * parts[:, 3, 0], high[:, 0]]


def _coefficients(gamma: float, B: Array, w: Array, u: Array | None, v: Array | None) -> Array:
    """Return the coefficients of 1, v'z, u'z and (v'z)(u'z), as far as these occur, for each centre."""
    two_gamma = 2 * gamma
    if u is None and v is None:
        return w[:, None]
    if u is None or v is None:
        sign = -1.0 if u is None else 1.0
        only = v if u is None else u
        assert only is not None
        return sign * two_gamma * w[:, None] * np.column_stack([-(B @ only), np.ones(len(B))])
    of_v = B @ v
    of_u = B @ u
    constant = float(u @ v) - two_gamma * of_v * of_u
    rest = two_gamma * np.column_stack([of_u, of_v, -np.ones(len(B))])
    return two_gamma * w[:, None] * np.column_stack([constant, rest])
