"""VirtualSamples: transformed copies of the training rows."""

import numpy as np
import pytest

from priorsvm import FromFunction, PriorSVC, SampleCosts, Shift, Translation, VirtualSamples, check_knowledge
from priorsvm.errors import InvalidInput, InvalidType

STEP = np.array([0.25, 0.0, -0.125])


def unchanged(X, theta):
    return X


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_value_of_the_loss_at_any_f(data, kernel, assemble, draw, loss):
    X, y = data
    costs, margins = np.linspace(0.5, 2.0, 80), np.linspace(0.2, 1.2, 80)
    prior = SampleCosts(costs, margins) + VirtualSamples(Shift(STEP), cost=0.3)
    compiled = assemble(prior, X, y, kernel, C=2.0, loss=loss)
    f = draw(compiled)
    power = 1 if loss == "hinge" else 2
    signs = np.where(y == 1, 1, -1)

    def total(rows):
        return np.sum(costs * np.maximum(margins - signs * f(rows), 0) ** power)

    copies = 0.3 * (total(X - STEP) + total(X + STEP))
    assert compiled.loss.value == pytest.approx(2.0 * (total(X) + copies), rel=1e-10)
    slack = compiled.slack.value**power
    assert 2.0 * compiled.sample.shares["virtual_samples"] @ slack == pytest.approx(2.0 * copies, rel=1e-10)


def test_is_the_model_on_the_copies_too(data, new, kernel, route, svc):
    X, y = data
    model = PriorSVC(VirtualSamples(Shift(STEP), cost=0.5), C=2.0, kernel=kernel, solver=route).fit(X, y)
    rows = np.vstack([X, X - STEP, X + STEP])
    reference = svc(rows, np.tile(y, 3), new, C=2.0, weight=np.repeat([1.0, 0.5, 0.5], 80))
    assert np.abs(reference - svc(X, y, new, C=2.0)).max() > 0.02
    np.testing.assert_allclose(model.decision_function(new), reference, atol=1e-6)


def test_an_orbit_of_the_identity_is_the_plain_model(data, new, kernel, route):
    X, y = data
    model = PriorSVC(VirtualSamples(FromFunction(unchanged, [])), kernel=kernel, solver=route).fit(X, y)
    plain = PriorSVC(kernel=kernel, solver=route).fit(X, y)
    np.testing.assert_array_equal(model.decision_function(new), plain.decision_function(new))


def test_one_exact_copy_doubles_c(data, new, kernel, route, svc):
    X, y = data
    model = PriorSVC(VirtualSamples(FromFunction(unchanged, [1.0])), kernel=kernel, solver=route).fit(X, y)
    np.testing.assert_allclose(model.decision_function(new), svc(X, y, new, C=2.0), atol=1e-6)
    assert model.history_[0]["rows"] == 160


def test_a_copy_that_replaces_its_original_is_the_plain_model(data, new, kernel, route, svc):
    X, y = data
    copies = VirtualSamples(FromFunction(unchanged, [1.0]), cost=3.0)
    model = PriorSVC(copies, C=0.25, kernel=kernel, solver=route).fit(X, y)
    np.testing.assert_allclose(model.decision_function(new), svc(X, y, new), atol=1e-6)


def test_cost_zero_is_absent(data, new, kernel, route):
    X, y = data
    model = PriorSVC(VirtualSamples(Shift(STEP), cost=0), kernel=kernel, solver=route).fit(X, y)
    plain = PriorSVC(kernel=kernel, solver=route).fit(X, y)
    np.testing.assert_array_equal(model.decision_function(new), plain.decision_function(new))


def test_two_of_them_stand_side_by_side(data, new, kernel, svc):
    X, y = data
    near, far = VirtualSamples(Shift(STEP), cost=0.8), VirtualSamples(Shift(3 * STEP), cost=0.2)
    model = PriorSVC(near + far, kernel=kernel).fit(X, y)
    rows = np.vstack([X, X - STEP, X + STEP, X - 3 * STEP, X + 3 * STEP])
    reference = svc(rows, np.tile(y, 5), new, weight=np.repeat([1.0, 0.8, 0.8, 0.2, 0.2], 80))
    np.testing.assert_allclose(model.decision_function(new), reference, atol=1e-6)
    assert {row.block for row in model.report_.rows} == {"svm", "virtual_samples", "virtual_samples_2"}
    either = PriorSVC(VirtualSamples(Shift(STEP) | Shift(3 * STEP)), kernel=kernel).fit(X, y)
    same = PriorSVC(VirtualSamples(Shift(STEP)) + VirtualSamples(Shift(3 * STEP)), kernel=kernel).fit(X, y)
    np.testing.assert_allclose(either.decision_function(new), same.decision_function(new), atol=1e-8)


def test_copies_of_copies_are_not_made(data, assemble):
    X, y = data
    sample = assemble(VirtualSamples(Shift(STEP)) + VirtualSamples(Shift(2 * STEP)), X, y).sample
    assert len(sample) == 80 * 5
    np.testing.assert_array_equal(
        sample.source, np.append(np.arange(80), np.tile(np.repeat(np.arange(80), 2), 2))
    )


def test_outer_weight_is_a_cost(data, new):
    X, y = data
    outer = PriorSVC(0.25 * VirtualSamples(Shift(STEP), cost=2.0)).fit(X, y)
    inner = PriorSVC(VirtualSamples(Shift(STEP), cost=0.5)).fit(X, y)
    np.testing.assert_allclose(outer.decision_function(new), inner.decision_function(new), atol=1e-9)


def test_sample_weight_is_inherited(data, new, svc, kernel):
    X, y = data
    weight = np.linspace(0.1, 2.0, 80)
    model = PriorSVC(VirtualSamples(Shift(STEP)), kernel=kernel).fit(X, y, sample_weight=weight)
    reference = svc(np.vstack([X, X - STEP, X + STEP]), np.tile(y, 3), new, weight=np.tile(weight, 3))
    np.testing.assert_allclose(model.decision_function(new), reference, atol=1e-6)


@pytest.mark.parametrize("label", ["a", "b", "c"])
def test_copies_have_the_label_of_their_original_in_every_problem(three, assemble, label):
    X, y = three
    sample = assemble(VirtualSamples(Shift([0.1, 0.0])), X, y, positive=label).sample
    assert len(sample) == 180
    np.testing.assert_array_equal(sample.y, np.where(y[sample.source] == label, 1.0, -1.0))


def test_images_are_moved_by_whole_pixels(assemble):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(10, 9)), np.tile([0, 1], 5)
    sample = assemble(VirtualSamples(Translation((3, 3))), X, y).sample
    assert len(sample) == 50
    moved = sample.X[10:].reshape(10, 4, 3, 3)[:, :, 1, 1]
    neighbours = X.reshape(10, 3, 3)[:, [0, 2, 1, 1], [1, 1, 0, 2]]
    np.testing.assert_allclose(np.sort(moved), np.sort(neighbours), atol=1e-12)


def test_verify_looks_at_every_copy(data):
    X, y = data
    model = PriorSVC(VirtualSamples(Shift(STEP)), C=5.0).fit(X, y)
    rows = np.vstack([X - STEP, X + STEP])
    excess = np.tile(np.where(y == 1, 1, -1), 2) * model.decision_function(rows) - 1
    verdict = model.verify()["virtual_samples"]
    assert verdict.worst == pytest.approx(excess.min())
    np.testing.assert_allclose(verdict.where, rows[np.argmin(excess)])
    assert (verdict.holds, verdict.checked) == (False, 160)


@pytest.mark.parametrize(
    ("block", "error", "message"),
    [
        (VirtualSamples(Shift), InvalidType, r"'virtual_samples'.*got the class Shift: write Shift\("),
        (VirtualSamples("shift"), InvalidType, "must be a Transform, got str.*FromFunction"),
        (VirtualSamples(Shift([1.0])), InvalidInput, "Shift: vector has 1 entries, but X has 3 columns"),
        (VirtualSamples(Shift(STEP), cost=-1), InvalidInput, "cost must be a nonnegative number, got -1"),
        (VirtualSamples(Shift(STEP), cost="1"), InvalidInput, "cost must be a nonnegative number, got '1'"),
        (VirtualSamples(Shift(STEP), cost=None), InvalidInput, "cost must be a nonnegative number, got None"),
        (
            VirtualSamples(Shift(STEP), cost=[1.0]),
            InvalidInput,
            r"the array cost has shape \(1,\), expected \(2,\): one factor for each of the 2 copies",
        ),
        (VirtualSamples(Shift(STEP), cost=[1.0, -0.5]), InvalidInput, "the array cost contains -0.5"),
        (VirtualSamples(Shift(STEP), cost=np.array([1.0, np.nan])), InvalidInput, "contains nan"),
        (VirtualSamples(Shift(STEP), cost=[[1.0], [2.0, 3.0]]), InvalidInput, "cost must contain numbers"),
        (VirtualSamples(Shift(STEP), cost=lambda t: 1 / 0), InvalidInput, "failed: ZeroDivisionError"),
        (VirtualSamples(Shift(STEP), cost=lambda t: 1.0), InvalidInput, r"the function cost has shape \(\)"),
        (VirtualSamples(Shift(STEP), cost=lambda t: -t[:, 0]), InvalidInput, "function cost contains -1"),
        (
            VirtualSamples({0: Shift(STEP), 1: Shift(STEP, steps=5)}, cost=[1.0, 1.0]),
            InvalidInput,
            r"expected \(4,\)",
        ),
    ],
)
def test_bad_arguments_are_named(data, block, error, message):
    with pytest.raises(error, match=message):
        PriorSVC(block).fit(*data)


@pytest.mark.parametrize(
    "cost",
    [
        [0.2, 0.9, 0.0, 1.5],
        (0.2, 0.9, 0.0, 1.5),
        np.array([0.2, 0.9, 0.0, 1.5]),
        lambda theta: np.array([0.2, 0.9, 0.0, 1.5])[np.searchsorted([-1.0, -0.5, 0.5, 1.0], theta[:, 0])],
    ],
    ids=["list", "tuple", "array", "function"],
)
def test_each_copy_has_its_cost(data, new, kernel, svc, cost):
    X, y = data
    transform = Shift(STEP, steps=5)
    model = PriorSVC(VirtualSamples(transform, cost=cost), C=2.0, kernel=kernel).fit(X, y)
    rows = np.vstack([X + theta * STEP for theta in transform.theta_grid()[:, 0]])
    weight = np.repeat([1.0, 0.2, 0.9, 0.0, 1.5], 80)
    labels = np.tile(y, 5)
    kept = weight > 0  # SVC with a precomputed matrix does not support weights of 0
    reference = svc(rows[kept], labels[kept], new, C=2.0, weight=weight[kept])
    np.testing.assert_allclose(model.decision_function(new), reference, atol=1e-6)
    assert np.abs(reference - svc(rows, labels, new, C=2.0)).max() > 0.02


def test_a_cost_is_called_with_the_parameters_of_the_transform_of_the_class(data):
    X, y = data
    seen = []

    def cost(theta):
        seen.append(theta.shape)
        return np.full(len(theta), 0.5)

    moves = {0: Shift(STEP), 1: Shift(STEP) @ Shift(STEP[::-1])}
    PriorSVC(VirtualSamples(moves, cost=cost)).fit(X, y)
    assert set(seen) == {(2, 1), (8, 2)}


@pytest.mark.parametrize(
    "block", [VirtualSamples(Shift(STEP)), VirtualSamples(Shift(STEP, steps=5), 0.2)], ids=repr
)
def test_laws(block):
    assert "violation does not grow with the weight" in check_knowledge(block)
