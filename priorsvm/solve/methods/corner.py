r"""Crossover: from SCHUR's interior solution of a linear programme to a vertex, by HiGHS.

.. math:: \min_x\; q^\top x \quad\text{s.t.}\quad E x = e, \quad A x + s = b, \quad s \ge 0

At an interior point all :math:`s` and all dual variables :math:`z` are positive, and what should be zero is
tiny. Of every pair :math:`(s_i, z_i)` the smaller one vanishes at the optimum. Rows with :math:`z_i > s_i`,
each in units of the largest entry, are taken as active, and variables with an active bound as zero. This is
nearly a basis of the programme. From it the simplex method needs few pivots or none. It solves the whole
problem, so the solution is exact and certified by its own dual variables, however good the start was.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from ..._utils.arrays import Array
from ...schur.definitions import StructuredProblem
from ...schur.interface import ConicSolution

# Feasibility tolerances of HiGHS; its default of 1e-7 is larger than what SCHUR leaves.
TOLERANCE = 1e-9


def to_corner(problem: StructuredProblem, near: ConicSolution) -> ConicSolution:
    """Return the vertex solution next to SCHUR's solution ``near``.

    Raises
    ------
    cvxpy.SolverError
        If HiGHS does not report an optimum.
    """
    import cvxpy as cp
    import highspy

    start = time.perf_counter()
    _, q, A, b, dims = problem.expanded()
    programme = _Programme.of(q, A, b, dims.zero)
    active = _active_rows(b - A @ near.x[problem.expanded_columns], near.z, dims.zero)
    solver = highspy.Highs()
    for option, value in {
        "output_flag": False,
        "threads": 1,
        "primal_feasibility_tolerance": TOLERANCE,
        "dual_feasibility_tolerance": TOLERANCE,
    }.items():
        solver.setOptionValue(option, value)
    solver.passModel(programme.model())
    solver.setBasis(programme.basis(active))
    solver.run()
    status = solver.getModelStatus()
    if status != highspy.HighsModelStatus.kOptimal:
        reason = solver.modelStatusToString(status)
        raise cp.SolverError(f"HiGHS found no corner near SCHUR's solution ({reason}).")
    found = solver.getSolution()
    info = solver.getInfo()
    return replace(
        near,
        status="Solved",
        x=problem.expansion @ np.asarray(found.col_value),
        z=programme.duals(found),
        obj_val=float(info.objective_function_value),
        solve_time=near.solve_time + time.perf_counter() - start,
        iterations=near.iterations + info.simplex_iteration_count,
    )


@dataclass(frozen=True, eq=False)
class _Programme:
    """Linear programme with bounds x ≥ 0 apart from its other rows, as HiGHS takes it.

    Attributes
    ----------
    q, A, b, zero : the programme; the first ``zero`` rows are equations.
    bounds, bounded : rows that are bounds, and their variables.
    rows : all other rows.
    """

    q: Array
    A: Any
    b: Array
    zero: int
    bounds: Array
    bounded: Array
    rows: Array

    @classmethod
    def of(cls, q: Array, A: Any, b: Array, zero: int) -> _Programme:
        bounds, bounded = nonnegativity_rows(A, b, zero)
        return cls(q, A, b, zero, bounds, bounded, np.setdiff1d(np.arange(len(b)), bounds))

    def model(self) -> Any:
        """Return the programme as a HiGHS model."""
        import highspy

        lower = np.full(len(self.q), -np.inf)
        lower[self.bounded] = 0.0
        columns = sparse.csc_array(self.A[self.rows])
        model = highspy.HighsLp()
        model.num_col_ = len(self.q)
        model.num_row_ = len(self.rows)
        model.col_cost_ = self.q
        model.col_lower_ = lower
        model.col_upper_ = np.full(len(self.q), np.inf)
        model.row_lower_ = np.where(self.rows < self.zero, self.b[self.rows], -np.inf)
        model.row_upper_ = self.b[self.rows]
        matrix = model.a_matrix_
        matrix.format_ = highspy.MatrixFormat.kColwise
        matrix.start_ = columns.indptr
        matrix.index_ = columns.indices
        matrix.value_ = columns.data
        return model

    def basis(self, active: Array) -> Any:
        """Return the basis in which active rows and bounds are nonbasic."""
        import highspy

        status = highspy.HighsBasisStatus
        at_zero = np.zeros(len(self.q), bool)
        at_zero[self.bounded] = active[self.bounds]
        basis = highspy.HighsBasis()
        basis.col_status = [status.kLower if zero else status.kBasic for zero in at_zero]
        basis.row_status = [status.kUpper if at_bound else status.kBasic for at_bound in active[self.rows]]
        basis.valid = True
        basis.alien = True  # HiGHS completes it if there are too many or too few basic variables
        return basis

    def duals(self, found: Any) -> Array:
        """Return the dual variables of all rows."""
        z = np.zeros(len(self.b))
        z[self.rows] = -np.asarray(found.row_dual)
        z[self.bounds] = np.asarray(found.col_dual)[self.bounded] / -self.A[self.bounds, self.bounded]
        return z


def nonnegativity_rows(A: Any, b: Array, zero: int) -> tuple[Array, Array]:
    """Return the rows that only state x ≥ 0, one for each variable, and these variables."""
    single = np.flatnonzero((np.diff(A.indptr) == 1) & (b == 0.0))
    single = single[single >= zero]
    entries = A.indptr[single]
    negative = A.data[entries] < 0
    variables, first = np.unique(A.indices[entries[negative]], return_index=True)
    return single[negative][first], variables


def _active_rows(s: Array, z: Array, zero: int) -> Array:
    """Return whether each row is active: equations, and rows whose dual variable exceeds the slack."""
    largest_z = max(float(z[zero:].max(initial=0.0)), 1e-300)
    largest_s = max(float(s[zero:].max(initial=0.0)), 1e-300)
    active = z / largest_z > s / largest_s
    active[:zero] = True
    return active
