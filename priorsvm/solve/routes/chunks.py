r"""Route CHUNKS: linear models on many rows, solved on the rows near their margins.

Blocks build on the facts of all rows. Only the rows of the loss are replaced, by :mod:`.methods.chunks`. Each
smaller problem is solved by NORMAL if it is a weighted SVM, else by SCHUR or CLARABEL.

With the range of the band rows instead of all rows, the objective of ``Monotone`` was off by 6.5e-4.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.sparse import issparse

from ..._utils.arrays import Array
from ...errors import SolverFailed, SolverUnsuited, TooLarge
from ...knowledge.traits import OnRowSlack
from ...large.loss_chunks import SourceChunks
from ...large.memory import in_words
from ...problem.residuals import unit_of
from ...sample import Sample
from ..methods.chunks import EXACT, ArrayChunks, Found, solve_band
from ..methods.loss_rows import LossRows, distinct
from ..route import Problem, Route
from ..solution import HOPELESS, Outcome, RowSums, Solution
from .conic import Conic, Schur
from .normal import Normal

# Rows of each smaller problem: a share of all rows between these numbers, and at least so many for a feature.
SHARE = 0.05
LEAST = 5000
MOST = 20_000
MOST_WITH_TERMS = 8000
FOR_FEATURE = 100

# A smaller problem may have this share of very many rows. A pass then takes longer than a smaller problem.
OF_MANY = 0.002

# Most points at which a block may evaluate f. They are part of every smaller problem.
POINTS = 20_000

# A dual variable below this share of its bound is zero.
NEGLIGIBLE = 1e-6

# Tolerance of SCHUR for solutions that are references of bands.
LOOSE = 1e-5


class Chunks(Route):
    """Route of linear models with many rows."""

    name = "CHUNKS"
    kind = "linear SVM"
    floor = 1e-5
    note = "2-norm, hinge, dense X, blocks without terms for each row"

    def obstacle(self, problem: Problem) -> str | None:
        spec = problem.spec
        if not spec.linear:
            return "it has linear models only"
        if spec.norm != "l2":
            return "it has the 2-norm only, not norm='l1'"
        if spec.loss != "hinge":
            return "it has the hinge only, not loss='squared_hinge'"
        if spec.hard:
            return "it requires a finite C"
        if issparse(problem.sample.X):
            return "it takes no sparse X"
        for name, block, _ in problem.live:
            if isinstance(block, OnRowSlack):
                return f"block '{name}' has terms for each row"
        if problem.beyond_rows() is None:
            return None
        try:
            _smaller(problem, _two_rows(problem.sample, spec.C)).compiled  # noqa: B018
        except SolverUnsuited as error:
            return str(error)
        return None

    def refusal(self, problem: Problem, reason: str) -> str:
        if problem.large is None:
            return super().refusal(problem, reason)
        return f"rows that are read in chunks: {reason}. Fit a sample of the rows in memory."

    def solve(self, problem: Problem, options: dict[str, Any]) -> Solution:
        start = time.perf_counter()
        sample = problem.sample
        bound = problem.spec.C * sample.cost
        if problem.large is not None:
            return _solved_from_source(problem, bound, start)
        chunks = ArrayChunks(sample.X, sample.y, bound, sample.margin)
        fits = _Fits(problem, problem.n_rows)
        found = solve_band(chunks, fits, fits.size, sample.seed, deadline=problem.spec.deadline)
        rest = time.perf_counter() - start - fits.seconds
        alpha = bound * _shares_of_bounds(sample, found, np.arange(len(sample)))
        solution = _solution(problem, found, alpha, bound, fits, rest)
        if found.late:
            solution.value = None  # computed from f at all rows
            solution.notes = {"estimated": False, "lower": _lower(found, solution, unit_of(bound, sample.y))}
        return solution


def _lower(found: Found, solution: Solution, unit: float) -> float:
    """Return the lower bound of the objective from the last smaller problem; NaN if it is not known.

    The optimum of a smaller problem is a lower bound, and the answer of a solver is above it. So the bound is
    the objective of the answer, less its residuals and the rounding of sums.
    """
    loss = found.lower if found.late else found.crossed.loss - found.crossed.lost
    value = float(0.5 * solution.f.norm("l2") ** 2 + loss + sum(solution.penalties.values()))
    found_residuals = found.answer.outcome.residuals
    parts = np.array([*vars(found_residuals).values()])
    return value - (abs(value) + unit) * (EXACT + float(parts[np.isfinite(parts)].sum()))


def _solved_from_source(problem: Problem, bound: Array, start: float) -> Solution:
    """Return the solution for rows that are read in chunks."""
    large = problem.large
    sample = problem.sample
    chunks = SourceChunks(large, sample, problem.live, problem.states, problem.spec.C)
    fits = _Fits(problem, len(chunks))
    size = min(fits.size, large.plan.most // 2)
    try:
        found = solve_band(
            chunks, fits, size, sample.seed, chunks.drawn(), large.plan.most, problem.spec.deadline
        )
    except TooLarge as error:
        raise TooLarge(
            f"the rows near their margins do not fit in memory_limit, {in_words(large.plan.limit)}: more "
            f"than {large.plan.most} rows are needed at once. Raise memory_limit, or use a smaller C."
        ) from error
    rest = time.perf_counter() - start - fits.seconds
    numbers = np.concatenate([large.facts.sample.index, chunks.starts[-1] + np.arange(chunks.n_added)])
    alpha = bound * _shares_of_bounds(sample, found, numbers)
    solution = _solution(problem, found, alpha, bound, fits, rest)
    solution.sums = _sums(found, chunks.shares)
    solution.notes = {
        "passes": chunks.passes,
        "band": len(found.band.near),
        "lower": _lower(found, solution, unit_of(bound, sample.y)),
    }
    if found.late:
        solution.notes |= {"estimated": True}
    return solution


def _sums(found: Found, names: list[str]) -> dict[str, RowSums]:
    """Return the sums over all rows by block."""
    figures = found.crossed.figures
    near = found.band.near
    assert figures is not None
    assert near.shares is not None
    alpha = found.answer.alpha[: len(near)]
    far = found.band.far.rows()
    share = np.zeros(2)
    share[(far.y > 0).astype(int)] = found.answer.alpha[len(near) :] / far.bound
    on = (near.shares != 0) & (near.bound > 0)
    active = alpha > NEGLIGIBLE * near.bound
    support = (on & active).sum(axis=1) + figures.far_rows.sum(axis=1)
    price = on @ alpha + figures.far_bound @ share
    return {
        name: RowSums(
            float(figures.loss[k]),
            round(figures.rows[k]),
            round(support[k]),
            float(figures.slack[k]),
            float(price[k]),
        )
        for k, name in enumerate(names)
    }


class _Fits:
    """Solver of the smaller problems.

    Attributes
    ----------
    size : number of rows of a smaller problem.
    seconds, steps : time and steps of all smaller problems so far.
    """

    def __init__(self, problem: Problem, n_rows: int):
        self.problem = problem
        self.weighted = problem.beyond_rows() is None
        most = MOST if self.weighted else MOST_WITH_TERMS
        rows = min(max(int(SHARE * n_rows), LEAST), max(most, int(OF_MANY * n_rows)))
        self.size = max(rows, FOR_FEATURE * problem.sample.X.shape[1])
        self.seconds = 0.0
        self.steps = 0

    def __call__(self, rows: LossRows, final: bool) -> Solution:
        """Return the solution for some rows; not judged unless it is ``final``."""
        merged = distinct(rows)
        solution = self._solved(_smaller(self.problem, rows if merged is None else merged[0]), final)
        if merged is not None:
            fewer, place = merged
            solution.alpha = solution.alpha[place] * rows.bound / fewer.bound[place]
        self.seconds += solution.outcome.solve_seconds
        self.steps += solution.outcome.iterations or 0
        if solution.residuals.worst > HOPELESS:
            self.problem.spec.deadline.check()
        return solution

    def _solved(self, smaller: Problem, final: bool) -> Solution:
        if self.weighted:
            return Normal().solve(smaller, {})
        try:
            if not final:
                return Schur(reference=True).solve(smaller, {"tol": max(LOOSE, smaller.spec.tol)})
            solution = Schur().run(smaller)
            if not solution.outcome.remark:
                return solution
        except SolverFailed:
            pass
        return Conic("CLARABEL").run(smaller)


def _smaller(problem: Problem, rows: LossRows) -> Problem:
    """Return the problem with other rows in the loss; blocks build on the facts of all rows."""
    sample = problem.sample
    cost = rows.bound / problem.spec.C
    loss = replace(
        sample,
        X=rows.X,
        y=rows.y,
        cost=cost,
        margin=rows.margin,
        source=np.full(len(rows), -1),
        n_train=0,
        labels=sample.labels[:0],
        shares={"svm": cost},
        added_labels=None,
    )
    return Problem(
        problem.spec,
        problem.members,
        problem.states,
        problem.training,
        loss,
        problem.maps,
        facts=sample,
        most_points=POINTS,
    )


def _two_rows(sample: Sample, C: float) -> LossRows:
    """Return one row of each class."""
    rows = np.array([np.argmax(sample.counted & (sample.y == sign)) for sign in (-1.0, 1.0)])
    return LossRows(sample.X[rows], sample.y[rows], C * sample.cost[rows], sample.margin[rows])


def _solution(
    problem: Problem, found: Found, alpha: Array, bound: Array, fits: _Fits, rest: float
) -> Solution:
    """Return the solution of the whole problem from the solution on the last band."""
    sample = problem.sample
    answer = found.answer
    outcome = answer.outcome
    f = answer.f
    half = 0.5 * f.norm("l2") ** 2
    value = half + found.crossed.loss + sum(answer.penalties.values())
    size = abs(value) + unit_of(bound, sample.y)
    residuals = replace(outcome.residuals, gap=outcome.residuals.gap + found.crossed.lost / size)
    largest = max(float(np.abs(alpha).max()), 0.0)
    return Solution(
        f,
        alpha,
        alpha > problem.spec.negligible_dual(sample.cost, largest),
        Outcome("CHUNKS", outcome.status, residuals, rest, fits.seconds, fits.steps),
        {**answer.duals, "svm.margin": alpha[sample.counted_rows]},
        answer.penalties,
        value=value,
    )


def _shares_of_bounds(sample: Sample, found: Found, numbers: Array) -> Array:
    """Return the dual variables of margins as shares of their bounds.

    Parameters
    ----------
    sample : Sample
        Some rows or all rows.
    found : Found
        The solution. Far rows have the share of the row that stands for them.
    numbers : array of shape (n,)
        Numbers of the rows of the sample among all rows.
    """
    band = found.band
    near = len(band.near)
    over = sample.margin - sample.y * band.f.value(sample.X) > band.radius
    share = np.zeros(len(sample))
    far = band.far.rows()
    for y, cost, dual in zip(far.y, far.bound, found.answer.alpha[near:], strict=True):
        share[over & (sample.y == y)] = dual / cost
    place = np.searchsorted(band.index, numbers)
    place[place == near] = 0
    inside = np.flatnonzero(band.index[place] == numbers) if near else np.zeros(0, int)
    share[inside] = found.answer.alpha[place[inside]] / band.near.bound[place[inside]]
    return share
