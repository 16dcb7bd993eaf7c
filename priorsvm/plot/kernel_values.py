"""Values of a kernel over a plane."""

from __future__ import annotations

from textwrap import shorten
from typing import TYPE_CHECKING, Any

import numpy as np

from .._utils.messages import readable
from ..errors import InvalidInput, InvalidType
from ..kernels.resolve import resolve_kernel
from ..kernels.set_kernel import takes_sets
from ..transforms.base import Transform
from .checks import check_grid, check_window
from .geometry import mesh
from .style import axes_or_new, plot_function

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@plot_function
def kernel(
    kernel: Any, at: Any, *, extent: Any, ax: Axes | None = None, grid_resolution: int = 150, levels: int = 12
) -> Axes:
    r"""Draw the kernel of one point x with all points z of the plane, :math:`z \mapsto k(x, z)`.

    Bright points are similar to x. The point x is a dot with a white rim. If the kernel has a transform, the
    orbit of x is drawn as small dots. An invariant kernel has equal values at all these dots.

    Parameters
    ----------
    kernel : Kernel, str or callable
        A kernel, its name, or a function of two matrices.
    at : array-like of shape (2,)
        The point x.
    extent : tuple of (float, float, float, float)
        Left, right, bottom and top of the plane.
    ax : matplotlib.axes.Axes or None, default=None
        Axes to draw on. None creates a figure.
    grid_resolution : int, default=150
        Number of points of the grid along each axis.
    levels : int, default=12
        Number of brightness levels.

    Returns
    -------
    matplotlib.axes.Axes
        The axes with the kernel.

    See Also
    --------
    decision : Draw the decision function over a plane.

    References
    ----------
    Haasdonk, Vossen & Burkhardt 2005, "Invariance in kernel methods by Haar-integration kernels", SCIA.

    Examples
    --------
    >>> from priorsvm import RBF, plot
    >>> ax = plot.kernel(RBF(3.0), [0.6, 1.0], extent=(-2, 2, -2, 2))
    >>> ax.get_title()
    'RBF(gamma=3.0)'
    """
    window = check_window("kernel", extent)
    check_grid("kernel", grid_resolution)
    if takes_sets(kernel):
        raise InvalidType(
            f"plot.kernel requires a kernel of single vectors, but {kernel!r} compares sets of vectors."
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
            f"plot.kernel: {function!r} has a parameter 'scale', which depends on training rows. Give a "
            "number, or the kernel of a fitted model, model.kernel_."
        )
    a, b, points = mesh(window, grid_resolution)
    ax = axes_or_new(ax, figsize=(5.2, 4.4))
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
