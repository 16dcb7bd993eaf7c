"""TangentPenalty: squared slopes along tangents; invariant kernel, whitening and hints give the same f."""

import pickle

import cvxpy as cp
import numpy as np
import pytest
from sklearn.svm import SVC

from priorsvm import (
    RBF,
    Box,
    ClassCosts,
    FeatureDeletion,
    FromFunction,
    InvarianceHint,
    Linear,
    Monotone,
    Polynomial,
    PriorSVC,
    Shift,
    TangentInvariant,
    TangentPenalty,
    Transform,
    check_knowledge,
)
from priorsvm.errors import InvalidInput, InvalidType, MissingCapability
from priorsvm.kernels import Pairwise
from priorsvm.kernels.tangent_invariant import tangent_atoms
from priorsvm.knowledge.base import Terms

STEP = np.array([0.5, 0.0, -0.25])


class Turn(Transform):
    """Rotation in the plane of the first two columns, and growth: tangents that differ from row to row."""

    def tangents(self, X):
        X = np.asarray(X, float)
        return np.stack([np.stack([-X[:, 1], X[:, 0], 0 * X[:, 2]], axis=1), X], axis=1)


def tangents_of(X):
    return Turn().tangents(X).reshape(-1, 3)


def same_up_to_the_bias(a, b, atol):
    """The bias has a range where every row is at a bound, and it is small here."""
    np.testing.assert_allclose(a - a.mean(), b - b.mean(), atol=atol)
    assert abs(a.mean() - b.mean()) < 0.05


def signs(y):
    return np.where(y == np.unique(y)[1], 1.0, -1.0)


@pytest.mark.parametrize("scale", [None, "standard"])
def test_value_of_the_penalty_at_any_f(data, kernel, assemble, draw, scale):
    X, y = data
    compiled = assemble(TangentPenalty(Turn(), gamma=3.0), X, y, kernel, scale=scale)
    draw(compiled)
    f = compiled.fitted().value
    h, (T, G) = 1e-5, Turn().tangents(X).transpose(1, 0, 2)
    slopes = np.append(f(X + h * T) - f(X - h * T), f(X + h * G) - f(X - h * G)) / (2 * h)
    [term] = compiled.terms
    assert term.expression.value == pytest.approx(0.5 * np.sum(slopes**2), rel=1e-6)
    assert term.parameter.value == 3.0


@pytest.mark.parametrize("prior", [TangentPenalty(Turn(), gamma=0.0), 0 * TangentPenalty(Turn())], ids=repr)
def test_weight_zero_is_the_plain_model(data, new, kernel, svc, prior):
    X, y = data
    model = PriorSVC(prior, kernel=kernel, solver="CLARABEL").fit(X, y)
    np.testing.assert_allclose(model.decision_function(new), svc(X, y, new), atol=1e-6)


@pytest.mark.parametrize("gamma", [0.01, 1.0, 100.0])
def test_on_a_linear_model_it_is_an_svm_on_whitened_rows(data, new, gamma):
    X, y = data
    V = tangents_of(X)
    values, U = np.linalg.eigh(np.eye(3) + gamma * V.T @ V)
    white = (U / np.sqrt(values)) @ U.T
    reference = SVC(C=2.0, kernel="linear", tol=1e-10).fit(X @ white, y)
    model = PriorSVC(TangentPenalty(Turn(), gamma), C=2.0, tol=1e-9).fit(X, y)
    same_up_to_the_bias(model.decision_function(new), reference.decision_function(new @ white), 1e-5)


def test_the_reviews_convention(data, new):
    """(1 - γ_R)|w|² + γ_R Σ (w'v)², times ½, with C_R."""
    X, y = data
    share, C = 0.3, 2.0
    V = tangents_of(X)
    w, b, xi = cp.Variable(3), cp.Variable(), cp.Variable(len(X), nonneg=True)
    norm = (1 - share) * cp.sum_squares(w) + share * cp.sum_squares(V @ w)
    margins = cp.multiply(signs(y), X @ w + b) >= 1 - xi
    problem = cp.Problem(cp.Minimize(0.5 * norm + C * cp.sum(xi)), [margins])
    problem.solve(solver="CLARABEL", tol_gap_abs=1e-11, tol_gap_rel=1e-11)
    model = PriorSVC(TangentPenalty(Turn(), share / (1 - share)), C=C / (1 - share)).fit(X, y)
    np.testing.assert_allclose(model.decision_function(new), new @ w.value + b.value, atol=1e-6)


@pytest.mark.parametrize("h", [1e-3, 1.0])
def test_on_a_linear_model_it_is_the_hint_of_differences(data, new, h):
    X, y = data
    gamma, q = 0.4, 2

    def moved(X, theta):
        T = Turn().tangents(X)
        return X + theta[0] * T[:, 0] + theta[1] * T[:, 1]

    differences = FromFunction(moved, h * np.vstack([np.eye(q), -np.eye(q)]))
    mu = gamma * len(X) * q / (2 * h**2)
    hint = PriorSVC(InvarianceHint(differences, mu=mu), C=2.0, tol=1e-9).fit(X, y)
    penalty = PriorSVC(TangentPenalty(Turn(), gamma), C=2.0, tol=1e-9).fit(X, y)
    np.testing.assert_allclose(penalty.decision_function(new), hint.decision_function(new), atol=1e-6)


def test_a_large_weight_projects_the_tangents_out_of_a_linear_model(data, new):
    X, y = data
    v = STEP / np.linalg.norm(STEP)
    rest = np.eye(3) - np.outer(v, v)
    reference = SVC(C=2.0, kernel="linear", tol=1e-10).fit(X @ rest, y)
    model = PriorSVC(TangentPenalty(Shift(STEP), 1e8), C=2.0).fit(X, y)
    np.testing.assert_allclose(
        model.decision_function(new), reference.decision_function(new @ rest), atol=1e-5
    )


@pytest.mark.parametrize(
    "kernel", [RBF(0.5), Polynomial(3, 0.5, 1.0), RBF(0.3) + Linear(), Linear()], ids=repr
)
@pytest.mark.parametrize("gamma", [0.05, 1.0, 100.0])
def test_it_is_the_svm_with_the_invariant_kernel(data, new, kernel, gamma):
    X, y = data
    X, y = X[:40], y[:40]
    block = PriorSVC(TangentPenalty(Turn(), gamma), C=2.0, kernel=kernel, solver="CLARABEL", tol=1e-9)
    alone = PriorSVC(C=2.0, kernel=TangentInvariant(kernel, Turn(), gamma), solver="LIBSVM", tol=1e-9)
    block.fit(X, y), alone.fit(X, y)
    same_up_to_the_bias(block.decision_function(new), alone.decision_function(new), 1e-7)
    assert block.objective_ == pytest.approx(alone.objective_, rel=1e-8)


def test_the_derivatives_of_the_kernel_are_needed(data, new):
    class OnTheRows(TangentPenalty):
        """The same penalty, but f expands over k(x_i, ·) only."""

        def build(self, f, view):
            Z, V = tangent_atoms(self.transform, view.sample.X_train, np.ones(view.sample.n_train))
            return Terms(penalties={"gamma": 0.5 * cp.sum_squares(f.slope(Z, V, spans=False))})

    X, y = data
    kinds = (TangentPenalty, OnTheRows)
    whole, rows = (PriorSVC(kind(Turn(), 1.0), C=2.0, kernel=RBF(2.0)).fit(X[:40], y[:40]) for kind in kinds)
    assert whole.objective_ < rows.objective_ - 0.1
    assert np.abs(whole.decision_function(new) - rows.decision_function(new)).max() > 0.05


def test_weights_of_rows_are_copies_of_rows(data, new):
    X, y = data
    X, y, weight = X[:30], y[:30], np.tile([0.0, 1.0, 2.0], 10)
    copies = np.repeat(np.arange(30), weight.astype(int))
    for estimator in (
        PriorSVC(TangentPenalty(Turn(), 0.5), kernel=RBF(0.5), tol=1e-9),
        PriorSVC(kernel=TangentInvariant(RBF(0.5), Turn(), 0.5), tol=1e-9),
        PriorSVC(TangentPenalty(Turn(), 0.5), tol=1e-9),
    ):
        weighted = estimator.fit(X, y, sample_weight=weight).decision_function(new)
        copied = estimator.fit(X[copies], y[copies]).decision_function(new)
        same_up_to_the_bias(weighted, copied, 1e-6)


@pytest.mark.parametrize("scale", ["standard", "minmax"])
def test_scaled_models_take_tangents_in_the_users_units(data, new, scale):
    X, y = data
    X, y = X[:40], y[:40]
    shift, width = (X.mean(0), X.std(0)) if scale == "standard" else (X.min(0), np.ptp(X, axis=0))
    ours = PriorSVC(TangentPenalty(Shift(STEP), 2.0), kernel=RBF(0.5), scale=scale, tol=1e-9).fit(X, y)
    by_hand = PriorSVC(kernel=TangentInvariant(RBF(0.5), Shift(STEP / width), 2.0), tol=1e-9)
    by_hand.fit((X - shift) / width, y)
    expected = by_hand.decision_function((new - shift) / width)
    np.testing.assert_allclose(ours.decision_function(new), expected, atol=1e-7)


def test_the_1_norm_model_expands_over_its_rows(data, new):
    X, y = data
    X, y, gamma, C = X[:30], y[:30], 0.5, 2.0
    kernel = RBF(0.5)
    V, Z = tangents_of(X), np.repeat(X, 2, axis=0)
    D = -2 * 0.5 * ((Z[:, None] - X[None]) * V[:, None]).sum(axis=2) * kernel(Z, X)
    c, b, xi = cp.Variable(30), cp.Variable(), cp.Variable(30, nonneg=True)
    margins = cp.multiply(signs(y), kernel(X) @ c + b) >= 1 - xi
    objective = cp.norm1(c) + C * cp.sum(xi) + 0.5 * gamma * cp.sum_squares(D @ c)
    problem = cp.Problem(cp.Minimize(objective), [margins])
    problem.solve(solver="CLARABEL", tol_gap_abs=1e-11, tol_gap_rel=1e-11)
    model = PriorSVC(TangentPenalty(Turn(), gamma), C=C, kernel=kernel, norm="l1").fit(X, y)
    assert model.objective_ == pytest.approx(problem.value, rel=1e-6)
    np.testing.assert_allclose(model.decision_function(new), kernel(new, X) @ c.value + b.value, atol=1e-4)
    assert model.slopes_[0].shape == (0, 3)
    linear = PriorSVC(TangentPenalty(Turn(), gamma), C=C, norm="l1").fit(X, y)
    assert linear.status_ == "optimal"


def test_what_a_fitted_model_tells(data, new):
    X, y = data
    X, y = X[:30], y[:30]
    model = PriorSVC(TangentPenalty(Turn(), 0.5), kernel=RBF(0.5)).fit(X, y)
    points, directions, coefficients = model.slopes_
    assert len(points) == len(directions) == coefficients.shape[1] > 0
    values = model.kernel_(new, model.centres_) @ model.dual_coef_.T
    slopes = model.kernel_.slope(points, directions, new).T @ coefficients.T
    by_hand = (values + slopes)[:, 0] + model.intercept_[0]
    np.testing.assert_allclose(model.decision_function(new), by_hand, atol=1e-10)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.decision_function(new), model.decision_function(new))
    assert again.objective_ == model.objective_
    total = sum(row.contribution for row in model.report_.rows)
    assert total == pytest.approx(model.problem.value, rel=1e-6)
    text = str(model.formulation())
    assert (
        r"\mu_{\mathrm{tangent\_penalty}}\, \tfrac12 \sum_{i,k} \big(\nabla f(x_i)^\top v_{ik}\big)^2" in text
    )
    found = model.verify()["tangent_penalty"]
    f, h = model.decision_function, 1e-5
    V, Z = tangents_of(X), np.repeat(X, 2, axis=0)
    steepest = np.abs((f(Z + h * V) - f(Z - h * V)) / (2 * h)).max()
    assert found.holds is False
    assert found.worst == pytest.approx(-steepest, rel=1e-5)


def test_three_classes(data, new):
    X = data[0][:40]
    y = np.digitize(X[:, 0], [-0.5, 0.5])
    block = PriorSVC(TangentPenalty(Turn(), 0.5), kernel=RBF(0.5), tol=1e-9).fit(X, y)
    alone = PriorSVC(kernel=TangentInvariant(RBF(0.5), Turn(), 0.5), tol=1e-9).fit(X, y)
    np.testing.assert_allclose(block.decision_function(new), alone.decision_function(new), atol=1e-6)
    points, directions, coefficients = block.slopes_
    assert coefficients.shape == (3, len(points))
    by_hand = block.kernel_(new, block.centres_) @ block.dual_coef_.T + block.intercept_
    by_hand += block.kernel_.slope(points, directions, new).T @ coefficients.T
    np.testing.assert_allclose(block.decision_function(new), by_hand, atol=1e-9)


def test_fewer_centres_are_a_worse_approximation(data):
    X, y = data
    X, y = X[:40], y[:40]
    estimator = PriorSVC(TangentPenalty(Turn(), 0.5), kernel=RBF(0.5))
    whole = estimator.fit(X, y).objective_
    few, more = (estimator.set_params(n_centres=n).fit(X, y).objective_ for n in (20, 60))
    assert whole - 1e-6 <= more < few


def test_paths_over_gamma_keep_the_problem(data, new, recwarn):
    X, y = data
    X, y = X[:30], y[:30]
    settings = PriorSVC(TangentPenalty(Turn()), kernel=RBF(0.5))
    for model in settings.fit_path(X, y, {"tangent_penalty__gamma": [0.1, 1.0], "C": [1.0, 5.0]}):
        alone = PriorSVC(model.prior, kernel=RBF(0.5), C=model.C).fit(X, y)
        np.testing.assert_allclose(model.decision_function(new), alone.decision_function(new), atol=1e-6)
    assert not recwarn.list


@pytest.mark.parametrize("norm", ["l2", "l1"])
def test_with_a_region_and_costs(data, norm):
    X, y = data
    X, y = X[:40], y[:40]
    region = Box({0: (1.0, 1.3), 1: (1.0, 1.3), 2: (0.0, 0.3)}, y[0], hard=True)
    prior = TangentPenalty(Turn(), 0.2) + region + ClassCosts({y[0]: 2.0})
    model = PriorSVC(prior, kernel=RBF(0.5), norm=norm).fit(X, y)
    assert model.status_ == "optimal"
    sign = 1 if y[0] == model.classes_[1] else -1
    inside = np.random.default_rng(0).uniform([1.0, 1.0, 0.0], [1.3, 1.3, 0.3], size=(50, 3))
    assert (sign * model.decision_function(inside)).min() > 1 - 1e-2


def test_the_invariant_kernel_with_a_region_is_the_penalty_with_it(data, new):
    X, y = data
    X, y = X[:40], y[:40]
    region = Box({0: (1.0, 1.3), 1: (1.0, 1.3), 2: (0.0, 0.3)}, y[0], mu=5.0, method="points", points=30)
    kernel = TangentInvariant(RBF(0.5), Turn(), 0.2)
    alone = PriorSVC(region + ClassCosts({y[0]: 2.0}), kernel=kernel, tol=1e-9).fit(X, y)
    prior = TangentPenalty(Turn(), 0.2) + region + ClassCosts({y[0]: 2.0})
    block = PriorSVC(prior, kernel=RBF(0.5), tol=1e-9).fit(X, y)
    np.testing.assert_allclose(block.decision_function(new), alone.decision_function(new), atol=1e-6)


@pytest.mark.slow
def test_with_a_monotone_feature_by_cuts(data):
    X, y = data
    X, y = X[:30, :2], y[:30]
    prior = TangentPenalty(Shift([0.0, 0.5]), 0.2) + Monotone({0: +1}, hard=True, method="cuts")
    model = PriorSVC(prior, kernel=RBF(0.5)).fit(X, y)
    places = np.linspace(X[:, 0].min(), X[:, 0].max(), 40)
    for height in np.quantile(X[:, 1], [0.1, 0.5, 0.9]):
        f = model.decision_function(np.column_stack([places, np.full(40, height)]))
        assert np.diff(f).min() > -2e-3


def test_a_transform_without_parameters_asks_nothing(data, new):
    class Still(Transform):
        def tangents(self, X):
            return np.empty((len(X), 0, np.shape(X)[1]))

    X, y = data
    model = PriorSVC(TangentPenalty(Still(), 5.0), kernel=RBF(0.5), solver="CLARABEL").fit(X, y)
    plain = PriorSVC(kernel=RBF(0.5)).fit(X, y)
    np.testing.assert_allclose(model.decision_function(new), plain.decision_function(new), atol=1e-6)


@pytest.mark.parametrize(
    ("block", "settings", "error", "message"),
    [
        (TangentPenalty(Turn(), -1.0), {}, InvalidInput, "gamma must be a nonnegative number, got -1.0"),
        (TangentPenalty("turn"), {}, InvalidType, "transform must be a Transform, got str"),
        (TangentPenalty(Turn), {}, InvalidType, r"got the class Turn: write Turn\(...\)"),
        (TangentPenalty(FeatureDeletion(1)), {}, InvalidInput, "is discrete and has no tangents"),
        (TangentPenalty(Shift([1.0])), {}, InvalidInput, "vector has 1 entries, but X has 3 columns"),
        (
            TangentPenalty(Turn()),
            {"kernel": Pairwise("cosine")},
            MissingCapability,
            r"block 'tangent_penalty'.*requires f.slope.*'cosine'",
        ),
        (
            TangentPenalty(Turn()),
            {"kernel": Pairwise("cosine"), "norm": "l1"},
            MissingCapability,
            "block 'tangent_penalty'.*requires f.slope",
        ),
    ],
    ids=str,
)
def test_what_cannot_be_used_is_named(data, block, settings, error, message):
    with pytest.raises(error, match=message):
        PriorSVC(block, **settings).fit(*data)


@pytest.mark.slow
def test_laws():
    check_knowledge(TangentPenalty(Shift(STEP), gamma=0.3))
