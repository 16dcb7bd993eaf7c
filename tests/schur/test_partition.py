"""Dense and sparse parts of A and P."""

import pytest
from numpy.testing import assert_allclose
from scipy import sparse

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
