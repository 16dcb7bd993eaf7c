"""SCHUR part by part against dense algebra, and as a whole against Clarabel and the definition of optimal."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import cvxpy as cp
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import linalg, sparse

from priorsvm import Box, ClassCosts, MonotonicityHint, PriorSVC, UncertainSamples
from priorsvm.errors import Infeasible, InvalidInput, SolverFailed
from priorsvm.schur.cones import Nonnegative, SecondOrder, Semidefinite, cones_from_dims
from priorsvm.schur.groups import as_slice, shared_columns, stack_groups
from priorsvm.schur.interface import SCHUR, solve
from priorsvm.schur.method import minimise
from priorsvm.schur.mixed import MixedMatrix
from priorsvm.schur.newton import Newton, _triangular, _triangulate, _Wide
from priorsvm.schur.partition import NARROW, Partition
from priorsvm.schur.presolve import Inconsistent, reduce

campaign = pytest.importorskip("benchmarks.campaign")


def inside(batch, rng):
    """Points in the middle of their cones."""
    x = rng.normal(size=(batch.k, batch.n))
    return x + (0.3 - np.minimum(batch.min_eigenvalue(x), 0)) * batch.identity()


@pytest.fixture(
    params=[Nonnegative(0, 7, 1), SecondOrder(0, 5, 4), SecondOrder(0, 3, 20), Semidefinite(0, 4, 3)],
    ids=lambda b: f"{type(b).__name__} of {b.k}",
)
def batch(request):
    found = request.param
    rng = np.random.default_rng(0)
    found.s, found.z = inside(found, rng), inside(found, rng)
    found.update_scaling(found.s, found.z)
    return found


# ---------------------------------------------------------------------- cones


def test_the_scaled_point_is_the_same_from_both_sides(batch):
    assert_allclose(batch.W(batch.z), batch.lam, atol=1e-12)
    assert_allclose(batch.Wt_inverse(batch.s), batch.lam, atol=1e-12)
    assert_allclose(batch.Wt(batch.W(batch.z)), batch.s, atol=1e-12)


def test_maps_are_transposed_and_inverse_to_each_other(batch):
    rng = np.random.default_rng(1)
    a, b = rng.normal(size=(2, batch.k, batch.n))
    assert_allclose((batch.W(a) * b).sum(axis=0), (a * batch.Wt(b)).sum(axis=0), atol=1e-12)
    assert_allclose(batch.Wt_inverse(batch.Wt(a)), a, atol=1e-12)
    assert_allclose(batch.WtW(a), batch.Wt(batch.W(a)), atol=1e-12)
    assert_allclose(batch.WtW_inverse(batch.WtW(a)), a, atol=1e-12)
    few = np.array([0, 2])
    assert_allclose(
        np.einsum("ijn,jn->in", batch.Wt_inverse_matrices(few), a[:, few]),
        batch.Wt_inverse(a)[:, few],
        atol=1e-12,
    )


def test_the_scaling_of_a_second_order_cone_is_the_formula_of_the_books():
    """W² = η²(2ww' − J) maps z to s, and is positive definite with W its square root."""
    batch, rng = SecondOrder(0, 1, 6), np.random.default_rng(3)
    s, z = inside(batch, rng), inside(batch, rng)
    batch.update_scaling(s, z)
    J = np.diag([1.0, *[-1.0] * 5])
    square = batch.eta[0] ** 2 * (2 * batch.w @ batch.w.T - J)
    assert_allclose(square @ z, s, atol=1e-12)
    assert batch.w[:, 0] @ J @ batch.w[:, 0] == pytest.approx(1.0, abs=1e-12)
    W = np.linalg.inv(batch.Wt_inverse_matrices(slice(None))[:, :, 0])
    assert_allclose(W, linalg.sqrtm(square), atol=1e-10)


def test_division_undoes_the_product(batch):
    b = np.random.default_rng(1).normal(size=(batch.k, batch.n))
    assert_allclose(batch.product(batch.lam, batch.divide(b)), b, atol=1e-12)
    assert_allclose(batch.product(batch.identity(), b), b, atol=1e-14)


def test_a_step_ends_where_the_cone_does(batch):
    d = np.random.default_rng(2).normal(size=(batch.k, batch.n))
    step = batch.step_length(d)
    assert batch.min_eigenvalue(batch.lam + 0.999999 * step * d).min() > 0
    assert batch.min_eigenvalue(batch.lam + 1.000001 * step * d).min() < 0
    assert batch.step_length(batch.lam) == np.inf
    assert batch.min_eigenvalue_of_lam() == pytest.approx(batch.min_eigenvalue(batch.lam).min())


# ---------------------------------------------------------------------- equations


def equations(seed):
    rng = np.random.default_rng(seed)
    n, m, cones = 12, int(rng.integers(1, 6)), 9
    E = rng.normal(size=(m, n)) * (rng.random((m, n)) < 0.5)
    E[0, 0] = 1.0
    if seed % 3 == 0:
        E = np.vstack([E, E[0] + E[-1]])  # says nothing new
    F = rng.normal(size=(n, 6)) * (rng.random((n, 6)) < 0.4)
    return (
        F @ F.T,
        rng.normal(size=n),
        E,
        E @ rng.normal(size=n),
        rng.normal(size=(cones, n)),
        rng.normal(size=cones),
    )


@pytest.mark.parametrize("seed", range(30))
def test_without_equations_it_is_the_same_problem(seed):
    P, q, E, e, A, b = equations(seed)
    less = reduce(sparse.csr_array(P), q, sparse.csr_array(E), e, sparse.csr_array(A), b)
    assert len(less.q) == len(q) - np.linalg.matrix_rank(E)
    rng = np.random.default_rng(seed)
    values = []
    for _ in range(3):
        short = rng.normal(size=len(less.q))
        x = less.full(short)
        assert_allclose(E @ x, e, atol=1e-10)
        assert_allclose(A @ x - b, less.A @ short - less.b, atol=1e-10)
        full = 0.5 * x @ P @ x + q @ x
        values.append(full - (0.5 * short @ (less.P @ short) + less.q @ short))
        assert_allclose(E @ less.full(short, homogeneous=True), 0, atol=1e-10)
    assert_allclose(values, values[0], atol=1e-9)


def test_equations_without_a_solution_come_with_a_proof():
    E, e = np.array([[1.0, 1.0, 0.0], [0.0, 1.0, 1.0], [1.0, 2.0, 1.0]]), np.array([1.0, 1.0, 3.0])
    zero = sparse.csr_array((3, 3))
    with pytest.raises(Inconsistent) as caught:
        reduce(zero, np.zeros(3), sparse.csr_array(E), e, sparse.csr_array((0, 3)), np.zeros(0))
    y = caught.value.multipliers
    assert_allclose(E.T @ y, 0, atol=1e-12)
    assert e @ y < -1e-3


def test_positive_and_negative_parts_become_one_shared_variable():
    rng = np.random.default_rng(0)
    K, n = rng.normal(size=(40, 30)), 30
    A = np.vstack([np.hstack([K, -K]), -np.eye(2 * n)])
    less = reduce(
        sparse.csr_array((60, 60)),
        np.ones(60),
        sparse.csr_array((0, 60)),
        np.zeros(0),
        sparse.csr_array(A),
        np.ones(100),
    )
    assert sorted(np.concatenate(less.twins)) == list(range(60))
    y = rng.normal(size=60)
    x = less.full(y)
    assert_allclose(less.A @ y, A @ x, atol=1e-12)
    assert less.q @ y == pytest.approx(x.sum())
    cones, _ = cones_from_dims(100, [], [])
    shared, _ = shared_columns(less.A, less.P, cones)
    assert shared.sum() == n


# ---------------------------------------------------------------------- groups and the linear system


def test_slacks_are_private_and_weights_are_shared():
    n, d = 30, 3
    X = np.random.default_rng(0).normal(size=(n, d))
    A = sparse.csr_array(np.block([[-X, -np.eye(n)], [np.zeros((n, d)), -np.eye(n)]]))
    cones, _ = cones_from_dims(2 * n, [], [])
    shared, group = shared_columns(A, sparse.diags_array(np.r_[np.ones(d), np.zeros(n)]), cones)
    assert shared.tolist() == [True] * d + [False] * n
    assert_allclose(group[:n], group[n:])
    assert len(np.unique(group)) == n


def random_system(seed):
    """P, A and cones with shared and private variables, and equal rows of cones of all kinds."""
    rng = np.random.default_rng(seed)
    orders, sides = [3] * int(rng.integers(0, 4)) + [5] * 2, [2] * int(rng.integers(0, 3))
    nonnegative = int(rng.integers(4, 20))
    rows = nonnegative + sum(orders) + sum(k * (k + 1) // 2 for k in sides)
    shared, private = int(rng.integers(2, 6)), int(rng.integers(0, 8))
    A = np.hstack([rng.normal(size=(rows, shared)), np.zeros((rows, private))])
    for j in range(private):
        A[rng.integers(rows, size=2), shared + j] = rng.normal(size=2)
    F = rng.normal(size=(shared, shared))
    P = linalg.block_diag(F @ F.T, np.diag(rng.random(private) + 0.1))
    cones, order = cones_from_dims(nonnegative, orders, sides)
    return P, A[order], cones, rng


@pytest.mark.parametrize("careful", [False, True])
@pytest.mark.parametrize("seed", range(20))
def test_a_step_solves_the_whole_system(seed, careful):
    P, A, cones, rng = random_system(seed)
    e = cones.identity()
    cones.update_scaling(
        *(e * rng.uniform(0.5, 2) + 0.1 * rng.uniform(-1, 1, size=cones.size) for _ in range(2))
    )
    parted = Partition(sparse.csr_array(P), sparse.csr_array(A), cones)
    newton = Newton(parted, cones)
    newton.factor(careful)
    P, A = P[parted.columns][:, parted.columns], A[:, parted.columns]  # shared variables first
    r1, r2 = rng.normal(size=len(P)), rng.normal(size=len(A))
    x, z, Ax = newton.solve(r1, r2)
    W = np.column_stack([cones.Wt(cones.W(column)) for column in np.eye(cones.size)])
    whole = np.block([[P, A.T], [A, -W]])
    assert_allclose(np.r_[x, z], np.linalg.solve(whole, np.r_[r1, r2]), rtol=1e-8, atol=1e-9)
    assert_allclose(Ax, A @ x, atol=1e-10)
    assert_allclose(parted.times_A(x), A @ x, atol=1e-12)
    assert_allclose(parted.times_At(z), A.T @ z, atol=1e-12)
    assert_allclose(parted.times_P(x), P @ x, atol=1e-12)


def wide_system(seed, r):
    """Cones of 20 entries with a private first one, beside inequalities; sparse where r is large."""
    rng = np.random.default_rng(seed)
    g, k = 4, 20
    cones, order = cones_from_dims(2 * g, [k] * g, [])
    rows = 2 * g + g * k
    shared = rng.normal(size=(rows, r))
    if r > NARROW:
        shared *= rng.random((rows, r)) < 0.05
    bounds = np.zeros((rows, g))  # t_i: in one inequality, one bound and the first entry of its cone
    for i in range(g):
        bounds[[i, g + i, 2 * g + i * k], i] = 1.0, -1.0, -1.0
    shared[g : 2 * g] = 0.0
    shared[2 * g :: k] = 0.0
    A = np.hstack([shared, bounds])
    F = rng.normal(size=(r, r)) / np.sqrt(r)
    return linalg.block_diag(F @ F.T, np.zeros((g, g))), A[order], cones, rng


@pytest.mark.parametrize("careful", [False, True])
@pytest.mark.parametrize(("r", "gram"), [(6, True), (50, False), (80, False)])
def test_wide_cones_are_two_rows_and_what_is_perpendicular(r, gram, careful):
    P, A, cones, rng = wide_system(0, r)
    s, z = np.empty(cones.size), np.empty(cones.size)
    for batch in cones.batches:
        for vector in (s, z):
            batch.part(vector)[...] = inside(batch, rng)
    cones.update_scaling(s, z)
    parted = Partition(sparse.csr_array(P), sparse.csr_array(A), cones)
    newton = Newton(parted, cones)
    [[wide]] = [part.wide for part in newton.parts if part.private]
    assert (wide.gram is not None) == gram
    assert (wide.A1 is None) == (r > NARROW)
    newton.factor(careful)
    P, A = P[parted.columns][:, parted.columns], A[:, parted.columns]
    r1, r2 = rng.normal(size=len(P)), rng.normal(size=len(A))
    x, solved_z, _ = newton.solve(r1, r2)
    W = np.column_stack([cones.WtW(column) for column in np.eye(cones.size)])
    known = np.linalg.solve(np.block([[P, A.T], [A, -W]]), np.r_[r1, r2])
    assert_allclose(np.r_[x, solved_z], known, rtol=1e-7, atol=1e-8 * np.abs(known).max())


def test_the_scaling_of_a_wide_cone_is_that_of_two_entries():
    """In the plane of t and u the scaling is that of the cone (t, u'x); what is perpendicular is over η."""
    batch, rng = SecondOrder(0, 3, 15), np.random.default_rng(0)
    batch.update_scaling(inside(batch, rng), inside(batch, rng))
    wide = _Wide(batch, slice(None), np.arange(42).reshape(14, 3), None)
    small, whole = wide.turn(), batch.Wt_inverse_matrices(slice(None))
    for i in range(3):
        Q = linalg.block_diag(1.0, wide.u[:, i : i + 1])
        assert_allclose(Q.T @ whole[:, :, i] @ Q, small[:, :, i], atol=1e-12)
        rest = np.eye(15) - Q @ Q.T
        assert_allclose(rest @ whole[:, :, i], rest / batch.eta[i], atol=1e-12)
        assert_allclose(1 / batch.eta[i] ** 2, wide.weight[i], rtol=1e-14)


def test_small_matrices_are_reflected_and_solved_all_at_once():
    G = np.random.default_rng(0).normal(size=(5, 4, 6))
    turned = G.copy()
    _triangulate(turned, 3)
    for i in range(6):
        assert_allclose(np.tril(turned[:, :3, i], -1), 0, atol=1e-14)
        assert_allclose(turned[:, :, i].T @ turned[:, :, i], G[:, :, i].T @ G[:, :, i], atol=1e-13)
    R, b = turned[:3, :3], G[:3, 3]
    for transposed in (False, True):
        solved = _triangular(R, b.copy(), transposed)
        for i in range(6):
            known = linalg.solve_triangular(R[:, :, i], b[:, i], trans=int(transposed))
            assert_allclose(solved[:, i], known, rtol=1e-10)


def test_groups_that_look_alike_are_stacked():
    """Six rows with a slack each, two of which have no shared variable; and three rows without slack."""
    slack = np.zeros((15, 6))
    slack[range(6), range(6)], slack[range(6, 12), range(6)] = -2.0, -1.0
    active = np.ones(15, bool)
    active[6:12] = active[:2] = False
    cones, _ = cones_from_dims(15, [], [])
    group = np.r_[0:6, 0:6, 6:9]
    found = stack_groups(sparse.csr_array(slack), cones, group, active, np.ones(9, bool))
    sizes = sorted((c.own.shape, len(c.active)) for c in found)
    assert sizes == [((1, 0, 3), 1), ((2, 1, 2), 0), ((2, 1, 4), 1)]
    for c in found:
        for i in range(c.own.shape[2]):
            assert_allclose(c.own[:, :, i], slack[np.ix_(c.rows[:, i], c.private[:, i])])


def test_places_are_slices_where_they_can_be():
    assert as_slice(np.array([3, 4, 5])) == slice(3, 6)
    assert_allclose(as_slice(np.array([3, 5, 4])), [3, 5, 4])
    assert len(as_slice(np.empty(0, int))) == 0


@pytest.mark.parametrize("r", [5, 90])
def test_parts_have_the_largest_numbers_of_rows_and_columns(r):
    P, A, cones, rng = wide_system(1, r)
    parted = Partition(sparse.csr_array(P), sparse.csr_array(A), cones)
    left, right = rng.uniform(0.5, 2, size=len(A)), rng.uniform(0.5, 2, size=len(P))
    P, A = P[parted.columns][:, parted.columns], A[:, parted.columns]
    rows, columns, of_P = parted.maxima(left, right)
    P, A = right[:, None] * P * right, left[:, None] * A * right
    for found, known in (
        (rows, abs(A).max(axis=1)),
        (columns, abs(A).max(axis=0)),
        (of_P, abs(P).max(axis=1)),
    ):
        assert_allclose(found, known, atol=1e-14)
    parted.scale(left, right, 3.0)
    x, z = rng.normal(size=len(P)), rng.normal(size=len(A))
    assert_allclose(parted.times_A(x), A @ x, atol=1e-12)
    assert_allclose(parted.times_At(z), A.T @ z, atol=1e-12)
    assert_allclose(parted.times_P(x), 3 * P @ x, atol=1e-12)


# ---------------------------------------------------------------------- whole problems


def test_a_dense_block_beside_a_sparse_matrix_is_the_same_problem():
    """Margins of a linear machine, written sparse and as a block."""
    rng = np.random.default_rng(0)
    n, d = 60, 4
    X, y = rng.normal(size=(n, d)), np.where(np.arange(n) % 2, 1.0, -1.0)
    X[:, 0] += y
    block, own = -y[:, None] * X, np.vstack([-np.eye(n), -np.eye(n)])
    none = np.zeros((n, d))
    q, b = np.r_[np.zeros(d), np.ones(n)], np.r_[-np.ones(n), np.zeros(n)]
    P = np.diag(np.r_[np.ones(d), np.zeros(n)])
    columns = np.arange(d)
    mixed = (
        MixedMatrix(sparse.csr_array(np.hstack([np.zeros((2 * n, d)), own])), np.arange(n), columns, block),
        MixedMatrix(sparse.csr_array(P * (np.arange(n + d) >= d)), columns, columns, np.eye(d)),
    )
    A = sparse.csr_array(np.hstack([np.vstack([block, none]), own]))
    points = [
        minimise(quadratic, q, rows, b, cones_from_dims(2 * n, [], [])[0], 1e-9, 50)
        for rows, quadratic in ((A, sparse.csr_array(P)), mixed)
    ]
    assert [point.status for point in points] == ["optimal", "optimal"]
    assert_allclose(points[0].x, points[1].x, atol=1e-8)
    assert_allclose(points[0].z, points[1].z, atol=1e-6)


def programme(seed):
    """A feasible and bounded problem with all kinds of cones."""
    P, A, cones, rng = random_system(seed)
    nonnegative = cones.batches[0].n
    orders = [b.k for b in cones.batches if isinstance(b, SecondOrder) for _ in range(b.n)]
    sides = [b.side for b in cones.batches if isinstance(b, Semidefinite) for _ in range(b.n)]
    x, s, z = (
        rng.normal(size=len(P)),
        cones.identity() * rng.uniform(0.5, 2),
        cones.identity() * rng.uniform(0.5, 2),
    )
    order = cones_from_dims(nonnegative, orders, sides)[1]
    A, s, z = (part[np.argsort(order)] for part in (A, s, z))  # rows as CVXPY has them
    E = rng.normal(size=(2, len(P)))
    dims = SimpleNamespace(zero=2, nonneg=nonnegative, soc=orders, psd=sides, exp=0, p3d=[], pnd=[])
    q = -P @ x - A.T @ z - E.T @ rng.normal(size=2)
    return sparse.csc_array(P), q, sparse.csc_array(np.vstack([E, A])), np.r_[E @ x, A @ x + s], dims


@pytest.mark.parametrize("seed", range(25))
def test_answers_are_those_of_clarabel_and_optimal_by_definition(seed):
    P, q, A, b, dims = data = programme(seed)
    ours, theirs = solve(*data), campaign.by_clarabel(*data)
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


def test_an_infeasible_problem_is_proven_to_be():
    # x ≥ 1 and x ≤ 0, and a cone that has nothing to do with it.
    A = sparse.csc_array([[-1.0, 0.0], [1.0, 0.0], [0.0, -1.0], [0.0, 0.0]])
    b, dims = np.array([-1.0, 0.0, 0.0, 0.5]), SimpleNamespace(zero=0, nonneg=2, soc=[2], psd=[])
    answer = solve(sparse.csc_array((2, 2)), np.array([0.0, 1.0]), A, b, dims)
    assert answer.status == "PrimalInfeasible"
    assert_allclose(A.T @ answer.z, 0, atol=1e-7)
    assert b @ answer.z < -0.1


def test_an_unbounded_problem_is_proven_to_be():
    A, b = sparse.csc_array([[-1.0, 0.0], [0.0, -1.0]]), np.zeros(2)
    dims = SimpleNamespace(zero=0, nonneg=2, soc=[], psd=[])
    answer = solve(sparse.csc_array((2, 2)), np.array([-1.0, 1.0]), A, b, dims)
    assert answer.status == "DualInfeasible"
    assert np.array([-1.0, 1.0]) @ answer.x < 0
    assert (A @ answer.x).max() < 1e-7


def test_contradicting_equations_are_infeasible():
    A = sparse.csc_array([[1.0], [1.0], [-1.0]])
    dims = SimpleNamespace(zero=2, nonneg=1, soc=[], psd=[])
    answer = solve(sparse.csc_array((1, 1)), np.ones(1), A, np.array([1.0, 2.0, 0.0]), dims)
    assert answer.status == "PrimalInfeasible"


@pytest.mark.parametrize(
    ("dims", "b"),
    [
        (SimpleNamespace(zero=1, nonneg=2, soc=[], psd=[]), [0.0, -1.0, 1.0]),
        (SimpleNamespace(zero=1, nonneg=0, soc=[2], psd=[]), [0.0, 1.0, 2.0]),
        (SimpleNamespace(zero=1, nonneg=0, soc=[], psd=[2]), [0.0, 1.0, 2.0, 1.0]),
    ],
)
def test_a_cone_that_equations_leave_no_choice_is_checked(dims, b):
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


# ---------------------------------------------------------------------- what the campaign judges by


@pytest.mark.parametrize("seed", range(8))
def test_conditions_of_optimality_see_what_is_wrong(seed):
    """Both solvers' answers meet them; none does whose x, z, or sign of a multiplier is changed."""
    data = programme(seed)
    dims = data[-1]
    ours, theirs = solve(*data), campaign.by_clarabel(*data)
    assert campaign.optimality(ours, *data) < 1e-7
    assert campaign.optimality(theirs, *data) < 1e-7
    rng = np.random.default_rng(seed)
    for part in ("x", "z"):
        moved = getattr(ours, part) + 1e-3 * rng.normal(size=len(getattr(ours, part)))
        assert campaign.optimality(replace(ours, **{part: moved}), *data) > 1e-6
    # Cone by cone: a point on the other side of its boundary is outside, by what it lacks.
    cones, order = cones_from_dims(dims.nonneg, dims.soc, dims.psd)
    v = np.zeros(len(order))
    v[order] = cones.identity()
    v = np.concatenate([np.zeros(dims.zero), v])
    one = np.ones(len(v))
    assert campaign.outside(v, one, dims, equations=True) == 0
    assert campaign.outside(-v, one, dims) == pytest.approx(1.0)
    for first in (dims.zero, dims.zero + dims.nonneg):
        moved = v.copy()
        moved[first] -= 1.5
        assert campaign.outside(moved, one, dims) == pytest.approx(0.5)
    assert campaign.outside(v + 2.0 * (np.arange(len(v)) == 0), one, dims, equations=True) == pytest.approx(
        2.0
    )


def test_a_proof_has_to_prove():
    A, b = sparse.csc_array([[-1.0], [1.0]]), np.array([-1.0, 0.0])  # x ≥ 1 and x ≤ 0
    dims = SimpleNamespace(zero=0, nonneg=2, soc=[], psd=[])
    data = sparse.csc_array((1, 1)), np.ones(1), A, b, dims
    answer = solve(*data)
    assert campaign.proof(answer, *data) < 1e-8
    for z in ([1.0, 0.0], [-1.0, -1.0], [0.0, 1.0], [2.0, 1.0]):
        assert campaign.proof(replace(answer, z=np.array(z)), *data) > 0.1


def identity(dims):
    cones, order = cones_from_dims(dims.nonneg, dims.soc, dims.psd)
    e = np.zeros(len(order))
    e[order] = 5 * cones.identity()
    return np.r_[0.0, e]


def equations_and_inequalities(seed):
    """A quadratic programme with a known answer."""
    rng = np.random.default_rng(seed)
    n, k = 12, 6
    E, B, x = rng.normal(size=(k, n)), rng.normal(size=(10, n)), rng.normal(size=n)
    s, z = np.r_[np.zeros(5), rng.random(5)], np.r_[rng.random(5), np.zeros(5)]
    R = rng.normal(size=(n, n))
    P, y = R.T @ R, rng.normal(size=k)
    q = -P @ x - E.T @ y - B.T @ z
    dims = SimpleNamespace(zero=k, nonneg=10, soc=[], psd=[])
    A, b = np.vstack([E, B]), np.r_[E @ x, B @ x + s]
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
    dims = SimpleNamespace(zero=0, nonneg=1, soc=[], psd=[])
    answer = solve(
        sparse.csc_array([[scale]]), np.array([-scale]), sparse.csc_array([[-1.0]]), np.zeros(1), dims
    )
    assert answer.x[0] == pytest.approx(1.0, abs=1e-4)


@pytest.mark.parametrize("large", [1e6, 1e8])
def test_small_numbers_beside_large_ones_count(large):
    dims = SimpleNamespace(zero=0, nonneg=3, soc=[], psd=[])
    A = sparse.csc_array([[large, 1e-4], [-1.0, 0.0], [0.0, -1.0]])
    answer = solve(sparse.csc_array((2, 2)), np.array([0.0, -1.0]), A, np.array([1.0, 0.0, 0.0]), dims)
    assert answer.obj_val == pytest.approx(-1e4, rel=1e-4)


def test_equations_of_different_size_are_no_contradiction():
    rng = np.random.default_rng(19)
    n = 60
    E, x, size = rng.normal(size=(50, n)), rng.random(n), 10 ** rng.uniform(-6, 6, 50)
    A, b = np.vstack([E * size[:, None], -np.eye(n)]), np.r_[E @ x * size, np.zeros(n)]
    dims = SimpleNamespace(zero=50, nonneg=n, soc=[], psd=[])
    assert (
        solve(sparse.csc_array((n, n)), np.ones(n), sparse.csc_array(A), b, dims).status != "PrimalInfeasible"
    )


def test_a_large_semidefinite_cone():
    side = 16
    k = side * (side + 1) // 2
    dims, eye = SimpleNamespace(zero=0, nonneg=0, soc=[], psd=[side]), sparse.eye_array(k, format="csc")
    answer = solve(eye, -np.ones(k), -eye, np.zeros(k), dims)
    theirs = campaign.by_clarabel(eye, -np.ones(k), -eye, np.zeros(k), dims_with(dims))
    assert answer.obj_val == pytest.approx(theirs.obj_val, rel=1e-7)


def dims_with(dims):
    return SimpleNamespace(**vars(dims), exp=0, p3d=[], pnd=[])


def test_entries_given_twice_are_added():
    A = sparse.csc_array(([1.0, 1.0, -1.0], [0, 0, 1], [0, 3]), shape=(2, 1))
    dims = SimpleNamespace(zero=0, nonneg=2, soc=[], psd=[])
    answer = solve(sparse.csc_array((1, 1)), np.array([-1.0]), A, np.array([4.0, 0.0]), dims)
    assert answer.x[0] == pytest.approx(2.0, abs=1e-6)


@pytest.mark.parametrize("C", [1e-8, 1e-6, 1e6])
def test_small_and_large_costs(rows, C):
    ours, known = PriorSVC(C=C, solver="SCHUR").fit(*rows), PriorSVC(C=C, solver="CLARABEL").fit(*rows)
    assert ours.objective_ == pytest.approx(known.objective_, rel=1e-6)


def test_a_proof_of_infeasibility_holds_in_the_units_of_the_data():
    """Three semidefinite rows, columns of 1e-4 and 1e4, feasible by construction."""
    rng, size, root = np.random.default_rng(137), np.array([1e-4, 1e4, 1e-4]), 2**0.5
    A, x = rng.normal(size=(11, 3)) * size, rng.normal(size=3)
    b, g = A @ x, rng.normal(size=3)
    b[2:5] += rng.random(3)
    outer = [g[0] ** 2, root * g[0] * g[1], g[1] ** 2, root * g[0] * g[2], root * g[1] * g[2], g[2] ** 2]
    b[5:] += outer
    dims = SimpleNamespace(zero=2, nonneg=3, soc=[], psd=[3])
    answer = solve(np.zeros((3, 3)), rng.normal(size=3) * size, A, b, dims)
    assert answer.status != "PrimalInfeasible"


@pytest.mark.parametrize("seed", range(5))
def test_equations_that_fix_the_objective(seed):
    rng = np.random.default_rng(seed)
    E, G, x = rng.normal(size=(2, 6)), rng.normal(size=(2, 6)), rng.normal(size=6)
    q, dims = E.T @ rng.normal(size=2), SimpleNamespace(zero=2, nonneg=2, soc=[], psd=[])
    answer = solve(np.zeros((6, 6)), q, np.vstack([E, G]), np.concatenate([E @ x, G @ x + 1]), dims)
    assert answer.status == "Solved"
    assert answer.obj_val == pytest.approx(q @ x, rel=1e-8)


def test_a_gap_is_not_small_because_of_a_constant():
    """What the equation adds to the objective is a million times as large as the objective."""
    rng = np.random.default_rng(525)
    E, x, w = rng.normal(size=(1, 3)), rng.normal(size=3), rng.normal(size=3)
    P = 1e6 * np.outer(w, w)
    q = -P @ x + rng.normal(size=3)
    A, b = np.vstack([E, np.eye(3), -np.eye(3)]), np.concatenate([E @ x, np.full(6, 3.0)])
    answer = solve(P, q, A, b, SimpleNamespace(zero=1, nonneg=6, soc=[], psd=[]))
    gap = abs(answer.x @ P @ answer.x + q @ answer.x + b @ answer.z)
    assert answer.status != "Solved" or gap <= 1e-6 * abs(answer.obj_val)


@pytest.mark.parametrize("where", ["P", "q", "A", "b"])
def test_numbers_that_are_none_are_refused(where):
    data = dict(zip(("P", "q", "A", "b"), (np.eye(2), np.ones(2), np.eye(2), np.ones(2)), strict=True))
    data[where] = data[where] * np.nan
    with pytest.raises(ValueError, match=rf"{where} .*finite"):
        solve(*data.values(), SimpleNamespace(zero=0, nonneg=2, soc=[], psd=[]))


def test_cones_without_rows():
    dims = SimpleNamespace(zero=0, nonneg=1, soc=[0, 0], psd=[0])
    assert solve(np.eye(1), -np.ones(1), np.ones((1, 1)), np.full(1, 0.5), dims).x == pytest.approx([0.5])


def test_too_few_steps_are_no_answer():
    data = programme(0)
    assert solve(*data, max_iter=2).status == "MaxIterations"


@pytest.mark.parametrize("factor", [1e-6, 1e6])
def test_units_do_not_matter(factor):
    P, q, A, b, dims = programme(3)
    plain = solve(P, q, A, b, dims)
    for scaled in (solve(P * factor, q * factor, A, b, dims), solve(P, q, A * factor, b * factor, dims)):
        assert scaled.status == "Solved"
        assert_allclose(scaled.x, plain.x, atol=1e-5)


# ---------------------------------------------------------------------- in the library


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    return X, (X[:, 0] + 0.3 * rng.normal(size=40) > 0).astype(int)


PRIOR = ClassCosts({1: 2.0}) + Box({0: (1.0, 2.0)}, 1) + MonotonicityHint({1: 1})


@pytest.mark.slow
@pytest.mark.parametrize("norm", ["l1", "l2"])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_machines_are_those_of_clarabel(rows, kernel, norm):
    X, _ = rows
    ours, theirs = (
        PriorSVC(PRIOR, kernel=kernel, norm=norm, solver=s).fit(*rows) for s in ("SCHUR", "CLARABEL")
    )
    assert ours.solver_ == "SCHUR"
    assert ours.status_ == "optimal"
    assert ours.objective_ == pytest.approx(theirs.objective_, rel=1e-7)
    assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-4)
    assert max(ours.history_[0]["gap"], 0) < 1e-6
    prices = [[row.price for row in model.report_.rows] for model in (ours, theirs)]
    assert_allclose(*prices, atol=1e-2)


def test_cones_of_uncertain_rows(rows):
    models = [PriorSVC(UncertainSamples(0.1 * np.eye(3)), solver=s).fit(*rows) for s in ("SCHUR", "CLARABEL")]
    assert models[0].objective_ == pytest.approx(models[1].objective_, rel=1e-7)


def test_a_conflict_is_named(rows):
    both = Box({0: (1.0, 2.0)}, 1, hard=True).named("yes") + Box({0: (1.0, 2.0)}, 0, hard=True).named("no")
    with pytest.raises(Infeasible, match=r"'yes'.*'no'"):
        PriorSVC(both, solver="SCHUR").fit(*rows)


def test_options_are_its_own(rows):
    with pytest.raises(InvalidInput, match=r"not take these solver_options: eps\. It takes: tol, max_iter"):
        PriorSVC(PRIOR, solver="SCHUR", solver_options={"eps": 1}).fit(*rows)
    with pytest.raises(InvalidInput, match="max_iter=-1"):
        PriorSVC(PRIOR, solver="SCHUR", solver_options={"max_iter": -1}).fit(*rows)
    with pytest.raises(SolverFailed, match=r"iteration limit reached.*primal \d"):
        PriorSVC(PRIOR, solver="SCHUR", solver_options={"max_iter": 1}).fit(*rows)


def test_cvxpy_takes_it_for_any_problem():
    x = cp.Variable(3)
    problem = cp.Problem(cp.Minimize(cp.sum_squares(x - 1) + cp.norm(x)), [cp.sum(x) == 1, x >= 0])
    value = problem.solve(solver=SCHUR())
    assert value == pytest.approx(problem.solve(solver="CLARABEL"), rel=1e-7)


@pytest.mark.slow
def test_a_slice_of_the_campaign():
    outcomes = {row["outcome"]: row["count"] for row in campaign.campaign(quick=True)}
    assert sum(outcomes.values()) == campaign.QUICK
    assert not any("WRONG" in kind for kind in outcomes)
    assert sum(count for kind, count in outcomes.items() if "did not converge" in kind) <= 1
