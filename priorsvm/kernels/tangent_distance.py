"""Gaussian kernels of the distance between patterns that may both be moved a little."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import solve_triangular
from scipy.optimize import lsq_linear

from priorsvm.errors import InvalidInput, InvalidType
from priorsvm.kernels.base import Kernel
from priorsvm.kernels.spectrum import Spectral
from priorsvm.kernels.standard import _GAMMA, _gamma_number, _gamma_on, _is_gamma
from priorsvm.transforms.base import Transform

from .._utils.arrays import Array
from .._utils.checks import is_number

# Where the tangents of two patterns nearly agree, their difference is rounding error below this.
FLOOR = 1e-12

# Pairs in blocks that stay in the cache.
ROWS = 32
COLUMNS = 128

# Steps after which a pair whose active bounds still change is left to scipy.
STEPS = 30


class _OfTangents(Spectral):
    """What kernels share that take their tangents from a transform."""

    whole: bool = True
    gamma: float | str
    transform: Transform

    def _check(self) -> None:
        super()._check()
        self._expect(_is_gamma(self.gamma), "gamma", self.gamma, _GAMMA)
        check_continuous(self, self.transform)

    def _known(self, X: ArrayLike, weight: Array | None) -> Self:
        known = copy.copy(self)
        known.gamma = _gamma_on(self.gamma, self._rows(X, "X"), weight)
        return known

    def _gaussian(self, squared: Array) -> Array:
        squared *= -_gamma_number(self, self.gamma)
        return np.exp(squared, out=squared)

    def _raw_diag(self, A: Array) -> Array:
        return np.ones(len(A))


class TangentDistance(_OfTangents):
    r"""The kernel :math:`\exp(-\gamma\, d^2(x, z))` of the tangent distance.

    To first order a pattern moves along its tangents, the columns of :math:`L_x`. With two sides both
    patterns move towards each other,

    .. math:: d^2(x, z) = \min_{a, b} \|x + L_x a - z - L_z b\|^2 + \rho (\|a\|^2 + \|b\|^2) ,

    with one side one of them does. That depends on which, and the mean is taken:

    .. math:: d^2(x, z) = \tfrac12 \min_a \bigl(\|x + L_x a - z\|^2 + \rho \|a\|^2\bigr)
                        + \tfrac12 \min_b \bigl(\|x - z - L_z b\|^2 + \rho \|b\|^2\bigr) .

    Symmetric, but not positive definite: d is no metric. ``norm="l1"`` takes it as it is, ``norm="l2"`` with
    ``psd``. New rows are moved too, when they are classified.

    Parameters
    ----------
    gamma : float, "scale" or "auto"
        The factor γ > 0 of the squared distance; words as in :class:`RBF`.
    transform : Transform
        A continuous one; its ``tangents(X)`` are the columns of L. Use ``s @ t`` for several.
    sides : 2 or 1
        Whether both patterns move or one.
    ridge : float, default 0.0
        The factor ρ ≥ 0: keeps the moves small where the straight line holds.
    bounds : float or list of (low, high), optional
        Bounds on every parameter of a move, in the transform's units; a number h means (-h, h), and
        ``transform.span()`` the range of the transform itself. Without them the least squares have a closed
        form, which is some twenty times faster.
    psd : None, "clip" or "shift"
        How to make it positive definite; see :class:`Spectral`.

    Notes
    -----
    Tangents that depend on each other count once. Between two patterns a difference of tangents whose
    squared length is below 1e-12 of their own counts as none.

    References
    ----------
    P. Simard, Y. LeCun and J. Denker, "Efficient pattern recognition using a new transformation distance",
    NIPS 1993; B. Haasdonk and D. Keysers, "Tangent distance kernels for support vector machines", ICPR 2002;
    Lauer & Bloch 2008, eqs. (24)-(27).

    Examples
    --------
    Two points on a circle, which a rotation moves along it:

    >>> from priorsvm import FromFunction
    >>> from priorsvm.kernels import TangentDistance
    >>> import numpy as np
    >>> def turn(X, angle):
    ...     c, s = np.cos(angle[0]), np.sin(angle[0])
    ...     return X @ np.array([[c, s], [-s, c]])
    >>> kernel = TangentDistance(1.0, FromFunction(turn, [[-0.5], [0.5]]), sides=1)
    >>> kernel([[1.0, 0.0]], [[np.cos(0.5), np.sin(0.5)], [2.0, 0.0]]).round(3)
    array([[0.985, 0.368]])
    """

    symmetric: bool = True

    def __init__(
        self,
        gamma: float | str,
        transform: Transform,
        sides: int = 2,
        ridge: float = 0.0,
        bounds: float | Sequence[tuple[float, float]] | None = None,
        psd: str | None = None,
    ) -> None:
        self.gamma = gamma
        self.transform = transform
        self.sides = sides
        self.ridge = ridge
        self.bounds = bounds
        self.psd = psd

    def _check(self) -> None:
        super()._check()
        self._expect(self.sides in (1, 2), "sides", self.sides, "1 or 2")
        self._expect(is_number(self.ridge) and self.ridge >= 0, "ridge", self.ridge, "a number, 0 or more")

    def _raw(self, A: Array, B: Array) -> Array:
        squared, bases = (
            (self._bounded, self._tangents) if self.bounds is not None else (closest, self._basis)
        )
        first = bases(A)
        second = first if B is A else bases(B)
        if self.sides == 2:
            return self._gaussian(squared(A, first, B, second))
        forth = squared(A, first, B, second[:0])
        back = forth if B is A else squared(B, second, A, first[:0])
        return self._gaussian((forth + back.T) / 2)

    def _basis(self, A: Array) -> Array:
        return shrunken(self.transform.tangents(A), self.ridge)

    def _tangents(self, A: Array) -> Array:
        return np.ascontiguousarray(self.transform.tangents(A).transpose(1, 0, 2))

    def _bounded(self, A: Array, L: Array, B: Array, M: Array) -> Array:
        low, high = self._limits(len(L))
        return closest_within(A, L, B, M, self.ridge, low, high)

    def _limits(self, q: int) -> tuple[Array, Array]:
        expected = f"a positive number, or {q} pairs (low, high) with low <= 0 <= high"
        if is_number(self.bounds):
            self._expect(self.bounds > 0, "bounds", self.bounds, expected)
            return np.full(q, -self.bounds), np.full(q, self.bounds)
        try:
            pairs = np.asarray(self.bounds, float)
        except (TypeError, ValueError):
            pairs = np.empty(0)
        valid = pairs.shape == (q, 2) and bool((pairs[:, 0] <= 0).all() and (pairs[:, 1] >= 0).all())
        self._expect(valid, "bounds", self.bounds, expected)
        return pairs[:, 0], pairs[:, 1]


def check_continuous(kernel: Kernel, transform: object) -> None:
    """Refuse what has no tangents."""
    name = type(kernel).__name__
    if not isinstance(transform, Transform):
        raise InvalidType(
            f"{name}: transform is {transform!r}; expected a Transform such as Translation((16, 16))."
        )
    if not transform.continuous:
        raise InvalidInput(
            f"{name}: transform {transform!r} is discrete and has no tangents; use a continuous one such as "
            "Translation((16, 16))."
        )


def shrunken(tangents: Array, ridge: float = 0.0) -> Array:
    r"""Vectors T, shape (q, n, d), with :math:`T T^\top = L (L^\top L + \rho I)^{-1} L^\top` for every row.

    So :math:`\min_b \|r - L b\|^2 + \rho \|b\|^2 = \|r\|^2 - \|T^\top r\|^2`; without ridge they are an
    orthonormal basis of the tangents (n, q, d), and zero where these depend on each other.
    """
    Q, R = np.linalg.qr(tangents.transpose(0, 2, 1))
    W, length, _ = np.linalg.svd(R, full_matrices=False)
    some = length > 1e-10 * length.max(axis=1, keepdims=True, initial=0.0)
    share = np.divide(length, np.sqrt(length**2 + ridge), out=np.zeros_like(length), where=some)
    return np.ascontiguousarray(((Q @ W) * share[:, None]).transpose(2, 0, 1))


def closest(A: Array, S: Array, B: Array, T: Array) -> Array:
    r"""Squared distances of rows that move along the vectors of :func:`shrunken`.

    With :math:`\delta = x - z`, :math:`C = S^\top T` and what S leaves of the rest,
    :math:`w = T^\top (I - S S^\top) \delta`,

    .. math:: d^2 = \|\delta\|^2 - \|S^\top \delta\|^2 - w^\top (I - C^\top C)^{-1} w .

    All inner products come from BLAS; the small matrices of all pairs of a block are eliminated at once.
    """
    middle = B.mean(axis=0)  # points far from the origin would lose their digits
    symmetric = B is A and T is S
    A = A - middle
    B = B - middle
    squared = np.zeros((len(A), len(B)))
    for i in range(0, len(A), ROWS):
        for j in range(i // COLUMNS * COLUMNS if symmetric else 0, len(B), COLUMNS):
            rows = slice(i, i + ROWS)
            columns = slice(j, j + COLUMNS)
            squared[rows, columns] = _block(A[rows], S[:, rows], B[columns], T[:, columns])
    if symmetric:
        squared = np.triu(squared, 1)
        squared += squared.T
    return np.maximum(squared, 0.0, out=squared)


def _block(A: Array, S: Array, B: Array, T: Array) -> Array:
    n = len(A)
    m = len(B)
    p = len(S)
    q = len(T)
    squared = (A**2).sum(axis=1)[:, None] + (B**2).sum(axis=1) - 2 * A @ B.T
    # The pair comes last, or nearly, so that the loops below run over long vectors.
    s = np.einsum("kid,id->ki", S, A)[:, :, None] - (_flat(S) @ B.T).reshape(p, n, m)
    squared -= np.einsum("kij,kij->ij", s, s)
    if q == 0:
        return squared
    C = (_flat(S) @ _flat(T).T).reshape(p, n, q, m)
    w = (A @ _flat(T).T).reshape(n, q, m).transpose(1, 0, 2) - np.einsum("kjd,jd->kj", T, B)[:, None]
    w -= np.einsum("kilj,kij->lij", C, s)
    G = np.empty((q, q, n, m))  # I - C'C, the lower half
    for l in range(q):
        for k in range(l + 1):
            np.einsum("tij,tij->ij", C[:, :, l], C[:, :, k], out=G[l, k])
            np.negative(G[l, k], out=G[l, k])
        G[l, l] += 1.0 + FLOOR
    for k in range(q):
        for l in range(k + 1, q):
            factor = G[l, k] / G[k, k]
            w[l] -= factor * w[k]
            for t in range(k + 1, l + 1):
                G[l, t] -= factor * G[t, k]
        squared -= w[k] ** 2 / G[k, k]
    return squared


def _flat(T: Array) -> Array:
    return T.reshape(-1, T.shape[2])


def closest_within(A: Array, L: Array, B: Array, M: Array, ridge: float, low: Array, high: Array) -> Array:
    """Squared distances of rows that move along tangents (q, n, d) within bounds on the parameters."""
    middle = B.mean(axis=0)
    symmetric = B is A and M is L
    A = A - middle
    B = B - middle
    squared = np.zeros((len(A), len(B)))
    sides = (len(L) > 0) + (len(M) > 0)
    low = np.tile(low, sides)
    high = np.tile(high, sides)
    for i in range(len(A)):
        for j in range(i + 1 if symmetric else 0, len(B), COLUMNS):
            columns = slice(j, j + COLUMNS)
            delta = A[i] - B[columns]
            # The moves of both, as one list of tangents for each pair: (pairs, parameters, d).
            mine = np.broadcast_to(L[:, i], (len(delta), *L[:, i].shape))
            moves = np.concatenate([mine, -M[:, columns].transpose(1, 0, 2)], axis=1)
            H = moves @ moves.transpose(0, 2, 1)
            h = (moves @ delta[:, :, None])[:, :, 0]
            squared[i, columns] = (delta**2).sum(axis=1) + 2 * least_within(H, h, ridge, low, high)
    if symmetric:
        squared += squared.T
    return np.maximum(squared, 0.0, out=squared)


def least_within(H: Array, h: Array, ridge: float, low: Array, high: Array) -> Array:
    r"""The minima of :math:`\tfrac12 p^\top (H + \rho I) p + h^\top p` over boxes, for many H at once.

    Parameters beyond a bound are set to it, those at a bound that are drawn inwards are set free, until
    neither happens: a few steps. It need not end, and what is left after some steps is left to scipy.
    """
    n, q = h.shape
    diagonal = np.einsum("ikk->ik", H)
    largest = diagonal.max(axis=1, keepdims=True, initial=0.0)
    H = H.copy()
    np.einsum("ikk->ik", H)[:] += ridge + np.where(largest > 0, FLOOR * largest, 1.0)
    p = np.zeros((n, q))
    open_ = np.arange(n)
    at_low = np.zeros((n, q), bool)
    at_high = np.zeros((n, q), bool)
    for _ in range(STEPS):
        bound = np.where(at_low, low, high)
        fixed = at_low | at_high
        system = np.where(fixed[:, :, None], np.eye(q), H[open_])
        now = np.linalg.solve(system, np.where(fixed, bound, -h[open_])[:, :, None])[:, :, 0]
        p[open_] = now
        slope = (H[open_] @ now[:, :, None])[:, :, 0] + h[open_]
        lower = np.where(fixed, at_low & (slope >= 0), now < low)
        upper = np.where(fixed, at_high & (slope <= 0), now > high)
        changed = ((lower != at_low) | (upper != at_high)).any(axis=1)
        open_ = open_[changed]
        at_low = lower[changed]
        at_high = upper[changed]
        if len(open_) == 0:
            break
    for i in open_:
        R = np.linalg.cholesky(H[i]).T
        p[i] = lsq_linear(R, solve_triangular(R, -h[i], trans=1), (low, high), method="bvls", tol=1e-14).x
    return np.einsum("ik,ikl,il->i", p, H, p) / 2 + np.einsum("ik,ik->i", h, p)
