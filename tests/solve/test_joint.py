"""One machine of all classes, against scikit-learn, and against every move and class written out in CVXPY."""

import itertools
import pickle
import re
import warnings

import cvxpy as cp
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from priorsvm import (
    RBF,
    Box,
    ClassCosts,
    FeatureDeletion,
    FeatureScaling,
    FromFunction,
    InvariantLoss,
    MissingValues,
    MonotonicityHint,
    PriorSVC,
    SampleCosts,
    Shift,
    Trajectories,
    UncertainSamples,
    UnlabeledSamples,
    VirtualSamples,
)
from priorsvm.errors import CollapsedModel, InaccurateSolution, InvalidInput, InvalidType, MissingCapability

SHARP = {"tol_gap_abs": 1e-12, "tol_gap_rel": 1e-12, "tol_feas": 1e-12}
GAMMA = 0.15
MOVES = Shift([[0.3, 0.1, 0.0], [0.0, 0.2, 0.2]], steps=5)
STAYS = FromFunction(lambda X, theta: X, thetas=[0.0])
BOTH = pytest.mark.parametrize("kernel", ["linear", RBF(GAMMA)], ids=["linear", "rbf"])


def joint(prior=None, **parameters):
    return PriorSVC(prior, multi_class="joint", **parameters)


def draw(n=24, d=3, K=3, seed=0, noise=0.8):
    """Rows around K corners, and their classes."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % K
    return 1.5 * np.eye(K, d)[y] + noise * rng.normal(size=(n, d)), y


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


def literal(
    orbit, y, C=1.0, kernel="linear", demand=None, scaling="margin", rho=1.0, cost=1.0, confusion=None
):
    """The optimum with every move of every row against every other class, and f at all the moves."""
    n, s, d = orbit.shape
    K = int(y.max()) + 1
    confusion = np.ones((K, K)) if confusion is None else confusion
    demand = np.ones(s) if demand is None else demand
    rho, cost = np.broadcast_to(rho, n), np.broadcast_to(cost, n)
    features = features_of(orbit.reshape(n * s, d), kernel)
    of, move = np.divmod(np.arange(n * s), s)
    W, xi = cp.Variable((features.shape[1], K)), cp.Variable(n, nonneg=True)
    f = features @ W
    true = cp.sum(cp.multiply(f, np.eye(K)[y[of]]), axis=1)
    asked = []
    for k in range(K):
        held = np.flatnonzero(y[of] != k)
        lead, i = true[held] - f[held, k], of[held]
        delta = demand[move[held]] * confusion[y[i], k]
        if scaling == "margin":
            asked.append(lead >= delta * rho[i] - xi[i])
        else:
            asked.append(cp.multiply(delta, rho[i] - lead) <= xi[i])
    problem = cp.Problem(cp.Minimize(0.5 * cp.sum_squares(W) + C * (cost @ xi)), asked)
    problem.solve(solver="CLARABEL", **SHARP)
    return problem.value, f.value.reshape(n, s, K)


def primal(model, orbit, y, C=1.0, demand=1.0):
    """The objective at the coefficients of a linear machine, by hand."""
    f = orbit @ model.coef_.T
    lead = np.take_along_axis(f, y[:, None, None].repeat(orbit.shape[1], 1), axis=2) - f
    asked = np.broadcast_to(demand, orbit.shape[1])[None, :, None] - lead
    asked[np.arange(len(y)), :, y] = 0.0
    return 0.5 * np.sum(model.coef_**2) + C * np.maximum(asked, 0.0).max(axis=(1, 2)).sum()


def falling(cost):
    """What a number for the cost means for ``MOVES``, whose parameters run from -1 to 1."""
    return 1.0 - (1.0 - cost) * np.abs(MOVES.theta_grid()).max(axis=1)


# -------------------------------------------------------------------------------- without blocks


@pytest.mark.parametrize(("C", "K", "d"), [(0.1, 3, 3), (1.0, 3, 3), (1.0, 4, 5), (20.0, 5, 2)])
def test_it_is_the_machine_of_crammer_and_singer(C, K, d):
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
def test_plain_rows_written_out(kernel, C):
    X, y = draw()
    model = joint(C=C, kernel=kernel, tol=1e-9).fit(X, y)
    value, f = literal(one_each(X), y, C, kernel)
    assert model.objective_ == pytest.approx(value, rel=1e-8)
    assert_allclose(model.decision_function(X), f[:, 0], atol=1e-4)


@BOTH
def test_moves_that_do_not_move_change_nothing(kernel):
    X, y = draw()
    plain, still = (joint(p, kernel=kernel, tol=1e-9).fit(X, y) for p in (None, InvariantLoss(STAYS)))
    assert still.objective_ == pytest.approx(plain.objective_, rel=1e-9)
    assert_allclose(still.decision_function(X), plain.decision_function(X), atol=1e-5)


def test_functions_sum_to_zero():
    X, y = draw()
    assert_allclose(joint(InvariantLoss(MOVES)).fit(X, y).coef_.sum(axis=0), 0.0, atol=1e-12)


# -------------------------------------------------------------------------------- all moves written out


@pytest.mark.slow
@BOTH
@pytest.mark.parametrize("scaling", ["margin", "slack"])
@pytest.mark.parametrize("cost", [None, 0.8])
def test_all_moves_and_classes_written_out(kernel, scaling, cost):
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
def test_confusion_is_a_factor_for_a_pair_of_classes(kernel, scaling):
    X, y = draw()
    given = {(0, 1): 3.0, (2, 0): 0.25}
    factors = np.ones((3, 3))
    factors[0, 1], factors[2, 0] = 3.0, 0.25
    block = InvariantLoss(MOVES, 0.5, scaling, confusion=given)
    model = joint(block, kernel=kernel, tol=1e-9).fit(X, y)
    value, f = literal(MOVES.orbit(X), y, 1.0, kernel, falling(0.5), scaling, confusion=factors)
    assert model.objective_ == pytest.approx(value, rel=1e-7)
    assert_allclose(model.decision_function(X), f[:, 0], atol=1e-4)


def test_confusion_goes_by_the_names_of_the_classes():
    X, y = draw()
    names = np.array(["cat", "ape", "dog"])
    one = joint(InvariantLoss(MOVES, confusion={("cat", "dog"): 4.0}), tol=1e-9).fit(X, names[y])
    two = joint(InvariantLoss(MOVES, confusion={(0, 2): 4.0}), tol=1e-9).fit(X, y)
    assert one.objective_ == pytest.approx(two.objective_, rel=1e-9)
    assert_allclose(one.coef_[[1, 0, 2]], two.coef_, atol=1e-6)


def test_a_cost_that_is_a_function():
    X, y = draw()

    def cost(thetas):
        return np.exp(-np.abs(thetas).sum(axis=1))

    model = joint(InvariantLoss(MOVES, cost), tol=1e-9).fit(X, y)
    value, _ = literal(MOVES.orbit(X), y, demand=cost(MOVES.theta_grid()))
    assert model.objective_ == pytest.approx(value, rel=1e-8)


@BOTH
@pytest.mark.parametrize("scaling", ["margin", "slack"])
def test_costs_margins_and_weights_of_rows(kernel, scaling):
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


def test_balanced_classes():
    X, y = draw(40)
    kept = np.sort(np.r_[np.flatnonzero(y == 0), np.flatnonzero(y == 1)[:5], np.flatnonzero(y == 2)[:8]])
    X, y = X[kept], y[kept]
    model = joint(ClassCosts("balanced"), tol=1e-9).fit(X, y)
    cost = (len(y) / (3 * np.bincount(y)))[y]
    assert model.objective_ == pytest.approx(literal(one_each(X), y, cost=cost)[0], rel=1e-8)


@BOTH
def test_rows_of_weight_zero_are_not_there(kernel):
    X, y = draw()
    kept = np.arange(len(y)) % 4 != 1
    block = InvariantLoss(MOVES)
    weighted = joint(block, kernel=kernel, tol=1e-9).fit(X, y, kept.astype(float))
    removed = joint(block, kernel=kernel, tol=1e-9).fit(X[kept], y[kept])
    assert weighted.objective_ == pytest.approx(removed.objective_, rel=1e-9)
    assert_allclose(weighted.decision_function(X), removed.decision_function(X), atol=1e-5)
    assert_array_equal(weighted.support_, np.flatnonzero(kept)[removed.support_])


@BOTH
def test_a_weight_of_two_is_a_row_that_is_there_twice(kernel):
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
def test_random_problems(seed):
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
def test_the_worst_spoilt_features_are_those_of_a_list(name, sparse):
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
def test_spoilt_features_with_costs_and_margins(scaling):
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
def test_spoilt_features_in_the_units_of_x(scale):
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
def test_two_classes_are_the_binary_machine_without_bias_at_twice_the_cost(kernel, moves):
    X, y = draw(30, 3, 2)
    orbit = one_each(X) if moves is None else moves.orbit(X)
    model = joint(moves and InvariantLoss(moves), C=0.5, kernel=kernel, tol=1e-9).fit(X, y)
    value, f = binary_without_bias(orbit, y, 1.0, kernel)
    assert model.objective_ == pytest.approx(0.5 * value, rel=1e-7)
    scores = model.decision_function(orbit.reshape(-1, 3)).reshape(f.shape)
    assert_allclose(scores, f, atol=1e-4)
    assert_array_equal(model.predict(X), (f[:, 0] > 0).astype(int))


def test_two_classes_are_sklearns_machine_without_bias():
    X, y = draw(40, 3, 2)
    theirs = LinearSVC(
        C=1.0, loss="hinge", fit_intercept=False, tol=1e-10, max_iter=1_000_000, random_state=0
    )
    model = joint(C=0.5, tol=1e-9).fit(X, y)
    assert_allclose(model.coef_[1] - model.coef_[0], theirs.fit(X, y).coef_[0], atol=1e-4)
    assert_allclose(model.coef_[1], -model.coef_[0], atol=1e-12)


# -------------------------------------------------------------------------------- how the fit went


@BOTH
@pytest.mark.parametrize("scaling", ["margin", "slack"])
def test_history_has_bounds(kernel, scaling):
    X, y = draw(30)
    model = joint(InvariantLoss(MOVES, 0.8, scaling), kernel=kernel, C=5.0).fit(X, y)
    exact = literal(MOVES.orbit(X), y, 5.0, kernel, falling(0.8), scaling)[0]
    history = model.history_
    lower, upper, gap = (np.array([e[key] for e in history]) for key in ("lower", "upper", "gap"))
    assert len(history) == model.n_rounds_ > 2
    assert [e["round"] for e in history] == list(range(1, len(history) + 1))
    assert (np.diff(lower) >= 0).all()
    assert (np.diff(upper) <= 0).all()
    assert (gap >= -1e-9).all()
    assert (lower <= exact * (1 + 1e-8)).all()
    assert (upper >= exact * (1 - 1e-8)).all()
    assert gap[-1] <= 1e-6
    assert model.objective_ == pytest.approx(history[-1]["objective"], rel=1e-9)
    assert (model.solver_, model.status_) == ("COLUMNS", "optimal")
    assert {e["solver"] for e in history} == {"COLUMNS"}
    assert 0 < history[-1]["columns"] < 2 * len(y) * len(MOVES.theta_grid())


def test_too_few_rounds_warn_with_the_gap():
    X, y = draw(60)
    with pytest.warns(ConvergenceWarning, match=r"joint machine .* max_rounds=1 rounds \(gap") as caught:
        model = joint(InvariantLoss(MOVES), C=5.0, max_rounds=1).fit(X, y)
    [entry] = model.history_
    [message] = [str(w.message) for w in caught if "joint machine" in str(w.message)]
    assert float(re.search(r"gap (\S+)\)", message)[1]) == pytest.approx(entry["gap"], rel=0.05)
    exact = literal(MOVES.orbit(X), y, 5.0)[0]
    assert entry["lower"] <= exact <= entry["upper"]
    assert (entry["upper"] - entry["lower"]) / (1 + entry["upper"]) == pytest.approx(entry["gap"])
    assert model.objective_ == pytest.approx(primal(model, MOVES.orbit(X), y, 5.0), rel=1e-9)


def test_enough_rounds_do_not_warn():
    X, y = draw()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        joint(InvariantLoss(MOVES), kernel="rbf").fit(X, y)


@BOTH
@pytest.mark.parametrize("scaling", ["margin", "slack"])
def test_the_problem_has_the_same_optimum(kernel, scaling):
    X, y = draw()
    prior = ClassCosts({1: 2.0}) + InvariantLoss(MOVES, 0.4, scaling, confusion={(1, 2): 2.0})
    model = joint(prior, kernel=kernel, C=2.0, tol=1e-9).fit(X, y)
    assert model.problem.is_dcp()
    assert model.problem.solve(solver="CLARABEL", **SHARP) == pytest.approx(model.objective_, rel=1e-7)


@pytest.mark.parametrize("scale", [None, "standard"])
@BOTH
def test_the_problem_without_blocks(kernel, scale):
    X, y = draw()
    model = joint(kernel=kernel, scale=scale, tol=1e-9).fit(X, y)
    assert model.problem.solve(solver="CLARABEL", **SHARP) == pytest.approx(model.objective_, rel=1e-7)


def test_the_objective_is_that_of_the_coefficients():
    X, y = draw()
    model = joint(InvariantLoss(MOVES, 0.5), C=2.0).fit(X, y)
    assert model.objective_ == pytest.approx(primal(model, MOVES.orbit(X), y, 2.0, falling(0.5)), rel=1e-9)


def test_the_report_adds_up():
    X, y = draw()
    model = joint(ClassCosts({1: 3.0}) + InvariantLoss(MOVES), C=2.0).fit(X, y)
    report = model.report_
    assert sum(row.contribution for row in report.rows) == pytest.approx(model.objective_, rel=1e-12)
    [regulariser, loss] = report["svm"]
    assert regulariser.contribution == pytest.approx(0.5 * np.sum(model.coef_**2), rel=1e-9)
    assert loss.rows == len(y)
    [sample] = report["class_costs"]
    assert sample.contribution > 0
    [columns] = report["invariant_loss"]
    assert columns.rows == model.history_[-1]["columns"]
    assert columns.price == pytest.approx(loss.price, rel=1e-6)
    assert "COLUMNS optimal" in str(report)
    assert "invariant_loss" in report._repr_html_()
    assert len(report.to_frame()) == len(report.rows)


def test_verify_finds_what_is_asked():
    X, y = draw()
    model = joint(ClassCosts({1: 3.0}) + InvariantLoss(MOVES)).fit(X, y)
    verification = model.verify()
    assert verification.holds
    assert verification["class_costs"].holds is None
    verdict = verification["invariant_loss"]
    assert verdict.proven
    assert verdict.checked == len(y)
    assert verdict.worst == pytest.approx(0.0, abs=1e-5)
    assert "every other class" in str(verification)
    assert str(joint().fit(X, y).verify()) == "There is no block to verify."


def test_verify_sees_what_is_missing():
    X, y = draw(60)
    with pytest.warns(ConvergenceWarning):
        model = joint(InvariantLoss(MOVES), C=5.0, max_rounds=1).fit(X, y)
    verdict = model.verify()["invariant_loss"]
    assert not verdict.holds
    assert verdict.violated > 0
    assert verdict.worst < -1e-3


def test_formulation_has_one_function_for_each_class():
    X, y = draw()
    text = str(joint(InvariantLoss(MOVES), C=2.0).fit(X, y).formulation())
    assert "f_{y_i}" in text
    assert "f_k(x) = w_k" in text
    assert "C = 2" in text
    assert r"invariant\_loss.joint" in text
    assert r"\varphi(x)" in str(joint(kernel="rbf").fit(X, y).formulation())


@pytest.mark.parametrize("scaling", ["margin", "slack"])
def test_formulation_speaks_of_no_binary_machine(scaling):
    X, y = draw()
    text = str(joint(InvariantLoss(MOVES, 0.5, scaling)).fit(X, y).formulation())
    assert "y_i f(" not in text


@BOTH
def test_findings_are_the_moves_that_hold_f_up(kernel):
    X, y = draw()
    model = joint(InvariantLoss(MOVES), C=2.0, kernel=kernel, tol=1e-9).fit(X, y)
    found = model.findings_["invariant_loss"]
    orbit = MOVES.orbit(X)
    assert_array_equal(np.unique(found.rows[found.support]), model.support_)
    for row, point, theta in zip(found.rows, found.points, found.thetas, strict=True):
        assert_allclose(point, MOVES.apply(X[[row]], theta)[0], atol=1e-9)
        assert np.abs(orbit[row] - point).max(axis=1).min() < 1e-9
    held = np.bincount(found.rows, found.weights, minlength=len(y))
    assert held.max() <= 2.0 * (1 + 1e-6)
    f = model.decision_function(orbit.reshape(-1, 3)).reshape(len(y), -1, 3)
    f_true = np.take_along_axis(f, y[:, None, None].repeat(f.shape[1], 1), axis=2)
    lead = np.where(np.arange(3) == y[:, None, None], np.inf, f_true - f).min(axis=(1, 2))
    assert_allclose(held[lead < 1 - 1e-3], 2.0, rtol=1e-5)
    assert_allclose(held[lead > 1 + 1e-3], 0.0, atol=1e-5)
    assert "worst point" in str(found)
    assert "invariant_loss" in str(model.report_)


def test_support_is_what_the_machine_rests_on():
    X, y = draw(60, noise=0.5)
    model = joint(InvariantLoss(MOVES), tol=1e-9).fit(X, y)
    assert 0 < len(model.support_) < len(y)
    again = joint(InvariantLoss(MOVES), tol=1e-9).fit(X[model.support_], y[model.support_])
    assert_allclose(again.coef_, model.coef_, atol=1e-5)


# -------------------------------------------------------------------------------- attributes and copies


def test_shapes():
    X, y = draw()
    three, two = joint().fit(X, y), joint().fit(X, y == 1)
    assert three.decision_function(X[:5]).shape == (5, 3)
    assert two.decision_function(X[:5]).shape == (5,)
    assert three.decision_function(X[:1]).shape == (1, 3)
    assert (three.coef_.shape, two.coef_.shape) == ((3, 3), (2, 3))
    assert (three.intercept_.shape, two.intercept_.shape) == ((3,), (2,))
    for model in (three, two):
        assert isinstance(model.objective_, float)
        assert isinstance(model.history_[0], dict)
        assert isinstance(model.findings_, dict)
        assert not hasattr(model, "centres_")
        assert not hasattr(model, "dual_coef_")
    assert three.predict(X).shape == (len(y),)
    assert_array_equal(three.predict(X), three.decision_function(X).argmax(axis=1))
    assert_array_equal(two.predict(X), two.decision_function(X) > 0)


@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("scale", [None, "standard", "minmax"])
def test_coef_and_intercept_are_f_in_the_units_of_x(scale, K):
    X, y = draw(40, 3, K)
    X = X * [0.1, 1.0, 30.0] + 5
    model = joint(InvariantLoss(Shift(0.1 * X.std(axis=0))), scale=scale, C=0.5).fit(X, y)
    f = X @ model.coef_.T + model.intercept_
    assert_allclose(model.decision_function(X), f[:, 1] - f[:, 0] if K == 2 else f, atol=1e-9)
    assert (model.intercept_ == 0).all() == (scale is None)


@pytest.mark.parametrize("moves", [None, MOVES], ids=["plain", "moved"])
@pytest.mark.parametrize("K", [2, 3])
def test_centres_and_dual_coef_are_f(K, moves):
    X, y = draw(40, 3, K)
    model = joint(moves and InvariantLoss(moves), kernel=RBF(GAMMA)).fit(X, y)
    assert model.dual_coef_.shape == (K, len(model.centres_))
    f = rbf_kernel(X, model.centres_, gamma=GAMMA) @ model.dual_coef_.T + model.intercept_
    assert_allclose(model.decision_function(X), f[:, 1] - f[:, 0] if K == 2 else f, atol=1e-10)
    assert_array_equal(model.intercept_, np.zeros(K))
    assert not hasattr(model, "coef_")


@BOTH
@pytest.mark.parametrize("scale", ["standard", "minmax"])
def test_scale_is_a_scaler_before_the_machine(scale, kernel):
    X, y = draw()
    X = X * [0.1, 1.0, 30.0] + 5
    scaler = {"standard": StandardScaler, "minmax": MinMaxScaler}[scale]().fit(X)
    reach = 0.2 * X.std(axis=0)
    inside = joint(InvariantLoss(Shift(reach)), kernel=kernel, scale=scale, tol=1e-9).fit(X, y)
    inner = scaler.transform(X)
    outside = joint(InvariantLoss(Shift(reach / scaler.scale_)), kernel=kernel, tol=1e-9)
    if scale == "minmax":
        outside.set_params(prior=InvariantLoss(Shift(reach * scaler.scale_)))
    outside.fit(inner, y)
    assert inside.objective_ == pytest.approx(outside.objective_, rel=1e-8)
    assert_allclose(inside.decision_function(X), outside.decision_function(inner), atol=1e-5)


@BOTH
def test_the_order_of_rows_is_of_no_effect(kernel):
    X, y = draw()
    order = np.random.default_rng(1).permutation(len(y))
    one = joint(InvariantLoss(MOVES), kernel=kernel, tol=1e-9).fit(X, y)
    two = joint(InvariantLoss(MOVES), kernel=kernel, tol=1e-9).fit(X[order], y[order])
    assert_allclose(two.decision_function(X), one.decision_function(X), atol=1e-5)
    assert_array_equal(two.predict(X), one.predict(X))
    assert_array_equal(np.sort(order[two.support_]), one.support_)


@BOTH
def test_the_names_of_classes_are_of_no_effect(kernel):
    X, y = draw()
    names = np.array(["m", "z", "a"])
    one = joint(InvariantLoss(MOVES), kernel=kernel, tol=1e-9).fit(X, y)
    two = joint(InvariantLoss(MOVES), kernel=kernel, tol=1e-9).fit(X, names[y])
    assert_array_equal(two.classes_, ["a", "m", "z"])
    assert_array_equal(two.predict(X), names[one.predict(X)])
    assert_allclose(two.decision_function(X)[:, [1, 2, 0]], one.decision_function(X), atol=1e-5)


@BOTH
def test_a_path_is_fits_one_by_one(kernel):
    X, y = draw()
    values = [0.1, 1.0, 10.0]
    models = joint(InvariantLoss(MOVES), kernel=kernel, tol=1e-9).fit_path(X, y, {"C": values})
    for C, model in zip(values, models, strict=True):
        assert model.C == C
        alone = joint(InvariantLoss(MOVES), C=C, kernel=kernel, tol=1e-9).fit(X, y)
        assert model.objective_ == pytest.approx(alone.objective_, rel=1e-12)
        assert_allclose(model.decision_function(X), alone.decision_function(X), atol=1e-12)
        assert model.problem.solve(solver="CLARABEL") == pytest.approx(alone.objective_, rel=1e-6)


def test_a_path_over_what_the_block_asks():
    X, y = draw()
    models = joint(InvariantLoss(MOVES)).fit_path(X, y, {"invariant_loss__cost": [0.0, 0.5, 1.0]})
    values = [m.objective_ for m in models]
    expected = [literal(MOVES.orbit(X), y, demand=falling(cost))[0] for cost in (0.0, 0.5, 1.0)]
    assert_allclose(values, expected, rtol=1e-6)


def test_a_path_from_one_against_the_rest():
    X, y = draw()
    one, two = PriorSVC().fit_path(X, y, {"multi_class": ["ovr", "joint"]})
    assert len(one.objective_) == 3
    assert two.objective_ == pytest.approx(joint().fit(X, y).objective_)


def test_a_path_to_one_against_the_rest():
    X, y = draw()
    one, two = PriorSVC().fit_path(X, y, {"multi_class": ["joint", "ovr"]})
    assert isinstance(one.objective_, float)
    assert len(two.objective_) == 3


def test_clone_and_search():
    X, y = draw()
    model = joint(InvariantLoss(MOVES, confusion={(0, 1): 2.0}), C=2.0)
    copy = clone(model)
    assert copy.multi_class == "joint"
    assert copy.prior.confusion == {(0, 1): 2.0}
    assert_array_equal(copy.fit(X, y).coef_, model.fit(X, y).coef_)
    search = GridSearchCV(joint(), {"C": [0.01, 1.0]}, cv=3).fit(X, y)
    assert search.best_estimator_.coef_.shape == (3, 3)


@BOTH
@pytest.mark.parametrize("asked", [False, True], ids=["before", "after the problem was asked for"])
def test_pickle(kernel, asked):
    X, y = draw()
    model = joint(ClassCosts({1: 2.0}) + InvariantLoss(MOVES, 0.5, confusion={(0, 1): 2.0}), kernel=kernel)
    model.fit(X, y)
    if asked:
        assert model.problem.is_dcp()
    again = pickle.loads(pickle.dumps(model))
    assert_array_equal(again.decision_function(X), model.decision_function(X))
    assert again.objective_ == model.objective_
    assert again.history_ == model.history_
    assert str(again.report_) == str(model.report_)
    assert again.verify().holds
    assert again.problem.solve(solver="CLARABEL") == pytest.approx(model.objective_, rel=1e-6)
    assert_array_equal(again.findings_["invariant_loss"].weights, model.findings_["invariant_loss"].weights)


@pytest.mark.slow
@parametrize_with_checks([joint()])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


# -------------------------------------------------------------------------------- refusals

OTHERS = {
    "virtual_samples": VirtualSamples(MOVES),
    "unlabeled_samples": UnlabeledSamples(np.zeros((1, 3)), 1),
    "uncertain_samples": UncertainSamples(0.1),
    "trajectories": Trajectories(Shift([0.1, 0.0, 0.0]), degree=1),
    "box": Box({0: (0.0, 1.0)}, 1),
    "monotonicity_hint": MonotonicityHint({0: 1}, label=1),
    "missing_values": MissingValues(),
}


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"norm": "l1"}, "norm='l2'"),
        ({"loss": "squared_hinge"}, "loss='hinge'"),
        ({"n_centres": 5, "kernel": "rbf"}, "n_centres=None"),
        ({"preselect": True}, "preselect=False"),
        ({"solver": "CLARABEL"}, "solver='auto'"),
        ({"solver": ["COLUMNS", "CLARABEL"]}, "solver='auto'"),
        ({"solver_options": {"max_iter": 5}}, "without solver_options"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_parameters_that_are_refused(parameters, message):
    X, y = draw()
    with pytest.raises(InvalidInput, match=re.escape(message)) as refused:
        joint(**parameters).fit(X, y)
    assert "multi_class='joint'" in str(refused.value)


@pytest.mark.parametrize("name", OTHERS)
@pytest.mark.parametrize("beside", [None, InvariantLoss(MOVES)], ids=["alone", "beside"])
def test_other_blocks_are_refused_by_name(name, beside):
    X, y = draw()
    block = OTHERS[name]
    with pytest.raises(MissingCapability, match=f"'{name}'.*multi_class='joint'.*multi_class='ovr'"):
        joint(block if beside is None else beside + block).fit(X, y)


def test_other_blocks_of_weight_zero_are_not_there():
    X, y = draw()
    silent = joint(0 * OTHERS["virtual_samples"] + InvariantLoss(MOVES)).fit(X, y)
    assert silent.objective_ == pytest.approx(joint(InvariantLoss(MOVES)).fit(X, y).objective_, rel=1e-12)


def test_two_losses_are_refused():
    X, y = draw()
    with pytest.raises(MissingCapability, match=r"'second'.*one InvariantLoss"):
        joint(InvariantLoss(MOVES) + InvariantLoss(STAYS).named("second")).fit(X, y)


@pytest.mark.parametrize("method", ["all", "closed", "pegasos"])
def test_methods_that_are_refused(method):
    X, y = draw()
    transform = FeatureDeletion(1) if method == "closed" else MOVES
    with pytest.raises(InvalidInput, match=f"'invariant_loss'.*column generation only, not '{method}'"):
        joint(InvariantLoss(transform, method=method)).fit(X, y)


def test_moves_in_between_are_refused():
    X, y = draw()
    with pytest.raises(InvalidInput, match=r"'invariant_loss'.*continuous=True"):
        joint(InvariantLoss(MOVES, continuous=True)).fit(X, y)


def test_confusion_is_for_the_joint_machine():
    X, y = draw()
    with pytest.raises(InvalidInput, match=r"'invariant_loss'.*confusion requires multi_class='joint'"):
        PriorSVC(InvariantLoss(MOVES, confusion={(0, 1): 2.0})).fit(X, y)


@pytest.mark.parametrize(
    ("confusion", "message"),
    [
        ([(0, 1, 2.0)], "must be a dict"),
        ({0: 2.0}, "the key 0"),
        ({(0, 1, 2): 2.0}, "the key (0, 1, 2)"),
        ({(0, 7): 2.0}, "the key (0, 7): it takes pairs of two different classes of [0, 1, 2]"),
        ({(0, 1): 0.0}, "of (0, 1) must be a positive number, got 0.0"),
        ({(0, 1): -1.0}, "got -1.0"),
        ({(0, 1): np.inf}, "got inf"),
        ({(0, 1): np.nan}, "got nan"),
        ({(0, 1): "much"}, "got 'much'"),
        ({(0, 1): True}, "got True"),
    ],
)
def test_confusion_that_makes_no_sense(confusion, message):
    X, y = draw()
    with pytest.raises(InvalidInput, match=re.escape(message)) as refused:
        joint(InvariantLoss(MOVES, confusion=confusion)).fit(X, y)
    assert "confusion" in str(refused.value)
    assert "'invariant_loss'" in str(refused.value)


def test_a_class_is_not_confused_with_itself():
    X, y = draw()
    with pytest.raises(InvalidInput, match="confusion"):
        joint(InvariantLoss(MOVES, confusion={(0, 0): 2.0})).fit(X, y)


def test_what_kinds_of_rows_are_refused():
    X, y = draw()
    with pytest.raises(InvalidType, match="'invariant_loss' does not accept sparse X"):
        joint(InvariantLoss(MOVES)).fit(csr_array(X), y)
    with pytest.raises(InvalidType, match="sparse X requires a linear model"):
        joint(kernel="rbf").fit(csr_array(X), y)
    with pytest.raises(MissingCapability, match=r"FeatureDeletion.*linear machines only"):
        joint(InvariantLoss(FeatureDeletion(1)), kernel="rbf").fit(X, y)
    with pytest.raises(InvalidInput, match="multi_class must be one of 'ovr', 'joint', got 'ovo'"):
        PriorSVC(multi_class="ovo").fit(X, y)


# -------------------------------------------------------------------------------- edges


def test_a_class_that_costs_nothing_has_a_function_all_the_same():
    X, y = draw()
    model = joint(ClassCosts({0: 0.0}), tol=1e-9).fit(X, y)
    value, f = literal(one_each(X), y, cost=(y != 0).astype(float))
    assert model.objective_ == pytest.approx(value, rel=1e-8)
    assert_allclose(model.decision_function(X), f[:, 0], atol=1e-4)


def test_moves_that_cost_nothing_ask_nothing_with_slack_scaling():
    X, y = draw()
    model = joint(InvariantLoss(Shift([0.3, 0.1, 0.0]), cost=0.0, scaling="slack"), tol=1e-9).fit(X, y)
    assert model.objective_ == pytest.approx(joint(tol=1e-9).fit(X, y).objective_, rel=1e-9)


@pytest.mark.parametrize("C", [1e-6, 1e-3, 1e3, 1e6])
def test_small_and_large_costs(C):
    X, y = draw()
    model = joint(InvariantLoss(MOVES), C=C).fit(X, y)
    assert model.history_[-1]["gap"] <= 1e-6
    assert model.objective_ == pytest.approx(primal(model, MOVES.orbit(X), y, C), rel=1e-9)


@pytest.mark.parametrize(
    "C",
    [
        1e-3,
        1e-4,
        1e-5,
    ],
)
def test_small_costs_are_solved_too(C):
    X, y = draw()
    model = joint(InvariantLoss(MOVES), C=C).fit(X, y)
    assert model.verify().holds
    assert model.objective_ == pytest.approx(literal(MOVES.orbit(X), y, C)[0], rel=1e-5)


def test_rows_that_all_cost_nothing_are_refused():
    X, y = draw()
    with pytest.raises(InvalidInput):
        joint(SampleCosts(np.zeros(len(y)))).fit(X, y)


@pytest.mark.parametrize("asked", [0.0, 0.5])
@pytest.mark.parametrize("multi_class", ["joint", "ovr"])
def test_the_row_itself_asks_for_all_of_its_margin(asked, multi_class):
    X, y = draw()
    block = InvariantLoss(MOVES, cost=lambda thetas: np.full(len(thetas), asked))
    with pytest.raises(InvalidInput, match="cost must be 1 for the row itself"):
        PriorSVC(block, multi_class=multi_class).fit(X, y)


def test_a_constant_f_is_warned_of():
    X = np.random.default_rng(0).normal(size=(60, 3))
    y = np.arange(60) % 3
    with pytest.warns(CollapsedModel, match="'invariant_loss'"):
        joint(InvariantLoss(FeatureDeletion(3))).fit(X, y)


def hard_to_separate():
    X = np.random.default_rng(0).normal(size=(60, 3))
    return X, np.argmax(X + np.random.default_rng(1).normal(size=X.shape), axis=1)


def test_the_way_out_of_an_inaccurate_answer_can_be_gone():
    with pytest.warns(InaccurateSolution, match="a smaller C") as caught:
        joint(InvariantLoss(Shift([0.2, 0.1, 0.0])), kernel="rbf", C=1e8).fit(*hard_to_separate())
    assert not any("CLARABEL" in str(w.message) for w in caught)


@pytest.mark.parametrize(("C", "gamma", "noise"), [(1e3, 0.15, 0.3), (1e3, 1.0, 0.5), (1e4, 1.0, 0.5)])
def test_large_costs_with_a_kernel(C, gamma, noise):
    model = joint(InvariantLoss(Shift([0.2, 0.1, 0.0])), kernel=RBF(gamma), C=C).fit(*draw(noise=noise))
    assert model.history_[-1]["gap"] <= 1e-6


@pytest.mark.parametrize("seed", [183, 255])
def test_slack_scaling_with_a_kernel_where_the_own_method_stalls(seed):
    X, y = np.random.default_rng(seed).normal(size=(12, 3)), np.arange(12) % 2
    moves = Shift([0.4, 0.3, -0.5])
    model = joint(InvariantLoss(moves, 0.5, "slack"), C=50.0, kernel=RBF(0.75)).fit(X, y)
    assert model.history_[-1]["gap"] <= 1e-6
