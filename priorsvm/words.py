"""Words for messages and titles, and to whom they are said."""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Iterable
from difflib import get_close_matches
from pathlib import Path

_HERE = str(Path(__file__).parent)


def readable(text: str) -> str:
    """On one line, with functions by name: their place in memory says nothing, and is never the same.

    Parameters
    ----------
    text : str
        What ``repr`` says of something.

    Examples
    --------
    >>> readable("Call(f=<function double at 0x7f4fdb4d84a0>,\\n     times=2)")
    'Call(f=double, times=2)'
    """
    return " ".join(re.sub(r"<function (\S+) at 0x[0-9a-fA-F]+>", r"\1", text).split())


def warn(message: str, category: type[Warning]) -> None:
    """Warn at the line that called the library, whichever of its own lines found the reason.

    Parameters
    ----------
    message : str
    category : class of the warning
    """
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_HERE):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


def closest(given: object, known: Iterable[str]) -> str | None:
    """Which of the names that there are was meant, if one is near; upper and lower case are the same.

    Parameters
    ----------
    given : what was written
    known : names that there are

    Examples
    --------
    >>> closest("clarabell", ["HIGHS", "CLARABEL"])
    'CLARABEL'
    """
    lower = {name.lower(): name for name in known}
    found = get_close_matches(str(given).lower(), lower, n=1)
    return lower[found[0]] if found else None


def did_you_mean(given: object, known: Iterable[str]) -> str:
    """The sentence, with a space before it; empty if no name is near.

    Parameters
    ----------
    given : what was written
    known : names that there are

    Examples
    --------
    >>> did_you_mean("alcohl", ["alcohol", "proline"])
    " Did you mean 'alcohol'?"
    """
    name = closest(given, known)
    return "" if name is None else f" Did you mean {name!r}?"
