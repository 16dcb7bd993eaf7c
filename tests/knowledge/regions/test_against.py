"""Checks of rules and directions against the data and the fitted model: they warn, are silent, are listed."""

import re
import warnings
from itertools import product

import numpy as np
import pandas as pd
import pytest

from priorsvm import RBF, Box, Caution, ClassCosts, Knowledge, MissingValues, Monotone, PriorSVC, Rule, Terms
from priorsvm.errors import (
    AgainstData,
    DirectionAgainstData,
    FarFromData,
    NotKept,
    OppositeRules,
    Outbid,
    PriorSVMWarning,
    ZeroedColumns,
)
from priorsvm.knowledge.regions.against import unit_factors
from priorsvm.knowledge.regions.cuts import Cuts


def table(seed=0, n=60, d=4):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.normal(size=(n, d)), columns=[f"c{j}" for j in range(d)])
    y = np.where(X.c0 + 0.7 * X.c1 + 0.5 * rng.normal(size=n) > 0, "ill", "well")
    return X, y


def caught(prior, X, y, **parameters):
    """The fitted model, and its warnings by class."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        model = PriorSVC(prior, scale="standard", **parameters).fit(X, y)
    return model, {w.category: str(w.message) for w in found if issubclass(w.category, PriorSVMWarning)}


def listed(model, name):
    return model.findings_[name].warnings


def pairs_p_value(upper, lower):
    """The exact one-sided p value of the Mann-Whitney test, over all assignments of a few values."""
    values = np.concatenate([upper, lower])
    observed = sum(a > b for a, b in product(upper, lower))
    counts = []
    for chosen in product([0, 1], repeat=len(values)):
        if sum(chosen) == len(upper):
            mask = np.array(chosen, bool)
            counts.append(sum(a > b for a, b in product(values[mask], values[~mask])))
    return np.mean(np.array(counts) <= observed)


# ---------------------------------------------------------------- rows and directions


@pytest.mark.parametrize("holds", ["rows", "everywhere"])
def test_a_reversed_rule_is_found_and_listed_and_can_be_silenced(holds):
    X, y = table()
    rule = Rule("c0 >= 0.5", "well", holds=holds, mu=1.0)
    model, found = caught(rule, X, y)
    inside = X.c0 >= 0.5
    text = found[AgainstData]
    assert f"{inside.sum()} training rows inside, {(inside & (y == 'ill')).sum()} of another class" in text
    assert text in listed(model, "rule")
    assert f"rule: {text}" in str(model.report_)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for kind in (AgainstData, Outbid, ZeroedColumns):
            warnings.simplefilter("ignore", kind)
        PriorSVC(rule, scale="standard").fit(X, y)


def test_a_rare_class_inside_is_not_against_a_rule_that_is_better_than_the_base_rate():
    rng = np.random.default_rng(1)
    X = pd.DataFrame({"c0": np.arange(100.0), "c1": rng.normal(size=100)})
    y = np.where(np.arange(100) >= 92, "ill", "well")  # 8 %, all of them among the 20 highest
    model, found = caught(Rule("c0 >= 80", "ill", mu=1.0), X, y)
    assert AgainstData not in found
    assert model.findings_["rule"].contrary == 12


@pytest.mark.slow
def test_right_rules_and_directions_are_rarely_contradicted():
    alarms = []
    for seed in range(40):
        X, y = table(seed, n=30)
        _, found = caught(
            Rule("c0 >= 0.8", "ill", mu=1.0) + Monotone({"c0": 1, "c1": 1}, label="ill", mu=1.0), X, y
        )
        alarms.append(AgainstData in found or DirectionAgainstData in found)
    assert np.mean(alarms) <= 0.05


@pytest.mark.parametrize(
    ("label", "direction", "warns"), [("b", 1, 0), ("b", -1, 1), ("a", 1, 1), ("a", -1, 0)]
)
def test_a_direction_against_the_rows_is_found_by_the_exact_test(label, direction, warns):
    values = np.array([0.0, 1.0, 2.0, 4.0, 3.0, 5.0, 6.0, 7.0])
    y = np.array(["a"] * 4 + ["b"] * 4)
    assert pairs_p_value(-values[4:], -values[:4]) == pytest.approx(2 / 70)
    X = pd.DataFrame({"dose": values})
    model, found = caught(Monotone({"dose": direction}, label=label), X, y)
    assert (DirectionAgainstData in found) == bool(warns)
    if warns:
        text = found[DirectionAgainstData]
        assert "values of dose (median" in text
        assert "p = 0.03" in text
        assert text in listed(model, "monotone")
    else:
        assert model.findings_ == {}


def test_a_weak_direction_is_not_against_the_rows():
    X, y = table()
    _, found = caught(Monotone({"c2": 1, "c3": 1}, label="ill"), X, y)
    _, opposite = caught(Monotone({"c2": -1, "c3": -1}, label="ill"), X, y)
    assert DirectionAgainstData not in {**found, **opposite}


# ---------------------------------------------------------------- units


@pytest.mark.parametrize(
    ("threshold", "factor"), [(7.0, 18.0), (1260.0, 1 / 10.0), (0.13, 1000.0), (1500.0, 1 / 12.0)]
)
def test_factors_between_units_bring_a_threshold_into_the_data(threshold, factor):
    values = np.linspace(70.0, 190.0, 50)
    found = unit_factors(threshold, values)
    assert factor in found
    assert all(70 < a * threshold < 190 for a in found)
    distances = [abs(a * threshold - 130) for a in found]
    assert distances == sorted(distances)


@pytest.mark.parametrize(
    ("text", "advice"),
    [
        ("glucose <= 7", "times 18"),  # 7 mmol/l; fewer than 70 / 3
        ("glucose >= 7", "times 18"),  # all rows are inside
        ("glucose >= 1260", "divided by 10"),
        ("glucose >= 255", ""),  # more than half the range beyond the data
    ],
)
def test_a_threshold_in_other_units_is_found_with_the_factor(text, advice):
    X = pd.DataFrame({"glucose": np.linspace(70.0, 190.0, 40), "bmi": np.linspace(20, 40, 40)[::-1] ** 1.1})
    y = np.where(np.arange(40) % 4 > 1, "ill", "well")
    model, found = caught(Rule(text, "ill", mu=1.0), X, y)
    assert f"{advice}" in found[FarFromData]
    assert "Check its units" in found[FarFromData]
    assert found[FarFromData] in listed(model, "rule")


def test_advice_about_units_does_not_name_a_scale_that_is_set():
    X = pd.DataFrame({"glucose": np.linspace(70.0, 190.0, 40)})
    y = np.where(np.arange(40) % 4 > 1, "ill", "well")
    for scale, advice in ((None, "use PriorSVC(scale='standard') instead."), ("minmax", "as scale= is set.")):
        with pytest.warns(FarFromData) as issued:
            PriorSVC(Rule("glucose >= 1260", "ill", mu=1.0), scale=scale).fit(X, y)
        [text] = [str(w.message) for w in issued if w.category is FarFromData]
        assert text.endswith(advice)
        assert ("PriorSVC(scale=" in text) == (scale is None)


@pytest.mark.parametrize(
    "text", ["glucose >= 220", "glucose >= 130", "glucose <= 65", "glucose between 0 and 130"]
)
def test_a_threshold_near_the_data_has_the_units_of_the_data(text):
    X = pd.DataFrame({"glucose": np.linspace(70.0, 190.0, 40)})
    _, found = caught(Rule(text, "ill", mu=1.0), X, np.where(np.arange(40) > 20, "ill", "well"))
    assert FarFromData not in found


# ---------------------------------------------------------------- after the fit


def test_columns_that_a_rule_everywhere_zeroes_are_counted():
    X, y = table(d=6)
    y = np.where(X.c0 + X.c2 - X.c3 > 0, "ill", "well")
    rule = Rule("c0 >= 1", "ill", hard=True)
    model, found = caught(rule, X, y)
    zero = np.abs(model.coef_[0]) < 1e-6
    text = found[ZeroedColumns]
    assert text.startswith(f"'c0 >= 1' is 'ill': {zero.sum()} of 6 weights become 0, although ")
    plain = np.abs(PriorSVC(scale="standard").fit(X, y).coef_[0]) * X.std().to_numpy()
    used = zero & (plain >= 0.05 * plain.max())
    assert used.any()
    order = [f"c{j}" for j in np.argsort(-plain) if used[j]]
    assert f"although the model without blocks uses {', '.join(order)}." in text
    assert "holds='rows' avoids it" in text
    assert text in listed(model, "rule")
    _, on_rows = caught(Rule("c0 >= 1", "ill", mu=1.0), X, y)
    assert ZeroedColumns not in on_rows


def test_two_rules_that_zero_columns_issue_one_warning():
    X, _ = table(d=6)
    y = np.where(X.c0 + X.c2 - X.c3 > 0, "ill", "well")
    rules = Rule("c0 >= 1", "ill", hard=True).named("a") + Rule("c0 <= -1", "well", hard=True).named("b")
    with warnings.catch_warnings(record=True) as issued:
        warnings.simplefilter("always")
        model = PriorSVC(rules, scale="standard").fit(X, y)
    [text] = [str(warning.message) for warning in issued if warning.category is ZeroedColumns]
    assert text.startswith("'c0 >= 1' is 'ill' and 'c0 <= -1' is 'well': ")
    own = [next(t for t in listed(model, name) if "become 0" in t) for name in ("a", "b")]
    assert own == [text.replace(" and 'c0 <= -1' is 'well'", ""), text.replace("'c0 >= 1' is 'ill' and ", "")]


def test_columns_that_are_not_used_without_blocks_may_be_zero():
    X, _ = table(n=200, d=2)
    X["c2"] = 0.0
    y = np.where(X.c0 > 0, "ill", "well")
    _, found = caught(Rule("c0 >= 1", "ill", hard=True) + ClassCosts("balanced"), X, y)
    assert ZeroedColumns not in found


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("holds", ["rows", "everywhere"])
def test_a_soft_rule_without_weight_is_outbid(kernel, holds):
    X, y = table()
    box = {"c0": (-2.5, -2.0), "c1": (-1.0, 0.0)}  # few rows, all of them well
    X.loc[X.c0.between(-2.6, -1.9), "c0"] = -1.5
    weak, found = caught(Box(box, "ill", holds=holds, mu=1e-3), X, y, kernel=kernel)
    count, kind = re.search(r"outbid it at 100% of its (\d+) (.+?)\. ", found[Outbid]).groups()
    assert kind == ("added rows" if holds == "rows" else "places")
    if holds == "rows":
        assert int(count) == sum(map(len, weak._models[0].states["box"].points))
    assert "Raise its weight" in found[Outbid]
    assert found[Outbid] in listed(weak, "box")
    _, found = caught(Box(box, "ill", holds=holds, mu=300.0), X, y, kernel=kernel)
    assert Outbid not in found


def test_a_weight_that_cross_validation_chose_is_in_the_warning():
    X, y = table(n=80)
    box = {"c0": (-2.5, -1.6), "c1": (-2.0, -1.0)}
    inside = X.c0.between(-2.6, -1.5) & X.c1.between(-2.1, -0.9)
    X.loc[inside, "c0"] = -1.0
    model, found = caught(Box(box, "ill"), X, y)
    places = model.findings_["box"].weight
    if Outbid in found:
        assert f"mu='auto' chose {places.mu:.3g} rows. Check its label" in found[Outbid]
    else:
        assert places.factor > 0


def test_pairs_of_rows_of_a_soft_direction_are_outbid():
    X, y = table()
    y = np.where(X.c0 + 0 * X.c1 > 0, "ill", "well")
    weak = Monotone({"c2": 1}, label="ill", mu=1e-6)
    model, found = caught(weak, X, y, kernel="rbf")
    state = model._models[0].states["monotone"]
    upper, lower = np.split(state.points[0], 2)
    rise = model.decision_function(upper) - model.decision_function(lower)  # classes_[1] is well
    violated = np.mean(-rise < -1e-6)
    assert (Outbid in found) == (violated > 0.5)


def test_opposite_soft_rules_are_named_once_and_listed_in_both():
    X, y = table()
    first = Rule("c0 >= 0", "ill", mu=1.0).named("first")
    second = Rule("c1 <= 0.2", "well", mu=1.0).named("second")
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        model = PriorSVC(first + second, scale="standard").fit(X, y)
    [text] = [str(w.message) for w in found if w.category is OppositeRules]
    common = int(((X.c0 >= 0) & (X.c1 <= 0.2)).sum())
    assert f"'first' ('c0 >= 0' is 'ill') and 'second' ('c1 <= 0.2' is 'well') assign {common} common" in text
    assert text in listed(model, "first")
    assert text in listed(model, "second")


@pytest.mark.parametrize(("second", "label"), [("c1 <= 0.2", "ill"), ("c0 <= -0.1", "well")])
def test_soft_rules_of_one_class_or_apart_are_not_opposite(second, label):
    X, y = table()
    _, found = caught(Rule("c0 >= 0", "ill", mu=1.0) + Rule(second, label, mu=1.0).named("other"), X, y)
    assert OppositeRules not in found


def test_opposite_rules_of_three_classes_are_reported_in_one_model():
    X, _ = table(n=90)
    y = np.array(["a", "b", "c"])[np.digitize(X.c0, [-0.4, 0.4])]
    rules = Rule("c1 >= 0", "a", mu=1.0).named("one") + Rule("c2 >= 0", "c", mu=1.0).named("two")
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        PriorSVC(rules, scale="standard").fit(X, y)
    assert len([w for w in found if w.category is OppositeRules]) == 1


# ---------------------------------------------------------------- promises


def narrow_problem():
    """A hard direction on 4 columns whose worst places lie on faces of the range."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(25, 4))
    return X, (X[:, 0] + X[:, 1] * X[:, 2] + 0.5 * rng.normal(size=25) > 0).astype(int)


def test_a_hard_direction_that_is_not_kept_is_reported_with_its_place(monkeypatch):
    monkeypatch.setattr(Cuts, "refine", lambda self, f, view: None)
    monkeypatch.setattr(Cuts, "settle", lambda self, f, view: None)
    X, y = narrow_problem()
    model, found = caught(Monotone({0: 1}, hard=True), X, y, kernel=RBF(0.5), C=10.0)
    text = found[NotKept]
    assert "the hard block is violated by" in text
    assert "at (column 0 " in text
    assert text in listed(model, "monotone")
    size = float(text.split("violated by ")[1].split()[0])
    assert not model.verify()["monotone"].holds
    assert model.verify()["monotone"].worst <= -0.5 * size


def test_a_strict_search_adds_the_places_that_cuts_have_missed(monkeypatch):
    X, y = narrow_problem()
    with monkeypatch.context() as patch:
        patch.setattr(Cuts, "refine", lambda self, f, view: None)
        patch.setattr(Cuts, "settle", lambda self, f, view: None)
        model, _ = caught(Monotone({0: 1}, hard=True), X, y, kernel=RBF(0.5), C=10.0)
    binary = model._models[0]
    view = binary.view("monotone", binary.sample)
    [before] = view.state.points
    state = Cuts(True, 256, 1000, 3).settle(binary.f, view)
    [after] = state.points
    added = after[len(before) :]
    assert state.searches == 1
    assert len(added) > 0
    low, high = X.min(axis=0), X.max(axis=0)
    assert np.all((added >= low - 1e-9) & (added <= high + 1e-9))
    step = 1e-5 * np.eye(4)[0]
    slope = (binary.f.value(added + step) - binary.f.value(added - step)) / 2e-5
    assert np.all(slope * np.ptp(X[:, 0]) < -1e-4)
    assert Cuts(False, 256, 1000, 3).settle(binary.f, view) is None


@pytest.mark.slow
def test_a_hard_direction_on_four_columns_is_kept_on_all_faces():
    rng = np.random.default_rng(1)  # without a strict search it was violated by 2e-2
    X = rng.normal(size=(60, 4))
    y = (X[:, 0] + X[:, 1] * X[:, 2] + 0.5 * rng.normal(size=60) > 0).astype(int)
    model, found = caught(Monotone({0: 1, 1: 1}, hard=True), X, y, kernel="rbf", C=10.0)
    assert NotKept not in found
    f = model._models[0].f
    low, high = X.min(axis=0), X.max(axis=0)
    cube = np.clip(np.random.default_rng(0).uniform(-0.5, 1.5, size=(40_000, 4)), 0, 1)
    Z = low + cube * (high - low)
    for j in (0, 1):
        assert f.slope(Z, np.tile(np.eye(4)[j], (len(Z), 1))).min() * (high - low)[j] > -2e-4


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_a_hard_rule_that_is_kept_is_not_reported(kernel):
    X, y = table(d=2)
    _, found = caught(Box({"c0": (1, 2), "c1": (0, 1)}, "ill", hard=True), X, y, kernel=kernel)
    assert NotKept not in found


def test_a_block_of_your_own_may_warn_too():
    class Doubtful(Knowledge):
        def build(self, f, view):
            return Terms()

        def cautions(self, f, view):
            return [Caution(PriorSVMWarning, f"f without blocks has {len(view.plain().coef)} weights")]

        def findings(self, f, view):
            return view.warnings

    X, y = table()
    with pytest.warns(PriorSVMWarning, match="f without blocks has 4 weights"):
        model = PriorSVC(Doubtful()).fit(X, y)
    assert model.findings_ == {"doubtful": ("f without blocks has 4 weights",)}


@pytest.mark.parametrize("label", ["high", "low"])
@pytest.mark.parametrize("direction", [-1, 1])
def test_a_direction_is_compared_with_the_class_that_it_names(label, direction):
    X = np.arange(40.0)[:, None]
    y = np.where(X[:, 0] >= 20, "high", "low")
    contradicted = (label == "high") == (direction < 0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        PriorSVC(Monotone({0: direction}, label=label)).fit(X, y)
    texts = [str(w.message) for w in caught if w.category is DirectionAgainstData]
    assert bool(texts) == contradicted
    if contradicted:
        medians = {"high": "29.5", "low": "9.5"}
        other = "low" if label == "high" else "high"
        compared = "higher" if label == "high" else "lower"
        words = f"this class have {compared} values of column 0 (median {medians[label]}) than"
        assert words in texts[0]
        assert f"remaining rows ({medians[other]}," in texts[0]


@pytest.mark.parametrize("holds", ["rows", "everywhere"])
def test_gaps_in_columns_that_a_rule_does_not_name_leave_rows_inside(holds):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    y = (X[:, 0] > 0).astype(int)
    X[rng.random(60) < 0.3, 2] = np.nan
    model = PriorSVC(Rule("x0 >= 0.5", 1, mu=1.0, holds=holds) + MissingValues()).fit(X, y)
    found = model.findings_["rule"]
    assert (found.rows, found.completed) == (int((X[:, 0] >= 0.5).sum()), 0)
