"""Fit of one binary model: prepare rows, solve, refine the states of blocks, and repeat."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from .._utils.arrays import Array
from .._utils.cache import Cache
from .._utils.messages import warn
from .._utils.progress import progress
from .._utils.threads import single_threaded
from ..errors import InaccurateSolution, Infeasible, InvalidInput, InvalidType
from ..knowledge.base import Knowledge
from ..knowledge.traits import Iterative
from ..knowledge.views import Solved, Step
from ..prior import Member, live
from ..problem.assemble import prepare
from ..problem.conflicts import refuse_common_points, refuse_conflicting_claims, refuse_contradictions
from ..problem.naming import naming
from ..sample import Sample
from ..spec import Spec
from .auto import required_route, solve
from .feasibility import is_infeasible
from .model import BinaryModel
from .route import Problem
from .solution import Outcome


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
) -> BinaryModel:
    """Fit one binary model.

    Parameters
    ----------
    spec, members, training : the model, its blocks and its rows.
    solver, options, max_rounds, verbose : parameters of ``PriorSVC``.
    maps, grams : caches of feature maps and kernel matrices, shared with other models.
    before : a similar model, whose assembled problem may be reused.
    """
    members = list(members)
    states = _started(members, training)
    iterative = [m for m in live(members) if isinstance(m.block, Iterative)]
    if iterative and grams is None:
        grams = Cache()  # the next round may have the same rows
    problem = Problem(spec, members, states, training, training, maps or Cache(), grams)
    problem.max_rounds = max_rounds
    problem.verbose = verbose
    if before is not None:
        problem.previous = before.compiled
    if required_route(problem) is not None:  # it does all rounds itself
        return _solve_round(problem, solver, options)[0]
    refuse_conflicts(spec, members, training, states)
    with progress(verbose if iterative else 0, desc="rounds") as bar:
        binary, sample, outcomes = _iterate(problem, solver, options, iterative, bar)
    warn_of_inaccuracy(outcomes, training)
    if members:  # the limit on threads takes a small fit a few per cent of its time
        with single_threaded():
            binary.findings = _findings(binary, sample)
    return binary


def _iterate(
    problem: Problem,
    solver: str | Sequence[str],
    options: dict[str, Any] | None,
    iterative: Sequence[Member],
    bar: Any,
) -> tuple[BinaryModel, Sample, list[Outcome]]:
    """Solve and refine until no block has a new state; return the last model, its rows and all outcomes."""
    outcomes: list[Outcome] = []
    history: list[dict[str, Any]] = []
    while True:
        start = time.perf_counter()
        try:
            binary, sample = _solve_round(problem, solver, options)
        except Infeasible:
            relaxed = _relaxed(problem)
            if not relaxed or len(history) >= problem.max_rounds:
                raise
            problem = replace(problem, states={**problem.states, **relaxed})
            continue
        outcomes.append(binary.outcome)
        history.append(_entry(binary, len(history) + 1, sample))
        binary.history = history
        bar.update()
        new = {}
        if iterative:
            with single_threaded():
                new = refined(binary, iterative, sample, problem.states)
        history[-1]["seconds"] = time.perf_counter() - start
        binary.scores = None
        if new and len(history) >= problem.max_rounds:
            _warn_of_last_round(new, history[-1], problem)
        if not new or len(history) >= problem.max_rounds:
            return binary, sample, outcomes
        states = {**problem.states, **new}
        problem = replace(problem, states=states, previous=binary.compiled)


def _solve_round(
    problem: Problem, solver: str | Sequence[str], options: dict[str, Any] | None
) -> tuple[BinaryModel, Sample]:
    """Return the model of one round, and its rows."""
    with single_threaded():
        sample = prepare(problem.members, problem.training, problem.states)
        _require_two_classes(sample)
        problem = replace(problem, sample=sample)
        return BinaryModel.of(problem, solve(problem, solver, options)), sample


def _started(members: Sequence[Member], training: Sample) -> dict[str, Any]:
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
    states = _started(members, training) if states is None else states
    if spec.linear:
        refuse_common_points(members, states, training, linear=True)
        return
    refuse_conflicting_claims(members, states, training, linear=False)
    refuse_contradictions(spec, members, states, prepare(members, training, states), is_infeasible)


def _require_two_classes(sample: Sample) -> None:
    """Raise InvalidInput unless rows of both signs have a positive cost."""
    others = [c for c in sample.classes.tolist() if c != sample.positive]
    rest = f"class {others[0]!r}" if len(others) == 1 else f"the classes other than {sample.positive!r}"
    for sign, what in ((1.0, f"class {sample.positive!r}"), (-1.0, rest)):
        of_class = sample.y == sign
        if not np.any(sample.counted[of_class]):
            lowering = [name for name, share in sample.shares.items() if np.any(share[of_class] < 0)]
            cause = f"block '{lowering[-1]}' leaves" if lowering else "the rows leave"
            raise InvalidInput(f"{cause} no cost to {what}: two classes are needed.")


def _findings(binary: BinaryModel, sample: Sample) -> dict[str, Any]:
    """Return the findings of the blocks on the fitted f."""
    findings = {}
    for name, block, _ in live(binary.members):
        if type(block).findings is not Knowledge.findings:
            with naming(name):
                found = block.findings(binary.f, binary.view(name, sample))
            if found is not None:
                findings[name] = found
    return findings


def _entry(binary: BinaryModel, number: int, sample: Sample) -> dict[str, Any]:
    """Return the ``history_`` entry of a round."""
    return {
        "round": number,
        "objective": binary.reached,
        "gap": binary.outcome.residuals.gap,
        "rows": int(sample.counted.sum()),
        "solver": binary.outcome.solver,
        "status": binary.outcome.status,
        "seconds": 0.0,
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
    """Return " for class ..." if there is a model for each class."""
    classes = training.classes.tolist()
    positive = training.positive
    return f" for class {positive!r}" if len(classes) > 2 and positive in classes else ""
