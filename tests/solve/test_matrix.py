"""Every block with every kind of solver: answers agree, or the solver is refused for its problem class."""

import inspect
import warnings
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pytest

import priorsvm
from benchmarks.compositions import BLOCKS as DRAWN
from priorsvm import (
    Box,
    ClassCosts,
    Ellipsoid,
    InvarianceHint,
    InvariantLoss,
    MissingValues,
    Monotone,
    MonotonicityHint,
    OddnessHint,
    Polyhedron,
    PriorSVC,
    Region,
    RowPermutations,
    Rule,
    SampleCosts,
    Shift,
    TangentPenalty,
    Trajectories,
    Transductive,
    UncertainSamples,
    UnlabeledSamples,
    VirtualSamples,
    VirtualSupportVectors,
)
from priorsvm.errors import InaccurateSolution, SolverUnsuited
from priorsvm.prior import as_prior
from priorsvm.solve.classes import class_of
from priorsvm.solve.registry import find_route
from priorsvm.solve.solution import HOPELESS

# Many combinations of blocks and solvers.
pytestmark = pytest.mark.slow

# Solver -> largest relative error of an objective. The facts of SCIPY and ECOS_BB are derived from CVXPY.
ACCURACY = {
    "CLARABEL": 1e-7,
    "HIGHS": 1e-6,
    "ECOS": 1e-6,
    "SCS": 1e-3,
    "OSQP": 1e-3,
    "PIQP": 1e-6,
    "QOCO": 1e-6,
    "SCHUR": 1e-7,
    "SCIPY": 1e-6,
    "ECOS_BB": 1e-6,
}
SHARP = {"tol_gap_abs": 1e-12, "tol_gap_rel": 1e-12, "tol_feas": 1e-12}

RNG = np.random.default_rng(5)
X = RNG.normal(size=(24, 4))
Y = (X @ [1.0, -1.0, 0.5, 0.0] + 0.5 * RNG.normal(size=24) > 0).astype(int)
GAPS = np.where(RNG.random(X.shape) < 0.1, np.nan, X)
NEW = np.array([[0.1, -0.1, 0.0, 0.5], [-0.1, 0.2, 0.3, 0.0], [0.2, 0.1, 0.5, 0.0]])
MOVE = Shift([0.2, 0.0, 0.1, 0.0])
WEDGE = [[-1.0, 0.0, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0]]


class Case(NamedTuple):
    """One block in two models.

    block : the block.
    l2 : problem class of the 2-norm model.
    l1 : problem class of the 1-norm model.
    X : rows.
    """

    block: Any
    l2: str
    l1: str
    X: Any = X


CASES = {
    "ClassCosts": Case(ClassCosts({1: 3.0}), "QP", "LP"),
    "SampleCosts": Case(SampleCosts(np.linspace(0.5, 2.0, 24)), "QP", "LP"),
    "UnlabeledSamples": Case(UnlabeledSamples(NEW, [1, 0, 1], costs=0.5), "QP", "LP"),
    "Transductive": Case(Transductive(NEW, n_positive={1: 2}, cost=0.5), "QP", "LP"),
    "VirtualSamples": Case(VirtualSamples(MOVE, cost=0.5), "QP", "LP"),
    "VirtualSupportVectors": Case(VirtualSupportVectors(MOVE), "QP", "LP"),
    "RowPermutations": Case(RowPermutations((2, 2), rho=10.0), "QP", "LP"),
    "InvarianceHint": Case(InvarianceHint(MOVE), "QP", "QP"),
    "OddnessHint": Case(OddnessHint(mu=2.0), "QP", "QP"),
    "MonotonicityHint": Case(MonotonicityHint({2: -1}, hard=True, pairs=8), "QP", "LP"),
    "TangentPenalty": Case(TangentPenalty(MOVE), "QP", "QP"),
    "Polyhedron": Case(Polyhedron(WEDGE, [-1.0, 2.0, -1.0], label=1, holds="everywhere"), "QP", "LP"),
    "Box": Case(Box({0: (0.0, 2.0), 1: (-2.0, 0.0)}, label=1, mu=3.0, holds="everywhere"), "QP", "LP"),
    "Ellipsoid": Case(
        Ellipsoid([0.5, -0.5, 0.0, 0.0], 0.5 * np.eye(4), label=1, holds="everywhere"), "SOCP", "SOCP"
    ),
    "Rule": Case(Rule("x0 >= 1 and x1 <= -0.5", label=1, holds="everywhere"), "QP", "LP"),
    "Region": Case(Region(lambda Z: 0.2 - np.abs(Z[:, 0] - 1.0), NEW, 1, mu=2.0), "QP", "LP"),
    "Monotone": Case(Monotone({2: -1}, hard=True), "QP", "LP"),
    "UncertainSamples": Case(UncertainSamples(0.05), "SOCP", "SOCP"),
    "MissingValues": Case(MissingValues(), "SOCP", "SOCP", GAPS),
    "Trajectories": Case(Trajectories(MOVE, degree=2), "SOCP", "SOCP"),
    "InvariantLoss": Case(InvariantLoss(MOVE), "QP", "LP"),
}


@cache
def reference(name, norm):
    case = CASES[name]
    model = PriorSVC(case.block, norm=norm, solver="CLARABEL", solver_options=SHARP)
    return model.fit(case.X, Y)


def test_every_public_block_has_a_case():
    public = [getattr(priorsvm, name) for name in priorsvm.__all__]
    blocks = [v for v in public if inspect.isclass(v) and issubclass(v, priorsvm.Knowledge)]
    names = {block.__name__ for block in blocks} - {"Knowledge"}
    assert names <= set(CASES), f"Add {', '.join(sorted(names - set(CASES)))} to CASES of this file."
    assert set(CASES) <= names
    for name, case in CASES.items():
        assert type(case.block).__name__ == name


def test_every_block_with_a_case_is_drawn_in_compositions():
    priors = [as_prior(draw(np.random.default_rng(0), X)) for draw in DRAWN]
    drawn = {type(member.block).__name__ for prior in priors for member in prior}
    missing = sorted(set(CASES) - drawn)
    assert not missing, f"Add {', '.join(missing)} to BLOCKS of benchmarks/compositions.py."


@pytest.mark.parametrize("norm", ["l2", "l1"])
@pytest.mark.parametrize("name", list(CASES))
def test_the_problem_class_of_every_block(name, norm):
    model = reference(name, norm)
    assert class_of(model._models[0].problem) == getattr(CASES[name], norm)


@pytest.mark.parametrize("name", list(CASES))
def test_every_block_changes_f(name):
    case = CASES[name]
    rows = np.nan_to_num(case.X)
    plain = PriorSVC(solver="CLARABEL").fit(rows, Y)
    change = reference(name, "l2").decision_function(rows) - plain.decision_function(rows)
    assert np.abs(change).max() > 1e-3


@pytest.mark.parametrize("solver", list(ACCURACY))
@pytest.mark.parametrize("norm", ["l2", "l1"])
@pytest.mark.parametrize("name", list(CASES))
def test_every_block_with_every_solver(name, norm, solver):
    case = CASES[name]
    problem_class = getattr(case, norm)
    route = find_route(solver)
    if not route.installed():
        pytest.skip(f"{solver} is not installed")
    model = PriorSVC(case.block, norm=norm, solver=solver)
    if problem_class not in route.solves:
        with pytest.raises(SolverUnsuited, match=f"{solver} cannot solve this {problem_class}"):
            model.fit(case.X, Y)
        return
    accuracy = ACCURACY[solver]
    with warnings.catch_warnings():
        if accuracy > 1e-4:  # first-order methods may stop early
            warnings.simplefilter("ignore", InaccurateSolution)
        model.fit(case.X, Y)
    if model.status_ != "optimal":
        assert solver in ("SCS", "OSQP")
        accuracy = HOPELESS
    right = reference(name, norm)
    assert model.solver_ == solver
    assert model.objective_ == pytest.approx(right.objective_, rel=accuracy)
    if norm == "l2":  # strongly convex: f is determined
        found = model.decision_function(case.X)
        np.testing.assert_allclose(found, right.decision_function(case.X), atol=10 * np.sqrt(accuracy))
