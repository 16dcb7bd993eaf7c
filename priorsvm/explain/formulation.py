r"""The problem that was solved, block by block, in LaTeX and in plain text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..solve.machine import Machine
from .plain import plain

# Formulas longer than this do not push the marks of all lines to the right.
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
    >>> print(told)
    \begin{aligned}
    \min\quad & \underbrace{\tfrac12 \|w\|^2 + C \sum_{i=1}^{4} \xi_i}_{J_{SVM}} \\
    ...
    \end{aligned}
    """

    objective: list[tuple[str, str]]
    constraints: list[tuple[str, str, int]]
    function: str
    values: list[tuple[str, float]]

    def __str__(self) -> str:
        terms = [rf"\underbrace{{{latex}}}_{{{_marked(mark)}}}" for mark, latex in self._terms()]
        lines = [r"\min\quad & " + " \\\\\n& + ".join(terms)]
        for k, (mark, latex) in enumerate(self._rows()):
            opening = r"\text{s.t.}\quad " if k == 0 else ""
            lines.append(rf"{opening}& {latex} && {_marked(mark)}")
        numbers = r",\; ".join(f"{symbol} = {value:g}" for symbol, value in self.values)
        lines.append(rf"\text{{with}}\quad & {self.function},\; {numbers}")
        return "\\begin{aligned}\n" + " \\\\\n".join(lines) + "\n\\end{aligned}"

    def text(self) -> str:
        """The same in plain text, for a terminal."""
        terms = [(("min   ", "    + ")[k > 0], mark, latex) for k, (mark, latex) in enumerate(self._terms())]
        rows = [(("s.t.  ", "      ")[k > 0], mark, latex) for k, (mark, latex) in enumerate(self._rows())]
        cells = [(opening + plain(latex), mark) for opening, mark, latex in terms + rows]
        width = min(max(len(formula) for formula, _ in cells), WIDEST)
        numbers = ", ".join(f"{plain(symbol)} = {value:g}" for symbol, value in self.values)
        lines = [f"{formula:<{width}}   {mark}" for formula, mark in cells]
        return "\n".join([*lines, f"with  {plain(self.function)}, {numbers}"])

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
    named = {label.partition(".")[0] for label in (*objective, *constraints)}
    for member in machines[0].problem.members:
        if member.name not in named:
            objective[member.name] = r"0 \text{ (it asks for nothing more)}"
    kernel = machines[0].spec.kernel
    letters = (r"w", r"x") if kernel is None else (r"c", r"\varphi(x)")
    function = machines[0].problem.function_latex.format(*letters)
    if kernel is not None:
        function += rf",\; k = {_text(repr(kernel))}"
    rows = [(label, *found) for label, found in constraints.items()]
    return Formulation(list(objective.items()), rows, function, list(values.items()))


def _describe(
    machine: Machine,
    objective: dict[str, str],
    constraints: dict[str, tuple[str, int]],
    values: dict[str, float],
) -> None:
    """Add the terms and constraints of one machine that are not there yet."""
    spec, compiled = machine.spec, machine.problem
    c = "w" if spec.kernel is None else "c"
    power = "" if spec.loss == "hinge" else "^2"
    objective.setdefault("svm.regulariser", rf"\|{c}\|_1" if spec.norm == "l1" else rf"\tfrac12 \|{c}\|^2")
    objective.setdefault("svm.loss", rf"C \sum_{{i=1}}^{{{machine.training.n_train}}} \xi_i{power}")
    constraints.setdefault("svm.margin", (compiled.margin_latex, len(compiled.active)))
    for name, block, weight in compiled.members:
        factor = "" if weight == 1 else f"{weight:g} \\cdot "
        unnamed = rf"J_{{{_text(name)}}}"
        if name in compiled.sample.shares:
            objective.setdefault(name, factor + block.latex.get("sample", unnamed).replace("<p>", power))
        for symbol, value in block.symbols().items():
            values[rf"{symbol}_{{{_text(name)}}}"] = value
        for term in compiled.terms:
            if term.block == name:
                letter = {"mu": r"\mu", "mu_residual": r"\mu'", "gamma": r"\gamma"}.get(
                    term.name, _text(term.name)
                )
                symbol = rf"{letter}_{{{_text(name)}}}"
                values[symbol] = float(getattr(block, term.name))
                formula = block.latex.get(term.name, unnamed)
                objective.setdefault(f"{name}.{term.name}", f"{factor}{symbol}\\, {formula}")
    blocks = {member.name: member.block for member in compiled.members}
    for label, constraint in compiled.constraints.items():
        name, _, own = label.partition(".")
        if name != "svm":
            unnamed = rf"c_{{{_text(label)}}}(f) \le 0"
            formulas = blocks[name].latex  # "cone_2" is one of several stacks of "cone"
            latex = formulas.get(own, formulas.get(own.rpartition("_")[0], unnamed))
            constraints.setdefault(label, (latex, _rows(constraint)))


def _rows(constraint: Any) -> int:
    """How many scalar constraints, or cones, it is."""
    shape = getattr(constraint, "shape", None) if len(constraint.args) == 2 else None
    shape = constraint.args[0].shape if shape is None or isinstance(shape, list) else shape
    return int(np.prod(shape[:1] if len(shape) > 2 else shape, dtype=int))  # of a stack of matrices, those


def _text(words: str) -> str:
    r"""Words in upright letters; ``\text{}`` would show backslashes in a browser."""
    return rf"\mathrm{{{''.join(SPECIAL.get(letter, letter) for letter in words)}}}"
