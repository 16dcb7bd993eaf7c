"""Kernels of this package as kernel objects of scikit-learn's Gaussian processes."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.gaussian_process import kernels

from .._utils.arrays import Array
from ..errors import InvalidType, KernelNotPSD
from .base import Kernel


class GaussianProcessKernel(kernels.Kernel):
    r"""Covariance :math:`\operatorname{cov}(f(x), f(z)) = k(x, z)` of scikit-learn's Gaussian processes.

    The object adds and multiplies with the kernels of ``sklearn.gaussian_process.kernels``, whose parameters
    are then optimised. The parameters of k itself are fixed.

    Parameters
    ----------
    kernel : Kernel
        Positive definite kernel with numbers for all its parameters, such as the result of
        ``kernel.resolved(X)``.

    See Also
    --------
    KernelMatrix : Transformer for estimators that accept a kernel matrix.
    Centred : Positive definite kernel made of a conditionally positive definite kernel.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.gaussian_process import GaussianProcessRegressor
    >>> from sklearn.gaussian_process.kernels import ConstantKernel
    >>> from priorsvm import RBF, HaarIntegration, Reflection
    >>> from priorsvm.kernels import GaussianProcessKernel
    >>> even = HaarIntegration(RBF(gamma=0.5), Reflection(axis=1, shape=(1, 2)))
    >>> X, y = np.array([[0.0, 1.0], [2.0, 0.5], [1.0, 3.0]]), np.array([1.0, 2.0, 0.0])
    >>> model = GaussianProcessRegressor(ConstantKernel() * GaussianProcessKernel(even)).fit(X, y)
    >>> model.predict(X[:, ::-1]).round(6) + 0.0
    array([1., 2., 0.])
    """

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel

    def __call__(self, X: Any, Y: Any = None, eval_gradient: bool = False) -> Any:
        """Return the covariance matrix, and its gradient by no parameter if that is required.

        Parameters
        ----------
        X : array of shape (n, d)
            First arguments.
        Y : array of shape (m, d) or None, default=None
            Second arguments; None means ``X``.
        eval_gradient : bool, default=False
            Whether the gradient is returned too.

        Returns
        -------
        array of shape (n, m), or a pair of it and an array of shape (n, n, 0)
        """
        K = self._checked()(X, Y)
        return (K, np.empty((*K.shape, 0))) if eval_gradient else K

    def diag(self, X: Any) -> Array:
        """Return the variances :math:`k(x_i, x_i)`.

        Parameters
        ----------
        X : array of shape (n, d)
            Rows.

        Returns
        -------
        array of shape (n,)
        """
        return self._checked().diag(X)

    def is_stationary(self) -> bool:
        """Return whether the kernel depends on differences of rows alone.

        Returns
        -------
        bool
        """
        return self._checked().depends_on == "distance"

    def __repr__(self) -> str:
        return f"GaussianProcessKernel({self.kernel!r})"

    def _checked(self) -> Kernel:
        kernel = self.kernel
        if not isinstance(kernel, Kernel):
            raise InvalidType(f"GaussianProcessKernel: {kernel!r} is not a Kernel. Use one such as RBF(0.5).")
        if kernel.definiteness != "psd":
            advice = "Use a positive semidefinite kernel such as RBF()."
            if kernel.definiteness == "cpd":
                advice = "Use Centred(kernel).resolved(X) of priorsvm.kernels."
            raise KernelNotPSD(
                f"GaussianProcessKernel: {kernel!r} is not known to be positive semidefinite, so it is not a "
                f"covariance. {advice}"
            )
        return kernel
