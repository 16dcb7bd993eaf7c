"""Does the fitted f obey each block? Where least, and is that proven or sampled."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any

import numpy as np

from .._utils.progress import progress
from ..knowledge.base import MAX_CELLS, Verdict
from ..problem.naming import naming
from ..solve.machine import Machine
from ..solve.solvers import single_threaded
from .stability import Stability
from .table import html_table, text_table


@dataclass(frozen=True)
class Check:
    """The verdict on one block of one machine.

    Attributes
    ----------
    block : the block's name.
    verdict : what was found.
    label : the class that is +1 in that machine.

    Examples
    --------
    >>> from priorsvm import Box, PriorSVC
    >>> model = PriorSVC(Box({0: (2, 3)}, label=1, hard=True)).fit([[0.0], [1.0]], [0, 1])
    >>> [check] = model.verify().checks
    >>> check.block, check.verdict.holds, check.label
    ('box', True, 1)
    """

    block: str
    verdict: Verdict
    label: Any = None


@dataclass(frozen=True)
class Verification:
    """One verdict per block; prints as a table.

    Attributes
    ----------
    checks : the verdicts.
    stability : block -> what its moves do to the class of the new rows that were given, if any.

    Examples
    --------
    >>> from priorsvm import Box, PriorSVC
    >>> model = PriorSVC(Box({0: (2, 3)}, label=1, hard=True)).fit([[0.0], [1.0]], [0, 1])
    >>> found = model.verify()
    >>> found.holds, list(found), found["box"].proven
    (True, ['box'], True)
    """

    checks: list[Check]
    stability: dict[str, Stability] = field(default_factory=dict)

    def of_new_rows(self, found: dict[str, Stability]) -> Verification:
        """The same with what was found about new rows."""
        return Verification(self.checks, found)

    @property
    def holds(self) -> bool:
        """Whether nothing that was asked is violated."""
        return all(check.verdict.holds is not False for check in self.checks)

    def __getitem__(self, block: str) -> Verdict:
        """The verdict on a block; with several machines, the worst one."""
        found = [check.verdict for check in self.checks if check.block == block]
        if not found:
            raise KeyError(f"there is no block {block!r}; the blocks are {[c.block for c in self.checks]}")
        return min(found, key=lambda v: np.inf if np.isnan(v.worst) else v.worst)

    def __iter__(self) -> Iterator[str]:
        """The names of the blocks."""
        return iter(dict.fromkeys(check.block for check in self.checks))

    def _cells(self) -> tuple[list[str], list[list[str]]]:
        many = len({check.label for check in self.checks}) > 1
        head = [*(["class"] if many else []), "block", "asks for", "holds", "worst", "checked"]
        rows = []
        for check in self.checks:
            v = check.verdict
            silent = v.holds is None
            kind = "disproven" if v.violated else "proven" if v.proven else "sampled"
            places = f"{v.checked} place" + ("s" if v.checked != 1 else "")
            where = f"{kind}, {v.violated} of {places} violated" if v.violated else f"{kind}, {places}"
            rows.append(
                [
                    *([str(check.label)] if many else []),
                    check.block,
                    v.asked,
                    "-" if silent else "yes" if v.holds else "no",
                    "-" if silent else f"{v.worst:+.3g}",
                    "-" if silent else where,
                ]
            )
        return head, rows

    def to_frame(self) -> Any:
        """The verdicts as a pandas DataFrame (needs pandas)."""
        try:
            import pandas as pd
        except ImportError as error:
            raise ImportError("to_frame needs the package pandas: pip install pandas.") from error

        columns = ("asked", "holds", "worst", "where", "proven", "checked", "violated")
        return pd.DataFrame(
            [
                {
                    "class": check.label,
                    "block": check.block,
                    **{c: getattr(check.verdict, c) for c in columns},
                }
                for check in self.checks
            ]
        )

    def __str__(self) -> str:
        table = text_table(*self._cells()) if self.checks else "There is no block to verify."
        return "\n".join([table, *self._notes()])

    def _notes(self) -> list[str]:
        many = len({check.label for check in self.checks}) > 1
        notes = [
            f"{f'class {check.label}: ' if many else ''}{check.block}: {'; '.join(check.verdict.remarks)}"
            for check in self.checks
            if check.verdict.remarks
        ]
        for name, found in self.stability.items():
            changed = ", ".join(map(str, found.changed[:5].tolist()))
            notes.append(f"{name}: {found}" + (f"; the worst are rows {changed}" if changed else ""))
        return notes

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return html_table(*self._cells()) + "".join(f"<p>{escape(note)}</p>" for note in self._notes())


def verify(machines: Sequence[Machine], max_cells: int = MAX_CELLS, verbose: int = 0) -> Verification:
    """Ask every block of every machine.

    Parameters
    ----------
    machines : the machines of a fitted model
    max_cells : how many cells the proof for one region of a kernel machine may take
    verbose : 1 shows progress bars

    Examples
    --------
    >>> from priorsvm import PriorSVC
    >>> PriorSVC().fit([[0.0], [1.0]], [1, 0]).verify()
    There is no block to verify.
    """
    asked = [(m, name, block) for m in machines for name, block, weight in m.members if weight > 0]
    checks = []
    for machine, name, block in progress(verbose, asked, desc="blocks verified"):
        f, verdict = machine.verdicts.get((name, max_cells), (None, None))
        if verdict is None or f is not machine.f:
            with naming(name), single_threaded():
                verdict = machine.verdict(name, block, machine.sample, max_cells, verbose)
            machine.verdicts[name, max_cells] = machine.f, verdict
        checks.append(Check(name, verdict, machine.sample.positive))
    return Verification(checks)
