r"""Where g(x) <= 0, f is at least h(x)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from ..._utils.arrays import Array
from ..._utils.checks import is_number
from ...errors import InvalidInput
from ...sample import Sample
from ..base import Context, Terms, Verdict
from .base import RegionKnowledge
from .demand import Demand
from .rows_inside import RowsInside
from .sets import LevelSet
from .within import box_within


class Region(RegionKnowledge):
    r"""Rows with :math:`g(x) \le 0`, for any function g, have :math:`s f(x) \ge h(x)`.

    With ``method="points"`` the published form: a slack for every point,

    .. math:: J_{PK} = \mu \sum_p z_p, \qquad
              s f(x_p) - h(x_p) + v^\top g(x_p) + z_p \ge 0, \quad v, z \ge 0 .

    Where every point lies inside the region :math:`v = 0` is optimal, so that v is left out, and the block is
    one of virtual samples with margin h and cost :math:`\mu`. Points outside the region make v matter: it
    relaxes the demand there, and certifies the implication at the points only.

    With ``method="cuts"`` the worst violation of the region: :math:`J_{PK} = \mu \zeta` and
    :math:`s f(x) \ge h(x) - \zeta` for all x with :math:`g(x) \le 0` within the bounds, as far as a search
    for the worst points finds them.

    Parameters
    ----------
    g : function of (n, d) points that returns (n, q) or (n,) numbers
        The region is where all q of them are at most 0.
    points : (n, d) array, int, "grid" or None
        Where the demand stands. A number draws that many well-spread points of the region, "grid" takes those
        of a regular grid of at least 256; both need ``within``. None is 256.
    label : class
    mu : float
        Weight of the violations.
    h : float, or function of (n, d) points that returns (n,) numbers
        What is asked: :math:`f \ge h` for ``classes_[1]``, :math:`-f \ge h` for the other class. The margin
        of a labelled sample is 1, for both classes.
    hard : bool
        The demand must hold: at the points, or wherever the search looks.
    method : "auto", "cuts" or "points"
        "auto" is "points" if points are given as an array, else "cuts".
    within : dict of column to (low, high), "data", or None
        Which part of the space to look at: the range of the training rows, which a dict replaces for the
        columns it names. None is allowed if the points are given and no search is made.

    References
    ----------
    Mangasarian & Wild 2007 and 2008; Lauer & Bloch 2008, section 4.3.5, eqs. (53)-(55), where the text asks
    h = -1 for the negative class; after :math:`f \to -f` that has to be +1, as it is here.

    Examples
    --------
    >>> import numpy as np
    >>> from priorsvm import PriorSVC, Region, RBF
    >>> ring = Region(lambda X: np.abs(np.hypot(X[:, 0], X[:, 1]) - 2) - 0.1, 64, label=1, hard=True,
    ...               method="points", within={0: (-3, 3), 1: (-3, 3)})
    >>> model = PriorSVC(ring, kernel=RBF(0.5)).fit([[0.0, 0.0], [0.5, 0.0], [1.8, 0.0]], [0, 0, 1])
    >>> bool(model.decision_function([[0.0, 2.0], [-2.0, 0.0]]).min() > 0.8)
    True
    """

    methods: ClassVar[tuple[str, ...]] = ("auto", "cuts", "points")
    max_cells: int = 1  # no cover of a region given by a function is a proof

    def __init__(
        self,
        g: Callable[[Array], Array],
        points: Any,
        label: Any,
        mu: float = 1.0,
        h: Any = 1.0,
        hard: bool = False,
        method: str = "auto",
        within: Any = None,
    ):
        self.g = g
        self.points = points
        self.label = label
        self.mu = mu
        self.h = h
        self.hard = hard
        self.method = method
        self.within = within

    letters: ClassVar[dict[str, str]] = {
        "s": r"+1 \text{ or } -1, \text{ the class of the region}",
        "x_p": r"\text{a point}",
        "h(x_p)": r"\text{what is asked there}",
        "g(x_p)": r"\text{at most 0 in the region}",
        "v": r"\text{variables, which relax what is asked outside the region}",
        "z_p": r"\text{the slack of point } p",
        r"\zeta": r"\text{the slack of the region}",
        r"\delta": r"\text{a little, 0 as long as that is enough}",
    }

    @property
    def latex(self) -> dict[str, str]:  # type: ignore[override]
        """The formulas of the method in use."""
        slack = "" if self.hard else " + z_p" if self._method == "points" else r" + \zeta"
        signs = r",\; v \ge 0" if self.hard else r",\; v, z_p \ge 0" if self._method == "points" else ""
        if self._method == "points":
            return {
                "mu": r"\sum_p z_p",
                "points": rf"s f(x_p) - h(x_p) + v^\top g(x_p){slack} \ge 0{signs}",
            }
        return {"mu": r"\zeta", "points": rf"s f(x_p) - h(x_p){slack} \ge \delta,\; \delta \ge 0"}

    @property
    def _method(self) -> str:
        given = not (self.points is None or isinstance(self.points, (int, str, np.integer)))
        return self.method if self.method != "auto" else "points" if given else "cuts"

    def demands(self, sample: Sample) -> list[Demand]:
        sign = sample.sign(self.label)
        d = sample.X.shape[1]
        low = np.full(d, -np.inf)
        high = np.full(d, np.inf)
        if self.within is not None:
            low, high = box_within(self.within, sample)
        if not callable(self.g):
            raise InvalidInput(f"g must be a function of (n, d) points, got {self.g!r}.")
        if not callable(self.h) and not (is_number(self.h) and np.isfinite(self.h)):
            raise InvalidInput(f"h must be a number or a function of (n, d) points, got {self.h!r}.")
        g = Columns("g", self.g)
        h = Column("h", self.h) if callable(self.h) else float(self.h)
        few = sample.X_train[:3]
        for function in (g, h):
            if callable(function):
                function(few)
        return [Demand(LevelSet(g, low, high), sign, h)]

    def _validate_search(self, demands: list[Demand], sample: Sample, kernel: Any) -> None:
        [demand] = demands
        if not demand.region.bounded and (self._method == "cuts" or self._given_points(sample) is None):
            raise InvalidInput(self._unbounded(demand.region, sample))

    def _first_points(self, demand: Demand, given: Array | None, sample: Sample) -> Array:
        if given is not None and self._method == "points":
            return given  # points outside the region have a say, through v
        points = super()._first_points(demand, given, sample)
        if len(points) == 0:
            raise InvalidInput(
                "no point with g(x) <= 0 was found among 100 000 within the bounds: the region is empty or "
                "too small for them. Check the sign of g, or give tighter bounds or points of your own."
            )
        return points

    def build(self, f: Any, context: Context) -> Terms:
        import cvxpy as cp

        if self._method != "points":
            return super().build(f, context)
        [demand], [points] = context.state.demands, context.state.points
        left = demand.expression(f, points) - demand.asked(points)
        G = demand.region.g(points)
        if not np.isfinite(G).all():
            raise InvalidInput("g is infinite at some of the points: give finite values, or other points.")
        if (G > 0).any():
            left = left + G @ cp.Variable(G.shape[1], nonneg=True, name="v")
        if self.hard:
            return Terms(constraints={"points": left >= 0})
        z = cp.Variable(len(points), nonneg=True, name="z")
        return Terms({"mu": cp.sum(z)}, {"points": left + z >= 0})

    def verify(self, f: Any, context: Context) -> Verdict:
        [demand], [points] = context.state.demands, context.state.points
        inside = replace(context.state, points=[points[demand.region.contains(points)]])
        return super().verify(f, replace(context, state=inside))

    def findings(self, f: Any, context: Context) -> RowsInside | None:
        try:
            return super().findings(f, context)
        except (InvalidInput, ArithmeticError, LookupError):  # g need not stand for all rows
            return None

    def words(self) -> str:
        return f"the region g(x) <= 0 is {self.label!r}"


@dataclass(frozen=True, eq=False)
class Columns:
    """A user's function of points, held to the shape it promised."""

    name: str
    function: Callable[[Array], Array]

    def __call__(self, X: Array) -> Array:
        values = self._values(X)
        return values[:, None] if values.ndim == 1 else values

    def _values(self, X: Array) -> Array:
        try:
            values = np.asarray(self.function(X.copy()), float)  # a function may write into what it is given
        except (TypeError, ValueError, OverflowError) as error:
            raise InvalidInput(f"{self.name} failed on an array of shape {X.shape}: {error}") from error
        if values.ndim not in (1, 2) or len(values) != len(X):
            raise InvalidInput(
                f"{self.name} is given all points at once, (n, d), and must return (n, q) or (n,) numbers; "
                f"for shape {X.shape} it returned shape {values.shape}."
            )
        if np.isnan(values).any():
            raise InvalidInput(f"{self.name} returned NaN.")
        return values


class Column(Columns):
    """The same for one number per point."""

    def __call__(self, X: Array) -> Array:
        values = self._values(X)
        if values.size != len(X) or not np.isfinite(values).all():
            raise InvalidInput(
                f"{self.name} must return one finite number per point, got shape {values.shape}."
            )
        return values.reshape(len(X))
