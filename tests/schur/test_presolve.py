"""Elimination of equations: the same problem in fewer variables."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

from priorsvm.schur.cones import cones_from_dims
from priorsvm.schur.groups import shared_columns
from priorsvm.schur.presolve import Inconsistent, KeptVariablesTied, reduce


def equations(seed):
    rng = np.random.default_rng(seed)
    n = 12
    m = int(rng.integers(1, 6))
    cones = 9
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
    reduced = reduce(sparse.csr_array(P), q, sparse.csr_array(E), e, sparse.csr_array(A), b)
    assert len(reduced.q) == len(q) - np.linalg.matrix_rank(E)
    rng = np.random.default_rng(seed)
    values = []
    for _ in range(3):
        short = rng.normal(size=len(reduced.q))
        x = reduced.recover(short)
        assert_allclose(E @ x, e, atol=1e-10)
        assert_allclose(A @ x - b, reduced.A @ short - reduced.b, atol=1e-10)
        full = 0.5 * x @ P @ x + q @ x
        values.append(full - (0.5 * short @ (reduced.P @ short) + reduced.q @ short))
        assert_allclose(E @ reduced.recover(short, homogeneous=True), 0, atol=1e-10)
    assert_allclose(values, values[0], atol=1e-9)


def test_inconsistent_equations_have_a_certificate():
    E = np.array([[1.0, 1.0, 0.0], [0.0, 1.0, 1.0], [1.0, 2.0, 1.0]])
    e = np.array([1.0, 1.0, 3.0])
    zero = sparse.csr_array((3, 3))
    with pytest.raises(Inconsistent) as caught:
        reduce(zero, np.zeros(3), sparse.csr_array(E), e, sparse.csr_array((0, 3)), np.zeros(0))
    y = caught.value.duals
    assert_allclose(E.T @ y, 0, atol=1e-12)
    assert e @ y < -1e-3


def test_positive_and_negative_parts_become_one_shared_variable():
    rng = np.random.default_rng(0)
    K = rng.normal(size=(40, 30))
    n = 30
    A = np.vstack([np.hstack([K, -K]), -np.eye(2 * n)])
    reduced = reduce(
        sparse.csr_array((60, 60)),
        np.ones(60),
        sparse.csr_array((0, 60)),
        np.zeros(0),
        sparse.csr_array(A),
        np.ones(100),
    )
    assert sorted(np.concatenate(reduced.opposite)) == list(range(60))
    y = rng.normal(size=60)
    x = reduced.recover(y)
    assert_allclose(reduced.A @ y, A @ x, atol=1e-12)
    assert reduced.q @ y == pytest.approx(x.sum())
    cones, _ = cones_from_dims(100, [], [])
    shared, _ = shared_columns(reduced.A, reduced.P, cones)
    assert shared.sum() == n


def test_kept_variables_are_not_solved_for():
    E = sparse.csr_array([[1.0, -1.0, 2.0]])
    none = sparse.csr_array((3, 3))
    problem = none, np.zeros(3), E, np.ones(1), sparse.csr_array((0, 3)), np.zeros(0)
    reduced = reduce(*problem, kept=np.array([True, True, False]))
    assert reduced.kept.tolist() == [0, 1]
    with pytest.raises(KeptVariablesTied):
        reduce(*problem, kept=np.ones(3, bool))
