r"""From an interior point of a linear programme to a corner: HiGHS, started where SCHUR ended.

.. math:: \min_x\; q^\top x \quad\text{s.t.}\quad E x = e, \quad A x + s = b, \quad s \ge 0

An interior point nears its optimum with all :math:`s` and multipliers :math:`z` positive: what should be zero
is tiny. But of every pair it tells which of both vanishes. Rows with :math:`z_i > s_i`, each in units of the
largest, hold with equality; variables that such a row keeps at zero are zero. That is a basis, nearly, from
which the simplex method needs a few pivots and often none, on the whole problem: its answer is exact, has as
many zeros as a corner has, and is proven by its own multipliers, whatever the guess was worth.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse

from ..._utils.arrays import Array
from ...schur.defined import Stated
from ...schur.interface import Answer

# What HiGHS may leave of a violated row or price; its own 1e-7 is more than SCHUR leaves.
TOLERANCE = 1e-9


def to_corner(stated: Stated, near: Answer) -> Answer:
    """The answer in a corner, from SCHUR's ``near`` one."""
    import cvxpy as cp
    import highspy

    start = time.perf_counter()
    _, q, A, b, dims = stated.whole()
    zero = dims.zero
    bounds, bounded = _bounds(A, b, zero)
    rows = np.setdiff1d(np.arange(len(b)), bounds)
    held = _held(b - A @ near.x[stated.own], near.z, zero)
    least = np.full(len(q), -np.inf)
    least[bounded] = 0.0

    programme = highspy.HighsLp()
    programme.num_col_ = len(q)
    programme.num_row_ = len(rows)
    programme.col_cost_ = q
    programme.col_lower_ = least
    programme.col_upper_ = np.full(len(q), np.inf)
    programme.row_lower_ = np.where(rows < zero, b[rows], -np.inf)
    programme.row_upper_ = b[rows]
    columns = sparse.csc_array(A[rows])
    matrix = programme.a_matrix_
    matrix.format_ = highspy.MatrixFormat.kColwise
    matrix.start_ = columns.indptr
    matrix.index_ = columns.indices
    matrix.value_ = columns.data

    basic, at_zero, at_bound = (
        getattr(highspy.HighsBasisStatus, "k" + s) for s in ("Basic", "Lower", "Upper")
    )
    pinned = np.zeros(len(q), bool)
    pinned[bounded] = held[bounds]
    basis = highspy.HighsBasis()
    basis.col_status = [at_zero if is_zero else basic for is_zero in pinned]
    basis.row_status = [at_bound if is_held else basic for is_held in held[rows]]
    basis.valid = basis.alien = True  # HiGHS makes it a basis where there are too many, or too few

    solver = highspy.Highs()
    for option, value in {
        "output_flag": False,
        "threads": 1,
        "primal_feasibility_tolerance": TOLERANCE,
        "dual_feasibility_tolerance": TOLERANCE,
    }.items():
        solver.setOptionValue(option, value)
    solver.passModel(programme)
    solver.setBasis(basis)
    solver.run()
    status = solver.getModelStatus()
    if status != highspy.HighsModelStatus.kOptimal:
        raise cp.SolverError(f"HiGHS found no corner near its answer ({solver.modelStatusToString(status)}).")
    found = solver.getSolution()
    info = solver.getInfo()
    z = np.zeros(len(b))
    z[rows] = -np.asarray(found.row_dual)
    z[bounds] = np.asarray(found.col_dual)[bounded] / -A[bounds, bounded]
    return replace(
        near,
        status="Solved",
        x=stated.with_products @ np.asarray(found.col_value),
        z=z,
        obj_val=float(info.objective_function_value),
        solve_time=near.solve_time + time.perf_counter() - start,
        iterations=near.iterations + info.simplex_iteration_count,
    )


def _bounds(A: Any, b: Array, zero: int) -> tuple[Array, Array]:
    """Rows that say no more than that a variable is nonnegative, one for each, and the variables."""
    single = np.flatnonzero((np.diff(A.indptr) == 1) & (b == 0.0))
    single = single[single >= zero]
    entries = A.indptr[single]
    single = single[A.data[entries] < 0]
    entries = entries[A.data[entries] < 0]
    variables, first = np.unique(A.indices[entries], return_index=True)
    return single[first], variables


def _held(s: Array, z: Array, zero: int) -> Array:
    """Which rows hold with equality: the equations, and those whose multiplier is larger than their slack."""
    held = z / max(float(z[zero:].max(initial=0.0)), 1e-300) > s / max(
        float(s[zero:].max(initial=0.0)), 1e-300
    )
    held[:zero] = True
    return held
