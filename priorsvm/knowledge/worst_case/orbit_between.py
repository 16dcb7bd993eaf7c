"""Transformations between the listed members of an orbit, for transformations that are continuous."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from ..._utils.arrays import Array
from ..._utils.parallel import over_rows
from ...errors import InvalidInput
from ...transforms.base import Transform
from ..by_class import Group
from ..views import Solved, Step, Verdict
from .orbit_columns import OrbitColumns
from .orbit_search import Shortage

# Points from one member of an orbit to the next: in a fit, and in the finer grid of verify().
STEPS = 16
VERIFY_STEPS = 50
# The largest grid over several parameters at once.
MAX_GRID = 20_000
# The margin may be missed by this much between the points of the grid.
TOLERANCE = 1e-3


def grid_between(transform: Transform, steps: int = STEPS) -> tuple[Array, Array]:
    """Return parameters between the members of the orbit, and the neighbours of each.

    Parameters
    ----------
    transform : Transform
    steps : int
        The number of points from one member to the next.

    Returns
    -------
    thetas : (k, q) array
        Points on lines along each parameter, or on a full grid if members change several parameters.
    neighbours : (k, 2) array
        The positions of the points before and after on the same line, -1 if there is none.
    """
    grid = transform.theta_grid()
    q = grid.shape[1]
    axes = [_subdivided(np.unique(grid[:, j]), steps) for j in range(q)]
    if q > 1 and not (np.count_nonzero(grid, axis=1) <= 1).all():
        size = int(np.prod([len(axis) for axis in axes]))
        if size > MAX_GRID:
            raise InvalidInput(
                f"continuous=True requires a grid of {size} transformations, and at most {MAX_GRID} are "
                "searched. Use fewer steps or fewer parameters."
            )
        box = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, q)
        return box, np.full((len(box), 2), -1)
    lines = [np.outer(axis, unit) for axis, unit in zip(axes, np.eye(q), strict=True)]
    thetas = np.concatenate(lines)
    place = np.arange(len(thetas))
    ends = np.cumsum([len(axis) for axis in axes])
    neighbours = np.column_stack([place - 1, place + 1])
    neighbours[np.concatenate([[0], ends[:-1]]), 0] = -1
    neighbours[ends - 1, 1] = -1
    return thetas, neighbours


def finest_grid(transform: Transform) -> Array:
    """Return the finer grid of verify(), or the grid of the fit if the finer one is too large."""
    try:
        return grid_between(transform, VERIFY_STEPS)[0]
    except InvalidInput:
        return grid_between(transform)[0]


def check_between(transform: Transform, X: Array) -> None:
    """Raise InvalidInput unless the transformation has parameters between its members."""
    transform.span()  # raises for discrete transformations
    if transform.n_parameters == 0:
        raise InvalidInput(
            "continuous=True requires a transform with parameters, and this one has none. Leave it out."
        )
    thetas, _ = grid_between(transform)
    combined = thetas[np.count_nonzero(thetas, axis=1).argmax()]
    try:
        transform.apply(X[:1], combined)
    except InvalidInput as error:
        raise InvalidInput(
            "continuous=True applies several parameters at once if a member of the orbit does, and the "
            f"transform does not accept {combined.tolist()}: {error}"
        ) from error


def next_between(loss: Any, f: Any, view: Solved) -> Step:
    """Return the columns with the worst points between members added; no state if none is violated."""
    n = len(view.rows)
    worst = view.slack.copy()  # of rows without a transform
    estimate = view.slack.copy()
    top = np.zeros((n, loss.theta_grid().shape[-1]))
    best = top.copy()
    columns_of = loss.parameter_columns()
    for group in loss.groups(view.sample.labels[view.rows]):
        at = group.rows
        columns = columns_of[group.place]
        thetas, neighbours = grid_between(group.transform)
        required = _slacks(loss, group, f, view, thetas)
        worst[at] = required.max(axis=1)
        top[at, columns], estimate[at] = _parabola_tops(thetas, neighbours, required)
        best[at, columns] = thetas[np.argmax(required, axis=1)]
    negligible = Shortage.of(view, estimate).negligible
    near = np.flatnonzero(estimate - view.slack > negligible)
    # A top is an estimate, so f is evaluated there and at the best point of the grid. The worse one is added.
    at_top, slack_at_top = _transformed(loss, f, view, near, top[near])
    on_grid, slack_on_grid = _transformed(loss, f, view, near, best[near])
    worst[near] = np.maximum(slack_at_top, slack_on_grid)
    shortage = Shortage.of(view, worst)
    violated = worst[near] - view.slack[near] > negligible
    if shortage.missing <= shortage.allowed or not violated.any():
        return Step(needed_slack=worst)
    better = slack_at_top >= slack_on_grid
    state: OrbitColumns = view.state
    new = state.joined(at_top.pick(violated & better)).joined(on_grid.pick(violated & ~better))
    return Step(new, needed_slack=worst)


def verify_between(loss: Any, f: Any, view: Solved) -> Verdict:
    """Return whether the slack of every row covers the points of the finest grid."""
    rows = view.rows
    assert rows is not None
    tol = max(TOLERANCE, view.tol)
    text = f"y f >= Delta rho - xi for transformations between members too, of {len(rows)} rows, to {tol:g}"
    found = Verdict(None, np.inf, None, False, 0, text)
    for group in loss.groups(view.sample.labels[rows]):
        thetas = finest_grid(group.transform)
        excess = view.slack[group.rows, None] - _slacks(loss, group, f, view, thetas)
        i, k = np.unravel_index(int(np.argmin(excess)), excess.shape)
        violated = found.violated + int(np.sum(excess < -tol))
        checked = found.checked + excess.size
        worst = found.worst
        where = found.where
        if excess[i, k] < worst:
            worst = float(excess[i, k])
            where = group.transform.apply(view.sample.X[rows[group.rows[[i]]]], thetas[k])[0]
        found = Verdict(violated == 0, worst, where, False, checked, text, violated)
    return found if found.checked else Verdict(None, asked=text)


def _slacks(loss: Any, group: Group, f: Any, view: Solved, thetas: Array) -> Array:
    """Return the slack that each transformation of each row of a group requires, (n, k)."""
    sample = view.sample
    rows = view.rows[group.rows]
    y = sample.y[rows, None]
    rho = sample.margin[rows, None]
    values = over_rows(partial(_values, f, group.transform, thetas), sample.X[rows])
    share = loss.share(group.transform, thetas)
    found: Array = loss.shortfall(y, rho, share, values, loss.factor(group.transform, thetas, share))
    return found


def _values(f: Any, transform: Transform, thetas: Array, X: Array) -> Array:
    return np.column_stack([f.value(transform.apply(X, theta)) for theta in thetas])


def _transformed(loss: Any, f: Any, view: Solved, which: Array, thetas: Array) -> tuple[OrbitColumns, Array]:
    """Return some rows, each transformed by its own parameter, and the slack required there."""
    sample = view.sample
    rows = view.rows[which]
    points = sample.X[rows].copy()
    for transform, of_transform, columns in loss.groups(sample.labels[rows]):
        for k in of_transform:
            points[k] = transform.apply(sample.X[rows[[k]]], thetas[k, columns])[0]
    demand = loss.demand(thetas)
    scaling = loss.scalings(thetas, demand)
    required = loss.shortfall(sample.y[rows], sample.margin[rows], demand, f.value(points), scaling)
    return OrbitColumns(rows, points, demand, thetas, np.full(len(rows), -1)), required


def _subdivided(values: Array, steps: int) -> Array:
    """Return the values and ``steps`` - 1 more between each pair of neighbours."""
    positions = np.arange(steps * (len(values) - 1) + 1) / steps
    return np.interp(positions, np.arange(len(values)), values)


def _parabola_tops(thetas: Array, neighbours: Array, heights: Array) -> tuple[Array, Array]:
    """Return for each row the highest top of a parabola through neighbouring points, and its height."""
    before, after = neighbours.T
    left = heights[:, before]
    right = heights[:, after]
    bend = left - 2 * heights + right
    local = (before >= 0) & (after >= 0) & (heights >= left) & (heights >= right) & (bend < 0)
    shift = np.where(local, 0.5 * (left - right) / np.where(local, bend, -1.0), 0.0)
    tops = heights - 0.25 * (left - right) * shift
    best = np.argmax(tops, axis=1)
    shift = shift[np.arange(len(heights)), best][:, None]
    forward = thetas[after[best]] - thetas[best]
    backward = thetas[best] - thetas[before[best]]
    top = thetas[best] + shift * np.where(shift > 0, forward, backward)
    return top, tops[np.arange(len(heights)), best]
