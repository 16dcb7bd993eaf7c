r"""The route of the invariant loss: its restricted problem is an SVM whose rows share slacks.

CVXPY would compile the growing problem anew in every round, which takes longer than solving it. Here a
round is one kernel matrix between the points that are in the problem and one solve of the dual.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..assemble import Spec
from ..decision import FittedKernel, LinearMap, refuse_beyond_memory, require_psd
from ..diagnose import Residuals
from ..knowledge.base import Context
from ..knowledge.invariant_loss import InvariantLoss
from ..prior import Member
from ..sample import Array, Sample
from .grouped import solve_grouped
from .solvers import Outcome

# A linear machine with fewer columns than this, and fewer than it has points, is Clarabel's.
NARROW = 200


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
    return spec.kernel is not None or sample.X.shape[1] >= NARROW


def solve(
    spec: Spec, members: Sequence[Member], states: Mapping[str, Any], sample: Sample
) -> tuple[Any, Array, dict[str, Array], Array, Outcome]:
    """f, the dual of every row, the duals by label, the slack of every row, and how it went."""
    start = time.perf_counter()
    [member] = [m for m in members if m.weight > 0 and isinstance(m.block, InvariantLoss)]
    block: InvariantLoss = member.block
    active = np.flatnonzero(sample.cost > 0)
    training = active[active < sample.n_train]
    columns, _ = block.held(Context(member.name, sample, states[member.name], rows=training))
    place = np.full(len(sample), -1)
    place[active] = np.arange(len(active))
    rows = np.concatenate([active, columns.rows])
    points = np.vstack([sample.X[active], columns.points])
    demand = np.concatenate([np.ones(len(active)), columns.demands])
    y, rho, group = sample.y[rows], sample.margin[rows], place[rows]
    if block.scaling == "slack":
        usable = demand > 0  # a move of no cost asks nothing
        delta, share = rho, 1.0 / np.where(usable, demand, 1.0)
    else:
        usable, delta, share = np.ones(len(rows), bool), demand * rho, np.ones(len(rows))
    keep = np.flatnonzero(usable)
    Z = LinearMap(points.shape[1], spec.scale).rows(points)
    middle = Z.mean(axis=0) if spec.kernel is None else np.zeros(Z.shape[1])  # the bias absorbs it
    refuse_beyond_memory(len(keep), len(keep), "the matrix of the column generation", "Use fewer rows.")
    K = _gram(spec, Z[keep] - middle)
    alpha = np.zeros(len(rows))
    before = time.perf_counter()
    tol = min(1e-8, 1e-2 * spec.tol)
    Q, bound = K * np.outer(y[keep], y[keep]), spec.C * sample.cost[active]
    found = solve_grouped(Q, delta[keep], group[keep], bound, y[keep], share[keep], tol)
    seconds = time.perf_counter() - before
    alpha[keep] = np.where(found.alpha > 1e-9 * spec.C * sample.cost[rows[keep]], found.alpha, 0.0)
    used = np.flatnonzero(alpha)
    weights = (alpha * y)[used]
    if spec.kernel is None:
        w = weights @ (Z[used] - middle)
        f: Any = LinearMap(points.shape[1], spec.scale).fitted(w, found.bias - float(w @ middle))
        values = f.value(points)
    else:
        f = FittedKernel(found.bias, spec.kernel, points[used], weights, spec.scale)
        values = np.full(len(rows), np.nan)
        values[keep] = K[:, np.searchsorted(keep, used)] @ weights + found.bias
    asked = (delta - y * values) / share
    slack = np.zeros(len(active))
    np.maximum.at(slack, group[keep], asked[keep])
    at = np.searchsorted(keep, used)
    half = 0.5 * float(weights @ K[np.ix_(at, at)] @ weights)
    dual = float(delta @ alpha) - half
    gap = half + float(spec.C * sample.cost[active] @ slack) - dual
    residuals = Residuals(0.0, 0.0, abs(float(y @ alpha)) / (1.0 + alpha.sum()), abs(gap) / (1.0 + abs(dual)))
    full_alpha, full_slack = np.zeros(len(sample)), np.zeros(len(sample))
    full_alpha[active], full_slack[active] = alpha[: len(active)], slack
    label = "scaled" if block.scaling == "slack" else "columns"
    duals = {"svm.margin": alpha[: len(active)]}
    if len(columns):
        duals[f"{member.name}.{label}"] = alpha[len(active) :]
    outcome = Outcome(
        "COLUMNS", "optimal", residuals, time.perf_counter() - start - seconds, seconds, found.steps
    )
    return f, full_alpha, duals, full_slack, outcome


def _gram(spec: Spec, Z: Array) -> Array:
    if spec.kernel is None:
        return Z @ Z.T
    K = spec.kernel(Z)
    require_psd(spec.kernel, K)
    return K
