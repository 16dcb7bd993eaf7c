r"""Shared and private variables, and the groups of cones that they form.

A variable is *private* if few cones contain it and P does not couple it to other variables. Examples are
slacks, bounds and dual variables of a block. All remaining variables are *shared*. Cones with a private
variable in common are a *group*: the connected components of the graph of cones and private variables. In a
group that is too large, the most frequent variables become shared. Groups of equal structure are stacked
along the last axis of arrays.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from .cones import Array, Batch, Cones, Indices
from .mixed import MixedMatrix

# A variable in more cones than this is shared.
CONES = 12

# In groups with more private variables or more rows than this, the most frequent variables become shared.
PRIVATE = 12
ROWS = 128

# Second-order cones with more entries than this are wide.
WIDE = 8

# An array of integers, or a slice of consecutive ones, which NumPy does not copy.
Index = Any


def as_slice(index: Indices) -> Index:
    """Return a slice for consecutive integers, and other integers as they are."""
    if len(index) and index[-1] - index[0] == len(index) - 1 and np.all(np.diff(index) == 1):
        return slice(int(index[0]), int(index[-1]) + 1)
    return index


@dataclass(eq=False)
class GroupStack:
    """Groups of equal structure, stacked along the last axis of arrays.

    Attributes
    ----------
    cones : for each cone of a group its batch, and its index in the batch for all g groups.
    rows : (k, g) rows of each group, cone after cone.
    private : (p, g) columns, counted among the private ones.
    active : indices of the rows that have shared variables, among the k rows.
    dense : whether these rows are stored dense.
    own : (k, p, g) coefficients of the private variables.
    """

    cones: list[tuple[Batch, Indices]]
    rows: Indices
    private: Indices
    active: Indices
    dense: bool
    own: Array


def shared_columns(A: Any, P: Any, cones: Cones) -> tuple[Indices, Indices]:
    """Return whether each variable is shared, and the group of each cone."""
    A = MixedMatrix.of(A)
    P = MixedMatrix.of(P)
    n = A.shape[1]
    length = cones.lengths
    shared = _coupled(P.sparse)
    shared[A.columns] = True
    shared[P.columns] = True
    # So many entries are in more than CONES cones in any case.
    shared |= np.bincount(A.sparse.indices, minlength=n) > CONES * length.max(initial=1)
    cone, column = _cones_and_columns(A.sparse, cones, ~shared)
    frequency = np.bincount(column, minlength=n)  # number of cones that contain a variable
    shared |= (frequency > CONES) | (frequency == 0)
    shared[column[length[cone] > ROWS]] = True
    while True:
        private_entry = ~shared[column]
        cone = cone[private_entry]
        column = column[private_entry]
        group_of_cone = _components(cone, column, len(length), n)
        groups = int(group_of_cone.max(initial=-1)) + 1
        group_of_column = np.full(n, -1)
        group_of_column[column] = group_of_cone[cone]
        private = np.flatnonzero(~shared)
        count = np.bincount(group_of_column[private], minlength=groups)
        rows = np.bincount(group_of_cone, weights=length, minlength=groups)
        too_large = (count > PRIVATE) | ((rows > ROWS) & (count > 0))
        if not too_large.any():
            return shared, group_of_cone
        private = private[too_large[group_of_column[private]]]
        highest = np.zeros(groups)
        np.maximum.at(highest, group_of_column[private], frequency[private])
        limit = np.maximum(highest[group_of_column[private]], 2) * 0.75
        most_frequent = private[frequency[private] >= limit]
        # If each variable is in one cone, all variables of the group become shared.
        shared[most_frequent if len(most_frequent) else private] = True


def _coupled(P: Any) -> Indices:
    """Return whether P couples each variable to others."""
    n = P.shape[1]
    off_diagonal = P.indices != np.repeat(np.arange(n), np.diff(P.indptr))
    return np.asarray(np.bincount(P.indices[off_diagonal & (P.data != 0)], minlength=n) > 0)


def _cones_and_columns(A: Any, cones: Cones, selected: Indices) -> tuple[Indices, Indices]:
    """Return all pairs of a cone and one of its selected variables, each pair once."""
    entry = np.flatnonzero(selected[A.indices])
    column = A.indices[entry].astype(np.int64)
    cone = cones.cone_of[np.searchsorted(A.indptr, entry, side="right") - 1]
    if cones.size > len(cones.lengths):  # some cone has several rows
        pair = np.unique(cone * A.shape[1] + column)
        cone, column = np.divmod(pair, A.shape[1])
    return cone, column


def _components(cone: Indices, column: Indices, cones: int, columns: int) -> Indices:
    """Return the group of each cone; groups are numbered by their first cones."""
    graph = sparse.coo_array(
        (np.ones(len(cone), bool), (cone, cones + column)), (cones + columns, cones + columns)
    )
    labels = connected_components(graph, directed=False)[1][:cones]
    return _numbered(labels)


def _numbered(label: Indices) -> Indices:
    """Return the labels as integers from 0."""
    return np.asarray(np.unique(label, return_inverse=True)[1])


def stack_groups(own: Any, cones: Cones, group: Indices, active: Indices, dense: Indices) -> list[GroupStack]:
    """Return all groups, stacked by structure.

    Parameters
    ----------
    own : sparse array
        Rows by private variables.
    cones : Cones
        All cones.
    group : array of int
        Group of each cone.
    active : array of bool
        Whether each row has shared variables. Equal in all cones of a batch, except for single rows.
    dense : array of bool
        Whether the rows of each group are stored dense.
    """
    members = _Members(own, cones, group, active, dense)
    return [members.stack(np.flatnonzero(members.label == c)) for c in range(members.structures)]


class _Members:
    """Cones and private variables of each group.

    Attributes
    ----------
    label : structure of each group: number of private variables, storage, and its cones one by one.
    structures : number of different structures.
    """

    def __init__(self, own: Any, cones: Cones, group: Indices, active: Indices, dense: Indices):
        groups = len(dense)
        self.own = own
        self.cones = cones
        self.active = active
        self.dense = dense
        sizes = [batch.n for batch in cones.batches]
        self.batch_of = np.repeat(np.arange(len(sizes)), sizes)
        self.index_in_batch = np.concatenate([np.empty(0, int), *map(np.arange, sizes)])
        kind = self._kinds()
        # Cones, group by group.
        self.cone_order = np.lexsort((kind, group))
        self.cone_count = np.bincount(group, minlength=groups)
        self.first_cone = np.concatenate([[0], np.cumsum(self.cone_count)])
        # Private variables, group by group.
        self.group_of_entry = np.repeat(group[cones.cone_of], np.diff(own.indptr))
        self.row_of_entry = np.repeat(np.arange(cones.size), np.diff(own.indptr))
        group_of_column = np.empty(own.shape[1], int)
        group_of_column[own.indices] = self.group_of_entry
        self.column_count = np.bincount(group_of_column, minlength=groups)
        self.column_order = np.argsort(group_of_column, kind="stable")
        self.first_column = np.concatenate([[0], np.cumsum(self.column_count)])
        self.slot = np.empty(own.shape[1], int)  # of a private variable in its group
        before = np.repeat(self.first_column[:-1], self.column_count)
        self.slot[self.column_order] = np.arange(own.shape[1]) - before
        # Places in the stack at hand.
        self.row_place = np.empty(cones.size, int)
        self.group_place = np.empty(groups, int)
        self.label = self._labels(kind)
        self.structures = int(self.label.max(initial=-1)) + 1

    def _kinds(self) -> Indices:
        """Return the kind of each cone: its batch, and whether a single row has no shared variable."""
        cones = self.cones
        kind = 2 * self.batch_of
        single = cones.lengths[cones.cone_of] == 1
        kind[cones.cone_of[single]] += ~self.active[single]
        return kind

    def _labels(self, kind: Indices) -> Indices:
        label = _numbered(2 * self.column_count + self.dense)
        for j in range(int(self.cone_count.max(initial=0))):
            has_jth = self.cone_count > j
            label = label * (2 * len(self.cones.batches) + 1)
            label[has_jth] += 1 + kind[self.cone_order[self.first_cone[:-1][has_jth] + j]]
            label = _numbered(label)
        return label

    def stack(self, groups: Indices) -> GroupStack:
        """Return the stack of some groups of equal structure."""
        cone_numbers = np.arange(self.cone_count[groups[0]])[:, None]
        members = self.cone_order[self.first_cone[groups] + cone_numbers]
        inside = [(self.cones.batches[self.batch_of[each[0]]], self.index_in_batch[each]) for each in members]
        rows = np.vstack([b.start + b.n * np.arange(b.k)[:, None] + which for b, which in inside])
        column_numbers = np.arange(self.column_count[groups[0]])[:, None]
        private = self.column_order[self.first_column[groups] + column_numbers]
        own = self._own_block(groups, rows, len(private))
        active = np.flatnonzero(self.active[rows[:, 0]])
        return GroupStack(inside, rows, private, active, bool(self.dense[groups[0]]), own)

    def _own_block(self, groups: Indices, rows: Indices, p: int) -> Array:
        """Return the coefficients of the private variables, (k, p, g)."""
        self.row_place[rows] = np.arange(len(rows))[:, None]
        self.group_place[groups] = np.arange(len(groups))
        block = np.zeros((len(rows), p, len(groups)))
        here = np.flatnonzero(self.label[self.group_of_entry] == self.label[groups[0]])
        place = self.row_place[self.row_of_entry[here]]
        slot = self.slot[self.own.indices[here]]
        block[place, slot, self.group_place[self.group_of_entry[here]]] = self.own.data[here]
        return block
