r"""Atoms of measures on an interval or a line, from their moments."""

from __future__ import annotations

import numpy as np
from scipy.optimize import nnls

from ..._utils.arrays import Array


def atoms_of_each(moments: Array, line: bool = False, tol: float = 1e-6) -> tuple[Array, Array, Array]:
    """Return the row, place and weight of every atom of the measures with these moments, one per row.

    Measures with a single atom are the most frequent ones and are found for all rows at once.

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
        residual = np.linalg.norm(known - weight[:, None] * powers, axis=1)
        single = (weight > 0) & (residual <= tol * np.abs(known).max(axis=1, initial=0.0))
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
    r"""Return places and weights of the fewest atoms with the moments :math:`m_j = \sum_k a_k u_k^j`.

    The places are in [-1, 1], or anywhere on the line. On the line one place may be infinite; its weight is
    its part of :math:`m_r`.
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
            weights, residual = nnls(np.vander(places, len(known), increasing=True).T, known)
            if residual <= tol * np.abs(known).max():
                at_infinity = moments[r] - float(weights @ (unit * places) ** r) if line else 0.0
                if at_infinity > tol * size:
                    return np.append(unit * places, np.inf), np.append(weights, at_infinity)
                return unit * places, weights
    if line and moments[0] <= tol * size:
        return np.array([np.inf]), moments[r:]
    # The polynomial is zero everywhere, so any measure with these moments is valid.
    places = np.linspace(-1.0, 1.0, 401) * (10.0 if line else 1.0)
    weights, _ = nnls(np.vander(places, r + 1, increasing=True).T, moments / unit ** np.arange(r + 1))
    return unit * places[weights > 0], weights[weights > 0]


def _known(moments: Array, line: bool) -> tuple[Array, Array]:
    """Return the moments of the finite places, and the unit of length in which they are given.

    On the line the unit is about the largest place, because distant places have moments of very different
    sizes. The highest moment is omitted there, because a part of it may come from infinity.
    """
    if not line:
        return moments, np.ones(moments.shape[:-1])
    j = np.arange(moments.shape[-1])
    mass = moments[..., :1]
    reach = (np.abs(moments[..., 1:]) / np.where(mass > 0, mass, np.inf)) ** (1.0 / j[1:])
    unit = np.clip(reach.max(axis=-1), 1.0, 1e4)
    return (moments / unit[..., None] ** j)[..., :-1], unit


def _roots(moments: Array, ends: tuple[float, ...], count: int) -> Array | None:
    """Return ``count`` places besides the ends: the roots of an orthogonal polynomial; None if not real."""
    for end in ends:  # moments of the measure times the distance from this end
        moments = moments[:-1] - end * moments[1:]
    if count < 0 or 2 * count > len(moments):
        return None
    hankel = moments[np.add.outer(np.arange(count), np.arange(count + 1))] if count else np.empty((0, 1))
    monic = np.linalg.lstsq(hankel[:, :count], -hankel[:, count], rcond=None)[0] if count else np.empty(0)
    roots = np.roots(np.concatenate([[1.0], monic[::-1]]))
    return None if np.abs(roots.imag).max(initial=0.0) > 1e-6 else np.sort(roots.real)
