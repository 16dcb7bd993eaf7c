"""The report as text, as HTML and as a DataFrame."""

from __future__ import annotations

import numpy as np
import pytest

from priorsvm import Box, ClassCosts, MonotonicityHint, PriorSVC
from priorsvm.explain.report import Report, Row


@pytest.fixture
def model():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 2))
    y = (X[:, 0] + 0.3 * rng.normal(size=30) > 0).astype(int)
    prior = ClassCosts({1: 3.0}) + 2 * MonotonicityHint({1: 1}) + Box({0: (1.0, 2.0)}, 1, hard=True)
    return PriorSVC(prior).fit(X, y)


def test_a_frame_has_a_row_for_each_term_and_constraint(model):
    frame = model.report_.to_frame()
    assert set(frame["block"]) == {"svm", "class_costs", "monotonicity_hint", "box"}
    assert frame["share"].sum() == pytest.approx(1.0)
    assert frame["contribution"].sum() == pytest.approx(model.objective_)
    [solve] = frame.attrs["solves"]
    assert (solve["solver"], solve["status"], solve["rounds"]) == ("CLARABEL", "optimal", 1)
    assert solve["residuals"].gap < 1e-6
    assert min(solve["compile"], solve["solve"]) > 0


def test_shares_are_of_each_class_its_own():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 2)), np.arange(30) % 3
    frame = PriorSVC(ClassCosts({1: 3.0})).fit(X, y).report_.to_frame()
    assert frame.groupby("class")["share"].sum().to_numpy() == pytest.approx(np.ones(3))


def test_html_has_the_cells_of_the_text_and_runs_nothing(model):
    report = model.report_
    html = report._repr_html_()
    assert all(f"<td>{row.block}</td>" in html for row in report.rows)
    solves = [dict(report.solves[0], findings={"box": "<script>alert(1)</script>"})]
    assert "<script>" not in Report(report.rows, report.objectives, solves)._repr_html_()


def test_prices_that_are_rounding_are_shown_as_zero():
    rows = [Row(1, "svm", "loss", 1.0, rows=3, price=2e-11), Row(1, "rule", "points", 0.0, rows=3, price=4.0)]
    text = str(Report(rows, {1: 1.0}, []))
    assert "e-11" not in text
    assert text.splitlines()[1].split()[-1] == "0"


def test_an_unknown_block_is_answered_with_the_known(model):
    assert [row.term for row in model.report_["monotonicity_hint"]] == ["mu", "violation"]
    with pytest.raises(KeyError, match=r"no block 'rule'; the blocks are .*'box'"):
        model.report_["rule"]


@pytest.mark.filterwarnings("ignore::priorsvm.errors.CollapsedModel")
def test_the_rows_of_a_block_stand_together_in_the_order_of_the_prior(model):
    assert [(row.block, row.term) for row in model.report_.rows] == [
        ("svm", "regulariser"),
        ("svm", "loss"),
        ("class_costs", "sample"),
        ("monotonicity_hint", "mu"),
        ("monotonicity_hint", "violation"),
        ("box", "box"),
        ("box", "size"),
    ]
    training = model._machines[0].training
    preselected = PriorSVC(model.prior, preselect=True).fit(training.X, training.labels)
    names = [row.block for row in preselected.report_.rows]
    assert list(dict.fromkeys(names)) == ["svm", "preselect", "class_costs", "monotonicity_hint", "box"]
    assert names == sorted(names, key=list(dict.fromkeys(names)).index)


@pytest.mark.filterwarnings("ignore::priorsvm.errors.FarFromData")
def test_remarks_are_escaped_in_a_notebook():
    beyond = Box({0: (-9.0, -8.0)}, 1, mu=1e-3)
    found = PriorSVC(beyond).fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1]).verify()
    assert "column 0 <= -8, but the data begin at 0" in str(found)
    assert "column 0 &lt;= -8" in found._repr_html_()
