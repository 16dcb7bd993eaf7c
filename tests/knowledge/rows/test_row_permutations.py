"""RowPermutations: matrices whose rows come in no order."""

import pickle
from itertools import pairwise, permutations

import cvxpy as cp
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import cross_val_score

from priorsvm import (
    Bhattacharyya,
    Box,
    ClassCosts,
    FeatureDeletion,
    InvariantLoss,
    MissingValues,
    Polyhedron,
    PriorSVC,
    RowPermutations,
    SampleCosts,
    Shift,
    Transductive,
    UncertainSamples,
    UnlabeledSamples,
    VirtualSamples,
    check_knowledge,
)
from priorsvm.errors import InvalidInput, InvalidType, MissingCapability
from priorsvm.knowledge.rows.row_permutations import best_order, enclosing_ball, permuted


def aligned(n=40, m=5, d=2, seed=0, noise=0.3, draw=1):
    """Matrices around one of two prototypes, which the sum of their rows does not tell apart."""
    prototype, other = np.random.default_rng(seed).normal(size=(2, m, d))
    other = other - other.mean(axis=0)
    y = np.arange(n) % 2
    rng = np.random.default_rng(1000 * seed + draw)
    return 2 * prototype + np.where(y, 0.5, -0.5)[:, None, None] * other + noise * rng.normal(
        size=(n, m, d)
    ), y


def shuffled(Z, seed=0):
    rng = np.random.default_rng(seed)
    return np.array([z[rng.permutation(len(z))] for z in Z])


def flat(Z):
    return Z.reshape(len(Z), -1)


def messy(n=24, m=4, d=2, seed=0):
    """Matrices of two classes that overlap, in any order."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    return rng.normal(size=(n, m, d)) + 0.5 * y[:, None, None], y


# -------------------------------------------------------------------------------- matching and the ball


@pytest.mark.parametrize("rho", [0.0, 0.7])
@pytest.mark.parametrize("m", [1, 2, 3, 4])
def test_the_best_order_is_the_best_of_all(m, rho):
    rng = np.random.default_rng(m)
    W, c = rng.normal(size=(2, m, 3))
    for sign, z in zip((1.0, -1.0) * 10, rng.normal(size=(20, m, 3)), strict=True):
        orders = [np.array(p) for p in permutations(range(m))]
        values = [sign * (W * z[p]).sum() - rho * ((z[p] - c) ** 2).sum() for p in orders]
        found = best_order((sign * W + 2 * rho * c) @ z.T)
        assert_allclose(
            sign * (W * z[found]).sum() - rho * ((z[found] - c) ** 2).sum(), max(values), rtol=1e-12
        )


def test_a_tie_changes_nothing():
    assert_array_equal(best_order(np.ones((4, 4))), np.arange(4))
    assert_array_equal(best_order(np.array([[1.0, 1.0 + 1e-15], [1.0, 1.0]])), [0, 1])


@pytest.mark.parametrize(("n", "d"), [(2, 3), (12, 2), (60, 8), (20, 40)])
def test_the_ball_is_the_smallest(n, d):
    X = np.random.default_rng(n).normal(size=(n, d)) + 100.0
    centre, radius = enclosing_ball(X)
    c, R = cp.Variable(d), cp.Variable()
    cp.Problem(cp.Minimize(R), [cp.norm(x - c) <= R for x in X]).solve(solver="CLARABEL")
    assert_allclose(radius, R.value, rtol=1e-6)
    assert_allclose(centre, c.value, atol=1e-3)
    assert_allclose(np.linalg.norm(X - centre, axis=1).max(), radius, rtol=1e-12)


def test_the_ball_of_equal_points_has_no_radius():
    centre, radius = enclosing_ball(np.full((5, 3), 2.0))
    assert_array_equal(centre, 2.0)
    assert radius == 0.0


# -------------------------------------------------------------------------------- special cases


@pytest.mark.parametrize("rho", [0.0, 1.0])
def test_one_row_is_the_plain_model(rho):
    Z, y = messy(m=1, d=3)
    model, plain = PriorSVC(RowPermutations((1, 3), rho)).fit(flat(Z), y), PriorSVC().fit(flat(Z), y)
    assert_allclose(model.coef_, plain.coef_, atol=1e-12)
    assert_allclose(model.decision_function(flat(Z)), plain.decision_function(flat(Z)), atol=1e-12)
    assert model.n_rounds_ == 1


@pytest.mark.parametrize("rho", [0.0, 1.0])
def test_identical_rows_are_the_plain_model(rho):
    Z, y = messy(m=1, d=3)
    X = flat(np.repeat(Z, 4, axis=1))
    model, plain = PriorSVC(RowPermutations((4, 3), rho)).fit(X, y), PriorSVC().fit(X, y)
    assert_allclose(model.coef_, plain.coef_, atol=1e-10)
    assert_allclose(model.decision_function(X), plain.decision_function(X), atol=1e-10)


@pytest.mark.parametrize("solver", ["LIBSVM", "CLARABEL"])
@pytest.mark.parametrize("rho", [0.0, 0.3])
def test_with_its_permutations_fixed_it_is_the_plain_model(rho, solver):
    Z, y = messy()
    model = PriorSVC(RowPermutations((4, 2), rho), solver=solver, tol=1e-8).fit(flat(Z), y)
    arranged = flat(permuted(Z, model.findings_["row_permutations"].order))
    plain = PriorSVC(solver=solver, tol=1e-8).fit(arranged, y)
    assert_allclose(model.coef_, plain.coef_, atol=1e-6)
    assert_allclose(model.objective_, plain.objective_, rtol=1e-7)
    with pytest.warns(ConvergenceWarning, match="'row_permutations' is not fully refined"):
        first = PriorSVC(RowPermutations((4, 2), rho), max_rounds=1).fit(flat(Z), y)
    assert_allclose(first.coef_, PriorSVC().fit(flat(Z), y).coef_, atol=1e-10)


@pytest.mark.parametrize("settings", [{}, {"norm": "l1"}, {"loss": "squared_hinge"}, {"scale": "standard"}])
@pytest.mark.parametrize("initial", ["given", "sorted"])
def test_without_the_ball_the_objective_never_rises(settings, initial):
    for seed in range(4):
        Z, y = messy(seed=seed)
        model = PriorSVC(RowPermutations((4, 2), initial=initial), C=0.5, **settings).fit(flat(Z), y)
        course = [entry["objective"] for entry in model.history_]
        assert len(course) > 1
        assert all(b <= a + 1e-6 * a for a, b in pairwise(course))
        assert model.history_[-1]["rearranged"] == 0
        assert model.history_[0]["rearranged"] > 0


def test_the_end_is_a_local_optimum_of_the_latent_loss():
    """No single matrix can be rearranged for a smaller slack."""
    Z, y = messy(n=12, m=3)
    model = PriorSVC(RowPermutations((3, 2))).fit(flat(Z), y)
    arranged = permuted(Z, model.findings_["row_permutations"].order)
    W, sign = model.coef_.reshape(3, 2), np.where(y, 1, -1)
    for z, s in zip(arranged, sign, strict=True):
        assert s * (W * z).sum() >= max(s * (W * z[list(p)]).sum() for p in permutations(range(3))) - 1e-9
    assert "local optimum (row_permutations)" in str(model.report_)


# -------------------------------------------------------------------------------- what it learns


@pytest.mark.parametrize("seed", range(4))
def test_shuffled_matrices_are_told_apart_as_well_as_aligned_ones(seed):
    Z, y = aligned(seed=seed, noise=0.15)
    mixed = shuffled(Z)
    assert PriorSVC().fit(flat(Z), y).score(flat(Z), y) == 1.0
    model = PriorSVC(RowPermutations((5, 2), rho=10.0)).fit(flat(mixed), y)
    assert model.score(flat(mixed), y) == 1.0
    new, y_new = aligned(200, seed=seed, noise=0.15, draw=2)
    assert model.score(flat(shuffled(new, 1)), y_new) > 0.95
    assert PriorSVC().fit(flat(mixed), y).score(flat(shuffled(new, 1)), y_new) < 0.8


def test_the_order_of_new_matrices_means_nothing():
    Z, y = messy()
    for rho in (0.0, 0.5):
        model = PriorSVC(RowPermutations((4, 2), rho)).fit(flat(Z), y)
        new = np.random.default_rng(5).normal(size=(30, 4, 2))
        assert_allclose(
            model.decision_function(flat(shuffled(new))), model.decision_function(flat(new)), atol=1e-10
        )


def test_sorted_at_first_the_order_given_means_nothing():
    Z, y = messy()
    block = RowPermutations((4, 2), rho=0.2, initial="sorted")
    a, b = (PriorSVC(block).fit(flat(X), y) for X in (Z, shuffled(Z)))
    assert_allclose(a.coef_, b.coef_, atol=1e-8)


def test_much_rho_aligns_whatever_the_labels():
    Z, y = aligned()
    orders = [
        PriorSVC(RowPermutations((5, 2), rho=1e6))
        .fit(flat(shuffled(Z)), labels)
        .findings_["row_permutations"]
        .order
        for labels in (y, 1 - y, np.arange(len(y)) < 20)
    ]
    assert_array_equal(orders[0], orders[1])
    assert_array_equal(orders[0], orders[2])


@pytest.mark.parametrize("rho", [0.0, 0.4])
def test_prediction_takes_the_larger_margin_of_both_classes(rho):
    Z, y = messy(m=3)
    model = PriorSVC(RowPermutations((3, 2), rho)).fit(flat(Z), y)
    W, c = model.coef_.reshape(3, 2), model.findings_["row_permutations"].centre
    new = np.random.default_rng(5).normal(size=(20, 3, 2))
    expected = []
    for z in new:
        orders = [z[list(p)] for p in permutations(range(3))]
        f = np.array([(W * x).sum() + model.intercept_[0] for x in orders])
        near = np.array([-rho * ((x - c) ** 2).sum() for x in orders])
        up, down = f[np.argmax(f + near)], f[np.argmax(-f + near)]
        expected.append(up if up >= -down else down)
    assert_allclose(model.decision_function(flat(new)), expected, atol=1e-10)
    assert_array_equal(model.predict(flat(new)), (np.array(expected) > 0).astype(int))


def test_every_class_has_its_own_arrangement():
    rng = np.random.default_rng(0)
    prototypes, y = 2 * rng.normal(size=(3, 4, 2)), np.arange(60) % 3
    X = flat(shuffled(prototypes[y] + 0.3 * rng.normal(size=(60, 4, 2))))
    model = PriorSVC(RowPermutations((4, 2), rho=2.0)).fit(X, y)
    assert model.score(X, y) > 0.95
    assert len({found["row_permutations"].order.tobytes() for found in model.findings_}) > 1
    assert model.decision_function(X).shape == (60, 3)


def test_clone_pickle_and_cross_validation():
    Z, y = aligned()
    X = flat(shuffled(Z))
    model = PriorSVC(RowPermutations((5, 2), rho=10.0)).fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    assert_array_equal(again.decision_function(X), model.decision_function(X))
    assert_array_equal(clone(model).fit(X, y).coef_, model.coef_)
    assert cross_val_score(model, X, y, cv=3).mean() > 0.9


# -------------------------------------------------------------------------------- with other blocks


def test_it_goes_with_blocks_on_rows(assemble):
    Z, y = messy()
    X = flat(Z)
    permute = RowPermutations((4, 2), rho=0.1)
    blocks = (
        ClassCosts({1: 2.0}) + SampleCosts(np.linspace(0.5, 2, 24)) + UnlabeledSamples(X[:3] + 0.1, y[:3])
    )
    blocks = blocks + VirtualSamples(Shift(np.full(8, 0.1)), cost=0.5) + 0.5 * Transductive(X[3:6])
    model = PriorSVC(permute + blocks).fit(X, y)
    turned = PriorSVC(blocks + permute).fit(X, y)
    assert_allclose(model.objective_, turned.objective_, rtol=1e-6)
    found = model.findings_["row_permutations"]
    order = found.order
    states = {member.name: None for member in permute + blocks} | {"row_permutations": found}
    rows = assemble(permute + blocks, X, y, states=states).sample
    origin = rows.source
    assert_allclose(rows.X_train, flat(permuted(Z, order)), atol=0)
    copies = (origin >= 0) & (np.arange(len(rows)) >= 24)
    assert_allclose(np.abs(rows.X[copies] - rows.X[origin[copies]]), 0.1)  # of the matrices as arranged


@pytest.mark.parametrize(
    "region",
    [
        Box({0: (2.0, 3.0)}, label=0, hard=True, within=dict.fromkeys(range(1, 8), (-3, 3))),
        Polyhedron(
            np.vstack([np.eye(8), -np.eye(8)]), np.r_[3.0, np.ones(7), -2.0, np.ones(7)], 0, hard=True
        ),
    ],
    ids=["Box", "Polyhedron"],
)
def test_regions_speak_of_places_in_the_arrangement(region):
    Z, y = messy()
    model = PriorSVC(RowPermutations((4, 2)) + region, C=1.0).fit(flat(Z), y)
    corners = np.array(np.meshgrid([2.0, 3.0], *[[-1.0, 1.0]] * 7)).reshape(8, -1).T
    assert (corners @ model.coef_[0] + model.intercept_[0]).max() < -1 + 1e-5
    assert model.verify()[type(region).__name__.lower()].holds


def test_laws_hold():
    passed = check_knowledge(RowPermutations((3, 1)), kernels=("linear",))
    assert "refinement ends in a fixed point" in passed
    assert "the answer satisfies KKT" in passed
    Z, y = aligned(20, m=3)
    check_knowledge(RowPermutations((3, 2), rho=0.5, initial="sorted"), flat(Z), y, kernels=("linear",))


# -------------------------------------------------------------------------------- uncertain rows


def mixed(spread):
    """The same covariance for all rows of a 3 x 2 matrix, also between different rows."""
    S = np.array([[0.3, 0.1], [0.1, 0.2]])
    return spread * (np.kron(np.eye(3), S) + np.kron(np.ones((3, 3)), np.array([[0.2, 0.0], [0.0, 0.1]])))


@pytest.mark.parametrize("scale", [None, "standard"])
@pytest.mark.parametrize(
    "errors",
    [
        UncertainSamples(0.2),
        UncertainSamples([0.1, 0.3] * 3, confidence=0.95),
        UncertainSamples(mixed(0.1)),
        UncertainSamples(lambda X, y: np.array([mixed(0.05 if label else 0.1) for label in y])),
    ],
    ids=["one number", "by column", "full", "by sample"],
)
def test_orders_of_uncertain_rows_are_best_in_the_worst_case(errors, scale):
    Z, y = messy(24, m=3)
    model = PriorSVC(RowPermutations((3, 2)) + errors, scale=scale).fit(flat(Z), y)
    order = model.findings_["row_permutations"].order
    objectives = [entry["objective"] for entry in model.history_]
    assert len(objectives) > 1
    assert np.all(np.diff(objectives) <= 1e-6)
    # In this order the model is the model of uncertain rows.
    arranged = flat(permuted(Z, order))
    if scale is None:
        alone = PriorSVC(errors).fit(arranged, y)
        np.testing.assert_allclose(model.coef_, alone.coef_, rtol=0, atol=1e-5)
    # No other order of a matrix has a larger margin in its worst case, by enumeration of all orders.
    w = model.coef_[0]
    spread = errors.start(model._models[0].training)
    for z, best, label, owner in zip(Z, order, y, spread.owner, strict=True):
        [(_, [directions])] = spread.by_rank(np.array([owner])).values()
        margins = {}
        for rows in permutations(range(3)):
            moved = directions.reshape(-1, 3, 2)[:, rows].reshape(-1, 6)
            nominal = (2 * label - 1) * (w @ z[list(rows)].ravel())
            margins[rows] = nominal - errors.radius * np.linalg.norm(moved @ w)
        assert margins[tuple(best.tolist())] >= max(margins.values()) - 1e-6


def test_rows_of_weight_zero_do_not_change_the_ball():
    Z, y = aligned(30, m=3)
    Z[-5:] += 50.0
    weight = np.r_[np.ones(len(Z) - 5), np.zeros(5)]
    block = RowPermutations((3, 2), rho=0.5)
    given = PriorSVC(block, C=0.2).fit(flat(Z), y, sample_weight=weight)
    without = PriorSVC(block, C=0.2).fit(flat(Z[:-5]), y[:-5])
    np.testing.assert_allclose(given.coef_, without.coef_, rtol=0, atol=1e-8)
    assert given.findings_["row_permutations"].radius == without.findings_["row_permutations"].radius


# -------------------------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("block", "settings", "error", "message"),
    [
        (RowPermutations((3, 2)), {}, InvalidInput, r"shape \(3, 2\) has 6 entries, but X has"),
        (RowPermutations(8), {}, InvalidInput, r"shape must be \(rows, columns\) of a matrix, got 8"),
        (RowPermutations((2.0, 4)), {}, InvalidInput, r"got \(2.0, 4\)"),
        (RowPermutations((-2, -4)), {}, InvalidInput, r"got \(-2, -4\)"),
        (RowPermutations((4, 2), rho=-1), {}, InvalidInput, "rho must be a nonnegative number, got -1"),
        (RowPermutations((4, 2), initial="any"), {}, InvalidInput, "initial must be .* got 'any'"),
        (RowPermutations((4, 2)), {"kernel": "rbf"}, MissingCapability, r"linear model.*RBF\(gamma"),
        (RowPermutations((4, 2)), {"kernel": Bhattacharyya(1.0)}, InvalidInput, "X must be a list of"),
        (0.5 * RowPermutations((4, 2)), {}, InvalidInput, "an outer weight cannot scale"),
        (RowPermutations((4, 2)), {"multi_class": "joint"}, MissingCapability, "multi_class='joint'"),
        (
            RowPermutations((4, 2)) + UncertainSamples(np.diag([0.1, 0.2, 0.1, 0.2, 0.1, 0.2, 0.1, 0.1])),
            {},
            InvalidInput,
            "'row_permutations' replaces the training rows, but block 'uncertain_samples' .*worst case: its "
            "covariances differ between the rows of a matrix",
        ),
        (
            RowPermutations((4, 2)) + UncertainSamples(factor=np.ones((8, 1)) * np.arange(8)[:, None]),
            {},
            InvalidInput,
            "not a linear assignment. Keep one block",
        ),
        (
            RowPermutations((4, 2)) + InvariantLoss(FeatureDeletion(1)),
            {},
            InvalidInput,
            "'invariant_loss' requires the margin in the worst case: .*not a linear assignment",
        ),
        (
            MissingValues() + RowPermutations((4, 2)),
            {},
            InvalidInput,
            "'missing_values' .*: its Gaussians describe columns, and the order of the columns is unknown",
        ),
        (RowPermutations((4, 2)) + RowPermutations((2, 4)), {}, InvalidInput, "replace the training rows"),
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_refused(block, settings, error, message):
    Z, y = messy()
    with pytest.raises(error, match=message):
        PriorSVC(block, **settings).fit(flat(Z), y).predict(flat(Z))


def test_sparse_rows_are_refused():
    Z, y = messy()
    with pytest.raises(InvalidType, match="'row_permutations' does not accept sparse X"):
        PriorSVC(RowPermutations((4, 2))).fit(csr_array(flat(Z)), y)
