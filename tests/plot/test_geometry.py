"""Sections of sets with a plane."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from priorsvm.knowledge.regions.sets import EllipsoidSet
from priorsvm.plot.geometry import Plane, cut, ellipse, polygon

from .artists import same_points

pytestmark = pytest.mark.filterwarnings("error")


def test_the_section_of_an_ellipsoid_lies_on_its_surface():
    rng = np.random.default_rng(3)
    region = EllipsoidSet(rng.normal(size=4), rng.normal(size=(4, 4)))
    inside = region.centre + region.A @ [0.2, -0.3, 0.1, 0.2]
    plane = Plane((2, 0), inside)
    rows = plane.lift(cut(region, plane))
    z = np.linalg.solve(region.A, (rows - region.centre).T)
    assert_allclose(np.linalg.norm(z, axis=0), 1.0, atol=1e-9)
    assert_allclose(rows[:, [1, 3]], np.tile(inside[[1, 3]], (len(rows), 1)))
    assert cut(region, Plane((2, 0), inside + 100.0)) is None
    flat = EllipsoidSet(np.zeros(3), np.eye(3)[:, :2])
    assert cut(flat, Plane((0, 1), np.array([0, 0, 1.0]))) is None
    assert_allclose(np.ptp(cut(flat, Plane((0, 2), np.zeros(3))), axis=0), [2.0, 0.0], atol=1e-9)


@pytest.mark.parametrize("seed", range(20))
def test_polygons_satisfy_their_inequalities(seed):
    rng = np.random.default_rng(seed)
    normals, sides = rng.normal(size=(5, 2)), rng.uniform(0.1, 1, size=5)
    corners = polygon(normals, sides, (-2, 2, -2, 2))
    points = rng.uniform(-2, 2, size=(2000, 2))
    inside = np.all(points @ normals.T <= sides, axis=1)
    edges = np.roll(corners, -1, axis=0) - corners
    cross = edges[:, 0] * (points[:, None, 1] - corners[:, 1]) - edges[:, 1] * (
        points[:, None, 0] - corners[:, 0]
    )
    assert np.array_equal(np.all(cross >= -1e-9, axis=1), inside)


def test_thin_and_empty_polygons():
    window = (-1, 1, -1, 1)
    same_points(polygon(np.array([[1.0, 0], [-1, 0]]), np.array([0.5, -0.5]), window), [[0.5, -1], [0.5, 1]])
    assert len(polygon(np.array([[1.0, 0], [-1, 0]]), np.array([0.2, -0.5]), window)) == 0
    assert len(polygon(np.array([[0.0, 0.0]]), np.array([-1.0]), window)) == 0
    assert len(polygon(np.array([[0.0, 0.0]]), np.array([1.0]), window)) == 4


def test_the_projection_of_an_ellipsoid_is_an_ellipse():
    M = np.random.default_rng(0).normal(size=(2, 5))
    curve = ellipse(np.array([1.0, 2.0]), M)
    z = np.random.default_rng(1).normal(size=(5, 4000))
    projection = (M @ (z / np.linalg.norm(z, axis=0))).T
    for v in np.random.default_rng(2).normal(size=(10, 2)):
        assert (projection @ v).max() <= ((curve - [1.0, 2.0]) @ v).max() + 1e-2 * np.linalg.norm(v)
        assert_allclose(((curve - [1.0, 2.0]) @ v).max(), np.linalg.norm(M.T @ v), rtol=2e-3)
