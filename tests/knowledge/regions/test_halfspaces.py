"""Projections onto polyhedra, against quadratic programmes."""

import cvxpy as cp
import numpy as np
import pytest

from priorsvm.knowledge.regions.halfspaces import Halfspaces


def polyhedron(rng, d, count):
    """Return bounds and some further halfspaces that contain a common point."""
    low = -rng.random(d)
    high = rng.random(d)
    A = rng.normal(size=(count, d))
    A /= np.linalg.norm(A, axis=1, keepdims=True)
    inside = low + rng.random(d) * (high - low)
    B = np.vstack([np.eye(d), -np.eye(d), A])
    return B, np.concatenate([high, -low, A @ inside + 0.05])


def nearest(B, d, z):
    x = cp.Variable(len(z))
    cp.Problem(cp.Minimize(cp.sum_squares(x - z)), [B @ x <= d]).solve(
        solver="CLARABEL", tol_gap_abs=1e-12, tol_gap_rel=1e-12, tol_feas=1e-12
    )
    return x.value


@pytest.mark.parametrize("count", [0, 1, 2])
@pytest.mark.parametrize("d", [1, 3, 8])
def test_nearest_points(d, count):
    rng = np.random.default_rng(10 * d + count)
    B, right = polyhedron(rng, d, count if d > 1 else 0)
    Z = rng.normal(size=(12, d)) * rng.choice([0.3, 3.0], size=(12, 1))
    found = Halfspaces(B, right)(Z)
    assert (found @ B.T <= right + 1e-9).all()
    expected = [nearest(B, right, z) for z in Z]
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_points_inside_stay():
    rng = np.random.default_rng(0)
    B, right = polyhedron(rng, 4, 3)
    project = Halfspaces(B, right)
    inside = project(rng.normal(size=(50, 4)))
    inside = inside[(inside @ B.T <= right).all(axis=1)]
    assert len(inside)
    np.testing.assert_array_equal(project(inside), inside)


def test_a_fixed_column_and_open_columns():
    B = np.array([[1.0, 0.0, 0.0], [-1.0, 0.0, 0.0], [0.6, 0.8, 0.0]])
    project = Halfspaces(B, np.array([0.5, -0.5, 0.0]))  # x0 = 0.5, so x1 <= -0.375
    found = project(np.array([[3.0, 2.0, 7.0], [0.0, -4.0, -9.0]]))
    np.testing.assert_allclose(found, [[0.5, -0.375, 7.0], [0.5, -4.0, -9.0]], atol=1e-12)


def test_one_halfspace_takes_one_turn(monkeypatch):
    """With bounds as halfspaces in turn, a fit in ten columns took up to seventeen times as long."""
    rng = np.random.default_rng(1)
    B, right = polyhedron(rng, 10, 1)
    turns = []
    cycle = Halfspaces._cycle

    def counted(self, Z, duals):
        turns.append(len(Z))
        return cycle(self, Z, duals)

    monkeypatch.setattr(Halfspaces, "_cycle", counted)
    found = Halfspaces(B, right)(rng.normal(size=(200, 10)))
    assert len(turns) == 1
    assert (found @ B.T <= right + 1e-12).all()
