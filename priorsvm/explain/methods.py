"""Paragraph on a fitted model for the methods section of a paper."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

import numpy as np

from .._utils.messages import readable
from ..knowledge.base import Knowledge
from ..knowledge.regions.region_words import listed
from ..knowledge.traits import Iterative
from ..prior import Member
from ..sample import Sample
from ..solve.model import BinaryModel
from ..solve.registry import find_route
from ..weights import FACTORS
from .words import block_uses, in_words, strength

# Class of a block -> keys of its works in docs/references.bib.
REFERENCES = {
    "Rule": ("fung2002",),
    "Box": ("fung2002",),
    "Polyhedron": ("fung2002", "fung2003"),
    "Ellipsoid": ("shivaswamy2006cones",),
    "Region": ("mangasarian2007", "mangasarian2008"),
    "Monotone": ("sill1997",),
    "ClassCosts": ("veropoulos1999",),
    "SampleCosts": ("wu2004",),
    "UnlabeledSamples": ("wang2004", "wu2004"),
    "Transductive": ("joachims1999",),
    "VirtualSamples": ("niyogi1998",),
    "VirtualSupportVectors": ("scholkopf1996",),
    "RowPermutations": ("shivaswamy2006permutations",),
    "InvarianceHint": ("abumostafa1990", "abumostafa1995"),
    "OddnessHint": ("abumostafa1990", "abumostafa1995"),
    "MonotonicityHint": ("sill1997",),
    "TangentPenalty": ("scholkopf1998", "chapelle2002"),
    "UncertainSamples": ("bhattacharyya2005", "shivaswamy2006cones"),
    "MissingValues": ("bhattacharyya2005", "shivaswamy2006cones"),
    "Trajectories": ("graepel2004",),
    "InvariantLoss": ("teo2007",),
}
# Rules at rows as they occur are the discretised form of rules over regions.
ON_ROWS = ("mangasarian2008",)

SCALES = {
    "standard": "were scaled to mean 0 and standard deviation 1 inside the model.",
    "minmax": "were scaled to the range from 0 to 1 inside the model.",
}


def methods_text(model: Any) -> str:
    """Return the paragraph on a fitted model.

    Parameters
    ----------
    model : PriorSVC
        A fitted model.

    Returns
    -------
    str
        Sentences, with works as ``[@key]``, the keys of docs/references.bib.
    """
    binaries = model._models
    uses = block_uses((binary.members, binary.training) for binary in binaries)
    members = [member for member, _ in uses]
    sentences = [
        _data(model, binaries[0], bool(members)),
        _classes(model),
        _function(binaries[0]),
        _columns(model, binaries[0]),
        _loss(model, binaries[0]),
        _blocks(uses, binaries[0].spec.linear),
        _weights(members),
        _solver(binaries, members),
    ]
    return " ".join(sentence for sentence in sentences if sentence)


def cited(keys: Iterable[str]) -> str:
    """Return works as ``[@key; @key]``."""
    return f"[{'; '.join(f'@{key}' for key in dict.fromkeys(keys))}]"


def _data(model: Any, binary: BinaryModel, knowledge: bool) -> str:
    sample = binary.training
    counts = Counter(sample.labels.tolist())
    n_rows = sample.n_train
    if sample.totals is not None:
        counts = Counter(dict(zip(sample.classes.tolist(), sample.totals.counts.tolist(), strict=True)))
        n_rows = sample.totals.n_rows
    classes = listed(f"{counts[label]} of class {label!r}" for label in model.classes_.tolist())
    d = model.n_features_in_
    kind = "A support vector machine"
    keys = ["cortes1995"]
    if knowledge:
        kind += " with prior knowledge"
        keys.append("lauer2008")
    weights = sample.weights if sample.all_weights is None else sample.all_weights
    has_weights = np.ptp(weights) > 0
    if sample.totals is not None:
        has_weights = not np.array_equal(sample.totals.weights, sample.totals.counts)
    weighted = ", with sample weights" if has_weights else ""
    return (
        f"{kind} {cited(keys)} was trained on {n_rows} rows with "
        f"{d} column{'s' if d > 1 else ''} ({classes}){weighted}."
    )


def _classes(model: Any) -> str:
    K = len(model.classes_)
    if model.multi_class == "joint":
        return f"One problem with a decision function for each of the {K} classes was solved [@crammer2001]."
    if K == 2:
        return ""
    if model.multi_class == "ovo":
        return (
            f"One decision function was trained for each of the {K * (K - 1) // 2} pairs of classes, and the "
            "class with most votes was predicted."
        )
    return (
        f"One decision function was trained for each of the {K} classes against all others, "
        "and the class with the highest score was predicted."
    )


def _function(binary: BinaryModel) -> str:
    spec = binary.spec
    if spec.linear:
        return "The decision function was linear in the columns."
    kernel = spec.kernel
    given = [f"{key} = {_value(value)}" for key, value in kernel.get_params(deep=False).items()]  # type: ignore[union-attr]
    name = type(kernel).__name__
    words = f"The decision function used the kernel {name}" + (f" with {listed(given)}" if given else "")
    n = spec.n_centres
    # With as many centres as points, f is exact.
    points = max(len(getattr(binary.f, "centres", ())), binary.training.n_train - 1)
    if n is not None and n <= points:
        words += f", approximated on {n} centres"
    return f"{words}."


def _value(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else readable(repr(value))


def _columns(model: Any, binary: BinaryModel) -> str:
    encoding = getattr(binary.training, "encoding", None)
    sentences = []
    if encoding is not None:
        gaps = any(None in group.values for group in encoding.groups)
        included = ", missing values included," if gaps else ""
        sentences.append(f"Every value of a column with categories{included} became a 0/1 column.")
    if model.scale is not None:
        sentences.append(
            f"{'Columns of numbers' if encoding is not None else 'Columns'} {SCALES[model.scale]}"
        )
    return " ".join(sentences)


def _loss(model: Any, binary: BinaryModel) -> str:
    spec = binary.spec
    norm = "squared 2-norm" if spec.norm == "l2" else "1-norm"
    half = "half " if spec.norm == "l2" else ""
    of = "of the decision function" if spec.norm == "l2" else "of its coefficients"
    loss = {"hinge": "hinge loss", "squared_hinge": "squared hinge loss"}[spec.loss]
    words = f"Training minimised {half}the {norm} {of} plus the {loss} with C = {spec.C:g}"
    if spec.hard:
        words = f"Training minimised {half}the {norm} {of} with a hard margin"
    if model.preselect:
        words += ", on the support vectors of a first model without blocks"
    return f"{words}."


def _blocks(uses: list[tuple[Member, Sample]], linear: bool) -> str:
    if not uses:
        return ""
    many = f"{len(uses)} blocks" if len(uses) > 1 else "one block"
    clauses = []
    for number, (member, sample) in enumerate(uses, 1):
        how = strength(member, linear)
        keys = _keys(member.block, linear)
        clause = f"{in_words(member.block, sample)} ({'; '.join([f'block {member.name}', *how])})"
        mark = f"({number}) " if len(uses) > 1 else ""
        clauses.append(mark + clause + (f" {cited(keys)}" if keys else ""))
    return f"Prior knowledge entered the problem as {many}: {'; '.join(clauses)}."


def _keys(block: Knowledge, linear: bool) -> tuple[str, ...]:
    """Return the works of a block."""
    kind = next((c.__name__ for c in type(block).__mro__ if c.__name__ in REFERENCES), None)
    keys = REFERENCES[kind] if kind is not None else ()
    if kind == "ClassCosts" and getattr(block, "costs", None) == "brown":
        keys = (*keys, "brown2000")
    if getattr(block, "method", None) == "guaranteed":
        keys = (*keys, "aubin2020")
    applies = getattr(block, "applies_to_rows", None)
    if applies is not None and kind != "Monotone" and applies(linear):
        keys = (*keys, *ON_ROWS)
    return keys


def _weights(members: list[Member]) -> str:
    """Return how the weights of blocks on rows were chosen, if they were."""
    chosen = {m.name: m.block.chosen_weight for m in members if getattr(m.block, "chosen_weight", None)}
    if not chosen:
        return ""
    names = listed(chosen)
    several = len(chosen) > 1
    found = next(iter(chosen.values()))
    subject = f"The weight{'s' if several else ''} of {names}"
    if not found.scores:
        return f"{subject} had {'their' if several else 'its'} standard value."
    factors = sorted(FACTORS)
    scores = listed(f"{found.scores[a]:.3f} with {a:g}" for a in factors)
    verb = "were" if several else "was"
    guess = ""
    if found.alone is not None:
        guess = (
            f" The areas were shrunk towards a guess from the area of the rules alone ({found.alone:.3f}), "
            f"which had the share {found.share:.2f} by the variance of an area [@hanley1982]."
        )
    return (
        f"{subject} {verb} {found.factor:g} times the standard weight of the library. "
        f"This factor was chosen out of {listed(f'{a:g}' for a in factors)} by the area under the "
        f"ROC curve in {_validation(found)} within the training rows ({scores}; 1 in a tie).{guess}"
    )


def _validation(found: Any) -> str:
    """Return the cross-validation in words; a model of an earlier file has no number of folds."""
    folds = f"{found.folds}-fold " if found.folds else ""
    drawn = f", the mean of {found.repeats} draws of the folds," if found.repeats > 1 else ""
    return f"stratified {folds}cross-validation{drawn}"


def _solver(binaries: list[BinaryModel], members: list[Member]) -> str:
    from .. import __version__

    names = list(dict.fromkeys(binary.outcome.solver for binary in binaries))
    words = (
        f"The problem was solved with priorsvm {__version__}, a scikit-learn [@pedregosa2011] classifier, "
    )
    sentences = [f"{words}by {listed(_route(name) for name in names)}."]
    worst = max(binary.certificate().worst for binary in binaries)
    if np.isfinite(worst):
        sentences.append(
            "Relative residuals of the optimality conditions, the duality gap included, were at most "
            f"{worst:.0e}."
        )
    local = [m.name for m in members if isinstance(m.block, Iterative) and not m.block.exact]
    if local:
        sentences.append(f"The solution may be a local optimum, because of {listed(local)}.")
    return " ".join(sentences)


def _route(name: str) -> str:
    route = find_route(name)
    if route is None or (route.solves and route.package != "priorsvm"):
        return f"{name} through CVXPY [@diamond2016]"
    words = f"its own solver {name}" if route.package == "priorsvm" else name
    return f"{words} [@{route.paper}]" if route.paper else words
