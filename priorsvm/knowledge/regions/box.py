r"""The class is known on a box of values."""

from __future__ import annotations

from typing import Any

from ...errors import InvalidInput
from ...sample import Sample
from .base import RegionKnowledge
from .requirement import Requirement
from .sets import BoxSet
from .within import bounds_of, close_all, limits_in_words, signs_of


class Box(RegionKnowledge):
    r"""Rows whose values lie in a box belong to a class.

    .. math:: J_{PK} = C \mu \sum_l \zeta_l, \qquad
              s_l (w^\top m_l + b) - r_l^\top |w| \ge 1 - \zeta_l ,

    with the centre :math:`m_l` and the half-widths :math:`r_l` of box l. On a linear model this is exact and
    needs no dual variables. On a kernel model the block requires :math:`s_l f(x) \ge 1 - \zeta_l` for all x
    of the box, with the accuracy of ``method``. Use it if the class is known between two values of a column.

    Parameters
    ----------
    bounds : dict or list of dict
        Maps columns, by name or index, to (low, high); an end None is open. A list describes several boxes.
    label : a class or list of classes
        One class for all boxes, or one class for each box.
    mu : float or "auto", default="auto"
        Weight of the block, as a number of rows. "auto" is chosen by cross-validation if the block applies
        to rows, else it is 1. In a tie of its factors 1 is preferred, then 0.3, 3 and 0.
    hard : bool, default=False
        The margin must hold everywhere in the box.
    method : {"auto", "cuts", "points", "guaranteed"}, default="auto"
        Method on kernel models. Linear models are exact.

        - ``"cuts"``: search for the worst points, add them to the problem, and repeat until no violation
          exceeds ``max(tol, 1e-4)``. ``"auto"`` means ``"cuts"``.
        - ``"points"``: require the margin at fixed points only.
        - ``"guaranteed"``: cover the box with cells and bound f on each, so that the margin holds at every
          point. Cells are split until the objective is within 2 % of the objective of the cuts, or there are
          ``max_cells`` cells. Requires at most 4 columns, and RBF, polynomial or linear kernels or their
          sums.
    within : str, dict or None, default="data"
        ``"data"`` closes open sides at the range of the training rows; a box beyond the data stays as it is.
        A dict of column to (low, high) cuts the columns it names. In the dict an end None is the end of the
        data, and an infinite end is open. None leaves sides open. On a linear model an open side forces the
        weight of its column to one sign, or to zero, even if the block is soft.
    points : int, "grid" or array of shape (n, d), default=256
        For ``method="points"``: the number of points to draw, "grid" for a regular grid of at least 256
        points, or an array of points. Given points outside the box are ignored.
    max_cells : int, default=1000
        Largest number of cells of ``method="guaranteed"``.
    holds : {"auto", "rows", "everywhere"}, default="auto"
        What the block applies to.

        - ``"rows"``: rows as they occur that lie in the region, and near rows moved into it.
        - ``"everywhere"``: all points of the region.
        - ``"auto"``: ``"everywhere"`` if the block is hard or ``method`` is given, else ``"rows"``.
    unlabeled : array-like of shape (m, d) or None, default=None
        Further rows without a label that a block on rows applies to.

    See Also
    --------
    Rule : a text over the columns.
    Polyhedron : linear inequalities.
    Ellipsoid : an ellipsoid.
    Region : any function of the columns.

    References
    ----------
    Fung, Mangasarian & Shavlik 2002, for polyhedra; Lauer & Bloch 2008, section 4.3.4.

    Examples
    --------
    >>> from priorsvm import Box, PriorSVC
    >>> model = PriorSVC(Box({0: (2, 3)}, label=1, hard=True)).fit([[0.0, 0.0], [1.0, 1.0]], [1, 0])
    >>> bool(model.decision_function([[2.0, 0.0], [3.0, 1.0]]).min() > 1 - 1e-6)
    True
    """

    def __init__(
        self,
        bounds: Any,
        label: Any,
        mu: Any = "auto",
        hard: bool = False,
        method: str = "auto",
        within: Any = "data",
        points: Any = 256,
        max_cells: int = 1000,
        holds: str = "auto",
        unlabeled: Any = None,
    ):
        self.bounds = bounds
        self.label = label
        self.mu = mu
        self.hard = hard
        self.method = method
        self.within = within
        self.points = points
        self.max_cells = max_cells
        self.holds = holds
        self.unlabeled = unlabeled

    def check_columns(self, sample: Sample) -> None:
        self._boxes(sample)
        super().check_columns(sample)

    def _boxes(self, sample: Sample) -> list[BoxSet]:
        """Return the boxes of the bounds, with open sides."""
        given = self.bounds if isinstance(self.bounds, (list, tuple)) else [self.bounds]
        if len(given) == 0:
            raise InvalidInput("bounds is an empty list: give at least one box.")
        return [bounds_of(bounds, sample) for bounds in given]

    def requirements(self, sample: Sample) -> list[Requirement]:
        boxes = close_all(self._boxes(sample), self.within, sample)
        return [
            Requirement(box, sign)
            for box, sign in zip(boxes, signs_of(self.label, len(boxes), sample), strict=True)
        ]

    def words(self) -> str:
        return f"{self.bounds!r}{limits_in_words(self.within)} is {self.label!r}"
