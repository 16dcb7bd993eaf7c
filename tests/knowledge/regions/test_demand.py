"""A demand, s Lf(x) >= h(x) on a set: its derivatives, its worst points, its least value."""

import numpy as np
import pytest

from priorsvm import RBF, PriorSVC
from priorsvm.knowledge.regions.exact import least_value
from priorsvm.knowledge.regions.minimum import proven_minimum
from priorsvm.knowledge.regions.requirement import Requirement, distinct
from priorsvm.knowledge.regions.sets import BoxSet

rng = np.random.default_rng(0)
X = rng.normal(size=(40, 2))
y = (np.sin(2 * X[:, 0]) + X[:, 1] > 0).astype(int)
BOX = BoxSet(np.array([-1.0, -0.5]), np.array([1.0, 1.5]))
GRID = BOX.grid(90_000)


def fitted(**parameters):
    return PriorSVC(**parameters).fit(X, y)._machines[0].f


@pytest.mark.parametrize("direction", [None, np.array([2.0, 0.0]), np.array([0.3, -1.0])])
@pytest.mark.parametrize("h", [1.0, lambda Z: 0.5 + Z[:, 0] ** 2])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_gradients_are_those_of_the_excess(direction, h, sign):
    f, demand = fitted(kernel=RBF(0.7)), Requirement(BOX, sign, h, direction)
    Z, step = rng.uniform(-0.5, 1, size=(6, 2)), 1e-5
    found = demand._gradient(f)(Z)
    for j, e in enumerate(np.eye(2)):
        expected = (demand.excess(f, Z + step * e) - demand.excess(f, Z - step * e)) / (2 * step)
        np.testing.assert_allclose(found[:, j], expected, atol=1e-4)


@pytest.mark.parametrize("kernel", [RBF(0.3), RBF(2.0), "laplacian"])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_the_worst_point_is_found(kernel, sign):
    f, demand = fitted(kernel=kernel), Requirement(BOX, sign)
    found = demand.lowest(f, GRID[:0], seed=0)
    assert BOX.contains(found).all()
    assert demand.excess(f, found).min() <= demand.excess(f, GRID).min() + 1e-3


@pytest.mark.parametrize("direction", [None, np.array([0.5, 0.0])])
def test_the_least_value_is_proven(direction):
    f, demand = fitted(kernel=RBF(0.5), scale="standard"), Requirement(BOX, 1.0, 0.0, direction)
    found = proven_minimum(f, demand, GRID[::1000], 200_000)
    least = demand.excess(f, GRID).min()
    assert found.low <= least + 1e-12
    assert found.high == pytest.approx(least, abs=2e-3)
    assert found.high - found.low <= 2e-4


def test_linear_functions_are_least_in_a_corner():
    f = fitted(scale="standard")
    for sign in (1.0, -1.0):
        least, where = least_value(f, Requirement(BOX, sign))
        assert least == pytest.approx((sign * f.value(GRID)).min(), abs=1e-9)
        assert sign * f.value(where[None])[0] == pytest.approx(least)


def test_points_that_are_apart():
    points = np.array([[0.0, 0.0], [1e-4, 0.0], [0.5, 0.0], [0.0, 1.0]])
    assert distinct(points, points[:0], BOX).tolist() == [[0, 0], [0.5, 0], [0, 1]]
    assert distinct(points, points[2:3], BOX).tolist() == [[0, 0], [0, 1]]
    assert distinct(points, points[:0], BOX, limit=2).tolist() == [[0, 0], [0.5, 0]]
