"""A parsed rule: its alternatives, and their linear inequalities."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np

from ..._utils.arrays import Array
from .rule_conditions import Affine, AtMost, Condition, Curved, Gap, OneOf, Zero
from .rule_tokens import Text

_CLOSED = "'not equal' cannot be used: a rule describes a closed region, such as 'a <= 1 or a >= 2'"
_GAP = "'missing' cannot be used: a region has no missing values"
_ROWS = ", or use holds='rows'"


@dataclass(frozen=True, eq=False)
class Inequalities:
    """The inequalities ``B x <= d`` of one alternative of a rule."""

    B: Array
    d: Array


@dataclass(frozen=True, eq=False)
class Table:
    """What a text can name: the columns, and their places among the encoded columns.

    Attributes
    ----------
    names : list of str
        The names of the columns.
    places : list of int, or of arrays of int
        The index of a column of numbers; the indices of the values of a column with categories.
    values : dict of int to list
        Position of a column with categories -> its values; None is a missing value.
    width : int
        Number of encoded columns.
    quantile : callable or None
        Returns the quantile of an encoded column for a share between 0 and 1.
    """

    names: list[str]
    places: list[Any]
    values: dict[int, list[Any]]
    width: int
    quantile: Callable[[int, float], float] | None = None

    @classmethod
    def of_numbers(cls, columns: Sequence[str]) -> Table:
        """Return a table whose columns all contain numbers."""
        names = [str(column) for column in columns]
        return cls(names, list(range(len(names))), {}, len(names))


class ParsedRule:
    """A text as alternatives, each a list of conditions that hold together.

    Parameters
    ----------
    text : Text
        The text and its tokens.
    width : int
        Number of encoded columns.
    parts : list of lists of Condition
        The alternatives.
    quantiles : dict of int to float
        Position in the text after a percentage -> the quantile of the training rows.
    """

    def __init__(self, text: Text, width: int, parts: list[list[Condition]], quantiles: dict[int, float]):
        self._text = text
        self._width = width
        self.alternatives = parts
        self._quantiles = quantiles

    def in_numbers(self) -> str:
        """Return the text with the number behind each quantile, such as ``bmi > 90% (= 31.2)``."""
        text = self._text.text
        for end, value in sorted(self._quantiles.items(), reverse=True):
            text = f"{text[:end]} (= {value:.4g}){text[end:]}"
        return text

    def texts(self) -> list[str]:
        """Return the text of each alternative, or nothing if the text is not a list of alternatives."""
        depth = 0
        ends = []
        for token in self._text.tokens:
            if token.kind == "sign":
                depth += (token.word == "(") - (token.word == ")")
                if token.word == "or" and depth == 0:
                    ends.append(token.at)
        starts = [0, *(end + len("or") for end in ends)]
        text = self._text.text
        if len(starts) != len(self.alternatives):
            return []
        places = zip(starts, [*ends, len(text)], strict=True)
        return [repr(text[start:end].strip()) for start, end in places]

    def inequalities(self) -> list[Inequalities]:
        """Return the linear inequalities of each alternative; raise BadRule at what is not linear.

        A strict inequality becomes its closure. Of a column with categories, the values that are not allowed
        are at most 0, and the only allowed value is at least 1.
        """
        for condition in chain(*self.alternatives):
            self._check_linear(condition)
        return [Inequalities(*linear_hull(conditions, self._width)) for conditions in self.alternatives]

    def _check_linear(self, condition: Condition) -> None:
        """Raise BadRule unless a condition describes a closed set with linear sides."""
        if isinstance(condition, OneOf):
            return
        if isinstance(condition, Gap):
            raise self._text.error(_GAP + _ROWS, condition.at)
        if isinstance(condition.expression, Curved):
            raise self._text.error(condition.expression.reason + _ROWS, condition.expression.at)
        if isinstance(condition, Zero) and not condition.equal:
            raise self._text.error(_CLOSED + _ROWS, condition.at)


def linear_hull(conditions: Sequence[Condition], width: int) -> tuple[Array, Array]:
    """Return B and d of the linear conditions and of the allowed values; other conditions are left out."""
    sums: list[Array] = []
    for condition in conditions:
        if isinstance(condition, OneOf):
            sums += rows_of_values(condition)
        elif not isinstance(condition, Gap) and isinstance(condition.expression, Affine):
            sums += _closed_rows(condition)
    rows = np.array(sums).reshape(len(sums), width + 1)
    # + 0.0 turns -0.0 into 0.0.
    return rows[:, :-1] + 0.0, 0.0 - rows[:, -1]


def _closed_rows(condition: Any) -> list[Array]:
    """Return the sums that are at most zero in the closure of a linear condition."""
    expression: Array = condition.expression.sum
    if isinstance(condition, AtMost):
        return [expression]
    return [expression, -expression] if condition.equal else []


def rows_of_values(condition: OneOf) -> list[Array]:
    """Return the sums that are at most zero where a column with categories has an allowed value."""
    rows = []
    for member, allowed in zip(condition.members.tolist(), condition.allowed.tolist(), strict=True):
        row = np.zeros(condition.width + 1)
        row[member] = 1.0
        if not allowed:
            rows.append(row)
        elif condition.allowed.sum() == 1:
            row[-1] = -1.0
            rows.append(-row)
    if not condition.allowed.any():  # no value is left: 1 <= 0
        row = np.zeros(condition.width + 1)
        row[-1] = 1.0
        rows.append(row)
    return rows
