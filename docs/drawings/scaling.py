"""Draw the figure of speed.md from what `python -m benchmarks scaling --write` measured."""

import json
from itertools import groupby
from pathlib import Path

import matplotlib.pyplot as plt

HERE = Path(__file__).parent
# Apart in colour, in grey, and by their markers.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#000000", "#56b4e9")
MARKERS = "os^Dv*"


def routes(kind: str) -> list[tuple[str, list[dict[str, str]]]]:
    """Return the measured rows of linear or RBF models, model by model."""
    rows = json.loads((HERE.parent / "evidence/measured.json").read_text(encoding="utf-8"))["scaling"]
    return [(k, list(g)) for k, g in groupby(rows, lambda row: row["model"]) if k.startswith(kind)]


def scaling() -> plt.Figure:
    figure, panels = plt.subplots(1, 2, figsize=(11, 5.6), layout="constrained", sharey=True)
    for axes, kind in zip(panels, ("linear", "RBF"), strict=True):
        for (name, rows), colour, marker in zip(routes(kind), COLOURS, MARKERS, strict=False):
            what = name.removeprefix(f"{kind}, ").removesuffix(", CLARABEL")
            label = f"{what}: {rows[-1]['solver']}, N^{rows[-1]['exponent']}"
            sizes, seconds = ([float(row[key]) for row in rows] for key in ("N", "seconds"))
            axes.loglog(sizes, seconds, color=colour, marker=marker, label=label)
        axes.set(title=f"{kind} models", xlabel="rows N")
        axes.grid(True, which="major", alpha=0.3)
        axes.legend(fontsize=9, frameon=False, loc="upper center", bbox_to_anchor=(0.5, -0.15))
    panels[0].set_ylabel("CPU seconds of a fit")
    return figure


if __name__ == "__main__":
    scaling().savefig(HERE.parent / "_static" / "scaling.png", dpi=120)
