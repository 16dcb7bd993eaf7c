"""The method "points": the margin holds at the points, and perhaps not between them."""

import numpy as np
import pytest

from priorsvm import RBF, Box, PriorSVC, Region
from priorsvm.sample import Sample

SQUARE = {0: (-1.0, -0.3), 1: (-0.2, 0.6)}


@pytest.mark.parametrize("points", [30, "grid", "array"])
def test_the_margin_holds_at_the_points(plane, shape, points):
    X, y = plane
    given = points if points != "array" else np.vstack([shape.points(5), [[9.0, 9.0]]])
    block = shape.block(1, hard=True, method="points", points=given)
    model = PriorSVC(block, kernel=RBF(4.0)).fit(X, y)
    [used] = block.start(Sample.training(X, y, np.array([0, 1]), 1)).points
    assert model.decision_function(used).min() > 1 - 1e-6
    if points == "array":
        assert not (used == 9.0).any()
        np.testing.assert_allclose(np.unique(used, axis=0), np.unique(shape.points(5), axis=0), atol=1e-12)
    elif points == 30:
        assert 15 <= len(used) <= 80
    else:
        assert len(used) > 100 or shape.name != "box"
    assert model.n_rounds_ == 1


def test_draws_come_from_random_state(plane):
    X, y = plane

    def objective(seed):
        block = Box(SQUARE, 1, mu=5.0, method="points", points=8)
        return PriorSVC(block, kernel=RBF(8.0), random_state=seed).fit(X, y).objective_

    assert objective(None) == objective(None)
    assert objective(3) == objective(3)
    assert objective(3) != objective(4)


def test_too_few_points_leave_gaps(plane, square):
    X, y = plane
    two = np.array([[-1.0, -0.2], [-0.3, 0.6]])
    model = PriorSVC(Box(SQUARE, 1, hard=True, method="points", points=two), kernel=RBF(8.0)).fit(X, y)
    verdict = model.verify()["box"]
    assert not verdict.holds
    assert verdict.worst == pytest.approx(model.decision_function(square.points()).min() - 1, abs=1e-3)


def test_points_are_not_the_whole_region():
    X = np.random.default_rng(0).normal(size=(30, 3))
    y = (X[:, 0] > 0).astype(int)
    left = Region(lambda Z: Z[:, 0], [[-1, 0, 0], [-1, 1, 0]], 0, hard=True, method="points")
    box = Box({0: (-0.5, 1), 1: (-0.5, 0.5)}, 1, hard=True)
    model = PriorSVC(left + box, kernel=RBF(1.0)).fit(X, y)
    assert model.decision_function([[-1, 0, 0], [-1, 1, 0]]).max() <= -1 + 1e-5
