"""A fitted joint model: attributes, scaling, order of rows and classes, paths, copies and files."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from priorsvm import (
    RBF,
    ClassCosts,
    InvariantLoss,
    PriorSVC,
    Shift,
)

GAMMA = 0.15
MOVES = Shift([[0.3, 0.1, 0.0], [0.0, 0.2, 0.2]], steps=5)
BOTH = pytest.mark.parametrize("kernel", ["linear", RBF(GAMMA)], ids=["linear", "rbf"])


def joint(prior=None, **parameters):
    return PriorSVC(prior, multi_class="joint", **parameters)


def falling(cost):
    """What a number for the cost means for ``MOVES``, whose parameters run from -1 to 1."""
    return 1.0 - (1.0 - cost) * np.abs(MOVES.theta_grid()).max(axis=1)


# -------------------------------------------------------------------------------- attributes and copies


def test_shapes(draw):
    X, y = draw()
    three, two = joint().fit(X, y), joint().fit(X, y == 1)
    assert three.decision_function(X[:5]).shape == (5, 3)
    assert two.decision_function(X[:5]).shape == (5,)
    assert three.decision_function(X[:1]).shape == (1, 3)
    assert (three.coef_.shape, two.coef_.shape) == ((3, 3), (2, 3))
    assert (three.intercept_.shape, two.intercept_.shape) == ((3,), (2,))
    for model in (three, two):
        assert isinstance(model.objective_, float)
        assert isinstance(model.history_[0], dict)
        assert isinstance(model.findings_, dict)
        assert not hasattr(model, "centres_")
        assert not hasattr(model, "dual_coef_")
    assert three.predict(X).shape == (len(y),)
    assert_array_equal(three.predict(X), three.decision_function(X).argmax(axis=1))
    assert_array_equal(two.predict(X), two.decision_function(X) > 0)


@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("scale", [None, "standard", "minmax"])
def test_coef_and_intercept_are_f_in_the_units_of_x(scale, K, draw):
    X, y = draw(40, 3, K)
    X = X * [0.1, 1.0, 30.0] + 5
    model = joint(InvariantLoss(Shift(0.1 * X.std(axis=0))), scale=scale, C=0.5).fit(X, y)
    f = X @ model.coef_.T + model.intercept_
    assert_allclose(model.decision_function(X), f[:, 1] - f[:, 0] if K == 2 else f, atol=1e-9)
    assert (model.intercept_ == 0).all() == (scale is None)


@pytest.mark.parametrize("moves", [None, MOVES], ids=["plain", "moved"])
@pytest.mark.parametrize("K", [2, 3])
def test_centres_and_dual_coef_are_f(K, moves, draw):
    X, y = draw(40, 3, K)
    model = joint(moves and InvariantLoss(moves), kernel=RBF(GAMMA)).fit(X, y)
    assert model.dual_coef_.shape == (K, len(model.centres_))
    f = rbf_kernel(X, model.centres_, gamma=GAMMA) @ model.dual_coef_.T + model.intercept_
    assert_allclose(model.decision_function(X), f[:, 1] - f[:, 0] if K == 2 else f, atol=1e-10)
    assert_array_equal(model.intercept_, np.zeros(K))
    assert not hasattr(model, "coef_")


@BOTH
@pytest.mark.parametrize("scale", ["standard", "minmax"])
def test_scale_is_a_scaler_before_the_model(scale, kernel, draw):
    X, y = draw()
    X = X * [0.1, 1.0, 30.0] + 5
    scaler = {"standard": StandardScaler, "minmax": MinMaxScaler}[scale]().fit(X)
    reach = 0.2 * X.std(axis=0)
    inside = joint(InvariantLoss(Shift(reach)), kernel=kernel, scale=scale, tol=1e-9).fit(X, y)
    inner = scaler.transform(X)
    outside = joint(InvariantLoss(Shift(reach / scaler.scale_)), kernel=kernel, tol=1e-9)
    if scale == "minmax":
        outside.set_params(prior=InvariantLoss(Shift(reach * scaler.scale_)))
    outside.fit(inner, y)
    assert inside.objective_ == pytest.approx(outside.objective_, rel=1e-8)
    assert_allclose(inside.decision_function(X), outside.decision_function(inner), atol=1e-5)


@BOTH
def test_the_order_of_rows_is_of_no_effect(kernel, draw):
    X, y = draw()
    order = np.random.default_rng(1).permutation(len(y))
    one = joint(InvariantLoss(MOVES), kernel=kernel, tol=1e-9).fit(X, y)
    two = joint(InvariantLoss(MOVES), kernel=kernel, tol=1e-9).fit(X[order], y[order])
    assert_allclose(two.decision_function(X), one.decision_function(X), atol=1e-5)
    assert_array_equal(two.predict(X), one.predict(X))
    assert_array_equal(np.sort(order[two.support_]), one.support_)


@BOTH
def test_the_names_of_classes_are_of_no_effect(kernel, draw):
    X, y = draw()
    names = np.array(["m", "z", "a"])
    one = joint(InvariantLoss(MOVES), kernel=kernel, tol=1e-9).fit(X, y)
    two = joint(InvariantLoss(MOVES), kernel=kernel, tol=1e-9).fit(X, names[y])
    assert_array_equal(two.classes_, ["a", "m", "z"])
    assert_array_equal(two.predict(X), names[one.predict(X)])
    assert_allclose(two.decision_function(X)[:, [1, 2, 0]], one.decision_function(X), atol=1e-5)


@BOTH
def test_a_path_is_fits_one_by_one(kernel, draw):
    X, y = draw()
    values = [0.1, 1.0, 10.0]
    models = joint(InvariantLoss(MOVES), kernel=kernel, tol=1e-9).fit_path(X, y, {"C": values})
    for C, model in zip(values, models, strict=True):
        assert model.C == C
        alone = joint(InvariantLoss(MOVES), C=C, kernel=kernel, tol=1e-9).fit(X, y)
        assert model.objective_ == pytest.approx(alone.objective_, rel=1e-12)
        assert_allclose(model.decision_function(X), alone.decision_function(X), atol=1e-12)
        assert model.problem.solve(solver="CLARABEL") == pytest.approx(alone.objective_, rel=1e-6)


def test_a_path_over_what_the_block_asks(draw, literal):
    X, y = draw()
    models = joint(InvariantLoss(MOVES)).fit_path(X, y, {"invariant_loss__cost": [0.0, 0.5, 1.0]})
    values = [m.objective_ for m in models]
    expected = [literal(MOVES.orbit(X), y, demand=falling(cost))[0] for cost in (0.0, 0.5, 1.0)]
    assert_allclose(values, expected, rtol=1e-6)


def test_a_path_from_one_against_the_rest(draw):
    X, y = draw()
    one, two = PriorSVC().fit_path(X, y, {"multi_class": ["ovr", "joint"]})
    assert len(one.objective_) == 3
    assert two.objective_ == pytest.approx(joint().fit(X, y).objective_)


def test_a_path_to_one_against_the_rest(draw):
    X, y = draw()
    one, two = PriorSVC().fit_path(X, y, {"multi_class": ["joint", "ovr"]})
    assert isinstance(one.objective_, float)
    assert len(two.objective_) == 3


def test_clone_and_search(draw):
    X, y = draw()
    model = joint(InvariantLoss(MOVES, confusion={(0, 1): 2.0}), C=2.0)
    copy = clone(model)
    assert copy.multi_class == "joint"
    assert copy.prior.confusion == {(0, 1): 2.0}
    assert_array_equal(copy.fit(X, y).coef_, model.fit(X, y).coef_)
    search = GridSearchCV(joint(), {"C": [0.01, 1.0]}, cv=3).fit(X, y)
    assert search.best_estimator_.coef_.shape == (3, 3)


@BOTH
@pytest.mark.parametrize("asked", [False, True], ids=["before", "after the problem was asked for"])
def test_pickle(kernel, asked, draw):
    X, y = draw()
    model = joint(ClassCosts({1: 2.0}) + InvariantLoss(MOVES, 0.5, confusion={(0, 1): 2.0}), kernel=kernel)
    model.fit(X, y)
    if asked:
        assert model.problem.is_dcp()
    again = pickle.loads(pickle.dumps(model))
    assert_array_equal(again.decision_function(X), model.decision_function(X))
    assert again.objective_ == model.objective_
    assert again.history_ == model.history_
    assert str(again.report_) == str(model.report_)
    assert again.verify().holds
    assert again.problem.solve(solver="CLARABEL") == pytest.approx(model.objective_, rel=1e-6)
    assert_array_equal(again.findings_["invariant_loss"].weights, model.findings_["invariant_loss"].weights)


@pytest.mark.slow
@parametrize_with_checks([joint()])
def test_scikit_learn_checks(estimator, check):
    check(estimator)
