"""Kernels: similarities of two rows, or of two sets of vectors.

Kernels add, multiply and scale (``0.5 * RBF() + Linear()``). Names are imported on first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

_HOME = {
    "Kernel": "base",
    "Sum": "algebra",
    "Product": "algebra",
    "Scaled": "algebra",
    "Centred": "centred",
    "Precomputed": "precomputed",
    "KernelMatrix": "kernel_matrix",
    "GaussianProcessKernel": "gaussian_process",
    "FromCallable": "resolve",
    "resolve_kernel": "resolve",
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
    value = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
