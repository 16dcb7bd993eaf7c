"""Region blocks together with other blocks, collapsed models, and messages about arguments."""

import pickle
import warnings

import cvxpy as cp
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from priorsvm import (
    RBF,
    Box,
    ClassCosts,
    Ellipsoid,
    InvarianceHint,
    Monotone,
    OddnessHint,
    Polyhedron,
    PriorSVC,
    Region,
    Rule,
    Shift,
    UnlabeledSamples,
    VirtualSamples,
)
from priorsvm.errors import CollapsedModel, InvalidInput
from priorsvm.problem.conflicts import conflict
from priorsvm.solve.feasibility import is_infeasible

GAMMA = 0.6
SQUARE = {0: (-1.0, -0.3), 1: (-0.2, 0.6)}
TRIANGLE = np.array([[-1.0, -0.5], [0.2, -0.2], [-0.6, 0.7]])
# The inequalities of the triangle, of which each row is zero at two corners.
TRIANGLE_ROWS = (np.array([[0.3, -1.2], [0.9, 0.8], [-1.2, 0.4]]), np.array([0.3, 0.02, 1.0]))


def lattice(low, high, n=101):
    axes = [np.linspace(a, b, n) for a, b in zip(low, high, strict=True)]
    return np.array(np.meshgrid(*axes)).reshape(len(low), -1).T


# ---------------------------------------------------------------------- with other blocks


def everything(C=1.0):
    """Return one block of each kind, with the weights of region blocks in the units of the objective."""
    rng = np.random.default_rng(8)
    return (
        Box(SQUARE, 1, mu=0.5 / C, holds="everywhere")
        + Polyhedron(*TRIANGLE_ROWS, 1, mu=0.2 / C, holds="everywhere")
        + Ellipsoid([1.0, -1.0], 0.3, 0, hard=True)
        + Monotone({0: 1}, mu=0.1 / C, holds="everywhere")
        + Region(_half_disc, np.array([[1.2, 0.4], [1.5, 0.2]]), 1, mu=0.3 / C)
        + ClassCosts({0: 2.0})
        + UnlabeledSamples(rng.normal(size=(3, 2)), [0, 1, 1], costs=0.3)
        + 0.5 * VirtualSamples(Shift([0.0, 0.1]))
        + OddnessHint(mu=0.05)
        + InvarianceHint(Shift([0.0, 0.2]), mu=0.05)
    )


def _half_disc(X):
    return X[:, 0] ** 2 + X[:, 1] ** 2 - 4


def test_all_kinds_in_one_linear_problem(plane, assemble):
    """Compare with the terms of every block written out by hand, on a linear model."""
    X, y = plane
    C = 1.2
    model = PriorSVC(everything(C), C=C, tol=1e-9).fit(X, y)
    s = np.where(y == 1, 1.0, -1.0)
    w, b = cp.Variable(2), cp.Variable()

    def f(Z):
        return np.atleast_2d(Z) @ w + b

    def hinge(Z, signs, costs):
        return costs @ cp.pos(1 - cp.multiply(signs, f(Z)))

    corners = lattice([-1.0, -0.2], [-0.3, 0.6], 2)
    rng = np.random.default_rng(8)
    extra = rng.normal(size=(3, 2))
    J = 0.5 * cp.sum_squares(w) + C * hinge(X, s, np.where(y == 0, 2.0, 1.0))
    J += 0.5 * cp.max(cp.pos(1 - f(corners))) + 0.2 * cp.max(cp.pos(1 - f(TRIANGLE)))
    J += 0.1 * cp.pos(-np.ptp(X[:, 0]) * w[0])
    J += 0.3 * cp.sum(cp.pos(1 - f([[1.2, 0.4], [1.5, 0.2]])))
    J += C * hinge(extra, np.array([-1.0, 1.0, 1.0]), np.full(3, 0.3))
    shifted = assemble(everything(), X, y).sample  # tests of VirtualSamples check the weights of its rows
    added = np.flatnonzero(shifted.shares["virtual_samples"] > 0)
    J += C * hinge(shifted.X[added], shifted.y[added], shifted.shares["virtual_samples"][added])
    firm = [-(np.array([1.0, -1.0]) @ w + b) - cp.norm(0.3 * w) >= 1]
    J += 0.05 * cp.sum_squares(f(X) + f(-X)) / len(X)
    J += 0.05 * cp.square(0.2 * w[1])
    value = cp.Problem(cp.Minimize(J), firm).solve(solver="CLARABEL")
    assert model.objective_ == pytest.approx(value, rel=1e-6)


@pytest.mark.parametrize("kernel", ["linear", pytest.param(RBF(GAMMA), marks=pytest.mark.slow)])
def test_report_formulation_and_verdicts_of_all_kinds(plane, kernel):
    X, y = plane
    model = PriorSVC(everything(), kernel=kernel).fit(X, y)
    report = model.report_
    assert sum(row.contribution for row in report.rows) == pytest.approx(model.objective_, rel=1e-9)
    text = str(model.formulation())
    for name in ("box", "polyhedron", "ellipsoid", "monotone", "region"):
        assert report[name]
        assert name in str(report)
        assert name in text
        assert name in str(model.verify())
    assert model.verify()["ellipsoid"].holds
    assert r"\zeta" in text
    assert "<table" in report._repr_html_()
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    assert str(again.verify()) == str(model.verify())
    assert str(again.formulation()) == text
    copy = clone(model).fit(X, y)
    np.testing.assert_allclose(copy.decision_function(X), model.decision_function(X), atol=1e-7)


@pytest.mark.slow
@pytest.mark.parametrize("kernel", ["linear", RBF(GAMMA)])
def test_a_path_over_mu_is_separate_fits(plane, kernel):
    X, y = plane
    prior = Box(SQUARE, 1, holds="everywhere") + Ellipsoid([1.0, -1.0], 0.3, 0, holds="everywhere")
    values = [0.01, 3.0]
    models = PriorSVC(prior, kernel=kernel).fit_path(X, y, {"box__mu": values})
    for mu, model in zip(values, models, strict=True):
        alone = PriorSVC(clone(prior).set_params(box__mu=mu), kernel=kernel).fit(X, y)
        assert model.objective_ == pytest.approx(alone.objective_, rel=2e-4 if kernel != "linear" else 1e-7)
        np.testing.assert_allclose(model.decision_function(X), alone.decision_function(X), atol=2e-3)


def test_grid_search_over_mu(plane):
    X, y = plane
    search = GridSearchCV(
        PriorSVC(Box(SQUARE, 1, holds="everywhere") + ClassCosts("balanced")),
        {"prior__box__mu": [0.0, 1.0], "C": [1.0, 3.0]},
        cv=2,
    ).fit(X, y)
    assert search.best_params_.keys() == {"prior__box__mu", "C"}
    assert len(search.cv_results_["params"]) == 4
    other = GridSearchCV(PriorSVC(Box(SQUARE, 1, holds="everywhere")), {"prior__mu": [0.1, 1.0]}, cv=2).fit(
        X, y
    )
    assert other.best_estimator_.prior.mu in (0.1, 1.0)


@pytest.mark.parametrize("kernel", ["linear", RBF(1.0)])
def test_multi_class(three, kernel):
    X, y = three
    X, y = X[::2], y[::2]
    model = PriorSVC(Box({0: (-1, -0.5), 1: (-0.5, 0)}, "a", hard=True), kernel=kernel).fit(X, y)
    scores = model.decision_function(lattice([-1, -0.5], [-0.5, 0], 31))
    assert scores[:, 0].min() > 1 - 1.1e-4
    assert scores[:, 1:].max() < -1 + 1.1e-4
    assert (model.predict(lattice([-1, -0.5], [-0.5, 0], 31)) == "a").all()
    assert model.verify().holds


def test_rules_and_boxes_agree_on_kernel_models(plane):
    X, y = plane
    frame = pd.DataFrame(X, columns=["u", "v"])
    rule = Rule("u between -1 and -0.3 and v between -0.2 and 0.6", 1, hard=True)
    a = PriorSVC(rule, kernel=RBF(GAMMA)).fit(frame, y)
    b = PriorSVC(Box(SQUARE, 1, hard=True), kernel=RBF(GAMMA)).fit(X, y)
    np.testing.assert_allclose(a.decision_function(frame), b.decision_function(X), atol=1e-6)


def test_a_lone_block_has_a_name_too(data):
    X, y = data
    search = GridSearchCV(
        PriorSVC(Rule("x0 >= 1", 1, holds="everywhere")), {"prior__rule__mu": [0.0, 0.1]}, cv=2
    ).fit(X, y)
    assert set(search.best_params_) == {"prior__rule__mu"}
    assert PriorSVC(Rule("x0 >= 1", 1, holds="everywhere")).set_params(prior__mu=3.0).prior.mu == 3.0


def test_formulas_of_hard_blocks_have_no_slack(data):
    X, y = data
    hard = PriorSVC(Box({0: (1, 2)}, 1, hard=True)).fit(X, y)
    soft = PriorSVC(Box({0: (1, 2)}, 1, holds="everywhere")).fit(X, y)
    assert r"\zeta" not in str(hard.formulation())
    assert r"\zeta_l \ge 0" in str(soft.formulation())


def test_a_conflict_is_confirmed(data, assemble):
    """A solver that certifies infeasibility decides before a block is named."""
    compiled = assemble(Box({0: (1, 2)}, 1, hard=True), *data)
    assert conflict(compiled, is_infeasible) == []
    assert conflict(compiled, lambda problem: len(problem.constraints) > 3) == ["box"]


# ---------------------------------------------------------------------- collapsed models


def test_a_collapse_is_reported(plane):
    X, y = plane
    block = Box({0: (-2, 2), 1: (-2, 2)}, 1, hard=True, method="guaranteed", max_cells=1)
    with pytest.warns(CollapsedModel, match="'box'.*constant"):
        model = PriorSVC(block, kernel=RBF(2.0)).fit(X, y)
    assert np.ptp(model.decision_function(X)) < 1e-3


@pytest.mark.parametrize("label", [0, 1])
def test_a_collapse_to_one_sign_is_reported(plane, label):
    X, y = plane
    block = Box({0: (-1.5, 1.5), 1: (-1.5, 1.5)}, label, hard=True)
    with pytest.warns(CollapsedModel, match="'box' leaves a .*constant f .*with one sign"):
        model = PriorSVC(block, kernel=RBF(0.3)).fit(X, y)
    assert set(y) == {0, 1}
    assert set(model.predict(X)) == {label}


def test_a_hard_block_that_leaves_both_signs_does_not_collapse(plane):
    X, y = plane
    with warnings.catch_warnings():
        warnings.simplefilter("error", CollapsedModel)
        model = PriorSVC(Box(SQUARE, 1, hard=True), kernel=RBF(GAMMA)).fit(X, y)
    assert set(model.predict(X)) == {0, 1}


# ---------------------------------------------------------------------- messages


BOX = {"bounds": {0: (0, 1)}, "label": 1}


POLY = {"B": [[1.0, 0.0]], "d": [1.0], "label": 1, "within": "data"}


BALL = {"centre": [0.0, 0.0], "shape": 1.0, "label": 1}


BAD = [
    (Box, {"bounds": {}}, "bounds must be a dict of column to"),
    (Box, {"bounds": None}, "bounds must be a dict of column to"),
    (Box, {"bounds": [{0: (0, 1)}, {}]}, "bounds must be a dict of column to"),
    (Box, {"bounds": {0: (1, 0)}}, "column 0 are empty: 1 is above 0"),
    (Box, {"bounds": {0: 3}}, r"column 0 must be \(low, high\), got 3"),
    (Box, {"bounds": {0: (1, 2, 3)}}, r"column 0 must be \(low, high\)"),
    (Box, {"bounds": {0: ("a", 2)}}, r"column 0 must be \(low, high\)"),
    (Box, {"bounds": {0: (np.nan, 2)}}, "column 0 must be numbers or None"),
    (Box, {"bounds": {0: (np.inf, None)}}, "column 0 must be numbers or None"),
    (Box, {"bounds": {5: (0, 1)}}, "there is no column 5"),
    (Box, {"bounds": {"age": (0, 1)}}, "there is no column 'age'"),
    (Box, {"label": 3}, "label 3 is not among the classes"),
    (Box, {"label": [0, 1]}, "there are 1 regions and 2 labels"),
    (Box, {"label": None}, "label None is not among the classes"),
    (Box, {"mu": -1.0}, "mu must be a nonnegative number, got -1.0"),
    (Box, {"mu": np.nan}, "mu must be a nonnegative number"),
    (Box, {"mu": "high"}, "mu must be a nonnegative number or 'auto', got 'high'"),
    (Box, {"hard": 1}, "hard must be True or False, got 1"),
    (Box, {"method": "exact"}, "method must be one of 'auto', 'cuts', 'points', 'guaranteed', got 'exact'"),
    (Box, {"method": "kernelised"}, "method must be one of"),
    (Box, {"within": "rows"}, "within must be 'data'"),
    (Box, {"within": {0: (5, 6)}}, "within leaves nothing of the region.*column 0"),
    (Box, {"within": 3}, "within must be 'data', a dict"),
    (Box, {"points": 0}, "points must be a whole number of at least 1 and at most 1000000, got 0"),
    (Box, {"points": "many"}, "points must be a whole number from 1 to 1000000, 'grid' or an array"),
    (Box, {"points": [[1.0, 2.0, 3.0]]}, r"points has shape \(1, 3\)"),
    (Box, {"points": True}, "points must be a whole number from 1 to 1000000"),
    (Box, {"points": 2.5}, "points"),
    (Box, {"max_cells": 0}, "max_cells must be a whole number of at least 1 and at most 1000000, got 0"),
    (Box, {"max_cells": 10.5}, "max_cells must be a whole number"),
    (Polyhedron, {"B": [[1.0, 0.0, 0.0]]}, r"B has shape \(1, 3\) and d \(1,\); expected \(m, 2\)"),
    (Polyhedron, {"d": [1.0, 2.0]}, r"B has shape \(1, 2\) and d \(2,\)"),
    (Polyhedron, {"B": [["a", "b"]]}, "B must be an array of numbers"),
    (Polyhedron, {"B": [[np.nan, 0.0]]}, "contains NaN or infinity"),
    (Polyhedron, {"B": np.empty((0, 2)), "d": []}, "m >= 1"),
    (Polyhedron, {"B": [[[1.0, 0.0]], [[0.0, 1.0]]], "d": [[1.0]]}, "2 matrices B and 1 vectors d"),
    (Polyhedron, {"B": [[1.0, 0.0], [-1.0, 0.0]], "d": [0.0, -1.0]}, "is empty"),
    (Polyhedron, {"mu_residual": -1.0}, "mu_residual must be a nonnegative number"),
    (Polyhedron, {"mu_residual": 1.0, "hard": True}, "Choose one"),
    (Polyhedron, {"within": {0: (2, 3)}}, "within leaves nothing of the region"),
    (Polyhedron, {"B": "B"}, "B"),
    (Polyhedron, {"label": [1, 1, 0]}, "there are 1 regions and 3 labels"),
    (Ellipsoid, {"centre": [0.0]}, r"centre has shape \(1,\)"),
    (Ellipsoid, {"centre": [0.0, np.nan]}, "centre contains NaN"),
    (Ellipsoid, {"centre": 1.0}, "centre"),
    (Ellipsoid, {"shape": -1.0}, "shape must be a radius, 2 semi-axes"),
    (Ellipsoid, {"shape": [1.0, 2.0, 3.0]}, "shape must be a radius, 2 semi-axes"),
    (Ellipsoid, {"shape": np.ones((3, 2))}, r"shape has shape \(3, 2\), expected \(2, k\)"),
    (Ellipsoid, {"shape": "round"}, "shape must be numbers"),
    (Ellipsoid, {"shape": np.full((2, 2), np.inf)}, "finite numbers"),
    (Ellipsoid, {"label": "x"}, "label 'x' is not among the classes"),
    (Ellipsoid, {"label": [1]}, r"label \[1\] is not among the classes"),
]


@pytest.mark.parametrize("kernel", ["linear", RBF(1.0)], ids=["linear", "rbf"])
@pytest.mark.parametrize(("kind", "arguments", "message"), BAD)
def test_bad_arguments_are_named(plane, kind, arguments, message, kernel):
    base = {Box: BOX, Polyhedron: POLY, Ellipsoid: BALL}[kind]
    with pytest.raises(InvalidInput, match=f"(?s)block '{kind.__name__.lower()}'.*{message}"):
        PriorSVC(kind(**{**base, **arguments}), kernel=kernel).fit(*plane)


@pytest.mark.filterwarnings("ignore::priorsvm.errors.CollapsedModel")
@pytest.mark.parametrize(
    ("block", "message"),
    [
        (
            Box({0: (0, None)}, 1, within=None, holds="everywhere"),
            r"unbounded in column 0 \(from 0 to inf\).*range from.*within='data'",
        ),
        (Polyhedron([[1.0, 0.0]], [1.0], 1, holds="everywhere"), "unbounded in column 0.*within='data'"),
        (
            Polyhedron(*TRIANGLE_ROWS, 1, mu_residual=1.0, holds="everywhere"),
            "mu_residual requires a linear model",
        ),
        (
            Box({0: (0, 1)}, 1, method="points", points=[[9.0, 9.0]]),
            "none of the points given lies in the region",
        ),
    ],
)
def test_what_a_kernel_model_cannot_do(plane, block, message):
    with pytest.raises(InvalidInput, match=message):
        PriorSVC(block, kernel=RBF(1.0)).fit(*plane)
    PriorSVC(block).fit(*plane)  # a linear model can


@pytest.mark.parametrize(
    ("block", "message"),
    [
        (Box([], 1, holds="everywhere"), "empty list"),
        (Box({0: (1, 2), "a": (5, 6)}, 1, holds="everywhere"), "bounds contains column 'a' twice"),
        (
            Box({0: (1, 2)}, 1, within={1: (0, 1), "b": (0, 2)}, holds="everywhere"),
            "within contains column 'b' twice",
        ),
        (Monotone({0: 1, "a": -1}, holds="everywhere"), "features contains column 'a' twice"),
        (Polyhedron([np.eye(3), np.eye(3)], 3, 1, holds="everywhere"), "d must be a list too"),
        (Rule("x0 >= 1", 1, holds="everywhere"), "there is no column 'x0'"),
        (Rule("a >= 1", 1, columns=["a", "b"], holds="everywhere"), "columns must be 3 names"),
    ],
)
def test_slips_are_named(data, block, message):
    X, y = data
    with pytest.raises(InvalidInput, match=message):
        PriorSVC(block).fit(pd.DataFrame(X, columns=["a", "b", "c"]), y)
