"""The dual of rows that share slacks, against the same problem written for Clarabel, and against LIBSVM."""

import cvxpy as cp
import numpy as np
import pytest
from sklearn.svm import SVC

from priorsvm.errors import SolverFailed
from priorsvm.solve.methods.grouped import pairs_of_groups, solve_grouped

SHARP = {"tol_gap_abs": 1e-12, "tol_gap_rel": 1e-12, "tol_feas": 1e-12}


def drawn(seed, n=30, members=4, d=3, gamma=0.4):
    """Groups of points around rows of two classes, and their kernel matrix."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    sign = np.where(X[:, 0] + 0.4 * rng.normal(size=n) > 0, 1.0, -1.0)
    group = np.repeat(np.arange(n), rng.integers(1, members + 1, n))
    Z = X[group] + 0.2 * rng.normal(size=(len(group), d))
    K = np.exp(-gamma * ((Z[:, None] - Z) ** 2).sum(axis=2))
    return K, sign[group], group, rng


def own(K, delta, group, limit, y, share, bias=True):
    """Clarabel's answer to the same dual: the objective, and f with its slacks."""
    a = cp.Variable(len(delta), nonneg=True)
    size, vectors = np.linalg.eigh(K)
    half = (vectors * np.sqrt(np.maximum(size, 0.0))).T
    sums = np.zeros((len(limit), len(delta)))
    sums[group, np.arange(len(delta))] = share
    objective = 0.5 * cp.sum_squares(half @ cp.multiply(y, a)) - delta @ a
    constraints = [sums @ a <= limit, *([y @ a == 0] if bias else [])]
    return cp.Problem(cp.Minimize(objective), constraints).solve(solver="CLARABEL", **SHARP)


@pytest.mark.parametrize("C", [0.1, 1.0, 100.0, 1e4])
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("shared", ["equal", "different"])
def test_same_optimum_as_clarabel(C, bias, shared):
    K, y, group, rng = drawn(int(C) % 7 + 3 * bias)
    m, n = len(y), group.max() + 1
    delta = rng.uniform(0.3, 1.0, m)
    share = np.ones(m) if shared == "equal" else rng.uniform(0.5, 3.0, m)
    limit = C * rng.uniform(0.2, 1.0, n)
    found = solve_grouped(K * np.outer(y, y), delta, group, limit, y if bias else None, share)
    a = found.alpha
    value = 0.5 * (a * y) @ K @ (a * y) - delta @ a
    assert value == pytest.approx(own(K, delta, group, limit, y, share, bias), rel=1e-8, abs=1e-8)
    assert (a > 0).all()
    assert (np.bincount(group, share * a) <= limit * (1 + 1e-12)).all()
    assert bias is False or abs(y @ a) <= 1e-8 * a.sum()


@pytest.mark.parametrize("seed", [10, 27, 32])
def test_small_costs_are_no_excuse(seed):
    """Costs of 1e-5 are those of 1 with a kernel 1e-5 times as large, and as exactly solved."""
    K, y, group, rng = drawn(seed, n=6, d=1)
    limit, delta, Q = 10.0 ** rng.uniform(-2, 2, group.max() + 1), np.ones(len(y)), K * np.outer(y, y)
    values = []
    for Q_, limit_, unit in ((Q, 1e-5 * limit, 1e5), (1e-5 * Q, limit, 1.0)):
        a = solve_grouped(Q_, delta, group, limit_, y).alpha
        values.append(unit * (0.5 * a @ Q_ @ a - delta @ a))
    assert values[0] == pytest.approx(values[1], rel=2e-7)


def test_slack_and_bias_are_those_of_the_primal():
    K, y, group, rng = drawn(5)
    n = group.max() + 1
    limit, delta = rng.uniform(0.5, 2.0, n), np.ones(len(y))
    found = solve_grouped(K * np.outer(y, y), delta, group, limit, y)
    values = K @ (found.alpha * y) + found.bias
    worst = np.zeros(n)
    np.maximum.at(worst, group, delta - y * values)
    np.testing.assert_allclose(found.slack, worst, atol=1e-7)
    half = 0.5 * (found.alpha * y) @ K @ (found.alpha * y)
    primal, dual = half + limit @ worst, delta @ found.alpha - half
    assert primal == pytest.approx(dual, rel=1e-8)


def test_groups_of_one_are_an_svm():
    K, y, _, _ = drawn(2, n=60, members=1)
    found = solve_grouped(K * np.outer(y, y), np.ones(60), np.arange(60), np.full(60, 2.0), y)
    svc = SVC(C=2.0, kernel="precomputed", tol=1e-10).fit(K, y)
    np.testing.assert_allclose(K @ (found.alpha * y) + found.bias, svc.decision_function(K), atol=1e-6)


def test_a_matrix_of_low_rank():
    rng = np.random.default_rng(1)
    Z = rng.normal(size=(80, 2))
    y = np.where(Z[:, 0] + 0.3 * rng.normal(size=80) > 0, 1.0, -1.0)
    K, group = Z @ Z.T, np.repeat(np.arange(40), 2)
    y = y[::2][group]
    found = solve_grouped(K * np.outer(y, y), np.ones(80), group, np.full(40, 1.0), y)
    a = found.alpha
    expected = own(K, np.ones(80), group, np.full(40, 1.0), y, np.ones(80))
    assert 0.5 * (a * y) @ K @ (a * y) - a.sum() == pytest.approx(expected, rel=1e-8)


def test_members_that_are_there_twice():
    K, y, group, _ = drawn(4)
    twice = np.tile(np.arange(len(y)), 2)
    K2, y2, group2 = K[np.ix_(twice, twice)], y[twice], group[twice]
    limit = np.full(group.max() + 1, 3.0)
    once = solve_grouped(K * np.outer(y, y), np.ones(len(y)), group, limit, y)
    both = solve_grouped(K2 * np.outer(y2, y2), np.ones(len(y2)), group2, limit, y2)
    f, f2 = K @ (once.alpha * y) + once.bias, K2 @ (both.alpha * y2) + both.bias
    np.testing.assert_allclose(f2[: len(y)], f, atol=1e-5)  # the root of the gap


def test_a_group_without_members_has_no_slack():
    K, y, group, _ = drawn(3)
    n = group.max() + 1
    gone = np.isin(group, (0, 7, n - 1))
    kept = np.flatnonzero(~gone)
    limit = np.full(n, 2.0)
    found = solve_grouped(
        (K * np.outer(y, y))[np.ix_(kept, kept)], np.ones(len(kept)), group[kept], limit, y[kept]
    )
    a, part = found.alpha, K[np.ix_(kept, kept)]
    expected = own(part, np.ones(len(kept)), group[kept], limit, y[kept], np.ones(len(kept)))
    assert 0.5 * (a * y[kept]) @ part @ (a * y[kept]) - a.sum() == pytest.approx(expected, rel=1e-8)
    np.testing.assert_allclose(found.slack[[0, 7, n - 1]], 0.0, atol=1e-7)


def test_pairs_are_all_of_a_group():
    group = np.array([1, 0, 1, 2, 1])
    rows, columns = pairs_of_groups(group)
    found = set(zip(rows.tolist(), columns.tolist(), strict=True))
    assert found == {(i, j) for i in range(5) for j in range(5) if group[i] == group[j]}
    assert len(rows) == len(found)


def test_no_answer_is_an_error():
    K, y, group, _ = drawn(0)
    with pytest.raises(SolverFailed, match="Scale the data"):
        solve_grouped(
            K * np.outer(y, y), np.ones(len(y)), group, np.full(group.max() + 1, 1.0), y, max_steps=2
        )
