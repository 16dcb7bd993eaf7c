"""Refuse dense matrices that do not fit in memory."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from math import inf
from pathlib import Path

from ..errors import TooLarge


def memory() -> float:
    """Return the bytes that this process may use: of the computer, or what its own limit leaves.

    The result is infinity where the computer does not state its memory, as on Windows.
    """
    if not hasattr(os, "sysconf"):
        return inf
    physical = float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    import resource

    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    if limit == resource.RLIM_INFINITY:
        return physical
    used = 0
    with suppress(OSError):  # only Linux has this file
        used = int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    return min(physical, max(float(limit - used), 0.0))


def fits_in_memory(rows: int, columns: int, share: float = 0.5) -> bool:
    """Return whether a dense matrix takes at most this share of the memory."""
    return 8 * rows * columns <= share * memory()


def refuse_beyond_memory(rows: int, columns: int, what: str, way_out: str) -> None:
    """Raise TooLarge if a dense matrix takes more than half of the memory."""
    if not fits_in_memory(rows, columns):
        raise TooLarge(
            f"{what} would have {rows} x {columns} entries, {8 * rows * columns / 2**30:.1f} GiB of the "
            f"{memory() / 2**30:.1f} GiB that this process may use. {way_out}"
        )


def refuse_count(name: str, count: int, most: int, width: int) -> None:
    """Raise TooLarge if a parameter asks for more points than are allowed; the message has their size.

    Examples
    --------
    >>> refuse_count("points", 10**12, 10**6, 2)
    Traceback (most recent call last):
    priorsvm.errors.TooLarge: points=1e+12 would take 1.5e+04 GiB. points must be at most 1000000.
    """
    if count > most:
        counted = float(min(count, 10**200))
        size = counted * min(width, 10**50) * 8 / 2**30
        raise TooLarge(f"{name}={counted:.3g} would take {size:.2g} GiB. {name} must be at most {most}.")


@contextmanager
def refusing_beyond_memory() -> Iterator[None]:
    """Raise TooLarge in place of any other MemoryError."""
    try:
        yield
    except TooLarge:
        raise
    except MemoryError as error:
        reason = str(error).rstrip(".")
        raise TooLarge(
            f"the memory of this process is not enough{f': {reason}' if reason else ''}. Use fewer rows, or "
            "n_centres for a kernel model."
        ) from error
