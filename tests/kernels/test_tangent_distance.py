"""Tangent distance against least squares pair by pair, its special cases, and inside the model."""

from __future__ import annotations

from itertools import pairwise

import cvxpy as cp
import numpy as np
import pytest
from scipy.optimize import lsq_linear
from sklearn.svm import SVC

from priorsvm import Box, ClassCosts, FeatureDeletion, PriorSVC, Shift
from priorsvm.errors import InvalidInput, InvalidType, KernelNotPSD
from priorsvm.kernels import RBF, TangentDistance, TangentVector
from priorsvm.kernels import tangent_distance as module
from priorsvm.transforms import Transform


class Along(Transform):
    """The tangents are fixed linear maps of x: (M_1 x, ..., M_q x)."""

    def __init__(self, maps):
        self.maps = maps

    def tangents(self, X):
        return np.einsum("kde,ne->nkd", np.asarray(self.maps, float), np.asarray(X, float))


rng = np.random.default_rng(0)
D, Q = 20, 3
maps = rng.normal(size=(Q, D, D)) / 3
transform = Along(maps)
A, B = rng.normal(size=(8, D)), 3 + rng.normal(size=(11, D))
A.flags.writeable = B.flags.writeable = False


def least(columns, right, ridge=0.0, bounds=None):
    """min |right - columns p|² + ridge |p|², by lstsq or lsq_linear."""
    q = columns.shape[1]
    M = np.vstack([columns, np.sqrt(ridge) * np.eye(q)])
    r = np.append(right, np.zeros(q))
    p = (
        np.linalg.lstsq(M, r, rcond=None)[0]
        if bounds is None
        else lsq_linear(M, r, np.tile(bounds, (1, q // Q)), method="bvls", tol=1e-14).x
    )
    return ((r - M @ p) ** 2).sum()


def by_loop(A, B, sides, ridge=0.0, bounds=None):
    L, M = transform.tangents(A), transform.tangents(B)
    D = np.empty((len(A), len(B)))
    for i in range(len(A)):
        for j in range(len(B)):
            delta = A[i] - B[j]
            if sides == 2:
                D[i, j] = least(np.vstack([-L[i], M[j]]).T, delta, ridge, bounds)
            else:
                D[i, j] = sum(least(t.T, delta, ridge, bounds) for t in (-L[i], M[j])) / 2
    return D


@pytest.mark.parametrize("sides", [1, 2])
@pytest.mark.parametrize("ridge", [0.0, 0.5, 30.0])
def test_the_closed_form_is_least_squares_pair_by_pair(sides, ridge):
    kernel = TangentDistance(0.1, transform, sides, ridge)
    np.testing.assert_allclose(-np.log(kernel(A, B)) / 0.1, by_loop(A, B, sides, ridge), rtol=1e-10)
    np.testing.assert_allclose(-np.log(kernel(A)) / 0.1, by_loop(A, A, sides, ridge), rtol=1e-9, atol=1e-11)


BOUNDS = np.array([[-0.2, 0.1, -np.inf], [0.3, 0.1, 0.2]])
BOUNDS[0, 1] = -0.1


@pytest.mark.parametrize("sides", [1, 2])
@pytest.mark.parametrize("ridge", [0.0, 0.5])
@pytest.mark.parametrize("steps", [30, 0])
def test_with_bounds_it_is_bounded_least_squares_pair_by_pair(sides, ridge, steps, monkeypatch):
    monkeypatch.setattr(module, "STEPS", steps)  # without a step all pairs are left to scipy
    kernel = TangentDistance(0.1, transform, sides, ridge, bounds=BOUNDS.T.tolist())
    np.testing.assert_allclose(-np.log(kernel(A, B)) / 0.1, by_loop(A, B, sides, ridge, BOUNDS), rtol=1e-9)
    np.testing.assert_array_equal(kernel(A), kernel(A).T)


@pytest.mark.parametrize("ridge", [0.0, 0.5])
@pytest.mark.parametrize("bounds", [None, BOUNDS], ids=["free", "bounds"])
def test_the_one_sided_distance_transforms_the_second_row_only(ridge, bounds):
    given = None if bounds is None else bounds.T.tolist()
    kernel = TangentDistance(0.1, transform, 1, ridge, given, symmetric=False)
    for rows in (B, A):
        M = transform.tangents(rows)
        expected = [[least(t.T, x - z, ridge, bounds) for z, t in zip(rows, M, strict=True)] for x in A]
        np.testing.assert_allclose(-np.log(kernel(A, rows)) / 0.1, expected, rtol=1e-9, atol=1e-11)
    mean = TangentDistance(0.1, transform, 1, ridge, given)
    one, other = kernel(A, B), kernel(B, A).T
    assert np.abs(one - other).max() > 1e-3 * one.max()
    np.testing.assert_allclose(np.sqrt(one * other), mean(A, B), rtol=1e-9)
    assert (kernel.symmetric, mean.symmetric) == (False, True)


def test_the_one_sided_distance_with_a_ridge_is_the_tangent_vector_kernel():
    kernel = TangentDistance(0.1, transform, 1, ridge=1 / (2 * 0.1 * 0.7**2), symmetric=False)
    np.testing.assert_allclose(kernel(A, B), TangentVector(0.1, transform, spread=0.7)(A, B), rtol=1e-10)


def test_new_rows_of_the_one_sided_distance_have_no_tangents():
    class Counted(Along):
        """Records the rows whose tangents are computed."""

        def tangents(self, X):
            seen.append(len(X))
            return super().tangents(X)

    seen = []
    TangentDistance(0.1, Counted(maps), 1, symmetric=False)(A, B)
    assert seen == [len(B)]


def test_bounds_are_active_for_some_pairs_and_scipy_is_not_needed(monkeypatch):
    free, bound = TangentDistance(0.1, transform), TangentDistance(0.1, transform, bounds=0.4)
    monkeypatch.setattr(module, "lsq_linear", None)
    nearer = free(A, B) > bound(A, B) * (1 + 1e-9)
    assert nearer.any()
    wide = TangentDistance(0.1, transform, bounds=1e4)
    np.testing.assert_allclose(wide(A, B), free(A, B), rtol=1e-9)
    narrow = TangentDistance(0.1, transform, bounds=1e-12)
    np.testing.assert_allclose(narrow(A, B), RBF(gamma=0.1)(A, B), rtol=1e-9)


@pytest.mark.parametrize("sides", [1, 2])
@pytest.mark.parametrize("bounds", [None, 1.0])
@pytest.mark.parametrize("maps", [np.zeros((0, D, D)), np.zeros((2, D, D))], ids=["no", "zero"])
def test_without_tangents_it_is_rbf(sides, bounds, maps):
    kernel = TangentDistance(0.1, Along(maps), sides, bounds=bounds)
    np.testing.assert_allclose(kernel(A, B), RBF(gamma=0.1)(A, B), rtol=1e-13)
    np.testing.assert_allclose(kernel(A), RBF(gamma=0.1)(A), rtol=1e-13)


@pytest.mark.parametrize("sides", [1, 2])
def test_equal_tangents_project_the_difference(sides):
    V = np.linalg.qr(rng.normal(size=(D, Q)))[0].T
    rest = np.eye(D) - V.T @ V
    kernel = TangentDistance(0.1, Shift(V), sides)
    np.testing.assert_allclose(kernel(A, B), RBF(gamma=0.1)(A @ rest, B @ rest), rtol=1e-12)


@pytest.mark.parametrize("sides", [1, 2])
def test_tangents_that_depend_on_each_other_count_once(sides):
    twice = Along(np.concatenate([maps, maps[:1] + maps[1:2], 2 * maps[2:]]))
    np.testing.assert_allclose(
        TangentDistance(0.1, twice, sides)(A, B), TangentDistance(0.1, transform, sides)(A, B), rtol=1e-9
    )


def test_more_tangents_than_columns_leave_no_distance():
    everything = Along(rng.normal(size=(D + 2, D, D)))
    np.testing.assert_allclose(TangentDistance(0.1, everything)(A, B), 1.0, atol=1e-10)


def test_two_sides_are_nearer_than_one_and_one_nearer_than_none():
    none, one, two = (
        by(A, B) for by in (RBF(0.1), TangentDistance(0.1, transform, 1), TangentDistance(0.1, transform))
    )
    assert (two >= one - 1e-12).all()
    assert (one >= none - 1e-12).all()
    assert (two > one + 1e-6).any()


def test_a_large_ridge_is_rbf_and_moves_shrink_with_it():
    values = [TangentDistance(0.1, transform, ridge=ridge)(A, B) for ridge in (0.0, 0.1, 1.0, 10.0, 1e12)]
    assert all((b <= a + 1e-13).all() for a, b in pairwise(values))
    np.testing.assert_allclose(values[-1], RBF(gamma=0.1)(A, B), rtol=1e-8)


@pytest.mark.parametrize("sides", [1, 2])
@pytest.mark.parametrize("bounds", [None, 0.3])
def test_blocks_of_any_size_agree(sides, bounds, monkeypatch):
    kernel = TangentDistance(0.1, transform, sides, bounds=bounds)
    many = np.vstack([A, B])
    before = kernel(many, A), kernel(many)
    monkeypatch.setattr(module, "ROWS", 2)
    monkeypatch.setattr(module, "COLUMNS", 3)
    np.testing.assert_allclose(kernel(many, A), before[0], rtol=1e-12)
    np.testing.assert_allclose(kernel(many), before[1], rtol=1e-12)


def test_rows_far_from_the_origin_keep_their_digits():
    V = rng.normal(size=(2, D))
    kernel = TangentDistance(0.1, Shift(V))
    np.testing.assert_allclose(kernel(A + 1e5, B + 1e5), kernel(A, B), rtol=1e-9)


def test_words_for_gamma_mean_what_they_mean_in_rbf():
    assert TangentDistance("scale", transform).resolved(A).gamma == RBF().resolved(A).gamma
    assert TangentDistance("auto", transform).resolved(A).gamma == 1 / D
    clipped = TangentDistance("scale", transform, psd="clip").resolved(A)
    np.testing.assert_allclose(
        clipped(B, A), TangentDistance(RBF().resolved(A).gamma, transform, psd="clip").resolved(A)(B, A)
    )
    with pytest.raises(InvalidInput, match="TangentDistance: gamma='scale' depends on the training rows"):
        TangentDistance("scale", transform)(A)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"gamma": -1.0}, InvalidInput, "TangentDistance: gamma is -1.0; expected a positive number"),
        ({"sides": 3}, InvalidInput, "TangentDistance: sides is 3; expected 1 or 2"),
        ({"symmetric": None}, InvalidInput, "symmetric is None; expected True or False"),
        ({"symmetric": False}, InvalidInput, "TangentDistance: symmetric=False requires sides=1"),
        ({"ridge": -1.0}, InvalidInput, "TangentDistance: ridge is -1.0; expected a nonnegative number"),
        (
            {"bounds": -1.0},
            InvalidInput,
            r"bounds is -1.0; expected a positive number, or 3 pairs \(low, high\)",
        ),
        ({"bounds": [(-1, 1)]}, InvalidInput, r"bounds is \[\(-1, 1\)\]; .* 3 pairs"),
        ({"bounds": [(1, 2)] * 3}, InvalidInput, r"bounds is .* with low <= 0 <= high"),
        ({"bounds": "span"}, InvalidInput, "bounds is 'span'; expected a positive number"),
        ({"transform": "shift"}, InvalidType, "TangentDistance: transform is 'shift'; expected a Transform"),
        (
            {"transform": FeatureDeletion(2)},
            InvalidInput,
            "FeatureDeletion.* is discrete and has no tangents",
        ),
        ({"psd": "flip"}, InvalidInput, "TangentDistance: psd is 'flip'; expected None, 'clip' or 'shift'"),
    ],
    ids=str,
)
def test_wrong_parameters_are_named(arguments, error, message):
    kernel = TangentDistance(**{"gamma": 0.1, "transform": transform, **arguments})
    with pytest.raises(error, match=message):
        kernel(A)


# ---------------------------------------------------------------------- inside the model

turn = Along([np.diag([-1.0, 0.0, 0.0], 1) + np.diag([1.0, 0.0, 0.0], -1)])
X = np.random.default_rng(3).normal(size=(40, 4))
y = np.where(X[:, 2] + X[:, 3] > 0, 1, -1)
Z = np.random.default_rng(4).normal(size=(9, 4))
region = Box({0: (1.8, 2.0), 1: (1.8, 2.0), 2: (1.0, 1.2), 3: (0.5, 1.0)}, 1, hard=True)


@pytest.mark.slow
@pytest.mark.parametrize("sides", [1, 2])
@pytest.mark.parametrize(
    ("norm", "psd"), [("l1", None), ("l1", "clip"), ("l2", "clip")], ids=["l1", "l1 clip", "l2 clip"]
)
def test_with_a_region_and_costs(sides, norm, psd):
    kernel = TangentDistance(0.5, turn, sides, psd=psd)
    model = PriorSVC(region + ClassCosts({1: 2.0}), kernel=kernel, norm=norm).fit(X, y)
    assert model.status_ == "optimal"
    assert (
        model.decision_function([[1.8, 1.8, 1.0, 1.0], [2.0, 1.8, 1.2, 0.5], [1.9, 1.9, 1.1, 0.7]]).min()
        > 1 - 1e-3
    )
    assert model.verify()["box"].holds is not False
    assert model.score(X, y) > 0.9


@pytest.mark.parametrize("bounds", [None, 0.3])
def test_the_1_norm_with_the_one_sided_distance_is_a_linear_programme(bounds):
    kernel = TangentDistance(0.5, turn, 1, bounds=bounds, symmetric=False)
    model = PriorSVC(kernel=kernel, norm="l1", C=2.0).fit(X, y)
    K = kernel(X)
    beta, b = cp.Variable(len(X)), cp.Variable()
    loss = cp.norm1(beta) + 2.0 * cp.sum(cp.pos(1 - cp.multiply(y, K @ beta + b)))
    optimum = cp.Problem(cp.Minimize(loss)).solve(solver=cp.CLARABEL)
    np.testing.assert_allclose(model.objective_, optimum, rtol=1e-6)
    by_hand = kernel(Z, model.centres_) @ model.dual_coef_[0] + model.intercept_
    np.testing.assert_allclose(model.decision_function(Z), by_hand, atol=1e-12)


@pytest.mark.parametrize("sides", [{}, {"sides": 1, "symmetric": False}], ids=["two", "one"])
@pytest.mark.parametrize("psd", ["clip", "shift"])
def test_the_2_norm_with_costs_is_the_svm_on_the_corrected_matrix(psd, sides):
    kernel = TangentDistance(0.5, turn, **sides, psd=psd)
    model = PriorSVC(ClassCosts({1: 2.0}), kernel=kernel).fit(X, y)
    known = kernel.resolved(X)
    reference = SVC(kernel="precomputed", class_weight={1: 2.0}, tol=1e-10).fit(known(X), y)
    np.testing.assert_allclose(
        model.decision_function(Z), reference.decision_function(known(Z, X)), atol=1e-5
    )


def test_the_2_norm_alone_is_refused():
    with pytest.raises(
        KernelNotPSD, match=r"(?s)TangentDistance.*not positive definite.*norm='l1'.*psd='clip' or"
    ):
        PriorSVC(kernel=TangentDistance(0.5, turn)).fit(X, y)


def test_scaled_rows_are_refused():
    with pytest.raises(
        InvalidInput, match=r"(?s)TangentDistance.* transforms rows .*scale='standard'.* Use scale=None"
    ):
        PriorSVC(kernel=2 * TangentDistance(0.5, turn), norm="l1", scale="standard").fit(X, y)


@pytest.mark.parametrize("psd", ["clip", "shift"])
def test_several_classes_are_scored_from_one_matrix(psd):
    sizes = []

    class Counted(Along):
        """Records the number of rows of each call."""

        def tangents(self, X):
            sizes.append(len(X))
            return super().tangents(X)

    labels = np.digitize(X[:, 2], [-0.5, 0.5])
    kernel = TangentDistance(0.5, Counted(turn.maps), psd=psd)
    one_by_one = [PriorSVC(kernel=kernel).fit(X, labels == k).decision_function(Z) for k in range(3)]
    model = PriorSVC(kernel=kernel).fit(X, labels)
    sizes.clear()
    np.testing.assert_allclose(model.decision_function(Z), np.column_stack(one_by_one), atol=1e-10)
    assert sizes.count(len(Z)) == 1
