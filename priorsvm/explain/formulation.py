r"""The problem that was solved, in LaTeX, block by block."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..solve.machine import Machine


@dataclass(frozen=True)
class Formulation:
    r"""``str()`` is the LaTeX; a notebook shows it rendered.

    Attributes
    ----------
    objective : (label, LaTeX) of every term, ``svm.regulariser`` and ``svm.loss`` first.
    constraints : (label, LaTeX, number of rows) of every constraint.
    function : what f is.
    values : (symbol, number) of C and of the penalties' weights.
    """

    objective: list[tuple[str, str]]
    constraints: list[tuple[str, str, int]]
    function: str
    values: list[tuple[str, float]]

    def __str__(self) -> str:
        terms = [rf"\underbrace{{{latex}}}_{{\text{{{_text(label)}}}}}" for label, latex in self.objective]
        lines = [r"\min\quad & " + " \\\\\n& + ".join(terms)]
        for k, (label, latex, rows) in enumerate(self.constraints):
            note = f"{label}, {rows} row" + ("s" if rows != 1 else "")
            opening = r"\text{s.t.}\quad " if k == 0 else ""
            lines.append(rf"{opening}& {latex} && \text{{({_text(note)})}}")
        numbers = r",\; ".join(f"{symbol} = {value:g}" for symbol, value in self.values)
        lines.append(rf"\text{{with}}\quad & {self.function},\quad {numbers}")
        return "\\begin{aligned}\n" + " \\\\\n".join(lines) + "\n\\end{aligned}"

    __repr__ = __str__

    def _repr_latex_(self) -> str:
        return f"$$\n{self}\n$$"


def formulation(machines: Sequence[Machine]) -> Formulation:
    """Of all machines together: those of other classes differ in signs and in what blocks ask of them."""
    objective: dict[str, str] = {}
    constraints: dict[str, tuple[str, int]] = {}
    values = {"C": machines[0].spec.C}
    for machine in machines:
        _describe(machine, objective, constraints, values)
    letters = (r"w", r"x") if machines[0].spec.kernel is None else (r"c", r"\varphi(x)")
    function = machines[0].problem.function_latex.format(*letters)
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
        unnamed = rf"J_{{\text{{{_text(name)}}}}}"
        if name in compiled.sample.shares:
            objective.setdefault(name, factor + block.latex.get("sample", unnamed).replace("<p>", power))
        for symbol, value in block.symbols().items():
            values[rf"{symbol}_{{\text{{{_text(name)}}}}}"] = value
        for term in compiled.terms:
            if term.block == name:
                letter = {"mu": r"\mu", "gamma": r"\gamma"}.get(term.name, rf"\text{{{_text(term.name)}}}")
                symbol = rf"{letter}_{{\text{{{_text(name)}}}}}"
                values[symbol] = float(getattr(block, term.name))
                formula = block.latex.get(term.name, unnamed)
                objective.setdefault(f"{name}.{term.name}", f"{factor}{symbol}\\, {formula}")
    blocks = {member.name: member.block for member in compiled.members}
    for label, constraint in compiled.constraints.items():
        name, _, own = label.partition(".")
        if name != "svm":
            unnamed = rf"c_{{\text{{{_text(label)}}}}}(f) \le 0"
            formulas = blocks[name].latex  # "cone_2" is one of several stacks of "cone"
            latex = formulas.get(own, formulas.get(own.rpartition("_")[0], unnamed))
            constraints.setdefault(label, (latex, _rows(constraint)))


def _rows(constraint: Any) -> int:
    """How many scalar constraints, or cones, it is."""
    shape = getattr(constraint, "shape", None) if len(constraint.args) == 2 else None
    shape = constraint.args[0].shape if shape is None or isinstance(shape, list) else shape
    return int(np.prod(shape[:1] if len(shape) > 2 else shape, dtype=int))  # of a stack of matrices, those


def _text(words: str) -> str:
    return words.replace("_", r"\_")
