"""Interpolation of images against scipy.ndimage."""

import numpy as np
from scipy import ndimage

from priorsvm.transforms.spline import interpolate, interpolate_adjoint

SHAPE = (9, 7)
FILL = -1.0


def test_interpolation_equals_scipy_at_any_positions():
    rng = np.random.default_rng(2)
    X = rng.uniform(-1.0, 1.0, size=(5, 63))
    positions = rng.uniform(-4.0, 12.0, size=(2, *SHAPE))
    expected = [
        ndimage.map_coordinates(x.reshape(SHAPE), positions, order=3, mode="grid-constant", cval=FILL).ravel()
        for x in X
    ]
    np.testing.assert_allclose(interpolate(X, positions, FILL), expected, rtol=0, atol=1e-12)


def test_the_adjoint_satisfies_its_definition():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(4, 63))
    W = rng.normal(size=(3, 63))
    positions = rng.uniform(-4.0, 12.0, size=(3, 2, *SHAPE))
    adjoint = interpolate_adjoint(W, positions)
    for w, v, places in zip(W, adjoint, positions, strict=True):
        np.testing.assert_allclose(interpolate(X, places, 0.0) @ w, X @ v, rtol=0, atol=1e-12)
