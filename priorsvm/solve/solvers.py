"""Solvers of CVXPY: what each solves, with which options, and how it is called."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from .._utils.deadline import Deadline
from .._utils.threads import single_threaded
from ..errors import SolverNotInstalled
from .classes import CLASSES

if TYPE_CHECKING:
    import cvxpy as cp


@dataclass(frozen=True)
class Solver:
    """Facts about a solver of whole problem classes.

    Attributes
    ----------
    solves : problem classes.
    accuracy : residual up to which its answers are accurate.
    options : tolerance -> keyword arguments of ``cvxpy.Problem.solve``.
    note : remark for the tables.
    certifies : whether its "infeasible" is a proof.
    takes : names of its options, or None if CVXPY hands on any option.
    package : what pip calls it.
    warm_start : whether CVXPY may keep what the solver computed for earlier weights.
    retries : whether a breakdown is followed by a run at the solver's own tolerances.
    measured : whether the facts were measured; otherwise they are derived from CVXPY.
    time_limit : its option for a limit in seconds, or "" if it has none.
    """

    solves: frozenset[str]
    accuracy: float
    options: Callable[[float], dict[str, Any]]
    note: str
    certifies: bool = True
    takes: tuple[str, ...] | None = None
    package: str = ""
    warm_start: bool = True
    retries: bool = False
    measured: bool = True
    time_limit: str = ""

    def within(self, deadline: Deadline) -> dict[str, float]:
        """Return the option that ends the solver at a deadline, none if there is no deadline or option."""
        deadline.check()
        return {self.time_limit: deadline.left} if deadline.limited and self.time_limit else {}


def _tight(*names: str, digits: float = 1e-8, **more: Any) -> Callable[[float], dict[str, Any]]:
    # Interior-point methods reach 1e-8 in one or two more steps, which lets residuals meet tol.
    return lambda tol: {**{name: min(digits, tol) for name in names}, **more}


SOLVERS: dict[str, Solver] = {
    "CLARABEL": Solver(
        frozenset(CLASSES),
        1e-5,
        _tight("tol_gap_abs", "tol_gap_rel", "tol_feas", digits=1e-10),
        "interior point",
        # It would keep the equilibration of its first weights, which costs more than it saves.
        warm_start=False,
        retries=True,
        package="clarabel",
        time_limit="time_limit",
    ),
    "HIGHS": Solver(
        frozenset({"LP"}),
        1e-5,
        _tight(),
        "simplex; its QP can hang, so LP only",
        package="highspy",
        time_limit="time_limit",
    ),
    "ECOS": Solver(
        frozenset({"LP", "QP", "SOCP", "EXP"}),
        1e-4,
        _tight("abstol", "reltol", "feastol"),
        "interior point",
        package="ecos",
    ),
    "SCS": Solver(
        frozenset(CLASSES),
        1e-3,
        _tight("eps_abs", "eps_rel", digits=1e-6, max_iters=200_000),
        "first order, low accuracy",
        package="scs",
        time_limit="time_limit_secs",
    ),
    "OSQP": Solver(
        frozenset({"LP", "QP"}),
        1e-3,
        _tight("eps_abs", "eps_rel", digits=1e-7, max_iter=200_000, polishing=True),
        "first order; inaccurate on LP",
        package="osqp",
        time_limit="time_limit",
    ),
    "PIQP": Solver(
        frozenset({"LP", "QP"}),
        1e-5,
        _tight("eps_abs", "eps_rel"),
        "interior point; certifies nothing",
        certifies=False,
        package="piqp",
    ),
    "QOCO": Solver(
        frozenset({"LP", "QP", "SOCP"}),
        1e-5,
        _tight("abstol", "reltol"),
        "interior point; certifies nothing",
        certifies=False,
        package="qoco",
    ),
    "SCHUR": Solver(
        frozenset({"LP", "QP", "SOCP", "SDP"}),
        1e-5,
        _tight("tol", digits=1e-10),
        "interior point of priorsvm, for many small cones that share few variables",
        takes=("tol", "max_iter", "time_limit"),
        time_limit="time_limit",
        package="priorsvm",
    ),
}


@lru_cache(maxsize=1)
def available() -> frozenset[str]:
    """Return the names of all installed solvers of CVXPY."""
    import cvxpy as cp

    return frozenset(cp.installed_solvers())


def installed() -> tuple[str, ...]:
    """Return the names of the solvers in the table that are installed."""
    return tuple(name for name in SOLVERS if name in available() or name == "SCHUR")


def able(problem_class: str) -> list[str]:
    """Return the installed solvers for a problem class."""
    return [name for name in installed() if problem_class in SOLVERS[name].solves]


def certifying() -> list[str]:
    """Return the installed solvers that can prove infeasibility."""
    return [name for name in installed() if SOLVERS[name].certifies]


def choose(problem_class: str) -> str:
    """Return HIGHS for an LP and CLARABEL for any other class, or an installed substitute."""
    first_choice = "HIGHS" if problem_class == "LP" else "CLARABEL"
    if first_choice in installed():
        return first_choice
    candidates = able(problem_class)
    if not candidates:
        raise SolverNotInstalled(f"no installed solver can solve this {problem_class}: pip install clarabel.")
    return candidates[0]


def require_installed(name: str) -> None:
    """Raise SolverNotInstalled, with the command that installs it, if a solver is missing."""
    if name not in installed():
        raise SolverNotInstalled(
            f"solver {name} is not installed: pip install {SOLVERS[name].package}. "
            f"Installed: {', '.join(installed())}."
        )


def run(problem: cp.Problem, name: str, **arguments: Any) -> None:
    """Solve a CVXPY problem, and raise ``cvxpy.SolverError`` if the solver ends without a verdict."""
    import cvxpy as cp

    try:
        problem.solve(solver=_as_cvxpy_solver(name), **arguments)
    except ValueError as error:
        if "invalid solution" not in str(error):
            raise
        raise cp.SolverError("it ended without a verdict.") from error


def _as_cvxpy_solver(name: str) -> Any:
    if name != "SCHUR":
        return name
    from .routes.direct import solver

    return solver()


@contextmanager
def quiet() -> Iterator[None]:
    """Run on one thread, without the warnings of CVXPY which the residuals replace."""
    with single_threaded(), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Solution may be inaccurate")
        warnings.filterwarnings("ignore", message=".*ECOS.*", category=FutureWarning)
        warnings.filterwarnings(
            "ignore", message="The problem has an expression with dimension greater than 2"
        )
        yield
