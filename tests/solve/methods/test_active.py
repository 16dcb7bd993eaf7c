"""The active-set method on random duals, against Clarabel and the conditions of optimality."""

from dataclasses import replace

import cvxpy as cp
import numpy as np
import pytest

from priorsvm.solve.methods.active import (
    FullKernelMatrix,
    KeptKernelMatrix,
    LazyKernelMatrix,
    LinearKernelMatrix,
    RowDual,
    optimise,
    polish,
)

EFFORT = 1000.0


def random_dual(seed, n=25, rank=None, groups=0):
    """K, and rows of all kinds: linear costs, squares, hard, equations, without bias, with shared limit."""
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(n, rank or n))
    kind = rng.integers(5, size=n)
    sign = np.where(kind < 4, rng.choice([-1.0, 1.0], n), 1.0)
    bound = rng.uniform(0.1, 2.0, n)
    high = np.select([kind <= 1, kind == 4], [bound, np.inf], np.inf)
    low = np.where(kind == 4, -np.inf, 0.0)
    shares = np.zeros((n, groups))
    if groups:
        for k, members in enumerate(np.array_split(np.flatnonzero(kind == 2), groups)):
            shares[members, k] = sign[members]
    low, high = np.where(sign > 0, low, -high), np.where(sign > 0, high, -low)
    K = Z @ Z.T + np.diag(np.where((kind >= 2) & ~shares.any(axis=1), rng.uniform(0.05, 1.0, n), 0.0))
    balance = np.where(rng.random(n) < 0.7, rng.choice([1.0, 2.0], n), 0.0)
    target = sign * rng.normal(1.0, 0.5, n)
    return K, RowDual(target, low, high, balance, shares, rng.uniform(0.2, 1.0, groups))


def solved(K, rows, start=None, tol=1e-9):
    a = np.clip(0.0, rows.lower, rows.upper) if start is None else start
    return optimise(FullKernelMatrix(K), rows, a, tol, EFFORT)


def value(K, rows, a):
    return rows.target @ a - 0.5 * a @ K @ a


def by_clarabel(K, rows):
    a = cp.Variable(len(K))
    w, U = np.linalg.eigh(K)
    root = U * np.sqrt(np.maximum(w, 0.0))
    constraints = [rows.bias_weight @ a == 0]
    for end, sign in ((rows.upper, 1.0), (rows.lower, -1.0)):
        finite = np.flatnonzero(np.isfinite(end))
        constraints.append(sign * a[finite] <= sign * end[finite])
    if rows.sum_weight.shape[1]:
        constraints.append(rows.sum_weight.T @ a <= rows.sum_limit)
    problem = cp.Problem(cp.Maximize(rows.target @ a - 0.5 * cp.sum_squares(root.T @ a)), constraints)
    problem.solve(solver="CLARABEL")
    return problem.value


@pytest.mark.parametrize("groups", [0, 2])
@pytest.mark.parametrize("seed", range(12))
def test_random_duals_are_solved_exactly(seed, groups):
    K, rows = random_dual(seed, groups=groups)
    found = solved(K, rows)
    a = found.a
    assert ((rows.lower <= a) & (a <= rows.upper)).all()
    assert (rows.sum_weight.T @ a <= rows.sum_limit + 1e-9).all()
    assert abs(rows.bias_weight @ a) < 1e-9
    expected = by_clarabel(K, rows)
    assert value(K, rows, a) == pytest.approx(expected, abs=1e-7 * (1 + abs(expected)))


@pytest.mark.parametrize("seed", range(6))
def test_every_row_agrees_with_its_dual_variable(seed):
    K, rows = random_dual(seed)
    found = solved(K, rows)
    excess = found.scores - rows.target
    free = (found.a > rows.lower) & (found.a < rows.upper)
    np.testing.assert_allclose(found.scores, K @ found.a + found.bias * rows.bias_weight, atol=1e-10)
    assert np.abs(excess[free]).max() < 1e-8
    assert (excess[found.a == rows.lower] > -1e-8).all()
    assert (excess[found.a == rows.upper] < 1e-8).all()


@pytest.mark.parametrize("seed", range(4))
def test_the_start_does_not_matter(seed):
    K, rows = random_dual(seed)
    expected = solved(K, rows)
    rng = np.random.default_rng(seed)
    ends = (
        np.where(np.isfinite(rows.upper), rows.upper, 1.0),
        np.where(np.isfinite(rows.lower), rows.lower, -1.0),
    )
    start = ends[1] + rng.random(len(K)) * (ends[0] - ends[1])
    np.testing.assert_allclose(solved(K, rows, start).a, expected.a, atol=1e-7)


@pytest.mark.parametrize("groups", [0, 2])
@pytest.mark.parametrize("seed", range(6))
def test_equal_rows_and_few_columns(seed, groups):
    """Each row occurs twice with half the bound: K needs a lift, and dual variables are not unique."""
    K, rows = random_dual(seed, n=24, rank=3, groups=groups)
    twice = np.repeat(np.arange(24), 2)
    doubled = replace(rows.subset(twice), lower=0.5 * rows.lower[twice], upper=0.5 * rows.upper[twice])
    found = solved(K[np.ix_(twice, twice)], doubled)
    expected = by_clarabel(K, rows)
    assert value(K, rows, found.a.reshape(-1, 2).sum(axis=1)) == pytest.approx(expected, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("spread", [1e-3, 1e-5, 1e-7])
def test_rows_that_nearly_repeat_each_other(spread):
    """Most free rows meet a bound with one factor of a nearly singular matrix."""
    rng = np.random.default_rng(0)
    Z = np.repeat(rng.normal(size=(12, 3)), 8, axis=0) + spread * rng.normal(size=(96, 3))
    K = np.exp(-0.5 * ((Z[:, None] - Z) ** 2).sum(axis=2))
    y = np.where(Z[:, 0] + Z[:, 1] ** 2 > 0.5, 1.0, -1.0)
    rows = plain(y, np.minimum(2.0 * y, 0.0), np.maximum(2.0 * y, 0.0), np.ones(96))
    found = solved(K, rows, 1.0 * y)
    a = found.a
    assert np.count_nonzero((a != 0) & (np.abs(a) < 2.0)) < 24
    assert abs(a.sum()) < 1e-12 * np.abs(a).sum()
    slack = np.maximum(1.0 - y * found.scores, 0.0)
    primal = 0.5 * a @ K @ a + 2.0 * slack.sum()
    assert primal == pytest.approx(value(K, rows, a), rel=1e-12)


def plain(target, low, high, balance):
    none = np.zeros((len(target), 0))
    return RowDual(*(np.array(x, float) for x in (target, low, high, balance)), none, np.zeros(0))


def test_all_rows_at_their_bounds():
    rows = plain([1, 1, -1, -1], [0, 0, -0.1, -0.1], [0.1, 0.1, 0, 0], np.ones(4))
    found = solved(np.diag([1.0, 2.0, 1.0, 2.0]), rows)
    np.testing.assert_allclose(found.a, [0.1, 0.1, -0.1, -0.1])
    assert found.bias == pytest.approx(0.0)


@pytest.mark.parametrize("value", [1.5e-6, 0.0])
@pytest.mark.parametrize("start", [[7e-4, -3e-4, -4e-4], [0.0, 0.0, 0.0]])
def test_equal_rows_with_small_bounds_keep_the_balance(value, start):
    y = np.array([1.0, -1.0, -1.0])
    found = polish(FullKernelMatrix(np.full((3, 3), value)), y, np.full(3, 1e-3), np.array(start), 1e-6)
    assert found.a[0] == 1e-3
    assert abs(found.a.sum()) < 1e-15
    np.testing.assert_allclose(found.scores, -1.0)


@pytest.mark.parametrize("start", [np.zeros(6), 0.5 * np.array([1.0, -1.0, -1.0, 1.0, 1.0, -1.0])])
def test_a_step_that_overflows_ends(start):
    y = np.array([1.0, -1.0, -1.0, 1.0, 1.0, -1.0])
    found = polish(FullKernelMatrix(np.full((6, 6), 1e-300)), y, np.ones(6), start, 1e-6)
    assert found is None


def test_one_free_row_takes_what_the_sum_leaves():
    rows = plain([1, -1, -1], [0, -0.3, -0.2], [9, 0, 0], np.ones(3))
    found = solved(np.eye(3), rows)
    np.testing.assert_allclose(found.a, [0.5, -0.3, -0.2], atol=1e-12)
    assert found.scores[0] == pytest.approx(1.0)


def test_free_rows_without_a_bias_leave_it_to_the_others():
    rows = plain([2, 1, -1], [0, 0, -0.1], [9, 0.1, 0], [0, 1, 1])
    found = solved(np.eye(3), rows)
    np.testing.assert_allclose(found.a, [2.0, 0.1, -0.1], atol=1e-10)
    assert -0.9 <= found.bias <= 0.9


def test_rows_fixed_at_a_number_stay_there():
    rows = plain([1, 1, -1], [0, 0.2, -9], [9, 0.2, 0], np.ones(3))
    found = solved(np.eye(3), rows)
    assert found.a[1] == 0.2
    assert found.a.sum() == pytest.approx(0.0, abs=1e-12)


def test_a_shared_limit_has_a_slack():
    """Two rows with target 3 and cost 1: a = 1/2 and f = 1/2 for each, and the slack is 5/2."""
    rows = RowDual(np.full(2, 3.0), np.zeros(2), np.full(2, np.inf), np.zeros(2), np.ones((2, 1)), np.ones(1))
    found = solved(np.eye(2), rows)
    np.testing.assert_allclose(found.a, 0.5)
    rows = replace(rows, target=np.array([3.0, 0.1]))
    np.testing.assert_allclose(solved(np.eye(2), rows).a, [1.0, 0.0])


def test_contradicting_hard_rows_are_never_solved():
    """f must be 1 and -1 at one point, so the dual variables grow without bound."""
    Z = np.array([[1.0, 0.5], [-1.0, -0.5], [0.3, 1.0]])
    rows = plain([1, 1, 1], np.zeros(3), np.full(3, np.inf), np.zeros(3))
    found = optimise(LinearKernelMatrix(Z), rows, np.zeros(3), 1e-6, EFFORT)
    assert found is None or np.abs(np.minimum(found.scores - rows.target, 0.0)).max() > 0.1


def test_too_much_work_returns_none():
    K, rows = random_dual(0)
    kernel = FullKernelMatrix(K)
    assert optimise(kernel, rows, np.clip(0.0, rows.lower, rows.upper), 1e-9, effort=0.0) is None


def test_work_beyond_the_limit_is_not_begun():
    """From a start at zero all rows become free, and their matrix is neither computed nor factored."""
    K, rows = random_dual(0)

    class Counted(FullKernelMatrix):
        largest = 0

        def among(self, rows):
            self.largest = max(self.largest, len(rows))
            return super().among(rows)

    kernel = Counted(K)
    assert optimise(kernel, rows, np.clip(0.0, rows.lower, rows.upper), 1e-9, effort=1e-3) is None
    assert kernel.largest <= 0.1 * len(K)


@pytest.mark.parametrize("first", [[], [3], [4, 1]])
def test_rows_are_made_where_they_are_missing(rng, first):
    """Rows are added in the order of their first use, until all are known."""
    Z = rng.normal(size=(6, 2))
    K = Z @ Z.T
    first = np.array(first, int)
    kernel = LazyKernelMatrix(K[first], first, lambda rows: K[rows])
    for rows in ([5, 2], [1, 4, 5], [0, 1, 2, 3, 4, 5]):
        a = np.zeros(6)
        a[rows] = rng.normal(size=len(rows))
        np.testing.assert_allclose(kernel.times(a), K @ a, atol=1e-14)
        np.testing.assert_array_equal(kernel.among(np.array(rows)), K[np.ix_(rows, rows)])
    assert sum(map(len, kernel.parts)) == 6


def test_kept_entries_are_computed_once_and_may_be_changed():
    Z = np.random.default_rng(0).normal(size=(8, 3))
    computed = []

    class Counted(LinearKernelMatrix):
        def among(self, rows):
            computed.append(len(rows))
            return super().among(rows)

    kept = KeptKernelMatrix(Counted(Z))
    for rows in ([1, 3, 4, 6], [3, 6], [1, 3, 4, 6], [0, 3]):
        K = kept.among(np.array(rows))
        np.testing.assert_allclose(K, Z[rows] @ Z[rows].T, atol=1e-14)
        K += 1.0
    assert computed == [4, 2]
    a = np.arange(8.0)
    np.testing.assert_allclose(kept.times(a), Z @ (Z.T @ a))
