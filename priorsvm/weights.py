r"""Choice of ``mu="auto"``: one factor for all blocks on rows, by cross-validated AUC."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from ._utils.arrays import Array
from ._utils.cache import Cache
from ._utils.row_keys import digests
from .errors import CoverTooCoarse, Infeasible, InvalidInput, PriorSVMWarning, SolverFailed, Unbounded
from .knowledge.traits import AutoWeight
from .prior import Prior, live
from .solve.loop import first_states
from .training import train
from .validation import Task, make_task

# Factors on the standard weight, in the order in which ties are decided.
FACTORS = (1.0, 0.3, 3.0, 0.0)
FOLDS = 5
# Folds of few rows are drawn again, until so many rows are tested, but not more often than REPEATS times.
TESTED = 80
REPEATS = 4
# With more rows the factor is 1 without validation.
MOST_ROWS = 1000
# What a fold may raise although the fit does not: it may lack all rows of a rule, or all values of a column.
FAILURES = (InvalidInput, Infeasible, SolverFailed, CoverTooCoarse, Unbounded)
# The share of a fold that cannot be fitted, in the score of its factor.
NO_FIT = 0.5
# Values of f that agree to so many decimals are ties: a constant f has an area of one half, up to rounding.
DECIMALS = 9


@dataclass(frozen=True)
class ChosenWeight:
    """How ``mu="auto"`` of a block was chosen.

    Attributes
    ----------
    mu : float
        The weight, as a number of rows.
    factor : float
        The factor on the standard weight.
    scores : dict of float to float
        Factor -> cross-validated AUC; empty if there was no validation.
    folds : int
        Number of folds of the validation.
    repeats : int
        How often the folds were drawn.
    """

    mu: float
    factor: float
    scores: dict[float, float]
    folds: int = 0
    repeats: int = 0

    def __str__(self) -> str:
        text = f"mu = {self.mu:.3g} rows" if self.mu > 0 else "switched off, mu = 0 rows"
        if not self.scores:
            return text
        found = ", ".join(f"{score:.3f} with {factor:g}" for factor, score in sorted(self.scores.items()))
        return f"{text}, the standard weight times {self.factor:g}; cross-validated AUC {found}"


def with_weights(model: Any, task: Task, arguments: tuple[Any, ...]) -> Task:
    """Return the task with numbers for ``mu="auto"``.

    Parameters
    ----------
    model : PriorSVC
        The model.
    task : Task
        Its checked arguments.
    arguments : tuple
        X, y, sample_weight and the dict of row parameters, as given to ``fit``.
    """
    auto = [m for m in task.prior if isinstance(m.block, AutoWeight) and m.block.mu == "auto"]
    if not auto:
        return task
    chosen = [m for m in live(auto) if m.block.needs_weight(task.spec.linear)]
    factor = 1.0
    scores: dict[float, float] = {}
    drawn = (0, 0)
    if chosen:
        repeats = [list(_folds(task, repeat)) for repeat in range(_repeats(task))]
        if repeats[0]:
            scores = _scores(model, task, arguments, repeats)
            if scores:
                drawn = (len(repeats[0]), len(repeats))
                factor = max(FACTORS, key=lambda a: round(scores[a], 12))
    return replace(task, prior=_weighted(task, factor, scores, drawn))


def _weighted(
    task: Task, factor: float, scores: dict[float, float], drawn: tuple[int, int] = (0, 0)
) -> Prior:
    """Return the blocks with numbers for ``mu="auto"``; ``drawn`` has the folds and how often."""
    linear = task.spec.linear
    on_rows = [
        m for m in live(task.prior) if isinstance(m.block, AutoWeight) and m.block.needs_weight(linear)
    ]
    count = int(np.count_nonzero(_row_weights(task)))
    blocks = []
    for name, block, _ in task.prior:
        if isinstance(block, AutoWeight) and block.mu == "auto":
            block = copy.copy(block)
            block.mu = 1.0
            if name in {m.name for m in on_rows}:
                block.mu = factor * block.standard_weight(count, len(on_rows))
                block.chosen_weight = ChosenWeight(block.mu, factor, scores, *drawn)
        blocks.append((name, block))
    return Prior(blocks, task.prior.weights)


def _row_weights(task: Task) -> Array:
    """Return the weight of each training row; a one-vs-one model has no weight on rows of other classes."""
    return np.asarray(np.max([sample.shares["svm"] for sample in task.samples], axis=0))


def _repeats(task: Task) -> int:
    """Return how often the folds are drawn: more than once for few rows, if a fit takes milliseconds."""
    rows = int(np.count_nonzero(_row_weights(task)))
    if task.spec.norm != "l2" or not all(member.block.only_rows for member in live(task.prior)):
        return 1
    return max(1, min(REPEATS, TESTED // rows))


def _folds(task: Task, repeat: int = 0) -> Iterator[Array]:
    """Yield the test rows of each fold, which depend on the content of the rows and not on their order."""
    sample = task.samples[0]
    rows = np.flatnonzero(_row_weights(task))
    labels = sample.labels[rows]
    counts = [int(np.sum(labels == label)) for label in sample.classes]
    number = min(FOLDS, *counts)
    if number < 2 or len(rows) > MOST_ROWS:
        return
    keys = _row_keys(task, rows, repeat)
    fold = np.empty(len(rows), int)
    start = 0
    for label in sample.classes:
        of_class = np.flatnonzero(labels == label)
        order = sorted(of_class.tolist(), key=keys.__getitem__)
        fold[order] = (start + np.arange(len(order))) % number
        start += len(order)
    for k in range(number):
        yield rows[fold == k]


def _row_keys(task: Task, rows: Array, repeat: int) -> list[tuple[Any, ...]]:
    """Return what some rows are ordered by: a digest of their given values, then all else that differs.

    Rows of equal keys are interchangeable: their completed values, weights and row parameters are equal.
    """
    sample = task.samples[0]
    X = sample.X_train[rows]
    gaps = None if sample.gaps is None else sample.gaps[rows]
    salt = repeat.to_bytes(1, "big")
    weight = _row_weights(task)[rows]
    parameters = [
        _rows(value, rows)
        for _, block, _ in task.prior
        for value in (getattr(block, parameter) for parameter in block.row_params)
        if _by_row(value, sample.n_train)
    ]
    entries = [np.asarray(value) for value in parameters]
    ties = [tuple(repr(entry[i].tolist()) for entry in entries) for i in range(len(rows))]
    return list(zip(digests(X, gaps, salt), weight.tolist(), ties, strict=True))


def _scores(
    model: Any, task: Task, arguments: tuple[Any, ...], repeats: list[list[Array]]
) -> dict[float, float]:
    """Return the AUC of all folds for each factor, as the mean over the repeats; empty if all folds fail."""
    found: dict[float, list[float]] = {factor: [] for factor in FACTORS}
    fitted = 0
    for folds in repeats:
        values = [_fold(model, task, arguments, test) for test in folds]
        fitted += sum(map(len, values))
        for factor in FACTORS:
            found[factor].append(_score(task, folds, [of_fold.get(factor) for of_fold in values]))
    return {factor: float(np.mean(scores)) for factor, scores in found.items()} if fitted else {}


def _score(task: Task, folds: list[Array], values: list[Array | None]) -> float:
    """Return the AUC over the rows of all folds; a fold without a model has its share of NO_FIT."""
    fitted = [(test, f) for test, f in zip(folds, values, strict=True) if f is not None]
    share = len(fitted) / len(folds)
    if not fitted:
        return NO_FIT
    rows = np.concatenate([test for test, _ in fitted])
    f = np.concatenate([f for _, f in fitted])
    area = _auc(task.samples[0].labels[rows], f, task.classes, _row_weights(task)[rows])
    return share * area + (1.0 - share) * NO_FIT


def _fold(model: Any, task: Task, arguments: tuple[Any, ...], test: Array) -> dict[float, Array]:
    """Return f at the rows of a fold for each factor; a factor without a model is left out."""
    values: dict[float, Array] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PriorSVMWarning)
        warnings.simplefilter("ignore", ConvergenceWarning)
        try:
            member, part = _without_rows(model, task, arguments, test)
            # The first states of the blocks do not depend on their weights.
            states = [first_states(part.members(sample), sample) for sample in part.samples]
        except FAILURES:
            return values
        grams = Cache()
        rows = None
        for factor in FACTORS:
            weighted = replace(part, prior=_weighted(part, factor, {}))
            try:
                binaries = train(member, weighted, states, grams, explained=False)
                member._store(weighted, binaries)
                if rows is None:
                    rows = member._checked_rows(_rows(arguments[0], test))
                values[factor] = member._scores(rows)
            except FAILURES:
                continue
    return values


def _without_rows(model: Any, task: Task, arguments: tuple[Any, ...], test: Array) -> tuple[Any, Task]:
    """Return a model and its task without the rows of a fold; ``mu="auto"`` stays."""
    X, y, sample_weight, rows = arguments
    n = task.samples[0].n_train
    weight = _row_weights(task)
    kept = np.setdiff1d(np.flatnonzero(weight), test)
    given_weight = None if sample_weight is None else weight[kept]
    given = {key: _sliced(value, kept, n) for key, value in rows.items()}
    member = copy.copy(model)
    member.prior = None
    member = clone(member)
    member.n_jobs = None
    member.verbose = 0
    if task.encoding is not None:
        member.categories = task.encoding  # a fold may lack a value that a rule names
    member.prior = _sliced_prior(task.prior, kept, n)
    return member, make_task(member, _rows(X, kept), _rows(y, kept), given_weight, given)


def _auc(labels: Array, scores: Array, classes: Array, weight: Array) -> float:
    """Return the area under the ROC curve, the mean over the classes if there are more than two."""
    scores = np.round(scores, DECIMALS)
    if scores.ndim == 1:
        return weighted_auc(labels == classes[1], scores, weight)
    columns = enumerate(classes.tolist())
    return float(np.mean([weighted_auc(labels == c, scores[:, k], weight) for k, c in columns]))


def weighted_auc(positive: Array, scores: Array, weight: Array) -> float:
    """Return the weighted share of pairs of rows that the scores order, ties counted by half."""
    rank, level = np.unique(scores, return_inverse=True)
    up = np.bincount(level, weight * positive, len(rank))
    down = np.bincount(level, weight * ~positive, len(rank))
    below = np.cumsum(down) - 0.5 * down
    return float(up @ below / (up.sum() * down.sum()))


def _sliced_prior(prior: Prior, rows: Array, n: int) -> Prior:
    """Return the blocks with the entries of some rows in parameters that have one entry per row."""
    blocks = []
    for name, block, _ in prior:
        if block.row_params:
            block = copy.copy(block)
            for parameter in block.row_params:
                setattr(block, parameter, _sliced(getattr(block, parameter), rows, n))
        blocks.append((name, block))
    return Prior(blocks, prior.weights)


def _sliced(value: Any, rows: Array, n: int) -> Any:
    """Return the entries of some rows of a row parameter; other values stay."""
    return _rows(value, rows) if _by_row(value, n) else value


def _by_row(value: Any, n: int) -> bool:
    """Return whether a parameter has one entry for each of n rows."""
    return not (value is None or callable(value) or np.ndim(value) == 0 or len(value) != n)


def _rows(X: Any, rows: Array) -> Any:
    """Return some rows of a DataFrame, an array, a sparse matrix or a list."""
    if hasattr(X, "iloc"):
        return X.iloc[rows]
    return [X[i] for i in rows] if isinstance(X, (list, tuple)) else X[rows]
