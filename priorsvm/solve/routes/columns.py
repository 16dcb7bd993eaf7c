r"""The route COLUMNS: the dual of a restricted problem of column generation.

The problem with the columns of one round is an SVM in which a row and its columns share a slack:

.. math:: \max_\alpha\; \delta^\top \alpha - \tfrac12 \alpha^\top Q \alpha \quad\text{s.t.}\quad
          \alpha \ge 0, \quad \sum_{k \in i} g_k \alpha_k \le C_i, \quad y^\top \alpha = 0 .

CVXPY would compile the growing problem in every round, which takes longer than the solve. Here a round is one
kernel matrix between the points of the problem and one solve of the dual.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import issparse

from ..._utils.arrays import Array, products, stack
from ..._utils.cache import Cache
from ..._utils.deadline import Deadline
from ...function.factor import require_psd
from ...function.fitted import FittedKernel
from ...function.maps import LinearMap
from ...function.memory import refuse_beyond_memory
from ...knowledge.base import Knowledge
from ...knowledge.worst_case.orbit_columns import OrbitColumns
from ...knowledge.worst_case.orbit_loss import OrbitLoss, orbit_losses
from ...problem.residuals import Residuals
from ...sample import Sample
from ...spec import Spec
from ..methods.grouped import solve_grouped, without_rounding
from ..route import Problem, Route
from ..solution import Outcome, Solution
from .entry_columns import EntryAnswer, solve_entries

# Inactive rows are left out if at most this share of the points remains: if some must return, the problem is
# solved twice.
WORTH = 0.7

# A kernel matrix between all members of all orbits is stored up to this size.
ALL_BYTES = 2**28


def _overrides_build(block: Any) -> bool:
    """Return whether a subclass changes ``build`` of a block, and not its columns."""
    kinds = type(block).__mro__
    columns = next(kind for kind in kinds if "has_columns" in vars(kind))
    below = kinds[: kinds.index(columns)]
    return issubclass(columns, Knowledge) and any("build" in vars(kind) for kind in below)


class Columns(Route):
    """Route of 2-norm models with one loss over orbits."""

    name = "COLUMNS"
    kind = "InvariantLoss"
    floor = 1e-5
    note = "2-norm with the hinge, other blocks add or reweight rows"

    def obstacle(self, problem: Problem) -> str | None:
        losses = orbit_losses(problem.members)
        if len(losses) != 1:
            return f"it requires one InvariantLoss, and the problem has {len(losses)}"
        [loss] = losses
        if not loss.block.has_columns(problem.sample):
            return "the closed form has no columns"
        if _overrides_build(loss.block):
            return f"block '{loss.name}' overrides build, which this route does not call"
        for name, block, _ in problem.live:
            if not block.only_rows and block is not loss.block:
                return f"block '{name}' does more than add or reweight rows"
        spec = problem.spec
        if spec.norm != "l2" or spec.loss != "hinge" or spec.n_centres is not None:
            return "it requires norm='l2', loss='hinge' and n_centres=None"
        if spec.hard:
            return "it requires a finite C"
        return None

    def solve(self, problem: Problem, options: dict[str, Any]) -> Solution:
        start = time.perf_counter()
        spec = problem.spec
        sample = problem.sample
        [member] = orbit_losses(problem.members)
        whole = solve_entries(spec, member.block, sample, problem.states[member.name], min(spec.tol, 1e-6))
        if whole is not None:
            return _of_entries(problem, member, whole, time.perf_counter() - start)
        columns = member.block.columns(sample, problem.states[member.name])
        dual = _Dual.of(spec, member.block, columns, sample, problem.grams or Cache())
        answer = _solve_active(dual, min(1e-9, 1e-2 * spec.tol), spec.deadline)
        count = len(dual.active)
        alpha = np.zeros(len(sample))
        slack = np.zeros(len(sample))
        alpha[dual.active] = answer.alpha[:count]
        slack[dual.active] = answer.slack
        duals = {"svm.margin": answer.alpha[:count]}
        if len(columns):
            prices = np.zeros(len(columns))
            prices[dual.used_columns] = (answer.alpha * dual.share)[count:]
            duals[f"{member.name}.{member.block.column_label}"] = prices
        scores = None
        if dual.listed:
            scores = (answer.scores + answer.bias).reshape(len(sample.X_train), -1)
        f = _function(spec, dual, answer)
        residuals = _residuals(dual, answer)
        rest = time.perf_counter() - start - answer.seconds
        outcome = Outcome(self.name, "optimal", residuals, rest, answer.seconds, answer.steps)
        largest = max(float(part.max(initial=0.0)) for part in duals.values())
        threshold = spec.negligible_dual(sample.cost, largest)
        support = alpha > threshold
        return Solution(f, alpha, support, outcome, duals, threshold=threshold, slack=slack, scores=scores)


def _of_entries(problem: Problem, member: Any, whole: EntryAnswer, seconds: float) -> Solution:
    """Return the solution of the problem with all columns; the active ones become the state."""
    sample = problem.sample
    alpha = np.zeros(len(sample))
    slack = np.zeros(len(sample))
    alpha[sample.counted_rows] = whole.own
    slack[sample.counted_rows] = whole.slack
    duals = {"svm.margin": whole.own}
    if len(whole.columns):
        duals[f"{member.name}.{member.block.column_label}"] = whole.prices
    residuals = Residuals(0.0, 0.0, 0.0, whole.gap)
    outcome = Outcome("COLUMNS", "optimal", residuals, 0.0, seconds, whole.steps)
    largest = max(float(part.max(initial=0.0)) for part in duals.values())
    threshold = problem.spec.negligible_dual(sample.cost, largest)
    states = {member.name: whole.columns}
    support = alpha > threshold
    return Solution(whole.f, alpha, support, outcome, duals, threshold=threshold, slack=slack, states=states)


@dataclass(frozen=True, eq=False)
class _Dual:
    r"""The dual of the restricted problem: a variable for each row with a cost, then one for each column.

    Attributes
    ----------
    active : (n,) array, the rows with a cost.
    points : (m, d) array, the point of each variable.
    y : (m,) array, its class.
    group : (m,) array, the position of its row in ``active``.
    delta : (m,) array, its linear coefficient.
    share : (m,) array, g, its coefficient in the bound of its group.
    bound : (n,) array, C of every group.
    kept : (m,) array, whether it is in the first solve; rows that were inactive are left out.
    used_columns : mask, the columns that are variables.
    features : LinearMap, the map to the units of the model.
    middle : (d,) array or 0, subtracted from the points of a linear model.
    K : kernel matrix, between these points or between all members of all orbits.
    place : (m,) array, the position of each point in K.
    listed : whether K is between all members of all orbits.
    """

    active: Array
    points: Any
    y: Array
    group: Array
    delta: Array
    share: Array
    bound: Array
    kept: Array
    used_columns: Array
    features: LinearMap
    middle: Any
    K: Array
    place: Array
    listed: bool

    @classmethod
    def of(cls, spec: Spec, block: OrbitLoss, columns: OrbitColumns, sample: Sample, grams: Cache) -> _Dual:
        """Return the dual for the columns of one round."""
        active = sample.counted_rows
        rows = np.concatenate([active, columns.rows])
        points = stack(sample.X[active], columns.points)
        demand = np.concatenate([np.ones(len(active)), columns.demands])
        moves = np.concatenate([np.zeros(len(active), int), columns.moves])
        column_scaling = block.scalings(columns.thetas, columns.demands)
        scaling = np.concatenate([np.ones(len(active)), column_scaling])
        positive = scaling > 0  # with slack scaling a transformation of cost 0 constrains nothing
        rows = rows[positive]
        points = points[positive]
        moves = moves[positive]
        share = 1.0 / scaling[positive]
        delta = demand[positive] * share * sample.margin[rows]
        y = sample.y[rows]
        position = np.full(len(sample), -1)
        position[active] = np.arange(len(active))
        features = LinearMap(points.shape[1], spec.scale)
        # The bias of a linear model absorbs the mean. Subtracted from sparse rows, it would make them dense.
        middle = 0.0 if issparse(points) else features.rows(sample.X_train).mean(axis=0)
        listed = _all_listed(rows, moves, sample, columns)
        if listed:
            orbit: Any = columns.orbit
            K = _orbit_matrix(spec, features, middle, orbit, grams)
            place = rows * orbit.shape[1] + moves
        else:
            refuse_beyond_memory(
                len(rows), len(rows), "the matrix of the column generation", "Use fewer rows."
            )
            K = _matrix(spec, features.rows(points), middle)
            place = np.arange(len(rows))
        return cls(
            active=active,
            points=points,
            y=y,
            group=position[rows],
            delta=delta,
            share=share,
            bound=spec.C * sample.cost[active],
            kept=_first_points(y, active, columns, sample),
            used_columns=column_scaling > 0,
            features=features,
            middle=middle,
            K=K,
            place=place,
            listed=listed,
        )


def _first_points(y: Array, active: Array, columns: OrbitColumns, sample: Sample) -> Array:
    """Return the points of the first solve: without inactive rows, if this is worthwhile."""
    kept = np.ones(len(y), bool)
    if columns.resting is not None:
        training = active[active < sample.n_train]
        kept[: len(training)] = ~columns.resting[training]
        kept |= len(set(y[kept])) < 2 or np.count_nonzero(kept) > WORTH * len(y)
    return kept


def _all_listed(rows: Array, moves: Array, sample: Sample, columns: OrbitColumns) -> bool:
    """Return whether all points are members of orbits and the matrix between all members is small."""
    orbit = columns.orbit
    if orbit is None or (moves < 0).any() or (rows >= sample.n_train).any():
        return False
    return 8 * (orbit.shape[0] * orbit.shape[1]) ** 2 <= ALL_BYTES


def _orbit_matrix(spec: Spec, features: LinearMap, middle: Any, orbit: Array, grams: Cache) -> Array:
    """Return the kernel matrix between all members of all orbits, computed once for all rounds."""
    key = ("orbits", spec.kernel, spec.scale and vars(spec.scale), middle, orbit)
    flat = orbit.reshape(-1, orbit.shape[2])
    matrix: Array = grams.get(key, lambda: _matrix(spec, features.rows(flat), middle))
    return matrix


def _matrix(spec: Spec, Z: Any, middle: Any) -> Array:
    if spec.kernel is None:
        Z = Z if issparse(Z) else Z - middle
        return products(Z, Z)
    K = spec.kernel.double(Z)
    require_psd(spec.kernel, K)
    return K


@dataclass(frozen=True, eq=False)
class _Answer:
    """The solution of the dual.

    Attributes
    ----------
    alpha : (m,) array, the dual variables.
    bias : float
    scores : array, f without the bias at all points of the kernel matrix.
    slack : (n,) array, the slack of every group.
    energy : float, half the squared norm of f.
    value : float, the objective of the dual.
    seconds, steps : the time and the steps of the interior-point method.
    """

    alpha: Array
    bias: float
    scores: Array
    slack: Array
    energy: float
    value: float
    seconds: float
    steps: int


def _solve_active(dual: _Dual, tol: float, deadline: Deadline) -> _Answer:
    """Solve the dual over the kept points, and again with points that this solution violates."""
    y = dual.y
    delta = dual.delta
    kept = dual.kept.copy()
    seconds = 0.0
    steps = 0
    while True:
        k = np.flatnonzero(kept)
        at = dual.place[k]
        Q = dual.K[np.ix_(at, at)] * np.outer(y[k], y[k])
        before = time.perf_counter()
        found = solve_grouped(
            Q, delta[k], dual.group[k], dual.bound, y[k], dual.share[k], tol, deadline=deadline
        )
        seconds = seconds + time.perf_counter() - before
        steps = steps + found.steps
        alpha = np.zeros(len(y))
        alpha[k] = without_rounding(found.alpha)
        spread = np.bincount(dual.place, alpha * y, minlength=len(dual.K))
        scores = dual.K @ spread
        required = (delta - y * (scores[dual.place] + found.bias)) / dual.share
        covered = np.zeros(len(dual.bound))
        slack = np.zeros(len(dual.bound))
        np.maximum.at(covered, dual.group[k], required[k])
        np.maximum.at(slack, dual.group, required)
        energy = 0.5 * float(spread @ scores)
        value = float(delta @ alpha) - energy
        if dual.bound @ (slack - covered) <= tol * min(1.0 + abs(value), dual.bound.sum()):
            return _Answer(alpha, found.bias, scores, slack, energy, value, seconds, steps)
        kept |= required > covered[dual.group]


def _function(spec: Spec, dual: _Dual, answer: _Answer) -> Any:
    used = np.flatnonzero(answer.alpha)
    weights = (answer.alpha * dual.y)[used]
    points = dual.points[used]
    if spec.kernel is None:
        Z = dual.features.rows(points)
        w = np.asarray(weights @ (Z if issparse(points) else Z - dual.middle))
        return dual.features.fitted(w, answer.bias - float(np.sum(w * dual.middle)))
    f = FittedKernel(answer.bias, spec.kernel, points, weights, spec.scale)
    vars(f)["_squared"] = max(2.0 * answer.energy, 0.0)  # computing it would need the kernel matrix again
    return f


def _residuals(dual: _Dual, answer: _Answer) -> Residuals:
    primal = answer.energy + float(dual.bound @ answer.slack)
    gap = abs(primal - answer.value) / (min(1.0, dual.bound.sum()) + abs(answer.value))
    balance = abs(float(dual.y @ answer.alpha)) / (1.0 + answer.alpha.sum())
    return Residuals(0.0, 0.0, balance, gap)
