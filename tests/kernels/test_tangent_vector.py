"""The tangent vector kernel against its Gaussian, its limits, and inside the model."""

from __future__ import annotations

import numpy as np
import pytest

from priorsvm import Box, ClassCosts, PriorSVC, Shift
from priorsvm.errors import InvalidInput, InvalidType, KernelNotPSD
from priorsvm.kernels import RBF, TangentVector
from priorsvm.transforms import Transform


class Along(Transform):
    """The tangents are fixed linear maps of x: (M_1 x, ..., M_q x)."""

    def __init__(self, maps):
        self.maps = maps

    def tangents(self, X):
        return np.einsum("kde,ne->nkd", np.asarray(self.maps, float), np.asarray(X, float))


rng = np.random.default_rng(0)
D, Q = 9, 3
transform = Along(rng.normal(size=(Q, D, D)) / 3)
A, B = rng.normal(size=(8, D)), 3 + rng.normal(size=(11, D))
A.flags.writeable = B.flags.writeable = False


@pytest.mark.parametrize(("gamma", "spread"), [(0.1, 0.3), (0.02, 1.0), (0.02, 10.0)])
def test_it_is_the_gaussian_of_its_covariance(gamma, spread):
    K = TangentVector(gamma, transform, spread)(A, B)
    for j, (z, L) in enumerate(zip(B, transform.tangents(B), strict=True)):
        precision = np.linalg.inv(np.eye(D) / (2 * gamma) + spread**2 * L.T @ L)
        squared = np.einsum("nd,de,ne->n", A - z, precision, A - z)
        np.testing.assert_allclose(K[:, j], np.exp(-squared / 2), rtol=1e-12)


def test_it_is_the_distance_with_a_ridge_on_the_parameters():
    gamma, spread = 0.05, 0.7
    rho = 1 / (2 * gamma * spread**2)
    K = TangentVector(gamma, transform, spread)(A, B)
    for j, (z, L) in enumerate(zip(B, transform.tangents(B), strict=True)):
        M = np.vstack([L.T, np.sqrt(rho) * np.eye(Q)])
        for i, x in enumerate(A):
            r = np.append(x - z, np.zeros(Q))
            b = np.linalg.lstsq(M, r, rcond=None)[0]
            np.testing.assert_allclose(K[i, j], np.exp(-gamma * ((r - M @ b) ** 2).sum()), rtol=1e-12)


def test_without_spread_it_is_rbf():
    np.testing.assert_allclose(TangentVector(0.1, transform, 0)(A, B), RBF(gamma=0.1)(A, B), rtol=1e-13)
    np.testing.assert_allclose(TangentVector(0.1, transform, 1e-9)(A, B), RBF(gamma=0.1)(A, B), rtol=1e-12)


def test_with_a_large_spread_it_projects_the_difference():
    V = np.linalg.qr(rng.normal(size=(D, Q)))[0].T
    rest = np.eye(D) - V.T @ V
    K = TangentVector(0.1, Shift(V), 1e8)(A, B)
    np.testing.assert_allclose(K, RBF(gamma=0.1)(A @ rest, B @ rest), rtol=1e-12)


def test_the_second_argument_brings_the_tangents():
    kernel = TangentVector(0.1, transform, 1.0)
    assert not kernel.symmetric
    assert np.abs(kernel(A, B) - kernel(B, A).T).max() > 1e-3
    np.testing.assert_array_equal(kernel.diag(A), np.ones(len(A)))
    clipped = TangentVector(0.1, transform, 1.0, psd="clip").resolved(A)
    mean = (kernel(A) + kernel(A).T) / 2
    values, U = np.linalg.eigh(mean)
    np.testing.assert_allclose(clipped(A), (U * np.maximum(values, 0)) @ U.T, atol=1e-9)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"gamma": 0.0}, InvalidInput, "TangentVector: gamma is 0.0; expected a positive number"),
        ({"spread": -1.0}, InvalidInput, "TangentVector: spread is -1.0; expected a nonnegative number"),
        ({"transform": Shift}, InvalidType, "TangentVector: transform is .*Shift.*; expected a Transform"),
    ],
    ids=str,
)
def test_wrong_parameters_are_named(arguments, error, message):
    with pytest.raises(error, match=message):
        TangentVector(**{"gamma": 0.1, "transform": transform, "spread": 1.0, **arguments})(A)


@pytest.mark.parametrize(("norm", "psd"), [("l1", None), ("l2", "clip")])
def test_with_a_region_and_costs(norm, psd):
    turn = Along([np.diag([-1.0, 0.0], 1) + np.diag([1.0, 0.0], -1)])
    X = np.random.default_rng(3).normal(size=(40, 3))
    y = np.where((X[:, :2] ** 2).sum(axis=1) > 1.4, 1, -1)
    region = Box({0: (1.8, 2.0), 1: (1.8, 2.0), 2: (1.0, 1.2)}, 1, hard=True)
    kernel = TangentVector(0.5, turn, 1.0, psd)
    model = PriorSVC(region + ClassCosts({1: 2.0}), C=10.0, kernel=kernel, norm=norm).fit(X, y)
    assert model.status_ == "optimal"
    assert model.decision_function([[1.8, 1.8, 1.0], [2.0, 1.8, 1.2], [1.9, 1.9, 1.1]]).min() > 1 - 1e-3
    assert model.score(X, y) > 0.9
    with pytest.raises(KernelNotPSD, match=r"(?s)TangentVector.*norm='l1'.*, or psd='clip' or psd='shift'"):
        PriorSVC(kernel=TangentVector(0.5, turn, 1.0)).fit(X, y)
