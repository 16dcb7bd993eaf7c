"""Row sources: training rows that are read in chunks, again in every pass.

A source has one method, ``map(work)``, and ``work`` has no state for each chunk. Results are added in the
order of the chunks, so the answer is equal for any number of workers, and a lost worker costs its chunks
only. Rows that differ between passes gave an objective 56 % off in silence. So 64 rows, the column sums, the
labels and the weights of each chunk are compared in each pass. Sources are detected before scikit-learn's
validation, which would load them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np

from ..errors import DataNotFound, InvalidInput, InvalidType, PackageNotInstalled
from .table import column_of, is_table, names_of, refuse_sparse, without

T = TypeVar("T")

# A memory map of at most this many entries is an array like any other array.
SMALL_MAP = 2**23


class RowChunk(NamedTuple):
    """Some rows as they were given.

    Attributes
    ----------
    X, y, weight : an array or a DataFrame, labels, and sample weights or None.
    where : name of the chunk, for messages.
    """

    X: Any
    y: Any
    weight: Any = None
    where: str = "chunk 0"


class RowSource:
    """Rows in chunks. A source has no state: every pass reads the same rows in the same order.

    Attributes
    ----------
    n_rows : number of rows; None if it is not known before the first pass.
    feature_names : names of the columns; None if they have none.
    n_features : number of columns.
    itemsize : bytes of a number in a chunk.
    size : most rows of a chunk, for sources that divide rows themselves.
    """

    n_rows: int | None = None
    feature_names: list[str] | None = None
    n_features: int
    itemsize: int = 8
    size: int = 50_000

    def chunks(self) -> Iterator[RowChunk]:
        """Yield all chunks in order."""
        raise NotImplementedError

    def share_of_thread(self, limit: float, given: bool) -> float:
        """Return the bytes of memory of each thread that reads chunks.

        Parameters
        ----------
        limit : float
            The limit of this process.
        given : bool
            Whether the user gave the limit. Then it is the limit of each further process, too.
        """
        return limit

    def require_parts(self, limit: float) -> None:
        """Raise TooLarge if a part that is loaded whole takes more than ``limit`` bytes."""

    def map(self, work: Callable[[int, RowChunk], T]) -> Iterator[T]:
        """Yield ``work(number, chunk)`` of every chunk in order."""
        for number, chunk in enumerate(self.chunks()):
            yield work(number, chunk)


class ArraySource(RowSource):
    """Rows of an array on disk."""

    def __init__(self, X: Any, y: Any, weight: Any = None):
        if np.ndim(X) != 2:
            raise InvalidInput(f"X must have two dimensions, got {np.ndim(X)}. Use X.reshape(n, -1).")
        self.X = X
        self.y = np.asarray(y)
        self.weight = None if weight is None else np.asarray(weight)
        self.n_rows = len(X)
        self.n_features = X.shape[1]
        self.itemsize = X.dtype.itemsize
        for name, values in (("y", self.y), ("sample_weight", self.weight)):
            if values is not None and values.shape != (len(X),):
                raise InvalidInput(
                    f"{name} has shape {values.shape}, but X has {len(X)} rows. Give one entry for each row."
                )

    def chunks(self) -> Iterator[RowChunk]:
        for start in range(0, len(self.X), self.size):
            rows = slice(start, start + self.size)
            weight = None if self.weight is None else self.weight[rows]
            yield RowChunk(np.asarray(self.X[rows]), self.y[rows], weight, f"X from row {start}")


class ChunkSource(RowSource):
    """Chunks (X, y) or (X, y, sample_weight), from a list or from a function that returns an iterator.

    Chunks of new rows may also be X or (X,); labels and weights are not used.
    """

    def __init__(self, given: Any, labelled: bool = True):
        self.given = given
        self.labelled = labelled
        first = next(self._tuples(), None)
        if first is None:
            raise InvalidInput("X contains no chunk. Give at least one chunk (X, y).")
        if is_table(first.X):
            self.feature_names = names_of(first.X, first.where)
        self.n_features = np.shape(first.X)[1] if np.ndim(first.X) == 2 else 0
        if self.n_features == 0:
            raise InvalidInput(
                f"{first.where}: X has shape {np.shape(first.X)}. Give two dimensions, with at least one "
                "column."
            )
        self.itemsize = getattr(getattr(first.X, "dtype", None), "itemsize", 8)
        if not callable(given):
            self.n_rows = sum(len(chunk.X) for chunk in self._tuples())

    def _tuples(self) -> Iterator[RowChunk]:
        """Yield the chunks as they are given."""
        chunks = self.given() if callable(self.given) else self.given
        if not hasattr(chunks, "__iter__"):
            raise InvalidType(
                f"the function in place of X returns a {type(chunks).__name__}. It must return an iterator "
                "of chunks (X, y)."
            )
        for number, chunk in enumerate(chunks):
            where = f"chunk {number}"
            if self.labelled and (not isinstance(chunk, tuple) or len(chunk) not in (2, 3)):
                raise InvalidType(
                    f"{where} is a {type(chunk).__name__}. Each chunk must be a tuple (X, y) or "
                    "(X, y, sample_weight)."
                )
            parts = chunk if isinstance(chunk, tuple) else (chunk,)
            refuse_sparse(parts[0], where)
            y, weight = (*parts[1:], None, None)[:2] if self.labelled else (None, None)
            yield RowChunk(parts[0], y, weight, where)

    def chunks(self) -> Iterator[RowChunk]:
        for chunk in self._tuples():
            parts = chunk[:3]
            lengths = {len(part) for part in parts if part is not None}
            if len(lengths) > 1:
                raise InvalidInput(
                    f"{chunk.where}: X, y and sample_weight have {', '.join(map(str, sorted(lengths)))} "
                    "rows. Give one label and one weight for each row."
                )
            for start in range(0, len(chunk.X), self.size):
                where = chunk.where + (f" from row {start}" if start else "")
                rows = slice(start, start + self.size)
                X, y, weight = (some_rows(part, rows) for part in parts)
                yield RowChunk(X, y, weight, where)


def some_rows(part: Any, rows: slice) -> Any:
    """Return some rows of an array, a table or a list."""
    if part is None:
        return None
    return part.iloc[rows] if hasattr(part, "iloc") else part[rows]


class ParquetSource(RowSource):
    """Rows of a Parquet file, or of all Parquet files of a folder."""

    def __init__(self, path: Any, y: Any, weight: Any = None, names: list[str] | None = None):
        self.path = str(path)
        self.label = y
        self.weight = weight
        table = self._dataset()
        for name, column in (("y", y), ("sample_weight", weight)):
            if column is not None and (not isinstance(column, str) or column not in table.schema.names):
                raise InvalidInput(
                    f"{name} must be the name of a column of {self.path}, got {column!r}. The columns are: "
                    f"{', '.join(table.schema.names)}."
                )
        self.feature_names = without(table.schema.names, y, weight) if names is None else names
        self.n_features = len(self.feature_names)

    def _dataset(self) -> Any:
        try:
            from pyarrow import dataset
        except ImportError as error:
            raise PackageNotInstalled(
                "a Parquet folder requires the package pyarrow: pip install pyarrow."
            ) from error
        if not Path(self.path).exists():
            raise DataNotFound(f"X is {self.path!r}, and there is no such Parquet file or folder.")
        try:
            found = dataset.dataset(self.path, format="parquet")
            self.n_rows = found.count_rows()
        except (OSError, ValueError) as error:  # pyarrow.ArrowInvalid is a ValueError
            raise InvalidInput(
                f"X is {self.path!r}, which is not a Parquet file or a folder of Parquet files: {error} Give "
                "a function that returns chunks for files of another format."
            ) from error
        if not found.schema.names:
            raise DataNotFound(f"X is {self.path!r}, and there is no Parquet file in this folder.")
        return found

    def chunks(self) -> Iterator[RowChunk]:
        assert self.feature_names is not None
        columns = [*self.feature_names, *(c for c in (self.label, self.weight) if c is not None)]
        batches = iter(self._dataset().to_batches(columns=columns, batch_size=self.size, batch_readahead=2))
        start = 0
        while (batch := self._next(batches)) is not None:
            if len(batch) == 0:
                continue
            where = f"{self.path} from row {start}"
            start += len(batch)
            table = batch.to_pandas()
            label = None if self.label is None else column_of(table, self.label)
            weight = None if self.weight is None else column_of(table, self.weight)
            yield RowChunk(table[self.feature_names], label, weight, where)

    def _next(self, batches: Iterator[Any]) -> Any:
        """Return the next rows or None; raise InvalidInput if a file has other types than the first file."""
        try:
            return next(batches, None)
        except (OSError, ValueError) as error:
            raise InvalidInput(
                f"{self.path}: {error}. Write all files with the same types of columns."
            ) from error
