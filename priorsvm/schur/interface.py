"""The solver as CVXPY and the rest of the library see it."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any

import cvxpy as cp
import numpy as np
from cvxpy.constraints import SOC, NonNeg, SvecPSD, Zero
from scipy import sparse

from . import presolve
from .cones import Array, batches, live
from .method import Point, minimise

# Names that CVXPY's interface to Clarabel, whose data and answers these are, knows.
STATUS = {
    "optimal": "Solved",
    "almost": "AlmostSolved",
    "infeasible": "PrimalInfeasible",
    "unbounded": "DualInfeasible",
    "limit": "MaxIterations",
    "stopped": "InsufficientProgress",
}


# What a proof may lack in the problem as it was given, relative to what it proves; less than so much of what
# cancelled is rounding.
CERTAIN = 1e-6
ROUNDING = 1e-11

# Equations are solved by pivots only up to this growth of numbers, unless there are more than so many.
GROWTH = 3.0
DENSE_EQUATIONS = 300


@dataclass
class Answer:
    """x and z of the problem as CVXPY gave it."""

    status: str
    x: Array
    z: Array
    obj_val: float
    solve_time: float
    iterations: int
    residuals: tuple[float, float, float]


def solve(P: Any, q: Array, A: Any, b: Array, dims: Any, tol: float = 1e-9, max_iter: int = 100) -> Answer:
    """Minimise ½x'Px + q'x subject to b - Ax in the cones of ``dims``."""
    check_options(tol, max_iter)
    start = time.perf_counter()
    P, A = (sparse.csr_array(M, copy=not M.has_canonical_format) for M in map(sparse.csr_array, (P, A)))
    P.sum_duplicates()
    A.sum_duplicates()
    for name, numbers in (("P", P.data), ("q", q), ("A", A.data), ("b", b)):
        if not np.isfinite(numbers).all():
            raise ValueError(f"{name} has numbers that are not finite")
    cones, order = batches(dims.nonneg, dims.soc, dims.psd)
    equations = A[: dims.zero]
    rest = A[dims.zero :][order]
    e = b[: dims.zero]
    b_rest = b[dims.zero :][order]
    z = np.zeros(len(b))

    def ended(status: str, x: Array, iterations: int = 0, residuals: Any = (0.0, 0.0, 0.0)) -> Answer:
        value = float(0.5 * x @ (P @ x) + q @ x)
        return Answer(status, x, z, value, time.perf_counter() - start, iterations, residuals)

    for careful in (False, True):
        try:
            less = presolve.reduce(P, q, equations, e, rest, b_rest, careful)
        except presolve.Inconsistent as error:
            z[: dims.zero] = error.multipliers
            return ended("PrimalInfeasible", np.zeros(len(q)))
        if less.growth > GROWTH and dims.zero <= DENSE_EQUATIONS:
            continue  # pivots would cost digits
        kept, left, contradicted = live(np.diff(less.A.indptr) > 0, less.b, cones)
        if contradicted is not None:
            point = Point("infeasible", np.zeros(len(less.q)), np.zeros(0), np.zeros(0), (0.0, 0.0, 0.0), 0)
            own = contradicted
        else:
            origin = less.full(np.zeros(len(less.q)))
            constant = float(0.5 * origin @ (P @ origin) + q @ origin)
            point = minimise(less.P, less.q, less.A[kept], less.b[kept], left, tol, max_iter, constant)
            own = np.zeros(len(order))
            own[kept] = point.z
        x = less.full(point.x, homogeneous=point.status == "unbounded")
        z[dims.zero :][order] = own
        gradient = rest.T @ own + (0.0 if point.status == "infeasible" else P @ x + q)
        z[: dims.zero] = presolve.multipliers(equations, less.solved, gradient)
        answer = ended(STATUS[point.status], x, point.iterations, point.residuals)
        if confirmed(point.status, (P @ x, q, A.T @ z), (q @ x, b @ z, np.abs(b) @ np.abs(z)), tol):
            return answer
    # So without the equations, and not with them.
    return replace(answer, status="InsufficientProgress")


def check_options(tol: float, max_iter: int) -> None:
    if not (tol > 0 and max_iter >= 1):
        raise ValueError(f"tol={tol!r} has to be positive, and max_iter={max_iter!r} at least 1")


def confirmed(status: str, parts: tuple[Array, Array, Array], sums: tuple[Any, Any, Any], tol: float) -> bool:
    """Whether the problem as it was given agrees, by Px, q, A'z, and q'x, b'z, and how large b'z was.

    An answer has the first three add up to nothing. A proof of infeasibility has no A'z to speak of, and a
    negative b'z that is more than rounding; one of unboundedness no Px, and a negative q'x.
    """
    Px, q, Atz = (float(np.abs(part).max(initial=0.0)) for part in parts)
    qx, bz, size = (float(number) for number in sums)
    if status in ("optimal", "almost"):
        total = float(np.abs(sum(parts)).max(initial=0.0))
        return total <= max(100 * tol, 1e-6) * max(Px + q + Atz, 1e-300)
    if status == "infeasible":
        return Atz <= CERTAIN * -bz and -bz > ROUNDING * size
    return status != "unbounded" or Px <= CERTAIN * -qx


def clarabel_interface() -> Any:
    """Return CVXPY's interface class to Clarabel: from its module, or else from a compiled problem."""
    try:
        from cvxpy.reductions.solvers.conic_solvers.clarabel_conif import CLARABEL
    except ImportError:
        _, chain, _ = cp.Problem(cp.Minimize(cp.Variable(nonneg=True))).get_problem_data(cp.CLARABEL)
        return type(chain.solver)
    return CLARABEL


class SCHUR(clarabel_interface()):  # type: ignore[misc]
    """Takes the data that CVXPY makes for Clarabel."""

    SUPPORTED_CONSTRAINTS = [Zero, NonNeg, SOC, SvecPSD]

    def name(self) -> str:
        return "SCHUR"

    def import_solver(self) -> None:
        """Nothing to import."""

    def solve_via_data(
        self, data: Any, warm_start: bool, verbose: bool, solver_opts: Any, solver_cache: Any = None
    ) -> Answer:
        n = len(data["c"])
        P = data["P"] if "P" in data else sparse.csr_array((n, n))
        options = {key: value for key, value in solver_opts.items() if key != "use_quad_obj"}
        return solve(P, data["c"], data["A"], data["b"], data["dims"], **options)
