"""How the CPU seconds of a whole fit grow with the number of rows, for every route."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
from sklearn.datasets import load_digits

from priorsvm import (
    RBF,
    Box,
    InvariantLoss,
    MonotonicityHint,
    PriorSVC,
    Rotation,
    Trajectories,
    Translation,
    UncertainSamples,
)

from .engine import knowledge, rows
from .measure import Array, quietly, timed

# Where a complete run leaves its figures; docs/drawings/scaling.py draws them.
HEADER = ("model", "solver", "N", "seconds", "exponent")
Task = tuple[PriorSVC, Any, Array]

# The exponent is the slope through so many of the largest sizes: small ones tell of overheads.
LAST = 3


def images(n: int) -> tuple[Array, Array]:
    """8 × 8 digits from 0 to 1, an 8 or not, drawn again with noise until there are enough."""
    X, digit = load_digits(return_X_y=True)
    rng = np.random.default_rng(0)
    drawn = rng.choice(len(X), n)
    return np.clip(X[drawn] / 16 + 0.05 * rng.normal(size=(n, 64)), 0.0, 1.0), digit[drawn] == 8


def plain(kernel: Any, n: int, **parameters: Any) -> Task:
    return PriorSVC(kernel=kernel, **parameters), *rows(n, 20)


def with_blocks(n: int) -> Task:
    X, y = rows(n, 20)
    return PriorSVC(knowledge(X, y)), X, y


def with_regions(solver: str, n: int) -> Task:
    """A small box around the middle of each class, and pairs along which f rises."""
    X, y = rows(n, 5)
    middles = [X[y == k].mean(axis=0) for k in (0, 1)]
    boxes = [
        Box({j: (v - 0.3, v + 0.3) for j, v in enumerate(m)}, label=k, holds="everywhere")
        for k, m in enumerate(middles)
    ]
    prior = boxes[0] + boxes[1] + MonotonicityHint({0: 1})
    return PriorSVC(prior, kernel=RBF(0.1), solver=solver), X, y


def uncertain(n: int) -> Task:
    X, y = rows(n, 10)
    A = 0.1 * np.random.default_rng(0).normal(size=(n, 10, 10))
    return PriorSVC(UncertainSamples(A @ A.swapaxes(1, 2))), X, y


def turning(n: int) -> Task:
    return PriorSVC(Trajectories(Rotation((8, 8), degrees=10), degree=2)), *images(n)


def moving(n: int) -> Task:
    shift = Translation((8, 8), pixels=1, grid="full")
    return PriorSVC(InvariantLoss(shift), kernel=RBF(1 / 16)), *images(n)


ROUTES: dict[str, tuple[Callable[[int], Task], Sequence[int]]] = {
    "linear, plain": (partial(plain, "linear"), (1000, 10_000, 100_000, 1_000_000)),
    "linear, class costs, 10 boxes, a monotone feature": (with_blocks, (1000, 10_000, 100_000, 1_000_000)),
    "linear, an ellipsoid for each row": (uncertain, (500, 1000, 2000, 4000, 8000)),
    "linear, a trajectory for each row": (turning, (500, 1000, 2000, 4000)),
    "linear, 1-norm": (partial(plain, "linear", norm="l1"), (500, 1000, 2000, 4000)),
    "RBF, plain": (partial(plain, RBF(1 / 40)), (500, 1000, 2000, 4000, 8000)),
    "RBF, 2 regions and hints": (partial(with_regions, "auto"), (250, 500, 1000, 2000)),
    "RBF, 2 regions and hints, CLARABEL": (partial(with_regions, "CLARABEL"), (250, 500, 1000)),
    "RBF, 1-norm": (partial(plain, RBF(1 / 40), norm="l1"), (250, 500, 1000, 2000)),
    "RBF, invariant loss, 9 translations": (moving, (50, 100, 200, 400)),
}


def scaling(quick: bool) -> list[dict[str, Any]]:
    """Return a line for every route and size."""
    print("| " + " | ".join(HEADER) + " |", "|" + " --- |" * len(HEADER), sep="\n")
    found = [row for name, (make, sizes) in ROUTES.items() for row in _route(name, make, sizes, quick)]
    print()
    return found


def _route(
    name: str, make: Callable[[int], Task], sizes: Sequence[int], quick: bool
) -> Iterator[dict[str, Any]]:
    sizes = (50, 100) if quick else sizes
    seconds: list[float] = []
    for k, n in enumerate(sizes, 1):
        model, X, y = make(n)
        fit = partial(quietly, model.fit, X, y)
        seconds.append(min(timed(fit)[0] for _ in range(3 if n <= 1000 and not quick else 1)))
        last = slice(max(0, k - LAST), k)
        slope = np.polyfit(np.log(sizes[last]), np.log(seconds[last]), 1)[0] if k > 1 else np.nan
        cells = (name, model.solver_, n, f"{seconds[-1]:.3g}", f"{slope:.2f}" if k > 1 else "")
        row = dict(zip(HEADER, cells, strict=True))
        print("| " + " | ".join(map(str, cells)) + " |", flush=True)
        yield row
