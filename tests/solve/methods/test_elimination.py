"""Rows without bounds: the reduced dual has the solution of the whole dual."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel

from priorsvm.solve.methods.active import FullKernelMatrix, RowDual, optimise
from priorsvm.solve.methods.elimination import Reduced
from priorsvm.solve.methods.interior_start import interior_start


def problem(bias_of_free, diagonal, seed=0, n=14, m=3, d=6):
    """Return rows, the diagonal, and the rest of a dual with n margins and m rows without bounds."""
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(n + m, d))
    y = np.where(np.arange(n) % 2, 1.0, -1.0)
    lower = np.concatenate([np.where(y < 0, -2.0, 0.0), np.full(m, -np.inf)])
    upper = np.concatenate([np.where(y > 0, 2.0, 0.0), np.full(m, np.inf)])
    target = np.concatenate([y, 0.3 * np.arange(m) if diagonal else np.zeros(m)])
    e = np.concatenate([np.ones(n), np.full(m, bias_of_free)])
    D = np.concatenate([np.zeros(n), np.full(m, diagonal)])
    return Z, D, RowDual(target, lower, upper, e, np.zeros((n + m, 0)), np.zeros(0))


def largest_dual(Z, D, dual):
    """Return the optimum of the dual by CVXPY."""
    a = cp.Variable(len(Z))
    objective = dual.target @ a - 0.5 * cp.sum_squares(Z.T @ a) - 0.5 * cp.sum(cp.multiply(D, cp.square(a)))
    low = np.isfinite(dual.lower)
    high = np.isfinite(dual.upper)
    limits = [a[low] >= dual.lower[low], a[high] <= dual.upper[high], dual.bias_weight @ a == 0]
    return cp.Problem(cp.Maximize(objective), limits).solve(solver="CLARABEL")


@pytest.mark.parametrize("bias_of_free", [0.0, 2.0])
@pytest.mark.parametrize("diagonal", [0.0, 0.7])
def test_the_reduced_dual_has_the_optimum_of_the_whole_dual(bias_of_free, diagonal):
    for seed in range(4):
        Z, D, dual = problem(bias_of_free, diagonal, seed)
        Q = Z @ Z.T + np.diag(D)
        reduced = Reduced.of(Q, dual)
        start = np.zeros(len(reduced.bounded))
        found = optimise(FullKernelMatrix(reduced.Q), reduced.dual, start, 1e-8, 500.0)
        a, bias = reduced.all_rows(found, Q, dual)
        value = dual.target @ a - 0.5 * a @ Q @ a
        assert value == pytest.approx(largest_dual(Z, D, dual), rel=1e-6)
        assert abs(dual.bias_weight @ a) < 1e-8 * np.abs(a).sum()
        equations = Q @ a + bias * dual.bias_weight - dual.target
        np.testing.assert_allclose(equations[14:], 0.0, atol=1e-8)


def test_rows_with_bounds_only_are_not_reduced():
    Z, _, dual = problem(0.0, 0.0, m=0)
    assert Reduced.of(Z @ Z.T, dual) is None


def test_an_interior_start_is_near_the_solution_and_at_its_bounds():
    Z, D, dual = problem(0.0, 0.7)
    a = interior_start(Z, D, dual)
    value = dual.target @ a - 0.5 * a @ (Z @ Z.T) @ a - 0.5 * a**2 @ D
    assert value == pytest.approx(largest_dual(Z, D, dual), rel=1e-5)
    at_bound = (a == dual.lower) | (a == dual.upper)
    assert at_bound[:14].sum() >= 9
    assert (a >= dual.lower).all()
    assert (a <= dual.upper).all()


def test_an_infeasible_problem_has_no_start():
    Z = np.ones((2, 1))
    dual = RowDual(
        np.array([1.0, -1.0]),
        np.array([0.0, -np.inf]),
        np.array([np.inf, 0.0]),
        np.ones(2),
        np.zeros((2, 0)),
        np.zeros(0),
    )
    assert interior_start(Z, np.zeros(2), dual) is None  # f >= 1 and f <= -1 at one point


@pytest.mark.parametrize("seed", range(4))
def test_equations_of_a_wide_kernel_are_refined_once(seed):
    """Their dual variables reach 4e6; without the refinement the error is 20 times as large."""
    rng = np.random.default_rng(seed)
    n = 30
    X = rng.normal(size=(n, 2))
    y = np.where(X[:, 0] + 0.3 * rng.normal(size=n) > 0, 1.0, -1.0)
    none = np.zeros((n, n))
    R = np.block([[np.eye(n), none], [-np.eye(n), np.eye(n)]])
    Q = R @ rbf_kernel(np.vstack([X, X + np.array([0.3, 0.1])]), gamma=0.05) @ R.T
    free = np.full(n, np.inf)
    lower = np.concatenate([np.minimum(10 * y, 0.0), -free])
    upper = np.concatenate([np.maximum(10 * y, 0.0), free])
    e = np.concatenate([np.ones(n), np.zeros(n)])
    dual = RowDual(np.concatenate([y, np.zeros(n)]), lower, upper, e, np.zeros((2 * n, 0)), np.zeros(0))
    reduced = Reduced.of(Q, dual)
    found = optimise(FullKernelMatrix(reduced.Q), reduced.dual, np.zeros(n), 1e-6, 50.0)
    a, bias = reduced.all_rows(found, Q, dual)
    error = (Q @ a + bias * e - dual.target)[reduced.free]
    assert np.abs(error).max() < 3e-17 * np.abs(a).max()
