"""Refuse dense matrices that do not fit in memory."""

from __future__ import annotations

import os

from ..errors import TooLarge


def fits_in_memory(rows: int, columns: int, share: float = 0.5) -> bool:
    """Return whether a dense matrix takes at most this share of the memory."""
    if not hasattr(os, "sysconf"):  # not available on Windows
        return True
    return 8 * rows * columns <= share * os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def refuse_beyond_memory(rows: int, columns: int, what: str, way_out: str) -> None:
    """Raise TooLarge if a dense matrix takes more than half of the memory."""
    if not fits_in_memory(rows, columns):
        have = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        raise TooLarge(
            f"{what} would have {rows} x {columns} entries, {8 * rows * columns / 2**30:.1f} GiB of the "
            f"{have / 2**30:.1f} GiB this computer has. {way_out}"
        )
