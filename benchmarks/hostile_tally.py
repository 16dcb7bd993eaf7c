"""Counts of the attempts of one kind, and the judgement of one attempt."""

from __future__ import annotations

import signal
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from priorsvm.errors import PriorSVMError

# Wall-clock seconds after which an attempt without a limit of its own is a hang.
PATIENCE = 60


class Hang(BaseException):
    """An attempt that did not end."""


class Tally:
    """Counts of the attempts of one kind.

    Attributes
    ----------
    name : the kind of attempts.
    counts : outcome -> number of attempts.
    defects : a line for each attempt that was neither refused nor accepted.
    """

    def __init__(self, name: str):
        self.name = name
        self.counts: Counter[str] = Counter()
        self.defects: list[str] = []

    def count(self, outcome: str, what: str = "") -> None:
        """Count one attempt; ``what`` describes a defect."""
        self.counts[outcome] += 1
        if outcome not in ("refused", "accepted"):
            self.defects.append(f"{outcome}: {' '.join(what.split())}"[:300])

    def attempt(self, what: str, action: Callable[[], Any]) -> Any:
        """Run an action, count its outcome, and return its result or None."""
        result = None
        try:
            with warnings.catch_warnings(), patience(PATIENCE):
                warnings.simplefilter("ignore")
                warnings.simplefilter("error", RuntimeWarning)
                result = action()
            self.count("accepted")
        except Hang:
            self.count("hang", what)
        except Exception as error:
            clear = is_clear(error)
            self.count("refused" if clear else "raw", f"{type(error).__name__}: {error} by {what}")
        return result

    def row(self) -> dict[str, Any]:
        """Return the counts."""
        outcomes = ("refused", "accepted", "raw", "hang", "wrong")
        counted = {outcome: self.counts[outcome] for outcome in outcomes}
        return {"attack": self.name, "tries": self.counts.total(), **counted}


def is_clear(error: Exception) -> bool:
    """Return whether an error is of the library, or of scikit-learn's checks of X and y."""
    if isinstance(error, PriorSVMError):
        return True
    last = traceback.extract_tb(error.__traceback__)[-1].filename.replace("\\", "/")
    return isinstance(error, (ValueError, TypeError)) and "/sklearn/" in last


@contextmanager
def patience(limit: float) -> Iterator[None]:
    """Raise Hang after some seconds; without effect where the system has no such signal."""
    if not hasattr(signal, "setitimer"):
        yield
        return

    def stop(*_: Any) -> None:
        raise Hang

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, limit)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
