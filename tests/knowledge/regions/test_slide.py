"""Active points that move together: the norm of f decreases at fixed dual variables."""

import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel

from priorsvm import RBF, Polynomial
from priorsvm.function.atoms import Atoms
from priorsvm.function.fitted import FittedKernel, Slopes
from priorsvm.knowledge.regions.descent import descend_jointly
from priorsvm.knowledge.regions.requirement import Requirement, half_distances, merged
from priorsvm.knowledge.regions.sets import BoxSet, EllipsoidSet, LevelSet, polyhedron
from priorsvm.knowledge.regions.slide import movable, replaced, slide

LOW = np.array([-1.0, -0.5])
HIGH = np.array([1.0, 1.5])
REGIONS = [
    BoxSet(LOW, HIGH),
    EllipsoidSet(np.array([0.0, 0.5]), np.diag([1.0, 0.7])),
    polyhedron(np.array([[1.0, 1.0], [-1.0, 0.0], [0.0, -1.0]]), np.array([1.5, 1.0, 0.5])),
]


def expansion(kernel, sign, points, duals):
    """Return f over 12 rows and over the points with their dual variables."""
    rng = np.random.default_rng(0)
    centres = np.vstack([rng.normal(size=(12, 2)), points])
    weights = np.concatenate([rng.normal(size=12), sign * duals])
    return FittedKernel(0.3, kernel, centres, weights, None)


def squared_norm(f, points, duals, sign):
    """Return |g|^2 with the last points of f replaced."""
    rows = np.vstack([f.centres[:12], points])
    weights = np.concatenate([f.weights[:12], sign * duals])
    return weights @ f.kernel(rows) @ weights


@pytest.mark.parametrize("region", REGIONS, ids=["box", "ellipsoid", "polyhedron"])
@pytest.mark.parametrize("kernel", [RBF(0.7), Polynomial(2, gamma=0.5, coef0=1.0)], ids=["rbf", "polynomial"])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_the_norm_decreases_and_points_stay_inside(region, kernel, sign):
    points = region.points(8, 1)[-5:]
    duals = np.array([0.3, 1.0, 2.0, 0.1, 0.7])
    f = expansion(kernel, sign, points, duals)
    requirement = Requirement(region, sign)
    np.testing.assert_array_equal(movable(f, requirement, points, duals), duals)
    moved, weights, lift = slide(f, requirement, points, duals, np.full(5, 1e-3))
    assert region.contains(moved, 1e-7).all()
    assert weights.sum() == pytest.approx(duals.sum())
    np.testing.assert_allclose(lift, 1e-3)
    assert squared_norm(f, moved, weights, sign) < squared_norm(f, points, duals, sign)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_points_of_slopes_decrease_the_norm_too(sign):
    direction = np.array([0.0, 2.0])
    points = REGIONS[0].points(8, 1)[-5:]
    duals = np.array([0.3, 1.0, 2.0, 0.1, 0.7])
    rng = np.random.default_rng(0)
    centres, weights = rng.normal(size=(12, 2)), rng.normal(size=12)
    other = rng.normal(size=(3, 2))
    along = np.vstack([np.tile(direction, (5, 1)), np.tile([1.0, 0.0], (3, 1))])
    slopes = Slopes(np.vstack([points, other]), along, np.concatenate([sign * duals, rng.normal(size=3)]))
    f = FittedKernel(0.3, RBF(0.7), centres, weights, None, slopes)
    requirement = Requirement(REGIONS[0], sign, 0.0, direction)
    np.testing.assert_array_equal(movable(f, requirement, points, duals), duals)
    moved, dual, _ = slide(f, requirement, points, duals, np.zeros(5))
    assert REGIONS[0].contains(moved, 1e-7).all()
    assert dual.sum() == pytest.approx(duals.sum())
    new = Slopes(
        np.vstack([moved, other]),
        np.vstack([np.tile(direction, (len(moved), 1)), along[5:]]),
        np.concatenate([sign * dual, slopes.weights[5:]]),
    )
    after = FittedKernel(0.3, RBF(0.7), centres, weights, None, new)
    assert after.norm("l2") < f.norm("l2")


def test_points_that_cannot_move():
    points = REGIONS[0].points(8, 1)[-3:]
    duals = np.array([0.5, 1.0, 0.0])
    f = expansion(RBF(0.7), 1.0, points, duals)
    box = Requirement(REGIONS[0], 1.0)
    assert movable(f, box, points, None) is None
    assert movable(f, Requirement(REGIONS[0], 1.0, h=lambda Z: Z[:, 0]), points, duals) is None
    slopes = Requirement(REGIONS[0], 1.0, direction=np.ones(2))
    np.testing.assert_array_equal(movable(f, slopes, points, duals), np.zeros(3))  # f has no slopes
    level = LevelSet(lambda Z: Z[:, :1], LOW, HIGH)
    assert movable(f, Requirement(level, 1.0), points, duals) is None
    # A weight in f other than the dual variable, as of a model of another norm.
    np.testing.assert_array_equal(movable(f, box, points, duals * [1.0, 1.1, 1.0]), [0.5, 0.0, 0.0])


def test_near_points_become_their_mean():
    points = np.array([[0.0, 0.0], [0.01, 0.0], [1.0, 1.0]])
    f = expansion(RBF(1.0), 1.0, points, np.ones(3))
    distances = half_distances(f, Atoms(points))
    np.testing.assert_allclose(distances, 1 - rbf_kernel(points, gamma=1.0))
    means, sums = merged(points, np.array([1.0, 3.0, 2.0]), distances, 0.02)
    np.testing.assert_allclose(means, [[0.0075, 0.0], [1.0, 1.0]])
    np.testing.assert_allclose(sums, [4.0, 2.0])


def test_joint_descent_reaches_the_minimum_of_a_quadratic_in_a_box():
    rng = np.random.default_rng(0)
    A = rng.normal(size=(6, 6))
    A = A @ A.T + np.eye(6)
    b = 3 * rng.normal(size=6)

    def quadratic(z):
        flat = z.ravel()
        return 0.5 * flat @ A @ flat - b @ flat, (A @ flat - b).reshape(z.shape)

    def onto(z):
        return np.clip(z, -0.5, 0.5)

    z, value = descend_jointly(quadratic, onto, np.zeros((3, 2)), np.ones((3, 1)), 0.1, 300)
    gradient = quadratic(z)[1]
    np.testing.assert_allclose(onto(z - gradient), z, atol=1e-6)
    assert value == pytest.approx(quadratic(z)[0])


@pytest.mark.parametrize("region", REGIONS, ids=["box", "ellipsoid", "polyhedron"])
def test_nearest_points_are_inside_and_points_inside_stay(region):
    outside = np.random.default_rng(0).normal(scale=4, size=(20, 2))
    assert region.contains(region.nearest(outside), 1e-7).all()
    inside = region.points(16, 0)
    np.testing.assert_allclose(region.nearest(inside), inside, atol=1e-9)


def test_a_set_without_a_projection_has_the_points_inside():
    level = LevelSet(lambda Z: Z[:, :1], LOW, HIGH)
    points = np.array([[-0.5, 0.0], [0.5, 0.0]])
    assert level.nearest(points).tolist() == [[-0.5, 0.0]]


def test_a_function_without_slopes_has_no_points_to_move():
    """All slopes of a soft Monotone can be inactive: f then has none, and neither are there points."""
    rng = np.random.default_rng(0)
    f = FittedKernel(0.3, RBF(0.7), rng.normal(size=(12, 2)), rng.normal(size=12), None)
    requirement = Requirement(REGIONS[0], 1.0, 0.0, np.array([0.0, 2.0]))
    points = REGIONS[0].points(8, 1)[-5:]
    duals = movable(f, requirement, points, np.zeros(5))
    np.testing.assert_array_equal(duals, 0.0)
    moves = duals > 0
    moved, dual, lift = slide(f, requirement, points[moves], duals[moves], np.zeros(0))
    assert moved.shape == (0, 2)
    assert len(dual) == len(lift) == 0


@pytest.mark.parametrize("direction", [None, np.array([0.0, 1.0])])
def test_new_points_of_a_requirement_replace_its_points(direction):
    """Rows, and points of another requirement, stay in f."""
    rng = np.random.default_rng(0)
    rows, points, new, others = (rng.normal(size=(n, 2)) for n in (12, 4, 3, 5))
    duals = rng.random(4)
    weights = rng.random(3)
    kernel = RBF(0.7)
    along = np.array([1.0, 0.0])
    requirement = Requirement(REGIONS[0], -1.0, 0.0, direction)
    if direction is None:
        f = expansion(kernel, -1.0, points, duals)
        expected = expansion(kernel, -1.0, new, weights)
    else:
        f, expected = (
            FittedKernel(
                0.3,
                kernel,
                rows,
                np.arange(12.0),
                None,
                Slopes(
                    np.vstack([others, own]),
                    np.vstack([np.tile(along, (5, 1)), np.tile(direction, (len(own), 1))]),
                    np.concatenate([np.arange(5.0), -of_own]),
                ),
            )
            for own, of_own in ((points, duals), (new, weights))
        )
    found = replaced(f, requirement, points, new, weights)
    Z = rng.normal(size=(9, 2))
    np.testing.assert_allclose(found.value(Z), expected.value(Z) - expected.bias, atol=1e-12)
