"""Transformations between the members of an orbit: a fine grid, bounds, and refusals."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from priorsvm import (
    RBF,
    FeatureDeletion,
    FromFunction,
    InvariantLoss,
    PriorSVC,
    Reflection,
    Shift,
)
from priorsvm.errors import InvalidInput


def signs(y):
    return np.where(np.asarray(y) == np.max(y), 1.0, -1.0)


@pytest.fixture(scope="module")
def few(data):
    X, y = data
    return X[:40], y[:40]


def turned(Z, angle):
    rotation = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
    return np.hstack([Z[:, :2] @ rotation, Z[:, 2:]])


@pytest.mark.slow
@pytest.mark.parametrize("solver", ["CLARABEL", "COLUMNS"])
def test_moves_in_between_are_those_of_a_fine_grid(few, kernel, solver):
    X, y = few
    settings = {"C": 2.0, "kernel": kernel, "solver": solver}
    coarse = FromFunction(turned, [-0.5, 0.5])
    fine = FromFunction(turned, np.linspace(-0.5, 0.5, 801))
    members = PriorSVC(InvariantLoss(coarse, method="columns"), **settings).fit(X, y).objective_
    between = PriorSVC(InvariantLoss(coarse, method="columns", continuous=True), **settings).fit(X, y)
    grid = PriorSVC(InvariantLoss(fine, method="columns"), **settings).fit(X, y).objective_
    assert between.objective_ == pytest.approx(grid, rel=3e-6)
    assert members < between.objective_ - 1e-4 * grid
    assert between.verify().holds
    angles = np.linspace(-0.5, 0.5, 5_003)
    scores = between.decision_function(np.vstack([turned(X, t) for t in angles])).reshape(len(angles), -1)
    slack = np.maximum(1 - signs(y) * scores, 0.0).max(axis=0)
    regulariser = between.report_["svm"][0].contribution
    assert regulariser + 2.0 * slack.sum() == pytest.approx(between.objective_, rel=3e-6)


@pytest.mark.slow
def test_two_parameters_in_between(few):
    X, y = few
    cross = Shift([[0.3, 0.0, 0.1], [0.0, 0.2, 0.0]])
    whole = Shift([0.3, 0.0, 0.1]) @ Shift([0.0, 0.2, 0.0])
    for transform, rows in ((cross, 4), (whole, 8)):
        assert len(transform.theta_grid()) == rows + 1
        model = PriorSVC(InvariantLoss(transform, continuous=True), C=2.0).fit(X, y)
        plain = PriorSVC(InvariantLoss(transform), C=2.0).fit(X, y)
        assert model.objective_ == pytest.approx(
            plain.objective_, rel=1e-6
        )  # a straight path is worst at its ends
        assert model.verify().holds


def test_discrete_moves_have_no_between(few):
    X, y = few
    with pytest.raises(InvalidInput, match="'invariant_loss': Reflection is discrete"):
        PriorSVC(InvariantLoss(Reflection(1, (1, 3)), continuous=True)).fit(X, y)


def test_no_gap_is_claimed_while_others_are_not_done(few):
    X, y = few
    block = InvariantLoss(Shift([0.9, 0.0, 0.0]), continuous=True, method="columns")
    with pytest.warns(ConvergenceWarning) as caught:
        model = PriorSVC(block, kernel=RBF(2.0), C=10.0, max_rounds=1).fit(X, y)
    assert "gap" not in str(caught[0].message)
    assert "upper" not in model.history_[0]


PUSH = FromFunction(lambda X, theta: X + theta, [0.3])


@pytest.mark.parametrize(
    ("moves", "said"),
    [
        (FeatureDeletion(1), "continuous has no meaning with FeatureDeletion"),
        (FromFunction(lambda X, theta: X, []), "requires a transform with parameters"),
        (
            Shift([0.3, 0, 0]) @ Shift([0, 0.3, 0]) @ Shift([0, 0, 0.3]),
            "a grid of 35937 transformations.*Use fewer",
        ),
        ((PUSH | PUSH) @ PUSH, "the transform does not accept"),
    ],
)
def test_moves_that_have_nothing_in_between_are_refused_before_work(few, moves, said):
    with pytest.raises(InvalidInput, match=said):
        PriorSVC(InvariantLoss(moves, continuous=True)).fit(*few)


@pytest.mark.slow
def test_verify_looks_between_as_finely_as_it_can(few):
    X, y = few
    both = Shift([0.3, 0, 0], steps=5) @ Shift([0, 0.3, 0], steps=5)
    assert PriorSVC(InvariantLoss(both, continuous=True)).fit(X, y).verify().holds
