r"""The route PEGASOS: stochastic subgradients for a loss over orbits, on linear models of many rows.

.. math:: J(w) = \tfrac12\|w\|^2
          + \min_b \sum_i C_i \max_\theta [\Delta(\theta)\,\rho_i - y_i (w^\top T_\theta x_i + b)]_+

Step t moves w by 1/t of the way to :math:`K \sum_{i \in B} a_i y_i T_{\theta_i} x_i`. B is one of K batches
and :math:`\theta_i` the worst transformation of row i. The numbers :math:`0 \le a_i \le C_i` with
:math:`\sum a_i y_i = 0` are the dual variables of the batch at its own best b. After whole passes w is
therefore :math:`\sum \alpha_i y_i T x_i` with feasible dual variables. The dual objective there is a lower
bound on the optimum.

References
----------
Teo, Globerson, Roweis & Smola 2007, Algorithm 2.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..._utils.arrays import Array, stack
from ..._utils.checks import is_whole
from ..._utils.messages import warn
from ..._utils.progress import progress
from ...errors import InaccurateSolution, InvalidInput
from ...function.fitted import Fitted
from ...function.maps import LinearMap
from ...knowledge.traits import Iterative
from ...knowledge.worst_case.orbit_loss import OrbitLoss, orbit_losses
from ...prior import Member
from ...problem.residuals import Residuals
from ...sample import Sample
from ...spec import Spec
from ..route import Problem, Route
from ..solution import Outcome, Solution

# Rows in a batch, unless solver_options sets another number.
BATCH = 100


class Pegasos(Route):
    """Route of linear models with a loss over orbits and very many rows, which the block selects."""

    name = "PEGASOS"
    kind = "InvariantLoss"
    factor = np.inf  # the gap is reported instead
    takes = ("batch",)
    note = "selected by method='pegasos', for very many rows; accurate to about 1 %"
    selectable = False

    def required_by(self, problem: Problem) -> list[Member]:
        return [member for member in orbit_losses(problem.members) if member.block.streamed]

    def obstacle(self, problem: Problem) -> str | None:
        name = self.required_by(problem)[0].name
        for other in problem.live:
            if other.name != name and (not other.block.only_rows or isinstance(other.block, Iterative)):
                return (
                    f"block '{name}': method='pegasos' requires that all other blocks only add or reweight "
                    f"rows, and '{other.name}' does more. Use method='columns'."
                )
        return None

    def require_suited(self, problem: Problem) -> None:
        reason = self.obstacle(problem)
        if reason is not None:
            raise InvalidInput(reason)

    def check_options(self, options: Mapping[str, Any]) -> None:
        _batch_size(options)

    def solve(self, problem: Problem, options: dict[str, Any]) -> Solution:
        [(name, block, _)] = self.required_by(problem)
        spec = problem.spec
        sample = problem.sample
        passes = problem.max_rounds
        start = time.perf_counter()
        with progress(problem.verbose, desc="passes") as bar:
            found = solve(spec, block, sample, options, passes, bar)
        last = found.history[-1]
        if last["gap"] > spec.tol:
            warn(
                f"block '{name}': the objective is within {last['gap']:.1e} of the optimum after "
                f"{last['round']} of max_rounds={passes} passes, and tol={spec.tol:g}. Raise max_rounds or "
                "tol, or use method='columns', which is exact.",
                InaccurateSolution,
            )
        alpha = found.alpha
        residuals = Residuals(0.0, 0.0, 0.0, last["gap"])
        return Solution(
            found.f,
            alpha,
            alpha > spec.negligible_dual(sample.cost, float(alpha.max(initial=0.0))),
            Outcome(self.name, last["status"], residuals, 0.0, time.perf_counter() - start),
            {f"{name}.worst": alpha[sample.counted_training]},
            slack=found.slack,
            history=found.history,
        )

    def judge(self, problem: Problem, solution: Solution, options: dict[str, Any], final: bool) -> None:
        """Keep the status of the last pass."""


class Passes(NamedTuple):
    """Result of all passes: f, dual variables and slacks of the rows, and one dict per pass."""

    f: Fitted
    alpha: Array
    slack: Array
    history: list[dict[str, Any]]


def solve(
    spec: Spec, block: OrbitLoss, sample: Sample, options: dict[str, Any], passes: int, bar: Any
) -> Passes:
    """Run passes through the rows until the bounds meet to ``spec.tol``, at most ``passes`` times."""
    problem = _Streamed(spec, block, sample, _batch_size(options))
    rng = np.random.default_rng(sample.seed)
    iterate = _Iterate(np.zeros(sample.X.shape[1]), np.zeros(len(sample)))
    best = problem.primal(iterate.total)
    radius = np.sqrt(2.0 * best.value)
    lower = -np.inf
    history: list[dict[str, Any]] = []
    for number in range(1, passes + 1):
        began = time.perf_counter()
        for part in problem.batches(rng):
            iterate.add(*problem.subgradient(iterate.w, part))
        iterate.shorten(radius)
        found = problem.primal(iterate.w)
        if found.value < best.value:
            best = found
        lower = max(lower, iterate.dual_bound())
        gap = (best.value - lower) / min(1.0 + best.value, float(problem.C.sum()))
        history.append(
            {
                "round": number,
                "objective": best.value,
                "gap": gap,
                "rows": len(problem.active),
                "solver": "PEGASOS",
                "status": "optimal" if gap <= spec.tol else "optimal_inaccurate",
                "seconds": time.perf_counter() - began,
                "lower": lower,
                "upper": best.value,
            }
        )
        bar.update()
        if gap <= spec.tol:
            break
    f = problem.features.fitted(best.w, best.b)
    return Passes(f, iterate.alpha / iterate.steps, best.slack, history)


@dataclass(frozen=True, eq=False)
class _Primal:
    """The objective at w with the best bias."""

    value: float
    slack: Array
    w: Array
    b: float


class _Streamed:
    """The problem of all rows with a cost, evaluated in batches."""

    def __init__(self, spec: Spec, block: OrbitLoss, sample: Sample, batch: int):
        self.block = block
        self.sample = sample
        self.features = LinearMap(sample.X.shape[1], spec.scale)
        self.active = sample.counted_rows
        self.C = spec.C * sample.cost
        self.count = -(-len(self.active) // batch)

    def worst(self, w: Array, rows: Array) -> tuple[Array, Any, Array]:
        """Return the rows, training rows first, their worst copies in the model's units, and the margins."""
        sample = self.sample
        train = rows[rows < sample.n_train]
        rest = rows[rows >= sample.n_train]
        f = self.features.fitted(w, 0.0)  # the bias has no effect on which copy is worst
        margins, points = self.block.worst_copies(
            f, sample.X[train], sample.y[train], sample.margin[train], sample.labels[train]
        )
        if len(rest):
            points = stack(points, sample.X[rest])
            margins = np.concatenate([margins, sample.margin[rest]])
        return np.concatenate([train, rest]), self.features.rows(points), margins

    def primal(self, w: Array) -> _Primal:
        """Return the objective at w, with the slack of every row and the best bias."""
        y = self.sample.y
        C = self.C
        required = np.zeros(len(self.sample))
        for part in np.array_split(self.active, self.count):
            rows, Z, margins = self.worst(w, part)
            required[rows] = margins - y[rows] * (Z @ w)
        b, _ = best_bias(required[self.active], y[self.active], C[self.active])
        slack = np.where(C > 0, np.maximum(required - y * b, 0.0), 0.0)
        return _Primal(0.5 * float(w @ w) + float(C @ slack), slack, w.copy(), b)

    def subgradient(self, w: Array, part: Array) -> tuple[Array, Array, Array, float]:
        """Return the rows of a batch, their dual variables, the weighted sum of copies, the linear term."""
        y = self.sample.y
        rows, Z, margins = self.worst(w, part)
        _, a = best_bias(margins - y[rows] * (Z @ w), y[rows], self.count * self.C[rows])
        return rows, a, np.asarray((a * y[rows]) @ Z), float(a @ margins)

    def batches(self, rng: np.random.Generator) -> list[Array]:
        """Return the rows in shuffled batches, each with the classes in the proportion of all rows."""
        rows = self.active
        y = self.sample.y[rows]
        place = np.empty(len(rows))
        for sign in (-1.0, 1.0):
            of_class = np.flatnonzero(y == sign)
            place[of_class] = (rng.permutation(len(of_class)) + rng.random()) / max(len(of_class), 1)
        return np.array_split(rows[np.argsort(place, kind="stable")], self.count)


@dataclass(eq=False)
class _Iterate:
    """The mean over all steps of w and of the dual variables, stored as sums."""

    total: Array
    alpha: Array
    linear: float = 0.0
    steps: int = 0

    @property
    def w(self) -> Array:
        return np.asarray(self.total / max(self.steps, 1))

    def add(self, rows: Array, a: Array, direction: Array, linear: float) -> None:
        """Add one step."""
        self.steps += 1
        self.total += direction
        self.linear += linear
        self.alpha[rows] += a

    def shorten(self, radius: float) -> None:
        """Scale w to at most this length, which bounds the optimum; the dual variables stay feasible."""
        length = float(np.linalg.norm(self.total)) / self.steps
        if length > radius:
            factor = radius / length
            self.total = self.total * factor
            self.linear = self.linear * factor
            self.alpha = self.alpha * factor

    def dual_bound(self) -> float:
        """Return the largest dual objective over multiples from 0 to 1 of the dual variables."""
        w = self.w
        squared = float(w @ w)
        linear = self.linear / self.steps
        share = min(1.0, linear / max(squared, 1e-300))
        return share * linear - 0.5 * share**2 * squared


def best_bias(required: Array, y: Array, C: Array) -> tuple[float, Array]:
    r"""Return the b of least :math:`\sum_i C_i [r_i - y_i b]_+`, and the dual variables there.

    The slope of the sum starts at minus the cost of class +1 and grows by C at each :math:`b = y_i r_i`.
    Where it changes sign, the rows with their kink there take the rest of the balance.
    """
    kinks = y * required
    order = np.argsort(kinks, kind="stable")
    slope = np.cumsum(C[order]) - C[y > 0].sum()
    b = float(kinks[order[min(int(np.searchsorted(slope, 0.0)), len(order) - 1)]])
    a = np.where((required > y * b) & (kinks != b), C, 0.0)
    left = -float(y @ a)
    there = np.flatnonzero((kinks == b) & (y * left > 0))
    before = np.cumsum(C[there]) - C[there]
    a[there] = np.clip(abs(left) - before, 0.0, C[there])
    return b, a


def _batch_size(options: Mapping[str, Any]) -> int:
    batch = options.get("batch", BATCH)
    unknown = sorted(set(options) - {"batch"})
    if unknown:
        raise InvalidInput(
            f"method='pegasos' does not accept these solver_options: {', '.join(unknown)}. It accepts: batch."
        )
    if not is_whole(batch) or batch < 2:
        raise InvalidInput(f"batch must be a whole number of at least 2, got {batch!r}.")
    return int(batch)
