"""The problems of ``python -m benchmarks.objectives``, solved by the priorsvm of any folder.

``python -m benchmarks.objective_cells FOLDER GROUP LIMIT`` prints one line of JSON for each problem. The
package of FOLDER may be older than today's; all differences of its parameters are in this file. LIMIT is the
CPU time of one fit in seconds.
"""

from __future__ import annotations

import json
import signal
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from importlib import import_module
from inspect import signature
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

# Name of a problem, a function that fits it, and a function of the fitted model that returns further figures;
# None for problems without cuts.
Cell = tuple[str, Callable[[], Any], Callable[[Any], dict[str, float]] | None]
# Column -> ends of a box.
Bounds = dict[int, tuple[float, float]]

# Points at which the requirement of a block is evaluated.
POINTS = 20_000
# Descents from the lowest points and from others, and their steps.
LOWEST = 300
OTHERS = 700
STEPS = 60
# Weight and C of the soft boxes.
MU = 10.0
C = 10.0


def regions() -> Iterator[Cell]:
    """Yield boxes everywhere on RBF models."""
    p = import_module("priorsvm")
    for table, X, y, bounds in _tables():
        for kind, block, figures in (
            ("soft", p.Box(bounds, 1, **_soft(MU, C)), _whole(X, bounds, C * MU)),
            ("hard", p.Box(bounds, 1, hard=True), _least(X, bounds)),
        ):
            model = p.PriorSVC(block, C=C, kernel=p.RBF("scale"), scale="standard")
            yield f"{kind} box, {table}", _fit(model, X, y), figures


def _whole(X: Any, bounds: Bounds, weight: float) -> Callable[[Any], dict[str, float]]:
    """Return a function that gives the objective of a model with a soft box everywhere.

    The problem of a fit contains the points that its search has found. This objective is the one of the whole
    box: the regulariser, the loss, and the cost of the lowest value of f in the box.
    """
    least = _least(X, bounds)

    def objective(model: Any) -> dict[str, float]:
        terms = sum(row.contribution for row in model.report_["svm"])
        return {"objective": terms + weight * max(-least(model)["least"], 0.0)}

    return objective


def _least(X: Any, bounds: Bounds) -> Callable[[Any], dict[str, float]]:
    """Return a function that gives the least value of f - 1 in a box within the range of the rows."""
    low = X.min(axis=0)
    high = X.max(axis=0)
    for j, ends in bounds.items():
        low[j], high[j] = ends
    return lambda model: {"least": _lowest(model, low, high) - 1.0}


def _lowest(model: Any, low: Any, high: Any) -> float:
    """Return the lowest value of f in a box, by random points and descents, from decision_function only."""
    rng = np.random.default_rng(7)
    d = len(low)
    cube = rng.random((POINTS, d))
    on_face = rng.random((POINTS, d)) < rng.random((POINTS, 1))
    Z = low + np.where(on_face, np.round(cube), cube) * (high - low)
    order = np.argsort(model.decision_function(Z))
    Z = Z[np.r_[order[:LOWEST], order[LOWEST :: max(1, len(order) // OTHERS)]]]
    width = (high - low) / 10
    best = model.decision_function(Z)
    step = np.ones(len(Z))
    for _ in range(STEPS):
        sides = [1e-4 * size * e for size, e in zip(width, np.eye(d), strict=True)]
        slopes = np.stack([model.decision_function(Z + s) - model.decision_function(Z - s) for s in sides], 1)
        slopes /= np.maximum(np.linalg.norm(slopes, axis=1, keepdims=True), 1e-300)
        trial = np.clip(Z - step[:, None] * slopes * width, low, high)
        found = model.decision_function(trial)
        lower = found < best
        Z[lower] = trial[lower]
        best[lower] = found[lower]
        step *= np.where(lower, 1.5, 0.5)
    return float(best.min())


def monotone() -> Iterator[Cell]:
    """Yield Monotone in one column of RBF models."""
    p = import_module("priorsvm")
    tables = import_module(".seconds_monotone", __package__)
    for table, make in {"diabetes": tables._diabetes, "tumours": tables._tumours}.items():
        for n in (60, 300):
            X, y, column = make(n)
            Z = np.random.default_rng(0).uniform(X.min(axis=0), X.max(axis=0), (POINTS, X.shape[1]))
            step = 1e-4 * np.eye(X.shape[1])[column]

            def slope(
                m: Any, Z: Any = Z, step: Any = step, wide: float = np.ptp(X[:, column])
            ) -> dict[str, float]:
                rise = m.decision_function(Z + step) - m.decision_function(Z - step)
                return {"least": float(rise.min()) / 2e-4 * wide}

            for hard in (False, True):
                block = (
                    p.Monotone({column: 1}, hard=True) if hard else p.Monotone({column: 1}, **_soft(1.0, 1.0))
                )
                model = p.PriorSVC(block, kernel="rbf")
                yield f"{'hard' if hard else 'soft'} Monotone, {table}, {n} rows", _fit(model, X, y), slope


def small() -> Iterator[Cell]:
    """Yield hints and boxes on 100 rows."""
    p = import_module("priorsvm")
    tables = import_module(".seconds_small", __package__)
    blocks = dict(tables.BLOCKS)
    del blocks["Box on rows"]
    blocks["Box everywhere"] = lambda: p.Box(tables.SIDES, 1, **_soft(5.0, 1.0))
    for table, (X, y) in tables._tables().items():
        for block, make in blocks.items():
            for kernel in ("linear", "rbf"):
                cuts = kernel == "rbf" and block == "Box everywhere"
                figures = _whole(X, tables.SIDES, 5.0) if cuts else None
                yield f"{block}, {kernel}, {table}", _fit(p.PriorSVC(make(), kernel=kernel), X, y), figures


def uncertain() -> Iterator[Cell]:
    """Yield uncertain rows on RBF models."""
    p = import_module("priorsvm")
    tables = import_module(".seconds_uncertain", __package__)
    for n in (200, 1000):
        X, y = tables._drawn(n)
        for C in (1.0, 100.0):
            model = p.PriorSVC(p.UncertainSamples(np.full(X.shape, 0.3)), kernel="rbf", C=C)
            yield f"UncertainSamples, {n} x 8, C = {C:g}", _fit(model, X, y), None


def missing() -> Iterator[Cell]:
    """Yield missing values on RBF models."""
    p = import_module("priorsvm")
    tables = import_module(".seconds_uncertain", __package__)
    for n in (200, 768):
        X, y = tables._drawn(n)
        for gaps, shares in (("clinical gaps", tables.SHARES), ("20 % gaps", np.full(8, 0.2))):
            Z = np.where(np.random.default_rng(0).random(X.shape) < shares, np.nan, X)
            for C in (1.0, 100.0):
                model = p.PriorSVC(p.MissingValues(), kernel="rbf", C=C)
                yield f"MissingValues, {gaps}, {n} x 8, C = {C:g}", _fit(model, Z, y), None


def linear() -> Iterator[Cell]:
    """Yield linear models of images and texts, and the worst deletion of five words of few texts."""
    p = import_module("priorsvm")
    tables = import_module(".seconds_linear", __package__)
    for kind, problems, costs in (
        ("dense", tables._images, (0.01, 1.0, 100.0)),
        ("sparse", lambda: tables._texts(3000, False), (1e-3, 1e-2, 0.1, 1.0, 10.0, 100.0)),
    ):
        for table, X, y in problems():
            for C in costs:
                yield f"linear, {table}, {kind}, C = {C:g}", _fit(p.PriorSVC(C=C), X, y), None
    X, y = import_module(".sparse_texts", __package__).texts(200, 1500)
    for C in (0.1, 1.0):
        loss = p.InvariantLoss(p.FeatureDeletion(5), method="columns")
        yield (
            f"FeatureDeletion(5), drawn texts, C = {C:g}",
            _fit(p.PriorSVC(loss, C=C), tables._narrow(X), y),
            None,
        )


def kernels() -> Iterator[Cell]:
    """Yield plain RBF models, and the models of paths."""
    p = import_module("priorsvm")
    rbf = import_module(".seconds_rbf", __package__)
    paths = import_module(".seconds_paths", __package__)
    for table, (load, sizes) in rbf.DATA.items():
        for n in sizes[:2]:
            X, y, gamma = load(n)
            for C in rbf.COSTS:
                yield (
                    f"RBF, {table}, N={len(X)}, C = {C:g}",
                    _fit(p.PriorSVC(C=C, kernel=p.RBF(gamma)), X, y),
                    None,
                )
    for table in ("clusters", "digits", "moons"):
        X, y, gamma = paths._digits(1000) if table == "digits" else paths.FAMILIES[table](1000)
        known: list[Any] = []

        def path(k: int, X: Any = X, y: Any = y, gamma: float = gamma, known: list[Any] = known) -> Any:
            if not known:
                known.extend(p.PriorSVC(kernel=p.RBF(gamma)).fit_path(X, y, {"C": paths.VALUES}))
            return known[k]

        for k, C in enumerate(paths.VALUES):
            yield f"fit_path, {table}, C = {C:.3g}", lambda k=k, path=path: path(k), None


def moving() -> Iterator[Cell]:
    """Yield a polyhedron everywhere on kernels between translated images."""
    p = import_module("priorsvm")
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(20, 9))
    y = (X[:, :3].sum(axis=1) > X[:, 6:].sum(axis=1)).astype(int)
    faces = np.vstack([np.eye(9), -np.eye(9)])
    sides = np.r_[np.full(3, 1.0), np.full(6, 0.2), np.full(3, -0.8), np.zeros(6)]
    for kernel in (
        p.Jitter(p.RBF(0.5), p.Translation((3, 3)), psd="clip"),
        p.HaarIntegration(p.RBF(0.5), p.Translation((3, 3))),
    ):
        block = p.Polyhedron(faces, sides, 1, **_soft(1.0, 1.0))
        yield f"Polyhedron, {type(kernel).__name__}", _fit(p.PriorSVC(block, kernel=kernel), X, y), None


GROUPS = {
    "regions": regions,
    "monotone": monotone,
    "small": small,
    "uncertain": uncertain,
    "missing": missing,
    "linear": linear,
    "kernels": kernels,
    "moving": moving,
}


def _soft(mu: float, C: float) -> dict[str, Any]:
    """Return the weight of a soft region everywhere; older packages multiply it by C outside."""
    today = "holds" in signature(import_module("priorsvm").Box).parameters
    return {"mu": mu, "holds": "everywhere"} if today else {"mu": mu * C}


def _fit(model: Any, X: Any, y: Any) -> Callable[[], Any]:
    return lambda: model.fit(X, y)


def _tables() -> Iterator[tuple[str, Any, Any, Bounds]]:
    """Yield drawn tables and one real table, with a quarter of the two columns of largest correlation."""
    from sklearn.datasets import load_breast_cancer, make_classification

    tables = {
        f"{n} x {d}, seed {seed}": make_classification(
            n, d, n_informative=min(d, 6), n_redundant=0, flip_y=0.05, random_state=seed
        )
        for n, d, seed in ((100, 5, 2), (100, 5, 3), (200, 8, 1), (200, 8, 2), (400, 13, 1), (768, 8, 1))
    }
    tables["breast cancer, 569 x 30"] = load_breast_cancer(return_X_y=True)
    for name, (X, y) in tables.items():
        correlation = np.array([np.corrcoef(column, y)[0, 1] for column in X.T])
        bounds = {}
        for j in np.argsort(-np.abs(correlation))[:2]:
            low, high = np.quantile(X[:, j], [0.25, 0.75])
            rises = correlation[j] > 0
            bounds[int(j)] = (
                (float(high), float(X[:, j].max())) if rises else (float(X[:, j].min()), float(low))
            )
        yield name, X, y, bounds


def _out_of_time(*_: Any) -> None:
    raise TimeoutError


def solved(cell: Cell, limit: float) -> dict[str, Any]:
    """Return the objective of one problem, or why there is none."""
    name, fit, figures = cell
    start = time.process_time()
    signal.setitimer(signal.ITIMER_PROF, limit)
    found: dict[str, Any] = {"cell": name}
    try:
        model = fit()
        signal.setitimer(signal.ITIMER_PROF, 0)
        found |= {"objective": float(model.objective_), "seconds": time.process_time() - start}
        found |= {} if figures is None else figures(model)
    except TimeoutError:
        found["failed"] = f"more than {limit:g} s"
    except Exception as error:  # an older package may refuse a problem
        found["failed"] = type(error).__name__
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    return found


def main(folder: str, group: str, limit: float) -> None:
    """Print the results of one group by the package of a folder."""
    sys.path.insert(0, folder)
    warnings.simplefilter("ignore")
    signal.signal(signal.SIGPROF, _out_of_time)
    with threadpool_limits(1):
        for cell in GROUPS[group]():
            print(json.dumps(solved(cell, limit)), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], float(sys.argv[3]))
