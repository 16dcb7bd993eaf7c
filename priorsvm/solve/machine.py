"""A solved binary machine: f, its multipliers, and how they were found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from .._utils.arrays import Array
from ..function.fitted import Fitted
from ..knowledge.base import MAX_CELLS, Context, Knowledge, Verdict
from ..prior import Member
from ..problem.assemble import Compiled, prepare
from ..problem.residuals import Residuals
from ..sample import Sample
from ..spec import Spec
from . import plain
from .routes.weighted import Weighted, judged
from .solvers import Outcome


@dataclass(eq=False)
class Machine:
    """A solved binary machine: arrays, and the assembled problem for as long as this process lives.

    Attributes
    ----------
    f : the decision function.
    spec, members, training : what it was fitted with; ``training`` is the plain training set.
    states : the last state of every block.
    alpha, support : the dual variable of every row of ``sample``, and whether it is positive.
    duals : label -> dual value of every constraint.
    penalties : (block, name) -> what that penalty adds to the objective.
    outcome : solver, status, residuals, times.
    value : the objective as the route had it that solved the machine; None if it has to be worked out.
    history : one dict per round.
    findings : block name -> what it has to tell of f.
    scores : f at all members of the orbits of an invariant loss, while it is being fitted.
    shared_slack : the slack of every row where blocks share it: f alone does not tell what they ask of it.
    verdicts : (block, cells at most) -> f, and what ``verify`` found: a proof can take longer than a fit.
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
    verdicts: dict[tuple[str, int], tuple[Fitted, Verdict]] = field(default_factory=dict)
    _values: tuple[Fitted, Array, Array] | None = None

    def __getstate__(self) -> dict[str, Any]:
        # A solved cvxpy problem cannot be pickled, and skops has no keys but words and numbers.
        without: dict[str, Any] = {"compiled": None, "verdicts": {}, "_values": None}
        return {**vars(self), **without, "penalties": list(self.penalties.items())}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, penalties=dict(state["penalties"]))

    @property
    def sample(self) -> Sample:
        """All rows of the last round."""
        return prepare(self.members, self.training, self.states)

    @property
    def problem(self) -> Compiled:
        """The assembled problem, built again if this machine was solved without it or comes from a file."""
        if self.compiled is None:
            self.compiled = Compiled(self.spec, self.members, self.states, self.sample)
        return self.compiled

    def release(self) -> None:
        """Free the matrices that a route keeps for the next model of a path."""
        if self.compiled is not None:
            self.compiled.memo.clear()

    def slack(self, sample: Sample) -> Array:
        r""":math:`\xi_i = [\rho_i - y_i f(x_i)]_+`, from f; at least what blocks that share it ask for."""
        hinge = np.maximum(sample.margin - sample.y * self.values(sample.X), 0.0)
        return hinge if self.shared_slack is None else np.maximum(hinge, self.shared_slack)

    def values(self, X: Array) -> Array:
        """f at these rows, which are asked for again and again while the machine is fitted."""
        if self._values is None or self._values[0] is not self.f or self._values[1] is not X:
            self._values = self.f, X, self.f.value(X)
        return self._values[2]

    def contributions(self) -> dict[tuple[str, str], float]:
        """(block, term) -> what it adds to the objective; together they are the objective."""
        sample = self.sample
        loss = self.spec.C * self.spec.penalise(self.slack(sample))
        parts = {("svm", "regulariser"): self.regulariser()}
        for name, share in sample.shares.items():
            parts[name, "loss" if name == "svm" else "sample"] = float(share @ loss)
        return {**parts, **self.penalties}

    def regulariser(self) -> float:
        r""":math:`\frac12\|g\|^2` or :math:`\|c\|_1`, from f."""
        norm = self.f.norm(self.spec.norm)
        return norm if self.spec.norm == "l1" else 0.5 * norm**2

    @property
    def objective(self) -> float:
        return sum(self.contributions().values())

    @property
    def reached(self) -> float:
        """The objective as the solver has it."""
        if self.value is not None:
            return self.value
        if self.compiled is not None and self.compiled.problem.value is not None:
            return float(self.compiled.problem.value)
        return self.objective

    def context(
        self,
        name: str,
        sample: Sample,
        states: Mapping[str, Any] | None = None,
        tol: float | None = None,
    ) -> Context:
        """What block ``name`` sees of the solved machine."""
        rows = np.flatnonzero(sample.cost[: sample.n_train] > 0)
        return Context(
            name,
            sample,
            (self.states if states is None else states).get(name),
            self.slack(sample)[rows],
            rows,
            self.support,
            self.spec.tol if tol is None else tol,
            self.objective if tol is not None else self.reached,
            self.own_duals(name),
            self.alpha[rows],
            max(float(np.abs(flat(dual)).max(initial=0.0)) for dual in [self.alpha, *self.duals.values()]),
            self.scores,
            self.reached - self.outcome.residuals.gap * (1.0 + abs(self.reached)),
        )

    @property
    def functions(self) -> list[Fitted]:
        """f; that of every class in a machine of all classes."""
        return [self.f]

    def verdict(
        self, name: str, block: Knowledge, sample: Sample, max_cells: int = MAX_CELLS, verbose: int = 0
    ) -> Verdict:
        """Whether f obeys a block, which is held to what the solver was held to."""
        context = self.context(name, sample, tol=max(10 * self.spec.tol, 1e-5))
        return block.verify(self.f, replace(context, max_cells=max_cells, verbose=verbose))

    def add_support(self, sample: Sample, enough: Array) -> None:
        """Rows can be held by what blocks ask for beside their margin; then they are support vectors too."""
        for name, block, weight in self.members:
            if weight > 0 and block.shares_slack:
                context = self.context(name, sample)
                rows = context.rows
                self.support[rows] |= block.multipliers(context) > enough[rows]

    def own_duals(self, block: str) -> dict[str, Array]:
        """The multipliers of a block's constraints, by its own labels."""
        prefix = f"{block}."
        own = {label: dual for label, dual in self.duals.items() if label.startswith(prefix)}
        return {label.removeprefix(prefix): flat(dual) for label, dual in own.items()}

    def certificate(self) -> Residuals:
        """Residuals of the answer; those of a weighted SVM are worked out from f and its dual variables."""
        if self.outcome.solver not in plain.ROUTES:
            return self.outcome.residuals
        sample = self.sample
        half = self.regulariser()
        summed = half
        problem = Weighted(self.spec, sample)
        if self.spec.kernel is None:
            w = (sample.y * self.alpha)[problem.active] @ problem.Z
            summed = 0.5 * float(w @ w)
        bound = self.spec.C * sample.cost
        scores = sample.y * self.f.value(sample.X)
        return judged((half, summed), scores, self.alpha, bound, sample.y, sample.margin, problem.squared)[1]


def flat(dual: Any) -> Array:
    """A multiplier as one vector; that of a cone comes in two parts."""
    parts = dual if isinstance(dual, (list, tuple)) else [dual]
    return np.concatenate([np.empty(0), *(np.ravel(part) for part in parts if part is not None)])
