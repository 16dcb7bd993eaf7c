"""Passes on kernel models: bounds around the exact optimum, budgets, files."""

import re

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_digits, make_moons
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.preprocessing import StandardScaler

from priorsvm import (
    RBF,
    ClassCosts,
    InvariantLoss,
    Polynomial,
    PriorSVC,
    SampleCosts,
    Shift,
    Translation,
    UnlabeledSamples,
    VirtualSamples,
    load,
    save,
)
from priorsvm.errors import InaccurateSolution
from priorsvm.solve.methods.passes import Centres, _balanced, _taking_over, dual_bound

ROUGH = pytest.mark.filterwarnings("ignore::priorsvm.errors.InaccurateSolution")


def digits():
    X, y = load_digits(return_X_y=True)
    pair = np.isin(y, (3, 8))
    return X[pair][:120] / 16, y[pair][:120], Translation((8, 8)), RBF(0.05)


def moons():
    X, y = make_moons(150, noise=0.25, random_state=0)
    return X, y, Shift([[0.15, 0.0], [0.0, 0.15]]), RBF(1.0)


def cancer():
    X, y = load_breast_cancer(return_X_y=True)
    X = StandardScaler().fit_transform(X)[:150, :8]
    return X, y[:150], Shift(0.2 * np.ones(8)), RBF(0.1)


SETS = {"digits": digits, "moons": moons, "cancer": cancer}


def streamed(moves, prior=None, **parameters):
    block = InvariantLoss(moves, method="pegasos")
    return PriorSVC(
        block if prior is None else prior + block, **{"tol": 1e-2, "max_rounds": 40, **parameters}
    )


def exactly(model):
    """The same model, solved by column generation."""
    return clone(model).set_params(
        prior__invariant_loss__method="columns", tol=1e-8, max_rounds=100, solver_options=None
    )


def objective(model, orbit, y, C):
    """Return the primal objective of an expansion, with its own kernel matrix."""
    [f] = [m.f for m in model._models]
    K = rbf_kernel(f.centres, gamma=f.kernel.gamma)
    sign = np.where(y == model.classes_[1], 1.0, -1.0)
    values = model.decision_function(orbit.reshape(-1, orbit.shape[2])).reshape(len(y), -1)
    slack = np.maximum(1.0 - sign[:, None] * values, 0.0).max(axis=1)
    return 0.5 * f.weights @ K @ f.weights + C * slack.sum()


@pytest.mark.slow
@ROUGH
@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("name", SETS)
def test_the_optimum_is_between_the_bounds_and_within_the_accuracy_stated(name, seed):
    X, y, moves, kernel = SETS[name]()
    model = streamed(moves, kernel=kernel, C=0.1, random_state=seed).fit(X, y)
    exact = exactly(model).fit(X, y).objective_
    lower, upper, gap = (np.array([e[key] for e in model.history_]) for key in ("lower", "upper", "gap"))
    assert (lower <= exact * (1 + 1e-7)).all()
    assert (upper >= exact * (1 - 1e-7)).all()
    assert (np.diff(lower) >= 0).all()
    assert (np.diff(upper) <= 0).all()
    assert_allclose(gap, (upper - lower) / np.minimum(1 + upper, 0.1 * len(y)))
    assert model.objective_ <= 1.01 * exact  # the guide states about 1 %
    assert model.objective_ == pytest.approx(upper[-1], rel=1e-9)
    assert model.objective_ == pytest.approx(objective(model, moves.orbit(X), y, 0.1), rel=1e-9)
    assert model.solver_ == "PEGASOS"


@pytest.mark.parametrize("name", SETS)
def test_a_tolerance_that_is_met(name):
    X, y, moves, kernel = SETS[name]()
    model = streamed(moves, kernel=kernel, C=0.1, tol=0.02, max_rounds=200).fit(X, y)
    exact = exactly(model).fit(X, y)
    assert model.status_ == "optimal"
    assert model.history_[-1]["gap"] <= 0.02
    assert exact.objective_ * (1 - 1e-7) <= model.objective_ <= 1.02 * exact.objective_
    agree = np.mean(model.predict(X) == exact.predict(X))
    assert agree > 0.97


CASES = {
    "weights": (None, {}, True),
    "class costs": (ClassCosts({1: 3.0}), {}, False),
    "margins": (SampleCosts(margins=lambda X, y: 0.5 + y), {}, False),
    "standard": (None, {"scale": "standard"}, False),
    "virtual samples": (0.5 * VirtualSamples(Shift([0.3, 0.3])), {}, False),
    "extra rows": (UnlabeledSamples([[0.0, 1.0], [1.0, 0.0]], [0, 1]), {}, False),
    "polynomial": (None, {"kernel": Polynomial(2, gamma=0.5, coef0=1.0)}, False),
}


@ROUGH
@pytest.mark.parametrize("name", CASES)
def test_bounds_beside_blocks_and_weights(name):
    X, y, moves, kernel = moons()
    prior, parameters, weighted = CASES[name]
    weight = np.random.default_rng(0).uniform(0.0, 2.0, len(y)) if weighted else None
    model = streamed(moves, prior, **{"kernel": kernel, "C": 0.1, **parameters}).fit(X, y, weight)
    exact = exactly(model).fit(X, y, weight).objective_
    assert model.history_[-1]["lower"] <= exact * (1 + 1e-7)
    assert exact * (1 - 1e-7) <= model.objective_ <= 1.02 * exact


@pytest.mark.slow
@ROUGH
@pytest.mark.parametrize("budget", [20, 60, 120])
def test_a_budget_limits_the_centres_and_keeps_the_bounds(budget):
    X, y, moves, kernel = moons()
    options = {"budget": budget, "batch": 50}
    model = streamed(moves, kernel=kernel, C=0.5, solver_options=options).fit(X, y)
    exact = exactly(model).fit(X, y).objective_
    assert len(model.centres_) <= budget
    assert all(entry["centres"] <= budget for entry in model.history_)
    assert all(entry["lower"] <= exact * (1 + 1e-7) for entry in model.history_)
    assert all(entry["upper"] >= exact * (1 - 1e-7) for entry in model.history_)
    assert model.objective_ == pytest.approx(objective(model, moves.orbit(X), y, 0.5), rel=1e-9)


@pytest.mark.slow
@ROUGH
def test_a_larger_budget_is_more_accurate():
    X, y, moves, kernel = moons()
    options = [{"budget": budget, "batch": 50} for budget in (10, 60, 5000)]
    values = [streamed(moves, kernel=kernel, C=0.5, solver_options=o).fit(X, y).objective_ for o in options]
    assert values[0] > values[1] > values[2]
    without = streamed(moves, kernel=kernel, C=0.5, solver_options={"batch": 50}).fit(X, y)
    assert without.objective_ == values[2]


def test_the_warning_names_the_budget_if_it_is_used_up():
    X, y, moves, kernel = moons()
    options = {"budget": 10, "batch": 50}
    with pytest.warns(InaccurateSolution, match="Raise budget, max_rounds or tol") as caught:
        model = streamed(moves, kernel=kernel, solver_options=options, max_rounds=3).fit(X, y)
    gap = float(re.search(r"within (\S+) of", str(caught[0].message))[1])
    assert gap == pytest.approx(model.history_[-1]["gap"], rel=0.06)


def test_removed_centres_leave_feasible_dual_variables():
    rng = np.random.default_rng(0)
    alpha = rng.uniform(0.1, 1.0, 9)
    sign = np.where(np.arange(9) < 6, 1.0, -1.0)
    centres = Centres(np.arange(9), rng.normal(size=(9, 2)), (alpha * sign)[:, None], alpha, 2.0 * alpha)
    kept = _balanced(centres)
    assert (kept.weights[:, 0] @ np.ones(9)) == pytest.approx(0.0, abs=1e-12)
    assert (kept.alpha <= alpha * (1 + 1e-12)).all()
    assert_allclose(kept.weights[:, 0], kept.alpha * sign)
    assert_allclose(kept.margins, 2.0 * kept.alpha)


def test_a_removed_centre_is_taken_over_by_a_copy_of_its_row():
    rows = np.array([0, 0, 1])
    weights = np.array([[3.0], [5.0], [-8.0]])
    kept = Centres(rows, np.zeros((3, 2)), weights, np.array([3.0, 5.0, 8.0]), np.array([3.0, 5.0, 8.0]))
    gone = Centres(
        np.array([0, 2]),
        np.ones((2, 2)),
        np.array([[1.0], [2.0]]),
        np.array([1.0, 2.0]),
        np.array([1.0, 2.0]),
    )
    found = _taking_over(kept, gone)
    assert found.weights[:, 0].tolist() == [3.0, 6.0, -8.0]  # row 2 has no other centre
    assert found.alpha.tolist() == [3.0, 6.0, 8.0]
    assert found.margins.tolist() == [3.0, 6.0, 8.0]


@ROUGH
@pytest.mark.parametrize("cost", [None, 0.5])
def test_a_budget_of_the_rows_with_a_slack_is_enough_if_copies_are_alike(cost):
    X, y, moves, kernel = moons()
    block = InvariantLoss(moves, cost, method="pegasos")
    model = PriorSVC(block, kernel=kernel, tol=1e-2, max_rounds=40, solver_options={"budget": 150}).fit(X, y)
    exact = exactly(model).fit(X, y).objective_
    assert model.history_[-1]["lower"] <= exact * (1 + 1e-7)
    assert exact * (1 - 1e-7) <= model.objective_ <= (1.02 if cost is None else 1.5) * exact


def test_the_dual_bound_is_the_best_multiple():
    multiples = np.linspace(0.0, 1.0, 10001)
    for linear, squared in [(1.0, 4.0), (3.0, 2.0), (0.5, 0.5)]:
        best = (multiples * linear - 0.5 * multiples**2 * squared).max()
        assert dual_bound(linear, squared) == pytest.approx(best, abs=1e-6)


@ROUGH
def test_the_same_seed_gives_the_same_model():
    X, y, moves, kernel = moons()
    options = {"solver_options": {"batch": 20}, "max_rounds": 3, "kernel": kernel}
    one, two, other = (streamed(moves, random_state=seed, **options).fit(X, y) for seed in (3, 3, 4))
    assert_array_equal(one.decision_function(X), two.decision_function(X))
    assert np.abs(one.decision_function(X) - other.decision_function(X)).max() > 1e-6


@ROUGH
def test_three_classes_and_the_report():
    X, y = load_digits(n_class=3, return_X_y=True)
    X = X / 16
    options = {"max_rounds": 10, "solver_options": {"batch": 20}}
    model = streamed(Translation((8, 8)), kernel=RBF(0.05), C=0.5, **options).fit(X[:90], y[:90])
    exact = exactly(model).fit(X[:90], y[:90])
    assert abs(model.score(X[90:300], y[90:300]) - exact.score(X[90:300], y[90:300])) < 0.02
    assert "PEGASOS" in str(model.report_)
    assert model.verify().holds


@ROUGH
def test_files_keep_the_expansion(tmp_path):
    pytest.importorskip("skops.io")
    X, y, moves, kernel = moons()
    model = streamed(moves, kernel=kernel, solver_options={"budget": 30}, max_rounds=3).fit(X, y)
    save(model, tmp_path / "model.skops")
    again = load(tmp_path / "model.skops")
    assert_array_equal(again.decision_function(X), model.decision_function(X))
    assert len(again.centres_) == len(model.centres_) == 30
    assert again.history_ == model.history_
    value = again.problem.solve(solver="CLARABEL")
    assert model.history_[-1]["lower"] <= value * (1 + 1e-5)
    assert value <= model.objective_ * (1 + 1e-5)
