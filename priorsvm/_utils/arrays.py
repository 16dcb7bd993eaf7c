"""Rows of a table, dense or sparse: the few things that NumPy and SciPy say differently."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array, issparse, vstack

Array = npt.NDArray[Any]

# Rows that hold sets of vectors are filled up with the largest number there is, which no set has.
PAD = float(np.finfo(float).max)

# Sparse rows that are multiplied at a time.
BLOCK = 1000


def as_points(Z: Any) -> Any:
    """Floats: a sparse matrix as compressed rows, all else as an array."""
    return csr_array(Z, dtype=float) if issparse(Z) else np.asarray(Z, float)


def stack(*parts: Any) -> Any:
    """All rows of all parts, one below the other."""
    if any(issparse(part) for part in parts):
        return csr_array(vstack([csr_array(part) for part in parts], format="csr"))
    return np.vstack(parts)


def as_keys(rows: Any) -> list[bytes]:
    """Something to look each row up by: equal for rows that are stored equally."""
    if not issparse(rows):
        whole = np.ascontiguousarray(rows + 0.0)  # -0.0 + 0.0 is 0.0
        if not whole.shape[1]:
            return [b""] * len(whole)
        keys: list[bytes] = whole.view(f"V{whole.itemsize * whole.shape[1]}").ravel().tolist()
        return keys
    index = rows.indices
    data = rows.data + 0.0
    ends = rows.indptr.tolist()
    return [index[a:b].tobytes() + data[a:b].tobytes() for a, b in pairwise(ends)]


def products(A: Any, B: Any) -> Array:
    """The inner products between all rows of both."""
    if not (issparse(A) and issparse(B)):
        return np.asarray(A @ B.T)
    found = np.empty((A.shape[0], B.shape[0]))
    across = B.T
    for start in range(0, len(found), BLOCK):  # the sparse product of all would be larger than the dense one
        found[start : start + BLOCK] = (A[start : start + BLOCK] @ across).toarray()
    return found


def same(A: Any, B: Any) -> bool:
    """Whether both are the same table."""
    if issparse(A) and issparse(B):
        return A is B or (A.shape == B.shape and (A != B).nnz == 0)
    return not (issparse(A) or issparse(B)) and np.array_equal(A, B)


def dense_row(rows: Any, i: int) -> Array:
    """One row as a vector."""
    return rows[[i]].toarray()[0] if issparse(rows) else np.asarray(rows[i])


def to_width(rows: Array, width: int) -> Array:
    """Rows that hold sets of vectors, filled up to so many columns if they have fewer."""
    missing = max(width - rows.shape[1], 0)
    return np.pad(rows, ((0, 0), (0, missing)), constant_values=PAD) if missing else rows
