"""Rows of the round before: their kernel matrix grows, and their dual variables are a start."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._utils.arrays import Array, as_slice, block
from ...function.atoms import Atoms
from ...kernels.base import Kernel
from ...spec import Spec
from ..methods.active import RowDual
from ..weighted import gram


@dataclass(frozen=True, eq=False)
class KnownRows:
    """A solved problem on values and slopes of f.

    Attributes
    ----------
    spec : Spec
        The model, with its kernel and scale.
    atoms : Atoms
        The values and slopes, in the units of X.
    K : array
        Their inner products.
    duals : mapping
        Dual variables of the rows by their keys.
    """

    spec: Spec
    atoms: Atoms
    K: Array
    duals: Mapping[Hashable, float]

    @staticmethod
    def row_keys(R: Any, labels: Sequence[bytes]) -> list[Hashable]:
        """Return a key for each row over atoms by its entries; a single value is the label of its atom."""
        contents: list[Hashable] = [labels[k] for k in R.indices[np.minimum(R.indptr[:-1], R.nnz - 1)]]
        single = np.diff(R.indptr) == 1
        single[single] = R.data[R.indptr[:-1][single]] == 1.0
        for row in np.flatnonzero(~single):
            entries = slice(R.indptr[row], R.indptr[row + 1])
            contents[row] = tuple(labels[k] for k in R.indices[entries]), R.data[entries].tobytes()
        return KnownRows.keys(contents)

    @staticmethod
    def keys(contents: Iterable[Hashable]) -> list[Hashable]:
        """Return a key for each row: its content, and the number of rows before it of equal content."""
        contents = list(contents)
        if len(set(contents)) == len(contents):
            return [(content, 0) for content in contents]
        counts: Counter[Hashable] = Counter()
        keys: list[Hashable] = []
        for content in contents:
            keys.append((content, counts[content]))
            counts[content] += 1
        return keys

    def continued(self, keys: Sequence[Hashable], rows: RowDual, start: Array | float = np.nan) -> Array:
        """Return the dual variables of known rows, within the bounds and limits of a new problem.

        Dual variables of ``start`` replace those of known rows, except where they are NaN.
        """
        known = np.array([self.duals.get(key, 0.0) for key in keys])
        a = np.clip(np.where(np.isnan(start), known, start), rows.lower, rows.upper)
        total = rows.sum_weight.T @ a
        for k in np.flatnonzero(total > rows.sum_limit):
            a = np.where(rows.sum_weight[:, k] != 0, a * (rows.sum_limit[k] / total[k]), a)
        return a

    @classmethod
    def gram(cls, before: KnownRows | None, spec: Spec, atoms: Atoms) -> Array:
        """Return the inner products of all atoms; products of known atoms are copied."""
        assert spec.kernel is not None
        kernel = spec.kernel.double
        inner = atoms.scaled(spec.scale)
        if before is None:
            return _products(kernel, inner)
        place = {label: k for k, label in enumerate(before.atoms.labels)}
        old = np.array([place.get(label, -1) for label in atoms.labels])
        known = np.flatnonzero(old >= 0)
        new = np.flatnonzero(old < 0)
        K = np.empty((len(old), len(old)))
        K[block(known, known)] = before.K[block(old[known], old[known])]
        if len(new):
            columns = inner.products(kernel, inner[new])
            at = as_slice(new)
            K[:, at] = columns
            K[at] = columns.T
            K[block(new, new)] = _products(kernel, inner[new])
        return K


def _products(kernel: Kernel, atoms: Atoms) -> Array:
    """Return the symmetric matrix of inner products between atoms."""
    if atoms.directions is None:
        return gram(kernel, np.ascontiguousarray(atoms.points))
    return atoms.products(kernel, atoms)
