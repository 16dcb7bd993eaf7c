"""Values and slopes as elements of the feature space."""

import numpy as np
import pytest

from priorsvm import RBF, Linear, Polynomial


def by_differences(kernel, a, b, h=1e-3):
    """Inner products of atoms from values of the kernel alone: a slope is the limit of two values."""

    def ends(atoms):
        step = h * np.where(atoms.slopes[:, None], atoms.directions, 0.0)
        return atoms.points + step, atoms.points - step

    def joined(K_plus, K_minus, slope):
        return np.where(slope, (K_plus - K_minus) / (2 * h), K_plus)

    (up, down), (left, right) = ends(a), ends(b)
    first = joined(kernel(up, left), kernel(down, left), a.slopes[:, None])
    second = joined(kernel(up, right), kernel(down, right), a.slopes[:, None])
    return joined(first, second, b.slopes[None])


@pytest.mark.parametrize("kernel", [RBF(0.1), Polynomial(3, 0.2, 1.0), RBF(0.1) + Linear()], ids=repr)
def test_products_of_atoms_are_limits_of_kernel_values(atoms, kernel):
    K = atoms.products(kernel, atoms)
    np.testing.assert_allclose(K, by_differences(kernel, atoms, atoms), atol=1e-4 * np.abs(K).max())
    np.testing.assert_allclose(K, K.T, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(atoms.diag(kernel), np.diagonal(K), rtol=1e-12)
    some = atoms[[20, 3, 16]]
    np.testing.assert_allclose(some.products(kernel, atoms), K[[20, 3, 16]], rtol=1e-12, atol=1e-13)
    assert len(set(atoms.labels)) == len(atoms) == 27
