"""Cells that cover a set, and bounds on functions in them."""

import numpy as np
import pytest
from scipy.optimize import linprog

from priorsvm import RBF, Polynomial
from priorsvm.function.scale import Scale
from priorsvm.knowledge.regions.cover import Boxes, Cover, Simplices, first_cells, interpolation_error
from priorsvm.knowledge.regions.sets import BoxSet, EllipsoidSet, PolyhedronSet

BOX = BoxSet(np.array([-1.0, 2.0]), np.array([1.0, 2.5]))
KITE = PolyhedronSet(
    np.array([[1.0, 1.0], [-1.0, 0.0], [0.0, -1.0], [1.0, 0.0]]), np.array([1.0, 0.3, 0.0, 0.8])
)
DISC = EllipsoidSet(np.array([1.0, 1.0]), np.array([[0.5, 0.2], [0.0, 0.3]]))
SIMPLEX = PolyhedronSet(np.vstack([-np.eye(3), np.ones((1, 3))]), np.array([0.0, 0.0, 0.0, 1.0]))
SETS = {"box": BOX, "kite": KITE, "disc": DISC, "simplex": SIMPLEX}


def sampled(s, n=3000, seed=0):
    low, high = s.box
    points = np.random.default_rng(seed).uniform(low, high, size=(n, len(low)))
    return points[s.contains(points)]


def holds(cell, x):
    """Whether x is a mixture of a cell's corners."""
    A = np.vstack([cell.T, np.ones(len(cell))])
    return linprog(np.zeros(len(cell)), A_eq=A, b_eq=[*x, 1.0]).status == 0


def covered(cells, points):
    low, high = cells.corners.min(axis=1), cells.corners.max(axis=1)
    for x in points:
        near = np.flatnonzero(((low <= x + 1e-9) & (high >= x - 1e-9)).all(axis=1))
        if not any(holds(cells.corners[k], x) for k in near):
            return False
    return True


def radius(cells):
    return cells.squared_radius(np.ones(cells.corners.shape[2]))


@pytest.mark.slow
@pytest.mark.parametrize("name", SETS)
def test_the_first_cells_cover_the_set(name):
    cells = first_cells(SETS[name])
    assert isinstance(cells, Simplices if name in ("kite", "simplex") else Boxes)
    assert covered(cells, sampled(SETS[name], 300))
    if isinstance(cells, Simplices):
        assert SETS[name].contains(cells.corners.reshape(-1, cells.corners.shape[2]), 1e-9).all()


def test_thin_polyhedra_are_covered_by_their_box():
    thin = PolyhedronSet(
        np.array([[1.0, -1.0], [-1.0, 1.0], [1.0, 0.0], [-1.0, 0.0]]), np.array([0.0, 0, 1, 0])
    )
    cells = first_cells(thin)
    assert isinstance(cells, Boxes)
    np.testing.assert_allclose(cells.corners.reshape(-1, 2).min(axis=0), 0.0, atol=1e-9)
    np.testing.assert_allclose(cells.corners.reshape(-1, 2).max(axis=0), 1.0, atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("fine", [0.1, 0.01])
def test_every_point_is_covered_by_a_fine_cell(name, fine):
    s = SETS[name]
    cover = Cover.of(s, np.ones(len(s.box[0])), radius, fine, 10_000)
    assert (radius(cover.cells) <= fine).all()
    assert covered(cover.cells, sampled(s, 150))
    assert len(cover) == len(cover.cells)


@pytest.mark.slow
@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("limit", [1, 7, 50])
def test_a_limit_stops_the_splitting(name, limit):
    s = SETS[name]
    cover = Cover.of(s, np.ones(len(s.box[0])), radius, 0.0, limit)
    assert len(cover) <= max(2 * limit, len(first_cells(s)))
    assert covered(cover.cells, sampled(s, 100))


def test_halves_of_boxes_and_simplices_have_the_same_volume():
    boxes = first_cells(BOX)
    triangles = first_cells(KITE)

    def area(corners):
        a, b, c = np.moveaxis(corners, 1, 0)
        u, v = b - a, c - a
        return np.abs(u[:, 0] * v[:, 1] - u[:, 1] * v[:, 0]).sum() / 2

    # between x = -0.3 and 0.8 under x + y <= 1, above y = 0
    assert area(triangles.corners) == pytest.approx((1.3 + 0.2) / 2 * 1.1)
    before = area(triangles.corners)
    for _ in range(4):
        boxes, triangles = boxes.halved(np.ones(2), BOX), triangles.halved(np.ones(2), KITE)
        assert np.prod(boxes.high - boxes.low, axis=1).sum() == pytest.approx(1.0)
        assert area(triangles.corners) == pytest.approx(before)
    assert (len(boxes), len(boxes[:3]), len(boxes[:3] + boxes[5:])) == (16, 3, 14)


def test_units_say_which_side_is_the_longest():
    """In units of (10, 0.1) the second side is the longer one, though it is shorter in numbers."""
    halves = first_cells(BOX).halved(np.array([10.0, 0.1]), BOX)
    np.testing.assert_allclose(halves.high - halves.low, [[2.0, 0.25]] * 2)
    halves = first_cells(BOX).halved(np.ones(2), BOX)
    np.testing.assert_allclose(halves.high - halves.low, [[1.0, 0.5]] * 2)


@pytest.mark.parametrize("name", SETS)
def test_the_radius_bounds_the_spread_of_corners_around_any_point(name, rng):
    """sum lambda_i |v_i - x|^2 <= R^2 for x = sum lambda_i v_i."""
    s = SETS[name]
    d = len(s.box[0])
    unit = rng.uniform(0.2, 3.0, size=d)
    cells = Cover.of(s, unit, lambda c: c.squared_radius(unit), 0.05, 500).cells
    shares = rng.dirichlet(np.full(cells.corners.shape[1], 0.5), size=200)
    for corners, bound in zip(cells.corners[:40], cells.squared_radius(unit)[:40], strict=False):
        x = shares @ corners
        spread = (shares * (((corners[None] - x[:, None]) / unit) ** 2).sum(axis=2)).sum(axis=1)
        assert spread.max() <= bound * (1 + 1e-12)


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("kernel", [RBF(2.0), Polynomial(3, gamma=0.5, coef0=1.0)], ids=["rbf", "poly"])
@pytest.mark.parametrize("scaled", [False, True])
def test_corners_bound_f_in_the_cell(name, kernel, scaled, rng):
    """For random f = sum beta_i k(., z_i): f(x) >= least corner - error |g|, in every cell."""
    s = SETS[name]
    d = len(s.box[0])
    scale = Scale(rng.normal(size=d), rng.uniform(0.3, 2.0, size=d)) if scaled else None
    unit = np.ones(d) if scale is None else scale.width

    def inner(Z):
        return Z if scale is None else (Z - scale.shift) / scale.width

    cells = Cover.of(s, unit, lambda c: c.squared_radius(unit), 0.05, 300).cells[:60]
    error = interpolation_error(cells, kernel, scale)
    assert (error > 0).all()
    shares = rng.dirichlet(np.full(cells.corners.shape[1], 0.7), size=100)
    X = np.einsum("sc,ncd->nsd", shares, cells.corners)
    tightest = 0.0
    for _ in range(10):
        centres, beta = (
            inner(cells.corners.reshape(-1, d).mean(axis=0) + rng.normal(size=(4, d))),
            rng.normal(size=4),
        )
        size = np.sqrt(max(beta @ kernel(centres) @ beta, 0.0))
        corner_values = (kernel(inner(cells.corners.reshape(-1, d)), centres) @ beta).reshape(len(cells), -1)
        values = (kernel(inner(X.reshape(-1, d)), centres) @ beta).reshape(len(cells), -1)
        fall = corner_values.min(axis=1) - values.min(axis=1)
        assert (fall <= error * size + 1e-10).all()
        tightest = max(tightest, (fall / (error * size)).max())
    assert tightest > 0.01 or isinstance(kernel, Polynomial)  # the bound is not too loose


@pytest.mark.parametrize("name", SETS)
def test_corners_are_distinct_with_the_largest_error_around_them(name):
    s = SETS[name]
    cover = Cover.of(s, np.ones(len(s.box[0])), radius, 0.05, 300)
    flat = cover.cells.corners.reshape(-1, cover.corners.shape[1])
    assert {tuple(c) for c in cover.corners} == {tuple(c) for c in flat}
    assert len({tuple(c) for c in cover.corners}) == len(cover.corners)
    errors = radius(cover.cells)
    for corner, drop in zip(cover.corners, cover.drop, strict=True):
        around = (cover.cells.corners == corner).all(axis=2).any(axis=1)
        assert drop == errors[around].max()


def test_refining_splits_the_lowest_cells_only():
    cover = Cover.of(BOX, np.ones(2), radius, 0.05, 300)
    low = np.where(cover.corners[:, 0] < -0.9, -1.0, 1.0)
    finer = cover.refined(low, BOX, 10_000)
    left = cover.cells.low[:, 0] < -0.9 + 1e-12
    assert len(finer) == len(cover) + 3 * left.sum()
    assert covered(finer.cells, sampled(BOX, 200))
    assert len(cover.refined(low, BOX, len(cover))) == len(cover)  # no room
    assert len(cover.refined(np.ones_like(low), BOX, 10_000)) == len(cover)  # nothing to do
    assert len(cover.refined(-np.ones_like(low), BOX, len(cover) + 7)) <= len(cover) + 7


@pytest.mark.parametrize("name", SETS)
def test_quadratics_stay_above_their_bound_in_the_cell(name, rng):
    """And the bound is reached where the foot lies within a box, or the function is linear."""
    s = SETS[name]
    d = len(s.box[0])
    cells = Cover.of(s, np.ones(d), radius, 0.05, 300).cells[:40]
    slope, square = rng.normal(size=(len(cells), d)), rng.normal(size=(len(cells), d, d))
    shares = rng.dirichlet(np.full(cells.corners.shape[1], 0.3), size=2000)
    u = np.einsum("sc,ncd->nsd", shares, cells.corners - cells.middles[:, None])
    for curvature in (square + square.swapaxes(1, 2), square @ square.swapaxes(1, 2), 0 * square):
        values = np.einsum("nsd,nd->ns", u, slope) + np.einsum("nsd,nde,nse->ns", u, curvature, u) / 2
        assert (values.min(axis=1) >= cells.least_quadratic(slope, curvature) - 1e-12).all()
    at_corners = np.einsum("ncd,nd->nc", cells.corners - cells.middles[:, None], slope).min(axis=1)
    np.testing.assert_allclose(cells.least_quadratic(slope, 0 * square), at_corners, atol=1e-12)
    if isinstance(cells, Boxes):
        round_ = np.eye(d) * (2 / (cells.high - cells.low) ** 2)[:, None]
        steep = 0.3 * (cells.high - cells.low) * np.diagonal(round_, axis1=1, axis2=2)
        foot = -0.5 * np.sum(steep**2 / np.diagonal(round_, axis1=1, axis2=2), axis=1)
        np.testing.assert_allclose(cells.least_quadratic(steep, round_), foot, atol=1e-12)
