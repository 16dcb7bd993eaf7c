"""Transformer from rows to their kernel matrix, for estimators of scikit-learn."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from .._utils.arrays import Array
from .base import Kernel
from .resolve import resolve_kernel


class KernelMatrix(TransformerMixin, BaseEstimator):
    r"""Transformer from rows to their kernel values with the training rows.

    .. math:: x \mapsto \bigl(k(x, x_1), \dots, k(x, x_n)\bigr)

    In a pipeline it passes the matrix of any kernel of this package to an estimator with
    ``kernel="precomputed"``, such as ``KernelPCA``, ``KernelRidge`` and ``SVR`` of scikit-learn. A grid
    search sets the parameters of the kernel.

    Parameters
    ----------
    kernel : Kernel or str
        The kernel, or a name as in ``PriorSVC(kernel=...)``. A parameter such as ``gamma="scale"`` is
        computed from the training rows.

    Attributes
    ----------
    kernel_ : Kernel
        The kernel with numbers for all its parameters.
    X_ : ndarray of shape (n, d)
        Training rows.

    See Also
    --------
    GaussianProcessKernel : Kernel object of scikit-learn's Gaussian processes.
    Centred : Positive definite kernel made of a conditionally positive definite kernel.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.kernel_ridge import KernelRidge
    >>> from sklearn.pipeline import make_pipeline
    >>> from priorsvm.kernels import RBF, KernelMatrix
    >>> x = np.linspace(0, 6, 30)[:, None]
    >>> model = make_pipeline(KernelMatrix(RBF(gamma=1.0)), KernelRidge(alpha=1e-3, kernel="precomputed"))
    >>> model.fit(x, np.sin(x[:, 0])).predict([[1.0]]).round(2)
    array([0.84])
    """

    def __init__(self, kernel: Kernel | str) -> None:
        self.kernel = kernel

    def fit(self, X: ArrayLike, y: Any = None) -> Self:
        """Store the training rows, and compute the parameters of the kernel that depend on them.

        Parameters
        ----------
        X : array of shape (n, d)
            Training rows.
        y : None
            Not used.

        Returns
        -------
        KernelMatrix
            This transformer.
        """
        self.X_ = validate_data(self, X, dtype=np.float64)
        self.kernel_ = resolve_kernel(self.kernel, self.X_.shape[1], self.X_)
        return self

    def transform(self, X: ArrayLike) -> Array:
        """Return the kernel values with the training rows.

        Parameters
        ----------
        X : array of shape (m, d)
            Rows.

        Returns
        -------
        array of shape (m, n)
        """
        check_is_fitted(self, "X_")
        return self.kernel_(validate_data(self, X, reset=False, dtype=np.float64), self.X_)

    def fit_transform(self, X: ArrayLike, y: Any = None) -> Array:
        """Return the symmetric kernel matrix between the training rows.

        Parameters
        ----------
        X : array of shape (n, d)
            Training rows.
        y : None
            Not used.

        Returns
        -------
        array of shape (n, n)
        """
        self.fit(X)
        return self.kernel_(self.X_)
