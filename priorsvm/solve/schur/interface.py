"""The solver as CVXPY and the rest of the library see it."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from cvxpy.constraints import SOC, SvecPSD
from cvxpy.reductions.solvers.conic_solvers.clarabel_conif import CLARABEL
from cvxpy.reductions.solvers.conic_solvers.conic_solver import ConicSolver
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
    "stopped": "InsufficientProgress",
}


# Equations are solved by pivots only up to this growth of numbers, unless there are more than so many.
GROWTH, DENSE_EQUATIONS = 3.0, 300


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
    cones, order = batches(dims.nonneg, dims.soc, dims.psd)
    equations, rest = A[: dims.zero], A[dims.zero :][order]
    e, b_rest = b[: dims.zero], b[dims.zero :][order]
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
            point = minimise(less.P, less.q, less.A[kept], less.b[kept], left, tol, max_iter)
            own = np.zeros(len(order))
            own[kept] = point.z
        x = less.full(point.x, homogeneous=point.status == "unbounded")
        z[dims.zero :][order] = own
        gradient = rest.T @ own + (0.0 if point.status == "infeasible" else P @ x + q)
        z[: dims.zero] = presolve.multipliers(equations, less.solved, gradient)
        answer = ended(STATUS[point.status], x, point.iterations, point.residuals)
        if point.status not in ("optimal", "almost") or is_stationary((P @ x, q, A.T @ z), tol):
            return answer
    # Optimal without the equations, and not with them.
    return replace(answer, status="InsufficientProgress")


def check_options(tol: float, max_iter: int) -> None:
    if not (tol > 0 and max_iter >= 1):
        raise ValueError(f"tol={tol!r} has to be positive, and max_iter={max_iter!r} at least 1")


def is_stationary(parts: tuple[Array, ...], tol: float) -> bool:
    """Whether Px, q and A'z add up to nothing in the problem as it was given, relatively."""
    size = sum(float(np.abs(part).max(initial=0.0)) for part in parts)
    return float(np.abs(sum(parts)).max(initial=0.0)) <= max(100 * tol, 1e-6) * max(size, 1e-300)


class SCHUR(CLARABEL):
    """Takes the data that CVXPY makes for Clarabel."""

    SUPPORTED_CONSTRAINTS = [*ConicSolver.SUPPORTED_CONSTRAINTS, SOC, SvecPSD]

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
        return solve(P, data["c"], data["A"], data["b"], data[ConicSolver.DIMS], **options)
