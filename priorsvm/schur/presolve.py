r"""Presolve: elimination of the equations, so that inequalities and cones remain.

.. math:: \min \tfrac12 x^\top P x + q^\top x \quad\text{s.t.}\quad E x = e, \quad b - A x \in K

becomes a problem without E in fewer variables. Three steps, in this order:

1. *Definitions.* A variable that is in one equation only is replaced by :math:`x_j = T x + t`, for all such
variables
   in one sparse product. The values of f are the most frequent ones.
2. *Pivots.* Remaining equations are solved for variables with few entries, many at a time, none of which is
in another
   of the chosen equations.
3. *Null space.* Equations between frequent variables are solved by :math:`x = x_0 + N \hat x`, with an
orthonormal basis
   N of the null space from a QR factorisation.

Then positive and negative parts of a coefficient, which have opposite columns, are replaced by their
difference and one part. :meth:`Reduced.recover` returns all variables, and :func:`equation_duals` the dual
variables of the equations from :math:`E^\top y = -(P x + q + A^\top z)`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import linalg, sparse

from .cones import Array, Indices

# A pivot is at least this share of the largest entry of its row, if other equations contain its variable.
PIVOT = 0.3

# Smallest share of a variable that no other equation contains.
DEFINITION = 0.01

# A column with more entries than this is not a pivot.
FREQUENT = 40

# Rows and columns with more entries than this are long.
LONG = 20

# Rounds of substitutions before the null space is used.
ROUNDS = 60

# A number below this is a rounding error, relative to the numbers from which it was computed.
ROUNDING = 1e-11

# Largest residual of an equation without variables, relative to its numbers.
CONSISTENT = 1e-8


class Inconsistent(ArithmeticError):
    """No x satisfies the equations; ``duals`` is the certificate, E'y = 0 and e'y < 0."""

    def __init__(self, duals: Array):
        self.duals = duals


class KeptVariablesTied(ArithmeticError):
    """Equations remain that contain only variables that must be kept."""


@dataclass(eq=False)
class Reduced:
    """Problem without equations.

    Attributes
    ----------
    P, q, A, b : the problem in the remaining variables.
    size : number of all variables.
    steps : substitutions x[columns] = T x + t, in the order in which they were made.
    basis : columns, N and x0 of the null space, or None.
    growth : bound of the growth of numbers where equations were solved by pivots.
    opposite : pairs of columns, the first of which was replaced by a difference.
    kept : remaining variables, without the columns of ``basis``.
    solved : equations, and the variables for which they were solved.
    """

    P: Any
    q: Array
    A: Any
    b: Array
    size: int
    steps: list[tuple[Indices, Any, Array]] = field(default_factory=list)
    basis: tuple[Indices, Array, Array] | None = None
    growth: float = 1.0
    opposite: tuple[Indices, Indices] = (np.empty(0, int), np.empty(0, int))
    kept: Indices = field(default_factory=lambda: np.empty(0, int))
    solved: tuple[Indices, Indices] = (np.empty(0, int), np.empty(0, int))

    def recover(self, x: Array, homogeneous: bool = False) -> Array:
        """Return all variables from the remaining ones; for a direction, without the constants."""
        x = x.copy()
        x[self.opposite[0]] += x[self.opposite[1]]
        out = np.zeros(self.size)
        if self.basis is not None:
            columns, N, origin = self.basis
            n_kept = len(x) - N.shape[1]
            out[self.kept[:n_kept]] = x[:n_kept]
            out[columns] = N @ x[n_kept:] + (0.0 if homogeneous else origin)
        else:
            out[self.kept] = x
        for columns, T, t in reversed(self.steps):
            out[columns] = T @ out + (0.0 if homogeneous else t)
        return out

    def substitute(self, columns: Indices, T: Any, t: Array) -> None:
        """Replace x[columns] by T x + t in the objective and the cones."""
        self.steps.append((columns, T, t))
        self.b -= self.A[:, columns] @ t
        self.A = _substituted(self.A, columns, T)
        cost = self.q[columns]
        if self.P[columns].nnz:
            self.q = self.q + self.P[:, columns] @ t
            cost = self.q[columns]
            self.P = _substituted(self.P, columns, T)
            self.P = sparse.csr_array(_substituted(sparse.csr_array(self.P.T), columns, T).T)
        self.q = self.q + T.T @ cost
        self.q[columns] = 0.0

    def drop_rounding(self, q: Array, row_maxima: Array) -> None:
        """Set rows and costs to zero that are rounding errors of the given ones."""
        if np.abs(self.q).max(initial=0.0) <= ROUNDING * np.abs(q).max(initial=0.0):
            self.q[:] = 0.0
        cancelled = _row_maxima(self.A) <= ROUNDING * row_maxima
        if cancelled.any():
            self.A = sparse.csr_array(sparse.diags_array((~cancelled).astype(float)) @ self.A)
            self.A.eliminate_zeros()


def reduce(
    P: Any,
    q: Array,
    E: Any,
    e: Array,
    A: Any,
    b: Array,
    definitions_only: bool = False,
    kept: Indices | None = None,
) -> Reduced:
    """Remove the equations E x = e by elimination.

    Parameters
    ----------
    P, q, E, e, A, b : the problem.
    definitions_only : bool, default=False
        Whether to use the null space for all equations that are not definitions. It keeps numbers from
        growing.
    kept : array of bool or None, default=None
        Variables for which no equation is solved.

    Raises
    ------
    Inconsistent
        If no x satisfies the equations.
    KeptVariablesTied
        If variables are ``kept`` and equations between them remain.
    """
    n = len(q)
    E, A, P = (sparse.csr_array(M) for M in (E, A, P))
    out = Reduced(P, q.copy(), A, b.copy(), n)
    equations = _Equations(E, e)
    remaining = np.ones(n, bool)
    for _ in range(ROUNDS):
        equations.drop_empty()
        if not len(equations):
            break
        chosen, columns, definitions = _pivots(equations.E, out.A, out.P, definitions_only, kept)
        if not len(chosen):
            break
        T, t = equations.solve_for(chosen, columns)
        if not definitions:
            out.growth *= max(1.0, float(np.abs(T.data).max(initial=0.0)))
        out.substitute(columns, T, t)
        remaining[columns] = False
    out.kept = np.flatnonzero(remaining)
    if len(equations) and kept is not None:
        raise KeptVariablesTied
    if len(equations):
        _use_null_space(out, equations)
    else:
        out.P = out.P[out.kept][:, out.kept]
        out.q = out.q[out.kept]
        out.A = out.A[:, out.kept]
    out.drop_rounding(q, _row_maxima(A))
    if kept is None:
        _replace_opposite(out)
    if equations.pivots:
        rows, variables = zip(*equations.pivots, strict=True)
        out.solved = np.concatenate(rows), np.concatenate(variables)
    return out


class _Equations:
    """Equations that remain, with largest entry 1 at first.

    Attributes
    ----------
    E, e : the equations.
    rows : their indices among the given ones.
    size : numbers to which residuals are relative.
    pivots : equations that were solved, and the variables for which they were solved.
    """

    def __init__(self, E: Any, e: Array):
        self.given = E, e
        scale = _row_scale(E)
        self.E = sparse.csr_array(sparse.diags_array(scale) @ E)
        self.e = scale * e
        self.size = 1.0 + np.abs(self.e)
        self.rows = np.arange(E.shape[0])
        self.pivots: list[tuple[Indices, Indices]] = []

    def __len__(self) -> int:
        return len(self.rows)

    def drop_empty(self) -> None:
        """Drop equations 0 = 0, and raise Inconsistent for 0 = 1."""
        empty = _row_maxima(self.E) <= ROUNDING
        if not empty.any():
            return
        if np.any(np.abs(self.e[empty]) > CONSISTENT * self.size[empty]):
            raise self.inconsistent()
        self._keep(~empty)
        self.E = self.E[~empty]
        self.e = self.e[~empty]

    def _keep(self, which: Indices) -> None:
        self.rows = self.rows[which]
        self.size = self.size[which]

    def solve_for(self, chosen: Indices, columns: Indices) -> tuple[Any, Array]:
        """Return T and t of x[columns] = T x + t by the chosen equations, and substitute in the others."""
        E = self.E
        count = len(chosen)
        values = np.asarray(E[chosen, columns], float).ravel()
        others = E[chosen] - sparse.csr_array((values, (np.arange(count), columns)), (count, E.shape[1]))
        T = sparse.csr_array(sparse.diags_array(-1.0 / values) @ others)
        T.eliminate_zeros()
        t = self.e[chosen] / values
        self.pivots.append((self.rows[chosen], columns))
        remaining = np.setdiff1d(np.arange(len(self)), chosen)
        self.e = self.e[remaining] - E[remaining][:, columns] @ t
        self.E = _substituted(E[remaining], columns, T)
        self._keep(remaining)
        return T, t

    def inconsistent(self) -> Inconsistent:
        """Return the exception, with the residual of the least-squares solution as certificate."""
        E, e = self.given
        scale = _row_scale(E)
        dense = scale[:, None] * E.toarray()
        x = np.linalg.lstsq(dense, scale * e)[0]
        return Inconsistent(scale * (dense @ x - scale * e))


def _row_scale(E: Any) -> Array:
    """Return factors that make the largest entry of each row 1."""
    largest = _row_maxima(E)
    return 1.0 / np.where(largest > 0, largest, 1.0)


def _row_maxima(E: Any) -> Array:
    """Return the largest absolute entry of each row."""
    out = np.zeros(E.shape[0])
    filled = np.diff(E.indptr) > 0
    if filled.any():
        out[filled] = np.maximum.reduceat(np.abs(E.data), E.indptr[:-1][filled])
    return out


def _substituted(M: Any, columns: Indices, T: Any) -> Any:
    """Return the matrix of M x after x[columns] = T x."""
    part = M[:, columns]
    if not part.nnz:
        return M
    keep = np.ones(M.shape[1])
    keep[columns] = 0.0
    out = sparse.csr_array(M @ sparse.diags_array(keep) + part @ T)
    out.eliminate_zeros()
    return out


def _pivots(
    E: Any, A: Any, P: Any, definitions_only: bool, kept: Indices | None = None
) -> tuple[Indices, Indices, bool]:
    """Return rows, a column of each that no other chosen row contains, and whether they are definitions."""
    n = E.shape[1]
    in_E = np.bincount(E.indices, minlength=n)
    entries = in_E + np.bincount(A.indices, minlength=n) + np.bincount(P.indices, minlength=n)
    row_of = np.repeat(np.arange(E.shape[0]), np.diff(E.indptr))
    share = _share_of_row(E, A, P, row_of)
    if kept is not None:
        share[kept[E.indices]] = 0.0
    defines = (share >= (PIVOT if definitions_only else DEFINITION)) & (in_E[E.indices] == 1)
    has_definitions = bool(defines.any())
    pivot = (share >= PIVOT) & (entries[E.indices] <= FREQUENT) & (not definitions_only)
    where = np.flatnonzero(defines if has_definitions else pivot)
    if not len(where):
        return np.empty(0, int), np.empty(0, int), True
    # In every row the column with the fewest entries.
    where = where[np.lexsort((entries[E.indices[where]], row_of[where]))]
    where = where[np.unique(row_of[where], return_index=True)[1]]
    rows = row_of[where]
    columns = E.indices[where].astype(int)
    if has_definitions:
        return rows, columns, True
    independent = _independent(E, rows, columns, entries)
    return rows[independent], columns[independent], False


def _share_of_row(E: Any, A: Any, P: Any, row_of: Indices) -> Array:
    """Return each entry of E relative to the largest of its row, with columns scaled to entries near 1."""
    column_maxima = np.zeros(E.shape[1])
    for M in (E, A, P):
        np.maximum.at(column_maxima, M.indices, np.abs(M.data))
    sizes = np.abs(E.data) / column_maxima[E.indices]
    largest = np.zeros(E.shape[0])
    np.maximum.at(largest, row_of, sizes)
    return np.asarray(sizes / largest[row_of])


def _independent(E: Any, rows: Indices, columns: Indices, entries: Indices) -> Indices:
    """Return which pivots to use together, by a greedy search: no chosen column is in another chosen row."""
    length = np.diff(E.indptr)
    chosen_column = np.zeros(E.shape[1], bool)
    in_chosen_row = np.zeros(E.shape[1], bool)
    chosen = []
    for i in np.lexsort((entries[columns], length[rows])):
        row = E.indices[E.indptr[rows[i]] : E.indptr[rows[i] + 1]]
        if not in_chosen_row[columns[i]] and not chosen_column[row].any():
            chosen.append(i)
            chosen_column[columns[i]] = True
            in_chosen_row[row] = True
    return np.array(chosen)


def _use_null_space(out: Reduced, equations: _Equations) -> None:
    """Replace the columns of the remaining equations by coordinates of their solutions."""
    columns = np.unique(equations.E.indices)
    dense = equations.E[:, columns].toarray()
    e = equations.e
    Q, R, order = linalg.qr(dense.T, pivoting=True)
    diagonal = np.abs(np.diagonal(R))
    rank = int(np.sum(diagonal > 1e-11 * max(diagonal.max(initial=0.0), 1e-300)))
    independent = order[:rank]
    origin = Q[:, :rank] @ linalg.solve_triangular(R[:rank, :rank], e[independent], trans="T")
    sizes = equations.size + np.abs(dense) @ np.abs(origin)
    if np.any(np.abs(dense @ origin - e) > CONSISTENT * sizes):
        raise equations.inconsistent()
    N = Q[:, rank:]
    out.kept = np.setdiff1d(out.kept, columns)
    out.basis = columns, N, origin
    shift = np.zeros(out.size)
    shift[columns] = origin
    count = len(out.kept)
    unchanged = sparse.csr_array((np.ones(count), (out.kept, np.arange(count))), (out.size, count))
    i, j = np.indices(N.shape)
    null_space = sparse.csr_array((N.ravel(), (columns[i.ravel()], j.ravel())), (out.size, N.shape[1]))
    T = sparse.hstack([unchanged, null_space], format="csr")
    out.b = out.b - out.A @ shift
    out.q = T.T @ (out.q + out.P @ shift)
    out.A = sparse.csr_array(out.A @ T)
    out.P = sparse.csr_array(T.T @ out.P @ T)
    # The dual variables are later found from as many columns as there are equations: a second pivoted factor.
    _, _, column_order = linalg.qr(dense[independent], pivoting=True, mode="economic")
    equations.pivots.append((equations.rows[independent], columns[column_order[:rank]]))


def _replace_opposite(out: Reduced) -> None:
    r"""Replace variables with opposite columns by their difference.

    Let :math:`x_j` and :math:`x_k` have opposite coefficients in all long rows. With :math:`x_j = c + x_k`,
    long rows contain c alone, and few short rows contain :math:`x_k`, which is private.
    """
    rows = sparse.csc_array(out.A[np.diff(out.A.indptr) > LONG])
    first, second = _opposite_columns(rows)
    if not len(first):
        return
    n = len(out.q)
    ones = sparse.csr_array((np.ones(len(first)), (first, second)), (n, n))
    T = sparse.csr_array(sparse.eye_array(n, format="csr") + ones)
    out.A = sparse.csr_array(out.A @ T)
    out.A.eliminate_zeros()
    out.q = T.T @ out.q
    if out.P.nnz:
        out.P = sparse.csr_array(T.T @ out.P @ T)
    out.opposite = first, second


def _opposite_columns(rows: Any) -> tuple[Indices, Indices]:
    """Return pairs of long columns of a matrix that are each other's negative."""
    none = np.empty(0, int)
    long = np.flatnonzero(np.diff(rows.indptr) > LONG)
    if len(long) < 2:
        return none, none
    # A random combination of the rows is equal, up to its sign, for opposite columns.
    mark = np.random.default_rng(0).normal(size=rows.shape[0]) @ rows[:, long]
    order = np.argsort(np.abs(mark), kind="stable")
    size = np.abs(mark[order])
    sign = np.sign(mark[order])
    pairs = (np.diff(size) <= 1e-12 * size[1:]) & (sign[1:] == -sign[:-1])
    pairs[1:] &= ~pairs[:-1]  # a column is in one pair only
    first = long[order[:-1][pairs]]
    second = long[order[1:][pairs]]
    if not len(first):
        return none, none
    difference = abs(rows[:, first] + rows[:, second])
    exact = np.asarray(difference.sum(axis=0)).ravel() == 0
    return first[exact], second[exact]


def equation_duals(E: Any, solved: tuple[Indices, Indices], gradient: Array) -> Array:
    """Return the y with E'y = -gradient, which exists at an optimum; dropped equations have 0."""
    rows, columns = solved
    y = np.zeros(E.shape[0])
    if len(rows):
        square = sparse.csc_array(E[rows][:, columns].T)
        y[rows] = sparse.linalg.splu(square).solve(-gradient[columns])
    return y
