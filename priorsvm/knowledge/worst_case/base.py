r"""What the blocks share that ask for the margin at the worst a row may be.

They put constraints on the row's own slack, :math:`y_i f(x) \ge \rho_i - \xi_i` for all x it may be, so that
the loss becomes a supremum and nothing is counted twice.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import issparse

from ..._utils.arrays import Array
from ..base import Context

# Parts of the largest multiplier: below is nothing but rounding, and above is what does hold f up.
ROUNDING = 1e-9
SUPPORT = 1e-6


@dataclass(frozen=True, eq=False)
class WorstCase:
    r"""Where the margin was won: the points that hold f up, and how hard.

    On a linear machine of the 2-norm, with no other block that pushes, :math:`w = \sum_k a_k y_k x_k` over
    these points, in the machine's units; they are what virtual support vectors would have to be. (Not for
    trajectories of several parameters in a span, which ask for a little more than any points do.)

    Attributes
    ----------
    rows : (m,) array, the training row each point belongs to; a row can have several.
    points : (m, d) array, in the user's units; sparse if X is.
    weights : (m,) array, the multipliers :math:`a_k`; tiny ones are listed too, or the sum would not be w.
    support : (m,) array, whether a point does hold f up.
    thetas : (m,) or (m, q) array, the parameters of the move there (trajectories), else None.
    errors : (n,) array, how far f is from the polynomial that stands for it, at most, along the trajectory
        of each training row (trajectories), else None; NaN for a row that has no cost.
    """

    rows: Array
    points: Any
    weights: Array
    support: Array
    thetas: Array | None = None
    errors: Array | None = None

    @classmethod
    def of(
        cls,
        context: Context,
        rows: Array,
        points: Any,
        weights: Array,
        thetas: Array | None = None,
        errors: Array | None = None,
        push: Array | None = None,
    ) -> WorstCase:
        """The points whose weight is more than rounding; those of a row that are the same, once."""
        push = weights if push is None else push  # a point far out needs little weight to move f
        kept = np.flatnonzero((push > ROUNDING * context.largest) & (weights != 0))
        kept = kept[np.argsort(rows[kept], kind="stable")]
        rows = rows[kept]
        points = points[kept]
        weights = weights[kept]
        push = push[kept]
        if issparse(points):  # corners, and no two of a row are the same
            return cls(rows, points, weights, push > SUPPORT * context.largest)
        size = 1e-5 * (1.0 + np.abs(points).max(initial=0.0))
        group = np.arange(len(rows))
        finite = np.ones(len(rows), bool)  # at infinity there are directions
        if thetas is not None:
            finite = np.array([bool(np.isfinite(theta).all()) for theta in thetas[kept]], bool)
        for k in range(1, len(rows)):
            near = [j for j in range(max(0, k - 8), k) if rows[j] == rows[k]]
            same = [
                j for j in near if finite[j] and finite[k] and np.abs(points[j] - points[k]).max() <= size
            ]
            group[k] = group[same[0]] if same else k
        first, of = np.unique(group, return_inverse=True)
        total = np.bincount(of, weights)

        def mean(values: Array) -> Array:
            with np.errstate(invalid="ignore"):
                summed = np.zeros((len(first), *values.shape[1:]))
                np.add.at(summed, of, values * weights.reshape(-1, *[1] * (values.ndim - 1)))
                return summed / total.reshape(-1, *[1] * (values.ndim - 1))

        thetas = None if thetas is None else mean(thetas[kept])
        support = np.bincount(of, push) > SUPPORT * context.largest
        return cls(rows[first], mean(points), total, support, thetas, errors)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self}>"

    def __str__(self) -> str:
        rows = len(np.unique(self.rows[self.support]))
        points = int(self.support.sum())
        text = f"{rows} row{'s'[: rows != 1]} held at {points} worst point{'s'[: points != 1]}"
        if self.errors is None or not np.isfinite(self.errors).any():
            return text
        return f"{text}; f is within {np.nanmax(self.errors):.2g} of its polynomial along every trajectory"


def rows_and_slack(context: Context, chosen: Array) -> tuple[Array, Array]:
    """Of the rows with a cost those that are ``chosen``: their indices, and their places in the slack."""
    assert context.rows is not None
    places = np.flatnonzero(chosen[context.rows])
    return context.rows[places], places
