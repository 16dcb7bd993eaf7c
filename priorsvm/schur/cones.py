r"""Cones, all of one kind and size at once: their scaling, products and steps.

A batch works on arrays (k, n): n cones with k entries each, the first entries of all cones first, so that
NumPy runs along the cones however small they are. At strictly feasible s and z the scaling point of Nesterov
and Todd gives a linear map W with

.. math:: \lambda = W z = W^{-\top} s ,

the same point seen from both sides. In these coordinates :math:`s \circ z = \mu e` is
:math:`\lambda \circ \lambda = \mu e`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Indices = NDArray[Any]  # whole numbers, or whether

# How long a step may be before it counts as leaving nothing to divide by.
TINY = 1e-300


@dataclass(eq=False)
class Batch:
    """n cones of one kind and size.

    Attributes
    ----------
    start : the first of its k n rows among all rows.
    n, k : how many, and entries of each.
    degree : what each adds to the degree of the barrier.
    """

    start: int
    n: int
    k: int
    degree: int = 1
    lam: Array = field(init=False)

    @property
    def stop(self) -> int:
        return self.start + self.n * self.k

    def of(self, vector: Array) -> Array:
        """Its part of a vector over all rows, (k, n)."""
        return vector[self.start : self.stop].reshape(self.k, self.n)

    def moved(self, start: int, n: int) -> Batch:
        """So many cones of the same kind and size, elsewhere."""
        return type(self)(start, n, self.k)

    def against(self, x: Array) -> Array:
        """For points outside their cones: points z in them with x'z < 0."""
        raise NotImplementedError

    def identity(self) -> Array:
        """e, (k, n)."""
        raise NotImplementedError

    def margin(self, x: Array) -> Array:
        """How far each of n points is inside its cone: the largest t with x - t e in it."""
        raise NotImplementedError

    def rescale(self, s: Array, z: Array) -> None:
        """Work out W and λ."""
        raise NotImplementedError

    def W(self, x: Array) -> Array:
        raise NotImplementedError

    def Wt(self, x: Array) -> Array:
        """:math:`W^\\top x`."""
        raise NotImplementedError

    def Wt_inverse(self, x: Array) -> Array:
        """:math:`W^{-\\top} x`."""
        raise NotImplementedError

    def square(self, x: Array) -> Array:
        """:math:`W^\\top W x`."""
        raise NotImplementedError

    def square_inverse(self, x: Array) -> Array:
        """:math:`(W^\\top W)^{-1} x`."""
        raise NotImplementedError

    def matrices(self, which: Any) -> Array:
        """:math:`W^{-\\top}` of some cones, (k, k, cones)."""
        raise NotImplementedError

    def product(self, a: Array, b: Array) -> Array:
        """a ∘ b."""
        raise NotImplementedError

    def divide(self, b: Array) -> Array:
        """The x with λ ∘ x = b."""
        raise NotImplementedError

    def step(self, d: Array) -> float:
        """The largest t at which all λ + t d are in their cones."""
        raise NotImplementedError

    def least(self) -> float:
        """The least eigenvalue of all λ."""
        return float(self.margin(self.lam).min())


class Nonnegative(Batch):
    """Numbers :math:`\\ge 0`; k is 1."""

    def against(self, x: Array) -> Array:
        return np.ones_like(x)

    def identity(self) -> Array:
        return np.ones((1, self.n))

    def margin(self, x: Array) -> Array:
        return x[0]

    def rescale(self, s: Array, z: Array) -> None:
        self.w2 = s / z
        self.w = np.sqrt(self.w2)
        self.lam = np.sqrt(s * z)

    def W(self, x: Array) -> Array:
        return self.w * x

    def Wt_inverse(self, x: Array) -> Array:
        return x / self.w

    Wt = W

    def square(self, x: Array) -> Array:
        return self.w2 * x

    def square_inverse(self, x: Array) -> Array:
        return x / self.w2

    def matrices(self, which: Any) -> Array:
        return 1.0 / self.w[:, None, which]

    def product(self, a: Array, b: Array) -> Array:
        return a * b

    def divide(self, b: Array) -> Array:
        return b / self.lam

    def step(self, d: Array) -> float:
        lowest = float((d / self.lam).min(initial=0.0))
        return np.inf if lowest >= 0 else -1.0 / lowest


class SecondOrder(Batch):
    r"""Points :math:`(t, x)` with :math:`\|x\| \le t`.

    .. math:: W = \eta \begin{pmatrix} w_0 & w_1^\top \\ w_1 & I + w_1 w_1^\top / (1 + w_0) \end{pmatrix},
              \qquad W^\top W = \eta^2 (2 w w^\top - J),

    with :math:`w_0^2 - \|w_1\|^2 = 1` and J the identity with other signs but for the first. No matrix is
    needed to multiply by either.
    """

    def against(self, x: Array) -> Array:
        norm = np.linalg.norm(x[1:], axis=0)
        return np.vstack([np.ones((1, x.shape[1])), -x[1:] / np.where(norm > 0, norm, 1.0)])

    def identity(self) -> Array:
        e = np.zeros((self.k, self.n))
        e[0] = 1.0
        return e

    def margin(self, x: Array) -> Array:
        return x[0] - _norm(x[1:])

    def rescale(self, s: Array, z: Array) -> None:
        # the square roots of the determinants
        a = _length(s)
        b = _length(z)
        s = s / a
        z = z / b
        w = (s + _flip(z)) / np.sqrt(2.0 * (1.0 + _dot(s, z)))
        w[0] = np.sqrt(1.0 + _dot(w[1:], w[1:]))  # rounding leaves det w = 1
        self.w = w
        self.eta = np.sqrt(a / b)
        self.eta2 = a / b
        self.lam = self.W(z * b)
        self.root = _length(self.lam)

    def W(self, x: Array) -> Array:
        return self._turn(x, 1.0) * self.eta

    def Wt_inverse(self, x: Array) -> Array:
        return self._turn(x, -1.0) / self.eta

    Wt = W

    def _turn(self, x: Array, sign: float) -> Array:
        """(w0 w1'; w1 I + w1 w1' / (1 + w0)) x, or with -w1 for w1."""
        w = self.w
        inner = _dot(self.w[1:], x[1:])
        out = w * (sign * x[0] + inner / (1.0 + w[0]))
        out[1:] += x[1:]
        out[0] = w[0] * x[0] + sign * inner
        return out

    def square(self, x: Array) -> Array:
        return (self.w * (2.0 * _dot(self.w, x)) - _flip(x)) * self.eta2

    def square_inverse(self, x: Array) -> Array:
        w = self.w
        t = x[0]
        out = w * (2.0 * (_dot(w[1:], x[1:]) - w[0] * t))
        out[0] *= -1.0
        out[1:] += x[1:]
        out[0] -= t
        return out / self.eta2

    def matrices(self, which: Any) -> Array:
        w = _flip(self.w[:, which])
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
        first = (lam[0] * b[0] - _dot(lam[1:], b[1:])) / self.root**2
        out = (b - first * lam) / lam[0]
        out[0] = first
        return out

    def step(self, d: Array) -> float:
        # In coordinates where λ is e: the cone is left where 1 + t times the least eigenvalue of d is 0.
        lam = self.lam / self.root
        inner = lam[0] * d[0] - _dot(lam[1:], d[1:])
        rest = d[1:] - ((inner + d[0]) / (lam[0] + 1.0)) * lam[1:]
        lowest = float(((inner - _norm(rest)) / self.root).min(initial=0.0))
        return np.inf if lowest >= 0 else -1.0 / lowest


class Semidefinite(Batch):
    r"""Matrices :math:`\succeq 0` as upper triangles by columns, times :math:`\sqrt2` off the diagonal.

    :math:`W x` stands for :math:`R^\top X R`.
    """

    def __init__(self, start: int, n: int, side: int):
        super().__init__(start, n, side * (side + 1) // 2, side)
        self.side = side
        columns, rows = np.tril_indices(side)  # the upper triangle, column by column
        self.rows = rows
        self.columns = columns
        self.root2 = np.where(rows == columns, 1.0, np.sqrt(2.0))

    def moved(self, start: int, n: int) -> Batch:
        return Semidefinite(start, n, self.side)

    def against(self, x: Array) -> Array:
        lowest = np.linalg.eigh(self.matrix(x))[1][:, :, 0]
        return self.vector(lowest[:, :, None] * lowest[:, None, :])

    def matrix(self, x: Array) -> Array:
        """(n, side, side), as LAPACK takes them."""
        M = np.empty((x.shape[1], self.side, self.side))
        M[:, self.rows, self.columns] = M[:, self.columns, self.rows] = x.T / self.root2
        return M

    def vector(self, M: Array) -> Array:
        upper: Array = M[:, self.rows, self.columns] + M[:, self.columns, self.rows]
        return np.ascontiguousarray((0.5 * upper * self.root2).T)

    def identity(self) -> Array:
        return np.repeat((self.rows == self.columns).astype(float)[:, None], self.n, axis=1)

    def margin(self, x: Array) -> Array:
        return np.asarray(np.linalg.eigvalsh(self.matrix(x))[:, 0], float)

    def rescale(self, s: Array, z: Array) -> None:
        L, M = (np.linalg.cholesky(self.matrix(x)) for x in (s, z))
        U, root, V = np.linalg.svd(np.swapaxes(M, 1, 2) @ L)
        small = np.sqrt(root)
        self.R = L @ (np.swapaxes(V, 1, 2) / small[:, None, :])
        self.R_inverse = (np.swapaxes(U / small[:, None, :], 1, 2)) @ np.swapaxes(M, 1, 2)
        self.RRt = self.R @ np.swapaxes(self.R, 1, 2)
        self.RRt_inverse = np.swapaxes(self.R_inverse, 1, 2) @ self.R_inverse
        self.root = root
        self.lam = self.vector(root[:, :, None] * np.eye(self.side))
        self.pairs = 0.5 * (root[:, :, None] + root[:, None, :])

    def _both(self, left: Array, x: Array) -> Array:
        return self.vector(left @ self.matrix(x) @ np.swapaxes(left, 1, 2))

    def W(self, x: Array) -> Array:
        return self._both(np.swapaxes(self.R, 1, 2), x)

    def Wt(self, x: Array) -> Array:
        return self._both(self.R, x)

    def Wt_inverse(self, x: Array) -> Array:
        return self._both(self.R_inverse, x)

    def square(self, x: Array) -> Array:
        return self._both(self.RRt, x)

    def square_inverse(self, x: Array) -> Array:
        return self._both(self.RRt_inverse, x)

    def matrices(self, which: Any) -> Array:
        # Column j is R^-1 E_j R^-T with E_j the j-th of an orthonormal basis of symmetric matrices.
        R = self.R_inverse[which]
        (i, j) = (self.rows, self.columns)
        pairs = R[:, i][:, :, i] * R[:, j][:, :, j] + R[:, i][:, :, j] * R[:, j][:, :, i]
        return np.moveaxis(pairs * (self.root2[:, None] * self.root2 / 2.0), 0, 2)

    def product(self, a: Array, b: Array) -> Array:
        A = self.matrix(a)
        B = self.matrix(b)
        return self.vector(0.5 * (A @ B + B @ A))

    def divide(self, b: Array) -> Array:
        return self.vector(self.matrix(b) / self.pairs)

    def step(self, d: Array) -> float:
        small = np.sqrt(self.root)
        scaled = self.matrix(d) / (small[:, :, None] * small[:, None, :])
        lowest = float(np.linalg.eigvalsh(scaled).min(initial=0.0))
        return np.inf if lowest >= 0 else -1.0 / lowest


def _dot(a: Array, b: Array) -> Array:
    """Inner products, cone by cone."""
    return np.asarray(np.einsum("kn,kn->n", a, b))


def _norm(x: Array) -> Array:
    return np.sqrt(_dot(x, x))


def _flip(x: Array) -> Array:
    """(t, -x)."""
    out = -x
    out[0] = x[0]
    return out


def _length(x: Array) -> Array:
    r""":math:`\sqrt{t^2 - \|x\|^2}`."""
    norm = _norm(x[1:])
    return np.sqrt(np.maximum((x[0] - norm) * (x[0] + norm), TINY))


class Cones:
    """All cones of a problem; vectors are over all rows, in the order of the batches."""

    def __init__(self, batches: list[Batch]):
        self.batches = batches
        self.size = sum(batch.n * batch.k for batch in batches)
        self.degree = sum(batch.n * batch.degree for batch in batches)

    @cached_property
    def lengths(self) -> Indices:
        """Rows of each cone."""
        return np.repeat([batch.k for batch in self.batches], [batch.n for batch in self.batches])

    @cached_property
    def cone_of(self) -> Indices:
        """The number of the cone of each row."""
        out = np.empty(self.size, int)
        first = 0
        for batch in self.batches:
            batch.of(out)[...] = first + np.arange(batch.n)
            first += batch.n
        return out

    def _each(self, name: str, *vectors: Array) -> Array:
        found = [
            np.ravel(getattr(batch, name)(*(batch.of(vector) for vector in vectors)))
            for batch in self.batches
        ]
        return found[0] if len(found) == 1 else np.concatenate([np.empty(0), *found])

    def identity(self) -> Array:
        return self._each("identity")

    def margin(self, x: Array) -> float:
        return min((float(b.margin(b.of(x)).min()) for b in self.batches if b.n), default=np.inf)

    def rescale(self, s: Array, z: Array) -> None:
        for batch in self.batches:
            batch.rescale(batch.of(s), batch.of(z))

    @property
    def lam(self) -> Array:
        return np.concatenate([np.empty(0), *(batch.lam.ravel() for batch in self.batches)])

    def W(self, x: Array) -> Array:
        return self._each("W", x)

    def Wt(self, x: Array) -> Array:
        return self._each("Wt", x)

    def Wt_inverse(self, x: Array) -> Array:
        return self._each("Wt_inverse", x)

    def square(self, x: Array) -> Array:
        return self._each("square", x)

    def square_inverse(self, x: Array) -> Array:
        return self._each("square_inverse", x)

    def product(self, a: Array, b: Array) -> Array:
        return self._each("product", a, b)

    def divide(self, b: Array) -> Array:
        return self._each("divide", b)

    def least(self) -> float:
        """The least eigenvalue of λ."""
        return min((b.least() for b in self.batches if b.n), default=np.inf)

    def step(self, *directions: Array) -> float:
        """The longest step along all of these scaled directions that stays in the cones."""
        return min((b.step(b.of(d)) for b in self.batches if b.n for d in directions), default=np.inf)


def batches(nonnegative: int, orders: Any, sides: Any) -> tuple[Cones, Indices]:
    """The cones of CVXPY's dimensions, and its rows in the order of the batches."""
    order = [np.arange(nonnegative)]
    found = list[Batch]()
    row = nonnegative
    place = nonnegative
    if nonnegative:
        found.append(Nonnegative(0, nonnegative, 1))
    for kind, sizes, rows in (
        (SecondOrder, orders, lambda k: k),
        (Semidefinite, sides, lambda k: k * (k + 1) // 2),
    ):
        starts: dict[int, list[int]] = {}
        for size in (size for size in sizes if size > 0):
            starts.setdefault(size, []).append(row)
            row += rows(size)
        for size, first in starts.items():
            if kind is SecondOrder and size == 1:
                found.append(Nonnegative(place, len(first), 1))
            else:
                found.append(kind(place, len(first), size))
            order.append((np.array(first) + np.arange(rows(size))[:, None]).ravel())
            place += len(first) * rows(size)
    return Cones(found), np.concatenate(order)


def live(used: Indices, b: Array, cones: Cones) -> tuple[Indices, Cones, Array | None]:
    """Rows of cones that some variable is in, and these cones; if another one is missed, a proof of it.

    ``used`` says of each row whether it has a variable. A cone that no variable is in holds or does not: it
    has no say in the answer. The proof is a z in the cones with A'z = 0 and b'z < 0.
    """
    kept = list[Indices]()
    batches_left = list[Batch]()
    place = 0
    for batch in cones.batches:
        alive = batch.of(used).any(axis=0)
        values = batch.of(b)
        short = batch.margin(values) < -1e-9 * (1.0 + np.abs(values).max(axis=0))
        for cone in np.flatnonzero(~alive & short):
            z = np.zeros(cones.size)
            batch.of(z)[:, cone] = batch.against(values[:, cone : cone + 1])[:, 0]
            return np.arange(cones.size), cones, z
        if alive.any():
            rows = batch.start + np.arange(batch.n * batch.k).reshape(batch.k, batch.n)
            kept.append(rows[:, alive].ravel())
            batches_left.append(batch.moved(place, int(alive.sum())))
            place += len(kept[-1])
    return np.concatenate([np.empty(0, int), *kept]), Cones(batches_left), None
