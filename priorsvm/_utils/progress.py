"""Progress bars."""

from __future__ import annotations

from typing import Any

# Seconds before a bar is shown that was not requested.
DELAY = 10.0


def progress(verbose: int, *iterable: Any, **bar: Any) -> Any:
    """Return a tqdm bar, shown at once if ``verbose``, else on a terminal after a delay.

    Parameters
    ----------
    verbose : int
        Whether the bar is shown at once.
    *iterable, **bar
        Arguments of tqdm.

    Examples
    --------
    >>> list(progress(0, [1, 2, 3], desc="numbers"))
    [1, 2, 3]
    """
    from tqdm import tqdm

    settings = {"disable": False} if verbose else {"disable": None, "delay": DELAY}
    return tqdm(*iterable, **{"leave": False, **settings, **bar})
