r"""The problem that was solved, in LaTeX, block by block."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..solve.machine import Machine


@dataclass(frozen=True)
class Formulation:
    r"""``str()`` is the LaTeX; a notebook shows it rendered.

    Attributes
    ----------
    objective : (label, LaTeX) of every term, ``svm.regulariser`` and ``svm.loss`` first.
    constraints : (label, LaTeX, number of rows) of every constraint.
    """

    objective: list[tuple[str, str]]
    constraints: list[tuple[str, str, int]]

    def __str__(self) -> str:
        terms = [rf"\underbrace{{{latex}}}_{{\text{{{_text(label)}}}}}" for label, latex in self.objective]
        lines = [r"\min\quad & " + " \\\\\n& + ".join(terms)]
        for k, (label, latex, rows) in enumerate(self.constraints):
            note = f"{label}, {rows} row" + ("s" if rows != 1 else "")
            opening = r"\text{s.t.}\quad " if k == 0 else ""
            lines.append(rf"{opening}& {latex} && \text{{({_text(note)})}}")
        return "\\begin{aligned}\n" + " \\\\\n".join(lines) + "\n\\end{aligned}"

    __repr__ = __str__

    def _repr_latex_(self) -> str:
        return f"$$\n{self}\n$$"


def formulation(machines: Sequence[Machine]) -> Formulation:
    """Of all machines together: those of other classes differ in signs and in what blocks ask of them."""
    objective: dict[str, str] = {}
    constraints: dict[str, tuple[str, int]] = {}
    for machine in machines:
        _describe(machine, objective, constraints)
    return Formulation(list(objective.items()), [(label, *found) for label, found in constraints.items()])


def _describe(machine: Machine, objective: dict[str, str], constraints: dict[str, tuple[str, int]]) -> None:
    """Add the terms and constraints of one machine that are not there yet."""
    spec, compiled = machine.spec, machine.problem
    norm = r"\|c\|_1" if spec.norm == "l1" else r"\tfrac12 \|c\|^2"
    power = "" if spec.loss == "hinge" else "^2"
    objective.setdefault("svm.regulariser", norm)
    objective.setdefault("svm.loss", rf"C \sum_{{i=1}}^{{{machine.training.n_train}}} \xi_i{power}")
    margin = r"y_i f(x_i) \ge \rho_i - \xi_i,\; \xi_i \ge 0"
    constraints.setdefault("svm.margin", (margin, len(compiled.active)))
    for name, block, weight in compiled.members:
        factor = "" if weight == 1 else f"{weight:g} \\cdot "
        unnamed = rf"J_{{\text{{{_text(name)}}}}}"
        if name in compiled.sample.shares:
            objective.setdefault(name, factor + block.latex.get("sample", unnamed))
        for term in compiled.terms:
            if term.block == name:
                symbol = {"mu": r"\mu", "gamma": r"\gamma"}.get(term.name, rf"\text{{{_text(term.name)}}}")
                formula = block.latex.get(term.name, unnamed)
                objective.setdefault(f"{name}.{term.name}", f"{factor}{symbol}\\, {formula}")
    blocks = {member.name: member.block for member in compiled.members}
    for label, constraint in compiled.constraints.items():
        name, _, own = label.partition(".")
        if name != "svm":
            latex = blocks[name].latex.get(own, rf"c_{{\text{{{_text(label)}}}}}(f) \le 0")
            constraints.setdefault(label, (latex, int(np.prod(constraint.args[0].shape, dtype=int))))


def _text(words: str) -> str:
    return words.replace("_", r"\_")
