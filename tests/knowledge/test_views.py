"""Views: what a block receives while the problem is built, and of the solved model."""

from dataclasses import FrozenInstanceError, fields

import cvxpy as cp
import numpy as np
import pytest

from priorsvm import (
    Building,
    Iterative,
    Knowledge,
    PriorSVC,
    SampleCosts,
    Shift,
    Solved,
    Step,
    Terms,
    Verdict,
    VirtualSamples,
)
from priorsvm.errors import InvalidType


class Records(Iterative, Knowledge):
    """f >= level at the first row, with a higher level in the second round; every view is recorded."""

    views = {}

    def start(self, sample):
        return -0.5

    def build(self, f, view):
        self.views.setdefault("build", []).append(view)
        return Terms(constraints={"level": f(view.sample.X_train[:1]) >= view.state})

    def refine(self, f, view):
        self.views.setdefault("refine", []).append(view)
        return Step(0.5) if view.state < 0 else None

    def verify(self, f, view):
        self.views.setdefault("verify", []).append(view)
        return Verdict.at_points(f.value(view.sample.X_train[:1]) - view.state, None, "a level", view.tol)

    def findings(self, f, view):
        self.views.setdefault("findings", []).append(view)


@pytest.fixture
def views():
    Records.views.clear()
    return Records.views


def test_a_view_cannot_be_changed(data, assemble):
    sample = assemble(None, *data).sample
    for view in (Building("name", sample), Solved("name", sample)):
        for field in fields(view):
            with pytest.raises(FrozenInstanceError):
                setattr(view, field.name, None)


def test_a_solved_view_has_what_a_building_view_has():
    assert issubclass(Solved, Building)
    names = [field.name for field in fields(Building)]
    assert names == ["name", "sample", "state", "rows", "slack"]
    assert [field.name for field in fields(Solved)][:5] == names


def test_without_rows_there_is_an_empty_array():
    assert Building("name", None).rows.shape == Solved("name", None).alpha.shape == (0,)


def test_slack_is_that_of_the_training_rows_with_a_cost(data, assemble):
    X, y = data
    seen = []

    class Looks(Knowledge):
        def build(self, f, view):
            seen.append(view)
            return Terms()

    costs = np.where(np.arange(80) % 4 == 0, 0.0, 1.0)
    prior = SampleCosts(costs) + VirtualSamples(Shift([0.1, 0.0, 0.0])) + Looks()
    compiled = assemble(prior, X, y)
    [view] = seen
    assert type(view) is Building
    assert view.name == "looks"
    np.testing.assert_array_equal(view.rows, np.flatnonzero(costs))
    compiled.slack.value = np.arange(compiled.slack.size, dtype=float)
    np.testing.assert_array_equal(view.slack.value, compiled.slack.value[: len(view.rows)])
    assert (compiled.active[: len(view.rows)] == view.rows).all()


def test_every_method_has_its_view(data, views):
    X, y = data
    model = PriorSVC(Records(), C=2.0, solver="CLARABEL", tol=1e-7).fit(X, y)
    model.verify()
    assert model.n_rounds_ == 2
    assert [view.state for view in views["build"]] == [-0.5, 0.5]
    assert all(type(view) is Building for view in views["build"])
    assert [(view.state, view.settled) for view in views["refine"]] == [
        (-0.5, False),
        (0.5, False),
        (0.5, True),
    ]
    for view in [*views["refine"], *views["findings"], *views["verify"]]:
        assert type(view) is Solved
        assert view.name == "records"
        np.testing.assert_array_equal(view.rows, np.arange(80))
    assert {view.tol for view in views["refine"]} == {1e-7}
    assert len(views["verify"]) == 1


def test_the_numbers_of_a_solved_view_are_those_of_the_optimum(data, views):
    X, y = data
    model = PriorSVC(Records(), C=2.0, solver="CLARABEL").fit(X, y)
    view = views["findings"][0]
    signs = np.where(y == 1, 1.0, -1.0)
    hinge = np.maximum(1 - signs * model.decision_function(X), 0.0)
    np.testing.assert_allclose(view.slack, hinge, atol=1e-5)
    last = views["refine"][-1]
    assert last.objective == pytest.approx(model.objective_, rel=1e-6)
    np.testing.assert_allclose(last.alpha, model.problem.constraints[0].dual_value, atol=1e-6)
    assert list(last.duals) == ["level"]
    # w is the sum of rows, times their dual variables.
    w = (signs * last.alpha) @ X + float(np.sum(last.duals["level"])) * X[0]
    np.testing.assert_allclose(w, model.coef_[0], atol=1e-4)
    assert last.largest >= np.max(last.alpha)
    assert last.support.shape == (80,)
    assert last.support[last.alpha > 1e-3].all()


@pytest.mark.parametrize("returned", [0.5, np.ones(2), {"state": 1}])
def test_a_refinement_that_is_not_a_step_is_refused(data, returned):
    class Bare(Records):
        views = {}

        def refine(self, f, view):
            return returned

    kind = type(returned).__name__
    with pytest.raises(InvalidType, match=rf"'bare'.*refine must return Step\(state\) or None, got {kind}"):
        PriorSVC(Bare()).fit(*data)


def test_a_step_without_a_state_ends_and_leaves_notes(data):
    class Notes(Knowledge, Iterative):
        def build(self, f, view):
            return Terms(constraints={"sign": cp.sum(f(view.sample.X_train[:1])) >= 0})

        def refine(self, f, view):
            return Step(notes={"seen": 3})

    model = PriorSVC(Notes()).fit(*data)
    assert model.n_rounds_ == 1
    assert model.history_[0]["seen"] == 3


def test_verdict_at_points_finds_the_worst():
    points = np.arange(6.0).reshape(3, 2)
    verdict = Verdict.at_points(np.array([0.5, -0.2, 0.1]), points, "order", tol=1e-6)
    assert (verdict.holds, verdict.worst, verdict.checked, verdict.proven) == (False, -0.2, 3, True)
    np.testing.assert_array_equal(verdict.where, [2.0, 3.0])
    assert Verdict.at_points(np.array([-1e-7]), points, "order", tol=1e-6).holds is True
    nowhere = Verdict.at_points(np.array([0.5, -0.2]), None, "order", tol=1e-6)
    assert (nowhere.holds, nowhere.worst, nowhere.where, nowhere.violated) == (False, -0.2, None, 1)
    assert Verdict.at_points([0.5, -0.2], None, "order", tol=1e-6) == nowhere
    nothing = Verdict.at_points(np.empty(0), np.empty((0, 2)), "order", tol=1e-6)
    assert (nothing.holds, nothing.asked) == (None, "order")
