"""Fitted models of PriorSVC, and their reports, formulations and verifications."""

import warnings

import cvxpy as cp
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_iris, make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from priorsvm import (
    RBF,
    Box,
    ClassCosts,
    InvarianceHint,
    Knowledge,
    MonotonicityHint,
    NegativeDistance,
    OddnessHint,
    Polynomial,
    PriorSVC,
    SampleCosts,
    Scores,
    Shift,
    Terms,
    Transductive,
    UncertainSamples,
    UnlabeledSamples,
    VirtualSamples,
    VirtualSupportVectors,
    training,
)
from priorsvm.errors import InvalidInput, SolverFailed, SolverUnsuited
from priorsvm.sample import Sample

TIGHT = {"tol_gap_rel": 1e-11, "tol_gap_abs": 1e-11, "tol_feas": 1e-11}


def two_classes(n=40, d=2, seed=0):
    X, y = make_classification(
        n, d, n_informative=2, n_redundant=0, n_classes=2, flip_y=0.15, class_sep=0.7, random_state=seed
    )
    return X, y


def three_classes(n=45):
    X, y = load_iris(return_X_y=True)
    rows = np.random.default_rng(0).permutation(150)[:n]
    return X[rows], np.array(["setosa", "versicolor", "virginica"])[y[rows]]


# -------------------------------------------------------------------------------- scale


@pytest.mark.parametrize("solver", ["LIBSVM", "CLARABEL"])
@pytest.mark.parametrize("kernel", ["linear", RBF(0.5), "rbf"], ids=["linear", "RBF(0.5)", "rbf"])
@pytest.mark.parametrize(("scale", "scaler"), [("standard", StandardScaler), ("minmax", MinMaxScaler)])
def test_scale_inside_f_is_a_scaler_before_it(scale, scaler, kernel, solver):
    X, y = two_classes()
    X = X * [1.0, 1000.0] + [5.0, -3.0]
    Z = np.array([[5.5, 800.0], [4.0, -900.0]])
    inside = PriorSVC(kernel=kernel, scale=scale, solver=solver, tol=1e-9).fit(X, y)
    before = make_pipeline(scaler(), PriorSVC(kernel=kernel, solver=solver, tol=1e-9)).fit(X, y)
    assert_allclose(inside.decision_function(Z), before.decision_function(Z), atol=1e-7)
    assert_array_equal(inside.predict(X), before.predict(X))
    assert inside.objective_ == pytest.approx(before[-1].objective_, rel=1e-8)


@pytest.mark.parametrize("kernel", ["linear", RBF(0.5)], ids=["linear", "rbf"])
def test_knowledge_stays_in_the_units_of_x(kernel):
    X, y = two_classes()
    X = X * [1.0, 1000.0] + [5.0, -3.0]
    scaler = StandardScaler().fit(X)
    extra = np.array([[5.0, 500.0], [4.0, 700.0]])
    shift = np.array([0.1, 200.0])

    def prior(points, vector):
        return UnlabeledSamples(points, 1) + InvarianceHint(Shift(vector)) + VirtualSamples(Shift(vector))

    raw = PriorSVC(prior(extra, shift), kernel=kernel, scale="standard", tol=1e-9).fit(X, y)
    scaled = PriorSVC(prior(scaler.transform(extra), shift / scaler.scale_), kernel=kernel, tol=1e-9)
    scaled.fit(scaler.transform(X), y)
    assert_allclose(
        raw.decision_function(extra), scaled.decision_function(scaler.transform(extra)), atol=1e-6
    )
    assert raw.objective_ == pytest.approx(scaled.objective_, rel=1e-7)


def test_a_constant_column_is_scaled_without_harm():
    X, y = two_classes()
    X = np.column_stack([X, np.full(len(X), 7.0)])
    for scale in ("standard", "minmax"):
        model = PriorSVC(scale=scale).fit(X, y)
        assert np.isfinite(model.coef_).all()
        without = PriorSVC(scale=scale).fit(X[:, :2], y)
        assert_allclose(model.decision_function(X), without.decision_function(X[:, :2]), atol=1e-6)


# -------------------------------------------------------------------------------- n_centres, preselect


def test_a_nystrom_model_converges_to_the_full_model():
    X, y = two_classes(60)
    full = PriorSVC(kernel="rbf", solver="CLARABEL").fit(X, y)
    errors, objectives = [], []
    for n_centres in (2, 8, 20, 60):
        model = PriorSVC(kernel="rbf", n_centres=n_centres).fit(X, y)
        assert len(model.centres_) <= n_centres
        errors.append(np.abs(model.decision_function(X) - full.decision_function(X)).max())
        objectives.append(model.objective_)
    assert errors[0] > 10 * errors[2]
    assert errors[3] < 1e-5
    assert all(np.diff(objectives) < 1e-7)  # more centres, more functions to choose from
    assert objectives[3] == pytest.approx(full.objective_, rel=1e-6)


def test_a_nystrom_model_is_the_best_function_of_its_centres():
    X, y = two_classes(60)
    signs = np.where(y == 1, 1, -1)
    model = PriorSVC(kernel=RBF(0.5), n_centres=6, tol=1e-9).fit(X, y)
    K = RBF(0.5)(X, model.centres_)
    beta, b, xi = cp.Variable(6), cp.Variable(), cp.Variable(60, nonneg=True)
    norm = cp.quad_form(beta, cp.psd_wrap(RBF(0.5)(model.centres_)))
    margin = cp.multiply(signs, K @ beta + b) >= 1 - xi
    best = cp.Problem(cp.Minimize(0.5 * norm + cp.sum(xi)), [margin]).solve(solver="CLARABEL")
    assert model.objective_ == pytest.approx(best, rel=1e-6)


@pytest.mark.parametrize("solver", ["auto", "CLARABEL"])
def test_preselect_fits_on_the_support_vectors_of_the_model_without_blocks(solver):
    X, y = two_classes(60)
    plain = PriorSVC(kernel=RBF(0.5), solver=solver, tol=1e-9).fit(X, y)
    assert 0 < len(plain.support_) < 50
    prior = VirtualSamples(Shift([0.1, 0.0])) + ClassCosts({1: 2.0})
    model = PriorSVC(prior, kernel=RBF(0.5), preselect=True, solver=solver, tol=1e-9).fit(X, y)
    rows = plain.support_
    by_hand = PriorSVC(prior, kernel=RBF(0.5), solver=solver, tol=1e-9).fit(X[rows], y[rows])
    assert_allclose(model.decision_function(X), by_hand.decision_function(X), atol=1e-6)
    assert set(model.support_) <= set(rows)
    assert model.objective_ == pytest.approx(by_hand.objective_, rel=1e-7)


def test_preselect_without_blocks_changes_nothing():
    X, y = two_classes(60)
    plain = PriorSVC(kernel="rbf", tol=1e-9).fit(X, y)
    model = PriorSVC(kernel="rbf", preselect=True, tol=1e-9).fit(X, y)
    assert_allclose(model.decision_function(X), plain.decision_function(X), atol=1e-6)


# -------------------------------------------------------------------------------- progress and chance


def test_progress_is_shown_on_request_only(capsys):
    X, y = three_classes()
    block = VirtualSupportVectors(Shift([0.1, 0, 0, 0]))
    PriorSVC(block, kernel="rbf").fit(X, y)
    silent = capsys.readouterr()
    assert silent.out == silent.err == ""
    PriorSVC(block, kernel="rbf", verbose=1).fit(X, y)
    shown = capsys.readouterr()
    assert "classes" in shown.err
    assert "rounds" in shown.err
    assert shown.out == ""


def test_a_model_of_one_round_shows_no_bar(capsys):
    PriorSVC(ClassCosts("balanced"), kernel="rbf", verbose=1).fit(*two_classes())
    shown = capsys.readouterr()
    assert shown.out == shown.err == ""


def test_draws_come_from_random_state():
    X, y = two_classes()

    def scores(state):
        prior = MonotonicityHint({0: -1, 1: -1}, pairs=5, mu=10.0)
        return PriorSVC(prior, kernel="rbf", random_state=state).fit(X, y).decision_function(X)

    assert_array_equal(scores(None), scores(None))
    assert_array_equal(scores(3), scores(3))
    assert_array_equal(scores(3), scores(np.random.RandomState(3)))
    assert np.abs(scores(3) - scores(4)).max() > 1e-3


# -------------------------------------------------------------------------------- how the fit went

ROUTES = {
    "LIBSVM": {},
    "CLARABEL": {"solver": "CLARABEL"},
    "HIGHS": {"norm": "l1"},
    "hint": {"prior": OddnessHint(mu=3.0)},
    "hint, rbf": {"prior": InvarianceHint(Shift([0.0, 1.0])), "kernel": "rbf"},
    "rows": {"prior": ClassCosts({1: 3.0}) + 0.5 * VirtualSamples(Shift([0.1, 0.0])), "kernel": "rbf"},
    "rows, squared": {"prior": SampleCosts(None, lambda X, y: 1.0 + y), "loss": "squared_hinge"},
    "virtual support vectors": {"prior": VirtualSupportVectors(Shift([0.1, 0.0])), "kernel": "rbf"},
    "transductive": {"prior": Transductive(np.array([[0.0, 1.0], [1.0, 0.0], [-1.0, 0.3]]))},
    "hard": {"prior": MonotonicityHint({1: -1}, hard=True), "kernel": Polynomial(2)},
    "l1, any kernel": {"norm": "l1", "kernel": NegativeDistance(), "prior": ClassCosts("balanced")},
    "everything": {
        "prior": ClassCosts("balanced")
        + UnlabeledSamples([[0.3, 0.2]], 1)
        + 0.5 * VirtualSamples(Shift([0.1, 0.0]))
        + 2 * InvarianceHint(Shift([0.0, 0.5]))
        + MonotonicityHint({0: 1}).named("rising")
        + OddnessHint(mu=0.1),
        "kernel": "rbf",
        "scale": "standard",
    },
}
EVERY_ROUTE = pytest.mark.parametrize("parameters", ROUTES.values(), ids=ROUTES.keys())


@EVERY_ROUTE
def test_the_report_agrees_with_the_fit(parameters):
    X, y = two_classes()
    model = PriorSVC(**parameters, tol=1e-8).fit(X, y)
    last = model.history_[-1]
    assert model.status_ == "optimal"
    assert model.solver_ == last["solver"]
    assert model.status_ == last["status"]
    assert model.n_rounds_ == len(model.history_)
    assert [entry["round"] for entry in model.history_] == list(range(1, model.n_rounds_ + 1))
    assert last["objective"] == pytest.approx(model.objective_, rel=1e-6)
    assert 0 <= last["gap"] < 1e-6
    assert all(entry["seconds"] > 0 for entry in model.history_)
    assert all(np.isfinite(entry["objective"]) for entry in model.history_)
    assert sum(row.contribution for row in model.report_.rows) == pytest.approx(model.objective_, rel=1e-9)


def names_of_blocks(model):
    return [check.block for check in model.verify().checks]


@EVERY_ROUTE
def test_the_problem_that_is_shown_has_that_objective(parameters):
    X, y = two_classes()
    model = PriorSVC(**parameters, tol=1e-9).fit(X, y)
    problem = model.problem
    problem.solve(solver="CLARABEL", **TIGHT)
    assert problem.value == pytest.approx(model.objective_, rel=1e-6)


@EVERY_ROUTE
def test_every_constraint_has_a_label_of_its_own(parameters):
    X, y = two_classes()
    model = PriorSVC(**parameters).fit(X, y)
    labels = [constraint.label for constraint in model.problem.constraints]
    assert all(labels)
    assert len(set(labels)) == len(labels)
    assert labels[0] == "svm.margin"
    names = {"svm", "f", *names_of_blocks(model)}
    assert {label.partition(".")[0] for label in labels} <= names


@EVERY_ROUTE
def test_the_formulation_names_every_block_and_every_constraint(parameters):
    X, y = two_classes()
    model = PriorSVC(**parameters).fit(X, y)
    text, formulation = str(model.formulation()), model.formulation()
    own = [c.label for c in model.problem.constraints if not c.label.startswith("f.")]
    assert [label for label, _, _ in formulation.constraints] == own
    for name in names_of_blocks(model):
        assert any(
            label.partition(".")[0] == name
            for label, *_ in (*formulation.objective, *formulation.constraints)
        )
        assert name.replace("_", r"\_") in text
    sizes = {c.label: c.size for c in model.problem.constraints}
    assert all(rows == sizes[label] for label, _, rows in formulation.constraints)
    assert model.formulation()._repr_latex_().startswith("$$")


def test_the_formulation_of_several_classes_names_every_block():
    X, y = three_classes()
    model = PriorSVC(MonotonicityHint({0: 1}, label="virginica"), scale="standard").fit(X, y)
    assert "monotonicity" in str(model.formulation())


def test_rounds_that_are_cut_off_are_warned_about():
    X, y = two_classes()
    with pytest.warns(ConvergenceWarning, match=r"'transductive'.*max_rounds=3.*Raise max_rounds"):
        model = PriorSVC(Transductive([[0.0, 1.0], [1.0, 0.0]]), max_rounds=3).fit(X, y)
    assert model.n_rounds_ == 3


@pytest.mark.slow
def test_rounds_that_are_cut_off_in_other_processes_are_warned_about(monkeypatch):
    monkeypatch.setattr(training._Processes, "worth", -1.0)
    X, y = three_classes()
    with pytest.warns(ConvergenceWarning, match="'transductive'"):
        PriorSVC(Transductive(X[:4] + 0.3), max_rounds=2, n_jobs=2, scale="standard").fit(X, y)


@pytest.mark.parametrize("block", [VirtualSupportVectors, VirtualSamples])
def test_a_model_after_too_few_rounds_can_be_verified(block):
    X, y = two_classes()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = PriorSVC(block(Shift([0.1, 0.0])), max_rounds=1).fit(X, y)
    assert model.n_rounds_ == 1
    assert len(model.verify().checks) == 1
    assert sum(row.contribution for row in model.report_.rows) == pytest.approx(model.objective_)


def test_an_answer_that_its_residuals_contradict_is_discarded():
    X, y = two_classes()
    with pytest.raises(SolverFailed, match=r"LIBSVM.*gap"):
        PriorSVC(kernel="rbf", C=100, solver_options={"max_iter": 3}, solver="LIBSVM").fit(X, y)


# -------------------------------------------------------------------------------- the report


def test_the_report_is_the_objective_term_by_term():
    X, y = two_classes()
    signs = np.where(y == 1, 1, -1)
    shift, extra = np.array([0.3, 0.0]), np.array([[0.5, 0.5], [0.2, -1.0]])
    prior = (
        ClassCosts({1: 3.0})
        + 0.5 * VirtualSamples(Shift(shift)).named("copies")
        + UnlabeledSamples(extra, [1, 0], costs=2.0)
        + 4 * InvarianceHint(Shift([0.0, 1.0]), mu=0.5).named("drift")
    )
    model = PriorSVC(prior, C=2.0, tol=1e-9).fit(X, y)
    w, b = model.coef_[0], model.intercept_[0]

    def slack(Z, t):
        return np.maximum(1 - t * (Z @ w + b), 0)

    copies = np.vstack([X - shift, X + shift])
    costs = np.where(y == 1, 3.0, 1.0)
    expected = {
        ("svm", "regulariser"): w @ w / 2,
        ("svm", "loss"): 2 * slack(X, signs).sum(),
        ("class_costs", "sample"): 2 * ((costs - 1) * slack(X, signs)).sum(),
        ("copies", "sample"): 0.5 * 2 * (np.tile(costs, 2) * slack(copies, np.tile(signs, 2))).sum(),
        ("unlabeled_samples", "sample"): 2 * 2.0 * slack(extra, np.array([1, -1])).sum(),
        ("drift", "mu"): 4 * 0.5 * w[1] ** 2,
    }
    found = {(row.block, row.term): row.contribution for row in model.report_.rows}
    assert found.keys() == expected.keys()
    for key, value in expected.items():
        assert found[key] == pytest.approx(value, rel=1e-6, abs=1e-9)
    assert model.objective_ == pytest.approx(sum(expected.values()), rel=1e-7)
    assert [row.weight for row in model.report_["drift"]] == [4.0]
    [loss] = [row for row in model.report_["svm"] if row.term == "loss"]
    assert loss.rows == len(y)
    assert loss.active == len(model.support_)
    assert loss.slack == pytest.approx(slack(X, signs).sum(), rel=1e-6)


def test_a_hard_block_shows_its_price():
    X, y = two_classes()
    direction = -int(np.sign(PriorSVC().fit(X, y).coef_[0, 0]))
    model = PriorSVC(MonotonicityHint({0: direction}, hard=True)).fit(X, y)
    [row] = model.report_["monotonicity_hint"]
    assert (row.term, row.contribution, row.rows) == ("order", 0.0, 100)
    assert row.active >= 1
    assert row.price > 1e-3
    free = PriorSVC(MonotonicityHint({0: -direction}, hard=True)).fit(X, y)
    assert free.report_["monotonicity_hint"][0].price < 1e-5


def test_the_report_prints_and_shows():
    X, y = two_classes()
    model = PriorSVC(ClassCosts({1: 3.0}) + OddnessHint()).fit(X, y)
    text = str(model.report_)
    for word in ("block", "contribution", "svm", "class_costs", "oddness_hint", "mu", "ROWS", "optimal"):
        assert word in text
    html = model.report_._repr_html_()
    assert html.count("<tr>") == 1 + len(model.report_.rows)
    assert "oddness_hint" in html
    frame = model.report_.to_frame()
    assert list(frame["block"]) == ["svm", "svm", "class_costs", "oddness_hint"]
    assert frame["contribution"].sum() == pytest.approx(model.objective_)


def test_the_report_of_several_classes_has_a_class_column():
    X, y = three_classes()
    model = PriorSVC(ClassCosts("balanced") + VirtualSamples(Shift([0.1, 0, 0, 0])), kernel="rbf").fit(X, y)
    report = model.report_
    assert report._cells()[0][0] == "class"
    frame = report.to_frame()
    assert sorted(set(frame["class"])) == ["setosa", "versicolor", "virginica"]
    sums = frame.groupby("class")["contribution"].sum()
    assert_allclose(sums.to_numpy(), model.objective_, rtol=1e-9)
    assert "class versicolor" in str(report)
    two = PriorSVC().fit(X, y == "setosa")
    assert two.report_._cells()[0][0] == "block"


# -------------------------------------------------------------------------------- verify


def test_verify_tells_how_far_each_block_holds():
    X, y = two_classes()
    extra = np.array([[0.5, 0.5], [0.2, -1.0]])
    prior = (
        UnlabeledSamples(extra, [1, 0], margins=0.5)
        + InvarianceHint(Shift([0.0, 1.0]), mu=0.1)
        + OddnessHint(mu=0.1)
        + MonotonicityHint({0: 1}, mu=0.1).named("rising")
        + ClassCosts({1: 2.0})
    )
    model = PriorSVC(prior, kernel="rbf").fit(X, y)
    f, found = model.decision_function, model.verify()
    assert [check.block for check in found.checks] == prior.names
    margin = np.array([1, -1]) * f(extra) - 0.5
    assert found["unlabeled_samples"].worst == pytest.approx(margin.min())
    assert_allclose(found["unlabeled_samples"].where, extra[margin.argmin()])
    up = np.array([0.0, 1.0])
    moved = np.abs(np.concatenate([f(X + up) - f(X), f(X - up) - f(X)]))
    assert found["invariance_hint"].worst == pytest.approx(-moved.max())
    assert found["oddness_hint"].worst == pytest.approx(-np.abs(f(-X) + f(X)).max())
    low, high = prior["rising"].start(Sample.training(X, y, model.classes_, 1))
    assert found["rising"].worst == pytest.approx((f(high) - f(low)).min())
    assert not found["rising"].proven
    assert found["oddness_hint"].proven
    assert found["class_costs"].holds is None
    assert [v.checked for v in (found["unlabeled_samples"], found["invariance_hint"], found["rising"])] == [
        2,
        80,
        100,
    ]
    for check in found.checks:
        if check.verdict.holds is not None:
            assert check.verdict.holds == (check.verdict.worst >= -1e-6)
    assert found.holds == all(c.verdict.holds is not False for c in found.checks)
    assert not found.holds


@pytest.mark.parametrize("block", [VirtualSamples, VirtualSupportVectors])
def test_verify_looks_at_the_transformed_rows_only(block):
    X, y = two_classes()
    model = PriorSVC(block(Shift([0.3, 0.0])), kernel="rbf").fit(X, y)
    rows = PriorSVC(kernel="rbf").fit(X, y).support_ if block is VirtualSupportVectors else slice(None)
    shift = np.array([0.3, 0.0])
    copies = np.vstack([X[rows] - shift, X[rows] + shift])
    margin = np.tile(np.where(y[rows] == 1, 1, -1), 2) * model.decision_function(copies) - 1
    [check] = model.verify().checks
    assert check.verdict.checked == len(copies)
    assert check.verdict.worst == pytest.approx(margin.min())


@pytest.mark.parametrize(
    "kernel",
    [
        "linear",
        Polynomial(3, gamma=0.5, coef0=1.0),
        "rbf",
    ],
)
def test_verify_says_yes_where_a_hard_block_holds(kernel):
    X, y = two_classes()
    prior = InvarianceHint(Shift([0.0, 0.5]), hard=True) + MonotonicityHint({0: 1}, hard=True)
    model = PriorSVC(prior, kernel=kernel).fit(X, y)
    assert model.verify().holds
    assert PriorSVC(kernel=kernel).fit(X, y).verify().checks == []


def test_verify_shapes_text_and_html():
    X, y = three_classes()
    prior = VirtualSamples(Shift([0.1, 0, 0, 0])) + MonotonicityHint({0: 1}, label="setosa")
    found = PriorSVC(prior, scale="standard").fit(X, y).verify()
    assert len(found.checks) == 6
    assert [c.label for c in found.checks[::2]] == ["setosa", "versicolor", "virginica"]
    by_class = {c.label: c.verdict for c in found.checks if c.block == "monotonicity_hint"}
    assert by_class["setosa"].holds is not None
    assert by_class["virginica"].holds is None  # the hint does not apply to this class
    worst = [c.verdict.worst for c in found.checks if c.block == "virtual_samples"]
    assert found["virtual_samples"].worst == min(worst)
    assert all(word in str(found) for word in ("class", "virtual_samples", "setosa", "worst", "proven"))
    assert found._repr_html_().count("<tr>") == 7
    with pytest.raises(KeyError, match="there is no block 'nonsense'"):
        found["nonsense"]
    assert str(PriorSVC().fit(X, y).verify()) == "There is no block to verify."


def test_a_weight_of_zero_leaves_no_trace():
    X, y = two_classes()
    model = PriorSVC(0 * OddnessHint() + 0.0 * VirtualSamples(Shift([1.0, 0.0]))).fit(X, y)
    plain = PriorSVC().fit(X, y)
    assert_array_equal(model.decision_function(X), plain.decision_function(X))
    assert model.solver_ == "LIBSVM"
    assert [row.block for row in model.report_.rows] == ["svm", "svm"]
    assert model.verify().checks == []


# -------------------------------------------------------------------------------- blocks that score


class Bonus(Scores, Knowledge):
    "New rows score f(x) + bonus."

    def __init__(self, bonus):
        self.bonus = bonus

    def predict(self, f, X):
        return f.value(X) + self.bonus


class Anchor(Knowledge):
    "mu (f(point) - value)^2"

    def __init__(self, point, value, mu=1.0):
        self.point, self.value, self.mu = point, value, mu

    def build(self, f, view):
        return Terms({"mu": cp.sum_squares(f([self.point]) - self.value)})


@pytest.mark.parametrize("data", [two_classes, three_classes])
def test_a_block_may_score_new_rows(data):
    X, y = data()
    plain, model = PriorSVC().fit(X, y), PriorSVC(Bonus(10.0) + ClassCosts({})).fit(X, y)
    assert_allclose(model.decision_function(X), plain.decision_function(X) + 10.0)
    assert model.solver_ == plain.solver_  # it adds nothing to the problem
    if data is two_classes:
        assert set(model.predict(X)) == {1}


def test_a_block_of_weight_zero_does_not_score():
    X, y = two_classes()
    model = PriorSVC(0 * Bonus(10.0)).fit(X, y)
    assert_array_equal(model.decision_function(X), PriorSVC().fit(X, y).decision_function(X))


def test_two_blocks_cannot_both_score():
    X, y = two_classes()
    with pytest.raises(InvalidInput, match=r"'bonus' and 'other' both score.*Keep one"):
        PriorSVC(Bonus(1.0) + Bonus(2.0).named("other")).fit(X, y)


@pytest.mark.parametrize("kernel", ["linear", "rbf", lambda A, B: (1 + A @ B.T) ** 2])
def test_a_block_of_ones_own_joins_the_problem(kernel):
    X, y = two_classes()
    point = [0.4, -0.7]
    values = [
        PriorSVC(Anchor(point, 2.0, mu=mu), kernel=kernel).fit(X, y).decision_function([point])[0]
        for mu in (0.0, 1.0, 1e6)
    ]
    assert values[0] == pytest.approx(
        PriorSVC(kernel=kernel).fit(X, y).decision_function([point])[0], abs=1e-4
    )
    assert abs(values[1] - 2) < abs(values[0] - 2)
    assert values[2] == pytest.approx(2.0, abs=1e-3)
    model = PriorSVC(Anchor(point, 2.0, mu=3.0).named("anchor"), kernel=kernel).fit(X, y)
    [row] = model.report_["anchor"]
    assert row.contribution == pytest.approx(3 * (model.decision_function([point])[0] - 2) ** 2, rel=1e-5)


# -------------------------------------------------------------------------------- the two routes

ROWS = {
    "none": None,
    "class costs": ClassCosts({0: 0.3, 1: 4.0}),
    "balanced": ClassCosts("balanced"),
    "sample costs": SampleCosts(lambda X, y: 0.1 + np.abs(X[:, 0])),
    "zero costs": SampleCosts(lambda X, y: (np.arange(len(y)) % 3 > 0).astype(float)),
    "unlabelled": UnlabeledSamples([[0.5, 0.5], [0.2, -1.0]], [1, 0], costs=[2.0, 0.5]),
    "virtual": VirtualSamples(Shift([0.3, 0.1]), cost=0.5),
    "half of virtual": 0.5 * VirtualSamples(Shift([0.3, 0.1])),
    "twice the class costs": 2 * ClassCosts({1: 4.0}),
    "virtual support vectors": VirtualSupportVectors(Shift([0.3, 0.1])),
    "all": ClassCosts("balanced")
    + SampleCosts(lambda X, y: 0.1 + np.abs(X[:, 0]))
    + UnlabeledSamples([[0.5, 0.5]], 1)
    + VirtualSamples(Shift([0.3, 0.1]), cost=0.5)
    + 0.3 * VirtualSamples(Shift([0.0, 0.5])),
}
KERNELS = {
    "linear": "linear",
    "rbf": "rbf",
    "poly": Polynomial(2, gamma=0.5, coef0=1.0),
    "callable": lambda A, B: (1 + A @ B.T) ** 2,
    "sum": RBF(0.5) + 0.1 * Polynomial(2, gamma=1.0),
}


@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS.keys())
@pytest.mark.parametrize("prior", ROWS.values(), ids=ROWS.keys())
def test_libsvm_and_cvxpy_give_the_same_model(prior, kernel):
    X, y = two_classes()
    fast = PriorSVC(prior, kernel=kernel, tol=1e-9).fit(X, y)
    slow = PriorSVC(prior, kernel=kernel, tol=1e-9, solver="CLARABEL", solver_options=TIGHT).fit(X, y)
    assert (fast.solver_, slow.solver_) == ("LIBSVM", "CLARABEL")
    assert fast.objective_ == pytest.approx(slow.objective_, rel=1e-8)
    assert_allclose(fast.decision_function(X), slow.decision_function(X), atol=1e-6)
    assert_array_equal(fast.support_, slow.support_)
    assert_allclose(fast._models[0].alpha, slow._models[0].alpha, atol=1e-4)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_libsvm_and_cvxpy_find_the_same_labels(kernel):
    X, y = two_classes(24)
    block = Transductive(two_classes(8, seed=1)[0], cost=0.5)
    fast = PriorSVC(block, kernel=kernel, tol=1e-9).fit(X, y)
    slow = PriorSVC(block, kernel=kernel, tol=1e-9, solver="CLARABEL").fit(X, y)
    assert fast.findings_["transductive"] == slow.findings_["transductive"]
    assert fast.n_rounds_ == slow.n_rounds_
    assert fast.objective_ == pytest.approx(slow.objective_, rel=1e-7)
    assert_allclose(fast.decision_function(X), slow.decision_function(X), atol=1e-5)


@pytest.mark.parametrize("scale", ["standard", "minmax"])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_libsvm_and_cvxpy_agree_with_scale_and_several_classes(kernel, scale):
    X, y = three_classes()
    prior = ClassCosts("balanced") + VirtualSamples(Shift([0.3, 0, 0, 0]), cost=0.5)
    fast = PriorSVC(prior, kernel=kernel, scale=scale, tol=1e-9).fit(X, y)
    slow = PriorSVC(prior, kernel=kernel, scale=scale, tol=1e-9, solver="CLARABEL").fit(X, y)
    assert fast.solver_ == ["LIBSVM"] * 3
    assert_allclose(fast.objective_, slow.objective_, rtol=1e-7)
    assert_allclose(fast.decision_function(X), slow.decision_function(X), atol=1e-5)


def test_libsvm_can_be_chosen():
    X, y = two_classes(120)
    assert PriorSVC(solver="LIBSVM").fit(X, y).solver_ == "LIBSVM"
    assert PriorSVC(VirtualSamples(Shift([0.3, 0.1])), solver="LIBSVM").fit(X, y).solver_ == "LIBSVM"
    assert PriorSVC(0 * OddnessHint(), solver="LIBSVM").fit(X, y).solver_ == "LIBSVM"
    assert PriorSVC(solver=["LIBSVM", "CLARABEL"]).fit(X, y).solver_ == "LIBSVM"
    assert PriorSVC(solver=["CLARABEL", "LIBSVM"]).fit(X, y).solver_ == "CLARABEL"


@pytest.mark.parametrize(
    ("parameters", "why"),
    [
        ({"prior": OddnessHint()}, "block 'oddness_hint' does more than add or reweight rows"),
        ({"prior": ClassCosts({}) + Anchor([0.0, 0.0], 1.0).named("fact")}, "block 'fact' does more"),
        ({"norm": "l1"}, "norm='l1'"),
        ({"loss": "squared_hinge"}, "loss='squared_hinge'"),
        ({"n_centres": 3, "kernel": "rbf"}, "n_centres"),
        ({"prior": SampleCosts(None, lambda X, y: 2.0 * np.ones(len(y)))}, "margin other than 1"),
        ({"prior": UnlabeledSamples([[0.0, 0.0]], 1, margins=0.5)}, "margin other than 1"),
    ],
    ids=["hint", "third-party", "l1", "squared hinge", "n_centres", "margins", "extra margins"],
)
def test_libsvm_says_why_it_cannot(parameters, why):
    X, y = two_classes()
    with pytest.raises(SolverUnsuited, match=rf"LIBSVM cannot solve this problem: .*{why}.*solver='auto'"):
        PriorSVC(**parameters, solver="LIBSVM").fit(X, y)
    assert PriorSVC(**parameters).fit(X, y).solver_ != "LIBSVM"
    assert PriorSVC(**parameters, solver=["LIBSVM", "CLARABEL"]).fit(X, y).solver_ == "CLARABEL"


def test_options_of_libsvm_are_options_and_not_the_problem():
    X, y = two_classes()
    model = PriorSVC(kernel="rbf", solver_options={"shrinking": False, "cache_size": 10}).fit(X, y)
    assert_allclose(
        model.decision_function(X), PriorSVC(kernel="rbf").fit(X, y).decision_function(X), atol=1e-6
    )


@pytest.mark.parametrize("option", [{"C": 100.0}, {"kernel": "linear"}, {"class_weight": {1: 50.0}}], ids=str)
def test_options_that_would_change_the_problem_are_refused(option):
    X, y = two_classes()
    with pytest.raises(InvalidInput, match=next(iter(option))):
        PriorSVC(kernel="rbf", solver_options=option).fit(X, y)


def test_the_tol_of_libsvm_can_be_an_option():
    X, y = two_classes()
    loose = PriorSVC(kernel="rbf", C=10, solver="LIBSVM", solver_options={"tol": 0.5}).fit(X, y)
    assert loose.history_[0]["gap"] > 1e-5


def test_formulation_of_a_soft_region_has_its_slack_where_it_belongs():
    X, y = two_classes()
    text = str(PriorSVC(Box({0: (1.0, 2.0)}, 1, holds="everywhere")).fit(X, y).formulation())
    assert r"C \sum_l \zeta_l}_" in text
    assert r"-v \le w \le v}_" in text
    assert r"\ge 1 - \zeta_l" in text
    assert r"\zeta" not in str(PriorSVC(Box({0: (1.0, 2.0)}, 1, hard=True)).fit(X, y).formulation())


def test_formulation_gives_the_numbers_of_its_letters():
    X, y = two_classes()
    text = str(PriorSVC(UncertainSamples(0.1, confidence=0.9)).fit(X, y).formulation())
    assert r",\; \tau = 1.28155" in text
    assert r"y_i f(x_i) - \tau\, t_i" in text


def test_words_in_x_are_answered_with_what_to_do():
    with pytest.raises(InvalidInput, match=r"X contains text .*'north'.*Encode the column first"):
        PriorSVC().fit([["north", 1.0], ["south", 2.0]], [0, 1])


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (["never", "often"], r"in column 'use': .*'never'\. Encode the column"),
        (["5,59", "6,01"], r"in column 'use': .*'5,59'\. For a decimal comma"),
        (pd.to_datetime(["2024-01-02", "2024-03-04"]), r"dates in column 'use': .*2024-01-02.*days since"),
    ],
)
def test_what_is_no_number_in_a_table_is_named_with_its_column(column, message):
    frame = pd.DataFrame({"age": [30.0, 40.0], "use": column})
    with pytest.raises(InvalidInput, match=message):
        PriorSVC(categories=None).fit(frame, [0, 1])
    model = PriorSVC().fit(pd.DataFrame({"age": [30.0, 40.0], "use": [1.0, 2.0]}), [0, 1])
    with pytest.raises(InvalidInput, match=message):
        model.predict(frame)


def test_verdicts_as_a_frame():
    X, y = two_classes()
    found = PriorSVC(Box({0: (1.0, 2.0)}, 1, hard=True) + ClassCosts({1: 2.0})).fit(X, y).verify()
    frame = found.to_frame()
    assert list(frame["block"]) == ["box", "class_costs"]
    assert frame["holds"][0]
    assert frame["worst"][0] == found["box"].worst


# -------------------------------------------------------------------------------- what is not there


def test_findings_of_another_name_list_those_there_are():
    model = PriorSVC(UncertainSamples(0.01)).fit(*two_classes())
    with pytest.raises(
        KeyError, match=r"no findings for block 'uncertain'; available: \['uncertain_samples'\]"
    ):
        model.findings_["uncertain"]
    assert list(model.findings_) == ["uncertain_samples"]


def test_probabilities_are_not_there_and_the_error_says_where_they_are():
    model = PriorSVC().fit(*two_classes())
    assert not hasattr(model, "predict_proba")
    with pytest.raises(AttributeError, match=r"CalibratedClassifierCV\(model\)"):
        model.predict_proba([[0.0, 0.0]])
