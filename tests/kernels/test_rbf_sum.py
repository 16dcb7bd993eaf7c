"""Sums of Gaussian functions and slopes: the kernel's own derivatives are the reference."""

import numpy as np
import pytest

from priorsvm import RBF
from priorsvm.kernels.standard import FAR, NEAR

RNG = np.random.default_rng(0)
B, Z = RNG.normal(size=(9, 3)), RNG.normal(size=(6, 3))
W = RNG.normal(size=9)
U, V = np.array([0.0, 2.0, 0.0]), np.array([1.0, -0.5, 0.3])
KERNEL = RBF(0.4)


def reference(Z, u, v):
    """Return the sum by matrices of values and slopes."""
    of_u = None if u is None else np.tile(u, (len(B), 1))
    of_v = None if v is None else np.tile(v, (len(Z), 1))
    if u is None:
        return (KERNEL(Z, B) if v is None else KERNEL.slope(Z, of_v, B)) @ W
    return W @ KERNEL.slope(B, of_u, Z) if v is None else KERNEL.slope_slope(Z, of_v, B, of_u) @ W


@pytest.mark.parametrize("u", [None, U], ids=["values", "slopes"])
@pytest.mark.parametrize("v", [None, U, V], ids=["value", "same", "other"])
def test_sums_and_their_gradients(u, v):
    values, gradients = KERNEL._sum(B, W, u, v, float)(Z)
    np.testing.assert_allclose(values, reference(Z, u, v), rtol=1e-12, atol=1e-13)
    h = 1e-6
    for j, e in enumerate(np.eye(3)):
        central = (reference(Z + h * e, u, v) - reference(Z - h * e, u, v)) / (2 * h)
        np.testing.assert_allclose(gradients[:, j], central, rtol=1e-6, atol=1e-8)


def test_single_precision_has_four_decimals_and_needs_near_centres():
    single = KERNEL._sum(B, W, U, V, np.float32)
    assert single.right.dtype == np.float32
    for found, exact in zip(single(Z), KERNEL._sum(B, W, U, V, float)(Z), strict=True):
        assert 0 < np.abs(found - exact).max() < 1e-4
    wide = np.sqrt(2 * NEAR / 0.4) * B / np.abs(B).max()
    assert KERNEL._sum(wide, W, None, None, np.float32).right.dtype == float
    assert KERNEL._sum(np.sqrt(10 * FAR) * B, W, None, None, float) is None


def test_rows_far_from_the_origin_keep_their_digits():
    far = 1e6
    np.testing.assert_allclose(
        KERNEL._sum(B + far, W, None, None, float)(Z + far)[0], reference(Z, None, None), atol=1e-8
    )
