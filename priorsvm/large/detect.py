"""Detection of row sources among the arguments of fit and predict."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import InvalidInput, InvalidType
from . import sources
from .dask_source import DaskSource, is_dask, is_dask_table
from .sources import ArraySource, ChunkSource, ParquetSource, RowSource


def is_source(X: Any) -> bool:
    """Return whether rows are read in chunks, because they may not fit in memory.

    They are a large memory map, a list of tuples (X, y), a function, a path, or a collection of dask.
    """
    return bool(
        is_dask(X)
        or isinstance(X, (str, Path))
        or callable(X)
        or (isinstance(X, Iterator) and not hasattr(X, "__array__"))
        or _is_large_map(X)
        or _is_chunk_list(X)
    )


def _is_large_map(X: Any) -> bool:
    return isinstance(X, np.memmap) and X.size > sources.SMALL_MAP


def _is_chunk_list(X: Any) -> bool:
    """Return whether X is a list of tuples whose first entry is a matrix."""
    listed = isinstance(X, (list, tuple)) and bool(X)
    return listed and isinstance(X[0], tuple) and bool(X[0]) and _dimensions(X[0][0]) >= 2


def _dimensions(part: Any) -> int:
    """Return the number of dimensions; 0 for nested lists of different lengths."""
    try:
        return int(np.ndim(part))
    except ValueError:
        return 0


def row_source(X: Any, y: Any, sample_weight: Any = None) -> RowSource:
    """Return the source of rows that are read in chunks.

    Parameters
    ----------
    X, y, sample_weight
        As in :meth:`PriorSVC.fit`.
    """
    _refuse_iterator(X)
    if is_dask(X):
        return DaskSource(X, y, sample_weight)
    if isinstance(X, (str, Path)):
        return ParquetSource(X, _required(y, "the name of the column of labels"), sample_weight)
    if _is_large_map(X):
        return ArraySource(X, _required(y, "one label for each row"), sample_weight)
    if y is not None or sample_weight is not None:
        given = "y" if y is not None else "sample_weight"
        raise InvalidInput(
            f"X contains chunks (X, y) or (X, y, sample_weight), and {given} is given, too. Leave it out: "
            "labels and weights are part of the chunks."
        )
    return ChunkSource(X)


def _refuse_iterator(X: Any) -> None:
    """Raise InvalidType if X can be read once only."""
    if isinstance(X, Iterator):
        raise InvalidType(
            f"X is a {type(X).__name__}, which can be read once, and its rows are read several times. Give "
            "the function that returns it, or a list of chunks."
        )


def _required(y: Any, what: str) -> Any:
    if y is None:
        raise InvalidInput(f"y is missing. Give {what}.")
    return y


def refuse_source(X: Any, method: str) -> None:
    """Raise InvalidType if X is a row source, for methods that need all rows in memory."""
    if is_source(X) and not isinstance(X, str):
        raise InvalidType(
            f"{method} requires an array or a DataFrame in memory, and X is {described_source(X)}. Use a "
            "sample of the rows."
        )


def refuse_chunks(X: Any, method: str) -> None:
    """Raise InvalidType if X is a row source, but not for a memory map, which is an array."""
    if not isinstance(X, np.memmap):
        refuse_source(X, method)


def described_source(X: Any) -> str:
    """Return what a row source is, for messages."""
    if is_dask(X):
        return "a dask DataFrame" if is_dask_table(X) else "a dask array"
    if isinstance(X, (str, Path)):
        return f"the path {str(X)!r}"
    if isinstance(X, np.memmap):
        return f"a memory map of {X.shape[0]} rows"
    return "a function that returns chunks" if callable(X) else "a list of chunks"


def new_rows(X: Any, names: list[str] | None) -> RowSource:
    """Return the source of new rows, without labels; columns are those of the training rows."""
    if isinstance(X, (str, Path)):
        if names is None:
            raise InvalidInput(
                "X is a path, but the model was fitted on columns without names. Give an array, or fit on "
                "columns with names."
            )
        return ParquetSource(X, None, None, names)
    if isinstance(X, np.memmap):
        return ArraySource(X, np.zeros(len(X), int))
    _refuse_iterator(X)
    return ChunkSource(X, labelled=False)
