"""One-hot encoding of columns with categories, inside the model.

A column of dtype category, or with texts, becomes one 0/1 column for each of its values. These 0/1 columns
are a *group*: in each row exactly one of them is 1, or none if the value is unknown.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import issparse

from ._utils.arrays import Array
from ._utils.messages import warn
from .errors import InvalidInput, UnknownCategory

# A column of texts with more values than this is probably an identifier.
MAX_VALUES = 100
# The name of missing values among the encoded columns.
MISSING = "missing"
# The name of a value that no training row has.
UNKNOWN = "unknown"


@dataclass(frozen=True, eq=False)
class Group:
    """The encoded columns of one column with categories.

    Attributes
    ----------
    column : int
        Position among the columns of X.
    values : list
        The values, in the order of the encoded columns; None is a missing value.
    members : array of int
        Positions of the encoded columns.
    """

    column: int
    values: list[Any]
    members: Array


@dataclass(frozen=True, eq=False)
class Encoding:
    """Positions and values of all columns, encoded.

    Attributes
    ----------
    names : list of str
        Names of the columns of X.
    groups : list of Group
        The columns with categories.
    """

    names: list[str]
    groups: list[Group]

    @classmethod
    def of(cls, X: Any, counted: Array | None = None) -> Encoding | None:
        """Return the encoding of a DataFrame, or None if it has no column with categories.

        Parameters
        ----------
        X : object
            The training rows. Only a DataFrame has columns with categories.
        counted : array of bool of shape (n,) or None, default=None
            Rows of positive weight; None for all. Texts of other rows are not encoded.

        Raises
        ------
        InvalidInput
            A column contains texts and mostly numbers, or more than 100 different texts. Or a column has the
            name of an encoded value.
        """
        if not is_frame(X):
            return None
        values: dict[int, list[Any]] = {}
        for j, dtype in enumerate(X.dtypes):
            if str(dtype) == "category" or _has_texts(X.iloc[:, j]):
                values[j] = _values(X.iloc[:, j] if counted is None else X.iloc[counted, j])
        names = X.columns.tolist()
        if not all(isinstance(name, str) for name in names):
            names = [f"x{j}" for j in range(len(names))]
        if not values:
            return None
        encoding = cls._with_values(names, values)
        encoding._check_names()
        return encoding

    @classmethod
    def _with_values(cls, names: list[str], values: dict[int, list[Any]]) -> Encoding:
        groups = []
        place = 0
        for j in range(len(names)):
            count = len(values[j]) if j in values else 1
            if j in values:
                groups.append(Group(j, values[j], np.arange(place, place + count)))
            place += count
        return cls(names, groups)

    @property
    def places(self) -> list[Any]:
        """The position of every column of numbers, and the positions of every column with categories."""
        members = {group.column: group.members for group in self.groups}
        places: list[Any] = []
        place = 0
        for j in range(len(self.names)):
            places.append(members.get(j, place))
            place += len(members[j]) if j in members else 1
        return places

    @property
    def width(self) -> int:
        """Number of encoded columns."""
        return len(self.names) + sum(len(group.values) - 1 for group in self.groups)

    @property
    def in_group(self) -> Array:
        """A mask of the encoded columns that belong to a group."""
        mask = np.zeros(self.width, bool)
        for group in self.groups:
            mask[group.members] = True
        return mask

    @property
    def encoded_names(self) -> Array:
        """Names of the encoded columns, such as ``age`` and ``sex=female``.

        A text is in quotation marks if its name would occur twice: ``sex='missing'`` besides ``sex=missing``,
        the missing values.
        """
        plain_names = self._names_of(_text)
        count = Counter(plain_names)
        quoted = self._names_of(_quoted)
        names = [q if count[name] > 1 else name for name, q in zip(plain_names, quoted, strict=True)]
        return np.array(names, dtype=object)

    def _names_of(self, text: Callable[[Any], str]) -> list[str]:
        """Return the names of the encoded columns, with a text for each value."""
        names: list[str] = []
        values = {group.column: group.values for group in self.groups}
        for j, name in enumerate(self.names):
            names += [f"{name}={text(value)}" for value in values[j]] if j in values else [name]
        return names

    def _check_names(self) -> None:
        """Raise InvalidInput if two encoded columns have one name, one of them a value of a category."""
        names = self.encoded_names.tolist()
        count = Counter(names)
        for j in np.flatnonzero(self.in_group):
            if count[names[j]] > 1:
                raise InvalidInput(
                    f"two columns of the model have the name {names[j]!r}, one of them a value of a column "
                    "with categories. Rename a column of X."
                )

    def encode(self, X: Any, what: str = "X", counted: Array | None = None) -> Array:
        """Return rows with numbers only; values that are not known become zeros, with a warning.

        Parameters
        ----------
        X : DataFrame or array-like of shape (n, n_features)
            Rows with the columns of the training data.
        what : str, default="X"
            Name of the rows in messages.
        counted : array of bool of shape (n,) or None, default=None
            Rows that a warning is issued about; None for all.

        Returns
        -------
        ndarray of shape (n, width)
            NaN stays in columns of numbers.
        """
        cells = None if is_frame(X) else np.asarray(X, dtype=object)
        encoded = np.zeros((len(X), self.width))
        groups = {group.column: group for group in self.groups}
        for j, place in enumerate(self.places):
            column = X.iloc[:, j] if cells is None else cells[:, j]
            if j not in groups:
                encoded[:, place] = _numbers(column, self.names[j], what)
                continue
            codes = self._codes(column.tolist(), groups[j], what, counted)
            known = codes >= 0
            encoded[np.flatnonzero(known), groups[j].members[codes[known]]] = 1.0
        return encoded

    def without_groups(self, X: Any) -> Any:
        """Return the columns of numbers of rows that are not encoded."""
        groups = {group.column for group in self.groups}
        kept = [j for j in range(len(self.names)) if j not in groups]
        return X.iloc[:, kept] if is_frame(X) else np.asarray(X, dtype=object)[:, kept]

    def _codes(self, column: list[Any], group: Group, what: str, counted: Array | None) -> Array:
        """Return the position of each value in its group, -1 for values that are not known."""
        place = {value: k for k, value in enumerate(group.values)}
        values = [plain(value) for value in column]
        codes = np.array([place.get(value, -1) for value in values], int)
        strange = codes < 0 if counted is None else (codes < 0) & counted
        if np.any(strange):
            unknown = sorted({_text(values[i]) for i in np.flatnonzero(strange)})
            listed = ", ".join(map(repr, unknown[:3])) + (", ..." if len(unknown) > 3 else "")
            warn(
                f"column {self.names[group.column]!r} of {what} has the value {listed} in "
                f"{int(np.sum(strange))} of {len(codes)} rows, which no training row has. It is encoded as "
                "zeros: no value of the column.",
                UnknownCategory,
            )
        return codes

    def set_value(self, row: Array, name: Any, value: Any) -> bool:
        """Set a value of a column with categories in an encoded row; return False for another column.

        Raises
        ------
        InvalidInput
            The value is not among the values of the column.
        """
        for group in self.groups:
            if name not in (self.names[group.column], group.column):
                continue
            if value not in group.values:
                raise InvalidInput(
                    f"column {self.names[group.column]!r} has the values "
                    f"{', '.join(map(repr, group.values))}, got {value!r}."
                )
            row[group.members] = np.arange(len(group.values)) == group.values.index(value)
            return True
        return False

    def value(self, row: Array, place: int) -> str | None:
        """Return the value of a column with categories as text; None if ``place`` is a column of numbers.

        A text is in quotation marks if it would mean something else, too: a missing value, or a number.
        """
        for group in self.groups:
            if place in group.members:
                values = row[group.members]
                if not values.any():
                    return UNKNOWN
                value = group.values[int(np.argmax(values))]
                same = [other for other in group.values if _text(other) == _text(value)]
                return _quoted(value) if len(same) > 1 or value == UNKNOWN else _text(value)
        return None

    def decoded(self, row: Array, truths: Sequence[int] = ()) -> Array:
        """Return an encoded row with the columns and the values of the user, as objects.

        A category is the value with the largest entry; None is a missing or an unknown value. Columns of
        ``truths`` contain True and False.
        """
        groups = {group.column: group for group in self.groups}
        cells = np.empty(len(self.names), dtype=object)
        for j, place in enumerate(self.places):
            entries = row[place]
            if j in groups:
                cells[j] = groups[j].values[int(np.argmax(entries))] if np.any(entries) else None
            else:
                cells[j] = bool(entries) if j in truths and entries in (0.0, 1.0) else float(entries)
        return cells

    def in_words(
        self, point: Array, chosen: Array | None = None, sign: str = " ", form: str = "g"
    ) -> list[str]:
        """Return the values of an encoded point, by column; a group has the value of its largest entry.

        Parameters
        ----------
        point : array of shape (width,)
            The point.
        chosen : array of int or None, default=None
            Encoded columns to describe; None for all.
        sign : str, default=" "
            The sign between a name and a value.
        form : str, default="g"
            The format of numbers.
        """
        shown = np.arange(self.width) if chosen is None else np.asarray(chosen, int)
        groups = {group.column: group for group in self.groups}
        words = []
        for j, place in enumerate(self.places):
            if j not in groups and place in shown:
                words.append(f"{self.names[j]}{sign}{point[place] + 0.0:{form}}")
            elif j in groups and np.isin(groups[j].members, shown).any():
                words.append(f"{self.names[j]}{sign}{self.value(point, int(groups[j].members[0]))}")
        return words


def is_frame(X: Any) -> bool:
    """Return whether X is a DataFrame of pandas."""
    return hasattr(X, "iloc") and hasattr(X, "dtypes") and hasattr(X, "columns")


def check_distinct_names(X: Any) -> None:
    """Raise InvalidInput if columns of a DataFrame have equal names."""
    names = X.columns if is_frame(X) else None
    if names is not None and not names.is_unique:
        repeated = ", ".join(map(repr, names[names.duplicated()].unique().tolist()[:3]))
        raise InvalidInput(f"several columns of X have the name {repeated}. Rename or remove columns.")


def counted_rows(sample_weight: Any, X: Any) -> Array | None:
    """Return a mask of the rows of positive weight; None without weights, or if they are not one per row."""
    try:
        weight = None if sample_weight is None else np.asarray(sample_weight, float)
    except (TypeError, ValueError):
        return None  # the check of the weights reports it
    if weight is None or not is_frame(X) or weight.shape != (len(X),) or not np.any(weight > 0):
        return None
    return np.asarray(weight > 0)


def check_labels_known(y: Any) -> None:
    """Raise InvalidInput if a label of a list, an array or a Series is missing: None, NaN or NA."""
    kind = getattr(getattr(y, "dtype", None), "kind", "O")
    if issparse(y):
        raise InvalidInput("y is sparse, but labels are dense. Use y.toarray().ravel().")
    if kind in "biuUS" or (kind == "f" and not np.isnan(np.asarray(y)).any()):
        return
    labels = np.asarray(y, object)
    rows = [i for i, label in enumerate(labels) if plain(label) is None] if labels.ndim == 1 else []
    if rows:
        many = "1 label is" if len(rows) == 1 else f"{len(rows)} labels are"
        raise InvalidInput(
            f"Input y contains NaN or None: {many} missing, the first at row {rows[0]}. Remove these rows "
            "from X and y. A rule can still use them as unlabeled=."
        )


def plain(value: Any) -> Any:
    """Return a value of a cell as a Python text, number or bool; None if it is missing."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return None
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and value != value:
        return None
    return value if isinstance(value, (str, bool, int, float)) else str(value)


def _text(value: Any) -> str:
    return MISSING if value is None else str(value)


def _quoted(value: Any) -> str:
    return repr(value) if isinstance(value, str) else _text(value)


def _has_texts(column: Any) -> bool:
    """Return whether a column contains texts that are categories."""
    if getattr(column.dtype, "kind", "O") != "O" or str(column.dtype) == "category":
        return False
    texts = {value for value in column.tolist() if isinstance(value, str)}
    numerals = [text for text in texts if is_numeral(text)]
    commas = [text for text in texts if is_numeral(text.replace(",", ".", 1))]
    if len(numerals) == len(texts) or len(commas) == len(texts):
        return False  # numbers as texts
    if len(commas) > len(texts) / 2:
        odd = next(text for text in sorted(texts) if text not in commas)
        raise InvalidInput(
            f"X contains text in column {column.name!r}: most of its values are numbers, but one is {odd!r}. "
            "Write NaN for a missing number. For categories, use column.astype('category')."
        )
    if len(texts) > MAX_VALUES:
        raise InvalidInput(
            f"column {column.name!r} has {len(texts)} different texts, which looks like an identifier. Leave "
            "the column out, or use column.astype('category') to encode every value."
        )
    return True


def _values(column: Any) -> list[Any]:
    """Return the values of a column with categories, a missing value last."""
    found = [plain(value) for value in column.tolist()]
    if str(column.dtype) == "category":
        values = [plain(value) for value in column.cat.categories.tolist()]
    else:
        values = sorted(
            {value for value in found if value is not None}, key=lambda v: (isinstance(v, str), v)
        )
    return [*values, None] if None in found else values


def _numbers(column: Any, name: str, what: str) -> Array:
    """Return a column of numbers, with NaN for missing values."""
    if isinstance(column.dtype, np.dtype) and column.dtype.kind in "fiub":
        return np.asarray(column, float)
    try:
        return np.array([np.nan if plain(value) is None else value for value in column.tolist()], float)
    except (TypeError, ValueError) as error:
        raise InvalidInput(
            f"{what} contains a value that is not a number in column {name!r}, where the training rows have "
            f"numbers: {error}."
        ) from error


def is_numeral(text: str) -> bool:
    """Return whether a text is a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True
