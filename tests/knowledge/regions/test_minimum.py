"""Branch and bound: the least value lies between its bounds."""

import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel

from priorsvm import RBF
from priorsvm.function.fitted import FittedKernel
from priorsvm.function.scale import Scale
from priorsvm.knowledge.regions.cover import Cover, interpolation_error
from priorsvm.knowledge.regions.minimum import Corners, Expansion, minimum, proven_minimum
from priorsvm.knowledge.regions.requirement import Requirement
from priorsvm.knowledge.regions.sets import BoxSet, EllipsoidSet, PolyhedronSet

BOX = BoxSet(np.array([-1.0, 2.0]), np.array([1.0, 2.5]))
KITE = PolyhedronSet(
    np.array([[1.0, 1.0], [-1.0, 0.0], [0.0, -1.0], [1.0, 0.0]]), np.array([1.0, 0.3, 0.0, 0.8])
)
DISC = EllipsoidSet(np.array([1.0, 1.0]), np.array([[0.5, 0.2], [0.0, 0.3]]))
SETS = {"box": BOX, "kite": KITE, "disc": DISC}


def sampled(s, n=3000, seed=0):
    low, high = s.box
    points = np.random.default_rng(seed).uniform(low, high, size=(n, len(low)))
    return points[s.contains(points)]


def radius(cells):
    return cells.squared_radius(np.ones(cells.corners.shape[2]))


def wave(X):
    return np.sin(5 * X[:, 0]) + np.cos(3 * X[:, 1] + X[:, 0])


def wave_error(cells):
    """Second derivatives along unit vectors are at most 25 + 10."""
    return 0.5 * 35 * radius(cells)


def lowest(value, points):
    """The lowest of some points, and its value."""
    i = np.argmin(value(points))
    return points[i], float(value(points)[i])


@pytest.mark.slow
@pytest.mark.parametrize("name", ["box", "kite", "disc"])
def test_minimum_lies_between_its_bounds(name):
    s = SETS[name]
    low, high = s.box
    axes = [np.linspace(a, b, 1500) for a, b in zip(low, high, strict=True)]
    dense = np.stack(np.meshgrid(*axes), axis=-1).reshape(-1, 2)
    dense = dense[s.contains(dense)]
    known = dense[[np.argmin(wave(dense)), 0]]
    found = minimum(s, Corners(wave, wave_error), lowest(wave, known), np.ones(2), 1e-3, 10**6)
    assert found.high - found.low <= 1e-3 + 1e-12
    assert found.low - 1e-9 <= wave(dense).min() <= found.high + 1e-3
    assert wave(found.where[None])[0] == pytest.approx(found.high, abs=1e-12)
    assert s.contains(found.where[None], 1e-7).all()


def test_a_minimum_out_of_reach_keeps_honest_bounds():
    counts = []
    bound = Corners(wave, wave_error)
    found = minimum(BOX, bound, lowest(wave, BOX.points(4)), np.ones(2), 1e-9, 10, counts.append)
    assert found.high - found.low > 1e-3
    assert found.low <= wave(sampled(BOX, 200_000)).min() <= found.high + 1e-9
    assert found.cells == sum(counts) <= 10


def test_minimum_of_a_kernel_expansion(rng):
    centres, beta = rng.uniform(-1, 2, size=(6, 2)), rng.normal(size=6)
    size = np.sqrt(beta @ rbf_kernel(centres, gamma=2.0) @ beta)

    def f(X):
        return rbf_kernel(X, centres, gamma=2.0) @ beta

    dense = sampled(KITE, 400_000)
    bound = Corners(f, lambda c: size * interpolation_error(c, RBF(2.0), None))
    found = minimum(KITE, bound, lowest(f, dense), np.ones(2), 1e-4)
    assert found.low <= f(dense).min() + 1e-12
    assert found.high - found.low <= 1.001e-4


@pytest.mark.parametrize("name", ["box", "kite", "disc"])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_an_expansion_bounds_f_with_fewer_cells(name, sign, rng):
    """f(x) >= bound in every cell, and the least value takes fewer cells than corners do."""
    s = SETS[name]
    X = sampled(s, 60)
    weights = np.where(wave(X) > np.median(wave(X)), 1.0, -1.0)
    f = FittedKernel(0.2, RBF(2.0), X, weights, Scale.of("standard", X))
    unit = f.scale.width

    def value(Z):
        return sign * f.value(Z)

    bound = Expansion(f, sign, value)
    cells = Cover.of(s, unit, lambda c: c.squared_radius(unit), 0.05, 300).cells[:60]
    shares = rng.dirichlet(np.full(cells.corners.shape[1], 0.7), size=100)
    inside = np.einsum("sc,ncd->nsd", shares, cells.corners)
    seen = value(inside.reshape(-1, 2)).reshape(len(cells), -1).min(axis=1)
    found = bound(cells)
    assert (found.bounds <= np.minimum(seen, found.values) + 1e-12).all()
    np.testing.assert_allclose(value(found.points), found.values)
    start = lowest(value, sampled(s, 20_000))
    corners = Corners(value, lambda c: f.length * interpolation_error(c, f.kernel, f.scale))
    by_middles, by_corners = (minimum(s, way, start, unit, 5e-4) for way in (bound, corners))
    for least in (by_middles, by_corners):
        assert least.low <= start[1]
        assert least.high - least.low <= 5.001e-4
    assert by_middles.cells < 0.5 * by_corners.cells


@pytest.mark.parametrize("direction", [None, np.array([0.5, 0.0])])
def test_the_least_value_is_proven(direction, rng):
    box = BoxSet(np.array([-1.0, -0.5]), np.array([1.0, 1.5]))
    grid = box.grid(90_000)
    X = rng.normal(size=(12, 2))
    f = FittedKernel(0.2, RBF(0.5), X, rng.normal(size=12), Scale.of("standard", X))
    requirement = Requirement(box, 1.0, 0.0, direction)
    found = proven_minimum(f, requirement, grid[::1000], 200_000)
    least = requirement.excess(f, grid).min()
    assert found.low <= least + 1e-12
    assert found.high == pytest.approx(least, abs=2e-3)
    assert found.high - found.low <= 2e-4
