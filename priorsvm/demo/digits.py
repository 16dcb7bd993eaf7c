"""Plain SVM against SVMs that know more: what ``priorsvm demo`` computes and draws.

The task is small on purpose: tell 3 from 8 in scikit-learn's 8 x 8 digits, with 12 threes and 4 eights
labelled. A ladder of machines is told one thing more on each rung. Every number follows a rule that is
stated here; none is chosen by the errors that are reported.
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

# Okabe and Ito's colours stay apart for every eye; in grey the markers tell the machines apart.
DARK = "#0072B2"
MIDDLE = "#D55E00"
LIGHT = "#BBBBBB"


@dataclass(frozen=True, eq=False)
class Task:
    """Few labelled digits, some without a label, and the rest for the test.

    Attributes
    ----------
    X, y : labelled digits.
    X_unlabelled : digits whose labels the machines do not see.
    y_unlabelled : those labels, for the machine that shows what they would have been worth.
    X_test, y_test : digits no machine sees.
    """

    X: Array
    y: Array
    X_unlabelled: Array
    y_unlabelled: Array
    X_test: Array
    y_test: Array


@dataclass(frozen=True, eq=False)
class Fit:
    """One machine on one draw: what it predicts on the test digits, and itself."""

    machine: str
    seed: int
    predicted: Array
    model: PriorSVC


@dataclass(frozen=True)
class Line:
    """One line of the table: test errors in percent, draw by draw.

    Attributes
    ----------
    errors : the test error on each draw.
    steps : how much it differs from that of the line above, draw by draw; empty for the first and the last.
    """

    machine: str
    errors: tuple[float, ...]
    steps: tuple[float, ...] = ()

    @property
    def mean(self) -> float:
        return float(np.mean(self.errors))

    @property
    def spread(self) -> float:
        """The standard deviation over the draws, nan if there is only one."""
        return float(np.std(self.errors, ddof=1)) if len(self.errors) > 1 else float("nan")

    @property
    def counts(self) -> tuple[int, int, int]:
        """On how many draws the error is lower than, the same as, and higher than in the line above."""
        steps = np.asarray(self.steps)
        return int(np.sum(steps < 0)), int(np.sum(steps == 0)), int(np.sum(steps > 0))


def task(seed: int) -> Task:
    """Draw the labelled and the unlabelled digits; what is left is the test set."""
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
    """Five things somebody who has seen handwriting knows, in the order in which they are told.

    The rules behind the numbers: one pixel and 15 degrees are what a writer's hand does; rotations
    interpolate, so a turned copy costs half as much as a digit (cost=0.5); a mean squared difference of 1
    along the slants costs as much as a slack of 1 (mu = C); all unlabelled digits together weigh as much as
    all labelled ones (on the 28 pairs of the other digits that does better than a cost of 1), and half of
    them are supposed to be eights.
    """
    from .. import ClassCosts, InvarianceHint, Rotation, Shear, Transductive, Translation, VirtualSamples

    cost = sum(LABELLED) / len(unlabelled)
    return (
        ClassCosts("balanced").named("costs")
        + VirtualSamples(Translation(SHAPE)).named("shifts")
        + VirtualSamples(Rotation(SHAPE, degrees=15), cost=0.5).named("rotations")
        + InvarianceHint(Shear(SHAPE, degrees=15), mu=C).named("slants")
        + Transductive(unlabelled, n_positive=len(unlabelled) // 2, cost=cost).named("unlabelled")
    )


def machines() -> list[str]:
    """What the rungs are called: each has the blocks of those before it and one more."""
    nothing = np.empty((1, SHAPE[0] * SHAPE[1]))
    return [PLAIN, *(f"+ {name}" for name in prior(nothing).names), CEILING]


def fit(machine: str, seed: int) -> Fit:
    """One machine on one draw."""
    from .. import Prior, PriorSVC

    digits = task(seed)
    X = digits.X
    y = digits.y
    known: Prior | None = None
    if machine == CEILING:
        X = np.vstack([X, digits.X_unlabelled])
        y = np.concatenate([y, digits.y_unlabelled])
    elif machine != PLAIN:
        told = prior(digits.X_unlabelled)
        known = Prior(told.blocks[: machines().index(machine)])
    model = PriorSVC(known, C=C, kernel="rbf").fit(X, y)
    return Fit(machine, seed, model.predict(digits.X_test), model)


def fits(seeds: int) -> Iterator[Fit]:
    """Every machine on every draw, in whatever order they are ready, spread over the processors."""
    from joblib import Parallel, cpu_count, delayed

    # The slow ones first, so that no processor is left with one at the end.
    jobs = [(machine, seed) for machine in reversed(machines()) for seed in range(seeds)]
    workers = min(cpu_count(), seeds)
    return Parallel(n_jobs=workers, return_as="generator_unordered")(delayed(fit)(*job) for job in jobs)


def table(results: Iterable[Fit]) -> list[Line]:
    """Test errors by machine, in the order of the ladder."""
    by = {(result.machine, result.seed): result for result in results}
    seeds = sorted({seed for _, seed in by})
    truth = {seed: task(seed).y_test for seed in seeds}
    lines: list[Line] = []
    for machine in machines():
        errors = tuple(100.0 * float(np.mean(by[machine, seed].predicted != truth[seed])) for seed in seeds)
        compared = lines and machine != CEILING
        steps = tuple(np.subtract(errors, lines[-1].errors).tolist()) if compared else ()
        lines.append(Line(machine, errors, steps))
    return lines


def majority_error(seeds: int) -> float:
    """The mean test error, in percent, of always naming the digit that most test digits are."""
    shares = [np.mean(task(seed).y_test == DIGITS[1]) for seed in range(seeds)]
    return 100.0 * float(np.mean(np.minimum(shares, np.subtract(1, shares))))


def typical(lines: Sequence[Line]) -> int:
    """The draw on which the plain machine has its median error."""
    errors = lines[0].errors
    return int(np.argsort(errors, kind="stable")[(len(errors) - 1) // 2])


def find(results: Iterable[Fit], machine: str, seed: int) -> Fit:
    """One result among many."""
    return next(result for result in results if (result.machine, result.seed) == (machine, seed))


# ---------------------------------------------------------------------- the picture


def picture(lines: Sequence[Line], plain: Fit, composed: Fit) -> Figure:
    """Left the errors of the ladder, right what one block makes of a digit and which errors are gone."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(13, 5.2), dpi=130, layout="constrained")
    columns = figure.add_gridspec(1, 2, width_ratios=[1.0, 1.1], wspace=0.02)
    left = figure.add_subfigure(columns[0])
    right = figure.add_subfigure(columns[1])
    _ladder(left.subplots(), lines)
    rows = right.add_gridspec(2, 1, height_ratios=[1.0, 2.0])
    above = right.add_subfigure(rows[0])
    below = right.add_subfigure(rows[1])
    digits = task(plain.seed)
    _copies(above, digits)
    _mended(below, digits, plain.predicted, composed.predicted)
    return figure


def _ladder(axes: Axes, lines: Sequence[Line]) -> None:
    """A row per machine: a dot per draw, a bar at the mean, thin lines that join the same draw."""
    last = len(lines) - 1
    places = np.array([*range(last), last + 0.4])
    errors = np.array([line.errors for line in lines])
    jitter = np.linspace(-0.17, 0.17, errors.shape[1])
    axes.plot(errors[:last], places[:last, None] + jitter, color=LIGHT, linewidth=0.6, zorder=1)
    for place, line in zip(places, lines, strict=True):
        rung = line.machine not in (PLAIN, CEILING)
        colour, marker = (MIDDLE, "o") if rung else (DARK, "s")
        face = "white" if line.machine == CEILING else colour
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
    axes.set_yticks(places, [_label(line.machine) for line in lines], fontsize=11)
    axes.set_ylim(places[-1] + 0.6, -0.6)
    axes.set_xlim(left=0)
    axes.set_xlabel("test error in %", fontsize=11)
    draws = f"{errors.shape[1]} draws of the labels" if errors.shape[1] > 1 else "one draw of the labels"
    axes.set_title(
        f"{DIGITS[0]} or {DIGITS[1]}? Each row is told one thing more.\nDots: {draws}; bars: their mean",
        fontsize=12,
        loc="left",
        x=-0.45,
    )
    axes.grid(axis="x", color="0.9")
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def _label(machine: str) -> str:
    few = sum(LABELLED)
    many = sum(LABELLED) + UNLABELLED
    words = {
        PLAIN: f"plain SVM\n{few} labelled digits",
        "+ costs": "+ rare class costs more",
        "+ shifts": "+ copies shifted\nby one pixel",
        "+ rotations": "+ copies turned by 15°,\nat half the cost",
        "+ slants": "+ slant should not\nmatter",
        "+ unlabelled": f"+ {UNLABELLED} digits\nwithout labels",
        CEILING: f"for comparison: plain\nSVM, {many} labelled",
    }
    return words.get(machine, machine)


def _copies(panel: SubFigure, digits: Task) -> None:
    """The first labelled eight and what the blocks make of it."""
    from .. import Rotation, Shear, Translation

    original = digits.X[digits.y == DIGITS[1]][:1]
    shown = [
        ("original", original),
        ("shifted", Translation(SHAPE).orbit(original)[0, 1:]),
        ("turned", Rotation(SHAPE, degrees=15).orbit(original)[0, 1:]),
        ("slanted", Shear(SHAPE, degrees=15).orbit(original)[0, 1:]),
    ]
    images = [(word, image) for word, group in shown for image in group]
    panel.suptitle(
        f"A labelled {DIGITS[1]}, and its copies that should be {DIGITS[1]}s too",
        fontsize=12,
        x=0.01,
        horizontalalignment="left",
    )
    for axes, (word, image) in zip(panel.subplots(1, len(images)), images, strict=True):
        _digit(axes, image)
        axes.set_title(word, fontsize=9)


def _mended(panel: SubFigure, digits: Task, plain: Array, composed: Array, rows: int = 2) -> None:
    """Test digits the plain machine gets wrong and the composed one right."""
    mended = np.flatnonzero((plain != digits.y_test) & (composed == digits.y_test))
    broken = int(np.sum((plain == digits.y_test) & (composed != digits.y_test)))
    missed = int(np.sum((plain != digits.y_test) & (composed != digits.y_test)))
    columns = int(np.clip(np.ceil(len(mended) / rows), 6, 8))
    shown = f"{rows * columns} of the {len(mended)}" if len(mended) > rows * columns else f"The {len(mended)}"
    panel.suptitle(
        f"{shown} test digits that only the plain SVM gets wrong, on its median draw\n"
        f"(of {len(digits.y_test)}; both get {missed} wrong, only the machine that knows most: {broken})",
        fontsize=12,
        x=0.01,
        horizontalalignment="left",
    )
    for place, axes in enumerate(np.ravel(panel.subplots(rows, columns))):
        if place >= len(mended):
            axes.set_axis_off()
            continue
        row = mended[place]
        _digit(axes, digits.X_test[row])
        axes.set_title(f"{digits.y_test[row]}, not {plain[row]}", fontsize=9)


def _digit(axes: Any, image: Array) -> None:
    axes.imshow(image.reshape(SHAPE), cmap="gray_r", vmin=0, vmax=1)
    axes.set_xticks([])
    axes.set_yticks([])
