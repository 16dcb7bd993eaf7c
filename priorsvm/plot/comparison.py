"""Decision functions of several models side by side."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from .._utils.arrays import Array
from .._utils.checks import check_flag
from ..errors import InvalidInput
from .boundary import draw_decision, slice_title
from .layers import Scene
from .style import LETTERS, arranged_labels, plot_function

if TYPE_CHECKING:
    from ..estimator import PriorSVC

# In inches: width and height of a panel, and height of a line of the legend.
PANEL = (4.4, 3.6)
LINE = 0.22
# Entries of the legend side by side.
COLUMNS = 4


@plot_function
def compare(
    models: Mapping[str, PriorSVC],
    X: Any = None,
    y: Any = None,
    *,
    axes: Any = None,
    legend: bool = True,
    **settings: Any,
) -> Array:
    """Draw the decision functions of several models side by side, in one window and with one legend.

    Use it to see what a block changes: give the model without the block and the model with it.

    Parameters
    ----------
    models : dict of str to PriorSVC
        Title of each panel and its fitted model. All models have the same features.
    X : array-like of shape (n, d) or None, default=None
        Rows to draw in every panel. None draws the training rows of each model.
    y : array-like of shape (n,) or None, default=None
        Classes of the rows of X.
    axes : sequence of matplotlib.axes.Axes or None, default=None
        One for each model. None creates a figure with one row of panels.
    legend : bool, default=True
        Whether to draw one legend below all panels.
    **settings
        Further parameters of :func:`decision`: ``features``, ``at``, ``class_of_interest``, ``extent``,
        ``grid_resolution``, ``support``, ``blocks`` and ``verify``.

    Returns
    -------
    ndarray of matplotlib.axes.Axes
        The axes of the panels.

    See Also
    --------
    decision : Draw the decision function of one model.

    Examples
    --------
    >>> from priorsvm import Box, PriorSVC, plot
    >>> X, y = [[0.0, 0.0], [1.0, 1.0]], [0, 1]
    >>> box = Box({0: (2, 3)}, label=1, hard=True)
    >>> axes = plot.compare({"plain": PriorSVC().fit(X, y), "with a box": PriorSVC(box).fit(X, y)})
    >>> [ax.get_title() for ax in axes]
    ['plain', 'with a box']
    """
    if not isinstance(models, Mapping) or not models:
        raise InvalidInput("plot.compare: models must be a dict of title to fitted model, with at least one.")
    check_flag(legend=legend)
    panels = _panels(axes, len(models))
    if settings.get("extent") is None:
        settings["extent"] = _common_window(panels, models, X, y, settings)
    scenes = []
    for ax, (title, model) in zip(panels, models.items(), strict=True):
        scenes.append(draw_decision(ax, model, X, y, **settings))
        ax.set_title(title)
    if axes is None:
        for ax in panels:
            ax.label_outer()
    if legend:
        _draw_legend(panels[0].figure, scenes, grow=axes is None)
    return panels


def _panels(axes: Any, count: int) -> Array:
    import matplotlib.pyplot as plt

    if axes is None:
        width, height = PANEL
        figure = plt.figure(figsize=(width * count, height), layout="constrained")
        return np.atleast_1d(figure.subplots(1, count))
    panels = np.ravel(np.asarray(axes, dtype=object))
    if not all(isinstance(panel, plt.Axes) for panel in panels):
        raise InvalidInput(f"plot.compare: axes must be matplotlib Axes, one for each model, got {axes!r}.")
    if len(panels) != count:
        raise InvalidInput(f"plot.compare: {len(panels)} axes are given for {count} models.")
    return panels


def _draw_legend(figure: Any, scenes: list[Scene], grow: bool) -> None:
    """Draw one legend below all panels, with room of its own if the figure may grow."""
    handles = {handle.get_label(): handle for scene in scenes for handle in scene.handles}
    room = int(0.8 * LETTERS * figure.get_figwidth())
    labels, columns = arranged_labels(list(handles), min(COLUMNS, len(handles)), room)
    if grow:
        figure.set_figheight(figure.get_figheight() + LINE * (2 - (-len(labels) // columns)))
    legend = figure.legend(
        handles=list(handles.values()),
        labels=labels,
        title=slice_title(scenes[0]),
        loc="outside lower center",
        ncols=columns,
        fontsize="small",
        title_fontsize="small",
    )
    for text in [legend.get_title(), *legend.get_texts()]:
        text.set_parse_math(False)


def _common_window(panels: Array, models: Mapping[str, PriorSVC], X: Any, y: Any, settings: Any) -> Any:
    """Return the smallest window that contains the windows of all models."""
    coarse = {**settings, "grid_resolution": 2, "verify": False}
    limits = []
    for ax, model in zip(panels, models.values(), strict=True):
        draw_decision(ax, model, X, y, **coarse)
        limits.append([*ax.get_xlim(), *ax.get_ylim()])
        ax.clear()
    left, right, bottom, top = np.transpose(limits)
    return left.min(), right.max(), bottom.min(), top.max()
