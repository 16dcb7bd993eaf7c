"""Kernels of the package as covariances of scikit-learn's Gaussian processes."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.gaussian_process import GaussianProcessClassifier, GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF as LengthScale
from sklearn.gaussian_process.kernels import ConstantKernel, DotProduct, WhiteKernel

from priorsvm import RBF, HaarIntegration, Linear, NegativeDistance, Polynomial, Shift
from priorsvm.errors import InvalidInput, InvalidType, KernelNotPSD
from priorsvm.kernels import Centred, GaussianProcessKernel

RNG = np.random.default_rng(6)
X = RNG.normal(size=(40, 3))
TARGET = np.sin(X[:, 0]) + 0.1 * RNG.normal(size=40)
NEW = RNG.normal(size=(10, 3))

# A kernel, and the covariance of scikit-learn with fixed parameters.
SAME = [
    (RBF(gamma=0.5), LengthScale(1.0, "fixed")),
    (Linear(), DotProduct(0.0, "fixed")),
    (Polynomial(degree=2, gamma=1.0, coef0=1.0), DotProduct(1.0, "fixed") ** 2),
]


@pytest.mark.parametrize(("kernel", "covariance"), SAME, ids=lambda value: repr(value)[:20])
def test_regression_with_optimised_factor_and_noise(kernel, covariance):
    ours, reference = (
        GaussianProcessRegressor(ConstantKernel() * k + WhiteKernel()).fit(X, TARGET)
        for k in (GaussianProcessKernel(kernel), covariance)
    )
    np.testing.assert_allclose(ours.kernel_.theta, reference.kernel_.theta, atol=1e-5)
    for a, b in zip(ours.predict(NEW, return_std=True), reference.predict(NEW, return_std=True), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-6)


def test_classification():
    ours, reference = (
        GaussianProcessClassifier(ConstantKernel() * k).fit(X, TARGET > 0)
        for k in (GaussianProcessKernel(RBF(gamma=0.5)), LengthScale(1.0, "fixed"))
    )
    np.testing.assert_allclose(ours.predict_proba(NEW), reference.predict_proba(NEW), atol=1e-6)


def test_a_process_with_an_integrated_kernel_solves_the_normal_equations():
    kernel = HaarIntegration(RBF(gamma=0.5), Shift([0.3, 0.0, 0.0]))
    model = GaussianProcessRegressor(GaussianProcessKernel(kernel), alpha=0.01).fit(X, TARGET)
    expected = kernel(NEW, X) @ np.linalg.solve(kernel(X) + 0.01 * np.eye(40), TARGET)
    np.testing.assert_allclose(model.predict(NEW), expected, atol=1e-8)


def test_a_centred_kernel_is_the_covariance_of_a_process_that_is_0_at_the_point():
    kernel = Centred(NegativeDistance(), X[0])
    model = GaussianProcessRegressor(GaussianProcessKernel(kernel), alpha=1e-6).fit(X[1:], TARGET[1:])
    mean, deviation = model.predict(X[:1], return_std=True)
    np.testing.assert_allclose([mean[0], deviation[0]], [0.0, 0.0], atol=1e-6)


def test_claims_and_copies():
    kernel = GaussianProcessKernel(RBF(gamma=0.5))
    assert kernel.is_stationary()
    assert not GaussianProcessKernel(Linear()).is_stationary()
    assert kernel.theta.shape == (0,)
    K, gradient = kernel(X, eval_gradient=True)
    assert gradient.shape == (40, 40, 0)
    np.testing.assert_array_equal(K, RBF(gamma=0.5)(X))
    np.testing.assert_array_equal(kernel.diag(X), np.ones(40))
    assert repr(clone(kernel)) == "GaussianProcessKernel(RBF(gamma=0.5))"
    assert (
        repr(kernel + WhiteKernel(2.0))
        == "GaussianProcessKernel(RBF(gamma=0.5)) + WhiteKernel(noise_level=2)"
    )


@pytest.mark.parametrize(
    ("kernel", "error", "message"),
    [
        (NegativeDistance(), KernelNotPSD, r"NegativeDistance\(\) is not known .* Centred\(kernel\)"),
        (-1 * RBF(0.5), KernelNotPSD, "not a covariance. Use a positive semidefinite kernel"),
        (LengthScale(), InvalidType, "is not a Kernel"),
        (RBF(), InvalidInput, "gamma='scale' depends on the training rows"),
        (Centred(NegativeDistance()), InvalidInput, "point is None"),
    ],
    ids=["cpd", "indefinite", "foreign", "scale", "no point"],
)
def test_other_kernels_are_refused(kernel, error, message):
    with pytest.raises(error, match=message):
        GaussianProcessRegressor(GaussianProcessKernel(kernel)).fit(X, TARGET)
