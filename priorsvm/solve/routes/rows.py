r"""The route of models whose blocks are rows of f: an active-set method on the dual.

Margins, points of regions and pairs of hints are constraints and penalties on values of f, each with a slack
of its own. CVXPY compiles the problem with these values as variables that no coefficients connect.
:mod:`.shape` reads the rows from its data, and the kernel matrix of the values, computed once, connects them.
LIBSVM solves the rows that are margins, which gives nearly all dual variables. :func:`.active.optimise` then
finds the exact dual variables of all rows. It factors the rows between their bounds only, where an
interior-point method factors all rows at every step.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.sparse import coo_array, csr_array, issparse

from ..._utils.arrays import Array, as_slice, same
from ...errors import SolverFailed, SolverUnsuited
from ...function.atoms import Atoms
from ...function.factor import require_psd
from ...function.fitted import Fitted
from ...function.maps import KernelMap, LinearMap
from ...function.memory import refuse_beyond_memory
from ...knowledge.traits import OnRowSlack
from ...problem.assemble import Compiled
from ...problem.residuals import Residuals, adjoints, residuals
from ..methods.active import FullKernelMatrix, optimise
from ..methods.shape import OtherShape, Shape
from ..route import Problem, Route
from ..solution import Outcome, Solution
from ..weighted import gram
from .known_rows import KnownRows
from .point_rows import solve_at_points
from .start import EFFORT, SMALL, guess


class Rows(Route):
    """Route of 2-norm models whose blocks are rows of f.

    With ``arrays``, blocks may state their rows themselves. With ``compiled``, rows of other blocks are read
    from the problem that CVXPY compiles.
    """

    name = "ROWS"
    kind = "rows of f"
    factor = 1.0
    floor = 1e-8
    note = "2-norm, blocks that use values or slopes of f, each with one slack at most"

    def __init__(self, arrays: bool = True, compiled: bool = True):
        self.arrays = arrays
        self.compiled = compiled

    def obstacle(self, problem: Problem) -> str | None:
        if problem.spec.norm != "l2":
            return "it has the 2-norm only, not norm='l1'"
        if problem.spec.n_centres is not None:
            return "it takes no n_centres"
        if issparse(problem.sample.X):
            return "it takes no sparse X"
        for name, block, _ in problem.live:
            if not block.only_rows and isinstance(block, OnRowSlack):
                return f"block '{name}' shares the slack of the rows"
        return None

    def solve(self, problem: Problem, options: dict[str, Any]) -> Solution:
        found = solve_at_points(problem) if self.arrays else None
        if found is not None:
            return found
        if not self.compiled:
            raise SolverUnsuited(_unsuited("a block does not state its rows as arrays"))
        compiled = problem.compiled
        # The matrices are kept for the next weights.
        rows = compiled.memo.get(self.name)
        if rows is None:
            rows = compiled.memo[self.name] = RowsProblem(compiled)
        solution: Solution = rows.solve(problem)
        return solution


class RowsProblem:
    """A problem on values and slopes of f, and their kernel matrix.

    Attributes
    ----------
    evaluations : list of Evaluation
        The evaluations of f that terms or constraints use.
    atoms : Atoms
        All values and slopes of the problem, in the units of X.
    biased : array of bool
        A flag for each atom: True if the bias is added, as for values.
    """

    def __init__(self, compiled: Compiled):
        self.compiled = compiled
        self.spec = compiled.spec
        self._require_rows()
        used = {variable.id for variable in compiled.lean.variables()}
        self.evaluations = [e for e in compiled.f.evaluations if e.variable.id in used]
        self.atoms = Atoms.together([evaluation.atoms for evaluation in self.evaluations])
        self.biased = np.concatenate([np.full(e.variable.size, e.biased) for e in self.evaluations])
        self._known: dict[int, Any] = {}
        self._K: Array | None = None
        self._Q: tuple[Any, Array] | None = None

    def _require_rows(self) -> None:
        """Raise SolverUnsuited if a block uses more of f than values and slopes that f expands over."""
        from cvxpy import constraints as kinds

        compiled = self.compiled
        for name, used in compiled.uses.items():
            if used & {"coef", "bias", "length"}:
                raise SolverUnsuited(_unsuited(f"block '{name}' uses more of f than values and slopes"))
        linear = (kinds.Inequality, kinds.Equality, kinds.NonNeg, kinds.NonPos, kinds.Zero)
        for label, constraint in compiled.constraints.items():
            if not isinstance(constraint, linear):
                raise SolverUnsuited(_unsuited(f"block '{label.partition('.')[0]}' adds cones"))
        if not self.spec.linear and not all(e.spans for e in compiled.f.evaluations):
            raise SolverUnsuited(_unsuited("f is evaluated at slopes that it does not expand over"))

    def solve(self, problem: Problem) -> Solution:
        """Return the solution, which is stored in the variables and constraints of the problem, too.

        The rows of the round before are the start, and the rows of this solution replace them.
        """
        from .direct import columns_of, solver  # which import cvxpy

        start = time.perf_counter()
        data, chain, inverse = self.compiled.lean.get_problem_data(solver(), solver_opts={})
        columns = columns_of(data, chain, inverse)
        shape = self._shape(self._with_costs(data, columns), columns)
        known = problem.known_rows
        K = self._gram(known)
        Q = self._between(shape.R, K)
        before = time.perf_counter()
        rows = np.arange(len(Q))
        Q[rows, rows] += shape.diagonal
        keys = KnownRows.row_keys(shape.R, self.atoms.labels())
        a = guess(Q, shape.dual) if known is None else known.continued(keys, shape.dual)
        spec = self.compiled.spec
        effort = max(EFFORT, SMALL / len(Q))
        found = optimise(FullKernelMatrix(Q), shape.dual, a, spec.tol, effort, spec.deadline)
        Q[rows, rows] -= shape.diagonal
        seconds = time.perf_counter() - before
        if found is None:
            raise SolverFailed("ROWS: too many rows change between their bounds. Use solver='auto'.")
        if self.spec.kernel is not None and self.spec.kernel.definiteness == "psd":
            duals = dict(zip(keys, found.a, strict=True))
            problem.known_rows = KnownRows(self.spec, self.atoms, K, duals)
        nu = shape.R.T @ found.a
        Knu = K @ nu
        self._unpack(shape.solution(found.a, Knu + found.bias * self.biased), found.steps, chain, inverse)
        found_residuals = self._residuals(nu)
        value = 0.5 * float(nu @ Knu) + float(self.compiled.untied.objective.value)
        rest = time.perf_counter() - start - seconds
        outcome = Outcome("ROWS", "optimal", found_residuals, rest, seconds, found.steps)
        return self._solution(self._fitted(nu, found.bias), value, outcome)

    def _solution(self, f: Fitted, value: float, outcome: Outcome) -> Solution:
        compiled = self.compiled
        duals = compiled.duals()
        alpha = np.zeros(len(compiled.sample))
        alpha[compiled.active] = duals["svm.margin"]
        values = np.asarray(compiled.values.value) if len(compiled.active) == len(alpha) else None
        penalties = compiled.penalties()
        return Solution(
            f, alpha, alpha > 0, outcome, duals, penalties, value, values=values, compiled=compiled
        )

    def _with_costs(self, data: Any, columns: Mapping[int, Array]) -> dict[str, Any]:
        """Return the compiled data with the costs of the slacks."""
        from .direct import with_costs

        n = len(data["c"])
        P = coo_array(data.get("P", (n, n)))
        P = csr_array((P.data, (P.row, P.col)), (n, n))
        q, P = with_costs(self.compiled, columns, np.asarray(data["c"], float), P)
        return {**data, "c": q, "P": P}

    def _shape(self, data: Any, columns: Mapping[int, Array]) -> Shape:
        """Return the rows of the data; raise SolverUnsuited if the data are of another shape."""
        values = np.concatenate([columns[e.variable.id] for e in self.evaluations])
        try:
            return Shape.of(data, values, self.biased)
        except OtherShape as error:
            raise SolverUnsuited(_unsuited(self._misfit(error, columns))) from error

    def _unpack(self, found: tuple[Array, Array], steps: int, chain: Any, inverse: Any) -> None:
        """Store values and dual variables in the variables and constraints of the problem."""
        from ...schur.interface import ConicSolution

        x, z = found
        answer = ConicSolution("Solved", x, z, 0.0, 0.0, steps, (0.0, 0.0, 0.0))
        self.compiled.lean.unpack_results(answer, chain, inverse)

    def _residuals(self, nu: Array) -> Residuals:
        """Return the residuals of the problem as stated; ``nu`` are the weights of f."""
        unit, costs = self.compiled.units()
        found = residuals(self.compiled.untied, self._jacobians(nu), unit, costs)
        balance = abs(float(nu[self.biased].sum())) / (unit + float(np.abs(nu).max(initial=0.0)))
        return replace(found, stationarity=max(found.stationarity, balance))

    def _jacobians(self, nu: Array) -> dict[int, Any]:
        """Return all gradients; gradients of affine expressions are kept for other weights."""
        compiled = self.compiled
        one = np.ones(1)
        known = compiled.margin_jacobian()
        for constraint in compiled.constraints.values():
            if constraint.id not in known:
                known[constraint.id] = self._adjoints(constraint.expr)
        # The gradient of the regulariser by a value of f is the weight of its atom.
        variables = [evaluation.variable for evaluation in self.evaluations]
        weights = np.split(nu, np.cumsum([g.size for g in variables])[:-1])
        regulariser = {g: lambda m, w=w: w for g, w in zip(variables, weights, strict=True)}
        slopes = {v: part(one) for v, part in compiled.gradient(regulariser)[0].items()}
        for term in compiled.terms:
            for variable, part in self._adjoints(term.expression).items():
                slopes[variable] = slopes.get(variable, 0.0) + term.parameter.value * part(one)
        known[id(compiled.untied.objective)] = {v: lambda m, s=s: s for v, s in slopes.items()}, None
        return known

    def _adjoints(self, expression: Any) -> Any:
        if not expression.is_affine():
            return adjoints(expression)
        if id(expression) not in self._known:
            self._known[id(expression)] = expression, adjoints(expression)
        return self._known[id(expression)][1]

    def _misfit(self, error: OtherShape, columns: Mapping[int, Array]) -> str:
        """Return which variable of which block is not of the required shape."""
        constraints = self.compiled.constraints
        for variable in self.compiled.lean.variables():
            if error.column is not None and error.column in columns[variable.id]:
                has = [k for k, c in constraints.items() if variable.id in {v.id for v in c.variables()}]
                block = (has or ["svm."])[-1].partition(".")[0]
                return f"'{variable.name()}' of block '{block}' {error}"
        return f"it {error}"

    def _gram(self, known: KnownRows | None) -> Array:
        """Return the inner products of all evaluated values and slopes of f."""
        if self._K is None:
            n = len(self.atoms)
            kernel = self.spec.kernel
            atoms = self.atoms.scaled(self.spec.scale)
            refuse_beyond_memory(n, n, "the kernel matrix", "Set n_centres to work with fewer.")
            if kernel is None:
                Z = self._rows()[0]
                self._K = Z @ Z.T
            elif known is not None:
                self._K = KnownRows.gram(known, self.spec, self.atoms)
            elif atoms.directions is None:
                self._K = gram(kernel.double, np.ascontiguousarray(atoms.points))
            else:
                self._K = atoms.products(kernel.double, atoms)
                require_psd(kernel, self._K)
        return self._K

    def _rows(self) -> tuple[Array, Array]:
        """Return the rows of a linear f, and the mean subtracted from values, which the bias absorbs."""
        atoms = self.atoms.scaled(self.spec.scale)
        Z = (
            atoms.points
            if atoms.directions is None
            else np.where(atoms.slopes[:, None], atoms.directions, atoms.points)
        )
        middle = Z[self.biased].mean(axis=0)
        return np.where(self.biased[:, None], Z - middle, Z), middle

    def _fitted(self, nu: Array, bias: float) -> Fitted:
        spec = self.spec
        if spec.kernel is not None:
            return KernelMap(spec.kernel.double, self.atoms, spec.scale).fitted(nu, bias)
        Z, middle = self._rows()
        w = nu @ Z
        return LinearMap(Z.shape[1], spec.scale).fitted(w, bias - float(w @ middle))

    def _between(self, R: Any, K: Array) -> Array:
        """Return R K R', kept for the next weights; rows that are values themselves need no product."""
        if self._Q is not None and same(R, self._Q[0]):
            return self._Q[1]
        single = (np.diff(R.indptr) == 1) & (R.data[R.indptr[:-1]] == 1.0)  # no row is empty
        plain = np.flatnonzero(single)
        other = np.flatnonzero(~single)
        at = R[plain].indices
        Q = np.empty((R.shape[0],) * 2)
        i = as_slice(plain)
        j = as_slice(at)
        if isinstance(i, slice) and isinstance(j, slice):
            Q[i, i] = K[j, j]
        else:
            Q[np.ix_(plain, plain)] = K[np.ix_(at, at)]
        if len(other):
            across = R[other] @ K
            beside = across[:, at]
            Q[np.ix_(other, plain)] = beside
            Q[np.ix_(plain, other)] = beside.T
            Q[np.ix_(other, other)] = R[other] @ across.T
        self._Q = R, Q
        return Q


def _unsuited(reason: str) -> str:
    return f"ROWS cannot solve this problem: {reason.rstrip('.')}. Use solver='auto'."
