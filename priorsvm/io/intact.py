"""Whether the parts of a fitted model fit together: what a file can get wrong without being unreadable."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.base import BaseEstimator

from .._utils.checks import is_number
from ..estimator import PriorSVC
from ..function.fitted import FittedKernel, FittedLinear
from ..function.scale import Scale
from ..kernels.base import Kernel
from ..kernels.set_kernel import OnRows
from ..knowledge.base import Knowledge
from ..prior import Member
from ..sample import Sample
from ..solve.joint import JointFunction, JointMachine
from ..solve.machine import Machine
from ..solve.solvers import Outcome
from ..spec import Spec


class Broken(Exception):
    """What does not fit."""


def check_intact(model: Any) -> None:
    """Look at every fitted PriorSVC in a model, and raise :class:`Broken` where its parts do not fit.

    Shapes, kinds of numbers, finite coefficients, and machines that are those of the classes. Not that
    numbers are the right ones: nothing in a file tells.
    """
    for found in _fitted(model):
        _check_model(found)


def _fitted(model: Any) -> Iterator[PriorSVC]:
    """Every fitted PriorSVC, wherever an estimator of scikit-learn keeps it."""
    waiting = [model]
    seen = set()
    while waiting:
        part = waiting.pop()
        if id(part) in seen:
            continue
        seen.add(id(part))
        if isinstance(part, PriorSVC) and hasattr(part, "_machines"):
            yield part
        elif isinstance(part, Mapping):
            waiting.extend(part.values())
        elif isinstance(part, (list, tuple)):
            waiting.extend(part)
        elif isinstance(part, BaseEstimator) or type(part).__module__.startswith("sklearn."):
            waiting.extend(getattr(part, "__dict__", {}).values())


def _check_model(model: PriorSVC) -> None:
    machines = model._machines
    classes = model.classes_
    _array("classes_", classes, (None,), "biufUSO")
    _need(len(classes) > 1 and len(set(classes.tolist())) == len(classes), f"classes_ are {classes!r}")
    _need(isinstance(machines, list) and len(machines) > 0, "there is no machine")
    for k, machine in enumerate(machines):
        _need(isinstance(machine, Machine), f"machine {k} is a {type(machine).__name__}")
    told = [machine.training.positive for machine in machines]
    asked: list[Any] = classes.tolist() if len(classes) > 2 else classes.tolist()[1:]
    if isinstance(machines[0], JointMachine):
        told = [len(machines)]
        asked = [1]
    _need(told == asked, f"the machines are of the classes {told}, and classes_ are {classes.tolist()}")
    for k, machine in enumerate(machines):
        _check_machine(f"machine {k}", machine, model)
    biases = np.array([f.bias for machine in machines for f in machine.functions])
    _array("intercept_", model.intercept_, biases.shape)
    _need(np.array_equal(model.intercept_, biases), "intercept_ is not that of the machines")


def _check_machine(what: str, machine: Machine, model: PriorSVC) -> None:
    spec = machine.spec
    training = machine.training
    for part, kind in ((spec, Spec), (training, Sample), (machine.outcome, Outcome)):
        _need(isinstance(part, kind), f"{what} has a {type(part).__name__} for its {kind.__name__}")
    _need(is_number(spec.C) and 0 < spec.C < np.inf, f"{what} has C={spec.C!r}")
    _check_training(f"{what}, training rows", training, model)
    d = training.X.shape[1]
    if spec.kernel is None:
        _need(model.kernel_ is None, f"{what} is linear, and kernel_ is {model.kernel_!r}")
    _check_function(f"{what}, f", machine, None if isinstance(spec.kernel, OnRows) else d)
    for name, block, weight in machine.members:
        good = isinstance(name, str) and isinstance(block, Knowledge) and is_number(weight)
        _need(good and 0 <= weight < np.inf, f"{what} has a block {name!r} with weight {weight!r}")
    _need(all(isinstance(member, Member) for member in machine.members), f"{what} has other members")
    _array(f"{what}, alpha", machine.alpha, (None,))
    _need(len(machine.alpha) >= training.n_train, f"{what} has fewer multipliers than training rows")
    _array(f"{what}, support", machine.support, machine.alpha.shape, "b")
    _need(
        isinstance(machine.history, list) and len(machine.history) > 0,
        f"{what} has no history",
    )


def _check_training(what: str, sample: Sample, model: PriorSVC) -> None:
    n = sample.n_train
    X = sample.X
    _need(isinstance(n, int) and n > 1, f"{what}: n_train is {n!r}")
    if issparse(X):
        _array(f"{what}: X", X.data, (None,))
        _need(X.ndim == 2 and X.shape[0] == n, f"{what}: X has shape {X.shape}")
    else:
        sets = isinstance(model.kernel_, OnRows)  # whose rows are as long as the largest of them
        _array(f"{what}: X", X, (n, None if sets else model.n_features_in_))
    for name, kinds in (("y", "f"), ("cost", "f"), ("margin", "f"), ("source", "iu")):
        _array(f"{what}: {name}", getattr(sample, name), (n,), kinds)
    _need(bool((np.abs(sample.y) == 1).all()), f"{what}: y holds more than -1 and 1")
    _need(bool((sample.cost >= 0).all()), f"{what}: cost is negative")
    _array(f"{what}: labels", sample.labels, (n,), "biufUSO")
    _need(np.array_equal(sample.classes, model.classes_), f"{what} have the classes {sample.classes!r}")
    known = set(model.classes_.tolist())
    _need(known >= set(sample.labels.tolist()), f"{what}: some labels are not among classes_")
    if sample.feature_names is not None:
        _array(f"{what}: feature_names", sample.feature_names, (X.shape[1],), "OU")


def _check_function(what: str, machine: Machine, d: int | None) -> None:
    f = machine.f
    kernel = machine.spec.kernel
    if isinstance(machine, JointMachine):
        _need(isinstance(f, JointFunction), f"{what} is a {type(f).__name__}")
        _matrix(f"{what}: points", f.points, (None, d))  # type: ignore[attr-defined]
        shape = (f.points.shape[0], len(machine.training.classes))  # type: ignore[attr-defined]
        _array(f"{what}: weights", f.weights, shape)  # type: ignore[attr-defined]
        return
    _need(is_number(f.bias) and np.isfinite(f.bias), f"{what}: the bias is {f.bias!r}")
    if isinstance(f, FittedLinear):
        _need(kernel is None, f"{what} is linear, and the kernel is {kernel!r}")
        _array(f"{what}: coef", f.coef, (d,))
    elif isinstance(f, FittedKernel):
        _need(
            isinstance(f.kernel, Kernel) and isinstance(kernel, Kernel), f"{what}: the kernel is {f.kernel!r}"
        )
        _array(f"{what}: centres", f.centres, (None, d))
        _array(f"{what}: weights", f.weights, (len(f.centres),))
        if f.slopes is not None:
            _array(f"{what}: slopes.points", f.slopes.points, (None, d))
            _array(f"{what}: slopes.directions", f.slopes.directions, f.slopes.points.shape)
            _array(f"{what}: slopes.weights", f.slopes.weights, (len(f.slopes.points),))
    else:
        raise Broken(f"{what} is a {type(f).__name__}")
    for scale in (f.scale, machine.spec.scale):
        if scale is not None:
            _need(isinstance(scale, Scale), f"{what}: scale is a {type(scale).__name__}")
            _array(f"{what}: scale.shift", scale.shift, (d,))
            _array(f"{what}: scale.width", scale.width, (d,))
            _need(bool((scale.width > 0).all()), f"{what}: scale.width is not positive")


def _matrix(what: str, value: Any, shape: tuple[int | None, ...]) -> None:
    """Of rows that may be sparse."""
    if issparse(value):
        _array(what, value.data, (None,))
        _need(_fits(value.shape, shape), f"{what} has shape {value.shape}")
    else:
        _array(what, value, shape)


def _array(what: str, value: Any, shape: tuple[int | None, ...], kinds: str = "f") -> None:
    """An array of numbers, or of what ``kinds`` says; None in its shape is any size."""
    _need(isinstance(value, np.ndarray), f"{what} is a {type(value).__name__}, not an array")
    _need(
        _fits(value.shape, shape), f"{what} has shape {value.shape}, expected {shape}".replace("None", "any")
    )
    _need(value.dtype.kind in kinds, f"{what} holds values of the type {value.dtype}")
    if value.dtype.kind == "f":
        _need(bool(np.isfinite(value).all()), f"{what} holds NaN or infinity")


def _fits(found: tuple[int, ...], asked: tuple[int | None, ...]) -> bool:
    return len(found) == len(asked) and all(b is None or a == b for a, b in zip(found, asked, strict=True))


def _need(fits: bool, otherwise: str) -> None:
    if not fits:
        raise Broken(otherwise)
