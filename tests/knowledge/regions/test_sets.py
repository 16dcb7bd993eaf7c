"""Sets of points against brute force: membership, bounds, least values, points."""

import itertools

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.spatial import ConvexHull

from priorsvm.errors import InvalidInput
from priorsvm.knowledge.regions.sets import (
    BoxSet,
    EllipsoidSet,
    LevelSet,
    PolyhedronSet,
    linear_minimum,
)


def polytope(corners):
    hull = ConvexHull(corners)
    return PolyhedronSet(hull.equations[:, :-1], -hull.equations[:, -1])


def corners_of(low, high):
    return np.array(list(itertools.product(*zip(low, high, strict=True))))


CORNERS = np.random.default_rng(0).normal(size=(9, 3))
MATRIX = np.random.default_rng(1).normal(size=(3, 3))
BOX = BoxSet(np.array([-1.0, 0.5, 2.0]), np.array([1.0, 0.75, 5.0]))
POLYTOPE = polytope(CORNERS)
ELLIPSOID = EllipsoidSet(np.array([1.0, -2.0, 0.5]), MATRIX)
RING = LevelSet(
    lambda X: np.abs(np.linalg.norm(X, axis=1, keepdims=True) - 1.0) - 0.2, np.full(3, -2.0), np.full(3, 2.0)
)
SETS = {"box": BOX, "polytope": POLYTOPE, "ellipsoid": ELLIPSOID, "ring": RING}


def inside_by_hand(name, X):
    if name == "box":
        return ((X >= [-1.0, 0.5, 2.0]) & (X <= [1.0, 0.75, 5.0])).all(axis=1)
    if name == "polytope":  # a mixture of the corners?
        A = np.vstack([CORNERS.T, np.ones(9)])
        return np.array([linprog(np.zeros(9), A_eq=A, b_eq=[*x, 1.0]).status == 0 for x in X])
    if name == "ellipsoid":
        return np.linalg.norm(np.linalg.solve(MATRIX, (X - [1.0, -2.0, 0.5]).T), axis=0) <= 1
    return np.abs(np.sqrt((X**2).sum(axis=1)) - 1.0) <= 0.2


@pytest.mark.parametrize("name", SETS)
def test_contains(name, rng):
    low, high = SETS[name].box
    X = rng.uniform(low - 0.2, high + 0.2, size=(300, 3))
    expected = inside_by_hand(name, X)
    assert expected.any()
    assert not expected.all()
    np.testing.assert_array_equal(SETS[name].contains(X), expected)


def test_the_box_around_each():
    np.testing.assert_allclose(POLYTOPE.box, [CORNERS.min(axis=0), CORNERS.max(axis=0)], atol=1e-9)
    z = np.random.default_rng(2).normal(size=(400_000, 3))
    surface = ELLIPSOID.centre + z / np.linalg.norm(z, axis=1, keepdims=True) @ MATRIX.T
    np.testing.assert_allclose(ELLIPSOID.box, [surface.min(axis=0), surface.max(axis=0)], atol=1e-3)
    assert all(s.bounded for s in SETS.values())


@pytest.mark.parametrize("name", ["box", "polytope", "ellipsoid"])
def test_lowest(name, rng):
    s = SETS[name]
    for _ in range(20):
        w = rng.normal(size=3)
        w[rng.integers(3)] *= rng.integers(2)
        value, where = s.lowest(w)
        assert w @ where == pytest.approx(value, abs=1e-9)
        assert s.contains(where[None], 1e-8).all()
        if name == "box":
            least = (corners_of(*s.box) @ w).min()
        elif name == "polytope":
            least = (CORNERS @ w).min()
        else:
            least = w @ s.centre - np.sqrt(w @ MATRIX @ MATRIX.T @ w)
        assert value == pytest.approx(least, abs=1e-9)


@pytest.mark.parametrize("name", ["box", "polytope", "ellipsoid"])
@pytest.mark.parametrize("size", [0.0, 1e-12, 1e-9, 1e12])
def test_lowest_of_tiny_weights(name, size):
    w = size * np.array([0.3, -1.0, 0.5])
    value, where = SETS[name].lowest(w)
    reference = size * SETS[name].lowest(w / size)[0] if size else 0.0
    assert value == pytest.approx(reference, rel=1e-9, abs=1e-300)
    assert SETS[name].contains(where[None], 1e-8).all()


def test_lowest_over_open_sides():
    half = BoxSet(np.array([1.0, -np.inf]), np.array([np.inf, np.inf]))
    assert half.lowest(np.array([2.0, 0.0]))[0] == 2.0
    assert half.lowest(np.array([-2.0, 0.0]))[0] == -np.inf
    assert half.lowest(np.array([1.0, 1e-3]))[0] == -np.inf
    assert not half.bounded
    wedge = PolyhedronSet(np.array([[-1.0, 0.0], [0.0, -1.0]]), np.array([-1.0, -2.0]))  # x >= 1, y >= 2
    assert wedge.lowest(np.array([1.0, 3.0]))[0] == pytest.approx(7.0)
    assert wedge.lowest(np.array([1.0, -1e-6]))[0] == -np.inf
    np.testing.assert_array_equal(wedge.box, [[1.0, 2.0], [np.inf, np.inf]])
    with pytest.raises(InvalidInput, match="not known in closed form"):
        RING.lowest(np.ones(3))


@pytest.mark.parametrize(
    ("B", "d", "empty"),
    [
        ([[1.0], [-1.0]], [0.0, -1.0], True),
        ([[1.0], [-1.0]], [1.0, -1.0], False),  # one point
        ([[1.0, 0.0], [-1.0, 0.0]], [0.0, -1e-3], True),
        ([[0.0, 0.0]], [-1.0], True),
        ([[0.0, 0.0]], [1.0], False),
        ([[1.0, 1.0], [-1.0, 0.0], [0.0, -1.0]], [1.0, -0.6, -0.6], True),
        ([[1.0, 1.0], [-1.0, 0.0], [0.0, -1.0]], [1.0, -0.4, -0.4], False),
        ([[1e6, 1e6], [-1e6, 0.0], [0.0, -1e6]], [1e6, -6e5, -6e5], True),
    ],
)
def test_empty(B, d, empty):
    assert PolyhedronSet(np.array(B), np.array(d)).empty is empty


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("n", [1, 7, 200])
def test_points_lie_inside_and_come_again(name, n):
    s = SETS[name]
    points = s.points(n, seed=3)
    assert s.contains(points, 1e-7).all()
    np.testing.assert_array_equal(points, s.points(n, seed=3))
    if n == 200 and name != "ring":
        assert len(points) >= n / 2
        low, high = s.box
        assert (np.ptp(points, axis=0) > 0.6 * (high - low)).all()
        assert not np.array_equal(points, s.points(n, seed=4))


def test_points_of_thin_sets():
    segment = PolyhedronSet(
        np.array([[1.0, -1.0], [-1.0, 1.0], [1.0, 0.0], [-1.0, 0.0]]), np.array([0.0, 0, 1, 0])
    )
    points = segment.points(50)
    assert len(points) >= 50
    np.testing.assert_allclose(points[:, 0], points[:, 1], atol=1e-9)
    assert np.ptp(points[:, 0]) > 0.9
    disc = EllipsoidSet(np.zeros(3), np.array([[1.0, 0.0], [0.0, 2.0], [0.0, 0.0]]))
    points = disc.points(64)
    assert disc.flat
    np.testing.assert_allclose(points[:, 2], 0.0, atol=1e-12)
    assert disc.contains(points).all()
    assert not disc.contains(np.array([[0.0, 0.0, 0.1]])).any()


@pytest.mark.slow
@pytest.mark.parametrize("name", SETS)
def test_grid(name):
    s = SETS[name]
    points = s.grid(1000)
    low, high = s.box
    lines = [np.linspace(a, b, 10) for a, b in zip(low, high, strict=True)]
    everywhere = np.array(list(itertools.product(*lines)))
    expected = everywhere[inside_by_hand(name, everywhere)]
    assert len(points) >= len(expected)  # a tolerance may keep the rim
    assert {tuple(p) for p in np.round(expected, 9)} <= {tuple(p) for p in np.round(points, 9)}
    assert s.contains(points, 1e-8).all()


def test_a_grid_in_many_dimensions_is_refused():
    with pytest.raises(InvalidInput, match=r"a grid in 30 dimensions .*Draw points instead.*points=256"):
        BoxSet(np.zeros(30), np.ones(30)).grid(256)


@pytest.mark.parametrize("name", ["box", "polytope", "ellipsoid"])
def test_meets_never_drops_a_cell_that_holds_a_point_of_the_set(name, rng):
    s = SETS[name]
    low, high = s.box
    M, H = rng.uniform(low - 0.3, high + 0.3, size=(300, 3)), rng.uniform(0.01, 0.3, size=(300, 3))
    kept = s.meets(M - H, M + H)
    for m, h, meets in zip(M, H, kept, strict=True):
        inside = m + h * rng.uniform(-1, 1, size=(200, 3))
        assert meets or not s.contains(inside).any()
    if name != "box":
        assert not kept.all()


@pytest.mark.parametrize("name", SETS)
def test_minima_find_the_least_value(name, rng):
    s = SETS[name]
    target = s.points(64, seed=1).mean(axis=0) + np.array([0.3, -0.2, 0.1])

    def value(X):
        return ((X - target) ** 2).sum(axis=1)

    ends = s.minima(lambda X: (value(X), 2 * (X - target)), s.points(64, seed=2)[:10])
    assert s.contains(ends, 1e-6).all()
    low, high = s.box
    dense = rng.uniform(low, high, size=(200_000, 3))
    dense = dense[s.contains(dense)]
    assert value(ends).min() <= value(dense).min() + 1e-4


def test_descent_in_a_set_given_by_functions_moves_all_starts_at_once():
    def g(Z):
        far = np.where(Z[:, 0] > 2.5, np.inf, Z[:, 0] - 1.5)  # a function may be infinite
        return np.column_stack([np.sum(Z**2, axis=1) - 1.0, -Z[:, 1] - 0.5, far])

    ball = LevelSet(g, np.full(3, -3.0), np.full(3, 3.0))
    target = np.array([2.0, -2.0, 0.0])
    calls = []

    def function(Z):
        calls.append(len(Z))
        return np.sum((Z - target) ** 2, axis=1), 2 * (Z - target)

    starts = np.vstack([ball.points(60, seed=1), [[2.9, 0.0, 0.0]]])
    ends = ball.minima(function, starts, 40, np.array([1.0, 2.0, 0.5]))
    assert calls[0] == 61
    assert len(calls) <= 41
    assert len(ends) >= 55
    assert ball.contains(ends, 1e-6).all()
    values = function(ends)[0]
    least = (2.0 - np.sqrt(0.75)) ** 2 + 1.5**2  # on the sphere and on the plane
    assert least - 1e-6 <= values.min() <= least + 1e-3
    assert np.median(values) <= least + 0.02


def test_a_constant_column_stays_put(rng):
    flat = BoxSet(np.array([0.0, 2.0]), np.array([1.0, 2.0]))
    ends = flat.minima(lambda X: ((X**2).sum(axis=1), 2 * X), flat.points(8))
    np.testing.assert_allclose(ends, [[0.0, 2.0]] * len(ends), atol=1e-6)
    assert (flat.points(16)[:, 1] == 2.0).all()
    assert (flat.grid(16)[:, 1] == 2.0).all()


@pytest.mark.parametrize("seed", range(8))
def test_strips_are_unbounded(seed):
    """The presolve of HiGHS reports the linear programmes over them as infeasible."""
    row = np.random.default_rng(seed).normal(size=3).round(3)
    strip = PolyhedronSet(np.array([row, -row]), np.array([1.3, -0.5]))
    assert not strip.empty
    assert np.isinf(strip.box).all()


@pytest.mark.parametrize("unit", [1e-12, 1e-8, 1.0, 1e8])
def test_units_do_not_matter(unit):
    full = PolyhedronSet(np.array([[1.0, 1.0], [-1.0, 0.0], [0.0, -1.0]]), unit * np.array([1.0, 0.0, 0.0]))
    assert full.lowest(np.array([-1.0, -2.0]))[0] == pytest.approx(-2 * unit)
    assert full.contains(unit * np.array([[0.5, 0.5], [0.51, 0.5]])).tolist() == [True, False]


@pytest.mark.parametrize("factor", [1e-9, 1e-3, 1e6])
def test_factors_of_rows_do_not_matter(factor):
    B, d = np.vstack([np.eye(2), -np.eye(2)]), np.ones(4)
    square = PolyhedronSet(factor * B, factor * d)
    np.testing.assert_allclose(square.box, [[-1, -1], [1, 1]])
    assert square.contains(np.array([[1.0, 0.0], [1.005, 0.0]]), 1e-7).tolist() == [True, False]
    least, where = linear_minimum(np.array([1e-11, 2e-11]), square.B, square.d)
    assert least == pytest.approx(-3e-11)
    np.testing.assert_allclose(where, [-1, -1])


def test_a_missing_value_is_in_no_box():
    X = np.array([[0.0, 1.0, 5.0], [0.0, np.nan, 5.0], [np.nan, 1.0, 5.0], [3.0, 1.0, -np.inf]])
    box = BoxSet(np.array([-1.0, -np.inf, -np.inf]), np.array([4.0, np.inf, np.inf]))
    assert box.contains(X).tolist() == [True, False, False, True]


def test_rows_are_compared_exactly_and_points_of_a_search_by_the_width():
    box = BoxSet(np.array([1.7e9, 0.0]), np.array([1.7e9 + 100, 1e-9]))
    rows = np.array([[1.7e9, 1e-9], [1.7e9 - 1, 0.0], [1.7e9, 1.001e-9]])
    assert box.contains(rows).tolist() == [True, False, False]
    points = np.array([[1.7e9 - 1e-7, -1e-18], [1.7e9 - 1e-3, 0.0], [1.7e9, -1e-15]])
    assert not box.contains(points)[1:].any()
    assert box.contains(points, 1e-7).tolist() == [True, False, False]
    half = BoxSet(np.array([2.0]), np.array([np.inf]))
    assert half.contains(np.array([[2.0], [np.nextafter(2.0, 0)]])).tolist() == [True, False]
    assert half.contains(np.array([[2.0 - 1e-9], [2.0 - 1e-6]]), 1e-8).tolist() == [True, False]


def test_a_small_function_is_compared_exactly():
    level = LevelSet(lambda X: X[:, :1] - 5e-10, np.zeros(1), np.array([1e-9]))
    assert level.contains(np.array([[5e-10], [6e-10]])).tolist() == [True, False]
    assert level.contains(np.array([[5e-10 + 1e-18], [6e-10]]), 1e-7).tolist() == [True, False]


def test_sums_have_the_tolerance_of_rounding():
    region = PolyhedronSet(np.array([[1.0, 1.0]]), np.array([0.3]))
    assert region.contains(np.array([[0.1, 0.2], [0.1, 0.2 + 1e-12]])).tolist() == [True, False]
    assert region.contains(np.array([[0.1, 0.2 + 1e-12], [0.1, 0.21]]), 1e-9).tolist() == [True, False]


@pytest.mark.parametrize("n", [10, 1000])
def test_a_box_contains_rows_that_few_and_many_sides_exclude(n):
    rng = np.random.default_rng(n)
    X = rng.uniform(size=(n, 6))
    X[0, 4] = np.nan
    X[1, 5] = np.nan
    for _ in range(20):
        low = rng.uniform(-0.2, 0.3, 6)
        high = low + rng.uniform(0.3, 1.0, 6)
        low[5] = -np.inf
        high[[3, 5]] = np.inf
        expected = ((low <= X) & (high >= X)).all(axis=1)
        np.testing.assert_array_equal(BoxSet(low, high).contains(X), expected)
