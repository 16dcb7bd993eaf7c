"""CPU seconds of a fit by the block and the number of rows: the table of sizes in the guide."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from priorsvm import (
    RBF,
    ClassCosts,
    InvarianceHint,
    MissingValues,
    MonotonicityHint,
    PriorSVC,
    Rotation,
    Shift,
    Trajectories,
    UncertainSamples,
)

from .engine import rows
from .measure import quietly, timed
from .scaling import Task, images, with_blocks, with_regions

COLUMNS = 20
WIDE = RBF(1 / 40)


def told(prior: Any, n: int, **parameters: Any) -> Task:
    """Two classes in 20 columns, one row in twenty with the other label, and a prior."""
    return PriorSVC(prior, **parameters), *rows(n, COLUMNS)


def gaps(n: int) -> Task:
    """Three entries in ten are missing."""
    X, y = rows(n, COLUMNS)
    return PriorSVC(MissingValues()), np.where(np.random.default_rng(0).random(X.shape) < 0.3, np.nan, X), y


def errors(n: int) -> Task:
    """An own error of every entry."""
    own = np.random.default_rng(0).uniform(0.05, 0.3, (n, COLUMNS))
    return told(UncertainSamples(own[:, :, None] ** 2 * np.eye(COLUMNS)), n)


def turning(degree: int, n: int, **parameters: Any) -> Task:
    """Images of 8 × 8 pixels, turned by up to ten degrees."""
    return PriorSVC(Trajectories(Rotation((8, 8), degrees=10), degree=degree), **parameters), *images(n)


ERROR = 0.02 * np.eye(COLUMNS)
PAIRS = MonotonicityHint({0: 1}, pairs=200)
ORBIT = InvarianceHint(Shift(0.1 * np.ones(COLUMNS)))
PROBLEMS: dict[str, tuple[Callable[..., Task], Sequence[int]]] = {
    "RBF, only rows added or reweighted": (
        partial(told, ClassCosts({1: 2.0}), kernel=WIDE), (300, 1000, 2000, 4000, 10_000)),
    "RBF + 2 boxes in 5 columns + `MonotonicityHint`": (partial(with_regions, "auto"), (300, 1000, 2000)),
    "RBF + `MonotonicityHint`, 200 pairs": (
        partial(told, PAIRS, kernel=WIDE), (300, 1000, 2000)),
    "the same, `n_centres=200`": (
        partial(told, PAIRS, kernel=WIDE, n_centres=200), (300, 1000, 2000, 4000, 10_000)),
    "RBF + `InvarianceHint`, orbit of three": (partial(told, ORBIT, kernel=WIDE), (300, 1000)),
    "RBF, `norm=\"l1\"`": (partial(told, None, kernel=WIDE, norm="l1"), (300, 1000, 2000, 4000)),
    "RBF + `UncertainSamples`, first order": (
        partial(told, UncertainSamples(ERROR), kernel=WIDE), (300, 1000)),
    "RBF + `UncertainSamples`, `guarantee=True`": (
        partial(told, UncertainSamples(ERROR, guarantee=True), kernel=WIDE), (300, 1000)),
    "RBF + `Trajectories`, degree 4": (partial(turning, 4, kernel=RBF(1 / 16)), (300,)),
    "linear, only rows added or reweighted": (
        partial(told, ClassCosts({1: 2.0})), (300, 1000, 2000, 4000, 10_000)),
    "linear + costs, 10 boxes, `Monotone`": (with_blocks, (300, 1000, 2000, 4000, 10_000)),
    "linear + `UncertainSamples`, an error for each row": (errors, (300, 1000, 2000, 4000, 10_000)),
    "linear + `MissingValues`, 30 % gaps": (gaps, (300, 1000, 2000, 4000)),
    "linear + `Trajectories`, degree 2": (partial(turning, 2), (300, 1000, 2000, 4000, 10_000)),
    "linear + `Trajectories`, degree 4": (partial(turning, 4), (300, 1000, 2000)),
    "linear + `InvarianceHint`, orbit of three": (partial(told, ORBIT), (300, 1000, 2000, 4000, 10_000)),
    "linear, `norm=\"l1\"`": (partial(told, None, norm="l1"), (300, 1000, 2000, 4000, 10_000)),
}  # fmt: skip


def sizes(quick: bool) -> list[dict[str, Any]]:
    """A line for every problem, with its seconds at every size and who solved it."""
    found = []
    for name, (make, counts) in PROBLEMS.items():
        cells = dict(_cells(make, (50,) if quick else counts, 0.0 if quick else 2.0))
        print(f"| {name} | " + " | ".join(f"{n}: {cell}" for n, cell in cells.items()) + " |", flush=True)
        found.append({"problem": name, **cells})
    print()
    return found


def _cells(make: Callable[[int], Task], counts: Sequence[int], enough: float) -> Iterator[tuple[str, str]]:
    """Yield a number of rows and its seconds; fits are repeated until they took ``enough`` seconds."""
    for n in counts:
        model, X, y = make(n)
        fit = partial(quietly, model.fit, X, y)
        seconds = [timed(fit)[0]]
        while sum(seconds) < enough and len(seconds) < 5:
            seconds.append(timed(fit)[0])
        yield str(n), f"{np.median(seconds):.2g} s, {model.solver_}"
