r"""Points of a region that are rows as they occur: rows inside, and near rows moved into the region.

A rule over rows means that rows like those of the table which satisfy it belong to a class. The points of
such a rule are the rows nearest to its region. A row inside is a point as it is. Of another row, the columns
that the rule names are drawn in the region, and the remaining columns follow by regression on the change.
Every draw depends on the content of the row, so the order of the rows does not matter.

A rule everywhere sets the weights of columns it does not name to zero (9 of 13 on a clinical table).
Completed values count as gaps. Sums over rows are taken in an order of their content, because the last digit
of a sum depends on the order. The pool counts each row once: with weights as counts, survey weights of 5000
would leave one row.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from ..._utils.arrays import Array, whole_columns
from ..._utils.cache import kept_while_alive
from ..._utils.checks import LARGEST
from ..._utils.row_keys import digests, name_order
from ...errors import BadRule, InvalidInput
from ...sample import Sample
from .groups import allowed_values
from .in_range import candidates
from .row_set import RowSet, is_linear
from .sets import SEARCHED, BoxSet, EllipsoidSet, LevelSet, PolyhedronSet, Set

# Rows of the pool that become points: a third, within these limits, repeated to at least POINTS.
FEWEST = 25
MOST = 300
POINTS = 50
# Columns that follow move by at most so many standard deviations.
STEP = 2.0
# Up to so many alternatives of a rule have all points each; more alternatives share the points of so many.
ALTERNATIVES = 6
# Points of each alternative at least.
EACH = 2
# More draws, as a multiple of the usual number, if rows remain that were not moved into the region.
MORE = 5
# Draws for each row until a condition holds that has no convex set of numbers.
TRIALS = 60
# Whole numbers to draw from, evenly spaced if the range of a column contains more.
WHOLE = 1000
_TOO_LARGE = f"the region has limits beyond {LARGEST:g}, whose squares overflow. Check them and their units."


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
        A number for each row that depends on its given values alone, in increasing order.
    groups : list of arrays of int
        The encoded columns of each column with categories.
    order : array of int of shape (d,)
        The columns by name, so that their places in the table do not matter.
    gaps : array of bool of shape (N, d), or (1, d) without gaps
        The completed values, which may be fractions in a column of whole numbers.
    """

    X: Array
    low: Array
    high: Array
    deviation: Array
    correlation: Array
    follows: Array
    keys: Array
    groups: list[Array]
    order: Array
    gaps: Array

    @classmethod
    def of(cls, sample: Sample, unlabeled: Array | None) -> Pool:
        """Return the pool of the training rows and some unlabelled rows."""
        by_name = name_order(sample.feature_names, sample.X.shape[1])
        X = sample.weighted_rows()[0]
        given = _gaps(sample, 0 if unlabeled is None else len(unlabeled))
        if unlabeled is None:
            order, keys = _training_order(sample)
        else:
            X = np.vstack([X, unlabeled])
            order, keys = _ordered(X, given, by_name)
        # Sums over the rows depend on their order in the last digit, and ties would depend on it, too.
        X = X[order]
        gaps = np.zeros((1, X.shape[1]), bool) if given is None else given[order]
        low = X.min(axis=0)
        high = X.max(axis=0)
        deviation = X.std(axis=0)
        # A column of two values, such as a member of a one-hot group, has no values in between.
        follows = (deviation > 0) & ~((low == X) | (high == X) | gaps).all(axis=0)
        deviation = np.where(deviation > 0, deviation, 1.0)
        standard = (X - X.mean(axis=0)) / deviation
        R = standard.T @ standard / len(X)
        R = np.sign(R) * np.maximum(np.abs(R) - 1.0 / np.sqrt(len(X)), 0.0)
        groups = [] if sample.encoding is None else [group.members for group in sample.encoding.groups]
        for members in groups:
            follows[members] = False
        groups.sort(key=lambda members: int(np.argmax(by_name == members[0])))
        return cls(X, low, high, deviation, R, follows, keys, groups, by_name, gaps)

    def draws(self, rows: Array, columns: Array, repeat: int, further: int = 0) -> Array:
        """Return uniform numbers for rows: one for each column of a mask, and some further ones.

        They depend on the content of the rows and on the names of the columns alone.
        """
        count = int(columns.sum())
        found = _uniform(self.keys[rows], count + further, repeat)
        place = np.argsort(np.argsort(np.argsort(self.order)[columns]))
        return np.hstack([found[:, place], found[:, count:]])

    @cached_property
    def two_valued(self) -> Array:
        """Mask of the columns of numbers with two values that occur more than once each."""
        at_low = self.low == self.X
        at_high = self.high == self.X
        both = (self.low < self.high) & (at_low | at_high | self.gaps).all(axis=0)
        often = (at_low.sum(axis=0) > 1) & (at_high.sum(axis=0) > 1)
        return np.asarray(both & often & ~self.in_group())

    @cached_property
    def whole(self) -> Array:
        """Mask of the columns of whole numbers with more than two values."""
        return np.asarray(self.follows & whole_columns(self.X, self.gaps))

    def in_group(self) -> Array:
        """Return a mask of the columns that belong to a group."""
        mask = np.zeros(self.X.shape[1], bool)
        for members in self.groups:
            mask[members] = True
        return mask


def points_on_rows(region: Set, pool: Pool, alternatives: int = 1) -> Array:
    """Return points of a region that are rows as they occur.

    Parameters
    ----------
    region : Set
        Its sides may be open.
    pool : Pool
        The rows.
    alternatives : int, default=1
        Number of regions that share the points.

    Returns
    -------
    array of shape (M, d)

    Raises
    ------
    BadRule
        No row of the pool lies in the region, and none can be moved into it.
    InvalidInput
        The region is so far from the data that squares of its values overflow.
    """
    _check_size(region)
    inside = region.contains(pool.X)
    distance = np.where(inside, 0.0, _distance(region, pool))
    count = min(len(pool.X), MOST, max(FEWEST, -(-len(pool.X) // 3)))
    repeats = -(-POINTS // count)
    share = count * repeats
    if alternatives > ALTERNATIVES:
        share = max(EACH, ALTERNATIVES * share // alternatives)
        count = min(count, share)
        repeats = -(-share // count)
    nearest = _nearest(distance, count)
    move = _moved_by_trials if _needs_trials(region, pool) else _moved
    targets = _Targets.of(region, pool)
    points = move(region, targets, nearest, inside, 0)
    for repeat in range(1, MORE * repeats):
        if len(points) == 0 or (repeat >= repeats and len(points) >= min(POINTS, share)):
            break
        points = np.vstack([points, move(region, targets, nearest, inside, repeat)])
    if alternatives > ALTERNATIVES:
        points = points[:share]
    if not (np.abs(points) <= LARGEST).all():
        raise InvalidInput(_TOO_LARGE)
    if len(points) == 0:
        raise BadRule(
            "no row satisfies the rule, and none was found with other values of its columns. Correct the "
            "rule, or give rows that satisfy it as unlabeled=."
        )
    return points


def require_values(region: Set, sample: Sample) -> None:
    """Raise InvalidInput if a region contains no value of a column with categories."""
    encoding = sample.encoding
    if encoding is None:
        return
    for group in encoding.groups:
        if not allowed_values(region, group.members).any():
            raise InvalidInput(
                f"the region contains no value of column {encoding.names[group.column]!r}. A row has exactly "
                "one value: restrict one value to (1, 1), or some values to (0, 0)."
            )


def _check_size(region: Set) -> None:
    """Raise InvalidInput if squares of the limits of a region overflow."""
    hull = region.hull if isinstance(region, RowSet) else region
    ends = hull.inequalities[1] if isinstance(hull, (BoxSet, PolyhedronSet)) else np.concatenate(hull.box)
    if (np.abs(ends[np.isfinite(ends)]) > LARGEST).any():
        raise InvalidInput(_TOO_LARGE)


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


def inside_as_given(region: Set, sample: Sample) -> Array:
    """Return a mask of the training rows in a region, without rows that a completed value brings inside."""
    inside = region.contains(sample.X_train)
    if sample.gaps is None:
        return inside
    compared = named_columns(region)
    if isinstance(region, RowSet):
        compared = compared & ~region.kept()
    elif isinstance(region, (BoxSet, PolyhedronSet)):  # the range of the data excludes no row
        B, d = region.inequalities
        compared = np.asarray(B[(sample.X_train @ B.T > d).any(axis=0)].any(axis=0))
    return np.asarray(inside & ~(sample.gaps & compared).any(axis=1))


def _moved(region: Set, targets: _Targets, rows: Array, inside: Array, repeat: int) -> Array:
    """Return rows of the pool, moved into the region if they are outside."""
    pool = targets.pool
    X = pool.X[rows].copy()
    outside = np.flatnonzero(~inside[rows])
    if len(outside) == 0:
        return X
    named = targets.named
    values = targets.drawn(named, pool.draws(rows[outside], named, repeat))
    moved = X[outside]
    change = values - moved[:, named]
    moved[:, named] = values
    moved[:, ~named] += targets.following(named, change)
    X[outside] = moved
    return X


def _needs_trials(region: Set, pool: Pool) -> bool:
    """Return whether a region has conditions beyond a convex set of numbers."""
    if isinstance(region, RowSet):
        return not all(is_linear(condition) for condition in region.conditions)
    return bool((named_columns(region) & pool.in_group()).any())


def _moved_by_trials(region: Set, targets: _Targets, rows: Array, inside: Array, repeat: int) -> Array:
    """Return rows inside the region, and rows moved by draws until the region contains them.

    Numbers are drawn in the hull of the region. A column with categories takes an allowed value. Rows for
    which no trial succeeds are left out.
    """
    pool = targets.pool
    tol = SEARCHED if isinstance(targets.hull, PolyhedronSet) else 0.0
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
        draws = pool.draws(waiting, numbers, repeat * TRIALS + trial, len(groups) + (not numbers.any()))
        X = pool.X[waiting].copy()
        gaps = region.gaps_of(X) & ~named if isinstance(region, RowSet) else np.isnan(X)
        if numbers.any():
            values = targets.drawn(numbers, draws[:, : int(numbers.sum())])
            X[:, ~named] += targets.following(numbers, values - X[:, numbers])[:, ~named[~numbers]]
            X[:, numbers] = values
        for k, (members, allowed) in enumerate(zip(groups, possible, strict=True)):
            chosen = allowed[(draws[:, -1 - k] * len(allowed)).astype(int)]
            X[:, members] = np.eye(len(members))[chosen]
        if isinstance(region, RowSet):
            holds = region.closed().holds(X, gaps, tol)
        else:
            holds = region.contains(X, SEARCHED)
        found.append(X[holds])
        waiting = waiting[~holds]
    return np.vstack(found)


def _allowed(region: Set, members: Array) -> Array:
    """Return a mask of the values of a group that a region allows."""
    return region.allowed(members) if isinstance(region, RowSet) else allowed_values(region, members)


@dataclass(frozen=True, eq=False)
class _Targets:
    """Values that rows can move to.

    Attributes
    ----------
    hull : Set
        The closure of the linear conditions of the region.
    pool : Pool
        The rows.
    values : dict of int to array
        The values that the region allows in each column of two values, and in each column of whole numbers if
        the hull is a box. Columns without one are left out.
    """

    hull: Set
    pool: Pool
    values: dict[int, Array]
    _weights: dict[bytes, Array] = field(default_factory=dict)

    @cached_property
    def named(self) -> Array:
        """Mask of the columns that the hull restricts."""
        return named_columns(self.hull)

    @classmethod
    def of(cls, region: Set, pool: Pool) -> _Targets:
        """Return the values of a region."""
        hull = region.hull if isinstance(region, RowSet) else region
        named = named_columns(region)
        values = {}
        for j in np.flatnonzero(named & pool.two_valued).tolist():
            both = np.array([pool.low[j], pool.high[j]])
            values[j] = both[_allowed_alone(region, both, j)]
        if isinstance(hull, BoxSet):
            for j in np.flatnonzero(named & pool.whole).tolist():
                values[j] = _whole_numbers(region, hull, pool, j)
        return cls(hull, pool, {j: found for j, found in values.items() if len(found)})

    def drawn(self, named: Array, draws: Array) -> Array:
        """Return values of the named columns inside the hull, for uniform draws."""
        if isinstance(self.hull, BoxSet):
            low = np.clip(self.pool.low, self.hull.low, self.hull.high)[named]
            high = np.clip(self.pool.high, self.hull.low, self.hull.high)[named]
            targets = np.clip(low + draws * (high - low), low, high)
            decided = np.zeros(len(named), bool)
        else:
            chosen = np.minimum((draws[:, 0] * len(self._points)).astype(int), len(self._points) - 1)
            targets = self._points[np.ix_(chosen, named)]
            decided = self.named
        for k, j in enumerate(np.flatnonzero(named).tolist()):
            if j in self.values and not decided[j]:
                targets[:, k] = self.values[j][(draws[:, k] * len(self.values[j])).astype(int)]
        return np.asarray(targets)

    def following(self, named: Array, change: Array) -> Array:
        """Return how the remaining columns change with the named columns, by regression."""
        pool = self.pool
        rest = ~named
        key = named.tobytes()
        if key not in self._weights:
            R = pool.correlation[named]
            among = R[:, named]
            np.fill_diagonal(among, 1.0)
            self._weights[key] = np.linalg.lstsq(among, R[:, rest], rcond=None)[0]
        standard = change / pool.deviation[named]
        limited = np.clip(standard @ self._weights[key], -STEP, STEP)
        steps = limited * pool.deviation[rest] * pool.follows[rest]
        return np.where(pool.whole[rest], np.rint(steps), steps)

    @cached_property
    def _points(self) -> Array:
        """Points of a hull that is not a box."""
        pool = self.pool
        found = candidates(self.hull, pool.low, pool.high, pool.deviation, self.values)
        if len(found) == 0:
            raise InvalidInput(
                "no point of the region was found in the range of the data. Give rows inside it as "
                "unlabeled=, or holds='everywhere' with within=."
            )
        return found


def _whole_numbers(region: Set, hull: BoxSet, pool: Pool, column: int) -> Array:
    """Return the whole numbers of a column that a region allows: in the range of the data, or next to it."""
    low, high = np.clip([pool.low[column], pool.high[column]], hull.low[column], hull.high[column])
    first = np.floor(low) - 1.0
    last = np.ceil(high) + 1.0
    numbers = np.unique(np.rint(np.linspace(first, last, int(min(last - first + 1, WHOLE)))))
    allowed = numbers[_allowed_alone(region, numbers, column)]
    off = np.abs(allowed - np.clip(allowed, low, high))
    return allowed[off == off.min(initial=np.inf)]


def _allowed_alone(region: Set, values: Array, column: int) -> Array:
    """Return a mask of the values of a column that the conditions on this column alone allow."""
    if isinstance(region, RowSet):
        rows = np.full((len(values), len(region.box[0])), np.nan)
        rows[:, column] = values
        return region.holds_alone(rows, column)
    if isinstance(region, BoxSet):
        return np.asarray((region.low[column] <= values) & (values <= region.high[column]))
    return np.ones(len(values), bool)


def _distance(region: Set, pool: Pool) -> Array:
    """Return how far each row is from a region, in standard deviations."""
    X = pool.X
    if isinstance(region, RowSet):
        return np.maximum(_distance(region.hull, pool), 0.0) + region.violated(X)
    if isinstance(region, BoxSet):
        off = (X - np.clip(X, region.low, region.high)) / pool.deviation
        return np.asarray(np.sqrt((off[:, pool.order] ** 2).sum(axis=1)))
    if isinstance(region, PolyhedronSet):
        size = np.linalg.norm(region.B * pool.deviation, axis=1)
        return np.asarray(((X @ region.B.T - region.d) / np.where(size > 0, size, 1.0)).max(axis=1))
    if isinstance(region, EllipsoidSet):
        return np.asarray(np.linalg.norm((X - region.centre) / pool.deviation, axis=1))
    assert isinstance(region, LevelSet)
    return np.asarray(np.maximum(region.g(X), 0.0).max(axis=1))


def _keys(X: Array, gaps: Array | None = None, order: Array | None = None) -> Array:
    """Return a number for each row that depends on its given values alone."""
    return np.frombuffer(b"".join(digests(X, gaps, order=order)), np.uint64)


def _gaps(sample: Sample, further: int = 0) -> Array | None:
    """Return a mask of the completed values of the training rows, and of further rows without such values."""
    if sample.gaps is None:
        return None
    gaps = sample.gaps[sample.weights > 0]
    return np.vstack([gaps, np.zeros((further, gaps.shape[1]), bool)])


@kept_while_alive
def _training_order(sample: Sample) -> tuple[Array, Array]:
    """Return the order of the training rows and their keys, which all blocks on rows share."""
    X = sample.weighted_rows()[0]
    return _ordered(X, _gaps(sample), name_order(sample.feature_names, X.shape[1]))


def _ordered(X: Array, gaps: Array | None, by_name: Array) -> tuple[Array, Array]:
    """Return the order of rows by their keys, and the sorted keys. Equal keys are in the order of values."""
    keys = _keys(X, gaps, by_name)
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    equal = keys[1:] == keys[:-1]
    tied = np.flatnonzero(np.append(equal, False) | np.append(False, equal))
    rows = order[tied]
    order[tied] = rows[np.lexsort([*X[rows].T, keys[tied]])]
    return order, keys


def _nearest(distance: Array, count: int) -> Array:
    """Return the rows of the smallest distances; of equal distances the first rows count."""
    limit = np.partition(distance, count - 1)[count - 1]
    rows = np.flatnonzero(distance <= limit)
    return np.asarray(rows[np.argsort(distance[rows], kind="stable")[:count]])


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
