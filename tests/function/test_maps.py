"""Feature maps: linear, kernel, factor and values at pivots."""

import numpy as np
import pytest

from priorsvm import RBF
from priorsvm.function.maps import FactorMap, ValueMap
from priorsvm.function.scale import Scale
from tests.function.functions import KERNELS, decision


@pytest.mark.parametrize("scale", [None, "standard"])
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_features_of_the_centres_reproduce_the_kernel_matrix(centres, kernel, scale):
    features = FactorMap(kernel, centres, Scale.of(scale, centres))
    inner = centres if scale is None else (centres - centres.mean(axis=0)) / centres.std(axis=0)
    K, rows = kernel(inner), features.rows(centres)
    np.testing.assert_allclose(rows @ rows.T, K, atol=1e-10 * np.abs(K).max())
    assert rows.shape == (60, features.size)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_features_of_new_points_have_the_right_products_with_centres(centres, new, kernel):
    features = FactorMap(kernel, centres, None)
    products = features.rows(new) @ features.rows(centres).T
    K = kernel(new, centres)
    if features.size < 60:  # the kernel's own space is finite, and the pivots span it
        np.testing.assert_allclose(products, K, atol=1e-7 * np.abs(K).max())
    else:
        np.testing.assert_allclose(products, K, atol=1e-5 * np.abs(K).max())


def test_minus_zero_is_zero(centres):
    plain = centres.copy()
    plain[0, 0] = 0.0
    signed = plain.copy()
    signed[0, 0] = -0.0
    features = FactorMap(RBF(0.5), plain, None)
    np.testing.assert_allclose(features.rows(signed), features.rows(plain), atol=1e-6)
    f, _ = decision(features, "l2")
    f(plain)
    f(signed)
    assert len(f.evaluations) == 1


@pytest.mark.parametrize("scale", [None, Scale(np.array([1.0, 0.0, -1.0]), np.array([2.0, 0.5, 1.0]))])
def test_values_at_the_pivots_give_the_f_of_the_factor(rng, scale):
    """Another basis of the same span: f, its slopes and its norm do not depend on it."""
    centres, Z, V = rng.normal(size=(25, 3)), rng.normal(size=(7, 3)), rng.normal(size=(7, 3))
    factor = FactorMap(RBF(0.8), centres, scale)
    values = ValueMap(factor)
    assert ValueMap.suits(factor)
    c = rng.normal(size=values.size)
    same = np.linalg.solve(factor.factor, c)  # coordinates of the same g in the other basis
    for points in (centres, Z):
        np.testing.assert_allclose(values.rows(points) @ c, factor.rows(points) @ same, atol=1e-9)
    np.testing.assert_allclose(values.slopes(Z, V) @ c, factor.slopes(Z, V) @ same, atol=1e-9)
    assert c @ values.energy_matrix @ c == pytest.approx(same @ same)
    f, g = values.fitted(c, 0.3), factor.fitted(same, 0.3)
    np.testing.assert_allclose(f.value(Z), g.value(Z), atol=1e-9)
    assert f.norm("l2") == pytest.approx(g.norm("l2"))
    np.testing.assert_array_equal(values.rows(factor.centres).toarray(), np.eye(values.size))


def test_ill_conditioned_kernels_keep_the_factor():
    X = np.random.default_rng(0).normal(size=(40, 2))
    assert not ValueMap.suits(FactorMap(RBF(1e-3), X, None))


@pytest.mark.parametrize("scale", [None, "standard"])
@pytest.mark.parametrize("rank", [None, 12])
def test_slopes_as_centres_span_their_atoms(atoms, new, scale, rank):
    units = Scale.of(scale, atoms.points)
    features = FactorMap(RBF(0.2), atoms, units, rank)
    assert features.size == (27 if rank is None else rank)
    rng = np.random.default_rng(0)
    c, V = rng.normal(size=features.size), rng.normal(size=new.shape)
    f = features.fitted(c, 0.7)
    np.testing.assert_allclose(f.value(new), features.rows(new) @ c + 0.7, atol=1e-9)
    np.testing.assert_allclose(f.slope(new, V), features.slopes(new, V) @ c, atol=1e-9)
    assert f.norm("l2") == pytest.approx(np.linalg.norm(c), rel=1e-9)
    assert f.norm("l2") <= f.length <= f.norm("l2") * (1 + 1e-5)
    h = 1e-5
    np.testing.assert_allclose(
        f.slope(new, V), (f.value(new + h * V) - f.value(new - h * V)) / (2 * h), atol=1e-6
    )
    U = rng.normal(size=new.shape)
    central = (f.slope(new + h * U, V) - f.slope(new - h * U, V)) / (2 * h)
    np.testing.assert_allclose(f.curve(new, U, V), central, atol=1e-6)
    own = atoms[atoms.slopes]
    known = features.slopes(own.points, own.directions)
    if rank is None:
        joint = np.vstack([features.rows(atoms.points[:15]), known])
        K = atoms.scaled(units).products(RBF(0.2), atoms.scaled(units))
        np.testing.assert_allclose(joint @ joint.T, K, atol=1e-10 * np.abs(K).max())
