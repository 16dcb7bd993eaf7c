r"""Columns of a loss over changed entries, from its dual with one variable for each entry.

:mod:`..methods.entries` solves the problem with all columns at once. Its dual variables
:math:`\beta_i / \alpha_i` are a mean of changes of at most k entries each. These changes are the columns, so
all further steps are those of column generation.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array, issparse

from ..._utils.arrays import Array
from ...function.fitted import Fitted
from ...function.maps import LinearMap
from ...knowledge.worst_case.orbit_columns import OrbitColumns
from ...sample import Sample
from ...spec import Spec
from ..methods.entries import EntryMargins, EntrySolution, minimise

# Shares of a change below this are rounding.
TINY = 1e-12


class EntryAnswer(NamedTuple):
    """Solution with all columns: f, dual variables of rows and columns, slacks, objectives and steps."""

    f: Fitted
    own: Array
    columns: OrbitColumns
    prices: Array
    slack: Array
    gap: float
    steps: int


@dataclass(frozen=True, eq=False)
class _Entries:
    """Rows with a cost, and the new factor of each entry that changes.

    ``used`` has the columns with stored entries. The weights of all further columns are 0, so the margins
    leave them out: 60 mails have 5000 of 100 000 words.
    """

    margins: EntryMargins
    used: Array
    X: csr_array
    factor: Array


def solve_entries(
    spec: Spec, block: Any, sample: Sample, state: OrbitColumns, tol: float
) -> EntryAnswer | None:
    """Return the solution with all columns, or None if the block has others or the method fails."""
    if not spec.linear or len(state):
        return None
    changes = block.entry_changes(sample)
    if changes is None:
        return None
    entries = _entries(spec, sample, *changes)
    found = minimise(entries.margins, tol, spec.deadline)
    if found is None:
        return None
    features = LinearMap(sample.X.shape[1], spec.scale)
    w = np.zeros(sample.X.shape[1])
    w[entries.used] = found.w
    shift = 0.0
    if spec.scale is not None:
        shift = float(spec.scale.shift @ (w / spec.scale.width))
    own, columns, prices = _columns(entries, found, sample, state)
    f = features.fitted(w, found.bias + shift)
    return EntryAnswer(f, own, columns, prices, found.slack, abs(found.gap), found.steps)


def _entries(spec: Spec, sample: Sample, limit: Array, low: Array, high: Array) -> _Entries:
    """Return rows and entries; ``limit``, ``low`` and ``high`` are those of the training rows."""
    active = sample.counted_rows
    X = csr_array(sample.X[active])
    X.sum_duplicates()
    n, d = X.shape
    count = np.zeros(len(sample), int)
    count[: sample.n_train] = np.minimum(limit, d)
    count = count[active]
    factors = np.ones((2, len(sample)))
    factors[:, : sample.n_train] = low, high
    y = sample.y[active]
    owner = np.repeat(np.arange(n), np.diff(X.indptr))
    data = y[owner] * X.data
    if spec.scale is not None:
        data = data / np.asarray(spec.scale.width)[X.indices]
    places = []
    new = []
    for factor in factors[:, active]:
        place = np.flatnonzero((factor[owner] != 1.0) & (data != 0) & (count[owner] > 0))
        places.append(place)
        new.append(factor[owner[place]])
    place = np.concatenate(places)
    order = np.argsort(place, kind="stable")
    place = place[order]
    factor = np.concatenate(new)[order]
    used, column = np.unique(X.indices, return_inverse=True)
    margins = EntryMargins(
        signed=csr_array((data, column, X.indptr), shape=(n, len(used))),
        y=y,
        margin=sample.margin[active],
        bound=spec.C * sample.cost[active],
        limit=count,
        row=owner[place],
        place=place,
        gain=(1.0 - factor) * data[place],
    )
    return _Entries(margins, used, X, factor)


def _columns(
    entries: _Entries, found: EntrySolution, sample: Sample, state: OrbitColumns
) -> tuple[Array, OrbitColumns, Array]:
    """Return the dual variables of the rows themselves, the columns, and their dual variables."""
    entry, theta = _changes(entries, found)
    row = entries.margins.row[entry]
    owner, weight, vertex, member = _vertices(row, theta, np.flatnonzero(found.alpha > 0))
    price = weight * found.alpha[owner]
    moved = np.zeros(len(owner), bool)
    moved[vertex] = True
    own = np.bincount(owner[~moved], price[~moved], minlength=len(found.alpha))
    position = np.cumsum(moved) - 1
    points = entries.X[owner[moved]]
    start = points.indptr[position[vertex]] - entries.X.indptr[owner[vertex]]
    points.data[start + entries.margins.place[entry[member]]] *= entries.factor[entry[member]]
    m = int(moved.sum())
    columns = replace(
        state,
        rows=sample.counted_rows[owner[moved]],
        points=points if issparse(sample.X) else points.toarray(),
        demands=np.ones(m),
        thetas=np.zeros((m, 0)),
        moves=np.full(m, -1),
    )
    return own, columns, price[moved]


def _changes(entries: _Entries, found: EntrySolution) -> tuple[Array, Array]:
    """Return the entries that change, and their mean shares; of two factors on a cell one remains."""
    alpha = found.alpha[entries.margins.row]
    share = np.where(alpha > 0, found.beta / np.maximum(alpha, 1e-300), 0.0)
    twice = np.flatnonzero((np.diff(entries.margins.place) == 0) & (share[:-1] > 0) & (share[1:] > 0))
    change = 1.0 - entries.factor
    both = share[twice] * change[twice] + share[twice + 1] * change[twice + 1]
    first = both * change[twice] > 0
    share[twice] = np.where(first, both / change[twice], 0.0)
    share[twice + 1] = np.where(first, 0.0, both / change[twice + 1])
    entry = np.flatnonzero(share > TINY)
    return entry, np.minimum(share[entry], 1.0)


def _vertices(row: Array, theta: Array, rows: Array) -> tuple[Array, Array, Array, Array]:
    """Return sets of entries whose mean is theta, of at most as many entries as theta has in a row.

    A comb of teeth at distance 1 is moved over the line of all theta of a row. Its teeth choose a set, which
    changes where a tooth reaches the end of an entry.

    Returns
    -------
    owner, weight : (v,) arrays, the row of each set and its weight; weights of a row have the sum 1.
    vertex, member : (p,) arrays, a set and the position of an entry in it.
    """
    full = theta >= 1.0 - TINY
    part = np.flatnonzero(~full)
    size = int(max(row.max(initial=-1), rows.max(initial=-1))) + 1
    count = np.bincount(row[part], minlength=size)
    first = np.cumsum(count) - count
    summed = np.concatenate([[0.0], np.cumsum(theta[part])])
    end = summed[1:] - summed[first[row[part]]]
    start = end - theta[part]
    owner = np.concatenate([rows, row[part]])
    cut = np.concatenate([np.zeros(len(rows)), end % 1.0])
    order = np.lexsort((cut, owner))
    owner = owner[order]
    cut = cut[order]
    following = np.append(cut[1:], 1.0)
    following[np.append(np.diff(owner) != 0, True)] = 1.0
    length = following - cut
    kept = length > TINY
    owner = owner[kept]
    middle = (cut + 0.5 * length)[kept]
    weight = length[kept] / np.bincount(owner, length[kept], minlength=size)[owner]
    vertex, place = _pairs(owner, first, count)
    inside = np.ceil(end[place] - middle[vertex]) > np.ceil(start[place] - middle[vertex])
    whole = np.flatnonzero(full)
    whole_count = np.bincount(row[whole], minlength=size)
    whole_vertex, whole_place = _pairs(owner, np.cumsum(whole_count) - whole_count, whole_count)
    return (
        owner,
        weight,
        np.concatenate([vertex[inside], whole_vertex]),
        np.concatenate([part[place[inside]], whole[whole_place]]),
    )


def _pairs(owner: Array, first: Array, count: Array) -> tuple[Array, Array]:
    """Return all pairs of a set and an item of its row; the items of a row follow each other."""
    size = count[owner]
    vertex = np.repeat(np.arange(len(owner)), size)
    offset = np.arange(len(vertex)) - np.repeat(np.cumsum(size) - size, size)
    return vertex, first[owner[vertex]] + offset
