"""The report as text, as HTML and as a DataFrame."""

from __future__ import annotations

import numpy as np
import pytest

from priorsvm import Box, ClassCosts, MonotonicityHint, PriorSVC, Rule
from priorsvm.explain.report import Report, Row

RNG = np.random.default_rng(0)
X = RNG.normal(size=(30, 2))
Y = (X[:, 0] + 0.3 * RNG.normal(size=30) > 0).astype(int)


@pytest.fixture(scope="module")
def model():
    prior = ClassCosts({1: 3.0}) + 2 * MonotonicityHint({1: 1}) + Box({0: (1.0, 2.0)}, 1, hard=True)
    return PriorSVC(prior).fit(X, Y)


def test_a_frame_has_a_row_for_each_term_and_constraint(model):
    frame = model.report_.to_frame()
    assert set(frame["block"]) == {"svm", "class_costs", "monotonicity_hint", "box"}
    assert frame["share"].sum() == pytest.approx(1.0)
    assert frame["contribution"].sum() == pytest.approx(model.objective_)
    [solve] = frame.attrs["solves"]
    assert (solve["solver"], solve["status"], solve["rounds"]) == ("ROWS", "optimal", 1)
    assert solve["residuals"].gap < 1e-6
    assert min(solve["compile"], solve["solve"]) > 0
    assert solve["iterations"] >= 1


def test_the_shares_of_each_class_add_up():
    frame = PriorSVC(ClassCosts({1: 3.0})).fit(X, np.arange(30) % 3).report_.to_frame()
    assert frame.groupby("class")["share"].sum().to_numpy() == pytest.approx(np.ones(3))


def test_html_has_the_cells_of_the_text_and_is_escaped(model):
    report = model.report_
    html = report._repr_html_()
    assert all(f"<td>{row.block}</td>" in html for row in report.rows)
    solves = [dict(report.solves[0], findings={"box": "<script>alert(1)</script>"})]
    assert "<script>" not in Report(report.rows, report.objectives, solves)._repr_html_()


def test_rounding_errors_of_prices_are_shown_as_zero():
    rows = [Row(1, "svm", "loss", 1.0, rows=3, price=2e-11), Row(1, "rule", "points", 0.0, rows=3, price=4.0)]
    text = str(Report(rows, {1: 1.0}, []))
    assert "e-11" not in text
    assert text.splitlines()[1].split()[-1] == "0"


def test_an_unknown_block_raises_with_the_known_names(model):
    assert [row.term for row in model.report_["monotonicity_hint"]] == ["mu", "violation"]
    with pytest.raises(KeyError, match=r"no block 'rule'; the blocks are .*'box'"):
        model.report_["rule"]


@pytest.mark.filterwarnings("ignore::priorsvm.errors.CollapsedModel")
def test_the_rows_are_in_the_order_of_the_blocks(model):
    assert [(row.block, row.term) for row in model.report_.rows] == [
        ("svm", "regulariser"),
        ("svm", "loss"),
        ("class_costs", "sample"),
        ("monotonicity_hint", "mu"),
        ("monotonicity_hint", "violation"),
        ("box", "box"),
        ("box", "size"),
    ]
    preselected = PriorSVC(model.prior, preselect=True).fit(X, Y)
    names = [row.block for row in preselected.report_.rows]
    assert list(dict.fromkeys(names)) == ["svm", "preselect", "class_costs", "monotonicity_hint", "box"]
    assert names == sorted(names, key=list(dict.fromkeys(names)).index)


@pytest.mark.filterwarnings("ignore::priorsvm.errors.FarFromData")
def test_remarks_are_escaped_in_a_notebook():
    beyond = Box({0: (-9.0, -8.0)}, 1, mu=1e-3, holds="everywhere")
    found = PriorSVC(beyond).fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1]).verify()
    assert "column 0 <= -8, but the data begin at 0" in str(found)
    assert "column 0 &lt;= -8" in found._repr_html_()


@pytest.mark.filterwarnings("ignore::priorsvm.errors.PriorSVMWarning")
def test_the_choice_of_the_weights_and_shared_warnings_are_printed_once():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    y = (X[:, 0] + 0.5 * rng.normal(size=60) > 0).astype(int)
    prior = Rule("x0 >= 0.5", 1).named("high") + Rule("x0 <= -0.5", 0).named("low")
    prior += Rule("x0 >= 1.2", 0).named("wrong")
    model = PriorSVC(prior).fit(X, y)
    text = str(model.report_)
    lines = text.splitlines()
    assert len(set(lines)) == len(lines)
    assert text.count("cross-validated AUC") == 1
    assert text.count("common training rows") == 1
    assert any(line.startswith("high, wrong: ") for line in lines)
    assert any(line.startswith("mu='auto': the standard weight times") for line in lines)
    assert "cross-validated AUC" in str(model.findings_["high"])
    alone = str(PriorSVC(Rule("x0 >= 0.5", 1)).fit(X, y).report_)
    assert "rule: " in alone
    assert "rows, the standard weight times" in alone
