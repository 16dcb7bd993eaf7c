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


def single_threaded() -> Any:
    """Return a context with one BLAS thread: two pools on two cores made a dense solve 20 times slower."""
    # Solvers load BLAS libraries of their own, so the search is repeated once cvxpy is imported.
    return _controller("cvxpy" in sys.modules).limit(limits=1, user_api="blas")


@lru_cache(maxsize=2)
def _controller(with_cvxpy: bool) -> Any:
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
