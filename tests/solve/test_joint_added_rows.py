"""Rows that blocks add to the joint model, against the problem of Crammer & Singer written out in CVXPY."""

import re

import cvxpy as cp
import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.metrics.pairwise import rbf_kernel

from priorsvm import (
    RBF,
    ClassCosts,
    FeatureDeletion,
    InvariantLoss,
    Knowledge,
    PriorSVC,
    SampleCosts,
    Shift,
    Transductive,
    UnlabeledSamples,
    VirtualSamples,
    VirtualSupportVectors,
)
from priorsvm.errors import InvalidInput, MissingCapability

SHARP = {"tol_gap_abs": 1e-12, "tol_gap_rel": 1e-12, "tol_feas": 1e-12}
GAMMA = 0.15
COPIES = Shift([[0.4, 0.0, 0.0], [0.0, 0.0, 0.3]])
MOVES = Shift([0.0, 0.3, 0.1], steps=3)
BOTH = pytest.mark.parametrize("kernel", ["linear", RBF(GAMMA)], ids=["linear", "rbf"])


def joint(prior=None, **parameters):
    return PriorSVC(prior, **{"multi_class": "joint", "tol": 1e-9, **parameters})


def crammer_singer(groups, y, cost, rho, C=1.0, kernel="linear", confusion=None):
    """Return the optimum and f at the first point of each group; a group of points shares a slack."""
    K = int(y.max()) + 1
    confusion = np.ones((K, K)) if confusion is None else confusion
    points = np.concatenate(groups)
    of = np.repeat(np.arange(len(groups)), [len(group) for group in groups])
    Z = points
    if kernel != "linear":
        size, vectors = np.linalg.eigh(rbf_kernel(points, gamma=GAMMA))
        kept = size > 1e-11 * size[-1]
        Z = vectors[:, kept] * np.sqrt(size[kept])
    W = cp.Variable((Z.shape[1], K))
    xi = cp.Variable(len(groups), nonneg=True)
    f = Z @ W
    margins = []
    for k in range(K):
        rows = np.flatnonzero(y[of] != k)
        i = of[rows]
        true = cp.sum(cp.multiply(f[rows], np.eye(K)[y[i]]), axis=1)
        margins.append(true - f[rows, k] >= confusion[y[i], k] * rho[i] - xi[i])
    problem = cp.Problem(cp.Minimize(0.5 * cp.sum_squares(W) + C * cost @ xi), margins)
    problem.solve(solver="CLARABEL", **SHARP)
    first = np.flatnonzero(np.r_[True, np.diff(of) > 0])
    return problem.value, f.value[first]


def copies_of(X):
    """Return the copies of all rows, in the order of the rows."""
    orbit = COPIES.orbit(X)[:, 1:]
    return orbit.reshape(-1, X.shape[1]), orbit.shape[1]


@BOTH
@pytest.mark.parametrize("cost", [1.0, 0.3])
def test_virtual_samples_are_rows_of_the_same_class(kernel, cost, draw):
    X, y = draw(21)
    added, s = copies_of(X)
    model = joint(VirtualSamples(COPIES, cost), C=2.0, kernel=kernel).fit(X, y)
    groups = [*X[:, None], *added[:, None]]
    costs = np.r_[np.ones(len(y)), np.full(len(added), cost)]
    labels = np.r_[y, y.repeat(s)]
    value, f = crammer_singer(groups, labels, costs, np.ones(len(labels)), 2.0, kernel)
    assert model.objective_ == pytest.approx(value, rel=1e-7)
    assert_allclose(model.decision_function(X), f[: len(y)], atol=1e-4)
    assert model.problem.solve(solver="CLARABEL", **SHARP) == pytest.approx(value, rel=1e-7)
    plain = joint(C=2.0, kernel=kernel).fit(X, y)
    assert model.objective_ > 1.01 * plain.objective_


def test_they_are_rows_of_the_training_set(draw):
    X, y = draw(30)
    added, s = copies_of(X)
    model = joint(VirtualSamples(COPIES), kernel=RBF(GAMMA)).fit(X, y)
    stacked = joint(kernel=RBF(GAMMA)).fit(np.vstack([X, added]), np.r_[y, y.repeat(s)])
    assert model.objective_ == pytest.approx(stacked.objective_, rel=1e-8)
    assert_allclose(model.decision_function(X), stacked.decision_function(X), atol=1e-5)


@BOTH
def test_copies_inherit_costs_and_margins(kernel, draw):
    X, y = draw(21)
    rng = np.random.default_rng(3)
    margins = rng.uniform(0.5, 1.5, len(y))
    weight = rng.uniform(0.0, 2.0, len(y)) * (np.arange(len(y)) % 5 > 0)
    prior = ClassCosts({1: 3.0}) + SampleCosts(margins=margins) + 0.5 * VirtualSamples(COPIES)
    model = joint(prior, kernel=kernel).fit(X, y, weight)
    added, s = copies_of(X)
    own = weight * np.where(y == 1, 3.0, 1.0)
    groups = [*X[:, None], *added[:, None]]
    costs = np.r_[own, 0.5 * own.repeat(s)]
    rho = np.r_[margins, margins.repeat(s)]
    value, _ = crammer_singer(groups, np.r_[y, y.repeat(s)], costs, rho, 1.0, kernel)
    assert model.objective_ == pytest.approx(value, rel=1e-7)
    report = model.report_
    assert sum(row.contribution for row in report.rows) == pytest.approx(model.objective_, rel=1e-9)
    assert report["virtual_samples"][0].contribution > 0


@BOTH
@pytest.mark.parametrize("labels", [1, [0, 2, 2]])
def test_extra_rows_have_the_class_that_is_given(kernel, labels, draw):
    X, y = draw(21)
    extra = np.array([[0.0, 1.0, 0.5], [1.0, 1.0, 1.0], [-1.0, 0.0, 2.0]])
    block = UnlabeledSamples(extra, labels, costs=[0.5, 1.0, 2.0], margins=0.8)
    model = joint(block, kernel=kernel).fit(X, y)
    given = np.r_[y, np.broadcast_to(labels, 3)]
    costs = np.r_[np.ones(len(y)), 0.5, 1.0, 2.0]
    rho = np.r_[np.ones(len(y)), np.full(3, 0.8)]
    value, _ = crammer_singer([*X[:, None], *extra[:, None]], given, costs, rho, 1.0, kernel)
    assert model.objective_ == pytest.approx(value, rel=1e-7)


def test_names_of_classes(draw):
    X, y = draw(21)
    names = np.array(["cat", "ape", "dog"])
    extra = X[:4] + 0.5
    prior = UnlabeledSamples(extra, names[y[:4]]) + VirtualSamples(COPIES)
    one = joint(prior).fit(X, names[y])
    two = joint(UnlabeledSamples(extra, y[:4]) + VirtualSamples(COPIES)).fit(X, y)
    assert one.objective_ == pytest.approx(two.objective_, rel=1e-9)


@BOTH
def test_added_rows_beside_an_invariant_loss_are_not_transformed(kernel, draw):
    X, y = draw(18)
    added, s = copies_of(X)
    extra = np.array([[0.5, 0.5, 0.5]])
    confusion = np.ones((3, 3))
    confusion[0, 1] = 2.0
    loss = InvariantLoss(MOVES, confusion={(0, 1): 2.0})
    model = joint(VirtualSamples(COPIES, 0.5) + UnlabeledSamples(extra, 2) + loss, kernel=kernel).fit(X, y)
    groups = [*MOVES.orbit(X), *added[:, None], extra]
    costs = np.r_[np.ones(len(y)), np.full(len(added), 0.5), 1.0]
    labels = np.r_[y, y.repeat(s), 2]
    value, _ = crammer_singer(groups, labels, costs, np.ones(len(labels)), 1.0, kernel, confusion)
    assert model.objective_ == pytest.approx(value, rel=1e-7)
    found = model.findings_["invariant_loss"]
    assert found.rows.max() < len(y)
    [_, rows] = model.report_["svm"]
    [columns] = model.report_["invariant_loss"]
    assert columns.price == pytest.approx(rows.price, rel=1e-6)  # without the added rows
    assert "added rows are not transformed" in str(model.formulation())
    verdicts = model.verify()
    assert verdicts["invariant_loss"].holds
    assert verdicts["invariant_loss"].checked == len(y)
    assert verdicts["virtual_samples"].checked == len(added)
    lead = _lead(model, added, y.repeat(s), confusion)
    assert verdicts["virtual_samples"].worst == pytest.approx(lead.min(), abs=1e-9)


def _lead(model, points, labels, confusion):
    """Return by how much the class of each point leads the other classes beyond its margin, at least."""
    f = model.decision_function(points)
    excess = f[np.arange(len(labels)), labels][:, None] - f - confusion[labels]
    excess[np.arange(len(labels)), labels] = np.inf
    return excess.min(axis=1)


def test_added_rows_beside_deleted_features(draw):
    X, y = draw(18)
    added, s = copies_of(X)
    model = joint(VirtualSamples(COPIES) + InvariantLoss(FeatureDeletion(1))).fit(X, y)
    orbit = np.stack([X, *(X * (1 - np.eye(3)[j]) for j in range(3))], axis=1)
    labels = np.r_[y, y.repeat(s)]
    ones = np.ones(len(labels))
    value, _ = crammer_singer([*orbit, *added[:, None]], labels, ones, ones)
    assert model.objective_ == pytest.approx(value, rel=1e-7)


def test_copies_without_a_cost_are_not_there(draw):
    X, y = draw(21)
    model = joint(VirtualSamples(COPIES, cost=0.0)).fit(X, y)
    assert model.objective_ == pytest.approx(joint().fit(X, y).objective_, rel=1e-9)
    assert model.verify()["virtual_samples"].holds is None


class Nameless(Knowledge):
    """A block that adds a row without a class."""

    prepares = "adds"

    def prepare(self, sample, state):
        return sample.with_rows(sample.X[:1], sample.y[:1], np.ones(1), np.ones(1))


def test_rows_without_a_class_are_refused_by_name(draw):
    X, y = draw(21)
    with pytest.raises(InvalidInput, match=r"block 'nameless' adds rows without a class.*labels or source"):
        joint(VirtualSamples(COPIES) + Nameless()).fit(X, y)


@pytest.mark.parametrize(
    ("block", "name"),
    [
        (VirtualSupportVectors(COPIES), "virtual_support_vectors"),
        (Transductive(np.ones((3, 3))), "transductive"),
    ],
    ids=["virtual support vectors", "transductive"],
)
def test_blocks_of_several_rounds_are_refused(block, name, draw):
    X, y = draw(21)
    said = (
        f"block '{name}': multi_class='joint' accepts one InvariantLoss and blocks that add or reweight rows"
    )
    with pytest.raises(MissingCapability, match=re.escape(said)):
        joint(block).fit(X, y)
