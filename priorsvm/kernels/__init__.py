"""Kernels: what two patterns have in common, as a number.

Kernels add, multiply and scale (``0.5 * RBF() + Linear()``). Names load on first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

_HOME = {
    "Kernel": "base",
    "Sum": "base",
    "Product": "base",
    "Scaled": "base",
    "FromCallable": "base",
    "resolve_kernel": "base",
    "Linear": "standard",
    "Polynomial": "standard",
    "RBF": "standard",
    "NegativeDistance": "standard",
    "Pairwise": "standard",
    "Spectral": "spectrum",
    "HaarIntegration": "haar",
    "Jitter": "jitter",
    "TangentDistance": "tangent_distance",
    "TangentVector": "tangent_vector",
    "TangentInvariant": "tangent_invariant",
    "Bhattacharyya": "bhattacharyya",
    "PrincipalAngles": "principal_angles",
    "SetKernel": "set_kernel",
    "OnRows": "set_kernel",
    "select_kernel": "select",
}

__all__ = list(_HOME)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
