r"""Formulas of a fitted model as trees of MathML elements, which browsers render without a script."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from ..explain.formulation import Formulation
from ..explain.plain_text import ACCENTS, GROUP, SYMBOLS, plain_text

Node = list[Any]  # [tag, child, child, ...]; a child is a Node or a text

_WORDS = r"\\(?:text|mathrm|operatorname)" + GROUP
_TOKEN = re.compile(_WORDS + r"|\\[a-zA-Z]+|\\.|[{}_^]|\s+|\d|.", flags=re.DOTALL)
_SIZES = {"left", "right", "big", "Big", "bigg", "Bigg", "textstyle", "displaystyle", "mathbf", "mathsf"}
_SPACES = {
    "\\,": "0.17em",
    "\\;": "0.28em",
    "\\:": "0.22em",
    "\\ ": "0.3em",
    "\\quad": "1em",
    "\\qquad": "2em",
}
_OPERATORS = set("+-=<>()[]|,:;/·×→≥≤≠∈∉±∓⪰⪯∘∀∪∩⊂~")
_LARGE = {"sum": "∑", "prod": "∏"}


def lines_of(formulation: Formulation) -> list[dict[str, Any]]:
    """Return the problem as lines: role, formula as MathML and as text, and the name of the term."""
    lines = []
    for k, (label, latex) in enumerate(formulation.objective):
        lines.append(_line("min" if k == 0 else "+", latex, label))
    for k, (label, latex, _) in enumerate(formulation.constraints):
        lines.append(_line("" if k else "s.t.", latex, label))
    for k, latex in enumerate(formulation.function):
        lines.append(_line("" if k else "with", latex, ""))
    for k, (symbol, meaning) in enumerate(formulation.letters):
        lines.append(_line("" if k else "where", rf"{symbol}{{:}}\; {meaning}", ""))
    return lines


def _line(role: str, latex: str, label: str) -> dict[str, Any]:
    return {"role": role, "math": mathml(latex), "text": plain_text(latex), "label": label}


def mathml(latex: str) -> Node:
    r"""Return a formula as a tree of MathML elements; an unknown command loses its backslash.

    >>> mathml(r"\xi_i \ge 0")
    ['mrow', ['msub', ['mi', 'ξ'], ['mi', 'i']], ['mo', '≥'], ['mn', '0']]
    """
    tokens = [found[0] for found in _TOKEN.finditer(latex)]
    return ["mrow", *_merged(_Parser(tokens).row(end=None))]


class _Parser:
    """Reader of a list of tokens, from left to right."""

    def __init__(self, tokens: list[str]) -> None:
        self.tokens: Iterator[str] = iter([t for t in tokens if not t.isspace()])

    def row(self, end: str | None) -> list[Node]:
        """Return the nodes up to the token ``end``, or to the end of the formula."""
        nodes: list[Node] = []
        for token in self.tokens:
            if token == end:
                break
            if token in ("_", "^") and nodes:
                nodes.append(_with_index(nodes.pop(), token, self.node(next(self.tokens, ""))))
            elif token.removeprefix("\\") not in _SIZES:
                nodes.append(self.node(token))
        return nodes

    def argument(self) -> Node:
        return self.node(next(self.tokens, ""))

    def node(self, token: str) -> Node:
        """Return the node that begins with a token."""
        command = token[1:] if token.startswith("\\") else ""
        if token == "{":
            return ["mrow", *_merged(self.row(end="}"))]
        if command in ("frac", "tfrac"):
            return ["mfrac", self.argument(), self.argument()]
        if command == "sqrt":
            return ["msqrt", self.argument()]
        if command in ACCENTS:
            return [
                "mover",
                self.argument(),
                ["mo", {"tilde": "~", "hat": "^", "bar": "¯", "dot": "˙"}[command]],
            ]
        return _leaf(token, command)


def _leaf(token: str, command: str) -> Node:
    words = re.fullmatch(_WORDS, token, flags=re.DOTALL)
    if words:
        return ["mtext", _words(words[1])]
    if token in _SPACES:
        return ["mspace", {"width": _SPACES[token]}]
    if command in _LARGE:
        return ["mo", {"largeop": "true"}, _LARGE[command]]
    if command == "top":
        return ["mo", "⊤"]
    if token == "\\|":
        return ["mo", {"stretchy": "false"}, "‖"]
    if token == "'":
        return ["mo", "′"]
    text = SYMBOLS.get(command, command or token)
    if text.isdigit():
        return ["mn", text]
    if text in "()[]|{}":
        return ["mo", {"stretchy": "false"}, text]
    return ["mo" if text in _OPERATORS else "mi", text]


def _words(text: str) -> str:
    """Return the words inside a formula, with the spaces at their ends, which ``plain_text`` drops."""
    inner = plain_text(rf"\text{{{text}}}")
    before = " " if text.startswith(" ") else ""
    after = " " if text.endswith(" ") and inner else ""
    return f"{before}{inner}{after}"


def _with_index(base: Node, sign: str, index: Node) -> Node:
    """Return a node with an index or an exponent; the sign of a sum has them below and above."""
    inner = base[1] if base[0] in ("munder", "mover") else base
    large = inner[-1] in _LARGE.values()
    below, above, both = ("munder", "mover", "munderover") if large else ("msub", "msup", "msubsup")
    if sign == "^" and base[0] == below:
        return [both, *base[1:], index]
    if sign == "_" and base[0] == above and (large or base[0] == "msup"):
        return [both, base[1], index, base[2]]
    return [below if sign == "_" else above, base, index]


def _merged(nodes: list[Node]) -> list[Node]:
    """Return the nodes, with neighbouring digits as one number."""
    merged: list[Node] = []
    for node in nodes:
        if node[0] == "mn" and merged and merged[-1][0] == "mn":
            merged[-1] = ["mn", merged[-1][1] + node[1]]
        else:
            merged.append(node)
    return merged
