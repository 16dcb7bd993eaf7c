"""Entries deleted at random: mean imputation, conditional means, and cones over the confidence.

``python -m benchmarks missing``. The question of Shivaswamy, Bhattacharyya & Smola (2006); their tables are
not at hand.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV, StratifiedKFold, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

from priorsvm import MissingValues, PriorSVC
from priorsvm.errors import CollapsedModel

from .measure import Array
from .reproduction import Table, arrays, paired

RATES, SEEDS = (0.1, 0.2, 0.4, 0.6), 15
CONFIDENCES = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95)  # 0.5 is the conditional mean
FIXED = 0.9  # compared with mean imputation row by row; not chosen by what the test rows say
C = (0.01, 0.1, 1.0, 10.0)


def breast_cancer() -> tuple[Array, Any]:
    return load_breast_cancer(return_X_y=True)


def wine() -> tuple[Array, Any]:
    """The second grower against the two others."""
    X, y = load_wine(return_X_y=True)
    return X, y == 1


def wbc_original() -> tuple[Array, Any]:
    """With its 16 true gaps."""
    data = arrays("wbc_original")
    X = data["X"].astype(float)
    return np.where(X == 0, np.nan, X), data["y"] == 1


def wpbc() -> tuple[Array, Any]:
    """Who recurred at any time; with its 4 true gaps."""
    data = arrays("wpbc")
    return data["X"].astype(float), data["recur"] == 1


def echoes() -> tuple[Array, Any]:
    """In place of ionosphere, of its size: 351 rows of 17 complex numbers, real and imaginary parts.

    An echo is a damped wave a rᵏ exp(iωk), k = 0..16, r from [0.9, 1], and noise, cut off at ±1. In a good
    one (225 rows) a is from [0.5, 1], ω of standard deviation 0.25 and the noise of 0.25; in a bad one a is
    from [0, 0.7], ω of deviation 1 and the noise of 0.5.
    """
    rng = np.random.default_rng(0)
    good = np.arange(351) < 225
    amplitude = np.where(good, rng.uniform(0.5, 1, 351), rng.uniform(0, 0.7, 351))
    turn = np.where(good, 0.25, 1.0) * rng.normal(size=351)
    k = np.arange(17)
    wave = amplitude[:, None] * rng.uniform(0.9, 1, (351, 1)) ** k * np.exp(1j * np.outer(turn, k))
    noise = np.where(good, 0.25, 0.5)[:, None] * rng.normal(size=(351, 34))
    return np.clip(np.hstack([wave.real, wave.imag]) + noise, -1, 1), good


TABLES: dict[str, Callable[[], tuple[Array, Any]]] = {
    "breast cancer": breast_cancer,
    "wine": wine,
    "wbc_original": wbc_original,
    "wpbc": wpbc,
    "echoes": echoes,
}


class SharedMissingValues(MissingValues):
    """The Gaussians do not depend on the confidence: those of the last table are kept."""

    last: ClassVar[tuple[Any, Any]] = (None, None)

    def complete(self, X: Array, labels: Array, weight: Array, names: Any = None) -> Any:
        table, completed = type(self).last
        if table is None or not np.array_equal(table, X, equal_nan=True):
            completed = super().complete(X, labels, weight, names)
            type(self).last = (X.copy(), completed)
        return completed


def errors(X: Array, y: Any, rate: float, seed: int) -> tuple[Array, bool]:
    """Per cent of wrong test rows, all at one C, and whether f is constant at FIXED.

    By mean imputation, at every confidence, and at FIXED with average=True for the test rows.
    """
    rng = np.random.default_rng(seed)
    train, test = train_test_split(np.arange(len(y)), train_size=0.6, stratify=y, random_state=seed)
    Z = np.where(rng.random(X.shape) < rate, np.nan, X)
    Z = (Z - np.nanmean(Z[train], axis=0)) / np.nanstd(Z[train], axis=0)
    folds = StratifiedKFold(5, shuffle=True, random_state=seed)
    search = GridSearchCV(make_pipeline(SimpleImputer(), SVC(kernel="linear")), {"svc__C": C}, cv=folds)
    weight = search.fit(Z[train], y[train]).best_params_["svc__C"]
    mean = SimpleImputer().fit(Z[train])
    plain = PriorSVC(C=weight).fit(mean.transform(Z[train]), y[train])
    answers = [plain.predict(mean.transform(Z[test]))]
    blocks = [*(SharedMissingValues(c) for c in CONFIDENCES), SharedMissingValues(FIXED, average=True)]
    models = [PriorSVC(block, C=weight).fit(Z[train], y[train]) for block in blocks]
    answers += [model.predict(Z[test]) for model in models]
    constant = bool(np.ptp(models[-1].decision_function(Z[test])) < 1e-3)
    return np.array([100 * np.mean(answer != y[test]) for answer in answers]), constant


def missing(quick: bool) -> list[dict[str, Any]]:
    """Deleted in training and test rows alike."""
    names, rates, seeds = (("wine",), (0.4,), 2) if quick else (TABLES, RATES, SEEDS)
    tables = {name: TABLES[name]() for name in names}
    table = Table(
        f"Test errors in %, mean ± standard deviation over {seeds} splits (60 % train). Linear model, C by "
        "5 folds of mean imputation on the training rows, the same for all columns. 'average': the model "
        f"of {FIXED:g}, for test rows the average over the classes they may be of. 'less mean': that error "
        "less the one of mean imputation, in points, ± standard error (in how many splits better : worse). "
        f"Last, in how many splits f is constant at {FIXED:g}",
        "table", "deleted", "majority", "mean", "conditional mean", *(f"{c:g}" for c in CONFIDENCES[1:]),
        f"{FIXED:g}, average", f"{FIXED:g} less mean", "average less mean", "constant",
    )  # fmt: skip
    for name, (X, y) in tables.items():
        majority = f"{100 * min(np.mean(y), 1 - np.mean(y)):.1f}"
        for rate in rates:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", CollapsedModel)  # counted instead
                runs = [errors(X, y, rate, seed) for seed in range(seeds)]
            found = np.array([run[0] for run in runs])
            gains = [found[:, k] - found[:, 0] for k in (1 + CONFIDENCES.index(FIXED), -1)]
            spread = zip(found.mean(axis=0), found.std(axis=0, ddof=1), strict=True)
            table.row(
                name,
                f"{rate:.0%}",
                majority,
                *(f"{mean:.1f} ± {deviation:.1f}" for mean, deviation in spread),
                *(paired(gain, better=-1) for gain in gains),
                sum(run[1] for run in runs),
            )
    return table.end()
