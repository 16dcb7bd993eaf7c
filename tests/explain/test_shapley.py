"""Parts of a score: against the definition written out, and the axioms of Shapley values."""

from itertools import combinations, permutations
from math import factorial

import numpy as np
import pytest
from numpy.testing import assert_allclose

from priorsvm import RBF, Polynomial, PriorSVC
from priorsvm.explain.shapley import MOST_ENUMERATED, enumerated, of_rbf, parts_of, sampled


def by_definition(value, x, reference, players):
    """Sum over all subsets, with |S|! (p - |S| - 1)! / p! in front of the effect of a player."""
    p = len(players)
    parts = np.zeros(p)
    for j in range(p):
        others = [k for k in range(p) if k != j]
        for size in range(p):
            for chosen in combinations(others, size):
                z = reference.copy()
                for k in chosen:
                    z[players[k]] = x[players[k]]
                more = z.copy()
                more[players[j]] = x[players[j]]
                share = factorial(size) * factorial(p - size - 1) / factorial(p)
                parts[j] += share * (value(more[None])[0] - value(z[None])[0])
    return parts


def single(d):
    return [[j] for j in range(d)]


def fitted(kernel, d, scale=None, n=40):
    rng = np.random.default_rng(d)
    X = rng.normal(size=(n, d)) * np.arange(1, d + 1)
    y = (X[:, 0] + X[:, 1] ** 2 / 4 + rng.normal(size=n) > 1).astype(int)
    model = PriorSVC(kernel=kernel, C=3.0, scale=scale).fit(X, y)
    return model._models[0].f, X


@pytest.mark.parametrize("kernel", [RBF(0.05), Polynomial(degree=3), "laplacian"])
@pytest.mark.parametrize("scale", [None, "standard"])
def test_enumeration_is_the_definition(kernel, scale):
    f, X = fitted(kernel, 4, scale)
    expected = by_definition(f.value, X[0], X.mean(axis=0), single(4))
    assert_allclose(enumerated(f.value, X[0], X.mean(axis=0), single(4)).values, expected, atol=1e-11)


@pytest.mark.parametrize("players", [single(5), [[0, 3], [1], [2, 4]], [[0, 1, 2, 3, 4]]])
@pytest.mark.parametrize("scale", [None, "minmax"])
def test_the_integral_for_rbf_kernels_is_the_definition(players, scale):
    f, X = fitted(RBF(0.02 if scale is None else 2.0), 5, scale)
    found = of_rbf(f, X[1], X.mean(axis=0), players)
    expected = by_definition(f.value, X[1], X.mean(axis=0), players)
    assert np.abs(expected).max() > 0.05
    assert_allclose(found.values, expected, atol=1e-11)
    assert found.error == 0


def test_the_integral_survives_factors_that_underflow():
    f, X = fitted(RBF(1.0), 3)
    far = X[0] + [1e3, 0.0, 0.0]
    found = of_rbf(f, far, X.mean(axis=0), single(3)).values
    assert_allclose(found, by_definition(f.value, far, X.mean(axis=0), single(3)), atol=1e-11)


def test_sampled_orders_are_means_over_orders():
    def value(Z):
        return Z[:, 0] * Z[:, 1] * Z[:, 2] + Z[:, 1] ** 2

    x, reference = np.array([2.0, -1.0, 0.5]), np.array([0.3, 0.2, -0.4])
    means = np.zeros(3)
    for order in permutations(range(3)):
        z = reference.copy()
        for j in order:
            before = value(z[None])[0]
            z[j] = x[j]
            means[j] += (value(z[None])[0] - before) / 6
    assert_allclose(enumerated(value, x, reference, single(3)).values, means, atol=1e-14)
    found = sampled(value, x, reference, single(3))
    assert_allclose(found.values, means, atol=5 * found.error)
    assert 0 < found.error < 0.05
    assert_allclose(found.values.sum(), value(x[None])[0] - value(reference[None])[0], atol=1e-12)
    assert_allclose(found.values, sampled(value, x, reference, single(3)).values)


@pytest.mark.parametrize("method", [enumerated, sampled])
def test_axioms(method):
    def value(Z):
        return np.sin(Z[:, 0] + Z[:, 1]) * Z[:, 2]  # columns 0 and 1 are symmetric, column 3 is a dummy

    x, reference = np.array([0.7, 0.7, 2.0, 9.0]), np.array([0.1, 0.1, -1.0, 3.0])
    found = method(value, x, reference, single(4))
    assert_allclose(found.values[0], found.values[1], atol=1e-12 + 5 * found.error)
    assert_allclose(found.values[3], 0.0, atol=1e-14)
    assert_allclose(found.values.sum(), value(x[None])[0] - value(reference[None])[0], atol=1e-12)
    twice = method(lambda Z: 2 * value(Z) + Z[:, 3], x, reference, single(4))
    assert_allclose(twice.values, 2 * found.values + [0, 0, 0, 6.0], atol=1e-11)


def test_the_method_depends_on_the_function_and_the_number_of_columns():
    assert "weight of the column" in parts_of(*arguments("linear", 20)).method
    assert parts_of(*arguments(RBF(0.001), 40)).method.endswith("exact")
    assert parts_of(*arguments(Polynomial(degree=2), MOST_ENUMERATED)).method.endswith("exact")
    assert "estimated from" in parts_of(*arguments(Polynomial(degree=2), MOST_ENUMERATED + 1)).method


def arguments(kernel, d):
    f, X = fitted(kernel, d)
    return f.value, f, X[0], X.mean(axis=0), single(d)
