"""Grids of the parameters of transforms."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from .._utils.arrays import Array
from .._utils.checks import is_whole
from ..errors import InvalidInput
from ..function.memory import refuse_count

# Largest number of transformations in a list.
MOST = 10_000


def symmetric_values(name: str, limit: float, steps: int) -> Array:
    """Return ``steps`` values from −limit to limit, with 0 exactly among them."""
    if not (is_whole(steps) and steps >= 3 and steps % 2 == 1):
        raise InvalidInput(
            f"{name}: steps must be an odd number of at least 3, so that the grid contains the identity; got "
            f"{steps!r}. Use a number such as 3 or 5."
        )
    refuse_count(f"{name}: steps", int(steps), MOST, 1)
    half = int(steps) // 2
    return limit * np.arange(-half, half + 1) / half


def cross_grid(values: ArrayLike, q: int) -> Array:
    """Return the grid in which one of q parameters at a time takes the given values."""
    values = np.ravel(values)
    grid = np.zeros((q, len(values), q))
    for k in range(q):
        grid[k, :, k] = values
    return grid.reshape(-1, q)
