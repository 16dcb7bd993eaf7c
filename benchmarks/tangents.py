"""The tangent distance of all pairs against a loop of least squares."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.ndimage import gaussian_filter

from priorsvm import Rotation, Shear, Shift, TangentDistance, Transform, Translation, Zoom

from .measure import Array, Row, Timing, interleaved, same

SIDE = 16
GAMMA = 0.01


class Known(Transform):
    """A transform whose tangents have been worked out: both peers are given them."""

    def __init__(self, known: Array):
        self.known = known

    def tangents(self, X: Array) -> Array:
        return self.known


def smooth_images(n: int) -> Array:
    """Random images of 16 x 16 pixels that are smooth enough to have tangents."""
    noise = np.random.default_rng(0).normal(size=(n, SIDE, SIDE))
    return 4 * gaussian_filter(noise, (0, 1.5, 1.5)).reshape(n, -1)


def seven_tangents(X: Array) -> Array:
    """Of two translations, a rotation, a zoom, a shear, brightness and a gradient of it."""
    shape = (SIDE, SIDE)
    light = np.stack([np.ones(shape), np.linspace(-1, 1, SIDE) * np.ones(shape)]).reshape(2, -1)
    moves = Translation(shape) @ Rotation(shape, 10) @ Zoom(shape, 10) @ Shear(shape, 10) @ Shift(light)
    return moves.tangents(X)


def by_lstsq(X: Array, tangents: Array, pairs: Array, sides: int) -> Array:
    """exp(-γ d²) of these pairs, one after the other."""
    K = np.empty(len(pairs))
    for place, (i, j) in enumerate(pairs):
        difference, lines = X[i] - X[j], [tangents[j].T, tangents[i].T]
        squared = []
        for moves in [np.hstack(lines)] if sides == 2 else lines:
            best = np.linalg.lstsq(moves, difference, rcond=None)[0]
            squared.append(np.sum((difference - moves @ best) ** 2))
        K[place] = np.exp(-GAMMA * np.mean(squared))
    return K


def tangent_distance(quick: bool) -> Iterator[Row]:
    """Seven tangents, one and two sides; the loop runs over some pairs and its time is scaled to all."""
    n, some = (300, 100) if quick else (2000, 1000)
    X = smooth_images(n)
    tangents = seven_tangents(X)
    pairs = np.random.default_rng(1).integers(n, size=(some, 2))
    for sides in (2, 1):
        kernel = TangentDistance(GAMMA, Known(tangents), sides)
        timing, K, loop = interleaved(
            lambda kernel=kernel: kernel(X),  # type: ignore[misc]
            lambda sides=sides: by_lstsq(X, tangents, pairs, sides),  # type: ignore[misc]
            least=3,
            most=5,
        )
        gap = same(float(np.abs(K[pairs[:, 0], pairs[:, 1]] - loop).max()))
        whole = Timing(timing.ours, timing.peer * (n * n / some))
        work = f"{n} x {n} images, 7 tangents, {'two sides' if sides == 2 else 'one side'}"
        note = f"peer measured on {some} pairs"
        yield Row.of("tangent_distance", work, "loop of lstsq", whole, 1 / 50, "K", gap, note)
