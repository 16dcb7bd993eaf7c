r"""Rounds of cutting planes without CVXPY: margins, and bounds on values or slopes of f, as arrays.

.. math:: \min_f\; \tfrac12\|g\|^2 + \sum_i C_i \xi_i + \sum_l \mu_l \zeta_l \quad\text{s.t.}\quad
          y_i f(x_i) \ge \rho_i - \xi_i, \quad s_p Lf(x_p) \ge h_p - \zeta_{l(p)} .

The dual variables of the round before are the start, and its kernel matrix grows by the new points.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import issparse

from ..._utils.arrays import Array
from ...function.atoms import Atoms
from ...function.maps import KernelMap
from ...function.memory import fits_in_memory
from ...knowledge.base import Knowledge
from ...knowledge.traits import AtPoints
from ...knowledge.views import Building, PointTerms
from ...problem.residuals import Residuals
from ..methods.active import ActiveSetSolution, FullKernelMatrix, RowDual, optimise
from ..route import Problem
from ..solution import Outcome, Solution
from ..weighted import Weighted
from .known_rows import KnownRows
from .rows import EFFORT, SMALL, guess

# Largest relative gap of an answer.
ACCURATE = 1e-7


def solve_at_points(problem: Problem) -> Solution | None:
    """Return the solution of a problem on values and slopes of f, or None if it is another or inaccurate."""
    spec = problem.spec
    if spec.kernel is None or spec.norm != "l2" or spec.hard or spec.n_centres is not None:
        return None
    if spec.kernel.definiteness != "psd" or issparse(problem.sample.X):
        return None
    parts = _parts(problem)
    slopes = any(terms.atoms.directions is not None for terms, _ in parts)
    if not parts or (slopes and not spec.expands_over_slopes):
        return None
    start = time.perf_counter()
    rows = _Rows.of(problem.weighted, parts)
    atoms = rows.atoms
    if not fits_in_memory(len(atoms), len(atoms), 0.25):
        return None
    labels = atoms.labels()
    K = KnownRows.gram(problem.known_rows, spec, atoms)
    K[rows.diagonal_entries] += rows.diagonal
    dual = rows.dual
    if problem.known_rows is None:
        a = guess(K, dual)
    else:
        a = problem.known_rows.continued(KnownRows.keys(labels), dual)
    found = optimise(FullKernelMatrix(K), dual, a, spec.tol, max(EFFORT, SMALL / len(K)))
    K[rows.diagonal_entries] -= rows.diagonal
    if found is None:
        return None
    problem.known_rows = KnownRows(spec, atoms, K, dict(zip(KnownRows.keys(labels), found.a, strict=True)))
    return rows.solution(problem, found, K, time.perf_counter() - start)


def _parts(problem: Problem) -> list[tuple[PointTerms, float]]:
    """Return the terms of all blocks with the costs of their slacks; empty if a block has other terms."""
    parts = []
    spec = problem.spec
    for name, block, weight in problem.live:
        if block.only_rows:
            continue
        terms = None
        if _states_points(block):
            terms = block.at_points(Building(name, problem.sample, problem.states[name]), spec.linear)
        if terms is None or terms.matrix is not None or terms.equation or terms.slack is None:
            return []
        cost = 0.0
        if terms.penalty is not None:
            unit = spec.C if terms.penalty in block.counts_rows else 1.0
            cost = unit * weight * float(getattr(block, terms.penalty))
        parts.append((terms, cost))
    return parts


def _states_points(block: Knowledge) -> bool:
    """Return whether ``at_points`` belongs to the ``build`` of the block, not to a class it derives from."""
    classes = type(block).__mro__
    if not isinstance(block, AtPoints):
        return False
    first = next(kind for kind in classes if {"at_points", "build"} & set(vars(kind)))
    return "at_points" in vars(first)


@dataclass(frozen=True, eq=False)
class _Rows:
    """Margins first, then the points of all blocks.

    Margins are in the order of their content. Equal rows in any order then give equal numbers, and the search
    for points finds equal points.
    """

    weighted: Weighted
    order: Array
    atoms: Atoms
    dual: RowDual
    diagonal: Array

    @classmethod
    def of(cls, weighted: Weighted, parts: list[tuple[PointTerms, float]]) -> _Rows:
        n = len(weighted)
        order = np.lexsort((weighted.margin, weighted.bound, weighted.y, *weighted.X.T))
        signs = np.concatenate([weighted.y[order], *(terms.sign for terms, _ in parts)])
        targets = np.concatenate([weighted.margin[order], *(terms.target for terms, _ in parts)])
        bound = np.full(len(signs), np.inf)
        if not weighted.squared:
            bound[:n] = weighted.bound[order]
        limits: list[float] = []
        columns: list[Array] = []
        start = n
        for terms, cost in parts:
            stop = start + len(terms.sign)
            if terms.penalty is not None and terms.slack is not None:
                for k in np.unique(terms.slack):
                    column = np.zeros(len(signs))
                    column[start:stop] = np.where(terms.slack == k, terms.sign, 0.0)
                    columns.append(column)
                    limits.append(cost)
            start = stop
        sums = np.column_stack(columns) if columns else np.zeros((len(signs), 0))
        signed = signs * bound
        lower = np.where(signs < 0, signed, 0.0)
        upper = np.where(signs > 0, signed, 0.0)
        atoms = Atoms.together([Atoms(weighted.X[order]), *(terms.atoms for terms, _ in parts)])
        biased = np.where(atoms.slopes, 0.0, 1.0)
        dual = RowDual(signs * targets, lower, upper, biased, sums, np.array(limits))
        diagonal = 0.5 / weighted.bound[order] if weighted.squared else np.zeros(n)
        return cls(weighted, order, atoms, dual, diagonal)

    @property
    def diagonal_entries(self) -> tuple[Array, Array]:
        """Indices of the entries of the kernel matrix that a squared loss raises."""
        rows = np.arange(len(self.diagonal))
        return rows, rows

    def solution(
        self, problem: Problem, found: ActiveSetSolution, K: Array, seconds: float
    ) -> Solution | None:
        """Return the solution with its objective and gap, or None if it is inaccurate."""
        w = self.weighted
        dual = self.dual
        spec = problem.spec
        n = len(w)
        a = found.a
        g = K @ a
        half = 0.5 * float(a @ g)
        values = g + found.bias * dual.bias_weight
        signs = np.where(dual.upper > 0, 1.0, -1.0)
        short = np.maximum(signs * (dual.target - values), 0.0)
        loss = w.bound[self.order] @ (short[:n] ** 2 if w.squared else short[:n])
        has = dual.sum_weight != 0
        slacks = np.where(has, short[:, None], 0.0).max(axis=0, initial=0.0)
        hard = short[n:][~has[n:].any(axis=1)]
        value = half + float(loss) + float(dual.sum_limit @ slacks)
        lower = float(dual.target @ a) - half - 0.5 * float(a[:n] ** 2 @ self.diagonal)
        gap = abs(value - lower) / (1.0 + abs(value))
        violation = float(hard.max(initial=0.0))
        if not max(gap, violation) <= max(ACCURATE, spec.tol):
            return None
        balance = abs(float(dual.bias_weight @ a)) / max(float(np.abs(a).sum()), 1e-300)
        outcome = Outcome(
            "ROWS", "optimal", Residuals(violation, 0.0, balance, gap), 0.0, seconds, found.steps
        )
        alpha = np.zeros(w.size)
        alpha[w.active[self.order]] = np.abs(a[:n])
        assert spec.kernel is not None
        f = KernelMap(spec.kernel.double, self.atoms, spec.scale).fitted(a, found.bias)
        at_rows = None
        if len(w.active) == w.size:
            at_rows = np.empty(n)
            at_rows[self.order] = values[:n]
        duals: dict[str, Any] = {"svm.margin": alpha[w.active]}
        return Solution(f, alpha, alpha > 0, outcome, duals, value=value, values=at_rows)
