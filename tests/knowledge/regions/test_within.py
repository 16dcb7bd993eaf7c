"""The part of the space that a region covers."""

import numpy as np
import pytest

from priorsvm.errors import InvalidInput
from priorsvm.knowledge.regions.sets import BoxSet, PolyhedronSet
from priorsvm.knowledge.regions.within import bounds_of, box_within, close_all, part_of_space
from priorsvm.sample import Sample

X = np.array([[0.0, 10.0], [4.0, 30.0], [2.0, 20.0]])
INF = np.inf


@pytest.fixture
def sample():
    return Sample.training(
        X, np.array([0, 1, 0]), np.array([0, 1]), 1, feature_names=np.array(["age", "bmi"], object)
    )


def closed(low, high, within, sample):
    [region] = close_all([BoxSet(np.array(low, float), np.array(high, float))], within, sample)
    return [end.tolist() for end in region.box]


@pytest.mark.parametrize(
    ("low", "high", "within", "expected"),
    [
        ([1, -INF], [INF, INF], None, [[1, -INF], [INF, INF]]),
        ([1, -INF], [INF, INF], "data", [[1, 10], [4, 30]]),
        ([1, -INF], [3, 15], "data", [[1, 10], [3, 15]]),
        ([6, -INF], [INF, INF], "data", [[6, 10], [INF, 30]]),  # beyond the data: stays whole
        ([6, -INF], [9, INF], "data", [[6, 10], [9, 30]]),
        ([1, -INF], [INF, INF], {"age": (None, 8)}, [[1, 10], [8, 30]]),
        ([1, -INF], [INF, INF], {"age": (2, 3)}, [[2, 10], [3, 30]]),
        ([1, -INF], [INF, INF], {1: (-INF, 25)}, [[1, -INF], [4, 25]]),
        ([6, -INF], [INF, INF], {"age": (None, 9)}, [[6, 10], [9, 30]]),
    ],
)
def test_where_boxes_end(low, high, within, expected, sample):
    assert closed(low, high, within, sample) == expected


def test_a_polyhedron_is_cut_like_its_box(sample):
    half = PolyhedronSet(np.array([[-1.0, -0.1]]), np.array([-3.0]))  # age + bmi / 10 >= 3
    [region] = close_all([half], "data", sample)
    np.testing.assert_allclose(region.box, [[0, 10], [4, 30]])
    beyond = PolyhedronSet(np.array([[-1.0, -0.1]]), np.array([-30.0]))
    assert close_all([beyond], "data", sample) == [beyond]
    with pytest.raises(InvalidInput, match="within leaves nothing of the region"):
        close_all([beyond], {"age": (0, 4), "bmi": (10, 30)}, sample)


def test_all_of_it(sample):
    np.testing.assert_array_equal(box_within("data", sample), [[0, 10], [4, 30]])
    np.testing.assert_array_equal(box_within({"bmi": (5, None)}, sample), [[0, 5], [4, 30]])
    low, high, given_low, given_high = part_of_space({"bmi": (5, None)}, sample)
    assert given_low.tolist() == [False, True]
    assert not given_high.any()
    np.testing.assert_array_equal((low, high), [[0, 5], [4, 30]])


@pytest.mark.parametrize(
    ("within", "message"),
    [
        ("range", "within must be 'data'"),
        ({}, "within must be a dict"),
        ({"age": (3, 2)}, "are empty: 3 is above 2"),
        ({"age": 3}, r"must be \(low, high\), got 3"),
        ({"age": (np.nan, 3)}, "must be numbers or None"),
        ({"weight": (0, 1)}, "there is no column 'weight'"),
        ({"age": (50, None)}, "within leaves nothing in column 'age': 50 to 4"),
    ],
)
def test_slips(within, message, sample):
    with pytest.raises(InvalidInput, match=message):
        box_within(within, sample)


def test_bounds_are_a_box(sample):
    box = bounds_of({"bmi": (None, 25), 0: (1, 2)}, sample)
    np.testing.assert_array_equal(box.box, [[1, -INF], [2, 25]])
