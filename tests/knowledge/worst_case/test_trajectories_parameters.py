"""Trajectories of several parameters."""

import itertools
from itertools import product

import cvxpy as cp
import numpy as np
import pytest

from priorsvm import (
    RBF,
    FromFunction,
    PriorSVC,
    Shift,
    Trajectories,
)
from priorsvm.errors import CoarsePolynomial

from .trajectory_problems import (
    FINE,
    Own,
    expansion,
    signs,
    slacks,
)

pytestmark = pytest.mark.slow  # part of `make test` only


def sway(X, theta):
    """Quadratic in two parameters; it goes away from the plane x0 = 0."""
    return np.einsum("k,nkd->nd", terms(theta), bends(X))


def terms(theta):
    a, b = theta
    return np.array([1.0, a, b, a * a, a * b, b * b])


def bends(X):
    """The vectors that 1, a, b, a^2, ab, b^2 multiply, (n, 6, 3)."""
    away = np.sign(X[:, :1]) * np.array([1.0, 0.1, 0.0])
    return np.stack(
        [X, 0.4 * X[:, [1, 2, 0]], 0.3 * X[:, [2, 0, 1]], 0.3 * away, 0.1 * away, 0.2 * away], axis=1
    )


def towards(X, theta):
    """Quadratic in two parameters, and lowest at the corners of a box."""
    a, b = theta
    away = np.sign(X[:, :1]) * np.array([1.0, 0.1, 0.0])
    turned = 0.05 * a * X[:, [1, 2, 0]] + 0.05 * b * X[:, [2, 0, 1]]
    return X + turned - (0.3 * a * a + 0.05 * a * b + 0.2 * b * b) * away


SWAYS = FromFunction(sway, [[-0.8, -0.5], [0.8, 0.5]])


@pytest.fixture(scope="module")
def sides():
    """Two classes on either side of the plane x0 = 0, and not quite separable when they move."""
    rng = np.random.default_rng(5)
    y = np.tile([0, 1], 15)
    X = rng.normal(size=(30, 3))
    X[:, 0] = signs(y) * (0.2 + np.abs(X[:, 0]))
    return X, y


def matrices(X, y, boxes=None):
    """The quadratic of each row as a 3x3 matrix, less s_k (h_k^2 - theta_k^2) for each side of a box."""
    own, B = Own(y, 3), bends(X)
    own.at(X[:, None])
    for i in range(len(y)):
        p = own.p(i, B)
        G = cp.Variable((3, 3), PSD=True)
        s = np.zeros(2) if boxes is None else cp.Variable(2, nonneg=True)
        half = np.ones(2) if boxes is None else np.array(boxes)
        own.constraints += [
            G[0, 0] == p[0] - s[0] * half[0] ** 2 - s[1] * half[1] ** 2,
            2 * G[0, 1] == p[1],
            2 * G[0, 2] == p[2],
            G[1, 1] == p[3] + s[0],
            2 * G[1, 2] == p[4],
            G[2, 2] == p[5] + s[1],
        ]
    return own.solve()


def test_a_quadratic_of_two_parameters_anywhere_is_one_matrix(sides):
    X, y = sides
    model = PriorSVC(Trajectories(SWAYS, span="line"), **FINE).fit(X, y)
    value, w, _ = matrices(X, y)
    assert model.objective_ == pytest.approx(value, rel=1e-10)
    np.testing.assert_allclose(model.coef_[0], w, atol=1e-6)
    assert np.abs(w).max() > 0.3


def test_a_quadratic_of_two_parameters_on_a_box_is_one_matrix_and_two_factors(sides):
    X, y = sides
    model = PriorSVC(Trajectories(SWAYS), **FINE).fit(X, y)
    value, w, _ = matrices(X, y, (0.8, 0.5))
    assert model.objective_ == pytest.approx(value, rel=1e-10)
    np.testing.assert_allclose(model.coef_[0], w, atol=1e-6)


@pytest.mark.parametrize("bend", [sway, towards])
def test_on_a_box_the_margin_holds_all_over_it(sides, bend):
    X, y = sides
    moves = FromFunction(bend, [[-0.8, -0.5], [0.8, 0.5]])
    model = PriorSVC(Trajectories(moves), **FINE).fit(X, y)
    grid = [(a, b) for a in np.linspace(-0.8, 0.8, 21) for b in np.linspace(-0.5, 0.5, 21)]
    points = np.stack([bend(X, theta) for theta in grid], axis=1)
    value, _, _ = Own(y, 3).at(points).solve()
    assert -1e-8 < model.objective_ / value - 1 < 0.01
    y_f = signs(y)[:, None] * (points @ model.coef_[0] + model.intercept_[0])
    assert (y_f.min(axis=1) > 1 - slacks(model, X, y) - 1e-8).all()
    verdict = model.verify()["trajectories"]
    assert verdict.holds
    assert verdict.worst > -1e-8


@pytest.mark.parametrize("span", ["transform", [(-1, 1), (0, 2)], [(-0.5, 1.5), (-2, -1)]], ids=str)
def test_shifts_along_two_directions_fill_a_parallelogram(data, span):
    X, y = data
    V = np.array([[0.3, 0.1, 0.0], [-0.1, 0.2, 0.2]])
    model = PriorSVC(Trajectories(Shift(V), span=span), **FINE).fit(X, y)
    sides = [(-1, 1), (-1, 1)] if span == "transform" else span
    corners = [X + a * V[0] + b * V[1] for a in sides[0] for b in sides[1]]
    value, w, _ = Own(y, 3).at(np.stack([X, *corners], axis=1)).solve()
    assert model.objective_ == pytest.approx(value, rel=1e-10)
    np.testing.assert_allclose(model.coef_[0], w, atol=1e-8)
    found = model.findings_["trajectories"]
    assert found.thetas.shape == (len(found.rows), 2)
    np.testing.assert_allclose(X[found.rows] + found.thetas @ V, found.points, atol=1e-7)
    np.testing.assert_allclose(expansion(model, y), model.coef_[0], atol=1e-8)


def test_three_directions_have_eight_corners(data):
    X, y = data
    V = np.diag([0.2, 0.1, 0.3])
    model = PriorSVC(Trajectories(Shift(V)), **FINE).fit(X, y)
    corners = [X + np.array(c) @ V for c in product((-1, 1), repeat=3)]
    value, w, _ = Own(y, 3).at(np.stack(corners, axis=1)).solve()
    assert model.objective_ == pytest.approx(value, rel=1e-10)
    np.testing.assert_allclose(model.coef_[0], w, atol=1e-5)


def test_a_composition_has_the_parameters_of_both(data):
    X, y = data
    both = PriorSVC(Trajectories(Shift([0.3, 0.1, 0.0]) @ Shift([-0.1, 0.2, 0.2])), **FINE).fit(X, y)
    one = PriorSVC(Trajectories(Shift([[0.3, 0.1, 0.0], [-0.1, 0.2, 0.2]])), **FINE).fit(X, y)
    assert both.objective_ == pytest.approx(one.objective_, rel=1e-10)
    np.testing.assert_allclose(both.coef_, one.coef_, atol=1e-7)


@pytest.mark.parametrize("span", ["line", "transform"])
def test_w_is_the_sum_of_the_worst_points_of_two_parameters(sides, span):
    """The dual matrices have rank one here. On a box a higher rank is possible, and w is not such a sum."""
    X, y = sides
    model = PriorSVC(Trajectories(SWAYS, span=span), **FINE).fit(X, y)
    np.testing.assert_allclose(expansion(model, y), model.coef_[0], atol=1e-8)


def test_worst_points_of_two_parameters_are_in_the_box(sides):
    X, y = sides
    moves = FromFunction(towards, [[-0.8, -0.5], [0.8, 0.5]])
    model = PriorSVC(Trajectories(moves), **FINE).fit(X, y)
    worst = model.findings_["trajectories"]
    assert (np.abs(worst.thetas) <= [0.8 + 1e-9, 0.5 + 1e-9]).all()
    corners = worst.support & (np.abs(worst.thetas) > [0.79, 0.49]).all(axis=1)
    assert corners.sum() >= 6
    y_f = signs(y)[worst.rows] * model.decision_function(worst.points)
    slack = slacks(model, X, y)[worst.rows]
    alone = np.bincount(worst.rows[worst.support], minlength=30)[worst.rows] == 1
    np.testing.assert_allclose((y_f - 1 + slack)[corners & alone], 0.0, atol=1e-6)


def test_degree_0_of_two_parameters_is_the_plain_model(data):
    X, y = data
    with pytest.warns(CoarsePolynomial, match="a narrower span"):
        model = PriorSVC(Trajectories(Shift(0.2 * np.eye(3)), degree=0), **FINE).fit(X, y)
    value, _, _ = Own(y, 3).at(X[:, None]).solve()
    assert model.objective_ == pytest.approx(value, rel=1e-10)


def test_verify_of_several_parameters_looks_into_the_corners():
    sign = np.where(np.arange(10) % 2, 1, -1)
    X = np.random.default_rng(8).normal(size=(10, 3)) + 0.9 * sign[:, None]
    moves = Shift([0.5, 0.0, 0.0]) @ Shift([0.0, 0.5, 0.0]) @ Shift([0.0, 0.0, 0.5])
    with pytest.warns(CoarsePolynomial):
        model = PriorSVC(Trajectories(moves), kernel=RBF(0.3), C=3.0).fit(X, sign)
    corners = np.array(list(itertools.product([-1.0, 1.0], repeat=3)))
    scores = np.array([model.decision_function(moves.apply(X, corner)) for corner in corners])
    verdict = model.verify()["trajectories"]
    assert not verdict.holds
    assert verdict.worst <= (sign * scores - 1 + slacks(model, X, sign)).min() + 1e-9


def test_the_formulation_of_several_parameters_is_a_matrix(data):
    X, y = data
    model = PriorSVC(Trajectories(Shift(0.1 * np.eye(3)))).fit(X, y)
    assert model.formulation().constraints[1:] == [
        ("trajectories.matrix", Trajectories.formulas.latex["matrix"], 80)
    ]


def test_the_formulation_of_several_parameters_on_the_line_has_no_factors(sides):
    model = PriorSVC(Trajectories(SWAYS, span="line")).fit(*sides)
    [(label, latex, rows)] = model.formulation().constraints[1:]
    assert (label, rows) == ("trajectories.matrix_line", 30)
    assert latex == Trajectories.formulas.latex["matrix_line"]
    assert "diag(s)" not in latex
