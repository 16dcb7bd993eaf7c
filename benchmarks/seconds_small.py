"""Fits of 100 rows and 5 columns with one block, and plain fits of 300 to 1000 rows, against ``SVC.fit``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from priorsvm import (
    Box,
    InvarianceHint,
    MonotonicityHint,
    OddnessHint,
    PriorSVC,
    Rule,
    Shift,
    TangentPenalty,
)

from .measure import Array, Row, Timing, interleaved, quietly, same

TARGET = 4.0
TARGET_AUTO = 3.0
TARGET_PLAIN = 1.3
FITS = 20

STEP = Shift([0.1, 0.0, 0.0, 0.0, 0.0])
SIDES = {0: (1.0, 2.0), 1: (0.0, 1.0)}
BLOCKS: dict[str, Callable[[], Any]] = {
    "Box on rows": lambda: Box(SIDES, 1, mu=5.0),
    "Box everywhere": lambda: Box(SIDES, 1, mu=5.0, holds="everywhere"),
    "hard Box everywhere": lambda: Box(SIDES, 1, hard=True),
    "InvarianceHint": lambda: InvarianceHint(STEP),
    "hard InvarianceHint": lambda: InvarianceHint(STEP, hard=True),
    "OddnessHint": lambda: OddnessHint(),
    "hard OddnessHint": lambda: OddnessHint(hard=True),
    "MonotonicityHint": lambda: MonotonicityHint({0: 1}),
    "hard MonotonicityHint": lambda: MonotonicityHint({0: 1}, hard=True),
    "TangentPenalty": lambda: TangentPenalty(STEP),
}


def blocks(quick: bool) -> Iterator[Row]:
    """Yield one row for each block and kernel, over two tables."""
    for name, block in BLOCKS.items():
        for kernel in ("linear", "rbf"):
            # Rounds of cuts draw points by the solution of each round, so that their last problems differ.
            rounds = kernel == "rbf" and "everywhere" in name
            yield _row(name, block, kernel, quick, None if rounds else same)


def auto_weight(quick: bool) -> Iterator[Row]:
    """Yield a rule whose weight is chosen by cross-validation, against 20 fits."""
    for kernel in ("linear", "rbf"):
        timings = []
        for X, y in _tables().values():
            model = PriorSVC(Rule("x0 > 1", 1), kernel=kernel)
            timings.append(_compared(model, X, y, kernel, FITS, quick)[0])
        work = f"Rule, mu='auto', {kernel}, 100 × 5"
        yield Row.of("seconds_auto", work, f"{FITS} SVC.fit", _joined(timings), TARGET_AUTO)


def plain(quick: bool) -> Iterator[Row]:
    """Yield plain RBF models."""
    for name, (X, y) in _larger(quick).items():
        for C in (1.0, 100.0):
            timing, ours, peer = _compared(PriorSVC(kernel="rbf", C=C), X, y, "rbf", 1, quick, C)
            half = 0.5 * float(
                peer.dual_coef_[0] @ (peer.decision_function(peer.support_vectors_) - peer.intercept_)
            )
            margins = np.where(y == 1, 1.0, -1.0) * peer.decision_function(X)
            other = half + C * float(np.maximum(1.0 - margins, 0.0).sum())
            gap = (ours.objective_ - other) / other
            work = f"plain RBF, {name}, {X.shape[0]} × {X.shape[1]}, C = {C:g}"
            note = f"solved by {ours.solver_}"
            yield Row.of("seconds_plain", work, "SVC.fit, tol 1e-3", timing, TARGET_PLAIN, "P", gap, note)


def _row(name: str, block: Any, kernel: str, quick: bool, check: Callable[[float], float] | None) -> Row:
    timings = []
    gaps = []
    used = set()
    for X, y in _tables().values():
        timing, ours, _ = _compared(PriorSVC(block(), kernel=kernel), X, y, kernel, 1, quick)
        timings.append(timing)
        used.add(ours.solver_)
        stated = quietly(PriorSVC(block(), kernel=kernel, solver="SCHUR").fit, X, y)
        gap = (ours.objective_ - stated.objective_) / stated.objective_
        gaps.append(gap if check is None else check(gap))
    work = f"{name}, {kernel}, 100 × 5"
    note = f"solved by {', '.join(sorted(used))}; gap to SCHUR through CVXPY"
    return Row.of("seconds_small", work, "SVC.fit", _joined(timings), TARGET, "P", max(gaps, key=abs), note)


def _compared(
    model: PriorSVC, X: Array, y: Array, kernel: str, fits: int, quick: bool, C: float = 1.0
) -> tuple[Timing, PriorSVC, SVC]:
    """Return the times, our model and the last SVC."""
    least = 3 if quick else 9
    most = 5 if quick else 31
    seconds = 0.1 if quick else 1.0
    return interleaved(
        partial(quietly, model.fit, X, y), partial(_fits, kernel, C, fits, X, y), least, most, seconds
    )


def _fits(kernel: str, C: float, fits: int, X: Array, y: Array) -> SVC:
    for _ in range(fits):
        svc = SVC(kernel=kernel, C=C).fit(X, y)
    return svc


def _joined(timings: list[Timing]) -> Timing:
    return Timing(np.concatenate([t.ours for t in timings]), np.concatenate([t.peer for t in timings]))


def _tables() -> dict[str, tuple[Array, Array]]:
    """Return 100 rows and 5 columns of tumours and of wines."""
    tables = {}
    for name, load in (("tumours", load_breast_cancer), ("wines", load_wine)):
        X, y = load(return_X_y=True)
        chosen = np.random.default_rng(0).permutation(np.flatnonzero(y < 2))[:100]
        tables[name] = StandardScaler().fit_transform(X[chosen, :5]), y[chosen]
    return tables


def _larger(quick: bool) -> dict[str, tuple[Array, Array]]:
    """Return tables of 300 to 1000 rows."""
    X, y = load_breast_cancer(return_X_y=True)
    tables = {"tumours": (StandardScaler().fit_transform(X), y)}
    if not quick:
        X, y = load_digits(return_X_y=True)
        threes = np.isin(y, (3, 8))
        tables["digits 3, 8"] = X[threes] / 16, (y[threes] == 8).astype(int)
        tables["odd digits"] = X[:1000] / 16, y[:1000] % 2
    return tables
