"""Regions of columns with categories: one value of each group, and no combination that cannot occur."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ..._utils.arrays import Array
from ...encoding import Encoding
from ...errors import InvalidInput
from ...sample import Sample
from .requirement import Requirement
from .sets import BoxSet, PolyhedronSet, Set, polyhedron

# Largest number of combinations of values that a region of a kernel model is divided into.
MAX_COMBINATIONS = 64


def on_values(requirements: Sequence[Requirement], sample: Sample) -> list[Requirement]:
    """Return requirements on points that have one value of each column with categories.

    On a linear model the encoded values of a column are restricted to nonnegative numbers of sum 1. The least
    value of a linear f over them is at one of the values, so this is exact. On a kernel model a region
    becomes one region for each combination of values.
    """
    encoding = sample.encoding
    if encoding is None:
        return list(requirements)
    linear = sample.model is None or sample.model.linear
    found: list[Requirement] = []
    for requirement in requirements:
        if linear and requirement.direction is not None:
            found.append(requirement)  # the slope of a linear f is the same everywhere
            continue
        region = requirement.region
        if not isinstance(region, (BoxSet, PolyhedronSet)):
            raise InvalidInput(
                "holds='everywhere' with columns of categories requires a Rule, a Box or a Polyhedron. Use "
                "holds='rows'."
            )
        values = [_allowed(region, group.members, encoding, group.column) for group in encoding.groups]
        regions = [_simplex(region, encoding)] if linear else _combinations(region, encoding, values)
        found += [replace(requirement, region=part) for part in regions]
    return found


def allowed_values(region: Set, members: Array) -> Array:
    """Return a mask of the values of a group whose encoding lies in the box around a region."""
    low, high = region.box
    eye = np.eye(len(members))
    tol = 1e-9
    return np.asarray(((eye >= low[members] - tol) & (eye <= high[members] + tol)).all(axis=1))


def _allowed(region: Set, members: Array, encoding: Encoding, column: int) -> Array:
    allowed = allowed_values(region, members)
    if not allowed.any():
        raise InvalidInput(
            f"the region contains no value of column {encoding.names[column]!r}. A row has exactly one "
            "value: restrict one value to (1, 1), or some values to (0, 0)."
        )
    return np.flatnonzero(allowed)


def _simplex(region: BoxSet | PolyhedronSet, encoding: Encoding) -> Set:
    """Return the region with the convex hull of the values of each group."""
    B, d = region.inequalities
    rows = [B]
    ends = [d]
    for group in encoding.groups:
        one = np.zeros(encoding.width)
        one[group.members] = 1.0
        rows += [-np.eye(encoding.width)[group.members], one[None], -one[None]]
        ends += [np.zeros(len(group.members)), np.ones(1), -np.ones(1)]
    closed = polyhedron(np.vstack(rows), np.concatenate(ends))
    if closed.empty:
        raise InvalidInput(
            "the region contains no row with one value of each column with categories. Correct a limit."
        )
    return closed


def _combinations(
    region: BoxSet | PolyhedronSet, encoding: Encoding, values: Sequence[Array]
) -> list[BoxSet | PolyhedronSet]:
    """Return the parts of a region with one combination of values each."""
    count = math.prod(map(len, values))
    if count > MAX_COMBINATIONS:
        names = ", ".join(repr(encoding.names[group.column]) for group in encoding.groups)
        raise InvalidInput(
            f"the region has {count} combinations of values of {names}, and a kernel model allows "
            f"{MAX_COMBINATIONS} with holds='everywhere'. Restrict these columns in the rule, use "
            "holds='rows', or a linear model."
        )
    parts: list[BoxSet | PolyhedronSet] = []
    for choice in itertools.product(*values):
        low = np.full(encoding.width, -np.inf)
        high = np.full(encoding.width, np.inf)
        for group, value in zip(encoding.groups, choice, strict=True):
            low[group.members] = 0.0
            low[group.members[value]] = 1.0
            high[group.members] = low[group.members]
        if isinstance(region, BoxSet):
            parts.append(BoxSet(np.maximum(low, region.low), np.minimum(high, region.high)))
            continue
        B, d = BoxSet(low, high).inequalities
        part = polyhedron(np.vstack([region.B, B]), np.concatenate([region.d, d]))
        if not part.empty:
            parts.append(part)
    return parts
