"""The lifted Cholesky factor and the step to the boundary of the orthant."""

import numpy as np
import pytest

from priorsvm._utils.linalg import ROWS_AT_ONCE, lifted_cholesky, scaled_gram, step_to_boundary


@pytest.mark.parametrize("order", ["C", "F"])
def test_the_factor_of_a_definite_matrix_needs_no_lift(rng, order):
    Z = rng.normal(size=(5, 5))
    M = np.array(Z @ Z.T + np.eye(5), order=order)
    given = M.copy()
    L = lifted_cholesky(M, [0.0, 1.0])
    np.testing.assert_allclose(np.tril(L), np.linalg.cholesky(M), atol=1e-13)
    np.testing.assert_array_equal(M, given)


def test_only_the_lower_triangle_is_read(rng):
    Z = rng.normal(size=(4, 4))
    M = Z @ Z.T + np.eye(4)
    np.testing.assert_array_equal(lifted_cholesky(np.tril(M), [0.0]), lifted_cholesky(M, [0.0]))


def test_the_first_lift_that_has_a_factor_is_used():
    M = np.diag([1.0, -0.5])
    L = lifted_cholesky(M, [0.0, 0.1, 1.0, 10.0])
    np.testing.assert_allclose(L @ L.T, M + np.eye(2))


def test_no_factor_is_none():
    assert lifted_cholesky(np.diag([1.0, -5.0]), [0.0, 1.0]) is None
    assert lifted_cholesky(np.eye(2), []) is None


def test_a_singular_matrix_has_a_factor_once_it_is_lifted():
    M = np.ones((3, 3))
    L = np.tril(lifted_cholesky(M, 10.0 ** np.arange(-14, -5)))
    np.testing.assert_allclose(L @ L.T, M, atol=1e-5)


def test_the_step_ends_at_the_first_zero():
    x = np.array([1.0, 2.0, 3.0])
    assert step_to_boundary(x, np.array([-0.5, -4.0, 1.0])) == pytest.approx(0.5)
    assert step_to_boundary(x, np.array([0.0, 1.0, 2.0])) >= 1e299


def test_the_boundary_is_reached_and_not_crossed(rng):
    x = rng.uniform(0.1, 1.0, 50)
    dx = rng.normal(size=50)
    assert (x + step_to_boundary(x, dx) * dx).min() == pytest.approx(0.0, abs=1e-15)


@pytest.mark.parametrize(("size", "error"), [(1.0, 1e-5), (1e4, 1e-14)], ids=["single", "double"])
def test_a_scaled_gram_matrix_of_many_rows_is_single_unless_an_entry_is_large(rng, size, error):
    B = rng.normal(size=(3 * ROWS_AT_ONCE, 4))
    some = np.arange(0, len(B), 2)
    factors = size * rng.uniform(size=len(some))
    expected = (B[some] * factors[:, None] ** 2).T @ B[some]
    found = np.tril(scaled_gram(B, some, factors))
    assert found.dtype == float
    away = np.abs(found - np.tril(expected)).max() / np.abs(expected).max()
    assert away <= error
    assert size > 1 or away > 1e-14  # single precision was used


def test_a_scaled_gram_matrix_of_few_rows_and_of_none_is_exact(rng):
    B = rng.normal(size=(3, 5))
    some = np.array([2, 0])
    factors = np.array([2.0, 1e30])
    expected = (B[some] * factors[:, None] ** 2).T @ B[some]
    np.testing.assert_allclose(np.tril(scaled_gram(B, some, factors)), np.tril(expected), rtol=1e-13)
    assert not scaled_gram(B, some[:0], factors[:0]).any()
    assert np.isfinite(scaled_gram(np.tile(B, (4, 1)), np.arange(12), np.full(12, 1e30))).all()
