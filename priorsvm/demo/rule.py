"""A rule as text, in a region without training data: the second part of ``priorsvm demo``.

The data are two columns of scikit-learn's breast cancer data. Two models are trained on small tumours only.
One model has a rule: a tumour of this size is malignant. The test rows are the larger tumours.
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
TRAINED = 15
LARGE = 18
LARGEST = 28
RULE = f"radius >= {LARGE}"
CLASSES = ("malignant", "benign")
DARK = "#0072B2"
MIDDLE = "#D55E00"


@dataclass(frozen=True, eq=False)
class Comparison:
    """Model without the rule, model with the rule, and all tumours."""

    X: Array
    y: Array
    plain: PriorSVC
    informed: PriorSVC

    def groups(self) -> dict[str, Array]:
        """Return the training tumours, the tumours inside the rule, and the tumours between them."""
        radius = self.X[:, 0]
        between = (radius >= TRAINED) & (radius < LARGE)
        return {
            f"training rows (radius < {TRAINED})": radius < TRAINED,
            f"test rows outside the rule ({TRAINED} to {LARGE})": between,
            f"test rows inside the rule ({RULE})": radius >= LARGE,
        }

    def rows(self) -> list[list[str]]:
        """Return the cells of the table: errors in each group."""
        found = []
        for name, rows in self.groups().items():
            y = self.y[rows]
            errors = [100 * np.mean(m.predict(self.X[rows]) != y) for m in (self.plain, self.informed)]
            share = 100 * np.mean(y == CLASSES[0])
            found.append([name, str(len(y)), f"{share:.0f}", f"{errors[0]:.1f}", f"{errors[1]:.1f}"])
        return found


def compare() -> Comparison:
    """Fit both models on the small tumours."""
    from sklearn.datasets import load_breast_cancer

    from .. import PriorSVC, Rule

    data = load_breast_cancer()
    X = data.data[:, :2]
    y = np.array(CLASSES)[data.target]
    rule = Rule(RULE, "malignant", hard=True, within={"radius": (LARGE, LARGEST)}, columns=COLUMNS)
    small = X[:, 0] < TRAINED
    plain = PriorSVC(kernel="rbf", scale="standard").fit(X[small], y[small])
    informed = PriorSVC(rule, kernel="rbf", scale="standard").fit(X[small], y[small])
    return Comparison(X, y, plain, informed)


def draw_figure(comparison: Comparison) -> Figure:
    """Draw the classes that each model predicts, the training tumours and the test tumours."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(12, 5), dpi=130, layout="constrained")
    left, right = figure.subplots(1, 2, sharex=True, sharey=True)
    _draw_plane(left, comparison, comparison.plain, "plain SVM: no training rows at large radius")
    _draw_plane(right, comparison, comparison.informed, f'the same SVM with the rule "{RULE} is malignant"')
    left.set_ylabel("texture")
    left.legend(loc="upper right", fontsize=9)
    return figure


def _draw_plane(axes: Axes, comparison: Comparison, model: Any, title: str) -> None:
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
        for trained, face in ((True, colour), (False, "none")):
            rows = (y == name) & ((X[:, 0] < TRAINED) == trained)
            axes.scatter(
                X[rows, 0],
                X[rows, 1],
                s=16,
                marker=marker,
                facecolors=face,
                edgecolors=colour,
                linewidths=0.8,
                label=f"{name}, {'training' if trained else 'test'}",
            )
    for x, word in ((TRAINED, "training left of this"), (LARGE, "rule right of this")):
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
