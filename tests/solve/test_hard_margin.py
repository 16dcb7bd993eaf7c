"""C=inf: the hard margin, against scikit-learn with a large C and problems written out with CVXPY."""

import cvxpy as cp
import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.datasets import make_blobs
from sklearn.svm import SVC

from priorsvm import (
    RBF,
    Box,
    ClassCosts,
    FeatureDeletion,
    InvariantLoss,
    Monotone,
    PriorSVC,
    SampleCosts,
    Shift,
    Trajectories,
    Transductive,
    UncertainSamples,
    UnlabeledSamples,
    VirtualSamples,
    VirtualSupportVectors,
    load,
    save,
)
from priorsvm.errors import Infeasible, InvalidInput, MissingCapability, SolverUnsuited
from priorsvm.solve.registry import registry
from priorsvm.solve.routes.weighted_route import WeightedRoute

SHIFT = Shift([0.5, 0.2])


@pytest.fixture(scope="module")
def apart():
    X, y = make_blobs(40, centers=[[0, 0], [4, 3]], cluster_std=0.7, random_state=0)
    return X, y


@pytest.fixture(scope="module")
def overlapping():
    return make_blobs(40, centers=[[0, 0], [1, 1]], cluster_std=0.7, random_state=0)


def literal(X, y, also=lambda w, b: [], norm=2):
    """Return w and b of the hard margin written out."""
    w = cp.Variable(X.shape[1])
    b = cp.Variable()
    size = 0.5 * cp.sum_squares(w) if norm == 2 else cp.norm1(w)
    margins = [cp.multiply(2.0 * y - 1, X @ w + b) >= 1, *also(w, b)]
    problem = cp.Problem(cp.Minimize(size), margins)
    problem.solve(solver="CLARABEL", tol_gap_abs=1e-11, tol_gap_rel=1e-11, tol_feas=1e-11)
    return problem.value, w.value, b.value


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_the_limit_of_large_costs(apart, kernel, loss):
    X, y = apart
    expected = SVC(C=1e10, kernel=kernel, gamma=0.5, tol=1e-8).fit(X, y)
    given = "linear" if kernel == "linear" else RBF(gamma=0.5)
    model = PriorSVC(C=np.inf, kernel=given, loss=loss).fit(X, y)
    np.testing.assert_allclose(model.decision_function(X), expected.decision_function(X), atol=1e-6)
    assert set(model.support_) == set(expected.support_)


@pytest.mark.parametrize("norm", [1, 2])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("sparse", [False, True])
def test_the_hard_margin_written_out(apart, norm, loss, sparse):
    X, y = apart
    value, w, b = literal(X, y, norm=norm)
    rows = csr_array(X) if sparse else X
    model = PriorSVC(C=np.inf, norm=f"l{norm}", loss=loss).fit(rows, y)
    assert model.objective_ == pytest.approx(value, rel=1e-7)
    np.testing.assert_allclose(model.coef_[0], w, atol=1e-6)
    np.testing.assert_allclose(model.intercept_[0], b, atol=1e-6)
    assert model.n_rounds_ == 1


@pytest.mark.parametrize("solver", ["CLARABEL", "SCHUR", "ROWS", "OSQP", "ECOS"])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_solvers_agree(apart, solver, kernel):
    X, y = apart
    reference = PriorSVC(C=np.inf, kernel=kernel, solver="CLARABEL", tol=1e-9).fit(X, y)
    model = PriorSVC(C=np.inf, kernel=kernel, solver=solver).fit(X, y)
    assert model.solver_ == solver
    assert model.objective_ == pytest.approx(reference.objective_, rel=1e-6)


def test_rows_is_chosen_for_many_rows_of_a_kernel_model():
    X, y = make_blobs(200, centers=[[0, 0], [2, 2]], cluster_std=0.7, random_state=1)
    model = PriorSVC(C=np.inf, kernel=RBF(gamma=5.0)).fit(X, y)
    conic = PriorSVC(C=np.inf, kernel=RBF(gamma=5.0), solver="CLARABEL", tol=1e-9).fit(X, y)
    assert model.solver_ == "ROWS"
    assert model.objective_ == pytest.approx(conic.objective_, rel=1e-6)
    assert (model.predict(X) == y).all()


def test_several_classes():
    X, y = make_blobs(45, centers=[[0, 0], [5, 0], [0, 5]], cluster_std=0.6, random_state=2)
    model = PriorSVC(C=np.inf).fit(X, y)
    for k in range(3):
        assert model.objective_[k] == pytest.approx(literal(X, (y == k).astype(float))[0], rel=1e-6)


# ---------------------------------------------------------------------- costs and rows


def test_costs_decide_only_which_rows_count(apart):
    X, y = apart
    X = np.vstack([X, [[4.0, 3.0]]])  # a wrong label that makes the classes inseparable
    y = np.append(y, 0)
    cost = np.append(np.linspace(0.1, 3.0, 40), 0.0)
    expected = PriorSVC(C=np.inf).fit(X[:-1], y[:-1])
    for model in (
        PriorSVC(SampleCosts(cost) + ClassCosts("balanced"), C=np.inf).fit(X, y),
        PriorSVC(C=np.inf).fit(X, y, sample_weight=cost),
    ):
        np.testing.assert_allclose(model.coef_, expected.coef_, atol=1e-7)
        assert np.isfinite(model.objective_)
        assert all(np.isfinite(row.contribution) for row in model.report_.rows)


@pytest.mark.parametrize("kernel", ["linear", RBF(gamma=0.3)])
def test_virtual_rows_are_hard_constraints(apart, kernel):
    X, y = apart
    copies = SHIFT.orbit(X)[:, 1:].reshape(-1, 2)
    expected = PriorSVC(C=np.inf, kernel=kernel).fit(np.vstack([X, copies]), np.append(y, np.repeat(y, 2)))
    for block in (
        VirtualSamples(SHIFT, cost=0.01),
        UnlabeledSamples(copies, np.repeat(y, 2)),
        0.3 * VirtualSamples(SHIFT),
        InvariantLoss(SHIFT),
        InvariantLoss(SHIFT, method="columns"),
    ):
        model = PriorSVC(block, C=np.inf, kernel=kernel).fit(X, y)
        np.testing.assert_allclose(model.decision_function(X), expected.decision_function(X), atol=2e-5)
        assert model.verify().holds
        assert np.isfinite(model.report_.to_frame()["contribution"]).all()


def test_copies_of_cost_zero_stay_out(apart):
    X, y = apart
    model = PriorSVC(VirtualSamples(Shift([9.0, 0.0]), cost=[0.0, 0.0]), C=np.inf).fit(X, y)
    np.testing.assert_allclose(model.coef_, PriorSVC(C=np.inf).fit(X, y).coef_, atol=1e-7)


def test_copies_of_support_vectors(apart):
    X, y = apart
    model = PriorSVC(VirtualSupportVectors(SHIFT), C=np.inf).fit(X, y)
    every = PriorSVC(VirtualSamples(SHIFT), C=np.inf).fit(X, y)
    assert model.n_rounds_ == 2
    assert model.objective_ <= every.objective_ * (1 + 1e-7)


# ---------------------------------------------------------------------- blocks


def test_a_hard_box(apart):
    X, y = apart
    box = {0: (1.2, 1.6), 1: (0.0, 1.0)}
    corners = np.array([[x0, x1] for x0 in box[0] for x1 in box[1]])
    value, w, _ = literal(X, y, lambda w, b: [corners @ w + b <= -1])
    model = PriorSVC(Box(box, label=0, hard=True), C=np.inf).fit(X, y)
    assert model.objective_ == pytest.approx(value, rel=1e-6)
    np.testing.assert_allclose(model.coef_[0], w, atol=1e-5)


@pytest.mark.parametrize("holds", ["auto", "rows", "everywhere"])
def test_a_soft_box_is_refused(apart, holds):
    """Its weight is a number of rows, which C multiplies."""
    box = Box({0: (3.0, 5.0), 1: (2.0, 4.0)}, label=0, mu=0.5, holds=holds)
    with pytest.raises(MissingCapability, match=r"block 'box'.*C is infinite\. Use hard=True"):
        PriorSVC(box, C=np.inf).fit(*apart)


def test_a_hard_monotone(apart):
    X, y = apart
    value, w, _ = literal(X, y, lambda w, b: [w[1] <= 0])
    model = PriorSVC(Monotone({1: -1}, hard=True), C=np.inf).fit(X, y)
    assert model.objective_ == pytest.approx(value, rel=1e-6)
    np.testing.assert_allclose(model.coef_[0], w, atol=1e-5)


@pytest.mark.parametrize("confidence", [0.6, 0.9])
def test_a_hard_robust_margin(apart, confidence):
    X, y = apart
    block = UncertainSamples([0.5, 0.1], confidence=confidence)
    s = 2.0 * y - 1

    def robust(w, b):
        return [cp.multiply(s, X @ w + b) - block.radius * cp.norm(cp.multiply([0.5, 0.1], w)) >= 1]

    value, w, _ = literal(X, y, robust)
    model = PriorSVC(block, C=np.inf).fit(X, y)
    assert model.objective_ == pytest.approx(value, rel=1e-6)
    np.testing.assert_allclose(model.coef_[0], w, atol=1e-5)
    assert model.verify().holds


def test_trajectories_and_deletions_with_hard_margins(apart):
    X, y = apart
    step = np.array([0.5, 0.2])
    ends = np.vstack([X + step, X - step])
    value, _, _ = literal(np.vstack([X, ends]), np.tile(y, 3))
    model = PriorSVC(Trajectories(SHIFT), C=np.inf).fit(X, y)
    assert model.objective_ == pytest.approx(value, rel=1e-6)
    X = np.abs(X) + np.where(y[:, None], 3.0, 0.0)
    without = np.vstack([X, X * [0, 1], X * [1, 0]])
    value, _, _ = literal(without, np.tile(y, 3))
    model = PriorSVC(InvariantLoss(FeatureDeletion(k=1)), C=np.inf).fit(X, y)
    assert model.objective_ == pytest.approx(value, rel=1e-6)


# ---------------------------------------------------------------------- what a fitted model shows


def test_reports_are_finite(apart):
    X, y = apart
    model = PriorSVC(VirtualSamples(SHIFT), C=np.inf).fit(X, y)
    rows = {(row.block, row.term): row for row in model.report_.rows}
    assert rows["svm", "loss"].contribution == rows["virtual_samples", "sample"].contribution == 0
    assert rows["svm", "regulariser"].contribution == pytest.approx(model.objective_)
    assert model.problem.value == pytest.approx(model.objective_, rel=1e-6)
    assert "nan" not in str(model.report_)
    written = model.formulation()
    assert "C = ∞" in written.text()
    assert r"C = \infty" in str(written)
    assert "ξᵢ = 0" in written.text()
    assert "svm.loss" not in dict(written.objective)


def test_files_keep_an_infinite_cost(apart, tmp_path):
    X, y = apart
    model = PriorSVC(InvariantLoss(SHIFT), C=np.inf).fit(X, y)
    save(model, tmp_path / "model.skops")
    loaded = load(tmp_path / "model.skops")
    assert np.inf == loaded.C
    np.testing.assert_array_equal(loaded.coef_, model.coef_)
    assert str(loaded.report_) == str(model.report_)
    assert loaded.verify().holds


@pytest.mark.parametrize("block", [None, Box({0: (1.2, 1.6), 1: (0.0, 1.0)}, label=0, hard=True)])
def test_a_path_ends_with_the_hard_margin(apart, block):
    X, y = apart
    *_, large, hard = PriorSVC(block).fit_path(X, y, {"C": [1.0, 10.0, 1e4, np.inf]})
    expected = PriorSVC(block, C=np.inf).fit(X, y)
    np.testing.assert_allclose(hard.coef_, expected.coef_, atol=1e-7)
    np.testing.assert_allclose(large.coef_, hard.coef_, atol=1e-4)
    first = PriorSVC(block).fit_path(X, y, {"C": [np.inf, 1.0]})[1]
    np.testing.assert_allclose(first.coef_, PriorSVC(block, C=1.0).fit(X, y).coef_, atol=1e-6)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("block", [None, InvariantLoss(SHIFT), InvariantLoss(SHIFT, method="columns")])
def test_the_problem_before_it_is_solved(apart, block, kernel):
    X, y = apart
    step = PriorSVC(block, C=np.inf, kernel=kernel).assemble(X, y)
    while step is not None:
        last = step
        step.solve()
        step = step.refine()
    expected = PriorSVC(block, C=np.inf, kernel=kernel).fit(X, y)
    np.testing.assert_allclose(last.classifier().decision_function(X), expected.decision_function(X))
    with pytest.raises(InvalidInput, match=r"set\(C\) changes more than weights"):
        last.set(C=1.0)


def test_a_solution_by_rows_is_lifted_to_the_problem(apart):
    model = PriorSVC(C=np.inf, kernel="rbf", solver="ROWS").fit(*apart)
    assert model.problem.value == pytest.approx(model.objective_, rel=1e-7)
    loaded = PriorSVC(C=np.inf, kernel="rbf").fit(*apart)
    loaded._models[0].compiled = None
    assert loaded.problem.value == pytest.approx(model.objective_, rel=1e-6)


# ---------------------------------------------------------------------- errors


@pytest.mark.parametrize("norm", ["l1", "l2"])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("solver", ["auto", "CLARABEL"])
def test_classes_that_are_not_separable(overlapping, norm, loss, solver):
    X, y = overlapping
    with pytest.raises(Infeasible, match=r"no linear f has it: the classes are not separable.*finite C"):
        PriorSVC(C=np.inf, norm=norm, loss=loss, solver=solver).fit(X, y)


def test_the_message_names_classes_and_ways_out(apart):
    X, y = apart
    X = np.vstack([X, X[:1], X[:1]])
    with pytest.raises(
        Infeasible, match=r"it: the classes are not separable\. Use a finite C, or a kernel\.$"
    ):
        PriorSVC(C=np.inf).fit(X, [*y, *(1 - y[:1]), *y[:1]])
    with pytest.raises(Infeasible, match=r"f of the kernel .* has it: the classes .*\. Use a finite C\.$"):
        PriorSVC(C=np.inf, kernel="rbf").fit(X, [*y, *(1 - y[:1]), *y[:1]])
    with pytest.raises(Infeasible, match=r"it: class \d and the other classes are not separable\. Use a fin"):
        PriorSVC(C=np.inf).fit(X, [*y, *(1 - y[:1]), 2])


def test_a_conflict_of_blocks_names_the_hard_margins_too(apart):
    from priorsvm import OddnessHint

    X, y = apart
    region = Box({j: (float(low), float(low)) for j, low in enumerate(X[0])}, int(1 - y[0]), hard=True)
    with pytest.raises(
        Infeasible, match=r"'box'.* With C=inf the margins of .* are hard .*: use a finite C\."
    ):
        PriorSVC(region + OddnessHint(), C=np.inf).fit(X, y)


def test_equal_rows_of_two_classes_on_a_kernel_model(apart):
    X, y = apart
    X = np.vstack([X, X[:1]])
    y = np.append(y, 1 - y[0])
    with pytest.raises(Infeasible, match=r"not separable\. Use a finite C"):
        PriorSVC(C=np.inf, kernel="rbf").fit(X, y)


def test_added_rows_are_named(apart):
    X, y = apart
    with pytest.raises(Infeasible, match="the rows of 'virtual_samples' included"):
        PriorSVC(VirtualSamples(Shift([4.0, 3.0])), C=np.inf).fit(X, y)


@pytest.mark.parametrize(
    ("block", "name"),
    [
        (InvariantLoss(Shift([4.0, 3.0])), "invariant_loss"),
        (UncertainSamples(3.0), "uncertain_samples"),
        (Box({0: (3.0, 5.0), 1: (2.0, 4.0)}, label=0, hard=True), "box"),
    ],
)
@pytest.mark.filterwarnings("ignore::priorsvm.errors.AgainstData")
def test_blocks_that_conflict_with_the_margins_are_named(apart, block, name):
    with pytest.raises(Infeasible, match=f"conflict: '{name}'.*With C=inf the margins.*use a finite C"):
        PriorSVC(block, C=np.inf).fit(*apart)


@pytest.mark.parametrize("solver", [n for n, r in registry().items() if isinstance(r, WeightedRoute)])
def test_routes_of_finite_costs(apart, solver):
    with pytest.raises(SolverUnsuited, match="requires a finite C"):
        PriorSVC(C=np.inf, solver=solver).fit(*apart)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"prior": Transductive([[1.0, 1.0]])}, MissingCapability, "'transductive'.*finite C"),
        ({"prior": InvariantLoss(SHIFT, method="pegasos")}, MissingCapability, "'pegasos' requires a finite"),
        ({"multi_class": "joint"}, InvalidInput, "'joint' requires a finite C"),
        ({"norm": "l1", "solver": "CENTRES"}, SolverUnsuited, "CENTRES.*requires a finite C"),
        ({"prior": InvariantLoss(SHIFT), "solver": "COLUMNS"}, SolverUnsuited, "COLUMNS.*finite C"),
        ({"C": -np.inf}, InvalidInput, "C must be a positive number or infinity, got -inf"),
        ({"C": np.nan}, InvalidInput, "C must be a positive number or infinity, got nan"),
        ({"C": "inf"}, InvalidInput, "C must be a positive number or infinity, got 'inf'"),
    ],
)
def test_what_requires_a_finite_cost_is_named(apart, arguments, error, message):
    with pytest.raises(error, match=message):
        PriorSVC(**{"C": np.inf, **arguments}).fit(*apart)
