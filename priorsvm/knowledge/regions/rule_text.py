"""Parser of rules such as "glucose >= 126 and sex == 'female'" into conditions on columns.

The grammar, one method of the parser per line::

    some        all or all or ...
    all         condition and condition and ...
    condition   not condition | (some) | comparison
    comparison  side < side <= ... | side [not] between side and side | side [not] in (value, ...)
                | side is [not] missing; words such as "at least" count as signs
    side        'text' | 90% | sum; a column with categories stands alone

A sum is parsed by ``rule_sums.py``.

A text is parsed once, in a time linear in its length, and is never evaluated as code.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any
from unicodedata import normalize

import numpy as np

from ..._utils.arrays import Array
from ..._utils.messages import closest
from ...errors import BadRule
from .parsed_rule import Inequalities, ParsedRule, Table
from .rule_conditions import (
    MAX_CONDITIONS,
    Affine,
    All,
    AtMost,
    Condition,
    Expression,
    Gap,
    OneOf,
    Some,
    Zero,
    added,
    alternatives,
    joined,
    negated,
)
from .rule_sums import ALONE, SumParser
from .rule_tokens import COMPARISONS, MISSING, Token, quote, spelled, written


def parse(text: Any, table: Table) -> ParsedRule:
    """Return the conditions of a rule; raise BadRule with a caret at the place of an error."""
    if not isinstance(text, str) or not text.strip():
        raise BadRule(f"a rule must be a text such as 'age >= 50 and bmi >= 30', got {text!r}.")
    with np.errstate(all="ignore"):  # the parser rejects numbers that are not finite
        parser = _Parser(text, table)
        parts = alternatives(parser.rule(), parser.text.error)
        return ParsedRule(parser.text, table.width, parts, parser.quantiles)


def parse_rule(text: str, columns: Sequence[str]) -> list[Inequalities]:
    """Return the linear inequalities of a rule over columns of numbers.

    Parameters
    ----------
    text : str
        Comparisons of sums and multiples of columns, joined by ``and``, ``or``, ``not`` and brackets.
        Comparisons are ``<``, ``<=``, ``>``, ``>=``, ``=``, ``≤``, ``≥``, ``==``, chains of them,
        ``x between 1 and 2`` and ``x in (1, 2)``. Words such as ``at least``, ``at most``, ``above``,
        ``below``, ``more than`` and ``less than`` count as comparisons, unless a word is part of a column's
        name. Strict comparisons mean their closure. A column is written in backticks if its name is ``and``,
        ``or``, ``not`` or ``between``, or contains more than letters, digits and underscores.
    columns : sequence of str
        Names of the columns, in order.

    Returns
    -------
    list of Inequalities
        One entry for each alternative of ``or``. The rule holds where all inequalities of an entry hold.

    Raises
    ------
    BadRule
        If the text is not a rule. A caret in the message marks the place.

    Examples
    --------
    >>> (rule,) = parse_rule("age >= 50 and weight / 2 + age < 90", ["age", "weight"])
    >>> rule.B
    array([[-1. , 0. ], [ 1. , 0.5]])
    >>> rule.d
    array([-50., 90.])
    >>> [rule.d.tolist() for rule in parse_rule("age < 20 or age between 40 and 50", ["age"])]
    [[20.0], [-40.0, 50.0]]
    >>> parse_rule("age >= 50 and wieght > 80", ["age", "weight"])
    Traceback (most recent call last):
    priorsvm.errors.BadRule: there is no column 'wieght' (did you mean weight?):
      age >= 50 and wieght > 80
                    ^
    """
    return parse(text, Table.of_numbers(columns)).inequalities()


@dataclass(frozen=True)
class _Value:
    """A text in quotes."""

    word: str
    at: int


@dataclass(frozen=True)
class _Share:
    """A quantile, with its first and its last position in the text."""

    share: float
    at: int
    end: int


@dataclass(frozen=True)
class _Words:
    """A column with categories, by its position in the table."""

    column: int
    at: int


class _Parser(SumParser):
    """Recursive descent from left to right."""

    def __init__(self, text: str, table: Table):
        super().__init__(text, table)
        self.conditions = 0
        self.quantiles: dict[int, float] = {}

    def rule(self) -> Any:
        """Return the tree of conditions."""
        tree = self._some()
        if self.token.kind != "end":
            raise self._unexpected("the comparison is complete: 'and' or 'or' is expected here")
        return tree

    # Logic

    def _some(self) -> Any:
        return self._list("or", Some, self._all)

    def _all(self) -> Any:
        return self._list("and", All, self._condition)

    def _list(self, word: str, kind: Any, part: Callable[[], Any]) -> Any:
        parts: list[Any] = []
        places: list[int] = []
        while not parts or self._take(word):
            places.append(self.token.at)
            parts.append(part())
        return joined(kind, parts, places)

    def _condition(self) -> Any:
        opposite = False
        while self._take("not"):
            opposite = not opposite
        condition = self._in_brackets() if self.token.at in self.text.conditions else self._comparison()
        return negated(condition) if opposite else condition

    def _in_brackets(self) -> Any:
        self._take("(")
        inside = self._some()
        if not self._take(")"):
            raise self._unexpected("'and', 'or' or a closing bracket is expected here")
        return inside

    # Comparisons

    def _comparison(self) -> Any:
        left = self._side()
        if sign := self._take(*MISSING):
            return self._missing(left, sign)
        follower = self.tokens[self.position + 1] if self.token.kind != "end" else self.token
        opposite = (
            self.token.word == "not" and self.token.kind == "sign" and follower.word in ("in", "between")
        )
        if opposite:
            self.position += 1
        if sign := self._take("between"):
            found = self._between(left, sign)
        elif sign := self._take("in"):
            found = self._in(left, sign)
        else:
            return self._chain(left)
        return negated(found) if opposite else found

    def _chain(self, left: Any) -> Any:
        parts = []
        places = []
        while sign := self._take(*COMPARISONS):
            right = self._side()
            parts.append(self._compared(left, sign, right))
            places.append(sign.at)
            left = right
        if not parts:
            raise self._without_sign(left)
        return joined(All, parts, places)

    def _between(self, left: Any, sign: Token) -> Any:
        low = self._side()
        if not self._take("and"):
            raise self._unexpected("'between' requires a second end, as in 'a between 1 and 2'")
        high = self._side()
        parts = [
            self._compared(low, Token("sign", "<=", sign.at), left),
            self._compared(left, Token("sign", "<=", sign.at), high),
        ]
        return All(tuple(parts), (sign.at, sign.at))

    def _in(self, left: Any, sign: Token) -> Any:
        close = ")" if self._take("(") else "]"
        self._take("[")
        values = [self._side()]
        while self._take(","):
            if self.token.word == close:  # a comma at the end of the list
                break
            values.append(self._side())
        if not self._take(close):
            raise self._unexpected(f"a comma or '{close}' is expected here")
        equal = Token("sign", "=", sign.at)
        parts: list[Any] = [self._compared(left, equal, value) for value in values]
        if isinstance(left, _Words):
            allowed = np.any([part.allowed for part in parts], axis=0)
            return self._one_of(left, allowed, False)
        return joined(Some, parts, [sign.at] * len(parts))

    def _missing(self, left: Any, sign: Token) -> Any:
        if isinstance(left, _Words):
            is_gap = np.array([value is None for value in self.table.values[left.column]], bool)
            found: Any = replace(self._one_of(left, is_gap, False), without_gaps=not is_gap.any())
        elif isinstance(left, Affine) and left.column is not None:
            found = Gap(left.column, True, self.table.width, sign.at)
        else:
            raise self.text.error("'missing' is for one column: write the column alone before it", sign.at)
        return found if sign.word == "is missing" else negated(found)

    def _compared(self, left: Any, sign: Token, right: Any) -> Condition:
        """Return the condition of two sides and a sign."""
        self.conditions += 1
        if self.conditions > MAX_CONDITIONS:
            raise self.text.error(
                f"a rule has at most {MAX_CONDITIONS} comparisons: use several rules", sign.at
            )
        if isinstance(right, _Words) and not isinstance(left, _Words):
            left, right = right, left
        if isinstance(left, _Words):
            return self._compared_with_value(left, sign, right)
        for one, other in ((left, right), (right, left)):
            if isinstance(one, _Value):
                raise self._not_a_value(one, other)
        small = self._resolved(left, right)
        large = self._resolved(right, left)
        if sign.word in (">", ">="):
            small, large = large, small
        difference = added([small, large], [1.0, -1.0])
        self._finite(difference, sign.at)
        if difference.is_number:
            raise self.text.error("this comparison depends on no column: remove it", sign.at)
        if sign.word in ("=", "!="):
            return Zero(difference, sign.word == "=", sign.at)
        return AtMost(difference, sign.word in ("<", ">"), sign.at)

    def _compared_with_value(self, left: _Words, sign: Token, right: Any) -> Condition:
        """Return the condition of a column with categories and a value."""
        name = quote(self.columns[left.column])
        if sign.word not in ("=", "!="):
            raise self.text.error(f"column {name} has categories: use ==, != or 'in'", sign.at)
        if isinstance(right, _Words) or not (isinstance(right, _Value) or getattr(right, "is_number", False)):
            at = right.at if isinstance(right, (_Words, _Share)) else sign.at
            raise self.text.error(f"column {name} has categories: compare it with one of its values", at)
        values = self.table.values[left.column]
        allowed = np.array([_is_value(value, right) for value in values], bool)
        if not allowed.any():
            raise self._unknown_value(left, right, sign)
        found = self._one_of(left, allowed, False)
        return found if sign.word == "=" else found.negated()

    def _one_of(self, left: _Words, allowed: Array, unknown: bool) -> OneOf:
        members = np.asarray(self.table.places[left.column], int)
        return OneOf(members, allowed, unknown, self.table.width, left.at)

    def _resolved(self, side: Any, other: Any) -> Expression:
        """Return a side with a number for a quantile of the other side."""
        if not isinstance(side, _Share):
            return side
        column = other.column if isinstance(other, Affine) else None
        if column is None:
            raise self.text.error(ALONE, side.at)
        if self.table.quantile is None:
            raise self.text.error("a quantile requires training rows: write a number", side.at)
        value = self.table.quantile(column, side.share)
        self.quantiles[side.end] = value
        return self._number(value)

    def _side(self) -> Any:
        token = self.token
        if token.kind == "text":
            self.position += 1
            mark = token.word[0]
            return _Value(normalize("NFC", token.word[1:-1].replace(2 * mark, mark)), token.at)
        if token.kind == "percent":
            self.position += 1
            share = float(token.word.rstrip("% ")) / 100
            if share > 1:
                raise self.text.error("a quantile is at most 100%", token.at)
            return _Share(share, token.at, token.at + len(token.word))
        if token.kind in ("name", "quoted") and self.columns.count(token.word) == 1:
            column = self.columns.index(token.word)
            if column in self.table.values:
                self.position += 1
                return _Words(column, token.at)
        return self._sum()

    # Errors

    def _without_sign(self, left: Any) -> BadRule:
        """Return the error of a side that is compared with nothing."""
        example = ""
        if self.token.word == "not" or self.token.word.lower() == "missing":
            example = ". A missing value is written as: a is missing, a is not missing"
        elif isinstance(left, _Value) or getattr(left, "is_number", False):
            example = ". A list of values is written as: a in (1, 2)"
        elif isinstance(left, Affine) and left.column is not None:
            name = spelled(self.tokens[self.position - 1].word)
            example = f", such as '{name} == True' or '{name} >= 1'"
        return self._unexpected(f"a comparison by <, <=, >, >=, = or 'between' is missing here{example}")

    def _unknown_value(self, left: _Words, right: Any, sign: Token) -> BadRule:
        """Return the error of a value that no training row has."""
        values = [value for value in self.table.values[left.column] if value is not None]
        given = right.word if isinstance(right, _Value) else f"{right.sum[-1]:g}"
        listed = [*map(written, values[:10]), *["…"] * (len(values) > 10)]
        hint = f"the values are {', '.join(listed)}"
        if (meant := closest(given, [str(value) for value in values])) is not None:
            hint = f"did you mean {written(meant)}?"
        return self.text.error(
            f"no training row has {quote(given)} in column {quote(self.columns[left.column])} ({hint}). "
            "A pandas column of dtype category can list values that do not occur",
            right.at if isinstance(right, _Value) else sign.at,
        )

    def _not_a_value(self, value: _Value, other: Any) -> BadRule:
        """Return the error of a text that is not compared with a column of categories."""
        if value.word in self.columns:
            reason = f"a text cannot be used here: write the column in backticks, `{value.word}`"
        elif isinstance(other, Affine) and other.column is not None:
            reason = (
                "this column contains numbers: compare it with a number, and write column names in backticks"
            )
        else:
            reason = "a text can only be compared with a column: write column names in backticks"
        return self.text.error(reason, value.at)


def _is_value(value: Any, given: Any) -> bool:
    """Return whether a text or a number in a rule is a value of a column."""
    if isinstance(given, _Value):
        return isinstance(value, str) and normalize("NFC", value) == given.word
    is_number = isinstance(value, (int, float, np.integer, np.floating, np.bool_))
    return is_number and float(value) == given.sum[-1]
