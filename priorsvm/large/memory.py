"""Limits of memory: how many rows are read at a time, and how many rows a smaller problem may have."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .._utils.checks import is_number
from ..errors import InvalidInput, TooLarge
from .sources import RowSource

# Share of the free memory that a fit may take by default, and the limit if the free memory is not known.
SHARE = 0.5
UNKNOWN = 2.0e9

# Shares of the limit for chunks and for smaller problems. The rest is for the drawn rows and the libraries.
# Partitions of dask are loaded whole, before they are divided into chunks.
FOR_CHUNKS = 0.25
FOR_PARTITIONS = 0.25
FOR_PROBLEM = 0.5

# Numbers that are held for each entry of a chunk, and for each entry of a smaller problem with terms of
# blocks (SCHUR) and without (NORMAL).
OF_CHUNK = 4
OF_PROBLEM = 12
OF_PROBLEM_WITH_TERMS = 40

# Numbers for each row besides its entries.
OF_ROW = 12

# The fewest rows of a chunk and of a smaller problem.
FEWEST = 1000

# Rows read at a time. Chunks of 20 columns are then in the cache of the processor.
MOST_ROWS = 20_000

_UNITS = {"B": 1.0, "KB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12}


@dataclass(frozen=True)
class MemoryPlan:
    """Limits of a fit.

    Attributes
    ----------
    limit : bytes.
    size : rows read at a time.
    most : rows of a smaller problem.
    """

    limit: float
    size: int
    most: int


def limit_of(memory_limit: Any) -> float:
    """Return the parameter ``memory_limit`` in bytes; raise InvalidInput for a value that is not allowed.

    Examples
    --------
    >>> limit_of("1.5 GB")
    1500000000.0
    """
    if memory_limit is None:
        return SHARE * free_memory()
    if is_number(memory_limit) and memory_limit > 0:
        return float(memory_limit)
    found = (
        re.fullmatch(r"\s*(\d+\.?\d*)\s*([kKMGT]?B)\s*", memory_limit)
        if isinstance(memory_limit, str)
        else None
    )
    if found is None or float(found[1]) == 0:
        raise InvalidInput(
            f"memory_limit must be None, a positive number of bytes or a text such as '2 GB', got "
            f"{memory_limit!r}."
        )
    return float(found[1]) * _UNITS[found[2].upper()]


def free_memory() -> float:
    """Return the free memory in bytes, or a small number if it is not known."""
    try:
        from psutil import virtual_memory

        return float(virtual_memory().available)
    except ImportError:
        pass
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        return 1024.0 * next(int(line.split()[1]) for line in lines if line.startswith("MemAvailable"))
    except (OSError, StopIteration, ValueError):
        return UNKNOWN / SHARE


def planned(source: RowSource, memory_limit: Any, with_terms: bool, verbose: int = 0) -> MemoryPlan:
    """Return the limits of a fit, and print them if ``verbose``.

    Raises
    ------
    TooLarge
        If the limit is too small for the columns, or for a partition of dask.
    """
    limit = limit_of(memory_limit)
    entries = source.n_features + OF_ROW
    of_chunk = entries * (8 * OF_CHUNK + source.itemsize)
    of_problem = 8 * entries * (OF_PROBLEM_WITH_TERMS if with_terms else OF_PROBLEM)
    share = source.share_of_thread(limit, memory_limit is not None)
    size = min(int(FOR_CHUNKS * share / of_chunk), MOST_ROWS)
    most = int(FOR_PROBLEM * limit / of_problem)
    if min(size, most) < FEWEST:
        needed = FEWEST * max(of_chunk / FOR_CHUNKS * limit / share, of_problem / FOR_PROBLEM)
        raise TooLarge(
            f"memory_limit is {in_words(limit)}, but a fit of {source.n_features} columns needs at least "
            f"{in_words(needed)}. Raise memory_limit, or use fewer columns."
        )
    source.require_parts(FOR_PARTITIONS * share)
    if verbose:
        rows = "all rows" if source.n_rows is None else f"{source.n_rows} rows"
        print(
            f"priorsvm reads {rows} with {source.n_features} columns in chunks, and takes at most "
            f"{in_words(limit)} of memory (memory_limit): {size} rows at a time, smaller problems of at most "
            f"{most} rows.",
            file=sys.stderr,
        )
    return MemoryPlan(limit, size, most)


def in_words(size: float) -> str:
    """Return a number of bytes with its unit.

    Examples
    --------
    >>> in_words(1.5e9)
    '1.5 GB'
    """
    unit = next(name for name in ("TB", "GB", "MB", "KB", "B") if size >= _UNITS[name] or name == "B")
    return f"{size / _UNITS[unit]:.3g} {unit}"
