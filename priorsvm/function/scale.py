"""The affine map from the units of X to the units of the model."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._utils.arrays import Array
from ..errors import InvalidInput


@dataclass(frozen=True, eq=False)
class Scale:
    """The affine map from the units of X to the units of the model, ``(x - shift) / width``."""

    shift: Array
    width: Array

    @classmethod
    def of(
        cls, kind: str | None, X: Array, weight: Array | None = None, fixed: Array | None = None
    ) -> Scale | None:
        """Return the scaling ``"standard"`` or ``"minmax"`` of the rows with a positive weight.

        Columns of the mask ``fixed``, those of categories, keep their values.
        """
        if kind is None:
            return None
        if weight is not None:
            X = X[weight > 0]
            weight = weight[weight > 0]
        if kind == "standard":
            shift = np.average(X, axis=0, weights=weight)
            width = np.sqrt(np.average((X - shift) ** 2, axis=0, weights=weight))
        elif kind == "minmax":
            shift = X.min(axis=0)
            width = np.ptp(X, axis=0)
        else:
            raise InvalidInput(f"scale must be 'standard', 'minmax' or None, got {kind!r}.")
        scale = cls.from_facts(shift, width, np.abs(X).max(axis=0))
        if fixed is None:
            return scale
        return cls(np.where(fixed, 0.0, scale.shift), np.where(fixed, 1.0, scale.width))

    @classmethod
    def from_facts(cls, shift: Array, width: Array, largest: Array) -> Scale:
        """Return the scaling by a width, or by 1 for columns that are constant up to rounding.

        Parameters
        ----------
        shift, width : ndarray of shape (d,)
            Centre and width of each column.
        largest : ndarray of shape (d,)
            Largest absolute value of each column.
        """
        # A constant feature must not be divided by almost zero.
        constant = width <= 10 * np.finfo(float).eps * largest
        return cls(shift, np.where(constant, 1.0, width))

    def points(self, Z: Array) -> Array:
        """Return points in the units of the model."""
        return (Z - self.shift) / self.width

    def directions(self, V: Array) -> Array:
        """Return directions in the units of the model."""
        return V / self.width
