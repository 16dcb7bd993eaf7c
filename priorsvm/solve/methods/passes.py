r"""Passes of stochastic subgradients through many rows, with bounds on the optimum after each pass.

.. math:: J(f) = \tfrac12\|f\|^2
          + \sum_i C_i \max_\theta [\Delta_{i\theta} - s_i^\top f(T_\theta x_i)]_+

Step t moves f by 1/t of the way to :math:`K \sum_{i \in B} a_i s_i k(T_{\theta_i} x_i, \cdot)`. B is one of K
batches and :math:`\theta_i` the worst transformation of row i. The numbers :math:`0 \le a_i \le C_i` are the
dual variables of the batch. After whole passes f is therefore an expansion with feasible dual variables. The
dual objective there is a lower bound on the optimum.

A linear f is a sum of rows. A kernel f is an expansion with at most ``budget`` centres. Centres with the
smallest dual variables are removed. If all transformations require the same, another copy of the same row
takes over the dual variable. Otherwise it is lost. Both leave feasible dual variables, so the bounds stay
valid.

References
----------
Teo, Globerson, Roweis & Smola 2007, Algorithm 2.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..._utils.arrays import Array
from ..._utils.checks import is_whole
from ..._utils.messages import warn
from ...errors import InaccurateSolution, InvalidInput
from ...sample import Sample
from ...spec import Spec

# Rows in a batch and centres of a kernel model, unless solver_options sets other numbers.
BATCH = 100
BUDGET = 5000


class Direction(NamedTuple):
    """The dual variables of a batch, at the worst transformation of each row.

    Attributes
    ----------
    rows : (m,) array, the rows of the sample.
    moves : (m,) array, the transformation of each row, -1 if it is not listed.
    points : (m, d) array, the transformed rows in the units of X.
    signs : (m, q) array, the part of each point in each of q functions, for a dual variable of 1.
    alpha : (m,) array, the dual variables.
    margins : (m,) array, the margin required of each point.
    """

    rows: Array
    moves: Array
    points: Any
    signs: Array
    alpha: Array
    margins: Array


class Primal(NamedTuple):
    """The objective at f, the slack of every row, and the best bias."""

    value: float
    slack: Array
    f: Any
    bias: float


class Passes(NamedTuple):
    """Result of all passes: f, dual variables and slacks of the rows, and one dict per pass."""

    f: Any
    alpha: Array
    slack: Array
    history: list[dict[str, Any]]


class Stream(ABC):
    """The problem of all rows with a cost, evaluated in batches.

    Attributes
    ----------
    n_functions : int
    balanced : bool
        Whether a bias requires that the dual variables of both classes have the same sum.
    interchangeable : bool
        Whether margin and factor on f are the same for all transformations of a row.
    """

    n_functions: int
    balanced: bool
    interchangeable: bool

    def __init__(self, spec: Spec, sample: Sample, batch: int):
        self.spec = spec
        self.sample = sample
        self.active = sample.counted_rows
        self.C = spec.C * sample.cost
        self.count = -(-len(self.active) // batch)

    @abstractmethod
    def linear_function(self, coefficients: Array) -> Any:
        """Return the function of (d, q) coefficients."""

    @abstractmethod
    def expansion(self, centres: Array, weights: Array) -> Any:
        """Return the function of (p, d) centres and (p, q) weights."""

    @abstractmethod
    def direction(self, f: Any, part: Array) -> Direction:
        """Return the dual variables of a batch, multiplied by the number of batches."""

    @abstractmethod
    def loss(self, f: Any) -> tuple[Array, float]:
        """Return the slack of every row at f with the best bias, and this bias."""

    def with_bias(self, f: Any, bias: float) -> Any:
        """Return f with its bias."""
        return f

    @abstractmethod
    def classes(self) -> Array:
        """Return the class of every row with a cost, for batches with the classes in proportion."""

    def batches(self, rng: np.random.Generator) -> list[Array]:
        """Return the rows in shuffled batches, each with the classes in the proportion of all rows."""
        classes = self.classes()
        place = np.empty(len(classes))
        for label in np.unique(classes):
            of_class = np.flatnonzero(classes == label)
            place[of_class] = (rng.permutation(len(of_class)) + rng.random()) / len(of_class)
        return np.array_split(self.active[np.argsort(place, kind="stable")], self.count)

    def primal(self, f: Any, squared: float) -> Primal:
        """Return the objective at f, from its squared norm."""
        slack, bias = self.loss(f)
        return Primal(0.5 * squared + float(self.C @ slack), slack, f, bias)


def run_passes(stream: Stream, options: Mapping[str, Any], passes: int, bar: Any) -> Passes:
    """Run passes through the rows until the bounds meet to ``tol``, at most ``passes`` times."""
    spec = stream.spec
    rng = np.random.default_rng(stream.sample.seed)
    iterate: LinearIterate | KernelIterate = LinearIterate(stream)
    if spec.kernel is not None:
        iterate = KernelIterate(stream, options.get("budget", BUDGET))
    best = stream.primal(iterate.function(), 0.0)
    radius = np.sqrt(2.0 * best.value)
    total = float(stream.C.sum())
    lower = -np.inf
    history: list[dict[str, Any]] = []
    for number in range(1, passes + 1):
        began = time.perf_counter()
        for part in stream.batches(rng):
            if spec.deadline.passed:
                break
            iterate.add(stream.direction(iterate.function(), part))
        iterate.end_pass()
        squared = iterate.function().norm("l2") ** 2
        if squared > radius**2:
            iterate.shorten(radius / np.sqrt(squared))
            squared = radius**2
        found = stream.primal(iterate.function(), squared)
        if found.value < best.value:
            best = found
        lower = max(lower, dual_bound(iterate.linear, squared))
        gap = (best.value - lower) / min(1.0 + best.value, total)
        history.append(
            {
                "round": number,
                "objective": best.value,
                "gap": gap,
                "rows": len(stream.active),
                "solver": "PEGASOS",
                "status": "optimal" if gap <= spec.tol else "optimal_inaccurate",
                "seconds": time.perf_counter() - began,
                "lower": lower,
                "upper": best.value,
                **iterate.facts(),
            }
        )
        bar.update()
        if gap <= spec.tol or spec.deadline.passed:
            break
    return Passes(stream.with_bias(best.f, best.bias), iterate.alpha, best.slack, history)


def dual_bound(linear: float, squared: float) -> float:
    """Return the largest dual objective over multiples from 0 to 1 of the dual variables."""
    share = min(1.0, linear / max(squared, 1e-300))
    return share * linear - 0.5 * share**2 * squared


class LinearIterate:
    """The mean over all steps of a linear f and of its dual variables, stored as sums."""

    def __init__(self, stream: Stream):
        self.stream = stream
        self.total = np.zeros((stream.sample.X.shape[1], stream.n_functions))
        self.sums = np.zeros(len(stream.sample))
        self.margins = 0.0
        self.steps = 0

    def function(self) -> Any:
        """Return f."""
        return self.stream.linear_function(self.total / max(self.steps, 1))

    def add(self, found: Direction) -> None:
        """Add one step."""
        scale = self.stream.spec.scale
        Z = found.points if scale is None else scale.points(found.points)
        self.steps += 1
        self.total = self.total + np.asarray(Z.T @ (found.alpha[:, None] * found.signs))
        self.margins += float(found.alpha @ found.margins)
        self.sums[found.rows] += found.alpha

    def end_pass(self) -> None:
        """Do nothing: a linear f has no centres."""

    def shorten(self, factor: float) -> None:
        """Multiply f by a factor below 1; the dual variables stay feasible."""
        self.total = self.total * factor
        self.margins *= factor
        self.sums = self.sums * factor

    @property
    def linear(self) -> float:
        """The linear term of the dual objective."""
        return self.margins / self.steps

    @property
    def alpha(self) -> Array:
        """The dual variable of every row."""
        return self.sums / self.steps

    def facts(self) -> dict[str, Any]:
        """Return further entries of ``history_``."""
        return {}


@dataclass(frozen=True, eq=False)
class Centres:
    """Centres of an expansion with sums over all steps.

    Attributes
    ----------
    rows : (p,) array, the row of the sample that each centre was made from.
    points : (p, d) array, the centres in the units of X.
    weights : (p, q) array, the sums of the weights in f.
    alpha : (p,) array, the sums of the dual variables.
    margins : (p,) array, the sums of dual variable times margin.
    """

    rows: Array
    points: Array
    weights: Array
    alpha: Array
    margins: Array

    def __len__(self) -> int:
        return len(self.rows)

    def pick(self, which: Array) -> Centres:
        """Return some of the centres."""
        return Centres(*(part[which] for part in vars(self).values()))

    def joined(self, new: Centres) -> Centres:
        """Return these centres and new ones."""
        pairs = zip(vars(self).values(), vars(new).values(), strict=True)
        return Centres(*(np.concatenate(pair) for pair in pairs))

    def times(self, factor: Any) -> Centres:
        """Return the centres with their sums multiplied by a number, or by one number each."""
        factor = np.broadcast_to(factor, len(self))
        weights = self.weights * factor[:, None]
        return Centres(self.rows, self.points, weights, self.alpha * factor, self.margins * factor)


class KernelIterate:
    """The mean over all steps of an expansion and of its dual variables, with a limited number of centres."""

    def __init__(self, stream: Stream, budget: int):
        self.stream = stream
        self.budget = budget
        self.places: dict[Any, int] = {}
        none = np.zeros(0)
        points = np.zeros((0, stream.sample.X.shape[1]))
        self.centres = Centres(np.zeros(0, int), points, np.zeros((0, stream.n_functions)), none, none)
        self.steps = 0

    def function(self) -> Any:
        """Return f."""
        centres = self.centres
        return self.stream.expansion(centres.points, centres.weights / max(self.steps, 1))

    def add(self, found: Direction) -> None:
        """Add one step; centres beyond twice the budget are removed."""
        self.steps += 1
        used = np.flatnonzero(found.alpha > 0)
        if len(used) == 0:
            return
        keys = [_key(found, int(k)) for k in used]
        known = len(self.centres)
        places = np.array([self.places.setdefault(key, len(self.places)) for key in keys])
        new = Centres(
            found.rows[used],
            np.asarray(found.points[used]),
            found.signs[used] * 0.0,
            np.zeros(len(used)),
            np.zeros(len(used)),
        )
        centres = self.centres.joined(new.pick(places >= known))
        alpha = found.alpha[used]
        np.add.at(centres.weights, places, alpha[:, None] * found.signs[used])
        np.add.at(centres.alpha, places, alpha)
        np.add.at(centres.margins, places, alpha * found.margins[used])
        self.centres = centres
        if len(centres) > 2 * self.budget:
            self._prune()

    def end_pass(self) -> None:
        """Remove the centres with the smallest dual variables beyond the budget."""
        if len(self.centres) > self.budget:
            self._prune()

    def _prune(self) -> None:
        order = np.argsort(-self.centres.alpha, kind="stable")
        largest = np.sort(order[: self.budget])
        new_place = np.full(len(self.centres), -1)
        new_place[largest] = np.arange(len(largest))
        self.places = {key: int(new_place[k]) for key, k in self.places.items() if new_place[k] >= 0}
        kept = self.centres.pick(largest)
        if self.stream.interchangeable:
            kept = _taking_over(kept, self.centres.pick(order[self.budget :]))
        self.centres = _balanced(kept) if self.stream.balanced else kept

    def shorten(self, factor: float) -> None:
        """Multiply f by a factor below 1; the dual variables stay feasible."""
        self.centres = self.centres.times(factor)

    @property
    def linear(self) -> float:
        """The linear term of the dual objective."""
        return float(self.centres.margins.sum()) / self.steps

    @property
    def alpha(self) -> Array:
        """The dual variable of every row."""
        sums = np.bincount(self.centres.rows, self.centres.alpha, minlength=len(self.stream.sample))
        return sums / self.steps

    def facts(self) -> dict[str, Any]:
        """Return further entries of ``history_``."""
        return {"centres": len(self.centres)}


def _key(found: Direction, k: int) -> Any:
    """Return what identifies a centre: the row and the transformation."""
    move = int(found.moves[k])
    return int(found.rows[k]), move if move >= 0 else found.points[k].tobytes()


def _taking_over(kept: Centres, removed: Centres) -> Centres:
    """Return the kept centres, with the sums of removed centres added to the largest one of the same row."""
    rising = np.argsort(kept.alpha, kind="stable")
    largest = np.full(max(kept.rows.max(), removed.rows.max()) + 1, -1)
    largest[kept.rows[rising]] = rising
    target = largest[removed.rows]
    removed = removed.pick(target >= 0)
    target = target[target >= 0]
    np.add.at(kept.weights, target, removed.weights)
    np.add.at(kept.alpha, target, removed.alpha)
    np.add.at(kept.margins, target, removed.margins)
    return kept


def _balanced(centres: Centres) -> Centres:
    """Return the centres with the same sum of the dual variables in both classes, which are lowered."""
    positive = centres.weights[:, 0] > 0
    above = float(centres.alpha[positive].sum())
    below = float(centres.alpha[~positive].sum())
    least = min(above, below)
    factor = np.where(positive, least / max(above, 1e-300), least / max(below, 1e-300))
    return centres.times(factor)


def check_pass_options(options: Mapping[str, Any], linear: bool) -> None:
    """Raise InvalidInput if an option of the passes is not known or has a wrong value."""
    unknown = sorted(set(options) - {"batch", "budget"})
    if unknown:
        raise InvalidInput(
            f"method='pegasos' does not accept these solver_options: {', '.join(unknown)}. It accepts: "
            "batch, budget."
        )
    if linear and "budget" in options:
        raise InvalidInput(
            "budget limits the centres of a kernel model, and this model is linear. Leave it out."
        )
    for name, default in (("batch", BATCH), ("budget", BUDGET)):
        value = options.get(name, default)
        if not is_whole(value) or value < 2:
            raise InvalidInput(f"{name} must be a whole number of at least 2, got {value!r}.")


def warn_of_gap(name: str, last: dict[str, Any], passes: int, spec: Spec, options: Mapping[str, Any]) -> None:
    """Warn if the bounds after the last pass are further apart than ``tol``."""
    if last["gap"] <= spec.tol:
        return
    full = last.get("centres", 0) >= options.get("budget", BUDGET)
    more = "budget, max_rounds" if full else "max_rounds"
    warn(
        f"block '{name}': the objective is within {last['gap']:.1e} of the optimum after {last['round']} of "
        f"max_rounds={passes} passes, and tol={spec.tol:g}. Raise {more} or tol, or use method='columns', "
        "which is exact.",
        InaccurateSolution,
    )
