"""Scaling inside f."""

import numpy as np
import pytest

from priorsvm import RBF, PriorSVC
from priorsvm.errors import InvalidInput
from priorsvm.function.scale import Scale


def test_standard_and_minmax():
    X = np.array([[0.0, 10.0], [2.0, 30.0], [4.0, 50.0]])
    standard, minmax = Scale.of("standard", X), Scale.of("minmax", X)
    np.testing.assert_allclose(standard.points(X).mean(axis=0), 0.0, atol=1e-15)
    np.testing.assert_allclose(standard.points(X).std(axis=0), 1.0)
    np.testing.assert_allclose(minmax.points(X), [[0, 0], [0.5, 0.5], [1, 1]])
    np.testing.assert_allclose(minmax.directions(np.array([[4.0, 40.0]])), [[1, 1]])
    assert Scale.of(None, X) is None
    with pytest.raises(InvalidInput, match="scale must be 'standard', 'minmax' or None, got 'robust'"):
        Scale.of("robust", X)


@pytest.mark.parametrize("kind", ["standard", "minmax"])
def test_weights_count_rows(kind):
    X = np.random.default_rng(0).normal(size=(6, 2))
    X[2], X[5] = 100.0, -100.0
    repeats = np.array([1, 2, 0, 3, 1, 0])
    weighted, repeated = (
        Scale.of(kind, X, repeats.astype(float)),
        Scale.of(kind, np.repeat(X, repeats, axis=0)),
    )
    np.testing.assert_allclose(weighted.shift, repeated.shift)
    np.testing.assert_allclose(weighted.width, repeated.width)


@pytest.mark.parametrize("kind", ["standard", "minmax"])
@pytest.mark.parametrize("value", [0.0, 5.0, 1e9 + 0.1])
def test_a_constant_column_is_left_as_wide_as_it_is(kind, value):
    scale = Scale.of(kind, np.column_stack([np.full(7, value), np.arange(7.0)]))
    assert scale.width[0] == 1.0
    assert scale.width[1] > 1.0


@pytest.mark.parametrize("scale", ["standard", "minmax"])
@pytest.mark.parametrize("solver", ["LIBSVM", "CLARABEL"])
def test_a_scaled_model_is_the_model_of_scaled_rows(centres, new, scale, solver):
    X, Z = centres * [1.0, 50.0, 0.02, 1.0] + 3.0, new * [1.0, 50.0, 0.02, 1.0] + 3.0
    y = (centres[:, 0] + centres[:, 1] > 0).astype(int)
    units = Scale.of(scale, X)
    for kernel in ("linear", RBF(0.5)):
        raw = PriorSVC(kernel=kernel, scale=scale, solver=solver).fit(X, y)
        by_hand = PriorSVC(kernel=kernel, solver=solver).fit(units.points(X), y)
        expected = by_hand.decision_function(units.points(Z))
        np.testing.assert_allclose(raw.decision_function(Z), expected, atol=1e-6)
        if kernel == "linear":
            np.testing.assert_allclose(raw.coef_, by_hand.coef_ / units.width, rtol=1e-5, atol=1e-9)
            np.testing.assert_allclose(Z @ raw.coef_[0] + raw.intercept_[0], expected, atol=1e-6)
