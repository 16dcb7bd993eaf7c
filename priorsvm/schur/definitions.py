r"""Values of f in the problem, without the equations that define them.

A composition knows f through values :math:`g = \Phi c + b` at many points. :class:`Stated` has the rest
of the problem as CVXPY gives it, sparse, and of f what is dense: the matrices :math:`\Phi` and that of the
regulariser. Both together are the problem that CVXPY would give for all of it (``whole``). Here g is
replaced by :math:`\Phi c + b` in dense products, so that no dense matrix is ever handled as a sparse one.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from . import presolve
from .cones import Array, Cones, Indices, batches, live
from .interface import GROWTH, STATUS, Answer, check_options, confirmed, solve
from .method import Point, minimise
from .mixed import Mixed


@dataclass(frozen=True, eq=False)
class Definition:
    """The columns of g, the matrix Φ, dense or sparse, and whether b is added (to a slope it is not).

    ``stated`` says that the whole problem has g, and an equation for it; else it has the product itself.
    """

    g: Indices
    matrix: Any
    biased: bool
    stated: bool = True


@dataclass(frozen=True)
class Dims:
    """Rows of equations and inequalities, orders of second-order cones, sides of semidefinite ones."""

    zero: int
    nonneg: int
    soc: list[int]
    psd: list[int]


@dataclass(eq=False)
class Stated:
    """A problem of f.

    Attributes
    ----------
    P, q, A, b, dims : all but the definitions and what follows here, sparse.
    c : columns of the coefficients; with ``down`` those of their positive parts.
    down : columns of the negative parts, of the 1-norm machine.
    bias : the column of b.
    definitions : of the values of f.
    energy : the matrix of the regulariser; None if it is in P.
    norm : rows of a cone, and what they have of c: the matrix whose product with c is as long as f.
    """

    P: Any
    q: Array
    A: Any
    b: Array
    dims: Dims
    c: Indices
    down: Indices | None
    bias: int
    definitions: list[Definition]
    energy: Array | None
    norm: tuple[Indices, Any] | None

    @property
    def values(self) -> Indices:
        """The columns of all g."""
        return np.concatenate([np.empty(0, int), *(d.g for d in self.definitions)])

    @property
    def stated(self) -> Indices:
        """Which of all values the whole problem has."""
        parts = (np.full(len(d.g), d.stated) for d in self.definitions)
        return np.concatenate([np.empty(0, bool), *parts])

    @property
    def own(self) -> Indices:
        """The columns that the whole problem has: all but those of products."""
        return np.setdiff1d(np.arange(len(self.q)), self.values[~self.stated])

    def whole(self) -> tuple[Any, Array, Any, Array, Dims]:
        """P, q, A, b and cones of all of it, sparse; the definitions are the last equations.

        Its variables are ``own`` here; :meth:`with_products` adds the products.
        """
        n = len(self.q)
        zero = self.dims.zero
        P = sparse.csr_array(self.P)
        A = sparse.csr_array(self.A)
        if self.energy is not None:
            P = P + _placed(self.energy, self.c, self.c, (n, n))
        equations = []
        for d in self.definitions:
            if not d.stated:
                continue
            rows = np.arange(len(d.g))
            ones = np.ones((len(rows), 1))
            own = sparse.csr_array((np.ones(len(rows)), (rows, d.g)), (len(rows), n))
            if d.biased:
                own = own - _placed(ones, rows, np.array([self.bias]), own.shape)
            equations.append(own - self._of_c(d.matrix, rows, own.shape))
        if self.norm is not None:
            A = A - self._of_c(self.norm[1], self.norm[0], A.shape)
        defined = int(self.stated.sum())
        A = sparse.csr_array(sparse.vstack([A[:zero], *equations, A[zero:]]))
        b = np.concatenate([self.b[:zero], np.zeros(defined), self.b[zero:]])
        T = self.with_products
        P = sparse.csr_array(T.T @ P @ T)
        A = sparse.csr_array(A @ T)
        return P, T.T @ self.q, A, b, replace(self.dims, zero=zero + defined)

    @property
    def with_products(self) -> Any:
        """The matrix that takes the variables of the whole problem to those here."""
        n = len(self.q)
        own = self.own
        T = sparse.eye_array(n, format="csr")[:, own]
        for d in self.definitions:
            if not d.stated:
                T = T + self._of_c(d.matrix, d.g, (n, n))[:, own]
        return T

    def _of_c(self, matrix: Any, rows: Indices, shape: tuple[int, int]) -> Any:
        """A matrix over the coefficients in these rows."""
        out = _placed(matrix, rows, self.c, shape)
        return out if self.down is None else out - _placed(matrix, rows, self.down, shape)

    def times_P(self, x: Array) -> Array:
        out: Array = self.P @ x
        if self.energy is not None:
            out[self.c] += self.energy @ x[self.c]
        return out

    def slope(self, z: Array, nu: Array) -> Array:
        """The transpose of all rows times multipliers: z of those in A, ν of the definitions."""
        out = self.A.T @ z
        start = 0
        on_c = np.zeros(len(self.c))
        for d in self.definitions:
            own = nu[start : start + len(d.g)]
            start += len(d.g)
            out[d.g] += own
            on_c -= d.matrix.T @ own
            out[self.bias] -= own.sum() if d.biased else 0.0
        if self.norm is not None:
            on_c -= self.norm[1].T @ z[self.norm[0]]
        out[self.c] += on_c
        if self.down is not None:
            out[self.down] -= on_c
        return out


def _placed(matrix: Any, rows: Indices, columns: Indices, shape: tuple[int, int]) -> Any:
    """A matrix, dense or sparse, at these rows and columns of a larger sparse one."""
    M = sparse.coo_array(matrix)
    return sparse.csr_array((M.data, (rows[M.row], columns[M.col])), shape)


def solve_stated(p: Stated, tol: float = 1e-9, max_iter: int = 100) -> Answer:
    """x and z of the whole problem."""
    check_options(tol, max_iter)
    start = time.perf_counter()
    zero = p.dims.zero
    cones, order = batches(p.dims.nonneg, p.dims.soc, p.dims.psd)
    A = sparse.csr_array(p.A)
    equations = A[:zero]
    rows = A[zero:][order]
    kept = np.zeros(len(p.q), bool)
    for columns in (p.c, p.down, p.bias, p.values):
        if columns is not None:
            kept[columns] = True
    nu = np.zeros(len(p.values))
    z = np.zeros(len(p.b))

    def ended(status: str, x: Array, iterations: int = 0, residuals: Any = (0.0, 0.0, 0.0)) -> Answer:
        both = np.concatenate([z[:zero], nu[p.stated], z[zero:]])
        value = float(0.5 * x @ p.times_P(x) + p.q @ x)
        return Answer(status, x, both, value, time.perf_counter() - start, iterations, residuals)

    try:
        less = presolve.reduce(p.P, p.q, equations, p.b[:zero], rows, p.b[zero:][order], kept=kept)
    except presolve.Inconsistent as error:
        z[:zero] = error.multipliers
        return ended("PrimalInfeasible", np.zeros(len(p.q)))
    except presolve.Tied:  # blocks tie values of f to each other
        return _as_a_whole(p, tol, max_iter)
    if less.growth > GROWTH:
        return _as_a_whole(p, tol, max_iter)
    put = _Put(p, less, order)
    origin = less.full(put.back(np.zeros(len(put.q))))
    constant = float(0.5 * origin @ p.times_P(origin) + p.q @ origin)
    point = _minimised(put, less.b, cones, tol, max_iter, constant)
    x = less.full(put.back(point.x), homogeneous=point.status == "unbounded")
    z[zero:][order] = point.z
    gradient = A.T @ z + (0.0 if point.status == "infeasible" else p.times_P(x) + p.q)
    z[:zero] = presolve.multipliers(equations, less.solved, gradient)
    nu = -(gradient + equations.T @ z[:zero])[p.values]
    answer = ended(STATUS[point.status], x, point.iterations, point.residuals)
    sums = p.q @ x, p.b @ z, np.abs(p.b) @ np.abs(z)
    if confirmed(point.status, (p.times_P(x), p.q, p.slope(z, nu)), sums, tol):
        return answer
    return _as_a_whole(p, tol, max_iter)


def _as_a_whole(p: Stated, tol: float, max_iter: int) -> Answer:
    answer = solve(*p.whole(), tol=tol, max_iter=max_iter)
    return replace(answer, x=p.with_products @ answer.x)


def _minimised(put: _Put, b: Array, cones: Cones, tol: float, max_iter: int, constant: float) -> Point:
    """The point, with z over all rows."""
    kept, left, contradicted = live(put.A.used(), b, cones)
    if contradicted is not None:
        return Point("infeasible", np.zeros(len(put.q)), b, contradicted, (0.0, 0.0, 0.0), 0)
    point = minimise(put.P, put.q, put.A.some(kept), b[kept], left, tol, max_iter, constant)
    z = np.zeros(len(b))
    z[kept] = point.z
    return replace(point, z=z)


class _Put:
    r"""The problem in c and b instead of g.

    All variables are :math:`x = T u + S \Phi u_c`: T is sparse and has what is sparse of the definitions,
    S are the places of values whose definition is dense. Of two halves of c, the variable in place of the
    positive one is their difference.
    """

    def __init__(self, p: Stated, less: presolve.Reduced, order: Indices):
        n = len(less.kept)
        at = np.full(len(p.q), -1)
        at[less.kept] = np.arange(n)
        defined = np.zeros(n, bool)
        defined[at[p.values]] = True
        column = np.cumsum(~defined) - 1  # of a variable that stays
        stays = np.flatnonzero(~defined)
        self.c = column[at[p.c]]
        bias = column[at[p.bias]]
        size = (n, len(stays))
        T = sparse.csr_array((np.ones(len(stays)), (stays, column[stays])), size)
        if p.down is not None:
            T = T + sparse.csr_array((np.ones(len(p.c)), (at[p.c], column[at[p.down]])), size)
        dense = [d for d in p.definitions if not sparse.issparse(d.matrix)]
        for d in p.definitions:
            if d.biased:
                T = T + sparse.csr_array((np.ones(len(d.g)), (at[d.g], np.full(len(d.g), bias))), size)
            if sparse.issparse(d.matrix):
                T = T + _placed(d.matrix, at[d.g], self.c, size)
        self.T = sparse.csr_array(T)
        self.S = np.concatenate([np.empty(0, int), *(at[d.g] for d in dense)])
        self.Phi = (
            dense[0].matrix
            if len(dense) == 1
            else np.vstack([np.empty((0, len(p.c))), *(d.matrix for d in dense)])
        )
        self.q = self.T.T @ less.q
        self.q[self.c] += less.q[self.S] @ self.Phi
        self.P = self._objective(less.P, p.energy)
        self.A = self._rows(less.A, p, order)

    def back(self, u: Array) -> Array:
        """The variables with g from those without."""
        x: Array = self.T @ u
        x[self.S] += self.Phi @ u[self.c]
        return x

    def _rows(self, A: Any, p: Stated, order: Indices) -> Mixed:
        """A x as rows over u."""
        part = sparse.csr_array(sparse.csc_array(A)[:, self.S])
        rows = np.flatnonzero(np.diff(part.indptr))
        if len(rows) == len(self.S) == part.nnz and np.array_equal(part.indices, np.arange(part.nnz)):
            block = part.data[:, None] * self.Phi  # margins, one for each value
        else:
            block = part[rows] @ self.Phi
        own = sparse.csr_array(A @ self.T)
        if p.norm is not None:
            lengths = np.argsort(order)[p.norm[0] - p.dims.zero]
            if sparse.issparse(p.norm[1]):
                own = own - _placed(p.norm[1], lengths, self.c, own.shape)
            else:
                rows = np.concatenate([rows, lengths])
                block = np.vstack([block, -p.norm[1]])
                ascending = np.argsort(rows)
                rows = rows[ascending]
                block = block[ascending]
        own.eliminate_zeros()
        return Mixed(own, rows, self.c, block)

    def _objective(self, P: Any, energy: Array | None) -> Mixed:
        """x'Px as a form in u."""
        own = sparse.csr_array(self.T.T @ P @ self.T)
        square = sparse.csr_array(P[self.S][:, self.S])
        across = sparse.csr_array(P[self.S] @ self.T)
        if not square.nnz and not across.nnz:
            return Mixed.of(own) if energy is None else Mixed(own, self.c, self.c, energy)
        columns = np.union1d(self.c, across.indices)
        place = np.searchsorted(columns, self.c)
        block = np.zeros((len(columns),) * 2)
        block[place] = self.Phi.T @ across[:, columns]
        block += block.T
        block[np.ix_(place, place)] += self.Phi.T @ (square @ self.Phi) + (0.0 if energy is None else energy)
        return Mixed(own, columns, columns, block)
