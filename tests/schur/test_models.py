"""SCHUR as the solver of models."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from priorsvm import Box, ClassCosts, MonotonicityHint, PriorSVC, UncertainSamples
from priorsvm.errors import Infeasible, InvalidInput, SolverFailed
from priorsvm.schur import definitions, partition

PRIOR = ClassCosts({1: 2.0}) + Box({0: (1.0, 2.0)}, 1, holds="everywhere") + MonotonicityHint({1: 1})


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    return X, (X[:, 0] + 0.3 * rng.normal(size=40) > 0).astype(int)


@pytest.mark.slow
@pytest.mark.parametrize("norm", ["l1", "l2"])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_models_are_those_of_clarabel(rows, kernel, norm):
    X, _ = rows
    ours, theirs = (
        PriorSVC(PRIOR, kernel=kernel, norm=norm, solver=s).fit(*rows) for s in ("SCHUR", "CLARABEL")
    )
    assert ours.solver_ == "SCHUR"
    assert ours.status_ == "optimal"
    assert ours.objective_ == pytest.approx(theirs.objective_, rel=1e-7)
    assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-4)
    assert max(ours.history_[0]["gap"], 0) < 1e-6
    prices = [[row.price for row in model.report_.rows] for model in (ours, theirs)]
    assert_allclose(*prices, atol=1e-2)


@pytest.mark.parametrize("C", [1e-8, 1e-6, 1e6])
def test_small_and_large_costs(rows, C):
    ours = PriorSVC(C=C, solver="SCHUR").fit(*rows)
    known = PriorSVC(C=C, solver="CLARABEL").fit(*rows)
    assert ours.objective_ == pytest.approx(known.objective_, rel=1e-6)


def test_cones_of_uncertain_rows(rows):
    models = [PriorSVC(UncertainSamples(0.1 * np.eye(3)), solver=s).fit(*rows) for s in ("SCHUR", "CLARABEL")]
    assert models[0].objective_ == pytest.approx(models[1].objective_, rel=1e-7)


def test_a_conflict_is_named(rows):
    both = Box({0: (1.0, 2.0)}, 1, hard=True).named("yes") + Box({0: (1.0, 2.0)}, 0, hard=True).named("no")
    with pytest.raises(Infeasible, match=r"'yes'.*'no'"):
        PriorSVC(both, solver="SCHUR").fit(*rows)


def test_other_options_are_refused(rows):
    with pytest.raises(InvalidInput, match=r"not take these solver_options: eps\. It takes: tol, max_iter"):
        PriorSVC(PRIOR, solver="SCHUR", solver_options={"eps": 1}).fit(*rows)
    with pytest.raises(InvalidInput, match="max_iter=-1"):
        PriorSVC(PRIOR, solver="SCHUR", solver_options={"max_iter": -1}).fit(*rows)
    with pytest.raises(SolverFailed, match=r"iteration limit reached.*primal \d"):
        PriorSVC(PRIOR, solver="SCHUR", solver_options={"max_iter": 1}).fit(*rows)


def test_many_boxes_are_solved_with_the_dense_rows_substituted(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 8))
    y = (X @ rng.normal(size=8) + rng.normal(size=400) > 0).astype(int)
    prior = sum(
        (Box({k % 8: (1.0, 2.0)}, label=k % 2, mu=5.0, holds="everywhere") for k in range(1, 10)),
        Box({0: (1.0, 2.0)}, label=0, mu=5.0, holds="everywhere"),
    )
    monkeypatch.setattr(definitions, "solve", None)  # of the expanded problem
    found = PriorSVC(prior, solver="SCHUR").fit(X, y)
    known = PriorSVC(prior, solver="CLARABEL").fit(X, y)
    assert found.history_[-1]["objective"] == pytest.approx(known.history_[-1]["objective"], rel=1e-7)


def test_variables_of_few_rows_are_not_stored_for_all_rows(monkeypatch):
    """The dual norm of a box has an absolute value for each column, and rows of the loss do not."""
    shapes = []
    whole = partition.Partition.__init__

    def noted(self, *arguments):
        whole(self, *arguments)
        shapes.append(self.dense.shape)

    monkeypatch.setattr(partition.Partition, "__init__", noted)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 20))
    y = (X[:, 0] + rng.normal(size=2000) > 0).astype(int)
    prior = Box({0: (0, 1), 1: (0, 1)}, 1, mu=5.0, holds="everywhere")
    known = PriorSVC(prior, solver="SCHUR").fit(X, y)
    monkeypatch.setattr(partition, "MANY", 10_000)
    found = PriorSVC(prior, solver="SCHUR").fit(X, y)
    assert shapes[0][0] == 41
    assert shapes[-1] == (21, 2000)
    assert found.objective_ == pytest.approx(known.objective_, rel=1e-9)
