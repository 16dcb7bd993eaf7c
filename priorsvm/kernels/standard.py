"""Standard kernels, with their derivatives."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.distance import cdist
from sklearn.metrics import pairwise_kernels

from .._utils.arrays import Array
from .._utils.checks import LARGEST, is_number
from .._utils.messages import one_of
from ..errors import InvalidInput
from .base import Definiteness, Dependence, Kernel
from .gamma import VALID_GAMMA, WithGamma, gamma_number, is_gamma, resolved_gamma
from .rbf_sum import RBFSum

# RBF: exponents are differences of squared lengths. Beyond FAR these leave fewer than twelve digits.
FAR = 1e3
# Up to NEAR the exponents have five decimals in single precision.
NEAR = 30.0
# Exponentials of numbers below NEGLIGIBLE do not change a sum in double precision.
NEGLIGIBLE = -40.0


class Linear(Kernel):
    r"""Linear kernel, the inner product :math:`k(x, z) = x^\top z`.

    See Also
    --------
    Polynomial : Powers of the inner product.

    Examples
    --------
    >>> from priorsvm.kernels import Linear
    >>> Linear()([[1.0, 2.0]], [[3.0, 4.0]])
    array([[11.]])
    """

    definiteness: Definiteness = "psd"
    depends_on: Dependence = "inner"

    def libsvm_params(self) -> dict[str, Any]:
        return {"kernel": "linear"}

    def _matrix(self, A: Array, B: Array) -> Array:
        return A @ B.T

    def _diag(self, A: Array) -> Array:
        return _inner(A, A)

    def _of_products(self, G: Array, a: Array, b: Array) -> Array:
        return G

    def _slope(self, Z: Array, V: Array, B: Array) -> Array:
        return V @ B.T

    def _slope_slope(self, Z: Array, U: Array, B: Array, V: Array) -> Array:
        return U @ V.T

    def _curve(self, Z: Array, U: Array, V: Array, B: Array) -> Array:
        return np.zeros((len(Z), len(B)))

    def _values_and_gradients(self, Z: Array, B: Array, W: Array) -> tuple[Array, Array]:
        gradients = np.broadcast_to(W @ B, Z.shape)
        return _inner(Z, gradients), gradients

    def _slopes_and_gradients(self, Z: Array, V: Array, B: Array, w: Array) -> tuple[Array, Array]:
        return V @ (w @ B), np.zeros(Z.shape)

    def _of_slopes(self, Z: Array, V: Array | None, B: Array, U: Array, w: Array) -> tuple[Array, Array]:
        weights = w @ U
        if V is None:
            return Z @ weights, np.broadcast_to(weights, Z.shape)
        return V @ weights, np.zeros(Z.shape)

    def _derivative_bound(self, order: int, reach: Array) -> Array:
        return np.full(len(reach), 1.0 if order == 1 else 0.0)


class Polynomial(WithGamma):
    r"""Polynomial kernel :math:`k(x, z) = (\gamma\, x^\top z + c_0)^p`.

    It is positive definite for a whole degree and :math:`c_0 \ge 0`. Only then all coefficients of the powers
    of :math:`x^\top z` are nonnegative. The defaults are the defaults of ``sklearn.svm.SVC``.

    Parameters
    ----------
    degree : float, default=3
        The power p > 0. If p is not whole, the kernel has no derivatives, and
        :math:`\gamma x^\top z + c_0 \ge 0` is required on the data.
    gamma : float, "scale" or "auto", default="scale"
        The factor γ > 0. ``"scale"`` means 1 / (d · variance of the training rows), ``"auto"`` means 1 / d.
    coef0 : float, default=0.0
        The constant :math:`c_0`.

    See Also
    --------
    Linear : The case p = 1, γ = 1, :math:`c_0 = 0`.
    RBF : Gaussian kernel.

    Notes
    -----
    The feature space of a positive definite polynomial kernel consists of the tensors :math:`x^{\otimes l}`
    with weights :math:`\binom{p}{l} \gamma^l c_0^{p-l}`. The n-th derivative of :math:`x^{\otimes l}` along
    unit vectors has at most the norm :math:`\frac{l!}{(l-n)!} \|x\|^{l-n}`. For :math:`\|x\| \le R` the
    n-th derivatives of :math:`k_x` therefore have at most the norm

    .. math:: \Bigl( \sum_{l=n}^{p} \tbinom{p}{l} \gamma^l c_0^{p-l}
        \bigl( \tfrac{l!}{(l-n)!} \bigr)^2 R^{2(l-n)} \Bigr)^{1/2} .

    Examples
    --------
    >>> from priorsvm.kernels import Polynomial
    >>> Polynomial(degree=2, gamma=1.0, coef0=1.0)([[1.0, 2.0]], [[3.0, 4.0]])
    array([[144.]])
    """

    depends_on: Dependence = "inner"

    def __init__(self, degree: float = 3, gamma: float | str = "scale", coef0: float = 0.0) -> None:
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0

    def resolved(self, X: ArrayLike, weight: Array | None = None) -> Self:
        kernel = super().resolved(X, weight)
        rows = self._rows(X, "X")
        if len(rows) and is_number(kernel.gamma):
            base = abs(kernel.gamma) * float(np.square(rows).sum(axis=1).max()) + abs(self.coef0)
            if base > 1 and self.degree * math.log10(base) > math.log10(LARGEST):
                raise InvalidInput(
                    f"{kernel!r} overflows: it has values above {LARGEST:g} on the training rows. Use a "
                    "smaller degree, or scale='standard'."
                )
        return kernel

    @property
    def definiteness(self) -> Definiteness:
        if self._is_whole() and self.coef0 >= 0:
            return "psd"
        # Coefficients that sum to zero cancel a negative constant.
        return "cpd" if self.degree == 1 else "indefinite"

    @property
    def has_slope(self) -> bool:
        return self._is_whole()

    @property
    def has_slope_slope(self) -> bool:
        return self._is_whole()

    @property
    def has_curve(self) -> bool:
        return self._is_whole()

    @property
    def has_derivative_bound(self) -> bool:
        return self.definiteness == "psd"

    def libsvm_params(self) -> dict[str, Any] | None:
        if not self._is_whole():
            return None
        gamma = gamma_number(self, self.gamma)
        return {"kernel": "poly", "degree": int(self.degree), "gamma": gamma, "coef0": self.coef0}

    def _check(self) -> None:
        super()._check()
        self._expect(is_number(self.degree) and self.degree > 0, "degree", self.degree, "a positive number")
        self._expect(is_number(self.coef0), "coef0", self.coef0, "a finite number")

    def _matrix(self, A: Array, B: Array) -> Array:
        return self._power(A @ B.T)

    def _of_products(self, G: Array, a: Array, b: Array) -> Array:
        return self._power(G)

    def _power(self, inner: Array) -> Array:
        K = self._base(inner)
        if not self._is_whole() or self.degree > 8:
            K **= self.degree
            return K
        # Products are several times faster than pow.
        power = K.copy()
        for _ in range(int(self.degree) - 1):
            power *= K
        return power

    def _diag(self, A: Array) -> Array:
        return self._base(_inner(A, A)) ** self.degree

    def _slope(self, Z: Array, V: Array, B: Array) -> Array:
        p = self.degree
        gamma = gamma_number(self, self.gamma)
        return p * gamma * self._base(Z @ B.T) ** (p - 1) * (V @ B.T)

    def _slope_slope(self, Z: Array, U: Array, B: Array, V: Array) -> Array:
        p = self.degree
        gamma = gamma_number(self, self.gamma)
        t = self._base(Z @ B.T)
        # At p = 1 the factor p - 1 is 0, but 0 · t⁻¹ is NaN at t = 0.
        curved = (p - 1) * gamma * t ** max(p - 2, 0) * (U @ B.T) * (Z @ V.T)
        return p * gamma * (curved + t ** (p - 1) * (U @ V.T))

    def _curve(self, Z: Array, U: Array, V: Array, B: Array) -> Array:
        p = self.degree
        gamma = gamma_number(self, self.gamma)
        t = self._base(Z @ B.T)
        return p * (p - 1) * gamma**2 * t ** max(p - 2, 0) * (U @ B.T) * (V @ B.T)

    def _values_and_gradients(self, Z: Array, B: Array, W: Array) -> tuple[Array, Array]:
        p = self.degree
        t = self._base(Z @ B.T)
        weighted = W * t ** (p - 1)
        return _inner(weighted, t), p * gamma_number(self, self.gamma) * (weighted @ B)

    def _slopes_and_gradients(self, Z: Array, V: Array, B: Array, w: Array) -> tuple[Array, Array]:
        p = self.degree
        gamma = gamma_number(self, self.gamma)
        t = self._base(Z @ B.T)
        along = p * gamma * w * (V @ B.T)
        return _inner(along, t ** (p - 1)), (p - 1) * gamma * ((along * t ** max(p - 2, 0)) @ B)

    def _of_slopes(self, Z: Array, V: Array | None, B: Array, U: Array, w: Array) -> tuple[Array, Array]:
        p = self.degree
        gamma = gamma_number(self, self.gamma)
        t = self._base(Z @ B.T)
        first = p * gamma * w * t ** (p - 1)
        # At small p a factor is 0, but 0 · t⁻¹ is NaN at t = 0.
        second = p * (p - 1) * gamma**2 * w * t ** max(p - 2, 0)
        across = Z @ U.T
        if V is None:
            return _inner(first, across), first @ U + (second * across) @ B
        turned = V @ U.T
        along = V @ B.T
        third = p * (p - 1) * (p - 2) * gamma**3 * w * t ** max(p - 3, 0)
        slopes = _inner(first, turned) + _inner(second * across, along)
        return slopes, (second * along) @ U + (second * turned + third * across * along) @ B

    def _derivative_bound(self, order: int, reach: Array) -> Array:
        p = int(self.degree)
        gamma = gamma_number(self, self.gamma)
        c0 = self.coef0
        squared = np.zeros(len(reach))
        for l in range(order, p + 1):
            weight = math.comb(p, l) * gamma**l * c0 ** (p - l) * math.perm(l, order) ** 2
            squared += weight * reach ** (2 * (l - order))
        return np.sqrt(squared)

    def _is_whole(self) -> bool:
        self._check()
        return self.degree % 1 == 0

    def _base(self, inner: Array) -> Array:
        inner *= gamma_number(self, self.gamma)
        inner += self.coef0
        if self.degree % 1 and (lowest := inner.min()) < 0:
            raise InvalidInput(
                f"Polynomial: degree={self.degree!r} requires gamma * x·z + coef0 >= 0, but its minimum on "
                f"these rows is {lowest:.3g}. Use a whole degree or a larger coef0."
            )
        return inner


def _from_differences(exponents: Array, A: Array, B: Array, gamma: float) -> None:
    """Replace exponents above NEGLIGIBLE, which have lost digits, by exponents from differences of rows."""
    rows, columns = np.nonzero(exponents > NEGLIGIBLE)
    step = max(1, 2**20 // max(1, A.shape[1]))
    for start in range(0, len(rows), step):
        i = rows[start : start + step]
        j = columns[start : start + step]
        difference = A[i] - B[j]
        exponents[i, j] = -gamma * _inner(difference, difference)


class RBF(WithGamma):
    r"""Gaussian kernel :math:`k(x, z) = \exp(-\gamma \|x - z\|^2)`.

    It is positive definite.

    Parameters
    ----------
    gamma : float, "scale" or "auto", default="scale"
        The factor γ > 0. ``"scale"`` means 1 / (d · variance of the training rows), ``"auto"`` means 1 / d.

    See Also
    --------
    NegativeDistance : Kernel of the distance without a width.
    Pairwise : Laplacian kernel, and other kernels of scikit-learn.

    Notes
    -----
    The n-th derivatives of :math:`k_x` along a unit vector have the norm
    :math:`\sqrt{\gamma^n (2n)! / n!}` in feature space. Mixed derivatives have at most this norm.

    Examples
    --------
    >>> from priorsvm.kernels import RBF
    >>> RBF(gamma=0.5)([[0.0], [2.0]]).round(4)
    array([[1.    , 0.1353],
           [0.1353, 1.    ]])
    """

    definiteness: Definiteness = "psd"
    depends_on: Dependence = "distance"
    falls_with_distance: bool = True

    def __init__(self, gamma: float | str = "scale") -> None:
        self.gamma = gamma

    def libsvm_params(self) -> dict[str, Any]:
        self._check()
        return {"kernel": "rbf", "gamma": gamma_number(self, self.gamma)}

    def _matrix(self, A: Array, B: Array) -> Array:
        gamma = gamma_number(self, self.gamma)
        symmetric = B is A
        # Rows far from the origin would lose digits.
        middle = B.mean(axis=0) if len(B) else 0.0
        A = A - middle
        B = A if symmetric else B - middle
        K = A @ B.T
        # -|a - b|²/2 = a·b - (|a|²/2 + |b|²/2). The norms are added first, and for B = A taken from the
        # product. K is then symmetric, and its diagonal is exactly 1.
        a = np.diagonal(K) / 2 if symmetric else _inner(A, A) / 2
        b = a if symmetric else _inner(B, B) / 2
        far = gamma * max(a.max(initial=0.0), b.max(initial=0.0)) > FAR
        # Blocks that fit into the cache are faster and avoid a second (n, m) matrix.
        step = max(1, 2**17 // len(B))
        for start in range(0, len(A), step):
            block = K[start : start + step]
            block -= np.add.outer(a[start : start + step], b)
            np.minimum(block, 0, out=block)
            block *= 2 * gamma
            if far:
                _from_differences(block, A[start : start + step], B, gamma)
            np.exp(block, out=block)
        return K

    def _diag(self, A: Array) -> Array:
        return np.ones(len(A))

    def _of_products(self, G: Array, a: Array, b: Array) -> Array:
        G -= a / 2
        G -= b / 2
        np.minimum(G, 0, out=G)
        G *= 2 * gamma_number(self, self.gamma)
        return np.exp(G, out=G)

    def _slope(self, Z: Array, V: Array, B: Array) -> Array:
        return -2 * gamma_number(self, self.gamma) * _along(Z, V, B) * self._matrix(Z, B)

    def _slope_slope(self, Z: Array, U: Array, B: Array, V: Array) -> Array:
        two_gamma = 2 * gamma_number(self, self.gamma)
        # _along(B, V, Z) contains (b - z)·v, hence the sign.
        curved = two_gamma * _along(Z, U, B) * -_along(B, V, Z).T
        return two_gamma * (U @ V.T - curved) * self._matrix(Z, B)

    def _curve(self, Z: Array, U: Array, V: Array, B: Array) -> Array:
        two_gamma = 2 * gamma_number(self, self.gamma)
        curved = two_gamma * _along(Z, U, B) * _along(Z, V, B)
        return two_gamma * (curved - _inner(U, V)[:, None]) * self._matrix(Z, B)

    def _values_and_gradients(self, Z: Array, B: Array, W: Array) -> tuple[Array, Array]:
        K = W * self._matrix(Z, B)
        values = K.sum(axis=1)
        return values, 2 * gamma_number(self, self.gamma) * _towards(B, Z, K, values)

    def _slopes_and_gradients(self, Z: Array, V: Array, B: Array, w: Array) -> tuple[Array, Array]:
        two_gamma = 2 * gamma_number(self, self.gamma)
        K = w * self._matrix(Z, B)
        along = K * _along(Z, V, B)
        total = along.sum(axis=1)
        gradients = K.sum(axis=1)[:, None] * V + two_gamma * _towards(B, Z, along, total)
        return -two_gamma * total, -two_gamma * gradients

    def _of_slopes(self, Z: Array, V: Array | None, B: Array, U: Array, w: Array) -> tuple[Array, Array]:
        two_gamma = 2 * gamma_number(self, self.gamma)
        K = two_gamma * w * self._matrix(Z, B)
        across = Z @ U.T - _inner(B, U)
        curved = K * across
        total = curved.sum(axis=1)
        if V is None:
            return total, K @ U + two_gamma * _towards(B, Z, curved, total)
        along = _along(Z, V, B)
        curved *= along
        bent = K * (V @ U.T) - two_gamma * curved
        slopes = bent.sum(axis=1)
        turned = total[:, None] * V + (K * along) @ U
        return slopes, two_gamma * (_towards(B, Z, bent, slopes) - turned)

    def _sum(self, B: Array, w: Array, u: Array | None, v: Array | None, dtype: Any) -> RBFSum | None:
        total = RBFSum(gamma_number(self, self.gamma), B, w, u, v, dtype)
        if total.reach > NEAR and dtype is not float:
            return self._sum(B, w, u, v, float)
        return total if total.reach <= FAR else None

    def _derivative_bound(self, order: int, reach: Array) -> Array:
        gamma = gamma_number(self, self.gamma)
        squared = gamma**order * math.factorial(2 * order) / math.factorial(order)
        return np.full(len(reach), math.sqrt(squared))

    def _displacement_bound(self, radius: Array, reach: Array) -> Array:
        return np.sqrt(-2.0 * np.expm1(-gamma_number(self, self.gamma) * radius**2))


class NegativeDistance(Kernel):
    r"""Negative power of the distance, :math:`k(x, z) = -\|x - z\|^p` with :math:`0 < p \le 2`.

    It is conditionally positive definite, which suffices for models whose coefficients sum to zero. The free
    bias of :class:`PriorSVC` ensures that, so both norms accept the kernel. It has no width to tune. p = 2
    gives a linear decision function.

    Parameters
    ----------
    power : float, default=1.0
        The power p, in (0, 2].

    See Also
    --------
    RBF : Gaussian kernel, which is positive definite.
    Centred : Positive definite kernel of the same model.

    Notes
    -----
    The slope is :math:`-p \|z - b\|^{p-2} (z - b)^\top v`. At z = b the slope is 0 for p > 1. For p ≤ 1 the
    kernel has no derivative at z = b, and 0 is returned, the limit of central differences. Models of the
    2-norm then refuse blocks on slopes.

    Distances are computed from differences of rows instead of inner products. Between two equal rows inner
    products would give the square root of a rounding error, about 1e-8.

    References
    ----------
    Schölkopf 2000, "The kernel trick for distances", NIPS 13.

    Examples
    --------
    >>> from priorsvm.kernels import NegativeDistance
    >>> NegativeDistance()([[0.0, 0.0]], [[3.0, 4.0]])
    array([[-5.]])
    """

    definiteness: Definiteness = "cpd"
    depends_on: Dependence = "distance"
    falls_with_distance: bool = True

    def __init__(self, power: float = 1.0) -> None:
        self.power = power

    @property
    def has_slope_everywhere(self) -> bool:
        self._check()
        return self.power > 1

    def _check(self) -> None:
        self._expect(is_number(self.power) and 0 < self.power <= 2, "power", self.power, "a number in (0, 2]")

    def _matrix(self, A: Array, B: Array) -> Array:
        return -(cdist(A, B) ** self.power)

    def _diag(self, A: Array) -> Array:
        return np.zeros(len(A))

    def _slope(self, Z: Array, V: Array, B: Array) -> Array:
        distance = cdist(Z, B)
        factor = np.power(distance, self.power - 2, out=np.zeros_like(distance), where=distance > 0)
        return -self.power * factor * _along(Z, V, B)


# metric -> definiteness and names of parameters
_METRICS: dict[str, tuple[Definiteness, tuple[str, ...]]] = {
    "laplacian": ("psd", ("gamma",)),
    "chi2": ("psd", ("gamma",)),
    "additive_chi2": ("cpd", ()),
    "cosine": ("psd", ()),
    "sigmoid": ("indefinite", ("gamma", "coef0")),
}


class Pairwise(Kernel):
    r"""Kernel of ``sklearn.metrics.pairwise``, by name.

    ========================  =============================================================  ============
    metric                    :math:`k(x, z)`                                                definiteness
    ========================  =============================================================  ============
    ``"laplacian"``           :math:`\exp(-\gamma \|x - z\|_1)`                              psd
    ``"chi2"``                :math:`\exp(-\gamma \sum_j (x_j - z_j)^2 / (x_j + z_j))`       psd
    ``"additive_chi2"``       :math:`-\sum_j (x_j - z_j)^2 / (x_j + z_j)`                    cpd
    ``"cosine"``              :math:`x^\top z / (\|x\| \|z\|)`                               psd
    ``"sigmoid"``             :math:`\tanh(\gamma\, x^\top z + c_0)`                         indefinite
    ========================  =============================================================  ============

    The two chi-squared kernels require nonnegative data.

    Parameters
    ----------
    metric : {"laplacian", "chi2", "additive_chi2", "cosine", "sigmoid"}
        Name of the kernel.
    params : dict or None, default=None
        ``gamma`` (a number, "scale" or "auto") and ``coef0``, if the formula contains them. Missing
        parameters have scikit-learn's defaults.

    See Also
    --------
    RBF : Gaussian kernel with derivatives.
    Polynomial : Polynomial kernel with derivatives.
    FromCallable : Kernel given by a function of two matrices.

    Examples
    --------
    >>> from priorsvm.kernels import Pairwise
    >>> Pairwise("laplacian", {"gamma": 0.5})([[0.0]], [[2.0]]).round(4)
    array([[0.3679]])
    """

    def __init__(self, metric: str, params: Mapping[str, Any] | None = None) -> None:
        self.metric = metric
        self.params = params

    @property
    def definiteness(self) -> Definiteness:
        self._check()
        return _METRICS[self.metric][0]

    @property
    def depends_on(self) -> Dependence:
        self._check()
        return "inner" if self.metric in ("cosine", "sigmoid") else "entries"

    def resolved(self, X: ArrayLike, weight: Array | None = None) -> Self:
        self._check()
        params = dict(self.params or {})
        if "gamma" in params:
            params["gamma"] = resolved_gamma(params["gamma"], self._rows(X, "X"), weight)
        return type(self)(self.metric, params or None)

    def _check(self) -> None:
        if not isinstance(self.metric, str) or self.metric not in _METRICS:
            raise InvalidInput(f"Pairwise: metric is {self.metric!r}; {one_of(_METRICS, self.metric)}")
        self._expect(isinstance(self.params or {}, Mapping), "params", self.params, "a dict")
        valid = _METRICS[self.metric][1]
        for name, value in (self.params or {}).items():
            if name not in valid:
                names = " and ".join(valid) or "none"
                raise InvalidInput(f"Pairwise: {self.metric!r} has no parameter {name!r}; it has {names}.")
            if name == "gamma":
                self._expect(is_gamma(value), name, value, VALID_GAMMA)
            else:
                self._expect(is_number(value), name, value, "a finite number")

    def _rows(self, X: ArrayLike, name: str) -> Array:
        rows = super()._rows(X, name)
        if "chi2" in self.metric and (rows < 0).any():
            raise InvalidInput(
                f"Pairwise: {self.metric!r} requires nonnegative data, but the smallest value of {name} is "
                f"{rows.min():.3g}. Scale the features to [0, 1], or use another kernel."
            )
        # The chi-squared kernels of scikit-learn reject the read-only arrays that joblib passes to its
        # workers.
        return np.require(rows, requirements="W")

    def _matrix(self, A: Array, B: Array) -> Array:
        params = dict(self.params or {})
        if "gamma" in params:
            gamma_number(self, params["gamma"])
        return pairwise_kernels(A, B, metric=self.metric, **params)


def _inner(A: Array, B: Array) -> Array:
    """Return the inner products of corresponding rows."""
    return np.einsum("ij,ij->i", A, B)


def _along(Z: Array, V: Array, B: Array) -> Array:
    """Return the matrix of :math:`(z_i - b_j)^T v_i`."""
    return _inner(Z, V)[:, None] - V @ B.T


def _towards(B: Array, Z: Array, W: Array, total: Array) -> Array:
    r"""Return the rows :math:`\sum_j W_{ij} (b_j - z_i)`, given the row sums of W."""
    middle = B.mean(axis=0)  # rows far from the origin would lose digits
    return W @ (B - middle) - total[:, None] * (Z - middle)
