"""One binary machine from rows and blocks: prepare, assemble, solve, refine, as long as anything refines."""

from __future__ import annotations

import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ..assemble import Compiled, Spec, naming, prepare
from ..decision import Fitted
from ..diagnose import Residuals
from ..errors import InvalidInput, SolverUnsuited
from ..knowledge.base import Context
from ..prior import Member
from ..sample import Array, Sample
from . import libsvm
from .solvers import Outcome, single_threaded
from .solvers import solve as solve_compiled


@dataclass(eq=False)
class Machine:
    """A solved binary machine: arrays, and the assembled problem for as long as this process lives.

    Attributes
    ----------
    f : the decision function.
    spec, members, training : what it was fitted with; ``training`` is the plain training set.
    states : the last state of every block.
    alpha : the dual variable of every row of ``sample``.
    duals : label -> dual value of every constraint.
    penalties : (block, name) -> what that penalty adds to the objective.
    outcome : solver, status, residuals, times.
    history : one dict per round.
    """

    f: Fitted
    spec: Spec
    members: list[Member]
    training: Sample
    states: dict[str, Any]
    alpha: Array
    duals: dict[str, Any]
    penalties: dict[tuple[str, str], float]
    outcome: Outcome
    history: list[dict[str, Any]] = field(default_factory=list)
    compiled: Compiled | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "compiled": None}  # a solved cvxpy problem cannot be pickled

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

    @property
    def support(self) -> Array:
        """Which rows of ``sample`` have a positive dual."""
        return support_of(self.alpha)

    def slack(self, sample: Sample) -> Array:
        r""":math:`\xi_i = [\rho_i - y_i f(x_i)]_+`, from f and not from a solver's variable."""
        return np.maximum(sample.margin - sample.y * self.f.value(sample.X), 0.0)

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

    def certificate(self) -> Residuals:
        """Residuals of the answer; for LIBSVM worked out here from its dual variables."""
        if self.outcome.solver != "LIBSVM":
            return self.outcome.residuals
        sample = self.sample
        bound = self.spec.C * sample.cost
        scores = sample.y * self.f.value(sample.X)
        slack = np.maximum(1.0 - scores, 0.0)
        primal = self.regulariser() + float(bound @ slack)
        dual = float(self.alpha.sum()) - self.regulariser()
        outside = np.maximum(self.alpha - bound, 0.0).max(initial=0.0) / (1.0 + bound.max(initial=0.0))
        balance = abs(float(self.alpha @ sample.y)) / (1.0 + float(self.alpha.max(initial=0.0)))
        return Residuals(0.0, outside, balance, abs(primal - dual) / (1.0 + abs(primal)))


def support_of(alpha: Array) -> Array:
    """Duals that are positive beyond what an interior-point method leaves on inactive rows."""
    return alpha > 1e-5 * max(float(alpha.max(initial=0.0)), 1e-300)


def fit_machine(
    spec: Spec,
    members: Sequence[Member],
    training: Sample,
    solver: str | Sequence[str] = "auto",
    options: dict[str, Any] | None = None,
    max_rounds: int = 100,
    verbose: int = 0,
    maps: dict[Any, Any] | None = None,
    grams: dict[bytes, Array] | None = None,
    compiled: Compiled | None = None,
) -> Machine:
    """Fit one binary machine. ``maps``, ``grams`` and ``compiled`` are what an earlier fit can share."""
    from tqdm.auto import tqdm

    members = list(members)
    maps = {} if maps is None else maps
    states: dict[str, Any] = {}
    for name, block, weight in members:
        with naming(name):
            states[name] = block.start(training) if weight > 0 else None
    iterative = [m for m in members if m.weight > 0 and m.block.iterative]
    if iterative and grams is None:
        grams = {}  # the next round is likely to have the same rows
    history: list[dict[str, Any]] = []
    bar = tqdm(disable=not (verbose and iterative), desc="rounds", leave=False)
    while True:
        start = time.perf_counter()
        with single_threaded():
            sample = prepare(members, training, states)
            if _takes_libsvm(spec, members, sample, solver):
                machine = _by_libsvm(spec, members, training, states, sample, grams, options)
            else:
                if compiled is not None and compiled.accepts(members, states, sample):
                    compiled.set_weights(spec.C, members, states, sample)
                else:
                    compiled = Compiled(spec, members, states, sample, maps)
                machine = _by_cvxpy(spec, members, training, states, sample, compiled, solver, options)
        history.append(_entry(machine, len(history) + 1, sample, iterative, time.perf_counter() - start))
        bar.update()
        machine.history = history
        new = _refined(machine, iterative, sample, states)
        if not new:
            break
        if len(history) >= max_rounds:
            waiting = ", ".join(f"'{name}'" for name in new)
            warnings.warn(
                f"block {waiting} still had something to refine after max_rounds={max_rounds} rounds "
                f"(gap {history[-1]['gap']:.1e}). Raise max_rounds.",
                ConvergenceWarning,
                stacklevel=3,
            )
            break
        states = {**states, **new}
    bar.close()
    return machine


def _takes_libsvm(spec: Spec, members: Sequence[Member], sample: Sample, solver: Any) -> bool:
    names = [solver] if isinstance(solver, str) else list(solver)
    if "LIBSVM" not in names and "auto" not in names:
        return False
    reason = libsvm.obstacle(spec, members, sample)
    if reason is not None:
        if solver == "LIBSVM":
            raise SolverUnsuited(f"LIBSVM cannot solve this problem: {reason}. Use solver='auto'.")
        return False
    return names[0] == "LIBSVM" or (names[0] == "auto" and libsvm.prefers(spec, sample))


def _by_libsvm(
    spec: Spec,
    members: list[Member],
    training: Sample,
    states: dict[str, Any],
    sample: Sample,
    grams: dict[bytes, Array] | None,
    options: dict[str, Any] | None,
) -> Machine:
    start = time.perf_counter()
    f, alpha, status, seconds = libsvm.solve(spec, sample, grams, options)
    rest = time.perf_counter() - start - seconds
    outcome = Outcome("LIBSVM", status, Residuals(*[float("nan")] * 4), rest, seconds)
    duals = {"svm.margin": alpha[sample.cost > 0]}
    return Machine(f, spec, members, training, states, alpha, duals, {}, outcome)


def _by_cvxpy(
    spec: Spec,
    members: list[Member],
    training: Sample,
    states: dict[str, Any],
    sample: Sample,
    compiled: Compiled,
    solver: Any,
    options: dict[str, Any] | None,
) -> Machine:
    if len(np.unique(sample.y[compiled.active])) < 2:
        raise InvalidInput("the rows that have a positive cost are all of one class: two classes are needed.")
    names = solver if isinstance(solver, str) else [name for name in solver if name != "LIBSVM"]
    outcome = solve_compiled(compiled, names, options)
    duals = compiled.duals()
    alpha = np.zeros(len(sample))
    alpha[compiled.active] = np.abs(duals["svm.margin"])
    return Machine(
        compiled.fitted(),
        spec,
        members,
        training,
        states,
        alpha,
        duals,
        compiled.penalties(),
        outcome,
        compiled=compiled,
    )


def _entry(
    machine: Machine, number: int, sample: Sample, iterative: Sequence[Member], seconds: float
) -> dict[str, Any]:
    """What is remembered of a round. The objective of a plain LIBSVM fit is left to who asks for it."""
    if machine.outcome.solver != "LIBSVM":
        objective, gap = float(machine.problem.problem.value), machine.outcome.residuals.gap
    elif iterative:
        objective, gap = machine.objective, machine.certificate().gap
    else:
        objective, gap = float("nan"), float("nan")
    return {
        "round": number,
        "objective": objective,
        "gap": gap,
        "rows": int(np.count_nonzero(sample.cost)),
        "solver": machine.outcome.solver,
        "status": machine.outcome.status,
        "seconds": seconds,
    }


def _refined(
    machine: Machine, iterative: Sequence[Member], sample: Sample, states: Mapping[str, Any]
) -> dict[str, Any]:
    """The new states of the blocks that have one."""
    base = Context("", sample, support=machine.support, tol=machine.spec.tol)
    new = {}
    for name, block, _ in iterative:
        with naming(name):
            state = block.refine(machine.f, replace(base, name=name, state=states[name]))
        if state is not None:
            new[name] = state
    return new
