r"""The linear system of every step, with private variables eliminated first.

.. math:: \begin{pmatrix} P & A^\top \\ A & -W^\top W \end{pmatrix}
          \begin{pmatrix} x \\ z \end{pmatrix} = \begin{pmatrix} r_1 \\ r_2 \end{pmatrix}

With the rows :math:`\tilde A = W^{-\top} A` this is :math:`(P + \tilde A^\top \tilde A) x = \dots`. Householder
reflections in each group turn the private columns of :math:`\tilde A` into a triangle; the rows below it know
shared variables only, and their Gram matrix is the Schur complement S. Nothing is subtracted, so S is positive
semidefinite to all digits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import linalg, sparse
from scipy.linalg.blas import dsyrk

from .cones import Array, Cones, Nonnegative, SecondOrder
from .groups import DENSE, ROWS, Class, classes, shared_columns

# Added to the diagonal, and refined away.
STATIC = 1e-10
REFINEMENTS = 6


@dataclass(eq=False)
class _Part:
    """A class of groups, where its cones are, and its factor."""

    shape: Class
    pieces: list[tuple[Any, Array, Array, Array]]  # batch, cones of it, their groups, their places (c, k)
    root: Array  # (g, p) square roots of what P and the regularisation add
    dense: bool  # all active rows are dense rows
    positions: Array  # (g, a) places of the active rows among the dense or the sparse ones
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
        self.cones, self.A, self.P = cones, sparse.csr_array(A), sparse.csr_array(P)
        self.At = sparse.csr_array(self.A.T)
        shared, group = shared_columns(self.A, self.P, cones)
        self.shared, self.private = np.flatnonzero(shared), np.flatnonzero(~shared)
        self.P_shared = self.P[self.shared][:, self.shared].toarray()
        self.A_shared = sparse.csr_array(self.A[:, self.shared])
        own = self.P.diagonal()
        r = len(self.shared)
        busy = np.diff(self.A_shared.indptr)
        self.is_dense = busy > max(DENSE * r, 3)
        self.dense_rows, self.sparse_rows = np.flatnonzero(self.is_dense), np.flatnonzero(~self.is_dense)
        self.A_dense = self.A_shared[self.dense_rows].toarray()
        self.A_sparse = sparse.csr_array(self.A_shared[self.sparse_rows])
        self.parts = [self._part(c, own) for c in classes(self.A, shared, group)]

    def _part(self, c: Class, own: Array) -> _Part:
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
        active = c.active_rows
        dense = bool(self.is_dense[active].all()) and active.size > 0
        where = np.empty(self.cones.size, int)
        where[self.dense_rows] = np.arange(len(self.dense_rows))
        where[self.sparse_rows] = np.arange(len(self.sparse_rows))
        mixed = not dense and bool(self.is_dense[active].any())
        return _Part(c, pieces, root, dense, active if mixed else where[active])

    # ------------------------------------------------------------------ factoring

    def factor(self) -> None:
        """For the present scalings of the cones."""
        S = self.P_shared.copy()
        weight = np.zeros(self.cones.size)
        tall: list[Array] = []
        for part in self.parts:
            self._reflect(part)
            g, k, p, a = part.shape.shape
            if a == 0:
                continue
            if part.large:
                tall.append(self._large(part))
            elif a == 1:
                weight[part.shape.active_rows[:, 0]] = np.einsum("gk,gk->g", part.below[:, :, 0], part.below[:, :, 0])
            elif part.dense:
                tall.append((part.below @ self.A_dense[part.positions]).reshape(-1, len(self.shared)))
            else:
                rows = self._in_blocks(part)
                S += (rows.T @ rows).toarray()
        dense = weight[self.dense_rows]
        if np.any(dense > 0):
            some = dense > 0
            tall.append(np.sqrt(dense[some])[:, None] * self.A_dense[some])
        for rows in tall:
            upper = dsyrk(1.0, rows.T, trans=0) if len(rows) else 0.0
            S += upper
        if tall:  # the triangle that was added is made whole
            S = np.triu(S) + np.triu(S, 1).T if not len(self.sparse_rows) else _mirrored(S, self.P_shared)
        light = weight[self.sparse_rows]
        if np.any(light > 0):
            S += (self.A_sparse.T @ sparse.diags_array(light) @ self.A_sparse).toarray()
        self._cholesky(S)

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
            tail -= (2.0 / square)[:, None, None] * v[:, :, None] * np.einsum("gk,gkc->gc", v, tail)[:, None, :]
        part.R, part.across, part.below = G[:, :p, :p], G[:, :p, p:], G[:, p:, p:]

    def _large(self, part: _Part) -> Array:
        r""":math:`W^{-\top} A` of cones too large for a matrix of their own."""
        c, out = part.shape, []
        [(batch, mine, _, _)] = part.pieces
        assert isinstance(batch, SecondOrder)
        for cone, rows in zip(mine, c.rows, strict=True):
            w, eta = batch.w[cone].copy(), batch.eta[cone, 0]
            w[1:] *= -1.0
            A = self.A_shared[rows].toarray()
            inner = w[1:] @ A[1:]
            lower = A[1:] + np.outer(w[1:], A[0] + inner / (1.0 + w[0]))
            out.append(np.vstack([w[0] * A[0] + inner, lower]) / eta)
        return np.vstack(out)

    def _in_blocks(self, part: _Part) -> Any:
        """The rows below the triangle, as a sparse matrix over shared variables."""
        g, k, a = part.below.shape
        rows = np.arange(g * k).reshape(g, k, 1) + np.zeros((1, 1, a), int)
        columns = part.shape.active_rows[:, None, :] + np.zeros((1, k, 1), int)
        blocks = sparse.csr_array((part.below.ravel(), (rows.ravel(), columns.ravel())), (g * k, self.cones.size))
        return sparse.csr_array(blocks @ self.A_shared)

    def _cholesky(self, S: Array) -> None:
        if not np.isfinite(S).all():
            raise FloatingPointError("the Schur complement is not finite")
        size = np.sqrt(np.maximum(np.diagonal(S), 0.0) + STATIC)
        scaled = S / size[:, None] / size
        extra = 1e-14
        while True:
            scaled[np.diag_indices_from(scaled)] = np.diagonal(S) / size**2 + STATIC / size**2 + extra
            try:
                factor = linalg.cho_factor(scaled, lower=True, check_finite=False)
                break
            except linalg.LinAlgError:
                extra *= 100.0
                if extra > 1e-4:
                    raise FloatingPointError("the Schur complement is not positive definite") from None
        self.factor_, self.size = factor, size

    # ------------------------------------------------------------------ solving

    def solve(self, r1: Array, r2: Array) -> tuple[Array, Array]:
        """x and z, refined against the system as it is."""
        x, z = self._once(r1, r2)
        scale = max(np.abs(r1).max(initial=0.0), np.abs(r2).max(initial=0.0), 1e-300)
        last = np.inf
        for _ in range(REFINEMENTS):
            e1 = r1 - self.P @ x - self.At @ z
            e2 = r2 - self.A @ x + self.cones.Wt(self.cones.W(z))
            error = max(np.abs(e1).max(initial=0.0), np.abs(e2).max(initial=0.0)) / scale
            if not error < 0.5 * last or error < 1e-14:
                break
            best, last = (x, z), error
            dx, dz = self._once(e1, e2)
            x, z = x + dx, z + dz
        if not error < last and last < np.inf:
            x, z = best
        self.error = min(error, last)
        return x, z

    def _once(self, r1: Array, r2: Array) -> tuple[Array, Array]:
        cones = self.cones
        x = self._inverse(r1 + self.At @ cones.W_inverse(cones.Wt_inverse(r2)))
        return x, cones.W_inverse(cones.Wt_inverse(self.A @ x - r2))

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
        u = rhs[self.shared] - self.A_shared.T @ rows
        u = linalg.cho_solve(self.factor_, u / self.size, check_finite=False) / self.size
        x[self.shared] = u
        values = self.A_shared @ u
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


def _mirrored(S: Array, plain: Array) -> Array:
    """The matrix whose upper triangle is complete."""
    return np.triu(S) + np.triu(S, 1).T
