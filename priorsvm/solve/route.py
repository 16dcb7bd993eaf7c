"""Route: one way to solve a problem."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, final

from .._utils.cache import Cache
from .._utils.threads import require_cvxpy_allowed
from ..errors import InvalidInput, SolverUnsuited
from ..knowledge.traits import Iterative
from ..prior import Member, live
from ..problem.assemble import Compiled
from ..sample import Sample
from ..spec import Spec
from .methods.neighbour import Neighbour
from .solution import Solution, judge
from .weighted import Weighted


@dataclass(eq=False)
class Problem:
    """Problem of one round.

    Attributes
    ----------
    spec, members, states : the model, its blocks and their states.
    training, sample : the rows before and after all blocks have prepared them.
    maps, grams : caches of feature maps and of kernel matrices; None keeps no kernel matrix.
    previous : the assembled problem of the round before.
    known_rows : the rows of the round before, from which ROWS starts.
    reduced_value : the optimum with equations that hold exactly, once ROWS has computed it; else None.
    neighbour : the last model of a path on the same rows.
    facts : the rows that blocks build on if ``sample`` has other rows in the loss; None for ``sample``.
    most_points : most points at which a block may evaluate f; None without a limit.
    large : all rows if they are read in chunks, of which ``sample`` has some; None if it has all.
    max_rounds, verbose : number of passes and progress bars, for routes that do all rounds themselves.
    """

    spec: Spec
    members: list[Member]
    states: dict[str, Any]
    training: Sample
    sample: Sample
    maps: Cache
    grams: Cache | None = None
    previous: Compiled | None = None
    known_rows: Any = None
    reduced_value: float | None = None
    neighbour: Neighbour | None = None
    facts: Sample | None = None
    most_points: int | None = None
    large: Any = None
    max_rounds: int = 100
    verbose: int = 0

    @property
    def live(self) -> list[Member]:
        """The blocks of positive weight."""
        return live(self.members)

    @property
    def iterates(self) -> bool:
        """Whether a block refines its state, so that another round may follow."""
        return any(isinstance(block, Iterative) and block.refines for _, block, _ in self.live)

    @cached_property
    def n_rows(self) -> int:
        """The number of rows of positive cost."""
        return int(self.sample.counted.sum())

    @cached_property
    def weighted(self) -> Weighted:
        """The problem as a weighted SVM."""
        return Weighted(self.spec, self.sample, self.neighbour)

    @cached_property
    def compiled(self) -> Compiled:
        """The problem in CVXPY: the previous one with new weights if that is enough."""
        require_cvxpy_allowed()
        previous = self.previous
        if previous is not None and previous.accepts(self.members, self.states, self.sample):
            previous.set_weights(self.spec, self.members, self.states, self.sample)
            return previous
        return Compiled(
            self.spec, self.members, self.states, self.sample, self.maps, self.facts, self.most_points
        )

    @property
    def assembled(self) -> Compiled | None:
        """The problem in CVXPY if a route has used it, else None."""
        return vars(self).get("compiled")

    def beyond_rows(self) -> str | None:
        """Return why the blocks do more than add or reweight rows, or None."""
        for name, block, _ in self.live:
            known = name in self.states
            if not (block.adds_nothing(self.states[name]) if known else block.only_rows):
                return f"block '{name}' does more than add or reweight rows"
        return None


class Route:
    """One way to solve a problem.

    Attributes
    ----------
    name : the name in ``solver=`` and ``solver_``.
    solves : problem classes; empty if the route solves one kind of problem only.
    kind : that kind of problem.
    certifies : whether "infeasible" is a proof.
    factor, floor : an answer is accurate up to a residual of max(factor * tol, floor). The factor is
        1 or 10, or inf if the route reports a gap instead.
    takes : names of its ``solver_options``, or None if they are not known.
    package : what pip calls it.
    paper : key of the paper of its method in ``docs/references.bib``, which ``methods_text`` cites; or "".
    note : remark for the tables.
    selectable : whether ``solver=name`` selects it.
    """

    name: str = ""
    solves: frozenset[str] = frozenset()
    kind: str = ""
    certifies: bool = False
    factor: float = 10.0
    floor: float = 0.0
    takes: tuple[str, ...] | None = ()
    package: str = "priorsvm"
    paper: str = ""
    note: str = ""
    selectable: bool = True

    def installed(self) -> bool:
        """Return whether the route can be used."""
        return True

    def require_installed(self) -> None:
        """Raise SolverNotInstalled if the route cannot be used."""

    def accuracy(self, tol: float, final: bool = True) -> float:
        """Return the residual up to which an answer is accurate; ``final`` if no other route follows."""
        return max(self.factor * tol, self.floor)

    def obstacle(self, problem: Problem) -> str | None:
        """Return why the route cannot solve a problem, or None."""
        raise NotImplementedError

    def solve(self, problem: Problem, options: dict[str, Any]) -> Solution:
        """Return the solution of a problem without obstacle, not yet judged."""
        raise NotImplementedError

    def required_by(self, problem: Problem) -> list[Member]:
        """Return the blocks which only this route can solve."""
        return []

    def require_suited(self, problem: Problem) -> None:
        """Raise SolverUnsuited if the route cannot solve a problem."""
        reason = self.obstacle(problem)
        if reason is not None:
            raise SolverUnsuited(self.refusal(problem, reason))

    def refusal(self, problem: Problem, reason: str) -> str:
        """Return the message for a problem which the route cannot solve."""
        return f"{self.name} cannot solve this problem: {reason}. Use solver='auto'."

    @final
    def check_options(self, options: Mapping[str, Any]) -> None:
        """Raise InvalidInput if an option is not one of the route's, or has a wrong value."""
        unknown = sorted(set(options) - set(self.takes or ()))
        if self.takes is not None and unknown:
            if not self.takes:
                raise InvalidInput(f"{self.name} takes no solver_options, got {', '.join(unknown)}.")
            raise InvalidInput(
                f"{self.name} does not take these solver_options: {', '.join(unknown)}. "
                f"It takes: {', '.join(self.takes)}."
            )
        self.check_values(options)

    def check_values(self, options: Mapping[str, Any]) -> None:
        """Raise InvalidInput if an option has a wrong value; their names are checked already."""

    def run(self, problem: Problem, options: dict[str, Any] | None = None, final: bool = True) -> Solution:
        """Return the judged solution of a problem without obstacle.

        Raises
        ------
        SolverFailed
            If there is no answer, or its residuals are so large that it is discarded.
        """
        options = options or {}
        self.check_options(options)
        solution = self.solve(problem, options)
        self.judge(problem, solution, options, final)
        return solution

    def judge(self, problem: Problem, solution: Solution, options: dict[str, Any], final: bool) -> None:
        """Set the status and the remark which the residuals of a solution support."""
        outcome = solution.outcome
        status, remark = judge(
            self.name,
            outcome.status,
            outcome.residuals,
            self.accuracy(self.tolerance(problem, options), final),
            self.alternatives(problem),
            problem.spec.scale is not None,
            self.hint(problem, solution),
            problem.spec.deadline.passed,
        )
        solution.outcome = replace(outcome, status=status, remark=remark)

    def tolerance(self, problem: Problem, options: dict[str, Any]) -> float:
        """Return the tolerance which the answer has to meet."""
        return problem.spec.tol

    def alternatives(self, problem: Problem) -> str:
        """Return the names of solvers which a warning recommends instead."""
        return "CLARABEL"

    def hint(self, problem: Problem, solution: Solution) -> str:
        """Return further advice for a warning."""
        return ""
