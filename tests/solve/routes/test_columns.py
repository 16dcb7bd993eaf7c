"""The dual of one round of column generation: inactive rows are left out, and return if they are violated."""

from dataclasses import replace

import numpy as np
import pytest

from priorsvm import RBF, InvariantLoss, PriorSVC, Shift, Terms
from priorsvm._utils.cache import Cache
from priorsvm.errors import SolverUnsuited
from priorsvm.prior import as_prior
from priorsvm.sample import Sample
from priorsvm.solve.route import Problem
from priorsvm.solve.routes.columns import Columns
from priorsvm.spec import Spec

BLOCK = InvariantLoss(Shift([[0.2, 0.1, 0.0], [0.0, 0.2, 0.1]], steps=5), method="all")


@pytest.fixture(scope="module")
def sample():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    y = (X[:, 0] + 0.5 * X[:, 1] ** 2 + 0.4 * rng.normal(size=40) > 0.8).astype(int)
    return Sample.training(X, y, np.array([0, 1]), 1)


@pytest.mark.parametrize("kernel", [None, RBF(0.4)], ids=["linear", "rbf"])
@pytest.mark.parametrize("resting", ["none", "some", "one class", "all"])
@pytest.mark.parametrize("count", [60, 5, 0])
def test_rows_that_were_inactive_return_if_they_are_violated(sample, kernel, resting, count):
    rng = np.random.default_rng(1)
    left_out = {
        "none": np.zeros(40, bool),
        "some": rng.random(40) < 0.7,
        "one class": sample.y > 0,
        "all": np.ones(40, bool),
    }[resting]
    state = BLOCK.start(sample)
    state = state.pick(np.sort(rng.permutation(len(state))[:count]))
    spec = Spec(2.0, kernel, "l2", "hinge", None, None, 1e-6)
    members = list(as_prior(BLOCK))
    states = ({"invariant_loss": replace(state, resting=rows)} for rows in (left_out, None))
    problems = (Problem(spec, members, state, sample, sample, Cache()) for state in states)
    found, expected = (Columns().solve(problem, {}) for problem in problems)
    np.testing.assert_allclose(found.slack, expected.slack, atol=1e-5)
    np.testing.assert_allclose(found.f.value(sample.X), expected.f.value(sample.X), atol=1e-5)
    assert found.outcome.residuals.gap < 1e-8


def test_a_subclass_with_its_own_build_is_left_to_other_routes():
    class Capped(InvariantLoss):
        def build(self, f, view):
            terms = super().build(f, view)
            return Terms(terms.penalties, {**terms.constraints, "cap": f([[0.0, 0.0]]) <= -3})

    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 2))
    y = X[:, 0] + 0.5 * X[:, 1] ** 2 > 0.3
    block = Capped(Shift([0.1, 0.2]))
    with pytest.raises(SolverUnsuited, match="'capped' overrides build"):
        PriorSVC(block, kernel="rbf", solver="COLUMNS").fit(X, y)
    model = PriorSVC(block, kernel="rbf").fit(X, y)
    assert model.solver_ != "COLUMNS"
    assert model.decision_function([[0.0, 0.0]])[0] <= -3 + 1e-5
