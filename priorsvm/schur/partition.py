"""A and P with shared variables first, in parts that are dense and parts that are sparse."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse

from .cones import Array, Cones, SecondOrder
from .groups import WIDE, places, shared_columns
from .mixed import Mixed

# With so few shared variables all rows are dense; else rows that have this share of them.
NARROW = 64
DENSE = 0.15

# Numbers of a block that stays in the cache while it is worked on.
CACHED = 2**16


class Parted:
    r"""The problem's matrices over :math:`x = (u, v)`, u shared and v private.

    Rows of A with shared variables are dense or sparse over u, and sparse over v; P is dense over u and
    diagonal over v.

    Attributes
    ----------
    columns : the variables in this order, the first r of them shared.
    group : of each cone.
    active : whether each row has shared variables; alike in all cones of a batch, but for single rows.
    dense_rows, sparse_rows : those that have.
    dense : (r, dense rows): columns of A are contiguous, which makes products with it fastest.
    sparse : (sparse rows, r).
    own : (rows, private variables), sparse.
    P_shared, P_own : (r, r), and a diagonal.
    """

    def __init__(self, P: Any, A: Any, cones: Cones):
        P = Mixed.of(P)
        A = Mixed.of(A)
        shared, self.group = shared_columns(A, P, cones)
        u = np.flatnonzero(shared)
        v = np.flatnonzero(~shared)
        self.columns = np.concatenate([u, v])
        self.r = len(u)
        self.P_shared = P.dense(u, u)
        self.P_own = P.sparse.diagonal()[v]
        outer = sparse.csr_array(A.sparse[:, u])
        self.own = sparse.csr_array(A.sparse[:, v])
        busy = np.diff(outer.indptr)
        busy[A.rows] += len(A.columns)
        self.active = busy > 0
        for batch in cones.batches:
            if batch.k > 1:
                some = np.asarray(batch.of(self.active).any(axis=1))
                if isinstance(batch, SecondOrder) and batch.k > WIDE:
                    some[1:] = some[1:].any()
                batch.of(self.active)[...] = some[:, None]
        # A group is dense as a whole.
        group = self.group[cones.cone_of]
        self.is_dense = np.zeros(int(group.max(initial=-1)) + 1, bool)
        self.is_dense[group[busy > (0 if self.r <= NARROW else DENSE * self.r)]] = True
        rows = np.flatnonzero(self.active & self.is_dense[group])
        thin = np.flatnonzero(self.active & ~self.is_dense[group])
        self.dense = outer[rows].T.toarray()
        if A.block.size:
            i, j = (places(np.searchsorted(all_, some)) for all_, some in ((rows, A.rows), (u, A.columns)))
            self.dense[(j, i) if slice in map(type, (i, j)) else np.ix_(j, i)] += A.block.T
        self.sparse = sparse.csr_array(outer[thin])
        self.own_t, self.sparse_t = self.own.T, self.sparse.T  # which share their numbers
        self.dense_rows = places(rows)
        self.sparse_rows = places(thin)
        self.row_of_own = np.repeat(np.arange(cones.size), np.diff(self.own.indptr))
        self.row_of_sparse = thin[np.repeat(np.arange(len(thin)), np.diff(self.sparse.indptr))]

    @property
    def shape(self) -> tuple[int, int]:
        return self.own.shape[0], len(self.columns)

    # ------------------------------------------------------------------ products

    def times_P(self, x: Array) -> Array:
        return np.concatenate([self.P_shared @ x[: self.r], self.P_own * x[self.r :]])

    def over_shared(self, u: Array) -> Array:
        """What shared variables add to each row."""
        out = np.zeros(self.shape[0])
        out[self.dense_rows] = u @ self.dense
        if self.sparse.nnz:
            out[self.sparse_rows] = self.sparse @ u
        return out

    def to_shared(self, z: Array) -> Array:
        """The transpose of that."""
        out = self.dense @ z[self.dense_rows]
        if self.sparse.nnz:
            out += self.sparse_t @ z[self.sparse_rows]
        return np.asarray(out)

    def times_A(self, x: Array) -> Array:
        return np.asarray(self.over_shared(x[: self.r]) + self.own @ x[self.r :])

    def times_At(self, z: Array) -> Array:
        return np.concatenate([self.to_shared(z), self.own_t @ z])

    # ------------------------------------------------------------------ scaling

    def blocks(self, count: int, rows: int = 1) -> Iterator[slice]:
        """So many times some dense rows, few enough at a time that they stay in the cache."""
        size = max(CACHED // max(self.r * rows, 1), 64)
        for start in range(0, count, size):
            yield slice(start, start + size)

    def maxima(self, left: Array, right: Array) -> tuple[Array, Array, Array]:
        """The largest numbers of rows of A, columns of A, and columns of P, if these are multiplied so."""
        rows = np.zeros(self.shape[0])
        columns = np.zeros(self.shape[1])
        r = self.r
        for M, row, first in ((self.own, self.row_of_own, r), (self.sparse, self.row_of_sparse, 0)):
            sizes = np.abs(M.data) * left[row] * right[first + M.indices]
            column = first + M.indices
            np.maximum.at(rows, row, sizes)
            np.maximum.at(columns, column, sizes)
        some = left[self.dense_rows]
        of_dense = np.zeros(self.dense.shape[1])
        for block in self.blocks(self.dense.shape[1]):
            sizes = np.abs(self.dense[:, block])
            sizes *= right[:r, None]
            sizes *= some[block]
            of_dense[block] = sizes.max(axis=0, initial=0.0)
            np.maximum(columns[:r], sizes.max(axis=1, initial=0.0), out=columns[:r])
        rows[self.dense_rows] = np.maximum(rows[self.dense_rows], of_dense)
        of_P = (np.abs(self.P_shared) * right[:r]).max(axis=1, initial=0.0) * right[:r]
        return rows, columns, np.concatenate([of_P, np.abs(self.P_own) * right[r:] ** 2])

    def scale(self, left: Array, right: Array, objective: float) -> None:
        """Multiply rows, columns and P."""
        r = self.r
        some = left[self.dense_rows]
        for block in self.blocks(self.dense.shape[1]):
            self.dense[:, block] *= right[:r, None]
            self.dense[:, block] *= some[block]
        self.own.data *= left[self.row_of_own] * right[r + self.own.indices]
        self.sparse.data *= left[self.row_of_sparse] * right[self.sparse.indices]
        self.P_shared = self.P_shared * (right[:r, None] * right[:r]) * objective
        self.P_own = self.P_own * right[r:] ** 2 * objective
