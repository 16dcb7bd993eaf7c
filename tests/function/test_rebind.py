"""Expressions of one decision function as expressions of another one."""

import cvxpy as cp
import numpy as np
import pytest

from priorsvm import RBF
from priorsvm.errors import InvalidInput
from priorsvm.function.rebind import rebound
from priorsvm.function.symbolic import Decision
from priorsvm.spec import Spec

Z = np.array([[0.0, 1.0], [2.0, 3.0]])


def decision(kernel=None, norm="l2"):
    f = Decision(Spec(1.0, kernel, norm, "hinge", None, None, 1e-6), 2)
    f.lineage = 7
    return f


def points(f):
    return [e.atoms.points.tolist() for e in f.evaluations]


@pytest.mark.parametrize("kernel", [None, RBF(1.0)])
def test_values_and_slopes_at_the_same_points(kernel):
    old = decision(kernel)
    new = decision(kernel)
    own = cp.Variable(2)
    constraint = old(Z) + 2 * old.slope(Z, np.ones_like(Z)) >= own
    written = rebound(constraint, new, 7)
    variables = {id(v) for v in written.variables()}
    assert variables == {id(own), *(id(e.variable) for e in new.evaluations)}
    assert points(new) == points(old)
    assert "slope" in new.used


def test_weights_and_bias_of_a_linear_f():
    for norm in ("l2", "l1"):
        old = decision(norm=norm)
        new = decision(norm=norm)
        written = rebound(cp.sum_squares(old.coef) + old.bias, new, 7)
        expected = {id(new.b), *(id(half) for half in new.coefficients.halves)}
        assert {id(v) for v in written.variables()} == expected
        assert new.used == {"coef", "bias"}


def test_an_expression_of_the_same_f_is_not_changed():
    f = decision()
    expression = f(Z) + f.bias
    assert rebound(expression, f) is expression


def test_what_has_no_counterpart():
    linear = decision()
    expression = cp.sum(linear.coef)
    with pytest.raises(InvalidInput, match=r"variable 'c' belongs to another problem.*function of f"):
        rebound(expression, decision(RBF(1.0)), 7)


def test_f_of_another_lineage():
    old = decision()
    for lineage in (None, 8):
        with pytest.raises(InvalidInput, match="f of another assembly"):
            rebound(old(Z), decision(), lineage)
