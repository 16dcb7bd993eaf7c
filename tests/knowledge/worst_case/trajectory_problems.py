"""Problems of trajectories, written out in cvxpy, and their data."""

import warnings

import cvxpy as cp
import numpy as np
from numpy.polynomial import Polynomial as Poly

from priorsvm import (
    FromFunction,
    PriorSVC,
    Trajectories,
)

TIGHT = {"solver": "CLARABEL", "tol_gap_abs": 1e-11, "tol_gap_rel": 1e-11, "tol_feas": 1e-11}


FINE = {"C": 2.0, "tol": 1e-9}


def signs(y):
    return np.where(y == np.max(y), 1.0, -1.0)


def paths(degree, line=False, n=24, d=4, seed=0):
    """Rows X, classes y, and polynomials in theta through X; on the line they leave the other class."""
    rng = np.random.default_rng(seed)
    y = np.tile([0, 1], n // 2)
    X = rng.normal(size=(n, d))
    X[:, 0] += signs(y)
    coefficients = np.zeros((n, degree + 1, d))
    coefficients[:, 0] = X
    for j in range(1, degree + 1):
        coefficients[:, j] = 0.4 / j * rng.normal(size=(n, d))
    if line and degree > 1:
        away = np.concatenate([[1.0], 0.1 * rng.normal(size=d - 1)])
        coefficients[:, -1] = signs(y)[:, None] * rng.uniform(0.1, 0.5, size=(n, 1)) * away
    elif line and degree == 1:  # one direction is constant
        coefficients[:, 1, 0] = 0.0
    return X, y, coefficients


def along(coefficients, thetas):
    """The points of all paths at all thetas, (n, k, d)."""
    powers = np.vander(thetas, coefficients.shape[1], increasing=True)
    return np.einsum("kj,njd->nkd", powers, coefficients)


class Own:
    """The SVM without any block: variables, objective, and a list of constraints."""

    def __init__(self, y, d, C=2.0, cost=1.0, rho=1.0, norm="l2", loss="hinge", width=1.0):
        n = len(y)
        self.y, self.rho = signs(y), np.broadcast_to(rho, n)
        self.w, self.b, self.xi = cp.Variable(d), cp.Variable(), cp.Variable(n, nonneg=True)
        inner = cp.multiply(np.broadcast_to(width, d), self.w)
        size = 0.5 * cp.sum_squares(inner) if norm == "l2" else cp.norm1(inner)
        paid = self.xi if loss == "hinge" else cp.square(self.xi)
        self.objective = size + C * (np.broadcast_to(cost, n) @ paid)
        self.constraints = []

    def at(self, points, rows=None, part=1.0):
        """Add the margins at points: (n, k, d), or (m, d) with the row of each point."""
        if rows is None:
            rows, points = np.repeat(np.arange(len(points)), points.shape[1]), np.concatenate(points)
        part = np.broadcast_to(part, len(rows))
        values = (part[:, None] * points) @ self.w + part * self.b
        left = cp.multiply(part, self.rho[rows] - self.xi[rows])
        self.constraints.append(cp.multiply(self.y[rows], values) >= left)
        return self

    def p(self, i, coefficients):
        """Return the coefficients of the nonnegative polynomial of row i, as cvxpy expressions."""
        p = [self.y[i] * (x @ self.w) for x in coefficients[i]]
        return [p[0] + self.y[i] * self.b - self.rho[i] + self.xi[i], *p[1:]]

    def solve(self):
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Solution may be inaccurate")  # the tolerance is 1e-11
            value = cp.Problem(cp.Minimize(self.objective), self.constraints).solve(**TIGHT)
        return float(value), self.w.value, float(self.b.value)


def on_a_grid(coefficients, y, thetas, **settings):
    return Own(y, coefficients.shape[2], **settings).at(along(coefficients, thetas)).solve()


def two_by_two(coefficients, y, **settings):
    """Degree 2 on the line: [[p0, p1/2], [p1/2, p2]] is positive semidefinite, row by row."""
    own = Own(y, coefficients.shape[2], **settings)
    for i in range(len(y)):
        p = own.p(i, coefficients)
        G = cp.Variable((2, 2), PSD=True)
        own.constraints += [G[0, 0] == p[0], 2 * G[0, 1] == p[1], G[1, 1] == p[2]]
    return own.solve()


def three_by_three(coefficients, y, tau, **settings):
    """Degree 2 on [-tau, tau], Nesterov's form: q(t) = (1 + t^2)^2 p(tau (2 t^2 / (1 + t^2) - 1)) >= 0."""
    own = Own(y, coefficients.shape[2], **settings)
    for i in range(len(y)):
        p = own.p(i, coefficients)
        G = cp.Variable((3, 3), PSD=True)
        own.constraints += [
            G[0, 0] == p[0] - tau * p[1] + tau**2 * p[2],
            2 * G[0, 2] + G[1, 1] == 2 * (p[0] - tau**2 * p[2]),
            G[2, 2] == p[0] + tau * p[1] + tau**2 * p[2],
            G[0, 1] == 0,
            G[1, 2] == 0,
        ]
    return own.solve()


def column_generation(coefficients, y, span, rho=1.0, **settings):
    """Add the lowest point of every polynomial, by the roots of its derivative, until none is violated."""
    n, r, d = coefficients.shape[0], coefficients.shape[1] - 1, coefficients.shape[2]
    rows, thetas = list(range(n)), [0.0] * n
    rho = np.broadcast_to(rho, n)
    for _ in range(60):
        own = Own(y, d, rho=rho, **settings)
        if span == "line":
            own.constraints.append(cp.multiply(own.y, coefficients[:, r] @ own.w) >= 0)
        owner, theta = np.array(rows), np.array(thetas)
        points = np.einsum("kj,kjd->kd", np.vander(theta, r + 1, increasing=True), coefficients[owner])
        value, w, b = own.at(points, owner, (1 + theta**2) ** (-r / 2)).solve()
        violated = False
        for i in range(n):
            p = Poly(own.y[i] * (coefficients[i] @ w))
            p.coef[0] += own.y[i] * b - rho[i] + own.xi.value[i]
            critical = [t.real for t in p.deriv().roots() if abs(t.imag) < 1e-9]
            if span != "line":
                critical = [t for t in critical if span[0] < t < span[1]] + list(span)
            lowest = min(critical, key=lambda t: p(t) * (1 + t**2) ** (-r / 2))
            if p(lowest) * (1 + lowest**2) ** (-r / 2) < -1e-9:
                violated = True
                rows.append(i)
                thetas.append(lowest)
        if not violated:
            return value, w, b
    raise AssertionError("column generation did not end")


def turn(X, angle):
    """Rows of (a, b) turned about the origin; further columns stay."""
    c, s = np.cos(angle), np.sin(angle)
    return np.column_stack([c * X[:, 0] - s * X[:, 1], s * X[:, 0] + c * X[:, 1], X[:, 2:]])


def derivatives(X, degree):
    """The analytic Taylor coefficients of the rotation about 0."""
    found, factorial = [X], 1.0
    for j in range(1, degree + 1):
        factorial *= j
        moving = turn(X, j * np.pi / 2) / factorial
        moving[:, 2:] = 0.0
        found.append(moving)
    return np.stack(found, axis=1)


TURNS = FromFunction(turn, [-0.5, 0.5])


def lagrange(nodes, u):
    """The Lagrange polynomials of the nodes at u, (k, m)."""
    return np.array(
        [np.prod([(u - z) / (x - z) for z in nodes if z != x], axis=0) * np.ones_like(u) for x in nodes]
    ).T


def fitted(coefficients, X, y, span=(-1.0, 1.0), degree=None, **settings):
    block = Trajectories(degree=degree, span=span, coefficients=coefficients)
    return PriorSVC(block, **{**FINE, **settings}).fit(X, y)


def labels(model):
    """The labels of all constraints."""
    return [label for label, _, _ in model.formulation().constraints]


def slacks(model, X, y):
    """The slack of every training row: the variable of the problem, and at least the hinge loss."""
    [xi] = [v for v in model.problem.variables() if v.name() == "xi"]
    return np.maximum(xi.value, 1 - signs(y) * model.decision_function(X))


def expansion(model, y, width=1.0, shift=0.0, name="trajectories"):
    """sum a y x over the worst points, in the units of the model; points at infinity are directions."""
    worst = model.findings_[name]
    far = np.isinf(worst.thetas).reshape(len(worst.rows), -1).any(axis=1)
    points = (worst.points - np.where(far[:, None], 0.0, shift)) / width
    return (worst.weights * signs(y)[worst.rows]) @ points
