"""The invariant kernel against feature spaces written out, its limits, and inside the model."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.svm import SVC

from priorsvm import RBF, FeatureDeletion, Linear, NegativeDistance, Polynomial, PriorSVC, Shift, Transform
from priorsvm._utils.cache import equal
from priorsvm.errors import InvalidInput, InvalidType, KernelNotPSD, MissingCapability, TooLarge
from priorsvm.kernels import Pairwise, TangentInvariant
from priorsvm.kernels import tangent_invariant as module


class Turn(Transform):
    """Rotation in the plane of the first two columns, and growth."""

    def tangents(self, X):
        X = np.asarray(X, float)
        return np.stack([np.stack([-X[:, 1], X[:, 0], 0 * X[:, 2]], axis=1), X], axis=1)


rng = np.random.default_rng(0)
X, Z = rng.normal(size=(20, 3)), rng.normal(size=(9, 3))
y = np.where(X[:, 0] * X[:, 1] + X[:, 2] > 0, 1, -1)
V, P = Turn().tangents(X).reshape(-1, 3), np.repeat(X, 2, axis=0)
X.flags.writeable = Z.flags.writeable = False


def squares(A):
    """The feature space of (x'z)²: all products of two columns."""
    return np.einsum("ni,nj->nij", A, A).reshape(len(A), -1)


def slopes_of_squares(A, U):
    return (np.einsum("ni,nj->nij", A, U) + np.einsum("ni,nj->nij", U, A)).reshape(len(A), -1)


SPACES = [
    (Linear(), lambda A: A, lambda A, U: U),
    (Polynomial(2, 1.0), squares, slopes_of_squares),
]


@pytest.mark.parametrize(("base", "map_", "slopes"), SPACES, ids=["linear", "squares"])
@pytest.mark.parametrize("gamma", [0.0, 0.01, 1.0, 1e4])
def test_it_is_the_inner_product_of_whitened_features(base, map_, slopes, gamma):
    T = slopes(P, V)
    metric = np.linalg.inv(np.eye(T.shape[1]) + gamma * T.T @ T)
    kernel = TangentInvariant(base, Turn(), gamma).resolved(X)
    np.testing.assert_allclose(kernel(Z, X), map_(Z) @ metric @ map_(X).T, atol=1e-10)
    np.testing.assert_allclose(kernel.diag(Z), np.einsum("nd,de,ne->n", map_(Z), metric, map_(Z)), atol=1e-10)


@pytest.mark.parametrize("base", [RBF(0.3), Polynomial(3, 0.3, 1.0), RBF(0.3) + Linear()], ids=repr)
def test_the_closed_form_is_kernel_pca_of_the_tangents(base):
    """Chapelle & Schölkopf: the spectrum of the tangents' matrix, in the review's parameters."""
    share = 0.4
    values, U = np.linalg.eigh(base.slope_slope(P, V, P, V))
    kept = values > 1e-10 * values.max()
    values, U = values[kept], U[:, kept]
    factor = (1 / (share * values + 1 - share) - 1 / (1 - share)) / values
    a, b = (base.slope(P, V, rows).T @ U for rows in (Z, X))
    expected = base(Z, X) / (1 - share) + (a * factor) @ b.T
    kernel = TangentInvariant(base, Turn(), share / (1 - share)).resolved(X)
    np.testing.assert_allclose(kernel(Z, X) / (1 - share), expected, rtol=1e-7, atol=1e-8)


def test_without_weight_it_is_the_base():
    np.testing.assert_array_equal(TangentInvariant(RBF(0.3), Turn(), 0).resolved(X)(Z, X), RBF(0.3)(Z, X))


def test_a_large_weight_leaves_no_slope_along_the_tangents():
    kernel = TangentInvariant(RBF(0.3), Shift([1.0, 0.0, 0.0]), 1e9).resolved(X)
    along = np.tile([1.0, 0.0, 0.0], (len(X), 1))
    assert np.abs(RBF(0.3).slope(X, along, Z)).max() > 0.1
    assert np.abs(kernel.slope(X, along, Z)).max() < 1e-6
    D, T = RBF(0.3).slope(X, along, np.vstack([X, Z])), RBF(0.3).slope_slope(X, along, X, along)
    projected = RBF(0.3)(np.vstack([X, Z])) - D.T @ np.linalg.pinv(T, rcond=1e-12) @ D
    np.testing.assert_allclose(kernel(np.vstack([X, Z])), projected, atol=1e-6)
    assert np.isfinite(TangentInvariant(RBF(0.3), Turn(), 1e300).resolved(np.vstack([X, X]))(Z)).all()


def test_a_linear_model_on_the_complement_is_the_limit():
    v = np.array([0.6, 0.0, 0.8])
    rest = np.eye(3) - np.outer(v, v)
    reference = SVC(C=2.0, kernel="linear", tol=1e-10).fit(X @ rest, y)
    model = PriorSVC(C=2.0, kernel=TangentInvariant(Linear(), Shift(v), 1e9)).fit(X, y)
    np.testing.assert_allclose(model.decision_function(Z), reference.decision_function(Z @ rest), atol=1e-5)


def test_bounds_of_the_base_hold():
    kernel = TangentInvariant(RBF(0.3), Turn(), 2.0).resolved(X)
    assert kernel.has_derivative_bound
    U = rng.normal(size=Z.shape)
    U /= np.linalg.norm(U, axis=1, keepdims=True)
    longest = np.sqrt(np.diagonal(kernel.slope_slope(Z, U, Z, U)))
    assert (longest <= kernel.derivative_bound(1, np.linalg.norm(Z, axis=1)) + 1e-12).all()
    K = kernel(np.vstack([Z, Z + 0.1 * U]))
    change = np.sqrt(np.maximum(np.diagonal(K)[:9] + np.diagonal(K)[9:] - 2 * np.diagonal(K[:9, 9:]), 0))
    assert (change <= kernel.displacement_bound(np.full(9, 0.1), np.linalg.norm(Z, axis=1)) + 1e-12).all()
    assert not TangentInvariant(RBF(0.3) * RBF(0.1), Turn(), 1.0).resolved(X).has_derivative_bound


def test_blocks_of_any_size_agree(monkeypatch):
    kernel = TangentInvariant(RBF(0.3), Turn(), 2.0)
    before = kernel.resolved(X)(Z, X)
    monkeypatch.setattr(module, "BLOCK", 7)
    np.testing.assert_allclose(kernel.resolved(X)(Z, X), before, atol=1e-13)


def test_words_inside_the_base_become_numbers():
    known = TangentInvariant(RBF(), Turn(), 2.0).resolved(X)
    assert known.kernel.base.gamma == RBF().resolved(X).gamma
    np.testing.assert_array_equal(
        known(Z), TangentInvariant(RBF(RBF().resolved(X).gamma), Turn(), 2.0).resolved(X)(Z)
    )


def test_copies_contain_the_tangents():
    kernel = TangentInvariant(RBF(0.3), Turn(), 2.0).resolved(X)
    for copy in (clone(kernel), pickle.loads(pickle.dumps(kernel)), kernel.resolved(Z)):
        np.testing.assert_array_equal(copy(Z, X), kernel(Z, X))
        assert equal(copy, kernel)
    assert not equal(kernel, TangentInvariant(RBF(0.3), Turn(), 2.0).resolved(X[1:]))
    assert not equal(kernel, TangentInvariant(RBF(0.3), Turn(), 2.5).resolved(X))
    kernel.set_params(kernel__gamma=5.0)
    other = TangentInvariant(RBF(0.3), Turn(), 5.0).resolved(X)
    np.testing.assert_array_equal(kernel(Z, X), other(Z, X))


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"gamma": -1.0}, InvalidInput, "TangentInvariant: gamma is -1.0; expected a nonnegative number"),
        ({"base": "rbf"}, InvalidType, "TangentInvariant: 'rbf' is not a Kernel"),
        ({"base": NegativeDistance()}, KernelNotPSD, "base is NegativeDistance.*not known to be positive"),
        ({"base": Pairwise("cosine")}, MissingCapability, "'cosine'.* has no slope_slope"),
        ({"base": RBF(-1.0)}, InvalidInput, "RBF: gamma is -1.0"),
        ({"transform": None}, InvalidType, "TangentInvariant: transform is None; expected a Transform"),
        ({"transform": FeatureDeletion(1)}, InvalidInput, "is discrete and has no tangents"),
    ],
    ids=str,
)
def test_wrong_parameters_are_named(arguments, error, message):
    kernel = TangentInvariant(**{"base": RBF(0.3), "transform": Turn(), "gamma": 1.0, **arguments})
    with pytest.raises(error, match=message):
        PriorSVC(kernel=kernel).fit(X, y)


def test_training_rows_have_to_be_known_and_to_fit_in_memory():
    with pytest.raises(InvalidInput, match=r"training rows are not known. Use the kernel that resolved\(X\)"):
        TangentInvariant(RBF(0.3), Turn(), 1.0)(X)

    many = np.zeros((200_000, 3))
    with pytest.raises(TooLarge, match=r"the matrix of the tangents .*400000 x 400000.*Give fewer rows"):
        TangentInvariant(RBF(0.3), Turn(), 1.0).resolved(many)


def test_one_vs_rest_and_fewer_rows():
    labels = np.digitize(X[:, 0], [-0.5, 0.5])
    kernel = TangentInvariant(RBF(0.3), Turn(), 1.0)
    model = PriorSVC(kernel=kernel, C=5.0, tol=1e-8).fit(X, labels)
    known = kernel.resolved(X)
    for j, label in enumerate(np.unique(labels)):
        reference = SVC(C=5.0, kernel="precomputed", tol=1e-10).fit(known(X), labels == label)
        expected = reference.decision_function(known(Z, X))
        np.testing.assert_allclose(model.decision_function(Z)[:, j], expected, atol=1e-5)
    assert PriorSVC(kernel=kernel, n_centres=5).fit(X, y).status_ == "optimal"
