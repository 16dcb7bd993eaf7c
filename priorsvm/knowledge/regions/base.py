r"""What all blocks about regions share: everywhere on a set of points, f obeys a bound."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ..._utils.arrays import Array
from ..._utils.checks import check_flag, check_nonnegative
from ..._utils.messages import warn
from ..._utils.progress import progress
from ...errors import AgainstData, CoverTooCoarse, FarFromData, InvalidInput, MissingCapability
from ...function.fitted import FittedLinear
from ...sample import Sample
from ..base import Context, Knowledge, Terms, Verdict, check_points
from .cover import Cover, Interpolation
from .demand import CUT, STARTS, Demand, distinct, exactly, least_value, proven_minimum, size_of, unit_of
from .rows_inside import RowsInside, checked_range, leaves_free, names_class, rows_inside
from .sets import BoxSet, EllipsoidSet, LevelSet, PolyhedronSet, Set
from .within import column_name

# The first cover: how far f may fall between corners, per norm. For an RBF it means sqrt(2 gamma) r <= 0.25.
FINE = 0.054
# The cover is refined until the objective is this near to the cuts' lower bound.
NEAR = 0.02
# Cuts of a soft block may stop at violations so many times larger than those of a hard one.
SOFT = 10
# Corners stand in the problem already where the bound is this near to the demand: it saves rounds.
SPARE = 0.05


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
    reached : the objective when the covers were last refined.
    """

    demands: list[Demand]
    points: list[Array]
    covers: list[Cover] | None = None
    chosen: list[Array] | None = None
    lift: tuple[float, ...] | None = None
    bound: float = float("nan")
    length: float = float("nan")
    reached: float = float("inf")


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
    # <z> stands for the slack of a soft block, and for nothing in a hard one.
    formulas: ClassVar[dict[str, str]] = {
        "mu": r"\sum_l \zeta_l",
        "box": r"s_l (w^\top c_l + b) - r_l^\top v \ge 1<z>",
        "size": r"-v \le w \le v",
        "open": r"s_l w_j \ge 0 \text{ or } \le 0 \text{ where } x_j \text{ is unbounded}",
        "dual": r"B_l^\top u_l + s_l w = 0,\; u_l \ge 0",
        "value": r"s_l b - d_l^\top u_l \ge 1<z>",
        "cone": r"s_l f(c_l) - \|A_l^\top w\| \ge 1<z>",
        "points": r"s_l f(x_p) \ge 1 + \delta_l<z>,\; \delta_l \ge 0 \text{ for what sags between points}",
        "corners": r"s_l f(v_p) - \eta_p \|g\|_H \ge 1<z>",
    }
    letters: ClassVar[dict[str, str]] = {
        "s_l": r"+1 \text{ or } -1, \text{ the class of region } l",
        r"\zeta_l": r"\text{its slack}",
        "c_l": r"\text{the centre of region } l",
        "r_l": r"\text{its half-widths}",
        "v": r"\text{variables, the sizes of the weights}",
        "B_l": r"\text{with } d_l \text{ the inequalities } B_l x \le d_l \text{ of region } l",
        "u_l": r"\text{variables, the multipliers of these}",
        "z_l": r"\text{variables, the residuals}",
        "A_l": r"\text{the shape of the ellipsoid } \{c_l + A_l z : \|z\| \le 1\}",
        "x_p": r"\text{a point of region } l",
        r"\delta_l": r"\text{a little, 0 as long as that is enough}",
        "v_p": r"\text{a corner of the cells that cover region } l",
        r"\eta_p": r"\text{how far } f \text{ can fall around it, per norm}",
        r"\|g\|_H": r"\text{the norm of } g = f - b",
    }

    mu: float
    hard: bool
    method: str
    points: Any
    max_cells: int

    @property
    def latex(self) -> dict[str, str]:  # type: ignore[override]
        """The formulas, with a slack if the block is soft."""
        slack = "" if self.hard else r" - \zeta_l,\; \zeta_l \ge 0"
        return {name: _with_slack(formula, slack) for name, formula in self.formulas.items()}

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
        self._warn_of_rows(demands, sample)

    def _warn_of_rows(self, demands: list[Demand], sample: Sample) -> None:
        """Of a region in other units than the data, or against them; just to be beyond them is no fault."""
        if not all(demand.region.exact for demand in demands):
            return
        found = rows_inside(demands, self._named(sample))
        if found is not None and found.is_far:
            warn(
                f"{self.words()}: {found.beyond}, {found.far:.0f} times their range away. Are its units "
                "those of the data? After a scaler they are not: use PriorSVC(scale='standard') instead.",
                FarFromData,
            )
        if found is not None and found.is_against:
            warn(
                f"{self.words()}: {found}{'' if found.covers_all else '.'} Check its label and its units; if "
                "it is meant to overrule these rows, silence this warning.",
                AgainstData,
            )

    def _named(self, sample: Sample) -> Sample:
        """The sample with the names that the block has for its columns."""
        return sample

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

    def everywhere(self, linear: bool) -> bool:
        """Whether the block must hold at every point of its regions."""
        exact = linear and self.method != "points"
        return self.hard and (exact or self._method not in ("points", "kernelised"))

    def _is_exact(self, linear: bool, demands: list[Demand]) -> bool:
        return linear and all(demand.exact_on_linear for demand in demands)

    def _unbounded(self, region: Set, sample: Sample) -> str:
        low, high = region.box
        j = int(np.flatnonzero(~(np.isfinite(low) & np.isfinite(high)))[0])
        column = j if sample.feature_names is None else sample.feature_names.tolist()[j]
        X = sample.weighted_rows()[0][:, j]
        least = np.nanmin(X)
        most = np.nanmax(X)
        units = " All of it lies beyond them: are its units those of the data?"
        return (
            f"the region is unbounded in column {column!r} (from {low[j]:g} to {high[j]:g}), and "
            "cannot be searched without end. The training rows range from "
            f"{least:g} to {most:g}: "
            f"give within={{{column!r}: (low, high)}}"
            + (" or within='data'." if getattr(self, "within", "data") is None else ".")
            + (units if low[j] > most or high[j] < least else "")
        )

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
        if self._is_exact(f.linear, state.demands):
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
        if not state.demands or exact or self._method in ("points", "kernelised"):
            return None
        if state.covers is None:
            return self._more_cuts(f, state, context)
        return self._finer_cover(f, state, context)

    def settle(self, f: Any, context: Context) -> Search | None:
        """From the cuts, whose objective is a lower bound, to a cover."""
        state: Search = context.state
        if not state.demands or isinstance(f, FittedLinear) or self.method != "guaranteed":
            return None
        if state.covers is not None:  # this was all: no block refines any more
            self._warn_of_price(context, state)
            return None
        bound = context.objective if state.lift is None else state.bound
        return self._first_cover(f, replace(state, bound=bound, length=f.length))

    def _more_cuts(self, f: Any, state: Search, context: Context) -> Search | None:
        """The worst points of every region as points of the problem; None if there are none."""
        tol = max(context.tol, CUT)
        seed = context.sample.seed
        rests = context.objective - state.bound <= 1e-3 * abs(context.objective)  # not at first: NaN
        # What a first look does not find, a closer one may, or a proof where there are few columns.
        provable = [len(size_of(d.region)) < 4 and self._coverable(d, f) for d in state.demands]
        dear = [demand.direction is not None for demand in state.demands]  # second derivatives of f
        closer = (4,) if all(np.logical_or(provable, dear)) else (4, 16)
        for effort in closer if rests or state.lift else (1, *closer):
            grown = []
            worst = []
            added = 0
            for demand, known, proof in zip(state.demands, state.points, provable, strict=True):
                at_known = demand.excess(f, known)
                zeta = self._zeta(at_known)
                found = demand.worst(f, known, seed + len(known), effort * STARTS)
                if effort > 1 and proof:
                    found = np.vstack([found, proven_minimum(f, demand, found).where])
                excess = demand.excess(f, found) + zeta
                new = distinct(found[excess < -tol], known, demand.region)
                added += len(new)
                # Points far from binding have no multiplier: without them the optimum is the same.
                grown.append(np.vstack([known[at_known + zeta < 0.3] if len(new) else known, new]))
                worst.append(max(0.0, -float(excess.min(initial=0.0))))
            gain = context.objective - state.bound
            if not self.hard and max(worst) <= SOFT * tol and gain <= 1e-4 * abs(context.objective):
                return None  # what is left is not worth a round
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
            error = Interpolation(f.kernel, f.scale, demand.direction)
            fine = FINE * self._length(f, demand)
            covers.append(Cover.of(demand.region, unit_of(f, demand), error, fine, limit))
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
        gains = context.objective < state.reached - 0.1 * NEAR * abs(state.bound) or collapsed
        if (gap > NEAR or collapsed) and gains and room > 0:
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
                return replace(state, covers=covers, chosen=chosen, reached=context.objective)
        return None

    def _warn_of_price(self, context: Context, state: Search) -> None:
        """Say what the guarantee costs, if it is this block's cells that make it dear."""
        gap = (context.objective - state.bound) / max(abs(state.bound), 1e-12)
        if gap > NEAR and np.any(np.abs(context.duals.get("corners", 0.0)) > 1e-6 * abs(context.objective)):
            warn(
                f"block '{context.name}': with {sum(map(len, state.covers or []))} cells the guarantee costs "
                f"{gap:.0%} over the cuts' lower bound on the objective. It holds; a higher max_cells (now "
                f"{self.max_cells}) may make it cheaper.",
                ConvergenceWarning,
            )

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
        k = min(range(len(verdicts)), key=lambda k: verdicts[k].worst)
        worst = verdicts[k]
        price = ""
        if state.covers is not None:
            gap = (context.objective - state.bound) / max(abs(state.bound), 1e-12)
            price = f" ({sum(map(len, state.covers))} cells, objective {gap:+.1%} of that of the cuts)"
        return replace(
            worst,
            asked=worst.asked + price,
            holds=all(v.holds for v in verdicts),
            proven=all(v.proven for v in verdicts),
            checked=sum(v.checked for v in verdicts),
            violated=sum(v.violated for v in verdicts),
            remarks=self._remarks(f, state.demands[k], context),
        )

    def _remarks(self, f: Any, worst: Demand, context: Context) -> tuple[str, ...]:
        """Over which range the demand that is kept least was checked, and what the training rows say."""
        sample = self._named(context.sample)
        remarks = []
        everywhere = isinstance(f, FittedLinear) and worst.direction is not None
        if not everywhere and (worst.direction is not None or names_class(worst, sample)):
            over = checked_range(worst.region, sample, "any " if worst.direction is None else "")
            remarks += [f"checked for {over}"] if over else []
        inside = self.findings(f, context)
        return (*remarks, str(inside)) if inside is not None else tuple(remarks)

    def findings(self, f: Any, context: Context) -> RowsInside | None:
        """How many training rows lie in the regions, and how many of them have another class."""
        return rows_inside(context.state.demands, self._named(context.sample))

    def _verdict(self, f: Any, demand: Demand, known: Array, context: Context) -> Verdict:
        asked = self.asked(demand, self._named(context.sample))
        if isinstance(f, FittedLinear) and demand.exact_on_linear:
            least, where = least_value(f, demand)
            excess = least - demand.h
            return Verdict(
                bool(excess >= -context.tol), excess, where, True, 1, asked, int(excess < -context.tol)
            )
        soft = not self.hard and self._method == "cuts"
        tol = max(context.tol, (SOFT if soft else 2) * CUT)
        if not demand.region.bounded:
            return Verdict.at_points(demand.excess(f, known), known, asked, tol, False)
        points = np.vstack([known, demand.region.points(4096, 1), demand.worst(f, known, 1, 4 * STARTS)])
        sampled = Verdict.at_points(demand.excess(f, points), points, asked, tol, False)
        if not self._coverable(demand, f):
            return sampled
        limit = context.max_cells
        with progress(context.verbose, total=limit, desc=f"cells of '{context.name}'") as bar:
            found = proven_minimum(f, demand, points, limit, bar.update)
        holds = found.low >= -tol
        decided = found.high - found.low <= 2 * CUT
        if not (holds or decided):  # the search gave out before the bounds met
            return sampled
        if holds:
            return Verdict(True, found.low, found.where, True, found.cells, asked)
        return replace(sampled, holds=False, worst=found.high, where=found.where, proven=True)

    def asked(self, demand: Demand, sample: Sample) -> str:
        """What a demand asks, in words, and how far its region reaches."""
        h = "h(x)" if callable(demand.h) else f"{demand.h:g}"
        classes = sample.classes.tolist()
        if demand.sign > 0 or len(classes) > 2:
            score = sample.positive
            asked = f">= {h}" if demand.sign > 0 else f"<= -{h}"
        else:
            score = next(c for c in classes if c != sample.positive)
            asked = f">= {h}"
        return f"score of {score!r} {asked} {self.where(demand.region, sample)}"

    def where(self, region: Set, sample: Sample) -> str:
        """A region in words: a box by the columns in which it is not just the range of the data, nor all."""
        if not isinstance(region, BoxSet):
            names = {PolyhedronSet: "in the polyhedron", EllipsoidSet: "in the ellipsoid"}
            return names.get(type(region), "where g(x) <= 0")
        own = np.flatnonzero(~leaves_free(region, sample))
        columns = [
            f"{column_name(j, sample, quoted=False)} from {region.low[j]:g} to {region.high[j]:g}"
            for j in own[:3]
        ]
        more = [] if len(own) <= 3 else [f"{len(own) - 3} more"]
        if not columns:
            return "wherever the data are" if region.bounded else "everywhere"
        return f"for {', '.join([*columns, *more])}"


def _with_slack(formula: str, slack: str) -> str:
    first, mark, rest = formula.partition("<z>")
    if not mark:
        return formula
    term, _, sign = slack.partition(r",\;")
    whole = first + term + rest + (rf",\;{sign}" if sign else "")
    return whole.replace(r"\ge 0 - ", r"\ge -")


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
        corners = cover.corners[chosen]
        drop = cover.drop[chosen]
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


def _excess(f: Any, demand: Demand, cover: Cover) -> Array:
    """What the bound on f leaves of the demand around each corner."""
    return demand.excess(f, cover.corners) - cover.drop * f.length
