"""From a task to fitted models: one per class or pair, or one for all classes, in one process or several.

Weighted SVMs with a kernel are fitted in threads, because LIBSVM and BLAS run without Python's lock. A thread
that would need CVXPY stops (``CvxpyNeeded``), and its model is fitted afterwards. All other models are fitted
in processes, into which joblib maps the shared kernel matrix. Without it two workers took 2.4 times the time
of one process.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from ._utils.cache import Cache
from ._utils.deadline import Deadline
from ._utils.messages import collecting, warn
from ._utils.progress import progress
from ._utils.threads import CvxpyNeeded, single_threaded, without_cvxpy
from .function.memory import refusing_beyond_memory
from .prior import Member
from .problem.collapse import fit_and_explain, warn_of_collapse
from .sample import Sample
from .solve.loop import first_problem, fit_binary, refuse_conflicts
from .solve.model import BinaryModel
from .solve.registry import canonical, find_route, registry
from .solve.routes.weighted_route import WeightedRoute
from .spec import Spec
from .validation import Task, make_task

# Workers are used if this multiple of the seconds that are worth their start is left.
ROOM = 20.0


@contextmanager
def unchanged_on_failure(model: Any) -> Iterator[Any]:
    """Yield a copy of a model to fit; the model gets its attributes in one step, unless the fit fails."""
    trial = object.__new__(type(model))
    vars(trial).update(vars(model))
    with refusing_beyond_memory():
        yield trial
    model.__dict__ = vars(trial)


def limited_task(model: Any, arguments: tuple[Any, ...], checked: Callable[..., Task] = make_task) -> Task:
    """Return the task of a fit that has to end after ``max_seconds``, checks of arguments included."""
    start = time.time()
    task = checked(model, *arguments)
    seconds = model.max_seconds
    return task if seconds is None else task.until(Deadline(start + seconds, seconds))


def workers(n_jobs: int | None) -> AbstractContextManager[Any]:
    """Return a context in which joblib uses ``n_jobs`` workers; None keeps the surrounding setting."""
    from joblib import parallel_config

    return nullcontext() if n_jobs is None else parallel_config(n_jobs=n_jobs)


def train(
    model: Any,
    task: Task,
    states: Sequence[dict[str, Any]] | None = None,
    grams: Cache | None = None,
    rough: bool = False,
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
    rough : bool, default=False
        Whether a fit ends once its objective is stable, without findings and warnings of the blocks. A
        cross-validation needs no more.
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
    fit = partial(
        partial(fit_binary, rough=True) if rough else fit_and_explain,
        **solver_arguments(model),
        grams=grams,
        large=task.large,
    )
    jobs = [
        _Job(task.spec, task.members(sample), sample, known)
        for sample, known in zip(samples, first, strict=True)
    ]
    pool = None
    if several and model.n_jobs not in (None, 1) and task.large is None:
        pool = _Threads() if all(_is_free_of_cvxpy(model, job) for job in jobs) else _Processes()
    binaries = _train_here(model, jobs, partial(fit, maps=maps), grams, pool)
    if pool is not None and len(binaries) < len(jobs):
        binaries += pool.train(model, jobs[len(binaries) :], fit)
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
    binary.release()
    return binary


class _Job(NamedTuple):
    """One model to fit: the specification, the blocks, the rows and the first states of the blocks."""

    spec: Spec
    members: list[Member]
    sample: Sample
    states: dict[str, Any] | None

    def run(self, fit: Callable[..., BinaryModel], share: float = 1.0) -> BinaryModel:
        """Return the fitted model, after a share of the time that is left."""
        spec = self.spec
        if spec.deadline.limited:
            spec = spec.until(spec.deadline.part(share))
        return fit(spec, self.members, self.sample, states=self.states)


def _train_here(
    model: Any, jobs: list[_Job], fit: Callable[..., BinaryModel], grams: Cache | None, pool: _Pool | None
) -> list[BinaryModel]:
    """Fit models one after the other, until a pool of workers is worth its start for the remaining ones.

    Their time is expected to be that of the quickest model so far, without the kernel matrix that all share.
    """
    binaries: list[BinaryModel] = []
    seconds = np.inf
    for job in progress(model.verbose, jobs, desc="classes") if len(jobs) > 1 else jobs:
        before = 0.0 if grams is None else grams.seconds
        start = time.perf_counter()
        binaries.append(job.run(fit, 1.0 / (len(jobs) - len(binaries))))
        shared = 0.0 if grams is None else grams.seconds - before
        seconds = min(seconds, time.perf_counter() - start - shared)
        if pool is None or seconds * (len(jobs) - len(binaries)) <= pool.worth:
            continue
        # Workers whose start takes much of the time that is left would end without an answer.
        if job.spec.deadline.left > ROOM * pool.worth:
            break
    return binaries


def _is_free_of_cvxpy(model: Any, job: _Job) -> bool:
    """Return whether the model is a weighted SVM with a kernel, which is solved on arrays in most cases."""
    solver = canonical(model.solver)
    if job.spec.linear or not (solver == "auto" or isinstance(find_route(solver), WeightedRoute)):
        return False
    problem = first_problem(*job[:3], states=job.states or {})
    return registry()["LIBSVM"].obstacle(problem) is None


_Recorded: TypeAlias = "tuple[BinaryModel | None, list[tuple[str, type[Warning]]]]"


class _Pool:
    """Workers that fit models; their warnings are issued by this thread.

    Attributes
    ----------
    worth : seconds of work above which the workers are used.
    prefer : what joblib calls them.
    """

    worth: float
    prefer: str

    def train(self, model: Any, jobs: list[_Job], fit: Callable[..., BinaryModel]) -> list[BinaryModel]:
        """Return the fitted models."""
        from joblib import Parallel, delayed, effective_n_jobs

        parallel = Parallel(n_jobs=model.n_jobs, verbose=10 * model.verbose, prefer=self.prefer)
        share = min(1.0, effective_n_jobs(model.n_jobs) / len(jobs))
        with single_threaded():
            found = parallel(delayed(self.run)(job, fit, share) for job in jobs)
        binaries = []
        for job, (binary, caught) in zip(jobs, found, strict=True):
            for message, category in caught:
                warn(message, category)
            binaries.append(job.run(fit) if binary is None else binary)
        return binaries

    @staticmethod
    def run(job: _Job, fit: Callable[..., BinaryModel], share: float) -> _Recorded:
        """Return a fitted model and its warnings, or None if it must be fitted without workers."""
        raise NotImplementedError


class _Threads(_Pool):
    """Threads, for weighted SVMs with a kernel: LIBSVM and BLAS run without Python's lock."""

    worth = 0.1
    prefer = "threads"

    @staticmethod
    def run(job: _Job, fit: Callable[..., BinaryModel], share: float) -> _Recorded:
        try:
            with without_cvxpy(), collecting(Warning) as caught:
                return job.run(fit, share), caught
        except CvxpyNeeded:
            return None, []


class _Processes(_Pool):
    """Processes, because CVXPY is not thread-safe; joblib maps the shared kernel matrix into them."""

    worth = 1.0  # about a second passes until they have started
    prefer = "processes"

    def __init__(self) -> None:
        import cvxpy  # noqa: F401 - the import takes half a second, which is not part of a fit

    @staticmethod
    def run(job: _Job, fit: Callable[..., BinaryModel], share: float) -> _Recorded:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            binary = job.run(fit, share)
        return binary, [(str(w.message), w.category) for w in caught]
