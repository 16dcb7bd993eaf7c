"""What can go wrong, one class each.

Every message says which block or argument, which value, what was expected and what to do next.
All errors derive from :class:`PriorSVMError`, all warnings from :class:`PriorSVMWarning`.
"""

from __future__ import annotations

import os
import re
import sys
import warnings
from difflib import get_close_matches
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

_HERE = os.path.join(os.path.dirname(__file__), "")


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
    ...     warn("mind the gap", PriorSVMWarning)
    >>> caught[0].message
    PriorSVMWarning('mind the gap')
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


class PriorSVMError(Exception):
    """Base of every error this library raises."""


class InvalidInput(PriorSVMError, ValueError):
    """An argument has a value that cannot be used."""


class InvalidType(PriorSVMError, TypeError):
    """An argument is of a kind that cannot be used."""


class BadRule(InvalidInput):
    """A rule that cannot be read, or that no row can satisfy; the message points at the spot."""


class NameClash(InvalidInput):
    """Two blocks of one prior claim the same name."""


class UnknownParameter(PriorSVMError, TypeError):
    """A keyword given to ``fit`` or ``fit_path`` belongs to no block."""


class MissingCapability(PriorSVMError, TypeError):
    """A block asks of the decision function what this machine does not have."""


class KernelNotPSD(InvalidInput):
    """The 2-norm machine needs a positive semidefinite kernel and did not get one."""


class TooLarge(PriorSVMError, MemoryError):
    """A matrix that has to be held at once will not fit in memory."""


class DataNotFound(PriorSVMError, FileNotFoundError):
    """A data set is neither on this machine nor to be had from a network."""


class BadFile(InvalidInput):
    """A file that is no saved model, is damaged, or holds what is not trusted; nothing in it was run."""


class SkopsNotInstalled(PriorSVMError, ImportError):
    """Models are saved and loaded by the package skops, which is not installed."""


class SolverNotInstalled(PriorSVMError, ImportError):
    """The solver that was named is not installed."""


class SolverUnsuited(InvalidInput):
    """The solver that was named cannot solve this class of problem."""


class SolverFailed(PriorSVMError, RuntimeError):
    """A solver ended without an answer, or with one its own residuals contradict."""


class Infeasible(PriorSVMError, RuntimeError):
    """No decision function satisfies every hard constraint."""


class CoverTooCoarse(PriorSVMError, RuntimeError):
    """No decision function keeps a guarantee on cells this large; the knowledge may well be consistent."""


class Unbounded(PriorSVMError, RuntimeError):
    """The objective has no lower bound: a penalty must be missing or negative."""


class NotFitted(PriorSVMError, AttributeError):
    """Something that only a fitted model has was asked of an unfitted one."""


class PriorSVMWarning(UserWarning):
    """Base of every warning this library gives."""


class InaccurateSolution(PriorSVMWarning):
    """The solver's answer is usable but its residuals exceed the tolerance asked for."""


class CollapsedModel(PriorSVMWarning):
    """A guarantee was bought with a decision function that no longer varies."""


class UnsoundMethod(PriorSVMWarning):
    """A published method was asked for that does not promise what it seems to say."""


class CoarsePolynomial(PriorSVMWarning):
    """Along a trajectory f is far from the polynomial that stands for it."""


class Recompiled(PriorSVMWarning):
    """A path could not keep its compiled problem because more than weights changed."""


class OtherVersion(PriorSVMWarning):
    """A saved model comes from another version of priorsvm."""
