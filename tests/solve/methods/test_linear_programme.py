"""The interior-point method of the 1-norm SVM, against HiGHS and against its certificate."""

import warnings

import numpy as np
import pytest
from scipy.optimize import linprog

from priorsvm._utils.linalg import lifted_cholesky
from priorsvm.solve.methods import linear_programme
from priorsvm.solve.methods.linear_programme import solve_1norm


def optimum(Phi, y, rho, cost):
    """HiGHS on ``min |c|_1 + cost'xi`` with c in two halves."""
    (n, m) = Phi.shape
    A = y[:, None] * Phi
    costs = np.concatenate([np.ones(2 * m), [0.0], cost])
    rows = -np.hstack([A, -A, y[:, None], np.eye(n)])
    bounds = [(0, None)] * (2 * m) + [(None, None)] + [(0, None)] * n
    sharp = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
    return linprog(costs, A_ub=rows, b_ub=-rho, bounds=bounds, method="highs", options=sharp).fun


def rows(seed, n=80, d=3, noise=0.4):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    y = np.where(X[:, 0] + noise * rng.normal(size=n) > 0, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    return X, y, rng


def rbf(X, Z, gamma=0.5):
    return np.exp(-gamma * ((X[:, None] - Z) ** 2).sum(axis=2))


def repeated(X, y, rng):
    """Rows several times, some with both labels."""
    again = rng.integers(0, len(X) // 3, len(X))
    return rbf(X[again], X[again])


MATRICES = {
    "rbf": lambda X, y, rng: rbf(X, X),
    "nearly flat": lambda X, y, rng: rbf(X, X, 1e-3),
    "nearly diagonal": lambda X, y, rng: rbf(X, X, 100.0),
    "repeated rows": repeated,
    "indefinite": lambda X, y, rng: np.tanh(X @ X.T - 1.0),
    "distances": lambda X, y, rng: -np.sqrt(((X[:, None] - X) ** 2).sum(axis=2)),
    "not symmetric": lambda X, y, rng: rng.normal(size=(len(X), len(X))),
    "whole numbers": lambda X, y, rng: rng.integers(-2, 3, (len(X), len(X))).astype(float),
    "few columns": lambda X, y, rng: X,
    "more columns than rows": lambda X, y, rng: rng.normal(size=(len(X), 3 * len(X))),
    "columns of all sizes": lambda X, y, rng: rng.normal(size=(len(X), 40)) * 10.0 ** rng.integers(-4, 4, 40),
    "large numbers": lambda X, y, rng: 1e3 * rbf(X, X),
    "small numbers": lambda X, y, rng: 1e-6 * rbf(X, X),
    "rank one": lambda X, y, rng: np.outer(X[:, 0], X[:, 1]),
    "constant": lambda X, y, rng: np.ones((len(X), 7)),
    "zero": lambda X, y, rng: np.zeros((len(X), 2)),
}


def assert_optimal(found, Phi, y, rho, cost, tol=1e-10):
    """Check the constraints of both problems, and that their objectives agree."""
    alpha = found.alpha
    prices = Phi.T @ (y * found.alpha)
    assert (alpha >= 0).all()
    assert (alpha <= cost * (1 + 1e-14)).all()
    assert abs(y @ alpha) <= 1e-13 * max(1.0, alpha.sum())
    assert np.abs(prices).max() <= 1 + 1e-13
    slack = np.maximum(rho - y * (Phi @ found.c + found.bias), 0.0)
    primal = np.abs(found.c).sum() + cost @ slack
    assert found.objective == pytest.approx(primal, rel=1e-10, abs=1e-12)
    assert 0 <= primal - rho @ alpha + 1e-12 * primal <= 10 * tol * (primal + min(1.0, cost.sum()))


@pytest.mark.parametrize("C", [1e-3, 1.0, 100.0])
@pytest.mark.parametrize("kind", MATRICES)
def test_the_optimum_is_that_of_highs_and_certified(kind, C):
    X, y, rng = rows(len(kind), n=60)
    Phi = MATRICES[kind](X, y, rng)
    rho = np.ones(60)
    cost = C * rng.uniform(0.2, 2.0, 60)
    found = solve_1norm(Phi, y, rho, cost)
    assert_optimal(found, Phi, y, rho, cost)
    assert found.objective == pytest.approx(optimum(Phi, y, rho, cost), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("C", [1e-3, 1e-1, 1e1, 1e3, 1e6])
def test_any_cost_of_slacks(C):
    X, y, _ = rows(1, noise=0.1)
    Phi = rbf(X, X, 2.0)
    rho = np.ones(80)
    cost = np.full(80, C)
    found = solve_1norm(Phi, y, rho, cost)
    assert_optimal(found, Phi, y, rho, cost)
    assert found.objective == pytest.approx(optimum(Phi, y, rho, cost), rel=1e-9)


def test_margins_of_all_sizes():
    X, y, rng = rows(2)
    Phi = rbf(X, X)
    rho = rng.choice([0.0, 0.3, 1.0, 2.5], 80)
    cost = rng.uniform(0.5, 2.0, 80)
    found = solve_1norm(Phi, y, rho, cost)
    assert_optimal(found, Phi, y, rho, cost)
    assert found.objective == pytest.approx(optimum(Phi, y, rho, cost), rel=1e-9)


def test_margins_of_zero_cost_nothing():
    X, y, _ = rows(3, n=12)
    found = solve_1norm(rbf(X, X), y, np.zeros(12), np.ones(12))
    assert found.objective == pytest.approx(0.0, abs=1e-10)


def test_two_rows():
    found = solve_1norm(
        np.array([[1.0, 0.2], [0.2, 1.0]]), np.array([1.0, -1.0]), np.ones(2), np.full(2, 9.0)
    )
    # f rises from -1 to 1 over one centre: 2 = 0.8 |c|
    assert found.objective == pytest.approx(2.5, rel=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_few_columns_at_a_time_give_the_same_answer(seed, monkeypatch):
    X, y, _ = rows(seed, n=150)
    Phi = rbf(X, X)
    rho = np.ones(150)
    cost = np.full(150, 5.0)
    whole = solve_1norm(Phi, y, rho, cost)
    monkeypatch.setattr(linear_programme, "FEW", 5)
    monkeypatch.setattr(linear_programme, "AT_LEAST", 0.05)
    sizes = []

    def factor(H, lifts):
        sizes.append(len(H))  # the columns in use, and the bias
        return lifted_cholesky(H, lifts)

    monkeypatch.setattr(linear_programme, "lifted_cholesky", factor)
    found = solve_1norm(Phi, y, rho, cost)
    assert_optimal(found, Phi, y, rho, cost)
    assert found.objective == pytest.approx(whole.objective, rel=1e-12)
    np.testing.assert_allclose(found.c, whole.c, atol=1e-9)
    assert min(sizes) == 8
    assert max(sizes) < 151


def test_the_answer_is_a_vertex():
    X, y, _ = rows(7, n=120)
    Phi = rbf(X, X)
    cost = np.full(120, 2.0)
    found = solve_1norm(Phi, y, np.ones(120), cost)
    free = (found.alpha > 0) & (found.alpha < cost * (1 - 1e-12))
    assert free.sum() == np.count_nonzero(found.c) + 1
    prices = Phi.T @ (y * found.alpha)
    np.testing.assert_allclose(prices[found.c != 0], np.sign(found.c[found.c != 0]), atol=1e-12)
    np.testing.assert_allclose((y * (Phi @ found.c + found.bias))[free], 1.0, atol=1e-12)


def test_units_of_the_matrix_are_those_of_the_coefficients():
    X, y, _ = rows(4)
    Phi = rbf(X, X)
    cost = np.full(80, 3.0)
    one, other = (solve_1norm(k * Phi, y, np.ones(80), cost / k) for k in (1.0, 64.0))
    np.testing.assert_allclose(other.c * 64.0, one.c, rtol=1e-10, atol=1e-12)
    assert other.objective * 64.0 == pytest.approx(one.objective, rel=1e-12)


def test_the_gap_bounds_the_error_after_few_steps():
    X, y, _ = rows(5)
    Phi = rbf(X, X)
    rho = np.ones(80)
    cost = np.full(80, 3.0)
    least = solve_1norm(Phi, y, rho, cost).objective
    for steps in (1, 5, 10):
        found = solve_1norm(Phi, y, rho, cost, max_steps=steps)
        assert found.steps < steps
        assert 1e-6 < (found.objective - least) / (1.0 + found.objective) < found.gap
        assert_optimal(found, Phi, y, rho, cost, tol=found.gap)


def test_badly_scaled_values_end_in_a_gap_without_a_warning():
    X, y, rng = rows(6, n=60)
    Phi = 1e8 * rbf(X, X, 0.3) * 10.0 ** rng.uniform(-9, 9, 60)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = solve_1norm(Phi, y, np.ones(60), np.full(60, 1e6))
    assert np.isfinite(found.objective)
    assert_optimal(found, Phi, y, np.ones(60), np.full(60, 1e6), tol=found.gap)
