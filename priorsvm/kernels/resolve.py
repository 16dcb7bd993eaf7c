"""Names and functions as kernels: the parameter ``kernel`` of a model."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from .._utils.arrays import Array
from .._utils.messages import one_of
from ..errors import InvalidInput, InvalidType
from .base import Kernel
from .standard import RBF, Linear, Pairwise, Polynomial

NAMED: dict[str, Callable[[], Kernel]] = {
    "linear": Linear,
    "poly": Polynomial,
    "polynomial": Polynomial,
    "rbf": RBF,
    "laplacian": partial(Pairwise, "laplacian"),
    "chi2": partial(Pairwise, "chi2"),
    "additive_chi2": partial(Pairwise, "additive_chi2"),
    "cosine": partial(Pairwise, "cosine"),
    # The defaults of SVC, which differ from the defaults of sklearn.metrics.pairwise.
    "sigmoid": partial(Pairwise, "sigmoid", {"gamma": "scale", "coef0": 0.0}),
}


class FromCallable(Kernel):
    r"""Kernel given by a function of two matrices, written ``kernel=function``.

    .. math:: K_{ij} = k(a_i, b_j) = \mathrm{function}(A, B)_{ij}

    for rows :math:`a_i` of A and :math:`b_j` of B. Its definiteness is unknown, and it has no derivatives.

    Parameters
    ----------
    function : callable
        ``function(A, B)`` with A of shape (n, d) and B of shape (m, d) returns a matrix of shape (n, m).

    See Also
    --------
    Kernel : Base class for kernels of your own with derivatives and a known definiteness.
    resolve_kernel : Convert a name or a function to a kernel.

    Examples
    --------
    >>> from priorsvm.kernels import FromCallable
    >>> k = FromCallable(lambda A, B: (A @ B.T) ** 2)
    >>> k([[1.0, 2.0]], [[3.0, 0.0], [0.0, 1.0]])
    array([[9., 4.]])
    """

    def __init__(self, function: Callable[[Array, Array], Array]) -> None:
        self.function = function

    def __repr__(self) -> str:
        return f"FromCallable({self._name})"

    @property
    def _name(self) -> str:
        return getattr(self.function, "__name__", type(self.function).__name__)

    def _check(self) -> None:
        if not callable(self.function):
            raise InvalidType(
                f"FromCallable: function is {self.function!r}; expected a function of two matrices."
            )

    def _matrix(self, A: Array, B: Array) -> Array:
        contract = (
            f"The kernel function {self._name!r} is given matrices of shape {A.shape} and {B.shape} and must "
            f"return one number per pair of rows, shape {(len(A), len(B))}, as A @ B.T does. A function "
            "g(x, z) of two vectors becomes a function of matrices by "
            "lambda A, B: np.array([[g(a, b) for b in B] for a in A])."
        )
        try:
            K = np.asarray(self.function(A, B), dtype=float)
        except Exception as error:
            error.add_note(contract)
            raise
        if K.shape != (len(A), len(B)):
            raise InvalidInput(f"{contract} It returned shape {K.shape}.")
        if not np.isfinite(K).all():
            bad = np.count_nonzero(~np.isfinite(K))
            raise InvalidInput(
                f"The kernel function {self._name!r} returned {bad} values that are not finite. Return "
                "finite numbers for every pair of rows."
            )
        return K


def resolve_kernel(
    kernel: Kernel | str | Callable[[Array, Array], Array],
    n_features: int,
    X: ArrayLike | None = None,
    weight: Array | None = None,
) -> Kernel:
    """Return the kernel that an object, a name or a function describes.

    Parameters
    ----------
    kernel : Kernel, str or callable
        The names ``"linear"``, ``"poly"`` or ``"polynomial"``, ``"rbf"`` and ``"sigmoid"`` give kernels with
        the defaults of ``sklearn.svm.SVC``. The names ``"laplacian"``, ``"chi2"``, ``"additive_chi2"`` and
        ``"cosine"`` give kernels with the defaults of ``sklearn.metrics.pairwise``. A function of two
        matrices is wrapped in :class:`FromCallable`.
    n_features : int
        Number of features, which determines ``gamma="auto"`` if ``X`` is None.
    X : array of shape (n, n_features) or None, default=None
        Training rows, which determine ``gamma="scale"``. If None, ``"scale"`` stays.
    weight : array of shape (n,) or None, default=None
        Number of times each training row counts; None means once.

    Returns
    -------
    Kernel
        A copy with checked parameters.

    Raises
    ------
    InvalidInput
        If the name is unknown, or a parameter of the kernel is invalid.
    InvalidType
        If ``kernel`` is not a Kernel, a name or a function.

    See Also
    --------
    Kernel.resolved : Compute the parameters of a kernel that depend on the training rows.

    Examples
    --------
    >>> from priorsvm.kernels import resolve_kernel
    >>> resolve_kernel("rbf", 2, [[0.0, 2.0], [2.0, 0.0]])
    RBF(gamma=0.5)
    """
    if isinstance(kernel, str):
        if kernel not in NAMED:
            hint = " Only PriorSVC accepts a kernel matrix." if kernel == "precomputed" else ""
            raise InvalidInput(f"Unknown kernel {kernel!r}; {one_of(NAMED, kernel)}{hint}")
        kernel = NAMED[kernel]()
    elif isinstance(kernel, type):
        raise InvalidType(f"kernel is the class {kernel.__name__}; write {kernel.__name__}().")
    elif not isinstance(kernel, Kernel):
        if not callable(kernel):
            raise InvalidType(
                f"kernel is {kernel!r}; expected a Kernel such as RBF(), a name such as 'rbf', "
                "or a function of two matrices."
            )
        kernel = FromCallable(kernel)
    return kernel.resolved(np.empty((0, n_features)) if X is None else X, weight)
