"""Choice of routes: what ``solver="auto"`` tries, a named route, or a list of routes.

The order is one generator, because no preference of a route describes it: LIBSVM with few iterations comes
first, then NORMAL, then LIBSVM with many. SCHUR may hand a linear programme to HiGHS.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from scipy.sparse import issparse

from ..errors import Infeasible, OutOfTime, SolverFailed, SolverNotInstalled, SolverUnsuited
from ..problem.assemble import Compiled
from ..problem.conflicts import conflict_error
from . import solvers
from .classes import class_of
from .feasibility import verdicts
from .registry import canonical, find_route, options_by_name, registry
from .route import Problem, Route
from .routes.band import Band
from .routes.conic import Schur
from .routes.libsvm import IMPATIENT, LARGE_C, STALLED
from .routes.point_rows import LINEAR_ROWS as ARRAY_ROWS
from .routes.point_rows import value_of_equations
from .routes.rows import Rows
from .solution import Solution
from .solvers import able, choose

# A linear model with more rows than this, and than features, is solved faster in its d + 1 parameters.
LINEAR_ROWS = 300

# With more features than this NORMAL is not a second try, and SPARSE comes first for sparse rows.
FEATURES = 2000

# BAND is the first try for linear models with more features than this.
BAND_FEATURES = 200

# If more sparse rows than this are near the margin, SPARSE is faster than BAND: it factors no matrix.
NEAR_MARGIN = 1000

# Iterations, at least and per row, of the last run of LIBSVM.
PATIENT = (200_000, 100)

# Up to this many rows of a kernel model an inaccurate answer is replaced by a CVXPY solver's.
SECOND_TRY_ROWS = 2000

# An objective may differ by this multiple of tol from that of equations that hold exactly.
EQUATIONS = 100

# ROWS is chosen for kernel models from this many rows on.
ROWS_FROM = 100

# COLUMNS is chosen for linear models with this many features or more, and no fewer than rows.
COLUMNS_FROM = 200

# CHUNKS is chosen for linear models from this many rows on, and from this many rows for each feature.
# Measured in whole fits at 1e5 rows: 0.3 to 0.4 of the time of NORMAL, 0.2 to 0.4 of the time of SCHUR.
CHUNKS_ROWS = 100_000
CHUNKS_ROWS_FOR_FEATURE = 1000

# SCHUR is chosen if values of f times coefficients of f reach these numbers, by problem class. Measured in
# whole fits against CLARABEL: equal at 2e4, 0.5 to 0.8 of its time at 4e4, 0.25 to 0.5 at 1e5 to 3e5. With
# semidefinite cones it is 2 to 3 times slower up to 4e5, and takes 0.6 of the time at 1e6. On an LP it is
# followed by HiGHS. Both take the time of HiGHS alone at 1e4 to 3e4, and 0.1 to 0.6 of it from 4e4 on.
SCHUR_NUMBERS = {"LP": 40_000, "QP": 40_000, "SOCP": 40_000, "SDP": 1_000_000}

# The Schur complement is dense, so the number of coefficients limits SCHUR.
SCHUR_COEFFICIENTS = 10_000

# With more coefficients than this multiple of the values of f nearly all variables are shared. With 500
# values and 2000 coefficients SCHUR takes 1.7 times as long as CLARABEL, with 60 and 3000 it takes 30 times
# as long.
WIDE = 2

# ROWS for blocks that state their rows as arrays, and ROWS for all other blocks.
ARRAYS = Rows(compiled=False)
COMPILED_ROWS = Rows(arrays=False)

# SCHUR, and HiGHS from its answer to a corner: a 1-norm model then has exact zeros.
CORNER = Schur(corner=True)

# BAND while few sparse rows are near the margin.
FEW_NEAR = Band(most=NEAR_MARGIN)


@dataclass(frozen=True)
class Attempt:
    """One route to try; a ``final`` one is not followed by another unless it fails."""

    route: Route
    options: dict[str, Any] = field(default_factory=dict)
    final: bool = False


def solve(problem: Problem, solver: str | Sequence[str], options: dict[str, Any] | None) -> Solution:
    """Return the solution by "auto", a named route, or the first of a list that succeeds.

    Raises
    ------
    Infeasible
        If a solver proves that hard blocks conflict. An inaccurate or missing answer is checked, too.
    SolverFailed
        If no route has an answer.
    """
    if options and options_by_name(solver, options):
        options = {canonical(name): group for name, group in options.items()}
    solver = canonical(solver)
    try:
        solution = _solve(problem, solver, options or {})
    except SolverFailed as failure:
        problem.spec.deadline.check()
        conflict = _conflict(problem, solver)
        if conflict is not None:
            raise conflict from failure
        raise
    _check_equations(problem, solution)
    if solution.outcome.remark and not problem.spec.deadline.passed:
        conflict = _conflict(problem, solver)
        if conflict is not None:
            raise conflict
    return solution


def _check_equations(problem: Problem, solution: Solution) -> None:
    """Add a remark to a solution whose objective is not that of exact equations.

    If equations nearly depend on each other, a violation of 1e-7 can lower the objective by several percent.
    The residuals do not reveal it.
    """
    outcome = solution.outcome
    value = solution.value
    if value is None and solution.compiled is not None:
        value = solution.compiled.problem.value
    if outcome.remark or value is None or problem.spec.deadline.passed:
        return
    exact = value_of_equations(problem)
    if exact is None or abs(value - exact) <= EQUATIONS * problem.spec.tol * abs(exact):
        return
    remark = (
        "hard equations nearly depend on each other: with violations of up to "
        f"{outcome.residuals.primal:.0e} the objective is {value:.6g}, and without violations it is about "
        f"{exact:.6g}. Use hard=False with a large mu, fewer points, or a narrower kernel."
    )
    solution.outcome = replace(outcome, status="optimal_inaccurate", remark=remark)


def _conflict(problem: Problem, solver: str | Sequence[str]) -> Infeasible | None:
    """Return an error that names the conflicting blocks if a certifying solver is allowed."""
    names = [solver] if isinstance(solver, str) else solver
    routes = [find_route(name) for name in names]
    if names != ["auto"] and not any(route.certifies for route in routes if route is not None):
        return None
    compiled = problem.assembled
    if compiled is None or not compiled.may_be_infeasible:
        return None
    return conflict_error(compiled, *verdicts(problem.spec.deadline))


def required_route(problem: Problem) -> Route | None:
    """Return the route which a block requires, or None."""
    return next((route for route in registry().values() if route.required_by(problem)), None)


def _solve(problem: Problem, solver: str | Sequence[str], options: dict[str, Any]) -> Solution:
    if problem.large is not None:
        return _named(problem, "CHUNKS", {})
    required = required_route(problem)
    if required is not None:
        required.require_suited(problem)
        if solver != "auto":
            name = required.required_by(problem)[0].name
            raise SolverUnsuited(
                f"block '{name}' selects the route {required.name}, and solver={solver!r} is given. Use "
                "solver='auto', or another method of the block."
            )
        return required.run(problem, options)
    if solver == "auto":
        return _first_accurate(problem, plan(problem, options))
    if isinstance(solver, str):
        return _named(problem, solver, options)
    failures = []
    by_name = options_by_name(solver, options)
    for k, name in enumerate(solver):
        chosen = options.get(name) if by_name else options
        try:
            return _after(_named(problem, name, chosen or {}), solver[:k])
        except (SolverFailed, SolverNotInstalled, SolverUnsuited) as error:
            failures.append(f"{name}: {error}")
    raise SolverFailed("None of the solvers in the list gave an answer.\n" + "\n".join(failures))


def _named(problem: Problem, name: str, options: dict[str, Any]) -> Solution:
    route = find_route(name)
    assert route is not None, name
    route.require_installed()
    route.require_suited(problem)
    return route.run(problem, options)


def _first_accurate(problem: Problem, attempts: Iterator[Attempt]) -> Solution:
    """Return the first accurate or final solution; if there is none, raise the first final failure.

    If the time runs out, return the solution with the smallest residuals so far.
    """
    deadline = problem.spec.deadline
    failed: list[str] = []
    failure = None
    best: Solution | None = None
    for attempt in attempts:
        name = attempt.route.name
        if deadline.passed and best is not None:
            return _after(best, failed)
        deadline.check()
        try:
            solution = attempt.route.run(problem, attempt.options, attempt.final)
        except SolverUnsuited:  # detected only when the problem was assembled
            continue
        except OutOfTime:
            if best is None:
                raise
            return _after(best, failed)
        except SolverFailed as error:
            failed.append(name)
            if attempt.final and failure is None:
                failure = error
            continue
        if attempt.final or not solution.outcome.remark:
            return _after(solution, failed)
        if deadline.limited and (best is None or solution.residuals.worst < best.residuals.worst):
            best = solution
        failed.append(name)
    assert failure is not None
    raise failure


def _after(solution: Solution, failed: Sequence[str]) -> Solution:
    """Record the solvers that failed first."""
    if not failed:
        return solution
    outcome = solution.outcome
    before = dict.fromkeys(name for name in failed if name != outcome.solver)
    solution.outcome = replace(outcome, before=tuple(before))
    return solution


def plan(problem: Problem, options: dict[str, Any]) -> Iterator[Attempt]:
    """Yield what ``solver="auto"`` tries, in order.

    If options are given, they go to LIBSVM or to the first CVXPY solver, and all other routes are left out.
    """
    libsvm = registry()["LIBSVM"]
    chunks = registry()["CHUNKS"]
    if not options and _prefers_chunks(problem) and chunks.obstacle(problem) is None:
        yield Attempt(chunks)
    attempts = _weighted_attempts(problem)
    few = problem.spec.linear or problem.n_rows <= SECOND_TRY_ROWS
    for k, attempt in enumerate(attempts):
        if attempt.route is not libsvm and options:
            continue
        final = k == len(attempts) - 1 and not few
        yield Attempt(attempt.route, {**attempt.options, **options}, final)
        if final:
            return
    if any(attempt.route is libsvm for attempt in attempts) and set(options) <= set(libsvm.takes or ()):
        options = {}
    if not options and ARRAYS.obstacle(problem) is None:
        yield Attempt(ARRAYS)
    for name, is_preferred in _PREFERRED.items():
        route = COMPILED_ROWS if name == "ROWS" else registry()[name]
        if not options and is_preferred(problem) and route.obstacle(problem) is None:
            yield Attempt(route)
    yield from _conic_attempts(problem.compiled, options)


def chosen_for() -> dict[str, str]:
    """Return for each route the problems for which ``solver="auto"`` tries it, in order."""
    rows = "blocks add or reweight rows"
    numbers = _spaced(SCHUR_NUMBERS["QP"])
    sdp = _spaced(SCHUR_NUMBERS["SDP"])
    stalled = f"after {STALLED[0]} + {STALLED[1]} N iterations"
    return {
        "PEGASOS": "InvariantLoss(method='pegasos')",
        "CHUNKS": f"2-norm, hinge, linear, dense X with {_spaced(CHUNKS_ROWS)} rows or more, and "
        f"{CHUNKS_ROWS_FOR_FEATURE} for each feature; blocks without terms for each row",
        "BAND": f"2-norm, hinge, linear, {rows}: more than {LINEAR_ROWS} rows and {BAND_FEATURES} features, "
        f"dense X with more rows than features or sparse X with at most {NEAR_MARGIN} rows near the margin",
        "SPARSE": f"2-norm, linear, {rows}: sparse X with more than {LINEAR_ROWS} rows, and more than "
        f"{FEATURES} features or more features than rows",
        "LIBSVM": f"2-norm, hinge, margins of 1, {rows}: kernels, and linear models with at most "
        f"{LINEAR_ROWS} rows or no more rows than features",
        "NORMAL": f"2-norm, {rows}: all other linear models, and kernels of low rank if LIBSVM stalls "
        f"({stalled}) or margins differ from 1",
        "COLUMNS": "2-norm, hinge, one InvariantLoss, other blocks add or reweight rows: kernels, and linear "
        f"models with {COLUMNS_FROM} features or more and no more rows than features",
        "CONES": "2-norm, hinge, kernels, one UncertainSamples or MissingValues without guarantee, other "
        "blocks add or reweight rows",
        "CENTRES": f"1-norm, hinge, dense X, {rows}",
        "ROWS": "2-norm, finite C, dense X: hints, regions at points or pairs, boxes and slopes of linear "
        f"models with at most {ARRAY_ROWS} rows and points; other blocks that use values of f: kernel, "
        f"{ROWS_FROM} rows or more",
        "HIGHS": f"LP: all other 1-norm models with the hinge; from {numbers} numbers on it starts from "
        "SCHUR's answer",
        "SCHUR": f"all other problems from {numbers} numbers on, with semidefinite cones from {sdp} on",
        "CLARABEL": "all other problems",
    }


def _spaced(number: int) -> str:
    """Return a number in groups of three digits."""
    return f"{number:,}".replace(",", " ")


def _weighted_attempts(problem: Problem) -> list[Attempt]:
    """Return the attempts for a weighted SVM, none for other problems."""
    rows = problem.n_rows
    features = problem.sample.X.shape[1]
    routes = registry()
    normal = Attempt(routes["NORMAL"])
    patient = Attempt(routes["LIBSVM"], {"max_iter": PATIENT[0] + PATIENT[1] * rows})
    if not problem.spec.linear:
        limit = STALLED if problem.spec.C <= LARGE_C else IMPATIENT
        impatient = Attempt(routes["LIBSVM"], {"max_iter": limit[0] + limit[1] * rows})
        attempts = [impatient, normal, patient]
    elif rows > max(LINEAR_ROWS, features):
        attempts = [normal]
    elif features <= FEATURES:
        attempts = [patient, normal]
    else:
        attempts = [patient]
    if rows > LINEAR_ROWS and features > min(rows, FEATURES):
        attempts.insert(0, Attempt(routes["SPARSE"]))
    tall = rows > features or issparse(problem.sample.X)
    if rows > LINEAR_ROWS and features > BAND_FEATURES and tall:
        attempts.insert(0, Attempt(FEW_NEAR))
    suited = {route for route in {attempt.route for attempt in attempts} if route.obstacle(problem) is None}
    return [attempt for attempt in attempts if attempt.route in suited]


def _prefers_chunks(problem: Problem) -> bool:
    features = problem.sample.X.shape[1]
    return problem.spec.linear and problem.n_rows >= max(CHUNKS_ROWS, CHUNKS_ROWS_FOR_FEATURE * features)


def _prefers_columns(problem: Problem) -> bool:
    features = problem.sample.X.shape[1]
    return not problem.spec.linear or features >= max(COLUMNS_FROM, problem.n_rows)


def _prefers_rows(problem: Problem) -> bool:
    return not problem.spec.linear and problem.n_rows >= ROWS_FROM


_PREFERRED: dict[str, Callable[[Problem], bool]] = {
    "COLUMNS": _prefers_columns,
    "CONES": lambda problem: True,
    "CENTRES": lambda problem: True,
    "ROWS": _prefers_rows,
}


def _conic_attempts(compiled: Compiled, options: dict[str, Any]) -> Iterator[Attempt]:
    """Yield the attempts through CVXPY, by the class, size and shape of the problem."""
    routes = registry()
    problem_class = class_of(compiled)
    first = choose(problem_class)
    tried = {first}
    if not options and suits_schur(compiled, problem_class):
        tried.add("SCHUR")
        yield Attempt(CORNER if problem_class == "LP" else routes["SCHUR"])
    yield Attempt(routes[first], options, final=True)
    if options:
        return
    # HiGHS breaks down on some badly scaled LPs, CLARABEL on some cones with redundant rows.
    for name in ("CLARABEL", "SCHUR", "ECOS"):
        if name not in tried and name in able(problem_class):
            yield Attempt(routes[name], final=True)


def suits_schur(compiled: Compiled, problem_class: str) -> bool:
    """Return whether SCHUR is the fastest solver at this size and shape, or the fastest start of HiGHS."""
    if problem_class not in SCHUR_NUMBERS or issparse(compiled.sample.X):
        return False
    if problem_class == "LP" and "HIGHS" not in solvers.installed():
        return False
    rows = compiled.f.n_rows
    coefficients = compiled.tie.features.size
    limit = min(SCHUR_COEFFICIENTS, WIDE * rows)
    return bool(rows * coefficients >= SCHUR_NUMBERS[problem_class] and coefficients <= limit)
