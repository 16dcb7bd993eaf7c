"""Region blocks on rows: their points, their penalty, and that the order of the rows has no effect."""

import warnings

import cvxpy as cp
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_wine
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV

from priorsvm import (
    RBF,
    Box,
    ClassCosts,
    Ellipsoid,
    Monotone,
    Polyhedron,
    PriorSVC,
    Region,
    Rule,
    check_knowledge,
)
from priorsvm.errors import InvalidInput, PriorSVMWarning
from priorsvm.knowledge.regions import on_rows

pytestmark = pytest.mark.filterwarnings("ignore::priorsvm.errors.AgainstData")

RULE = "x0 >= 1"
GAMMA = 0.3


def table(n=40, seed=0):
    """Return rows of four columns: two that vary together, one of two values, one constant."""
    rng = np.random.default_rng(seed)
    first = rng.normal(size=n)
    second = 0.8 * first + 0.6 * rng.normal(size=n)
    X = np.column_stack([first, second, rng.integers(0, 2, size=n), np.full(n, 3.0)])
    y = (first + 0.5 * second + 0.5 * rng.normal(size=n) > 0).astype(int)
    return X, y


def added(model):
    """Return the rows that the block adds, their signs, costs and margins."""
    sample = model._models[0].sample
    new = slice(sample.n_train, None)
    return sample.X[new], sample.y[new], sample.cost[new], sample.margin[new]


def fitted(block, X, y, **parameters):
    return PriorSVC(block, **parameters).fit(X, y)


# ---------------------------------------------------------------------- the points


@pytest.mark.parametrize(
    ("n", "count", "points"), [(10, 10, 50), (20, 20, 60), (40, 25, 50), (120, 40, 80), (1200, 300, 300)]
)
def test_a_third_of_the_rows_within_limits_repeated_to_fifty(n, count, points):
    X, y = table(n)
    P, sign, cost, margin = added(fitted(Rule(RULE, 1, mu=2.0), X, y, C=3.0))
    assert len(P) == points
    assert points % count == 0
    np.testing.assert_array_equal(sign, 1.0)
    np.testing.assert_array_equal(margin, 1.0)
    np.testing.assert_allclose(cost, 2.0 / points)


def test_points_are_the_nearest_rows_and_rows_inside_stay():
    X, y = table(60)
    P = added(fitted(Rule("x0 >= 1 and x1 >= 1", 1, mu=1.0), X, y))[0][:25]
    off = np.maximum(1.0 - X[:, :2], 0.0) / X[:, :2].std(axis=0)
    nearest = np.argsort(np.linalg.norm(off, axis=1))[:25]
    inside = np.flatnonzero((X[:, :2] >= 1).all(axis=1))
    assert 0 < len(inside) < 25
    for i in inside:
        assert (X[i] == P).all(axis=1).any()
    # Columns of two values and constant columns are those of the nearest rows.
    assert sorted(P[:, 2]) == sorted(X[nearest, 2])
    assert (P[:, 3] == 3.0).all()
    assert (P[:, :2] >= 1 - 1e-9).all()


def test_named_columns_are_drawn_in_the_region_and_the_range_of_the_data():
    X, y = table(200, seed=1)
    P = added(fitted(Rule("x0 >= 1.5", 1, mu=1.0), X, y))[0]
    moved = P[~np.isin(P[:, 0], X[:, 0])][:, 0]
    low, high = 1.5, X[:, 0].max()
    assert low <= moved.min() < low + 0.1 * (high - low)
    assert high - 0.1 * (high - low) < moved.max() <= high
    # Uniform: the greatest distance from the uniform distribution, against its 0.1 % point.
    place = np.sort((moved - low) / (high - low))
    gap = np.abs(place - (np.arange(len(place)) + 0.5) / len(place)).max()
    assert gap < 1.95 / np.sqrt(len(place))


@pytest.mark.filterwarnings("ignore::priorsvm.errors.FarFromData")
def test_beyond_the_data_rows_move_to_the_near_end():
    X, y = table()
    P = added(fitted(Rule("x0 >= 9", 1, mu=1.0), X, y))[0]
    np.testing.assert_array_equal(P[:, 0], 9.0)


@pytest.mark.filterwarnings("ignore::priorsvm.errors.FarFromData")
def test_two_ends_beyond_the_data_are_the_near_end_too():
    X, y = table()
    P = added(fitted(Box({0: (9, 12)}, 1, mu=1.0), X, y))[0]
    np.testing.assert_array_equal(P[:, 0], 9.0)


def test_other_columns_follow_by_regression_on_the_change():
    """Recover which row each point comes from, and compute its other columns independently."""
    X, y = table(90, seed=2)
    low = 1.2
    P = added(fitted(Rule(f"x0 >= {low}", 1, mu=1.0), X, y))[0]
    deviation = X.std(axis=0)
    r = np.corrcoef(X[:, 0], X[:, 1])[0, 1]
    r = np.sign(r) * max(abs(r) - 1 / np.sqrt(len(X)), 0.0)
    moved = 0
    for p in P:
        step = np.clip(r * (p[0] - X[:, 0]) / deviation[0], -2.0, 2.0)
        expected = np.where(X[:, 0] >= low, X[:, 1], X[:, 1] + step * deviation[1])
        source = np.flatnonzero(np.abs(p[1] - expected) < 1e-9)
        assert len(source) >= 1
        assert p[2] in X[source, 2]
        moved += (X[source, 0] < low).all()
    assert moved > 10


def test_a_column_of_two_values_stays_and_may_move_others():
    rng = np.random.default_rng(3)
    flag = rng.integers(0, 2, size=60).astype(float)
    X = np.column_stack([flag, 2 * flag + 0.3 * rng.normal(size=60), flag * (rng.random(60) < 0.9)])
    y = (X[:, 1] + 0.3 * rng.normal(size=60) > 1).astype(int)
    P = added(fitted(Box({1: (2.5, 3.0)}, 1, mu=1.0), X, y))[0]
    assert set(P[:, 0]) <= {0.0, 1.0}
    assert set(P[:, 2]) <= {0.0, 1.0}
    P = added(fitted(Box({0: (1.0, 1.0)}, 1, mu=1.0), X, y))[0]
    assert (P[:, 0] == 1.0).all()


def test_columns_that_within_does_not_name_are_not_drawn():
    """A dict for within restricts the columns it names, and the other columns follow as without it."""
    X, y = table()
    plain = added(fitted(Rule("x0 >= 1", 1, mu=1.0, within=None), X, y))[0]
    for within in ("data", {"x0": (None, 50.0)}, {"x1": (-50.0, 50.0)}):
        P = added(fitted(Rule("x0 >= 1", 1, mu=1.0, within=within), X, y))[0]
        assert set(P[:, 2]) <= {0.0, 1.0}
        if within != {"x1": (-50.0, 50.0)}:
            np.testing.assert_allclose(P, plain)
    cut = added(fitted(Rule("x0 >= 1", 1, mu=1.0, within={"x0": (None, 1.25)}), X, y))[0]
    assert cut[:, 0].max() <= 1.25


def test_unlabeled_rows_join_the_pool():
    X, y = table(30)
    more = table(40, seed=5)[0] + [2.0, 2.0, 0.0, 0.0]
    P = added(fitted(Rule(RULE, 1, mu=1.0, unlabeled=more), X, y))[0]
    inside = np.vstack([X, more])
    inside = inside[inside[:, 0] >= 1]
    assert len(inside) >= 25  # so every point is a row that lies inside
    assert all((inside == p).all(axis=1).any() for p in P)
    frame = pd.DataFrame(more, columns=["a", "b", "c", "d"])
    named = PriorSVC(Rule("a >= 1", 1, mu=1.0, unlabeled=frame)).fit(
        pd.DataFrame(X, columns=["a", "b", "c", "d"]), y
    )
    np.testing.assert_array_equal(added(named)[0], P)


def test_unlabeled_rows_must_have_the_columns_and_a_use():
    X, y = table()
    with pytest.raises(InvalidInput, match="unlabeled"):
        fitted(Rule(RULE, 1, unlabeled=[[1.0]]), X, y)
    with pytest.raises(InvalidInput, match="unlabeled rows are for holds='rows'"):
        fitted(Rule(RULE, 1, hard=True, unlabeled=X), X, y)


def test_rows_of_weight_zero_are_not_in_the_pool():
    X, y = table(50)
    weight = np.ones(50)
    weight[::3] = 0.0
    kept = weight > 0
    far = X.copy()
    far[~kept] += 100.0
    for block in (Rule(RULE, 1, mu=2.0), Rule(RULE, 1)):
        with_zeros = PriorSVC(block).fit(far, y, sample_weight=weight)
        alone = PriorSVC(block).fit(X[kept], y[kept])
        np.testing.assert_allclose(
            with_zeros.decision_function(X), alone.decision_function(X), atol=1e-6, rtol=0
        )


# ---------------------------------------------------------------------- the objective


def blocks(label=0, **given):
    """Return one block of each kind in two columns."""
    return {
        "rule": Rule("x0 >= 1 and x1 >= 0.5", label, **given),
        "linear rule": Rule("x0 + x1 >= 2", label, **given),
        "box": Box({0: (0.5, 1.0)}, label, **given),
        "polyhedron": Polyhedron([[-1.0, -1.0]], [-2.0], label, **given),
        "ellipsoid": Ellipsoid([1.0, 1.0], 0.5, label, **given),
        "region": Region(ring, None, label, within="data", **given),
    }


def ring(Z):
    return np.abs(np.linalg.norm(Z, axis=1) - 1.5) - 0.3


def written_out(X, y, P, sign, C, mu, gamma=None, loss="hinge", hard=False, h=1.0):
    """Return the optimum of the SVM with C mu times the mean loss at points, or the margin at them."""
    rows = np.vstack([X, P])
    if gamma is None:
        phi = rows
    else:
        values, vectors = np.linalg.eigh(rbf_kernel(rows, gamma=gamma))
        kept = values > 1e-11 * values.max()
        phi = vectors[:, kept] * np.sqrt(values[kept])
    w, b = cp.Variable(phi.shape[1]), cp.Variable()
    f = phi @ w + b
    n = len(X)
    slack = cp.pos(1 - cp.multiply(np.where(y == 1, 1.0, -1.0), f[:n]))
    at_points = cp.pos(h - cp.multiply(sign, f[n:]))
    power = (lambda z: cp.sum_squares(z)) if loss == "squared_hinge" else cp.sum
    J = 0.5 * cp.sum_squares(w) + C * power(slack)
    constraints = []
    if hard:
        constraints.append(at_points <= 0)
    else:
        J = J + C * mu / len(P) * power(at_points)
    return cp.Problem(cp.Minimize(J), constraints).solve(solver="CLARABEL")


@pytest.mark.parametrize("name", blocks())
@pytest.mark.parametrize("gamma", [None, GAMMA], ids=["linear", "rbf"])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_the_penalty_is_C_mu_times_the_mean_loss(name, gamma, loss):
    X, y = table()
    X = X[:, :2]
    kernel = "linear" if gamma is None else RBF(gamma)
    model = fitted(blocks(mu=7.0)[name], X, y, C=3.0, loss=loss, kernel=kernel, tol=1e-9)
    P, sign, *_ = added(model)
    assert (sign == -1).all()
    value = written_out(X, y, P, sign, 3.0, 7.0, gamma, loss)
    assert model.objective_ == pytest.approx(value, rel=1e-6)
    plain = PriorSVC(C=3.0, loss=loss, kernel=kernel).fit(X, y)
    assert model.objective_ > plain.objective_ + 0.1


@pytest.mark.filterwarnings("ignore::priorsvm.errors.CollapsedModel")
@pytest.mark.parametrize("name", blocks())
@pytest.mark.parametrize("gamma", [None, GAMMA], ids=["linear", "rbf"])
def test_a_hard_block_has_the_margin_at_its_points(name, gamma):
    X, y = table()
    X = X[:, :2]
    kernel = "linear" if gamma is None else RBF(gamma)
    label = 1 if gamma is None else 0  # a linear f cannot be below -1 among the rows of the other class
    block = blocks(label, hard=True, holds="rows")[name]
    model = fitted(block, X, y, C=3.0, kernel=kernel, tol=1e-9)
    [P] = model._models[0].states[type(block).__name__.lower()].points
    sign = 2.0 * label - 1.0
    value = written_out(X, y, P, sign, 3.0, 0.0, gamma, hard=True)
    assert model.objective_ == pytest.approx(value, rel=1e-5)
    assert (sign * model.decision_function(P)).min() > 1 - 1e-4


def test_a_required_value_is_the_margin_of_the_points():
    X, y = table()
    X = X[:, :2]
    block = Region(ring, None, 1, h=2.0, within="data", mu=4.0)
    model = fitted(block, X, y, tol=1e-9)
    P, sign, _, margin = added(model)
    np.testing.assert_array_equal(margin, 2.0)
    value = written_out(X, y, P, sign, 1.0, 4.0, h=2.0)
    assert model.objective_ == pytest.approx(value, rel=1e-6)


def test_alternatives_share_the_mean():
    X, y = table(90)
    rule = Rule("x0 >= 1.2 or x1 <= -1.5", 1, mu=6.0)
    model = fitted(rule, X, y, C=2.0, tol=1e-9)
    P, sign, cost, _ = added(model)
    assert len(P) == 120  # 60 of each
    np.testing.assert_allclose(cost, 6.0 / 120)
    assert model.objective_ == pytest.approx(written_out(X, y, P, sign, 2.0, 6.0), rel=1e-6)
    parts = [added(fitted(Rule(text, 1, mu=1.0), X, y))[0] for text in ("x0 >= 1.2", "x1 <= -1.5")]
    np.testing.assert_allclose(P, np.vstack(parts))


def test_boxes_of_two_classes_have_their_own_signs():
    X, y = table()
    model = fitted(Box([{0: (1, 2)}, {0: (-2, -1)}], [1, 0], mu=4.0), X, y, tol=1e-9)
    P, sign, *_ = added(model)
    np.testing.assert_array_equal(sign, np.where(P[:, 0] > 0, 1.0, -1.0))
    assert model.objective_ == pytest.approx(written_out(X, y, P, sign, 1.0, 4.0), rel=1e-6)


def test_an_outer_weight_multiplies_mu():
    X, y = table()
    outer = fitted(3 * Rule(RULE, 0, mu=2.0), X, y, tol=1e-9)
    inner = fitted(Rule(RULE, 0, mu=6.0), X, y, tol=1e-9)
    assert outer.objective_ == pytest.approx(inner.objective_, rel=1e-9)
    absent = fitted(0 * Rule(RULE, 0), X, y)
    np.testing.assert_allclose(absent.coef_, PriorSVC().fit(X, y).coef_, atol=1e-6)


def test_costs_of_a_class_do_not_multiply_the_points():
    X, y = table()
    P, _, cost, _ = added(fitted(ClassCosts({0: 5.0}) + Rule(RULE, 0, mu=2.0), X, y))
    np.testing.assert_allclose(cost, 2.0 / len(P))


def test_a_soft_rule_takes_the_route_of_a_weighted_svm():
    X, y = table()
    assert fitted(Rule(RULE, 1, mu=2.0), X, y, kernel=RBF(GAMMA)).solver_ == "LIBSVM"


def test_no_weight_of_a_column_that_the_rule_does_not_name_is_zero():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(60, 13))
    y = (X @ rng.normal(size=13) + 0.5 * rng.normal(size=60) > 0).astype(int)
    rules = Rule("x0 >= 1", 1).named("one") + Rule("x1 <= -1", 0).named("two")
    assert np.abs(fitted(rules, X, y, scale="standard").coef_).min() > 1e-6
    everywhere = Rule("x0 >= 1", 1, hard=True)
    assert (np.abs(fitted(everywhere, X, y, scale="standard").coef_[0, 1:]) < 1e-6).any()


@pytest.mark.parametrize("n", [20, 40, 80])
@pytest.mark.parametrize("grower", [0, 1, 2])
def test_default_rules_use_all_columns_of_a_real_table(n, grower):
    """Wine has 13 columns: a column that the plain model uses keeps a weight, with two rules on others."""
    X, labels = load_wine(return_X_y=True)
    y = (labels == grower).astype(int)
    order = np.random.default_rng(grower).permutation(len(y))[:n]
    high = np.quantile(X[:, 0], 0.8)
    low = np.quantile(X[:, 6], 0.2)
    rules = Rule(f"x0 >= {high:.4g}", 1).named("one") + Rule(f"x6 <= {low:.4g}", 0).named("two")
    plain = np.abs(fitted(None, X[order], y[order], scale="standard").coef_[0])
    model = fitted(rules, X[order], y[order], scale="standard")
    used = plain > 1e-3 * plain.max()
    used[[0, 6]] = False
    weights = np.abs(model.coef_[0])
    assert used.sum() >= 9
    assert weights[used].min() > 1e-6 * weights.max()
    texts = [text for found in model.findings_.values() for text in found.warnings]
    assert not any("to 0" in text for text in texts)


# ---------------------------------------------------------------------- what the parameters mean


@pytest.mark.parametrize(
    ("given", "on_rows"),
    [
        ({}, True),
        ({"mu": 3.0}, True),
        ({"hard": True}, False),
        ({"method": "points"}, False),
        ({"holds": "everywhere"}, False),
        ({"holds": "rows", "hard": True}, True),
    ],
)
@pytest.mark.parametrize("name", blocks())
def test_auto_is_rows_unless_something_requires_everywhere(name, given, on_rows):
    assert blocks(**given)[name].on_rows is on_rows


def test_points_of_a_region_and_residuals_of_a_polyhedron_mean_everywhere():
    given = np.zeros((3, 2))
    assert not Region(ring, given, 1).on_rows
    assert not Region(ring, given.tolist(), 1).on_rows
    assert Region(ring, given, 1, holds="rows").on_rows
    assert Region(ring, np.int64(9), 1, within="data").on_rows
    assert not Polyhedron([[1.0, 0.0]], [1.0], 1, mu_residual=0.1).on_rows


def test_a_region_on_rows_does_not_use_its_points():
    X, y = table()
    X = X[:, :2]
    with_points = fitted(Region(ring, X[:4], 0, mu=3.0, holds="rows", within="data"), X, y)
    without = fitted(Region(ring, None, 0, mu=3.0, within="data"), X, y)
    assert with_points.objective_ == pytest.approx(without.objective_, rel=1e-9)
    assert with_points.formulation()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"holds": "always"}, "holds must be one of 'auto', 'rows', 'everywhere', got 'always'"),
        ({"holds": "rows", "method": "cuts"}, "method='cuts' is for holds='everywhere'"),
        ({"mu": "some"}, "mu must be a nonnegative number"),
        ({"mu": -1.0}, "mu must be a nonnegative number"),
    ],
)
def test_bad_parameters_are_named(given, message):
    X, y = table()
    with pytest.raises(InvalidInput, match=f"block 'rule'.*{message}"):
        fitted(Rule(RULE, 1, **given), X, y)


def test_mu_everywhere_is_one_by_default():
    X, y = table()
    by_default = fitted(Rule(RULE, 1, holds="everywhere"), X, y, C=3.0)
    one = fitted(Rule(RULE, 1, mu=1.0, holds="everywhere"), X, y, C=3.0)
    assert by_default.objective_ == one.objective_


# ---------------------------------------------------------------------- the order of the rows


@pytest.mark.parametrize("name", [*blocks(), "monotone"])
@pytest.mark.parametrize("kernel", ["linear", RBF(GAMMA)], ids=["linear", "rbf"])
@pytest.mark.parametrize("mu", [3.0, pytest.param("auto", marks=pytest.mark.slow)])
def test_the_order_of_the_rows_has_no_effect(name, kernel, mu):
    X, y = table(50)
    X = X[:, :2]
    block = {**blocks(mu=mu), "monotone": Monotone({0: -1}, mu=mu)}[name]
    order = np.random.default_rng(1).permutation(50)
    one = fitted(block, X, y, kernel=kernel, tol=1e-10, solver="CLARABEL")
    other = fitted(block, X[order], y[order], kernel=kernel, tol=1e-10, solver="CLARABEL")
    assert one.objective_ == pytest.approx(other.objective_, rel=1e-9)
    a, b = (m._models[0].members[0].block for m in (one, other))
    if mu == "auto" and a.chosen_weight is not None:
        assert a.chosen_weight.factor == b.chosen_weight.factor
    sets = [sorted(map(tuple, np.vstack(m._models[0].states[m_name(block)].points))) for m in (one, other)]
    np.testing.assert_allclose(*sets, atol=1e-12)
    values = [m.decision_function(X) for m in (one, other)]
    np.testing.assert_allclose(*values, rtol=0, atol=1e-9)


def m_name(block):
    return type(block).__name__.lower()


# ---------------------------------------------------------------------- Monotone


def test_pairs_are_rows_with_two_values_of_the_column():
    X, y = table(40)
    model = fitted(Monotone({0: 1, 1: -1}, mu=10.0), X, y, kernel=RBF(GAMMA))
    points = model._models[0].states["monotone"].points
    assert [len(p) for p in points] == [120, 120]
    for column, p in enumerate(points):
        upper, lower = p[:60], p[60:]
        other = np.arange(4) != column
        np.testing.assert_array_equal(upper[:, other], lower[:, other])
        assert (upper[:, column] > lower[:, column]).all()
        assert np.isin(p[:, column], X[:, column]).all()
        rows = {tuple(row) for row in X[:, other]}
        assert {tuple(row) for row in upper[:, other]} == rows  # 60 pairs of 40 rows: each row occurs


def test_monotone_is_the_mean_over_pairs():
    X, y = table(40)
    C, mu = 3.0, 10.0
    model = fitted(Monotone({0: -1, 1: 1}, mu=mu), X, y, kernel=RBF(GAMMA), C=C, tol=1e-9)
    points = model._models[0].states["monotone"].points
    rows = np.vstack([X, *points])
    values, vectors = np.linalg.eigh(rbf_kernel(rows, gamma=GAMMA))
    kept = values > 1e-11 * values.max()
    w, b = cp.Variable(kept.sum()), cp.Variable()
    f = (vectors[:, kept] * np.sqrt(values[kept])) @ w + b
    J = 0.5 * cp.sum_squares(w) + C * cp.sum(cp.pos(1 - cp.multiply(np.where(y == 1, 1.0, -1.0), f[:40])))
    for start, direction in ((40, -1.0), (160, 1.0)):
        rise = direction * (f[start : start + 60] - f[start + 60 : start + 120])
        J = J + C * mu / 60 * cp.sum(cp.pos(-rise))
    value = cp.Problem(cp.Minimize(J)).solve(solver="CLARABEL")
    assert model.objective_ == pytest.approx(value, rel=1e-6)
    assert model.objective_ > PriorSVC(kernel=RBF(GAMMA), C=C).fit(X, y).objective_ + 0.1


def test_monotone_on_a_linear_model_is_the_sign_of_the_weight():
    X, y = table()
    soft = fitted(Monotone({0: -1}, mu=2.0), X, y)
    everywhere = fitted(Monotone({0: -1}, mu=2.0, holds="everywhere"), X, y)
    assert soft.objective_ == everywhere.objective_


def test_monotone_needs_no_slopes_on_rows():
    X, y = table()
    model = fitted(Monotone({0: 1}, mu=10.0), X, y, kernel="laplacian")
    assert "at pairs of rows" in str(model.verify())


def test_a_constant_column_has_no_pairs():
    X, y = table()
    constant = fitted(Monotone({3: 1}, mu=10.0), X, y, kernel=RBF(GAMMA), solver="CLARABEL")
    plain = PriorSVC(kernel=RBF(GAMMA), solver="CLARABEL").fit(X, y)
    assert constant.objective_ == pytest.approx(plain.objective_, rel=1e-6)


def test_pairs_of_a_hard_block_rise():
    X, y = table()
    model = fitted(Monotone({0: -1}, hard=True, holds="rows"), X, y, kernel=RBF(GAMMA))
    [p] = model._models[0].states["monotone"].points
    f = model.decision_function(p)
    assert (f[60:] - f[:60]).min() > -1e-4
    assert np.ptp(model.decision_function(X)) > 0.3


# ---------------------------------------------------------------------- with scikit-learn


@pytest.mark.slow
def test_grids_paths_and_several_classes():
    rng = np.random.default_rng(6)
    y = np.repeat(["a", "b", "c"], 15)
    X = rng.normal(size=(45, 2)) + np.repeat([[0, 0], [2, 0], [0, 2]], 15, axis=0)
    rule = Rule("x0 >= 2.5", "b")
    model = PriorSVC(rule, n_jobs=2).fit(X, y)
    alone = PriorSVC(rule).fit(X, y)
    np.testing.assert_allclose(model.decision_function(X), alone.decision_function(X))
    signs = [binary.sample.y[45:] for binary in alone._models]
    assert [set(s) for s in signs] == [{-1.0}, {1.0}, {-1.0}]
    grid = {"prior__rule__mu": [0.0, 5.0, "auto"], "prior__rule__holds": ["rows", "everywhere"]}
    search = GridSearchCV(PriorSVC(rule), grid, cv=3).fit(X, y)
    assert len(search.cv_results_["params"]) == 6
    assert not np.isnan(search.cv_results_["mean_test_score"]).any()
    path = PriorSVC(rule).fit_path(X, y, {"rule__mu": [1.0, 5.0], "C": [0.5, 2.0]})
    for mu, C, member in zip([1, 1, 5, 5], [0.5, 2, 0.5, 2], path, strict=True):
        separate = PriorSVC(clone(rule).set_params(mu=float(mu)), C=C).fit(X, y)
        np.testing.assert_allclose(
            member.decision_function(X), separate.decision_function(X), atol=2e-3, rtol=0
        )


def test_assemble_has_the_points_as_rows():
    X, y = table()
    assembly = PriorSVC(Rule(RULE, 0, mu=4.0), C=2.0).assemble(X, y)
    value = assembly.problem.solve(solver="CLARABEL")
    assert value == pytest.approx(fitted(Rule(RULE, 0, mu=4.0), X, y, C=2.0).objective_, rel=1e-6)
    chosen = PriorSVC(Rule(RULE, 1), C=2.0).assemble(X, y).problem.solve(solver="CLARABEL")
    assert chosen == pytest.approx(fitted(Rule(RULE, 1), X, y, C=2.0).objective_, rel=1e-6)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::priorsvm.errors.PriorSVMWarning")
@pytest.mark.parametrize("given", [{}, {"mu": 2.0}, {"hard": True, "holds": "rows"}], ids=str)
@pytest.mark.parametrize("name", [*blocks(), "monotone"])
def test_laws(few, name, given):
    block = {**blocks(**given), "monotone": Monotone({0: 1}, **given)}[name]
    passed = check_knowledge(block, *few)
    assert "weight 0 disables the block" in passed
    assert ("mu='auto' can be chosen" in passed) == ("mu" not in given)


def test_fits_without_warnings():
    X, y = table()
    with warnings.catch_warnings():
        warnings.simplefilter("error", PriorSVMWarning)
        fitted(Rule("x0 >= 1", 1), X, y)


# ---------------------------------------------------------------------- whole numbers


def counts(n=40, seed=0):
    """Return rows with a column of counts, a column that follows them, and a column of measurements."""
    rng = np.random.default_rng(seed)
    first = rng.integers(0, 9, size=n).astype(float)
    second = np.rint(2 * first + rng.normal(size=n))
    X = np.column_stack([first, second, first + rng.normal(size=n)])
    return X, (first + rng.normal(size=n) > 4).astype(int)


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("x0 >= 6", {6, 7, 8}),
        ("x0 > 6", {7, 8}),
        ("x0 > 6.5", {7, 8}),
        ("2 <= x0 < 5", {2, 3, 4}),
        ("x0 >= 12", {12}),
        ("x0 > 12", {13}),
        ("x0 >= 12.5", {13}),
        ("x0 < -1", {-2}),
        ("x0 > 8", {9}),
        ("x0 >= 4 and x0 != 5", {4, 6, 7, 8}),
        ("x0 * x0 >= 30", {6, 7, 8}),
    ],
)
def test_columns_of_whole_numbers_get_whole_numbers(text, values):
    X, y = counts()
    rows = added(fitted(Rule(text, 1, mu=5.0), X, y))[0]
    if "*" in text:  # the factors are drawn by trials
        assert set(rows[:, 0]) <= values
    else:
        assert set(rows[:, 0]) == values
    np.testing.assert_array_equal(rows[:, 1], np.rint(rows[:, 1]))
    inside = (X[:, 0, None] == list(values)).any(axis=1)
    if not inside.all():
        assert (rows[:, 2] != np.rint(rows[:, 2])).any()


def test_a_box_without_a_whole_number_gets_fractions():
    X, y = counts()
    rows = added(fitted(Box({0: (6.2, 6.8)}, label=1, mu=5.0), X, y))[0]
    assert ((rows[:, 0] >= 6.2) & (rows[:, 0] <= 6.8)).all()


def test_a_wide_range_of_whole_numbers():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 10**7, size=(40, 1)).astype(float)
    y = (X[:, 0] > 5e6).astype(int)
    rows = added(fitted(Rule("x0 > 7654321", 1, mu=5.0), X, y))[0]
    np.testing.assert_array_equal(rows, np.rint(rows))
    assert rows.min() > 7654321
    assert rows.max() <= X.max()
    assert len(np.unique(rows)) > 25


def test_rows_are_ordered_by_key_and_then_by_value():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, (400, 3)).astype(float)
    gaps = rng.random((400, 3)) < 0.4
    order, keys = on_rows._ordered(X, gaps, np.arange(3))
    known = on_rows._keys(X, gaps, np.arange(3))
    assert np.array_equal(order, np.lexsort([*X.T, known]))
    assert np.array_equal(keys, known[order])


def test_the_nearest_rows_are_the_first_rows_of_equal_distance():
    distance = np.random.default_rng(0).integers(0, 9, 500).astype(float)
    for count in (1, 40, 499, 500):
        assert np.array_equal(on_rows._nearest(distance, count), np.lexsort([distance])[:count])


def test_blocks_share_the_keys_of_the_training_rows(monkeypatch):
    calls = []
    digests = on_rows.digests
    monkeypatch.setattr(on_rows, "digests", lambda *args, **kw: calls.append(1) or digests(*args, **kw))
    X = np.random.default_rng(0).normal(size=(200, 3))
    prior = Rule("x0 > 1", 1, mu=1.0) + Rule("x1 > 1", 0, mu=1.0).named("b")
    PriorSVC(prior).fit(X, (X[:, 0] > 0).astype(int))
    assert len(calls) == 1


def test_equal_values_in_single_and_double_precision_have_equal_draws():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 4)).astype(np.float32)
    y = (X[:, 0] + X[:, 1] > 0).astype(int)
    single = PriorSVC(Rule("x0 >= 1", 1, mu=5.0), kernel="rbf").fit(X, y)
    double = PriorSVC(Rule("x0 >= 1", 1, mu=5.0), kernel="rbf").fit(X.astype(float), y)
    np.testing.assert_array_equal(single.decision_function(X), double.decision_function(X))
