"""Fit of one binary model: prepare rows, solve, refine the states of blocks, and repeat."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.exceptions import ConvergenceWarning

from .._utils.arrays import Array
from .._utils.cache import Cache
from .._utils.deadline import limited
from .._utils.messages import collecting, warn
from .._utils.progress import progress
from .._utils.threads import single_threaded
from ..errors import (
    InaccurateSolution,
    Infeasible,
    InvalidInput,
    InvalidType,
    OutOfTime,
    PriorSVMWarning,
    SolverFailed,
)
from ..knowledge.base import Knowledge
from ..knowledge.traits import Iterative
from ..knowledge.views import Caution, Solved, Step
from ..prior import Member, live
from ..problem.assemble import prepare
from ..problem.conflicts import refuse_common_points, refuse_conflicting_claims, refuse_contradictions
from ..problem.naming import naming
from ..problem.opposite import opposite_rules
from ..sample import Sample
from ..spec import Spec
from .auto import required_route, solve
from .feasibility import verdicts
from .methods.neighbour import Neighbour
from .model import BinaryModel
from .route import Problem
from .solution import TIME_LIMIT, Outcome

# Up to this many entries of X, warnings of blocks compare with a linear model without blocks.
MAX_PLAIN = 200_000
# A rough fit ends once a round changes the objective by a smaller part of it.
STABLE = 1e-3


def fit_binary(
    spec: Spec,
    members: Sequence[Member],
    training: Sample,
    solver: str | Sequence[str] = "auto",
    options: dict[str, Any] | None = None,
    max_rounds: int = 100,
    verbose: int = 0,
    maps: Cache | None = None,
    grams: Cache | None = None,
    before: BinaryModel | None = None,
    states: dict[str, Any] | None = None,
    rough: bool = False,
    neighbour: Neighbour | None = None,
    large: Any = None,
) -> BinaryModel:
    """Fit one binary model.

    Parameters
    ----------
    spec, members, training : the model, its blocks and its rows.
    solver, options, max_rounds, verbose : parameters of ``PriorSVC``.
    maps, grams : caches of feature maps and kernel matrices, shared with other models.
    before : a similar model, whose assembled problem may be reused.
    states : first states of the blocks, if they are known.
    rough : whether to end once the objective is stable, without findings and warnings of the blocks.
    neighbour : the last model of a path, from which a route may start.
    large : all rows if they are read in chunks, and ``training`` has some of them.
    """
    problem = first_problem(spec, members, training, max_rounds, verbose, maps, grams, states)
    if before is not None:
        problem.previous = before.compiled
    problem.neighbour = neighbour
    problem.large = large
    this = Round(problem)
    if required_route(problem) is not None:  # it does all rounds itself
        binary = this.solved(solver, options)
        if spec.deadline.passed and binary.outcome.residuals.gap > spec.tol:
            _mark_late(binary)
            _warn_of_time(binary, [], problem)
        return binary
    refuse_conflicts(spec, problem.members, training, problem.states)
    with progress(verbose, desc="rounds") if this.iterative else nullcontext() as bar:
        this = _last_round(this, solver, options, bar, rough)
    if not rough:
        return this.finished()
    assert this.binary is not None
    return this.binary


def first_problem(
    spec: Spec,
    members: Sequence[Member],
    training: Sample,
    max_rounds: int = 100,
    verbose: int = 0,
    maps: Cache | None = None,
    grams: Cache | None = None,
    states: dict[str, Any] | None = None,
) -> Problem:
    """Return the problem of the first round; its rows are not prepared yet."""
    members = list(members)
    if grams is None and _iterative(members):
        grams = Cache()  # the next round may have the same rows
    if states is None:
        states = first_states(members, training)
    problem = Problem(spec, members, states, training, training, maps or Cache(), grams)
    problem.max_rounds = max_rounds
    problem.verbose = verbose
    return problem


class Round:
    """One round of a fit: a problem, its solution, and the way to the next round.

    Attributes
    ----------
    problem : Problem
        The problem, with its rows prepared.
    binary : BinaryModel or None
        The solved model; None before :meth:`solve`.
    late : bool
        Whether the time has run out before the model of this round was finished.
    """

    def __init__(
        self,
        problem: Problem,
        history: Sequence[dict[str, Any]] = (),
        outcomes: Sequence[Outcome] = (),
    ):
        """Prepare the rows; ``history`` and ``outcomes`` are those of the rounds before."""
        start = time.perf_counter()
        sample = problem.training
        if problem.members:  # the limit on threads takes a small fit a few per cent of its time
            with single_threaded():
                sample = prepare(problem.members, problem.training, problem.states)
        _require_two_classes(sample)
        self.problem = replace(problem, sample=sample)
        self.iterative = _iterative(problem.members)
        self.binary: BinaryModel | None = None
        self.late = False
        self._history = list(history)
        self._outcomes = list(outcomes)
        self._seconds = time.perf_counter() - start

    def solved(self, solver: str | Sequence[str], options: dict[str, Any] | None) -> BinaryModel:
        """Return the model that a solver finds."""
        with single_threaded():
            return BinaryModel.of(self.problem, solve(self.problem, solver, options))

    def solve(self, solver: str | Sequence[str], options: dict[str, Any] | None) -> BinaryModel:
        """Solve the problem, and record the model as the result of this round."""
        start = time.perf_counter()
        binary = self.solved(solver, options)
        return self.record(binary, time.perf_counter() - start)

    def record(self, binary: BinaryModel, seconds: float) -> BinaryModel:
        """Take a solved model as the result of this round."""
        entry = _entry(binary, len(self._history) + 1, self.problem.sample)
        entry["seconds"] = self._seconds + seconds
        binary.history = [*self._history, entry]
        self.binary = binary
        return binary

    @property
    def outcomes(self) -> list[Outcome]:
        """The outcomes of all rounds so far."""
        return self._outcomes if self.binary is None else [*self._outcomes, self.binary.outcome]

    @property
    def stable(self) -> bool:
        """Whether this round hardly changed the objective; False with blocks that search locally."""
        assert self.binary is not None
        reached = [entry["objective"] for entry in self.binary.history[-2:]]
        exact = all(member.block.exact for member in self.iterative)
        return exact and len(reached) == 2 and abs(reached[1] - reached[0]) <= STABLE * abs(reached[1])

    def following(self) -> Round | None:
        """Return the next round, or None if no block has a new state or a limit is reached."""
        binary = self.binary
        assert binary is not None
        start = time.perf_counter()
        deadline = self.problem.spec.deadline
        new: dict[str, Any] = {}
        if self.iterative:
            try:
                with single_threaded(), limited(binary.f, deadline):
                    new = refined(binary, self.iterative, self.problem.sample, binary.states)
            except OutOfTime:
                self.late = True
        binary.scores = None
        entry = binary.history[-1]
        entry["seconds"] += time.perf_counter() - start
        unfinished = new or binary.outcome.remark or "estimated" in entry
        self.late = self.late or (deadline.passed and bool(unfinished))
        if self.late or not new:
            return None
        if len(binary.history) >= self.problem.max_rounds:
            _warn_of_last_round(new, entry, self.problem)
            return None
        states = {**binary.states, **new}
        problem = replace(self.problem, states=states, previous=binary.compiled)
        return Round(problem, binary.history, self.outcomes)

    def relaxed(self) -> Round | None:
        """Return this round with weaker states after infeasibility, or None if there are none."""
        new = _relaxed(self.problem)
        if not new or len(self._history) >= self.problem.max_rounds:
            return None
        problem = replace(self.problem, states={**self.problem.states, **new})
        return Round(problem, self._history, self._outcomes)

    def finished(self) -> BinaryModel:
        """Return the model of this round with the findings of its blocks, and warn if it is inaccurate."""
        binary = self.binary
        assert binary is not None
        binary.forget_values()
        if "estimated" not in binary.history[-1]:  # the warning about the time has the residuals
            warn_of_inaccuracy(self.outcomes, self.problem.training)
        if self.late:
            _mark_late(binary)
        if self.problem.members:
            with single_threaded():
                binary.findings = self._findings(binary)
        if self.late:
            _warn_of_time(binary, self.iterative, self.problem)
        return binary

    def _findings(self, binary: BinaryModel) -> dict[str, Any]:
        """Return the findings of the blocks; after the deadline, or once it passes, by short checks."""
        deadline = self.problem.spec.deadline
        self.late = self.late or deadline.passed
        if not deadline.limited:
            return _findings(binary, self.problem)
        if not self.late:
            try:
                with collecting(Warning) as caught, limited(binary.f, deadline):
                    findings = _findings(binary, self.problem)
            except OutOfTime:
                self.late = True
            else:
                for message, category in caught:
                    warn(message, category)
                return findings
        return _findings(binary, self.problem, late=True)


def _last_round(
    this: Round, solver: str | Sequence[str], options: dict[str, Any] | None, bar: Any, rough: bool
) -> Round:
    """Solve and refine until no block has a new state or the time is out, and return the last round."""
    deadline = this.problem.spec.deadline
    solved: Round | None = None
    while True:
        try:
            this.solve(solver, options)
        except Infeasible:
            weaker = this.relaxed()
            if weaker is None:
                raise
            this = weaker
            continue
        except (OutOfTime, SolverFailed):
            if solved is None or not deadline.passed:
                raise
            solved.late = True
            return solved
        if this.iterative:
            bar.update()
        following = None if rough and this.stable else this.following()
        if following is None:
            return this
        solved = this
        this = following


def _iterative(members: Sequence[Member]) -> list[Member]:
    """Return the blocks that refine their states."""
    return [m for m in live(members) if isinstance(m.block, Iterative) and m.block.refines]


def first_states(members: Sequence[Member], training: Sample) -> dict[str, Any]:
    """Return the first state of every block."""
    states: dict[str, Any] = {}
    for member in members:
        with naming(member.name):
            states[member.name] = member.block.start(training) if member.live else None
    return states


def refuse_conflicts(
    spec: Spec, members: Sequence[Member], training: Sample, states: dict[str, Any] | None = None
) -> None:
    """Raise Infeasible if hard blocks conflict: on a linear model at common points, solvers find the rest."""
    if not any(m.block.may_forbid for m in live(members)):
        return
    states = first_states(members, training) if states is None else states
    if spec.linear:
        refuse_common_points(members, states, training, linear=True)
        return
    refuse_conflicting_claims(members, states, training, linear=False)
    proves = verdicts(spec.deadline)[0]
    refuse_contradictions(spec, members, states, prepare(members, training, states), proves)


def _require_two_classes(sample: Sample) -> None:
    """Raise InvalidInput unless rows of both signs have a positive cost."""
    rest = f"the classes other than {sample.positive!r}"
    if sample.negative is not None:
        rest = f"class {sample.negative!r}"
    counted = sample.counted
    for sign, what in ((1.0, f"class {sample.positive!r}"), (-1.0, rest)):
        of_class = sample.y == sign
        if not np.any(counted & of_class):
            lowering = [name for name, share in sample.shares.items() if np.any(share[of_class] < 0)]
            cause = f"block '{lowering[-1]}' leaves" if lowering else "the rows leave"
            raise InvalidInput(f"{cause} no cost to {what}: two classes are needed.")


def _findings(binary: BinaryModel, problem: Problem, late: bool = False) -> dict[str, Any]:
    """Return the findings of the blocks on the fitted f, and issue the warnings of the blocks.

    If the time has run out (``late``), no model without blocks is fitted, and points replace searches.
    """
    members = live(binary.members)
    opposite = opposite_rules(members, problem.training)
    findings = {}
    issued: dict[Caution, list[str]] = {}

    @cache
    def plain() -> Any:
        return _without_blocks(problem)

    for name, block, _ in members:
        own = type(block)
        if own.findings is Knowledge.findings and own.cautions is Knowledge.cautions:
            continue
        view = replace(binary.view(name, problem.sample), plain=None if late else plain, late=late)
        with naming(name):
            about_f = [_of_model(caution, problem.training) for caution in block.cautions(binary.f, view)]
            cautions = [*opposite.get(name, []), *about_f]
            found = block.findings(binary.f, replace(view, warnings=tuple(map(str, cautions))))
        for caution in cautions:
            issued.setdefault(replace(caution, about=""), []).append(caution.about)
        if found is not None:
            findings[name] = found
    for caution, blocks in issued.items():  # equal texts about several blocks are one warning
        about = " and ".join(filter(None, dict.fromkeys(blocks)))
        warn(str(replace(caution, about=about)), caution.category)
    return findings


def _of_model(caution: Caution, training: Sample) -> Caution:
    """Return a warning about f with the name of its model, if there are several."""
    return replace(caution, text=f"model of {training.name}: {caution.text}") if training.name else caution


def _without_blocks(problem: Problem) -> Any:
    """Return f of a linear model with the costs of the rows alone; None if it is large or has no solution."""
    training = problem.training
    if not problem.spec.linear or issparse(training.X) or training.X.size > MAX_PLAIN:
        return None
    kept = [member for member in problem.live if changes_costs(member)]
    try:
        with collecting(PriorSVMWarning):
            return fit_binary(problem.spec, kept, training).f
    except (Infeasible, OutOfTime, SolverFailed):
        return None


def changes_costs(member: Member) -> bool:
    """Return whether the block changes costs of rows and does nothing else."""
    block = member.block
    return block.only_rows and not (block.prepares == "adds" or isinstance(block, Iterative))


def _entry(binary: BinaryModel, number: int, sample: Sample) -> dict[str, Any]:
    """Return the ``history_`` entry of a round."""
    rows = int(sample.counted.sum()) if binary.sums is None else binary.sums["svm"].rows
    return {
        "round": number,
        "objective": binary.reached,
        "gap": binary.outcome.residuals.gap,
        "rows": rows,
        "solver": binary.outcome.solver,
        "status": binary.outcome.status,
        "seconds": 0.0,
        **(binary.notes or {}),
    }


def refined(
    binary: BinaryModel, iterative: Sequence[Member], sample: Sample, states: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the new states of the blocks that refine theirs; once none does, of a further stage."""
    base = binary.view("", sample, states)
    needed = base.slack
    unknown = False
    columns: dict[str, int] = {}
    new: dict[str, Any] = {}
    for settled in (False, True):
        for name, block, _ in iterative:
            duals = binary.duals_of(name)
            view = replace(base, name=name, state=states[name], duals=duals, settled=settled)
            with naming(name):
                step = _checked(block.refine(binary.f, view), len(base.rows))
            binary.history[-1].update(step.notes)
            if step.state is not None:
                new[name] = step.state
                unknown = unknown or step.needed_slack is None
            if step.needed_slack is not None:
                needed = np.maximum(needed, step.needed_slack)
            if step.columns is not None:
                columns[name] = step.columns
        if new:
            break
    if columns:
        entry = binary.history[-1]
        entry.update(lower=base.lower, columns=sum(columns.values()))
        if not unknown:
            entry["upper"] = base.objective + _missing(binary.spec, sample.cost[base.rows], needed, base)
    return new


def _missing(spec: Spec, cost: Array, needed: Array, view: Solved) -> float:
    """Return the increase of the objective if slacks cover everything the blocks require of f."""
    if spec.hard:
        return 0.0 if np.max(needed) <= 10 * spec.tol else np.inf
    more = spec.weighted_loss(np.maximum(needed, 0.0)) - spec.weighted_loss(np.maximum(view.slack, 0.0))
    return float(cost @ more)


def _checked(step: Any, n_rows: int) -> Step:
    """Return the result of ``refine`` as a Step; raise InvalidType for anything else."""
    if step is None:
        return Step()
    if not isinstance(step, Step):
        raise InvalidType(f"refine must return Step(state) or None, got {type(step).__name__}.")
    if step.needed_slack is not None and np.shape(step.needed_slack) != (n_rows,):
        raise InvalidType(
            f"needed_slack of Step must have one number for each of the {n_rows} rows of view.rows, got "
            f"shape {np.shape(step.needed_slack)}."
        )
    return step


def _relaxed(problem: Problem) -> dict[str, Any]:
    """Return weaker states of blocks after infeasibility."""
    new = {}
    for name, block, _ in problem.live:
        if not isinstance(block, Iterative):
            continue
        with naming(name):
            state = block.relax(problem.states[name], problem.training)
        if state is not None:
            new[name] = state
    return new


def _mark_late(binary: BinaryModel) -> None:
    """Set the status of a model whose fit ended at ``max_seconds``."""
    binary.outcome = replace(binary.outcome, status=TIME_LIMIT)
    binary.history[-1]["status"] = TIME_LIMIT


def _warn_of_time(binary: BinaryModel, iterative: Sequence[Member], problem: Problem) -> None:
    """Warn that the time has run out, and of what is not finished."""
    names = ", ".join(f"'{member.name}'" for member in iterative)
    unfinished = f" Block {names} may be violated by more than its tolerance." if names else ""
    limit = f"max_seconds={problem.spec.deadline.seconds:g}"
    rounds = len(binary.history)
    if "estimated" in binary.history[-1]:
        unfinished = f"{unfinished} {_of_smaller(binary)}"
    warn(
        f"the fit{of_class(problem.training)} ended at {limit} with the answer of round {rounds}, "
        f"whose largest residual is {binary.outcome.residuals.worst:.1e}.{unfinished} "
        "Raise max_seconds.",
        ConvergenceWarning,
    )


def _of_smaller(binary: BinaryModel) -> str:
    """Return that an answer is the solution of some of the rows, and its bound if it is known."""
    entry = binary.history[-1]
    about = "about " if entry["estimated"] else ""
    bound = "A lower bound is not known."
    if np.isfinite(entry["lower"]):
        bound = f"It is at least {entry['lower']:.6g} at the optimum."
    return f"It is the answer of some of the rows; the objective is {about}{binary.reached:.6g}. {bound}"


def _warn_of_last_round(new: Mapping[str, Any], entry: Mapping[str, Any], problem: Problem) -> None:
    """Warn that blocks are not fully refined after the last round."""
    names = ", ".join(f"'{name}'" for name in new)
    gap = ""
    if np.isfinite(entry.get("upper", np.inf)):
        distance = (entry["upper"] - entry["lower"]) / (1.0 + abs(entry["upper"]))
        gap = f" (gap {distance:.1e})"
    warn(
        f"block {names} is not fully refined after max_rounds={problem.max_rounds} rounds{gap}"
        f"{of_class(problem.training)}. Raise max_rounds.",
        ConvergenceWarning,
    )


def warn_of_inaccuracy(outcomes: Sequence[Outcome], training: Sample) -> None:
    """Warn once for all rounds if an answer is inaccurate: the last one, or the worst one before it."""
    worst = max(outcomes, key=lambda outcome: outcome.residuals.worst if outcome.remark else 0.0)
    last = outcomes[-1]
    reported = last if last.remark else worst
    if not reported.remark:
        return
    number = next(k for k, outcome in enumerate(outcomes, 1) if outcome is reported)
    place = "" if reported is last else f" in round {number} of {len(outcomes)}"
    where = f"{of_class(training)}{place}".strip()
    warn(f"{where}{': ' if where else ''}{reported.remark}", InaccurateSolution)


def of_class(training: Sample) -> str:
    """Return " for class ..." if there is a model for each class, or for each pair of classes."""
    return f" for {training.name}" if training.name else ""
