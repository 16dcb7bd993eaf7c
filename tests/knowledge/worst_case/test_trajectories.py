"""Trajectories of linear models: grids, semidefinite matrices, column generation."""

import cvxpy as cp
import numpy as np
import pytest
from scipy.stats import norm

from priorsvm import (
    ClassCosts,
    FromFunction,
    PriorSVC,
    SampleCosts,
    Shift,
    Trajectories,
    UncertainSamples,
    VirtualSamples,
)
from priorsvm.errors import CoarsePolynomial, SolverUnsuited
from priorsvm.solve.solvers import installed

from .trajectory_problems import (
    FINE,
    Own,
    along,
    column_generation,
    expansion,
    fitted,
    on_a_grid,
    paths,
    three_by_three,
    turn,
    two_by_two,
)

pytestmark = pytest.mark.slow  # part of `make test` only


@pytest.mark.parametrize("span", [(-1.0, 1.0), (0.5, 2.0), "line"], ids=str)
def test_a_curve_of_degree_0_is_the_plain_model(data, span):
    X, y = data
    model = fitted(X[:, None], X, y, span)
    plain = PriorSVC(solver="CLARABEL", **FINE).fit(X, y)
    np.testing.assert_allclose(model.coef_, plain.coef_, atol=1e-9)
    value, w, _ = Own(y, 3).at(X[:, None]).solve()
    assert model.objective_ == pytest.approx(value, rel=1e-10)
    np.testing.assert_allclose(model.coef_[0], w, atol=1e-8)


def test_degree_0_ignores_the_transformation(data):
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


@pytest.mark.parametrize("degree", [1, 2, 4])
def test_a_span_that_shrinks_ends_in_the_plain_model(degree):
    X, y, coefficients = paths(degree)
    plain = PriorSVC(solver="CLARABEL", **FINE).fit(X, y)
    distance = []
    for tau in (1e-1, 1e-3, 1e-6, 1e-9):
        model = fitted(coefficients, X, y, (-tau, tau))
        distance.append(np.abs(model.coef_ - plain.coef_).max())
    assert distance[0] > distance[1] > distance[2]
    assert distance[2] < 1e-6
    assert distance[3] < 5e-9


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


def test_rank_one_uncertainty_is_a_straight_trajectory(data):
    X, y = data
    rng = np.random.default_rng(3)
    directions = 0.3 * rng.normal(size=(80, 3))
    radius = norm.ppf(0.9)
    uncertain = PriorSVC(UncertainSamples(factor=directions[:, :, None]), **FINE).fit(X, y)
    curves = fitted(np.stack([X, radius * directions], axis=1), X, y)
    assert uncertain.objective_ == pytest.approx(curves.objective_, rel=1e-10)
    np.testing.assert_allclose(uncertain.coef_, curves.coef_, atol=1e-7)


@pytest.mark.parametrize("degree", [1, 2, 4])
@pytest.mark.parametrize(
    "settings",
    [{"norm": "l1"}, {"loss": "squared_hinge"}, {"C": 0.1}],
    ids=str,
)
def test_every_linear_model(degree, settings):
    X, y, coefficients = paths(degree)
    model = fitted(coefficients, X, y, **settings)
    value, _, _ = column_generation(coefficients, y, (-1.0, 1.0), **settings)
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


def test_rows_without_weight_have_no_trajectory():
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


def test_rows_of_other_blocks_have_no_trajectory(data):
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
def test_trajectories_are_in_the_units_of_X(degree, scale):
    X, y, coefficients = paths(degree)
    units, origin = np.array([1.0, 20.0, 0.1, 3.0]), np.array([5.0, -2.0, 0.0, 1.0])
    X, coefficients = X * units + origin, coefficients * units
    coefficients[:, 0] = X
    model = fitted(coefficients, X, y, scale=scale)
    width = X.std(axis=0) if scale == "standard" else np.ptp(X, axis=0)
    value, w, _ = column_generation(coefficients, y, (-1.0, 1.0), width=width)
    assert model.objective_ == pytest.approx(value, rel=1e-8)
    np.testing.assert_allclose(model.coef_[0] * width, w * width, atol=5e-5)


def test_three_classes_are_three_problems(three):
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


@pytest.mark.parametrize(
    ("solver", "rtol", "atol", "apart"),
    [("ECOS", 1e-8, 1e-5, 1e-4), ("QOCO", 1e-8, 1e-5, 1e-7), ("SCS", 1e-6, 1e-4, 1e-5)],
    ids=["ECOS", "QOCO", "SCS"],
)
@pytest.mark.parametrize("span", ["span", "line"])
@pytest.mark.parametrize("degree", [1, 2, 4])
def test_solvers_agree_with_clarabel(degree, span, solver, rtol, atol, apart):
    """In the solution, and in the signs and sums of the dual variables."""
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
