"""Power of the checks of rules against the rows: what they find, and how often they warn without a cause.

``python -m benchmarks.rules --checks`` measures it and writes the table of the page *Does it help?*.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from sklearn.model_selection import train_test_split

from priorsvm import Monotone, PriorSVC, Rule
from priorsvm.errors import AgainstData, DirectionAgainstData, FarFromData
from priorsvm.knowledge.base import Knowledge
from priorsvm.validation import make_task

from .measure import Array
from .rule_tables import Stated, StudyTable

# Factors between units: millimetres and centimetres, months and years, mg/dl and mmol/l of glucose, inches,
# pounds, grams and kilograms.
UNITS = (10.0, 12.0, 18.0, 2.54, 0.4536, 1000.0)
# A rule of one comparison with a number.
COMPARISON = re.compile(r"(\w+) (<=|>=|<|>) ([0-9.]+)")


@dataclass(frozen=True)
class Check:
    """How often a check warned.

    Attributes
    ----------
    name : str
        What was checked.
    warned : int
        Number of warnings.
    tried : int
        Number of trials.
    """

    name: str
    warned: int
    tried: int


def messages(block: Knowledge, X: Array, y: Array, category: type[Warning]) -> list[str]:
    """Return the warnings of one category for a block and some rows."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        make_task(PriorSVC(block, kernel="rbf", scale="standard"), X, y, None, {})
    return [str(warning.message) for warning in caught if issubclass(warning.category, category)]


def of_rows(study: StudyTable, X: Array, y: Array) -> Iterator[tuple[str, bool]]:
    """Yield what was checked and whether there was a warning, for the rules and directions of a table."""
    for name, rules in (("right rule", study.right), ("reversed rule", study.rules["reversed"])):
        for rule in rules:
            block = Rule(rule.text, rule.label, columns=study.columns)
            yield name, bool(messages(block, X, y, AgainstData))
    for column, sign in study.directions.items():
        for name, direction in (("right direction", sign), ("reversed direction", -sign)):
            block = Monotone({study.columns.index(column): direction})
            yield name, bool(messages(block, X, y, DirectionAgainstData))
    for rule in study.right:
        yield "units as in the data", _warns_of_units(rule, study, X, y)
        for factor in (*UNITS, *(1.0 / factor for factor in UNITS)):
            wrong = in_other_units(rule, study, factor)
            if wrong is None:
                continue
            block = Rule(wrong.text, wrong.label, columns=study.columns)
            found = messages(block, X, y, FarFromData)
            yield "other units", bool(found)
            if found:
                yield "other units, right factor first", named_first(found[0], factor)


def _warns_of_units(rule: Stated, study: StudyTable, X: Array, y: Array) -> bool:
    block = Rule(rule.text, rule.label, columns=study.columns)
    return bool(messages(block, X, y, FarFromData))


def in_other_units(rule: Stated, study: StudyTable, factor: float) -> Stated | None:
    """Return a rule with its threshold multiplied; None without a threshold of a measured column."""
    found = COMPARISON.fullmatch(rule.text)
    if found is None:
        return None
    column, comparison, threshold = found.groups()
    measured = len(np.unique(study.X[:, study.columns.index(column)])) > 2
    if not measured or float(threshold) == 0:
        return None
    return Stated(f"{column} {comparison} {float(threshold) * factor:.6g}", rule.label)


def named_first(message: str, factor: float) -> bool:
    """Return whether a warning names the factor that undoes another one before any other factor."""
    found = re.search(r"The threshold (times|divided by) ([0-9.]+)", message)
    if found is None:
        return False
    word, number = found.groups()
    named = float(number) if word == "times" else 1.0 / float(number)
    return bool(np.isclose(named * factor, 1.0, rtol=1e-3))


def checked(studies: Sequence[StudyTable], n: int, draws: int) -> list[Check]:
    """Return how often each check warned with n training rows."""
    found: dict[str, list[bool]] = {}
    for study in studies:
        if len(study.y) <= n + 1:
            continue
        for seed in range(draws):
            rows, _ = train_test_split(
                np.arange(len(study.y)), train_size=n, stratify=study.y, random_state=seed
            )
            for name, warned in of_rows(study, study.X[rows], study.y[rows]):
                found.setdefault(name, []).append(warned)
    return [Check(name, int(np.sum(flags)), len(flags)) for name, flags in found.items()]
