"""The route CONES: margins reduced by norms of slopes, against solvers of the cones as CVXPY states them."""

import numpy as np
import pytest
from sklearn.datasets import make_classification

from priorsvm import (
    RBF,
    Box,
    MissingValues,
    Polynomial,
    PriorSVC,
    SampleCosts,
    Shift,
    Terms,
    UncertainSamples,
    VirtualSamples,
)
from priorsvm.errors import SolverUnsuited
from priorsvm.solve.methods import cone_margins, cone_metric, cone_newton
from priorsvm.solve.routes import cones

# Answers of CLARABEL and CONES differ by this, relative to the objective.
SAME = 2e-8


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 4))
    y = (X[:, 0] + np.sin(2 * X[:, 1]) + 0.4 * rng.normal(size=90) > 0).astype(int)
    return X, y


@pytest.fixture(scope="module")
def gaps(rows):
    X, y = rows
    X = X.copy()
    X[np.random.default_rng(1).random(X.shape) < 0.25] = np.nan
    return X, y


def both(prior, rows, **given):
    """Return the models of CONES and CLARABEL."""
    found = PriorSVC(prior, **{"kernel": "rbf", **given}).fit(*rows)
    assert found.solver_ == "CONES"
    assert found.status_ == "optimal"
    return found, PriorSVC(prior, **{"kernel": "rbf", "solver": "CLARABEL", **given}).fit(*rows)


def check_same(found, other):
    """Check objective, slacks and dual variables, and that the gap bounds the distance to the optimum."""
    assert found.objective_ == pytest.approx(other.objective_, rel=SAME)
    mine, theirs = found._models[0], other._models[0]
    assert mine.outcome.residuals.worst <= 1e-6
    assert mine.outcome.residuals.gap <= 1e-9
    assert set(mine.duals) == set(theirs.duals)
    for label, dual in mine.duals.items():
        expected = theirs.duals[label]
        parts = zip(dual, expected, strict=True) if isinstance(dual, list) else [(dual, expected)]
        for one, two in parts:
            assert np.shape(one) == np.shape(two)
    np.testing.assert_allclose(mine.slack(mine.sample), theirs.slack(theirs.sample), atol=1e-5)


@pytest.mark.parametrize("C", [0.1, 1.0, 100.0])
@pytest.mark.parametrize("size", [0.05, 0.3, 0.6], ids=["small", "usual", "large"])
def test_uncertain_rows(rows, C, size):
    found, other = both(UncertainSamples(size), rows, C=C)
    check_same(found, other)
    # If the slope of a row is 0, its two margins coincide. Only the sum of their dual variables is unique.
    name = "uncertain_samples"
    totals = [m._models[0].alpha + m._models[0].duals[f"{name}.margin"] for m in (found, other)]
    np.testing.assert_allclose(*totals, atol=2e-4 * C)
    if size < 0.5:
        cones = [m._models[0].duals_of(name)["cone"] for m in (found, other)]
        np.testing.assert_allclose(*cones, atol=2e-4 * C)


@pytest.mark.parametrize("C", [1.0, 30.0])
def test_missing_values_of_all_ranks(gaps, C):
    found, other = both(MissingValues(), gaps, C=C)
    check_same(found, other)
    np.testing.assert_allclose(found.decision_function(gaps[0]), other.decision_function(gaps[0]), atol=1e-4)
    assert "cone_3" in str(found.report_)


def test_kinks_where_the_slope_of_a_row_is_zero(rows):
    # One column with a large error: the slope along it is 0 at many rows, and two inequalities are active.
    found, other = both(UncertainSamples({1: 2.0}), rows, C=10.0)
    check_same(found, other)
    upper, lower = found._models[0].duals["uncertain_samples.cone"].reshape(2, -1)
    assert np.count_nonzero(np.minimum(upper, lower) > 1e-3) >= 5


@pytest.mark.parametrize("kernel", [RBF(0.7), Polynomial(3, coef0=1.0), RBF(0.3) + 0.1 * Polynomial(2)])
def test_kernels(rows, kernel):
    check_same(*both(UncertainSamples([0.1, 0.2, 0.0, 0.3]), rows, kernel=kernel, C=2.0))


def test_scale_costs_and_added_rows(rows):
    X, y = rows
    X = X * [1.0, 10.0, 0.1, 5.0] + 3.0
    prior = UncertainSamples([0.1, 2.0, 0.01, 0.0]) + SampleCosts(np.linspace(0.0, 2.0, len(y)))
    check_same(*both(prior, (X, y), scale="standard"))
    moved = UncertainSamples(0.1) + VirtualSamples(Shift([[0.1, 0.0, 0.0, 0.0]]))
    check_same(*both(moved, rows))


def test_some_rows_are_certain(rows):
    covariance = np.where(np.arange(90)[:, None] % 3 == 0, 0.0, 0.3) * np.ones(4)
    found, other = both(UncertainSamples(covariance), rows)
    check_same(found, other)
    np.testing.assert_allclose(found._models[0].alpha, other._models[0].alpha, atol=1e-4)
    assert (found._models[0].alpha[::3] > 1e-3).any()


def test_few_coordinates_first_and_conjugate_gradients_last(rows, monkeypatch):
    whole = PriorSVC(UncertainSamples(0.3), kernel="rbf").fit(*rows)
    for name, value in {"FEWEST": 10.0, "FIRST_WORK": 1.0, "LAST_WORK": 1.0}.items():
        monkeypatch.setattr(cone_newton, name, value)
    exact = []
    product = cone_newton._Steps._exact_product
    monkeypatch.setattr(cone_newton._Steps, "_exact_product", lambda *a: exact.append(1) or product(*a))
    found = PriorSVC(UncertainSamples(0.3), kernel="rbf").fit(*rows)
    assert found.solver_ == "CONES"
    assert exact
    assert found.objective_ == pytest.approx(whole.objective_, rel=1e-9)
    assert found._models[0].outcome.residuals.stationarity <= 1e-6


@pytest.mark.parametrize("fits", [True, False])
def test_the_array_of_slopes_has_room_for_all_coordinates_or_grows(rows, monkeypatch, fits):
    for name, value in {"FEWEST": 10.0, "FIRST_WORK": 1.0}.items():
        monkeypatch.setattr(cone_newton, name, value)
    monkeypatch.setattr(cones, "fits_in_memory", lambda rows, columns: fits)
    check_same(*both(UncertainSamples(0.3), rows))


def test_the_problem_of_cvxpy_has_the_solution(gaps):
    model = PriorSVC(MissingValues(), kernel="rbf").fit(*gaps)
    assert model.problem.value == pytest.approx(model.objective_, rel=1e-6)
    found = model.findings_["missing_values"]
    assert len(found.points) >= found.support.sum() > 0


def test_one_against_the_rest(rows):
    X, _ = rows
    y = np.digitize(X[:, 0], [-0.5, 0.5])
    ours = PriorSVC(UncertainSamples(0.2), kernel="rbf").fit(X, y)
    theirs = PriorSVC(UncertainSamples(0.2), kernel="rbf", solver="CLARABEL").fit(X, y)
    assert set(ours.solver_) == {"CONES"}
    np.testing.assert_allclose(ours.objective_, theirs.objective_, rtol=SAME)


class Own(UncertainSamples):
    def build(self, f, view):
        return Terms()


@pytest.mark.parametrize(
    ("prior", "given", "reason"),
    [
        (UncertainSamples(0.1), {"kernel": "linear"}, "a kernel"),
        (UncertainSamples(0.1), {"loss": "squared_hinge"}, "loss='hinge'"),
        (UncertainSamples(0.1), {"C": np.inf}, "a finite C"),
        (UncertainSamples(0.1, guarantee=True), {}, "terms of another form"),
        (UncertainSamples(0.1) + Box({0: (0, 1)}, 1, hard=True), {}, "one UncertainSamples"),
        (Own(0.1), {}, "overrides build"),
        (None, {}, "one UncertainSamples"),
    ],
)
def test_obstacles(rows, prior, given, reason):
    with pytest.raises(SolverUnsuited, match=reason):
        PriorSVC(prior, **{"kernel": "rbf", "solver": "CONES", **given}).fit(*rows)


def test_a_step_without_an_answer_is_followed_by_another_route(rows, monkeypatch):
    monkeypatch.setattr(cone_newton, "optimise", lambda *a: None)
    model = PriorSVC(UncertainSamples(0.1), kernel="rbf").fit(*rows)
    assert model.solver_ in ("CLARABEL", "SCHUR")


@pytest.mark.filterwarnings("ignore::priorsvm.errors.CollapsedModel")
@pytest.mark.parametrize(
    ("prior", "kernel", "C", "seed"),
    [
        (MissingValues(), Polynomial(2), 1.0, 9),
        (MissingValues(), Polynomial(2), 300.0, 5),
        (UncertainSamples(0.05), RBF(0.1), 1.0, 2),
        (UncertainSamples(0.05), Polynomial(2), 1000.0, 4),
        (UncertainSamples(0.3), RBF(0.1), 1000.0, 4),
        (UncertainSamples(0.3), Polynomial(2), 300.0, 1),
    ],
)
def test_random_labels_in_few_columns_have_an_answer(prior, kernel, C, seed):
    """Free rows of the start have a singular matrix, or the gap is large while the objective decreases."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(30, 1 + seed % 2))
    y = rng.integers(0, 2, 30)
    if isinstance(prior, MissingValues):
        X[rng.random(X.shape) < 0.2] = np.nan
    found = PriorSVC(prior, kernel=kernel, C=C, solver="CONES").fit(X, y)
    other = PriorSVC(prior, kernel=kernel, C=C, solver="CLARABEL").fit(X, y)
    assert found.status_ == "optimal"
    assert found.objective_ == pytest.approx(other.objective_, rel=1e-6)


def test_few_slopes_have_a_matrix_of_their_own(gaps, rows, monkeypatch):
    sizes = []
    of = cone_metric.SlopeMetric.of.__func__

    def kept(cls, local, B):
        sizes.append(B.shape)
        return of(cls, local, B)

    monkeypatch.setattr(cone_metric.SlopeMetric, "of", classmethod(kept))
    PriorSVC(UncertainSamples(0.3), kernel="rbf").fit(*rows)
    assert not sizes  # 360 slopes, and 90 coordinates
    found, other = both(MissingValues(), gaps)
    assert sizes
    check_same(found, other)


def test_kinks_take_few_steps(monkeypatch):
    X, y = make_classification(200, 6, n_informative=4, n_redundant=0, flip_y=0.05, random_state=0)
    X[np.random.default_rng(0).random(X.shape) < 0.1] = np.nan
    given = {"kernel": "rbf", "solver": "CONES", "C": 100.0}
    found = PriorSVC(MissingValues(), **given).fit(X, y)
    monkeypatch.setattr(cone_margins.ConeMargins, "at_kinks", lambda self, s, unit, smoothing: s)
    without = PriorSVC(MissingValues(), **given).fit(X, y)
    assert found.objective_ == pytest.approx(without.objective_, rel=1e-8)
    steps = [m.report_.solves[0]["iterations"] for m in (found, without)]
    assert steps[0] <= 15 < steps[1]


def test_the_first_problem_starts_near_its_solution(monkeypatch):
    X, y = make_classification(300, 5, n_informative=5, n_redundant=0, flip_y=0.05, random_state=0)
    steps = []
    optimise = cone_newton.optimise

    def counted(*given):
        answer = optimise(*given)
        steps.append(answer.steps)
        return answer

    monkeypatch.setattr(cone_newton, "optimise", counted)
    PriorSVC(UncertainSamples(0.3), kernel="rbf").fit(X, y)
    assert steps[0] <= 20  # from the SVM without slopes it takes about 100


def test_a_linearised_problem_without_an_answer_starts_again(rows, monkeypatch):
    whole = PriorSVC(UncertainSamples(0.3), kernel="rbf").fit(*rows)
    optimise = cone_newton.optimise
    starts = []

    def second_only(K, dual, a, *given):
        starts.append(a)
        return None if len(starts) % 2 else optimise(K, dual, a, *given)

    monkeypatch.setattr(cone_newton, "optimise", second_only)
    found = PriorSVC(UncertainSamples(0.3), kernel="rbf").fit(*rows)
    assert found.solver_ == "CONES"
    assert found.objective_ == pytest.approx(whole.objective_, rel=1e-8)
    assert not np.array_equal(starts[0], starts[1])
