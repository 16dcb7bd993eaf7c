"""Rules in words, "glucose >= 126 and bmi >= 30", as systems of linear inequalities.

The grammar, one method of the reader per line::

    any         all or all or ...
    all         condition and condition and ...
    condition   (any) | comparison
    comparison  sum < sum <= ... | sum between sum and sum; "at least" and the like are signs, too
    sum         term + term - ...
    term        factor * factor / ...
    factor      -factor | (sum) | number | column

A sum is held as one vector, the coefficients of the columns and then the constant; a comparison becomes
sums that are at most zero. Nothing in a text is ever evaluated as code.
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

# Beyond ASCII all but our own signs may be part of a name: \w lacks the vowel signs of many scripts.
_NAME = r"(?![0-9]) (?: \w | [^\x00-\x7f\s≤≥≠−] )+"
_TOKEN = re.compile(
    rf"""\s*(?:
        (?P<number> (?: [0-9]+ (?:_[0-9]+)* (?:\.[0-9]*)? | \.[0-9]+ ) (?: [eE][+-]?[0-9]+ )? (?![\w.]) )
      | (?P<name> {_NAME} )
      | ` (?P<quoted> [^`]* ) `
      | (?P<sign> [<>=!:]= | <> | => | =< | \*\* | // | && | \|\|
                | \.?[0-9][\w.]* | '[^']*'? | "[^"]*"? | . )  # whatever it is, for the reader to refuse
    )""",
    re.VERBOSE | re.DOTALL,
)
_WORDS = ("and", "or", "between")
_COMPARISONS = ("<", ">", "=")
_SIGNS = (*_COMPARISONS, *"+-*/()", *_WORDS)
# A strict inequality and its closure are the same rule.
_SAME = {"<=": "<", "≤": "<", ">=": ">", "≥": ">", "==": "=", "−": "-"}
# Words for them; the longer ones first. "is" may stand before each, and before "between".
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

_CLOSED = "'not equal' cannot be used: a rule describes a closed region"
_POWER = "a rule is linear in the columns: add a column that holds the power"
_REFUSED = {
    "!=": _CLOSED,
    "≠": _CLOSED,
    "<>": _CLOSED,
    "not": "'not' cannot be used: turn the comparison round, 'a < 1' instead of 'not a >= 1'",
    "in": "'in' cannot be used: write 'a = 1 or a = 2', or 'a between 1 and 2'",
    "is": "'is' cannot be used: write '=', or 'is at least', 'is below' and the like",
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
    ",": "a comma cannot be used: numbers have a decimal point, and 'and' or 'or' join comparisons",
    ";": "a semicolon cannot be used: 'and' or 'or' join comparisons",
    "`": "this backtick is never closed",
}


@dataclass(frozen=True, eq=False)
class Inequalities:
    """``B x <= d``: one alternative of a rule."""

    B: Array
    d: Array


def parse_rule(text: str, columns: Sequence[str]) -> list[Inequalities]:
    """The linear inequalities a rule is made of.

    Parameters
    ----------
    text : str
        Comparisons of sums and multiples of columns by ``<``, ``<=``, ``>``, ``>=``, ``=`` (also ``≤``,
        ``≥``, ``==``; ``at least``, ``at most``, ``above``, ``over``, ``below``, ``under``, ``more than``,
        ``less than`` and their like, unless such a word is part of a column's name), in chains if need be, or
        ``x between 1 and 2``; joined by ``and``, ``or`` and brackets. Strict comparisons mean their closure.
        A column whose name is ``and``, ``or`` or ``between``, or is more than letters, digits and
        underscores, stands in backticks.
    columns : sequence of str
        The names of the columns, in their order.

    Returns
    -------
    list of Inequalities
        The rule holds where all inequalities of at least one of them do; several come from ``or``.

    Raises
    ------
    BadRule
        If the text cannot be read; the message points at the spot.

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
        raise BadRule(f"a rule is a text such as 'age >= 50 and bmi >= 30', got {text!r}.")
    with np.errstate(all="ignore"):  # the reader itself refuses what is not finite
        alternatives = [np.array(sums) for sums in _Reader(text, columns).rule()]
    # + 0.0 turns -0.0 into 0.0.
    return [Inequalities(sums[:, :-1] + 0.0, 0.0 - sums[:, -1]) for sums in alternatives]


class _Token(NamedTuple):
    kind: str
    word: str
    at: int


class _Reader:
    """Reads a rule from left to right; a sum is the vector (coefficients, constant)."""

    def __init__(self, text: str, columns: Sequence[str]):
        # One spelling of each accented letter, whichever the text and the data use.
        self.text = normalize("NFC", text).rstrip()
        self.columns = [normalize("NFC", str(column)) for column in columns]
        self.tokens = self._tokens()
        self.conditions = self._brackets_around_conditions()
        self.position = 0

    def rule(self) -> list[list[Array]]:
        """Per alternative the sums that have to be at most zero."""
        alternatives = self._any()
        if self.token.kind != "end":
            raise self._unexpected("the comparison is complete: 'and' or 'or' was expected here")
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
        """The tokens with ``>`` in place of ``at least`` and so on, of words that are in no column's name."""
        names = {word for column in self.columns for word in re.findall(r"\w+", column.lower())}
        phrases = {words: sign for words, sign in _PHRASES.items() if names.isdisjoint(words)}
        said = ["" if token.kind == "quoted" else token.word.lower() for token in tokens]
        found: list[_Token] = []
        i = 0
        while i < len(tokens):
            begin = i + (said[i] == "is" and "is" not in names)
            words = next((w for w in phrases if tuple(said[begin : begin + len(w)]) == w), ())
            if words:
                found.append(_Token("sign", phrases[words], tokens[i].at))
                i = begin + len(words)
            else:
                i += begin > i and said[begin : begin + 1] == ["between"]
                found.append(tokens[i])
                i += 1
        return found

    def _brackets_around_conditions(self) -> set[int]:
        """Where they open. Brackets around sums look the same from outside, and are all the others."""
        found: set[int] = set()
        opened: list[int] = []
        for kind, word, at in self.tokens:
            if kind != "sign":
                continue
            if word == "(":
                opened.append(at)
                if len(opened) > MAX_DEPTH:
                    raise self._error(f"brackets may be nested {MAX_DEPTH} deep and no deeper", at)
            elif word == ")":
                if not opened:
                    raise self._error("this bracket was never opened", at)
                opened.pop()
            elif word in (*_COMPARISONS, *_WORDS):
                found.update(opened)
        if opened:
            raise self._error("this bracket is never closed", opened[-1])
        return found

    @property
    def token(self) -> _Token:
        """The next token."""
        return self.tokens[self.position]

    def _take(self, *words: str) -> _Token | None:
        """The next token if it is one of these signs; the one after it is then the next."""
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
            raise self._error(f"from here on the rule has more than {MAX_ALTERNATIVES} alternatives", at)

    def _condition(self) -> list[list[Array]]:
        if self.token.at not in self.conditions:
            return [self._comparison()]
        self._take("(")
        inside = self._any()
        if not self._take(")"):
            raise self._unexpected("'and', 'or' or a closing bracket was expected here")
        return inside

    def _comparison(self) -> list[Array]:
        left = self._sum()
        if between := self._take("between"):
            low = self._sum()
            if not self._take("and"):
                raise self._unexpected("'between' lacks its second end, as in 'a between 1 and 2'")
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
        """What is at most zero where ``small <= large``."""
        difference = self._finite(small - large, at)
        if _is_number(difference):
            raise self._error("this comparison depends on no column", at)
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
                    raise self._error("a rule is linear in the columns: none can be a divisor", at)
                if factor[-1] == 0:
                    raise self._error("this divides by zero", at)
                term = term / factor[-1]
            elif _is_number(factor):
                term = term * factor[-1]
            elif _is_number(term):
                term = term[-1] * factor
            else:
                raise self._error(
                    "a rule is linear in the columns: they cannot be multiplied together", sign.at
                )
            self._finite(term, sign.at)
        return term

    def _factor(self) -> Array:
        negative = False
        while sign := self._take("+", "-"):  # a loop: there may be any number of them
            negative ^= sign.word == "-"
        factor = self._operand()
        return -factor if negative else factor

    def _operand(self) -> Array:
        token = self.token
        if token.at in self.conditions:
            raise self._error("a number or a column was expected here, not a condition", token.at)
        if self._take("("):
            inside = self._sum()
            if not self._take(")"):
                raise self._unexpected("a closing bracket, or a sign such as +, was expected here")
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
            raise self._error(f"{number} columns are named {token.word!r}", token.at)
        if number == 0:
            raise self._unknown_column()
        return self.columns.index(token.word)

    def _finite(self, value: Array, at: int) -> Array:
        if not np.isfinite(value).all():
            raise self._error("this number is too large", at)
        return value

    # Errors

    def _unexpected(self, reason: str) -> BadRule:
        """The error of the next token, for this reason unless there is a more telling one."""
        kind, word, at = self.token
        if kind in ("sign", "name"):
            if column := self._unquoted_column():
                reason = f"the column `{column}` has to stand in backticks"
            elif word.lower() in _REFUSED:
                reason = _REFUSED[word.lower()]
            elif word[0] in "'\"":
                reason = "a rule compares numbers, not texts, and column names stand in backticks"
            elif re.match(r"\.?[0-9]", word):
                reason = f"{_quote(word)} is no number (a product is written 2 * a)"
            elif kind == "sign" and word not in _SIGNS:
                reason = f"{word!r} cannot be used outside backticks"
        return self._error(reason, at)

    def _unknown_column(self) -> BadRule:
        """The error of the next token, a name that is no column's."""
        name = self.token.word
        following = self.tokens[self.position + 1]
        if (following.kind, following.word) == ("sign", "("):
            return self._unexpected(f"functions such as {_quote(name)} cannot be used: add a column for it")
        if (meant := closest(name, self.columns)) is not None:
            hint = f"did you mean {_spelled(meant)}?"
        else:
            listed = [*map(_spelled, self.columns[:10]), *["…"] * (len(self.columns) > 10)]
            hint = f"the columns are {', '.join(listed)}"
        return self._unexpected(f"there is no column {_quote(name)} ({hint})")

    def _unquoted_column(self) -> str:
        """The column that is written here without the backticks it needs, or an empty text."""
        _, word, at = self.token
        found = [
            c
            for c in self.columns
            if len(c) >= len(word) and self.text.startswith(c, at) and _spelled(c) != c
        ]
        return max(found, key=len, default="")

    def _error(self, what: str, at: int) -> BadRule:
        """``what``, the line concerned and a caret under the spot."""
        before = _printable(self.text[:at].rpartition("\n")[2])
        after = _printable(self.text[at:].partition("\n")[0])
        # Of a long line the part around the spot.
        before = before if len(before) <= 60 else "…" + before[-60:]
        after = after if len(after) <= 60 else after[:60] + "…"
        return BadRule(f"{_printable(what)}:\n  {before}{after}\n  {' ' * _width(before)}^")


def _is_number(value: Array) -> bool:
    return not value[:-1].any()


def _spelled(column: str) -> str:
    """A column's name as a rule has to write it."""
    plain = re.fullmatch(_NAME, column, re.VERBOSE) and column.lower() not in _WORDS
    return column if plain else f"`{column}`"


def _quote(name: str) -> str:
    return repr(name if len(name) <= 60 else name[:60] + "…")


def _printable(line: str) -> str:
    """The line with one visible character for each of its own."""
    return "".join(c if c.isprintable() else " " if c.isspace() else "\ufffd" for c in line)


def _width(line: str) -> int:
    """How many places the line takes on a screen."""
    return sum(0 if category(c) in ("Mn", "Me") else 2 if east_asian_width(c) in "WF" else 1 for c in line)
