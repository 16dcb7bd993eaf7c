r"""Sparse matrices with one dense block, for example the values of f at many points.

.. math:: M = M_{\text{sparse}} + E_{\text{rows}}\, B\, E_{\text{columns}}^\top

with B dense, and E the columns of the identity that place it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from .cones import Array, Indices


@dataclass(eq=False)
class MixedMatrix:
    """Sum of a sparse matrix and a dense block.

    Attributes
    ----------
    sparse : sparse array of the whole shape, in compressed rows.
    rows, columns : indices of the rows and columns of the block, in ascending order.
    block : (rows, columns) array.
    """

    sparse: Any
    rows: Indices
    columns: Indices
    block: Array

    @classmethod
    def of(cls, M: Any) -> MixedMatrix:
        """Return a matrix as a MixedMatrix; a sparse one has an empty block."""
        if isinstance(M, MixedMatrix):
            return M
        none = np.empty(0, int)
        return cls(sparse.csr_array(M), none, none, np.empty((0, 0)))

    @property
    def shape(self) -> tuple[int, int]:
        m, n = self.sparse.shape
        return m, n

    def __rmul__(self, factor: float) -> MixedMatrix:
        return MixedMatrix(self.sparse * factor, self.rows, self.columns, self.block * factor)

    def used(self) -> Indices:
        """Return whether each row has an entry."""
        used = np.diff(self.sparse.indptr) > 0
        used[self.rows] = True
        return used

    def subset(self, rows: Indices) -> MixedMatrix:
        """Return the matrix of some rows, in ascending order."""
        place = np.full(self.shape[0], -1)
        place[rows] = np.arange(len(rows))
        here = place[self.rows]
        block = self.block if np.all(here >= 0) else self.block[here >= 0]
        return MixedMatrix(self.sparse[rows], here[here >= 0], self.columns, block)

    def dense(self, rows: Indices, columns: Indices) -> Array:
        """Return some rows and columns, in ascending order, as an array."""
        out = np.asarray(self.sparse[rows][:, columns].toarray())
        if self.block.size:
            i = np.searchsorted(rows, self.rows)
            j = np.searchsorted(columns, self.columns)
            has_i = (i < len(rows)) & (np.append(rows, -1)[np.minimum(i, len(rows))] == self.rows)
            has_j = (j < len(columns)) & (np.append(columns, -1)[np.minimum(j, len(columns))] == self.columns)
            whole = has_i.all() and has_j.all()
            out[np.ix_(i[has_i], j[has_j])] += self.block if whole else self.block[np.ix_(has_i, has_j)]
        return out


def embedded(matrix: Any, rows: Indices, columns: Indices, shape: tuple[int, int]) -> Any:
    """Return a larger sparse matrix with a dense or sparse one at these rows and columns."""
    M = sparse.coo_array(matrix)
    return sparse.csr_array((M.data, (rows[M.row], columns[M.col])), shape)
