"""Rounds as arrays: equal to the problem as the blocks state it, and a start for the next round."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone

from priorsvm import (
    RBF,
    Box,
    ClassCosts,
    InvarianceHint,
    Knowledge,
    Monotone,
    MonotonicityHint,
    NegativeDistance,
    OddnessHint,
    Polyhedron,
    PriorSVC,
    SampleCosts,
    Shift,
    TangentPenalty,
    Terms,
    UncertainSamples,
)
from priorsvm.errors import InvalidInput
from priorsvm.function.atoms import Atoms
from priorsvm.knowledge.regions.base import RegionKnowledge
from priorsvm.knowledge.traits import AtPoints, states_arrays
from priorsvm.knowledge.views import PointTerms
from priorsvm.problem.residuals import residuals
from priorsvm.solve.loop import Round, first_problem
from priorsvm.solve.registry import find_route
from priorsvm.solve.routes.point_rows import solve_at_points
from priorsvm.validation import make_task
from tests.solve.test_matrix import CASES as BLOCKS
from tests.solve.test_matrix import Y

WIDE = {0: (0.2, 2.5), 1: (-2.0, 2.0)}
BOX = {0: (0.5, 1.5), 1: (-0.5, 0.5)}
SIDES = np.array([[1.0, 1.0], [-1.0, 0.0], [0.0, -1.0]])


def data(n=60):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(n, 2))
    return X, (X[:, 0] - 0.7 * X[:, 1] + 0.4 * rng.normal(size=n) > 0).astype(int)


def prepared(block, rows=None, **settings):
    """Return the first round of a model."""
    X, y = rows or data()
    model = PriorSVC(block, **{"C": 2.0, "kernel": RBF(0.7), **settings})
    task = make_task(model, X, y, None, {})
    return Round(first_problem(task.spec, list(task.prior), task.samples[0]))


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("scale", [None, "standard"])
@pytest.mark.parametrize(
    "block",
    [
        Box(BOX, 0, mu=3.0, holds="everywhere"),
        Box(BOX, 0, hard=True),
        0.5 * Box([BOX, {0: (-2.0, -1.0)}], [0, 1], mu=4.0, holds="everywhere") + ClassCosts({1: 2.0}),
        Polyhedron(SIDES, [1.0, 0.5, 0.5], 0, mu=2.0, holds="everywhere"),
        Monotone({0: 1, 1: 1}, mu=0.3, method="points", points=20),
        Monotone({0: 1, 1: 1}, hard=True, method="points", points=20) + Box(BOX, 0, hard=True),
    ],
    ids=["soft", "hard", "two boxes, weights", "polyhedron", "soft slopes", "hard slopes, box"],
)
def test_arrays_have_the_solution_of_the_stated_problem(block, scale, loss):
    this = prepared(block, scale=scale, loss=loss)
    found = solve_at_points(this.problem)
    assert found is not None
    stated = prepared(block, scale=scale, loss=loss)
    model = stated.solve("CLARABEL", None)
    assert found.value == pytest.approx(model.reached, rel=1e-6)
    Z = np.random.default_rng(0).normal(size=(40, 2))
    np.testing.assert_allclose(found.f.value(Z), model.f.value(Z), atol=2e-4)
    np.testing.assert_allclose(found.values, found.f.value(this.problem.sample.X), atol=1e-9)
    assert found.residuals.gap < 1e-7


def forms(block):
    """Return a block in its soft and its hard form, if it has both."""
    parameters = block.get_params()
    given = {"mu": 2.0} if parameters.get("mu") == "auto" else {}
    if "hard" not in parameters:
        return [clone(block).set_params(**given)]
    return [clone(block).set_params(hard=hard, **given) for hard in (False, True)]


@pytest.mark.parametrize("kernel", ["linear", RBF(0.7)], ids=["linear", "rbf"])
@pytest.mark.parametrize("name", [name for name, case in BLOCKS.items() if isinstance(case.block, AtPoints)])
@pytest.mark.filterwarnings("ignore::priorsvm.errors.PriorSVMWarning")
def test_arrays_of_every_block_state_the_problem_of_its_build(name, kernel):
    """A block without arrays in one of the models is left out there."""
    case = BLOCKS[name]
    for block in forms(case.block):
        try:
            found = solve_at_points(prepared(block, (case.X, Y), kernel=kernel).problem)
        except InvalidInput:  # such as an unbounded region on a kernel model
            continue
        if found is not None:
            stated = prepared(block, (case.X, Y), kernel=kernel).solve("CLARABEL", None)
            assert found.value == pytest.approx(stated.reached, rel=1e-6), f"at_points of {block}"


class EqualMeans(AtPoints, Knowledge):
    """Equal mean values of f on two groups of rows. Their weights add up to zero except for rounding."""

    def __init__(self, first, mu=50.0, hard=False):
        self.first = first
        self.mu = mu
        self.hard = hard

    def shares(self):
        return np.where(self.first, 1.0 / self.first.sum(), -1.0 / (~self.first).sum())

    def build(self, f, view):
        difference = self.shares() @ f(view.sample.X)
        if self.hard:
            return Terms(constraints={"equal": difference == 0})
        return Terms({"mu": cp.square(difference)})

    def at_points(self, view, linear):
        matrix = csr_array(self.shares()[None, :])
        slack = {"duals": {"equal": None}} if self.hard else {"penalty": "mu", "squared": True}
        terms = {"matrix": matrix, "equation": True, **slack}
        return PointTerms(Atoms(view.sample.X), np.ones(1), np.zeros(1), **terms)


@pytest.mark.parametrize("kernel", ["linear", RBF(0.7)], ids=["linear", "rbf"])
@pytest.mark.parametrize("hard", [False, True])
def test_weights_that_add_up_to_a_rounding_error(hard, kernel):
    for size in range(1, 60, 4):
        block = EqualMeans(np.arange(60) < size, hard=hard)
        found = solve_at_points(prepared(block, kernel=kernel).problem)
        stated = prepared(block, kernel=kernel).solve("CLARABEL", None)
        assert found.value == pytest.approx(stated.reached, rel=1e-6)


SHIFT = Shift([0.3, 0.1])
ON_ALL_MODELS = {
    "box": Box(BOX, 0, mu=3.0, holds="everywhere"),
    "hard box": Box(BOX, 1, hard=True),
    "two boxes": Box([BOX, {0: (-2.0, -1.0)}], [0, 1], mu=4.0, holds="everywhere"),
    "weights": 0.5 * Box(BOX, 1, mu=4.0, holds="everywhere") + ClassCosts({1: 2.0}),
    "hard on rows": Box({0: (1.5, None)}, 1, hard=True, holds="rows"),
    "invariance": InvarianceHint(SHIFT, mu=3.0),
    "hard invariance": InvarianceHint(Shift([1.5, 1.0]), hard=True, classes=1),
    "oddness": 2.0 * OddnessHint(mu=0.7) + SampleCosts(np.linspace(0.5, 2.0, 60)),
    "hard oddness": OddnessHint(hard=True),
    "monotonicity": MonotonicityHint({1: 1}, mu=30.0, pairs=20),
    "hard monotonicity": MonotonicityHint({1: 1}, hard=True, pairs=20),
    "tangents": TangentPenalty(SHIFT, gamma=0.2),
    "slopes": Monotone({1: 1}, mu=0.2),
    "hard slopes": Monotone({1: 1}, hard=True, holds="rows"),
    "several": Box(BOX, 0, mu=3.0, holds="everywhere") + OddnessHint() + MonotonicityHint({1: 1}, hard=True),
}


@pytest.mark.parametrize("kernel", ["linear", RBF(0.7)], ids=["linear", "rbf"])
@pytest.mark.parametrize("name", ON_ALL_MODELS)
@pytest.mark.filterwarnings("ignore::priorsvm.errors.PriorSVMWarning")
def test_residuals_of_the_stated_problem_and_its_objective(name, kernel):
    if name == "hard invariance" and kernel != "linear":
        kernel = RBF(6.0)  # equations of a wide kernel are nearly dependent, and solvers violate some
    check_against_the_stated_problem(ON_ALL_MODELS[name], kernel)


@pytest.mark.parametrize("within", [None, {0: (None, 2.0)}])
def test_open_sides_of_boxes_on_a_linear_model(within):
    for label in (0, 1):
        block = Box([{0: (0.5, 1.5)}, {1: (None, -2.0)}], label, mu=4.0, holds="everywhere", within=within)
        check_against_the_stated_problem(block, "linear")


def check_against_the_stated_problem(block, kernel):
    for settings in ({}, {"scale": "standard", "loss": "squared_hinge"}):
        this = prepared(block, kernel=kernel, **settings)
        found = this.solve("auto", None)
        assert found.outcome.solver == "ROWS"
        assert found.compiled is None
        stated = prepared(block, kernel=kernel, **settings).solve("CLARABEL", None)
        assert found.reached == pytest.approx(stated.reached, rel=1e-6)
        assert found.objective == pytest.approx(found.reached, rel=1e-9)
        assert found.penalties.keys() == stated.penalties.keys()
        assert stated.duals.keys() == found.duals.keys()
        problem = found.solved_problem()
        assert problem.value == pytest.approx(found.reached, rel=1e-6)
        assert residuals(problem).worst < 1e-5


@pytest.mark.parametrize("kernel", ["linear", RBF(0.5)], ids=["linear", "rbf"])
@pytest.mark.parametrize("weight", [1e-6, 1e-9])
def test_a_tiny_weight_of_equations_costs_no_digits(kernel, weight):
    """Slacks with a tiny cost add 1e9 to the diagonal, which no other entry may contain."""
    found = prepared(weight * OddnessHint(), kernel=kernel, C=10.0).solve("ROWS", None)
    stated = prepared(weight * OddnessHint(), kernel=kernel, C=10.0).solve("CLARABEL", None)
    assert found.outcome.status == "optimal"
    assert found.reached == pytest.approx(stated.reached, rel=1e-6)


@pytest.mark.parametrize("kernel", ["linear", RBF(0.5)], ids=["linear", "rbf"])
@pytest.mark.parametrize("weight", [1e-10, 1e-12, 1e-14])
def test_hard_equations_beside_soft_ones_of_tiny_weight(kernel, weight):
    """The soft equations add up to 5e13 to the diagonal. It does not decide which equations are dependent."""
    prior = OddnessHint(hard=True) + weight * InvarianceHint(SHIFT, mu=1.0)
    found = prepared(prior, kernel=kernel, C=10.0).solve("ROWS", None)
    stated = prepared(prior, kernel=kernel, C=10.0).solve("CLARABEL", None)
    assert found.reached == pytest.approx(stated.reached, rel=1e-6)
    X = data()[0]
    np.testing.assert_allclose(found.f.value(X) + found.f.value(-X), 0.0, atol=1e-8)


def test_the_next_round_starts_from_the_round_before():
    this = prepared(Box(WIDE, 0, hard=True), kernel=RBF(2.0))
    this.solve("auto", None)
    first = this.problem.known_rows
    following = this.following()
    assert following is not None
    assert following.problem.known_rows is first
    following.solve("auto", None)
    again = prepared(Box(WIDE, 0, hard=True), kernel=RBF(2.0))
    again.problem.states = following.problem.states
    cold = solve_at_points(again.problem)
    assert following.binary.reached == pytest.approx(cold.value, rel=1e-9)
    K = following.problem.known_rows.K
    np.testing.assert_allclose(K, again.problem.known_rows.K, atol=1e-12)


@pytest.mark.parametrize("hard", [False, True])
def test_a_second_solve_takes_two_steps_at_most(hard):
    problem = prepared(Box(WIDE, 0, mu=5.0, hard=hard, holds="everywhere")).problem
    first = solve_at_points(problem)
    second = solve_at_points(problem)
    assert second.outcome.iterations <= 2
    assert second.value == pytest.approx(first.value, rel=1e-9)
    route = find_route("ROWS").run(problem)
    assert route.outcome.iterations <= 2
    assert route.value == pytest.approx(first.value, rel=1e-9)


@pytest.mark.parametrize(
    ("block", "settings"),
    [
        (Box(BOX, 0, hard=True), {"norm": "l1"}),
        (Polyhedron(SIDES, [1.0, 0.5, 0.5], 0, hard=True), {"kernel": "linear"}),
        (Box(BOX, 0, mu=0.0, holds="everywhere"), {}),
        (Box(BOX, 0, hard=True), {"n_centres": 10}),
        (Box(BOX, 0, hard=True), {"C": np.inf}),
        (Monotone({0: 1}, hard=True), {"kernel": NegativeDistance(1.5)}),
        (Monotone({0: 1}, hard=True), {"n_centres": 10}),
        (Polyhedron(SIDES, [1.0, 0.5, 0.5], 0, method="kernelised"), {}),
        (Box(BOX, 0, hard=True) + UncertainSamples(0.1), {}),
    ],
)
@pytest.mark.filterwarnings("ignore::priorsvm.errors.UnsoundMethod")
def test_other_problems_are_left_to_the_routes(block, settings):
    assert solve_at_points(prepared(block, **settings).problem) is None


def test_a_class_with_a_build_of_its_own_is_not_read_as_arrays():
    class Own(Box):
        def build(self, f, view):
            return RegionKnowledge.build(self, f, view)

    assert states_arrays(Box(BOX, 0), "at_points")
    assert not states_arrays(Own(BOX, 0), "at_points")
