r"""Choice of ``mu="auto"``: one factor for all blocks on rows, by cross-validated AUC.

One factor for all blocks is chosen, because four fits for each fold are affordable and a grid for each block
is not. ``"auto"`` is replaced by a number before training.
"""

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
from ._utils.messages import warn
from ._utils.row_keys import digests, name_order
from .errors import (
    CoverTooCoarse,
    Infeasible,
    InvalidInput,
    OutOfTime,
    PriorSVMWarning,
    SolverFailed,
    SwitchedOff,
    Unbounded,
)
from .knowledge.traits import AutoWeight
from .prior import Member, Prior, live
from .solve.loop import first_states
from .training import train
from .validation import Task, make_task

# Factors on the standard weight, in the order in which ties are decided.
FACTORS = (1.0, 0.3, 3.0, 0.0)
FOLDS = 5
# Folds of few rows are drawn again, until so many rows are tested, but not more often than REPEATS times.
TESTED = 80
REPEATS = 4
# With more rows, and with rows that are read in chunks, the factor is 1 without validation.
MOST_ROWS = 1000
# What a fold may raise although the fit does not: it may lack all rows of a rule, or all values of a column.
FAILURES = (InvalidInput, Infeasible, SolverFailed, CoverTooCoarse, Unbounded)
# The share of a fold that cannot be fitted, in the score of its factor.
NO_FIT = 0.5
# Values of f that agree to so many decimals are ties: a constant f has an area of one half, up to rounding.
DECIMALS = 9
# Share of max_seconds that the validation may take.
SHARE = 0.5
# Prior guess of the AUC: one half without rules, and so much above the AUC of the rules alone with them.
TRUST = 0.05
# Standard deviation of the AUC around this guess.
SPREAD = 0.1


@dataclass(frozen=True)
class ChosenWeight:
    r"""How ``mu="auto"`` of a block was chosen.

    The factor has the largest AUC after shrinkage, :math:`(1 - r) A_a + r g_a`. :math:`A_a` is the
    cross-validated AUC with the factor a. The guess is :math:`g_a = 1/2 + \min(a, 1) (B - 1/2 + 0.05)`, with
    the AUC of the rules alone B. Its share is :math:`r = v / (v + 0.1^2)`, with the variance v of an AUC.

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
    alone : float or None
        AUC of the rules alone at the training rows; None if the blocks assign no classes to rows.
    share : float
        Share of the guess in the AUC after shrinkage, between 0 and 1.
    own : float or None
        AUC of this block alone at the training rows. Below one half, the rows contradict the block. None if
        the block assigns no classes to rows, or the rows are read in chunks.
    """

    mu: float
    factor: float
    scores: dict[float, float]
    folds: int = 0
    repeats: int = 0
    alone: float | None = None
    share: float = 0.0
    own: float | None = None

    def __str__(self) -> str:
        text = f"mu = {self.mu:.3g} rows" if self.mu > 0 else "switched off, mu = 0 rows"
        if self.own is not None and self.own != self.alone:  # with one rule, both are the same number
            text = f"AUC of this rule alone {self.own:.3f}; {text}"
        if not self.scores:
            return text
        return f"{text}, {self.choice}"

    @property
    def choice(self) -> str:
        """How the weight was chosen, in words; empty if there was no validation."""
        return f"the standard weight times {self.factor:g}; {self.reason}" if self.scores else ""

    @property
    def reason(self) -> str:
        """The scores in words."""
        found = _listed(self.scores)
        if self.alone is None:
            return f"cross-validated AUC {found}"
        return f"cross-validated AUC {found}; AUC of the rules alone {self.alone:.3f}, share {self.share:.2f}"

    @property
    def warnings(self) -> tuple[str, ...]:
        """A text if the weight is 0."""
        if self.factor > 0:
            return ()
        decided = "" if self.alone is None else f"AUC after shrinkage {_listed(self.shrunken)}; "
        return (f"mu='auto' chose the weight 0: {decided}{self.reason}. Give a number as mu to overrule.",)

    @property
    def shrunken(self) -> dict[float, float]:
        """Factor -> AUC after shrinkage towards the guess."""
        if self.alone is None:
            return self.scores
        above = self.alone - 0.5 + TRUST
        return {
            factor: (1.0 - self.share) * score + self.share * (0.5 + min(factor, 1.0) * above)
            for factor, score in self.scores.items()
        }


def _listed(scores: dict[float, float]) -> str:
    """Return the score with each factor in words."""
    return ", ".join(f"{score:.3f} with {factor:g}" for factor, score in sorted(scores.items()))


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
    found = ChosenWeight(1.0, 1.0, {})
    if chosen:
        repeats = [list(_folds(task, repeat)) for repeat in range(_repeats(task))]
        if repeats[0]:
            found = _chosen(model, task, arguments, repeats, chosen)
    for text in found.warnings:
        names = ", ".join(f"'{m.name}'" for m in chosen)
        warn(f"switched off {names}: {text}", SwitchedOff)
    return replace(task, prior=_weighted(task, found, areas=task.large is None))


def _chosen(
    model: Any, task: Task, arguments: tuple[Any, ...], repeats: list[list[Array]], chosen: list[Member]
) -> ChosenWeight:
    """Return the choice by validation, or the factor 1 if it takes more than its share of ``max_seconds``."""
    limited = task.until(task.spec.deadline.part(SHARE))
    try:
        return _choice(_scores(model, limited, arguments, repeats), repeats, task, chosen)
    except OutOfTime:
        warn(
            f"mu='auto' is the standard weight: its validation takes more than {SHARE:.0%} of "
            f"max_seconds={task.spec.deadline.seconds:g}. Raise max_seconds, or give a number as mu.",
            ConvergenceWarning,
        )
        return ChosenWeight(1.0, 1.0, {})


def _choice(
    scores: dict[float, float], repeats: list[list[Array]], task: Task, chosen: list[Member]
) -> ChosenWeight:
    """Return the factor with the largest AUC after shrinkage, the first of ``FACTORS`` in a tie."""
    if not scores:
        return ChosenWeight(1.0, 1.0, {})
    alone = _rules_alone(task, chosen)
    share = 0.0
    if alone is not None:
        variance = _variance(task, float(np.mean(list(scores.values()))))
        share = variance / (variance + SPREAD**2)
    found = ChosenWeight(1.0, 1.0, scores, len(repeats[0]), len(repeats), alone, share)
    shrunken = found.shrunken
    return replace(found, factor=max(FACTORS, key=lambda a: round(shrunken[a], 12)))


def _rules_alone(task: Task, chosen: list[Member]) -> float | None:
    """Return the AUC of the rules without a model, or None if no block assigns classes to rows.

    The score of a row is the number of blocks that assign the class to it, minus the number of blocks that
    assign another class. No label of a row has an influence on it. The mean over the binary models counts.
    """
    areas = []
    for sample in task.samples if len(task.samples) > 1 or len(task.classes) == 2 else []:
        signs = [m.block.row_classes(sample) for m in chosen if m.block.applies(sample)]
        known = [of_block for of_block in signs if of_block is not None]
        if known:
            areas.append(weighted_auc(sample.y_train > 0, np.sum(known, axis=0), sample.weights))
    return float(np.mean(areas)) if areas else None


def _variance(task: Task, area: float) -> float:
    """Return the variance of an estimated AUC by Hanley and McNeil, the mean over the binary models."""
    both_positive = area / (2.0 - area) - area**2
    both_negative = 2.0 * area**2 / (1.0 + area) - area**2
    found = []
    for sample in task.samples:
        y = sample.y_train[sample.weights > 0]
        up = np.count_nonzero(y > 0)
        down = np.count_nonzero(y < 0)
        total = area * (1.0 - area) + (up - 1) * both_positive + (down - 1) * both_negative
        found.append(total / (up * down))
    return float(np.mean(found))


def _weighted(task: Task, found: ChosenWeight, areas: bool = False) -> Prior:
    """Return the blocks with numbers for ``mu="auto"``, by a chosen factor; ``areas`` adds AUC alone."""
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
                block.mu = found.factor * block.standard_weight(count, len(on_rows))
                own = _rules_alone(task, [m for m in on_rows if m.name == name]) if areas else None
                block.chosen_weight = replace(found, mu=block.mu, own=own)
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
    if number < 2 or len(rows) > MOST_ROWS or task.large is not None:
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
    order = name_order(sample.feature_names, X.shape[1])
    return list(zip(digests(X, gaps, salt, order), weight.tolist(), ties, strict=True))


def _scores(
    model: Any, task: Task, arguments: tuple[Any, ...], repeats: list[list[Array]]
) -> dict[float, float]:
    """Return the AUC of all folds for each factor, as the mean over the repeats; empty if all folds fail."""
    found: dict[float, list[float]] = {factor: [] for factor in FACTORS}
    fitted = 0
    for folds in repeats:
        values = []
        for test in folds:
            values.append(_fold(model, task, arguments, test))
            task.spec.deadline.check()
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
            weighted = replace(part, prior=_weighted(part, ChosenWeight(1.0, factor, {})))
            try:
                binaries = train(member, weighted, states, grams, rough=True)
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
    part = make_task(member, _rows(X, kept), _rows(y, kept), given_weight, given)
    return member, part.until(task.spec.limit)


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
