"""Transforms of images stored as rows of pixels.

All transforms except :class:`Reflection` follow one formula. The pixel at position p = (row, column) of the
transformed image is the value of the original at a position u(p). Values between pixels come from the cubic
spline through the pixels, as in scipy.ndimage with ``order=3``. Every pixel outside of the image is ``fill``
(``mode="grid-constant"``). Hence T_θ x is continuous in θ, at the edges too, and translations by whole pixels
are exact copies. At sharp edges a spline can slightly exceed the range of the pixels.

``fill`` is the value of the background: 0 for black images, −1 for pixels scaled to [−1, 1].
"""

from __future__ import annotations

from functools import lru_cache
from math import isqrt, prod
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import ndimage
from sklearn.base import clone

from .._utils.arrays import Array
from .._utils.checks import is_number, is_whole
from ..errors import InvalidInput, InvalidType
from ..function.memory import refuse_count
from .base import Transform
from .grids import cross_grid, symmetric_values
from .spline import interpolate, interpolate_adjoint

# Largest number of elastic copies: each copy is a parameter of its own.
MOST_COPIES = 2000


class _ImageTransform(Transform):
    """Transform of images of one shape; a subclass defines the positions at which pixels are read."""

    shape: tuple[int, int]
    fill: float

    def _sources(self, theta: Array) -> Array:
        """Return the positions u(p) at which the pixels p are read, (2, height, width)."""
        raise NotImplementedError

    def _move(self, X: Array, theta: Array) -> Array:
        return interpolate(X, self._sources(theta), self.fill)

    def pulled_back(self, W: Array, thetas: Array) -> tuple[Array, Array]:
        V = np.empty_like(W)
        few = max(1, 2**18 // W.shape[1])
        for start in range(0, len(W), few):
            block = slice(start, start + few)
            sources = np.stack([self._sources(theta) for theta in thetas[block]])
            V[block] = interpolate_adjoint(W[block], sources)
        return V, self.fill * (W.sum(axis=1) - V.sum(axis=1))

    @property
    def n_features(self) -> int:
        """Number of pixels of an image."""
        return prod(_image_shape(type(self).__name__, self.shape))

    def validate(self, d: int) -> None:
        """Raise InvalidInput unless images of this shape have d pixels.

        Parameters
        ----------
        d : int
            Number of features.
        """
        name = type(self).__name__
        _check_width(name, self.shape, d)
        if not is_number(self.fill):
            raise InvalidInput(
                f"{name}: fill must be a finite number, the value of background pixels; got {self.fill!r}."
            )

    def enlarged(self, margin: int) -> Self:
        return clone(self).set_params(shape=tuple(side + 2 * margin for side in self.shape))

    def padded(self, X: Array, margin: int) -> Array:
        images = X.reshape(-1, *self.shape)
        around = ((0, 0), (margin, margin), (margin, margin))
        return np.pad(images, around, constant_values=self.fill).reshape(len(X), -1)


class Translation(_ImageTransform):
    r"""Translation of images by θ pixels, down and to the right.

    .. math:: (T_\theta x)(p) = x(p - \theta), \qquad \theta = (\mathrm{down}, \mathrm{right})

    Translations by whole pixels copy pixels exactly; fractions interpolate.

    Parameters
    ----------
    shape : tuple of (int, int)
        Height and width of the images.
    pixels : int, default=1
        The largest translation in the grid, in every direction.
    fill : float, default=0.0
        Value of the pixels that enter from outside.
    grid : {"cross", "full"}, default="cross"
        ``"cross"`` translates along one axis at a time, in 4·pixels ways. ``"full"`` covers the square, in
        (2·pixels + 1)² − 1 ways.
    steps : int or None, default=None
        Number of values along each axis of the grid, from −pixels to pixels. It must be odd. None uses every
        pixel.

    See Also
    --------
    Shift : Addition of multiples of any directions.
    Rotation : Rotation about the centre.
    Elastic : Smooth random deformation.

    Examples
    --------
    >>> Translation(shape=(2, 2)).apply([[1.0, 2.0, 3.0, 4.0]], [0, 1])
    array([[0., 1., 0., 3.]])
    >>> Translation(shape=(2, 2)).theta_grid().tolist()
    [[0.0, 0.0], [-1.0, 0.0], [1.0, 0.0], [0.0, -1.0], [0.0, 1.0]]
    """

    def __init__(
        self,
        shape: tuple[int, int],
        pixels: int = 1,
        fill: float = 0.0,
        grid: str = "cross",
        steps: int | None = None,
    ):
        self.shape = shape
        self.pixels = pixels
        self.fill = fill
        self.grid = grid
        self.steps = steps

    @property
    def isometric(self) -> bool:
        """Whether all translations of the grid are by whole pixels."""
        return not np.any(self.theta_grid() % 1)

    @property
    def margin(self) -> int:
        """Largest translation of the grid."""
        return int(np.abs(self.theta_grid()).max())

    def _grid(self) -> ArrayLike:
        smaller = min(_image_shape("Translation", self.shape))
        if not is_whole(self.pixels) or not 0 <= self.pixels < smaller:
            raise InvalidInput(
                f"Translation: pixels must be a whole number from 0 to {smaller - 1}, less than either side "
                f"of the {self.shape} image; got {self.pixels!r}."
            )
        if self.grid not in ("cross", "full"):
            raise InvalidInput(
                'Translation: grid must be "cross" (along one axis at a time) or "full" (the whole square); '
                f"got {self.grid!r}."
            )
        steps = 2 * self.pixels + 1 if self.steps is None else self.steps
        values = np.zeros(1) if steps == 1 else symmetric_values("Translation", self.pixels, steps)
        if self.grid == "cross":
            return cross_grid(values, 2)
        return np.stack(np.meshgrid(values, values, indexing="ij"), axis=-1).reshape(-1, 2)

    def _move(self, X: Array, theta: Array) -> Array:
        if np.any(theta % 1):
            return super()._move(X, theta)
        images = X.reshape(-1, *self.shape)
        moved = np.full_like(images, self.fill)
        to, since = zip(*map(_overlap, self.shape, theta.astype(int).tolist()), strict=True)
        moved[:, *to] = images[:, *since]
        return moved.reshape(X.shape)

    def _sources(self, theta: Array) -> Array:
        return _pixels(*self.shape) - theta[:, None, None]


class _Affine(_ImageTransform):
    """Linear map about the centre of the image, with one parameter in [−limit, limit]."""

    steps: int

    def _limit(self) -> float:
        raise NotImplementedError

    def _inverse(self, theta: float) -> Array:
        """Return the 2 × 2 matrix from positions in the transformed image to the original, (down, right)."""
        raise NotImplementedError

    def _grid(self) -> ArrayLike:
        return cross_grid(symmetric_values(type(self).__name__, self._limit(), self.steps), 1)

    def _sources(self, theta: Array) -> Array:
        centre = (np.reshape(self.shape, (2, 1, 1)) - 1) / 2
        places = (_pixels(*self.shape) - centre).reshape(2, -1)
        return (self._inverse(theta[0]) @ places).reshape(2, *self.shape) + centre


class Rotation(_Affine):
    r"""Rotation of images about their centre c, counter-clockwise by θ degrees.

    .. math:: (T_\theta x)(c + R_\theta p) = x(c + p)

    Parameters
    ----------
    shape : tuple of (int, int)
        Height and width of the images.
    degrees : float
        The grid extends from −degrees to degrees; at most 180.
    steps : int, default=3
        Number of angles in the grid. It must be odd, so that the identity is one of the angles.
    fill : float, default=0.0
        Value of the pixels that enter from outside.

    See Also
    --------
    Shear : Slant of images.
    Translation : Translation of images.

    Examples
    --------
    >>> quarter = Rotation(shape=(2, 2), degrees=90)
    >>> quarter.apply([[1.0, 2.0, 3.0, 4.0]], 90).round(6)
    array([[2., 4., 1., 3.]])
    >>> quarter.span()
    [(-90.0, 90.0)]
    """

    def __init__(self, shape: tuple[int, int], degrees: float, steps: int = 3, fill: float = 0.0):
        self.shape = shape
        self.degrees = degrees
        self.steps = steps
        self.fill = fill

    def _limit(self) -> float:
        return _within("Rotation: degrees", self.degrees, "at most", 180)

    def _inverse(self, theta: float) -> Array:
        c = np.cos(np.deg2rad(theta))
        s = np.sin(np.deg2rad(theta))
        return np.array([[c, s], [-s, c]])


class Zoom(_Affine):
    r"""Magnification of images about their centre c by θ percent.

    .. math:: (T_\theta x)(c + (1 + \theta / 100)\, p) = x(c + p)

    Parameters
    ----------
    shape : tuple of (int, int)
        Height and width of the images.
    percent : float
        The grid extends from −percent (smaller) to percent (larger); less than 100.
    steps : int, default=3
        Number of sizes in the grid. It must be odd, so that the identity is one of the sizes.
    fill : float, default=0.0
        Value of the pixels that enter from outside.

    See Also
    --------
    Rotation : Rotation about the centre.
    Shear : Slant of images.

    Examples
    --------
    >>> Zoom(shape=(1, 4), percent=20).apply([[0.0, 1.0, 1.0, 0.0]], 20).round(2)
    array([[0.2 , 1.06, 1.06, 0.2 ]])
    """

    def __init__(self, shape: tuple[int, int], percent: float, steps: int = 3, fill: float = 0.0):
        self.shape = shape
        self.percent = percent
        self.steps = steps
        self.fill = fill

    def _limit(self) -> float:
        return _within("Zoom: percent", self.percent, "less than", 100)

    def _inverse(self, theta: float) -> Array:
        if theta <= -100:
            raise InvalidInput(f"Zoom.apply: theta must be more than -100 percent, got {theta}.")
        return np.eye(2) / (1 + theta / 100)


class Shear(_Affine):
    r"""Slant of images by θ degrees; vertical strokes lean to the right if θ > 0.

    .. math:: (T_\theta x)(c + (p_1,\; p_2 - p_1 \tan\theta)) = x(c + p), \qquad p = (\mathrm{down},
              \mathrm{right})

    Each row of pixels shifts sideways, in proportion to its height above the centre c.

    Parameters
    ----------
    shape : tuple of (int, int)
        Height and width of the images.
    degrees : float
        The grid extends from −degrees to degrees; less than 90.
    steps : int, default=3
        Number of angles in the grid. It must be odd, so that the identity is one of the angles.
    fill : float, default=0.0
        Value of the pixels that enter from outside.

    See Also
    --------
    Rotation : Rotation about the centre.
    Elastic : Smooth random deformation.

    Examples
    --------
    >>> stroke = [[0.0, 1.0, 0.0, 0.0, 1.0, 0.0, 0.0, 1.0, 0.0]]
    >>> Shear(shape=(3, 3), degrees=45).apply(stroke, 45).round(6).reshape(3, 3) + 0.0
    array([[0., 0., 1.], [0., 1., 0.], [1., 0., 0.]])
    """

    def __init__(self, shape: tuple[int, int], degrees: float, steps: int = 3, fill: float = 0.0):
        self.shape = shape
        self.degrees = degrees
        self.steps = steps
        self.fill = fill

    def _limit(self) -> float:
        return _within("Shear: degrees", self.degrees, "less than", 90)

    def _inverse(self, theta: float) -> Array:
        if abs(theta) >= 90:
            raise InvalidInput(f"Shear.apply: theta must be between -90 and 90 degrees, got {theta}.")
        return np.array([[1, 0], [np.tan(np.deg2rad(theta)), 1]])


class Elastic(_ImageTransform):
    r"""Deformation of images along fixed random smooth displacement fields.

    .. math:: (T_\theta x)(p) = x\Bigl(p + \alpha \sum_{k=1}^{q} \theta_k u_k(p)\Bigr)

    Each field :math:`u_k` is uniform noise, smoothed by a Gaussian and scaled to a root mean square length of
    one pixel. The strength of the k-th field is θ_k, from 0 to 1. The grid contains each field once, at full
    strength.

    Parameters
    ----------
    shape : tuple of (int, int)
        Height and width of the images.
    alpha : float, default=1.0
        Root mean square displacement in pixels.
    sigma : float, default=4.0
        Width of the Gaussian in pixels. A larger width gives smoother fields.
    copies : int, default=4
        Number q of fields.
    fill : float, default=0.0
        Value of the pixels that enter from outside.
    random_state : int or None, default=None
        Seed of the fields. The fields are equal at every call, also with None.

    See Also
    --------
    Translation : Translation of images.
    Shear : Slant of images.

    References
    ----------
    Simard, Steinkraus & Platt 2003, "Best practices for convolutional neural networks applied to visual
    document analysis", ICDAR.

    Examples
    --------
    >>> Elastic(shape=(16, 16), copies=3).theta_grid()
    array([[0., 0., 0.], [1., 0., 0.], [0., 1., 0.], [0., 0., 1.]])
    """

    def __init__(
        self,
        shape: tuple[int, int],
        alpha: float = 1.0,
        sigma: float = 4.0,
        copies: int = 4,
        fill: float = 0.0,
        random_state: int | None = None,
    ):
        self.shape = shape
        self.alpha = alpha
        self.sigma = sigma
        self.copies = copies
        self.fill = fill
        self.random_state = random_state

    def _grid(self) -> ArrayLike:
        if not is_whole(self.copies) or self.copies < 1:
            raise InvalidInput(f"Elastic: copies must be a whole number of at least 1, got {self.copies!r}.")
        refuse_count("Elastic: copies", self.copies, MOST_COPIES, self.copies)
        return np.eye(self.copies)

    def validate(self, d: int) -> None:
        super().validate(d)
        if not is_number(self.alpha):
            raise InvalidInput(f"Elastic: alpha must be a finite number of pixels; got {self.alpha!r}.")
        if not is_number(self.sigma) or self.sigma <= 0:
            raise InvalidInput(
                f"Elastic: sigma must be a finite number of pixels above 0; got {self.sigma!r}."
            )
        if self.random_state is not None and not (is_whole(self.random_state) and self.random_state >= 0):
            raise InvalidType(
                "Elastic: random_state must be None or a whole number of at least 0, got "
                f"{self.random_state!r}."
            )

    def enlarged(self, margin: int) -> Self:
        # The fields of a larger shape are different fields.
        return Transform.enlarged(self, margin)

    def _sources(self, theta: Array) -> Array:
        fields = _fields(tuple(self.shape), self.sigma, self.copies, self.random_state or 0)
        return _pixels(*self.shape) + self.alpha * np.tensordot(theta, fields, axes=1)


class Reflection(Transform):
    r"""Reflection of images: θ = 1 reverses one axis exactly.

    .. math:: (T_1 x)_{ij} = x_{i,\, w - 1 - j} \quad\text{(axis 1)}, \qquad
              (T_1 x)_{ij} = x_{h - 1 - i,\, j} \quad\text{(axis 0)}

    for an image of height h and width w. The transform is discrete: it has no tangents and no span.

    Parameters
    ----------
    axis : {0, 1}
        The reversed axis, as in numpy.flip: 0 exchanges top and bottom, 1 exchanges left and right.
    shape : tuple of (int, int) or None, default=None
        Height and width of the images. None means square images.

    See Also
    --------
    Rotation : Rotation about the centre.

    Examples
    --------
    >>> Reflection(axis=1).orbit([[1.0, 2.0, 3.0, 4.0]])
    array([[[1., 2., 3., 4.], [2., 1., 4., 3.]]])
    """

    continuous = False
    isometric = True

    def __init__(self, axis: int, shape: tuple[int, int] | None = None):
        self.axis = axis
        self.shape = shape

    @property
    def n_features(self) -> int | None:
        """Number of pixels of an image, or None without a shape."""
        return None if self.shape is None else prod(_image_shape("Reflection", self.shape))

    def _grid(self) -> ArrayLike:
        return [[1.0]]

    def _move(self, X: Array, theta: Array) -> Array:
        if theta[0] != 1:
            raise InvalidInput(
                f"Reflection.apply: theta must be 0 (identity) or 1 (reflection), got {theta[0]}."
            )
        side = isqrt(X.shape[1])
        images = X.reshape(-1, *(self.shape or (side, side)))
        return np.flip(images, axis=1 + self.axis).reshape(X.shape)

    def enlarged(self, margin: int) -> Self:
        larger = None if self.shape is None else tuple(side + 2 * margin for side in self.shape)
        return clone(self).set_params(shape=larger)

    def validate(self, d: int) -> None:
        """Raise InvalidInput unless images of this shape have d pixels.

        Parameters
        ----------
        d : int
            Number of features.
        """
        if not is_whole(self.axis) or self.axis not in (0, 1):
            raise InvalidInput(
                f"Reflection: axis must be 0 (top and bottom) or 1 (left and right), got {self.axis!r}."
            )
        if self.shape is not None:
            _check_width("Reflection", self.shape, d)
        elif isqrt(d) ** 2 != d:
            raise InvalidInput(
                f"Reflection(shape=None) requires square images, but {d} columns are not a square number. "
                "Give shape=(height, width)."
            )


def _image_shape(name: str, shape: tuple[int, int]) -> tuple[int, int]:
    if not (
        isinstance(shape, (tuple, list))
        and len(shape) == 2
        and all(is_whole(side) and side > 0 for side in shape)
    ):
        raise InvalidInput(
            f"{name}: shape must be (height, width), two whole numbers of at least 1; got {shape!r}."
        )
    height, width = shape
    return int(height), int(width)


def _check_width(name: str, shape: tuple[int, int], d: int) -> None:
    height, width = _image_shape(name, shape)
    if height * width != d:
        raise InvalidInput(
            f"{name}: images of shape ({height}, {width}) have {height * width} pixels, but X has {d} "
            "columns. Give the (height, width) of the images in the rows of X."
        )


def _within(what: str, limit: float, relation: str, most: float) -> float:
    if not is_number(limit) or not (0 <= limit <= most if relation == "at most" else 0 <= limit < most):
        raise InvalidInput(f"{what} must be a number, 0 or more and {relation} {most}; got {limit!r}.")
    return float(limit)


def _overlap(side: int, shift: int) -> tuple[slice, slice]:
    """Return the target and source pixels along an axis that is shifted by whole pixels."""
    kept = max(side - abs(shift), 0)
    to = max(shift, 0)
    since = max(-shift, 0)
    return slice(to, to + kept), slice(since, since + kept)


@lru_cache(maxsize=16)
def _pixels(height: int, width: int) -> Array:
    """Return the row and column of every pixel, (2, height, width)."""
    found = np.indices((height, width)).astype(float)
    found.setflags(write=False)
    return found


@lru_cache(maxsize=16)
def _fields(shape: tuple[int, int], sigma: float, copies: int, seed: int) -> Array:
    """Return random smooth fields of root mean square length 1, (copies, 2, height, width)."""
    noise = np.random.default_rng(seed).uniform(-1, 1, size=(copies, 2, *shape))
    # Zeros outside of the image: displacements decay towards the border.
    fields = ndimage.gaussian_filter(noise, sigma, mode="constant", axes=(2, 3))
    fields /= np.sqrt((fields**2).sum(axis=1).mean(axis=(1, 2)))[:, None, None, None]
    fields.setflags(write=False)
    return fields
