"""Cones and trajectories: the assembled problem against loops over rows, and fits against CLARABEL itself."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import clarabel  # type: ignore[import-untyped]
import cvxpy as cp
import numpy as np
from scipy import sparse
from scipy.stats import norm
from sklearn.datasets import load_digits, make_classification

from priorsvm import PriorSVC, Rotation, Trajectories, UncertainSamples

from .measure import Array, Row, Timing, finite, interleaved, refuse_trivial, same
from .regions import Assembly, through_cvxpy

# What the library asks of CLARABEL.
TOLERANCE = 1e-10
CONFIDENCE = 0.9


def direct(P: Any, q: Array, A: Any, b: Array, cones: list[Any]) -> tuple[Array, float]:
    """CLARABEL without CVXPY: minimise ½x'Px + q'x, Ax + s = b, s in the cones. The point and the value."""
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = TOLERANCE
    found = clarabel.DefaultSolver(P, q, A, b, cones, settings).solve()
    return np.array(found.x), finite(found.obj_val)


# ------------------------------------------------------------------ one ellipsoid for each row


def ellipsoids(n: int, d: int) -> tuple[Array, Array, Array]:
    """Rows, labels and one full covariance for each row."""
    X, labels = make_classification(
        n, d, n_informative=min(d, 20), n_redundant=0, n_clusters_per_class=1, flip_y=0.05, random_state=0
    )
    A = 0.3 * np.random.default_rng(0).normal(size=(n, d, d)) / np.sqrt(d)
    return X, labels, A @ A.swapaxes(1, 2)


def row_by_row(X: Array, y: Array, S: Array, C: float) -> cp.Problem:
    """y (w'x + b) ≥ 1 − ξ + γ‖A'w‖ for one row after the other."""
    w, b, xi = cp.Variable(X.shape[1]), cp.Variable(), cp.Variable(len(y), nonneg=True)
    factors, gamma = np.linalg.cholesky(S), norm.ppf(CONFIDENCE)
    constraints = [
        y[i] * (X[i] @ w + b) >= 1 - xi[i] + gamma * cp.norm(factors[i].T @ w) for i in range(len(y))
    ]
    return cp.Problem(cp.Minimize(0.5 * cp.sum_squares(w) + C * cp.sum(xi)), constraints)


def direct_cones(X: Array, y: Array, S: Array, C: float) -> tuple[Array, float]:
    """(y f − 1 + ξ, γ A'w) in one second-order cone of size d + 1 for each row; variables w, b, ξ."""
    n, d = X.shape
    block = np.empty((n, d + 1, d + 1))
    block[:, 0, :d], block[:, 0, d] = y[:, None] * X, y
    block[:, 1:, :d], block[:, 1:, d] = norm.ppf(CONFIDENCE) * np.linalg.cholesky(S).swapaxes(1, 2), 0.0
    top = sparse.csc_array((np.ones(n), (np.arange(n) * (d + 1), np.arange(n))), shape=(n * (d + 1), n))
    shared = sparse.csc_array(block.reshape(-1, d + 1))
    A = sparse.block_array([[-shared, -top], [None, -sparse.eye_array(n)]], format="csc")
    b = np.zeros(n * (d + 2))
    b[np.arange(n) * (d + 1)] = -1.0
    P = sparse.diags_array(np.repeat([1.0, 0.0], [d, 1 + n]), format="csc")
    q = np.repeat([0.0, C], [d + 1, n])
    cones = [clarabel.SecondOrderConeT(d + 1)] * n + [clarabel.NonnegativeConeT(n)]
    return direct(P, q, A, b, cones)


def cones(quick: bool) -> Iterator[Row]:
    """A full covariance for each row, linear model."""
    yield from _cones(*((100, 5) if quick else (1000, 10)), most=15)
    if not quick:
        yield from _cones(5000, 50, most=1)


def _cones(n: int, d: int, most: int, C: float = 1.0) -> Iterator[Row]:
    X, labels, S = ellipsoids(n, d)
    y = np.where(labels == 1, 1.0, -1.0)
    model = PriorSVC(UncertainSamples(S, confidence=CONFIDENCE), C=C, solver="CLARABEL")
    work = f"{n} cones of dimension {d}, linear"

    assemble, write = Assembly(model, X, labels), partial(row_by_row, X, y, S, C)
    timing = _writing(assemble, write, least=5)
    yield Row.of("cones", f"{work}: assembling", "a loop of cp.norm", timing, 0.02)
    if most > 1:
        ours, peer = (partial(through_cvxpy, each, "CLARABEL") for each in (assemble, write))
        timing = _writing(ours, peer, least=3)
        yield Row.of("cones", f"{work}: assembling, CVXPY", "a loop of cp.norm", timing, 0.1)
    yield _against_direct("cones", work, model, X, labels, partial(direct_cones, X, y, S, C), 1.5, most)


def _writing(ours: Callable[[], Any], peer: Callable[[], Any], least: int) -> Timing:
    """Without garbage collection, which would charge ours for the peer's thousands of constraints."""
    gc.collect()
    gc.disable()
    try:
        return interleaved(ours, peer, least, most=9)[0]
    finally:
        gc.enable()
        gc.collect()


def _against_direct(
    name: str,
    work: str,
    model: PriorSVC,
    X: Array,
    labels: Array,
    peer: Callable[[], tuple[Array, float]],
    target: float,
    most: int,
) -> Row:
    """Whole fits against CLARABEL on matrices written for the purpose."""
    timing, ours, (_, value) = interleaved(partial(model.fit, X, labels), peer, least=min(5, most), most=most)
    w, y = ours.coef_[0], np.where(labels == ours.classes_[1], 1.0, -1.0)
    refuse_trivial(ours.objective_, 0.5 * float(w @ w), y, np.full(len(y), ours.C))
    gap = same((ours.objective_ - value) / value)
    [solved] = ours.report_.solves
    share = 1 - solved["solve"] / float(np.median(timing.ours))
    note = f"{solved['iterations']} steps; all but CLARABEL {share:.0%}"
    return Row.of(name, f"{work}: fit", "CLARABEL, own matrices", timing, target, "P", gap, note)


# ------------------------------------------------------------------ one parabola for each row


def images(n: int) -> tuple[Array, Array]:
    """Digits of 8 × 8 pixels, 3 and 5 against 8."""
    X, digit = load_digits(return_X_y=True)
    kept = np.flatnonzero(np.isin(digit, (3, 5, 8)))[:n]
    return X[kept] / 16, digit[kept] == 8


def powers(points: Array) -> tuple[Array, Array, Array]:
    """What multiplies 1, u, u² on the parabola through the points at u = −1, 0, 1, an (n, 3, d) array."""
    before, middle, after = points.swapaxes(0, 1)
    return middle, (after - before) / 2, (after + before) / 2 - middle


def matrix_by_matrix(points: Array, y: Array, C: float) -> cp.Problem:
    """y f ≥ 1 − ξ on the line, row after row: [[p_0, p_1/2], [p_1/2, p_2]] is positive semidefinite."""
    n, _, d = points.shape
    x0, x1, x2 = powers(points)
    w, b, xi = cp.Variable(d), cp.Variable(), cp.Variable(n, nonneg=True)
    constraints = []
    for i in range(n):
        p0, p1, p2 = y[i] * (x0[i] @ w + b) - 1 + xi[i], y[i] * (x1[i] @ w), y[i] * (x2[i] @ w)
        constraints.append(cp.bmat([[p0, p1 / 2], [p1 / 2, p2]]) >> 0)
    return cp.Problem(cp.Minimize(0.5 * cp.sum_squares(w) + C * cp.sum(xi)), constraints)


def direct_parabolas(points: Array, y: Array, C: float, on_line: bool) -> tuple[Array, float]:
    """A cone (p_0 + p_2, p_1, p_0 − p_2 − 2s) for each row; variables w, b, ξ and, on a span, s."""
    n, _, d = points.shape
    x0, x1, x2 = (y[:, None] * x for x in powers(points))
    one, none = y[:, None], np.zeros((n, 1))
    shared = np.stack([np.hstack([x0 + x2, one]), np.hstack([x1, none]), np.hstack([x0 - x2, one])], axis=1)
    rows = 3 * np.arange(n)
    own = np.zeros((3, 2 - on_line))
    own[0, 0] = own[2, 0] = 1.0
    own[2, 1:] = -2.0
    private = [sparse.kron(sparse.eye_array(n), part[:, None], format="csc") for part in own.T]
    free = sparse.eye_array(n * own.shape[1])
    A = -sparse.block_array(
        [[sparse.csc_array(shared.reshape(3 * n, d + 1)), sparse.hstack(private)], [None, free]], format="csc"
    )
    b = np.zeros(A.shape[0])
    b[rows] = b[rows + 2] = -1.0
    q = np.zeros(A.shape[1])
    q[d + 1 : d + 1 + n] = C
    P = sparse.diags_array(np.repeat([1.0, 0.0], [d, len(q) - d]), format="csc")
    cones = [clarabel.SecondOrderConeT(3)] * n + [clarabel.NonnegativeConeT(free.shape[0])]
    return direct(P, q, A, b, cones)


def trajectories(quick: bool) -> Iterator[Row]:
    """Images that turn by ±10°, degree 2, linear model."""
    n, C = 60 if quick else 500, 1.0
    X, labels = images(n)
    y = np.where(labels, 1.0, -1.0)
    turn = Rotation((8, 8), degrees=10)
    points = np.stack([turn.apply(X, theta) for theta in (-10.0, 0.0, 10.0)], axis=1)
    for span in ("line", "transform"):
        model = PriorSVC(Trajectories(turn, degree=2, span=span), C=C, solver="CLARABEL")
        work = f"{n} parabolas, {'on the line' if span == 'line' else 'on a span'}, linear, d={X.shape[1]}"
        if span == "line":
            write = partial(matrix_by_matrix, points, y, C)
            both = (Assembly(model, X, labels), write)
            ours, peer = (partial(through_cvxpy, each, "CLARABEL") for each in both)
            timing = _writing(ours, peer, least=3)
            yield Row.of("trajectories", f"{work}: assembling, CVXPY", "a loop of 2 × 2 PSD", timing, 0.1)
            solve = partial(_value, write, "CLARABEL")
            timing, fitted, value = interleaved(partial(model.fit, X, labels), solve, least=3, most=5)
            gap = same((fitted.objective_ - value) / value)
            yield Row.of("trajectories", f"{work}: fit", "a loop of 2 × 2 PSD", timing, 0.1, "P", gap)
        matrices = partial(direct_parabolas, points, y, C, span == "line")
        yield _against_direct("trajectories", work, model, X, labels, matrices, 2.0, 15)


def _value(write: Callable[[], cp.Problem], solver: str) -> float:
    return finite(write().solve(solver=solver))
