"""The bounds on derivatives, against lengths in feature space that are computed in 250 digits.

The derivatives are differences there: nothing of the kernels' own formulas is used, and nothing cancels.
"""

from __future__ import annotations

from decimal import Decimal, localcontext

import numpy as np
import pytest

from priorsvm.kernels import RBF, Kernel, Linear, Polynomial, Scaled, Sum

STEP = Decimal("1e-25")

KERNELS = [
    Linear(),
    RBF(gamma=0.3),
    RBF(gamma=7.0),
    Polynomial(degree=1, gamma=0.7, coef0=0.5),
    Polynomial(degree=2, gamma=0.7),
    Polynomial(degree=3, gamma=0.5),
    Polynomial(degree=3.0, gamma=0.5, coef0=1.0),
    Polynomial(degree=5, gamma=0.4, coef0=0.3),
    RBF(gamma=0.3) + Linear() + Polynomial(degree=3, gamma=0.5, coef0=1.0),
    2.5 * RBF(gamma=0.3),
    0 * RBF(gamma=0.3),
    0.5 * (3 * RBF(gamma=2.0) + Polynomial(degree=4, gamma=0.2, coef0=1.0)),
]

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


def differentiated(combination, direction):
    """The central difference of a combination of kernel functions, given as pairs of weight and point."""
    return [
        (sign * weight / (2 * STEP), [p + sign * STEP * d for p, d in zip(point, direction, strict=True)])
        for weight, point in combination
        for sign in (1, -1)
    ]


def derivative_length(kernel, x, directions):
    """The norm of the derivative of k_x along all the directions, one after the other."""
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


@every_kernel
def test_the_kernel_in_many_digits_is_the_kernel(kernel):
    A, B = np.random.default_rng(0).normal(size=(2, 3, 3))
    expected = [[float(exact(kernel, list(map(Decimal, a)), list(map(Decimal, b)))) for b in B] for a in A]
    np.testing.assert_allclose(kernel(A, B), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("order", [1, 2, 3])
@every_kernel
def test_no_derivative_is_longer(kernel, order):
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
def test_some_derivative_is_as_long(kernel, order):
    x = np.array([0.8, -0.3, 0.5])
    [bound] = kernel.derivative_bound(order, [np.linalg.norm(x)])
    along = [x / np.linalg.norm(x)] * order  # the worst direction points away from the origin
    assert derivative_length(kernel, x, along) == pytest.approx(bound, rel=1e-9, abs=1e-20)


def test_bounds_grow_with_the_reach_and_scale_as_the_kernel_does():
    reach = np.linspace(0.0, 3.0, 7)
    for k in (RBF(0.4), Polynomial(3, 0.5, 1.0)):
        bound = k.derivative_bound(2, reach)
        assert (np.diff(bound) >= 0).all()
        np.testing.assert_allclose((4 * k).derivative_bound(2, reach), 2 * bound, rtol=1e-14)
        np.testing.assert_allclose((k + k).derivative_bound(2, reach), np.sqrt(2) * bound, rtol=1e-14)


def test_a_kernel_of_ones_own_may_have_bounds():
    class Half(Kernel):
        definiteness = "psd"

        def _matrix(self, A, B):
            return A @ B.T / 2

        def _derivative_bound(self, order, reach):
            return np.zeros(len(reach))

    assert (Half() + 4 * RBF(0.3)).derivative_bound(2, [1.0]) == 2 * RBF(0.3).derivative_bound(2, [1.0])
