"""Classes of new rows under transformations, compared with every transformed copy."""

from itertools import combinations

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.datasets import load_digits

from priorsvm import (
    RBF,
    ClassCosts,
    FeatureDeletion,
    FromFunction,
    InvariantLoss,
    PriorSVC,
    Shift,
    Translation,
    VirtualSamples,
)
from priorsvm.errors import InvalidInput


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(n_class=3, return_X_y=True)
    return X / 16, y


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("block", [InvariantLoss, VirtualSamples])
def test_every_transformed_copy_of_every_new_row(digits, classes, block):
    X, y = digits
    X, y = X[y < classes], y[y < classes]
    moves = Translation((8, 8), pixels=1, grid="full")
    model = PriorSVC(block(moves), kernel=RBF(0.05), C=0.3).fit(X[:30], y[:30])
    new = X[100:180]
    [found] = model.verify(new).stability.values()
    classes_moved = np.array([model.predict(moved) for moved in moves.orbit(new)])
    same = (classes_moved == model.predict(new)[:, None]).all(axis=1)
    np.testing.assert_array_equal(found.lead > 0, same)
    assert found.share == pytest.approx(same.mean())
    assert set(found.changed) == set(np.flatnonzero(~same))
    scores = model.decision_function(found.points)
    if classes == 2:
        np.testing.assert_allclose(found.lead, scores * np.sign(model.decision_function(new)), atol=1e-10)
    assert f"{same.mean():.1%} of 80 new rows keep their class" in str(model.verify(new))


@pytest.mark.slow
@pytest.mark.parametrize("multi_class", ["ovr", "joint"])
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("sparse", [False, True])
def test_any_feature_deleted(multi_class, classes, sparse):
    rng = np.random.default_rng(0)
    y = np.arange(90) % classes
    middles = 3.0 * np.array([[1, 1, 0, 0, 0, 0], [0, 0, 1, 1, 0, 0], [0, 0, 0, 0, 1, 1]])
    X = middles[y] + rng.normal(size=(90, 6))
    if sparse:
        X = csr_array(X)
    model = PriorSVC(InvariantLoss(FeatureDeletion(1)), C=10, multi_class=multi_class).fit(X, y)
    found = model.verify(X).stability["invariant_loss"]
    dense = X.toarray() if sparse else X
    same = np.ones(len(dense), bool)
    for k in range(2):
        for gone in combinations(range(6), k):
            spoilt = dense.copy()
            spoilt[:, list(gone)] = 0.0
            same &= model.predict(spoilt) == model.predict(dense)
    clear = np.abs(found.lead) > 1e-9  # a tie goes either way
    np.testing.assert_array_equal((found.lead > 0)[clear], same[clear])
    at = model.decision_function(found.points)
    assert at.shape[0] == len(dense)


def test_one_block_or_no_block_with_a_transformation(digits):
    X, y = digits
    model = PriorSVC(ClassCosts({0: 2.0})).fit(X, y)
    with pytest.raises(InvalidInput, match="or a transform"):
        model.verify(X)
    prior = InvariantLoss(Shift(np.eye(64)[0])) + ClassCosts({0: 2.0})
    model = PriorSVC(prior).fit(X[:40], y[:40])
    assert list(model.verify(X).stability) == ["invariant_loss"]
    assert model.verify().stability == {}
    with pytest.raises(ValueError, match="features"):
        model.verify(X[:, :5])


def test_copies_between_the_grid_points_are_sampled_if_they_are_used():
    rng = np.random.default_rng(0)
    y, new = np.repeat([0, 1], 15), rng.normal(size=(40, 2)) * 2
    X = rng.normal(size=(30, 2)) + np.outer(6 * y - 3, [1, 0])

    def there_and_back(X, theta):
        return X + np.array([2.5 * np.sin(np.pi * theta), 0.0])

    moves = FromFunction(there_and_back, [-1.0, 1.0])  # the ends are where it began
    model = PriorSVC(InvariantLoss(moves, continuous=True)).fit(X, y)
    found = model.verify(new).stability["invariant_loss"]
    classes = np.stack([model.predict(moves.apply(new, theta)) for theta in np.linspace(-1, 1, 401)])
    assert found.share == np.mean((classes == classes[200]).all(axis=0))
    assert "each of 101 sampled transformations" in str(found)


def test_equal_scores_count_as_in_predict():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 10)
    X = rng.normal(size=(30, 2)) + np.array([[4, 4], [-4, 0], [0, -4]])[y]
    model = PriorSVC(InvariantLoss(FeatureDeletion(0)), multi_class="joint").fit(X, y)
    empty = np.zeros((3, 2))  # all functions are 0 there, whatever is deleted
    assert model.predict(empty).tolist() == [0, 0, 0]
    assert model.verify(empty).stability["invariant_loss"].share == 1.0
