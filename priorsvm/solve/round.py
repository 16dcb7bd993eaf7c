"""One solve of the loop: which routes and solvers are asked, in which order, and who gave the answer."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from types import ModuleType
from typing import Any

import numpy as np

from .._utils.cache import Cache
from ..errors import Infeasible, InvalidInput, SolverFailed, SolverNotInstalled, SolverUnsuited
from ..function.fitted import Fitted
from ..prior import Member
from ..problem.assemble import Compiled
from ..problem.conflicts import conflict_error
from ..sample import Sample
from ..spec import Spec
from . import plain
from .machine import Machine, flat
from .routes import centres, columns, rows
from .routes.weighted import Weighted
from .solvers import SOLVERS, Outcome, by_name, is_infeasible, judge, least, require_installed
from .solvers import solve as solve_compiled

# Up to this many rows "auto" asks a CVXPY solver when no answer for a kernel machine is good enough.
SECOND_TRY_ROWS = 2000

# The routes for more than weights, in the order "auto" looks at them.
OWN: dict[str, ModuleType] = {"COLUMNS": columns, "CENTRES": centres, "ROWS": rows}


@dataclass(eq=False)
class Round:
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
        """Who does, by the verdict of solvers that can prove it: not if only such were named that cannot."""
        named = [solver] if isinstance(solver, str) else solver
        if all(name in SOLVERS and not SOLVERS[name].certifies for name in named):
            return None
        if self.tried is None or not any(m.block.may_forbid for m in self.tried.members):
            return None
        return conflict_error(self.tried, is_infeasible, least)

    def solve(self, solver: str | Sequence[str]) -> Machine:
        """With the solver named, or with each of a list until one succeeds."""
        if isinstance(solver, str):
            return self._told(self._with(solver))
        failures = []
        options = self.options
        for name in solver:
            if by_name(solver, options):
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
        if name == "auto":
            return self._by_plain_routes() or self._by_own_routes() or self._by_cvxpy("auto")
        route = plain.ROUTES.get(name) or OWN.get(name)
        if route is None:
            require_installed(name)
            return self._by_cvxpy(name)
        reason = route.obstacle(self.spec, self.members, self.sample)
        if reason is not None:
            raise SolverUnsuited(f"{name} cannot solve this problem: {reason}. Use solver='auto'.")
        if name in plain.ROUTES:
            return self._by_plain(name, Weighted(self.spec, self.sample), self.options)
        if self.options:
            raise InvalidInput(f"{name} takes no solver_options, got {', '.join(self.options)}.")
        return self._by_own(name)

    def _machine(self, f: Fitted, *found: Any, **more: Any) -> Machine:
        return Machine(f, self.spec, self.members, self.training, self.states, *found, **more)

    def _by_plain(
        self, name: str, problem: Weighted, options: dict[str, Any] | None, strict: bool = False
    ) -> Machine:
        """By one route for weighted SVMs, judged by its residuals; ``strict`` where others can try."""
        self.asked.append(name)
        start = time.perf_counter()
        found = plain.ROUTES[name].solve(problem, self.grams, options)
        rest = time.perf_counter() - start - found.seconds
        asked = max(self.spec.tol, float((options or {}).get("tol", 0.0)))
        scaled = self.spec.scale is not None
        hint = ""
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

    def _by_plain_routes(self) -> Machine | None:
        """By the first route whose residuals do not speak against it; None if a CVXPY solver is next."""
        routes = plain.routes(self.spec, self.members, self.sample)
        if not routes:
            return None
        own = self.options or {}
        problem = Weighted(self.spec, self.sample)
        few = len(problem) <= SECOND_TRY_ROWS or self.spec.kernel is None
        for name, options in routes:
            last = (name, options) == routes[-1] and not few
            if name == "LIBSVM":
                options = {**options, **own}
            elif own:
                continue  # they were meant for LIBSVM
            try:
                machine = self._by_plain(name, problem, options, strict=not last)
                if last or not machine.outcome.remark:
                    return machine
            except SolverFailed:
                if last:
                    raise
        # LIBSVM has had its options; whoever has not been asked yet may take others.
        self.options = None if "LIBSVM" in self.asked and set(own) <= plain.OPTIONS else own
        return None

    def _by_own_routes(self) -> Machine | None:
        """By the first route for more than weights that is preferred and finds an accurate answer."""
        for name, route in OWN.items():
            suited = route.obstacle(self.spec, self.members, self.sample) is None
            if not suited or self.options or not route.prefers(self.spec, self.sample):
                continue
            with suppress(SolverUnsuited):  # no such problem at a closer look
                try:
                    machine = self._by_own(name)
                    if not machine.outcome.remark:
                        return machine
                except SolverFailed:  # a very large C, huge values; a general solver is next
                    pass
                self.asked.append(name)
        return None

    def _by_own(self, name: str) -> Machine:
        ways = {"COLUMNS": self._by_columns, "CENTRES": self._by_centres, "ROWS": self._by_rows}
        return ways[name]()

    def _by_columns(self) -> Machine:
        grams = Cache() if self.grams is None else self.grams
        found = columns.solve(self.spec, self.members, self.states, self.sample, grams)
        accepted = max(10 * self.spec.tol, 1e-5)
        scaled = self.spec.scale is not None
        said = found.outcome.status
        residuals = found.outcome.residuals
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
        accepted = max(self.spec.tol, 1e-9)
        scaled = self.spec.scale is not None
        said = found.outcome.status
        residuals = found.outcome.residuals
        status, remark = judge("CENTRES", said, residuals, accepted, scaled=scaled)
        bound = self.spec.C * self.sample.cost
        alpha = found.alpha
        return self._machine(
            found.f,
            alpha,
            alpha > 1e-6 * np.minimum(bound, alpha.max()),
            {"svm.margin": alpha[self.sample.cost > 0]},
            {},
            replace(found.outcome, status=status, remark=remark),
        )

    def _by_rows(self) -> Machine:
        compiled = self._assembled()
        found = rows.solve(compiled)
        accepted = max(self.spec.tol, 1e-8)
        scaled = self.spec.scale is not None
        said = found.outcome.status
        residuals = found.outcome.residuals
        status, remark = judge("ROWS", said, residuals, accepted, scaled=scaled)
        duals = compiled.duals()
        alpha = np.zeros(len(self.sample))
        alpha[compiled.active] = duals["svm.margin"]
        machine = self._machine(
            found.f,
            alpha,
            alpha > 0,
            duals,
            compiled.penalties(),
            replace(found.outcome, status=status, remark=remark),
            found.value,
            compiled=compiled,
        )
        if len(compiled.active) == len(self.sample):
            machine._values = found.f, self.sample.X, found.values
        return machine

    def _assembled(self) -> Compiled:
        """Return the assembled problem, the one before if only weights differ."""
        compiled = self.compiled
        if compiled is not None and compiled.accepts(self.members, self.states, self.sample):
            compiled.set_weights(self.spec, self.members, self.states, self.sample)
        else:
            compiled = Compiled(self.spec, self.members, self.states, self.sample, self.maps)
        self.compiled = compiled
        return compiled

    def _by_cvxpy(self, name: str) -> Machine:
        compiled = self._assembled()
        self.tried = compiled
        outcome = solve_compiled(compiled, name, self.options)
        duals = compiled.duals()
        alpha = np.zeros(len(self.sample))
        alpha[compiled.active] = np.abs(duals["svm.margin"])
        # What an interior-point method leaves on inactive rows is small against the row's own bound.
        bound = self.spec.C * self.sample.cost if self.spec.loss == "hinge" else np.full(len(alpha), np.inf)
        largest = max(float(np.abs(flat(dual)).max(initial=0.0)) for dual in duals.values())
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
