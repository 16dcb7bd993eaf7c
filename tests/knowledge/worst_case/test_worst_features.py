"""Deleted and scaled features: the closed form and column generation, against one atom for each row."""

import warnings

import cvxpy as cp
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.sparse import csr_array, random_array

from priorsvm import (
    RBF,
    FeatureDeletion,
    FeatureScaling,
    FromFunction,
    InvarianceHint,
    InvariantLoss,
    PriorSVC,
    VirtualSamples,
    VirtualSupportVectors,
)
from priorsvm.errors import InvalidInput, MissingCapability

SHARP = {"tol_gap_abs": 1e-12, "tol_gap_rel": 1e-12, "tol_feas": 1e-12}


def signs(y):
    return np.where(np.asarray(y) == np.max(y), 1.0, -1.0)


@pytest.fixture(scope="module")
def few(data):
    X, y = data
    return X[:40], y[:40]


def own_scaling(X, y, k, low, high, C):
    """min |w|^2/2 + C sum [1 - y f + sum_largest(max(0, (1-l)B, (1-u)B), k)]_+, one atom for each row."""
    sign, n = signs(y), len(y)
    w, b, xi = cp.Variable(X.shape[1]), cp.Variable(), cp.Variable(n, nonneg=True)
    constraints = []
    for i in range(n):
        B = sign[i] * cp.multiply(X[i], w)
        gains = cp.maximum(0, (1 - low) * B, (1 - high) * B)
        fall = cp.sum_largest(gains, min(k, X.shape[1])) if k else 0.0
        constraints.append(sign[i] * (X[i] @ w + b) - fall >= 1 - xi[i])
    problem = cp.Problem(cp.Minimize(0.5 * cp.sum_squares(w) + C * cp.sum(xi)), constraints)
    return problem.solve(solver="CLARABEL", **SHARP)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["closed", "columns"])
@pytest.mark.parametrize(
    "transform",
    [FeatureDeletion(1), FeatureDeletion(5), FeatureScaling(1, 0.5, 2.0), FeatureScaling(2, 0.9, 1.0)],
    ids=str,
)
def test_few_features_by_one_atom_for_each_row(few, transform, method):
    X, y = few
    X = X + np.array([3.0, 0.0, 1.0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # some leave a constant
        model = PriorSVC(InvariantLoss(transform, method=method), C=0.5, tol=1e-8).fit(X, y)
    expected = own_scaling(X, y, transform.k, *transform._factors(), 0.5)
    assert model.objective_ == pytest.approx(expected, rel=1e-7)


def test_all_features_may_go(few):
    r"""Then only the harmful terms stay: y b - sum_j [-y w_j x_j]_+ is the margin."""
    X, y = few
    sign = signs(y)
    w, b, xi = cp.Variable(3), cp.Variable(), cp.Variable(len(y), nonneg=True)
    harmful = cp.sum(cp.pos(-cp.multiply(sign[:, None] * X, cp.reshape(w, (1, 3), order="C"))), axis=1)
    problem = cp.Problem(
        cp.Minimize(0.5 * cp.sum_squares(w) + 2.0 * cp.sum(xi)), [sign * b - harmful >= 1 - xi]
    )
    expected = problem.solve(solver="CLARABEL", **SHARP)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = PriorSVC(InvariantLoss(FeatureDeletion(3)), C=2.0).fit(X, y)
    assert model.objective_ == pytest.approx(expected, rel=1e-7)


@pytest.mark.parametrize("transform", [FeatureDeletion(0), FeatureScaling(2, 1.0, 1.0)], ids=str)
@pytest.mark.parametrize("method", ["closed", "columns"])
def test_nothing_can_be_spoiled(few, new, transform, method):
    X, y = few
    plain = PriorSVC(solver="CLARABEL").fit(X, y).decision_function(new)
    model = PriorSVC(InvariantLoss(transform, method=method)).fit(X, y)
    np.testing.assert_allclose(model.decision_function(new), plain, atol=1e-5)


def test_columns_without_entries_have_no_effect():
    rng = np.random.default_rng(4)
    words = csr_array(random_array((30, 40), density=0.3, rng=rng))
    total = words.sum(axis=1)
    y = np.where(total > np.median(total), 1, 0)
    wide = csr_array((words.data, 2000 * words.indices, words.indptr), shape=(30, 80_000))
    block = InvariantLoss(FeatureDeletion(2))
    of_words = PriorSVC(block, C=10.0).fit(words, y)
    of_wide = PriorSVC(block, C=10.0).fit(wide, y)
    assert_allclose(of_wide.coef_[:, ::2000], of_words.coef_, rtol=1e-12)
    assert np.count_nonzero(of_wide.coef_) == np.count_nonzero(of_words.coef_) > 0
    assert_allclose(of_wide.intercept_, of_words.intercept_, rtol=1e-12)


def test_a_pooled_sum_is_something_else(few):
    """A formulation in circulation pools the deletions of all rows; it is not this problem."""
    X, y = few
    X = np.hstack([X, X + 0.1 * np.random.default_rng(0).normal(size=X.shape)])
    sign, (n, d), k = signs(y), X.shape, 1
    w, b, xi = cp.Variable(d), cp.Variable(), cp.Variable(n, nonneg=True)
    t, z, v = cp.Variable(n), cp.Variable(n), cp.Variable((n, d), nonneg=True)
    pooled = sign @ X
    constraints = [
        t >= k * z + X.sum(axis=1),
        *(z + v[:, j] >= pooled[j] * w[j] for j in range(d)),
        cp.multiply(sign, X @ w + b) - t >= 1 - xi,
    ]
    wrong = cp.Problem(cp.Minimize(cp.norm(w) + 2.0 * cp.sum(xi)), constraints).solve(solver="CLARABEL")
    ours = PriorSVC(InvariantLoss(FeatureDeletion(1)), C=2.0).fit(X, y).objective_
    assert ours == pytest.approx(own_scaling(X, y, 1, 0.0, 1.0, 2.0), rel=1e-7)
    assert abs(wrong - ours) > 0.1 * ours


# ---------------------------------------------------------------------- kernel models


def deleted(X, *theta):
    return X * (1.0 + np.array(theta))


@pytest.fixture(scope="module")
def bent():
    """Two classes in four columns, the first of which is not needed."""
    rng = np.random.default_rng(7)
    X = rng.normal(size=(40, 4)) + 0.5
    y = (X[:, 1] + X[:, 2] + 0.5 * X[:, 3] ** 2 > 1.8).astype(int)
    X[:, 1:] += 1.5 * y[:, None]
    return X, y


def subsets(k, d):
    """All sets of up to k of d columns, from the binary digits of numbers."""
    masks = (np.arange(2**d)[:, None] >> np.arange(d)) & 1
    return masks[masks.sum(axis=1) <= k].astype(float)


def own_deletions(X, y, k, gamma, C, loss):
    """min |f|^2/2 + C sum of the largest loss over all deletions, over the span of all deleted rows."""
    keep = 1.0 - subsets(k, X.shape[1])
    orbit = X[:, None] * keep
    n, s, d = orbit.shape
    points, place = np.unique(orbit.reshape(-1, d), axis=0, return_inverse=True)
    K = np.exp(-gamma * ((points[:, None] - points[None]) ** 2).sum(axis=2))
    size, vectors = np.linalg.eigh(K)
    used = size > 1e-12
    c, b, xi = cp.Variable(used.sum()), cp.Variable(), cp.Variable(n, nonneg=True)
    values = (vectors[:, used] * np.sqrt(size[used])) @ c + b
    margins = cp.multiply(np.repeat(signs(y), s), values[place.ravel()])
    penalty = cp.sum(xi) if loss == "hinge" else cp.sum_squares(xi)
    problem = cp.Problem(
        cp.Minimize(0.5 * cp.sum_squares(c) + C * penalty), [margins >= 1 - xi[np.repeat(np.arange(n), s)]]
    )
    return problem.solve(solver="CLARABEL", **SHARP)


@pytest.mark.parametrize("method", ["auto", "columns", "all"])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("k", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_deletions_on_a_kernel_by_all_subsets(bent, k, loss, method):
    X, y = bent
    block = InvariantLoss(FeatureDeletion(k), method=method)
    model = PriorSVC(block, kernel=RBF(0.2), C=2.0, loss=loss, tol=1e-8).fit(X, y)
    assert model.objective_ == pytest.approx(own_deletions(X, y, k, 0.2, 2.0, loss), rel=1e-6)
    verdict = model.verify()["invariant_loss"]
    assert verdict.holds
    assert verdict.proven
    # No deletion of a row needs more slack than the row has.
    binary = model._models[0]
    slack = binary.view("invariant_loss", binary.sample).slack
    orbit = X[:, None] * (1.0 - subsets(k, 4))
    values = signs(y)[:, None] * model.decision_function(orbit.reshape(-1, 4)).reshape(len(X), -1)
    assert np.all(values >= 1 - slack[:, None] - 1e-5)
    moved = model.findings_["invariant_loss"].points
    gone = (moved == 0).sum(axis=1)
    assert gone.max() == k


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"solver": "CLARABEL"},
        {"norm": "l1"},
        {"scale": "standard"},
        {"n_centres": 30},
        {"multi_class": "joint"},
        {"multi_class": "ovo"},
        {"kernel": "laplacian"},
    ],
    ids=str,
)
@pytest.mark.parametrize("scaling", ["margin", "slack"])
def test_deletions_are_the_orbit_of_a_function(bent, settings, scaling):
    X, y = bent
    if "multi_class" in settings:
        y = y + (X[:, 0] > 1)
    listed = FromFunction(deleted, thetas=-subsets(2, 4)[1:])
    settings = {"kernel": RBF(0.2), "C": 2.0, "tol": 1e-7, **settings}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # some leave a constant
        models = [
            PriorSVC(InvariantLoss(transform, scaling=scaling), **settings).fit(X, y)
            for transform in (FeatureDeletion(2), listed)
        ]
    np.testing.assert_allclose(*(np.sum(m.objective_) for m in models), rtol=1e-6)


@pytest.mark.parametrize("kernel", ["linear", RBF(0.2)], ids=str)
@pytest.mark.parametrize(
    "block", [VirtualSamples, VirtualSupportVectors, InvarianceHint], ids=lambda block: block.__name__
)
def test_blocks_on_orbits_take_deletions(bent, block, kernel):
    X, y = bent
    listed = FromFunction(deleted, thetas=-subsets(2, 4)[1:])
    ours, other = (PriorSVC(block(t), kernel=kernel).fit(X, y) for t in (FeatureDeletion(2), listed))
    assert ours.objective_ == pytest.approx(other.objective_, rel=1e-6)
    [found], [expected] = (m.verify(X).stability.values() for m in (ours, other))
    assert_allclose(found.lead, expected.lead, rtol=0, atol=1e-3)


def test_verify_finds_the_deletions_that_change_the_class(bent):
    X, y = bent
    model = PriorSVC(InvariantLoss(FeatureDeletion(2)), kernel=RBF(0.2), C=2.0).fit(X, y)
    found = model.verify(X).stability["invariant_loss"]
    orbit = X[:, None] * (1.0 - subsets(2, 4))
    signed = np.sign(model.decision_function(X))[:, None] * model.decision_function(
        orbit.reshape(-1, 4)
    ).reshape(len(X), -1)
    np.testing.assert_allclose(found.lead, signed.min(axis=1), rtol=0, atol=1e-12)


def test_long_lists_of_deletions_are_refused(few):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 50))
    message = "20876 ways to delete up to k=3 of 50 features.* At most 4096 are listed: use a smaller k"
    with pytest.raises(MissingCapability, match=f"'invariant_loss': .*{message}.*kernel='linear', where"):
        PriorSVC(InvariantLoss(FeatureDeletion(3)), kernel="rbf").fit(X, few[1])
    for block in (VirtualSamples, VirtualSupportVectors, InvarianceHint):
        with pytest.raises(InvalidInput, match=message):
            PriorSVC(block(FeatureDeletion(3))).fit(X, few[1])


@pytest.mark.parametrize(
    ("block", "error", "message"),
    [
        (
            InvariantLoss(FeatureScaling(1)),
            MissingCapability,
            "FeatureScaling has a continuous range of factors, .* kernel model.*kernel='linear'",
        ),
        (
            InvariantLoss(FeatureDeletion(1), method="closed"),
            InvalidInput,
            "method='closed' requires a linear model",
        ),
        (InvariantLoss(FeatureDeletion(1), cost=0.5), InvalidInput, "cost has no meaning"),
        (InvariantLoss(FeatureDeletion(1), continuous=True), InvalidInput, "continuous has no meaning"),
    ],
)
def test_what_kernel_models_refuse(few, block, error, message):
    with pytest.raises(error, match=message):
        PriorSVC(block, kernel="rbf").fit(*few)


def test_nystroem_needs_the_list_before_the_fit(few):
    with pytest.raises(InvalidInput, match=r"n_centres draws the centres .*method='columns'"):
        PriorSVC(InvariantLoss(FeatureDeletion(1), method="columns"), kernel="rbf", n_centres=5).fit(*few)
