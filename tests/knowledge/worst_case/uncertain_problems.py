"""Problems of uncertain rows, written out in cvxpy."""

from collections.abc import Callable
from typing import NamedTuple

import cvxpy as cp
import numpy as np
import pytest
from scipy.stats import norm

N = 40


GAMMA = norm.ppf(0.9)


WIDTH = 0.4


DIGITS = {"tol_gap_abs": 1e-11, "tol_gap_rel": 1e-11, "tol_feas": 1e-11}


FEWER = dict.fromkeys(DIGITS, 1e-10)  # as many as there are with the squared hinge


SHARP = {"solver": "CLARABEL", "solver_options": DIGITS}


def signs(y):
    return np.where(y == np.max(y), 1.0, -1.0)


class Own(NamedTuple):
    """The optimum of a problem written out here, and its objective at any w and b."""

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


def own_norm(X, y, A, C=1.0):
    """One covariance for all rows: a single norm is added to every margin."""
    w, b, xi, t = cp.Variable(X.shape[1]), cp.Variable(), cp.Variable(len(y), nonneg=True), cp.Variable()
    fits = cp.multiply(signs(y), X @ w + b) >= 1 + GAMMA * t - xi
    problem = cp.Problem(cp.Minimize(0.5 * cp.sum_squares(w) + C * cp.sum(xi)), [fits, cp.norm(A.T @ w) <= t])
    problem.solve(solver="CLARABEL", **DIGITS)

    def at(w, b):
        short = 1 + GAMMA * np.linalg.norm(A.T @ w) - signs(y) * (X @ w + b)
        return 0.5 * w @ w + C * np.maximum(short, 0.0).sum()

    return Own(problem.value, w.value, at)


def is_own(model, own, atol=1e-5, k=0):
    """Assert that w and b of the model are optimal in the problem written out here.

    The error of w is about the square root of the error of the objective; b need not be unique.
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
    """The minimum of y f on each ellipsoid for a linear model."""
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


def slacks(model):
    [xi] = [v for v in model.problem.variables() if v.name() == "xi"]
    return xi.value


NAMES = ["dose", "age", "weight"]
