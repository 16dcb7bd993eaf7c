"""Random points, linear systems and programmes with known structure."""

import numpy as np
import pytest
from scipy import linalg, sparse

from priorsvm.schur.cones import SecondOrder, Semidefinite, cones_from_dims
from priorsvm.schur.definitions import Dims
from priorsvm.schur.partition import NARROW


def _interior_points(batch, rng):
    """Points in the middle of their cones."""
    x = rng.normal(size=(batch.k, batch.n))
    return x + (0.3 - np.minimum(batch.min_eigenvalue(x), 0)) * batch.identity()


def _random_system(seed):
    """P, A and cones with shared and private variables, and equal rows of cones of all kinds."""
    rng = np.random.default_rng(seed)
    orders = [3] * int(rng.integers(0, 4)) + [5] * 2
    sides = [2] * int(rng.integers(0, 3))
    nonnegative = int(rng.integers(4, 20))
    rows = nonnegative + sum(orders) + sum(k * (k + 1) // 2 for k in sides)
    shared = int(rng.integers(2, 6))
    private = int(rng.integers(0, 8))
    A = np.hstack([rng.normal(size=(rows, shared)), np.zeros((rows, private))])
    for j in range(private):
        A[rng.integers(rows, size=2), shared + j] = rng.normal(size=2)
    F = rng.normal(size=(shared, shared))
    P = linalg.block_diag(F @ F.T, np.diag(rng.random(private) + 0.1))
    cones, order = cones_from_dims(nonnegative, orders, sides)
    return P, A[order], cones, rng


def _wide_system(seed, r):
    """Cones of 20 entries with a private first one, beside inequalities; sparse where r is large."""
    rng = np.random.default_rng(seed)
    g = 4
    k = 20
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


def _programme(seed):
    """A feasible and bounded problem with all kinds of cones."""
    P, A, cones, rng = _random_system(seed)
    nonnegative = cones.batches[0].n
    orders = [b.k for b in cones.batches if isinstance(b, SecondOrder) for _ in range(b.n)]
    sides = [b.side for b in cones.batches if isinstance(b, Semidefinite) for _ in range(b.n)]
    x = rng.normal(size=len(P))
    s = cones.identity() * rng.uniform(0.5, 2)
    z = cones.identity() * rng.uniform(0.5, 2)
    order = cones_from_dims(nonnegative, orders, sides)[1]
    A, s, z = (part[np.argsort(order)] for part in (A, s, z))  # rows as CVXPY has them
    E = rng.normal(size=(2, len(P)))
    dims = Dims(2, nonnegative, orders, sides)
    q = -P @ x - A.T @ z - E.T @ rng.normal(size=2)
    return sparse.csc_array(P), q, sparse.csc_array(np.vstack([E, A])), np.r_[E @ x, A @ x + s], dims


@pytest.fixture
def interior_points():
    return _interior_points


@pytest.fixture
def random_system():
    return _random_system


@pytest.fixture
def wide_system():
    return _wide_system


@pytest.fixture
def programme():
    return _programme
