r"""Report of a fitted model: the contribution of each term, and how the problem was solved."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any

import numpy as np

from .._utils.arrays import Array
from ..knowledge.traits import Iterative
from ..prior import live
from ..sample import label_text
from ..solve.model import BinaryModel
from ..solve.solution import TIME_LIMIT
from ..spec import NEGLIGIBLE_DUAL
from .table import html_table, text_table

# Up to this many models without a block are listed by name.
LISTED = 5


@dataclass(frozen=True)
class Row:
    """Term or constraint of one binary model.

    Attributes
    ----------
    label : object
        Class with y = +1; in a one-vs-one model the pair (class with y = +1, class with y = -1).
    block : str
        Name of the block, or "svm".
    term : str
        "regulariser", "loss", "sample", the name of a penalty or the label of a constraint.
    contribution : float
        Part of the objective.
    weight : float, default=1.0
        Outer weight of the block.
    rows : int, default=0
        Number of rows or constraints of the term.
    active : int, default=0
        Number of rows or constraints with a positive dual variable.
    slack : float, default=0.0
        Sum of the slacks of the rows; NaN for constraints of a block.
    price : float, default=0.0
        Sum of the dual variables.
    """

    label: Any
    block: str
    term: str
    contribution: float
    weight: float = 1.0
    rows: int = 0
    active: int = 0
    slack: float = 0.0
    price: float = 0.0


@dataclass(frozen=True)
class Report:
    """Contributions of all terms to the objective, and facts about each solve.

    It prints as text, is a table in a notebook, and ``to_frame`` returns a DataFrame.

    Attributes
    ----------
    rows : list of Row
        Terms and constraints. The contributions of a binary model add up to its objective.
    objectives : dict
        Label of a binary model, as in its rows -> its objective.
    solves : list of dict
        Solver, status, number of rounds, iterations of the last round (None if the solver does not report
        them), residuals, seconds, findings and warnings of blocks, and how their weights were chosen, for
        each binary model.
    kernel : str, default=""
        What was done to the kernel; empty if it was used as given.
    inactive : dict of str to list
        Name of a block -> labels of the one-vs-one models without a class that the block names.

    See Also
    --------
    PriorSVC.report_ : Report of a fitted model.

    Examples
    --------
    >>> from priorsvm import PriorSVC, MonotonicityHint
    >>> X, y = [[0.0, 1.0], [1.0, 0.0], [1.0, 2.0], [2.0, 1.0]], [0, 0, 1, 1]
    >>> report = PriorSVC(MonotonicityHint({0: 1}, hard=True), C=10.0).fit(X, y).report_
    >>> print(report)
    block              term         weight  contribution   share  rows  active  slack  price
    svm                regulariser       1             1  100.0%     -       -      -      -
    svm                loss              1             0    0.0%     4       ...
    >>> report.to_frame()[["block", "term", "share"]].round(2)
                   block         term  share
    0                svm  regulariser    1.0
    1                svm         loss    0.0
    ...
    """

    rows: list[Row]
    objectives: dict[Any, float]
    solves: list[dict[str, Any]]
    kernel: str = ""
    inactive: dict[str, list[Any]] = field(default_factory=dict)

    def __getitem__(self, block: str) -> list[Row]:
        """Return the rows of one block."""
        found = [row for row in self.rows if row.block == block]
        if not found:
            known = list(dict.fromkeys(row.block for row in self.rows))
            raise KeyError(f"there is no block {block!r}; the blocks are {known}")
        return found

    def _cells(self) -> tuple[list[str], list[list[str]]]:
        many = len(self.objectives) > 1
        head = [
            *(["class"] if many else []),
            *("block", "term", "weight", "contribution", "share", "rows", "active", "slack", "price"),
        ]
        cells = []
        highest = max(row.price for row in self.rows)
        for row in self.rows:
            total = self.objectives[row.label]
            cells.append(
                [
                    *([label_text(row.label)] if many else []),
                    row.block,
                    row.term,
                    f"{row.weight:g}",
                    f"{_rounded(row.contribution, total):.4g}",
                    f"{100 * _rounded(row.contribution, total) / total:.1f}%" if total else "-",
                    str(row.rows) if row.rows else "-",
                    str(row.active) if row.rows else "-",
                    f"{_rounded(row.slack, row.rows):.4g}" if row.rows and not np.isnan(row.slack) else "-",
                    f"{_rounded(row.price, highest):.4g}" if row.rows else "-",
                ]
            )
        return head, cells

    def _shared_choice(self) -> str:
        """Return how ``mu="auto"`` was chosen if several lines would contain it, else an empty text."""
        choices = [text for solve in self.solves for text in solve["choices"].values()]
        return choices[0] if len(choices) > 1 and len(set(choices)) == 1 else ""

    def _footer(self) -> list[str]:
        lines = []
        choice = self._shared_choice()
        for solve in self.solves:
            which = f"class {label_text(solve['label'])}: " if len(self.solves) > 1 else ""
            rounds = f"{solve['rounds']} round" + ("s" if solve["rounds"] > 1 else "")
            ended = _ended(solve["status"])
            start = f" from the solution of {solve['start']}" if solve["start"] else ""
            failed = f" after {' and '.join(solve['before'])} failed" if solve["before"] else ""
            local = f"; local optimum ({', '.join(solve['local'])})" if solve["local"] else ""
            lines.append(
                f"{which}objective {self.objectives[solve['label']]:.6g}, {solve['solver']}{start}{failed} "
                f"{ended} {rounds}, {solve['residuals']}, compile {solve['compile']:.3f} s, "
                f"solve {solve['solve']:.3f} s{_total(solve)}{local}"
            )
            if solve["chunks"]:
                lines.append(f"{which}{solve['chunks']}")
            for block, finding in solve["findings"].items():
                text = finding.removesuffix(f", {choice}") if choice else finding
                lines += [f"{which}{block}: {text}"] if text else []
            blocks: dict[str, list[str]] = {}
            for block, text in solve["warnings"]:
                blocks.setdefault(text, []).append(block)
            lines += [f"{which}{', '.join(names)}: {text}" for text, names in blocks.items()]
        if choice and not any(choice.partition("; ")[2] in line for line in lines):
            lines.append(f"mu='auto': {choice}")
        if self.kernel:
            lines.append(f"kernel: {self.kernel}")
        for block, labels in self.inactive.items():
            models = ", ".join(map(label_text, labels))
            if len(labels) > LISTED:
                models = f"{len(labels)} of {len(self.solves)} models"
            lines.append(f"{block}: inactive in {models}, without a class that it names")
        return lines

    def __str__(self) -> str:
        return "\n".join([text_table(*self._cells()), *self._footer()])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return html_table(*self._cells()) + "".join(f"<p>{escape(line)}</p>" for line in self._footer())

    def to_frame(self) -> Any:
        """Return the rows as a pandas DataFrame, with their share of the objective.

        Returns
        -------
        pandas.DataFrame
            One row for each term and constraint. ``attrs["solves"]`` is ``solves``.

        Raises
        ------
        ImportError
            The package pandas is not installed.
        """
        try:
            import pandas as pd
        except ImportError as error:
            raise ImportError("to_frame requires the package pandas: pip install pandas.") from error

        frame = pd.DataFrame([vars(row) for row in self.rows]).rename(columns={"label": "class"})
        totals = pd.Series([self.objectives[row.label] for row in self.rows], dtype=float)
        frame.insert(4, "share", frame["contribution"] / totals.where(totals != 0))
        figures = ["rows", "active", "slack", "price"]  # a penalty has no rows
        frame[figures] = frame[figures].where(frame["rows"] > 0)
        frame.attrs["solves"] = self.solves
        return frame


def _ended(status: str) -> str:
    """Return how a fit ended, before its number of rounds."""
    return "ended by max_seconds after" if status == TIME_LIMIT else f"{status} in"


def _total(solve: dict[str, Any]) -> str:
    return f" (last round; total {solve['seconds']:.1f} s)" if solve["rounds"] > 1 else ""


def _rounded(value: float, total: float) -> float:
    """Return 0 for a value that is rounding error of an interior-point method."""
    return 0.0 if abs(value) <= 1e-8 * abs(total) else value


def report(binaries: Sequence[BinaryModel]) -> Report:
    """Return the report of the binary models of a fitted model."""
    rows: list[Row] = []
    objectives: dict[Any, float] = {}
    solves: list[dict[str, Any]] = []
    for binary in binaries:
        label = binary.training.label
        contributions = binary.contributions()
        objectives[label] = sum(contributions.values())
        rows += _rows(binary, label, contributions)
        outcome = binary.outcome
        solves.append(
            {
                "label": label,
                "solver": outcome.solver,
                "start": outcome.start,
                "before": outcome.before,
                "status": outcome.status,
                "rounds": len(binary.history),
                "iterations": outcome.iterations,
                "residuals": binary.certificate(),
                "compile": outcome.compile_seconds,
                "solve": outcome.solve_seconds,
                "seconds": sum(entry["seconds"] for entry in binary.history),
                "findings": {block: str(finding) for block, finding in binary.findings.items()},
                "warnings": [
                    (block, text)
                    for block, finding in binary.findings.items()
                    for text in getattr(finding, "warnings", ())
                ],
                "choices": {
                    block: finding.weight.choice
                    for block, finding in binary.findings.items()
                    if getattr(finding, "weight", None) is not None and finding.weight.scores
                },
                "local": _local(binary),
                "chunks": _chunks_note(binary),
            }
        )
    return Report(rows, objectives, solves, _kernel_note(binaries[0]), _inactive(binaries))


def _chunks_note(binary: BinaryModel) -> str:
    """Return how rows were read in chunks, or an empty text."""
    totals = binary.training.totals
    if totals is None:
        return ""
    last = binary.history[-1]
    if last.get("estimated"):
        return (
            f"{totals.n_rows} rows were read in chunks. The time ended in pass {last['passes']}. Rows, "
            f"slacks and prices of the loss are estimates from {binary.training.n_train} drawn rows"
        )
    return (
        f"{totals.n_rows} rows were read in chunks, in {last['passes']} passes. Rows, slacks and prices of "
        f"the loss are sums over all rows. Only the {last['band']} rows near their margins have multipliers "
        f"of their own. Findings count {binary.training.n_train} drawn rows"
    )


def _kernel_note(binary: BinaryModel) -> str:
    """Return how a conditionally positive definite kernel is used, or an empty text."""
    kernel = binary.spec.kernel
    if kernel is None or binary.spec.norm == "l1" or not kernel.needs_bias:
        return ""
    return f"{kernel!r}; conditionally positive definite, so the norm of f is a seminorm"


def _inactive(binaries: Sequence[BinaryModel]) -> dict[str, list[Any]]:
    """Return the one-vs-one models that leave a block out, by block name."""
    found: dict[str, list[Any]] = {}
    active = {member.name for binary in binaries for member in live(binary.members)}
    for binary in binaries:
        for member in binary.members:
            if member.name in active and not member.block.applies(binary.training):
                found.setdefault(member.name, []).append(binary.training.label)
    return found


def _local(binary: BinaryModel) -> list[str]:
    """Return the names of the blocks that may end in a local optimum."""
    iterative = [m for m in live(binary.members) if isinstance(m.block, Iterative)]
    return [m.name for m in iterative if not m.block.exact]


def _rows(binary: BinaryModel, label: Any, contributions: dict[tuple[str, str], float]) -> list[Row]:
    sample = binary.sample
    weights = {m.name: m.weight for m in binary.members}
    slack = binary.slack(sample)
    support = binary.support
    rows = []
    for (block, term), value in contributions.items():
        row = Row(label, block, term, value, weights.get(block, 1.0))
        if term in ("loss", "sample"):
            figures: tuple[Any, ...]
            if binary.sums is not None:
                figures = binary.sums[block][1:]
            else:
                on = (sample.shares[block] != 0) & sample.counted
                figures = (
                    int(on.sum()),
                    int((on & support).sum()),
                    float(slack[on].sum()),
                    float(binary.alpha[on].sum()),
                )
            row = Row(label, block, term, value, weights.get(block, 1.0), *figures)
        rows.append(row)
    sizes = {name: _sizes(dual) for name, dual in binary.duals.items() if not name.startswith("svm.")}
    largest = max(float(v.max(initial=0.0)) for v in [binary.alpha, *sizes.values()])
    for name, duals in sizes.items():
        block, _, constraint = name.partition(".")
        active = int(np.sum(duals > NEGLIGIBLE_DUAL * largest))
        price = float(duals.sum())
        figures = len(duals), active, float("nan"), price
        rows.append(Row(label, block, constraint, 0.0, weights[block], *figures))
    # The constraints of a block follow its penalties, in the order of the blocks.
    order = [*(name for name in sample.shares if name not in weights), *weights]
    return sorted(rows, key=lambda row: order.index(row.block))


def _sizes(dual: Any) -> Array:
    """Return the size of each dual variable: of a cone its height, of a matrix its trace."""
    if isinstance(dual, list):
        return np.abs(np.ravel(dual[0]))
    stacked = np.ndim(dual) > 2
    return np.abs(np.trace(dual, axis1=-2, axis2=-1) if stacked else np.ravel(dual))
