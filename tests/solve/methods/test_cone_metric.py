"""The metric of CONES: its forms agree with the matrix written plainly."""

from __future__ import annotations

import numpy as np
import pytest

from priorsvm.solve.methods.cone_margins import ConeMargins, Linearised
from priorsvm.solve.methods.cone_metric import Metric, SlopeMetric

RANK = np.array([1, 3, 0, 2, 1])


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture
def margins():
    y = np.where(np.arange(7) % 2, 1.0, -1.0)
    return ConeMargins(y, np.ones(7), np.full(7, 2.0), np.array([0, 1, 3, 4, 6]), RANK)


@pytest.fixture
def local(margins, rng):
    """Return linearised norms; the second row has one kink, and the last row is outside the margin."""
    s = rng.normal(size=RANK.sum())
    unit = 0.9 * s / margins.norms(s)[margins.owner] + 0.05 * rng.normal(size=len(s))
    alpha = np.array([1.0, 0.5, 2.0, 2.0, 1.5, 0.0, 0.0])
    return Linearised.of(margins, s, s, 0.1, unit, alpha)


def curvature(local):
    """Return W as one dense matrix, from its definition."""
    owner = local.problem.owner
    W = np.zeros((len(owner), len(owner)))
    for i in range(len(RANK)):
        of = np.flatnonzero(owner == i)
        u = local.unit[of]
        v = local.direction[of]
        W[np.ix_(of, of)] = local.weight[i] * (np.eye(len(of)) - 0.5 * (np.outer(u, v) + np.outer(v, u)))
    return W


def test_the_curvature_and_its_root(local, rng):
    W = curvature(local)
    s = rng.normal(size=len(W))
    np.testing.assert_allclose(local.curved(s), W @ s, atol=1e-12)
    root = local.root().toarray()
    np.testing.assert_allclose(root @ root.T, W, atol=1e-12)


def test_the_root_where_directions_are_equal_opposite_or_zero(margins):
    s = np.array([1.0, 0.6, 0.8, 0.0, 0.0, 0.0, -1.0])
    unit = np.array([-0.5, 0.6, 0.8, 0.0, 0.3, 0.4, -1.0])
    local = Linearised.of(margins, s, s, 1e-9, unit, np.ones(7))
    root = local.root().toarray()
    np.testing.assert_allclose(root @ root.T, curvature(local), rtol=1e-12, atol=1e-8)


@pytest.mark.parametrize("form", ["coordinates", "slopes"])
def test_both_forms_of_the_metric(local, rng, form):
    B = rng.normal(size=(RANK.sum(), 9))
    G = rng.normal(size=(7, 9))
    H = np.eye(9) + B.T @ curvature(local) @ B
    along = local.problem.grouped(local.direction) @ B
    metric = SlopeMetric.of(local, B) if form == "slopes" else Metric.of(local, B, along)
    c = rng.normal(size=9)
    np.testing.assert_allclose(metric.solved(c), np.linalg.solve(H, c), atol=1e-10)
    K = G @ np.linalg.solve(H, G.T)
    some = np.array([1, 2, 5])
    np.testing.assert_allclose(metric.matrix(G).among(some), K[np.ix_(some, some)], atol=1e-10)
    a = np.array([0.0, 1.0, 0.0, -2.0, 0.0, 0.0, 0.5])
    np.testing.assert_allclose(metric.matrix(G).times(a), K @ a, atol=1e-10)


def test_the_slopes_of_rows_outside_the_margin_are_not_part_of_the_matrix(local, rng):
    B = rng.normal(size=(RANK.sum(), 9))
    assert len(SlopeMetric.of(local, B).P) == RANK[local.alpha > 0].sum() == 6


def test_a_kink_is_linearised_at_the_slopes_of_its_dual_variables(margins):
    # The first row has a small slope and u inside the ball, the last row has a u on the sphere.
    s = np.array([1e-3, 0.6, 0.8, 0.0, 0.3, 0.4, 1e-3])
    unit = np.array([0.6, 0.6, 0.8, 0.0, 0.6, 0.8, 1.0])
    at = margins.at_kinks(s, unit, 1e-6)
    assert at[0] == pytest.approx(1e-6 * 0.6 / 0.8)
    np.testing.assert_array_equal(at[1:], s[1:])
    local = Linearised.of(margins, s, at, 1e-6, unit, np.ones(7))
    assert local.direction[0] == pytest.approx(0.6)
    # A change of the slope to 1e-6 u / sqrt(1 - u²) keeps the dual variable.
    change = at - s
    assert local.unit_after(change)[0] == pytest.approx(0.6)
    # The linearised norm is exact there.
    assert local.values[0] + 0.6 * change[0] == pytest.approx(np.hypot(at[0], 1e-6))


def test_flat_slopes_leave_the_identity(local, rng, capfd):
    """All curvature is so small that no slope is part of the matrix. BLAS prints no complaint about it."""
    B = 1e-9 * rng.normal(size=(RANK.sum(), 9))
    G = rng.normal(size=(7, 9))
    metric = SlopeMetric.of(local, B)
    assert len(metric.P) == 0
    np.testing.assert_allclose(metric.solved(G[0]), G[0])
    np.testing.assert_allclose(metric.matrix(G).among(np.arange(7)), G @ G.T)
    assert capfd.readouterr() == ("", "")
