"""Column generation over orbits: bounds, which columns enter and leave, and the route COLUMNS."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from priorsvm import (
    RBF,
    FromFunction,
    InvariantLoss,
    Polyhedron,
    PriorSVC,
    Shift,
    UncertainSamples,
    UnlabeledSamples,
    VirtualSamples,
)
from priorsvm.errors import InvalidInput, SolverUnsuited
from priorsvm.knowledge.worst_case.orbit_columns import OrbitColumns

MOVES = Shift([[0.2, 0.1, 0.0], [0.0, 0.2, 0.1]], steps=5)


def signs(y):
    return np.where(np.asarray(y) == np.max(y), 1.0, -1.0)


@pytest.fixture(scope="module")
def few(data):
    X, y = data
    return X[:40], y[:40]


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


def test_bounds_with_two_losses_are_bounds(few):
    X, y = few
    both = InvariantLoss(Shift([0.9, 0, 0], steps=5), method="columns") + InvariantLoss(
        Shift([0, 0.9, 0], steps=5), method="columns"
    )
    model = PriorSVC(both, C=10.0, kernel="rbf").fit(X, y)
    for entry in model.history_:
        assert entry["lower"] <= model.objective_ * (1 + 1e-6) <= entry["upper"] * (1 + 2e-6)


def test_models_that_share_a_kernel_matrix_share_its_centre():
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


@pytest.mark.parametrize("beside", [None, UnlabeledSamples([[1.0, 0.5, 0.0]], 1)], ids=["alone", "row added"])
def test_each_round_adds_the_most_violated_members_and_keeps_active_ones(data, beside):
    """A row that is added has no orbit, so the kernel matrix of all members does not serve."""
    X, y = data
    model, every = (
        PriorSVC(loss if beside is None else loss + beside, kernel=RBF(0.4), C=5.0).fit(X, y)
        for loss in (InvariantLoss(MOVES), InvariantLoss(MOVES, method="all"))
    )
    assert model.solver_ == "COLUMNS"
    assert model.objective_ == pytest.approx(every.objective_, rel=1e-6)
    counts = [entry["columns"] for entry in model.history_]
    assert counts[0] == 0
    assert max(np.diff(counts)) <= len(X)
    [columns] = model.report_["invariant_loss"]
    assert columns.rows == counts[-1]
    assert columns.active > 0.7 * columns.rows


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


def test_the_route_of_columns_says_what_it_cannot(few):
    X, y = few
    with pytest.raises(SolverUnsuited, match="one InvariantLoss"):
        PriorSVC(solver="COLUMNS").fit(X, y)
    prior = InvariantLoss(MOVES) + Polyhedron(np.eye(3), -3 * np.ones(3), 1, holds="everywhere")
    with pytest.raises(SolverUnsuited, match="'polyhedron' does more than add or reweight rows"):
        PriorSVC(prior, solver="COLUMNS").fit(X, y)
    with pytest.raises(SolverUnsuited, match="requires norm='l2', loss='hinge'"):
        PriorSVC(InvariantLoss(MOVES), solver="COLUMNS", loss="squared_hinge").fit(X, y)


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
    moves, settings = Shift([0.3, 0.0, 0.0], steps=9), {"kernel": RBF(0.4), "C": 10.0, "n_centres": 9}
    found, whole = (PriorSVC(InvariantLoss(moves, method=m), **settings).fit(X, y) for m in ("auto", "all"))
    assert found.objective_ == pytest.approx(whole.objective_, rel=1e-9)
    for parameters in ({"method": "columns"}, {"continuous": True}):
        with pytest.raises(InvalidInput, match=r"n_centres draws the centres.*norm='l1'"):
            PriorSVC(InvariantLoss(moves, **parameters), **settings).fit(X, y)


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


def test_the_columns_of_all_rows_are_not_copied():
    X = np.arange(6.0).reshape(3, 2)
    state = OrbitColumns(np.array([0, 2, 2]), X, np.ones(3), np.zeros((3, 0)), np.full(3, -1))
    same, places = state.of_rows(np.arange(3), 3)
    assert same is state
    assert places.tolist() == [0, 2, 2]
    some, places = state.of_rows(np.array([1, 2]), 3)
    assert some.points.tolist() == X[1:].tolist()
    assert places.tolist() == [1, 1]
