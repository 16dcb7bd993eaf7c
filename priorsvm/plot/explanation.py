"""The parts of the score of one row."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InvalidInput, InvalidType
from ..explain.row import Explanation, Explanations, Part, value_text
from .checks import check_count
from .style import (
    BEHIND,
    COLOURS,
    GREY,
    HATCHES,
    axes_or_new,
    cycled,
    legend_below,
    legend_line,
    plot_function,
    wrapped,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Letters of a label of a bar.
LABEL_WIDTH = 34
# Pixels between a number and the frame, and the largest share of the frame on one side of a bar for a number.
GAP = 4
MOST_ROOM = 0.4
# Steps to the limits; the error shrinks by 2 * MOST_ROOM in each.
ROUNDS = 40


@plot_function
def explain(explanation: Any, *, count: int = 10, ax: Axes | None = None) -> Axes:
    """Draw the parts of the score of a row as a waterfall, from the mean of the training rows to the score.

    Every bar starts where the bar above it ends. Parts that raise the score are plain and have the colour of
    the class of the score in ``plot.decision``. Parts that lower it are hatched. They have the colour of the
    class that the score is against, or grey if these are several classes. The dashed line is the decision
    boundary: with two classes, a score of 0. The legend below the axes has all of them.

    Parameters
    ----------
    explanation : Explanation
        Result of ``model.explain(row)``.
    count : int, default=10
        Number of columns with a bar of their own, the largest parts. One more bar has the sum of the rest.
    ax : matplotlib.axes.Axes or None, default=None
        Axes to draw on. None creates a figure.

    Returns
    -------
    matplotlib.axes.Axes
        The axes with the bars.

    See Also
    --------
    decision : Draw the decision function over two columns.

    Examples
    --------
    >>> from priorsvm import PriorSVC, plot
    >>> model = PriorSVC().fit([[0.0, 1.0], [2.0, 1.5]], ["well", "ill"])
    >>> ax = plot.explain(model.explain([3.0, 1.0]))
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['mean of the training rows', 'x0 = 3', 'x1 = 1', 'score']
    >>> [text.get_text() for text in ax.get_legend().get_texts()][:2]
    ["raises the score of 'well'", "lowers it, towards 'ill'"]
    """
    found = _single(explanation)
    check_count("explain", "count", count)
    shown = found.parts if len(found.parts) <= count + 1 else found.parts[:count]
    rest = found.parts[len(shown) :]
    steps = [(_label(part), part.part) for part in shown]
    if rest:
        steps.append((f"{len(rest)} more columns", float(sum(part.part for part in rest))))
    ax = axes_or_new(ax, figsize=(6.4, 1.6 + 0.32 * (len(steps) + 2)))
    raising, lowering = _colours(found)
    ends = found.base + np.cumsum([0.0, *(step for _, step in steps)])
    ax.axvline(found.base, color=GREY, linewidth=0.8, linestyle=":")
    for place, (_, step) in enumerate(steps, 1):
        up = step >= 0
        bar = ax.barh(
            place,
            step,
            left=ends[place - 1],
            height=0.7,
            color=raising if up else lowering,
            edgecolor="white",
            hatch="" if up else HATCHES[0],
        )
        ax.bar_label(bar, labels=[f"{step:+.3g}"], padding=3, fontsize="small", bbox=BEHIND)
        ax.plot([ends[place]] * 2, [place, place + 1], color=GREY, linewidth=0.8)
    for place, value in ((0, found.base), (len(steps) + 1, found.score)):
        ax.plot([value], [place], marker="D", color="black", markersize=6)
        ax.annotate(
            f"{value:+.3g}", (value, place), (8, 0), textcoords="offset points", va="center", fontsize="small"
        )
    if found.second is None:
        ax.axvline(0.0, color="black", linewidth=1.0, linestyle="--")
    labels = ["mean of the training rows", *(label for label, _ in steps), "score"]
    ax.set_yticks(range(len(labels)), [wrapped(label, LABEL_WIDTH) for label in labels])
    ax.invert_yaxis()
    ax.use_sticky_edges = False
    ax.margins(x=0.05)
    ax.set_xlabel(f"score of {found.of!r}")
    ax.set_title(f"class {found.label!r}", fontsize="medium")
    for label in ax.get_yticklabels():
        label.set_parse_math(False)
    legend_below(ax, _key(found, raising, lowering), 2)
    _make_room(ax)
    return ax


def _make_room(ax: Axes) -> None:
    """Widen the range of x until all numbers beside the bars are inside the frame."""
    from matplotlib.text import Annotation

    ax.figure.figure.draw_without_rendering()  # the layout determines the width of the axes
    frame = ax.get_window_extent()
    numbers = [text for text in ax.texts if isinstance(text, Annotation)]
    anchors = np.array([number.xy[0] for number in numbers])
    at = ax.transData.transform(np.column_stack([anchors, np.zeros(len(anchors))]))[:, 0]
    extents = [number.get_window_extent() for number in numbers]
    most = MOST_ROOM * frame.width
    left = np.minimum([place - extent.x0 + GAP for place, extent in zip(at, extents, strict=True)], most)
    right = np.minimum([extent.x1 - place + GAP for place, extent in zip(at, extents, strict=True)], most)
    first, last = ax.get_xlim()
    low, high = first, last
    for _ in range(ROUNDS):  # wider limits move the numbers, whose widths in pixels stay
        pixel = (high - low) / frame.width
        low = min(first, float(np.min(anchors - left * pixel)))
        high = max(last, float(np.max(anchors + right * pixel)))
    ax.set_xlim(low, high)


def _key(found: Explanation, raising: str, lowering: str) -> list[Any]:
    """Return the entries of the legend."""
    from matplotlib.patches import Patch

    against = _against(found)
    towards = "" if against is None else f", towards {against!r}"
    handles: list[Any] = [
        Patch(facecolor=raising, label=f"raises the score of {found.of!r}"),
        Patch(facecolor=lowering, edgecolor="white", hatch=HATCHES[0], label=f"lowers it{towards}"),
        legend_line(GREY, "mean of the training rows", linewidth=0.8, linestyle=":"),
    ]
    if found.second is None:
        handles.append(legend_line("black", "decision boundary", linewidth=1.0, linestyle="--"))
    return handles


def _single(explanation: Any) -> Explanation:
    """Return the explanation of one row."""
    if isinstance(explanation, Explanation):
        return explanation
    if isinstance(explanation, Explanations) and len(explanation) == 1:
        return explanation[0]
    if isinstance(explanation, Explanations):
        raise InvalidInput(
            f"plot.explain draws one row, and {len(explanation)} rows are explained. Give one of them, for "
            "example explanations[0]."
        )
    raise InvalidType(
        f"plot.explain requires an Explanation, got {type(explanation).__name__}. Use model.explain(row)."
    )


def _colours(found: Explanation) -> tuple[str, str]:
    """Return the colours of parts that raise and that lower the score: those of the classes."""
    raising = cycled(COLOURS, found.classes.index(found.of))
    against = _against(found)
    lowering = GREY if against is None else cycled(COLOURS, found.classes.index(against))
    return raising, lowering


def _against(found: Explanation) -> Any:
    """Return the class that the score is against, or None if these are several classes."""
    if len(found.classes) == 2:
        return next(label for label in found.classes if label != found.of)
    return found.against


def _label(part: Part) -> str:
    return f"{part.column} = {value_text(part.value, 4)}" + (" (not recorded)" if part.missing else "")
