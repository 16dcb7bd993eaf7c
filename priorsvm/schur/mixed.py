"""A matrix that is sparse but for one dense block: what the values of f at many points look like."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from .cones import Array, Indices


@dataclass(eq=False)
class Mixed:
    """A sparse matrix plus a dense block.

    Attributes
    ----------
    sparse : of the whole shape, in compressed rows unless it is a transpose.
    rows, columns : where the block is, in ascending order.
    block : (rows, columns).
    """

    sparse: Any
    rows: Indices
    columns: Indices
    block: Array

    @classmethod
    def of(cls, M: Any) -> Mixed:
        """Any matrix; a sparse one has no block."""
        if isinstance(M, Mixed):
            return M
        none = np.empty(0, int)
        return cls(sparse.csr_array(M), none, none, np.empty((0, 0)))

    @property
    def shape(self) -> tuple[int, int]:
        m, n = self.sparse.shape
        return m, n

    @property
    def nnz(self) -> int:
        return int(self.sparse.nnz) + self.block.size

    def __matmul__(self, x: Array) -> Array:
        out = self.sparse @ x
        if self.block.size:
            out[self.rows] += self.block @ x[self.columns]
        return np.asarray(out)

    @cached_property
    def T(self) -> Mixed:
        return Mixed(self.sparse.T, self.columns, self.rows, self.block.T)

    def __mul__(self, factor: float) -> Mixed:
        return Mixed(self.sparse * factor, self.rows, self.columns, self.block * factor)

    __rmul__ = __mul__

    def used(self) -> Indices:
        """Whether each row has an entry."""
        used = np.diff(self.sparse.indptr) > 0
        used[self.rows] = True
        return used

    def some(self, rows: Indices) -> Mixed:
        """Some of its rows, in ascending order."""
        place = np.full(self.shape[0], -1)
        place[rows] = np.arange(len(rows))
        here = place[self.rows]
        block = self.block if np.all(here >= 0) else self.block[here >= 0]
        return Mixed(self.sparse[rows], here[here >= 0], self.columns, block)

    def dense(self, rows: Indices, columns: Indices) -> Array:
        """Some rows and columns, in ascending order, as an array."""
        out = np.asarray(self.sparse[rows][:, columns].toarray())
        if self.block.size:
            i = np.searchsorted(rows, self.rows)
            j = np.searchsorted(columns, self.columns)
            has_i = (i < len(rows)) & (np.append(rows, -1)[np.minimum(i, len(rows))] == self.rows)
            has_j = (j < len(columns)) & (np.append(columns, -1)[np.minimum(j, len(columns))] == self.columns)
            whole = has_i.all() and has_j.all()
            out[np.ix_(i[has_i], j[has_j])] += self.block if whole else self.block[np.ix_(has_i, has_j)]
        return out

    def scaled(self, left: Array, right: Array) -> Mixed:
        """Rows times left, columns times right."""
        part = sparse.csr_array(sparse.diags_array(left) @ self.sparse @ sparse.diags_array(right))
        block = left[self.rows, None] * self.block * right[self.columns]
        return Mixed(part, self.rows, self.columns, block)

    def maxima(self, axis: int) -> Array:
        """The largest number of every row (axis 1) or column (axis 0), without its sign."""
        M = self.sparse
        out = np.zeros(self.shape[1 - axis])
        if axis == 0:
            np.maximum.at(out, M.indices, np.abs(M.data))
        elif M.nnz:
            filled = np.diff(M.indptr) > 0
            out[filled] = np.maximum.reduceat(np.abs(M.data), M.indptr[:-1][filled])
        if self.block.size:
            where = self.rows if axis else self.columns
            largest = np.maximum(self.block.max(axis=axis), -self.block.min(axis=axis))
            out[where] = np.maximum(out[where], largest)
        return out
