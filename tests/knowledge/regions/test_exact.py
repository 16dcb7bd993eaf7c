"""The exact method of linear models: least values in closed form, and regions in any units."""

import numpy as np
import pytest

from priorsvm import Box, Monotone, Polyhedron, PriorSVC, Rule
from priorsvm.errors import InvalidInput, SolverFailed
from priorsvm.function.fitted import FittedLinear
from priorsvm.knowledge.regions.exact import least_value
from priorsvm.knowledge.regions.requirement import Requirement
from priorsvm.knowledge.regions.sets import BoxSet

rng = np.random.default_rng(0)
X = rng.normal(size=(30, 3))
y = (X[:, 0] + 0.5 * rng.normal(size=30) > 0).astype(int)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_linear_functions_are_least_in_a_corner(sign):
    box = BoxSet(np.array([-1.0, -0.5]), np.array([1.0, 1.5]))
    f = FittedLinear(0.4, np.array([1.5, -0.7]))
    least, where = least_value(f, Requirement(box, sign))
    assert least == pytest.approx((sign * f.value(box.grid(100))).min(), abs=1e-12)
    assert sign * f.value(where[None])[0] == pytest.approx(least)


@pytest.mark.parametrize("seed", range(8))
def test_strips_in_three_columns(seed):
    a, b, c = np.random.default_rng(seed).normal(size=3).round(3)
    text = f"{a}*x0 + {b}*x1 + {c}*x2 between 0.5 and 1.3"
    assert PriorSVC(Rule(text, 1, holds="everywhere")).fit(X, y).verify()["rule"].proven


@pytest.mark.parametrize("unit", [1e-12, 1e-8, 1.0, 1e8])
def test_an_empty_polyhedron_is_found_in_any_units(unit):
    with pytest.raises(InvalidInput, match="is empty"):
        PriorSVC(Polyhedron([[1, 1, 0], [-1, -1, 0]], [0, -unit], 1), scale="standard").fit(X * unit, y)


def test_a_solver_that_is_wrong_makes_no_conflict():
    """OSQP calls this infeasible, and f = 1 is a solution."""
    block, two = Box({0: (-500, 500)}, 1, hard=True), 1e3 * X[:, :2]
    with pytest.raises(SolverFailed, match="OSQP reported"):
        PriorSVC(block, solver="OSQP").fit(two, y)
    assert PriorSVC(block, solver="CLARABEL").fit(two, y).status_ == "optimal"


def test_rows_of_no_weight_do_not_stretch_the_data():
    more, labels = np.vstack([X, [[0, 0, -40]]]), np.append(y, 1)
    weight = np.append(np.ones(30), 0.0)
    for block in (Rule("x0 >= 0.5", 1, hard=True), Monotone({1: -1}, mu=3.0, holds="everywhere")):
        plain = PriorSVC(block).fit(X, y)
        padded = PriorSVC(block).fit(more, labels, sample_weight=weight)
        np.testing.assert_allclose(padded.coef_, plain.coef_, atol=1e-6)
