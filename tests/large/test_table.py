"""Sums and extremes of the columns of a chunk, in long rows."""

import numpy as np
import pytest

from priorsvm.large import table


@pytest.mark.parametrize("n", [1, 5, 127, 128, 129, 2500])
def test_sums_and_extremes_are_those_of_the_columns(n, rng):
    X = rng.normal(size=(n, 3)).round(1)
    weight = rng.random(n)
    middle = np.array([1.0, -2.0, 30.0])
    np.testing.assert_allclose(table.column_sums(X), X.sum(axis=0), atol=1e-9)
    np.testing.assert_allclose(table.squares_from(X, middle, weight), weight @ (X - middle) ** 2, rtol=1e-12)
    low, high = table.places_of_extremes(X)
    columns = np.arange(3)
    assert np.array_equal(X[low, columns], X.min(axis=0))
    assert np.array_equal(X[high, columns], X.max(axis=0))


def test_sums_of_no_rows_are_zero():
    assert np.array_equal(table.column_sums(np.zeros((0, 2))), np.zeros(2))
    assert np.array_equal(table.squares_from(np.zeros((0, 2)), np.ones(2), np.zeros(0)), np.zeros(2))
