r"""Stochastic subgradients for the invariant loss on linear machines of many rows (Teo et al., Algorithm 2).

.. math:: J(w) = \tfrac12\|w\|^2
          + \min_b \sum_i C_i \max_\theta [\Delta(\theta)\,\rho_i - y_i (w^\top T_\theta x_i + b)]_+

Step t takes w by 1/t of the way to :math:`K \sum_{i \in B} a_i y_i T_{\theta_i} x_i`. B is one of K batches,
:math:`\theta_i` the worst move of row i, and :math:`0 \le a_i \le C_i` with :math:`\sum a_i y_i = 0` are the
multipliers of the batch at its own best b. After whole passes w is therefore :math:`\sum \alpha_i y_i T x_i`
for multipliers that the dual allows, and the dual's objective there is a lower bound: how far the answer can
be from the optimum is known.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._utils.arrays import Array, stack
from ...errors import InvalidInput
from ...function.maps import LinearMap
from ...knowledge.worst_case.invariant_loss import InvariantLoss
from ...sample import Sample
from ...spec import Spec

BATCH = 100


@dataclass(frozen=True, eq=False)
class Streamed:
    """f, the multiplier and the slack of every row, and one dict per pass."""

    f: Any
    alpha: Array
    slack: Array
    history: list[dict[str, Any]]


def solve(
    spec: Spec, block: InvariantLoss, sample: Sample, options: dict[str, Any], passes: int, bar: Any
) -> Streamed:
    """Pass through the rows until the bounds meet to ``spec.tol``, at most ``passes`` times."""
    batch = _batch_size(options)
    features = LinearMap(sample.X.shape[1], spec.scale)
    active = np.flatnonzero(sample.cost > 0)
    y = sample.y
    C = spec.C * sample.cost
    K = -(-len(active) // batch)
    rng = np.random.default_rng(sample.seed)

    def moved(w: Array, rows: Array) -> tuple[Array, Any, Array]:
        """The rows, training rows first, where they are worst, in the machine's units, and their demands."""
        # The bias does not change which move is worst.
        train = rows[rows < sample.n_train]
        rest = rows[rows >= sample.n_train]
        demand, points = block.worst_moves(features.fitted(w, 0.0), sample, train)
        if len(rest):
            points = stack(points, sample.X[rest])
            demand = np.concatenate([demand, sample.margin[rest]])
        return np.concatenate([train, rest]), features.rows(points), demand

    def whole(w: Array) -> tuple[float, Array, float]:
        """The objective at w, the slack of every row, and the best bias."""
        asked = np.zeros(len(sample))
        for part in np.array_split(active, K):
            rows, Z, demand = moved(w, part)
            asked[rows] = demand - y[rows] * (Z @ w)
        b, _ = best_bias(asked[active], y[active], C[active])
        slack = np.where(C > 0, np.maximum(asked - y * b, 0.0), 0.0)
        return 0.5 * float(w @ w) + float(C @ slack), slack, b

    total = np.zeros(sample.X.shape[1])  # t w
    # both times t
    alpha = np.zeros(len(sample))
    linear = 0.0
    t = 0
    upper, slack, b = whole(total)
    best = (upper, slack, total.copy(), b)
    lower = -np.inf
    radius = np.sqrt(2.0 * upper)
    history: list[dict[str, Any]] = []
    for number in range(1, passes + 1):
        began = time.perf_counter()
        for part in _batches(active, y[active], K, rng):
            w = total / max(t, 1)
            rows, Z, demand = moved(w, part)
            _, a = best_bias(demand - y[rows] * (Z @ w), y[rows], K * C[rows])
            t += 1
            total += np.asarray((a * y[rows]) @ Z)
            linear += float(a @ demand)
            alpha[rows] += a
        length = float(np.linalg.norm(total)) / t
        if length > radius:  # the optimum is no longer than this, and the dual allows shorter sums too
            total, linear, alpha = (part * (radius / length) for part in (total, linear, alpha))
        w = total / t
        upper, slack, b = whole(w)
        if upper < best[0]:
            best = (upper, slack, w, b)
        # The dual allows any shorter sum too, and the best length is known.
        shorter = min(1.0, linear / t / max(float(w @ w), 1e-300))
        lower = max(lower, shorter * linear / t - 0.5 * shorter**2 * float(w @ w))
        gap = (best[0] - lower) / min(1.0 + best[0], float(C.sum()))
        history.append(
            {
                "round": number,
                "objective": best[0],
                "gap": gap,
                "rows": len(active),
                "solver": "PEGASOS",
                "status": "optimal" if gap <= spec.tol else "optimal_inaccurate",
                "seconds": time.perf_counter() - began,
                "lower": lower,
                "upper": best[0],
            }
        )
        bar.update()
        if gap <= spec.tol:
            break
    _, slack, w, b = best
    return Streamed(features.fitted(w, b), alpha / t, slack, history)


def best_bias(asked: Array, y: Array, C: Array) -> tuple[float, Array]:
    r"""The b of least :math:`\sum_i C_i [\mathrm{asked}_i - y_i b]_+`, and the multipliers there.

    The slope of that sum starts at minus the weight of class +1 and grows by C at each :math:`b = y_i
    \mathrm{asked}_i`; where it passes zero, the rows that are there take what is left of the balance.
    """
    kinks = y * asked
    order = np.argsort(kinks, kind="stable")
    slope = np.cumsum(C[order]) - C[y > 0].sum()
    b = float(kinks[order[min(int(np.searchsorted(slope, 0.0)), len(order) - 1)]])
    a = np.where((asked > y * b) & (kinks != b), C, 0.0)
    left = -float(y @ a)
    there = np.flatnonzero((kinks == b) & (y * left > 0))
    before = np.cumsum(C[there]) - C[there]
    a[there] = np.clip(abs(left) - before, 0.0, C[there])
    return b, a


def _batches(rows: Array, y: Array, K: int, rng: np.random.Generator) -> list[Array]:
    """The rows in K parts, shuffled, with the classes as they are in the whole."""
    place = np.empty(len(rows))
    for sign in (-1.0, 1.0):
        of = np.flatnonzero(y == sign)
        place[of] = (rng.permutation(len(of)) + rng.random()) / max(len(of), 1)
    return np.array_split(rows[np.argsort(place, kind="stable")], K)


def _batch_size(options: dict[str, Any]) -> int:
    batch = options.get("batch", BATCH)
    unknown = sorted(set(options) - {"batch"})
    if unknown:
        raise InvalidInput(
            f"method='pegasos' does not take these solver_options: {', '.join(unknown)}. It takes: batch."
        )
    if not isinstance(batch, (int, np.integer)) or isinstance(batch, bool) or batch < 2:
        raise InvalidInput(f"batch must be a whole number of at least 2, got {batch!r}.")
    return int(batch)
