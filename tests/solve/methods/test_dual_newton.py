"""Newton's method on the dual: optimality conditions on arrays, and failures."""

import numpy as np
import pytest
from scipy.sparse import csr_array, random_array

from priorsvm.errors import SolverFailed
from priorsvm.solve.methods.dual_newton import newton


def problem(n=300, d=400, seed=0):
    rng = np.random.default_rng(seed)
    Z = csr_array(random_array((n, d), density=0.03, rng=rng, format="csr"))
    y = np.where(Z @ rng.normal(size=d) + 0.3 * rng.normal(size=n) > 0, 1.0, -1.0)
    return Z, y


def test_the_optimality_conditions_of_the_hinge():
    Z, y = problem()
    bound = np.full(len(y), 2.0)
    alpha, bias, steps = newton(Z, y, bound, np.ones(len(y)))
    excess = y * (Z @ ((y * alpha) @ Z) + bias) - 1.0
    between = (alpha > 0) & (alpha < bound)
    assert steps > 1
    assert abs(alpha @ y) < 1e-12
    assert between.sum() > 50
    assert excess[alpha == 0].min() > -1e-10
    assert excess[alpha == bound].max() < 1e-10
    assert np.abs(excess[between]).max() < 1e-10


def test_the_optimality_conditions_of_the_squared_hinge():
    Z, y = problem()
    bound = np.linspace(0.5, 2.0, len(y))
    rho = np.linspace(0.8, 1.2, len(y))
    alpha, bias, _ = newton(Z, y, bound, rho, squared=True)
    short = rho - y * (Z @ ((y * alpha) @ Z) + bias)
    assert abs(alpha @ y) < 1e-10
    np.testing.assert_allclose(alpha, 2.0 * bound * np.maximum(short, 0.0), atol=1e-9)


def test_rows_of_zeros_are_refused():
    Z, y = problem()
    with pytest.raises(SolverFailed, match="SPARSE: all rows are zero"):
        newton(0.0 * Z, y, np.ones(len(y)), np.ones(len(y)))
