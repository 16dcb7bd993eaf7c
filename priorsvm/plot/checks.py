"""Checks of the arguments of plot functions; every message names the function."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Set
from typing import TYPE_CHECKING, Any

import numpy as np

from .._utils.arrays import Array
from .._utils.checks import is_whole
from ..errors import InvalidInput, InvalidType
from ..function.memory import refuse_count
from .geometry import Window

# Points on each side of a grid at most.
MOST_GRID = 5000

if TYPE_CHECKING:
    from ..estimator import PriorSVC
    from ..solve.model import BinaryModel


def binaries_of(function: str, model: Any) -> list[BinaryModel]:
    """Return the binary models of a fitted PriorSVC."""
    from ..estimator import PriorSVC
    from ..fitted import Unfitted

    if not isinstance(model, PriorSVC):
        raise InvalidType(
            f"plot.{function} requires a fitted PriorSVC, got {type(model).__name__}. Give the last step of "
            "a pipeline, pipeline[-1], or the best_estimator_ of a search."
        )
    if not hasattr(model, "_models"):
        raise Unfitted(f"plot.{function}: this PriorSVC is not fitted yet. Call fit(X, y) first.")
    return model._models


def binary_of(function: str, model: PriorSVC, label: Any) -> BinaryModel:
    """Return the binary model of a class or of a pair of classes, or the only binary model."""
    binaries = binaries_of(function, model)
    if model._one_vs_one:
        return _model_of_pair(function, model, label)
    if label is not None:
        place = class_index(function, model, label)
        return binaries[0 if len(binaries) == 1 else place]
    if len(binaries) > 1:
        raise InvalidInput(
            f"plot.{function}: each of the classes {model.classes_.tolist()} has its own model. Choose a "
            "class with class_of_interest."
        )
    return binaries[0]


def _model_of_pair(function: str, model: PriorSVC, pair: Any) -> BinaryModel:
    """Return the model of two classes, which may be given in either order."""
    classes = model.classes_.tolist()
    given = list(pair) if isinstance(pair, (tuple, list)) else []
    for binary in model._models:
        if len(given) == 2 and set(given) == set(binary.training.label):
            return binary
    raise InvalidInput(
        f"plot.{function}: each pair of the classes {classes} has its own model. Choose a pair with "
        f"class_of_interest, for example ({classes[0]!r}, {classes[1]!r}); got {pair!r}."
    )


def class_index(function: str, model: PriorSVC, label: Any) -> int:
    """Return the index of a class in classes_."""
    classes = model.classes_.tolist()
    try:
        known = label in classes
    except (TypeError, ValueError):  # the comparison with an array or NA has no single result
        known = False
    if not known:
        raise InvalidInput(
            f"plot.{function}: class_of_interest={label!r} is not one of the classes {classes}."
        )
    return classes.index(label)


def is_list(value: Any) -> bool:
    """Return whether a value is a collection of one dimension, and not a text."""
    return (
        isinstance(value, Collection)
        and not isinstance(value, (str, bytes, Set, Mapping))
        and getattr(value, "ndim", 1) == 1
    )


def check_count(function: str, argument: str, value: Any, least: int = 1) -> None:
    """Raise InvalidInput unless a value is a whole number of at least ``least``."""
    if not is_whole(value) or value < least:
        raise InvalidInput(
            f"plot.{function}: {argument} must be a whole number of at least {least}, got {value!r}."
        )


def check_grid(function: str, resolution: Any) -> None:
    """Raise InvalidInput or TooLarge unless a grid has at least 2 and at most ``MOST_GRID`` points a side."""
    check_count(function, "grid_resolution", resolution, least=2)
    refuse_count(f"plot.{function}: grid_resolution", resolution, MOST_GRID, resolution)


def check_window(function: str, extent: Any) -> Window:
    """Return (left, right, bottom, top) as floats."""
    try:
        left, right, bottom, top = map(float, extent)
    except (TypeError, ValueError):
        left = right = bottom = top = np.nan
    if not (np.isfinite([left, right, bottom, top]).all() and left < right and bottom < top):
        raise InvalidInput(
            f"plot.{function}: extent must be (left, right, bottom, top) with left < right and bottom < top, "
            f"got {extent!r}."
        )
    return left, right, bottom, top


def check_images(function: str, rows: Any, shape: Any) -> Array:
    """Return rows of pixels as images, (n, height, width)."""
    pair = np.ndim(shape) == 1 and len(shape) == 2
    if not pair or not all(isinstance(side, (int, np.integer)) and side > 0 for side in shape):
        raise InvalidInput(f"plot.{function}: shape must be (height, width) in pixels, got {shape!r}.")
    height, width = (int(side) for side in shape)
    try:
        pixels = np.asarray(rows, float)
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"plot.{function}: rows must be numbers, the pixels of one image each.") from error
    if pixels.ndim == 1:
        pixels = pixels[None]
    if not np.isfinite(pixels).all():
        raise InvalidInput(
            f"plot.{function}: some pixels are NaN or infinite. Replace these pixels, for example with "
            "np.nan_to_num(rows)."
        )
    if pixels.ndim != 2 or pixels.shape[1] != height * width or len(pixels) == 0:
        raise InvalidInput(
            f"plot.{function}: rows of shape {pixels.shape} are not images of {height} x {width} = "
            f"{height * width} pixels. Give the (height, width) of the images in the rows."
        )
    return pixels.reshape(-1, height, width)
