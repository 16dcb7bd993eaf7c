"""The members of orbits that are constraints of the problem: the state of column generation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from ..._utils.arrays import Array, stack


@dataclass(frozen=True, eq=False)
class OrbitColumns:
    r"""Members of orbits that are constraints of the problem, one column each.

    Attributes
    ----------
    rows : (m,) array
        The training row of each column.
    points : (m, d) array
        The transformed rows; sparse if X is sparse.
    demands : (m,) array
        :math:`\Delta`, the share of the margin required at each point.
    thetas : (m, q) array
        The parameters of each transformation.
    moves : (m,) array
        The index of each column within the orbit, -1 for a point that is not listed.
    orbit : (n, s, d) array or None
        All members of all orbits; None if they cannot be listed.
    grid : (s, q) array, (p + 1, s, q) array or None
        The parameters of all members. If transforms differ between rows, there is a list of members for each
        of p transforms, and a last one for rows without a transform. A list that is shorter than s ends with
        zeros, where a member is the row itself.
    part : (n,) array or None
        The list of each row in ``grid``, -1 for a row without a transform; None if there is one list.
    resting : (n,) array or None
        Whether the margin of each training row was inactive in the last round; None before the first round.
    level : float
        The objective when inactive columns were last removed.
    """

    rows: Array
    points: Array
    demands: Array
    thetas: Array
    moves: Array
    orbit: Array | None = None
    grid: Array | None = None
    resting: Array | None = None
    level: float = -np.inf
    part: Array | None = None

    parts: ClassVar[tuple[str, ...]] = ("rows", "demands", "thetas", "moves")

    @classmethod
    def empty(
        cls, X: Any, orbit: Array | None = None, grid: Array | None = None, part: Array | None = None
    ) -> OrbitColumns:
        """Return the state without columns, for training rows X."""
        none = np.empty(0, int)
        thetas = np.empty((0, 0)) if grid is None else np.empty((0, grid.shape[-1]))
        return OrbitColumns(none, X[:0], np.empty(0), thetas, none, orbit, grid, part=part)

    def __len__(self) -> int:
        return len(self.rows)

    def pick(self, which: Array) -> Self:
        """Return the state with some of the columns."""
        return replace(self, **{part: getattr(self, part)[which] for part in ("points", *self.parts)})

    def joined(self, new: OrbitColumns) -> Self:
        """Return the state with the columns of ``new`` appended."""
        both: dict[str, Any] = {
            part: np.concatenate([getattr(self, part), getattr(new, part)]) for part in self.parts
        }
        return replace(self, points=stack(self.points, new.points), **both)

    def members(self, rows: Array, moves: Array, demand: Callable[[Array], Array]) -> OrbitColumns:
        """Return listed members of the orbits of ``rows`` as columns; ``demand`` maps thetas to shares."""
        assert self.orbit is not None
        thetas = self.thetas_of(rows, moves)
        return OrbitColumns(rows, self.orbit[rows, moves], demand(thetas), thetas, moves)

    def thetas_of(self, rows: Array, moves: Array) -> Array:
        """Return the parameters of listed members of the orbits of ``rows``."""
        assert self.grid is not None
        return self.grid[moves] if self.part is None else self.grid[self.part[rows], moves]

    def listed_demands(self, rows: Array, demand: Callable[[Array], Array]) -> Array:
        """Return the share of the margin at every listed member of the orbits of ``rows``, (1 or n, s)."""
        assert self.grid is not None
        if self.part is None:
            return demand(self.grid)[None]
        lists, size, q = self.grid.shape
        return demand(self.grid.reshape(lists * size, q)).reshape(lists, size)[self.part[rows]]

    def complete(self, demand: Callable[[Array], Array]) -> Self:
        """Return the state with every member of every orbit, except the rows themselves."""
        assert self.orbit is not None
        n, s, _ = self.orbit.shape
        rows, moves = (indices.ravel() for indices in np.mgrid[:n, 1:s])
        if self.part is not None:
            moved = self.thetas_of(rows, moves).any(axis=1)
            rows = rows[moved]
            moves = moves[moved]
        return self.joined(self.members(rows, moves, demand))

    def of_rows(self, rows: Array, n_train: int) -> tuple[Self, Array]:
        """Return the columns of some training rows, and the position in ``rows`` of each column's row."""
        place = np.full(n_train, -1)
        place[rows] = np.arange(len(rows))
        kept = place[self.rows] >= 0
        state = self if kept.all() else self.pick(kept)
        return state, place[state.rows]
