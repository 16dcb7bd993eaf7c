"""From a task to fitted models: one per class or pair, or one for all classes, in one process or several."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import partial
from typing import Any

from ._utils.cache import Cache
from ._utils.messages import warn
from ._utils.progress import progress
from .problem.collapse import fit_and_explain, warn_of_collapse
from .sample import Sample
from .solve.loop import fit_binary, refuse_conflicts
from .solve.model import BinaryModel
from .solve.registry import canonical
from .spec import Spec
from .validation import Task


def workers(n_jobs: int | None) -> AbstractContextManager[Any]:
    """Return a context in which joblib uses ``n_jobs`` workers; None keeps the surrounding setting."""
    from joblib import parallel_config

    return nullcontext() if n_jobs is None else parallel_config(n_jobs=n_jobs)


def train(
    model: Any,
    task: Task,
    states: Sequence[dict[str, Any]] | None = None,
    grams: Cache | None = None,
    explained: bool = True,
) -> list[BinaryModel]:
    """Return the fitted model of each class or pair of classes, or one fitted model of all classes.

    Parameters
    ----------
    model : PriorSVC
        Its parameters.
    task : Task
        Its checked arguments.
    states : list of dict or None, default=None
        First states of the blocks of each model, if they are known. The joint model and models of
        preselected rows do not use them.
    grams : Cache or None, default=None
        Kernel matrices, shared with other tasks. Processes and the joint model do not use them.
    explained : bool, default=True
        Whether to compute the findings and the warnings of the blocks. A cross-validation has no use for
        them.
    """
    if model.multi_class == "joint":
        return [_train_joint(model, task)]
    several = len(task.samples) > 1
    maps = Cache()
    if grams is None and several:
        grams = Cache()
    samples = task.samples
    first: Sequence[dict[str, Any] | None] = [None] * len(samples)
    if states is not None and not model.preselect:
        first = states
    if model.preselect:
        samples = [support_only(model, task, sample, maps, grams) for sample in samples]
    if several:  # conflicts of a later class are found before the first class is fitted
        for sample in samples:
            refuse_conflicts(task.spec, task.members(sample), sample)
    if several and model.n_jobs not in (None, 1):
        return _train_in_processes(model, task, samples)
    if several:
        samples = progress(model.verbose, samples, desc="classes")
    arguments = solver_arguments(model)
    fit = fit_and_explain if explained else partial(fit_binary, explained=False)
    binaries = [
        fit(task.spec, task.members(sample), sample, **arguments, maps=maps, grams=grams, states=known)
        for sample, known in zip(samples, first, strict=True)
    ]
    for binary in binaries:
        binary.release()
    return binaries


def solver_arguments(model: Any) -> dict[str, Any]:
    """Return the arguments of ``fit_binary`` that are parameters of PriorSVC."""
    return {
        "solver": model.solver,
        "options": model.solver_options,
        "max_rounds": model.max_rounds,
        "verbose": model.verbose,
    }


def support_only(model: Any, task: Task, sample: Sample, maps: Cache, grams: Cache | None) -> Sample:
    """Return the training set with cost 0 at rows that are not support vectors without the blocks."""
    # COLUMNS is for blocks, which this first model does not have.
    solver = canonical(model.solver)
    options = model.solver_options
    if not isinstance(solver, str):
        solver = [name for name in solver if name != "COLUMNS"]
    if solver in ("COLUMNS", []):
        solver = "auto"
        options = None
    first = fit_binary(
        _without_transforms(task.spec),
        [],
        sample,
        solver,
        options,
        verbose=model.verbose,
        maps=maps,
        grams=grams,
    )
    kept = first.support[: sample.n_train].astype(float)
    return sample.changed_by("preselect", sample.with_factor(kept), 1.0)


def _without_transforms(spec: Spec) -> Spec:
    """Return the specification with the base of a kernel that transforms rows."""
    from .kernels.standard import Linear

    if spec.kernel is None or spec.kernel.plain is spec.kernel:
        return spec
    if isinstance(spec.kernel.plain, Linear):
        return replace(spec, kernel=None, n_centres=None)
    return replace(spec, kernel=spec.kernel.plain)


def _train_joint(model: Any, task: Task) -> BinaryModel:
    from .solve.joint import fit_joint

    members = list(task.prior)
    options = model.solver_options
    binary = fit_joint(task.spec, members, task.samples[0], model.max_rounds, model.verbose, options)
    warn_of_collapse(binary)
    return binary


def _train_in_processes(model: Any, task: Task, samples: list[Sample]) -> list[BinaryModel]:
    """Fit the classes in parallel and issue their warnings here; CVXPY is not thread-safe."""
    from joblib import Parallel, delayed

    arguments = solver_arguments(model)
    jobs = (
        delayed(_fit_and_record)(task.spec, task.members(sample), sample, **arguments) for sample in samples
    )
    binaries = []
    for binary, caught in Parallel(n_jobs=model.n_jobs, verbose=10 * model.verbose)(jobs):
        for message, category in caught:
            warn(message, category)
        binaries.append(binary)
    return binaries


def _fit_and_record(*arguments: Any, **keywords: Any) -> tuple[BinaryModel, list[tuple[str, type[Warning]]]]:
    """Return a fitted model and its warnings, which another process would lose."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        binary = fit_and_explain(*arguments, **keywords)
    return binary, [(str(w.message), w.category) for w in caught]
