"""Progress bars."""

from __future__ import annotations

import warnings
from functools import lru_cache
from typing import Any

# Seconds before a bar is shown that was not requested.
DELAY = 10.0


def progress(verbose: int, *iterable: Any, **bar: Any) -> Any:
    """Return a tqdm bar, shown at once if ``verbose``, else on a terminal after a delay.

    In a notebook with ipywidgets the bar is a widget.

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
    settings = {"disable": False} if verbose else {"disable": None, "delay": DELAY}
    return _tqdm()(*iterable, **{"leave": False, **settings, **bar})


@lru_cache(maxsize=1)
def _tqdm() -> Any:
    """Return the class of bars: of notebooks in a notebook, else of terminals."""
    with warnings.catch_warnings():
        # In a notebook without ipywidgets tqdm.auto warns, and has the bar of a terminal.
        warnings.filterwarnings("ignore", message="IProgress not found")
        from tqdm.auto import tqdm

    return tqdm
