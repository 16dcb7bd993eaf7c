r"""Worst-case points of a fitted model, and the helper that worst-case blocks share.

These blocks constrain the slack of each row, :math:`y_i f(x) \ge \rho_i - \xi_i` for all possible x of the
row. So the loss is a supremum, and nothing is counted twice.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import issparse

from ..._utils.arrays import Array
from ...spec import NEGLIGIBLE_DUAL
from ..views import Building, Solved

# A dual variable below this share of the largest is rounding; above NEGLIGIBLE_DUAL its point is active.
ROUNDING = 1e-9
# Points of one row are equal if they differ by at most this, relative to the largest entry.
EQUAL = 1e-5
# A point is compared with this many points before it: points of one row follow each other.
COMPARED = 8


@dataclass(frozen=True, eq=False)
class WorstCase:
    r"""Active worst-case points and their dual variables.

    On a linear model with the 2-norm, without other blocks that constrain or penalise f,

    .. math:: w = \sum_k a_k y_k x_k

    over these points, in the units of the model. Virtual support vectors would have to be these points. The
    sum does not hold for trajectories of several parameters in a span, whose constraints are slightly
    stronger than the constraints of any points.

    Attributes
    ----------
    rows : (m,) array
        The training row of each point; a row can have several points.
    points : (m, d) array
        The points in the units of X; sparse if X is sparse.
    weights : (m,) array
        The dual variables :math:`a_k`. Tiny values are included, so that the sum is w.
    support : (m,) array
        Whether the point is active.
    thetas : (m,) array, (m, q) array or None
        The parameters of the transformation, if the block has any.
    errors : (n,) array or None
        For trajectories: the largest distance between f and its polynomial, for each training row. It is NaN
        for a row without a cost.
    warnings : tuple of str
        Texts of the warnings of the block.

    See Also
    --------
    InvariantLoss, Trajectories, UncertainSamples : Blocks with these findings.

    Examples
    --------
    >>> from priorsvm import InvariantLoss, PriorSVC, Shift
    >>> model = PriorSVC(InvariantLoss(Shift([0.5]))).fit([[0.0], [3.0]], [0, 1])
    >>> model.findings_["invariant_loss"].points.ravel().tolist()
    [0.5, 2.5]
    """

    rows: Array
    points: Any
    weights: Array
    support: Array
    thetas: Array | None = None
    errors: Array | None = None
    warnings: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        view: Solved,
        rows: Array,
        points: Any,
        weights: Array,
        thetas: Array | None = None,
        errors: Array | None = None,
        effect: Array | None = None,
    ) -> WorstCase:
        """Return the points whose dual variable exceeds rounding; equal points of a row are merged.

        Parameters
        ----------
        view : Solved
            The solution, with the largest dual variable of the problem.
        rows, points, weights, thetas, errors
            As the attributes.
        effect : (m,) array or None, default=None
            The effect of each point on f, if it is not its weight: a distant point needs little weight.

        Returns
        -------
        WorstCase
        """
        effect = weights if effect is None else effect
        kept = np.flatnonzero((effect > ROUNDING * view.largest) & (weights != 0))
        kept = kept[np.argsort(rows[kept], kind="stable")]
        rows = rows[kept]
        points = points[kept]
        weights = weights[kept]
        effect = effect[kept]
        thetas = None if thetas is None else thetas[kept]
        if issparse(points):  # corners, and no two corners of a row are equal
            return cls(rows, points, weights, effect > NEGLIGIBLE_DUAL * view.largest)
        first, group = np.unique(_groups(rows, points, thetas), return_inverse=True)
        total = np.bincount(group, weights)

        def mean(values: Array) -> Array:
            column = (-1, *[1] * (values.ndim - 1))
            with np.errstate(invalid="ignore"):  # infinite parameters
                summed = np.zeros((len(first), *values.shape[1:]))
                np.add.at(summed, group, values * weights.reshape(column))
                return summed / total.reshape(column)

        support = np.bincount(group, effect) > NEGLIGIBLE_DUAL * view.largest
        means = None if thetas is None else mean(thetas)
        return cls(rows[first], mean(points), total, support, means, errors)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self}>"

    def __str__(self) -> str:
        rows = len(np.unique(self.rows[self.support]))
        points = int(self.support.sum())
        text = f"{_counted(points, 'active worst-case point')} of {_counted(rows, 'row')}"
        if self.errors is None or not np.isfinite(self.errors).any():
            return text
        return f"{text}; f is within {np.nanmax(self.errors):.2g} of its polynomial along every trajectory"


def _groups(rows: Array, points: Array, thetas: Array | None) -> Array:
    """Return for each point the position of the first equal point of its row."""
    size = EQUAL * (1.0 + np.abs(points).max(initial=0.0))
    finite = np.ones(len(rows), bool)  # at infinity a point is a direction
    if thetas is not None:
        finite = np.array([bool(np.isfinite(theta).all()) for theta in thetas], bool)
    group = np.arange(len(rows))
    for k in range(1, len(rows)):
        near = [j for j in range(max(0, k - COMPARED), k) if rows[j] == rows[k]]
        equal = [j for j in near if finite[j] and finite[k] and np.abs(points[j] - points[k]).max() <= size]
        if equal:
            group[k] = group[equal[0]]
    return group


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def rows_and_slack(view: Building, chosen: Array) -> tuple[Array, Array]:
    """Return the chosen rows that have a cost, and their positions in the slack."""
    places = np.flatnonzero(chosen[view.rows])
    return view.rows[places], places
