"""Checks of blocks."""

from __future__ import annotations

from .._utils.messages import did_you_mean
from ..errors import InvalidInput
from .base import Knowledge

# A block without any of these methods leaves every model as it is.
EFFECTS = ("build", "prepare", "predict", "complete")


def check_acts(name: str, block: Knowledge) -> None:
    """Raise InvalidInput if a block defines no method that changes a model, such as after a typo."""
    kind = type(block)
    if any(getattr(kind, method) is not getattr(Knowledge, method) for method in EFFECTS):
        return
    own = [method for method in dir(kind) if not hasattr(Knowledge, method)]
    typos = [f" It has {method!r}.{meant}" for method in own if (meant := did_you_mean(method, EFFECTS))]
    raise InvalidInput(
        f"block '{name}' ({kind.__name__}) has no effect: define {', '.join(EFFECTS[:-1])} or {EFFECTS[-1]}."
        f"{''.join(typos)}"
    )
