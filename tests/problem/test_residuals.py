"""Residuals on problems of every kind of variable and cone, against perturbations that must be seen."""

import cvxpy as cp
import numpy as np
import pytest

from priorsvm.problem.residuals import Residuals, is_smooth, lagrangian_gradient, residuals, unit_of


def bounded():
    x = cp.Variable(4, bounds=[-1, np.array([0.5, 1, 1, 2.0])])
    return cp.Problem(cp.Minimize(cp.sum_squares(x - np.array([3.0, 0.2, -4.0, 1.0])))), x


def signed():
    x, z = cp.Variable(3, nonneg=True), cp.Variable(2, nonpos=True)
    return cp.Problem(cp.Minimize(cp.sum_squares(x + 1) + cp.sum_squares(z - 2) + cp.sum(x))), x


def semidefinite_variable():
    A = np.array([[1.0, 2.0], [2.0, -3.0]])
    X = cp.Variable((2, 2), PSD=True)
    return cp.Problem(cp.Minimize(cp.sum_squares(X - A))), X


def symmetric():
    A = np.array([[1.0, 5.0], [2.0, -3.0]])
    X = cp.Variable((2, 2), symmetric=True)
    return cp.Problem(cp.Minimize(cp.sum_squares(X - A)), [X + np.eye(2) >> 0, cp.trace(X) <= 0.5]), X


def cones():
    x, t = cp.Variable((3, 4)), cp.Variable(4)
    rng = np.random.default_rng(0)
    target = rng.normal(size=(3, 4))
    constraints = [cp.SOC(t, x, axis=0), t <= 0.5, cp.sum(x) == 0.2]
    return cp.Problem(cp.Minimize(cp.sum_squares(x - target) + cp.sum(t)), constraints), x


def cones_by_row():
    x, t = cp.Variable((4, 3)), cp.Variable(4)
    target = np.random.default_rng(1).normal(size=(4, 3))
    return cp.Problem(
        cp.Minimize(cp.sum_squares(x - target) + cp.sum(t)), [cp.SOC(t, x, axis=1), t <= 0.5]
    ), x


def stacked_semidefinite():
    M = cp.Variable((3, 2, 2))
    target = np.random.default_rng(2).normal(size=(3, 2, 2))
    symmetric = [M[:, 0, 1] == M[:, 1, 0]]
    return cp.Problem(cp.Minimize(cp.sum_squares(M - target)), [cp.constraints.PSD(M), *symmetric]), M


def linear():
    x = cp.Variable(3)
    return cp.Problem(cp.Minimize(np.array([1.0, 2.0, -1.0]) @ x), [x >= -1, x <= 2, cp.sum(x) == 1]), x


PROBLEMS = [
    bounded,
    signed,
    semidefinite_variable,
    symmetric,
    cones,
    cones_by_row,
    stacked_semidefinite,
    linear,
]


@pytest.mark.parametrize("make", PROBLEMS)
def test_optimum_passes_and_perturbations_do_not(make):
    problem, x = make()
    problem.solve(solver="CLARABEL")
    found = residuals(problem)
    assert found.worst < 1e-6, found
    best = x.value.copy()
    rng = np.random.default_rng(5)
    for _ in range(5):
        step = rng.normal(size=x.shape)
        if x.attributes["symmetric"] or x.attributes["PSD"]:
            step = step + step.T
        x.save_value(best + 0.2 * step)
        assert residuals(problem).worst > 1e-3


def test_gap_does_not_cancel():
    """The multiplier's share and the bound's share of the complementarity add up; they have one sign."""
    x = cp.Variable(2, nonneg=True)
    problem = cp.Problem(cp.Minimize(cp.sum(x)), [x[0] <= 3])
    problem.solve(solver="CLARABEL")
    x.save_value(np.array([1.0, 1.0]))
    problem.constraints[0].dual_variables[0].save_value(np.array(1.0))
    # L = x0 + x1 + 1 (x0 - 3): reduced gradient (2, 1), complementarity 2*1 + 1*1 + 1*(3 - 1) = 5
    assert residuals(problem).gap == pytest.approx(5.0 / 3.0)


def test_text_names_all_four():
    problem, _ = linear()
    problem.solve(solver="CLARABEL")
    text = str(residuals(problem))
    assert all(word in text for word in ("primal", "dual", "stationarity", "gap"))


@pytest.mark.parametrize("part", ["primal", "gap"])
def test_a_residual_that_is_not_a_number_is_the_worst(part):
    """Stationarity and distance of multipliers cannot always be had; these two can."""
    nan = float("nan")
    known = {"primal": 0.0, "dual": nan, "stationarity": nan, "gap": 1e-9}
    assert Residuals(**known).worst == 1e-9
    assert Residuals(**{**known, part: nan}).worst == float("inf")


def test_a_problem_without_values_or_dual_variables_is_infinitely_bad():
    x = cp.Variable(2)
    problem = cp.Problem(cp.Minimize(cp.sum_squares(x)), [x >= 1])
    assert residuals(problem).worst == np.inf
    x.value = np.array([1.0, np.inf])
    assert residuals(problem) == Residuals(*[np.inf] * 4)
    x.value = np.ones(2)
    found = residuals(problem)
    assert found.primal == 0
    assert [found.dual, found.stationarity, found.gap] == [np.inf] * 3


def test_violations_and_signs_are_relative_to_one_plus_their_size():
    x = cp.Variable(2)
    problem = cp.Problem(cp.Minimize(cp.sum_squares(x)), [x >= 1])
    x.value = np.array([1.0, 0.5])
    problem.constraints[0].save_dual_value(np.array([2.0, -3.0]))
    found = residuals(problem)
    assert found.primal == pytest.approx(0.5 / (1 + 1))
    assert found.dual == pytest.approx(3.0 / (1 + 3.0))


def test_a_negative_eigenvalue_of_a_semidefinite_variable_is_relative_to_one_plus_its_size():
    X = cp.Variable((2, 2), PSD=True)
    problem = cp.Problem(cp.Minimize(cp.sum_squares(X)))
    X.save_value(np.diag([3.0, -1.0]))
    assert residuals(problem).primal == pytest.approx(1.0 / (1 + 3.0))


def test_the_unit_of_a_gap_is_one_or_twice_the_loss_of_the_better_constant():
    y = np.array([1.0, 1.0, -1.0])
    assert unit_of(np.array([0.1, 0.1, 0.3]), y) == pytest.approx(0.4)
    assert unit_of(np.array([0.1, 0.3, 0.05]), y) == pytest.approx(0.1)
    assert unit_of(np.array([10.0, 10.0, 30.0]), y) == 1.0


def test_a_gradient_requires_a_quadratic_objective_and_affine_constraints():
    x = cp.Variable(2)
    assert is_smooth(cp.Problem(cp.Minimize(cp.sum_squares(x)), [x >= 1]))
    assert not is_smooth(cp.Problem(cp.Minimize(cp.sum(cp.exp(x))), [x >= 1]))
    assert not is_smooth(cp.Problem(cp.Minimize(cp.sum_squares(x)), [cp.norm1(x) <= 1]))
    x.value = np.ones(2)
    assert np.isnan(residuals(cp.Problem(cp.Minimize(cp.sum(cp.exp(x))), [x >= 1])).dual)


def test_a_gradient_is_relative_to_its_largest_part_and_to_one_or_the_cost():
    x = cp.Variable(1)
    problem = cp.Problem(cp.Minimize(0.05 * cp.sum(x)), [x >= 1])
    x.value = np.ones(1)
    problem.constraints[0].save_dual_value(np.array([0.02]))
    assert residuals(problem).stationarity == pytest.approx(0.03)
    assert residuals(problem, costs={x: 0.01}).stationarity == pytest.approx(0.03 / 0.05)
    assert residuals(problem, costs={x: 7.0}).stationarity == pytest.approx(0.03)
    problem = cp.Problem(cp.Minimize(5.0 * cp.sum(x)), [x >= 1])
    problem.constraints[0].save_dual_value(np.array([4.0]))
    assert residuals(problem).stationarity == pytest.approx(1.0 / 5.0)


def test_a_problem_that_is_not_smooth_is_compared_with_its_optimum():
    x = cp.Variable(2)
    problem = cp.Problem(cp.Minimize(cp.sum(cp.exp(x))), [x >= 1])
    x.value = np.array([1.0, 2.0])
    assert residuals(problem).gap == pytest.approx((np.exp(2) - np.e) / (1 + np.e + np.exp(2)), rel=1e-5)
    np.testing.assert_array_equal(x.value, [1.0, 2.0])


def test_a_dual_matrix_outside_the_semidefinite_cone_is_relative_to_one_plus_its_size():
    X = cp.Variable((2, 2), symmetric=True)
    problem = cp.Problem(cp.Minimize(cp.sum_squares(X)), [X >> 0])
    X.save_value(np.eye(2))
    problem.constraints[0].save_dual_value(np.diag([2.0, -1.0]))
    assert residuals(problem).dual == pytest.approx(1.0 / (1 + 2.0))


def test_violations_of_bounds_and_cones_are_relative_to_one_plus_their_size():
    x = cp.Variable(2, nonneg=True)
    problem = cp.Problem(cp.Minimize(cp.sum_squares(x)))
    x.save_value(np.array([1.0, -3.0]))
    assert residuals(problem).primal == pytest.approx(3.0 / (1 + 3.0))
    z = cp.Variable(2)
    z.value = np.array([3.0, 4.0])
    t = cp.Variable()
    t.value = 2.0
    cone = cp.Problem(cp.Minimize(cp.sum_squares(z)), [cp.SOC(t, z)])
    expected = cone.constraints[0].violation() / (1 + 4.0)
    assert residuals(cone).primal == pytest.approx(float(np.max(expected)))


@pytest.mark.parametrize("made", [lambda x, b: x <= b, lambda x, b: x == b])
def test_a_violation_is_relative_to_its_own_entry(made):
    x = cp.Variable(2)
    problem = cp.Problem(cp.Minimize(cp.sum_squares(x)), [made(x, np.array([1e6, 0.0]))])
    x.value = np.array([1e6, 0.5])
    assert residuals(problem).primal == pytest.approx(0.5 / (1 + 0.5))


@pytest.mark.parametrize(("attribute", "sign"), [("nonneg", 1), ("pos", 1), ("nonpos", -1), ("neg", -1)])
def test_signs_of_variables_are_bounds(attribute, sign):
    """The bound cancels a gradient of its sign, and its gap is the distance times the gradient."""
    x = cp.Variable(2, **{attribute: True})
    problem = cp.Problem(cp.Minimize(sign * cp.sum(x)))
    x.save_value(sign * np.array([0.0, 2.0]))
    assert residuals(problem) == Residuals(0.0, 0.0, 0.0, 2.0 / (1 + 2))
    x.save_value(sign * np.array([0.0, -3.0]))
    assert residuals(problem).primal == pytest.approx(3.0 / (1 + 3.0))
    problem = cp.Problem(cp.Minimize(-sign * cp.sum(x)))
    assert residuals(problem).stationarity == 1.0


def test_the_gradient_of_the_lagrangian_by_variable():
    x = cp.Variable(2)
    z = cp.Variable()
    problem = cp.Problem(cp.Minimize(cp.sum_squares(x) + 3 * z), [x >= 1, x[0] + z == 2, z <= 5])
    x.value = np.array([1.5, 2.0])
    z.value = 0.5
    for constraint, dual in zip(problem.constraints[:2], (np.array([4.0, 1.0]), 0.25), strict=True):
        constraint.save_dual_value(dual)
    gradient = lagrangian_gradient(problem)  # the third constraint has no dual variable and does not count
    np.testing.assert_allclose(gradient[x], [2 * 1.5 - 4.0 + 0.25, 2 * 2.0 - 1.0])
    np.testing.assert_allclose(gradient[z], [3 + 0.25])


def test_a_dual_vector_outside_its_cone_is_relative_to_one_plus_its_length():
    t = cp.Variable()
    z = cp.Variable(2)
    problem = cp.Problem(cp.Minimize(cp.sum_squares(z)), [cp.SOC(t, z)])
    t.value = 0.0
    z.value = np.zeros(2)
    for variable, value in zip(problem.constraints[0].dual_variables, ([1.0], [3.0, 4.0]), strict=True):
        variable.save_value(np.reshape(value, variable.shape))
    assert residuals(problem).dual == pytest.approx((5.0 - 1.0) / (1 + 5.0))


def test_the_gradient_of_a_symmetric_variable_is_symmetric():
    """The sum of x_12 has the gradient (0, 1/2; 1/2, 0)."""
    X = cp.Variable((2, 2), symmetric=True)
    X.save_value(np.zeros((2, 2)))
    assert residuals(cp.Problem(cp.Minimize(cp.sum_squares(X) + X[0, 1]))).stationarity == pytest.approx(0.5)


def test_without_an_optimum_to_compare_with_the_gap_is_infinite():
    x = cp.Variable(2)
    x.value = np.ones(2)
    assert residuals(cp.Problem(cp.Minimize(cp.sum(cp.exp(x))), [x >= 1, x <= 0])).gap == np.inf


def test_known_gradients_replace_those_of_cvxpy():
    """Maps for the objective and a constraint; the rest of the objective is differentiated."""
    x = cp.Variable(2)
    problem = cp.Problem(cp.Minimize(cp.sum_squares(x) + 3 * x[0]), [x >= 1, x <= 5])
    x.value = np.array([1.0, 1.0])
    for constraint, dual in zip(problem.constraints, ([5.0, 2.0], [0.0, 0.0]), strict=True):
        constraint.save_dual_value(np.array(dual))
    assert residuals(problem).worst == 0.0
    linear = {x: lambda dual: dual * np.array([3.0, 0.0])}
    squares = cp.sum_squares(x)
    known = {id(problem.objective): (linear, squares), problem.constraints[0].id: {x: lambda dual: -dual}}
    assert residuals(problem, known).worst == 0.0
    whole = {x: lambda dual: dual * np.array([5.0, 2.0])}
    assert residuals(problem, {id(problem.objective): (whole, None)}).worst == 0.0
    other = {x: lambda dual: dual * np.array([7.0, 2.0])}
    assert residuals(problem, {id(problem.objective): (other, None)}).stationarity == pytest.approx(2 / 7)
    assert residuals(problem, {problem.constraints[0].id: {x: lambda dual: -2 * dual}}).stationarity > 0.1


def test_products_are_differentiated_as_matrices():
    """A variable p for A x occurs in no constraint of the problem; its gradient is passed on to x."""
    A = np.array([[1.0, 2.0], [3.0, -1.0]])
    x = cp.Variable(2)
    p = cp.Variable(2)
    problem = cp.Problem(cp.Minimize(cp.sum_squares(x)), [A @ x >= 1])
    x.value = np.array([1.0, 1.0])
    problem.constraints[0].save_dual_value(np.array([0.5, 0.5]))
    replaced = []

    def of_products(expression):
        replaced.append(expression)
        return 1 - p

    found = residuals(problem, products=(of_products, {p: {x: lambda dual: A.T @ dual}}))
    assert found == residuals(problem)
    assert found.stationarity == pytest.approx(1.5 / 2.0)
    assert len(replaced) == 1  # the objective is not affine
    other = residuals(problem, products=(of_products, {p: {x: lambda dual: 2 * A.T @ dual}}))
    assert other.stationarity == pytest.approx(2.0 / 4.0)


def test_one_dual_variable_that_is_not_finite_is_infinitely_bad():
    x = cp.Variable(2)
    problem = cp.Problem(cp.Minimize(cp.sum_squares(x)), [x >= 1])
    x.value = np.ones(2)
    problem.constraints[0].save_dual_value(np.array([2.0, np.nan]))
    assert [residuals(problem).dual, residuals(problem).gap] == [np.inf] * 2


@pytest.mark.parametrize("missing", [0, 1])
def test_a_cone_without_a_part_of_its_dual_variable_is_infinitely_bad(missing):
    t = cp.Variable()
    z = cp.Variable(2)
    problem = cp.Problem(cp.Minimize(cp.sum_squares(z)), [cp.SOC(t, z)])
    t.value = 0.0
    z.value = np.zeros(2)
    dual = problem.constraints[0].dual_variables[1 - missing]
    dual.save_value(np.zeros(dual.shape))
    assert residuals(problem).dual == np.inf


def test_cones_without_known_duals_have_no_gradient():
    x = cp.Variable(3)
    assert not is_smooth(cp.Problem(cp.Minimize(cp.sum_squares(x)), [cp.ExpCone(x[0], x[1], x[2])]))


@pytest.mark.parametrize("attribute", ["NSD", "diag", "hermitian"])
def test_variables_of_other_sets_have_no_gradient(attribute):
    X = cp.Variable((2, 2), **{attribute: True})
    assert not is_smooth(cp.Problem(cp.Minimize(cp.square(cp.real(X[0, 0])))))


def test_a_gradient_is_relative_to_the_size_of_negative_parts():
    x = cp.Variable(1)
    problem = cp.Problem(cp.Minimize(-5.0 * cp.sum(x)), [x <= 1])
    x.value = np.ones(1)
    problem.constraints[0].save_dual_value(np.array([4.0]))
    assert residuals(problem).stationarity == pytest.approx(1.0 / 5.0)


def test_gaps_of_lower_and_upper_bounds_add_up():
    """The gradient is (1, -1): the distances 1 to the lower bound and 2 to the upper bound are the gap."""
    x = cp.Variable(2, bounds=[0, 3])
    problem = cp.Problem(cp.Minimize(x[0] - x[1]))
    x.save_value(np.ones(2))
    assert residuals(problem) == Residuals(0.0, 0.0, 0.0, 3.0)


def test_the_gradient_of_a_scalar_with_a_parameter():
    """CVXPY returns it as a number."""
    x = cp.Variable()
    slope = cp.Parameter(value=2.0)
    problem = cp.Problem(cp.Minimize(-6 * x), [slope * x <= 4])
    x.value = 2.0
    problem.constraints[0].save_dual_value(np.array(3.0))
    assert residuals(problem).worst == 0.0
    slope.value = 1.0
    assert residuals(problem).stationarity == pytest.approx(3.0 / 6.0)


def test_eigenvalues_are_relative_to_the_largest_size_of_an_entry():
    X = cp.Variable((2, 2), PSD=True)
    problem = cp.Problem(cp.Minimize(cp.sum_squares(X)))
    X.save_value(np.diag([1.0, -3.0]))
    assert residuals(problem).primal == pytest.approx(3.0 / (1 + 3.0))
    X = cp.Variable((2, 2), symmetric=True)
    problem = cp.Problem(cp.Minimize(cp.sum_squares(X)), [X >> 0])
    X.save_value(np.eye(2))
    problem.constraints[0].save_dual_value(np.diag([1.0, -3.0]))
    assert residuals(problem).dual == pytest.approx(3.0 / (1 + 3.0))


@pytest.mark.parametrize("made", [lambda x: x >= 1, lambda x: 1 - x <= 0, lambda x: cp.NonNeg(x - 1)])
def test_inequalities_of_every_form(made):
    """The dual variables 2 and 2 cancel the gradient of the objective; a negative one leaves its cone."""
    x = cp.Variable(2)
    problem = cp.Problem(cp.Minimize(cp.sum_squares(x)), [made(x)])
    x.value = np.ones(2)
    problem.constraints[0].save_dual_value(np.array([2.0, 2.0]))
    assert residuals(problem) == Residuals(0.0, 0.0, 0.0, 0.0)
    problem.constraints[0].save_dual_value(np.array([2.0, -3.0]))
    assert residuals(problem).dual == pytest.approx(3.0 / (1 + 3.0))


def test_the_text_says_what_was_not_computed():
    nan = float("nan")
    text = str(Residuals(primal=0.5, dual=nan, stationarity=nan, gap=2e-9))
    assert text == "primal 5.0e-01, dual not computed, stationarity not computed, gap 2.0e-09"


def test_one_variable_without_a_value_is_infinitely_bad():
    x = cp.Variable()
    z = cp.Variable()
    x.value = 1.0
    assert residuals(cp.Problem(cp.Minimize(cp.square(x) + cp.square(z)))) == Residuals(*[np.inf] * 4)


def test_every_entry_of_a_matrix_has_its_own_bound():
    X = cp.Variable((2, 2), bounds=[np.zeros((2, 2)), np.array([[1.0, 2.0], [3.0, 4.0]])])
    problem = cp.Problem(cp.Minimize(cp.sum_squares(X)))
    X.save_value(np.array([[1.0, 2.0], [3.0, 4.0]]))
    assert residuals(problem).primal == 0.0
    X.save_value(np.array([[1.0, 3.0], [2.0, 4.0]]))
    assert residuals(problem).primal == pytest.approx(1.0 / (1 + 3.0))


@pytest.mark.parametrize("made", [lambda x: x[:0] >= 1, lambda x: cp.NonNeg(x[:0])])
def test_constraints_and_variables_without_entries_have_no_residual(made):
    x = cp.Variable(2)
    empty = cp.Variable(0)
    problem = cp.Problem(cp.Minimize(cp.sum_squares(x) + cp.sum(empty)), [made(x)])
    x.value = np.zeros(2)
    empty.value = np.zeros(0)
    problem.constraints[0].save_dual_value(np.zeros(0))
    assert residuals(problem) == Residuals(0.0, 0.0, 0.0, 0.0)


def test_a_violation_is_relative_to_the_larger_side():
    x = cp.Variable(1)
    x.value = np.array([0.5])
    assert residuals(cp.Problem(cp.Minimize(cp.sum(x)), [x >= 1])).primal == pytest.approx(0.5 / (1 + 1))
    x.value = np.array([-0.5])
    assert residuals(cp.Problem(cp.Minimize(cp.sum(x)), [x <= -1])).primal == pytest.approx(0.5 / (1 + 1))


def test_the_gap_of_a_semidefinite_variable_cancels_no_other_gap():
    """X = diag(-1, 0) has the gradient diag(2, 1), and the constraint has the product 1 (-1 - 3)."""
    X = cp.Variable((2, 2), PSD=True)
    problem = cp.Problem(cp.Minimize(cp.trace(X)), [X[0, 0] <= 3])
    X.save_value(np.diag([-1.0, 0.0]))
    problem.constraints[0].save_dual_value(np.array(1.0))
    assert residuals(problem).gap == pytest.approx((2.0 + 4.0) / (1 + 1.0))
