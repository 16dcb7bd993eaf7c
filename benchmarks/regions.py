"""Regions: the assembled problem against the same problem written down plainly, and cuts against a grid."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import cvxpy as cp
import numpy as np
from sklearn.datasets import make_classification
from sklearn.svm import SVC

from priorsvm import RBF, Box, Monotone, Polyhedron, PriorSVC
from priorsvm.problem.assemble import Compiled
from priorsvm.validation import make_task

from .measure import Array, Row, interleaved, quietly, refuse_trivial, same

VIOLATION = 1e-3


class Assembly:
    """Fits up to the solver: what the blocks know of their regions is worked out once, the rest by a call."""

    def __init__(self, model: PriorSVC, X: Array, labels: Array):
        task = make_task(model, X, labels, None, {})
        [self.sample], self.spec, self.members = task.samples, task.spec, list(task.prior)
        self.states = {member.name: member.block.start(self.sample) for member in self.members}

    def __call__(self) -> cp.Problem:
        return Compiled(self.spec, self.members, self.states, self.sample).problem


def through_cvxpy(write: Callable[[], cp.Problem], solver: str) -> None:
    """Write the problem and let CVXPY compile it."""
    write().get_problem_data(solver)


# ------------------------------------------------------------------ two knowledge sets on a kernel model


def kernelised(quick: bool) -> Iterator[Row]:
    """K β once, as a variable, against K β written out in the margins and in both sets."""
    n, C, mu, mu_residual = 100 if quick else 500, 1.0, 1.0, 1e-4
    X, labels = make_classification(n, 5, n_informative=5, n_redundant=0, flip_y=0.05, random_state=0)
    y, gamma = np.where(labels == 1, 1.0, -1.0), 0.1
    B = np.vstack([np.eye(5), -np.eye(5)])
    sides = [np.repeat([2.0, -1.0], 5), np.repeat([-1.0, 2.0], 5)]  # [1, 2]⁵ and [-2, -1]⁵
    signs = (1.0, -1.0)
    sets = Polyhedron([B, B], sides, [1, 0], mu=mu / C, mu_residual=mu_residual / C, method="kernelised")
    for solver in ("HIGHS", "CLARABEL"):
        model = PriorSVC(sets, C=C, norm="l1", kernel=RBF(gamma), solver=solver)
        write = partial(_written_out, X, y, RBF(gamma), B, sides, signs, (C, mu, mu_residual))
        timing, ours, peer = interleaved(
            partial(quietly, model.fit, X, labels),
            partial(_solved, write, solver),
            least=1,
            most=3,
            seconds=20,
        )
        scores = ours.decision_function(X)
        refuse_trivial(ours.objective_, float(np.ptp(scores)), y, np.full(n, C))
        gap = same((ours.objective_ - peer.value) / peer.value)
        work = f"two kernelised polyhedra, N={n}, {solver}"
        yield Row.of("kernelised", f"{work}: in all", "K β written out", timing, 0.5, "P", gap)
        timing, _, _ = interleaved(
            partial(through_cvxpy, quietly(Assembly, model, X, labels), solver),
            partial(through_cvxpy, write, solver),
            least=1,
            most=3,
            seconds=20,
        )
        yield Row.of("kernelised", f"{work}: without solver", "K β written out", timing, 0.25)


def _written_out(
    X: Array,
    y: Array,
    kernel: RBF,
    B: Array,
    sides: list[Array],
    signs: tuple[float, ...],
    weights: tuple[float, ...],
) -> cp.Problem:
    """Eqs. (13), (50)-(52) of Lauer & Bloch as they stand."""
    C, mu, mu_residual = weights
    K, K_B = kernel(X, X), kernel(X, B)
    beta, b, xi = cp.Variable(len(y)), cp.Variable(), cp.Variable(len(y), nonneg=True)
    objective = cp.norm1(beta) + C * cp.sum(xi)
    constraints = [cp.multiply(y, K @ beta + b) >= 1 - xi]
    for d, s in zip(sides, signs, strict=True):
        u, z, zeta = (cp.Variable(k, nonneg=True) for k in (len(B), len(y), ()))
        constraints += [
            K_B @ u + s * (K @ beta) <= z,
            K_B @ u + s * (K @ beta) >= -z,
            d @ u - s * b + 1 <= zeta,
        ]
        objective = objective + mu * zeta + mu_residual * cp.sum(z)
    return cp.Problem(cp.Minimize(objective), constraints)


# ------------------------------------------------------------------ many boxes on a linear model


def boxes(quick: bool) -> Iterator[Row]:
    """One constraint for all boxes against one for each."""
    n, count, d, C, mu = 200 if quick else 2000, 20 if quick else 200, 30, 1.0, 1.0
    X, labels = make_classification(n, d, n_informative=10, n_redundant=0, flip_y=0.05, random_state=0)
    y = np.where(labels == 1, 1.0, -1.0)
    rng = np.random.default_rng(0)
    chosen = rng.choice(n, count, replace=False)
    low, high = X[chosen] - rng.uniform(0, 0.3, (count, d)), X[chosen] + rng.uniform(0, 0.3, (count, d))
    bounds = [dict(enumerate(zip(*ends, strict=True))) for ends in zip(low, high, strict=True)]
    model = PriorSVC(
        Box(bounds, labels[chosen].tolist(), mu=mu / C, holds="everywhere"), C=C, solver="CLARABEL"
    )
    write = partial(_one_by_one, X, y, low, high, y[chosen], C, mu)

    ours, peer = model.fit(X, labels), _solved(write, "CLARABEL")
    w = ours.coef_[0]
    refuse_trivial(ours.objective_, 0.5 * float(w @ w), y, np.full(n, C))
    gap = same((ours.objective_ - peer.value) / peer.value)

    work, assemble = f"{count} boxes, linear, N={n}, d={d}", Assembly(model, X, labels)
    timing, _, _ = interleaved(assemble, write, most=15)
    yield Row.of("boxes", f"{work}: assembling", "a loop over boxes", timing, 0.1, "P", gap)
    timing, _, _ = interleaved(partial(Assembly, model, X, labels), write, most=9)
    yield Row.of("boxes", f"{work}: checks and regions", "a loop over boxes", timing, 1.0)
    timing, _, _ = interleaved(
        partial(through_cvxpy, assemble, "CLARABEL"), partial(through_cvxpy, write, "CLARABEL"), most=9
    )
    yield Row.of("boxes", f"{work}: assembling, CVXPY", "a loop over boxes", timing, 0.5)


def _one_by_one(X: Array, y: Array, low: Array, high: Array, signs: Array, C: float, mu: float) -> cp.Problem:
    """s (w'c + b) − r'|w| ≥ 1 − ζ for one box after the other."""
    w, b, xi = cp.Variable(X.shape[1]), cp.Variable(), cp.Variable(len(y), nonneg=True)
    v, zeta = cp.Variable(X.shape[1], nonneg=True), cp.Variable(len(low), nonneg=True)
    constraints = [cp.multiply(y, X @ w + b) >= 1 - xi, w <= v, w >= -v]
    for k, s in enumerate(signs):
        centre, radius = (low[k] + high[k]) / 2, (high[k] - low[k]) / 2
        constraints.append(s * (centre @ w + b) - radius @ v >= 1 - zeta[k])
    objective = 0.5 * cp.sum_squares(w) + C * cp.sum(xi) + mu * cp.sum(zeta)
    return cp.Problem(cp.Minimize(objective), constraints)


# ------------------------------------------------------------------ cuts against a grid


def cuts(quick: bool) -> Iterator[Row]:
    """How many points until f ≥ 1 − 1e-3 on all of a square that holds rows of the other class."""
    X = np.random.default_rng(0).uniform(-2, 2, (80, 2))
    labels = (np.sin(2 * X[:, 0]) + X[:, 1] > 0).astype(int)
    square = {0: (-1.0, 1.0), 1: (-1.0, 1.0)}
    for gamma in (0.5,) if quick else (0.25, 0.5, 1.0, 2.0):
        svm = partial(PriorSVC, C=10.0, kernel=RBF(gamma), solver="CLARABEL")
        model = svm(Box(square, 1, hard=True)).fit(X, labels)
        violation = -model.verify()["box"].worst
        used = sum(len(points) for points in model._models[0].states["box"].points)
        asked = max(VIOLATION, violation)
        side, left = 4, np.inf
        while left > asked and side**2 < 16 * used:
            side += max(1, side // 4)
            ticks = np.linspace(-1, 1, side)
            points = np.stack(np.meshgrid(ticks, ticks), axis=-1).reshape(-1, 2)
            grid = svm(Box(square, 1, hard=True, method="points", points=points)).fit(X, labels)
            left = -grid.verify()["box"].worst
        note = (
            f"{used} : {'more than ' if left > asked else ''}{side**2} points; "
            f"violation {violation:.0e} : {left:.0e}"
            + ("" if violation <= VIOLATION else f", {VIOLATION:g} missed")
            + f"; {model.n_rounds_} rounds"
        )
        ratio, work = used / side**2, f"cuts, hard, on a square, RBF γ={gamma:g}"
        yield Row("cuts", work, "points of a regular grid", ratio, ratio, ratio, 0.1, "", None, note)


# ------------------------------------------------------------------ blocks everywhere against a plain SVC


def everywhere(quick: bool) -> Iterator[Row]:
    """Return fits of a rule or a direction that hold everywhere on an RBF model, against ``SVC.fit``."""
    for n, d in ((200, 8),) if quick else ((100, 4), (200, 8), (400, 13), (800, 8)):
        X, labels = make_classification(
            n, d, n_informative=min(d, 6), n_redundant=0, flip_y=0.05, random_state=1
        )
        X = (X - X.mean(axis=0)) / X.std(axis=0)
        correlation = [np.corrcoef(column, labels)[0, 1] for column in X.T]
        best = np.argsort(-np.abs(correlation))[:2]
        bounds = {int(j): _upper_quarter(X[:, j], correlation[j]) for j in best}
        blocks = {
            "soft rule": (Box(bounds, 1, mu=10.0, holds="everywhere"), 30.0),
            "hard rule": (Box(bounds, 1, hard=True), 200.0),
        }
        if n == 100:  # a direction compiles every round
            rises = {int(best[0]): int(np.sign(correlation[best[0]]))}
            blocks["soft direction"] = Monotone(rises, mu=10.0, holds="everywhere"), 60.0
            blocks["hard direction"] = Monotone(rises, hard=True), 300.0
        for kind, (block, target) in blocks.items():
            model = PriorSVC(block, C=10.0, kernel=RBF(1.0 / d))
            svc = SVC(C=10.0, gamma=1.0 / d)
            timing, ours, _ = interleaved(
                partial(quietly, model.fit, X, labels), partial(svc.fit, X, labels), least=1, most=3
            )
            worst = ours.verify().checks[0].verdict.worst
            note = f"{ours.n_rounds_} rounds, worst {worst:+.0e}, objective {ours.objective_:.6g}"
            yield Row.of("everywhere", f"{kind}, RBF, {n} x {d}", "SVC.fit", timing, target, "", None, note)


def _upper_quarter(column: Array, correlation: float) -> tuple[float, float]:
    """Return the quarter of a column in which the second class is most frequent."""
    low, high = np.quantile(column, [0.25, 0.75])
    if correlation > 0:
        return float(high), float(column.max())
    return float(column.min()), float(low)


def _solved(write: Callable[[], cp.Problem], solver: str) -> cp.Problem:
    problem = write()
    problem.solve(solver=solver)
    return problem
