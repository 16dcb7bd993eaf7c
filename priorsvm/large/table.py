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

# Rows that are added up as one long row, which takes a quarter of the time.
FOLDED = 128

# Long rows at a time, for arrays that are written and read again.
CACHED = 8


def is_table(X: Any) -> bool:
    """Return whether X has named columns."""
    return hasattr(X, "columns") and hasattr(X, "iloc")


def names_of(table: Any, where: str) -> list[str] | None:
    """Return the names of the columns of a DataFrame; None if all of them are numbers, as in an array.

    Raises
    ------
    InvalidInput
        If names are not all texts, or two columns have one name.
    """
    names = list(table.columns)
    texts = [isinstance(name, str) for name in names]
    if not any(texts):
        return None
    if not all(texts):
        raise InvalidInput(
            f"{where}: the name of column {names[texts.index(False)]!r} is not a text. Use "
            "X.columns = X.columns.astype(str)."
        )
    twice = [name for k, name in enumerate(names) if name in names[:k]]
    if twice:
        raise InvalidInput(f"{where}: two columns have the name {twice[0]!r}. Give each column its own name.")
    return names


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
    if is_table(X):
        if names is not None:
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
        given = np.asarray(X)
        if given.dtype.kind in "USMm":
            raise TypeError(f"their type is {given.dtype}. Encode them in each chunk.")
        array = np.asarray(given, float)
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"{where}: X has values that are not numbers: {error}") from error
    if array.ndim != 2 or array.shape[1] != n_features:
        raise InvalidInput(
            f"{where}: X has shape {array.shape}, but the first chunk has {n_features} columns. Give "
            "all chunks the same columns."
        )
    checked = given if given.dtype.kind == "f" else array  # float32 is faster
    if array.size and not (float(checked.min()) >= -LARGEST and float(checked.max()) <= LARGEST):
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
    rows = X[:: max(len(X) // COMPARED, 1)]
    labels = y.tobytes() if y.dtype.kind in "biuf" else "|".join(map(str, y.tolist())).encode()
    return zlib.crc32(rows.tobytes() + column_sums(X).tobytes() + weight.tobytes() + labels)


def column_sums(X: Array) -> Array:
    """Return the sums of the columns, which are equal bit by bit for equal rows."""
    whole = len(X) - len(X) % FOLDED
    total: Array = folded(X[:whole]).sum(axis=0).reshape(FOLDED, -1).sum(axis=0) + X[whole:].sum(axis=0)
    return total


def folded(X: Array) -> Array:
    """Return rows, of a multiple of FOLDED in number, with FOLDED of them in each long row."""
    return np.ascontiguousarray(X).reshape(-1, FOLDED * X.shape[1])


def places_of_extremes(X: Array) -> tuple[Array, Array]:
    """Return for each column the number of a row with the smallest value, and with the largest value."""
    whole = len(X) - len(X) % FOLDED
    long = folded(X[:whole])
    columns = np.arange(X.shape[1])
    low = np.full(X.shape[1], len(X) - 1)
    high = low.copy()
    if whole:
        smallest = long.min(axis=0).reshape(FOLDED, -1).argmin(axis=0)
        largest = long.max(axis=0).reshape(FOLDED, -1).argmax(axis=0)
        low = np.array([k + FOLDED * X[k:whole:FOLDED, j].argmin() for j, k in enumerate(smallest.tolist())])
        high = np.array([k + FOLDED * X[k:whole:FOLDED, j].argmax() for j, k in enumerate(largest.tolist())])
    if whole < len(X):
        rest = whole + X[whole:].argmin(axis=0)
        low = np.where(X[rest, columns] < X[low, columns], rest, low)
        rest = whole + X[whole:].argmax(axis=0)
        high = np.where(X[rest, columns] > X[high, columns], rest, high)
    return low, high


def squares_from(X: Array, middle: Array, weight: Array) -> Array:
    """Return the weighted sums of squared distances from the middle of each column."""
    whole = len(X) - len(X) % FOLDED
    total = np.zeros(X.shape[1])
    middles = np.tile(middle, FOLDED)
    size = CACHED * FOLDED
    for start in range(0, whole, size):
        rows = slice(start, min(start + size, whole))
        away = folded(X[rows]) - middles
        away *= away
        total += weight[rows] @ away.reshape(-1, X.shape[1])
    rest: Array = weight[whole:] @ (X[whole:] - middle) ** 2
    return total + rest


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
