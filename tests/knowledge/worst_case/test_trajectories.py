"""Trajectories against problems written down here: grids, semidefinite matrices, column generation."""

import itertools
import pickle
import warnings
from dataclasses import replace
from itertools import pairwise, product

import cvxpy as cp
import numpy as np
import pytest
from numpy.polynomial import Polynomial as Poly
from scipy.stats import norm
from sklearn import config_context
from sklearn.base import clone
from sklearn.datasets import make_moons
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV, KFold, cross_validate

from priorsvm import (
    RBF,
    ClassCosts,
    FromFunction,
    Polynomial,
    PriorSVC,
    Reflection,
    Rotation,
    SampleCosts,
    Shift,
    Trajectories,
    UncertainSamples,
    VirtualSamples,
    check_knowledge,
    load_usps,
)
from priorsvm.errors import CoarsePolynomial, InvalidInput, InvalidType, Recompiled, SolverUnsuited
from priorsvm.knowledge.worst_case.base import WorstCase
from priorsvm.sample import Sample
from priorsvm.solve.solvers import installed

pytestmark = pytest.mark.slow  # all of them run in `make test`

TIGHT = {"solver": "CLARABEL", "tol_gap_abs": 1e-11, "tol_gap_rel": 1e-11, "tol_feas": 1e-11}
FINE = {"C": 2.0, "tol": 1e-9}


# ---------------------------------------------------------------------- problems and their own solutions


def paths(degree, line=False, n=24, d=4, seed=0):
    """Rows X, classes y, and polynomials in theta that begin there; on the line their tops point away."""
    rng = np.random.default_rng(seed)
    y = np.tile([0, 1], n // 2)
    X = rng.normal(size=(n, d))
    X[:, 0] += signs(y)
    coefficients = np.zeros((n, degree + 1, d))
    coefficients[:, 0] = X
    for j in range(1, degree + 1):
        coefficients[:, j] = 0.4 / j * rng.normal(size=(n, d))
    if line and degree > 1:
        away = np.concatenate([[1.0], 0.1 * rng.normal(size=d - 1)])
        coefficients[:, -1] = signs(y)[:, None] * rng.uniform(0.1, 0.5, size=(n, 1)) * away
    elif line and degree == 1:  # leaves one direction that does not move
        coefficients[:, 1, 0] = 0.0
    return X, y, coefficients


def signs(y):
    return np.where(y == np.max(y), 1.0, -1.0)


def along(coefficients, thetas):
    """The points of all paths at all thetas, (n, k, d)."""
    powers = np.vander(thetas, coefficients.shape[1], increasing=True)
    return np.einsum("kj,njd->nkd", powers, coefficients)


class Own:
    """The machine without any block: variables, objective, and a list to put constraints into."""

    def __init__(self, y, d, C=2.0, cost=1.0, rho=1.0, norm="l2", loss="hinge", width=1.0):
        n = len(y)
        self.y, self.rho = signs(y), np.broadcast_to(rho, n)
        self.w, self.b, self.xi = cp.Variable(d), cp.Variable(), cp.Variable(n, nonneg=True)
        inner = cp.multiply(np.broadcast_to(width, d), self.w)
        size = 0.5 * cp.sum_squares(inner) if norm == "l2" else cp.norm1(inner)
        paid = self.xi if loss == "hinge" else cp.square(self.xi)
        self.objective = size + C * (np.broadcast_to(cost, n) @ paid)
        self.constraints = []

    def at(self, points, rows=None, part=1.0):
        """Ask for the margins at points: (n, k, d), or (m, d) with the row of each."""
        if rows is None:
            rows, points = np.repeat(np.arange(len(points)), points.shape[1]), np.concatenate(points)
        part = np.broadcast_to(part, len(rows))
        values = (part[:, None] * points) @ self.w + part * self.b
        left = cp.multiply(part, self.rho[rows] - self.xi[rows])
        self.constraints.append(cp.multiply(self.y[rows], values) >= left)
        return self

    def p(self, i, coefficients):
        """The polynomial of row i that must not be negative, as cvxpy expressions."""
        p = [self.y[i] * (x @ self.w) for x in coefficients[i]]
        return [p[0] + self.y[i] * self.b - self.rho[i] + self.xi[i], *p[1:]]

    def solve(self):
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Solution may be inaccurate")  # than 1e-11, that is
            value = cp.Problem(cp.Minimize(self.objective), self.constraints).solve(**TIGHT)
        return float(value), self.w.value, float(self.b.value)


def on_a_grid(coefficients, y, thetas, **machine):
    return Own(y, coefficients.shape[2], **machine).at(along(coefficients, thetas)).solve()


def two_by_two(coefficients, y, **machine):
    """Degree 2 on the line: [[p0, p1/2], [p1/2, p2]] is positive semidefinite, row by row."""
    own = Own(y, coefficients.shape[2], **machine)
    for i in range(len(y)):
        p = own.p(i, coefficients)
        G = cp.Variable((2, 2), PSD=True)
        own.constraints += [G[0, 0] == p[0], 2 * G[0, 1] == p[1], G[1, 1] == p[2]]
    return own.solve()


def three_by_three(coefficients, y, tau, **machine):
    """Degree 2 on [-tau, tau], Nesterov's form: q(t) = (1 + t^2)^2 p(tau (2 t^2 / (1 + t^2) - 1)) >= 0."""
    own = Own(y, coefficients.shape[2], **machine)
    for i in range(len(y)):
        p = own.p(i, coefficients)
        G = cp.Variable((3, 3), PSD=True)
        own.constraints += [
            G[0, 0] == p[0] - tau * p[1] + tau**2 * p[2],
            2 * G[0, 2] + G[1, 1] == 2 * (p[0] - tau**2 * p[2]),
            G[2, 2] == p[0] + tau * p[1] + tau**2 * p[2],
            G[0, 1] == 0,
            G[1, 2] == 0,
        ]
    return own.solve()


def column_generation(coefficients, y, span, rho=1.0, **machine):
    """Add the lowest point of every polynomial, by the roots of its derivative, until none is violated."""
    n, r, d = coefficients.shape[0], coefficients.shape[1] - 1, coefficients.shape[2]
    rows, thetas = list(range(n)), [0.0] * n
    rho = np.broadcast_to(rho, n)
    for _ in range(60):
        own = Own(y, d, rho=rho, **machine)
        if span == "line":
            own.constraints.append(cp.multiply(own.y, coefficients[:, r] @ own.w) >= 0)
        owner, theta = np.array(rows), np.array(thetas)
        points = np.einsum("kj,kjd->kd", np.vander(theta, r + 1, increasing=True), coefficients[owner])
        value, w, b = own.at(points, owner, (1 + theta**2) ** (-r / 2)).solve()
        violated = False
        for i in range(n):
            p = Poly(own.y[i] * (coefficients[i] @ w))
            p.coef[0] += own.y[i] * b - rho[i] + own.xi.value[i]
            critical = [t.real for t in p.deriv().roots() if abs(t.imag) < 1e-9]
            if span != "line":
                critical = [t for t in critical if span[0] < t < span[1]] + list(span)
            lowest = min(critical, key=lambda t: p(t) * (1 + t**2) ** (-r / 2))
            if p(lowest) * (1 + lowest**2) ** (-r / 2) < -1e-9:
                violated = True
                rows.append(i)
                thetas.append(lowest)
        if not violated:
            return value, w, b
    raise AssertionError("column generation did not end")


def fitted(coefficients, X, y, span=(-1.0, 1.0), degree=None, **machine):
    block = Trajectories(degree=degree, span=span, coefficients=coefficients)
    return PriorSVC(block, **{**FINE, **machine}).fit(X, y)


# ---------------------------------------------------------------------- one parameter, linear machine


@pytest.mark.parametrize("span", [(-1.0, 1.0), (0.5, 2.0), "line"], ids=str)
def test_a_path_of_degree_0_is_the_plain_machine(data, span):
    X, y = data
    model = fitted(X[:, None], X, y, span)
    plain = PriorSVC(solver="CLARABEL", **FINE).fit(X, y)
    np.testing.assert_allclose(model.coef_, plain.coef_, atol=1e-9)
    value, w, _ = Own(y, 3).at(X[:, None]).solve()
    assert model.objective_ == pytest.approx(value, rel=1e-10)
    np.testing.assert_allclose(model.coef_[0], w, atol=1e-8)


def test_degree_0_does_not_see_the_moves(data):
    X, y = data
    with pytest.warns(CoarsePolynomial, match="Use degree=2"):
        model = PriorSVC(Trajectories(Shift([0.3, 0.1, 0.0]), degree=0), **FINE).fit(X, y)
    value, _, _ = Own(y, 3).at(X[:, None]).solve()
    assert model.objective_ == pytest.approx(value, rel=1e-10)


def test_degree_1_on_a_span_is_two_points_with_one_slack(data):
    X, y = data
    step = np.array([0.25, -0.5, 0.125])
    model = PriorSVC(Trajectories(Shift(step), degree=1), **FINE).fit(X, y)
    value, w, b = Own(y, 3).at(np.stack([X - step, X + step], axis=1)).solve()
    assert model.objective_ == pytest.approx(value, rel=1e-10)
    np.testing.assert_allclose(model.coef_[0], w, atol=1e-8)
    assert model.intercept_[0] == pytest.approx(b, abs=1e-8)
    copies = PriorSVC(VirtualSamples(Shift(step)), **FINE).fit(X, y)
    assert np.abs(model.coef_ - copies.coef_).max() > 0.01


def test_degree_1_on_the_line_is_the_svm_orthogonal_to_the_tangents():
    X, y, coefficients = paths(1, line=True)
    coefficients[:, 1, 1] = 0.0
    model = fitted(coefficients, X, y, "line")
    own = Own(y, 4).at(X[:, None])
    own.constraints.append(coefficients[:, 1] @ own.w == 0)
    value, w, _ = own.solve()
    assert model.objective_ == pytest.approx(value, rel=1e-10)
    np.testing.assert_allclose(model.coef_[0], w, atol=1e-9)
    assert np.abs(coefficients[:, 1] @ model.coef_[0]).max() < 1e-9
    assert np.abs(w).max() > 0.5


def test_degree_2_on_the_line_is_a_matrix_for_each_row():
    X, y, coefficients = paths(2, line=True)
    model = fitted(coefficients, X, y, "line")
    value, w, _ = two_by_two(coefficients, y)
    assert model.objective_ == pytest.approx(value, rel=1e-9)
    np.testing.assert_allclose(model.coef_[0], w, atol=5e-7)
    assert np.abs(w).max() > 0.3


@pytest.mark.parametrize("tau", [1.0, 1.5])
def test_degree_2_on_a_span_is_nesterovs_matrix_for_each_row(tau):
    X, y, coefficients = paths(2)
    model = fitted(coefficients, X, y, (-tau, tau))
    value, w, _ = three_by_three(coefficients, y, tau)
    assert model.objective_ == pytest.approx(value, rel=1e-9)
    np.testing.assert_allclose(model.coef_[0], w, atol=1e-6)


@pytest.mark.parametrize("span", [(-1.0, 1.0), (0.2, 0.7)], ids=str)
@pytest.mark.parametrize("degree", [2, 4, 6])
def test_a_span_is_a_dense_grid(degree, span):
    X, y, coefficients = paths(degree)
    model = fitted(coefficients, X, y, span)
    grid = (span[0] + span[1]) / 2 + (span[1] - span[0]) / 2 * np.cos(np.linspace(0, np.pi, 401))
    value, w, _ = on_a_grid(coefficients, y, np.append(grid, 0.0))
    assert -1e-9 < model.objective_ / value - 1 < 1e-6
    np.testing.assert_allclose(model.coef_[0], w, atol=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("span", [(-1.0, 1.0), (-0.3, 1.2), "line"], ids=str)
@pytest.mark.parametrize("degree", [2, 4, 6])
def test_a_span_is_column_generation(degree, span):
    X, y, coefficients = paths(degree, line=span == "line")
    model = fitted(coefficients, X, y, span)
    value, w, _ = column_generation(coefficients, y, span)
    assert model.objective_ == pytest.approx(value, rel=1e-8)
    np.testing.assert_allclose(model.coef_[0], w, atol=5e-5)


@pytest.mark.parametrize("degree", [4, 6])
def test_the_line_is_a_dense_grid_out_to_infinity(degree):
    X, y, coefficients = paths(degree, line=True)
    model = fitted(coefficients, X, y, "line")
    thetas = np.tan(np.linspace(-np.pi / 2, np.pi / 2, 803)[1:-1])
    own, k = Own(y, 4), len(thetas)
    own.constraints.append(cp.multiply(own.y, coefficients[:, -1] @ own.w) >= 0)
    points, part = along(coefficients, thetas), np.tile((1 + thetas**2) ** (-degree / 2), len(y))
    value, _, _ = own.at(np.concatenate(points), np.repeat(np.arange(len(y)), k), part).solve()
    assert -1e-9 < model.objective_ / value - 1 < 2e-5


@pytest.mark.slow
@pytest.mark.parametrize("degree", [1, 2, 4])
def test_a_span_that_shrinks_ends_in_the_plain_machine(degree):
    X, y, coefficients = paths(degree)
    plain = PriorSVC(solver="CLARABEL", **FINE).fit(X, y)
    distance = []
    for tau in (1e-1, 1e-3, 1e-6, 1e-9):
        model = fitted(coefficients, X, y, (-tau, tau))
        distance.append(np.abs(model.coef_ - plain.coef_).max())
    assert distance[0] > distance[1] > distance[2]
    assert distance[2] < 1e-6
    assert distance[3] < 5e-9


@pytest.mark.slow
@pytest.mark.parametrize(("degree", "taus"), [(2, (0.5, 1, 2, 4, 8)), (4, (0.5, 1, 1.5, 2.5))], ids=str)
def test_a_span_that_grows_ends_in_the_line(degree, taus):
    X, y, coefficients = paths(degree, line=True)
    line = fitted(coefficients, X, y, "line")
    spans = [fitted(coefficients, X, y, (-tau, tau)) for tau in taus]
    values = [model.objective_ for model in spans]
    assert (np.diff(values) > -1e-8).all()
    assert values[0] < 0.99 * line.objective_
    assert values[-1] == pytest.approx(line.objective_, rel=1e-9)
    np.testing.assert_allclose(spans[-1].coef_, line.coef_, atol=1e-5)


# ---------------------------------------------------------------------- where the margin was won


def expansion(model, y, width=1.0, shift=0.0, name="trajectories"):
    """sum a y x over the worst points, in the machine's units; those at infinity are directions."""
    worst = model.findings_[name]
    far = np.isinf(worst.thetas).reshape(len(worst.rows), -1).any(axis=1)
    points = (worst.points - np.where(far[:, None], 0.0, shift)) / width
    return (worst.weights * signs(y)[worst.rows]) @ points


@pytest.mark.parametrize("span", ["span", "line"])
@pytest.mark.parametrize("degree", [1, 2, 4, 6])
def test_w_is_the_sum_of_the_worst_points(degree, span):
    X, y, coefficients = paths(degree, line=span == "line")
    model = fitted(coefficients, X, y, "line" if span == "line" else (-1.0, 1.0))
    np.testing.assert_allclose(expansion(model, y), model.coef_[0], atol=1e-8)


@pytest.mark.parametrize(("span", "scale"), [("span", "standard"), ("line", "standard"), ("span", "minmax")])
@pytest.mark.parametrize("degree", [1, 2, 4])
def test_w_is_the_sum_of_the_worst_points_in_the_machines_units(degree, span, scale):
    X, y, coefficients = paths(degree, line=span == "line")
    units, origin = np.array([1.0, 20.0, 0.1, 3.0]), np.array([5.0, -2.0, 0.0, 1.0])
    X, coefficients = X * units + origin, coefficients * units
    coefficients[:, 0] = X
    model = fitted(coefficients, X, y, "line" if span == "line" else (-1.0, 1.0), scale=scale)
    shift, width = (
        (X.mean(axis=0), X.std(axis=0)) if scale == "standard" else (X.min(axis=0), np.ptp(X, axis=0))
    )
    np.testing.assert_allclose(expansion(model, y, width, shift), model.coef_[0] * width, atol=1e-8)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_row_that_holds_f_still_from_far_away_is_not_lost(seed):
    X, y, coefficients = paths(1, line=True, seed=seed)
    model = fitted(coefficients, X, y, "line", C=0.3)
    np.testing.assert_allclose(expansion(model, y), model.coef_[0], atol=1e-8)


@pytest.mark.parametrize("span", ["span", "line"])
@pytest.mark.parametrize("degree", [1, 2, 4, 6])
def test_support_trajectories_touch_the_margin_at_their_worst_points(degree, span):
    X, y, coefficients = paths(degree, line=span == "line")
    model = fitted(coefficients, X, y, "line" if span == "line" else (-1.0, 1.0))
    w, b, worst = model.coef_[0], model.intercept_[0], model.findings_["trajectories"]
    thetas = np.linspace(-1, 1, 4001) if span == "span" else np.tan(np.linspace(-1.57, 1.57, 40001))
    lowest = (signs(y)[:, None] * (along(coefficients, thetas) @ w + b)).min(axis=1)
    finite = worst.support & np.isfinite(worst.thetas)
    rows, y_f = worst.rows[finite], signs(y)[worst.rows] * (worst.points @ w + b)
    np.testing.assert_allclose(y_f[finite], lowest[rows], atol=2e-7)
    assert (y_f[finite] < 1 + 1e-6).all()
    assert (lowest[np.setdiff1d(np.arange(len(y)), worst.rows[worst.support])] > 1 - 1e-6).all()
    np.testing.assert_allclose(
        worst.points[finite],
        [along(coefficients[i : i + 1], [t])[0, 0] for i, t in zip(rows, worst.thetas[finite], strict=True)],
        atol=1e-5,
    )


# ---------------------------------------------------------------------- where the polynomial comes from


def turn(X, angle):
    """Rows of (a, b) turned about the origin; further columns stay."""
    c, s = np.cos(angle), np.sin(angle)
    return np.column_stack([c * X[:, 0] - s * X[:, 1], s * X[:, 0] + c * X[:, 1], X[:, 2:]])


def derivatives(X, degree):
    """The analytic Taylor coefficients of the rotation about 0."""
    found, factorial = [X], 1.0
    for j in range(1, degree + 1):
        factorial *= j
        moving = turn(X, j * np.pi / 2) / factorial
        moving[:, 2:] = 0.0
        found.append(moving)
    return np.stack(found, axis=1)


@pytest.fixture(scope="module")
def ring():
    """Two classes at different distances from the origin, for rotations: 60 rows of 3 columns."""
    rng = np.random.default_rng(4)
    y = np.tile([0, 1], 30)
    X = 0.5 * rng.normal(size=(60, 3))
    X[:, 0] += 2.5 + signs(y)
    return X, y


def by_differences(X, y, degree):
    block = Trajectories(FromFunction(turn, [-0.5, 0.5]), degree=degree, coefficients="taylor")
    return block.start(Sample.training(X, y, np.array([0, 1]), 1)).coefficients


@pytest.mark.parametrize(("degree", "atol"), [(1, 1e-11), (2, 1e-8), (4, 1e-4)])
def test_taylor_coefficients_are_the_derivatives(ring, degree, atol):
    X, y = ring
    found = by_differences(X, y, degree)
    np.testing.assert_array_equal(found[:, 0], X)
    np.testing.assert_allclose(found, derivatives(X, degree), atol=atol)


def test_taylor_polynomials_come_closer_with_the_degree(ring):
    X, y = ring
    thetas = np.linspace(-0.5, 0.5, 11)
    true = np.stack([turn(X, theta) for theta in thetas], axis=1)
    apart = [np.abs(true - along(by_differences(X, y, degree), thetas)).max() for degree in (1, 2, 4, 6)]
    left_out = [np.abs(true - along(derivatives(X, degree), thetas)).max() for degree in (1, 2, 4, 6)]
    np.testing.assert_allclose(apart[:3], left_out[:3], rtol=1e-3)
    assert apart[3] < 1.5 * left_out[3]


@pytest.mark.parametrize("degree", [1, 2, 4])
@pytest.mark.parametrize("span", ["transform", (-0.2, 0.4)], ids=str)
def test_taylor_is_the_polynomial_path(ring, degree, span):
    X, y = ring
    turns = FromFunction(turn, [-0.3, 0.3])
    block = Trajectories(turns, degree=degree, span=span, coefficients="taylor")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CoarsePolynomial)
        model = PriorSVC(block, **FINE).fit(X, y)
    exact = fitted(derivatives(X, degree), X, y, (-0.3, 0.3) if span == "transform" else span)
    assert model.objective_ == pytest.approx(exact.objective_, rel=1e-6)
    np.testing.assert_allclose(model.coef_, exact.coef_, atol=2e-6)


@pytest.mark.parametrize("scale", [None, "standard"])
def test_errors_and_worst_points_of_images_are_those_of_every_image_moved(scale, monkeypatch):
    """A linear f is pulled back through the moves instead, some places at a time."""
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(30, 20))
    y = (X[:, :10].sum(axis=1) > X[:, 10:].sum(axis=1)).astype(int)
    turn = Rotation((4, 5), degrees=25, fill=0.3)
    monkeypatch.setattr("priorsvm.knowledge.worst_case.trajectories.BLOCK", 200)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CoarsePolynomial)
        model = PriorSVC(Trajectories(turn, degree=2), scale=scale).fit(X, y)
    u = np.linspace(-1, 1, 201)
    moved = np.stack([model.decision_function(turn.apply(X, 25 * t)) for t in u], axis=1)
    at_nodes = moved[:, [0, 100, 200]]
    polynomial = at_nodes @ np.stack([u * (u - 1) / 2, 1 - u**2, u * (u + 1) / 2])
    errors = np.abs(moved - polynomial).max(axis=1)
    assert errors.max() > 0.01
    np.testing.assert_allclose(model.findings_["trajectories"].errors, errors, atol=1e-11)
    machine = model._machines[0]
    context = machine.context("trajectories", machine.sample)
    found = machine.verdict("trajectories", machine.members[0].block, machine.sample)
    places = np.linspace(-1, 1, 1001)
    places = (places[1:] + places[:-1]) / 2
    moved = np.stack([model.decision_function(turn.apply(X, 25 * t)) for t in places], axis=1)
    excess = signs(y)[:, None] * moved - (1 - context.slack)[:, None]
    assert found.worst == pytest.approx(excess.min(), abs=1e-10)
    i, k = np.unravel_index(excess.argmin(), excess.shape)
    np.testing.assert_allclose(found.where, turn.apply(X[i : i + 1], 25 * places[k])[0], atol=1e-10)
    assert found.violated == np.sum(excess < -0.01)


def test_errors_of_a_taylor_polynomial_are_those_against_the_true_path(ring):
    X, y = ring
    block = Trajectories(FromFunction(turn, [-0.8, 0.8]), degree=2, coefficients="taylor")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CoarsePolynomial)
        model = PriorSVC(block).fit(X, y)
    thetas, path = np.linspace(-0.8, 0.8, 201), derivatives(X, 2)
    moved = np.stack([turn(X, theta) for theta in thetas], axis=1)
    errors = np.abs((moved - along(path, thetas)) @ model.coef_[0]).max(axis=1)
    np.testing.assert_allclose(model.findings_["trajectories"].errors, errors, atol=1e-6)
    assert errors.max() > 0.01


@pytest.mark.slow
def test_interpolation_is_the_polynomial_through_both_ends_and_the_middle(ring):
    X, y = ring[0][:24], ring[1][:24]
    model = PriorSVC(Trajectories(FromFunction(turn, [-0.6, 0.6])), **FINE).fit(X, y)
    low, high = turn(X, -0.6), turn(X, 0.6)
    path = np.stack([X, (high - low) / 2, (high + low) / 2 - X], axis=1)
    value, w, _ = three_by_three(path, y, 1.0)
    assert model.objective_ == pytest.approx(value, rel=1e-9)
    np.testing.assert_allclose(model.coef_[0], w, atol=1e-6)


def test_a_span_of_ones_own_is_interpolated_at_its_own_nodes(ring):
    X, y = ring
    model = PriorSVC(Trajectories(FromFunction(turn, [-0.6, 0.6]), span=(0.1, 0.5)), **FINE).fit(X, y)
    low, middle, high = (turn(X, theta) for theta in (0.1, 0.3, 0.5))
    path = np.stack([middle, (high - low) / 2, (high + low) / 2 - middle], axis=1)
    points = np.concatenate([X[:, None], along(path, np.linspace(-1, 1, 401))], axis=1)  # and the row itself
    value, _, _ = Own(y, 3).at(points).solve()
    assert model.objective_ == pytest.approx(value, rel=1e-6)


def test_one_sided_transforms_have_one_sided_spans(ring):
    X, y = ring
    model = PriorSVC(Trajectories(FromFunction(turn, [0.6])), **FINE).fit(X, y)
    given = PriorSVC(Trajectories(FromFunction(turn, [-0.6, 0.6]), span=(0.0, 0.6)), **FINE).fit(X, y)
    assert model.objective_ == pytest.approx(given.objective_, rel=1e-12)
    assert (model.findings_["trajectories"].thetas >= -1e-12).all()
    assert (model.findings_["trajectories"].thetas <= 0.6 + 1e-12).all()


def test_on_the_line_the_polynomial_of_the_transforms_range_goes_on(ring):
    X, y = ring[0][:24], ring[1][:24]
    X = X.copy()
    X[:, 2] = 2 * signs(y)
    low, high = turn(X, -0.6), turn(X, 0.6)
    path = np.stack([X, (high - low) / 1.2, ((high + low) / 2 - X) / 0.36], axis=1)
    value, w, _ = two_by_two(path, y)
    model = PriorSVC(Trajectories(FromFunction(turn, [-0.6, 0.6]), span="line"), **FINE).fit(X, y)
    assert model.objective_ == pytest.approx(value, rel=1e-8)
    np.testing.assert_allclose(model.coef_[0], w, atol=1e-5)


@pytest.mark.slow
def test_coefficients_as_array_as_function_and_to_fit_are_the_same():
    X, y, coefficients = paths(2)
    as_array = fitted(coefficients, X, y)
    as_function = fitted(lambda rows, labels: coefficients[: len(rows)], X, y)
    to_fit = PriorSVC(Trajectories(span=(-1, 1)), **FINE).fit(X, y, trajectories__coefficients=coefficients)
    as_list = fitted(coefficients.tolist(), X, y)
    for other in (as_function, to_fit, as_list):
        np.testing.assert_array_equal(other.coef_, as_array.coef_)
    named = PriorSVC(Trajectories(span=(-1, 1)).named("curves"), **FINE)
    np.testing.assert_array_equal(named.fit(X, y, curves__coefficients=coefficients).coef_, as_array.coef_)


def test_a_function_of_rows_and_classes_gets_both(data):
    X, y = data
    seen = []

    def straight(rows, labels):
        seen.append((rows, labels))
        return np.stack([rows, np.where(labels == 1, 0.2, 0.1)[:, None] * np.ones_like(rows)], axis=1)

    model = fitted(straight, X, y)
    np.testing.assert_array_equal(seen[0][0], X)
    np.testing.assert_array_equal(seen[0][1], y)
    value, _, _ = on_a_grid(straight(X, y), y, [-1.0, 1.0])
    assert model.objective_ == pytest.approx(value, rel=1e-9)


def test_the_degree_of_given_coefficients_is_theirs_made_even():
    X, y, coefficients = paths(3)
    model = fitted(coefficients, X, y)
    assert set(model._machines[0].duals) == {
        "svm.margin",
        "trajectories.squares",
        "trajectories.sigma_0",
        "trajectories.sigma_1",
    }
    value, _, _ = column_generation(coefficients, y, (-1.0, 1.0))
    assert model.objective_ == pytest.approx(value, rel=1e-8)
    np.testing.assert_allclose(model.findings_["trajectories"].errors, 0.0, atol=1e-12)


@pytest.mark.slow
def test_a_lower_degree_than_that_of_the_coefficients_interpolates_them():
    X, y, coefficients = paths(4)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CoarsePolynomial)
        model = fitted(coefficients, X, y, degree=2)
    low, middle, high = along(coefficients, [-1.0, 0.0, 1.0]).swapaxes(0, 1)
    value, _, _ = three_by_three(
        np.stack([middle, (high - low) / 2, (high + low) / 2 - middle], axis=1), y, 1.0
    )
    assert model.objective_ == pytest.approx(value, rel=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("routing", [False, True], ids=["plain", "metadata routing"])
def test_coefficients_are_split_along_with_the_rows(routing):
    X, y, coefficients = paths(2, n=40)
    folds = KFold(2)
    with config_context(enable_metadata_routing=routing):
        result = cross_validate(
            PriorSVC(Trajectories(span=(-1, 1)), C=2.0),
            X,
            y,
            cv=folds,
            params={"trajectories__coefficients": coefficients},
            return_estimator=True,
            error_score="raise",
        )
    for model, (train, _) in zip(result["estimator"], folds.split(X), strict=True):
        alone = PriorSVC(Trajectories(span=(-1, 1), coefficients=coefficients[train]), C=2.0)
        np.testing.assert_array_equal(model.coef_, alone.fit(X[train], y[train]).coef_)


@pytest.mark.slow
def test_a_search_over_degrees_splits_coefficients():
    X, y, coefficients = paths(2, n=40)
    coefficients[:, 2] /= 50
    grid = {"prior__trajectories__degree": [1, 2], "C": [0.5, 2.0]}
    search = GridSearchCV(PriorSVC(Trajectories(span=(-1, 1))), grid, cv=2, error_score="raise")
    search.fit(X, y, trajectories__coefficients=coefficients)
    assert set(search.best_params_) == set(grid)
    best = search.best_estimator_
    alone = clone(best).fit(X, y, trajectories__coefficients=coefficients)
    np.testing.assert_array_equal(best.coef_, alone.coef_)


@pytest.mark.slow
def test_a_search_over_degrees_of_a_transform(ring):
    X, y = ring
    model = PriorSVC(Trajectories(FromFunction(turn, [-0.3, 0.3])))
    search = GridSearchCV(model, {"prior__trajectories__degree": [2, 4]}, cv=2, error_score="raise").fit(X, y)
    assert search.best_estimator_.verify().holds


def test_rank_one_uncertainty_is_a_straight_trajectory(data):
    X, y = data
    rng = np.random.default_rng(3)
    directions = 0.3 * rng.normal(size=(80, 3))
    radius = norm.ppf(0.9)
    uncertain = PriorSVC(UncertainSamples(factor=directions[:, :, None]), **FINE).fit(X, y)
    curves = fitted(np.stack([X, radius * directions], axis=1), X, y)
    assert uncertain.objective_ == pytest.approx(curves.objective_, rel=1e-10)
    np.testing.assert_allclose(uncertain.coef_, curves.coef_, atol=1e-7)
    common = PriorSVC(UncertainSamples(np.outer(directions[0], directions[0])), **FINE).fit(X, y)
    shift = PriorSVC(Trajectories(Shift(radius * directions[0]), degree=1), **FINE).fit(X, y)
    assert common.objective_ == pytest.approx(shift.objective_, rel=1e-10)
    np.testing.assert_allclose(common.coef_, shift.coef_, atol=1e-7)
    assert np.abs(common.coef_ - uncertain.coef_).max() > 0.01


# ---------------------------------------------------------------------- other machines, other rows


@pytest.mark.slow
@pytest.mark.parametrize("degree", [1, 2, 4])
@pytest.mark.parametrize(
    "machine",
    [{"norm": "l1"}, {"loss": "squared_hinge"}, {"C": 0.1}],
    ids=str,
)
def test_every_linear_machine(degree, machine):
    X, y, coefficients = paths(degree)
    model = fitted(coefficients, X, y, **machine)
    value, _, _ = column_generation(coefficients, y, (-1.0, 1.0), **machine)
    assert model.objective_ == pytest.approx(value, rel=1e-9)


@pytest.mark.parametrize("degree", [1, 2, 4])
def test_costs_and_margins_of_rows(degree):
    X, y, coefficients = paths(degree)
    weight, costs = np.linspace(0.2, 2.0, 24), np.linspace(3.0, 0.5, 24)
    margins = np.linspace(0.3, 1.4, 24)
    prior = Trajectories(span=(-1, 1), coefficients=coefficients) + SampleCosts(costs, margins)
    model = PriorSVC(prior + ClassCosts({1: 3.0}), **FINE).fit(X, y, sample_weight=weight)
    cost = weight * costs * np.where(y == 1, 3.0, 1.0)
    value, w, _ = column_generation(coefficients, y, (-1.0, 1.0), rho=margins, cost=cost)
    assert model.objective_ == pytest.approx(value, rel=1e-9)
    np.testing.assert_allclose(model.coef_[0], w, atol=5e-5)


def test_rows_without_weight_do_not_move():
    X, y, coefficients = paths(2)
    weight = np.where(np.arange(24) < 20, 1.0, 0.0)
    coefficients[20:, 1:] *= 100
    block = Trajectories(span=(-1, 1), coefficients=coefficients)
    model = PriorSVC(block, **FINE).fit(X, y, sample_weight=weight)
    value, w, _ = three_by_three(coefficients[:20], y[:20], 1.0)
    assert model.objective_ == pytest.approx(value, rel=1e-9)
    np.testing.assert_allclose(model.coef_[0], w, atol=1e-6)
    found = model.findings_["trajectories"]
    assert np.isnan(found.errors[20:]).all()
    assert np.isfinite(found.errors[:20]).all()
    assert found.rows.max() < 20
    assert model.verify()["trajectories"].asked.count("20 trajectories")


def test_rows_of_other_blocks_do_not_move(data):
    X, y = data
    step = np.array([0.25, 0.0, -0.125])
    both = Trajectories(Shift(step), degree=1) + VirtualSamples(Shift(4 * step), cost=0.3)
    model = PriorSVC(both, **FINE).fit(X, y)
    own = Own(y, 3).at(np.stack([X, X - step, X + step], axis=1))
    extra = cp.Variable(160, nonneg=True)
    copies = np.vstack([X - 4 * step, X + 4 * step])
    own.constraints.append(cp.multiply(np.tile(own.y, 2), copies @ own.w + own.b) >= 1 - extra)
    own.objective = own.objective + 2.0 * 0.3 * cp.sum(extra)
    value, w, _ = own.solve()
    assert model.objective_ == pytest.approx(value, rel=1e-9)
    np.testing.assert_allclose(model.coef_[0], w, atol=1e-6)


@pytest.mark.parametrize("scale", ["standard", "minmax"])
@pytest.mark.parametrize("degree", [1, 2, 4])
def test_moves_are_in_the_users_units(degree, scale):
    X, y, coefficients = paths(degree)
    units, origin = np.array([1.0, 20.0, 0.1, 3.0]), np.array([5.0, -2.0, 0.0, 1.0])
    X, coefficients = X * units + origin, coefficients * units
    coefficients[:, 0] = X
    model = fitted(coefficients, X, y, scale=scale)
    width = X.std(axis=0) if scale == "standard" else np.ptp(X, axis=0)
    value, w, _ = column_generation(coefficients, y, (-1.0, 1.0), width=width)
    assert model.objective_ == pytest.approx(value, rel=1e-8)
    np.testing.assert_allclose(model.coef_[0] * width, w * width, atol=5e-5)


@pytest.mark.slow
def test_three_classes_are_three_machines(three):
    X, y = three[0][::2], three[1][::2]
    model = PriorSVC(Trajectories(FromFunction(turn, [-0.1, 0.1])), **FINE).fit(X, y)
    low, high = turn(X, -0.1), turn(X, 0.1)
    path = np.stack([X, (high - low) / 2, (high + low) / 2 - X], axis=1)
    for k, name in enumerate("abc"):
        value, w, _ = three_by_three(path, (y == name).astype(int), 1.0)
        assert model.objective_[k] == pytest.approx(value, rel=1e-8)
        np.testing.assert_allclose(model.coef_[k], w, atol=1e-5)
        worst = model.findings_[k]["trajectories"]
        sign = np.where(y[worst.rows] == name, 1.0, -1.0)
        np.testing.assert_allclose((worst.weights * sign) @ worst.points, model.coef_[k], atol=1e-8)


# ---------------------------------------------------------------------- several parameters


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


@pytest.mark.slow
def test_a_quadratic_of_two_parameters_anywhere_is_one_matrix(sides):
    X, y = sides
    model = PriorSVC(Trajectories(SWAYS, span="line"), **FINE).fit(X, y)
    value, w, _ = matrices(X, y)
    assert model.objective_ == pytest.approx(value, rel=1e-10)
    np.testing.assert_allclose(model.coef_[0], w, atol=1e-6)
    assert np.abs(w).max() > 0.3


def test_a_quadratic_of_two_parameters_on_a_box_is_one_matrix_and_two_prices(sides):
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
    slack = model._machines[0].slack(model._machines[0].sample)
    assert (y_f.min(axis=1) > 1 - slack - 1e-8).all()
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
    """The multipliers have rank one here. On a box they need not have, and then no points say it all."""
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
    slack = model._machines[0].slack(model._machines[0].sample)[worst.rows]
    alone = np.bincount(worst.rows[worst.support], minlength=30)[worst.rows] == 1
    np.testing.assert_allclose((y_f - 1 + slack)[corners & alone], 0.0, atol=1e-6)


def test_degree_0_of_two_parameters_is_the_plain_machine(data):
    X, y = data
    with pytest.warns(CoarsePolynomial, match="a narrower span"):
        model = PriorSVC(Trajectories(Shift(0.2 * np.eye(3)), degree=0), **FINE).fit(X, y)
    value, _, _ = Own(y, 3).at(X[:, None]).solve()
    assert model.objective_ == pytest.approx(value, rel=1e-10)


# ---------------------------------------------------------------------- kernel machines


def polynomial_features(points, gamma, coef0):
    """The features of (gamma x'z + c)^2 in the plane."""
    a, b = points[..., 0], points[..., 1]
    first = np.sqrt(2 * gamma * coef0)
    squared = [gamma * a * a, gamma * b * b, np.sqrt(2) * gamma * a * b]
    return np.stack([*squared, first * a, first * b, coef0 + 0 * a], axis=-1)


@pytest.mark.slow
def test_a_shift_under_a_quadratic_kernel_is_a_quadratic_trajectory(moons):
    X, y = moons
    step, kernel = np.array([0.2, 0.6]), Polynomial(degree=2, gamma=0.7, coef0=1.0)
    model = PriorSVC(Trajectories(Shift(step), degree=2), kernel=kernel, **FINE).fit(X, y)
    points = X[:, None] + np.linspace(-1, 1, 401)[:, None] * step
    value, w, b = Own(y, 6).at(polynomial_features(points, 0.7, 1.0)).solve()
    assert -1e-9 < model.objective_ / value - 1 < 1e-8
    worst = model.findings_["trajectories"]
    np.testing.assert_allclose(worst.errors, 0.0, atol=1e-12)
    assert np.sum(worst.support & (np.abs(worst.thetas) < 0.9) & (worst.thetas != 0)) > 3
    Z = np.random.default_rng(0).normal(size=(30, 2))
    own = polynomial_features(Z, 0.7, 1.0) @ w + b
    np.testing.assert_allclose(model.decision_function(Z), own, atol=1e-6)


@pytest.fixture(scope="module")
def moons():
    """Two half moons about the origin, 60 rows in the plane."""
    X, y = make_moons(60, noise=0.2, random_state=0)
    return X - X.mean(axis=0), y


TURNS = FromFunction(turn, [-0.5, 0.5])


def lagrange(nodes, u):
    """The polynomials that are 1 at one node and 0 at the others, (k, m)."""
    return np.array(
        [np.prod([(u - z) / (x - z) for z in nodes if z != x], axis=0) * np.ones_like(u) for x in nodes]
    ).T


@pytest.mark.slow
@pytest.mark.parametrize(
    ("degree", "machine"),
    [(1, {}), (2, {}), (4, {}), (2, {"norm": "l1"}), (4, {"norm": "l1"}), (2, {"loss": "squared_hinge"})],
    ids=str,
)
def test_a_kernel_machine_is_a_grid_on_its_polynomials(moons, degree, machine):
    X, y = moons[0][:24], moons[1][:24]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CoarsePolynomial)
        block = Trajectories(TURNS, degree=degree)
        model = PriorSVC(block, kernel=RBF(gamma=2.0), C=1.0, tol=1e-9, **machine).fit(X, y)
    nodes = -np.cos(np.pi * np.arange(degree + 1) / degree)
    moved = np.stack([turn(X, 0.5 * u) for u in nodes], axis=1)
    points = np.concatenate([X[:, None], moved], axis=1)
    centres = X if "norm" in machine else points.reshape(-1, 2)
    K = rbf_kernel(points.reshape(-1, 2), centres, gamma=2.0)
    if "norm" not in machine:  # coordinates in which the norm of f is that of its coefficients
        size, vectors = np.linalg.eigh(K)
        kept = size > 1e-12
        K = vectors[:, kept] * np.sqrt(size[kept])
    features = K.reshape(len(y), degree + 2, -1)
    u = np.cos(np.linspace(0, np.pi, 40)) if degree > 1 else np.array([-1.0, 1.0])
    on_curve = np.einsum("km,nmd->nkd", lagrange(nodes, u), features[:, 1:])
    own = Own(y, K.shape[1], C=1.0, **machine).at(np.concatenate([features[:, :1], on_curve], axis=1))
    value, _, _ = own.solve()
    assert -1e-8 < model.objective_ / value - 1 < 2e-5


def others(limit):
    """Ten thousand angles, none of them among the 201 that the library looks at."""
    return np.random.default_rng(0).uniform(-limit, limit, 10_000)


def falls_short(model, X, y, limit):
    """By how much the margins are missed at most, and by how much f and its polynomial differ there."""
    machine = model._machines[0]
    slack, u = machine.slack(machine.sample), others(1.0)
    nodes = -np.cos(np.pi * np.arange(5) / 4)
    at_nodes = np.array([model.decision_function(turn(X, limit * z)) for z in nodes])
    worst = apart = -np.inf
    for part in np.split(u, 100):
        f = model.decision_function(np.concatenate([turn(X, limit * t) for t in part])).reshape(100, -1)
        worst = max(worst, float((1 - slack - signs(y) * f).max()))
        apart = max(apart, float(np.abs(f - lagrange(nodes, part) @ at_nodes).max()))
    return worst, apart


@pytest.mark.slow
@pytest.mark.parametrize(("gamma", "C", "limit"), [(2.0, 1.0, 0.5), (2.0, 10.0, 0.3)], ids=str)
def test_margins_hold_between_the_angles_to_the_reported_error(moons, gamma, C, limit):
    X, y = moons
    block = Trajectories(FromFunction(turn, [-limit, limit]))
    model = PriorSVC(block, kernel=RBF(gamma=gamma), C=C).fit(X, y)
    reported = model.findings_["trajectories"].errors.max()
    worst, apart = falls_short(model, X, y, limit)
    assert worst <= 1.2 * reported
    assert worst <= 0.02
    assert apart <= 1.2 * reported
    assert reported <= 0.02
    # It is not the plain machine that holds by itself, and it has learnt something.
    plain = PriorSVC(kernel=RBF(gamma=gamma), C=C).fit(X, y)
    missed = 1 - plain._machines[0].slack(plain._machines[0].sample)
    assert (missed - signs(y) * plain.decision_function(turn(X, limit))).max() > 0.3
    assert model.score(X, y) > 0.9
    assert np.ptp(model.decision_function(X)) > 2


@pytest.mark.slow
def test_the_error_falls_with_the_degree(moons):
    X, y = moons[0][:40], moons[1][:40]
    errors = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CoarsePolynomial)
        for degree in (2, 4, 6, 8):
            model = PriorSVC(Trajectories(TURNS, degree=degree), kernel=RBF(gamma=1.0), C=10.0).fit(X, y)
            errors.append(model.findings_["trajectories"].errors.max())
    assert errors[0] < 0.25
    for coarse, fine in pairwise(errors):
        assert fine < 0.12 * coarse


def test_the_default_degree_is_2_on_linear_and_4_on_kernel_machines(moons):
    X, y = moons
    linear = PriorSVC(Trajectories(TURNS)).fit(X, y)
    assert [label for label, _, _ in linear.formulation().constraints] == ["svm.margin", "trajectories.cone"]
    kernel = PriorSVC(Trajectories(TURNS), kernel=RBF(gamma=1.0)).fit(X, y)
    four = PriorSVC(Trajectories(TURNS, degree=4), kernel=RBF(gamma=1.0)).fit(X, y)
    np.testing.assert_array_equal(kernel.decision_function(X), four.decision_function(X))
    assert "trajectories.sigma_1" in kernel._machines[0].duals
    both = PriorSVC(Trajectories(Shift(0.1 * np.eye(2))), kernel=RBF(gamma=1.0)).fit(X, y)
    assert set(both._machines[0].duals) == {"svm.margin", "trajectories.matrix"}


def test_worst_points_of_a_kernel_machine_are_on_the_true_curve(moons):
    X, y = moons
    model = PriorSVC(Trajectories(TURNS), kernel=RBF(gamma=1.0), **FINE).fit(X, y)
    worst = model.findings_["trajectories"]
    moved = [turn(X[i : i + 1], theta)[0] for i, theta in zip(worst.rows, worst.thetas, strict=True)]
    np.testing.assert_allclose(worst.points, moved, atol=1e-5)
    machine = model._machines[0]
    slack = machine.slack(machine.sample)[worst.rows]
    excess = signs(y)[worst.rows] * model.decision_function(worst.points) - 1 + slack
    assert np.abs(excess[worst.support]).max() < 1.2 * worst.errors.max()


@pytest.mark.data
@pytest.mark.parametrize(
    ("digits", "degree", "measured"),
    [((3, 8), 2, 0.26), ((3, 8), 4, 0.08), ((4, 9), 2, 0.81), ((4, 9), 4, 0.33)],
    ids=str,
)
def test_errors_on_real_images_are_of_the_known_size(digits, degree, measured):
    usps = load_usps()
    rows = np.concatenate([np.flatnonzero(usps.y_train == digit)[:10] for digit in digits])
    X, y = usps.X_train[rows], usps.y_train[rows]
    turns = Rotation((16, 16), 20, fill=usps.background)
    with pytest.warns(CoarsePolynomial):
        model = PriorSVC(Trajectories(turns, degree=degree), kernel=RBF(gamma=0.01), C=10.0).fit(X, y)
    errors = model.findings_["trajectories"].errors
    assert measured / 2 < errors.max() < 2 * measured
    nodes, u = -np.cos(np.pi * np.arange(degree + 1) / degree), np.linspace(-1, 1, 201)
    at_nodes = np.array([model.decision_function(turns.apply(X, 20 * z)) for z in nodes])
    true = np.array([model.decision_function(turns.apply(X, 20 * t)) for t in u])
    np.testing.assert_allclose(errors, np.abs(true - lagrange(nodes, u) @ at_nodes).max(axis=0), atol=1e-9)


# ---------------------------------------------------------------------- solvers


@pytest.mark.parametrize(
    ("solver", "rtol", "atol", "apart"),
    [("ECOS", 1e-8, 1e-5, 1e-4), ("QOCO", 1e-8, 1e-5, 1e-7), ("SCS", 1e-6, 1e-4, 1e-5)],
    ids=["ECOS", "QOCO", "SCS"],
)
@pytest.mark.parametrize("span", ["span", "line"])
@pytest.mark.parametrize("degree", [1, 2, 4])
def test_solvers_agree_with_clarabel(degree, span, solver, rtol, atol, apart):
    """In the answer, and in multipliers whose signs and sums are the same."""
    if solver not in installed():
        pytest.skip(f"{solver} is not installed")
    X, y, coefficients = paths(degree, line=span == "line")
    span = "line" if span == "line" else (-1.0, 1.0)
    if degree == 4 and solver in ("ECOS", "QOCO"):
        with pytest.raises(SolverUnsuited, match="'trajectories' adds semidefinite cones"):
            fitted(coefficients, X, y, span, solver=solver)
        return
    reference = fitted(coefficients, X, y, span, solver="CLARABEL")
    model = PriorSVC(Trajectories(span=span, coefficients=coefficients), C=2.0, solver=solver).fit(X, y)
    assert model.solver_ == solver
    assert model.objective_ == pytest.approx(reference.objective_, rel=rtol)
    np.testing.assert_allclose(model.coef_, reference.coef_, atol=atol)
    if span != "line":
        np.testing.assert_allclose(expansion(model, y), model.coef_[0], atol=apart)


# ---------------------------------------------------------------------- what is told afterwards


def test_a_coarse_polynomial_is_named_with_row_and_degree(moons):
    X, y = moons
    with pytest.warns(CoarsePolynomial) as caught:
        model = PriorSVC(Trajectories(TURNS, degree=2).named("turns"), kernel=RBF(gamma=1.0), C=10).fit(X, y)
    [warning] = caught
    errors = model.findings_["turns"].errors
    assert str(warning.message).startswith(
        f"block 'turns': along the trajectory of row {errors.argmax()} f is up to {errors.max():.2g} away "
    )
    assert "Use degree=4, a narrower span" in str(warning.message)
    assert errors.max() > 0.1


@pytest.mark.parametrize(("degree", "higher"), [(0, 2), (1, 2), (2, 4), (4, 6)])
def test_the_degree_advised_is_the_next_one(moons, degree, higher):
    X, y = moons
    with pytest.warns(CoarsePolynomial, match=f"Use degree={higher},"):
        PriorSVC(Trajectories(FromFunction(turn, [-1.2, 1.2]), degree=degree), kernel=RBF(gamma=2.0)).fit(
            X, y
        )


@pytest.mark.slow
def test_errors_are_those_at_201_angles(moons):
    X, y = moons
    for kernel, degree in ((RBF(gamma=1.0), 4), ("linear", 2)):
        model = PriorSVC(Trajectories(TURNS), kernel=kernel).fit(X, y)
        nodes, u = -np.cos(np.pi * np.arange(degree + 1) / degree), np.linspace(-1, 1, 201)
        at_nodes = np.array([model.decision_function(turn(X, 0.5 * z)) for z in nodes])
        true = np.array([model.decision_function(turn(X, 0.5 * t)) for t in u])
        errors = np.abs(true - lagrange(nodes, u) @ at_nodes).max(axis=0)
        np.testing.assert_allclose(model.findings_["trajectories"].errors, errors, atol=1e-12)
        assert errors.max() > 1e-4


def test_findings_have_one_entry_for_each_worst_point(ring):
    X, y = ring
    model = PriorSVC(Trajectories(FromFunction(turn, [-0.3, 0.3])), **FINE).fit(X, y)
    worst = model.findings_["trajectories"]
    assert isinstance(worst, WorstCase)
    m = len(worst.rows)
    assert worst.points.shape == (m, 3)
    assert worst.weights.shape == worst.thetas.shape == worst.support.shape == (m,)
    assert worst.errors.shape == (60,)
    assert (worst.weights > 0).all()
    assert (np.abs(worst.thetas) <= 0.3 + 1e-9).all()
    assert (np.diff(worst.rows) >= 0).all()
    assert 2 < len(np.unique(worst.rows)) < 60
    total = np.bincount(worst.rows, worst.weights, minlength=60)
    assert total.max() < 2 + 1e-6  # together they are the row's dual variable, at most C
    assert worst.weights @ signs(y)[worst.rows] == pytest.approx(0.0, abs=1e-7)


def test_the_report_tells_what_was_found(ring):
    X, y = ring
    model = PriorSVC(Trajectories(FromFunction(turn, [-0.3, 0.3])).named("turns")).fit(X, y)
    worst = model.findings_["turns"]
    rows, points = len(np.unique(worst.rows[worst.support])), int(worst.support.sum())
    error = worst.errors.max()
    line = f"turns: {rows} rows held at {points} worst points; f is within {error:.2g} of its polynomial"
    assert line in str(model.report_)
    assert line in model.report_._repr_html_()
    [cone] = [row for row in model.report_["turns"] if row.term == "cone"]
    assert cone.rows == 60
    assert sum(row.contribution for row in model.report_.rows) == pytest.approx(model.objective_)


FORMS = {
    "ends": (1, "span", ["ends"], [120]),
    "still": (1, "line", ["ends", "still"], [120, 60]),
    "cone": (2, "span", ["cone"], [60]),
    "cone on the line": (2, "line", ["line"], [60]),
    "squares": (4, "span", ["squares", "sigma_0", "sigma_1"], [300, 60, 60]),
    "squares on the line": (4, "line", ["squares_line", "sigma_0"], [300, 60]),
}


@pytest.mark.parametrize("form", FORMS)
def test_the_formulation_names_every_constraint(form):
    degree, span, labels, rows = FORMS[form]
    X, y, coefficients = paths(degree, line=span == "line", n=60)
    model = fitted(coefficients, X, y, "line" if span == "line" else (-1.0, 1.0))
    told = model.formulation()
    assert [label for label, _, _ in told.constraints] == [
        "svm.margin",
        *(f"trajectories.{k}" for k in labels),
    ]
    assert [count for _, _, count in told.constraints[1:]] == rows
    for (_, latex, _), label in zip(told.constraints[1:], labels, strict=True):
        assert latex == Trajectories.latex[label]
        assert latex in str(told).replace(r", \\ & ", r",\; ")  # long lines are broken


def test_the_formulation_of_several_parameters_is_a_matrix(data):
    X, y = data
    model = PriorSVC(Trajectories(Shift(0.1 * np.eye(3)))).fit(X, y)
    assert model.formulation().constraints[1:] == [("trajectories.matrix", Trajectories.latex["matrix"], 80)]


def test_formulas_of_the_line_have_no_prices(sides):
    """s and sigma_1 belong to the span."""
    for degree in (2, 4):
        X, y, coefficients = paths(degree, line=True)
        latex = str(fitted(coefficients, X, y, "line").formulation())
        assert "s_i" not in latex
        assert r"\sigma_1" not in latex
    [(label, latex, rows)] = (
        PriorSVC(Trajectories(SWAYS, span="line")).fit(*sides).formulation().constraints[1:]
    )
    assert (label, rows) == ("trajectories.matrix_line", 30)
    assert latex == Trajectories.latex["matrix_line"]
    assert "diag(s)" not in latex


# ---------------------------------------------------------------------- verify


@pytest.mark.slow
def test_verify_samples_all_trajectories(moons):
    X, y = moons
    model = PriorSVC(Trajectories(TURNS), kernel=RBF(gamma=2.0)).fit(X, y)
    verdict = model.verify()["trajectories"]
    u = np.linspace(-1, 1, 1001)
    u = (u[1:] + u[:-1]) / 2
    slack = model._machines[0].slack(model._machines[0].sample)
    excess = np.array([signs(y) * model.decision_function(turn(X, 0.5 * t)) - 1 + slack for t in u])
    assert verdict.worst == pytest.approx(excess.min(), abs=1e-12)
    k, i = np.unravel_index(excess.argmin(), excess.shape)
    np.testing.assert_allclose(verdict.where, turn(X[i : i + 1], 0.5 * u[k])[0], atol=1e-12)
    assert (verdict.holds, verdict.proven, verdict.checked) == (True, False, 60_000)
    assert -model.findings_["trajectories"].errors.max() * 1.01 < verdict.worst < 0
    assert "60 trajectories" in str(model.verify())


@pytest.mark.parametrize("degree", [1, 2, 4])
def test_verify_of_a_polynomial_path_is_exact(degree):
    X, y, coefficients = paths(degree)
    model = fitted(coefficients, X, y)
    verdict = model.verify()["trajectories"]
    assert verdict.holds
    assert -1e-8 < verdict.worst < 1e-3


@pytest.mark.slow
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_a_tampered_f_does_not_hold(moons, kernel):
    X, y = moons
    model = PriorSVC(Trajectories(TURNS), kernel="linear" if kernel == "linear" else RBF(gamma=1.0)).fit(X, y)
    assert model.verify().holds
    machine = model._machines[0]
    machine.f = replace(machine.f, bias=machine.f.bias + 0.2)
    machine.shared_slack = machine.shared_slack.copy()
    verdict = model.verify()["trajectories"]
    assert not verdict.holds
    assert verdict.violated > 0
    assert verdict.worst < -0.1


def test_on_the_line_verify_looks_far_out():
    """w turned a little: fine where |theta| <= 1, and wrong far out, where the highest power decides."""
    X = np.array([[-2.0, 0.0], [-3.0, 0.5], [2.0, 0.0], [3.0, 0.5]])
    y = np.array([0, 0, 1, 1])
    coefficients = np.stack([X, 0 * X, signs(y)[:, None] * [0.0, 1.0]], axis=1)
    model = fitted(coefficients, X, y, "line")
    assert model.verify().holds
    machine = model._machines[0]
    machine.f = replace(machine.f, coef=machine.f.coef - [0.0, 0.1])
    machine.shared_slack = machine.shared_slack + 0.5
    assert (signs(y) * (along(coefficients, [4.0])[:, 0] @ model.coef_[0] + model.intercept_[0]) < 0).any()
    assert not model.verify().holds


# ---------------------------------------------------------------------- what is refused, before heavy work


def good(**changed):
    return Trajectories(**{"transform": Shift([0.1, 0.0, 0.0]), **changed})


BAD = {
    "odd degree": (good(degree=3), InvalidInput, "degree must be a whole number, 0, 1 or even, got 3: use 4"),
    "negative degree": (good(degree=-2), InvalidInput, "degree must be a whole number, 0, 1 or even, got -2"),
    "float degree": (
        good(degree=2.0),
        InvalidInput,
        r"degree must be a whole number, 0, 1 or even, got 2\.0",
    ),
    "bool degree": (good(degree=True), InvalidInput, "degree must be a whole number, 0, 1 or even, got True"),
    "word degree": (good(degree="2"), InvalidInput, "degree must be a whole number, 0, 1 or even, got '2'"),
    "NaN degree": (good(degree=np.nan), InvalidInput, "degree must be a whole number, 0, 1 or even, got nan"),
    "huge degree": (good(degree=22), InvalidInput, "degree must be at most 20, got 22: narrow the span"),
    "degree 4 of two": (
        Trajectories(Shift(0.1 * np.eye(2, 3)), degree=4),
        InvalidInput,
        r"degree must be 2 \(or 0\) with 2 parameters, got 4",
    ),
    "taylor of two": (
        Trajectories(Shift(0.1 * np.eye(2, 3)), coefficients="taylor"),
        InvalidInput,
        "coefficients must be 'interpolate' with 2 parameters",
    ),
    "array of two": (
        Trajectories(Shift(0.1 * np.eye(2, 3)), coefficients=np.zeros((80, 2, 3))),
        InvalidInput,
        "coefficients must be 'interpolate' with 2 parameters",
    ),
    "discrete": (
        Trajectories(Reflection(1, (1, 3))),
        InvalidInput,
        "Reflection is discrete.*continuous transform",
    ),
    "class": (Trajectories(Shift), InvalidType, r"got the class Shift: write Shift\("),
    "function": (
        Trajectories(turn),
        InvalidType,
        r"got function.*FromFunction\(function, thetas\) makes one",
    ),
    "word": (Trajectories("rotation"), InvalidType, "must be a Transform, got str"),
    "wrong width": (Trajectories(Shift([1.0])), InvalidInput, "vector has 1 entries, but X has 3 columns"),
    "reversed span": (good(span=(1, -1)), InvalidInput, r"span must be \(low, high\) with low < high, got"),
    "empty span": (good(span=(1, 1)), InvalidInput, r"span must be \(low, high\) with low < high, got"),
    "NaN span": (good(span=(0, np.nan)), InvalidInput, r"span must be \(low, high\) with low < high, got"),
    "infinite span": (good(span=(0, np.inf)), InvalidInput, r"span must be \(low, high\) with low < high"),
    "number as span": (good(span=0.5), InvalidInput, r"span must be \(low, high\) with low < high, got 0\.5"),
    "None as span": (good(span=None), InvalidInput, r"span must be \(low, high\) with low < high, got None"),
    "two pairs": (good(span=[(-1, 1), (-1, 1)]), InvalidInput, r"span must be \(low, high\)"),
    "one pair of two": (
        Trajectories(Shift(0.1 * np.eye(2, 3)), span=(-1, 1)),
        InvalidInput,
        r"span must be \(low, high\) with low < high for each of the 2 parameters",
    ),
    "unknown span": (good(span="all"), InvalidInput, r"span must be 'transform', 'line' or \(low, high\)"),
    "no range": (Trajectories(FromFunction(turn, [])), InvalidInput, r"span must be \(low, high\)"),
    "unknown word": (
        good(coefficients="chebyshev"),
        InvalidInput,
        r"coefficients must be 'interpolate', 'taylor', an array or a function of \(X, y\), got 'chebyshev'",
    ),
    "nothing": (Trajectories(), InvalidInput, "needs a transform, or the coefficients"),
    "taylor of nothing": (
        Trajectories(span=(-1, 1), coefficients="taylor"),
        InvalidInput,
        "needs a transform, or the coefficients",
    ),
    "no span": (
        Trajectories(coefficients=np.zeros((80, 2, 3))),
        InvalidInput,
        r"without a transform span must be \(low, high\) or 'line'",
    ),
    "too few rows": (
        Trajectories(span=(-1, 1), coefficients=np.zeros((79, 2, 3))),
        InvalidInput,
        r"coefficients was given as an array with shape \(79, 2, 3\), but there are 80.*__coefficients",
    ),
    "flat": (
        Trajectories(span=(-1, 1), coefficients=np.zeros((80, 3))),
        InvalidInput,
        r"coefficients has shape \(80, 3\), expected \(80, r \+ 1, 3\)",
    ),
    "wrong columns": (
        Trajectories(span=(-1, 1), coefficients=np.zeros((80, 2, 4))),
        InvalidInput,
        r"coefficients has shape \(80, 2, 4\), expected \(80, r \+ 1, 3\)",
    ),
    "no powers": (
        Trajectories(span=(-1, 1), coefficients=np.zeros((80, 0, 3))),
        InvalidInput,
        r"coefficients has shape \(80, 0, 3\), expected \(80, r \+ 1, 3\)",
    ),
    "NaN coefficients": (
        Trajectories(span=(-1, 1), coefficients=np.full((80, 2, 3), np.nan)),
        InvalidInput,
        "finite numbers",
    ),
    "not the rows": (
        Trajectories(span=(-1, 1), coefficients=np.ones((80, 2, 3))),
        InvalidInput,
        r"coefficients\[:, 0\] must be the rows themselves",
    ),
    "words": (
        Trajectories(span=(-1, 1), coefficients=[["a"] * 3] * 80),
        InvalidInput,
        "coefficients must be numbers",
    ),
    "function of the wrong shape": (
        Trajectories(span=(-1, 1), coefficients=lambda X, y: X[:10, None]),
        InvalidInput,
        r"as a function of \(X, y\) with shape \(10, 1, 3\), but there are 80",
    ),
    "union": (
        Trajectories(Shift([0.1, 0, 0]) | Shift([0, 0.1, 0])),
        InvalidInput,
        r"s \| t has no common trajectory.*Trajectories\(s\) \+ Trajectories\(t\)",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_what_cannot_be_is_refused_before_any_work(data, monkeypatch, case):
    block, error, message = BAD[case]
    monkeypatch.setattr("priorsvm.estimator.train", None)
    with pytest.raises(error, match=f"(?s)block 'trajectories': .*{message}"):
        PriorSVC(block).fit(*data)


def test_an_outer_weight_has_no_meaning(data):
    with pytest.raises(
        InvalidInput, match=r"'trajectories' shares the samples' own slack.*Remove the weight"
    ):
        PriorSVC(0.5 * good()).fit(*data)


def test_a_transform_that_fails_is_named(data):
    def broken(X, theta):
        return X[:, :1]

    with pytest.raises(
        InvalidInput, match=r"block 'trajectories': FromFunction: broken\(X, theta\) must return"
    ):
        PriorSVC(Trajectories(FromFunction(broken, [-1, 1]))).fit(*data)


# ---------------------------------------------------------------------- scikit-learn


def test_a_clone_has_the_same_parameters():
    block = Trajectories(Shift([1.0, 2.0]), degree=4, span=(-0.5, 0.5), coefficients="taylor")
    twin = clone(block)
    assert twin is not block
    assert repr(twin) == repr(block)
    assert {"degree": 4, "span": (-0.5, 0.5), "coefficients": "taylor"}.items() <= twin.get_params().items()
    assert twin.set_params(transform__steps=5).transform.steps == 5
    assert block.transform.steps == 3


@pytest.mark.slow
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_a_fitted_model_can_be_pickled(moons, kernel):
    X, y = moons
    kernel = "linear" if kernel == "linear" else RBF(gamma=1.0)
    model = PriorSVC(Trajectories(Shift([0.1, 0.1])), kernel=kernel).fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert str(again.findings_["trajectories"]) == str(model.findings_["trajectories"])
    assert str(again.verify()) == str(model.verify())
    assert str(again.formulation()) == str(model.formulation())
    assert str(again.report_) == str(model.report_)


@pytest.mark.slow
@pytest.mark.parametrize("degree", [1, 2, 4])
def test_a_path_over_C_is_separate_fits(ring, degree):
    X, y = ring
    block = Trajectories(FromFunction(turn, [-0.2, 0.2]), degree=degree)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CoarsePolynomial)
        path = PriorSVC(block, tol=1e-9).fit_path(X, y, {"C": [0.1, 1.0, 5.0]})
        for model, C in zip(path, (0.1, 1.0, 5.0), strict=True):
            alone = PriorSVC(block, C=C, tol=1e-9).fit(X, y)
            assert model.objective_ == pytest.approx(alone.objective_, rel=1e-9)
            np.testing.assert_allclose(model.coef_, alone.coef_, atol=1e-6)
            assert str(model.findings_["trajectories"]) == str(alone.findings_["trajectories"])


def test_a_path_over_degrees_is_compiled_again(ring):
    X, y = ring
    block = Trajectories(FromFunction(turn, [-0.2, 0.2]))
    with pytest.warns(Recompiled, match="trajectories__degree"):
        path = PriorSVC(block).fit_path(X, y, {"trajectories__degree": [2, 4]})
    assert [len(model._machines[0].states["trajectories"].nodes) for model in path] == [3, 5]


@pytest.mark.slow
@pytest.mark.parametrize(
    "block",
    [
        Trajectories(Shift([0.2, 0.1, 0.0]), degree=1),
        Trajectories(FromFunction(turn, [-0.2, 0.2]), degree=2),
        Trajectories(FromFunction(turn, [-0.2, 0.3]), degree=4),
        Trajectories(FromFunction(turn, [-0.2, 0.2]), degree=2, coefficients="taylor"),
        Trajectories(Shift(0.1 * np.eye(3))),
    ],
    ids=["ends", "cone", "squares", "taylor", "matrix"],
)
def test_laws(block):
    assert "the answer satisfies KKT" in check_knowledge(block)


@pytest.mark.slow
def test_laws_with_coefficients(data):
    X, y = data
    coefficients = np.stack([X[:30], 0.1 * np.ones((30, 3)), -0.05 * np.ones((30, 3))], axis=1)
    block = Trajectories(span=(-1, 1))
    passed = check_knowledge(block, X[:30], y[:30], trajectories__coefficients=coefficients)
    assert "the order of the rows is nothing" in passed


@pytest.mark.slow
def test_verify_of_several_parameters_looks_into_the_corners():
    sign = np.where(np.arange(10) % 2, 1, -1)
    X = np.random.default_rng(8).normal(size=(10, 3)) + 0.9 * sign[:, None]
    moves = Shift([0.5, 0.0, 0.0]) @ Shift([0.0, 0.5, 0.0]) @ Shift([0.0, 0.0, 0.5])
    with pytest.warns(CoarsePolynomial):
        model = PriorSVC(Trajectories(moves), kernel=RBF(0.3), C=3.0).fit(X, sign)
    corners = np.array(list(itertools.product([-1.0, 1.0], repeat=3)))
    scores = np.array([model.decision_function(moves.apply(X, corner)) for corner in corners])
    slack = model._machines[0].slack(model._machines[0].sample)
    verdict = model.verify()["trajectories"]
    assert not verdict.holds
    assert verdict.worst <= (sign * scores - 1 + slack).min() + 1e-9
