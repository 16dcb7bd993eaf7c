"""Numbers of the invariant loss that the user gives: for each transformation, and for pairs of classes."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._utils.arrays import Array
from ..._utils.checks import described, is_number
from ...errors import InvalidInput
from ...sample import Sample
from ...transforms.base import Transform


def changing_to(end: float, transform: Transform, thetas: Array) -> Array:
    """Return numbers that change linearly from 1 to ``end`` at the strongest transformations."""
    reach = np.abs(transform.theta_grid()).max(axis=0)
    strength = (np.abs(thetas) / np.where(reach > 0, reach, 1.0)).max(axis=1, initial=0.0)
    return np.asarray(1.0 - (1.0 - end) * np.minimum(strength, 1.0))


def checked_factors(name: str, found: Array, count: int, kind: str, valid: Array) -> Array:
    """Return the result of a function of the user; raise InvalidInput if it is wrong."""
    if found.shape != (count,) or not valid.all():
        raise InvalidInput(
            f"{name} must return one {kind} for each of the (s, q) parameters it is given; "
            f"it returned {found!r}."
        )
    return found


def factors_of_pairs(name: str, given: Any, factors: Array, sample: Sample) -> Array:
    """Return the (K, K) factors with those of a dict of (class, other class) to number filled in."""
    classes = sample.classes.tolist()
    given = {} if given is None else given
    if not isinstance(given, dict):
        raise InvalidInput(
            f"{name} must be a dict of (class, other class) to number, got {described(given)}."
        )
    for pair, factor in given.items():
        different = isinstance(pair, tuple) and len(pair) == 2 and pair[0] != pair[1]
        if not different or not set(pair) <= set(classes):
            raise InvalidInput(
                f"{name} has the key {pair!r}. A key is a pair of two different classes of {classes}."
            )
        if not is_number(factor) or not 0 < factor < float("inf"):
            raise InvalidInput(f"{name} of {pair!r} must be a positive number, got {factor!r}.")
        factors[classes.index(pair[0]), classes.index(pair[1])] = factor
    return factors
