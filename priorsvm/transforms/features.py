"""Transforms that change a few features of a row, in combinations that are often too many to list."""

from __future__ import annotations

from itertools import combinations
from math import comb
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array, issparse

from .._utils.arrays import Array
from .._utils.checks import is_number, is_whole
from ..errors import InvalidInput
from .base import Transform

Indices = NDArray[np.intp]

# Gains below this value count as 0, so that the largest gain of a row can be a divisor.
TINY = 1e-300
# Largest number of deletions that are listed for a row.
LISTED = 4096


class FeatureScaling(Transform):
    r"""Multiplication of any k features by factors from ``low`` to ``high``.

    .. math:: T_\theta x = x \circ (1 + \theta), \qquad \|\theta\|_0 \le k, \quad
              \mathrm{low} - 1 \le \theta_j \le \mathrm{high} - 1

    The transform has no finite orbit. For a linear f the worst case has a closed form (Teo et al. 2007,
    Algorithm 3). It scales the k features with the largest gains :math:`\max(0, (1 - \mathrm{low}) B_j,
    (1 - \mathrm{high}) B_j)`, where :math:`B_j = y w_j x_j`. Use it with :class:`~priorsvm.InvariantLoss`.

    Parameters
    ----------
    k : int
        Largest number of features that change; a number above d means all features.
    low : float, default=0.5
        Smallest factor, 0 ≤ low ≤ 1.
    high : float, default=2.0
        Largest factor, high ≥ 1.

    See Also
    --------
    FeatureDeletion : Features set to zero.
    priorsvm.InvariantLoss : Block that uses the worst case.

    References
    ----------
    Teo, Globerson, Roweis & Smola 2007, "Convex learning with invariances", NIPS.

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
        """Raise InvalidInput unless k and the factors are valid.

        Parameters
        ----------
        d : int
            Number of features; any number is valid.
        """
        name = type(self).__name__
        low, high = self._factors()
        if not is_whole(self.k) or self.k < 0:
            raise InvalidInput(f"{name}: k must be a whole number of at least 0, got {self.k!r}.")
        if not (is_number(low) and is_number(high) and 0 <= low <= 1 <= high):
            raise InvalidInput(
                f"{name}: the factors must satisfy 0 <= low <= 1 <= high; got low={low!r}, high={high!r}."
            )

    def _factors(self) -> tuple[float, float]:
        return self.low, self.high

    def apply(self, X: ArrayLike, theta: ArrayLike) -> Array:
        r"""Return :math:`x \circ (1 + \theta)` for every row x of X.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Rows to transform.
        theta : array-like of shape (d,)
            Relative change of each feature.

        Returns
        -------
        ndarray of shape (n, d)
            The transformed rows.
        """
        rows = self._check_rows(X)
        factors = np.asarray(theta, float)
        if factors.shape != (rows.shape[1],) or not np.isfinite(factors).all():
            raise InvalidInput(
                f"{type(self).__name__}.apply: theta must have one finite number for each of the "
                f"{rows.shape[1]} features, got {theta!r}."
            )
        return np.asarray(rows * (1.0 + factors))

    def gains(self, B: Array) -> Array:
        """Return the largest decrease of y f that each feature can cause.

        Parameters
        ----------
        B : ndarray
            The contributions y w_j x_j of the features to y f.

        Returns
        -------
        ndarray of the shape of B
            The decreases; none is negative, since low ≤ 1 ≤ high.
        """
        low, high = self._factors()
        return np.maximum((1.0 - low) * B, (1.0 - high) * B)

    def worst(self, X: Any, coef: ArrayLike, sign: ArrayLike) -> Any:
        r"""Return the transformed rows with the smallest :math:`y f(T_\theta x)` for a linear f.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, d)
            Rows to transform.
        coef : array-like of shape (d,)
            The weights of f.
        sign : array-like of shape (n,)
            The class y of each row, −1 or +1.

        Returns
        -------
        {ndarray, sparse array} of shape (n, d)
            The transformed rows, sparse if X is sparse.
        """
        coef = np.asarray(coef, float)
        if not np.isin(sign, (-1, 1)).all():
            raise InvalidInput(
                f"{type(self).__name__}.worst: sign must contain -1 and +1 only, got "
                f"{np.unique(sign)[:3].tolist()!r}. Use +1 for the second class of classes_."
            )
        sign = np.asarray(sign, float)
        if issparse(X):
            return self._worst_sparse(X, coef, sign)
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
        low, high = self._factors()
        return np.where(chosen, rows * np.where(B > 0, low, high), rows)

    def _worst_sparse(self, X: Any, coef: Array, sign: Array) -> csr_array:
        low, high = self._factors()
        canonical = X.format == "csr" and X.has_canonical_format
        rows = csr_array(X, copy=not canonical)
        if not canonical:
            rows.sum_duplicates()
        B = coef.take(rows.indices)
        B *= rows.data
        B *= np.repeat(sign, np.diff(rows.indptr))
        largest = largest_entries(B if (low, high) == (0, 1) else self.gains(B), rows.indptr, self.k)
        # astype copies, so X is not modified.
        rows.data = rows.data.astype(float)
        rows.data[largest] *= np.where(B[largest] > 0, low, high)
        return rows


class FeatureDeletion(FeatureScaling):
    r"""Deletion of any k features, which become zero.

    .. math:: T_\theta x = x \circ (1 + \theta), \qquad \theta \in \{-1, 0\}^d, \quad \|\theta\|_0 \le k

    It is :class:`FeatureScaling` with ``low=0`` and ``high=1``. Use it if features can be missing or
    removed on purpose at prediction time, such as words in spam filters. Unlike scalings, deletions can be
    listed. A row of d features has :math:`\sum_{j \le k} \binom{d}{j}` of them, and up to 4096 are listed: by
    :meth:`orbit`, for blocks that use orbits and for kernel models.

    Parameters
    ----------
    k : int
        Largest number of deleted features; a number above d means all features.

    See Also
    --------
    FeatureScaling : Features multiplied by factors.
    priorsvm.InvariantLoss : Block that uses the worst case.

    References
    ----------
    Globerson & Roweis 2006, "Nightmare at test time: robust learning by feature deletion", ICML.

    Examples
    --------
    >>> FeatureDeletion(k=1).worst([[4.0, 1.0]], coef=[1.0, 3.0], sign=[1.0])
    array([[0., 1.]])
    """

    def __init__(self, k: int):
        self.k = k

    def _factors(self) -> tuple[float, float]:
        return 0.0, 1.0

    def parameters(self, d: int) -> Array:
        r"""Return the parameters of all deletions.

        Parameters
        ----------
        d : int
            Number of features.

        Returns
        -------
        ndarray of shape (s, d)
            -1 for a deleted feature and 0 for a kept feature, the row without a deletion first.

        Raises
        ------
        InvalidInput
            If there are more than 4096 deletions.

        Examples
        --------
        >>> FeatureDeletion(k=1).parameters(2)
        array([[ 0.,  0.], [-1.,  0.], [ 0., -1.]])
        """
        self.validate(d)
        most = min(self.k, d)
        count = sum(comb(d, j) for j in range(most + 1))
        if count > LISTED:
            raise InvalidInput(
                f"FeatureDeletion: {count} ways to delete up to k={self.k} of {d} features are too many to "
                f"list. At most {LISTED} are listed: use a smaller k, or fewer features."
            )
        chosen = [subset for j in range(most + 1) for subset in combinations(range(d), j)]
        thetas = np.zeros((count, d))
        for theta, subset in zip(thetas, chosen, strict=True):
            theta[list(subset)] = -1.0
        return thetas

    def orbit(self, X: ArrayLike) -> Array:
        """Return every row with each set of up to k features deleted.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Rows to transform.

        Returns
        -------
        ndarray of shape (n, s, d)
            The orbits; ``orbit(X)[:, 0]`` is equal to X.

        Examples
        --------
        >>> FeatureDeletion(k=1).orbit([[4.0, 1.0]])
        array([[[4., 1.], [0., 1.], [4., 0.]]])
        """
        rows = self._check_rows(X)
        return rows[:, None] * (1.0 + self.parameters(rows.shape[1]))


def largest_entries(gains: Array, ends: Indices, k: int) -> Indices:
    """Return the indices of the k largest positive gains of every row; row i starts at ends[i]."""
    counts = np.diff(ends)
    pieces = 2 * k
    filled = np.flatnonzero(counts)
    if k == 0 or len(filled) == 0:
        return np.empty(0, np.intp)
    # Cut a row into 2k pieces. Entries below the k-th largest maximum of a piece are not among the k largest,
    # so they need no sorting. Rows with fewer entries than pieces are sorted completely.
    size = counts[filled]
    starts = ends[filled, None] + size[:, None] * np.arange(pieces) // pieces
    tops = np.maximum.reduceat(gains, starts.ravel()).reshape(starts.shape)
    least = np.zeros(len(counts))
    least[filled] = np.where(size >= pieces, np.partition(tops, k, axis=1)[:, k], 0.0)
    candidates = np.flatnonzero(gains >= np.repeat(np.maximum(least, TINY), counts))
    # One sort of one number per entry: by row, and within a row by decreasing gain.
    owner = np.searchsorted(ends, candidates, side="right") - 1
    largest = np.ones(len(counts))
    largest[filled] = np.maximum(tops.max(axis=1), TINY)
    order = np.argsort(owner - 0.5 * gains[candidates] / largest[owner])
    first = np.searchsorted(owner, np.arange(len(counts)))
    return candidates[order[np.arange(len(order)) - first[owner] < k]]
