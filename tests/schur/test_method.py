"""The interior-point method on problems that have cones only."""

import numpy as np
from numpy.testing import assert_allclose
from scipy import sparse

from priorsvm.schur.cones import cones_from_dims
from priorsvm.schur.method import minimise
from priorsvm.schur.mixed import MixedMatrix


def test_a_dense_block_beside_a_sparse_matrix_is_the_same_problem():
    """Margins of a linear model, written sparse and as a block."""
    rng = np.random.default_rng(0)
    n = 60
    d = 4
    X = rng.normal(size=(n, d))
    y = np.where(np.arange(n) % 2, 1.0, -1.0)
    X[:, 0] += y
    block = -y[:, None] * X
    own = np.vstack([-np.eye(n), -np.eye(n)])
    none = np.zeros((n, d))
    q = np.r_[np.zeros(d), np.ones(n)]
    b = np.r_[-np.ones(n), np.zeros(n)]
    P = np.diag(np.r_[np.ones(d), np.zeros(n)])
    columns = np.arange(d)
    mixed = (
        MixedMatrix(sparse.csr_array(np.hstack([np.zeros((2 * n, d)), own])), np.arange(n), columns, block),
        MixedMatrix(sparse.csr_array(P * (np.arange(n + d) >= d)), columns, columns, np.eye(d)),
    )
    A = sparse.csr_array(np.hstack([np.vstack([block, none]), own]))
    points = [
        minimise(quadratic, q, rows, b, cones_from_dims(2 * n, [], [])[0], 1e-9, 50)
        for rows, quadratic in ((A, sparse.csr_array(P)), mixed)
    ]
    assert [point.status for point in points] == ["optimal", "optimal"]
    assert_allclose(points[0].x, points[1].x, atol=1e-8)
    assert_allclose(points[0].z, points[1].z, atol=1e-6)


def test_cones_without_variables_have_no_dual_variable():
    """min x subject to x ≥ 1 and 0 ≤ 2; 0 ≤ -2 is infeasible."""
    A = sparse.csr_array([[-1.0], [0.0]])
    cones, _ = cones_from_dims(2, [], [])
    none = sparse.csr_array((1, 1))
    result = minimise(none, np.ones(1), A, np.array([-1.0, 2.0]), cones, 1e-9, 50)
    assert result.status == "optimal"
    assert_allclose(result.x, [1.0], atol=1e-8)
    assert_allclose(result.z, [1.0, 0.0], atol=1e-8)
    result = minimise(none, np.ones(1), A, np.array([-1.0, -2.0]), cones, 1e-9, 50)
    assert result.status == "infeasible"
    assert_allclose(result.z, [0.0, 1.0])
