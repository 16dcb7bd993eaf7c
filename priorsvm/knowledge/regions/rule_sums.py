"""Parser of sums of columns and numbers, one part of the language of rules.

The grammar, one method of the parser per line::

    sum         term + term - ...
    term        factor * factor / ...
    factor      -factor | power
    power       operand ** number
    operand     (sum) | number | column
"""

from __future__ import annotations

import re
from typing import Any
from unicodedata import normalize

import numpy as np

from ..._utils.checks import LARGEST
from ..._utils.messages import closest
from ...errors import BadRule
from .parsed_rule import Table
from .rule_conditions import Affine, Curved, Expression, added, scaled
from .rule_tokens import MISSING, SIGNS, Text, Token, quote, spelled

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
    ".": "'.' cannot be used outside backticks: write conditions such as a is missing, or a between 1 and 2",
    ";": "a semicolon cannot be used: join comparisons by 'and' or 'or'",
    "`": "this backtick is not closed: write backticks on both sides of a column",
    "%": "'%' cannot be used here: a quantile is a number and '%', such as a > 90%",
}
_LOGIC = {"true": 1.0, "false": 0.0}
# Factors of products and powers of columns in a text.
MAX_FACTORS = 1000
ALONE = "a percentage is a quantile of one column: compare the column itself with it, such as a > 90%"


class SumParser:
    """Parser of sums, with the tokens of a text and the errors of its next token.

    Parameters
    ----------
    text : str
        The text.
    table : Table
        The columns that the text can name.
    """

    def __init__(self, text: str, table: Table):
        self.table = table
        self.columns = [normalize("NFC", name) for name in table.names]
        self.text = Text(text, self.columns)
        self.tokens = self.text.tokens
        self.position = 0
        self.factors = 0

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
            raise self.text.error(ALONE, token.at)
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
        elif name.lower() == "median":
            hint = "the median is written as 50%"
        elif (meant := closest(name, self.columns)) is not None:
            hint = f"did you mean {spelled(meant)}?"
        else:
            listed = [*map(spelled, self.columns[:10]), *["…"] * (len(self.columns) > 10)]
            hint = f"the columns are {', '.join(listed)}"
        return self._unexpected(f"there is no column {quote(name)} ({hint})")

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
