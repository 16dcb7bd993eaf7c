"""Equations between the evaluations of f and its coefficients."""

import cvxpy as cp
import numpy as np
import pytest

from priorsvm import RBF, Polynomial
from priorsvm.function.maps import FactorMap, KernelMap, LinearMap
from priorsvm.function.scale import Scale
from priorsvm.function.tie import Tie
from tests.function.functions import decision, every_model, every_scale, made


@pytest.mark.parametrize("scale", [None, "standard", "minmax"])
@pytest.mark.parametrize("kind", ["linear", "factor", "l1"])
def test_values_are_those_of_the_fitted_function(centres, new, kind, scale):
    units = Scale.of(scale, centres)
    features = {
        "linear": LinearMap(4, units),
        "factor": FactorMap(RBF(0.5), centres, units),
        "l1": KernelMap(RBF(0.5), centres, units),
    }[kind]
    f, solve = decision(features, "l1")
    expression = f(new)
    directions = np.random.default_rng(2).normal(size=new.shape)
    slopes = f.slope(new, directions)
    assert expression.shape == slopes.shape == (25,)
    assert expression.is_affine()
    assert slopes.is_affine()
    tie = solve()
    size = 1e-6 if kind == "factor" else 1e-10
    np.testing.assert_allclose(expression.value, tie.fitted().value(new), atol=size)
    np.testing.assert_allclose(slopes.value, tie.fitted().slope(new, directions), atol=size)


@pytest.mark.parametrize("scale", [None, "standard", "minmax"])
@pytest.mark.parametrize(
    "kernel", [None, RBF(0.5), Polynomial(3, 0.5, 1.0), Polynomial(2, 1.0) + RBF(0.1)], ids=repr
)
def test_slope_is_the_derivative(centres, new, kernel, scale):
    X = centres * [1.0, 10.0, 0.1, 1.0] + [0.0, 3.0, 0.0, -1.0]
    Z = new * [1.0, 10.0, 0.1, 1.0] + [0.0, 3.0, 0.0, -1.0]
    units = Scale.of(scale, X)
    features = LinearMap(4, units) if kernel is None else KernelMap(kernel, X, units)
    f, solve = decision(features, "l2")
    V = np.random.default_rng(2).normal(size=Z.shape) * [1.0, 10.0, 0.1, 1.0]
    expression = f.slope(Z, V)
    tie = solve()
    h = 1e-5
    difference = (tie.fitted().value(Z + h * V) - tie.fitted().value(Z - h * V)) / (2 * h)
    np.testing.assert_allclose(expression.value, difference, rtol=1e-6, atol=1e-5 * np.abs(difference).max())
    np.testing.assert_allclose(tie.fitted().slope(Z, V), expression.value, rtol=1e-9, atol=1e-9)


def test_slope_in_the_factor_basis_is_the_derivative(centres, new):
    f, solve = decision(FactorMap(RBF(0.5), centres, None), "l2")
    V = np.random.default_rng(2).normal(size=new.shape)
    expression = f.slope(new, V)
    tie = solve()
    h = 1e-5
    difference = (tie.fitted().value(new + h * V) - tie.fitted().value(new - h * V)) / (2 * h)
    np.testing.assert_allclose(expression.value, difference, atol=1e-4 * np.abs(difference).max())


def test_regulariser(centres):
    for features, norm in ((LinearMap(4, None), "l2"), (FactorMap(RBF(0.5), centres, None), "l2")):
        tie = decision(features, norm)[1]()
        assert tie.regulariser.value == pytest.approx(0.5 * np.sum(tie.c.value**2))
        assert tie.regulariser.value == pytest.approx(0.5 * tie.fitted().norm("l2") ** 2, rel=1e-6)
    tie = decision(KernelMap(RBF(0.5), centres, None), "l1")[1]()
    # At an optimum one half of each pair is zero.
    up, down = tie.coefficients.halves
    down.value = np.where(up.value > 0.5, 0.0, down.value)
    up.value = np.where(up.value > 0.5, up.value, 0.0)
    assert tie.regulariser.value == pytest.approx(np.abs(tie.c.value).sum())
    assert tie.regulariser.value == pytest.approx(tie.fitted().norm("l1"))


@pytest.mark.parametrize("scale", ["standard", "minmax"])
def test_weights_and_bias_are_in_the_users_units(centres, new, scale):
    X = centres * [1.0, 100.0, 0.01, 1.0] + 5.0
    f, solve = decision(LinearMap(4, Scale.of(scale, X)), "l2")
    expression = f(new)
    tie = solve()
    np.testing.assert_allclose(new @ f.coef.value + f.bias.value, expression.value, atol=1e-9)
    fitted = tie.fitted()
    np.testing.assert_allclose(fitted.coef, f.coef.value)
    assert fitted.bias == pytest.approx(float(f.bias.value))
    assert fitted.norm("l2") == pytest.approx(np.linalg.norm(tie.c.value))
    assert fitted.norm("l1") == pytest.approx(np.abs(tie.c.value).sum())


def test_values_are_numbers_once_solved(centres):
    features = LinearMap(4, None)
    f, _ = decision(features)
    values = f(centres)
    tie = Tie(f, features)
    objective = tie.regulariser + cp.sum_squares(values - 1.0)
    cp.Problem(cp.Minimize(objective), list(tie.definitions.values())).solve(solver="CLARABEL")
    np.testing.assert_allclose(tie.fitted().value(centres), values.value, atol=1e-8)


@every_scale
@every_model
def test_length_is_the_norm(kind, scale):
    f, solve, *_ = made(kind, scale)
    assert f.length is f.length
    tie = solve()
    assert list(tie.definitions) == ["length"]
    fitted = tie.fitted()
    norm = fitted.norm("l2")
    assert f.length.value == pytest.approx(norm, rel=1e-6)
    # As a constraint: the least length is the norm of a given f.
    problem = cp.Problem(cp.Minimize(f.length), [tie.definitions["length"], tie.c == tie.c.value])
    problem.solve(solver="CLARABEL")
    assert f.length.value == pytest.approx(norm, rel=1e-5)
