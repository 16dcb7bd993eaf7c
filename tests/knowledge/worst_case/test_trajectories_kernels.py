"""Trajectories of kernel models: grids on their polynomials."""

import warnings
from itertools import pairwise

import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel

from priorsvm import (
    RBF,
    FromFunction,
    Polynomial,
    PriorSVC,
    Rotation,
    Shift,
    Trajectories,
    load_usps,
)
from priorsvm.errors import CoarsePolynomial

from .trajectory_problems import (
    FINE,
    TURNS,
    Own,
    labels,
    lagrange,
    signs,
    slacks,
    turn,
)

pytestmark = pytest.mark.slow  # part of `make test` only


def polynomial_features(points, gamma, coef0):
    """The features of (gamma x'z + c)^2 in the plane."""
    a, b = points[..., 0], points[..., 1]
    first = np.sqrt(2 * gamma * coef0)
    squared = [gamma * a * a, gamma * b * b, np.sqrt(2) * gamma * a * b]
    return np.stack([*squared, first * a, first * b, coef0 + 0 * a], axis=-1)


def test_a_shift_under_a_quadratic_kernel_is_a_quadratic_trajectory(moons):
    X, y = moons
    step, kernel = np.array([0.2, 0.6]), Polynomial(degree=2, gamma=0.7, coef0=1.0)
    model = PriorSVC(Trajectories(Shift(step), degree=2), kernel=kernel, **FINE).fit(X, y)
    points = X[:, None] + np.linspace(-1, 1, 401)[:, None] * step
    value, w, b = Own(y, 6).at(polynomial_features(points, 0.7, 1.0)).solve()
    assert -1e-9 < model.objective_ / value - 1 < 1e-8
    worst = model.findings_["trajectories"]
    np.testing.assert_allclose(worst.errors, 0.0, atol=1e-12)
    assert np.sum(worst.support & (np.abs(worst.thetas) < 0.9) & (worst.thetas != 0)) > 3
    Z = np.random.default_rng(0).normal(size=(30, 2))
    own = polynomial_features(Z, 0.7, 1.0) @ w + b
    np.testing.assert_allclose(model.decision_function(Z), own, atol=1e-6)


@pytest.mark.parametrize(
    ("degree", "settings"),
    [(1, {}), (2, {}), (4, {}), (2, {"norm": "l1"}), (4, {"norm": "l1"}), (2, {"loss": "squared_hinge"})],
    ids=str,
)
def test_a_kernel_model_is_a_grid_on_its_polynomials(moons, degree, settings):
    X, y = moons[0][:24], moons[1][:24]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CoarsePolynomial)
        block = Trajectories(TURNS, degree=degree)
        model = PriorSVC(block, kernel=RBF(gamma=2.0), C=1.0, tol=1e-9, **settings).fit(X, y)
    nodes = -np.cos(np.pi * np.arange(degree + 1) / degree)
    moved = np.stack([turn(X, 0.5 * u) for u in nodes], axis=1)
    points = np.concatenate([X[:, None], moved], axis=1)
    centres = X if "norm" in settings else points.reshape(-1, 2)
    K = rbf_kernel(points.reshape(-1, 2), centres, gamma=2.0)
    if "norm" not in settings:  # coordinates in which the norm of f is that of its coefficients
        size, vectors = np.linalg.eigh(K)
        kept = size > 1e-12
        K = vectors[:, kept] * np.sqrt(size[kept])
    features = K.reshape(len(y), degree + 2, -1)
    u = np.cos(np.linspace(0, np.pi, 40)) if degree > 1 else np.array([-1.0, 1.0])
    on_curve = np.einsum("km,nmd->nkd", lagrange(nodes, u), features[:, 1:])
    own = Own(y, K.shape[1], C=1.0, **settings).at(np.concatenate([features[:, :1], on_curve], axis=1))
    value, _, _ = own.solve()
    assert -1e-8 < model.objective_ / value - 1 < 2e-5


def others(limit):
    """Ten thousand angles, none of them among the 201 that the library looks at."""
    return np.random.default_rng(0).uniform(-limit, limit, 10_000)


def falls_short(model, X, y, limit):
    """The largest shortfall of the margins, and the largest difference between f and its polynomial."""
    slack, u = slacks(model, X, y), others(1.0)
    nodes = -np.cos(np.pi * np.arange(5) / 4)
    at_nodes = np.array([model.decision_function(turn(X, limit * z)) for z in nodes])
    worst = apart = -np.inf
    for part in np.split(u, 100):
        f = model.decision_function(np.concatenate([turn(X, limit * t) for t in part])).reshape(100, -1)
        worst = max(worst, float((1 - slack - signs(y) * f).max()))
        apart = max(apart, float(np.abs(f - lagrange(nodes, part) @ at_nodes).max()))
    return worst, apart


@pytest.mark.parametrize(("gamma", "C", "limit"), [(2.0, 1.0, 0.5), (2.0, 10.0, 0.3)], ids=str)
def test_margins_hold_between_the_angles_to_the_reported_error(moons, gamma, C, limit):
    X, y = moons
    block = Trajectories(FromFunction(turn, [-limit, limit]))
    model = PriorSVC(block, kernel=RBF(gamma=gamma), C=C).fit(X, y)
    reported = model.findings_["trajectories"].errors.max()
    worst, apart = falls_short(model, X, y, limit)
    assert worst <= 1.2 * reported
    assert worst <= 0.02
    assert apart <= 1.2 * reported
    assert reported <= 0.02
    # The plain model does not keep the margins, and the model separates the classes.
    plain = PriorSVC(kernel=RBF(gamma=gamma), C=C).fit(X, y)
    margin = np.minimum(signs(y) * plain.decision_function(X), 1)
    assert (margin - signs(y) * plain.decision_function(turn(X, limit))).max() > 0.3
    assert model.score(X, y) > 0.9
    assert np.ptp(model.decision_function(X)) > 2


def test_the_error_falls_with_the_degree(moons):
    X, y = moons[0][:40], moons[1][:40]
    errors = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CoarsePolynomial)
        for degree in (2, 4, 6, 8):
            model = PriorSVC(Trajectories(TURNS, degree=degree), kernel=RBF(gamma=1.0), C=10.0).fit(X, y)
            errors.append(model.findings_["trajectories"].errors.max())
    assert errors[0] < 0.25
    for coarse, fine in pairwise(errors):
        assert fine < 0.12 * coarse


def test_the_default_degree_is_2_for_linear_and_4_for_kernel_models(moons):
    X, y = moons
    linear = PriorSVC(Trajectories(TURNS)).fit(X, y)
    assert labels(linear) == ["svm.margin", "trajectories.cone"]
    kernel = PriorSVC(Trajectories(TURNS), kernel=RBF(gamma=1.0)).fit(X, y)
    four = PriorSVC(Trajectories(TURNS, degree=4), kernel=RBF(gamma=1.0)).fit(X, y)
    np.testing.assert_array_equal(kernel.decision_function(X), four.decision_function(X))
    assert "trajectories.sigma_1" in labels(kernel)
    both = PriorSVC(Trajectories(Shift(0.1 * np.eye(2))), kernel=RBF(gamma=1.0)).fit(X, y)
    assert labels(both) == ["svm.margin", "trajectories.matrix"]


def test_worst_points_of_a_kernel_model_are_on_the_true_curve(moons):
    X, y = moons
    model = PriorSVC(Trajectories(TURNS), kernel=RBF(gamma=1.0), **FINE).fit(X, y)
    worst = model.findings_["trajectories"]
    moved = [turn(X[i : i + 1], theta)[0] for i, theta in zip(worst.rows, worst.thetas, strict=True)]
    np.testing.assert_allclose(worst.points, moved, atol=1e-5)
    slack = slacks(model, X, y)[worst.rows]
    excess = signs(y)[worst.rows] * model.decision_function(worst.points) - 1 + slack
    assert np.abs(excess[worst.support]).max() < 1.2 * worst.errors.max()


@pytest.mark.data
@pytest.mark.parametrize(
    ("digits", "degree", "measured"),
    [((3, 8), 2, 0.26), ((3, 8), 4, 0.08), ((4, 9), 2, 0.81), ((4, 9), 4, 0.33)],
    ids=str,
)
def test_errors_on_real_images_are_of_the_known_size(digits, degree, measured):
    usps = load_usps()
    rows = np.concatenate([np.flatnonzero(usps.y_train == digit)[:10] for digit in digits])
    X, y = usps.X_train[rows], usps.y_train[rows]
    turns = Rotation((16, 16), 20, fill=usps.background)
    with pytest.warns(CoarsePolynomial):
        model = PriorSVC(Trajectories(turns, degree=degree), kernel=RBF(gamma=0.01), C=10.0).fit(X, y)
    errors = model.findings_["trajectories"].errors
    assert measured / 2 < errors.max() < 2 * measured
    nodes, u = -np.cos(np.pi * np.arange(degree + 1) / degree), np.linspace(-1, 1, 201)
    at_nodes = np.array([model.decision_function(turns.apply(X, 20 * z)) for z in nodes])
    true = np.array([model.decision_function(turns.apply(X, 20 * t)) for t in u])
    np.testing.assert_allclose(errors, np.abs(true - lagrange(nodes, u) @ at_nodes).max(axis=0), atol=1e-9)
