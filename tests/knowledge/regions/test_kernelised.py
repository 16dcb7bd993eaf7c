"""The published kernel form of Polyhedron, and that it is not sound."""

import cvxpy as cp
import numpy as np
import pytest

from priorsvm import Polyhedron, Polynomial, PriorSVC
from priorsvm.errors import UnsoundMethod


@pytest.fixture(scope="module")
def xor():
    rng = np.random.default_rng(3)
    X = rng.uniform(-1, 1, size=(30, 2))
    return X, (X[:, 0] * X[:, 1] > 0).astype(int)


SQUARE = np.vstack([np.eye(2), -np.eye(2)]), np.array([-0.2, -0.2, 0.8, 0.8])  # [-.8, -.2]^2


def quadratic(X):
    """Features whose inner product is (1 + x.z)^2."""
    u, v = X.T
    root = np.sqrt(2)
    return np.column_stack([np.ones(len(X)), root * u, root * v, u**2, v**2, root * u * v])


def eqs_50_to_52(X, y, B, d, sign, C, mu, mu_residual, hard):
    """Return the optimum of the model of the kernel (1 + x.z)^2, with the rows of B as points."""
    P, Q = quadratic(X), quadratic(B)
    w, b, xi = cp.Variable(6), cp.Variable(), cp.Variable(len(y), nonneg=True)
    u = cp.Variable(len(B), nonneg=True)
    objective = 0.5 * cp.sum_squares(w) + C * cp.sum(xi)
    constraints = [cp.multiply(np.where(y == 1, 1.0, -1.0), P @ w + b) >= 1 - xi]
    if mu_residual is None:
        constraints.append(Q.T @ u + sign * w == 0)  # P has full column rank
    else:
        objective += mu_residual * cp.norm1(P @ (Q.T @ u + sign * w))
    if hard:
        constraints.append(d @ u - sign * b + 1 <= 0)
    else:
        objective += mu * cp.pos(d @ u - sign * b + 1)
    return cp.Problem(cp.Minimize(objective), constraints).solve(solver="CLARABEL")


@pytest.mark.filterwarnings("ignore::priorsvm.errors.CollapsedModel")
@pytest.mark.parametrize("label", [0, 1])
@pytest.mark.parametrize(("mu_residual", "hard"), [(None, True), (None, False), (0.01, False), (1.0, False)])
def test_kernelised_is_the_published_programme(xor, label, mu_residual, hard):
    X, y = xor
    C = 2.0
    residual = None if mu_residual is None else mu_residual / C
    block = Polyhedron(*SQUARE, label, mu=0.5 / C, mu_residual=residual, hard=hard, method="kernelised")
    with pytest.warns(UnsoundMethod, match="coefficients, not the points"):
        model = PriorSVC(block, C=C, kernel=Polynomial(2, gamma=1.0, coef0=1.0)).fit(X, y)
    value = eqs_50_to_52(X, y, *SQUARE, 1 if label else -1, C, 0.5, mu_residual, hard)
    assert model.objective_ == pytest.approx(value, rel=1e-6)


def test_kernelised_breaks_its_promise_where_others_keep_it(xor):
    X, y = xor
    kernel = Polynomial(2, gamma=1.0, coef0=1.0)
    line = np.linspace(-0.8, -0.2, 101)
    grid = np.array(np.meshgrid(line, line)).reshape(2, -1).T
    with pytest.warns(UnsoundMethod):
        published = PriorSVC(Polyhedron(*SQUARE, 1, hard=True, method="kernelised"), kernel=kernel).fit(X, y)
    assert published.decision_function(grid).min() < 0.7
    verdict = published.verify()["polyhedron"]
    assert not verdict.holds
    assert verdict.worst == pytest.approx(published.decision_function(grid).min() - 1, abs=2e-3)
    for method, slack in (("cuts", 1.1e-4), ("guaranteed", 1e-6)):
        model = PriorSVC(Polyhedron(*SQUARE, 1, hard=True, method=method), kernel=kernel).fit(X, y)
        assert model.decision_function(grid).min() > 1 - slack
        assert model.verify()["polyhedron"].holds
        assert model.score(X, y) > 0.8
