"""SCHUR against CLARABEL on random compositions of all blocks: ``python -m benchmarks campaign``.

Each problem is assembled once and its canonical data given to both, half of them as the last round of a fit
leaves them. SCHUR gets the data twice: as blocks state them, with the values of f apart, which is what a fit
does, and as one sparse problem. Agreement is to 1e-6 in the objective, or on there being no answer; where
Clarabel itself breaks down, SCHUR's own residuals decide. x and z are checked against the definition of
optimal, written out here once more.
"""

from __future__ import annotations

import warnings
from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse
from tqdm import tqdm

from priorsvm.schur.definitions import StructuredProblem, solve_structured
from priorsvm.schur.interface import ConicSolution, solve
from priorsvm.solve.routes.direct import Direct

from .compositions import composition, last_problem, problem
from .measure import SAME, Array

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
    return [
        {"outcome": kind, "count": count, "seeds": [] if kind.startswith("agree") else outcomes[kind]}
        for kind, count in counts.most_common()
    ]


def stated(seed: int) -> StructuredProblem:
    """One composition as blocks state it: of odd seeds the last round of a fit, of even ones the first."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return Direct.of((last_problem if seed % 2 else problem)(*composition(seed))).stated


def outcome(seed: int) -> str:
    """What both say about one composition."""
    apart = stated(seed)
    data = apart.expanded()
    theirs = by_clarabel(*data)
    ours = solve_structured(apart)
    answers = replace(ours, x=ours.x[apart.expanded_columns]), solve(*data)
    found = [compared(answer, theirs, data) for answer in answers]
    return found[0] if found[0] == found[1] else f"{found[0]}; as one sparse problem: {found[1]}"


def compared(ours: ConicSolution, theirs: Any, data: tuple[Any, ...]) -> str:
    """What an answer of SCHUR is worth beside Clarabel's, which has to be one by the same conditions."""
    said = str(theirs.status)
    if said == "Solved" and not optimality(theirs, *data) <= 1e-3:
        said = "Solved, which it is not"
    if ours.status in SOLVED:
        if not optimality(ours, *data) <= SAME:
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
    if ours.status in ("PrimalInfeasible", "DualInfeasible"):
        if ours.status == "PrimalInfeasible" and not proof(ours, *data) <= SAME:
            return "WRONG, a proof that is none"
        if ours.status == said:
            return f"agree: {said}"
        return f"{ours.status}, Clarabel: {said}" if said not in SOLVED else f"WRONG {ours.status}"
    return f"did not converge, Clarabel: {said}"


def by_clarabel(P: Any, q: Any, A: Any, b: Any, dims: Any) -> Any:
    """Clarabel's own answer to the same data."""
    import clarabel

    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-9
    cones = [
        *([clarabel.ZeroConeT(dims.zero)] if dims.zero else []),
        *([clarabel.NonnegativeConeT(dims.nonneg)] if dims.nonneg else []),
        *map(clarabel.SecondOrderConeT, dims.soc),
        *map(clarabel.PSDTriangleConeT, dims.psd),
    ]
    upper = sparse.csc_array(sparse.triu(P))
    return clarabel.DefaultSolver(upper, q, sparse.csc_array(A), b, cones, settings).solve()


def optimality(answer: Any, P: Any, q: Any, A: Any, b: Any, dims: Any) -> float:
    """By how much x and z miss the conditions of optimality of the problem as given, relatively.

    The slope of the Lagrangian, b - Ax and z outside their cones, and their product. Every entry counts
    against the numbers that had to cancel in it, or against 1 where these are smaller.
    """
    x, z = np.asarray(answer.x), np.asarray(answer.z)
    slope, slack = P @ x + q + A.T @ z, b - A @ x
    if not (np.isfinite(slope).all() and np.isfinite(slack).all()):
        return float("inf")
    rows, columns = abs(A) @ np.abs(x) + np.abs(b), abs(A).T @ np.abs(z) + abs(P) @ np.abs(x) + np.abs(q)
    return max(
        float((np.abs(slope) / (1.0 + columns)).max(initial=0.0)),
        outside(slack, 1.0 + rows, dims, equations=True),
        outside(z, 1.0 + np.abs(z), dims),
        abs(float(slack @ z)) / (1.0 + abs(answer.obj_val)),
    )


def proof(answer: ConicSolution, P: Any, q: Any, A: Any, b: Any, dims: Any) -> float:
    """By how much z misses A'z = 0 and b'z < 0 in the dual cones, against what it proves."""
    proves = -float(b @ answer.z)
    if not proves > 0:
        return float("inf")
    z = answer.z / proves
    return max(float(np.abs(A.T @ z).max(initial=0.0)), outside(z, 1.0 + np.abs(z), dims))


def outside(v: Array, size: Array, dims: Any, equations: bool = False) -> float:
    """How far v is outside its cones, in units of size; multipliers of equations may be anything."""
    parts = [np.abs(v[: dims.zero]) / size[: dims.zero]] if equations else []
    row = dims.zero + dims.nonneg
    parts.append(-v[dims.zero : row] / size[dims.zero : row])
    for k in dims.soc:
        here = slice(row, row + k)
        parts.append((np.linalg.norm(v[here][1:]) - v[here][:1]) / size[here].max())
        row += k
    for side in dims.psd:
        k = side * (side + 1) // 2
        here = slice(row, row + k)
        M = np.zeros((side, side))
        M.T[np.tril_indices(side)] = v[here]  # the upper triangle, column by column
        M[np.triu_indices(side, 1)] /= np.sqrt(2.0)
        parts.append(-np.linalg.eigvalsh(M, UPLO="U")[:1] / size[here].max())
        row += k
    return float(max((part.max(initial=0.0) for part in parts), default=0.0))
