"""Inner products of values and slopes of f: a kernel matrix, or rows of a linear model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._utils.arrays import Array
from ...function.atoms import Atoms
from ...function.fitted import Fitted
from ...function.maps import KernelMap, LinearMap
from ...spec import Spec
from .known_rows import KnownRows


@dataclass(frozen=True, eq=False)
class Products:
    """Inner products of atoms.

    Attributes
    ----------
    spec : the model.
    atoms : the values and slopes, in the units of X.
    K : the kernel matrix; None for a linear model.
    Z, middle : the rows of a linear model, and the mean subtracted from values, which the bias absorbs.
    """

    spec: Spec
    atoms: Atoms
    K: Array | None = None
    Z: Array | None = None
    middle: Array | None = None

    @classmethod
    def of(cls, spec: Spec, atoms: Atoms, known: KnownRows | None = None) -> Products:
        """Return the products; those of known atoms are copied."""
        if spec.kernel is not None:
            return cls(spec, atoms, KnownRows.gram(known, spec, atoms))
        inner = atoms.scaled(spec.scale)
        values = ~atoms.slopes
        middle = inner.points[values].mean(axis=0)
        Z = inner.points - middle
        if inner.directions is not None:
            Z = np.where(values[:, None], Z, inner.directions)
        return cls(spec, atoms, None, Z, middle)

    def between(self, R: Any) -> Array:
        """Return the products of rows over the atoms: K itself if the rows are the atoms."""
        if self.Z is not None:
            rows = R @ self.Z
            return np.asarray(rows @ rows.T)
        assert self.K is not None
        n = _leading_units(R)
        if R.shape == (n, n):
            return self.K
        other = R[n:]
        across = other @ self.K
        Q = np.empty((R.shape[0],) * 2)
        Q[:n, :n] = self.K[:n, :n]
        Q[n:, :n] = across[:, :n]
        Q[:n, n:] = across[:, :n].T
        Q[n:, n:] = other @ across.T
        return Q

    def times(self, nu: Array) -> Array:
        """Return g at the atoms, for weights of the atoms."""
        if self.Z is not None:
            return np.asarray(self.Z @ (nu @ self.Z))
        return np.asarray(self.K @ nu)

    def fitted(self, nu: Array, bias: float) -> Fitted:
        """Return the decision function with these weights of the atoms."""
        spec = self.spec
        if spec.kernel is not None:
            return KernelMap(spec.kernel.double, self.atoms, spec.scale).fitted(nu, bias)
        assert self.Z is not None
        w = nu @ self.Z
        return LinearMap(len(w), spec.scale).fitted(w, bias - float(w @ self.middle))


def _leading_units(R: Any) -> int:
    """Return the number k of rows such that the first k rows of R are the first k values."""
    k = min(R.shape)
    first = np.arange(k)
    unit = (np.diff(R.indptr[: k + 1]) == 1) & (R.indptr[:k] == first)
    k = k if unit.all() else int(np.argmin(unit))
    unit = (R.indices[:k] == first[:k]) & (R.data[:k] == 1.0)
    return k if unit.all() else int(np.argmin(unit))
