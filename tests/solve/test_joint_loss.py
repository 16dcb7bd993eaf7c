"""The loss of the joint model, against scikit-learn and against every transformation and class in CVXPY."""

import itertools

import cvxpy as cp
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.svm import LinearSVC

from priorsvm import (
    RBF,
    ClassCosts,
    FeatureDeletion,
    FeatureScaling,
    FromFunction,
    InvariantLoss,
    PriorSVC,
    SampleCosts,
    Shift,
)

SHARP = {"tol_gap_abs": 1e-12, "tol_gap_rel": 1e-12, "tol_feas": 1e-12}
GAMMA = 0.15
MOVES = Shift([[0.3, 0.1, 0.0], [0.0, 0.2, 0.2]], steps=5)
STAYS = FromFunction(lambda X, theta: X, thetas=[0.0])
BOTH = pytest.mark.parametrize("kernel", ["linear", RBF(GAMMA)], ids=["linear", "rbf"])


def joint(prior=None, **parameters):
    return PriorSVC(prior, multi_class="joint", **parameters)


def one_each(X):
    """The orbit of rows that are not moved."""
    return np.asarray(X)[:, None]


def features_of(points, kernel):
    """Coordinates whose inner products are the kernel matrix of these points."""
    if kernel == "linear":
        return points
    size, vectors = np.linalg.eigh(rbf_kernel(points, gamma=GAMMA))
    kept = size > 1e-11 * size[-1]
    return vectors[:, kept] * np.sqrt(size[kept])


def falling(cost):
    """What a number for the cost means for ``MOVES``, whose parameters run from -1 to 1."""
    return 1.0 - (1.0 - cost) * np.abs(MOVES.theta_grid()).max(axis=1)


# -------------------------------------------------------------------------------- without blocks


@pytest.mark.parametrize(("C", "K", "d"), [(0.1, 3, 3), (1.0, 3, 3), (1.0, 4, 5), (20.0, 5, 2)])
def test_it_is_the_model_of_crammer_and_singer(C, K, d, draw):
    X, y = draw(60, d, K)
    theirs = LinearSVC(
        C=C, multi_class="crammer_singer", fit_intercept=False, tol=1e-9, max_iter=1_000_000, random_state=0
    ).fit(X, y)
    ours = joint(C=C, tol=1e-9).fit(X, y)
    assert_allclose(ours.coef_, theirs.coef_, atol=1e-4)
    new, _ = draw(50, d, K, seed=1)
    scores = np.sort(new @ theirs.coef_.T, axis=1)
    clear = scores[:, -1] - scores[:, -2] > 1e-3
    assert_array_equal(ours.predict(new)[clear], theirs.predict(new)[clear])
    assert_array_equal(ours.intercept_, np.zeros(K))


@BOTH
@pytest.mark.parametrize("C", [0.05, 1.0, 30.0])
def test_plain_rows_written_out(kernel, C, draw, literal):
    X, y = draw()
    model = joint(C=C, kernel=kernel, tol=1e-9).fit(X, y)
    value, f = literal(one_each(X), y, C, kernel)
    assert model.objective_ == pytest.approx(value, rel=1e-8)
    assert_allclose(model.decision_function(X), f[:, 0], atol=1e-4)


@BOTH
def test_moves_that_do_not_move_change_nothing(kernel, draw):
    X, y = draw()
    plain, still = (joint(p, kernel=kernel, tol=1e-9).fit(X, y) for p in (None, InvariantLoss(STAYS)))
    assert still.objective_ == pytest.approx(plain.objective_, rel=1e-9)
    assert_allclose(still.decision_function(X), plain.decision_function(X), atol=1e-5)


def test_functions_sum_to_zero(draw):
    X, y = draw()
    assert_allclose(joint(InvariantLoss(MOVES)).fit(X, y).coef_.sum(axis=0), 0.0, atol=1e-12)


# -------------------------------------------------------------------------------- all moves written out


@pytest.mark.slow
@BOTH
@pytest.mark.parametrize("scaling", ["margin", "slack"])
@pytest.mark.parametrize("cost", [None, 0.8])
def test_all_moves_and_classes_written_out(kernel, scaling, cost, draw, literal):
    X, y = draw()
    model = joint(InvariantLoss(MOVES, cost, scaling), kernel=kernel, C=2.0, tol=1e-9).fit(X, y)
    demand = None if cost is None else falling(cost)
    value, f = literal(MOVES.orbit(X), y, 2.0, kernel, demand, scaling)
    assert model.objective_ == pytest.approx(value, rel=1e-7)
    orbit = MOVES.orbit(X)
    ours = model.decision_function(orbit.reshape(-1, 3)).reshape(f.shape)
    assert_allclose(ours, f, atol=1e-4)
    assert model.verify().holds
    assert model.objective_ > joint(kernel=kernel, C=2.0).fit(X, y).objective_ * (1 + 1e-5)


@BOTH
@pytest.mark.parametrize("scaling", ["margin", "slack"])
def test_confusion_is_a_factor_for_a_pair_of_classes(kernel, scaling, draw, literal):
    X, y = draw()
    given = {(0, 1): 3.0, (2, 0): 0.25}
    factors = np.ones((3, 3))
    factors[0, 1], factors[2, 0] = 3.0, 0.25
    block = InvariantLoss(MOVES, 0.5, scaling, confusion=given)
    model = joint(block, kernel=kernel, tol=1e-9).fit(X, y)
    value, f = literal(MOVES.orbit(X), y, 1.0, kernel, falling(0.5), scaling, confusion=factors)
    assert model.objective_ == pytest.approx(value, rel=1e-7)
    assert_allclose(model.decision_function(X), f[:, 0], atol=1e-4)


def test_confusion_goes_by_the_names_of_the_classes(draw):
    X, y = draw()
    names = np.array(["cat", "ape", "dog"])
    one = joint(InvariantLoss(MOVES, confusion={("cat", "dog"): 4.0}), tol=1e-9).fit(X, names[y])
    two = joint(InvariantLoss(MOVES, confusion={(0, 2): 4.0}), tol=1e-9).fit(X, y)
    assert one.objective_ == pytest.approx(two.objective_, rel=1e-9)
    assert_allclose(one.coef_[[1, 0, 2]], two.coef_, atol=1e-6)


def test_a_cost_that_is_a_function(draw, literal):
    X, y = draw()

    def cost(thetas):
        return np.exp(-np.abs(thetas).sum(axis=1))

    model = joint(InvariantLoss(MOVES, cost), tol=1e-9).fit(X, y)
    value, _ = literal(MOVES.orbit(X), y, demand=cost(MOVES.theta_grid()))
    assert model.objective_ == pytest.approx(value, rel=1e-8)


@BOTH
@pytest.mark.parametrize("scaling", ["margin", "slack"])
def test_costs_margins_and_weights_of_rows(kernel, scaling, draw, literal):
    X, y = draw()
    rng = np.random.default_rng(5)
    costs, margins, weight = rng.uniform(0.2, 3, len(y)), rng.uniform(0, 2, len(y)), rng.uniform(0, 2, len(y))
    costs[[1, 5]], weight[[2, 9]] = 0.0, 0.0
    prior = (
        ClassCosts({2: 4.0})
        + SampleCosts(costs, margins)
        + InvariantLoss(MOVES, 0.5, scaling, confusion={(0, 1): 2.0})
    )
    factors = np.ones((3, 3))
    factors[0, 1] = 2.0
    model = joint(prior, kernel=kernel, C=0.7, tol=1e-9).fit(X, y, weight)
    total = costs * weight * np.where(y == 2, 4.0, 1.0)
    value, f = literal(MOVES.orbit(X), y, 0.7, kernel, falling(0.5), scaling, margins, total, factors)
    assert model.objective_ == pytest.approx(value, rel=1e-7)
    assert_allclose(model.decision_function(X), f[:, 0], atol=1e-4)
    assert not set(model.support_) & {1, 2, 5, 9}


def test_balanced_classes(draw, literal):
    X, y = draw(40)
    kept = np.sort(np.r_[np.flatnonzero(y == 0), np.flatnonzero(y == 1)[:5], np.flatnonzero(y == 2)[:8]])
    X, y = X[kept], y[kept]
    model = joint(ClassCosts("balanced"), tol=1e-9).fit(X, y)
    cost = (len(y) / (3 * np.bincount(y)))[y]
    assert model.objective_ == pytest.approx(literal(one_each(X), y, cost=cost)[0], rel=1e-8)


@BOTH
def test_rows_of_weight_zero_are_not_there(kernel, draw):
    X, y = draw()
    kept = np.arange(len(y)) % 4 != 1
    block = InvariantLoss(MOVES)
    weighted = joint(block, kernel=kernel, tol=1e-9).fit(X, y, kept.astype(float))
    removed = joint(block, kernel=kernel, tol=1e-9).fit(X[kept], y[kept])
    assert weighted.objective_ == pytest.approx(removed.objective_, rel=1e-9)
    assert_allclose(weighted.decision_function(X), removed.decision_function(X), atol=1e-5)
    assert_array_equal(weighted.support_, np.flatnonzero(kept)[removed.support_])


@BOTH
def test_a_weight_of_two_is_a_row_that_is_there_twice(kernel, draw):
    X, y = draw()
    times = np.random.default_rng(3).integers(1, 4, len(y))
    weighted = joint(InvariantLoss(MOVES), kernel=kernel, tol=1e-9).fit(X, y, times.astype(float))
    repeated = joint(InvariantLoss(MOVES), kernel=kernel, tol=1e-9).fit(
        np.repeat(X, times, 0), y.repeat(times)
    )
    assert weighted.objective_ == pytest.approx(repeated.objective_, rel=1e-8)
    assert_allclose(weighted.decision_function(X), repeated.decision_function(X), atol=1e-5)


@pytest.mark.filterwarnings("ignore::priorsvm.errors.CollapsedModel")
@pytest.mark.parametrize("seed", range(4))
def test_random_problems(seed, draw, literal):
    rng = np.random.default_rng(100 + seed)
    n, d, K = int(rng.integers(12, 20)), int(rng.integers(2, 5)), int(rng.integers(3, 5))
    X, y = draw(n, d, K, seed, noise=rng.uniform(0.2, 2.0))
    moves = Shift(rng.normal(scale=0.3, size=d)) @ Shift(rng.normal(scale=0.2, size=d))
    C = float(10 ** rng.uniform(-2, 2))
    kernel = ["linear", RBF(GAMMA)][seed % 2]
    model = joint(InvariantLoss(moves), C=C, kernel=kernel).fit(X, y)
    value, _ = literal(moves.orbit(X), y, C, kernel)
    assert model.objective_ == pytest.approx(value, abs=2e-6 * (1 + value))


# -------------------------------------------------------------------------------- features that are spoilt


def spoilt(X, k, factors):
    """Every row with up to k features multiplied by one of the factors, all of them listed."""
    d = X.shape[1]
    moved = [np.ones(d)]
    for size in range(1, k + 1):
        for which in itertools.combinations(range(d), size):
            for choice in itertools.product(factors, repeat=size):
                one = np.ones(d)
                one[list(which)] = choice
                moved.append(one)
    return X[:, None] * np.array(moved)


SPOILERS = {
    "one goes": (FeatureDeletion(1), 1, [0.0]),
    "two go": (FeatureDeletion(2), 2, [0.0]),
    "all may go": (FeatureDeletion(9), 5, [0.0]),
    "two scaled": (FeatureScaling(2, 0.5, 3.0), 2, [0.5, 3.0]),
}
SPOILT = pytest.mark.parametrize("name", SPOILERS)


def wide(n=24, K=3):
    """Rows of five features, some of them zero, of classes that survive the loss of one."""
    rng = np.random.default_rng(4)
    y = np.arange(n) % K
    X = np.repeat(np.eye(K), 2, axis=1)[:, :5][y] * 2.0 + 0.5 * rng.normal(size=(n, 5))
    X[rng.random(X.shape) < 0.2] = 0.0
    return X, y


@pytest.mark.filterwarnings("ignore::priorsvm.errors.CollapsedModel")
@SPOILT
@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
def test_the_worst_spoilt_features_are_those_of_a_list(name, sparse, literal):
    X, y = wide()
    transform, k, factors = SPOILERS[name]
    orbit = spoilt(X, k, factors)
    block = InvariantLoss(transform, confusion={(0, 1): 2.0})
    model = joint(block, C=3.0, tol=1e-8).fit(csr_array(X) if sparse else X, y)
    confusion = np.ones((3, 3))
    confusion[0, 1] = 2.0
    value, f = literal(orbit, y, 3.0, confusion=confusion)
    assert model.objective_ == pytest.approx(value, rel=1e-7)
    assert_allclose(model.decision_function(X), f[:, 0], atol=1e-4)
    assert model.verify().holds
    if name in ("one goes", "two scaled"):
        assert np.abs(model.coef_).max() > 0.1


@pytest.mark.parametrize("scaling", ["margin", "slack"])
def test_spoilt_features_with_costs_and_margins(scaling, literal):
    X, y = wide()
    rng = np.random.default_rng(6)
    costs, margins = rng.uniform(0.2, 3, len(y)), rng.uniform(0.1, 2, len(y))
    costs[3] = 0.0
    block = InvariantLoss(FeatureDeletion(1), scaling=scaling, confusion={(0, 1): 2.0})
    model = joint(SampleCosts(costs, margins) + block, tol=1e-8).fit(X, y)
    confusion = np.ones((3, 3))
    confusion[0, 1] = 2.0
    orbit = spoilt(X, 1, [0.0])
    value, _ = literal(orbit, y, scaling=scaling, rho=margins, cost=costs, confusion=confusion)
    assert model.objective_ == pytest.approx(value, rel=1e-7)


@pytest.mark.parametrize("prior", [None, ClassCosts({1: 3.0}), SampleCosts(margins=lambda X, y: 1.0 + y)])
def test_sparse_rows_are_dense_rows(prior):
    X, y = wide()
    dense, sparse = (joint(prior, tol=1e-9).fit(A, y) for A in (X, csr_array(X)))
    assert sparse.objective_ == pytest.approx(dense.objective_, rel=1e-9)
    assert_allclose(sparse.coef_, dense.coef_, atol=1e-6)
    assert_allclose(sparse.decision_function(csr_array(X)), dense.decision_function(X), atol=1e-6)
    assert sparse.problem.solve(solver="CLARABEL") == pytest.approx(dense.objective_, rel=1e-6)


@pytest.mark.parametrize("scale", ["standard", "minmax"])
def test_spoilt_features_in_the_units_of_x(scale, literal):
    X, y = wide()
    scaler = {"standard": StandardScaler, "minmax": MinMaxScaler}[scale]().fit(X)
    model = joint(InvariantLoss(FeatureDeletion(1)), scale=scale, tol=1e-8).fit(X, y)
    orbit = spoilt(X, 1, [0.0])
    inner = scaler.transform(orbit.reshape(-1, 5)).reshape(orbit.shape)
    value, f = literal(inner, y)
    assert model.objective_ == pytest.approx(value, rel=1e-7)
    assert_allclose(model.decision_function(X), f[:, 0], atol=1e-4)


# -------------------------------------------------------------------------------- two classes


def binary_without_bias(orbit, y, C, kernel):
    n, s, d = orbit.shape
    features = features_of(orbit.reshape(n * s, d), kernel)
    w, xi = cp.Variable(features.shape[1]), cp.Variable(n, nonneg=True)
    sign = np.repeat(np.where(y == 1, 1.0, -1.0), s)
    asked = cp.multiply(sign, features @ w) >= 1 - xi[np.repeat(np.arange(n), s)]
    problem = cp.Problem(cp.Minimize(0.5 * cp.sum_squares(w) + C * cp.sum(xi)), [asked])
    problem.solve(solver="CLARABEL", **SHARP)
    return problem.value, (features @ w.value).reshape(n, s)


@BOTH
@pytest.mark.parametrize("moves", [None, MOVES], ids=["plain", "moved"])
def test_two_classes_are_the_binary_model_without_bias_at_twice_the_cost(kernel, moves, draw):
    X, y = draw(30, 3, 2)
    orbit = one_each(X) if moves is None else moves.orbit(X)
    model = joint(moves and InvariantLoss(moves), C=0.5, kernel=kernel, tol=1e-9).fit(X, y)
    value, f = binary_without_bias(orbit, y, 1.0, kernel)
    assert model.objective_ == pytest.approx(0.5 * value, rel=1e-7)
    scores = model.decision_function(orbit.reshape(-1, 3)).reshape(f.shape)
    assert_allclose(scores, f, atol=1e-4)
    assert_array_equal(model.predict(X), (f[:, 0] > 0).astype(int))


def test_two_classes_are_sklearns_model_without_bias(draw):
    X, y = draw(40, 3, 2)
    theirs = LinearSVC(
        C=1.0, loss="hinge", fit_intercept=False, tol=1e-10, max_iter=1_000_000, random_state=0
    )
    model = joint(C=0.5, tol=1e-9).fit(X, y)
    assert_allclose(model.coef_[1] - model.coef_[0], theirs.fit(X, y).coef_[0], atol=1e-4)
    assert_allclose(model.coef_[1], -model.coef_[0], atol=1e-12)
