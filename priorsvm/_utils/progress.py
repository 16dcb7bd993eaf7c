"""How far something is that takes long."""

from __future__ import annotations

from typing import Any

# So many seconds of silence are enough.
PATIENCE = 10.0


def progress(verbose: int, *iterable: Any, **bar: Any) -> Any:
    """A bar at once if asked for; else, on a terminal, once it takes long.

    Parameters
    ----------
    verbose : whether it was asked for
    iterable, bar : what tqdm takes

    Examples
    --------
    >>> list(progress(0, [1, 2, 3], desc="numbers"))
    [1, 2, 3]
    """
    from tqdm import tqdm

    shown = {"disable": False} if verbose else {"disable": None, "delay": PATIENCE}
    return tqdm(*iterable, **shown, leave=False, **bar)
