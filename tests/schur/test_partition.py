"""Dense and sparse parts of A and P."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

from priorsvm.schur.cones import cones_from_dims
from priorsvm.schur.mixed import MixedMatrix
from priorsvm.schur.partition import Partition


@pytest.mark.parametrize("r", [5, 90])
def test_maxima_and_scaling_are_those_of_the_whole_matrices(r, wide_system):
    P, A, cones, rng = wide_system(1, r)
    partition = Partition(sparse.csr_array(P), sparse.csr_array(A), cones)
    left = rng.uniform(0.5, 2, size=len(A))
    right = rng.uniform(0.5, 2, size=len(P))
    P = P[partition.columns][:, partition.columns]
    A = A[:, partition.columns]
    rows, columns, of_P = partition.maxima(left, right)
    P = right[:, None] * P * right
    A = left[:, None] * A * right
    for found, known in (
        (rows, abs(A).max(axis=1)),
        (columns, abs(A).max(axis=0)),
        (of_P, abs(P).max(axis=1)),
    ):
        assert_allclose(found, known, atol=1e-14)
    partition.scale(left, right, 3.0)
    x = rng.normal(size=len(P))
    z = rng.normal(size=len(A))
    assert_allclose(partition.times_A(x), A @ x, atol=1e-12)
    assert_allclose(partition.times_At(z), A.T @ z, atol=1e-12)
    assert_allclose(partition.times_P(x), 3 * P @ x, atol=1e-12)


def test_a_dense_block_of_few_among_many_shared_variables(rng):
    n, d, more = 400, 6, 80
    Phi = rng.normal(size=(n + 2, d))
    bounds = np.zeros((n + 2, more))
    bounds[n:] = rng.normal(size=(2, more))  # two rows have all further variables
    own = np.vstack([np.eye(n), np.zeros((2, n))])
    pairs = np.hstack([np.zeros((2 * more, d)), np.vstack([np.eye(more)] * 2), np.zeros((2 * more, n))])
    pairs[:, 0] = 1.0
    A = np.vstack([np.hstack([Phi, bounds, own]), pairs])
    sparse_part = A.copy()
    sparse_part[: n + 2, :d] = 0.0
    mixed = MixedMatrix(sparse.csr_array(sparse_part), np.arange(n + 2), np.arange(d), Phi)
    P = np.diag(np.r_[np.ones(d), np.zeros(more + n)])
    partition = Partition(sparse.csr_array(P), mixed, cones_from_dims(len(A), [], [])[0])
    assert partition.r == d + more
    assert partition.dense.shape == (d, n)
    x = rng.normal(size=A.shape[1])
    z = rng.normal(size=len(A))
    order = partition.columns
    assert_allclose(partition.times_A(x[order]), A @ x, atol=1e-12)
    assert_allclose(partition.times_At(z), (A.T @ z)[order], atol=1e-12)
    assert_allclose(partition.times_P(x[order]), (P @ x)[order], atol=1e-12)
