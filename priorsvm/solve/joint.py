r"""One model of all classes: a function for each class, and a loss over transformations and other classes.

.. math:: \min_{f_1..f_K,\,\xi}\; \tfrac12 \sum_k \|f_k\|^2 + \sum_i C_i \xi_i \quad\text{s.t.}\quad
          \Gamma(y_i, k, \theta) \left(f_{y_i}(T_\theta x_i) - f_k(T_\theta x_i)\right)
          \ge \Delta(y_i, k, \theta)\,\rho_i - \xi_i \quad\text{for all } \theta,\; k \ne y_i .

There is no bias. The problem is solved by column generation, or in passes through the rows. Rows that blocks
add have a slack of their own and are not transformed.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from .._utils.arrays import Array
from .._utils.messages import warn
from .._utils.progress import progress
from .._utils.threads import single_threaded
from ..errors import OutOfTime
from ..function.fitted import Fitted
from ..knowledge.views import MAX_CELLS, Solved, Verdict
from ..knowledge.worst_case.base import WorstCase
from ..knowledge.worst_case.orbit_loss import OrbitLoss
from ..prior import Member
from ..problem.assemble import prepare
from ..problem.residuals import Residuals
from ..sample import Sample
from ..spec import NEGLIGIBLE_DUAL, Spec
from .joint_function import JointFunction
from .joint_loss import JointColumns, JointLoss
from .joint_passes import JointStream
from .joint_problem import JointCompiled, solve_restricted
from .loop import warn_of_inaccuracy
from .methods.passes import run_passes, warn_of_gap
from .model import BinaryModel
from .routes.columns import Columns
from .solution import TIME_LIMIT, Outcome, judge

# Columns that were not active for this many rounds are removed.
PATIENCE = 3


@dataclass(eq=False)
class JointModel(BinaryModel):
    """A solved joint model; ``f`` is a :class:`JointFunction`."""

    @property
    def functions(self) -> list[Fitted]:
        """The function of each class."""
        return self.f.functions  # type: ignore[attr-defined]

    @property
    def loss(self) -> JointLoss:
        """The loss over transformations and other classes."""
        return JointLoss(self.spec, self.members, self.sample)

    def slack(self, sample: Sample) -> Array:
        """Return the slack of every row, from f."""
        slack = np.zeros(len(sample))
        loss = self.loss
        slack[loss.active] = np.maximum(loss.worst(self.f, self.states["joint"])[0], 0.0)
        return slack

    @property
    def problem(self) -> Any:
        """The restricted problem of the last round in CVXPY.

        After passes through the rows it has all columns. If orbits cannot be listed, it has the worst
        columns at f, and its optimum is a lower bound.
        """
        if self.compiled is None:
            loss = self.loss
            columns = self.states["joint"]
            if loss.block.streamed:
                listed = loss.block.theta_grid() is not None
                columns = loss.all_columns() if listed else loss.worst(self.f, columns)[1]
            self.compiled = JointCompiled(loss, columns)  # type: ignore[assignment]
        return self.compiled

    def solved_problem(self) -> Any:
        """Return the ``cvxpy.Problem``; it has no values, because the route does not use it."""
        return self.problem.problem

    def verdict(
        self,
        name: str,
        block: Any,
        sample: Sample,
        max_cells: int = MAX_CELLS,
        verbose: int = 0,
        everywhere: bool = False,
        new_rows: Array | None = None,
    ) -> Verdict:
        """Return whether f satisfies a block, to the tolerance of the solver."""
        tol = max(10 * self.spec.tol, 1e-5)
        loss = self.loss
        if block.prepares == "adds":
            own = np.flatnonzero(loss.sample.shares[name][loss.active] > 0)
            own = own[own >= loss.n_moved]
            if len(own) == 0:
                return Verdict(None, asked="nothing: no added row has a cost")
            required, found = loss.worst_of(self.f, own)
            return Verdict.at_points(-required, found.points, "f_y - f_k >= Delta rho at the added rows", tol)
        if not isinstance(block, OrbitLoss):
            return Verdict(None, asked="nothing of f's values")
        required, found = loss.worst(self.f, self.states["joint"])
        moved = np.arange(loss.n_moved)
        text = (
            f"f_y - f_k >= Delta rho - xi for every transformation of {len(moved)} rows "
            "and every other class k"
        )
        assert self.shared_slack is not None
        excess = (self.shared_slack[loss.active] - required)[moved]
        return Verdict.at_points(excess, found.points[moved], text, tol)


def fit_joint(
    spec: Spec,
    members: Sequence[Member],
    training: Sample,
    max_rounds: int,
    verbose: int,
    options: dict[str, Any] | None = None,
) -> JointModel:
    """Solve restricted problems until the bounds meet to ``spec.tol``, at most ``max_rounds`` times.

    A loss that is streamed is solved in passes through the rows, with these ``options``.
    """
    members = list(members)
    loss = JointLoss(spec, members, prepare(members, training, {}))
    if loss.block.streamed:
        return _fit_in_passes(loss, members, training, max_rounds, verbose, options or {})
    began = time.perf_counter()
    with single_threaded(), progress(verbose, desc="rounds") as bar:
        found = _generate_columns(loss, max_rounds, bar)
    gap = found.history[-1]["gap"]
    late = spec.deadline.passed
    stopped = late or len(found.history) >= max_rounds
    if gap > spec.tol and late:
        warn(
            f"the joint model did not converge within max_seconds={spec.deadline.seconds:g} (gap {gap:.1e}). "
            "Raise max_seconds.",
            ConvergenceWarning,
        )
    elif gap > spec.tol and stopped:
        warn(
            f"the joint model did not converge after max_rounds={max_rounds} rounds (gap {gap:.1e}). Raise "
            "max_rounds.",
            ConvergenceWarning,
        )
    residuals = Residuals(0.0, 0.0, 0.0, gap)
    accepted = np.inf if stopped else Columns().accuracy(spec.tol)
    status, remark = judge("COLUMNS", "optimal", residuals, accepted, None)
    if gap > spec.tol and late:
        status = TIME_LIMIT
        found.history[-1]["status"] = TIME_LIMIT
    outcome = Outcome("COLUMNS", status, residuals, 0.0, time.perf_counter() - began, remark=remark)
    binary = _joint_model(loss, members, training, found, outcome)
    warn_of_inaccuracy([outcome], training)
    return binary


def _fit_in_passes(
    loss: JointLoss,
    members: list[Member],
    training: Sample,
    passes: int,
    verbose: int,
    options: dict[str, Any],
) -> JointModel:
    """Run passes through the rows until the bounds meet to ``spec.tol``, at most ``passes`` times."""
    spec = loss.spec
    began = time.perf_counter()
    with single_threaded(), progress(verbose, desc="passes") as bar:
        found = run_passes(JointStream(loss, options), options, passes, bar)
    last = found.history[-1]
    assert loss.name is not None
    warn_of_gap(loss.name, last, passes, spec, options)
    residuals = Residuals(0.0, 0.0, 0.0, last["gap"])
    alpha = found.alpha
    return JointModel(
        f=found.f,
        spec=spec,
        members=members,
        training=training,
        states={**dict.fromkeys((m.name for m in members), None), "joint": loss.start()},
        alpha=alpha,
        support=alpha > spec.negligible_dual(loss.sample.cost, float(alpha.max(initial=0.0))),
        duals={f"{loss.name}.worst": alpha[loss.active[: loss.n_moved]]},
        penalties={},
        outcome=Outcome("PEGASOS", last["status"], residuals, 0.0, time.perf_counter() - began),
        history=found.history,
        shared_slack=found.slack,
    )


@dataclass(frozen=True, eq=False)
class _Generated:
    """The last round of column generation: f, the columns, their dual variables, slacks, all entries."""

    f: JointFunction
    state: JointColumns
    alpha: Array
    slack: Array
    history: list[dict[str, Any]]


def _generate_columns(loss: JointLoss, max_rounds: int, bar: Any) -> _Generated:
    """Repeat the solve and the search for the worst column of each row, until the bounds meet."""
    tol = loss.spec.tol
    total = float(loss.bound.sum())
    zero = JointFunction(loss.spec, loss.sample.X[:0], np.zeros((0, len(loss.sample.classes))))
    started = time.perf_counter()
    state = loss.start()
    state = state.joined(loss.worst(zero, state)[1])
    history: list[dict[str, Any]] = []
    best = np.inf
    lower = 0.0
    found: _Generated | None = None
    while True:
        try:
            f, alpha, dual = solve_restricted(loss, state)
            required, worst = loss.worst(f, state)
        except OutOfTime:
            if found is None:
                raise
            return found
        lower = max(lower, dual)
        upper = 0.5 * f.norm("l2") ** 2 + float(loss.bound @ np.maximum(required, 0.0))
        best = min(best, upper)
        gap = (upper - lower) / min(1.0 + upper, total)
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
        slack = loss.covered(f, state)
        violated = required > slack + 0.1 * tol * min((1.0 + upper) / total, 1.0)
        found = _Generated(f, state, alpha, slack, history)
        if gap <= tol or len(history) >= max_rounds or not violated.any() or loss.spec.deadline.passed:
            return found
        idle = np.where(alpha > NEGLIGIBLE_DUAL * alpha.max(), 0, state.idle + 1)
        state = replace(state, idle=idle).pick(idle <= PATIENCE).joined(worst.pick(violated))


def _joint_model(
    loss: JointLoss, members: list[Member], training: Sample, found: _Generated, outcome: Outcome
) -> JointModel:
    """Return the solved model, with dual variables and slacks of all rows."""
    sample = loss.sample
    state = found.state
    of_row = np.bincount(state.rows, found.alpha, minlength=len(loss.active))
    alpha = np.zeros(len(sample))
    slack = np.zeros(len(sample))
    alpha[loss.active] = of_row
    slack[loss.active] = found.slack
    support = alpha > loss.spec.negligible_dual(sample.cost, float(of_row.max(initial=0.0)))
    moved = state.rows < loss.n_moved  # the columns of the loss; the others are added rows
    binary = JointModel(
        f=found.f,  # type: ignore[arg-type]
        spec=loss.spec,
        members=members,
        training=training,
        states={**dict.fromkeys((m.name for m in members), None), "joint": state},
        alpha=alpha,
        support=support,
        duals={loss.label: found.alpha if loss.name is None else found.alpha[moved]},
        penalties={},
        outcome=outcome,
        history=found.history,
        shared_slack=slack,
    )
    if loss.name is not None:
        view = Solved(loss.name, sample, largest=float(found.alpha.max(initial=0.0)))
        state = state.pick(moved)
        thetas = state.thetas if state.thetas.shape[1] else None
        worst = WorstCase.of(view, loss.active[state.rows], state.points, found.alpha[moved], thetas)
        binary.findings = {loss.name: worst}
    return binary
