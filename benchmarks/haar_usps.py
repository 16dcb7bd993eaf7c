"""Haasdonk, Vossen & Burkhardt 2005: Haar-integration kernels on USPS.

``python -m benchmarks haar``. Test errors over ranges of rotations and translations, with C and γ picked on
the test rows as in the paper and chosen by cross-validation; and what the integral reduction, training on
support vectors and virtual support vectors cost. Kernel matrices in single precision, two rows of the first
table at a time.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.model_selection import GridSearchCV, StratifiedKFold, train_test_split
from tqdm import tqdm

from priorsvm import (
    RBF,
    HaarIntegration,
    Kernel,
    PriorSVC,
    Rotation,
    Transform,
    Translation,
    VirtualSupportVectors,
    load_usps,
)

from .measure import timed
from .reproduction import Table

COSTS, GAMMAS = [10.0, 100.0, 1000.0], [0.005, 0.01, 0.02]
# Cross-validation takes these many training rows, in three parts.
CHOSEN_ON = 2000

# Test errors in %: the ranges of the angle in radians / π, and of both shifts in pixels.
ROTATIONS = {0.04: 4.1, 0.08: 4.2, 0.12: 3.9, 0.16: 4.2}
TRANSLATIONS = {1: 3.7, 2: 3.2, 3: 3.3, 4: 3.2}
PLAIN = 4.5
# Test error in %, seconds of training and of testing, support vectors per model.
COMPLEXITY = {
    "HI": (3.6, 1771, 479, 412),
    "HI, IR": (3.6, 810, 176, 412),
    "HI, SV": (3.6, 540, 466, 410),
    "HI, SV + IR": (3.6, 334, 172, 410),
    "VSV": (3.5, 2902, 177, 4240),
}


def haar(quick: bool) -> list[dict[str, Any]]:
    """Both tables."""
    usps = load_usps()
    data = usps.X_train, usps.y_train, usps.X_test, usps.y_test
    if quick:
        few = [np.isin(y, (3, 5, 8)) for y in (usps.y_train, usps.y_test)]
        data = (*(part[few[0]][:300] for part in data[:2]), *(part[few[1]][:300] for part in data[2:]))
    return errors(usps, data, quick) + complexity(usps, data)


def turned(usps: Any, share: float) -> Rotation:
    return Rotation(usps.image_shape, 180 * share, fill=usps.background)


def shifted(usps: Any, pixels: int, steps: int | None = 3) -> Translation:
    """By 0 and ± so many pixels, or with ``steps=None`` by every pixel in between, along both axes."""
    return Translation(usps.image_shape, pixels, usps.background, grid="full", steps=steps)


def errors(usps: Any, data: tuple[Any, ...], quick: bool) -> list[dict[str, Any]]:
    """Table 1: three angles, three by three shifts, or all shifts of a range, of either argument."""
    moves: dict[str, tuple[Transform | None, float]] = {"none": (None, PLAIN)}
    moves |= {f"rotations ±{r}π": (turned(usps, r), error) for r, error in ROTATIONS.items()}
    moves |= {f"translations 0, ±{p}": (shifted(usps, p), error) for p, error in TRANSLATIONS.items()}
    moves |= {
        f"translations up to ±{p}": (shifted(usps, p, None), error)
        for p, error in TRANSLATIONS.items()
        if p > 1  # up to one pixel it is the row above
    }
    if quick:
        some = ("none", "rotations ±0.08π", "translations 0, ±1", "translations up to ±2")
        moves = {name: moves[name] for name in some}
    # The widest first, so that neither worker is left with it in the end.
    tasks = (delayed(_line)(name, *moves[name], data) for name in reversed(moves))
    workers = Parallel(n_jobs=1 if quick else 2, return_as="generator_unordered")
    lines = {line[0]: line for line in tqdm(workers(tasks), "Table 1", len(moves), leave=False)}
    columns = ("moves", "published", "best on test", "at C, γ", "cross-validated", "chosen C, γ", "CPU s")
    table = Table(f"Test errors in % ({len(data[0])} training, {len(data[2])} test rows)", *columns)
    for name in moves:
        table.row(*lines[name])
    return [dict(row, table="errors") for row in table.end()]


def _line(name: str, transform: Transform | None, published: float, data: tuple[Any, ...]) -> tuple[Any, ...]:
    seconds, (tested, chosen) = timed(partial(_grid, _kernel(transform), data))
    best = min(tested, key=lambda pair: tested[pair])
    return name, published, tested[best], _text(best), tested[chosen], _text(chosen), round(seconds)


def _kernel(transform: Transform | None) -> Kernel:
    base = RBF(gamma=GAMMAS[0])
    return base if transform is None else HaarIntegration(base, transform, precision="single")


def _grid(kernel: Kernel, data: tuple[Any, ...]) -> tuple[dict[Any, float], Any]:
    """The test error for every (C, γ), and the pair that cross-validation on training rows prefers."""
    X, y, X_test, y_test = data
    name = "base__gamma" if isinstance(kernel, HaarIntegration) else "gamma"
    tested = {}
    for gamma in GAMMAS:
        model = PriorSVC(kernel=kernel.set_params(**{name: gamma}), tol=1e-3)
        for C, fitted in zip(COSTS, model.fit_path(X, y, {"C": COSTS}), strict=True):
            tested[C, gamma] = 100 * np.mean(fitted.predict(X_test) != y_test)
    if len(X) > CHOSEN_ON:
        X, _, y, _ = train_test_split(X, y, train_size=CHOSEN_ON, stratify=y, random_state=0)
    search = GridSearchCV(
        PriorSVC(kernel=kernel, tol=1e-3),
        {"C": COSTS, f"kernel__{name}": GAMMAS},
        cv=StratifiedKFold(3, shuffle=True, random_state=0),
        refit=False,
    ).fit(X, y)
    return tested, (search.best_params_["C"], search.best_params_[f"kernel__{name}"])


def _text(pair: tuple[float, float]) -> str:
    return f"{pair[0]:g}, {pair[1]:g}"


def complexity(usps: Any, data: tuple[Any, ...]) -> list[dict[str, Any]]:
    """Table 2: C = 100, γ = 0.01, nine shifts by 0 and ±2 pixels."""
    X, y, X_test, y_test = data
    base, moves = RBF(gamma=0.01), shifted(usps, 2)
    whole = HaarIntegration(base, moves, reduction="none", precision="single")
    reduced = HaarIntegration(base, moves, precision="single")
    svm = partial(PriorSVC, C=100.0, tol=1e-3)
    models = {
        "HI": svm(kernel=whole),
        "HI, IR": svm(kernel=reduced),
        "HI, SV": svm(kernel=whole, preselect=True),
        "HI, SV + IR": svm(kernel=reduced, preselect=True),
        "VSV": svm(VirtualSupportVectors(moves), kernel=base),
    }
    columns = ("error %", "train s", "train / HI", "test s", "test / HI", "SVs per model")
    header = [*columns, *(f"published {c}" for c in ("error %", "train s", "test s", "SVs"))]
    table = Table("C = 100, γ = 0.01, 3 x 3 shifts by 0, ±2 pixels; CPU seconds", "model", *header)
    first: tuple[float, float] | None = None
    for name, model in models.items():
        training, fitted = timed(partial(model.fit, X, y))
        testing, found = timed(partial(fitted.predict, X_test))
        first = first or (training, testing)
        support = float(np.mean([np.count_nonzero(m.alpha) for m in fitted._models]))
        error = 100 * np.mean(found != y_test)
        ours = (error, training, training / first[0], testing, testing / first[1], round(support))
        table.row(name, *ours, *COMPLEXITY[name])
    return [dict(row, table="complexity") for row in table.end()]
