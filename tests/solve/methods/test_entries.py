"""Rows whose worst entries change: the projection, the duality gap, and the columns of its dual variables."""

import cvxpy as cp
import numpy as np
import pytest
from scipy.sparse import csr_array

from priorsvm import FeatureDeletion, FeatureScaling, InvariantLoss, PriorSVC, SampleCosts
from priorsvm.solve.methods.entry_projection import Rows, project


@pytest.mark.parametrize("seed", range(4))
def test_the_projection_satisfies_its_conditions(seed):
    rng = np.random.default_rng(seed)
    for trial in range(150):
        n = int(rng.integers(1, 8))
        row = np.sort(rng.integers(0, n, rng.integers(0, 60)))
        size = 10.0 ** rng.uniform(-1, 4)
        entry = np.abs(rng.normal(size=len(row))) * size
        if trial % 3 == 0:
            entry = np.ceil(entry)  # equal entries
        target = size * rng.normal(size=n)
        bound = np.full(n, 10.0 ** rng.uniform(-2, 2))
        limit = rng.integers(0, 7, n).astype(float)
        ratio = 10.0 ** rng.uniform(-1, 2)
        counts = np.bincount(row, minlength=n)
        alpha, tau = project(
            Rows(target, bound, limit, counts, entry, ratio),
            rng.uniform(size=n) * bound,
            size * rng.uniform(size=n),
        )
        above = entry - tau[row]
        total = np.bincount(row, np.clip(above, 0, alpha[row]), minlength=n)
        more = np.bincount(row, np.maximum(above - alpha[row], 0), minlength=n)
        rounding = 1e-10 * (size + bound.max())
        assert np.all(total <= limit * alpha + rounding)
        assert np.all((tau == 0) | (alpha == 0) | (np.abs(total - limit * alpha) <= rounding))
        assert np.allclose(alpha, np.clip(target + (limit * tau + more) / ratio, 0, bound), atol=rounding)


def by_clarabel(X, y, cost, k, low, high):
    n, d = X.shape
    w, b = cp.Variable(d), cp.Variable()
    losses = []
    for i in range(n):
        B = y[i] * cp.multiply(X[i], w)
        gains = cp.maximum((1 - low) * B, (1 - high) * B)
        fall = cp.sum_largest(gains, min(k, d)) if k else 0.0
        losses.append(cost[i] * cp.pos(1 - y[i] * (X[i] @ w + b) + fall))
    problem = cp.Problem(cp.Minimize(0.5 * cp.sum_squares(w) + sum(losses)))
    return problem.solve(solver="CLARABEL")


def drawn(seed):
    """Sparse rows, among them rows of zeros, equal rows and rows with few entries."""
    rng = np.random.default_rng(seed)
    n, d = 30, 12
    X = rng.normal(size=(n, d)) * (rng.uniform(size=(n, d)) < rng.uniform(0.2, 0.9))
    X[0] = 0.0
    X[1] = X[2]
    y = np.where(X[:, 0] - X[:, 1] + 0.5 * rng.normal(size=n) > 0, 1, -1)
    y[:4] = [1, 1, 1, -1]
    return X, y


@pytest.mark.filterwarnings("ignore::priorsvm.errors.CollapsedModel")
@pytest.mark.parametrize("seed", range(12))
def test_the_objective_is_that_of_clarabel(seed):
    X, y = drawn(seed)
    k = [0, 1, 2, 3, 5, 20][seed % 6]
    C = 10.0 ** [-3, -1, 0, 1, 2, 3][(seed + seed // 6) % 6]
    transform = FeatureDeletion(k) if seed % 2 else FeatureScaling(k, 0.5, 2.0)
    costs = {-1: 0.5, 1: 2.0}
    prior = InvariantLoss(transform, method="columns") + SampleCosts(np.where(y > 0, 2.0, 0.5))
    model = PriorSVC(prior, C=C, solver="COLUMNS").fit(csr_array(X), y)
    best = by_clarabel(X, y, C * np.vectorize(costs.get)(y), k, *transform._factors())
    assert model.objective_ == pytest.approx(best, rel=3e-6)
    assert model.report_.solves[0]["residuals"].gap <= 1e-6
    assert len(model.history_) == 1
    assert model.history_[0]["lower"] <= best * (1 + 1e-6)
    worst = model.findings_["invariant_loss"]
    weights = np.where(y[worst.rows] > 0, 1.0, -1.0) * worst.weights
    distance = weights @ worst.points - model.coef_[0]
    gap = model.report_.solves[0]["residuals"].gap * model.objective_
    assert 0.5 * distance @ distance <= gap + 1e-9 * np.square(weights).sum()
    assert np.all(np.diff(worst.points.indptr) - (X[worst.rows] != 0).sum(axis=1) == 0)


@pytest.mark.parametrize("scale", [None, "standard"])
def test_dense_rows_and_classes(scale):
    X, y = drawn(3)
    block = InvariantLoss(FeatureDeletion(2), classes=1, method="columns")
    columns = PriorSVC(block, scale=scale, solver="COLUMNS").fit(X, y)
    closed = PriorSVC(InvariantLoss(FeatureDeletion(2), classes=1, method="closed"), scale=scale).fit(X, y)
    assert len(columns.history_) == 1
    assert columns.objective_ == pytest.approx(closed.objective_, rel=3e-6)
    assert np.allclose(columns.decision_function(X), closed.decision_function(X), atol=5e-3)
    assert set(y[columns.findings_["invariant_loss"].rows]) == {-1, 1}


def test_a_failed_method_leaves_the_columns(monkeypatch):
    X, y = drawn(5)
    model = PriorSVC(InvariantLoss(FeatureDeletion(1), method="columns"), C=10.0, solver="COLUMNS")
    whole = model.fit(X, y).objective_
    monkeypatch.setattr("priorsvm.solve.methods.entries.STAGES", 1)
    rounds = model.fit(X, y)
    assert len(rounds.history_) > 1
    assert rounds.objective_ == pytest.approx(whole, rel=3e-6)


def test_the_stated_problem_has_the_solution():
    X, y = drawn(7)
    model = PriorSVC(InvariantLoss(FeatureDeletion(1), method="columns"), C=10.0, solver="COLUMNS").fit(X, y)
    assert model.problem.value == pytest.approx(model.objective_, rel=1e-6)
    assert model.verify().holds


def test_a_model_of_texts_takes_few_newton_steps():
    rng = np.random.default_rng(0)
    n, d = 400, 1500
    X = np.where(rng.uniform(size=(n, d)) < 5.0 / (np.arange(d) + 20.0), 1.0, 0.0)
    X *= rng.uniform(1.0, 3.0, d)
    y = np.where(X @ rng.normal(size=d) + rng.normal(size=n) > 0, 1, -1)
    block = InvariantLoss(FeatureDeletion(3), method="columns")
    model = PriorSVC(block, C=0.1, solver="COLUMNS").fit(csr_array(X), y)
    solve = model.report_.solves[0]
    assert solve["residuals"].gap <= 1e-6
    assert solve["iterations"] <= 48  # 57 with equal weights of rows and entries
