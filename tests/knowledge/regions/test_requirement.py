"""Requirements s Lf(x) >= h(x) on a set: derivatives, lowest points, distinct points."""

import numpy as np
import pytest
from scipy.optimize import minimize

from priorsvm import RBF, Polynomial
from priorsvm.function.fitted import FittedKernel, Slopes
from priorsvm.kernels.standard import Pairwise
from priorsvm.knowledge.regions.requirement import Requirement, distinct
from priorsvm.knowledge.regions.sets import BoxSet

BOX = BoxSet(np.array([-1.0, -0.5]), np.array([1.0, 1.5]))
GRID = BOX.grid(90_000)


def expansion(kernel, scale=None):
    """Return a random expansion over 12 centres."""
    rng = np.random.default_rng(0)
    return FittedKernel(0.3, kernel, rng.normal(size=(12, 2)), rng.normal(size=12), scale)


@pytest.mark.parametrize("direction", [None, np.array([2.0, 0.0]), np.array([0.3, -1.0])])
@pytest.mark.parametrize("h", [1.0, lambda Z: 0.5 + Z[:, 0] ** 2])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_gradients_are_those_of_the_excess(direction, h, sign):
    f = expansion(RBF(0.7))
    requirement = Requirement(BOX, sign, h, direction)
    Z = np.random.default_rng(1).uniform(-0.5, 1, size=(6, 2))
    step = 1e-5
    found = requirement.differentiable(f)(Z)[1]
    for j, e in enumerate(np.eye(2)):
        expected = (requirement.excess(f, Z + step * e) - requirement.excess(f, Z - step * e)) / (2 * step)
        np.testing.assert_allclose(found[:, j], expected, atol=1e-4)


@pytest.mark.parametrize("kernel", [RBF(0.3), RBF(2.0), Pairwise("laplacian", {"gamma": 1.0})])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_the_worst_point_is_found(kernel, sign):
    f = expansion(kernel)
    requirement = Requirement(BOX, sign)
    found = requirement.lowest(f, GRID[:0], seed=0)
    assert BOX.contains(found).all()
    assert requirement.excess(f, found).min() <= requirement.excess(f, GRID).min() + 1e-3


def test_points_that_are_apart():
    points = np.array([[0.0, 0.0], [1e-4, 0.0], [0.5, 0.0], [0.0, 1.0]])
    assert distinct(points, points[:0], BOX).tolist() == [[0, 0], [0.5, 0], [0, 1]]
    assert distinct(points, points[2:3], BOX).tolist() == [[0, 0], [0, 1]]
    assert distinct(points, points[:0], BOX, limit=2).tolist() == [[0, 0], [0.5, 0]]


def test_distinct_points_are_the_first_that_are_apart():
    points = np.random.default_rng(0).uniform(size=(400, 2))
    region = BoxSet(np.zeros(2), np.ones(2))
    for limit in (None, 5, 60):
        expected = []
        for point in points:
            if len(expected) != limit and all(np.abs(point - x).max() > 0.05 for x in expected):
                expected.append(point)
        np.testing.assert_array_equal(distinct(points, points[:0], region, 0.05, limit), expected)


@pytest.mark.parametrize("kernel", [RBF(0.3), Polynomial(3, 0.2, 1.0)], ids=repr)
def test_slopes_in_single_precision_have_four_decimals(kernel):
    rng = np.random.default_rng(2)
    along = Slopes(rng.normal(size=(9, 3)), rng.normal(size=(9, 3)), rng.normal(size=9))
    f = FittedKernel(0.1, kernel, rng.normal(size=(20, 3)), rng.normal(size=20), None, along)
    Z, V = rng.normal(size=(2, 300, 3))
    rough = f.slopes_and_gradients(Z, V, rough=True)
    for found, exact in zip(rough, f.slopes_and_gradients(Z, V), strict=True):
        assert found.dtype == float
        assert 0 < np.abs(found - exact).max() < 1e-4 * (1 + np.abs(exact).max())
    large = FittedKernel(0.1, kernel, f.centres, 1e6 * f.weights, None, along)
    pairs = zip(large.slopes_and_gradients(Z, V, rough=True), large.slopes_and_gradients(Z, V), strict=True)
    assert all(np.array_equal(found, exact) for found, exact in pairs)


@pytest.mark.parametrize("slopes", [False, True])
def test_the_strict_search_of_slopes_finds_the_lowest_slope(slopes):
    rng = np.random.default_rng(3)
    d = 5
    direction = np.eye(d)[1]
    along = (
        Slopes(rng.normal(size=(9, d)), np.tile(direction, (9, 1)), rng.normal(size=9)) if slopes else None
    )
    f = FittedKernel(0.1, RBF(0.5), rng.normal(size=(40, d)), rng.normal(size=40), None, along)
    region = BoxSet(np.full(d, -2.5), np.full(d, 2.5))
    requirement = Requirement(region, 1.0, 0.0, direction)
    known = region.points(4)
    found = requirement.excess(f, requirement.lowest_strictly(f, known, 0)).min()

    def excess(z):
        return requirement.excess(f, z[None])[0]

    drawn = rng.uniform(-2.5, 2.5, size=(20_000, d))
    starts = drawn[np.argsort(requirement.excess(f, drawn))[:10]]
    least = min(minimize(excess, z, bounds=[(-2.5, 2.5)] * d).fun for z in starts)
    assert found <= least + 1e-5
    assert requirement.excess(f, requirement.lowest(f, known, 0)).min() <= 0.5 * least
    checked = requirement.lowest_from(f, region.points(60))
    assert region.contains(checked).all()
    assert requirement.excess(f, checked).min() <= least + 1e-5
    assert len(Requirement(region, 1.0).lowest_from(f, known)) == 0
