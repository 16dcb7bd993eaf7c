"""Shared and private variables, and stacks of groups."""

import numpy as np
from numpy.testing import assert_allclose
from scipy import sparse

from priorsvm.schur.cones import cones_from_dims
from priorsvm.schur.groups import as_slice, shared_columns, stack_groups


def test_slacks_are_private_and_weights_are_shared():
    n = 30
    d = 3
    X = np.random.default_rng(0).normal(size=(n, d))
    A = sparse.csr_array(np.block([[-X, -np.eye(n)], [np.zeros((n, d)), -np.eye(n)]]))
    cones, _ = cones_from_dims(2 * n, [], [])
    shared, group = shared_columns(A, sparse.diags_array(np.r_[np.ones(d), np.zeros(n)]), cones)
    assert shared.tolist() == [True] * d + [False] * n
    assert_allclose(group[:n], group[n:])
    assert len(np.unique(group)) == n


def test_groups_of_equal_structure_are_stacked():
    """Six rows with a slack each, two of which have no shared variable; and three rows without slack."""
    slack = np.zeros((15, 6))
    slack[range(6), range(6)] = -2.0
    slack[range(6, 12), range(6)] = -1.0
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


def test_consecutive_integers_are_a_slice():
    assert as_slice(np.array([3, 4, 5])) == slice(3, 6)
    assert_allclose(as_slice(np.array([3, 5, 4])), [3, 5, 4])
    assert len(as_slice(np.empty(0, int))) == 0
