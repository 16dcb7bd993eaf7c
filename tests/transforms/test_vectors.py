"""Shift and FromFunction."""

from __future__ import annotations

import numpy as np
import pytest

from priorsvm.errors import InvalidInput, InvalidType
from priorsvm.transforms import FromFunction, Shift

U, V = np.array([1.0, 0.0, -2.0]), np.array([0.0, 0.5, 0.0])


@pytest.fixture(scope="module")
def X():
    X = np.random.default_rng(0).normal(size=(4, 3))
    X.setflags(write=False)
    return X


def scale(X, theta):
    return X * (1 + theta)


# Shift


def test_shift_along_one_vector(X):
    orbit = Shift(U).orbit(X)
    np.testing.assert_array_equal(orbit, np.stack([X, X - U, X + U], axis=1))
    np.testing.assert_allclose(Shift(list(U)).apply(X, 0.3), X + 0.3 * U)


def test_shift_along_several_vectors_changes_one_theta_at_a_time(X):
    shift = Shift([U, V])
    np.testing.assert_array_equal(shift.theta_grid(), [[0, 0], [-1, 0], [1, 0], [0, -1], [0, 1]])
    np.testing.assert_allclose(shift.apply(X, [0.3, -2]), X + 0.3 * U - 2 * V)
    assert shift.span() == [(-1.0, 1.0), (-1.0, 1.0)]


def test_shift_steps_divide_the_range(X):
    np.testing.assert_array_equal(Shift(U, steps=5).theta_grid()[:, 0], [0, -1, -0.5, 0.5, 1])


def test_shift_tangents_are_the_vectors(X):
    np.testing.assert_array_equal(Shift([U, V]).tangents(X), np.broadcast_to([U, V], (4, 2, 3)))


@pytest.mark.parametrize("vector", [[], "up", [[[1.0]]], [1.0, np.nan, 0.0], [[1.0, 2.0], [1.0]]])
def test_shift_vector_is_checked(vector, X):
    match = r"Shift: vector must contain finite numbers, of shape \(d,\) for one direction or \(q, d\) for"
    with pytest.raises(InvalidInput, match=match):
        Shift(vector).orbit(X)


def test_shift_vector_has_one_entry_per_column(X):
    with pytest.raises(
        InvalidInput, match=r"Shift: vector has 2 entries, but X has 3 columns\. Give one entry"
    ):
        Shift([1.0, 2.0]).orbit(X)


def test_shift_steps_are_odd(X):
    with pytest.raises(InvalidInput, match=r"Shift: steps must be an odd number of at least 3, .*; got 2"):
        Shift(U, steps=2).orbit(X)


# FromFunction


def test_function_receives_numbers_or_vectors(X):
    seen = []

    def note(X, theta):
        seen.append(theta)
        return X + 1

    FromFunction(note, [1, 2.5]).orbit(X)
    assert seen == [1.0, 2.5]
    assert all(type(theta) is float for theta in seen)
    seen.clear()
    FromFunction(note, [(1, 2), (3, 4)]).orbit(X)
    np.testing.assert_array_equal(seen, [[1, 2], [3, 4]])


def test_function_orbit_and_tangents(X):
    scaling = FromFunction(scale, [-0.5, 0.0, 2.0])
    np.testing.assert_allclose(scaling.orbit(X), X[:, None] * np.array([1, 0.5, 3])[:, None])
    np.testing.assert_allclose(scaling.tangents(X), X[:, None], atol=1e-10)
    assert scaling.span() == [(-0.5, 2.0)]


def test_function_is_not_called_for_the_identity(X):
    def fails_at_zero(X, theta):
        return X * np.log(abs(theta)) if theta else X / 0

    with np.errstate(all="raise"):
        np.testing.assert_array_equal(FromFunction(fails_at_zero, [2.0]).orbit(X)[:, 0], X)


def test_function_may_modify_its_argument(X):
    def in_place(X, theta):
        X *= theta
        return X

    before = X.copy()
    FromFunction(in_place, [2.0, 3.0]).orbit(before)
    np.testing.assert_array_equal(before, X)


def test_without_thetas_the_orbit_is_the_identity(X):
    still = FromFunction(scale, [])
    assert still.theta_grid().shape == (1, 0)
    np.testing.assert_array_equal(still.orbit(X), X[:, None])
    assert still.tangents(X).shape == (4, 0, 3)
    assert still.span() == []


def test_result_shape_is_checked(X):
    def shorten(X, theta):
        return X[:, :2]

    match = r"shorten\(X, theta\) must return numbers of shape \(4, 3\), .* At theta=1\.0 .* \(4, 2\)"
    with pytest.raises(InvalidInput, match=match):
        FromFunction(shorten, [1.0]).orbit(X)
    with pytest.raises(
        InvalidInput, match=r"must return numbers of shape \(4, 3\), .* shape \(\), dtype object"
    ):
        FromFunction(lambda X, theta: None, [1.0]).orbit(X)


def test_result_must_be_finite(X):
    def root(X, theta):
        X[2, 1] = np.nan
        return X

    match = r"root\(X, theta\) returned NaN or infinity at theta=1\.0, first in row 2\. Remove this theta"
    with pytest.raises(InvalidInput, match=match):
        FromFunction(root, [1.0]).orbit(X)


def test_a_function_that_is_not_the_identity_at_0_is_rejected(X):
    def times(X, theta):
        return X * theta

    assert FromFunction(times, [0.9, 1.1]).orbit(X).shape == (4, 3, 3)
    with pytest.raises(
        InvalidInput, match=r"thetas contains 0, so theta = 0 .* times\(X, 0\) differs from X\. Let theta"
    ):
        FromFunction(times, [0, 1, 2]).orbit(X)
    with pytest.raises(InvalidInput, match=r"tangents are derivatives at 0, .* times\(X, 0\) differs from X"):
        FromFunction(times, [0.9, 1.1]).tangents(X)


@pytest.mark.parametrize("thetas", [["left", "right"], [1.0, np.inf], 3.0, [[1, 2], [3]], [[[1]]], None])
def test_thetas_are_checked(thetas, X):
    match = (
        r"FromFunction: thetas must be a list of finite numbers, or of vectors of equal length; got .* from 1"
    )
    with pytest.raises(InvalidInput, match=match):
        FromFunction(scale, thetas).orbit(X)


def test_function_must_be_callable(X):
    with pytest.raises(InvalidType, match=r"FromFunction: function must be callable as function\(X, theta\)"):
        FromFunction("rotate", [1.0]).orbit(X)


def test_linear_functions_of_shifted_rows_are_pulled_back():
    rng = np.random.default_rng(0)
    X, W, thetas = rng.normal(size=(5, 3)), rng.normal(size=(4, 3)), rng.normal(size=(4, 2))
    shift = Shift(rng.normal(size=(2, 3)))
    V, offset = shift.pulled_back(W, thetas)
    for w, theta, v, o in zip(W, thetas, V, offset, strict=True):
        np.testing.assert_allclose(X @ v + o, shift.apply(X, theta) @ w, atol=1e-14)


def test_functions_have_no_pullback():
    bend = FromFunction(lambda X, theta: X + theta * X**2, thetas=[-1.0, 1.0])
    assert bend.pulled_back(np.ones((1, 2)), np.ones((1, 1))) is None
    assert (Shift([1.0, 0.0]) @ bend).pulled_back(np.ones((1, 2)), np.ones((1, 2))) is None


def test_the_message_for_a_dict_shows_the_vector():
    with pytest.raises(
        InvalidInput, match=r"columns have no names here.*'age \(years\)': 2.*for column in X\.columns"
    ):
        Shift({"age (years)": 2}).orbit([[1.0, 2.0]])
