r"""Base class of kernels between sets of vectors, and the encoding of sets as rows.

A sample is an unordered set :math:`\{x_1, \dots, x_m\}` of vectors. All other modules operate on rows of a
matrix, so :class:`OnRows` encodes each set as a row and decodes it for the kernel.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self, TypeGuard

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import gen_batches

from .._utils.arrays import PAD, Array, to_width
from ..errors import InvalidInput, InvalidType
from .algebra import Combination
from .base import Definiteness, Kernel, require_kernel
from .centred import Centred, central_row

# Largest memory of intermediate results for pairs of sets.
BLOCK_BYTES = 2**26


@dataclass(frozen=True, eq=False)
class Sets:
    """Sets of vectors of equal width.

    Attributes
    ----------
    elements : (n, m, d) array; a set of fewer than m vectors is padded with zeros.
    sizes : (n,) array of the number of vectors of each set.
    """

    elements: Array
    sizes: NDArray[np.int_]

    @classmethod
    def of_rows(cls, rows: Array, width: int) -> Sets:
        """Return the sets that :meth:`rows` has encoded; the rows may have additional padding."""
        elements = rows.reshape(len(rows), rows.shape[1] // width, width)
        present = elements[:, :, 0] != PAD
        return cls(np.where(present[:, :, None], elements, 0.0), present.sum(axis=1))

    def rows(self) -> Array:
        """Return each set as a row: its vectors in sequence, padded with the number PAD."""
        filled = np.where(self.present[:, :, None], self.elements, PAD)
        return filled.reshape(len(self), math.prod(filled.shape[1:]))

    def __len__(self) -> int:
        return len(self.elements)

    def __getitem__(self, key: Any) -> Any:
        """Return one set as an (m, d) array, or the sets of a slice or of an array of indices."""
        if isinstance(key, (int, np.integer)):
            return self.elements[key, : self.sizes[key]]
        return Sets(self.elements[key], self.sizes[key])

    @property
    def width(self) -> int:
        return self.elements.shape[2]

    @property
    def present(self) -> NDArray[np.bool_]:
        """(n, m) array: True for elements, False for padding."""
        return np.arange(self.elements.shape[1]) < self.sizes[:, None]

    @property
    def of_one_size(self) -> bool:
        return len(np.unique(self.sizes)) == 1


def as_sets(X: Any, name: str) -> Sets:
    """Return the sets of a list of (m, d) arrays or of an (n, m, d) array.

    Parameters
    ----------
    X : list of arrays of shape (m, d), array of shape (n, m, d) or Sets
        Sets of vectors.
    name : str
        Name of the argument in messages.

    Returns
    -------
    Sets

    Raises
    ------
    InvalidInput
        If a set is empty, not two-dimensional, of another width than the first set, or not finite.
    """
    if isinstance(X, Sets):
        return X
    expected = f"{name} must be a list of (m, d) arrays, one for each set of vectors, or an (n, m, d) array"
    if isinstance(X, np.ndarray) and X.dtype != object and X.ndim != 3 and len(X):
        raise InvalidInput(f"{expected}; its shape is {X.shape}.")
    try:
        parts = [np.asarray(one, float) for one in X]
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"{expected} of numbers; got {type(X).__name__}.") from error
    if not parts:
        return Sets(np.zeros((0, 0, 0)), np.zeros(0, int))
    for i, part in enumerate(parts):
        if part.ndim != 2:
            raise InvalidInput(f"{expected}; {name}[{i}] has shape {part.shape}.")
        if part.size == 0:
            raise InvalidInput(f"{name}[{i}] is an empty set, shape {part.shape}. Leave it out.")
        if part.shape[1] != parts[0].shape[1]:
            raise InvalidInput(
                f"{name}[{i}] has vectors of {part.shape[1]} entries and {name}[0] of {parts[0].shape[1]}. "
                "All vectors must have equal width."
            )
        if not (np.abs(part) < PAD).all():
            raise InvalidInput(f"{name}[{i}] contains NaN or infinity. Use finite numbers.")
    sizes = np.array([len(part) for part in parts])
    elements = np.zeros((len(parts), sizes.max(), parts[0].shape[1]))
    for one, part in zip(elements, parts, strict=True):
        one[: len(part)] = part
    return Sets(elements, sizes)


@dataclass(frozen=True, eq=False)
class Directions:
    r"""Vectors :math:`u_{il} = \sum_k a_{ikl} \Phi(x_{ik})` of the feature space, for every set i.

    Attributes
    ----------
    elements : (n, m, d) array of the :math:`x_{ik}`.
    weights : (n, m, r) array of the :math:`a_{ikl}`, 0 for padding.
    """

    elements: Array
    weights: Array

    def products(self, other: Directions, base: Kernel | None) -> Array:
        r"""Return the inner products :math:`\langle u_{il}, v_{jq} \rangle`, shape (n_i, n_j, r, s)."""
        a, m, d = self.elements.shape
        b, n, _ = other.elements.shape
        r = self.weights.shape[2]
        s = other.weights.shape[2]
        if base is None:
            # The vectors u and v as rows.
            U = np.swapaxes(self.weights, 1, 2) @ self.elements
            V = np.swapaxes(other.weights, 1, 2) @ other.elements
            return (U.reshape(a * r, d) @ V.reshape(b * s, d).T).reshape(a, r, b, s).swapaxes(1, 2)
        K = base._matrix(self.elements.reshape(a * m, d), other.elements.reshape(b * n, d))
        left = np.swapaxes(self.weights, 1, 2) @ K.reshape(a, m, b * n)
        right = left.reshape(a * r, b, n).swapaxes(0, 1) @ other.weights
        return right.reshape(b, a, r, s).swapaxes(0, 1)

    def __getitem__(self, key: Any) -> Directions:
        return Directions(self.elements[key], self.weights[key])


class SetKernel(Kernel):
    r"""Base class of kernels between sets of vectors :math:`k(\{x_1, \dots, x_m\}, \{z_1, \dots, z_n\})`.

    The vectors are compared in their own space or in the feature space of a ``base`` kernel. A set kernel of
    your own defines ``_matrix``, and ``_diag`` if that is faster. Both receive :class:`Sets`.

    See Also
    --------
    Bhattacharyya : Overlap of the Gaussians of two sets.
    PrincipalAngles : Angles between the spans of two sets.
    OnRows : Set kernel on sets that are encoded as rows.

    Examples
    --------
    The kernel between the means of two sets, :math:`k(X, Z) = \bar x^\top \bar z`.

    >>> from priorsvm.kernels import SetKernel
    >>> class Means(SetKernel):
    ...     base = None
    ...     definiteness = "psd"
    ...     def _matrix(self, A, B):
    ...         means = [sets.elements.sum(axis=1) / sets.sizes[:, None] for sets in (A, B)]
    ...         return means[0] @ means[1].T
    >>> Means()([[[1.0], [3.0]], [[4.0]]])
    array([[ 4.,  8.],
           [ 8., 16.]])
    """

    takes_sets = True
    base: Kernel | None

    def resolved(self, X: Any, weight: Array | None = None) -> Self:
        self._check()
        resolved = copy.copy(self)
        if self.base is not None:
            vectors, counts = self._vectors(self._rows(X, "X"), weight)
            resolved.base = self.base.resolved(vectors, counts)
        return resolved

    def _vectors(self, sets: Sets, weight: Array | None) -> tuple[Array, Array | None]:
        """Return all vectors of all sets, and the number of times each counts."""
        counts = None if weight is None else np.repeat(weight, sets.sizes)
        return sets.elements[sets.present], counts

    def _rows(self, X: Any, name: str) -> Any:
        return as_sets(X, f"{type(self).__name__}: {name}")

    def _check(self) -> None:
        if self.base is None:
            return
        if not isinstance(self.base, Kernel) or self.base.takes_sets:
            raise InvalidType(
                f"{type(self).__name__}: base is {self.base!r}; expected None or a kernel between vectors, "
                "such as RBF()."
            )
        self.base._check()
        if self.base.definiteness in ("cpd", "indefinite"):
            raise InvalidInput(
                f"{type(self).__name__}: base is {self.base!r}, which is not positive semidefinite and has "
                "no feature space. Use a kernel such as RBF()."
            )

    def _own_products(self, sets: Sets) -> Array:
        r"""Return the inner products of the vectors of each set in feature space, 0 for padding."""
        X = sets.elements
        if self.base is None:
            return X @ np.swapaxes(X, 1, 2)
        K = np.array([self.base._matrix(x, x) for x in X])
        return K * (sets.present[:, :, None] & sets.present[:, None, :])


def by_pairs(block: Callable[[slice, slice], Array], n: int, m: int, pair: int, symmetric: bool) -> Array:
    """Return an (n, m) matrix over pairs of sets, computed in blocks.

    Parameters
    ----------
    block : callable
        ``block(a, b)`` returns the values for a slice of rows and a slice of columns.
    n, m : int
        Shape of the matrix.
    pair : int
        Bytes of intermediate results for each pair.
    symmetric : bool
        Whether only blocks on and above the diagonal are computed.

    Returns
    -------
    array of shape (n, m)
    """
    step = max(1, math.isqrt(BLOCK_BYTES // pair))
    K = np.zeros((n, m))
    for a in gen_batches(n, step):
        for b in gen_batches(m, step):
            if not symmetric or b.start >= a.start:
                K[a, b] = block(a, b)
    return np.triu(K) + np.triu(K, 1).T if symmetric else K


class OnRows(Combination):
    r"""Kernel between sets of vectors, each encoded as a row of numbers.

    .. math:: k\bigl((x_1, \dots, x_m), (z_1, \dots, z_n)\bigr) = k_{set}(\{x_i\}, \{z_j\})

    :class:`PriorSVC` wraps its set kernel in this class. Sets that are not encoded are accepted too.

    Parameters
    ----------
    kernel : Kernel
        Kernel between sets of vectors.
    width : int
        Width d of the vectors. A row contains the m d numbers of a set, vector by vector. Smaller sets are
        padded with the largest float.

    See Also
    --------
    SetKernel : Base class of kernels between sets of vectors.

    Examples
    --------
    >>> import numpy as np
    >>> from priorsvm.kernels import Bhattacharyya, OnRows
    >>> k = OnRows(Bhattacharyya(eta=1.0), width=1)
    >>> rows = k.encode([[[0.0], [2.0]], [[1.0]]])
    >>> rows.shape
    (2, 2)
    >>> bool(np.array_equal(k(rows), k.kernel([[[0.0], [2.0]], [[1.0]]])))
    True
    """

    encodes: bool = True

    def __init__(self, kernel: Kernel, width: int) -> None:
        self.kernel = kernel
        self.width = width

    def _parts(self) -> list[Kernel]:
        return [require_kernel(self.kernel, self)]

    @property
    def definiteness(self) -> Definiteness:
        return self.kernel.definiteness

    def resolved(self, X: Any, weight: Array | None = None) -> Self:
        return type(self)(self.kernel.resolved(self._rows(X, "X"), weight), self.width)

    def centred(self, X: Any, weight: Array | None = None) -> Self:
        row = central_row(self, X, weight)
        origin = Sets.of_rows(row[None], self.width)[0]
        return type(self)(Centred(self.kernel, origin), self.width)

    def encode(self, X: Any, name: str = "X", at_least: int = 0) -> Array:
        """Return sets as rows.

        Parameters
        ----------
        X : list of arrays of shape (m, width), or array of shape (n, m, width)
            Sets of vectors.
        name : str, default="X"
            Name of the argument in messages.
        at_least : int, default=0
            Smallest number of columns of the result.

        Returns
        -------
        array of shape (n, n_columns)
        """
        sets = as_sets(X, name)
        if len(sets) and sets.width != self.width:
            raise InvalidInput(
                f"{name} has sets of vectors of {sets.width} entries, but this model was fitted on vectors "
                f"of {self.width}. Use vectors of {self.width} entries."
            )
        return to_width(sets.rows(), at_least)

    def in_words(self, n_columns: int) -> str:
        """Return what a row of ``n_columns`` numbers contains, for messages."""
        if n_columns % self.width:
            return f"rows of {n_columns} numbers"
        return f"sets of {n_columns // self.width} vectors of length {self.width}"

    def _rows(self, X: Any, name: str) -> Any:
        if isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype != object:
            if X.shape[1] % self.width:
                raise InvalidInput(
                    f"OnRows: {name} has {X.shape[1]} columns, which is not a multiple of the width "
                    f"{self.width} of the vectors. Encode the sets with encode(X)."
                )
            return Sets.of_rows(X, self.width)
        return super()._rows(X, name)

    def _matrix(self, A: Any, B: Any) -> Array:
        return self.kernel._matrix(A, B)

    def _diag(self, A: Any) -> Array:
        return self.kernel._diag(A)

    def __repr__(self) -> str:
        return f"OnRows({self.kernel!r}, width={self.width})"


def takes_sets(kernel: object) -> TypeGuard[Kernel]:
    """Return whether the samples of a kernel are sets of vectors."""
    return isinstance(kernel, Kernel) and kernel.takes_sets
