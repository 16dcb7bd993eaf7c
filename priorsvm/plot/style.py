"""What pictures share: colours that the colour-blind tell apart, and shapes for those who see grey."""

from __future__ import annotations

from functools import wraps
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from ..errors import InvalidInput, InvalidType

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..estimator import PriorSVC
    from ..solve.machine import Machine

# Okabe & Ito's palette, from its most distant pair on.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#F0E442", "#000000")
# Without yellow, which is too faint for a line.
INKS = tuple(colour for colour in COLOURS if colour != "#F0E442")
# One more than colours, so that nine classes and more still have a pair of their own.
MARKERS = ("o", "^", "s", "D", "v", "P", "X", "*", "p")
HATCHES = ("//", "\\\\", "..", "xx", "++", "||", "--", "oo")
LINES = ("-", "--", "-.", ":")
# Classes shade the plane more or less heavily: in grey that is all that tells them apart.
SHADES = (0.24, 0.16, 0.42, 0.10)
GREY = "0.45"
# Of a legend: letters on an inch, as how many of them a marker counts, and what lines are too short.
LETTERS = 17
HANDLE = 7
SHORT = 28
# Behind words that stand on lines and markers.
BEHIND = {"facecolor": "white", "alpha": 0.7, "edgecolor": "none", "pad": 0.8}


def cycled(options: tuple[Any, ...], k: int) -> Any:
    """The k-th, from the beginning again after the last."""
    return options[k % len(options)]


def axes_of(ax: Axes | None, **figure: Any) -> Axes:
    """The axes given, or those of a new figure, which pyplot knows and nobody shows."""
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt

    return plt.subplots(layout="constrained", **figure)[1]


def as_written(function: Any) -> Any:
    """A picture that shows names as they are written, and of which an error leaves no figure behind."""

    @wraps(function)
    def drawn(*arguments: Any, **keywords: Any) -> Any:
        import matplotlib.pyplot as plt
        import numpy as np
        from matplotlib.axes import Axes

        given = keywords.get("ax")
        if not (given is None or isinstance(given, Axes)):
            raise InvalidType(
                f"plot.{function.__name__}: ax must be matplotlib Axes, such as plt.subplots()[1], or None, "
                f"got {type(given).__name__}."
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
                text.set_parse_math(False)  # a "$" is a currency here
        return result

    return drawn


def shown(name: Any) -> str:
    """A name for the legend, which leaves out those that are empty or begin with an underscore."""
    text = str(name) or "''"
    return f"\u200b{text}" if text.startswith("_") else text


def line(colour: str, label: str, **look: Any) -> Any:
    """A line for the legend."""
    from matplotlib.lines import Line2D

    return Line2D([], [], color=colour, label=label, **look)


def in_lines(text: str, width: int) -> str:
    """Words in lines of no more than so many letters; lines that there are stay."""
    return "\n".join("\n".join(wrap(part, max(width, 1))) or part for part in text.splitlines()) or text


def legend_below(ax: Axes, handles: list[Any], ncols: int, title: str | None = None) -> None:
    """Below the axes, where it hides nothing, and no wider: long labels take several lines."""
    room = int(LETTERS * ax.get_window_extent().width / ax.figure.dpi)
    labels, columns = _arranged([str(handle.get_label()) for handle in handles], ncols, room)
    ax.legend(
        handles=handles,
        labels=labels,
        title=None if title is None else in_lines(title, room),
        loc="upper center",
        bbox_to_anchor=(0.5, 0.0),
        borderaxespad=4.2 + 1.5 * ax.get_xlabel().count("\n"),  # below the numbers and the name of the axis
        ncols=columns,
        fontsize="small",
        title_fontsize="small",
    )


def _arranged(labels: list[str], columns: int, room: int) -> tuple[list[str], int]:
    """Labels, in lines if need be, and the number of columns for which there is room."""
    size = -(-len(labels) // columns)
    widest = [max(map(len, labels[k : k + size])) + HANDLE for k in range(0, len(labels), size)]
    each = room // columns - HANDLE
    if sum(widest) <= room:
        return labels, columns
    if columns > 1 and each < SHORT:
        return _arranged(labels, columns - 1, room)
    return [in_lines(label, each) for label in labels], columns


def machines_of(function: str, model: Any) -> list[Machine]:
    """What a fitted PriorSVC is made of; an error that names the function for everything else."""
    from ..estimator import PriorSVC
    from ..fitted import Unfitted

    if not isinstance(model, PriorSVC):
        raise InvalidType(
            f"plot.{function} draws a fitted PriorSVC, got {type(model).__name__}. Of a pipeline give its "
            "last step, pipeline[-1], and of a search its best_estimator_."
        )
    if not hasattr(model, "_machines"):
        raise Unfitted(f"plot.{function}: this PriorSVC is not fitted yet. Call fit(X, y) first.")
    return model._machines


def machine_of(function: str, model: PriorSVC, label: Any) -> Machine:
    """The machine that tells one class from the others; where there is one only, that."""
    machines = machines_of(function, model)
    if label is not None:
        place = class_index(function, model, label)
        return machines[0 if len(machines) == 1 else place]
    if len(machines) > 1:
        raise InvalidInput(
            f"plot.{function}: there is a machine for each of the classes {model.classes_.tolist()}. "
            "Say whose with class_of_interest."
        )
    return machines[0]


def class_index(function: str, model: PriorSVC, label: Any) -> int:
    """The place of a class among all."""
    classes = model.classes_.tolist()
    if label not in classes:
        raise InvalidInput(f"plot.{function}: class_of_interest={label!r} is none of the classes {classes}.")
    return classes.index(label)
