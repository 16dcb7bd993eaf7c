"""Limits on the threads of BLAS libraries."""

from __future__ import annotations

import sys
from functools import lru_cache
from typing import Any


def single_threaded() -> Any:
    """Return a context with one BLAS thread: two pools on two cores made a dense solve 20 times slower."""
    # Solvers load BLAS libraries of their own, so the search is repeated once cvxpy is imported.
    return _controller("cvxpy" in sys.modules).limit(limits=1, user_api="blas")


@lru_cache(maxsize=2)
def _controller(with_cvxpy: bool) -> Any:
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
