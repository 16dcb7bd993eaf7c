"""The CVXPY route against the textbook problem ½β'Kβ + C Σ max(0, 1 − y(Kβ + b)), both by CLARABEL."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import cvxpy as cp
import numpy as np
from sklearn.datasets import make_classification
from sklearn.metrics.pairwise import rbf_kernel

from priorsvm import RBF, PriorSVC

from .measure import SAME, Array, Row, interleaved, primal_objective, refuse_trivial, timed

TARGET = 0.5


def textbook(X: Array, y: Array, C: float, gamma: float) -> tuple[str, Array | None, float]:
    """Status, β and b of the problem as it stands in books."""
    K = rbf_kernel(X, gamma=gamma)
    beta, b = cp.Variable(len(y)), cp.Variable()
    slack = cp.pos(1 - cp.multiply(y, K @ beta + b))
    problem = cp.Problem(cp.Minimize(0.5 * cp.quad_form(beta, cp.psd_wrap(K)) + C * cp.sum(slack)))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the status tells
            problem.solve(solver=cp.CLARABEL)
    except cp.SolverError:
        return "broke down", None, 0.0
    return problem.status, beta.value, 0.0 if b.value is None else float(b.value)


def cvxpy(quick: bool) -> Iterator[Row]:
    """Two conditionings of K; the last row is the one where the textbook loses its way."""
    n = 300 if quick else 1000
    X, labels = make_classification(
        n, 20, n_informative=8, n_redundant=0, n_clusters_per_class=4, flip_y=0.05, random_state=0
    )
    y = np.where(labels == 1, 1.0, -1.0)
    for C, width in ((1.0, 1.0), (100.0, 1.0), (1e4, 0.01)):
        gamma = width / (X.shape[1] * X.var())
        model = PriorSVC(C=C, kernel=RBF(gamma), solver="CLARABEL")
        timing, ours, peer = interleaved(
            lambda m=model: m.fit(X, labels),
            lambda C=C, g=gamma: textbook(X, y, C, g),
            least=1 if quick else 3,
            most=5,
            seconds=20,
        )
        yield _row(f"RBF γ={width:g}·scale, C={C:g}, N={n}", timing, ours, peer, (X, y, C, gamma))


def _row(work: str, timing: Any, model: PriorSVC, peer: Any, problem: tuple[Array, Array, float, float]) -> Row:
    X, y, C, gamma = problem
    bound = np.full(len(y), C)
    weights, centres = model.dual_coef_[0], model.centres_
    half = 0.5 * weights @ rbf_kernel(centres, gamma=gamma) @ weights
    scores = rbf_kernel(X, centres, gamma=gamma) @ weights + model.intercept_[0]
    P = primal_objective(half, scores, y, bound)
    refuse_trivial(P, half, y, bound)
    status, beta, b = peer
    outcome = model._machines[0].outcome
    share = outcome.compile_seconds / (outcome.compile_seconds + outcome.solve_seconds)
    rest = 1 - outcome.solve_seconds / timing.ours[-1]
    note = f"{outcome.status}; compile {share:.0%}, all but the solver {rest:.0%}"
    if beta is None:
        return Row.of("cvxpy", work, "textbook, CLARABEL", timing, TARGET, "P", float("nan"), f"{note}; textbook {status}")
    K = rbf_kernel(X, gamma=gamma)
    P_peer = primal_objective(0.5 * beta @ K @ beta, K @ beta + b, y, bound)
    gap = (P - P_peer) / P_peer
    if gap > SAME:
        raise ArithmeticError(f"ours is worse by {gap:.1e}")
    if gap < -SAME or status != "optimal":
        note += f"; textbook {status}"
    return Row.of("cvxpy", work, "textbook, CLARABEL", timing, TARGET, "P", gap, note)
