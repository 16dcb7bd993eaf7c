"""The worst over all members of orbits, against all members written out, cones, and the plain model."""

import cvxpy as cp
import numpy as np
import pytest

from priorsvm import (
    RBF,
    ClassCosts,
    FeatureDeletion,
    FeatureScaling,
    FromFunction,
    InvariantLoss,
    Polyhedron,
    PriorSVC,
    SampleCosts,
    Shift,
    Trajectories,
    UncertainSamples,
    VirtualSamples,
    check_knowledge,
)
from priorsvm.errors import InvalidInput, InvalidType
from priorsvm.function.fitted import FittedLinear
from priorsvm.knowledge.views import Solved
from priorsvm.sample import Sample

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
    prior = InvariantLoss(MOVES) + Polyhedron(B, d, 0, mu=0.5, holds="everywhere") + ClassCosts({1: 3.0})
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


def test_verify_finds_a_transformation_that_the_slack_does_not_cover(few):
    X, y = few
    model = PriorSVC(InvariantLoss(MOVES)).fit(X, y)
    f = FittedLinear(model.intercept_[0] + 0.5, model.coef_[0])
    sample = Sample.training(X, y, model.classes_, 1)
    hinge = np.maximum(1 - signs(y) * f.value(X), 0)
    block = InvariantLoss(MOVES)
    view = Solved("invariant_loss", sample, block.start(sample), slack=hinge, rows=np.arange(len(X)))
    verdict = block.verify(f, view)
    scores = f.value(MOVES.orbit(X).reshape(-1, 3)).reshape(len(X), -1)
    assert not verdict.holds
    assert verdict.worst == pytest.approx((signs(y)[:, None] * scores - 1 + hinge[:, None]).min())


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
        (
            InvariantLoss(FeatureDeletion(1), method="all"),
            InvalidInput,
            "requires a finite orbit, and FeatureDeletion has none",
        ),
        (0.5 * InvariantLoss(MOVES), InvalidInput, "uses the slack of the training rows"),
    ],
)
def test_bad_arguments(few, block, error, said):
    X, y = few
    with pytest.raises(error, match=said) as caught:
        PriorSVC(block).fit(X, y)
    assert "block 'invariant_loss'" in str(caught.value)


def test_every_row_keeps_to_what_verify_asks():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(150, 2))
    y = (X[:, 0] + 0.3 * rng.normal(size=150) > 0).astype(int)
    assert PriorSVC(InvariantLoss(Shift([0.4, 0.1], steps=7)), kernel=RBF(1.0)).fit(X, y).verify().holds


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
