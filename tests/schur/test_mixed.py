"""Sparse matrices with a dense block."""

import numpy as np
import pytest
from scipy import sparse

from priorsvm.schur.mixed import MixedMatrix


@pytest.fixture
def mixed(rng):
    """A matrix and its array; the last row is empty."""
    part = sparse.random_array((6, 5), density=0.3, rng=rng).toarray()
    part[5] = 0.0
    rows = np.array([1, 2, 4])
    columns = np.array([0, 3])
    block = rng.normal(size=(3, 2))
    whole = part.copy()
    whole[np.ix_(rows, columns)] += block
    return MixedMatrix(sparse.csr_array(part), rows, columns, block), whole


@pytest.mark.parametrize("rows", [[0, 1, 2, 3, 4, 5], [1, 2, 4], [0, 2, 5], []])
@pytest.mark.parametrize("columns", [[0, 1, 2, 3, 4], [0, 3], [1, 3, 4]])
def test_rows_and_columns_are_those_of_the_array(mixed, rows, columns):
    matrix, whole = mixed
    rows = np.array(rows, int)
    columns = np.array(columns)
    np.testing.assert_array_equal(matrix.dense(rows, columns), whole[np.ix_(rows, columns)])
    subset = matrix.subset(rows)
    assert subset.shape == (len(rows), 5)
    np.testing.assert_array_equal(subset.dense(np.arange(len(rows)), columns), whole[np.ix_(rows, columns)])


def test_used_rows_and_multiples(mixed):
    matrix, whole = mixed
    used = matrix.used()
    assert used[matrix.rows].all()
    assert not used[5]
    every = np.arange(6), np.arange(5)
    np.testing.assert_array_equal((2.0 * matrix).dense(*every), 2.0 * whole)


def test_a_sparse_matrix_has_an_empty_block(mixed):
    matrix, whole = mixed
    plain = MixedMatrix.of(sparse.csr_array(whole))
    assert plain.block.size == 0
    np.testing.assert_array_equal(plain.dense(np.arange(6), np.arange(5)), whole)
    assert MixedMatrix.of(matrix) is matrix
