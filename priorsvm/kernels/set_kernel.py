r"""Kernels between sets of vectors: what they share, and how sets become rows.

A sample is a set :math:`\{x_1, \dots, x_m\}` of vectors, in no order. Everything else in the library works
with rows of a table, so :class:`OnRows` writes each set into a row and reads it back for the kernel.
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

from priorsvm._utils.arrays import PAD, to_width
from priorsvm.errors import InvalidInput, InvalidType
from priorsvm.kernels.base import Definiteness, Kernel, _Combination, _kernel

from .._utils.arrays import Array

# What is worked out for pairs of sets at one time takes no more memory than this.
BLOCK_BYTES = 2**26


@dataclass(frozen=True, eq=False)
class Sets:
    """Sets of vectors of one width.

    Attributes
    ----------
    elements : (n, m, d) array; a set of fewer than m vectors is filled up with zeros.
    sizes : (n,) array, how many vectors each set has.
    """

    elements: Array
    sizes: NDArray[np.int_]

    @classmethod
    def of_rows(cls, rows: Array, width: int) -> Sets:
        """What :meth:`rows` wrote; the rows may have been made wider since."""
        elements = rows.reshape(len(rows), rows.shape[1] // width, width)
        present = elements[:, :, 0] != PAD
        return cls(np.where(present[:, :, None], elements, 0.0), present.sum(axis=1))

    def rows(self) -> Array:
        """Each set as a row: its vectors one after the other, then the number PAD, which is no entry."""
        filled = np.where(self.present[:, :, None], self.elements, PAD)
        return filled.reshape(len(self), math.prod(filled.shape[1:]))

    def __len__(self) -> int:
        return len(self.elements)

    def __getitem__(self, key: Any) -> Any:
        """One set as an (m, d) array, or the sets of a slice or an array of indices."""
        if isinstance(key, (int, np.integer)):
            return self.elements[key, : self.sizes[key]]
        return Sets(self.elements[key], self.sizes[key])

    @property
    def width(self) -> int:
        return self.elements.shape[2]

    @property
    def present(self) -> NDArray[np.bool_]:
        """(n, m) array: which of the vectors are elements, and which fill up."""
        return np.arange(self.elements.shape[1]) < self.sizes[:, None]

    @property
    def of_one_size(self) -> bool:
        return len(np.unique(self.sizes)) == 1


def as_sets(X: Any, name: str) -> Sets:
    """Sets given as a list of (m, d) arrays, or as one (n, m, d) array; ``name`` is for messages."""
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
            raise InvalidInput(f"{name}[{i}] is an empty set, shape {part.shape}: leave it out.")
        if part.shape[1] != parts[0].shape[1]:
            raise InvalidInput(
                f"{name}[{i}] has vectors of {part.shape[1]} entries and {name}[0] of {parts[0].shape[1]}: "
                "all sets need vectors of the same width."
            )
        if not (np.abs(part) < PAD).all():
            raise InvalidInput(f"{name}[{i}] contains NaN or infinity.")
    sizes = np.array([len(part) for part in parts])
    elements = np.zeros((len(parts), sizes.max(), parts[0].shape[1]))
    for one, part in zip(elements, parts, strict=True):
        one[: len(part)] = part
    return Sets(elements, sizes)


@dataclass(frozen=True, eq=False)
class Directions:
    r"""For every set, vectors of the feature space: :math:`u_{il} = \sum_k a_{ikl} \Phi(x_{ik})`.

    Attributes
    ----------
    elements : (n, m, d) array of the :math:`x_{ik}`.
    weights : (n, m, r) array of the :math:`a_{ikl}`, 0 where there is no element.
    """

    elements: Array
    weights: Array

    def products(self, other: Directions, base: Kernel | None) -> Array:
        r"""The inner products :math:`\langle u_{il}, v_{jq} \rangle`, shape (n_i, n_j, r, s)."""
        (a, m, d), (b, n, _) = self.elements.shape, other.elements.shape
        r = self.weights.shape[2]
        s = other.weights.shape[2]
        if base is None:
            U, V = (np.swapaxes(D.weights, 1, 2) @ D.elements for D in (self, other))  # the vectors as rows
            return (U.reshape(a * r, d) @ V.reshape(b * s, d).T).reshape(a, r, b, s).swapaxes(1, 2)
        K = base._matrix(self.elements.reshape(a * m, d), other.elements.reshape(b * n, d))
        left = np.swapaxes(self.weights, 1, 2) @ K.reshape(a, m, b * n)
        right = left.reshape(a * r, b, n).swapaxes(0, 1) @ other.weights
        return right.reshape(b, a, r, s).swapaxes(0, 1)

    def __getitem__(self, key: Any) -> Directions:
        return Directions(self.elements[key], self.weights[key])


class SetKernel(Kernel):
    r"""Base of the similarities of two sets of vectors :math:`k(\{x_1, \dots, x_m\}, \{z_1, \dots, z_n\})`.

    In the space of the vectors, or in that of a ``base`` kernel. A kernel of one's own has ``_matrix``, and
    ``_diag`` if that is quicker, which are given :class:`Sets`.

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
        known = copy.copy(self)
        if self.base is not None:
            vectors, counts = self._vectors(self._rows(X, "X"), weight)
            known.base = self.base.resolved(vectors, counts)
        return known

    def _vectors(self, sets: Sets, weight: Array | None) -> tuple[Array, Array | None]:
        """All vectors of all sets, and how many times each counts."""
        present = sets.present
        counts = None if weight is None else np.repeat(weight, sets.sizes)
        return sets.elements[present], counts

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
                "no feature space to fit anything in. Use one such as RBF()."
            )

    def _own_products(self, sets: Sets) -> Array:
        r"""Of every set, the inner products of its vectors in feature space, 0 where one is missing."""
        X = sets.elements
        if self.base is None:
            return X @ np.swapaxes(X, 1, 2)
        K = np.array([self.base._matrix(x, x) for x in X])
        return K * (sets.present[:, :, None] & sets.present[:, None, :])


def by_pairs(block: Callable[[slice, slice], Array], n: int, m: int, pair: int, symmetric: bool) -> Array:
    """An (n, m) matrix, ``block`` by block, where a pair takes so many bytes of memory on the way."""
    step = max(1, math.isqrt(BLOCK_BYTES // pair))
    K = np.zeros((n, m))
    for a in gen_batches(n, step):
        for b in gen_batches(m, step):
            if not symmetric or b.start >= a.start:
                K[a, b] = block(a, b)
    return np.triu(K) + np.triu(K, 1).T if symmetric else K


class OnRows(_Combination):
    r"""A kernel between sets of vectors that takes each set as a row of numbers.

    .. math:: k\bigl((x_1, \dots, x_m), (z_1, \dots, z_n)\bigr) = k_{set}(\{x_i\}, \{z_j\})

    What :class:`PriorSVC` makes of such a kernel. It also takes sets as they are.

    Parameters
    ----------
    kernel : Kernel between sets
    width : int
        The width d of the vectors. A row has the m d numbers of a set, vector by vector; a set of fewer
        vectors than the largest is filled up with the largest number that a float can be.

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

    def __init__(self, kernel: Kernel, width: int) -> None:
        self.kernel = kernel
        self.width = width

    def _parts(self) -> list[Kernel]:
        return [_kernel(self.kernel, self)]

    @property
    def definiteness(self) -> Definiteness:
        return self.kernel.definiteness

    def resolved(self, X: Any, weight: Array | None = None) -> Self:
        return type(self)(self.kernel.resolved(self._rows(X, "X"), weight), self.width)

    def encode(self, X: Any, name: str = "X", at_least: int = 0) -> Array:
        """Sets as rows, of no fewer columns than ``at_least``."""
        sets = as_sets(X, name)
        if len(sets) and sets.width != self.width:
            raise InvalidInput(
                f"{name} has sets of vectors of {sets.width} entries, and this model was fitted on vectors "
                f"of {self.width}."
            )
        return to_width(sets.rows(), at_least)

    def _rows(self, X: Any, name: str) -> Any:
        if isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype != object:
            if X.shape[1] % self.width:
                raise InvalidInput(
                    f"OnRows: {name} has {X.shape[1]} columns, which are no vectors of {self.width} entries."
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
    """Whether the samples of a kernel are sets of vectors."""
    return isinstance(kernel, Kernel) and kernel.takes_sets
