"""VirtualSupportVectors: transformed copies of the support vectors, in a second round."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC

from priorsvm import ClassCosts, PriorSVC, Shift, VirtualSamples, VirtualSupportVectors, check_knowledge
from priorsvm.errors import InvalidInput, InvalidType

STEP = np.array([0.25, 0.0, -0.125])


def support(K, y, weight=None):
    """The support vectors of the plain model."""
    return np.sort(SVC(kernel="precomputed", tol=1e-10).fit(K, y, sample_weight=weight).support_)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_value_of_the_loss_at_any_f(data, kernel, assemble, draw, loss):
    X, y = data
    kept = np.arange(0, 80, 3)
    block = VirtualSupportVectors(Shift(STEP), cost=0.3)
    states = {"virtual_support_vectors": kept}
    compiled = assemble(block, X, y, kernel, C=2.0, loss=loss, states=states)
    f = draw(compiled)
    power, signs = (1 if loss == "hinge" else 2), np.where(y == 1, 1, -1)

    def slack(rows):
        return np.maximum(1 - signs * f(rows), 0) ** power

    copies = 0.3 * (slack(X - STEP) + slack(X + STEP))[kept].sum()
    assert compiled.loss.value == pytest.approx(2.0 * (slack(X)[kept].sum() + copies), rel=1e-10)
    sample = compiled.sample
    every = np.maximum(1 - sample.y * f(sample.X), 0) ** power
    dropped = np.delete(slack(X), kept).sum()
    share = sample.shares["virtual_support_vectors"]
    assert 2.0 * share @ every == pytest.approx(2.0 * (copies - dropped), rel=1e-10)


def test_first_round_is_the_plain_model(data, assemble):
    X, y = data
    block = VirtualSupportVectors(Shift(STEP))
    sample = assemble(block, X, y).sample
    assert len(sample) == 80
    np.testing.assert_array_equal(sample.cost, 1.0)


def test_second_round_is_a_model_on_support_vectors_and_their_copies(data, new, kernel, route, gram, svc):
    X, y = data
    model = PriorSVC(VirtualSupportVectors(Shift(STEP), cost=0.5), kernel=kernel, solver=route).fit(X, y)
    kept = support(gram(X, X), y)
    assert 10 < len(kept) < 70
    rows = np.vstack([X[kept], X[kept] - STEP, X[kept] + STEP])
    weight = np.repeat([1.0, 0.5, 0.5], len(kept))
    reference = svc(rows, np.tile(y[kept], 3), new, weight=weight)
    assert np.abs(reference - svc(X, y, new)).max() > 0.02
    np.testing.assert_allclose(model.decision_function(new), reference, atol=1e-6)
    assert model.n_rounds_ == 2
    assert [entry["rows"] for entry in model.history_] == [80, 3 * len(kept)]


def test_rows_of_the_second_round(data, assemble):
    X, y = data
    kept = np.arange(0, 80, 3)
    states = {"virtual_support_vectors": kept}
    sample = assemble(VirtualSupportVectors(Shift(STEP)), X, y, states=states).sample
    expected = {tuple(row) for row in np.vstack([X[kept], X[kept] - STEP, X[kept] + STEP])}
    assert {tuple(row) for row in sample.X[sample.cost > 0]} == expected
    np.testing.assert_array_equal(sample.X[:80], X)


def test_every_problem_has_its_own_support_vectors(three, kernel, gram, svc):
    X, y = three
    step = np.array([0.25, 0.25])
    model = PriorSVC(VirtualSupportVectors(Shift(step)), kernel=kernel).fit(X, y)
    sets = []
    for label, values in zip("abc", model.decision_function(X).T, strict=True):
        kept = support(gram(X, X), y == label)
        rows = np.vstack([X[kept], X[kept] - step, X[kept] + step])
        reference = svc(rows, np.tile(y[kept] == label, 3), X)
        np.testing.assert_allclose(values, reference, atol=1e-6)
        sets.append(tuple(kept))
    assert len(set(sets)) == 3
    assert model.n_rounds_ == [2, 2, 2]


def test_copies_inherit_class_costs(data, new, kernel, gram, svc):
    X, y = data
    model = PriorSVC(VirtualSupportVectors(Shift(STEP)) + ClassCosts({1: 3.0}), kernel=kernel).fit(X, y)
    cost = np.where(y == 1, 3.0, 1.0)
    kept = support(gram(X, X), y, weight=cost)
    rows = np.vstack([X[kept], X[kept] - STEP, X[kept] + STEP])
    reference = svc(rows, np.tile(y[kept], 3), new, weight=np.tile(cost[kept], 3))
    np.testing.assert_allclose(model.decision_function(new), reference, atol=1e-6)


def test_virtual_samples_of_a_row_go_with_it_in_either_order(data, new, assemble):
    X, y = data
    first, second = VirtualSupportVectors(Shift(STEP)), VirtualSamples(Shift(2 * STEP))
    a, b = (PriorSVC(prior).fit(X, y) for prior in (first + second, second + first))
    np.testing.assert_allclose(a.decision_function(new), b.decision_function(new), atol=1e-8)
    kept = np.arange(0, 80, 3)
    for prior in (first + second, second + first):
        states = {"virtual_support_vectors": kept, "virtual_samples": None}
        sample = assemble(prior, X, y, states=states).sample
        np.testing.assert_array_equal(np.unique(sample.source[sample.cost > 0]), kept)


def test_half_a_weight_leaves_half_of_the_other_rows_cost(data, assemble):
    X, y = data
    kept = np.arange(0, 80, 3)
    sample = assemble(
        0.5 * VirtualSupportVectors(Shift(STEP)), X, y, states={"virtual_support_vectors": kept}
    ).sample
    np.testing.assert_allclose(sample.cost[:80], np.where(np.isin(np.arange(80), kept), 1.0, 0.5))
    np.testing.assert_allclose(sample.cost[80:], 0.5)


def test_twice_the_weight_is_twice_the_cost_of_the_copies_only(data, new, kernel, route, gram, svc, assemble):
    """A row that is dropped cannot be dropped more than once."""
    X, y = data
    settings = {"kernel": kernel, "solver": route, "tol": 1e-12}  # a gap of 1e-10 is a distance of 1e-5 in f
    twice = PriorSVC(2 * VirtualSupportVectors(Shift(STEP)), **settings).fit(X, y)
    kept = support(gram(X, X), y)
    states = {"virtual_support_vectors": kept}
    sample = assemble(2 * VirtualSupportVectors(Shift(STEP)), X, y, states=states).sample
    np.testing.assert_array_equal(sample.cost[:80], np.isin(np.arange(80), kept))
    np.testing.assert_array_equal(sample.cost[80:], 2.0)
    rows = np.vstack([X[kept], X[kept] - STEP, X[kept] + STEP])
    reference = svc(rows, np.tile(y[kept], 3), new, weight=np.repeat([1.0, 2.0, 2.0], len(kept)))
    np.testing.assert_allclose(twice.decision_function(new), reference, atol=1e-6)
    doubled = PriorSVC(VirtualSupportVectors(Shift(STEP), cost=2.0), **settings).fit(X, y)
    assert twice.objective_ == pytest.approx(doubled.objective_, rel=1e-8)
    assert sum(row.contribution for row in twice.report_.rows) == pytest.approx(twice.objective_)


def test_contributions_sum_to_the_objective(data):
    model = PriorSVC(VirtualSupportVectors(Shift(STEP)), kernel="rbf", solver="CLARABEL").fit(*data)
    [row] = model.report_["virtual_support_vectors"]
    total = sum(row.contribution for row in model.report_.rows)
    assert total == pytest.approx(model.problem.value, rel=1e-6)
    assert row.contribution != 0


def test_one_round_warns_and_is_the_plain_model(data, new):
    X, y = data
    block = VirtualSupportVectors(Shift(STEP))
    with pytest.warns(ConvergenceWarning, match="'virtual_support_vectors' is not fully refined"):
        model = PriorSVC(block, max_rounds=1).fit(X, y)
    plain = PriorSVC().fit(X, y).decision_function(new)
    np.testing.assert_allclose(model.decision_function(new), plain, atol=1e-12)
    assert model.verify()["virtual_support_vectors"].holds is None


def test_report_says_that_the_answer_is_local(data):
    model = PriorSVC(VirtualSupportVectors(Shift(STEP))).fit(*data)
    assert "local optimum (virtual_support_vectors)" in str(model.report_)


def test_verify_looks_at_every_copy(data):
    X, y = data
    model = PriorSVC(VirtualSupportVectors(Shift(STEP)), C=5.0).fit(X, y)
    kept = PriorSVC(C=5.0).fit(X, y).support_
    rows = np.vstack([X[kept] - STEP, X[kept] + STEP])
    excess = np.tile(np.where(y[kept] == 1, 1, -1), 2) * model.decision_function(rows) - 1
    verdict = model.verify()["virtual_support_vectors"]
    assert verdict.worst == pytest.approx(excess.min())
    assert verdict.checked == len(rows)


@pytest.mark.parametrize(
    ("block", "error", "message"),
    [
        (
            VirtualSupportVectors(None),
            InvalidType,
            "'virtual_support_vectors'.*must be a Transform, got NoneType",
        ),
        (
            VirtualSupportVectors(Shift([1.0])),
            InvalidInput,
            "Shift: vector has 1 entries, but X has 3 columns",
        ),
        (
            VirtualSupportVectors(Shift(STEP), cost=np.inf),
            InvalidInput,
            "cost must be a nonnegative number, got inf",
        ),
    ],
)
def test_bad_arguments_are_named(data, block, error, message):
    with pytest.raises(error, match=message):
        PriorSVC(block).fit(*data)


@pytest.mark.parametrize("cost", [1.0, 0.3])
def test_laws(cost):
    laws = check_knowledge(VirtualSupportVectors(Shift(STEP), cost))
    assert "refinement ends in a fixed point" in laws
