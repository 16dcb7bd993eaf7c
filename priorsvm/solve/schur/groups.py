r"""Shared and private variables, and which rows belong together.

A variable is *private* if only a few cones know it: a slack, a bound, a multiplier. Cones that have a private
variable in common are a *group*. What is not private is shared by all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from .cones import Array, Cones, Indices

# A variable in more cones than this is shared.
CONES = 12

# Groups with more private variables, or more rows, give their busiest variables away.
PRIVATE, ROWS = 12, 128

# Rows with this share of all shared variables are kept as dense rows.
DENSE = 0.15


@dataclass(eq=False)
class Class:
    """Groups of one shape: k rows, p private variables, a rows that also have shared ones.

    Attributes
    ----------
    rows : (g, k) rows of each of g groups.
    private : (g, p) columns.
    active : (g, a) places among the k rows.
    own : (g, k, p) coefficients of the private variables.
    """

    rows: Indices
    private: Indices
    active: Indices
    own: Array

    @property
    def shape(self) -> tuple[int, int, int, int]:
        return *self.own.shape, self.active.shape[1]

    def some(self, which: Indices) -> Class:
        """Some of its groups."""
        return Class(self.rows[which], self.private[which], self.active[which], self.own[which])

    @property
    def active_rows(self) -> Indices:
        """(g, a)."""
        return np.take_along_axis(self.rows, self.active, axis=1)


def shared_columns(
    A: Any, P: Any, cones: Cones, known: Indices | Sequence[int] = ()
) -> tuple[Indices, Indices]:
    """Whether each variable is shared, these in any case; and the group of each row."""
    m, n = A.shape
    cone_of = _cone_of(cones)
    pattern = sparse.csr_array(
        (np.ones(A.nnz, bool), (np.repeat(cone_of, np.diff(A.indptr)), A.indices)),
        (cone_of[-1] + 1 if m else 0, n),
    )
    touches = np.bincount(pattern.indices, minlength=n)  # cones a variable is in
    P = sparse.csr_array(P)
    off = P.indices != np.repeat(np.arange(n), np.diff(P.indptr))
    coupled = np.bincount(P.indices[off & (P.data != 0)], minlength=n) > 0
    shared = (touches > CONES) | coupled | (touches == 0)
    shared[np.asarray(known, int)] = True
    length = np.bincount(cone_of, minlength=pattern.shape[0])
    for cone in np.flatnonzero(length > ROWS):
        shared[pattern.indices[pattern.indptr[cone] : pattern.indptr[cone + 1]]] = True
    while True:
        group_of_cone, group_of_column = _components(pattern, shared)
        groups = group_of_cone.max(initial=-1) + 1
        private = np.bincount(group_of_column[~shared], minlength=groups)
        rows = np.bincount(group_of_cone, weights=length, minlength=groups)
        crowded = (private > PRIVATE) | ((rows > ROWS) & (private > 0))
        if not crowded.any():
            return shared, group_of_cone[cone_of]
        inside = np.flatnonzero(~shared & crowded[group_of_column])
        most = np.zeros(groups)
        np.maximum.at(most, group_of_column[inside], touches[inside])
        # One cone with many variables of its own has no busiest one: all go.
        busiest = inside[touches[inside] >= np.maximum(most[group_of_column[inside]], 2) * 0.75]
        shared[busiest if len(busiest) else inside] = True


def _cone_of(cones: Cones) -> Indices:
    """The number of the cone of each row."""
    out, first = np.empty(cones.size, int), 0
    for batch in cones.batches:
        batch.of(out)[...] = first + np.arange(batch.n)[:, None]
        first += batch.n
    return out


def _components(pattern: Any, shared: Indices) -> tuple[Indices, Indices]:
    cones, n = pattern.shape
    private = sparse.csr_array(pattern.astype(float) @ sparse.diags_array((~shared).astype(float)))
    private.eliminate_zeros()
    graph = sparse.block_array([[None, private], [private.T, None]], format="csr") if cones and n else None
    if graph is None:
        return np.arange(cones), np.full(n, -1)
    _, labels = connected_components(graph, directed=False)
    of_cone, of_column = labels[:cones], labels[cones:]
    # Shared columns are components of their own here; only those with cones count.
    known, of_cone = np.unique(of_cone, return_inverse=True)
    place = np.searchsorted(known, of_column)
    return of_cone, np.where(shared, -1, np.minimum(place, len(known) - 1))


def classes(A: Any, shared: Indices, group: Indices, dense: Indices) -> list[Class]:
    """All groups, by their shape; rows that are ``dense`` have shared variables beside those of A."""
    m = A.shape[0]
    own = sparse.csr_array(A[:, np.flatnonzero(~shared)])
    outer = sparse.csr_array(A[:, np.flatnonzero(shared)])
    names = np.flatnonzero(~shared)
    is_active = np.diff(outer.indptr) > 0
    is_active[dense] = True
    order = np.argsort(group, kind="stable")  # rows, group by group
    k = np.bincount(group)
    start = np.concatenate([[0], np.cumsum(k)])
    place = np.empty(m, int)  # of a row in its group
    place[order] = np.arange(m) - np.repeat(start[:-1], k)
    group_of_column = np.full(len(names), -1)
    group_of_column[own.indices] = np.repeat(group, np.diff(own.indptr))
    p = np.bincount(group_of_column, minlength=len(k))
    by_group = np.argsort(group_of_column, kind="stable")
    first = np.concatenate([[0], np.cumsum(p)])
    slot = np.empty(len(names), int)  # of a private variable in its group
    slot[by_group] = np.arange(len(names)) - np.repeat(first[:-1], p)
    a = np.bincount(group, weights=is_active, minlength=len(k)).astype(int)
    coefficient_group = np.repeat(group, np.diff(own.indptr))
    coefficient_place = np.repeat(place, np.diff(own.indptr))
    found = []
    shapes, member = np.unique(np.column_stack([k, p, a]), axis=0, return_inverse=True)
    member = member.ravel()
    number = np.empty(len(k), int)  # of a group in its class
    for c, (rows_each, private_each, active_each) in enumerate(shapes):
        groups = np.flatnonzero(member == c)
        number[groups] = np.arange(len(groups))
        rows = order[start[groups][:, None] + np.arange(rows_each)]
        private = names[by_group[first[groups][:, None] + np.arange(private_each)]].reshape(
            len(groups), private_each
        )
        active = np.argsort(~is_active[rows], axis=1, kind="stable")[:, :active_each]
        block = np.zeros((len(groups), rows_each, private_each))
        here = member[coefficient_group] == c
        block[number[coefficient_group[here]], coefficient_place[here], slot[own.indices[here]]] = own.data[
            here
        ]
        found.append(Class(rows, private, active, block))
    return found
