r"""The route of machines whose blocks are rows of f: an active-set method on the dual.

Margins, points of regions and pairs of hints all ask something of values of f, each with a slack of its own.
CVXPY compiles the problem with these values as variables that nothing ties to each other, :mod:`.shape` reads
the rows from its data, and the kernel matrix, made once, ties them. LIBSVM is shown the rows that are margins
and finds nearly all multipliers; :func:`.active.optimise` finds the exact ones of all rows. Its factors are
of the rows between their bounds only, where an interior point factors all of them at every step.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.sparse import issparse

from ..._utils.arrays import Array, as_keys, same
from ..._utils.cache import Cache
from ...errors import MissingCapability, SolverFailed, SolverUnsuited
from ...function.decision import (
    Atoms,
    Fitted,
    KernelMap,
    LinearMap,
    Values,
    refuse_beyond_memory,
    require_psd,
)
from ...prior import Member
from ...problem.assemble import Compiled
from ...problem.diagnose import Residuals, adjoints, residuals
from ...sample import Sample
from ...spec import Spec
from ..methods.active import LazyKernelMatrix, RowDual, optimise
from ..methods.shape import OtherShape, Shape
from ..solvers import Outcome
from . import libsvm
from .weighted import gram

# "auto" takes this route from so many rows on.
ROWS = 100

# Work of the active-set method, in factorisations of a matrix between all rows; more where rows are few.
EFFORT = 10.0
SMALL = 2000.0

# Where LIBSVM stops. Measured on 1100 rows, C = 0.1 to 100: with 0.03 and 0.1 guess and answer took 0.6 to
# 1.1 of the time that they took with 0.01, with 0.3 0.7 to 1.5.
ROUGH = 0.1

# A bound that no multiplier reaches, for LIBSVM, which wants one.
NEVER = 1e100


def obstacle(spec: Spec, members: Sequence[Member], sample: Sample) -> str | None:
    """Why this route cannot solve the problem, as far as that is known before it is assembled."""
    if spec.norm != "l2":
        return "it has the 2-norm only, not norm='l1'"
    if spec.n_centres is not None:
        return "it takes no n_centres"
    if issparse(sample.X):
        return "it takes no sparse X"
    for name, block, weight in members:
        if weight > 0 and block.shares_slack:
            return f"block '{name}' shares the slack of the rows"
    return None


def prefers(spec: Spec, sample: Sample) -> bool:
    """Whether ``solver="auto"`` takes this route when it can."""
    return spec.kernel is not None and int(np.count_nonzero(sample.cost)) >= ROWS


@dataclass(frozen=True, eq=False)
class Solved:
    """f, its values at the rows that have a cost, the objective, and how it went."""

    f: Fitted
    values: Array
    value: float
    outcome: Outcome


class Held(Compiled):
    """The assembled problem with values of f for variables, and the matrix between its rows.

    Attributes
    ----------
    atoms, biased : what is asked of f, in the user's units, and which of it has the bias.
    """

    f: Values

    def __init__(
        self, spec: Spec, members: Sequence[Member], states: Mapping[str, Any], sample: Sample
    ) -> None:
        from cvxpy import constraints as kinds

        super().__init__(spec, members, states, sample)
        linear = (kinds.Inequality, kinds.Equality, kinds.NonNeg, kinds.NonPos, kinds.Zero)
        for label, constraint in self.constraints.items():
            if not isinstance(constraint, linear):
                raise SolverUnsuited(_unsuited(f"block '{label.partition('.')[0]}' adds cones"))
        self.atoms = _together([atoms for _, atoms, _ in self.f.asked])
        self.biased = np.concatenate([np.full(g.size, biased) for g, _, biased in self.f.asked])
        self._require_centres()
        self._known: dict[int, Any] = {}
        self._K: Array | None = None
        self._Q: tuple[Any, Array] | None = None

    def _function(self, maps: Cache) -> Values:
        return Values(self.spec.kernel, self.sample.X.shape[1])

    def _add(self, member: Member) -> None:
        try:
            super()._add(member)
        except MissingCapability as error:
            raise SolverUnsuited(_unsuited(f"block '{member.name}': {error}")) from error

    def _require_centres(self) -> None:
        """What is asked of f lies in the span of its centres, or the problem as stated is another one."""
        if self.spec.kernel is None:
            return
        centres, at, along = self._expansion(self.spec.kernel)
        known = {*as_keys(centres), *as_keys(np.hstack([at, along]))}
        for _, atoms, _ in self.f.asked:
            rows = atoms.points if atoms.directions is None else np.hstack([atoms.points, atoms.directions])
            if not known.issuperset(as_keys(rows)):
                raise SolverUnsuited(_unsuited("f is asked for what it does not expand over"))

    def solve(self) -> Solved:
        """Solve the problem; multipliers and values are left in its constraints and variables."""
        from ...schur.interface import ConicSolution
        from .direct import columns_of, solver  # which import cvxpy

        start = time.perf_counter()
        data, chain, inverse = self.problem.get_problem_data(solver(), solver_opts={})
        columns = columns_of(data, chain, inverse)
        values = np.concatenate([columns[g.id] for g, *_ in self.f.asked])
        try:
            shape = Shape.of(data, values, self.biased)
        except OtherShape as error:
            raise SolverUnsuited(_unsuited(self._blamed(error, columns))) from error
        K = self._gram()
        Q = self._between(shape.R, K)
        before = time.perf_counter()
        rows = np.arange(len(Q))
        Q[rows, rows] += shape.diagonal
        a = _guess(Q, shape)
        kernel = LazyKernelMatrix(Q, rows, lambda some: Q[:, some])
        found = optimise(kernel, shape.dual, a, self.spec.tol, max(EFFORT, SMALL / len(Q)))
        Q[rows, rows] -= shape.diagonal
        seconds = time.perf_counter() - before
        if found is None:
            raise SolverFailed("ROWS: too many rows change between their bounds. Use solver='auto'.")
        nu = shape.R.T @ found.a
        Knu = K @ nu
        x, z = shape.solution(found.a, Knu + found.bias * self.biased)
        answer = ConicSolution("Solved", x, z, 0.0, seconds, found.steps, (0.0, 0.0, 0.0))
        self.problem.unpack_results(answer, chain, inverse)
        ends = np.cumsum([g.size for g, *_ in self.f.asked])[:-1]
        self.f.weights = np.split(nu, ends)
        judged = self._residuals(nu)
        value = 0.5 * float(nu @ Knu) + float(self.problem.objective.value)
        rest = time.perf_counter() - start - seconds
        outcome = Outcome("ROWS", "optimal", judged, rest, seconds, found.steps)
        return Solved(self._fitted(nu, found.bias), np.asarray(self.values.value), value, outcome)

    def jacobians(self) -> dict[int, Any]:
        """As of any problem; what is affine stays as it is, whatever the weights."""
        known = super().jacobians()
        one = np.ones(1)
        for constraint in self.constraints.values():
            if constraint.id not in known:
                known[constraint.id] = self._adjoints(constraint.expr)
        slopes = {v: part(one) for v, part in known[id(self.problem.objective)][0].items()}
        for term in self.terms:
            for variable, part in self._adjoints(term.expression).items():
                slopes[variable] = slopes.get(variable, 0.0) + term.parameter.value * part(one)
        known[id(self.problem.objective)] = {v: lambda m, s=s: s for v, s in slopes.items()}, None
        return known

    def _adjoints(self, expression: Any) -> Any:
        if not expression.is_affine():
            return adjoints(expression)
        if id(expression) not in self._known:
            self._known[id(expression)] = expression, adjoints(expression)
        return self._known[id(expression)][1]

    def _residuals(self, nu: Array) -> Residuals:
        """Of the problem as it is stated: f has the weights that the rows' multipliers give it."""
        unit, costs = self.units()
        found = residuals(self.problem, self.jacobians(), None, unit, costs)
        balance = abs(float(nu[self.biased].sum())) / (unit + float(np.abs(nu).max(initial=0.0)))
        return replace(found, stationarity=max(found.stationarity, balance))

    def _blamed(self, error: OtherShape, columns: Mapping[int, Array]) -> str:
        """Whose variable does not fit."""
        for variable in self.problem.variables():
            if error.column is not None and error.column in columns[variable.id]:
                has = [k for k, c in self.constraints.items() if variable.id in {v.id for v in c.variables()}]
                block = (has or ["svm."])[-1].partition(".")[0]
                return f"'{variable.name()}' of block '{block}' {error}"
        return f"it {error}"

    def _gram(self) -> Array:
        """The inner products of all that is asked of f."""
        if self._K is None:
            n = len(self.atoms)
            kernel = self.spec.kernel
            atoms = self.atoms.scaled(self.spec.scale)
            refuse_beyond_memory(n, n, "the kernel matrix", "Set n_centres to work with fewer.")
            if kernel is None:
                Z = self._rows()[0]
                self._K = Z @ Z.T
            elif atoms.directions is None:
                self._K = gram(kernel.double, np.ascontiguousarray(atoms.points))
            else:
                self._K = atoms.products(kernel.double, atoms)
                require_psd(kernel, self._K)
        return self._K

    def _rows(self) -> tuple[Array, Array]:
        """Of a linear machine: what is asked as rows, values around their middle, which the bias absorbs."""
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
        """R K R', kept for the next weights; rows that are values themselves need no product."""
        if self._Q is not None and same(R, self._Q[0]):
            return self._Q[1]
        single = (np.diff(R.indptr) == 1) & (R.data[R.indptr[:-1]] == 1.0)  # no row is empty
        plain = np.flatnonzero(single)
        other = np.flatnonzero(~single)
        at = R[plain].indices
        Q = np.empty((R.shape[0],) * 2)
        i = _slice(plain)
        j = _slice(at)
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


def _together(parts: Sequence[Atoms]) -> Atoms:
    """All atoms as one."""
    points = np.vstack([part.points for part in parts])
    if all(part.directions is None for part in parts):
        return Atoms(points)
    along = [np.zeros_like(part.points) if part.directions is None else part.directions for part in parts]
    return Atoms(points, np.vstack(along), np.concatenate([part.slopes for part in parts]))


def _slice(which: Array) -> Any:
    """Numbers that follow each other as a slice."""
    if len(which) and which[-1] - which[0] == len(which) - 1 and (np.diff(which) == 1).all():
        return slice(int(which[0]), int(which[-1]) + 1)
    return which


def _guess(Q: Array, shape: Shape) -> Array:
    """Multipliers near the answer: LIBSVM's for the rows that are margins of an SVM, for others none."""
    from ..plain import STALLED

    rows: RowDual = shape.dual
    a = np.clip(0.0, rows.lower, rows.upper)
    zero_end = np.where(rows.target > 0, rows.lower, rows.upper)
    bound = np.minimum(np.where(rows.target > 0, rows.upper, -rows.lower), NEVER)
    margins = (np.abs(rows.target) == 1.0) & (rows.bias_weight == 1.0) & (zero_end == 0.0) & (bound > 0)
    margins &= ~rows.sum_weight.any(axis=1)
    some = np.flatnonzero(margins)
    y = rows.target[some]
    if len(some) and np.ptp(y) > 0:
        at = _slice(some)
        own = np.ascontiguousarray(Q[at, at] if isinstance(at, slice) else Q[np.ix_(at, at)])
        options = {"cache_size": 500, "max_iter": STALLED[0] + STALLED[1] * len(some), "shrinking": True}
        a[some] = libsvm._run(own, y, bound[some], {"kernel": "precomputed"}, ROUGH, options)[0]
    return a
