"""Rows, labels and the form of a case: an input, the class of its error, and words of the message."""

import warnings
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest

from priorsvm import PriorSVC

RNG = np.random.default_rng(0)
X = RNG.normal(size=(30, 2))
Y = (X[:, 0] + 0.5 * RNG.normal(size=30) > 0).astype(int)
WORDS = np.array(["ill", "so-so", "well"])[np.digitize(X[:, 0], [-0.5, 0.5])]
FRAME = pd.DataFrame(X, columns=["dose", "age"])


def spoiled(value, at=(3, 1)):
    """Return X with another value at one place."""
    changed = X.copy()
    changed[at] = value
    return changed


class HeavyWork(Exception):
    """Expensive work that began before the input was checked."""


class Case(NamedTuple):
    """A fit that raises an error.

    Unless the case is ``late``, the error comes before a kernel matrix, an assembled problem or a solver.
    """

    name: str
    error: type[BaseException]
    words: list[str]
    prior: Any = None
    X: Any = X
    y: Any = Y
    parameters: dict = {}
    fit: dict = {}
    late: bool = False


def svc(name, error, words, **parameters):
    """Return the case of a bad parameter of PriorSVC."""
    return Case(name, error, words, parameters=parameters)


def parametrize(table):
    """Return the mark for a test of every case; every name occurs once."""
    names = [case.name for case in table]
    assert len(set(names)) == len(names)
    return pytest.mark.parametrize("case", table, ids=names)


def check(case, request):
    """Assert that the fit raises the error, with all words in its message and notes, and leaks no warning."""
    if not case.late:
        request.getfixturevalue("no_heavy_work")
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        with pytest.raises(case.error) as caught:
            PriorSVC(case.prior, **case.parameters).fit(case.X, case.y, **case.fit)
    text = "\n".join([str(caught.value), *getattr(caught.value, "__notes__", [])])
    for word in case.words:
        assert word in text
