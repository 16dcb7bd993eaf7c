"""Work that goes row by row, spread over joblib's workers where the user has set some up.

``PriorSVC(n_jobs=2)`` or ``with joblib.parallel_config(backend="dask"):`` around ``fit`` set them up; without
either everything runs here.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .arrays import Array

# Fewer numbers than this are sooner worked on than sent away.
LEAST = 100_000


def over_rows(function: Callable[..., Array], *arrays: Array) -> Array:
    """``function(*arrays)``, which gives one row for each of theirs, in parts of the rows."""
    from joblib import Parallel, delayed, effective_n_jobs

    jobs = min(effective_n_jobs(None), len(arrays[0]))
    if jobs <= 1 or arrays[0].size < LEAST:
        return function(*arrays)
    parts = zip(*(np.array_split(array, jobs) for array in arrays), strict=True)
    return np.concatenate(Parallel()(delayed(function)(*part) for part in parts))
