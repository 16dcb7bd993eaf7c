"""The KKT system, against dense algebra."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import linalg, sparse

from priorsvm.schur.cones import SecondOrder
from priorsvm.schur.newton import Newton, WideCones, solve_triangles, triangulate
from priorsvm.schur.partition import NARROW, Partition


@pytest.mark.parametrize("by_qr", [False, True])
@pytest.mark.parametrize("seed", range(20))
def test_a_step_solves_the_whole_system(seed, by_qr, random_system):
    P, A, cones, rng = random_system(seed)
    e = cones.identity()
    cones.update_scaling(
        *(e * rng.uniform(0.5, 2) + 0.1 * rng.uniform(-1, 1, size=cones.size) for _ in range(2))
    )
    partition = Partition(sparse.csr_array(P), sparse.csr_array(A), cones)
    newton = Newton(partition, cones)
    newton.factor(by_qr)
    P = P[partition.columns][:, partition.columns]
    A = A[:, partition.columns]  # shared variables first
    r1 = rng.normal(size=len(P))
    r2 = rng.normal(size=len(A))
    x, z, Ax = newton.solve(r1, r2)
    W = np.column_stack([cones.Wt(cones.W(column)) for column in np.eye(cones.size)])
    whole = np.block([[P, A.T], [A, -W]])
    assert_allclose(np.r_[x, z], np.linalg.solve(whole, np.r_[r1, r2]), rtol=1e-8, atol=1e-9)
    assert_allclose(Ax, A @ x, atol=1e-10)
    assert_allclose(partition.times_A(x), A @ x, atol=1e-12)
    assert_allclose(partition.times_At(z), A.T @ z, atol=1e-12)
    assert_allclose(partition.times_P(x), P @ x, atol=1e-12)


@pytest.mark.parametrize("by_qr", [False, True])
@pytest.mark.parametrize(("r", "gram"), [(6, True), (50, False), (80, False)])
def test_wide_cones_are_two_rows_and_a_perpendicular_part(r, gram, by_qr, interior_points, wide_system):
    P, A, cones, rng = wide_system(0, r)
    s = np.empty(cones.size)
    z = np.empty(cones.size)
    for batch in cones.batches:
        for vector in (s, z):
            batch.part(vector)[...] = interior_points(batch, rng)
    cones.update_scaling(s, z)
    partition = Partition(sparse.csr_array(P), sparse.csr_array(A), cones)
    newton = Newton(partition, cones)
    [[wide]] = [part.wide for part in newton.parts if part.private]
    assert (wide.gram is not None) == gram
    assert (wide.A1 is None) == (r > NARROW)
    newton.factor(by_qr)
    P = P[partition.columns][:, partition.columns]
    A = A[:, partition.columns]
    r1 = rng.normal(size=len(P))
    r2 = rng.normal(size=len(A))
    x, solved_z, _ = newton.solve(r1, r2)
    W = np.column_stack([cones.WtW(column) for column in np.eye(cones.size)])
    known = np.linalg.solve(np.block([[P, A.T], [A, -W]]), np.r_[r1, r2])
    assert_allclose(np.r_[x, solved_z], known, rtol=1e-7, atol=1e-8 * np.abs(known).max())


def test_the_scaling_of_a_wide_cone_is_that_of_two_entries(interior_points):
    """In the plane of t and u the scaling is that of the cone (t, u'x); what is perpendicular is over η."""
    batch = SecondOrder(0, 3, 15)
    rng = np.random.default_rng(0)
    batch.update_scaling(interior_points(batch, rng), interior_points(batch, rng))
    wide = WideCones(batch, slice(None), np.arange(42).reshape(14, 3), None)
    small = wide.update()
    whole = batch.Wt_inverse_matrices(slice(None))
    for i in range(3):
        Q = linalg.block_diag(1.0, wide.u[:, i : i + 1])
        assert_allclose(Q.T @ whole[:, :, i] @ Q, small[:, :, i], atol=1e-12)
        rest = np.eye(15) - Q @ Q.T
        assert_allclose(rest @ whole[:, :, i], rest / batch.eta[i], atol=1e-12)
        assert_allclose(1 / batch.eta[i] ** 2, wide.weight[i], rtol=1e-14)


def test_small_matrices_are_reflected_and_solved_all_at_once():
    G = np.random.default_rng(0).normal(size=(5, 4, 6))
    turned = G.copy()
    triangulate(turned, 3)
    for i in range(6):
        assert_allclose(np.tril(turned[:, :3, i], -1), 0, atol=1e-14)
        assert_allclose(turned[:, :, i].T @ turned[:, :, i], G[:, :, i].T @ G[:, :, i], atol=1e-13)
    R = turned[:3, :3]
    b = G[:3, 3]
    for transposed in (False, True):
        solved = solve_triangles(R, b.copy(), transposed)
        for i in range(6):
            known = linalg.solve_triangular(R[:, :, i], b[:, i], trans=int(transposed))
            assert_allclose(solved[:, i], known, rtol=1e-10)
