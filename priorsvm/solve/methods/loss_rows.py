"""Rows of the loss, with their costs and margins, and sums over them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..._utils.arrays import Array, distinct_rows

# Rows are merged if at most this share of them is distinct.
DISTINCT = 0.5

# Margin of the rows that stand for a linear term: far above values of f at the mean of the rows.
FAR_MARGIN = 30.0

# The signs of the classes, in the order of sums by class.
SIGNS = np.array([-1.0, 1.0])


@dataclass(frozen=True, eq=False)
class LossRows:
    r"""Rows of the loss.

    Attributes
    ----------
    X, y, bound, margin : rows, signs, costs :math:`C_i` and margins :math:`\rho_i`. Cost 0 leaves a row out.
    shares : the part of each block in the costs, one row for each block; None if it is not counted.
    """

    X: Array
    y: Array
    bound: Array
    margin: Array
    shares: Array | None = None

    def __len__(self) -> int:
        return len(self.y)

    def __getitem__(self, which: Array | slice) -> LossRows:
        if isinstance(which, slice):
            shares = None if self.shares is None else self.shares[:, which]
            return LossRows(self.X[which], self.y[which], self.bound[which], self.margin[which], shares)
        rows = np.flatnonzero(which) if which.dtype == bool else which
        shares = None if self.shares is None else self.shares.take(rows, axis=1)
        # ``take`` copies rows in half of the time of an index.
        X = self.X.take(rows, axis=0)
        return LossRows(X, self.y.take(rows), self.bound.take(rows), self.margin.take(rows), shares)

    def excess(self, f: Any) -> Array:
        r"""Return :math:`t_i = \rho_i - y_i f(x_i)`."""
        return np.asarray(self.margin - self.y * f.value(self.X))


class Sums(NamedTuple):
    """Sums over rows of the negative and the positive class: costs, costs times margins, costs times x."""

    bound: Array
    margin: Array
    X: Array

    @classmethod
    def of(cls, rows: LossRows, chosen: Array) -> Sums:
        """Return the sums over chosen rows."""
        weights = [np.where(chosen & (rows.y == sign), rows.bound, 0.0) for sign in SIGNS]
        bound = np.array([weight.sum() for weight in weights])
        margin = np.array([weight @ rows.margin for weight in weights])
        return cls(bound, margin, np.array([weight @ rows.X for weight in weights]))

    def plus(self, other: Sums, factor: float = 1.0) -> Sums:
        """Return these sums plus a multiple of other sums."""
        return Sums(*(a + factor * b for a, b in zip(self, other, strict=True)))

    def rows(self) -> LossRows:
        """Return one row for each class of positive cost."""
        which = np.flatnonzero(self.bound > 0)
        bound = self.bound[which]
        return LossRows(self.X[which] / bound[:, None], SIGNS[which], bound, self.margin[which] / bound)

    def linear_term(self, middle: Array, width: Array) -> LossRows:
        """Return two rows whose loss has the gradient of the loss of the rows of these sums, at any f.

        Parameters
        ----------
        middle, width : mean and standard deviation of the features, near which the two rows lie.
        """
        by_bias = float(self.bound[0] - self.bound[1])
        half = 0.5 * (self.X[0] - self.X[1] - by_bias * middle)
        varying = width > 0
        distance = float(np.max(np.abs(half[varying]) / width[varying], initial=0.0))
        bound = max(distance, abs(by_bias), 1e-300) - 0.5 * by_bias * SIGNS
        return LossRows(middle - np.outer(SIGNS / bound, half), SIGNS, bound, np.full(2, FAR_MARGIN))


def distinct(rows: LossRows) -> tuple[LossRows, Array] | None:
    """Return distinct rows with the sums of their costs, and the place of each row among them.

    None if most rows are distinct.
    """
    # Equal rows have equal numbers here. Different rows may have, so the rows are compared below.
    number = rows.X @ np.random.default_rng(0).normal(size=rows.X.shape[1])
    keys = np.column_stack([number, rows.y, rows.margin])
    if len(np.unique(number)) > DISTINCT * len(rows):
        return None
    _, first, place = distinct_rows(keys)
    if not np.array_equal(rows.X[first][place], rows.X):
        return None
    bound = np.bincount(place, rows.bound, minlength=len(first))
    return LossRows(rows.X[first], rows.y[first], bound, rows.margin[first]), place


def stacked(parts: list[LossRows]) -> LossRows:
    """Return the rows of all parts, in order."""
    shares = [part.shares for part in parts if part.shares is not None]
    return LossRows(
        np.vstack([part.X for part in parts]),
        np.concatenate([part.y for part in parts]),
        np.concatenate([part.bound for part in parts]),
        np.concatenate([part.margin for part in parts]),
        np.hstack(shares) if len(shares) == len(parts) else None,
    )
