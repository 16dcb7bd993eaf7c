"""Conflicts between hard blocks: blocks whose constraints no decision function satisfies together.

Blocks are deleted one at a time, because elastic slacks name other blocks for other solvers. A certifying
solver confirms every "infeasible".
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .._utils.arrays import distinct_rows
from ..errors import Infeasible, MissingCapability
from ..function.factor import RANK_TOLERANCE
from ..function.maps import FactorMap, ValueMap
from ..function.symbolic import Decision
from ..function.tie import Tie
from ..knowledge.base import Knowledge
from ..knowledge.traits import OnRowSlack
from ..knowledge.views import Building
from ..prior import live
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


# Number of values of a point that a message lists.
MOST_VALUES = 8


class Claim(NamedTuple):
    """A requirement of a hard block that holds at every point of a region."""

    member: Member
    requirement: Requirement


# ---------------------------------------------------------------------- before the problem is solved


def refuse_conflicting_claims(
    members: Sequence[Member],
    states: Mapping[str, Any],
    sample: Sample,
    linear: bool,
    minimal: bool = False,
) -> None:
    """Raise Infeasible if the claims of hard regions contradict each other for every function f.

    Two claims of opposite signs conflict at a common point. They also conflict if f must not decrease on a
    path from a point of the positive claim to a point of the negative claim. With ``minimal``, the members
    are known to be feasible if any one of them is removed.
    """
    refuse_common_points(members, states, sample, linear)
    claims = _claims(members, states, linear)
    slopes = [c for c in claims if c.requirement.direction is not None and c.requirement.h >= 0]
    if not slopes:
        return
    for upper, lower in _opposite_claims(claims):
        found = _path_down(upper, lower, slopes, sample, linear)
        if found is not None:
            guides, place = found
            blocks = [claim.member for claim in (upper, lower, *guides)]
            blocks = sorted(blocks, key=members.index)
            raise Infeasible(f"{conflict_text(blocks, sample, minimal)} {place}")


def refuse_common_points(
    members: Sequence[Member], states: Mapping[str, Any], sample: Sample, linear: bool
) -> None:
    """Raise Infeasible if hard regions that require opposite signs of f share a point."""
    for upper, lower in _opposite_claims(_claims(members, states, linear)):
        place = _common_place(upper.requirement, lower.requirement, sample)
        if place is not None:
            blocks = sorted([upper.member, lower.member], key=members.index)
            raise Infeasible(f"{conflict_text(blocks, sample)} {place}")


def _claims(members: Sequence[Member], states: Mapping[str, Any], linear: bool) -> list[Claim]:
    return [
        Claim(member, requirement)
        for member in live(members)
        for requirement in member.block.claims(states[member.name], linear)
    ]


def _opposite_claims(claims: Sequence[Claim]) -> list[tuple[Claim, Claim]]:
    """Return the pairs of claims on values of f that no f satisfies at one point."""
    values = [claim for claim in claims if claim.requirement.direction is None]
    upper = [claim for claim in values if claim.requirement.sign == 1.0]
    lower = [claim for claim in values if claim.requirement.sign == -1.0]
    return [(a, b) for a in upper for b in lower if a.requirement.h + b.requirement.h > 0]


def _common_place(upper: Requirement, lower: Requirement, sample: Sample) -> str | None:
    """Return a sentence on a point of both regions; None if the regions have no common point."""
    from ..knowledge.regions.intersections import common_point, only_touch

    point = common_point(upper.region, lower.region)
    if point is None:
        return None
    border = ""
    if only_touch(upper.region, lower.region):
        border = (
            " They meet at their borders only, which belong to both (< and > mean <= and >=): leave a gap "
            "between them."
        )
    return f"Both apply to the point {_common_point_text(point, upper, lower, sample)}.{border}"


def _path_down(
    upper: Claim, lower: Claim, slopes: list[Claim], sample: Sample, linear: bool
) -> tuple[list[Claim], str] | None:
    """Return the slopes that forbid f to decrease from one region to the other, and a sentence; or None."""
    from ..knowledge.regions.intersections import joined

    def path(guides: list[Claim]) -> tuple[Array, Array] | None:
        along = np.array([c.requirement.sign * np.asarray(c.requirement.direction) for c in guides])
        box = _common_box(guides, linear)
        return joined(upper.requirement.region, lower.requirement.region, along, box)

    guides = slopes
    found = path(slopes)
    if found is None:
        return None
    for guide in slopes:
        fewer = [other for other in guides if other is not guide]
        shorter = path(fewer) if fewer else None
        if shorter is not None:
            guides = fewer
            found = shorter
    return guides, _path_text(upper, lower, guides, found, sample)


def _path_text(
    upper: Claim, lower: Claim, guides: list[Claim], path: tuple[Array, Array], sample: Sample
) -> str:
    differing = np.flatnonzero(path[0] != path[1])
    start, end = (_numbers(point, sample, differing) for point in path)
    names = " and ".join(dict.fromkeys(f"'{guide.member.name}'" for guide in guides))
    label = sample.positive
    if sample.negative is not None and guides[0].requirement.sign < 0:
        # The user stated the slopes for the score of the other class, and so does the message.
        label = sample.negative
        upper, lower = lower, upper
        start, end = end, start
    return (
        f"With f the score of {label!r}, '{upper.member.name}' requires f >= {upper.requirement.h:g} at "
        f"{start}, and '{lower.member.name}' requires f <= {-lower.requirement.h:g} at {end}, with all other "
        f"columns equal. {names} forbids f to decrease from the first point to the second."
    )


def _common_box(guides: Sequence[Claim], linear: bool) -> BoxSet:
    """Return the box where all slopes are required: the whole space for a linear f."""
    from ..knowledge.regions.intersections import everything
    from ..knowledge.regions.sets import BoxSet

    boxes = [guide.requirement.region.box for guide in guides]
    if linear:
        return everything(len(boxes[0][0]))
    return BoxSet(np.max([low for low, _ in boxes], axis=0), np.min([high for _, high in boxes], axis=0))


def refuse_contradictions(
    spec: Spec,
    members: Sequence[Member],
    states: Mapping[str, Any],
    sample: Sample,
    infeasible: Callable[[cp.Problem], bool],
) -> None:
    """Raise Infeasible if hard regions and other hard blocks of a kernel model contradict each other.

    The values of f at different points are independent variables here, so a contradiction holds for every
    function. Regions are evaluated at the points where the other blocks evaluate f.
    """
    claims = _claims(members, states, linear=False)
    others = [m for m in live(members) if m.block.may_forbid and type(m.block).claims is Knowledge.claims]
    if not claims or not others:
        return
    f = Decision(spec, sample.X.shape[1])
    try:
        constraints = _built_constraints(f, others, states, sample)
    except MissingCapability:
        return  # the assembly of the problem raises it again
    values = [evaluation.atoms.points for evaluation in f.evaluations if evaluation.biased]
    if not values or not any(constraints.values()):
        return
    points = distinct_rows(np.vstack(values))[0]
    for member, requirement in claims:
        inside = points[requirement.region.contains(points, 0.0)]
        if requirement.direction is None and len(inside):
            row = requirement.expression(f, inside) >= requirement.threshold(inside)
            constraints.setdefault(member.name, []).append(row)
    blocks = _deletion_filter(constraints, [], infeasible)
    if blocks:
        raise Infeasible(conflict_text([m for m in members if m.name in blocks], sample, minimal=False))


def _built_constraints(
    f: Decision, members: Sequence[Member], states: Mapping[str, Any], sample: Sample
) -> dict[str, list[cp.Constraint]]:
    """Return the constraints of blocks by block name, with a slack for each training row."""
    import cvxpy as cp

    rows = sample.counted_training
    slack = cp.Variable(len(rows), nonneg=True)
    constraints: dict[str, list[cp.Constraint]] = {}
    for name, block, _ in members:
        with naming(name):
            terms = block.build(f, Building(name, sample, states[name], rows, slack))
        constraints[name] = list(getattr(terms, "constraints", {}).values())
    return constraints


# ---------------------------------------------------------------------- messages


def _numbers(point: Array, sample: Sample, chosen: Array | None = None) -> str:
    """Return a point as text, or its values in the chosen columns."""
    shown = _values(point, sample, chosen)
    return f"({', '.join(shown[:MOST_VALUES])}{', ...' if len(shown) > MOST_VALUES else ''})"


def _common_point_text(point: Array, upper: Requirement, lower: Requirement, sample: Sample) -> str:
    """Return a common point of two regions as text; of many columns, those that a region limits."""
    from ..knowledge.regions.rows_inside import leaves_free

    limited = np.flatnonzero(~(leaves_free(upper.region, sample) & leaves_free(lower.region, sample)))
    if len(_values(point, sample)) <= MOST_VALUES or len(limited) in (0, len(point)):
        return _numbers(point, sample)
    return f"({', '.join(_values(point, sample, limited)[:MOST_VALUES])}, ...)"


def _values(point: Array, sample: Sample, chosen: Array | None = None) -> list[str]:
    """Return the values of a point, or its values in the chosen columns, each with the name of its column."""
    if sample.encoding is not None:
        return sample.encoding.in_words(point, chosen)
    names = [f"column {j} " if chosen is not None else "" for j in range(len(point))]
    if sample.feature_names is not None:
        names = [f"{name} " for name in sample.feature_names]
    return [f"{names[j]}{point[j] + 0.0:g}" for j in (range(len(point)) if chosen is None else chosen)]


def conflict_text(members: Sequence[Member], sample: Sample, minimal: bool = True) -> str:
    """Return the message that these blocks conflict.

    With ``minimal``, the message adds that the model is feasible if any one of the blocks is removed.
    """
    any_one = "it" if len(_unique(members)) == 1 else "any one"
    restores = f" (removing {any_one} restores feasibility)" if minimal else ""
    function = "decision function"
    if sample.name:
        rest = "the other classes" if sample.negative is None else repr(sample.negative)
        function = f"score of {sample.positive!r} against {rest}"
    return (
        f"No {function} satisfies every hard constraint. These conflict: {_named(members)}{restores}. "
        f"{_way_out(members)}"
    )


def _unique(members: Sequence[Member]) -> list[Member]:
    return list({member.name: member for member in members}.values())


def _named(members: Sequence[Member]) -> str:
    words = [(m.name, m.block.words()) for m in _unique(members)]
    return " and ".join(f"'{name}' ({text})" if text else f"'{name}'" for name, text in words)


def _way_out(members: Sequence[Member]) -> str:
    if any(getattr(member.block, "hard", False) for member in members):
        return "Soften one with hard=False, or make it narrower."
    return "Leave one out, or require less."


# ---------------------------------------------------------------------- after a solver found no answer


def conflict_error(
    compiled: Compiled, infeasible: Callable[[cp.Problem], bool], least: Callable[[cp.Problem, float], float]
) -> Infeasible | None:
    """Return the error that names a minimal set of conflicting blocks; None if the blocks do not conflict.

    The proof of a solver holds up to rounding, which for a kernel model means up to some norm of f. The
    message calls it a proof for every f only if the constraints conflict without the kernel.
    """
    with _restored_values(compiled):
        return _conflict_error(compiled, infeasible, least)


@contextmanager
def _restored_values(compiled: Compiled) -> Iterator[None]:
    """Restore the values of all variables and dual variables of a problem at the end."""
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
    if compiled.spec.hard and infeasible(_margins_alone(compiled)):
        return Infeasible(_not_separable_text(compiled))
    blocks = conflict(compiled, infeasible)
    if not blocks:
        return beyond_reach(compiled, least)
    members = [m for m in compiled.members if m.name in blocks]
    try:
        refuse_conflicting_claims(members, compiled.states, compiled.sample, compiled.spec.linear, True)
    except Infeasible as error:
        return error  # its message names a point
    text = conflict_text(members, compiled.sample) + _common_row_text(members, compiled)
    if compiled.spec.hard:
        text += " With C=inf the margins of all rows are hard constraints too: use a finite C."
    if compiled.spec.linear:
        return Infeasible(text + _linear_advice(compiled, members))
    constraints = _by_block(compiled)
    if _deletion_filter({name: constraints[name] for name in blocks}, [], infeasible):
        return Infeasible(text)
    limited = beyond_reach(compiled, least)
    return limited or Infeasible(text.replace("constraint.", "constraint, up to rounding.", 1))


def _common_row_text(members: Sequence[Member], compiled: Compiled) -> str:
    """Return a sentence on a row at which two blocks require opposite values of f; empty without one."""
    from ..knowledge.regions.search import Search

    states = [compiled.states[member.name] for member in members]
    placed = [
        (requirement, {point.tobytes(): point for point in points + 0.0})  # -0.0 becomes 0.0
        for state in states
        if isinstance(state, Search)
        for requirement, points in zip(state.requirements, state.points, strict=True)
        if requirement.direction is None
    ]
    for upper, above in placed:
        for lower, below in placed:
            if upper.sign <= lower.sign:
                continue
            for point in (above[key] for key in above if key in below):
                if upper.threshold(point[None])[0] + lower.threshold(point[None])[0] > 0:
                    row = _common_point_text(point, upper, lower, compiled.sample)
                    return f" Both apply to the row {row}."
    return ""


def _margins_alone(compiled: Compiled) -> cp.Problem:
    """Return the problem whose constraints are the margins of the rows."""
    import cvxpy as cp

    margins = [compiled.constraints["svm.margin"], *compiled.tie.definitions.values()]
    return cp.Problem(cp.Minimize(0), margins)


def _not_separable_text(compiled: Compiled) -> str:
    """Return the message that no f has the margins that C=inf requires."""
    sample = compiled.sample
    adding = [f"'{m.name}'" for m in compiled.members if m.block.prepares == "adds"]
    added = f", the rows of {' and '.join(adding)} included" if adding else ""
    function = "linear f" if compiled.spec.linear else f"f of the kernel {compiled.spec.kernel!r}"
    several = len(sample.classes) > 2
    positive = np.asarray(sample.positive).item()
    which = f"class {positive!r} and the other classes" if several else "the classes"
    kernel = ", or a kernel" if compiled.spec.linear else ""
    return (
        f"C=inf requires the margin of every row of positive cost{added}, and no {function} has it: "
        f"{which} are not separable. Use a finite C{kernel}."
    )


def _linear_advice(compiled: Compiled, members: Sequence[Member]) -> str:
    """Return the advice to use a kernel, if regions without a common point conflict."""
    claims = _claims(members, compiled.states, linear=True)
    regions = {claim.member.name for claim in claims if claim.requirement.direction is None}
    if regions != {member.name for member in members}:
        return ""
    return " The regions have no common point, but no linear f satisfies all of them: use a kernel."


def conflict(compiled: Compiled, infeasible: Callable[[cp.Problem], bool]) -> list[str]:
    """Return a minimal set of conflicting blocks, by a deletion filter; empty if all are feasible together.

    ``infeasible`` applies a solver that certifies infeasibility. The problem is feasible if any one block
    of the result is removed.
    """
    common = [compiled.constraints["svm.margin"], *compiled.tie.definitions.values()]
    return _deletion_filter(_by_block(compiled), common, infeasible)


def _by_block(compiled: Compiled) -> dict[str, list[cp.Constraint]]:
    constraints: dict[str, list[cp.Constraint]] = {}
    for label, constraint in compiled.constraints.items():
        if not label.startswith("svm."):
            constraints.setdefault(label.partition(".")[0], []).append(constraint)
    return constraints


def _deletion_filter(
    constraints: Mapping[str, list[cp.Constraint]],
    common: list[cp.Constraint],
    infeasible: Callable[[cp.Problem], bool],
) -> list[str]:
    """Return a minimal set of blocks that is infeasible with the common constraints; empty if none is."""
    import cvxpy as cp

    def conflicting(names: list[str]) -> bool:
        parts = [c for name in names for c in constraints[name]]
        return infeasible(cp.Problem(cp.Minimize(0), [*common, *parts]))

    kept = list(constraints)
    if not conflicting(kept):  # the first solver reported an infeasible problem in error
        return []
    for name in constraints:
        rest = [other for other in kept if other != name]
        if conflicting(rest):
            kept = rest
    return kept


# The smallest violation of blocks, in values of f, that counts as a conflict.
MISSED = 1e-2


def beyond_reach(compiled: Compiled, least: Callable[[cp.Problem, float], float]) -> Infeasible | None:
    r"""Return the error that names blocks which no f of bounded norm satisfies; else None.

    A kernel model satisfies nearly all constraints with a norm that is large enough. The smallest violation
    within a bounded norm is

    .. math:: t = \min_f\, t \quad\text{s.t. } \|f\| \le R,\; c_{PK,k}(f) \le t \text{ for all } k .

    At the norm R, rounding errors of the kernel matrix change values of f in their second digit. A deletion
    filter leaves blocks of which none can be removed without t = 0. ``least`` is a lower bound by a solver.
    """
    import cvxpy as cp

    if compiled.spec.linear:
        return None
    t = cp.Variable(nonneg=True)
    relaxed = _relaxed_constraints(compiled, t)
    limit = _largest_norm(compiled)
    tie = Tie(compiled.f, _factor_map(compiled), unit=limit)
    size, cone = _relative_norm(tie)

    def violation(names: list[str]) -> float:
        parts = [c for name in names for c in relaxed[name]]
        used = {v.id for c in parts for v in c.variables()}
        defined = [d for d in tie.definitions.values() if used & {v.id for v in d.args[0].variables()}]
        return least(cp.Problem(cp.Minimize(t), [size <= 1, *cone, *defined, *parts]), limit)

    kept = list(relaxed)
    missed = violation(kept) if kept else 0.0
    if missed <= MISSED:
        return None
    for name in relaxed:
        rest = [other for other in kept if other != name]
        without = violation(rest) if rest else 0.0
        if without > MISSED:
            kept = rest
            missed = without
    return Infeasible(_limited_text([m for m in compiled.members if m.name in kept], limit, missed))


def _relaxed_constraints(compiled: Compiled, t: cp.Variable) -> dict[str, list[cp.Constraint]]:
    """Return by block name the constraints that the slack of rows does not soften, relaxed by t."""
    blocks = {m.name for m in compiled.members if not isinstance(m.block, OnRowSlack)}
    return {
        name: [part for constraint in constraints for part in _relaxed_by(constraint, t)]
        for name, constraints in _by_block(compiled).items()
        if name in blocks
    }


def _relaxed_by(constraint: cp.Constraint, t: cp.Variable) -> list[cp.Constraint]:
    """Return the constraint with a violation of at most t."""
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


def _limited_text(members: Sequence[Member], limit: float, missed: float) -> str:
    constraints = "these hard constraints together"
    missing = "one of them"
    if len(members) == 1:
        constraints = "this hard constraint"
        missing = "it"
    return (
        f"No decision function with a norm below {limit:.0e}, beyond which its values are lost in rounding, "
        f"satisfies {constraints}: {_named(members)}. Every such f misses {missing} by "
        f"{np.floor(100 * missed) / 100:g} or more. {_way_out(members)}"
    )


def _factor_map(compiled: Compiled) -> Any:
    """Return the feature map of f in a basis where the norm of f is the length of its coordinates."""
    features = compiled.tie.features
    if isinstance(features, ValueMap):
        return FactorMap(features.kernel, features.centres, features.scale)
    return features


def _relative_norm(tie: Tie) -> tuple[cp.Expression, list[cp.Constraint]]:
    """Return the norm of f in units of the tie, and the cone that bounds it."""
    import cvxpy as cp

    if tie.coefficients.norm == "l1":
        return tie.regulariser, []
    size = cp.Variable(name="size")
    return size, [cp.SOC(size, tie.features.coordinate_matrix @ tie.c)]


def _largest_norm(compiled: Compiled) -> float:
    """Return the norm at which rounding errors of the kernel matrix change values of f by ``MISSED``."""
    spec = compiled.spec
    X = compiled.sample.X[:1000]
    assert spec.kernel is not None
    inner = X if spec.scale is None else spec.scale.points(X)
    if spec.norm == "l1":  # 1e-8 is the error of a step of the simplex method
        return MISSED / 1e-8 / max(float(np.abs(spec.kernel(inner, inner[:100])).max()), 1e-300)
    length = float(np.sqrt(np.max(spec.kernel.diag(inner))))
    return MISSED / float(np.sqrt(RANK_TOLERANCE)) / max(length, 1e-300)
