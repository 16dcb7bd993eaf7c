"""Elements of the feature space that f is evaluated at or expands over: values and slopes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from .._utils.arrays import Array, block

if TYPE_CHECKING:
    from ..kernels.base import Kernel
    from .scale import Scale


@dataclass(frozen=True, eq=False)
class Atoms:
    r"""Elements of the feature space: :math:`\Phi(z)`, or :math:`\partial_v \Phi(z)` where there are slopes.

    A value :math:`g(z)` is the inner product of g with the first kind, a slope :math:`\nabla g(z)^\top v`
    with the second kind. Without ``directions`` all atoms are values. With ``directions`` and no ``slope``
    all are slopes.
    """

    points: Array
    directions: Array | None = None
    slope: Array | None = None

    @classmethod
    def of(cls, points: Array | Atoms) -> Atoms:
        """Return points as atoms, and atoms as they are."""
        return points if isinstance(points, Atoms) else cls(points)

    @classmethod
    def both(cls, points: Array, at: Array, along: Array) -> Atoms:
        """Return the values at some points and the slopes at further points."""
        if len(at) == 0:
            return cls(points)
        directions = np.vstack([np.zeros_like(points), along])
        return cls(np.vstack([points, at]), directions, np.arange(len(directions)) >= len(points))

    @classmethod
    def together(cls, parts: Sequence[Atoms]) -> Atoms:
        """Return several atoms as one."""
        points = np.vstack([part.points for part in parts])
        if all(part.directions is None for part in parts):
            return cls(points)
        along = [np.zeros_like(part.points) if part.directions is None else part.directions for part in parts]
        return cls(points, np.vstack(along), np.concatenate([part.slopes for part in parts]))

    def __len__(self) -> int:
        return int(self.points.shape[0])

    def __getitem__(self, which: Any) -> Atoms:
        parts = (self.points, self.directions, self.slope)
        return Atoms(*(None if part is None else part[which] for part in parts))  # type: ignore[arg-type]

    @property
    def slopes(self) -> Array:
        """A flag for each atom: True for a slope."""
        if self.slope is not None:
            return self.slope
        return np.full(len(self), self.directions is not None)

    def scaled(self, scale: Scale | None) -> Atoms:
        """Return the atoms in the units of the model."""
        if scale is None:
            return self
        along = None if self.directions is None else scale.directions(self.directions)
        return Atoms(scale.points(self.points), along, self.slope)

    @cached_property
    def labels(self) -> list[bytes]:
        """A dictionary key for each atom."""
        points = [row.tobytes() for row in np.ascontiguousarray(self.points)]
        if self.directions is None:
            return points
        along = [row.tobytes() for row in np.ascontiguousarray(self.directions)]
        return [z + v if s else z for z, v, s in zip(points, along, self.slopes, strict=True)]

    def products(self, kernel: Kernel, other: Atoms) -> Array:
        """Return the matrix of inner products with other atoms."""
        if self.directions is None and other.directions is None:
            return kernel(self.points) if other is self else kernel(self.points, other.points)
        K = np.empty((len(self), len(other)))
        for i in map(np.flatnonzero, (~self.slopes, self.slopes)):
            for j in map(np.flatnonzero, (~other.slopes, other.slopes)):
                if len(i) and len(j):
                    K[block(i, j)] = _products(kernel, self[i], other[j])
        return K

    def diag(self, kernel: Kernel) -> Array:
        """Return the inner product of each atom with itself."""
        if self.directions is None:
            return kernel.diag(self.points)
        some = (self[start : start + 64] for start in range(0, len(self), 64))
        return np.concatenate([np.diagonal(part.products(kernel, part)) for part in some])


def _products(kernel: Kernel, a: Atoms, b: Atoms) -> Array:
    """Return the inner products of atoms that are all values, or all slopes."""
    if not a.slopes[0]:
        return kernel(a.points, b.points) if not b.slopes[0] else _products(kernel, b, a).T
    assert a.directions is not None
    if not b.slopes[0]:
        return kernel.slope(a.points, a.directions, b.points)
    assert b.directions is not None
    return kernel.slope_slope(a.points, a.directions, b.points, b.directions)
