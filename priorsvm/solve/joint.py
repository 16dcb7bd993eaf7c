r"""All classes in one machine: one function per class, and the loss over moves and other classes at once.

.. math:: \min_{f_1..f_K,\,\xi}\; \tfrac12 \sum_k \|f_k\|^2 + \sum_i C_i \xi_i \quad\text{s.t.}\quad
          f_{y_i}(T_\theta x_i) - f_k(T_\theta x_i) \ge \Delta(y_i, k, \theta)\,\rho_i - \xi_i
          \quad\text{for all } \theta,\; k \ne y_i ,

or with slack scaling :math:`\Delta\,(\rho_i - f_{y_i} + f_k) \le \xi_i`. There is no bias. Column
generation as for two classes; a column is a row, a move and another class. In the dual
:math:`Q_{pq} = k(x_p, x_q)\, (e_{y_p} - e_{k_p})^\top (e_{y_q} - e_{k_q})`, and the columns of a row share
its bound.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from .._utils.arrays import Array, products, stack
from .._utils.messages import warn
from .._utils.parallel import over_rows
from .._utils.progress import progress
from ..errors import InvalidInput, SolverFailed
from ..function.factor import require_psd
from ..function.fitted import Fitted, FittedKernel
from ..function.maps import FactorMap, LinearMap
from ..function.memory import refuse_beyond_memory
from ..knowledge.base import MAX_CELLS, Verdict
from ..knowledge.worst_case.base import WorstCase
from ..knowledge.worst_case.invariant_loss import Columns, InvariantLoss
from ..prior import Member
from ..problem.assemble import prepare
from ..problem.residuals import Residuals
from ..sample import Sample
from ..spec import Spec
from ..transforms.features import FeatureScaling
from .loop import warn_of_inaccuracy
from .machine import Machine
from .methods.grouped import solve_grouped
from .routes.columns import ROUNDING
from .solvers import Outcome, judge, single_threaded

# Columns that held nothing up for so many rounds leave the problem.
PATIENCE = 3


@dataclass(frozen=True, eq=False, kw_only=True)
class JointColumns(Columns):
    """Moves of rows, and the class each is held against.

    Attributes
    ----------
    others : (m,) array, places among the classes.
    idle : (m,) array, for how many rounds each has held nothing up.
    """

    others: Array
    idle: Array
    parts: ClassVar[tuple[str, ...]] = (*Columns.parts, "others", "idle")


@dataclass(frozen=True, eq=False)
class JointFunction:
    """f of every class: ``features(X) @ weights``, one column each."""

    spec: Spec
    points: Any
    weights: Array

    @cached_property
    def functions(self) -> list[Fitted]:
        spec = self.spec
        if spec.kernel is None:
            features = LinearMap(self.points.shape[1], spec.scale)
            coefficients = np.asarray(self.weights.T @ features.rows(self.points))
            return [features.fitted(w, 0.0) for w in coefficients]
        found: list[Fitted] = []
        for weights in self.weights.T:
            used = weights != 0
            found.append(FittedKernel(0.0, spec.kernel, self.points[used], weights[used], spec.scale))
        return found

    @property
    def bias(self) -> Array:
        return np.array([f.bias for f in self.functions])

    def value(self, Z: Any) -> Array:
        """(n, K) array."""
        if self.spec.kernel is None:
            return np.column_stack([f.value(Z) for f in self.functions])
        whole = FittedKernel(0.0, self.spec.kernel, self.points, self.weights, self.spec.scale)
        return whole._in_blocks(self.spec.kernel, whole._to_inner(Z)).reshape(-1, self.weights.shape[1])

    def norm(self, kind: str) -> float:
        return float(np.linalg.norm([f.norm(kind) for f in self.functions]))


@dataclass(eq=False)
class JointMachine(Machine):
    """A solved joint machine; ``f`` is a :class:`JointFunction`."""

    @property
    def functions(self) -> list[Fitted]:
        return self.f.functions  # type: ignore[attr-defined]

    @property
    def loss(self) -> _Loss:
        return _Loss(self.spec, self.members, self.sample)

    def slack(self, sample: Sample) -> Array:
        slack = np.zeros(len(sample))
        loss = self.loss
        slack[loss.active] = np.maximum(loss.worst(self.f, self.states["joint"])[0], 0.0)
        return slack

    @property
    def problem(self) -> Any:
        if self.compiled is None:
            self.compiled = JointCompiled(self.loss, self.states["joint"])  # type: ignore[assignment]
        return self.compiled

    def verdict(
        self, name: str, block: Any, sample: Sample, max_cells: int = MAX_CELLS, verbose: int = 0
    ) -> Verdict:
        if not isinstance(block, InvariantLoss):
            return Verdict(None, asked="nothing of f's values")
        loss = self.loss
        asked, found = loss.worst(self.f, self.states["joint"])
        text = (
            f"f_y - f_k >= Delta rho - xi for every move of {len(loss.active)} rows and every other class k"
        )
        tol = max(10 * self.spec.tol, 1e-5)
        assert self.shared_slack is not None
        return Verdict.at_points(self.shared_slack[loss.active] - asked, found.points, text, tol)


class _Loss:
    """What is asked of the rows: the loss over moves and other classes."""

    def __init__(self, spec: Spec, members: Sequence[Member], sample: Sample):
        self.spec = spec
        self.sample = sample
        self.members = [m for m in members if m.weight > 0]
        found = [m for m in self.members if isinstance(m.block, InvariantLoss)]
        self.block: InvariantLoss | None = found[0].block if found else None
        self.scaling = self.block.scaling if self.block is not None else "margin"
        own = "joint_slack" if self.scaling == "slack" else "joint"
        self.label = f"{found[0].name}.{own}" if found else "svm.margin"
        self.active = np.flatnonzero(sample.cost > 0)
        self.y = np.searchsorted(sample.classes, sample.labels)[self.active]
        if len(np.unique(self.y)) < 2:
            takers = [name for name, share in sample.shares.items() if np.any(share < 0)]
            who = f"block '{takers[-1]}' leaves" if takers else "the rows leave"
            raise InvalidInput(f"{who} a cost to fewer than two classes: two are needed.")
        self.rho = sample.margin[self.active]
        self.bound = spec.C * sample.cost[self.active]
        K = len(sample.classes)
        self.confusion = np.ones((K, K)) if self.block is None else self.block.confusions(sample)
        self.confusion[np.arange(K), np.arange(K)] = 0.0

    def start(self) -> JointColumns:
        none = np.empty(0, int)
        X = self.sample.X[self.active]
        grid = np.zeros((1, 0))
        orbit = None
        if self.block is None:
            orbit = X[:, None] if isinstance(X, np.ndarray) else None
        elif not isinstance(self.block.transform, FeatureScaling):
            grid = self.block.transform.theta_grid()
            orbit = over_rows(self.block.transform.orbit, X)
        return JointColumns(none, X[:0], np.empty(0), grid[:0], none, orbit, grid, others=none, idle=none)

    def shortfall(self, demand: Array, rho: Array, lead: Array) -> Array:
        """What is asked of the slack where the true class leads by so much."""
        if self.scaling == "slack":
            return np.asarray(demand * (rho - lead))
        return np.asarray(demand * rho - lead)

    def worst(self, f: Any, state: Columns) -> tuple[Array, JointColumns]:
        """For each row the slack that its worst move and class ask for, and these."""
        n = len(self.y)
        K = len(self.sample.classes)
        rows = np.arange(n)
        if state.orbit is None:
            return self._worst_listless(f)
        s, d = state.orbit.shape[1:]
        scores = over_rows(f.value, state.orbit.reshape(-1, d)).reshape(n, s, K)
        lead = scores[rows, :, self.y][:, :, None] - scores
        assert state.grid is not None
        strength = np.ones(1) if self.block is None else self.block.demand(state.grid)
        demand = strength[None, :, None] * self.confusion[self.y][:, None, :]
        asked = self.shortfall(demand, self.rho[:, None, None], lead)
        asked[rows, :, self.y] = -np.inf
        moves, others = np.unravel_index(np.argmax(asked.reshape(n, -1), axis=1), (s, K))
        found = JointColumns(
            rows=rows,
            points=state.orbit[rows, moves],
            demands=demand[rows, moves, others],
            thetas=state.grid[moves],
            moves=moves,
            idle=np.zeros(n, int),
            others=others,
        )
        return asked[rows, moves, others], found

    def _worst_listless(self, f: JointFunction) -> tuple[Array, JointColumns]:
        """The same where moves cannot be listed: of sparse rows, or features of which any may be spoilt."""
        n = len(self.y)
        K = len(self.sample.classes)
        X = self.sample.X[self.active]
        asked = np.full(n, -np.inf)
        others = np.zeros(n, int)
        points = [X] * K
        for other in range(K):
            moved = [X[self.y == true] for true in range(K)]
            for true in range(K):
                if self.block is not None and true != other:
                    lead = f.functions[true].coef - f.functions[other].coef  # type: ignore[attr-defined]
                    moved[true] = self.block.transform.worst(moved[true], lead, np.ones(moved[true].shape[0]))
            order = np.argsort(np.argsort(self.y, kind="stable"), kind="stable")
            points[other] = stack(*moved)[order]
            scores = f.value(points[other])
            lead = scores[np.arange(n), self.y] - scores[:, other]
            short = self.shortfall(self.confusion[self.y, other], self.rho, lead)
            better = (self.y != other) & (short > asked)
            asked[better] = short[better]
            others[better] = other
        chosen = stack(*points)[others * n + np.arange(n)]
        found = JointColumns(
            rows=np.arange(n),
            points=chosen,
            demands=self.confusion[self.y, others],
            thetas=np.empty((n, 0)),
            moves=np.full(n, -1),
            idle=np.zeros(n, int),
            others=others,
        )
        return asked, found

    def signs(self, state: JointColumns) -> Array:
        """:math:`e_y - e_k` of every column, (m, K)."""
        signs = np.zeros((len(state), len(self.sample.classes)))
        signs[np.arange(len(state)), self.y[state.rows]] = 1.0
        signs[np.arange(len(state)), state.others] -= 1.0
        return signs

    def solve(self, state: JointColumns) -> tuple[JointFunction, Array, float]:
        """The restricted problem: f, the multipliers, and the value of the dual, which is a lower bound."""
        spec = self.spec
        signs = self.signs(state)
        Z = LinearMap(state.points.shape[1], spec.scale).rows(state.points)
        refuse_beyond_memory(len(state), len(state), "the matrix of the column generation", "Use fewer rows.")
        if spec.kernel is None:
            K = products(Z, Z)
        else:
            K = spec.kernel(Z)
            require_psd(spec.kernel, K)
        Q = K * (signs @ signs.T)
        rho = self.rho[state.rows]
        slack_scaled = self.scaling == "slack"
        delta = rho if slack_scaled else state.demands * rho
        share = 1.0 / state.demands if slack_scaled else None
        tol = min(1e-9, 1e-2 * spec.tol)
        try:
            alpha = solve_grouped(Q, delta, state.rows, self.bound, None, share, tol).alpha
        except SolverFailed:  # Clarabel takes longer, and more
            alpha = JointCompiled(self, state).multipliers()
        alpha = np.where(alpha > ROUNDING * alpha.max(), alpha, 0.0)
        used = np.flatnonzero(alpha)
        f = JointFunction(spec, state.points[used], alpha[used, None] * signs[used])
        return f, alpha, float(delta @ alpha) - 0.5 * float(alpha @ Q @ alpha)


class JointCompiled:
    """The problem of the last round in CVXPY, over the moves found."""

    function_latex = r"f_k(x) = {0}_k^\top {1}"

    def __init__(self, loss: _Loss, state: JointColumns):
        import cvxpy as cp

        plain = r"f_{y_i}(x_i) - f_k(x_i) \ge \rho_i - \xi_i,\; \xi_i \ge 0 \text{ for all } k \ne y_i"
        self.margin_latex = plain if loss.block is None else r"\xi_i \ge 0"
        spec = loss.spec
        d = loss.sample.X.shape[1]
        self.members = loss.members
        self.sample = loss.sample
        self.active = loss.active
        self.terms: list[Any] = []
        features: Any = LinearMap(d, spec.scale)
        if spec.kernel is not None:
            points = np.unique(state.points, axis=0)
            features = FactorMap(spec.kernel, points, spec.scale)
        c = cp.Variable((features.size, len(loss.sample.classes)), name="c")
        slack = cp.Variable(len(loss.active), nonneg=True, name="xi")
        lead = cp.sum(cp.multiply(features.rows(state.points) @ c, loss.signs(state)), axis=1)
        rho = loss.rho[state.rows]
        xi = slack[state.rows]
        if loss.scaling == "slack":
            asked = cp.multiply(state.demands, rho - lead) <= xi
        else:
            asked = lead >= state.demands * rho - xi
        self.constraints = {loss.label: asked}
        asked.set_label(loss.label)
        self.scaled = state.demands if loss.scaling == "slack" else 1.0
        self.problem = cp.Problem(cp.Minimize(0.5 * cp.sum_squares(c) + loss.bound @ slack), [asked])

    def multipliers(self) -> Array:
        """Those of the dual in which :class:`_Loss` works, by Clarabel."""
        import cvxpy as cp

        try:
            self.problem.solve(solver="CLARABEL")
        except cp.SolverError as error:
            raise SolverFailed(f"CLARABEL gave up on the joint machine: {error}. Use a smaller C.") from error
        [asked] = self.constraints.values()
        if asked.dual_value is None:
            raise SolverFailed(f"CLARABEL ended with status '{self.problem.status}'. Use a smaller C.")
        return np.asarray(np.abs(asked.dual_value) * self.scaled)


def fit_joint(
    spec: Spec, members: Sequence[Member], training: Sample, max_rounds: int, verbose: int
) -> JointMachine:
    """Rounds of the restricted problem until the bounds meet to ``spec.tol``."""
    members = list(members)
    sample = prepare(members, training, {})
    loss = _Loss(spec, members, sample)
    state = loss.start()
    f = JointFunction(spec, sample.X[:0], np.zeros((0, len(sample.classes))))
    alpha = None
    history: list[dict[str, Any]] = []
    best = np.inf
    lower = 0.0
    began = started = time.perf_counter()
    with single_threaded(), progress(verbose, desc="rounds") as bar:
        asked, worst = loss.worst(f, state)
        state = state.joined(worst)
        while True:
            f, alpha, dual = loss.solve(state)
            lower = max(lower, dual)
            asked, worst = loss.worst(f, state)
            half = 0.5 * f.norm("l2") ** 2
            upper = half + float(loss.bound @ np.maximum(asked, 0.0))
            best = min(best, upper)
            gap = (upper - lower) / min(1.0 + upper, float(loss.bound.sum()))
            now = time.perf_counter()
            history.append(
                {
                    "round": len(history) + 1,
                    "objective": upper,
                    "gap": gap,
                    "rows": len(loss.active),
                    "solver": "COLUMNS",
                    "status": "optimal",
                    "seconds": now - started,
                    "lower": lower,
                    "upper": best,
                    "columns": len(state),
                }
            )
            started = now
            bar.update()
            lead = (f.value(state.points) * loss.signs(state)).sum(axis=1)
            slack = np.zeros(len(loss.active))
            np.maximum.at(slack, state.rows, loss.shortfall(state.demands, loss.rho[state.rows], lead))
            if gap <= spec.tol or len(history) >= max_rounds:
                break
            new = asked > slack + 0.1 * spec.tol * min((1.0 + upper) / loss.bound.sum(), 1.0)
            if not new.any():
                break
            idle = np.where(alpha > 1e-6 * alpha.max(), 0, state.idle + 1)
            state = replace(state, idle=idle).pick(idle <= PATIENCE).joined(worst.pick(new))
    if gap > spec.tol and len(history) >= max_rounds:
        warn(
            f"the joint machine was not done after max_rounds={max_rounds} rounds (gap {gap:.1e}). Raise "
            "max_rounds.",
            ConvergenceWarning,
        )
    residuals = Residuals(0.0, 0.0, 0.0, gap)
    accepted = np.inf if len(history) >= max_rounds else max(10 * spec.tol, 1e-5)
    status, remark = judge("COLUMNS", "optimal", residuals, accepted, None)
    outcome = Outcome("COLUMNS", status, residuals, 0.0, time.perf_counter() - began, remark=remark)
    of_row = np.bincount(state.rows, alpha, minlength=len(loss.active))
    full_alpha = np.zeros(len(sample))
    full_slack = np.zeros(len(sample))
    full_alpha[loss.active] = of_row
    full_slack[loss.active] = slack
    support = full_alpha > 1e-6 * np.minimum(spec.C * sample.cost, of_row.max(initial=0.0))
    states = {**dict.fromkeys((m.name for m in members), None), "joint": state}
    machine = JointMachine(
        f,  # type: ignore[arg-type]
        spec,
        members,
        training,
        states,
        full_alpha,
        support,
        {loss.label: alpha},
        {},
        outcome,
        shared_slack=full_slack,
    )
    machine.history = history
    if loss.block is not None:
        rows = loss.active[state.rows]
        name = loss.label.partition(".")[0]
        context = replace(machine.context(name, sample), largest=float(alpha.max(initial=0.0)))
        thetas = state.thetas if state.thetas.shape[1] else None
        machine.findings = {name: WorstCase.of(context, rows, state.points, alpha, thetas)}
    warn_of_inaccuracy([outcome], training)
    return machine
