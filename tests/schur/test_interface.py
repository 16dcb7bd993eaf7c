"""Whole problems, against Clarabel and the definition of optimal."""

import cvxpy as cp
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

from priorsvm.schur.cones import cones_from_dims
from priorsvm.schur.definitions import Dims
from priorsvm.schur.interface import SCHUR, solve

campaign = pytest.importorskip("benchmarks.campaign")


@pytest.mark.parametrize("seed", range(25))
def test_answers_are_those_of_clarabel_and_optimal_by_definition(seed, programme):
    P, q, A, b, dims = data = programme(seed)
    ours = solve(*data)
    theirs = campaign.by_clarabel(*data)
    assert ours.status == "Solved"
    assert ours.obj_val == pytest.approx(theirs.obj_val, rel=1e-7, abs=1e-7)
    assert_allclose(P @ ours.x + q + A.T @ ours.z, 0, atol=1e-6)
    s = b - A @ ours.x
    assert abs(s @ ours.z) < 1e-5
    cones, order = cones_from_dims(dims.nonneg, dims.soc, dims.psd)
    for vector in (s, ours.z):
        assert cones.min_eigenvalue(vector[2:][order]) > -1e-7
    # P is positive definite here, so x is the only one; z too where the multipliers are.
    assert_allclose(ours.x, theirs.x, atol=1e-4)
    if np.linalg.matrix_rank(A.toarray()[np.abs(ours.z) > 1e-4]) == np.sum(np.abs(ours.z) > 1e-4):
        assert_allclose(ours.z, theirs.z, atol=1e-3)


def test_an_infeasible_problem_has_a_certificate():
    # x ≥ 1 and x ≤ 0, and a cone that has nothing to do with it.
    A = sparse.csc_array([[-1.0, 0.0], [1.0, 0.0], [0.0, -1.0], [0.0, 0.0]])
    b = np.array([-1.0, 0.0, 0.0, 0.5])
    dims = Dims(zero=0, nonneg=2, soc=[2], psd=[])
    answer = solve(sparse.csc_array((2, 2)), np.array([0.0, 1.0]), A, b, dims)
    assert answer.status == "PrimalInfeasible"
    assert_allclose(A.T @ answer.z, 0, atol=1e-7)
    assert b @ answer.z < -0.1


def test_an_unbounded_problem_has_a_certificate():
    A = sparse.csc_array([[-1.0, 0.0], [0.0, -1.0]])
    b = np.zeros(2)
    dims = Dims(zero=0, nonneg=2, soc=[], psd=[])
    answer = solve(sparse.csc_array((2, 2)), np.array([-1.0, 1.0]), A, b, dims)
    assert answer.status == "DualInfeasible"
    assert np.array([-1.0, 1.0]) @ answer.x < 0
    assert (A @ answer.x).max() < 1e-7


def test_contradicting_equations_are_infeasible():
    A = sparse.csc_array([[1.0], [1.0], [-1.0]])
    dims = Dims(zero=2, nonneg=1, soc=[], psd=[])
    answer = solve(sparse.csc_array((1, 1)), np.ones(1), A, np.array([1.0, 2.0, 0.0]), dims)
    assert answer.status == "PrimalInfeasible"


def identity(dims):
    cones, order = cones_from_dims(dims.nonneg, dims.soc, dims.psd)
    e = np.zeros(len(order))
    e[order] = 5 * cones.identity()
    return np.r_[0.0, e]


@pytest.mark.parametrize(
    ("dims", "b"),
    [
        (Dims(zero=1, nonneg=2, soc=[], psd=[]), [0.0, -1.0, 1.0]),
        (Dims(zero=1, nonneg=0, soc=[2], psd=[]), [0.0, 1.0, 2.0]),
        (Dims(zero=1, nonneg=0, soc=[], psd=[2]), [0.0, 1.0, 2.0, 1.0]),
    ],
)
def test_a_cone_that_equations_determine_is_checked(dims, b):
    """x = 0 leaves constants in the cones, which are not in them."""
    A = sparse.csc_array(np.ones((len(b), 1)))
    answer = solve(sparse.csc_array((1, 1)), np.ones(1), A, np.array(b), dims)
    assert answer.status == "PrimalInfeasible"
    assert_allclose(A.T @ answer.z, 0, atol=1e-12)
    assert np.array(b) @ answer.z < 0
    held = solve(
        sparse.csc_array((1, 1)), np.ones(1), A, np.abs(b) * [0, *[1] * (len(b) - 1)] + identity(dims), dims
    )
    assert held.status == "Solved"
    assert_allclose(held.x, 0, atol=1e-12)
    assert_allclose(1 + A.T @ held.z, 0, atol=1e-12)


def equations_and_inequalities(seed):
    """A quadratic programme with a known answer."""
    rng = np.random.default_rng(seed)
    n = 12
    k = 6
    E = rng.normal(size=(k, n))
    B = rng.normal(size=(10, n))
    x = rng.normal(size=n)
    s = np.r_[np.zeros(5), rng.random(5)]
    z = np.r_[rng.random(5), np.zeros(5)]
    R = rng.normal(size=(n, n))
    P = R.T @ R
    y = rng.normal(size=k)
    q = -P @ x - E.T @ y - B.T @ z
    dims = Dims(zero=k, nonneg=10, soc=[], psd=[])
    A = np.vstack([E, B])
    b = np.r_[E @ x, B @ x + s]
    return (sparse.csc_array(P), q, sparse.csc_array(A), b, dims), x, np.r_[y, z]


@pytest.mark.slow
@pytest.mark.parametrize("seed", [290, 87, 6, 26, *range(40)])
def test_dense_equations_cost_no_digits(seed):
    data, x, z = equations_and_inequalities(seed)
    answer = solve(*data)
    assert answer.status == "Solved"
    assert_allclose(answer.x, x, atol=1e-5)
    assert_allclose(answer.z, z, atol=1e-4)


@pytest.mark.parametrize("scale", [1e-10, 1e-6, 1.0, 1e6])
def test_the_size_of_the_objective_does_not_matter(scale):
    dims = Dims(zero=0, nonneg=1, soc=[], psd=[])
    answer = solve(
        sparse.csc_array([[scale]]), np.array([-scale]), sparse.csc_array([[-1.0]]), np.zeros(1), dims
    )
    assert answer.x[0] == pytest.approx(1.0, abs=1e-4)


@pytest.mark.parametrize("large", [1e6, 1e8])
def test_small_numbers_beside_large_ones_count(large):
    dims = Dims(zero=0, nonneg=3, soc=[], psd=[])
    A = sparse.csc_array([[large, 1e-4], [-1.0, 0.0], [0.0, -1.0]])
    answer = solve(sparse.csc_array((2, 2)), np.array([0.0, -1.0]), A, np.array([1.0, 0.0, 0.0]), dims)
    assert answer.obj_val == pytest.approx(-1e4, rel=1e-4)


def test_equations_of_different_size_are_not_infeasible():
    rng = np.random.default_rng(19)
    n = 60
    E = rng.normal(size=(50, n))
    x = rng.random(n)
    size = 10 ** rng.uniform(-6, 6, 50)
    A = np.vstack([E * size[:, None], -np.eye(n)])
    b = np.r_[E @ x * size, np.zeros(n)]
    dims = Dims(zero=50, nonneg=n, soc=[], psd=[])
    assert (
        solve(sparse.csc_array((n, n)), np.ones(n), sparse.csc_array(A), b, dims).status != "PrimalInfeasible"
    )


def test_a_large_semidefinite_cone():
    side = 16
    k = side * (side + 1) // 2
    dims = Dims(zero=0, nonneg=0, soc=[], psd=[side])
    eye = sparse.eye_array(k, format="csc")
    answer = solve(eye, -np.ones(k), -eye, np.zeros(k), dims)
    theirs = campaign.by_clarabel(eye, -np.ones(k), -eye, np.zeros(k), dims)
    assert answer.obj_val == pytest.approx(theirs.obj_val, rel=1e-7)


def test_entries_given_twice_are_added():
    A = sparse.csc_array(([1.0, 1.0, -1.0], [0, 0, 1], [0, 3]), shape=(2, 1))
    dims = Dims(zero=0, nonneg=2, soc=[], psd=[])
    answer = solve(sparse.csc_array((1, 1)), np.array([-1.0]), A, np.array([4.0, 0.0]), dims)
    assert answer.x[0] == pytest.approx(2.0, abs=1e-6)


def test_a_certificate_holds_in_the_units_of_the_data():
    """Three semidefinite rows, columns of 1e-4 and 1e4, feasible by construction."""
    rng = np.random.default_rng(137)
    size = np.array([1e-4, 1e4, 1e-4])
    root = 2**0.5
    A = rng.normal(size=(11, 3)) * size
    x = rng.normal(size=3)
    b = A @ x
    g = rng.normal(size=3)
    b[2:5] += rng.random(3)
    outer = [g[0] ** 2, root * g[0] * g[1], g[1] ** 2, root * g[0] * g[2], root * g[1] * g[2], g[2] ** 2]
    b[5:] += outer
    dims = Dims(zero=2, nonneg=3, soc=[], psd=[3])
    answer = solve(np.zeros((3, 3)), rng.normal(size=3) * size, A, b, dims)
    assert answer.status != "PrimalInfeasible"


@pytest.mark.parametrize("seed", range(5))
def test_equations_that_fix_the_objective(seed):
    rng = np.random.default_rng(seed)
    E = rng.normal(size=(2, 6))
    G = rng.normal(size=(2, 6))
    x = rng.normal(size=6)
    q = E.T @ rng.normal(size=2)
    dims = Dims(zero=2, nonneg=2, soc=[], psd=[])
    answer = solve(np.zeros((6, 6)), q, np.vstack([E, G]), np.concatenate([E @ x, G @ x + 1]), dims)
    assert answer.status == "Solved"
    assert answer.obj_val == pytest.approx(q @ x, rel=1e-8)


def test_a_gap_is_not_small_because_of_a_constant():
    """What the equation adds to the objective is a million times as large as the objective."""
    rng = np.random.default_rng(525)
    E = rng.normal(size=(1, 3))
    x = rng.normal(size=3)
    w = rng.normal(size=3)
    P = 1e6 * np.outer(w, w)
    q = -P @ x + rng.normal(size=3)
    A = np.vstack([E, np.eye(3), -np.eye(3)])
    b = np.concatenate([E @ x, np.full(6, 3.0)])
    answer = solve(P, q, A, b, Dims(zero=1, nonneg=6, soc=[], psd=[]))
    gap = abs(answer.x @ P @ answer.x + q @ answer.x + b @ answer.z)
    assert answer.status != "Solved" or gap <= 1e-6 * abs(answer.obj_val)


@pytest.mark.parametrize("where", ["P", "q", "A", "b"])
def test_entries_that_are_not_finite_are_refused(where):
    data = dict(zip(("P", "q", "A", "b"), (np.eye(2), np.ones(2), np.eye(2), np.ones(2)), strict=True))
    data[where] = data[where] * np.nan
    with pytest.raises(ValueError, match=rf"{where} .*finite"):
        solve(*data.values(), Dims(zero=0, nonneg=2, soc=[], psd=[]))


def test_cones_without_rows():
    dims = Dims(zero=0, nonneg=1, soc=[0, 0], psd=[0])
    assert solve(np.eye(1), -np.ones(1), np.ones((1, 1)), np.full(1, 0.5), dims).x == pytest.approx([0.5])


def test_too_few_steps_are_reported(programme):
    data = programme(0)
    assert solve(*data, max_iter=2).status == "MaxIterations"


@pytest.mark.parametrize("factor", [1e-6, 1e6])
def test_units_do_not_matter(factor, programme):
    P, q, A, b, dims = programme(3)
    plain = solve(P, q, A, b, dims)
    for scaled in (solve(P * factor, q * factor, A, b, dims), solve(P, q, A * factor, b * factor, dims)):
        assert scaled.status == "Solved"
        assert_allclose(scaled.x, plain.x, atol=1e-5)


def test_cvxpy_uses_it_for_any_problem():
    x = cp.Variable(3)
    problem = cp.Problem(cp.Minimize(cp.sum_squares(x - 1) + cp.norm(x)), [cp.sum(x) == 1, x >= 0])
    value = problem.solve(solver=SCHUR())
    assert value == pytest.approx(problem.solve(solver="CLARABEL"), rel=1e-7)
