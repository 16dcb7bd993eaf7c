"""Registry of all routes: the one source of ``solver=``, of ``priorsvm solvers`` and of the tables.

``registry()`` has the routes whose facts are measured. ``further_routes()`` has all other solvers of CVXPY,
imports CVXPY, and is used only for names that the registry does not have, and for tables.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from .._utils.messages import did_you_mean
from ..errors import InvalidInput
from . import further
from .classes import CLASSES
from .route import Route
from .routes.band import Band
from .routes.centres import Centres
from .routes.chunks import Chunks
from .routes.columns import Columns
from .routes.cones import Cones
from .routes.conic import Conic, Schur
from .routes.derived import Derived
from .routes.libsvm import Libsvm
from .routes.normal import Normal
from .routes.pegasos import Pegasos
from .routes.rows import Rows
from .routes.sparse_rows import Sparse
from .solvers import SOLVERS


@lru_cache(maxsize=1)
def registry() -> dict[str, Route]:
    """Return all routes by name: first the routes for one kind of problem, then the routes for classes."""
    weighted = [Libsvm(), Normal(), Band(), Sparse()]
    special = [*weighted, Rows(), Columns(), Cones(), Centres(), Chunks(), Pegasos()]
    general = [Schur() if name == "SCHUR" else Conic(name) for name in SOLVERS]
    return {route.name: route for route in (*special, *general)}


@lru_cache(maxsize=1)
def further_routes() -> dict[str, Route]:
    """Return the routes through all solvers of CVXPY that the registry does not have, installed or not."""
    return {name: Derived(name) for name in further.facts()}


def find_route(name: Any) -> Route | None:
    """Return the route of a name in upper or lower case, or None."""
    if not isinstance(name, str):
        return None
    return registry().get(name.upper()) or further_routes().get(name.upper())


def canonical(solver: str | Sequence[str]) -> Any:
    """Return "auto", the name of a route, or a list of names, as ``solver_`` reports them.

    Parameters
    ----------
    solver : str or sequence of str
        Checked names in upper or lower case.
    """
    if not isinstance(solver, str):
        return [canonical(name) for name in solver]
    if solver.lower() == "auto":
        return "auto"
    route = find_route(solver)
    return solver if route is None else route.name


def selectable() -> list[str]:
    """Return the names which ``solver=`` accepts, without the further solvers of CVXPY."""
    return ["auto", *(name for name, route in registry().items() if route.selectable)]


class SolverFacts(NamedTuple):
    """Facts about a solver: an entry of :func:`solvers`."""

    installed: bool
    solves: tuple[str, ...]
    certifies: bool
    accuracy: float
    note: str
    package: str
    measured: bool = True


def solvers() -> dict[str, SolverFacts]:
    """Return the solvers of whole problem classes for ``PriorSVC(solver=...)``, installed or not.

    The first ones are measured in this library. The others are all further solvers of CVXPY. Routes for one
    kind of problem each, such as LIBSVM, are not included. ``priorsvm solvers`` prints a table of all routes.

    Returns
    -------
    dict of str to SolverFacts
        For each solver:

        - ``installed``: whether it can be used, and ``package``: what pip calls it, or "" if that is unknown;
        - ``solves``: its problem classes, out of LP, QP, SOCP, SDP and EXP;
        - ``certifies``: whether its "infeasible" is a proof;
        - ``accuracy``: the relative residual above which its answers cause a warning;
        - ``note``: a remark;
        - ``measured``: whether these facts were measured. Otherwise they are CVXPY's, and ``certifies`` is
          False because another solver checks every "infeasible".

    Examples
    --------
    >>> from priorsvm import solvers
    >>> known = solvers()
    >>> known["HIGHS"].solves, known["HIGHS"].certifies
    (('LP',), True)
    >>> [name for name, facts in known.items() if facts.measured and "SDP" in facts.solves]
    ['CLARABEL', 'SCS', 'SCHUR']
    >>> known["MOSEK"].package
    'mosek'
    """
    routes = {**registry(), **further_routes()}
    return {
        name: SolverFacts(
            route.installed(),
            tuple(c for c in CLASSES if c in route.solves),
            route.certifies,
            route.floor,
            route.note,
            route.package,
            name in registry(),
        )
        for name, route in routes.items()
        if route.solves
    }


def check_solver(solver: Any) -> None:
    """Raise InvalidInput unless ``solver`` is "auto", a known and installed name, or a list of names."""
    if not isinstance(solver, (str, list, tuple)):
        raise InvalidInput(f"solver must be 'auto', a name or a list of names, got {solver!r}.")
    if isinstance(solver, str) and solver.lower() == "auto":
        return
    names = [solver] if isinstance(solver, str) else solver
    if not names:
        raise InvalidInput("solver is an empty list. Name at least one solver, or use 'auto'.")
    routes = [_checked_route(name) for name in names]
    if isinstance(solver, str) or not any(route.installed() for route in routes):
        routes[0].require_installed()


def _checked_route(name: Any) -> Route:
    """Return the route which a name selects, and raise InvalidInput if there is none."""
    if isinstance(name, str) and name.lower() == "auto":
        raise InvalidInput("'auto' cannot be part of a list of solvers. Use solver='auto'.")
    route = find_route(name)
    if route is None:
        raise _unknown(name)
    if not route.selectable:
        raise InvalidInput(
            f"solver {name!r} is a method of a block. Use InvariantLoss(method='pegasos') and solver='auto'."
        )
    return route


def _unknown(name: Any) -> InvalidInput:
    """Return the error for a name without a route."""
    reason = further.refusal(str(name).upper())
    if reason is not None:
        return InvalidInput(f"solver {name!r} cannot be used: {reason}. Use 'auto', or another solver.")
    more = [other for other, route in further_routes().items() if route.installed()]
    known = [*selectable(), *more]
    given = str(name).upper()
    meant = did_you_mean(given, known) or did_you_mean(given, further_routes())
    return InvalidInput(
        f"solver {name!r} is unknown.{meant} Available: {', '.join(known)}, and any solver of CVXPY that you "
        "install."
    )


def check_options(solver: str | Sequence[str], options: Any) -> None:
    """Raise InvalidInput unless ``solver_options`` is a dict of options, or of such dicts by solver."""
    if options is None:
        return
    if not isinstance(options, dict):
        raise InvalidInput(f"solver_options must be a dict, got {type(options).__name__}.")
    for name, value in options.items():
        if not isinstance(name, str):
            raise InvalidInput(f"solver_options must be a dict of options by their names, got {name!r}.")
        if isinstance(solver, str) and _is_group(name, value) and not _is_own(solver, name):
            raise InvalidInput(
                f"solver_options by solver require a list of solvers, and solver={solver!r} is one name. Use "
                f"solver=[{name!r}], or give the options alone."
            )
    if not options_by_name(solver, options):
        return
    names = canonical(solver)
    groups = [canonical(name) for name in options]
    for name, group, values in zip(options, groups, options.values(), strict=True):
        if group not in names or not isinstance(values, dict):
            raise InvalidInput(
                f"solver_options={options!r}: {name!r} must be a solver of the list, with a dict of options. "
                f"For a list of solvers give the options by name: {{{solver[0]!r}: {{...}}}}."
            )
        if groups.count(group) > 1:
            raise InvalidInput(f"solver_options={options!r}: the options of {group} are given twice.")


def options_by_name(solver: str | Sequence[str], options: dict[str, Any] | None) -> bool:
    """Return whether options are grouped by solver: required for a list of two or more solvers."""
    if isinstance(solver, str):
        return False
    return len(solver) > 1 or any(_is_group(*item) for item in (options or {}).items())


def _is_group(name: str, value: Any) -> bool:
    """Return whether an entry of ``solver_options`` is a solver and its options."""
    return name in registry() or (isinstance(value, dict) and find_route(name) is not None)


def _is_own(solver: str, name: str) -> bool:
    """Return whether an option has the name of its solver in lower case, as the option ``glpk`` of GLPK."""
    own = name.upper()
    return name.islower() and own == canonical(solver) and own not in registry()
