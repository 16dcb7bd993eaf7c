"""Hard blocks everywhere on RBF models: does f keep them? ``python -m benchmarks promises``.

Each fit is checked by 100 000 random points of its region and by descents from the worst of them. Only
``decision_function`` is used, so the check shares no code with the search of the library. A violation above
the tolerance of the blocks has to come with the warning ``NotKept``, or ``ConvergenceWarning`` at a limit.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer, load_wine, make_classification, make_moons
from sklearn.exceptions import ConvergenceWarning
from tqdm import tqdm

from priorsvm import Box, Ellipsoid, Monotone, Polyhedron, PriorSVC
from priorsvm.errors import Infeasible, NotKept

from .measure import Array

FITS, QUICK = 60, 4
POINTS, QUICK_POINTS = 100_000, 2000
# Limit of a fit. A fit that ends there may violate its promise, with a warning.
SECONDS = 60.0
# A violation up to this size is within the tolerance of the blocks, 2e-4, and rounding of differences.
KEPT = 2.5e-4
# Descents from the worst points: how many, and their steps.
STARTS = 50
STEPS = 60


@dataclass(frozen=True, eq=False)
class Promise:
    """A hard block, points at which it applies, and by how much f violates it there."""

    kind: str
    block: Any
    points: Callable[[int], Array]
    project: Callable[[Array], Array]
    violation: Callable[[Any, Array], Array]


def promises(quick: bool) -> list[dict[str, Any]]:
    """Return for each kind of block the number of fits, warnings and silent violations."""
    found: dict[str, list[tuple[float, bool, float]]] = {}
    for seed in tqdm(range(QUICK if quick else FITS), "hard fits", leave=False):
        kind, *outcome = _outcome(seed, QUICK_POINTS if quick else POINTS)
        found.setdefault(kind, []).append(tuple(outcome))
    rows = []
    for kind, outcomes in sorted(found.items()):
        worst, warned, seconds = (np.array(part) for part in zip(*outcomes, strict=True))
        fitted = np.isfinite(worst)
        silent = fitted & ~warned.astype(bool) & (worst > KEPT)
        row = {
            "kind": kind,
            "fits": int(fitted.sum()),
            "infeasible": int((~fitted).sum()),
            "warned": int(warned.sum()),
            "silent": int(silent.sum()),
            "worst": f"{worst[fitted].max(initial=0.0):.1e}",
            "seconds": f"{np.median(seconds):.2g}",
        }
        print("  ".join(f"{key} {value}" for key, value in row.items()), flush=True)
        rows.append(row)
    print()
    return rows


def _outcome(seed: int, count: int) -> tuple[str, float, bool, float]:
    """Return the kind of block, the largest violation (NaN if infeasible), whether it warned, and seconds."""
    rng = np.random.default_rng(seed)
    X, y = _table(seed, rng)
    promise = _promise(seed, X, rng)
    C = float(rng.choice([1.0, 10.0]))
    model = PriorSVC(promise.block, kernel="rbf", C=C, max_seconds=SECONDS)
    start = time.process_time()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            model.fit(X, y)
        except Infeasible:
            return promise.kind, np.nan, False, time.process_time() - start
    seconds = time.process_time() - start
    warned = any(issubclass(w.category, (NotKept, ConvergenceWarning)) for w in caught)
    return promise.kind, _worst(model, promise, count), warned, seconds


def _table(seed: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Return a table of 2 to 10 columns in units of their standard deviations."""
    n = int(rng.integers(40, 160))
    match seed % 4:
        case 0:
            d = int(rng.integers(3, 9))
            X, y = make_classification(n, d, n_informative=3, n_redundant=0, flip_y=0.05, random_state=seed)
        case 1:
            X, y = make_moons(n, noise=0.25, random_state=seed)
        case 2:
            X, y = load_breast_cancer(return_X_y=True)
        case _:
            X, y = load_wine(return_X_y=True)
            y = (y == 1).astype(int)
    rows = rng.permutation(len(X))[:n]
    columns = rng.permutation(X.shape[1])[:10]
    X = X[np.ix_(rows, columns)]
    return (X - X.mean(axis=0)) / X.std(axis=0), y[rows]


def _promise(seed: int, X: Array, rng: np.random.Generator) -> Promise:
    low = X.min(axis=0)
    high = X.max(axis=0)
    d = X.shape[1]
    label = int(rng.integers(2))
    sign = 2.0 * label - 1.0

    def short(model: Any, Z: Array) -> Array:
        return 1.0 - sign * model.decision_function(Z)

    match (seed + seed // 4) % 4:
        case 0:
            named = rng.permutation(d)[:2]
            inner = low.copy()
            inner[named] = np.quantile(X[:, named], 0.7, axis=0)
            bounds = {int(j): (float(inner[j]), float(high[j])) for j in named}
            return Promise(
                "Box",
                Box(bounds, label, hard=True),
                lambda count: rng.uniform(inner, high, (count, d)),
                lambda Z: np.clip(Z, inner, high),
                short,
            )
        case 1:
            a = rng.normal(size=d)
            a /= np.linalg.norm(a)
            t = float(np.quantile(X @ a, 0.8))

            def project(Z: Array) -> Array:
                for _ in range(20):
                    Z = np.clip(Z + np.maximum(t - Z @ a, 0.0)[:, None] * a, low, high)
                return Z

            return Promise(
                "Polyhedron",
                Polyhedron(-a[None], np.array([-t]), label, hard=True, within="data"),
                lambda count: project(rng.uniform(low, high, (count, d))),
                project,
                lambda model, Z: np.where(Z @ a >= t - 1e-9, short(model, Z), -np.inf),
            )
        case 2:
            centre = X[int(rng.integers(len(X)))]
            radius = 0.7
            return Promise(
                "Ellipsoid",
                Ellipsoid(centre, radius, label, hard=True),
                lambda count: _ball(rng, centre, radius, count),
                lambda Z: centre + _shortened(Z - centre, radius),
                short,
            )
        case _:
            columns = rng.permutation(d)[: 1 + seed // 4 % 3]
            directions = {int(j): int(rng.choice([-1, 1])) for j in columns}

            def falls(model: Any, Z: Array) -> Array:
                worst = np.full(len(Z), -np.inf)
                for j, direction in directions.items():
                    step = np.zeros(d)
                    step[j] = 1e-4
                    inside = np.clip(Z, low + step, high - step)
                    rise = model.decision_function(inside + step) - model.decision_function(inside - step)
                    worst = np.maximum(worst, -direction * rise / 2e-4)
                return worst

            return Promise(
                "Monotone",
                Monotone(directions, hard=True),
                lambda count: rng.uniform(low, high, (count, d)),
                lambda Z: np.clip(Z, low, high),
                falls,
            )


def _ball(rng: np.random.Generator, centre: Array, radius: float, count: int) -> Array:
    """Return points of a ball, half of them on its surface."""
    Z = rng.normal(size=(count, len(centre)))
    length = radius * np.minimum(2.0 * rng.random(count), 1.0) ** (1.0 / len(centre))
    return centre + Z / np.linalg.norm(Z, axis=1, keepdims=True) * length[:, None]


def _shortened(Z: Array, radius: float) -> Array:
    length = np.linalg.norm(Z, axis=1, keepdims=True)
    return Z * np.minimum(1.0, radius / np.maximum(length, 1e-300))


def _worst(model: PriorSVC, promise: Promise, count: int) -> float:
    """Return the largest violation at random points and along projected ascents from the worst of them."""
    Z = promise.project(promise.points(count))
    values = promise.violation(model, Z)
    Z = Z[np.argsort(-values)[:STARTS]]
    best = promise.violation(model, Z)
    step = np.full(len(Z), 0.2)
    for _ in range(STEPS):
        trial = promise.project(Z + step[:, None] * _direction(model, promise, Z))
        found = promise.violation(model, trial)
        better = found > best
        Z[better] = trial[better]
        best[better] = found[better]
        step *= np.where(better, 1.5, 0.5)
    return float(best.max())


def _direction(model: PriorSVC, promise: Promise, Z: Array) -> Array:
    """Return unit gradients of the violation by differences."""
    h = 1e-4
    slopes = [
        promise.violation(model, Z + h * e) - promise.violation(model, Z - h * e) for e in np.eye(Z.shape[1])
    ]
    G = np.where(np.isfinite(slopes), slopes, 0.0).T
    return G / np.maximum(np.linalg.norm(G, axis=1, keepdims=True), 1e-300)
