"""What can go wrong, one class each.

Every message says which block or argument, which value, what was expected and what to do next.
All errors derive from :class:`PriorSVMError`, all warnings from :class:`PriorSVMWarning`.
"""

from __future__ import annotations


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


class FarFromData(PriorSVMWarning):
    """A rule speaks of values so far from all data that its units may be others."""


class AgainstData(PriorSVMWarning):
    """Most training rows in a rule's region are of another class, or all rows of all classes lie in it."""


class CoarsePolynomial(PriorSVMWarning):
    """Along a trajectory f is far from the polynomial that stands for it."""


class Recompiled(PriorSVMWarning):
    """A path could not keep its compiled problem because more than weights changed."""


class OtherVersion(PriorSVMWarning):
    """A saved model comes from another version of priorsvm."""
