"""Linear models of many rows, and many cones, against the solvers people would take."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import cvxpy as cp
import numpy as np
from scipy import sparse
from sklearn.datasets import load_digits, make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

from priorsvm import Box, ClassCosts, Monotone, PriorSVC, Rotation, Trajectories, UncertainSamples
from priorsvm.schur.interface import solve

from .campaign import by_clarabel
from .measure import SAME, Array, Row, finite, interleaved, primal_objective, quietly, refuse_trivial, same
from .regions import Assembly
from .uncertain import CONFIDENCE, direct_parabolas, ellipsoids

# What SCHUR and QOCO are asked for.
TOLERANCE = 1e-9


def canonical(model: PriorSVC, X: Array, labels: Array) -> tuple[Any, ...]:
    """P, q, A, b and cones as CVXPY gives them to Clarabel."""
    data = Assembly(model, X, labels)().get_problem_data(cp.CLARABEL)[0]
    n = len(data["c"])
    return data.get("P", sparse.csc_array((n, n))), data["c"], data["A"], data["b"], data["dims"]


# ------------------------------------------------------------------ many rows


def rows(n: int, d: int) -> tuple[Array, Array]:
    return make_classification(  # type: ignore[no-any-return]
        n, d, n_informative=min(d, 20), n_redundant=0, n_clusters_per_class=1, flip_y=0.05, random_state=0
    )


def knowledge(X: Array, labels: Array, boxes: int = 10) -> Any:
    """Class costs, boxes around some rows and a monotone feature, all soft."""
    rng = np.random.default_rng(0)
    chosen = rng.choice(len(X), boxes, replace=False)
    low, high = (X[chosen] + sign * rng.uniform(0, 0.3, (boxes, X.shape[1])) for sign in (-1, 1))
    bounds = [dict(enumerate(zip(*ends, strict=True))) for ends in zip(low, high, strict=True)]
    return (
        ClassCosts({1: 2.0})
        + Box(bounds, labels[chosen].tolist(), holds="everywhere")
        + Monotone({0: 1}, holds="everywhere")
    )


def linear(quick: bool) -> Iterator[Row]:
    """A plain model, and one that is told things, against a plain one by LIBLINEAR."""
    n, d = (2000, 10) if quick else (100_000, 50)
    X, labels = rows(n, d)
    y, bound = np.where(labels == 1, 1.0, -1.0), np.ones(n)
    peer = partial(_liblinear, X, labels)
    for name, prior, target in (
        ("plain", None, 0.4),
        ("class costs, 10 boxes, a monotone feature", knowledge(X, labels), 1.0),
    ):
        model = PriorSVC(prior, C=1.0)
        timing, ours, known = interleaved(partial(model.fit, X, labels), peer, least=1, most=3)
        w = ours.coef_[0]
        if prior is None:
            refuse_trivial(ours.objective_, 0.5 * float(w @ w), y, bound)
            theirs = known.coef_[0]
            J = primal_objective(0.5 * float(theirs @ theirs), known.decision_function(X), y, bound)
            gap, what = (ours.objective_ - J) / J, "P"
            if not gap <= SAME:  # LIBLINEAR also shrinks b, and stops early: it may be worse
                raise ArithmeticError(f"ours is {gap:.1e} above the objective that LIBLINEAR reached")
        else:
            gap, what = same(ours.history_[-1]["gap"]), "P−D"
        steps = ours.report_.solves[0]["iterations"]
        note = f"{ours.solver_}, {steps} steps; all but that {1 - alone(ours):.0%}"
        work = f"linear {n} × {d}, {name}: fit"
        yield Row.of("engine_linear", work, "LinearSVC, tol 1e-6", timing, target, what, gap, note)


def alone(model: PriorSVC) -> float:
    """The share of the solver in a fit, by the clock."""
    return float(model.report_.solves[0]["solve"] / model.history_[-1]["seconds"])


def _liblinear(X: Array, labels: Array) -> LinearSVC:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # 1e-6 is often out of its reach
        return LinearSVC(loss="hinge", tol=1e-6, max_iter=100_000, random_state=0).fit(X, labels)


# ------------------------------------------------------------------ many cones


def uncertain(quick: bool) -> Iterator[Row]:
    """A full covariance for each row."""
    n, d = (100, 5) if quick else (1000, 50)
    X, labels, S = ellipsoids(n, d)
    model = PriorSVC(UncertainSamples(S, confidence=CONFIDENCE), C=1.0, solver="SCHUR")
    data = canonical(model, X, labels)
    peer = partial(_by_qoco, *data)
    work = f"{n} cones of dimension {d}, linear"
    yield from _both("engine_uncertain", work, "QOCO, same data", model, X, labels, data, peer, 0.2)


def _by_qoco(P: Any, q: Array, A: Any, b: Array, dims: Any) -> float:
    """QOCO's value; it takes equations apart from cones, and short indices."""
    import qoco  # type: ignore[import-untyped]

    def short(M: Any) -> Any:
        M = sparse.csc_matrix(M)
        M.indices, M.indptr = M.indices.astype(np.int32), M.indptr.astype(np.int32)
        return M

    A, zero, solver = sparse.csc_array(A), dims.zero, qoco.QOCO()
    sizes = len(q), len(b) - zero, zero
    equations = (short(A[:zero]), b[:zero]) if zero else (None, None)
    solver.setup(
        *sizes, short(sparse.triu(P)), q, *equations, short(A[zero:]), b[zero:],
        dims.nonneg, len(dims.soc), np.array(dims.soc, np.int32),
        abstol=TOLERANCE, reltol=TOLERANCE, verbose=0,
    )  # fmt: skip
    return finite(solver.solve().obj)


def _both(
    name: str,
    work: str,
    peer_name: str,
    model: PriorSVC,
    X: Array,
    labels: Array,
    data: tuple[Any, ...],
    peer: Callable[[], float],
    target: float,
) -> Iterator[Row]:
    """Whole fits, and SCHUR alone on the data that CVXPY has made."""
    timing, ours, value = interleaved(
        partial(quietly, model.fit, X, labels), peer, least=1, most=5, seconds=20
    )
    w, y = ours.coef_[0], np.where(labels == ours.classes_[1], 1.0, -1.0)
    refuse_trivial(ours.objective_, 0.5 * float(w @ w), y, np.full(len(y), ours.C))
    gap = same((ours.objective_ - value) / value)
    note = f"{ours.report_.solves[0]['iterations']} steps"
    yield Row.of(name, f"{work}: fit", peer_name, timing, target, "P", gap, note)
    timing, answer, value = interleaved(
        partial(solve, *data, tol=TOLERANCE), peer, least=1, most=5, seconds=20
    )
    gap = same((answer.obj_val - value) / value)
    note = f"{answer.iterations} steps"
    yield Row.of(name, f"{work}: solver alone", peer_name, timing, target, "P", gap, note)


def turning_digits(n: int) -> tuple[Array, Array]:
    """Digits of 8 × 8 pixels: 5, 8 and 9 against 1, 3 and 7."""
    X, digit = load_digits(return_X_y=True)
    kept = np.flatnonzero(np.isin(digit, (1, 3, 5, 7, 8, 9)))[:n]
    return X[kept] / 16, np.isin(digit[kept], (5, 8, 9))


def trajectories(quick: bool) -> Iterator[Row]:
    """Images that turn by ±10°, degree 2, which is a little coarse, as the fit would say."""
    n, C = 60 if quick else 1000, 1.0
    X, labels = turning_digits(n)
    turn = Rotation((8, 8), degrees=10)
    points = np.stack([turn.apply(X, theta) for theta in (-10.0, 0.0, 10.0)], axis=1)
    model = PriorSVC(Trajectories(turn, degree=2), C=C, solver="SCHUR")
    data = canonical(model, X, labels)

    def peer() -> float:
        return direct_parabolas(points, np.where(labels, 1.0, -1.0), C, on_line=False)[1]

    work = f"{n} parabolas on a span, linear, d={X.shape[1]}"
    args = ("engine_trajectories", work)
    yield from _both(*args, "CLARABEL, own matrices", model, X, labels, data, peer, 0.6)
    timing, answer, known = interleaved(
        partial(solve, *data, tol=TOLERANCE), partial(by_clarabel, *data), least=1, most=5, seconds=20
    )
    gap = same((answer.obj_val - known.obj_val) / known.obj_val)
    yield Row.of(args[0], f"{work}: solver alone", "CLARABEL, same data", timing, 0.6, "P", gap)
