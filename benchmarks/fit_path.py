"""``fit_path`` over ten values of C against ten separate fits."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
from sklearn.datasets import make_classification

from priorsvm import PriorSVC

from .measure import Array, Row, interleaved, primal_objective, refuse_trivial, same

TARGET = 0.7
VALUES = np.logspace(-2, 2, 10)


def path(quick: bool) -> Iterator[Row]:
    n = 200 if quick else 1000
    X, labels = make_classification(
        n, 20, n_informative=10, n_redundant=0, class_sep=1.5, flip_y=0.05, random_state=0
    )
    y = np.where(labels == 1, 1.0, -1.0)
    for solver in ("auto", "CLARABEL"):
        timing, together, apart = interleaved(
            partial(PriorSVC(solver=solver).fit_path, X, labels, {"C": VALUES}),
            partial(_one_by_one, solver, X, labels),
            least=1 if quick else 7,
            most=9,
            seconds=2 if quick else 10,
        )
        gaps = []
        for C, ours, peer in zip(VALUES, together, apart, strict=True):
            P, half = _primal(ours, X, y, C)
            P_peer, _ = _primal(peer, X, y, C)
            refuse_trivial(P, half, y, np.full(len(y), C))
            gaps.append(same((P - P_peer) / P_peer))
        worst = max(gaps, key=abs)
        used = together[0].solver_
        work = f"fit_path, linear, N={n}, d=20, solver={solver}"
        yield Row.of("path", work, "ten fits", timing, TARGET, "P", worst, f"solved by {used}")


def _one_by_one(solver: str, X: Array, labels: Array) -> list[PriorSVC]:
    return [PriorSVC(solver=solver, C=C).fit(X, labels) for C in VALUES]


def _primal(model: PriorSVC, X: Array, y: Array, C: float) -> tuple[float, float]:
    w = model.coef_[0]
    half = 0.5 * float(w @ w)
    return primal_objective(half, X @ w + model.intercept_[0], y, np.full(len(y), C)), half
