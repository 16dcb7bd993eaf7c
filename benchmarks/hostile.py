"""Attempts to break the library: ``python -m benchmarks hostile``.

Four kinds of attempts are counted: bad inputs, changed files, interrupts and limits of time and memory. An
attempt is refused by an error of the library, or accepted. Anything else is a defect: an error of another
class or a RuntimeWarning (raw), a fit that does not end (hang), or a result that is silently wrong.
"""

from __future__ import annotations

from typing import Any

from .hostile_files import files
from .hostile_inputs import inputs
from .hostile_interrupts import interrupts
from .hostile_limits import seconds, sizes
from .hostile_tally import Tally

ATTACKS = {
    "bad parameters and arguments": inputs,
    "changed files": files,
    "interrupts of fit": interrupts,
    "max_seconds": seconds,
    "sizes beyond memory": sizes,
}


def hostile(quick: bool) -> list[dict[str, Any]]:
    """Return a row of counts for each kind of attempt."""
    rows = []
    for name, attack in ATTACKS.items():
        tally = Tally(name)
        attack(tally, quick)
        row = tally.row()
        print("  ".join(f"{key} {value}" for key, value in row.items()), flush=True)
        for defect in tally.defects:
            print(f"    {defect}", flush=True)
        rows.append(row)
    print()
    return rows
