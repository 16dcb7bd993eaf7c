"""InvarianceHint: equal values of f along the orbits of the training rows."""

import cvxpy as cp
import numpy as np
import pytest

from priorsvm import (
    RBF,
    FromFunction,
    InvarianceHint,
    PriorSVC,
    Reflection,
    Shift,
    VirtualSamples,
    check_knowledge,
)
from priorsvm.errors import CollapsedModel, InvalidInput, InvalidType

STEP = np.array([0.25, 0.0, -0.125])


def rolled(X, theta):
    return np.roll(X, int(theta), axis=1)


def swapped(X, theta):
    return X[:, [1, 0, 2]]


def unchanged(X, theta):
    return X


@pytest.mark.parametrize("scale", [None, "standard"])
def test_value_of_the_penalty_at_any_f(data, kernel, assemble, draw, scale):
    X, y = data
    compiled = assemble(InvarianceHint(Shift(STEP), mu=3.0), X, y, kernel, scale=scale)
    f = draw(compiled)
    squares = np.append((f(X - STEP) - f(X)) ** 2, (f(X + STEP) - f(X)) ** 2)
    [term] = compiled.terms
    assert term.expression.value == pytest.approx(squares.mean(), rel=1e-9)
    assert term.parameter.value == 3.0
    loss = 2.0 * np.sum(np.maximum(1 - np.where(y == 1, 1, -1) * f(X), 0))
    norm = 0.5 * np.sum(compiled.tie.c.value**2)
    total = compiled.problem.objective.value
    assert total == pytest.approx(norm + loss + 3.0 * squares.mean(), rel=1e-9)


def test_value_of_the_constraint_at_any_f(data, kernel, assemble, draw):
    X, y = data
    compiled = assemble(InvarianceHint(Shift(STEP), hard=True), X, y, kernel)
    f = draw(compiled)
    expected = np.stack([f(X - STEP) - f(X), f(X + STEP) - f(X)], axis=1).ravel()
    residual = compiled.constraints["invariance_hint.equal"].residual
    np.testing.assert_allclose(residual, np.abs(expected), atol=1e-9)
    assert compiled.terms == []


@pytest.mark.parametrize(
    "prior", [InvarianceHint(Shift(STEP), mu=0.0), 0 * InvarianceHint(Shift(STEP))], ids=repr
)
def test_weight_zero_is_the_plain_model(data, new, kernel, svc, prior):
    X, y = data
    model = PriorSVC(prior, kernel=kernel, solver="CLARABEL").fit(X, y)
    np.testing.assert_allclose(model.decision_function(new), svc(X, y, new), atol=1e-6)


@pytest.mark.parametrize("mu", [0.3, 30.0])
def test_on_a_linear_model_it_is_a_quadratic_penalty_on_w(data, mu):
    X, y = data
    shears = FromFunction(lambda X, theta: X + theta * X[:, [1, 2, 0]], [-0.5, 1.0])
    model = PriorSVC(InvarianceHint(shears, mu=mu), C=2.0).fit(X, y)
    differences = np.vstack([-0.5 * X[:, [1, 2, 0]], X[:, [1, 2, 0]]])
    w, b, xi = cp.Variable(3), cp.Variable(), cp.Variable(80, nonneg=True)
    penalty = cp.sum_squares(differences @ w) / len(differences)
    margins = cp.multiply(np.where(y == 1, 1.0, -1.0), X @ w + b) >= 1 - xi
    problem = cp.Problem(cp.Minimize(0.5 * cp.sum_squares(w) + 2.0 * cp.sum(xi) + mu * penalty), [margins])
    problem.solve(solver="CLARABEL", tol_gap_abs=1e-11, tol_gap_rel=1e-11)
    np.testing.assert_allclose(model.coef_[0], w.value, atol=1e-6)
    np.testing.assert_allclose(model.intercept_[0], b.value, atol=1e-6)
    assert model.objective_ == pytest.approx(problem.value, rel=1e-8)


def test_hard_on_a_linear_model_leaves_no_slope_along_the_shift(data):
    model = PriorSVC(InvarianceHint(Shift(STEP), hard=True)).fit(*data)
    assert abs(model.coef_[0] @ STEP) < 1e-9
    assert np.linalg.norm(model.coef_) > 0.1


def test_hard_holds_at_every_pair(data, kernel):
    X, y = data
    model = PriorSVC(InvarianceHint(Shift(STEP), hard=True), kernel=kernel).fit(X, y)
    for moved in (X - STEP, X + STEP):
        np.testing.assert_allclose(model.decision_function(moved), model.decision_function(X), atol=1e-6)


def test_a_large_mu_tends_to_hard(data, new, kernel):
    X, y = data
    hint = InvarianceHint(FromFunction(swapped, [1.0]))
    hard = PriorSVC(hint.named("hint").set_params(hint__hard=True), kernel=kernel).fit(X, y)
    target = hard.decision_function(new)
    distance = []
    for mu in (1e1, 1e3, 1e5):
        soft = PriorSVC(InvarianceHint(FromFunction(swapped, [1.0]), mu=mu), kernel=kernel).fit(X, y)
        distance.append(np.abs(soft.decision_function(new) - target).max())
        assert soft.objective_ <= hard.objective_ + 1e-6
    assert distance[0] > 10 * distance[1] > 100 * distance[2]
    assert distance[2] < 5e-3


@pytest.mark.parametrize(
    ("transform", "order"),
    [
        (FromFunction(swapped, [1.0]), 2),
        (FromFunction(rolled, [1.0, 2.0]), 3),
        (Reflection(1, shape=(1, 3)), 2),
    ],
    ids=["swap", "cyclic", "reflection"],
)
def test_on_a_group_hard_is_augmentation_at_a_share_of_c(data, new, transform, order):
    X, y = data
    hard = PriorSVC(InvarianceHint(transform, hard=True), C=1.5, kernel=RBF(0.4)).fit(X, y)
    augmented = PriorSVC(VirtualSamples(transform), C=1.5 / order, kernel=RBF(0.4)).fit(X, y)
    values = augmented.decision_function(new)
    np.testing.assert_allclose(hard.decision_function(new), values, atol=1e-6)
    orbit = transform.orbit(new)
    assert orbit.shape[1] == order
    for k in range(1, order):
        np.testing.assert_allclose(augmented.decision_function(orbit[:, k]), values, atol=1e-9)
    assert np.abs(PriorSVC(C=1.5, kernel=RBF(0.4)).fit(X, y).decision_function(new) - values).max() > 0.1


@pytest.mark.parametrize("hard", [False, True])
def test_an_orbit_of_the_identity_asks_nothing(data, new, kernel, hard):
    X, y = data
    hint = InvarianceHint(FromFunction(unchanged, []), hard=hard)
    model = PriorSVC(hint, kernel=kernel, solver="CLARABEL").fit(X, y)
    plain = PriorSVC(kernel=kernel, solver="CLARABEL").fit(X, y)
    np.testing.assert_array_equal(model.decision_function(new), plain.decision_function(new))
    assert model.objective_ == pytest.approx(plain.objective_)
    assert model.verify()["invariance_hint"].holds is None


def test_labels_play_no_part(data, new, kernel):
    X, y = data
    hint = InvarianceHint(Shift(STEP), mu=5.0)
    model = PriorSVC(hint, kernel=kernel).fit(X, y)
    flipped = PriorSVC(hint, kernel=kernel).fit(X, 1 - y)
    np.testing.assert_allclose(model.decision_function(new), -flipped.decision_function(new), atol=1e-5)


def test_stands_in_every_model_of_several_classes(three):
    X, y = three
    with pytest.warns(CollapsedModel, match="leaves a constant f for class 'b'.*soft with a lower mu"):
        model = PriorSVC(InvarianceHint(Shift([0.5, 0.0]), hard=True)).fit(X, y)
    np.testing.assert_allclose(model.coef_[:, 0], 0.0, atol=1e-9)
    assert np.abs(model.coef_[[0, 2], 1]).min() > 0.1


def test_penalty_is_stated_in_the_units_of_x(data):
    X, y = data
    wide = X * [1.0, 10.0, 0.1]
    own = PriorSVC(InvarianceHint(Shift([0.0, 10.0, 0.0]), hard=True), scale="standard").fit(wide, y)
    assert abs(own.coef_[0, 1]) < 1e-9
    half = PriorSVC(InvarianceHint(Shift([0.0, 10.0, 0.0]), mu=2.0), scale="standard").fit(wide, y)
    [row] = half.report_["invariance_hint"]
    assert row.contribution == pytest.approx(2.0 * (10.0 * half.coef_[0, 1]) ** 2, rel=1e-6)


def test_verify_finds_the_largest_difference(data):
    X, y = data
    model = PriorSVC(InvarianceHint(Shift(STEP), mu=0.1), kernel=RBF(0.4)).fit(X, y)
    f = model.decision_function
    differences = np.abs(np.stack([f(X - STEP) - f(X), f(X + STEP) - f(X)]))
    verdict = model.verify()["invariance_hint"]
    assert verdict.worst == pytest.approx(-differences.max())
    assert verdict.holds is False
    assert PriorSVC(InvarianceHint(Shift(STEP), hard=True)).fit(X, y).verify().holds


@pytest.mark.parametrize(
    ("block", "error", "message"),
    [
        (InvarianceHint(3), InvalidType, "'invariance_hint'.*must be a Transform, got int"),
        (InvarianceHint(Shift(STEP), mu=-1.0), InvalidInput, r"mu must be a nonnegative number, got -1\.0"),
        (InvarianceHint(Shift([1.0])), InvalidInput, "Shift: vector has 1 entries, but X has 3 columns"),
    ],
)
def test_bad_arguments_are_named(data, block, error, message):
    with pytest.raises(error, match=message):
        PriorSVC(block).fit(*data)


@pytest.mark.slow
@pytest.mark.parametrize(
    "block",
    [
        InvarianceHint(Shift(STEP)),
        InvarianceHint(Shift(STEP), hard=True),
        InvarianceHint(FromFunction(rolled, [1.0, 2.0]), mu=20.0),
        InvarianceHint(FromFunction(rolled, [1.0, 2.0]), hard=True),
    ],
    ids=["soft", "hard", "soft group", "hard group"],
)
def test_laws(block):
    laws = check_knowledge(block)
    assert ("violation does not grow with the weight" in laws) is (not block.hard)
