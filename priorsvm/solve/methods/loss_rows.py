"""Rows of the loss, with their costs and margins."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._utils.arrays import Array

# Rows are merged if at most this share of them is distinct.
DISTINCT = 0.5


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
        shares = None if self.shares is None else self.shares[:, which]
        return LossRows(self.X[which], self.y[which], self.bound[which], self.margin[which], shares)

    def excess(self, f: Any) -> Array:
        r"""Return :math:`t_i = \rho_i - y_i f(x_i)`."""
        return np.asarray(self.margin - self.y * f.value(self.X))


def distinct(rows: LossRows) -> tuple[LossRows, Array] | None:
    """Return distinct rows with the sums of their costs, and the place of each row among them.

    None if most rows are distinct.
    """
    # Equal rows have equal numbers here. Different rows may have, so the rows are compared below.
    number = rows.X @ np.random.default_rng(0).normal(size=rows.X.shape[1])
    keys = np.column_stack([number, rows.y, rows.margin])
    if len(np.unique(number)) > DISTINCT * len(rows):
        return None
    _, first, place = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    place = place.ravel()
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
