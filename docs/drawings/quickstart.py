"""Draw the figure of quickstart.md from the code of the page: `python docs/drawings/quickstart.py`."""

import doctest
from pathlib import Path

import matplotlib.pyplot as plt

from priorsvm import plot

DOCS = Path(__file__).parents[1]
PAGE = (DOCS / "quickstart.md").read_text(encoding="utf-8")


def quickstart() -> plt.Figure:
    """Run the page up to its third step, and draw the score of the first test row."""
    names: dict = {}
    steps = PAGE.partition("## 4.")[0]
    for example in doctest.DocTestParser().get_examples(steps):
        exec(compile(example.source, "quickstart.md", "exec"), names)
    figure, axes = plt.subplots(figsize=(8, 4.2), layout="constrained")
    plot.explain(names["model"].explain(names["X_test"].iloc[0]), ax=axes)
    return figure


if __name__ == "__main__":
    quickstart().savefig(DOCS / "_static" / "quickstart.png", dpi=130)
