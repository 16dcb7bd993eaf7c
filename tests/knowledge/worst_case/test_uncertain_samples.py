"""UncertainSamples: against one's own cones, sampled ellipsoids, drawn errors and other blocks."""

import itertools
import pickle
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import NamedTuple

import cvxpy as cp
import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm
from sklearn.base import clone
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV, KFold

from priorsvm import (
    RBF,
    Box,
    ClassCosts,
    Ellipsoid,
    Linear,
    NegativeDistance,
    Polynomial,
    PriorSVC,
    SampleCosts,
    Shift,
    Trajectories,
    UncertainSamples,
    VirtualSamples,
    VirtualSupportVectors,
    check_knowledge,
)
from priorsvm.errors import CollapsedModel, InvalidInput, MissingCapability

N = 40
GAMMA = norm.ppf(0.9)
WIDTH = 0.4
DIGITS = {"tol_gap_abs": 1e-11, "tol_gap_rel": 1e-11, "tol_feas": 1e-11}
FEWER = dict.fromkeys(DIGITS, 1e-10)  # as many as there are with the squared hinge
SHARP = {"solver": "CLARABEL", "solver_options": DIGITS}


@pytest.fixture(scope="module")
def few(data):
    return data[0][:N], data[1][:N]


@pytest.fixture(scope="module")
def factors():
    """One for each row: the directions of its errors, one standard deviation long."""
    return 0.2 * np.random.default_rng(5).normal(size=(N, 3, 3))


@pytest.fixture(scope="module")
def covariances(factors):
    return factors @ factors.swapaxes(1, 2)


def signs(y):
    return np.where(y == np.max(y), 1.0, -1.0)


class Own(NamedTuple):
    """The optimum of a problem of one's own, and its objective at any w and b."""

    value: float
    w: np.ndarray
    at: Callable


def own_socp(X, y, A, gamma=GAMMA, C=1.0, norm="l2", loss="hinge", width=1.0, cost=1.0, rho=1.0):
    """y f(x) - gamma |A'w| >= rho - xi, written out row by row."""
    n, d = X.shape
    w, b, xi = cp.Variable(d), cp.Variable(), cp.Variable(n, nonneg=True)
    rho, cost, s = np.broadcast_to(rho, n), C * np.broadcast_to(cost, n), signs(y)
    inner = cp.multiply(np.broadcast_to(width, d), w)
    penalty = xi if loss == "hinge" else cp.square(xi)
    objective = 0.5 * cp.sum_squares(inner) if norm == "l2" else cp.norm1(inner)
    constraints = []
    for i in range(n):
        fall = gamma * cp.norm(A[i].T @ w) if np.any(A[i]) else 0.0
        constraints.append(s[i] * (X[i] @ w + b) - fall >= rho[i] - xi[i])
    problem = cp.Problem(cp.Minimize(objective + cost @ penalty), constraints)
    problem.solve(solver="CLARABEL", **(DIGITS if loss == "hinge" else FEWER))

    def at(w, b):
        short = rho - s * (X @ w + b) + gamma * np.linalg.norm(np.asarray(A).swapaxes(1, 2) @ w, axis=1)
        size = 0.5 * np.sum((width * w) ** 2) if norm == "l2" else np.abs(width * w).sum()
        return size + cost @ np.maximum(short, 0.0) ** (1 if loss == "hinge" else 2)

    return Own(problem.value, w.value, at)


def is_own(model, own, atol=1e-5, k=0):
    """The model's w and b are as good in a problem of one's own as its optimum.

    To that w is as close as the square root of this; several b can be as good.
    """
    w, b = model.coef_[k], model.intercept_[k]
    assert own.at(w, b) == pytest.approx(own.value, rel=1e-10)
    assert np.ravel(model.objective_)[k] == pytest.approx(own.value, rel=1e-10)
    np.testing.assert_allclose(w, own.w, rtol=0, atol=atol)


def ball(n, k, seed, surface=False):
    """Points of the unit ball, half of them on its surface, or all."""
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(n, k))
    z /= np.linalg.norm(z, axis=1, keepdims=True)
    if not surface:
        z[n // 2 :] *= rng.uniform(size=(n - n // 2, 1)) ** (1 / k)
    return z


def certificate(model, X, y, A, gamma=GAMMA, k=0):
    """The lowest y f of each ellipsoid of a linear machine."""
    w, b = model.coef_[k], model.intercept_[k]
    return signs(y) * (X @ w + b) - gamma * np.linalg.norm(A.swapaxes(1, 2) @ w, axis=1)


def cones(model):
    """How many cones, or pairs of inequalities, there are of each size."""
    found = {}
    for constraint in model.problem.constraints:
        if constraint.label.startswith("uncertain_samples.cone"):
            if isinstance(constraint, cp.SOC):
                found[constraint.args[1].shape[0]] = constraint.args[0].size
            else:
                found[1] = constraint.args[0].size // 2
    return found


# ---------------------------------------------------------------------- what it is


@pytest.mark.parametrize(
    "nothing",
    [0.0, {}, {1: 0.0}, np.zeros(3), np.zeros((3, 3)), np.zeros((N, 3)), np.zeros((N, 3, 3))],
    ids=["number", "empty", "dict", "d", "dd", "nd", "ndd"],
)
def test_rows_without_error_bars_are_the_plain_machine(few, new, kernel, svc, nothing):
    X, y = few
    model = PriorSVC(UncertainSamples(nothing), kernel=kernel).fit(X, y)
    plain = PriorSVC(kernel=kernel, solver="CLARABEL").fit(X, y)
    np.testing.assert_array_equal(model.decision_function(new), plain.decision_function(new))
    np.testing.assert_allclose(model.decision_function(new), svc(X, y, new), rtol=0, atol=1e-6)


@pytest.mark.parametrize("shape", [(3, 2), (N, 3, 1)])
def test_factors_of_zeros_are_the_plain_machine(few, new, shape):
    model = PriorSVC(UncertainSamples(factor=np.zeros(shape))).fit(*few)
    plain = PriorSVC(solver="CLARABEL").fit(*few)
    np.testing.assert_array_equal(model.decision_function(new), plain.decision_function(new))


def test_even_odds_are_the_machine_on_the_means(few, new, kernel, covariances):
    model = PriorSVC(UncertainSamples(covariances, confidence=0.5), kernel=kernel).fit(*few)
    plain = PriorSVC(kernel=kernel, solver="CLARABEL").fit(*few)
    np.testing.assert_array_equal(model.decision_function(new), plain.decision_function(new))
    assert model.verify().holds


def test_even_odds_of_any_distribution_are_one_standard_deviation(few, factors, covariances):
    model = PriorSVC(UncertainSamples(covariances, 0.5, "any"), **SHARP).fit(*few)
    is_own(model, own_socp(*few, factors, gamma=1.0))


def test_confidence_in_standard_deviations():
    assert UncertainSamples(1.0, 0.975).radius == pytest.approx(1.959963984540054, rel=1e-14)
    assert UncertainSamples(1.0, 0.8, "any").radius == pytest.approx(2.0, rel=1e-14)
    for k in (0.5, 0.6, 0.9, 0.999, 1 - 1e-9):
        assert UncertainSamples(1.0, k).radius == norm.ppf(k)
        assert UncertainSamples(1.0, k, "any").radius == pytest.approx(np.sqrt(k / (1 - k)), rel=1e-14)


@pytest.mark.slow
@pytest.mark.parametrize("scale", [None, "standard", "minmax"])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("kind", ["l2", "l1"])
def test_own_second_order_cones(few, factors, kind, loss, scale):
    stretch, shift = np.array([1.0, 10.0, 0.2]), np.array([0.0, 5.0, -1.0])
    X, y, A = few[0] * stretch + shift, few[1], factors * stretch[:, None]
    S = A @ A.swapaxes(1, 2)
    machine = {"C": 1.5, "norm": kind, "loss": loss}
    digits = DIGITS if loss == "hinge" else FEWER
    model = PriorSVC(UncertainSamples(S), scale=scale, solver_options=digits, **machine).fit(X, y)
    width = {None: 1.0, "standard": X.std(axis=0), "minmax": np.ptp(X, axis=0)}[scale]
    is_own(model, own_socp(X, y, A, width=width, **machine), atol=1e-5 if loss == "hinge" else 3e-8)


@pytest.mark.parametrize("distribution", ["gaussian", "any"])
@pytest.mark.parametrize("confidence", [0.6, 0.9, 0.99])
def test_own_cones_of_every_confidence(few, factors, covariances, confidence, distribution):
    gamma = norm.ppf(confidence) if distribution == "gaussian" else np.sqrt(confidence / (1 - confidence))
    block = UncertainSamples(0.01 * covariances, confidence, distribution)
    is_own(PriorSVC(block, **SHARP).fit(*few), own_socp(*few, 0.1 * factors, gamma))


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_own_cones_with_costs_and_margins(few, factors, covariances, loss):
    X, y = few
    rng = np.random.default_rng(6)
    weight = np.where(rng.uniform(size=N) < 0.2, 0.0, rng.uniform(0.2, 2.0, size=N))
    margins = rng.uniform(0.5, 1.5, size=N)
    prior = ClassCosts({1: 2.5}) + SampleCosts(margins=margins) + UncertainSamples(covariances)
    digits = DIGITS if loss == "hinge" else FEWER
    model = PriorSVC(prior, loss=loss, solver_options=digits).fit(X, y, sample_weight=weight)
    cost = weight * np.where(y == 1, 2.5, 1.0)
    is_own(model, own_socp(X, y, factors, loss=loss, cost=cost, rho=margins))
    assert cones(model) == {3: np.count_nonzero(weight)}


def test_a_weight_of_two_is_the_row_twice(few, covariances):
    X, y = few
    weight = np.tile([1, 2, 0, 3], N // 4)
    once = PriorSVC(UncertainSamples(covariances), **SHARP).fit(X, y, sample_weight=weight)
    rows = np.repeat(np.arange(N), weight)
    repeated = PriorSVC(UncertainSamples(covariances[rows]), **SHARP).fit(X[rows], y[rows])
    np.testing.assert_allclose(once.coef_, repeated.coef_, rtol=0, atol=1e-7)


def own_norm(X, y, A, C=1.0):
    """One covariance for all rows: a single norm, by which every margin is moved."""
    w, b, xi, t = cp.Variable(X.shape[1]), cp.Variable(), cp.Variable(len(y), nonneg=True), cp.Variable()
    fits = cp.multiply(signs(y), X @ w + b) >= 1 + GAMMA * t - xi
    problem = cp.Problem(cp.Minimize(0.5 * cp.sum_squares(w) + C * cp.sum(xi)), [fits, cp.norm(A.T @ w) <= t])
    problem.solve(solver="CLARABEL", **DIGITS)

    def at(w, b):
        short = 1 + GAMMA * np.linalg.norm(A.T @ w) - signs(y) * (X @ w + b)
        return 0.5 * w @ w + C * np.maximum(short, 0.0).sum()

    return Own(problem.value, w.value, at)


def test_a_common_covariance_of_all_directions_moves_the_margin(few):
    model = PriorSVC(UncertainSamples(0.3), C=2.0, **SHARP).fit(*few)
    is_own(model, own_norm(*few, 0.3 * np.eye(3), C=2.0))


# ---------------------------------------------------------------------- how it is given

NAMES = ["dose", "age", "weight"]
BARS = np.array([0.3, 0.0, 0.2])
MATRIX = np.array([[0.09, 0.03, 0.0], [0.03, 0.06, -0.03], [0.0, -0.03, 0.08]])
ROOT = np.linalg.cholesky(MATRIX)
WAYS = {
    "number": (0.3, {"covariance": 0.3}),
    "number to fit": (0.3, {"fit": 0.3}),
    "numbers": (0.3, {"covariance": np.full(3, 0.3)}),
    "all columns": (0.3, {"covariance": dict.fromkeys(NAMES, 0.3)}),
    "function to a number": (0.3, {"covariance": lambda X, y: 0.3}),
    "round factor": (0.3, {"factor": 0.3 * np.eye(3)}),
    "list": (BARS, {"covariance": BARS.tolist()}),
    "some columns": (BARS, {"covariance": {"dose": 0.3, "weight": 0.2}}),
    "columns by index": (BARS, {"covariance": {0: 0.3, 2: 0.2}}),
    "diagonal": (BARS, {"covariance": np.diag(BARS**2)}),
    "bars of rows": (BARS, {"covariance": np.tile(BARS, (N, 1))}),
    "bars of rows to fit": (BARS, {"fit": np.tile(BARS, (N, 1))}),
    "function to bars": (BARS, {"covariance": lambda X, y: np.tile(BARS, (len(X), 1))}),
    "thin factor": (BARS, {"factor": np.diag(BARS)[:, [0, 2]]}),
    "matrix": (MATRIX, {"covariance": MATRIX}),
    "matrix as lists": (MATRIX, {"covariance": MATRIX.tolist()}),
    "matrix as a frame": (MATRIX, {"covariance": pd.DataFrame(MATRIX, NAMES, NAMES)}),
    "matrices of rows": (MATRIX, {"covariance": np.tile(MATRIX, (N, 1, 1))}),
    "matrices of rows to fit": (MATRIX, {"fit": np.tile(MATRIX, (N, 1, 1))}),
    "function to matrices": (MATRIX, {"covariance": lambda X, y: np.tile(MATRIX, (len(y), 1, 1))}),
    "factor": (MATRIX, {"factor": ROOT}),
    "wide factor": (MATRIX, {"factor": np.hstack([0.6 * ROOT, 0.8 * ROOT])}),
    "factors of rows": (MATRIX, {"factor": np.tile(ROOT, (N, 1, 1))}),
    "factors of rows to fit": (MATRIX, {"fit factor": np.tile(ROOT, (N, 1, 1))}),
    "function to a factor": (MATRIX, {"factor": lambda X, y: ROOT}),
}


@pytest.fixture(scope="module")
def meant(few):
    return {0: own_norm(*few, 0.3 * np.eye(3)), 1: own_norm(*few, np.diag(BARS)), 2: own_norm(*few, ROOT)}


@pytest.mark.parametrize("way", WAYS)
def test_every_way_to_say_it_means_the_same(few, meant, way):
    X, y = few
    value, given = WAYS[way]
    given = dict(given)
    rows = {}
    if "fit" in given:
        rows["uncertain_samples__covariance"] = given.pop("fit")
    if "fit factor" in given:
        rows["uncertain_samples__factor"] = given.pop("fit factor")
    frame = pd.DataFrame(X, columns=NAMES)
    model = PriorSVC(UncertainSamples(**given), **SHARP).fit(frame, y, **rows)
    is_own(model, meant[np.ndim(value)])
    assert sum(cones(model).values()) == 1


@pytest.mark.parametrize(
    "given",
    [
        pd.Series([0.2, 0.3, 0.0], index=["weight", "dose", "age"]),
        pd.DataFrame(np.tile([0.2, 0.3, 0.0], (N, 1)), columns=["weight", "dose", "age"]),
        pd.DataFrame(
            np.diag([0.04, 0.09, 0.0]), index=["weight", "dose", "age"], columns=["weight", "dose", "age"]
        ),
    ],
    ids=["series", "bars of rows", "matrix"],
)
def test_columns_in_another_order_are_taken_by_name_or_refused(few, meant, given):
    frame = pd.DataFrame(few[0], columns=NAMES)
    with suppress(InvalidInput):
        is_own(PriorSVC(UncertainSamples(given), **SHARP).fit(frame, few[1]), meant[1])


def test_functions_see_rows_and_labels(few):
    X, y = few
    words = np.where(y == 1, "ill", "well")

    def by_class(rows, labels):
        np.testing.assert_array_equal(rows, X)
        return 0.1 + 0.3 * np.outer(labels == "ill", [1.0, 1.0, 0.0]) * np.abs(rows[:, :1])

    model = PriorSVC(UncertainSamples(by_class), **SHARP).fit(X, words)
    bars = by_class(X, words)
    turned = np.where(words == "ill", 0, 1)  # +1 is the second class in order, "well"
    is_own(model, own_socp(X, turned, np.array([np.diag(bar) for bar in bars])))


def test_what_is_given_to_fit_comes_before_what_the_block_was_made_with(few, covariances):
    replaced = PriorSVC(UncertainSamples(7.0)).fit(*few, uncertain_samples__covariance=covariances)
    np.testing.assert_array_equal(replaced.coef_, PriorSVC(UncertainSamples(covariances)).fit(*few).coef_)
    assert replaced.prior.covariance == 7.0


# ---------------------------------------------------------------------- ranks, units, sizes


@pytest.mark.parametrize("rank", [1, 2])
def test_covariances_without_full_rank(few, factors, rank):
    A = factors[:, :, :rank]
    own = own_socp(*few, A)
    twice = np.concatenate([0.6 * A, -0.8 * A], axis=2)
    given = [{"covariance": A @ A.swapaxes(1, 2)}, {"factor": A}, {"factor": twice}]
    for how in given:
        model = PriorSVC(UncertainSamples(**how), **SHARP).fit(*few)
        is_own(model, own)
        assert cones(model) == {rank: N}


def test_rows_of_every_rank_side_by_side(few, factors):
    A = factors.copy()
    for i in range(N):
        A[i, :, i % 4 :] = 0.0
    model = PriorSVC(UncertainSamples(A @ A.swapaxes(1, 2)), **SHARP).fit(*few)
    is_own(model, own_socp(*few, A))
    assert cones(model) == {1: 10, 2: 10, 3: 10}
    assert model.verify()["uncertain_samples"].checked == 30


def test_columns_that_depend_on_each_other(few):
    """A sum among the columns: no covariance of them has full rank, and none is exactly singular."""
    X, y = few
    X = np.column_stack([X, X @ [1.0, 0.3, -0.7]])
    A = np.random.default_rng(7).normal(size=(N, 3, 3)) * 0.2
    A = np.concatenate([A, np.einsum("nij,i->nj", A, [1.0, 0.3, -0.7])[:, None]], axis=1)
    model = PriorSVC(UncertainSamples(A @ A.swapaxes(1, 2)), **SHARP).fit(X, y)
    assert cones(model) == {3: N}
    is_own(model, own_socp(X, y, A))


@pytest.mark.parametrize("rank", [2, 3])
@pytest.mark.parametrize("how", ["covariance", "factor"])
def test_units_are_nothing(few, new, factors, how, rank):
    X, y = few
    A, unit = factors[:, :, :rank], np.array([1e-6, 1.0, 1e6])

    def fitted(u):
        given = A * u[:, None]
        block = (
            UncertainSamples(factor=given)
            if how == "factor"
            else UncertainSamples(given @ given.swapaxes(1, 2))
        )
        return PriorSVC(block, scale="standard", **SHARP).fit(X * u, y)

    plain, other = fitted(np.ones(3)), fitted(unit)
    assert cones(other) == cones(plain) == {rank: N}
    np.testing.assert_allclose(
        other.decision_function(new * unit), plain.decision_function(new), rtol=0, atol=1e-7
    )


def test_only_rows_with_error_bars_have_cones(few, factors, covariances):
    some = np.arange(N) % 3 == 0
    S = np.where(some[:, None, None], covariances, 0.0)
    model = PriorSVC(UncertainSamples(S), **SHARP).fit(*few)
    is_own(model, own_socp(*few, np.where(some[:, None, None], factors, 0.0)))
    assert cones(model) == {3: some.sum()}
    [margin] = [c for c in model.problem.constraints if c.label == "uncertain_samples.margin"]
    assert margin.size == some.sum()


def test_rows_of_one_covariance_share_a_cone(few, covariances):
    S = covariances[np.arange(N) % 5]
    model = PriorSVC(UncertainSamples(S)).fit(*few)
    assert cones(model) == {3: 5}
    assert cones(PriorSVC(UncertainSamples(covariances[0])).fit(*few)) == {3: 1}
    assert cones(PriorSVC(UncertainSamples(0.2)).fit(*few)) == {3: 1}


def test_doubt_is_never_free(few):
    values = [PriorSVC(UncertainSamples(bar)).fit(*few).objective_ for bar in (0.0, 0.1, 0.2, 0.4)]
    assert (np.diff(values) > 0.1).all()


# ---------------------------------------------------------------------- what it promises


def test_no_sampled_point_of_an_ellipsoid_is_worse_than_it_says(few, factors, covariances):
    X, y = few
    model = PriorSVC(UncertainSamples(covariances), **SHARP).fit(X, y)
    sure, z = certificate(model, X, y, factors), GAMMA * ball(10_000, 3, 0)
    for i in range(N):
        values = signs(y)[i] * model.decision_function(X[i] + z @ factors[i].T)
        assert sure[i] - 1e-12 <= values.min() <= sure[i] + 0.02


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_the_worst_points_found_are_as_bad_as_it_says(few, factors, rank):
    X, y = few
    A = factors[:, :, :rank]
    model = PriorSVC(UncertainSamples(factor=A), **SHARP).fit(X, y)
    worst = model.findings_["uncertain_samples"]
    sure = certificate(model, X, y, A)[worst.rows]
    values = signs(y)[worst.rows] * model.decision_function(worst.points)
    np.testing.assert_allclose(values, sure, rtol=0, atol=1e-10)
    for i, point in zip(worst.rows, worst.points, strict=True):
        z = np.linalg.pinv(A[i]) @ (point - X[i])
        np.testing.assert_allclose(X[i] + A[i] @ z, point, rtol=0, atol=1e-12)
        assert np.linalg.norm(z) <= GAMMA * (1 + 1e-9)
        if np.linalg.norm(A[i].T @ model.coef_[0]) > 1e-6:
            assert np.linalg.norm(z) == pytest.approx(GAMMA, rel=1e-9)
    rows = len(np.unique(worst.rows))
    assert str(worst) == f"{rows} rows held at {len(worst.rows)} worst points"


def test_w_is_a_sum_of_worst_points_in_the_units_of_the_machine(few, factors):
    X, y = few
    stretch = np.array([1.0, 10.0, 0.1])
    model = PriorSVC(UncertainSamples(factor=factors * stretch[:, None]), scale="standard")
    model.fit(X * stretch + 3.0, y)
    worst = model.findings_["uncertain_samples"]
    middle, width = X.mean(axis=0) * stretch + 3.0, X.std(axis=0) * stretch
    a = worst.weights * signs(y)[worst.rows]
    found = a @ ((worst.points - middle) / width)
    np.testing.assert_allclose(found, model.coef_[0] * width, rtol=0, atol=1e-8)


def test_the_worst_points_are_those_whose_margin_is_not_exceeded(few, factors, covariances):
    X, y = few
    model = PriorSVC(UncertainSamples(covariances), **SHARP).fit(X, y)
    held = np.zeros(N, bool)
    held[model.findings_["uncertain_samples"].rows] = True
    sure = certificate(model, X, y, factors)
    assert sure[held].max() < 1 + 1e-6
    assert sure[~held].min() > 1 - 1e-6
    assert 0 < held.sum() < N


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("which", ["all", "half", "common", "shared", "thin", "line"])
def test_w_is_a_sum_of_worst_points(few, factors, which, loss):
    X, y = few
    A = {
        "all": factors,
        "half": factors * (np.arange(N) % 2)[:, None, None],
        "common": factors[0],
        "shared": factors[np.arange(N) % 3],
        "thin": factors[:, :, :2],
        "line": factors[:, :, :1],
    }[which]
    model = PriorSVC(UncertainSamples(factor=A), C=2.0, loss=loss).fit(X, y)
    worst = model.findings_["uncertain_samples"]
    a = worst.weights * signs(y)[worst.rows]
    np.testing.assert_allclose(a @ worst.points, model.coef_[0], rtol=0, atol=1e-8)
    assert a.sum() == pytest.approx(0.0, abs=1e-8)
    if loss == "hinge":
        assert np.bincount(worst.rows, worst.weights).max() < 2.0 + 1e-8


def test_w_is_a_sum_of_worst_points_where_a_direction_is_given_up(few):
    X, y = few
    model = PriorSVC(UncertainSamples({1: 2.0}), **SHARP).fit(X, y)
    assert abs(model.coef_[0, 1]) < 1e-9
    worst = model.findings_["uncertain_samples"]
    a = worst.weights * signs(y)[worst.rows]
    np.testing.assert_allclose(a @ worst.points, model.coef_[0], rtol=0, atol=1e-8)
    assert (np.abs(worst.points - X[worst.rows]) <= [1e-12, 2.0 * GAMMA + 1e-9, 1e-12]).all()


def test_the_multipliers_of_the_cones_make_up_w(few):
    """Stationarity as the problem states it, without the worst points."""
    X, y = few
    bars = np.random.default_rng(13).uniform(0.1, 0.5, size=(N, 3))
    model = PriorSVC(UncertainSamples(bars), **SHARP).fit(X, y)
    duals = {c.label: c.dual_value for c in model.problem.constraints}
    a = duals["svm.margin"] + duals["uncertain_samples.margin"]
    length, along = duals["uncertain_samples.cone"]
    np.testing.assert_allclose(length, GAMMA * duals["uncertain_samples.margin"], rtol=0, atol=1e-9)
    assert (np.linalg.norm(along, axis=0) - length).max() < 1e-9
    w = (a * signs(y)) @ X - np.sum(bars * np.abs(along.T) * np.sign(model.coef_[0]), axis=0)
    np.testing.assert_allclose(w, model.coef_[0], rtol=0, atol=1e-9)
    assert (a * signs(y)).sum() == pytest.approx(0.0, abs=1e-9)


def test_rows_that_hold_f_up_are_its_support(few, covariances):
    model = PriorSVC(UncertainSamples(covariances), **SHARP).fit(*few)
    np.testing.assert_array_equal(model.support_, np.unique(model.findings_["uncertain_samples"].rows))


def test_drawn_errors_break_the_margin_as_often_as_agreed(few, factors, covariances):
    X, y = few
    model = PriorSVC(UncertainSamples(covariances, 0.8), **SHARP).fit(X, y)
    gamma, z = norm.ppf(0.8), np.random.default_rng(8).normal(size=(40_000, 3))
    asked = np.minimum(certificate(model, X, y, factors, gamma), 1.0)
    kept = np.array(
        [
            np.mean(signs(y)[i] * model.decision_function(X[i] + z @ factors[i].T) >= asked[i])
            for i in range(N)
        ]
    )
    held = model.findings_["uncertain_samples"].rows
    rounding = 4 * np.sqrt(0.8 * 0.2 / len(z))
    np.testing.assert_allclose(kept[held], 0.8, rtol=0, atol=rounding)
    assert kept.min() > 0.8 - rounding
    assert kept.max() > 0.9


def nasty(p, A, along):
    """Atoms and their odds, of mean 0 and covariance A A': one of odds p far out against ``along``."""
    q, _ = np.linalg.qr(np.column_stack([A.T @ along, np.eye(3)[:, :2]]))
    q[:, 0] *= np.sign(q[:, 0] @ (A.T @ along))
    far = [(-np.sqrt((1 - p) / p), p), (np.sqrt(p / (1 - p)), 1 - p)]
    atoms = [
        ((q * [t, u, v]).sum(axis=1) @ A.T, odds / 4)
        for (t, odds), u, v in itertools.product(far, (-1, 1), (-1, 1))
    ]
    points, odds = (np.array(part) for part in zip(*atoms, strict=True))
    np.testing.assert_allclose(odds @ points, 0.0, rtol=0, atol=1e-12)
    np.testing.assert_allclose((points * odds[:, None]).T @ points, A @ A.T, rtol=0, atol=1e-12)
    return points, odds


@pytest.mark.slow
def test_no_distribution_breaks_the_margin_more_often_than_agreed(few, factors, covariances):
    X, y = few
    lowest = {}
    for distribution in ("any", "gaussian"):
        block = UncertainSamples(0.2 * covariances, 0.8, distribution)
        model = PriorSVC(block, **SHARP).fit(X, y)
        A = np.sqrt(0.2) * factors
        asked = np.minimum(certificate(model, X, y, A, block.radius), 1.0)
        lowest[distribution] = 1.0
        for i, p in itertools.product(range(N), (0.05, 0.19, 0.2, 0.21, 0.3, 0.5, 0.7)):
            s = signs(y)[i]
            points, odds = nasty(p, A[i], s * model.coef_[0])
            kept = odds @ (s * model.decision_function(X[i] + points) >= asked[i] - 1e-9)
            lowest[distribution] = min(lowest[distribution], kept)
    assert lowest["any"] > 0.8 - 1e-9
    assert lowest["gaussian"] < 0.6


# ---------------------------------------------------------------------- other blocks, other solvers


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("kind", ["l2", "l1"])
def test_one_direction_is_a_shift_along_it(few, kind, loss):
    u = np.array([0.3, -0.1, 0.2])
    machine = {"norm": kind, "loss": loss, **SHARP}
    model = PriorSVC(UncertainSamples(factor=u[:, None]), **machine).fit(*few)
    moved = PriorSVC(Trajectories(Shift(GAMMA * u), degree=1), **machine).fit(*few)
    assert model.objective_ == pytest.approx(moved.objective_, rel=1e-11)
    np.testing.assert_allclose(model.coef_, moved.coef_, rtol=0, atol=1e-7)
    np.testing.assert_allclose(model.intercept_, moved.intercept_, rtol=0, atol=1e-7)


@pytest.fixture(scope="module")
def apart():
    """Two classes with room between them."""
    rng = np.random.default_rng(9)
    y = np.repeat([0, 1], 6)
    return np.array([[0.0, 0.0], [3.0, 2.0]])[y] + 0.5 * rng.normal(size=(12, 2)), y


def test_a_hard_margin_is_an_ellipsoid_around_every_row(apart):
    X, y = apart
    A = 0.25 * np.random.default_rng(10).normal(size=(12, 2, 2))
    model = PriorSVC(UncertainSamples(factor=A), C=1e5, **SHARP).fit(X, y)
    regions = sum(
        (Ellipsoid(X[i], GAMMA * A[i], y[i], hard=True).named(f"row{i}") for i in range(12)), start=0
    )
    hard = PriorSVC(regions, C=1e5, **SHARP).fit(X, y)
    assert certificate(model, X, y, A).min() == pytest.approx(1.0, abs=1e-7)
    np.testing.assert_allclose(model.coef_, hard.coef_, rtol=0, atol=1e-6)
    np.testing.assert_allclose(model.intercept_, hard.intercept_, rtol=0, atol=1e-6)


def test_a_hard_margin_in_one_column_is_a_box_around_every_row(apart):
    X, y = apart[0][:, :1], apart[1]
    bars = np.random.default_rng(11).uniform(0.05, 0.2, size=12)
    model = PriorSVC(UncertainSamples(bars[:, None]), C=1e5, **SHARP).fit(X, y)
    boxes = sum(
        (
            Box({0: (float(x - GAMMA * bar), float(x + GAMMA * bar))}, label, hard=True).named(f"row{i}")
            for i, (x, bar, label) in enumerate(zip(X[:, 0], bars, y, strict=True))
        ),
        start=0,
    )
    hard = PriorSVC(boxes, C=1e5, **SHARP).fit(X, y)
    lower, upper = (X[y == 0, 0] + GAMMA * bars[y == 0]).max(), (X[y == 1, 0] - GAMMA * bars[y == 1]).min()
    for found in (model, hard):
        assert found.coef_[0, 0] == pytest.approx(2 / (upper - lower), rel=1e-7)
        assert -found.intercept_[0] / found.coef_[0, 0] == pytest.approx((upper + lower) / 2, rel=1e-7)


def test_virtual_support_vectors_are_made_of_the_rows_that_hold_f_up(few, covariances):
    X, y = few
    block, copies = UncertainSamples(covariances), VirtualSupportVectors(Shift([0.1, 0.0, 0.0]))
    held = np.unique(PriorSVC(block).fit(X, y).findings_["uncertain_samples"].rows)
    assert 0 < len(held) < N
    model = PriorSVC(block + copies).fit(X, y)
    assert [entry["rows"] for entry in model.history_] == [N, 3 * len(held)]
    fewer = PriorSVC(UncertainSamples(covariances[held]) + VirtualSamples(Shift([0.1, 0.0, 0.0])))
    np.testing.assert_allclose(model.coef_, fewer.fit(X[held], y[held]).coef_, rtol=0, atol=1e-5)


@pytest.mark.parametrize(("solver", "close"), [("ECOS", 1e-8), ("SCS", 1e-6), ("QOCO", 1e-8)])
@pytest.mark.parametrize("machine", ["linear", "rbf", "guarantee"])
def test_solvers_agree(few, new, covariances, machine, solver, close):
    kernel = "linear" if machine == "linear" else RBF(WIDTH)
    sure = machine == "guarantee"
    block = UncertainSamples(covariances * (0.01 if sure else 1.0), guarantee=sure)
    models = [PriorSVC(block, kernel=kernel, solver=s).fit(*few) for s in ("CLARABEL", solver)]
    ours, theirs = (m.decision_function(new) for m in models)
    assert models[1].objective_ == pytest.approx(models[0].objective_, rel=close)
    np.testing.assert_allclose(theirs, ours, rtol=0, atol=5e-5)


@pytest.mark.slow
def test_three_classes(three):
    X, y = three
    A = 0.15 * np.random.default_rng(12).normal(size=(60, 2, 2))
    model = PriorSVC(UncertainSamples(factor=A), **SHARP).fit(X, y)
    for k, name in enumerate("abc"):
        own = (y == name).astype(int)
        is_own(model, own_socp(X, own, A), k=k)
        worst = model.findings_[k]["uncertain_samples"]
        values = signs(own)[worst.rows] * model.decision_function(worst.points)[:, k]
        np.testing.assert_allclose(values, certificate(model, X, own, A, k=k)[worst.rows], rtol=0, atol=1e-10)
    assert model.verify().holds


def test_a_path_over_c_is_separate_fits(few, covariances):
    base = PriorSVC(UncertainSamples(covariances), **SHARP)
    for model, C in zip(base.fit_path(*few, {"C": [0.1, 1.0, 10.0]}), [0.1, 1.0, 10.0], strict=True):
        alone = PriorSVC(UncertainSamples(covariances), C=C, **SHARP).fit(*few)
        np.testing.assert_allclose(model.coef_, alone.coef_, rtol=0, atol=1e-6)


# ---------------------------------------------------------------------- kernel machines


def own_kernel(X, y, A, C=1.0, width=1.0, kind="l2", sure=False):
    """The same with explicit gradients of RBF functions over the rows, or with the norm of f."""
    Z, A, s = X / width, A / np.broadcast_to(width, X.shape[1])[:, None], signs(y)
    K = rbf_kernel(Z, gamma=WIDTH)
    size, vectors = np.linalg.eigh(K)
    assert size[0] > 1e-6
    if kind == "l2":  # coordinates in which the norm of f is their length
        theta = cp.Variable(len(y))
        weights, energy = (vectors / np.sqrt(size)) @ theta, 0.5 * cp.sum_squares(theta)
    else:
        weights = cp.Variable(len(y))
        energy = cp.norm1(weights)
    length = cp.norm((vectors * np.sqrt(size)).T @ weights)
    b, xi = cp.Variable(), cp.Variable(len(y), nonneg=True)
    constraints = []
    for i in range(len(y)):
        gradient = -2 * WIDTH * (Z[i] - Z) * K[i][:, None]
        if sure:
            r = GAMMA * np.linalg.norm(A[i], 2)
            fall = np.sqrt(2 - 2 * np.exp(-WIDTH * r**2)) * length
        else:
            fall = GAMMA * cp.norm((gradient @ A[i]).T @ weights)
        constraints.append(s[i] * (K[i] @ weights + b) - fall >= 1 - xi[i])
    problem = cp.Problem(cp.Minimize(energy + C * cp.sum(xi)), constraints)
    value = problem.solve(solver="CLARABEL", **FEWER)
    return value, lambda new: rbf_kernel(new / width, Z, gamma=WIDTH) @ weights.value + b.value


@pytest.mark.parametrize("kind", ["l2", "l1"])
@pytest.mark.parametrize("scale", [None, "standard"])
def test_own_gradients_of_rbf_functions(few, new, factors, scale, kind):
    X, y = few
    A = 0.5 * factors
    machine = {"kernel": RBF(WIDTH), "C": 2.0, "norm": kind, "scale": scale, "solver_options": FEWER}
    model = PriorSVC(UncertainSamples(factor=A), **machine).fit(X, y)
    value, f = own_kernel(X, y, A, 2.0, 1.0 if scale is None else X.std(axis=0), kind)
    assert model.objective_ == pytest.approx(value, rel=2e-10)
    np.testing.assert_allclose(model.decision_function(new), f(new), rtol=0, atol=1e-5)


@pytest.mark.filterwarnings("ignore:Solution may be inaccurate")  # of one's own, in its last digits
@pytest.mark.parametrize("kind", ["l2", "l1"])
@pytest.mark.parametrize("scale", [None, "standard"])
def test_own_guarantee_of_rbf_functions(few, new, factors, scale, kind):
    X, y = few
    A = 0.1 * factors
    machine = {"kernel": RBF(WIDTH), "C": 2.0, "norm": kind, "scale": scale, "solver_options": FEWER}
    model = PriorSVC(UncertainSamples(factor=A, guarantee=True), **machine).fit(X, y)
    value, f = own_kernel(X, y, A, 2.0, 1.0 if scale is None else X.std(axis=0), kind, sure=True)
    assert model.objective_ == pytest.approx(value, rel=2e-10)
    np.testing.assert_allclose(model.decision_function(new), f(new), rtol=0, atol=1e-5)


def test_a_guarantee_says_nothing_more_on_a_linear_machine(few, covariances):
    models = [PriorSVC(UncertainSamples(covariances, guarantee=g), **SHARP).fit(*few) for g in (True, False)]
    np.testing.assert_array_equal(models[0].coef_, models[1].coef_)


def test_a_linear_kernel_is_the_linear_machine(few, new, covariances):
    linear = PriorSVC(UncertainSamples(covariances), **SHARP).fit(*few)
    kernel = PriorSVC(UncertainSamples(covariances), kernel=Polynomial(1, 1.0), **SHARP).fit(*few)
    assert kernel.objective_ == pytest.approx(linear.objective_, rel=1e-10)
    np.testing.assert_allclose(
        kernel.decision_function(new), linear.decision_function(new), rtol=0, atol=2e-5
    )


@pytest.mark.slow
def test_the_first_order_is_right_to_second_order(few, factors):
    X, y = few
    angle, radius = np.linspace(0, 2 * np.pi, 2001), np.linspace(0.25, 1.0, 4)
    disc = np.concatenate([r * np.column_stack([np.cos(angle), np.sin(angle)]) for r in radius])
    errors = []
    for size in (0.2, 0.1, 0.05):
        A = size * factors[:, :, :2]
        model = PriorSVC(UncertainSamples(factor=A), kernel=RBF(WIDTH), **SHARP).fit(X, y)
        Z, weights = model.centres_, model.dual_coef_[0]
        largest = 0.0
        for i in range(N):
            gradient = -2 * WIDTH * ((X[i] - Z) * rbf_kernel(X[i][None], Z, gamma=WIDTH).T).T @ weights
            said = signs(y)[i] * model.decision_function(X[i][None])[0]
            said -= GAMMA * np.linalg.norm(A[i].T @ gradient)
            values = signs(y)[i] * model.decision_function(X[i] + GAMMA * disc @ A[i].T)
            largest = max(largest, abs(values.min() - said))
        errors.append(largest)
    assert errors[0] < 0.1
    assert errors[1] < 0.35 * errors[0]
    assert errors[2] < 0.35 * errors[1]


SURE = [RBF(WIDTH), Polynomial(2, 0.3, 1.0), RBF(WIDTH) + Linear(), 0.5 * Polynomial(3, 0.2, 1.0)]


def slacks(model):
    [xi] = [v for v in model.problem.variables() if v.name() == "xi"]
    return xi.value


@pytest.mark.parametrize("scale", [None, "minmax"])
@pytest.mark.parametrize("kernel", SURE, ids=repr)
def test_a_guarantee_holds_at_every_sampled_point(few, factors, kernel, scale):
    X, y = few
    A = (0.1 if scale is None else 0.05) * factors
    model = PriorSVC(UncertainSamples(factor=A, guarantee=True), kernel=kernel, scale=scale).fit(X, y)
    assert np.ptp(model.decision_function(X)) > 0.5
    z, asked = GAMMA * ball(1000, 3, 1), 1 - slacks(model)
    lowest = np.array([(signs(y)[i] * model.decision_function(X[i] + z @ A[i].T)).min() for i in range(N)])
    assert (lowest - asked).min() > -1e-7
    verdict = model.verify()["uncertain_samples"]
    assert (verdict.holds, verdict.proven, verdict.checked) == (True, True, N)
    assert -1e-7 < verdict.worst < 1e-6


# ---------------------------------------------------------------------- verify, report_, formulation


def test_verify_is_the_closed_form(few, factors, covariances):
    X, y = few
    model = PriorSVC(UncertainSamples(covariances)).fit(X, y)
    excess = certificate(model, X, y, factors) - (1 - slacks(model))
    verdict = model.verify()["uncertain_samples"]
    assert verdict.worst == pytest.approx(excess.min(), abs=1e-12)
    assert (verdict.holds, verdict.proven, verdict.checked, verdict.violated) == (True, True, N, 0)
    i = np.argmin(excess)
    w = model.coef_[0]
    step = factors[i].T @ w
    point = X[i] - signs(y)[i] * GAMMA * factors[i] @ step / np.linalg.norm(step)
    np.testing.assert_allclose(verdict.where, point, rtol=0, atol=1e-9)
    assert verdict.asked == "y f(x) >= rho - xi all over 40 ellipsoids"


def test_verify_samples_what_a_kernel_machine_has_of_first_order_only(few, factors):
    X, y = few
    A = 0.5 * factors
    model = PriorSVC(UncertainSamples(factor=A), kernel=RBF(WIDTH)).fit(X, y)
    verdict = model.verify()["uncertain_samples"]
    assert (verdict.holds, verdict.proven, verdict.checked) == (False, False, 65 * N)
    assert "(asked to first order)" in verdict.asked
    z = [np.linalg.pinv(A[i]) @ (verdict.where - X[i]) for i in range(N)]
    inside = [i for i in range(N) if np.linalg.norm(z[i]) <= GAMMA * (1 + 1e-9)]
    value = model.decision_function(verdict.where[None])[0]
    excess = [signs(y)[i] * value - (1 - slacks(model)[i]) for i in inside]
    assert min(np.abs(np.subtract(excess, verdict.worst))) < 1e-9
    assert verdict.worst < -1e-5
    assert 0 < verdict.violated < verdict.checked


def test_verify_of_a_guarantee_is_the_closed_form(few, factors):
    X, y = few
    A = 0.1 * factors
    model = PriorSVC(UncertainSamples(factor=A, guarantee=True), kernel=RBF(WIDTH)).fit(X, y)
    Z, weights = model.centres_, model.dual_coef_[0]
    length = np.sqrt(weights @ rbf_kernel(Z, gamma=WIDTH) @ weights)
    r = GAMMA * np.linalg.norm(A, 2, axis=(1, 2))
    fall = length * np.sqrt(2 - 2 * np.exp(-WIDTH * r**2))
    excess = signs(y) * model.decision_function(X) - fall - (1 - slacks(model))
    verdict = model.verify()["uncertain_samples"]
    assert verdict.worst == pytest.approx(excess.min(), abs=1e-8)
    [i] = np.flatnonzero((verdict.where == X).all(axis=1))
    assert excess[i] == pytest.approx(verdict.worst, abs=1e-8)


@pytest.mark.parametrize("what", ["steeper", "moved"])
def test_an_f_that_was_tampered_with_is_found_out(few, factors, covariances, what):
    X, y = few
    model = PriorSVC(UncertainSamples(covariances)).fit(X, y)
    machine = model._machines[0]
    before = slacks(model).copy()
    f = machine.f
    machine.f = (
        replace(f, coef=1.5 * f.coef, bias=1.5 * f.bias) if what == "steeper" else replace(f, bias=f.bias + 1)
    )
    w, b = machine.f.coef, machine.f.bias
    own = signs(y) * (X @ w + b)
    sure = own - GAMMA * np.linalg.norm(factors.swapaxes(1, 2) @ w, axis=1)
    excess = sure - (1 - np.maximum(before, 1 - own))
    verdict = model.verify()["uncertain_samples"]
    assert (verdict.holds, verdict.proven) == (False, True)
    assert verdict.worst == pytest.approx(excess.min(), abs=1e-9)
    assert verdict.worst < -0.01
    assert verdict.violated == np.sum(excess < -1e-5)
    assert not model.verify().holds


@pytest.mark.parametrize("guarantee", [True, False])
def test_a_kernel_f_that_was_tampered_with_is_found_out(few, factors, guarantee):
    block = UncertainSamples(factor=0.1 * factors, guarantee=guarantee)
    model = PriorSVC(block, kernel=RBF(WIDTH)).fit(*few)
    machine = model._machines[0]
    machine.f = replace(machine.f, weights=2 * machine.f.weights)
    verdict = model.verify()["uncertain_samples"]
    assert verdict.holds is False
    assert verdict.worst < -0.01


def test_nothing_uncertain_is_nothing_to_verify(few):
    verdict = PriorSVC(UncertainSamples(0.0)).fit(*few).verify()["uncertain_samples"]
    assert (verdict.holds, verdict.checked) == (None, 0)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("guarantee", [False, True])
def test_report_and_formulation_speak_of_it(few, covariances, kernel, guarantee):
    block = UncertainSamples(0.01 * covariances, guarantee=guarantee)
    model = PriorSVC(block, kernel=kernel).fit(*few)
    rows = model.report_["uncertain_samples"]
    coned = not (guarantee and kernel == "rbf")
    assert len(rows) == (2 if coned else 1)
    assert all(row.rows == N for row in rows)
    assert sum(row.contribution for row in model.report_.rows) == pytest.approx(model.objective_)
    assert f"uncertain_samples: {model.findings_['uncertain_samples']}" in str(model.report_)
    text = str(model.formulation())
    assert text.count(r"\mathrm{uncertain\_samples.") == len(rows)
    assert (
        r"\|A_i^\top \nabla f(x_i)\| \le t_i}_{c_{PK}{:}\;\mathrm{uncertain\_samples.cone,\ 40\ rows}}"
        in text
    ) == coned


def test_a_formulation_uses_no_letter_that_it_does_not_explain(few, covariances):
    for guarantee in (False, True):
        block = UncertainSamples(0.01 * covariances, guarantee=guarantee)
        text = str(PriorSVC(block, kernel="rbf").fit(*few).formulation())
        assert text.count("t_i") != 1


def test_a_collapse_is_warned_of(few, kernel):
    with pytest.warns(
        CollapsedModel, match="block 'uncertain_samples' leaves a constant f.*lower the confidence"
    ):
        PriorSVC(UncertainSamples(100.0, guarantee=True), kernel=kernel).fit(*few)


# ---------------------------------------------------------------------- what cannot be


def test_a_square_of_rows_and_columns_is_ambiguous(few):
    X, y = few
    rows = np.concatenate([np.flatnonzero(y == 0)[:2], np.flatnonzero(y == 1)[:1]])
    with pytest.raises(InvalidInput, match=r"'uncertain_samples': covariance of shape \(3, 3\) is ambiguous"):
        PriorSVC(UncertainSamples(np.full((3, 3), 0.1))).fit(X[rows], y[rows])
    PriorSVC(UncertainSamples(np.full(3, 0.1))).fit(X[rows], y[rows])


def test_a_kernel_with_kinks_has_no_first_order(few):
    with pytest.raises(MissingCapability, match="needs smooth slopes of f"):
        PriorSVC(UncertainSamples(0.1), kernel=NegativeDistance(), norm="l1").fit(*few)


def test_percent_is_asked_after(few):
    with pytest.raises(InvalidInput, match=r"got 90\. Did you mean 0\.9\?"):
        PriorSVC(UncertainSamples(0.1, confidence=90)).fit(*few)


def test_a_function_that_fails_says_so(few):
    with pytest.raises(
        InvalidInput, match=r"covariance was given as a function, .* with X, an array, and y failed"
    ):
        PriorSVC(UncertainSamples(lambda X: 0.1)).fit(*few)


SKEW = np.array([[1.0, 0.5, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
SADDLE = np.array([[1.0, 2.0, 0.0], [2.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
SMALL = np.diag([1e-6, 1.0, 1e6])
HOLE = np.array([[0.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1.0]])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"confidence": 0.49}, r"confidence must be at least 0.5 and below 1, got 0.49. Below 0.5"),
        ({"confidence": 1.0}, r"confidence must be .* got 1.0.*1 would ask for all of space"),
        ({"confidence": 1}, r"confidence must be .* got 1\."),
        ({"confidence": np.nan}, r"confidence must be .* got nan"),
        ({"confidence": -np.inf}, r"confidence must be .* got -inf"),
        ({"confidence": "a"}, r"confidence must be .* got 'a'"),
        ({"confidence": True}, r"confidence must be .* got True"),
        ({"confidence": None}, r"confidence must be .* got None"),
        ({"distribution": "normal"}, r"distribution must be 'gaussian' or 'any', got 'normal'"),
        ({"guarantee": "yes"}, r"guarantee must be True or False, got 'yes'"),
        ({"covariance": None}, r"give either covariance or factor.*to fit as <block>__covariance"),
        ({"factor": np.eye(3)}, r"give either covariance or factor"),
        ({"covariance": "wide"}, r"covariance must be numbers, got 'wide'"),
        ({"covariance": [[1.0], [1.0, 2.0]]}, r"covariance must be numbers"),
        ({"covariance": [0.1, 0.2]}, r"covariance has shape \(2,\), expected .* \(3,\) or \(40, 3\)"),
        ({"covariance": np.eye(2)}, r"covariance has shape \(2, 2\).*give those of rows to fit"),
        ({"covariance": np.ones((39, 3))}, r"covariance has shape \(39, 3\).*to fit as <block>__covariance"),
        ({"covariance": np.ones((40, 3, 2))}, r"covariance has shape \(40, 3, 2\)"),
        ({"covariance": lambda X, y: np.ones(7)}, r"covariance has shape \(7,\)"),
        ({"covariance": [0.1, np.nan, 0.1]}, r"covariance contains NaN or infinity"),
        ({"covariance": np.inf}, r"covariance contains NaN or infinity"),
        ({"covariance": -0.1}, r"standard deviation of -0.1: it must not be negative"),
        ({"covariance": [0.1, -2.0, 0.1]}, r"standard deviation of -2: it must not be negative"),
        ({"covariance": {2: -2.0}}, r"standard deviation of -2: it must not be negative"),
        ({"covariance": -np.ones((40, 3))}, r"standard deviation of -1: it must not be negative"),
        ({"covariance": SKEW}, r"covariance is not symmetric.*factor"),
        ({"covariance": SMALL @ SKEW @ SMALL}, r"covariance is not symmetric.*factor"),
        ({"covariance": SADDLE}, r"covariance is not positive semidefinite"),
        ({"covariance": SMALL @ SADDLE @ SMALL}, r"covariance is not positive semidefinite"),
        ({"covariance": -np.eye(3)}, r"covariance is not positive semidefinite"),
        ({"covariance": np.diag([-1e-12, 1e-12, 1e-12])}, r"covariance is not positive semidefinite"),
        ({"covariance": HOLE}, r"covariance is not positive semidefinite"),
        ({"covariance": 1e-12 * HOLE}, r"covariance is not positive semidefinite"),
        (
            {"covariance": np.stack([np.eye(3)] * 30 + [SADDLE] * 10)},
            r"covariance of row 30 is not positive semidefinite",
        ),
        ({"covariance": {"dose": 0.1}}, r"there is no column 'dose'. Fit on a DataFrame to use names"),
        ({"covariance": {3: 0.1}}, r"there is no column 3: give a name, or an index from 0 to 2"),
        ({"covariance": None, "factor": np.ones(3)}, r"factor has shape \(3,\), expected \(3, k\)"),
        ({"covariance": None, "factor": np.ones((2, 2))}, r"factor has shape \(2, 2\), expected \(3, k\)"),
        ({"covariance": None, "factor": np.ones((3, 0))}, r"factor has shape \(3, 0\)"),
        ({"covariance": None, "factor": np.ones((39, 3, 2))}, r"factor has shape \(39, 3, 2\)"),
        ({"covariance": None, "factor": 0.3}, r"factor has shape \(\)"),
        ({"covariance": None, "factor": np.full((3, 1), np.nan)}, r"factor contains NaN or infinity"),
        ({"covariance": None, "factor": "thin"}, r"factor must be numbers, got 'thin'"),
    ],
)
def test_bad_arguments_are_named(few, given, message):
    with pytest.raises(InvalidInput, match=f"(?s)block 'uncertain_samples': .*{message}"):
        PriorSVC(UncertainSamples(**{"covariance": 0.1, **given})).fit(*few)


def test_an_unknown_column_of_a_frame_is_named(few):
    frame = pd.DataFrame(few[0], columns=NAMES)
    message = "block 'uncertain_samples': there is no column 'height'.* The columns are: dose, age, weight"
    with pytest.raises(InvalidInput, match=message):
        PriorSVC(UncertainSamples({"height": 0.1})).fit(frame, few[1])


def test_a_guarantee_needs_a_kernel_that_has_one(few):
    message = "block 'uncertain_samples': guarantee=True needs .* RBF or Polynomial.*guarantee=False"
    for kernel in (Polynomial(2, 1.0) * RBF(1.0), "laplacian"):
        with pytest.raises(MissingCapability, match=message):
            PriorSVC(UncertainSamples(0.1, guarantee=True), kernel=kernel).fit(*few)
    with pytest.raises(MissingCapability, match=message):
        PriorSVC(UncertainSamples(0.1, guarantee=True), kernel=NegativeDistance(), norm="l1").fit(*few)


@pytest.mark.parametrize("kernel", ["laplacian", lambda A, B: A @ B.T], ids=["laplacian", "function"])
def test_the_first_order_needs_slopes(few, kernel):
    message = "block 'uncertain_samples': .*needs smooth slopes of f.*RBF or Polynomial, or a linear machine"
    with pytest.raises(MissingCapability, match=message):
        PriorSVC(UncertainSamples(0.1), kernel=kernel).fit(*few)


@pytest.mark.parametrize("weight", [0.5, 2.0])
def test_an_outer_weight_is_refused(few, weight):
    message = "block 'uncertain_samples' uses the slack of the training rows.*Remove the weight.*C or"
    with pytest.raises(InvalidInput, match=message):
        PriorSVC(weight * UncertainSamples(0.1)).fit(*few)


def test_an_outer_weight_of_zero_leaves_it_out(few, new):
    model = PriorSVC(0 * UncertainSamples(0.1)).fit(*few)
    np.testing.assert_array_equal(model.decision_function(new), PriorSVC().fit(*few).decision_function(new))
    assert model.findings_ == {}


def test_an_outer_weight_of_one_is_none(few):
    model = PriorSVC(1.0 * UncertainSamples(0.1)).fit(*few)
    np.testing.assert_array_equal(model.coef_, PriorSVC(UncertainSamples(0.1)).fit(*few).coef_)


def test_libsvm_is_refused(few):
    with pytest.raises(InvalidInput, match="LIBSVM cannot solve this problem: block 'uncertain_samples'"):
        PriorSVC(UncertainSamples(0.1), solver="LIBSVM").fit(*few)


# ---------------------------------------------------------------------- scikit-learn


def test_clone_and_pickle(few, new, covariances):
    model = PriorSVC(UncertainSamples(0.2 * covariances, 0.8, "any"), C=0.7).fit(*few)
    twin = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(twin.decision_function(new), model.decision_function(new))
    assert twin.verify()["uncertain_samples"].worst == pytest.approx(
        model.verify()["uncertain_samples"].worst, abs=1e-12
    )
    assert twin.objective_ == model.objective_
    np.testing.assert_array_equal(
        twin.findings_["uncertain_samples"].points, model.findings_["uncertain_samples"].points
    )
    again = clone(model)
    assert again.prior is not model.prior
    np.testing.assert_array_equal(again.prior.covariance, 0.2 * covariances)
    np.testing.assert_array_equal(again.fit(*few).coef_, model.coef_)


@pytest.mark.slow
@pytest.mark.parametrize("shape", ["bars", "matrices"])
def test_a_search_splits_the_error_bars_with_the_rows(data, shape):
    X, y = data
    rng = np.random.default_rng(14)
    bars = rng.uniform(0.0, 0.4, size=(80, 3))
    given = bars if shape == "bars" else bars[:, :, None] ** 2 * np.eye(3)
    folds = KFold(3)
    search = GridSearchCV(
        PriorSVC(UncertainSamples()),
        {"prior__uncertain_samples__confidence": [0.6, 0.95]},
        cv=folds,
        error_score="raise",
    )
    search.fit(X, y, uncertain_samples__covariance=given)
    for k, confidence in enumerate([0.6, 0.95]):
        for j, (train, test) in enumerate(folds.split(X)):
            block = UncertainSamples(given[train], confidence)
            score = PriorSVC(block).fit(X[train], y[train]).score(X[test], y[test])
            assert search.cv_results_[f"split{j}_test_score"][k] == score
    best = search.best_params_["prior__uncertain_samples__confidence"]
    alone = PriorSVC(UncertainSamples(given, best)).fit(X, y)
    np.testing.assert_array_equal(search.best_estimator_.coef_, alone.coef_)


def test_an_array_in_the_constructor_says_what_to_do_under_cross_validation(data):
    X, y = data
    search = GridSearchCV(
        PriorSVC(UncertainSamples(np.full((80, 3), 0.1))), {"C": [1.0]}, cv=2, error_score="raise"
    )
    with pytest.raises(InvalidInput, match=r"\(80, 3\).*Under cross-validation give those of rows to fit"):
        search.fit(X, y)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("block", "kernels"),
    [
        (UncertainSamples(0.2), ("linear", "rbf")),
        (UncertainSamples([0.3, 0.0, 0.0]), ("linear", "rbf")),
        (UncertainSamples({0: 0.2, 2: 0.1}, 0.7, "any"), ("linear", "rbf")),
        (UncertainSamples(0.02, guarantee=True), ("linear", "rbf", "poly")),
        (UncertainSamples(factor=np.array([[0.2], [0.1], [0.0]])), ("linear", "poly")),
        (UncertainSamples(0.2, 0.5), ("linear", "rbf")),
    ],
)
def test_laws(block, kernels):
    assert "the answer satisfies KKT" in check_knowledge(block, kernels=kernels)


def test_laws_with_rows_given_to_fit():
    bars = np.random.default_rng(15).uniform(0.0, 0.3, size=(40, 3))
    passed = check_knowledge(UncertainSamples(), uncertain_samples__covariance=bars)
    assert "the order of the rows is nothing" in passed
