"""One binary machine from rows and blocks: prepare, assemble, solve, refine, as long as anything refines."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from .._utils.cache import Cache
from .._utils.messages import warn
from .._utils.progress import progress
from ..errors import InaccurateSolution, Infeasible, InvalidInput, SolverUnsuited
from ..knowledge.base import Knowledge
from ..prior import Member
from ..problem.assemble import prepare
from ..problem.conflicts import refuse_common_points, refuse_impossible, refuse_opposed
from ..problem.naming import naming
from ..problem.residuals import Residuals
from ..sample import Sample
from ..spec import Spec
from .machine import Machine
from .round import Round
from .routes import pegasos
from .solvers import Outcome, is_infeasible, single_threaded


def fit_machine(
    spec: Spec,
    members: Sequence[Member],
    training: Sample,
    solver: str | Sequence[str] = "auto",
    options: dict[str, Any] | None = None,
    max_rounds: int = 100,
    verbose: int = 0,
    maps: Cache | None = None,
    grams: Cache | None = None,
    before: Machine | None = None,
) -> Machine:
    """Fit one binary machine. ``maps`` and ``grams`` are shared with others; ``before`` is a like one."""
    members = list(members)
    maps = maps or Cache()
    states = _started(members, training)
    if any(m.weight > 0 and getattr(m.block, "method", None) == "pegasos" for m in members):
        return _by_pegasos(spec, members, training, states, solver, options, max_rounds, verbose)
    refuse_conflicts(spec, members, training, states)
    iterative = [m for m in members if m.weight > 0 and m.block.iterative]
    if iterative and grams is None:
        grams = Cache()  # the next round is likely to have the same rows
    compiled = None if before is None else before.compiled
    history: list[dict[str, Any]] = []
    rounds: list[Outcome] = []
    bar = progress(verbose if iterative else 0, desc="rounds")
    while True:
        start = time.perf_counter()
        with single_threaded():
            sample = prepare(members, training, states)
            _require_two_classes(sample)
            task = Round(spec, members, training, states, sample, options, maps, grams, compiled)
            try:
                machine = task.answer(solver)
            except Infeasible:
                relaxed = _relaxed(members, states, training)
                if not relaxed or len(history) >= max_rounds:
                    raise
                states = {**states, **relaxed}
                continue
        compiled = machine.compiled
        rounds.append(machine.outcome)
        history.append(_entry(machine, len(history) + 1, sample, iterative, time.perf_counter() - start))
        bar.update()
        machine.history = history
        new = {}
        if iterative:
            with single_threaded():
                new = refined(machine, iterative, sample, states)
        history[-1]["seconds"] = time.perf_counter() - start
        machine.scores = None
        if not new:
            break
        if len(history) >= max_rounds:
            waiting = ", ".join(f"'{name}'" for name in new)
            gap = f" (gap {_distance(history[-1]):.1e})" if "upper" in history[-1] else ""
            warn(
                f"block {waiting} still had something to refine after max_rounds={max_rounds} rounds{gap}"
                f"{of_class(training)}. Raise max_rounds.",
                ConvergenceWarning,
            )
            break
        states = {**states, **new}
    bar.close()
    warn_of_inaccuracy(rounds, training)
    if members:  # to be single-threaded takes a small fit a few hundredths of its time
        with single_threaded():
            machine.findings = _findings(machine, sample)
    return machine


def _started(members: Sequence[Member], training: Sample) -> dict[str, Any]:
    """The first state of every block."""
    states: dict[str, Any] = {}
    for name, block, weight in members:
        with naming(name):
            states[name] = block.start(training) if weight > 0 else None
    return states


def refuse_conflicts(
    spec: Spec, members: Sequence[Member], training: Sample, states: dict[str, Any] | None = None
) -> None:
    """Raise if hard blocks ask for what no f can do: of a linear one, at common points; solvers find more."""
    if not any(m.block.may_forbid and m.weight > 0 for m in members):
        return
    states = _started(members, training) if states is None else states
    if spec.kernel is None:
        refuse_common_points(members, states, training, linear=True)
        return
    refuse_opposed(members, states, training, linear=False)
    refuse_impossible(spec, members, states, prepare(members, training, states), is_infeasible)


def _by_pegasos(
    spec: Spec,
    members: list[Member],
    training: Sample,
    states: dict[str, Any],
    solver: str | Sequence[str],
    options: dict[str, Any] | None,
    passes: int,
    verbose: int,
) -> Machine:
    """A machine whose invariant loss asks to be passed through in small batches."""
    live = [m for m in members if m.weight > 0]
    [(name, block, _), *more] = [m for m in live if getattr(m.block, "method", None) == "pegasos"]
    others = [m.name for m in live if m.block is not block and (not m.block.only_rows or m.block.iterative)]
    if more or others:
        raise InvalidInput(
            f"block '{name}': method='pegasos' goes with blocks that only add or reweight rows, not with "
            f"'{[*others, *(m.name for m in more)][0]}'. Use method='columns'."
        )
    if solver != "auto":
        raise SolverUnsuited(
            f"block '{name}': method='pegasos' is a solver of its own, and solver={solver!r} was asked for. "
            "Use solver='auto', or method='columns'."
        )
    sample = prepare(members, training, states)
    _require_two_classes(sample)
    start = time.perf_counter()
    with single_threaded(), progress(verbose, desc="passes") as bar:
        found = pegasos.solve(spec, block, sample, options or {}, passes, bar)
    last = found.history[-1]
    if last["gap"] > spec.tol:
        warn(
            f"block '{name}': the objective is within {last['gap']:.1e} of the optimum, relatively, after "
            f"{last['round']} of max_rounds={passes} passes, and tol={spec.tol:g} was asked for. Raise "
            "max_rounds or tol, or use method='columns', which is exact.",
            InaccurateSolution,
        )
    residuals = Residuals(0.0, 0.0, 0.0, last["gap"])
    outcome = Outcome("PEGASOS", last["status"], residuals, 0.0, time.perf_counter() - start)
    alpha = found.alpha
    support = alpha > 1e-6 * np.minimum(spec.C * sample.cost, alpha.max(initial=0.0))
    duals = {f"{name}.worst": alpha[: sample.n_train][sample.cost[: sample.n_train] > 0]}
    machine = Machine(found.f, spec, members, training, states, alpha, support, duals, {}, outcome)
    machine.shared_slack = found.slack
    machine.history = found.history
    return machine


def _require_two_classes(sample: Sample) -> None:
    """Costs must leave rows of both signs."""
    others = [c for c in sample.classes.tolist() if c != sample.positive]
    rest = f"class {others[0]!r}" if len(others) == 1 else f"the classes other than {sample.positive!r}"
    for sign, what in ((1.0, f"class {sample.positive!r}"), (-1.0, rest)):
        of_class = sample.y == sign
        if not np.any(sample.cost[of_class] > 0):
            takers = [name for name, share in sample.shares.items() if np.any(share[of_class] < 0)]
            who = f"block '{takers[-1]}' leaves" if takers else "the rows leave"
            raise InvalidInput(f"{who} no cost to {what}: two classes are needed.")


def _distance(entry: Mapping[str, Any]) -> float:
    """How far a round can be from the optimum, by its bounds."""
    return float((entry["upper"] - entry["lower"]) / (1.0 + abs(entry["upper"])))


def _findings(machine: Machine, sample: Sample) -> dict[str, Any]:
    """What the blocks have to tell of the fitted f."""
    found = {}
    for name, block, weight in machine.members:
        if weight > 0 and type(block).findings is not Knowledge.findings:
            with naming(name):
                told = block.findings(machine.f, machine.context(name, sample))
            if told is not None:
                found[name] = told
    return found


def _entry(
    machine: Machine, number: int, sample: Sample, iterative: Sequence[Member], seconds: float
) -> dict[str, Any]:
    """What is remembered of a round."""
    return {
        "round": number,
        "objective": machine.reached,
        "gap": machine.outcome.residuals.gap,
        "rows": int(np.count_nonzero(sample.cost)),
        "solver": machine.outcome.solver,
        "status": machine.outcome.status,
        "seconds": seconds,
    }


def refined(
    machine: Machine, iterative: Sequence[Member], sample: Sample, states: Mapping[str, Any]
) -> dict[str, Any]:
    """The new states of the blocks that have one: refined, or if none refines any more, settled."""
    base = machine.context("", sample, states)
    needed = base.slack
    unknown = False
    columns = []
    for stage in ("refine", "settle"):
        new = {}
        for name, block, _ in iterative:
            with naming(name):
                own = machine.own_duals(name)
                context = replace(base, name=name, state=states[name], duals=own, notes={})
                state = getattr(block, stage)(machine.f, context)
            asked, count = (context.notes.pop(note, None) for note in ("needed", "columns"))
            unknown = unknown or (state is not None and asked is None)
            needed = needed if asked is None else np.maximum(needed, asked)
            columns += [] if count is None else [count]
            machine.history[-1].update(context.notes)
            if state is not None:
                new[name] = state
        if new:
            break
    if columns:
        entry = machine.history[-1]
        entry.update(lower=base.lower, columns=sum(columns))
        if not unknown:  # f as it is, with slacks that cover all that is asked
            cost = machine.spec.C * sample.cost[base.rows]
            penalise = machine.spec.penalise
            missing = cost @ (penalise(np.maximum(needed, 0.0)) - penalise(np.maximum(base.slack, 0.0)))
            entry["upper"] = base.objective + float(missing)
    return new


def _relaxed(members: Sequence[Member], states: Mapping[str, Any], training: Sample) -> dict[str, Any]:
    """The new states of blocks that asked for more than they mean, after a problem without a solution."""
    new = {}
    for name, block, weight in members:
        if weight > 0:
            with naming(name):
                state = block.relax(states[name], training)
            if state is not None:
                new[name] = state
    return new


def warn_of_inaccuracy(rounds: Sequence[Outcome], training: Sample) -> None:
    """Say once for all rounds that an answer is inaccurate: the last, or the worst of those before it."""
    worst = max(rounds, key=lambda outcome: outcome.residuals.worst if outcome.remark else 0.0)
    said = rounds[-1] if rounds[-1].remark else worst
    if said.remark:
        number = next(k for k, outcome in enumerate(rounds, 1) if outcome is said)
        place = "" if said is rounds[-1] else f" in round {number} of {len(rounds)}"
        where = f"{of_class(training)}{place}".strip()
        warn(f"{where}{': ' if where else ''}{said.remark}", InaccurateSolution)


def of_class(training: Sample) -> str:
    """Which machine it is, if there is one for each class."""
    classes = training.classes.tolist()
    positive = training.positive
    return f" for class {positive!r}" if len(classes) > 2 and positive in classes else ""
