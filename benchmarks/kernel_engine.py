"""An RBF model with two regions and hints, as ``solver="auto"`` solves it, against general solvers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import piqp
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.metrics.pairwise import rbf_kernel

from priorsvm import RBF, MonotonicityHint, PriorSVC, Region

from .measure import Array, Row, interleaved, refuse_trivial, same

VALUES = np.logspace(-1, 2, 10)


@dataclass(frozen=True)
class Ball:
    """Negative inside."""

    middle: tuple[float, ...]
    radius: float

    def __call__(self, X: Array) -> Array:
        distance: Array = np.linalg.norm(X - np.array(self.middle), axis=1) - self.radius
        return distance


def _problem(n: int) -> tuple[PriorSVC, Array, Array]:
    """Two balls of n / 20 points, and n / 20 pairs along which f rises."""
    X, labels = make_classification(
        n, 20, n_informative=8, n_redundant=0, n_clusters_per_class=4, flip_y=0.05, random_state=0
    )
    rng, few = np.random.default_rng(1), n // 20
    balls = []
    for label in (0, 1):
        middle = X[labels == label][3]
        points = middle + 0.5 * rng.normal(size=(few, 20))
        balls.append(Region(Ball(tuple(middle), 10.0), points, label, mu=0.1).named(f"ball_{label}"))
    prior = balls[0] + balls[1] + MonotonicityHint({0: 1, 1: -1}, mu=10.0, pairs=few // 2)
    return PriorSVC(prior, C=10.0, kernel=RBF(1.0 / (20 * X.var()))), X, labels


def engine_rbf(quick: bool) -> Iterator[Row]:
    """The whole fit against the same fit through CVXPY by CLARABEL, and against PIQP on the dual QP."""
    n = 300 if quick else 1000
    model, X, labels = _problem(n)
    y = np.where(labels == 1, 1.0, -1.0)
    least = 2 if quick else 5
    peer = clone(model).set_params(solver="CLARABEL")
    timing, ours, theirs = interleaved(
        partial(model.fit, X, labels), partial(peer.fit, X, labels), least=least, most=5
    )
    refuse_trivial(ours.objective_, ours.report_["svm"][0].contribution, y, np.full(n, model.C))
    gap = same((ours.objective_ - theirs.objective_) / theirs.objective_)
    work = f"RBF, N={n}, hinge, two regions, hints"
    [solved] = ours.report_.solves
    around = 1 - solved["solve"] / ours.history_[-1]["seconds"]
    note = f"{ours.solver_} in {solved['iterations']} steps, all but the solve {around:.0%}"
    yield Row.of("engine_rbf", work, "CVXPY, CLARABEL", timing, 0.1, "P", gap, note)
    states = ours._models[0].states
    timing, ours, value = interleaved(
        partial(model.fit, X, labels), partial(by_piqp, model, X, y, states), least=least, most=7
    )
    gap = same((ours.objective_ - value) / value)
    yield Row.of("engine_rbf", work, "PIQP dense, dual QP", timing, 0.5, "P", gap, note)


def by_piqp(model: PriorSVC, X: Array, y: Array, states: dict[str, Any]) -> float:
    """The dual: multipliers of margins, of the regions' points, and of the pairs, one row of Q each."""
    inside = {label: states[f"ball_{label}"].points[0] for label in (0, 1)}
    low, high = states["monotonicity_hint"]
    signs = np.concatenate([y, -np.ones(len(inside[0])), np.ones(len(inside[1]))])
    rows = np.vstack([X, inside[0], inside[1]])
    K = rbf_kernel(np.vstack([rows, low, high]), gamma=model.kernel.gamma)
    k, h = len(rows), len(low)
    rise = K[:, k + h :] - K[:, k : k + h]
    Q = np.empty((k + h, k + h))
    Q[:k, :k] = K[:k, :k] * np.outer(signs, signs)
    Q[:k, k:] = signs[:, None] * rise[:k]
    Q[k:, :k] = Q[:k, k:].T
    Q[k:, k:] = rise[k + h :] - rise[k : k + h]
    weight = 10.0 / h  # of the squared violations
    Q[range(k, k + h), range(k, k + h)] += 0.5 / weight
    asked = np.concatenate([np.ones(k), np.zeros(h)])
    upper = np.concatenate([np.full(len(y), model.C), np.ones(k - len(y)), np.full(h, np.inf)])
    balance = np.concatenate([signs, np.zeros(h)])[None]
    solver = piqp.DenseSolver()
    solver.settings.eps_abs = solver.settings.eps_rel = 1e-9
    solver.setup(Q, -asked, balance, np.zeros(1), None, None, None, np.zeros(k + h), upper)
    if solver.solve() != piqp.PIQP_SOLVED:
        raise ArithmeticError("PIQP did not solve the dual")
    return -float(solver.result.info.primal_obj)


def engine_path(quick: bool) -> Iterator[Row]:
    """Ten values of C, without blocks and with them."""
    n = 200 if quick else 1000
    model, X, labels = _problem(n)
    for name, estimator in (("plain", clone(model).set_params(prior=None)), ("two regions, hints", model)):
        timing, together, apart = interleaved(
            partial(estimator.fit_path, X, labels, {"C": VALUES}),
            partial(_one_by_one, estimator, X, labels),
            least=1 if quick else 3,
            most=7,
        )
        gaps = [(a.objective_ - b.objective_) / b.objective_ for a, b in zip(together, apart, strict=True)]
        worst = same(max(gaps, key=abs))
        work, note = f"fit_path, RBF, N={n}, {name}", f"solved by {together[0].solver_}"
        yield Row.of("engine_path", work, "ten fits", timing, 0.3, "P", worst, note)


def _one_by_one(model: PriorSVC, X: Array, labels: Array) -> list[PriorSVC]:
    return [clone(model).set_params(C=C).fit(X, labels) for C in VALUES]
