"""Long fits with max_seconds, and sizes that no computer has memory for."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.datasets import make_classification

from priorsvm import (
    RBF,
    Box,
    Elastic,
    FeatureDeletion,
    InvarianceHint,
    InvariantLoss,
    MissingValues,
    Monotone,
    MonotonicityHint,
    PriorSVC,
    Rotation,
    RowPermutations,
    Shift,
    TangentPenalty,
    Trajectories,
    Transductive,
    Translation,
    UncertainSamples,
    VirtualSamples,
    Zoom,
)
from priorsvm.errors import PriorSVMError, TooLarge

from .hostile_tally import Hang, Tally, patience

# Limit of a fit. It may take LATE CPU seconds longer, because single steps are not interrupted.
SECONDS = 1.0
LATE = 2.0

RISES = Monotone({0: 1, 1: -1, 2: 1}, hard=True)
MOVE = Shift(np.full(8, 0.1))
HARD: dict[str, Any] = {"kernel": "rbf", "C": 100.0}


def _table(n: int = 400, d: int = 8, classes: int = 2) -> tuple[Any, Any]:
    return make_classification(
        n, d, n_informative=6, n_redundant=0, n_classes=classes, flip_y=0.2, random_state=0
    )


def _gaps(n: int) -> tuple[Any, Any]:
    X, y = _table(n)
    X[np.random.default_rng(0).random(X.shape) < 0.2] = np.nan
    return X, y


def _images(n: int) -> tuple[Any, Any]:
    return np.random.default_rng(0).random((n, 64)), np.arange(n) % 2


Long = tuple[Any, dict[str, Any], tuple[Any, Any]]
LONG: dict[str, Callable[[], Long]] = {
    "hard Monotone": lambda: (RISES, HARD, _table()),
    "hard rule everywhere": lambda: (Box({0: (0, 3)}, 1, hard=True), HARD, _table(800)),
    "hard rule, guaranteed": lambda: (
        Box({0: (-3, 3), 1: (-3, 3)}, 1, method="guaranteed", max_cells=10**6, hard=True, holds="everywhere"),
        {"kernel": RBF(100.0), "C": 10.0},
        (_table()[0][:, :2], _table()[1]),
    ),
    "mu auto": lambda: (Box({0: (0, 3)}, 1) + Monotone({1: 1}, hard=True), HARD, _table()),
    "InvariantLoss": lambda: (InvariantLoss(Translation((8, 8), 2)), HARD, _images(300)),
    "InvariantLoss, deletions": lambda: (InvariantLoss(FeatureDeletion(3)), {"C": 10.0}, _images(400)),
    "InvariantLoss, pegasos": lambda: (
        InvariantLoss(Translation((8, 8), 1), method="pegasos"),
        {"tol": 1e-8, "max_rounds": 10**6},
        _images(300),
    ),
    "UncertainSamples": lambda: (UncertainSamples(0.1 * np.eye(8)), HARD, _table(900)),
    "MissingValues": lambda: (MissingValues(), HARD, _gaps(700)),
    "Trajectories": lambda: (Trajectories(Rotation((8, 8), 10)), {"C": 10.0}, _images(200)),
    "TangentPenalty": lambda: (TangentPenalty(MOVE), HARD, _table(700)),
    "InvarianceHint": lambda: (InvarianceHint(MOVE, hard=True), HARD, _table(900)),
    "Transductive": lambda: (Transductive(_table(200)[0]), HARD, _table(600)),
    "RowPermutations": lambda: (RowPermutations((4, 2)), HARD, _table(700)),
    "joint": lambda: (None, {**HARD, "multi_class": "joint"}, _table(900, classes=4)),
    "four classes, two workers": lambda: (
        Monotone({0: 1, 1: 1}, hard=True, label=1),
        {**HARD, "n_jobs": 2},
        _table(300, classes=4),
    ),
    "1-norm": lambda: (None, {**HARD, "norm": "l1"}, _table(900)),
    **{
        solver: lambda solver=solver: (None, {**HARD, "C": 1e5, "tol": 1e-9, "solver": solver}, _table(500))
        for solver in ("CLARABEL", "SCS", "OSQP", "ECOS", "PIQP", "QOCO", "SCHUR", "ROWS", "LIBSVM")
    },
    **{
        solver: lambda solver=solver: (None, {"C": 1e6, "tol": 1e-9, "solver": solver}, _table(50_000, 60))
        for solver in ("NORMAL", "BAND", "CHUNKS")
    },
}


def seconds(tally: Tally, quick: bool) -> None:
    """Fit with max_seconds: the answer so far with a warning, or OutOfTime."""
    for name, made in list(LONG.items())[:: 9 if quick else 1]:
        prior, parameters, (X, y) = made()
        model = PriorSVC(prior, max_seconds=SECONDS, **parameters)
        start = time.process_time()
        try:
            with warnings.catch_warnings(), patience(120.0):
                warnings.simplefilter("ignore")
                model.fit(X, y)
            outcome = "accepted"
        except PriorSVMError:
            outcome = "refused"
        except Hang:
            outcome = "hang"
        except Exception as error:
            tally.count("raw", f"{name}: {error!r}"[:300])
            continue
        taken = time.process_time() - start
        late = taken > SECONDS + LATE
        tally.count("hang" if late else outcome, f"{name}: {taken:.1f} CPU seconds")


SIZES: list[Any] = [
    Box({0: (0, 1)}, 1, method="points", points=10**12),
    Box({0: (0, 1)}, 1, points=10**12),
    Box({0: (0, 1)}, 1, method="guaranteed", max_cells=10**12),
    Monotone({0: 1}, points=10**12),
    MonotonicityHint({0: 1}, pairs=10**10),
    VirtualSamples(Elastic((8, 8), copies=10**9)),
    InvarianceHint(Elastic((8, 8), copies=10**9)),
    VirtualSamples(Shift(np.ones(64), steps=10**9 + 1)),
    InvariantLoss(Rotation((8, 8), 10, steps=10**400 + 1)),
    VirtualSamples(Rotation((8, 8), 10, steps=999) @ Zoom((8, 8), 10, steps=999)),
]


def sizes(tally: Tally, quick: bool) -> None:
    """Request more than the memory: TooLarge, with the size, before any work."""
    X, y = _images(20)
    for block in SIZES:
        start = time.process_time()
        try:
            PriorSVC(block, kernel="rbf").fit(X, y)
            tally.count("wrong", f"{block!r} was fitted")
        except TooLarge as error:
            quickly = time.process_time() - start < 5.0
            clear = quickly and "GiB" in str(error)
            tally.count("refused" if clear else "wrong", f"{type(block).__name__}: {error}")
        except Exception as error:
            tally.count("raw", f"{type(block).__name__}: {error!r}"[:300])
