"""Parallel work on rows by joblib.

Workers exist inside ``PriorSVC(n_jobs=2).fit`` and inside ``with joblib.parallel_config(backend="dask"):``.
Otherwise everything runs in this process.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from .arrays import Array

# Arrays with fewer numbers are processed faster here than in another process.
LEAST = 100_000


def over_rows(function: Callable[..., Array], *arrays: Array) -> Array:
    """Return ``function(*arrays)``, computed in parts of the rows; it has one row per row of the arrays."""
    from joblib import Parallel, delayed, effective_n_jobs

    jobs = min(effective_n_jobs(None), len(arrays[0]))
    if jobs <= 1 or arrays[0].size < LEAST:
        return function(*arrays)
    parts = zip(*(np.array_split(array, jobs) for array in arrays), strict=True)
    return np.concatenate(Parallel()(delayed(function)(*part) for part in parts))


def in_threads(function: Callable[[Any], None], parts: Iterable[Any]) -> None:
    """Call a function for each part, in threads if there are workers; BLAS runs without Python's lock."""
    from joblib import Parallel, delayed, effective_n_jobs

    jobs = effective_n_jobs(None)
    if jobs > 1:
        # With require="sharedmem" joblib replaces the number of workers of the context by 1.
        Parallel(n_jobs=jobs, prefer="threads", require="sharedmem")(delayed(function)(p) for p in parts)
        return
    for part in parts:
        function(part)
