"""Image transforms against NumPy slices and scipy.ndimage, image by image."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import ndimage

from priorsvm.errors import InvalidInput, InvalidType
from priorsvm.transforms import Elastic, Reflection, Rotation, Shear, Translation, Zoom

SHAPE = (9, 7)
D = 63
FILL = -1.0
# Settings for which scipy.ndimage is continuous; the transforms must equal it.
SPLINE = {"order": 3, "mode": "grid-constant", "cval": FILL}

WARPS = [
    Translation(SHAPE, pixels=2, fill=FILL, grid="full"),
    Rotation(SHAPE, degrees=20, steps=5, fill=FILL),
    Zoom(SHAPE, percent=15, fill=FILL),
    Shear(SHAPE, degrees=15, fill=FILL),
    Elastic(SHAPE, fill=FILL),
]
every_warp = pytest.mark.parametrize("transform", WARPS, ids=lambda t: type(t).__name__)


@pytest.fixture(scope="module")
def X():
    X = np.random.default_rng(1).uniform(-1.0, 1.0, size=(5, D))
    X.setflags(write=False)
    return X


def shifted(image, down, right, fill):
    """Return an image shifted by numpy.roll, with fill where pixels crossed the edge."""
    moved = np.roll(image, (down, right), axis=(0, 1))
    rows, columns = np.indices(image.shape)
    crossed = (rows - down != (rows - down) % image.shape[0]) | (
        columns - right != (columns - right) % image.shape[1]
    )
    moved[crossed] = fill
    return moved


def each_image(X, function):
    return np.stack([function(x.reshape(SHAPE)).ravel() for x in X])


# Values


@pytest.mark.parametrize("theta", [(0, 1), (-1, 0), (3, -2), (8, 6), (9, 0), (0, -7), (-40, 40)])
def test_whole_pixel_translations_are_exact_copies(theta, X):
    expected = each_image(X, lambda image: shifted(image, *theta, FILL))
    np.testing.assert_array_equal(Translation(SHAPE, fill=FILL).apply(X, theta), expected)


@pytest.mark.parametrize("theta", [(0.5, 0.0), (-1.3, 2.0), (0.01, -0.7)])
def test_fractional_translations_are_spline_shifts(theta, X):
    expected = each_image(X, lambda image: ndimage.shift(image, theta, **SPLINE))
    np.testing.assert_allclose(Translation(SHAPE, fill=FILL).apply(X, theta), expected, rtol=0, atol=1e-12)


def test_translation_is_continuous_at_whole_pixels(X):
    translation = Translation(SHAPE, fill=FILL)
    whole, almost = translation.apply(X, [1, -2]), translation.apply(X, [1 - 1e-9, -2 + 1e-9])
    np.testing.assert_allclose(almost, whole, rtol=0, atol=1e-7)


@pytest.mark.parametrize("pixels", [0, 1, 3])
def test_grids_of_translations(pixels):
    values = range(-pixels, pixels + 1)
    full = Translation(SHAPE, pixels=pixels, grid="full").theta_grid()
    assert sorted(map(tuple, full)) == [(a, b) for a in values for b in values]
    crossed = Translation(SHAPE, pixels=pixels).theta_grid()
    assert sorted(map(tuple, crossed)) == [(a, b) for a in values for b in values if a == 0 or b == 0]
    assert len(crossed) == 4 * pixels + 1


@pytest.mark.parametrize(
    ("transform", "theta", "matrix"),
    [
        (Rotation(SHAPE, 20, fill=FILL), 17.0, lambda t: [[np.cos(t), np.sin(t)], [-np.sin(t), np.cos(t)]]),
        (Shear(SHAPE, 20, fill=FILL), -12.0, lambda t: [[1, 0], [np.tan(t), 1]]),
        (Zoom(SHAPE, 20, fill=FILL), 18.0, lambda t: np.eye(2) / 1.18),
    ],
)
def test_affine_maps_are_scipy_image_by_image(transform, theta, matrix, X):
    matrix, centre = np.array(matrix(np.pi * theta / 180)), (np.array(SHAPE) - 1) / 2
    offset = centre - matrix @ centre
    expected = each_image(X, lambda image: ndimage.affine_transform(image, matrix, offset, **SPLINE))
    np.testing.assert_allclose(transform.apply(X, theta), expected, rtol=0, atol=1e-12)


def test_large_images_are_interpolated_in_blocks():
    shape = (48, 50)
    assert np.prod(shape) ** 2 > 2**22
    image = np.random.default_rng(3).uniform(size=shape)
    expected = ndimage.rotate(image, 30, reshape=False, order=3, mode="grid-constant", cval=0.0)
    moved = Rotation(shape, degrees=30).apply(image.reshape(1, -1), 30)
    np.testing.assert_allclose(moved.reshape(shape), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("quarters", [1, 2, 3, -1])
def test_quarter_turns_of_a_square(quarters):
    image = np.random.default_rng(4).uniform(size=(7, 7))
    moved = Rotation((7, 7), degrees=180).apply(image.reshape(1, -1), 90 * quarters)
    np.testing.assert_allclose(moved.reshape(7, 7), np.rot90(image, quarters), rtol=0, atol=1e-10)


def test_zoom_enlarges_and_shrinks_a_blob():
    # A smooth blob far from the edges: its second moments grow with the square of the factor.
    shape, centre = (31, 31), 15
    rows, columns = np.indices(shape) - centre
    blob = np.exp(-(rows**2 + columns**2) / (2 * 9.0)).reshape(1, -1)
    for theta in (-20, 20):
        moved = Zoom(shape, percent=20).apply(blob, theta).reshape(shape)
        variance = (moved * rows**2).sum() / moved.sum()
        assert variance == pytest.approx(9.0 * (1 + theta / 100) ** 2, rel=0.01)


def test_shear_leans_to_the_right_for_positive_theta():
    stroke = np.zeros((5, 5))
    stroke[:, 2] = 1.0
    moved = Shear((5, 5), degrees=45).apply(stroke.reshape(1, -1), 45).reshape(5, 5)
    np.testing.assert_allclose(moved, np.eye(5)[::-1], rtol=0, atol=1e-10)


def test_elastic_fields_have_the_given_length(X):
    elastic = Elastic(SHAPE, alpha=1.5, sigma=2.0, copies=3, fill=FILL, random_state=5)
    for theta in np.eye(3):
        places = elastic._sources(theta)
        displacement = places - np.indices(SHAPE)
        assert np.sqrt((displacement**2).sum(axis=0).mean()) == pytest.approx(1.5)
        half = elastic._sources(theta / 2) - np.indices(SHAPE)
        np.testing.assert_allclose(2 * half, displacement)
        expected = each_image(X, lambda image, at=places: ndimage.map_coordinates(image, at, **SPLINE))
        np.testing.assert_allclose(elastic.apply(X, theta), expected, rtol=0, atol=1e-12)


def test_elastic_is_smoother_with_a_wider_gaussian():
    def roughness(sigma):
        places = Elastic((28, 28), sigma=sigma)._sources(np.eye(4)[0])
        return np.abs(np.diff(places - np.indices((28, 28)), axis=1)).mean()

    assert roughness(6.0) < roughness(3.0) < roughness(1.0)


def test_elastic_depends_on_the_seed_alone(X):
    first, again, other = (Elastic(SHAPE, random_state=seed).orbit(X) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert np.abs(first - other).max() > 0.01
    np.testing.assert_array_equal(Elastic(SHAPE).orbit(X), Elastic(SHAPE).orbit(X))


@pytest.mark.parametrize(("axis", "flip"), [(0, np.flipud), (1, np.fliplr)])
def test_reflection_flips(axis, flip, X):
    moved = Reflection(axis, SHAPE).apply(X, 1)
    np.testing.assert_array_equal(moved, each_image(X, flip))
    square = np.arange(9.0).reshape(3, 3)
    np.testing.assert_array_equal(
        Reflection(axis).apply(square.reshape(1, -1), 1), flip(square).reshape(1, -1)
    )


# Laws


@every_warp
def test_a_blank_image_stays_blank_exactly(transform):
    blank = np.full((2, D), FILL)
    assert (transform.orbit(blank) == FILL).all()
    assert (transform.tangents(blank) == 0).all()


@every_warp
def test_pixels_that_enter_from_outside_are_fill(transform, X):
    # Another fill changes pixels at the edge and not in the middle.
    other = type(transform)(**{**transform.get_params(), "fill": 5.0})
    difference = np.abs(other.orbit(X) - transform.orbit(X)).reshape(len(X), -1, *SHAPE)
    assert difference[:, 1:, [0, -1]].max() > 0.1
    assert difference[:, 1:, 4, 3].max() < 0.1


@every_warp
def test_transformations_are_affine_in_the_pixels(transform, X):
    def linear(X):
        return transform.orbit(X + FILL) - FILL

    np.testing.assert_allclose(linear(2 * X[:2] - X[2:4]), 2 * linear(X[:2]) - linear(X[2:4]), atol=1e-12)


@pytest.mark.parametrize("jump", ["constant", "grid-constant"])
def test_the_boundary_mode_makes_transformations_continuous(jump, X):
    # The reason for mode="grid-constant": with "constant" the edge drops to the fill at once.
    moved = ndimage.shift(X[0].reshape(SHAPE), (1e-7, 0), order=3, mode=jump, cval=FILL)
    gap = np.abs(moved.ravel() - X[0]).max()
    assert (gap > 0.1) == (jump == "constant")


# Errors


@pytest.mark.parametrize("transform", [*WARPS, Reflection(0, SHAPE)], ids=lambda t: type(t).__name__)
def test_a_wrong_width_names_shape_and_columns(transform):
    match = (
        rf"{type(transform).__name__}: images of shape \(9, 7\) have 63 pixels, but X has 62 columns\. "
        r"Give the \(height, width\)"
    )
    for method in (transform.orbit, lambda X: transform.apply(X, transform.theta_grid()[1])):
        with pytest.raises(InvalidInput, match=match):
            method(np.ones((2, 62)))


@pytest.mark.parametrize("shape", [63, (63,), (9.0, 7.0), (0, 63), (3, 3, 7), None, "97"])
@pytest.mark.parametrize("kind", [Translation, Elastic])
def test_a_shape_is_two_whole_numbers(kind, shape, X):
    match = rf"{kind.__name__}: shape must be \(height, width\), two whole numbers of at least 1; got"
    with pytest.raises(InvalidInput, match=match):
        kind(shape).orbit(X)


def test_a_shape_may_be_a_list_or_numpy_integers(X):
    for shape in ([9, 7], tuple(np.array([9, 7]))):
        for transform in (Elastic(shape), Translation(shape), Rotation(shape, 10)):
            expected = type(transform)(**{**transform.get_params(), "shape": SHAPE}).orbit(X)
            np.testing.assert_array_equal(transform.orbit(X), expected)


@pytest.mark.parametrize("fill", [np.nan, None, "black"])
def test_the_fill_is_a_number(fill, X):
    with pytest.raises(InvalidInput, match=r"Zoom: fill must be a finite number, the value of background"):
        Zoom(SHAPE, percent=5, fill=fill).orbit(X)


@pytest.mark.parametrize("steps", [2, 4, 1, 0, -3, 3.0, None, True])
@pytest.mark.parametrize("kind", [Rotation, Zoom, Shear])
def test_steps_are_odd(kind, steps):
    match = rf"{kind.__name__}: steps must be an odd number of at least 3, so that .*; got {steps}"
    with pytest.raises(InvalidInput, match=match):
        kind(SHAPE, 10, steps=steps).theta_grid()


@pytest.mark.parametrize(
    ("kind", "limit", "match"),
    [
        (Rotation, 181, r"Rotation: degrees must be a number, 0 or more and at most 180; got 181"),
        (Rotation, -1, r"Rotation: degrees must be .*; got -1"),
        (Zoom, 100, r"Zoom: percent must be a number, 0 or more and less than 100; got 100"),
        (Zoom, "5%", r"Zoom: percent must be .*; got '5%'"),
        (Shear, 90, r"Shear: degrees must be a number, 0 or more and less than 90; got 90"),
        (Shear, np.nan, r"Shear: degrees must be .*; got nan"),
    ],
)
def test_limits_are_checked(kind, limit, match, X):
    with pytest.raises(InvalidInput, match=match):
        kind(SHAPE, limit).apply(X, 1.0)


def test_transformations_without_an_inverse_are_rejected(X):
    with pytest.raises(InvalidInput, match=r"Zoom\.apply: theta must be more than -100 percent, got -100"):
        Zoom(SHAPE, percent=5).apply(X, -100)
    with pytest.raises(InvalidInput, match=r"Shear\.apply: theta must be between -90 and 90 degrees, got 90"):
        Shear(SHAPE, degrees=5).apply(X, 90)
    with pytest.raises(InvalidInput, match=r"Reflection\.apply: theta must be 0 .* or 1 .*, got 0\.5"):
        Reflection(0, SHAPE).apply(X, 0.5)


@pytest.mark.parametrize("pixels", [7, -1, 1.0, None])
def test_pixels_are_fewer_than_the_sides_of_the_image(pixels, X):
    match = rf"Translation: pixels must be a whole number from 0 to 6, less than either side .*; got {pixels}"
    with pytest.raises(InvalidInput, match=match):
        Translation(SHAPE, pixels=pixels).orbit(X)


def test_the_grid_is_cross_or_full(X):
    with pytest.raises(
        InvalidInput, match=r'Translation: grid must be "cross" .* or "full" .*; got \'square\''
    ):
        Translation(SHAPE, grid="square").orbit(X)


@pytest.mark.parametrize(
    ("arguments", "error", "match"),
    [
        ({"alpha": np.inf}, InvalidInput, r"Elastic: alpha must be a finite number of pixels; got inf"),
        ({"sigma": 0}, InvalidInput, r"Elastic: sigma must be a finite number of pixels above 0; got 0"),
        ({"copies": 0}, InvalidInput, r"Elastic: copies must be a whole number of at least 1, got 0"),
        ({"copies": 2.5}, InvalidInput, r"Elastic: copies must be a whole number of at least 1, got 2\.5"),
        (
            {"random_state": np.random.default_rng(0)},
            InvalidType,
            r"Elastic: random_state must be None or a whole number of at least 0, got Generator",
        ),
    ],
)
def test_elastic_arguments_are_checked(arguments, error, match, X):
    with pytest.raises(error, match=match):
        Elastic(SHAPE, **arguments).orbit(X)


@pytest.mark.parametrize("axis", [2, -1, "left", True])
def test_reflection_axis_is_0_or_1(axis, X):
    with pytest.raises(InvalidInput, match=rf"Reflection: axis must be 0 .* or 1 .*, got {axis!r}"):
        Reflection(axis, SHAPE).orbit(X)


def test_reflection_without_a_shape_requires_square_images(X):
    match = r"Reflection\(shape=None\) requires square images, but 63 columns are not .* Give shape="
    with pytest.raises(InvalidInput, match=match):
        Reflection(0).orbit(X)


@pytest.mark.parametrize("grid", ["cross", "full"])
def test_steps_of_a_translation_skip_pixels(grid):
    thetas = Translation(SHAPE, pixels=2, grid=grid, steps=3).theta_grid()
    assert set(thetas.ravel().tolist()) == {-2.0, 0.0, 2.0}
    assert len(thetas) == (5 if grid == "cross" else 9)
    every = Translation(SHAPE, pixels=2, grid=grid, steps=5)
    np.testing.assert_array_equal(every.theta_grid(), Translation(SHAPE, pixels=2, grid=grid).theta_grid())
    assert every.isometric
    assert not Translation(SHAPE, pixels=1, grid=grid, steps=5).isometric
    with pytest.raises(InvalidInput, match="Translation: steps must be an odd number"):
        Translation(SHAPE, steps=4).theta_grid()


@pytest.mark.parametrize(
    "transform",
    [
        Translation(SHAPE, pixels=2, fill=FILL, grid="full"),
        Reflection(axis=0, shape=SHAPE) @ Translation(SHAPE, fill=FILL),
        Translation(SHAPE, fill=FILL) | Reflection(axis=1, shape=SHAPE),
        Translation(SHAPE, fill=FILL) @ Translation(SHAPE, fill=FILL, pixels=2, steps=3),
    ],
    ids=["translation", "mirrored", "either", "twice"],
)
def test_transformations_of_padded_images_are_isometries(transform):
    X = np.random.default_rng(0).uniform(size=(2, SHAPE[0] * SHAPE[1]))
    assert transform.isometric
    assert transform.n_features == X.shape[1]

    def distances(margin):
        one, other = transform.enlarged(margin).orbit(transform.padded(X, margin))
        return np.linalg.norm(one - other, axis=1)

    np.testing.assert_allclose(distances(transform.margin), np.linalg.norm(X[0] - X[1]), rtol=1e-14)
    assert np.ptp(distances(transform.margin - 1)) > 1e-3


def test_padding_is_background_around_the_image():
    X = np.arange(4.0).reshape(1, 4)
    padded = Translation((2, 2), fill=-1.0).padded(X, 1).reshape(4, 4)
    np.testing.assert_array_equal(padded[1:3, 1:3], [[0.0, 1.0], [2.0, 3.0]])
    assert (padded == -1).sum() == 12
    turned = Rotation((2, 2), degrees=90, fill=-1.0)
    large = turned.enlarged(1).apply(padded.reshape(1, -1), 90).reshape(4, 4)
    np.testing.assert_allclose(large[1:3, 1:3].ravel(), turned.apply(X, 90)[0], atol=1e-9)
    assert Reflection(axis=1).enlarged(3).shape is None
    assert (Rotation((2, 2), 10).margin, (Rotation((2, 2), 10) | Translation((2, 2))).margin) == (0, 1)


@pytest.mark.parametrize(
    "transform",
    [
        Translation(SHAPE, fill=FILL),
        Rotation(SHAPE, 20, fill=FILL),
        Zoom(SHAPE, 20, fill=FILL),
        Shear(SHAPE, 20),
        Elastic(SHAPE, copies=2, fill=FILL),
        Rotation(SHAPE, 20, fill=FILL) @ Translation(SHAPE, fill=FILL) @ Zoom(SHAPE, 5, fill=FILL),
    ],
    ids=lambda transform: type(transform).__name__,
)
def test_linear_functions_of_transformed_images_are_pulled_back(transform, X):
    rng = np.random.default_rng(7)
    thetas = np.vstack([rng.uniform(-1.5, 1.5, (4, transform.n_parameters)), transform.theta_grid()[:2]])
    W = rng.normal(size=(len(thetas), X.shape[1]))
    V, offset = transform.pulled_back(W, thetas)
    for w, theta, v, o in zip(W, thetas, V, offset, strict=True):
        np.testing.assert_allclose(X @ v + o, transform.apply(X, theta) @ w, rtol=0, atol=1e-11)
