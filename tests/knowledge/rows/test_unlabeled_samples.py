"""UnlabeledSamples: extra rows with supposed labels."""

import numpy as np
import pytest

from priorsvm import ClassCosts, PriorSVC, SampleCosts, UnlabeledSamples, check_knowledge
from priorsvm.errors import InvalidInput

COSTS = np.linspace(0.2, 2.0, 15)
MARGINS = np.linspace(0.0, 1.0, 15)


@pytest.fixture(scope="module")
def extra():
    rng = np.random.default_rng(5)
    return np.round(16 * rng.normal(size=(15, 3))) / 16, rng.integers(0, 2, size=15)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_value_of_the_loss_at_any_f(data, kernel, assemble, draw, extra, loss):
    (X, y), (E, supposed) = data, extra
    compiled = assemble(UnlabeledSamples(E, supposed, COSTS, MARGINS), X, y, kernel, C=2.0, loss=loss)
    f = draw(compiled)
    power = 1 if loss == "hinge" else 2
    plain = np.sum(np.maximum(1 - np.where(y == 1, 1, -1) * f(X), 0) ** power)
    slack = np.maximum(MARGINS - np.where(supposed == 1, 1, -1) * f(E), 0) ** power
    assert compiled.loss.value == pytest.approx(2.0 * plain + 2.0 * COSTS @ slack, rel=1e-10)
    share = compiled.sample.shares["unlabeled_samples"]
    np.testing.assert_allclose(share, np.append(np.zeros(80), COSTS))


def test_is_the_model_with_more_rows(data, new, kernel, route, svc, extra):
    (X, y), (E, supposed) = data, extra
    model = PriorSVC(UnlabeledSamples(E, supposed, COSTS), kernel=kernel, solver=route).fit(X, y)
    reference = svc(np.vstack([X, E]), np.append(y, supposed), new, weight=np.append(np.ones(80), COSTS))
    np.testing.assert_allclose(model.decision_function(new), reference, atol=1e-6)
    assert model.history_[0]["rows"] == 95


def test_margins_are_those_of_the_dual(data, new, kernel, dual, extra):
    (X, y), (E, supposed) = data, extra
    model = PriorSVC(UnlabeledSamples(E, supposed, COSTS, MARGINS), C=2.0, kernel=kernel).fit(X, y)
    rho, upper = np.append(np.ones(80), MARGINS), 2.0 * np.append(np.ones(80), COSTS)
    reference = dual(np.vstack([X, E]), np.append(y, supposed), new, rho=rho, upper=upper)
    np.testing.assert_allclose(model.decision_function(new), reference, atol=1e-5)


def test_cost_zero_is_absent(data, new, kernel, route, extra):
    X, y = data
    model = PriorSVC(UnlabeledSamples(*extra, costs=0.0), kernel=kernel, solver=route).fit(X, y)
    plain = PriorSVC(kernel=kernel, solver=route).fit(X, y)
    np.testing.assert_array_equal(model.decision_function(new), plain.decision_function(new))


def test_nothing_extra_is_nothing(data, new):
    X, y = data
    model = PriorSVC(UnlabeledSamples(np.empty((0, 3)), [])).fit(X, y)
    np.testing.assert_array_equal(model.decision_function(new), PriorSVC().fit(X, y).decision_function(new))


def test_outer_weight_is_a_cost(data, new, extra):
    X, y = data
    outer = PriorSVC(0.25 * UnlabeledSamples(*extra, margins=MARGINS)).fit(X, y)
    inner = PriorSVC(UnlabeledSamples(*extra, costs=0.25, margins=MARGINS)).fit(X, y)
    np.testing.assert_allclose(outer.decision_function(new), inner.decision_function(new), atol=1e-8)


def test_one_label_for_all(data, new, extra):
    X, named = data[0], np.where(data[1] == 1, "ill", "well")
    one = PriorSVC(UnlabeledSamples(extra[0], "ill")).fit(X, named)
    each = PriorSVC(UnlabeledSamples(extra[0], ["ill"] * 15)).fit(X, named)
    np.testing.assert_array_equal(one.decision_function(new), each.decision_function(new))
    # "ill" is the lower class here, so the extra rows pull f down.
    plain = PriorSVC().fit(X, named).decision_function(extra[0])
    assert one.decision_function(extra[0]).mean() < plain.mean()


def test_class_and_sample_costs_leave_extra_rows_alone(data, assemble, extra):
    X, y = data
    block = UnlabeledSamples(*extra, COSTS, MARGINS)
    others = ClassCosts({0: 3.0, 1: 4.0}) + SampleCosts(np.full(80, 2.0), np.full(80, 0.5))
    for prior in (others + block, block + others):
        sample = assemble(prior, X, y).sample
        np.testing.assert_allclose(sample.cost[80:], COSTS)
        np.testing.assert_allclose(sample.margin[80:], MARGINS)
        np.testing.assert_allclose(sample.cost[:80], np.where(y == 1, 8.0, 6.0))
        np.testing.assert_array_equal(sample.source[80:], -1)


def test_labels_are_positive_in_their_own_problem_only(three, svc, kernel):
    X, y = three
    E, labels = np.array([[0.2, 0.1], [1.0, 1.0], [0.5, 0.5]]), np.array(["a", "b", "c"])
    model = PriorSVC(UnlabeledSamples(E, labels, costs=2.0), kernel=kernel).fit(X, y)
    for label, values in zip("abc", model.decision_function(X).T, strict=True):
        all_rows, all_labels = np.vstack([X, E]), np.append(y, labels)
        reference = svc(all_rows, all_labels == label, X, weight=np.append(np.ones(60), [2.0] * 3))
        np.testing.assert_allclose(values, reference, atol=1e-6)


def test_verify_reports_the_margin_left_over(data, extra):
    (X, y), (E, supposed) = data, extra
    model = PriorSVC(UnlabeledSamples(E, supposed, costs=0.1), C=10.0).fit(X, y)
    verdict = model.verify()["unlabeled_samples"]
    excess = np.where(supposed == 1, 1, -1) * model.decision_function(E) - 1
    assert verdict.worst == pytest.approx(excess.min())
    np.testing.assert_array_equal(verdict.where, E[np.argmin(excess)])
    assert verdict.holds is False
    assert verdict.proven
    assert verdict.checked == 15


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([[0.0, 1.0]], [1]), r"X has shape \(1, 2\), expected \(n, 3\)"),
        (([[0.0, 1.0, np.nan]], [1]), "X contains NaN or infinity"),
        (([["a", "b", "c"]], [1]), "X must be a 2-D array of numbers"),
        (([[0.0, 1.0, 2.0]], [1, 0]), r"y has shape \(2,\), but X has 1 rows"),
        (([[0.0, 1.0, 2.0]], [7]), "label 7 is not among the classes of the training data: 0, 1"),
        (([[0.0, 1.0, 2.0]], 1, [1.0, 2.0]), r"costs has shape \(2,\)"),
        (([[0.0, 1.0, 2.0]], 1, -1.0), r"costs must be nonnegative numbers, got -1\.0"),
        (([[0.0, 1.0, 2.0]], 1, 1.0, np.inf), "margins must be nonnegative numbers, got inf"),
    ],
)
def test_bad_arguments_are_named(data, arguments, message):
    with pytest.raises(InvalidInput, match="block 'unlabeled_samples'.*" + message):
        PriorSVC(UnlabeledSamples(*arguments)).fit(*data)


@pytest.mark.parametrize("margins", [1.0, 0.3])
def test_laws(margins):
    points = np.random.default_rng(6).normal(size=(4, 3))
    laws = check_knowledge(UnlabeledSamples(points, [0, 1, 1, 0], costs=0.7, margins=margins))
    assert "violation does not grow with the weight" in laws
