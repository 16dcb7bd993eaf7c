"""Checks of arguments that several blocks take."""

from __future__ import annotations

from typing import Any

from .._utils.checks import described
from ..errors import InvalidType
from ..sample import Sample
from ..transforms.base import Transform


def check_transform(transform: Any) -> None:
    """Raise InvalidType unless ``transform`` is a Transform."""
    if not isinstance(transform, Transform):
        raise InvalidType(
            f"transform must be a Transform, got {described(transform)}. "
            "FromFunction(function, thetas) makes one of a function."
        )


def check_orbit(transform: Any, sample: Sample) -> None:
    """Raise unless ``transform`` is a Transform with a finite orbit for rows of this width."""
    check_transform(transform)
    transform.orbit(sample.X_train[:1])
