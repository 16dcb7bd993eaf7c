"""Checks that the parts of a loaded model fit together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.base import BaseEstimator

from .._utils.checks import is_number
from ..encoding import Encoding
from ..estimator import PriorSVC
from ..function.fitted import FittedKernel, FittedLinear
from ..function.scale import Scale
from ..kernels.base import Kernel
from ..kernels.set_kernel import OnRows
from ..knowledge.base import Knowledge
from ..prior import Member
from ..sample import Sample
from ..solve.joint import JointModel
from ..solve.joint_function import JointFunction
from ..solve.model import BinaryModel
from ..solve.solution import Outcome
from ..spec import Spec


class Inconsistent(Exception):
    """Description of parts of a model that do not fit together."""


def check_intact(model: Any) -> None:
    """Raise :class:`Inconsistent` if the parts of a fitted PriorSVC in a model do not fit together.

    Shapes, types of numbers, finite coefficients and the classes of the binary models are checked. Values
    cannot be checked: a file with other numbers is a valid file.
    """
    for found in _find_fitted(model):
        _check_model(found)


def _find_fitted(model: Any) -> Iterator[PriorSVC]:
    """Yield every fitted PriorSVC in an estimator of scikit-learn."""
    waiting = [model]
    seen = set()
    while waiting:
        part = waiting.pop()
        if id(part) in seen:
            continue
        seen.add(id(part))
        if isinstance(part, PriorSVC) and hasattr(part, "_models"):
            yield part
        elif isinstance(part, Mapping):
            waiting.extend(part.values())
        elif isinstance(part, (list, tuple)):
            waiting.extend(part)
        elif isinstance(part, BaseEstimator) or type(part).__module__.startswith("sklearn."):
            waiting.extend(getattr(part, "__dict__", {}).values())


def _check_model(model: PriorSVC) -> None:
    binaries = model._models
    classes = model.classes_
    _check_array("classes_", classes, (None,), "biufUSO")
    distinct = set(classes.tolist())
    _require(len(classes) > 1 and len(distinct) == len(classes), f"classes_ are {classes!r}")
    _require(isinstance(binaries, list) and len(binaries) > 0, "there is no binary model")
    for k, binary in enumerate(binaries):
        _require(isinstance(binary, BinaryModel), f"binary model {k} is a {type(binary).__name__}")
    _check_classes(binaries, classes.tolist())
    for k, binary in enumerate(binaries):
        _check_binary(f"binary model {k}", binary, model)
    biases = np.array([f.bias for binary in binaries for f in binary.functions])
    _check_array("intercept_", model.intercept_, biases.shape)
    _require(np.array_equal(model.intercept_, biases), "intercept_ differs from the binary models")


def _check_classes(binaries: list[BinaryModel], classes: list[Any]) -> None:
    if isinstance(binaries[0], JointModel):
        _require(len(binaries) == 1, f"there are {len(binaries)} models of all classes, expected 1")
        return
    labels = [binary.training.label for binary in binaries]
    expected: list[Any] = classes if len(classes) > 2 else classes[1:]
    if len(classes) > 2 and binaries[0].training.against is not None:
        expected = list(combinations(classes, 2))
    _require(labels == expected, f"the binary models are of the classes {labels}, and classes_ are {classes}")


def _check_binary(where: str, binary: BinaryModel, model: PriorSVC) -> None:
    spec = binary.spec
    training = binary.training
    for part, kind in ((spec, Spec), (training, Sample), (binary.outcome, Outcome)):
        _require(isinstance(part, kind), f"{where} has a {type(part).__name__} in place of {kind.__name__}")
    _require(is_number(spec.C) or np.inf == spec.C, f"{where} has C={spec.C!r}")
    _require(spec.C > 0, f"{where} has C={spec.C!r}")
    _check_training(f"{where}, training rows", training, model)
    d = training.X.shape[1]
    if spec.linear:
        _require(model.kernel_ is None, f"{where} is linear, and kernel_ is {model.kernel_!r}")
    _check_function(f"{where}, f", binary, None if isinstance(spec.kernel, OnRows) else d)
    for name, block, weight in binary.members:
        valid = isinstance(name, str) and isinstance(block, Knowledge) and is_number(weight)
        _require(valid and 0 <= weight < np.inf, f"{where} has a block {name!r} with weight {weight!r}")
    members = all(isinstance(member, Member) for member in binary.members)
    _require(members, f"{where} has a block that is not a Member")
    _check_array(f"{where}, alpha", binary.alpha, (None,))
    _require(len(binary.alpha) >= training.n_train, f"{where} has fewer dual variables than training rows")
    _check_array(f"{where}, support", binary.support, binary.alpha.shape, "b")
    history = binary.history
    _require(isinstance(history, list) and len(history) > 0, f"{where} has no history")


def _check_training(where: str, sample: Sample, model: PriorSVC) -> None:
    n = sample.n_train
    X = sample.X
    _require(isinstance(n, int) and n > 1, f"{where}: n_train is {n!r}")
    encoding = sample.encoding
    _require(encoding is None or isinstance(encoding, Encoding), f"{where}: encoding is a {type(encoding)}")
    if issparse(X):
        _check_array(f"{where}: X", X.data, (None,))
        _require(X.ndim == 2 and X.shape[0] == n, f"{where}: X has shape {X.shape}")
    else:
        encoded = model.kernel_ is not None and model.kernel_.encodes
        width = model.n_features_in_ if encoding is None else encoding.width
        _check_array(f"{where}: X", X, (n, None if encoded else width))
    for name, kinds in (("y", "f"), ("cost", "f"), ("margin", "f"), ("source", "iu")):
        _check_array(f"{where}: {name}", getattr(sample, name), (n,), kinds)
    _require(bool((np.abs(sample.y) == 1).all()), f"{where}: y has values other than -1 and 1")
    _require(bool((sample.cost >= 0).all()), f"{where}: cost is negative")
    _check_array(f"{where}: labels", sample.labels, (n,), "biufUSO")
    _require(np.array_equal(sample.classes, model.classes_), f"{where} have the classes {sample.classes!r}")
    known = set(model.classes_.tolist())
    _require(known >= set(sample.labels.tolist()), f"{where}: some labels are not among classes_")
    if sample.feature_names is not None:
        _check_array(f"{where}: feature_names", sample.feature_names, (X.shape[1],), "OU")


def _check_function(where: str, binary: BinaryModel, d: int | None) -> None:
    f: Any = binary.f
    if isinstance(binary, JointModel):
        _require(isinstance(f, JointFunction), f"{where} is a {type(f).__name__}")
        _check_matrix(f"{where}: points", f.points, (None, d))
        _check_array(f"{where}: weights", f.weights, (f.points.shape[0], len(binary.training.classes)))
        return
    kernel = binary.spec.kernel
    _require(is_number(f.bias) and np.isfinite(f.bias), f"{where}: the bias is {f.bias!r}")
    if isinstance(f, FittedLinear):
        _require(kernel is None, f"{where} is linear, and the kernel is {kernel!r}")
        _check_array(f"{where}: coef", f.coef, (d,))
    elif isinstance(f, FittedKernel):
        kernels = isinstance(f.kernel, Kernel) and isinstance(kernel, Kernel)
        _require(kernels, f"{where}: the kernel is {f.kernel!r}")
        _check_array(f"{where}: centres", f.centres, (None, d))
        _check_array(f"{where}: weights", f.weights, (len(f.centres),))
        if f.slopes is not None:
            _check_array(f"{where}: slopes.points", f.slopes.points, (None, d))
            _check_array(f"{where}: slopes.directions", f.slopes.directions, f.slopes.points.shape)
            _check_array(f"{where}: slopes.weights", f.slopes.weights, (len(f.slopes.points),))
    else:
        raise Inconsistent(f"{where} is a {type(f).__name__}")
    for scale in (f.scale, binary.spec.scale):
        if scale is not None:
            _check_scale(f"{where}: scale", scale, d)


def _check_scale(where: str, scale: Any, d: int | None) -> None:
    _require(isinstance(scale, Scale), f"{where} is a {type(scale).__name__}")
    _check_array(f"{where}.shift", scale.shift, (d,))
    _check_array(f"{where}.width", scale.width, (d,))
    _require(bool((scale.width > 0).all()), f"{where}.width is not positive")


def _check_matrix(where: str, value: Any, shape: tuple[int | None, ...]) -> None:
    """Check rows that may be sparse."""
    if issparse(value):
        _check_array(where, value.data, (None,))
        _require(_fits(value.shape, shape), f"{where} has shape {value.shape}")
    else:
        _check_array(where, value, shape)


def _check_array(where: str, value: Any, shape: tuple[int | None, ...], kinds: str = "f") -> None:
    """Check the shape of an array, where None is any size, and the kind of its dtype."""
    _require(isinstance(value, np.ndarray), f"{where} is a {type(value).__name__}, expected an array")
    expected = str(shape).replace("None", "any")
    _require(_fits(value.shape, shape), f"{where} has shape {value.shape}, expected {expected}")
    _require(value.dtype.kind in kinds, f"{where} has values of the type {value.dtype}")
    if value.dtype.kind == "f":
        _require(bool(np.isfinite(value).all()), f"{where} contains NaN or infinity")


def _fits(found: tuple[int, ...], expected: tuple[int | None, ...]) -> bool:
    if len(found) != len(expected):
        return False
    return all(b is None or a == b for a, b in zip(found, expected, strict=True))


def _require(condition: bool, message: str) -> None:
    if not condition:
        raise Inconsistent(message)
