"""Chunks as arrays of numbers, with messages that name the chunk and the column."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.sparse import issparse

from .._utils.arrays import Array
from .._utils.checks import LARGEST, check_moderate
from ..errors import InvalidInput

# Rows of a chunk that are compared between passes.
COMPARED = 64


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
    refuse_sparse(X, where)
    if is_table(X) and names is not None:
        missing = [name for name in names if name not in X.columns]
        if missing:
            raise InvalidInput(f"{where} has no column {missing[0]!r}, which the first chunk has.")
        X = X[list(names)]
        texts = [name for name, dtype in zip(X.columns, X.dtypes, strict=True) if dtype.kind not in "biuf"]
        if texts:
            raise InvalidInput(
                f"{where}: column {texts[0]!r} is not a column of numbers, and rows that are read in "
                "chunks have no encoded categories. Encode the column in each chunk, as one 0/1 column for "
                "each of its values, or leave it out."
            )
        X = X.to_numpy(float, na_value=np.nan)
    if np.iscomplexobj(X):
        raise InvalidInput(f"{where}: X has complex numbers. Give real numbers.")
    try:
        array = np.asarray(X, float)
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"{where}: X has values that are not numbers: {error}") from error
    if array.ndim != 2 or array.shape[1] != n_features:
        raise InvalidInput(
            f"{where}: X has shape {array.shape}, but the first chunk has {n_features} columns. Give "
            "all chunks the same columns."
        )
    if array.size and not (array.min() >= -LARGEST and array.max() <= LARGEST):
        _refuse(array, names, where)
    return array


def refuse_sparse(X: Any, where: str) -> None:
    """Raise InvalidInput if a chunk is sparse."""
    if issparse(X):
        raise InvalidInput(
            f"{where}: X is sparse, and rows that are read in chunks must be dense. Give X.toarray() as the "
            "chunk, or fit the whole sparse matrix in memory."
        )


def fingerprint(X: Array, y: Array, weight: Array) -> int:
    """Return a number by which chunks are compared between passes: of some rows, sums, labels and weights."""
    rows = np.linspace(0, max(len(X) - 1, 0), min(COMPARED, len(X))).astype(int)
    labels = y.tobytes() if y.dtype.kind in "biuf" else "|".join(map(str, y.tolist())).encode()
    return zlib.crc32(X[rows].tobytes() + X.sum(axis=0).tobytes() + weight.tobytes() + labels)


def _refuse(array: Array, names: Sequence[str] | None, where: str) -> None:
    """Raise InvalidInput for a number that is not finite, or too large."""
    bad = np.argwhere(~np.isfinite(array))
    if len(bad):
        i, j = bad[0]
        column = j if names is None else repr(names[j])
        raise InvalidInput(
            f"{where}: row {i} has {array[i, j]} in column {column}. Rows that are read in chunks "
            "must have finite numbers: impute the values in each chunk first."
        )
    check_moderate(where, array, "Use other units.")


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
