"""Transforms: families T_θ of maps that leave the class of a row unchanged.

Names load on first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

_HOME = {
    "Transform": "base",
    "Composition": "base",
    "Union": "base",
    "Translation": "images",
    "Rotation": "images",
    "Zoom": "images",
    "Shear": "images",
    "Elastic": "images",
    "Reflection": "images",
    "Shift": "vectors",
    "FromFunction": "vectors",
    "FeatureScaling": "features",
    "FeatureDeletion": "features",
}

__all__ = [*_HOME]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
