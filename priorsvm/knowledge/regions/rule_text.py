"""Parser of rules such as "glucose >= 126 and sex == 'female'" into conditions on columns.

The grammar, one method of the parser per line::

    some        all or all or ...
    all         condition and condition and ...
    condition   not condition | (some) | comparison
    comparison  side < side <= ... | side [not] between side and side | side [not] in (value, ...)
                | side is [not] missing; words such as "at least" count as signs
    side        'text' | 90% | sum; a column with categories stands alone
    sum         term + term - ...
    term        factor * factor / ...
    factor      -factor | power
    power       operand ** number
    operand     (sum) | number | column

A text is parsed once, in a time linear in its length, and is never evaluated as code.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any
from unicodedata import normalize

import numpy as np

from ..._utils.arrays import Array
from ..._utils.checks import LARGEST
from ..._utils.messages import closest
from ...errors import BadRule
from .parsed_rule import Inequalities, ParsedRule, Table
from .rule_conditions import (
    MAX_CONDITIONS,
    Affine,
    All,
    AtMost,
    Condition,
    Curved,
    Expression,
    Gap,
    OneOf,
    Some,
    Zero,
    added,
    alternatives,
    joined,
    negated,
    scaled,
)
from .rule_tokens import COMPARISONS, MISSING, SIGNS, Text, Token, quote, spelled, written

_POWER = "a rule is linear in the columns: add a column that contains the power"
_PRODUCT = "a rule is linear in the columns: add a column that contains the product"
_RATIO = "a rule is linear in the columns: divide by numbers only"
_REFUSED = {
    "in": "'in' requires a list in brackets, such as a in (1, 2)",
    "is": "'is' cannot be used: write '=', 'is missing', or words such as 'is at least' and 'is below'",
    "^": "'^' cannot be used: write a power as a ** 2",
    "//": "'//' cannot be used: write '/'",
    "&": "'&' cannot be used: write 'and'",
    "&&": "'&&' cannot be used: write 'and'",
    "|": "'|' cannot be used: write 'or'",
    "||": "'||' cannot be used: write 'or'",
    "=>": "'=>' cannot be used: write '>='",
    "=<": "'=<' cannot be used: write '<='",
    ",": "a comma cannot be used: write a decimal point in numbers, and join comparisons by 'and' or 'or'",
    ";": "a semicolon cannot be used: join comparisons by 'and' or 'or'",
    "`": "this backtick is not closed: write backticks on both sides of a column",
    "%": "'%' cannot be used here: a quantile is a number and '%', such as a > 90%",
}
_LOGIC = {"true": 1.0, "false": 0.0}
# Factors of products and powers of columns in a text.
MAX_FACTORS = 1000
_ALONE = "a percentage is a quantile of one column: compare the column itself with it, such as a > 90%"


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


class _Parser:
    """Recursive descent from left to right."""

    def __init__(self, text: str, table: Table):
        self.table = table
        self.columns = [normalize("NFC", name) for name in table.names]
        self.text = Text(text, self.columns)
        self.tokens = self.text.tokens
        self.position = 0
        self.conditions = 0
        self.factors = 0
        self.quantiles: dict[int, float] = {}

    def rule(self) -> Any:
        """Return the tree of conditions."""
        tree = self._some()
        if self.token.kind != "end":
            raise self._unexpected("the comparison is complete: 'and' or 'or' is expected here")
        return tree

    @property
    def token(self) -> Token:
        """The next token."""
        return self.tokens[self.position]

    def _take(self, *words: str) -> Token | None:
        """Return the next token and go on, if it is one of these signs; else return None."""
        token = self.token
        if token.kind != "sign" or token.word not in words:
            return None
        self.position += 1
        return token

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
            raise self._unexpected("a comparison by <, <=, >, >=, = or 'between' is missing here")
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
            raise self.text.error(_ALONE, side.at)
        if self.table.quantile is None:
            raise self.text.error("a quantile requires training rows: write a number", side.at)
        value = self.table.quantile(column, side.share)
        self.quantiles[side.end] = value
        return self._number(value)

    # Sums

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

    def _sum(self) -> Expression:
        total = self._term()
        curved: list[Expression] = []
        factors: list[float] = []
        if isinstance(total, Curved):
            curved.append(total)
            factors.append(1.0)
            total = self._number(0.0)
        while sign := self._take("+", "-"):
            term = self._term()
            factor = 1.0 if sign.word == "+" else -1.0
            if isinstance(term, Curved):
                curved.append(term)
                factors.append(factor)
            else:
                total = Affine(total.sum + factor * term.sum)
                self._finite(total, sign.at)
        return added([total, *curved], [1.0, *factors]) if curved else total

    def _term(self) -> Expression:
        term = self._factor()
        factors: list[Expression] = []
        powers: list[float] = []
        first: tuple[int, str] | None = None
        if isinstance(term, Curved):
            first = (term.at, term.reason)
        while sign := self._take("*", "/"):
            at = self.token.at
            factor = self._factor()
            if sign.word == "/" and isinstance(factor, Affine) and _is_zero(factor):
                raise self.text.error("this divisor is zero", at)
            if first is None and isinstance(term, Affine):
                product = _linear_product(term, sign.word, factor)
                if product is not None:
                    self._finite(product, sign.at)
                    term = product
                    continue
                first = (sign.at, _PRODUCT) if sign.word == "*" else (at, _RATIO)
            self._count_factor(sign.at)
            factors.append(factor)
            powers.append(1.0 if sign.word == "*" else -1.0)
        if first is None or not factors:
            return term
        return Curved("product", (term, *factors), (1.0, *powers), *first)

    def _factor(self) -> Expression:
        negative = False
        while sign := self._take("+", "-"):
            negative ^= sign.word == "-"
        factor = self._power()
        return scaled(factor, -1.0) if negative else factor

    def _power(self) -> Expression:
        base = self._operand()
        sign = self._take("**")
        if sign is None:
            return base
        at = self.token.at
        negative = bool(self._take("-"))
        exponent = self._operand()
        if not exponent.is_number:
            raise self.text.error("an exponent must be a number", at)
        power = -exponent.sum[-1] if negative else exponent.sum[-1]
        if base.is_number:
            number = self._number(np.power(base.sum[-1], power))
            self._finite(number, sign.at)
            return number
        self._count_factor(sign.at)
        return base if power == 1.0 else Curved("power", (base,), (float(power),), sign.at, _POWER)

    def _count_factor(self, at: int) -> None:
        """Raise BadRule at the factor that is one too many."""
        self.factors += 1
        if self.factors > MAX_FACTORS:
            raise self.text.error(
                f"a rule has at most {MAX_FACTORS} products and powers of columns: add a column that "
                "contains the product",
                at,
            )

    def _operand(self) -> Any:
        token = self.token
        if token.at in self.text.conditions:
            raise self.text.error("a number or a column is expected here, not a condition", token.at)
        if self._take("("):
            inside = self._sum()
            if not self._take(")"):
                raise self._unexpected("a closing bracket, or a sign such as +, is expected here")
            return inside
        if token.kind == "percent":
            raise self.text.error(_ALONE, token.at)
        if token.kind == "text":
            raise self.text.error(
                "a text can only be compared with a column: write column names in backticks", token.at
            )
        if token.kind in ("sign", "end"):
            raise self._unexpected("a number or a column is missing here")
        if token.kind == "number":
            operand = self._number(float(token.word))
        elif token.word.lower() in _LOGIC and token.kind == "name" and token.word not in self.columns:
            operand = self._number(_LOGIC[token.word.lower()])
        else:
            operand = self._column(token)
        self.position += 1
        self._finite(operand, token.at)
        return operand

    def _column(self, token: Token) -> Affine:
        number = self.columns.count(token.word)
        if number > 1:
            raise self.text.error(
                f"{number} columns are named {token.word!r}: rename them in the data", token.at
            )
        if number == 0:
            raise self._unknown_column()
        column = self.columns.index(token.word)
        if column in self.table.values:
            raise self.text.error(
                f"column {quote(token.word)} has categories: use ==, != or 'in', without arithmetic",
                token.at,
            )
        vector = np.zeros(self.table.width + 1)
        vector[self.table.places[column]] = 1.0
        return Affine(vector)

    def _number(self, value: float) -> Affine:
        vector = np.zeros(self.table.width + 1)
        vector[-1] = value
        return Affine(vector)

    def _finite(self, value: Expression, at: int) -> None:
        if isinstance(value, Affine) and not (np.abs(value.sum) <= LARGEST).all():
            raise self.text.error(f"this number is too large: a rule has numbers up to {LARGEST:g}", at)

    # Errors

    def _unexpected(self, reason: str) -> BadRule:
        """Return the error of the next token, for this reason unless a more specific reason applies."""
        kind, word, at = self.token
        before = self.tokens[self.position - 1].kind
        if kind in ("sign", "name"):
            if column := self._unquoted_column():
                reason = f"the column `{column}` must be in backticks"
            elif word.lower() in _REFUSED:
                reason = _REFUSED[word.lower()]
            elif word[0] in "'\"":
                reason = "this quote is not closed: write quotes on both sides of a text"
            elif re.match(r"\.?[0-9]", word):
                reason = f"{quote(word)} is not a number (write a product as 2 * a, and no units)"
            elif kind == "sign" and word not in (*SIGNS, *MISSING, "in"):
                reason = f"{word!r} cannot be used outside backticks"
            elif (before, kind) == ("number", "name") and word not in self.columns:
                reason += " (numbers have the unit of the column: leave units out)"
        return self.text.error(reason, at)

    def _unknown_column(self) -> BadRule:
        """Return the error of the next token, an unknown name."""
        name = self.token.word
        following = self.tokens[self.position + 1]
        if (following.kind, following.word) == ("sign", "("):
            return self._unexpected(
                f"functions such as {quote(name)} cannot be used: add a column with the values"
            )
        if any(name == value for values in self.table.values.values() for value in values):
            hint = f"a value is written in quotes: '{name}'"
        elif name.lower() in ("nan", "na", "none", "null", "missing"):
            hint = "a missing value is written as: a is missing"
        elif (meant := closest(name, self.columns)) is not None:
            hint = f"did you mean {spelled(meant)}?"
        else:
            listed = [*map(spelled, self.columns[:10]), *["…"] * (len(self.columns) > 10)]
            hint = f"the columns are {', '.join(listed)}"
        return self._unexpected(f"there is no column {quote(name)} ({hint})")

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

    def _unquoted_column(self) -> str:
        """Return the column that is written here without its backticks, or an empty text."""
        _, word, at = self.token
        text = self.text.text
        found = [
            c for c in self.columns if len(c) >= len(word) and text.startswith(c, at) and spelled(c) != c
        ]
        return max(found, key=len, default="")


def _is_zero(number: Affine) -> bool:
    return not number.sum.any()


def _linear_product(term: Affine, sign: str, factor: Expression) -> Affine | None:
    """Return a product or a quotient that is linear in the columns, else None."""
    if isinstance(factor, Curved):
        return None
    if sign == "/":
        return Affine(term.sum / factor.sum[-1]) if factor.is_number else None
    if factor.is_number:
        return Affine(term.sum * factor.sum[-1])
    return Affine(term.sum[-1] * factor.sum) if term.is_number else None


def _is_value(value: Any, given: Any) -> bool:
    """Return whether a text or a number in a rule is a value of a column."""
    if isinstance(given, _Value):
        return isinstance(value, str) and normalize("NFC", value) == given.word
    is_number = isinstance(value, (int, float, np.integer, np.floating, np.bool_))
    return is_number and float(value) == given.sum[-1]
