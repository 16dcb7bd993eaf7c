"""Transductive: unlabelled rows whose labels are found along with f."""

from itertools import combinations, pairwise
from typing import ClassVar

import numpy as np
import pytest

from priorsvm import RBF, ClassCosts, PriorSVC, Transductive, UnlabeledSamples, check_knowledge
from priorsvm.errors import InvalidInput
from priorsvm.knowledge.rows.transductive import Labelling


def layers(seed):
    """Two labelled rows, and two layers of unlabelled ones that the labelled rows point across."""
    rng = np.random.default_rng(seed)
    upper = rng.normal(size=(10, 2)) * [1.0, 0.5] + [0.0, 1.5]
    lower = rng.normal(size=(10, 2)) * [1.0, 0.5] - [0.0, 1.5]
    return np.array([[-1.0, -0.4], [1.0, 0.4]]), np.array([0, 1]), np.vstack([upper, lower])


def few(seed):
    """Eight labelled and six unlabelled rows, all mixed up."""
    rng = np.random.default_rng(seed)
    y = np.tile([0, 1], 4)
    return rng.normal(size=(8, 2)) + np.outer(2.0 * y - 1, [1.0, 0.0]), y, 1.5 * rng.normal(size=(6, 2))


def best_of_all(X, y, unlabelled, n_positive, cost=1.0, **parameters):
    """The lowest objective over all labellings with so many positives."""
    objectives = []
    for chosen in combinations(range(len(unlabelled)), n_positive):
        labels = np.isin(np.arange(len(unlabelled)), chosen).astype(int)
        objectives.append(
            PriorSVC(UnlabeledSamples(unlabelled, labels, cost), **parameters).fit(X, y).objective_
        )
    return min(objectives)


class Recorded(Transductive):
    """A Transductive that records its state before and after every refinement."""

    steps: ClassVar[list] = []

    def refine(self, f, view):
        step = super().refine(f, view)
        if not view.settled:
            self.steps.append((view.state, None if step is None else step.state))
        return step


@pytest.fixture
def steps():
    Recorded.steps.clear()
    return Recorded.steps


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_value_of_the_loss_at_any_f(data, kernel, assemble, draw, new, loss):
    X, y = data
    signs = np.where(np.arange(50) % 3 == 0, 1.0, -1.0)
    state = Labelling(signs, positive=0.1, negative=0.4)
    block = Transductive(new, cost=0.5)
    compiled = assemble(block, X, y, kernel, C=2.0, loss=loss, states={"transductive": state})
    f = draw(compiled)
    power = 1 if loss == "hinge" else 2
    plain = np.sum(np.maximum(1 - np.where(y == 1, 1, -1) * f(X), 0) ** power)
    slack = np.maximum(1 - signs * f(new), 0) ** power
    own = 0.5 * np.sum(np.where(signs > 0, 0.1, 0.4) * slack)
    assert compiled.loss.value == pytest.approx(2.0 * (plain + own), rel=1e-10)
    np.testing.assert_allclose(compiled.sample.shares["transductive"][:80], 0.0)


@pytest.mark.parametrize("seed", range(20))
def test_a_swap_lowers_the_loss_at_the_same_f(seed):
    rng = np.random.default_rng(seed)
    scores = 2.0 * rng.normal(size=12)
    before = Labelling(rng.permutation(np.repeat([1.0, -1.0], 6)), *rng.uniform(0.01, 1.0, size=2))

    def slack(labelling):
        return np.maximum(1 - labelling.y * scores, 0)

    def loss(labelling):
        return np.where(labelling.y > 0, labelling.positive, labelling.negative) @ slack(labelling)

    after = before.swapped(slack(before))
    xi = slack(before)
    worth = [
        (m, l)
        for m in np.flatnonzero(before.y > 0)
        for l in np.flatnonzero(before.y < 0)
        if xi[m] > 0 and xi[l] > 0 and xi[m] + xi[l] > 2 + 1e-6
    ]
    assert (after is None) == (not worth)
    if after is not None:
        assert after.y.sum() == before.y.sum() == 0
        assert (after.positive, after.negative) == (before.positive, before.negative)
        assert loss(after) < loss(before) - 1e-8


def test_swaps_are_among_those_seeds():
    swaps = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        scores = 2.0 * rng.normal(size=12)
        y = rng.permutation(np.repeat([1.0, -1.0], 6))
        swaps.append(Labelling(y, 1.0, 1.0).swapped(np.maximum(1 - y * scores, 0)) is not None)
    assert sum(swaps) > 3


def test_rows_on_the_margin_are_not_swapped():
    y = np.array([1.0, -1.0])
    assert Labelling(y, 1.0, 1.0).swapped(np.array([3.0, 0.0])) is None
    assert Labelling(y, 1.0, 1.0).swapped(np.array([1.0, 1.0])) is None
    np.testing.assert_array_equal(Labelling(y, 1.0, 1.0).swapped(np.array([1.5, 1.0])).y, [-1.0, 1.0])


@pytest.mark.parametrize("kernel", ["linear", RBF(0.3)], ids=["linear", "rbf"])
@pytest.mark.parametrize("seed", [0, 1, 2, 5])
def test_every_swap_lowers_the_objective(steps, kernel, seed):
    X, y, unlabelled = layers(seed)
    model = PriorSVC(Recorded(unlabelled), C=2.0, kernel=kernel).fit(X, y)
    objectives = [entry["objective"] for entry in model.history_]
    assert len(steps) == len(objectives) == model.n_rounds_
    swaps = [
        i
        for i, (before, after) in enumerate(steps)
        if None not in (before, after) and after.positive == before.positive
    ]
    assert swaps
    for i in swaps:
        assert not np.array_equal(steps[i][0].y, steps[i][1].y)
        assert objectives[i + 1] < objectives[i]


def test_costs_rise_from_almost_nothing_to_all_and_labels_stay_as_many(steps):
    X, y, unlabelled = layers(0)
    PriorSVC(Recorded(unlabelled, n_positive=8), C=2.0).fit(X, y)
    states = [before for before, _ in steps if before is not None]
    assert (states[0].positive, states[0].negative) == (pytest.approx(1e-5 * 8 / 12), 1e-5)
    assert (states[-1].positive, states[-1].negative) == (1.0, 1.0)
    assert all(np.sum(state.y > 0) == 8 for state in states)
    for before, after in pairwise(states):
        if np.array_equal(before.y, after.y):
            assert after.negative == min(2 * before.negative, 1.0)
            assert after.positive == min(2 * before.positive, 1.0)


def test_first_labels_are_those_of_the_plain_model(steps):
    X, y, unlabelled = layers(1)
    PriorSVC(Recorded(unlabelled, n_positive=7)).fit(X, y)
    scores = PriorSVC().fit(X, y).decision_function(unlabelled)
    assert steps[0][0] is None
    np.testing.assert_array_equal(steps[0][1].y > 0, scores >= np.sort(scores)[-7])


@pytest.mark.parametrize("kernel", ["linear", RBF(0.5)], ids=["linear", "rbf"])
@pytest.mark.parametrize("seed", range(4))
def test_never_better_than_all_labellings(kernel, seed, steps):
    X, y, unlabelled = few(seed)
    model = PriorSVC(Recorded(unlabelled, n_positive=3, cost=0.7), C=2.0, kernel=kernel).fit(X, y)
    best = best_of_all(X, y, unlabelled, 3, cost=0.7, C=2.0, kernel=kernel)
    assert model.objective_ >= best - 1e-6
    last, _ = steps[-1]
    found = (last.y > 0).astype(int)
    same = PriorSVC(UnlabeledSamples(unlabelled, found, costs=0.7), C=2.0, kernel=kernel).fit(X, y)
    assert model.objective_ == pytest.approx(same.objective_, rel=1e-7)


@pytest.mark.parametrize("solver", ["LIBSVM", "CLARABEL"])
@pytest.mark.parametrize("kernel", ["linear", RBF(0.5)], ids=["linear", "rbf"])
def test_finds_the_best_of_all_labellings_where_it_is_easy(kernel, solver):
    X, y = np.array([[-1.0, 0.2], [1.0, -0.1]]), np.array([0, 1])
    unlabelled = np.array([[-2.0, 1.0], [-1.5, -1.0], [-1.2, 0.5], [1.3, 0.8], [1.8, -0.7], [2.2, 0.1]])
    model = PriorSVC(Transductive(unlabelled, n_positive=3), kernel=kernel, solver=solver).fit(X, y)
    best = best_of_all(X, y, unlabelled, 3, kernel=kernel)
    assert model.objective_ == pytest.approx(best, rel=1e-6)
    np.testing.assert_array_equal(model.predict(unlabelled), [0, 0, 0, 1, 1, 1])


def test_unlabelled_rows_turn_the_boundary():
    X, y, unlabelled = layers(0)
    model = PriorSVC(Transductive(unlabelled), C=2.0).fit(X, y)
    np.testing.assert_array_equal(model.predict(unlabelled), np.repeat([1, 0], 10))
    assert PriorSVC(C=2.0).fit(X, y).score(unlabelled, np.repeat([1, 0], 10)) < 0.9


@pytest.mark.parametrize("n_positive", [0, 12])
def test_with_all_labels_fixed_it_is_unlabeled_samples(data, new, kernel, route, n_positive):
    X, y = data
    unlabelled = new[:12] + 0.1
    parameters = {"C": 2.0, "kernel": kernel, "solver": route}
    model = PriorSVC(Transductive(unlabelled, n_positive, cost=0.6), **parameters).fit(X, y)
    given = UnlabeledSamples(unlabelled, 1 if n_positive else 0, costs=0.6)
    reference = PriorSVC(given, **parameters).fit(X, y)
    np.testing.assert_allclose(model.decision_function(new), reference.decision_function(new), atol=1e-8)
    assert model.objective_ == pytest.approx(reference.objective_, rel=1e-9)
    assert model.n_rounds_ == 2


@pytest.mark.parametrize("block", ["cost", "weight", "rows"])
def test_absent(data, new, kernel, route, block):
    X, y = data
    prior = {
        "cost": Transductive(new, cost=0.0),
        "weight": 0 * Transductive(new),
        "rows": Transductive(np.empty((0, 3))),
    }[block]
    model = PriorSVC(prior, kernel=kernel, solver=route).fit(X, y)
    plain = PriorSVC(kernel=kernel, solver=route).fit(X, y)
    np.testing.assert_allclose(model.decision_function(new), plain.decision_function(new), atol=1e-10)
    assert model.n_rounds_ == 1


def test_share_of_positives_is_that_of_the_training_rows(data, new, assemble):
    X, y = data
    model = PriorSVC(Transductive(new)).fit(X, y)
    expected = round(50 * np.mean(y == 1))
    assert model.findings_["transductive"].startswith(f"{expected} of 50 rows labelled 1,")


def test_stands_beside_class_costs(data, new, assemble):
    X, y = data
    state = {"transductive": Labelling(np.where(np.arange(50) < 20, 1.0, -1.0), 1.0, 1.0)}
    for prior in (ClassCosts({1: 3.0}) + Transductive(new), Transductive(new) + ClassCosts({1: 3.0})):
        sample = assemble(prior, X, y, states=state).sample
        np.testing.assert_allclose(sample.cost, np.append(np.where(y == 1, 3.0, 1.0), np.ones(50)))


def test_several_classes_take_a_dict(three):
    X, y = three
    unlabelled = X[::6] + 0.05
    counts = {"a": 2, "b": 3, "c": 5}
    model = PriorSVC(Transductive(unlabelled, n_positive=counts)).fit(X, y)
    for found, label in zip(model.findings_, "abc", strict=True):
        assert found["transductive"].startswith(f"{counts[label]} of 10 rows labelled {label!r},")
    by_share = PriorSVC(Transductive(unlabelled)).fit(X, y)
    for found, share in zip(by_share.findings_, (12 / 60, 18 / 60, 30 / 60), strict=True):
        assert found["transductive"].startswith(f"{round(10 * share)} of 10 rows")


def test_two_classes_take_a_dict_too(data, new):
    X, y = data
    by_dict = PriorSVC(Transductive(new, n_positive={1: 20})).fit(X, y)
    by_number = PriorSVC(Transductive(new, n_positive=20)).fit(X, y)
    np.testing.assert_array_equal(by_dict.decision_function(new), by_number.decision_function(new))
    for counts in ({0: 30}, {0: 30, 1: 20}):
        by_the_other = PriorSVC(Transductive(new, n_positive=counts)).fit(X, y)
        np.testing.assert_array_equal(by_the_other.decision_function(new), by_number.decision_function(new))


def test_findings_and_report_say_whose_count_it_was(data, new, three):
    X, y = data
    words = np.where(y == 1, "low risk", "high risk")
    model = PriorSVC(Transductive(new, n_positive=20)).fit(X, words)
    assert model.findings_["transductive"] == "20 of 50 rows labelled 'low risk', 30 labelled 'high risk'"
    assert "transductive: 20 of 50 rows labelled 'low risk'" in str(model.report_)
    several = PriorSVC(Transductive(three[0][::6], n_positive={"a": 2, "b": 3, "c": 5})).fit(*three)
    assert several.findings_[1]["transductive"] == "3 of 10 rows labelled 'b', 7 labelled otherwise"
    assert PriorSVC(Transductive(new, cost=0.0)).fit(X, y).findings_ == {}


def test_report_says_that_the_answer_is_local(data, new):
    assert "local optimum (transductive)" in str(PriorSVC(Transductive(new[:6])).fit(*data).report_)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_positive": 51}, "n_positive must be a whole number from 0 to 50 .*, got 51"),
        ({"n_positive": -1}, "whole number from 0 to 50 .*, got -1"),
        ({"n_positive": 2.5}, r"whole number from 0 to 50 .*, got 2\.5"),
        ({"n_positive": True}, "whole number from 0 to 50 .*, got True"),
        ({"n_positive": {7: 3}}, "label 7 is not among the classes"),
        ({"n_positive": {0: 51}}, "whole number from 0 to 50 .*, got 51"),
        ({"n_positive": {0: 3, 1: 46}}, "must sum to 50"),
        ({"n_positive": {}}, "The count of one class is enough"),
        ({"cost": -1.0}, r"cost must be a nonnegative number, got -1\.0"),
        ({"X": np.zeros((3, 2))}, r"X has shape \(3, 2\), expected \(n, 3\)"),
    ],
)
def test_bad_arguments_are_named(data, new, arguments, message):
    with pytest.raises(InvalidInput, match="'transductive'.*" + message):
        PriorSVC(Transductive(**{"X": new, **arguments})).fit(*data)


def test_one_number_is_ambiguous_for_several_classes(three):
    with pytest.raises(InvalidInput, match=r"n_positive=3 is ambiguous for 3 classes\. Give a dict"):
        PriorSVC(Transductive(three[0], n_positive=3)).fit(*three)


@pytest.mark.parametrize(("n_positive", "kernels"), [(2, ("rbf",)), (3, ("linear", "rbf"))])
def test_laws(n_positive, kernels):
    X, y, _ = few(0)
    points = np.array([[0.1, 0.2], [0.4, -1.0], [-0.3, 0.5]])
    laws = check_knowledge(Transductive(points, n_positive), X, y, kernels)
    assert "refinement ends in a fixed point" in laws
