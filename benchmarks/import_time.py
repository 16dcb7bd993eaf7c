"""``import priorsvm`` against ``import cvxpy``, each in an interpreter of its own."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

import numpy as np

from .measure import Row, Timing

TARGET = 0.2
HEAVY = ("cvxpy", "matplotlib", "sklearn", "scipy")


def imports(quick: bool) -> Iterator[Row]:
    pairs = 1 if quick else 9
    seconds("import priorsvm, cvxpy")  # bytecode and the disk's cache
    times = np.array([[seconds("import priorsvm"), seconds("import cvxpy")] for _ in range(pairs)])
    first = min(seconds("from priorsvm import PriorSVC") for _ in range(pairs))
    best = Timing(times[:, 0], times[:, 1])
    note = f"best {times[:, 0].min():.2g} : {times[:, 1].min():.2g}; PriorSVC itself {first:.2g}"
    yield Row.of("import", "import priorsvm", "import cvxpy", best, TARGET, note=note)


def seconds(statement: str) -> float:
    """How long the statement takes in a fresh interpreter, without the interpreter's own start."""
    code = f"import sys, time; t = time.perf_counter(); {statement}; print(time.perf_counter() - t)"
    if statement == "import priorsvm":
        code += f"; assert not sys.modules.keys() & set({HEAVY!r}), 'import priorsvm has become heavy'"
    return float(subprocess.run([sys.executable, "-c", code], check=True, capture_output=True).stdout)
