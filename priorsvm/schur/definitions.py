r"""Problems in which values of f are defined by dense matrices.

A problem refers to f by its values :math:`g = \Phi c + b` at many points. :class:`StructuredProblem` contains
the sparse part of the problem as CVXPY gives it. It also contains the dense matrices :math:`\Phi` and the
matrix of the regulariser. Both together are the problem that CVXPY would give for the whole (``expanded``).
Here g is replaced by :math:`\Phi c + b` in dense products: with the remaining variables u,

.. math:: x = T u + S\,\Phi\,u_c, \qquad
          \tfrac12 x^\top P x + q^\top x = \tfrac12 u^\top (T + S\Phi)^\top P (T + S\Phi) u + \dots, \qquad
          A x = (A T) u + (A S) \Phi\,u_c ,

where T and S are sparse. No dense matrix is ever stored as a sparse one.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from . import presolve
from .cones import Array, Indices, cones_from_dims
from .interface import GROWTH, STATUS, ConicSolution, check_options, confirmed, solve
from .method import minimise
from .mixed import MixedMatrix, embedded


@dataclass(frozen=True, eq=False)
class Definition:
    """Definition of values g = Φ c, or g = Φ c + b.

    Attributes
    ----------
    g : array of int
        Columns of the values.
    matrix : array or sparse array
        Φ.
    biased : bool
        Whether b is added; it is not added to slopes.
    explicit : bool
        Whether the expanded problem has g and an equation for it. Otherwise it has the product in place of g.
    """

    g: Indices
    matrix: Any
    biased: bool
    explicit: bool = True


@dataclass(frozen=True)
class Dims:
    """Numbers of equations and inequalities, orders of second-order cones, sides of semidefinite cones."""

    zero: int
    nonneg: int
    soc: list[int]
    psd: list[int]


@dataclass(eq=False)
class StructuredProblem:
    """Sparse problem, with the dense definitions of the values of f apart.

    Attributes
    ----------
    P, q, A, b, dims : sparse problem, without the definitions and the parts below.
    c : array of int
        Columns of the coefficients, or of their positive parts if there is ``c_negative``.
    c_negative : array of int or None
        Columns of the negative parts, for the 1-norm.
    bias : int
        Column of b.
    definitions : list of Definition
        Definitions of the values of f.
    energy : array or None
        Matrix of the regulariser, or None if it is in P.
    norm : tuple or None
        Rows of a second-order cone, and the matrix whose product with c they contain. Its length is the norm
        of f.
    """

    P: Any
    q: Array
    A: Any
    b: Array
    dims: Dims
    c: Indices
    c_negative: Indices | None
    bias: int
    definitions: list[Definition]
    energy: Array | None
    norm: tuple[Indices, Any] | None

    @property
    def values(self) -> Indices:
        """Columns of all values of f."""
        return np.concatenate([np.empty(0, int), *(d.g for d in self.definitions)])

    @property
    def explicit(self) -> Indices:
        """Whether the expanded problem has each of the values."""
        parts = (np.full(len(d.g), d.explicit) for d in self.definitions)
        return np.concatenate([np.empty(0, bool), *parts])

    @property
    def expanded_columns(self) -> Indices:
        """Columns that the expanded problem has: all except values that are replaced by products."""
        return np.setdiff1d(np.arange(len(self.q)), self.values[~self.explicit])

    def expanded(self) -> tuple[Any, Array, Any, Array, Dims]:
        """Return P, q, A, b and the cones of the whole problem, sparse.

        The definitions are the last equations. The variables are ``expanded_columns``, and ``expansion`` maps
        them to all variables.
        """
        n = len(self.q)
        zero = self.dims.zero
        P = sparse.csr_array(self.P)
        A = sparse.csr_array(self.A)
        if self.energy is not None:
            P = P + embedded(self.energy, self.c, self.c, (n, n))
        if self.norm is not None:
            A = A - self._on_coefficients(self.norm[1], self.norm[0], A.shape)
        equations = [self._equations(d) for d in self.definitions if d.explicit]
        defined = int(self.explicit.sum())
        A = sparse.csr_array(sparse.vstack([A[:zero], *equations, A[zero:]]))
        b = np.concatenate([self.b[:zero], np.zeros(defined), self.b[zero:]])
        T = self.expansion
        P = sparse.csr_array(T.T @ P @ T)
        A = sparse.csr_array(A @ T)
        return P, T.T @ self.q, A, b, replace(self.dims, zero=zero + defined)

    def _equations(self, d: Definition) -> Any:
        """Return the rows of g - Φ c - b = 0."""
        count = len(d.g)
        rows = np.arange(count)
        out = sparse.csr_array((np.ones(count), (rows, d.g)), (count, len(self.q)))
        if d.biased:
            out = out - embedded(np.ones((count, 1)), rows, np.array([self.bias]), out.shape)
        return out - self._on_coefficients(d.matrix, rows, out.shape)

    @property
    def expansion(self) -> Any:
        """Matrix that maps the variables of the expanded problem to all variables."""
        n = len(self.q)
        columns = self.expanded_columns
        T = sparse.eye_array(n, format="csr")[:, columns]
        for d in self.definitions:
            if not d.explicit:
                T = T + self._on_coefficients(d.matrix, d.g, (n, n))[:, columns]
        return T

    def _on_coefficients(self, matrix: Any, rows: Indices, shape: tuple[int, int]) -> Any:
        """Return a sparse matrix whose given rows are a matrix times the coefficients."""
        out = embedded(matrix, rows, self.c, shape)
        return out if self.c_negative is None else out - embedded(matrix, rows, self.c_negative, shape)

    def times_P(self, x: Array) -> Array:
        """Return P x, with the regulariser."""
        out: Array = self.P @ x
        if self.energy is not None:
            out[self.c] += self.energy @ x[self.c]
        return out

    def times_At(self, z: Array, nu: Array) -> Array:
        """Return the transpose of all rows times dual variables: z of the rows of A, ν of the definitions."""
        out = self.A.T @ z
        start = 0
        on_c = np.zeros(len(self.c))
        for d in self.definitions:
            part = nu[start : start + len(d.g)]
            start += len(d.g)
            out[d.g] += part
            on_c -= d.matrix.T @ part
            out[self.bias] -= part.sum() if d.biased else 0.0
        if self.norm is not None:
            on_c -= self.norm[1].T @ z[self.norm[0]]
        out[self.c] += on_c
        if self.c_negative is not None:
            out[self.c_negative] -= on_c
        return out


def solve_structured(
    p: StructuredProblem, tol: float = 1e-9, max_iter: int = 100, time_limit: float = np.inf
) -> ConicSolution:
    """Return x of all variables and z of the expanded problem.

    The expanded problem is solved instead if equations connect values of f, or if their elimination leads to
    large numbers. It is also solved if the given data do not confirm the result.

    Parameters
    ----------
    p : StructuredProblem
        The problem.
    tol : float, default=1e-9
        Largest relative residual and gap of an optimal solution.
    max_iter : int, default=100
        Interior-point steps, at most.
    time_limit : float, default=inf
        Seconds after which no further step is taken.
    """
    check_options(tol, max_iter)
    start = time.perf_counter()
    found = _solve_substituted(p, tol, max_iter, time_limit)
    if found is not None:
        return found
    left = max(time_limit - (time.perf_counter() - start), 0.0)
    solution = solve(*p.expanded(), tol=tol, max_iter=max_iter, time_limit=left)
    return replace(solution, x=p.expansion @ solution.x)


def _solve_substituted(
    p: StructuredProblem, tol: float, max_iter: int, time_limit: float
) -> ConicSolution | None:
    """Return the solution with substituted definitions, or None if the expanded problem is needed."""
    start = time.perf_counter()
    zero = p.dims.zero
    cones, order = cones_from_dims(p.dims.nonneg, p.dims.soc, p.dims.psd)
    A = sparse.csr_array(p.A)
    equations = A[:zero]
    rows = A[zero:][order]
    nu = np.zeros(len(p.values))
    z = np.zeros(len(p.b))

    def solution(
        status: str, x: Array, iterations: int = 0, residuals: Any = (0.0, 0.0, 0.0)
    ) -> ConicSolution:
        duals = np.concatenate([z[:zero], nu[p.explicit], z[zero:]])
        value = float(0.5 * x @ p.times_P(x) + p.q @ x)
        return ConicSolution(status, x, duals, value, time.perf_counter() - start, iterations, residuals)

    try:
        reduced = presolve.reduce(p.P, p.q, equations, p.b[:zero], rows, p.b[zero:][order], kept=_in_f(p))
    except presolve.Inconsistent as error:
        z[:zero] = error.duals
        return solution("PrimalInfeasible", np.zeros(len(p.q)))
    except presolve.KeptVariablesTied:
        return None
    if reduced.growth > GROWTH:
        return None
    substituted = _Substituted(p, reduced, order)
    origin = reduced.recover(substituted.recover(np.zeros(len(substituted.q))))
    constant = float(0.5 * origin @ p.times_P(origin) + p.q @ origin)
    result = minimise(
        substituted.P, substituted.q, substituted.A, reduced.b, cones, tol, max_iter, constant, time_limit
    )
    x = reduced.recover(substituted.recover(result.x), homogeneous=result.status == "unbounded")
    z[zero:][order] = result.z
    gradient = A.T @ z + (0.0 if result.status == "infeasible" else p.times_P(x) + p.q)
    z[:zero] = presolve.equation_duals(equations, reduced.solved, gradient)
    nu = -(gradient + equations.T @ z[:zero])[p.values]
    found = solution(STATUS[result.status], x, result.iterations, result.residuals)
    sums = p.q @ x, p.b @ z, np.abs(p.b) @ np.abs(z)
    if confirmed(result.status, (p.times_P(x), p.q, p.times_At(z, nu)), sums, tol):
        return found
    return None


def _in_f(p: StructuredProblem) -> Indices:
    """Return whether each variable is a coefficient, the bias or a value of f."""
    out = np.zeros(len(p.q), bool)
    for columns in (p.c, p.c_negative, p.bias, p.values):
        if columns is not None:
            out[columns] = True
    return out


class _Substituted:
    r"""Problem in c and b, with g substituted.

    :math:`x = T u + S \Phi u_c`. T contains the sparse definitions, and S the places of values with a dense
    one. With positive and negative parts of c, the variable in place of the positive part is their
    difference.

    Attributes
    ----------
    P, q, A : the problem in u.
    """

    def __init__(self, p: StructuredProblem, reduced: presolve.Reduced, order: Indices):
        n = len(reduced.kept)
        place = np.full(len(p.q), -1)  # of each variable among the kept ones
        place[reduced.kept] = np.arange(n)
        defined = np.zeros(n, bool)
        defined[place[p.values]] = True
        column = np.cumsum(~defined) - 1  # of each variable in u
        self.c = column[place[p.c]]
        dense = [d for d in p.definitions if not sparse.issparse(d.matrix)]
        self.T = self._sparse_map(p, place, defined, column)
        self.S = np.concatenate([np.empty(0, int), *(place[d.g] for d in dense)])
        if len(dense) == 1:
            self.Phi = dense[0].matrix
        else:
            self.Phi = np.vstack([np.empty((0, len(p.c))), *(d.matrix for d in dense)])
        self.q = self.T.T @ reduced.q
        self.q[self.c] += reduced.q[self.S] @ self.Phi
        self.P = self._objective(reduced.P, p.energy)
        self.A = self._rows(reduced.A, p, order)

    def _sparse_map(self, p: StructuredProblem, place: Indices, defined: Indices, column: Indices) -> Any:
        """Return T."""
        remaining = np.flatnonzero(~defined)
        shape = (len(defined), len(remaining))
        T = sparse.csr_array((np.ones(len(remaining)), (remaining, column[remaining])), shape)
        if p.c_negative is not None:
            entries = (place[p.c], column[place[p.c_negative]])
            T = T + sparse.csr_array((np.ones(len(p.c)), entries), shape)
        bias = column[place[p.bias]]
        for d in p.definitions:
            if d.biased:
                count = len(d.g)
                T = T + sparse.csr_array((np.ones(count), (place[d.g], np.full(count, bias))), shape)
            if sparse.issparse(d.matrix):
                T = T + embedded(d.matrix, place[d.g], self.c, shape)
        return sparse.csr_array(T)

    def recover(self, u: Array) -> Array:
        """Return all kept variables from the variables u."""
        x: Array = self.T @ u
        x[self.S] += self.Phi @ u[self.c]
        return x

    def _rows(self, A: Any, p: StructuredProblem, order: Indices) -> MixedMatrix:
        """Return the matrix of A x over u."""
        part = sparse.csr_array(sparse.csc_array(A)[:, self.S])
        rows = np.flatnonzero(np.diff(part.indptr))
        if len(rows) == len(self.S) == part.nnz and np.array_equal(part.indices, np.arange(part.nnz)):
            block = part.data[:, None] * self.Phi  # one row for each value
        else:
            block = part[rows] @ self.Phi
        sparse_part = sparse.csr_array(A @ self.T)
        if p.norm is not None:
            norm_rows = np.argsort(order)[p.norm[0] - p.dims.zero]
            if sparse.issparse(p.norm[1]):
                sparse_part = sparse_part - embedded(p.norm[1], norm_rows, self.c, sparse_part.shape)
            else:
                rows = np.concatenate([rows, norm_rows])
                block = np.vstack([block, -p.norm[1]])
                ascending = np.argsort(rows)
                rows = rows[ascending]
                block = block[ascending]
        sparse_part.eliminate_zeros()
        return MixedMatrix(sparse_part, rows, self.c, block)

    def _objective(self, P: Any, energy: Array | None) -> MixedMatrix:
        """Return the matrix of x'Px as a form in u."""
        sparse_part = sparse.csr_array(self.T.T @ P @ self.T)
        square = sparse.csr_array(P[self.S][:, self.S])
        across = sparse.csr_array(P[self.S] @ self.T)
        if not square.nnz and not across.nnz:
            if energy is None:
                return MixedMatrix.of(sparse_part)
            return MixedMatrix(sparse_part, self.c, self.c, energy)
        columns = np.union1d(self.c, across.indices)
        place = np.searchsorted(columns, self.c)
        block = np.zeros((len(columns),) * 2)
        block[place] = self.Phi.T @ across[:, columns]
        block += block.T
        block[np.ix_(place, place)] += self.Phi.T @ (square @ self.Phi) + (0.0 if energy is None else energy)
        return MixedMatrix(sparse_part, columns, columns, block)
