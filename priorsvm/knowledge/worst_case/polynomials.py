r"""Polynomials given by their values at nodes, and conditions for nonnegativity.

A polynomial of even degree 2l is nonnegative on [-1, 1] if and only if
:math:`p = \sigma_0 + (1 - u^2)\sigma_1`. It is nonnegative on the whole line if and only if
:math:`p = \sigma_0`. Here :math:`\sigma_0, \sigma_1` are sums of squares of degree 2l and 2l - 2. A sum of
squares is :math:`t^\top P t` with P positive semidefinite and t the first Chebyshev polynomials. Both sides
are equal if they agree at 2l + 1 nodes, so no coefficient is computed (Löfberg & Parrilo 2004).
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
from numpy.polynomial.chebyshev import chebvander

from ..._utils.arrays import Array


def lobatto(degree: int) -> Array:
    """Return the degree + 1 Chebyshev-Lobatto nodes; both ends are nodes.

    >>> lobatto(2)
    array([-1.,  0.,  1.])
    """
    if degree == 0:
        return np.zeros(1)
    nodes = -np.cos(np.pi * np.arange(degree + 1) / degree)
    return np.asarray((nodes - nodes[::-1]) / 2)  # exactly symmetric, with 0 in the middle


def interpolation_matrix(nodes: Array, u: Array) -> Array:
    """Return the matrix that maps values at the nodes to values at u of the polynomial through them."""
    r = len(nodes) - 1
    return np.linalg.solve(chebvander(nodes, r).T, chebvander(u, r).T).T


def squares(nodes: Array, size: int) -> Array:
    """Return the matrix that maps a flat (size, size) matrix P to the values of t'Pt at the nodes."""
    t = chebvander(nodes, size - 1)
    return np.einsum("ja,jb->jab", t, t).reshape(len(nodes), -1)


def upper(size: int) -> Array:
    """Return the matrix that maps the flat upper triangle of a symmetric matrix to the flat matrix."""
    rows, columns = np.triu_indices(size)
    full = np.zeros((len(rows), size, size))
    full[np.arange(len(rows)), rows, columns] = full[np.arange(len(rows)), columns, rows] = 1.0
    return full.reshape(len(rows), -1)


def quadratic_nodes(q: int) -> Array:
    """Return nodes that determine a quadratic in q variables: centre, ends of axes, a corner per pair."""
    axes = np.eye(q)
    pairs = [axes[j] + axes[k] for j, k in combinations(range(q), 2)]
    return np.vstack([np.zeros((1, q)), -axes, axes, *(pair[None] for pair in pairs)])


def monomials(u: Array) -> Array:
    """Return 1, u_k, and u_j u_k for j <= k."""
    rows, columns = np.triu_indices(u.shape[1])
    return np.column_stack([np.ones(len(u)), u, u[:, rows] * u[:, columns]])


def homogeneous(q: int) -> Array:
    """Return the matrix that maps coefficients of :func:`monomials` to the flat matrix of the quadratic."""
    rows, columns = np.triu_indices(q)
    full = np.zeros((1 + q + len(rows), 1 + q, 1 + q))
    full[0, 0, 0] = 1.0
    for k in range(q):
        full[1 + k, 0, 1 + k] = full[1 + k, 1 + k, 0] = 0.5
    for m, (j, k) in enumerate(zip(rows.tolist(), columns.tolist(), strict=True)):
        full[1 + q + m, 1 + j, 1 + k] += 0.5
        full[1 + q + m, 1 + k, 1 + j] += 0.5
    return full.reshape(len(full), -1)
