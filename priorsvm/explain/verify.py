"""Verification: whether f satisfies each block, where it is worst, and whether this is proven or sampled."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from html import escape
from typing import Any

import numpy as np

from .._utils.arrays import Array
from .._utils.progress import progress
from .._utils.threads import single_threaded
from ..knowledge.views import MAX_CELLS, Verdict
from ..prior import live
from ..problem.naming import naming
from ..sample import Sample, label_text
from ..solve.model import BinaryModel
from .stability import Stability
from .table import html_table, text_table


@dataclass(frozen=True)
class Check:
    """Verdict on one block of one binary model.

    Attributes
    ----------
    block : str
        Name of the block.
    verdict : Verdict
        Whether the block holds.
    label : object, default=None
        Class with y = +1; in a one-vs-one model the pair (class with y = +1, class with y = -1).

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
    """Verdicts on all blocks of a fitted model; prints as a table.

    Attributes
    ----------
    checks : list of Check
        One verdict for each block and binary model.
    stability : dict of str to Stability
        Block name -> how often its transformation changes the class of new rows.

    See Also
    --------
    PriorSVC.verify : Verify a fitted model.

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
        """Return the verification with results on new rows.

        Parameters
        ----------
        found : dict of str to Stability
            Block name -> result.

        Returns
        -------
        Verification
            The extended copy.
        """
        return Verification(self.checks, found)

    @property
    def holds(self) -> bool:
        """Whether no block is violated."""
        return all(check.verdict.holds is not False for check in self.checks)

    def __getitem__(self, block: str) -> Verdict:
        """Return the verdict on a block; with several binary models, the worst verdict."""
        found = [check.verdict for check in self.checks if check.block == block]
        if not found:
            raise KeyError(f"there is no block {block!r}; the blocks are {[c.block for c in self.checks]}")
        return min(found, key=lambda v: np.inf if np.isnan(v.worst) else v.worst)

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names of the blocks."""
        return iter(dict.fromkeys(check.block for check in self.checks))

    def _cells(self) -> tuple[list[str], list[list[str]]]:
        many = len({check.label for check in self.checks}) > 1
        head = [*(["class"] if many else []), "block", "requires", "holds", "worst", "checked"]
        rows = []
        for check in self.checks:
            result = ["-", "-", "-"] if check.verdict.holds is None else _result(check.verdict)
            label = [label_text(check.label)] if many else []
            rows.append([*label, check.block, check.verdict.asked, *result])
        return head, rows

    def to_frame(self) -> Any:
        """Return the verdicts as a pandas DataFrame.

        Returns
        -------
        pandas.DataFrame
            One row for each verdict.

        Raises
        ------
        ImportError
            The package pandas is not installed.
        """
        try:
            import pandas as pd
        except ImportError as error:
            raise ImportError("to_frame requires the package pandas: pip install pandas.") from error

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
        notes = []
        for check in self.checks:
            if check.verdict.remarks:
                which = f"class {label_text(check.label)}: " if many else ""
                notes.append(f"{which}{check.block}: {'; '.join(check.verdict.remarks)}")
        for name, found in self.stability.items():
            changed = ", ".join(map(str, found.changed[:5].tolist()))
            notes.append(f"{name}: {found}" + (f"; worst rows: {changed}" if changed else ""))
        return notes

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return html_table(*self._cells()) + "".join(f"<p>{escape(note)}</p>" for note in self._notes())


def _result(verdict: Verdict) -> list[str]:
    """Return the cells "holds", "worst" and "checked" of a verdict."""
    places = f"{verdict.checked} place" + ("s" if verdict.checked != 1 else "")
    if verdict.violated:
        checked = f"disproven, {verdict.violated} of {places} violated"
    else:
        checked = f"{'proven' if verdict.proven else 'sampled'}, {places}"
    return ["yes" if verdict.holds else "no", f"{verdict.worst:+.3g}", checked]


def verify(
    binaries: Sequence[BinaryModel],
    max_cells: int = MAX_CELLS,
    verbose: int = 0,
    everywhere: bool = False,
    new_rows: Array | None = None,
    truths: Sequence[int] = (),
) -> Verification:
    """Verify every block of every binary model.

    Parameters
    ----------
    binaries : sequence of BinaryModel
        The binary models of a fitted model.
    max_cells : int, default=150000
        Largest number of cells in the proof for one region of a kernel model.
    verbose : int, default=0
        1 shows progress bars.
    everywhere : bool, default=False
        Check blocks on rows at all points of their regions.
    new_rows : ndarray or None, default=None
        Rows to check blocks on rows at, in place of the training rows.
    truths : sequence of int, default=()
        Columns of the user that contain True and False.

    Returns
    -------
    Verification
        The verdicts.

    Examples
    --------
    >>> from priorsvm import PriorSVC
    >>> PriorSVC().fit([[0.0], [1.0]], [1, 0]).verify()
    There is no block to verify.
    """
    blocks = [(m, name, block) for m in binaries for name, block, _ in live(m.members)]
    checks = []
    for binary, name, block in progress(verbose, blocks, desc="blocks verified"):
        key = (name, max_cells, everywhere)
        f, verdict = binary.verdicts.get(key, (None, None))
        if verdict is None or f is not binary.f or new_rows is not None:
            with naming(name), single_threaded():
                verdict = binary.verdict(name, block, binary.sample, max_cells, verbose, everywhere, new_rows)
            if new_rows is None:
                binary.verdicts[key] = binary.f, verdict
        checks.append(Check(name, _of_user(verdict, binary.training, truths), binary.training.label))
    return Verification(checks)


def _of_user(verdict: Verdict, sample: Sample, truths: Sequence[int]) -> Verdict:
    """Return a verdict whose row has the columns and the values of the user."""
    encoding = sample.encoding
    if encoding is None or verdict.where is None or len(verdict.where) != encoding.width:
        return verdict
    return replace(verdict, where=encoding.decoded(verdict.where, truths))
