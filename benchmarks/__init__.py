"""How fast priorsvm is, as ratios to peers measured in the same run."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

# Before numpy is imported: two BLAS pools on few cores slow each other down, and with them the ratios.
os.environ["OPENBLAS_NUM_THREADS"] = os.environ["OMP_NUM_THREADS"] = "1"


def main(argv: Sequence[str] | None = None) -> list[dict[str, Any]]:
    """Measure the rows named in ``argv`` (all of them by default), print the table, return it."""
    from .run import main

    return main(argv)
