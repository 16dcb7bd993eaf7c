"""Checks of arguments that several blocks take."""

from __future__ import annotations

from typing import Any

from .._utils.checks import described
from .._utils.messages import did_you_mean
from ..errors import InvalidInput, InvalidType
from ..sample import Sample
from ..transforms.base import Transform
from .base import Knowledge

# A block without any of these methods leaves every model as it is.
EFFECTS = ("build", "prepare", "predict", "complete")


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


def check_acts(name: str, block: Knowledge) -> None:
    """Raise InvalidInput if a block defines no method that changes a model, such as after a typo."""
    kind = type(block)
    if any(getattr(kind, method, None) is not getattr(Knowledge, method, None) for method in EFFECTS):
        return
    added = [method for method in dir(kind) if not hasattr(Knowledge, method)]
    typos = [f" It has {method!r}.{meant}" for method in added if (meant := did_you_mean(method, EFFECTS))]
    raise InvalidInput(
        f"block '{name}' ({kind.__name__}) has no effect: define {', '.join(EFFECTS[:-1])} or {EFFECTS[-1]}."
        f"{''.join(typos)}"
    )
