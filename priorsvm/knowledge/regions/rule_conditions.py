"""Conditions of a rule: sums, products and comparisons of columns, their negation, and their alternatives.

A text is parsed into a tree of :class:`All` and :class:`Some` over four kinds of conditions. Every condition
has a negation, so ``not`` is applied while the tree is built. The alternatives of the tree are lists of
conditions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import chain, product
from typing import Any

import numpy as np

from ..._utils.arrays import Array
from ...errors import BadRule
from .sets import ROUNDING

MAX_ALTERNATIVES = 1000
# Conditions in a text, and conditions of all alternatives together.
MAX_CONDITIONS = 5000
MAX_TOTAL = 20_000


# ---------------------------------------------------------------------- expressions


@dataclass(frozen=True, eq=False)
class Affine:
    """A sum of multiples of columns and a constant: the coefficients, then the constant."""

    sum: Array

    @property
    def is_number(self) -> bool:
        """Whether no column is part of the sum."""
        return not self.sum[:-1].any()

    @property
    def column(self) -> int | None:
        """The index of the column, if the sum is one column and nothing else."""
        (used,) = np.nonzero(self.sum)
        return (
            int(used[0])
            if len(used) == 1 and used[0] < len(self.sum) - 1 and self.sum[used[0]] == 1
            else None
        )

    @property
    def exact(self) -> bool:
        """Whether floating-point numbers decide its sign: one or two terms, of columns without factors."""
        without_factors = bool(np.isin(self.sum[:-1], (-1.0, 0.0, 1.0)).all())
        return without_factors and bool(np.count_nonzero(self.sum) <= 2)

    def value(self, X: Array) -> Array:
        """Return the value at each row."""
        used = np.flatnonzero(self.sum[:-1])  # a missing value in another column does not matter
        return np.asarray(X[:, used] @ self.sum[used] + self.sum[-1])

    def size(self, X: Array) -> Array:
        """Return the sum of the absolute parts at each row, which rounding errors are relative to."""
        used = np.flatnonzero(self.sum[:-1])
        return np.asarray(np.abs(X[:, used]) @ np.abs(self.sum[used]) + np.abs(self.sum[-1]))

    def named(self) -> Array:
        """Return a mask of the columns."""
        return np.asarray(self.sum[:-1] != 0)


@dataclass(frozen=True, eq=False)
class Curved:
    """A sum, a product or a power that is not linear in the columns.

    Attributes
    ----------
    kind : {"sum", "product", "power"}
    parts : tuple of expressions
    powers : tuple of float
        The factors of the parts of a sum, 1 or -1; else their exponents.
    at : int
        The position in the text at which the expression ceases to be linear.
    reason : str
        Why it is not linear.
    """

    kind: str
    parts: tuple[Any, ...]
    powers: tuple[float, ...]
    at: int
    reason: str

    is_number = False
    column = None
    exact = False

    def value(self, X: Array) -> Array:
        """Return the value at each row; NaN where it is not defined, as for a divisor of zero."""
        with np.errstate(all="ignore"):
            values = [part.value(X) for part in self.parts]
            if self.kind == "sum":
                return np.asarray(sum(factor * v for factor, v in zip(self.powers, values, strict=True)))
            total = np.asarray(np.ones(len(X)))
            for power, v in zip(self.powers, values, strict=True):
                if power == -1.0:
                    total = total / v
                else:
                    total = total * v**power
            return np.where(np.isfinite(total), total, np.nan)

    def size(self, X: Array) -> Array:
        """Return the absolute value at each row; of a sum, the sum of its absolute parts."""
        if self.kind != "sum":
            return np.abs(self.value(X))
        return np.asarray(sum(part.size(X) for part in self.parts))

    def named(self) -> Array:
        """Return a mask of the columns."""
        return np.asarray(np.any([part.named() for part in self.parts], axis=0))


Expression = Affine | Curved


# ---------------------------------------------------------------------- conditions


@dataclass(frozen=True, eq=False)
class AtMost:
    """An expression is at most zero, or below zero if strict."""

    expression: Expression
    strict: bool
    at: int

    def negated(self) -> AtMost:
        """Return the opposite condition."""
        return AtMost(scaled(self.expression, -1.0), not self.strict, self.at)

    def holds(self, X: Array, gaps: Array, tol: float = 0.0) -> Array:
        """Return a mask of the rows for which the condition holds."""
        value, slack = _compared(self.expression, X, tol)
        return np.isfinite(value) & (value < -slack if self.strict else value <= slack)

    def named(self) -> Array:
        """Return a mask of the columns."""
        return self.expression.named()


@dataclass(frozen=True, eq=False)
class Zero:
    """An expression is zero, or is not zero."""

    expression: Expression
    equal: bool
    at: int

    def negated(self) -> Zero:
        """Return the opposite condition."""
        return replace(self, equal=not self.equal)

    def holds(self, X: Array, gaps: Array, tol: float = 0.0) -> Array:
        """Return a mask of the rows for which the condition holds."""
        value, slack = _compared(self.expression, X, tol)
        return np.isfinite(value) & ((np.abs(value) <= slack) == self.equal)

    def named(self) -> Array:
        """Return a mask of the columns."""
        return self.expression.named()


@dataclass(frozen=True, eq=False)
class OneOf:
    """A column with categories has one of some values.

    Attributes
    ----------
    members : array of int
        The encoded columns of all values.
    allowed : array of bool
        Which of the values are allowed.
    unknown : bool
        Whether a value that is not among them is allowed.
    width : int
        Number of encoded columns.
    at : int
        Position in the text.
    without_gaps : bool
        Whether the condition is about missing values and no training row has a missing value.
    parts : int
        Number of conditions of the text that were merged.
    """

    members: Array
    allowed: Array
    unknown: bool
    width: int
    at: int
    without_gaps: bool = False
    parts: int = 1

    @property
    def requires_gap(self) -> bool:
        """Whether a missing value is required that no training row has."""
        return self.without_gaps and not self.allowed.any()

    def negated(self) -> OneOf:
        """Return the opposite condition."""
        return replace(self, allowed=~self.allowed, unknown=not self.unknown)

    def holds(self, X: Array, gaps: Array, tol: float = 0.0) -> Array:
        """Return a mask of the rows for which the condition holds."""
        group = X[:, self.members] > 0.5
        return np.asarray((group & self.allowed).any(axis=1) | (self.unknown & ~group.any(axis=1)))

    def named(self) -> Array:
        """Return a mask of the columns."""
        return np.isin(np.arange(self.width), self.members)


@dataclass(frozen=True, eq=False)
class Gap:
    """The value of a column of numbers is missing, or is not missing."""

    column: int
    missing: bool
    width: int
    at: int

    def negated(self) -> Gap:
        """Return the opposite condition."""
        return replace(self, missing=not self.missing)

    def holds(self, X: Array, gaps: Array, tol: float = 0.0) -> Array:
        """Return a mask of the rows for which the condition holds."""
        return np.asarray(gaps[:, self.column] == self.missing)

    def named(self) -> Array:
        """Return a mask of the columns."""
        return np.arange(self.width) == self.column


def _compared(expression: Expression, X: Array, tol: float) -> tuple[Array, Array]:
    """Return the values of an expression, and how far they may be from zero by rounding or by a search."""
    value = expression.value(X)
    share = max(tol, 0.0 if expression.exact else ROUNDING)
    if share == 0.0:
        return value, np.zeros(len(X))
    size = expression.size(X)
    return value, np.where(np.isfinite(size), share * size, 0.0)


Condition = AtMost | Zero | OneOf | Gap


@dataclass(frozen=True, eq=False)
class All:
    """All parts hold; ``places`` are their positions in the text."""

    parts: tuple[Any, ...]
    places: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Some:
    """At least one part holds; ``places`` are their positions in the text."""

    parts: tuple[Any, ...]
    places: tuple[int, ...]


def joined(kind: type[All] | type[Some], parts: Sequence[Any], places: Sequence[int]) -> Any:
    """Return the only part, or all parts as one node."""
    return parts[0] if len(parts) == 1 else kind(tuple(parts), tuple(places))


def negated(node: Any) -> Any:
    """Return the negation of a tree, by the laws of de Morgan."""
    if isinstance(node, (All, Some)):
        other = Some if isinstance(node, All) else All
        return other(tuple(map(negated, node.parts)), node.places)
    return node.negated()


def alternatives(node: Any, error: Callable[[str, int], BadRule]) -> list[list[Condition]]:
    """Return lists of conditions: the tree holds where all conditions of a list hold."""
    _check_size(node, error)
    return list(map(_merged, _alternatives(node)))


def _check_size(node: Any, error: Callable[[str, int], BadRule]) -> tuple[int, int]:
    """Return the numbers of alternatives and of their conditions; raise BadRule where there are too many."""
    if not isinstance(node, (All, Some)):
        return 1, 1
    is_product = isinstance(node, All)
    number = 1 if is_product else 0
    total = 0
    for part, at in zip(node.parts, node.places, strict=True):
        count, size = _check_size(part, error)
        total = total * count + number * size if is_product else total + size
        number = number * count if is_product else number + count
        if number > MAX_ALTERNATIVES:
            raise error(
                f"from here on the rule has more than {MAX_ALTERNATIVES} alternatives: use several rules", at
            )
        if total > MAX_TOTAL:
            raise error(
                f"from here on the alternatives of the rule have more than {MAX_TOTAL} conditions: use "
                "several rules",
                at,
            )
    return number, total


def _alternatives(node: Any) -> list[list[Condition]]:
    if isinstance(node, Some):
        return list(chain(*map(_alternatives, node.parts)))
    if isinstance(node, All):
        return [list(chain(*choice)) for choice in product(*map(_alternatives, node.parts))]
    return [[node]]


def _merged(conditions: Sequence[Condition]) -> list[Condition]:
    """Return the conditions with one condition for each column with categories."""
    groups: dict[int, OneOf] = {}
    others: list[Condition] = []
    for condition in conditions:
        if not isinstance(condition, OneOf):
            others.append(condition)
            continue
        key = int(condition.members[0])
        before = groups.get(key)
        if before is None:
            groups[key] = condition
            continue
        groups[key] = replace(
            condition,
            allowed=condition.allowed & before.allowed,
            unknown=condition.unknown and before.unknown,
            without_gaps=condition.requires_gap or before.requires_gap,
            parts=before.parts + 1,
        )
    return [*others, *groups.values()]


# ---------------------------------------------------------------------- arithmetic


def scaled(expression: Expression, factor: float) -> Expression:
    """Return a multiple of an expression."""
    if isinstance(expression, Affine):
        return Affine(factor * expression.sum)
    if expression.kind == "sum":
        return replace(expression, powers=tuple(factor * f for f in expression.powers))
    return Curved("sum", (expression,), (factor,), expression.at, expression.reason)


def added(parts: Sequence[Expression], factors: Sequence[float]) -> Expression:
    """Return a sum of multiples of expressions."""
    curved = [part for part in parts if isinstance(part, Curved)]
    if not curved:
        sums = [f * part.sum for f, part in zip(factors, parts, strict=True) if isinstance(part, Affine)]
        return Affine(np.sum(sums, axis=0))
    return Curved("sum", tuple(parts), tuple(factors), curved[0].at, curved[0].reason)
