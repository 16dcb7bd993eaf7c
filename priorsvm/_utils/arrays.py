"""Operations on rows that may be dense or sparse."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array, issparse, vstack

Array = npt.NDArray[Any]

# Rows that contain sets of vectors are padded with the largest float, which no set contains.
PAD = float(np.finfo(float).max)

# Number of sparse rows that are multiplied at a time.
BLOCK = 1000


def as_points(Z: Any) -> Any:
    """Convert to floats: a sparse matrix to a csr_array, other values to an array."""
    return csr_array(Z, dtype=float) if issparse(Z) else np.asarray(Z, float)


def stack(*parts: Any) -> Any:
    """Stack the rows of all parts."""
    if any(issparse(part) for part in parts):
        return csr_array(vstack([csr_array(part) for part in parts], format="csr"))
    return np.vstack(parts)


def whole_columns(X: Array, gaps: Array | None = None) -> Array:
    """Return a mask of the columns of whole numbers; completed values, at ``gaps``, do not count."""
    whole = np.rint(X) == X
    return np.asarray((whole if gaps is None else whole | gaps).all(axis=0))


def distinct_rows(rows: Array) -> tuple[Array, Array, Array]:
    """Return the distinct rows in order, the first index of each, and for each row its place among them.

    ``numpy.unique(rows, axis=0)`` returns the same rows, but it ends an interrupt in a TypeError.

    >>> distinct_rows(np.array([[2.0, 1.0], [0.0, 3.0], [2.0, 1.0]]))
    (array([[0., 3.],
           [2., 1.]]), array([1, 0]), array([1, 0, 1]))
    """
    order = np.lexsort(rows.T[::-1]) if rows.shape[1] else np.arange(len(rows))
    ranked = rows[order]
    new = np.ones(len(rows), bool)
    new[1:] = (ranked[1:] != ranked[:-1]).any(axis=1)
    place = np.empty(len(rows), int)
    place[order] = np.cumsum(new) - 1
    first = order[new]
    return rows[first], first, place


def as_keys(rows: Any) -> list[bytes]:
    """Return a dict key for each row; rows that are stored equally have equal keys."""
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


def column_means(Z: Array) -> Array:
    """Return the mean of each column; NumPy's own takes up to ten times as long for few columns."""
    return np.asarray(np.ones(len(Z)) @ Z / len(Z))


def products(A: Any, B: Any) -> Array:
    """Return the inner products of all rows of A with all rows of B."""
    if not (issparse(A) and issparse(B)):
        return np.asarray(A @ B.T)
    found = np.empty((A.shape[0], B.shape[0]))
    transposed = B.T
    # A sparse product of all rows would need more memory than the dense result.
    for start in range(0, len(found), BLOCK):
        found[start : start + BLOCK] = (A[start : start + BLOCK] @ transposed).toarray()
    return found


def same(A: Any, B: Any) -> bool:
    """Return whether two sets of rows are equal and both dense or both sparse."""
    if issparse(A) and issparse(B):
        return A is B or (A.shape == B.shape and (A != B).nnz == 0)
    return not (issparse(A) or issparse(B)) and np.array_equal(A, B)


def dense_row(rows: Any, i: int) -> Array:
    """Return one row as a vector."""
    return rows[[i]].toarray()[0] if issparse(rows) else np.asarray(rows[i])


def to_width(rows: Array, width: int) -> Array:
    """Pad rows that contain sets of vectors to at least ``width`` columns."""
    missing = max(width - rows.shape[1], 0)
    return np.pad(rows, ((0, 0), (0, missing)), constant_values=PAD) if missing else rows


def unit_directions(Z: Array) -> Iterator[Array]:
    """Yield for each column of Z its unit vector, repeated for every row."""
    for unit in np.eye(Z.shape[1]):
        yield np.broadcast_to(unit, Z.shape)


def as_slice(which: Array) -> Any:
    """Return consecutive numbers as a slice, other numbers as they are."""
    if len(which) and which[-1] - which[0] == len(which) - 1 and (np.diff(which) == 1).all():
        return slice(int(which[0]), int(which[-1]) + 1)
    return which


def block(rows: Array, columns: Array) -> Any:
    """Return the index of the entries of a matrix between some rows and columns; slices where possible."""
    i = as_slice(rows)
    j = as_slice(columns)
    return (i, j) if isinstance(i, slice) and isinstance(j, slice) else np.ix_(rows, columns)
