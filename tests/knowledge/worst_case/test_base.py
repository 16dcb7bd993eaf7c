"""Worst points: which are kept, which are the same, and what they say of themselves."""

import numpy as np
import pytest

from priorsvm.knowledge.views import Solved
from priorsvm.knowledge.worst_case.base import WorstCase, rows_and_slack


def found(rows, points, weights, thetas=None, errors=None, largest=1.0):
    view = Solved("block", None, largest=largest)
    thetas = None if thetas is None else np.array(thetas, float)
    return WorstCase.of(
        view, np.array(rows, int), np.array(points, float), np.array(weights, float), thetas, errors
    )


def test_points_come_in_the_order_of_their_rows():
    worst = found([2, 0, 1, 0], [[1.0], [2.0], [3.0], [4.0]], [0.1, 0.2, 0.3, 0.4])
    assert worst.rows.tolist() == [0, 0, 1, 2]
    assert worst.points[:, 0].tolist() == [2.0, 4.0, 3.0, 1.0]
    assert worst.weights.tolist() == [0.2, 0.4, 0.3, 0.1]
    assert worst.support.all()


def test_a_point_that_a_row_has_twice_is_one_point():
    worst = found([0, 1, 0], [[1.0, 2.0], [1.0, 2.0], [1.0, 2.0]], [0.1, 0.2, 0.3], [0.0, 0.0, 1e-9])
    assert worst.rows.tolist() == [0, 1]
    np.testing.assert_allclose(worst.weights, [0.4, 0.2])
    np.testing.assert_allclose(worst.thetas, [0.75e-9, 0.0], atol=1e-15)


def test_points_apart_stay_apart():
    worst = found([0, 0], [[1.0, 2.0], [1.0, 2.001]], [0.5, 0.5])
    assert len(worst.rows) == 2


def test_the_sum_over_the_points_is_what_it_was(rng):
    rows, weights = rng.integers(0, 5, 40), rng.uniform(0.1, 1.0, 40)
    points = rng.integers(0, 2, (40, 3)) + 1e-7 * rng.normal(size=(40, 3))
    worst = found(rows, points, weights)
    assert len(worst.rows) < 40
    for i in range(5):
        of, before = worst.rows == i, rows == i
        np.testing.assert_allclose(
            worst.weights[of] @ worst.points[of], weights[before] @ points[before], atol=1e-12
        )
        assert worst.weights[of].sum() == pytest.approx(weights[before].sum())


def test_what_a_solver_leaves_of_zero_is_not_support():
    worst = found([0, 1, 2, 3], np.eye(4), [1.0, 1e-7, 1e-12, 0.0])
    assert worst.rows.tolist() == [0, 1]
    assert worst.support.tolist() == [True, False]
    assert str(worst) == "1 active worst-case point of 1 row"


def test_small_is_small_against_the_whole_problem():
    worst = found([0, 1], np.eye(2), [1e-4, 1e-9], largest=1e3)
    assert worst.rows.tolist() == [0]
    assert not worst.support.any()


def test_nothing_holds():
    worst = found([], np.empty((0, 2)), [], [])
    assert len(worst.rows) == len(worst.thetas) == 0
    assert str(worst) == "0 active worst-case points of 0 rows"


def test_infinite_parameters_stay_infinite():
    worst = found([0, 0], [[1.0, 0.0], [2.0, 0.0]], [0.5, 0.5], [np.inf, -np.inf])
    assert worst.thetas.tolist() == [np.inf, -np.inf]


def test_several_parameters_are_averaged_one_by_one():
    worst = found([0, 0], [[1.0], [1.0]], [0.25, 0.75], [[0.0, 2.0], [4.0, 6.0]])
    np.testing.assert_allclose(worst.thetas, [[3.0, 5.0]])


def test_a_direction_is_no_point_though_its_numbers_are_the_same():
    """Of the path (1 + theta^2) x the direction at infinity is x itself."""
    worst = found([0, 0], [[1.0, 2.0], [1.0, 2.0]], [0.5, 0.5], [0.0, np.inf])
    assert sorted(worst.thetas.tolist()) == [0.0, np.inf]


def test_in_words():
    worst = found([0, 0, 3], np.eye(3), [0.5, 0.5, 0.5], [0.0, 1.0, 2.0], np.array([0.01, np.nan, 0.2]))
    text = "3 active worst-case points of 2 rows"
    assert str(worst) == f"{text}; f is within 0.2 of its polynomial along every trajectory"
    assert str(found([0, 0, 3], np.eye(3), [0.5] * 3)) == text
    assert str(found([0, 0, 3], np.eye(3), [0.5] * 3, errors=np.full(4, np.nan))) == text


def test_rows_and_their_places_in_the_slack():
    view = Solved("block", None, rows=np.array([1, 3, 4, 6]))
    chosen = np.array([True, True, False, False, True, True, True])
    rows, places = rows_and_slack(view, chosen)
    assert (rows.tolist(), places.tolist()) == ([1, 4, 6], [0, 2, 3])
