"""plot.kernel."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from priorsvm import RBF, Bhattacharyya, FromFunction, HaarIntegration, plot
from priorsvm.errors import InvalidInput, InvalidType

from .artists import places, same_points, turned

pytestmark = pytest.mark.filterwarnings("error")


def test_contours_are_at_the_levels_of_the_kernel():
    ax = plot.kernel(RBF(1.5), [0.5, -0.2], extent=(-2, 2, -1, 1))
    shown = ax.collections[0]
    rims = [path.vertices for path in shown.get_paths()]
    value = RBF(1.5)(np.vstack([r for r in rims if len(r)]), [[0.5, -0.2]])[:, 0]
    inside = np.abs(np.vstack([r for r in rims if len(r)])) < [1.99, 0.99]
    gaps = np.abs(value[inside.all(axis=1), None] - shown.levels).min(axis=1)
    assert gaps.max() < 2e-3
    assert_allclose(places(ax, "x"), [[0.5, -0.2]])
    assert_allclose([*ax.get_xlim(), *ax.get_ylim()], [-2, 2, -1, 1])


def test_the_orbit_of_the_point_is_drawn_for_a_kernel_with_a_transform():
    turns = FromFunction(turned, thetas=np.linspace(-1, 1, 5), isometric=True)
    kernel = HaarIntegration(RBF(3.0), turns)
    ax = plot.kernel(kernel, [1.0, 0.0], extent=(-2, 2, -2, 2))
    same_points(places(ax, "orbit of x"), turns.orbit([[1.0, 0.0]])[0, 1:])
    assert ax.get_title().startswith("HaarIntegration(base=RBF(gamma=3.0)")
    assert plot.kernel("linear", [1.0, 0.0], extent=(-1, 1, -1, 1)).get_title() == "Linear()"


@pytest.mark.parametrize(
    ("kernel", "at", "extent", "message"),
    [
        (RBF(1.0), [1, 2, 3], (0, 1, 0, 1), "at must be a point of the plane"),
        (RBF(1.0), "x", (0, 1, 0, 1), "at must be a point of the plane"),
        (RBF("scale"), [0, 0], (0, 1, 0, 1), "'scale', which depends on training rows"),
        (RBF(1.0), [0, 0], (0, 0, 0, 1), "plot.kernel: extent must be"),
    ],
)
def test_invalid_arguments(kernel, at, extent, message):
    with pytest.raises(InvalidInput, match=message):
        plot.kernel(kernel, at, extent=extent)


def test_kernels_of_sets_are_rejected():
    with pytest.raises(InvalidType, match="compares sets of vectors"):
        plot.kernel(Bhattacharyya(), [0, 0], extent=(0, 1, 0, 1))
