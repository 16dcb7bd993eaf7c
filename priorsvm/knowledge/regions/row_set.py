"""The rows for which the conditions of a rule hold, exactly as they are written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..._utils.arrays import Array, as_keys
from ...sample import Sample
from .parsed_rule import linear_hull
from .rule_conditions import AtMost, Condition, Curved, Gap, OneOf, Zero
from .sets import Set, linear_minimum

# Contradictory comparisons hold by at most this amount in a linear programme, relative to their limits.
EMPTY = 1e-13


@dataclass(frozen=True, eq=False)
class RowSet(Set):
    """Rows for which all conditions of a list hold.

    Unlike other sets it need not be closed or convex: a strict comparison excludes its border.

    Attributes
    ----------
    hull : BoxSet or PolyhedronSet
        The closure of the linear conditions on numbers.
    conditions : list of conditions
    known : array of shape (m, d)
        Completed training rows that have missing values.
    gaps : array of bool of shape (m, d)
        Their missing values.
    """

    hull: Any
    conditions: list[Condition]
    known: Array
    gaps: Array

    @classmethod
    def of(cls, hull: Set, conditions: Sequence[Condition], sample: Sample) -> RowSet:
        """Return the set of some conditions, with the missing values of the training rows."""
        missing = getattr(sample.missing, "missing", None)
        if missing is None or not any(isinstance(c, Gap) for c in conditions):
            missing = np.zeros((0, sample.X.shape[1]), bool)
        rows = np.flatnonzero(missing.any(axis=1))
        return cls(hull, list(conditions), sample.X_train[rows], missing[rows])

    @property
    def box(self) -> tuple[Array, Array]:
        return self.hull.box

    @property
    def inequalities(self) -> tuple[Array, Array]:
        """B and d of the closure of the linear conditions, and of the allowed values of categories."""
        B, d = self.hull.inequalities
        values, ends = linear_hull([c for c in self.conditions if isinstance(c, OneOf)], B.shape[1])
        return np.vstack([B, values]), np.concatenate([d, ends])

    def contains(self, X: Array, tol: float = 0.0) -> Array:
        return self.holds(X, self.gaps_of(X), tol)

    def holds(self, X: Array, gaps: Array, tol: float = 0.0) -> Array:
        """Return a mask of the rows for which all conditions hold, with the missing values ``gaps``."""
        inside = np.ones(len(X), bool)
        for condition in self.conditions:
            inside &= condition.holds(X, gaps, tol)
        return inside

    def holds_alone(self, X: Array, column: int) -> Array:
        """Return a mask of the rows for which the conditions on one column alone hold."""
        alone = np.arange(X.shape[1]) == column
        inside = np.ones(len(X), bool)
        for condition in self.conditions:
            if not isinstance(condition, Gap) and np.array_equal(condition.named(), alone):
                inside &= condition.holds(X, np.isnan(X))
        return inside

    def gaps_of(self, X: Array) -> Array:
        """Return a mask of the missing values: NaN, or completed values of training rows."""
        gaps = np.isnan(X)
        if len(self.known):
            place = {key: i for i, key in enumerate(as_keys(self.known))}
            for i, key in enumerate(as_keys(X)):
                if key in place:
                    gaps[i] |= self.gaps[place[key]]
        return gaps

    def lowest(self, w: Array) -> tuple[float, Array]:
        return self.hull.lowest(w)

    def closed(self) -> RowSet:
        """Return the set with the borders of strict comparisons."""
        conditions = [replace(c, strict=False) if isinstance(c, AtMost) else c for c in self.conditions]
        return replace(self, conditions=conditions)

    def violated(self, X: Array) -> Array:
        """Return how many conditions that are not part of the hull each row violates."""
        gaps = self.gaps_of(X)
        count = np.zeros(len(X))
        for condition in self.conditions:
            if not is_linear(condition):
                count += ~condition.holds(X, gaps)
        return count

    def named(self) -> Array:
        """Return a mask of the columns of all conditions."""
        return np.asarray(np.any([condition.named() for condition in self.conditions], axis=0))

    def kept(self) -> Array:
        """Return a mask of the columns that have to be missing, which no draw can achieve."""
        gaps = [c.named() for c in self.conditions if isinstance(c, Gap) and c.missing]
        return np.asarray(np.any(gaps, axis=0)) if gaps else np.zeros(len(self.box[0]), bool)

    def allowed(self, members: Array) -> Array:
        """Return a mask of the values of a group that the conditions allow."""
        for condition in self.conditions:
            if isinstance(condition, OneOf) and np.array_equal(condition.members, members):
                return condition.allowed
        return np.ones(len(members), bool)


def is_linear(condition: Condition) -> bool:
    """Return whether a condition is a linear inequality or equation."""
    if isinstance(condition, (OneOf, Gap)) or isinstance(condition.expression, Curved):
        return False
    return isinstance(condition, AtMost) or condition.equal


def is_closed(condition: Condition) -> bool:
    """Return whether a condition is its own closure: an inequality that is not strict, or an equation."""
    return is_linear(condition) and not (isinstance(condition, AtMost) and condition.strict)


def is_exact(condition: Any) -> bool:
    """Return whether a linear condition is decided without rounding."""
    return is_linear(condition) and bool(condition.expression.exact)


def contradict(conditions: Sequence[Condition]) -> bool:
    """Return whether strict comparisons exclude every row, although the closure is not empty.

    A strict comparison contradicts the opposite comparison with the same limit. Further contradictions are
    found by a linear programme: no point satisfies the strict comparisons by a positive amount.
    """
    if len(conditions) < 2:
        return False
    rows, strict = _sums(conditions)
    if not strict.any():
        return False
    tightest: dict[bytes, tuple[float, bool]] = {}
    for row, is_strict in zip(rows, strict.tolist(), strict=True):
        direction = row[:-1].tobytes()
        limit = (float(row[-1]), is_strict)  # a strict limit is tighter than its closure
        tightest[direction] = max(tightest.get(direction, limit), limit)
    for row in rows:
        end, below = tightest[row[:-1].tobytes()]
        opposite, above = tightest.get((0.0 - row[:-1]).tobytes(), (-np.inf, False))
        if end == -opposite and (below or above):
            return True
    if np.all(np.count_nonzero(rows[:, :-1], axis=1) == 1):
        return False
    # The last variable is the amount, at most 1.
    goal = np.append(np.zeros(rows.shape[1] - 1), -1.0)
    amounts = np.vstack([np.column_stack([rows[:, :-1], strict]), -goal])
    size = float(np.abs(rows[:, -1]).max()) or 1.0
    least, _ = linear_minimum(goal, amounts, np.append(-rows[:, -1] / size, 1.0))
    return least > -EMPTY


def _sums(conditions: Sequence[Any]) -> tuple[Array, Array]:
    """Return sums that linear conditions require to be at most 0, and a mask of strict comparisons."""
    rows: list[Array] = []
    strict: list[bool] = []
    for condition in conditions:
        if not is_linear(condition):
            continue
        row = condition.expression.sum / np.abs(condition.expression.sum[:-1]).max()
        rows.append(row)
        strict.append(isinstance(condition, AtMost) and condition.strict)
        if isinstance(condition, Zero):
            rows.append(-row)
            strict.append(False)
    # + 0.0 turns -0.0 into 0.0.
    return np.array(rows) + 0.0, np.array(strict, bool)
