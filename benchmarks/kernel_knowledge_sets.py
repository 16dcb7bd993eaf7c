"""Fung, Mangasarian & Shavlik 2003: a checkerboard from 16 points and what is known of two of its squares.

``python -m benchmarks checkerboard``. The board is [0, 2]² with 4 x 4 squares, the points are their middles,
and known are the two leftmost squares of the bottom row. Accuracy is counted on 199 x 199 points.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from priorsvm import RBF, Box, Polyhedron, Prior, PriorSVC, Region
from priorsvm.errors import PriorSVMWarning

from .measure import Array
from .reproduction import Table

PUBLISHED = (89.66, 98.5)
SIDE = 0.5
WIDTHS = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0)
C = 1000.0


def grid(ticks: Any) -> Array:
    return np.stack(np.meshgrid(ticks, ticks, indexing="ij"), axis=-1).reshape(-1, 2)


def is_white(X: Array) -> Array:
    """The colour of the square each row lies in."""
    return np.clip(np.floor(X / SIDE), 0, 3).sum(axis=1) % 2 == 0


def knowledge() -> dict[str, Any]:
    """Of two squares: nothing, f >= 0 at 100 points, f >= 1 everywhere, and the paper's programme."""
    square = grid(np.linspace(0, SIDE, 10))
    corners = SIDE * np.array([[0.0, 0.0], [1.0, 0.0]])
    points = [
        (name, Region(_everywhere, square + corner, white, mu=1e3 / C, h=0.0))
        for name, corner, white in zip(("white", "black"), corners, (True, False), strict=True)
    ]
    B = np.vstack([np.eye(2), -np.eye(2)])
    sides = [np.concatenate([corner + SIDE, -corner]) for corner in corners]
    boxes = [{j: (c, c + SIDE) for j, c in enumerate(corner)} for corner in corners]
    colours = [True, False]
    return {
        "none": None,
        "f ≥ 0 at points": Prior(points),
        "f ≥ 1, cuts": Box(boxes, colours, mu=1e3 / C, holds="everywhere"),
        **{
            f"kernelised, mu={mu:g}": Polyhedron(
                [B, B], sides, colours, mu=mu / C, mu_residual=mu / C, method="kernelised"
            )
            for mu in (1e-2, 1.0, 1e3)
        },
    }


def _everywhere(X: Array) -> Array:
    return np.zeros(len(X))


def checkerboard(quick: bool) -> list[dict[str, Any]]:
    X, T = grid(SIDE * (np.arange(4) + 0.5)), grid(np.linspace(0, 4 * SIDE, 199))
    y, truth = is_white(X), is_white(T)
    priors = knowledge()
    table = Table(
        f"Checkerboard, 16 points, C = {C:g}: per cent right of {len(T)}; always one colour: "
        f"{100 * max(truth.mean(), 1 - truth.mean()):.1f}. "
        f"Published: {PUBLISHED[0]} without, {PUBLISHED[1]} with",
        "norm, solver", "gamma", *priors,
    )  # fmt: skip
    for norm, solver in (("l1", "HIGHS"), ("l1", "CLARABEL"), ("l2", "CLARABEL")):
        for gamma in (8.0,) if quick else WIDTHS:
            cells = []
            for prior in priors.values():
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", PriorSVMWarning)  # the kernelised form says what it is
                    model = PriorSVC(prior, C=C, norm=norm, solver=solver, kernel=RBF(gamma)).fit(X, y)
                cells.append(round(100 * float(np.mean(model.predict(T) == truth)), 1))
            table.row(f"{norm}, {solver}", gamma, *cells)
    return table.end()
