"""Regions at the edges: units, weights, degenerate sets, other people's functions."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import GridSearchCV

from priorsvm import RBF, Box, Ellipsoid, Monotone, Polyhedron, PriorSVC, Region, Rule
from priorsvm.errors import BadRule, InvalidInput, PriorSVMWarning, SolverFailed
from priorsvm.knowledge.regions.sets import PolyhedronSet, linear_minimum
from priorsvm.problem.conflicts import conflict
from priorsvm.solve.feasibility import is_infeasible

rng = np.random.default_rng(0)
X = rng.normal(size=(30, 3))
y = (X[:, 0] + 0.5 * rng.normal(size=30) > 0).astype(int)


@pytest.mark.parametrize("seed", range(8))
def test_strips_in_three_columns(seed):
    """HiGHS's presolve calls the linear programmes over them infeasible, and they are unbounded."""
    a, b, c = np.random.default_rng(seed).normal(size=3).round(3)
    text = f"{a}*x0 + {b}*x1 + {c}*x2 between 0.5 and 1.3"
    assert PriorSVC(Rule(text, 1)).fit(X, y).verify()["rule"].proven
    B = np.array([[a, b, c], [-a, -b, -c]])
    strip = PolyhedronSet(B, np.array([1.3, -0.5]))
    assert not strip.empty
    assert np.isinf(strip.box).all()


@pytest.mark.parametrize("unit", [1e-12, 1e-8, 1.0, 1e8])
def test_emptiness_does_not_depend_on_units(unit):
    with pytest.raises(InvalidInput, match="is empty"):
        PriorSVC(Polyhedron([[1, 1, 0], [-1, -1, 0]], [0, -unit], 1), scale="standard").fit(X * unit, y)
    full = PolyhedronSet(np.array([[1.0, 1.0], [-1.0, 0.0], [0.0, -1.0]]), unit * np.array([1.0, 0.0, 0.0]))
    assert full.lowest(np.array([-1.0, -2.0]))[0] == pytest.approx(-2 * unit)
    assert full.contains(unit * np.array([[0.5, 0.5], [0.51, 0.5]])).tolist() == [True, False]


@pytest.mark.parametrize("factor", [1e-9, 1e-3, 1e6])
def test_factors_of_the_rows_are_nothing(factor):
    B, d = np.vstack([np.eye(2), -np.eye(2)]), np.ones(4)
    square = PolyhedronSet(factor * B, factor * d)
    np.testing.assert_allclose(square.box, [[-1, -1], [1, 1]])
    assert square.contains(np.array([[1.0, 0.0], [1.005, 0.0]]), 1e-7).tolist() == [True, False]
    least, where = linear_minimum(np.array([1e-11, 2e-11]), square.B, square.d)
    assert least == pytest.approx(-3e-11)
    np.testing.assert_allclose(where, [-1, -1])


def test_a_solver_that_is_wrong_makes_no_conflict():
    """OSQP calls this infeasible, and f = 1 is a solution."""
    block, two = Box({0: (-500, 500)}, 1, hard=True), 1e3 * X[:, :2]
    with pytest.raises(SolverFailed, match="OSQP says"):
        PriorSVC(block, solver="OSQP").fit(two, y)
    assert PriorSVC(block, solver="CLARABEL").fit(two, y).status_ == "optimal"


def test_a_conflict_is_asked_for_twice():
    """Whoever says that blocks conflict, a solver that can prove it is asked before any is named."""
    model = PriorSVC(Box({0: (1, 2)}, 1, hard=True)).fit(X, y)
    compiled = model._machines[0].problem
    assert conflict(compiled, is_infeasible) == []
    assert conflict(compiled, lambda problem: len(problem.constraints) > 3) == ["box"]


def test_points_are_not_the_whole_region():
    left = Region(lambda Z: Z[:, 0], [[-1, 0, 0], [-1, 1, 0]], 0, hard=True, method="points")
    box = Box({0: (-0.5, 1), 1: (-0.5, 0.5)}, 1, hard=True)
    model = PriorSVC(left + box, kernel=RBF(1.0)).fit(X, y)
    assert model.decision_function([[-1, 0, 0], [-1, 1, 0]]).max() <= -1 + 1e-5


def test_rows_of_no_weight_do_not_stretch_the_data():
    more, labels = np.vstack([X, [[0, 0, -40]]]), np.append(y, 1)
    weight = np.append(np.ones(30), 0.0)
    for block in (Rule("x0 >= 0.5", 1, hard=True), Monotone({1: -1}, mu=3.0)):
        plain = PriorSVC(block).fit(X, y)
        padded = PriorSVC(block).fit(more, labels, sample_weight=weight)
        np.testing.assert_allclose(padded.coef_, plain.coef_, atol=1e-6)


@pytest.mark.filterwarnings("ignore::priorsvm.errors.PriorSVMWarning")
@pytest.mark.parametrize("seed", range(6))
def test_ellipsoids_of_too_many_columns(seed):
    g = np.random.default_rng(seed)
    centre, A = g.normal(size=3), g.normal(size=(3, 5))
    wide = PriorSVC(Ellipsoid(centre, A, 1, mu=2.0), loss="squared_hinge").fit(X, y)
    root = np.linalg.cholesky(A @ A.T)
    thin = PriorSVC(Ellipsoid(centre, root, 1, mu=2.0), loss="squared_hinge").fit(X, y)
    assert wide.objective_ == pytest.approx(thin.objective_, rel=1e-6)


def test_a_centre_with_names_is_taken_by_them():
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    named = Ellipsoid(pd.Series({"c": 2.0, "a": 0.5, "b": 1.0}), 0.3, 1, hard=True)
    plain = Ellipsoid([0.5, 1.0, 2.0], 0.3, 1, hard=True)
    models = [PriorSVC(block).fit(frame, y) for block in (named, plain)]
    np.testing.assert_allclose(models[0].coef_, models[1].coef_)
    with pytest.raises(InvalidInput, match="centre names a, b, d, but the columns are a, b, c"):
        PriorSVC(Ellipsoid(pd.Series({"a": 0.5, "b": 1.0, "d": 2.0}), 0.3, 1)).fit(frame, y)


@pytest.mark.parametrize(
    ("block", "message"),
    [
        (Box([], 1), "empty list"),
        (Box({0: (1, 2), "a": (5, 6)}, 1), "bounds contains column 'a' twice"),
        (Box({0: (1, 2)}, 1, within={1: (0, 1), "b": (0, 2)}), "within contains column 'b' twice"),
        (Monotone({0: 1, "a": -1}), "features contains column 'a' twice"),
        (Polyhedron([np.eye(3), np.eye(3)], 3, 1), "d must be a list too"),
        (Ellipsoid([0, 0, 0], 1.0, label=[1]), r"label \[1\] is not among the classes"),
        (Rule("x0 >= 1", 1), "there is no column 'x0'"),
        (Rule("a >= 1", 1, columns=["a", "b"]), "columns must be 3 names"),
        (Box({0: (0, 1)}, 1, points=True), "points must be a number"),
    ],
)
def test_slips_are_named(block, message):
    with pytest.raises(InvalidInput, match=message):
        PriorSVC(block).fit(pd.DataFrame(X, columns=["a", "b", "c"]), y)


def test_functions_cannot_change_the_data():
    before = X.copy()
    shifting = Region(lambda Z: np.subtract(Z, 1, out=Z)[:, 0], 8, 1, within="data", method="points")
    PriorSVC(shifting, kernel=RBF(0.3)).fit(X, y)
    np.testing.assert_array_equal(X, before)
    with pytest.raises(InvalidInput, match="h must return one finite number"):
        PriorSVC(Region(lambda Z: Z[:, 0], 8, 1, h=lambda Z: np.full(len(Z), np.inf), within="data")).fit(
            X, y
        )
    far = Region(lambda Z: np.where(Z[:, 0] > 0, np.inf, -1.0), [[1.0, 0, 0], [-1.0, 0, 0]], 1)
    with pytest.raises(InvalidInput, match="g is infinite"):
        PriorSVC(far, kernel=RBF(0.3)).fit(X, y)


def test_rules_on_arrays():
    with pytest.raises(BadRule, match=r"fit on a DataFrame, or give columns=\[\.\.\.\]"):
        PriorSVC(Rule("radius >= 1", 1)).fit(X, y)
    named = PriorSVC(Rule("radius >= 1", 1, columns=["radius", "b", "c"], hard=True)).fit(X, y)
    plain = PriorSVC(Rule("x0 >= 1", 1, hard=True)).fit(X, y)
    np.testing.assert_allclose(named.coef_, plain.coef_)
    assert "radius from 1 to" in named.verify()["rule"].asked
    sums = PriorSVC(Rule("radius + b >= 1", 1, columns=["radius", "b", "c"])).fit(X, y)
    assert "where radius + b >= 1" in sums.verify()["rule"].asked


def test_a_lone_block_goes_by_its_name_too():
    search = GridSearchCV(PriorSVC(Rule("x0 >= 1", 1)), {"prior__rule__mu": [0.0, 0.1]}, cv=2).fit(X, y)
    assert set(search.best_params_) == {"prior__rule__mu"}
    assert PriorSVC(Rule("x0 >= 1", 1)).set_params(prior__mu=3.0).prior.mu == 3.0


def test_formulas_of_hard_blocks_have_no_slack():
    hard = PriorSVC(Box({0: (1, 2)}, 1, hard=True)).fit(X, y)
    soft = PriorSVC(Box({0: (1, 2)}, 1)).fit(X, y)
    assert r"\zeta" not in str(hard.formulation())
    assert r"\zeta_l \ge 0" in str(soft.formulation())


@pytest.mark.slow
def test_several_guarantees_warn_once_each_at_most():
    B, d = np.vstack([np.eye(2), -np.eye(2)]), np.array([2, 2, -1, -1.0])
    Z = rng.normal(size=(40, 2))
    s = (Z[:, 0] + 0.5 * Z[:, 1] ** 2 > 0.3).astype(int)
    how = {"hard": True, "method": "guaranteed", "max_cells": 60}
    prior = (
        Polyhedron(B, d, 1, **how)
        + Box({0: (-3, -2), 1: (-1, 1)}, 0, **how)
        + Ellipsoid([0, -2], 0.4, 0, **how)
    )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = PriorSVC(prior, kernel=RBF(0.5)).fit(Z, s)
    assert len(caught) <= 3
    assert not any(issubclass(w.category, PriorSVMWarning) for w in caught)
    assert model.verify().holds


def test_a_soft_region_is_held_to_what_its_cuts_stop_at():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 3))
    y = np.sign(X[:, 0] + 0.5 * X[:, 1] + 0.3 * rng.normal(size=120))
    soft = Box({0: (1, 2)}, label=1.0, mu=5)
    model = PriorSVC(soft, kernel="rbf").fit(X, y)
    found = model.verify()["box"]
    assert found.holds
    assert found.proven
    assert -1e-3 <= found.worst < -2e-4
    [machine] = model._machines
    assert not machine.verdict("box", Box({0: (1, 2)}, label=1.0, hard=True), machine.sample).holds
