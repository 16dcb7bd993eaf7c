"""The decision function over a plane, with all that was known beforehand drawn on top."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import issparse

from .._utils.arrays import Array, as_keys
from .._utils.checks import is_number
from ..errors import InvalidInput
from ..kernels.set_kernel import OnRows
from ..sample import Sample
from ..solve.machine import Machine
from . import layers
from .geometry import Plane, Window, mesh
from .layers import Scene
from .style import (
    COLOURS,
    GREY,
    SHADES,
    as_written,
    axes_of,
    class_index,
    cycled,
    in_lines,
    legend_below,
    line,
    machine_of,
    machines_of,
    shown,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..estimator import PriorSVC

# Longer names of columns take several lines beside the axes.
NAME = 40


@as_written
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
    r"""The border :math:`f(x) = 0`, the margins :math:`f(x) = \pm 1`, the rows, and what the blocks know.

    Over the plane of two columns, on the conventions of scikit-learn's ``DecisionBoundaryDisplay``, which
    shades it. On top: regions hatched (a dashed border means soft), ellipses of uncertain rows and bars of
    gaps, trajectories, moved rows as dots, virtual rows hollow, unlabelled ones half full in the shape of
    the class they are taken for, a ring around support vectors, a diamond at worst points that hold f up;
    and for each block a white plus where it holds by the least, or a black cross where it is violated most,
    as :meth:`PriorSVC.verify` finds it.

    Parameters
    ----------
    model : fitted PriorSVC
    X, y : rows and their classes, optional
        To draw instead of the training rows, which the model has kept.
    ax : matplotlib Axes, optional
        None makes a figure.
    features : two columns, by name or index
    at : dict of column to value, or (d,) array, optional
        With more columns than two the picture is a slice: what the others are. Those not named, and all by
        default, are at their median over the training rows. Regions and f are cut; rows, ellipses and marks
        are not in the slice and are drawn as seen along the other columns.
    class_of_interest : class, optional
        With more than two classes: the machine of this class alone, which has margins.
    extent : (left, right, bottom, top), optional
        By default all that is drawn.
    grid_resolution : int
        Points of the grid along each axis.
    support, blocks, verify : bool
        Whether to ring the support vectors, to draw what the blocks know, and to draw their verdicts, which
        can take seconds to find.
    legend : bool or str
        Below the axes, none, or where matplotlib's name for a place says, "upper left" or "best".

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from priorsvm import Box, PriorSVC, plot
    >>> box = Box({0: (2, 3)}, label=1, hard=True)
    >>> model = PriorSVC(box).fit([[0.0, 0.0], [1.0, 1.0]], [0, 1])
    >>> ax = plot.decision(model)
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['0', '1', 'support vectors', 'box holds (worst ..., proven)', 'f = 0', 'f = ±1', 'box: 1']
    """
    machines = machines_of("decision", model)
    plane = _plane(model, machines[0].training, features, at)
    window = None if extent is None else check_window("decision", extent)
    if not isinstance(grid_resolution, (int, np.integer)) or grid_resolution < 2:
        raise InvalidInput(
            f"plot.decision: grid_resolution must be a whole number from 2 on, got {grid_resolution!r}."
        )
    if class_of_interest is not None:
        machines = [machine_of("decision", model, class_of_interest)]
    rows = _rows(model, machines, plane, X, y)
    scene = Scene(axes_of(ax, figsize=(6.6, 5.8)), plane, model.classes_.tolist(), machines)
    _draw_rows(scene, rows, support)
    if blocks:
        for draw in (
            layers.draw_added_rows,
            layers.draw_moves,
            layers.draw_spread,
            layers.draw_trajectories,
            layers.draw_worst_points,
        ):
            draw(scene)
    if verify:
        layers.draw_verdicts(scene)
    window = window or _all_drawn(scene, blocks)
    _draw_score(scene, model, class_of_interest, window, grid_resolution)
    if blocks:
        layers.draw_regions(scene, window, grid_resolution)
    layers.number_verdicts(scene, window)
    scene.ax.set(xlim=window[:2], ylim=window[2:])
    if legend:
        _legend(scene, machines[0].training, legend)
    return scene.ax


# ---------------------------------------------------------------------- what was asked


def _plane(model: PriorSVC, training: Sample, features: Any, at: Any) -> Plane:
    if isinstance(model.kernel_, OnRows):
        raise InvalidInput(
            "plot.decision draws rows as points, and this kernel compares sets of vectors. "
            "plot.shares and plot.convergence show how the fit went."
        )
    if issparse(training.X):
        raise InvalidInput(
            "plot.decision: the model was fitted on sparse rows. Fit it on the columns to be drawn, "
            "X[:, columns].toarray()."
        )
    d = training.X.shape[1]
    if d == 1:
        raise InvalidInput(
            "plot.decision needs two columns, and the model has one. Draw its curve: "
            "ax.plot(grid, model.decision_function(grid[:, None]))."
        )
    pair = list(features) if isinstance(features, (list, tuple, np.ndarray)) else [features]
    if len(pair) != 2:
        raise InvalidInput(f"plot.decision: features must be two columns, got {features!r}.")
    first, second = (_column(training, key, "features") for key in pair)
    if first == second:
        raise InvalidInput(f"plot.decision: features must be two different columns, got {features!r}.")
    return Plane((first, second), _row(training, at))


def _column(training: Sample, key: Any, argument: str) -> int:
    try:
        return training.column(key)
    except InvalidInput as error:
        raise InvalidInput(f"plot.decision: {argument}: {error}") from error


def _row(training: Sample, at: Any) -> Array:
    """The values of all columns, the median where nothing else is said."""
    row = np.median(training.X, axis=0)
    d = len(row)
    if at is None:
        return row
    if hasattr(at, "to_dict"):  # a pandas Series
        at = at.to_dict()
    if isinstance(at, Mapping):
        for key, value in at.items():
            if not is_number(value) or not np.isfinite(value):
                raise InvalidInput(f"plot.decision: at[{key!r}] must be a number, got {value!r}.")
            row[_column(training, key, "at")] = value
        return row
    try:
        given = np.asarray(at, float)
    except (TypeError, ValueError):
        given = np.empty((0, 0))
    if given.shape != (d,) or not np.isfinite(given).all():
        raise InvalidInput(
            "plot.decision: at must be a dict of column to value, or one number for each of the "
            f"{d} columns, got {at!r}."
        )
    return given


def check_window(function: str, extent: Any) -> Window:
    """(left, right, bottom, top) as numbers in order."""
    try:
        left, right, bottom, top = map(float, extent)
    except (TypeError, ValueError):
        left = right = bottom = top = np.nan
    if not (np.isfinite([left, right, bottom, top]).all() and left < right and bottom < top):
        raise InvalidInput(
            f"plot.{function}: extent must be (left, right, bottom, top) with left < right and bottom < top, "
            f"got {extent!r}."
        )
    return left, right, bottom, top


# ---------------------------------------------------------------------- rows


@dataclass(frozen=True, eq=False)
class _Rows:
    """Rows to draw.

    Attributes
    ----------
    X, labels : the rows and their classes.
    support : which of them are support vectors.
    gaps : where values were missing.
    """

    X: Array
    labels: Array
    support: Array
    gaps: Array


def _rows(model: PriorSVC, machines: list[Machine], plane: Plane, X: Any, y: Any) -> _Rows:
    """The training rows, or the user's own; those that were trained on keep what is known of them."""
    training = machines[0].training
    support = np.any([machine.support[: training.n_train] for machine in machines], axis=0)
    gaps = np.zeros(training.X.shape, bool) if training.missing is None else training.missing.missing
    if X is None and y is None:
        return _Rows(training.X, training.labels, support, gaps)
    if X is None or y is None:
        given, other = ("X", "y") if y is None else ("y", "X")
        raise InvalidInput(
            f"plot.decision: {given} was given without {other}. Give both, or none for the training rows."
        )
    rows = model._checked_rows(X)
    labels = np.asarray(y)
    classes = model.classes_.tolist()
    if labels.shape != (len(rows),):
        raise InvalidInput(f"plot.decision: y has shape {labels.shape}, and X has {len(rows)} rows.")
    strange = [label for label in np.unique(labels).tolist() if label not in classes]
    if strange:
        raise InvalidInput(f"plot.decision: y has {strange[0]!r}, and the classes are {classes}.")
    if rows.shape == training.X.shape and np.all(np.isnan(rows) | (rows == training.X)):
        return _Rows(training.X, labels, support, gaps)
    if np.isnan(plane.project(rows)).any():
        raise InvalidInput(
            "plot.decision: X has missing values in the columns to be drawn. Training rows are drawn as the "
            "block has completed them (leave X out); complete others first."
        )
    held = set(as_keys(training.X[support]))
    known = np.array([key in held for key in as_keys(rows)], bool)
    return _Rows(rows, labels, known, np.zeros(rows.shape, bool))


def _draw_rows(scene: Scene, rows: _Rows, rings: bool) -> None:
    places = scene.plane.project(rows.X)
    hollow = scene.plane.project(rows.gaps).any(axis=1)
    size = 26.0 if len(places) <= 200 else 12.0
    for k, label in enumerate(scene.classes):
        colour = scene.colour(k)
        of_class = rows.labels == label
        for which, face in ((of_class & ~hollow, colour), (of_class & hollow, "none")):
            if which.any():
                x0, x1 = places[which].T
                drawn = scene.ax.scatter(
                    x0,
                    x1,
                    marker=scene.marker(k),
                    s=size,
                    facecolors=face,
                    edgecolors=colour,
                    linewidths=0.9,
                    alpha=0.5 if len(scene.plane.others) else 1.0,
                    label=shown(label) if face == colour else shown(f"{label}, with gaps"),
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


def _all_drawn(scene: Scene, blocks: bool) -> Window:
    """A window around everything, regions up to as far beyond the rest as that is wide."""
    (left, bottom), (right, top) = scene.ax.dataLim.get_points()
    low = np.array([left, bottom])
    high = np.array([right, top])
    width = np.where(high > low, high - low, 1.0)
    furthest = low - width, high + width
    if blocks:
        for *_, region in layers.demanded(scene):
            ends = np.array([scene.plane.project(side) for side in region.box])
            ends = np.where(np.isfinite(ends), np.clip(ends, *furthest), low)  # an open side asks for no room
            low = np.minimum(low, ends.min(axis=0))
            high = np.maximum(high, ends.max(axis=0))
    margin = 0.06 * np.where(high > low, high - low, 1.0)
    low = low - margin
    high = high + margin
    return float(low[0]), float(high[0]), float(low[1]), float(high[1])


# ---------------------------------------------------------------------- f


def _draw_score(
    scene: Scene, model: PriorSVC, class_of_interest: Any, window: Window, resolution: int
) -> None:
    from sklearn.inspection import DecisionBoundaryDisplay

    a, b, points = mesh(window, resolution)
    scores = model._scores(scene.plane.lift(points))
    names = [in_lines(_name(scene.machines[0].training, j), NAME) for j in scene.plane.columns]
    for sides, f in _two_sided(scene, model, class_of_interest, scores):
        display = DecisionBoundaryDisplay(
            xx0=a, xx1=b, n_classes=2, response=f.reshape(a.shape), xlabel=names[0], ylabel=names[1]
        )
        levels = [-np.inf, 0.0, np.inf] if len(sides) == 2 else [0.0, np.inf]
        display.plot("contourf", ax=scene.ax, levels=levels, colors=[_shade(k) for k in sides], zorder=0)
        if len(sides) == 1:
            _contour(scene, a, b, f, [0.0], "border", 1.6, "-")
            continue
        whose = f", {scene.name(sides[1])} against the rest" if sides[0] is None else ""
        _contour(scene, a, b, f, [0.0], f"f = 0{whose}", 1.6, "-")
        _contour(scene, a, b, f, [-1.0, 1.0], "f = ±1", 1.0, "--")


def _two_sided(
    scene: Scene, model: PriorSVC, class_of_interest: Any, scores: Array
) -> list[tuple[list[int | None], Array]]:
    """Functions whose sign tells a class from the rest, and the classes that are shaded by it."""
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
    joint = scene.machines[0].training.positive not in scene.classes
    return [([None, k], leads[k] if joint else scores[:, k])]


def _shade(side: int | None) -> Any:
    from matplotlib.colors import to_rgba

    if side is None:
        return to_rgba(GREY, 0.12)
    return to_rgba(cycled(COLOURS, side), cycled(SHADES, side))


def _contour(
    scene: Scene, a: Array, b: Array, f: Array, levels: list[float], label: str, width: float, style: str
) -> None:
    """Of those levels that are in the picture: matplotlib warns of others."""
    there = [level for level in levels if f.min() < level < f.max()]
    if not there:
        return
    scene.ax.contour(
        a,
        b,
        f.reshape(a.shape),
        levels=there,
        colors="black",
        linewidths=width,
        linestyles=style,
        zorder=2.6,
    )
    if label not in [handle.get_label() for handle in scene.handles]:
        scene.handles.append(line("black", label, linewidth=width, linestyle=style))


# ---------------------------------------------------------------------- words


def _name(training: Sample, column: int) -> str:
    return f"x{column}" if training.feature_names is None else str(training.feature_names[column])


def _legend(scene: Scene, training: Sample, place: bool | str) -> None:
    others = scene.plane.others
    title = None
    if len(others):
        values = [f"{_name(training, j)} = {scene.plane.at[j]:.3g}" for j in others[:3]]
        more = f" and {len(others) - 3} more" if len(others) > 3 else ""
        title = f"slice at {', '.join(values)}{more};\nrows projected"
    if isinstance(place, str):
        scene.ax.legend(
            handles=scene.handles, title=title, loc=place, fontsize="small", title_fontsize="small"
        )
    else:
        legend_below(scene.ax, scene.handles, 2, title=title)
