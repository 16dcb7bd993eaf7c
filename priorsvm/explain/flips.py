"""Smallest changes of one column that change the predicted class."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._utils.arrays import Array, whole_columns

# Number of values of a column at which the class is evaluated: at most, at least, and for all columns.
MOST_VALUES = 200
FEWEST_VALUES = 16
ALL_VALUES = 2**14
# Steps of the bisection.
BISECTIONS = 50
# A value is rounded away from the row to the range of its column over this number.
ROUNDING = 10**4
# Columns of whole numbers with a range above this number are searched like other columns.
MOST_WHOLE = 1000


@dataclass(frozen=True, eq=False)
class Search:
    """Ranges and kinds of the columns, which limit changed values.

    Attributes
    ----------
    players : list of lists of int
        Columns that change together; more than one for a category.
    low, high, deviation : arrays of shape (d,)
        Range and standard deviation of each column in the training rows.
    whole : array of shape (d,)
        Whether all values of the column are whole numbers.
    blank : array of shape (d,)
        Whether the column stands for a missing value of a category.
    """

    players: Sequence[Sequence[int]]
    low: Array
    high: Array
    deviation: Array
    whole: Array
    blank: Array

    @classmethod
    def of(
        cls, X: Array, players: Sequence[Sequence[int]], blank: Array, gaps: Array | None = None
    ) -> Search:
        """Return the search over the ranges of training rows, with completed values at ``gaps``."""
        whole = whole_columns(X, gaps)
        return cls(players, X.min(axis=0), X.max(axis=0), X.std(axis=0), whole, blank)

    def is_discrete(self, columns: Sequence[int]) -> bool:
        """Return whether a player has a list of values: a category, or a column of whole numbers."""
        spread = self.high[columns[0]] - self.low[columns[0]]
        return len(columns) > 1 or bool(self.whole[columns[0]] and spread <= MOST_WHOLE)

    def is_recorded(self, player: int, row: Array) -> bool:
        """Return whether a row has a value of a player."""
        columns = list(self.players[player])
        return not (np.isnan(row[columns]) | (self.blank[columns] & (row[columns] > 0))).any()

    def change(self, player: int, row: Array, at: Array) -> Change:
        """Return a changed row, with the size of its change."""
        columns = list(self.players[player])
        deviation = np.where(self.deviation > 0, self.deviation, 1.0)[columns]
        return Change(player, row, float(np.linalg.norm((row[columns] - at[columns]) / deviation)))


@dataclass(frozen=True, eq=False)
class Change:
    """A changed row of another class.

    Attributes
    ----------
    player : int
        Index of the changed player.
    row : array of shape (d,)
        The changed row.
    size : float
        Size of the change in standard deviations.
    """

    player: int
    row: Array
    size: float


def smallest_changes(
    classify: Callable[[Array], Array], x: Array, at: Array, search: Search, players: Iterable[int]
) -> list[Change]:
    """Return the smallest change of each player that changes the class, the smallest of all first.

    Parameters
    ----------
    classify : callable
        Rows -> indices of the predicted classes.
    x : array of shape (d,)
        The row, NaN in missing entries.
    at : array of shape (d,)
        The row with completed entries.
    search : Search
        Ranges of the columns.
    players : iterable of int
        Players to search. Those without a recorded value are left out.

    Returns
    -------
    list of Change
        Empty if no change of one column within the range of the training rows changes the class.
    """
    own = classify(x[None])[0]
    changes: list[Change] = []
    brackets: list[Bracket] = []
    for j in (j for j in players if search.is_recorded(j, x)):
        columns = search.players[j]
        rows = _candidates(j, x, at, search)
        flipped = classify(rows) != own if len(rows) else np.empty(0, bool)
        if search.is_discrete(columns):
            changes += [search.change(j, row, at) for row in rows[flipped]]
        else:
            brackets += _brackets(j, columns[0], rows[flipped], rows[~flipped], at[columns[0]])
    changes += [search.change(b.player, b.outer, at) for b in _bisected(brackets, classify, own, search)]
    smallest: dict[int, Change] = {}
    for change in sorted(changes, key=lambda change: change.size):
        smallest.setdefault(change.player, change)
    return list(smallest.values())


@dataclass(frozen=True, eq=False)
class Bracket:
    """A row of another class, and a value of the changed column that keeps the class."""

    player: int
    column: int
    outer: Array
    inner: float


def _candidates(j: int, x: Array, at: Array, search: Search) -> Array:
    """Return rows with other values of a player."""
    columns = list(search.players[j])
    if len(columns) > 1:  # one category at a time
        values = np.eye(len(columns))[~search.blank[columns]]
    else:
        [c] = columns
        low = min(search.low[c], at[c])
        high = max(search.high[c], at[c])
        values = _values(low, high, search.is_discrete(columns), len(search.players))[:, None]
    rows = np.tile(x, (len(values), 1))
    rows[:, columns] = values
    return rows[(values != x[columns]).any(axis=1)]


def _values(low: float, high: float, whole: bool, players: int) -> Array:
    """Return increasing values of a column; none if it is constant."""
    if low == high:
        return np.empty(0)
    if whole:
        return np.arange(math.ceil(low), math.floor(high) + 1, dtype=float)
    return np.linspace(low, high, int(np.clip(ALL_VALUES // players, FEWEST_VALUES, MOST_VALUES)))


def _brackets(j: int, c: int, changed: Array, kept: Array, value: float) -> list[Bracket]:
    """Return the nearest row of another class below the value of a column and above it."""
    found = []
    for direction in (-1.0, 1.0):
        ahead = direction * (changed[:, c] - value)
        if (ahead > 0).any():
            outer = changed[np.argmin(np.where(ahead > 0, ahead, np.inf))]
            on_the_way = direction * (kept[:, c] - value)
            on_the_way = on_the_way[(on_the_way > 0) & (on_the_way < abs(outer[c] - value))]
            inner = value + direction * float(on_the_way.max(initial=0.0))
            found.append(Bracket(j, c, outer, inner))
    return found


def _bisected(
    brackets: list[Bracket], classify: Callable[[Array], Array], own: Any, search: Search
) -> list[Bracket]:
    """Return the brackets with the nearest rows of another class, rounded away from the row if possible."""
    if not brackets:
        return []
    rows = np.array([b.outer for b in brackets])
    columns = np.array([b.column for b in brackets])
    place = (np.arange(len(rows)), columns)
    inner = np.array([b.inner for b in brackets])
    first = rows[place].copy()
    direction = np.sign(first - inner)
    for _ in range(BISECTIONS):
        middle = rows.copy()
        middle[place] = (rows[place] + inner) / 2
        kept = classify(middle) == own
        inner = np.where(kept, middle[place], inner)
        rows[~kept] = middle[~kept]
    rounded = rows.copy()
    spread = (search.high - search.low)[columns]
    unit = 10.0 ** np.floor(np.log10(np.where(spread > 0, spread, 1.0) / ROUNDING))
    rounded[place] = [
        float(f"{sign * math.ceil(sign * value / u) * u:.12g}")
        for value, u, sign in zip(rows[place], unit, direction, strict=True)
    ]
    within = direction * (rounded[place] - first) <= 0
    # The class of each row by itself decides: a product of matrices may round otherwise than a single row.
    found = []
    for k, bracket in enumerate(brackets):
        options = [rounded[k]] if within[k] else []
        options += [rows[k], bracket.outer]
        row = next((row for row in options if classify(row[None])[0] != own), None)
        if row is not None:
            found.append(Bracket(bracket.player, bracket.column, row, inner[k]))
    return found
