"""Passes through the rows of the joint model, against its optimum by column generation."""

import re

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.preprocessing import StandardScaler

from priorsvm import (
    RBF,
    ClassCosts,
    FeatureDeletion,
    InvariantLoss,
    PriorSVC,
    SampleCosts,
    Shift,
    Translation,
    UnlabeledSamples,
    VirtualSamples,
    load,
    save,
)
from priorsvm.errors import InaccurateSolution, InvalidInput, MissingCapability

# Many combinations of blocks and factors.
pytestmark = pytest.mark.slow

ROUGH = pytest.mark.filterwarnings("ignore::priorsvm.errors.InaccurateSolution")
MOVES = Shift([[0.3, 0.1, 0.0], [0.0, 0.2, 0.2]])
BOTH = pytest.mark.parametrize("kernel", ["linear", RBF(0.15)], ids=["linear", "rbf"])


def digits():
    X, y = load_digits(n_class=3, return_X_y=True)
    return X[:90] / 16, y[:90], Translation((8, 8)), RBF(0.05)


def iris():
    X, y = load_iris(return_X_y=True)
    return StandardScaler().fit_transform(X), y, Shift(0.2 * np.ones(4)), RBF(0.3)


def wine():
    X, y = load_wine(return_X_y=True)
    return StandardScaler().fit_transform(X), y, Shift(0.2 * np.ones(13)), RBF(0.05)


SETS = {"digits": digits, "iris": iris, "wine": wine}


def streamed(block, prior=None, **parameters):
    block = block.set_params(method="pegasos") if isinstance(block, InvariantLoss) else block
    defaults = {"tol": 1e-2, "max_rounds": 60, "multi_class": "joint", "C": 0.1}
    return PriorSVC(block if prior is None else prior + block, **{**defaults, **parameters})


def exactly(model):
    """The same model, solved by column generation."""
    return clone(model).set_params(
        prior__invariant_loss__method="columns", tol=1e-8, max_rounds=100, solver_options=None
    )


def check_bounds(model, exact, within):
    lower, upper, gap = (np.array([e[key] for e in model.history_]) for key in ("lower", "upper", "gap"))
    assert (lower <= exact * (1 + 1e-7)).all()
    assert (upper >= exact * (1 - 1e-7)).all()
    assert (np.diff(lower) >= 0).all()
    assert (np.diff(upper) <= 0).all()
    assert model.objective_ == pytest.approx(upper[-1], rel=1e-9)
    assert model.objective_ <= (1 + within) * exact
    assert model.status_ == ("optimal" if gap[-1] <= model.tol else "optimal_inaccurate")
    assert model.solver_ == "PEGASOS"


@ROUGH
@pytest.mark.parametrize("linear", [False, True], ids=["rbf", "linear"])
@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("name", SETS)
def test_the_optimum_is_between_the_bounds(name, seed, linear):
    X, y, moves, kernel = SETS[name]()
    kernel = "linear" if linear else kernel
    C = 0.02 if linear else 0.1
    options = {"batch": 30}
    model = streamed(InvariantLoss(moves), C=C, kernel=kernel, random_state=seed, solver_options=options).fit(
        X, y
    )
    check_bounds(model, exactly(model).fit(X, y).objective_, 0.03)


CASES = {
    "confusion": (InvariantLoss(MOVES, 0.6, confusion={(0, 1): 2.0}), None),
    "gamma": (InvariantLoss(MOVES, 0.6, 2.0, confusion_scaling={(0, 1): 0.5}), None),
    "slack": (InvariantLoss(MOVES, 0.6, "slack", confusion={(0, 1): 2.0}), None),
    "class costs": (InvariantLoss(MOVES), ClassCosts({1: 3.0})),
    "margins": (InvariantLoss(MOVES), SampleCosts(margins=lambda X, y: 0.5 + 0.5 * y)),
    "virtual samples": (InvariantLoss(MOVES), VirtualSamples(Shift([0.0, 0.0, 0.4]), 0.5)),
    "extra rows": (InvariantLoss(MOVES), UnlabeledSamples(np.ones((2, 3)), [0, 2])),
}


@ROUGH
@BOTH
@pytest.mark.parametrize("name", CASES)
def test_bounds_beside_blocks_and_factors(name, kernel, draw):
    X, y = draw(60)
    block, prior = CASES[name]
    model = streamed(clone(block), prior, kernel=kernel, solver_options={"batch": 30}).fit(X, y)
    exact = exactly(model).fit(X, y)
    check_bounds(model, exact.objective_, 0.05)
    assert model.problem.solve(solver="CLARABEL") == pytest.approx(exact.objective_, rel=1e-5)
    report = model.report_
    assert sum(row.contribution for row in report.rows) == pytest.approx(model.objective_, rel=1e-9)
    assert model.verify()["invariant_loss"].holds
    assert model.findings_ == {}


@ROUGH
@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
def test_deleted_features(sparse, draw):
    X, y = draw(90)
    X = np.column_stack([X, X])
    model = streamed(InvariantLoss(FeatureDeletion(1)), C=0.05, solver_options={"batch": 30})
    model.fit(csr_array(X) if sparse else X, y)
    exact = exactly(model).fit(X, y)
    check_bounds(model, exact.objective_, 0.05)
    assert model.problem.solve(solver="CLARABEL") <= exact.objective_ * (1 + 1e-6)


@ROUGH
@pytest.mark.parametrize("scale", ["standard", "minmax"])
def test_scaled_rows(scale, draw):
    X, y = draw(60)
    X = X * [1.0, 10.0, 0.1] + 2
    model = streamed(InvariantLoss(Shift([0.3, 1.0, 0.0])), scale=scale, solver_options={"batch": 20})
    model.fit(X, y)
    check_bounds(model, exactly(model).fit(X, y).objective_, 0.05)
    assert_allclose(model.decision_function(X), X @ model.coef_.T + model.intercept_, atol=1e-9)


@ROUGH
def test_a_budget_keeps_the_bounds(draw):
    X, y = draw(90)
    options = {"budget": 40, "batch": 30}
    model = streamed(InvariantLoss(MOVES), kernel=RBF(0.15), solver_options=options).fit(X, y)
    exact = exactly(model).fit(X, y).objective_
    assert all(entry["centres"] <= 40 for entry in model.history_)
    assert model.history_[-1]["lower"] <= exact <= model.objective_


def test_a_tolerance_that_is_met(draw):
    X, y = draw(90)
    model = streamed(InvariantLoss(MOVES), kernel=RBF(0.15), tol=0.05, max_rounds=300).fit(X, y)
    assert model.status_ == "optimal"
    assert model.history_[-1]["gap"] <= 0.05


def test_too_few_passes_warn(draw):
    X, y = draw(60)
    with pytest.warns(InaccurateSolution, match="after 2 of max_rounds=2 passes"):
        streamed(InvariantLoss(MOVES), max_rounds=2, tol=1e-3).fit(X, y)


@ROUGH
@BOTH
def test_files_keep_the_functions(kernel, tmp_path, draw):
    pytest.importorskip("skops.io")
    X, y = draw(60)
    model = streamed(InvariantLoss(MOVES), kernel=kernel, max_rounds=3).fit(X, y)
    save(model, tmp_path / "model.skops")
    again = load(tmp_path / "model.skops")
    assert_array_equal(again.decision_function(X), model.decision_function(X))
    assert again.objective_ == pytest.approx(model.objective_, rel=1e-12)


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"solver_options": {"budget": 5}}, InvalidInput, "budget limits the centres of a kernel model"),
        ({"solver_options": {"batch": 1}}, InvalidInput, "batch must be a whole number of at least 2"),
        ({"solver_options": {"max_iter": 1}}, InvalidInput, "does not accept these solver_options: max_iter"),
        ({"solver": "COLUMNS"}, InvalidInput, "multi_class='joint' uses its own solver"),
        ({"norm": "l1"}, MissingCapability, "method='pegasos' requires norm='l2'"),
    ],
)
def test_parameters_that_are_refused(parameters, error, message, draw):
    X, y = draw()
    with pytest.raises(error, match=re.escape(message)):
        streamed(InvariantLoss(MOVES), **parameters).fit(X, y)
