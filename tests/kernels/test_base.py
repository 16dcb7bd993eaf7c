"""The laws every kernel obeys, over one list of kernels; the algebra; names and functions as kernels."""

from __future__ import annotations

import pickle
import subprocess
import sys

import numpy as np
import pytest
from scipy.linalg import null_space
from sklearn.base import BaseEstimator, clone
from sklearn.svm import SVC

from priorsvm.errors import InvalidInput, InvalidType, MissingCapability
from priorsvm.kernels import (
    RBF,
    Bhattacharyya,
    FromCallable,
    HaarIntegration,
    Jitter,
    Kernel,
    Linear,
    NegativeDistance,
    Pairwise,
    Polynomial,
    PrincipalAngles,
    Product,
    Scaled,
    Sum,
    TangentDistance,
    TangentInvariant,
    TangentVector,
    resolve_kernel,
)
from priorsvm.transforms import FromFunction, Reflection, Rotation, Shift, Transform


def squared_inner(A, B):
    return (A @ B.T) ** 2


class Cauchy(Kernel):
    """A kernel that writes nothing but its matrix."""

    def __init__(self, s=1.0):
        self.s = s

    def _matrix(self, A, B):
        return 1 / (1 + ((A[:, None] - B[None]) ** 2).sum(axis=2) / self.s**2)


class Turn(Transform):
    """Rotation about the last axis; its tangent is a linear map of x."""

    def tangents(self, X):
        X = np.asarray(X, float)
        return np.stack([np.stack([-X[:, 1], X[:, 0], 0 * X[:, 2]], axis=1)], axis=1)


def rolled(X, theta):
    return np.roll(X, int(theta), axis=1)


MIRROR = Reflection(axis=1, shape=(1, 3))
DRIFT = Shift([0.5, 0.0, -1.0])
CYCLE = FromFunction(rolled, [1, 2], isometric=True)

TRAINING = np.random.default_rng(9).normal(size=(12, 3))


KERNELS = [
    Linear(),
    RBF(gamma=0.3),
    Polynomial(degree=1, gamma=0.7, coef0=0.5),
    Polynomial(degree=1, gamma=0.7, coef0=-0.5),
    Polynomial(degree=2, gamma=0.7),
    Polynomial(degree=3.0, gamma=0.5, coef0=1.0),
    Polynomial(degree=2, gamma=0.5, coef0=-1.0),
    Polynomial(degree=2.5, gamma=0.5, coef0=1.0),
    NegativeDistance(),
    NegativeDistance(power=0.5),
    NegativeDistance(power=1.5),
    NegativeDistance(power=2),
    Pairwise("laplacian", {"gamma": 0.5}),
    Pairwise("chi2"),
    Pairwise("additive_chi2"),
    Pairwise("cosine"),
    Pairwise("sigmoid", {"gamma": 0.5, "coef0": -1.0}),
    FromCallable(squared_inner),
    Cauchy(s=2.0),
    RBF(gamma=0.3) + Linear(),
    RBF(gamma=0.3) + NegativeDistance(),
    NegativeDistance() + NegativeDistance(power=1.5),
    RBF(gamma=0.3) + FromCallable(squared_inner),
    RBF(gamma=0.3) * Polynomial(degree=2, gamma=0.5, coef0=1.0),
    RBF(gamma=0.3) * Linear() * Polynomial(degree=2, gamma=0.5),
    Linear() * NegativeDistance(power=2),
    2.5 * RBF(gamma=0.3),
    -1 * RBF(gamma=0.3),
    -2 * NegativeDistance(),
    0 * Pairwise("sigmoid"),
    0.5 * (RBF(gamma=0.3) + Linear()) * RBF(gamma=0.1) + 2 * Polynomial(gamma=0.2, coef0=1.0),
    HaarIntegration(RBF(gamma=0.3), CYCLE),
    HaarIntegration(RBF(gamma=0.3), DRIFT),
    HaarIntegration(RBF(gamma=0.3) + Polynomial(degree=2, gamma=0.5, coef0=1.0), MIRROR @ DRIFT),
    HaarIntegration(NegativeDistance(), MIRROR | DRIFT),
    HaarIntegration(Linear(), Rotation((1, 3), degrees=30)),
    HaarIntegration(Polynomial(degree=2, gamma=0.5, coef0=-1.0), MIRROR),
    0.5 * HaarIntegration(Pairwise("laplacian"), DRIFT, reduction="none") + RBF(gamma=0.3),
    Jitter(RBF(gamma=0.3), DRIFT),
    Jitter(Linear(), MIRROR),
    Jitter(RBF(gamma=0.3), DRIFT, psd="clip").resolved(TRAINING),
    Jitter(RBF(gamma=0.3), FromFunction(rolled, [1], isometric=True)),
    TangentDistance(0.3, Turn()),
    TangentDistance(0.3, Turn(), sides=1, ridge=0.1),
    TangentDistance(0.3, Turn(), bounds=0.2),
    TangentDistance(0.3, Turn(), psd="clip").resolved(TRAINING),
    TangentDistance(0.3, Turn(), psd="shift").resolved(TRAINING),
    TangentVector(0.3, Turn(), spread=0.5),
    TangentVector(0.3, Turn(), spread=0.5, psd="clip").resolved(TRAINING),
    TangentInvariant(RBF(gamma=0.3), Turn(), gamma=0.0).resolved(TRAINING),
    TangentInvariant(RBF(gamma=0.3), Turn(), gamma=2.0).resolved(TRAINING),
    TangentInvariant(Polynomial(degree=2, gamma=0.5, coef0=1.0), Turn(), gamma=2.0).resolved(TRAINING),
    TangentInvariant(Linear(), Turn(), gamma=2.0).resolved(TRAINING),
    TangentInvariant(RBF(gamma=0.3) + Linear(), Turn(), gamma=1e6).resolved(TRAINING) * Linear(),
    Bhattacharyya(eta=0.3),
    Bhattacharyya(eta=0.1, base=RBF(gamma=0.3)),
    Bhattacharyya(eta=0.1, base=Polynomial(degree=2, gamma=0.5, coef0=1.0), n_components=1),
    PrincipalAngles(),
    PrincipalAngles(base=RBF(gamma=0.3), n_directions=1, ridge=0.1),
    PrincipalAngles(squared=False),
    0.5 * Bhattacharyya(eta=0.3) * PrincipalAngles() + PrincipalAngles(),
]

every_kernel = pytest.mark.parametrize("kernel", KERNELS, ids=repr)


def rows_for(kernel, n=17, seed=0):
    """Rows of both signs, unless the kernel is not defined for them; or pairs of rows."""
    shape = (n, 2, 3) if kernel is not None and kernel.takes_sets else (n, 3)
    X = np.random.default_rng(seed).normal(size=shape)
    if "chi2" in repr(kernel) or "2.5, gamma" in repr(kernel):
        X = np.abs(X)
    X.flags.writeable = False
    return X


def eigenvalues(K, conditionally=False):
    if conditionally:
        sums_to_zero = null_space(np.ones((1, len(K))))
        K = sums_to_zero.T @ K @ sums_to_zero
    return np.linalg.eigvalsh(K)


@every_kernel
def test_matrix_is_symmetric_to_the_last_bit(kernel):
    K = kernel(rows_for(kernel))
    assert K.shape == (17, 17)
    assert K.dtype == float
    assert np.array_equal(K, K.T) == getattr(kernel, "symmetric", True)


@every_kernel
def test_matrix_of_two_sets_is_a_block_of_the_whole(kernel):
    X = rows_for(kernel)
    np.testing.assert_allclose(kernel(X[:5], X[5:]), kernel(X)[:5, 5:], rtol=1e-12, atol=1e-12)


@every_kernel
def test_diag_is_the_diagonal(kernel):
    X = rows_for(kernel, n=150)
    np.testing.assert_allclose(kernel.diag(X), np.diagonal(kernel(X)), rtol=1e-13, atol=1e-13)


@every_kernel
def test_definiteness_is_as_claimed(kernel):
    K = kernel(rows_for(kernel, n=60))
    spectrum, conditional = eigenvalues(K), eigenvalues(K, conditionally=True)
    if kernel.definiteness == "psd":
        assert spectrum[0] >= -1e-10 * max(spectrum[-1], 1)
    elif kernel.definiteness == "cpd":
        assert conditional[0] >= -1e-10 * conditional[-1]
        assert spectrum[0] < -1e-8
    elif kernel.definiteness == "indefinite":
        assert spectrum[0] < -1e-8
        assert conditional[0] < -1e-8
    else:
        assert kernel.definiteness == "unknown"


@every_kernel
def test_it_depends_on_what_it_says(kernel):
    if kernel.depends_on == "entries":
        return
    X, Z = rows_for(kernel, 17, 1), rows_for(kernel, 9, 2)
    turn = np.linalg.qr(np.random.default_rng(3).normal(size=(3, 3)))[0]
    if rows_for(kernel).min() >= 0:
        turn = np.eye(3)[[2, 0, 1]]  # a turn that leaves no number below zero
    np.testing.assert_allclose(kernel(X @ turn, Z @ turn), kernel(X, Z), rtol=1e-10, atol=1e-10)
    if kernel.depends_on == "distance":
        np.testing.assert_allclose(kernel(X + 1.0, Z + 1.0), kernel(X, Z), rtol=1e-10, atol=1e-10)
    elif kernel(X).any():
        assert np.abs(kernel(X + 1.0, Z + 1.0) - kernel(X, Z)).max() > 1e-3


@every_kernel
def test_inner_products_and_lengths_are_enough_where_it_says_so(kernel):
    if not kernel.has_products:
        return
    assert kernel.depends_on != "entries"
    X, Z = rows_for(kernel, 17, 1), rows_for(kernel, 9, 2)
    a, b = (X**2).sum(axis=1), (Z**2).sum(axis=1)
    K = kernel._of_products(X @ Z.T, a[:, None], b)
    np.testing.assert_allclose(K, kernel(X, Z), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(kernel._of_products(a.copy(), a, a), kernel.diag(X), rtol=1e-12, atol=1e-12)
    single = kernel._of_products((X @ Z.T).astype("f4"), a[:, None].astype("f4"), b.astype("f4"))
    assert single.dtype == np.float32


@every_kernel
def test_it_falls_with_distance_where_it_says_so(kernel):
    if kernel.falls_with_distance:
        assert kernel.depends_on == "distance"
        along = np.outer(np.linspace(0, 3, 20), [1.0, 2.0, -1.0])
        assert (np.diff(kernel(along[:1], along)[0]) < 0).all()


@every_kernel
def test_clone_and_pickle_are_the_same_kernel(kernel):
    X = rows_for(kernel)
    for copy in (clone(kernel), pickle.loads(pickle.dumps(kernel))):
        assert copy is not kernel
        assert repr(copy) == repr(kernel)
        assert copy.get_params().keys() == kernel.get_params().keys()
        np.testing.assert_array_equal(copy(X), kernel(X))


@every_kernel
def test_set_params_takes_what_get_params_gives(kernel):
    copy = clone(kernel)
    assert copy.set_params(**kernel.get_params(deep=True)) is copy
    assert repr(copy) == repr(kernel)


@every_kernel
def test_resolved_leaves_numbers_alone(kernel):
    X = rows_for(kernel)
    assert kernel.resolved(X) is not kernel
    assert repr(kernel.resolved(X)) == repr(kernel)


@every_kernel
def test_slope_is_the_derivative_in_the_first_argument(kernel):
    Z, V, B = rows_for(kernel, 7, 1), rows_for(kernel, 7, 2), rows_for(kernel, 5, 3)
    if not kernel.has_slope:
        with pytest.raises(MissingCapability, match="has no slope"):
            kernel.slope(Z, V, B)
        return
    h = 1e-6
    central = (kernel(Z + h * V, B) - kernel(Z - h * V, B)) / (2 * h)
    np.testing.assert_allclose(kernel.slope(Z, V, B), central, rtol=1e-6, atol=1e-7)


@every_kernel
def test_slope_slope_is_the_mixed_derivative(kernel):
    Z, U, B, V = (rows_for(kernel, n, seed) for n, seed in ((7, 1), (7, 2), (5, 3), (5, 4)))
    if not kernel.has_slope_slope:
        with pytest.raises(MissingCapability, match="has no slope_slope"):
            kernel.slope_slope(Z, U, B, V)
        return
    h = 1e-6
    central = (kernel.slope(Z, U, B + h * V) - kernel.slope(Z, U, B - h * V)) / (2 * h)
    np.testing.assert_allclose(kernel.slope_slope(Z, U, B, V), central, rtol=1e-6, atol=1e-7)


@every_kernel
def test_curve_is_the_second_derivative_in_the_first_argument(kernel):
    Z, U, V, B = (rows_for(kernel, n, seed) for n, seed in ((7, 1), (7, 2), (7, 4), (5, 3)))
    if not kernel.has_curve:
        with pytest.raises(MissingCapability, match="has no curve"):
            kernel.curve(Z, U, V, B)
        return
    h = 1e-6
    central = (kernel.slope(Z + h * V, U, B) - kernel.slope(Z - h * V, U, B)) / (2 * h)
    np.testing.assert_allclose(kernel.curve(Z, U, V, B), central, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(kernel.curve(Z, V, U, B), kernel.curve(Z, U, V, B), rtol=1e-12, atol=1e-12)


PSD_WITH_SLOPES = [k for k in KERNELS if k.has_slope_slope and k.definiteness == "psd"]


@pytest.mark.parametrize("kernel", PSD_WITH_SLOPES, ids=repr)
def test_slope_slope_is_an_inner_product_in_feature_space(kernel):
    X, U = rows_for(kernel, 20, 1), rows_for(kernel, 20, 2)
    joint = np.block(
        [[kernel(X), kernel.slope(X, U, X).T], [kernel.slope(X, U, X), kernel.slope_slope(X, U, X, U)]]
    )
    spectrum = eigenvalues(joint)
    assert spectrum[0] >= -1e-10 * spectrum[-1]


CAPABILITIES = ("slope", "slope_slope", "curve", "derivative_bound")


@pytest.mark.parametrize(
    ("kernel", "has"),
    [
        (Linear(), CAPABILITIES),
        (RBF(), CAPABILITIES),
        (Polynomial(), CAPABILITIES),
        (Polynomial(coef0=-1.0), CAPABILITIES[:3]),
        (Polynomial(degree=2.5), ()),
        (NegativeDistance(), ("slope",)),
        (Pairwise("cosine"), ()),
        (FromCallable(squared_inner), ()),
        (2 * (RBF() + Linear()), CAPABILITIES),
        (-2 * (RBF() + Linear()), CAPABILITIES[:3]),
        (2 * (RBF() + Linear()) * Polynomial(), CAPABILITIES[:3]),
        (RBF() + NegativeDistance(), ("slope",)),
        (RBF() * Pairwise("cosine"), ()),
    ],
    ids=repr,
)
def test_capabilities_are_known_before_any_work(kernel, has):
    assert tuple(what for what in CAPABILITIES if getattr(kernel, f"has_{what}")) == has


@every_kernel
def test_no_rows_give_empty_matrices(kernel):
    X = rows_for(kernel)
    none = X[:0]
    assert kernel(X, none).shape == (17, 0)
    assert kernel(none).shape == (0, 0)
    assert kernel.diag(none).shape == (0,)
    if kernel.has_slope:
        assert kernel.slope(none, none, X).shape == (0, 17)
    if kernel.has_slope_slope:
        assert kernel.slope_slope(X, X, none, none).shape == (17, 0)
    if kernel.has_curve:
        assert kernel.curve(none, none, none, X).shape == (0, 17)
    if kernel.has_derivative_bound:
        assert kernel.derivative_bound(2, []).shape == (0,)


@every_kernel
def test_rows_may_be_lists_and_are_not_written_to(kernel):
    X = rows_for(kernel)
    before = X.copy()
    np.testing.assert_array_equal(kernel(X.tolist()), kernel(np.asfortranarray(X)))
    np.testing.assert_array_equal(X, before)


def test_every_kind_of_claim_is_in_the_list():
    assert {kernel.definiteness for kernel in KERNELS} == {"psd", "cpd", "indefinite", "unknown"}


@pytest.mark.parametrize(
    ("kernel", "claim"),
    [
        (Linear() + RBF(), "psd"),
        (Linear() * RBF(), "psd"),
        (Linear() + NegativeDistance(), "cpd"),
        (NegativeDistance() + NegativeDistance(), "cpd"),
        (NegativeDistance() * Linear(), "unknown"),
        (Pairwise("sigmoid") + RBF(), "unknown"),
        (3 * NegativeDistance(), "cpd"),
        (-3 * RBF(), "indefinite"),
        (-3 * NegativeDistance(), "indefinite"),
        (-3 * FromCallable(squared_inner), "unknown"),
        (-1 * (-1 * RBF()), "psd"),
        (Scaled(Scaled(RBF(), -1.0), -1.0), "unknown"),
        (0 * FromCallable(squared_inner), "psd"),
        (Polynomial(), "psd"),
        (Polynomial(degree=2, coef0=-1.0), "indefinite"),
        (Polynomial(degree=1, coef0=-1.0), "cpd"),
        (Polynomial(degree=2.5, coef0=1.0), "indefinite"),
        (Polynomial(degree=0.5, coef0=1.0), "indefinite"),
    ],
    ids=repr,
)
def test_definiteness_follows_from_the_parameters(kernel, claim):
    assert kernel.definiteness == claim


def test_algebra_is_that_of_the_matrices():
    X, Z, V = (rows_for(None, 9, seed) for seed in (0, 1, 2))
    k, l = RBF(gamma=0.3), Linear()
    np.testing.assert_array_equal((k + k)(X), (2 * k)(X))
    np.testing.assert_array_equal((k * k)(X), k(X) ** 2)
    np.testing.assert_allclose((k * k)(X), RBF(gamma=0.6)(X), rtol=1e-13)
    np.testing.assert_allclose((k * k).slope(Z, V, X), RBF(gamma=0.6).slope(Z, V, X), rtol=1e-12)
    np.testing.assert_allclose((l * l * l)(X), Polynomial(3, gamma=1.0)(X), rtol=1e-12)
    np.testing.assert_allclose(
        (l * l * l).slope_slope(Z, V, X, V), Polynomial(3, gamma=1.0).slope_slope(Z, V, X, V), rtol=1e-10
    )
    np.testing.assert_allclose((k * (l + l))(X), (k * l + k * l)(X), rtol=1e-14)
    np.testing.assert_array_equal((k * 2)(X), (np.float64(2) * k)(X))


def test_algebra_keeps_lists_flat_and_copies():
    k, l = RBF(gamma=0.3), Linear()
    total = k + l + (k + l)
    assert [type(part) for part in total.kernels] == [RBF, Linear, RBF, Linear]
    assert len((k * l * (k * l)).kernels) == 4
    total.set_params(rbf__gamma=9.0)
    assert k.gamma == 0.3
    twice = 2 * (3 * k)
    assert (twice.factor, type(twice.kernel)) == (6.0, RBF)
    assert type((2 * k) * l) is Product


@pytest.mark.parametrize(
    ("kernel", "text"),
    [
        (RBF(gamma=0.3) + Linear(), "RBF(gamma=0.3) + Linear()"),
        (0.5 * (RBF() + Linear()), "0.5 * (RBF() + Linear())"),
        ((RBF() + Linear()) * RBF(), "(RBF() + Linear()) * RBF()"),
        (np.float64(2) * RBF() + RBF() * Linear(), "2.0 * RBF() + RBF() * Linear()"),
    ],
)
def test_repr_reads_as_the_formula(kernel, text):
    assert repr(kernel) == text
    assert repr(eval(text)) == text


def test_parameters_of_parts_have_readable_names():
    kernel = 0.5 * RBF(gamma=0.3) + NegativeDistance() + RBF(gamma=0.1) * Linear() + RBF(gamma=0.2)
    assert set(kernel.get_params()) == {
        "kernels",
        "rbf",
        "rbf__kernel",
        "rbf__factor",
        "rbf__gamma",
        "negative_distance",
        "negative_distance__power",
        "product",
        "product__kernels",
        "product__rbf",
        "product__rbf__gamma",
        "product__linear",
        "rbf_2",
        "rbf_2__gamma",
    }
    kernel.set_params(rbf__factor=4.0, rbf__gamma=5.0, rbf_2__gamma=6.0, product__rbf__gamma=7.0)
    expected = "4.0 * RBF(gamma=5.0) + NegativeDistance() + RBF(gamma=7.0) * Linear() + RBF(gamma=6.0)"
    assert repr(kernel) == expected


def test_parts_can_be_replaced_by_name_or_all_at_once():
    kernel = RBF() + Linear()
    assert repr(kernel.set_params(linear=Polynomial(), rbf__gamma=2.0)) == "RBF(gamma=2.0) + Polynomial()"
    kernel.set_params(kernels=[Linear(), RBF()], rbf__gamma=3.0)
    assert repr(kernel) == "Linear() + RBF(gamma=3.0)"
    scaled = (2 * RBF()).set_params(kernel=Polynomial(), degree=5)
    assert repr(scaled) == "2.0 * Polynomial(degree=5)"
    with pytest.raises(ValueError, match="Invalid parameter 'sigma'"):
        kernel.set_params(sigma=1.0)
    with pytest.raises(ValueError, match="Invalid parameter 'sigma'"):
        scaled.set_params(sigma=1.0)


def test_kernels_live_inside_other_estimators():
    class Machine(BaseEstimator):
        def __init__(self, kernel=None):
            self.kernel = kernel

    machine = clone(Machine(0.5 * RBF(gamma=0.3) + Linear()))
    machine.set_params(kernel__rbf__gamma=2.0)
    assert machine.get_params()["kernel__rbf__gamma"] == 2.0
    assert "RBF(gamma=2.0)" in repr(machine)
    assert "RBF" in machine._repr_html_()


@pytest.mark.parametrize("other", ["rbf", None, True, np.ones(2), 1j])
def test_kernels_combine_with_kernels_and_numbers_only(other):
    # The words are Python's or NumPy's own.
    refusal = "unsupported operand|can't multiply sequence|does not support ufuncs"
    with pytest.raises(TypeError, match=refusal):
        RBF() * other
    with pytest.raises(TypeError, match=refusal):
        other * RBF()
    with pytest.raises(TypeError, match=refusal):
        RBF() + other


def test_resolved_reaches_every_part():
    X = rows_for(None)
    kernel = 0.5 * (RBF() * Linear()) + Polynomial(gamma="auto") + Pairwise("sigmoid", {"gamma": "scale"})
    scale = 1 / (3 * X.var())
    by_hand = (
        0.5 * (RBF(gamma=scale) * Linear())
        + Polynomial(gamma=1 / 3)
        + Pairwise("sigmoid", {"gamma": float(scale)})
    )
    np.testing.assert_array_equal(kernel.resolved(X)(X), by_hand(X))
    assert "scale" in repr(kernel)


@pytest.mark.parametrize("name", ["linear", "poly", "rbf", "sigmoid"])
def test_names_mean_what_they_mean_in_svc(name):
    X = rows_for(None, 40)
    y = np.where(X[:, 0] + X[:, 1] ** 2 > 0.5, 1, -1)
    kernel = resolve_kernel(name, 3, X)
    native = SVC(kernel=name).fit(X, y)
    given = SVC(kernel="precomputed").fit(kernel(X), y)
    np.testing.assert_allclose(given.decision_function(kernel(X)), native.decision_function(X), atol=1e-10)


def test_resolve_kernel():
    X = rows_for(None)
    own = RBF()
    assert resolve_kernel(own, 3, X).gamma == 1 / (3 * X.var())
    assert own.gamma == "scale"
    assert resolve_kernel("rbf", 3).gamma == "scale"
    assert resolve_kernel(RBF(gamma="auto"), 4).gamma == 0.25
    assert repr(resolve_kernel("polynomial", 3)) == "Polynomial()"
    np.testing.assert_array_equal(resolve_kernel(squared_inner, 3)(X), squared_inner(X, X))


@pytest.mark.parametrize("name", ["laplacian", "chi2", "additive_chi2", "cosine"])
def test_other_names_are_scikit_learns(name):
    from sklearn.metrics.pairwise import pairwise_kernels

    X = np.abs(rows_for(None))
    np.testing.assert_array_equal(resolve_kernel(name, 3, X)(X), pairwise_kernels(X, metric=name))


@pytest.mark.parametrize(
    ("kernel", "error", "message"),
    [
        ("RBF", InvalidInput, r"Unknown kernel 'RBF'; expected one of 'linear', .*Did you mean 'rbf'\?"),
        ("polynomail", InvalidInput, "Did you mean 'polynomial'?"),
        ("precomputed", InvalidInput, "Unknown kernel 'precomputed'; expected one of 'linear', 'poly'"),
        (RBF, InvalidType, r"kernel is the class RBF; write RBF\(\)\."),
        (None, InvalidType, "kernel is None; expected a Kernel such as"),
        (3, InvalidType, "kernel is 3; expected a Kernel such as"),
        (RBF(gamma=-1), InvalidInput, "RBF: gamma is -1; expected a positive number"),
    ],
)
def test_resolve_kernel_refuses(kernel, error, message):
    with pytest.raises(error, match=message):
        resolve_kernel(kernel, 3)


def test_functions_are_held_to_their_shape():
    X = rows_for(None)

    def one_number(x, z):
        return float(np.sum(x) + np.sum(z))

    def of_vectors(x, z):
        return np.dot(x, z)

    def broken(A, B):
        return A @ B.T / 0.0

    message = r"'one_number' .* shape \(17, 17\).*g\(x, z\) of two vectors.*It returned shape \(\)"
    with pytest.raises(InvalidInput, match=message):
        resolve_kernel(one_number, 3)(X)
    with pytest.raises(ValueError, match="not aligned") as raised:
        resolve_kernel(of_vectors, 3)(X)
    assert "'of_vectors' is given matrices of shape (17, 3)" in raised.value.__notes__[0]
    with (
        np.errstate(divide="ignore"),
        pytest.raises(InvalidInput, match="'broken' returned 289 values that are not finite"),
    ):
        resolve_kernel(broken, 3)(X)
    with pytest.raises(InvalidType, match="function is 3; expected a function of two matrices"):
        FromCallable(3)(X)


def test_a_function_may_be_unsymmetric_and_keeps_its_own_result():
    kept = np.arange(4.0).reshape(2, 2)
    kernel = 3 * FromCallable(lambda A, B: kept) + Linear()
    np.testing.assert_array_equal(kernel(np.zeros((2, 1))), 3 * np.arange(4.0).reshape(2, 2))
    np.testing.assert_array_equal(kept, np.arange(4.0).reshape(2, 2))


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (Cauchy(), r"Cauchy\(\) has no slope\. Use a smooth kernel such as RBF\(\).*defines _slope"),
        (RBF(gamma=1.0) + 2 * Pairwise("cosine"), r"The kernel Pairwise\(metric='cosine'\) has no slope"),
        (Polynomial(degree=2.5, gamma=1.0), r"Polynomial\(degree=2\.5, gamma=1\.0\) has no slope"),
    ],
)
def test_missing_slope_names_the_kernel_that_lacks_it(kernel, message):
    X = rows_for(None)
    assert not kernel.has_slope
    with pytest.raises(MissingCapability, match=message):
        kernel.slope(X, X, X)


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (
            RBF(1.0) * RBF(1.0),
            r"RBF\(gamma=1\.0\) \* RBF\(gamma=1\.0\) has no derivative_bound\. Use Linear",
        ),
        (RBF(1.0) + Pairwise("cosine"), r"kernel Pairwise\(metric='cosine'\) has no derivative_bound"),
        (-1 * RBF(1.0), r"-1\.0 \* RBF\(gamma=1\.0\) has no derivative_bound.*positive multiple"),
        (Polynomial(2, 1.0, -1.0), r"has no derivative_bound.*whole degree with coef0 >= 0"),
        (Cauchy(), r"Cauchy\(\) has no derivative_bound.*that defines _derivative_bound"),
    ],
    ids=repr,
)
def test_missing_bounds_name_the_kernels_that_have_them(kernel, message):
    with pytest.raises(MissingCapability, match=message):
        kernel.derivative_bound(2, [1.0])


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda k, X: k(X, X[:, :2]), InvalidInput, "Linear: A has 3 columns and B has 2; .*equal width"),
        (lambda k, X: k(X[0]), InvalidInput, r"A must be a 2-D array.* its shape is \(3,\)\. .*x\[None, :\]"),
        (lambda k, X: k([["a"]]), InvalidInput, "A must be a 2-D array of finite numbers.*got list"),
        (lambda k, X: k(X, X * np.nan), InvalidInput, "B must be .*51 of its entries are NaN or infinite"),
        (lambda k, X: k.diag(X[0]), InvalidInput, "A must be a 2-D array"),
        (
            lambda k, X: k.slope(X, X[:4], X),
            InvalidInput,
            r"V has shape \(4, 3\) and Z has shape \(17, 3\); .*each row",
        ),
        (lambda k, X: k.slope(X, X, X[:, :2]), InvalidInput, "Z has 3 columns and B has 2"),
        (lambda k, X: k.slope_slope(X, X[:1], X, X), InvalidInput, r"U has shape \(1, 3\) and Z has shape"),
        (lambda k, X: k.slope_slope(X, X, X, X[:1]), InvalidInput, r"V has shape \(1, 3\) and B has shape"),
        (lambda k, X: k.curve(X, X[:1], X, X), InvalidInput, r"U has shape \(1, 3\) and Z has shape"),
        (lambda k, X: k.curve(X, X, X[:1], X), InvalidInput, r"V has shape \(1, 3\) and Z has shape"),
        (lambda k, X: (k + Pairwise("chi2"))(X), InvalidInput, "'chi2' requires nonnegative data"),
        (lambda k, X: Sum([])(X), InvalidInput, "Sum: kernels is empty; expected at least one kernel"),
        (lambda k, X: Product([k, "rbf"])(X), InvalidType, "Product: 'rbf' is not a Kernel; expected one"),
        (lambda k, X: Scaled("rbf", 2.0)(X), InvalidType, "Scaled: 'rbf' is not a Kernel"),
        (lambda k, X: Scaled(k, "2")(X), InvalidInput, "Scaled: factor is '2'; expected a finite number"),
        (lambda k, X: Scaled(k, np.nan)(X), InvalidInput, "Scaled: factor is nan; expected a finite number"),
        (lambda k, X: Scaled(k, True).definiteness, InvalidInput, "Scaled: factor is True; expected"),
        (lambda k, X: Kernel()(X), NotImplementedError, r"Kernel has to define _matrix\(A, B\)"),
    ],
)
def test_wrong_input_is_named(call, error, message):
    with pytest.raises(error, match=message):
        call(Linear(), rows_for(None))


def test_kernels_on_other_patterns_override_the_rows():
    class MeanOfSet(Kernel):
        """A kernel on sets of vectors, given as a list of arrays of different lengths."""

        def _rows(self, X, name):
            return [np.asarray(x, dtype=float) for x in X]

        def _matrix(self, A, B):
            means = [np.array([x.mean(axis=0) for x in sets]) for sets in (A, B)]
            return means[0] @ means[1].T

    sets = [np.ones((2, 3)), np.zeros((4, 3)), 2 * np.ones((1, 3))]
    kernel = 2 * MeanOfSet() + MeanOfSet() * MeanOfSet()
    np.testing.assert_array_equal(kernel(sets)[0], [2 * 3 + 9, 0, 2 * 6 + 36])
    np.testing.assert_array_equal(kernel.diag(sets), np.diagonal(kernel(sets)))
    with pytest.raises(InvalidInput, match="A has 3 columns and B has 2"):
        kernel(sets, [np.ones((2, 2))])


@pytest.mark.slow
def test_importing_the_package_is_cheap():
    code = (
        "import sys, priorsvm, priorsvm.kernels as k; "
        "assert not {'scipy', 'sklearn', 'cvxpy'} & set(sys.modules); "
        "assert 'RBF' in dir(k) and k.RBF is k.RBF and 'sklearn' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_unknown_names_are_not_there():
    import priorsvm.kernels

    with pytest.raises(AttributeError, match=r"module 'priorsvm.kernels' has no attribute 'Gaussian'"):
        _ = priorsvm.kernels.Gaussian
