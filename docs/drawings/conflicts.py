"""Draw the figure of conflicts.md from the code of the page: `python docs/drawings/conflicts.py`."""

import doctest
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
from matplotlib.patches import Rectangle

from priorsvm import PriorSVC, Rule, plot
from priorsvm.plot.style import COLOURS, HATCHES, MARKERS

DOCS = Path(__file__).parents[1]
PAGE = (DOCS / "guide" / "conflicts.md").read_text(encoding="utf-8")


def page_names() -> dict[str, Any]:
    """Return the names of the page after its first conflict."""
    names: dict[str, Any] = {}
    steps = PAGE.partition("## Rules that another block connects")[0]
    for example in doctest.DocTestParser().get_examples(steps):
        exec(compile(example.source, "conflicts.md", "exec"), names)
    return names


def conflicts() -> plt.Figure:
    """Draw the two rules in conflict, and a model of a way out."""
    names = page_names()
    X, y = names["X"], names["y"]
    # Rules apply in the ranges of the training rows.
    (low, bottom), (high, top) = X.min(), X.max()
    figure, (left, right) = plt.subplots(1, 2, figsize=(10.5, 4.6), layout="constrained")
    for k, label in enumerate(("healthy", "ill")):
        rows = X[y == label]
        left.scatter(rows["glucose"], rows["bmi"], s=26, color=COLOURS[k], marker=MARKERS[k], label=label)
    ranges = {1: ((126, bottom), high - 126, top - bottom), 0: ((low, bottom), high - low, 25 - bottom)}
    for k, (corner, width, height) in ranges.items():
        look = {"edgecolor": COLOURS[k], "hatch": HATCHES[k], "linewidth": 2, "zorder": 0}
        left.add_patch(Rectangle(corner, width, height, fill=False, **look))
    left.add_patch(
        Rectangle((126, bottom), high - 126, 25 - bottom, facecolor="0.8", edgecolor="black", zorder=0)
    )
    left.plot(126, 17.6, "X", color="black", markersize=11, markeredgecolor="white", zorder=4)
    arrow = {"arrowstyle": "->"}
    left.annotate("both apply here", (127.5, 21), (100, 16.2), va="center", arrowprops=arrow)
    left.set_title("'doctor' and 'coach': no f satisfies both", fontsize="medium")
    left.legend(loc="upper left")
    narrow = Rule("glucose >= 126 and bmi >= 28", label="ill", hard=True).named("doctor")
    model = PriorSVC(narrow + names["coach"], kernel="rbf", scale="standard").fit(X, y)
    extent = (low - 5, high + 5, bottom - 2.5, top + 2.5)
    plot.decision(model, ax=right, extent=extent, support=False, legend=False)
    right.set_title("'doctor' with bmi >= 28: both hold", fontsize="medium")
    for ax in (left, right):
        ax.set(xlim=extent[:2], ylim=extent[2:], xlabel="glucose", ylabel="bmi")
    return figure


if __name__ == "__main__":
    conflicts().savefig(DOCS / "_static" / "conflicts.png", dpi=110)
