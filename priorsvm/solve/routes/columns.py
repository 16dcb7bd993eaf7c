r"""The route of the invariant loss: its restricted problem is an SVM whose rows share slacks.

CVXPY would compile the growing problem anew in every round, which takes longer than solving it. Here a
round is one kernel matrix between the points that are in the problem and one solve of the dual.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import issparse

from ..._utils.arrays import Array, products, stack
from ..._utils.cache import Cache
from ...function.factor import require_psd
from ...function.fitted import FittedKernel
from ...function.maps import LinearMap
from ...function.memory import refuse_beyond_memory
from ...knowledge.base import Context
from ...knowledge.worst_case.invariant_loss import Columns, InvariantLoss
from ...prior import Member
from ...problem.residuals import Residuals
from ...sample import Sample
from ...spec import Spec
from ..methods.grouped import solve_grouped
from ..solvers import Outcome

# A linear machine with fewer columns than this, or than it has rows, is Clarabel's.
NARROW = 200

# Multipliers below this part of the largest are what an interior-point method leaves of zero.
ROUNDING = 1e-12

# Rows that are expected to rest are left out if no more than this share is left: some may have to come back,
# and then the problem is solved twice.
WORTH = 0.7

# A kernel matrix between all members of all orbits is kept up to this size.
ALL_BYTES = 2**28


def obstacle(spec: Spec, members: Sequence[Member], sample: Sample) -> str | None:
    """Why this route cannot solve the problem, or None if it can."""
    live = [m for m in members if m.weight > 0]
    worst = [m for m in live if isinstance(m.block, InvariantLoss)]
    if len(worst) != 1:
        return "it is for problems with one InvariantLoss"
    if worst[0].block._closed(sample):
        return "the closed form has no columns"
    for name, block, _ in live:
        if not block.only_rows and block is not worst[0].block:
            return f"block '{name}' does more than add or reweight rows"
    if spec.norm != "l2" or spec.loss != "hinge" or spec.n_centres is not None:
        return "it has the 2-norm, the hinge and all centres only"
    return None


def prefers(spec: Spec, sample: Sample) -> bool:
    """Whether ``solver="auto"`` takes this route when it can."""
    rows = int(np.count_nonzero(sample.cost))
    return spec.kernel is not None or sample.X.shape[1] >= max(NARROW, rows)


@dataclass(frozen=True, eq=False)
class Solved:
    """f, multipliers by row and by label, the slack of every row, f on all orbits if known, how it went."""

    f: Any
    alpha: Array
    duals: dict[str, Array]
    slack: Array
    scores: Array | None
    outcome: Outcome


def solve(
    spec: Spec, members: Sequence[Member], states: Mapping[str, Any], sample: Sample, grams: Cache
) -> Solved:
    """One round."""
    start = time.perf_counter()
    [member] = [m for m in members if m.weight > 0 and isinstance(m.block, InvariantLoss)]
    block: InvariantLoss = member.block
    active = np.flatnonzero(sample.cost > 0)
    training = active[active < sample.n_train]
    columns, _ = block.held(Context(member.name, sample, states[member.name], rows=training))
    place = np.full(len(sample), -1)
    place[active] = np.arange(len(active))
    rows = np.concatenate([active, columns.rows])
    points = stack(sample.X[active], columns.points)
    demand = np.concatenate([np.ones(len(active)), columns.demands])
    moves = np.concatenate([np.zeros(len(active), int), columns.moves])
    if block.scaling == "slack":  # a move of no cost asks nothing
        rows, points, moves, demand = (part[demand > 0] for part in (rows, points, moves, demand))
    y = sample.y[rows]
    rho = sample.margin[rows]
    group = place[rows]
    delta, share = (rho, 1.0 / demand) if block.scaling == "slack" else (demand * rho, np.ones(len(rows)))
    features = LinearMap(points.shape[1], spec.scale)
    # The bias of a linear machine absorbs the middle; taking it off would leave nothing sparse.
    middle = 0.0 if issparse(points) else features.rows(sample.X_train).mean(axis=0)
    listed = _listed(rows, moves, sample, columns)
    if listed:
        K = _Gram(spec, features, middle, columns.orbit, grams).K
        at = rows * columns.orbit.shape[1] + moves  # type: ignore[union-attr]
    else:
        refuse_beyond_memory(len(rows), len(rows), "the matrix of the column generation", "Use fewer rows.")
        K = _matrix(spec, features.rows(points), middle)
        at = np.arange(len(rows))
    bound = spec.C * sample.cost[active]
    tol = min(1e-9, 1e-2 * spec.tol)
    live = np.ones(len(rows), bool)  # rows that are expected to rest are left out and looked at afterwards
    if columns.resting is not None:
        live[: len(training)] = ~columns.resting[training]
        live |= len(set(y[live])) < 2 or np.count_nonzero(live) > WORTH * len(rows)
    seconds = 0.0
    steps = 0
    while True:
        k = np.flatnonzero(live)
        Q = K[np.ix_(at[k], at[k])] * np.outer(y[k], y[k])
        before = time.perf_counter()
        found = solve_grouped(Q, delta[k], group[k], bound, y[k], share[k], tol)
        seconds = seconds + time.perf_counter() - before
        steps = steps + found.steps
        alpha = np.zeros(len(rows))
        alpha[k] = np.where(found.alpha > ROUNDING * found.alpha.max(), found.alpha, 0.0)
        spread = np.bincount(at, alpha * y, minlength=len(K))
        scores = K @ spread
        asked = (delta - y * (scores[at] + found.bias)) / share
        slack, needed = np.zeros((2, len(active)))
        np.maximum.at(slack, group[k], asked[k])
        np.maximum.at(needed, group, asked)
        half = 0.5 * float(spread @ scores)
        dual = float(delta @ alpha) - half
        if bound @ (needed - slack) <= tol * min(1.0 + abs(dual), bound.sum()):
            break
        live |= asked > slack[group]
    slack = needed
    used = np.flatnonzero(alpha)
    weights = (alpha * y)[used]
    if spec.kernel is None:
        used_rows = features.rows(points[used])
        w = np.asarray(weights @ (used_rows if issparse(points) else used_rows - middle))
        f: Any = features.fitted(w, found.bias - float(np.sum(w * middle)))
    else:
        f = FittedKernel(found.bias, spec.kernel, points[used], weights, spec.scale)
    if spec.kernel is not None:
        vars(f)["_squared"] = max(2.0 * half, 0.0)  # it would take the kernel matrix again
    gap = abs(half + float(bound @ slack) - dual) / (min(1.0, bound.sum()) + abs(dual))
    residuals = Residuals(0.0, 0.0, abs(float(y @ alpha)) / (1.0 + alpha.sum()), gap)
    full_alpha = np.zeros(len(sample))
    full_slack = np.zeros(len(sample))
    full_alpha[active] = alpha[: len(active)]
    full_slack[active] = slack
    duals = {"svm.margin": alpha[: len(active)]}
    if len(columns):
        own = np.zeros(len(columns))
        own[columns.demands > 0 if block.scaling == "slack" else slice(None)] = (alpha * share)[len(active) :]
        duals[f"{member.name}.{'scaled' if block.scaling == 'slack' else 'columns'}"] = own
    rest = time.perf_counter() - start - seconds
    outcome = Outcome("COLUMNS", "optimal", residuals, rest, seconds, steps)
    everywhere = (scores + found.bias).reshape(len(sample.X_train), -1) if listed else None
    return Solved(f, full_alpha, duals, full_slack, everywhere, outcome)


def _listed(rows: Array, moves: Array, sample: Sample, columns: Columns) -> bool:
    """Whether every point is a member of an orbit, and the matrix between all members is not too large."""
    orbit = columns.orbit
    if orbit is None or (moves < 0).any() or (rows >= sample.n_train).any():
        return False
    return 8 * (orbit.shape[0] * orbit.shape[1]) ** 2 <= ALL_BYTES


class _Gram:
    """The kernel matrix between all members of all orbits, made once for all rounds."""

    def __init__(self, spec: Spec, features: LinearMap, middle: Any, orbit: Any, grams: Cache):
        key = ("orbits", spec.kernel, spec.scale and vars(spec.scale), middle, orbit)
        flat = orbit.reshape(-1, orbit.shape[2])
        self.K: Array = grams.get(key, lambda: _matrix(spec, features.rows(flat), middle))


def _matrix(spec: Spec, Z: Any, middle: Any) -> Array:
    if spec.kernel is None:
        Z = Z if issparse(Z) else Z - middle
        return products(Z, Z)
    K = spec.kernel.double(Z)
    require_psd(spec.kernel, K)
    return K
