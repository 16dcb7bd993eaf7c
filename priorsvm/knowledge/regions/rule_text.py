"""Parser of rules such as "glucose >= 126 and bmi >= 30" into linear inequalities.

The grammar, one method of the parser per line::

    any         all or all or ...
    all         condition and condition and ...
    condition   (any) | comparison
    comparison  sum < sum <= ... | sum between sum and sum; words such as "at least" count as signs
    sum         term + term - ...
    term        factor * factor / ...
    factor      -factor | (sum) | number | column

A sum is one vector: the coefficients of the columns, then the constant. A comparison becomes sums that are at
most zero. A text is never evaluated as code.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, product
from typing import NamedTuple
from unicodedata import category, east_asian_width, normalize

import numpy as np

from ..._utils.arrays import Array
from ..._utils.messages import closest
from ...errors import BadRule

MAX_ALTERNATIVES = 1000
MAX_DEPTH = 50

# Beyond ASCII, all characters except these signs may be part of a name: \w lacks the vowel signs of scripts.
_NAME = r"(?![0-9]) (?: \w | [^\x00-\x7f\s≤≥≠−] )+"
_TOKEN = re.compile(
    rf"""\s*(?:
        (?P<number> (?: [0-9]+ (?:_[0-9]+)* (?:\.[0-9]*)? | \.[0-9]+ ) (?: [eE][+-]?[0-9]+ )? (?![\w.]) )
      | (?P<name> {_NAME} )
      | ` (?P<quoted> [^`]* ) `
      | (?P<sign> [<>=!:]= | <> | => | =< | \*\* | // | && | \|\|
                | \.?[0-9][\w.]* | '[^']*'? | "[^"]*"? | . )  # rejected by the parser
    )""",
    re.VERBOSE | re.DOTALL,
)
_WORDS = ("and", "or", "between")
_COMPARISONS = ("<", ">", "=")
_SIGNS = (*_COMPARISONS, *"+-*/()", *_WORDS)
# A strict inequality means its closure.
_SAME = {"<=": "<", "≤": "<", ">=": ">", "≥": ">", "==": "=", "−": "-"}
# Words for comparisons, the longest first. "is" may precede each, and "between".
_THAN = {
    **dict.fromkeys(("more", "greater", "higher", "larger"), ">"),
    **dict.fromkeys(("less", "fewer", "lower", "smaller"), "<"),
}
_PHRASES: dict[tuple[str, ...], str] = {
    **{(word, "than", "or", "equal", "to"): sign for word, sign in _THAN.items()},
    **{(word, "than"): sign for word, sign in _THAN.items()},
    ("at", "least"): ">",
    ("above",): ">",
    ("over",): ">",
    ("at", "most"): "<",
    ("below",): "<",
    ("under",): "<",
    ("equal", "to"): "=",
    ("equals",): "=",
}

_CLOSED = "'not equal' cannot be used: a rule describes a closed region, such as 'a <= 1 or a >= 2'"
_POWER = "a rule is linear in the columns: add a column that contains the power"
_REFUSED = {
    "!=": _CLOSED,
    "≠": _CLOSED,
    "<>": _CLOSED,
    "not": "'not' cannot be used: reverse the comparison, 'a < 1' instead of 'not a >= 1'",
    "in": "'in' cannot be used: write 'a = 1 or a = 2', or 'a between 1 and 2'",
    "is": "'is' cannot be used: write '=', or words such as 'is at least' and 'is below'",
    "true": "a rule compares numbers: write 1 for true",
    "false": "a rule compares numbers: write 0 for false",
    "**": _POWER,
    "^": _POWER,
    "&": "'&' cannot be used: write 'and'",
    "&&": "'&&' cannot be used: write 'and'",
    "|": "'|' cannot be used: write 'or'",
    "||": "'||' cannot be used: write 'or'",
    "=>": "'=>' cannot be used: write '>='",
    "=<": "'=<' cannot be used: write '<='",
    ",": "a comma cannot be used: write a decimal point in numbers, and join comparisons by 'and' or 'or'",
    ";": "a semicolon cannot be used: join comparisons by 'and' or 'or'",
    "`": "this backtick is not closed: write backticks on both sides of a column",
}


@dataclass(frozen=True, eq=False)
class Inequalities:
    """The inequalities ``B x <= d`` of one alternative of a rule."""

    B: Array
    d: Array


def parse_rule(text: str, columns: Sequence[str]) -> list[Inequalities]:
    """Return the linear inequalities of a rule.

    Parameters
    ----------
    text : str
        Comparisons of sums and multiples of columns, joined by ``and``, ``or`` and brackets. Comparisons are
        ``<``, ``<=``, ``>``, ``>=``, ``=``, ``≤``, ``≥``, ``==``, chains of them, and ``x between 1 and 2``.
        Words such as ``at least``, ``at most``, ``above``, ``below``, ``more than`` and ``less than`` count
        as comparisons, unless a word is part of a column's name. Strict comparisons mean their closure. A
        column is written in backticks if its name is ``and``, ``or`` or ``between``, or contains more than
        letters, digits and underscores.
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
    if not isinstance(text, str) or not text.strip():
        raise BadRule(f"a rule must be a text such as 'age >= 50 and bmi >= 30', got {text!r}.")
    with np.errstate(all="ignore"):  # the parser rejects numbers that are not finite
        alternatives = [np.array(sums) for sums in _Parser(text, columns).rule()]
    # + 0.0 turns -0.0 into 0.0.
    return [Inequalities(sums[:, :-1] + 0.0, 0.0 - sums[:, -1]) for sums in alternatives]


class _Token(NamedTuple):
    kind: str
    word: str
    at: int


class _Parser:
    """Recursive descent from left to right; a sum is the vector (coefficients, constant)."""

    def __init__(self, text: str, columns: Sequence[str]):
        # Accented letters have several spellings in Unicode.
        self.text = normalize("NFC", text).rstrip()
        self.columns = [normalize("NFC", str(column)) for column in columns]
        self.tokens = self._tokens()
        self.conditions = self._brackets_around_conditions()
        self.position = 0

    def rule(self) -> list[list[Array]]:
        """Return, for each alternative, the sums that have to be at most zero."""
        alternatives = self._any()
        if self.token.kind != "end":
            raise self._unexpected("the comparison is complete: 'and' or 'or' is expected here")
        return alternatives

    # Tokens

    def _tokens(self) -> list[_Token]:
        tokens = []
        for match in _TOKEN.finditer(self.text):
            kind = str(match.lastgroup)
            word = match[kind]
            at = match.start(kind)
            if kind == "name" and word.lower() in _WORDS:
                kind = "sign"
                word = word.lower()
            elif kind == "sign":
                word = _SAME.get(word, word)
            elif kind == "quoted":
                at -= 1  # the caret goes under the backtick
            tokens.append(_Token(kind, word, at))
        return [*self._with_signs_for_words(tokens), _Token("end", "", len(self.text))]

    def _with_signs_for_words(self, tokens: list[_Token]) -> list[_Token]:
        """Replace words such as ``at least`` by signs, unless a word is part of a column's name."""
        names = {word for column in self.columns for word in re.findall(r"\w+", column.lower())}
        phrases = {words: sign for words, sign in _PHRASES.items() if names.isdisjoint(words)}
        lower = ["" if token.kind == "quoted" else token.word.lower() for token in tokens]
        found: list[_Token] = []
        i = 0
        while i < len(tokens):
            begin = i + (lower[i] == "is" and "is" not in names)
            words = next((w for w in phrases if tuple(lower[begin : begin + len(w)]) == w), ())
            if words:
                found.append(_Token("sign", phrases[words], tokens[i].at))
                i = begin + len(words)
            else:
                i += begin > i and lower[begin : begin + 1] == ["between"]
                found.append(tokens[i])
                i += 1
        return found

    def _brackets_around_conditions(self) -> set[int]:
        """Return the positions of opening brackets around conditions; other brackets are around sums."""
        found: set[int] = set()
        opened: list[int] = []
        for kind, word, at in self.tokens:
            if kind != "sign":
                continue
            if word == "(":
                opened.append(at)
                if len(opened) > MAX_DEPTH:
                    raise self._error(
                        f"brackets can be nested at most {MAX_DEPTH} deep: simplify the rule", at
                    )
            elif word == ")":
                if not opened:
                    raise self._error("this bracket has no opening bracket: add '(' or remove it", at)
                opened.pop()
            elif word in (*_COMPARISONS, *_WORDS):
                found.update(opened)
        if opened:
            raise self._error("this bracket is not closed: add ')'", opened[-1])
        return found

    @property
    def token(self) -> _Token:
        """The next token."""
        return self.tokens[self.position]

    def _take(self, *words: str) -> _Token | None:
        """Return the next token and go on, if it is one of these signs; else return None."""
        token = self.token
        if token.kind != "sign" or token.word not in words:
            return None
        self.position += 1
        return token

    # Logic

    def _any(self) -> list[list[Array]]:
        alternatives = self._all()
        while self._take("or"):
            at = self.token.at
            alternatives += self._all()
            self._check_number(len(alternatives), at)
        return alternatives

    def _all(self) -> list[list[Array]]:
        parts: list[list[list[Array]]] = []
        number = 1
        while not parts or self._take("and"):
            at = self.token.at
            parts.append(self._condition())
            number *= len(parts[-1])
            self._check_number(number, at)
        return [list(chain(*choice)) for choice in product(*parts)]

    def _check_number(self, number: int, at: int) -> None:
        if number > MAX_ALTERNATIVES:
            raise self._error(
                f"from here on the rule has more than {MAX_ALTERNATIVES} alternatives: use several rules", at
            )

    def _condition(self) -> list[list[Array]]:
        if self.token.at not in self.conditions:
            return [self._comparison()]
        self._take("(")
        inside = self._any()
        if not self._take(")"):
            raise self._unexpected("'and', 'or' or a closing bracket is expected here")
        return inside

    def _comparison(self) -> list[Array]:
        left = self._sum()
        if between := self._take("between"):
            low = self._sum()
            if not self._take("and"):
                raise self._unexpected("'between' requires a second end, as in 'a between 1 and 2'")
            high = self._sum()
            return [self._difference(low, left, between.at), self._difference(left, high, between.at)]
        parts = []
        while sign := self._take(*_COMPARISONS):
            right = self._sum()
            if sign.word in "<=":
                parts.append(self._difference(left, right, sign.at))
            if sign.word in ">=":
                parts.append(self._difference(right, left, sign.at))
            left = right
        if not parts:
            raise self._unexpected("a comparison by <, <=, >, >=, = or 'between' is missing here")
        return parts

    def _difference(self, small: Array, large: Array, at: int) -> Array:
        """Return the sum that is at most zero where ``small <= large``."""
        difference = self._finite(small - large, at)
        if _is_number(difference):
            raise self._error("this comparison depends on no column: remove it", at)
        return difference

    # Sums

    def _sum(self) -> Array:
        total = self._term()
        while sign := self._take("+", "-"):
            term = self._term()
            total = self._finite(total + term if sign.word == "+" else total - term, sign.at)
        return total

    def _term(self) -> Array:
        term = self._factor()
        while sign := self._take("*", "/"):
            at = self.token.at
            factor = self._factor()
            if sign.word == "/":
                if not _is_number(factor):
                    raise self._error("a rule is linear in the columns: divide by numbers only", at)
                if factor[-1] == 0:
                    raise self._error("this divisor is zero", at)
                term = term / factor[-1]
            elif _is_number(factor):
                term = term * factor[-1]
            elif _is_number(term):
                term = term[-1] * factor
            else:
                raise self._error(
                    "a rule is linear in the columns: add a column that contains the product", sign.at
                )
            self._finite(term, sign.at)
        return term

    def _factor(self) -> Array:
        negative = False
        while sign := self._take("+", "-"):
            negative ^= sign.word == "-"
        factor = self._operand()
        return -factor if negative else factor

    def _operand(self) -> Array:
        token = self.token
        if token.at in self.conditions:
            raise self._error("a number or a column is expected here, not a condition", token.at)
        if self._take("("):
            inside = self._sum()
            if not self._take(")"):
                raise self._unexpected("a closing bracket, or a sign such as +, is expected here")
            return inside
        if token.kind in ("sign", "end"):
            raise self._unexpected("a number or a column is missing here")
        operand = np.zeros(len(self.columns) + 1)
        if token.kind == "number":
            operand[-1] = float(token.word)
        else:
            operand[self._column(token)] = 1.0
        self.position += 1
        return self._finite(operand, token.at)

    def _column(self, token: _Token) -> int:
        number = self.columns.count(token.word)
        if number > 1:
            raise self._error(f"{number} columns are named {token.word!r}: rename them in the data", token.at)
        if number == 0:
            raise self._unknown_column()
        return self.columns.index(token.word)

    def _finite(self, value: Array, at: int) -> Array:
        if not np.isfinite(value).all():
            raise self._error("this number is too large", at)
        return value

    # Errors

    def _unexpected(self, reason: str) -> BadRule:
        """Return the error of the next token, for this reason unless a more specific reason applies."""
        kind, word, at = self.token
        if kind in ("sign", "name"):
            if column := self._unquoted_column():
                reason = f"the column `{column}` must be in backticks"
            elif word.lower() in _REFUSED:
                reason = _REFUSED[word.lower()]
            elif word[0] in "'\"":
                reason = "a rule compares numbers, not texts; write column names in backticks"
            elif re.match(r"\.?[0-9]", word):
                reason = f"{_quote(word)} is not a number (write a product as 2 * a)"
            elif kind == "sign" and word not in _SIGNS:
                reason = f"{word!r} cannot be used outside backticks"
        return self._error(reason, at)

    def _unknown_column(self) -> BadRule:
        """Return the error of the next token, an unknown name."""
        name = self.token.word
        following = self.tokens[self.position + 1]
        if (following.kind, following.word) == ("sign", "("):
            return self._unexpected(
                f"functions such as {_quote(name)} cannot be used: add a column with the values"
            )
        if (meant := closest(name, self.columns)) is not None:
            hint = f"did you mean {_spelled(meant)}?"
        else:
            listed = [*map(_spelled, self.columns[:10]), *["…"] * (len(self.columns) > 10)]
            hint = f"the columns are {', '.join(listed)}"
        return self._unexpected(f"there is no column {_quote(name)} ({hint})")

    def _unquoted_column(self) -> str:
        """Return the column that is written here without its backticks, or an empty text."""
        _, word, at = self.token
        found = [
            c
            for c in self.columns
            if len(c) >= len(word) and self.text.startswith(c, at) and _spelled(c) != c
        ]
        return max(found, key=len, default="")

    def _error(self, what: str, at: int) -> BadRule:
        """Return the error with the line of the text and a caret under the position."""
        before = _printable(self.text[:at].rpartition("\n")[2])
        after = _printable(self.text[at:].partition("\n")[0])
        # A long line is cut on both sides of the position.
        before = before if len(before) <= 60 else "…" + before[-60:]
        after = after if len(after) <= 60 else after[:60] + "…"
        return BadRule(f"{_printable(what)}:\n  {before}{after}\n  {' ' * _width(before)}^")


def _is_number(value: Array) -> bool:
    return not value[:-1].any()


def _spelled(column: str) -> str:
    """Return the name of a column as it is written in a rule."""
    plain = re.fullmatch(_NAME, column, re.VERBOSE) and column.lower() not in _WORDS
    return column if plain else f"`{column}`"


def _quote(name: str) -> str:
    return repr(name if len(name) <= 60 else name[:60] + "…")


def _printable(line: str) -> str:
    """Replace every invisible character of a line by a visible character."""
    visible = []
    for c in line:
        if not c.isprintable():
            c = " " if c.isspace() else "\ufffd"
        visible.append(c)
    return "".join(visible)


def _width(line: str) -> int:
    """Count the places that a line takes on a screen."""
    marks = sum(category(c) in ("Mn", "Me") for c in line)
    wide = sum(east_asian_width(c) in "WF" and category(c) not in ("Mn", "Me") for c in line)
    return len(line) - marks + wide
