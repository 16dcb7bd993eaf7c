r"""Is an answer the answer? Residuals of a solved problem, as it was stated, and conflicts between blocks.

For :math:`\min_x J(x)` subject to :math:`g_i(x) \in -\mathcal K_i` and the Lagrangian
:math:`L = J + \sum_i \lambda_i^\top g_i`, an answer :math:`(x, \lambda)` is optimal when the constraints
hold, the :math:`\lambda_i` lie in the dual cones, :math:`\nabla_x L = 0`, and :math:`\lambda_i^\top g_i = 0`.
All are evaluated on the expressions the problem was written in, not on what a solver was handed.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from .._utils.foreign import affine_jacobian
from ..errors import Infeasible

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import cvxpy as cp

    from .._utils.arrays import Array
    from ..function.decision import Decision
    from ..knowledge.regions.demand import Demand
    from ..knowledge.regions.sets import BoxSet
    from ..prior import Member
    from ..sample import Sample
    from ..spec import Spec
    from .assemble import Compiled


Jacobian = dict["cp.Variable", "Callable[[Array], Array]"]
Asked = tuple["Member", "Demand"]


@dataclass(frozen=True)
class Residuals:
    """Relative residuals.

    Where a penalty has no gradient (a norm, a ``pos``) the stationarity is NaN and the gap is the distance
    to Clarabel's optimum of the same problem.

    Attributes
    ----------
    primal : largest violation of a constraint.
    dual : largest distance of a multiplier from its cone.
    stationarity : largest entry of the Lagrangian's gradient.
    gap : total complementarity, which at a stationary point is the duality gap.
    """

    primal: float
    dual: float
    stationarity: float
    gap: float

    @property
    def worst(self) -> float:
        """The largest that could be had; infinite if the answer is not finite."""
        if np.isnan(self.primal) or np.isnan(self.gap):
            return float("inf")
        return max(r for r in (self.primal, self.dual, self.stationarity, self.gap) if not np.isnan(r))

    def __str__(self) -> str:
        return (
            f"primal {self.primal:.1e}, dual {self.dual:.1e}, "
            f"stationarity {self.stationarity:.1e}, gap {self.gap:.1e}"
        )


def unit_of(bound: Array, y: Array) -> float:
    """What a gap is relative to where the objective is nearly zero: 1, or what the better constant f costs.

    A machine is no better solved for its small costs, nor for those of rows that any constant gets right.
    """
    return min(1.0, 2.0 * float(min(bound[y > 0].sum(), bound[y < 0].sum())))


def residuals(
    problem: cp.Problem,
    jacobians: Mapping[int, Any] | None = None,
    f: Decision | None = None,
    unit: float = 1.0,
    costs: Mapping[cp.Variable, float] | None = None,
) -> Residuals:
    """Residuals of the values and multipliers a solver left in ``problem``.

    The gap is relative to the objective or ``unit``, the gradient to its parts or 1; or by a variable to its
    ``costs`` if these are smaller.

    ``jacobians`` may give, by constraint id, what cvxpy would have to work out at some length: for each
    variable the map from a multiplier to its part of the gradient. By ``id(objective)`` it may give such
    maps for a part of the objective, and the rest as an expression or None. ``f`` knows dense products
    in the problem, which are then differentiated as the matrices they are.
    """
    objective = problem.objective.expr
    values = [
        np.asarray(v.value, float) if v.value is not None else np.array(np.nan) for v in problem.variables()
    ]
    if not all(np.isfinite(v).all() for v in values):
        return Residuals(*[float("inf")] * 4)
    size = unit + abs(float(objective.value))
    primal = _bounds_violated(problem)
    dual = 0.0
    gap = 0.0
    smooth = objective.is_quadratic() and all(_is_smooth(c) for c in problem.constraints)
    smooth = smooth and not any(
        v.attributes[a] for v in problem.variables() for a in ("NSD", "diag", "hermitian")
    )
    gradient = _Gradient(problem, f, costs or {})
    if smooth:
        known, rest = (jacobians or {}).get(id(problem.objective), (None, objective))
        if known is not None:
            gradient.add(objective, np.ones(1), known)
        if rest is not None:
            gradient.add(rest, np.ones(1))
    for constraint in problem.constraints:
        primal = max(primal, _violated(constraint))
        if not smooth:
            continue
        for expression, multiplier, distance in _lagrangian_parts(constraint):
            if multiplier is None or not np.isfinite(multiplier).all():
                return Residuals(primal, float("inf"), float("inf"), float("inf"))
            dual = max(dual, distance)
            gap += float(multiplier @ np.ravel(expression.value, order="F"))
            if smooth:
                gradient.add(expression, multiplier, (jacobians or {}).get(constraint.id))
    if not smooth:
        return Residuals(primal, float("nan"), float("nan"), _above_reference(problem) / size)
    stationarity, bound_gap = gradient.residual()
    return Residuals(primal, dual, stationarity, abs(gap - bound_gap) / size)


def _is_smooth(constraint: cp.Constraint) -> bool:
    """Whether the constraint is of a kind whose multipliers can be checked: affine parts in a plain cone."""
    import cvxpy as cp

    kinds = cp.constraints
    plain = (kinds.Zero, kinds.Equality, kinds.NonNeg, kinds.NonPos, kinds.Inequality, kinds.SOC, kinds.PSD)
    return isinstance(constraint, plain) and all(a.is_affine() for a in constraint.args)


def _violated(constraint: cp.Constraint) -> float:
    """The largest violation, each entry against its own size where entries stand for themselves."""
    import cvxpy as cp

    sizes = [np.abs(np.asarray(a.value, float)) for a in constraint.args]
    violation = np.asarray(constraint.violation(), float)
    if isinstance(constraint, (cp.constraints.Inequality, cp.constraints.Equality)):
        return float((violation / (1.0 + np.maximum(sizes[0], sizes[1]))).max(initial=0.0))
    return float(violation.max(initial=0.0)) / (1.0 + max(float(s.max(initial=0.0)) for s in sizes))


def _negative(multiplier: Array) -> float:
    """How far the worst entry is below zero, against its own size."""
    return float((np.maximum(-multiplier, 0.0) / (1.0 + np.abs(multiplier))).max(initial=0.0))


def _above_reference(problem: cp.Problem) -> float:
    """How far the objective is above Clarabel's optimum, for penalties that have no gradient to check."""
    import cvxpy as cp

    value = float(problem.objective.value)
    holders = [*problem.variables(), *(v for c in problem.constraints for v in c.dual_variables)]
    saved = [holder.value for holder in holders]
    reference = cp.Problem(problem.objective, problem.constraints)
    reference.solve(solver="CLARABEL")
    for holder, before in zip(holders, saved, strict=True):
        holder.save_value(before)
    return value - float(reference.value) if reference.status == cp.OPTIMAL else float("inf")


class _Gradient:
    """The gradient of the Lagrangian, summed up variable by variable."""

    def __init__(self, problem: cp.Problem, f: Decision | None, costs: Mapping[cp.Variable, float]):
        self.total = {v: np.zeros(v.size) for v in problem.variables()}
        self.reach = {v: np.full(v.size, min(1.0, costs.get(v, 1.0))) for v in self.total}
        self.f = f
        self.products = {} if f is None else f.product_jacobians()

    def add(self, expression: cp.Expression, multiplier: Array, known: Jacobian | None = None) -> None:
        if known is None:
            if self.f is not None and expression.is_affine():
                expression = self.f.without_products(expression)
            known = adjoints(expression)
        for variable, part in ((variable, adjoint(multiplier)) for variable, adjoint in known.items()):
            if variable in self.products:
                self.add(expression, part, self.products[variable])
                continue
            self.total[variable] += part
            self.reach[variable] = np.maximum(self.reach[variable], np.abs(part))

    def residual(self) -> tuple[float, float]:
        """Largest relative entry that no bound of a variable explains, and what the bounds add to the gap."""
        worst = explained = 0.0
        for variable, g in self.total.items():
            low, high = _bounds(variable)
            x = np.ravel(variable.value, order="F")
            if variable.attributes["symmetric"] or variable.attributes["PSD"]:
                G = g.reshape(variable.shape, order="F")
                g = np.ravel((G + G.T) / 2, order="F")  # only symmetric moves are possible
            if variable.attributes["PSD"]:  # a PSD gradient pushes against the cone
                eigenvalues = np.linalg.eigvalsh((G + G.T) / 2)
                explained += abs(float(g @ x))
                g = np.minimum(eigenvalues, 0.0)
            else:
                at_low = np.maximum(g, 0.0)
                at_high = np.minimum(g, 0.0)
                explained += float(at_low[low > -np.inf] @ (x - low)[low > -np.inf])
                explained -= float(at_high[high < np.inf] @ (high - x)[high < np.inf])
                g = np.where(low > -np.inf, 0.0, at_low) + np.where(high < np.inf, 0.0, at_high)
            reach = self.reach[variable] if len(g) == variable.size else self.reach[variable].max()
            worst = max(worst, float((np.abs(g) / reach).max(initial=0.0)))
        return worst, explained


def adjoints(expression: cp.Expression) -> Jacobian:
    """For each variable the map from a multiplier to its part of the gradient; of affine ones for good."""

    def times(jacobian: Any, multiplier: Array) -> Array:
        # A scalar's gradient comes as a number, every other one as a sparse matrix.
        return np.ravel(jacobian * multiplier if np.ndim(jacobian) == 0 else jacobian @ multiplier)

    return {variable: partial(times, jacobian) for variable, jacobian in _jacobian(expression).items()}


def _jacobian(expression: cp.Expression) -> Mapping[cp.Variable, Any]:
    """Return the sparse matrix of derivatives by each variable, (size of variable, size of expression)."""
    if not expression.is_affine() or expression.parameters():
        return dict(expression.grad)
    return affine_jacobian(expression)


def _bounds(variable: cp.Variable) -> tuple[Array, Array]:
    """Lower and upper bound a variable was declared with, entry by entry."""
    attributes = variable.attributes
    low, high = (-np.inf, np.inf) if attributes["bounds"] is None else attributes["bounds"]
    low = np.ravel(np.broadcast_to(np.asarray(low, float), variable.shape), order="F")
    high = np.ravel(np.broadcast_to(np.asarray(high, float), variable.shape), order="F")
    if attributes["nonneg"] or attributes["pos"]:
        low = np.maximum(low, 0.0)
    if attributes["nonpos"] or attributes["neg"]:
        high = np.minimum(high, 0.0)
    return low, high


def _bounds_violated(problem: cp.Problem) -> float:
    """By how much values leave the bounds their variable was declared with."""
    worst = 0.0
    for variable in problem.variables():
        x = np.ravel(variable.value, order="F")
        (low, high) = _bounds(variable)
        outside = np.maximum(np.maximum(low - x, x - high), 0.0)
        worst = max(worst, float((outside / (1.0 + np.abs(x))).max(initial=0.0)))
        if variable.attributes["PSD"]:
            lowest = float(np.linalg.eigvalsh(np.asarray(variable.value, float)).min())
            worst = max(worst, -lowest / (1.0 + float(np.abs(x).max(initial=0.0))))
    return worst


def _lagrangian_parts(constraint: cp.Constraint) -> list[tuple[cp.Expression, Array | None, float]]:
    """Each g_i of a constraint, its multiplier (signs as in L), and how far that is outside the dual cone."""
    import cvxpy as cp

    def flat(value: Any) -> Array | None:
        return None if value is None else np.ravel(np.asarray(value, float), order="F")

    if isinstance(constraint, cp.SOC):
        t, x = (flat(v.value) for v in constraint.dual_variables)
        if t is None or x is None:
            return [(constraint.args[0], None, 0.0)]
        shape = constraint.args[1].shape
        columns = x.reshape(shape, order="F") if len(shape) > 1 else x[:, None]
        lengths = np.linalg.norm(columns, axis=constraint.axis if len(shape) > 1 else 0)
        return [
            (
                constraint.args[0],
                -t,
                float((np.maximum(lengths - t, 0.0) / (1.0 + lengths)).max(initial=0.0)),
            ),
            (constraint.args[1], -x, 0.0),
        ]
    multiplier = flat(constraint.dual_value)
    if multiplier is None:
        return [(constraint.args[0], None, 0.0)]
    if isinstance(constraint, cp.constraints.PSD):
        matrices = np.asarray(constraint.dual_value, float)
        lowest = float(np.linalg.eigvalsh((matrices + np.swapaxes(matrices, -1, -2)) / 2).min())
        return [(constraint.args[0], -multiplier, max(0.0, -lowest) / (1.0 + float(np.abs(matrices).max())))]
    if isinstance(constraint, (cp.constraints.Zero, cp.constraints.Equality)):
        return [(constraint.expr, multiplier, 0.0)]
    if isinstance(constraint, cp.constraints.NonNeg):
        return [(constraint.args[0], -multiplier, _negative(multiplier))]
    return [(constraint.expr, multiplier, _negative(multiplier))]


def refuse_opposed(
    members: Sequence[Member],
    states: Mapping[str, Any],
    sample: Sample,
    linear: bool,
    minimal: bool = False,
) -> None:
    """Raise if hard regions ask for opposite signs of f where no f at all can have them.

    That is at a point of both, or at two points of which the first has the higher f, if the way from it to
    the second is one along which f must not fall. ``minimal`` says that the members are known to go together
    without any one of them.
    """
    refuse_common_points(members, states, sample, linear)
    live = _everywhere(members, states, linear)
    slopes = [pair for pair in live if pair[1].direction is not None and pair[1].h >= 0]
    for up, down in _opposed(live) if slopes else []:
        if (found := _way_down(up, down, slopes, sample, linear)) is not None:
            guides, where = found
            blamed = sorted([up[0], down[0], *guides], key=members.index)
            raise Infeasible(f"{conflict_text(blamed, sample, minimal)} {where}")


def refuse_common_points(
    members: Sequence[Member], states: Mapping[str, Any], sample: Sample, linear: bool
) -> None:
    """Raise if hard regions that ask for opposite signs of f share a point."""
    for up, down in _opposed(_everywhere(members, states, linear)):
        if (where := _common_place(up[1], down[1], sample)) is not None:
            blamed = sorted([up[0], down[0]], key=members.index)
            raise Infeasible(f"{conflict_text(blamed, sample)} {where}")


def _opposed(live: Sequence[Asked]) -> list[tuple[Asked, Asked]]:
    """Pairs of demands on f that cannot both be met at one point."""
    ups, downs = ([(m, d) for m, d in live if d.direction is None and d.sign == s] for s in (1.0, -1.0))
    return [(up, down) for up in ups for down in downs if up[1].h + down[1].h > 0]


def _common_place(up: Demand, down: Demand, sample: Sample) -> str | None:
    """Where two regions meet, in words; None if they do not."""
    from ..knowledge.regions.sets import common_point, only_touch

    point = common_point(up.region, down.region)
    if point is None:
        return None
    border = ""
    if only_touch(up.region, down.region):
        border = (
            " They meet at their borders only, which belong to both (< and > mean <= and >=): leave a gap "
            "between them."
        )
    return f"Both speak about the point {_numbers(point, sample.feature_names)}.{border}"


def _way_down(up: Asked, down: Asked, slopes: list[Asked], sample: Sample, linear: bool) -> Any:
    """Blocks that forbid f to fall from a point of the one region to one of the other, and where; or None."""
    from ..knowledge.regions.sets import joined

    def way(guides: list[Asked]) -> Any:
        along = np.array([demand.sign * np.asarray(demand.direction) for _, demand in guides])
        return joined(up[1].region, down[1].region, along, _common_box(guides, linear))

    guides = slopes
    found = way(slopes)
    if found is None:
        return None
    for guide in slopes:
        fewer = [other for other in guides if other is not guide]
        if fewer and (shorter := way(fewer)) is not None:
            guides = fewer
            found = shorter
    moved = np.flatnonzero(found[0] != found[1])
    start, end = (_numbers(point, sample.feature_names, moved) for point in found)
    names = " and ".join(dict.fromkeys(f"'{member.name}'" for member, _ in guides))
    whose = sample.positive
    high = up
    low = down
    if len(sample.classes) == 2 and guides[0][1].sign < 0:  # they were said of the other class: tell it so
        whose = next(c for c in sample.classes.tolist() if c != sample.positive)
        high, low, start, end = down, up, end, start
    where = (
        f"With f the score of {whose!r}, '{high[0].name}' asks for f >= {high[1].h:g} at {start}, "
        f"'{low[0].name}' for f <= {-low[1].h:g} at {end}, all else alike, and {names} forbids f to fall "
        "on the way."
    )
    return [member for member, _ in guides], where


def _everywhere(members: Sequence[Member], states: Mapping[str, Any], linear: bool) -> list[Asked]:
    """What hard blocks demand at every point of a region, where that is a number."""
    from ..knowledge.regions.base import RegionKnowledge

    return [
        (member, demand)
        for member in members
        if member.weight > 0 and isinstance(member.block, RegionKnowledge) and member.block.everywhere(linear)
        for demand in states[member.name].demands
        if not callable(demand.h)
    ]


def _common_box(guides: Sequence[Asked], linear: bool) -> BoxSet:
    """Where all of these slopes are held; those of a linear f are the same everywhere."""
    from ..knowledge.regions.sets import BoxSet, everything

    boxes = [demand.region.box for _, demand in guides]
    if linear:
        return everything(len(boxes[0][0]))
    return BoxSet(np.max([low for low, _ in boxes], axis=0), np.min([high for _, high in boxes], axis=0))


def refuse_impossible(
    spec: Spec,
    members: Sequence[Member],
    states: Mapping[str, Any],
    sample: Sample,
    infeasible: Callable[[cp.Problem], bool],
) -> None:
    """Raise if hard regions and other hard blocks of a kernel machine contradict each other at some points.

    The values of f at different points are taken for independent of each other: a contradiction is one for
    every function. Regions are asked at the points that the other blocks speak of.
    """
    import cvxpy as cp

    from ..function.decision import AnyFunction
    from ..knowledge.base import Context
    from ..knowledge.regions.base import RegionKnowledge
    from .assemble import naming

    regions = _everywhere(members, states, linear=False)
    others = [
        m for m in members if m.weight > 0 and m.block.may_forbid and not isinstance(m.block, RegionKnowledge)
    ]
    if not regions or not others or spec.kernel is None:
        return
    f = AnyFunction(spec.kernel, sample.X.shape[1], spec.scale)
    rows = np.flatnonzero(sample.cost[: sample.n_train] > 0)
    slack = cp.Variable(len(rows), nonneg=True)
    own: dict[str, list[cp.Constraint]] = {}
    for name, block, _ in others:
        with naming(name):
            if not block.requires <= f.has:
                return  # the machine says so, and what it lacks
            terms = block.build(f, Context(name, sample, states[name], slack, rows, None, spec.tol))
        own[name] = list(getattr(terms, "constraints", {}).values())
    if not f.asked or not any(own.values()):
        return
    points = np.unique(np.vstack(f.asked), axis=0)
    for member, demand in regions:
        inside = points[demand.region.contains(points, 0.0)]
        if demand.direction is None and len(inside):
            row = demand.expression(f, inside) >= demand.asked(inside)
            own.setdefault(member.name, []).append(row)
    blocks = _smallest(own, [], infeasible)
    if blocks:
        raise Infeasible(conflict_text([m for m in members if m.name in blocks], sample, minimal=False))


def _numbers(point: Array, columns: Any, chosen: Sequence[int] | Array | None = None) -> str:
    """A point in words, or what it has in some of its columns."""
    names = [f"column {j} " if chosen is not None else "" for j in range(len(point))]
    if columns is not None:
        names = [f"{name} " for name in columns]
    shown = [f"{names[j]}{point[j] + 0.0:g}" for j in (range(len(point)) if chosen is None else chosen)]
    return f"({', '.join(shown[:8])}{', ...' if len(shown) > 8 else ''})"


def conflict_text(members: Sequence[Member], sample: Sample, minimal: bool = True) -> str:
    """These blocks conflict, in the user's own words where they have some.

    ``minimal`` says that any of them can be blamed: without it the others go together on this machine.
    """
    any_one = "it" if len(_unique(members)) == 1 else "any one"
    restores = f" (removing {any_one} restores feasibility)" if minimal else ""
    whose = "decision function"
    if len(sample.classes) > 2 and np.any(sample.classes == sample.positive):
        whose = f"score of {sample.positive!r} against the other classes"
    return (
        f"No {whose} satisfies every hard constraint. These conflict: {_named(members)}{restores}. "
        f"{_way_out(members)}"
    )


def _unique(members: Sequence[Member]) -> list[Member]:
    return list({member.name: member for member in members}.values())


def _named(members: Sequence[Member]) -> str:
    words = [(m.name, m.block.words()) for m in _unique(members)]
    return " and ".join(f"'{name}'" + (f" ({said})" if said else "") for name, said in words)


def _way_out(members: Sequence[Member]) -> str:
    if any(getattr(member.block, "hard", False) for member in members):
        return "Soften one with hard=False, or make it narrower."
    return "Leave one out, or ask for less."


def conflict_error(
    compiled: Compiled, infeasible: Callable[[cp.Problem], bool], least: Callable[[cp.Problem, float], float]
) -> Infeasible | None:
    """The error that names a minimal set of conflicting blocks; None if there is none.

    A solver's proof holds up to rounding, which for a kernel machine means up to some norm. It is said to be
    one for every f only where it does not need the kernel.
    """
    blocks = conflict(compiled, infeasible)
    if not blocks:
        return beyond_reach(compiled, least)
    members = [m for m in compiled.members if m.name in blocks]
    try:
        refuse_opposed(members, compiled.states, compiled.sample, compiled.spec.kernel is None, True)
    except Infeasible as error:
        return error  # it can say where
    own = _by_block(compiled)
    if compiled.spec.kernel is not None and not _smallest({b: own[b] for b in blocks}, [], infeasible):
        limited = beyond_reach(compiled, least)
        rounded = conflict_text(members, compiled.sample).replace(
            "constraint.", "constraint, up to rounding.", 1
        )
        return limited or Infeasible(rounded)
    return Infeasible(conflict_text(members, compiled.sample) + _too_stiff(compiled, members))


def _too_stiff(compiled: Compiled, members: Sequence[Member]) -> str:
    """Of regions that no point is common to: that it is for the straight line that they conflict."""
    asked = _everywhere(members, compiled.states, linear=True)
    values = {member.name for member, demand in asked if demand.direction is None}
    slopes = [member for member, demand in asked if demand.direction is not None]
    if compiled.spec.kernel is not None or slopes or values != {member.name for member in members}:
        return ""
    return " No point is claimed for both sides, but no straight line keeps them all: a kernel may."


def conflict(compiled: Compiled, infeasible: Callable[[cp.Problem], bool]) -> list[str]:
    """A minimal set of blocks whose constraints cannot all hold, by a deletion filter; empty if they can.

    ``infeasible`` is the verdict of a solver that can certify it. Removing any one block of the answer
    makes the rest feasible.
    """
    common = [compiled.constraints["svm.margin"], *compiled.f.definitions.values()]
    return _smallest(_by_block(compiled), common, infeasible)


def _by_block(compiled: Compiled) -> dict[str, list[cp.Constraint]]:
    own: dict[str, list[cp.Constraint]] = {}
    for label, constraint in compiled.constraints.items():
        if not label.startswith("svm."):
            own.setdefault(label.partition(".")[0], []).append(constraint)
    return own


def _smallest(
    own: Mapping[str, list[cp.Constraint]],
    common: list[cp.Constraint],
    infeasible: Callable[[cp.Problem], bool],
) -> list[str]:
    """The deletion filter: without any one of these the verdict is another; empty if it is not given."""
    import cvxpy as cp

    def conflicting(names: list[str]) -> bool:
        return infeasible(cp.Problem(cp.Minimize(0), [*common, *(c for name in names for c in own[name])]))

    kept = list(own)
    if not conflicting(kept):  # the solver that said so was wrong
        return []
    for name in own:
        rest = [other for other in kept if other != name]
        if conflicting(rest):
            kept = rest
    return kept


def beyond_reach(compiled: Compiled, least: Callable[[cp.Problem, float], float]) -> Infeasible | None:
    r"""The error that names blocks which no f keeps to whose values can be told from rounding; else None.

    A kernel machine can do nearly everything with a norm that is large enough. What counts is

    .. math:: t = \min_f\, t \quad\text{s.t. } \|f\| \le R,\; c_{PK,k}(f) \le t \text{ for all } k ,

    with R the norm at which what is lost of the kernel matrix changes values of f in their second digit. A
    deletion filter leaves the blocks without any of which t vanishes. ``least`` is a solver's lower bound.
    """
    import cvxpy as cp

    from ..function.decision import Bounded, KernelMap
    from .assemble import naming

    if not isinstance(compiled.f.features, KernelMap):
        return None
    t = cp.Variable(nonneg=True)
    limit = _largest_norm(compiled)
    f = Bounded(compiled.f.features, compiled.spec.norm, limit)
    own: dict[str, list[cp.Constraint]] = {}
    for name, block, _ in compiled.members:
        if not (block.only_rows or block.shares_slack):
            with naming(name):
                asked = block.build(f, compiled.context(name)).constraints.values()
            own[name] = [part for constraint in asked for part in _eased(constraint, t)]
    taken = compiled.slack.id  # rows have slack enough, unless a block limits it
    if any(taken in {v.id for v in c.variables()} for parts in own.values() for c in parts):
        return None

    def missed(names: list[str]) -> float:
        eased = [c for name in names for c in own[name]]
        used = {v.id for c in [*eased, f.size] for v in c.variables()}
        defined = [d for d in f.definitions.values() if used & {v.id for v in d.variables()}]
        return least(cp.Problem(cp.Minimize(t), [f.size <= 1, *defined, *eased]), limit)

    kept = list(own)
    by = missed(kept) if kept else 0.0
    if by <= MISSED:
        return None
    for name in own:
        rest = [other for other in kept if other != name]
        if rest and (now := missed(rest)) > MISSED:
            kept = rest
            by = now
    members = [m for m in compiled.members if m.name in kept]
    alone = len(members) == 1
    by = float(np.floor(100 * by)) / 100
    return Infeasible(
        f"No decision function with a norm below {limit:.0e}, beyond which its values are lost in rounding, "
        f"satisfies {'this hard constraint' if alone else 'these hard constraints together'}: "
        f"{_named(members)}. Every such f misses {'it' if alone else 'one of them'} by {by:g} or "
        f"more. {_way_out(members)}"
    )


# What blocks are missed by at least, in values of f, before they are said to ask too much.
MISSED = 1e-2


def _largest_norm(compiled: Compiled) -> float:
    """Where what is lost of the kernel matrix, or of a simplex step, changes f by :data:`MISSED`."""
    from ..function.decision import RANK_TOLERANCE

    spec = compiled.spec
    X = compiled.sample.X[:1000]
    assert spec.kernel is not None
    inner = X if spec.scale is None else spec.scale.points(X)
    if spec.norm == "l1":
        return MISSED / 1e-8 / max(float(np.abs(spec.kernel(inner, inner[:100])).max()), 1e-300)
    length = float(np.sqrt(np.max(spec.kernel.diag(inner))))
    return MISSED / float(np.sqrt(RANK_TOLERANCE)) / max(length, 1e-300)


def _eased(constraint: cp.Constraint, t: cp.Variable) -> list[cp.Constraint]:
    """The constraint, missed by t at most."""
    import cvxpy as cp

    kinds = cp.constraints
    if isinstance(constraint, (kinds.Zero, kinds.Equality)):
        return [constraint.expr <= t, -constraint.expr <= t]
    if isinstance(constraint, (kinds.Inequality, kinds.NonPos)):
        return [constraint.expr <= t]
    if isinstance(constraint, kinds.NonNeg):
        return [constraint.args[0] >= -t]
    if isinstance(constraint, cp.SOC):
        return [cp.SOC(constraint.args[0] + t, constraint.args[1], axis=constraint.axis)]
    return [constraint]
