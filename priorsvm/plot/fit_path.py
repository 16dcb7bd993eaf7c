"""A path of fits: weights, terms of the objective, or the score, over the values of one parameter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .._utils.arrays import Array
from .._utils.checks import is_number
from ..errors import InvalidInput, InvalidType
from .checks import binary_of, is_list
from .style import GREY, INKS, LINES, MARKERS, axes_or_new, cycled, legend_below, legend_label, plot_function

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@plot_function
def path(
    models: Sequence[Any],
    values: Any,
    X: Any = None,
    y: Any = None,
    *,
    show: str | None = None,
    class_of_interest: Any = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw a path of fits: weights, terms of the objective, or the score, over one parameter.

    Parameters
    ----------
    models : list of PriorSVC
        Fitted models, as returned by :meth:`PriorSVC.fit_path`.
    values : list or dict
        The values of the parameter, or one parameter and its values as in ``fit_path``, such as
        ``{"C": [0.1, 1, 10]}``.
    X : array-like of shape (n, d) or None, default=None
        Rows for the score, which is drawn dotted on its own axis.
    y : array-like of shape (n,) or None, default=None
        Classes of the rows of X.
    show : {"weights", "shares", "score"} or None, default=None
        ``"weights"``: the weights of a linear model, of the scaled features if the model has ``scale``.
        ``"shares"``: the terms of the objective. ``"score"``: the score alone. None means ``"weights"`` for
        linear models and ``"shares"`` for kernel models.
    class_of_interest : class label, pair of labels or None, default=None
        With more than two classes: the class whose model is drawn, or the pair for ``multi_class="ovo"``.
    ax : matplotlib.axes.Axes or None, default=None
        Axes to draw on. None creates a figure.

    Returns
    -------
    matplotlib.axes.Axes
        The axes of the weights or terms. The score has the axis on the right.

    See Also
    --------
    shares : Draw the terms of the objective of one model.
    priorsvm.PriorSVC.fit_path : Fit a model for each value of a parameter.

    Examples
    --------
    >>> from priorsvm import PriorSVC, plot
    >>> grid = {"C": [0.1, 1, 10]}
    >>> models = PriorSVC().fit_path([[0.0, 1.0], [1.0, 0.0], [3.0, 1.0]], [0, 0, 1], grid)
    >>> ax = plot.path(models, grid)
    >>> ax.get_xlabel(), [line.get_label() for line in ax.lines[:2]]
    ('C', ['x0', 'x1'])
    """
    name, places, ticks = _check_values(models, values)
    binaries = [binary_of("path", model, class_of_interest) for model in models]
    what = _check_show(show, binaries)
    if (X is None) != (y is None) or (what == "score" and X is None):
        raise InvalidInput("plot.path: the score requires both X and y.")
    _check_columns(binaries)
    scores = [] if X is None else [model.score(X, y) for model in models]
    ax = axes_or_new(ax)
    if what == "weights":
        _draw_weights(ax, places, binaries)
    elif what == "shares":
        _draw_terms(ax, places, binaries)
    if X is not None:
        right = ax if what == "score" else ax.twinx()
        right.plot(places, scores, "k.:", label="score", linewidth=1.4, clip_on=False)
        # Scores are at most 1.
        right.set_ylim(top=min(right.get_ylim()[1], 1.0))
        right.set_ylabel("score")
    if ticks is not None:
        ax.set_xticks(places, ticks)
    elif places.min() > 0 and places.max() / places.min() >= 10:
        ax.set_xscale("log")
    ax.set_xlabel(name)
    if what != "score":
        handles = ax.get_legend_handles_labels()[0]
        if X is not None:
            handles += right.get_legend_handles_labels()[0]
        legend_below(ax, handles, 3)
    return ax


def _check_values(models: Any, values: Any) -> tuple[str, Array, list[str] | None]:
    """Return the name of the parameter, positions on the axis, and tick labels unless values are numbers."""
    name = "value"
    if isinstance(values, Mapping):
        if len(values) != 1:
            raise InvalidInput(
                f"plot.path: values must have one parameter, got {', '.join(map(str, values))}. Select the "
                "models along one parameter."
            )
        [(name, values)] = values.items()
    if not isinstance(models, (list, tuple)) or not models:
        raise InvalidType(
            f"plot.path: models must be a list of fitted models, as returned by fit_path; got {models!r}."
        )
    if not is_list(values):
        raise InvalidInput(f"plot.path: values must be a list or a dict of one list, got {values!r}.")
    values = list(values)
    if len(values) != len(models):
        raise InvalidInput(
            f"plot.path: there are {len(models)} models and {len(values)} values. Give one value per model."
        )
    if all(is_number(value) for value in values):
        return str(name), np.array(values, float), None
    return str(name), np.arange(len(values), dtype=float), [str(value) for value in values]


def _check_show(show: str | None, binaries: list[Any]) -> str:
    linear = all(binary.spec.linear for binary in binaries)
    what = show or ("weights" if linear else "shares")
    if what not in ("weights", "shares", "score"):
        raise InvalidInput(f"plot.path: show must be 'weights', 'shares' or 'score', got {show!r}.")
    if what == "weights" and not linear:
        raise InvalidInput("plot.path: show='weights' requires linear models. Use show='shares' or 'score'.")
    return what


def _check_columns(binaries: list[Any]) -> None:
    """Raise InvalidInput unless all models were fitted on the columns of the first model."""
    first = binaries[0].training
    for k, binary in enumerate(binaries):
        training = binary.training
        if training.X.shape[1] != first.X.shape[1] or _names(training) != _names(first):
            raise InvalidInput(
                f"plot.path: model {k} was fitted on {_columns(training)}, but model 0 on {_columns(first)}. "
                "Give models with equal columns."
            )


def _names(training: Any) -> list[str] | None:
    return None if training.feature_names is None else training.feature_names.tolist()


def _columns(training: Any) -> list[str] | str:
    return _names(training) or f"{training.X.shape[1]} columns"


def _draw_weights(ax: Axes, places: Array, binaries: list[Any]) -> None:
    scale = binaries[0].spec.scale
    W = np.array([binary.f.coef * (1.0 if scale is None else binary.spec.scale.width) for binary in binaries])
    names = binaries[0].training.feature_names
    # Only the largest weights have colours and names. Black, the last colour, is for the score.
    order = np.argsort(-np.abs(W).max(axis=0), kind="stable")
    named = np.sort(order[: len(INKS) - 1])
    others = np.setdiff1d(np.arange(W.shape[1]), named)
    for k, j in enumerate(named):
        label = f"x{j}" if names is None else legend_label(names[j])
        ax.plot(
            places,
            W[:, j],
            color=INKS[k],
            linestyle=cycled(LINES, k),
            marker=MARKERS[k],
            markersize=4,
            label=label,
        )
    if len(others):
        grey = ax.plot(places, W[:, others], color="0.8", linewidth=0.8, zorder=1)
        grey[0].set_label(f"{len(others)} more feature{'s' if len(others) > 1 else ''}, in grey")
    ax.axhline(0.0, color="black", linewidth=0.6)
    ax.set_ylabel("weight" if scale is None else "weight of the scaled feature")


def _draw_terms(ax: Axes, places: Array, binaries: list[Any]) -> None:
    found = [binary.contributions() for binary in binaries]
    terms = list(dict.fromkeys(term for parts in found for term in parts))
    for k, term in enumerate(terms):
        ax.plot(
            places,
            [parts.get(term, 0.0) for parts in found],
            color=cycled(INKS, k),
            linestyle=cycled(LINES, k),
            marker=cycled(MARKERS, k),
            markersize=4,
            label=" ".join(term),
        )
    ax.plot(
        places,
        [sum(parts.values()) for parts in found],
        color=GREY,
        linewidth=2.5,
        label="objective",
        zorder=1,
    )
    ax.set_ylabel("contribution to the objective")
