r"""Points of a region that are rows as they occur: rows inside, and near rows moved into the region.

A rule over rows means that rows like those of the table which satisfy it belong to a class. The points of
such a rule are the rows nearest to its region. A row inside is a point as it is. Of another row, the columns
that the rule names are drawn in the region, and the remaining columns follow by regression on the change.
Every draw depends on the content of the row, so the order of the rows does not matter.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..._utils.arrays import Array
from ..._utils.row_keys import digests
from ...errors import BadRule, InvalidInput
from ...sample import Sample
from .groups import allowed_values
from .row_set import RowSet, is_linear
from .sets import BoxSet, EllipsoidSet, LevelSet, PolyhedronSet, Set

# Rows of the pool that become points: a third, within these limits, repeated to at least POINTS.
FEWEST = 25
MOST = 300
POINTS = 50
# Columns that follow move by at most so many standard deviations.
STEP = 2.0
# Points of a region without a closed form that rows can move to.
CANDIDATES = 256
# Draws for each row until a condition holds that has no convex set of numbers.
TRIALS = 60


@dataclass(frozen=True, eq=False)
class Pool:
    """Rows that rules over rows are applied to, and how their columns vary together.

    Attributes
    ----------
    X : array of shape (N, d)
        Training rows of positive weight and unlabelled rows, in an order that depends on their content.
    low, high : arrays of shape (d,)
        The range of the rows.
    deviation : array of shape (d,)
        Standard deviations, 1 for constant columns.
    correlation : array of shape (d, d)
        Correlations, shrunk to 0 by their standard error.
    follows : array of bool of shape (d,)
        Whether a column follows changes of other columns. A constant column or a column of two values stays.
    keys : array of shape (N,)
        A number for each row that depends on its given values alone.
    groups : list of arrays of int
        The encoded columns of each column with categories.
    """

    X: Array
    low: Array
    high: Array
    deviation: Array
    correlation: Array
    follows: Array
    keys: Array
    groups: list[Array]

    @classmethod
    def of(cls, sample: Sample, unlabeled: Array | None) -> Pool:
        """Return the pool of the training rows and some unlabelled rows."""
        X = sample.weighted_rows()[0]
        gaps = np.zeros(X.shape, bool) if sample.gaps is None else sample.gaps[sample.weights > 0]
        if unlabeled is not None:
            X = np.vstack([X, unlabeled])
            gaps = np.vstack([gaps, np.zeros(unlabeled.shape, bool)])
        keys = _keys(X, gaps)
        # Sums over the rows depend on their order in the last digit, and ties would depend on it, too.
        order = np.lexsort([*X.T, keys])
        X = X[order]
        keys = keys[order]
        low = X.min(axis=0)
        high = X.max(axis=0)
        deviation = X.std(axis=0)
        # A column of two values, such as a member of a one-hot group, has no values in between.
        follows = (deviation > 0) & ~((low == X) | (high == X)).all(axis=0)
        deviation = np.where(deviation > 0, deviation, 1.0)
        standard = (X - X.mean(axis=0)) / deviation
        R = standard.T @ standard / len(X)
        R = np.sign(R) * np.maximum(np.abs(R) - 1.0 / np.sqrt(len(X)), 0.0)
        groups = [] if sample.encoding is None else [group.members for group in sample.encoding.groups]
        for members in groups:
            follows[members] = False
        return cls(X, low, high, deviation, R, follows, keys, groups)

    def in_group(self) -> Array:
        """Return a mask of the columns that belong to a group."""
        mask = np.zeros(self.X.shape[1], bool)
        for members in self.groups:
            mask[members] = True
        return mask


def points_on_rows(region: Set, pool: Pool) -> Array:
    """Return points of a region that are rows as they occur.

    Parameters
    ----------
    region : Set
        Its sides may be open.
    pool : Pool
        The rows.

    Returns
    -------
    array of shape (M, d)

    Raises
    ------
    BadRule
        No row of the pool lies in the region, and none can be moved into it.
    """
    inside = region.contains(pool.X)
    distance = np.where(inside, 0.0, _distance(region, pool))
    count = min(len(pool.X), MOST, max(FEWEST, -(-len(pool.X) // 3)))
    nearest = np.lexsort([pool.keys, distance])[:count]
    repeats = -(-POINTS // count)
    move = _moved_by_trials if _needs_trials(region, pool) else _moved
    points = np.vstack([move(region, pool, nearest, inside, repeat) for repeat in range(repeats)])
    if len(points) == 0:
        raise BadRule(
            "no row satisfies the rule, and none was found with other values of its columns. Correct the "
            "rule, or give rows that satisfy it as unlabeled=."
        )
    return points


def pairs_on_rows(column: int, pool: Pool, count: int) -> Array:
    """Return upper rows, then lower rows: rows with a column set to two values that occur.

    Parameters
    ----------
    column : int
        Index of the column.
    pool : Pool
        The rows.
    count : int
        Number of pairs; 0 if the column is constant.

    Returns
    -------
    array of shape (2 * count, d)
    """
    values = np.unique(pool.X[:, column])
    if len(values) < 2:
        return np.empty((0, pool.X.shape[1]))
    order = np.argsort(pool.keys, kind="stable")
    repeats = -(-count // len(order))
    rows = np.tile(order, repeats)[:count]
    draws = np.vstack([_uniform(pool.keys[order], 2, repeat) for repeat in range(repeats)])[:count]
    first = (draws[:, 0] * len(values)).astype(int)
    second = (draws[:, 1] * (len(values) - 1)).astype(int)
    second = second + (second >= first)  # another value
    pairs = np.sort(np.column_stack([first, second]), axis=1)
    upper = pool.X[rows].copy()
    lower = pool.X[rows].copy()
    upper[:, column] = values[pairs[:, 1]]
    lower[:, column] = values[pairs[:, 0]]
    return np.vstack([upper, lower])


def named_columns(region: Set) -> Array:
    """Return a mask of the columns that a region restricts."""
    if isinstance(region, RowSet):
        return region.named()
    if isinstance(region, PolyhedronSet):
        return np.asarray(region.B.any(axis=0))
    if isinstance(region, BoxSet):
        return np.asarray(np.isfinite(region.low) | np.isfinite(region.high))
    return np.ones(len(region.box[0]), bool)


def _moved(region: Set, pool: Pool, rows: Array, inside: Array, repeat: int) -> Array:
    """Return rows of the pool, moved into the region if they are outside."""
    if isinstance(region, RowSet):
        region = region.hull
    X = pool.X[rows].copy()
    outside = np.flatnonzero(~inside[rows])
    if len(outside) == 0:
        return X
    named = named_columns(region)
    draws = _uniform(pool.keys[rows[outside]], int(named.sum()), repeat)
    targets = _targets(region, pool, named, draws)
    change = targets - X[np.ix_(outside, named)]
    X[np.ix_(outside, named)] = targets
    X[np.ix_(outside, ~named)] += _following(pool, named, change)
    return X


def _needs_trials(region: Set, pool: Pool) -> bool:
    """Return whether a region has conditions beyond a convex set of numbers."""
    if isinstance(region, RowSet):
        return not all(is_linear(condition) for condition in region.conditions)
    return bool((named_columns(region) & pool.in_group()).any())


def _moved_by_trials(region: Set, pool: Pool, rows: Array, inside: Array, repeat: int) -> Array:
    """Return rows inside the region, and rows moved by draws until the region contains them.

    Numbers are drawn in the hull of the region. A column with categories takes an allowed value. Rows for
    which no trial succeeds are left out.
    """
    hull = region.hull if isinstance(region, RowSet) else region
    kept = region.kept() if isinstance(region, RowSet) else np.zeros(pool.X.shape[1], bool)
    named = named_columns(region) & ~kept
    in_group = pool.in_group()
    numbers = named & ~in_group
    groups = [members for members in pool.groups if named[members].any()]
    possible = [np.flatnonzero(_allowed(region, members)) for members in groups]
    waiting = rows[~inside[rows]]
    if not all(map(len, possible)):  # no value of a column with categories lies in the region
        waiting = waiting[:0]
    found = [pool.X[rows[inside[rows]]]]
    for trial in range(TRIALS):
        if len(waiting) == 0:
            break
        draws = _uniform(
            pool.keys[waiting], max(int(numbers.sum()), 1) + len(groups), repeat * TRIALS + trial
        )
        X = pool.X[waiting].copy()
        gaps = region.gaps_of(X) & ~named if isinstance(region, RowSet) else np.isnan(X)
        if numbers.any():
            targets = _targets(hull, pool, numbers, draws[:, : int(numbers.sum())])
            X[:, ~named] += _following(pool, numbers, targets - X[:, numbers])[:, ~named[~numbers]]
            X[:, numbers] = targets
        for k, (members, values) in enumerate(zip(groups, possible, strict=True)):
            chosen = values[(draws[:, -1 - k] * len(values)).astype(int)]
            X[:, members] = np.eye(len(members))[chosen]
        holds = region.closed().holds(X, gaps) if isinstance(region, RowSet) else region.contains(X)
        found.append(X[holds])
        waiting = waiting[~holds]
    return np.vstack(found)


def _allowed(region: Set, members: Array) -> Array:
    """Return a mask of the values of a group that a region allows."""
    return region.allowed(members) if isinstance(region, RowSet) else allowed_values(region, members)


def _targets(region: Set, pool: Pool, named: Array, draws: Array) -> Array:
    """Return values of the named columns inside the region, for uniform draws."""
    if isinstance(region, BoxSet):
        low = np.clip(pool.low, region.low, region.high)[named]
        high = np.clip(pool.high, region.low, region.high)[named]
        return low + draws * (high - low)
    candidates = _within_data(region, pool).points(CANDIDATES)
    if len(candidates) == 0:
        raise InvalidInput(
            "no point of the region was found in the range of the data. Give rows inside it as unlabeled=, "
            "or holds='everywhere' with within=."
        )
    chosen = np.minimum((draws[:, 0] * len(candidates)).astype(int), len(candidates) - 1)
    return candidates[np.ix_(chosen, named)]


def _within_data(region: Set, pool: Pool) -> Set:
    """Return the part of a set in the range of the data, if there is one; an ellipsoid is bounded."""
    if isinstance(region, LevelSet):
        return LevelSet(region.g, np.maximum(region.low, pool.low), np.minimum(region.high, pool.high))
    if not isinstance(region, PolyhedronSet):
        return region
    eye = np.eye(len(pool.low))
    closed = PolyhedronSet(np.vstack([region.B, eye, -eye]), np.concatenate([region.d, pool.high, -pool.low]))
    return region if closed.empty else closed


def _following(pool: Pool, named: Array, change: Array) -> Array:
    """Return how the remaining columns change with the named columns, by regression."""
    R = pool.correlation
    standard = change / pool.deviation[named]
    among = R[np.ix_(named, named)].copy()
    np.fill_diagonal(among, 1.0)
    weights = np.linalg.lstsq(among, R[np.ix_(named, ~named)], rcond=None)[0]
    steps = np.clip(standard @ weights, -STEP, STEP)
    return np.asarray(steps * pool.deviation[~named] * pool.follows[~named])


def _distance(region: Set, pool: Pool) -> Array:
    """Return how far each row is from a region, in standard deviations."""
    X = pool.X
    if isinstance(region, RowSet):
        return np.maximum(_distance(region.hull, pool), 0.0) + region.violated(X)
    if isinstance(region, BoxSet):
        off = (X - np.clip(X, region.low, region.high)) / pool.deviation
        return np.asarray(np.sqrt((off**2).sum(axis=1)))
    if isinstance(region, PolyhedronSet):
        size = np.linalg.norm(region.B * pool.deviation, axis=1)
        return np.asarray(((X @ region.B.T - region.d) / np.where(size > 0, size, 1.0)).max(axis=1))
    if isinstance(region, EllipsoidSet):
        return np.asarray(np.linalg.norm((X - region.centre) / pool.deviation, axis=1))
    assert isinstance(region, LevelSet)
    return np.asarray(np.maximum(region.g(X), 0.0).max(axis=1))


def _keys(X: Array, gaps: Array | None = None) -> Array:
    """Return a number for each row that depends on its given values alone."""
    return np.frombuffer(b"".join(digests(X, gaps)), np.uint64)


def _uniform(keys: Array, columns: int, repeat: int) -> Array:
    """Return uniform numbers in [0, 1) that depend on the keys alone, by the mixing steps of SplitMix64."""
    with np.errstate(over="ignore"):
        step = np.uint64(0x9E3779B97F4A7C15)
        count = np.arange(1, columns + 1, dtype=np.uint64) + np.uint64(repeat * columns)
        z = keys[:, None] + count[None, :] * step
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        z = z ^ (z >> np.uint64(31))
    return np.asarray((z >> np.uint64(11)).astype(float) / 2.0**53)
