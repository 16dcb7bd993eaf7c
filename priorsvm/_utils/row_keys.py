"""Keys and names of rows."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

from .arrays import Array


def digests(X: Array, gaps: Array | None = None, salt: bytes = b"") -> list[bytes]:
    """Return 8 bytes for each row that depend on its content alone.

    Parameters
    ----------
    X : array of shape (n, d)
        Dense rows.
    gaps : array of bool of shape (n, d) or None, default=None
        Completed values. They count as NaN, because their last digits depend on the order of the rows.
    salt : bytes, default=b""
        Another salt gives other bytes.
    """
    rows = np.ascontiguousarray(X + 0.0)
    if gaps is not None:
        rows = np.where(gaps, np.nan, rows)
    return [hashlib.blake2b(row.tobytes(), digest_size=8, salt=salt).digest() for row in rows]


def row_names(X: Any) -> Array | None:
    """Return the index of a DataFrame as texts; None without an index, or if it counts the rows from 0."""
    index = getattr(X, "index", None)
    if index is None or not hasattr(X, "iloc"):
        return None
    names = index.tolist()
    return None if names == list(range(len(names))) else np.array([str(name) for name in names], dtype=str)
