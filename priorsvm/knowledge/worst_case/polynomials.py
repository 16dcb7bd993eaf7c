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

from ..._utils.arrays import Array


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


def atoms_of_each(moments: Array, line: bool = False, tol: float = 1e-6) -> tuple[Array, Array, Array]:
    """The same for each row of moments: the row, place and weight of every atom, row by row.

    Most measures have one place, which is found for all rows at once.

    >>> atoms_of_each(np.array([[2.0, 1.0, 0.5], [1.0, 0.0, 1.0]]))
    (array([0, 1, 1]), array([ 0.5, -1. ,  1. ]), array([2. , 0.5, 0.5]))
    """
    r = moments.shape[1] - 1
    size = np.abs(moments).max(axis=1, initial=0.0)
    known, unit = _known(moments, line)
    with np.errstate(all="ignore"):
        place = moments[:, 1] / moments[:, 0]
        place = place if line else np.clip(place, -1.0, 1.0)
        powers = (place / unit)[:, None] ** np.arange(known.shape[1])
        weight = (powers * known).sum(axis=1) / (powers**2).sum(axis=1) if r > 1 else moments[:, 0]
        left = np.linalg.norm(known - weight[:, None] * powers, axis=1)
        single = (weight > 0) & (left <= tol * np.abs(known).max(axis=1, initial=0.0))
        if line:
            single &= (moments[:, 0] > tol * size) & (moments[:, r] - weight * place**r <= tol * size)
    found = [(np.flatnonzero(single), place[single], weight[single])]
    for i in np.flatnonzero(~single):
        places, weights = atoms(moments[i], line, tol)
        found.append((np.full(len(places), i), places, weights))
    owner, places, weights = (np.concatenate(part) for part in zip(*found, strict=True))
    order = np.argsort(owner, kind="stable")
    return owner[order], places[order], weights[order]


def atoms(moments: Array, line: bool = False, tol: float = 1e-6) -> tuple[Array, Array]:
    r"""Places and weights of a measure with the moments :math:`m_j = \sum_k a_k u_k^j`.

    As few places as possible, in [-1, 1] or, on the line, anywhere; there one of them may be infinite, of
    weight :math:`m_r`.
    """
    r = len(moments) - 1
    size = float(np.abs(moments).max())
    if r == 1:
        if line and moments[0] <= tol * size:
            return np.sign(moments[1:]) * np.inf, np.abs(moments[1:])
        place = moments[1:] / moments[0]
        return (place if line else np.clip(place, -1.0, 1.0)), moments[:1]
    known, unit = _known(moments, line)
    for count in range(1, r // 2 + 2):
        for ends in [()] if line else [(), (-1.0,), (1.0,), (-1.0, 1.0)]:
            inside = _roots(known, ends, count - len(ends))
            if inside is None:
                continue
            places = np.sort(np.concatenate([ends, inside if line else np.clip(inside, -1.0, 1.0)]))
            weights, left = nnls(np.vander(places, len(known), increasing=True).T, known)
            if left <= tol * np.abs(known).max():
                beyond = moments[r] - float(weights @ (unit * places) ** r) if line else 0.0
                if beyond > tol * size:
                    return np.append(unit * places, np.inf), np.append(weights, beyond)
                return unit * places, weights
    if line and moments[0] <= tol * size:
        return np.array([np.inf]), moments[r:]
    # The polynomial is zero everywhere, and any measure will do.
    places = np.linspace(-1.0, 1.0, 401) * (10.0 if line else 1.0)
    weights, _ = nnls(np.vander(places, r + 1, increasing=True).T, moments / unit ** np.arange(r + 1))
    return unit * places[weights > 0], weights[weights > 0]


def _known(moments: Array, line: bool) -> tuple[Array, Array]:
    """The moments that places inside have to have, in units of about how far out the farthest place is.

    On the line places far out have moments of very different sizes, and the highest may come from infinity.
    """
    if not line:
        return moments, np.ones(moments.shape[:-1])
    j = np.arange(moments.shape[-1])
    mass = moments[..., :1]
    reach = (np.abs(moments[..., 1:]) / np.where(mass > 0, mass, np.inf)) ** (1.0 / j[1:])
    unit = np.clip(reach.max(axis=-1), 1.0, 1e4)
    return (moments / unit[..., None] ** j)[..., :-1], unit


def _roots(moments: Array, ends: tuple[float, ...], count: int) -> Array | None:
    """That many places besides the ends: the roots of the polynomial that is orthogonal to all lower ones."""
    for end in ends:  # the moments of the measure times the distance from that end
        moments = moments[:-1] - end * moments[1:]
    if count < 0 or 2 * count > len(moments):
        return None
    hankel = moments[np.add.outer(np.arange(count), np.arange(count + 1))] if count else np.empty((0, 1))
    monic = np.linalg.lstsq(hankel[:, :count], -hankel[:, count], rcond=None)[0] if count else np.empty(0)
    roots = np.roots(np.concatenate([[1.0], monic[::-1]]))
    return None if np.abs(roots.imag).max(initial=0.0) > 1e-6 else np.sort(roots.real)
