"""Block pivots: the start of a round is the solution, or a better start."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel

from priorsvm.solve.methods.active import FullKernelMatrix, RowDual, optimise
from priorsvm.solve.methods.block_pivots import block_pivots


def problem(seed, limited, n=60, points=20):
    """Return the kernel matrix and the dual of rows with margins, and of points that may share a slack."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    y = np.where(X[:, 0] + 0.4 * rng.normal(size=n) > 0, 1.0, -1.0)
    Z = np.clip(rng.normal(size=(points, 3)), 0.0, 1.0)
    K = rbf_kernel(np.vstack([X, Z]), gamma=0.4)
    upper = np.concatenate([np.where(y > 0, 2.0, 0.0), np.full(points, np.inf)])
    lower = np.concatenate([np.where(y < 0, -2.0, 0.0), np.zeros(points)])
    sums = np.concatenate([np.zeros(n), np.ones(points)])[:, None] if limited else np.zeros((n + points, 0))
    target = np.concatenate([y, np.ones(points)])
    limits = np.full(sums.shape[1], 3.0)
    return FullKernelMatrix(K), K, RowDual(target, lower, upper, np.ones(n + points), sums, limits)


@pytest.mark.parametrize("limited", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_the_solution_is_that_of_single_pivots(seed, limited):
    kernel, K, rows = problem(seed, limited)
    start = np.zeros(len(K))
    cold = optimise(kernel, rows, start, 1e-8, 1e9)
    assert cold is not None
    a = block_pivots(kernel, rows, cold.a + 1e-3 * np.random.default_rng(0).normal(size=len(K)), 1e-9)
    assert (a >= rows.lower).all()
    assert (a <= rows.upper).all()
    assert (rows.sum_weight.T @ a <= rows.sum_limit * (1 + 1e-12)).all()
    warm = optimise(kernel, rows, a, 1e-8, 1e9)
    assert warm is not None

    def value(a):
        return rows.target @ a - 0.5 * a @ K @ a

    assert value(warm.a) == pytest.approx(value(cold.a), rel=1e-9)


def test_a_problem_with_other_targets_takes_few_single_pivots():
    steps = []
    for seed in range(5):
        kernel, K, rows = problem(seed, False)
        before = optimise(kernel, replace(rows, target=0.98 * rows.target), np.zeros(len(K)), 1e-8, 1e9)
        start = block_pivots(kernel, rows, before.a, 1e-9)
        steps.append(optimise(kernel, rows, start, 1e-8, 1e9).steps)
    assert np.median(steps) <= 2


def test_no_free_rows_leave_the_start():
    kernel, K, rows = problem(0, False)
    start = np.zeros(len(K))
    np.testing.assert_array_equal(block_pivots(kernel, rows, start, 1e-9), start)
