"""Models for all combinations of some parameter values, compiled once where only weights change."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import clone

from ._utils.cache import Cache, equal
from ._utils.deadline import Deadline
from ._utils.messages import did_you_mean, warn
from .errors import InvalidInput, Recompiled, UnknownParameter
from .function.memory import refusing_beyond_memory
from .parameters import check_parameters
from .prior import as_prior
from .problem.assemble import PARAMETER_ROWS
from .problem.collapse import fit_and_explain
from .solve.methods.neighbour import Neighbour
from .solve.model import BinaryModel
from .spec import Spec
from .training import solver_arguments, support_only, train
from .validation import Task, make_task
from .weights import with_weights

# Parameters that end so, and C, are weights: a new value does not change the compiled problem.
WEIGHTS = ("__weight", "__mu")


def fit_path(
    model: Any, X: Any, y: Any, values: Any, sample_weight: Any, row_parameters: dict[str, Any]
) -> list[Any]:
    """Return one fitted clone of ``model`` for every combination of values, the last key varying fastest.

    Parameters
    ----------
    model : PriorSVC
        Not changed.
    X, y, sample_weight
        As in :meth:`PriorSVC.fit`.
    values : dict of str to list
        Parameter name to values.
    row_parameters : dict
        Row parameters of blocks, by ``<block>__<parameter>``.
    """
    _check_values(values)
    with refusing_beyond_memory():
        return _fitted_path(model, values, (X, y, sample_weight, row_parameters))


def _fitted_path(model: Any, values: dict[str, Any], arguments: tuple[Any, ...]) -> list[Any]:
    """Return the fitted models of a path; ``arguments`` are those of ``fit``."""
    tasks = list(_tasks(model, values, arguments))
    maps = Cache()
    grams = Cache()
    recompiled = False
    models: list[Any] = []
    neighbours: list[Neighbour] = []
    for member, checked in tasks:
        limited = checked.until(Deadline.after(member.max_seconds))
        task = with_weights(member, limited, arguments)
        if member.multi_class == "joint":
            binaries = train(member, task)
        else:
            previous = _previous(models, member, task)
            if len(neighbours) != len(task.samples):
                neighbours = [Neighbour() for _ in task.samples]
            binaries = _fit_next(member, task, previous, neighbours, maps, grams)
            recompiled = recompiled or any(map(_is_recompiled, previous, binaries))
        member._store(task, binaries)
        models.append(member)
    _release(models)
    if recompiled:
        _warn_of_compilations(list(values))
    return models


def _tasks(model: Any, values: dict[str, Any], arguments: tuple[Any, ...]) -> Iterator[tuple[Any, Task]]:
    """Yield a clone of the model and its task for each combination; a new C repeats the checks of C only."""
    known: tuple[Any, Task] | None = None
    before: dict[str, Any] = {}
    for combination in itertools.product(*values.values()):
        chosen = dict(zip(values, combination, strict=True))
        member = with_values(clone(model), chosen)
        others_equal = all(equal(chosen[key], before.get(key)) for key in values if key != "C")
        if known is None or not others_equal or np.inf in (known[0].C, member.C):
            known = member, make_task(member, *arguments)
        else:
            check_parameters(member)
            for name in ("n_features_in_", "feature_names_in_"):
                if hasattr(known[0], name):
                    setattr(member, name, getattr(known[0], name))
            known = member, replace(known[1], spec=replace(known[1].spec, C=float(member.C)))
        before = chosen
        yield member, known[1]


def _check_values(values: Any) -> None:
    if not isinstance(values, dict) or not values:
        raise InvalidInput(
            "values must be a dict from parameter name to a list of values, for example {'C': [1, 10]}."
        )
    for key, options in values.items():
        if not isinstance(key, str):
            raise InvalidInput(f"the keys of values must be parameter names such as 'C', got {key!r}.")
        ordered = isinstance(options, Collection) and not isinstance(options, (str, Set, Mapping))
        if not ordered or getattr(options, "ndim", 1) == 0 or len(options) == 0:
            raise InvalidInput(
                f"values[{key!r}] must be a nonempty list of values in order, got {options!r}."
            )


def with_values(model: Any, combination: dict[str, Any], caller: str = "fit_path") -> Any:
    """Set these parameters of the model or of its blocks, and return the model."""
    parameters = model.get_params(deep=False)
    prior = as_prior(model.prior)
    for key, value in combination.items():
        key = key.removeprefix("prior__")  # the name in a grid search
        if key == "C":  # set_params lists the parameters of all blocks
            model.C = value
            continue
        if key in parameters or key.startswith("kernel__"):
            model.set_params(**{key: value})
            continue
        known = prior.get_params()
        if "__" not in key or key not in known:
            options = sorted([*parameters, *(k for k in known if "__" in k)])
            raise UnknownParameter(
                f"{caller}: unknown parameter {key!r}.{did_you_mean(key, options)} "
                f"The parameters are: {', '.join(options)}."
            )
        prior.set_params(**{key: value})
        model.prior = prior
    return model


def _previous(models: Sequence[Any], model: Any, task: Task) -> list[BinaryModel | None]:
    """Return the fitted model of each class one step earlier on the path, or None for each class."""
    if not models or models[-1].multi_class != model.multi_class:
        return [None] * len(task.samples)
    binaries = models[-1]._models
    return binaries if len(binaries) == len(task.samples) else [None] * len(task.samples)


def _fit_next(
    model: Any,
    task: Task,
    previous: Sequence[BinaryModel | None],
    neighbours: Sequence[Neighbour],
    maps: Cache,
    grams: Cache,
) -> list[BinaryModel]:
    """Fit the classes of one step, each starting from the problem and the solution of the step before."""
    binaries = []
    for sample, before, neighbour in zip(task.samples, previous, neighbours, strict=True):
        if model.preselect:
            sample = support_only(model, task, sample, maps, grams)
        reusable = before is not None and differ_in_weights(before.spec, task.spec)
        binary = fit_and_explain(
            task.spec,
            task.members(sample),
            sample,
            **solver_arguments(model),
            maps=maps,
            grams=grams,
            before=before if reusable else None,
            neighbour=neighbour,
        )
        binaries.append(binary)
    return binaries


def differ_in_weights(a: Spec, b: Spec) -> bool:
    """Return whether two specifications differ at most in C and tol."""
    return all(
        equal(getattr(a, part), getattr(b, part)) for part in ("hard", "norm", "loss", "n_centres", "kernel")
    ) and equal(a.scale and vars(a.scale), b.scale and vars(b.scale))


def _is_recompiled(before: BinaryModel | None, binary: BinaryModel) -> bool:
    """Return whether a problem was assembled although the step before assembled one, too."""
    if before is None or binary.compiled in (None, before.compiled):
        return False
    if before.spec.hard != binary.spec.hard:  # a hard margin is another problem
        return False
    # Refinement replaces the first problem, so there is nothing to reuse after several rounds.
    return len(before.history) == len(binary.history) == 1


def _release(models: Sequence[Any]) -> None:
    """Drop shared problems: all models of a path share one, which has the weights of the last model."""
    for model in models:
        for binary in model._models:
            binary.release()
            if model is not models[-1]:
                binary.compiled = None


def _warn_of_compilations(keys: list[str]) -> None:
    changing = [key for key in keys if key != "C" and not key.endswith(WEIGHTS)]
    warn(
        f"the path over {', '.join(changing or keys)} could not keep its compiled problem, because a value "
        "changes more than weights. C and penalty weights keep it. Outer weights keep it unless a weight is "
        f"0 or there are more than {PARAMETER_ROWS} rows.",
        Recompiled,
    )
