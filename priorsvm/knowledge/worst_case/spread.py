r"""Factors of the covariances of uncertain rows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import sqrt

import numpy as np

from ..._utils.arrays import Array
from ...function.memory import refuse_beyond_memory

# Relative size below which an eigenvalue of a covariance counts as rounding.
_RANK = 1e-13
# Relative difference up to which two covariances are equal.
EQUAL = 1e-9


@dataclass(frozen=True, eq=False)
class Spread:
    r"""Factors :math:`A_i` of the distinct covariances :math:`S_i = A_i A_i^\top`.

    Attributes
    ----------
    directions : array of shape (R, d)
        The columns of all factors, one factor after the other.
    rank : array of shape (u,)
        Number of columns of each factor.
    owner : array of shape (n,)
        Index of the factor of each training row; -1 for a certain row.
    """

    directions: Array
    rank: Array
    owner: Array

    @classmethod
    def of_covariances(cls, S: Array, owner: Array) -> Spread:
        """Return factors of (u, d, d) covariances, with as many columns as their rank."""
        unit, R = correlations(S)
        kept = np.ones(unit.shape, bool)
        try:
            factors = np.linalg.cholesky(R)  # triangular, so half of its entries are zero
            deficient = np.flatnonzero(np.einsum("nii->ni", factors).min(axis=1) < 1e-5)
        except np.linalg.LinAlgError:
            factors = np.empty_like(R)
            deficient = np.arange(len(R))
        if len(deficient):
            size, vectors = np.linalg.eigh(R[deficient])
            if (size[:, 0] < -1e-8).any():
                raise NotPSD(int(deficient[np.argmin(size[:, 0])]))
            factors[deficient] = vectors * np.sqrt(np.maximum(size, 0.0))[:, None, :]
            kept[deficient] = size > _RANK * np.maximum(size[:, -1:], np.finfo(float).tiny)
        return cls._of((unit[:, :, None] * factors).swapaxes(1, 2), kept, owner)

    @classmethod
    def of_factors(cls, A: Array, owner: Array) -> Spread:
        """Return (u, d, k) factors without redundant columns, which make cones degenerate."""
        unit = np.linalg.norm(A, axis=2)
        unit = np.where(unit > 0, unit, 1.0)
        U, size, _ = np.linalg.svd(A / unit[:, :, None], full_matrices=False)
        kept = size > sqrt(_RANK) * np.maximum(size[:, :1], np.finfo(float).tiny)
        return cls._of((unit[:, :, None] * U * size[:, None, :]).swapaxes(1, 2), kept, owner)

    @classmethod
    def of_deviations(cls, deviations: Array, owner: Array) -> Spread:
        """Return factors of (u, d) standard deviations."""
        n, d = deviations.shape
        refuse_beyond_memory(3 * n * d, d, "the error bars of all rows", "Give fewer distinct error bars.")
        columns = deviations[:, :, None] * np.eye(d)
        return cls._of(columns, deviations > 0, owner)

    @classmethod
    def _of(cls, columns: Array, kept: Array, owner: Array) -> Spread:
        rank = kept.sum(axis=1)
        certain = np.append(rank == 0, True)  # the last entry is for owner -1
        return cls(columns[kept], rank, np.where(certain[owner], -1, owner))

    @property
    def uncertain(self) -> Array:
        """Whether each training row is uncertain."""
        return np.asarray(self.owner >= 0)

    @cached_property
    def start(self) -> Array:
        """Index of the first direction of each factor."""
        return np.concatenate([[0], np.cumsum(self.rank)[:-1]])

    def is_invariant(self, order: Array) -> bool:
        """Return whether every covariance stays the same if its columns are rearranged."""
        for first, rank in zip(self.start, self.rank, strict=True):
            A = self.directions[first : first + rank]
            S = A.T @ A
            if np.abs(S[np.ix_(order, order)] - S).max(initial=0.0) > EQUAL * np.abs(S).max(initial=0.0):
                return False
        return True

    def by_rank(self, factors: Array) -> dict[int, tuple[Array, Array]]:
        """Return rank -> positions in ``factors`` with this rank, and their directions, (n, rank, d)."""
        ranks = self.rank[factors]
        found: dict[int, tuple[Array, Array]] = {}
        if len(ranks) == 0:
            return found
        if len(ranks) == len(self.rank) and np.ptp(ranks) == 0 and (np.diff(factors) == 1).all():
            k = int(ranks[0])  # all factors in order: a view is enough
            return {k: (np.arange(len(ranks)), self.directions.reshape(len(ranks), k, -1))}
        for k in np.unique(ranks):
            which = np.flatnonzero(ranks == k)
            places = self.start[factors[which], None] + np.arange(k)
            found[int(k)] = which, self.directions[places]
        return found


class NotPSD(ValueError):
    """Error for a matrix that is not positive semidefinite; ``args`` contains its index."""


def correlations(S: Array) -> tuple[Array, Array]:
    """Return standard deviations, with 1 for zeros, and correlations, which do not depend on units."""
    unit = np.sqrt(np.maximum(np.einsum("nii->ni", S), 0.0))
    unit = np.where(unit > 0, unit, 1.0)
    return unit, S / (unit[:, :, None] * unit[:, None, :])
