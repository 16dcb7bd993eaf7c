"""The affinity of Gaussians against integrals, other formulas and explicit feature spaces."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.integrate import quad
from scipy.stats import multivariate_normal

from priorsvm import RBF, Bhattacharyya, Linear, Polynomial
from priorsvm.errors import InvalidInput


def sets_of(sizes, width=3, seed=0):
    rng = np.random.default_rng(seed)
    return [
        rng.normal(size=(m, width)) @ rng.normal(size=(width, width)) + rng.normal(size=width) for m in sizes
    ]


def gaussian(x, eta):
    return x.mean(axis=0), np.cov(x.T, bias=True).reshape(x.shape[1], -1) + eta * np.eye(x.shape[1])


def published(x, z, eta):
    """The formula of the paper, in inverses and determinants."""
    (m, S), (n, T) = gaussian(x, eta), gaussian(z, eta)
    S_inv, T_inv = np.linalg.inv(S), np.linalg.inv(T)
    both = 2 * np.linalg.inv(S_inv + T_inv)
    mean = (S_inv @ m + T_inv @ n) / 2
    factor = np.linalg.det(S) ** -0.25 * np.linalg.det(T) ** -0.25 * np.linalg.det(both) ** 0.5
    return factor * np.exp(-0.25 * m @ S_inv @ m - 0.25 * n @ T_inv @ n + 0.5 * mean @ both @ mean)


def quadratic_features(X):
    """Explicit features of (x'z + 1)^2."""
    n, d = X.shape
    pairs = [np.sqrt(2 if i < j else 1) * X[:, i] * X[:, j] for i in range(d) for j in range(i, d)]
    return np.column_stack([np.ones(n), np.sqrt(2) * X, *pairs])


def test_equal_sets_have_affinity_one():
    X = sets_of([1, 2, 5, 9])
    for kernel in (Bhattacharyya(eta=0.2), Bhattacharyya(eta=0.2, base=RBF(gamma=0.1))):
        assert_array_equal(np.diagonal(kernel(X)), 1.0)
        assert_allclose(np.diagonal(kernel(X, [x.copy() for x in X])), 1.0, atol=1e-13)
        assert_array_equal(kernel.diag(X), 1.0)


def test_unit_covariances_are_an_rbf_of_the_means():
    rng = np.random.default_rng(0)
    points = rng.normal(size=(12, 3))
    alone = Bhattacharyya(eta=1.0)(points[:, None, :])
    assert_allclose(alone, RBF(gamma=1 / 8)(points), rtol=1e-13)
    # corners of a cross have the covariance I / d, so that eta makes it I
    cross = np.vstack([np.eye(3), -np.eye(3)])
    assert_allclose(Bhattacharyya(eta=2 / 3)(points[:, None] + cross), RBF(gamma=1 / 8)(points), rtol=1e-13)


@pytest.mark.parametrize("eta", [1e-3, 0.5])
def test_formula_is_the_published_one(eta):
    X = sets_of([5, 8, 4, 6])
    expected = [[published(x, z, eta) for z in X] for x in X]
    assert_allclose(Bhattacharyya(eta=eta)(X), expected, rtol=1e-9)


def test_affinity_is_the_integral_in_one_dimension():
    X = [np.array([[0.0], [1.0], [3.0]]), np.array([[1.5], [2.0]]), np.array([[-1.0]])]
    eta = 0.3
    K = Bhattacharyya(eta=eta)(X)
    for i, j in itertools.combinations(range(3), 2):
        p, q = (multivariate_normal(*gaussian(X[k], eta)).pdf for k in (i, j))
        value, error = quad(lambda t, p=p, q=q: np.sqrt(p(t) * q(t)), -30, 30, epsabs=1e-12, limit=200)
        assert_allclose(K[i, j], value, atol=1e-10 + error)


def test_affinity_is_the_integral_in_two_dimensions():
    x, z = sets_of([4, 6], width=2)
    p, q = (multivariate_normal(*gaussian(s, 0.5)).pdf for s in (x, z))
    # The trapezoidal rule is exact to rounding for a function that is smooth and dies out.
    axis = np.linspace(-40, 40, 801)
    grid = np.stack(np.meshgrid(axis, axis), axis=2)
    value = np.sqrt(p(grid) * q(grid)).sum() * (axis[1] - axis[0]) ** 2
    assert_allclose(Bhattacharyya(eta=0.5)([x], [z])[0, 0], value, rtol=1e-12)


@pytest.mark.parametrize("eta", [1e-2, 1.0])
def test_linear_base_with_all_components_is_the_plain_kernel(eta):
    X, Z = sets_of([5, 1, 2, 9, 3]), sets_of([4, 7], seed=1)
    plain, based = Bhattacharyya(eta=eta), Bhattacharyya(eta=eta, base=Linear())
    assert_allclose(based(X), plain(X), rtol=1e-9, atol=1e-13)
    assert_allclose(based(X, Z), plain(X, Z), rtol=1e-9, atol=1e-13)
    enough = Bhattacharyya(eta=eta, base=Linear(), n_components=3)  # no set has more of them
    assert_allclose(enough(X), plain(X), rtol=1e-9, atol=1e-13)


def test_base_kernel_is_the_plain_kernel_of_its_features():
    X = sets_of([5, 1, 2, 9, 3], width=2)
    based = Bhattacharyya(eta=0.4, base=Polynomial(degree=2, gamma=1.0, coef0=1.0))
    assert_allclose(
        based(X), Bhattacharyya(eta=0.4)([quadratic_features(x) for x in X]), rtol=1e-8, atol=1e-13
    )


@pytest.mark.parametrize("r", [1, 2])
def test_components_are_those_of_the_largest_variance_of_each_set(r):
    X, eta = sets_of([5, 4, 9, 3]), 0.4

    def truncated(x):
        mean, S = gaussian(x, 0.0)
        values, vectors = np.linalg.eigh(S)
        return mean, (vectors[:, -r:] * values[-r:]) @ vectors[:, -r:].T + eta * np.eye(3)

    def affinity(p, q):
        (m, S), (n, T) = p, q
        both = (S + T) / 2
        logs = [np.linalg.slogdet(M)[1] for M in (S, T, both)]
        return np.exp(logs[0] / 4 + logs[1] / 4 - logs[2] / 2 - (m - n) @ np.linalg.solve(both, m - n) / 8)

    fits = [truncated(x) for x in X]
    expected = [[affinity(p, q) for q in fits] for p in fits]
    assert_allclose(Bhattacharyya(eta=eta, base=Linear(), n_components=r)(X), expected, rtol=1e-10)


@pytest.mark.parametrize("n_components", [None, 1, 3])
def test_matrices_are_positive_semidefinite_in_any_feature_space(n_components):
    X = sets_of(np.random.default_rng(0).integers(1, 8, size=60), width=2)
    for gamma, eta in ((0.1, 0.01), (2.0, 0.01), (0.5, 1.0)):
        K = Bhattacharyya(eta=eta, base=RBF(gamma=gamma), n_components=n_components)(X)
        assert np.linalg.eigvalsh(K)[0] > -1e-11
        assert K.min() >= 0
        assert K.max() <= 1 + 1e-12


def test_components_of_the_union_would_not_be_positive_semidefinite():
    """Why each set has its own components: those of both sets together are another space for every pair."""
    rng = np.random.default_rng(0)
    X = [rng.normal(size=(6, 5)) + rng.normal(size=5) for _ in range(30)]
    kernel, K = Bhattacharyya(eta=0.01), np.eye(30)
    for i, j in itertools.combinations(range(30), 2):
        both = np.vstack([X[i], X[j]])
        axis = np.linalg.svd(both - both.mean(axis=0))[2][0]
        K[i, j] = K[j, i] = kernel([X[i] @ axis[:, None]], [X[j] @ axis[:, None]])[0, 0]
    assert np.linalg.eigvalsh(K)[0] < -0.5
    own = Bhattacharyya(eta=0.01, base=Linear(), n_components=1)
    assert np.linalg.eigvalsh(own(X))[0] > -1e-12


def test_far_sets_and_large_numbers_underflow_to_zero_and_not_to_nan():
    X = [np.full((3, 2), 1e6) + np.eye(3, 2), np.full((4, 2), -1e6) + np.eye(4, 2)]
    for kernel in (Bhattacharyya(eta=0.1), Bhattacharyya(eta=0.1, base=RBF(gamma=1.0))):
        K = kernel(X)
        assert np.isfinite(K).all()
        assert_array_equal(np.diagonal(K), 1.0)
    assert Bhattacharyya(eta=0.1)(X)[0, 1] == 0


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"eta": 0.0}, "eta is 0.0; expected a positive number or 'scale'"),
        ({"eta": "auto"}, "eta is 'auto'; expected a positive number"),
        ({"eta": True}, "eta is True"),
        ({"eta": 1.0, "n_components": 2}, "n_components is 2; expected None without a base kernel"),
        ({"eta": 1.0, "base": RBF(1.0), "n_components": 0}, "n_components is 0; expected None or a whole"),
        ({"eta": 1.0, "base": RBF(1.0), "n_components": 1.5}, "n_components is 1.5"),
        ({}, r"eta='scale' depends on the training sets; .* resolved\(X\)"),
    ],
)
def test_bad_parameters_are_named(parameters, message):
    with pytest.raises(InvalidInput, match=f"Bhattacharyya: {message}"):
        Bhattacharyya(**parameters)(sets_of([2, 3]))


def test_numerically_singular_sets_are_rejected():
    flat = np.outer(np.arange(12.0), [1e4, 1e4]).reshape(3, 4, 2)
    for base in (None, Linear()):
        with pytest.raises(InvalidInput, match=r"numerically singular.*larger eta"):
            Bhattacharyya(eta=1e-18, base=base)(flat)
    with pytest.raises(InvalidInput, match="squares of the vectors overflow"):
        Bhattacharyya().resolved(1e200 * flat)
