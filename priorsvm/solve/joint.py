r"""One model of all classes: a function for each class, and a loss over transformations and other classes.

.. math:: \min_{f_1..f_K,\,\xi}\; \tfrac12 \sum_k \|f_k\|^2 + \sum_i C_i \xi_i \quad\text{s.t.}\quad
          f_{y_i}(T_\theta x_i) - f_k(T_\theta x_i) \ge \Delta(y_i, k, \theta)\,\rho_i - \xi_i
          \quad\text{for all } \theta,\; k \ne y_i ,

or with slack scaling :math:`\Delta\,(\rho_i - f_{y_i} + f_k) \le \xi_i`. There is no bias. The problem is
solved by column generation.
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
from .joint_problem import JointCompiled, solve_restricted
from .loop import warn_of_inaccuracy
from .model import BinaryModel
from .routes.columns import Columns
from .solution import Outcome, judge

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
        """The restricted problem of the last round in CVXPY."""
        if self.compiled is None:
            self.compiled = JointCompiled(self.loss, self.states["joint"])  # type: ignore[assignment]
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
        if not isinstance(block, OrbitLoss):
            return Verdict(None, asked="nothing of f's values")
        loss = self.loss
        required, found = loss.worst(self.f, self.states["joint"])
        text = (
            f"f_y - f_k >= Delta rho - xi for every transformation of {len(loss.active)} rows "
            "and every other class k"
        )
        tol = max(10 * self.spec.tol, 1e-5)
        assert self.shared_slack is not None
        return Verdict.at_points(self.shared_slack[loss.active] - required, found.points, text, tol)


def fit_joint(
    spec: Spec, members: Sequence[Member], training: Sample, max_rounds: int, verbose: int
) -> JointModel:
    """Solve restricted problems until the bounds meet to ``spec.tol``, at most ``max_rounds`` times."""
    members = list(members)
    loss = JointLoss(spec, members, prepare(members, training, {}))
    began = time.perf_counter()
    with single_threaded(), progress(verbose, desc="rounds") as bar:
        found = _generate_columns(loss, max_rounds, bar)
    gap = found.history[-1]["gap"]
    stopped = len(found.history) >= max_rounds
    if gap > spec.tol and stopped:
        warn(
            f"the joint model did not converge after max_rounds={max_rounds} rounds (gap {gap:.1e}). Raise "
            "max_rounds.",
            ConvergenceWarning,
        )
    residuals = Residuals(0.0, 0.0, 0.0, gap)
    accepted = np.inf if stopped else Columns().accuracy(spec.tol)
    status, remark = judge("COLUMNS", "optimal", residuals, accepted, None)
    outcome = Outcome("COLUMNS", status, residuals, 0.0, time.perf_counter() - began, remark=remark)
    binary = _joint_model(loss, members, training, found, outcome)
    warn_of_inaccuracy([outcome], training)
    return binary


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
    while True:
        f, alpha, dual = solve_restricted(loss, state)
        required, worst = loss.worst(f, state)
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
        if gap <= tol or len(history) >= max_rounds or not violated.any():
            return _Generated(f, state, alpha, slack, history)
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
    binary = JointModel(
        f=found.f,  # type: ignore[arg-type]
        spec=loss.spec,
        members=members,
        training=training,
        states={**dict.fromkeys((m.name for m in members), None), "joint": state},
        alpha=alpha,
        support=support,
        duals={loss.label: found.alpha},
        penalties={},
        outcome=outcome,
        history=found.history,
        shared_slack=slack,
    )
    if loss.name is not None:
        view = Solved(loss.name, sample, largest=float(found.alpha.max(initial=0.0)))
        thetas = state.thetas if state.thetas.shape[1] else None
        worst = WorstCase.of(view, loss.active[state.rows], state.points, found.alpha, thetas)
        binary.findings = {loss.name: worst}
    return binary
