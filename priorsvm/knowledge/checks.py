"""Checks of arguments that several blocks take.

The names of ``__all__`` are public, for ``validate`` of blocks of your own.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .._utils.arrays import Array
from .._utils.checks import check_flag, check_moderate, check_nonnegative, described
from .._utils.messages import did_you_mean
from ..errors import InvalidInput, InvalidType, PriorSVMError
from ..kernels.set_kernel import OnRows
from ..sample import Sample
from ..transforms.base import Transform
from .base import Knowledge

__all__ = ["check_flag", "check_nonnegative", "check_points"]

# A block without any of these methods leaves every model as it is.
EFFECTS = ("build", "prepare", "predict", "complete")


def check_transform(transform: Any, name: str = "transform") -> None:
    """Raise InvalidType unless ``transform`` is a Transform."""
    if not isinstance(transform, Transform):
        raise InvalidType(
            f"{name} must be a Transform, got {described(transform)}. "
            "FromFunction(function, thetas) makes one of a function."
        )


def check_points(name: str, X: Any, sample: Sample, gaps: bool = False) -> Array:
    """Return points as a finite array with the columns of the training data.

    Parameters
    ----------
    name : str
        Name of the parameter, for messages.
    X : array-like of shape (m, d)
        The points, in the units of the training data. Sets of rows, if the kernel of the model is of sets.
    sample : Sample
        The rows, as ``validate`` receives them.
    gaps : bool, default=False
        Whether a point may have missing values (NaN).

    Returns
    -------
    ndarray of shape (m, d)
        The points.

    Raises
    ------
    InvalidInput
        If ``X`` is not such an array. The message names the parameter.

    Examples
    --------
    >>> from priorsvm import Knowledge, PriorSVC, Terms
    >>> from priorsvm.knowledge.checks import check_points
    >>> class Zero(Knowledge):
    ...     def __init__(self, points):
    ...         self.points = points
    ...     def validate(self, sample):
    ...         check_points("points", self.points, sample)
    ...     def build(self, f, view):
    ...         return Terms(constraints={"zero": f(self.points) == 0})
    >>> PriorSVC(Zero([["a", "b"]])).fit([[0.0, 1.0], [1.0, 0.0]], [0, 1])
    Traceback (most recent call last):
        ...
    priorsvm.errors.InvalidInput: block 'zero': points must be a 2-D array of numbers.
    """
    n_features = sample.X.shape[1]
    kernel = None if sample.model is None else sample.model.kernel
    if isinstance(kernel, OnRows):
        flat = len(X) > 0 and np.ndim(X[0]) == 1
        if not flat:
            return kernel.encode(X, name, at_least=n_features)
    columns = getattr(X, "columns", None)
    encoding = sample.encoding
    if columns is not None and sample.feature_names is not None:
        given = [str(c) for c in columns]
        known = sample.feature_names.tolist() if encoding is None else encoding.names
        if given != known:
            raise InvalidInput(
                f"{name} has the columns {', '.join(given)}, but the training data has {', '.join(known)}, "
                "in this order."
            )
    try:
        if encoding is not None and (columns is not None or np.shape(X)[1:] == (len(encoding.names),)):
            X = encoding.encode(X, name)
        points = np.asarray(X, float)
    except PriorSVMError:
        raise
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidInput(f"{name} must be a 2-D array of numbers.") from error
    if points.ndim != 2 or points.shape[1] != n_features:
        if isinstance(kernel, OnRows):
            raise InvalidInput(
                f"{name} has {kernel.in_words(points.shape[-1])} as flat rows, but flat rows of this model "
                f"are {kernel.in_words(n_features)}. Give a list of (m, {kernel.width}) arrays instead."
            )
        raise InvalidInput(
            f"{name} has shape {points.shape}, expected (n, {n_features}): "
            "as many columns as the training data."
        )
    if not (np.isfinite(points) | (gaps & np.isnan(points))).all():
        raise InvalidInput(f"{name} contains {'infinity' if gaps else 'NaN or infinity'}.")
    if not isinstance(kernel, OnRows):
        check_moderate(name, points, "Use other units.")
    return points


def cost_at(cost: Any, thetas: Array, name: str = "cost") -> Array:
    """Return the numbers that a function of the user returns for parameters of transformations."""
    given = thetas.view()
    given.flags.writeable = False
    try:
        return np.asarray(cost(given), float)
    except Exception as error:
        raise InvalidInput(
            f"{name} was given as a function, and calling it with (s, q) parameters failed: {error!r}"
        ) from error


def check_acts(name: str, block: Knowledge) -> None:
    """Raise InvalidInput if a block defines no method that changes a model, such as after a typo."""
    kind = type(block)
    if any(getattr(kind, method, None) is not getattr(Knowledge, method, None) for method in EFFECTS):
        return
    added = [method for method in dir(kind) if not hasattr(Knowledge, method)]
    typos = [f" It has {method!r}.{meant}" for method in added if (meant := did_you_mean(method, EFFECTS))]
    raise InvalidInput(
        f"block '{name}' ({kind.__name__}) has no effect: define {', '.join(EFFECTS[:-1])} or {EFFECTS[-1]}."
        f"{''.join(typos)}"
    )
