"""Laws that every kernel obeys, over one list of kernels, and the checks of arguments."""

from __future__ import annotations

import pickle
import subprocess
import sys

import numpy as np
import pytest
from scipy.linalg import null_space
from sklearn.base import clone

from priorsvm.errors import InvalidInput, MissingCapability
from priorsvm.kernels import (
    RBF,
    Bhattacharyya,
    Centred,
    FromCallable,
    HaarIntegration,
    Jitter,
    Kernel,
    Linear,
    NegativeDistance,
    Pairwise,
    Polynomial,
    PrincipalAngles,
    TangentDistance,
    TangentInvariant,
    TangentVector,
)
from priorsvm.kernels.towards import towards
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
    Centred(NegativeDistance(), TRAINING[0]),
    Centred(NegativeDistance(power=1.5) + RBF(gamma=0.3), TRAINING[0]),
    Centred(Polynomial(degree=2, gamma=0.5, coef0=1.0), TRAINING[0]),
    Centred(Polynomial(degree=2, gamma=0.5, coef0=-1.0), TRAINING[0]),
    Centred(HaarIntegration(NegativeDistance(), MIRROR | DRIFT), TRAINING[0]) + RBF(gamma=0.3),
    Centred(PrincipalAngles(), TRAINING[:2]),
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
    TangentDistance(0.3, Turn(), sides=1, symmetric=False),
    TangentDistance(0.3, Turn(), sides=1, bounds=0.2, symmetric=False, psd="clip").resolved(TRAINING),
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
def test_the_function_of_first_arguments_gives_the_matrix(kernel):
    X = rows_for(kernel)
    Z = rows_for(kernel, n=7, seed=1)
    K = kernel(X, Z)
    of_rows = towards(kernel, Z)
    for rows in (slice(0, 17), slice(3, 4), slice(0, 0)):
        np.testing.assert_allclose(of_rows(X[rows]), K[rows], rtol=1e-12, atol=1e-12)


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
def test_the_dependence_is_as_claimed(kernel):
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
def test_inner_products_and_lengths_suffice_where_claimed(kernel):
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
def test_it_falls_with_distance_where_claimed(kernel):
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


@every_kernel
def test_values_and_gradients_of_a_sum_of_kernel_functions(kernel):
    Z, B = rows_for(kernel, 7, 1), rows_for(kernel, 5, 3)
    w = np.random.default_rng(0).normal(size=5)
    if not kernel.has_slope:
        with pytest.raises(MissingCapability, match="has no slope"):
            kernel.values_and_gradients(Z, B, w)
        return
    values, gradients = kernel.values_and_gradients(Z, B, w)
    np.testing.assert_allclose(values, kernel(Z, B) @ w, rtol=1e-11, atol=1e-12)
    h = 1e-6
    for j, unit in enumerate(np.eye(Z.shape[1])):
        central = (kernel(Z + h * unit, B) - kernel(Z - h * unit, B)) @ w / (2 * h)
        np.testing.assert_allclose(gradients[:, j], central, rtol=1e-6, atol=1e-6)
    assert kernel.values_and_gradients(Z[:0], B, w)[1].shape == (0, Z.shape[1])


@every_kernel
def test_slopes_and_gradients_of_a_sum_of_kernel_functions(kernel):
    Z, V, B = rows_for(kernel, 7, 1), rows_for(kernel, 7, 2), rows_for(kernel, 5, 3)
    w = np.random.default_rng(0).normal(size=5)
    if not (kernel.has_slope and kernel.has_curve):
        with pytest.raises(MissingCapability, match="has no"):
            kernel.slopes_and_gradients(Z, V, B, w)
        return
    slopes, gradients = kernel.slopes_and_gradients(Z, V, B, w)
    np.testing.assert_allclose(slopes, kernel.slope(Z, V, B) @ w, rtol=1e-11, atol=1e-12)
    h = 1e-6
    for j, unit in enumerate(np.eye(Z.shape[1])):
        central = (kernel.slope(Z + h * unit, V, B) - kernel.slope(Z - h * unit, V, B)) @ w / (2 * h)
        np.testing.assert_allclose(gradients[:, j], central, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("kernel", [k for k in KERNELS if k.has_slope_slope], ids=repr)
def test_values_and_slopes_of_a_sum_of_slopes(kernel):
    Z, V, B, U = (rows_for(kernel, n, seed) for n, seed in ((7, 1), (7, 2), (5, 3), (5, 4)))
    w = np.random.default_rng(0).normal(size=5)
    h = 1e-6
    values, gradients = kernel._of_slopes(Z, None, B, U, w)
    np.testing.assert_allclose(values, w @ kernel.slope(B, U, Z), rtol=1e-11, atol=1e-12)
    slopes, bends = kernel._of_slopes(Z, V, B, U, w)
    np.testing.assert_allclose(slopes, kernel.slope_slope(Z, V, B, U) @ w, rtol=1e-11, atol=1e-12)
    for j, unit in enumerate(np.eye(Z.shape[1])):
        central = w @ (kernel.slope(B, U, Z + h * unit) - kernel.slope(B, U, Z - h * unit)) / (2 * h)
        np.testing.assert_allclose(gradients[:, j], central, rtol=1e-6, atol=1e-6)
        ahead, behind = (kernel.slope_slope(Z + step * unit, V, B, U) @ w for step in (h, -h))
        np.testing.assert_allclose(bends[:, j], (ahead - behind) / (2 * h), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("kernel", [RBF(0.5), Polynomial(3, 0.5, 1.0), RBF(0.2) * Linear()], ids=repr)
def test_gradients_in_closed_form_equal_the_gradients_by_columns(kernel):
    Z, V, B = (np.random.default_rng(k).normal(size=(6, 3)) for k in range(3))
    w = np.arange(6.0) - 2
    of_columns = Kernel._values_and_gradients(kernel, Z, B, w[None])
    for found, expected in zip(kernel.values_and_gradients(Z, B, w), of_columns, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-12)
    of_columns = Kernel._slopes_and_gradients(kernel, Z, V, B, w)
    for found, expected in zip(kernel.slopes_and_gradients(Z, V, B, w), of_columns, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-12)


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


def test_unknown_names_raise_attribute_error():
    import priorsvm.kernels

    with pytest.raises(AttributeError, match=r"module 'priorsvm.kernels' has no attribute 'Gaussian'"):
        _ = priorsvm.kernels.Gaussian
