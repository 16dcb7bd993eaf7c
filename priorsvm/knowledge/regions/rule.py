r"""The class is known where a text over the columns holds, such as "glucose >= 126 and bmi >= 30"."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from ..._utils.arrays import Array
from ..._utils.cache import kept_for
from ...errors import BadRule, FarFromData, InvalidInput
from ...sample import Sample
from ..views import Caution, Solved
from .base import RegionKnowledge
from .on_rows import Pool
from .parsed_rule import ParsedRule, Table, linear_hull
from .region_words import region_in_words
from .requirement import Requirement
from .row_set import RowSet, contradict, is_closed, is_exact
from .rows_inside import RowsInside
from .rule_conditions import Affine, AtMost, Condition, Gap, OneOf
from .rule_text import parse
from .sets import BoxSet, Set, polyhedron
from .within import close_all, ends_at_data, limits_in_words, part_of_space


class Rule(RegionKnowledge):
    r"""Rows for which a text over the columns holds belong to a class.

    .. math:: J_{PK} = C \mu \sum_l \zeta_l, \qquad s f(x) \ge 1 - \zeta_l
              \quad\text{wherever alternative } l \text{ of the text holds.}

    The text contains comparisons in the units of the columns, combined by ``and``, ``or``, ``not`` and
    brackets. A column with categories is compared with its values: ``sex == 'female'``,
    ``pain in ('typical', 'none')``. ``bmi > 90%`` is a quantile of the training rows, and ``x is missing`` a
    missing value. On rows, products, ratios and powers of columns are allowed, and a strict comparison
    excludes its border. Everywhere, comparisons are linear and include their border. A column whose name is
    not a Python name is written in backticks. Each alternative of ``or`` is a region of its own. Use a rule
    for rules of thumb in the words of the data.

    Parameters
    ----------
    text : str
        For example ``"glucose >= 126 and bmi >= 30"``, ``"sex == 'male' and 50 <= age < 60"`` or
        ``"weight / height ** 2 > 30 or age > 90%"``.
    label : a class
        The class of rows for which the text holds.
    mu : float or "auto", default="auto"
        Weight of the block, as a number of rows. "auto" is chosen by cross-validation if the block applies
        to rows, else it is 1. In a tie of its factors 1 is preferred, then 0.3, 3 and 0.
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

    Categories, with a rule over rows as they occur:

    >>> X["sex"] = ["male", "female", "male"]
    >>> rule = Rule("sex == 'male' and not age < 45", label="ill", mu=2)
    >>> print(PriorSVC(rule).fit(X, ["well", "ill", "well"]).findings_["rule"])
    1 training row inside, 1 of another class
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
        parsed = self._parsed(sample)
        regions: list[Any] = [as_set(p.B, p.d) for p in self._pointed(parsed.inequalities, sample)]
        possible = self._satisfiable(parsed.alternatives, regions, sample)
        regions = [regions[k] for k in possible]
        return [Requirement(region, sign) for region in self._closed(regions, sample)]

    def _closed(self, regions: list[Set], sample: Sample) -> list[Set]:
        """Return the regions restricted by ``within``; raise InvalidInput if nothing is left of one."""
        try:
            return close_all(regions, self.within, self._named(sample))
        except InvalidInput as error:
            error.args = (f"{self.text!r}: {error}",)
            raise

    def row_requirements(self, sample: Sample) -> list[Requirement]:
        """Return the rows for which each alternative holds: strict comparisons exclude their border."""
        sign = sample.sign(self.label)
        within = self.within is None or (isinstance(self.within, str) and self.within == "data")
        if within and isinstance(self.text, str):
            key = (Rule, self.text, tuple(self._columns(sample)), sign, self.hard, self.unlabeled is None)
            # The checks before a fit, the fit and the findings require the same sets.
            return list(kept_for(sample, key, lambda: self._rows_of(sample, sign)))
        return self._rows_of(sample, sign)

    def _rows_of(self, sample: Sample, sign: float) -> list[Requirement]:
        """Return the rows for which each alternative holds; without alternatives if the sign is 0."""
        alternatives = self._parsed(sample).alternatives
        if not self.hard:
            alternatives = [c for c in alternatives if not self._columns_without_gaps(c, sample)]
        regions: list[Any] = [_row_set(conditions, sample) for conditions in alternatives]
        possible = self._satisfiable(alternatives, regions, sample)
        regions = [regions[k] for k in possible]
        limits = self._limits(sample)
        if limits:
            self._closed([getattr(region, "hull", region) for region in regions], sample)
            alternatives = [[*alternatives[k], *limits] for k in possible]
            regions = [_row_set(conditions, sample) for conditions in alternatives]
            regions = [regions[k] for k in self._satisfiable(alternatives, regions, sample)]
        return [Requirement(region, sign) for region in regions if sign != 0]

    def _columns_without_gaps(self, conditions: Sequence[Condition], sample: Sample) -> list[str]:
        """Return the columns that have to be missing, of which no training row has a missing value."""
        encoding = sample.encoding
        if not any(isinstance(condition, (OneOf, Gap)) for condition in conditions):
            return []
        names = self._columns(sample)
        missing = getattr(sample.missing, "missing", None)
        found = []
        for condition in conditions:
            if isinstance(condition, OneOf) and condition.requires_gap:
                found.append(names[_column_of(condition.members[0], encoding)])
            elif isinstance(condition, Gap) and condition.missing and self.unlabeled is None:
                is_gap = np.zeros(1, bool) if missing is None else missing[:, condition.column]
                if not is_gap.any():
                    found.append(names[_column_of(condition.column, encoding)])
        return found

    def _data_cautions(self, requirements: list[Requirement], sample: Sample) -> list[Caution]:
        """Return warnings about the training rows, and about missing values that none of them has."""
        found = super()._data_cautions(requirements, sample)
        if not self.on_rows or self.hard or sample.sign(self.label) == 0:
            return found
        if "missing" not in self.text.lower():
            return found
        columns = [
            c for a in self._parsed(sample).alternatives for c in self._columns_without_gaps(a, sample)
        ]
        for column in dict.fromkeys(columns):
            found.append(
                Caution(
                    FarFromData,
                    f"{self.words()}: no training row has a missing value of {column!r}. The rule adds "
                    "no rows for this condition.",
                )
            )
        return found

    def _limits(self, sample: Sample) -> list[Condition]:
        """Return the ends that a dict ``within`` gives, as conditions on rows."""
        if self.within is None or (isinstance(self.within, str) and self.within == "data"):
            return []
        low, high, given_low, given_high = part_of_space(self.within, self._named(sample))
        eye = np.eye(len(low) + 1)
        below = [AtMost(Affine(eye[j] - high[j] * eye[-1]), False, 0) for j in np.flatnonzero(given_high)]
        above = [AtMost(Affine(low[j] * eye[-1] - eye[j]), False, 0) for j in np.flatnonzero(given_low)]
        return [*below, *above]

    def _row_points(self, requirement: Requirement, pool: Pool, alternatives: int = 1) -> Array:
        try:
            return super()._row_points(requirement, pool, alternatives)
        except (BadRule, InvalidInput) as error:
            error.args = (f"{self.text!r}: {error}",)
            raise

    def check_columns(self, sample: Sample) -> None:
        table = replace(Table.of_numbers(self._columns(sample)), quantile=lambda column, share: 0.0)
        self._pointed(lambda: parse(self.text, table), sample)
        super().check_columns(sample)

    def _parsed(self, sample: Sample) -> ParsedRule:
        """Return the conditions of the text, with the quantiles of the training rows."""
        text = self.text
        if sample.encoding is None and isinstance(text, str) and text.isascii() and "%" not in text:
            names = tuple(self._columns(sample))
            return self._pointed(lambda: _of_numbers(text, names), sample)
        return self._pointed(lambda: parse(text, self._table(sample)), sample)

    def _pointed(self, read: Any, sample: Sample) -> Any:
        """Return what a function reads from the text, with advice about names if it fails."""
        try:
            return read()
        except BadRule as error:
            if self.columns is None and sample.feature_names is None:
                advice = (
                    "An array has no names: fit on a DataFrame, or give columns=[...]. BaggingClassifier "
                    "and AdaBoostClassifier remove the names: give columns=[...]. If a step of a pipeline "
                    "removes the names, use PriorSVC(scale='standard') instead of a scaler before it: rules "
                    "then keep the units of the data."
                )
                error.args = (f"{error}\n{advice}",)
            raise

    def _satisfiable(
        self, alternatives: list[list[Condition]], regions: list[Any], sample: Sample
    ) -> list[int]:
        """Return the positions of the alternatives that some row can satisfy.

        Raise BadRule if there is none, and if an alternative is impossible that is written in the text.
        Brackets and ``not`` also give alternatives that are not in the text.
        """
        impossible = {
            k
            for k, (conditions, region) in enumerate(zip(alternatives, regions, strict=True))
            if region is None or self._columns_without_gaps(conditions, sample) or contradict(conditions)
        }
        possible = [k for k in range(len(regions)) if k not in impossible]
        texts = self._parsed(sample).texts() if impossible else []
        written = len(texts) == len(regions) > 1
        for k in sorted(impossible):
            if not possible or written or self._columns_without_gaps(alternatives[k], sample):
                which = f"{texts[k]} in {self.text!r}" if written else repr(self.text)
                reason, advice = self._reason(alternatives[k], sample)
                raise BadRule(f"no row can satisfy {which}: {reason}. {advice}")
        return possible

    def _reason(self, conditions: Sequence[Condition], sample: Sample) -> tuple[str, str]:
        """Return why no row satisfies some conditions, and what to do."""
        for column in self._columns_without_gaps(conditions, sample):
            return f"no training row has a missing value of {column!r}", "Remove the condition."
        for condition in conditions:
            if isinstance(condition, OneOf) and condition.parts == 1 and not condition.allowed.any():
                column = self._columns(sample)[_column_of(condition.members[0], sample.encoding)]
                return f"it excludes every value of {column!r} in the training rows", "Remove a value."
        return "its conditions contradict each other", "Correct a limit, or use 'or' instead of 'and'."

    def _table(self, sample: Sample) -> Table:
        """Return the columns that the text can name."""
        X = sample.weighted_rows()[0]
        missing = getattr(sample.missing, "missing", None)
        if missing is not None:  # completed values do not count
            X = np.where(missing[sample.weights > 0], np.nan, X)

        def quantile(column: int, share: float) -> float:
            return float(np.nanquantile(X[:, column], share))

        encoding = sample.encoding
        if encoding is None:
            return replace(Table.of_numbers(self._columns(sample)), quantile=quantile)
        values = {group.column: group.values for group in encoding.groups}
        return Table(self._columns(sample), encoding.places, values, encoding.width, quantile)

    def _columns(self, sample: Sample) -> list[str]:
        """Return the names of the columns in the text."""
        encoding = sample.encoding
        d = sample.X.shape[1] if encoding is None else len(encoding.names)
        if self.columns is None:
            named = sample.feature_names if encoding is None else encoding.names
            return [f"x{j}" for j in range(d)] if named is None else [str(name) for name in named]
        try:
            names = [self.columns] if isinstance(self.columns, str) else list(self.columns)
        except TypeError:  # not a list
            names = []
        if len(names) != d or not all(isinstance(name, str) for name in names):
            raise InvalidInput(f"columns must be {d} names, one for each column, got {self.columns!r}.")
        return names

    def where(self, region: Set, sample: Sample) -> str:
        one_box = isinstance(region, BoxSet) and len(self._parsed(sample).alternatives) == 1
        if sample.encoding is None and one_box:
            return super().where(region, sample)
        limits = limits_in_words(self.within, self._named(sample))
        if self.within is not None and not isinstance(region, RowSet) and ends_at_data(region, sample):
            limits += " and the range of the data" if limits else " within the range of the data"
        return f"where {self.in_numbers(sample)}{',' if limits else ''}{limits}"

    def in_numbers(self, sample: Sample) -> str:
        """Return the text with the number behind each quantile, such as ``bmi > 90% (= 31.2)``."""
        return self._parsed(sample).in_numbers() if "%" in self.text else self.text

    def _remarks(self, f: Any, worst: Requirement, view: Solved) -> tuple[str, ...]:
        remarks = super()._remarks(f, worst, view)
        sample = self._named(view.sample)
        if len(self._parsed(sample).alternatives) == 1 and (sample.encoding is None or f.linear):
            return remarks
        return (f"the worst value is {region_in_words(worst.region, sample, restricted=True)}", *remarks)

    def findings(self, f: Any, view: Solved) -> Any:
        found = super().findings(f, view)
        text = self.in_numbers(view.sample)
        return replace(found, rule=text) if isinstance(found, RowsInside) and text != self.text else found

    def _named(self, sample: Sample) -> Sample:
        if sample.encoding is not None:
            return sample
        names = self._columns(sample)
        known = sample.feature_names
        if known is not None and known.tolist() == names:
            return sample
        return replace(sample, feature_names=np.array(names, object))

    def words(self) -> str:
        return f"{self.text!r}{limits_in_words(self.within)} is {self.label!r}"


@lru_cache(maxsize=32)  # a fit reads a text twice, and a cross-validation fits it many times
def _of_numbers(text: str, names: tuple[str, ...]) -> ParsedRule:
    """Return the conditions of a text without quantiles, over columns of numbers."""
    return parse(text, Table.of_numbers(names))


def _column_of(member: int, encoding: Any) -> int:
    """Return the position in the table of an encoded column."""
    if encoding is None:
        return int(member)
    return next(j for j, place in enumerate(encoding.places) if member in np.atleast_1d(place))


def _row_set(conditions: Sequence[Condition], sample: Sample) -> Set | None:
    """Return the rows for which all conditions hold; None if no row can satisfy their closure."""
    width = sample.X.shape[1]
    region = as_set(*linear_hull(conditions, width))
    # A box is exact unless its ends are quotients by the factor of a column.
    is_box = isinstance(region, BoxSet) and all(is_closed(c) and is_exact(c) for c in conditions)
    if region is None or is_box:
        return region
    hull = as_set(*linear_hull([c for c in conditions if not isinstance(c, OneOf)], width))
    assert hull is not None
    return RowSet.of(hull, conditions, sample)


def as_set(B: Array, d: Array) -> Set | None:
    """Return a box if every inequality has one column, else a polyhedron; None if the set is empty."""
    if np.all(np.count_nonzero(B, axis=1) == 1):
        column = np.argmax(B != 0, axis=1)
        end = d / B[np.arange(len(B)), column] + 0.0  # no negative zero in messages
        upper = B[np.arange(len(B)), column] > 0
        low = np.full(B.shape[1], -np.inf)
        high = np.full(B.shape[1], np.inf)
        np.minimum.at(high, column[upper], end[upper])
        np.maximum.at(low, column[~upper], end[~upper])
        return None if np.any(low > high) else BoxSet(low, high)
    region = polyhedron(B, d)
    return None if region.empty else region
