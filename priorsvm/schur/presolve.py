r"""Equations are solved for, so that inequalities and cones are left.

From :math:`\min \frac12 x^\top P x + q^\top x` subject to :math:`Ex = e` and :math:`b - Ax \in K` to the same
without E, with fewer variables. Most equations define a variable that nothing else defines, the values of f
above all: these go in one sparse product. The rest is solved by pivots, and what ties shared variables to
each other by an orthonormal basis of the null space.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import linalg, sparse

from .cones import Array, Indices

# A pivot is at least this part of the largest number of its row, if other equations have it too.
PIVOT = 0.3

# Nor is a variable solved for by a smaller part than this where no other equation has it.
TINY = 0.01

# Columns in more rows than this are no pivots; what only has such columns goes to the null space.
HEAVY = 40

# Rows and columns with more entries than this are long.
LONG = 20

# Rounds of pivots before the null space takes what is left.
ROUNDS = 60

# Numbers below this, relative to what they were computed from, are rounding.
ROUNDING = 1e-11


class Inconsistent(ArithmeticError):
    """No x solves the equations; ``multipliers`` prove it: E'y = 0 and e'y < 0."""

    def __init__(self, multipliers: Array):
        self.multipliers = multipliers


@dataclass(eq=False)
class Reduced:
    """The problem without equations, and the way back.

    Attributes
    ----------
    P, q, A, b : over the variables that are left.
    growth : how much larger numbers may have become where equations were solved by pivots.
    """

    P: Any
    q: Array
    A: Any
    b: Array
    size: int
    steps: list[tuple[Indices, Any, Array]] = field(default_factory=list)
    basis: tuple[Indices, Array, Array] | None = None
    growth: float = 1.0
    twins: tuple[Indices, Indices] = (np.empty(0, int), np.empty(0, int))
    kept: Indices = field(default_factory=lambda: np.empty(0, int))
    solved: tuple[Indices, Indices] = (np.empty(0, int), np.empty(0, int))

    def full(self, x: Array, homogeneous: bool = False) -> Array:
        """All variables from those that are left; of a direction, without constant parts."""
        x = x.copy()
        x[self.twins[0]] += x[self.twins[1]]
        out = np.zeros(self.size)
        if self.basis is not None:
            columns, N, origin = self.basis
            own = len(x) - N.shape[1]
            out[self.kept[:own]] = x[:own]
            out[columns] = N @ x[own:] + (0.0 if homogeneous else origin)
        else:
            out[self.kept] = x
        for columns, T, t in reversed(self.steps):
            out[columns] = T @ out + (0.0 if homogeneous else t)
        return out


class Tied(ArithmeticError):
    """Some equations are left that only have variables which were to be kept."""


def reduce(
    P: Any,
    q: Array,
    E: Any,
    e: Array,
    A: Any,
    b: Array,
    careful: bool = False,
    kept: Indices | None = None,
) -> Reduced:
    """Solve E x = e for as many variables as it determines.

    Carefully, only definitions are solved for, and the null space takes the rest. Variables that are ``kept``
    are not solved for; :class:`Tied` is raised if that leaves equations.
    """
    n = len(q)
    E, A, P = (sparse.csr_array(M) for M in (E, A, P))
    before = _row_maxima(A)
    equations = E, e
    scale = _row_maxima(E)
    scale = 1.0 / np.where(scale > 0, scale, 1.0)  # the largest number of an equation is 1
    E = sparse.csr_array(sparse.diags_array(scale) @ E)
    e = scale * e
    size = 1.0 + np.abs(e)
    out = Reduced(P, q.copy(), A, b.copy(), n)
    alive = np.ones(n, bool)
    rows = np.arange(E.shape[0])  # of the equations that are left
    pivots: list[tuple[Indices, Indices]] = []
    for _ in range(ROUNDS):
        E, e, rows, size = _without_empty(E, e, rows, size, equations)
        if not len(rows):
            break
        chosen, columns, defined = _pivots(E, out.A, out.P, careful, kept)
        if not len(chosen):
            break
        values = _entries(E, chosen, columns)
        others = E[chosen] - sparse.csr_array((values, (np.arange(len(chosen)), columns)), (len(chosen), n))
        T = sparse.csr_array(sparse.diags_array(-1.0 / values) @ others)
        T.eliminate_zeros()
        t = e[chosen] / values
        if not defined:
            out.growth *= max(1.0, float(np.abs(T.data).max(initial=0.0)))
        out.steps.append((columns, T, t))
        pivots.append((rows[chosen], columns))
        left = np.setdiff1d(np.arange(len(rows)), chosen)
        e = e[left] - E[left][:, columns] @ t
        E = _substituted(E[left], columns, T)
        rows = rows[left]
        size = size[left]
        _substitute(out, columns, T, t)
        alive[columns] = False
    out.kept = np.flatnonzero(alive)
    if len(rows) and kept is not None:
        raise Tied
    if len(rows):
        _null_space(out, E, e, rows, size, pivots, equations)
    else:
        out.P, out.q, out.A = out.P[out.kept][:, out.kept], out.q[out.kept], out.A[:, out.kept]
    # What is left of a row that cancelled is rounding, and so is what is left of an objective.
    if np.abs(out.q).max(initial=0.0) <= ROUNDING * np.abs(q).max(initial=0.0):
        out.q[:] = 0.0
    gone = _row_maxima(out.A) <= ROUNDING * before
    if gone.any():
        out.A = sparse.csr_array(sparse.diags_array((~gone).astype(float)) @ out.A)
        out.A.eliminate_zeros()
    if kept is None:
        _split_twins(out)
    if pivots:
        out.solved = tuple(np.concatenate(part) for part in zip(*pivots, strict=True))  # type: ignore[assignment]
    return out


def _without_empty(
    E: Any, e: Array, rows: Indices, size: Array, equations: tuple[Any, Array]
) -> tuple[Any, Array, Indices, Array]:
    """Equations that say 0 = 0 are dropped; 0 = 1 is the end."""
    empty = _row_maxima(E) <= ROUNDING
    if not empty.any():
        return E, e, rows, size
    if np.any(np.abs(e[empty]) > 1e-8 * size[empty]):
        raise _inconsistent(*equations)
    kept = ~empty
    return E[kept], e[kept], rows[kept], size[kept]


def _inconsistent(E: Any, e: Array) -> Inconsistent:
    scale = _row_maxima(E)
    scale = 1.0 / np.where(scale > 0, scale, 1.0)
    dense = scale[:, None] * E.toarray()
    x = np.linalg.lstsq(dense, scale * e)[0]
    return Inconsistent(scale * (dense @ x - scale * e))


def _row_maxima(E: Any) -> Array:
    out = np.zeros(E.shape[0])
    filled = np.diff(E.indptr) > 0
    if filled.any():
        out[filled] = np.maximum.reduceat(np.abs(E.data), E.indptr[:-1][filled])
    return out


def _entries(E: Any, rows: Indices, columns: Indices) -> Array:
    return np.asarray(E[rows, columns], float).ravel()


def _pivots(
    E: Any, A: Any, P: Any, careful: bool, kept: Indices | None = None
) -> tuple[Indices, Indices, bool]:
    """Rows, columns for them, none of which is in another of these rows; and whether they are definitions."""
    n = E.shape[1]
    in_E = np.bincount(E.indices, minlength=n)
    heavy = in_E + np.bincount(A.indices, minlength=n) + np.bincount(P.indices, minlength=n)
    row_of = np.repeat(np.arange(E.shape[0]), np.diff(E.indptr))
    # In units in which every variable has coefficients of about 1.
    column = np.zeros(n)
    for M in (E, A, P):
        np.maximum.at(column, M.indices, np.abs(M.data))
    sizes = np.abs(E.data) / column[E.indices]
    largest = np.zeros(E.shape[0])
    np.maximum.at(largest, row_of, sizes)
    share = sizes / largest[row_of]
    if kept is not None:
        share[kept[E.indices]] = 0.0
    alone = (share >= (PIVOT if careful else TINY)) & (in_E[E.indices] == 1)
    light = (share >= PIVOT) & (heavy[E.indices] <= HEAVY) & (not careful)
    where = np.flatnonzero(alone if alone.any() else light)
    if not len(where):
        return np.empty(0, int), np.empty(0, int), True
    # Of every row the lightest column.
    where = where[np.lexsort((heavy[E.indices[where]], row_of[where]))]
    where = where[np.unique(row_of[where], return_index=True)[1]]
    if alone.any():
        return row_of[where], E.indices[where].astype(int), True
    return *_independent(E, row_of[where], E.indices[where].astype(int), heavy), False


def _independent(E: Any, rows: Indices, columns: Indices, heavy: Indices) -> tuple[Indices, Indices]:
    """As many as a greedy search finds."""
    length = np.diff(E.indptr)
    taken = np.zeros(E.shape[1], bool)
    barred = np.zeros(E.shape[1], bool)
    chosen = []
    for i in np.lexsort((heavy[columns], length[rows])):
        inside = E.indices[E.indptr[rows[i]] : E.indptr[rows[i] + 1]]
        if not barred[columns[i]] and not taken[inside].any():
            chosen.append(i)
            taken[columns[i]] = True
            barred[inside] = True
    picked = np.array(chosen)
    return rows[picked], columns[picked]


def _substituted(M: Any, columns: Indices, T: Any) -> Any:
    """M x after x[columns] = T x."""
    part = M[:, columns]
    if not part.nnz:
        return M
    keep = np.ones(M.shape[1])
    keep[columns] = 0.0
    out = sparse.csr_array(M @ sparse.diags_array(keep) + part @ T)
    out.eliminate_zeros()
    return out


def _substitute(out: Reduced, columns: Indices, T: Any, t: Array) -> None:
    """Put x[columns] = T x + t into the objective and the cones."""
    out.b -= out.A[:, columns] @ t
    out.A = _substituted(out.A, columns, T)
    own = out.q[columns]
    if out.P[columns].nnz:
        shifted = out.P[:, columns] @ t
        out.q = out.q + shifted
        own = out.q[columns]
        out.P = _substituted(out.P, columns, T)
        out.P = sparse.csr_array(_substituted(sparse.csr_array(out.P.T), columns, T).T)
    out.q = out.q + T.T @ own
    out.q[columns] = 0.0


def _null_space(
    out: Reduced,
    E: Any,
    e: Array,
    rows: Indices,
    size: Array,
    pivots: list[tuple[Indices, Indices]],
    equations: tuple[Any, Array],
) -> None:
    """Replace the columns that equations tie together by coordinates of the solutions."""
    columns = np.unique(E.indices)
    dense = E[:, columns].toarray()
    Q, R, order = linalg.qr(dense.T, pivoting=True)
    diagonal = np.abs(np.diagonal(R))
    rank = int(np.sum(diagonal > 1e-11 * max(diagonal.max(initial=0.0), 1e-300)))
    kept = order[:rank]
    origin = Q[:, :rank] @ linalg.solve_triangular(R[:rank, :rank], e[kept], trans="T")
    if np.any(np.abs(dense @ origin - e) > 1e-8 * (size + np.abs(dense) @ np.abs(origin))):
        raise _inconsistent(*equations)
    N = Q[:, rank:]
    others = np.setdiff1d(out.kept, columns)
    out.kept = others
    out.basis = columns, N, origin
    shift = np.zeros(out.size)
    shift[columns] = origin
    turn = sparse.hstack(
        [
            sparse.csr_array(
                (np.ones(len(others)), (others, np.arange(len(others)))), (out.size, len(others))
            ),
            _scattered(N, columns, out.size),
        ],
        format="csr",
    )
    out.b = out.b - out.A @ shift
    out.q = turn.T @ (out.q + out.P @ shift)
    out.A = sparse.csr_array(out.A @ turn)
    out.P = sparse.csr_array(turn.T @ out.P @ turn)
    # Which variables these equations are solved for is told by another pivoted factor.
    _, _, lead = linalg.qr(dense[kept], pivoting=True, mode="economic")
    pivots.append((rows[kept], columns[lead[:rank]]))


def _split_twins(out: Reduced) -> None:
    """Positive and negative parts: the long rows know their difference only, which becomes the variable.

    Where :math:`x_j` and :math:`x_k` have opposite coefficients in all long rows, :math:`x_j = c + x_k`
    leaves c in those, and :math:`x_k` in few short ones: it is private then.
    """
    long = np.diff(out.A.indptr) > LONG
    rows = sparse.csc_array(out.A[long])
    often = np.flatnonzero(np.diff(rows.indptr) > LONG)
    if len(often) < 2:
        return
    mark = np.random.default_rng(0).normal(size=rows.shape[0]) @ rows[:, often]  # equal for equal columns
    order = np.argsort(np.abs(mark), kind="stable")
    size = np.abs(mark[order])
    sign = np.sign(mark[order])
    pairs = (np.diff(size) <= 1e-12 * size[1:]) & (sign[1:] == -sign[:-1])
    pairs[1:] &= ~pairs[:-1]  # of three in a row two are taken
    first = often[order[:-1][pairs]]
    second = often[order[1:][pairs]]
    if not len(first):
        return
    together = abs(rows[:, first] + rows[:, second])
    same = np.asarray(together.sum(axis=0)).ravel() == 0
    first = first[same]
    second = second[same]
    n = len(out.q)
    turn = sparse.eye_array(n, format="csr") + sparse.csr_array(
        (np.ones(len(first)), (first, second)), (n, n)
    )
    turn = sparse.csr_array(turn)
    out.A, out.q = sparse.csr_array(out.A @ turn), turn.T @ out.q
    out.A.eliminate_zeros()
    if out.P.nnz:
        out.P = sparse.csr_array(turn.T @ out.P @ turn)
    out.twins = first, second


def _scattered(N: Array, rows: Indices, size: int) -> Any:
    i, j = np.indices(N.shape)
    return sparse.csr_array((N.ravel(), (rows[i.ravel()], j.ravel())), (size, N.shape[1]))


def multipliers(E: Any, solved: tuple[Indices, Indices], gradient: Array) -> Array:
    """The y with E'y = -gradient, which has a solution at an optimum; equations that were dropped get 0."""
    rows, columns = solved
    y = np.zeros(E.shape[0])
    if len(rows):
        square = sparse.csc_array(E[rows][:, columns].T)
        y[rows] = sparse.linalg.splu(square).solve(-gradient[columns])
    return y
