"""The end of the time that a fit may take."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from math import inf
from typing import Any

from ..errors import OutOfTime


@dataclass(frozen=True)
class Deadline:
    """A moment after which a fit stops.

    It is a time of the clock, so that workers in other processes have the same end.

    Attributes
    ----------
    end : float
        Seconds of ``time.time()``; infinity without a limit.
    seconds : float
        The number of seconds that was given, for messages.
    """

    end: float = inf
    seconds: float = inf

    @classmethod
    def after(cls, seconds: float | None) -> Deadline:
        """Return the moment after so many seconds; None means never."""
        return cls() if seconds is None else cls(time.time() + seconds, seconds)

    @property
    def limited(self) -> bool:
        """Whether there is a limit."""
        return self.end < inf

    @property
    def left(self) -> float:
        """The seconds left, at least 0."""
        return max(self.end - time.time(), 0.0) if self.limited else inf

    @property
    def passed(self) -> bool:
        """Whether no time is left."""
        return self.limited and time.time() >= self.end

    def check(self) -> None:
        """Raise OutOfTime if no time is left."""
        if self.passed:
            raise OutOfTime(
                f"no answer within max_seconds={self.seconds:g}. Raise max_seconds, or use fewer rows."
            )

    def steps(self, most: int) -> Iterator[int]:
        """Yield 0 to ``most - 1``, and stop if no time is left; the first step is always taken."""
        for step in range(most):
            if step and self.passed:
                return
            yield step

    def part(self, share: float) -> Deadline:
        """Return the end of a share of the time that is left."""
        return Deadline(time.time() + share * self.left, self.seconds) if self.limited else self


NEVER = Deadline()


@contextmanager
def limited(f: Any, deadline: Deadline) -> Iterator[None]:
    """Let every evaluation of a fitted f raise OutOfTime if no time is left, inside this context.

    Searches of blocks evaluate f in every step, so that all searches end.
    """
    vars(f)["deadline"] = deadline
    try:
        yield
    finally:
        vars(f).pop("deadline", None)
