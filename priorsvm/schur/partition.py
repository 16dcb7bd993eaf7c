r"""A and P with shared variables first, in dense and sparse parts.

With :math:`x = (u, v)`, u shared and v private,

.. math:: A = \begin{pmatrix} A_{\text{dense}} & \\ A_{\text{sparse}} & A_{\text{own}} \\ 0 & \end{pmatrix},
          \qquad P = \begin{pmatrix} P_{\text{shared}} & 0 \\ 0 & P_{\text{own}} \end{pmatrix} ,

up to the order of the rows. :math:`A_{\text{own}}` is sparse and :math:`P_{\text{own}}` diagonal.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse

from .cones import Array, Cones, Indices, SecondOrder
from .groups import WIDE, as_slice, shared_columns
from .mixed import MixedMatrix, embedded

# With at most NARROW shared variables all rows are dense, otherwise rows with more than the share
# DENSE of the variables.
NARROW = 64
DENSE = 0.15

# A variable of at most this share of the dense rows is rare. Rows with rare variables are stored sparse, if
# these rows are at most this share too.
FEW = 0.05

# With so many entries in dense rows, rows with rare variables are stored sparse for any number of variables.
# Otherwise variables of a few rows, such as the |w| of norms, have a column of zeros as long as X.
MANY = 2**22

# Entries of a block that fits into the processor's cache.
CACHED = 2**16


class Partition:
    """Matrices of the problem, by shared and private variables.

    Attributes
    ----------
    columns : order of the variables; the first r are shared, and the first k of these occur in dense rows.
    r, k : number of shared variables, and of those in dense rows.
    group : group of each cone.
    active : whether each row has shared variables. Equal in all cones of a batch, except for single rows.
    is_dense : whether the rows of each group are dense.
    dense_rows, sparse_rows : dense and sparse active rows.
    dense : (k, dense rows) array; columns of A are contiguous, for fast products.
    sparse : (sparse rows, r) sparse array.
    own : (rows, private variables) sparse array.
    P_shared, P_own : (r, r) array, and a diagonal.
    """

    def __init__(self, P: Any, A: Any, cones: Cones):
        P = MixedMatrix.of(P)
        A = MixedMatrix.of(A)
        shared, self.group = shared_columns(A, P, cones)
        u = np.flatnonzero(shared)
        v = np.flatnonzero(~shared)
        self.r = len(u)
        self.P_own = P.sparse.diagonal()[v]
        over_u = sparse.csr_array(A.sparse[:, u])
        self.own = sparse.csr_array(A.sparse[:, v])
        entries = np.diff(over_u.indptr)
        entries[A.rows] += len(A.columns)
        self.active = _equal_in_batches(entries > 0, cones)
        # A group is dense as a whole.
        group = self.group[cones.cone_of]
        self.is_dense = np.zeros(int(group.max(initial=-1)) + 1, bool)
        self.is_dense[group[entries > (0 if self.r <= NARROW else DENSE * self.r)]] = True
        self.is_dense[group[A.rows]] = True
        block_columns = np.searchsorted(u, A.columns)
        if self.r > NARROW or self.r * len(entries) > MANY:
            self.is_dense[_few_with_more(over_u, block_columns, group, self.is_dense)] = False
        kept = self.is_dense[group[A.rows]]
        if not kept.all():
            over_u = over_u + embedded(A.block[~kept], A.rows[~kept], block_columns, over_u.shape)
        dense_rows = np.flatnonzero(self.active & self.is_dense[group])
        sparse_rows = np.flatnonzero(self.active & ~self.is_dense[group])
        # Variables of sparse rows only, such as bounds on single coefficients, are not part of dense rows.
        in_dense = np.zeros(self.r, bool)
        in_dense[over_u[dense_rows].indices] = True
        in_dense[block_columns] = True
        self.k = int(in_dense.sum())
        order = np.argsort(~in_dense, kind="stable")
        self.columns = np.concatenate([u[order], v])
        self.P_shared = P.dense(u, u)[np.ix_(order, order)]
        over_u = over_u[:, order]
        self.dense = over_u[dense_rows][:, : self.k].T.toarray()
        if A.block.size:
            i = as_slice(np.searchsorted(dense_rows, A.rows[kept]))
            j = as_slice(np.argsort(order)[block_columns])
            has_slice = isinstance(i, slice) or isinstance(j, slice)
            self.dense[(j, i) if has_slice else np.ix_(j, i)] += (A.block if kept.all() else A.block[kept]).T
        self.sparse = sparse.csr_array(over_u[sparse_rows])
        # Transposes share their entries, so scaling applies to both.
        self.own_t = self.own.T
        self.sparse_t = self.sparse.T
        self.dense_rows = as_slice(dense_rows)
        self.sparse_rows = as_slice(sparse_rows)
        self.row_of_own = np.repeat(np.arange(cones.size), np.diff(self.own.indptr))
        self.row_of_sparse = np.repeat(sparse_rows, np.diff(self.sparse.indptr))

    @property
    def shape(self) -> tuple[int, int]:
        return self.own.shape[0], len(self.columns)

    # ------------------------------------------------------------------ products

    def times_P(self, x: Array) -> Array:
        return np.concatenate([self.P_shared @ x[: self.r], self.P_own * x[self.r :]])

    def over_shared(self, u: Array) -> Array:
        """Return the part of A x that comes from shared variables."""
        out = np.zeros(self.shape[0])
        out[self.dense_rows] = u[: self.k] @ self.dense
        if self.sparse.nnz:
            out[self.sparse_rows] = self.sparse @ u
        return out

    def to_shared(self, z: Array) -> Array:
        """Return the part of A'z that belongs to shared variables."""
        out = np.zeros(self.r)
        out[: self.k] = self.dense @ z[self.dense_rows]
        if self.sparse.nnz:
            out += self.sparse_t @ z[self.sparse_rows]
        return out

    def times_A(self, x: Array) -> Array:
        return np.asarray(self.over_shared(x[: self.r]) + self.own @ x[self.r :])

    def times_At(self, z: Array) -> Array:
        return np.concatenate([self.to_shared(z), self.own_t @ z])

    # ------------------------------------------------------------------ scaling

    def blocks(self, count: int, rows: int = 1) -> Iterator[slice]:
        """Yield slices of ``count`` items, each of so many dense rows, that fit into the cache."""
        size = max(CACHED // max(self.k * rows, 1), 64)
        for start in range(0, count, size):
            yield slice(start, start + size)

    def maxima(self, left: Array, right: Array) -> tuple[Array, Array, Array]:
        """Return the largest absolute entries of rows of A, columns of A and columns of P, after scaling.

        Parameters
        ----------
        left, right : arrays
            Factors of the rows and the columns.
        """
        rows = np.zeros(self.shape[0])
        columns = np.zeros(self.shape[1])
        r = self.r
        k = self.k
        for M, row, first in ((self.own, self.row_of_own, r), (self.sparse, self.row_of_sparse, 0)):
            sizes = np.abs(M.data) * left[row] * right[first + M.indices]
            np.maximum.at(rows, row, sizes)
            np.maximum.at(columns, first + M.indices, sizes)
        dense_left = left[self.dense_rows]
        dense_maxima = np.zeros(self.dense.shape[1])
        for block in self.blocks(self.dense.shape[1]):
            sizes = np.abs(self.dense[:, block])
            sizes *= right[:k, None]
            sizes *= dense_left[block]
            dense_maxima[block] = sizes.max(axis=0, initial=0.0)
            np.maximum(columns[:k], sizes.max(axis=1, initial=0.0), out=columns[:k])
        rows[self.dense_rows] = np.maximum(rows[self.dense_rows], dense_maxima)
        P_maxima = (np.abs(self.P_shared) * right[:r]).max(axis=1, initial=0.0) * right[:r]
        return rows, columns, np.concatenate([P_maxima, np.abs(self.P_own) * right[r:] ** 2])

    def scale(self, left: Array, right: Array, objective: float) -> None:
        """Multiply rows by ``left``, columns by ``right``, and P by ``objective`` too, in place."""
        r = self.r
        dense_left = left[self.dense_rows]
        for block in self.blocks(self.dense.shape[1]):
            self.dense[:, block] *= right[: self.k, None]
            self.dense[:, block] *= dense_left[block]
        self.own.data *= left[self.row_of_own] * right[r + self.own.indices]
        self.sparse.data *= left[self.row_of_sparse] * right[self.sparse.indices]
        self.P_shared = self.P_shared * (right[:r, None] * right[:r]) * objective
        self.P_own = self.P_own * right[r:] ** 2 * objective


def _few_with_more(over_u: Any, block_columns: Indices, group: Indices, is_dense: Indices) -> Indices:
    """Return the dense groups with variables that few dense rows have, if these groups have few rows."""
    dense = is_dense[group]
    limit = FEW * dense.sum()
    rare = np.bincount(over_u[np.flatnonzero(dense)].indices, minlength=over_u.shape[1]) <= limit
    rare[block_columns] = False
    rows = np.flatnonzero(np.diff(sparse.csr_array(over_u[:, rare]).indptr))
    groups = np.unique(group[rows])
    groups = groups[is_dense[groups]]
    return groups if np.isin(group, groups).sum() <= limit else groups[:0]


def _equal_in_batches(active: Indices, cones: Cones) -> Indices:
    """Return the active rows, extended until all cones of a batch are alike, except for single rows.

    In wide second-order cones all rows except the first are treated as one.
    """
    for batch in cones.batches:
        if batch.k > 1:
            some = np.asarray(batch.part(active).any(axis=1))
            if isinstance(batch, SecondOrder) and batch.k > WIDE:
                some[1:] = some[1:].any()
            batch.part(active)[...] = some[:, None]
    return active
