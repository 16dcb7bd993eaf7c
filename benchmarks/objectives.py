"""Objectives of another version of priorsvm and of this one: ``python -m benchmarks.objectives``.

git worktree add /tmp/before b1b68d4
PRIORSVM_DATA=folder python -m benchmarks.objectives /tmp/before            # all groups
PRIORSVM_DATA=folder python -m benchmarks.objectives /tmp/before small moving --limit 60 --write
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from . import record
from .measure import SAME, computer
from .objective_cells import GROUPS

ROOT = Path(__file__).parents[1]


def solved_by(folder: str | Path, group: str, limit: float) -> list[dict[str, Any]]:
    """Return the answers of the package in a folder to the problems of a group."""
    command = [sys.executable, "-m", "benchmarks.objective_cells", str(folder), group, str(limit)]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False)
    return [json.loads(line) for line in done.stdout.splitlines()]


def compared(group: str, before: list[dict[str, Any]], after: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the counts of a group, and the names of the problems whose objective is higher."""
    old = {cell["cell"]: cell for cell in before}
    counts = {"lower": 0, "equal": 0, "higher": 0, "unsolved before": 0, "unsolved": 0}
    seconds = [0.0, 0.0]
    worse = []
    for cell in after:
        other = old.get(cell["cell"], {})
        if "objective" not in cell:
            counts["unsolved"] += 1
            continue
        if "objective" not in other:
            counts["unsolved before"] += 1
            continue
        seconds[0] += other["seconds"]
        seconds[1] += cell["seconds"]
        gap = (cell["objective"] - other["objective"]) / max(abs(other["objective"]), 1e-12)
        kind = "equal" if abs(gap) <= SAME else "higher" if gap > 0 else "lower"
        counts[kind] += 1
        if kind == "higher":
            violated = [f"{max(-part['least'], 0.0):.0e}" for part in (other, cell) if "least" in part]
            because = f", violated by {' : '.join(violated)}" if len(violated) == 2 else ""
            worse.append(f"{cell['cell']}: {gap:+.0e}{because}")
    speed = f"{seconds[0]:.3g} : {seconds[1]:.3g}"
    return {"group": group, **counts, "seconds": speed, "worse": "; ".join(worse)}


def main(argv: Sequence[str] | None = None) -> None:
    """Compare the objectives, and print each group as it ends."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.objectives", description=__doc__)
    parser.add_argument("folder", help="root of another version, for example a git worktree")
    parser.add_argument("groups", nargs="*", help=f"{', '.join(GROUPS)} (default: all)")
    parser.add_argument("--limit", type=float, default=120.0, help="CPU seconds of one fit (default: 120)")
    parser.add_argument("--write", action="store_true", help="update docs/evidence")
    arguments = parser.parse_args(argv)
    unknown = sorted(set(arguments.groups) - set(GROUPS))
    if unknown:
        parser.error(f"no such group: {', '.join(unknown)}. The groups are: {', '.join(GROUPS)}.")
    if not (Path(arguments.folder) / "priorsvm").is_dir():
        parser.error(f"{arguments.folder} has no folder priorsvm. Name the root of another version.")
    folder = Path(arguments.folder).resolve()
    rows = []
    for group in arguments.groups or GROUPS:
        both = [solved_by(part, group, arguments.limit) for part in (folder, ROOT)]
        rows.append(compared(group, *both))
        print(rows[-1], flush=True)
    if arguments.write:
        known = {row["group"]: row for row in record.load()["objectives"]}
        known |= {row["group"]: row for row in rows}
        record.save("objectives", list(known.values()), computer())


if __name__ == "__main__":
    main()
