"""Style of all figures: colours for colour-blind readers, markers for greyscale, legends and axes."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from textwrap import wrap
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import numpy as np

from ..errors import InvalidType

if TYPE_CHECKING:
    from matplotlib.axes import Axes

P = ParamSpec("P")
R = TypeVar("R")

# The palette of Okabe & Ito, the most different pair first.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#F0E442", "#000000")
# Yellow lines are too faint.
INKS = tuple(colour for colour in COLOURS if colour != "#F0E442")
# One more marker than colours, so that pairs of colour and marker differ for nine and more classes.
MARKERS = ("o", "^", "s", "D", "v", "P", "X", "*", "p")
HATCHES = ("//", "\\\\", "..", "xx", "++", "||", "--", "oo")
LINES = ("-", "--", "-.", ":")
# Opacities of the shaded classes, which distinguish them in greyscale.
SHADES = (0.24, 0.16, 0.42, 0.10)
GREY = "0.45"
# Layout of a legend: letters per inch, letters that a marker takes, and the smallest useful line.
LETTERS = 17
HANDLE = 7
SHORT = 28
# Background of texts over lines and markers.
BEHIND = {"facecolor": "white", "alpha": 0.7, "edgecolor": "none", "pad": 0.8}


def cycled(options: tuple[Any, ...], k: int) -> Any:
    """Return the k-th option, starting again after the last."""
    return options[k % len(options)]


def axes_or_new(ax: Axes | None, **figure: Any) -> Axes:
    """Return the given axes, or the axes of a new pyplot figure."""
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt

    return plt.subplots(layout="constrained", **figure)[1]


def plot_function(function: Callable[P, R]) -> Callable[P, R]:
    """Wrap a plot function: check ax, show names literally, close new figures after an error."""

    @wraps(function)
    def drawn(*arguments: P.args, **keywords: P.kwargs) -> R:
        import matplotlib.pyplot as plt
        from matplotlib.axes import Axes

        given = keywords.get("ax")
        if not (given is None or isinstance(given, Axes)):
            raise InvalidType(
                f"plot.{function.__name__}: ax must be matplotlib Axes or None, got {type(given).__name__}. "
                "Create axes with plt.subplots()[1]."
            )
        before = set(plt.get_fignums())
        try:
            result = function(*arguments, **keywords)
        except Exception:
            for number in set(plt.get_fignums()) - before:
                plt.close(number)
            raise
        for ax in np.ravel(np.asarray(result, dtype=object)):
            legend = ax.get_legend()
            texts = [ax.title, ax.xaxis.label, ax.yaxis.label, *ax.texts]
            for text in [*texts, *([] if legend is None else [legend.get_title(), *legend.get_texts()])]:
                # A "$" in the name of a class or feature is a currency, not the start of a formula.
                text.set_parse_math(False)
        return result

    return drawn


def legend_label(name: Any) -> str:
    """Return a name that the legend shows; matplotlib drops empty names and leading underscores."""
    text = str(name) or "''"
    return f"\u200b{text}" if text.startswith("_") else text


def legend_line(colour: str, label: str, **look: Any) -> Any:
    """Return a line for the legend."""
    from matplotlib.lines import Line2D

    return Line2D([], [], color=colour, label=label, **look)


def wrapped(text: str, width: int) -> str:
    """Return a text in lines of at most ``width`` letters; existing line breaks stay."""
    return "\n".join("\n".join(wrap(part, max(width, 1))) or part for part in text.splitlines()) or text


def legend_below(ax: Axes, handles: list[Any], ncols: int, title: str | None = None) -> None:
    """Draw the legend below the axes, at most as wide as the axes; long labels take several lines."""
    room = int(LETTERS * ax.get_window_extent().width / ax.figure.dpi)
    labels, columns = arranged_labels([str(handle.get_label()) for handle in handles], ncols, room)
    ax.legend(
        handles=handles,
        labels=labels,
        title=None if title is None else wrapped(title, room),
        loc="upper center",
        bbox_to_anchor=(0.5, 0.0),
        # Below the tick labels and the label of the axis.
        borderaxespad=4.2 + 1.5 * ax.get_xlabel().count("\n"),
        ncols=columns,
        fontsize="small",
        title_fontsize="small",
    )


def arranged_labels(labels: list[str], columns: int, room: int) -> tuple[list[str], int]:
    """Return the labels, wrapped if necessary, and the number of columns that fit."""
    size = -(-len(labels) // columns)
    widest = [max(map(len, labels[k : k + size])) + HANDLE for k in range(0, len(labels), size)]
    each = room // columns - HANDLE
    if sum(widest) <= room:
        return labels, columns
    if columns > 1 and each < SHORT:
        return arranged_labels(labels, columns - 1, room)
    return [wrapped(label, each) for label in labels], columns
