"""Principal angles against SciPy's, against determinants, and what their products are."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.linalg import subspace_angles

from priorsvm import RBF, Linear, Polynomial, PrincipalAngles
from priorsvm.errors import InvalidInput


def sets_of(n, m, width, seed=0):
    return np.random.default_rng(seed).normal(size=(n, m, width))


def products_of_cosines(X, Z=None):
    Z = X if Z is None else Z
    return np.array([[np.cos(subspace_angles(x.T, z.T)).prod() for z in Z] for x in X])


def quadratic_features(X):
    """Explicit features of (x'z)^2."""
    d = X.shape[1]
    return np.column_stack(
        [np.sqrt(2 if i < j else 1) * X[:, i] * X[:, j] for i in range(d) for j in range(i, d)]
    )


@pytest.mark.parametrize("m", [1, 2, 4])
def test_angles_are_those_of_scipy(m):
    X, Z = sets_of(7, m, 6), sets_of(5, m, 6, seed=1)
    expected = products_of_cosines(X, Z)
    assert_allclose(PrincipalAngles(ridge=0.0)(X, Z), expected**2, atol=1e-13)
    assert_allclose(PrincipalAngles(ridge=0.0, squared=False)(X, Z), expected, atol=1e-13)


def test_singletons_have_the_squared_cosine_of_their_angle():
    X = sets_of(8, 1, 3)
    unit = X[:, 0] / np.linalg.norm(X[:, 0], axis=1, keepdims=True)
    assert_allclose(PrincipalAngles(ridge=0.0)(X), (unit @ unit.T) ** 2, rtol=1e-12)
    assert_allclose(PrincipalAngles()(X), (unit @ unit.T) ** 2, rtol=3e-8)


@pytest.mark.parametrize("base", [None, Linear(), RBF(gamma=0.2), Polynomial(degree=2, gamma=1.0)])
def test_formula_is_a_ratio_of_determinants(base):
    X, k = sets_of(6, 3, 4), base or Linear()
    own = [np.linalg.det(k(x)) for x in X]
    expected = [[np.linalg.det(k(x, z)) ** 2 / (a * b) for z, b in zip(X, own)] for x, a in zip(X, own)]  # noqa: B905
    assert_allclose(PrincipalAngles(base=base, ridge=0.0)(X), expected, rtol=1e-8, atol=1e-13)


def test_base_kernel_is_the_plain_kernel_of_its_features():
    X = sets_of(6, 3, 3)
    based = PrincipalAngles(base=Polynomial(degree=2, gamma=1.0), ridge=0.0)
    features = np.array([quadratic_features(x) for x in X])
    assert_allclose(based(X), PrincipalAngles(ridge=0.0)(features), rtol=1e-8, atol=1e-13)


def test_lengths_and_mixtures_of_the_vectors_mean_nothing():
    X = sets_of(6, 3, 5)
    mixed = np.array([np.random.default_rng(i).normal(size=(3, 3)) @ x for i, x in enumerate(X)])
    kernel = PrincipalAngles(ridge=0.0)
    assert_allclose(kernel(mixed), kernel(X), rtol=1e-8, atol=1e-12)
    assert_allclose(PrincipalAngles()(1e6 * X), PrincipalAngles()(X), rtol=1e-9, atol=1e-14)


def test_directions_are_the_leading_ones_of_each_set():
    rng = np.random.default_rng(0)
    X = [rng.normal(size=(m, 4)) for m in (3, 5, 9, 4)]
    leading = [np.linalg.svd(x)[2][:2] for x in X]
    found = PrincipalAngles(n_directions=2, ridge=0.0)(X)
    assert_allclose(found, products_of_cosines(leading) ** 2, atol=1e-12)
    assert_allclose(PrincipalAngles(Linear(), n_directions=2, ridge=0.0)(X), found, atol=1e-12)


def test_squared_cosines_are_positive_definite_and_plain_ones_are_not():
    planes = sets_of(60, 2, 3)
    squared, plain = PrincipalAngles(), PrincipalAngles(squared=False)
    assert (squared.definiteness, plain.definiteness) == ("psd", "indefinite")
    assert np.linalg.eigvalsh(squared(planes))[0] > -1e-12
    assert np.linalg.eigvalsh(plain(planes))[0] < -1.0
    for m, width in ((2, 4), (3, 5)):
        assert np.linalg.eigvalsh(squared(sets_of(60, m, width)))[0] > -1e-12
        assert np.linalg.eigvalsh(PrincipalAngles(RBF(gamma=0.1))(sets_of(60, m, width)))[0] > -1e-12


def test_a_ridge_shrinks_what_a_set_has_in_common_with_itself():
    X, ridge = sets_of(5, 2, 4), 0.3
    kernel = PrincipalAngles(ridge=ridge)
    K = [x @ x.T for x in X]
    shrunk = [np.linalg.det(k + ridge * np.trace(k) / 2 * np.eye(2)) for k in K]
    expected = [(np.linalg.det(k) / d) ** 2 for k, d in zip(K, shrunk, strict=True)]
    assert_allclose(kernel.diag(X), expected, rtol=1e-10)
    assert_allclose(np.diagonal(kernel(X)), expected, rtol=1e-10)
    assert np.linalg.eigvalsh(PrincipalAngles(ridge=ridge)(sets_of(60, 2, 3)))[0] > -1e-12


def test_dependent_vectors_and_zeros_have_similarity_zero():
    X = sets_of(3, 2, 4).copy()
    X[0, 1] = 2 * X[0, 0]
    X[1] = 0
    K = PrincipalAngles()(X)
    assert np.isfinite(K).all()
    assert K[0].max() < 1e-6
    assert K[1].max() == 0
    assert_allclose(K[2, 2], 1, rtol=1e-6)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        (
            {},
            "there are sets of 2 and of 4 vectors; all sets must have equal size. Give .*, for instance 2",
        ),
        ({"n_directions": 3}, "n_directions is 3, but set 1 has 2 vectors. Give at most 2"),
        ({"n_directions": 0}, "n_directions is 0; expected None or a whole number of at least 1"),
        ({"ridge": -1.0}, "ridge is -1.0; expected a nonnegative number"),
        ({"squared": 1}, "squared is 1; expected True or False"),
    ],
)
def test_bad_parameters_and_sizes_are_named(parameters, message):
    X = [*sets_of(1, 4, 5), *sets_of(1, 2, 5)]
    with pytest.raises(InvalidInput, match=f"PrincipalAngles: {message}"):
        PrincipalAngles(**parameters)(X)


def test_sets_that_span_too_little_or_too_much_are_named():
    with pytest.raises(InvalidInput, match="vectors of set 1 span fewer than 2 directions, and ridge=0"):
        PrincipalAngles(ridge=0.0)([[[1.0, 0, 0], [0, 1, 0]], [[1.0, 0, 0], [2, 0, 0]]])
    with pytest.raises(InvalidInput, match=r"3 vectors of width 2 are dependent\. Give n_directions below 2"):
        PrincipalAngles()(sets_of(4, 3, 2))
    with pytest.raises(InvalidInput, match="sets of 2 vectors are compared with sets of 3"):
        PrincipalAngles()(sets_of(4, 2, 5), sets_of(4, 3, 5))
