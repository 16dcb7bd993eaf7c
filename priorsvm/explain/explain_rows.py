"""From a fitted model and new rows to their explanations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np
from scipy.sparse import issparse

from .._utils.arrays import Array
from .._utils.checks import described
from .._utils.messages import did_you_mean
from ..errors import InvalidInput, InvalidType, MissingCapability
from ..function.fitted import Fitted, FittedKernel, FittedLinear
from ..kernels.set_kernel import OnRows
from ..knowledge.hints.monotonicity_hint import MonotonicityHint, directions_of
from ..knowledge.regions.base import RegionKnowledge
from ..knowledge.regions.monotone import Monotone
from ..knowledge.regions.region_words import column_names
from ..knowledge.traits import Completes, Scores
from ..prior import Member
from ..sample import Sample
from ..solve.model import BinaryModel
from ..validation import is_precomputed
from .flips import Search, smallest_changes
from .row import Explanation, Explanations, Flip, NearRow, Part, RuleAt
from .row_terms import row_terms
from .shapley import Parts, parts_of
from .words import block_uses, in_words

# Number of training rows that an explanation lists.
NEAR_ROWS = 3
# Number of values of a column at which monotonicity is checked, and the tolerated fall.
MONOTONE_VALUES = 50
MONOTONE_TOLERANCE = 1e-6
# Number of columns that are searched for changes of the class.
MOST_SEARCHED = 1000
# Number of entries of sparse training rows that are made dense.
MOST_DENSE = 5 * 10**7


def as_rows(model: Any, given: Any) -> tuple[Any, bool]:
    """Return rows for ``decision_function``, and whether one row was given by itself.

    Parameters
    ----------
    model : PriorSVC
        A fitted model.
    given : dict, Series, DataFrame or array-like
        One row by column name or as an array of shape (d,), or several rows.

    Returns
    -------
    (array-like of shape (n, d), bool)
    """
    if isinstance(given, Mapping) and all(np.ndim(value) > 0 for value in given.values()):
        return _frame(model, dict(given)), False
    if isinstance(given, Mapping):
        return _frame(model, {key: [value] for key, value in given.items()}), True
    if hasattr(given, "to_dict") and np.ndim(given) == 1:  # a Series
        if not hasattr(model, "feature_names_in_"):
            return np.asarray(given)[None], True
        return _frame(model, {key: [value] for key, value in given.to_dict().items()}), True
    if issparse(given):
        return given, False
    ndim = np.ndim(given)
    if ndim == 0:
        raise InvalidType(
            "explain requires a row: a Series such as X.iloc[0], a dict by column or an array, got "
            f"{described(given)}."
        )
    if ndim == 1 and not hasattr(given, "columns"):
        return [given] if isinstance(given, (list, tuple)) else np.asarray(given)[None], True
    return given, False


def _frame(model: Any, columns: dict[Any, Any]) -> Any:
    """Return rows given by column, in the order of the columns of the training data."""
    names = getattr(model, "feature_names_in_", None)
    known: list[Any] = list(range(model.n_features_in_)) if names is None else names.tolist()
    unknown = [key for key in columns if key not in known]
    if unknown and names is None:
        raise InvalidInput(f"explain: there is no column {unknown[0]!r}. Fit on a DataFrame to use names.")
    if unknown:
        meant = did_you_mean(str(unknown[0]), known)
        raise InvalidInput(
            f"explain: there is no column {unknown[0]!r}.{meant} The columns are: {', '.join(known)}."
        )
    missing = [key for key in known if key not in columns]
    if missing:
        raise InvalidInput(
            f"explain: the row has no value of column {missing[0]!r}. Give all {len(known)} columns, and NaN "
            "for a missing value if the prior has MissingValues."
        )
    if names is None:
        return np.column_stack([columns[key] for key in known])
    try:
        import pandas as pd
    except ImportError as error:
        raise ImportError("a row given by column names requires pandas: pip install pandas.") from error
    return pd.DataFrame({key: columns[key] for key in known})


def explain_rows(model: Any, X: Any, names: Array | None = None) -> Explanations:
    """Return the explanations of checked rows.

    Parameters
    ----------
    model : PriorSVC
        A fitted model.
    X : array of shape (n, d) or sparse array
        Checked rows.
    names : array of str or None, default=None
        Names of the rows.

    Returns
    -------
    Explanations
    """
    explainer = Explainer(model)
    return Explanations((explainer.explain(x) for x in _dense(X)), names)


def _dense(X: Any) -> Array:
    return X.toarray() if issparse(X) else X


@dataclass(frozen=True, eq=False)
class Target:
    """The score that is explained.

    Attributes
    ----------
    binary : BinaryModel
        Its binary model.
    f : Fitted
        Its decision function.
    column : int or None
        Its column among the scores of all classes; None for a pair of a one-vs-one model.
    label : object
        Class of the score.
    second : (object, float) or None
        The class with the next highest score, and this score, if there are more than two classes.
    against : object or None
        The other class of a pair.
    """

    binary: BinaryModel
    f: Fitted
    column: int | None
    label: Any
    second: tuple[Any, float] | None
    against: Any


@dataclass(frozen=True, eq=False)
class Explainer:
    """What the explanations of all rows share.

    Attributes
    ----------
    model : PriorSVC
        A fitted model.
    """

    model: Any

    def __post_init__(self) -> None:
        if isinstance(self.model.kernel_, OnRows):
            raise MissingCapability(
                "explain requires rows with one number for each column, and this kernel compares sets of "
                "vectors. Use a model of rows."
            )
        if is_precomputed(self.model.kernel):
            raise MissingCapability(
                "explain requires the columns of the rows, and kernel='precomputed' has kernel values. Give "
                "the kernel as a function."
            )
        if self.model._one_vs_one and self.scored_by_block:
            raise MissingCapability(
                "explain: a block scores rows itself, and a one-vs-one model counts votes. Use "
                "multi_class='ovr'."
            )
        X = self.sample.X
        if issparse(X) and X.shape[0] * X.shape[1] > MOST_DENSE:
            raise MissingCapability(
                f"explain makes the training rows dense, and {X.shape[0]} x {X.shape[1]} entries are too "
                "many. Use coef_, or fit on fewer columns."
            )

    # ------------------------------------------------------------------ what all rows share

    @cached_property
    def binaries(self) -> list[BinaryModel]:
        """The binary models."""
        return list(self.model._models)

    @cached_property
    def uses(self) -> list[tuple[Member, Sample]]:
        """The blocks, each with the training rows of a binary model that it applies to."""
        return block_uses((binary.members, binary.training) for binary in self.binaries)

    @cached_property
    def sample(self) -> Sample:
        """The training rows."""
        return self.binaries[0].training

    @cached_property
    def weights(self) -> Array:
        """The weights of the training rows in a mean."""
        weight = self.sample.weights if self.sample.all_weights is None else self.sample.all_weights
        return np.asarray(weight / weight.sum())

    @cached_property
    def X(self) -> Array:
        """The training rows with a positive weight, as a dense array."""
        return _dense(self.sample.X_train)[self.weights > 0]

    @cached_property
    def mean(self) -> Array:
        """The mean of the training rows, by sample weight."""
        if self.sample.totals is not None:
            return self.sample.totals.mean
        return np.asarray(self.weights[self.weights > 0] @ self.X)

    @cached_property
    def players(self) -> dict[str, list[int]]:
        """The user's columns, with the columns of X of each: several for a column of categories."""
        encoding = self.sample.encoding
        if encoding is None:
            return {name: [j] for j, name in enumerate(column_names(self.sample))}
        return {
            name: np.atleast_1d(place).tolist()
            for name, place in zip(encoding.names, encoding.places, strict=True)
        }

    @cached_property
    def search(self) -> Search:
        """Ranges of the columns."""
        gaps = self.sample.gaps
        completed = None if gaps is None else gaps[self.weights > 0]
        blank = np.zeros(self.X.shape[1], bool)
        for group in [] if self.sample.encoding is None else self.sample.encoding.groups:
            blank[group.members] = [value is None for value in group.values]
        return Search.of(self.X, list(self.players.values()), blank, completed)

    @cached_property
    def scored_by_block(self) -> bool:
        """Whether a block changes the scores of complete rows."""
        blocks = [member.block for member, _ in self.uses]
        return any(isinstance(block, Scores) and not isinstance(block, Completes) for block in blocks)

    def scores(self, X: Array) -> Array:
        """Return the scores of all classes, one column for each; with two classes one column."""
        scores = self.model._scores(X)
        return scores[:, None] if scores.ndim == 1 else scores

    def classify(self, X: Array) -> Array:
        """Return the indices of the predicted classes."""
        scores = self.scores(X)
        return (scores[:, 0] > 0).astype(int) if scores.shape[1] == 1 else scores.argmax(axis=1)

    def target(self, scores: Array, chosen: int) -> Target:
        """Return the score that is explained, from the scores of a row and the index of its class."""
        classes = self.model.classes_.tolist()
        if len(scores) == 1:
            return Target(self.binaries[0], self._lead(), 0, classes[1], None, None)
        runner_up = int(np.argsort(-scores, kind="stable")[1])
        second = (classes[runner_up], float(scores[runner_up]))
        if self.model._one_vs_one:
            pair = sorted((chosen, runner_up))
            binary = self.binaries[list(combinations(range(len(classes)), 2)).index((pair[0], pair[1]))]
            f = binary.f if chosen < runner_up else _negated(binary.f)
            return Target(binary, f, None, classes[chosen], second, classes[runner_up])
        functions = [f for binary in self.binaries for f in binary.functions]
        binary = self.binaries[chosen if len(self.binaries) > 1 else 0]
        return Target(binary, functions[chosen], chosen, classes[chosen], second, None)

    def _lead(self) -> Fitted:
        """Return the decision function of two classes."""
        binary: Any = self.binaries[0]
        f: Fitted = binary.f if len(binary.functions) == 1 else binary.f.lead(1, 0)
        return f

    # ------------------------------------------------------------------ one row

    def explain(self, x: Array) -> Explanation:
        """Return the explanation of a row, which has NaN in missing entries."""
        scores = self.scores(x[None])[0]
        chosen = int(self.classify(x[None])[0])
        classes = self.model.classes_.tolist()
        target = self.target(scores, chosen)
        completed, share, under = self._completions(x, target)
        at = share @ completed
        base, score, parts = self._parts(completed, share, target)
        columns = [
            Part(name, self._value(at, c), self._mean(c), float(part), bool(np.isnan(x[c]).any()))
            for (name, c), part in zip(self.players.items(), parts.values, strict=True)
        ]
        near, added = self._near_rows(at, target)
        return Explanation(
            label=classes[chosen],
            score=score,
            of=target.label,
            base=base,
            parts=sorted(columns, key=lambda part: -abs(part.part)),
            method=parts.method,
            error=parts.error,
            second=target.second,
            against=target.against,
            rules=self._rules(x, at, classes[chosen]),
            rows=near,
            added=added,
            flips=self._flips(x, at, classes, np.argsort(-np.abs(parts.values), kind="stable")),
            classes=classes,
            under=under,
        )

    def _completions(self, x: Array, target: Target) -> tuple[Array, Array, Any]:
        """Return complete rows, their shares in the score of the row, and the class of the only share."""
        if not np.isnan(x).any():
            return x[None], np.ones(1), None
        for (name, block, _), _ in self.uses:
            if isinstance(block, Completes) and hasattr(block, "completions"):
                state = target.binary.states[name]
                completed, share = block.completions(target.f, x[None], state)
                of_classes = list(getattr(state, "gaussians", ()))
                only = share[:, 0].max() == 1 and len(of_classes) == len(share)
                under = of_classes[int(share[:, 0].argmax())] if only else None
                return completed[:, 0], share[:, 0], under
        raise MissingCapability(
            "explain: the row has missing values, and the block that scores it has no method completions. "
            "Complete the row before."
        )

    def _parts(self, completed: Array, share: Array, target: Target) -> tuple[float, float, Parts]:
        """Return the score at the mean, the score, and the mean of the parts over completed rows."""
        f = None if self.scored_by_block else target.f

        def value(Z: Array) -> Array:
            return self.scores(Z)[:, target.column] if f is None else f.value(Z)

        players = list(self.players.values())
        used = share > 0
        found = [parts_of(value, f, row, self.mean, players) for row in completed[used]]
        values = share[used] @ np.array([parts.values for parts in found])
        error = float(share[used] @ np.array([parts.error for parts in found]))
        score = float(share[used] @ value(completed[used]))
        return float(value(self.mean[None])[0]), score, Parts(values, found[0].method, error)

    @cached_property
    def truths(self) -> set[int]:
        """The columns of X that were True and False."""
        given = self.model._truths
        places = list(self.players.values())
        return {places[j][0] for j in given}

    def _value(self, row: Array, columns: list[int]) -> Any:
        """Return the value of a column of the user: a number, True or False, or the name of a category."""
        encoding = self.sample.encoding
        value = None if encoding is None else encoding.value(row, columns[0])
        if value is not None:
            return value
        number = float(row[columns[0]])
        return bool(number) if columns[0] in self.truths and number in (0.0, 1.0) else number

    def _mean(self, columns: list[int]) -> float:
        return float(self.mean[columns[0]]) if len(columns) == 1 else float("nan")

    # ------------------------------------------------------------------ rules

    def _rules(self, x: Array, at: Array, predicted: Any) -> list[RuleAt]:
        """Return the rules that contain the row, and the monotone columns."""
        found = []
        for (name, block, _), sample in self.uses:
            if isinstance(block, (Monotone, MonotonicityHint)):
                kept = self._is_monotone(block, at)
                found.append(RuleAt(name, in_words(block, sample), kept, True, _active(block)))
            elif isinstance(block, RegionKnowledge):
                regions = [requirement.region for requirement in block.row_requirements(sample)]
                if any(_contains(region, x, at) for region in regions):
                    label = getattr(block, "label", None)
                    agrees = bool(label == predicted)
                    found.append(RuleAt(name, in_words(block, sample), agrees, active=_active(block)))
        return found

    def _is_monotone(self, block: Monotone | MonotonicityHint, at: Array) -> bool:
        """Return whether the score is monotone in each column of a block, from the row over the data."""
        classes = self.model.classes_.tolist()
        label = classes[-1] if block.label is None else block.label
        two = len(classes) == 2
        sign = -1.0 if two and label == classes[0] else 1.0
        k = 0 if two else classes.index(label)
        for j, direction in directions_of(block.features, self.sample).items():
            rows = np.tile(at, (MONOTONE_VALUES, 1))
            rows[:, j] = np.linspace(self.search.low[j], self.search.high[j], MONOTONE_VALUES)
            rise = sign * direction * np.diff(self.scores(rows)[:, k])
            if rise.min() < -MONOTONE_TOLERANCE:
                return False
        return True

    # ------------------------------------------------------------------ near rows and changes

    def _near_rows(self, at: Array, target: Target) -> tuple[list[NearRow], float]:
        """Return the training rows with the largest terms, or the nearest support vectors if f is linear."""
        if self.scored_by_block:
            return [], 0.0
        sample = self.sample
        scale = self.binaries[0].spec.scale
        X = _dense(sample.X_train)
        ends = (X, at[None]) if scale is None else (scale.points(X), scale.points(at[None]))
        distance = np.linalg.norm(ends[0] - ends[1], axis=1)
        f = target.f
        labels = sample.labels.tolist()
        if not isinstance(f, FittedKernel):
            support = np.flatnonzero(target.binary.support[: sample.n_train])
            nearest = support[np.argsort(distance[support], kind="stable")][:NEAR_ROWS]
            return [self._near_row(i, labels[i], distance[i], np.nan) for i in nearest], 0.0
        terms = row_terms(target.binary, f, X, at)
        added = float(f.value(at[None])[0]) - f.bias - float(terms.sum())
        largest = np.argsort(-np.abs(terms), kind="stable")[:NEAR_ROWS]
        near = [self._near_row(i, labels[i], distance[i], terms[i]) for i in largest if terms[i]]
        return near, added

    def _near_row(self, i: int, label: Any, distance: float, part: float) -> NearRow:
        """Return a training row, with its label in the index of a DataFrame.

        Names of rows that were read in chunks are their numbers among all rows.
        """
        names = getattr(self.model, "_row_names", None)  # a model of an earlier file has none
        if names is not None and self.binaries[0].sums is not None:
            return NearRow(int(names[i]), label, float(distance), float(part))
        name = None if names is None else str(names[i])
        return NearRow(int(i), label, float(distance), float(part), name)

    def _flips(self, x: Array, at: Array, classes: list[Any], order: Array) -> list[Flip]:
        """Return the smallest change of each column that changes the class; the first in order if many."""
        names = list(self.players)
        found = []
        for change in smallest_changes(self.classify, x, at, self.search, order[:MOST_SEARCHED]):
            columns = self.players[names[change.player]]
            label = classes[int(self.classify(change.row[None])[0])]
            new = self._value(change.row, columns)
            found.append(Flip(names[change.player], self._value(at, columns), new, label, change.size))
        return found


def _active(block: Any) -> bool:
    """Return whether a block is hard or has a positive weight."""
    return bool(block.hard or block.mu > 0)


def _contains(region: Any, x: Array, at: Array) -> bool:
    """Return whether a region contains a row, with its completed entries and its missing entries."""
    if hasattr(region, "holds"):  # conditions may be about missing values
        return bool(region.holds(at[None], np.isnan(x)[None])[0])
    return bool(region.contains(at[None])[0])


def _negated(f: Fitted) -> Fitted:
    """Return -f."""
    if isinstance(f, FittedLinear):
        return replace(f, bias=-f.bias, coef=-f.coef)
    assert isinstance(f, FittedKernel)
    slopes = None if f.slopes is None else replace(f.slopes, weights=-f.slopes.weights)
    return replace(f, bias=-f.bias, weights=-f.weights, slopes=slopes)
