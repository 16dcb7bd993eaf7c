"""Fits by ``solver="auto"`` against CLARABEL on random compositions: ``python -m benchmarks fits``.

Each composition is fitted. CLARABEL then solves the problem of the last round, as CVXPY states it. Its
optimum has to be the objective of the fit. If a fit is infeasible, CLARABEL alone has to find that too.
"""

from __future__ import annotations

import warnings
from collections import Counter
from typing import Any

import cvxpy as cp
from tqdm import tqdm

from priorsvm import PriorSVC
from priorsvm.errors import Infeasible, PriorSVMError

from .compositions import composition
from .measure import SAME

COMPOSITIONS, QUICK = 1000, 12
# Rows at most: routes for large kernel models start at 100 rows.
SMALL, LARGE = 40, 250
SHARP = {"tol_gap_abs": 1e-10, "tol_gap_rel": 1e-10, "tol_feas": 1e-10}


def fits(quick: bool) -> list[dict[str, Any]]:
    """Return a row for every outcome and route, with its count and some of its seeds."""
    found: dict[str, list[int]] = {}
    for seed in tqdm(range(QUICK if quick else COMPOSITIONS), "fits", leave=False):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found.setdefault(outcome(seed), []).append(seed)
    for kind, count in Counter({kind: len(seeds) for kind, seeds in found.items()}).most_common():
        seeds = "" if kind.startswith("equal") else f"  seeds {', '.join(map(str, found[kind][:12]))}"
        print(f"{count:5d}  {kind}{seeds}")
    print()
    return [{"outcome": kind, "count": len(seeds), "seeds": seeds} for kind, seeds in found.items()]


def outcome(seed: int) -> str:
    """Return how the fit of one composition compares with CLARABEL."""
    model, X, y = composition(seed, LARGE if seed % 2 else SMALL)
    model.set_params(max_rounds=20)
    try:
        model.fit(X, y)
    except Infeasible:
        return "equal: infeasible" if _infeasible(model, X, y) else "WRONG: not infeasible"
    except PriorSVMError as error:
        return f"no answer: {type(error).__name__}"
    route = str(model.solver_)
    if model.status_ != "optimal":
        return f"said to be inaccurate, {route}"
    problem = model.problem
    try:
        problem.solve(solver="CLARABEL", **SHARP)
    except cp.SolverError:
        return f"CLARABEL fails, {route}"
    if problem.status != "optimal":
        return f"CLARABEL: {problem.status}, {route}"
    gap = (model.objective_ - problem.value) / (1.0 + abs(problem.value))
    if abs(gap) <= SAME:
        return f"equal, {route}"
    kind = "WRONG: above the optimum" if gap > 0 else "WRONG: below the optimum"
    return f"{kind}, {route}" if abs(gap) > 10 * SAME else f"equal to 1e-5, {route}"


def _infeasible(model: PriorSVC, X: Any, y: Any) -> bool:
    """Return whether CLARABEL alone finds the composition infeasible."""
    try:
        model.set_params(solver="CLARABEL").fit(X, y)
    except Infeasible:
        return True
    except PriorSVMError:
        return False
    return False
