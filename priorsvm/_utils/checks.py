"""Checks of arguments: numbers, flags, and what a message calls a wrong value."""

from __future__ import annotations

import math
import sys
from collections.abc import Collection
from numbers import Integral, Real
from typing import Any, TypeGuard

import numpy as np
from scipy.sparse import issparse

from ..errors import InvalidInput
from .arrays import Array

# Squares and products of larger numbers overflow.
LARGEST = 1e100


def is_number(value: object) -> TypeGuard[float]:
    """Return whether a value is a finite real number; True and False are not numbers.

    >>> is_number(0.5), is_number(True), is_number(float("nan")), is_number(10**400)
    (True, False, False, False)
    """
    if isinstance(value, bool) or not isinstance(value, Real):
        return False
    if isinstance(value, Integral) and abs(int(value)) > sys.float_info.max:
        return False
    return math.isfinite(value)


def is_whole(value: object) -> TypeGuard[int]:
    """Return whether a value is an integer by its type.

    >>> is_whole(3), is_whole(np.int64(3)), is_whole(3.0), is_whole(True)
    (True, True, False, False)
    """
    return isinstance(value, Integral) and not isinstance(value, bool)


def check_nonnegative(**values: Any) -> None:
    """Raise InvalidInput unless every value is a finite number of at least 0.

    Parameters
    ----------
    **values : object
        Name of a parameter and its value.

    Examples
    --------
    >>> from priorsvm.knowledge.checks import check_nonnegative
    >>> check_nonnegative(mu=-1.0)
    Traceback (most recent call last):
        ...
    priorsvm.errors.InvalidInput: mu must be a nonnegative number, got -1.0.
    """
    for name, value in values.items():
        if not is_number(value) or value < 0:
            raise InvalidInput(f"{name} must be a nonnegative number, got {value!r}.")


def check_flag(**values: Any) -> None:
    """Raise InvalidInput unless every value is True or False.

    Parameters
    ----------
    **values : object
        Name of a parameter and its value.

    Examples
    --------
    >>> from priorsvm.knowledge.checks import check_flag
    >>> check_flag(hard="no")
    Traceback (most recent call last):
        ...
    priorsvm.errors.InvalidInput: hard must be True or False, got 'no'.
    """
    for name, value in values.items():
        if not isinstance(value, (bool, np.bool_)):
            raise InvalidInput(f"{name} must be True or False, got {value!r}.")


def check_choice(name: str, value: Any, allowed: Collection[str]) -> None:
    """Raise InvalidInput unless a value is one of several texts.

    Parameters
    ----------
    name : str
        Name of the parameter.
    value : object
        Its value, of any type.
    allowed : collection of str
        The texts.

    Examples
    --------
    >>> check_choice("initial", "sortd", ("given", "sorted"))
    Traceback (most recent call last):
        ...
    priorsvm.errors.InvalidInput: initial must be 'given' or 'sorted', got 'sortd'.
    """
    if isinstance(value, str) and value in allowed:
        return
    listed = list(map(repr, allowed))
    words = " or ".join(listed) if len(listed) == 2 else f"one of {', '.join(listed)}"
    raise InvalidInput(f"{name} must be {words}, got {value!r}.")


def check_moderate(what: str, values: Any, advice: str) -> None:
    """Raise InvalidInput if a finite number is so large that its square overflows.

    Parameters
    ----------
    what : str
        What a message calls the numbers.
    values : array-like
        Numbers; infinite and missing ones are not checked.
    advice : str
        The way out.

    Examples
    --------
    >>> check_moderate("X", [1.0, -1e200], "Use other units.")
    Traceback (most recent call last):
        ...
    priorsvm.errors.InvalidInput: X: -1e+200 is too large. Numbers beyond 1e+100 overflow. Use other units.
    """
    values = np.asarray(values, float)
    if not values.size or (values.min() >= -LARGEST and values.max() <= LARGEST):
        return
    large = (np.abs(values) > LARGEST) & np.isfinite(values)
    if large.any():
        found = values[large][0]
        raise InvalidInput(f"{what}: {found:.4g} is too large. Numbers beyond {LARGEST:g} overflow. {advice}")


def check_unmasked(**values: Any) -> None:
    """Raise InvalidInput if an array has a mask, which arrays of numbers would lose.

    Parameters
    ----------
    **values : object
        Name of an argument and its value.

    Examples
    --------
    >>> check_unmasked(X=np.ma.array([1.0, 2.0], mask=[True, False]))
    Traceback (most recent call last):
        ...
    priorsvm.errors.InvalidInput: X is a masked array. Use X.filled(np.nan) with MissingValues(), or X.data.
    """
    for name, value in values.items():
        if isinstance(value, np.ma.MaskedArray):
            raise InvalidInput(
                f"{name} is a masked array. Use {name}.filled(np.nan) with MissingValues(), or {name}.data."
            )


def check_ordinary(**values: Any) -> None:
    """Raise InvalidInput if a parameter cannot be computed with: too large, too small, complex or masked.

    Parameters
    ----------
    **values : object
        Name of a parameter and its value. Values that are neither numbers nor arrays are not checked.

    Examples
    --------
    >>> check_ordinary(mu=1e-308)
    Traceback (most recent call last):
        ...
    priorsvm.errors.InvalidInput: mu: 1e-308 is too small. Use 0, or at least 1e-100.
    """
    for name, value in values.items():
        if isinstance(value, float) and is_number(value) and value != 0:
            check_moderate(name, value, "Use other units.")
            if abs(value) < 1 / LARGEST:
                raise InvalidInput(f"{name}: {value!r} is too small. Use 0, or at least {1 / LARGEST:g}.")
        elif isinstance(value, np.ndarray):
            check_unmasked(**{name: value})
            if np.iscomplexobj(value):
                raise InvalidInput(f"{name} contains complex numbers. Use real numbers, such as {name}.real.")
            if value.dtype.kind == "f":
                check_moderate(name, value, "Use other units.")


def dense_points(what: str, Z: Any) -> Array:
    """Return points as a float array; raise InvalidInput if they are sparse."""
    if issparse(Z):
        raise InvalidInput(f"{what} got sparse points, but this model takes dense points. Use Z.toarray().")
    return np.asarray(Z, float)


def described(value: Any) -> str:
    """Return what a message calls a value of the wrong type; a class is shown as a missing call."""
    if isinstance(value, type):
        return f"the class {value.__name__}: write {value.__name__}(...)"
    return type(value).__name__
