"""One round of column generation: the worst members of all orbits for a fitted f, and the next columns."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..._utils.arrays import Array, as_keys, stack
from ...spec import NEGLIGIBLE_DUAL
from ..views import Solved, Step
from .orbit_columns import OrbitColumns
from .orbit_loss import CHUNK, OrbitLoss

# A round may add this many columns even if few columns are active: small problems are solved quickly.
MIN_NEW = 30


@dataclass(frozen=True)
class Shortage:
    """The distance of the objective from a bound, and the tolerances of a round.

    Attributes
    ----------
    missing : float
        The increase of the objective if every slack covers the worst member of its orbit.
    allowed : float
        The increase that is tolerated.
    negligible : float
        A violation that needs no column. All of these together cost at most a tenth of ``allowed``.
    """

    missing: float
    allowed: float
    negligible: float

    @classmethod
    def of(cls, view: Solved, required: Array) -> Shortage:
        """Return the shortage if the slacks must be as required."""
        spec = view.sample.model
        assert spec is not None
        if spec.hard:  # there is no slack: every row must have its margin at every member
            return cls(float(np.max(required - view.slack)), view.tol, 0.1 * view.tol)
        cost = spec.C * view.sample.cost[view.rows]
        present = spec.penalise(np.maximum(view.slack, 0.0))
        missing = cost @ np.maximum(spec.penalise(np.maximum(required, 0.0)) - present, 0.0)
        allowed = view.tol * min(1.0 + abs(view.objective), cost.sum())
        return cls(float(missing), allowed, 0.1 * allowed / cost.sum())


def worst_members(loss: OrbitLoss, f: Any, view: Solved) -> tuple[Array, OrbitColumns]:
    """Return for each row with a cost the slack that its worst member requires, and this member."""
    rows = view.rows
    assert rows is not None
    if view.state.orbit is None:
        return _worst_unlisted(loss, f, view)
    required = _listed_slacks(loss, f, view)
    moves = np.argmax(required, axis=1)
    return required[np.arange(len(rows)), moves], view.state.members(rows, moves, loss.demand)


def _worst_unlisted(loss: OrbitLoss, f: Any, view: Solved) -> tuple[Array, OrbitColumns]:
    sample = view.sample
    rows = view.rows
    assert rows is not None
    found = [
        loss.worst_copies(f, sample.X[part], sample.y[part], sample.margin[part], sample.labels[part])
        for part in np.array_split(rows, -(-len(rows) // CHUNK))
    ]
    margins = np.concatenate([margin for margin, _ in found])
    points = stack(*(copies for _, copies in found))
    columns = OrbitColumns(rows, points, np.ones(len(rows)), np.empty((len(rows), 0)), np.full(len(rows), -1))
    return margins - sample.y[rows] * f.value(points), columns


def _listed_slacks(loss: OrbitLoss, f: Any, view: Solved) -> Array:
    """Return the slack that every member of the orbit of every row with a cost requires, (n, s)."""
    sample = view.sample
    rows = view.rows
    orbit = view.state.orbit
    y = sample.y[rows][:, None]
    rho = sample.margin[rows][:, None]
    if view.scores is None:
        values = f.value(orbit[rows].reshape(-1, orbit.shape[2])).reshape(len(y), -1)
    else:
        values = view.scores[rows]
    state: OrbitColumns = view.state
    demand = state.listed_demands(rows, loss.demand)
    return loss.shortfall(y, rho, demand, values, state.listed_demands(rows, loss.scalings_at))


def next_columns(loss: OrbitLoss, f: Any, view: Solved, final: bool = True) -> Step:
    """Return the columns of the next round; no state if f satisfies the loss to the tolerance.

    ``final`` means that the loss covers no points but the columns and the listed members. Then the slacks
    required are noted for the upper bound of this round.
    """
    state = view.state
    if state.orbit is None:
        worst, found = worst_members(loss, f, view)
    else:
        required = _listed_slacks(loss, f, view)
        worst = required.max(axis=1)
    shortage = Shortage.of(view, worst)
    step = Step(needed_slack=worst if final else None, columns=len(state))
    # The sum must be within the tolerance, and every row, however small its cost is.
    if shortage.missing <= shortage.allowed and np.max(worst - view.slack) <= 5 * view.tol:
        return step
    duals = np.asarray(view.duals.get(loss.column_label, np.empty(0)))
    active_rows = np.abs(view.alpha) > NEGLIGIBLE_DUAL * view.largest
    active = np.abs(duals) > NEGLIGIBLE_DUAL * view.largest
    if state.orbit is None:
        new = found.pick((worst - view.slack > shortage.negligible) & _unknown(found, state))
    else:
        most = min(len(active_rows), max(MIN_NEW, int(active_rows.sum() + active.sum())))
        excess = required - view.slack[:, None]
        new = _most_violated(loss, excess, shortage.negligible, most, view)
    if len(new) == 0:
        return step
    return replace(step, state=_without_inactive(view, active_rows, active, shortage).joined(new))


def _unknown(found: OrbitColumns, state: OrbitColumns) -> Array:
    known = set(zip(state.rows.tolist(), as_keys(state.points), strict=True))
    keys = zip(found.rows.tolist(), as_keys(found.points), strict=True)
    return np.array([key not in known for key in keys], bool)


def _without_inactive(view: Solved, active_rows: Array, active: Array, shortage: Shortage) -> OrbitColumns:
    """Return the state without inactive columns, and with the rows whose own margin is inactive."""
    state: OrbitColumns = view.state
    rows = view.rows
    assert rows is not None
    resting = np.zeros(view.sample.n_train, bool)
    resting[rows[~active_rows]] = True
    # If the bias or the solution of the 1-norm is not unique, f can change at an equal objective. A column
    # removed then returns and is removed again for ever, so the objective must rise first.
    if len(active) == len(state) and view.objective > state.level + 0.1 * shortage.allowed:
        state = replace(state.pick(active), level=view.objective)
    return replace(state, resting=resting)


def _most_violated(
    loss: OrbitLoss, excess: Array, negligible: float, most: int, view: Solved
) -> OrbitColumns:
    """Return the most violated members: first one of each row, then others of any row.

    In early rounds f is far from the optimum, and one member of every violated row is too many. In late
    rounds it is too few: few rows need several members each. Without the preference for the first member of a
    row, a long orbit adds neighbours with nearly equal constraints.
    """
    state = view.state
    rows = view.rows
    assert rows is not None
    listed = state.moves >= 0
    known = np.zeros((view.sample.n_train, excess.shape[1]), bool)
    known[state.rows[listed], state.moves[listed]] = True
    violated = (excess > negligible) & ~known[rows]
    first = np.zeros_like(violated)
    first[np.arange(len(rows)), np.where(violated, excess, -np.inf).argmax(axis=1)] = True
    places = np.flatnonzero(violated)
    order = np.lexsort((-excess.ravel()[places], ~first.ravel()[places]))
    row, move = np.unravel_index(np.sort(places[order[:most]]), excess.shape)
    columns: OrbitColumns = state.members(rows[row], move, loss.demand)
    return columns
