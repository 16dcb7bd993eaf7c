"""Why a fitted f is a constant: what a block asks for, or classes that no f of this kind tells apart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._utils.messages import collecting, warn
from ..errors import CollapsedModel, PriorSVMWarning, SolverFailed
from ..knowledge.rows.class_costs import ClassCosts
from ..knowledge.traits import Iterative
from ..prior import Member
from ..solve.loop import fit_binary, of_class
from ..solve.model import BinaryModel

# An f that varies by less over the training rows is a constant; by less and without a change of sign, nearly.
CONSTANT = 1e-3
NEARLY_CONSTANT = 0.1
# Up to this many rows a model without the blocks is fitted to learn whether they are to blame.
MAX_ROWS = 5000
# Rows that tell most functions from a constant, before all are asked.
FEW = 50
# A smaller share of the rows is a rare class.
RARE = 1 / 3


def fit_and_explain(*arguments: Any, **keywords: Any) -> BinaryModel:
    """:func:`fit_binary`, and a warning if f is a constant that names the reason.

    The classes are blamed if f is as constant without the blocks, else the block that pushes hardest. Where
    none does, a rare class of two is worth a word; else a small C does it, on purpose.
    """
    binary = fit_binary(*arguments, **keywords)
    blamed = _blamed(binary)
    live = [m for m in binary.members if m.weight > 0]
    costs = [
        m
        for m in live
        if m.block.only_rows and not (m.block.prepares == "adds" or isinstance(m.block, Iterative))
    ]
    others = len(costs) < len(live)
    if blamed or (_has_rare_class(binary, costs) and _is_constant(binary)):
        few = binary.training.n_train <= MAX_ROWS
        if not others or (few and _is_constant_without(binary, costs)):
            blamed = _reason(binary, costs, others)
        if blamed:
            warn(blamed, CollapsedModel)
    return binary


def warn_of_collapse(binary: BinaryModel) -> None:
    """The same for one model of all classes, which is not fitted again: a block is blamed, or none."""
    blamed = _blamed(binary)
    if blamed:
        warn(blamed, CollapsedModel)


def _blamed(binary: BinaryModel) -> str | None:
    """That blocks have left nothing of f but its bias, and which of them pushes hardest; None if not so."""
    live = [m for m in binary.members if m.weight > 0]
    priced = [m for m in live if m.block.way_out_of_collapse is not None]
    passing = binary.outcome.solver == "PEGASOS"
    if not priced or (passing and binary.outcome.residuals.gap > binary.spec.tol):
        return None
    push = {m.name: sum(float(np.abs(d).sum()) for d in binary.own_duals(m.name).values()) for m in priced}
    name, block, _ = max(priced, key=lambda m: push[m.name])
    values = binary.values(binary.training.X)
    spread = float(np.ptp(values))
    one_sign = len(binary.functions) == 1 and bool(np.all(values > 0) or np.all(values < 0))
    # A soft block, or rows that overlap, may well leave little of f for a rare class.
    nearly = getattr(block, "hard", False) and one_sign and spread < NEARLY_CONSTANT
    if push[name] <= 1e-3 * (1.0 + float(binary.alpha.sum())) or not (spread < CONSTANT or nearly):
        return None
    less, alike = ("", "") if spread < CONSTANT else ("nearly ", ", and has one sign at all of them")
    way_out = block.way_out_of_collapse
    if passing:
        way_out += f" Or f = 0 is within tol={binary.spec.tol:g} already: lower tol and raise max_rounds."
    return (
        f"block '{name}' leaves a {less}constant f{of_class(binary.training)} (it varies by {spread:.0e} "
        f"over the training rows{alike}). {way_out}"
    )


def _has_rare_class(binary: BinaryModel, costs: Sequence[Member]) -> bool:
    """Whether one of two classes has few rows, and no costs that make up for it."""
    positive = np.mean(binary.training.y_train > 0)
    return (
        len(binary.training.classes) == 2
        and bool(min(positive, 1 - positive) < RARE)
        and not any(isinstance(m.block, ClassCosts) for m in costs)
    )


def _is_constant(binary: BinaryModel) -> bool:
    """Whether f gives all training rows one class, and very nearly one value."""
    X = binary.training.X
    few = X[np.linspace(0, X.shape[0] - 1, min(X.shape[0], FEW)).astype(int)]
    return all(np.ptp(v) < CONSTANT and np.all(v > 0) == np.any(v > 0) for v in map(binary.f.value, (few, X)))


def _is_constant_without(binary: BinaryModel, kept: Sequence[Member]) -> bool:
    """Whether a model with these blocks alone is constant too; not if it cannot be had."""
    try:
        with collecting(PriorSVMWarning):
            return _is_constant(fit_binary(binary.spec, kept, binary.training))
    except SolverFailed:
        return False


def _reason(binary: BinaryModel, costs: Sequence[Member], others: bool) -> str:
    """That no f of this kind does better than a constant, and what to try."""
    sample = binary.training
    classes = sample.classes.tolist()
    positive = np.asarray(sample.positive).item()
    rest = "another class" if len(classes) > 2 else repr(next(c for c in classes if c != positive))
    values = binary.f.value(sample.X)
    text = (
        f"f{f' for class {positive!r}' * (len(classes) > 2)} is constant (it varies by {np.ptp(values):.0e} "
        f"over the training rows, and all are taken for {repr(positive) if values[0] > 0 else rest})"
        f"{', and would be without any block' * others}. "
    )
    if not _has_rare_class(binary, costs):
        return (
            f"{text}No f of this kind tells the classes apart at C={binary.spec.C:g}: use another kernel, "
            "or a larger C."
        )
    count = int(np.sum(sample.y_train > 0))
    n = sample.n_train
    number, rare = (count, repr(positive)) if 2 * count < n else (n - count, rest)
    return (
        f"{text}{number} of {n} rows are {rare}: ClassCosts('balanced') lets them weigh as much as the "
        "others. Another kernel may tell them apart, too."
    )
