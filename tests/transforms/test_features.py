"""FeatureScaling and FeatureDeletion: worst cases against all subsets and factors."""

from itertools import combinations, product

import numpy as np
import pytest
from scipy.sparse import csr_array, csr_matrix, issparse

from priorsvm.errors import InvalidInput
from priorsvm.transforms import FeatureDeletion, FeatureScaling


def brute_force(x, coef, sign, k, low, high):
    """Return the smallest sign * coef'x over all choices of at most k features and their factors."""
    least = np.inf
    for chosen in combinations(range(len(x)), min(k, len(x))):
        for factors in product((low, 1.0, high), repeat=len(chosen)):
            moved = x.copy()
            moved[list(chosen)] *= factors
            least = min(least, sign * coef @ moved)
    return least


@pytest.mark.parametrize("sparse", [False, csr_array, csr_matrix])
@pytest.mark.parametrize(("low", "high"), [(0.0, 1.0), (0.5, 2.0), (1.0, 3.0), (0.2, 1.0), (1.0, 1.0)])
@pytest.mark.parametrize("k", [0, 1, 2, 4, 9])
def test_worst_equals_a_search_through_all_choices(k, low, high, sparse):
    rng = np.random.default_rng(k)
    X = np.round(rng.normal(size=(25, 4)), 1) * (rng.random((25, 4)) < 0.7)  # with zeros, negatives and ties
    coef, sign = np.round(rng.normal(size=4), 1), rng.choice([-1.0, 1.0], 25)
    moved = FeatureScaling(k, low, high).worst(sparse(X) if sparse else X, coef, sign)
    assert issparse(moved) is bool(sparse)
    dense = moved.toarray() if sparse else moved
    expected = [brute_force(x, coef, s, k, low, high) for x, s in zip(X, sign, strict=True)]
    np.testing.assert_allclose(sign * (dense @ coef), expected, atol=1e-14)
    changed = dense != X
    assert changed.sum(axis=1).max() <= k
    assert np.isin(np.round(dense[changed] / X[changed], 12), (low, high)).all()


@pytest.mark.parametrize("k", [1, 3, 9, 12, 25, 60])
def test_worst_cases_of_sparse_and_dense_rows_are_equal(k):
    rng = np.random.default_rng(k)
    X = np.round(rng.normal(size=(30, 40)), 1) * (rng.random((30, 40)) < 0.5)
    X[[0, 7, 29]] = 0.0  # rows without entries, also the first and the last
    coef, sign = np.round(rng.normal(size=40), 1), rng.choice([-1.0, 1.0], 30)
    sparse, dense = (FeatureDeletion(k).worst(rows, coef, sign) for rows in (csr_array(X), X))
    np.testing.assert_allclose(sparse @ coef, dense @ coef, atol=1e-13)
    assert ((sparse.toarray() != X).sum(axis=1) <= k).all()


def test_worst_cases_of_rows_of_different_magnitudes():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 40)) * 10.0 ** -rng.integers(0, 14, (50, 1))
    coef, sign = rng.normal(size=40), np.ones(50)
    sparse, dense = (FeatureDeletion(5).worst(rows, coef, sign) for rows in (csr_array(X), X))
    np.testing.assert_allclose(sparse @ coef, dense @ coef, rtol=1e-9)


def test_deletion_is_scaling_by_zero_or_one():
    rng = np.random.default_rng(0)
    X, coef, sign = rng.normal(size=(20, 6)), rng.normal(size=6), rng.choice([-1.0, 1.0], 20)
    deleted = FeatureDeletion(2).worst(X, coef, sign)
    np.testing.assert_array_equal(deleted, FeatureScaling(2, 0.0, 1.0).worst(X, coef, sign))
    assert ((deleted == X) | (deleted == 0)).all()


def test_worst_does_not_modify_its_rows():
    X = np.random.default_rng(0).normal(size=(5, 3))
    before, sparse = X.copy(), csr_array(X)
    FeatureDeletion(1).worst(X, np.ones(3), np.ones(5))
    FeatureDeletion(1).worst(sparse, np.ones(3), np.ones(5))
    np.testing.assert_array_equal(X, before)
    np.testing.assert_array_equal(sparse.toarray(), before)


def test_apply_multiplies():
    moved = FeatureScaling(1).apply([[2.0, 3.0]], [0.0, 0.5])
    np.testing.assert_array_equal(moved, [[2.0, 4.5]])
    with pytest.raises(InvalidInput, match="one finite number for each of the 2 features"):
        FeatureScaling(1).apply([[2.0, 3.0]], 0.5)


def test_feature_transforms_have_no_grid_and_no_tangents():
    with pytest.raises(InvalidInput, match="FeatureScaling has no finite orbit"):
        FeatureScaling(1).orbit([[1.0, 2.0]])
    with pytest.raises(
        InvalidInput, match="FeatureDeletion has no finite orbit"
    ):  # without the width of rows
        FeatureDeletion(1).theta_grid()
    with pytest.raises(InvalidInput, match="discrete"):
        FeatureScaling(1).tangents([[1.0, 2.0]])


@pytest.mark.parametrize(("k", "d", "count"), [(0, 3, 1), (1, 3, 4), (2, 4, 11), (9, 5, 32), (2, 90, 4096)])
def test_deletions_are_all_small_subsets_once(k, d, count):
    thetas = FeatureDeletion(k).parameters(d)
    assert thetas.shape == (count, d)
    assert not thetas[0].any()
    assert set(np.unique(thetas)) <= {-1.0, 0.0}
    assert (thetas < 0).sum(axis=1).max() == min(k, d)
    assert len(np.unique(thetas, axis=0)) == count


def test_the_orbit_of_a_deletion_has_zeros():
    orbit = FeatureDeletion(2).orbit([[1.0, 2.0, 3.0]])
    np.testing.assert_array_equal(
        orbit[0], [[1, 2, 3], [0, 2, 3], [1, 0, 3], [1, 2, 0], [0, 0, 3], [0, 2, 0], [1, 0, 0]]
    )
    with pytest.raises(InvalidInput, match="4187 ways to delete up to k=2 of 91 features are too many"):
        FeatureDeletion(2).orbit(np.ones((1, 91)))


@pytest.mark.parametrize(
    ("transform", "message"),
    [
        (FeatureScaling(-1), "k must be a whole number"),
        (FeatureScaling(1.5), "k must be a whole number"),
        (FeatureScaling(True), "k must be a whole number"),
        (FeatureDeletion("2"), "FeatureDeletion: k must be"),
        (FeatureScaling(1, 1.5, 2.0), "0 <= low <= 1 <= high"),
        (FeatureScaling(1, -0.1, 2.0), "0 <= low <= 1 <= high"),
        (FeatureScaling(1, 0.5, np.inf), "0 <= low <= 1 <= high"),
        (FeatureScaling(1, "a", 2.0), "0 <= low <= 1 <= high"),
    ],
)
def test_invalid_arguments(transform, message):
    with pytest.raises(InvalidInput, match=message):
        transform.validate(3)
