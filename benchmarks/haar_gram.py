"""Haar-integration kernel matrices: against scikit-learn's, and against the matrix products alone."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
from sklearn.metrics.pairwise import rbf_kernel

from priorsvm import RBF, HaarIntegration, Jitter, Translation

from .measure import Array, Row, Timing, interleaved, same, timed

SIDE, GAMMA = 16, 0.01
DTYPES = {"double": np.float64, "single": np.float32}


def images(n: int) -> Array:
    """Random strokes: USPS has as many pixels, and most of them are not background either."""
    return np.random.default_rng(0).uniform(-1, 1, size=(n, SIDE**2))


def moved(X: Array) -> list[Array]:
    """All shifts by up to one pixel, on a canvas."""
    canvas = np.pad(X.reshape(-1, SIDE, SIDE), ((0, 0), (1, 1), (1, 1)), constant_values=-1.0)
    steps = [(down, right) for down in (-1, 0, 1) for right in (-1, 0, 1)]
    return [np.roll(canvas, step, axis=(1, 2)).reshape(len(X), -1) for step in steps]


def all_combinations(X: Array) -> Array:
    """The mean of scikit-learn's kernel over all pairs of moves."""
    members = moved(X)
    K = np.zeros((len(X), len(X)))
    for A in members:
        for B in members:
            K += rbf_kernel(A, B, gamma=GAMMA)
    return K / len(members) ** 2


def pair_by_pair(X: Array, pairs: Array) -> Array:
    """For each pair of images, scikit-learn's kernel between their members."""
    orbits = np.stack(moved(X), axis=1)
    return np.array([rbf_kernel(orbits[i], orbits[j], gamma=GAMMA).mean() for i, j in pairs])


def products(X: Array, count: int) -> None:
    """As many matrix products of all images as there are moves between them, half of each."""
    other = X.copy()  # with itself it would be half the work already
    for _ in range(count // 2):
        X @ other.T


def haar_gram(quick: bool) -> Iterator[Row]:
    """Nine translations of images of 16 x 16 pixels."""
    n, some = (200, 200) if quick else (2000, 2000)
    X = images(n)
    shifts = Translation((SIDE, SIDE), fill=-1.0, grid="full")
    pairs = np.random.default_rng(1).integers(n, size=(some, 2))
    for precision, dtype in DTYPES.items():
        kernel = HaarIntegration(RBF(gamma=GAMMA), shifts, precision=precision)
        work = f"9 translations, RBF, N={n}, {precision}"
        ours, few = partial(kernel, X), partial(kernel, X[: n // 10])
        error = float(np.abs(few() - all_combinations(X[: n // 10])).max())
        timing, K, _ = interleaved(ours, partial(all_combinations, X), least=2, most=5, seconds=1)
        yield Row.of("haar_gram", work, "sklearn, 81 matrices", timing, 1 / 20, "error", same(error))
        seconds, loop = timed(partial(pair_by_pair, X, pairs))
        error = float(np.abs(K[pairs[:, 0], pairs[:, 1]] - loop).max())
        scaled = Timing(timing.ours, np.full(len(timing.ours), seconds * n * (n + 1) / 2 / some))
        note = f"{some} pairs, scaled to all"
        yield Row.of("haar_gram", work, "sklearn, pair by pair", scaled, 1 / 20, "error", same(error), note)
        cast = X.astype(dtype)
        for name, count, other in (
            ("", 25, kernel),
            ("jitter, ", 9, Jitter(RBF(gamma=GAMMA), shifts, precision=precision)),
        ):
            timing, *_ = interleaved(partial(other, X), partial(products, cast, count))
            peer = f"{count // 2} products alone"
            note = f"{1 / np.median(timing.ratios):.0%} of their rate"
            yield Row.of("haar_gram", name + work, peer, timing, 2.2, note=note)
