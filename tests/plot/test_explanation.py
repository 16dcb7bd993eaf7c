"""plot.explain."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_rgba
from numpy.testing import assert_allclose
from sklearn.datasets import load_breast_cancer, load_iris

from priorsvm import PriorSVC, plot
from priorsvm.errors import InvalidInput, InvalidType
from priorsvm.plot.style import COLOURS, GREY

pytestmark = pytest.mark.filterwarnings("error")


@pytest.fixture(scope="module")
def model():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    return PriorSVC(kernel="rbf", scale="standard").fit(
        X[:60], np.where(y[:60] == 1, "benign", "malignant")
    ), X


def test_bars_lead_from_the_mean_to_the_score(model):
    svc, X = model
    found = svc.explain(X.iloc[70])
    ax = plot.explain(found, count=4)
    bars = ax.patches
    assert len(bars) == 5
    assert_allclose([bar.get_width() for bar in bars[:4]], [part.part for part in found.parts[:4]])
    assert_allclose(bars[4].get_width(), sum(part.part for part in found.parts[4:]))
    starts = [bar.get_x() for bar in bars]
    assert_allclose(starts[0], found.base)
    assert_allclose(starts[1:], np.cumsum([bar.get_width() for bar in bars[:4]]) + found.base)
    assert_allclose(starts[-1] + bars[-1].get_width(), found.score)
    names = [label.get_text() for label in ax.get_yticklabels()]
    assert names[0] == "mean of the training rows"
    assert names[1].replace("\n", " ") == f"{found.parts[0].column} = {found.parts[0].value:.4g}"
    assert names[-2:] == ["26 more columns", "score"]
    assert ax.get_xlabel() == "score of 'malignant'"
    assert ax.get_title() == f"class {found.label!r}"
    assert [bar.get_hatch() for bar in bars] == ["" if bar.get_width() >= 0 else "//" for bar in bars]
    low, high = ax.get_xlim()
    ends = [*starts, found.score, found.base]
    assert low < min(ends)
    assert high > max(ends)


def test_bars_have_the_colours_of_the_classes_in_the_decision_plot():
    X, y = load_iris(return_X_y=True)
    two = PriorSVC().fit(X[:100, :2], y[:100])
    palette = [to_rgba(colour) for colour in COLOURS]
    colours = {}
    for row in X[[0, 70], :2]:
        bars = plot.explain(two.explain(row)).patches
        colours |= {bar.get_width() > 0: bar.get_facecolor() for bar in bars}
    assert colours == {True: palette[1], False: palette[0]}
    three = PriorSVC().fit(X, y)
    found = three.explain(X[120])
    colours = {np.sign(bar.get_width()): bar.get_facecolor() for bar in plot.explain(found).patches}
    assert colours == {1: palette[y[120]], -1: to_rgba(GREY)}
    pairs = PriorSVC(multi_class="ovo").fit(X, y).explain(X[120])
    colours = {np.sign(bar.get_width()): bar.get_facecolor() for bar in plot.explain(pairs).patches}
    assert colours.get(-1, palette[pairs.against]) == palette[pairs.against]


@pytest.mark.parametrize("width", [5.0, 6.4, 9.0])
def test_all_numbers_are_inside_the_frame(model, width):
    svc, X = model
    for row in (0, 20, 70):
        figure, ax = plt.subplots(figsize=(width, 5), layout="constrained")
        plot.explain(svc.explain(X.iloc[row]), ax=ax)
        figure.canvas.draw()
        frame = ax.get_window_extent()
        extents = [text.get_window_extent() for text in ax.texts]
        assert min(extent.x0 for extent in extents) >= frame.x0
        assert max(extent.x1 for extent in extents) <= frame.x1


def test_no_column_is_hidden_behind_one_more(model):
    svc, X = model
    found = svc.explain(X.iloc[70])
    assert len(plot.explain(found, count=29).patches) == 30
    assert len(plot.explain(found, count=100).patches) == 30


def test_several_classes_have_no_boundary_at_zero():
    X, y = load_iris(return_X_y=True)
    two = PriorSVC().fit(X[:100], y[:100])
    three = PriorSVC().fit(X, y)

    def dashed(ax):
        return [line for line in ax.lines if line.get_linestyle() == "--"]

    assert len(dashed(plot.explain(two.explain(X[0])))) == 1
    assert dashed(plot.explain(three.explain(X[0]))) == []


def test_axes_are_used_and_one_row_of_several_is_drawn(model):
    svc, X = model
    ax = plt.subplots()[1]
    assert plot.explain(svc.explain(X[70:71]), ax=ax) is ax
    with pytest.raises(InvalidInput, match=r"draws one row, and 2 rows are explained. Give one of them"):
        plot.explain(svc.explain(X[70:72]))
    with pytest.raises(InvalidType, match=r"requires an Explanation, got PriorSVC. Use model.explain\(row\)"):
        plot.explain(svc)
    with pytest.raises(InvalidInput, match="count must be a whole number of at least 1"):
        plot.explain(svc.explain(X.iloc[70]), count=0)


def test_names_are_shown_literally():
    X = pd.DataFrame({"price in $ and $": [0.0, 2.0, 3.0]})
    ax = plot.explain(PriorSVC().fit(X, [0, 1, 1]).explain(X.iloc[0]))
    ax.figure.draw_without_rendering()
    assert ax.get_yticklabels()[1].get_text() == "price in $ and $ = 0"


def test_the_legend_names_colours_and_lines():
    X, y = load_iris(return_X_y=True)
    two = PriorSVC().fit(X[:100, :2], np.where(y[:100] == 1, "ill", "well"))
    ax = plot.explain(two.explain(X[0, :2]))
    assert [text.get_text() for text in ax.get_legend().get_texts()] == [
        "raises the score of 'well'",
        "lowers it, towards 'ill'",
        "mean of the training rows",
        "decision boundary",
    ]
    ax = plot.explain(PriorSVC().fit(X, y).explain(X[120]))
    texts = [text.get_text() for text in ax.get_legend().get_texts()]
    assert texts == ["raises the score of 2", "lowers it", "mean of the training rows"]
