"""Measures found from their moments."""

import numpy as np
import pytest

from priorsvm.knowledge.worst_case.moments import atoms, atoms_of_each


def moments(places, weights, degree, at_infinity=0.0):
    """m_0 ... m_r of the measure; what is at infinity counts for the last only."""
    found = np.vander(places, degree + 1, increasing=True).T @ weights
    found[-1] += at_infinity
    return found


def measures(count, low, high, apart=0.2, draws=50):
    """Random places, sorted and not too close to each other, and their weights."""
    rng = np.random.default_rng(count)
    while draws:
        places = np.sort(rng.uniform(low, high, count))
        if count == 1 or np.diff(places).min() > apart:
            draws -= 1
            yield places, rng.uniform(0.2, 2.0, count)


@pytest.mark.parametrize(
    ("degree", "count"), [(degree, count) for degree in (2, 4, 6, 8) for count in range(1, degree // 2 + 1)]
)
def test_measures_on_a_span_are_found_from_their_moments(degree, count):
    for places, weights in measures(count, -1.0, 1.0):
        found, heights = atoms(moments(places, weights, degree))
        np.testing.assert_allclose(found, places, atol=1e-11)
        np.testing.assert_allclose(heights, weights, atol=1e-11)


@pytest.mark.parametrize(
    ("degree", "count"), [(degree, count) for degree in (2, 4, 6) for count in range(1, degree // 2 + 1)]
)
def test_measures_on_the_line_are_found_from_their_moments(degree, count):
    for places, weights in measures(count, -3.0, 3.0):
        found, heights = atoms(moments(places, weights, degree), line=True)
        np.testing.assert_allclose(found, places, atol=1e-10)
        np.testing.assert_allclose(heights, weights, atol=1e-10)


@pytest.mark.parametrize(
    ("degree", "count"), [(degree, count) for degree in (4, 6, 8) for count in range(1, degree // 2)]
)
def test_on_the_line_one_place_may_be_infinite(degree, count):
    for places, weights in measures(count, -2.0, 2.0):
        found, heights = atoms(moments(places, weights, degree, 0.7), line=True)
        np.testing.assert_allclose(found, [*places, np.inf], atol=1e-10)
        np.testing.assert_allclose(heights, [*weights, 0.7], atol=1e-9)


@pytest.mark.parametrize("degree", [2, 4, 6])
def test_on_the_line_all_may_be_at_infinity(degree):
    found, heights = atoms(moments(np.empty(0), np.empty(0), degree, 0.7), line=True)
    assert (found[heights > 0].tolist(), heights[heights > 0].tolist()) == ([np.inf], [0.7])


@pytest.mark.parametrize(("degree", "place"), [(2, 100.0), (2, 2000.0), (4, 50.0), (6, 10.0), (6, -20.0)])
def test_on_the_line_far_is_not_infinite(degree, place):
    found, heights = atoms(moments(np.array([place]), np.array([0.5]), degree), line=True)
    np.testing.assert_allclose(found, [place], rtol=1e-6)
    np.testing.assert_allclose(heights, [0.5], rtol=1e-6)


@pytest.mark.parametrize("places", [(-1, 1), (-1, 0.303, 1), (-1, -0.412, 0.303, 1)], ids=str)
def test_both_ends_take_one_place_more(places):
    """p = (1 - u^2)(u - a)^2 ... touches zero at both ends and at half the degree - 1 places between."""
    weights = np.linspace(1.0, 2.0, len(places))
    found, heights = atoms(moments(np.array(places, float), weights, 2 * (len(places) - 1)))
    kept = heights > 1e-9
    np.testing.assert_allclose(found[kept], places, atol=1e-9)
    np.testing.assert_allclose(heights[kept], weights, atol=1e-9)


def test_two_points_of_degree_one_are_their_mean():
    found, heights = atoms(np.array([2.0, 0.5]))
    assert (found.tolist(), heights.tolist()) == ([0.25], [2.0])


def test_degree_one_on_the_line_can_be_a_direction():
    for slope in (-0.7, 0.7):
        found, heights = atoms(np.array([0.0, slope]), line=True)
        assert (found.tolist(), heights.tolist()) == ([np.sign(slope) * np.inf], [0.7])


@pytest.mark.parametrize("degree", [2, 4, 6])
@pytest.mark.parametrize("line", [False, True], ids=["span", "line"])
def test_places_are_found_in_spite_of_a_solvers_noise(degree, line, rng):
    for places, weights in measures(degree // 2, -1.0, 1.0, apart=0.4, draws=20):
        exact = moments(places, weights, degree)
        found, heights = atoms(exact + 1e-10 * rng.normal(size=degree + 1), line)
        kept = heights > 1e-5
        np.testing.assert_allclose(found[kept], places, atol=1e-6)
        np.testing.assert_allclose(heights[kept], weights, atol=1e-6)


@pytest.mark.parametrize("line", [False, True], ids=["span", "line"])
def test_a_measure_all_over_the_span_is_replaced_by_one_of_the_same_moments(line):
    spread = moments(np.linspace(-0.9, 0.9, 10), np.full(10, 0.3), 4)
    found, heights = atoms(spread, line)
    finite = np.isfinite(found)
    np.testing.assert_allclose(
        moments(found[finite], heights[finite], 4, heights[~finite].sum()), spread, atol=1e-9
    )
    assert (heights > 0).all()


@pytest.mark.parametrize("line", [False, True])
@pytest.mark.parametrize("degree", [1, 2, 4, 6])
def test_atoms_of_many_rows_are_those_of_each(degree, line):
    """Of measures with one place, with several, with one at infinity, and at both ends."""
    counts = range(1, degree // 2 + 1) if degree > 1 else [1]
    reach = 3.0 if line else 1.0
    rows = [moments(u, a, degree) for count in counts for u, a in measures(count, -reach, reach, draws=8)]
    rows += [moments(np.array([-1.0, 1.0][: 1 + (degree > 1)]), np.ones(1 + (degree > 1)), degree)]
    if line:
        rows += [moments(u, a, degree, 0.7) for u, a in measures(1, -2.0, 2.0, draws=4)]
        rows += [
            moments(np.array([200.0]), np.array([0.5]), degree),
            moments(np.empty(0), np.empty(0), degree, 1.0),
        ]
    owner, places, weights = atoms_of_each(np.array(rows), line)
    assert (np.diff(owner) >= 0).all()
    for i, row in enumerate(rows):
        expected = atoms(row, line)
        np.testing.assert_allclose(places[owner == i], expected[0], rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(weights[owner == i], expected[1], rtol=1e-12, atol=1e-12)


def test_no_rows_have_no_atoms():
    assert [len(part) for part in atoms_of_each(np.empty((0, 3)))] == [0, 0, 0]
