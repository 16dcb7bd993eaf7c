"""The words and signs of a rule, and messages that point at a place of its text."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple
from unicodedata import category, east_asian_width, normalize

from ...errors import BadRule

MAX_DEPTH = 50
MAX_LENGTH = 200_000

# A name has ASCII letters, digits and underscores, and beyond ASCII all characters except blanks and these
# signs: \w lacks the vowel signs of scripts. One class of characters keeps the search linear.
NAME = r"(?![0-9]) [^\x00-/:-@\[-^`{-\x7f\s≤≥≠−]+"
_NUMBER = r"(?: [0-9]+ (?:_[0-9]+)* (?:\.[0-9]*)? | \.[0-9]+ ) (?: [eE][+-]?[0-9]+ )?"
_TOKEN = re.compile(
    rf"""\s*(?:
        (?P<percent> {_NUMBER} \ ?% )
      | (?P<number> {_NUMBER} (?![\w.]) )
      | (?P<name> {NAME} )
      | ` (?P<quoted> [^`]* ) `
      | (?P<text> '(?:[^']|'')*' | "(?:[^"]|"")*" )  # a doubled quote is a quote
      | (?P<sign> [<>=!:]= | <> | => | =< | \*\* | // | && | \|\|
                | \.?[0-9][\w.]* | '[^']* | "[^"]* | . )  # rejected by the parser
    )""",
    re.VERBOSE | re.DOTALL,
)
WORDS = ("and", "or", "between", "not")
COMPARISONS = ("<=", ">=", "<", ">", "=", "!=")
# Signs of conditions that are made of words.
MISSING = ("is missing", "is not missing")
SIGNS = (*COMPARISONS, *"+-*/()", "**", *WORDS)
_SAME = {"≤": "<=", "≥": ">=", "==": "=", "−": "-", "≠": "!=", "<>": "!="}
# Words for comparisons, the longest first. "is" may precede each, and "between".
_THAN = {
    **dict.fromkeys(("more", "greater", "higher", "larger"), ">"),
    **dict.fromkeys(("less", "fewer", "lower", "smaller"), "<"),
}
_PHRASES: dict[tuple[str, ...], str] = {
    **{(word, "than", "or", "equal", "to"): f"{sign}=" for word, sign in _THAN.items()},
    **{(word, "than"): sign for word, sign in _THAN.items()},
    ("at", "least"): ">=",
    ("above",): ">",
    ("over",): ">",
    ("at", "most"): "<=",
    ("below",): "<",
    ("under",): "<",
    ("equal", "to"): "=",
    ("equals",): "=",
}


class Token(NamedTuple):
    """A word, number or sign, and its position in the text."""

    kind: str
    word: str
    at: int


class Text:
    """The text of a rule in its normal form, with its tokens and with messages about it."""

    def __init__(self, text: str, columns: Sequence[str]):
        if len(text) > MAX_LENGTH:
            self.text = text
            raise self.error(f"a rule has at most {MAX_LENGTH} characters: use several rules", MAX_LENGTH)
        # Accented letters have several spellings in Unicode.
        self.text = normalize("NFC", text).rstrip()
        self.tokens = self._tokens(columns)
        self.conditions = self._brackets_around_conditions()

    def error(self, what: str, at: int) -> BadRule:
        """Return the error with the line of the text and a caret under the position."""
        # A long line is cut on both sides of the position.
        before = self.text[max(at - 1000, 0) : at].rpartition("\n")[2]
        after = self.text[at : at + 1000].partition("\n")[0]
        before = _printable(before if len(before) <= 60 else "…" + before[-60:])
        after = _printable(after if len(after) <= 60 else after[:60] + "…")
        return BadRule(f"{_printable(what)}:\n  {before}{after}\n  {' ' * _width(before)}^")

    def _tokens(self, columns: Sequence[str]) -> list[Token]:
        tokens = []
        for match in _TOKEN.finditer(self.text):
            kind = str(match.lastgroup)
            word = match[kind]
            at = match.start(kind)
            if kind == "name" and word.lower() in WORDS:
                kind = "sign"
                word = word.lower()
            elif kind == "sign":
                word = _SAME.get(word, word)
            elif kind == "quoted":
                at -= 1  # the caret goes under the backtick
            tokens.append(Token(kind, word, at))
        return [*_with_signs_for_words(tokens, columns), Token("end", "", len(self.text))]

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
                    raise self.error(
                        f"brackets can be nested at most {MAX_DEPTH} deep: simplify the rule", at
                    )
            elif word == ")":
                if not opened:
                    raise self.error("this bracket has no opening bracket: add '(' or remove it", at)
                opened.pop()
            elif word in (*COMPARISONS, *WORDS, *MISSING, "in"):
                found.update(opened)
        if opened:
            raise self.error("this bracket is not closed: add ')'", opened[-1])
        return found


def _with_signs_for_words(tokens: list[Token], columns: Sequence[str]) -> list[Token]:
    """Replace words such as ``at least`` by signs, unless a word is part of a column's name."""
    names = {word for column in columns for word in re.findall(r"\w+", column.lower())}
    phrases = {words: sign for words, sign in _PHRASES.items() if names.isdisjoint(words)}
    lower = ["" if token.kind in ("quoted", "text") else token.word.lower() for token in tokens]
    found: list[Token] = []
    i = 0
    while i < len(tokens):
        begin = i + (lower[i] == "is" and "is" not in names)
        words = next((w for w in phrases if tuple(lower[begin : begin + len(w)]) == w), ())
        missing = next(
            (w for w in MISSING if lower[i] == "is" and lower[i : i + w.count(" ") + 1] == w.split()), ""
        )
        if missing:
            found.append(Token("sign", missing, tokens[i].at))
            i += missing.count(" ") + 1
        elif words:
            found.append(Token("sign", phrases[words], tokens[i].at))
            i = begin + len(words)
        elif lower[i] == "in" and lower[i + 1 : i + 2] in (["("], ["["]):
            found.append(Token("sign", "in", tokens[i].at))
            i += 1
        else:
            i += begin > i and lower[begin : begin + 1] == ["between"]
            found.append(tokens[i])
            i += 1
    return found


def spelled(column: str) -> str:
    """Return the name of a column as it is written in a rule."""
    plain = re.fullmatch(NAME, column, re.VERBOSE) and column.lower() not in WORDS
    return column if plain else f"`{column}`"


def written(value: object) -> str:
    """Return a value of a column as it is written in a rule."""
    if not isinstance(value, str):
        return repr(value)
    mark = '"' if "'" in value and '"' not in value else "'"
    return mark + value.replace(mark, 2 * mark) + mark


def quote(name: str) -> str:
    """Return a name in quotes, shortened."""
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
