r"""The scikit-learn face: fit is prepare, assemble, solve, keep arrays."""

from __future__ import annotations

import copy
import itertools
import warnings
from collections.abc import Collection, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import csr_array, issparse
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from ._utils.arrays import Array
from ._utils.cache import Cache, equal
from ._utils.checks import is_number
from ._utils.messages import did_you_mean, readable, warn
from ._utils.progress import progress
from .errors import (
    InvalidInput,
    InvalidType,
    KernelNotPSD,
    MissingCapability,
    NotFitted,
    Recompiled,
    UnknownParameter,
)
from .function.factor import require_psd, ways_out
from .function.fitted import FittedKernel, FittedLinear
from .function.scale import Scale
from .kernels.set_kernel import OnRows, as_sets, takes_sets
from .knowledge.base import MAX_CELLS, Knowledge, snake_case
from .knowledge.worst_case.invariant_loss import InvariantLoss
from .prior import Prior, as_prior, check_acts
from .problem.assemble import LIVE_ROWS
from .problem.collapse import fit_and_explain, warn_of_collapse
from .problem.naming import naming
from .sample import Sample
from .solve.loop import fit_machine, refuse_conflicts
from .solve.machine import Machine
from .solve.solvers import check_options, check_solver
from .spec import Spec

if TYPE_CHECKING:
    import cvxpy as cp

    from .explain.formulation import Formulation
    from .explain.report import Report
    from .explain.stability import Stability
    from .explain.verify import Verification


@dataclass(eq=False)
class _Task:
    """All that is needed to fit every machine of one estimator."""

    spec: Spec
    prior: Prior
    samples: list[Sample]


class PriorSVC(ClassifierMixin, BaseEstimator):
    r"""Support vector classifier that can be told what you already know.

    .. math:: \min_f\; \underbrace{\tfrac12\|f\|^2 + C \sum_i \xi_i}_{J_{SVM}} + \sum_k w_k J_{PK,k}(f)
              \quad\text{s.t.}\quad y_i f(x_i) \ge 1 - \xi_i,\; \xi \ge 0,\; c_{PK,k}(f) \le 0 .

    Parameters
    ----------
    prior : block, sum of blocks, or None
        What is known beforehand, for instance ``ClassCosts("balanced") + 0.5 * VirtualSamples(shift)``.
    C : float
        Weight of the slacks.
    kernel : "linear", "rbf", "poly", another of scikit-learn's pairwise kernels, Kernel, or function
        A function takes two matrices and returns the kernel matrix between their rows.
    norm : "l2" or "l1"
        :math:`\frac12\|f\|^2`, or the linear programme with the 1-norm of the coefficients (eq. 13 of
        Lauer & Bloch 2008), which takes any kernel.
    loss : "hinge" or "squared_hinge"
        :math:`C \sum \xi_i` or :math:`C \sum \xi_i^2`.
    scale : "standard", "minmax" or None
        Scaling of the columns inside f. Whatever blocks say stays in the units of X.
    n_centres : int, optional
        Expand f over that many centres only (a Nyström machine), for large data.
    multi_class : "ovr" or "joint"
        More than two classes are told apart one against the rest, or by one machine with a function for each
        (Crammer & Singer), which has no bias and takes :class:`InvariantLoss` and blocks that reweight rows.
    preselect : bool
        Fit on the support vectors of the plain machine only: without blocks, and with the base of a kernel
        that moves patterns.
    solver : "auto", a solver's name, or a list of names
        A name means that solver and no other; a list is an order of fall-back. ``priorsvm solvers`` lists
        them; "LIBSVM", "NORMAL", "SPARSE" (2-norm) and "CENTRES" (1-norm) are for problems that only add or
        reweight rows, "ROWS" for blocks that ask for values of f.
    solver_options : dict, optional
        Handed to the solver as they are; with a list of solvers, a dict of such dicts by their names.
    tol : float
        Relative residuals and duality gap that the answer is held to, 1e-6 by default; solvers run tighter.
    max_rounds : int
        Limit on the rounds of iterative blocks.
    n_jobs : int, optional
        Processes for one-vs-rest machines, and for the search for worst moves; joblib's backends such as
        dask work too.
    verbose : int
        1 shows progress bars at once; else they show on a terminal after ten seconds.
    random_state : int, RandomState or None
        Where the draws of blocks start; None is deterministic too.

    Attributes
    ----------
    classes_, n_features_in_, feature_names_in_ : as in scikit-learn; +1 is ``classes_[1]``.
    intercept_ : the bias of each machine. ``X @ coef_.T + intercept_`` is the decision function of a linear
        machine, ``kernel_(X, centres_) @ dual_coef_.T + intercept_`` that of a kernel machine without
        ``scale``; blocks on slopes add what ``slopes_`` has.
    kernel_ : the kernel with its parameters as numbers; None for a linear machine.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from priorsvm import ClassCosts, PriorSVC
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = PriorSVC(ClassCosts({0: 5}), kernel="rbf", scale="standard").fit(X, y)
    >>> bool(model.score(X, y) > 0.97)
    True
    """

    def __init__(
        self,
        prior: Any = None,
        *,
        C: float = 1.0,
        kernel: Any = "linear",
        norm: str = "l2",
        loss: str = "hinge",
        scale: str | None = None,
        n_centres: int | None = None,
        multi_class: str = "ovr",
        preselect: bool = False,
        solver: str | Sequence[str] = "auto",
        solver_options: dict[str, Any] | None = None,
        tol: float = 1e-6,
        max_rounds: int = 100,
        n_jobs: int | None = None,
        verbose: int = 0,
        random_state: Any = None,
    ):
        self.prior = prior
        self.C = C
        self.kernel = kernel
        self.norm = norm
        self.loss = loss
        self.scale = scale
        self.n_centres = n_centres
        self.multi_class = multi_class
        self.preselect = preselect
        self.solver = solver
        self.solver_options = solver_options
        self.tol = tol
        self.max_rounds = max_rounds
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state

    # ------------------------------------------------------------------ fitting

    def set_params(self, **params: Any) -> PriorSVC:
        """Set parameters; those of a single block also by its name, ``prior__rule__mu``, as in a sum.

        Parameters
        ----------
        **params : values by name

        Examples
        --------
        >>> from priorsvm import OddnessHint, PriorSVC
        >>> PriorSVC(OddnessHint()).set_params(prior__oddness_hint__mu=3.0).prior["oddness_hint"]
        OddnessHint(mu=3.0)
        """
        block = self.prior
        if isinstance(block, Knowledge):
            prefix = f"prior__{snake_case(type(block).__name__)}"
            if any(key == prefix or key.startswith(f"{prefix}__") for key in params):
                self.prior = as_prior(block)
        inside = [key for key in params if key.startswith("kernel__")]
        if inside and not hasattr(kernel := params.get("kernel", self.kernel), "set_params"):
            raise InvalidInput(_no_parameters(kernel, inside[0]))
        super().set_params(**params)
        return self

    def fit(self, X: Any, y: Any, sample_weight: Any = None, **rows: Any) -> PriorSVC:
        """Fit the machine, or one for each class.

        Parameters
        ----------
        X : (n, d) array or DataFrame; a linear machine also takes a sparse matrix
            With a kernel between sets of vectors: a list of (m, d) arrays, or an (n, m, d) array.
        y : (n,) array of classes
        sample_weight : (n,) array, optional
            Factor on C per row; a row of weight 2 counts as if it were there twice.
        **rows : arrays with one entry per row
            Row parameters of blocks, as ``<block>__<parameter>``.

        Examples
        --------
        >>> from priorsvm import PriorSVC, SampleCosts
        >>> X, y = [[0.0], [1.0], [2.0]], [0, 1, 0]
        >>> PriorSVC(SampleCosts()).fit(X, y, sample_costs__costs=[1, 5, 0]).predict([[2.0]])
        array([1])
        """
        from joblib import parallel_config

        task = self._task(X, y, sample_weight, rows)
        with nullcontext() if self.n_jobs is None else parallel_config(n_jobs=self.n_jobs):
            self._keep(task, self._fit_machines(task))
        return self

    def _fit_machines(self, task: _Task) -> list[Machine]:
        arguments: dict[str, Any] = {
            "solver": self.solver,
            "options": self.solver_options,
            "max_rounds": self.max_rounds,
            "verbose": self.verbose,
        }
        members = list(task.prior)
        many = len(task.samples) > 1
        if self.multi_class == "joint":
            from .solve.joint import fit_joint

            machine = fit_joint(task.spec, members, task.samples[0], self.max_rounds, self.verbose)
            warn_of_collapse(machine)
            return [machine]
        shared: dict[str, Any] = {"maps": Cache(), "grams": Cache() if many else None}
        samples = task.samples
        if self.preselect:
            samples = [self._support_only(task, sample, shared) for sample in samples]
        if many:  # no machine is fitted in vain
            for sample in samples:
                refuse_conflicts(task.spec, members, sample)
        if many and self.n_jobs not in (None, 1):
            from joblib import Parallel, delayed

            # CVXPY is not thread-safe, so parallel work is processes.
            jobs = (delayed(_fit_and_record)(task.spec, members, sample, **arguments) for sample in samples)
            machines = []
            for machine, caught in Parallel(n_jobs=self.n_jobs, verbose=10 * self.verbose)(jobs):
                for message, category in caught:
                    warn(message, category)
                machines.append(machine)
            return machines
        if many:
            samples = progress(self.verbose, samples, desc="classes")
        machines = [fit_and_explain(task.spec, members, sample, **arguments, **shared) for sample in samples]
        for machine in machines:
            machine.release()
        return machines

    def _support_only(self, task: _Task, sample: Sample, shared: dict[str, Any]) -> Sample:
        """The training set without the rows that are no support vectors of the plain machine."""
        solver: Any = self.solver  # COLUMNS is for what the plain machine has not, and takes no options
        solver = solver if isinstance(solver, str) else [name for name in solver if name != "COLUMNS"]
        options = self.solver_options
        if solver in ("COLUMNS", []):
            solver = "auto"
            options = None
        plain = fit_machine(
            _without_moves(task.spec), [], sample, solver, options, verbose=self.verbose, **shared
        )
        kept = plain.support[: sample.n_train].astype(float)
        return sample.changed_by("preselect", sample.with_factor(kept), 1.0)

    def _keep(self, task: _Task, machines: list[Machine]) -> None:
        self._machines = machines
        self.kernel_ = task.spec.kernel
        self.intercept_ = np.array([f.bias for machine in machines for f in machine.functions])

    def _task(self, X: Any, y: Any, sample_weight: Any, rows: dict[str, Any]) -> _Task:
        """Check everything that can be checked before heavy work, and make the plain samples."""
        self._check_parameters()
        prior = self._with_rows(as_prior(self.prior), rows)
        for name, block, _ in prior:
            check_acts(name, block)
        imputers = [m for m in prior if m.block.allow_nan and m.weight > 0]
        if len(imputers) > 1:
            both = " and ".join(f"'{m.name}'" for m in imputers)
            raise InvalidInput(f"blocks {both} both deal with missing values: keep one of them.")
        checks: dict[str, Any] = {"dtype": np.float64, "ensure_min_samples": 2}
        kernel = self.kernel
        width = None
        if takes_sets(kernel):
            X, width = self._rows_of_sets(X, prior)
            kernel = OnRows(kernel, width)
        elif isinstance(X, (list, np.ndarray)) and len(X) and np.ndim(X[0]) == 2:
            raise InvalidInput(
                f"Found array with dim 3: X[0] has shape {np.shape(X[0])}, and this kernel compares rows. "
                "Images are rows once flattened, X.reshape(len(X), -1); sets of vectors go with the kernels "
                "Bhattacharyya() and PrincipalAngles()."
            )
        if issparse(X):
            self._check_sparse(prior)
            checks["accept_sparse"] = "csr"
        idle = next((m.name for m in prior if m.block.allow_nan and m.weight == 0), None)
        with _naming_bad_values(X, idle):
            finite = "allow-nan" if imputers else True
            X, y = validate_data(
                self, X, y, skip_check_array=_is_plain(X, y), ensure_all_finite=finite, **checks
            )
        if width is not None:
            self.n_features_in_ = width  # of a vector; sets may have any number of them
        try:
            if y.dtype.kind not in "biuUS":  # whole numbers and words need no further look
                check_classification_targets(y)
            self.classes_ = np.unique(y)
        except TypeError as error:
            raise InvalidInput("y mixes words and numbers: use one kind of label.") from error
        if len(self.classes_) < 2:
            raise InvalidInput(
                f"y holds one class only, {self.classes_.tolist()[0]!r}: two classes are needed."
            )
        weight = None
        if sample_weight is not None:
            weight = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
            for label in self.classes_.tolist():
                if not np.any(weight[y == label] > 0):
                    raise InvalidInput(
                        f"sample_weight leaves no row of class {label!r}: every class needs one."
                    )
        if issparse(X):
            X = csr_array(X, copy=not X.has_canonical_format)
            X.sum_duplicates()
        names = getattr(self, "feature_names_in_", None)
        seed = 0
        if self.random_state is not None:
            seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        positives = self.classes_.tolist()[1:] if len(self.classes_) == 2 else self.classes_.tolist()
        missing = None
        for name, block, _ in imputers:
            with naming(name):
                missing = block.complete(X, y, np.ones(len(X)) if weight is None else weight, names)
                X = missing.X
        scale = Scale.of(self.scale, X, weight)
        inner = X if scale is None else scale.points(X)
        spec = Spec(
            float(self.C),
            self._resolved_kernel(kernel, inner, weight),
            self.norm,
            self.loss,
            scale,
            self.n_centres,
            float(self.tol),
        )
        if self.multi_class == "joint":
            positives = ["all classes"]
        samples = [
            Sample.training(X, y, self.classes_, p, weight, names, seed, spec, missing) for p in positives
        ]
        for name, block, _ in prior:
            with naming(name):
                for sample in samples:
                    block.validate(sample)
        self._check_moved(prior)
        self._check_joint(prior, samples[0])
        return _Task(spec, prior, samples)

    def _check_moved(self, prior: Prior) -> None:
        """Refuse what speaks of the training rows as they were given, if another block moves them."""
        live = [m for m in prior if m.weight > 0]
        movers = [m.name for m in live if m.block.moves_rows]
        fixed = [m.name for m in live if m.block.shares_slack]
        if len(movers) > 1:
            raise InvalidInput(
                f"blocks '{movers[0]}' and '{movers[1]}' both move the training rows: keep one of them."
            )
        if movers and fixed:
            raise InvalidInput(
                f"block '{movers[0]}' moves the training rows, and block '{fixed[0]}' asks for the margin at "
                "the worst they may be as they were given: keep one of them."
            )

    def _check_joint(self, prior: Prior, sample: Sample) -> None:
        """Refuse what a machine of all classes has not, and what only such a machine has."""
        joint = self.multi_class == "joint"
        live = [m for m in prior if m.weight > 0]
        losses = [m for m in live if isinstance(m.block, InvariantLoss)]
        for name, block, _ in losses:
            with naming(name):
                if joint:
                    block.check_joint(sample)
                elif block.confusion is not None:
                    raise InvalidInput("confusion is for multi_class='joint'.")
        if not joint:
            return
        for parameter, only in (
            ("norm", "l2"),
            ("loss", "hinge"),
            ("n_centres", None),
            ("preselect", False),
        ):
            if getattr(self, parameter) != only:
                raise InvalidInput(f"multi_class='joint' has {parameter}={only!r} only.")
        if self.solver not in ("auto", "COLUMNS") or self.solver_options:
            raise InvalidInput(
                "multi_class='joint' has its own solver: leave solver='auto', without options."
            )
        others = [m.name for m in live if not m.block.only_rows or m.block.adds_rows or m.block.iterative]
        others = [name for name in others if name not in [m.name for m in losses[:1]]]
        if others:
            raise MissingCapability(
                f"block '{others[0]}': multi_class='joint' takes one InvariantLoss and blocks that reweight "
                "rows. Use multi_class='ovr'."
            )

    def _check_sparse(self, prior: Prior) -> None:
        """Refuse a sparse X where its rows would have to be made dense."""
        dense = "or make it dense with X.toarray()."
        if not isinstance(self.kernel, str) or self.kernel != "linear":
            raise InvalidType(f"sparse X is for linear machines: use kernel='linear', {dense}")
        if self.scale is not None:
            raise InvalidType(
                f"scale={self.scale!r} would move zeros and leave nothing sparse of X. Use scale=None with, "
                f"for instance, scikit-learn's MaxAbsScaler before it, {dense}"
            )
        for name, block, weight in prior:
            if weight > 0 and not block.takes_sparse:
                raise InvalidType(f"block '{name}' takes no sparse X: leave it out, {dense}")

    def _rows_of_sets(self, X: Any, prior: Prior) -> tuple[Array, int]:
        """Sets of vectors as rows, and the width of a vector; refuse what makes no sense of them."""
        if self.scale is not None:
            raise InvalidInput(
                f"scale={self.scale!r} scales the columns of a table, and the samples are sets of vectors: "
                "scale the vectors before they are put into sets, and use scale=None."
            )
        sets = as_sets(X, "X")
        if len(sets) == 0:
            raise InvalidInput("X holds no set of vectors.")
        for name, block, weight in prior:
            if weight > 0 and not (sets.of_one_size or block.takes_sets):
                raise InvalidInput(
                    f"block '{name}' speaks of columns, and sets of {sets.sizes.min()} to {sets.sizes.max()} "
                    "vectors have no columns in common. Leave it out, or give sets of one size: column "
                    "d i + j is then entry j of vector i."
                )
        return sets.rows(), sets.width

    def _resolved_kernel(self, kernel: Any, X: Array, weight: Array | None) -> Any:
        """The kernel with numbers for "scale", or None for the linear machine."""
        from .kernels.base import resolve_kernel
        from .kernels.spectrum import Spectral
        from .kernels.standard import Linear
        from .transforms.base import Transform

        kernel = resolve_kernel(kernel, X.shape[1], X, weight)
        if isinstance(kernel, Linear):
            return None
        if self.scale is not None and any(isinstance(p, Transform) for p in kernel.get_params().values()):
            raise InvalidInput(
                f"kernel {kernel!r} moves rows by a transform, which speaks the units of X, and "
                f"scale={self.scale!r} changes them first. Use scale=None, and "
                "divide all of X by one number if it needs to be smaller."
            )
        known = kernel.definiteness
        if self.norm == "l2" and (
            known in ("indefinite", "cpd") or (isinstance(kernel, Spectral) and known == "unknown")
        ):
            # Some rows may go well with a kernel that has to be mended; the next ones then would not.
            what = {"cpd": "only conditionally positive definite"}.get(known, "not positive definite")
            raise KernelNotPSD(
                f"kernel {kernel!r} is {what}, and norm='l2' needs a positive semidefinite one. "
                f"{ways_out(kernel)}"
            )
        if self.norm == "l2" and kernel.definiteness != "psd":
            # A glance at some rows finds most of what is wrong before any heavy work; all rows follow later.
            seen = X if weight is None else X[weight > 0]
            few = seen[np.linspace(0, len(seen) - 1, min(len(seen), 200)).round().astype(int)]
            require_psd(kernel, np.asarray(kernel(few, few)))
        return kernel

    def _check_parameters(self) -> None:
        if not is_number(self.C) or not 0 < self.C < float("inf"):
            raise InvalidInput(f"C must be a positive number, got {self.C!r}.")
        if not is_number(self.tol) or not 0 < self.tol < 1:
            raise InvalidInput(f"tol must be a number between 0 and 1, got {self.tol!r}.")
        for name, value, allowed in (
            ("norm", self.norm, ("l2", "l1")),
            ("loss", self.loss, ("hinge", "squared_hinge")),
            ("scale", self.scale, ("standard", "minmax", None)),
            ("multi_class", self.multi_class, ("ovr", "joint")),
        ):
            if value not in allowed:
                raise InvalidInput(f"{name} must be one of {', '.join(map(repr, allowed))}, got {value!r}.")
        for name in ("max_rounds", "n_centres"):
            count = getattr(self, name)
            whole = isinstance(count, (int, np.integer)) and not isinstance(count, bool) and count >= 1
            if not whole and not (name == "n_centres" and count is None):
                raise InvalidInput(f"{name} must be a whole number of at least 1, got {count!r}.")
        if self.n_centres is not None and isinstance(self.kernel, str) and self.kernel == "linear":
            raise InvalidInput("n_centres is for kernel machines: a linear machine has no centres.")
        check_solver(self.solver)
        check_options(self.solver, self.solver_options)

    def _with_rows(self, prior: Prior, rows: dict[str, Any]) -> Prior:
        """The prior with the row parameters that were given to fit."""
        valid = _row_keys(prior)
        unknown = sorted(set(rows) - set(valid))
        if unknown:
            known = (
                f"The row parameters of this prior are: {', '.join(valid)}."
                if valid
                else "No block takes any."
            )
            raise UnknownParameter(
                f"fit() got {', '.join(map(repr, unknown))}, which no block knows."
                f"{did_you_mean(unknown[0], valid)} {known}"
            )
        if not rows:
            return prior
        blocks = []
        for name, block, _ in prior:
            block = copy.copy(block)
            for parameter in block.row_params:
                value = rows.get(f"{name}__{parameter}")
                if value is not None:
                    setattr(block, parameter, value)
            blocks.append((name, block))
        return Prior(blocks, prior.weights)

    def fit_path(
        self, X: Any, y: Any, values: dict[str, Sequence[Any]], sample_weight: Any = None, **rows: Any
    ) -> list[PriorSVC]:
        """Fit once for every combination of values, in order; this estimator is left as it is.

        The problem is compiled once where only weights change: ``C``, outer weights, and the parameters
        that weigh penalties (``mu``). Other parameters are compiled again, with a warning that says so.

        Parameters
        ----------
        X, y, sample_weight, **rows : as in ``fit``
        values : dict of "C", another parameter of PriorSVC, "kernel__<parameter>", or "<block>__<parameter>"
            to a list of values

        Returns
        -------
        list of fitted PriorSVC, the last key varying fastest

        Examples
        --------
        >>> from priorsvm import PriorSVC
        >>> models = PriorSVC().fit_path([[0.0], [1.0], [3.0]], [0, 0, 1], {"C": [0.1, 1, 10]})
        >>> [round(float(m.coef_[0, 0]), 2) for m in models]
        [0.2, 1.0, 1.0]
        """
        if not isinstance(values, dict) or not values:
            raise InvalidInput(
                "values must be a dict of parameter to a list of values, for instance {'C': [1, 10]}."
            )
        models: list[PriorSVC] = []
        for key, options in values.items():
            if not isinstance(key, str):
                raise InvalidInput(f"values: a parameter is named by a word, such as 'C', got {key!r}.")
            ordered = isinstance(options, Collection) and not isinstance(options, (str, Set, Mapping))
            if not ordered or len(options) == 0:
                raise InvalidInput(
                    f"values[{key!r}] must be a list of values in their order, at least one, got {options!r}."
                )
        tasks = []
        for combination in itertools.product(*values.values()):
            model = clone(self)
            model._set_path(dict(zip(values, combination, strict=True)))
            tasks.append((model, model._task(X, y, sample_weight, rows)))
        maps = Cache()
        grams = Cache()
        again = False
        for model, task in tasks:
            if model.multi_class == "joint":
                model._keep(task, model._fit_machines(task))
                models.append(model)
                continue
            previous: Sequence[Machine | None] = models[-1]._machines if models else []
            if len(previous) != len(task.samples) or models[-1].multi_class != model.multi_class:
                previous = [None] * len(task.samples)
            machines = []
            for sample, before in zip(task.samples, previous, strict=True):
                if model.preselect:
                    sample = model._support_only(task, sample, {"maps": maps, "grams": grams})
                alike = before if before is not None and _same_machine(before.spec, task.spec) else None
                machine = fit_and_explain(
                    task.spec,
                    list(task.prior),
                    sample,
                    model.solver,
                    model.solver_options,
                    model.max_rounds,
                    model.verbose,
                    maps,
                    grams,
                    alike,
                )
                if before is not None and machine.compiled not in (None, before.compiled):
                    # After rounds of refinement no problem is the first one any more.
                    again = again or len(before.history) == len(machine.history) == 1
                machines.append(machine)
            model._keep(task, machines)
            models.append(model)
        # All models of a path share one problem, which now holds the weights of the last.
        for model in models:
            for machine in model._machines:
                machine.release()
                if model is not models[-1]:
                    machine.compiled = None
        if again:
            keys = [key for key in values if key != "C" and not key.endswith(("__weight", "__mu"))] or list(
                values
            )
            warn(
                f"the path over {', '.join(keys)} could not keep its compiled problem: some value changes "
                "more than weights. C and penalty weights do not; outer weights only if one is 0 or with "
                f"more than {LIVE_ROWS} rows.",
                Recompiled,
            )
        return models

    def _set_path(self, combination: dict[str, Any]) -> None:
        own = self.get_params(deep=False)
        prior = as_prior(self.prior)
        for key, value in combination.items():
            key = key.removeprefix("prior__")  # as a grid search would call it
            if key in own or key.startswith("kernel__"):
                self.set_params(**{key: value})
                continue
            known = prior.get_params()
            if "__" not in key or key not in known:
                options = sorted([*own, *(k for k in known if "__" in k)])
                raise UnknownParameter(
                    f"fit_path does not know {key!r}.{did_you_mean(key, options)} "
                    f"It knows: {', '.join(options)}."
                )
            prior.set_params(**{key: value})
            self.prior = prior

    # ------------------------------------------------------------------ scoring

    def decision_function(self, X: Any) -> Array:
        """f of every row: (n,) for two classes, (n, K) for more.

        Parameters
        ----------
        X : rows, as in ``fit``

        Examples
        --------
        >>> from priorsvm import PriorSVC
        >>> PriorSVC().fit([[0.0], [2.0]], [0, 1]).decision_function([[1.0], [2.5]]).round(6) + 0
        array([0. , 1.5])
        """
        return self._scores(self._checked_rows(X))

    def _checked_rows(self, X: Any) -> Any:
        check_is_fitted(self, "_machines")
        machines = self._machines
        if isinstance(self.kernel_, OnRows):
            return self.kernel_.encode(X)
        allow_nan = any(m.block.allow_nan and m.weight > 0 for m in machines[0].members)
        with _naming_bad_values(X):
            return validate_data(
                self,
                X,
                reset=False,
                dtype=np.float64,
                accept_sparse="csr" if self.kernel_ is None else False,
                ensure_all_finite="allow-nan" if allow_nan else True,
            )

    def _scores(self, X: Any) -> Array:
        scores = self._shared_scores(X)
        if scores is None:
            scores = np.column_stack([_score(machine, X) for machine in self._machines])
        if scores.shape[1] == 2:  # of a joint machine
            scores = scores[:, [1]] - scores[:, [0]]
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def _shared_scores(self, X: Any) -> Array | None:
        """All machines' scores from one kernel matrix, where that is dear and no block scores for itself."""
        machines = self._machines
        if len(machines) == 1 or self.kernel_ is None or not self.kernel_.whole:
            return None
        if any(type(m.block).predict is not Knowledge.predict for m in machines[0].members):
            return None
        if any(f.slopes is not None for f in self._expansions()):
            return None
        whole = FittedKernel(0.0, self.kernel_, self.centres_, self.dual_coef_.T, machines[0].spec.scale)
        return whole._in_blocks(self.kernel_, whole._to_inner(X)) + self.intercept_

    def predict(self, X: Any) -> Array:
        """The class of every row.

        Parameters
        ----------
        X : rows, as in ``fit``

        Examples
        --------
        >>> from priorsvm import PriorSVC
        >>> PriorSVC().fit([[0.0], [2.0]], ["well", "ill"]).predict([[0.5], [2.5]])
        array(['well', 'ill'], dtype='<U4')
        """
        scores = self.decision_function(X)
        chosen = (scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
        return self.classes_[chosen]

    @property
    def predict_proba(self) -> Any:
        """There is none, and the error says what gives probabilities: f measures distance, not chance."""
        raise MissingAttribute(
            "PriorSVC has scores and no probabilities: CalibratedClassifierCV(model) of sklearn.calibration "
            "has predict_proba."
        )

    # ------------------------------------------------------------------ what was fitted

    def _fitted_machines(self) -> list[Machine]:
        if not hasattr(self, "_machines"):
            raise Unfitted("this PriorSVC is not fitted yet: call fit(X, y) first.")
        return self._machines

    def _each(self, values: list[Any]) -> Any:
        """A value per machine, or the value itself if there is one machine."""
        return values[0] if len(values) == 1 else values

    @property
    def coef_(self) -> Array:
        """Weights in the units of X, one row per machine, of a joint one per class (linear machines)."""
        if self._fitted_machines() and self.kernel_ is not None:
            raise MissingAttribute("coef_ is for linear machines: use kernel='linear'.")
        return np.vstack([f.coef for m in self._machines for f in m.functions if isinstance(f, FittedLinear)])

    @property
    def centres_(self) -> Array:
        """The points f expands over, all machines together (kernel machines)."""
        return np.unique(np.vstack([f.centres + 0.0 for f in self._expansions()]), axis=0)

    @property
    def slopes_(self) -> tuple[Array, Array, Array]:
        """Points, directions and coefficients of the derivatives f expands over (kernel machines).

        Where a block such as :class:`TangentPenalty` brings them in, without ``scale``,
        ``kernel_.slope(points, directions, X).T @ coefficients.T`` belongs to f as well.
        """
        expansions = self._expansions()
        parts = [f.slopes for f in expansions]
        none = np.empty((0, self.n_features_in_))
        points = np.vstack([none, *(part.points for part in parts if part is not None)])
        directions = np.vstack([none, *(part.directions for part in parts if part is not None)])
        coefficients = np.zeros((len(parts), len(points)))
        start = 0
        for row, part in zip(coefficients, parts, strict=True):
            if part is not None:
                row[start : start + len(part.weights)] = part.weights
                start += len(part.weights)
        return points, directions, coefficients

    @property
    def dual_coef_(self) -> Array:
        """Coefficients of ``centres_``, one row per machine (kernel machines)."""
        centres = self.centres_
        place = {row.tobytes(): i for i, row in enumerate(centres)}
        expansions = self._expansions()
        coefficients = np.zeros((len(expansions), len(centres)))
        for row, f in zip(coefficients, expansions, strict=True):
            np.add.at(row, [place[z.tobytes()] for z in f.centres + 0.0], f.weights)
        return coefficients

    def _expansions(self) -> list[FittedKernel]:
        if self._fitted_machines() and self.kernel_ is None:
            raise MissingAttribute("centres_ and dual_coef_ are for kernel machines; a linear one has coef_.")
        return [f for m in self._machines for f in m.functions if isinstance(f, FittedKernel)]

    @property
    def support_(self) -> Array:
        """Training rows with a positive dual variable in some machine."""
        return np.flatnonzero(
            np.any([m.support[: m.training.n_train] for m in self._fitted_machines()], axis=0)
        )

    @property
    def solver_(self) -> Any:
        """Who solved the problem; a list with more than two classes."""
        return self._each([m.outcome.solver for m in self._fitted_machines()])

    @property
    def status_(self) -> Any:
        """How it ended."""
        return self._each([m.outcome.status for m in self._fitted_machines()])

    @property
    def n_rounds_(self) -> Any:
        """After how many rounds."""
        return self._each([len(m.history) for m in self._fitted_machines()])

    @property
    def objective_(self) -> Any:
        """The value of the problem's objective, worked out from f."""
        return self._each([machine.objective for machine in self._fitted_machines()])

    @property
    def history_(self) -> Any:
        """What happened in each round: objective, gap, rows, solver, seconds."""
        return self._each([machine.history for machine in self._fitted_machines()])

    @property
    def problem(self) -> cp.Problem | list[cp.Problem]:
        """The ``cvxpy.Problem`` that was solved, or its equal if another route solved it."""
        return self._each([machine.problem.problem for machine in self._fitted_machines()])

    @property
    def findings_(self) -> Any:
        """Block name -> what it found once f was there; a list of these with more than two classes."""
        return self._each([Findings(machine.findings) for machine in self._fitted_machines()])

    @property
    def report_(self) -> Report:
        """What every term contributes to the objective, and how the solve went."""
        from .explain.report import report

        return report(self._fitted_machines())

    def formulation(self) -> Formulation:
        """The problem that was solved, in LaTeX, block by block.

        Examples
        --------
        >>> from priorsvm import OddnessHint, PriorSVC
        >>> "oddness" in str(PriorSVC(OddnessHint()).fit([[0.0], [2.0]], [0, 1]).formulation())
        True
        """
        from .explain.formulation import formulation

        return formulation(self._fitted_machines())

    def verify(self, X: Any = None, *, max_cells: int = MAX_CELLS) -> Verification:
        """Whether f obeys each block: where it holds least, and whether that is proven or sampled.

        Parameters
        ----------
        X : (n, d) array, optional
            New rows. Of blocks that know how rows may be moved, also whether these keep their class
            whatever move is made: ``verify(X).stability["<block>"]`` has the share of them, and the worst.
        max_cells : int
            How many cells the proof for one region of a kernel machine may take. Where they do not suffice,
            the verdict is that of the points that were sampled. ``verbose=1`` shows how far a proof is.

        Examples
        --------
        >>> from priorsvm import Box, PriorSVC
        >>> model = PriorSVC(Box({0: (2, 3)}, label=1, hard=True)).fit([[0.0], [1.0]], [0, 1])
        >>> model.verify().holds
        True
        """
        from .explain.verify import verify

        if not (is_number(max_cells) and max_cells >= 0 and max_cells % 1 == 0):
            raise InvalidInput(f"verify: max_cells must be a whole number, 0 or more; got {max_cells!r}.")
        found = verify(self._fitted_machines(), int(max_cells), self.verbose)
        return found if X is None else found.of_new_rows(self._stability(self._checked_rows(X)))

    def _stability(self, X: Any) -> dict[str, Stability]:
        """Of every block with a transform: what it does to the class of these rows."""
        from .explain.stability import stability
        from .transforms.base import Transform

        moves = {
            name: (block.transform, block.finest() if getattr(block, "continuous", False) else None)
            for name, block, weight in self._machines[0].members
            if weight > 0 and isinstance(getattr(block, "transform", None), Transform)
        }
        if not moves:
            raise InvalidInput(
                "verify(X) asks what moving new rows does to their class, and no block has a transform."
            )
        coef = self.coef_ if self.kernel_ is None else None
        return {
            name: stability(self._scores, coef, self.intercept_, transform, X, thetas)
            for name, (transform, thetas) in moves.items()
        }

    # ------------------------------------------------------------------ scikit-learn

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        try:
            prior = as_prior(self.prior)
        except (TypeError, ValueError):  # fit will say what is wrong with it
            return tags
        tags.input_tags.sparse = isinstance(self.kernel, str) and self.kernel == "linear"
        tags.input_tags.three_d_array = takes_sets(self.kernel)
        tags.input_tags.two_d_array = not takes_sets(self.kernel)
        tags.input_tags.allow_nan = any(member.block.allow_nan for member in prior)
        return tags

    def get_metadata_routing(self) -> Any:
        """Requests of ``fit``: sample_weight, and the blocks' row parameters, which are always wanted.

        Examples
        --------
        >>> from priorsvm import PriorSVC, SampleCosts
        >>> sorted(PriorSVC(SampleCosts()).get_metadata_routing().fit.requests)
        ['sample_costs__costs', 'sample_costs__margins', 'sample_weight']
        """
        routing = copy.deepcopy(super().get_metadata_routing())
        for key in _row_keys(as_prior(self.prior)):
            routing.fit.add_request(param=key, alias=True)
        return routing


class Findings(dict[str, Any]):
    """Block name -> what it found; says which names there are when asked for another."""

    def __missing__(self, name: str) -> Any:
        raise KeyError(f"block {name!r} found nothing to tell; those that did are {list(self)}")


class Unfitted(NotFitted, NotFittedError):
    """Something that only a fitted model has was asked of an unfitted one."""


class MissingAttribute(MissingCapability, AttributeError):
    """An attribute this kind of machine does not have."""


def _is_plain(X: Any, y: Any) -> bool:
    """Whether scikit-learn's checks, a tenth of the time of a small fit, would return both as they are."""
    return bool(
        type(X) is type(y) is np.ndarray
        and X.dtype == np.float64
        and y.dtype.kind in "biu"
        and X.ndim == 2
        and y.shape == (len(X),)
        and len(X) >= 2
        and X.shape[1] >= 1
        and np.isfinite(X).all()
    )


def _not_a_number(X: Any) -> str | None:
    """The first word or date in X, its column, and what to do about it; None if there is none."""
    from datetime import date

    names = getattr(X, "columns", None)
    cells = np.asarray(X, dtype=object)
    if cells.ndim != 2:
        return None
    for j, column in enumerate(cells.T):
        which = f"column {j if names is None else names[j]!r}"
        for value in column:
            if isinstance(value, (date, np.datetime64)):
                return (
                    f"X holds dates in {which} (could not convert {value!s} to a number). Give numbers "
                    "instead, such as the days since the first of them."
                )
            if isinstance(value, str) and not _is_numeral(value):
                comma = _is_numeral(value.replace(",", ".", 1))
                return (
                    f"X holds words where numbers are needed, in {which}: could not convert string to float: "
                    f"{value!r}. "
                ) + (
                    "A decimal comma? pandas.read_csv(..., decimal=',') reads it."
                    if comma
                    else "Encode such columns first, for example with OneHotEncoder of scikit-learn."
                )
    return None


def _is_numeral(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


@contextmanager
def _naming_bad_values(X: Any, idle: str | None = None) -> Iterator[None]:
    """An error about NaN in X says which block takes it, one about words or dates what to do with them."""
    try:
        yield
    except (ValueError, TypeError) as error:
        strange = "Input X contains" not in str(error) and not issparse(X)
        if strange and (message := _not_a_number(X)) is not None:
            raise InvalidInput(message) from error
        if "Input X contains NaN" not in str(error):
            raise
        if idle is not None:
            raise InvalidInput(
                f"Input X contains NaN, and block '{idle}' has weight 0, which leaves it out. Impute first "
                "to compare with that, or give it confidence=0.5."
            ) from error
        raise InvalidInput(
            "Input X contains NaN. Fit with MissingValues() in the prior to work with missing values, or "
            "impute them first."
        ) from error


def _fit_and_record(*arguments: Any, **keywords: Any) -> tuple[Machine, list[tuple[str, type[Warning]]]]:
    """A machine and the warnings its fit gave, which would be lost in another process."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        machine = fit_and_explain(*arguments, **keywords)
    return machine, [(str(w.message), w.category) for w in caught]


def _row_keys(prior: Prior) -> list[str]:
    return [f"{name}__{parameter}" for name, block, _ in prior for parameter in block.row_params]


def _no_parameters(kernel: Any, key: str) -> str:
    """That a word or a function has no parameter inside, and which object has it."""
    from .kernels.standard import NAMED

    meant = NAMED[kernel]() if isinstance(kernel, str) and kernel in NAMED else None
    has = meant is not None and key.removeprefix("kernel__") in meant.get_params()
    return (
        f"kernel={readable(repr(kernel))} has no parameters, so {key!r} cannot be set: "
        f"use {f'kernel={meant!r}' if has else 'a Kernel that has it'}."
    )


def _same_machine(a: Spec, b: Spec) -> bool:
    """Whether two specifications differ in C and tol at most."""
    return all(
        equal(getattr(a, part), getattr(b, part)) for part in ("norm", "loss", "n_centres", "kernel")
    ) and equal(a.scale and vars(a.scale), b.scale and vars(b.scale))


def _without_moves(spec: Spec) -> Spec:
    """The machine whose kernel knows of no moves."""
    from .kernels.standard import Linear

    if spec.kernel is None or spec.kernel.plain is spec.kernel:
        return spec
    if isinstance(spec.kernel.plain, Linear):
        return replace(spec, kernel=None, n_centres=None)
    return replace(spec, kernel=spec.kernel.plain)


def _score(machine: Machine, X: Array) -> Array:
    """f, unless a block scores new rows in its own way."""
    answers = {}
    for name, block, weight in machine.members:
        if weight > 0:
            with naming(name):
                state = machine.states.get(name)
                scores = block.predict(machine.f, X, *([] if state is None else [state]))
            if scores is not None:
                scores = np.asarray(scores, float)
                if scores.shape != (X.shape[0],) or not np.isfinite(scores).all():
                    raise InvalidInput(
                        f"block '{name}': predict must return one finite score for each of the "
                        f"{X.shape[0]} rows, got shape {scores.shape}."
                    )
                answers[name] = scores
    if len(answers) > 1:
        raise InvalidInput(
            f"blocks {' and '.join(map(repr, answers))} both want to score new rows: keep one of them."
        )
    return next(iter(answers.values())) if answers else machine.f.value(X)
