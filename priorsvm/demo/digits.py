"""Comparison of a plain SVM with SVMs that use prior knowledge, for ``priorsvm demo``.

The task is small: classify 3 and 8 in scikit-learn's 8 x 8 digits, with 12 labelled threes and 4 labelled
eights. Each model has one block more than the model before it. The function ``prior`` explains the choice of
every number; no number was tuned to the reported errors.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .._utils.arrays import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

    from ..estimator import PriorSVC
    from ..prior import Prior

SHAPE = (8, 8)
DIGITS = (3, 8)
LABELLED = (12, 4)
UNLABELLED = 100
C = 10.0

PLAIN = "plain SVM"
CEILING = f"plain SVM, {sum(LABELLED) + UNLABELLED} labels"

# Colours of Okabe and Ito, which people with colour blindness can distinguish. In grey, the markers differ.
DARK = "#0072B2"
MIDDLE = "#D55E00"
LIGHT = "#BBBBBB"


@dataclass(frozen=True, eq=False)
class Task:
    """Labelled digits, unlabelled digits and test digits.

    Attributes
    ----------
    X, y : array
        Labelled digits.
    X_unlabelled : array
        Digits without labels.
    y_unlabelled : array
        Labels of these digits, for the comparison with a fully labelled training set.
    X_test, y_test : array
        Test digits.
    """

    X: Array
    y: Array
    X_unlabelled: Array
    y_unlabelled: Array
    X_test: Array
    y_test: Array


@dataclass(frozen=True, eq=False)
class Fit:
    """Model of one draw and its predictions on the test digits."""

    name: str
    seed: int
    predicted: Array
    model: PriorSVC


@dataclass(frozen=True)
class Line:
    """Line of the table: test errors of one kind of model in percent.

    Attributes
    ----------
    name : str
        Name of the model.
    errors : tuple of float
        Test error on each draw.
    steps : tuple of float, default=()
        Difference from the line above on each draw; empty for the first and the last line.
    """

    name: str
    errors: tuple[float, ...]
    steps: tuple[float, ...] = ()

    @property
    def mean(self) -> float:
        return float(np.mean(self.errors))

    @property
    def spread(self) -> float:
        """Standard deviation over the draws; NaN for one draw."""
        return float(np.std(self.errors, ddof=1)) if len(self.errors) > 1 else float("nan")

    @property
    def counts(self) -> tuple[int, int, int]:
        """Numbers of draws with a lower, an equal and a higher error than the line above."""
        steps = np.asarray(self.steps)
        return int(np.sum(steps < 0)), int(np.sum(steps == 0)), int(np.sum(steps > 0))


def task(seed: int) -> Task:
    """Draw the labelled and the unlabelled digits; all other digits are the test set."""
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    rows = np.random.default_rng(seed).permutation(np.flatnonzero(np.isin(y, DIGITS)))
    X = X[rows] / 16.0
    y = y[rows]
    labelled = np.concatenate(
        [np.flatnonzero(y == digit)[:n] for digit, n in zip(DIGITS, LABELLED, strict=True)]
    )
    rest = np.setdiff1d(np.arange(len(y)), labelled)
    pool = rest[:UNLABELLED]
    test = rest[UNLABELLED:]
    return Task(X[labelled], y[labelled], X[pool], y[pool], X[test], y[test])


def prior(unlabelled: Array) -> Prior:
    """Return three blocks of knowledge about handwriting, in the order in which they are added.

    One pixel and 15 degrees are typical variations of handwriting. Rotations interpolate, so a rotated copy
    has cost 0.5. All unlabelled digits together have the weight of all labelled digits. On the 28
    pairs of the other digits this weight has lower errors than a cost of 1. Half of the unlabelled digits are
    assumed to be eights.
    """
    from .. import Rotation, Transductive, Translation, VirtualSamples

    cost = sum(LABELLED) / len(unlabelled)
    return (
        VirtualSamples(Translation(SHAPE)).named("shifts")
        + VirtualSamples(Rotation(SHAPE, degrees=15), cost=0.5).named("rotations")
        + Transductive(unlabelled, n_positive=len(unlabelled) // 2, cost=cost).named("unlabelled")
    )


def model_names() -> list[str]:
    """Return the names of the models; each model has one block more than the model before it."""
    nothing = np.empty((1, SHAPE[0] * SHAPE[1]))
    return [PLAIN, *(f"+ {name}" for name in prior(nothing).names), CEILING]


def fit(name: str, seed: int) -> Fit:
    """Fit one model on one draw."""
    from .. import Prior, PriorSVC

    digits = task(seed)
    X = digits.X
    y = digits.y
    known: Prior | None = None
    if name == CEILING:
        X = np.vstack([X, digits.X_unlabelled])
        y = np.concatenate([y, digits.y_unlabelled])
    elif name != PLAIN:
        blocks = prior(digits.X_unlabelled).blocks
        known = Prior(blocks[: model_names().index(name)])
    model = PriorSVC(known, C=C, kernel="rbf").fit(X, y)
    return Fit(name, seed, model.predict(digits.X_test), model)


def fits(seeds: int) -> Iterator[Fit]:
    """Fit every model on every draw in parallel; yield results in the order of completion."""
    from joblib import Parallel, cpu_count, delayed

    # Slow models first, so that all processors finish at about the same time.
    jobs = [(name, seed) for name in reversed(model_names()) for seed in range(seeds)]
    workers = min(cpu_count(), seeds)
    return Parallel(n_jobs=workers, return_as="generator_unordered")(delayed(fit)(*job) for job in jobs)


def table(results: Iterable[Fit]) -> list[Line]:
    """Return the test errors of each model, in the order of the models."""
    by = {(result.name, result.seed): result for result in results}
    seeds = sorted({seed for _, seed in by})
    truth = {seed: task(seed).y_test for seed in seeds}
    lines: list[Line] = []
    for name in model_names():
        errors = tuple(100.0 * float(np.mean(by[name, seed].predicted != truth[seed])) for seed in seeds)
        compared = lines and name != CEILING
        steps = tuple(np.subtract(errors, lines[-1].errors).tolist()) if compared else ()
        lines.append(Line(name, errors, steps))
    return lines


def majority_error(seeds: int) -> float:
    """Return the mean test error, in percent, of always predicting the most frequent test digit."""
    shares = [np.mean(task(seed).y_test == DIGITS[1]) for seed in range(seeds)]
    return 100.0 * float(np.mean(np.minimum(shares, np.subtract(1, shares))))


def typical(lines: Sequence[Line]) -> int:
    """Return the draw with the median error of the plain SVM."""
    errors = lines[0].errors
    return int(np.argsort(errors, kind="stable")[(len(errors) - 1) // 2])


def find(results: Iterable[Fit], name: str, seed: int) -> Fit:
    """Return the result of one model on one draw."""
    return next(result for result in results if (result.name, result.seed) == (name, seed))


# ---------------------------------------------------------------------- figure


def draw_figure(lines: Sequence[Line], plain: Fit, composed: Fit) -> Figure:
    """Draw the errors of all models, the transformed copies of a digit, and the corrected errors."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(13, 5.2), dpi=130, layout="constrained")
    columns = figure.add_gridspec(1, 2, width_ratios=[1.0, 1.1], wspace=0.02)
    left = figure.add_subfigure(columns[0])
    right = figure.add_subfigure(columns[1])
    _draw_errors(left.subplots(), lines)
    rows = right.add_gridspec(2, 1, height_ratios=[1.0, 2.0])
    above = right.add_subfigure(rows[0])
    below = right.add_subfigure(rows[1])
    digits = task(plain.seed)
    _draw_copies(above, digits)
    _draw_corrected(below, digits, plain.predicted, composed.predicted)
    return figure


def _draw_errors(axes: Axes, lines: Sequence[Line]) -> None:
    """Draw one row per model: a dot per draw, a bar at the mean, thin lines that connect a draw."""
    last = len(lines) - 1
    places = np.array([*range(last), last + 0.4])
    errors = np.array([line.errors for line in lines])
    jitter = np.linspace(-0.17, 0.17, errors.shape[1])
    axes.plot(errors[:last], places[:last, None] + jitter, color=LIGHT, linewidth=0.6, zorder=1)
    for place, line in zip(places, lines, strict=True):
        has_blocks = line.name not in (PLAIN, CEILING)
        colour = MIDDLE if has_blocks else DARK
        marker = "o" if has_blocks else "s"
        face = "white" if line.name == CEILING else colour
        axes.scatter(
            line.errors,
            place + jitter,
            s=26,
            marker=marker,
            facecolors=face,
            edgecolors=colour,
            zorder=2,
            clip_on=False,
        )
        axes.plot([line.mean] * 2, [place - 0.33, place + 0.33], color="black", linewidth=2.5, zorder=3)
        axes.annotate(
            f"{line.mean:.1f} %",
            (1.0, place),
            xycoords=("axes fraction", "data"),
            xytext=(6, 0),
            textcoords="offset points",
            verticalalignment="center",
            fontsize=11,
        )
    axes.axhline(places[-1] - 0.7, color="black", linewidth=0.6, linestyle=":")
    axes.set_yticks(places, [_label(line.name) for line in lines], fontsize=11)
    axes.set_ylim(places[-1] + 0.6, -0.6)
    axes.set_xlim(left=0)
    axes.set_xlabel("test error in %", fontsize=11)
    draws = f"{errors.shape[1]} draws of the labels" if errors.shape[1] > 1 else "one draw of the labels"
    axes.set_title(
        f"{DIGITS[0]} or {DIGITS[1]}? Each row adds one block.\nDots: {draws}; bars: mean",
        fontsize=12,
        loc="left",
        x=-0.45,
    )
    axes.grid(axis="x", color="0.9")
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def _label(name: str) -> str:
    few = sum(LABELLED)
    many = sum(LABELLED) + UNLABELLED
    words = {
        PLAIN: f"plain SVM\n{few} labelled digits",
        "+ shifts": "+ copies shifted\nby one pixel",
        "+ rotations": "+ copies rotated by 15°,\nat half the cost",
        "+ unlabelled": f"+ {UNLABELLED} digits\nwithout labels",
        CEILING: f"for comparison: plain\nSVM, {many} labelled",
    }
    return words.get(name, name)


def _draw_copies(panel: SubFigure, digits: Task) -> None:
    """Draw the first labelled eight and its transformed copies."""
    from .. import Rotation, Translation

    original = digits.X[digits.y == DIGITS[1]][:1]
    shown = [
        ("original", original),
        ("shifted", Translation(SHAPE).orbit(original)[0, 1:]),
        ("rotated", Rotation(SHAPE, degrees=15).orbit(original)[0, 1:]),
    ]
    images = [(word, image) for word, group in shown for image in group]
    panel.suptitle(
        f"A labelled {DIGITS[1]} and its transformed copies, which are {DIGITS[1]}s too",
        fontsize=12,
        x=0.01,
        horizontalalignment="left",
    )
    for axes, (word, image) in zip(panel.subplots(1, len(images)), images, strict=True):
        _draw_digit(axes, image)
        axes.set_title(word, fontsize=9)


def _draw_corrected(panel: SubFigure, digits: Task, plain: Array, composed: Array, rows: int = 2) -> None:
    """Draw test digits that only the plain SVM classifies wrongly."""
    corrected = np.flatnonzero((plain != digits.y_test) & (composed == digits.y_test))
    worse = int(np.sum((plain == digits.y_test) & (composed != digits.y_test)))
    both = int(np.sum((plain != digits.y_test) & (composed != digits.y_test)))
    columns = int(np.clip(np.ceil(len(corrected) / rows), 6, 8))
    shown = (
        f"{rows * columns} of the {len(corrected)}"
        if len(corrected) > rows * columns
        else f"The {len(corrected)}"
    )
    panel.suptitle(
        f"{shown} test digits that only the plain SVM misclassifies, median draw\n"
        f"(of {len(digits.y_test)}; misclassified by both: {both}, only with all blocks: {worse})",
        fontsize=12,
        x=0.01,
        horizontalalignment="left",
    )
    for place, axes in enumerate(np.ravel(panel.subplots(rows, columns))):
        if place >= len(corrected):
            axes.set_axis_off()
            continue
        row = corrected[place]
        _draw_digit(axes, digits.X_test[row])
        axes.set_title(f"{digits.y_test[row]}, not {plain[row]}", fontsize=9)


def _draw_digit(axes: Any, image: Array) -> None:
    axes.imshow(image.reshape(SHAPE), cmap="gray_r", vmin=0, vmax=1)
    axes.set_xticks([])
    axes.set_yticks([])
