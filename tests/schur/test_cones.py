"""Scaling, products and step lengths of cones, against dense algebra."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import linalg

from priorsvm.schur.cones import Nonnegative, SecondOrder, Semidefinite


@pytest.fixture(
    params=[Nonnegative(0, 7, 1), SecondOrder(0, 5, 4), SecondOrder(0, 3, 20), Semidefinite(0, 4, 3)],
    ids=lambda b: f"{type(b).__name__} of {b.k}",
)
def batch(request, interior_points):
    found = request.param
    rng = np.random.default_rng(0)
    found.s = interior_points(found, rng)
    found.z = interior_points(found, rng)
    found.update_scaling(found.s, found.z)
    return found


def test_the_scaled_point_is_the_same_from_both_sides(batch):
    assert_allclose(batch.W(batch.z), batch.lam, atol=1e-12)
    assert_allclose(batch.Wt_inverse(batch.s), batch.lam, atol=1e-12)
    assert_allclose(batch.Wt(batch.W(batch.z)), batch.s, atol=1e-12)


def test_maps_are_transposed_and_inverse_to_each_other(batch):
    rng = np.random.default_rng(1)
    a, b = rng.normal(size=(2, batch.k, batch.n))
    assert_allclose((batch.W(a) * b).sum(axis=0), (a * batch.Wt(b)).sum(axis=0), atol=1e-12)
    assert_allclose(batch.Wt_inverse(batch.Wt(a)), a, atol=1e-12)
    assert_allclose(batch.WtW(a), batch.Wt(batch.W(a)), atol=1e-12)
    assert_allclose(batch.WtW_inverse(batch.WtW(a)), a, atol=1e-12)
    few = np.array([0, 2])
    assert_allclose(
        np.einsum("ijn,jn->in", batch.Wt_inverse_matrices(few), a[:, few]),
        batch.Wt_inverse(a)[:, few],
        atol=1e-12,
    )


def test_the_scaling_of_a_second_order_cone_is_the_textbook_formula(interior_points):
    """W² = η²(2ww' − J) maps z to s, and is positive definite with W its square root."""
    batch = SecondOrder(0, 1, 6)
    rng = np.random.default_rng(3)
    s = interior_points(batch, rng)
    z = interior_points(batch, rng)
    batch.update_scaling(s, z)
    J = np.diag([1.0, *[-1.0] * 5])
    square = batch.eta[0] ** 2 * (2 * batch.w @ batch.w.T - J)
    assert_allclose(square @ z, s, atol=1e-12)
    assert batch.w[:, 0] @ J @ batch.w[:, 0] == pytest.approx(1.0, abs=1e-12)
    W = np.linalg.inv(batch.Wt_inverse_matrices(slice(None))[:, :, 0])
    assert_allclose(W, linalg.sqrtm(square), atol=1e-10)


def test_division_undoes_the_product(batch):
    b = np.random.default_rng(1).normal(size=(batch.k, batch.n))
    assert_allclose(batch.product(batch.lam, batch.divide(b)), b, atol=1e-12)
    assert_allclose(batch.product(batch.identity(), b), b, atol=1e-14)


def test_a_step_ends_where_the_cone_does(batch):
    d = np.random.default_rng(2).normal(size=(batch.k, batch.n))
    step = batch.step_length(d)
    assert batch.min_eigenvalue(batch.lam + 0.999999 * step * d).min() > 0
    assert batch.min_eigenvalue(batch.lam + 1.000001 * step * d).min() < 0
    assert batch.step_length(batch.lam) == np.inf
    assert batch.min_eigenvalue_of_lam() == pytest.approx(batch.min_eigenvalue(batch.lam).min())
