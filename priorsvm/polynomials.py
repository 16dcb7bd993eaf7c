r"""Polynomials on [-1, 1] by their values at nodes, and when they are nonnegative.

A polynomial of even degree 2l is nonnegative on [-1, 1] exactly if
:math:`p = \sigma_0 + (1 - u^2)\sigma_1`, and on the whole line if :math:`p = \sigma_0`, with sums of squares
:math:`\sigma_0, \sigma_1` of degree 2l and 2l - 2; a sum of squares is :math:`t^\top P t` with P positive
semidefinite and t the first Chebyshev polynomials. Both sides agree if they agree at 2l + 1 nodes, so no
coefficient is ever needed (Löfberg & Parrilo 2004).
"""

from __future__ import annotations

import numpy as np
from numpy.polynomial.chebyshev import chebvander
from scipy.optimize import nnls

from .sample import Array


def lobatto(degree: int) -> Array:
    """The degree + 1 nodes where the Chebyshev polynomial of that degree is extreme: both ends among them.

    >>> lobatto(2)
    array([-1.,  0.,  1.])
    """
    if degree == 0:
        return np.zeros(1)
    nodes = -np.cos(np.pi * np.arange(degree + 1) / degree)
    return np.asarray((nodes - nodes[::-1]) / 2)  # symmetric to the last digit, with 0 in the middle


def through(nodes: Array, u: Array) -> Array:
    """The matrix that takes values at the nodes to those at u of the polynomial through them."""
    r = len(nodes) - 1
    return np.linalg.solve(chebvander(nodes, r).T, chebvander(u, r).T).T


def squares(nodes: Array, size: int) -> Array:
    """The matrix that takes a (size, size) matrix P, flat, to the values of t'Pt at the nodes."""
    t = chebvander(nodes, size - 1)
    return np.einsum("ja,jb->jab", t, t).reshape(len(nodes), -1)


def upper(size: int) -> Array:
    """The matrix that takes the upper triangle of a symmetric matrix, flat, to all of it, flat."""
    rows, columns = np.triu_indices(size)
    full = np.zeros((len(rows), size, size))
    full[np.arange(len(rows)), rows, columns] = full[np.arange(len(rows)), columns, rows] = 1.0
    return full.reshape(len(rows), -1)


def atoms(moments: Array, line: bool = False, tol: float = 1e-6) -> tuple[Array, Array]:
    r"""Places and weights of a measure with the moments :math:`m_j = \sum_k a_k u_k^j`.

    As few places as possible; on the line one of them may be infinite, of weight :math:`m_r`.
    """
    r = len(moments) - 1
    size = np.abs(moments).max()
    beyond = 0.0
    for count in range(1, r // 2 + 2 if r > 1 else 2):
        if r == 1:
            places = moments[1:] / moments[:1] if moments[0] > tol * size else np.sign(moments[1:]) * np.inf
        elif moments[0] <= tol * size and line:
            return np.array([np.inf]), moments[r:]
        elif 2 * count - 1 <= r:
            # The polynomial with these roots is orthogonal to all of lower degree.
            hankel = moments[np.add.outer(np.arange(count), np.arange(count + 1))]
            monic = np.linalg.lstsq(hankel[:, :count], -hankel[:, count], rcond=None)[0]
            roots = np.roots(np.concatenate([[1.0], monic[::-1]]))
            if np.abs(roots.imag).max() > 1e-6:
                continue
            places = np.sort(roots.real)
        else:
            break
        if not line:
            places = np.clip(places, -1.0, 1.0)
        if np.isinf(places).any():
            return places, np.abs(moments[r:])
        used = moments[:r] if line and r > 1 else moments
        powers = np.vander(places, len(used), increasing=True).T
        weights, left = nnls(powers, used)
        if left <= tol * size:
            if line and r > 1:
                beyond = moments[r] - float(weights @ places**r)
            if beyond > tol * size:
                places, weights = np.append(places, np.inf), np.append(weights, beyond)
            return places, weights
    # The polynomial touches zero everywhere: any measure will do.
    reach = 1.0 if not line else 10.0
    places = np.linspace(-reach, reach, 401)
    weights, _ = nnls(np.vander(places, r + 1, increasing=True).T, moments)
    return places[weights > 0], weights[weights > 0]
