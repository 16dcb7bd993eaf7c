r"""f is at least h(x) where g(x) <= 0, for any functions g and h."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from ..._utils.arrays import Array
from ..._utils.checks import is_number
from ...errors import InvalidInput
from ...sample import Sample
from ...spec import Spec
from ..base import Formulas, Terms
from ..views import Building, PointTerms, Solved, Verdict
from .base import RegionKnowledge
from .cuts import Cuts
from .method import Method
from .points import Points, given_points
from .requirement import Requirement
from .sets import SEARCHED, LevelSet
from .within import box_within, limits_in_words, require_bounded


class Region(RegionKnowledge):
    r"""Rows with :math:`g(x) \le 0`, for any function g, have :math:`s f(x) \ge h(x)`.

    With ``method="points"`` every point has a slack,

    .. math:: J_{PK} = C \mu \sum_p z_p, \qquad
              s f(x_p) - h(x_p) + v^\top g(x_p) + z_p \ge 0, \quad v, z \ge 0 .

    If every point lies inside the region, :math:`v = 0` is optimal and v is left out. The block then equals
    virtual samples with margin h and cost ``mu``. At points outside the region v relaxes the
    requirement.

    With ``method="cuts"`` the worst violation of the region has a slack: :math:`J_{PK} = C \mu \zeta` and
    :math:`s f(x) \ge h(x) - \zeta` for all x of the region within the bounds. A search looks for the worst
    points; it does not prove that none is left. Use the block if no :class:`Rule`, :class:`Box`,
    :class:`Polyhedron` or :class:`Ellipsoid` describes the region.

    Parameters
    ----------
    g : callable
        Maps points of shape (n, d) to numbers of shape (n, q) or (n,). The region is where all q numbers are
        at most 0.
    points : int, "grid", array of shape (n, d) or None
        Points of the requirement. A number draws points of the region, ``"grid"`` takes the points of a
        regular grid of at least 256; both require ``within``. None means 256.
    label : a class
        The class of rows in the region.
    mu : float or "auto", default="auto"
        Weight of the block, as a number of rows. "auto" is chosen by cross-validation if the block applies
        to rows, else it is 1.
    h : float or callable, default=1.0
        The required value: :math:`f \ge h` for ``classes_[1]``, :math:`-f \ge h` for the other class. A
        function maps points of shape (n, d) to numbers of shape (n,). The margin of a labelled row is 1.
    hard : bool, default=False
        The requirement must hold: at the points, or wherever the search looks.
    method : {"auto", "cuts", "points"}, default="auto"
        ``"auto"`` means ``"points"`` if points are given as an array, else ``"cuts"``.
    within : str, dict or None, default=None
        The part of the space to search. ``"data"`` is the range of the training rows; a dict of column to
        (low, high) replaces it for the columns it names. None is allowed if points are given as an array and
        the method is ``"points"``.
    holds : {"auto", "rows", "everywhere"}, default="auto"
        What the block applies to.

        - ``"rows"``: rows as they occur that lie in the region, and near rows moved into it.
        - ``"everywhere"``: all points of the region.
        - ``"auto"``: ``"everywhere"`` if the block is hard or ``method`` is given, else ``"rows"``.
    unlabeled : array-like of shape (m, d) or None, default=None
        Further rows without a label that a block on rows applies to.

    See Also
    --------
    Box : a box of values.
    Rule : a text over the columns.
    UnlabeledSamples : points with assumed labels.

    References
    ----------
    Mangasarian & Wild 2007 and 2008; Lauer & Bloch 2008, section 4.3.5, eqs. (53)-(55). The text there has
    h = -1 for the negative class. After :math:`f \to -f` it has to be +1, as it is here.

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

    methods: ClassVar[Mapping[str, type[Method]]] = {"auto": Cuts, "cuts": Cuts, "points": Points}
    max_cells: int = 1  # no method covers a region that is given by a function

    def __init__(
        self,
        g: Callable[[Array], Array],
        points: Any,
        label: Any,
        mu: Any = "auto",
        h: Any = 1.0,
        hard: bool = False,
        method: str = "auto",
        within: Any = None,
        holds: str = "auto",
        unlabeled: Any = None,
    ):
        self.g = g
        self.points = points
        self.label = label
        self.mu = mu
        self.h = h
        self.hard = hard
        self.method = method
        self.within = within
        self.holds = holds
        self.unlabeled = unlabeled

    @property
    def on_rows(self) -> bool:
        """Whether the block applies to rows as they occur: not if its points are given as an array."""
        given = not (self.points is None or isinstance(self.points, (int, str, np.integer)))
        return super().on_rows and not (self.holds == "auto" and given)

    letters_of_regions: ClassVar[dict[str, str]] = {
        "s": r"+1 \text{ or } -1, \text{ the class of the region}",
        "x_p": r"\text{a point}",
        "h(x_p)": r"\text{the required value}",
        "g(x_p)": r"\text{at most 0 in the region}",
        "v": r"\text{variables, which relax the requirement outside the region}",
        "z_p": r"\text{the slack of point } p",
        r"\zeta": r"\text{the slack of the region}",
        r"\delta": r"\text{tightening added to the points, initially 0}",
        **{letter: RegionKnowledge.letters_of_regions[letter] for letter in (r"\mu", "M", r"\zeta_p")},
    }

    @property
    def formulas(self) -> Formulas:  # type: ignore[override]
        """Formulas of the method in use, by label."""
        if not self.builds:
            latex = {"sample": self.templates["sample"]}
        elif self._kind() is Points:
            slack = "" if self.hard else " + z_p"
            signs = r",\; v \ge 0" if self.hard else r",\; v, z_p \ge 0"
            latex = {
                "mu": r"C \sum_p z_p",
                "points": rf"s f(x_p) - h(x_p) + v^\top g(x_p){slack} \ge 0{signs}",
            }
        else:
            slack = "" if self.hard else r" + \zeta"
            latex = {"mu": r"C \zeta", "points": rf"s f(x_p) - h(x_p){slack} \ge \delta,\; \delta \ge 0"}
        return Formulas(latex, self.letters_of_regions, self._numbers())

    def _kind(self) -> type[Method]:
        given = not (self.points is None or isinstance(self.points, (int, str, np.integer)))
        return Points if self.method == "auto" and given else super()._kind()

    def requirements(self, sample: Sample) -> list[Requirement]:
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
        return [Requirement(LevelSet(g, low, high), sign, h)]

    def _check_method(self, requirements: list[Requirement], sample: Sample, spec: Spec) -> None:
        if self._kind() is Cuts or given_points(self.points, sample) is None:
            require_bounded(requirements[0].region, self.within, sample)

    def _first_points(
        self, method: Method, requirement: Requirement, given: Array | None, sample: Sample
    ) -> Array:
        if given is not None and self._kind() is Points:
            return given  # v depends on the points outside the region too
        points = method.first_points(requirement, given, sample)
        if len(points) == 0:
            raise InvalidInput(
                "no point with g(x) <= 0 was found among 100 000 points within the bounds: the region is "
                "empty or very small. Check the sign of g, or give tighter bounds or points of your own."
            )
        return points

    def build(self, f: Any, view: Building) -> Terms:
        import cvxpy as cp

        if self.on_rows or self._kind() is not Points:
            return super().build(f, view)
        [requirement] = view.state.requirements
        [points] = view.state.points
        left = requirement.expression(f, points) - requirement.threshold(points)
        G = requirement.region.g(points)
        if not np.isfinite(G).all():
            raise InvalidInput(
                "g is infinite at some of the points. Return finite values, or give other points."
            )
        if (G > 0).any():
            left = left + G @ cp.Variable(G.shape[1], nonneg=True, name="v")
        if self.hard:
            return Terms(constraints={"points": left >= 0})
        z = cp.Variable(len(points), nonneg=True, name="z")
        return Terms({"mu": cp.sum(z)}, {"points": left + z >= 0})

    def at_points(self, view: Building, linear: bool) -> PointTerms | None:
        own = self._kind() is Points and not self.on_rows
        return None if own else super().at_points(view, linear)

    def verify(self, f: Any, view: Solved) -> Verdict:
        [requirement] = view.state.requirements
        [points] = view.state.points
        inside = replace(view.state, points=[points[requirement.region.contains(points, SEARCHED)]])
        return super().verify(f, replace(view, state=inside))

    def findings(self, f: Any, view: Solved) -> Any:
        try:
            return super().findings(f, view)
        except (InvalidInput, ArithmeticError, LookupError):  # g need not be defined at every row
            return None

    def words(self) -> str:
        return f"the region g(x) <= 0{limits_in_words(self.within)} is {self.label!r}"


@dataclass(frozen=True, eq=False)
class Columns:
    """The function g of the user, with checks of the shape it returns."""

    returns: ClassVar[str] = "(n, q) or (n,)"

    name: str
    function: Callable[[Array], Array]

    def __call__(self, X: Array) -> Array:
        values = self._values(X)
        return values[:, None] if values.ndim == 1 else values

    def _values(self, X: Array) -> Array:
        try:
            values = np.asarray(self.function(X.copy()), float)  # the function may write into its argument
        except Exception as error:  # a function of the user
            raise InvalidInput(
                f"{self.name} failed on an array of shape {X.shape}, all points at once: {error!r}"
            ) from error
        if values.ndim not in (1, 2) or len(values) != len(X):
            raise InvalidInput(
                f"{self.name} is called with all points at once, (n, d), and must return {self.returns} "
                f"numbers. For shape {X.shape} it returned shape {values.shape}."
            )
        if np.isnan(values).any():
            raise InvalidInput(f"{self.name} returned NaN. Return a number for every point.")
        return values


class Column(Columns):
    """The function h of the user, which returns one number for each point."""

    returns: ClassVar[str] = "(n,)"

    def __call__(self, X: Array) -> Array:
        values = self._values(X)
        if values.size != len(X) or not np.isfinite(values).all():
            raise InvalidInput(
                f"{self.name} must return one finite number per point, got shape {values.shape}."
            )
        return values.reshape(len(X))
