"""Things that are dear to make and asked for again: kernel matrices and their factors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
from scipy.sparse import issparse


def equal(a: Any, b: Any) -> bool:
    """Whether two parameters are the same: arrays, estimators and lists of them by what they hold."""
    if a is b:
        return True
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return isinstance(a, np.ndarray) and isinstance(b, np.ndarray) and np.array_equal(a, b)
    if type(a) is not type(b):
        return False
    if issparse(a):
        return bool(a.shape == b.shape and (a != b).nnz == 0)
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(equal(x, y) for x, y in zip(a, b, strict=True))
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(equal(a[k], b[k]) for k in a)
    if is_dataclass(a):
        return all(equal(getattr(a, field.name), getattr(b, field.name)) for field in fields(a))
    if hasattr(a, "get_params"):
        return equal(a.get_params(), b.get_params())
    if hasattr(a, "equals"):  # a DataFrame or a Series
        return bool(a.equals(b))
    try:
        return bool(a == b)
    except (TypeError, ValueError):  # no single truth
        return False


class Cache:
    """Remembers the first thing it made, which belongs to the training rows, and the last."""

    def __init__(self) -> None:
        self.entries: list[tuple[tuple[Any, ...], Any]] = []

    def get(self, key: tuple[Any, ...], make: Callable[[], Any]) -> Any:
        """What was made for an equal key, or what ``make`` makes now."""
        for known, value in self.entries:
            if equal(known, key):
                return value
        del self.entries[1:]
        self.entries.append((key, make()))
        return self.entries[-1][1]
