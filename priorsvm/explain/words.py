"""Blocks in words, with the numbers and the names of the user: one clause for each block."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from textwrap import shorten
from typing import Any

import numpy as np

from .._utils.arrays import Array
from .._utils.checks import is_number
from .._utils.messages import readable
from ..knowledge.base import Knowledge
from ..knowledge.by_class import OfClasses
from ..knowledge.hints.invariance_hint import InvarianceHint
from ..knowledge.hints.monotonicity_hint import MonotonicityHint, directions_of
from ..knowledge.hints.oddness_hint import OddnessHint
from ..knowledge.hints.tangent_penalty import TangentPenalty
from ..knowledge.own_terms import OwnTerms
from ..knowledge.regions.base import RegionKnowledge
from ..knowledge.regions.monotone import Monotone
from ..knowledge.regions.region import Region
from ..knowledge.regions.region_words import column_names, first_of, listed, region_in_words
from ..knowledge.regions.rule import Rule
from ..knowledge.regions.within import limits_in_words
from ..knowledge.rows.class_costs import ClassCosts
from ..knowledge.rows.row_permutations import RowPermutations
from ..knowledge.rows.sample_costs import SampleCosts
from ..knowledge.rows.transductive import Transductive
from ..knowledge.rows.unlabeled_samples import UnlabeledSamples
from ..knowledge.rows.virtual_samples import VirtualSamples
from ..knowledge.rows.virtual_support_vectors import VirtualSupportVectors
from ..knowledge.worst_case.invariant_loss import InvariantLoss
from ..knowledge.worst_case.missing_values import MissingValues
from ..knowledge.worst_case.trajectories import Trajectories
from ..knowledge.worst_case.uncertain_samples import UncertainSamples
from ..prior import Member, live
from ..sample import Sample
from ..transforms.base import Composition, Transform, Union

# Number of letters of a parameter.
LONGEST = 40


def in_words(block: Knowledge, sample: Sample) -> str:
    """Return what a block states, as a clause.

    Parameters
    ----------
    block : Knowledge
        The block.
    sample : Sample
        Training rows of its model.

    Returns
    -------
    str
        A clause without a full stop. A block without an entry here gives its ``words()``, else its class.

    Examples
    --------
    >>> from priorsvm import PriorSVC, Rule
    >>> model = PriorSVC(Rule("x0 >= 3", label=1)).fit([[0.0], [4.0]], [0, 1])
    >>> in_words(model._models[0].members[0].block, model._models[0].training)
    'where x0 >= 3, the class is 1'
    """
    for kind, clause in CLAUSES.items():
        if isinstance(block, kind):
            which = block.which_rows() if isinstance(block, OfClasses) else ""
            return clause(block, sample) + (f", for rows{which}" if which else "")
    return block.words() or f"the terms of the block {type(block).__name__} are part of the problem"


def block_uses(uses: Iterable[tuple[Iterable[Member], Sample]]) -> list[tuple[Member, Sample]]:
    """Return every block once, with the training rows of the first binary model that it applies to.

    Parameters
    ----------
    uses : iterable of (members, Sample)
        Blocks and training rows of each binary model.

    Returns
    -------
    list of (Member, Sample)
    """
    found: dict[str, tuple[Member, Sample]] = {}
    for members, sample in uses:
        for member in live(members):
            if member.block.applies(sample):
                found.setdefault(member.name, (member, sample))
    return list(found.values())


def strength(member: Member, linear: bool) -> list[str]:
    """Return how strongly a block is required: hard or soft, where, and with which weights.

    Parameters
    ----------
    member : Member
        A block with its name and outer weight.
    linear : bool
        Whether f is linear.

    Returns
    -------
    list of str
    """
    block = member.block
    found = []
    if isinstance(block, RegionKnowledge):
        rows = block.applies_to_rows(linear)
        place = "at rows as they occur" if rows else "at all points of the region"
        if isinstance(block, Monotone):
            place = "at pairs of rows" if rows else "everywhere in the range of the data"
        elif not rows and getattr(block, "within", None) is not None:
            place += ", with open sides closed at the range of the data"
        if rows and block.unlabeled is not None:
            count = len(block.unlabeled)
            place += f", {count} unlabelled {'row' if count == 1 else 'rows'} included"
        found.append(f"{'hard' if block.hard else 'soft'}, {place}")
    elif isinstance(getattr(block, "hard", None), bool):
        found.append("hard" if block.hard else "soft")
    for name in ("mu", "mu_residual", "gamma"):
        value = getattr(block, name, None)
        if is_number(value) and not getattr(block, "hard", False):
            noun = "row" if value == 1 else "rows"
            unit = f" {noun}" if name in block.counts_rows else ""
            found.append(f"weight {name} = {value:.4g}{unit}")
    if member.weight != 1:
        found.append(f"outer weight {member.weight:g}")
    return found


# ---------------------------------------------------------------------- regions


def _rule(block: Any, sample: Sample) -> str:
    return f"where {block.in_numbers(sample)}{_limits(block, sample)}, the class is {block.label!r}"


def _limits(block: Any, sample: Sample) -> str:
    limits = limits_in_words(getattr(block, "within", None), sample)
    return f",{limits}" if limits else ""


def _region(block: Any, sample: Sample) -> str:
    sets = [requirement.region for requirement in block.row_requirements(sample)]
    places = [region_in_words(region, sample) for region in sets]
    return f"{listed(places, 'or')}, the class is {block.label!r}"


def _level(block: Any, sample: Sample) -> str:
    name = readable(getattr(block.g, "__qualname__", "") or repr(block.g))
    return f"where g(x) <= 0 for every g of {name}{_limits(block, sample)}, the class is {block.label!r}"


def _monotone(block: Any, sample: Sample) -> str:
    label = block.label if block.label is not None else sample.classes.tolist()[-1]
    names = column_names(sample)
    directions = directions_of(block.features, sample)
    up = [names[j] for j, direction in directions.items() if direction > 0]
    down = [names[j] for j, direction in directions.items() if direction < 0]
    changes = [
        f"{verb} with {listed(columns)}" for verb, columns in (("rises", up), ("falls", down)) if columns
    ]
    return f"the score of {label!r} {listed(changes)}{_limits(block, sample)}"


# ---------------------------------------------------------------------- rows


def _class_costs(block: Any, sample: Sample) -> str:
    costs = zip(sample.classes.tolist(), block.factors(sample), strict=True)
    how = f", by the rule {block.costs!r}" if isinstance(block.costs, str) else ""
    return f"errors cost {listed(f'{cost:.4g} C on class {label!r}' for label, cost in costs)}{how}"


def _sample_costs(block: Any, sample: Sample) -> str:
    given = [(name, block.aligned(name, sample)) for name in ("costs", "margins")]
    ranges = [f"{name} from {v.min():g} to {v.max():g}" for name, v in given if v is not None]
    return f"each training row has its own {listed(ranges)}"


def _unlabeled(block: Any, sample: Sample) -> str:
    costs = np.ravel(np.asarray(block.costs, float))
    rows = "1 further row has an assumed label"
    if len(block.X) > 1:
        rows = f"{len(block.X)} further rows have assumed labels"
    return f"{rows}, with {_range(costs, 'cost')} times C"


def _transductive(block: Any, sample: Sample) -> str:
    return f"{len(block.X)} unlabelled rows get the labels with the lowest objective found by a local search"


def _virtual(block: Any, sample: Sample) -> str:
    return f"transformed copies of all training rows keep their class, for {_transform(block.transform)}"


def _virtual_support(block: Any, sample: Sample) -> str:
    return f"transformed copies of the support vectors keep their class, for {_transform(block.transform)}"


def _permutations(block: Any, sample: Sample) -> str:
    return str(block.words())


def _range(values: Array, word: str) -> str:
    low = values.min()
    high = values.max()
    return f"{word} {low:g}" if low == high else f"{word}s from {low:g} to {high:g}"


# ---------------------------------------------------------------------- values of f


def _invariance(block: Any, sample: Sample) -> str:
    return f"the score of a row equals the score of its transformed copies, for {_transform(block.transform)}"


def _oddness(block: Any, sample: Sample) -> str:
    return "the score of -x is minus the score of x"


def _monotonicity_hint(block: Any, sample: Sample) -> str:
    return f"{_monotone(block, sample)}, at {block.pairs} drawn pairs of points"


def _tangents(block: Any, sample: Sample) -> str:
    return f"the score is constant along the tangents of {_transform(block.transform)}"


def _uncertain(block: Any, sample: Sample) -> str:
    return f"measurement errors are known, and {block.words()}, for {_distribution(block)}"


def _missing(block: Any, sample: Sample) -> str:
    return f"{block.words()}, for {_distribution(block)}"


def _distribution(block: Any) -> str:
    return "Gaussian errors" if block.distribution == "gaussian" else "any distribution with these moments"


def _trajectories(block: Any, sample: Sample) -> str:
    if block.transform is None:
        return "every row keeps its margin along a trajectory of given coefficients"
    return f"every row keeps its margin along the trajectory of {_transform(block.transform)}"


def _invariant_loss(block: Any, sample: Sample) -> str:
    return f"the loss of a row is the worst over its transformed copies, for {_transform(block.transform)}"


def _own_terms(block: Any, sample: Sample) -> str:
    labels = [f"constraint {label!r}" for label in block.constraints or {}]
    penalty = [] if block.penalty is None else ["a penalty"]
    return f"the problem has {listed([*penalty, *labels])} of its own"


def _transform(transform: Any) -> str:
    """Return a transform with all its parameters, and the ranges of its finite orbit."""
    if isinstance(transform, Mapping):  # one for each class
        return listed(f"{_transform(one)} on class {label!r}" for label, one in transform.items())
    if isinstance(transform, (Composition, Union)):
        joint = " after " if isinstance(transform, Composition) else " or "
        return joint.join(_transform(part) for _, part in transform.transforms)
    if not isinstance(transform, Transform):
        return readable(repr(transform))
    parameters = transform.get_params(deep=False)
    given = [f"{key}={shorten(readable(repr(value)), LONGEST)}" for key, value in parameters.items()]
    words = f"{type(transform).__name__}({', '.join(given)})"
    if not transform.finite:
        return words
    try:
        grid = transform.theta_grid()
    except NotImplementedError:  # a transform of a user that has tangents only
        return words
    ranges = [f"[{low:g}, {high:g}]" for low, high in zip(grid.min(axis=0), grid.max(axis=0), strict=True)]
    return f"{words} with parameters in {' x '.join(first_of(ranges))}, {len(grid)} transformations"


# Class of a block -> its clause. A subclass comes before its base.
CLAUSES: dict[type[Knowledge], Callable[[Any, Sample], str]] = {
    Rule: _rule,
    Region: _level,
    Monotone: _monotone,
    RegionKnowledge: _region,
    ClassCosts: _class_costs,
    SampleCosts: _sample_costs,
    UnlabeledSamples: _unlabeled,
    Transductive: _transductive,
    VirtualSamples: _virtual,
    VirtualSupportVectors: _virtual_support,
    RowPermutations: _permutations,
    InvarianceHint: _invariance,
    OddnessHint: _oddness,
    MonotonicityHint: _monotonicity_hint,
    TangentPenalty: _tangents,
    UncertainSamples: _uncertain,
    MissingValues: _missing,
    Trajectories: _trajectories,
    InvariantLoss: _invariant_loss,
    OwnTerms: _own_terms,
}
