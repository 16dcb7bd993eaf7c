"""Identities of the invariant loss, each against a computation of its own in this file."""

import re
import warnings
from itertools import combinations

import cvxpy as cp
import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.sparse import csc_array, csr_array
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC

from priorsvm import (
    RBF,
    ClassCosts,
    FeatureDeletion,
    FeatureScaling,
    FromFunction,
    InvariantLoss,
    Polyhedron,
    PriorSVC,
    Shift,
    Trajectories,
    UncertainSamples,
    VirtualSamples,
)

C = 2.0
SHARP = {"tol_gap_abs": 1e-10, "tol_gap_rel": 1e-10, "tol_feas": 1e-10}
MOVES = Shift([[0.2, 0.1, 0.0], [0.0, 0.2, 0.1]], steps=5)


@pytest.fixture(scope="module")
def few(data):
    """Forty rows, and their signs."""
    X, y = data
    return X[:40], y[:40], np.where(y[:40] == 1, 1.0, -1.0)


@pytest.fixture(scope="module")
def redundant():
    """Forty rows of five columns that all know something of the class, and their signs."""
    rng = np.random.default_rng(4)
    sign = np.repeat([-1.0, 1.0], 20)
    X = sign[:, None] * [1.6, 1.2, 1.0, 0.9, 0.8] + rng.normal(scale=0.9, size=(40, 5))
    return X, (sign > 0).astype(int), sign


def factor(K):
    """Coordinates with K as their inner products."""
    size, vectors = np.linalg.eigh(K)
    kept = size > 1e-12 * size[-1]
    return vectors[:, kept] * np.sqrt(size[kept])


def primal(features, owner, sign, cost=C):
    """min |w|^2 / 2 + sum cost xi, sign f >= 1 - xi of the owner, at all of these: value, w, b, xi."""
    w, b, xi = cp.Variable(features.shape[1]), cp.Variable(), cp.Variable(len(sign), nonneg=True)
    margins = cp.multiply(sign[owner], features @ w + b) >= 1 - xi[owner]
    cost = np.broadcast_to(cost, len(sign))
    problem = cp.Problem(cp.Minimize(0.5 * cp.sum_squares(w) + cost @ xi), [margins])
    value = problem.solve(solver="CLARABEL", **SHARP)
    return value, w.value, b.value, xi.value


def generated(X, sign, worst, tol=1e-8):
    """Column generation with an exact oracle ``worst(w)``: a lower and an upper bound."""
    points, owner = X, np.arange(len(X))
    for _ in range(60):
        lower, w, b, xi = primal(points, owner, sign)
        found = worst(w)
        asked = 1 - sign * (found @ w + b)
        upper = 0.5 * w @ w + C * np.maximum(asked, 0).sum()
        if upper - lower <= tol * upper:
            return lower, upper
        new = np.flatnonzero(asked > xi + 0.01 * tol)
        points, owner = np.vstack([points, found[new]]), np.concatenate([owner, new])
    raise AssertionError("the bounds do not meet")


# ------------------------------------------------------------------ special cases that are the SVM


@pytest.mark.parametrize(
    "block",
    [
        InvariantLoss(FromFunction(lambda Z, t: Z, thetas=[0.0])),
        InvariantLoss(FromFunction(lambda Z, t: Z, thetas=[1.0, 2.0]), method="columns"),
        InvariantLoss(FeatureDeletion(0)),
        InvariantLoss(FeatureDeletion(0), method="columns"),
        InvariantLoss(FeatureScaling(2, 1.0, 1.0)),
        InvariantLoss(FeatureScaling(2, 1.0, 1.0), method="columns"),
    ],
    ids=["identity", "identity twice", "k=0", "k=0, columns", "l=u=1", "l=u=1, columns"],
)
def test_what_changes_nothing_is_the_svm(few, new, block):
    X, y, _ = few
    theirs = SVC(kernel="linear", C=C, tol=1e-10).fit(X, y)
    ours = PriorSVC(block, C=C, tol=1e-9).fit(X, y)
    np.testing.assert_allclose(ours.decision_function(new), theirs.decision_function(new), atol=1e-5)


def test_a_hard_margin_is_that_of_virtual_samples():
    """Worst and sum differ in what violations cost, so not where there are none."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 15)
    X = rng.uniform(-1, 1, size=(30, 3)) + np.array([4.0, 0.0, 0.0]) * y[:, None]
    worst, total = (
        PriorSVC(block(MOVES), C=1e3, tol=1e-9).fit(X, y) for block in (InvariantLoss, VirtualSamples)
    )
    assert worst.score(MOVES.orbit(X).reshape(-1, 3), np.repeat(y, len(MOVES.theta_grid()))) == 1
    np.testing.assert_allclose(worst.coef_, total.coef_, atol=1e-6)
    soft = [PriorSVC(block(MOVES), C=0.01).fit(X, y).coef_ for block in (InvariantLoss, VirtualSamples)]
    assert np.abs(soft[0] - soft[1]).max() > 0.01


# ------------------------------------------------------------------ all moves, in the dual


@pytest.mark.parametrize("solver", ["CLARABEL", "COLUMNS"])
def test_columns_are_the_dual_of_all_moves(few, kernel, gram, solver):
    """max sum a - |sum a y phi|^2 / 2 with sum_theta a_i,theta <= C: as many variables as moves."""
    X, y, sign = few
    n, s = len(X), len(MOVES.theta_grid())
    phi = factor(gram(*[MOVES.orbit(X).reshape(n * s, -1)] * 2))
    a, signs = cp.Variable(n * s, nonneg=True), np.repeat(sign, s)
    shared = cp.sum(cp.reshape(a, (n, s), order="C"), axis=1) <= C
    energy = 0.5 * cp.sum_squares(phi.T @ cp.multiply(signs, a))
    dual = cp.Problem(cp.Maximize(cp.sum(a) - energy), [shared, signs @ a == 0])
    block = InvariantLoss(MOVES, method="columns")
    model = PriorSVC(block, C=C, kernel=kernel, solver=solver, tol=1e-9).fit(X, y)
    assert model.objective_ == pytest.approx(dual.solve(solver="CLARABEL", **SHARP), rel=1e-8)
    assert 0 < model.history_[-1]["columns"] < n * (s - 1) / 2
    held = model.findings_["invariant_loss"]
    assert (np.bincount(held.rows, held.weights, minlength=n) <= C * (1 + 1e-6)).all()


def test_the_loss_over_moves_and_classes(few):
    """sup over s and y' of Gamma (f(sx, y') - f(sx, y)) + Delta, f(x, y) = y f(x) / 2: the worst hinge."""
    X, y, sign = few
    model = PriorSVC(InvariantLoss(MOVES), C=C, tol=1e-9).fit(X, y)
    f = model.decision_function(MOVES.orbit(X).reshape(-1, 3)).reshape(len(X), -1)
    other = np.array([-1.0, 1.0])[:, None, None]
    joint = other * f / 2 - sign[:, None] * f / 2 + (other != sign[:, None])
    loss = joint.max(axis=(0, 2))
    np.testing.assert_allclose(loss, np.maximum(1 - sign[:, None] * f, 0).max(axis=1), atol=1e-14)
    energy = 0.5 * np.sum(model.coef_**2)
    assert model.objective_ == pytest.approx(energy + C * loss.sum(), rel=1e-7)


# ------------------------------------------------------------------ bounds


@pytest.mark.parametrize("solver", ["CLARABEL", "COLUMNS"])
def test_the_optimum_is_between_the_bounds_of_every_round(few, kernel, gram, solver):
    X, y, sign = few
    n, s = len(X), len(MOVES.theta_grid())
    phi = factor(gram(*[MOVES.orbit(X).reshape(n * s, -1)] * 2))
    optimum, *_ = primal(phi, np.repeat(np.arange(n), s), sign)
    model = PriorSVC(InvariantLoss(MOVES, method="columns"), C=C, kernel=kernel, solver=solver).fit(X, y)
    lower, upper = (np.array([entry[key] for entry in model.history_]) for key in ("lower", "upper"))
    assert len(lower) > 2
    assert (np.diff(lower) >= -1e-8 * optimum).all()
    assert (lower <= optimum * (1 + 1e-8)).all()
    assert (upper >= optimum * (1 - 1e-8)).all()
    assert upper[-1] - lower[-1] <= 1e-6 * (1 + optimum)
    plain, *_ = primal(phi[::s], np.arange(n), sign)
    assert lower[0] == pytest.approx(plain, rel=1e-6)


def stopped(few):
    X, y, _ = few
    with pytest.warns(ConvergenceWarning, match="'invariant_loss' .* max_rounds=2 rounds") as caught:
        model = PriorSVC(InvariantLoss(MOVES, method="columns"), C=10.0, kernel="rbf", max_rounds=2).fit(X, y)
    return model, str(caught[0].message)


def test_stopping_early_leaves_bounds_apart(few):
    model, _ = stopped(few)
    full = PriorSVC(InvariantLoss(MOVES, method="columns"), C=10.0, kernel="rbf").fit(*few[:2])
    last = model.history_[-1]
    assert model.n_rounds_ == 2
    assert last["lower"] < full.objective_ * (1 - 1e-4) < full.objective_ < last["upper"]
    assert not model.verify().holds


def test_stopping_early_says_how_much_is_missing(few):
    model, said = stopped(few)
    last = model.history_[-1]
    gap = float(re.search(r"gap ([-+.e\d]+)\)", said)[1])
    assert gap > 0.5 * (last["upper"] - last["lower"]) / last["upper"]


# ------------------------------------------------------------------ few features


def deletions(d, k):
    """A row of zeros and ones for every way to lose at most k of d features."""
    lost = [gone for size in range(k + 1) for gone in combinations(range(d), size)]
    return np.array([~np.isin(np.arange(d), gone) for gone in lost], float)


@pytest.mark.parametrize("method", ["closed", "columns"])
@pytest.mark.parametrize("k", [1, 2, 3])
def test_every_deletion_written_out(redundant, k, method):
    """All subsets of at most k of five features, each a constraint of its own."""
    X, y, sign = redundant
    masks = deletions(5, k)
    orbit = X[:, None, :] * masks
    owner = np.repeat(np.arange(len(X)), len(masks))
    expected, _, _, xi = primal(orbit.reshape(-1, 5), owner, sign)
    model = PriorSVC(InvariantLoss(FeatureDeletion(k), method=method), C=C, tol=1e-9).fit(X, y)
    assert model.objective_ == pytest.approx(expected, rel=1e-8)
    listed = FromFunction(lambda Z, m: Z * masks[int(m)], thetas=np.arange(1, len(masks)))
    assert PriorSVC(InvariantLoss(listed), C=C, tol=1e-9).fit(X, y).objective_ == pytest.approx(
        expected, rel=1e-8
    )
    worst = (sign[:, None] * model.decision_function(orbit.reshape(-1, 5)).reshape(len(X), -1)).min(axis=1)
    np.testing.assert_allclose(np.maximum(1 - worst, 0), xi, atol=1e-4)


@pytest.mark.parametrize("method", ["closed", "columns"])
def test_deletion_is_scaling_from_nought_to_one(redundant, method):
    X, y, _ = redundant
    deleted, scaled = (
        PriorSVC(InvariantLoss(transform, method=method), C=C, tol=1e-9).fit(X, y)
        for transform in (FeatureDeletion(1), FeatureScaling(1, 0.0, 1.0))
    )
    assert deleted.objective_ == pytest.approx(scaled.objective_, rel=1e-10)
    np.testing.assert_allclose(deleted.coef_, scaled.coef_, atol=1e-7)


def two_pointers(x, w, y, k, low, high):
    """Algorithm 3 of Teo et al.: sorted shares, the largest shrink, the least grow, whichever gains more."""
    B = y * w * x
    order, moved = np.argsort(B, kind="stable"), x.copy()
    bottom, top = 0, len(x) - 1
    for _ in range(min(k, len(x))):
        by_growth, by_shrinking = (1 - high) * B[order[bottom]], (1 - low) * B[order[top]]
        if max(by_growth, by_shrinking) <= 0:
            break
        if by_shrinking >= by_growth:
            moved[order[top]] *= low
            top -= 1
        else:
            moved[order[bottom]] *= high
            bottom += 1
    return moved


def by_linear_programme(x, w, y, k, low, high):
    """Parts of the way to low or high, at most k in all: the best vertex has none but whole ones."""
    B, d = y * w * x, len(x)
    cost = np.concatenate([(low - 1) * B, (high - 1) * B])
    budget = np.vstack([np.ones((1, 2 * d)), np.hstack([np.eye(d)] * 2)])
    limits = np.concatenate([[k], np.ones(d)])
    return B.sum() + linprog(cost, A_ub=budget, b_ub=limits, bounds=(0, 1), method="highs").fun


@pytest.mark.parametrize("make", [np.asarray, csr_array, csc_array], ids=["dense", "csr", "csc"])
@pytest.mark.parametrize(("low", "high"), [(0.0, 1.0), (0.5, 8.0), (0.0, 2.0), (1.0, 1.5)])
@pytest.mark.parametrize("k", [1, 3, 12, 20])
def test_the_worst_scaling_of_many_features(k, low, high, make):
    """Negative ones, zeros and ties among twelve: the published algorithm and a linear programme."""
    rng = np.random.default_rng(k)
    X = rng.integers(-2, 3, size=(12, 12)).astype(float)
    w, sign = rng.integers(-2, 3, size=12).astype(float), rng.choice([-1.0, 1.0], 12)
    moved = FeatureScaling(k, low, high).worst(make(X), w, sign)
    moved = moved if make is np.asarray else moved.toarray()
    rows = list(zip(X, sign, strict=True))
    reached = sign * (moved @ w)
    np.testing.assert_allclose(
        reached, [s * two_pointers(x, w, s, k, low, high) @ w for x, s in rows], atol=1e-12
    )
    np.testing.assert_allclose(
        reached, [by_linear_programme(x, w, s, k, low, high) for x, s in rows], atol=1e-9
    )
    assert (moved != X).sum(axis=1).max() <= k


def test_all_features_gone_leave_the_harmful_terms(few):
    """At any w, not only at the best: y f = y b - sum_j [-y w_j x_j]_+, also for k beyond d."""
    X, _, sign = few
    w, b = np.random.default_rng(0).normal(size=3), 0.3
    formula = sign * b - np.maximum(-sign[:, None] * w * X, 0).sum(axis=1)
    for k in (3, 7):
        np.testing.assert_allclose(sign * (FeatureDeletion(k).worst(X, w, sign) @ w + b), formula, atol=1e-14)


@pytest.mark.parametrize("method", ["closed", "columns"])
def test_one_deletion_for_all_rows_is_something_else(redundant, method):
    """The worst of the summed losses is less than the sum of the worst losses."""
    X, y, sign = redundant
    masks = deletions(5, 2)
    members, owner = X[:, None, :] * masks, np.repeat(np.arange(len(X)), len(masks))
    right, *_ = primal(members.reshape(-1, 5), owner, sign)
    w, b, total = cp.Variable(5), cp.Variable(), cp.Variable()
    pooled = [total >= cp.sum(cp.pos(1 - cp.multiply(sign, (X * mask) @ w + b))) for mask in masks]
    wrong = cp.Problem(cp.Minimize(0.5 * cp.sum_squares(w) + C * total), pooled).solve(
        solver="CLARABEL", **SHARP
    )
    ours = PriorSVC(InvariantLoss(FeatureDeletion(2), method=method), C=C, tol=1e-9).fit(X, y).objective_
    assert ours == pytest.approx(right, rel=1e-8)
    assert wrong < 0.9 * ours


# ------------------------------------------------------------------ infinitely many moves


def test_the_oracle_of_an_ellipsoid_is_its_cone(few):
    """Each row has its own ellipsoid m + gamma A z, |z| <= 1; least y f at z = -y A'w / |A'w|."""
    X, y, sign = few
    A = np.random.default_rng(0).normal(scale=0.15, size=(len(X), 3, 3))
    block = UncertainSamples(factor=A)

    def worst(w):
        slope = np.einsum("ndk,d->nk", A, w)
        length = np.maximum(np.linalg.norm(slope, axis=1, keepdims=True), 1e-300)
        return X - block.radius * sign[:, None] * np.einsum("ndk,nk->nd", A, slope / length)

    lower, upper = generated(X, sign, worst)
    cone = PriorSVC(block, C=C, tol=1e-9).fit(X, y).objective_
    assert lower * (1 - 1e-8) <= cone <= upper * (1 + 1e-8)


def test_the_oracle_of_a_quadratic_is_its_cone(few):
    """Each row has its own parabola x + theta a + theta^2 c; the least y f is at an end or at the vertex."""
    X, y, sign = few
    a, c = np.random.default_rng(0).normal(scale=0.3, size=(2, len(X), 3))
    powers = np.stack([X, a, c], axis=1)

    def worst(w):
        slope, bend = sign * (a @ w), sign * (c @ w)
        vertex = np.clip(np.where(bend > 0, -slope / np.where(bend > 0, 2 * bend, 1.0), 0.0), -1, 1)
        thetas = np.stack([-np.ones(len(X)), vertex, np.ones(len(X))], axis=1)
        best = np.argmin(slope[:, None] * thetas + bend[:, None] * thetas**2, axis=1)
        theta = thetas[np.arange(len(X)), best][:, None]
        return X + theta * a + theta**2 * c

    lower, upper = generated(X, sign, worst)
    model = PriorSVC(Trajectories(span=(-1, 1), coefficients=powers), C=C, tol=1e-9).fit(X, y)
    assert lower * (1 - 1e-8) <= model.objective_ <= upper * (1 + 1e-8)


# ------------------------------------------------------------------ with others


@pytest.fixture(scope="module")
def plane():
    """Thirty rows of two columns, their signs, and moves of them."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(30, 2))
    y = (X[:, 0] + X[:, 1] ** 2 > 0.8).astype(int)
    return X, y, np.where(y == 1, 1.0, -1.0), Shift([[0.15, 0.05], [0.0, 0.2]])


def literal(plane, inside, mu):
    """Every move of every row and every one of these points of the triangle, over the span of all."""
    X, _, sign, moves = plane
    orbit = moves.orbit(X)
    n, s, d = orbit.shape
    places = np.vstack([orbit.reshape(n * s, d), inside])
    phi = factor(rbf_kernel(places, places, gamma=0.4))
    w, b = cp.Variable(phi.shape[1]), cp.Variable()
    xi, zeta = cp.Variable(n, nonneg=True), cp.Variable(nonneg=True)
    f, owner = phi @ w + b, np.repeat(np.arange(n), s)
    constraints = [cp.multiply(sign[owner], f[: n * s]) >= 1 - xi[owner], -f[n * s :] >= 1 - zeta]
    cost = C * np.where(sign > 0, 3.0, 1.0)
    problem = cp.Problem(cp.Minimize(0.5 * cp.sum_squares(w) + cost @ xi + mu * zeta), constraints)
    return problem.solve(solver="CLARABEL", **SHARP), zeta.value


TRIANGLE = np.array([[-1.0, 0.0], [0.0, -1.0], [1.0, 1.0]]), np.array([-1.0, -0.5, 2.5])


def filled(count):
    """Points of the triangle x >= 1, y >= 0.5, x + y <= 2.5, its corners among them."""
    share = np.linspace(0, 1, count)
    u, v = (g.ravel() for g in np.meshgrid(share, share))
    u, v = u[u + v <= 1 + 1e-12], v[u + v <= 1 + 1e-12]
    return np.array([1.0, 0.5]) + np.outer(u, [1.0, 0.0]) + np.outer(v, [0.0, 1.0])


@pytest.mark.parametrize("mu", [1.0, 50.0])
def test_with_a_polyhedron_costs_and_rbf_written_out(plane, mu):
    X, y, _, moves = plane
    inside = filled(6)
    expected, violation = literal(plane, inside, mu)
    region = Polyhedron(*TRIANGLE, 0, mu=mu / C, method="points", points=inside)
    prior = InvariantLoss(moves, method="columns") + region + ClassCosts({1: 3.0})
    model = PriorSVC(prior, C=C, kernel=RBF(0.4), tol=1e-8).fit(X, y)
    assert model.objective_ == pytest.approx(expected, rel=1e-7)
    assert {"invariant_loss", "polyhedron", "class_costs"} <= {row.block for row in model.report_.rows}
    verdict = model.verify()
    assert verdict["invariant_loss"].holds
    assert verdict["invariant_loss"].proven
    assert verdict["polyhedron"].worst <= -violation + 1e-6
    assert sum(row.contribution for row in model.report_.rows) == pytest.approx(expected, rel=1e-7)


@pytest.mark.slow
def test_with_a_polyhedron_by_cuts_against_a_fine_filling(plane):
    X, y, _, moves = plane
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        prior = (
            InvariantLoss(moves)
            + Polyhedron(*TRIANGLE, 0, mu=50.0 / C, holds="everywhere")
            + ClassCosts({1: 3.0})
        )
        model = PriorSVC(prior, C=C, kernel=RBF(0.4)).fit(X, y)
    expected, _ = literal(plane, filled(41), 50.0)
    assert model.objective_ == pytest.approx(expected, rel=2e-3)
    assert model.verify()["invariant_loss"].holds
