"""Warnings for a constant f: a block forces it, or no f of this kind separates the classes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._utils.arrays import Array
from .._utils.messages import collecting, warn
from ..errors import CollapsedModel, OutOfTime, PriorSVMWarning, SolverFailed
from ..knowledge.rows.class_costs import ClassCosts
from ..prior import Member, live
from ..solve.loop import changes_costs, fit_binary, of_class
from ..solve.model import BinaryModel

# An f that varies less over the training rows is constant; nearly constant, if it also has one sign.
CONSTANT = 1e-3
NEARLY_CONSTANT = 0.1
# Up to this many rows, a model without the blocks is fitted to find out whether a block is the cause.
MAX_ROWS = 5000
# Rows at which f is evaluated first: most functions that are not constant already differ there.
FEW = 50
# A class with a smaller share of the rows is rare.
RARE = 1 / 3


def fit_and_explain(*arguments: Any, **keywords: Any) -> BinaryModel:
    """Return :func:`fit_binary`, with a warning that names the cause if f is constant.

    If f is constant without the blocks too, the classes are the cause. Otherwise the cause is the block with
    the largest dual variables, or else the block without whose penalty f is not constant. Without a cause
    there is no warning, as for a small C.
    """
    binary = fit_binary(*arguments, **keywords)
    if binary.spec.deadline.passed:
        return binary
    warning = _block_warning(binary) or _penalty_warning(binary)
    members = live(binary.members)
    costs = [m for m in members if changes_costs(m)]
    others = len(costs) < len(members)
    if warning or (_has_rare_class(binary, costs) and _is_constant(binary)):
        few = binary.training.n_train <= MAX_ROWS
        if not others or (few and _is_constant_without(binary, costs)):
            warning = _class_warning(binary, costs, others)
        if warning:
            warn(warning, CollapsedModel)
    return binary


def warn_of_collapse(binary: BinaryModel) -> None:
    """Warn if a block leaves a constant f; a joint model of all classes is not fitted again."""
    warning = _block_warning(binary)
    if warning:
        warn(warning, CollapsedModel)


def _block_warning(binary: BinaryModel) -> str | None:
    """Return the warning for the block whose dual variables leave a constant f, or None."""
    members = [m for m in live(binary.members) if m.block.way_out_of_collapse is not None]
    if not members or (_is_approximate(binary) and binary.outcome.residuals.gap > binary.spec.tol):
        return None
    duals = {m.name: sum(float(np.abs(d).sum()) for d in binary.duals_of(m.name).values()) for m in members}
    member = max(members, key=lambda m: duals[m.name])
    if duals[member.name] <= 1e-3 * (1.0 + float(binary.alpha.sum())):
        return None
    values = _values(binary)
    spread = float(np.ptp(values))
    one_sign = len(binary.functions) == 1 and bool(np.all(values > 0) or np.all(values < 0))
    # A soft block, or rows that overlap, can leave a nearly constant f for a rare class.
    nearly = getattr(member.block, "hard", False) and one_sign and spread < NEARLY_CONSTANT
    return _named(binary, member, spread) if spread < CONSTANT or nearly else None


def _penalty_warning(binary: BinaryModel) -> str | None:
    """Return the warning for the block without whose penalty f is not constant, or None.

    A penalty has no dual variables, so that models without the blocks are fitted: one block after the other
    is left out, until f varies.
    """
    penalised = {name for name, _ in binary.penalties}
    kept = live(binary.members)
    suspects = [m for m in kept if m.name in penalised and m.block.way_out_of_collapse is not None]
    if not suspects or binary.training.n_train > MAX_ROWS:
        return None
    spread = float(np.ptp(_values(binary)))
    if spread >= CONSTANT:
        return None
    for suspect in suspects:
        kept = [m for m in kept if m is not suspect]
        without = _fit_with(binary, kept)
        if without is not None and np.ptp(_values(without)) >= CONSTANT:
            return _named(binary, suspect, spread)
    return None


def _is_approximate(binary: BinaryModel) -> bool:
    return binary.outcome.solver == "PEGASOS"


def _values(binary: BinaryModel) -> Array:
    """Return f at the training rows of positive weight."""
    return binary.values(binary.training.X)[binary.training.weights > 0]


def _named(binary: BinaryModel, member: Member, spread: float) -> str:
    """Return the warning that names a block."""
    constant = "constant"
    where = "the training rows"
    if spread >= CONSTANT:
        constant = "nearly constant"
        where = "the training rows, with one sign"
    way_out = member.block.way_out_of_collapse
    if _is_approximate(binary):
        way_out += f" Or f = 0 is within tol={binary.spec.tol:g} already: lower tol and raise max_rounds."
    return (
        f"block '{member.name}' leaves a {constant} f{of_class(binary.training)} (it varies by {spread:.0e} "
        f"over {where}). {way_out}"
    )


def _has_rare_class(binary: BinaryModel, costs: Sequence[Member]) -> bool:
    """Return whether one of two classes has few rows, and no block balances the costs."""
    training = binary.training
    positive = np.mean(training.y_train[training.weights > 0] > 0)
    return (
        training.negative is not None
        and bool(min(positive, 1 - positive) < RARE)
        and not any(isinstance(m.block, ClassCosts) for m in costs)
    )


def _is_constant(binary: BinaryModel) -> bool:
    """Return whether f has one sign and nearly one value at all training rows."""
    X = binary.training.weighted_rows()[0]
    few = X[np.linspace(0, X.shape[0] - 1, min(X.shape[0], FEW)).astype(int)]
    return all(np.ptp(v) < CONSTANT and np.all(v > 0) == np.any(v > 0) for v in map(binary.f.value, (few, X)))


def _is_constant_without(binary: BinaryModel, kept: Sequence[Member]) -> bool:
    """Return whether f is constant in a model with these blocks alone; False if no solver succeeds."""
    without = _fit_with(binary, kept)
    return without is not None and _is_constant(without)


def _fit_with(binary: BinaryModel, kept: Sequence[Member]) -> BinaryModel | None:
    """Return the model with these blocks alone, or None if no solver succeeds."""
    try:
        with collecting(PriorSVMWarning):
            return fit_binary(binary.spec, kept, binary.training)
    except (SolverFailed, OutOfTime):
        return None


def _class_warning(binary: BinaryModel, costs: Sequence[Member], others: bool) -> str:
    """Return the warning that no f of this kind is better than a constant, with advice."""
    sample = binary.training
    positive = np.asarray(sample.positive).item()
    rest = "another class" if sample.negative is None else repr(sample.negative)
    values = binary.f.value(sample.weighted_rows()[0])
    without = ", and is constant without any block" if others else ""
    text = (
        f"f{of_class(sample)} is constant (it varies by {np.ptp(values):.0e} over the training rows, and "
        f"all rows are classified as {repr(positive) if values[0] > 0 else rest}){without}. "
    )
    if not _has_rare_class(binary, costs):
        return (
            f"{text}No f of this kind separates the classes at C={binary.spec.C:g}: use another kernel, "
            "or a larger C."
        )
    signs = sample.y_train[sample.weights > 0]
    n = len(signs)
    number = int(np.sum(signs > 0))
    rare = repr(positive)
    if 2 * number >= n:
        number = n - number
        rare = rest
    return (
        f"{text}{number} of {n} rows are {rare}: ClassCosts('balanced') gives both classes the same weight. "
        "Another kernel may separate them, too."
    )
