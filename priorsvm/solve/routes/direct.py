r"""Data of an assembled problem for SCHUR: CVXPY compiles the sparse part, dense matrices are added.

In the problem that CVXPY compiles, the values :math:`g = \Phi c + b` of f and products of matrices with c are
free variables. The regulariser and the costs of slacks are left out. This module adds them to the compiled
data as matrices, and writes the solution to the variables and constraints of the whole problem.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from cvxpy.error import SolverError
from scipy import sparse

from ..._utils.arrays import Array
from ...schur.definitions import Definition, Dims, StructuredProblem, solve_structured
from ...schur.interface import SCHUR, ConicSolution
from ..methods.corner import to_corner

if TYPE_CHECKING:
    from ...problem.assemble import Compiled


@dataclass(eq=False)
class Direct:
    """Data of an assembled problem, and the map from their solution to its variables.

    Attributes
    ----------
    compiled : Compiled
        The assembled problem.
    stated : StructuredProblem
        The data.
    size : int
        Number of columns in the data of CVXPY.
    columns : dict of int to array
        Variable id -> its columns, for variables that are not in the data of CVXPY.
    data, chain, inverse : object
        Results of ``get_problem_data`` of CVXPY.
    """

    compiled: Compiled
    stated: StructuredProblem
    size: int
    columns: dict[int, Array]
    data: Any
    chain: Any
    inverse: Any

    @classmethod
    def of(cls, compiled: Compiled) -> Direct:
        """Return the data of an assembled problem."""
        tie = compiled.tie
        f = compiled.f
        data, chain, inverse = compiled.lean.get_problem_data(solver(), solver_opts={})
        n = len(data["c"])
        columns = columns_of(data, chain, inverse)
        halves = tie.coefficients.halves
        values = [*(g for g, *_ in tie.parts.values()), *(g for g, _ in f.products.parts)]
        length = [f.length] if f.has_length else []
        added = {}
        total = n
        for variable in [*halves, f.b, *values, *length]:
            if variable.id not in columns:
                added[variable.id] = columns[variable.id] = np.arange(total, total + variable.size)
                total += variable.size
        q = np.concatenate([data["c"], np.zeros(total - n)])
        P = _widened(data.get("P", (n, n)), total, total)
        q, P = with_costs(compiled, columns, q, P)
        c = columns[halves[0].id]
        energy = None
        if f.norm == "l2":
            energy = tie.features.energy_matrix
            if energy is None:
                P = P + sparse.csr_array((np.ones(len(c)), (c, c)), (total, total))
        A, b, dims, norm = _with_length(compiled, data, columns, total)
        stated = StructuredProblem(
            P,
            q,
            A,
            b,
            dims,
            c,
            None if f.norm == "l2" else columns[halves[1].id],
            int(columns[f.b.id][0]),
            [
                *(Definition(columns[g.id], matrix, biased) for g, matrix, biased in tie.parts.values()),
                *(Definition(columns[g.id], M, False, explicit=False) for g, M in f.products.parts),
            ],
            energy,
            norm,
        )
        return cls(compiled, stated, n, added, data, chain, inverse)

    def solve(self, corner: bool = False, **options: Any) -> tuple[float, float, float]:
        """Solve with SCHUR and store the solution in the variables and constraints of the problem.

        With ``corner``, HiGHS continues from the solution of a linear programme to a corner. Interior points
        have tiny numbers where corners have zeros. The results are the residuals that SCHUR reports.
        """
        try:
            answer = solve_structured(self.stated, **options)
        except FloatingPointError as error:
            raise SolverError(f"{error}.") from error
        if answer.status == "InsufficientProgress":
            reached = "primal {:.0e}, dual {:.0e}, gap {:.0e}".format(*answer.residuals)
            raise SolverError(f"no more progress after {answer.iterations} steps (residuals: {reached}).")
        if corner and answer.status in ("Solved", "AlmostSolved"):
            answer = to_corner(self.stated, answer)
        self.compiled.problem.unpack_results(answer, self, None)
        return answer.residuals

    # `unpack_results` of CVXPY calls `solver` and `invert` of a chain of reductions: this object replaces it.

    @property
    def solver(self) -> SCHUR:
        """The solver, as CVXPY calls it."""
        return solver()

    def invert(self, answer: ConicSolution, _: Any) -> Any:
        """Return the solution in the form of CVXPY: values by variable and dual variables by constraint."""
        stated = self.stated
        zero = stated.dims.zero
        defined = int(stated.explicit.sum())
        z = np.delete(answer.z, slice(zero, zero + defined))
        nu = answer.z[zero : zero + defined]
        cone = slice(0) if stated.norm is None else slice(stated.norm[0][0] - 1, stated.norm[0][-1] + 1)
        compiled = replace(answer, x=answer.x[: self.size], z=np.delete(z, cone))
        solution = self.chain.invert(compiled, self.inverse)
        if solution.primal_vars:
            for variable in self.compiled.problem.variables():
                if variable.id in self.columns:
                    value = answer.x[self.columns[variable.id]]
                    solution.primal_vars[variable.id] = value.reshape(variable.shape)
        start = 0
        for constraint, (g, *_) in self.compiled.tie.parts.items():
            solution.dual_vars[constraint] = nu[start : start + g.size]
            start += g.size
        if stated.norm is not None:
            solution.dual_vars[self.compiled.tie.definitions["length"].id] = z[cone]
        return solution


def _with_length(
    compiled: Compiled, data: Any, columns: dict[int, Array], total: int
) -> tuple[Any, Array, Dims, tuple[Array, Array] | None]:
    """Return constraint matrix, right-hand side and cones, with a cone for the norm of f if a block uses it.

    The last result are the rows of that cone and the matrix of the coordinates of f; None without the cone.
    """
    f = compiled.f
    dims = data["dims"]
    A = _widened(data["A"], data["A"].shape[0], total)
    b = data["b"]
    orders = list(dims.soc)
    norm = None
    if f.has_length:
        matrix = compiled.tie.features.coordinate_matrix
        first = dims.zero + dims.nonneg + sum(dims.soc)
        row = sparse.csr_array(([-1.0], ([0], columns[f.length.id])), (1, total))
        none = sparse.csr_array((matrix.shape[0], total))
        A = sparse.csr_array(sparse.vstack([A[:first], row, none, A[first:]]))
        b = np.insert(b, first, np.zeros(1 + matrix.shape[0]))
        orders.append(1 + matrix.shape[0])
        norm = first + 1 + np.arange(matrix.shape[0]), matrix
    return A, b, Dims(dims.zero, dims.nonneg, orders, list(dims.psd)), norm


def _widened(matrix: Any, rows: int, columns: int) -> Any:
    """Return a sparse matrix, or zeros of a shape, with more rows and columns."""
    M = sparse.coo_array(matrix)
    return sparse.csr_array((M.data, (M.row, M.col)), (rows, columns))


def with_costs(compiled: Compiled, columns: Mapping[int, Array], q: Array, P: Any) -> tuple[Array, Any]:
    """Return the linear and quadratic costs with the costs of the slacks, by the columns of variables."""
    if compiled.spec.hard:
        return q, P
    slack = columns[compiled.slack.id]
    cost = compiled.cost_of_slack
    if compiled.spec.loss == "hinge":
        q = q.copy()
        q[slack] += cost
        return q, P
    return q, P + sparse.csr_array((2.0 * cost, (slack, slack)), P.shape)


def columns_of(data: Any, chain: Any, inverse: Any) -> dict[int, Array]:
    """Return the columns of every variable of a compiled problem: its value if entry j of x is j."""
    numbers = np.arange(float(len(data["c"])))
    answer = ConicSolution("Solved", numbers, np.zeros(len(data["b"])), 0.0, 0.0, 0, (0.0, 0.0, 0.0))
    values = chain.invert(answer, inverse).primal_vars
    return {id: np.ravel(value, order="F").astype(int) for id, value in values.items()}


@lru_cache(maxsize=1)
def solver() -> SCHUR:
    """Return SCHUR as a solver of CVXPY: one object, so that CVXPY reuses compiled problems."""
    return SCHUR()
