"""Sums, products and multiples of kernels: matrices, definiteness, parameters and messages."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import BaseEstimator, clone

from priorsvm.errors import InvalidInput, InvalidType
from priorsvm.kernels import (
    RBF,
    FromCallable,
    Linear,
    NegativeDistance,
    Pairwise,
    Polynomial,
    Product,
    Scaled,
    Sum,
)


def squared_inner(A, B):
    return (A @ B.T) ** 2


def rows_for(n=17, seed=0):
    X = np.random.default_rng(seed).normal(size=(n, 3))
    X.flags.writeable = False
    return X


def test_algebra_is_that_of_the_matrices():
    X, Z, V = (rows_for(9, seed) for seed in (0, 1, 2))
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
    ],
    ids=repr,
)
def test_definiteness_follows_from_the_parts(kernel, claim):
    assert kernel.definiteness == claim


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


def test_kernels_are_parameters_of_other_estimators():
    class Model(BaseEstimator):
        def __init__(self, kernel=None):
            self.kernel = kernel

    model = clone(Model(0.5 * RBF(gamma=0.3) + Linear()))
    model.set_params(kernel__rbf__gamma=2.0)
    assert model.get_params()["kernel__rbf__gamma"] == 2.0
    assert "RBF(gamma=2.0)" in repr(model)
    assert "RBF" in model._repr_html_()


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
    X = rows_for()
    kernel = 0.5 * (RBF() * Linear()) + Polynomial(gamma="auto") + Pairwise("sigmoid", {"gamma": "scale"})
    scale = 1 / (3 * X.var())
    by_hand = (
        0.5 * (RBF(gamma=scale) * Linear())
        + Polynomial(gamma=1 / 3)
        + Pairwise("sigmoid", {"gamma": float(scale)})
    )
    np.testing.assert_array_equal(kernel.resolved(X)(X), by_hand(X))
    assert "scale" in repr(kernel)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda k, X: Sum([])(X), InvalidInput, "Sum: kernels is empty; expected at least one kernel"),
        (lambda k, X: Product([k, "rbf"])(X), InvalidType, "Product: 'rbf' is not a Kernel. Use a kernel"),
        (lambda k, X: Scaled("rbf", 2.0)(X), InvalidType, "Scaled: 'rbf' is not a Kernel"),
        (lambda k, X: Scaled(k, "2")(X), InvalidInput, "Scaled: factor is '2'; expected a finite number"),
        (lambda k, X: Scaled(k, np.nan)(X), InvalidInput, "Scaled: factor is nan; expected a finite number"),
        (lambda k, X: Scaled(k, True).definiteness, InvalidInput, "Scaled: factor is True; expected"),
    ],
)
def test_wrong_parts_are_named(call, error, message):
    with pytest.raises(error, match=message):
        call(Linear(), rows_for())
