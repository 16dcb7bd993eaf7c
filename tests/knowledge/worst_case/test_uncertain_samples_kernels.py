"""UncertainSamples of kernel models: first order and guarantee."""

from dataclasses import replace

import cvxpy as cp
import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel

from priorsvm import (
    RBF,
    Linear,
    Polynomial,
    PriorSVC,
    Shift,
    TangentInvariant,
    UncertainSamples,
)

from .uncertain_problems import (
    FEWER,
    GAMMA,
    SHARP,
    WIDTH,
    N,
    ball,
    signs,
    slacks,
)


def own_kernel(X, y, A, C=1.0, width=1.0, kind="l2", sure=False):
    """The same with explicit gradients of RBF functions over the rows, or with the norm of f."""
    Z, A, s = X / width, A / np.broadcast_to(width, X.shape[1])[:, None], signs(y)
    K = rbf_kernel(Z, gamma=WIDTH)
    size, vectors = np.linalg.eigh(K)
    assert size[0] > 1e-6
    if kind == "l2":  # coordinates in which the norm of f is their length
        theta = cp.Variable(len(y))
        weights, energy = (vectors / np.sqrt(size)) @ theta, 0.5 * cp.sum_squares(theta)
    else:
        weights = cp.Variable(len(y))
        energy = cp.norm1(weights)
    length = cp.norm((vectors * np.sqrt(size)).T @ weights)
    b, xi = cp.Variable(), cp.Variable(len(y), nonneg=True)
    constraints = []
    for i in range(len(y)):
        gradient = -2 * WIDTH * (Z[i] - Z) * K[i][:, None]
        if sure:
            r = GAMMA * np.linalg.norm(A[i], 2)
            fall = np.sqrt(2 - 2 * np.exp(-WIDTH * r**2)) * length
        else:
            fall = GAMMA * cp.norm((gradient @ A[i]).T @ weights)
        constraints.append(s[i] * (K[i] @ weights + b) - fall >= 1 - xi[i])
    problem = cp.Problem(cp.Minimize(energy + C * cp.sum(xi)), constraints)
    value = problem.solve(solver="CLARABEL", **FEWER)
    return value, lambda new: rbf_kernel(new / width, Z, gamma=WIDTH) @ weights.value + b.value


@pytest.mark.parametrize("kind", ["l2", "l1"])
@pytest.mark.parametrize("scale", [None, "standard"])
def test_own_gradients_of_rbf_functions(few, new, factors, scale, kind):
    X, y = few
    A = 0.5 * factors
    settings = {"kernel": RBF(WIDTH), "C": 2.0, "norm": kind, "scale": scale, "solver_options": FEWER}
    model = PriorSVC(UncertainSamples(factor=A), **settings).fit(X, y)
    value, f = own_kernel(X, y, A, 2.0, 1.0 if scale is None else X.std(axis=0), kind)
    assert model.objective_ == pytest.approx(value, rel=2e-10)
    np.testing.assert_allclose(model.decision_function(new), f(new), rtol=0, atol=1e-5)


@pytest.mark.filterwarnings("ignore:Solution may be inaccurate")  # of one's own, in its last digits
@pytest.mark.parametrize("kind", ["l2", "l1"])
@pytest.mark.parametrize("scale", [None, "standard"])
def test_own_guarantee_of_rbf_functions(few, new, factors, scale, kind):
    X, y = few
    A = 0.1 * factors
    settings = {"kernel": RBF(WIDTH), "C": 2.0, "norm": kind, "scale": scale, "solver_options": FEWER}
    model = PriorSVC(UncertainSamples(factor=A, guarantee=True), **settings).fit(X, y)
    value, f = own_kernel(X, y, A, 2.0, 1.0 if scale is None else X.std(axis=0), kind, sure=True)
    assert model.objective_ == pytest.approx(value, rel=2e-10)
    np.testing.assert_allclose(model.decision_function(new), f(new), rtol=0, atol=1e-5)


def test_a_guarantee_changes_nothing_for_a_linear_model(few, covariances):
    models = [PriorSVC(UncertainSamples(covariances, guarantee=g), **SHARP).fit(*few) for g in (True, False)]
    np.testing.assert_array_equal(models[0].coef_, models[1].coef_)


def test_a_linear_kernel_is_the_linear_model(few, new, covariances):
    linear = PriorSVC(UncertainSamples(covariances), **SHARP).fit(*few)
    kernel = PriorSVC(UncertainSamples(covariances), kernel=Polynomial(1, 1.0), **SHARP).fit(*few)
    assert kernel.objective_ == pytest.approx(linear.objective_, rel=1e-10)
    np.testing.assert_allclose(
        kernel.decision_function(new), linear.decision_function(new), rtol=0, atol=2e-5
    )


@pytest.mark.slow
def test_the_first_order_is_right_to_second_order(few, factors):
    X, y = few
    angle, radius = np.linspace(0, 2 * np.pi, 2001), np.linspace(0.25, 1.0, 4)
    disc = np.concatenate([r * np.column_stack([np.cos(angle), np.sin(angle)]) for r in radius])
    errors = []
    for size in (0.2, 0.1, 0.05):
        A = size * factors[:, :, :2]
        model = PriorSVC(UncertainSamples(factor=A), kernel=RBF(WIDTH), **SHARP).fit(X, y)
        Z, weights = model.centres_, model.dual_coef_[0]
        largest = 0.0
        for i in range(N):
            gradient = -2 * WIDTH * ((X[i] - Z) * rbf_kernel(X[i][None], Z, gamma=WIDTH).T).T @ weights
            said = signs(y)[i] * model.decision_function(X[i][None])[0]
            said -= GAMMA * np.linalg.norm(A[i].T @ gradient)
            values = signs(y)[i] * model.decision_function(X[i] + GAMMA * disc @ A[i].T)
            largest = max(largest, abs(values.min() - said))
        errors.append(largest)
    assert errors[0] < 0.1
    assert errors[1] < 0.35 * errors[0]
    assert errors[2] < 0.35 * errors[1]


SURE = [RBF(WIDTH), Polynomial(2, 0.3, 1.0), RBF(WIDTH) + Linear(), 0.5 * Polynomial(3, 0.2, 1.0)]


@pytest.mark.parametrize("scale", [None, "minmax"])
@pytest.mark.parametrize("kernel", SURE, ids=repr)
def test_a_guarantee_holds_at_every_sampled_point(few, factors, kernel, scale):
    X, y = few
    A = (0.1 if scale is None else 0.05) * factors
    model = PriorSVC(UncertainSamples(factor=A, guarantee=True), kernel=kernel, scale=scale).fit(X, y)
    assert np.ptp(model.decision_function(X)) > 0.5
    z, asked = GAMMA * ball(1000, 3, 1), 1 - slacks(model)
    lowest = np.array([(signs(y)[i] * model.decision_function(X[i] + z @ A[i].T)).min() for i in range(N)])
    assert (lowest - asked).min() > -1e-7
    verdict = model.verify()["uncertain_samples"]
    assert (verdict.holds, verdict.proven, verdict.checked) == (True, True, N)
    assert -1e-7 < verdict.worst < 1e-6


def test_verify_samples_the_ellipsoids_of_the_first_order(few, factors):
    X, y = few
    A = 0.5 * factors
    model = PriorSVC(UncertainSamples(factor=A), kernel=RBF(WIDTH)).fit(X, y)
    verdict = model.verify()["uncertain_samples"]
    assert (verdict.holds, verdict.proven, verdict.checked) == (False, False, 65 * N)
    assert "(first order)" in verdict.asked
    z = [np.linalg.pinv(A[i]) @ (verdict.where - X[i]) for i in range(N)]
    inside = [i for i in range(N) if np.linalg.norm(z[i]) <= GAMMA * (1 + 1e-9)]
    value = model.decision_function(verdict.where[None])[0]
    excess = [signs(y)[i] * value - (1 - slacks(model)[i]) for i in inside]
    assert min(np.abs(np.subtract(excess, verdict.worst))) < 1e-9
    assert verdict.worst < -1e-5
    assert 0 < verdict.violated < verdict.checked


def test_verify_of_a_guarantee_is_the_closed_form(few, factors):
    X, y = few
    A = 0.1 * factors
    model = PriorSVC(UncertainSamples(factor=A, guarantee=True), kernel=RBF(WIDTH)).fit(X, y)
    Z, weights = model.centres_, model.dual_coef_[0]
    length = np.sqrt(weights @ rbf_kernel(Z, gamma=WIDTH) @ weights)
    r = GAMMA * np.linalg.norm(A, 2, axis=(1, 2))
    fall = length * np.sqrt(2 - 2 * np.exp(-WIDTH * r**2))
    excess = signs(y) * model.decision_function(X) - fall - (1 - slacks(model))
    verdict = model.verify()["uncertain_samples"]
    assert verdict.worst == pytest.approx(excess.min(), abs=1e-8)
    [i] = np.flatnonzero((verdict.where == X).all(axis=1))
    assert excess[i] == pytest.approx(verdict.worst, abs=1e-8)


@pytest.mark.parametrize("guarantee", [True, False])
def test_verify_detects_a_changed_kernel_expansion(few, factors, guarantee):
    block = UncertainSamples(factor=0.1 * factors, guarantee=guarantee)
    model = PriorSVC(block, kernel=RBF(WIDTH)).fit(*few)
    binary = model._models[0]
    binary.f = replace(binary.f, weights=2 * binary.f.weights)
    verdict = model.verify()["uncertain_samples"]
    assert verdict.holds is False
    assert verdict.worst < -0.01


# ---------------------------------------------------------------------- kernels with first derivatives


def tangent_kernel(X, gamma):
    """The matrix of the invariant RBF kernel between any rows, from its formula with dense inverses."""
    step = np.array([0.3, 1.0, 0.0])

    def slopes(A, B):  # of k(a, b) by a, along the step
        return -2 * WIDTH * ((A[:, None] - B[None]) @ step) * rbf_kernel(A, B, gamma=WIDTH)

    apart = (X[:, None] - X[None]) @ step
    both = (2 * WIDTH * step @ step - 4 * WIDTH**2 * apart**2) * rbf_kernel(X, gamma=WIDTH)
    inverse = np.linalg.inv(np.eye(len(X)) / gamma + both)
    return lambda A, B: rbf_kernel(A, B, gamma=WIDTH) - slopes(X, A).T @ inverse @ slopes(X, B)


@pytest.mark.parametrize("kind", ["l2", "l1"])
def test_a_tangent_invariant_kernel_by_differences_of_its_formula(few, new, factors, kind):
    X, y = few
    A = 0.5 * factors
    kernel = TangentInvariant(RBF(WIDTH), Shift([0.3, 1.0, 0.0]), gamma=0.5)
    settings = {"kernel": kernel, "C": 2.0, "norm": kind, "solver_options": FEWER}
    model = PriorSVC(UncertainSamples(factor=A), **settings).fit(X, y)
    k = tangent_kernel(X, 0.5)
    K = k(X, X)
    size, vectors = np.linalg.eigh(K)
    weights = cp.Variable(len(y))
    energy = cp.norm1(weights)
    if kind == "l2":
        energy = 0.5 * cp.sum_squares((vectors * np.sqrt(np.maximum(size, 0))).T @ weights)
    b, xi, h = cp.Variable(), cp.Variable(len(y), nonneg=True), 1e-5
    constraints = []
    for i, s in enumerate(signs(y)):
        ahead, behind = (k(X[i] + step * A[i].T, X) for step in (h, -h))
        fall = GAMMA * cp.norm((ahead - behind) / (2 * h) @ weights)
        constraints.append(s * (K[i] @ weights + b) - fall >= 1 - xi[i])
    value = cp.Problem(cp.Minimize(energy + 2.0 * cp.sum(xi)), constraints).solve("CLARABEL")
    assert model.objective_ == pytest.approx(value, rel=1e-7)
    np.testing.assert_allclose(
        model.decision_function(new), k(new, X) @ weights.value + b.value, rtol=0, atol=1e-4
    )
    f = model._models[0].f
    V = A[:, :, 0]
    difference = (f.value(X + h * V) - f.value(X - h * V)) / (2 * h)
    np.testing.assert_allclose(f.slope(X, V), difference, rtol=0, atol=1e-8)
    assert model.verify()["uncertain_samples"].checked == 65 * len(X)


def test_a_guarantee_with_a_tangent_invariant_kernel(few, factors):
    X, y = few
    kernel = TangentInvariant(RBF(WIDTH), Shift([0.3, 1.0, 0.0]), gamma=0.5)
    block = UncertainSamples(factor=0.2 * factors, guarantee=True)
    model = PriorSVC(block, kernel=kernel).fit(X, y)
    slack = model._models[0].view("uncertain_samples", model._models[0].sample).slack
    rng = np.random.default_rng(0)
    for _ in range(20):
        z = rng.normal(size=(len(X), 3))
        z *= GAMMA / np.linalg.norm(z, axis=1, keepdims=True)
        points = X + np.einsum("ndk,nk->nd", 0.2 * factors, z)
        assert np.all(signs(y) * model.decision_function(points) >= 1 - slack - 1e-6)
