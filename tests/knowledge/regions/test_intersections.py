"""Common points of two sets, and paths from one set to another."""

import numpy as np
import pytest

from priorsvm.knowledge.regions.intersections import common_point, everything, joined, only_touch
from priorsvm.knowledge.regions.sets import BoxSet, EllipsoidSet, LevelSet, PolyhedronSet


def shifted(s, by):
    by = np.asarray(by, float)
    if isinstance(s, BoxSet):
        return BoxSet(s.low + by, s.high + by)
    if isinstance(s, PolyhedronSet):
        return PolyhedronSet(s.B, s.d + s.B @ by)
    if isinstance(s, EllipsoidSet):
        return EllipsoidSet(s.centre + by, s.A)
    return LevelSet(lambda X: s.g(X - by), s.low + by, s.high + by)


UNIT = {
    "box": BoxSet(-np.ones(2), np.ones(2)),
    "diamond": PolyhedronSet(np.array([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]]), np.ones(4)),
    "disc": EllipsoidSet(np.zeros(2), np.eye(2)),
    "cup": LevelSet(lambda X: (X**2).sum(axis=1, keepdims=True) - 1.0, -np.ones(2), np.ones(2)),
}
# How far each reaches along (1, 1) / sqrt(2) from its middle.
REACH = {"box": np.sqrt(2), "diamond": np.sqrt(0.5), "disc": 1.0, "cup": 1.0}


@pytest.mark.parametrize("one", UNIT)
@pytest.mark.parametrize("other", UNIT)
def test_sets_that_slide_apart(one, other):
    """Along the diagonal two sets meet until the sum of their reaches."""
    reach = REACH[one] + REACH[other]
    for part, meets in ((0.0, True), (0.9, True), (1.05, False), (3.0, False)):
        a, b = UNIT[one], shifted(UNIT[other], part * reach * np.sqrt([0.5, 0.5]))
        point = common_point(a, b)
        assert (point is not None) is meets, (part, point)
        if meets:
            assert a.contains(point[None], 1e-6).all()
            assert b.contains(point[None], 1e-6).all()


def test_open_sets_meet_too():
    left = BoxSet(np.array([-np.inf, -np.inf]), np.array([0.0, np.inf]))
    right = BoxSet(np.array([0.0, 1.0]), np.array([np.inf, np.inf]))
    np.testing.assert_allclose(common_point(left, right)[0], 0.0)
    wedge = PolyhedronSet(np.array([[-1.0, -1.0]]), np.array([-10.0]))
    point = common_point(left, wedge)
    assert point[0] <= 1e-9
    assert point.sum() >= 10 - 1e-9
    assert common_point(shifted(right, [0.1, 0.0]), left) is None


def as_polyhedron(box):
    return PolyhedronSet(*box.inequalities)


@pytest.mark.parametrize("seed", range(40))
def test_boxes_are_joined_column_by_column_as_a_linear_programme_joins_them(seed):
    rng = np.random.default_rng(seed)
    a, b, space = (
        BoxSet(*np.sort(np.round(rng.normal(size=(2, 3)) * reach, 1), axis=0)) for reach in (1.0, 1.0, 3.0)
    )
    along = np.diag(rng.choice([-2.0, 0.5], size=3))[rng.random(3) < 0.7]
    found, same = joined(a, b, along, space), joined(as_polyhedron(a), as_polyhedron(b), along, space)
    assert (found is None) == (same is None)
    for pair in (found, same) if found is not None else ():
        x, y = (point[None] for point in pair)
        assert a.contains(x, 1e-7)[0] and b.contains(y, 1e-7)[0]  # noqa: PT018
        assert space.contains(np.vstack([x, y]), 1e-7).all()
        sign = np.sign(along).sum(axis=0)
        assert np.all(np.where(sign == 0, np.abs(y - x) <= 1e-7, sign * (y - x) >= -1e-7))


def test_sets_of_other_kinds_are_joined_where_a_way_leads():
    left, right = EllipsoidSet(np.array([-1.0, 0.0]), 0.3 * np.eye(2)), BoxSet(np.ones(2), 2 * np.ones(2))
    ring = LevelSet(lambda X: (X**2).sum(axis=1, keepdims=True) - 0.25, -np.ones(2), np.ones(2))
    across, both = np.array([[1.0, 0.0]]), np.array([[1.0, 0.0], [0.0, 2.0]])
    anywhere = everything(2)
    assert joined(left, right, across, anywhere) is None
    x, y = joined(left, right, both, anywhere)
    assert left.contains(x[None], 1e-6)[0]
    assert right.contains(y[None], 1e-6)[0]
    assert np.all(y > x)
    assert joined(left, right, both, BoxSet(-np.ones(2), np.array([0.9, 2.0]))) is None  # the way is cut
    x, y = joined(left, ring, across, anywhere)
    assert ring.contains(y[None])[0]
    assert x[1] == y[1]
    assert joined(ring, left, across, anywhere) is None


def test_sets_that_only_touch():
    unit = BoxSet(np.zeros(2), np.array([1.0, 1e9]))
    beside, over = (
        BoxSet(np.array([1.0, 0.0]), np.array([2.0, 1e9])),
        BoxSet(np.full(2, 0.5), np.full(2, 2.0)),
    )
    assert only_touch(unit, beside)
    assert only_touch(as_polyhedron(unit), beside)
    assert not only_touch(unit, over)
    flat = BoxSet(np.array([0.5, 0.5]), np.array([0.5, 2.0]))  # has nothing but a border
    assert not only_touch(unit, flat)
