"""Random models with random blocks, for tests of what must hold for every composition."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from priorsvm import (
    RBF,
    Box,
    ClassCosts,
    Completes,
    Ellipsoid,
    FeatureDeletion,
    FromFunction,
    InvarianceHint,
    InvariantLoss,
    Iterative,
    MissingValues,
    Monotone,
    MonotonicityHint,
    OddnessHint,
    Polyhedron,
    Polynomial,
    PriorSVC,
    Region,
    RowPermutations,
    Rule,
    SampleCosts,
    Shift,
    TangentPenalty,
    Trajectories,
    Transductive,
    UncertainSamples,
    UnlabeledSamples,
    VirtualSamples,
    VirtualSupportVectors,
)
from priorsvm.errors import PriorSVMError
from priorsvm.knowledge.base import Knowledge
from priorsvm.knowledge.regions.base import RegionKnowledge
from priorsvm.prior import Prior, as_prior
from priorsvm.problem.assemble import Compiled, prepare
from priorsvm.validation import make_task

from .measure import Array

Draw = np.random.Generator


def composition(seed: int, most: int = 40) -> tuple[PriorSVC, Array, Array]:
    """Return an unfitted model with up to four blocks, and at most so many rows.

    Blocks and models that do not go together are drawn again.
    """
    rng = np.random.default_rng(seed)
    while True:
        X, y = _rows(rng, most)
        kinds = rng.choice(len(BLOCKS), size=rng.integers(1, 5), replace=False)
        blocks = [as_prior(BLOCKS[kind](rng, X)) for kind in kinds]
        prior = sum(blocks[1:], blocks[0])
        if any(isinstance(member.block, Completes) for member in prior):
            X[rng.random(X.shape) < 0.1] = np.nan
        parameters = _parameters(rng)
        model = PriorSVC(_weighed(prior, parameters["C"]), **parameters)
        try:
            make_task(model, X, y, None, {})
        except (PriorSVMError, ValueError):
            continue
        return model, X, y


def _weighed(prior: Prior, C: float) -> Prior:
    """The same sum, where the weights of regions are drawn in the units of the objective, not in rows."""
    for _, block, _ in prior:
        if isinstance(block, RegionKnowledge) and not block.hard:
            block.set_params(mu=block.mu / C)
    return prior


def problem(model: PriorSVC, X: Array, y: Array) -> Compiled:
    """The problem of the first round, assembled and not solved."""
    task = make_task(model, X, y, None, {})
    members, training = list(task.prior), task.samples[0]
    states = {m.name: m.block.start(training) for m in members}
    return Compiled(task.spec, members, states, prepare(members, training, states))


def last_problem(model: PriorSVC, X: Array, y: Array) -> Compiled:
    """The problem of the last round of a fit, with all that blocks have added; if it fails, of the first."""
    if any(isinstance(member.block, Iterative) for member in as_prior(model.prior)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                return model.set_params(max_rounds=10).fit(X, y)._models[0].problem
            except PriorSVMError:
                pass
    return problem(model, X, y)


def _rows(rng: Draw, most: int) -> tuple[Array, Array]:
    """Two clouds that overlap, in columns of different size."""
    n, d = int(rng.integers(10, most + 1)), int(rng.integers(2, 5))
    y = np.where(np.arange(n) % 2, 1, 0)
    X = rng.normal(size=(n, d)) + rng.uniform(0.3, 2) * np.outer(2 * y - 1, rng.normal(size=d))
    return X * 10.0 ** rng.uniform(-1, 1, size=d), y


def _parameters(rng: Draw) -> dict[str, Any]:
    kernels: list[Any] = [
        "linear",
        "linear",
        RBF(gamma=float(10 ** rng.uniform(-1, 0.5))),
        Polynomial(degree=2),
    ]
    return {
        "kernel": kernels[rng.integers(len(kernels))],
        "norm": "l1" if rng.random() < 0.3 else "l2",
        "loss": "squared_hinge" if rng.random() < 0.25 else "hinge",
        "scale": [None, "standard", "minmax"][rng.integers(3)],
        "C": float(10 ** rng.uniform(-2, 3)),
    }


def _soft(rng: Draw) -> dict[str, Any]:
    """A penalty of some size, or none and a hard constraint."""
    return {"hard": True} if rng.random() < 0.3 else {"mu": float(10 ** rng.uniform(-2, 2))}


def _region_of(rng: Draw) -> dict[str, Any]:
    """The same, and how kernel models are to keep to it."""
    method = ["auto", "auto", "points", "guaranteed"][rng.integers(4)]
    return {
        **_soft(rng),
        "holds": "everywhere",
        "method": method,
        "points": 20 if method == "points" else 256,
    }


def _box(rng: Draw, X: Array) -> dict[int, tuple[float, float]]:
    """A part of the data, around one of the rows, in one or two columns."""
    columns = rng.choice(X.shape[1], size=rng.integers(1, 3), replace=False)
    reach = rng.uniform(0.05, 0.5) * X.std(axis=0)
    middle = X[rng.integers(len(X))]
    return {int(j): (float(middle[j] - reach[j]), float(middle[j] + reach[j])) for j in columns}


def _polyhedron(rng: Draw, X: Array) -> Knowledge:
    box = _box(rng, X)
    rows, limits = [], []
    for j, (low, high) in box.items():
        for sign, limit in ((1.0, high), (-1.0, -low)):
            row = np.zeros(X.shape[1])
            row[j] = sign
            rows.append(row)
            limits.append(limit)
    return Polyhedron(
        np.array(rows), np.array(limits), int(rng.integers(2)), within="data", **_region_of(rng)
    )


def _rule(rng: Draw, X: Array) -> Knowledge:
    """One or two alternatives, each a box in words."""
    boxes = [_box(rng, X) for _ in range(rng.integers(1, 3))]
    sides = [[f"x{j} between {low!r} and {high!r}" for j, (low, high) in box.items()] for box in boxes]
    text = " or ".join(" and ".join(each) for each in sides)
    return Rule(text, int(rng.integers(2)), **_region_of(rng))


def _permutations(rng: Draw, X: Array) -> Knowledge:
    """Rows that are matrices of one column, or of two if there are as many."""
    width = 2 if X.shape[1] % 2 == 0 and rng.random() < 0.5 else 1
    return RowPermutations((X.shape[1] // width, width), rho=float(rng.choice([0.0, 0.1])))


def _ellipsoid(rng: Draw, X: Array) -> Knowledge:
    shape = rng.normal(size=(X.shape[1],) * 2) * 0.2 * X.std(axis=0)[:, None]
    return Ellipsoid(X[rng.integers(len(X))], shape @ shape.T, int(rng.integers(2)), **_region_of(rng))


def _region(rng: Draw, X: Array) -> Knowledge:
    middle, size = X[rng.integers(len(X))].copy(), 0.5 * X.std(axis=0)
    points = middle + size * rng.normal(size=(12, X.shape[1]))
    return Region(_Ball(middle, size), points, int(rng.integers(2)), **_soft(rng))


class _Ball:
    """Negative inside an ellipsoid."""

    def __init__(self, middle: Array, size: Array):
        self.middle, self.size = middle, size

    def __call__(self, X: Array) -> Array:
        return ((((np.atleast_2d(X) - self.middle) / self.size) ** 2).sum(axis=1) - 1.0)[:, None]


def _moves(rng: Draw, X: Array) -> Any:
    """Shifts of all columns, or turns of the first two."""
    if rng.random() < 0.5:
        return Shift(rng.normal(size=(2, X.shape[1])) * 0.2 * X.std(axis=0))
    return FromFunction(_turned, [-10.0, 10.0])


def _turned(X: Array, degrees: Any) -> Array:
    c, s = np.cos(np.radians(degrees)), np.sin(np.radians(degrees))
    turned = X.copy()
    turned[:, 0], turned[:, 1] = c * X[:, 0] - s * X[:, 1], s * X[:, 0] + c * X[:, 1]
    return turned


def _some(rng: Draw, X: Array) -> Array:
    few = X[rng.integers(len(X), size=rng.integers(1, 8))]
    return few + 0.1 * X.std(axis=0) * rng.normal(size=few.shape)


def _unlabelled(rng: Draw, X: Array) -> Knowledge:
    few = _some(rng, X)
    return UnlabeledSamples(few, rng.integers(2, size=len(few)), costs=float(rng.uniform(0.1, 1)))


def _covariance(rng: Draw, X: Array) -> Any:
    size = float(rng.uniform(0.05, 0.5)) * X.std(axis=0)
    if rng.random() < 0.5:
        return np.diag(size**2)
    factor = rng.normal(size=(X.shape[1],) * 2) * 0.3 * size[:, None]
    return factor @ factor.T


def _contradiction(rng: Draw, X: Array) -> Any:
    """The same box in both classes, hard: no model can do that."""
    box = _box(rng, X)
    return Box(box, 0, hard=True, method="points").named("one") + Box(
        box, 1, hard=True, method="points"
    ).named("two")


BLOCKS: list[Callable[[Draw, Array], Any]] = [
    lambda rng, X: ClassCosts({1: float(10 ** rng.uniform(-1, 1))}),
    lambda rng, X: SampleCosts(rng.uniform(0.1, 3, size=len(X)), margins=rng.uniform(0.5, 1.5, size=len(X))),
    _unlabelled,
    lambda rng, X: Transductive(_some(rng, X)),
    lambda rng, X: float(rng.uniform(0.2, 2)) * VirtualSamples(_moves(rng, X)),
    lambda rng, X: VirtualSupportVectors(_moves(rng, X)),
    lambda rng, X: InvarianceHint(_moves(rng, X), **_soft(rng)),
    lambda rng, X: OddnessHint(**_soft(rng)),
    lambda rng, X: MonotonicityHint(
        {int(rng.integers(X.shape[1])): 1}, pairs=int(rng.integers(5, 40)), **_soft(rng)
    ),
    lambda rng, X: Box(_box(rng, X), int(rng.integers(2)), **_region_of(rng)),
    _rule,
    _polyhedron,
    _ellipsoid,
    _region,
    lambda rng, X: Monotone({int(rng.integers(X.shape[1])): int(rng.choice([-1, 1]))}, **_region_of(rng)),
    lambda rng, X: UncertainSamples(
        _covariance(rng, X),
        confidence=float(rng.uniform(0.6, 0.95)),
        distribution=str(rng.choice(["gaussian", "any"])),
    ),
    lambda rng, X: MissingValues(confidence=float(rng.uniform(0.6, 0.95))),
    lambda rng, X: Trajectories(
        FromFunction(_turned, [-10.0, 10.0]),
        degree=int(rng.choice([1, 2, 2, 4])),
        span=str(rng.choice(["transform", "transform", "line"])),
    ),
    lambda rng, X: InvariantLoss(
        _moves(rng, X) if rng.random() < 0.6 else FeatureDeletion(1),
        scaling=str(rng.choice(["margin", "slack"])),
    ),
    lambda rng, X: TangentPenalty(_moves(rng, X), gamma=float(10 ** rng.uniform(-2, 1))),
    _permutations,
    _contradiction,
]
