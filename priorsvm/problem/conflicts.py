"""Conflicts between hard blocks: blocks whose constraints no decision function satisfies together."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import Infeasible, MissingCapability
from ..function.factor import RANK_TOLERANCE
from ..function.maps import FactorMap, LinearMap, ValueMap
from ..function.symbolic import Decision
from ..function.tie import Tie
from ..knowledge.base import Knowledge
from ..knowledge.traits import OnRowSlack
from ..knowledge.views import Building
from .naming import naming

if TYPE_CHECKING:
    import cvxpy as cp

    from .._utils.arrays import Array
    from ..knowledge.regions.requirement import Requirement
    from ..knowledge.regions.sets import BoxSet
    from ..prior import Member
    from ..sample import Sample
    from ..spec import Spec
    from .assemble import Compiled

Asked = tuple["Member", "Requirement"]


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


def _common_place(up: Requirement, down: Requirement, sample: Sample) -> str | None:
    """Where two regions meet, in words; None if they do not."""
    from ..knowledge.regions.intersections import common_point, only_touch

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
    from ..knowledge.regions.intersections import joined

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
    return [
        (member, requirement)
        for member in members
        if member.weight > 0
        for requirement in member.block.claims(states[member.name], linear)
    ]


def _common_box(guides: Sequence[Asked], linear: bool) -> BoxSet:
    """Where all of these slopes are held; those of a linear f are the same everywhere."""
    from ..knowledge.regions.intersections import everything
    from ..knowledge.regions.sets import BoxSet

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
    """Raise if hard regions and other hard blocks of a kernel model contradict each other at some points.

    The values of f at different points are taken for independent of each other: a contradiction is one for
    every function. Regions are asked at the points that the other blocks speak of.
    """
    import cvxpy as cp

    regions = _everywhere(members, states, linear=False)
    others = [
        m for m in members if m.weight > 0 and m.block.may_forbid and type(m.block).claims is Knowledge.claims
    ]
    if not regions or not others or spec.linear:
        return
    f = Decision(spec, sample.X.shape[1])
    rows = sample.counted_training
    slack = cp.Variable(len(rows), nonneg=True)
    own: dict[str, list[cp.Constraint]] = {}
    for name, block, _ in others:
        with naming(name):
            try:
                terms = block.build(f, Building(name, sample, states[name], rows, slack))
            except MissingCapability:
                return  # the assembly of the problem raises it again
        own[name] = list(getattr(terms, "constraints", {}).values())
    values = [evaluation.atoms.points for evaluation in f.evaluations if evaluation.biased]
    if not values or not any(own.values()):
        return
    points = np.unique(np.vstack(values), axis=0)
    for member, demand in regions:
        inside = points[demand.region.contains(points, 0.0)]
        if demand.direction is None and len(inside):
            row = demand.expression(f, inside) >= demand.threshold(inside)
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

    ``minimal`` says that any of them can be blamed: without it the others go together on this model.
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

    A solver's proof holds up to rounding, which for a kernel model means up to some norm. It is said to be
    one for every f only where it does not need the kernel.
    """
    with _values_kept(compiled):
        return _conflict_error(compiled, infeasible, least)


@contextmanager
def _values_kept(compiled: Compiled) -> Iterator[None]:
    """Restore the values of all variables and dual variables of a problem in the end."""
    problem = compiled.problem
    holders = [*problem.variables(), *(v for c in problem.constraints for v in c.dual_variables)]
    saved = [holder.value for holder in holders]
    try:
        yield
    finally:
        for holder, value in zip(holders, saved, strict=True):
            holder.save_value(value)


def _conflict_error(
    compiled: Compiled, infeasible: Callable[[cp.Problem], bool], least: Callable[[cp.Problem, float], float]
) -> Infeasible | None:
    blocks = conflict(compiled, infeasible)
    if not blocks:
        return beyond_reach(compiled, least)
    members = [m for m in compiled.members if m.name in blocks]
    try:
        refuse_opposed(members, compiled.states, compiled.sample, compiled.spec.linear, True)
    except Infeasible as error:
        return error  # it can say where
    own = _by_block(compiled)
    if not compiled.spec.linear and not _smallest({b: own[b] for b in blocks}, [], infeasible):
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
    if not compiled.spec.linear or slopes or values != {member.name for member in members}:
        return ""
    return " No point is claimed for both sides, but no straight line keeps them all: a kernel may."


def conflict(compiled: Compiled, infeasible: Callable[[cp.Problem], bool]) -> list[str]:
    """A minimal set of blocks whose constraints cannot all hold, by a deletion filter; empty if they can.

    ``infeasible`` is the verdict of a solver that can certify it. Removing any one block of the answer
    makes the rest feasible.
    """
    common = [compiled.constraints["svm.margin"], *compiled.tie.definitions.values()]
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

    A kernel model can do nearly everything with a norm that is large enough. What counts is

    .. math:: t = \min_f\, t \quad\text{s.t. } \|f\| \le R,\; c_{PK,k}(f) \le t \text{ for all } k ,

    with R the norm at which what is lost of the kernel matrix changes values of f in their second digit. A
    deletion filter leaves the blocks without any of which t vanishes. ``least`` is a solver's lower bound.
    """
    import cvxpy as cp

    features = compiled.tie.features
    if isinstance(features, LinearMap):
        return None
    if isinstance(features, ValueMap):  # of the two bases, the one in which the length of f is that of c
        features = FactorMap(features.kernel, features.centres, features.scale)
    limit = _largest_norm(compiled)
    tie = Tie(compiled.f, features, unit=limit)
    size, cone = _relative_norm(tie)
    t = cp.Variable(nonneg=True)
    blocks = {m.name for m in compiled.members if not (m.block.only_rows or isinstance(m.block, OnRowSlack))}
    own = {
        name: [part for constraint in constraints for part in _eased(constraint, t)]
        for name, constraints in _by_block(compiled).items()
        if name in blocks
    }
    taken = compiled.slack.id  # rows have slack enough, unless a block limits it
    if any(taken in {v.id for v in c.variables()} for parts in own.values() for c in parts):
        return None

    def missed(names: list[str]) -> float:
        eased = [c for name in names for c in own[name]]
        used = {v.id for c in eased for v in c.variables()}
        defined = [d for d in tie.definitions.values() if used & {v.id for v in d.args[0].variables()}]
        return least(cp.Problem(cp.Minimize(t), [size <= 1, *cone, *defined, *eased]), limit)

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


def _relative_norm(tie: Tie) -> tuple[cp.Expression, list[cp.Constraint]]:
    """Return the norm of f in units of the tie, and the cone that bounds it."""
    import cvxpy as cp

    if tie.coefficients.norm == "l1":
        return tie.regulariser, []
    size = cp.Variable(name="size")
    return size, [cp.SOC(size, tie.features.coordinate_matrix @ tie.c)]


def _largest_norm(compiled: Compiled) -> float:
    """Where what is lost of the kernel matrix, or of a simplex step, changes f by :data:`MISSED`."""

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
