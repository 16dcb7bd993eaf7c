"""Polynomials by their values at nodes, against NumPy."""

import numpy as np
import pytest
from numpy.polynomial import Chebyshev, Polynomial
from scipy.interpolate import BarycentricInterpolator

from priorsvm.knowledge.worst_case.polynomials import interpolation_matrix, lobatto, squares, upper


@pytest.mark.parametrize("degree", [1, 2, 3, 4, 8, 13, 20])
def test_nodes_are_where_the_chebyshev_polynomial_is_extreme(degree):
    nodes = lobatto(degree)
    np.testing.assert_allclose(np.abs(Chebyshev.basis(degree)(nodes)), 1.0, atol=1e-12)
    assert (np.diff(nodes) > 0).all()
    assert (nodes[0], nodes[-1]) == (-1.0, 1.0)
    np.testing.assert_array_equal(nodes, -nodes[::-1])
    inner = np.sort(Chebyshev.basis(degree).deriv().roots())
    np.testing.assert_allclose(nodes[1:-1], inner, atol=1e-7)


@pytest.mark.parametrize("degree", [2, 4, 10, 20])
def test_the_middle_of_an_even_number_of_steps_is_zero(degree):
    assert lobatto(degree)[degree // 2] == 0.0


def test_one_node_is_the_middle():
    np.testing.assert_array_equal(lobatto(0), [0.0])


@pytest.mark.parametrize("degree", [0, 1, 2, 4, 8, 20])
def test_values_at_nodes_give_values_anywhere(degree, rng):
    nodes, u = lobatto(degree), np.linspace(-1.0, 1.0, 57)
    p = Polynomial(rng.normal(size=degree + 1))
    np.testing.assert_allclose(interpolation_matrix(nodes, u) @ p(nodes), p(u), atol=2e-13)


@pytest.mark.parametrize("degree", [1, 2, 4, 8, 20])
def test_values_of_any_function_at_nodes_are_interpolated(degree):
    nodes, u = lobatto(degree), np.linspace(-1.0, 1.0, 57)
    reference = BarycentricInterpolator(nodes, np.exp(3 * nodes))(u)
    np.testing.assert_allclose(interpolation_matrix(nodes, u) @ np.exp(3 * nodes), reference, atol=2e-13)


def test_values_beyond_the_nodes_are_those_of_the_same_polynomial(rng):
    p, u = Polynomial(rng.normal(size=5)), np.array([-4.0, -1.5, 3.0])
    np.testing.assert_allclose(interpolation_matrix(lobatto(4), u) @ p(lobatto(4)), p(u), rtol=1e-12)


def test_at_the_nodes_the_matrix_is_the_identity():
    np.testing.assert_allclose(interpolation_matrix(lobatto(6), lobatto(6)), np.eye(7), atol=1e-14)


@pytest.mark.parametrize("size", [1, 2, 3, 5])
def test_squares_are_the_values_of_a_quadratic_form_in_chebyshev_polynomials(size, rng):
    P = rng.normal(size=(size, size))
    nodes = lobatto(2 * size)
    t = np.array([Chebyshev.basis(k)(nodes) for k in range(size)])
    expected = np.array([t[:, j] @ P @ t[:, j] for j in range(len(nodes))])
    np.testing.assert_allclose(squares(nodes, size) @ P.ravel(), expected, atol=1e-13)


def test_squares_of_a_semidefinite_matrix_are_nonnegative(rng):
    A = rng.normal(size=(4, 2))
    assert (squares(np.linspace(-3, 3, 100), 4) @ (A @ A.T).ravel() >= -1e-9).all()


@pytest.mark.parametrize("size", [1, 2, 4])
def test_upper_triangle_makes_the_symmetric_matrix(size, rng):
    P = rng.normal(size=(size, size))
    P = P + P.T
    np.testing.assert_array_equal(P[np.triu_indices(size)] @ upper(size), P.ravel())
