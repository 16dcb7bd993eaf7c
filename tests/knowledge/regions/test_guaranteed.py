"""The method "guaranteed": the margin holds at every point, at a small cost."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel

from priorsvm import RBF, Box, Ellipsoid, Polyhedron, Polynomial, PriorSVC
from priorsvm.errors import CollapsedModel, CoverTooCoarse, InvalidInput, MissingCapability, PriorSVMWarning

GAMMA = 0.6
SQUARE = {0: (-1.0, -0.3), 1: (-0.2, 0.6)}


def random_case(rng, d):
    X = rng.normal(size=(15, d))
    y = (X @ rng.normal(size=d) + 0.5 * np.sin(3 * X[:, 0]) > 0).astype(int)
    y[:2] = 0, 1
    kind = rng.choice(["box", "ellipsoid", "polyhedron"])
    size, centre = rng.uniform(0.1, 0.25), rng.uniform(-1, 1, size=d)
    label, hard = int(rng.integers(2)), True
    u = rng.uniform(-1, 1, size=(100_000, d))
    if kind == "box":
        half = size * rng.uniform(0.5, 1, size=d)
        block = Box(
            {j: (centre[j] - half[j], centre[j] + half[j]) for j in range(d)}, label, holds="everywhere"
        )
        Z = centre + u * half
    elif kind == "ellipsoid":
        A = size * rng.normal(size=(d, d)) / np.sqrt(d)
        block = Ellipsoid(centre, A, label, holds="everywhere")
        u = rng.normal(size=u.shape)
        Z = (
            centre
            + u / np.linalg.norm(u, axis=1, keepdims=True) * rng.uniform(size=(len(u), 1)) ** (0.3 / d) @ A.T
        )
    else:  # a simplex with a corner at the centre
        rows, ends = (
            np.vstack([-np.eye(d), np.ones((1, d))]),
            np.concatenate([-centre, [centre.sum() + size]]),
        )
        block = Polyhedron(rows, ends, label, holds="everywhere")
        Z = centre + size * rng.dirichlet(np.ones(d + 1), size=len(u))[:, :d]
    return X, y, block.set_params(hard=hard, method="guaranteed"), label, Z


def guarantee_holds(rng, d):
    """Lowest s f over the sample, and |g| against the plain model's and against the cuts'."""
    X, y, block, label, Z = random_case(rng, d)
    gamma = rng.uniform(0.2, 1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # it may cost more than 2 %
        warnings.simplefilter("ignore", CollapsedModel)  # counted by its size
        model = PriorSVC(block, kernel=RBF(gamma), C=rng.choice([1.0, 10.0])).fit(X, y)
    own = rbf_kernel(Z, model.centres_, gamma=gamma) @ model.dual_coef_[0] + model.intercept_[0]

    def size(fitted):
        beta = fitted.dual_coef_[0]
        return np.sqrt(beta @ rbf_kernel(fitted.centres_, gamma=gamma) @ beta)

    least = ((1 if label else -1) * own).min()
    plain = size(model) / size(PriorSVC(kernel=RBF(gamma), C=model.C, solver="CLARABEL").fit(X, y))
    if plain >= 0.5:
        return least, plain, np.inf
    # Where the region itself leaves f little room the model of the cuts is as small.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CollapsedModel)
        cuts = size(PriorSVC(block.set_params(method="cuts"), kernel=RBF(gamma), C=model.C).fit(X, y))
    return least, plain, np.inf if cuts < 1e-4 else size(model) / cuts  # a constant may be the best there is


@pytest.mark.slow
def test_a_guarantee_holds_in_every_one_of_many_fits():
    """36 fits; at least 32 of them with half of the plain model's norm, and none smaller than necessary."""
    streams = [(np.random.default_rng([d, seed, 1]), d) for d in (1, 2, 3) for seed in range(4)]
    found = np.array([guarantee_holds(rng, d) for rng, d in streams for _ in range(3)])
    least, plain, cuts = found.T
    assert least.min() >= 1 - 1e-6
    assert np.sum(plain >= 0.5) >= 32
    assert cuts.min() >= 0.5


@pytest.mark.slow
@pytest.mark.parametrize(
    "parameters",
    [
        {"kernel": Polynomial(2, gamma=0.5, coef0=1.0)},
        {"kernel": RBF(GAMMA), "scale": "standard"},
        {"kernel": RBF(3.0), "scale": "minmax", "C": 5.0},
        {"kernel": RBF(GAMMA), "norm": "l1", "C": 5.0},
        {"kernel": RBF(GAMMA), "loss": "squared_hinge"},
        {"kernel": RBF(GAMMA) + Polynomial(1, gamma=1.0)},
    ],
    ids=str,
)
@pytest.mark.parametrize("shape", ["box", "triangle"], indirect=True)
def test_guarantees_on_other_models(plane, square, parameters, shape):
    X, y = plane
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = PriorSVC(shape.block(1, hard=True, method="guaranteed"), **parameters).fit(X, y)
    assert model.decision_function(shape.points(301)).min() >= 1 - 1e-6
    assert model.verify().holds
    assert np.ptp(model.decision_function(X)) > 0.5


def test_a_soft_guarantee_bounds_the_violation_by_what_is_paid(plane, square):
    X, y = plane
    cuts = PriorSVC(Box(SQUARE, 1, mu=0.8, method="cuts"), kernel=RBF(GAMMA)).fit(X, y)
    model = PriorSVC(Box(SQUARE, 1, mu=0.8, method="guaranteed"), kernel=RBF(GAMMA)).fit(X, y)
    [row] = [row for row in model.report_["box"] if row.term == "mu"]
    zeta = row.contribution / 0.8
    assert zeta > 0.01
    assert model.decision_function(square.points(301)).min() >= 1 - zeta - 1e-6
    assert cuts.objective_ - 1e-3 <= model.objective_ <= 1.021 * cuts.objective_


def test_a_guarantee_costs_at_most_two_percent(plane, square):
    X, y = plane
    cuts = PriorSVC(Box(SQUARE, 1, hard=True), kernel=RBF(GAMMA)).fit(X, y)
    model = PriorSVC(Box(SQUARE, 1, hard=True, method="guaranteed"), kernel=RBF(GAMMA)).fit(X, y)
    assert cuts.objective_ * (1 - 1e-3) <= model.objective_ <= 1.0201 * cuts.objective_


def test_few_cells_are_expensive_and_a_warning_is_issued(plane, square):
    X, y = plane
    with pytest.warns(ConvergenceWarning, match=r"'box': with \d cells the guarantee raises the objective"):
        model = PriorSVC(Box(SQUARE, 1, hard=True, method="guaranteed", max_cells=4), kernel=RBF(GAMMA)).fit(
            X, y
        )
    assert model.decision_function(square.points()).min() >= 1 - 1e-6
    fine = PriorSVC(Box(SQUARE, 1, hard=True, method="guaranteed"), kernel=RBF(GAMMA)).fit(X, y)
    assert fine.objective_ < 0.98 * model.objective_


def test_a_cover_without_any_function(plane, square):
    X, y = plane
    block = Box([{0: (-1, 0)}, {0: (0.2, 1)}], [0, 1], hard=True, method="guaranteed", max_cells=2)
    with pytest.raises(CoverTooCoarse, match="not a conflict of the knowledge: raise max_cells"):
        PriorSVC(block, kernel=RBF(1.0)).fit(X, y)


def test_five_columns_are_too_many(rng):
    X = rng.normal(size=(15, 5))
    block = Box({0: (0, 1)}, 1, hard=True, method="guaranteed")
    with pytest.raises(InvalidInput, match=r"practical to 4 dimensions, and there are 5\. Use method='cuts'"):
        PriorSVC(block, kernel="rbf").fit(X, np.arange(15) % 2)
    PriorSVC(block).fit(X, np.arange(15) % 2)  # a linear model is exact


def test_kernels_without_a_bound_are_refused(plane, square):
    with pytest.raises(MissingCapability, match=r"'box'.*known for RBF.*Use method='cuts'"):
        PriorSVC(Box(SQUARE, 1, method="guaranteed"), kernel="laplacian").fit(*plane)


@pytest.mark.slow
def test_several_guarantees_warn_once_each_at_most():
    B, d = np.vstack([np.eye(2), -np.eye(2)]), np.array([2, 2, -1, -1.0])
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(40, 2))
    s = (Z[:, 0] + 0.5 * Z[:, 1] ** 2 > 0.3).astype(int)
    how = {"hard": True, "method": "guaranteed", "max_cells": 60}
    prior = (
        Polyhedron(B, d, 1, **how, holds="everywhere")
        + Box({0: (-3, -2), 1: (-1, 1)}, 0, **how, holds="everywhere")
        + Ellipsoid([0, -2], 0.4, 0, **how, holds="everywhere")
    )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = PriorSVC(prior, kernel=RBF(0.5)).fit(Z, s)
    assert len(caught) <= 3
    assert not any(issubclass(w.category, PriorSVMWarning) for w in caught)
    assert model.verify().holds
