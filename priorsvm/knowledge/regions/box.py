r"""On a box of values the class is known."""

from __future__ import annotations

from typing import Any

from ...errors import InvalidInput
from ...sample import Sample
from .base import RegionKnowledge
from .demand import Demand
from .within import bounds_of, close_all, signs_of


class Box(RegionKnowledge):
    r"""Rows whose values lie in a box belong to a class.

    .. math:: J_{PK} = \mu \sum_l \zeta_l, \qquad
              s_l (w^\top c_l + b) - r_l^\top |w| \ge 1 - \zeta_l ,

    with centre :math:`c_l` and half-widths :math:`r_l`: the exact minimum over the box on a linear machine,
    without dual variables. On a kernel machine :math:`s_l f(x) \ge 1 - \zeta_l` for all x of the box, as far
    as ``method`` goes.

    Parameters
    ----------
    bounds : dict of column to (low, high), or list of such dicts
        Columns by name or index; either end may be None. A list is many boxes at once.
    label : class, or list of classes
        One for all boxes, or one for each.
    mu : float
        Weight of the worst violation of each box.
    hard : bool
        The margin must hold everywhere in the box.
    method : "auto", "cuts", "points" or "guaranteed"
        On kernel machines; a linear machine is always exact. ``"cuts"`` (what "auto" means): search for the
        worst points, add them to the problem, and repeat until none is violated by more than ``max(tol,
        1e-4)``. ``"points"``: ask it of fixed points only. ``"guaranteed"``: cover the region with cells
        and bound f on each, so that the margin holds at every point of the region (up to 4 columns; RBF,
        polynomial and linear kernels and their sums). The cells are split where they bind, until the
        objective is within 2 % of what the cuts reach, or there are ``max_cells``.
    within : "data", dict of bounds, or None
        "data" closes the sides that ``bounds`` leaves open at the range of the training rows (a box beyond
        that range stays whole); a dict says where to cut in the columns it names (None: as the data,
        ``inf``: open). None leaves them open: on a linear machine that forces the weight of an open column
        to one sign, or to zero, even where the box is soft.
    points : int, "grid" or (n, d) array
        For ``method="points"``: how many well-spread points to draw, a regular grid of at least 256, or the
        points themselves, of which those in the region count.
    max_cells : int
        For ``method="guaranteed"``: how many cells there may be.

    References
    ----------
    Fung, Mangasarian & Shavlik 2002, of whose polyhedra a box is the simplest; Lauer & Bloch 2008,
    section 4.3.4.

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
        mu: float = 1.0,
        hard: bool = False,
        method: str = "auto",
        within: Any = "data",
        points: Any = 256,
        max_cells: int = 1000,
    ):
        self.bounds = bounds
        self.label = label
        self.mu = mu
        self.hard = hard
        self.method = method
        self.within = within
        self.points = points
        self.max_cells = max_cells

    def demands(self, sample: Sample) -> list[Demand]:
        given = self.bounds if isinstance(self.bounds, (list, tuple)) else [self.bounds]
        if len(given) == 0:
            raise InvalidInput("bounds is an empty list: give at least one box.")
        boxes = close_all([bounds_of(bounds, sample) for bounds in given], self.within, sample)
        return [
            Demand(box, sign)
            for box, sign in zip(boxes, signs_of(self.label, len(boxes), sample), strict=True)
        ]

    def words(self) -> str:
        return f"{self.bounds!r} is {self.label!r}"
