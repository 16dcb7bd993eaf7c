r"""Whether a fitted f satisfies a requirement: in closed form, proven by cells, or at sampled points."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ..._utils.arrays import Array
from ..._utils.progress import progress
from ..views import Solved, Verdict
from .exact import least_value
from .minimum import has_bound, proven_minimum
from .requirement import CHECK, CUT, STARTS, Requirement

# Points at which f is evaluated, besides the points of the problem and the lowest points found.
SAMPLED = 4096


def verdict_on(
    f: Any,
    requirement: Requirement,
    known: Array,
    asked: str,
    tol: float,
    max_dimension: int,
    view: Solved,
) -> Verdict:
    """Return the verdict on one requirement.

    Parameters
    ----------
    f : fitted decision function
    requirement : Requirement
    known : array of shape (n, d)
        Points of the problem.
    asked : str
        The requirement in words.
    tol : float
        Accepted violation on a kernel model.
    max_dimension : int
        Largest number of columns of a proof.
    view : Solved
        Its ``tol`` is the accepted violation in closed form, its ``max_cells`` the limit of a proof.
    """
    if f.linear and requirement.exact_on_linear:
        least, where = least_value(f, requirement)
        excess = least - requirement.h
        violated = bool(excess < -view.tol)
        return Verdict(not violated, excess, where, True, 1, asked, int(violated))
    if not requirement.region.bounded:
        return Verdict.at_points(requirement.excess(f, known), known, asked, tol, False)
    drawn = requirement.region.points(SAMPLED, 1)
    points = np.vstack([known, drawn, requirement.lowest(f, known, 1, 4 * STARTS)])
    sampled = Verdict.at_points(requirement.excess(f, points), points, asked, tol, False)
    if not has_bound(requirement, f, max_dimension):
        if not sampled.holds:
            return sampled
        # The second search is the search of the warning NotKept.
        seeds = (1, view.sample.seed + CHECK)
        strict = np.vstack([requirement.lowest_strictly(f, known, seed) for seed in seeds])
        strict = np.vstack([strict, requirement.lowest_from(f, view.sample.weighted_rows()[0])])
        found = Verdict.at_points(requirement.excess(f, strict), strict, asked, tol, False)
        return sampled if found.holds else replace(found, checked=sampled.checked + found.checked)
    limit = view.max_cells
    with progress(view.verbose, total=limit, desc=f"cells of '{view.name}'") as bar:
        proof = proven_minimum(f, requirement, points, limit, bar.update)
    if proof.low >= -tol:
        return Verdict(True, proof.low, proof.where, True, proof.cells, asked)
    if proof.high - proof.low > 2 * CUT:  # max_cells was reached before the bounds met
        return sampled
    return replace(sampled, holds=False, worst=proof.high, where=proof.where, proven=True)
