"""Plain RBF models of 350 to 8000 rows, C = 1 to 1000, against SVC at its usual tolerance."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, make_blobs
from sklearn.svm import SVC

from priorsvm import RBF, PriorSVC

from .measure import Array, Row, Timing, interleaved, primal_objective
from .plain_models import CACHE, FAMILIES

TARGET = 1.3
COSTS = (1.0, 10.0, 100.0, 1000.0)
Cell = tuple[Timing, float, str]


def plain(quick: bool) -> Iterator[Row]:
    """Return one row for each data set and size: its slowest C."""
    for name, (load, sizes) in DATA.items():
        for n in sizes[:1] if quick else sizes:
            X, labels, gamma = load(n)
            costs = COSTS[:1] if quick else COSTS
            cells = {C: _cell(X, labels, gamma, C, quick) for C in costs}
            ratios = {C: float(np.median(cell[0].ratios)) for C, cell in cells.items()}
            slowest = max(ratios, key=lambda C: ratios[C])
            timing, gap, note = cells[slowest]
            all_ratios = ", ".join(f"{ratio:.2f}" for ratio in ratios.values())
            work = f"RBF, {name}, N={len(X)}, slowest C = {slowest:g}"
            note = f"{note}; ratios of all C: {all_ratios}"
            yield Row.of("seconds_rbf", work, "SVC, tol 1e-3", timing, TARGET, "P", gap, note)


def _cell(X: Array, labels: Array, gamma: float, C: float, quick: bool) -> Cell:
    """Return times, the relative difference of the objectives and the number of support vectors."""
    ours = PriorSVC(C=C, kernel=RBF(gamma))
    peer = SVC(C=C, gamma=gamma, cache_size=CACHE)
    least = 1 if quick or len(X) > 1000 else 9
    timing, fitted, svc = interleaved(
        partial(ours.fit, X, labels), partial(peer.fit, X, labels), least, 15, 0.3
    )
    y = np.where(labels == 1, 1.0, -1.0)
    half = 0.5 * float(svc.dual_coef_[0] @ (svc.decision_function(X[svc.support_]) - svc.intercept_[0]))
    theirs = primal_objective(half, svc.decision_function(X), y, np.full(len(y), C))
    note = f"{fitted.solver_}, {len(svc.support_)} support vectors"
    return timing, (fitted.objective_ - theirs) / theirs, note


def _separated(n: int) -> tuple[Array, Array, float]:
    X, labels = make_blobs(n, 5, centers=2, random_state=0)
    return X, labels, 1.0 / (5 * X.var())


def _repeated(n: int) -> tuple[Array, Array, float]:
    """Twelve nearly equal rows of each kind."""
    rng = np.random.default_rng(0)
    X = np.repeat(rng.normal(size=(n // 12, 8)), 12, axis=0)
    X += 1e-4 * rng.normal(size=X.shape)
    return X, (np.sin(2 * X[:, 0]) + X[:, 1] > 0).astype(int), 1.0 / (8 * X.var())


def _cancer(n: int) -> tuple[Array, Array, float]:
    X, labels = load_breast_cancer(return_X_y=True)
    return (X - X.mean(axis=0)) / X.std(axis=0), labels, 1.0 / 30


def _digits(n: int) -> tuple[Array, Array, float]:
    X, y = load_digits(return_X_y=True)
    X = X / 16.0
    return X, (y > 4).astype(int), 1.0 / (64 * X.var())


DATA: dict[str, tuple[Callable[[int], tuple[Array, Array, float]], tuple[int, ...]]] = {
    "clusters": (FAMILIES["clusters"], (350, 1000, 4000)),
    "moons": (FAMILIES["moons"], (350, 1000, 4000)),
    "board": (FAMILIES["board"], (350, 1000, 4000)),
    "spirals": (FAMILIES["spirals"], (350, 1000, 8000)),
    "five": (FAMILIES["five"], (350, 1000, 4000)),
    "separated": (_separated, (350, 1000, 8000)),
    "nearly repeated": (_repeated, (350, 1000, 3600)),
    "breast cancer": (_cancer, (569,)),
    "digits": (_digits, (1797,)),
}
