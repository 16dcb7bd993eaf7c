"""SCHUR against CLARABEL on random compositions of all blocks: ``python -m benchmarks campaign``.

Each problem is assembled once and its canonical data given to both. Agreement is to 1e-6 in the objective, or
on there being no answer; where Clarabel itself breaks down, SCHUR's own residuals decide.
"""

from __future__ import annotations

import warnings
from collections import Counter
from typing import Any

import numpy as np
from scipy import sparse
from tqdm import tqdm

from priorsvm.solve.schur.cones import batches
from priorsvm.solve.schur.interface import Answer, solve

from .compositions import composition, problem
from .measure import SAME

COMPOSITIONS, QUICK = 2000, 60

# What Clarabel may call an answer.
SOLVED = ("Solved", "AlmostSolved")


def campaign(quick: bool) -> list[dict[str, Any]]:
    """A row for every kind of outcome, with its count and some of its seeds."""
    outcomes: dict[str, list[int]] = {}
    for seed in tqdm(range(QUICK if quick else COMPOSITIONS), "compositions", leave=False):
        outcomes.setdefault(outcome(seed), []).append(seed)
    counts = Counter({kind: len(seeds) for kind, seeds in outcomes.items()})
    total = sum(counts.values())
    for kind, count in counts.most_common():
        seeds = "" if kind.startswith("agree") else f"  seeds {', '.join(map(str, outcomes[kind][:12]))}"
        print(f"{count:5d} of {total}  {kind}{seeds}")
    print()
    return [{"outcome": kind, "count": count, "seeds": outcomes[kind]} for kind, count in counts.items()]


def canonical(seed: int) -> tuple[Any, ...]:
    """P, q, A, b and the cones of one composition."""
    import cvxpy as cp

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        data = problem(*composition(seed)).problem.get_problem_data(cp.CLARABEL)[0]
    n = len(data["c"])
    return data.get("P", sparse.csc_array((n, n))), data["c"], data["A"], data["b"], data["dims"]


def outcome(seed: int) -> str:
    """What both say about one composition."""
    data = canonical(seed)
    ours, theirs = solve(*data), by_clarabel(*data)
    said = str(theirs.status)
    if ours.status in SOLVED:
        if not optimal(ours, *data):
            return "WRONG, an answer called optimal is not"
        if said in SOLVED:
            gap = abs(ours.obj_val - theirs.obj_val) / (1.0 + abs(theirs.obj_val))
            if gap <= SAME:
                return "agree on the optimum"
            if said == "Solved":
                return "WRONG OPTIMUM"
        return (
            f"solved, Clarabel: {said}" if "Infeasible" not in said else f"WRONG OPTIMUM (Clarabel: {said})"
        )
    if ours.status == said:
        return f"agree: {said}"
    if ours.status in ("PrimalInfeasible", "DualInfeasible"):
        return f"{ours.status}, Clarabel: {said}" if said not in SOLVED else f"WRONG {ours.status}"
    return f"did not converge, Clarabel: {said}"


def by_clarabel(P: Any, q: Any, A: Any, b: Any, dims: Any) -> Any:
    """Clarabel's own answer to the same data."""
    import clarabel
    from cvxpy.reductions.solvers.conic_solvers.clarabel_conif import dims_to_solver_cones

    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-9
    upper, cones = sparse.triu(P).tocsc(), dims_to_solver_cones(dims)
    return clarabel.DefaultSolver(upper, q, sparse.csc_array(A), b, cones, settings).solve()


def optimal(answer: Answer, P: Any, q: Any, A: Any, b: Any, dims: Any) -> bool:
    """Whether x and z are feasible and stationary in the problem as given, whatever its status says."""
    x, z = answer.x, answer.z
    slope, slack = P @ x + q + A.T @ z, b - A @ x
    if not (np.isfinite(slope).all() and np.isfinite(slack).all()):
        return False
    cones, order = batches(dims.nonneg, dims.soc, dims.psd)
    outside = max(
        np.abs(slack[: dims.zero]).max(initial=0.0),
        *(-cones.margin(v[dims.zero :][order]) for v in (slack, z)),
    )
    size = 1.0 + max(np.abs(part).max(initial=0.0) for part in (q, P @ x, A.T @ z, b, A @ x, z))
    return bool(
        max(np.abs(slope).max(), outside, abs(slack @ z) / (1.0 + abs(answer.obj_val))) <= 1e-6 * size
    )
