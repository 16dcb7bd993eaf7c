"""Explanation of the score of one row: its parts, rules, near training rows and smallest changes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np

from .table import html_table, text_table

# Number of parts, rows and changes that are printed.
SHOWN_PARTS = 15
SHOWN_CHANGES = 3
# A smaller share of the largest term of a training row is not printed.
NEGLIGIBLE = 1e-2
# A smaller share of the largest number of a table of parts is printed as 0.
ROUNDING = 1e-9


@dataclass(frozen=True)
class Part:
    """Part of a score that one column contributes.

    Attributes
    ----------
    column : str
        Name of the column.
    value : object
        Value of the row: a number, True or False, or the category of a column of categories.
    mean : float
        Mean of the training rows; NaN for a column of categories.
    part : float
        Part of the score. All parts and ``base`` add up to the score.
    missing : bool, default=False
        Whether the value is missing in the row and was completed.

    Examples
    --------
    >>> from priorsvm import PriorSVC
    >>> [part] = PriorSVC().fit([[0.0], [2.0]], [0, 1]).explain([3.0]).parts
    >>> part.column, part.value, part.mean, round(part.part, 6)
    ('x0', 3.0, 1.0, 2.0)
    """

    column: str
    value: Any
    mean: float
    part: float
    missing: bool = False


@dataclass(frozen=True)
class RuleAt:
    """A block that applies to the row.

    Attributes
    ----------
    block : str
        Name of the block.
    words : str
        What the block states.
    agrees : bool
        Whether the class of the rule is predicted, or the score is monotone along the columns from this row.
    monotone : bool, default=False
        Whether the block is about monotone columns.
    active : bool, default=True
        Whether the block is hard or has a positive weight.

    Examples
    --------
    >>> from priorsvm import Box, PriorSVC
    >>> model = PriorSVC(Box({0: (2, 3)}, label=1, hard=True)).fit([[0.0], [1.0]], [0, 1])
    >>> print(model.explain([2.5]).rules[0])
    box: where 2 <= x0 <= 3, the class is 1. The prediction agrees.
    """

    block: str
    words: str
    agrees: bool
    monotone: bool = False
    active: bool = True

    def __str__(self) -> str:
        if self.monotone:
            found = "From this row it does" if self.agrees else "From this row it does not always"
        else:
            found = "The prediction agrees" if self.agrees else "The prediction disagrees"
        weight = "" if self.active else " Its weight is 0."
        return f"{self.block}: {self.words}. {found}.{weight}"


@dataclass(frozen=True)
class NearRow:
    """A training row near the explained row.

    Attributes
    ----------
    row : int
        Position in the training data.
    label : object
        Class of the training row.
    distance : float
        Distance from the explained row in the units of the model, which ``scale`` sets.
    part : float
        What the training row adds to the score of a kernel model; NaN for a linear model. With
        ``MissingValues`` and ``UncertainSamples`` it is the term of the worst likely values of the row.
    name : str or None, default=None
        Label of the row in the index of the training DataFrame; None if the index counts the rows from 0.

    Examples
    --------
    >>> from priorsvm import PriorSVC
    >>> PriorSVC().fit([[0.0], [2.0]], [0, 1]).explain([3.0]).rows[0]
    NearRow(row=1, label=1, distance=1.0, part=nan, name=None)
    """

    row: int
    label: Any
    distance: float
    part: float
    name: str | None = None

    @property
    def place(self) -> str:
        """The position, with the label in the index if there is one."""
        return _place(self.row, self.name)


@dataclass(frozen=True)
class Flip:
    """A change of one column that changes the predicted class.

    Attributes
    ----------
    column : str
        Name of the column.
    value : object
        Value of the row.
    new : object
        Value with another class, rounded away from ``value`` to about 1/10000 of the range of the column.
    label : object
        Class with the new value, as ``predict`` returns it.
    size : float
        Size of the change, in standard deviations of the training rows.

    Examples
    --------
    >>> from priorsvm import PriorSVC
    >>> [flip] = PriorSVC().fit([[0.0], [2.6], [4.0]], [0, 1, 1]).explain([3.0]).flips
    >>> flip.column, flip.value, flip.new, flip.label
    ('x0', 3.0, 1.2999, 0)
    """

    column: str
    value: Any
    new: Any
    label: Any
    size: float


@dataclass(frozen=True)
class Explanation:
    """Explanation of the score of one row; prints as text.

    Attributes
    ----------
    label : object
        Predicted class.
    score : float
        Score that is explained. With two classes it is ``decision_function``, the score of the second class;
        with more classes, the score of the predicted class.
    of : object
        Class of the score.
    base : float
        Score at the mean of the training rows.
    parts : list of Part
        Parts of the score by column, the largest first. ``base`` and the parts add up to ``score``.
    method : str
        How the parts were computed.
    error : float
        Largest standard error of a part; 0 if the parts are exact.
    second : (object, float) or None
        With more than two classes: the class with the next highest score, and this score.
    against : object or None
        One-vs-one models: the class that the predicted class is compared with, the next highest. The score
        is the decision function of the two classes, positive for the predicted class.
    rules : list of RuleAt
        Rules whose region contains the row, and monotone columns.
    rows : list of NearRow
        Kernel models: training rows that add most to the score. Linear models: nearest support vectors.
    added : float
        What is left of the score of a kernel model without the terms of all training rows and the constant:
        mostly points of rules.
    flips : list of Flip
        Smallest change of each column that changes the class, within the range of the training rows, as
        ``predict`` confirms. The smallest change of all columns comes first. Values that are not recorded do
        not change, and no value changes to a missing one. If there are more than 1000 columns, those with
        the 1000 largest parts are searched.
    classes : list
        Classes of the model.
    under : object or None, default=None
        Class under which values that are not recorded were completed. None if nothing was completed, or if
        the values are the mean over the classes.

    See Also
    --------
    PriorSVC.explain : Explain rows with a fitted model.
    priorsvm.plot.explain : Draw the parts.

    Examples
    --------
    >>> from priorsvm import PriorSVC
    >>> X, y = [[0.0, 1.0], [1.0, 0.5], [2.5, 1.5], [4.0, 1.0]], ["healthy", "healthy", "ill", "ill"]
    >>> found = PriorSVC(C=10).fit(X, y).explain([3.5, 1.0])
    >>> found.label, found.of, round(found.score, 3)
    ('ill', 'ill', 1.615)
    >>> round(found.base + sum(part.part for part in found.parts), 3)
    1.615
    """

    label: Any
    score: float
    of: Any
    base: float
    parts: list[Part]
    method: str
    error: float
    second: tuple[Any, float] | None
    against: Any
    rules: list[RuleAt]
    rows: list[NearRow]
    added: float
    flips: list[Flip]
    classes: list[Any]
    under: Any = None

    def __str__(self) -> str:
        return "\n".join([self._head(), text_table(*self._cells()), *self._notes()])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        notes = "".join(f"<p>{escape(note)}</p>" for note in self._notes())
        return f"<p>{escape(self._head())}</p>{html_table(*self._cells())}{notes}"

    def to_frame(self) -> Any:
        """Return the parts as a pandas DataFrame.

        Returns
        -------
        pandas.DataFrame
            One row for each column, the largest part first. ``attrs`` has label, score and base.

        Raises
        ------
        ImportError
            The package pandas is not installed.
        """
        frame = _pandas().DataFrame([vars(part) for part in self.parts])
        frame.attrs.update(label=self.label, score=self.score, base=self.base)
        return frame

    # ------------------------------------------------------------------ text

    def _head(self) -> str:
        if self.second is None:
            sign = "positive" if self.score > 0 else "not positive"
            return f"class {self.label!r}: the score of {self.of!r} is {self.score:+.4g}, which is {sign}"
        if self.against is not None:
            return f"class {self.label!r}: its score against {self.against!r}, the next, is {self.score:+.4g}"
        other, score = self.second
        return (
            f"class {self.label!r}: its score is {self.score:+.4g}, "
            f"and the next is {other!r} with {score:+.4g}"
        )

    def _cells(self) -> tuple[list[str], list[list[str]]]:
        shown = self.parts if len(self.parts) <= SHOWN_PARTS else self.parts[: SHOWN_PARTS - 1]
        size = max(abs(self.base), abs(self.score), *(abs(p.part) for p in self.parts))
        # A smaller part is rounding.
        texts = [f"{p.part if abs(p.part) > ROUNDING * size else 0.0:+.4g}" for p in shown]
        rows = [["mean of the training rows", "", "", f"{self.base:+.4g}"]]
        rows += [
            [p.column, self._value(p), value_text(p.mean, 4), text]
            for p, text in zip(shown, texts, strict=True)
        ]
        rest = self.parts[len(shown) :]
        if rest:
            rows.append([f"{len(rest)} more columns", "", "", f"{sum(p.part for p in rest):+.4g}"])
        rows.append(["score", "", "", f"{self.score:+.4g}"])
        return ["column", "value", "mean", "part"], rows

    def _notes(self) -> list[str]:
        notes = [f"parts: {self.method}."]
        missing = [p.column for p in self.parts if p.missing]
        if missing:
            notes.append(f"not recorded, so their parts are not evidence: {', '.join(missing)}.")
        notes += [str(rule) for rule in self.rules]
        if self.rows:
            notes.append(self._carriers())
        return [*notes, self._changes()]

    def _value(self, part: Part) -> str:
        if not part.missing:
            return value_text(part.value)
        how = "(mean over the classes)" if self.under is None else f"under class {self.under!r}"
        return f"not recorded, completed as {value_text(part.value, 3)} {how}"

    def _carriers(self) -> str:
        if np.isnan(self.rows[0].part):
            near = [f"{r.place} (class {r.label!r}, distance {r.distance:.3g})" for r in self.rows]
            return f"nearest support vectors: rows {', '.join(near)}."
        near = [f"{r.place} (class {r.label!r}) adds {r.part:+.3g}" for r in self.rows]
        largest = max(abs(r.part) for r in self.rows)
        points = f"; points of blocks add {self.added:+.3g}" if abs(self.added) > NEGLIGIBLE * largest else ""
        return f"training rows with the largest terms of the score: {', '.join(near)}{points}."

    def _changes(self) -> str:
        if not self.flips:
            return "No change of one recorded value within the range of the training rows changes the class."
        changes = [
            f"{f.column} from {value_text(f.value)} to {value_text(f.new)} gives {f.label!r}"
            for f in self.flips[:SHOWN_CHANGES]
        ]
        return f"smallest change of one column: {'; or '.join(changes)}."


class Explanations(list[Explanation]):
    """Explanations of several rows; prints as text.

    Parameters
    ----------
    found : iterable of Explanation, default=()
        The explanations.
    names : sequence of str or None, default=None
        Labels of the rows in the index of a DataFrame; None if the index counts the rows from 0.

    Examples
    --------
    >>> from priorsvm import PriorSVC
    >>> found = PriorSVC().fit([[0.0], [2.0]], [0, 1]).explain([[3.0], [0.5]])
    >>> [one.label for one in found]
    [1, 0]
    """

    def __init__(self, found: Iterable[Explanation] = (), names: Any = None):
        super().__init__(found)
        self.names = names

    def _places(self) -> list[str]:
        """Return the position of each row, with its label in the index if there is one."""
        return [_place(i, None if self.names is None else self.names[i]) for i in range(len(self))]

    def __str__(self) -> str:
        return "\n\n".join(f"row {i}\n{found}" for i, found in zip(self._places(), self, strict=True))

    __repr__ = __str__

    def _repr_html_(self) -> str:
        found = zip(self._places(), self, strict=True)
        return "".join(f"<h4>row {escape(i)}</h4>{one._repr_html_()}" for i, one in found)

    def to_frame(self) -> Any:
        """Return the parts of all rows as a pandas DataFrame.

        Returns
        -------
        pandas.DataFrame
            One line for each row and column: ``row`` is the position of the row.

        Raises
        ------
        ImportError
            The package pandas is not installed.
        """
        frames = [found.to_frame().assign(row=i, label=found.label) for i, found in enumerate(self)]
        for frame in frames:
            frame.attrs = {}
        return _pandas().concat(frames, ignore_index=True)


def _place(row: int, name: Any) -> str:
    return f"{row}" if name is None else f"{row} [{name}]"


def _pandas() -> Any:
    try:
        import pandas as pd
    except ImportError as error:
        raise ImportError("to_frame requires the package pandas: pip install pandas.") from error
    return pd


def value_text(value: Any, digits: int = 6) -> str:
    """Return a value of a column as text: a number, a truth value, a category; empty for NaN.

    Parameters
    ----------
    value : object
        The value.
    digits : int, default=6
        Number of digits of a number.

    Returns
    -------
    str

    Examples
    --------
    >>> value_text(1.25), value_text(True), value_text("ward")
    ('1.25', 'True', 'ward')
    """
    if isinstance(value, (str, bool)):
        return str(value)
    if np.isnan(value):
        return ""
    # A mean such as 53.025 has an uncertain last bit, which must not decide a digit that is shown.
    return f"{float(f'{value:.12g}'):.{digits}g}"
