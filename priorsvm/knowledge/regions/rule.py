r"""A rule in words: "glucose >= 126 and bmi >= 30"."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ..._utils.arrays import Array
from ...errors import BadRule, InvalidInput
from ...sample import Sample
from ..base import Context
from .base import RegionKnowledge
from .demand import Demand
from .rule_text import parse_rule
from .sets import BoxSet, Set, polyhedron
from .within import close_all


class Rule(RegionKnowledge):
    r"""Rows for which a text over the columns holds belong to a class.

    .. math:: J_{PK} = \mu \sum_l \zeta_l, \qquad s f(x) \ge 1 - \zeta_l
              \quad\text{wherever alternative } l \text{ of the text holds.}

    The text is read as linear inequalities in the columns' own units: comparisons (strict ones mean their
    closure), ``and``, ``or`` (several regions), ``x between 1 and 2``, sums and multiples of columns on
    either side, brackets; a column whose name is no Python name stands in backticks. Each alternative
    becomes a :class:`Box` or a :class:`Polyhedron`, with their formulas.

    Parameters
    ----------
    text : str
        For example ``"glucose >= 126 and bmi >= 30"`` or ``"weight / 2 + age >= 80 or age > 70"``.
    label : class
    mu : float
        Weight of the worst violation of each alternative.
    hard : bool
        The margin must hold wherever the rule does.
    method, points, max_cells : as in Box
        On kernel machines, see :class:`Box`.
    within : "data", dict of bounds, or None
        "data" closes every side the rule leaves open at the range of the training rows, which is what people
        mean by "patients with these values"; a region beyond the data stays whole. None is the literal set:
        on a linear machine the columns that the rule does not name then get weight zero, even by a soft
        rule.

    columns : list of names, optional
        What the columns are called in the text. By default their names in the DataFrame the model is fitted
        on, or ``x0``, ``x1``, ... if it is fitted on an array.

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
        mu: float = 1.0,
        hard: bool = False,
        method: str = "auto",
        within: Any = "data",
        points: Any = 256,
        max_cells: int = 1000,
        columns: Any = None,
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

    def __str__(self) -> str:
        return str(self.text)

    def demands(self, sample: Sample) -> list[Demand]:
        sample_names = sample.feature_names
        sign = sample.sign(self.label)
        names = self._columns(sample)
        sample = self._named(sample)
        try:
            regions = [as_set(part.B, part.d) for part in parse_rule(self.text, names)]
        except BadRule as error:
            if self.columns is None and sample_names is None:
                way_out = (
                    "An array has no names: fit on a DataFrame, or give columns=[...]. If a step of a "
                    "pipeline took the names away, use PriorSVC(scale='standard') instead of a scaler before "
                    "it: rules then keep the units of the data."
                )
                error.args = (f"{error}\n{way_out}",)
            raise
        missing = [k for k, region in enumerate(regions) if region is None]
        if missing:
            which = "" if len(regions) == 1 else f" in its alternative {missing[0] + 1}"
            raise BadRule(f"no row can satisfy {self.text!r}: its conditions contradict each other{which}.")
        try:
            closed = close_all([region for region in regions if region is not None], self.within, sample)
            return [Demand(region, sign) for region in closed]
        except InvalidInput as error:
            error.args = (f"{self.text!r}: {error}",)
            raise

    def _columns(self, sample: Sample) -> list[str]:
        """The names that the text may use."""
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

    def _remarks(self, f: Any, worst: Demand, context: Context) -> tuple[str, ...]:
        demands = context.state.demands
        remarks = super()._remarks(f, worst, context)
        if len(demands) == 1:
            return remarks
        which = next(k for k, demand in enumerate(demands, 1) if demand is worst)
        return (f"alternative {which} of {len(demands)} is kept least", *remarks)

    def _named(self, sample: Sample) -> Sample:
        return replace(sample, feature_names=np.array(self._columns(sample), object))

    def words(self) -> str:
        return f"{self.text!r} is {self.label!r}"


def as_set(B: Array, d: Array) -> Set | None:
    """A box if every inequality is about one column, else a polyhedron; None if it is empty."""
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
