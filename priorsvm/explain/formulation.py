r"""The problem that was solved, block by block, in LaTeX and in plain text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from textwrap import wrap
from typing import Any

import numpy as np

from ..errors import InvalidInput, InvalidType
from ..solve.machine import Machine
from .plain import plain

# Longer formulas do not push the marks of all lines to the right, and in LaTeX take several lines.
WIDEST = 70

SPECIAL = {letter: f"\\{letter}" for letter in "_&%#${} "} | {
    "\\": r"\backslash ",
    "~": r"\sim ",
    "^": r"\hat{}",
}


@dataclass(frozen=True)
class Formulation:
    r"""The problem in LaTeX, by ``str()``, and in plain text, by ``text()``.

    A notebook shows it rendered, a terminal in plain text.

    Attributes
    ----------
    objective : (label, LaTeX) of every term, ``svm.regulariser`` and ``svm.loss`` first.
    constraints : (label, LaTeX, number of rows) of every constraint.
    function : what f is.
    values : (symbol, number) of C and of the penalties' weights.
    letters : (symbol, LaTeX of what it means) of all others that stand in the formulas.

    Examples
    --------
    >>> from priorsvm import PriorSVC, MonotonicityHint
    >>> X, y = [[0.0, 1.0], [1.0, 0.0], [1.0, 2.0], [2.0, 1.0]], [0, 0, 1, 1]
    >>> told = PriorSVC(MonotonicityHint({0: 1}, mu=5.0), C=10.0).fit(X, y).formulation()
    >>> told
    min   ½ ‖w‖² + C Σᵢ₌₁⁴ ξᵢ                                       J_SVM
        + μ_monotonicity_hint 1/M Σₘ tₘ²                            J_PK: monotonicity_hint.mu
    s.t.  yᵢ f(xᵢ) ≥ ρᵢ - ξᵢ, ξᵢ ≥ 0 for all rows, added ones too   c_SVM: svm.margin, 4 rows
          f(xₘ) - f(x'ₘ) ≤ tₘ, tₘ ≥ 0                               c_PK: monotonicity_hint.violation, ...
    with  f(x) = w' x + b, C = 10, μ_monotonicity_hint = 5
    where yᵢ: the class of row i, +1 for 1 and -1 for 0
          ρᵢ: the margin asked of row i, 1 unless a block says otherwise
          ξᵢ: the slack of row i
          xₘ: a drawn point, and x'ₘ one to which the score is to rise
          ...
    >>> print(told)
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

    def __str__(self) -> str:
        terms = [_braced(latex, mark) for mark, latex in self._terms()]
        lines = [r"\min\quad & " + " \\\\\n& + ".join(terms)]
        for k, (mark, latex) in enumerate(self._rows()):
            lines.append((r"\text{s.t.}\quad " if k == 0 else "") + f"& {_braced(latex, mark)}")
        numbers = [f"{symbol} = {value:g}" for symbol, value in self.values]
        for k, line in enumerate(_filled([*self.function, *numbers])):
            lines.append((r"\text{with}\quad " if k == 0 else "") + f"& {line}")
        for k, (symbol, meaning) in enumerate(self.letters):
            lines.append((r"\text{where}\quad " if k == 0 else "") + rf"& {symbol}{{:}}\; {meaning}")
        return "\\begin{aligned}\n" + " \\\\\n".join(lines) + "\n\\end{aligned}"

    def text(self) -> str:
        """The same in plain text, for a terminal."""
        terms = [(("min   ", "    + ")[k > 0], mark, latex) for k, (mark, latex) in enumerate(self._terms())]
        rows = [(("s.t.  ", "      ")[k > 0], mark, latex) for k, (mark, latex) in enumerate(self._rows())]
        cells = [(opening + plain(latex), mark) for opening, mark, latex in terms + rows]
        width = min(max(len(formula) for formula, _ in cells), WIDEST)
        numbers = [f"{plain(symbol)} = {value:g}" for symbol, value in self.values]
        lines = [f"{formula:<{width}}   {mark}" for formula, mark in cells]
        lines.append(f"with  {', '.join([*map(plain, self.function), *numbers])}")
        for k, (symbol, meaning) in enumerate(self.letters):
            lines.append(f"{'where' if k == 0 else '     '} {plain(symbol)}: {plain(meaning)}")
        return "\n".join(lines)

    __repr__ = text

    def _repr_latex_(self) -> str:
        return f"$$\n{self}\n$$"

    def _terms(self) -> list[tuple[str, str]]:
        """What is minimised, each with its mark: J_SVM as one, then J_PK by block."""
        own = " + ".join(latex for label, latex in self.objective if label.startswith("svm."))
        others = [
            (f"J_PK: {label}", latex) for label, latex in self.objective if not label.startswith("svm.")
        ]
        return [("J_SVM", own), *others]

    def _rows(self) -> list[tuple[str, str]]:
        """What it is subject to, each with its mark."""
        return [
            (f"c_{_whose(label)}: {label}, {rows} row" + ("s" if rows != 1 else ""), latex)
            for label, latex, rows in self.constraints
        ]


def _whose(label: str) -> str:
    return "SVM" if label.startswith("svm.") else "PK"


def _braced(latex: str, mark: str) -> str:
    r"""A formula with its mark below: beside it, on a page, the mark would be cut off."""
    lines = _filled(latex.split(r",\; "))
    if len(lines) > 1:
        latex = r"\begin{aligned} & " + r" \\ & ".join(lines) + r" \end{aligned}"
    return rf"\underbrace{{{latex}}}_{{{_marked(mark)}}}"


def _filled(parts: Iterable[str]) -> list[str]:
    r"""Parts with ``,\;`` between them, in lines that are not too long."""
    lines: list[str] = []
    for part in parts:
        if lines and len(plain(lines[-1])) + len(plain(part)) <= WIDEST:
            lines[-1] += rf",\; {part}"
        else:
            lines = [*lines[:-1], *(f"{line}," for line in lines[-1:]), part]
    return lines


def _marked(mark: str) -> str:
    r"""A mark such as ``J_PK: rule.mu`` in LaTeX."""
    symbol, _, words = mark.partition(": ")
    letter, _, index = symbol.partition("_")
    return rf"{letter}_{{{index}}}" + (rf"{{:}}\;{_text(words)}" if words else "")


def formulation(machines: Sequence[Machine]) -> Formulation:
    """Of all machines together: those of other classes differ in signs and in what blocks ask of them."""
    objective: dict[str, str] = {}
    constraints: dict[str, tuple[str, int]] = {}
    values = {"C": machines[0].spec.C}
    for machine in machines:
        _describe(machine, objective, constraints, values)
    members = machines[0].problem.members
    named = {label.partition(".")[0] for label in (*objective, *constraints)}
    for member in members:
        if member.name not in named:
            objective[member.name] = r"0 \text{ (it asks for nothing more)}"
    rows = [(label, *found) for label, found in constraints.items()]
    written = [*objective.items(), *((label, latex) for label, latex, _ in rows)]
    formulas = {
        name: [latex for label, latex in written if label.partition(".")[0] == name]
        for name in ["svm", *(member.name for member in members)]
    }
    letters = {"svm": _own_letters(machines[0])} | {
        m.name: _written(m.name, m.block, "letters") for m in members
    }
    return Formulation(
        list(objective.items()),
        rows,
        _function(machines[0]),
        list(values.items()),
        _meanings(formulas, letters),
    )


def _function(machine: Machine) -> list[str]:
    """What f is, in parts that may stand on lines of their own."""
    spec = machine.spec
    letters = (r"w", r"x") if spec.kernel is None else (r"c", r"\varphi(x)")
    parts = [machine.problem.function_latex.format(*letters)]
    if spec.scale is not None:
        parts.append(r"x \text{ scaled column by column}")
    if spec.kernel is not None:
        if spec.norm == "l1":
            parts.append(r"\varphi_j(x) = k(x, x_j)")
        else:
            equal = "=" if spec.n_centres is None else r"\approx"
            parts.append(rf"\varphi(x)^\top \varphi(z) {equal} k(x, z)")
        parts += [
            rf"{'k = ' if k == 0 else ''}{_text(line)}"
            for k, line in enumerate(wrap(repr(spec.kernel), WIDEST))
        ]
    return parts


def _own_letters(machine: Machine) -> dict[str, str]:
    """What the letters of the SVM itself mean."""
    training = machine.training
    classes = training.classes.tolist()
    signs = _text(", +1 for the class of the machine and -1 for all others")
    if training.positive not in classes:  # a machine of all classes
        signs = ""
    elif len(classes) == 2:
        other = next(label for label in classes if label != training.positive)
        signs = _text(f", +1 for {training.positive!r} and -1 for {other!r}")
    return {
        "y_i": rf"\text{{the class of row }} i{signs}",
        r"\rho_i": r"\text{the margin asked of row } i, \text{ 1 unless a block says otherwise}",
        r"\xi_i": r"\text{the slack of row } i",
    }


def _meanings(
    formulas: Mapping[str, Sequence[str]], letters: Mapping[str, Mapping[str, str]]
) -> list[tuple[str, str]]:
    """The letters that stand in the formulas; with the block's name, if another uses them otherwise."""
    found: dict[tuple[str, str], str] = {}
    for name, own in letters.items():
        for symbol, meaning in own.items():
            if any(_stands_in(symbol, formula) for formula in formulas[name]):
                found.setdefault((symbol, meaning), name)
    symbols = [symbol for symbol, _ in found]
    return [
        (symbol, meaning + (rf"\text{{ (}}{_text(name)}\text{{)}}" if symbols.count(symbol) > 1 else ""))
        for (symbol, meaning), name in found.items()
    ]


def _stands_in(symbol: str, formula: str) -> bool:
    """Whether a letter with its index is part of a formula, and not of another word."""
    words = re.sub(r"\\(?:text|mathrm)\{[^{}]*\}", " ", formula)
    end = "(?![A-Za-z_])" if symbol[-1].isalpha() else ""
    return re.search(rf"(?<![A-Za-z\\]){re.escape(symbol)}{end}", words) is not None


def _describe(
    machine: Machine,
    objective: dict[str, str],
    constraints: dict[str, tuple[str, int]],
    values: dict[str, float],
) -> None:
    """Add the terms and constraints of one machine that are not there yet."""
    spec = machine.spec
    compiled = machine.problem
    c = "w" if spec.kernel is None else "c"
    power = "" if spec.loss == "hinge" else "^2"
    objective.setdefault("svm.regulariser", rf"\|{c}\|_1" if spec.norm == "l1" else rf"\tfrac12 \|{c}\|^2")
    objective.setdefault("svm.loss", rf"C \sum_{{i=1}}^{{{machine.training.n_train}}} \xi_i{power}")
    constraints.setdefault("svm.margin", (compiled.margin_latex, len(compiled.active)))
    for name, block, weight in compiled.members:
        own = {
            label.partition(".")[2]: c
            for label, c in compiled.constraints.items()
            if label.startswith(f"{name}.")
        }
        terms = [term.name for term in compiled.terms if term.block == name]
        prepared = ["sample"] if name in compiled.sample.shares else []
        formulas = _formulas(name, block, [*prepared, *terms, *own])
        factor = "" if weight == 1 else f"{weight:g} \\cdot "
        unnamed = rf"J_{{{_text(name)}}}"
        for _ in prepared:
            objective.setdefault(name, factor + formulas.get("sample", unnamed).replace("<p>", power))
        for symbol, value in block.symbols().items():
            values[rf"{symbol}_{{{_text(name)}}}"] = value
        for term in terms:
            letter = {"mu": r"\mu", "mu_residual": r"\mu'", "gamma": r"\gamma"}.get(term, _text(term))
            symbol = rf"{letter}_{{{_text(name)}}}"
            values[symbol] = float(getattr(block, term))
            objective.setdefault(f"{name}.{term}", f"{factor}{symbol}\\, {formulas.get(term, unnamed)}")
        for label, constraint in own.items():
            latex = formulas.get(label) or _unwritten(f"{name}.{label}", constraint)
            constraints.setdefault(f"{name}.{label}", (latex, _rows(constraint)))


def _formulas(name: str, block: Any, terms: Sequence[str]) -> dict[str, str]:
    """The formulas of a block by term; ``cone_2`` is one of several stacks of ``cone``."""
    given = _written(name, block, "latex")
    keys = {term: term if term in given else term.rpartition("_")[0] for term in terms}
    bare = [term for term, key in keys.items() if key not in given]
    idle = sorted(set(given) - set(keys.values()))
    # A block may have formulas for other machines; but not if one of its terms has none.
    if bare and idle:
        raise InvalidInput(
            f"block '{name}': latex has a formula for {_listed(idle)}, which is no term of it, and none for "
            f"{_listed(bare)}. The terms are {_listed(terms)}."
        )
    return {term: given[key] for term, key in keys.items() if key in given}


def _written(name: str, block: Any, attribute: str) -> Mapping[str, str]:
    """What a block has to say of its formulas."""
    given = getattr(block, attribute)
    keys = "penalty name, constraint label or 'sample' to its formula"
    if attribute == "letters":
        keys = "letters to what they mean"
    if not isinstance(given, Mapping) or not all(
        isinstance(word, str) for pair in given.items() for word in pair
    ):
        raise InvalidType(f"block '{name}': {attribute} must be a dict of {keys}, in LaTeX, got {given!r}.")
    return given


def _listed(names: Iterable[str]) -> str:
    return ", ".join(map(repr, names))


def _unwritten(label: str, constraint: Any) -> str:
    """What is known of a constraint that has no formula."""
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
    """How many scalar constraints, or cones, it is."""
    shape = getattr(constraint, "shape", None) if len(constraint.args) == 2 else None
    shape = constraint.args[0].shape if shape is None or isinstance(shape, list) else shape
    return int(np.prod(shape[:1] if len(shape) > 2 else shape, dtype=int))  # of a stack of matrices, those


def _text(words: str) -> str:
    r"""Words in upright letters; ``\text{}`` would show backslashes in a browser."""
    return rf"\mathrm{{{''.join(SPECIAL.get(letter, letter) for letter in words)}}}"
