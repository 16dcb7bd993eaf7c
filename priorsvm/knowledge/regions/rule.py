r"""The class is known where a text over the columns holds, such as "glucose >= 126 and bmi >= 30"."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ..._utils.arrays import Array
from ...errors import BadRule, InvalidInput
from ...sample import Sample
from ..views import Solved
from .base import RegionKnowledge
from .requirement import Requirement
from .rule_text import parse_rule
from .sets import BoxSet, Set, polyhedron
from .within import close_all


class Rule(RegionKnowledge):
    r"""Rows for which a text over the columns holds belong to a class.

    .. math:: J_{PK} = C \mu \sum_l \zeta_l, \qquad s f(x) \ge 1 - \zeta_l
              \quad\text{wherever alternative } l \text{ of the text holds.}

    The text contains linear inequalities in the units of the columns. Comparisons may have sums and multiples
    of columns on both sides, and strict comparisons include their border. ``and``, ``or``, brackets and
    ``x between 1 and 2`` combine them. A column whose name is not a Python name is written in backticks. Each
    alternative of ``or`` becomes a :class:`Box` or a :class:`Polyhedron`, with their formulas. Use it for
    rules of thumb in the words of the data.

    Parameters
    ----------
    text : str
        For example ``"glucose >= 126 and bmi >= 30"`` or ``"weight / 2 + age >= 80 or age > 70"``.
    label : a class
        The class of rows for which the text holds.
    mu : float or "auto", default="auto"
        Weight of the block, as a number of rows. "auto" is chosen by cross-validation if the block applies
        to rows, else it is 1.
    hard : bool, default=False
        The margin must hold wherever the text does.
    method : {"auto", "cuts", "points", "guaranteed"}, default="auto"
        Method on kernel models, see :class:`Box`. Linear models are exact.
    within : str, dict or None, default="data"
        ``"data"`` closes open sides of the rule at the range of the training rows; a rule beyond the data
        stays as it is. A dict is explained in :class:`Box`. None leaves sides open. On a linear model columns
        that the rule does not contain then get weight zero, even if the block is soft.
    points : int, "grid" or array of shape (n, d), default=256
        Points of ``method="points"``, see :class:`Box`.
    max_cells : int, default=1000
        Largest number of cells of ``method="guaranteed"``.
    columns : list of str or None, default=None
        Names of the columns in the text. None means the names in the DataFrame of ``fit``, or ``x0``, ``x1``,
        ... for an array.
    holds : {"auto", "rows", "everywhere"}, default="auto"
        What the block applies to.

        - ``"rows"``: rows as they occur that lie in the region, and near rows moved into it.
        - ``"everywhere"``: all points of the region.
        - ``"auto"``: ``"everywhere"`` if the block is hard or ``method`` is given, else ``"rows"``.
    unlabeled : array-like of shape (m, d) or None, default=None
        Further rows without a label that a block on rows applies to.

    See Also
    --------
    Box : a box of values, by column.
    Polyhedron : linear inequalities as arrays.

    References
    ----------
    Fung, Mangasarian & Shavlik 2002; Lauer & Bloch 2008, section 4.3.4.

    Examples
    --------
    >>> import pandas as pd
    >>> from priorsvm import PriorSVC, Rule
    >>> X = pd.DataFrame({"age": [30.0, 40.0, 50.0], "bmi": [20.0, 25.0, 22.0]})
    >>> rule = Rule("age >= 60 and bmi >= 24", label="ill", hard=True)
    >>> model = PriorSVC(rule).fit(X, ["well", "ill", "well"])
    >>> model.predict(pd.DataFrame({"age": [65.0], "bmi": [24.0]}))
    array(['ill'], dtype='<U4')
    """

    def __init__(
        self,
        text: str,
        label: Any,
        mu: Any = "auto",
        hard: bool = False,
        method: str = "auto",
        within: Any = "data",
        points: Any = 256,
        max_cells: int = 1000,
        columns: Any = None,
        holds: str = "auto",
        unlabeled: Any = None,
    ):
        self.text = text
        self.label = label
        self.mu = mu
        self.hard = hard
        self.method = method
        self.within = within
        self.points = points
        self.max_cells = max_cells
        self.columns = columns
        self.holds = holds
        self.unlabeled = unlabeled

    def __str__(self) -> str:
        return str(self.text)

    def requirements(self, sample: Sample) -> list[Requirement]:
        sign = sample.sign(self.label)
        regions = self._regions(sample)
        try:
            closed = close_all(regions, self.within, self._named(sample))
        except InvalidInput as error:
            error.args = (f"{self.text!r}: {error}",)
            raise
        return [Requirement(region, sign) for region in closed]

    def _regions(self, sample: Sample) -> list[Set]:
        """Return the set of each alternative of the text."""
        names = self._columns(sample)
        try:
            regions = [as_set(part.B, part.d) for part in parse_rule(self.text, names)]
        except BadRule as error:
            if self.columns is None and sample.feature_names is None:
                advice = (
                    "An array has no names: fit on a DataFrame, or give columns=[...]. If a step of a "
                    "pipeline removes the names, use PriorSVC(scale='standard') instead of a scaler before "
                    "it: rules then keep the units of the data."
                )
                error.args = (f"{error}\n{advice}",)
            raise
        for k, region in enumerate(regions, 1):
            if region is None:
                which = "" if len(regions) == 1 else f" in alternative {k}"
                raise BadRule(
                    f"no row can satisfy {self.text!r}: its conditions contradict each other{which}. "
                    "Correct a limit, or use 'or' instead of 'and'."
                )
        return [region for region in regions if region is not None]

    def _columns(self, sample: Sample) -> list[str]:
        """Return the names of the columns in the text."""
        d = sample.X.shape[1]
        if self.columns is None:
            named = sample.feature_names
            return [f"x{j}" for j in range(d)] if named is None else [str(name) for name in named]
        names = [self.columns] if isinstance(self.columns, str) else list(self.columns)
        if len(names) != d or not all(isinstance(name, str) for name in names):
            raise InvalidInput(f"columns must be {d} names, one for each column, got {self.columns!r}.")
        return names

    def where(self, region: Set, sample: Sample) -> str:
        one_box = isinstance(region, BoxSet) and len(parse_rule(self.text, self._columns(sample))) == 1
        return super().where(region, sample) if one_box else f"where {self.text}"

    def _remarks(self, f: Any, worst: Requirement, view: Solved) -> tuple[str, ...]:
        requirements = view.state.requirements
        remarks = super()._remarks(f, worst, view)
        if len(requirements) == 1:
            return remarks
        which = next(k for k, requirement in enumerate(requirements, 1) if requirement is worst)
        return (f"the worst is alternative {which} of {len(requirements)}", *remarks)

    def _named(self, sample: Sample) -> Sample:
        return replace(sample, feature_names=np.array(self._columns(sample), object))

    def words(self) -> str:
        return f"{self.text!r} is {self.label!r}"


def as_set(B: Array, d: Array) -> Set | None:
    """Return a box if every inequality has one column, else a polyhedron; None if the set is empty."""
    if np.all(np.count_nonzero(B, axis=1) == 1):
        column = np.argmax(B != 0, axis=1)
        end = d / B[np.arange(len(B)), column]
        upper = B[np.arange(len(B)), column] > 0
        low = np.full(B.shape[1], -np.inf)
        high = np.full(B.shape[1], np.inf)
        np.minimum.at(high, column[upper], end[upper])
        np.maximum.at(low, column[~upper], end[~upper])
        return None if np.any(low > high) else BoxSet(low, high)
    region = polyhedron(B, d)
    return None if region.empty else region
