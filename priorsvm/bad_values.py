"""Messages about cells of X that are not numbers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date
from typing import Any

import numpy as np
from scipy.sparse import issparse

from .encoding import is_numeral
from .errors import InvalidInput

# A message names at most so many columns.
NAMED = 3


@contextmanager
def explaining_bad_values(X: Any, left_out: str | None = None, precomputed: bool = False) -> Iterator[None]:
    """Explain errors about missing values, text and dates in X.

    Parameters
    ----------
    X : array-like
        The rows that are checked inside the ``with`` statement.
    left_out : str or None
        Name of a block of weight 0 that would otherwise complete missing values.
    precomputed : bool
        Whether X contains values of a kernel.
    """
    try:
        yield
    except OverflowError as error:
        raise InvalidInput("X contains a number that is too large. Use other units.") from error
    except (ValueError, TypeError) as error:
        if "Complex data not supported" in str(error):
            raise InvalidInput(
                "Complex data not supported. Use the columns X.real and X.imag instead of X."
            ) from None
        if "Input X contains" not in str(error) and not issparse(X):
            message = _first_bad_cell(X)
            if message is not None:
                raise InvalidInput(message) from error
        if "Input X contains NaN" not in str(error):
            raise
        if precomputed:
            raise InvalidInput(
                "Input X contains NaN, but with kernel='precomputed' it is a kernel matrix. Give a finite "
                "value of the kernel for every pair of samples."
            ) from error
        if left_out is not None:
            raise InvalidInput(
                f"Input X contains NaN, and weight 0 leaves out block '{left_out}'. Impute X first, or set "
                "confidence=0.5 instead of the weight."
            ) from error
        raise InvalidInput(
            "Input X contains NaN. Add MissingValues() to the prior, or impute the missing values first."
            + _columns_with_gaps(X)
        ) from error


def _columns_with_gaps(X: Any) -> str:
    """Return a sentence with the first columns of X that have missing values."""
    names = getattr(X, "columns", None)
    try:
        gaps = np.isnan(np.asarray(X, dtype=float)).sum(axis=0)
    except (TypeError, ValueError):
        return ""
    some = np.flatnonzero(gaps)
    if gaps.ndim != 1 or len(some) == 0:
        return ""
    places = [
        f"{int(j) if names is None else repr(names[j])} ({gaps[j]} row{'s' if gaps[j] > 1 else ''})"
        for j in some[:NAMED]
    ]
    more = f" and {len(some) - NAMED} more" if len(some) > NAMED else ""
    return f" They are in column{'s' if len(some) > 1 else ''} {', '.join(places)}{more}."


def _first_bad_cell(X: Any) -> str | None:
    """Return a message about the first text, date, complex number or list in X, or None."""
    names = getattr(X, "columns", None)
    cells = np.asarray(X, dtype=object)
    if cells.ndim != 2:
        return None
    for j, column in enumerate(cells.T):
        place = f"column {j if names is None else names[j]!r}"
        for value in column:
            if isinstance(value, (date, np.datetime64)):
                return (
                    f"X contains dates in {place}: could not convert {value!s} to a number. Use numbers, for "
                    "example the days since the first date."
                )
            if isinstance(value, (complex, np.complexfloating)):
                return (
                    f"X contains complex numbers in {place}. Use their real and imaginary parts as two "
                    "columns."
                )
            if isinstance(value, (list, tuple, set, np.ndarray)):
                return (
                    f"X contains several values in one cell, in {place}. Use one column for each value, or "
                    "one column of numbers that summarises them."
                )
            if isinstance(value, str) and not is_numeral(value):
                advice = "Encode the column first, for example with scikit-learn's OneHotEncoder."
                if is_numeral(value.replace(",", ".", 1)):
                    advice = "For a decimal comma, use pandas.read_csv(..., decimal=',')."
                return f"X contains text in {place}: could not convert string to float: {value!r}. {advice}"
    return None
