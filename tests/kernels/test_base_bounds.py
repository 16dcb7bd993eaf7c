"""Bounds on derivatives and displacements, against norms in feature space that are computed in many digits.

Derivatives are differences of 250 digits: the formulas of the kernels are not used, and nothing cancels.
"""

from __future__ import annotations

from decimal import Decimal, localcontext

import numpy as np
import pytest

from priorsvm.errors import MissingCapability
from priorsvm.kernels import (
    RBF,
    FromCallable,
    Kernel,
    Linear,
    NegativeDistance,
    Pairwise,
    Polynomial,
    Scaled,
    Sum,
)

STEP = Decimal("1e-25")
RADII = [1e-9, 1e-3, 0.2, 1.0, 30.0]

POLYNOMIALS = [
    Polynomial(degree=2, gamma=0.7),
    Polynomial(degree=3, gamma=0.5, coef0=1.0),
    Polynomial(degree=5, gamma=0.4, coef0=0.3),
]
KERNELS = [
    Linear(),
    RBF(gamma=0.3),
    RBF(gamma=7.0),
    Polynomial(degree=1, gamma=0.7, coef0=0.5),
    Polynomial(degree=3, gamma=0.5),
    *POLYNOMIALS,
    RBF(gamma=0.3) + Linear(),
    RBF(gamma=0.3) + Linear() + Polynomial(degree=3.0, gamma=0.5, coef0=1.0),
    2.5 * RBF(gamma=0.3),
    0.01 * Polynomial(degree=2, gamma=0.7, coef0=1.0),
    0 * RBF(gamma=0.3),
    0.5 * (3 * RBF(gamma=2.0) + Polynomial(degree=4, gamma=0.2, coef0=1.0)),
]
# Kernels whose displacement bound is attained on the sphere.
EXACT = [
    Linear(),
    RBF(gamma=0.3),
    RBF(gamma=7.0),
    Polynomial(degree=1, gamma=0.7, coef0=0.5),
    2.5 * RBF(gamma=0.3),
    RBF(gamma=0.3) + Linear(),
    0.5 * (3 * RBF(gamma=2.0) + RBF(gamma=0.1)) + 4 * Linear(),
]

every_kernel = pytest.mark.parametrize("kernel", KERNELS, ids=repr)


def exact(kernel, x, z):
    """Return the kernel in the precision of the decimal context."""
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


def differentiated(combination, direction):
    """Return the central difference of a combination of kernel functions, as pairs of weight and point."""
    return [
        (sign * weight / (2 * STEP), [p + sign * STEP * d for p, d in zip(point, direction, strict=True)])
        for weight, point in combination
        for sign in (1, -1)
    ]


def derivative_length(kernel, x, directions):
    """Return the norm of the derivative of k_x along all directions in turn."""
    with localcontext() as context:
        context.prec = 250
        combination = [(Decimal(1), [Decimal(float(a)) for a in x])]
        for direction in directions:
            combination = differentiated(combination, [Decimal(float(a)) for a in direction])
        squared = sum(a * b * exact(kernel, p, q) for a, p in combination for b, q in combination)
        return float(max(squared, Decimal(0)).sqrt())


def units(n, seed):
    V = np.random.default_rng(seed).normal(size=(n, 3))
    return V / np.linalg.norm(V, axis=1, keepdims=True)


def distance(kernel, m, v):
    """Return the norm of k_{m + v} - k_m in feature space."""
    with localcontext() as context:
        context.prec = 60
        m = [Decimal(float(a)) for a in m]
        x = [a + Decimal(float(b)) for a, b in zip(m, v, strict=True)]
        squared = exact(kernel, x, x) - 2 * exact(kernel, x, m) + exact(kernel, m, m)
        return float(max(squared, Decimal(0)).sqrt())


def in_ball(m, n, seed):
    """Return vectors of length at most 1, two of them away from the origin and towards it."""
    rng = np.random.default_rng(seed)
    V = rng.normal(size=(n, len(m)))
    V[:2] = m, -m
    V /= np.linalg.norm(V, axis=1, keepdims=True)
    V[n // 2 :] *= rng.uniform(size=(n - n // 2, 1))
    return V


@every_kernel
def test_the_kernel_in_many_digits_is_the_kernel(kernel):
    A, B = np.random.default_rng(0).normal(size=(2, 3, 3))
    expected = [[float(exact(kernel, list(map(Decimal, a)), list(map(Decimal, b)))) for b in B] for a in A]
    np.testing.assert_allclose(kernel(A, B), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("order", [1, 2, 3])
@every_kernel
def test_no_derivative_exceeds_its_bound(kernel, order):
    for seed in range(3):
        x = np.random.default_rng(seed).normal(size=3)
        [bound] = kernel.derivative_bound(order, [np.linalg.norm(x)])
        outward, mixed, pure = x / np.linalg.norm(x), units(order, seed), units(1, seed + 9)
        for directions in ([outward] * order, mixed, [pure[0]] * order):
            assert derivative_length(kernel, x, directions) <= bound * (1 + 1e-12) + 1e-20


@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.parametrize(
    "kernel", [RBF(0.3), RBF(7.0), 2.0 * RBF(1.0), Polynomial(3, 0.5, 1.0), Polynomial(2, 0.7)], ids=repr
)
def test_some_derivative_attains_its_bound(kernel, order):
    x = np.array([0.8, -0.3, 0.5])
    [bound] = kernel.derivative_bound(order, [np.linalg.norm(x)])
    along = [x / np.linalg.norm(x)] * order  # the worst direction points away from the origin
    assert derivative_length(kernel, x, along) == pytest.approx(bound, rel=1e-9, abs=1e-20)


def test_derivative_bounds_grow_with_the_reach_and_scale_as_the_kernel_does():
    reach = np.linspace(0.0, 3.0, 7)
    for k in (RBF(0.4), Polynomial(3, 0.5, 1.0)):
        bound = k.derivative_bound(2, reach)
        assert (np.diff(bound) >= 0).all()
        np.testing.assert_allclose((4 * k).derivative_bound(2, reach), 2 * bound, rtol=1e-14)
        np.testing.assert_allclose((k + k).derivative_bound(2, reach), np.sqrt(2) * bound, rtol=1e-14)


@pytest.mark.parametrize("radius", RADII)
@every_kernel
def test_no_displacement_exceeds_its_bound(kernel, radius):
    for seed in range(2):
        m = np.random.default_rng(seed).normal(size=3)
        [bound] = kernel.displacement_bound([radius], [np.linalg.norm(m)])
        longest = max(distance(kernel, m, radius * v) for v in in_ball(m, 40, seed))
        assert longest <= bound * (1 + 1e-14)


@pytest.mark.parametrize("radius", RADII)
@pytest.mark.parametrize("kernel", EXACT, ids=repr)
def test_displacements_on_the_sphere_attain_the_bound(kernel, radius):
    m = np.array([0.8, -0.3, 0.5])
    [bound] = kernel.displacement_bound([radius], [np.linalg.norm(m)])
    assert bound == pytest.approx(distance(kernel, m, [0.0, radius, 0.0]), rel=1e-14)


def test_the_bound_of_rbf_is_a_chord_of_the_unit_sphere():
    radius = np.array([0.0, 1e-12, 0.1, 1.0, 10.0])
    chord = np.sqrt(2 - 2 * np.exp(-0.7 * radius**2))
    found = RBF(gamma=0.7).displacement_bound(radius, np.zeros(5))
    np.testing.assert_allclose(found, chord, rtol=1e-13, atol=2e-12)
    assert found[1] == pytest.approx(np.sqrt(2 * 0.7) * 1e-12, rel=1e-12)
    assert found[-1] == np.sqrt(2)


@pytest.mark.parametrize("kernel", POLYNOMIALS, ids=repr)
def test_small_displacements_away_from_the_origin_nearly_attain_the_bound_of_polynomials(kernel):
    m = np.array([0.8, -0.3, 0.5])
    size = np.linalg.norm(m)
    for radius, closeness in ((1e-2, 0.96), (1e-4, 0.9995)):
        [bound] = kernel.displacement_bound([radius], [size])
        assert closeness * bound < distance(kernel, m, m * radius / size) <= bound


@every_kernel
def test_the_bound_is_zero_at_radius_zero_and_grows_with_radius_and_reach(kernel):
    radius = np.linspace(0.0, 3.0, 13)
    for reach in (0.0, 2.0):
        bound = kernel.displacement_bound(radius, np.full(13, reach))
        assert bound.shape == (13,)
        assert bound[0] == 0
        assert (np.diff(bound) >= 0).all()
    near, far = (kernel.displacement_bound(radius, np.full(13, reach)) for reach in (0.5, 2.0))
    assert (near <= far).all()


def test_displacement_bounds_scale_as_the_kernel_does():
    radius, reach = np.linspace(0.1, 2.0, 5), np.linspace(3.0, 0.0, 5)
    for k in (RBF(0.4), Polynomial(3, 0.5, 1.0)):
        bound = k.displacement_bound(radius, reach)
        np.testing.assert_allclose((4 * k).displacement_bound(radius, reach), 2 * bound, rtol=1e-14)
        np.testing.assert_allclose((k + k).displacement_bound(radius, reach), np.sqrt(2) * bound, rtol=1e-14)


def test_a_function_changes_by_at_most_its_norm_times_the_bound():
    rng = np.random.default_rng(0)
    kernel = RBF(gamma=0.5) + Polynomial(degree=2, gamma=0.3, coef0=1.0)
    Z, weights = rng.normal(size=(20, 3)), rng.normal(size=20)
    size = np.sqrt(weights @ kernel(Z) @ weights)
    for m in rng.normal(size=(5, 3)):
        [bound] = kernel.displacement_bound([0.4], [np.linalg.norm(m)])
        values = kernel(m + 0.4 * in_ball(m, 500, 1), Z) @ weights
        assert np.abs(values - kernel(m[None], Z) @ weights).max() <= size * bound


class Half(Kernel):
    """Half of the linear kernel, with bounds that are easy to follow."""

    definiteness = "psd"

    def _matrix(self, A, B):
        return A @ B.T / 2

    def _derivative_bound(self, order, reach):
        return reach + 1.0


def test_a_kernel_of_your_own_may_have_bounds():
    total = (Half() + 4 * RBF(0.3)).derivative_bound(2, [1.0])
    np.testing.assert_allclose(total, np.hypot(2.0, 2 * RBF(0.3).derivative_bound(2, [1.0])), rtol=1e-14)
    np.testing.assert_allclose(Half().displacement_bound([0.5, 2.0], [1.0, 0.0]), [0.5 * 2.5, 2.0 * 3.0])


class Bare(Kernel):
    """A kernel that defines only its matrix."""

    def _matrix(self, A, B):
        return A @ B.T


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (RBF(1.0) * RBF(1.0), r"RBF\(gamma=1\.0\) \* RBF\(gamma=1\.0\) has no derivative_bound\. Use Linear"),
        (RBF(1.0) + Pairwise("cosine"), r"kernel Pairwise\(metric='cosine'\) has no derivative_bound"),
        (RBF(0.3) + NegativeDistance(), r"kernel NegativeDistance\(\) has no derivative_bound"),
        (-1 * RBF(1.0), r"-1\.0 \* RBF\(gamma=1\.0\) has no derivative_bound.*positive multiple"),
        (Polynomial(2, 1.0, -1.0), r"has no derivative_bound.*whole degree with coef0 >= 0"),
        (Polynomial(degree=2.5, gamma=1.0), r"has no derivative_bound.*whole degree with coef0 >= 0"),
        (FromCallable(lambda A, B: A @ B.T), r"has no derivative_bound\. Use Linear\(\), RBF\(\)"),
        (Bare(), r"Bare\(\) has no derivative_bound.*that defines _derivative_bound"),
    ],
    ids=repr,
)
def test_missing_bounds_name_the_kernels_that_have_them(kernel, message):
    assert not kernel.has_derivative_bound
    with pytest.raises(MissingCapability, match=message):
        kernel.derivative_bound(2, [1.0])
    with pytest.raises(MissingCapability, match=message):
        kernel.displacement_bound([1.0], [1.0])
