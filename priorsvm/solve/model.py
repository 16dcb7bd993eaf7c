"""Solved binary model: the decision function, its dual variables, and how they were found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy.sparse import issparse

from .._utils.arrays import Array
from .._utils.threads import single_threaded
from ..errors import InvalidType
from ..function.fitted import Fitted
from ..knowledge.base import Knowledge
from ..knowledge.traits import Completes, OnRowSlack
from ..knowledge.views import MAX_CELLS, Solved, Verdict
from ..prior import Member, live
from ..problem.assemble import Compiled, prepare
from ..problem.lift import lift
from ..problem.residuals import Residuals
from ..sample import Sample
from ..spec import Spec
from .registry import registry
from .route import Problem
from .routes.weighted_route import WeightedRoute
from .solution import Outcome, RowSums, Solution, flat
from .weighted import Weighted, judged

# With more rows the assembled problem, which is several times as large as X, is dropped after the fit.
KEPT_ROWS = 20_000


@dataclass(eq=False)
class BinaryModel:
    """Solved binary model: arrays, and the assembled problem as long as the process lives.

    Attributes
    ----------
    f : the decision function.
    spec, members, training : the model, its blocks and the training rows before any block prepared them.
    states : the last state of every block.
    alpha, support : the dual variable of every row of ``sample``, and whether the row is a support vector.
    duals : label -> dual value of every constraint.
    penalties : (block, name) -> contribution of that penalty to the objective.
    outcome : solver, status, residuals and times.
    value : the objective as the route computed it; None if it is computed from f.
    history : one dict per round.
    findings : block name -> findings of the block.
    scores : f at all members of the orbits of an invariant loss, during the fit.
    shared_slack : the slack of every row if blocks share it, because f alone does not determine it.
    sums : block name -> sums over all rows, if they are read in chunks and ``training`` has some of them.
    notes : further entries of the last round in ``history_``, or None.
    verdicts : (block, most cells, everywhere) -> f and the result of ``verify``, which can take longer than
        a fit.
    """

    f: Fitted
    spec: Spec
    members: list[Member]
    training: Sample
    states: dict[str, Any]
    alpha: Array
    support: Array
    duals: dict[str, Any]
    penalties: dict[tuple[str, str], float]
    outcome: Outcome
    value: float | None = None
    history: list[dict[str, Any]] = field(default_factory=list)
    findings: dict[str, Any] = field(default_factory=dict)
    shared_slack: Array | None = None
    scores: Array | None = None
    compiled: Compiled | None = None
    sums: dict[str, RowSums] | None = None
    notes: dict[str, Any] | None = None
    verdicts: dict[tuple[str, int, bool], tuple[Fitted, Verdict]] = field(default_factory=dict)
    _values: tuple[Fitted, Array, Array] | None = None

    @classmethod
    def of(cls, problem: Problem, solution: Solution) -> BinaryModel:
        """Return the model of a solved problem."""
        binary = cls(
            solution.f,
            problem.spec,
            problem.members,
            problem.training,
            {**problem.states, **solution.states},
            solution.alpha,
            solution.support,
            solution.duals,
            solution.penalties,
            solution.outcome,
            solution.value,
            solution.history,
            shared_slack=solution.slack,
            scores=solution.scores,
            compiled=solution.compiled,
            sums=solution.sums,
            notes=solution.notes,
        )
        if solution.values is not None:
            binary._values = solution.f, problem.sample.X, solution.values
        if solution.threshold is not None:
            binary._add_support(problem.sample, solution.threshold)
        return binary

    def __getstate__(self) -> dict[str, Any]:
        # A solved cvxpy problem cannot be pickled, and keys of skops files are strings and numbers.
        without: dict[str, Any] = {"compiled": None, "verdicts": {}, "_values": None}
        return {**vars(self), **without, "penalties": list(self.penalties.items())}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, penalties=dict(state["penalties"]))

    @property
    def sample(self) -> Sample:
        """The rows of the last round."""
        return prepare(self.members, self.training, self.states)

    @property
    def problem(self) -> Compiled:
        """The assembled problem, built on first use if the model was solved without it or loaded."""
        if self.compiled is None:
            self.compiled = Compiled(self.spec, self.members, self.states, self.sample)
        return self.compiled

    def solved_problem(self) -> Any:
        """Return the ``cvxpy.Problem`` with the values and dual variables of this model.

        A route that works without dual variables of the rows leaves the problem unsolved.
        """
        compiled = self.problem
        problem = compiled.problem
        if problem.value is None and "svm.margin" in self.duals:
            with single_threaded():
                lift(compiled, self.f, self.duals, self.slack(compiled.sample)[compiled.active])
        return problem

    def release(self) -> None:
        """Release the deadline, the matrices that a route keeps for the next model, and a large problem."""
        self.spec = self.spec.until(None)
        if self.compiled is None:
            return
        self.compiled.memo.clear()
        if len(self.alpha) > KEPT_ROWS:
            self.value = self.reached
            self.compiled = None

    def slack(self, sample: Sample) -> Array:
        r"""Return :math:`\xi_i = [\rho_i - y_i f(x_i)]_+`, or the slack of blocks that share it if larger."""
        hinge = np.maximum(sample.margin - sample.y * self.values(sample.X), 0.0)
        return hinge if self.shared_slack is None else np.maximum(hinge, self.shared_slack)

    def values(self, X: Array) -> Array:
        """Return f at rows; the last result is kept, because a fit evaluates f there many times."""
        if self._values is None or self._values[0] is not self.f or self._values[1] is not X:
            self._values = self.f, X, self.f.value(X)
        return self._values[2]

    def forget_values(self) -> None:
        """Drop the values of f that the route computed: a loaded model computes them from f."""
        self._values = None

    def contributions(self) -> dict[tuple[str, str], float]:
        """Return the contribution of each (block, term) to the objective."""
        if self.sums is not None:
            parts = {("svm", "regulariser"): self.regulariser()}
            for name, sums in self.sums.items():
                parts[name, "loss" if name == "svm" else "sample"] = sums.loss
            return {**parts, **self.penalties}
        sample = self.sample
        loss = self.spec.weighted_loss(self.slack(sample))
        parts = {("svm", "regulariser"): self.regulariser()}
        for name, share in sample.shares.items():
            parts[name, "loss" if name == "svm" else "sample"] = float(share @ loss)
        return {**parts, **self.penalties}

    def regulariser(self) -> float:
        r"""Return :math:`\frac12\|g\|^2` or :math:`\|c\|_1`."""
        norm = self.f.norm(self.spec.norm)
        return norm if self.spec.norm == "l1" else 0.5 * norm**2

    @property
    def objective(self) -> float:
        """The objective at f."""
        return sum(self.contributions().values())

    @property
    def reached(self) -> float:
        """The objective as the solver reports it."""
        if self.value is not None:
            return self.value
        if self.compiled is not None and self.compiled.problem.value is not None:
            return float(self.compiled.problem.value)
        return self.objective

    def view(
        self,
        name: str,
        sample: Sample,
        states: Mapping[str, Any] | None = None,
        tol: float | None = None,
    ) -> Solved:
        """Return the view of block ``name`` on the solved model."""
        rows = sample.counted_training
        duals = [self.alpha, *self.duals.values()]
        return Solved(
            name,
            sample,
            (self.states if states is None else states).get(name),
            rows,
            self.slack(sample)[rows],
            support=self.support,
            tol=self.spec.tol if tol is None else tol,
            objective=self.reached if tol is None else self.objective,
            duals=self.duals_of(name),
            alpha=self.alpha[rows],
            largest=max(float(np.abs(flat(dual)).max(initial=0.0)) for dual in duals),
            scores=self.scores,
            lower=self.reached - self.outcome.residuals.gap * (1.0 + abs(self.reached)),
        )

    @property
    def functions(self) -> list[Fitted]:
        """f, or the functions of all classes in a joint model."""
        return [self.f]

    def verdict(
        self,
        name: str,
        block: Knowledge,
        sample: Sample,
        max_cells: int = MAX_CELLS,
        verbose: int = 0,
        everywhere: bool = False,
        new_rows: Array | None = None,
    ) -> Verdict:
        """Return whether f satisfies a block, at the tolerance of an accurate answer."""
        view = self.view(name, sample, tol=max(10 * self.spec.tol, 1e-5))
        view = replace(view, max_cells=max_cells, verbose=verbose, everywhere=everywhere)
        if issparse(new_rows):  # blocks on rows do not accept sparse rows
            view = replace(view, new_rows=new_rows)
        elif new_rows is not None:
            rows, scores = self._completed(new_rows)
            view = replace(view, new_rows=rows, new_gaps=np.isnan(new_rows), new_scores=scores)
        verdict = block.verify(self.f, view)
        if not isinstance(verdict, Verdict):
            raise InvalidType(f"block '{name}': verify must return a Verdict, got {type(verdict).__name__}.")
        return verdict

    def _completed(self, X: Array) -> tuple[Array, Array]:
        """Return new rows with completed values, and f as ``predict`` uses it; NaN without a completion."""
        gaps = np.isnan(X).any(axis=1)
        rows = X.copy()
        scores = np.full(len(X), np.nan)
        scores[~gaps] = self.f.value(X[~gaps])
        for name, block, _ in live(self.members):
            state = self.states.get(name)
            if not gaps.any() or state is None or not isinstance(block, Completes):
                continue
            if hasattr(block, "completions"):
                completed, share = block.completions(self.f, X[gaps], state)
                by_class = np.array([self.f.value(part) for part in completed])
                rows[gaps] = np.einsum("cn,cnd->nd", share, completed)
                scores[gaps] = (share * by_class).sum(axis=0)
        return rows, scores

    def _add_support(self, sample: Sample, threshold: Array) -> None:
        """Mark rows as support vectors whose dual variable in a block exceeds a threshold."""
        for name, block, _ in live(self.members):
            if isinstance(block, OnRowSlack):
                view = self.view(name, sample)
                self.support[view.rows] |= block.row_duals(view) > threshold[view.rows]

    def duals_of(self, block: str) -> dict[str, Array]:
        """Return the dual variables of a block's constraints, by label."""
        prefix = f"{block}."
        found = {label: dual for label, dual in self.duals.items() if label.startswith(prefix)}
        return {label.removeprefix(prefix): flat(dual) for label, dual in found.items()}

    def certificate(self) -> Residuals:
        """Return the residuals of the answer; for a weighted SVM they are computed from f and alpha."""
        if not isinstance(registry().get(self.outcome.solver), WeightedRoute):
            return self.outcome.residuals
        sample = self.sample
        half = self.regulariser()
        dual_half = half
        problem = Weighted(self.spec, sample)
        if self.spec.linear:
            w = (sample.y * self.alpha)[problem.active] @ problem.Z
            dual_half = 0.5 * float(w @ w)
        bound = self.spec.C * sample.cost
        scores = sample.y * self.f.value(sample.X)
        halves = half, dual_half
        return judged(halves, scores, self.alpha, bound, sample.y, sample.margin, problem.squared)[1]
