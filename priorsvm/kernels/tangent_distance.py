"""Tangent distance: Gaussian kernels of the distance between linearised orbits of two rows."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import solve_triangular
from scipy.optimize import lsq_linear

from .._utils.arrays import Array
from .._utils.checks import is_number
from ..errors import InvalidInput, InvalidType
from ..transforms.base import Transform
from .base import Kernel
from .gamma import VALID_GAMMA, gamma_number, is_gamma, resolved_gamma
from .spectrum import Spectral

# Differences of nearly equal tangents of two rows are rounding errors below this share.
FLOOR = 1e-12

# Shape of blocks of pairs that fit into the cache.
ROWS = 32
COLUMNS = 128

# Number of steps after which SciPy solves a pair whose active bounds still change.
STEPS = 30


class TangentKernel(Spectral):
    """Base class of kernels of tangents of a transform."""

    whole: bool = True
    gamma: float | str
    transform: Transform

    def _check(self) -> None:
        super()._check()
        self._expect(is_gamma(self.gamma), "gamma", self.gamma, VALID_GAMMA)
        check_continuous(self, self.transform)

    def _known(self, X: ArrayLike, weight: Array | None) -> Self:
        known = copy.copy(self)
        known.gamma = resolved_gamma(self.gamma, self._rows(X, "X"), weight)
        return known

    def _gaussian(self, squared: Array) -> Array:
        squared *= -gamma_number(self, self.gamma)
        return np.exp(squared, out=squared)

    def _raw_diag(self, A: Array) -> Array:
        return np.ones(len(A))


class TangentDistance(TangentKernel):
    r"""Gaussian kernel :math:`k(x, z) = \exp(-\gamma\, d^2(x, z))` of the tangent distance d.

    To first order a transformation adds a combination of tangents, the columns of :math:`L_x`, to a row. With
    two sides both rows are transformed,

    .. math:: d^2(x, z) = \min_{a, b} \|x + L_x a - z - L_z b\|^2 + \eta (\|a\|^2 + \|b\|^2) .

    With one side one row is transformed. If ``symmetric=False``, it is the second row, the centre of an
    expansion of f,

    .. math:: d^2(x, z) = \min_b \|x - z - L_z b\|^2 + \eta \|b\|^2 ,

    and otherwise :math:`d^2` is the mean over both choices of the row:

    .. math:: d^2(x, z) = \tfrac12 \min_a \bigl(\|x + L_x a - z\|^2 + \eta \|a\|^2\bigr)
                        + \tfrac12 \min_b \bigl(\|x - z - L_z b\|^2 + \eta \|b\|^2\bigr) .

    The kernel is not positive definite, since d is not a metric. Use ``norm="l1"``, or ``norm="l2"`` with
    ``psd``, which uses the mean of both orders of a kernel that is not symmetric. New rows are transformed
    too, except with ``symmetric=False``.

    Parameters
    ----------
    gamma : float, "scale" or "auto"
        The factor γ > 0 of the squared distance; ``"scale"`` and ``"auto"`` as in :class:`RBF`.
    transform : Transform
        Continuous transform, whose ``tangents(X)`` are the columns of L. Use ``s @ t`` for several
        transforms.
    sides : {1, 2}, default=2
        Number of rows that are transformed.
    ridge : float, default=0.0
        The factor ρ ≥ 0. A larger factor keeps transformations in the range where they are nearly linear.
    bounds : float, list of (low, high) or None, default=None
        Bounds on every parameter of the transform, in its units. A number h means (-h, h);
        ``transform.span()`` is the range of the transform. With None the least squares problem has a closed
        form, which is about twenty times faster.
    psd : {"clip", "shift"} or None, default=None
        Correction to a positive definite kernel; see :class:`Spectral`.
    symmetric : bool, default=True
        False transforms the second row only, as in eq. (27) of Lauer & Bloch 2008, and requires ``sides=1``.
        New rows then need no tangents.

    See Also
    --------
    TangentVector : One-sided kernel with a Gaussian spread t along the tangents. It is this kernel with
        ``sides=1``, ``symmetric=False`` and :math:`\eta = 1 / (2 \gamma t^2)`.
    TangentInvariant : Positive definite kernel, invariant along tangents of the training rows.
    Jitter : Kernel at the best of finitely many transformations.

    Notes
    -----
    Linearly dependent tangents count once. A difference of tangents of two rows whose squared length is below
    1e-12 of the squared length of the tangents counts as zero.

    References
    ----------
    Simard, LeCun & Denker 1993, "Efficient pattern recognition using a new transformation distance", NIPS 5;
    Haasdonk & Keysers 2002, "Tangent distance kernels for support vector machines", ICPR;
    Lauer & Bloch 2008, eqs. (24)-(27).

    Examples
    --------
    Two points on a circle, along which rotations transform them:

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

    # Files of earlier versions do not contain the attribute.
    symmetric: bool = True

    def __init__(
        self,
        gamma: float | str,
        transform: Transform,
        sides: int = 2,
        ridge: float = 0.0,
        bounds: float | Sequence[tuple[float, float]] | None = None,
        psd: str | None = None,
        symmetric: bool = True,
    ) -> None:
        self.gamma = gamma
        self.transform = transform
        self.sides = sides
        self.ridge = ridge
        self.bounds = bounds
        self.psd = psd
        self.symmetric = symmetric

    def _check(self) -> None:
        super()._check()
        self._expect(self.sides in (1, 2), "sides", self.sides, "1 or 2")
        self._expect(is_number(self.ridge) and self.ridge >= 0, "ridge", self.ridge, "a nonnegative number")
        self._expect(isinstance(self.symmetric, bool), "symmetric", self.symmetric, "True or False")
        if not self.symmetric and self.sides == 2:
            raise InvalidInput(
                "TangentDistance: symmetric=False requires sides=1; with two sides the distance is symmetric."
            )

    def _raw(self, A: Array, B: Array) -> Array:
        if not self.symmetric:
            fixed = np.empty((0, *A.shape))
            return self._gaussian(self._squared(B, self._tangents(B), A, fixed).T)
        first = self._tangents(A)
        second = first if B is A else self._tangents(B)
        if self.sides == 2:
            return self._gaussian(self._squared(A, first, B, second))
        forward = self._squared(A, first, B, second[:0])
        backward = forward if B is A else self._squared(B, second, A, first[:0])
        return self._gaussian((forward + backward.T) / 2)

    def _tangents(self, A: Array) -> Array:
        """Return the tangents with bounds, or their basis without, shape (q, n, d)."""
        tangents = self.transform.tangents(A)
        if self.bounds is None:
            return tangent_basis(tangents, self.ridge)
        return np.ascontiguousarray(tangents.transpose(1, 0, 2))

    def _squared(self, A: Array, L: Array, B: Array, M: Array) -> Array:
        if self.bounds is None:
            return closest(A, L, B, M)
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
    """Raise InvalidType or InvalidInput unless a transform has tangents."""
    name = type(kernel).__name__
    if not isinstance(transform, Transform):
        raise InvalidType(
            f"{name}: transform is {transform!r}; expected a Transform such as Translation((16, 16))."
        )
    if not transform.continuous:
        raise InvalidInput(
            f"{name}: transform {transform!r} is discrete and has no tangents. Use a continuous transform "
            "such as Translation((16, 16))."
        )


def tangent_basis(tangents: Array, ridge: float = 0.0) -> Array:
    r"""Return vectors T with :math:`T T^\top = L (L^\top L + \eta I)^{-1} L^\top` for every row.

    Hence :math:`\min_b \|r - L b\|^2 + \eta \|b\|^2 = \|r\|^2 - \|T^\top r\|^2`. Without ridge, T is an
    orthonormal basis of the tangents, with zero vectors if the tangents are linearly dependent.

    Parameters
    ----------
    tangents : array of shape (n, q, d)
        The columns of L for every row.
    ridge : float, default=0.0
        The factor ρ.

    Returns
    -------
    array of shape (q, n, d)
    """
    Q, R = np.linalg.qr(tangents.transpose(0, 2, 1))
    W, length, _ = np.linalg.svd(R, full_matrices=False)
    independent = length > 1e-10 * length.max(axis=1, keepdims=True, initial=0.0)
    share = np.divide(length, np.sqrt(length**2 + ridge), out=np.zeros_like(length), where=independent)
    return np.ascontiguousarray(((Q @ W) * share[:, None]).transpose(2, 0, 1))


def closest(A: Array, S: Array, B: Array, T: Array) -> Array:
    r"""Return squared distances of rows along the vectors of :func:`tangent_basis`.

    With :math:`\delta = x - z`, :math:`C = S^\top T` and :math:`w = T^\top (I - S S^\top) \delta`,

    .. math:: d^2 = \|\delta\|^2 - \|S^\top \delta\|^2 - w^\top (I - C^\top C)^{-1} w .

    Parameters
    ----------
    A : array of shape (n, d)
        Rows x.
    S : array of shape (p, n, d)
        Vectors of A.
    B : array of shape (m, d)
        Rows z.
    T : array of shape (q, m, d)
        Vectors of B.

    Returns
    -------
    array of shape (n, m)
    """
    # Rows far from the origin would lose digits.
    middle = B.mean(axis=0)
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
    # The pair is the last index, so that all loops run over long vectors: the systems of a block are
    # eliminated at once.
    s = np.einsum("kid,id->ki", S, A)[:, :, None] - (_flat(S) @ B.T).reshape(p, n, m)
    squared -= np.einsum("kij,kij->ij", s, s)
    if q == 0:
        return squared
    C = (_flat(S) @ _flat(T).T).reshape(p, n, q, m)
    w = (A @ _flat(T).T).reshape(n, q, m).transpose(1, 0, 2) - np.einsum("kjd,jd->kj", T, B)[:, None]
    w -= np.einsum("kilj,kij->lij", C, s)
    # The lower half of I - CᵀC.
    G = np.empty((q, q, n, m))
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
    """Return squared distances of rows along tangents within bounds on the parameters.

    Parameters
    ----------
    A, B : arrays of shape (n, d) and (m, d)
        Rows.
    L, M : arrays of shape (q, n, d) and (q, m, d)
        Tangents of A and of B.
    ridge : float
        The factor ρ.
    low, high : arrays of shape (q,)
        Bounds on the parameters.

    Returns
    -------
    array of shape (n, m)
    """
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
            # Tangents of both rows of each pair: (pairs, parameters, d).
            first = np.broadcast_to(L[:, i], (len(delta), *L[:, i].shape))
            tangents = np.concatenate([first, -M[:, columns].transpose(1, 0, 2)], axis=1)
            H = tangents @ tangents.transpose(0, 2, 1)
            h = (tangents @ delta[:, :, None])[:, :, 0]
            squared[i, columns] = (delta**2).sum(axis=1) + 2 * least_within(H, h, ridge, low, high)
    if symmetric:
        squared += squared.T
    return np.maximum(squared, 0.0, out=squared)


def least_within(H: Array, h: Array, ridge: float, low: Array, high: Array) -> Array:
    r"""Return the minima of :math:`\tfrac12 p^\top (H + \eta I) p + h^\top p` over a box, for many H at once.

    An active-set method: parameters beyond a bound are fixed at it, and parameters whose gradient points
    inwards are released. It usually ends after a few steps. SciPy solves the problems that remain after STEPS
    steps.

    Parameters
    ----------
    H : array of shape (n, q, q)
        Matrices.
    h : array of shape (n, q)
        Linear terms.
    ridge : float
        The factor ρ.
    low, high : arrays of shape (q,)
        Bounds on p.

    Returns
    -------
    array of shape (n,)
    """
    n, q = h.shape
    diagonal = np.einsum("ikk->ik", H)
    largest = diagonal.max(axis=1, keepdims=True, initial=0.0)
    H = H.copy()
    np.einsum("ikk->ik", H)[:] += ridge + np.where(largest > 0, FLOOR * largest, 1.0)
    p = np.zeros((n, q))
    unsolved = np.arange(n)
    at_low = np.zeros((n, q), bool)
    at_high = np.zeros((n, q), bool)
    for _ in range(STEPS):
        bound = np.where(at_low, low, high)
        fixed = at_low | at_high
        system = np.where(fixed[:, :, None], np.eye(q), H[unsolved])
        current = np.linalg.solve(system, np.where(fixed, bound, -h[unsolved])[:, :, None])[:, :, 0]
        p[unsolved] = current
        slope = (H[unsolved] @ current[:, :, None])[:, :, 0] + h[unsolved]
        lower = np.where(fixed, at_low & (slope >= 0), current < low)
        upper = np.where(fixed, at_high & (slope <= 0), current > high)
        changed = ((lower != at_low) | (upper != at_high)).any(axis=1)
        unsolved = unsolved[changed]
        at_low = lower[changed]
        at_high = upper[changed]
        if len(unsolved) == 0:
            break
    for i in unsolved:
        R = np.linalg.cholesky(H[i]).T
        p[i] = lsq_linear(R, solve_triangular(R, -h[i], trans=1), (low, high), method="bvls", tol=1e-14).x
    return np.einsum("ik,ikl,il->i", p, H, p) / 2 + np.einsum("ik,ik->i", h, p)
