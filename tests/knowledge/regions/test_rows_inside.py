"""Counts of training rows in a region in verify() and the report, against counts made by hand."""

import warnings
from math import comb

import numpy as np
import pandas as pd
import pytest

from priorsvm import Box, Ellipsoid, Monotone, Polyhedron, PriorSVC, Region, Rule
from priorsvm.errors import AgainstData, FarFromData, InvalidInput
from priorsvm.prior import as_prior

RNG = np.random.default_rng(5)
X = pd.DataFrame(
    {
        "glucose": RNG.uniform(50, 199, 60),
        "bmi": RNG.uniform(18, 40, 60),
        "age": RNG.uniform(21, 81, 60),
    }
)
Y = np.where(X["glucose"] + 2 * X["bmi"] + 20 * RNG.normal(size=60) > 180, "ill", "well")


def fitted(prior, y=Y, weight=None, **parameters):
    return PriorSVC(prior, scale="standard", **parameters).fit(X, y, sample_weight=weight)


@pytest.mark.parametrize(
    ("block", "inside"),
    [
        (Rule("glucose >= 120 and bmi >= 25", "ill", holds="everywhere"), (X.glucose >= 120) & (X.bmi >= 25)),
        (Rule("glucose >= 170 or bmi >= 35", "ill", holds="everywhere"), (X.glucose >= 170) | (X.bmi >= 35)),
        (Rule("glucose + 2 * bmi >= 170", "ill", holds="everywhere"), X.glucose + 2 * X.bmi >= 170),
        (Box({"age": (30, 50)}, "ill", holds="everywhere"), X.age.between(30, 50)),
        (
            Polyhedron([[1.0, -1.0, 0.0]], [90.0], "ill", within="data", holds="everywhere"),
            X.glucose - X.bmi <= 90,
        ),
        (
            Ellipsoid([120.0, 30.0, 50.0], [40.0, 10.0, 30.0], "ill", holds="everywhere"),
            ((X.glucose - 120) / 40) ** 2 + ((X.bmi - 30) / 10) ** 2 + ((X.age - 50) / 30) ** 2 <= 1,
        ),
        (Region(lambda P: P[:, 0] - 100, X.to_numpy()[:5], "ill"), X.glucose <= 100),
    ],
)
def test_rows_inside_are_counted_and_those_of_another_class(block, inside):
    model = fitted(block)
    [name] = model.findings_
    found = model.findings_[name]
    rows, contrary = int(inside.sum()), int((inside & (Y != "ill")).sum())
    assert 0 < contrary < rows
    assert (found.rows, found.contrary, found.beyond) == (rows, contrary, "")
    line = f"{rows} training rows inside, {contrary} of another class"
    assert str(found) == line
    assert f"{name}: {line}" in str(model.report_).splitlines()
    assert line in str(model.verify()).splitlines()[-1]


def test_of_two_regions_a_row_counts_once_and_a_weightless_one_not_at_all():
    boxes = Box([{"age": (30, 50)}, {"age": (40, 60)}], ["ill", "well"], holds="everywhere")
    weight = np.arange(60) % 5 > 0
    found = fitted(boxes, weight=weight.astype(float)).findings_["box"]
    first, second = X.age.between(30, 50), X.age.between(40, 60)
    assert found.rows == int(((first | second) & weight).sum())
    assert found.contrary == int((((first & (Y != "ill")) | (second & (Y != "well"))) & weight).sum())


def test_with_many_classes_the_counts_belong_to_the_class():
    three = np.where(X["age"] > 60, "old", Y)
    model = fitted(Rule("glucose >= 120", "ill", holds="everywhere"), three)
    found = dict(zip(model.classes_, model.findings_, strict=True))
    assert found["old"] == found["well"] == {}
    assert found["ill"]["rule"].contrary == int(((X.glucose >= 120) & (three != "ill")).sum())
    assert str(model.report_).count("training rows inside") == 1
    assert [line.split(":")[0] for line in str(model.verify()).splitlines() if "inside" in line] == [
        "class ill"
    ]


def test_verify_reports_the_range_over_which_a_rule_was_checked():
    def last_line(prior, **parameters):
        return str(fitted(prior, **parameters).verify()).splitlines()[-1]

    low, high = X.min(), X.max()
    bmi, age = (f"any {c} ({low[c]:.4g} to {high[c]:.4g})" for c in ("bmi", "age"))
    rule = Rule("glucose >= 120", "ill", holds="everywhere")
    assert last_line(rule).startswith(f"rule: checked for {bmi}, {age}; ")
    assert last_line(Rule("glucose >= 120", "ill", method="points", points=8), kernel="rbf").startswith(
        f"rule: checked for {bmi}, {age}; "
    )
    assert last_line(Rule("glucose + 2 * bmi >= 170", "ill", holds="everywhere")).startswith(
        f"rule: checked for {age}; "
    )
    assert last_line(Rule("glucose >= 120", "ill", within=None, holds="everywhere")).startswith(
        "rule: checked for any bmi, any age; "
    )
    reach = {"glucose": (0, 300), "bmi": (0, 60), "age": (0, 100)}
    ring = Region(lambda P: P[:, 0] - 100, 32, "ill", mu=0.01, method="points", within=reach)
    assert last_line(ring).startswith(
        "region: checked for glucose (0 to 300), bmi (0 to 60), age (0 to 100); "
    )
    whole = Box({"glucose": (120, 140), "bmi": (20, 30), "age": (30, 50)}, "ill", holds="everywhere")
    assert "checked for" not in last_line(whole)


def test_of_many_columns_some_are_named():
    wide = np.random.default_rng(0).normal(size=(30, 9))
    model = PriorSVC(Box({0: (0.5, 1)}, 1, holds="everywhere")).fit(wide, (wide[:, 0] > 0).astype(int))
    line = str(model.verify()).splitlines()[-1]
    assert line.startswith("box: checked for any column 1 (")
    assert ", 5 more columns; " in line


def test_a_slope_is_checked_over_a_range_only_on_kernel_models():
    rises = Monotone({"glucose": 1}, label="ill", method="points", points=8)
    assert "checked for" not in str(fitted(rises).verify())
    line = str(fitted(rises, kernel="rbf").verify()).splitlines()[-1]
    assert line.startswith(f"monotone: checked for glucose ({X.glucose.min():.4g} to ")
    assert "inside" not in line


END, BEGIN = f"{X.glucose.max():.4g}", f"{X.age.min():.4g}"
SUM = f"{(X.glucose - 2 * X.bmi).max():.4g}"


@pytest.mark.parametrize(
    ("text", "beyond"),
    [
        ("glucose >= 2000", f"glucose >= 2000, but the data end at {END}"),
        ("3 * glucose >= 6000", f"glucose >= 2000, but the data end at {END}"),
        ("age <= -500 and bmi >= 20", f"age <= -500, but the data begin at {BEGIN}"),
        ("glucose - 2 * bmi >= 90000", f"glucose - 2 bmi >= 90000, but the data end at {SUM}"),
        ("2 * bmi - glucose <= -90000", f"glucose - 2 bmi >= 90000, but the data end at {SUM}"),
    ],
)
def test_a_rule_in_other_units_is_warned_of(text, beyond):
    with pytest.warns(FarFromData, match="Check its units") as caught:
        model = fitted(Rule(text, "ill", holds="everywhere"))
    caught = [w for w in caught if w.category is FarFromData]
    assert len(caught) == 1
    assert f"{text!r} is 'ill': the region has {beyond}" in str(caught[0].message)
    line = f"no training row inside: the region has {beyond}; check its units"
    assert line in str(model.verify())
    assert f"rule: {line}" in str(model.report_)


def test_a_rule_a_little_beyond_the_data_is_reported_without_a_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = fitted(Rule("glucose >= 230", "ill", holds="everywhere"))
    found = model.findings_["rule"]
    assert str(found) == f"no training row inside: the region has glucose >= 230, but the data end at {END}"
    np.testing.assert_allclose(found.far, (230 - X.glucose.max()) / np.ptp(X.glucose))


def test_an_ellipsoid_far_away_is_warned_of():
    with pytest.warns(FarFromData, match="the region has glucose >= 1990, but the data end"):
        fitted(Ellipsoid([2000.0, 30.0, 50.0], [10.0, 10.0, 10.0], "ill", holds="everywhere"))


def test_one_of_several_alternatives_can_be_far():
    with pytest.warns(FarFromData, match="glucose >= 3000"):
        model = fitted(Rule("bmi >= 35 or glucose >= 3000", "ill", holds="everywhere"))
    inside = X.bmi >= 35
    assert str(model.findings_["rule"]) == (
        f"{inside.sum()} training rows inside, {(inside & (Y != 'ill')).sum()} of another class; the "
        f"region has glucose >= 3000, but the data end at {END}; check its units"
    )


def test_names_given_to_a_rule_are_in_its_messages():
    rule = Rule("sugar >= 2000", "ill", columns=["sugar", "bmi", "age"], holds="everywhere")
    with pytest.warns(FarFromData, match="sugar >= 2000"):
        PriorSVC(rule).fit(X.to_numpy(), Y)


def test_a_constant_column_has_no_range_to_be_far_from():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = PriorSVC(Box({0: (7, 8)}, 1, holds="everywhere")).fit(
            [[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]], [0, 0, 1]
        )
    assert "column 0 >= 7, but the data end at 1" in str(model.findings_["box"])


def test_a_function_that_is_not_defined_at_every_row_has_no_counts():
    def g(P):
        with np.errstate(invalid="ignore"):
            return np.log(P[:, 0] - X.glucose.iloc[:3].min() + 1.0) + 100.0

    model = fitted(Region(g, X.to_numpy()[:3], "ill"))
    assert model.findings_ == {}


@pytest.mark.parametrize("method", ["cuts", "guaranteed"])
def test_a_slope_of_one_class_of_three_does_not_apply_to_other_classes(method):
    rises = Monotone({0: 1}, label=2, method=method, holds="everywhere")
    model = PriorSVC(rises, kernel="rbf").fit(np.arange(6.0)[:, None], [0, 0, 1, 1, 2, 2])
    asked = [check.verdict.asked for check in model.verify().checks]
    assert asked[:2] == ["nothing of this class"] * 2
    assert asked[2].startswith("score of 2 to rise as x0 rises")


HIGH = np.where(X["glucose"] > 120, "ill", "well")


@pytest.mark.filterwarnings("ignore::priorsvm.errors.CollapsedModel")  # where it is hard
@pytest.mark.parametrize("hard", [True, False])
@pytest.mark.parametrize("parameters", [{}, {"method": "points", "points": 8}])
def test_a_rule_against_its_own_rows_is_warned_of(hard, parameters):
    rule = Rule("glucose >= 150", "well", hard=hard, **parameters, holds="everywhere")
    with pytest.warns(AgainstData) as caught:
        fitted(rule, HIGH)
    count = int((X.glucose >= 150).sum())
    [against] = [w for w in caught if w.category is AgainstData]
    share = np.mean(HIGH != "well")
    counts = f"{count} training rows inside, {count} of another class, where {share:.0%} are expected (p = "
    assert str(against.message).startswith(f"'glucose >= 150' is 'well': {counts}")


@pytest.mark.parametrize(("rows", "contrary"), [(3, 3), (4, 4), (20, 8), (20, 11), (20, 15)])
def test_rows_of_another_class_contradict_a_rule_if_they_exceed_the_base_rate(rows, contrary):
    order = X.glucose.sort_values(ascending=False).index
    y = np.where(np.arange(60) < 40, "ill", "well")
    y[:contrary] = "well"
    rule = Rule(f"glucose >= {X.glucose[order[rows - 1]]}", "ill", holds="everywhere")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = PriorSVC(rule, scale="standard").fit(X.loc[order], y).findings_["rule"]
    others = int(np.sum(y == "well"))
    ways = [comb(others, k) * comb(60 - others, rows - k) for k in range(rows + 1)]
    p = sum(ways[contrary:]) / sum(ways)
    assert (found.rows, found.contrary, found.total, found.total_contrary) == (rows, contrary, 60, others)
    np.testing.assert_allclose(found.p, p)
    assert [w.category for w in caught if w.category is AgainstData] == [AgainstData] * (p < 0.05)
    assert len(found.warnings) >= (p < 0.05)


@pytest.mark.parametrize("y", [Y, np.where(X["age"] > 60, "old", Y)])
def test_a_rule_about_every_row_may_be_in_other_units(y):
    with pytest.warns(AgainstData, match="are inside.*Check its label") as caught:
        model = fitted(Rule("glucose >= 49", "ill", holds="everywhere"), y)
    caught = [w for w in caught if w.category is AgainstData]
    assert len(caught) == 1
    line = f"all 60 training rows are inside, {(y != 'ill').sum()} of another class; check its units"
    assert line.removesuffix("; check its units") in str(caught[0].message)
    assert line in str(model.report_)


def test_a_slope_is_not_against_rows():
    with warnings.catch_warnings():
        warnings.simplefilter("error", AgainstData)
        fitted(Monotone({"glucose": -1}, label="ill", holds="everywhere"), HIGH)


def test_a_region_without_end_beyond_the_data_may_be_in_other_units():
    with pytest.raises(InvalidInput, match=r"give within=.* beyond these rows: check its units"):
        fitted(Rule("glucose >= 1300", "ill", holds="everywhere"), kernel="rbf")
    with pytest.raises(InvalidInput, match=r"within='data'[.]$"):
        fitted(Rule("glucose >= 130", "ill", within=None, holds="everywhere"), kernel="rbf")


def test_a_fraction_for_a_percentage_is_far():
    percent = X.assign(alcohol=np.linspace(11.0, 14.8, 60))
    with pytest.warns(
        FarFromData,
        match="alcohol <= 0.12, but the data begin at 11, 2.9 times .*threshold times 100 is inside",
    ):
        PriorSVC(Rule("alcohol <= 0.12", "ill", holds="everywhere"), scale="standard").fit(percent, Y)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_a_column_of_a_rule_is_reported_with_its_ends_even_beyond_the_data(kernel):
    rule = Rule("glucose >= 40", "ill", method="points", points=8)
    words = str(fitted(rule, kernel=kernel).verify())
    assert f"score of 'ill' >= 1 for glucose from 40 to {X.glucose.max():g} " in words
    assert "any glucose" not in words
    assert "on the range of the data" not in words
    assert "any bmi (" in words


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_a_rule_of_alternatives_is_reported_by_its_text_and_its_worst_alternative(kernel):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"debt": rng.uniform(0, 20_000, 120), "income": rng.uniform(500, 5000, 120)})
    text = "debt over 15000 or income under 1000"
    model = PriorSVC(Rule(text, label="default", holds="everywhere"), kernel=kernel, scale="standard")
    found = model.fit(X, np.where(X.debt > 9000, "default", "paid")).verify()["rule"]
    assert found.asked == f"score of 'default' >= 1 where {text}, within the range of the data"
    assert found.remarks[0] == "the worst value is where income <= 1000"
    assert found.where[1] <= 1000


@pytest.mark.filterwarnings("ignore::priorsvm.errors.PriorSVMWarning")
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_the_worst_place_of_a_rule_on_rows_is_named_in_the_words_of_the_user(kernel):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"age": rng.integers(30, 80, 80), "sex": rng.choice(["f", "m"], 80)})
    X["bmi"] = rng.normal(27, 4, 80).round(1)
    y = np.where(X.age + 3 * rng.normal(size=80) > 55, "ill", "well")
    prior = Rule("age >= 70 or bmi >= 33 or sex == 'f' and bmi >= 30", label="ill", mu=1.0)
    found = PriorSVC(prior, kernel=kernel, scale="standard").fit(X, y).verify(everywhere=True)["rule"]
    if kernel == "linear":
        assert found.remarks[0] in (
            "the worst value is where bmi >= 33",
            "the worst value is where bmi >= 30 and sex == 'f'",
        )
    else:
        assert found.remarks[0].startswith("the worst value is where bmi >= 3")
        assert "sex == '" in found.remarks[0]
    assert "alternative" not in " ".join(found.remarks)


@pytest.mark.filterwarnings("ignore::priorsvm.errors.PriorSVMWarning")
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_the_place_of_a_verdict_has_the_columns_and_the_values_of_the_user(kernel):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"age": rng.integers(30, 80, 80), "sex": rng.choice(["f", "m"], 80)})
    X["smoker"] = rng.integers(0, 2, 80).astype(bool)
    y = np.where(X.age + 3 * rng.normal(size=80) > 55, "well", "will")
    model = PriorSVC(Rule("age >= 70 and sex == 'f'", label="will", mu=1.0), kernel=kernel, scale="standard")
    model.fit(X, y)
    for everywhere, margin in ((False, 0.0), (True, 1.0)):
        verdict = model.verify(everywhere=everywhere)["rule"]
        age, sex, smoker = verdict.where
        assert age >= 70
        assert sex == "f"
        assert isinstance(smoker, float if everywhere and kernel == "rbf" else bool)
        row = pd.DataFrame([verdict.where], columns=X.columns)
        assert model.decision_function(row)[0] - margin == pytest.approx(verdict.worst, abs=1e-6)


@pytest.mark.filterwarnings("ignore::priorsvm.errors.PriorSVMWarning")
@pytest.mark.parametrize("texts", [["x0 >= 0.5"], ["x0 < 0", "x1 >= 1 or x2 <= -1"]])
def test_findings_have_the_weight_and_the_area_of_a_rule_with_a_given_weight(texts):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 3))
    y = (X[:, 0] + 0.5 * rng.normal(size=30) > 0).astype(int)
    weight = rng.uniform(0.5, 2.0, 30)
    found = {}
    for mu in ("auto", 2.0):
        rules = [Rule(text, 1, mu=mu).named(f"rule_{k}") for k, text in enumerate(texts)]
        model = PriorSVC(sum(rules[1:], as_prior(rules[0]))).fit(X, y, sample_weight=weight)
        found[mu] = [model.findings_[f"rule_{k}"].weight for k in range(len(texts))]
    assert [of_rule.mu for of_rule in found[2.0]] == [2.0] * len(texts)
    np.testing.assert_allclose([w.own for w in found[2.0]], [w.own for w in found["auto"]], rtol=1e-12)
    assert "mu" not in str(model.findings_["rule_0"])
    hard = PriorSVC(Rule("x0 >= 0.5", 1, hard=True)).fit(X, y)
    assert hard.findings_["rule"].weight is None
