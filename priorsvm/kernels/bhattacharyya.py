"""Bhattacharyya's affinity: the overlap of the Gaussians of two sets of vectors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.utils import gen_batches

from .._utils.arrays import Array
from .._utils.checks import is_number, is_whole
from ..errors import InvalidInput
from .base import Definiteness, Kernel
from .set_kernel import Directions, SetKernel, Sets, by_pairs


@dataclass(frozen=True, eq=False)
class _Gaussians:
    r"""Gaussian :math:`\mathcal N(\bar x, \eta I + U U^\top)` of every set in feature space.

    Attributes
    ----------
    vectors : the orthogonal columns of U, followed by :math:`\bar x`.
    spread : (n, r) array of squared lengths of the columns, the eigenvalues of the covariance.
    along : (n, r) array :math:`U^\top \bar x`.
    squared : (n,) array :math:`\|\bar x\|^2`.
    """

    vectors: Directions
    spread: Array
    along: Array
    squared: Array


class Bhattacharyya(SetKernel):
    r"""Bhattacharyya's affinity :math:`k = \int \sqrt{p(x)\, p'(x)}\, dx` of the Gaussians of two sets.

    With the mean :math:`\bar x` of a set and :math:`\Sigma` = its covariance (divided by m) + :math:`\eta I`,

    .. math:: k = \frac{|\Sigma|^{1/4} |\Sigma'|^{1/4}}{|\bar\Sigma|^{1/2}} \exp\bigl(-\tfrac18
        (\bar x - \bar x')^\top \bar\Sigma^{-1} (\bar x - \bar x') \bigr),
        \qquad \bar\Sigma = \tfrac12 (\Sigma + \Sigma') .

    k is between 0 and 1, and 1 for equal Gaussians. The order of the vectors in a set has no effect, and sets
    may differ in size. The kernel is positive definite, since it is an inner product of the functions
    :math:`\sqrt p`.

    With ``base`` the Gaussians are in the feature space of the base kernel, and represent more than the mean
    and covariance of the vectors. There

    .. math:: \log k = {} & \tfrac14 \sum_l \log\Bigl(1 + \frac{\lambda_l}{\eta}\Bigr)
        + \tfrac14 \sum_l \log\Bigl(1 + \frac{\lambda'_l}{\eta}\Bigr) \\
        & - \tfrac12 \log \Bigl| I + \frac{W^\top W}{\eta} \Bigr|
        - \frac{1}{8\eta} \bigl( \|\delta\|^2 - \delta^\top W (\eta I + W^\top W)^{-1} W^\top \delta \bigr)

    with :math:`\delta = \bar x - \bar x'` and
    :math:`W = \frac{1}{\sqrt2} [\sqrt{\lambda_l} v_l, \sqrt{\lambda'_l} v'_l]`. The eigenvalues
    :math:`\lambda_l` and eigenvectors :math:`v_l` of the covariance of each set come from kernel principal
    components, hence from values of the base kernel. With ``Linear()`` and all components the second formula
    equals the first.

    Parameters
    ----------
    eta : float or "scale", default="scale"
        The number η > 0 added to the diagonal of every covariance, in squared units of the vectors.
        ``"scale"`` means a tenth of the variance of all vectors of all training sets, divided by their width.
        With ``base`` the variance is the variance in feature space.
    base : Kernel or None, default=None
        Positive semidefinite kernel between vectors.
    n_components : int or None, default=None
        Number of principal components of each set, in the order of their variance; None means all. It
        requires ``base``. The time for each pair grows with the cube of this number.

    See Also
    --------
    PrincipalAngles : Angles between the spans of two sets.
    SetKernel : Base class of kernels between sets of vectors.

    Notes
    -----
    Each set has its own components. Components of the union of two sets would give another space for every
    pair, and the kernel would not be positive definite.

    References
    ----------
    Kondor & Jebara 2003, "A kernel between sets of vectors", ICML; Lauer & Bloch 2008, eq. (31).

    Examples
    --------
    If both covariances are I, the affinity is :math:`e^{-\|\bar x - \bar x'\|^2 / 8}`:

    >>> from priorsvm import Bhattacharyya
    >>> k = Bhattacharyya(eta=1.0)
    >>> k([[[0.0, 0.0]], [[2.0, 2.0]]]).round(4)
    array([[1.    , 0.3679],
           [0.3679, 1.    ]])
    """

    def __init__(
        self, eta: float | str = "scale", base: Kernel | None = None, n_components: int | None = None
    ) -> None:
        self.eta = eta
        self.base = base
        self.n_components = n_components

    @property
    def definiteness(self) -> Definiteness:
        return "psd" if self.base is None else self.base.definiteness

    def resolved(self, X: Any, weight: Array | None = None) -> Self:
        resolved = super().resolved(X, weight)
        sets = self._rows(X, "X")
        if self.eta == "scale" and len(sets):
            with np.errstate(over="ignore"):
                resolved.eta = 0.1 * resolved._variance(*self._vectors(sets, weight)) / sets.width or 1.0
            if not np.isfinite(resolved.eta):
                raise InvalidInput(
                    "Bhattacharyya: the squares of the vectors overflow. Divide the vectors by their "
                    "standard deviation."
                )
        return resolved

    def _variance(self, X: Array, weight: Array | None) -> float:
        """Return the mean squared distance of vectors from their mean in feature space."""
        share = np.full(len(X), 1.0) if weight is None else weight
        share = share / share.sum()
        if self.base is None:
            return float(share @ ((X - share @ X) ** 2).sum(axis=1))
        blocks = gen_batches(len(X), max(1, 2**22 // len(X)))
        middle = sum(float(share[rows] @ self.base._matrix(X[rows], X) @ share) for rows in blocks)
        return max(float(share @ self.base._diag(X)) - middle, 0.0)

    def _check(self) -> None:
        super()._check()
        valid = self.eta == "scale" if isinstance(self.eta, str) else is_number(self.eta) and self.eta > 0
        self._expect(valid, "eta", self.eta, "a positive number or 'scale'")
        r = self.n_components
        valid = r is None or (is_whole(r) and r >= 1)
        self._expect(valid, "n_components", r, "None or a whole number of at least 1")
        valid = r is None or self.base is not None
        self._expect(valid, "n_components", r, "None without a base kernel")

    def _matrix(self, A: Any, B: Any) -> Array:
        eta = self._eta()
        return self._in_space(A, B, eta) if self.base is None else self._in_features(A, B, eta)

    def _diag(self, A: Any) -> Array:
        return np.ones(len(A))

    def _eta(self) -> float:
        if isinstance(self.eta, str):
            raise InvalidInput(
                f"Bhattacharyya: eta={self.eta!r} depends on the training sets; give a number, or use the "
                "kernel that resolved(X) returns."
            )
        return self.eta

    def _in_space(self, A: Sets, B: Sets, eta: float) -> Array:
        """Return the matrix by the first formula, in the space of the vectors."""
        mean_a, S_a = moments(A, eta)
        mean_b, S_b = moments(B, eta)
        log_a = _log_determinant(S_a)
        log_b = _log_determinant(S_b)

        def block(a: slice, b: slice) -> Array:
            middle = 0.5 * (S_a[a, None] + S_b[None, b])
            delta = mean_a[a, None] - mean_b[None, b]
            solved = np.linalg.solve(middle, delta[..., None])[..., 0]
            squared = (delta * solved).sum(axis=2)
            overlap = 0.5 * (log_a[a, None] + log_b[None, b]) - _log_determinant(middle)
            return np.exp(0.5 * overlap - 0.125 * squared)

        return by_pairs(block, len(A), len(B), 8 * 4 * (A.width + 1) ** 2, symmetric=A is B)

    def _in_features(self, A: Sets, B: Sets, eta: float) -> Array:
        """Return the matrix by the second formula, in feature space."""
        P = self._gaussians(A)
        Q = self._gaussians(B)
        r = P.spread.shape[1]
        s = Q.spread.shape[1]
        log_a = np.log1p(P.spread / eta).sum(axis=1)
        log_b = np.log1p(Q.spread / eta).sum(axis=1)

        def block(a: slice, b: slice) -> Array:
            cross = P.vectors[a].products(Q.vectors[b], self.base)
            squared = P.squared[a, None] + Q.squared[None, b] - 2 * cross[..., r, s]
            # The Cholesky factor of M = (η I + WᵀW, Wᵀδ; δᵀW, |δ|² + η) contains the determinant and the
            # distance. Only the lower half of M is read.
            M = np.zeros((*cross.shape[:2], r + s + 1, r + s + 1))
            M[..., range(r), range(r)] = eta + 0.5 * P.spread[a, None]
            M[..., range(r, r + s), range(r, r + s)] = eta + 0.5 * Q.spread[None, b]
            M[..., r : r + s, :r] = 0.5 * np.swapaxes(cross[..., :r, :s], 2, 3)
            M[..., -1, :r] = (P.along[a, None] - cross[..., :r, s]) / np.sqrt(2)
            M[..., -1, r : r + s] = (cross[..., r, :s] - Q.along[None, b]) / np.sqrt(2)
            M[..., -1, -1] = np.maximum(squared, 0.0) + eta
            factor = _cholesky(M).diagonal(axis1=2, axis2=3)
            log_middle = 2 * np.log(factor[..., :-1] / np.sqrt(eta)).sum(axis=2)
            distance = factor[..., -1] ** 2 / eta - 1
            return np.exp(0.25 * (log_a[a, None] + log_b[None, b]) - 0.5 * log_middle - 0.125 * distance)

        pair = 8 * (A.elements.shape[1] * B.elements.shape[1] + 3 * (r + s + 1) ** 2)
        K = by_pairs(block, len(A), len(B), pair, symmetric=A is B)
        if A is B:
            np.fill_diagonal(K, 1.0)
        return K

    def _gaussians(self, sets: Sets) -> _Gaussians:
        """Return the Gaussian of every set from its kernel principal components."""
        K = self._own_products(sets)
        m = sets.sizes[:, None, None]
        share = sets.present[:, :, None] / m
        centred = np.eye(K.shape[1]) * sets.present[:, :, None] - np.swapaxes(share, 1, 2) * (share > 0)
        spread, eigenvectors = np.linalg.eigh(centred @ K @ centred / m)
        r = K.shape[1] - 1 if self.n_components is None else min(self.n_components, K.shape[1] - 1)
        spread = spread[:, ::-1][:, :r]
        eigenvectors = eigenvectors[:, :, ::-1][:, :, :r]
        weights = np.concatenate([centred @ eigenvectors / np.sqrt(m), share], axis=2)
        products = np.swapaxes(weights, 1, 2) @ (K @ share)
        directions = Directions(sets.elements, weights)
        return _Gaussians(directions, np.maximum(spread, 0.0), products[:, :-1, 0], products[:, -1, 0])


def moments(sets: Sets, eta: float) -> tuple[Array, Array]:
    """Return the mean of every set, and its covariance with eta added to the diagonal."""
    present = sets.present[:, :, None]
    m = sets.sizes[:, None]
    mean = sets.elements.sum(axis=1) / m
    centred = (sets.elements - mean[:, None]) * present
    S = np.swapaxes(centred, 1, 2) @ centred / m[:, :, None]
    return mean, 0.5 * (S + np.swapaxes(S, 1, 2)) + eta * np.eye(sets.width)


def _log_determinant(S: Array) -> Array:
    return 2 * np.log(_cholesky(S).diagonal(axis1=-2, axis2=-1)).sum(axis=-1)


def _cholesky(S: Array) -> Array:
    """Return Cholesky factors of matrices with eta on their diagonal."""
    try:
        factor: Any = np.linalg.cholesky(S)
    except np.linalg.LinAlgError as error:
        raise InvalidInput(
            "Bhattacharyya: a covariance matrix is numerically singular, because the vectors of a set lie in "
            "a plane and eta is too small. Use a larger eta, or eta='scale'."
        ) from error
    return np.asarray(factor, float)
