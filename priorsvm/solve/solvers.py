"""Which solver for which problem, and what its answer is worth."""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import issparse

from .._utils.messages import did_you_mean
from ..errors import InvalidInput, PriorSVMError, SolverFailed, SolverNotInstalled, SolverUnsuited, Unbounded
from ..problem.conflicts import conflict_error
from ..problem.residuals import Residuals, residuals

if TYPE_CHECKING:
    import cvxpy as cp

    from ..problem.assemble import Compiled

CLASSES = ("LP", "QP", "SOCP", "SDP", "EXP")
_CONES = {
    "QP": "a quadratic objective",
    "SOCP": "second-order cones",
    "SDP": "semidefinite cones",
    "EXP": "exponential cones",
}


@dataclass(frozen=True)
class Solver:
    """What is known about a solver.

    Attributes
    ----------
    solves : problem classes.
    certifies : whether its "infeasible" is a proof.
    accuracy : the residual it can be held to; what is above is warned about.
    options : tolerance -> keyword arguments of ``cvxpy.Problem.solve``.
    takes : the names of all its options, where we know them.
    """

    solves: frozenset[str]
    certifies: bool
    accuracy: float
    options: Callable[[float], dict[str, Any]]
    note: str = ""
    takes: tuple[str, ...] = ()


def _tight(*names: str, digits: float = 1e-8, **more: Any) -> Callable[[float], dict[str, Any]]:
    # Interior-point methods reach 1e-8 in one or two more steps, which is what makes residuals meet tol.
    return lambda tol: {**{name: min(digits, tol) for name in names}, **more}


SOLVERS: dict[str, Solver] = {
    "CLARABEL": Solver(
        frozenset(CLASSES),
        True,
        1e-5,
        _tight("tol_gap_abs", "tol_gap_rel", "tol_feas", digits=1e-10),
        "interior point",
    ),
    "HIGHS": Solver(frozenset({"LP"}), True, 1e-5, lambda tol: {}, "simplex; its QP can hang, so LP only"),
    "ECOS": Solver(
        frozenset({"LP", "QP", "SOCP", "EXP"}),
        True,
        1e-4,
        _tight("abstol", "reltol", "feastol"),
        "interior point",
    ),
    "SCS": Solver(
        frozenset(CLASSES),
        True,
        1e-3,
        lambda tol: {"eps_abs": min(1e-6, tol), "eps_rel": min(1e-6, tol), "max_iters": 200_000},
        "first order, low accuracy",
    ),
    "OSQP": Solver(
        frozenset({"LP", "QP"}),
        True,
        1e-3,
        lambda tol: {
            "eps_abs": min(1e-7, tol),
            "eps_rel": min(1e-7, tol),
            "max_iter": 200_000,
            "polishing": True,
        },
        "first order; inaccurate on LP",
    ),
    "PIQP": Solver(
        frozenset({"LP", "QP"}),
        False,
        1e-5,
        _tight("eps_abs", "eps_rel"),
        "interior point; certifies nothing",
    ),
    "QOCO": Solver(
        frozenset({"LP", "QP", "SOCP"}),
        False,
        1e-5,
        _tight("abstol", "reltol"),
        "interior point; certifies nothing",
    ),
    "SCHUR": Solver(
        frozenset({"LP", "QP", "SOCP", "SDP"}),
        True,
        1e-5,
        _tight("tol", digits=1e-10),
        "interior point of priorsvm, for many small cones that share few variables",
        ("tol", "max_iter"),
    ),
}

# Routes of the library itself, for problems of one kind.
OWN = ("LIBSVM", "NORMAL", "SPARSE", "ROWS", "COLUMNS", "CENTRES")

# What to install where that is not the solver's own name.
PACKAGES = {"HIGHS": "highspy"}

# "auto" means SCHUR where f has so many numbers in the problem, by its class, and no more coefficients than
# this. Whole fits against Clarabel: even at 2e4 numbers (linear, boxes, 300 x 50; 200 ellipsoids in 10
# columns; 100 parabolas), 0.5 to 0.8 of its time at 4e4, 0.25 to 0.5 at 1e5 to 3e5. With semidefinite cones 2
# to 3 times slower up to 4e5, 0.6 at 1e6. S is dense, so coefficients are what limits it. An LP goes on to
# HiGHS from there; against HiGHS alone that is even at 1e4 to 3e4 numbers, 0.1 to 0.6 of it from 4e4 on.
SCHUR_NUMBERS = {"LP": 40_000, "QP": 40_000, "SOCP": 40_000, "SDP": 1_000_000}
SCHUR_COEFFICIENTS = 10_000
# With more coefficients than so many times the values of f, nearly all variables are shared: 500 values and
# 2000 coefficients in a box took 1.7 times as long as Clarabel, 60 and 3000 took 30 times as long.
WIDE = 2

# A residual beyond this is no answer, whatever the status says.
HOPELESS = 1e-2


@dataclass(frozen=True)
class Outcome:
    """How a solve went.

    ``remark`` is what there is to warn of, ``before`` who was asked in vain, ``start`` whose answer the
    solver was given to start from.
    """

    solver: str
    status: str
    residuals: Residuals
    compile_seconds: float
    solve_seconds: float
    iterations: int | None = None
    remark: str = ""
    before: tuple[str, ...] = ()
    start: str = ""


@lru_cache(maxsize=1)
def installed() -> tuple[str, ...]:
    """Names of the solvers in our table that are installed."""
    import cvxpy as cp

    available = set(cp.installed_solvers())
    return tuple(name for name in SOLVERS if name in available or name == "SCHUR")


def able(problem_class: str) -> list[str]:
    """Installed solvers for a class of problems."""
    return [name for name in installed() if problem_class in SOLVERS[name].solves]


def check_solver(solver: Any) -> None:
    """``solver`` is "auto", a known and installed name, or a list of such names."""
    if not isinstance(solver, (str, list, tuple)):
        raise InvalidInput(f"solver must be 'auto', a name or a list of names, got {solver!r}.")
    if solver == "auto":
        return
    names = [solver] if isinstance(solver, str) else solver
    if not names:
        raise InvalidInput("solver is an empty list: name at least one solver, or use 'auto'.")
    for name in names:
        if name == "auto":
            raise InvalidInput("solver 'auto' stands alone; a list names solvers.")
        if str(name).upper() == "PEGASOS":
            raise InvalidInput(
                f"solver {name!r} is a method of a block: use InvariantLoss(method='pegasos'), solver='auto'."
            )
        if not isinstance(name, str) or not _is_solver(name):
            known = ", ".join(["auto", *OWN, *SOLVERS])
            meant = did_you_mean(name, ["auto", *OWN, *SOLVERS])
            raise InvalidInput(f"solver {name!r} is not known.{meant} Known are: {known}.")
    if isinstance(solver, str) or not any(name in OWN or name in installed() for name in names):
        require_installed(names[0])


def check_options(solver: str | Sequence[str], options: Any) -> None:
    """``solver_options`` is a dict of options, or for a list of solvers one of such dicts by their names."""
    if options is None:
        return
    if not isinstance(options, dict):
        raise InvalidInput(f"solver_options must be a dict, got {type(options).__name__}.")
    for name in options:
        if not isinstance(name, str):
            raise InvalidInput(f"solver_options must be a dict of options by their names, got {name!r}.")
        if isinstance(solver, str) and _is_solver(name):
            raise InvalidInput(
                f"solver_options by solver go with a list of solvers, solver=[{name!r}], and "
                f"solver={solver!r} is none: give the list, or the options alone."
            )
    if not by_name(solver, options):
        return
    for name, own in options.items():
        if name not in solver or not isinstance(own, dict):
            raise InvalidInput(
                f"solver_options={options!r} does not say whose option {name!r} is. Each solver has options "
                f"of its own: for a list of solvers give them by name, {{{solver[0]!r}: {{...}}}}."
            )


def by_name(solver: str | Sequence[str], options: dict[str, Any] | None) -> bool:
    """Whether options go by the names of solvers: for a list, unless it is of one and they name none."""
    return not isinstance(solver, str) and (len(solver) > 1 or any(map(_is_solver, options or {})))


def _is_solver(name: Any) -> bool:
    return name in SOLVERS or name in OWN


def require_installed(name: str) -> None:
    """The solver is there, or the error says how to get it."""
    if name not in OWN and name not in installed():
        raise SolverNotInstalled(
            f"solver {name} is not installed: pip install {PACKAGES.get(name, name.lower())}. "
            f"Installed: {', '.join(installed())}."
        )


def classify(expressions: Sequence[cp.Expression], constraints: Sequence[cp.Constraint]) -> str:
    """The smallest class in :data:`CLASSES` that holds these terms."""
    import cvxpy as cp
    from cvxpy.atoms import EXP_ATOMS, PSD_ATOMS, SOC_ATOMS

    def of_expression(e: cp.Expression, in_objective: bool) -> str:
        atoms = set(e.atoms())
        if atoms & set(EXP_ATOMS):
            return "EXP"
        if atoms & set(PSD_ATOMS):
            return "SDP"
        if e.is_pwl():
            return "LP"
        if in_objective and e.is_qpwa():
            return "QP"
        return "SOCP" if atoms & set(SOC_ATOMS) or e.is_quadratic() else "LP"

    def of_constraint(c: cp.Constraint) -> str:
        if isinstance(c, cp.constraints.PSD):
            return "SDP"
        if isinstance(c, cp.SOC):
            return "SOCP"
        if isinstance(c, cp.constraints.ExpCone):
            return "EXP"
        return max((of_expression(a, False) for a in c.args), key=CLASSES.index)

    found = ["LP", *(of_expression(e, True) for e in expressions), *(of_constraint(c) for c in constraints)]
    return max(found, key=CLASSES.index)


def classes_of(compiled: Compiled) -> dict[str, str]:
    """Block name, or "svm" -> class of problem its terms need."""
    svm = "LP" if compiled.spec.norm == "l1" and compiled.spec.loss == "hinge" else "QP"
    classes = {"svm": svm}
    for member in compiled.members:
        expressions = [t.expression for t in compiled.terms if t.block == member.name]
        own = [c for label, c in compiled.constraints.items() if label.partition(".")[0] == member.name]
        kind = classify(expressions, own)
        if "length" in compiled.uses[member.name]:  # the norm of f is a second-order cone
            kind = max(kind, "SOCP", key=CLASSES.index)
        classes[member.name] = kind
    return classes


def choose(problem_class: str) -> str:
    """What ``solver="auto"`` means: HiGHS for LP, Clarabel for all else."""
    wanted = "HIGHS" if problem_class == "LP" else "CLARABEL"
    if wanted in installed():
        return wanted
    candidates = able(problem_class)
    if not candidates:
        raise SolverNotInstalled(f"no installed solver can solve this {problem_class}: pip install clarabel.")
    return candidates[0]


def suits_schur(compiled: Compiled, problem_class: str) -> bool:
    """Whether the problem is of a size and shape at which SCHUR is the fastest; of an LP, to start HiGHS."""
    if problem_class not in SCHUR_NUMBERS or issparse(compiled.sample.X):
        return False
    if problem_class == "LP" and "HIGHS" not in installed():
        return False
    rows = compiled.f.n_rows
    coefficients = compiled.tie.features.size
    most = min(SCHUR_COEFFICIENTS, WIDE * rows)
    return bool(rows * coefficients >= SCHUR_NUMBERS[problem_class] and coefficients <= most)


def solve(compiled: Compiled, name: str, options: dict[str, Any] | None) -> Outcome:
    """Solve with one solver; "auto" chooses it by the class, size and shape of the problem."""
    classes = classes_of(compiled)
    problem_class = max(classes.values(), key=CLASSES.index)
    if name != "auto":
        if problem_class not in SOLVERS[name].solves:
            raise SolverUnsuited(_unsuited(name, compiled, classes, problem_class))
        return _solve_with(compiled, name, options or {})
    first = choose(problem_class)
    before = list[str]()
    if not options and suits_schur(compiled, problem_class):
        corner = problem_class == "LP"  # users of the 1-norm want zeros
        with suppress(SolverFailed):
            outcome = _solve_with(compiled, "SCHUR", {}, corner)
            if not outcome.remark:
                return replace(outcome, solver="HIGHS", start="SCHUR") if corner else outcome
        before.append("SCHUR")
    try:
        return replace(_solve_with(compiled, first, options or {}), before=tuple(before))
    except SolverFailed as failure:
        if options:
            raise
        # HiGHS breaks down on some badly scaled LPs, Clarabel on some cones with redundant rows.
        before.append(first)
        for other in ("CLARABEL", "SCHUR", "ECOS"):
            if other not in before and other in able(problem_class):
                try:
                    return replace(_solve_with(compiled, other, {}), before=tuple(before))
                except SolverFailed:
                    before.append(other)
        raise failure


def _unsuited(name: str, compiled: Compiled, classes: dict[str, str], problem_class: str) -> str:
    svm = "the 2-norm machine" if compiled.spec.norm == "l2" else "the squared hinge"
    blocks = [
        f"block '{block}' adds {_CONES[c]}" if block != "svm" else f"{svm} has {_CONES[c]}"
        for block, c in classes.items()
        if c not in SOLVERS[name].solves
    ]
    return (
        f"{name} cannot solve this {problem_class}: {'; '.join(blocks)}. "
        f"Installed solvers that can: {', '.join(able(problem_class))}."
    )


def _solve_with(compiled: Compiled, name: str, options: dict[str, Any], corner: bool = False) -> Outcome:
    import cvxpy as cp

    from .routes.direct import Direct

    problem = compiled.problem
    facts = SOLVERS[name]
    unknown = [option for option in options if facts.takes and option not in facts.takes]
    if unknown:
        raise InvalidInput(
            f"{name} does not take these solver_options: {', '.join(unknown)}. "
            f"It takes: {', '.join(facts.takes)}."
        )
    arguments = {**facts.options(compiled.spec.tol), **options}
    start = time.perf_counter()
    try:
        with single_threaded(), warnings.catch_warnings():
            # CVXPY's own remark on inaccuracy; ours follows, with residuals.
            warnings.filterwarnings("ignore", message="Solution may be inaccurate")
            warnings.filterwarnings("ignore", message=".*ECOS.*", category=FutureWarning)
            _ignore_backend()
            # Clarabel would keep the equilibration of its first weights, which costs more than it saves.
            try:
                if name == "SCHUR":
                    Direct.of(compiled).solve(corner, **arguments)
                else:
                    _run(problem, name, warm_start=name != "CLARABEL", **arguments)
            except cp.SolverError:
                if name != "CLARABEL" or options:
                    raise
                _run(problem, name, warm_start=False)  # its own tolerances, for problems near the edge
    except cp.SolverError as error:
        reason = str(error).partition("Try another solver")[0].strip()
        if any(option in reason for option in options):
            raise InvalidInput(f"{name} does not take these solver_options: {reason}") from error
        raise SolverFailed(
            f"{name} broke down: {reason} Try another solver ({_others(name, compiled)}){_scaling(compiled)}."
            f"{_hard(compiled)}"
        ) from error
    except (TypeError, ValueError, AttributeError, OverflowError) as error:
        if not options:
            raise
        raise InvalidInput(
            f"{name} does not take these solver_options: {', '.join(options)} ({error})"
        ) from error
    total = time.perf_counter() - start
    stats = problem.solver_stats
    compiling = float(problem.compilation_time or 0.0)
    seconds = float(getattr(stats, "solve_time", None) or max(total - compiling, 0.0))
    if problem.status not in (cp.OPTIMAL, cp.OPTIMAL_INACCURATE, cp.USER_LIMIT) or problem.value is None:
        raise _no_answer(compiled, name)
    unit, costs = compiled.units()
    found = residuals(problem, compiled.jacobians(), unit, {**costs, compiled.f.b: unit}, compiled.products())
    accepted = max(10 * compiled.spec.tol, facts.accuracy)
    scaled = compiled.spec.scale is not None
    others = _others(name, compiled)
    hint = _hard(compiled)
    status, remark = judge(name, problem.status, found, accepted, others, scaled, hint)
    steps = getattr(stats, "num_iters", None)
    return Outcome(name, status, found, max(total - seconds, 0.0), seconds, steps, remark)


def _run(problem: cp.Problem, name: str, **arguments: Any) -> None:
    """Let a solver work; where it ends without any verdict, that is a breakdown like others."""
    import cvxpy as cp

    try:
        problem.solve(solver=_known_to_cvxpy(name), **arguments)
    except ValueError as error:
        if "invalid solution" not in str(error):
            raise
        raise cp.SolverError("it ended without a verdict.") from error


def _known_to_cvxpy(name: str) -> Any:
    """The name, or the solver itself where it is none of CVXPY's."""
    if name != "SCHUR":
        return name
    from .routes.direct import solver

    return solver()


def judge(
    name: str,
    status: str,
    found: Residuals,
    accepted: float,
    others: str | None = "CLARABEL",
    scaled: bool = False,
    hint: str = "",
) -> tuple[str, str]:
    """The status that the residuals support, and what is to be said of it."""
    said = "iteration limit reached" if status == "user_limit" else status
    way_out = f"Try another solver ({others}), or " if others else "Try "
    way_out += "a smaller C." if scaled else "scale='standard', or a smaller C."
    way_out += hint
    if not found.worst <= max(HOPELESS, accepted):
        raise SolverFailed(
            f"{name} says '{said}', but the problem as stated disagrees: {found}. "
            f"Its answer was discarded. {way_out}"
        )
    if found.worst > accepted:
        remark = f"{name} says '{said}' with residuals above {accepted:.0e}: {found}. {way_out}"
        return "optimal_inaccurate", remark
    return "optimal", ""


def _no_answer(compiled: Compiled, name: str) -> PriorSVMError:
    import cvxpy as cp

    status = compiled.problem.status
    if status in (cp.INFEASIBLE, cp.INFEASIBLE_INACCURATE) and not SOLVERS[name].certifies:
        return SolverFailed(
            f"{name} says '{status}', which it cannot certify. Ask one that can for a verdict: "
            f"{', '.join(n for n in installed() if SOLVERS[n].certifies)}."
        )
    # Without a block that forbids anything there is no such thing: the solver has lost its way among numbers
    # of very different size.
    if status == cp.INFEASIBLE and any(m.block.may_forbid for m in compiled.members):
        found = conflict_error(compiled, lambda problem: is_infeasible(problem), least)
        if found is not None:
            return found
        return SolverFailed(
            f"{name} says '{status}', and another solver could not confirm it.{_hard(compiled)} Try another "
            f"solver ({_others(name, compiled)})."
        )
    if status == cp.UNBOUNDED:
        suspects = [t for t in compiled.terms if not t.expression.is_nonneg()]
        if suspects:
            whose = "; ".join(
                f"block '{t.block}' has a penalty without a lower bound ({t.name})" for t in suspects
            )
            return Unbounded(
                f"{name} found that the objective has no lower bound: {whose}. Penalties must be nonnegative."
            )
        # A sum of nonnegative terms: lost, too.
    return SolverFailed(
        f"{name} ended with status '{status}' and no answer. Try another solver "
        f"({_others(name, compiled)}){_scaling(compiled)}, or a smaller C (it is {compiled.spec.C:g})."
    )


def _hard(compiled: Compiled) -> str:
    """Which blocks may contradict each other."""
    names = [f"'{m.name}'" for m in compiled.members if getattr(m.block, "hard", False)]
    if len(names) < 2:
        return ""
    return f" The hard blocks {', '.join(names)} may contradict each other: soften one with hard=False."


def _scaling(compiled: Compiled) -> str:
    """Advice to scale, to whom it can be news."""
    return ", or scale='standard'" if compiled.spec.scale is None else ""


def _others(name: str, compiled: Compiled) -> str:
    """Installed solvers, other than this one, for the same problem."""
    problem_class = max(classes_of(compiled).values(), key=CLASSES.index)
    return ", ".join(other for other in able(problem_class) if other != name)


def is_infeasible(problem: cp.Problem) -> bool:
    """A certified verdict on the constraints alone."""
    import cvxpy as cp

    kind = classify([], problem.constraints)
    for name in (choose(kind), *(["SCHUR"] if kind in SOLVERS["SCHUR"].solves else [])):
        try:
            with single_threaded(), warnings.catch_warnings():
                _ignore_backend()
                _run(problem, name)
        except cp.SolverError:
            continue  # no verdict is no conflict
        if problem.status in (cp.INFEASIBLE, cp.OPTIMAL):
            return bool(problem.status == cp.INFEASIBLE)
    return False


def least(problem: cp.Problem, reach: float) -> float:
    """A lower bound on a nonnegative optimum, from a solver's multipliers; 0 if they support none.

    ``reach`` is how large variables can be: what is left of the Lagrangian's slope counts as often.
    """
    import cvxpy as cp

    kind = classify([problem.objective.expr], problem.constraints)
    for name in dict.fromkeys((choose(kind), "CLARABEL", "SCHUR")):
        try:
            with single_threaded(), warnings.catch_warnings():
                warnings.filterwarnings("ignore", message="Solution may be inaccurate")
                _ignore_backend()
                _run(problem, name, **SOLVERS[name].options(1e-9))
        except cp.SolverError:
            continue
        if problem.status in (cp.OPTIMAL, cp.OPTIMAL_INACCURATE):
            with np.errstate(divide="ignore", invalid="ignore"):  # CVXPY's distance of 0 from a cone
                found = residuals(problem)
            lost = found.gap * (1.0 + abs(problem.value)) + (found.stationarity + found.dual) * reach
            if found.primal <= 1e-5 and lost <= 1e-2:
                return max(float(problem.value) - lost, 0.0)
    return 0.0


def _ignore_backend() -> None:
    """CVXPY says that it compiles a stack of matrices by another of its backends, which is no news."""
    warnings.filterwarnings("ignore", message="The problem has an expression with dimension greater than 2")


@lru_cache(maxsize=2)
def _controller(with_cvxpy: bool) -> Any:
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def single_threaded() -> Any:
    """One BLAS thread: two pools on two threads have made a dense solve 20 times slower."""
    # Solvers bring BLAS libraries of their own, so whoever loads cvxpy looks for them again.
    return _controller("cvxpy" in sys.modules).limit(limits=1, user_api="blas")
