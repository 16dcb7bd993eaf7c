"""Planes spanned by two features, and sections of sets with these planes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import null_space

from .._utils.arrays import Array
from ..knowledge.regions.sets import EllipsoidSet

# left, right, bottom, top
Window = tuple[float, float, float, float]


@dataclass(frozen=True, eq=False)
class Plane:
    """Plane of two features, with fixed values of all other features.

    Attributes
    ----------
    columns : the two features that vary.
    at : (d,) array of the fixed values; entries at ``columns`` are not used.
    """

    columns: tuple[int, int]
    at: Array

    @property
    def others(self) -> Array:
        """The features with fixed values."""
        return np.setdiff1d(np.arange(len(self.at)), self.columns)

    def lift(self, Z: Array) -> Array:
        """Return points of the plane as rows with all features."""
        rows = np.tile(self.at, (len(Z), 1))
        rows[:, self.columns] = Z
        return rows

    def project(self, X: Array) -> Array:
        """Return the two features of rows."""
        return np.asarray(X)[..., list(self.columns)]

    def contains(self, x: Array, size: Array) -> bool:
        """Return whether a row lies in the plane, up to 1e-6 of the range of each feature."""
        apart = np.abs(np.asarray(x) - self.at)[self.others]
        return bool((apart <= 1e-6 * np.maximum(size[self.others], np.finfo(float).tiny)).all())

    def inequalities(self, B: Array, d: Array) -> tuple[Array, Array]:
        """Return ``B x <= d`` as inequalities for points of the plane."""
        return B[:, self.columns], d - B[:, self.others] @ self.at[self.others]


def polygon(B: Array, d: Array, window: Window) -> Array:
    """Return the corners of ``{z : B z <= d}`` within a window, in order; none if the set is empty there.

    The window is cut by one half-plane after another, so that unbounded and thin sets are allowed.
    """
    left, right, bottom, top = window
    corners = np.array([[left, bottom], [right, bottom], [right, top], [left, top]], float)
    for normal, side in zip(B, d, strict=True):
        if len(corners) == 0:
            break
        reach = np.abs(corners) @ np.abs(normal) + abs(side)
        over = corners @ normal - side
        over[np.abs(over) <= 1e-12 * reach] = 0.0
        following = np.roll(corners, -1, axis=0)
        beyond = np.roll(over, -1)
        kept = []
        for here, there, a, b in zip(corners, following, over, beyond, strict=True):
            if a <= 0:
                kept.append(here)
            if a * b < 0:
                kept.append(here + a / (a - b) * (there - here))
        corners = np.array(kept).reshape(-1, 2)
    return corners


def ellipse(centre: Array, M: Array, count: int = 97) -> Array:
    r"""Return the boundary of ``centre + M z``, :math:`\|z\| \le 1`, as a closed curve; flat for rank one."""
    U, size, _ = np.linalg.svd(M, full_matrices=False)
    angle = np.linspace(0.0, 2 * np.pi, count)
    circle = np.array([np.cos(angle), np.sin(angle)])[: len(size)]
    return np.asarray(centre + ((U * size) @ circle).T)


def cut(region: EllipsoidSet, plane: Plane) -> Array | None:
    """Return the section of an ellipsoid with a plane as a closed curve, or None if it is empty."""
    A = region.A
    others = plane.others
    apart = plane.at[others] - region.centre[others]
    z = np.linalg.pinv(A[others]) @ apart
    missed = np.abs(A[others] @ z - apart).max(initial=0.0)
    if missed > 1e-9 * (1.0 + np.abs(apart).max(initial=0.0)) or z @ z > 1.0:
        return None
    free = null_space(A[others]) if len(others) else np.eye(A.shape[1])
    columns = list(plane.columns)
    middle = region.centre[columns] + A[columns] @ z
    if free.shape[1] == 0:
        return np.asarray(middle[None])
    return ellipse(middle, np.sqrt(1.0 - z @ z) * A[columns] @ free)


def mesh(window: Window, resolution: int) -> tuple[Any, Any, Array]:
    """Return a grid over a window: both coordinates, and the points as rows."""
    left, right, bottom, top = window
    a, b = np.meshgrid(np.linspace(left, right, resolution), np.linspace(bottom, top, resolution))
    return a, b, np.column_stack([a.ravel(), b.ravel()])


def window_around(low: Array, high: Array) -> Window:
    """Return a window around the rectangle from low to high, with a margin of 6 % on every side."""
    margin = 0.06 * np.where(high > low, high - low, 1.0)
    left, bottom = (low - margin).tolist()
    right, top = (high + margin).tolist()
    return left, right, bottom, top
