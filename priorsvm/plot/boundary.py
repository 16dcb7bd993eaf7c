"""The decision function over a plane of two features, with the prior knowledge of the model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import issparse

from .._utils.arrays import Array, as_keys
from .._utils.checks import check_flag, is_number
from ..errors import InvalidInput
from ..fitted import scores_of
from ..sample import Sample
from ..solve.model import BinaryModel
from .checks import binaries_of, binary_of, check_grid, check_window, class_index
from .geometry import Plane, Window, mesh, window_around
from .layers import (
    Scene,
    draw_added_rows,
    draw_orbits,
    draw_regions,
    draw_trajectories,
    draw_uncertainty,
    draw_verdicts,
    draw_worst_points,
    label_verdicts,
    required_regions,
)
from .style import (
    COLOURS,
    GREY,
    SHADES,
    axes_or_new,
    cycled,
    legend_below,
    legend_label,
    legend_line,
    plot_function,
    wrapped,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..estimator import PriorSVC

# Longer names of features take several lines beside the axes.
NAME_LENGTH = 40


@plot_function
def decision(
    model: PriorSVC,
    X: Any = None,
    y: Any = None,
    *,
    ax: Axes | None = None,
    features: Any = (0, 1),
    at: Any = None,
    class_of_interest: Any = None,
    extent: Any = None,
    grid_resolution: int = 150,
    support: bool = True,
    blocks: bool = True,
    verify: bool = True,
    legend: bool | str = True,
) -> Axes:
    r"""Draw the decision boundary :math:`f(x) = 0`, the margins :math:`f(x) = \pm 1`, rows and blocks.

    The plane of two features is shaded by class. Marks have these meanings:

    - Hatched areas are regions of blocks, with a solid outline if hard and a dashed outline if soft.
    - Ellipses belong to uncertain rows, bars to missing values, and thin curves to trajectories.
    - Small dots are orbits of an :class:`InvariantLoss`.
    - Small hollow markers are virtual rows. Half-filled markers are unlabelled rows, drawn as their assumed
      class.
    - Rings are support vectors. Diamonds are active worst-case points.
    - A white plus is the smallest margin of a block that holds, a black cross the largest violation of a
      block; see :meth:`PriorSVC.verify`.

    Parameters
    ----------
    model : PriorSVC
        A fitted model.
    X : array-like of shape (n, d) or None, default=None
        Rows to draw. None draws the training rows.
    y : array-like of shape (n,) or None, default=None
        Classes of the rows of X.
    ax : matplotlib.axes.Axes or None, default=None
        Axes to draw on. None creates a figure.
    features : tuple of two int or str, default=(0, 1)
        The two features, by index or name.
    at : dict, array-like of shape (d,) or None, default=None
        Values of the other features, by index or name. Features without a value are at the median of the
        training rows. The figure is then a slice: it shows sections of f and of regions, and projections of
        rows, ellipses and marks.
    class_of_interest : class label, pair of labels or None, default=None
        With more than two classes: draw the model of this class alone, with its margins. For
        ``multi_class="ovo"`` give a pair of classes.
    extent : tuple of (float, float, float, float) or None, default=None
        Left, right, bottom and top. None includes everything that is drawn.
    grid_resolution : int, default=150
        Number of points of the grid along each axis.
    support : bool, default=True
        Whether to draw rings around support vectors.
    blocks : bool, default=True
        Whether to draw the prior knowledge of the blocks.
    verify : bool, default=True
        Whether to draw the verdicts of the blocks, which can take seconds to compute.
    legend : bool or str, default=True
        True draws the legend below the axes, False draws no legend. A string is a location of matplotlib,
        such as "upper left" or "best".

    Returns
    -------
    matplotlib.axes.Axes
        The axes with the decision function.

    See Also
    --------
    compare : Draw several models side by side.
    support_trajectories : Draw active points of trajectories.
    kernel : Draw the values of a kernel over a plane.
    shares : Draw the terms of the objective.

    Examples
    --------
    >>> from priorsvm import Box, PriorSVC, plot
    >>> box = Box({0: (2, 3)}, label=1, hard=True)
    >>> model = PriorSVC(box).fit([[0.0, 0.0], [1.0, 1.0]], [0, 1])
    >>> ax = plot.decision(model)
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['0', '1', 'support vectors', 'box holds (worst ..., proven)', 'f = 0', 'f = ±1', 'box: 1']
    """
    if not isinstance(legend, str):
        check_flag(legend=legend)
    scene = draw_decision(
        axes_or_new(ax, figsize=(6.6, 5.8)),
        model,
        X,
        y,
        features=features,
        at=at,
        class_of_interest=class_of_interest,
        extent=extent,
        grid_resolution=grid_resolution,
        support=support,
        blocks=blocks,
        verify=verify,
    )
    if legend:
        _draw_legend(scene, legend)
    return scene.ax


def draw_decision(
    ax: Axes,
    model: PriorSVC,
    X: Any,
    y: Any,
    *,
    features: Any = (0, 1),
    at: Any = None,
    class_of_interest: Any = None,
    extent: Any = None,
    grid_resolution: int = 150,
    support: bool = True,
    blocks: bool = True,
    verify: bool = True,
) -> Scene:
    """Draw what :func:`decision` draws, without its legend; the scene has the entries of the legend."""
    binaries = binaries_of("decision", model)
    plane = _check_plane(model, binaries[0].training, features, at)
    window = None if extent is None else check_window("decision", extent)
    check_grid("decision", grid_resolution)
    check_flag(support=support, blocks=blocks, verify=verify)
    if class_of_interest is not None:
        binaries = [binary_of("decision", model, class_of_interest)]
    rows = _check_rows(model, binaries, plane, X, y)
    scene = Scene(ax, plane, model.classes_.tolist(), binaries)
    _draw_rows(scene, rows, support)
    if blocks:
        draw_added_rows(scene)
        draw_orbits(scene)
        draw_uncertainty(scene)
        draw_trajectories(scene)
        draw_worst_points(scene)
    if verify:
        draw_verdicts(scene)
    window = window or _window(scene, blocks)
    _draw_scores(scene, model, class_of_interest, window, grid_resolution)
    if blocks:
        draw_regions(scene, window, grid_resolution)
    label_verdicts(scene, window)
    ax.set(xlim=window[:2], ylim=window[2:])
    return scene


# ---------------------------------------------------------------------- arguments


def _check_plane(model: PriorSVC, training: Sample, features: Any, at: Any) -> Plane:
    if model.kernel_ is not None and model.kernel_.encodes:
        samples = "sets of vectors" if model.kernel_.takes_sets else "samples without features"
        raise InvalidInput(
            f"plot.decision draws rows as points, but the kernel of this model compares {samples}. Use "
            "plot.shares or plot.convergence."
        )
    if issparse(training.X):
        raise InvalidInput(
            "plot.decision: the model was fitted on sparse rows. Fit it on the columns to draw, "
            "X[:, columns].toarray()."
        )
    if training.X.shape[1] == 1:
        raise InvalidInput(
            "plot.decision requires two columns, but the model has one. Draw its curve with "
            "ax.plot(grid, model.decision_function(grid[:, None]))."
        )
    pair = list(features) if isinstance(features, (list, tuple, np.ndarray)) else [features]
    if len(pair) != 2:
        raise InvalidInput(f"plot.decision: features must be two columns, got {features!r}.")
    first, second = (_column(training, key, "features") for key in pair)
    if first == second:
        raise InvalidInput(f"plot.decision: features must be two different columns, got {features!r}.")
    return Plane((first, second), _fixed_values(training, at))


def _column(training: Sample, key: Any, argument: str) -> int:
    try:
        return training.column(key)
    except InvalidInput as error:
        raise InvalidInput(f"plot.decision: {argument}: {error}") from error


def _fixed_values(training: Sample, at: Any) -> Array:
    """Return a value for every feature: of ``at``, or the median, or the most frequent category."""
    row = np.median(training.X, axis=0)
    d = len(row)
    encoding = training.encoding
    for group in [] if encoding is None else encoding.groups:
        counts = training.X_train[:, group.members].sum(axis=0)
        row[group.members] = np.arange(len(counts)) == np.argmax(counts)
    if at is None:
        return row
    # A pandas Series.
    if hasattr(at, "to_dict"):
        at = at.to_dict()
    if isinstance(at, Mapping):
        for key, value in at.items():
            if encoding is not None and encoding.set_value(row, key, value):
                continue
            if not (is_number(value) or isinstance(value, (bool, np.bool_))):
                raise InvalidInput(f"plot.decision: at[{key!r}] must be a finite number, got {value!r}.")
            row[_column(training, key, "at")] = value
        return row
    try:
        given = np.asarray(at, float)
    except (TypeError, ValueError):
        given = np.empty((0, 0))
    if given.shape != (d,) or not np.isfinite(given).all():
        raise InvalidInput(
            "plot.decision: at must be a dict of column to value, or one finite number for each of the "
            f"{d} columns, got {at!r}."
        )
    return given


# ---------------------------------------------------------------------- rows


@dataclass(frozen=True, eq=False)
class _Rows:
    """Rows to draw.

    Attributes
    ----------
    X, labels : the rows and their classes.
    support : whether each row is a support vector.
    missing : (n, d) array, whether each value was missing.
    """

    X: Array
    labels: Array
    support: Array
    missing: Array


def _check_rows(model: PriorSVC, binaries: list[BinaryModel], plane: Plane, X: Any, y: Any) -> _Rows:
    """Return the training rows, or the given rows; given training rows keep their rings."""
    training = binaries[0].training
    support = np.any([binary.support[: training.n_train] for binary in binaries], axis=0)
    missing = np.zeros(training.X.shape, bool) if training.missing is None else training.missing.missing
    if X is None and y is None:
        return _Rows(training.X, training.labels, support, missing)
    if X is None or y is None:
        given, other = ("X", "y") if y is None else ("y", "X")
        raise InvalidInput(
            f"plot.decision: {given} is given without {other}. Give both, or neither for the training rows."
        )
    rows = model._checked_rows(X)
    labels = np.asarray(y)
    classes = model.classes_.tolist()
    if labels.shape != (len(rows),):
        raise InvalidInput(f"plot.decision: y has shape {labels.shape}, but X has {len(rows)} rows.")
    unknown = [label for label in np.unique(labels).tolist() if label not in classes]
    if unknown:
        raise InvalidInput(f"plot.decision: y contains {unknown[0]!r}, but the classes are {classes}.")
    if rows.shape == training.X.shape and np.all(np.isnan(rows) | (rows == training.X)):
        return _Rows(training.X, labels, support, missing)
    if np.isnan(plane.project(rows)).any():
        raise InvalidInput(
            "plot.decision: X has missing values in the drawn columns. Impute these values, or omit X to "
            "draw the training rows as completed by their block."
        )
    support_keys = set(as_keys(training.X[support]))
    is_support = np.array([key in support_keys for key in as_keys(rows)], bool)
    return _Rows(rows, labels, is_support, np.zeros(rows.shape, bool))


def _draw_rows(scene: Scene, rows: _Rows, rings: bool) -> None:
    places = scene.plane.project(rows.X)
    hollow = scene.plane.project(rows.missing).any(axis=1)
    size = 26.0 if len(places) <= 200 else 12.0
    for k, label in enumerate(scene.classes):
        colour = scene.colour(k)
        of_class = rows.labels == label
        for which, face in ((of_class & ~hollow, colour), (of_class & hollow, "none")):
            if which.any():
                x0, x1 = places[which].T
                text = legend_label(label if face == colour else f"{label}, with missing values")
                drawn = scene.ax.scatter(
                    x0,
                    x1,
                    marker=scene.marker(k),
                    s=size,
                    facecolors=face,
                    edgecolors=colour,
                    linewidths=0.9,
                    alpha=0.5 if len(scene.plane.others) else 1.0,
                    label=text,
                    zorder=3,
                )
                scene.handles.append(drawn)
    if rings and rows.support.any():
        x0, x1 = places[rows.support].T
        drawn = scene.ax.scatter(
            x0,
            x1,
            s=3.6 * size,
            facecolors="none",
            edgecolors="black",
            linewidths=0.9,
            label="support vectors",
            zorder=3.5,
        )
        scene.handles.append(drawn)


def _window(scene: Scene, blocks: bool) -> Window:
    """Return a window around all marks and regions; regions at most triple its width and height."""
    (left, bottom), (right, top) = scene.ax.dataLim.get_points()
    low = np.array([left, bottom])
    high = np.array([right, top])
    width = np.where(high > low, high - low, 1.0)
    furthest = low - width, high + width
    if blocks:
        for *_, region in required_regions(scene):
            ends = np.array([scene.plane.project(side) for side in region.box])
            # Unbounded sides do not enlarge the window.
            ends = np.where(np.isfinite(ends), np.clip(ends, *furthest), low)
            low = np.minimum(low, ends.min(axis=0))
            high = np.maximum(high, ends.max(axis=0))
    return window_around(low, high)


# ---------------------------------------------------------------------- f


def _draw_scores(
    scene: Scene, model: PriorSVC, class_of_interest: Any, window: Window, resolution: int
) -> None:
    a, b, points = mesh(window, resolution)
    rows = scene.plane.lift(points)
    one_pair = class_of_interest is not None and model._one_vs_one
    scores = scores_of(scene.binaries[0], rows) if one_pair else model._scores(rows)
    names = [wrapped(_name(scene.binaries[0].training, j), NAME_LENGTH) for j in scene.plane.columns]
    scene.ax.set(xlabel=names[0], ylabel=names[1])
    for sides, f in _two_sided(scene, model, class_of_interest, scores):
        levels = [-np.inf, 0.0, np.inf] if len(sides) == 2 else [0.0, np.inf]
        colours = [_shade(k) for k in sides]
        scene.ax.contourf(a, b, f.reshape(a.shape), levels=levels, colors=colours, zorder=0)
        if len(sides) == 1:
            _draw_contour(scene, a, b, f, [0.0], "decision boundary", 1.6, "-")
            continue
        suffix = f", {scene.name(sides[1])} against the rest" if sides[0] is None else ""
        _draw_contour(scene, a, b, f, [0.0], f"f = 0{suffix}", 1.6, "-")
        _draw_contour(scene, a, b, f, [-1.0, 1.0], "f = ±1", 1.0, "--")


def _two_sided(
    scene: Scene, model: PriorSVC, class_of_interest: Any, scores: Array
) -> list[tuple[list[int | None], Array]]:
    """Return functions whose sign separates one class from all others, and the classes they shade."""
    binary = scene.binaries[0]
    if class_of_interest is not None and binary.training.against is not None:
        return [([scene.side(binary, -1.0), scene.side(binary, 1.0)], scores)]
    if scores.ndim == 1:
        sign = 1.0 if class_of_interest in (None, scene.classes[1]) else -1.0
        return [([0, 1] if sign > 0 else [1, 0], sign * scores)]
    leads = []
    for k in range(len(scene.classes)):
        others = np.delete(scores, k, axis=1).max(axis=1)
        leads.append(scores[:, k] - others)
    if class_of_interest is None:
        return [([k], lead) for k, lead in enumerate(leads)]
    k = class_index("decision", model, class_of_interest)
    joint = scene.binaries[0].training.positive not in scene.classes
    return [([None, k], leads[k] if joint else scores[:, k])]


def _shade(side: int | None) -> Any:
    from matplotlib.colors import to_rgba

    if side is None:
        return to_rgba(GREY, 0.12)
    return to_rgba(cycled(COLOURS, side), cycled(SHADES, side))


def _draw_contour(
    scene: Scene, a: Array, b: Array, f: Array, levels: list[float], label: str, width: float, style: str
) -> None:
    # Matplotlib warns of levels outside of the range of f.
    inside = [level for level in levels if f.min() < level < f.max()]
    if not inside:
        return
    scene.ax.contour(
        a,
        b,
        f.reshape(a.shape),
        levels=inside,
        colors="black",
        linewidths=width,
        linestyles=style,
        zorder=2.6,
    )
    if label not in [handle.get_label() for handle in scene.handles]:
        scene.handles.append(legend_line("black", label, linewidth=width, linestyle=style))


# ---------------------------------------------------------------------- names and legend


def _name(training: Sample, column: int) -> str:
    return f"x{column}" if training.feature_names is None else str(training.feature_names[column])


def slice_title(scene: Scene) -> str | None:
    """Return the fixed values of a slice, or None if the plane has all features."""
    training = scene.binaries[0].training
    others = scene.plane.others
    if len(others) == 0:
        return None
    values = [f"{_name(training, j)} = {scene.plane.at[j]:.3g}" for j in others]
    if training.encoding is not None:
        values = training.encoding.in_words(scene.plane.at, others, " = ", ".3g")
    more = f" and {len(values) - 3} more" if len(values) > 3 else ""
    return f"slice at {', '.join(values[:3])}{more};\nrows projected"


def _draw_legend(scene: Scene, place: bool | str) -> None:
    title = slice_title(scene)
    if isinstance(place, str):
        scene.ax.legend(
            handles=scene.handles, title=title, loc=place, fontsize="small", title_fontsize="small"
        )
    else:
        legend_below(scene.ax, scene.handles, 2, title=title)
