"""OddnessHint: opposite values of f at opposite points."""

import cvxpy as cp
import numpy as np
import pytest

from priorsvm import OddnessHint, PriorSVC, check_knowledge
from priorsvm.errors import InvalidInput


@pytest.mark.parametrize("scale", [None, "minmax"])
def test_value_of_the_penalty_at_any_f(data, kernel, assemble, draw, scale):
    X, y = data
    compiled = assemble(OddnessHint(mu=3.0), X, y, kernel, scale=scale)
    f = draw(compiled)
    [term] = compiled.terms
    # A random c is a sum of large coefficients of k(x, centres) that nearly cancel.
    assert term.expression.value == pytest.approx(np.mean((f(-X) + f(X)) ** 2), rel=1e-7)
    assert term.parameter.value == 3.0


def test_value_of_the_constraint_at_any_f(data, kernel, assemble, draw):
    X, y = data
    compiled = assemble(OddnessHint(hard=True), X, y, kernel)
    f = draw(compiled)
    residual = compiled.constraints["oddness_hint.odd"].residual
    np.testing.assert_allclose(residual, np.abs(f(X) + f(-X)), atol=1e-9)


def without_bias(factor, y, C):
    """The model g = factor @ v without a bias, by hand."""
    v, xi = cp.Variable(factor.shape[1]), cp.Variable(len(y), nonneg=True)
    margins = cp.multiply(np.where(y == 1, 1.0, -1.0), factor @ v) >= 1 - xi
    cp.Problem(cp.Minimize(0.5 * cp.sum_squares(v) + C * cp.sum(xi)), [margins]).solve(
        solver="CLARABEL", tol_gap_abs=1e-11, tol_gap_rel=1e-11
    )
    return v.value


def test_hard_on_a_linear_model_leaves_no_bias(data):
    X, y = data
    model = PriorSVC(OddnessHint(hard=True), C=2.0).fit(X, y)
    assert abs(model.intercept_[0]) < 1e-9
    np.testing.assert_allclose(model.coef_[0], without_bias(X, y, 2.0), atol=1e-6)


def test_hard_on_a_kernel_model_is_the_odd_part_of_the_kernel(data, new, gram):
    X, y = data
    model = PriorSVC(OddnessHint(hard=True), C=2.0, kernel=lambda A, B: gram(A, B)).fit(X, y)

    def odd(A, B):
        return 0.5 * (gram(A, B) - gram(A, -B))

    values, vectors = np.linalg.eigh(odd(X, X))
    kept = values > 1e-10 * values.max()
    factor = vectors[:, kept] * np.sqrt(values[kept])
    beta = vectors[:, kept] / np.sqrt(values[kept]) @ without_bias(factor, y, 2.0)
    np.testing.assert_allclose(model.decision_function(new), odd(new, X) @ beta, atol=1e-5)
    np.testing.assert_allclose(model.decision_function(-new), -model.decision_function(new), atol=1e-5)


def test_on_a_linear_model_it_is_a_penalty_on_the_bias(data):
    X, y = data
    model = PriorSVC(OddnessHint(mu=3.0), C=2.0).fit(X, y)
    w, b, xi = cp.Variable(3), cp.Variable(), cp.Variable(80, nonneg=True)
    margins = cp.multiply(np.where(y == 1, 1.0, -1.0), X @ w + b) >= 1 - xi
    objective = 0.5 * cp.sum_squares(w) + 2.0 * cp.sum(xi) + 3.0 * cp.square(2 * b)
    cp.Problem(cp.Minimize(objective), [margins]).solve(
        solver="CLARABEL", tol_gap_abs=1e-11, tol_gap_rel=1e-11
    )
    np.testing.assert_allclose(model.coef_[0], w.value, atol=1e-6)
    np.testing.assert_allclose(model.intercept_[0], b.value, atol=1e-6)
    assert abs(b.value) > 1e-3


@pytest.mark.parametrize(
    "prior", [OddnessHint(mu=0.0), 0 * OddnessHint(), 0 * OddnessHint(hard=True)], ids=repr
)
def test_weight_zero_is_the_plain_model(data, new, kernel, svc, prior):
    X, y = data
    model = PriorSVC(prior, kernel=kernel, solver="CLARABEL").fit(X, y)
    np.testing.assert_allclose(model.decision_function(new), svc(X, y, new), atol=1e-6)


def test_a_large_mu_tends_to_hard(data, new, kernel):
    X, y = data
    target = PriorSVC(OddnessHint(hard=True), kernel=kernel).fit(X, y).decision_function(new)
    distance = [
        np.abs(PriorSVC(OddnessHint(mu=mu), kernel=kernel).fit(X, y).decision_function(new) - target).max()
        for mu in (1e1, 1e3, 1e5)
    ]
    assert distance[0] > 10 * distance[1] > 100 * distance[2]
    assert distance[2] < 1e-3


def test_the_origin_is_that_of_the_users_units(data):
    X, y = data
    far = X + 5.0
    model = PriorSVC(OddnessHint(hard=True), scale="standard", C=2.0).fit(far, y)
    assert abs(model.intercept_[0]) < 1e-8
    np.testing.assert_allclose(model.decision_function(-far), -model.decision_function(far), atol=1e-7)


def test_rows_at_the_origin_and_minus_zero_are_one_point(assemble):
    X, y = np.array([[0.0, 0.0], [1.0, 0.0], [-1.0, 0.0], [0.0, 2.0]]), np.array([0, 1, 0, 1])
    compiled = assemble(OddnessHint(), X, y)
    distinct = {tuple(row + 0.0) for row in np.vstack([X, -X])}
    assert compiled.f.n_rows == len(distinct)


def test_renaming_the_classes_turns_f_round(data, new, kernel):
    X, y = data
    model = PriorSVC(OddnessHint(mu=2.0), kernel=kernel).fit(X, y)
    flipped = PriorSVC(OddnessHint(mu=2.0), kernel=kernel).fit(X, 1 - y)
    np.testing.assert_allclose(model.decision_function(new), -flipped.decision_function(new), atol=1e-5)


def test_verify_finds_the_largest_sum(data):
    X, y = data
    model = PriorSVC(OddnessHint(mu=0.01), kernel="rbf").fit(X, y)
    sums = np.abs(model.decision_function(X) + model.decision_function(-X))
    verdict = model.verify()["oddness_hint"]
    assert verdict.worst == pytest.approx(-sums.max())
    np.testing.assert_array_equal(verdict.where, X[np.argmax(sums)])
    assert verdict.holds is False


def test_makes_no_sense_beyond_two_classes(three):
    with pytest.raises(InvalidInput, match=r"'oddness_hint'.*two classes, got 3.*Remove the block"):
        PriorSVC(OddnessHint()).fit(*three)


@pytest.mark.parametrize("mu", [-1.0, np.nan, None, True])
def test_bad_weights_are_named(data, mu):
    with pytest.raises(InvalidInput, match=r"'oddness_hint'.*mu must be a nonnegative number, got"):
        PriorSVC(OddnessHint(mu=mu)).fit(*data)


@pytest.mark.slow
@pytest.mark.parametrize("block", [OddnessHint(), OddnessHint(mu=50.0), OddnessHint(hard=True)], ids=repr)
def test_laws(block):
    laws = check_knowledge(block)
    assert ("violation does not grow with the weight" in laws) is (not block.hard)
