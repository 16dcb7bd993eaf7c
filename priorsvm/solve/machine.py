"""One binary machine from rows and blocks: prepare, assemble, solve, refine, as long as anything refines."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ..assemble import Compiled, Spec, naming, prepare
from ..cache import Cache
from ..decision import Fitted
from ..diagnose import Residuals, conflict_error, refuse_common_points, refuse_impossible, refuse_opposed
from ..errors import (
    CollapsedModel,
    InaccurateSolution,
    Infeasible,
    InvalidInput,
    SolverFailed,
    SolverNotInstalled,
    SolverUnsuited,
)
from ..knowledge.base import MAX_CELLS, Context, Knowledge, Verdict
from ..prior import Member
from ..progress import progress
from ..sample import Array, Sample
from ..words import warn
from . import centres, columns, pegasos, plain, rows
from .solvers import SOLVERS, Outcome, is_infeasible, judge, least, require_installed, single_threaded
from .solvers import solve as solve_compiled
from .weighted import Weighted, judged

# Up to this many rows "auto" asks a CVXPY solver when no answer for a kernel machine is good enough.
SECOND_TRY_ROWS = 2000
# An f that varies by less over the training rows is a constant; by less and without a change of sign, nearly.
CONSTANT, NEARLY_CONSTANT = 1e-3, 0.1


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
    held: rows.Held | None = None
    verdicts: dict[tuple[str, int], tuple[Fitted, Verdict]] = field(default_factory=dict)
    _values: tuple[Fitted, Array, Array] | None = None

    def __getstate__(self) -> dict[str, Any]:
        # A solved cvxpy problem cannot be pickled, and skops has no keys but words and numbers.
        without: dict[str, Any] = {"compiled": None, "held": None, "verdicts": {}, "_values": None}
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
        if self.compiled is not None and self.compiled.problem.value is not None:
            return float(self.compiled.problem.value)
        return self.objective if self.value is None else self.value

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
            max(float(np.abs(_flat(dual)).max(initial=0.0)) for dual in [self.alpha, *self.duals.values()]),
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
        return {label.removeprefix(prefix): _flat(dual) for label, dual in own.items()}

    def certificate(self) -> Residuals:
        """Residuals of the answer; those of a weighted SVM are worked out from f and its dual variables."""
        if self.outcome.solver not in plain.ROUTES:
            return self.outcome.residuals
        sample, half = self.sample, self.regulariser()
        summed, problem = half, Weighted(self.spec, sample)
        if self.spec.kernel is None:
            w = (sample.y * self.alpha)[problem.active] @ problem.Z
            summed = 0.5 * float(w @ w)
        bound, scores = self.spec.C * sample.cost, sample.y * self.f.value(sample.X)
        return judged((half, summed), scores, self.alpha, bound, sample.y, sample.margin, problem.squared)[1]


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
    compiled, held = (None, None) if before is None else (before.compiled, before.held)
    history: list[dict[str, Any]] = []
    rounds: list[Outcome] = []
    bar = progress(verbose if iterative else 0, desc="rounds")
    while True:
        start = time.perf_counter()
        with single_threaded():
            sample = prepare(members, training, states)
            _require_two_classes(sample)
            task = _Round(spec, members, training, states, sample, options, maps, grams, compiled, held)
            try:
                machine = task.answer(solver)
            except Infeasible:
                relaxed = _relaxed(members, states, training)
                if not relaxed or len(history) >= max_rounds:
                    raise
                states = {**states, **relaxed}
                continue
        compiled, held = machine.compiled, machine.held
        rounds.append(machine.outcome)
        history.append(_entry(machine, len(history) + 1, sample, iterative, time.perf_counter() - start))
        bar.update()
        machine.history = history
        new = {}
        if iterative:
            with single_threaded():
                new = _refined(machine, iterative, sample, states)
        history[-1]["seconds"] = time.perf_counter() - start
        machine.scores = None
        if not new:
            break
        if len(history) >= max_rounds:
            waiting = ", ".join(f"'{name}'" for name in new)
            gap = f" (gap {_distance(history[-1]):.1e})" if "upper" in history[-1] else ""
            warn(
                f"block {waiting} still had something to refine after max_rounds={max_rounds} rounds{gap}"
                f"{_of_class(training)}. Raise max_rounds.",
                ConvergenceWarning,
            )
            break
        states = {**states, **new}
    bar.close()
    warn_of_inaccuracy(rounds, training)
    warn_of_collapse(machine)
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
    machine.shared_slack, machine.history = found.slack, found.history
    if last["gap"] <= spec.tol:
        warn_of_collapse(machine)
    return machine


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


def warn_of_inaccuracy(rounds: Sequence[Outcome], training: Sample) -> None:
    """Say once for all rounds that an answer is inaccurate: the last, or the worst of those before it."""
    worst = max(rounds, key=lambda outcome: outcome.residuals.worst if outcome.remark else 0.0)
    said = rounds[-1] if rounds[-1].remark else worst
    if said.remark:
        number = next(k for k, outcome in enumerate(rounds, 1) if outcome is said)
        place = "" if said is rounds[-1] else f" in round {number} of {len(rounds)}"
        where = f"{_of_class(training)}{place}".strip()
        warn(f"{where}{': ' if where else ''}{said.remark}", InaccurateSolution)


def _of_class(training: Sample) -> str:
    """Which machine it is, if there is one for each class."""
    classes, positive = training.classes.tolist(), training.positive
    return f" for class {positive!r}" if len(classes) > 2 and positive in classes else ""


def warn_of_collapse(machine: Machine) -> None:
    """Say that blocks have left nothing of f but its bias, and which of them pushes hardest."""
    from ..knowledge.regions import RegionKnowledge

    priced = [
        m
        for m in machine.members
        if m.weight > 0 and (m.block.shares_slack or isinstance(m.block, RegionKnowledge))
    ]
    if not priced:
        return
    push = {m.name: sum(float(np.abs(d).sum()) for d in machine.own_duals(m.name).values()) for m in priced}
    hardest = max(push, key=lambda name: push[name])
    values = machine.values(machine.training.X)
    spread = float(np.ptp(values))
    one_sign = len(machine.functions) == 1 and bool(np.all(values > 0) or np.all(values < 0))
    # A soft block, or rows that overlap, may well leave little of f for a rare class.
    forced = any(m.name == hardest and getattr(m.block, "hard", False) for m in priced)
    collapsed = spread < CONSTANT or (forced and one_sign and spread < NEARLY_CONSTANT)
    if push[hardest] > 1e-3 * (1.0 + float(machine.alpha.sum())) and collapsed:
        of_class = _of_class(machine.training)
        block = next(m.block for m in priced if m.name == hardest)
        way_out = block.way_out_of_collapse
        if machine.outcome.solver == "PEGASOS":
            way_out += (
                f" Or f = 0 is within tol={machine.spec.tol:g} already: lower tol and raise max_rounds."
            )
        nearly, alike = ("", "") if spread < CONSTANT else ("nearly ", ", and has one sign at all of them")
        warn(
            f"block '{hardest}' leaves a {nearly}constant f{of_class} (it varies by {spread:.0e} over the "
            f"training rows{alike}). {way_out}",
            CollapsedModel,
        )


def _flat(dual: Any) -> Array:
    """A multiplier as one vector; that of a cone comes in two parts."""
    parts = dual if isinstance(dual, (list, tuple)) else [dual]
    return np.concatenate([np.empty(0), *(np.ravel(part) for part in parts if part is not None)])


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


@dataclass(eq=False)
class _Round:
    """One solve of the loop: as a weighted SVM where it is one, else by another route or through CVXPY."""

    spec: Spec
    members: list[Member]
    training: Sample
    states: dict[str, Any]
    sample: Sample
    options: dict[str, Any] | None
    maps: Cache
    grams: Cache | None
    compiled: Compiled | None
    held: rows.Held | None = None
    tried: Compiled | None = None
    asked: list[str] = field(default_factory=list)  # routes and solvers, in order

    def answer(self, solver: str | Sequence[str]) -> Machine:
        """The machine; where numbers give out, an error that names the hard blocks that ask too much."""
        try:
            machine = self.solve(solver)
        except SolverFailed as failure:
            if (reason := self._asked_too_much(solver)) is not None:
                raise reason from failure
            raise
        if machine.outcome.remark and (reason := self._asked_too_much(solver)) is not None:
            raise reason
        return machine

    def _asked_too_much(self, solver: str | Sequence[str]) -> Infeasible | None:
        """Who does, by the verdict of solvers that can prove it: not if one was named that cannot."""
        if isinstance(solver, str) and solver in SOLVERS and not SOLVERS[solver].certifies:
            return None
        if self.tried is None or not any(m.block.may_forbid for m in self.tried.members):
            return None
        return conflict_error(self.tried, is_infeasible, least)

    def solve(self, solver: str | Sequence[str]) -> Machine:
        """With the solver named, or with each of a list until one succeeds."""
        if isinstance(solver, str):
            return self._told(self._with(solver))
        failures, options = [], self.options
        for name in solver:
            if len(solver) > 1:
                self.options = (options or {}).get(name)
            try:
                return self._told(self._with(name))
            except (SolverFailed, SolverNotInstalled, SolverUnsuited) as error:
                failures.append(f"{name}: {error}")
                self.asked.append(name)
        raise SolverFailed("None of the solvers listed gave an answer.\n" + "\n".join(failures))

    def _told(self, machine: Machine) -> Machine:
        """The machine, with all who were asked in vain before it was found."""
        found = machine.outcome
        vain = dict.fromkeys(name for name in (*self.asked, *found.before) if name != found.solver)
        machine.outcome = replace(found, before=tuple(vain))
        return machine

    def _with(self, name: str) -> Machine:
        if name in plain.ROUTES:
            reason = plain.ROUTES[name].obstacle(self.spec, self.members, self.sample)
            if reason is not None:
                raise SolverUnsuited(f"{name} cannot solve this problem: {reason}. Use solver='auto'.")
            return self._by_route(name, Weighted(self.spec, self.sample), self.options)
        if name == "auto":
            found = self._by_routes()
            if found is not None:
                return found
        own = {
            "COLUMNS": (columns, self._by_columns),
            "CENTRES": (centres, self._by_centres),
            "ROWS": (rows, self._by_rows),
        }
        for route, (module, solve) in own.items():
            if name not in ("auto", route):
                continue
            reason = module.obstacle(self.spec, self.members, self.sample)
            if name == route:
                if reason is not None:
                    raise SolverUnsuited(f"{route} cannot solve this problem: {reason}. Use solver='auto'.")
                if self.options:
                    raise InvalidInput(f"{route} takes no solver_options, got {', '.join(self.options)}.")
                return solve()
            if reason is None and not self.options and module.prefers(self.spec, self.sample):
                with suppress(SolverUnsuited):  # no such problem at a closer look
                    try:
                        machine = solve()
                        if not machine.outcome.remark:
                            return machine
                    except SolverFailed:  # a very large C, huge values; a general solver is next
                        pass
                    self.asked.append(route)
        if name != "auto":
            require_installed(name)
        return self._by_cvxpy(name)

    def _machine(self, f: Fitted, *found: Any, **more: Any) -> Machine:
        return Machine(f, self.spec, self.members, self.training, self.states, *found, **more)

    def _by_route(
        self, name: str, problem: Weighted, options: dict[str, Any] | None, strict: bool = False
    ) -> Machine:
        """By one route for weighted SVMs, judged by its residuals; ``strict`` where others can try."""
        self.asked.append(name)
        start = time.perf_counter()
        found = plain.ROUTES[name].solve(problem, self.grams, options)
        rest = time.perf_counter() - start - found.seconds
        asked = max(self.spec.tol, float((options or {}).get("tol", 0.0)))
        scaled, hint = self.spec.scale is not None, ""
        if found.status == "user_limit":
            hint = (
                f" It stopped after {found.steps} iterations: a larger tol takes fewer, and "
                "solver_options={'max_iter': ...} allows more."
            )
            if strict:
                raise SolverFailed(f"{name} is not on its way.{hint}")
        accepted = 10 * asked if strict else max(10 * asked, 1e-4)
        status, remark = judge(name, found.status, found.residuals, accepted, scaled=scaled, hint=hint)
        alpha = found.alpha
        return self._machine(
            found.f,
            alpha,
            alpha > 0,
            {"svm.margin": alpha[self.sample.cost > 0]},
            {},
            Outcome(name, status, found.residuals, rest, found.seconds, found.steps, remark),
            found.value,
        )

    def _by_routes(self) -> Machine | None:
        """By the first route whose residuals do not speak against it; None if a CVXPY solver is next."""
        routes = plain.routes(self.spec, self.members, self.sample)
        if not routes:
            return None
        own, problem = self.options or {}, Weighted(self.spec, self.sample)
        few = len(problem) <= SECOND_TRY_ROWS or self.spec.kernel is None
        for name, options in routes:
            last = (name, options) == routes[-1] and not few
            if name == "LIBSVM":
                options = {**options, **own}
            elif own:
                continue  # they were meant for LIBSVM
            try:
                machine = self._by_route(name, problem, options, strict=not last)
                if last or not machine.outcome.remark:
                    return machine
            except SolverFailed:
                if last:
                    raise
        # LIBSVM has had its options; whoever has not been asked yet may take others.
        self.options = None if "LIBSVM" in self.asked and set(own) <= plain.OPTIONS else own
        return None

    def _by_columns(self) -> Machine:
        grams = Cache() if self.grams is None else self.grams
        found = columns.solve(self.spec, self.members, self.states, self.sample, grams)
        accepted = max(10 * self.spec.tol, 1e-5)
        scaled = self.spec.scale is not None
        said, residuals = found.outcome.status, found.outcome.residuals
        status, remark = judge("COLUMNS", said, residuals, accepted, scaled=scaled)
        machine = self._machine(
            found.f,
            found.alpha,
            found.alpha > 0,
            found.duals,
            {},
            replace(found.outcome, status=status, remark=remark),
            shared_slack=found.slack,
            scores=found.scores,
        )
        largest = max(float(dual.max(initial=0.0)) for dual in found.duals.values())
        enough = 1e-6 * np.minimum(self.spec.C * self.sample.cost, largest)
        machine.support = found.alpha > enough
        machine.add_support(self.sample, enough)
        return machine

    def _by_centres(self) -> Machine:
        found = centres.solve(self.spec, self.sample, self.grams)
        accepted, scaled = max(self.spec.tol, 1e-9), self.spec.scale is not None
        said, residuals = found.outcome.status, found.outcome.residuals
        status, remark = judge("CENTRES", said, residuals, accepted, scaled=scaled)
        bound, alpha = self.spec.C * self.sample.cost, found.alpha
        return self._machine(
            found.f,
            alpha,
            alpha > 1e-6 * np.minimum(bound, alpha.max()),
            {"svm.margin": alpha[self.sample.cost > 0]},
            {},
            replace(found.outcome, status=status, remark=remark),
        )

    def _by_rows(self) -> Machine:
        held = self.held
        if held is not None and held.accepts(self.members, self.states, self.sample):
            held.set_weights(self.spec, self.members, self.states, self.sample)
        else:
            held = rows.Held(self.spec, self.members, self.states, self.sample)
        found = held.solve()
        accepted, scaled = max(self.spec.tol, 1e-8), self.spec.scale is not None
        said, residuals = found.outcome.status, found.outcome.residuals
        status, remark = judge("ROWS", said, residuals, accepted, scaled=scaled)
        duals = held.duals()
        alpha = np.zeros(len(self.sample))
        alpha[held.active] = duals["svm.margin"]
        machine = self._machine(
            found.f,
            alpha,
            alpha > 0,
            duals,
            held.penalties(),
            replace(found.outcome, status=status, remark=remark),
            found.value,
            held=held,
        )
        if len(held.active) == len(self.sample):
            machine._values = found.f, self.sample.X, found.values
        return machine

    def _by_cvxpy(self, name: str) -> Machine:
        compiled = self.compiled
        if compiled is not None and compiled.accepts(self.members, self.states, self.sample):
            compiled.set_weights(self.spec, self.members, self.states, self.sample)
        else:
            compiled = Compiled(self.spec, self.members, self.states, self.sample, self.maps)
        self.tried = compiled
        outcome = solve_compiled(compiled, name, self.options)
        duals = compiled.duals()
        alpha = np.zeros(len(self.sample))
        alpha[compiled.active] = np.abs(duals["svm.margin"])
        # What an interior-point method leaves on inactive rows is small against the row's own bound.
        bound = self.spec.C * self.sample.cost if self.spec.loss == "hinge" else np.full(len(alpha), np.inf)
        largest = max(float(np.abs(_flat(dual)).max(initial=0.0)) for dual in duals.values())
        enough = 1e-6 * np.minimum(bound, largest)
        slack = None
        if any(member.block.shares_slack for member in compiled.members):
            slack = np.zeros(len(self.sample))
            slack[compiled.active] = compiled.slack.value
        machine = self._machine(
            compiled.fitted(),
            alpha,
            alpha > enough,
            duals,
            compiled.penalties(),
            outcome,
            shared_slack=slack,
            compiled=compiled,
        )
        machine.add_support(self.sample, enough)
        return machine


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


def _refined(
    machine: Machine, iterative: Sequence[Member], sample: Sample, states: Mapping[str, Any]
) -> dict[str, Any]:
    """The new states of the blocks that have one: refined, or if none refines any more, settled."""
    base = machine.context("", sample, states)
    needed, unknown, columns = base.slack, False, []
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
            cost, penalise = machine.spec.C * sample.cost[base.rows], machine.spec.penalise
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
