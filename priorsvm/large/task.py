"""From a row source to a task: checked parameters, facts of all rows, and blocks."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import InvalidInput, MissingCapability
from ..knowledge.checks import check_acts
from ..knowledge.traits import Completes, OnRowSlack
from ..parameters import check_parameters, seed_of
from ..prior import Prior, as_prior, live
from ..problem.naming import naming
from ..sample import Sample
from ..solve.registry import canonical
from ..spec import Spec
from ..validation import Task, finished_task, with_row_parameters
from .detect import described_source, row_source
from .facts import read_facts
from .loss_chunks import LargeRows
from .memory import planned
from .sources import RowSource

# Rows that are drawn in the first pass, at least so many for each column.
DRAWN = 20_000
FOR_FEATURE = 100

# Parameters of PriorSVC that rows in chunks require.
REQUIRED: dict[str, tuple[Any, str]] = {
    "norm": ("l2", "Use norm='l2'"),
    "loss": ("hinge", "The squared hinge needs second moments of all rows. Use loss='hinge'"),
    "preselect": (False, "Use preselect=False"),
}

# Advice for a block that needs all rows in memory.
ALONE = "Leave the block out,"
IMPUTE = "Leave the block out and impute in each chunk,"


def large_task(model: Any, X: Any, y: Any, sample_weight: Any, row_parameters: dict[str, Any]) -> Task:
    """Return the task of a fit on rows that are read in chunks, after the first pass.

    Parameters
    ----------
    model : PriorSVC
        Its parameters are checked; the only attributes set are ``n_features_in_`` and ``feature_names_in_``.
    X, y, sample_weight
        Row source, as in :meth:`PriorSVC.fit`.
    row_parameters : dict
        Row parameters of blocks, by ``<block>__<parameter>``.
    """
    check_parameters(model)
    prior = with_row_parameters(as_prior(model.prior), row_parameters)
    for name, block, _ in prior:
        check_acts(name, block)
    _refuse_parameters(model, described_source(X))
    _refuse_blocks(prior, described_source(X))
    source = row_source(X, y, sample_weight)
    if source.n_features == 0:
        raise InvalidInput(f"X is {described_source(X)} and has no feature. Give at least one column.")
    with_terms = not all(member.block.only_rows for member in live(prior))
    plan = planned(source, model.memory_limit, with_terms, model.verbose)
    source.size = plan.size
    _check_columns(prior, source)
    size = min(max(DRAWN, FOR_FEATURE * source.n_features), plan.most // 2)
    seed = seed_of(model.random_state)
    facts = read_facts(source, size, seed, model.verbose)
    names = None
    if source.feature_names is not None:
        names = np.array(source.feature_names, dtype=object)
    _set_columns(model, source.n_features, names)
    spec = Spec(float(model.C), None, "l2", "hinge", facts.scale(model.scale), None, float(model.tol))
    rows = facts.sample
    task = finished_task(
        model,
        prior,
        spec,
        rows.X,
        rows.labels,
        facts.classes,
        rows.weight,
        names,
        seed,
        names_of_rows=rows.index.astype(str),
        totals=facts.totals,
    )
    task.large = LargeRows(source, facts, plan, model.verbose)
    return task


def _refuse_parameters(model: Any, what: str) -> None:
    """Raise MissingCapability for parameters that need all rows in memory."""
    if not (isinstance(model.kernel, str) and model.kernel == "linear"):
        raise MissingCapability(
            f"X is {what}, whose rows are read in chunks, and kernel={model.kernel!r} needs all rows in "
            "memory. Use kernel='linear', fit a sample of the rows in memory (with n_centres if it is "
            "large), or give chunks transformed by sklearn.kernel_approximation.Nystroem."
        )
    for name, (value, advice) in REQUIRED.items():
        if getattr(model, name) != value:
            raise MissingCapability(
                f"X is {what}, whose rows are read in chunks, and {name}={getattr(model, name)!r} is not "
                f"available there. {advice}, or fit a sample of the rows in memory."
            )
    if model.multi_class == "joint":
        raise MissingCapability(
            f"X is {what}, whose rows are read in chunks, and multi_class='joint' needs all rows in memory. "
            "Use multi_class='ovr'."
        )
    if np.isinf(model.C):
        raise MissingCapability(
            f"X is {what}, whose rows are read in chunks, and C is infinite. Use a finite C."
        )
    names = canonical(model.solver)
    if names != "auto" and "CHUNKS" not in ([names] if isinstance(names, str) else names):
        raise MissingCapability(
            f"X is {what}, and solver={model.solver!r} needs all rows in memory. Use solver='auto', which "
            "selects CHUNKS."
        )


def _refuse_blocks(prior: Prior, what: str) -> None:
    """Raise MissingCapability for blocks that need all rows in memory."""
    for name, block, _ in live(prior):
        if isinstance(block, OnRowSlack):
            advice = IMPUTE if isinstance(block, Completes) else ALONE
            raise MissingCapability(
                f"block '{name}' has terms for each row, and X is {what}, whose rows are read in chunks. "
                f"{advice} or fit a sample of the rows in memory."
            )
        if "chunks" not in block.accepts:
            raise MissingCapability(
                f"block '{name}' uses all rows at once, and X is {what}, whose rows are read in chunks. "
                f"{ALONE} or fit a sample of the rows in memory."
            )
        for parameter in block.row_params:
            value = getattr(block, parameter)
            if value is not None and not callable(value):
                raise InvalidInput(
                    f"block '{name}': {parameter} is an array of all rows, and X is {what}, whose rows are "
                    "read in chunks. Give a function of (X, y), or sample_weight."
                )


def _check_columns(prior: Prior, source: RowSource) -> None:
    """Raise InvalidInput for columns of blocks that do not exist, before the rows are read."""
    names = source.feature_names
    none = np.zeros(0, int)
    columns = Sample.training(
        np.zeros((0, source.n_features)),
        none,
        none,
        None,
        feature_names=None if names is None else np.array(names, dtype=object),
    )
    for name, block, _ in live(prior):
        with naming(name):
            block.check_columns(columns)


def _set_columns(model: Any, n_features: int, names: Any) -> None:
    """Set the attributes of scikit-learn about the columns."""
    model.n_features_in_ = n_features
    vars(model).pop("feature_names_in_", None)
    if names is not None:
        model.feature_names_in_ = names
