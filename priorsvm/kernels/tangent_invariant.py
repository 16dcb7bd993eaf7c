"""Kernels that are invariant along the tangents of the training rows."""

from __future__ import annotations

from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import cholesky, solve_triangular

from .._utils.arrays import Array
from .._utils.checks import is_number
from ..errors import InvalidInput, KernelNotPSD
from ..function.memory import refuse_beyond_memory
from ..transforms.base import Transform
from .base import Definiteness, Kernel, require_kernel
from .tangent_distance import check_continuous

# Number of columns of the matrix of the tangents that are computed at a time.
BLOCK = 500

# Added to the diagonal, as a share of its maximum, so that a very large gamma does not give a singular
# matrix.
FLOOR = 1e-13


class TangentInvariant(Kernel):
    r"""Kernel that is invariant along the tangents :math:`v_i` of the training rows :math:`x_i`.

    .. math:: k_{inv}(x, z) = k(x, z) - d(x)^\top \bigl(\tfrac1\mu I + K^t\bigr)^{-1} d(z), \qquad
              d_i(x) = \langle \partial_{v_i} \Phi(x_i), \Phi(x) \rangle, \quad
              K^t_{ij} = \langle \partial_{v_i} \Phi(x_i), \partial_{v_j} \Phi(x_j) \rangle .

    The norm of its feature space is :math:`\|g\|^2 + \mu \sum_i (\partial_{v_i} g(x_i))^2`. An SVM with
    this kernel therefore equals the model with the block :class:`TangentPenalty` of equal weight, and it is
    fitted as fast as an SVM. For μ = 0 it is k. A large μ projects the tangents out of the feature space.

    It is positive definite. The invariance holds near the training rows, which :meth:`resolved` receives from
    ``PriorSVC.fit``.

    Parameters
    ----------
    base : Kernel
        The kernel k: positive definite with ``slope_slope``, such as :class:`RBF`, :class:`Polynomial` or
        :class:`Linear`.
    transform : Transform
        Continuous transform. Every row has one tangent for each parameter of the transform.
    gamma : float
        The weight μ ≥ 0. Lauer & Bloch 2008 (38) use
        :math:`(1 - \gamma_R) \|w\|^2 + \gamma_R \sum (w^\top v)^2`, which corresponds to μ = γ_R / (1 - γ_R)
        and C = C_R / (1 - γ_R).

    See Also
    --------
    priorsvm.TangentPenalty : The equivalent block.
    TangentDistance : Kernel in which new rows are transformed too.
    HaarIntegration : Mean of a kernel over transformations.

    Notes
    -----
    The size of the matrix of the tangents is the number of training rows times the number of parameters of
    the transform. A row of weight 2 counts twice.

    References
    ----------
    Schölkopf, Simard, Smola & Vapnik 1998, "Prior knowledge in support vector kernels", NIPS 10;
    Chapelle & Schölkopf 2002, "Incorporating invariances in nonlinear support vector machines", NIPS 14;
    Lauer & Bloch 2008, eqs. (38)-(42).

    Examples
    --------
    >>> from priorsvm import PriorSVC, Shift
    >>> from priorsvm.kernels import RBF, TangentInvariant
    >>> X, y = [[0.0, 0.0], [0.5, 1.0], [1.5, 0.0], [2.0, 1.0]], [0, 0, 1, 1]
    >>> line = [[2.0, 0.7], [2.0, 1.0], [2.0, 1.3]]
    >>> PriorSVC(kernel=RBF(0.5), C=10.0).fit(X, y).decision_function(line).round(1)
    array([1.2, 1. , 0.8])
    >>> kernel = TangentInvariant(RBF(0.5), Shift([0.0, 1.0]), gamma=100.0)
    >>> PriorSVC(kernel=kernel, C=10.0).fit(X, y).decision_function(line).round(1)
    array([1.2, 1.2, 1.2])
    """

    def __init__(self, base: Kernel, transform: Transform, gamma: float) -> None:
        self.base = base
        self.transform = transform
        self.gamma = gamma

    @property
    def definiteness(self) -> Definiteness:
        return "psd"

    def resolved(self, X: ArrayLike, weight: Array | None = None) -> Kernel:
        self._check()
        rows = self._rows(X, "X")
        resolved = type(self)(self.base.resolved(X, weight), self.transform, self.gamma)
        if len(rows) == 0:
            return resolved
        points, tangents = tangent_atoms(self.transform, rows, weight)
        n = len(points)
        remedy = "Give fewer rows, or a transform with fewer parameters."
        refuse_beyond_memory(n, n, "the matrix of the tangents", remedy)
        return Invariant(resolved, points, tangents)

    def _check(self) -> None:
        require_kernel(self.base, self)._check()
        check_continuous(self, self.transform)
        self._expect(is_number(self.gamma) and self.gamma >= 0, "gamma", self.gamma, "a nonnegative number")
        if self.base.definiteness != "psd":
            raise KernelNotPSD(
                f"TangentInvariant: base is {self.base!r}, which is not known to be positive semidefinite. "
                "Use a positive semidefinite kernel such as RBF()."
            )
        self.base._require("slope_slope")

    def _matrix(self, A: Array, B: Array) -> Array:
        raise InvalidInput(
            "TangentInvariant: the tangents of the training rows are not known. Use the kernel that "
            "resolved(X) returns."
        )


class Invariant(Kernel):
    """A :class:`TangentInvariant` kernel with its tangents, and the training row of each tangent."""

    definiteness: Definiteness = "psd"
    whole: bool = True

    def __init__(self, kernel: TangentInvariant, points: Array, tangents: Array) -> None:
        self.kernel = kernel
        self.points = points
        self.tangents = tangents

    def __repr__(self) -> str:
        return repr(self.kernel)

    def set_params(self, **params: Any) -> Self:
        self.__dict__.pop("_factor", None)
        return super().set_params(**params)

    @property
    def plain(self) -> Kernel:
        return self.kernel.base.plain

    @property
    def has_derivative_bound(self) -> bool:
        return self.kernel.base.has_derivative_bound

    def _check(self) -> None:
        self.kernel._check()

    def _rows(self, X: ArrayLike, name: str) -> Array:
        return self.kernel.base._rows(X, name)

    @cached_property
    def _factor(self) -> Array:
        r"""The Cholesky factor of :math:`I / \mu + K^t`."""
        Z = self.points
        V = self.tangents
        k = self.kernel.base
        n = len(Z)
        K = np.empty((n, n), order="F")
        for start in range(0, n, BLOCK):
            columns = slice(start, start + BLOCK)
            K[start:, columns] = k._slope_slope(Z[start:], V[start:], Z[columns], V[columns])
        diagonal = np.einsum("ii->i", K)
        diagonal += 1.0 / self.kernel.gamma + FLOOR * diagonal.max()
        return cholesky(K, lower=True, overwrite_a=True, check_finite=False)

    def _solved(self, d: Array) -> Array:
        return solve_triangular(self._factor, d, lower=True, overwrite_b=True, check_finite=False)

    def _values(self, A: Array) -> Array:
        return self._solved(self.kernel.base._slope(self.points, self.tangents, A))

    def _slopes(self, Z: Array, V: Array) -> Array:
        return self._solved(self.kernel.base._slope_slope(self.points, self.tangents, Z, V))

    def _matrix(self, A: Array, B: Array) -> Array:
        K = self.kernel.base._matrix(A, B)
        if self.kernel.gamma == 0:
            return K
        left = self._values(A)
        right = left if B is A else self._values(B)
        return K - left.T @ right

    def _diag(self, A: Array) -> Array:
        K = self.kernel.base._diag(A)
        return K if self.kernel.gamma == 0 else K - (self._values(A) ** 2).sum(axis=0)

    def _slope(self, Z: Array, V: Array, B: Array) -> Array:
        K = self.kernel.base._slope(Z, V, B)
        return K if self.kernel.gamma == 0 else K - self._slopes(Z, V).T @ self._values(B)

    def _slope_slope(self, Z: Array, U: Array, B: Array, V: Array) -> Array:
        K = self.kernel.base._slope_slope(Z, U, B, V)
        return K if self.kernel.gamma == 0 else K - self._slopes(Z, U).T @ self._slopes(B, V)

    # The subtracted kernel is positive definite, so norms are at most the norms of the base kernel.

    def _derivative_bound(self, order: int, reach: Array) -> Array:
        return self.kernel.base._derivative_bound(order, reach)

    def _displacement_bound(self, radius: Array, reach: Array) -> Array:
        return self.kernel.base._displacement_bound(radius, reach)


def tangent_atoms(transform: Transform, X: Array, weight: Array | None = None) -> tuple[Array, Array]:
    r"""Return the row of each tangent, and the tangents times :math:`\sqrt{w_i}` of the weight of the row."""
    if weight is not None:
        X = X[weight > 0]
        weight = weight[weight > 0]
    tangents = transform.tangents(X)
    if weight is not None:
        tangents = tangents * np.sqrt(weight)[:, None, None]
    return np.repeat(X, tangents.shape[1], axis=0), tangents.reshape(-1, X.shape[1])
