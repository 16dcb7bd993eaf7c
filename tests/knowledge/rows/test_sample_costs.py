"""SampleCosts: factors on C, and margins, per training row."""

import numpy as np
import pytest

from priorsvm import ClassCosts, PriorSVC, SampleCosts, Shift, VirtualSamples, check_knowledge
from priorsvm.errors import InvalidInput, UnknownParameter


@pytest.fixture(scope="module")
def costs():
    return np.random.default_rng(3).uniform(0.2, 3.0, size=80)


@pytest.fixture(scope="module")
def margins():
    return np.random.default_rng(4).uniform(0.0, 1.5, size=80)


def by_first_column(X, y):
    return 1.0 + (X[:, 0] > 0)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_value_of_the_loss_at_any_f(data, kernel, assemble, draw, costs, margins, loss):
    X, y = data
    compiled = assemble(SampleCosts(costs, margins), X, y, kernel, C=2.0, loss=loss)
    f = draw(compiled)
    slack = np.maximum(margins - np.where(y == 1, 1, -1) * f(X), 0)
    penalised = slack if loss == "hinge" else slack**2
    assert compiled.loss.value == pytest.approx(np.sum(2.0 * costs * penalised), rel=1e-10)
    assert compiled.constraints["svm.margin"].violation().max() < 1e-9
    share = compiled.sample.shares["sample_costs"]
    assert 2.0 * share @ penalised == pytest.approx(np.sum((2.0 * costs - 2.0) * penalised), rel=1e-10)


def test_margin_constraint_is_on_the_margin_asked(data, assemble, draw, margins):
    X, y = data
    compiled = assemble(SampleCosts(margins=margins), X, y)
    f = draw(compiled)
    compiled.slack.value = np.zeros(80)
    short = np.maximum(margins - np.where(y == 1, 1, -1) * f(X), 0)
    np.testing.assert_allclose(compiled.constraints["svm.margin"].violation(), short, atol=1e-12)


def test_cost_one_is_the_plain_model(data, new, kernel, route, svc):
    X, y = data
    model = PriorSVC(SampleCosts(np.ones(80)), C=2.0, kernel=kernel, solver=route).fit(X, y)
    np.testing.assert_allclose(model.decision_function(new), svc(X, y, new, C=2.0), atol=1e-6)


def test_costs_are_sample_weight(data, new, kernel, route, svc, costs):
    X, y = data
    model = PriorSVC(SampleCosts(costs), C=2.0, kernel=kernel, solver=route).fit(X, y)
    reference = svc(X, y, new, C=2.0, weight=costs)
    assert np.abs(reference - svc(X, y, new, C=2.0)).max() > 0.02
    np.testing.assert_allclose(model.decision_function(new), reference, atol=1e-6)


def test_whole_costs_are_repeated_rows_and_zero_is_a_row_less(data, new, kernel, route, svc):
    X, y = data
    costs = np.arange(80) % 4
    model = PriorSVC(SampleCosts(costs), kernel=kernel, solver=route).fit(X, y)
    reference = svc(np.repeat(X, costs, axis=0), np.repeat(y, costs), new)
    np.testing.assert_allclose(model.decision_function(new), reference, atol=1e-6)
    assert model.history_[0]["rows"] == np.count_nonzero(costs)


def test_margin_one_is_the_plain_model(data, new, kernel, route):
    X, y = data
    model = PriorSVC(SampleCosts(margins=np.ones(80)), kernel=kernel, solver=route).fit(X, y)
    plain = PriorSVC(kernel=kernel, solver=route).fit(X, y)
    np.testing.assert_allclose(model.decision_function(new), plain.decision_function(new), atol=1e-9)
    assert model.solver_ == route


def test_costs_and_margins_are_those_of_the_dual(data, new, kernel, dual, costs, margins):
    X, y = data
    model = PriorSVC(SampleCosts(costs, margins), C=2.0, kernel=kernel).fit(X, y)
    assert model.solver_ == ("NORMAL" if kernel == "linear" else "CLARABEL")
    reference = dual(X, y, new, rho=margins, upper=2.0 * costs)
    np.testing.assert_allclose(model.decision_function(new), reference, atol=1e-5)


def test_margin_zero_asks_for_the_sign_only(data, kernel):
    model = PriorSVC(SampleCosts(margins=np.zeros(80)), kernel=kernel).fit(*data)
    assert model.objective_ == pytest.approx(0.0, abs=1e-7)
    np.testing.assert_allclose(model.decision_function(data[0]), 0.0, atol=1e-3)


def test_margins_scaled_with_everything_scale_f(data, new, kernel):
    X, y = data
    double = PriorSVC(SampleCosts(margins=np.full(80, 2.0)), C=2.0, kernel=kernel).fit(X, y)
    single = PriorSVC(C=1.0, kernel=kernel, solver="CLARABEL").fit(X, y)
    np.testing.assert_allclose(double.decision_function(new), 2 * single.decision_function(new), atol=1e-5)


@pytest.mark.parametrize("C", [0.5, 5.0])
def test_squared_hinge_is_a_hard_margin_with_a_larger_diagonal(data, new, kernel, dual, C):
    X, y = data
    whole = PriorSVC(SampleCosts(np.ones(80)), C=C, kernel=kernel, loss="squared_hinge").fit(X, y)
    np.testing.assert_allclose(whole.decision_function(new), dual(X, y, new, D=1 / (2 * C)), atol=1e-7)
    half = PriorSVC(SampleCosts(np.full(80, 0.5)), C=C, kernel=kernel, loss="squared_hinge").fit(X, y)
    np.testing.assert_allclose(half.decision_function(new), dual(X, y, new, D=1 / C), atol=1e-7)


def test_squared_hinge_with_costs_has_a_diagonal_per_row(data, new, kernel, dual, costs):
    X, y = data
    model = PriorSVC(SampleCosts(costs), C=2.0, kernel=kernel, loss="squared_hinge").fit(X, y)
    reference = dual(X, y, new, D=1 / (2 * 2.0 * costs))
    np.testing.assert_allclose(model.decision_function(new), reference, atol=1e-7)


def test_copies_inherit_cost_and_margin_whatever_the_order(data, assemble, costs, margins):
    X, y = data
    own, copies = SampleCosts(costs, margins), VirtualSamples(Shift([0.1, 0.0, 0.0]), cost=0.5)
    for prior in (own + copies, copies + own):
        sample = assemble(prior, X, y).sample
        source = np.repeat(np.arange(80), 2)
        np.testing.assert_array_equal(sample.source[80:], source)
        np.testing.assert_allclose(sample.cost[80:], 0.5 * costs[source])
        np.testing.assert_allclose(sample.margin, np.append(margins, margins[source]))


def test_a_function_is_asked_for_rows_and_labels(data, new):
    X, y = data
    named = np.where(y == 1, "ill", "well")
    asked = []

    def costs(rows, labels):
        asked.append((rows.copy(), labels.copy()))
        return by_first_column(rows, labels)

    model = PriorSVC(SampleCosts(costs)).fit(X, named)
    given = PriorSVC(SampleCosts(by_first_column(X, y))).fit(X, named)
    np.testing.assert_array_equal(model.decision_function(new), given.decision_function(new))
    np.testing.assert_array_equal(asked[0][0], X)
    np.testing.assert_array_equal(asked[0][1], named)


def test_multiplies_with_class_costs(data, new, costs):
    X, y = data
    both = PriorSVC(SampleCosts(costs) + ClassCosts({1: 3.0})).fit(X, y)
    one = PriorSVC(SampleCosts(costs * np.where(y == 1, 3.0, 1.0))).fit(X, y)
    np.testing.assert_allclose(both.decision_function(new), one.decision_function(new), atol=1e-9)


def test_same_costs_in_every_model_of_several_classes(three, svc, kernel):
    X, y = three
    costs = np.linspace(0.5, 2.0, 60)
    model = PriorSVC(SampleCosts(costs), kernel=kernel).fit(X, y)
    for label, values in zip("abc", model.decision_function(X).T, strict=True):
        np.testing.assert_allclose(values, svc(X, y == label, X, weight=costs), atol=1e-6)


@pytest.mark.parametrize(
    ("block", "message"),
    [
        (SampleCosts(), "'sample_costs'.*costs and margins are both None"),
        (
            SampleCosts(np.ones(79)),
            r"costs was given as an array with shape \(79,\).*80 training rows.*pass it to fit",
        ),
        (
            SampleCosts(margins=lambda X, y: np.ones(3)),
            r"margins was given as a function of \(X, y\) with shape \(3,\)",
        ),
        (SampleCosts(np.ones((80, 2))), r"costs must be one number per training row, got shape \(80, 2\)"),
        (
            SampleCosts(np.append(np.ones(79), -1.0)),
            r"must be nonnegative numbers, but row 79 has -1\.0",
        ),
        (
            SampleCosts(margins=np.append(np.nan, np.ones(79))),
            "margins must be nonnegative numbers, but row 0 has nan",
        ),
        (
            0.5 * SampleCosts(margins=np.full(80, 0.5)),
            "'sample_costs' changes margins, which an outer weight cannot scale",
        ),
    ],
)
def test_bad_arguments_are_named(data, block, message):
    with pytest.raises(InvalidInput, match=message):
        PriorSVC(block).fit(*data)


def test_rows_given_to_fit_are_checked_too(data):
    with pytest.raises(InvalidInput, match="row 3 has inf"):
        PriorSVC(SampleCosts()).fit(*data, sample_costs__costs=np.where(np.arange(80) == 3, np.inf, 1.0))
    with pytest.raises(
        UnknownParameter, match=r"'sample_costs__weights'.*sample_costs__costs, sample_costs__margins"
    ):
        PriorSVC(SampleCosts()).fit(*data, sample_costs__weights=np.ones(80))


@pytest.mark.parametrize(
    "block",
    [
        SampleCosts(np.linspace(0.0, 1.0, 40)),
        SampleCosts(np.linspace(1.0, 3.0, 40)),
        SampleCosts(margins=np.linspace(0.0, 1.5, 40)),
        SampleCosts(by_first_column, by_first_column),
    ],
    ids=["lower costs", "higher costs", "margins", "functions"],
)
def test_laws(block):
    assert "contributions sum to the objective" in check_knowledge(block)


def test_laws_with_rows_given_to_fit():
    laws = check_knowledge(SampleCosts(), sample_costs__costs=np.linspace(1.0, 3.0, 40))
    assert "violation does not grow with the weight" in laws
