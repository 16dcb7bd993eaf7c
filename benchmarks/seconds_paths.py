"""``fit_path`` over ten values of C on kernel models, against ten separate fits."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
from sklearn.base import clone
from sklearn.datasets import load_digits

from priorsvm import RBF, PriorSVC

from .measure import Array, Row, interleaved, same
from .plain_models import FAMILIES

TARGET = 0.3
VALUES = np.logspace(-1, 2, 10)


def paths(quick: bool) -> Iterator[Row]:
    """Rows of many features, rows of real images, and rows of two features, whose kernel has a low rank."""
    n = 200 if quick else 1000
    for name in ("clusters", "digits", "moons"):
        X, labels, gamma = _digits(n) if name == "digits" else FAMILIES[name](n)
        model = PriorSVC(kernel=RBF(gamma))
        timing, together, apart = interleaved(
            partial(model.fit_path, X, labels, {"C": VALUES}),
            partial(_one_by_one, model, X, labels),
            least=1 if quick else 5,
            most=11,
        )
        gaps = [(a.objective_ - b.objective_) / b.objective_ for a, b in zip(together, apart, strict=True)]
        worst = same(max(gaps, key=abs))
        work = f"fit_path, RBF, {name}, N={n}, 10 values of C"
        note = f"solved by {together[0].solver_}"
        yield Row.of("seconds_paths", work, "ten fits", timing, TARGET, "P", worst, note)


def _digits(n: int) -> tuple[Array, Array, float]:
    """Digits 0 to 4 against 5 to 9."""
    X, y = load_digits(return_X_y=True)
    X = X[:n] / 16.0
    return X, (y[:n] > 4).astype(int), 1.0 / (64 * X.var())


def _one_by_one(model: PriorSVC, X: Array, labels: Array) -> list[PriorSVC]:
    return [clone(model).set_params(C=C).fit(X, labels) for C in VALUES]
