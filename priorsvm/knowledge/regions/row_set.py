"""The rows for which the conditions of a rule hold, exactly as they are written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..._utils.arrays import Array, as_keys
from ...sample import Sample
from .parsed_rule import linear_hull
from .rule_conditions import AtMost, Condition, Curved, Gap, OneOf
from .sets import Set


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

    def contains(self, X: Array, tol: float = 1e-9) -> Array:
        return self.holds(X, self.gaps_of(X))

    def holds(self, X: Array, gaps: Array) -> Array:
        """Return a mask of the rows for which all conditions hold, with the missing values ``gaps``."""
        inside = np.ones(len(X), bool)
        for condition in self.conditions:
            inside &= condition.holds(X, gaps)
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
