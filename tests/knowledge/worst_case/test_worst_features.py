"""Deleted and scaled features: the closed form and column generation, against one atom for each row."""

import warnings

import cvxpy as cp
import numpy as np
import pytest

from priorsvm import (
    FeatureDeletion,
    FeatureScaling,
    InvariantLoss,
    PriorSVC,
)
from priorsvm.errors import MissingCapability

SHARP = {"tol_gap_abs": 1e-12, "tol_gap_rel": 1e-12, "tol_feas": 1e-12}


def signs(y):
    return np.where(np.asarray(y) == np.max(y), 1.0, -1.0)


@pytest.fixture(scope="module")
def few(data):
    X, y = data
    return X[:40], y[:40]


def own_scaling(X, y, k, low, high, C):
    """min |w|^2/2 + C sum [1 - y f + sum_largest(max(0, (1-l)B, (1-u)B), k)]_+, one atom for each row."""
    sign, n = signs(y), len(y)
    w, b, xi = cp.Variable(X.shape[1]), cp.Variable(), cp.Variable(n, nonneg=True)
    constraints = []
    for i in range(n):
        B = sign[i] * cp.multiply(X[i], w)
        gains = cp.maximum(0, (1 - low) * B, (1 - high) * B)
        fall = cp.sum_largest(gains, min(k, X.shape[1])) if k else 0.0
        constraints.append(sign[i] * (X[i] @ w + b) - fall >= 1 - xi[i])
    problem = cp.Problem(cp.Minimize(0.5 * cp.sum_squares(w) + C * cp.sum(xi)), constraints)
    return problem.solve(solver="CLARABEL", **SHARP)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["closed", "columns"])
@pytest.mark.parametrize(
    "transform",
    [FeatureDeletion(1), FeatureDeletion(5), FeatureScaling(1, 0.5, 2.0), FeatureScaling(2, 0.9, 1.0)],
    ids=str,
)
def test_few_features_by_one_atom_for_each_row(few, transform, method):
    X, y = few
    X = X + np.array([3.0, 0.0, 1.0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # some leave a constant
        model = PriorSVC(InvariantLoss(transform, method=method), C=0.5, tol=1e-8).fit(X, y)
    expected = own_scaling(X, y, transform.k, *transform._factors(), 0.5)
    assert model.objective_ == pytest.approx(expected, rel=1e-7)


def test_all_features_may_go(few):
    r"""Then only the harmful terms stay: y b - sum_j [-y w_j x_j]_+ is the margin."""
    X, y = few
    sign = signs(y)
    w, b, xi = cp.Variable(3), cp.Variable(), cp.Variable(len(y), nonneg=True)
    harmful = cp.sum(cp.pos(-cp.multiply(sign[:, None] * X, cp.reshape(w, (1, 3), order="C"))), axis=1)
    problem = cp.Problem(
        cp.Minimize(0.5 * cp.sum_squares(w) + 2.0 * cp.sum(xi)), [sign * b - harmful >= 1 - xi]
    )
    expected = problem.solve(solver="CLARABEL", **SHARP)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = PriorSVC(InvariantLoss(FeatureDeletion(3)), C=2.0).fit(X, y)
    assert model.objective_ == pytest.approx(expected, rel=1e-7)


@pytest.mark.parametrize("transform", [FeatureDeletion(0), FeatureScaling(2, 1.0, 1.0)], ids=str)
@pytest.mark.parametrize("method", ["closed", "columns"])
def test_nothing_can_be_spoiled(few, new, transform, method):
    X, y = few
    plain = PriorSVC(solver="CLARABEL").fit(X, y).decision_function(new)
    model = PriorSVC(InvariantLoss(transform, method=method)).fit(X, y)
    np.testing.assert_allclose(model.decision_function(new), plain, atol=1e-5)


def test_a_pooled_sum_is_something_else(few):
    """A formulation in circulation pools the deletions of all rows; it is not this problem."""
    X, y = few
    X = np.hstack([X, X + 0.1 * np.random.default_rng(0).normal(size=X.shape)])
    sign, (n, d), k = signs(y), X.shape, 1
    w, b, xi = cp.Variable(d), cp.Variable(), cp.Variable(n, nonneg=True)
    t, z, v = cp.Variable(n), cp.Variable(n), cp.Variable((n, d), nonneg=True)
    pooled = sign @ X
    constraints = [
        t >= k * z + X.sum(axis=1),
        *(z + v[:, j] >= pooled[j] * w[j] for j in range(d)),
        cp.multiply(sign, X @ w + b) - t >= 1 - xi,
    ]
    wrong = cp.Problem(cp.Minimize(cp.norm(w) + 2.0 * cp.sum(xi)), constraints).solve(solver="CLARABEL")
    ours = PriorSVC(InvariantLoss(FeatureDeletion(1)), C=2.0).fit(X, y).objective_
    assert ours == pytest.approx(own_scaling(X, y, 1, 0.0, 1.0, 2.0), rel=1e-7)
    assert abs(wrong - ours) > 0.1 * ours


def test_few_features_need_a_linear_machine(few):
    X, y = few
    with pytest.raises(MissingCapability, match=r"FeatureDeletion is known for linear models only"):
        PriorSVC(InvariantLoss(FeatureDeletion(1)), kernel="rbf").fit(X, y)
