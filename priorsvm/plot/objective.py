"""The objective of a fitted model: its terms, and its values in each round of the fit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..explain.report import Report
from ..sample import label_text
from .checks import binaries_of, binary_of
from .style import COLOURS, HATCHES, LINES, MARKERS, axes_or_new, cycled, plot_function

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Objectives whose ratio exceeds this number are drawn on a logarithmic axis.
LOG_RATIO = 50


@plot_function
def shares(model_or_report: Any, *, ax: Axes | None = None) -> Axes:
    r"""Draw the terms of the objective as bars, :math:`J_{SVM} + \sum_k J_{PK,k}`, block by block.

    Terms of the SVM are plain, terms of blocks are hatched. Numbers are percentages of the objective and add
    up to 100. A block that reduces the costs of rows has a negative term. The percentage of another term can
    then exceed 100. Constraints have no bar, since they add nothing to the objective.

    Parameters
    ----------
    model_or_report : PriorSVC or Report
        A fitted model, or its ``report_``.
    ax : matplotlib.axes.Axes or None, default=None
        Axes to draw on. None creates a figure.

    Returns
    -------
    matplotlib.axes.Axes
        The axes with the bars.

    See Also
    --------
    convergence : Draw the objective in each round.
    path : Draw the terms along a path of fits.

    Examples
    --------
    >>> from priorsvm import PriorSVC, Shift, VirtualSamples, plot
    >>> model = PriorSVC(VirtualSamples(Shift([0.0, 1.0]))).fit([[0.0, 0.0], [2.0, 0.0]], [0, 1])
    >>> ax = plot.shares(model)
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['svm regulariser', 'svm loss', 'virtual_samples sample']
    """
    report = model_or_report
    if not isinstance(report, Report):
        binaries_of("shares", model_or_report)
        report = model_or_report.report_
    # Rows of the report without slack are constraints.
    rows = [row for row in report.rows if not np.isnan(row.slack)]
    terms = list(dict.fromkeys((row.block, row.term) for row in rows))
    labels = list(report.objectives)
    many = len(labels) > 1
    ax = axes_or_new(ax)
    height = 0.8 / len(labels)
    for k, label in enumerate(labels):
        values = {(row.block, row.term): row.contribution for row in rows if row.label == label}
        total = report.objectives[label]
        for place, term in enumerate(terms):
            if term not in values:
                continue
            bar = ax.barh(
                place + (k - (len(labels) - 1) / 2) * height,
                values[term],
                height=height,
                edgecolor="white",
                label=f"class {label_text(label)}" if many and place == 0 else None,
                **_bar_style(term, k, many),
            )
            percent = f"{100 * values[term] / total:.1f} %" if total else ""
            ax.bar_label(bar, labels=[percent], padding=3, fontsize="x-small" if many else "small")
    ax.axvline(0.0, color="black", linewidth=0.8)
    ax.set_yticks(range(len(terms)), [" ".join(term) for term in terms])
    ax.invert_yaxis()
    ax.margins(x=0.25)
    negative = any(row.contribution < 0 for row in rows)
    note = "\nNegative terms reduce costs. All terms add up to 100 %." if negative else ""
    ax.set_xlabel(f"contribution to the objective{note}")
    if many:
        ax.legend(fontsize="small")
    return ax


def _bar_style(term: tuple[str, str], k: int, many: bool) -> dict[str, Any]:
    if many:
        return {"color": cycled(COLOURS, k), "hatch": cycled(("", *HATCHES), k)}
    if term[0] == "svm":
        return {"color": COLOURS[0], "hatch": ""}
    return {"color": COLOURS[1], "hatch": HATCHES[0]}


@plot_function
def convergence(model: Any, *, class_of_interest: Any = None, ax: Axes | None = None) -> Axes:
    """Draw the objective in each round, and the bounds on the optimum, from ``history_``.

    Column generation has a lower and an upper bound. Cuts have a rising objective, which is a lower bound.
    Models without iterative blocks have one round.

    Parameters
    ----------
    model : PriorSVC
        A fitted model.
    class_of_interest : class label, pair of labels or None, default=None
        With more than two classes: draw the model of this class, with its bounds, or of the pair for
        ``multi_class="ovo"``. None draws the objectives of all models.
    ax : matplotlib.axes.Axes or None, default=None
        Axes to draw on. None creates a figure.

    Returns
    -------
    matplotlib.axes.Axes
        The axes with the curves.

    See Also
    --------
    shares : Draw the terms of the objective.

    Examples
    --------
    >>> from priorsvm import Box, PriorSVC, RBF, plot
    >>> box = Box({0: (2, 3), 1: (0, 1)}, label=1, hard=True)
    >>> model = PriorSVC(box, kernel=RBF(1.0)).fit([[0.0, 0.0], [1.0, 1.0]], [1, 0])
    >>> ax = plot.convergence(model)
    >>> len(ax.lines[0].get_xdata()) == model.n_rounds_
    True
    """
    from matplotlib.ticker import MaxNLocator

    binaries = binaries_of("convergence", model)
    if class_of_interest is not None:
        binaries = [binary_of("convergence", model, class_of_interest)]
    ax = axes_or_new(ax)
    one = len(binaries) == 1
    for k, binary in enumerate(binaries):
        label = "objective" if one else f"class {label_text(binary.training.label)}"
        _draw_history(ax, binary.history, "objective", label, k, cycled(LINES, k), 2.5)
        if one:
            _draw_history(ax, binary.history, "lower", "lower bound", 2, LINES[1], 1.5)
            _draw_history(ax, binary.history, "upper", "upper bound", 1, LINES[3], 1.5)
    drawn = np.concatenate([np.asarray(line.get_ydata(), float) for line in ax.lines])
    if drawn.min() > 0 and drawn.max() > LOG_RATIO * drawn.min():
        ax.set_yscale("log")
    else:
        # Without an offset such as "1e-5 + 12.3", tick labels are the values.
        ax.ticklabel_format(axis="y", useOffset=False)
    ax.set(xlabel="round", ylabel="objective")
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    if max(len(binary.history) for binary in binaries) == 1:
        ax.set_xlim(0.0, 2.0)
    ax.legend(fontsize="small")
    return ax


def _draw_history(
    ax: Axes, history: list[dict[str, Any]], key: str, label: str, look: int, style: str, width: float
) -> None:
    rounds = np.array([entry["round"] for entry in history])
    values = np.array([entry.get(key, np.nan) for entry in history], float)
    known = np.isfinite(values)
    if known.any():
        ax.plot(
            rounds[known],
            values[known],
            marker=cycled(MARKERS, look),
            markersize=4,
            color=cycled(COLOURS, look),
            linestyle=style,
            linewidth=width,
            label=label,
        )
