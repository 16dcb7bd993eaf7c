"""Crossover from SCHUR's solution of a linear programme to a vertex, by HiGHS."""

from types import SimpleNamespace

import cvxpy as cp
import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import linprog
from sklearn.base import clone
from sklearn.datasets import make_classification

from priorsvm import (
    RBF,
    Box,
    Monotone,
    MonotonicityHint,
    OddnessHint,
    Polyhedron,
    PriorSVC,
    Region,
    UncertainSamples,
)
from priorsvm.errors import Infeasible
from priorsvm.schur.definitions import Dims, StructuredProblem
from priorsvm.schur.interface import solve
from priorsvm.solve import auto
from priorsvm.solve.methods.corner import nonnegativity_rows, to_corner
from priorsvm.solve.routes import direct

BOX = Box({0: (1.0, 2.0), 1: (0.0, 1.0)}, label=1, holds="everywhere")


@pytest.fixture
def any_size(monkeypatch):
    "Small problems go this way too."
    monkeypatch.setitem(auto.SCHUR_NUMBERS, "LP", 0)


def rows(n, d, seed=0):
    return make_classification(n, d, n_informative=d - 2, flip_y=0.1, class_sep=0.7, random_state=seed)


def programme(rng, n=12, equations=3, inequalities=15, ties=False):
    "A feasible and bounded programme, x >= 0; with ties its numbers are small integers."
    draw = (
        (lambda *size: rng.integers(-2, 3, size).astype(float)) if ties else (lambda *s: rng.normal(size=s))
    )
    E = draw(equations, n)
    A = draw(inequalities, n)
    x = np.abs(draw(n))
    e = E @ x
    b = A @ x + np.abs(draw(inequalities))
    q = E.T @ draw(equations) - A.T @ np.abs(draw(inequalities)) + np.abs(draw(n))
    whole = sparse.csr_array(np.vstack([E, A, -np.eye(n)])), np.concatenate([e, b, np.zeros(n)])
    return q, whole[0], whole[1], Dims(equations, inequalities + n, [], [])


def stated(q, A, b, dims):
    "What a problem without any f looks like."
    P = sparse.csr_array((len(q), len(q)))
    none = np.empty(0, int)
    return StructuredProblem(P, q, A, b, dims, none, none, 0, [], None, None)


@pytest.mark.parametrize("ties", [False, True], ids=["one optimum", "ties"])
@pytest.mark.parametrize("seed", range(10))
def test_a_corner_is_optimal_and_a_corner(seed, ties):
    q, A, b, dims = programme(np.random.default_rng(seed), ties=ties)
    near = solve(sparse.csr_array((len(q), len(q))), q, A, b, dims)
    found = to_corner(stated(q, A, b, dims), near)
    zero = dims.zero
    least = linprog(q, A[zero:], b[zero:], A[:zero], b[:zero], bounds=(None, None)).fun
    assert found.obj_val == pytest.approx(least, abs=1e-9 * (1 + abs(least)))
    slack = b - A @ found.x
    assert np.abs(slack[:zero]).max() < 1e-9
    assert slack[zero:].min() > -1e-9
    assert found.z[zero:].min() > -1e-9
    assert np.abs(q + A.T @ found.z).max() < 1e-8
    assert np.abs(slack * found.z).max() < 1e-8
    # At a vertex, as many independent rows are active as there are variables.
    meeting = A[np.abs(slack) < 1e-9].toarray()
    assert np.linalg.matrix_rank(meeting) == len(q)


def test_a_bad_start_costs_only_pivots():
    rng = np.random.default_rng(0)
    q, A, b, dims = programme(rng, n=30, inequalities=40)
    near = solve(sparse.csr_array((len(q), len(q))), q, A, b, dims)
    right = to_corner(stated(q, A, b, dims), near)
    near.z = rng.random(len(b))
    wrong = to_corner(stated(q, A, b, dims), near)
    assert wrong.obj_val == pytest.approx(right.obj_val, rel=1e-12)
    assert wrong.iterations > right.iterations
    np.testing.assert_allclose(wrong.x, right.x, atol=1e-9)


def test_only_one_row_for_each_variable_is_its_bound():
    A = sparse.csr_array([[-1.0, 0.0], [-2.0, 0.0], [0.0, -1.0], [0.0, 1.0], [-1.0, -1.0]])
    found, variables = nonnegativity_rows(A, np.array([0.0, 0.0, 1.0, 0.0, 0.0]), 0)
    assert found.tolist() == [0]  # the third is x >= -1, the fourth x <= 0
    assert variables.tolist() == [0]
    assert nonnegativity_rows(A, np.zeros(5), 1)[0].tolist() == [1, 2]  # an equation is not a bound


def models():
    X, y = rows(150, 5)
    given = X[:40] + 0.1
    yield "box", BOX, {}, X, y
    yield "hard box", Box({0: (3.0, 4.0)}, label=1, hard=True), {}, X, y
    yield (
        "polyhedron",
        Polyhedron([[1, 1, 0, 0, 0], [-1, 0, 0, 0, 0]], [1.0, 1.0], label=0, mu=0.1, holds="everywhere"),
        {"C": 10.0},
        X,
        y,
    )
    yield "monotone", Monotone({2: +1}, mu=20.0, holds="everywhere"), {"C": 0.05}, X, y
    yield "hints", OddnessHint(hard=True) + MonotonicityHint({0: +1}, hard=True), {}, X, y
    yield "f is zero", clone(BOX).set_params(mu=1e4), {"C": 1e-4}, X, y
    one_column = np.linspace(0.01, 0.1, len(X))[:, None, None] * np.diag([1.0, 0, 0, 0, 0])
    yield "errors in one column", UncertainSamples(one_column), {}, X, y
    rbf = {"kernel": RBF(0.2)}
    yield "points in a box", Box({0: (1.0, 2.0)}, label=1, method="points", points=60), rbf, X, y
    yield "cuts", Box({0: (1.0, 2.0), 1: (0.0, 1.0)}, label=1, holds="everywhere"), rbf, X[:80], y[:80]
    yield "points of a region", Region(lambda Z: Z[:, :1] - 1.0, given, label=0), rbf, X, y
    sides = [[1.0, 0, 0, 0, 0], [-1.0, 0, 0, 0, 0]]
    yield "kernelised", Polyhedron(sides, [2.0, -1.0], label=1, method="kernelised"), rbf, X[:60], y[:60]


@pytest.mark.slow
@pytest.mark.usefixtures("any_size")
@pytest.mark.filterwarnings("ignore::priorsvm.errors.CollapsedModel")
@pytest.mark.filterwarnings("ignore:method='kernelised':priorsvm.errors.UnsoundMethod")
@pytest.mark.parametrize("case", list(models()), ids=lambda case: case[0])
def test_auto_reaches_the_optimum_of_highs(case):
    name, prior, parameters, X, y = case
    found = PriorSVC(prior, norm="l1", **parameters).fit(X, y)
    alone = PriorSVC(prior, norm="l1", solver="HIGHS", **parameters).fit(X, y)
    [solve] = found.report_.solves
    assert (found.solver_, solve["start"], solve["before"]) == ("HIGHS", "SCHUR", ())
    assert solve["residuals"].worst < 1e-8
    # Cuts may go another way, to within what they leave.
    assert found.objective_ == pytest.approx(alone.objective_, rel=1e-4 if name == "cuts" else 1e-9)


@pytest.mark.usefixtures("any_size")
def test_coefficients_are_zero_as_with_highs_alone_and_tiny_with_schur():
    X, y = rows(400, 15)
    X = np.hstack([X, np.random.default_rng(0).normal(size=(len(X), 5))])
    fits = {
        s: PriorSVC(Monotone({0: +1}, mu=20.0, holds="everywhere"), norm="l1", C=0.05, solver=s).fit(X, y)
        for s in ("auto", "HIGHS", "SCHUR")
    }
    coef = {s: fit.coef_[0] for s, fit in fits.items()}
    assert fits["auto"].report_.solves[0]["start"] == "SCHUR"
    assert np.array_equal(coef["auto"] == 0, coef["HIGHS"] == 0)
    assert 0 < np.count_nonzero(coef["auto"]) < 20
    np.testing.assert_allclose(coef["auto"], coef["HIGHS"], atol=1e-9)
    assert np.count_nonzero(coef["SCHUR"]) > np.count_nonzero(coef["auto"])
    duals = [fits[s]._models[0].alpha for s in ("auto", "HIGHS")]
    np.testing.assert_allclose(*duals, atol=1e-8)


@pytest.mark.usefixtures("any_size")
def test_of_equal_columns_one_has_a_coefficient():
    X, y = rows(300, 10)
    twice = np.hstack([X, X])
    found, inside = (
        PriorSVC(Monotone({0: +1}, holds="everywhere"), norm="l1", solver=s).fit(twice, y)
        for s in ("auto", "SCHUR")
    )
    assert found.report_.solves[0]["start"] == "SCHUR"
    both = (found.coef_[0, :10] != 0) & (found.coef_[0, 10:] != 0)
    assert not both.any()
    assert ((np.abs(inside.coef_[0, :10]) > 1e-3) & (np.abs(inside.coef_[0, 10:]) > 1e-3)).any()
    assert found.objective_ == pytest.approx(inside.objective_, rel=1e-8)


def test_the_report_names_the_start_of_highs():
    X, y = rows(2000, 20)  # as many numbers as "auto" asks for
    model = PriorSVC(BOX, norm="l1").fit(X, y)
    assert "HIGHS from the solution of SCHUR optimal" in str(model.report_)
    assert model.report_.solves[0]["start"] == "SCHUR"


@pytest.mark.usefixtures("any_size")
def test_without_a_corner_highs_starts_on_its_own(monkeypatch):
    def none(*_):
        raise cp.SolverError("HiGHS found no corner near SCHUR's solution (Unknown).")

    monkeypatch.setattr(direct, "to_corner", none)
    X, y = rows(300, 5)
    [solve] = PriorSVC(BOX, norm="l1").fit(X, y).report_.solves
    assert (solve["solver"], solve["start"], solve["before"]) == ("HIGHS", "", ("SCHUR",))


def test_a_programme_without_a_corner_is_an_error():
    q = np.array([-1.0])
    A = sparse.csr_array([[-1.0]])
    b = np.zeros(1)
    near = SimpleNamespace(x=np.zeros(1), z=np.zeros(1))
    with pytest.raises(cp.SolverError, match="no corner near SCHUR's solution"):
        to_corner(stated(q, A, b, Dims(0, 1, [], [])), near)


@pytest.mark.usefixtures("any_size")
def test_contradicting_hard_rules_are_named():
    X, y = rows(300, 5)
    prior = Box({0: (0.0, 1.0)}, label=1, hard=True) + Box({0: (0.5, 2.0)}, label=0, hard=True)
    with pytest.raises(Infeasible, match="box"):
        PriorSVC(prior, norm="l1").fit(X, y)


@pytest.mark.usefixtures("any_size")
@pytest.mark.parametrize("solver", ["SCHUR", "HIGHS"])
def test_a_named_solver_is_that_solver_alone(solver):
    X, y = rows(300, 5)
    [solve] = PriorSVC(BOX, norm="l1", solver=solver).fit(X, y).report_.solves
    assert (solve["solver"], solve["start"]) == (solver, "")
