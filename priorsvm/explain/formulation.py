r"""The solved problem, block by block, in LaTeX and in plain text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from textwrap import wrap
from typing import Any

import numpy as np

from .._utils.checks import is_number
from ..errors import InvalidInput, InvalidType
from ..kernels.base import Kernel
from ..kernels.centred import Centred
from ..knowledge.base import Formulas
from ..knowledge.by_class import OfClasses
from ..prior import Member
from ..solve.model import BinaryModel
from .plain_text import plain_text
from .words import block_uses, in_words, strength

# A longer formula does not widen the column of formulas, and in LaTeX it takes several lines.
WIDTH = 70

# Words inside a formula.
WORDS = r"\\(?:text|mathrm)\{[^{}]*\}"

# Symbols of every model, which are not letters of a block.
TAKEN = frozenset("Cfwcbxk") | {"y_i", "x_i", "x_j", "z_0", r"\rho_i", r"\xi_i", r"\varphi"}

ESCAPED = {letter: f"\\{letter}" for letter in "_&%#${} "} | {
    "\\": r"\backslash ",
    "~": r"\sim ",
    "^": r"\hat{}",
}


@dataclass(frozen=True)
class Formulation:
    r"""Problem of a fitted model in LaTeX, by ``str()``, and in plain text, by ``text()``.

    A notebook shows the rendered LaTeX, and a terminal shows plain text.

    Attributes
    ----------
    objective : list of (str, str)
        Label and LaTeX of each term, ``svm.regulariser`` and ``svm.loss`` first.
    constraints : list of (str, str, int)
        Label, LaTeX and number of rows of each constraint.
    function : list of str
        LaTeX of the definition of f.
    values : list of (str, float)
        Symbol and value of C and of each weight of a penalty.
    letters : list of (str, str)
        Symbol and meaning, in LaTeX, of each other symbol in the formulas.
    blocks : list of (str, str)
        Name of each block, and what it states, as text.

    See Also
    --------
    PriorSVC.formulation : Return the formulation of a fitted model.

    Examples
    --------
    >>> from priorsvm import PriorSVC, MonotonicityHint
    >>> X, y = [[0.0, 1.0], [1.0, 0.0], [1.0, 2.0], [2.0, 1.0]], [0, 0, 1, 1]
    >>> problem = PriorSVC(MonotonicityHint({0: 1}, mu=5.0), C=10.0).fit(X, y).formulation()
    >>> problem
    min   ½ ‖w‖² + C Σᵢ₌₁⁴ ξᵢ                                       J_SVM
        + μ_monotonicity_hint 1/M Σₘ tₘ²                            J_PK: monotonicity_hint.mu
    s.t.  yᵢ f(xᵢ) ≥ ρᵢ - ξᵢ, ξᵢ ≥ 0 for all rows, added ones too   c_SVM: svm.margin, 4 rows
          f(xₘ) - f(x'ₘ) ≤ tₘ, tₘ ≥ 0                               c_PK: monotonicity_hint.violation, ...
    with  f(x) = w' x + b, C = 10, μ_monotonicity_hint = 5
    where yᵢ: the class of row i, +1 for 1 and -1 for 0
          ρᵢ: the margin of row i, 1 by default
          ξᵢ: the slack of row i
          xₘ: a drawn point, and x'ₘ a point with a higher score
          ...
    >>> print(problem)
    \begin{aligned}
    \min\quad & \underbrace{\tfrac12 \|w\|^2 + C \sum_{i=1}^{4} \xi_i}_{J_{SVM}} \\
    ...
    \end{aligned}
    """

    objective: list[tuple[str, str]]
    constraints: list[tuple[str, str, int]]
    function: list[str]
    values: list[tuple[str, float]]
    letters: list[tuple[str, str]] = field(default_factory=list)
    blocks: list[tuple[str, str]] = field(default_factory=list)

    def __str__(self) -> str:
        terms = [_braced(latex, mark) for mark, latex in self._terms()]
        lines = [r"\min\quad & " + " \\\\\n& + ".join(terms)]
        for k, (mark, latex) in enumerate(self._rows()):
            lines.append((r"\text{s.t.}\quad " if k == 0 else "") + f"& {_braced(latex, mark)}")
        numbers = [f"{symbol} = {_figure(value)}" for symbol, value in self.values]
        for k, line in enumerate(_filled([*self.function, *numbers])):
            lines.append((r"\text{with}\quad " if k == 0 else "") + f"& {line}")
        for k, (symbol, meaning) in enumerate(self.letters):
            lines.append((r"\text{where}\quad " if k == 0 else "") + rf"& {symbol}{{:}}\; {meaning}")
        blocks = [line for name, words in self.blocks for line in wrap(f"{name}: {words}", WIDTH)]
        for k, line in enumerate(blocks):
            lines.append((r"\text{blocks}\quad " if k == 0 else "") + f"& {_text(line)}")
        return "\\begin{aligned}\n" + " \\\\\n".join(lines) + "\n\\end{aligned}"

    def text(self) -> str:
        """Return the problem in plain text.

        Returns
        -------
        str
            One line for each term and constraint, with its label.
        """
        terms = [(mark, plain_text(latex)) for mark, latex in self._terms()]
        rows = [(mark, plain_text(latex)) for mark, latex in self._rows()]
        cells = [("    + " + formula, mark) for mark, formula in terms]
        cells += [("      " + formula, mark) for mark, formula in rows]
        cells[0] = ("min   " + terms[0][1], terms[0][0])
        cells[len(terms)] = ("s.t.  " + rows[0][1], rows[0][0])
        width = min(max(len(formula) for formula, _ in cells), WIDTH)
        numbers = [f"{plain_text(symbol)} = {plain_text(_figure(value))}" for symbol, value in self.values]
        lines = [f"{formula:<{width}}   {mark}" for formula, mark in cells]
        lines.append(f"with  {', '.join([*map(plain_text, self.function), *numbers])}")
        for k, (symbol, meaning) in enumerate(self.letters):
            lines.append(f"{'where' if k == 0 else '     '} {plain_text(symbol)}: {plain_text(meaning)}")
        for k, (name, words) in enumerate(self.blocks):
            lines.append(f"{'blocks' if k == 0 else '      '} {name}: {words}")
        return "\n".join(lines)

    __repr__ = text

    def _repr_latex_(self) -> str:
        return f"$$\n{self}\n$$"

    def _terms(self) -> list[tuple[str, str]]:
        """Return the mark and LaTeX of J_SVM as one term, then of each term of J_PK."""
        model = " + ".join(latex for label, latex in self.objective if label.startswith("svm."))
        penalties = [
            (f"J_PK: {label}", latex) for label, latex in self.objective if not label.startswith("svm.")
        ]
        return [("J_SVM", model), *penalties]

    def _rows(self) -> list[tuple[str, str]]:
        """Return the mark and LaTeX of each constraint."""
        return [
            (f"c_{_part_of(label)}: {label}, {rows} row" + ("s" if rows != 1 else ""), latex)
            for label, latex, rows in self.constraints
        ]


def _figure(value: float) -> str:
    """Return a number in LaTeX."""
    return r"\infty" if value == np.inf else f"{value:g}"


def _part_of(label: str) -> str:
    return "SVM" if label.startswith("svm.") else "PK"


def _braced(latex: str, mark: str) -> str:
    r"""Return a formula with its mark below it; beside it, the mark would be cut off on a page."""
    lines = _filled(latex.split(r",\; "))
    if len(lines) > 1:
        latex = r"\begin{aligned} & " + r" \\ & ".join(lines) + r" \end{aligned}"
    return rf"\underbrace{{{latex}}}_{{{_marked(mark)}}}"


def _filled(parts: Iterable[str]) -> list[str]:
    r"""Join parts by ``,\;`` into lines of limited length."""
    lines: list[str] = []
    for part in parts:
        if lines and len(plain_text(lines[-1])) + len(plain_text(part)) <= WIDTH:
            lines[-1] += rf",\; {part}"
        else:
            lines = [*lines[:-1], *(f"{line}," for line in lines[-1:]), part]
    return lines


def _marked(mark: str) -> str:
    r"""Convert a mark such as ``J_PK: rule.mu`` to LaTeX."""
    symbol, _, words = mark.partition(": ")
    letter, _, index = symbol.partition("_")
    return rf"{letter}_{{{index}}}" + (rf"{{:}}\;{_text(words)}" if words else "")


def formulation(binaries: Sequence[BinaryModel]) -> Formulation:
    """Return the formulation of all binary models, which differ in signs and in constraints of blocks."""
    objective: dict[str, str] = {}
    constraints: dict[str, tuple[str, int]] = {}
    values = {"C": binaries[0].spec.C}
    members = list({m.name: m for binary in binaries for m in binary.problem.members}.values())
    symbols = _number_symbols(members)
    for binary in binaries:
        _describe(binary, objective, constraints, values, symbols)
    named = {label.partition(".")[0] for label in (*objective, *constraints)}
    for member in members:
        if member.name not in named:
            objective[member.name] = r"0 \text{ (no term)}"
    rows = [(label, *found) for label, found in constraints.items()]
    written = [*objective.items(), *((label, latex) for label, latex, _ in rows)]
    formulas = {
        name: [latex for label, latex in written if label.partition(".")[0] == name]
        for name in ["svm", *(member.name for member in members)]
    }
    letters = {"svm": _model_letters(binaries[0])}
    for name, block, _ in members:
        meanings = _written(name, block, "letters").items()
        letters[name] = {_replaced(a, symbols[name]): _replaced(b, symbols[name]) for a, b in meanings}
    return Formulation(
        list(objective.items()),
        rows,
        _function(binaries[0]),
        list(values.items()),
        _meanings(formulas, letters),
        _in_words(binaries),
    )


def _in_words(binaries: Sequence[BinaryModel]) -> list[tuple[str, str]]:
    """Return the name of each block, what it states, and how strongly."""
    found = []
    for member, sample in block_uses((binary.problem.members, binary.training) for binary in binaries):
        how = strength(member, binaries[0].spec.linear)
        found.append((member.name, in_words(member.block, sample) + (f" ({'; '.join(how)})" if how else "")))
    return found


def _function(binary: BinaryModel) -> list[str]:
    """Return the definition of f, in parts that can be separate lines."""
    spec = binary.spec
    letters = (r"w", r"x") if spec.linear else (r"c", r"\varphi(x)")
    parts = [binary.problem.function_latex.format(*letters)]
    if spec.scale is not None:
        parts.append(r"x \text{ scaled column by column}")
    if not spec.linear:
        if spec.norm == "l1":
            parts.append(r"\varphi_j(x) = k(x, x_j)")
        else:
            equal = "=" if spec.n_centres is None else r"\approx"
            parts.append(rf"\varphi(x)^\top \varphi(z) {equal} {_product(spec.kernel)}")
        base = spec.kernel.base if isinstance(spec.kernel, Centred) else spec.kernel
        parts += [
            rf"{'k = ' if k == 0 else ''}{_text(line)}"
            for k, line in enumerate(wrap(_rounded(repr(base)), WIDTH))
        ]
        if isinstance(spec.kernel, Centred):
            parts.append(rf"z_0 = {_text(spec.kernel.shown_point())}")
    return parts


def _rounded(text: str) -> str:
    """Return a text with decimal numbers of at most six digits."""
    return re.sub(r"\d+\.\d{6,}(e[+-]?\d+)?", lambda number: f"{float(number[0]):.6g}", text)


def _product(kernel: Kernel | None) -> str:
    """Return the inner product of feature vectors, in terms of k."""
    if isinstance(kernel, Centred):
        return "k(x, z) - k(x, z_0) - k(z_0, z) + k(z_0, z_0)"
    return "k(x, z)"


def _model_letters(binary: BinaryModel) -> dict[str, str]:
    """Return the meanings of the symbols of the SVM."""
    training = binary.training
    signs = _text(", +1 for the class of the model and -1 for all other classes")
    if training.positive not in training.classes.tolist():  # one model of all classes
        signs = ""
    elif training.against is not None:
        signs = _text(", +1 for the first and -1 for the second class of the model")
    elif training.negative is not None:
        signs = _text(f", +1 for {training.positive!r} and -1 for {training.negative!r}")
    return {
        "y_i": rf"\text{{the class of row }} i{signs}",
        r"\rho_i": r"\text{the margin of row } i, \text{ 1 by default}",
        r"\xi_i": r"\text{the slack of row } i",
    }


def _meanings(
    formulas: Mapping[str, Sequence[str]], letters: Mapping[str, Mapping[str, str]]
) -> list[tuple[str, str]]:
    """Return the symbols in the formulas, with the block's name if a symbol has two meanings."""
    found: dict[tuple[str, str], str] = {}
    for name, meanings in letters.items():
        for symbol, meaning in meanings.items():
            if any(contains_symbol(symbol, formula) for formula in formulas[name]):
                found.setdefault((symbol, meaning), name)
    symbols = [symbol for symbol, _ in found]
    return [
        (symbol, meaning + (rf"\text{{ (}}{_text(name)}\text{{)}}" if symbols.count(symbol) > 1 else ""))
        for (symbol, meaning), name in found.items()
    ]


def contains_symbol(symbol: str, formula: str) -> bool:
    """Return whether a formula contains a symbol with its index, outside of words."""
    if re.search(WORDS, symbol):  # a letter with the name of its block
        return symbol in formula
    return re.search(_pattern(symbol), re.sub(WORDS, " ", formula)) is not None


def _replaced(formula: str, symbols: Mapping[str, str]) -> str:
    """Return a formula with the symbols of letters in place of the letters, outside of words."""
    if not symbols:
        return formula
    pattern = "|".join([WORDS, *map(_pattern, symbols)])
    return re.sub(pattern, lambda found: symbols.get(found[0], found[0]), formula)


def _pattern(symbol: str) -> str:
    end = "(?![A-Za-z_])" if symbol[-1].isalpha() else ""
    return rf"(?<![A-Za-z\\]){re.escape(symbol)}{end}"


def _number_symbols(members: Sequence[Member]) -> dict[str, dict[str, str]]:
    """Return, by block, the symbol of each letter with a number.

    The symbol is the letter, with the name of the block if the model or another block has the letter too.
    """
    letters = {
        name: {*_written(name, block, "letters"), *_written(name, block, "numbers")}
        for name, block, _ in members
    }
    found = {}
    for name, block, _ in members:
        taken = TAKEN.union(*(letters[other] for other in letters if other != name))
        found[name] = {
            letter: rf"{letter}_{{{_text(name)}}}" if letter in taken else letter
            for letter in _written(name, block, "numbers")
        }
    return found


def _describe(
    binary: BinaryModel,
    objective: dict[str, str],
    constraints: dict[str, tuple[str, int]],
    values: dict[str, float],
    symbols: Mapping[str, Mapping[str, str]],
) -> None:
    """Add the terms and constraints of one binary model that are not there yet."""
    spec = binary.spec
    compiled = binary.problem
    c = "w" if spec.linear else "c"
    power = "" if spec.loss == "hinge" else "^2"
    objective.setdefault("svm.regulariser", rf"\|{c}\|_1" if spec.norm == "l1" else rf"\tfrac12 \|{c}\|^2")
    if not spec.hard:
        totals = binary.training.totals
        number = binary.training.n_train if totals is None else totals.n_rows
        rows = "i" if binary.training.against is not None else rf"i=1}}^{{{number}"
        objective.setdefault("svm.loss", rf"C \sum_{{{rows}}} \xi_i{power}")
    constraints.setdefault("svm.margin", (compiled.margin_latex, len(compiled.active)))
    for name, block, weight in compiled.members:
        block_constraints = {
            label.partition(".")[2]: c
            for label, c in compiled.constraints.items()
            if label.startswith(f"{name}.")
        }
        terms = [term.name for term in compiled.terms if term.block == name]
        prepared = ["sample"] if name in compiled.sample.shares and not spec.hard else []
        given = _formulas(name, block, [*prepared, *terms, *block_constraints])
        formulas = {term: _replaced(latex, symbols[name]) for term, latex in given.items()}
        factor = "" if weight == 1 else f"{weight:g} \\cdot "
        if isinstance(block, OfClasses) and block.chosen_classes is not None:
            only = rf"\;({_text(f'rows{block.which_rows()}')})"
            formulas = {term: latex + only for term, latex in formulas.items()}
        unnamed = rf"J_{{{_text(name)}}}"
        for _ in prepared:
            objective.setdefault(name, factor + formulas.get("sample", unnamed).replace("<p>", power))
        for letter, attribute in _written(name, block, "numbers").items():
            values[symbols[name][letter]] = _number(name, block, attribute)
        for term in terms:
            letter = {"mu": r"\mu", "mu_residual": r"\mu'", "gamma": r"\mu"}.get(term, _text(term))
            symbol = rf"{letter}_{{{_text(name)}}}"
            values[symbol] = float(getattr(block, term))
            objective.setdefault(f"{name}.{term}", f"{factor}{symbol}\\, {formulas.get(term, unnamed)}")
        for label, constraint in block_constraints.items():
            latex = formulas.get(label) or _unwritten(f"{name}.{label}", constraint)
            constraints.setdefault(f"{name}.{label}", (latex, _rows(constraint)))


def _formulas(name: str, block: Any, terms: Sequence[str]) -> dict[str, str]:
    """Return the formulas of a block by term; ``cone_2`` is one of several stacks of ``cone``."""
    given = _written(name, block, "latex")
    keys = {term: term if term in given else term.rpartition("_")[0] for term in terms}
    missing = [term for term, key in keys.items() if key not in given]
    unused = sorted(set(given) - set(keys.values()))
    # A block may have formulas for other kinds of models, but not if a term has no formula.
    if missing and unused:
        raise InvalidInput(
            f"block '{name}': latex has a formula for {_listed(unused)}, which is not a term, and no formula "
            f"for {_listed(missing)}. The terms are {_listed(terms)}."
        )
    return {term: given[key] for term, key in keys.items() if key in given}


def _number(name: str, block: Any, attribute: str) -> float:
    """Return the number of a symbol; raise InvalidInput if the block does not have it."""
    value = getattr(block, attribute, None)
    if not is_number(value):
        raise InvalidInput(
            f"block '{name}': formulas.numbers requires a number in {attribute!r}, got {value!r}."
        )
    return float(value)


# Part of Formulas -> what its dict contains.
_KEYS = {
    "latex": "penalty name, constraint label or 'sample' to its formula",
    "letters": "symbol to its meaning",
    "numbers": "symbol to the name of an attribute",
}


def _written(name: str, block: Any, attribute: str) -> Mapping[str, str]:
    """Return a part of the block's formulas; raise InvalidType if it is not a dict of texts."""
    if not isinstance(block.formulas, Formulas):
        raise InvalidType(
            f"block '{name}': formulas must be Formulas(latex={{...}}, letters={{...}}), got "
            f"{block.formulas!r}."
        )
    given = getattr(block.formulas, attribute)
    keys = _KEYS[attribute]
    if not isinstance(given, Mapping) or not all(
        isinstance(word, str) for pair in given.items() for word in pair
    ):
        raise InvalidType(f"block '{name}': {attribute} must be a dict of {keys}, in LaTeX, got {given!r}.")
    return given


def _listed(names: Iterable[str]) -> str:
    return ", ".join(map(repr, names))


def _unwritten(label: str, constraint: Any) -> str:
    """Return a formula for a constraint of a block that has none."""
    from cvxpy.constraints import PSD, SOC, Equality, Inequality, NonNeg, NonPos, Zero

    left = rf"c_{{{_text(label)}}}(f)"
    if isinstance(constraint, (Equality, Zero)):
        return rf"{left} = 0"
    if isinstance(constraint, (Inequality, NonNeg, NonPos)):
        return rf"{left} \le 0"
    if isinstance(constraint, PSD):
        return rf"{left} \succeq 0"
    kind = "a second-order cone" if isinstance(constraint, SOC) else "a cone"
    return rf"{left} \text{{ in {kind}}}"


def _rows(constraint: Any) -> int:
    """Return the number of scalar constraints or cones."""
    shape = getattr(constraint, "shape", None) if len(constraint.args) == 2 else None
    shape = constraint.args[0].shape if shape is None or isinstance(shape, list) else shape
    stacked = len(shape) > 2
    return int(np.prod(shape[:1] if stacked else shape, dtype=int))


def _text(words: str) -> str:
    r"""Return words in upright letters; ``\text{}`` would show backslashes in a browser."""
    return rf"\mathrm{{{''.join(ESCAPED.get(letter, letter) for letter in words)}}}"
