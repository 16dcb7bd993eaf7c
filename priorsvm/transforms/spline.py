"""Cubic spline interpolation of images at arbitrary positions, as one matrix for all images."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from scipy import ndimage

from .._utils.arrays import Array

# A spline oscillates for about this many pixels beyond the edge of an image; scipy pads by the same number.
PAD = 12

# Entries of the interpolation matrix that are computed at a time. For images of 128 × 128 pixels all d²
# entries take 2 GB.
ENTRIES = 2**22


def interpolate(X: Array, positions: Array, fill: float) -> Array:
    """Return the images X read at the given positions: fill + A (x − fill).

    The spline is linear in the pixels and a product over the axes. Pixel (k, l) has weight η_k(u) η_l(v) at
    position (u, v), where η_k is the spline through a single 1 at k. One matrix A therefore serves all rows.
    The result equals scipy.ndimage up to rounding, and images up to 28 × 28 pixels take less time.
    Subtracting the fill keeps a blank image exactly blank.

    Parameters
    ----------
    X : (n, height * width) array, one image per row.
    positions : (2, height, width) array, row and column at which each pixel is read.
    fill : value of the pixels outside of the image.
    """
    d = X.shape[1]
    down, right = (
        _cardinal_splines(side, places.ravel())
        for side, places in zip(positions.shape[1:], positions, strict=True)
    )
    above = X - fill
    found = np.empty_like(X)
    rows = max(1, ENTRIES // d)
    for start in range(0, d, rows):
        block = slice(start, start + rows)
        A = (down[block, :, None] * right[block, None, :]).reshape(-1, d)
        found[:, block] = above @ A.T + fill
    return found


def interpolate_adjoint(W: Array, positions: Array) -> Array:
    """Return A'w for each row w of W, where A is the matrix of :func:`interpolate`.

    Parameters
    ----------
    W : (k, height * width) array.
    positions : (k, 2, height, width) array, the positions for each row of W.
    """
    k, _, *sides = positions.shape
    down, right = (
        _cardinal_splines(side, positions[:, axis].ravel()).reshape(k, -1, side)
        for axis, side in enumerate(sides)
    )
    return np.asarray(down.swapaxes(1, 2) @ (W[:, :, None] * right)).reshape(W.shape)


def _cardinal_splines(side: int, positions: Array) -> Array:
    """Return the splines through a single 1 at each pixel of a side, as (positions, side) values.

    A spline is a sum of four B-splines around the position, with coefficients that do not depend on it.
    """
    coefficients = _coefficients(side)
    x = positions + PAD
    k = np.floor(x).astype(int)
    t = x - k
    pieces = [(1 - t) ** 3, 3 * t**3 - 6 * t**2 + 4, -3 * t**3 + 3 * t**2 + 3 * t + 1, t**3]
    taps = k[:, None] + np.arange(-1, 3)
    inside = (taps >= 0) & (taps < len(coefficients))
    weights = np.where(inside, np.stack(pieces, axis=1) / 6, 0.0)
    return np.einsum("pj,pjs->ps", weights, coefficients[np.clip(taps, 0, len(coefficients) - 1)])


@lru_cache(maxsize=16)
def _coefficients(side: int) -> Array:
    """Return the B-spline coefficients of each pixel's spline, (side + 2 PAD, side)."""
    padded = np.pad(np.eye(side), ((PAD, PAD), (0, 0)))
    found = ndimage.spline_filter1d(padded, 3, axis=0, mode="grid-constant")
    found.setflags(write=False)
    return found
