"""plot.images."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from priorsvm import plot
from priorsvm.errors import InvalidInput

pytestmark = pytest.mark.filterwarnings("error")


def test_images_are_in_lines_below_their_titles():
    rows = np.arange(5 * 6.0).reshape(5, 6)
    ax = plot.images(rows, (2, 3), titles=list("abcde"), columns=3)
    for image, row in zip(ax.images, rows, strict=True):
        assert_allclose(image.get_array(), row.reshape(2, 3))
        assert image.get_clim() == (0.0, 29.0)
    left, right, bottom, top = np.array([image.get_extent() for image in ax.images]).T
    assert_allclose(right - left, 3)
    assert_allclose(bottom - top, 2)
    assert_allclose(left[:3], left[0] + np.arange(3) * (left[1] - left[0]))
    assert_allclose(left[3:], left[:2])
    assert (top[3:] > bottom[0]).all()
    # The first line is at the top.
    assert ax.get_ylim()[0] > ax.get_ylim()[1]
    for text, image in zip(ax.texts, ax.images, strict=True):
        assert text.get_position()[0] == pytest.approx(np.mean(image.get_extent()[:2]))
        assert text.get_position()[1] < image.get_extent()[3]
    assert [text.get_text() for text in ax.texts] == list("abcde")
    assert plot.images(rows[0], (2, 3), limits=(0, 1)).images[0].get_clim() == (0, 1)


@pytest.mark.parametrize(
    ("rows", "shape", "arguments", "message"),
    [
        (np.zeros((2, 6)), (2, 2), {}, r"rows of shape \(2, 6\) are not images of 2 x 2 = 4 pixels"),
        (np.zeros((2, 6)), 6, {}, r"shape must be \(height, width\) in pixels, got 6"),
        ([["a"]], (1, 1), {}, "rows must be numbers"),
        ([[np.nan, 1.0]], (1, 2), {}, "some pixels are NaN or infinite. .*nan_to_num"),
        ([[np.inf, 1.0]], (1, 2), {}, "some pixels are NaN or infinite"),
        (np.zeros((2, 6)), (2, 3), {"titles": ["a"]}, "there are 1 titles for 2 images"),
        (np.zeros((2, 6)), (2, 3), {"columns": 0}, "columns must be a whole number of at least 1, got 0"),
    ],
)
def test_invalid_arguments(rows, shape, arguments, message):
    with pytest.raises(InvalidInput, match=message):
        plot.images(rows, shape, **arguments)
