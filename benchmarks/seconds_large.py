"""Rows that are read in chunks from a file: memory, passes, time against reading the file, and dask workers.

Files are made in a temporary folder and removed. Each fit runs in a fresh process.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from priorsvm import PriorSVC

from .measure import Array, Row, Timing, quietly, same
from .seconds_chunks import prior

COLUMNS = 20
MEGABYTE = 1e6

# Limit of memory of the first rows, in megabytes, and its target.
LIMIT = 1000.0

# At most so many passes, and this multiple of the time of reading the file as often.
PASSES = 6
READINGS = 3.0

# Two workers take at most this share of the time of one worker. They receive the file in so many parts.
WORKERS = 0.75
PARTS = 40

# Rows that are written or read at a time.
CHUNK = 500_000


def large(quick: bool) -> Iterator[Row]:
    """Yield the rows of memory, and of passes and time."""
    few, many = (450_000, 450_000) if quick else (5_000_000, 20_000_000)
    with tempfile.TemporaryDirectory() as folder:
        for blocks in (True, False):
            found = _measured(folder, few, blocks, "limited")
            work = f"memory, file of {few} x {COLUMNS} float32, {_words(blocks)}"
            note = f"{found['memory']:.0f} : {LIMIT:.0f} MB; {found['passes']} passes"
            yield _ratio(work, "memory_limit", found["memory"] / LIMIT, 1.0, None, note)
        for blocks in (True, False):
            found = _measured(folder, many, blocks, "timed")
            work = f"file of {many} x {COLUMNS} float32, {_words(blocks)}"
            passes = found["passes"]
            yield _ratio(f"passes, {work}", "one pass", passes, PASSES, None, f"gap {found['gap']:.0e}")
            readings = passes * found["reading"]
            timing = Timing(np.array([found["seconds"]]), np.array([readings]))
            note = f"CPU and waiting for the file; {passes} passes, {found['memory']:.0f} MB"
            yield Row.of("seconds_large", work, f"{passes} readings", timing, READINGS, note=note)


def workers(quick: bool) -> Iterator[Row]:
    """Yield the row of two dask workers against one worker.

    The time is that of a computer without other work: CPU seconds of the client and of the busiest worker.
    """
    n = 450_000 if quick else 10_000_000
    with tempfile.TemporaryDirectory() as folder:
        ours, other = (_measured(folder, n, False, str(count)) for count in (2, 1))
    gap = same((ours["objective"] - other["objective"]) / other["objective"])
    timing = Timing(np.array([ours["seconds"]]), np.array([other["seconds"]]))
    note = f"client and busiest worker; by the clock {ours['wall']:.0f} : {other['wall']:.0f}"
    work = f"dask array of {n} x {COLUMNS} float32, 2 workers, {_words(False)}"
    yield Row.of("seconds_dask", work, "1 worker", timing, WORKERS, "P", gap, note)


def _words(blocks: bool) -> str:
    return "10 boxes, Monotone, class costs" if blocks else "plain"


def _ratio(work: str, peer: str, ratio: float, target: float, gap: float | None, note: str) -> Row:
    """Return a row that is not a ratio of times."""
    return Row("seconds_large", work, peer, ratio, ratio, ratio, target, "P", gap, note)


def _measured(folder: str, n: int, blocks: bool, how: str) -> dict[str, Any]:
    """Return what :func:`_fit` returns, from a fresh process."""
    _write(Path(folder), n)
    arguments = [sys.executable, "-m", "benchmarks.seconds_large", folder, str(n), str(int(blocks)), how]
    done = subprocess.run(arguments, capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def _write(folder: Path, n: int) -> None:
    """Write rows and labels, unless the folder has them."""
    if (folder / f"{n}.npy").exists():
        return
    for old in folder.iterdir():
        old.unlink()
    rng = np.random.default_rng(0)
    weights = rng.normal(size=COLUMNS) / np.sqrt(5.0)
    labels = np.empty(n, np.int8)
    with (folder / f"{n}.dat").open("wb") as file:
        for start in range(0, n, CHUNK):
            X = rng.standard_normal((min(CHUNK, n - start), COLUMNS), dtype=np.float32)
            labels[start : start + len(X)] = X @ weights + 0.4 * rng.logistic(size=len(X)) > 0.5
            X.tofile(file)
    np.save(folder / f"{n}.npy", labels)


def _fit(folder: Path, n: int, blocks: bool, how: str) -> dict[str, Any]:
    """Return the objective, passes, seconds and memory of a fit, and the seconds of reading the file.

    Seconds are CPU seconds and the time that readings from the disk wait, without other processes.
    """
    path = folder / f"{n}.dat"
    y = np.load(folder / f"{n}.npy")
    model = PriorSVC(prior(COLUMNS) if blocks else None, memory_limit=LIMIT * MEGABYTE)
    small = np.fromfile(path, np.float32, 400 * COLUMNS).reshape(400, COLUMNS)
    quietly(PriorSVC(model.prior, memory_limit="200 MB").fit, [(small, y[:400])])  # imports
    if how.isdigit():
        return _with_workers(model, path, y, int(how))
    X = np.memmap(path, np.float32, "r", shape=(n, COLUMNS))
    reading, waiting = min(_reading(path, n) for _ in range(3))
    with _Largest() as memory:
        start = time.process_time()
        quietly(model.fit, X, y)
        seconds = time.process_time() - start
    entry = model.history_[-1]
    passes = entry["passes"]
    return {
        "objective": model.objective_,
        "gap": (model.objective_ - entry["lower"]) / model.objective_,
        "passes": passes,
        "seconds": seconds + passes * waiting,
        "reading": reading,
        "memory": memory.largest,
    }


def _reading(path: Path, n: int) -> tuple[float, float]:
    """Return the seconds of reading a file from the disk in chunks as float64, and how long they wait."""
    _forget(path)
    clock = time.perf_counter()
    start = time.process_time()
    X = np.memmap(path, np.float32, "r", shape=(n, COLUMNS))
    for first in range(0, n, 20_000):
        np.asarray(X[first : first + 20_000], float)
    seconds = time.process_time() - start
    waiting = max(time.perf_counter() - clock - seconds, 0.0)
    return seconds + waiting, waiting


def _forget(path: Path) -> None:
    """Let the system drop a file from its cache."""
    with path.open("rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def _with_workers(model: PriorSVC, path: Path, y: Array, workers: int) -> dict[str, Any]:
    """Return objective and times of a fit by workers of this computer, which read the file."""
    import dask.array as da
    from dask import delayed
    from distributed import Client, LocalCluster

    n = len(y)
    sizes = np.diff(np.linspace(0, n, PARTS + 1).astype(int))
    starts = np.cumsum([0, *sizes[:-1]])
    parts = [
        da.from_delayed(delayed(_part)(path, start, size), (size, COLUMNS), np.float32)
        for start, size in zip(starts.tolist(), sizes.tolist(), strict=True)
    ]
    rows = da.concatenate(parts)
    cluster = LocalCluster(n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=None)
    with cluster, Client(cluster) as client:
        quietly(PriorSVC().fit, da.concatenate(parts[:4]), y[: sum(sizes[:4])])  # imports of the workers
        before = client.run(time.process_time)
        own = time.process_time()
        start = time.perf_counter()
        quietly(model.fit, rows, y)
        wall = time.perf_counter() - start
        own = time.process_time() - own
        busiest = max(after - before[name] for name, after in client.run(time.process_time).items())
        return {"wall": wall, "seconds": own + busiest, "objective": model.objective_}


def _part(path: Path, start: int, size: int) -> Array:
    """Return some rows of a file, on a worker."""
    found = np.fromfile(path, np.float32, size * COLUMNS, offset=4 * COLUMNS * start)
    return found.reshape(size, COLUMNS)


class _Largest:
    """The largest memory of this process in megabytes, without pages of files, which the system can drop."""

    def __enter__(self) -> _Largest:
        self.largest = 0.0
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()
        return self

    def __exit__(self, *_: Any) -> None:
        self._ended.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._ended.wait(0.005):
            status = Path("/proc/self/status").read_text(encoding="ascii")
            kilobytes = next(line for line in status.splitlines() if line.startswith("RssAnon")).split()[1]
            self.largest = max(self.largest, int(kilobytes) * 1024 / MEGABYTE)


if __name__ == "__main__":
    print(json.dumps(_fit(Path(sys.argv[1]), int(sys.argv[2]), bool(int(sys.argv[3])), sys.argv[4])))
