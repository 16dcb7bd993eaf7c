"""``Monotone`` everywhere in one column of eight, RBF, against ``SVC`` without a block."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.svm import SVC

from priorsvm import Monotone, PriorSVC

from .measure import Array, Row, interleaved, quietly

TARGETS = {"soft": 60.0, "hard": 300.0}


def monotone(quick: bool) -> Iterator[Row]:
    """Soft and hard, on a table of diabetes (mean blood pressure rises) and of tumours (radius rises)."""
    n = 60 if quick else 300
    for name, (X, y, column) in {"diabetes": _diabetes(n), "tumours": _tumours(n)}.items():
        for kind, target in TARGETS.items():
            block = Monotone({column: 1}, hard=kind == "hard", holds="everywhere")
            model = PriorSVC(block, kernel="rbf")
            peer = SVC()
            timing, ours, other = interleaved(
                partial(quietly, model.fit, X, y),
                partial(peer.fit, X, y),
                least=1 if quick else 3,
                most=9,
                seconds=0.5 if quick else 4.0,
            )
            note = (
                f"objective {ours.objective_:.4f}, {ours.n_rounds_} rounds; accuracy on the rows "
                f"{ours.score(X, y):.3f}, SVC {other.score(X, y):.3f}"
            )
            work = f"{kind} Monotone, {name}, N={n}, d={X.shape[1]}"
            yield Row.of("seconds_monotone", work, "SVC.fit", timing, target, note=note)


def _diabetes(n: int) -> tuple[Array, Array, int]:
    X, progression = load_diabetes(return_X_y=True)
    X = _standard(X[:n, [0, 2, 3, 4, 5, 6, 8, 9]])
    return X, (progression[:n] > np.median(progression)).astype(int), 2


def _tumours(n: int) -> tuple[Array, Array, int]:
    X, benign = load_breast_cancer(return_X_y=True)
    return _standard(X[:n, [0, 1, 4, 5, 6, 7, 8, 9]]), 1 - benign[:n], 0


def _standard(X: Array) -> Array:
    return (X - X.mean(axis=0)) / X.std(axis=0)
