"""The CVXPY route against the textbook problem ½β'Kβ + C Σ max(0, 1 − y(Kβ + b)), both by CLARABEL."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from functools import partial

import cvxpy as cp
import numpy as np
from sklearn.datasets import make_classification
from sklearn.metrics.pairwise import rbf_kernel

from priorsvm import RBF, PriorSVC

from .measure import (
    SAME,
    Array,
    Row,
    Timing,
    balanced,
    dual_objective,
    interleaved,
    primal_objective,
    refuse_trivial,
)

TARGET = 0.5
Answer = tuple[str, Array | None, float]


def cvxpy(quick: bool) -> Iterator[Row]:
    """Two values of C on a well conditioned K, and a large one on an ill conditioned K."""
    n = 300 if quick else 1000
    X, labels = make_classification(
        n, 20, n_informative=8, n_redundant=0, n_clusters_per_class=4, flip_y=0.05, random_state=0
    )
    y = np.where(labels == 1, 1.0, -1.0)
    for C, width in ((1.0, 1.0), (100.0, 1.0), (1e4, 0.01)):
        gamma = width / (X.shape[1] * X.var())
        K = rbf_kernel(X, gamma=gamma)
        model = PriorSVC(C=C, kernel=RBF(gamma), solver="CLARABEL")
        timing, ours, peer = interleaved(
            partial(model.fit, X, labels),
            partial(textbook, X, y, C, gamma),
            least=2 if quick else 5,
            most=5,
        )
        yield _row(f"RBF γ={width:g}·scale, C={C:g}, N={n}", timing, ours, peer, (X, y, K, C, gamma))


def textbook(X: Array, y: Array, C: float, gamma: float) -> Answer:
    """Status, β and b of the problem as it stands in books, at CLARABEL's own tolerances."""
    K = rbf_kernel(X, gamma=gamma)
    beta, b = cp.Variable(len(y)), cp.Variable()
    slack = cp.pos(1 - cp.multiply(y, K @ beta + b))
    problem = cp.Problem(cp.Minimize(0.5 * cp.quad_form(beta, cp.psd_wrap(K)) + C * cp.sum(slack)))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the status tells
            problem.solve(solver=cp.CLARABEL)
    except cp.SolverError:
        return "solver error", None, 0.0
    return problem.status, beta.value, 0.0 if b.value is None else float(b.value)


def _row(
    work: str,
    timing: Timing,
    model: PriorSVC,
    answer: Answer,
    problem: tuple[Array, Array, Array, float, float],
) -> Row:
    X, y, K, C, gamma = problem
    bound = np.full(len(y), C)
    weights, centres = model.dual_coef_[0], model.centres_
    half = 0.5 * weights @ rbf_kernel(centres, gamma=gamma) @ weights
    scores = rbf_kernel(X, centres, gamma=gamma) @ weights + model.intercept_[0]
    P = primal_objective(half, scores, y, bound)
    refuse_trivial(P, half, y, bound)

    [solve] = model.report_.solves
    D = dual_objective(K, y, balanced(model._models[0].alpha, y, bound), bound)
    share = solve["compile"] / (solve["compile"] + solve["solve"])
    around = 1 - solve["solve"] / model.history_[-1]["seconds"]
    note = f"{model.status_}, P−D {(P - D) / P:.0e}; compile {share:.0%}, all but CLARABEL {around:.0%}"

    status, beta, b = answer
    gap = None
    if beta is not None:
        gap = _gap(P, primal_objective(float(0.5 * beta @ K @ beta), K @ beta + b, y, bound))
    if status != "optimal" or gap is None or gap < -SAME:
        note += f"; textbook: {status}"
    return Row.of("cvxpy", work, "textbook by CLARABEL", timing, TARGET, "P", gap, note)


def _gap(ours: float, peer: float) -> float:
    """Ours may be better, where the textbook fails, but not worse."""
    gap = (ours - peer) / peer
    if not gap <= SAME:
        raise ArithmeticError(f"the CVXPY route is {gap:.1e} above the textbook's objective")
    return gap
