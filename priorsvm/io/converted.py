"""Values of region blocks in files of formats 1 and 2, and the values of the same blocks today.

In formats 1 and 2 a region block applies everywhere, and its weight multiplies its penalty. From format 3 on
the weight is a number of rows, which C multiplies too. Division by C keeps the problem as it was.
"""

from __future__ import annotations

import copy
from typing import Any

from sklearn.base import BaseEstimator

from .._utils.checks import is_number
from ..estimator import PriorSVC
from ..knowledge.regions.base import RegionKnowledge
from ..prior import Prior

ADDED = {"holds": "everywhere", "unlabeled": None}
"""Parameters that region blocks of formats 1 and 2 do not have -> their values."""

WEIGHTS = ("mu", "mu_residual")
"""Parameters of region blocks that are divided by C."""


def convert(model: Any) -> Any:
    """Return a loaded model with today's values; blocks outside a PriorSVC have C = 1.

    Parameters
    ----------
    model : estimator, Prior, block or part of an estimator
        What a file of format 1 or 2 contains. A PriorSVC in it is changed in place.
    """
    return _converted(model, 1.0, set())


def _converted(part: Any, C: float, seen: set[int]) -> Any:
    """Return a part with converted blocks: a new container, or the same object of an estimator."""
    if isinstance(part, RegionKnowledge):
        return _converted_block(part, C)
    if isinstance(part, tuple):
        items = [_converted(item, C, seen) for item in part]
        return type(part)._make(items) if hasattr(part, "_make") else tuple(items)
    if isinstance(part, list):
        return [_converted(item, C, seen) for item in part]
    if isinstance(part, dict):
        changed = copy.copy(part)
        changed.update({key: _converted(value, C, seen) for key, value in part.items()})
        return changed
    if isinstance(part, Prior):
        return Prior(_converted(part.blocks, C, seen), part.weights)
    estimator = isinstance(part, BaseEstimator) or type(part).__module__.startswith("sklearn.")
    if estimator and hasattr(part, "__dict__") and id(part) not in seen:
        seen.add(id(part))
        _convert_estimator(part, seen)
    return part


def _convert_estimator(estimator: Any, seen: set[int]) -> None:
    """Convert the blocks of an estimator, in place."""
    if isinstance(estimator, PriorSVC):
        estimator.prior = _converted(estimator.prior, _positive(estimator.C), seen)
        for model in getattr(estimator, "_models", []):
            model.members = _converted(model.members, _positive(model.spec.C), seen)
        return
    parts = {name: _converted(value, 1.0, seen) for name, value in vars(estimator).items()}
    estimator.__dict__.update(parts)


def _converted_block(block: RegionKnowledge, C: float) -> RegionKnowledge:
    """Return a copy of a region block with today's values."""
    converted = copy.copy(block)
    for name, value in ADDED.items():
        setattr(converted, name, value)
    for name in WEIGHTS:
        value = getattr(block, name, None)
        if is_number(value):
            setattr(converted, name, value / C)
    return converted


def _positive(C: Any) -> float:
    """Return C, or 1 if C is infinite, or is not valid in a model that is not fitted."""
    return float(C) if is_number(C) and C > 0 else 1.0
