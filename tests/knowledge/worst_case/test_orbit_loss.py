"""A block with the interface of losses over orbits, solved by every route for these losses."""

import cvxpy as cp
import numpy as np
import pytest

from priorsvm import RBF, InvariantLoss, Iterative, Knowledge, OnRowSlack, PriorSVC, Shift, Terms
from priorsvm._utils.progress import progress
from priorsvm.function.fitted import FittedLinear
from priorsvm.knowledge.worst_case.orbit_columns import OrbitColumns
from priorsvm.knowledge.worst_case.orbit_loss import OrbitLoss
from priorsvm.knowledge.worst_case.orbit_search import next_columns
from priorsvm.sample import Sample
from priorsvm.solve.routes import pegasos
from priorsvm.spec import Spec

STEP = np.array([0.4, 0.1, 0.0])


class Shifted(Iterative, OrbitLoss, OnRowSlack, Knowledge):
    """The hinge loss at the worst of a row and the row shifted by plus or minus ``step``."""

    def __init__(self, step):
        self.step = step

    def theta_grid(self):
        return np.array([[0.0], [-1.0], [1.0]])

    def orbit(self, X):
        return X[:, None] + self.theta_grid() * np.asarray(self.step)

    def start(self, sample):
        return OrbitColumns.empty(sample.X_train, self.orbit(sample.X_train), self.theta_grid())

    def build(self, f, view):
        state, places = view.state.of_rows(view.rows, view.sample.n_train)
        if len(state) == 0:
            return Terms()
        margins = cp.multiply(view.sample.y[state.rows], f(state.points)) >= 1 - view.slack[places]
        return Terms(constraints={"columns": margins})

    def refine(self, f, view):
        return next_columns(self, f, view)


@pytest.fixture(scope="module")
def few(data):
    X, y = data
    return X[:40], y[:40]


@pytest.mark.parametrize("parameters", [{}, {"solver": "COLUMNS"}, {"kernel": RBF(0.4)}], ids=str)
def test_column_generation_has_the_optimum_of_the_invariant_loss(few, parameters):
    own = PriorSVC(Shifted(STEP), C=2.0, **parameters).fit(*few)
    theirs = PriorSVC(InvariantLoss(Shift(STEP)), C=2.0, **parameters).fit(*few)
    assert own.objective_ == pytest.approx(theirs.objective_, rel=1e-6)
    assert own.n_rounds_ > 1
    plain = PriorSVC(C=2.0, kernel=own.kernel).fit(*few)
    assert own.objective_ > 1.01 * plain.objective_


@pytest.mark.parametrize("kernel", ["linear", RBF(0.4)])
def test_the_joint_model_has_the_optimum_of_the_invariant_loss(three, kernel):
    X, y = three
    own, theirs = (
        PriorSVC(block, kernel=kernel, multi_class="joint").fit(X, y)
        for block in (Shifted(STEP[:2]), InvariantLoss(Shift(STEP[:2])))
    )
    assert own.objective_ == pytest.approx(theirs.objective_, rel=1e-9)
    assert own.verify().holds
    assert str(own.findings_["shifted"]) == str(theirs.findings_["invariant_loss"])


def test_passes_in_batches_reach_the_bounds_of_the_invariant_loss(few):
    X, y = few
    sample = Sample.training(X, y, np.array([0, 1]), 1)
    spec = Spec(0.5, None, "l2", "hinge", None, None, 1e-2)
    with progress(0) as bar:
        own, theirs = (
            pegasos.solve(spec, block, sample, {"batch": 10}, 5, bar)
            for block in (Shifted(STEP), InvariantLoss(Shift(STEP), method="pegasos"))
        )
    assert own.history[-1]["lower"] == pytest.approx(theirs.history[-1]["lower"], rel=1e-12)
    assert own.history[-1]["upper"] == pytest.approx(theirs.history[-1]["upper"], rel=1e-12)


def test_the_defaults_are_the_hinge_loss():
    X = np.random.default_rng(0).normal(size=(5, 2))
    y = np.array([1.0, -1.0, 1.0, -1.0, 1.0])
    rho = np.linspace(0.5, 1.5, 5)
    f = FittedLinear(0.3, np.array([1.0, -2.0]))
    loss = OrbitLoss()
    margins, points = loss.worst_copies(f, X, y, rho)
    assert points is X
    np.testing.assert_array_equal(loss.orbit(X)[:, 0], X)
    np.testing.assert_array_equal(margins, rho)
    np.testing.assert_allclose(
        loss.shortfall(y, rho, loss.demand(np.zeros((5, 0))), f.value(X)), rho - y * f.value(X)
    )


@pytest.mark.parametrize("scaling", ["margin", "slack"])
def test_the_worst_copy_requires_most_slack(scaling):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(20, 2))
    y = rng.choice([-1.0, 1.0], 20)
    rho = rng.uniform(0.5, 2.0, 20)
    f = FittedLinear(0.2, np.array([1.0, -0.5]))
    moves = Shift([0.5, 0.3], steps=7)
    loss = InvariantLoss(moves, cost=0.3, scaling=scaling)
    margins, points = loss.worst_copies(f, X, y, rho)
    demand = 1.0 - 0.7 * np.abs(moves.theta_grid()[:, 0])
    values = y[:, None] * f.value(moves.orbit(X).reshape(-1, 2)).reshape(20, -1)
    if scaling == "slack":
        worst = np.argmax(demand * (rho[:, None] - values), axis=1)
    else:
        worst = np.argmax(demand * rho[:, None] - values, axis=1)
    np.testing.assert_allclose(margins, demand[worst] * rho)
    np.testing.assert_allclose(points, moves.orbit(X)[np.arange(20), worst])
