"""Names and functions as kernels."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.svm import SVC

from priorsvm.errors import InvalidInput, InvalidType
from priorsvm.kernels import RBF, FromCallable, Linear, resolve_kernel


def squared_inner(A, B):
    return (A @ B.T) ** 2


def rows_for(n=17):
    X = np.random.default_rng(0).normal(size=(n, 3))
    X.flags.writeable = False
    return X


@pytest.mark.parametrize("name", ["linear", "poly", "rbf", "sigmoid"])
def test_names_mean_what_they_mean_in_svc(name):
    X = rows_for(40)
    y = np.where(X[:, 0] + X[:, 1] ** 2 > 0.5, 1, -1)
    kernel = resolve_kernel(name, 3, X)
    native = SVC(kernel=name).fit(X, y)
    given = SVC(kernel="precomputed").fit(kernel(X), y)
    np.testing.assert_allclose(given.decision_function(kernel(X)), native.decision_function(X), atol=1e-10)


def test_resolve_kernel():
    X = rows_for()
    own = RBF()
    assert resolve_kernel(own, 3, X).gamma == 1 / (3 * X.var())
    assert own.gamma == "scale"
    assert resolve_kernel("rbf", 3).gamma == "scale"
    assert resolve_kernel(RBF(gamma="auto"), 4).gamma == 0.25
    assert repr(resolve_kernel("polynomial", 3)) == "Polynomial()"
    np.testing.assert_array_equal(resolve_kernel(squared_inner, 3)(X), squared_inner(X, X))


@pytest.mark.parametrize("name", ["laplacian", "chi2", "additive_chi2", "cosine"])
def test_other_names_are_scikit_learns(name):
    X = np.abs(rows_for())
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


def test_functions_must_return_the_right_shape():
    X = rows_for()

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
