"""Pivoted Cholesky factors of kernel matrices."""

import numpy as np
import pytest

from priorsvm import RBF, Linear, Polynomial
from priorsvm.function.factor import pivoted_cholesky
from priorsvm.function.maps import FactorMap
from priorsvm.kernels import FromCallable


def test_pivots_are_triangular_rows(centres):
    pivots, rows = pivoted_cholesky(RBF(0.5), centres)
    factor = rows[pivots]
    assert len(set(pivots.tolist())) == len(pivots) == rows.shape[1]
    np.testing.assert_array_equal(np.triu(factor, 1), 0.0)
    assert (np.diag(factor) > 0).all()


@pytest.mark.parametrize(
    ("kernel", "rank"), [(Linear(), 4), (Polynomial(2, 1.0), 10), (Polynomial(2, 1.0, 1.0), 15)]
)
def test_rank_is_that_of_the_feature_space(centres, kernel, rank):
    assert FactorMap(kernel, centres, None).size == rank


def test_repeated_centres_add_no_rank(centres):
    twice = np.vstack([centres[:20], centres[:20], centres[:20] + 1e-9])
    features = FactorMap(RBF(0.5), twice, None)
    assert features.size == 20
    rows = features.rows(twice)
    np.testing.assert_allclose(rows @ rows.T, RBF(0.5)(twice), atol=1e-10)


def test_a_kernel_matrix_of_the_user_is_not_changed(centres):
    K = RBF(0.5)(centres)
    before = K.copy()
    FactorMap(FromCallable(lambda A, B: K), centres, None)
    np.testing.assert_array_equal(K, before)


@pytest.mark.parametrize("rank", [1, 7, 30])
def test_nystrom_takes_the_columns_of_its_pivots(centres, rank):
    kernel = RBF(0.2)
    features = FactorMap(kernel, centres, None, rank)
    assert features.size == rank
    rows = features.rows(centres)
    K = kernel(centres)
    P = features.centres
    best = kernel(centres, P) @ np.linalg.pinv(kernel(P), rcond=1e-13) @ kernel(P, centres)
    np.testing.assert_allclose(rows @ rows.T, best, atol=1e-8)
    assert np.linalg.eigvalsh(K - rows @ rows.T).min() > -1e-10
    at_pivots = features.rows(P)
    np.testing.assert_array_equal(np.triu(at_pivots, 1), 0.0)
    np.testing.assert_allclose(at_pivots @ at_pivots.T, kernel(P), atol=1e-10)


def test_nystrom_computes_no_other_columns(centres):
    asked = []

    def counting(A, B):
        asked.append((len(A), len(B)))
        return RBF(0.2)(A, B)

    FactorMap(FromCallable(counting), np.vstack([centres, centres + 5, centres - 5]), None, 5)
    assert asked.count((1, 180)) == 5
    assert max(a * b for a, b in asked) <= 64 * 64  # the diagonal comes in small blocks


def test_nystrom_of_full_rank_is_exact(centres):
    a, b = FactorMap(RBF(0.5), centres, None, 60), FactorMap(RBF(0.5), centres, None)
    np.testing.assert_array_equal(a.rows(centres), b.rows(centres))


def test_nystrom_stops_at_the_rank_of_the_kernel(centres):
    assert FactorMap(Linear(), centres, None, 20).size == 4
