"""How far k_x moves with x, against lengths in feature space that are computed in many digits."""

from __future__ import annotations

from decimal import Decimal, localcontext

import numpy as np
import pytest

from priorsvm.errors import MissingCapability
from priorsvm.kernels import RBF, FromCallable, Kernel, Linear, NegativeDistance, Polynomial, Scaled, Sum

KERNELS = [
    Linear(),
    RBF(gamma=0.3),
    RBF(gamma=7.0),
    Polynomial(degree=1, gamma=0.7, coef0=0.5),
    Polynomial(degree=2, gamma=0.7),
    Polynomial(degree=3, gamma=0.5, coef0=1.0),
    Polynomial(degree=5, gamma=0.4, coef0=0.3),
    RBF(gamma=0.3) + Linear(),
    RBF(gamma=0.3) + Linear() + Polynomial(degree=3, gamma=0.5, coef0=1.0),
    2.5 * RBF(gamma=0.3),
    0.01 * Polynomial(degree=2, gamma=0.7, coef0=1.0),
    0 * RBF(gamma=0.3),
    0.5 * (3 * RBF(gamma=2.0) + Polynomial(degree=4, gamma=0.2, coef0=1.0)),
]
EXACT = [
    Linear(),
    RBF(gamma=0.3),
    RBF(gamma=7.0),
    Polynomial(degree=1, gamma=0.7, coef0=0.5),
    2.5 * RBF(gamma=0.3),
    RBF(gamma=0.3) + Linear(),
    0.5 * (3 * RBF(gamma=2.0) + RBF(gamma=0.1)) + 4 * Linear(),
]
RADII = [1e-9, 1e-3, 0.2, 1.0, 30.0]

every_kernel = pytest.mark.parametrize("kernel", KERNELS, ids=repr)


def exact(kernel, x, z):
    """The kernel in as many digits as the context has."""
    if isinstance(kernel, Sum):
        return sum(exact(part, x, z) for part in kernel.kernels)
    if isinstance(kernel, Scaled):
        return Decimal(kernel.factor) * exact(kernel.kernel, x, z)
    if isinstance(kernel, RBF):
        return (-Decimal(kernel.gamma) * sum((a - b) ** 2 for a, b in zip(x, z, strict=True))).exp()
    inner = sum(a * b for a, b in zip(x, z, strict=True))
    if isinstance(kernel, Linear):
        return inner
    base = Decimal(kernel.gamma) * inner + Decimal(kernel.coef0)
    return base ** int(kernel.degree) if base else Decimal(0)


def distance(kernel, m, v):
    """The length of k_{m + v} - k_m in feature space."""
    with localcontext() as context:
        context.prec = 60
        m = [Decimal(float(a)) for a in m]
        x = [a + Decimal(float(b)) for a, b in zip(m, v, strict=True)]
        squared = exact(kernel, x, x) - 2 * exact(kernel, x, m) + exact(kernel, m, m)
        return float(max(squared, Decimal(0)).sqrt())


def in_ball(m, n, seed):
    """Directions of length 1 and below, away from the origin and towards it among them."""
    rng = np.random.default_rng(seed)
    V = rng.normal(size=(n, len(m)))
    V[:2] = m, -m
    V /= np.linalg.norm(V, axis=1, keepdims=True)
    V[n // 2 :] *= rng.uniform(size=(n - n // 2, 1))
    return V


@pytest.mark.parametrize("radius", RADII)
@every_kernel
def test_nothing_in_the_ball_is_farther(kernel, radius):
    for seed in range(2):
        m = np.random.default_rng(seed).normal(size=3)
        [bound] = kernel.displacement_bound([radius], [np.linalg.norm(m)])
        longest = max(distance(kernel, m, radius * v) for v in in_ball(m, 40, seed))
        assert longest <= bound * (1 + 1e-14)


@pytest.mark.parametrize("radius", RADII)
@pytest.mark.parametrize("kernel", EXACT, ids=repr)
def test_the_sphere_is_as_far_as_that(kernel, radius):
    m = np.array([0.8, -0.3, 0.5])
    [bound] = kernel.displacement_bound([radius], [np.linalg.norm(m)])
    assert bound == pytest.approx(distance(kernel, m, [0.0, radius, 0.0]), rel=1e-14)


def test_that_of_rbf_is_the_chord_of_the_unit_sphere():
    radius = np.array([0.0, 1e-12, 0.1, 1.0, 10.0])
    chord = np.sqrt(2 - 2 * np.exp(-0.7 * radius**2))
    found = RBF(gamma=0.7).displacement_bound(radius, np.zeros(5))
    np.testing.assert_allclose(found, chord, rtol=1e-13, atol=2e-12)
    assert found[1] == pytest.approx(np.sqrt(2 * 0.7) * 1e-12, rel=1e-12)
    assert found[-1] == np.sqrt(2)


@pytest.mark.parametrize("kernel", KERNELS[4:7], ids=repr)
def test_small_moves_away_from_the_origin_come_close_to_that_of_polynomials(kernel):
    m = np.array([0.8, -0.3, 0.5])
    size = np.linalg.norm(m)
    for radius, closeness in ((1e-2, 0.96), (1e-4, 0.9995)):
        [bound] = kernel.displacement_bound([radius], [size])
        assert closeness * bound < distance(kernel, m, m * radius / size) <= bound


@every_kernel
def test_it_is_nothing_for_no_move_and_grows_with_radius_and_reach(kernel):
    radius = np.linspace(0.0, 3.0, 13)
    for reach in (0.0, 2.0):
        bound = kernel.displacement_bound(radius, np.full(13, reach))
        assert bound.shape == (13,)
        assert bound[0] == 0
        assert (np.diff(bound) >= 0).all()
    near, far = (kernel.displacement_bound(radius, np.full(13, reach)) for reach in (0.5, 2.0))
    assert (near <= far).all()


def test_multiples_and_sums_are_those_of_feature_spaces():
    radius, reach = np.linspace(0.1, 2.0, 5), np.linspace(3.0, 0.0, 5)
    for k in (RBF(0.4), Polynomial(3, 0.5, 1.0)):
        bound = k.displacement_bound(radius, reach)
        np.testing.assert_allclose((4 * k).displacement_bound(radius, reach), 2 * bound, rtol=1e-14)
        np.testing.assert_allclose((k + k).displacement_bound(radius, reach), np.sqrt(2) * bound, rtol=1e-14)


def test_a_function_moves_no_more_than_its_norm_times_that():
    rng = np.random.default_rng(0)
    kernel = RBF(gamma=0.5) + Polynomial(degree=2, gamma=0.3, coef0=1.0)
    Z, weights = rng.normal(size=(20, 3)), rng.normal(size=20)
    size = np.sqrt(weights @ kernel(Z) @ weights)
    for m in rng.normal(size=(5, 3)):
        [bound] = kernel.displacement_bound([0.4], [np.linalg.norm(m)])
        values = kernel(m + 0.4 * in_ball(m, 500, 1), Z) @ weights
        assert np.abs(values - kernel(m[None], Z) @ weights).max() <= size * bound


def test_a_kernel_of_ones_own_has_that_of_its_slope():
    class Half(Kernel):
        definiteness = "psd"

        def _matrix(self, A, B):
            return A @ B.T / 2

        def _derivative_bound(self, order, reach):
            return reach + 1.0

    np.testing.assert_allclose(Half().displacement_bound([0.5, 2.0], [1.0, 0.0]), [0.5 * 2.5, 2.0 * 3.0])


@pytest.mark.parametrize(
    "kernel",
    [
        NegativeDistance(),
        FromCallable(lambda A, B: A @ B.T),
        -1 * RBF(0.3),
        RBF(0.3) * Linear(),
        RBF(0.3) + NegativeDistance(),
        Polynomial(degree=2, gamma=1.0, coef0=-1.0),
        Polynomial(degree=2.5, gamma=1.0),
    ],
    ids=repr,
)
def test_kernels_without_one_say_so(kernel):
    with pytest.raises(MissingCapability, match=r"has no derivative_bound. Use Linear\(\), RBF\(\)"):
        kernel.displacement_bound([1.0], [1.0])
