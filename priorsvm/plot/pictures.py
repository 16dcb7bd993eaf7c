"""Pictures of kernels, and of patterns that are images."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import shorten
from typing import TYPE_CHECKING, Any

import numpy as np

from .._utils.arrays import Array
from .._utils.messages import readable
from ..errors import InvalidInput, InvalidType
from ..kernels.resolve import resolve_kernel
from ..kernels.set_kernel import takes_sets
from ..transforms.base import Transform
from .geometry import mesh
from .plane import check_window
from .style import as_written, axes_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# In parts of an image: what is left between two of them, and the room a title takes.
GAP = 0.12
TITLE = 0.3


@as_written
def kernel(
    kernel: Any, at: Any, *, extent: Any, ax: Axes | None = None, grid_resolution: int = 150, levels: int = 12
) -> Axes:
    r"""The kernel of one point with all points of the plane, :math:`z \mapsto k(x, z)`: bright is alike.

    The point is a white-rimmed dot. Where the kernel has a transform of its own, the other members of the
    point's orbit are small dots: an invariant kernel is as bright there.

    Parameters
    ----------
    kernel : Kernel, name, or function of two matrices
    at : (2,) array
        The point x.
    extent : (left, right, bottom, top)
    ax : matplotlib Axes, optional
        None makes a figure.
    grid_resolution : int
        Points of the grid along each axis.
    levels : int
        How many steps of brightness.

    Returns
    -------
    matplotlib Axes

    References
    ----------
    Haasdonk 2005 has such pictures for every kernel.

    Examples
    --------
    >>> from priorsvm import RBF, plot
    >>> ax = plot.kernel(RBF(3.0), [0.6, 1.0], extent=(-2, 2, -2, 2))
    >>> ax.get_title()
    'RBF(gamma=3.0)'
    """
    window = check_window("kernel", extent)
    if takes_sets(kernel):
        raise InvalidType(
            f"plot.kernel draws k(x, .) over a plane of rows, and {kernel!r} compares sets of vectors."
        )
    try:
        point = np.asarray(at, float).reshape(1, 2)
    except (TypeError, ValueError):
        point = np.full((1, 2), np.nan)
    if not np.isfinite(point).all():
        raise InvalidInput(f"plot.kernel: at must be a point of the plane, two numbers, got {at!r}.")
    function = resolve_kernel(kernel, 2)
    if any(isinstance(value, str) and value == "scale" for value in function.get_params().values()):
        raise InvalidInput(
            f"plot.kernel: {function!r} takes a number from training rows, and there are none. Give one, "
            "or give the kernel of a fitted model, model.kernel_."
        )
    a, b, points = mesh(window, grid_resolution)
    ax = axes_of(ax, figsize=(5.2, 4.4))
    shown = ax.contourf(a, b, function(points, point).reshape(a.shape), levels=levels, cmap="cividis")
    ax.figure.colorbar(shown, ax=ax, label="k(x, z)")
    transform = getattr(function, "transform", None)
    if isinstance(transform, Transform) and transform.finite:
        x0, x1 = transform.orbit(point)[0, 1:].T
        ax.scatter(
            x0, x1, s=12, color="white", edgecolors="black", linewidths=0.5, label="orbit of x", zorder=3
        )
    x0, x1 = point[0]
    ax.scatter(x0, x1, s=70, color="black", edgecolors="white", linewidths=1.5, label="x", zorder=4)
    ax.set(xlim=window[:2], ylim=window[2:], aspect="equal", xlabel="z0", ylabel="z1")
    ax.set_title(shorten(readable(repr(function)), 44, placeholder=" ..."), fontsize="small")
    return ax


@as_written
def images(
    rows: Any,
    shape: Any,
    *,
    titles: Sequence[Any] | None = None,
    columns: int = 8,
    limits: tuple[float, float] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Rows as images, side by side in one pair of axes, all on one scale of grey.

    Parameters
    ----------
    rows : (n, height * width) array
    shape : (height, width)
    titles : n words or numbers, optional
        Above each image.
    columns : int
        How many side by side.
    limits : (white, black), optional
        The values that are white and black; by default the least and the largest of all.
    ax : matplotlib Axes, optional
        None makes a figure that fits.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from priorsvm import plot
    >>> X, y = load_digits(return_X_y=True)
    >>> ax = plot.images(X[:10], (8, 8), titles=y[:10], columns=5)
    >>> len(ax.images), [text.get_text() for text in ax.texts[:3]]
    (10, ['0', '1', '2'])
    """
    patterns = check_images("images", rows, shape)
    if not isinstance(columns, (int, np.integer)) or isinstance(columns, bool) or columns < 1:
        raise InvalidInput(f"plot.images: columns must be a whole number from 1 on, got {columns!r}.")
    words = None if titles is None else [str(title) for title in titles]
    if words is not None and len(words) != len(patterns):
        raise InvalidInput(f"plot.images: there are {len(words)} titles for {len(patterns)} images.")
    places = [divmod(k, int(columns)) for k in range(len(patterns))]
    return mosaic(patterns, places, words, ax=ax, limits=limits)


def check_images(function: str, rows: Any, shape: Any) -> Array:
    """(n, height, width) from rows of pixels."""
    pair = np.ndim(shape) == 1 and len(shape) == 2
    if not pair or not all(isinstance(side, (int, np.integer)) and side > 0 for side in shape):
        raise InvalidInput(f"plot.{function}: shape must be (height, width) in pixels, got {shape!r}.")
    height, width = (int(side) for side in shape)
    try:
        pixels = np.asarray(rows, float)
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"plot.{function}: rows must be numbers, the pixels of one image each.") from error
    if pixels.ndim == 1:
        pixels = pixels[None]
    if not np.isfinite(pixels).all():
        raise InvalidInput(
            f"plot.{function}: some pixels are NaN or infinite. Give them a value first, such as "
            "np.nan_to_num(rows)."
        )
    if pixels.ndim != 2 or pixels.shape[1] != height * width or len(pixels) == 0:
        raise InvalidInput(
            f"plot.{function}: rows of shape {pixels.shape} are no images of {height} x {width} = "
            f"{height * width} pixels. Give the (height, width) of the images that are the rows."
        )
    return pixels.reshape(-1, height, width)


def mosaic(
    patterns: Array,
    places: Sequence[tuple[int, int]],
    titles: Sequence[str] | None = None,
    framed: Sequence[int] = (),
    limits: tuple[float, float] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Images at (line, column) places of one pair of axes, some of them framed."""
    from matplotlib.patches import Rectangle

    _, height, width = patterns.shape
    across = width * (1 + GAP)
    down = height * (1 + GAP + (0.0 if titles is None else TITLE))
    lines, columns = (1 + max(place[axis] for place in places) for axis in (0, 1))
    ax = axes_of(ax, figsize=(1.05 * columns, 1.05 * lines * down / across))
    white, black = limits or (float(patterns.min()), float(patterns.max()))
    for k, (line, column) in enumerate(places):
        left = column * across
        top = line * down
        place = (left, left + width, top + height, top)
        ax.imshow(patterns[k], cmap="gray_r", vmin=white, vmax=black, extent=place)
        thick = k in framed
        ax.add_patch(
            Rectangle(
                (left, top),
                width,
                height,
                fill=False,
                edgecolor="black" if thick else "0.7",
                linewidth=2.0 if thick else 0.5,
            )
        )
        if titles is not None:
            ax.text(
                left + width / 2,
                top - 0.04 * height,
                titles[k],
                horizontalalignment="center",
                verticalalignment="bottom",
                fontsize="x-small",
            )
    above = 0.0 if titles is None else TITLE * height
    ax.set(xlim=(-0.05 * width, columns * across), ylim=(lines * down - above, -above - 0.05 * height))
    ax.set_aspect("equal")
    ax.set_axis_off()
    return ax
