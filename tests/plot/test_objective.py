"""plot.shares and plot.convergence."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import load_iris

from priorsvm import (
    RBF,
    Box,
    ClassCosts,
    InvariantLoss,
    PriorSVC,
    SampleCosts,
    Shift,
    Translation,
    VirtualSamples,
    plot,
)

from .artists import labelled, legend

pytestmark = [
    pytest.mark.filterwarnings("error"),
    *(
        pytest.mark.filterwarnings(f"ignore::priorsvm.errors.{name}")
        for name in ("AgainstData", "FarFromData", "Outbid", "ZeroedColumns")
    ),
]


def test_convergence_draws_the_history(zeros_and_ones):
    X, y = zeros_and_ones
    model = PriorSVC(InvariantLoss(Translation((8, 8)), method="columns"), kernel=RBF(0.05), C=10).fit(X, y)
    ax = plot.convergence(model)
    for label, key in (("objective", "objective"), ("lower bound", "lower"), ("upper bound", "upper")):
        line = labelled(ax, label)
        assert_allclose(line.get_xdata(), [entry["round"] for entry in model.history_])
        assert_allclose(line.get_ydata(), [entry[key] for entry in model.history_])
    assert len(model.history_) > 1
    assert ax.get_xlabel() == "round"


def test_convergence_of_one_round_and_of_many_classes():
    X, y = load_iris(return_X_y=True)
    assert_allclose(plot.convergence(PriorSVC().fit(X[:100], y[:100])).lines[0].get_xdata(), [1])
    model = PriorSVC().fit(X, y)
    ax = plot.convergence(model)
    assert [line.get_label() for line in ax.lines] == ["class 0", "class 1", "class 2"]
    assert_allclose([line.get_ydata()[0] for line in ax.lines], model.objective_)
    one = plot.convergence(model, class_of_interest=2)
    assert_allclose(one.lines[0].get_ydata(), model.objective_[2])


def test_tick_labels_are_values_without_an_offset(zeros_and_ones):
    model = PriorSVC(InvariantLoss(Translation((8, 8)), method="columns")).fit(*zeros_and_ones)
    # Objectives that differ in the seventh digit.
    for k, entry in enumerate(model.history_):
        entry.update(objective=12.34567 + 1e-6 * k, lower=12.34567 + 5e-7 * k, upper=12.346 - 1e-6 * k)
    ax = plot.convergence(model)
    ax.figure.draw_without_rendering()
    assert ax.yaxis.get_offset_text().get_text() == ""
    low, high = ax.get_ylim()
    ticks = [float(label.get_text()) for label in ax.get_yticklabels()]
    assert sum(low <= tick <= high for tick in ticks) >= 3
    assert len(set(ticks)) == len(ticks)


def test_the_only_round_is_round_one(clouds):
    ax = plot.convergence(PriorSVC().fit(*clouds))
    ax.figure.draw_without_rendering()
    assert [label.get_text() for label in ax.get_xticklabels()] == ["0", "1", "2"]


def test_shares_add_up_to_the_objective(clouds):
    X, y = clouds
    prior = (
        VirtualSamples(Shift([0.0, 1.0]))
        + Box({0: (5, 6)}, label=0, mu=0.3, holds="everywhere")
        + SampleCosts(np.full(24, 0.5))
    )
    model = PriorSVC(prior).fit(X, y)
    ax = plot.shares(model)
    terms = [label.get_text() for label in ax.get_yticklabels()]
    widths = np.array([bar.get_width() for bar in ax.patches])
    # Constraints contribute nothing and have no bar.
    rows = [row for row in model.report_.rows if row.contribution != 0]
    expected = {f"{row.block} {row.term}": row.contribution for row in rows}
    assert dict(zip(terms, widths, strict=True)) == pytest.approx(expected)
    assert widths.sum() == pytest.approx(model.objective_)
    # Rows with reduced costs.
    assert widths.min() < 0
    assert [text.get_text() for text in ax.texts] == [f"{100 * w / widths.sum():.1f} %" for w in widths]
    assert [bool(bar.get_hatch()) for bar in ax.patches] == [not term.startswith("svm") for term in terms]
    again = plot.shares(model.report_)
    assert_allclose([bar.get_width() for bar in again.patches], widths)


def test_negative_terms_are_explained(clouds):
    X, y = clouds
    cheaper = plot.shares(PriorSVC(ClassCosts(dict.fromkeys(np.unique(y).tolist(), 0.1))).fit(X, y))
    assert any(bar.get_width() < 0 for bar in cheaper.patches)
    assert "add up to 100 %" in cheaper.get_xlabel()
    assert plot.shares(PriorSVC().fit(X, y)).get_xlabel() == "contribution to the objective"


def test_each_class_has_its_bars():
    X, y = load_iris(return_X_y=True)
    model = PriorSVC(ClassCosts("balanced")).fit(X, y)
    ax = plot.shares(model)
    total = np.zeros(3)
    for k, bar in enumerate(ax.patches):
        total[k * 3 // len(ax.patches)] += bar.get_width()
    assert_allclose(total, model.objective_)
    assert legend(ax) == ["class 0", "class 1", "class 2"]
