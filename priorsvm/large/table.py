"""Chunks as arrays of numbers, with messages that name the chunk and the column."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._utils.arrays import Array
from .._utils.checks import check_moderate
from ..errors import InvalidInput


def is_table(X: Any) -> bool:
    """Return whether X has named columns."""
    return hasattr(X, "columns") and hasattr(X, "iloc")


def without(names: Sequence[str], *left_out: Any) -> list[str]:
    """Return names without some of them."""
    return [name for name in names if not any(isinstance(c, str) and c == name for c in left_out)]


def column_of(table: Any, column: str) -> Array:
    """Return a column of a DataFrame as an array."""
    return np.asarray(table[column])


def numbers(X: Any, names: Sequence[str] | None, n_features: int, where: str) -> Array:
    """Return the rows of a chunk as float64; raise InvalidInput if a value is not a number.

    Parameters
    ----------
    X : array-like or DataFrame
        Rows of the chunk.
    names, n_features
        Columns of the first chunk.
    where : str
        Name of the chunk, for messages.
    """
    if is_table(X) and names is not None:
        missing = [name for name in names if name not in X.columns]
        if missing:
            raise InvalidInput(f"{where} has no column {missing[0]!r}, which the first chunk has.")
        X = X[list(names)]
        texts = [name for name in names if np.asarray(X[name][:1]).dtype.kind not in "biuf"]
        if texts:
            raise InvalidInput(
                f"{where}: column {texts[0]!r} is not a column of numbers, and rows that are read in "
                "chunks have no encoded categories. Encode the column as numbers, or leave it out."
            )
    try:
        array = np.asarray(X, float)
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"{where}: X has values that are not numbers: {error}") from error
    if array.ndim != 2 or array.shape[1] != n_features:
        raise InvalidInput(
            f"{where}: X has shape {array.shape}, but the first chunk has {n_features} columns. Give "
            "all chunks the same columns."
        )
    bad = ~np.isfinite(array)
    if bad.any():
        i, j = np.argwhere(bad)[0]
        column = j if names is None else repr(names[j])
        raise InvalidInput(
            f"{where}: row {i} has {array[i, j]} in column {column}. Rows that are read in chunks "
            "must have finite numbers: impute the values in each chunk first."
        )
    check_moderate(f"{where}", array, "Use other units.")
    return array


def weights(given: Any, n: int, where: str) -> Array:
    """Return the sample weights of a chunk; raise InvalidInput unless they are nonnegative numbers."""
    if given is None:
        return np.ones(n)
    weight = np.asarray(given, float)
    if weight.shape != (n,):
        raise InvalidInput(f"{where}: sample_weight has shape {weight.shape}, but there are {n} rows.")
    if not (np.isfinite(weight).all() and (weight >= 0).all()):
        raise InvalidInput(f"{where}: sample_weight must be nonnegative numbers.")
    return weight
