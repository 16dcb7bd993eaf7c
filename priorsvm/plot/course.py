"""How a fit went: what each term costs, how the rounds converge, what a path of fits looks like."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..explain.report import Report
from .style import COLOURS, HATCHES, axes_of, cycled, machines_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def shares(model_or_report: Any, *, ax: Axes | None = None) -> Axes:
    r"""What every term adds to the objective, as bars: :math:`J_{SVM} + \sum_k J_{PK,k}`, block by block.

    The terms of the machine itself are plain, those of blocks hatched; a bar to the left of zero is a block
    that makes rows cheaper. Numbers are percent of the objective.

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
    ax.margins(x=0.15)
    ax.set_xlabel("contribution to the objective")
    if many:
        ax.legend(fontsize="small")
    return ax
