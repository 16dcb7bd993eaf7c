"""The solved decision function: values, slopes, curves and norms."""

import pickle

import numpy as np
import pytest
from scipy.sparse import csr_array

from priorsvm import RBF
from priorsvm.errors import InvalidInput
from priorsvm.function.fitted import FittedKernel, Slopes
from priorsvm.function.maps import FactorMap, KernelMap
from priorsvm.function.scale import Scale
from tests.function.functions import every_model, every_scale, made


def test_fitted_values_come_in_pieces_of_any_size(centres):
    f = FittedKernel(0.5, RBF(0.5), centres, np.linspace(-1.0, 1.0, 60))
    whole = RBF(0.5)(centres) @ f.weights + 0.5
    assert f.value(centres[:0]).shape == (0,)
    many = np.tile(centres, (2000, 1))
    np.testing.assert_allclose(f.value(many).reshape(2000, 60), np.tile(whole, (2000, 1)), atol=1e-12)


def test_unused_centres_are_dropped(centres):
    weights = np.where(np.arange(60) < 5, 1.0, 0.0)
    fitted = KernelMap(RBF(0.5), centres, None).fitted(weights, 0.5)
    assert fitted.centres.shape == (5, 4)
    np.testing.assert_allclose(fitted.value(centres), RBF(0.5)(centres, centres[:5]).sum(axis=1) + 0.5)


@every_scale
@every_model
def test_curve_is_the_second_derivative(kind, scale):
    _, solve, X, width = made(kind, scale)
    Z, V = X[:6] + 0.1 * width, np.random.default_rng(4).normal(size=(6, 3)) * width
    U = V[::-1].copy()
    fitted = solve().fitted()
    h = 1e-5
    difference = (fitted.slope(Z + h * V, U) - fitted.slope(Z - h * V, U)) / (2 * h)
    np.testing.assert_allclose(fitted.curve(Z, U, V), difference, atol=1e-5 * (1 + np.abs(difference).max()))
    assert fitted.curve(Z[:0], U[:0], V[:0]).shape == (0,)


def test_the_norm_of_weights_that_cancel_is_rounded_up():
    """Two large weights on all but equal centres: the product w'Kw is rounding noise."""
    gap, weight = 1e-9, 1e6
    f = KernelMap(RBF(0.5), np.array([[0.0], [gap]]), None).fitted(np.array([weight, -weight]), 0.0)
    exact = weight * np.sqrt(-2 * np.expm1(-0.5 * gap**2))
    assert exact <= f.length <= weight * 1e-6
    ordinary = KernelMap(RBF(0.5), np.array([[0.0], [1.0]]), None).fitted(np.array([1.0, 2.0]), 0.0)
    assert ordinary.norm("l2") <= ordinary.length <= ordinary.norm("l2") * (1 + 1e-12)


def test_values_of_f_with_slopes_come_in_pieces(atoms, new, monkeypatch):
    f = FactorMap(RBF(0.2), atoms, None).fitted(np.random.default_rng(0).normal(size=27), 0.0)
    by_hand = RBF(0.2)(new, f.centres) @ f.weights
    by_hand += RBF(0.2).slope(f.slopes.points, f.slopes.directions, new).T @ f.slopes.weights
    np.testing.assert_allclose(f.value(new), by_hand, atol=1e-12)
    many = np.tile(new, (2**22 // 12 // len(new) + 1, 1))
    np.testing.assert_allclose(f.value(many)[-len(new) :], by_hand, atol=1e-12)
    assert f.value(np.empty((0, 4))).shape == f.curve(*[np.empty((0, 4))] * 3).shape == (0,)


def test_sparse_points_are_refused_by_a_kernel_function():
    X = np.arange(12.0).reshape(6, 2)
    f = FittedKernel(0.0, RBF(0.1), X, np.ones(6))
    Z = csr_array(X)
    for use in (lambda: f.value(Z), lambda: f.slope(Z, X), lambda: f.slope(X, Z)):
        with pytest.raises(InvalidInput, match=r"sparse points.*Use Z\.toarray\(\)"):
            use()


@pytest.mark.parametrize("scaled", [False, True])
@pytest.mark.parametrize("kind", ["values", "slopes"])
def test_gradients_are_the_derivatives_in_every_column(kind, scaled):
    rng = np.random.default_rng(0)
    centres, slopes, Z, V = (rng.normal(size=(n, 3)) for n in (9, 4, 6, 6))
    scale = Scale(np.array([1.0, -2.0, 0.5]), np.array([2.0, 0.5, 1.5])) if scaled else None
    expansion = Slopes(slopes, rng.normal(size=(4, 3)), rng.normal(size=4))
    h = 1e-6
    for part in (None, expansion):
        f = FittedKernel(0.3, RBF(0.4), centres, rng.normal(size=9), scale, part)
        if kind == "values":
            found, gradients = f.values_and_gradients(Z)
            of = f.value
        else:
            found, gradients = f.slopes_and_gradients(Z, V)
            of = lambda points, f=f: f.slope(points, V)  # noqa: E731
        np.testing.assert_allclose(found, of(Z), rtol=1e-11, atol=1e-12)
        for j, unit in enumerate(np.eye(3)):
            central = (of(Z + h * unit) - of(Z - h * unit)) / (2 * h)
            np.testing.assert_allclose(gradients[:, j], central, rtol=1e-5, atol=1e-5)


def test_sums_of_the_kernel_are_not_part_of_the_state():
    X = np.arange(12.0).reshape(6, 2)
    f = FittedKernel(0.0, RBF(0.1), X, np.ones(6))
    expected = f.values_and_gradients(X)
    assert "_known_sums" in vars(f)
    loaded = pickle.loads(pickle.dumps(f))
    assert "_known_sums" not in vars(loaded)
    for found, value in zip(loaded.values_and_gradients(X), expected, strict=True):
        np.testing.assert_array_equal(found, value)
