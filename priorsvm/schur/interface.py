r"""Solver interface: canonical data of CVXPY in, solution out.

.. math:: \min_x \tfrac12 x^\top P x + q^\top x \quad\text{s.t.}\quad b - A x \in K ,

with K a product of a zero cone (equations), nonnegative numbers, second-order cones and semidefinite cones.
:func:`solve` eliminates the equations, runs the interior-point method, recovers x and z, and confirms the
result on the data as given. If the equations cost accuracy, it solves once more with an orthonormal null
space basis.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any

import cvxpy as cp
import numpy as np
from cvxpy.constraints import SOC, NonNeg, SvecPSD, Zero
from scipy import sparse

from . import presolve
from .cones import Array, cones_from_dims
from .method import minimise

# Status names of CVXPY's interface to Clarabel, which reads the solution.
STATUS = {
    "optimal": "Solved",
    "almost": "AlmostSolved",
    "infeasible": "PrimalInfeasible",
    "unbounded": "DualInfeasible",
    "limit": "MaxIterations",
    "stopped": "InsufficientProgress",
}

# Largest residual of a certificate on the data as given, relative to what it proves. A proven amount below
# ROUNDING, relative to the numbers that cancel in it, is rounding.
CERTIFICATE = 1e-6
ROUNDING = 1e-11

# Largest growth of numbers for which equations are eliminated by pivots. With more than DENSE_EQUATIONS
# equations pivots are used at any growth.
GROWTH = 3.0
DENSE_EQUATIONS = 300


@dataclass
class ConicSolution:
    """Solution of the problem as CVXPY gave it.

    Attributes
    ----------
    status : str
        One of the values of ``STATUS``.
    x, z : arrays
        Primal and dual variables, or the certificate of infeasibility or unboundedness.
    obj_val : float
        Objective at x.
    solve_time : float
        Seconds.
    iterations : int
        Interior-point steps.
    residuals : tuple of float
        Relative primal residual, dual residual and gap.
    """

    status: str
    x: Array
    z: Array
    obj_val: float
    solve_time: float
    iterations: int
    residuals: tuple[float, float, float]


def solve(
    P: Any,
    q: Array,
    A: Any,
    b: Array,
    dims: Any,
    tol: float = 1e-9,
    max_iter: int = 100,
    time_limit: float = np.inf,
) -> ConicSolution:
    """Minimise ½x'Px + q'x subject to b - Ax in the cones of ``dims``.

    Parameters
    ----------
    P : (n, n) array or sparse array
        Symmetric and positive semidefinite.
    q : (n,) array
        Linear costs.
    A : (m, n) array or sparse array
        Rows of equations, inequalities, second-order cones and semidefinite cones, in this order.
    b : (m,) array
        Right-hand side.
    dims : object
        Attributes ``zero`` and ``nonneg`` are numbers of rows, ``soc`` and ``psd`` lists of cone sizes.
    tol : float, default=1e-9
        Largest relative residual and gap of an optimal solution.
    max_iter : int, default=100
        Interior-point steps, at most.
    time_limit : float, default=inf
        Seconds after which no further step is taken.

    Returns
    -------
    ConicSolution
        Its status is "InsufficientProgress" if the data as given does not confirm the result.
    """
    check_options(tol, max_iter)
    start = time.perf_counter()
    P = _canonical(P)
    A = _canonical(A)
    for name, numbers in (("P", P.data), ("q", q), ("A", A.data), ("b", b)):
        if not np.isfinite(numbers).all():
            raise ValueError(f"{name} has entries that are not finite.")
    cones, order = cones_from_dims(dims.nonneg, dims.soc, dims.psd)
    equations = A[: dims.zero]
    rows = A[dims.zero :][order]
    z = np.zeros(len(b))

    def solution(
        status: str, x: Array, iterations: int = 0, residuals: Any = (0.0, 0.0, 0.0)
    ) -> ConicSolution:
        value = float(0.5 * x @ (P @ x) + q @ x)
        return ConicSolution(status, x, z, value, time.perf_counter() - start, iterations, residuals)

    for definitions_only in (False, True):
        try:
            reduced = presolve.reduce(
                P, q, equations, b[: dims.zero], rows, b[dims.zero :][order], definitions_only
            )
        except presolve.Inconsistent as error:
            z[: dims.zero] = error.duals
            return solution("PrimalInfeasible", np.zeros(len(q)))
        if reduced.growth > GROWTH and dims.zero <= DENSE_EQUATIONS:
            continue
        origin = reduced.recover(np.zeros(len(reduced.q)))
        constant = float(0.5 * origin @ (P @ origin) + q @ origin)
        result = minimise(
            reduced.P, reduced.q, reduced.A, reduced.b, cones, tol, max_iter, constant, time_limit
        )
        x = reduced.recover(result.x, homogeneous=result.status == "unbounded")
        z[dims.zero :][order] = result.z
        gradient = rows.T @ result.z + (0.0 if result.status == "infeasible" else P @ x + q)
        z[: dims.zero] = presolve.equation_duals(equations, reduced.solved, gradient)
        found = solution(STATUS[result.status], x, result.iterations, result.residuals)
        if confirmed(result.status, (P @ x, q, A.T @ z), (q @ x, b @ z, np.abs(b) @ np.abs(z)), tol):
            return found
    return replace(found, status="InsufficientProgress")


def _canonical(M: Any) -> Any:
    """Return compressed rows without repeated entries; the matrix as given is not changed."""
    M = sparse.csr_array(M)
    if not M.has_canonical_format:
        M = M.copy()
    M.sum_duplicates()
    return M


def check_options(tol: float, max_iter: int) -> None:
    """Raise ValueError for options that no solve can have."""
    if not (tol > 0 and max_iter >= 1):
        raise ValueError(f"tol={tol!r} must be positive, and max_iter={max_iter!r} at least 1.")


def confirmed(status: str, parts: tuple[Array, Array, Array], sums: tuple[Any, Any, Any], tol: float) -> bool:
    """Return whether the data as given confirm a result.

    An optimal solution has Px + q + A'z = 0. A certificate of infeasibility has A'z = 0 and b'z < 0, and a
    certificate of unboundedness Px = 0 and q'x < 0.

    Parameters
    ----------
    status : str
        Status of the interior-point method.
    parts : tuple of arrays
        Px, q and A'z.
    sums : tuple of float
        q'x, b'z and abs(b)'abs(z).
    tol : float
        Tolerance of the solve.
    """
    Px, q, Atz = (float(np.abs(part).max(initial=0.0)) for part in parts)
    qx, bz, size = (float(number) for number in sums)
    if status in ("optimal", "almost"):
        total = float(np.abs(sum(parts)).max(initial=0.0))
        return total <= max(100 * tol, 1e-6) * max(Px + q + Atz, 1e-300)
    if status == "infeasible":
        return Atz <= CERTIFICATE * -bz and -bz > ROUNDING * size
    return status != "unbounded" or Px <= CERTIFICATE * -qx


def clarabel_interface() -> Any:
    """Return CVXPY's interface class to Clarabel: from its module, or else from a compiled problem."""
    try:
        from cvxpy.reductions.solvers.conic_solvers.clarabel_conif import CLARABEL
    except ImportError:
        _, chain, _ = cp.Problem(cp.Minimize(cp.Variable(nonneg=True))).get_problem_data(cp.CLARABEL)
        return type(chain.solver)
    return CLARABEL


class SCHUR(clarabel_interface()):  # type: ignore[misc]
    """Solver class for CVXPY, on the canonical data that CVXPY prepares for Clarabel."""

    SUPPORTED_CONSTRAINTS = [Zero, NonNeg, SOC, SvecPSD]

    def name(self) -> str:
        return "SCHUR"

    def import_solver(self) -> None:
        """Import nothing: the solver is part of this package."""

    def solve_via_data(
        self, data: Any, warm_start: bool, verbose: bool, solver_opts: Any, solver_cache: Any = None
    ) -> ConicSolution:
        """Solve canonical data of CVXPY; ``warm_start`` and ``verbose`` have no effect."""
        n = len(data["c"])
        P = data["P"] if "P" in data else sparse.csr_array((n, n))
        options = {key: value for key, value in solver_opts.items() if key != "use_quad_obj"}
        return solve(P, data["c"], data["A"], data["b"], data["dims"], **options)
