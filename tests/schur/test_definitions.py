"""Problems with the definitions of values of f apart, against the expanded problem."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

from priorsvm.schur.definitions import Definition, Dims, StructuredProblem, solve_structured
from priorsvm.schur.interface import solve


def svm(rng, n=40, d=3, dense=True, explicit=True):
    """Columns: values g, slacks, coefficients c, bias. Rows: y g + slack >= 1, slack >= 0."""
    X = rng.normal(size=(n, d))
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=n) > 0, 1.0, -1.0)
    none = np.zeros((n, n))
    rest = np.zeros((2 * n, d + 1))
    A = np.hstack([np.vstack([-np.diag(y), none]), np.vstack([-np.eye(n), -np.eye(n)]), rest])
    q = np.concatenate([np.zeros(n), np.ones(n), np.zeros(d + 1)])
    b = np.concatenate([-np.ones(n), np.zeros(n)])
    matrix = X if dense else sparse.csr_array(X)
    return StructuredProblem(
        sparse.csr_array((len(q), len(q))),
        q,
        sparse.csr_array(A),
        b,
        Dims(0, 2 * n, [], []),
        2 * n + np.arange(d),
        None,
        2 * n + d,
        [Definition(np.arange(n), matrix, biased=True, explicit=explicit)],
        np.eye(d),
        None,
    )


@pytest.mark.parametrize("dense", [True, False])
def test_the_solution_is_that_of_the_expanded_problem(rng, dense):
    problem = svm(rng, dense=dense)
    found = solve_structured(problem)
    P, q, A, b, dims = problem.expanded()
    whole = solve(P, q, A, b, dims)
    assert found.status == whole.status == "Solved"
    assert found.obj_val == pytest.approx(whole.obj_val, rel=1e-8)
    assert_allclose(found.x, whole.x, atol=1e-6)
    # Its dual variables are those of the expanded problem, definitions included.
    assert_allclose(P @ found.x + q + A.T @ found.z, 0, atol=1e-7)


def test_a_product_in_place_of_its_variable_is_the_same_problem(rng):
    problem = svm(rng)
    problem.definitions = [replace(problem.definitions[0], biased=False)]
    other = replace(problem, definitions=[replace(problem.definitions[0], explicit=False)])
    assert len(other.expanded_columns) == len(problem.q) - 40
    assert other.expanded()[-1].zero == 0
    found = solve_structured(other)
    assert found.obj_val == pytest.approx(solve_structured(problem).obj_val, rel=1e-8)
    assert solve(*other.expanded()).obj_val == pytest.approx(found.obj_val, rel=1e-8)
    assert_allclose(other.expansion @ found.x[other.expanded_columns], found.x, atol=1e-12)


def test_values_tied_by_an_equation_are_solved_as_the_expanded_problem(rng):
    """g0 = g1 contains only values of f."""
    problem = svm(rng)
    row = sparse.csr_array(([1.0, -1.0], ([0, 0], [0, 1])), (1, len(problem.q)))
    tied = replace(
        problem,
        A=sparse.csr_array(sparse.vstack([row, problem.A])),
        b=np.append(0.0, problem.b),
        dims=replace(problem.dims, zero=1),
    )
    found = solve_structured(tied)
    assert found.status == "Solved"
    assert found.x[0] == pytest.approx(found.x[1], abs=1e-8)
    assert found.obj_val > solve_structured(problem).obj_val
