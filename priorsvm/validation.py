"""From the arguments of fit to a task: checked parameters, rows and blocks."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations, product
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse
from sklearn.utils import check_X_y
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from ._utils.arrays import Array
from ._utils.checks import (
    check_moderate,
    check_ordinary,
    check_unmasked,
    is_number,
    is_whole,
)
from ._utils.deadline import Deadline
from ._utils.foreign import check_sample_weight
from ._utils.messages import did_you_mean
from ._utils.row_keys import row_names, truth_columns
from .bad_values import explaining_bad_values
from .encoding import Encoding, check_distinct_names, check_labels_known, counted_rows
from .errors import InvalidInput, InvalidType, KernelNotPSD, MissingCapability, UnknownParameter
from .function.factor import require_psd, ways_out
from .function.scale import Scale
from .kernels.precomputed import Precomputed
from .kernels.set_kernel import OnRows, as_sets, takes_sets
from .knowledge.checks import check_acts
from .knowledge.rows.row_permutations import RowPermutations
from .knowledge.traits import Completes, Iterative, OnRowSlack, Scores
from .knowledge.worst_case.orbit_loss import OrbitLoss
from .parameters import check_parameters, check_part, is_infinite, is_linear, seed_of
from .prior import Member, Prior, as_prior, live
from .problem.naming import naming
from .sample import RowTotals, Sample
from .solve.methods.passes import check_pass_options
from .solve.registry import canonical
from .spec import Spec

# A kernel of unknown definiteness is checked on this many rows before any expensive work.
ROWS_FOR_PSD_CHECK = 200

DENSE = "or make X dense with X.toarray()."


@dataclass(eq=False)
class Task:
    """Checked arguments of one fit.

    Attributes
    ----------
    spec : the model without its rows and blocks.
    prior : the blocks, with the row parameters given to ``fit``.
    classes : the labels in y, sorted.
    samples : one training set for each binary model, or one in total for ``multi_class="joint"``.
    encoding : how columns with categories were encoded, or None.
    row_names : the index of the training rows as texts, or None if they are counted from 0.
    truth_columns : positions of the columns that contain True and False.
    large : all rows if they are read in chunks, of which ``samples`` have some; None if ``samples`` have all.
    """

    spec: Spec
    prior: Prior
    classes: Array
    samples: list[Sample]
    encoding: Encoding | None = None
    row_names: Array | None = None
    large: Any = None
    truth_columns: list[int] = field(default_factory=list)

    def until(self, limit: Deadline | None) -> Task:
        """Return this task with another end of the fit."""
        return replace(self, spec=self.spec.until(limit))

    def members(self, sample: Sample) -> list[Member]:
        """Return the blocks of one binary model: a block that does not apply has weight 0."""
        return [m if m.block.applies(sample) else m._replace(weight=0.0) for m in self.prior]


def make_task(model: Any, X: Any, y: Any, sample_weight: Any, row_parameters: dict[str, Any]) -> Task:
    """Return the task of one fit, after all checks that need neither a kernel matrix nor a solver.

    Parameters
    ----------
    model : PriorSVC
        Its parameters are checked; the only attributes set are scikit-learn's ``n_features_in_`` and
        ``feature_names_in_``.
    X, y, sample_weight
        As in :meth:`PriorSVC.fit`.
    row_parameters : dict
        Row parameters of blocks, by ``<block>__<parameter>``.
    """
    check_parameters(model)
    check_unmasked(X=X, y=y, sample_weight=sample_weight)
    check_ordinary(sample_weight=sample_weight)
    check_distinct_names(X)
    if is_whole(sample_weight) and not is_number(sample_weight):
        raise InvalidInput("sample_weight is too large. Give one number for each row.")
    prior = with_row_parameters(as_prior(model.prior), row_parameters)
    for name, block, _ in prior:
        check_acts(name, block)
        check_part(f"block '{name}'", block)
    check_part("kernel", model.kernel)
    imputers = _imputers(prior)
    names_of_rows = row_names(X)
    truths = truth_columns(X)
    counted = counted_rows(sample_weight, X)
    encoding = _encoding(model, X, counted)
    X, y, kernel = _check_data(model, prior, X, y, bool(imputers), encoding, counted)
    if not isinstance(kernel, OnRows):
        check_moderate("X", X.data if issparse(X) else X, "Use other units.")
    classes = _classes(y)
    weight = _row_weights(sample_weight, X, y, classes)
    if issparse(X):
        X = csr_array(X, copy=not X.has_canonical_format)
        X.sum_duplicates()
    # Columns of a kernel matrix are samples, not features.
    names = None if getattr(kernel, "encodes", False) else getattr(model, "feature_names_in_", None)
    if encoding is not None:
        names = encoding.encoded_names
    seed = seed_of(model.random_state)
    missing = None
    for name, block, _ in imputers:
        with naming(name):
            missing = block.complete(X, y, np.ones(len(X)) if weight is None else weight, names)
            X = missing.X
    spec = _specification(model, kernel, X, weight, encoding)
    task = finished_task(
        model, prior, spec, X, y, classes, weight, names, seed, missing, encoding, names_of_rows
    )
    return replace(task, truth_columns=truths)


def finished_task(
    model: Any,
    prior: Prior,
    spec: Spec,
    X: Any,
    y: Array,
    classes: Array,
    weight: Array | None,
    names: Array | None,
    seed: int,
    missing: Any = None,
    encoding: Encoding | None = None,
    names_of_rows: Array | None = None,
    totals: RowTotals | None = None,
) -> Task:
    """Return the task of checked rows, after the checks of the blocks.

    Parameters
    ----------
    model, prior, spec
        The PriorSVC, its blocks, and the model without rows and blocks.
    X, y, classes, weight, names, seed, missing, encoding, totals
        Attributes of :class:`Sample`.
    names_of_rows : array or None, default=None
        Index of the rows.
    """
    samples = [
        Sample.training(
            X, y, classes, positive, weight, names, seed, spec, missing, against, encoding, totals
        )
        for positive, against in _sides(model, classes)
    ]
    if encoding is not None:
        _check_transforms(prior, spec, samples[0], encoding)
    for name, block, _ in prior:
        with naming(name):
            for sample in samples:
                if block.applies(sample):
                    block.validate(sample)
    _check_replaced_rows(prior, samples[0])
    _check_scores(prior)
    _check_joint(model, prior, samples[0])
    return Task(spec, prior, classes, samples, encoding, names_of_rows)


# ---------------------------------------------------------------------- the model


def _specification(
    model: Any, kernel: Any, X: Array, weight: Array | None, encoding: Encoding | None
) -> Spec:
    scale = Scale.of(model.scale, X, weight, None if encoding is None else encoding.in_group)
    scaled = X if scale is None else scale.points(X)
    resolved = _resolved_kernel(model, kernel, scaled, weight)
    return Spec(float(model.C), resolved, model.norm, model.loss, scale, model.n_centres, float(model.tol))


def _resolved_kernel(model: Any, kernel: Any, X: Array, weight: Array | None) -> Any:
    """Return the kernel with numbers for "scale", or None for a linear model.

    A conditionally positive definite kernel is centred for the 2-norm.
    """
    from .kernels.resolve import resolve_kernel
    from .kernels.spectrum import Spectral
    from .kernels.standard import Linear
    from .transforms.base import Transform

    kernel = resolve_kernel(kernel, X.shape[1], X, weight)
    if isinstance(kernel, Linear):
        return None
    if model.scale is not None and any(isinstance(p, Transform) for p in kernel.get_params().values()):
        raise InvalidInput(
            f"kernel {kernel!r} transforms rows in the units of X, but scale={model.scale!r} changes these "
            "units first. Use scale=None, and divide all of X by one number if X must be smaller."
        )
    if model.norm == "l2" and model.multi_class == "joint":
        _check_without_bias(kernel)
    if model.norm != "l2" or kernel.definiteness == "psd":
        return kernel
    if kernel.definiteness == "cpd":
        return kernel.centred(X, weight)
    # A repaired kernel can be positive definite on the training rows and fail on the next rows.
    unreliable = isinstance(kernel, Spectral) and kernel.definiteness == "unknown"
    if kernel.definiteness == "indefinite" or unreliable:
        raise KernelNotPSD(
            f"kernel {kernel!r} is not positive definite, but norm='l2' requires a positive semidefinite "
            f"kernel. {ways_out(kernel)}"
        )
    # A few rows reveal most defects before any expensive work; all rows are checked later.
    counted = X if weight is None else X[weight > 0]
    count = min(len(counted), ROWS_FOR_PSD_CHECK)
    some = counted[np.linspace(0, len(counted) - 1, count).round().astype(int)]
    require_psd(kernel, np.asarray(kernel(some, some)))
    return kernel


def _check_without_bias(kernel: Any) -> None:
    """Raise MissingCapability if the kernel requires a free bias."""
    if kernel.needs_bias or kernel.definiteness == "cpd":
        raise MissingCapability(
            f"kernel {kernel!r} is conditionally positive definite and requires a free bias, which "
            "multi_class='joint' does not have. Use multi_class='ovr', or a kernel such as RBF()."
        )


# ---------------------------------------------------------------------- rows


def _encoding(model: Any, X: Any, counted: Array | None) -> Encoding | None:
    """Return how columns with categories are encoded, or None; the folds of a fit share its encoding."""
    if isinstance(model.categories, Encoding):
        return model.categories
    if model.categories is None or takes_sets(model.kernel):
        return None
    return Encoding.of(X, counted)


def _check_data(
    model: Any, prior: Prior, X: Any, y: Any, allow_nan: bool, encoding: Encoding | None, counted: Any
) -> tuple[Any, Array, Any]:
    """Return X and y as arrays, and the kernel between rows of X."""
    check_labels_known(y)
    kernel = model.kernel
    width = None
    checks: dict[str, Any] = {"dtype": np.float64, "ensure_min_samples": 2}
    if takes_sets(kernel):
        X, width = _rows_of_sets(model, X, prior)
        kernel = OnRows(kernel, width)
    elif is_precomputed(kernel):
        _check_precomputed(model, prior)
    elif _is_nonempty(X) and np.ndim(X[0]) == 2:
        raise InvalidInput(
            f"Found array with dim 3: X[0] has shape {np.shape(X[0])}, but this kernel compares vectors. "
            "Flatten images with X.reshape(len(X), -1), or use the kernels Bhattacharyya() or "
            "PrincipalAngles() for sets of vectors."
        )
    if issparse(X):
        _check_sparse(model, prior)
        checks["accept_sparse"] = "csr"
    left_out = next((m.name for m in prior if isinstance(m.block, Completes) and not m.live), None)
    numbers = X if encoding is None else encoding.without_groups(X)
    with explaining_bad_values(numbers, left_out, is_precomputed(kernel)):
        finite = "allow-nan" if allow_nan else True
        if encoding is not None:
            validate_data(model, X, y, skip_check_array=True)  # names and number of the columns
            X, y = check_X_y(encoding.encode(X, counted=counted), y, ensure_all_finite=finite, **checks)
            return X, y, kernel
        if _is_checked(X, y):
            model.n_features_in_ = X.shape[1]
            vars(model).pop("feature_names_in_", None)
        else:
            X, y = validate_data(model, X, y, ensure_all_finite=finite, **checks)
    if width is not None:
        model.n_features_in_ = width  # of one vector, since sets can have any number of vectors
    if is_precomputed(kernel):
        kernel = _kernel_of_matrix(X)
        X = kernel.samples
    return X, y, kernel


def _is_nonempty(X: Any) -> bool:
    """Return whether X is a list or an array that has entries."""
    return len(X) > 0 if isinstance(X, list) else type(X) is np.ndarray and X.ndim > 0 and len(X) > 0


def _is_checked(X: Any, y: Any) -> bool:
    """Return whether scikit-learn's checks, a tenth of a small fit, would return both unchanged."""
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


def _rows_of_sets(model: Any, X: Any, prior: Prior) -> tuple[Array, int]:
    """Return sets of vectors as rows, and the length of one vector."""
    if model.scale is not None:
        raise InvalidInput(
            f"scale={model.scale!r} applies to columns, but every row of X is a set of vectors. Scale the "
            "vectors before grouping them into sets, and use scale=None."
        )
    sets = as_sets(X, "X")
    if len(sets) == 0:
        raise InvalidInput("X contains no set of vectors.")
    for name, block, _ in live(prior):
        if not (sets.of_one_size or "sets" in block.accepts):
            raise InvalidInput(
                f"block '{name}' requires columns, but sets of {sets.sizes.min()} to {sets.sizes.max()} "
                "vectors have no common columns. Leave the block out, or use sets of one size, where column "
                "d i + j is entry j of vector i."
            )
    return sets.rows(), sets.width


def is_precomputed(kernel: Any) -> bool:
    """Return whether X is the kernel matrix."""
    return isinstance(kernel, str) and kernel == "precomputed"


def _check_precomputed(model: Any, prior: Prior) -> None:
    """Raise an error if the scaling or a block requires more than a kernel matrix."""
    if model.scale is not None:
        raise InvalidInput(
            f"scale={model.scale!r} applies to features, but with kernel='precomputed' X is the kernel "
            "matrix. Use scale=None."
        )
    for name, block, _ in live(prior):
        if "precomputed" not in block.accepts:
            raise MissingCapability(
                f"block '{name}' requires features or values of f at other points than training rows, which "
                "kernel='precomputed' does not have. Leave the block out, or use a kernel of the features."
            )


def _kernel_of_matrix(K: Array) -> Precomputed:
    """Return the kernel between training samples; raise InvalidInput unless the matrix is square."""
    if K.shape[0] != K.shape[1]:
        raise InvalidInput(
            f"X has shape {K.shape}, but kernel='precomputed' requires the square kernel matrix between all "
            "training samples. Give k(X, X) to fit, and k(X_new, X) to predict."
        )
    return Precomputed(K.copy())  # the model keeps it, and the user may overwrite K


def _check_sparse(model: Any, prior: Prior) -> None:
    """Raise InvalidType if the kernel, the scaling or a block requires dense rows."""
    if not is_linear(model.kernel):
        raise InvalidType(f"sparse X requires a linear model: use kernel='linear', {DENSE}")
    if model.scale is not None:
        raise InvalidType(
            f"scale={model.scale!r} shifts zeros, so X would not stay sparse. Use scale=None, for example "
            f"after scikit-learn's MaxAbsScaler, {DENSE}"
        )
    for name, block, _ in live(prior):
        if "sparse" not in block.accepts:
            raise InvalidType(f"block '{name}' does not accept sparse X. Leave the block out, {DENSE}")


def _classes(y: Array) -> Array:
    """Return the sorted labels; raise InvalidInput unless there are at least two."""
    try:
        if y.dtype.kind not in "biuUS":  # whole numbers and strings are always classes
            check_classification_targets(y)
        classes = np.unique(y)
    except TypeError as error:
        raise InvalidInput("y contains both strings and numbers. Use labels of one type.") from error
    if len(classes) < 2:
        raise InvalidInput(
            f"y contains one class only, {classes.tolist()[0]!r}. At least two classes are required."
        )
    return classes


def _sides(model: Any, classes: Array) -> Sequence[tuple[Any, Any]]:
    """Return the class that is +1 and the class that is -1 in each binary model; None: all other classes."""
    if model.multi_class == "joint":
        return [("all classes", None)]
    labels = classes.tolist()
    if len(labels) == 2:
        return [(labels[1], None)]
    if model.multi_class == "ovo":
        return list(combinations(labels, 2))
    return [(label, None) for label in labels]


def _row_weights(sample_weight: Any, X: Any, y: Array, classes: Array) -> Array | None:
    if sample_weight is None:
        return None
    weight = check_sample_weight(sample_weight, X)
    for label in classes.tolist():
        if not np.any(weight[y == label] > 0):
            raise InvalidInput(
                f"sample_weight is 0 for every row of class {label!r}. Give at least one row of each class a "
                "positive weight."
            )
    return weight


# ---------------------------------------------------------------------- blocks


def row_keys(prior: Prior) -> list[str]:
    """Return the names of the row parameters that ``fit`` accepts for these blocks."""
    return [f"{name}__{parameter}" for name, block, _ in prior for parameter in block.row_params]


def with_row_parameters(prior: Prior, given: dict[str, Any]) -> Prior:
    """Return the prior with the row parameters given to ``fit``."""
    valid = row_keys(prior)
    unknown = sorted(set(given) - set(valid))
    if unknown:
        known = "No block of this prior has row parameters."
        if valid:
            known = f"The row parameters of this prior are: {', '.join(valid)}."
        raise UnknownParameter(
            f"fit() got {', '.join(map(repr, unknown))}, which no block accepts."
            f"{did_you_mean(unknown[0], valid)} {known}"
        )
    if not given:
        return prior
    blocks = []
    for name, block, _ in prior:
        block = copy.copy(block)
        for parameter in block.row_params:
            value = given.get(f"{name}__{parameter}")
            if value is not None:
                setattr(block, parameter, value)
        blocks.append((name, block))
    return Prior(blocks, prior.weights)


def _imputers(prior: Prior) -> list[Member]:
    """Return the block that completes missing values, if any; raise InvalidInput for two such blocks."""
    imputers = [m for m in live(prior) if isinstance(m.block, Completes)]
    if len(imputers) > 1:
        names = " and ".join(f"'{m.name}'" for m in imputers)
        raise InvalidInput(f"blocks {names} both handle missing values. Keep one block.")
    return imputers


def _check_replaced_rows(prior: Prior, sample: Sample) -> None:
    """Raise InvalidInput if two blocks conflict over the training rows."""
    members = live(prior)
    replacing = [m for m in members if m.block.prepares == "moves"]
    if len(replacing) > 1:
        raise InvalidInput(
            f"blocks '{replacing[0].name}' and '{replacing[1].name}' both replace the training rows. "
            "Keep one block."
        )
    worst_case = [m for m in members if isinstance(m.block, OnRowSlack)]
    for first, second in product(replacing, worst_case):
        reason = "its points are around the original rows"
        if isinstance(first.block, RowPermutations):
            reason = second.block.order_obstacle(sample, first.block.swaps())
        if reason is not None:
            raise InvalidInput(
                f"block '{first.name}' replaces the training rows, but block '{second.name}' requires the "
                f"margin in the worst case: {reason}. Keep one block."
            )


def _check_transforms(prior: Prior, spec: Spec, sample: Sample, encoding: Encoding) -> None:
    """Raise InvalidInput if a transform of a block or of the kernel changes a column with categories."""
    from .transforms.base import Transform

    found = [(f"block '{name}'", getattr(block, "transform", None)) for name, block, _ in live(prior)]
    if spec.kernel is not None:
        found += [(f"kernel {spec.kernel!r}", value) for value in spec.kernel.get_params().values()]
    for where, transform in found:
        if not isinstance(transform, Transform):
            continue
        columns = f"the model has {encoding.width} columns, those of encoded_names_"
        if not transform.finite:
            raise InvalidInput(
                f"{where}: {transform!r} can change any column, and columns with categories have no values "
                "in between. Leave it out, or encode the columns as numbers first."
            )
        try:
            orbits = transform.orbit(sample.X_train[:20])
        except InvalidInput as error:
            raise InvalidInput(f"{where}: {error} With categories, {columns}.") from error
        changed = (orbits != orbits[:, :1]).any(axis=(0, 1)) & encoding.in_group
        if changed.any():
            name = encoding.encoded_names[int(np.argmax(changed))]
            raise InvalidInput(
                f"{where}: {transform!r} changes the column {name!r}, whose values are categories. Use a "
                f"transform that leaves it as it is; {columns}."
            )


def _check_scores(prior: Prior) -> None:
    """Raise InvalidInput if two blocks score new rows."""
    scoring = [f"'{m.name}'" for m in live(prior) if isinstance(m.block, Scores)]
    if len(scoring) > 1:
        raise InvalidInput(f"blocks {' and '.join(scoring)} both score new rows. Keep one block.")


def _check_joint(model: Any, prior: Prior, sample: Sample) -> None:
    """Raise an error if parameters or blocks do not fit to ``multi_class``."""
    joint = model.multi_class == "joint"
    members = live(prior)
    losses = [m for m in members if isinstance(m.block, OrbitLoss)]
    for name, block, _ in losses:
        with naming(name):
            block.check_classes(sample, joint)
    if not joint:
        return
    required = {"norm": "l2", "loss": "hinge", "n_centres": None, "preselect": False}
    for parameter, value in required.items():
        if getattr(model, parameter) != value:
            raise InvalidInput(f"multi_class='joint' requires {parameter}={value!r}.")
    if is_infinite(model.C):
        raise InvalidInput("multi_class='joint' requires a finite C. Use multi_class='ovr'.")
    streamed = any(m.block.streamed for m in losses)
    allowed = ("auto",) if streamed else ("auto", "COLUMNS")
    if canonical(model.solver) not in allowed or (model.solver_options and not streamed):
        raise InvalidInput(
            "multi_class='joint' uses its own solver. Set solver='auto', without solver_options."
        )
    for name, block, _ in members:
        only_rows = block.only_rows and not isinstance(block, Iterative)
        if not only_rows and name not in [m.name for m in losses[:1]]:
            raise MissingCapability(
                f"block '{name}': multi_class='joint' accepts one InvariantLoss and blocks that add or "
                "reweight rows in one round. Use multi_class='ovr'."
            )
    if streamed:
        check_pass_options(model.solver_options or {}, linear=sample.model is None or sample.model.linear)
