"""Registry of all routes: the one source of ``solver=``, of ``priorsvm solvers`` and of the tables."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from .._utils.messages import did_you_mean
from ..errors import InvalidInput
from .classes import CLASSES
from .route import Route
from .routes.centres import Centres
from .routes.columns import Columns
from .routes.conic import Conic, Schur
from .routes.libsvm import Libsvm
from .routes.normal import Normal
from .routes.pegasos import Pegasos
from .routes.rows import Rows
from .routes.sparse_rows import Sparse
from .solvers import SOLVERS


@lru_cache(maxsize=1)
def registry() -> dict[str, Route]:
    """Return all routes by name: first the routes for one kind of problem, then the routes for classes."""
    special = [Libsvm(), Normal(), Sparse(), Rows(), Columns(), Centres(), Pegasos()]
    general = [Schur() if name == "SCHUR" else Conic(name) for name in SOLVERS]
    return {route.name: route for route in (*special, *general)}


def selectable() -> list[str]:
    """Return the names which ``solver=`` accepts."""
    return ["auto", *(name for name, route in registry().items() if route.selectable)]


class SolverFacts(NamedTuple):
    """Facts about a solver: an entry of :func:`solvers`."""

    installed: bool
    solves: tuple[str, ...]
    certifies: bool
    accuracy: float
    note: str
    package: str


def solvers() -> dict[str, SolverFacts]:
    """Return the solvers of whole problem classes for ``PriorSVC(solver=...)``, installed or not.

    Routes for one kind of problem each, such as LIBSVM, are not included. ``priorsvm solvers`` prints a table
    of all routes.

    Returns
    -------
    dict of str to SolverFacts
        For each solver:

        - ``installed``: whether it can be used, and ``package``: what pip calls it;
        - ``solves``: its problem classes, out of LP, QP, SOCP, SDP and EXP;
        - ``certifies``: whether its "infeasible" is a proof;
        - ``accuracy``: the relative residual above which its answers cause a warning;
        - ``note``: a remark.

    Examples
    --------
    >>> from priorsvm import solvers
    >>> known = solvers()
    >>> known["HIGHS"].solves, known["HIGHS"].certifies
    (('LP',), True)
    >>> [name for name, facts in known.items() if facts.installed and "SDP" in facts.solves]
    ['CLARABEL', 'SCS', 'SCHUR']
    """
    return {
        name: SolverFacts(
            route.installed(),
            tuple(c for c in CLASSES if c in route.solves),
            route.certifies,
            route.floor,
            route.note,
            route.package,
        )
        for name, route in registry().items()
        if route.solves
    }


def check_solver(solver: Any) -> None:
    """Raise InvalidInput unless ``solver`` is "auto", a known and installed name, or a list of names."""
    if not isinstance(solver, (str, list, tuple)):
        raise InvalidInput(f"solver must be 'auto', a name or a list of names, got {solver!r}.")
    if solver == "auto":
        return
    names = [solver] if isinstance(solver, str) else solver
    if not names:
        raise InvalidInput("solver is an empty list. Name at least one solver, or use 'auto'.")
    for name in names:
        _check_name(name)
    routes = [registry()[name] for name in names]
    if isinstance(solver, str) or not any(route.installed() for route in routes):
        routes[0].require_installed()


def _check_name(name: Any) -> None:
    """Raise InvalidInput unless a name is one of a route which ``solver=`` can select."""
    if name == "auto":
        raise InvalidInput("'auto' cannot be part of a list of solvers. Use solver='auto'.")
    route = registry().get(str(name).upper())
    if route is not None and not route.selectable:
        raise InvalidInput(
            f"solver {name!r} is a method of a block. Use InvariantLoss(method='pegasos') and solver='auto'."
        )
    if not _is_route(name):
        known = selectable()
        raise InvalidInput(
            f"solver {name!r} is unknown.{did_you_mean(name, known)} Available: {', '.join(known)}."
        )


def _is_route(name: Any) -> bool:
    return isinstance(name, str) and name in registry()


def check_options(solver: str | Sequence[str], options: Any) -> None:
    """Raise InvalidInput unless ``solver_options`` is a dict of options, or of such dicts by solver."""
    if options is None:
        return
    if not isinstance(options, dict):
        raise InvalidInput(f"solver_options must be a dict, got {type(options).__name__}.")
    for name in options:
        if not isinstance(name, str):
            raise InvalidInput(f"solver_options must be a dict of options by their names, got {name!r}.")
        if isinstance(solver, str) and _is_route(name):
            raise InvalidInput(
                f"solver_options by solver require a list of solvers, and solver={solver!r} is one name. Use "
                f"solver=[{name!r}], or give the options alone."
            )
    if not options_by_name(solver, options):
        return
    for name, values in options.items():
        if name not in solver or not isinstance(values, dict):
            raise InvalidInput(
                f"solver_options={options!r}: {name!r} must be a solver of the list, with a dict of options. "
                f"For a list of solvers give the options by name: {{{solver[0]!r}: {{...}}}}."
            )


def options_by_name(solver: str | Sequence[str], options: dict[str, Any] | None) -> bool:
    """Return whether options are grouped by solver: required for a list of two or more solvers."""
    return not isinstance(solver, str) and (len(solver) > 1 or any(map(_is_route, options or {})))
