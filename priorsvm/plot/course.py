"""How a fit went: what each term costs, how the rounds converge, what a path of fits looks like."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .._utils.arrays import Array
from .._utils.checks import is_number
from ..errors import InvalidInput, InvalidType
from ..explain.report import Report
from .style import (
    COLOURS,
    GREY,
    HATCHES,
    INKS,
    LINES,
    MARKERS,
    as_written,
    axes_of,
    cycled,
    legend_below,
    machine_of,
    machines_of,
    shown,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@as_written
def shares(model_or_report: Any, *, ax: Axes | None = None) -> Axes:
    r"""What every term adds to the objective, as bars: :math:`J_{SVM} + \sum_k J_{PK,k}`, block by block.

    The terms of the machine itself are plain, those of blocks hatched; a bar to the left of zero is a block
    that makes rows cheaper. Numbers are percent of the objective; they add up to 100, so that beside bars to
    the left of zero a single one can be above 100.

    Parameters
    ----------
    model_or_report : fitted PriorSVC, or its ``report_``
    ax : matplotlib Axes, optional
        None makes a figure.

    Returns
    -------
    matplotlib Axes

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
        machines_of("shares", model_or_report)
        report = model_or_report.report_
    # Constraints cost nothing; their rows have no slack of their own.
    rows = [row for row in report.rows if not np.isnan(row.slack)]
    terms = list(dict.fromkeys((row.block, row.term) for row in rows))
    labels = list(report.objectives)
    many = len(labels) > 1
    ax = axes_of(ax)
    height = 0.8 / len(labels)
    for k, label in enumerate(labels):
        value = {(row.block, row.term): row.contribution for row in rows if row.label == label}
        total = report.objectives[label]
        for place, term in enumerate(terms):
            if term not in value:
                continue
            own = term[0] == "svm"
            look: dict[str, Any] = {
                "color": cycled(COLOURS, k) if many else COLOURS[0 if own else 1],
                "hatch": cycled(("", *HATCHES), k) if many else "" if own else HATCHES[0],
            }
            middle = place + (k - (len(labels) - 1) / 2) * height
            bar = ax.barh(
                middle,
                value[term],
                height=height,
                edgecolor="white",
                label=f"class {label}" if many and place == 0 else None,
                **look,
            )
            percent = f"{100 * value[term] / total:.1f} %" if total else ""
            ax.bar_label(bar, labels=[percent], padding=3, fontsize="small" if not many else "x-small")
    ax.axvline(0.0, color="black", linewidth=0.8)
    ax.set_yticks(range(len(terms)), [" ".join(term) for term in terms])
    ax.invert_yaxis()
    ax.margins(x=0.25)
    cheaper = any(row.contribution < 0 for row in rows)
    ax.set_xlabel(
        "contribution to the objective"
        + ("\nBars left of 0 make rows cheaper: shares add up to 100 % with them." if cheaper else "")
    )
    if many:
        ax.legend(fontsize="small")
    return ax


@as_written
def convergence(model: Any, *, class_of_interest: Any = None, ax: Axes | None = None) -> Axes:
    """The objective round by round, and the bounds between which the optimum lies, from ``history_``.

    Column generation has both bounds; cuts have a rising objective, which is a lower bound; machines without
    iterative blocks have one round.

    Parameters
    ----------
    model : fitted PriorSVC
    class_of_interest : class, optional
        With more than two classes: the machine of this class, with its bounds. By default the objectives of
        all.
    ax : matplotlib Axes, optional
        None makes a figure.

    Returns
    -------
    matplotlib Axes

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

    machines = machines_of("convergence", model)
    if class_of_interest is not None:
        machines = [machine_of("convergence", model, class_of_interest)]
    ax = axes_of(ax)
    one = len(machines) == 1
    for k, machine in enumerate(machines):
        label = "objective" if one else f"class {machine.training.positive}"
        _by_round(ax, machine.history, "objective", k, 0, label)
        if one:
            _by_round(ax, machine.history, "lower", 2, 1, "lower bound")
            _by_round(ax, machine.history, "upper", 1, 3, "upper bound")
    drawn = np.concatenate([np.asarray(line.get_ydata(), float) for line in ax.lines])
    if drawn.min() > 0 and drawn.max() > 50 * drawn.min():
        ax.set_yscale("log")
    else:
        ax.ticklabel_format(axis="y", useOffset=False)  # "1e-5 + 12.3" has to be added up by the reader
    ax.set(xlabel="round", ylabel="objective")
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    if max(len(machine.history) for machine in machines) == 1:
        ax.set_xlim(0.0, 2.0)
    ax.legend(fontsize="small")
    return ax


def _by_round(ax: Axes, history: list[dict[str, Any]], key: str, look: int, line: int, label: str) -> None:
    rounds = [entry["round"] for entry in history]
    values = np.array([entry.get(key, np.nan) for entry in history], float)
    known = np.isfinite(values)
    if known.any():
        ax.plot(
            np.array(rounds)[known],
            values[known],
            marker=cycled(MARKERS, look),
            markersize=4,
            color=cycled(COLOURS, look),
            linestyle=LINES[line] if key != "objective" else cycled(LINES, look),
            linewidth=2.5 if key == "objective" else 1.5,
            label=label,
        )


@as_written
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
    """What happens along a path of fits: weights, shares of the objective, or the score on rows.

    Parameters
    ----------
    models : list of fitted PriorSVC
        From :meth:`PriorSVC.fit_path`.
    values : list of values, or dict of one parameter to them
        The parameter that changes, ``{"C": [0.1, 1, 10]}`` as it was given to ``fit_path``.
    X, y : rows and classes, optional
        The share of them that each model gets right, as a dotted line on an axis of its own.
    show : "weights", "shares" or "score", optional
        The weights of a linear machine (in the machine's units if it has ``scale``), what each term adds to
        the objective, or the score alone. By default weights for linear machines, else shares.
    class_of_interest : class, optional
        With more than two classes: whose machine.
    ax : matplotlib Axes, optional
        None makes a figure.

    Returns
    -------
    matplotlib Axes
        Those of the weights or shares; the score has the right-hand axis.

    Examples
    --------
    >>> from priorsvm import PriorSVC, plot
    >>> grid = {"C": [0.1, 1, 10]}
    >>> models = PriorSVC().fit_path([[0.0, 1.0], [1.0, 0.0], [3.0, 1.0]], [0, 0, 1], grid)
    >>> ax = plot.path(models, grid)
    >>> ax.get_xlabel(), [line.get_label() for line in ax.lines[:2]]
    ('C', ['x0', 'x1'])
    """
    name, places, ticks = _values(models, values)
    machines = [machine_of("path", model, class_of_interest) for model in models]
    linear = all(machine.spec.kernel is None for machine in machines)
    what = show or ("weights" if linear else "shares")
    if what not in ("weights", "shares", "score"):
        raise InvalidInput(f"plot.path: show must be 'weights', 'shares' or 'score', got {show!r}.")
    if what == "weights" and not linear:
        raise InvalidInput("plot.path: show='weights' is for linear machines. Use show='shares' or 'score'.")
    if (X is None) != (y is None) or (what == "score" and X is None):
        raise InvalidInput("plot.path: the score needs both X and y.")
    _check_columns(machines)
    scores = [] if X is None else [model.score(X, y) for model in models]
    ax = axes_of(ax)
    if what == "weights":
        _weights(ax, places, machines)
    elif what == "shares":
        _shares(ax, places, machines)
    if X is not None:
        right = ax if what == "score" else ax.twinx()
        right.plot(places, scores, "k.:", label="score", linewidth=1.4, clip_on=False)
        right.set_ylim(top=min(right.get_ylim()[1], 1.0))  # no score is above 1
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


def _values(models: Any, values: Any) -> tuple[str, Array, list[str] | None]:
    """The parameter's name, places along the axis, and words for them if the values are no numbers."""
    name = "value"
    if isinstance(values, Mapping):
        if len(values) != 1:
            raise InvalidInput(
                f"plot.path: a path is along one parameter, and values has {', '.join(map(str, values))}. "
                "Pick the models along one of them."
            )
        [(name, values)] = values.items()
    if not isinstance(models, (list, tuple)) or not models:
        raise InvalidType(f"plot.path draws a list of fitted models, as fit_path returns, got {models!r}.")
    values = list(values)
    if len(values) != len(models):
        raise InvalidInput(f"plot.path: there are {len(models)} models and {len(values)} values: one each.")
    if all(is_number(value) for value in values):
        return str(name), np.array(values, float), None
    return str(name), np.arange(len(values), dtype=float), [str(value) for value in values]


def _check_columns(machines: list[Any]) -> None:
    """Refuse models of other columns, whose weights cannot be joined by lines."""
    first = machines[0].training
    for k, machine in enumerate(machines):
        training = machine.training
        names = [None if t.feature_names is None else t.feature_names.tolist() for t in (first, training)]
        if training.X.shape[1] != first.X.shape[1] or names[0] != names[1]:
            told = names[1] or f"{training.X.shape[1]} columns"
            raise InvalidInput(
                f"plot.path: model {k} was fitted on {told}, and the first on "
                f"{names[0] or f'{first.X.shape[1]} columns'}. A path has the same columns throughout."
            )


def _weights(ax: Axes, places: Array, machines: list[Any]) -> None:
    scale = machines[0].spec.scale
    training = machines[0].training
    W = np.array(
        [machine.f.coef * (1.0 if scale is None else machine.spec.scale.width) for machine in machines]
    )
    names = training.feature_names
    # More lines than can be told apart: the largest get names. Black is for the score, the last colour.
    order = np.argsort(-np.abs(W).max(axis=0), kind="stable")
    named = np.sort(order[: len(INKS) - 1])
    others = np.setdiff1d(np.arange(W.shape[1]), named)
    for k, j in enumerate(named):
        label = f"x{j}" if names is None else shown(names[j])
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
        grey[0].set_label(f"{len(others)} more column{'s' if len(others) > 1 else ''}, in grey")
    ax.axhline(0.0, color="black", linewidth=0.6)
    ax.set_ylabel("weight" if scale is None else "weight of the scaled column")


def _shares(ax: Axes, places: Array, machines: list[Any]) -> None:
    found = [machine.contributions() for machine in machines]
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
