"""Sample: the rows of one model, and whose they are."""

import numpy as np
import pytest

from priorsvm.errors import InvalidInput
from priorsvm.sample import Sample


@pytest.fixture
def sample():
    X = np.arange(12.0).reshape(6, 2)
    labels = np.array(["a", "b", "a", "b", "a", "b"])
    names = np.array(["age", "dose"], dtype=object)
    return Sample.training(X, labels, np.array(["a", "b"]), "b", feature_names=names)


def rows(k):
    return np.full((k, 2), 9.0), np.ones(k), np.full(k, 2.0), np.full(k, 0.5)


def test_training_rows(sample):
    assert len(sample) == sample.n_train == 6
    np.testing.assert_array_equal(sample.y, [-1, 1, -1, 1, -1, 1])
    np.testing.assert_array_equal(sample.cost, 1.0)
    np.testing.assert_array_equal(sample.margin, 1.0)
    np.testing.assert_array_equal(sample.source, np.arange(6))
    np.testing.assert_array_equal(sample.shares["svm"], sample.cost)


def test_training_cost_is_sample_weight():
    sample = Sample.training(np.zeros((3, 1)), np.array([0, 1, 1]), np.array([0, 1]), 1, cost=[0, 1, 2])
    np.testing.assert_array_equal(sample.cost, [0.0, 1.0, 2.0])
    np.testing.assert_array_equal(sample.shares["svm"], [0.0, 1.0, 2.0])


def test_every_other_class_is_negative():
    sample = Sample.training(np.zeros((3, 1)), np.array([0, 1, 2]), np.array([0, 1, 2]), 1)
    np.testing.assert_array_equal(sample.y, [-1, 1, -1])
    assert [sample.sign(k) for k in (0, 1, 2)] == [-1.0, 1.0, -1.0]


def test_sign_refuses_what_is_no_class(sample):
    assert (sample.sign("a"), sample.sign("b")) == (-1.0, 1.0)
    with pytest.raises(
        InvalidInput, match="label 'c' is not among the classes of the training data: 'a', 'b'"
    ):
        sample.sign("c")
    with pytest.raises(InvalidInput, match="label 1 is not among the classes"):
        sample.sign(1)


def test_columns_by_name_and_index(sample):
    assert [sample.column(k) for k in ("age", "dose", 0, np.int64(1))] == [0, 1, 0, 1]


@pytest.mark.parametrize("key", [2, -1, True, 0.0, None])
def test_columns_that_are_not_there(sample, key):
    with pytest.raises(
        InvalidInput, match=f"there is no column {key!r}: give a name, or an index from 0 to 1"
    ):
        sample.column(key)


def test_columns_of_an_array_have_names(sample):
    nameless = Sample.training(np.zeros((2, 3)), np.array([0, 1]), np.array([0, 1]), 1)
    assert [nameless.column(f"x{j}") for j in range(3)] == [0, 1, 2]
    for key in ("x3", "x01", "x-1"):
        with pytest.raises(InvalidInput, match="columns of an array are x0 to x2"):
            nameless.column(key)
    with pytest.raises(InvalidInput, match="no column 'x0'"):  # the columns of a DataFrame have one name each
        sample.column("x0")


def test_names_that_are_not_there(sample):
    with pytest.raises(InvalidInput, match=r"no column 'weight'\. The columns are: age, dose"):
        sample.column("weight")
    nameless = Sample.training(np.zeros((2, 1)), np.array([0, 1]), np.array([0, 1]), 1)
    with pytest.raises(InvalidInput, match=r"no column 'age'\. Fit on a DataFrame to use names"):
        nameless.column("age")


def test_factor_and_margin_touch_training_rows_only(sample):
    longer = sample.with_rows(*rows(2))
    changed = longer.with_factor(np.arange(6.0)).with_margin(np.full(6, 0.25))
    np.testing.assert_array_equal(changed.cost, [0, 1, 2, 3, 4, 5, 2, 2])
    np.testing.assert_array_equal(changed.margin, [0.25] * 6 + [0.5] * 2)
    np.testing.assert_array_equal(longer.cost, [1] * 6 + [2] * 2)
    np.testing.assert_array_equal(sample.cost, 1.0)


def test_more_rows_come_after(sample):
    longer = sample.with_rows(*rows(2), source=np.array([4, 5])).with_rows(*rows(1))
    assert (len(longer), longer.n_train) == (9, 6)
    np.testing.assert_array_equal(longer.X[:6], sample.X)
    np.testing.assert_array_equal(longer.X_train, sample.X)
    np.testing.assert_array_equal(longer.y_train, sample.y)
    np.testing.assert_array_equal(longer.source, [0, 1, 2, 3, 4, 5, 4, 5, -1])


@pytest.mark.parametrize("weight", [0.25, 1.0, 2.0])
def test_a_change_is_taken_as_many_times_as_its_weight(sample, weight):
    after = sample.with_factor(np.full(6, 3.0)).with_rows(*rows(2))
    changed = sample.changed_by("block", after, weight)
    np.testing.assert_allclose(changed.cost, [1 + 2 * weight] * 6 + [2 * weight] * 2)
    np.testing.assert_allclose(changed.shares["block"], [2 * weight] * 6 + [2 * weight] * 2)
    np.testing.assert_allclose(sum(changed.shares.values()), changed.cost)
    np.testing.assert_array_equal(changed.margin, after.margin)


def test_shares_of_several_blocks_are_the_cost(sample):
    first = sample.changed_by("first", sample.with_factor(np.arange(6.0)), 0.5)
    second = first.changed_by("second", first.with_rows(*rows(3)), 0.1)
    third = second.changed_by("third", second.with_factor(np.full(6, 0.5)), 1.0)
    assert list(third.shares) == ["svm", "first", "second", "third"]
    assert all(len(share) == 9 for share in third.shares.values())
    np.testing.assert_allclose(sum(third.shares.values()), third.cost)


def test_weight_zero_and_no_change_leave_the_sample(sample):
    assert sample.changed_by("block", sample.with_factor(np.zeros(6)), 0.0) is sample
    assert sample.changed_by("block", sample, 5.0) is sample
    assert "block" not in sample.shares


def test_weights_above_one_must_not_make_costs_negative(sample):
    lower = sample.with_factor(np.full(6, 0.75))
    np.testing.assert_allclose(sample.changed_by("block", lower, 4.0).cost, 0.0)
    with pytest.raises(
        InvalidInput, match=r"'block' lowers costs, and with weight 4\.1 .* negative.*at most 1"
    ):
        sample.changed_by("block", lower, 4.1)


def test_rounding_makes_no_negative_cost():
    cost = np.array([0.1, 0.3, 0.7])
    sample = Sample.training(np.zeros((3, 1)), np.array([0, 1, 1]), np.array([0, 1]), 1, cost=cost * 3)
    assert (sample.changed_by("block", sample.with_factor(np.zeros(3)), 1.0).cost == 0).all()


def test_margins_take_no_weight(sample):
    moved = sample.with_margin(np.full(6, 0.5))
    np.testing.assert_array_equal(sample.changed_by("block", moved, 1.0).margin, 0.5)
    with pytest.raises(
        InvalidInput, match="'block' changes margins, which an outer weight cannot scale: the weight is 2"
    ):
        sample.changed_by("block", moved, 2.0)
    longer = sample.with_rows(*rows(2))  # margins of rows of its own are no change
    np.testing.assert_array_equal(sample.changed_by("block", longer, 2.0).cost[6:], 4.0)


def test_same_rows_up_to_positive_costs(sample):
    assert sample.same_rows(sample.with_factor(np.arange(1.0, 7.0)))
    assert not sample.same_rows(sample.with_factor(np.arange(6.0)))
    assert not sample.same_rows(sample.with_margin(np.full(6, 0.5)))
    assert not sample.same_rows(sample.with_rows(*rows(1)))
    assert not sample.with_rows(*rows(1)).same_rows(sample.with_rows(rows(1)[0] + 1, *rows(1)[1:]))
    flipped = Sample.training(sample.X, sample.labels, sample.classes, "a")
    assert not sample.same_rows(flipped)


def test_the_old_name_of_the_model_is_explained(sample):
    with pytest.raises(AttributeError, match=r"no attribute 'machine'\. Use sample\.model"):
        _ = sample.machine
    assert not hasattr(sample, "machine")


def test_classes_of_added_rows():
    labels = np.array(["b", "a", "b", "c"])
    sample = Sample.training(np.zeros((4, 2)), labels, np.array(["a", "b", "c"]), "a")
    assert sample.class_positions.tolist() == [1, 0, 1, 2]
    one = (np.zeros((2, 2)), np.ones(2), np.ones(2), np.ones(2))
    copies = sample.with_rows(*one, source=np.array([3, 1]))
    assert copies.added_labels is None
    assert copies.class_positions.tolist() == [1, 0, 1, 2, 2, 0]
    longer = copies.with_rows(*one, labels=np.array(["c", "b"])).with_rows(*one)
    assert longer.class_positions.tolist() == [1, 0, 1, 2, 2, 0, 2, 1, -1, -1]
    assert longer.added_labels.tolist() == [None, None, "c", "b", None, None]
