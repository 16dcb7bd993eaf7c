r"""From blocks to SCHUR, with CVXPY for what is sparse.

CVXPY compiles the problem without what is dense in it: the values :math:`g = \Phi c + b` of f are variables
that nothing defines, so are products with c that blocks asked for, and regulariser and costs of slacks are
left out. All of these are added to its canonical data here, as the matrices they are. The answer goes back
the same way, to the variables and constraints of the problem as a whole.
"""

from __future__ import annotations

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
    """The canonical data of an assembled problem, and the way back.

    Attributes
    ----------
    stated : the data.
    size : how many columns CVXPY gave.
    columns : of the variables that CVXPY has not seen, by id.
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
        tie = compiled.tie
        f = compiled.f
        data, chain, inverse = compiled.lean.get_problem_data(solver(), solver_opts={})
        n = len(data["c"])
        dims = data["dims"]
        columns = columns_of(data, chain, inverse)
        halves = tie.coefficients.halves
        length = [f.length] if f.has_length else []
        unseen = {}
        total = n
        values = [*(g for g, *_ in tie.parts.values()), *(g for g, _ in f.products.parts)]
        for variable in [*halves, f.b, *values, *length]:
            if variable.id not in columns:
                unseen[variable.id] = columns[variable.id] = np.arange(total, total + variable.size)
                total += variable.size
        q = np.concatenate([data["c"], np.zeros(total - n)])
        P = sparse.coo_array(data.get("P", (n, n)))
        A = sparse.coo_array(data["A"])
        P = sparse.csr_array((P.data, (P.row, P.col)), (total, total))
        A = sparse.csr_array((A.data, (A.row, A.col)), (A.shape[0], total))
        b = data["b"]
        q, P = with_costs(compiled, columns[compiled.slack.id], q, P)
        c = columns[halves[0].id]
        energy = None
        if f.norm == "l2":
            energy = tie.features.energy_matrix
            if energy is None:
                P = P + sparse.csr_array((np.ones(len(c)), (c, c)), (total, total))
        orders = list(dims.soc)
        norm = None
        if length:
            matrix = tie.features.coordinate_matrix
            first = dims.zero + dims.nonneg + sum(dims.soc)
            row = sparse.csr_array(([-1.0], ([0], columns[f.length.id])), (1, total))
            none = sparse.csr_array((matrix.shape[0], total))
            A = sparse.csr_array(sparse.vstack([A[:first], row, none, A[first:]]))
            b = np.insert(b, first, np.zeros(1 + matrix.shape[0]))
            orders.append(1 + matrix.shape[0])
            norm = first + 1 + np.arange(matrix.shape[0]), matrix
        stated = StructuredProblem(
            P,
            q,
            A,
            b,
            Dims(dims.zero, dims.nonneg, orders, list(dims.psd)),
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
        return cls(compiled, stated, n, unseen, data, chain, inverse)

    def solve(self, corner: bool = False, **options: Any) -> None:
        """Leave SCHUR's answer in the variables and constraints of the problem, or the ``corner`` it is near.

        That is for a linear programme, whose interior points leave tiny numbers where corners have zeros.
        """
        answer = solve_structured(self.stated, **options)
        if answer.status == "InsufficientProgress":
            left = "primal {:.0e}, dual {:.0e}, gap {:.0e}".format(*answer.residuals)
            raise SolverError(f"no more progress after {answer.iterations} steps (residuals: {left}).")
        if corner and answer.status in ("Solved", "AlmostSolved"):
            answer = to_corner(self.stated, answer)
        self.compiled.problem.unpack_results(answer, self, None)

    # What CVXPY asks of a chain of reductions when it takes an answer back.

    @property
    def solver(self) -> SCHUR:
        return solver()

    def invert(self, answer: ConicSolution, _: Any) -> Any:
        """The answer as CVXPY has it, by variables and constraints."""
        stated = self.stated
        zero = stated.dims.zero
        defined = int(stated.explicit.sum())
        z = np.delete(answer.z, slice(zero, zero + defined))
        nu = answer.z[zero : zero + defined]
        cone = slice(0) if stated.norm is None else slice(stated.norm[0][0] - 1, stated.norm[0][-1] + 1)
        own = replace(answer, x=answer.x[: self.size], z=np.delete(z, cone))
        solution = self.chain.invert(own, self.inverse)
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


def with_costs(compiled: Compiled, slack: Array, q: Array, P: Any) -> tuple[Array, Any]:
    """Return the linear and quadratic costs with the costs of the slacks, whose columns are ``slack``."""
    cost = compiled.cost_of_slack
    if compiled.spec.loss == "hinge":
        q = q.copy()
        q[slack] += cost
        return q, P
    return q, P + sparse.csr_array((2.0 * cost, (slack, slack)), P.shape)


def columns_of(data: Any, chain: Any, inverse: Any) -> dict[int, Array]:
    """Return the columns of every variable of a compiled problem, which are its value at x = 0, 1, 2, ..."""
    numbers = np.arange(float(len(data["c"])))
    answer = ConicSolution("Solved", numbers, np.zeros(len(data["b"])), 0.0, 0.0, 0, (0.0, 0.0, 0.0))
    values = chain.invert(answer, inverse).primal_vars
    return {id: np.ravel(value, order="F").astype(int) for id, value in values.items()}


@lru_cache(maxsize=1)
def solver() -> SCHUR:
    """SCHUR as CVXPY knows it; always the same, by which CVXPY knows what it has compiled."""
    return SCHUR()
