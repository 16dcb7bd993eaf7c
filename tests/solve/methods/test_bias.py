"""The best bias for fixed coefficients."""

import numpy as np
import pytest

from priorsvm import PriorSVC
from priorsvm.solve.methods.bias import best_bias


def loss(b, required, y, C):
    return float(np.sum(C * np.maximum(required - y * b, 0.0)))


@pytest.mark.parametrize("seed", range(20))
def test_no_kink_is_better_and_the_dual_variables_balance(seed):
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(15) < rng.integers(1, 15), 1.0, -1.0)
    required = rng.normal(size=15).round(1)  # some kinks are equal
    C = rng.choice([0.5, 1.0, 3.0], 15)
    b, a = best_bias(required, y, C)
    least = min(loss(kink, required, y, C) for kink in y * required)
    assert loss(b, required, y, C) == pytest.approx(least, abs=1e-12)
    assert a.min() >= 0
    assert np.all(a <= C)
    assert y @ a == pytest.approx(0.0, abs=1e-12)
    assert a @ (required - y * b) == pytest.approx(least, abs=1e-12)


@pytest.mark.parametrize("cost", [1.0, 0.1])
def test_the_middle_of_many_best_biases(cost):
    required = np.array([2.0, 1.5, 3.0, 2.5])
    y = np.array([1.0, 1.0, -1.0, -1.0])
    b, a = best_bias(required, y, np.full(4, cost))
    assert b == pytest.approx((1.5 - 2.5) / 2)
    np.testing.assert_allclose(a, cost)


def test_routes_have_the_middle_where_no_row_is_free():
    """With a tiny C all rows are at their bounds, and the best biases are an interval."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 150))
    y = np.repeat([0, 1], 200)
    X[y == 1, 0] += 2
    found = [PriorSVC(C=1e-5, solver=name).fit(X, y).intercept_[0] for name in ("LIBSVM", "NORMAL", "BAND")]
    np.testing.assert_allclose(found, found[0], atol=1e-9)
