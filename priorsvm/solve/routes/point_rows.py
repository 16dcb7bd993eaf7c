r"""Problems without CVXPY: margins, and rows over values and slopes of f, as arrays.

.. math:: \min_f\; \tfrac12\|g\|^2 + \sum_r c_r(\sigma_r) \quad\text{s.t.}\quad
          s_r (Rv)_r \ge h_r - \sigma_r \;\text{or}\; (Rv)_r = h_r + \sigma_r, \qquad
          v = \text{values and slopes of } f .

The blocks state their rows in ``at_points``. The dual variables of the round before are the start, and its
kernel matrix grows by the new points.

CVXPY compiles the problem only if ``model.problem`` is read, or if the residuals are too large. A compiled
fit on 100 x 5 rows takes 20 ms, and this one 3 to 6 ms. Rows are in the order of their content, so equal rows
in any order have equal cuts.
"""

from __future__ import annotations

import time
from collections.abc import Hashable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse

from ..._utils.arrays import Array
from ...errors import SolverFailed
from ...function.atoms import Atoms
from ...function.memory import fits_in_memory
from ...knowledge.traits import AtPoints, states_arrays
from ...knowledge.views import Building, PointTerms
from ...problem.residuals import Residuals, unit_of
from ..methods.active import FullKernelMatrix, RowDual, optimise
from ..methods.block_pivots import block_pivots
from ..methods.elimination import Reduced
from ..methods.interior_start import interior_start
from ..route import Problem
from ..solution import Outcome, Solution
from ..weighted import Weighted
from .known_rows import KnownRows
from .products import Products
from .start import EFFORT, SMALL, guess

# A linear model with more rows is solved faster in its d + 1 parameters.
LINEAR_ROWS = 600

# Steps of a linear model from LIBSVM's dual variables. Beyond them, an interior point is a faster start.
LINEAR_STEPS = 15

# A sum of entries counts as zero up to this share of their sizes.
ROUNDING = 1e-12


@dataclass(frozen=True, eq=False)
class Part:
    """Rows of one block: their terms, the cost of a slack, and their place among all rows."""

    name: str
    terms: PointTerms
    cost: float
    rows: slice

    @property
    def groups(self) -> Array:
        """The slacks that rows share."""
        slack = self.terms.slack
        if slack is None or self.terms.penalty is None:
            return np.empty(0, int)
        return np.unique(slack[slack >= 0])


def solve_at_points(problem: Problem) -> Solution | None:
    """Return the solution of a problem whose blocks are rows, or None if a block has other terms.

    Raises
    ------
    SolverFailed
        If there is no answer.
    """
    spec = problem.spec
    if spec.norm != "l2" or spec.hard or spec.n_centres is not None or issparse(problem.sample.X):
        return None
    if spec.kernel is not None and spec.kernel.definiteness != "psd":
        return None
    parts = parts_of(problem)
    slopes = any(part.terms.atoms.directions is not None for part in parts)
    if not parts or (slopes and not (spec.linear or spec.expands_over_slopes)):
        return None
    start = time.perf_counter()
    size = parts[-1].rows.stop
    if not fits_in_memory(size, size, 0.25) or (spec.linear and size > LINEAR_ROWS):
        return None
    rows = StatedRows.of(problem.weighted, parts)
    products = Products.of(spec, rows.atoms, problem.known_rows)
    Q = products.between(rows.R)
    diagonal = np.arange(len(Q)), np.arange(len(Q))
    Q[diagonal] += rows.diagonal
    assembled = time.perf_counter()
    found = _solved(problem, rows, products, Q)
    if products.K is Q:  # kept for the next round
        Q[diagonal] -= rows.diagonal
    if found is None:
        raise SolverFailed("ROWS: too many rows change between their bounds. Use solver='auto'.")
    a, bias, steps = found
    seconds = assembled - start, time.perf_counter() - assembled
    return rows.solution(products, a, bias, steps, seconds)


def _solved(
    problem: Problem, rows: StatedRows, products: Products, Q: Array
) -> tuple[Array, float, int] | None:
    """Return the dual variables, the bias and the number of steps, or None without an answer."""
    known = problem.known_rows
    reduced = Reduced.of(Q, rows.dual, rows.diagonal)
    dual = rows.dual if reduced is None else reduced.dual
    bounded = np.arange(len(Q)) if reduced is None else reduced.bounded
    keys = rows.keys(products.atoms) if problem.iterates else []
    matrix = Q if reduced is None else reduced.Q
    spec = problem.spec
    finish = partial(optimise, FullKernelMatrix(matrix), dual, tol=spec.tol, deadline=spec.deadline)
    effort = max(EFFORT, SMALL / len(matrix))
    found = None
    if known is not None:
        a = known.continued([keys[k] for k in bounded], dual, rows.start[bounded])
        better = block_pivots(FullKernelMatrix(matrix), dual, a, 1e-3 * min(problem.spec.tol, 1e-6))
        found = finish(a=better, effort=effort) or finish(a=a, effort=effort)
    elif products.Z is None:
        found = finish(a=guess(matrix, dual), effort=effort)
    elif not len(dual.sum_limit):  # few steps are enough, or another start is better
        found = finish(a=guess(matrix, dual), effort=LINEAR_STEPS * 3 / len(matrix))
    if found is None and products.Z is not None:
        start = interior_start(rows.R @ products.Z, rows.diagonal, rows.dual)
        found = None if start is None else finish(a=start[bounded], effort=effort)
    if found is None:
        return None
    a = found.a
    bias = found.bias
    if reduced is not None:
        problem.reduced_value = reduced.value(found.a)
        a, bias = reduced.all_rows(found, Q, rows.dual)
    if problem.iterates and products.K is not None:
        duals = dict(zip(keys, a, strict=True))
        problem.known_rows = KnownRows(problem.spec, products.atoms, products.K, duals)
    return a, bias, found.steps


def value_of_equations(problem: Problem) -> float | None:
    """Return the optimum of a kernel model with hard equations that hold exactly; None without equations.

    The equations are eliminated from the dual. Their own dual variables, and the rounding errors of these,
    are not part of the result.
    """
    # Blocks that iterate have inequalities only.
    hard = any(getattr(m.block, "hard", False) for m in problem.live) and not problem.iterates
    if problem.spec.linear or not hard:
        return None
    if problem.reduced_value is None and any(_is_hard_equation(part) for part in parts_of(problem)):
        with suppress(SolverFailed):
            solve_at_points(problem)
    return problem.reduced_value


def _is_hard_equation(part: Part) -> bool:
    return bool(part.terms.equation) and part.terms.penalty is None


def parts_of(problem: Problem) -> list[Part]:
    """Return the rows of all blocks; empty if a block has other terms."""
    parts: list[Part] = []
    spec = problem.spec
    start = problem.n_rows
    for name, block, weight in problem.live:
        if block.only_rows:
            continue
        terms = None
        if isinstance(block, AtPoints) and states_arrays(block, "at_points"):
            terms = block.at_points(Building(name, problem.sample, problem.states[name]), spec.linear)
        if terms is None:
            return []
        cost = 0.0
        if terms.penalty is not None:
            unit = spec.C if terms.penalty in block.counts_rows else 1.0
            cost = unit * weight * float(getattr(block, terms.penalty))
            if cost == 0.0:  # the rows have no effect
                return []
        stop = start + len(terms.sign)
        parts.append(Part(name, terms, cost, slice(start, stop)))
        start = stop
    return parts


@dataclass(frozen=True, eq=False)
class StatedRows:
    """Margins first, then the rows of all blocks.

    Margins are in the order of their content. Equal rows in any order then give equal numbers, and the search
    for points finds equal points.

    Attributes
    ----------
    weighted : the margins.
    order : their order.
    parts : the rows of the blocks.
    atoms : all values and slopes, each once.
    R : (rows, atoms) sparse matrix.
    sign, equation : the sign of each row, and whether it is an equation.
    bound : linear cost of the slack of each row; infinite if the row has another slack, or none.
    square : cost of the squared slack of each row; 0 if it has none.
    dual : the dual problem without its matrix.
    """

    weighted: Weighted
    order: Array
    parts: list[Part]
    atoms: Atoms
    R: Any
    sign: Array
    equation: Array
    bound: Array
    square: Array
    dual: RowDual

    @classmethod
    def of(cls, weighted: Weighted, parts: list[Part]) -> StatedRows:
        """Return the rows of a problem."""
        n = len(weighted)
        size = parts[-1].rows.stop
        order = np.lexsort((weighted.margin, weighted.bound, weighted.y, *weighted.X.T))
        sign = np.concatenate([weighted.y[order], *(part.terms.sign for part in parts)])
        target = np.concatenate([weighted.margin[order], *(part.terms.target for part in parts)])
        equation = np.zeros(size, bool)
        bound = np.full(size, np.inf)
        square = np.zeros(size)
        if weighted.squared:
            square[:n] = weighted.bound[order]
        else:
            bound[:n] = weighted.bound[order]
        for part in parts:
            terms = part.terms
            equation[part.rows] = terms.equation
            if terms.penalty is not None and terms.slack is None:
                costs = square if terms.squared else bound
                costs[part.rows] = part.cost * terms.share
        atoms, R = _matrix(Atoms(weighted.X[order]), parts)
        signed = sign * bound
        lower = np.where(equation, -np.inf, np.where(sign < 0, signed, 0.0))
        upper = np.where(equation, np.inf, np.where(sign > 0, signed, 0.0))
        sums, limits = _sums(sign, parts)
        dual = RowDual(sign * target, lower, upper, _bias_weight(R, atoms), sums, limits)
        return cls(weighted, order, parts, atoms, R, sign, equation, bound, square, dual)

    @property
    def diagonal(self) -> Array:
        """What squared slacks add to the diagonal of the dual."""
        some = self.square > 0
        return np.where(some, 0.5 / np.where(some, self.square, 1.0), 0.0)

    @property
    def start(self) -> Array:
        """Dual variables from which the blocks let the method start; NaN where they name none."""
        start = np.full(len(self.sign), np.nan)
        for part in self.parts:
            if part.terms.start is not None:
                start[part.rows] = part.terms.sign * part.terms.start
        return start

    def keys(self, atoms: Atoms) -> list[Hashable]:
        """Return a key for each row by what it evaluates; a single value is the label of its atom."""
        return KnownRows.row_keys(self.R, atoms.labels)

    def solution(
        self, products: Products, a: Array, bias: float, steps: int, seconds: tuple[float, float]
    ) -> Solution:
        """Return the solution with its objective, dual variables and residuals."""
        w = self.weighted
        n = len(w)
        nu = np.asarray(self.R.T @ a)
        g = products.times(nu)
        at_rows = np.asarray(self.R @ g) + bias * self.dual.bias_weight
        short = self.sign * (self.dual.target - at_rows)
        sigma = np.where(self.equation, short, np.maximum(short, 0.0))
        half = 0.5 * float(nu @ g)
        costs = np.where(np.isfinite(self.bound), self.bound, 0.0) * sigma + self.square * sigma**2
        penalties = {}
        for part in self.parts:
            if part.terms.penalty is not None:
                of_part = sigma[part.rows]
                shared = sum(part.cost * of_part[part.terms.slack == k].max(initial=0.0) for k in part.groups)
                key = part.name, part.terms.penalty
                penalties[key] = float(costs[part.rows].sum() + shared)
        value = half + float(costs[:n].sum()) + sum(penalties.values())
        lower = float(self.dual.target @ a) - half - 0.5 * float(a**2 @ self.diagonal)
        unit = unit_of(w.bound, w.y) + abs(value)
        hard = np.isinf(self.bound) & (self.square == 0) & ~self.dual.sum_weight.any(axis=1)
        size = 1.0 + np.maximum(np.abs(at_rows), np.abs(self.dual.target))
        violation = float((np.abs(sigma[hard]) / size[hard]).max(initial=0.0))
        balance = abs(float(self.dual.bias_weight @ a)) / max(float(np.abs(a).sum()), 1e-300)
        found = Residuals(violation, 0.0, balance, abs(value - lower) / unit)
        outcome = Outcome("ROWS", "optimal", found, *seconds, steps)
        alpha = np.zeros(w.size)
        alpha[w.active[self.order]] = np.abs(a[:n])
        duals: dict[str, Any] = {"svm.margin": alpha[w.active]}
        for part in self.parts:
            of_part = -a[part.rows] if part.terms.equation else np.abs(a[part.rows])
            for label, matrix in part.terms.duals.items():
                duals[f"{part.name}.{label}"] = of_part if matrix is None else matrix @ of_part
        values = None
        if len(w.active) == w.size:
            values = np.empty(n)
            values[self.order] = at_rows[:n]
        f = products.fitted(nu, bias)
        return Solution(f, alpha, alpha > 0, outcome, duals, penalties, value, values=values)


def _matrix(margins: Atoms, parts: list[Part]) -> tuple[Atoms, Any]:
    """Return all values and slopes, each once, and the matrix from them to the rows."""
    atoms = Atoms.together([margins, *(part.terms.atoms for part in parts)])
    place: dict[bytes, int] = {}
    at = np.array([place.setdefault(label, len(place)) for label in atoms.labels])
    first = np.unique(at, return_index=True)[1]
    n = len(margins)
    data = [np.ones(n)]
    columns = [at[:n]]
    counts = [np.ones(n, int)]
    for part in parts:
        own = at[n : n + len(part.terms.atoms)]
        n += len(own)
        matrix = part.terms.matrix
        if matrix is None:
            data.append(np.ones(len(own)))
            columns.append(own)
            counts.append(np.ones(len(own), int))
        else:
            data.append(matrix.data)
            columns.append(own[matrix.indices])
            counts.append(np.diff(matrix.indptr))
    starts = np.concatenate([[0], np.cumsum(np.concatenate(counts))])
    parts_of_R = np.concatenate(data), np.concatenate(columns), starts
    R = csr_array(parts_of_R, (len(starts) - 1, len(place)))
    return (atoms if len(first) == len(atoms) else atoms[first]), R


def _bias_weight(R: Any, atoms: Atoms) -> Array:
    """Return the coefficient of the bias in each row: 0 if it is a rounding error."""
    values = (~atoms.slopes).astype(float)
    total = np.asarray(R @ values)
    return np.where(np.abs(total) <= ROUNDING * (abs(R) @ values), 0.0, total)


def _sums(sign: Array, parts: list[Part]) -> tuple[Array, Array]:
    """Return T and the limits of the rows that share a slack."""
    columns = [np.zeros((len(sign), 0))]
    limits = []
    for part in parts:
        for k in part.groups:
            column = np.zeros((len(sign), 1))
            column[part.rows, 0] = np.where(part.terms.slack == k, sign[part.rows], 0.0)
            columns.append(column)
            limits.append(part.cost)
    return np.hstack(columns), np.array(limits)
