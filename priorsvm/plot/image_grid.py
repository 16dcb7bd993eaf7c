"""Images side by side on one pair of axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .._utils.arrays import Array
from .._utils.checks import is_number
from ..errors import InvalidInput
from .checks import check_count, check_images, is_list
from .style import axes_or_new, plot_function

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# As parts of the height or width of an image: the gap between two images, and the height of a title.
GAP = 0.12
TITLE = 0.3


@plot_function
def images(
    rows: Any,
    shape: Any,
    *,
    titles: Sequence[Any] | None = None,
    columns: int = 8,
    limits: tuple[float, float] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw rows as images side by side, all on one grey scale.

    Parameters
    ----------
    rows : array-like of shape (n, height * width)
        Images, one per row.
    shape : tuple of (int, int)
        Height and width of the images.
    titles : sequence of length n or None, default=None
        Texts or numbers above the images.
    columns : int, default=8
        Number of images side by side.
    limits : tuple of (float, float) or None, default=None
        The values drawn white and black. None uses the smallest and the largest pixel of all images.
    ax : matplotlib.axes.Axes or None, default=None
        Axes to draw on. None creates a figure that fits the images.

    Returns
    -------
    matplotlib.axes.Axes
        The axes with the images.

    See Also
    --------
    worst_moves : Draw images and their worst transformations.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from priorsvm import plot
    >>> X, y = load_digits(return_X_y=True)
    >>> ax = plot.images(X[:10], (8, 8), titles=y[:10], columns=5)
    >>> len(ax.images), [text.get_text() for text in ax.texts[:3]]
    (10, ['0', '1', '2'])
    """
    pixels = check_images("images", rows, shape)
    check_count("images", "columns", columns)
    if not (titles is None or is_list(titles)):
        raise InvalidInput(f"plot.images: titles must be a list of texts or numbers, got {titles!r}.")
    if limits is not None and not (is_list(limits) and len(limits) == 2 and all(map(is_number, limits))):
        raise InvalidInput(f"plot.images: limits must be two numbers, white and black, got {limits!r}.")
    texts = None if titles is None else [str(title) for title in titles]
    if texts is not None and len(texts) != len(pixels):
        raise InvalidInput(
            f"plot.images: there are {len(texts)} titles for {len(pixels)} images. Give one title per image."
        )
    cells = [divmod(k, int(columns)) for k in range(len(pixels))]
    return draw_images(pixels, cells, texts, ax=ax, limits=limits)


def draw_images(
    pixels: Array,
    cells: Sequence[tuple[int, int]],
    titles: Sequence[str] | None = None,
    framed: Sequence[int] = (),
    limits: tuple[float, float] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw images at (line, column) cells of one pair of axes, some with a thick frame."""
    from matplotlib.patches import Rectangle

    _, height, width = pixels.shape
    across = width * (1 + GAP)
    down = height * (1 + GAP + (0.0 if titles is None else TITLE))
    lines, columns = (1 + max(cell[axis] for cell in cells) for axis in (0, 1))
    ax = axes_or_new(ax, figsize=(1.05 * columns, 1.05 * lines * down / across))
    white, black = (float(pixels.min()), float(pixels.max())) if limits is None else limits
    for k, (line, column) in enumerate(cells):
        left = column * across
        top = line * down
        extent = (left, left + width, top + height, top)
        ax.imshow(pixels[k], cmap="gray_r", vmin=white, vmax=black, extent=extent)
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
