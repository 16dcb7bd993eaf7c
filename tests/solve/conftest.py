"""Problems of the joint model and their independent solutions, shared by its tests."""

import cvxpy as cp
import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel

SHARP = {"tol_gap_abs": 1e-12, "tol_gap_rel": 1e-12, "tol_feas": 1e-12}
GAMMA = 0.15


@pytest.fixture(scope="session")
def draw():
    """Function that returns rows around K corners, and their classes."""
    return _draw


@pytest.fixture(scope="session")
def literal():
    """Function that solves the problem with every transformation of every row against every other class."""
    return _literal


@pytest.fixture(scope="session")
def primal():
    """Function that returns the objective at the coefficients of a linear model."""
    return _primal


def _features_of(points, kernel):
    """Return coordinates whose inner products are the kernel matrix of these points."""
    if kernel == "linear":
        return points
    size, vectors = np.linalg.eigh(rbf_kernel(points, gamma=GAMMA))
    kept = size > 1e-11 * size[-1]
    return vectors[:, kept] * np.sqrt(size[kept])


def _draw(n=24, d=3, K=3, seed=0, noise=0.8):
    """Return rows around K corners, and their classes."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % K
    return 1.5 * np.eye(K, d)[y] + noise * rng.normal(size=(n, d)), y


def _literal(
    orbit, y, C=1.0, kernel="linear", demand=None, scaling="margin", rho=1.0, cost=1.0, confusion=None
):
    """Return the optimum, and f at all members of all orbits."""
    n, s, d = orbit.shape
    K = int(y.max()) + 1
    confusion = np.ones((K, K)) if confusion is None else confusion
    demand = np.ones(s) if demand is None else demand
    rho, cost = np.broadcast_to(rho, n), np.broadcast_to(cost, n)
    features = _features_of(orbit.reshape(n * s, d), kernel)
    of, move = np.divmod(np.arange(n * s), s)
    W, xi = cp.Variable((features.shape[1], K)), cp.Variable(n, nonneg=True)
    f = features @ W
    true = cp.sum(cp.multiply(f, np.eye(K)[y[of]]), axis=1)
    asked = []
    for k in range(K):
        held = np.flatnonzero(y[of] != k)
        lead, i = true[held] - f[held, k], of[held]
        delta = demand[move[held]] * confusion[y[i], k]
        if scaling == "margin":
            asked.append(lead >= delta * rho[i] - xi[i])
        else:
            asked.append(cp.multiply(delta, rho[i] - lead) <= xi[i])
    problem = cp.Problem(cp.Minimize(0.5 * cp.sum_squares(W) + C * (cost @ xi)), asked)
    problem.solve(solver="CLARABEL", **SHARP)
    return problem.value, f.value.reshape(n, s, K)


def _primal(model, orbit, y, C=1.0, demand=1.0):
    """Return the objective, computed by hand."""
    f = orbit @ model.coef_.T
    lead = np.take_along_axis(f, y[:, None, None].repeat(orbit.shape[1], 1), axis=2) - f
    asked = np.broadcast_to(demand, orbit.shape[1])[None, :, None] - lead
    asked[np.arange(len(y)), :, y] = 0.0
    return 0.5 * np.sum(model.coef_**2) + C * np.maximum(asked, 0.0).max(axis=(1, 2)).sum()
