r"""The linear system of every step, with private variables eliminated first.

.. math:: \begin{pmatrix} P & A^\top \\ A & -W^\top W \end{pmatrix}
          \begin{pmatrix} x \\ z \end{pmatrix} = \begin{pmatrix} r_1 \\ r_2 \end{pmatrix}

With the rows :math:`\tilde A = W^{-\top} A` this is :math:`(P + \tilde A^\top \tilde A) x = \dots`.
Householder reflections in each group turn the private columns of :math:`\tilde A` into a triangle; the rows
below it know shared variables only, and their Gram matrix is the Schur complement S. Nothing is subtracted,
so S is positive semidefinite to all digits.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import linalg, sparse
from scipy.linalg.blas import dsyrk
from scipy.linalg.lapack import dpotrf

from .cones import Array, Cones, Indices, Nonnegative, SecondOrder
from .groups import DENSE, ROWS, Class, classes, shared_columns
from .mixed import Mixed

# Added to the diagonal, and refined away.
STATIC = 1e-10

# The system is solved to this, relative to its right-hand side, or as far as refinement gets.
REFINED = 1e-14
REFINEMENTS = 6

# With so few shared variables all rows are dense.
NARROW = 64

# Products of entries of a sparse row are listed once, if there are no more than this many.
LISTED = 2**22


@dataclass(eq=False)
class _Part:
    """A class of groups, where its cones are, and its factor."""

    shape: Class
    pieces: list[
        tuple[Any, Indices, Indices, Indices]
    ]  # batch, cones of it, their groups, their places (c, k)
    root: Array  # (g, p) square roots of what P and the regularisation add
    dense: bool  # all active rows are dense rows
    positions: Indices  # (g, a) places of the active rows among the dense or the sparse ones
    R: Array = None  # type: ignore[assignment]
    across: Array = None  # type: ignore[assignment]
    below: Array = None  # type: ignore[assignment]

    @property
    def diagonal(self) -> bool:
        return all(isinstance(batch, Nonnegative) for batch, *_ in self.pieces)

    @property
    def large(self) -> bool:
        return self.shape.rows.shape[1] > ROWS


class Newton:
    """Factors the system for given scalings and solves it."""

    def __init__(self, P: Any, A: Any, cones: Cones):
        self.cones, mixed, P = cones, Mixed.of(A), Mixed.of(P)
        A, dense_columns = mixed.sparse, np.concatenate([mixed.columns, P.columns])
        shared, group = shared_columns(A, P.sparse, cones, dense_columns)
        self.shared, self.private = np.flatnonzero(shared), np.flatnonzero(~shared)
        self.P_shared = P.dense(self.shared, self.shared)
        self.mixed = mixed
        A_shared = sparse.csr_array(A[:, self.shared])
        own = P.sparse.diagonal()
        found = classes(A, shared, group, mixed.rows)
        busy, r = np.diff(A_shared.indptr), len(self.shared)
        self.is_dense = busy > (0 if r <= NARROW else DENSE * r)
        self.is_dense[mixed.rows] = True
        for c in found:  # a group is dense as a whole
            rows = c.active_rows
            self.is_dense[rows] = self.is_dense[rows].any(axis=1, keepdims=True)
        self.dense_rows, self.sparse_rows = np.flatnonzero(self.is_dense), np.flatnonzero(~self.is_dense)
        self.A_dense = mixed.dense(self.dense_rows, self.shared)
        self.A_sparse = sparse.csr_array(A_shared[self.sparse_rows])
        self.listed = _listed(self.A_sparse)
        # Of the matrix with the shared variables first, so that dense parts are dense.
        self.A_private = sparse.csr_array(A[:, self.private])
        self.P_private = own[self.private]
        self.parts = [part for c in found for part in self._parts(c, own)]

    def _parts(self, c: Class, own: Array) -> list[_Part]:
        """The class, or its dense and its sparse groups apart."""
        if c.active.shape[1] == 0:
            return [self._part(c, own, False)]
        dense = self.is_dense[c.active_rows[:, 0]]
        split = ((dense, True), (~dense, False))
        return [self._part(c.some(which), own, name) for which, name in split if which.any()]

    def _part(self, c: Class, own: Array, dense: bool) -> _Part:
        g, k = c.rows.shape
        group = np.full(self.cones.size, -1)
        place = np.full(self.cones.size, -1)
        group[c.rows], place[c.rows] = np.arange(g)[:, None], np.arange(k)
        pieces = []
        for batch in self.cones.batches:
            groups, places = batch.of(group), batch.of(place)
            mine = np.flatnonzero(groups[:, 0] >= 0)
            if len(mine):
                pieces.append((batch, mine, groups[mine, 0], places[mine]))
        root = np.sqrt(own[c.private] + STATIC)
        where = np.empty(self.cones.size, int)
        where[self.dense_rows] = np.arange(len(self.dense_rows))
        where[self.sparse_rows] = np.arange(len(self.sparse_rows))
        return _Part(c, pieces, root, dense, where[c.active_rows])

    # ------------------------------------------------------------------ factoring

    def factor(self, careful: bool = False) -> None:
        """For the present scalings of the cones; carefully, without squaring the condition."""
        r, weight = len(self.shared), np.zeros(self.cones.size)
        tall: list[Array] = []  # dense rows over shared variables
        thin: list[Any] = []  # sparse ones
        for part in self.parts:
            self._reflect(part)
            a = part.shape.active.shape[1]
            if a == 0:
                continue
            if part.large:
                tall.append(self._large(part))
            elif a == 1:
                weight[part.shape.active_rows[:, 0]] = np.einsum("gka,gka->g", part.below, part.below)
            elif part.dense:
                tall.append((part.below @ self.A_dense[part.positions]).reshape(-1, r))
            else:
                thin.append(self._in_blocks(part))
        heavy, light = weight[self.dense_rows], weight[self.sparse_rows]
        if np.any(heavy > 0):
            tall.append(np.sqrt(heavy[heavy > 0])[:, None] * self.A_dense[heavy > 0])
        if careful:
            thin.append(sparse.diags_array(np.sqrt(light)) @ self.A_sparse)
            return self._triangle(np.vstack([self.root_P, *tall, *(rows.toarray() for rows in thin)]))
        S = self.P_shared.copy()
        if tall:
            half = np.zeros((r, r), order="F")
            for rows in tall:
                half = dsyrk(1.0, rows.T, beta=1.0, c=half, overwrite_c=True)  # the upper triangle
            S += half
            S += np.triu(half, 1).T
        for rows in thin:
            S += (rows.T @ rows).toarray()
        if self.listed is not None:
            places, products = self.listed
            S.reshape(-1)[places] += products @ light
        elif np.any(light > 0):
            S += (self.A_sparse.T @ sparse.diags_array(light) @ self.A_sparse).toarray()
        return self._cholesky(S)

    @cached_property
    def root_P(self) -> Array:
        """Rows whose Gram matrix is P."""
        values, vectors = linalg.eigh(self.P_shared)
        return np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T

    def _triangle(self, rows: Array) -> None:
        """The factor R of S = R'R from the rows of which S is the Gram matrix; large rows first."""
        sizes = np.einsum("ij,ij->i", rows, rows)
        if not np.isfinite(sizes).all():
            raise FloatingPointError("a row is not finite")
        rows = rows[np.argsort(-sizes, kind="stable")]
        rows = np.vstack([rows, np.sqrt(STATIC) * np.eye(rows.shape[1])])
        R, self.order = linalg.qr(rows, mode="r", pivoting=True, overwrite_a=True, check_finite=False)
        self.factor_, self.size = (R[: rows.shape[1]], False), np.ones(rows.shape[1])

    def _reflect(self, part: _Part) -> None:
        """Triangulate the private columns of a class of groups."""
        c = part.shape
        g, k, p, a = c.shape
        if part.large:
            return
        G = np.zeros((g, k + p, p + a))
        if part.diagonal:
            scale = np.empty((g, k))
            for batch, mine, groups, places in part.pieces:
                scale[groups, places[:, 0]] = 1.0 / batch.w[mine, 0]
            G[:, :k, :p] = scale[:, :, None] * c.own
            G[np.arange(g)[:, None], c.active, p + np.arange(a)] = np.take_along_axis(scale, c.active, axis=1)
        else:
            W = np.zeros((g, k, k))
            for batch, mine, groups, places in part.pieces:
                blocks = batch.matrices()[mine]
                W[groups[:, None, None], places[:, :, None], places[:, None, :]] = blocks
            G[:, :k, :p] = W @ c.own
            G[:, :k, p:] = np.take_along_axis(W, c.active[:, None, :], axis=2)
        G[:, k + np.arange(p), np.arange(p)] = part.root
        for j in range(p):
            v = G[:, j:, j].copy()
            length = np.sqrt(np.einsum("gk,gk->g", v, v))
            v[:, 0] += np.copysign(length, v[:, 0])
            square = np.einsum("gk,gk->g", v, v)
            tail = G[:, j:, j:]
            tail -= (
                (2.0 / square)[:, None, None] * v[:, :, None] * np.einsum("gk,gkc->gc", v, tail)[:, None, :]
            )
        part.R, part.across, part.below = G[:, :p, :p], G[:, :p, p:], G[:, p:, p:]

    def _large(self, part: _Part) -> Array:
        r""":math:`W^{-\top} A` of cones too large for a matrix of their own."""
        c, out = part.shape, []
        [(batch, mine, _, _)] = part.pieces
        if not isinstance(batch, SecondOrder):
            W = batch.matrices()
            return np.vstack(
                [
                    W[cone] @ self.mixed.dense(rows, self.shared)
                    for cone, rows in zip(mine, c.rows, strict=True)
                ]
            )
        for cone, rows in zip(mine, c.rows, strict=True):
            w, eta = batch.w[cone].copy(), batch.eta[cone, 0]
            w[1:] *= -1.0
            A = self.mixed.dense(rows, self.shared)
            inner = w[1:] @ A[1:]
            lower = A[1:] + np.outer(w[1:], A[0] + inner / (1.0 + w[0]))
            out.append(np.vstack([w[0] * A[0] + inner, lower]) / eta)
        return np.vstack(out)

    def _in_blocks(self, part: _Part) -> Any:
        """The rows below the triangle, as a sparse matrix over shared variables."""
        g, k, a = part.below.shape
        rows = np.arange(g * k).reshape(g, k, 1) + np.zeros((1, 1, a), int)
        columns = part.positions[:, None, :] + np.zeros((1, k, 1), int)
        size = (g * k, len(self.sparse_rows))
        blocks = sparse.csr_array((part.below.ravel(), (rows.ravel(), columns.ravel())), size)
        return sparse.csr_array(blocks @ self.A_sparse)

    def _cholesky(self, S: Array) -> None:
        diagonal = np.diagonal(S).copy()
        if not np.isfinite(diagonal).all():
            raise FloatingPointError("the Schur complement is not finite")
        size = np.sqrt(np.maximum(diagonal, 0.0) + STATIC)
        S /= size[:, None]
        S /= size
        extra = 1e-14
        while True:
            np.fill_diagonal(S, (diagonal + STATIC) / size**2 + extra)
            factor, failed = dpotrf(S.T, lower=1, clean=0, overwrite_a=1)
            if not failed:
                break
            extra *= 100.0
            if extra > 1e-4:
                raise FloatingPointError("the Schur complement is not positive definite")
            S = np.tril(S, -1) + np.tril(S, -1).T  # the triangle that was not written over
        self.factor_, self.size, self.order = (factor, True), size, slice(None)

    # ------------------------------------------------------------------ solving

    def times_P(self, x: Array) -> Array:
        out = np.empty_like(x)
        out[self.shared] = self.P_shared @ x[self.shared]
        out[self.private] = self.P_private * x[self.private]
        return out

    def times_A(self, x: Array) -> Array:
        out = self.A_private @ x[self.private]
        out[self.dense_rows] += self.A_dense @ x[self.shared]
        out[self.sparse_rows] += self.A_sparse @ x[self.shared]
        return out

    def times_At(self, z: Array) -> Array:
        out = np.empty(len(self.shared) + len(self.private))
        out[self.shared] = z[self.dense_rows] @ self.A_dense + self.A_sparse.T @ z[self.sparse_rows]
        out[self.private] = self.A_private.T @ z
        return out

    def solve(self, r1: Array, r2: Array) -> tuple[Array, Array]:
        """x and z, refined against the system as it is."""
        x, z = best = self._once(r1, r2)
        scale = max(np.abs(r1).max(initial=0.0), np.abs(r2).max(initial=0.0), 1e-300)
        least = np.inf
        for _ in range(REFINEMENTS):
            e1 = r1 - self.times_P(x) - self.times_At(z)
            e2 = r2 - self.times_A(x) + self.cones.Wt(self.cones.W(z))
            error = max(np.abs(e1).max(initial=0.0), np.abs(e2).max(initial=0.0)) / scale
            if not error < 0.5 * least:
                break
            best, least = (x, z), error
            if error < REFINED:
                break
            dx, dz = self._once(e1, e2)
            x, z = x + dx, z + dz
        self.error = least
        return best

    def _once(self, r1: Array, r2: Array) -> tuple[Array, Array]:
        cones = self.cones
        x = self._inverse(r1 + self.times_At(cones.W_inverse(cones.Wt_inverse(r2))))
        return x, cones.W_inverse(cones.Wt_inverse(self.times_A(x) - r2))

    def _inverse(self, rhs: Array) -> Array:
        """(P + Ã'Ã)⁻¹ rhs by the factors."""
        x = np.empty(len(rhs))
        rows = np.zeros(self.cones.size)
        halves = []
        for part in self.parts:
            if part.shape.private.shape[1]:
                half = _triangular(part.R, rhs[part.shape.private], transposed=True)
                halves.append(half)
                rows[part.shape.active_rows] += np.einsum("gpa,gp->ga", part.across, half)
        u = rhs[self.shared] - rows[self.dense_rows] @ self.A_dense - self.A_sparse.T @ rows[self.sparse_rows]
        scaled = (u / self.size)[self.order]
        u[self.order] = linalg.cho_solve(self.factor_, scaled, check_finite=False)
        u /= self.size
        x[self.shared] = u
        values = np.empty(self.cones.size)
        values[self.dense_rows], values[self.sparse_rows] = self.A_dense @ u, self.A_sparse @ u
        whole = iter(halves)
        for part in self.parts:
            if part.shape.private.shape[1]:
                rest = next(whole) - np.einsum("gpa,ga->gp", part.across, values[part.shape.active_rows])
                x[part.shape.private] = _triangular(part.R, rest, transposed=False)
        return x


def _triangular(R: Array, b: Array, transposed: bool) -> Array:
    """Solve R x = b or R'x = b for many small upper triangles."""
    x, p = b.copy(), R.shape[1]
    for j in range(p) if transposed else range(p - 1, -1, -1):
        done = slice(0, j) if transposed else slice(j + 1, p)
        column = R[:, done, j] if transposed else R[:, j, done]
        x[:, j] = (x[:, j] - np.einsum("gp,gp->g", column, x[:, done])) / R[:, j, j]
    return x


def _listed(A: Any) -> tuple[Indices, Any] | None:
    """Where products of two entries of a row go in A'diag(w)A, and the matrix that gives them from w."""
    length = np.diff(A.indptr)
    if not 0 < int(np.sum(length**2)) <= LISTED:
        return None
    rows = np.repeat(np.arange(len(length)), length**2)
    # The i-th pair of a row of n entries is (i // n, i % n).
    number = np.arange(len(rows)) - np.repeat(np.cumsum(length**2) - length**2, length**2)
    first, second = A.indptr[rows] + number // length[rows], A.indptr[rows] + number % length[rows]
    flat = A.indices[first].astype(np.int64) * A.shape[1] + A.indices[second]
    places, pair = np.unique(flat, return_inverse=True)
    products = sparse.csr_array((A.data[first] * A.data[second], (pair, rows)), (len(places), len(length)))
    return places, products
