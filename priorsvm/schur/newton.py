r"""The linear system of every step, with private variables eliminated first.

.. math:: \begin{pmatrix} P & A^\top \\ A & -W^\top W \end{pmatrix}
          \begin{pmatrix} x \\ z \end{pmatrix} = \begin{pmatrix} r_1 \\ r_2 \end{pmatrix}

With the rows :math:`\tilde A = W^{-\top} A` this is :math:`(P + \tilde A^\top \tilde A) x = \dots`.
Householder reflections in each group turn the private columns of :math:`\tilde A` into a triangle; the rows
below it know shared variables only, and their Gram matrix is the Schur complement S. Nothing is subtracted
there, so S is positive semidefinite to all digits.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg, sparse
from scipy.linalg.blas import dsyrk
from scipy.linalg.lapack import dpotrf

from .cones import Array, Cones, Indices, SecondOrder
from .groups import WIDE, Class, Places, classes, places
from .parted import Parted

# Added to the diagonal, and refined away.
STATIC = 1e-12

# The system is solved to this, relative to its right-hand side, or as far as refinement gets.
REFINED = 1e-12
REFINEMENTS = 6

# Products of entries of a sparse row are listed once, if there are no more than this many.
LISTED = 2**22


class Solution(NamedTuple):
    """Of the system, and A x."""

    x: Array
    z: Array
    Ax: Array


@dataclass(eq=False)
class _Wide:
    r"""Second-order cones of many entries, one in each group.

    With :math:`u = w_1 / \|w_1\|`, the scaling of :math:`(t, x)` is that of the cone of two entries
    :math:`(t, u^\top x)`, and what is perpendicular to u is only divided by η. So a wide cone is two rows
    for the reflections, and of the rest

    .. math:: \eta^{-2} A_1^\top (I - u u^\top) A_1

    goes into S as it is.

    Attributes
    ----------
    batch, which : the cones.
    rows : (k - 1, g) rows of all entries but the first.
    A1 : (r, k - 1, g), if these rows are dense.
    gram : (g, r r) their Gram matrices, if these are not much larger than the rows.
    u, along : (k - 1, g); (r, g) the row u'A1, if dense.
    """

    batch: SecondOrder
    which: Places
    rows: Indices
    A1: Array | None
    gram: Array | None = None
    u: Array = field(init=False)
    along: Array = field(init=False)

    def __post_init__(self) -> None:
        if self.A1 is not None and len(self.A1) <= 2 * self.batch.k:
            stack = np.ascontiguousarray(self.A1.transpose(2, 0, 1))
            self.gram = (stack @ stack.swapaxes(1, 2)).reshape(len(stack), -1)

    def turn(self) -> Array:
        """The scaling of (t, u'x), (2, 2, g)."""
        w = self.batch.w[:, self.which]
        eta = self.batch.eta[self.which]
        length = np.sqrt(np.einsum("kg,kg->g", w[1:], w[1:]))
        self.u = w[1:] / np.where(length > 0, length, 1.0)
        self.u[0, length == 0] = 1.0
        if self.A1 is not None:
            self.along = np.einsum("kg,rkg->rg", self.u, self.A1)
        return np.array([[w[0], -length], [-length, w[0]]]) / eta

    @property
    def weight(self) -> Array:
        """1 / η²."""
        return 1.0 / self.batch.eta2[self.which]


@dataclass(eq=False)
class _Part:
    """A class of groups and its factor.

    Attributes
    ----------
    private : of each private variable its place in all groups.
    pieces : the cones of a group: batch and which of its cones, or a wide one.
    own : (k, p, g) coefficients of the private variables.
    active : which of the k rows have shared variables.
    knows : of each active row its place among all rows; or the wide cone whose u'A1 it is.
    coefficients : of each active row (r, g), if dense.
    root : (p, g) square roots of what P and the regularisation add.
    R, across : (p, p, g) and (p, a, g) triangle and what stands beside it.
    below : (b, a, g) the rows below, triangular where there were more of them than columns.
    """

    private: list[Places]
    pieces: list[Any]
    own: Array
    active: list[int]
    knows: list[Any]
    coefficients: list[Any]
    dense: bool
    root: Array
    R: Array = field(init=False)
    across: Array = field(init=False)
    below: Array = field(init=False)
    triangular: bool = False

    @property
    def wide(self) -> list[_Wide]:
        return [piece for piece in self.pieces if isinstance(piece, _Wide)]

    def reflect(self) -> None:
        """Triangulate the private columns."""
        (k, p, g), a, i = self.own.shape, len(self.active), 0
        G = np.zeros((k + p, p + a, g))
        for piece in self.pieces:
            scale = piece.turn() if isinstance(piece, _Wide) else piece[0].matrices(piece[1])
            rows = slice(i, i + len(scale))
            own = self.own[rows]
            G[rows, :p] = scale[0] * own if len(scale) == 1 else np.einsum("ijg,jpg->ipg", scale, own)
            for j, row in enumerate(self.active):
                if i <= row < i + len(scale):
                    G[rows, p + j] = scale[:, row - i]
            i += len(scale)
        G[k + np.arange(p), np.arange(p)] = self.root
        _triangulate(G, p)
        self.R = G[:p, :p]
        self.across = G[:p, p:]
        self.below = G[p:, p:]
        self.triangular = 1 < a < k
        if self.triangular:  # no more rows than columns
            _triangulate(self.below, a)
            self.below = self.below[:a]

    @property
    def single(self) -> bool:
        """Whether one row of A has all shared variables of a group."""
        return len(self.knows) == 1 and not self.wide

    @property
    def weighted(self) -> list[Places]:
        """Rows of A that enter S by a weight."""
        rows = self.knows if self.single else []
        return [*rows, *(wide.rows for wide in self.wide if wide.gram is None)]

    def weigh(self, weight: Array) -> None:
        """Work out these weights."""
        values = [np.einsum("kg,kg->g", self.below[:, 0], self.below[:, 0])] if self.single else []
        values += [wide.weight for wide in self.wide if wide.gram is None]
        for rows, value in zip(self.weighted, values, strict=True):
            weight[rows] = value

    def tall(self, groups: slice = slice(None)) -> Array:
        """The rows below over all shared variables, (r, b g), of some groups."""
        below = self.below[:, :, groups]
        parts = [
            (row.along if isinstance(row, _Wide) else known)[:, groups]
            for row, known in zip(self.knows, self.coefficients, strict=True)
        ]
        out = np.empty((len(parts[0]), len(below), below.shape[2]))
        for i, factors in enumerate(below):
            first = i if self.triangular else 0
            np.multiply(parts[first], factors[first], out=out[:, i])
            for part, factor in zip(parts[first + 1 :], factors[first + 1 :], strict=True):
                out[:, i] += part * factor
        return out.reshape(len(out), -1)

    def gather(self, values: Array) -> Array:
        """What the active rows have of a vector over all rows, (a, g)."""
        out = np.empty((len(self.knows), self.own.shape[2]))
        for amount, row in zip(out, self.knows, strict=True):
            wide = isinstance(row, _Wide)
            amount[:] = np.einsum("kg,kg->g", row.u, values[row.rows]) if wide else values[row]
        return out

    def scatter(self, amounts: Array, out: Array) -> None:
        """The transpose of that."""
        for row, amount in zip(self.knows, amounts, strict=True):
            if isinstance(row, _Wide):
                out[row.rows] += row.u * amount
            else:
                out[row] += amount


class Newton:
    """Factors the system for given scalings and solves it."""

    def __init__(self, parted: Parted, cones: Cones):
        self.cones = cones
        self.parted = parted
        self.position = np.zeros(cones.size, int)  # of a row among the dense or the sparse ones
        for rows in (parted.dense_rows, parted.sparse_rows):
            self.position[rows] = np.arange(len(self.position[rows]))
        found = classes(parted.own, cones, parted.group, parted.active, parted.is_dense)
        self.parts = [self._part(c) for c in found]
        self.listed = _listed(parted.sparse)
        # Few rows with a weight of their own among many dense ones are copied.
        weighted = np.zeros(cones.size, bool)
        for rows in (rows for part in self.parts for rows in part.weighted):
            weighted[rows] = True
        heavy = np.flatnonzero(weighted[parted.dense_rows])
        self.heavy = places(heavy) if 2 * len(heavy) < parted.dense.shape[1] else slice(None)
        self.heavy_rows = parted.dense[:, self.heavy]

    def _part(self, c: Class) -> _Part:
        """The class, with wide cones taken apart."""
        p, g = c.private.shape
        pieces = list[Any]()
        own = [np.empty((0, p, g))]
        knows = list[Any]()
        first = 0
        for batch, which in c.cones:
            rows = c.rows[first : first + batch.k]
            mine = c.own[first : first + batch.k]
            known: list[Any] = [places(row) if first + j in c.active else None for j, row in enumerate(rows)]
            if isinstance(batch, SecondOrder) and batch.k > WIDE and not mine[1:].any():
                A1 = self._coefficients(rows[1:].ravel()).reshape(-1, batch.k - 1, g) if c.dense else None
                pieces.append(_Wide(batch, places(which), rows[1:], A1))
                own.append(np.stack([mine[0], np.zeros((p, g))]))
                knows += [known[0], None if known[1] is None else pieces[-1]]
            else:
                pieces.append((batch, places(which)))
                own.append(mine)
                knows += known
            first += batch.k
        active = [i for i, row in enumerate(knows) if row is not None]
        knows = [knows[i] for i in active]
        rows = np.arange(self.cones.size)
        coefficients = [
            None if isinstance(row, _Wide) or not c.dense else self._coefficients(rows[row]) for row in knows
        ]
        root = np.sqrt(self.parted.P_own[c.private] + STATIC)
        private = [places(each) for each in c.private]
        return _Part(private, pieces, np.concatenate(own), active, knows, coefficients, c.dense, root)

    def _coefficients(self, rows: Indices) -> Array:
        """Of dense rows, (r, rows)."""
        return self.parted.dense[:, places(self.position[rows])]

    # ------------------------------------------------------------------ factoring

    def factor(self, careful: bool = False) -> None:
        """For the present scalings of the cones; carefully, without squaring the condition."""
        parted = self.parted
        weight = np.zeros(self.cones.size)
        for part in self.parts:
            part.reflect()
            part.weigh(weight)
        several = [part for part in self.parts if len(part.knows) and not part.single]
        if careful:
            return self._triangle(weight, several)
        S = np.array(parted.P_shared, order="F")
        heavy = np.sqrt(weight[parted.dense_rows][self.heavy])
        for block in parted.blocks(len(heavy)):
            S = _add(S, self.heavy_rows[:, block] * heavy[block])
        for part in several:
            if part.dense:
                for groups in parted.blocks(part.below.shape[2], len(part.below)):
                    S = _add(S, part.tall(groups))
            else:
                rows = self._thin(part)
                S += (rows.T @ rows).toarray()
            for wide in part.wide:
                if wide.gram is not None:
                    S += (wide.weight @ wide.gram).reshape(S.shape)
                if wide.A1 is not None:
                    S = _add(S, wide.along * np.sqrt(wide.weight), -1.0)
                else:
                    rows = self._along(wide)
                    S -= (rows.T @ rows).toarray()
        light = weight[parted.sparse_rows]
        if self.listed is not None:
            where, products = self.listed
            S.reshape(-1, order="F")[where] += products @ light
        elif np.any(light > 0):
            S += (parted.sparse.T @ sparse.diags_array(light) @ parted.sparse).toarray()
        return self._cholesky(S)

    def _thin(self, part: _Part) -> Any:
        """The rows below over all shared variables, as a sparse matrix."""
        b, _, g = part.below.shape
        number = np.arange(b * g).reshape(b, g)
        out = sparse.csr_array((b * g, self.parted.r))
        for j, row in enumerate(part.knows):
            if isinstance(row, _Wide):
                known = self.position[row.rows]
                factors = part.below[:, j, None] * row.u
            else:
                known = self.position[row][None]
                factors = part.below[:, j, None]
            where = np.broadcast_to(number[:, None], factors.shape), np.broadcast_to(known, factors.shape)
            left = sparse.csr_array(
                (factors.ravel(), (where[0].ravel(), where[1].ravel())), (b * g, self.parted.sparse.shape[0])
            )
            out = out + left @ self.parted.sparse
        return sparse.csr_array(out)

    def _along(self, wide: _Wide) -> Any:
        """u'A1 / η of a wide cone with sparse rows."""
        k, g = wide.u.shape
        where = np.broadcast_to(np.arange(g), (k, g)).ravel(), self.position[wide.rows].ravel()
        factors = (wide.u * np.sqrt(wide.weight)).ravel()
        return sparse.csr_array((factors, where), (g, self.parted.sparse.shape[0])) @ self.parted.sparse

    @cached_property
    def root_P(self) -> Array:
        """Rows whose Gram matrix is P."""
        values, vectors = linalg.eigh(self.parted.P_shared)
        return np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T

    def _triangle(self, weight: Array, several: list[_Part]) -> None:
        """The factor R of S = R'R from the rows of which S is the Gram matrix; large rows first."""
        parted = self.parted
        wide = [wide for part in several for wide in part.wide]
        for each in wide:
            weight[each.rows] = 0.0  # these come without what is along u
        heavy = np.sqrt(weight[parted.dense_rows][self.heavy])
        light = sparse.diags_array(np.sqrt(weight[parted.sparse_rows])) @ parted.sparse
        tall = [self.root_P, (self.heavy_rows * heavy).T, light.toarray()]
        tall += [part.tall().T if part.dense else self._thin(part).toarray() for part in several]
        rows = np.vstack([*tall, *map(self._perpendicular, wide)])
        sizes = np.einsum("ij,ij->i", rows, rows)
        if not np.isfinite(sizes).all():
            raise FloatingPointError("a row is not finite")
        rows = rows[np.argsort(-sizes, kind="stable")]
        rows = np.vstack([rows, np.sqrt(STATIC) * np.eye(rows.shape[1])])
        R, self.order = linalg.qr(rows, mode="r", pivoting=True, overwrite_a=True, check_finite=False)
        self.factor_ = (R[: rows.shape[1]], False)
        self.size = np.ones(rows.shape[1])

    def _perpendicular(self, wide: _Wide) -> Array:
        """The rows (I - uu')A1 / η."""
        k, g = wide.u.shape
        A1 = wide.A1
        if A1 is None:
            rows = self.parted.sparse[self.position[wide.rows].ravel()].toarray()
            A1 = rows.T.reshape(-1, k, g)
        along = np.einsum("kg,rkg->rg", wide.u, A1)
        rest = (A1 - along[:, None] * wide.u) * np.sqrt(wide.weight)
        return np.asarray(rest.reshape(len(rest), -1).T)

    def _cholesky(self, S: Array) -> None:
        """The factor of S, of which the upper triangle is there."""
        diagonal = np.diagonal(S).copy()
        if not np.isfinite(diagonal).all():
            raise FloatingPointError("the Schur complement is not finite")
        size = np.sqrt(np.maximum(diagonal, 0.0) + STATIC)
        S /= size[:, None]
        S /= size
        extra = 1e-14
        while True:
            np.fill_diagonal(S, (diagonal + STATIC) / size**2 + extra)
            factor, failed = dpotrf(S, lower=0, clean=0)
            if not failed:
                break
            extra *= 100.0
            if extra > 1e-4:
                raise FloatingPointError("the Schur complement is not positive definite")
        self.factor_ = (factor, False)
        self.size = size
        self.order = slice(None)

    # ------------------------------------------------------------------ solving

    def solve(self, r1: Array, r2: Array) -> Solution:
        """x and z, refined against the system as it is."""
        best = x, z, Ax = self._once(r1, r2)
        scale = max(_largest(r1), _largest(r2), 1e-300)
        least = np.inf
        for _ in range(REFINEMENTS):
            e1 = r1 - self.parted.times_P(x) - self.parted.times_At(z)
            e2 = r2 - Ax + self.cones.square(z)
            error = max(_largest(e1), _largest(e2)) / scale
            if not error < 0.5 * least:
                break
            best = Solution(x, z, Ax)
            least = error
            if error < REFINED:
                break
            more = self._once(e1, e2)
            x = x + more.x
            z = z + more.z
            Ax = Ax + more.Ax
        self.error = least
        return best

    def _once(self, r1: Array, r2: Array) -> Solution:
        """From r2 to the variables, private ones first and last, and back."""
        parted = self.parted
        r = self.parted.r
        rows = self.cones.square_inverse(r2)
        right = r1[r:] + parted.own_t @ rows
        halves = []
        for part in self.parts:
            if part.private:
                half = _triangular(part.R, np.array([right[each] for each in part.private]), transposed=True)
                halves.append(half)
                part.scatter(-np.einsum("pag,pg->ag", part.across, half), rows)
        u = ((r1[:r] + parted.to_shared(rows)) / self.size)[self.order]
        found = np.empty(r)
        found[self.order] = linalg.cho_solve(self.factor_, u, check_finite=False)
        found /= self.size
        Ax = parted.over_shared(found)
        v = np.empty(len(right))
        whole = iter(halves)
        for part in self.parts:
            if part.private:
                rest = next(whole) - np.einsum("pag,ag->pg", part.across, part.gather(Ax))
                for each, solved in zip(
                    part.private, _triangular(part.R, rest, transposed=False), strict=True
                ):
                    v[each] = solved
        Ax += parted.own @ v
        return Solution(np.concatenate([found, v]), self.cones.square_inverse(Ax - r2), Ax)


def _add(S: Array, rows: Array, sign: float = 1.0) -> Array:
    """The Gram matrix of rows (r, n), added to the upper triangle of S."""
    return np.asarray(dsyrk(sign, rows.T, trans=1, beta=1.0, c=S, overwrite_c=True))


def _largest(x: Array) -> float:
    return float(np.abs(x).max(initial=0.0))


def _triangulate(G: Array, columns: int) -> None:
    """Reflect many small matrices (k, c, g), in place, so that their first columns are triangles."""
    for j in range(columns):
        v = G[j:, j].copy()
        v[0] += np.copysign(np.sqrt(np.einsum("kg,kg->g", v, v)), v[0])
        square = np.einsum("kg,kg->g", v, v)
        factor = np.where(square > 0, 2.0 / square, 0.0)
        for c in range(j, G.shape[1]):
            G[j:, c] -= v * (np.einsum("kg,kg->g", v, G[j:, c]) * factor)


def _triangular(R: Array, b: Array, transposed: bool) -> Array:
    """Solve R x = b or R'x = b, in place of b, for many small upper triangles (p, p, g)."""
    p = len(R)
    for j in range(p) if transposed else range(p - 1, -1, -1):
        for i in range(j) if transposed else range(j + 1, p):
            b[j] -= (R[i, j] if transposed else R[j, i]) * b[i]
        b[j] /= R[j, j]
    return b


def _listed(A: Any) -> tuple[Indices, Any] | None:
    """Where products of two entries of a row go in A'diag(w)A, and the matrix that gives them from w."""
    length = np.diff(A.indptr)
    if not 0 < int(np.sum(length**2)) <= LISTED:
        return None
    rows = np.repeat(np.arange(len(length)), length**2)
    # The i-th pair of a row of n entries is (i // n, i % n).
    number = np.arange(len(rows)) - np.repeat(np.cumsum(length**2) - length**2, length**2)
    first = A.indptr[rows] + number // length[rows]
    second = A.indptr[rows] + number % length[rows]
    flat = A.indices[first].astype(np.int64) * A.shape[1] + A.indices[second]
    where, pair = np.unique(flat, return_inverse=True)
    products = sparse.csr_array((A.data[first] * A.data[second], (pair, rows)), (len(where), len(length)))
    return where, products
