"""Linear models on many rows: CHUNKS against SCHUR and NORMAL, which use all rows, in time and in memory.

Each fit runs in a fresh process. Its memory is the largest memory of the process during the fit, less the
memory after the data were made and a small model was fitted.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer

from priorsvm import Box, ClassCosts, Monotone, Prior, PriorSVC

from .measure import Array, Row, Timing, quietly, same, timed

# At most this share of the time and of the memory.
TARGET = 0.25

# A fit of a million rows with blocks takes at most this multiple of X.
LARGEST = 8.0

MEGABYTE = 2.0**20


def drawn(n: int) -> tuple[Array, Array]:
    """Return normal rows of 20 columns with noisy classes."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 20))
    score = X @ rng.normal(size=20) / np.sqrt(5.0) + 0.4 * rng.logistic(size=n)
    return X, (score > 0.5).astype(int)


def tumours(n: int) -> tuple[Array, Array]:
    """Return rows of the breast cancer data, drawn again and again with half a deviation of noise."""
    rng = np.random.default_rng(0)
    data = load_breast_cancer()
    X = (data.data - data.data.mean(axis=0)) / data.data.std(axis=0)
    rows = rng.integers(len(X), size=n)
    return X[rows] + 0.5 * rng.normal(size=(n, X.shape[1])), data.target[rows]


def prior(d: int) -> Prior:
    """Return class costs, ten boxes and three monotone columns."""
    rng = np.random.default_rng(5)
    blocks: Any = ClassCosts({0: 1.0, 1: 3.0}) + Monotone({0: 1, 1: -1, 2: 1}, hard=True)
    for k in range(10):
        columns = rng.choice(d, 3, replace=False).tolist()
        blocks = blocks + Box(dict.fromkeys(columns, (1.0, 2.0)), k % 2, mu=50.0, holds="everywhere")
    return blocks


DATA = {"drawn": drawn, "breast cancer, drawn again": tumours}


def chunks(quick: bool) -> Iterator[Row]:
    """Yield the rows of time and of memory, and the memory of a million rows as a multiple of X."""
    cases = [("drawn", 20_000, True)]
    if not quick:
        cases = [
            ("drawn", 1_000_000, True),
            ("breast cancer, drawn again", 200_000, True),
            ("drawn", 1_000_000, False),
            ("breast cancer, drawn again", 200_000, False),
        ]
    for name, n, blocks in cases:
        peer = "SCHUR" if blocks else "NORMAL"
        ours, other = (_measured(name, n, blocks, solver) for solver in ("CHUNKS", peer))
        gap = same((ours["objective"] - other["objective"]) / other["objective"])
        what = "10 boxes, Monotone, class costs" if blocks else "plain"
        work = f"{name}, {n} x {ours['columns']}, {what}"
        timing = Timing(*(np.array([found["seconds"]]) for found in (ours, other)))
        yield Row.of("seconds_chunks", work, peer, timing, TARGET, "P", gap)
        ratio = ours["memory"] / other["memory"]
        yield _memory(f"memory, {work}", peer, ratio, TARGET, gap, ours, other)
        if blocks:
            ratio = ours["memory"] / ours["data"]
            yield _memory(f"memory, {work}", "X", ratio, LARGEST, gap, ours, {"memory": ours["data"]})


def _memory(
    work: str, peer: str, ratio: float, target: float, gap: float, ours: dict[str, Any], other: dict[str, Any]
) -> Row:
    """Return the row of a ratio of memories."""
    note = f"{ours['memory']:.0f} : {other['memory']:.0f} MB"
    return Row("seconds_chunks", work, peer, ratio, ratio, ratio, target, "P", gap, note)


def _measured(name: str, n: int, blocks: bool, solver: str) -> dict[str, Any]:
    """Return seconds, memory and objective of a fit in a fresh process."""
    arguments = [sys.executable, "-m", "benchmarks.seconds_chunks", name, str(n), str(int(blocks)), solver]
    done = subprocess.run(arguments, capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def _fit(name: str, n: int, blocks: bool, solver: str) -> dict[str, Any]:
    """Return what :func:`_measured` returns; a small model is fitted first, for imports."""
    small, labels = DATA[name](400)
    block = Box({0: (0.0, 1.0)}, 1, mu=1.0, holds="everywhere")
    quietly(PriorSVC(block, solver="SCHUR").fit, small, labels)
    X, y = DATA[name](n)
    _reset()
    before = _largest()
    model = PriorSVC(prior(X.shape[1]) if blocks else None, solver=solver)
    seconds, fitted = timed(lambda: quietly(model.fit, X, y))
    memory = max(_largest() - before, 1.0)
    found = {"seconds": seconds, "memory": memory, "objective": fitted.objective_}
    return {**found, "data": X.nbytes / MEGABYTE, "columns": X.shape[1]}


def _reset() -> None:
    """Let the largest memory of the process count from now on."""
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")


def _largest() -> float:
    """Return the largest memory of the process since the reset, in megabytes.

    The largest memory that ``getrusage`` reports includes memory of the parent process.
    """
    status = Path("/proc/self/status").read_text(encoding="ascii")
    kilobytes = next(line for line in status.splitlines() if line.startswith("VmHWM")).split()[1]
    return int(kilobytes) / 1024


if __name__ == "__main__":
    print(json.dumps(_fit(sys.argv[1], int(sys.argv[2]), bool(int(sys.argv[3])), sys.argv[4])))
