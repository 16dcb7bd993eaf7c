"""Types that a file may contain beyond the types that skops trusts, and the nodes that may have them."""

from __future__ import annotations

import pkgutil
from collections.abc import Iterator
from importlib import import_module
from types import FunctionType
from typing import Any

import numpy as np
import sklearn.metrics
import sklearn.model_selection
import sklearn.utils
from scipy.sparse import csr_array

import priorsvm

# Modules without a class that a model can contain.
_WITHOUT_PARTS = {
    "__main__",
    "cli",
    "datasets",
    "demo",
    "errors",
    "explain",
    "io",
    "playground",
    "plot",
    "testing",
}

USER_PLACES = {"ObjectNode", "TupleNode", "FunctionNode", "TreeNode"}
"""Loaders that may have a type which the user trusts."""


UFUNC_HOMES = ("numpy", "numpy._core._multiarray_umath")
"""Modules that NumPy's ufuncs have in files of different versions of NumPy."""


def name_of(kind: Any) -> str:
    """Return the full name of a class or a function."""
    return f"{kind.__module__}.{kind.__qualname__}"


def _package_types() -> Iterator[str]:
    for found in pkgutil.walk_packages(priorsvm.__path__, "priorsvm."):
        if found.name.split(".")[1] in _WITHOUT_PARTS:
            continue
        for value in vars(import_module(found.name)).values():
            defined_here = isinstance(value, type) and value.__module__ == found.name
            if defined_here and not issubclass(value, Exception):
                yield name_of(value)


def _find_places() -> dict[str, set[str]]:
    # With another loader skops would call the class, or return it where a function is expected.
    metrics = (getattr(sklearn.metrics, name) for name in sklearn.metrics.__all__)
    searching = vars(sklearn.model_selection).values()
    splitters = (kind for kind in searching if isinstance(kind, type) and hasattr(kind, "split"))
    ufuncs = (name for name, value in vars(np).items() if isinstance(value, np.ufunc))
    calibrated = ("_CalibratedClassifier", "_SigmoidCalibration", "_TemperatureScaling")
    return {
        **{name: {"ObjectNode", "TupleNode"} for name in _package_types()},
        **{name_of(kind): {"ObjectNode"} for kind in splitters},
        **{f"sklearn.calibration.{name}": {"ObjectNode"} for name in calibrated},
        **{f"sklearn.metrics._scorer.{name}": {"ObjectNode"} for name in ("_PassthroughScorer", "_Scorer")},
        **{name_of(metric): {"FunctionNode"} for metric in metrics if isinstance(metric, FunctionType)},
        name_of(sklearn.utils.Bunch): {"DictNode"},
        name_of(csr_array): {"SparseMatrixNode"},
        "numpy.dtype": {"DTypeNode"},
        # Files of NumPy before 2.2 have the second name, and skops trusts the name of the installed NumPy.
        **{f"{home}.{name}": {"FunctionNode"} for name in ufuncs for home in UFUNC_HOMES},
    }


PLACES = _find_places()
"""Full type name -> the loaders that may have this type."""

TRUSTED: tuple[str, ...] = tuple(sorted(PLACES))
"""Full names of the types that ``load`` trusts beyond the types that skops trusts.

They are the classes of priorsvm that a model can contain, and the splitters, scorers, metrics and calibrators
inside estimators of scikit-learn, and NumPy's ufuncs. ``skops.io.load(trusted=...)`` accepts this tuple.
"""
