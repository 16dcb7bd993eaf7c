r"""KKT system of a Newton step, with private variables eliminated by reflections.

.. math:: \begin{pmatrix} P & A^\top \\ A & -W^\top W \end{pmatrix}
          \begin{pmatrix} x \\ z \end{pmatrix} = \begin{pmatrix} r_1 \\ r_2 \end{pmatrix}

With the rows :math:`\tilde A = W^{-\top} A` this is :math:`(P + \tilde A^\top \tilde A) x = r_1 + A^\top
(W^\top W)^{-1} r_2` and :math:`z = (W^\top W)^{-1} (A x - r_2)`. The private variables v are in one group
each, and P is diagonal over them. In each group, Householder reflections Q give

.. math:: \begin{pmatrix} \tilde A_{\text{private}} & \tilde A_{\text{shared}} \\ D & 0 \end{pmatrix} =
          Q \begin{pmatrix} R & T \\ 0 & Z \end{pmatrix}, \qquad D^2 = P_{\text{private}} + 10^{-12} I ,

and the shared variables are found from the Schur complement

.. math:: S = P_{\text{shared}} + \sum_g Z_g^\top Z_g .

Nothing is subtracted, so S is positive semidefinite to all digits. The reflections act on the scalings only:
T and Z are stored as factors of the rows of A with shared variables. S is factored by Cholesky, or by a QR
factorisation of the rows Z, which does not square the condition number.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg, sparse
from scipy.linalg.blas import dsyrk
from scipy.linalg.lapack import dpotrf

from .cones import Array, Batch, Cones, Indices, SecondOrder
from .groups import WIDE, GroupStack, Index, as_slice, stack_groups
from .partition import Partition

# Regularisation of the diagonal, removed by refinement.
STATIC = 1e-12

# Refinement ends below this error relative to the right-hand side, or after so many solves.
REFINED = 1e-12
REFINEMENTS = 6

# Lifts of the diagonal of the unit-diagonal Schur complement.
LIFTS = (1e-14, 1e-12, 1e-10, 1e-8, 1e-6, 1e-4)

# Largest number of products of two entries of a sparse row for which these are stored.
STORED_PRODUCTS = 2**22


class KKTSolution(NamedTuple):
    """Solution of the KKT system, and A x."""

    x: Array
    z: Array
    Ax: Array


@dataclass(eq=False)
class WideCones:
    r"""Second-order cones of many entries, one in each group.

    With :math:`u = w_1 / \|w_1\|`, the scaling of :math:`(t, x)` acts on :math:`(t, u^\top x)` as the
    scaling of a cone of two entries. It divides the part perpendicular to u by η. So a wide cone has two
    rows in the reflections. The remaining part enters S directly:

    .. math:: \eta^{-2} A_1^\top (I - u u^\top) A_1 .

    Attributes
    ----------
    batch, which : the cones.
    rows : (k - 1, g) rows of all entries except the first.
    A1 : (variables of dense rows, k - 1, g), if these rows are dense.
    gram : (g, squares) their Gram matrices, if these are not much larger than the rows.
    u : (k - 1, g) directions.
    along : (variables of dense rows, g) rows u'A1, if dense.
    """

    batch: SecondOrder
    which: Index
    rows: Indices
    A1: Array | None
    gram: Array | None = None
    u: Array = field(init=False)
    along: Array = field(init=False)

    def __post_init__(self) -> None:
        if self.A1 is not None and len(self.A1) <= 2 * self.batch.k:
            stack = np.ascontiguousarray(self.A1.transpose(2, 0, 1))
            self.gram = (stack @ stack.swapaxes(1, 2)).reshape(len(stack), -1)

    def update(self) -> Array:
        """Compute u for the present scaling, and return the scaling of (t, u'x), (2, 2, g)."""
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
class _SomeCones:
    """Cones of one batch, one in each group."""

    batch: Batch
    which: Index

    def update(self) -> Array:
        """Return the present scalings, (k, k, g)."""
        return self.batch.Wt_inverse_matrices(self.which)


@dataclass(eq=False)
class _GroupFactor:
    """Groups of equal structure and their elimination.

    Attributes
    ----------
    private : place of each private variable, in all groups.
    pieces : the cones of a group.
    own : (k, p, g) coefficients of the private variables.
    active : which of the k rows have shared variables.
    shared_rows : for each active row its place among all rows, or the wide cones whose row u'A1 it is.
    coefficients : for each active row the array (variables of dense rows, g), if dense.
    dense : whether the active rows are dense.
    root : (p, g) square roots D of P and the regularisation.
    R : (p, p, g) triangles.
    T : (p, a, g) factors of the active rows beside the triangle.
    Z : (b, a, g) factors of the active rows below the triangle.
    triangular : whether Z is upper triangular, because it had more rows than columns.
    """

    private: list[Index]
    pieces: list[WideCones | _SomeCones]
    own: Array
    active: list[int]
    shared_rows: list[Any]
    coefficients: list[Any]
    dense: bool
    root: Array
    R: Array = field(init=False)
    T: Array = field(init=False)
    Z: Array = field(init=False)
    triangular: bool = False

    @property
    def wide(self) -> list[WideCones]:
        return [piece for piece in self.pieces if isinstance(piece, WideCones)]

    def reflect(self) -> None:
        """Reduce the private columns to triangles, for the present scalings."""
        k, p, g = self.own.shape
        a = len(self.active)
        G = np.zeros((k + p, p + a, g))
        first = 0
        for piece in self.pieces:
            scale = piece.update()
            rows = slice(first, first + len(scale))
            own = self.own[rows]
            G[rows, :p] = scale[0] * own if len(scale) == 1 else np.einsum("ijg,jpg->ipg", scale, own)
            for j, row in enumerate(self.active):
                if first <= row < first + len(scale):
                    G[rows, p + j] = scale[:, row - first]
            first += len(scale)
        G[k + np.arange(p), np.arange(p)] = self.root
        triangulate(G, p)
        self.R = G[:p, :p]
        self.T = G[:p, p:]
        self.Z = G[p:, p:]
        self.triangular = 1 < a < k
        if self.triangular:
            triangulate(self.Z, a)
            self.Z = self.Z[:a]

    @property
    def single(self) -> bool:
        """Whether one row of A has all shared variables of a group."""
        return len(self.shared_rows) == 1 and not self.wide

    @property
    def weighted_rows(self) -> list[Index]:
        """Rows of A that enter S by a weight."""
        rows = self.shared_rows if self.single else []
        return [*rows, *(wide.rows for wide in self.wide if wide.gram is None)]

    def add_weights(self, weight: Array) -> None:
        """Set the weights of these rows."""
        values = [np.einsum("kg,kg->g", self.Z[:, 0], self.Z[:, 0])] if self.single else []
        values += [wide.weight for wide in self.wide if wide.gram is None]
        for rows, value in zip(self.weighted_rows, values, strict=True):
            weight[rows] = value

    def dense_Z(self, groups: slice = slice(None)) -> Array:
        """Return the rows Z over the variables of dense rows, (k, b g), for some groups with dense rows."""
        Z = self.Z[:, :, groups]
        parts = [
            (row.along if isinstance(row, WideCones) else coefficients)[:, groups]
            for row, coefficients in zip(self.shared_rows, self.coefficients, strict=True)
        ]
        out = np.empty((len(parts[0]), len(Z), Z.shape[2]))
        for i, factors in enumerate(Z):
            first = i if self.triangular else 0
            np.multiply(parts[first], factors[first], out=out[:, i])
            for part, factor in zip(parts[first + 1 :], factors[first + 1 :], strict=True):
                out[:, i] += part * factor
        return out.reshape(len(out), -1)

    def gather(self, values: Array) -> Array:
        """Return the entries of the active rows of a vector over all rows, (a, g)."""
        out = np.empty((len(self.shared_rows), self.own.shape[2]))
        for entry, row in zip(out, self.shared_rows, strict=True):
            if isinstance(row, WideCones):
                entry[:] = np.einsum("kg,kg->g", row.u, values[row.rows])
            else:
                entry[:] = values[row]
        return out

    def scatter(self, entries: Array, out: Array) -> None:
        """Add the transpose of gather to a vector over all rows."""
        for row, entry in zip(self.shared_rows, entries, strict=True):
            if isinstance(row, WideCones):
                out[row.rows] += row.u * entry
            else:
                out[row] += entry


class Newton:
    """Factorisation of the KKT system for given scalings, and its solutions.

    Attributes
    ----------
    error : error of the last solve, relative to its right-hand side.
    """

    def __init__(self, partition: Partition, cones: Cones):
        self.cones = cones
        self.partition = partition
        self.position = np.zeros(cones.size, int)  # of a row among the dense or the sparse ones
        for rows in (partition.dense_rows, partition.sparse_rows):
            self.position[rows] = np.arange(len(self.position[rows]))
        stacks = stack_groups(partition.own, cones, partition.group, partition.active, partition.is_dense)
        self.parts = [self._group_factor(stack) for stack in stacks]
        self.stored_products = _stored_products(partition.sparse)
        # Few weighted rows among many dense ones are copied.
        weighted = np.zeros(cones.size, bool)
        for rows in (rows for part in self.parts for rows in part.weighted_rows):
            weighted[rows] = True
        places = np.flatnonzero(weighted[partition.dense_rows])
        few = 2 * len(places) < partition.dense.shape[1]
        self.weighted_dense = as_slice(places) if few else slice(None)
        self.weighted_dense_rows = partition.dense[:, self.weighted_dense]

    def _group_factor(self, stack: GroupStack) -> _GroupFactor:
        """Return the factor of a stack of groups, with its wide cones apart."""
        p, g = stack.private.shape
        pieces = list[WideCones | _SomeCones]()
        own = [np.empty((0, p, g))]
        shared_rows = list[Any]()
        first = 0
        for batch, which in stack.cones:
            rows = stack.rows[first : first + batch.k]
            own_rows = stack.own[first : first + batch.k]
            places: list[Any] = [
                as_slice(row) if first + j in stack.active else None for j, row in enumerate(rows)
            ]
            if isinstance(batch, SecondOrder) and batch.k > WIDE and not own_rows[1:].any():
                A1 = None
                if stack.dense:
                    A1 = self._coefficients(rows[1:].ravel()).reshape(-1, batch.k - 1, g)
                wide = WideCones(batch, as_slice(which), rows[1:], A1)
                pieces.append(wide)
                own.append(np.stack([own_rows[0], np.zeros((p, g))]))
                shared_rows += [places[0], None if places[1] is None else wide]
            else:
                pieces.append(_SomeCones(batch, as_slice(which)))
                own.append(own_rows)
                shared_rows += places
            first += batch.k
        active = [i for i, row in enumerate(shared_rows) if row is not None]
        shared_rows = [shared_rows[i] for i in active]
        all_rows = np.arange(self.cones.size)
        coefficients = [
            None if isinstance(row, WideCones) or not stack.dense else self._coefficients(all_rows[row])
            for row in shared_rows
        ]
        root = np.sqrt(self.partition.P_own[stack.private] + STATIC)
        private = [as_slice(each) for each in stack.private]
        return _GroupFactor(
            private, pieces, np.concatenate(own), active, shared_rows, coefficients, stack.dense, root
        )

    def _coefficients(self, rows: Indices) -> Array:
        """Return the shared coefficients of dense rows, (k, rows)."""
        return self.partition.dense[:, as_slice(self.position[rows])]

    # ------------------------------------------------------------------ factorisation

    def factor(self, by_qr: bool = False) -> None:
        """Factor the system for the present scalings, by Cholesky or by the more accurate QR."""
        weight = np.zeros(self.cones.size)
        for part in self.parts:
            part.reflect()
            part.add_weights(weight)
        several = [part for part in self.parts if len(part.shared_rows) and not part.single]
        if by_qr:
            self._factor_by_qr(weight, several)
        else:
            self._factor_by_cholesky(self._schur_complement(weight, several))

    def _schur_complement(self, weight: Array, several: list[_GroupFactor]) -> Array:
        """Return S, of which the upper triangle is valid.

        Parameters
        ----------
        weight : (rows,) array
            Weights of the rows of A that enter S by a weight.
        several : list of _GroupFactor
            Groups with several rows Z.
        """
        partition = self.partition
        k = partition.k
        S = np.array(partition.P_shared, order="F")
        D = np.asfortranarray(S[:k, :k])
        root = np.sqrt(weight[partition.dense_rows][self.weighted_dense])
        for block in partition.blocks(len(root)):
            D = _add_gram(D, self.weighted_dense_rows[:, block] * root[block])
        for part in several:
            if part.dense:
                for groups in partition.blocks(part.Z.shape[2], len(part.Z)):
                    D = _add_gram(D, part.dense_Z(groups))
                for wide in part.wide:
                    D = _add_dense_wide(D, wide)
        S[:k, :k] = D
        for part in several:
            if not part.dense:
                rows = self._sparse_Z(part)
                S += (rows.T @ rows).toarray()
                for wide in part.wide:
                    self._add_sparse_wide(S, wide)
        sparse_weight = weight[partition.sparse_rows]
        if self.stored_products is not None:
            where, products = self.stored_products
            S.reshape(-1, order="F")[where] += products @ sparse_weight
        elif np.any(sparse_weight > 0):
            S += (partition.sparse.T @ sparse.diags_array(sparse_weight) @ partition.sparse).toarray()
        return S

    def _add_sparse_wide(self, S: Array, wide: WideCones) -> None:
        """Add the part of wide cones that is perpendicular to u to S, which has A1'A1 by a weight."""
        k, g = wide.u.shape
        where = np.broadcast_to(np.arange(g), (k, g)).ravel(), self.position[wide.rows].ravel()
        factors = (wide.u * np.sqrt(wide.weight)).ravel()
        left = sparse.csr_array((factors, where), (g, self.partition.sparse.shape[0]))
        rows = left @ self.partition.sparse
        S -= (rows.T @ rows).toarray()

    def _sparse_Z(self, part: _GroupFactor) -> Any:
        """Return the rows Z over all shared variables as a sparse matrix."""
        b, _, g = part.Z.shape
        number = np.arange(b * g).reshape(b, g)
        out = sparse.csr_array((b * g, self.partition.r))
        for j, row in enumerate(part.shared_rows):
            if isinstance(row, WideCones):
                place = self.position[row.rows]
                factors = part.Z[:, j, None] * row.u
            else:
                place = self.position[row][None]
                factors = part.Z[:, j, None]
            into = np.broadcast_to(number[:, None], factors.shape).ravel()
            source = np.broadcast_to(place, factors.shape).ravel()
            shape = (b * g, self.partition.sparse.shape[0])
            out = out + sparse.csr_array((factors.ravel(), (into, source)), shape) @ self.partition.sparse
        return sparse.csr_array(out)

    def _factor_by_cholesky(self, S: Array) -> None:
        """Factor S after scaling to unit diagonal, with the first lift for which that is possible.

        The lifted factor is written here again, because this package imports nothing of the library.
        """
        diagonal = np.diagonal(S).copy()
        if not np.isfinite(diagonal).all():
            raise FloatingPointError("the Schur complement is not finite")
        scale = np.sqrt(np.maximum(diagonal, 0.0) + STATIC)
        S /= scale[:, None]
        S /= scale
        for lift in LIFTS:
            np.fill_diagonal(S, (diagonal + STATIC) / scale**2 + lift)
            factor, failed = dpotrf(S, lower=0, clean=0)
            if not failed:
                self.upper = factor
                self.scale = scale
                self.order = slice(None)
                return
        raise FloatingPointError("the Schur complement is not positive definite")

    def _factor_by_qr(self, weight: Array, several: list[_GroupFactor]) -> None:
        """Compute the factor U of S = U'U by a pivoted QR factorisation of the rows, large rows first."""
        partition = self.partition
        all_wide = [wide for part in several for wide in part.wide]
        for wide in all_wide:
            weight[wide.rows] = 0.0  # their perpendicular parts are rows of their own
        root = np.sqrt(weight[partition.dense_rows][self.weighted_dense])
        sparse_part = sparse.diags_array(np.sqrt(weight[partition.sparse_rows])) @ partition.sparse
        rows = np.vstack(
            [
                self._root_P,
                self._widened((self.weighted_dense_rows * root).T),
                sparse_part.toarray(),
                *(
                    self._widened(part.dense_Z().T) if part.dense else self._sparse_Z(part).toarray()
                    for part in several
                ),
                *(self._widened(self._perpendicular(wide)) for wide in all_wide),
            ]
        )
        sizes = np.einsum("ij,ij->i", rows, rows)
        if not np.isfinite(sizes).all():
            raise FloatingPointError("a row is not finite")
        n = rows.shape[1]
        rows = rows[np.argsort(-sizes, kind="stable")]
        rows = np.vstack([rows, np.sqrt(STATIC) * np.eye(n)])
        R, self.order = linalg.qr(rows, mode="r", pivoting=True, overwrite_a=True, check_finite=False)
        self.upper = R[:n]
        self.scale = np.ones(n)

    def _widened(self, rows: Array) -> Array:
        """Return rows over the first shared variables as rows over all of them."""
        return np.pad(rows, ((0, 0), (0, self.partition.r - rows.shape[1])))

    @cached_property
    def _root_P(self) -> Array:
        """Rows whose Gram matrix is P over the shared variables."""
        values, vectors = linalg.eigh(self.partition.P_shared)
        return np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T

    def _perpendicular(self, wide: WideCones) -> Array:
        """Return the rows (I - uu')A1 / η."""
        k, g = wide.u.shape
        A1 = wide.A1
        if A1 is None:
            rows = self.partition.sparse[self.position[wide.rows].ravel()].toarray()
            A1 = rows.T.reshape(-1, k, g)
        along = np.einsum("kg,rkg->rg", wide.u, A1)
        rest = (A1 - along[:, None] * wide.u) * np.sqrt(wide.weight)
        return np.asarray(rest.reshape(len(rest), -1).T)

    # ------------------------------------------------------------------ solution

    def solve(self, r1: Array, r2: Array) -> KKTSolution:
        """Return x, z and A x, refined against the system without regularisation."""
        best = x, z, Ax = self._solve_once(r1, r2)
        scale = max(_largest(r1), _largest(r2), 1e-300)
        least = np.inf
        for _ in range(REFINEMENTS):
            e1 = r1 - self.partition.times_P(x) - self.partition.times_At(z)
            e2 = r2 - Ax + self.cones.WtW(z)
            error = max(_largest(e1), _largest(e2)) / scale
            if not error < 0.5 * least:
                break
            best = KKTSolution(x, z, Ax)
            least = error
            if error < REFINED:
                break
            more = self._solve_once(e1, e2)
            x = x + more.x
            z = z + more.z
            Ax = Ax + more.Ax
        self.error = least
        return best

    def _solve_once(self, r1: Array, r2: Array) -> KKTSolution:
        """Return the solution by block elimination, without refinement."""
        partition = self.partition
        r = partition.r
        rows = self.cones.WtW_inverse(r2)
        right = r1[r:] + partition.own_t @ rows
        eliminated = [part for part in self.parts if part.private]
        halves = []
        for part in eliminated:
            own = np.array([right[each] for each in part.private])
            half = solve_triangles(part.R, own, transposed=True)
            halves.append(half)
            part.scatter(-np.einsum("pag,pg->ag", part.T, half), rows)
        shared = self._solve_shared(r1[:r] + partition.to_shared(rows))
        Ax = partition.over_shared(shared)
        v = np.empty(len(right))
        for part, half in zip(eliminated, halves, strict=True):
            rest = half - np.einsum("pag,ag->pg", part.T, part.gather(Ax))
            solved = solve_triangles(part.R, rest, transposed=False)
            for each, values in zip(part.private, solved, strict=True):
                v[each] = values
        Ax += partition.own @ v
        return KKTSolution(np.concatenate([shared, v]), self.cones.WtW_inverse(Ax - r2), Ax)

    def _solve_shared(self, right: Array) -> Array:
        """Return the solution of S u = right."""
        out = np.empty(len(right))
        permuted = (right / self.scale)[self.order]
        out[self.order] = linalg.cho_solve((self.upper, False), permuted, check_finite=False)
        out /= self.scale
        return out


def _add_gram(S: Array, rows: Array, sign: float = 1.0) -> Array:
    """Return S with the Gram matrix of rows (k, n) added to its upper triangle."""
    return np.asarray(dsyrk(sign, rows.T, trans=1, beta=1.0, c=S, overwrite_c=True))


def _add_dense_wide(D: Array, wide: WideCones) -> Array:
    """Return D with the part of wide cones that is perpendicular to u; A1'A1 may be in D by a weight."""
    if wide.gram is not None:
        D += (wide.weight @ wide.gram).reshape(D.shape)
    return _add_gram(D, wide.along * np.sqrt(wide.weight), -1.0)


def _largest(x: Array) -> float:
    return float(np.abs(x).max(initial=0.0))


def triangulate(G: Array, columns: int) -> None:
    """Make the first columns of many small matrices (k, c, g) upper triangular by reflections, in place."""
    for j in range(columns):
        v = G[j:, j].copy()
        v[0] += np.copysign(np.sqrt(np.einsum("kg,kg->g", v, v)), v[0])
        square = np.einsum("kg,kg->g", v, v)
        factor = np.where(square > 0, 2.0 / square, 0.0)
        for c in range(j, G.shape[1]):
            G[j:, c] -= v * (np.einsum("kg,kg->g", v, G[j:, c]) * factor)


def solve_triangles(R: Array, b: Array, transposed: bool) -> Array:
    """Solve R x = b or R'x = b for many small upper triangles (p, p, g), in place of b."""
    p = len(R)
    for j in range(p) if transposed else range(p - 1, -1, -1):
        for i in range(j) if transposed else range(j + 1, p):
            b[j] -= (R[i, j] if transposed else R[j, i]) * b[i]
        b[j] /= R[j, j]
    return b


def _stored_products(A: Any) -> tuple[Indices, Any] | None:
    """Return the places of A'diag(w)A that are not zero, and the matrix that maps w to these entries.

    None if there are too many products of two entries of a row.
    """
    length = np.diff(A.indptr)
    if not 0 < int(np.sum(length**2)) <= STORED_PRODUCTS:
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
