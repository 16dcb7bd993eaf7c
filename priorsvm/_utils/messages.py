"""Texts of messages, and warnings at the line of the user."""

from __future__ import annotations

import os
import re
import sys
import warnings
from contextlib import contextmanager
from contextvars import ContextVar
from difflib import get_close_matches
from typing import TYPE_CHECKING, TypeAlias
from unicodedata import combining, normalize

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

# Folder of the package. A warning points to the first line outside of it.
_PACKAGE = os.path.join(os.path.dirname(os.path.dirname(__file__)), "")
# Categories of warnings that are collected instead of issued, innermost last, with the collected warnings.
_Collected: TypeAlias = "list[tuple[str, type[Warning]]]"
_COLLECTED: ContextVar[tuple[tuple[type[Warning], _Collected], ...]] = ContextVar("collected", default=())


def readable(text: str) -> str:
    """Return a ``repr`` on one line, with the names of functions in place of their memory addresses.

    Parameters
    ----------
    text : str
        Result of ``repr``.

    Returns
    -------
    str
        The shorter text.

    Examples
    --------
    >>> readable("Call(f=<function double at 0x7f4fdb4d84a0>,\\n     times=2)")
    'Call(f=double, times=2)'
    """
    return " ".join(re.sub(r"<function (\S+) at 0x[0-9a-fA-F]+>", r"\1", text).split())


def warn(message: str, category: type[Warning]) -> None:
    """Emit a warning that points to the user's line that called the library.

    Parameters
    ----------
    message : str
        Text of the warning.
    category : type of Warning
        Class of the warning.

    Examples
    --------
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     warn("mind the gap", UserWarning)
    >>> caught[0].message
    UserWarning('mind the gap')
    """
    for wanted, collected in reversed(_COLLECTED.get()):
        if issubclass(category, wanted):
            collected.append((message, category))
            return
    frame = sys._getframe(1)
    level = 2
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame = frame.f_back
        level = level + 1
    warnings.warn(message, category, stacklevel=level)


@contextmanager
def collecting(category: type[Warning]) -> Iterator[_Collected]:
    """Collect warnings of one category instead of issuing them, so that the caller can drop or issue them.

    Parameters
    ----------
    category : type of Warning
        Class of the warnings.

    Yields
    ------
    list of tuple of (str, type of Warning)
        The messages and their categories.

    Examples
    --------
    >>> with collecting(Warning) as collected:
    ...     warn("mind the gap", UserWarning)
    >>> collected
    [('mind the gap', <class 'UserWarning'>)]
    """
    collected: _Collected = []
    token = _COLLECTED.set((*_COLLECTED.get(), (category, collected)))
    try:
        yield collected
    finally:
        _COLLECTED.reset(token)


def closest(given: object, known: Iterable[str]) -> str | None:
    """Return the known name that is most similar to a given name, or None; case and accents are ignored.

    The only known name that contains the given name as a word is more similar than all others.

    Parameters
    ----------
    given : object
        The name that does not exist.
    known : iterable of str
        The names that exist.

    Returns
    -------
    str or None
        The most similar name.

    Examples
    --------
    >>> closest("clarabell", ["HIGHS", "CLARABEL"])
    'CLARABEL'
    >>> closest("crp", ["dosage", "CRP (mg/l)"])
    'CRP (mg/l)'
    """
    plain = {_plain(name): name for name in known}
    wanted = _plain(str(given))
    # ColumnTransformer writes "step__column".
    word = re.compile(rf"(?:(?<!\w)|(?<=__)){re.escape(wanted)}(?!\w)")
    found = [name for name in plain if word.search(name)] if wanted else []
    if len(found) != 1:
        found = get_close_matches(wanted, plain, n=1)
    return plain[found[0]] if found else None


def _plain(name: str) -> str:
    """Return a name in small letters without accents."""
    return "".join(c for c in normalize("NFD", name.lower()) if not combining(c))


def did_you_mean(given: object, known: Iterable[str]) -> str:
    """Return the sentence "Did you mean ...?" after a space, or "" if no known name is similar.

    Parameters
    ----------
    given : object
        The name that does not exist.
    known : iterable of str
        The names that exist.

    Returns
    -------
    str
        The sentence.

    Examples
    --------
    >>> did_you_mean("alcohl", ["alcohol", "proline"])
    " Did you mean 'alcohol'?"
    """
    name = closest(given, known)
    return "" if name is None else f" Did you mean {name!r}?"


def one_of(names: Collection[str], given: object) -> str:
    """Return the end of a message about an unknown name: the valid names and the nearest one."""
    return f"expected one of {', '.join(map(repr, names))}.{did_you_mean(given, names)}"
