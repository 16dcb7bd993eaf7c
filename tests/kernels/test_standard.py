"""Each standard kernel against its formula, scikit-learn and LIBSVM."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics.pairwise import linear_kernel, pairwise_kernels, polynomial_kernel, rbf_kernel
from sklearn.svm import SVC

from priorsvm.errors import InvalidInput
from priorsvm.kernels import RBF, Linear, NegativeDistance, Pairwise, Polynomial

generator = np.random.default_rng(0)
X, Z, V = generator.normal(size=(20, 4)), generator.normal(size=(13, 4)), generator.normal(size=(20, 4))
y = np.where(X[:, 0] * X[:, 1] > 0, 1, -1)
for array in (X, Z, V, y):
    array.flags.writeable = False


@pytest.mark.parametrize("B", [None, Z], ids=["one set", "two sets"])
@pytest.mark.parametrize(
    ("kernel", "reference"),
    [
        (Linear(), linear_kernel),
        (RBF(gamma=0.7), lambda A, B: rbf_kernel(A, B, gamma=0.7)),
        (Polynomial(4, 0.7, 1.5), lambda A, B: polynomial_kernel(A, B, degree=4, gamma=0.7, coef0=1.5)),
        (Pairwise("laplacian"), lambda A, B: pairwise_kernels(A, B, metric="laplacian")),
        (Pairwise("cosine"), lambda A, B: pairwise_kernels(A, B, metric="cosine")),
        (
            Pairwise("sigmoid", {"gamma": 0.1, "coef0": 2.0}),
            lambda A, B: pairwise_kernels(A, B, metric="sigmoid", gamma=0.1, coef0=2.0),
        ),
    ],
)
def test_agrees_with_scikit_learn(kernel, reference, B):
    np.testing.assert_allclose(kernel(X, B), reference(X, B), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize(
    ("kernel", "formula"),
    [
        (Linear(), lambda x, z: x @ z),
        (RBF(gamma=0.7), lambda x, z: np.exp(-0.7 * np.sum((x - z) ** 2))),
        (Polynomial(3, 0.7, -0.5), lambda x, z: (0.7 * x @ z - 0.5) ** 3),
        (NegativeDistance(), lambda x, z: -np.linalg.norm(x - z)),
        (NegativeDistance(0.3), lambda x, z: -(np.linalg.norm(x - z) ** 0.3)),
    ],
)
def test_agrees_with_the_formula(kernel, formula):
    expected = [[formula(x, z) for z in Z] for x in X]
    np.testing.assert_allclose(kernel(X, Z), expected, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize(
    "kernel", [RBF(), Polynomial(), Polynomial(gamma="auto", coef0=1.0), RBF(gamma="auto")]
)
def test_words_for_gamma_are_those_of_svc(kernel):
    resolved = kernel.resolved(X)
    name = "rbf" if isinstance(kernel, RBF) else "poly"
    native = SVC(kernel=name, gamma=kernel.gamma, coef0=getattr(kernel, "coef0", 0.0)).fit(X, y)
    assert resolved.gamma == native._gamma
    assert type(resolved.gamma) is float
    assert kernel.gamma in ("scale", "auto")


def test_scale_of_constant_rows_is_one_as_in_svc():
    assert RBF().resolved(np.ones((3, 4))).gamma == 1.0


@pytest.mark.parametrize(
    "kernel", [Linear(), RBF(gamma=0.7), Polynomial(2, 0.7, 1.5), Polynomial(3.0, 0.7), RBF().resolved(X)]
)
def test_libsvm_params_make_libsvm_compute_this_kernel(kernel):
    native = SVC(**kernel.libsvm_params()).fit(X, y).decision_function(Z)
    given = SVC(kernel="precomputed").fit(kernel(X), y).decision_function(kernel(Z, X))
    np.testing.assert_allclose(native, given, atol=1e-10)


@pytest.mark.parametrize(
    "kernel",
    [Polynomial(2.5, 1.0), NegativeDistance(), Pairwise("sigmoid"), 2 * RBF(), RBF() + RBF(), RBF() * RBF()],
    ids=repr,
)
def test_libsvm_implements_no_other_kernel(kernel):
    assert kernel.libsvm_params() is None


@pytest.mark.parametrize("shape", [(1, 1), (2, 1), (33, 1), (257, 3), (300, 17)])
def test_rbf_is_symmetric_with_unit_diagonal_to_the_last_bit(shape):
    A = 100 + generator.normal(size=shape)
    for rows in (A, A[::-1], np.asfortranarray(A)):
        K = RBF(gamma=0.1)(rows)
        np.testing.assert_array_equal(K, K.T)
        np.testing.assert_array_equal(np.diagonal(K), 1.0)
    assert RBF(gamma=0.1)(A, A.copy()).max() <= 1.0


def test_rbf_blocks_join_without_a_seam():
    A, B = generator.normal(size=(700, 2)), generator.normal(size=(900, 2))
    np.testing.assert_allclose(RBF(gamma=0.5)(A, B), rbf_kernel(A, B, gamma=0.5), rtol=1e-12)


def test_rbf_limits():
    apart, together = RBF(gamma=1e6)(X), RBF(gamma=1e-9)(X)
    np.testing.assert_array_equal(apart, np.eye(len(X)))
    np.testing.assert_allclose(together, 1.0, atol=1e-6)
    # 1 - k ≈ γ |x - z|², the second-order limit.
    np.testing.assert_allclose((1 - together) / 1e-9, -NegativeDistance(2)(X), atol=1e-5)


def test_polynomial_special_cases():
    np.testing.assert_array_equal(Polynomial(1, gamma=1.0)(X, Z), Linear()(X, Z))
    np.testing.assert_array_equal(Polynomial(1, gamma=1.0).slope(X, V, Z), Linear().slope(X, V, Z))
    # At x·z = 0 the formula has 0 · 0⁻¹.
    zero = np.zeros((1, 4))
    np.testing.assert_array_equal(Polynomial(1, gamma=1.0).curve(zero, V[:1], V[:1], zero), 0.0)
    slopes = Polynomial(1, gamma=1.0).slope_slope(zero, V[:1], zero, V[:1])
    np.testing.assert_array_equal(slopes, Linear().slope_slope(zero, V[:1], zero, V[:1]))


def test_negative_distance_of_power_two_is_linear_up_to_sums_over_rows():
    K, G = NegativeDistance(2)(X), 2 * Linear()(X)
    centre = np.eye(len(X)) - 1 / len(X)
    np.testing.assert_allclose(centre @ K @ centre, centre @ G @ centre, atol=1e-12)


@pytest.mark.parametrize("power", [0.5, 1.0, 1.5, 2.0])
def test_negative_distance_between_equal_rows_is_exactly_zero(power):
    far = 1000 + X
    kernel = NegativeDistance(power)
    np.testing.assert_array_equal(np.diagonal(kernel(far, far.copy())), 0.0)
    np.testing.assert_array_equal(np.diagonal(kernel.slope(far, V, far.copy())), 0.0)


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (RBF(gamma=0), "RBF: gamma is 0; expected a positive number, 'scale' or 'auto'"),
        (RBF(gamma=-0.5), "RBF: gamma is -0.5; expected a positive number"),
        (RBF(gamma=True), "RBF: gamma is True; expected a positive number"),
        (RBF(gamma=np.nan), "RBF: gamma is nan; expected a positive number"),
        (RBF(gamma=np.inf), "RBF: gamma is inf; expected a positive number"),
        (RBF(gamma=None), "RBF: gamma is None; expected a positive number"),
        (RBF(gamma="0.5"), "RBF: gamma is '0.5'; expected a positive number"),
        (RBF(gamma=np.ones(2)), r"RBF: gamma is array\(\[1., 1.\]\); expected a positive number"),
        (Polynomial(gamma="large"), "Polynomial: gamma is 'large'; expected a positive number"),
        (Polynomial(degree=0), "Polynomial: degree is 0; expected a positive number"),
        (Polynomial(degree="3"), "Polynomial: degree is '3'; expected a positive number"),
        (Polynomial(coef0=None), "Polynomial: coef0 is None; expected a finite number"),
        (NegativeDistance(power=0), r"NegativeDistance: power is 0; expected a number in \(0, 2\]"),
        (NegativeDistance(power=2.1), r"NegativeDistance: power is 2.1; expected a number in \(0, 2\]"),
        (NegativeDistance(power=True), r"NegativeDistance: power is True; expected a number in \(0, 2\]"),
        (Pairwise("rbf"), "Pairwise: metric is 'rbf'; expected one of 'laplacian'"),
        (Pairwise("laplace"), "Pairwise: metric is 'laplace'; .*Did you mean 'laplacian'?"),
        (Pairwise(None), "Pairwise: metric is None; expected one of"),
        (Pairwise("cosine", {"gamma": 1.0}), "Pairwise: 'cosine' has no parameter 'gamma'; it has none"),
        (Pairwise("sigmoid", {"degree": 1}), "no parameter 'degree'; it has gamma and coef0"),
        (Pairwise("sigmoid", {"gamma": 0}), "Pairwise: gamma is 0; expected a positive number"),
        (Pairwise("sigmoid", {"coef0": "1"}), "Pairwise: coef0 is '1'; expected a finite number"),
        (Pairwise("sigmoid", [1]), r"Pairwise: params is \[1\]; expected a dict"),
    ],
)
def test_wrong_parameters_are_named_at_use(kernel, message):
    for use in (kernel, kernel.diag, kernel.resolved, lambda A: kernel.slope(A, A, A)):
        with pytest.raises(InvalidInput, match=message):
            use(X)


@pytest.mark.parametrize("word", ["scale", "auto"])
@pytest.mark.parametrize("make", [RBF, Polynomial, lambda gamma: Pairwise("laplacian", {"gamma": gamma})])
def test_words_for_gamma_have_to_be_resolved(make, word):
    kernel = make(gamma=word)
    with pytest.raises(InvalidInput, match=f"gamma='{word}' depends on the training rows; give a number, or"):
        kernel(X)
    assert kernel.resolved(X)(X).shape == (20, 20)


@pytest.mark.parametrize("kernel", [RBF(), Polynomial()])
def test_unresolved_kernels_have_neither_slopes_nor_libsvm_params(kernel):
    assert kernel.has_slope
    for use in (
        lambda: kernel.slope(X, V, Z),
        lambda: kernel.slope_slope(X, V, X, V),
        lambda: kernel.curve(X, V, V, Z),
        lambda: kernel.derivative_bound(2, [1.0]),
        kernel.libsvm_params,
    ):
        with pytest.raises(InvalidInput, match="gamma='scale' depends on the training rows"):
            use()


def test_a_fractional_power_of_a_negative_number_is_refused():
    kernel = Polynomial(degree=1.5, gamma=1.0, coef0=-100.0)
    for use in (kernel, kernel.diag):
        with pytest.raises(InvalidInput, match=r"degree=1.5 requires .* minimum .* is -.*Use a whole degree"):
            use(X)


@pytest.mark.parametrize("metric", ["chi2", "additive_chi2"])
def test_chi_squared_kernels_require_nonnegative_data(metric):
    kernel, positive = Pairwise(metric), np.abs(X)
    np.testing.assert_array_equal(kernel(positive), pairwise_kernels(positive, metric=metric))
    with pytest.raises(InvalidInput, match=f"Pairwise: '{metric}' requires nonnegative data, .*of B is -"):
        kernel(positive, -positive)


@pytest.mark.parametrize("gamma", [1e4, 1e6])
def test_a_narrow_gaussian_keeps_its_digits(rng, gamma):
    X = rng.normal(size=(200, 3))
    Z = np.vstack([X, X + 1e-3 * rng.normal(size=X.shape)])
    exact = np.exp(-gamma * ((Z[:, None] - Z) ** 2).sum(axis=2))
    for K in (RBF(gamma)(Z), RBF(gamma)(Z, Z.copy())):
        np.testing.assert_allclose(K, exact, rtol=0, atol=1e-13)


@pytest.mark.parametrize(
    ("kernel", "claim"),
    [
        (Polynomial(), "psd"),
        (Polynomial(degree=2, coef0=-1.0), "indefinite"),
        (Polynomial(degree=1, coef0=-1.0), "cpd"),
        (Polynomial(degree=2.5, coef0=1.0), "indefinite"),
        (Polynomial(degree=0.5, coef0=1.0), "indefinite"),
    ],
    ids=repr,
)
def test_definiteness_of_polynomials_follows_from_the_parameters(kernel, claim):
    assert kernel.definiteness == claim
