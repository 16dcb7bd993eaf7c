"""Teo, Globerson, Roweis & Smola 2007: ten digits that may be shifted, from 10 to 100 images of each.

``python -m benchmarks mnist``. Test errors and how many images have to be kept: the standard model, virtual
samples, the invariant loss; then what C, gamma, more moves and the joint model change about it.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedKFold, cross_val_predict

from priorsvm import RBF, InvariantLoss, PriorSVC, Translation, VirtualSamples, load_mnist
from priorsvm.datasets import Digits
from priorsvm.errors import CollapsedModel

from .measure import Array
from .reproduction import Table

MODELS = ("standard", "virtual samples", "invariant loss")
COSTS, GAMMAS, FOLDS = (1.0, 10.0, 100.0), (0.005, 0.01, 0.02, 0.04), 3
# Images per digit: draws, and the C to choose from; with 100, where fits are long, what 50 mostly choose.
SIZES = {10: (10, COSTS), 20: (8, COSTS), 50: (5, COSTS), 100: (2, (10.0,))}
# A weight below this part of its model's largest is what an interior-point method leaves of zero.
HELD = 1e-6


def invariances(quick: bool) -> list[dict[str, Any]]:
    mnist = load_mnist()
    if quick:
        mnist = replace(mnist, X_test=mnist.X_test[:1000], y_test=mnist.y_test[:1000])
    commonest = np.bincount(mnist.y_train).argmax()
    print(
        f"MNIST, {len(mnist.y_test)} test images; always the commonest digit of the training images, "
        f"{commonest}: {100 * np.mean(mnist.y_test != commonest):.2f} % wrong\n"
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CollapsedModel)  # shows in the errors where C and gamma are small
        by_size = _by_size(mnist, {3: (2, (10.0,))} if quick else SIZES)
        return by_size + _by_setting(mnist, quick) + _by_form(mnist, quick)


def shifts(mnist: Digits, pixels: int = 1, grid: str = "cross") -> Translation:
    return Translation(mnist.image_shape, pixels, fill=mnist.background, grid=grid)


def priors(moves: Translation) -> list[Any]:
    """What each of the models is told."""
    return [None, VirtualSamples(moves), InvariantLoss(moves)]


def drawn(mnist: Digits, each: int, draw: int) -> tuple[Array, Array]:
    """So many training images of each digit."""
    rng = np.random.default_rng([each, draw])
    of_digit = [np.flatnonzero(mnist.y_train == digit) for digit in range(10)]
    rows = np.concatenate([rng.choice(rows, each, replace=False) for rows in of_digit])
    return mnist.X_train[rows], mnist.y_train[rows]


def validated(prior: Any, X: Array, y: Array, settings: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """The first (C, gamma) with the fewest errors in cross-validation."""
    if len(settings) == 1:
        return settings[0]
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=0)
    wrong = [
        np.count_nonzero(cross_val_predict(PriorSVC(prior, C=C, kernel=RBF(gamma)), X, y, cv=folds) != y)
        for C, gamma in settings
    ]
    return settings[int(np.argmin(wrong))]


def judged(model: PriorSVC, mnist: Digits) -> tuple[float, int, float]:
    """Test error in %, distinct images with a weight in some function, and their mean number in each."""
    weights = np.abs(model.dual_coef_)
    held = weights > HELD * weights.max(axis=1, keepdims=True)
    error = 100 * float(np.mean(model.predict(mnist.X_test) != mnist.y_test))
    return error, int(held.any(axis=0).sum()), float(held.sum(axis=1).mean())


def _by_size(mnist: Digits, sizes: dict[int, tuple[int, tuple[float, ...]]]) -> list[dict[str, Any]]:
    table = Table(
        "Shifts by one pixel (5 members), RBF, one against the rest. Error in %: mean ± standard deviation "
        "over draws; differences of the same draws ± standard error. gamma: cross-validation of the standard "
        "model; C: of each model. Kept: distinct images with a weight",
        "per digit", "draws", "model", "error", "less standard", "less virtual", "kept", "of virtual",
        "per function", "C (draws)", "gamma (draws)",
    )  # fmt: skip
    for each, (count, costs) in sizes.items():
        results, chosen = np.empty((count, len(MODELS), 3)), np.empty((count, len(MODELS), 2))
        for draw in range(count):
            X, y = drawn(mnist, each, draw)
            _, gamma = validated(None, X, y, [(C, gamma) for C in costs for gamma in GAMMAS])
            for k, prior in enumerate(priors(shifts(mnist))):
                C, _ = chosen[draw, k] = validated(prior, X, y, [(C, gamma) for C in costs])
                results[draw, k] = judged(PriorSVC(prior, C=C, kernel=RBF(gamma)).fit(X, y), mnist)
        error, kept, own = np.moveaxis(results, 2, 0)
        for k, name in enumerate(MODELS):
            table.row(
                each, count, name, f"{error[:, k].mean():.2f} ± {error[:, k].std(ddof=1):.2f}",
                *(_difference(error[:, k] - error[:, first]) if first < k else "-" for first in (0, 1)),
                f"{kept[:, k].mean():.0f}", f"{np.mean(kept[:, k] / kept[:, 1]):.2f}",
                f"{own[:, k].mean():.0f}", _counted(chosen[:, k, 0]), _counted(chosen[:, k, 1]),
            )  # fmt: skip
    return table.end()


def _difference(differences: Array) -> str:
    return f"{differences.mean():+.2f} ± {differences.std(ddof=1) / np.sqrt(len(differences)):.2f}"


def _counted(values: Array) -> str:
    found = zip(*np.unique(values, return_counts=True), strict=True)
    return ", ".join(f"{value:g} ({count})" for value, count in found)


COLUMNS = (*MODELS, "kept, virtual", "kept, invariant", "ratio", "ratio per function")


def _cells(results: Array) -> list[str]:
    """Means over draws; ``results`` is (draws, models, 3)."""
    error, kept, own = np.moveaxis(results, 2, 0)
    ratios = [f"{np.mean(counts[:, 2] / counts[:, 1]):.2f}" for counts in (kept, own)]
    return [*(f"{e:.2f}" for e in error.mean(axis=0)), *(f"{n:.0f}" for n in kept.mean(axis=0)[1:]), *ratios]


def _by_setting(mnist: Digits, quick: bool) -> list[dict[str, Any]]:
    each, draws, gammas, costs = (3, 1, (0.02,), (100.0,)) if quick else (20, 3, (0.001, 0.005, 0.02), COSTS)
    table = Table(
        f"{each} images per digit, {draws} of the draws, every model with the same C and gamma: "
        "test errors in % and images kept",
        "gamma", "C", *COLUMNS,
    )  # fmt: skip
    samples = [drawn(mnist, each, draw) for draw in range(draws)]
    for gamma in gammas:
        for C in costs:
            models = [PriorSVC(prior, C=C, kernel=RBF(gamma)) for prior in priors(shifts(mnist))]
            results = [[judged(model.fit(X, y), mnist) for model in models] for X, y in samples]
            table.row(gamma, f"{C:g}", *_cells(np.array(results)))
    return table.end()


def _by_form(mnist: Digits, quick: bool) -> list[dict[str, Any]]:
    """More moves, and one model for all classes as in the paper; it gets its copies as training rows."""
    (each, draws), C, gamma = (2, 1) if quick else (10, 3), 10.0, 0.02
    table = Table(
        f"{each} images per digit, {draws} of the draws, C = {C:g}, gamma = {gamma:g}: more moves, and one "
        "model for all classes",
        "model", "members", *COLUMNS,
    )  # fmt: skip
    samples = [drawn(mnist, each, draw) for draw in range(draws)]
    for moves in (shifts(mnist), shifts(mnist, grid="full"), shifts(mnist, 2, "full"))[: 1 if quick else 3]:
        models = [PriorSVC(prior, C=C, kernel=RBF(gamma)) for prior in priors(moves)]
        results = [[judged(model.fit(X, y), mnist) for model in models] for X, y in samples]
        table.row("one against the rest", len(moves.theta_grid()), *_cells(np.array(results)))
    results = []
    for X, y in samples:
        orbit = shifts(mnist).orbit(X)
        copies = orbit.reshape(-1, X.shape[1]), np.repeat(y, orbit.shape[1])
        joint = {"C": C, "kernel": RBF(gamma), "multi_class": "joint"}
        models = (
            PriorSVC(**joint).fit(X, y),
            PriorSVC(**joint).fit(*copies),
            PriorSVC(InvariantLoss(shifts(mnist)), **joint).fit(X, y),
        )
        results.append([judged(model, mnist) for model in models])
    table.row("joint", orbit.shape[1], *_cells(np.array(results)))
    return table.end()
