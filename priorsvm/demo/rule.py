"""A rule in words where no data lies: the second half of ``priorsvm demo``.

Scikit-learn's breast cancer data, two columns. The machines see small tumours only, as a screening would, and
one of them is told what every doctor knows: a tumour this large is malignant. The test is on the tumours that
were held back.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .._utils.arrays import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ..estimator import PriorSVC

COLUMNS = ("radius", "texture")
SEEN = 15
LARGE = 18
LARGEST = 28
RULE = f"radius >= {LARGE}"
CLASSES = ("malignant", "benign")
DARK = "#0072B2"
MIDDLE = "#D55E00"


@dataclass(frozen=True, eq=False)
class Comparison:
    """A machine without the rule, one with it, and the tumours they are for."""

    X: Array
    y: Array
    plain: PriorSVC
    told: PriorSVC

    def groups(self) -> dict[str, Array]:
        """Which tumours the machines have seen, which the rule is about, and which are neither."""
        radius = self.X[:, 0]
        return {
            f"seen in training (radius < {SEEN})": radius < SEEN,
            f"neither seen nor in the rule ({SEEN} to {LARGE})": (radius >= SEEN) & (radius < LARGE),
            f"in the rule, never seen ({RULE})": radius >= LARGE,
        }

    def rows(self) -> list[list[str]]:
        """Errors in each group."""
        found = []
        for name, rows in self.groups().items():
            y = self.y[rows]
            errors = [100 * np.mean(m.predict(self.X[rows]) != y) for m in (self.plain, self.told)]
            share = 100 * np.mean(y == CLASSES[0])
            found.append([name, str(len(y)), f"{share:.0f}", f"{errors[0]:.1f}", f"{errors[1]:.1f}"])
        return found


def compare() -> Comparison:
    """Fit both machines on the small tumours."""
    from sklearn.datasets import load_breast_cancer

    from .. import PriorSVC, Rule

    data = load_breast_cancer()
    X = data.data[:, :2]
    y = np.array(CLASSES)[data.target]
    rule = Rule(RULE, "malignant", hard=True, within={"radius": (LARGE, LARGEST)}, columns=COLUMNS)
    seen = X[:, 0] < SEEN
    machines = [
        PriorSVC(prior, kernel="rbf", scale="standard").fit(X[seen], y[seen]) for prior in (None, rule)
    ]
    return Comparison(X, y, *machines)


def picture(comparison: Comparison) -> Figure:
    """What each machine says over the plane, with the tumours it saw and those held back."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(12, 5), dpi=130, layout="constrained")
    left, right = figure.subplots(1, 2, sharex=True, sharey=True)
    _map(left, comparison, comparison.plain, "plain SVM: large tumours look like nothing it has seen")
    _map(right, comparison, comparison.told, f'the same SVM, told "{RULE} is malignant"')
    left.set_ylabel("texture")
    left.legend(loc="upper right", fontsize=9)
    return figure


def _map(axes: Axes, comparison: Comparison, model: Any, title: str) -> None:
    X = comparison.X
    y = comparison.y
    low = X.min(axis=0) - 1
    high = X.max(axis=0) + 1
    a, b = np.meshgrid(np.linspace(low[0], high[0], 200), np.linspace(low[1], high[1], 200))
    # The decision function is positive for classes_[1].
    f = model.decision_function(np.column_stack([a.ravel(), b.ravel()])).reshape(a.shape)
    axes.contourf(a, b, f, levels=[-np.inf, 0, np.inf], colors=[DARK, MIDDLE], alpha=0.2)
    axes.contour(a, b, f, levels=[0], colors="black", linewidths=1.5)
    for name, colour, marker in zip(CLASSES, (MIDDLE, DARK), ("^", "o"), strict=True):
        for seen, face in ((True, colour), (False, "none")):
            rows = (y == name) & ((X[:, 0] < SEEN) == seen)
            axes.scatter(
                X[rows, 0],
                X[rows, 1],
                s=16,
                marker=marker,
                facecolors=face,
                edgecolors=colour,
                linewidths=0.8,
                label=f"{name}, {'seen' if seen else 'held back'}",
            )
    for x, word in ((SEEN, "seen left of this"), (LARGE, "rule right of this")):
        axes.axvline(x, color="0.3", linestyle=":", linewidth=1)
        axes.annotate(
            word,
            (x, high[1]),
            xytext=(3, -3),
            textcoords="offset points",
            rotation=90,
            verticalalignment="top",
            fontsize=8,
        )
    axes.set_title(title, fontsize=11, loc="left")
    axes.set_xlabel("radius")
