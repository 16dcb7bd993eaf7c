r"""f increases or decreases in a feature, everywhere in a range."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from ..._utils.arrays import Array
from ...errors import InvalidInput, ZeroedColumns
from ...function.atoms import Atoms
from ...sample import Sample
from ..base import Formulas, Terms
from ..cautions import Checked, texts
from ..hints.monotonicity_hint import directions_of
from ..hints.pairs import pair_matrix
from ..views import Building, Caution, PointTerms, Solved, Verdict
from .against import direction_cautions, outbid_at
from .base import RegionKnowledge
from .on_rows import Pool, pairs_on_rows
from .requirement import Requirement
from .search import Search
from .sets import BoxSet
from .within import box_within, key_name, limits_in_words

# Pairs of rows for each feature, and their weight as a number of rows.
PAIRS = 60
ROWS = 30.0


class Monotone(RegionKnowledge):
    r"""Monotonicity of f in features: the slope of f along a feature has one sign.

    .. math:: J_{PK} = C \mu \sum_j \zeta_j, \qquad
              \sigma_j\, r_j\, \frac{\partial f}{\partial x_j}(x) \ge -\zeta_j \quad\text{for all } x ,

    with :math:`\sigma_j = \pm 1` and the range :math:`r_j` of the feature in the training rows. So
    :math:`\zeta_j` is a change of f, and ``mu`` has no units. On a linear model the block fixes the sign of a
    weight. Use it if f has to increase or decrease in a feature, without exceptions.

    Parameters
    ----------
    features : dict
        Maps columns, by name or index, to +1 if f increases in the feature and -1 if f decreases.
    mu : float or "auto", default="auto"
        Weight of the block, as a number of rows. "auto" is chosen by cross-validation if the block applies
        to rows, else it is 1. In a tie of its factors 1 is preferred, then 0.3, 3 and 0.
    hard : bool, default=False
        No violation is allowed.
    method : {"auto", "cuts", "points", "guaranteed"}, default="auto"
        Method on kernel models, see :class:`Box`. ``"guaranteed"`` requires at most 3 columns, and RBF
        kernels or sums of RBF and linear kernels.
    label : a class or None, default=None
        The class whose score is meant; None means ``classes_[1]``. Required with more than two classes; the
        block then applies to the score of this class only.
    within : str or dict, default="data"
        Where the block applies on kernel models. ``"data"`` is the range of the training rows; a dict of
        column to (low, high) replaces it for the columns it names.
    points : int, "grid" or array of shape (n, d), default=256
        Points of ``method="points"``, see :class:`Box`.
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
    MonotonicityHint : a penalty on drawn pairs, for monotonicity with exceptions.

    References
    ----------
    Sill & Abu-Mostafa 1997, for monotonicity; Aubin-Frankowski & Szabó 2020, for guarantees on covers.

    Examples
    --------
    >>> from priorsvm import Monotone, PriorSVC, RBF
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0, 1, 0, 1]
    >>> model = PriorSVC(Monotone({0: +1}, hard=True), C=10.0, kernel=RBF(1.0)).fit(X, y)
    >>> f = model.decision_function([[0.0], [0.7], [1.5], [2.2], [3.0]])
    >>> bool((f[1:] > f[:-1] - 1e-3).all())
    True
    """

    max_dimension: ClassVar[int] = 3
    templates: ClassVar[dict[str, str]] = {
        "mu": r"C \sum_l \zeta_l",
        "slope": r"\sigma_l r_l w_l \ge 0<z>",
        "points": r"\sigma_l r_l\, \partial_l f(x_p) \ge 0<z>",
        "corners": r"\sigma_l r_l\, \partial_l f(v_p) - \varepsilon_p \|g\|_H \ge 0<z>",
    }
    letters_of_regions: ClassVar[dict[str, str]] = {
        **RegionKnowledge.letters_of_regions,
        r"\sigma_l": r"+1 \text{ or } -1, \text{ whether } f \text{ rises or falls in column } l",
        r"r_l": r"\text{the range of column } l \text{ in the training rows}",
        r"\zeta_l": r"\text{the slack of column } l",
        "x_p": r"\text{a point of the range}",
        "v_p": r"\text{a corner of the cells that cover the range}",
        "w_l": r"\text{the weight of column } l",
    }

    def __init__(
        self,
        features: Any,
        mu: Any = "auto",
        hard: bool = False,
        method: str = "auto",
        label: Any = None,
        within: Any = "data",
        points: Any = 256,
        max_cells: int = 1000,
        holds: str = "auto",
        unlabeled: Any = None,
    ):
        self.features = features
        self.mu = mu
        self.hard = hard
        self.method = method
        self.label = label
        self.within = within
        self.points = points
        self.max_cells = max_cells
        self.holds = holds
        self.unlabeled = unlabeled

    @property
    def builds(self) -> bool:  # type: ignore[override]
        """Whether the block adds terms: always, for pairs of rows too."""
        return True

    def applies_to_rows(self, linear: bool) -> bool:
        return self.on_rows and not linear  # on a linear model the sign of a weight is exact

    def standard_weight(self, rows: int, blocks: int) -> float:
        return ROWS

    def check_columns(self, sample: Sample) -> None:
        directions_of(self.features, sample)
        super().check_columns(sample)

    def row_requirements(self, sample: Sample) -> list[Requirement]:
        return self._present(sample)

    def requirements(self, sample: Sample) -> list[Requirement]:
        directions = directions_of(self.features, sample)
        if self.label is None and len(sample.classes) > 2:
            raise InvalidInput(
                f"label is required with {len(sample.classes)} classes. Give the class whose score is "
                "monotone: label=<class>."
            )
        sign = 1.0 if self.label is None else sample.sign(self.label)
        spread = np.ptp(sample.weighted_rows()[0], axis=0)
        spread = np.where(spread > 0, spread, 1.0)
        low, high = box_within(self.within, sample)
        if sample.negative is None and sign < 0:  # the score of another class
            return []
        slopes = np.eye(len(low)) * spread
        return [
            Requirement(BoxSet(low, high), sign, 0.0, direction * slopes[j])
            for j, direction in directions.items()
        ]

    def _row_points(self, requirement: Requirement, pool: Pool, alternatives: int = 1) -> Array:
        """Return upper rows, then lower rows: pairs of equal rows with two values of the column."""
        assert requirement.direction is not None
        return pairs_on_rows(int(np.argmax(np.abs(requirement.direction))), pool, PAIRS)

    def build(self, f: Any, view: Building) -> Terms:
        if not self.applies_to_rows(f.linear):
            return super().build(f, view)
        import cvxpy as cp

        rises = [
            _rise(r, f, points) for r, points in zip(view.state.requirements, view.state.points, strict=True)
        ]
        if not rises:
            return Terms()
        rise = cp.hstack(rises)
        if self.hard:
            return Terms(constraints={"pairs": rise >= 0})
        zeta = cp.Variable(rise.size, nonneg=True, name="zeta")
        return Terms({"mu": cp.sum(zeta) / PAIRS}, {"pairs": rise >= -zeta})

    def at_points(self, view: Building, linear: bool) -> PointTerms | None:
        if not self.applies_to_rows(linear):
            return super().at_points(view, linear)
        state: Search = view.state
        counts = [len(points) // 2 for points in state.points]
        n = sum(counts)
        if n == 0:
            return PointTerms.none(view.sample.X.shape[1])
        upper = [points[:k] for points, k in zip(state.points, counts, strict=True)]
        lower = [points[k:] for points, k in zip(state.points, counts, strict=True)]
        return PointTerms(
            Atoms(np.vstack([*upper, *lower])),
            np.repeat([_sign(requirement) for requirement in state.requirements], counts),
            np.zeros(n),
            penalty=None if self.hard else "mu",
            matrix=pair_matrix(n, -1.0),
            share=1.0 / PAIRS,
            duals={"pairs": None},
        )

    def _verdict_on_rows(self, f: Any, state: Search, view: Solved) -> Verdict:
        rises = [
            _rise(r, f.value, points) for r, points in zip(state.requirements, state.points, strict=True)
        ]
        upper = np.vstack([points[: len(points) // 2] for points in state.points])
        asked = f"{self.describe(state.requirements[0], view.sample)}, at pairs of rows"
        return Verdict.at_points(np.concatenate(rises), upper, asked, view.tol)

    @property
    def formulas(self) -> Formulas:  # type: ignore[override]
        """Formulas by label. On pairs of rows, the slack of a column is a mean over its pairs."""
        formulas = super().formulas
        if not self.on_rows:
            return formulas
        mean = r"\zeta_l = \frac{1}{M} \sum_{p=1}^{M} \zeta_{lp}"
        slack = "" if self.hard else rf"-\zeta_{{lp}},\; \zeta_{{lp}} \ge 0,\; {mean}"
        latex = {
            **formulas.latex,
            "pairs": rf"\sigma_l\, (f(x_{{lp}}^+) - f(x_{{lp}}^-)) \ge {slack or 0}",
        }
        letters = {
            **formulas.letters,
            r"\zeta_{lp}": r"\text{the slack of pair } p \text{ of column } l",
            "x_{lp}^+": r"\text{and } x_{lp}^- \text{ are pair } p \text{ of } M, "
            r"\text{a row with two values of column } l",
        }
        return Formulas(latex, letters)

    def findings(self, f: Any, view: Solved) -> Checked | None:
        """Return how the weight was chosen, and the warnings; None if there is neither."""
        warnings = texts(self._data_cautions(view.state.requirements, view.sample)) + view.warnings
        found = Checked(self.chosen_weight, warnings + self._weight_warnings())
        return None if found == Checked() else found

    def cautions(self, f: Any, view: Solved) -> list[Caution]:
        # A sign that is fixed against the data has weight 0: the check of the directions reports it.
        return [caution for caution in super().cautions(f, view) if caution.category is not ZeroedColumns]

    def _data_cautions(self, requirements: list[Requirement], sample: Sample) -> list[Caution]:
        return direction_cautions(requirements, sample, self.words())

    def _outbid(self, f: Any, view: Solved) -> Caution | None:
        state: Search = view.state
        if not self.applies_to_rows(f.linear):
            return super()._outbid(f, view)
        rises = np.concatenate(
            [_rise(r, f.value, points) for r, points in zip(state.requirements, state.points, strict=True)]
        )
        return outbid_at(
            int(np.sum(rises < -view.tol)), len(rises), "pairs of rows", self.words(), self.chosen_weight
        )

    def describe(self, requirement: Requirement, sample: Sample) -> str:
        label = sample.classes.tolist()[1] if self.label is None else self.label
        return f"score of {label!r} to rise as {self._changes(sample)}"

    def words(self) -> str:
        label = "the second class" if self.label is None else repr(self.label)
        return f"the score of {label} rises as {self._changes()}"

    def _changes(self, sample: Sample | None = None) -> str:
        changes = [
            f"{key_name(column, sample)} {'rises' if up > 0 else 'falls'}"
            for column, up in self.features.items()
        ]
        limits = limits_in_words(self.within, sample)
        return ", ".join(changes) + (f",{limits}" if limits else "")


def _rise(requirement: Requirement, f: Any, points: Array) -> Any:
    """Return how much f rises, in the direction required, from lower rows to upper rows."""
    half = len(points) // 2
    return _sign(requirement) * (f(points[:half]) - f(points[half:]))


def _sign(requirement: Requirement) -> float:
    """Return the sign of the rise that is required."""
    assert requirement.direction is not None
    return float(requirement.sign * np.sign(requirement.direction.sum()))
