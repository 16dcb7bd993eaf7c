r"""Shared and private variables, and which cones belong together.

A variable is *private* if only a few cones know it: a slack, a bound, a multiplier. Cones that have a private
variable in common are a *group*. What is not private is shared by all.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from .cones import Array, Batch, Cones, Indices
from .mixed import Mixed

# A variable in more cones than this is shared.
CONES = 12

# Groups with more private variables, or more rows, give their busiest variables away.
PRIVATE = 12
ROWS = 128

# Second-order cones with more entries than this are wide.
WIDE = 8

# An array of places, or a slice where these follow each other: what NumPy need not copy.
Places = Any


def places(index: Indices) -> Places:
    """A slice, if it is one."""
    if len(index) and index[-1] - index[0] == len(index) - 1 and np.all(np.diff(index) == 1):
        return slice(int(index[0]), int(index[-1]) + 1)
    return index


@dataclass(eq=False)
class Class:
    """Groups that look alike, stacked along the last axis of arrays.

    Attributes
    ----------
    cones : of each cone of a group, its batch and which of its cones, for all g groups.
    rows : (k, g) rows of each of g groups, cone after cone.
    private : (p, g) columns, counted among the private ones.
    active : places among the k rows that have shared variables.
    dense : whether these rows are kept as dense ones.
    own : (k, p, g) coefficients of the private variables.
    """

    cones: list[tuple[Batch, Indices]]
    rows: Indices
    private: Indices
    active: Indices
    dense: bool
    own: Array


def shared_columns(A: Any, P: Any, cones: Cones) -> tuple[Indices, Indices]:
    """Whether each variable is shared; and the group of each cone."""
    A = Mixed.of(A)
    P = Mixed.of(P)
    n = A.shape[1]
    length = cones.lengths
    off = P.sparse.indices != np.repeat(np.arange(n), np.diff(P.sparse.indptr))
    shared = np.bincount(P.sparse.indices[off & (P.sparse.data != 0)], minlength=n) > 0  # coupled by P
    shared[A.columns] = shared[P.columns] = True
    # So many entries cannot be in few cones, whichever they are.
    shared |= np.bincount(A.sparse.indices, minlength=n) > CONES * length.max(initial=1)
    cone, column = _entries(A.sparse, cones, ~shared)
    touches = np.bincount(column, minlength=n)  # cones a variable is in
    shared |= (touches > CONES) | (touches == 0)
    shared[column[length[cone] > ROWS]] = True
    while True:
        known = ~shared[column]
        cone = cone[known]
        column = column[known]
        group_of_cone = _components(cone, column, len(length), n)
        groups = int(group_of_cone.max(initial=-1)) + 1
        group_of_column = np.full(n, -1)
        group_of_column[column] = group_of_cone[cone]
        inside = np.flatnonzero(~shared)
        private = np.bincount(group_of_column[inside], minlength=groups)
        rows = np.bincount(group_of_cone, weights=length, minlength=groups)
        crowded = (private > PRIVATE) | ((rows > ROWS) & (private > 0))
        if not crowded.any():
            return shared, group_of_cone
        inside = inside[crowded[group_of_column[inside]]]
        most = np.zeros(groups)
        np.maximum.at(most, group_of_column[inside], touches[inside])
        # One cone with many variables of its own has no busiest one: all go.
        busiest = inside[touches[inside] >= np.maximum(most[group_of_column[inside]], 2) * 0.75]
        shared[busiest if len(busiest) else inside] = True


def _entries(A: Any, cones: Cones, wanted: Indices) -> tuple[Indices, Indices]:
    """Cones and those of their variables that are wanted, each pair once."""
    entry = np.flatnonzero(wanted[A.indices])
    column = A.indices[entry].astype(np.int64)
    cone = cones.cone_of[np.searchsorted(A.indptr, entry, side="right") - 1]
    if cones.size > len(cones.lengths):  # some cone has several rows
        pair = np.unique(cone * A.shape[1] + column)
        cone, column = np.divmod(pair, A.shape[1])
    return cone, column


def _components(cone: Indices, column: Indices, cones: int, columns: int) -> Indices:
    """The group of each cone, in the order of their first cones."""
    graph = sparse.coo_array(
        (np.ones(len(cone), bool), (cone, cones + column)), (cones + columns, cones + columns)
    )
    labels = connected_components(graph, directed=False)[1][:cones]
    return np.asarray(np.unique(labels, return_inverse=True)[1])


def classes(own: Any, cones: Cones, group: Indices, active: Indices, dense: Indices) -> list[Class]:
    """All groups, by what they look like.

    Parameters
    ----------
    own : sparse matrix, rows by private variables.
    group : of each cone.
    active : whether each row has shared variables; alike in all cones of a batch, but for single rows.
    dense : whether the rows of each group are kept as dense ones.
    """
    count = len(dense)
    batch_of = np.repeat(np.arange(len(cones.batches)), [batch.n for batch in cones.batches])
    number = np.concatenate(
        [np.empty(0, int), *(np.arange(batch.n) for batch in cones.batches)]
    )  # in its batch
    look = 2 * batch_of  # what a cone looks like: its batch, and whether a single row is idle
    single = cones.lengths[cones.cone_of] == 1
    look[cones.cone_of[single]] += ~active[single]
    order = np.lexsort((look, group))  # cones, group by group
    held = np.bincount(group, minlength=count)
    start = np.concatenate([[0], np.cumsum(held)])
    # Private variables, group by group.
    group_of_entry = np.repeat(group[cones.cone_of], np.diff(own.indptr))
    group_of_column = np.empty(own.shape[1], int)
    group_of_column[own.indices] = group_of_entry
    p = np.bincount(group_of_column, minlength=count)
    by_group = np.argsort(group_of_column, kind="stable")
    first = np.concatenate([[0], np.cumsum(p)])
    slot = np.empty(own.shape[1], int)  # of a private variable in its group
    slot[by_group] = np.arange(own.shape[1]) - np.repeat(first[:-1], p)
    # Groups look alike if they have as many private variables, and the same cones one by one.
    label = _numbered(2 * p + dense)
    for j in range(int(held.max(initial=0))):
        more = held > j
        label = label * (2 * len(cones.batches) + 1)
        label[more] += 1 + look[order[start[:-1][more] + j]]
        label = _numbered(label)
    place, within = (
        np.empty(cones.size, int),
        np.empty(count, int),
    )  # of a row in its group, a group in its class
    row_of_entry = np.repeat(np.arange(cones.size), np.diff(own.indptr))
    found = []
    for c in range(int(label.max(initial=-1)) + 1):
        groups = np.flatnonzero(label == c)
        members = order[start[groups] + np.arange(held[groups[0]])[:, None]]
        inside = [(cones.batches[batch_of[each[0]]], number[each]) for each in members]
        rows = np.vstack([b.start + b.n * np.arange(b.k)[:, None] + which for b, which in inside])
        private = by_group[first[groups] + np.arange(p[groups[0]])[:, None]]
        place[rows] = np.arange(len(rows))[:, None]
        within[groups] = np.arange(len(groups))
        block = np.zeros((len(rows), len(private), len(groups)))
        here = np.flatnonzero(label[group_of_entry] == c)
        block[place[row_of_entry[here]], slot[own.indices[here]], within[group_of_entry[here]]] = own.data[
            here
        ]
        found.append(
            Class(inside, rows, private, np.flatnonzero(active[rows[:, 0]]), bool(dense[groups[0]]), block)
        )
    return found


def _numbered(label: Indices) -> Indices:
    """The same labels as numbers from 0."""
    return np.asarray(np.unique(label, return_inverse=True)[1])
