"""ClassCosts: factors on C per class."""

import numpy as np
import pytest

from priorsvm import RBF, ClassCosts, PriorSVC, Shift, VirtualSamples, check_knowledge
from priorsvm.errors import InvalidInput

SCALE = 0.1


def factors(y, costs):
    """The factor of every row, written out."""
    counts = {k: np.sum(y == k) for k in np.unique(y)}
    if costs == "balanced":
        return np.array([len(y) / (len(counts) * counts[k]) for k in y])
    if costs == "brown":
        return np.array([len(y) / (2 * SCALE * counts[k]) for k in y])
    return np.array([costs.get(k, 1.0) for k in y])


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("costs", [{1: 5.0}, {0: 0.25, 1: 3}, "balanced", "brown"])
def test_value_of_the_loss_at_any_f(data, kernel, assemble, draw, costs, loss):
    X, y = data
    compiled = assemble(ClassCosts(costs, SCALE), X, y, kernel, C=2.0, loss=loss)
    f = draw(compiled)
    slack = np.maximum(1 - np.where(y == 1, 1, -1) * f(X), 0)
    penalised = slack if loss == "hinge" else slack**2
    cost = factors(y, costs)
    assert compiled.loss.value == pytest.approx(2.0 * cost @ penalised, rel=1e-10)
    assert compiled.constraints["svm.margin"].violation().max() < 1e-9
    share = compiled.sample.shares["class_costs"]
    assert 2.0 * share @ penalised == pytest.approx(np.sum((2.0 * cost - 2.0) * penalised), rel=1e-10)


def test_equal_costs_are_the_plain_model(data, new, kernel, route, svc):
    X, y = data
    model = PriorSVC(ClassCosts({0: 1.0, 1: 1.0}), C=3.0, kernel=kernel, solver=route).fit(X, y)
    np.testing.assert_allclose(model.decision_function(new), svc(X, y, new, C=3.0), atol=1e-6)
    assert model.solver_ == route


@pytest.mark.parametrize("costs", [{0: 0.5, 1: 4.0}, {1: 10.0}, "balanced"])
def test_costs_are_class_weight(data, new, kernel, route, svc, costs):
    X, y = data
    model = PriorSVC(ClassCosts(costs), C=1.5, kernel=kernel, solver=route).fit(X, y)
    reference = svc(X, y, new, C=1.5, class_weight=costs)
    assert np.abs(reference - svc(X, y, new, C=1.5)).max() > 0.05
    np.testing.assert_allclose(model.decision_function(new), reference, atol=1e-6)


def test_brown_is_a_hard_margin_with_a_larger_diagonal(data, new, kernel, dual):
    X, y = data
    counts = np.array([np.sum(y == k) for k in y])
    model = PriorSVC(ClassCosts("brown", scale=0.5), kernel=kernel, loss="squared_hinge").fit(X, y)
    reference = dual(X, y, new, D=0.5 * counts / len(y))
    np.testing.assert_allclose(model.decision_function(new), reference, atol=1e-7)


@pytest.mark.parametrize("costs", ["balanced", "brown"])
def test_counts_are_counted_in_weights(data, new, kernel, costs):
    X, y = data
    repeats = np.where(np.arange(80) % 3 == 0, 2, 1)
    repeats[5] = 0
    weighted = PriorSVC(ClassCosts(costs), kernel=kernel).fit(X, y, sample_weight=repeats)
    repeated = PriorSVC(ClassCosts(costs), kernel=kernel).fit(
        np.repeat(X, repeats, axis=0), np.repeat(y, repeats)
    )
    np.testing.assert_allclose(weighted.decision_function(new), repeated.decision_function(new), atol=1e-6)


def test_a_class_without_weight_has_no_infinite_cost(three, assemble):
    X, y = three
    sample = assemble(None, X, y).sample
    sample.shares["svm"][y == "a"] = 0.0
    sample.cost[y == "a"] = 0.0
    for costs in ("balanced", "brown"):
        after = ClassCosts(costs).prepare(sample, None)
        assert np.isfinite(after.cost).all()
        assert (after.cost[y == "a"] == 0).all()
        assert (after.cost[y != "a"] > 0).all()


def test_a_class_that_costs_nothing_leaves_one_class_only(data, kernel, route):
    with pytest.raises(InvalidInput, match=r"'class_costs' leaves no cost to .*two classes are needed"):
        PriorSVC(ClassCosts({0: 0.0}), kernel=kernel, solver=route).fit(*data)


@pytest.mark.parametrize("costs", [{"a": 5.0, "c": 0.5}, "balanced"])
def test_rows_keep_the_cost_of_their_own_class_in_every_problem(three, kernel, svc, costs):
    X, y = three
    model = PriorSVC(ClassCosts(costs), kernel=kernel).fit(X, y)
    cost = factors(y, costs)
    for label, values in zip("abc", model.decision_function(X).T, strict=True):
        np.testing.assert_allclose(values, svc(X, y == label, X, weight=cost), atol=1e-6)


def test_renaming_the_classes_turns_f_round(data, new, kernel):
    X, y = data
    model = PriorSVC(ClassCosts({0: 1.0, 1: 4.0}), kernel=kernel).fit(X, y)
    flipped = PriorSVC(ClassCosts({1: 1.0, 0: 4.0}), kernel=kernel).fit(X, 1 - y)
    np.testing.assert_allclose(model.decision_function(new), -flipped.decision_function(new), atol=1e-9)


def test_outer_weight_scales_what_is_added(data, new, route):
    X, y = data
    half = PriorSVC(0.5 * ClassCosts({1: 5.0}), solver=route).fit(X, y).decision_function(new)
    three = PriorSVC(ClassCosts({1: 3.0}), solver=route).fit(X, y).decision_function(new)
    absent = PriorSVC(0 * ClassCosts({1: 5.0}), solver=route).fit(X, y).decision_function(new)
    plain = PriorSVC(solver=route).fit(X, y).decision_function(new)
    np.testing.assert_allclose(half, three, atol=1e-9)
    np.testing.assert_array_equal(absent, plain)
    assert np.abs(three - plain).max() > 0.05


def test_two_of_them_multiply(data, new):
    X, y = data
    both = PriorSVC(ClassCosts({1: 2.0}) + ClassCosts({1: 3.0, 0: 0.5})).fit(X, y)
    one = PriorSVC(ClassCosts({1: 6.0, 0: 0.5})).fit(X, y)
    np.testing.assert_allclose(both.decision_function(new), one.decision_function(new), atol=1e-9)


def test_contributions_are_those_of_the_formula(data):
    X, y = data
    model = PriorSVC(ClassCosts({1: 4.0}), C=2.0, kernel=RBF(0.4)).fit(X, y)
    slack = np.maximum(1 - np.where(y == 1, 1, -1) * model.decision_function(X), 0)
    [row] = model.report_["class_costs"]
    assert row.contribution == pytest.approx(2.0 * 3.0 * slack[y == 1].sum(), rel=1e-8)
    assert row.rows == np.sum(y == 1)


@pytest.mark.parametrize(
    ("block", "message"),
    [
        (ClassCosts({2: 1.0}), r"block 'class_costs'.*label 2 is not among the classes.*: 0, 1"),
        (ClassCosts({1: -1.0}), r"cost of class 1 must be a nonnegative number, got -1\.0"),
        (ClassCosts({1: float("nan")}), "cost of class 1 must be a nonnegative number, got nan"),
        (ClassCosts({1: "much"}), "cost of class 1 must be a nonnegative number, got 'much'"),
        (ClassCosts("equal"), "costs must be a dict, 'balanced' or 'brown', got 'equal'"),
        (ClassCosts([1.0, 2.0]), "costs must be a dict of class to factor.*got list"),
        (ClassCosts("brown", scale=0), "scale must be a positive number, got 0"),
        (3 * ClassCosts({1: 0.5}), r"'class_costs' lowers costs.*weight 3 .*negative"),
    ],
)
def test_bad_arguments_are_named(data, block, message):
    with pytest.raises(InvalidInput, match=message):
        PriorSVC(block).fit(*data)


@pytest.mark.slow
@pytest.mark.parametrize(
    "block",
    [ClassCosts({1: 3.0}), ClassCosts({0: 0.5}), ClassCosts("balanced"), ClassCosts("brown", 0.3)],
    ids=repr,
)
def test_laws(block):
    assert "weight 0 disables the block" in check_knowledge(block)


def test_copies_inherit_the_cost_whatever_the_order(data, assemble):
    X, y = data
    costs, copies = ClassCosts({1: 4.0}), VirtualSamples(Shift([0.1, 0.0, 0.0]), cost=0.5)
    for prior in (costs + copies, copies + costs):
        sample = assemble(prior, X, y).sample
        np.testing.assert_allclose(sample.cost[80:], 0.5 * sample.cost[sample.source[80:]])
        np.testing.assert_allclose(sample.cost[:80], np.where(y == 1, 4.0, 1.0))
