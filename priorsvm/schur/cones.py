r"""Nesterov-Todd scaling, Jordan products and step lengths, for all cones of one kind and size at once.

A batch holds n cones of k entries each in arrays (k, n). The first entries of all cones come first, so NumPy
loops along the cones, however small they are. At strictly feasible s and z the Nesterov-Todd scaling point
defines a linear map W with

.. math:: \lambda = W z = W^{-\top} s .

In these scaled coordinates the central path :math:`s \circ z = \mu e` becomes :math:`\lambda \circ \lambda =
\mu e`, where :math:`\circ` is the Jordan product of the cone and e its identity:

- nonnegative numbers: :math:`W = \operatorname{diag}(\sqrt{s_i / z_i})`;
- second-order cones: :math:`W^\top W = \eta^2 (2 w w^\top - J)`, with :math:`J = \operatorname{diag}(1, -I)`;
- positive semidefinite matrices: :math:`W X = R^\top X R`, with :math:`R R^\top` the scaling point.

A step :math:`\lambda + t d` stays in the cone until :math:`1 + t\,\sigma = 0`, where :math:`\sigma` is the
smallest eigenvalue of d in coordinates in which :math:`\lambda` is the identity.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Indices = NDArray[Any]  # integers or booleans

# Smallest determinant of a point of a second-order cone.
TINY = 1e-300


@dataclass(eq=False)
class Batch:
    """Batch of cones of one kind and size.

    Attributes
    ----------
    start : index of the first of its k n rows.
    n, k : number of cones, and entries of each.
    degree : degree of the barrier of each cone.
    lam : (k, n) array, the scaled point λ.
    """

    start: int
    n: int
    k: int
    degree: int = 1
    lam: Array = field(init=False)

    @property
    def stop(self) -> int:
        return self.start + self.n * self.k

    def part(self, vector: Array) -> Array:
        """Return the part of a vector over all rows that belongs to this batch, (k, n)."""
        return vector[self.start : self.stop].reshape(self.k, self.n)

    def resized(self, start: int, n: int) -> Batch:
        """Return a batch of n cones of this kind and size that begins at another row."""
        return type(self)(start, n, self.k)

    def separator(self, x: Array) -> Array:
        """Return points z of the cones with x'z < 0, for points x outside their cones."""
        raise NotImplementedError

    def identity(self) -> Array:
        """Return the identity e of each cone, (k, n)."""
        raise NotImplementedError

    def min_eigenvalue(self, x: Array) -> Array:
        """Return the smallest eigenvalue of each point: the largest t with x - t e in the cone."""
        raise NotImplementedError

    def update_scaling(self, s: Array, z: Array) -> None:
        """Compute W and λ at s and z."""
        raise NotImplementedError

    def W(self, x: Array) -> Array:
        """Return :math:`W x`."""
        raise NotImplementedError

    def Wt(self, x: Array) -> Array:
        """Return :math:`W^\\top x`."""
        raise NotImplementedError

    def Wt_inverse(self, x: Array) -> Array:
        """Return :math:`W^{-\\top} x`."""
        raise NotImplementedError

    def WtW(self, x: Array) -> Array:
        """Return :math:`W^\\top W x`."""
        raise NotImplementedError

    def WtW_inverse(self, x: Array) -> Array:
        """Return :math:`(W^\\top W)^{-1} x`."""
        raise NotImplementedError

    def Wt_inverse_matrices(self, which: Any) -> Array:
        """Return the matrices :math:`W^{-\\top}` of some cones, (k, k, cones)."""
        raise NotImplementedError

    def product(self, a: Array, b: Array) -> Array:
        """Return the Jordan product a ∘ b."""
        raise NotImplementedError

    def divide(self, b: Array) -> Array:
        """Return the x with λ ∘ x = b."""
        raise NotImplementedError

    def step_length(self, d: Array) -> float:
        """Return the largest t for which all λ + t d are in their cones."""
        raise NotImplementedError

    def min_eigenvalue_of_lam(self) -> float:
        """Return the smallest eigenvalue of all λ."""
        return float(self.min_eigenvalue(self.lam).min())


class Nonnegative(Batch):
    """Batch of nonnegative numbers; k is 1."""

    def separator(self, x: Array) -> Array:
        return np.ones_like(x)

    def identity(self) -> Array:
        return np.ones((1, self.n))

    def min_eigenvalue(self, x: Array) -> Array:
        return x[0]

    def update_scaling(self, s: Array, z: Array) -> None:
        self.w2 = s / z
        self.w = np.sqrt(self.w2)
        self.lam = np.sqrt(s * z)

    def W(self, x: Array) -> Array:
        return self.w * x

    def Wt_inverse(self, x: Array) -> Array:
        return x / self.w

    Wt = W

    def WtW(self, x: Array) -> Array:
        return self.w2 * x

    def WtW_inverse(self, x: Array) -> Array:
        return x / self.w2

    def Wt_inverse_matrices(self, which: Any) -> Array:
        return 1.0 / self.w[:, None, which]

    def product(self, a: Array, b: Array) -> Array:
        return a * b

    def divide(self, b: Array) -> Array:
        return b / self.lam

    def step_length(self, d: Array) -> float:
        return _step_for(float((d / self.lam).min(initial=0.0)))


class SecondOrder(Batch):
    r"""Batch of second-order cones, :math:`(t, x)` with :math:`\|x\| \le t`.

    .. math:: W = \eta \begin{pmatrix} w_0 & w_1^\top \\ w_1 & I + w_1 w_1^\top / (1 + w_0) \end{pmatrix},
              \qquad W^\top W = \eta^2 (2 w w^\top - J),

    with :math:`w_0^2 - \|w_1\|^2 = 1` and :math:`J = \operatorname{diag}(1, -I)`. Products with both need no
    matrix.
    """

    def separator(self, x: Array) -> Array:
        norm = np.linalg.norm(x[1:], axis=0)
        return np.vstack([np.ones((1, x.shape[1])), -x[1:] / np.where(norm > 0, norm, 1.0)])

    def identity(self) -> Array:
        e = np.zeros((self.k, self.n))
        e[0] = 1.0
        return e

    def min_eigenvalue(self, x: Array) -> Array:
        return x[0] - _norm(x[1:])

    def update_scaling(self, s: Array, z: Array) -> None:
        root_s = _root_determinant(s)
        root_z = _root_determinant(z)
        s = s / root_s
        z = z / root_z
        w = (s + _reflect(z)) / np.sqrt(2.0 * (1.0 + _dot(s, z)))
        w[0] = np.sqrt(1.0 + _dot(w[1:], w[1:]))  # exact determinant 1 despite rounding
        self.w = w
        self.eta = np.sqrt(root_s / root_z)
        self.eta2 = root_s / root_z
        self.lam = self.W(z * root_z)
        self.lam_root = _root_determinant(self.lam)

    def W(self, x: Array) -> Array:
        return self._unit_scaling(x, 1.0) * self.eta

    def Wt_inverse(self, x: Array) -> Array:
        return self._unit_scaling(x, -1.0) / self.eta

    Wt = W

    def _unit_scaling(self, x: Array, sign: float) -> Array:
        """Return W x / η for sign 1, and η W^-1 x for sign -1, which replaces w1 by -w1."""
        w = self.w
        inner = _dot(self.w[1:], x[1:])
        out = w * (sign * x[0] + inner / (1.0 + w[0]))
        out[1:] += x[1:]
        out[0] = w[0] * x[0] + sign * inner
        return out

    def WtW(self, x: Array) -> Array:
        return (self.w * (2.0 * _dot(self.w, x)) - _reflect(x)) * self.eta2

    def WtW_inverse(self, x: Array) -> Array:
        w = self.w
        t = x[0]
        out = w * (2.0 * (_dot(w[1:], x[1:]) - w[0] * t))
        out[0] *= -1.0
        out[1:] += x[1:]
        out[0] -= t
        return out / self.eta2

    def Wt_inverse_matrices(self, which: Any) -> Array:
        w = _reflect(self.w[:, which])
        out = np.empty((self.k, self.k, w.shape[1]))
        out[0] = w
        out[1:, 0] = w[1:]
        np.multiply(w[1:, None], w[None, 1:] / (1.0 + w[0]), out=out[1:, 1:])
        out[range(1, self.k), range(1, self.k)] += 1.0
        return out / self.eta[which]

    def product(self, a: Array, b: Array) -> Array:
        out = a[0] * b + b[0] * a
        out[0] = _dot(a, b)
        return out

    def divide(self, b: Array) -> Array:
        lam = self.lam
        first = (lam[0] * b[0] - _dot(lam[1:], b[1:])) / self.lam_root**2
        out = (b - first * lam) / lam[0]
        out[0] = first
        return out

    def step_length(self, d: Array) -> float:
        # In coordinates in which λ is the identity.
        lam = self.lam / self.lam_root
        inner = lam[0] * d[0] - _dot(lam[1:], d[1:])
        rest = d[1:] - ((inner + d[0]) / (lam[0] + 1.0)) * lam[1:]
        return _step_for(float(((inner - _norm(rest)) / self.lam_root).min(initial=0.0)))


class Semidefinite(Batch):
    r"""Batch of positive semidefinite matrices.

    A matrix is stored as its upper triangle by columns, times :math:`\sqrt2` off the diagonal. With
    :math:`S = L L^\top`, :math:`Z = M M^\top` and the singular values :math:`M^\top L = U \Lambda V^\top`,

    .. math:: W X = R^\top X R, \qquad R = L V \Lambda^{-1/2}, \qquad R^{-1} = \Lambda^{-1/2} U^\top M^\top,
              \qquad \lambda = \Lambda .
    """

    def __init__(self, start: int, n: int, side: int):
        super().__init__(start, n, side * (side + 1) // 2, side)
        self.side = side
        columns, rows = np.tril_indices(side)  # the upper triangle, column by column
        self.rows = rows
        self.columns = columns
        self.root2 = np.where(rows == columns, 1.0, np.sqrt(2.0))

    def resized(self, start: int, n: int) -> Batch:
        return Semidefinite(start, n, self.side)

    def separator(self, x: Array) -> Array:
        lowest = np.linalg.eigh(self.matrix(x))[1][:, :, 0]
        return self.vector(lowest[:, :, None] * lowest[:, None, :])

    def matrix(self, x: Array) -> Array:
        """Return the matrices, (n, side, side)."""
        M = np.empty((x.shape[1], self.side, self.side))
        M[:, self.rows, self.columns] = M[:, self.columns, self.rows] = x.T / self.root2
        return M

    def vector(self, M: Array) -> Array:
        """Return the stored form of the symmetric part of matrices."""
        upper: Array = M[:, self.rows, self.columns] + M[:, self.columns, self.rows]
        return np.ascontiguousarray((0.5 * upper * self.root2).T)

    def identity(self) -> Array:
        return np.repeat((self.rows == self.columns).astype(float)[:, None], self.n, axis=1)

    def min_eigenvalue(self, x: Array) -> Array:
        return np.asarray(np.linalg.eigvalsh(self.matrix(x))[:, 0], float)

    def update_scaling(self, s: Array, z: Array) -> None:
        L = np.linalg.cholesky(self.matrix(s))
        M = np.linalg.cholesky(self.matrix(z))
        U, singular, Vt = np.linalg.svd(np.swapaxes(M, 1, 2) @ L)
        root = np.sqrt(singular)
        self.R = L @ (np.swapaxes(Vt, 1, 2) / root[:, None, :])
        self.R_inverse = (np.swapaxes(U / root[:, None, :], 1, 2)) @ np.swapaxes(M, 1, 2)
        self.RRt = self.R @ np.swapaxes(self.R, 1, 2)
        self.RRt_inverse = np.swapaxes(self.R_inverse, 1, 2) @ self.R_inverse
        self.eigenvalues = singular
        self.lam = self.vector(singular[:, :, None] * np.eye(self.side))
        self.mean_eigenvalues = 0.5 * (singular[:, :, None] + singular[:, None, :])

    def _congruence(self, left: Array, x: Array) -> Array:
        """Return left X left'."""
        return self.vector(left @ self.matrix(x) @ np.swapaxes(left, 1, 2))

    def W(self, x: Array) -> Array:
        return self._congruence(np.swapaxes(self.R, 1, 2), x)

    def Wt(self, x: Array) -> Array:
        return self._congruence(self.R, x)

    def Wt_inverse(self, x: Array) -> Array:
        return self._congruence(self.R_inverse, x)

    def WtW(self, x: Array) -> Array:
        return self._congruence(self.RRt, x)

    def WtW_inverse(self, x: Array) -> Array:
        return self._congruence(self.RRt_inverse, x)

    def Wt_inverse_matrices(self, which: Any) -> Array:
        # Column l is R^-1 E_l R^-T, with E_l an orthonormal basis of the symmetric matrices.
        R = self.R_inverse[which]
        i = self.rows
        j = self.columns
        pairs = R[:, i][:, :, i] * R[:, j][:, :, j] + R[:, i][:, :, j] * R[:, j][:, :, i]
        return np.moveaxis(pairs * (self.root2[:, None] * self.root2 / 2.0), 0, 2)

    def product(self, a: Array, b: Array) -> Array:
        A = self.matrix(a)
        B = self.matrix(b)
        return self.vector(0.5 * (A @ B + B @ A))

    def divide(self, b: Array) -> Array:
        return self.vector(self.matrix(b) / self.mean_eigenvalues)

    def step_length(self, d: Array) -> float:
        root = np.sqrt(self.eigenvalues)
        scaled = self.matrix(d) / (root[:, :, None] * root[:, None, :])
        return _step_for(float(np.linalg.eigvalsh(scaled).min(initial=0.0)))


def _dot(a: Array, b: Array) -> Array:
    """Return the inner product of each cone."""
    return np.asarray(np.einsum("kn,kn->n", a, b))


def _norm(x: Array) -> Array:
    return np.sqrt(_dot(x, x))


def _reflect(x: Array) -> Array:
    """Return (t, -x) for (t, x)."""
    out = -x
    out[0] = x[0]
    return out


def _step_for(eigenvalue: float) -> float:
    """Return the step at which 1 + t times the smallest eigenvalue is zero."""
    return np.inf if eigenvalue >= 0 else -1.0 / eigenvalue


def _root_determinant(x: Array) -> Array:
    r"""Return :math:`\sqrt{t^2 - \|x\|^2}`."""
    norm = _norm(x[1:])
    return np.sqrt(np.maximum((x[0] - norm) * (x[0] + norm), TINY))


class Cones:
    """All cones of a problem, for vectors over all rows in the order of the batches."""

    def __init__(self, batches: list[Batch]):
        self.batches = batches
        self.size = sum(batch.n * batch.k for batch in batches)
        self.degree = sum(batch.n * batch.degree for batch in batches)

    @cached_property
    def lengths(self) -> Indices:
        """Number of rows of each cone."""
        return np.repeat([batch.k for batch in self.batches], [batch.n for batch in self.batches])

    @cached_property
    def cone_of(self) -> Indices:
        """Index of the cone of each row."""
        out = np.empty(self.size, int)
        first = 0
        for batch in self.batches:
            batch.part(out)[...] = first + np.arange(batch.n)
            first += batch.n
        return out

    def _each(self, name: str, *vectors: Array) -> Array:
        """Return the results of a method of all batches, as one vector."""
        found = [
            np.ravel(getattr(batch, name)(*(batch.part(vector) for vector in vectors)))
            for batch in self.batches
        ]
        return found[0] if len(found) == 1 else np.concatenate([np.empty(0), *found])

    def identity(self) -> Array:
        return self._each("identity")

    def min_eigenvalue(self, x: Array) -> float:
        return min((float(b.min_eigenvalue(b.part(x)).min()) for b in self.batches if b.n), default=np.inf)

    def update_scaling(self, s: Array, z: Array) -> None:
        for batch in self.batches:
            batch.update_scaling(batch.part(s), batch.part(z))

    @property
    def lam(self) -> Array:
        return np.concatenate([np.empty(0), *(batch.lam.ravel() for batch in self.batches)])

    def W(self, x: Array) -> Array:
        return self._each("W", x)

    def Wt(self, x: Array) -> Array:
        return self._each("Wt", x)

    def Wt_inverse(self, x: Array) -> Array:
        return self._each("Wt_inverse", x)

    def WtW(self, x: Array) -> Array:
        return self._each("WtW", x)

    def WtW_inverse(self, x: Array) -> Array:
        return self._each("WtW_inverse", x)

    def product(self, a: Array, b: Array) -> Array:
        return self._each("product", a, b)

    def divide(self, b: Array) -> Array:
        return self._each("divide", b)

    def min_eigenvalue_of_lam(self) -> float:
        """Return the smallest eigenvalue of λ."""
        return min((b.min_eigenvalue_of_lam() for b in self.batches if b.n), default=np.inf)

    def step_length(self, *directions: Array) -> float:
        """Return the longest step along all of these scaled directions that stays in the cones."""
        return min(
            (b.step_length(b.part(d)) for b in self.batches if b.n for d in directions), default=np.inf
        )


def cones_from_dims(nonnegative: int, orders: Any, sides: Any) -> tuple[Cones, Indices]:
    """Return the cones of CVXPY's dimensions, and CVXPY's rows in the order of the batches.

    Parameters
    ----------
    nonnegative : int
        Number of inequalities.
    orders : sequence of int
        Entries of each second-order cone.
    sides : sequence of int
        Sides of the semidefinite matrices.
    """
    order = [np.arange(nonnegative)]
    found = list[Batch]()
    row = nonnegative
    start = nonnegative
    if nonnegative:
        found.append(Nonnegative(0, nonnegative, 1))
    kinds: tuple[tuple[type[Batch], Sequence[int], Callable[[int], int]], ...] = (
        (SecondOrder, orders, lambda k: k),
        (Semidefinite, sides, lambda k: k * (k + 1) // 2),
    )
    for kind, sizes, rows in kinds:
        starts: dict[int, list[int]] = {}
        for size in (size for size in sizes if size > 0):
            starts.setdefault(size, []).append(row)
            row += rows(size)
        for size, first in starts.items():
            if kind is SecondOrder and size == 1:
                found.append(Nonnegative(start, len(first), 1))
            else:
                found.append(kind(start, len(first), size))
            order.append((np.array(first) + np.arange(rows(size))[:, None]).ravel())
            start += len(first) * rows(size)
    return Cones(found), np.concatenate(order)


def drop_empty_cones(used: Indices, b: Array, cones: Cones) -> tuple[Indices, Cones, Array | None]:
    """Drop the cones without variables.

    Parameters
    ----------
    used : array of bool
        Whether each row has a variable.
    b : array
        Right-hand side. A cone without variables must contain its part of b.
    cones : Cones
        All cones.

    Returns
    -------
    kept : array of int
        Rows of the remaining cones.
    remaining : Cones
        The remaining cones.
    certificate : array or None
        None if each dropped cone contains its part of b. Otherwise a z in the cones with A'z = 0 and b'z < 0.
    """
    kept = list[Indices]()
    remaining = list[Batch]()
    start = 0
    for batch in cones.batches:
        has_variable = batch.part(used).any(axis=0)
        values = batch.part(b)
        outside = batch.min_eigenvalue(values) < -1e-9 * (1.0 + np.abs(values).max(axis=0))
        for cone in np.flatnonzero(~has_variable & outside):
            z = np.zeros(cones.size)
            batch.part(z)[:, cone] = batch.separator(values[:, cone : cone + 1])[:, 0]
            return np.arange(cones.size), cones, z
        if has_variable.any():
            rows = batch.start + np.arange(batch.n * batch.k).reshape(batch.k, batch.n)
            kept.append(rows[:, has_variable].ravel())
            remaining.append(batch.resized(start, int(has_variable.sum())))
            start += len(kept[-1])
    return np.concatenate([np.empty(0, int), *kept]), Cones(remaining), None
