"""Timing two peers against each other, and the checks without which a ratio means nothing."""

from __future__ import annotations

import os
import platform
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import NDArray

from priorsvm.errors import PriorSVMWarning

Array = NDArray[np.float64]

# Two answers to one problem agree to this, relative to the objective.
SAME = 1e-6


@dataclass(frozen=True)
class Timing:
    """Seconds of both peers, pair by pair."""

    ours: Array
    peer: Array

    @property
    def ratios(self) -> Array:
        return self.ours / self.peer


@dataclass(frozen=True)
class Row:
    """One line of the table. ``gap`` is relative, positive where ours is worse; P primal, D dual."""

    name: str
    work: str
    peer: str
    ratio: float
    low: float
    high: float
    target: float
    objective: str
    gap: float | None
    note: str

    @classmethod
    def of(
        cls,
        name: str,
        work: str,
        peer: str,
        timing: Timing,
        target: float,
        objective: str = "",
        gap: float | None = None,
        note: str = "",
    ) -> Row:
        ratios = timing.ratios
        seconds = f"{_seconds(timing.ours)} : {_seconds(timing.peer)}"
        return cls(
            name,
            work,
            peer,
            float(np.median(ratios)),
            float(ratios.min()),
            float(ratios.max()),
            target,
            objective,
            gap,
            f"{seconds}{'; ' if note else ''}{note}",
        )

    def as_dict(self) -> dict[str, Any]:
        return {**asdict(self), "met": self.ratio <= self.target}

    def cells(self) -> list[str]:
        gap = "-" if self.gap is None else f"{self.objective} {self.gap:.0e}"
        return [
            self.work,
            self.peer,
            f"{self.ratio:.2g} ({self.low:.2g}–{self.high:.2g})"
            if self.ratio < 0.1
            else f"{self.ratio:.2f} ({self.low:.2f}–{self.high:.2f})",
            f"≤ {self.target:g}" + ("" if self.ratio <= self.target else " missed"),
            gap,
            self.note,
        ]


HEADER = ["work", "peer", "ratio: median (min–max)", "target", "gap", "CPU seconds, ours : peer; note"]
_WIDTHS = [45, 22, 23, 12, 9, 34]


def table(rows: Iterator[Row]) -> Iterator[Row]:
    """Print every row as it comes."""

    def line(cells: Sequence[str]) -> str:
        return "| " + " | ".join(f"{cell:<{w}}" for cell, w in zip(cells, _WIDTHS, strict=True)) + " |"

    print(line(HEADER), line(["-" * w for w in _WIDTHS]), sep="\n", flush=True)
    for row in rows:
        print(line(row.cells()), flush=True)
        yield row


@contextmanager
def one_pair() -> Iterator[None]:
    """Let :func:`interleaved` run one pair only: the answers are checked, the ratio is rough."""
    global _pairs
    _pairs = 1
    try:
        yield
    finally:
        _pairs = None


_pairs: int | None = None


def interleaved(
    ours: Callable[[], Any], peer: Callable[[], Any], least: int = 5, most: int = 31, seconds: float = 4.0
) -> tuple[Timing, Any, Any]:
    """Run ours, peer, ours, peer, ...: whatever else the computer does meets both. And their last answers."""
    if _pairs is None:
        first = timed(ours)[0] + timed(peer)[0]  # not counted: imports and caches are filled here
        pairs = int(np.clip(seconds / first, least, most))
    else:
        pairs = _pairs
    times = np.empty((pairs, 2))
    for pair in times:
        pair[0], mine = timed(ours)
        pair[1], other = timed(peer)
    return Timing(times[:, 0], times[:, 1]), mine, other


def timed(function: Callable[[], Any]) -> tuple[float, Any]:
    """CPU seconds: on one thread those of a clock on an idle computer, and far steadier on a busy one."""
    start = time.process_time()
    result = function()
    return time.process_time() - start, result


def quietly(function: Callable[..., Any], *arguments: Any) -> Any:
    """Without what the library would say about the problem, which is no news here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PriorSVMWarning)
        return function(*arguments)


def dual_objective(K: Array, y: Array, alpha: Array, bound: Array) -> float:
    """Σα − ½(αy)'K(αy), of a point that has to be feasible."""
    if np.any(alpha < 0) or np.any(alpha > bound * (1 + 1e-9)) or abs(alpha @ y) > 1e-8 * alpha.sum():
        raise ArithmeticError("the dual variables violate 0 ≤ α ≤ C or y'α = 0")
    signed = alpha * y
    return finite(alpha.sum() - 0.5 * signed @ K @ signed)


def balanced(alpha: Array, y: Array, bound: Array) -> Array:
    """The nearest-by feasible point of an interior-point answer, which is feasible to its tolerance only."""
    alpha = np.clip(alpha, 0.0, bound)
    up, down = alpha[y > 0].sum(), alpha[y < 0].sum()
    return alpha * np.where(y > 0, min(1.0, down / up), min(1.0, up / down))


def primal_objective(half_square: float, scores: Array, y: Array, bound: Array) -> float:
    """½‖f‖² + Σ C_i max(0, 1 − y_i f(x_i))."""
    return finite(half_square + bound @ np.maximum(1.0 - y * scores, 0.0))


def refuse_trivial(objective: float, half_square: float, y: Array, bound: Array) -> None:
    """A problem whose answer is (almost) constant is solved by everybody at once: no benchmark."""
    all_slack = 2 * min(bound[y > 0].sum(), bound[y < 0].sum())  # f constant at the better of -1 and +1
    if not objective < 0.9 * all_slack or not half_square > 1e-6 * objective:
        raise ArithmeticError(
            f"trivial problem: J = {objective:.4g}, {all_slack:.4g} at f constant, ½‖f‖² = {half_square:.2g}"
        )


def same(gap: float) -> float:
    """The gap, if both peers solved the same problem."""
    if not abs(gap) <= SAME:
        raise ArithmeticError(f"the peers' objectives differ by {gap:.1e}, so they solved different problems")
    return gap


def finite(value: Any) -> float:
    if not np.isfinite(value):
        raise ArithmeticError(f"an objective is {value}")
    return float(value)


def _seconds(times: Array) -> str:
    return f"{np.median(times):.3g}"


def computer() -> str:
    """What the numbers below were measured on."""
    from threadpoolctl import threadpool_info

    blas = {f"{p['internal_api']} {p['version']}" for p in threadpool_info() if p["user_api"] == "blas"}
    packages = ["priorsvm", "numpy", "scipy", "scikit-learn", "cvxpy", "clarabel"]
    return (
        f"{os.cpu_count()} cores ({platform.machine()}), {', '.join(sorted(blas))}, one BLAS thread; "
        f"Python {platform.python_version()}, " + ", ".join(f"{p} {version(p)}" for p in packages)
    )
