"""Rounds of the joint model: bounds, reports, verification, findings, and extreme costs."""

import re
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import ConvergenceWarning

from priorsvm import (
    RBF,
    ClassCosts,
    FeatureDeletion,
    InvariantLoss,
    PriorSVC,
    SampleCosts,
    Shift,
)
from priorsvm.errors import CollapsedModel, InaccurateSolution, InvalidInput

SHARP = {"tol_gap_abs": 1e-12, "tol_gap_rel": 1e-12, "tol_feas": 1e-12}
GAMMA = 0.15
MOVES = Shift([[0.3, 0.1, 0.0], [0.0, 0.2, 0.2]], steps=5)
BOTH = pytest.mark.parametrize("kernel", ["linear", RBF(GAMMA)], ids=["linear", "rbf"])


def joint(prior=None, **parameters):
    return PriorSVC(prior, multi_class="joint", **parameters)


def one_each(X):
    """The orbit of rows that are not moved."""
    return np.asarray(X)[:, None]


def falling(cost):
    """What a number for the cost means for ``MOVES``, whose parameters run from -1 to 1."""
    return 1.0 - (1.0 - cost) * np.abs(MOVES.theta_grid()).max(axis=1)


# -------------------------------------------------------------------------------- how the fit went


@BOTH
@pytest.mark.parametrize("scaling", ["margin", "slack"])
def test_history_has_bounds(kernel, scaling, draw, literal):
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


def test_too_few_rounds_warn_with_the_gap(draw, literal, primal):
    X, y = draw(60)
    with pytest.warns(ConvergenceWarning, match=r"joint model .* max_rounds=1 rounds \(gap") as caught:
        model = joint(InvariantLoss(MOVES), C=5.0, max_rounds=1).fit(X, y)
    [entry] = model.history_
    [message] = [str(w.message) for w in caught if "joint model" in str(w.message)]
    assert float(re.search(r"gap (\S+)\)", message)[1]) == pytest.approx(entry["gap"], rel=0.05)
    exact = literal(MOVES.orbit(X), y, 5.0)[0]
    assert entry["lower"] <= exact <= entry["upper"]
    assert (entry["upper"] - entry["lower"]) / (1 + entry["upper"]) == pytest.approx(entry["gap"])
    assert model.objective_ == pytest.approx(primal(model, MOVES.orbit(X), y, 5.0), rel=1e-9)


def test_enough_rounds_do_not_warn(draw):
    X, y = draw()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        joint(InvariantLoss(MOVES), kernel="rbf").fit(X, y)


@BOTH
@pytest.mark.parametrize("scaling", ["margin", "slack"])
def test_the_problem_has_the_same_optimum(kernel, scaling, draw):
    X, y = draw()
    prior = ClassCosts({1: 2.0}) + InvariantLoss(MOVES, 0.4, scaling, confusion={(1, 2): 2.0})
    model = joint(prior, kernel=kernel, C=2.0, tol=1e-9).fit(X, y)
    assert model.problem.is_dcp()
    assert model.problem.solve(solver="CLARABEL", **SHARP) == pytest.approx(model.objective_, rel=1e-7)


@pytest.mark.parametrize("scale", [None, "standard"])
@BOTH
def test_the_problem_without_blocks(kernel, scale, draw):
    X, y = draw()
    model = joint(kernel=kernel, scale=scale, tol=1e-9).fit(X, y)
    assert model.problem.solve(solver="CLARABEL", **SHARP) == pytest.approx(model.objective_, rel=1e-7)


def test_the_objective_is_that_of_the_coefficients(draw, primal):
    X, y = draw()
    model = joint(InvariantLoss(MOVES, 0.5), C=2.0).fit(X, y)
    assert model.objective_ == pytest.approx(primal(model, MOVES.orbit(X), y, 2.0, falling(0.5)), rel=1e-9)


def test_the_report_adds_up(draw):
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


def test_verify_finds_what_is_asked(draw):
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


def test_verify_sees_what_is_missing(draw):
    X, y = draw(60)
    with pytest.warns(ConvergenceWarning):
        model = joint(InvariantLoss(MOVES), C=5.0, max_rounds=1).fit(X, y)
    verdict = model.verify()["invariant_loss"]
    assert not verdict.holds
    assert verdict.violated > 0
    assert verdict.worst < -1e-3


def test_formulation_has_one_function_for_each_class(draw):
    X, y = draw()
    text = str(joint(InvariantLoss(MOVES), C=2.0).fit(X, y).formulation())
    assert "f_{y_i}" in text
    assert "f_k(x) = w_k" in text
    assert "C = 2" in text
    assert r"invariant\_loss.joint" in text
    assert r"\varphi(x)" in str(joint(kernel="rbf").fit(X, y).formulation())


@pytest.mark.parametrize("scaling", ["margin", "slack"])
def test_formulation_speaks_of_no_binary_model(scaling, draw):
    X, y = draw()
    text = str(joint(InvariantLoss(MOVES, 0.5, scaling)).fit(X, y).formulation())
    assert "y_i f(" not in text


@BOTH
def test_findings_are_the_moves_that_hold_f_up(kernel, draw):
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
    assert "worst-case point" in str(found)
    assert "invariant_loss" in str(model.report_)


def test_support_is_what_the_model_rests_on(draw):
    X, y = draw(60, noise=0.5)
    model = joint(InvariantLoss(MOVES), tol=1e-9).fit(X, y)
    assert 0 < len(model.support_) < len(y)
    again = joint(InvariantLoss(MOVES), tol=1e-9).fit(X[model.support_], y[model.support_])
    assert_allclose(again.coef_, model.coef_, atol=1e-5)


# -------------------------------------------------------------------------------- edges


def test_a_class_that_costs_nothing_has_a_function_all_the_same(draw, literal):
    X, y = draw()
    model = joint(ClassCosts({0: 0.0}), tol=1e-9).fit(X, y)
    value, f = literal(one_each(X), y, cost=(y != 0).astype(float))
    assert model.objective_ == pytest.approx(value, rel=1e-8)
    assert_allclose(model.decision_function(X), f[:, 0], atol=1e-4)


def test_moves_that_cost_nothing_ask_nothing_with_slack_scaling(draw):
    X, y = draw()
    model = joint(InvariantLoss(Shift([0.3, 0.1, 0.0]), cost=0.0, scaling="slack"), tol=1e-9).fit(X, y)
    assert model.objective_ == pytest.approx(joint(tol=1e-9).fit(X, y).objective_, rel=1e-9)


@pytest.mark.parametrize("C", [1e-6, 1e-3, 1e3, 1e6])
def test_small_and_large_costs(C, draw, primal):
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
def test_small_costs_are_solved_too(C, draw, literal):
    X, y = draw()
    model = joint(InvariantLoss(MOVES), C=C).fit(X, y)
    assert model.verify().holds
    assert model.objective_ == pytest.approx(literal(MOVES.orbit(X), y, C)[0], rel=1e-5)


def test_rows_that_all_cost_nothing_are_refused(draw):
    X, y = draw()
    with pytest.raises(InvalidInput):
        joint(SampleCosts(np.zeros(len(y)))).fit(X, y)


@pytest.mark.parametrize("asked", [0.0, 0.5])
@pytest.mark.parametrize("multi_class", ["joint", "ovr"])
def test_the_row_itself_asks_for_all_of_its_margin(asked, multi_class, draw):
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
def test_large_costs_with_a_kernel(C, gamma, noise, draw):
    model = joint(InvariantLoss(Shift([0.2, 0.1, 0.0])), kernel=RBF(gamma), C=C).fit(*draw(noise=noise))
    assert model.history_[-1]["gap"] <= 1e-6


@pytest.mark.parametrize("seed", [183, 255])
def test_slack_scaling_with_a_kernel_where_the_own_method_stalls(seed):
    X, y = np.random.default_rng(seed).normal(size=(12, 3)), np.arange(12) % 2
    moves = Shift([0.4, 0.3, -0.5])
    model = joint(InvariantLoss(moves, 0.5, "slack"), C=50.0, kernel=RBF(0.75)).fit(X, y)
    assert model.history_[-1]["gap"] <= 1e-6
