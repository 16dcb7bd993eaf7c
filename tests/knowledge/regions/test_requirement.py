"""Requirements s Lf(x) >= h(x) on a set: derivatives, lowest points, distinct points."""

import numpy as np
import pytest

from priorsvm import RBF
from priorsvm.function.fitted import FittedKernel
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
