"""Checks of the parameters of PriorSVC, and of the numbers in blocks and kernels."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state

from ._utils.checks import check_flag, check_ordinary, is_number, is_whole
from .encoding import Encoding
from .errors import InvalidInput
from .large.memory import limit_of
from .solve.registry import check_options, check_solver

# About 30 years.
MOST_SECONDS = 1e9


def check_parameters(model: Any) -> None:
    """Raise InvalidInput if a parameter of PriorSVC has a value that is not allowed."""
    if not (is_number(model.C) or is_infinite(model.C)) or model.C <= 0:
        raise InvalidInput(f"C must be a positive number or infinity, got {model.C!r}.")
    if is_number(model.C):
        check_ordinary(C=float(model.C))
    if not is_number(model.tol) or not 0 < model.tol < 1:
        raise InvalidInput(f"tol must be a number between 0 and 1, got {model.tol!r}.")
    for name, allowed in (
        ("norm", ("l2", "l1")),
        ("loss", ("hinge", "squared_hinge")),
        ("scale", ("standard", "minmax", None)),
        ("multi_class", ("ovr", "ovo", "joint")),
    ):
        value = getattr(model, name)
        if not any(value is known or (isinstance(value, str) and value == known) for known in allowed):
            raise InvalidInput(f"{name} must be one of {', '.join(map(repr, allowed))}, got {value!r}.")
    known = model.categories is None or isinstance(model.categories, Encoding)
    if not known and not (isinstance(model.categories, str) and model.categories == "auto"):
        raise InvalidInput(f"categories must be 'auto' or None, got {model.categories!r}.")
    for name in ("max_rounds", "n_centres"):
        count = getattr(model, name)
        if name == "n_centres" and count is None:
            continue
        if not is_whole(count) or count < 1:
            raise InvalidInput(f"{name} must be a whole number of at least 1, got {count!r}.")
    seconds = model.max_seconds
    if seconds is not None and (not is_number(seconds) or seconds <= 0):
        raise InvalidInput(f"max_seconds must be a positive number or None, got {seconds!r}.")
    if seconds is not None and seconds > MOST_SECONDS:
        raise InvalidInput(f"max_seconds must be at most {MOST_SECONDS:g}, or None, got {seconds!r}.")
    if model.n_centres is not None and is_linear(model.kernel):
        raise InvalidInput("n_centres requires a kernel model: a linear model has no centres.")
    check_flag(preselect=model.preselect)
    if model.memory_limit is not None:  # reading the free memory takes as long as all other checks
        limit_of(model.memory_limit)
    check_solver(model.solver)
    check_options(model.solver, model.solver_options)


def check_part(name: str, part: Any) -> None:
    """Raise InvalidInput if a block or a kernel of the library has a number that overflows."""
    if type(part).__module__.startswith("priorsvm.") and hasattr(part, "get_params"):
        check_ordinary(**{f"{name}: {key}": value for key, value in _values_of(part).items()})


def _values_of(part: Any) -> dict[str, Any]:
    """Return the parameters of a part and of its own parts."""
    kind: Any = type(part)
    if kind.get_params is not BaseEstimator.get_params:
        found: dict[str, Any] = part.get_params()
        return found
    values = {key: getattr(part, key) for key in names_of_parameters(kind)}
    for key, value in list(values.items()):
        if hasattr(value, "get_params") and not isinstance(value, type):
            values.update({f"{key}__{inner}": number for inner, number in _values_of(value).items()})
    return values


@lru_cache(maxsize=256)  # reading a signature takes as long as checking a block
def names_of_parameters(kind: Any) -> tuple[str, ...]:
    """Return the names of the parameters of a class."""
    return tuple(kind._get_param_names())


def is_infinite(value: Any) -> bool:
    """Return whether a value is an infinite float."""
    return isinstance(value, (float, np.floating)) and bool(np.isinf(value))


def is_linear(kernel: Any) -> bool:
    """Return whether a kernel is the name of the linear one."""
    return isinstance(kernel, str) and kernel == "linear"


def seed_of(random_state: Any) -> int:
    """Return the seed of the draws of blocks, 0 for None."""
    if random_state is None:
        return 0
    try:
        return int(check_random_state(random_state).randint(2**31 - 1))
    except ValueError as error:
        raise InvalidInput(
            f"random_state: {error}. Use None or a whole number from 0 to 2**32 - 1."
        ) from error
