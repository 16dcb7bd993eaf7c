"""Keys and names of rows, and columns of truth values."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

from .arrays import Array


def digests(
    X: Array, gaps: Array | None = None, salt: bytes = b"", order: Array | None = None
) -> list[bytes]:
    """Return 8 bytes for each row that depend on its content alone.

    Parameters
    ----------
    X : array of shape (n, d)
        Dense rows.
    gaps : array of bool of shape (n, d) or None, default=None
        Completed values. They count as NaN, because their last digits depend on the order of the rows.
    salt : bytes, default=b""
        Another salt gives other bytes.
    order : array of shape (d,) or None, default=None
        Order of the columns, as by :func:`name_order`; None for the order of X.
    """
    rows = X + 0.0
    if gaps is not None:
        rows = np.where(gaps, np.nan, rows)
    content = (rows if order is None else np.take(rows, order, axis=1)).tobytes()
    width = rows.shape[1] * rows.itemsize
    places = range(0, len(content), width) if width else [0] * len(rows)
    return [
        hashlib.blake2b(content[start : start + width], digest_size=8, salt=salt).digest() for start in places
    ]


def name_order(names: Any, width: int) -> Array:
    """Return an order of the columns that does not depend on their places: by name, if they have names."""
    return np.arange(width) if names is None else np.argsort(np.asarray(names, str), kind="stable")


def truth_columns(X: Any) -> list[int]:
    """Return the positions of the columns of a DataFrame, or of an array, that contain True and False."""
    if getattr(X, "ndim", 2) != 2:  # scikit-learn refuses it
        return []
    dtypes = getattr(X, "dtypes", None)
    if dtypes is None or not hasattr(X, "iloc"):
        return list(range(X.shape[1])) if getattr(getattr(X, "dtype", None), "kind", "") == "b" else []
    return [j for j, dtype in enumerate(dtypes) if _is_truth(X.iloc[:, j], str(dtype))]


def _is_truth(column: Any, dtype: str) -> bool:
    """Return whether a column has a dtype of truth values, or contains truth values and gaps only."""
    if dtype != "object":
        return dtype in ("bool", "boolean", "bool[pyarrow]")
    kinds = {type(value) for value in column.dropna().tolist()}
    return bool(kinds) and kinds <= {bool, np.bool_}


def row_names(X: Any) -> Array | None:
    """Return the index of a DataFrame as texts; None without an index, or if it counts the rows from 0."""
    index = getattr(X, "index", None)
    if index is None or not hasattr(X, "iloc"):
        return None
    names = index.tolist()
    return None if names == list(range(len(names))) else np.array([str(name) for name in names], dtype=str)
