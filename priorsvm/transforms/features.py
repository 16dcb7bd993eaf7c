"""Transforms that spoil a few features at once: any few of them, so that no list of moves exists."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array, issparse

from priorsvm.errors import InvalidInput
from priorsvm.transforms.base import Transform

from .._utils.arrays import Array
from .._utils.checks import is_number, is_whole

Places = NDArray[np.intp]


class FeatureScaling(Transform):
    r"""Multiply at most k features, whichever they are, by factors from ``low`` to ``high``.

    .. math:: T_\theta x = x \circ (1 + \theta), \qquad \|\theta\|_0 \le k, \quad
              \mathrm{low} - 1 \le \theta_j \le \mathrm{high} - 1

    There are too many moves to list. For a linear f the worst one is known: of the gains
    :math:`\max(0, (1 - \mathrm{low}) B_j, (1 - \mathrm{high}) B_j)`, :math:`B_j = y w_j x_j`, it takes the k
    largest (Algorithm 3 of Teo et al. 2007). So this is for blocks that ask for the worst case.

    Parameters
    ----------
    k : int
        How many features may change; more than there are means all.
    low, high : float
        Factors with 0 <= low <= 1 <= high.

    Examples
    --------
    >>> words = FeatureScaling(k=1, low=0.5, high=2.0)
    >>> words.worst([[4.0, 1.0]], coef=[1.0, -3.0], sign=[1.0])
    array([[4., 2.]])
    """

    def __init__(self, k: int, low: float = 0.5, high: float = 2.0):
        self.k = k
        self.low = low
        self.high = high

    @property
    def finite(self) -> bool:
        return False

    @property
    def continuous(self) -> bool:
        return False

    def validate(self, d: int) -> None:
        """Raise :class:`~priorsvm.errors.InvalidInput` unless the arguments make sense."""
        name = type(self).__name__
        low, high = self._factors()
        if not is_whole(self.k) or self.k < 0:
            raise InvalidInput(f"{name}: k must be a whole number, 0 or more; got {self.k!r}.")
        if not (is_number(low) and is_number(high) and 0 <= low <= 1 <= high):
            raise InvalidInput(f"{name}: it takes 0 <= low <= 1 <= high; got low={low!r}, high={high!r}.")

    def _factors(self) -> tuple[float, float]:
        return self.low, self.high

    def apply(self, X: ArrayLike, theta: ArrayLike) -> Array:
        """Multiply by 1 + θ, one number for each feature."""
        rows = self._check_rows(X)
        factors = np.asarray(theta, float)
        if factors.shape != (rows.shape[1],) or not np.isfinite(factors).all():
            raise InvalidInput(
                f"{type(self).__name__}.apply takes one theta for each of {rows.shape[1]} features."
            )
        return np.asarray(rows * (1.0 + factors))

    def gains(self, B: Array) -> Array:
        """How much y f falls when a feature of share B = y w x is made as bad as it can be."""
        low, high = self._factors()
        return np.maximum((1.0 - low) * B, (1.0 - high) * B)  # low <= 1 <= high: not below 0

    def worst(self, X: Any, coef: ArrayLike, sign: ArrayLike) -> Any:
        r"""The moved rows of least :math:`y f(T_\theta x)`, for a linear f; sparse rows stay sparse.

        Parameters
        ----------
        X : (n, d) array or sparse matrix
        coef : (d,) array, the weights of f
        sign : (n,) array of -1 and +1, the classes
        """
        coef = np.asarray(coef, float)
        if not np.isin(sign, (-1, 1)).all():
            raise InvalidInput(
                f"{type(self).__name__}.worst takes the classes as -1 and +1, the second of classes_ being "
                f"+1, and they hold {np.unique(sign)[:3].tolist()!r}."
            )
        sign = np.asarray(sign, float)
        low, high = self._factors()
        if issparse(X):
            canonical = X.format == "csr" and X.has_canonical_format
            rows = csr_array(X, copy=not canonical)
            if not canonical:
                rows.sum_duplicates()
            B = coef.take(rows.indices)
            B *= rows.data
            B *= np.repeat(sign, np.diff(rows.indptr))
            there = _largest(B if (low, high) == (0, 1) else self.gains(B), rows.indptr, self.k)
            rows.data = rows.data.astype(float)  # a copy: what was given stays as it is
            rows.data[there] *= np.where(B[there] > 0, low, high)
            return rows
        rows = self._check_rows(X)
        B = sign[:, None] * coef * rows
        gains = self.gains(B)
        chosen = gains > 0
        if self.k < rows.shape[1]:
            kept = np.zeros_like(chosen)
            if self.k:
                top = np.argpartition(-gains, self.k - 1, axis=1)[:, : self.k]
                np.put_along_axis(kept, top, True, axis=1)
            chosen &= kept
        return np.where(chosen, rows * np.where(B > 0, low, high), rows)


class FeatureDeletion(FeatureScaling):
    r"""Set at most k features, whichever they are, to zero: :class:`FeatureScaling` by 0 or 1.

    .. math:: T_\theta x = x \circ (1 + \theta), \qquad \theta \in \{-1, 0\}^d, \quad \|\theta\|_0 \le k

    Parameters
    ----------
    k : int
        How many features may go; more than there are means all.

    References
    ----------
    Globerson & Roweis 2006.

    Examples
    --------
    >>> FeatureDeletion(k=1).worst([[4.0, 1.0]], coef=[1.0, 3.0], sign=[1.0])
    array([[0., 1.]])
    """

    def __init__(self, k: int):
        self.k = k

    def _factors(self) -> tuple[float, float]:
        return 0.0, 1.0


def _largest(gains: Array, ends: Places, k: int) -> Places:
    """The places of the k largest gains above 0 of every row; those of row i begin at ends[i]."""
    counts = np.diff(ends)
    pieces = 2 * k
    filled = np.flatnonzero(counts)
    if k == 0 or len(filled) == 0:
        return np.empty(0, np.intp)
    # Of the tops of 2k pieces of a row k are at least as large as the k-th: what is smaller need not be
    # sorted. A row of fewer entries has not so many pieces.
    size = counts[filled]
    starts = ends[filled, None] + size[:, None] * np.arange(pieces) // pieces
    tops = np.maximum.reduceat(gains, starts.ravel()).reshape(starts.shape)
    least = np.zeros(len(counts))
    least[filled] = np.where(size >= pieces, np.partition(tops, k, axis=1)[:, k], 0.0)
    some = np.flatnonzero(gains >= np.repeat(np.maximum(least, 1e-300), counts))
    # By row, and within a row by gain: one sort of one number each.
    owner = np.searchsorted(ends, some, side="right") - 1
    largest = np.ones(len(counts))
    largest[filled] = np.maximum(tops.max(axis=1), 1e-300)
    order = np.argsort(owner - 0.5 * gains[some] / largest[owner])
    first = np.searchsorted(owner, np.arange(len(counts)))
    return some[order[np.arange(len(order)) - first[owner] < k]]
