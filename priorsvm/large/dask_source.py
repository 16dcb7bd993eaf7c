"""Rows of dask arrays and DataFrames: chunk work runs where dask's scheduler puts it.

The chunks of a partition have few drawn rows in all. When each chunk sent its own rows, the first pass took
longer with two workers than with one.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from copy import copy
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np

from ..errors import InvalidInput, InvalidType, TooLarge
from .facts import ReadFacts
from .memory import in_words
from .sources import RowChunk, RowSource, some_rows
from .table import names_of, refuse_sparse, without

T = TypeVar("T")

# Bytes that a value of a partition of unknown length takes on a worker, as copies of float64.
OF_VALUE = 32

# Chunks that are given to the scheduler at a time, for each thread.
CHUNKS_FOR_THREAD = 4

# Threads of this process, if no number is set: more of them leave too little memory for a chunk of dask.
MOST_THREADS = 8


def is_dask(X: Any) -> bool:
    """Return whether X is a collection of dask; dask is not imported for it."""
    return type(X).__module__.split(".")[0] in ("dask", "dask_expr") and hasattr(X, "__dask_graph__")


def is_dask_table(X: Any) -> bool:
    """Return whether X is a dask DataFrame."""
    # A Delayed object has any attribute.
    return is_dask(X) and isinstance(getattr(X, "ndim", None), int) and hasattr(X, "columns")


class DaskSource(RowSource):
    """Rows of a dask array or DataFrame; a worker divides the partitions of known length into chunks.

    Partitions are computed again in each pass, unless the collection is persisted. A worker that is lost
    costs the chunks it had: dask computes them elsewhere.
    """

    lengths: list[int] | None = None
    part_limit: float = float("inf")

    def __init__(self, X: Any, y: Any, weight: Any = None):
        if y is None:
            raise InvalidInput("y is missing. Give a dask array, an array, or the name of a column.")
        if is_dask_table(X):
            self._of_table(X, y, weight)
        else:
            self._of_array(X, y, weight)

    def _of_array(self, X: Any, y: Any, weight: Any) -> None:
        """Divide arrays into the row chunks of X."""
        _require_matrix(X)
        self.n_features = int(X.shape[1])
        self.itemsize = X.dtype.itemsize
        X = X.rechunk({1: -1})
        rows = X.chunks[0]
        known = not np.isnan(rows).any()
        self.n_rows = int(sum(rows)) if known else None
        parts = [_delayed(X)]
        for name, values in (("y", y), ("sample_weight", weight)):
            parts.append([None] * len(rows) if values is None else _aligned(name, values, rows, known))
        self.parts = [RowChunk(*part) for part in zip(*parts, strict=True)]
        self.lengths = [int(n) for n in rows] if known else None

    def _of_table(self, X: Any, y: Any, weight: Any) -> None:
        """Divide a DataFrame into its partitions; labels and weights may be columns of it."""
        names = names_of(X, "X") or []
        for what, column in (("y", y), ("sample_weight", weight)):
            if isinstance(column, str) and column not in names:
                raise InvalidInput(
                    f"{what} is {column!r}, but X has no such column. The columns are: "
                    f"{', '.join(map(str, X.columns))}."
                )
            if column is not None and not isinstance(column, str) and not is_dask(column):
                raise InvalidType(
                    f"{what} is a {type(column).__name__}. With a dask DataFrame give the name of a column, "
                    "or a dask Series with the same partitions."
                )
        table = X
        if names:
            self.feature_names = without(names, y, weight)
            X = X[self.feature_names]
        self.n_features = len(X.columns)
        features = X.to_delayed()
        parts = [list(features)]
        for what, column in (("y", y), ("sample_weight", weight)):
            series = table[column] if isinstance(column, str) else column
            found = [None] * len(features) if series is None else list(np.ravel(series.to_delayed()))
            if len(found) != len(features):
                raise InvalidInput(
                    f"{what} has {len(found)} partitions, but X has {len(features)}. Give the same "
                    "partitions."
                )
            parts.append(found)
        self.parts = [RowChunk(*part) for part in zip(*parts, strict=True)]

    def share_of_thread(self, limit: float, given: bool) -> float:
        """Return the bytes of memory of each thread of the smallest worker, or of this process."""
        client = _client()
        if client is None:
            return limit / _own_threads()
        of_worker = limit if given else float("inf")
        shares = [
            min(memory or of_worker, of_worker) / max(threads, 1) for threads, memory in _workers(client)
        ]
        share = min(shares, default=limit)
        return limit if np.isinf(share) else share

    def require_parts(self, limit: float) -> None:
        """Raise TooLarge for the largest chunk; partitions of unknown length are checked by the workers."""
        self.part_limit = limit
        if self.lengths:
            k = int(np.argmax(self.lengths))
            _require_part(k, self.lengths[k], self.n_features * self.itemsize, limit)

    def map(self, work: Callable[[int, RowChunk], T]) -> Iterator[T]:
        """Yield the results of all chunks in order; a dask client computes them if there is one."""
        from dask import compute, config, delayed

        run = delayed(_run, pure=False)
        client = _client()
        threads = _own_threads() if client is None else sum(client.nthreads().values())
        size = CHUNKS_FOR_THREAD * max(threads, 1)
        rows = None if self.lengths is None else self.size
        pieces = [1] * len(self.parts)
        if self.lengths is not None:
            pieces = [-(-n // self.size) for n in self.lengths]
        starts = np.cumsum([0, *pieces]).tolist()
        waiting: list[Any] = []
        try:
            for first in range(0, len(self.parts), size):
                shared = delayed(copy(work), traverse=False)  # later batches have what earlier ones found
                batch = enumerate(self.parts[first : first + size], first)
                tasks = [run(shared, starts[k], rows, self.part_limit, k, *part[:3]) for k, part in batch]
                if client is None:
                    with config.set(num_workers=threads):  # memory is planned for this number
                        results = compute(*tasks)
                    for found in results:
                        yield from found
                    continue
                waiting += client.compute(tasks)
                while len(waiting) > size:
                    yield from waiting.pop(0).result()
            while waiting:
                yield from waiting.pop(0).result()
        finally:
            if waiting:
                client.cancel(waiting)


def _require_matrix(X: Any) -> None:
    """Raise InvalidType unless a collection of dask has two dimensions."""
    ndim = getattr(X, "ndim", None)
    if not (isinstance(ndim, int) and ndim == 2):
        raise InvalidType(
            f"X is a dask {type(X).__name__} with {ndim if isinstance(ndim, int) else 'no'} dimensions. Give "
            "a dask array with two dimensions, or a dask DataFrame."
        )


def _delayed(X: Any) -> list[Any]:
    """Return the blocks of a dask array along its rows."""
    return list(np.ravel(X.to_delayed()))


def _aligned(name: str, values: Any, rows: tuple[int, ...], known: bool) -> list[Any]:
    """Return one part of labels or weights for each chunk of X."""
    from dask import delayed

    if isinstance(values, str):
        raise InvalidType(f"{name} is the text {values!r}, and a dask array has no names. Give an array.")
    if not is_dask(values):
        array = np.asarray(values)
        if not known or array.shape != (sum(rows),):
            have = f"{sum(rows)} rows" if known else "an unknown number of rows"
            raise InvalidInput(
                f"{name} has shape {array.shape}, but X has {have}. Give a dask array with the chunks of X."
            )
        edges = np.concatenate([[0], np.cumsum(rows)])
        parts = [array[a:b] for a, b in pairwise(edges)]
        return [delayed(part, traverse=False) for part in parts]
    if hasattr(values, "to_dask_array"):
        return list(np.ravel(values.to_delayed()))
    if known and not np.isnan(values.chunks[0]).any():
        if values.shape != (sum(rows),):
            raise InvalidInput(f"{name} has shape {values.shape}, but X has {sum(rows)} rows.")
        values = values.rechunk({0: rows})
    found = _delayed(values)
    if len(found) != len(rows):
        raise InvalidInput(f"{name} has {len(found)} chunks, but X has {len(rows)}. Give the same chunks.")
    return found


def _run(
    work: Callable[[int, RowChunk], T],
    first: int,
    rows: int | None,
    limit: float,
    k: int,
    X: Any,
    y: Any,
    weight: Any,
) -> list[T]:
    """Return the results of a partition in chunks of some rows, on a worker; None is one chunk."""
    refuse_sparse(X, f"chunk {k}")
    if rows is None:
        _require_part(k, len(X), OF_VALUE * X.shape[1], limit)
    chunks = enumerate(_divided(RowChunk(X, y, weight, f"chunk {k}"), rows), first)
    if isinstance(work, ReadFacts):
        found: list[Any] = work.partition(chunks)
        return found
    return [work(number, chunk) for number, chunk in chunks]


def _divided(whole: RowChunk, rows: int | None) -> Iterator[RowChunk]:
    """Yield chunks of some rows, which stay in the cache of the processor; None is the whole partition."""
    if rows is None:
        yield whole
        return
    for start in range(0, len(whole.X), rows):
        chosen = slice(start, start + rows)
        place = whole.where + (f" from row {start}" if start else "")
        X, y, weight = (some_rows(part, chosen) for part in whole[:3])
        yield RowChunk(X, y, weight, place)


def _require_part(k: int, rows: int, of_row: float, limit: float) -> None:
    """Raise TooLarge if a chunk of dask takes more bytes than a limit."""
    if rows * of_row > limit:
        raise TooLarge(
            f"chunk {k} of X has {rows} rows and takes {in_words(rows * of_row)}, but a thread may take "
            f"{in_words(limit)} for a chunk: a quarter of its share of memory_limit, or of the memory of its "
            f"worker. Make chunks of at most {int(limit / of_row)} rows where X is made, or raise the limit."
        )


def _own_threads() -> int:
    """Return the number of threads of dask without a client: those that are set, or at most MOST_THREADS."""
    from dask import config
    from dask.system import CPU_COUNT

    if config.get("scheduler", None) in ("sync", "synchronous", "single-threaded"):
        return 1
    given = config.get("num_workers", None) or getattr(config.get("pool", None), "_max_workers", None)
    return int(given or min(CPU_COUNT, MOST_THREADS))


def _workers(client: Any) -> list[tuple[int, float | None]]:
    """Return the number of threads and the bytes of memory of each worker; None if they are not limited."""
    try:
        found = client.scheduler_info(n_workers=-1)["workers"]
    except TypeError:  # older versions list all workers
        found = client.scheduler_info()["workers"]
    return [(worker["nthreads"], worker["memory_limit"] or None) for worker in found.values()]


def _client() -> Any:
    """Return the client of a dask cluster, or None if there is none."""
    if "distributed" not in sys.modules:
        return None
    from distributed import get_client

    try:
        return get_client()
    except ValueError:
        return None


def lazily(X: Any, function: Callable[[Any], Any], dtype: Any, columns: int | None, names: Any) -> Any:
    """Return a function of the rows as a dask array, which is not computed yet.

    Parameters
    ----------
    X : dask array or DataFrame
        New rows.
    function : callable
        Function of an array or DataFrame in memory.
    dtype, columns
        Type of the result, and its number of columns; None for one dimension.
    names : list of str or None
        Columns of X that the function uses.
    """
    empty = np.empty((0,) if columns is None else (0, columns), dtype)
    if is_dask_table(X):
        known = X if names is None else X[[name for name in names if name in list(X.columns)]]
        return _of_partitions(known, function, empty)
    _require_matrix(X)
    X = X.rechunk({1: -1})
    if columns is None:
        return X.map_blocks(function, drop_axis=1, dtype=dtype, meta=empty)
    return X.map_blocks(function, chunks=(X.chunks[0], (columns,)), dtype=dtype, meta=empty)


def _of_partitions(X: Any, function: Callable[[Any], Any], empty: Any) -> Any:
    """Return a function of the partitions of a DataFrame as a dask array of unknown length."""
    import dask.array as da
    from dask import delayed

    run = delayed(function, traverse=False)
    shape = (np.nan, *empty.shape[1:])
    parts = [da.from_delayed(run(part), shape, meta=empty) for part in X.to_delayed()]
    return da.concatenate(parts)
