"""Bad values for every parameter of blocks, kernels, transforms and PriorSVC, and for arguments of fit."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

import numpy as np
from sklearn.base import clone

from priorsvm import (
    RBF,
    Box,
    Elastic,
    FeatureDeletion,
    OddnessHint,
    Polynomial,
    PriorSVC,
    Shift,
    VirtualSamples,
    check_knowledge,
)
from priorsvm.knowledge.base import Knowledge
from priorsvm.prior import as_prior

from .compositions import BLOCKS as DRAWS
from .hostile_tally import Tally

RNG = np.random.default_rng(0)
X = RNG.normal(size=(16, 4))
Y = (X[:, 0] + 0.3 * RNG.normal(size=16) > 0).astype(int)
TRANSFORMS: list[Any] = [Shift([0.1, 0.0, 0.0, 0.0]), FeatureDeletion(1), Elastic((2, 2), copies=2)]
KERNELS: list[Any] = [RBF(0.5), Polynomial(2)]
SOFT = {"hard": False, "mu": 1.0, "holds": "rows", "method": "auto"}


def _blocks() -> Iterator[Knowledge]:
    """Yield a soft block of each kind of the random compositions (rules on rows), and a box everywhere."""
    kinds: set[type] = set()
    for draw in DRAWS:
        block = next(iter(as_prior(draw(RNG, X)))).block
        if type(block) not in kinds:
            kinds.add(type(block))
            known = block.get_params(deep=False)
            yield block.set_params(**{name: value for name, value in SOFT.items() if name in known})
    yield Box({0: (1, 2)}, 1, holds="everywhere", mu=1.0)


class _Nothing:
    def __repr__(self) -> str:
        return "<an object>"


BAD: list[Any] = [
    None,
    "yes",
    "",
    b"x",
    -1,
    0,
    1e308,
    -1e308,
    1e-308,
    10**400,
    float("nan"),
    float("inf"),
    1 + 2j,
    True,
    5,
    [],
    {},
    [None],
    {"a": "b"},
    {5: (0, 1)},
    {0: (-1e308, 1e308)},
    {0: 1e300},
    np.array([]),
    np.full((4, 4), np.nan),
    np.full((4, 4), 1e300),
    np.full(4, 1e300),
    np.ones((16, 4), complex),
    np.ma.array(np.ones((16, 4)), mask=True),
    np.ones((2, 2, 2)),
    PriorSVC,
    _Nothing(),
    [1j, 2j, 3j, 4j],
]


def inputs(tally: Tally, quick: bool) -> None:
    """Fit models with one bad value each."""
    step = 23 if quick else 1
    for k, (what, model, arguments) in enumerate(islice(_fits(), 0, None, step)):
        kernel = ("linear", "rbf")[k % 2]
        if model.get_params(deep=False)["kernel"] is RBF:
            model.kernel = kernel
        tally.attempt(what, lambda m=model, a=arguments: _used(m, a))
    for value in BAD[:: 4 if quick else 1]:
        tally.attempt(f"check_knowledge({value!r})", lambda v=value: check_knowledge(v))


def _used(model: PriorSVC, arguments: dict[str, Any]) -> None:
    """Fit and predict; the models have a time limit."""
    new = arguments.pop("new", X)
    model.fit(**{"X": X, "y": Y, **arguments}).predict(new)


def _fits() -> Iterator[tuple[str, PriorSVC, dict[str, Any]]]:
    """Yield a description, a model, and arguments of its fit; the kernel RBF stands for either kernel."""
    for block in _blocks():
        for name, value in _changes(block):
            yield f"{type(block).__name__}({name}={value!r})", _with(block, name, value), {}
    for transform in TRANSFORMS:
        for name, value in _changes(transform):
            changed = clone(transform, safe=False).set_params(**{name: value})
            yield f"{type(transform).__name__}({name}={value!r})", _model(VirtualSamples(changed)), {}
    for kernel in KERNELS:
        for name, value in _changes(kernel):
            changed = clone(kernel, safe=False).set_params(**{name: value})
            yield f"{type(kernel).__name__}({name}={value!r})", _model(OddnessHint(), kernel=changed), {}
    for name, value in _changes(PriorSVC(), without=("verbose", "n_jobs")):
        yield f"PriorSVC({name}={value!r})", PriorSVC(**{"max_seconds": 2.0, name: value}), {}
    for argument in ("X", "y", "sample_weight", "new", "other"):
        for value in BAD:
            yield f"{argument}={value!r}", _model(OddnessHint()), {argument: value}


def _changes(part: Any, without: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:
    for name in part.get_params(deep=False):
        if name not in without:
            yield from ((name, value) for value in BAD)


def _with(block: Any, name: str, value: Any) -> PriorSVC:
    changed = clone(block, safe=False)
    setattr(changed, name, value)
    return _model(changed)


def _model(prior: Any, kernel: Any = RBF) -> PriorSVC:
    return PriorSVC(prior, kernel=kernel, max_seconds=2.0)
