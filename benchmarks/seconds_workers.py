"""One model for each class with two workers, against one model after the other: seconds of the clock."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from sklearn.datasets import load_digits

from priorsvm import RBF, PriorSVC, load_usps
from priorsvm.errors import DataNotFound

from .measure import Array, Row, Timing, same

TARGET = 0.7


def workers(quick: bool) -> Iterator[Row]:
    """Ten classes. The clock is right on an idle computer only."""
    for name, load in (("USPS", _usps), ("digits", _digits)):
        try:
            X, y = load()
        except DataNotFound:
            continue
        if quick:
            X = X[:600]
            y = y[:600]
        kernel = RBF(1.0 / (X.shape[1] * X.var()))
        ours = PriorSVC(C=10.0, kernel=kernel, n_jobs=2)
        peer = PriorSVC(C=10.0, kernel=kernel)
        timing, cpu = _clock(partial(ours.fit, X, y), partial(peer.fit, X, y), 1 if quick else 3)
        gap = same(float(np.abs(np.divide(ours.objective_, peer.objective_) - 1.0).max()))
        work = f"one-vs-rest, {name}, N={len(X)}, n_jobs=2"
        note = f"wall; CPU seconds {cpu[0]:.2g} : {cpu[1]:.2g}"
        yield Row.of("seconds_workers", work, "n_jobs=1", timing, TARGET, "P", gap, note)


def _clock(ours: Callable[[], Any], peer: Callable[[], Any], pairs: int) -> tuple[Timing, Array]:
    """Return seconds of the clock, pair by pair, and the smallest CPU seconds of both."""
    ours()
    peer()
    wall = np.empty((pairs, 2))
    cpu = np.empty((pairs, 2))
    for pair in range(pairs):
        for side, function in enumerate((ours, peer)):
            start = time.perf_counter()
            start_cpu = time.process_time()
            function()
            wall[pair, side] = time.perf_counter() - start
            cpu[pair, side] = time.process_time() - start_cpu
    return Timing(wall[:, 0], wall[:, 1]), cpu.min(axis=0)


def _usps() -> tuple[Array, Array]:
    usps = load_usps()
    return usps.X_train, usps.y_train


def _digits() -> tuple[Array, Array]:
    """Each image with its four neighbours by one pixel: 8985 rows."""
    images, y = load_digits(return_X_y=True)
    grid = images.reshape(-1, 8, 8) / 16.0
    moved = [np.roll(grid, step, axis) for axis in (1, 2) for step in (-1, 1)]
    return np.concatenate([grid, *moved]).reshape(-1, 64), np.tile(y, 5)
