"""Kernels that are given by their matrix: rows of a model are indices of training samples.

f differs from the model on features by about 2e-12.
"""

from __future__ import annotations

import copy
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from .._utils.arrays import Array
from ..errors import InvalidInput, MissingCapability
from ..function.factor import is_cpd, is_psd, is_symmetric
from .base import Definiteness, Kernel


class Precomputed(Kernel):
    r"""Kernel given by its matrix :math:`K_{ij} = k(s_i, s_j)` between training samples.

    .. math:: k(i, j) = K_{ij}, \qquad k(\kappa, j) = \kappa_j

    ``PriorSVC(kernel="precomputed")`` uses this class. A row is one of two things: the index i of a training
    sample, or the values :math:`\kappa_j = k(s, s_j)` of a new sample s with all training samples. The
    samples themselves may be strings, graphs or any other objects.

    Parameters
    ----------
    matrix : array of shape (n, n)
        The matrix K.

    See Also
    --------
    FromCallable : Kernel given by a function of two matrices.
    KernelMatrix : Transformer from rows to their kernel matrix.

    Notes
    -----
    The definiteness is computed from the matrix. If K is not positive semidefinite, but its centred matrix
    is, the kernel is conditionally positive definite on the training samples.

    Examples
    --------
    >>> from priorsvm.kernels import Precomputed
    >>> k = Precomputed([[2.0, 1.0], [1.0, 2.0]])
    >>> k([[1]], [[0], [1]])
    array([[1., 2.]])
    >>> k([[0.5, 0.25]], [[1]])
    array([[0.25]])
    >>> k.definiteness
    'psd'
    """

    encodes: bool = True

    def __init__(self, matrix: ArrayLike) -> None:
        self.matrix = matrix

    def __repr__(self) -> str:
        return f"Precomputed(<{len(self._K)} x {len(self._K)} matrix>)"

    @property
    def _K(self) -> Array:
        return np.asarray(self.matrix, float)

    @property
    def samples(self) -> Array:
        """Training samples as rows: their indices, shape (n, 1)."""
        return np.arange(float(len(self._K)))[:, None]

    @property
    def definiteness(self) -> Definiteness:
        return self._definiteness

    @cached_property
    def _definiteness(self) -> Definiteness:
        K = self._K
        if not is_symmetric(K):
            return "unknown"
        if is_psd(K):
            return "psd"
        return "cpd" if is_cpd(K) else "indefinite"

    def set_params(self, **params: object) -> Self:
        self.__dict__.pop("_definiteness", None)
        return super().set_params(**params)

    def resolved(self, X: ArrayLike, weight: Array | None = None) -> Self:
        self._check()
        return copy.copy(self)

    def _check(self) -> None:
        K = self._K
        if K.ndim != 2 or K.shape[0] != K.shape[1]:
            raise InvalidInput(f"Precomputed: matrix has shape {K.shape}; expected a square matrix.")

    def _rows(self, X: ArrayLike, name: str) -> Array:
        rows = super()._rows(X, name)
        n = len(self._K)
        if rows.shape[1] == 1:
            valid = (rows >= 0) & (rows < n) & (rows % 1 == 0)
            self._expect(bool(valid.all()), name, X, f"indices of training samples, from 0 to {n - 1}")
        elif rows.shape[1] != n:
            raise InvalidInput(
                f"Precomputed: {name} has {rows.shape[1]} columns; expected 1 index of a training sample, or "
                f"{n} values of the kernel with all training samples."
            )
        return rows

    def _like(self, X: ArrayLike, name: str, other: Array, other_name: str) -> Array:
        return self._rows(X, name)

    def _matrix(self, A: Array, B: Array) -> Array:
        columns = _indices(B)
        if A.shape[1] > 1:
            return A[:, columns]
        return self._K[np.ix_(_indices(A), columns)]

    def _diag(self, A: Array) -> Array:
        rows = _indices(A)
        return self._K[rows, rows]


def _indices(rows: Array) -> Array:
    if rows.shape[1] > 1:
        raise MissingCapability(
            "Precomputed: the kernel between two new samples is not known. Give indices of training samples."
        )
    return rows[:, 0].astype(int)
