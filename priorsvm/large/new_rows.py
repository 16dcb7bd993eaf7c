"""Scores and classes of rows that are read in chunks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._utils.arrays import Array
from .dask_source import is_dask, lazily
from .detect import new_rows, row_source
from .sources import RowChunk
from .table import weights


@dataclass(frozen=True)
class Applied:
    """A method of a fitted model as a function of rows in memory, which workers receive."""

    model: Any
    method: str

    @property
    def __name__(self) -> str:
        """The name that dask shows."""
        return self.method

    def __call__(self, X: Any) -> Array:
        result: Array = getattr(self.model, self.method)(X)
        return result


def over_chunks(model: Any, X: Any, method: str) -> Any:
    """Return a method of a model at rows that are read in chunks.

    Parameters
    ----------
    model : PriorSVC
        Fitted model.
    X : row source
        New rows. For rows of dask the result is a dask array, which is not computed yet.
    method : str
        "predict" or "decision_function".
    """
    check_is_fitted(model, "_models")
    classes = model.classes_
    scores = method == "decision_function"
    dtype = float if scores else classes.dtype
    columns = len(classes) if scores and len(classes) > 2 else None
    names = getattr(model, "feature_names_in_", None)
    names = None if names is None else names.tolist()
    function = Applied(model, method)
    if is_dask(X):
        return lazily(X, function, dtype, columns, names)
    empty = np.empty((0,) if columns is None else (0, columns), dtype)
    return np.concatenate([empty, *(function(chunk.X) for chunk in new_rows(X, names).chunks())])


@dataclass(frozen=True)
class Hits:
    """Work of a chunk: the weight of the rows whose class is predicted, and of all rows."""

    model: Any
    names: Any

    def __call__(self, number: int, chunk: RowChunk) -> tuple[float, float]:
        weight = weights(chunk.weight, len(chunk.y), chunk.where)
        X = chunk.X if self.names is None or not hasattr(chunk.X, "columns") else chunk.X[self.names]
        right = self.model.predict(X) == np.asarray(chunk.y)
        return float(weight @ right), float(weight.sum())


def accuracy(model: Any, X: Any, y: Any, sample_weight: Any) -> float:
    """Return the accuracy at rows that are read in chunks."""
    check_is_fitted(model, "_models")
    names = getattr(model, "feature_names_in_", None)
    found = list(row_source(X, y, sample_weight).map(Hits(model, None if names is None else names.tolist())))
    return sum(hits for hits, _ in found) / sum(weight for _, weight in found)
