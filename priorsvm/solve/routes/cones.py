r"""The route CONES: kernel models whose margins are reduced by norms of slopes.

One block has the trait AtSlopes. :mod:`.cone_newton` solves the problem in the coordinates of a pivoted
Cholesky factor. CVXPY would have a cone for each row and an equation for each slope. Here a row outside the
margin costs one evaluation of f.

An interior-point method factors the slopes of all rows at every step, because all cones are part of it. Norms
have dual variables of their own, because a norm of slope 0 has a kink: Newton steps on the norms alone took
40 steps instead of 12 (768 x 8 rows, 20 % missing). With the first coordinates alone the gap decreases by a
factor of 4 in a step, so the last steps use the exact H.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular
from scipy.sparse import issparse

from ..._utils.arrays import Array
from ...errors import SolverFailed
from ...function.atoms import Atoms
from ...function.maps import FactorMap
from ...function.memory import fits_in_memory, refuse_beyond_memory
from ...knowledge.traits import AtSlopes, states_arrays
from ...knowledge.views import Building, SlopeTerms
from ...prior import Member
from ...problem.residuals import Residuals
from ..methods.cone_margins import ConeMargins
from ..methods.cone_newton import ConeSolution, minimise
from ..route import Problem, Route
from ..solution import Outcome, Solution
from .start import guess


class Cones(Route):
    """Route of 2-norm kernel models with one block that reduces margins by norms of slopes."""

    name = "CONES"
    kind = "margins less norms of slopes"
    floor = 1e-5
    note = "2-norm with the hinge, kernels with slopes, other blocks add or reweight rows"

    def obstacle(self, problem: Problem) -> str | None:
        spec = problem.spec
        if spec.kernel is None:
            return "it requires a kernel"
        if spec.norm != "l2" or spec.loss != "hinge" or spec.n_centres is not None:
            return "it requires norm='l2', loss='hinge' and n_centres=None"
        if spec.hard:
            return "it requires a finite C"
        if spec.kernel.definiteness != "psd" or issparse(problem.sample.X):
            return "it requires a positive definite kernel and dense X"
        blocks = [member for member in problem.live if not member.block.only_rows]
        if len(blocks) != 1 or not isinstance(blocks[0].block, AtSlopes):
            return "it requires one UncertainSamples or MissingValues, and blocks that add or reweight rows"
        if not states_arrays(blocks[0].block, "at_slopes"):
            return f"block '{blocks[0].name}' overrides build, which this route does not call"
        if _terms(problem, blocks[0]) is None:
            return f"block '{blocks[0].name}' has terms of another form"
        return None

    def solve(self, problem: Problem, options: dict[str, Any]) -> Solution:
        start = time.perf_counter()
        [member] = [member for member in problem.live if not member.block.only_rows]
        terms = _terms(problem, member)
        assert terms is not None
        weighted = problem.weighted
        spec = problem.spec
        position = np.full(weighted.size, -1)
        position[weighted.active] = np.arange(len(weighted))
        rows = position[terms.rows]
        features = _SlopeFeatures(_space(problem), weighted.X, rows, terms)
        margins = ConeMargins(weighted.y, weighted.margin, weighted.bound, rows, terms.rank)
        before = time.perf_counter()
        rows_of_svm = margins.rows_with(margins.margin)
        found = minimise(
            margins, features, lambda K: guess(K, rows_of_svm), 1e-3 * min(spec.tol, 1e-6), spec.deadline
        )
        seconds = time.perf_counter() - before
        if found is None:
            raise SolverFailed("CONES: a linearised problem has no accurate solution. Use solver='auto'.")
        residuals = _residuals(margins, found)
        rest = time.perf_counter() - start - seconds
        outcome = Outcome(self.name, "optimal", residuals, rest, seconds, found.steps)
        return _solution(problem, member, margins, found, features.space, outcome)


def _terms(problem: Problem, member: Member) -> SlopeTerms | None:
    """Return the slopes of the block, or None if its terms have another form."""
    sample = problem.sample
    view = Building(member.name, sample, problem.states[member.name], sample.counted_training)
    terms: SlopeTerms | None = member.block.at_slopes(view)
    return terms


def _space(problem: Problem) -> FactorMap:
    """Return the coordinates of f over all rows, from the cache if they are there."""
    spec = problem.spec
    X = problem.weighted.X
    key = ("cones", spec.kernel, spec.scale and vars(spec.scale), X)
    assert spec.kernel is not None
    kernel = spec.kernel.double
    space: FactorMap = problem.maps.get(key, lambda: FactorMap(kernel, X, spec.scale))
    return space


def _residuals(margins: ConeMargins, found: ConeSolution) -> Residuals:
    balance = abs(float(margins.y @ found.alpha)) / max(float(found.alpha.sum()), 1e-300)
    return Residuals(0.0, 0.0, max(balance, found.stationarity), abs(found.gap))


def _solution(
    problem: Problem,
    member: Member,
    margins: ConeMargins,
    found: ConeSolution,
    space: FactorMap,
    outcome: Outcome,
) -> Solution:
    """Return f and its dual variables; the margin of a row with slopes is the one of the block."""
    sample = problem.sample
    active = problem.weighted.active
    own = found.alpha.copy()
    own[margins.rows] = 0.0
    alpha = np.zeros(len(sample))
    alpha[active] = own
    slack = np.zeros(len(sample))
    slack[active] = found.slack
    view = Building(member.name, sample, problem.states[member.name], sample.counted_training)
    of_block = member.block.duals_at_slopes(view, found.alpha[margins.rows], found.unit)
    duals = {"svm.margin": own, **{f"{member.name}.{label}": dual for label, dual in of_block.items()}}
    threshold = problem.spec.negligible_dual(sample.cost, float(found.alpha.max(initial=0.0)))
    return Solution(
        space.fitted(found.c, found.bias),
        alpha,
        alpha > threshold,
        outcome,
        duals,
        value=found.value,
        threshold=threshold,
        slack=slack,
    )


class _SlopeFeatures:
    """Coordinates of values and slopes of a kernel model, by a pivoted Cholesky factor.

    Parameters
    ----------
    space : FactorMap
        The coordinates.
    X : (n, d) array
        All rows, in the units of X.
    rows : (k,) array
        Positions of the rows with slopes.
    terms : SlopeTerms
        Directions of the slopes.
    """

    def __init__(self, space: FactorMap, X: Array, rows: Array, terms: SlopeTerms) -> None:
        self.space = space
        self.values = space.rows(X)
        self.points = X[rows]
        self.directions = terms.directions
        self.starts = np.cumsum(terms.rank) - terms.rank
        self.owner = np.repeat(np.arange(len(rows)), terms.rank)
        # The array has room for all coordinates if that fits in memory; otherwise it grows.
        most = self.values.shape[1]
        room = most if fits_in_memory(2 * len(self.directions), most) else 0
        self._slopes = np.empty((len(self.directions), room))
        self._known = 0

    def slopes(self, size: int) -> Array:
        """Return the first coordinates of all slopes; those that are known are kept."""
        known = self._known
        if known < size:
            refuse_beyond_memory(2 * len(self.owner), size, "the slopes of all rows", "Use fewer rows.")
            if self._slopes.shape[1] < size:
                larger = np.empty((len(self.directions), size))
                larger[:, :known] = self._slopes[:, :known]
                self._slopes = larger
            L = self.space.factor
            atoms = Atoms(self.points[self.owner], self.directions).scaled(self.space.scale)
            products = atoms.products(self.space.kernel, self.space.inner[known:size])
            products -= self._slopes[:, :known] @ L[known:size, :known].T
            corner = L[known:size, known:size]
            new = solve_triangular(corner, products.T, lower=True, check_finite=False)
            self._slopes[:, known:size] = new.T
            self._known = size
        return self._slopes[:, :size]

    def _along(self, weights: Array) -> Array:
        """Return for each row the sum of its directions with these weights."""
        if len(weights) == 0:
            return np.empty(self.points.shape)
        return np.add.reduceat(weights[:, None] * self.directions, self.starts, axis=0)

    def combined(self, weights: Array, some: Array) -> Array:
        """Return for some rows the sum of their slopes with these weights."""
        return self.space.slopes(self.points[some], self._along(weights)[some])

    def summed(self, weights: Array) -> Array:
        """Return the sum of all slopes with these weights."""
        along = self._along(weights)
        used = along.any(axis=1)
        atoms = Atoms(self.points[used], along[used]).scaled(self.space.scale)
        total = atoms.products(self.space.kernel, self.space.inner).sum(axis=0)
        return np.asarray(solve_triangular(self.space.factor, total, lower=True, check_finite=False))

    def slopes_of(self, c: Array, some: Array) -> Array:
        """Return the slopes of f; 0 for slopes of rows that are not among some."""
        gradients = np.zeros(self.points.shape)
        gradients[some] = self.space.fitted(c, 0.0).values_and_gradients(self.points[some])[1]
        return np.einsum("md,md->m", gradients[self.owner], self.directions)
