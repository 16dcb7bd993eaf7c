"""Transforms of images stored as rows of pixels.

All of them but :class:`Reflection` follow one formula. The pixel at (row, column) p of the moved
image takes its value from a place u(p) of the original, read off the cubic spline through the
pixels (scipy.ndimage, ``order=3``), beyond whose edges every pixel is ``fill``
(``mode="grid-constant"``). That makes T_θ x continuous in θ, at the edges too, and it makes
whole-pixel translations exact copies. As cubic splines do, it may overshoot the range of the pixels
a little at sharp edges.

``fill`` is the background: 0 where images are black on 0, −1 for pixels scaled to [−1, 1].
"""

from __future__ import annotations

from functools import lru_cache
from math import isqrt, prod
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import ndimage
from sklearn.base import clone

from priorsvm.errors import InvalidInput, InvalidType
from priorsvm.transforms.base import Transform, cross, symmetric

from .._utils.arrays import Array
from .._utils.checks import is_number, is_whole

# Beyond the edge of an image a spline rings for about this many pixels (scipy pads by as many).
_PAD = 12


class _ImageTransform(Transform):
    """Images of one shape; a subclass says where each pixel comes from."""

    shape: tuple[int, int]
    fill: float

    def _sources(self, theta: Array) -> Array:
        """The places u(p), shape (2, height, width), from which the pixels p take their values."""
        raise NotImplementedError

    def _move(self, X: Array, theta: Array) -> Array:
        return _warp(X, self._sources(theta), self.fill)

    def pulled_back(self, W: Array, thetas: Array) -> tuple[Array, Array]:
        V = np.empty_like(W)
        few = max(1, 2**18 // W.shape[1])
        for start in range(0, len(W), few):
            block = slice(start, start + few)
            V[block] = _unwarp(W[block], np.stack([self._sources(theta) for theta in thetas[block]]))
        return V, self.fill * (W.sum(axis=1) - V.sum(axis=1))

    @property
    def n_features(self) -> int:
        """Pixels of an image."""
        return prod(_image_shape(type(self).__name__, self.shape))

    def validate(self, d: int) -> None:
        """Raise :class:`~priorsvm.errors.InvalidInput` unless images of this shape have d pixels."""
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
    r"""Move the image down and to the right by θ pixels.

    .. math:: (T_\theta x)(p) = x(p - \theta), \qquad \theta = (\mathrm{down}, \mathrm{right})

    Whole-pixel moves copy pixels exactly; fractions interpolate.

    Parameters
    ----------
    shape : (int, int)
        Height and width of the images.
    pixels : int, default=1
        The farthest move in the grid, in every direction.
    fill : float, default=0.0
        Value of the pixels that move in from outside.
    grid : {"cross", "full"}, default="cross"
        Whether the grid moves along one axis at a time (4·pixels moves) or over the whole square
        ((2·pixels + 1)² − 1 moves).
    steps : int, default=None
        Places along each axis of the grid, from −pixels to pixels: an odd number. None takes every pixel.

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
        """Whether all moves of the grid are by whole pixels."""
        return not np.any(self.theta_grid() % 1)

    @property
    def margin(self) -> int:
        """The farthest move of the grid."""
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
        moves = np.zeros(1) if steps == 1 else symmetric("Translation", self.pixels, steps)
        if self.grid == "cross":
            return cross(moves, 2)
        return np.stack(np.meshgrid(moves, moves, indexing="ij"), axis=-1).reshape(-1, 2)

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
    """A linear map about the centre of the image, with one parameter in [−limit, limit]."""

    steps: int

    def _limit(self) -> float:
        raise NotImplementedError

    def _inverse(self, theta: float) -> Array:
        """The 2 × 2 matrix from places in the moved image to places in the original, (down, right)."""
        raise NotImplementedError

    def _grid(self) -> ArrayLike:
        return cross(symmetric(type(self).__name__, self._limit(), self.steps), 1)

    def _sources(self, theta: Array) -> Array:
        centre = (np.reshape(self.shape, (2, 1, 1)) - 1) / 2
        places = (_pixels(*self.shape) - centre).reshape(2, -1)
        return (self._inverse(theta[0]) @ places).reshape(2, *self.shape) + centre


class Rotation(_Affine):
    r"""Turn the image about its centre, counter-clockwise, by θ degrees.

    .. math:: (T_\theta x)(c + R_\theta p) = x(c + p)

    Parameters
    ----------
    shape : (int, int)
        Height and width of the images.
    degrees : float
        The grid reaches from −degrees to degrees; at most 180.
    steps : int, default=3
        Angles in the grid: an odd number, so that the identity is one of them.
    fill : float, default=0.0
        Value of the pixels that turn in from outside.

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
    r"""Magnify the image about its centre by θ percent.

    .. math:: (T_\theta x)(c + (1 + \theta / 100)\, p) = x(c + p)

    Parameters
    ----------
    shape : (int, int)
        Height and width of the images.
    percent : float
        The grid reaches from −percent (smaller) to percent (larger); less than 100.
    steps : int, default=3
        Sizes in the grid: an odd number, so that the identity is one of them.
    fill : float, default=0.0
        Value of the pixels that move in from outside.

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
            raise InvalidInput(f"Zoom.apply: theta must be more than -100 percent, but got {theta}.")
        return np.eye(2) / (1 + theta / 100)


class Shear(_Affine):
    r"""Slant the image by θ degrees: upright strokes lean to the right where θ > 0.

    Rows slide along themselves, in proportion to their height above the centre.

    .. math:: (T_\theta x)(c + (p_1,\; p_2 - p_1 \tan\theta)) = x(c + p)

    with p = (down, right).

    Parameters
    ----------
    shape : (int, int)
        Height and width of the images.
    degrees : float
        The grid reaches from −degrees to degrees; less than 90.
    steps : int, default=3
        Slants in the grid: an odd number, so that the identity is one of them.
    fill : float, default=0.0
        Value of the pixels that slide in from outside.

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
            raise InvalidInput(f"Shear.apply: theta must lie between -90 and 90 degrees, but got {theta}.")
        return np.array([[1, 0], [np.tan(np.deg2rad(theta)), 1]])


class Elastic(_ImageTransform):
    r"""Bend the image along fixed random smooth displacement fields.

    .. math:: (T_\theta x)(p) = x\Bigl(p + \alpha \sum_{k=1}^{q} \theta_k u_k(p)\Bigr)

    Each field :math:`u_k` is uniform noise smoothed by a Gaussian and scaled to a root mean square
    length of one pixel. θ_k, from 0 to 1, is the strength of the k-th field; the grid takes each field
    once, in full.

    Parameters
    ----------
    shape : (int, int)
        Height and width of the images.
    alpha : float, default=1.0
        Root mean square displacement in pixels.
    sigma : float, default=4.0
        Width of the Gaussian in pixels: the larger, the more pixels move together.
    copies : int, default=4
        Number q of fields.
    fill : float, default=0.0
        Value of the pixels that move in from outside.
    random_state : int or None, default=None
        Seed of the fields; they are the same at every call, with None too.

    References
    ----------
    Simard, Steinkraus and Platt, "Best practices for convolutional neural networks applied to
    visual document analysis", ICDAR 2003.

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
            raise InvalidInput(f"Elastic: copies must be a whole number, 1 or more; got {self.copies!r}.")
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
                "Elastic: random_state must be None or a whole number, 0 or more, so that the fields are the "
                f"same at every call; got {self.random_state!r}."
            )

    def enlarged(self, margin: int) -> Self:
        return Transform.enlarged(self, margin)  # other fields would be drawn for another shape

    def _sources(self, theta: Array) -> Array:
        fields = _fields(tuple(self.shape), self.sigma, self.copies, self.random_state or 0)
        return _pixels(*self.shape) + self.alpha * np.tensordot(theta, fields, axes=1)


class Reflection(Transform):
    r"""Mirror the image: θ = 1 reverses one of its axes, exactly.

    .. math:: (T_1 x)_{ij} = x_{i,\, w - 1 - j} \quad\text{(axis 1)}, \qquad
              (T_1 x)_{ij} = x_{h - 1 - i,\, j} \quad\text{(axis 0)}

    for an image of height h and width w. It is discrete: there are no tangents and no span.

    Parameters
    ----------
    axis : {0, 1}
        As in numpy.flip: 0 turns the image upside down, 1 swaps left and right.
    shape : (int, int), default=None
        Height and width of the images. None reads a row as a square image; a row of pixels alone
        does not say how wide the image is.

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
        """Pixels of an image whose shape was given."""
        return None if self.shape is None else prod(_image_shape("Reflection", self.shape))

    def _grid(self) -> ArrayLike:
        return [[1.0]]

    def _move(self, X: Array, theta: Array) -> Array:
        if theta[0] != 1:
            raise InvalidInput(
                f"Reflection.apply: theta must be 0 (as it is) or 1 (mirrored), but got {theta[0]}."
            )
        side = isqrt(X.shape[1])
        images = X.reshape(-1, *(self.shape or (side, side)))
        return np.flip(images, axis=1 + self.axis).reshape(X.shape)

    def enlarged(self, margin: int) -> Self:
        larger = None if self.shape is None else tuple(side + 2 * margin for side in self.shape)
        return clone(self).set_params(shape=larger)

    def validate(self, d: int) -> None:
        """Raise :class:`~priorsvm.errors.InvalidInput` unless images of this shape have d pixels."""
        if not is_whole(self.axis) or self.axis not in (0, 1):
            raise InvalidInput(
                "Reflection: axis must be 0 (upside down) or 1 (left and right swapped), but got "
                f"{self.axis!r}."
            )
        if self.shape is not None:
            _check_width("Reflection", self.shape, d)
        elif isqrt(d) ** 2 != d:
            raise InvalidInput(
                f"Reflection(shape=None) reads a row as a square image, but X has {d} columns, which is no "
                "square number. Give shape=(height, width)."
            )


def _image_shape(name: str, shape: tuple[int, int]) -> tuple[int, int]:
    if not (
        isinstance(shape, (tuple, list))
        and len(shape) == 2
        and all(is_whole(side) and side > 0 for side in shape)
    ):
        raise InvalidInput(
            f"{name}: shape must be (height, width), two whole numbers of pixels; got {shape!r}."
        )
    height, width = shape
    return int(height), int(width)


def _check_width(name: str, shape: tuple[int, int], d: int) -> None:
    height, width = _image_shape(name, shape)
    if height * width != d:
        raise InvalidInput(
            f"{name}: images of shape ({height}, {width}) have {height * width} pixels, but X has {d} "
            "columns. Give the (height, width) of the images that are the rows of X."
        )


def _within(what: str, limit: float, relation: str, most: float) -> float:
    if not is_number(limit) or not (0 <= limit <= most if relation == "at most" else 0 <= limit < most):
        raise InvalidInput(f"{what} must be a number, 0 or more and {relation} {most}; got {limit!r}.")
    return float(limit)


def _overlap(side: int, move: int) -> tuple[slice, slice]:
    """Which pixels of an axis receive, and which give, when it is moved by a whole number."""
    kept = max(side - abs(move), 0)
    to = max(move, 0)
    since = max(-move, 0)
    return slice(to, to + kept), slice(since, since + kept)


def _warp(X: Array, sources: Array, fill: float) -> Array:
    """Read each row, as an image, at the same places: fill + A (x − fill).

    The spline is linear in the pixels and a product over the axes: pixel (k, l) counts η_k(u) η_l(v)
    at the place (u, v), where η_k is the spline through a single 1 at k. So one matrix A serves all
    rows, equal to scipy.ndimage image by image up to rounding: for 1000 images of 16 × 16 about 20 times
    faster, of 28 × 28 six times; at 64 × 64 it is slower, by a factor of 1.6. Taking the fill away
    first leaves a blank image exactly blank.
    """
    d = X.shape[1]
    down, right = (
        _cardinals(side, places.ravel()) for side, places in zip(sources.shape[1:], sources, strict=True)
    )
    above = X - fill
    moved = np.empty_like(X)
    # A few rows of A at a time: all d² entries would take 2 GB for images of 128 × 128.
    rows = max(1, 2**22 // d)
    for start in range(0, d, rows):
        block = slice(start, start + rows)
        A = (down[block, :, None] * right[block, None, :]).reshape(-1, d)
        moved[:, block] = above @ A.T + fill
    return moved


def _unwarp(W: Array, sources: Array) -> Array:
    """A'w for each row w and its own places, (k, 2, height, width), A being that of :func:`_warp`."""
    k, _, *sides = sources.shape
    down, right = (
        _cardinals(side, sources[:, axis].ravel()).reshape(k, -1, side) for axis, side in enumerate(sides)
    )
    return np.asarray(down.swapaxes(1, 2) @ (W[:, :, None] * right)).reshape(W.shape)


def _cardinals(side: int, places: Array) -> Array:
    """The splines through a single 1 at each pixel of a side, at all places: (places, side).

    A spline is a sum of four B-splines around the place; their coefficients do not depend on it.
    """
    coefficients = _coefficients(side)
    x = places + _PAD
    k = np.floor(x).astype(int)
    t = x - k
    pieces = [(1 - t) ** 3, 3 * t**3 - 6 * t**2 + 4, -3 * t**3 + 3 * t**2 + 3 * t + 1, t**3]
    taps = k[:, None] + np.arange(-1, 3)
    inside = (taps >= 0) & (taps < len(coefficients))
    weights = np.where(inside, np.stack(pieces, axis=1) / 6, 0.0)
    return np.einsum("pj,pjs->ps", weights, coefficients[np.clip(taps, 0, len(coefficients) - 1)])


@lru_cache(maxsize=16)
def _pixels(height: int, width: int) -> Array:
    """Row and column of every pixel, (2, height, width)."""
    found = np.indices((height, width)).astype(float)
    found.setflags(write=False)
    return found


@lru_cache(maxsize=16)
def _coefficients(side: int) -> Array:
    """Of the B-splines of each pixel's spline, (side + 2 pads, side), zero beyond the pads."""
    padded = np.pad(np.eye(side), ((_PAD, _PAD), (0, 0)))
    found = ndimage.spline_filter1d(padded, 3, axis=0, mode="grid-constant")
    found.setflags(write=False)
    return found


@lru_cache(maxsize=16)
def _fields(shape: tuple[int, int], sigma: float, copies: int, seed: int) -> Array:
    """Random smooth fields, shape (copies, 2, height, width), of root mean square length 1."""
    noise = np.random.default_rng(seed).uniform(-1, 1, size=(copies, 2, *shape))
    # Zeros outside: displacements fade towards the border, where there is nothing to bend.
    fields = ndimage.gaussian_filter(noise, sigma, mode="constant", axes=(2, 3))
    fields /= np.sqrt((fields**2).sum(axis=1).mean(axis=(1, 2)))[:, None, None, None]
    fields.setflags(write=False)
    return fields
