r"""What all blocks about regions share: everywhere on a set of points, f obeys a bound."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import block_diag
from sklearn.exceptions import ConvergenceWarning

from ..cover import Cover, Minimum, interpolation_error, minimum
from ..decision import FittedLinear
from ..errors import CollapsedModel, CoverTooCoarse, InvalidInput, MissingCapability
from ..sample import Array, Sample
from ..sets import BoxSet, EllipsoidSet, LevelSet, PolyhedronSet, Set
from .base import Context, Knowledge, Terms, Verdict, check_flag, check_nonnegative, check_points
from .within import column_name

# The search for the worst point: local descent from the lowest of many candidates.
CANDIDATES, STARTS = 256, 16
# Cuts stop at a violation of this size, or at the tolerance of the fit if that is larger.
CUT = 1e-4
# The first cover: how far f may fall between corners, per norm. For an RBF it means sqrt(2 gamma) r <= 0.25.
FINE = 0.054
# The cover is refined until the objective is this near to the cuts' lower bound.
NEAR = 0.02
# Corners stand in the problem already where the bound is this near to the demand: it saves rounds.
SPARE = 0.05


@dataclass(frozen=True, eq=False)
class Demand:
    r""":math:`s\,Lf(x) \ge h(x)` for all x of a set; Lf is f, or its slope along a direction.

    Attributes
    ----------
    region : the set.
    sign : +1 or -1.
    h : a number, or a function of (n, d) points.
    direction : None for the value of f, else the vector along which the slope is taken.
    """

    region: Set
    sign: float
    h: Any = 1.0
    direction: Array | None = None

    def along(self, Z: Array) -> Array | None:
        """The direction, once for every row."""
        return None if self.direction is None else np.broadcast_to(self.direction, Z.shape)

    def expression(self, f: Any, Z: Array) -> Any:
        """s Lf(Z), in the problem."""
        return self.sign * (f(Z) if self.direction is None else f.slope(Z, self.along(Z)))

    def value(self, f: Any, Z: Array) -> Array:
        """s Lf(Z), solved."""
        return self.sign * (f.value(Z) if self.direction is None else f.slope(Z, self.along(Z)))

    def asked(self, Z: Array) -> Array:
        """h(Z)."""
        return np.broadcast_to(self.h(Z) if callable(self.h) else self.h, (len(Z),))

    def excess(self, f: Any, Z: Array) -> Array:
        """By how much the demand is exceeded at each row; negative where it is violated."""
        return self.value(f, Z) - self.asked(Z)

    def worst(self, f: Any, known: Array, seed: int, starts: int = STARTS) -> Array:
        """Low points of the excess: where descent ends from the lowest of many, and these themselves."""
        candidates = np.vstack([self.region.points(CANDIDATES * starts // STARTS, seed), known])
        if len(candidates) == 0:
            return candidates
        # Apart from each other, or all would start in the same basin.
        order = candidates[np.argsort(self.excess(f, candidates))]
        spread = distinct(order, known[:0], self.region, apart=0.1, limit=2 * starts)
        return np.vstack(
            [self.region.minima(lambda Z: self.excess(f, Z), self._gradient(f), spread[:starts]), spread]
        )

    def _gradient(self, f: Any) -> Callable[[Array], Array]:
        """Of the excess at rows of points; by differences where f or h has no derivative."""
        kernel = getattr(f, "kernel", None)
        capable = kernel is None or (kernel.has_slope if self.direction is None else kernel.has_curve)
        if callable(self.h) or not capable:
            step = 1e-6 * _size(self.region)

            def differences(Z: Array) -> Array:
                moved = np.concatenate([Z[:, None] + np.diag(step), Z[:, None] - np.diag(step)])
                up, down = self.excess(f, moved.reshape(-1, Z.shape[1])).reshape(2, len(Z), -1)
                return (up - down) / (2 * step)

            return differences

        def gradient(Z: Array) -> Array:
            rows, axes = np.repeat(Z, Z.shape[1], axis=0), np.tile(np.eye(Z.shape[1]), (len(Z), 1))
            slopes = f.slope(rows, axes) if self.direction is None else f.curve(rows, axes, self.along(rows))
            return self.sign * slopes.reshape(Z.shape)

        return gradient

    @property
    def exact_on_linear(self) -> bool:
        """Whether a linear f can be held to it by finitely many constraints."""
        return self.region.exact and not callable(self.h)


@dataclass(frozen=True, eq=False)
class Search:
    """What a block knows of where its demands bind.

    Attributes
    ----------
    demands : one for each region.
    points : for each demand, points at which it stands in the problem.
    covers : for each demand, a cover of its region, once that has begun.
    chosen : for each demand, which corners of the cover stand in the problem.
    lift : for each demand, by how much more than h is asked at the points.
    bound : the objective that the points alone have reached: a lower bound.
    length : the norm of f at that time.
    """

    demands: list[Demand]
    points: list[Array]
    covers: list[Cover] | None = None
    chosen: list[Array] | None = None
    lift: tuple[float, ...] | None = None
    bound: float = float("nan")
    length: float = float("nan")


class RegionKnowledge(Knowledge):
    r"""For every region :math:`R_l` of the block, :math:`s_l f(x) \ge 1 - \zeta_l` for all :math:`x \in R_l`.

    Subclasses say which regions (``demands``); this class says what that means for f:

    * a linear machine, exactly: the least value of a linear function over a box, a polyhedron (by duality)
      or an ellipsoid (a second-order cone) is written into the problem;
    * a kernel machine, by ``method``: ``"cuts"`` searches for the worst points and adds them until none is
      left, ``"points"`` asks it of fixed points, ``"guaranteed"`` of every point, by cells that cover the
      region and a bound on how far f can fall within each.

    :math:`J_{PK} = \mu \sum_l \zeta_l`, or hard: :math:`\zeta = 0`.
    """

    methods: ClassVar[tuple[str, ...]] = ("auto", "cuts", "points", "guaranteed")
    max_dimension: ClassVar[int] = 4
    latex: ClassVar[dict[str, str]] = {
        "mu": r"\sum_l \zeta_l",
        "box": r"s_l (w^\top c_l + b) - r_l^\top v \ge 1 - \zeta_l",
        "size": r"-v \le w \le v",
        "open": r"s_l w_j \ge 0 \text{ or } \le 0 \text{ where } x_j \text{ is unbounded}",
        "dual": r"B_l^\top u_l + s_l w = 0,\; u_l \ge 0",
        "value": r"d_l^\top u_l - s_l b + 1 \le \zeta_l",
        "cone": r"s_l f(c_l) - 1 + \zeta_l \ge \|A_l^\top w\|",
        "points": r"s_l f(x_p) \ge 1 - \zeta_l",
        "corners": r"s_l f(v_p) - \eta_p \|g\|_H \ge 1 - \zeta_l",
    }

    mu: float
    hard: bool
    method: str
    points: Any
    max_cells: int

    def demands(self, sample: Sample) -> list[Demand]:
        """What is asked of f, in the user's units."""
        raise NotImplementedError(f"{type(self).__name__} has to define demands(sample).")

    def validate(self, sample: Sample) -> None:
        check_nonnegative(mu=self.mu)
        check_flag(hard=self.hard)
        if self.method not in self.methods:
            allowed = ", ".join(map(repr, self.methods))
            raise InvalidInput(f"method must be one of {allowed}, got {self.method!r}.")
        for name, least in (("max_cells", 1), ("points", 1)):
            value = getattr(self, name)
            whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
            if (whole and value < least) or (name == "max_cells" and not whole):
                raise InvalidInput(f"{name} must be a whole number of at least {least}, got {value!r}.")
        if isinstance(self.points, bool):
            raise InvalidInput(f"points must be a number, 'grid' or an array of points, got {self.points!r}.")
        self._given_points(sample)
        demands = self.demands(sample)
        if sample.machine is not None and not self._is_exact(sample.machine.kernel is None, demands):
            self._validate_search(demands, sample, sample.machine.kernel)

    def _validate_search(self, demands: list[Demand], sample: Sample, kernel: Any) -> None:
        """Find what makes a search for the worst points, or a cover, impossible."""
        for demand in demands:
            if not demand.region.bounded and self.method != "kernelised":
                raise InvalidInput(self._unbounded(demand.region, sample))
            if self.method == "guaranteed":
                self._require_coverable(demand, kernel)
            if demand.direction is not None and kernel is not None:
                kernel._require("slope")

    @property
    def _method(self) -> str:
        """What "auto" stands for."""
        return "cuts" if self.method == "auto" else self.method

    def _is_exact(self, linear: bool, demands: list[Demand]) -> bool:
        return linear and all(demand.exact_on_linear for demand in demands)

    def _unbounded(self, region: Set, sample: Sample) -> str:
        low, high = region.box
        j = int(np.flatnonzero(~(np.isfinite(low) & np.isfinite(high)))[0])
        column = j if sample.feature_names is None else sample.feature_names.tolist()[j]
        X = sample.X_train[:, j]
        return (
            f"the region is unbounded in column {column!r} (from {low[j]:g} to {high[j]:g}), and a kernel "
            "machine cannot be searched without end. The training rows range from "
            f"{np.nanmin(X):g} to {np.nanmax(X):g}: "
            f"give within={{{column!r}: (low, high)}}" + (" or within='data'." if self._open(sample) else ".")
        )

    def _open(self, sample: Sample) -> bool:
        return getattr(self, "within", "data") is None

    def _require_coverable(self, demand: Demand, kernel: Any) -> None:
        d = len(demand.region.box[0])
        if isinstance(demand.region, LevelSet) or callable(demand.h):
            raise InvalidInput(
                "method='guaranteed' has nothing that bounds a function between points: state the region as "
                "a Polyhedron, Box or Ellipsoid with a number for h, or use method='cuts'."
            )
        if d > self.max_dimension:
            raise InvalidInput(
                "method='guaranteed' covers the region with cells, which is practical to "
                f"{self.max_dimension} dimensions, and there are {d}. Use method='cuts'."
            )
        if kernel is None or not kernel.has_derivative_bound:
            raise MissingCapability(
                f"method='guaranteed' needs a bound on how {kernel!r} changes, which is known for RBF, "
                "for Polynomial and Linear, and for their sums. Use method='cuts'."
            )

    # ------------------------------------------------------------------ the first state

    def start(self, sample: Sample) -> Search:
        """The demands, and points of every region that has bounds: all there will be, or the first cuts."""
        demands = self.demands(sample)
        if sample.machine is not None and self._is_exact(sample.machine.kernel is None, demands):
            return Search(demands, [np.empty((0, sample.X.shape[1])) for _ in demands])
        given = self._given_points(sample)
        return Search(demands, [self._first_points(demand, given, sample) for demand in demands])

    def _first_points(self, demand: Demand, given: Array | None, sample: Sample) -> Array:
        if given is not None:
            inside = given[demand.region.contains(given)]
            if len(inside) == 0 and self._method == "points":
                raise InvalidInput("none of the points given lies in the region.")
            if len(inside):
                return inside
        if not demand.region.bounded:
            return np.empty((0, sample.X.shape[1]))
        if self._method != "points":
            return demand.region.points(4, sample.seed)[:16]
        if isinstance(self.points, str):
            return demand.region.grid(256)
        return demand.region.points(256 if self.points is None else int(self.points), sample.seed)

    def _given_points(self, sample: Sample) -> Array | None:
        """The user's own points; None if they are to be drawn."""
        if self.points is None or isinstance(self.points, (int, np.integer)):
            return None
        if isinstance(self.points, str):
            if self.points == "grid":
                return None
            raise InvalidInput(f"points must be a number, 'grid' or an array of points, got {self.points!r}.")
        return check_points("points", self.points, sample)

    def centres(self, sample: Sample, state: Search) -> Array:
        corners = [cover.corners[k] for cover, k in _covers(state)]
        return np.vstack([np.empty((0, sample.X.shape[1])), *state.points, *corners])

    # ------------------------------------------------------------------ the problem

    def build(self, f: Any, context: Context) -> Terms:
        import cvxpy as cp

        state: Search = context.state
        if not state.demands:
            return Terms()
        zeta: Any = (
            np.zeros(len(state.demands))
            if self.hard
            else cp.Variable(len(state.demands), nonneg=True, name="zeta")
        )
        if self._is_exact("coef" in f.has, state.demands):
            constraints = exactly(f, state.demands, zeta)
        else:
            constraints = {"points": _at_points(f, state, zeta)}
            if any(chosen.any() for _, chosen in _covers(state)):
                constraints["corners"] = _at_corners(f, state, zeta)
        return Terms({} if self.hard else {"mu": cp.sum(zeta)}, constraints)

    # ------------------------------------------------------------------ refinement

    def refine(self, f: Any, context: Context) -> Search | None:
        state: Search = context.state
        exact = self._is_exact(isinstance(f, FittedLinear), state.demands)
        if exact or self._method in ("points", "kernelised"):
            _warn_if_constant(f, context)
            return None
        if state.covers is None:
            cuts = self._more_cuts(f, state, context)
            if cuts is None and self._method == "cuts":
                _warn_if_constant(f, context)
            return cuts
        return self._finer_cover(f, state, context)

    def settle(self, f: Any, context: Context) -> Search | None:
        """From the cuts, whose objective is a lower bound, to a cover."""
        state: Search = context.state
        if isinstance(f, FittedLinear) or self.method != "guaranteed" or state.covers is not None:
            return None
        bound = context.objective if state.lift is None else state.bound
        return self._first_cover(f, replace(state, bound=bound, length=f.length))

    def _more_cuts(self, f: Any, state: Search, context: Context) -> Search | None:
        """The worst points of every region as points of the problem; None if there are none."""
        tol, seed = max(context.tol, CUT), context.sample.seed
        rests = context.objective - state.bound <= 1e-3 * abs(context.objective)  # not at first: NaN
        # What a first look does not find, a closer one may.
        for effort in (4,) if rests or state.lift else (1, 4):
            grown, worst, added = [], [], 0
            for demand, known in zip(state.demands, state.points, strict=True):
                at_known = demand.excess(f, known)
                zeta = self._zeta(at_known)
                found = demand.worst(f, known, seed + len(known), effort * STARTS)
                if effort > 1 and len(_size(demand.region)) < 4 and self._coverable(demand, f):
                    found = np.vstack([found, _proven_minimum(f, demand, found).where])
                excess = demand.excess(f, found) + zeta
                new = distinct(found[excess < -tol], known, demand.region)
                added += len(new)
                # Points far from binding have no multiplier: without them the optimum is the same.
                grown.append(np.vstack([known[at_known + zeta < 0.3] if len(new) else known, new]))
                worst.append(max(0.0, -float(excess.min(initial=0.0))))
            if max(worst) > tol:
                lifted = self._lifted(state, worst, context.objective, rests)
                return replace(lifted, points=grown) if added or lifted.lift != state.lift else None
        return None

    def _lifted(self, state: Search, worst: list[float], objective: float, rests: bool) -> Search:
        """Ask for a little more at the points, once more of them gain nothing.

        Where f keeps to a demand along a whole face of its region, it sags between any points. When the
        objective has come to rest, asking at the points for what is missing between them ends the search,
        at a price in proportion to it.
        """
        if state.lift is None:
            state = replace(state, bound=objective)
            if not (rests and self.hard and max(worst) <= 3e-3):
                return state
        before = state.lift or (0.0,) * len(worst)
        return replace(state, lift=tuple(b + 1.1 * w for b, w in zip(before, worst, strict=True)))

    def _coverable(self, demand: Demand, f: Any) -> bool:
        """Whether the least value over the region can be proven."""
        try:
            self._require_coverable(demand, getattr(f, "kernel", None))
        except (InvalidInput, MissingCapability):
            return False
        return True

    def _zeta(self, excess: Array) -> float:
        """The violation that is paid for."""
        return 0.0 if self.hard else max(0.0, -float(excess.min(initial=0.0)))

    def _first_cover(self, f: Any, state: Search) -> Search:
        limit = max(1, self.max_cells // len(state.demands))
        covers = []
        for demand in state.demands:
            error = partial(interpolation_error, kernel=f.kernel, scale=f.scale, direction=demand.direction)
            fine = FINE * self._length(f, demand)
            covers.append(Cover.of(demand.region, _unit(f, demand), error, fine, limit))
        chosen = [self._bind(f, demand, cover) for demand, cover in zip(state.demands, covers, strict=True)]
        return replace(state, covers=covers, chosen=chosen, lift=None)

    @staticmethod
    def _length(f: Any, demand: Demand) -> float:
        """Of the functional that the demand is about, in feature space: what an error is small against."""
        middle = f._to_inner(np.mean(demand.region.box, axis=0)[None])
        if demand.direction is None:
            return float(np.sqrt(f.kernel.diag(middle)[0]))
        return float(f.kernel.derivative_bound(1, [0.0])[0] * np.linalg.norm(f._directions(demand.direction)))

    def _bind(self, f: Any, demand: Demand, cover: Cover) -> Array:
        """The corners at which the bound on f falls short of the demand, or will soon."""
        excess = _excess(f, demand, cover)
        return excess < SPARE + 0.5 * f.length * cover.drop - self._zeta(excess)

    def _finer_cover(self, f: Any, state: Search, context: Context) -> Search | None:
        pairs = [(demand, cover, k) for demand, (cover, k) in zip(state.demands, _covers(state), strict=True)]
        excess = [_excess(f, demand, cover) for demand, cover, _ in pairs]
        excess = [e + self._zeta(e[k]) for e, (_, _, k) in zip(excess, pairs, strict=True)]
        if any((e[~k] < -1e-7).any() for e, (_, _, k) in zip(excess, pairs, strict=True)):
            return replace(
                state, chosen=[k | (e < SPARE) for e, (_, _, k) in zip(excess, pairs, strict=True)]
            )
        gap = (context.objective - state.bound) / max(abs(state.bound), 1e-12)
        room = self.max_cells - sum(len(cover) for _, cover, _ in pairs)
        collapsed = f.length < 0.5 * state.length  # a constant f may be near in price, and is no answer
        if (gap > NEAR or collapsed) and room > 0:
            # Where the bound has less to spare than cells half as wide would gain, it will bind soon.
            covers = [
                cover.refined(
                    e - 0.25 * f.length * cover.drop, demand.region, len(cover) + room // len(pairs)
                )
                for e, (demand, cover, _) in zip(excess, pairs, strict=True)
            ]
            if any(len(new) > len(old) for new, (_, old, _) in zip(covers, pairs, strict=True)):
                chosen = [
                    self._bind(f, demand, new) for new, (demand, _, _) in zip(covers, pairs, strict=True)
                ]
                return replace(state, covers=covers, chosen=chosen)
        if not _warn_if_constant(f, context) and gap > NEAR:
            warnings.warn(
                f"block '{context.name}': with max_cells={self.max_cells} the guarantee costs {gap:.0%} over "
                "the cuts' lower bound on the objective. It holds; a higher max_cells makes it cheaper.",
                ConvergenceWarning,
                stacklevel=2,
            )
        return None

    def relax(self, state: Search, sample: Sample) -> Search | None:
        """A finer cover, after one on which no f exists."""
        if not isinstance(state, Search) or state.covers is None:
            return None
        cells = sum(map(len, state.covers))
        if 2 ** sample.X.shape[1] * cells > self.max_cells:
            raise CoverTooCoarse(
                f"no decision function keeps to {cells} cells that cover the region, and "
                f"max_cells={self.max_cells} allows no finer ones. This is no conflict of the knowledge: "
                "raise max_cells, shrink the region, use method='cuts', or hard=False."
            )
        covers = [
            cover.refined(np.full(len(cover.corners), -1.0), demand.region, self.max_cells)
            for demand, cover in zip(state.demands, state.covers, strict=True)
        ]
        return replace(state, covers=covers, chosen=[np.ones(len(c.corners), bool) for c in covers])

    # ------------------------------------------------------------------ afterwards

    def verify(self, f: Any, context: Context) -> Verdict:
        state: Search = context.state
        if not state.demands:
            return Verdict(None, asked="nothing in this machine")
        verdicts = [
            self._verdict(f, demand, points, context)
            for demand, points in zip(state.demands, state.points, strict=True)
        ]
        worst = min(verdicts, key=lambda v: v.worst)
        return replace(
            worst,
            holds=all(v.holds for v in verdicts),
            proven=all(v.proven for v in verdicts),
            checked=sum(v.checked for v in verdicts),
            violated=sum(v.violated for v in verdicts),
        )

    def _verdict(self, f: Any, demand: Demand, known: Array, context: Context) -> Verdict:
        asked = self.asked(demand, context.sample)
        if isinstance(f, FittedLinear) and demand.exact_on_linear:
            least, where = _least(f, demand)
            excess = least - demand.h
            return Verdict(
                bool(excess >= -context.tol), excess, where, True, 1, asked, int(excess < -context.tol)
            )
        tol = max(context.tol, 2 * CUT)
        if not demand.region.bounded:
            return Verdict.at_points(demand.excess(f, known), known, asked, tol, False)
        points = np.vstack([known, demand.region.points(4096, 1), demand.worst(f, known, 1, 4 * STARTS)])
        sampled = Verdict.at_points(demand.excess(f, points), points, asked, tol, False)
        if not self._coverable(demand, f):
            return sampled
        found = _proven_minimum(f, demand, points, 150_000)
        holds, decided = found.low >= -tol, found.high - found.low <= 2 * CUT
        if not (holds or decided):  # the search gave out before the bounds met
            return sampled
        if holds:
            return Verdict(True, found.low, found.where, True, found.cells, asked)
        return replace(sampled, holds=False, worst=found.high, where=found.where, proven=True)

    def asked(self, demand: Demand, sample: Sample) -> str:
        """What a demand asks, in words, and how far its region reaches."""
        h, classes = "h(x)" if callable(demand.h) else f"{demand.h:g}", sample.classes.tolist()
        if demand.sign > 0 or len(classes) > 2:
            score, asked = sample.positive, f">= {h}" if demand.sign > 0 else f"<= -{h}"
        else:
            score, asked = next(c for c in classes if c != sample.positive), f">= {h}"
        return f"score of {score!r} {asked} {_reach(demand.region, sample)}"


def _reach(region: Set, sample: Sample) -> str:
    """A region in words: a box by the columns in which it is not just the range of the data."""
    if not isinstance(region, BoxSet):
        names = {PolyhedronSet: "in the polyhedron", EllipsoidSet: "in the ellipsoid"}
        return names.get(type(region), "where g(x) <= 0")
    X = sample.X_train
    own = np.flatnonzero((region.low > np.nanmin(X, axis=0)) | (region.high < np.nanmax(X, axis=0)))
    columns = [
        f"{column_name(j, sample, quoted=False)} from {region.low[j]:g} to {region.high[j]:g}"
        for j in own[:3]
    ]
    more = [] if len(own) <= 3 else [f"{len(own) - 3} more"]
    return f"for {', '.join([*columns, *more])}" if columns else "wherever the data are"


def distinct(
    points: Array, known: Array, region: Set, apart: float = 1e-3, limit: int | None = None
) -> Array:
    """The first points that are apart from each other, in parts of the region's size, and not known."""
    size, kept = _size(region), np.empty((0, points.shape[1]))
    for x in points:
        fresh = len(known) == 0 or np.abs((known - x) / size).max(axis=1).min() > 1e-7
        if fresh and (len(kept) == 0 or np.abs((kept - x) / size).max(axis=1).min() > apart):
            kept = np.vstack([kept, x])
        if len(kept) == limit:
            break
    return kept


def _size(region: Set) -> Array:
    """The widths of the box around a region; 1 where it has none."""
    low, high = region.box
    return np.where(high > low, high - low, 1.0)


def _proven_minimum(f: Any, demand: Demand, known: Array, limit: int = 40_000) -> Minimum:
    """Of what the demand leaves over, by branch and bound."""
    return minimum(
        demand.region,
        lambda Z: demand.excess(f, Z),
        lambda cells: f.length * interpolation_error(cells, f.kernel, f.scale, demand.direction),
        known,
        _unit(f, demand),
        CUT / 2,
        limit,
    )


def exactly(f: Any, demands: list[Demand], zeta: Any) -> dict[str, Any]:
    """Everything a linear f needs to obey demands on boxes, polyhedra and ellipsoids."""
    constraints: dict[str, Any] = {}
    kinds = [type(d.region) if d.direction is None else "slope" for d in demands]
    forms: list[tuple[Any, Any]] = [
        (BoxSet, _boxes),
        (PolyhedronSet, polyhedra),
        (EllipsoidSet, _ellipsoids),
        ("slope", _slopes),
    ]
    for kind, write in forms:
        chosen = [k for k, other in enumerate(kinds) if other is kind]
        if chosen:
            own = [demands[k] for k in chosen]
            asked = np.array([d.h for d in own]) - zeta[chosen]
            constraints.update(write(f, own, np.array([d.sign for d in own]), asked))
    return constraints


def _boxes(f: Any, demands: list[Demand], signs: Array, asked: Any) -> dict[str, Any]:
    r"""The least value of :math:`w^\top x` over a box is :math:`w^\top c - r^\top |w|`: no dual variables."""
    import cvxpy as cp

    low, high = (np.array(ends) for ends in zip(*(d.region.box for d in demands), strict=True))
    up, down = np.isinf(high), np.isinf(low)
    end = np.where(up, np.where(down, 0.0, low), high)
    with np.errstate(invalid="ignore"):
        centre = np.where(up | down, end, (low + high) / 2)
        radius = np.where(up | down, 0.0, (high - low) / 2)
    constraints = {}
    least = cp.multiply(signs, f(centre))
    if radius.any():
        v = cp.Variable(f.n_features, nonneg=True, name="v")
        unit = 1.0 if f.features.scale is None else f.features.scale.width
        constraints["size"] = cp.hstack([f.c, -f.c]) <= cp.hstack([v, v])
        least = least - (radius / unit) @ v
    constraints = {"box": least >= asked, **constraints}
    # Where x_j has no upper end s w_j must not be negative, where it has no lower end not positive.
    pushes = {(signs[k], j) for k, j in np.argwhere(up)} | {(-signs[k], j) for k, j in np.argwhere(down)}
    if pushes:
        sign, column = (np.array(part) for part in zip(*sorted(pushes), strict=True))
        constraints["open"] = cp.multiply(sign, f.c[column.astype(int)]) >= 0
    return constraints


def in_machine_units(f: Any, B: Array, d: Array, normed: bool = True) -> tuple[Array, Array]:
    """``B x <= d`` for the x that f sees, its rows of length one."""
    scale = f.features.scale
    if scale is not None:
        B, d = B * scale.width, d - B @ scale.shift
    if not normed:
        return B, d
    length = np.linalg.norm(B, axis=1)
    length = np.where(length > 0, length, 1.0)
    return B / length[:, None], d / length


def polyhedra(
    f: Any, demands: list[Demand], signs: Array, asked: Any, residual: Any = None
) -> dict[str, Any]:
    r"""By duality, eqs. (47), (49): :math:`B^\top u + s w = 0`, :math:`d^\top u - s b + 1 \le \zeta`."""
    import cvxpy as cp

    parts = [in_machine_units(f, d.region.B, d.region.d) for d in demands]  # type: ignore[attr-defined]
    B, d = block_diag([part[0] for part in parts]), block_diag([part[1][None] for part in parts])
    u = cp.Variable(B.shape[0], nonneg=True, name="u")
    turned = B.T @ u + np.kron(signs[:, None], np.eye(f.n_features)) @ f.c
    value = {"value": cp.multiply(signs, f.b * np.ones(len(signs))) - d @ u >= asked}
    if residual is None:
        return {"dual": turned == 0, **value}
    return {"residual": cp.hstack([turned, -turned]) <= cp.hstack([residual, residual]), **value}


def _ellipsoids(f: Any, demands: list[Demand], signs: Array, asked: Any) -> dict[str, Any]:
    r"""The least :math:`w^\top x` over an ellipsoid is :math:`w^\top c - \|A^\top w\|`: one stacked cone."""
    import cvxpy as cp

    regions: Any = [d.region for d in demands]
    width = max(region.A.shape[1] for region in regions)
    unit = 1.0 if f.features.scale is None else f.features.scale.width
    factors = [np.pad(region.A.T / unit, ((0, width - region.A.shape[1]), (0, 0))) for region in regions]
    centres = np.array([region.centre for region in regions])
    stacked = cp.reshape(np.vstack(factors) @ f.c, (width, len(regions)), order="F")
    return {"cone": cp.SOC(cp.multiply(signs, f(centres)) - asked, stacked, axis=0)}


def _slopes(f: Any, demands: list[Demand], signs: Array, asked: Any) -> dict[str, Any]:
    """The slope of a linear f is the same everywhere."""
    import cvxpy as cp

    V = np.array([d.direction for d in demands])
    return {"slope": cp.multiply(signs, f.slope(np.zeros_like(V), V)) >= asked}


def _at_points(f: Any, state: Search, zeta: Any) -> Any:
    lifts = state.lift or (0.0,) * len(state.demands)
    rows = [
        (demand, demand.expression(f, points), demand.asked(points) + lift)
        for demand, points, lift in zip(state.demands, state.points, lifts, strict=True)
    ]
    return _stack(rows, zeta)


def _at_corners(f: Any, state: Search, zeta: Any) -> Any:
    rows = []
    for demand, (cover, chosen) in zip(state.demands, _covers(state), strict=True):
        corners, drop = cover.corners[chosen], cover.drop[chosen]
        least = demand.expression(f, corners) - drop * f.length if len(corners) else None
        rows.append((demand, least, demand.asked(corners)))
    return _stack(rows, zeta)


def _stack(rows: list[tuple[Demand, Any, Array]], zeta: Any) -> Any:
    """One constraint for all demands: ``expression >= asked - zeta`` of its demand."""
    import cvxpy as cp

    of = np.repeat(np.arange(len(rows)), [len(asked) for _, _, asked in rows])
    asked = np.concatenate([asked for _, _, asked in rows])
    return cp.hstack([left for _, left, asked in rows if len(asked)]) >= asked - zeta[of]


def _covers(state: Search) -> list[tuple[Cover, Array]]:
    """Each cover, and which of its corners stand in the problem."""
    return [] if state.covers is None else list(zip(state.covers, state.chosen or [], strict=True))


def _unit(f: Any, demand: Demand) -> Array:
    """The machine's unit of every column."""
    return np.ones(len(demand.region.box[0])) if f.scale is None else f.scale.width


def _excess(f: Any, demand: Demand, cover: Cover) -> Array:
    """What the bound on f leaves of the demand around each corner."""
    return demand.excess(f, cover.corners) - cover.drop * f.length


def _least(f: FittedLinear, demand: Demand) -> tuple[float, Array | None]:
    """The least value of s Lf over the region, and where."""
    if demand.direction is not None:
        return demand.sign * float(demand.direction @ f.coef), None
    coef, unit = f.coef, 1.0 if f.scale is None else f.scale.width
    if not demand.region.bounded:  # a solver's zero times infinity must stay zero
        coef = np.where(np.abs(coef * unit) <= 1e-7 * max(np.abs(coef * unit).max(), 1.0), 0.0, coef)
    least, where = demand.region.lowest(demand.sign * coef)
    return least + demand.sign * f.bias, where


def _warn_if_constant(f: Any, context: Context) -> bool:
    """Say that nothing is left of f but its bias, if the block has a part in that."""
    if not any(np.any(np.abs(dual) > 1e-6) for dual in context.duals.values()):
        return False
    spread = float(np.ptp(f.value(context.sample.X_train)))
    if spread < 1e-3:
        warnings.warn(
            f"block '{context.name}': f is constant (it varies by {spread:.0e} over the training rows). What "
            "the block asks leaves no other: soften it, shrink its region, or use another kernel.",
            CollapsedModel,
            stacklevel=2,
        )
    return spread < 1e-3
