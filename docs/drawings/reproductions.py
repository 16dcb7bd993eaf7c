"""Draw the figures of the reproductions from their own tables: `python docs/drawings/reproductions.py`."""

import re
from collections.abc import Sequence
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

DOCS = Path(__file__).parents[1]
PAGES = [DOCS / "reproductions.md", *sorted((DOCS / "reproductions").glob("*.md"))]
PAGE = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)

# Apart in colour, in grey, and by their markers.
PUBLISHED = {"color": "black", "marker": "s", "linestyle": "--", "fillstyle": "none"}
PLAIN = {"color": "#0072b2", "marker": "o"}
KNOWING = {"color": "#d55e00", "marker": "^"}


def table(beginning: str) -> dict[str, list[str]]:
    """Heading → cells of the first table on the page that begins so."""
    lines = re.search(rf"^\| {re.escape(beginning)} \|.*\n(?:\|.*\n)+", PAGE, flags=re.MULTILINE)[0]
    headings, _, *rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines.splitlines()]
    return {heading: [row[i] for row in rows] for i, heading in enumerate(headings)}


def numbers(cells: list[str]) -> np.ndarray:
    return np.array([float(cell) for cell in cells])


def dots(axes: plt.Axes, at: np.ndarray, cells: Sequence[str | float], **style: str) -> None:
    axes.plot(at, [float(cell) for cell in cells], **(style | {"linestyle": "none"}))


def promoters() -> plt.Figure:
    errors = table("ν")
    published = re.search(r"(\d+) errors without, (\d+) with rules", PAGE)
    figure, axes = plt.subplots(figsize=(7, 3.4), layout="constrained")
    at = np.arange(len(errors["ν"]))
    axes.plot(at, numbers(errors["without"]), label="without rules", **PLAIN)
    axes.plot(at, numbers(errors["μ = 1"]), label="with rules, μ = 1", **KNOWING)
    for level, what in zip(published.groups(), ("without", "with"), strict=True):
        axes.axhline(int(level), color="black", linestyle="--", linewidth=1)
        axes.annotate(
            f"published, {what}", (1.01, int(level)), xycoords=("axes fraction", "data"), va="center"
        )
    axes.set(xticks=at, xticklabels=errors["ν"], xlabel="ν", ylabel="errors of 106", ylim=(0, None))
    return figure


def haar() -> plt.Figure:
    errors, times = table("moves"), table("model | error %")
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.9), layout="constrained", width_ratios=(3, 2))
    at = np.arange(len(errors["moves"]))
    dots(left, at - 0.15, errors["published"], label="published (best on test rows)", **PUBLISHED)
    dots(left, at, errors["best on test rows"], label="here, best on test rows", **KNOWING)
    dots(left, at + 0.15, errors["cross-validated"], label="here, cross-validated", **PLAIN)
    left.set(xticks=at, ylabel="test error in %", ylim=(0, 5.5))
    left.set_xticklabels(errors["moves"], rotation=35, ha="right")

    seconds = numbers(times["published train s"])
    at = np.arange(len(seconds))
    dots(right, at - 0.1, seconds / seconds[0], label="published", **PUBLISHED)
    dots(right, at + 0.1, times["train / HI"], label="here", **KNOWING)
    right.set(xticks=at, ylabel="time of training, HI = 1", ylim=(0, None))
    right.set_xticklabels(times["model"], rotation=35, ha="right")
    return figure


def tangents() -> plt.Figure:
    whitened, kernel = table("λ"), table("γ | λ = 1 / (1 + γM)")
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.4), layout="constrained", sharey=True)
    at = np.arange(len(whitened["λ"]))
    left.plot(at, numbers(whitened["published"]), label="published", **PUBLISHED)
    left.plot(at, numbers(whitened["error"]), label="here, images whitened first", **PLAIN)
    left.set(
        xticks=at, xticklabels=whitened["λ"], xlabel="λ (1 is plain)", ylabel="test error in %", ylim=(0, 6)
    )
    at = np.arange(len(kernel["γ"]))
    right.plot(at, numbers(kernel["error"]), label="here, slopes of f in feature space", **KNOWING)
    right.set(xticks=at, xticklabels=kernel["γ"], xlabel="γ (0 is plain)")
    return figure


if __name__ == "__main__":
    for draw in (promoters, haar, tangents):
        figure = draw()
        for axes in figure.axes:
            axes.spines[["top", "right"]].set_visible(False)
            axes.grid(axis="y", alpha=0.3)
            axes.legend(frameon=False)
        figure.savefig(DOCS / "_static" / f"reproductions_{draw.__name__}.png", dpi=150)
