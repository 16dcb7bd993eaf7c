"""Solvers of CVXPY beyond the table ``SOLVERS``: their facts are derived from CVXPY, and were not measured.

CVXPY is imported when ``facts`` is called.

Their exceptions become ``SolverFailed``. If CVXPY drops the reason of a failure, the run is repeated with a
trace that finds it.
"""

from __future__ import annotations

from functools import lru_cache, partial
from typing import Any

from .._utils.foreign import solver_interfaces
from .classes import CLASSES
from .solvers import SOLVERS, Solver

# Solver -> what pip calls it.
PACKAGES = {
    "COPT": "coptpy",
    "CPLEX": "cplex",
    "CUOPT": "cuopt-cu12",
    "CVXOPT": "cvxopt",
    "DAQP": "daqp",
    "DIFFCP": "diffcp",
    "ECOS_BB": "ecos",
    "GLOP": "ortools",
    "GLPK": "cvxopt",
    "GUROBI": "gurobipy",
    "KNITRO": "knitro",
    "MOREAU": "moreau",
    "MOSEK": "mosek",
    "MPAX": "mpax",
    "PDLP": "ortools",
    "PROXQP": "proxsuite",
    "QPALM": "qpalm",
    "SCIP": "pyscipopt",
    "SCIPY": "scipy",
    "SDPA": "sdpa-python",
    "XPRESS": "xpress",
}

# Solver -> classes for which CVXPY 1.9 returns no dual variables, or wrong ones. Models require them.
WITHOUT_DUALS = {
    "CBC": frozenset(CLASSES),
    "GLPK_MI": frozenset(CLASSES),
    "COPT": frozenset({"SOCP", "SDP", "EXP"}),
    "SCIP": frozenset({"QP", "SOCP"}),
    "XPRESS": frozenset({"SOCP"}),
}

# Solvers which CVXPY calls for nonlinear problems only.
NONLINEAR = ("IPOPT", "UNO")

# Solver -> options without which it breaks down on most kernel models and semidefinite cones.
OPTIONS = {"CVXOPT": {"kktsolver": "robust"}}

# Residual up to which an answer is accurate: that of the least accurate solver of the table. At the default
# options of 16 solvers the residuals of small models are at most 1e-3, and the errors of objectives 4e-5.
ACCURACY = max(solver.accuracy for solver in SOLVERS.values())


@lru_cache(maxsize=1)
def facts() -> dict[str, Solver]:
    """Return the facts of all further solvers by name, installed or not."""
    found = {}
    note = "at the default options of CVXPY"
    for name, interfaces in solver_interfaces().items():
        lost = WITHOUT_DUALS.get(name, frozenset())
        solves = classes(interfaces) - lost
        if name in SOLVERS or name in NONLINEAR or not solves:
            continue
        found[name] = Solver(
            solves,
            ACCURACY,
            partial(_options, name),
            f"{note}; no dual variables in other classes" if lost else note,
            certifies=False,
            package=PACKAGES.get(name, ""),
            measured=False,
        )
    return found


def _options(name: str, tol: float) -> dict[str, Any]:
    """Return the options of a solver; CVXPY has no common name for a tolerance."""
    return dict(OPTIONS.get(name, {}))


def classes(interfaces: list[Any]) -> frozenset[str]:
    """Return the problem classes of a solver: all if CVXPY does not list its cones.

    Parameters
    ----------
    interfaces : list
        CVXPY's interfaces to the solver, conic or for QPs.
    """
    if not interfaces:
        return frozenset(CLASSES)
    cones = {cone.__name__ for interface in interfaces for cone in interface.SUPPORTED_CONSTRAINTS}
    semidefinite = bool(cones & {"PSD", "SvecPSD"})
    second_order = semidefinite or "SOC" in cones  # CVXPY states a second-order cone as a semidefinite one
    quadratic = second_order or any(interface.supports_quad_obj() for interface in interfaces)
    solves = {
        "LP": True,
        "QP": quadratic,
        "SOCP": second_order,
        "SDP": semidefinite,
        "EXP": "ExpCone" in cones,
    }
    return frozenset(c for c in CLASSES if solves[c])


def refusal(name: str) -> str | None:
    """Return why a solver that CVXPY has cannot be used, or None."""
    if name in NONLINEAR:
        return "CVXPY calls it for nonlinear problems only"
    if WITHOUT_DUALS.get(name) == frozenset(CLASSES):
        return "CVXPY returns no dual variables from it"
    return None


def how_to_install(name: str) -> str:
    """Return the command that installs a solver, or where it is described."""
    package = facts()[name].package
    return f"pip install {package}" if package else "see the page on solvers of CVXPY"
