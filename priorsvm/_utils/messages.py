"""Words for messages and titles, and to whom they are said."""

from __future__ import annotations

import os
import re
import sys
import warnings
from contextlib import contextmanager
from contextvars import ContextVar
from difflib import get_close_matches
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

# The folder of the package: a warning belongs to the first line outside of it.
_HERE = os.path.join(os.path.dirname(os.path.dirname(__file__)), "")
# A category of warnings that is kept back, and those that came.
_HELD: ContextVar[tuple[type[Warning], list[str]] | None] = ContextVar("held", default=None)


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

    Examples
    --------
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     warn("mind the gap", UserWarning)
    >>> caught[0].message
    UserWarning('mind the gap')
    """
    held = _HELD.get()
    if held is not None and issubclass(category, held[0]):
        held[1].append(message)
        return
    frame = sys._getframe(1)
    level = 2
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_HERE):
        frame = frame.f_back
        level = level + 1
    warnings.warn(message, category, stacklevel=level)


@contextmanager
def holding(category: type[Warning]) -> Iterator[list[str]]:
    """Keep back what :func:`warn` has to say of one category, for someone who may know better.

    Parameters
    ----------
    category : class of the warnings

    Examples
    --------
    >>> with holding(UserWarning) as messages:
    ...     warn("mind the gap", UserWarning)
    >>> messages
    ['mind the gap']
    """
    messages: list[str] = []
    token = _HELD.set((category, messages))
    try:
        yield messages
    finally:
        _HELD.reset(token)


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
