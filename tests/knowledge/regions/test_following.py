"""Columns that a rule on rows does not name follow the columns that it names."""

import numpy as np
import pytest

from priorsvm import PriorSVC
from priorsvm.knowledge.regions.on_rows import STEP, Pool, points_on_rows
from priorsvm.knowledge.regions.sets import BoxSet
from priorsvm.validation import make_task


@pytest.fixture
def rows():
    """Return rows of a value, a column that follows it, a 0/1 column, a constant, and an unrelated column."""
    rng = np.random.default_rng(0)
    value = rng.normal(size=90)
    follower = value + 0.5 * rng.normal(size=90)
    word = (value + 0.3 * rng.normal(size=90) > 1).astype(float)
    return np.column_stack([value, follower, word, np.full(90, 3.0), rng.normal(size=90)])


def pool_of(X):
    y = (X[:, 0] > 0).astype(int)
    return Pool.of(make_task(PriorSVC(), X, y, None, {}).samples[0], None)


def above(column, threshold, d=5):
    low = np.full(d, -np.inf)
    low[column] = threshold
    return BoxSet(low, np.full(d, np.inf))


def moved(X, region):
    """Return the points of a region and the rows that they come from, both without rows inside."""
    points = points_on_rows(region, pool_of(X))
    unrelated = X[:, -1]  # does not follow and identifies a row
    assert np.abs(np.corrcoef(X[:, [0, 2, 4]].T)[2, :2]).max() < 1 / np.sqrt(len(X))
    origin = np.array([np.argmin(np.abs(unrelated - p[-1])) for p in points])
    outside = ~region.contains(X[origin])
    return points[outside], X[origin][outside]


def test_words_and_constants_stay_while_related_columns_follow(rows):
    points, origin = moved(rows, above(0, 1.5))
    assert len(points) > 10
    np.testing.assert_array_equal(points[:, 2:], origin[:, 2:])
    shrunk = np.corrcoef(rows[:, 0], rows[:, 1])[0, 1] - 1 / np.sqrt(90)
    step = shrunk * (points[:, 0] - origin[:, 0]) / rows[:, 0].std()
    expected = origin[:, 1] + np.clip(step, -STEP, STEP) * rows[:, 1].std()
    np.testing.assert_allclose(points[:, 1], expected, atol=1e-12)


def test_columns_follow_a_word_that_the_rule_names(rows):
    points, origin = moved(rows, above(2, 1.0))
    assert len(points) > 10
    shrunk = np.corrcoef(rows[:, 2], rows[:, 0])[0, 1] - 1 / np.sqrt(90)
    step = np.minimum(shrunk / rows[:, 2].std(), STEP) * rows[:, 0].std()
    np.testing.assert_allclose(points[:, 0] - origin[:, 0], step, atol=1e-12)
    assert set(points[:, 2]) == {1.0}
