"""Limits on the threads of BLAS libraries, and on what a thread may use."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from typing import Any

_WITHOUT_CVXPY: ContextVar[bool] = ContextVar("without_cvxpy", default=False)


class CvxpyNeeded(Exception):
    """CVXPY, which is not thread-safe, is needed in a thread."""


@contextmanager
def without_cvxpy() -> Iterator[None]:
    """Raise CvxpyNeeded where a problem would be assembled in CVXPY."""
    token = _WITHOUT_CVXPY.set(True)
    try:
        yield
    finally:
        _WITHOUT_CVXPY.reset(token)


def require_cvxpy_allowed() -> None:
    """Raise CvxpyNeeded inside ``without_cvxpy``."""
    if _WITHOUT_CVXPY.get():
        raise CvxpyNeeded


@contextmanager
def single_threaded() -> Iterator[None]:
    """Use one BLAS thread: two pools on two cores made a dense solve 20 times slower."""
    # Solvers load BLAS libraries of their own, so the search is repeated once cvxpy is imported.
    libraries = _libraries("cvxpy" in sys.modules)
    threads = [library.num_threads for library in libraries]
    changed = [pair for pair in zip(libraries, threads, strict=True) if pair[1] != 1]
    for library, _ in changed:
        library.set_num_threads(1)
    try:
        yield
    finally:
        for library, count in changed:
            library.set_num_threads(count)


@lru_cache(maxsize=2)
def _libraries(with_cvxpy: bool) -> Any:
    """Return the BLAS libraries that are loaded."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController().select(user_api="blas").lib_controllers
