r"""The factors Gamma and Delta of the invariant loss, given apart, against problems written out in CVXPY."""

import re

import cvxpy as cp
import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.metrics.pairwise import rbf_kernel

from priorsvm import (
    RBF,
    FeatureDeletion,
    InvariantLoss,
    PriorSVC,
    SampleCosts,
    Shift,
    VirtualSamples,
    check_knowledge,
)
from priorsvm.errors import InvalidInput

SHARP = {"tol_gap_abs": 1e-12, "tol_gap_rel": 1e-12, "tol_feas": 1e-12}
WIDTH = 0.3
MOVES = Shift([[0.4, 0.1, 0.0], [0.0, 0.3, 0.2]], steps=5)
BOTH = pytest.mark.parametrize("kernel", ["linear", RBF(WIDTH)], ids=["linear", "rbf"])
STRENGTH = np.abs(MOVES.theta_grid()).max(axis=1)


def rising(thetas):
    return 1.0 + np.abs(thetas).sum(axis=1)


# Gamma of every member of the orbit, as the parameter states it.
GAMMAS = {
    "smaller": (0.4, 1.0 - 0.6 * STRENGTH),
    "larger": (2.5, 1.0 + 1.5 * STRENGTH),
    "a function": (rising, rising(MOVES.theta_grid())),
}
EACH = pytest.mark.parametrize("name", GAMMAS)


def draw(n=26, K=2, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % K
    return 1.5 * np.eye(K, 3)[y] + 0.8 * rng.normal(size=(n, 3)), y


def coordinates(points, kernel):
    """Return rows whose inner products are the kernel matrix."""
    if kernel == "linear":
        return points
    size, vectors = np.linalg.eigh(rbf_kernel(points, gamma=WIDTH))
    kept = size > 1e-11 * size[-1]
    return vectors[:, kept] * np.sqrt(size[kept])


def two_classes(orbit, y, C, kernel, delta, gamma, rho):
    """Solve the problem of two classes with every member of every orbit."""
    n, s, d = orbit.shape
    Z = coordinates(orbit.reshape(-1, d), kernel)
    w = cp.Variable(Z.shape[1])
    b = cp.Variable()
    xi = cp.Variable(n, nonneg=True)
    of, move = np.divmod(np.arange(n * s), s)
    sign = np.where(y == 1, 1.0, -1.0)
    f = Z @ w + b
    margins = cp.multiply(gamma[move] * sign[of], f) >= delta[move] * rho[of] - xi[of]
    problem = cp.Problem(cp.Minimize(0.5 * cp.sum_squares(w) + C * cp.sum(xi)), [margins])
    problem.solve(solver="CLARABEL", **SHARP)
    return problem.value, f.value.reshape(n, s)


def all_classes(orbit, y, C, kernel, delta, gamma):
    """Solve the joint problem; delta and gamma are arrays (members, class, other class)."""
    n, s, d = orbit.shape
    K = int(y.max()) + 1
    Z = coordinates(orbit.reshape(-1, d), kernel)
    W = cp.Variable((Z.shape[1], K))
    xi = cp.Variable(n, nonneg=True)
    f = Z @ W
    margins = []
    for i in range(n):
        for move in range(s):
            for k in set(range(K)) - {y[i]}:
                lead = f[i * s + move, y[i]] - f[i * s + move, k]
                margins.append(gamma[move, y[i], k] * lead >= delta[move, y[i], k] - xi[i])
    problem = cp.Problem(cp.Minimize(0.5 * cp.sum_squares(W) + C * cp.sum(xi)), margins)
    problem.solve(solver="CLARABEL", **SHARP)
    return problem.value, f.value.reshape(n, s, K)


# -------------------------------------------------------------------------------- two classes


@BOTH
@EACH
def test_two_classes_with_both_factors(kernel, name):
    X, y = draw()
    rho = np.random.default_rng(4).uniform(0.5, 1.5, len(y))
    scaling, gamma = GAMMAS[name]
    prior = SampleCosts(margins=rho) + InvariantLoss(MOVES, cost=0.6, scaling=scaling)
    model = PriorSVC(prior, C=2.0, kernel=kernel, tol=1e-8).fit(X, y)
    delta = 1.0 - 0.4 * STRENGTH
    value, f = two_classes(MOVES.orbit(X), y, 2.0, kernel, delta, gamma, rho)
    assert model.objective_ == pytest.approx(value, rel=1e-6)
    assert_allclose(model.decision_function(X), f[:, 0], atol=2e-3)
    assert model.verify().holds
    plain, _ = two_classes(MOVES.orbit(X), y, 2.0, kernel, delta, np.ones(len(delta)), rho)
    assert abs(value - plain) > 1e-3 * plain  # Gamma matters here


@EACH
@pytest.mark.parametrize("method", ["columns", "all"])
def test_routes_agree(name, method):
    X, y = draw(60)
    block = InvariantLoss(MOVES, cost=0.6, scaling=GAMMAS[name][0], method=method)
    values = [
        PriorSVC(block, C=2.0, solver=s, tol=1e-8).fit(X, y).objective_ for s in ("COLUMNS", "CLARABEL")
    ]
    assert values[0] == pytest.approx(values[1], rel=1e-6)


def test_slack_scaling_is_gamma_equal_to_delta():
    X, y = draw()
    delta = 1.0 - 0.6 * STRENGTH
    one = PriorSVC(InvariantLoss(MOVES, cost=0.4, scaling="slack"), kernel=RBF(WIDTH), tol=1e-9).fit(X, y)
    two = PriorSVC(InvariantLoss(MOVES, cost=0.4, scaling=0.4), kernel=RBF(WIDTH), tol=1e-9).fit(X, y)
    assert one.objective_ == pytest.approx(two.objective_, rel=1e-8)
    value, _ = two_classes(MOVES.orbit(X), y, 1.0, RBF(WIDTH), delta, delta, np.ones(len(y)))
    assert two.objective_ == pytest.approx(value, rel=1e-6)


@BOTH
def test_gamma_of_one_is_margin_scaling(kernel):
    X, y = draw()
    one = PriorSVC(InvariantLoss(MOVES, cost=0.5), kernel=kernel).fit(X, y)
    two = PriorSVC(InvariantLoss(MOVES, cost=0.5, scaling=1.0), kernel=kernel).fit(X, y)
    assert one.objective_ == pytest.approx(two.objective_, rel=1e-9)


def test_points_between_members_have_their_gamma():
    X, y = draw()
    move = Shift([0.5, 0.2, 0.0])
    wide = InvariantLoss(move, scaling=2.0, continuous=True)
    model = PriorSVC(wide, C=2.0).fit(X, y)
    fine = Shift([0.5, 0.2, 0.0], steps=201)
    dense = PriorSVC(InvariantLoss(fine, scaling=2.0), C=2.0).fit(X, y)
    assert model.objective_ == pytest.approx(dense.objective_, rel=1e-4)
    assert model.verify().holds


def test_dual_variables_expand_f():
    X, y = draw()
    model = PriorSVC(InvariantLoss(MOVES, scaling=2.5, cost=0.5), C=2.0, tol=1e-9).fit(X, y)
    found = model.findings_["invariant_loss"]
    sign = np.where(y[found.rows] == 1, 1.0, -1.0)
    assert_allclose((found.weights * sign) @ found.points, model.coef_[0], atol=1e-5)


def test_the_formulation_has_gamma():
    X, y = draw()
    text = str(PriorSVC(InvariantLoss(MOVES, scaling=2.0, method="all")).fit(X, y).formulation())
    assert r"\Gamma(\theta)" in text


def test_laws_with_a_number_for_gamma():
    check_knowledge(InvariantLoss(Shift([0.3, 0.1, 0.0]), 0.5, 2.0), kernels=("linear", "rbf"))


# -------------------------------------------------------------------------------- all classes at once


@pytest.mark.slow
@BOTH
@EACH
def test_all_classes_with_both_factors(kernel, name):
    X, y = draw(18, K=3)
    scaling, gamma = GAMMAS[name]
    block = InvariantLoss(
        MOVES,
        cost=0.7,
        scaling=scaling,
        confusion={(0, 1): 2.0},
        confusion_scaling={(0, 1): 0.5, (2, 0): 3.0},
    )
    model = PriorSVC(block, C=1.5, kernel=kernel, multi_class="joint", tol=1e-9).fit(X, y)
    delta = np.multiply.outer(1.0 - 0.3 * STRENGTH, np.ones((3, 3)))
    delta[:, 0, 1] *= 2.0
    gamma = np.multiply.outer(gamma, np.ones((3, 3)))
    gamma[:, 0, 1] *= 0.5
    gamma[:, 2, 0] *= 3.0
    value, f = all_classes(MOVES.orbit(X), y, 1.5, kernel, delta, gamma)
    assert model.objective_ == pytest.approx(value, rel=1e-6)
    assert_allclose(model.decision_function(X), f[:, 0], atol=1e-3)
    assert model.problem.solve(solver="CLARABEL", **SHARP) == pytest.approx(value, rel=1e-6)
    assert model.verify().holds
    assert r"\Gamma(y_i, k, \theta)" in str(model.formulation())


def test_factors_of_pairs_where_orbits_are_not_listed():
    X, y = draw(24, K=3)
    X = np.column_stack([X, X, X[:, ::-1]])  # one deleted feature does not hide a class
    factors = {(0, 1): 0.5, (1, 2): 2.0}
    block = InvariantLoss(FeatureDeletion(1), confusion_scaling=factors)
    model = PriorSVC(block, multi_class="joint", tol=1e-9).fit(X, y)
    orbit = np.stack([X, *(X * (1 - np.eye(9)[j]) for j in range(9))], axis=1)
    gamma = np.ones((10, 3, 3))
    gamma[:, 0, 1] = 0.5
    gamma[:, 1, 2] = 2.0
    value, _ = all_classes(orbit, y, 1.0, "linear", np.ones((10, 3, 3)), gamma)
    assert model.objective_ == pytest.approx(value, rel=1e-6)


# -------------------------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("block", "message"),
    [
        (InvariantLoss(MOVES, scaling=0.0), "scaling must be one of 'margin', 'slack', a positive number"),
        (InvariantLoss(MOVES, scaling=-1), "got -1"),
        (InvariantLoss(MOVES, scaling=np.ones(3)), "scaling must be one of"),
        (InvariantLoss(MOVES, scaling=lambda t: t), "scaling must return one positive number for each"),
        (InvariantLoss(MOVES, scaling=lambda t: 0.0 * t[:, 0]), "scaling must return one positive number"),
        (InvariantLoss(MOVES, scaling=lambda t: 2.0 + t[:, 0]), "scaling must be 1 for the row itself"),
        (InvariantLoss(MOVES, scaling=lambda t: 1 / None), "scaling was given as a function"),
        (InvariantLoss(FeatureDeletion(1), scaling=2.0), "scaling has no meaning with FeatureDeletion"),
        (
            InvariantLoss(MOVES, confusion_scaling={(0, 1): 2.0}),
            "confusion_scaling requires multi_class='joint'",
        ),
        (InvariantLoss(MOVES, scaling=2.0, method="pegasos"), "method='pegasos' requires scaling='margin'"),
    ],
)
def test_values_that_are_refused(block, message):
    X, y = draw()
    with pytest.raises(InvalidInput, match=re.escape(message)) as refused:
        PriorSVC(block).fit(X, y)
    assert "'invariant_loss'" in str(refused.value)


@pytest.mark.parametrize(
    ("block", "message"),
    [
        (
            InvariantLoss(MOVES, 0.5, "slack", confusion_scaling={(0, 1): 2.0}),
            "no effect with scaling='slack'",
        ),
        (InvariantLoss(MOVES, confusion_scaling=[2.0]), "confusion_scaling must be a dict"),
        (InvariantLoss(MOVES, confusion_scaling={(0, 9): 2.0}), "confusion_scaling has the key (0, 9)"),
        (InvariantLoss(MOVES, confusion_scaling={(0, 1): 0}), "must be a positive number, got 0"),
    ],
)
def test_factors_of_pairs_that_are_refused(block, message):
    X, y = draw(18, K=3)
    with pytest.raises(InvalidInput, match=re.escape(message)) as refused:
        PriorSVC(VirtualSamples(MOVES) + block, multi_class="joint").fit(X, y)
    assert "'invariant_loss'" in str(refused.value)


# -------------------------------------------------------------------------------- transforms of classes


@pytest.mark.slow
@BOTH
@pytest.mark.parametrize("method", ["columns", "pegasos"])
@pytest.mark.filterwarnings("ignore::priorsvm.errors.InaccurateSolution")
def test_gamma_with_a_transform_for_each_class(kernel, method):
    X, y = draw(24, K=3)
    moves = {0: Shift([0.4, 0.1, 0.0]), 2: Shift([0.0, 0.3, 0.2])}
    block = InvariantLoss(moves, cost=0.6, scaling=2.0, method=method)
    options = {"solver_options": {"batch": 8}, "tol": 1e-2} if method == "pegasos" else {"tol": 1e-9}
    model = PriorSVC(block, C=0.1, kernel=kernel, multi_class="joint", **options).fit(X, y)
    orbit = np.repeat(X[:, None], 3, axis=1)
    for label, move in moves.items():
        orbit[y == label] = move.orbit(X[y == label])
    delta = np.ones((3, 3, 3))
    gamma = np.ones((3, 3, 3))
    delta[1:, [0, 2]] = 0.6
    gamma[1:, [0, 2]] = 2.0
    value, _ = all_classes(orbit, y, 0.1, kernel, delta, gamma)
    assert model.problem.solve(solver="CLARABEL") == pytest.approx(value, rel=1e-4)
    if method == "columns":
        assert model.objective_ == pytest.approx(value, rel=1e-6)
    else:
        assert model.history_[-1]["lower"] <= value * (1 + 1e-7)
        assert value * (1 - 1e-7) <= model.objective_ <= 1.1 * value


@BOTH
@pytest.mark.filterwarnings("ignore::priorsvm.errors.InaccurateSolution")
def test_passes_with_one_class_that_is_transformed(kernel):
    X, y = draw(60)
    block = InvariantLoss(MOVES, 0.6, classes=1, method="pegasos")
    model = PriorSVC(block, C=0.1, kernel=kernel, tol=1e-2).fit(X, y)
    exact = PriorSVC(InvariantLoss(MOVES, 0.6, classes=1), C=0.1, kernel=kernel, tol=1e-8).fit(X, y)
    assert model.history_[-1]["lower"] <= exact.objective_ * (1 + 1e-7)
    assert exact.objective_ * (1 - 1e-7) <= model.objective_ <= 1.02 * exact.objective_
