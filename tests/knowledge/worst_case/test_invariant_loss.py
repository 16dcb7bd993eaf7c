"""The worst of all moves, against all of them written out, cones of other blocks, and the plain machine."""

import warnings
from dataclasses import replace

import cvxpy as cp
import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from priorsvm import (
    RBF,
    ClassCosts,
    FeatureDeletion,
    FeatureScaling,
    FromFunction,
    InvariantLoss,
    Polyhedron,
    PriorSVC,
    Reflection,
    SampleCosts,
    Shift,
    Trajectories,
    UncertainSamples,
    VirtualSamples,
    check_knowledge,
)
from priorsvm._utils.cache import Cache
from priorsvm.errors import InvalidInput, InvalidType, MissingCapability, SolverUnsuited
from priorsvm.solve.routes.columns import solve

SHARP = {"tol_gap_abs": 1e-12, "tol_gap_rel": 1e-12, "tol_feas": 1e-12}
MOVES = Shift([[0.2, 0.1, 0.0], [0.0, 0.2, 0.1]], steps=5)
STAYS = FromFunction(lambda X, theta: X, thetas=[0.0])


def signs(y):
    return np.where(np.asarray(y) == np.max(y), 1.0, -1.0)


def own(X, y, orbit, demand, C, scaling="margin", gram=None, rho=1.0, cost=1.0):
    """The primal with every member of every orbit, over the span of all of them."""
    n, s, d = orbit.shape
    flat, sign = orbit.reshape(n * s, d), np.repeat(signs(y), s)
    if gram is None:
        w, features = cp.Variable(d), flat
        energy = 0.5 * cp.sum_squares(w)
    else:
        size, vectors = np.linalg.eigh(gram(flat, flat))
        kept = size > 1e-11 * size[-1]
        features = vectors[:, kept] * np.sqrt(size[kept])
        w = cp.Variable(features.shape[1])
        energy = 0.5 * cp.sum_squares(w)
    b, xi = cp.Variable(), cp.Variable(n, nonneg=True)
    asked = np.tile(demand, n)
    margin = cp.multiply(sign, features @ w + b)
    rho, shared = np.repeat(np.broadcast_to(rho, n), s), np.kron(np.eye(n), np.ones((s, 1))) @ xi
    row = margin >= asked * rho - shared
    if scaling == "slack":
        row = cp.multiply(asked, margin) >= asked * rho - shared
    problem = cp.Problem(cp.Minimize(energy + C * (np.broadcast_to(cost, n) @ xi)), [row])
    return problem.solve(solver="CLARABEL", **SHARP)


@pytest.fixture(scope="module")
def few(data):
    X, y = data
    return X[:40], y[:40]


@pytest.mark.slow
@pytest.mark.parametrize("solver", ["CLARABEL", "COLUMNS"])
@pytest.mark.parametrize("method", ["columns", "all"])
@pytest.mark.parametrize("scaling", ["margin", "slack"])
@pytest.mark.parametrize("cost", [None, 0.4])
def test_all_members_written_out(few, kernel, gram, cost, scaling, method, solver):
    X, y = few
    model = PriorSVC(InvariantLoss(MOVES, cost, scaling, method), C=2.0, kernel=kernel, solver=solver).fit(
        X, y
    )
    grid = MOVES.theta_grid()
    demand = np.ones(len(grid)) if cost is None else 1 - 0.6 * np.abs(grid).max(axis=1)
    expected = own(X, y, MOVES.orbit(X), demand, 2.0, scaling, None if kernel == "linear" else gram)
    assert model.objective_ == pytest.approx(expected, rel=1e-7 if solver == "CLARABEL" else 1e-8)
    assert model.solver_ == solver
    assert model.verify().holds


def test_both_routes_find_the_same_function(few, kernel, new):
    X, y = few
    ours, theirs = (
        PriorSVC(InvariantLoss(MOVES, method="columns"), kernel=kernel, solver=solver, tol=1e-9).fit(X, y)
        for solver in ("COLUMNS", "CLARABEL")
    )
    np.testing.assert_allclose(ours.decision_function(new), theirs.decision_function(new), atol=1e-5)
    assert ours.problem.solve(solver="CLARABEL") == pytest.approx(ours.objective_, rel=1e-7)


def test_nothing_moves(few, kernel, new):
    X, y = few
    plain = PriorSVC(kernel=kernel, solver="CLARABEL").fit(X, y).decision_function(new)
    for solver in ("CLARABEL", "COLUMNS"):
        model = PriorSVC(InvariantLoss(STAYS), kernel=kernel, solver=solver).fit(X, y)
        np.testing.assert_allclose(model.decision_function(new), plain, atol=1e-5)


def test_columns_are_fewer_than_members(data):
    X, y = data
    model = PriorSVC(InvariantLoss(MOVES), kernel=RBF(0.4)).fit(X, y)
    members = len(X) * (len(MOVES.theta_grid()) - 1)
    assert 0 < model.history_[-1]["columns"] < 0.5 * members


def test_history_has_bounds(data, kernel):
    X, y = data
    model = PriorSVC(InvariantLoss(MOVES, method="columns"), kernel=kernel, C=5.0).fit(X, y)
    lower, upper = (np.array([entry[key] for entry in model.history_]) for key in ("lower", "upper"))
    assert len(lower) > 2
    assert (np.diff(lower) >= -1e-6 * lower[-1]).all()
    assert (upper >= lower - 1e-9).all()
    assert upper[-1] - lower[-1] <= 1e-6 * (1 + lower[-1])
    assert (upper >= lower[-1] * (1 - 1e-6)).all()


def test_stopping_early_warns_with_the_gap(data):
    X, y = data
    with pytest.warns(ConvergenceWarning, match=r"'invariant_loss' .* max_rounds=2 rounds \(gap"):
        PriorSVC(InvariantLoss(MOVES, method="columns"), kernel="rbf", C=10.0, max_rounds=2).fit(X, y)


def test_a_worst_case_is_between_mean_and_sum(few):
    X, y = few
    s = len(MOVES.theta_grid())
    worst = PriorSVC(InvariantLoss(MOVES), C=1.0).fit(X, y).objective_
    total = PriorSVC(VirtualSamples(MOVES), C=1.0).fit(X, y).objective_
    mean = PriorSVC(VirtualSamples(MOVES), C=1.0 / s).fit(X, y).objective_
    assert mean <= worst <= total


def test_straight_moves_are_a_trajectory(few):
    X, y = few
    path = Shift([0.3, 0.1, 0.0])
    ours = PriorSVC(InvariantLoss(path), C=2.0, tol=1e-9).fit(X, y).objective_
    assert ours == pytest.approx(PriorSVC(Trajectories(path, degree=1), C=2.0).fit(X, y).objective_, rel=1e-8)


def test_a_circle_of_moves_is_an_ellipsoid(few):
    """Directions of an ellipsoid's surface, closer and closer, against its cone."""
    X, y = few
    block = UncertainSamples(factor=[[0.3, 0.0], [0.0, 0.2], [0.0, 0.0]])
    cone = PriorSVC(block, C=2.0).fit(X, y).objective_
    errors = []
    for count in (8, 64, 512):
        angles = 2 * np.pi * np.arange(count) / count
        rim = block.radius * np.column_stack([0.3 * np.cos(angles), 0.2 * np.sin(angles), 0 * angles])
        moves = FromFunction(lambda Z, k, rim=rim: Z + rim[int(k) - 1], thetas=np.arange(1, count + 1))
        errors.append(cone - PriorSVC(InvariantLoss(moves, method="columns"), C=2.0).fit(X, y).objective_)
    assert errors[0] > errors[1] > errors[2] > -1e-6 * cone
    assert errors[2] < 1e-4 * cone


def test_quadratic_trajectories_on_a_grid(few):
    X, y = few

    def bend(Z, t):
        return Z + t * np.array([0.2, 0.0, 0.1]) + t**2 * np.array([0.0, 0.3, 0.0])

    cone = PriorSVC(Trajectories(FromFunction(bend, [-1.0, 1.0])), C=2.0).fit(X, y).objective_
    moves = FromFunction(bend, np.linspace(-1, 1, 401))
    grid = PriorSVC(InvariantLoss(moves, method="columns"), C=2.0, tol=1e-9).fit(X, y).objective_
    assert grid == pytest.approx(cone, rel=1e-5)
    assert grid <= cone * (1 + 1e-9)


# ------------------------------------------------------------------ few features


def own_scaling(X, y, k, low, high, C):
    """min |w|^2/2 + C sum [1 - y f + sum_largest(max(0, (1-l)B, (1-u)B), k)]_+, one atom for each row."""
    sign, n = signs(y), len(y)
    w, b, xi = cp.Variable(X.shape[1]), cp.Variable(), cp.Variable(n, nonneg=True)
    constraints = []
    for i in range(n):
        B = sign[i] * cp.multiply(X[i], w)
        gains = cp.maximum(0, (1 - low) * B, (1 - high) * B)
        fall = cp.sum_largest(gains, min(k, X.shape[1])) if k else 0.0
        constraints.append(sign[i] * (X[i] @ w + b) - fall >= 1 - xi[i])
    problem = cp.Problem(cp.Minimize(0.5 * cp.sum_squares(w) + C * cp.sum(xi)), constraints)
    return problem.solve(solver="CLARABEL", **SHARP)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["closed", "columns"])
@pytest.mark.parametrize(
    "transform",
    [FeatureDeletion(1), FeatureDeletion(5), FeatureScaling(1, 0.5, 2.0), FeatureScaling(2, 0.9, 1.0)],
    ids=str,
)
def test_few_features_by_one_atom_for_each_row(few, transform, method):
    X, y = few
    X = X + np.array([3.0, 0.0, 1.0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # some leave a constant
        model = PriorSVC(InvariantLoss(transform, method=method), C=0.5, tol=1e-8).fit(X, y)
    expected = own_scaling(X, y, transform.k, *transform._factors(), 0.5)
    assert model.objective_ == pytest.approx(expected, rel=1e-7)


def test_all_features_may_go(few):
    r"""Then only the harmful terms stay: y b - sum_j [-y w_j x_j]_+ is the margin."""
    X, y = few
    sign = signs(y)
    w, b, xi = cp.Variable(3), cp.Variable(), cp.Variable(len(y), nonneg=True)
    harmful = cp.sum(cp.pos(-cp.multiply(sign[:, None] * X, cp.reshape(w, (1, 3), order="C"))), axis=1)
    problem = cp.Problem(
        cp.Minimize(0.5 * cp.sum_squares(w) + 2.0 * cp.sum(xi)), [sign * b - harmful >= 1 - xi]
    )
    expected = problem.solve(solver="CLARABEL", **SHARP)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = PriorSVC(InvariantLoss(FeatureDeletion(3)), C=2.0).fit(X, y)
    assert model.objective_ == pytest.approx(expected, rel=1e-7)


@pytest.mark.parametrize("transform", [FeatureDeletion(0), FeatureScaling(2, 1.0, 1.0)], ids=str)
@pytest.mark.parametrize("method", ["closed", "columns"])
def test_nothing_can_be_spoiled(few, new, transform, method):
    X, y = few
    plain = PriorSVC(solver="CLARABEL").fit(X, y).decision_function(new)
    model = PriorSVC(InvariantLoss(transform, method=method)).fit(X, y)
    np.testing.assert_allclose(model.decision_function(new), plain, atol=1e-5)


def test_a_pooled_sum_is_something_else(few):
    """A formulation in circulation pools the deletions of all rows; it is not this problem."""
    X, y = few
    X = np.hstack([X, X + 0.1 * np.random.default_rng(0).normal(size=X.shape)])
    sign, (n, d), k = signs(y), X.shape, 1
    w, b, xi = cp.Variable(d), cp.Variable(), cp.Variable(n, nonneg=True)
    t, z, v = cp.Variable(n), cp.Variable(n), cp.Variable((n, d), nonneg=True)
    pooled = sign @ X
    constraints = [
        t >= k * z + X.sum(axis=1),
        *(z + v[:, j] >= pooled[j] * w[j] for j in range(d)),
        cp.multiply(sign, X @ w + b) - t >= 1 - xi,
    ]
    wrong = cp.Problem(cp.Minimize(cp.norm(w) + 2.0 * cp.sum(xi)), constraints).solve(solver="CLARABEL")
    ours = PriorSVC(InvariantLoss(FeatureDeletion(1)), C=2.0).fit(X, y).objective_
    assert ours == pytest.approx(own_scaling(X, y, 1, 0.0, 1.0, 2.0), rel=1e-7)
    assert abs(wrong - ours) > 0.1 * ours


# ------------------------------------------------------------------ with others


@pytest.mark.parametrize("solver", ["CLARABEL", "COLUMNS"])
def test_costs_and_margins_count(few, solver):
    X, y = few
    costs = np.random.default_rng(0).uniform(0.5, 2.0, len(y))
    margins = np.random.default_rng(1).uniform(0.5, 1.5, len(y))
    prior = InvariantLoss(MOVES) + SampleCosts(costs, margins)
    model = PriorSVC(prior, C=2.0, kernel="linear", solver=solver).fit(X, y)
    s = len(MOVES.theta_grid())
    expected = own(X, y, MOVES.orbit(X), np.ones(s), 2.0, rho=margins, cost=costs)
    assert model.objective_ == pytest.approx(expected, rel=1e-7)


def test_a_row_without_cost_asks_nothing(few, kernel, new):
    X, y = few
    weight = np.ones(len(y))
    weight[::4] = 0.0
    kept = weight > 0
    ours = PriorSVC(InvariantLoss(MOVES), kernel=kernel).fit(X, y, sample_weight=weight)
    alone = PriorSVC(InvariantLoss(MOVES), kernel=kernel).fit(X[kept], y[kept])
    np.testing.assert_allclose(ours.decision_function(new), alone.decision_function(new), atol=1e-5)


@pytest.mark.slow
def test_with_a_polyhedron_costs_and_rbf(few):
    X, y = few
    B, d = np.vstack([np.eye(3), -np.eye(3)]), np.array([2.5, 2.5, 1.0, -1.5, -1.5, 1.0])
    prior = InvariantLoss(MOVES) + Polyhedron(B, d, 0) + ClassCosts({1: 3.0})
    model = PriorSVC(prior, kernel=RBF(0.4), C=2.0).fit(X, y)
    assert model.solver_ == "CLARABEL"
    assert model.verify()["invariant_loss"].holds
    assert {"invariant_loss", "polyhedron", "class_costs"} <= {row.block for row in model.report_.rows}
    assert "invariant\\_loss.columns" in str(model.formulation())


def test_three_classes(three):
    X, y = three
    model = PriorSVC(InvariantLoss(Shift([0.2, 0.1])), kernel=RBF(0.5)).fit(X, y)
    for k, name in enumerate("abc"):
        alone = PriorSVC(InvariantLoss(Shift([0.2, 0.1])), kernel=RBF(0.5)).fit(X, y == name)
        assert model.objective_[k] == pytest.approx(alone.objective_, rel=1e-6)
    assert model.verify().holds


def test_w_is_the_sum_of_the_worst_points(few):
    X, y = few
    for solver in ("CLARABEL", "COLUMNS"):
        model = PriorSVC(InvariantLoss(MOVES), solver=solver, tol=1e-9).fit(X, y)
        worst = model.findings_["invariant_loss"]
        total = (worst.weights * signs(y)[worst.rows]) @ worst.points
        np.testing.assert_allclose(total, model.coef_[0], atol=1e-6)
        moved = np.array([MOVES.apply(X[[i]], t)[0] for i, t in zip(worst.rows, worst.thetas, strict=True)])
        np.testing.assert_allclose(moved, worst.points, atol=1e-4)


def test_a_cost_of_your_own(few):
    X, y = few
    cost = InvariantLoss(MOVES, cost=lambda thetas: np.exp(-np.abs(thetas).sum(axis=1)))
    expected = own(X, y, MOVES.orbit(X), np.exp(-np.abs(MOVES.theta_grid()).sum(axis=1)), 2.0)
    assert PriorSVC(cost, C=2.0).fit(X, y).objective_ == pytest.approx(expected, rel=1e-7)


def test_verify_finds_a_move_that_breaks_it(few):
    X, y = few
    model = PriorSVC(InvariantLoss(MOVES)).fit(X, y)
    machine = model._machines[0]
    machine.f = type(machine.f)(machine.f.bias + 0.5, machine.f.coef, machine.f.scale)
    machine.shared_slack = np.zeros(len(X))
    verdict = model.verify()["invariant_loss"]
    scores = machine.f.value(MOVES.orbit(X).reshape(-1, 3)).reshape(len(X), -1)
    hinge = np.maximum(1 - signs(y) * machine.f.value(X), 0)
    assert not verdict.holds
    assert verdict.worst == pytest.approx((signs(y)[:, None] * scores - 1 + hinge[:, None]).min())


# ------------------------------------------------------------------ laws and errors


@pytest.mark.slow
@pytest.mark.parametrize(
    ("block", "kernels"),
    [
        (InvariantLoss(MOVES), ("linear", "rbf")),
        (InvariantLoss(MOVES, 0.5, "slack", "columns"), ("linear", "rbf")),
        (InvariantLoss(FeatureScaling(1, 0.8, 1.2)), ("linear",)),
        (InvariantLoss(FeatureScaling(1, 0.8, 1.2), method="columns"), ("linear",)),
    ],
    ids=str,
)
def test_laws(block, kernels):
    check_knowledge(block, kernels=kernels)


@pytest.mark.parametrize(
    ("block", "error", "said"),
    [
        (
            InvariantLoss(Shift),
            InvalidType,
            r"transform must be a Transform, got the class Shift: write Shift\(",
        ),
        (InvariantLoss(MOVES, scaling="both"), InvalidInput, "scaling must be one of 'margin', 'slack'"),
        (InvariantLoss(MOVES, method="fast"), InvalidInput, "method must be one of"),
        (InvariantLoss(MOVES, cost=2.0), InvalidInput, "cost must be a number from 0 to 1"),
        (InvariantLoss(MOVES, cost="half"), InvalidInput, "cost must be a number from 0 to 1"),
        (InvariantLoss(MOVES, cost=lambda t: t), InvalidInput, "cost must return one number from 0 to 1"),
        (InvariantLoss(MOVES, method="closed"), InvalidInput, "'closed' is for FeatureScaling"),
        (InvariantLoss(Shift([1.0])), InvalidInput, "vector has 1 entries, but X has 3 columns"),
        (InvariantLoss(FeatureDeletion(-1)), InvalidInput, "k must be a whole number"),
        (
            InvariantLoss(FeatureDeletion(1), cost=0.5),
            InvalidInput,
            "cost has no meaning with FeatureDeletion",
        ),
        (InvariantLoss(FeatureDeletion(1), method="all"), InvalidInput, "needs a list of moves"),
        (0.5 * InvariantLoss(MOVES), InvalidInput, "uses the slack of the training rows"),
    ],
)
def test_bad_arguments(few, block, error, said):
    X, y = few
    with pytest.raises(error, match=said) as caught:
        PriorSVC(block).fit(X, y)
    assert "block 'invariant_loss'" in str(caught.value)


def test_few_features_need_a_linear_machine(few):
    X, y = few
    with pytest.raises(MissingCapability, match=r"FeatureDeletion is known for linear machines only"):
        PriorSVC(InvariantLoss(FeatureDeletion(1)), kernel="rbf").fit(X, y)


def test_the_route_of_columns_says_what_it_cannot(few):
    X, y = few
    with pytest.raises(SolverUnsuited, match="one InvariantLoss"):
        PriorSVC(solver="COLUMNS").fit(X, y)
    prior = InvariantLoss(MOVES) + Polyhedron(np.eye(3), -3 * np.ones(3), 1)
    with pytest.raises(SolverUnsuited, match="'polyhedron' does more than add or reweight rows"):
        PriorSVC(prior, solver="COLUMNS").fit(X, y)
    with pytest.raises(SolverUnsuited, match="the 2-norm, the hinge"):
        PriorSVC(InvariantLoss(MOVES), solver="COLUMNS", loss="squared_hinge").fit(X, y)


# ------------------------------------------------------------------ between the members


def turned(Z, angle):
    rotation = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
    return np.hstack([Z[:, :2] @ rotation, Z[:, 2:]])


@pytest.mark.slow
@pytest.mark.parametrize("solver", ["CLARABEL", "COLUMNS"])
def test_moves_in_between_are_those_of_a_fine_grid(few, kernel, solver):
    X, y = few
    machine = {"C": 2.0, "kernel": kernel, "solver": solver}
    coarse = FromFunction(turned, [-0.5, 0.5])
    fine = FromFunction(turned, np.linspace(-0.5, 0.5, 801))
    members = PriorSVC(InvariantLoss(coarse, method="columns"), **machine).fit(X, y).objective_
    between = PriorSVC(InvariantLoss(coarse, method="columns", continuous=True), **machine).fit(X, y)
    grid = PriorSVC(InvariantLoss(fine, method="columns"), **machine).fit(X, y).objective_
    assert between.objective_ == pytest.approx(grid, rel=3e-6)
    assert members < between.objective_ - 1e-4 * grid
    assert between.verify().holds
    angles = np.linspace(-0.5, 0.5, 10_007)
    slack = between._machines[0].slack(between._machines[0].sample)
    scores = np.array([between.decision_function(turned(X, t)) for t in angles])
    assert (signs(y) * scores - 1 + slack).min() > -1e-3


@pytest.mark.slow
def test_two_parameters_in_between(few):
    X, y = few
    cross = Shift([[0.3, 0.0, 0.1], [0.0, 0.2, 0.0]])
    whole = Shift([0.3, 0.0, 0.1]) @ Shift([0.0, 0.2, 0.0])
    for transform, rows in ((cross, 4), (whole, 8)):
        assert len(transform.theta_grid()) == rows + 1
        model = PriorSVC(InvariantLoss(transform, continuous=True), C=2.0).fit(X, y)
        plain = PriorSVC(InvariantLoss(transform), C=2.0).fit(X, y)
        assert model.objective_ == pytest.approx(
            plain.objective_, rel=1e-6
        )  # a straight path is worst at its ends
        assert model.verify().holds


def test_discrete_moves_have_no_between(few):
    X, y = few
    with pytest.raises(InvalidInput, match="'invariant_loss': Reflection is discrete"):
        PriorSVC(InvariantLoss(Reflection(1, (1, 3)), continuous=True)).fit(X, y)


# ------------------------------------------------------------------ the route of columns


def test_machines_that_share_a_kernel_matrix_share_its_centre():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 20)
    X = rng.normal(size=(60, 200))
    X[:, :3] += 3 * np.eye(3)[y]
    X[:, 3] += 5 * y
    moves = InvariantLoss(Shift(0.3 * np.eye(200)[0]))
    ours = PriorSVC(moves, C=0.001, preselect=True).fit(X, y)
    theirs = PriorSVC(moves, C=0.001, preselect=True, solver="CLARABEL").fit(X, y)
    assert set(ours.solver_) == {"COLUMNS"}
    np.testing.assert_allclose(ours.objective_, theirs.objective_, rtol=1e-6)
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-4)


@pytest.mark.parametrize("who", ["nobody", "some", "one class", "everybody"])
def test_rows_that_rest_are_woken_when_they_are_missed(few, kernel, who, monkeypatch):
    monkeypatch.setattr("priorsvm.solve.routes.columns.WORTH", 1.0)  # left out however few they are
    X, y = few
    model = PriorSVC(InvariantLoss(MOVES, method="columns"), C=2.0, kernel=kernel, solver="COLUMNS").fit(X, y)
    machine = model._machines[0]
    state = machine.states["invariant_loss"]
    resting = {
        "nobody": np.zeros(len(X), bool),
        "some": np.random.default_rng(0).random(len(X)) < 0.7,
        "one class": y == y[0],
        "everybody": np.ones(len(X), bool),
    }[who]
    for kept in (slice(None), slice(0, 5), slice(0, 0)):
        columns = state.pick(np.arange(len(state))[kept])
        found, expected = (
            solve(machine.spec, machine.members, {"invariant_loss": held}, machine.sample, Cache())
            for held in (replace(columns, resting=resting), replace(columns, resting=None))
        )
        np.testing.assert_allclose(found.slack, expected.slack, atol=1e-5)
        np.testing.assert_allclose(found.f.value(X), expected.f.value(X), atol=1e-5)
        assert found.outcome.residuals.gap < 1e-8


@pytest.mark.parametrize("where", ["listed", "not listed"])
def test_each_round_adds_the_moves_missed_most_and_no_more_than_hold(data, monkeypatch, where):
    X, y = data
    if where == "not listed":
        monkeypatch.setattr("priorsvm.solve.routes.columns.ALL_BYTES", 0)
    model = PriorSVC(InvariantLoss(MOVES), kernel=RBF(0.4), C=5.0).fit(X, y)
    every = PriorSVC(InvariantLoss(MOVES, method="all"), kernel=RBF(0.4), C=5.0).fit(X, y)
    assert model.objective_ == pytest.approx(every.objective_, rel=1e-6)
    counts = [entry["columns"] for entry in model.history_]
    assert counts[0] == 0
    assert max(np.diff(counts)) <= len(X)
    weights = np.abs(
        np.concatenate([d for name, d in model._machines[0].duals.items() if name != "svm.margin"])
    )
    assert np.mean(weights > 1e-6 * weights.max()) > 0.7  # what holds nothing up has left


@pytest.fixture
def ring():
    """Places on an ellipse around every row of two classes in the plane."""
    rng = np.random.default_rng(16)
    low, high = (
        [rng.uniform(*side, 12) for side in sides]
        for sides in (((0, 2.6), (0.4, 1.5)), ((-2.4, 0.6), (1.6, 2.8)))
    )
    X = np.vstack([np.column_stack(low), np.column_stack(high)])
    turn = 2 * np.pi * np.arange(256) / 256
    rim = UncertainSamples([0.5, 0.15]).radius * np.column_stack([0.5 * np.cos(turn), 0.15 * np.sin(turn)])
    moves = FromFunction(lambda X, k: X + rim[int(k) - 1], np.arange(1, 257))
    return X, np.repeat([0, 1], 12), moves


@pytest.mark.slow
@pytest.mark.parametrize("norm", ["l2", "l1"])
@pytest.mark.parametrize("C", [0.3, 0.5, 1.0])
def test_columns_that_left_do_not_come_back_for_ever(ring, norm, C):
    X, y, moves = ring
    # The bias is not unique in such problems: f changes from round to round and the objective does not.
    found = PriorSVC(InvariantLoss(moves, method="columns"), norm=norm, C=C, tol=1e-9).fit(X, y)
    every = PriorSVC(InvariantLoss(moves, method="all"), norm=norm, C=C).fit(X, y)
    assert found.objective_ == pytest.approx(every.objective_, rel=1e-7)
    assert np.all(np.diff([entry["objective"] for entry in found.history_]) > -1e-7)


def test_a_long_list_of_moves_does_not_send_in_neighbours_only(ring):
    X, y, moves = ring
    found = PriorSVC(InvariantLoss(moves, method="columns"), kernel=RBF(0.5)).fit(X, y)
    assert found.solver_ == "COLUMNS"
    assert found.n_rounds_ <= 12


@pytest.mark.parametrize("solver", ["CLARABEL", "COLUMNS"])
def test_a_small_c_is_no_reason_to_stop(solver):
    y = np.repeat([0, 1], 10)
    X = (np.random.default_rng(0).normal(size=(20, 2)) + 2 * y[:, None]) * 1e3
    moves = Shift([300.0, 0.0])
    every = PriorSVC(InvariantLoss(moves, method="all"), C=1e-6).fit(X, y)
    found = PriorSVC(InvariantLoss(moves, method="columns"), C=1e-6, solver=solver).fit(X, y)
    assert found.objective_ == pytest.approx(every.objective_, rel=1e-5)
    assert found.verify().holds


def test_where_the_own_route_falls_short_clarabel_is_next(few):
    X, y = few
    model = PriorSVC(InvariantLoss(Shift([0.1, 0.0, 0.0])), kernel=RBF(2.0), C=1e9).fit(X, y)
    hard = PriorSVC(InvariantLoss(Shift([0.1, 0.0, 0.0])), kernel=RBF(2.0), C=1e9, solver="CLARABEL").fit(
        X, y
    )
    assert model.objective_ == pytest.approx(hard.objective_, rel=1e-4)
    assert model.history_[-1]["lower"] <= hard.objective_ * (1 + 1e-6)


@pytest.mark.slow
def test_support_vectors_are_those_of_clarabel(few):
    X, y = few
    for seed in range(5):
        rows = np.random.default_rng(seed).permutation(len(X))[:25]
        fits = [
            PriorSVC(InvariantLoss(MOVES), kernel=RBF(0.4), C=2.0, solver=s).fit(X[rows], y[rows])
            for s in ("COLUMNS", "CLARABEL")
        ]
        margins = signs(y[rows]) * fits[1].decision_function(X[rows])
        sure = margins > 1.2
        assert not np.isin(
            np.flatnonzero(sure & ~np.isin(np.arange(25), fits[1].support_)), fits[0].support_
        ).any()


def test_preselect_and_options_of_the_route(few):
    X, y = few
    model = PriorSVC(InvariantLoss(MOVES), kernel="rbf", solver="COLUMNS", preselect=True).fit(X, y)
    assert model.solver_ == "COLUMNS"
    with pytest.raises(InvalidInput, match="COLUMNS takes no solver_options, got bogus"):
        PriorSVC(InvariantLoss(MOVES), kernel="rbf", solver="COLUMNS", solver_options={"bogus": 1}).fit(X, y)


def test_rows_that_hold_nothing_up_are_moved_all_the_same():
    X, y = np.array([[-3.0, 0.0], [-3.0, 1.0], [3.0, 0.0], [3.0, 1.0]]), [0, 0, 1, 1]
    far, near = Shift([2.5, 0.0], steps=5), VirtualSamples(Shift([1.0, 0.0]))
    for kernel in ("linear", RBF(0.1)):
        whole, found = (
            PriorSVC(InvariantLoss(far, method=method) + near, C=10.0, kernel=kernel).fit(X, y)
            for method in ("all", "columns")
        )
        assert found.objective_ == pytest.approx(whole.objective_, rel=1e-6)
        assert found.verify().holds


def test_few_centres_are_drawn_from_the_whole_orbit(few):
    X, y = few
    moves, machine = Shift([0.3, 0.0, 0.0], steps=9), {"kernel": RBF(0.4), "C": 10.0, "n_centres": 9}
    found, whole = (PriorSVC(InvariantLoss(moves, method=m), **machine).fit(X, y) for m in ("auto", "all"))
    assert found.objective_ == pytest.approx(whole.objective_, rel=1e-9)
    for parameters in ({"method": "columns"}, {"continuous": True}):
        with pytest.raises(InvalidInput, match=r"n_centres draws the centres.*norm='l1'"):
            PriorSVC(InvariantLoss(moves, **parameters), **machine).fit(X, y)


@pytest.mark.parametrize("solver", ["CLARABEL", "COLUMNS"])
def test_w_is_the_sum_of_the_worst_points_with_slack_scaling(few, solver):
    X, y = few
    block = InvariantLoss(Shift([0.5, 0.2, 0.0]), cost=0.4, scaling="slack", method="columns")
    model = PriorSVC(block, C=2.0, solver=solver).fit(X, y)
    found = model.findings_["invariant_loss"]
    signs = np.where(y[found.rows] == model.classes_[1], 1.0, -1.0)
    np.testing.assert_allclose((found.weights * signs) @ found.points, model.coef_[0], atol=1e-6)


def test_prices_of_slack_scaling_are_those_of_clarabel(few):
    X, y = few
    block = InvariantLoss(Shift([0.5, 0.2, 0.0]), cost=0.4, scaling="slack", method="columns")
    two = (PriorSVC(block, C=2.0, solver=solver).fit(X, y) for solver in ("CLARABEL", "COLUMNS"))
    price, own = (model.report_["invariant_loss"][0].price for model in two)
    assert price == pytest.approx(own, rel=1e-5)


def test_bounds_with_two_losses_are_bounds(few):
    X, y = few
    both = InvariantLoss(Shift([0.9, 0, 0], steps=5), method="columns") + InvariantLoss(
        Shift([0, 0.9, 0], steps=5), method="columns"
    )
    model = PriorSVC(both, C=10.0, kernel="rbf").fit(X, y)
    for entry in model.history_:
        assert entry["lower"] <= model.objective_ * (1 + 1e-6) <= entry["upper"] * (1 + 2e-6)


def test_no_gap_is_claimed_while_others_are_not_done(few):
    X, y = few
    block = InvariantLoss(Shift([0.9, 0.0, 0.0]), continuous=True, method="columns")
    with pytest.warns(ConvergenceWarning) as caught:
        model = PriorSVC(block, kernel=RBF(2.0), C=10.0, max_rounds=1).fit(X, y)
    assert "gap" not in str(caught[0].message)
    assert "upper" not in model.history_[0]


def test_every_row_keeps_to_what_verify_asks():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(150, 2))
    y = (X[:, 0] + 0.3 * rng.normal(size=150) > 0).astype(int)
    assert PriorSVC(InvariantLoss(Shift([0.4, 0.1], steps=7)), kernel=RBF(1.0)).fit(X, y).verify().holds


PUSH = FromFunction(lambda X, theta: X + theta, [0.3])


@pytest.mark.parametrize(
    ("moves", "said"),
    [
        (FeatureDeletion(1), "continuous has no meaning with FeatureDeletion"),
        (FromFunction(lambda X, theta: X, []), "needs a transform that has moves"),
        (Shift([0.3, 0, 0]) @ Shift([0, 0.3, 0]) @ Shift([0, 0, 0.3]), "35937 moves: use fewer"),
        ((PUSH | PUSH) @ PUSH, "the transform refuses"),
    ],
)
def test_moves_that_have_nothing_in_between_are_refused_before_work(few, moves, said):
    with pytest.raises(InvalidInput, match=said):
        PriorSVC(InvariantLoss(moves, continuous=True)).fit(*few)


@pytest.mark.slow
def test_verify_looks_between_as_finely_as_it_can(few):
    X, y = few
    both = Shift([0.3, 0, 0], steps=5) @ Shift([0, 0.3, 0], steps=5)
    assert PriorSVC(InvariantLoss(both, continuous=True)).fit(X, y).verify().holds


@pytest.mark.parametrize(
    ("cost", "said"),
    [
        (lambda t: t.__setitem__(0, 1), "read-only"),
        (lambda t: 1 / 0, "ZeroDivisionError"),
        (lambda t: ["a"] * len(t), "could not convert"),
    ],
)
def test_a_cost_that_fails_is_named(few, cost, said):
    with pytest.raises(InvalidInput, match=f"'invariant_loss': cost was given as a function.*{said}"):
        PriorSVC(InvariantLoss(Shift([0.3, 0, 0]), cost=cost)).fit(*few)
