"""Layers of a figure over a plane: one function for each kind of prior knowledge of a fitted model."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from .._utils.arrays import Array, distinct_rows
from ..explain.verify import verify
from ..knowledge.regions.search import Search
from ..knowledge.regions.sets import EllipsoidSet, LevelSet
from ..knowledge.worst_case.base import WorstCase
from ..knowledge.worst_case.curves import Curves
from ..knowledge.worst_case.ellipsoidal import EllipsoidalKnowledge
from ..knowledge.worst_case.orbit_columns import OrbitColumns
from ..knowledge.worst_case.trajectories import Trajectories
from ..prior import live
from ..sample import Sample
from ..solve.model import BinaryModel
from .geometry import Plane, Window, cut, ellipse, mesh, polygon
from .style import BEHIND, COLOURS, GREY, HATCHES, MARKERS, cycled, legend_line

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Orbits of more rows than this are not drawn: the dots would cover the figure.
DOTS = 20_000


@dataclass(eq=False)
class Scene:
    """A plane and the binary models drawn on it.

    Attributes
    ----------
    ax, plane : the axes and the plane.
    classes : all classes; colours and markers follow their order.
    models : one binary model, or one for every class.
    handles : the entries of the legend.
    verdicts : the marks of verified and violated blocks, and their positions.
    """

    ax: Axes
    plane: Plane
    classes: list[Any]
    binaries: list[BinaryModel]
    handles: list[Any] = field(default_factory=list)
    verdicts: list[tuple[Any, Array]] = field(default_factory=list)

    def side(self, binary: BinaryModel, sign: float) -> int | None:
        """Return the index of the class that a sign of f means; None for all other classes."""
        # The joint model of all classes has no positive class.
        if binary.training.positive not in self.classes:
            return None
        label = binary.training.positive if sign > 0 else binary.training.negative
        return None if label is None else self.classes.index(label)

    def shown(self, binary: BinaryModel, sign: float) -> bool:
        """Return whether a side is drawn: one class, or all other classes in a figure of one class."""
        return self.side(binary, sign) is not None or len(self.binaries) == 1

    def name(self, side: int | None) -> str:
        """Return the name of a side for the legend."""
        return "other" if side is None else str(self.classes[side])

    def colour(self, side: int | None) -> str:
        return GREY if side is None else cycled(COLOURS, side)

    def marker(self, side: int | None) -> str:
        return "." if side is None else cycled(MARKERS, side)

    def row_classes(self) -> Array:
        """Return the index of the class of each training row."""
        return np.searchsorted(np.asarray(self.classes), self.binaries[0].training.labels)


def active_blocks(binary: BinaryModel) -> list[tuple[str, Any, Any]]:
    """Return name, block and state of every block with a positive weight."""
    return [(name, block, binary.states.get(name)) for name, block, _ in live(binary.members)]


# ---------------------------------------------------------------------- regions


def required_regions(scene: Scene) -> list[tuple[str, bool, int | None, Any]]:
    """Return block name, hardness, class and set of every region with a required class, each region once."""
    found: dict[tuple[str, int | None, int], tuple[str, bool, int | None, Any]] = {}
    for binary in scene.binaries:
        for name, block, state in active_blocks(binary):
            if not isinstance(state, Search):
                continue
            for sign in (-1.0, 1.0):
                of_sign = [r.region for r in state.requirements if r.direction is None and r.sign == sign]
                side = scene.side(binary, sign)
                if not scene.shown(binary, sign):
                    continue
                for k, region in enumerate(of_sign):  # all pairs with a class have its regions
                    found.setdefault((name, side, k), (name, block.hard, side, region))
    return list(found.values())


def draw_regions(scene: Scene, window: Window, resolution: int) -> None:
    """Draw regions hatched, with a solid outline for hard blocks and a dashed outline for soft blocks."""
    from matplotlib.patches import Patch

    named = set()
    for name, hard, side, region in required_regions(scene):
        look = {
            "edgecolor": scene.colour(side),
            "linewidth": 1.6,
            "linestyle": "-" if hard else "--",
            "hatch": cycled(HATCHES, 2 if side is None else side),
        }
        draw = _draw_level_set if isinstance(region, LevelSet) else _draw_outline
        if draw(scene, region, window, resolution, look) and (name, side) not in named:
            named.add((name, side))
            label = f"{name}: {scene.name(side)}{'' if hard else ' (soft)'}"
            scene.handles.append(Patch(facecolor="none", label=label, **look))


def _draw_outline(scene: Scene, region: Any, window: Window, resolution: int, look: dict[str, Any]) -> bool:
    """Draw a box, polyhedron or ellipsoid; return whether it meets the window."""
    from matplotlib.patches import Polygon
    from matplotlib.path import Path as Outline

    if isinstance(region, EllipsoidSet):
        corners = cut(region, scene.plane)
    else:
        corners = polygon(*scene.plane.inequalities(*region.inequalities), window)
    if corners is None or len(corners) == 0:
        return False
    _hatch(scene, Outline(corners), look)
    scene.ax.add_patch(Polygon(corners, facecolor="none", zorder=2, **{**look, "hatch": None}))
    return True


def _draw_level_set(
    scene: Scene, region: LevelSet, window: Window, resolution: int, look: dict[str, Any]
) -> bool:
    """Draw a region given by a function from its values on a grid; return whether it meets the window."""
    a, b, points = mesh(window, resolution)
    rows = scene.plane.lift(points)
    # Negative inside of the region and of its box.
    beyond = np.maximum(region.low - rows, rows - region.high)
    height = np.maximum(region.g(rows).max(axis=1), beyond.max(axis=1)).reshape(a.shape)
    if not (height < 0).any():
        return False
    inside = scene.ax.contourf(a, b, height, levels=[-np.inf, 0.0], colors="none")
    [outline] = inside.get_paths()
    inside.remove()
    _hatch(scene, outline, look)
    if (height > 0).any():
        scene.ax.contour(
            a,
            b,
            height,
            levels=[0.0],
            colors=look["edgecolor"],
            linewidths=look["linewidth"],
            linestyles=look["linestyle"],
            zorder=2,
        )
    return True


def _hatch(scene: Scene, outline: Any, look: dict[str, Any]) -> None:
    """Draw the hatch, fainter than the outline and behind rows and lines."""
    from matplotlib import rc_context
    from matplotlib.colors import to_rgba
    from matplotlib.patches import PathPatch

    faint = to_rgba(look["edgecolor"], 0.4)
    with rc_context({"hatch.linewidth": 0.6}):
        patch = PathPatch(
            outline, facecolor="none", edgecolor=faint, linewidth=0.0, hatch=look["hatch"], zorder=1
        )
    scene.ax.add_patch(patch)


# ---------------------------------------------------------------------- uncertainty and orbits of rows


def draw_uncertainty(scene: Scene) -> None:
    """Draw the projected ellipse of every uncertain row and the bar of every missing value."""
    from matplotlib.collections import PolyCollection

    binary = scene.binaries[0]
    X = scene.plane.project(binary.training.X)
    classes = scene.row_classes()
    for name, block, state in active_blocks(binary):
        if not isinstance(block, EllipsoidalKnowledge) or state is None or block.radius == 0:
            continue
        spread = block.spread(state)
        rows = np.flatnonzero(spread.uncertain)
        projected = scene.plane.project(spread.directions) * block.radius
        curves = []
        for row in rows:
            first = spread.start[spread.owner[row]]
            curves.append(ellipse(X[row], projected[first : first + spread.rank[spread.owner[row]]].T))
        if curves:
            colours = [scene.colour(k) for k in classes[rows]]
            label = f"{name}: {block.confidence:g} confidence"
            scene.ax.add_collection(
                PolyCollection(curves, facecolors="none", edgecolors=colours, linewidths=0.8, zorder=2.2)
            )
            scene.handles.append(legend_line(GREY, label, linewidth=0.8))


def trajectories_of(
    block: Trajectories, path: Curves, sample: Sample, rows: Array, count: int = 61
) -> list[Array]:
    """Return trajectories of rows, one (n, count, d) array per parameter; other parameters are central."""
    found = []
    for axis in np.eye(path.nodes.shape[1]):
        found.append(block.points(path, sample, rows, np.linspace(-1.0, 1.0, count)[:, None] * axis))
    return found


def draw_trajectories(scene: Scene) -> None:
    """Draw the trajectory of every training row."""
    from matplotlib.collections import LineCollection

    binary = scene.binaries[0]
    classes = scene.row_classes()
    for name, block, path in active_blocks(binary):
        if isinstance(block, Trajectories) and path is not None:
            rows = np.flatnonzero(path.moving)
            for curves in trajectories_of(block, path, binary.training, rows):
                colours = [scene.colour(k) for k in classes[rows]]
                lines = LineCollection(
                    list(scene.plane.project(curves)), colors=colours, linewidths=1.0, alpha=0.6, zorder=2.2
                )
                scene.ax.add_collection(lines)
            scene.handles.append(legend_line(GREY, name, linewidth=1.0))


def draw_orbits(scene: Scene) -> None:
    """Draw the orbits of an invariant loss as dots."""
    binary = scene.binaries[0]
    classes = scene.row_classes()
    for name, _, state in active_blocks(binary):
        if not isinstance(state, OrbitColumns) or state.orbit is None or state.orbit[..., 0].size > DOTS:
            continue
        for side in np.unique(classes):
            x0, x1 = scene.plane.project(state.orbit[classes == side, 1:]).reshape(-1, 2).T
            dots = scene.ax.scatter(
                x0,
                x1,
                marker=scene.marker(side),
                color=scene.colour(side),
                s=9,
                alpha=0.4,
                linewidth=0,
                label=f"{name}: {scene.name(side)}",
                zorder=2.2,
            )
            scene.handles.append(dots)


def draw_worst_points(scene: Scene) -> None:
    """Draw diamonds at active worst-case points that differ from their rows."""
    found = []
    for binary in scene.binaries:
        for worst in binary.findings.values():
            if isinstance(worst, WorstCase):
                distance = np.abs(worst.points - binary.training.X[worst.rows]).max(axis=1)
                size = 1e-5 * (1.0 + np.abs(worst.points).max(axis=1))
                found.append(scene.plane.project(worst.points[worst.support & (distance > size)]))
    if found and sum(map(len, found)):
        scene.handles.append(draw_diamonds(scene.ax, np.vstack(found)))


def draw_diamonds(ax: Axes, points: Array) -> Any:
    """Draw diamonds at active worst-case points."""
    x0, x1 = points.T
    return ax.scatter(
        x0,
        x1,
        marker="D",
        s=42,
        facecolors="none",
        edgecolors="black",
        linewidths=1.2,
        label="active worst-case points",
        zorder=4,
    )


# ---------------------------------------------------------------------- rows that blocks add


def draw_added_rows(scene: Scene) -> None:
    """Draw virtual rows small and hollow, unlabelled rows half filled, with the marker of their class."""
    found: dict[tuple[str, int | None, bool], list[Array]] = {}
    for binary in scene.binaries:
        sample = binary.sample
        added = np.arange(len(sample)) >= sample.n_train
        for name, share in sample.shares.items():
            for sign in (-1.0, 1.0):
                rows = added & (share != 0) & (sample.y == sign)
                if rows.any() and scene.shown(binary, sign):
                    virtual = bool((sample.source[rows] >= 0).all())
                    key = (name, scene.side(binary, sign), virtual)
                    found.setdefault(key, []).append(scene.plane.project(sample.X[rows]))
    for (name, side, virtual), parts in found.items():
        points = parts[0] if len(parts) == 1 else distinct_rows(np.vstack(parts))[0]
        [marks] = scene.ax.plot(
            *points.T,
            linestyle="none",
            marker=scene.marker(side),
            color=scene.colour(side),
            markersize=4.0 if virtual else 6.0,
            markeredgewidth=0.7,
            fillstyle="none" if virtual else "left",
            label=f"{name}: {scene.name(side)}",
            zorder=2.4,
        )
        scene.handles.append(marks)


# ---------------------------------------------------------------------- verified or violated


def _encoded(row: Any, encoding: Any) -> Array:
    """Return a row of the user with numbers only."""
    return np.asarray(row if encoding is None else encoding.encode(row[None])[0], float)


def draw_verdicts(scene: Scene) -> None:
    """Draw for each block a plus at its smallest margin, or a cross at its largest violation.

    If the point is outside of the drawn slice, the mark is thin, since f at the mark has another value.
    """
    found = verify(scene.binaries)
    encoding = scene.binaries[0].training.encoding
    points = {
        name: _encoded(found[name].where, encoding)
        for name in dict.fromkeys(check.block for check in found.checks)
        if found[name].holds is not None and found[name].where is not None
    }
    points = {name: point for name, point in points.items() if np.isfinite(point).all()}
    for number, (name, point) in enumerate(points.items(), 1):
        verdict = found[name]
        in_slice = scene.plane.contains(point, np.ptp(scene.binaries[0].training.X, axis=0))
        # Values of this size are rounding errors.
        worst = 0.0 if abs(verdict.worst) < 1e-6 else verdict.worst
        outcome = "holds" if verdict.holds else "violated"
        proof = "proven" if verdict.proven else "sampled"
        prefix = f"{number}: " if len(points) > 1 else ""
        suffix = "" if in_slice else "; not in slice"
        position = scene.plane.project(point)
        mark = scene.ax.scatter(
            position[0],
            position[1],
            s=110,
            linewidths=1.2 if in_slice else 1.8,
            label=f"{prefix}{name} {outcome} (worst {worst:+.2g}, {proof}{suffix})",
            zorder=5,
            **_verdict_style(bool(verdict.holds), in_slice),
        )
        scene.handles.append(mark)
        scene.verdicts.append((mark, position))


def _verdict_style(holds: bool, in_slice: bool) -> dict[str, Any]:
    if not in_slice:
        return {"marker": "+" if holds else "x", "facecolors": "black", "edgecolors": None}
    if holds:
        return {"marker": "P", "facecolors": "white", "edgecolors": "black"}
    return {"marker": "X", "facecolors": "black", "edgecolors": "white"}


def label_verdicts(scene: Scene, window: Window) -> None:
    """Write numbers beside the marks of verdicts; label marks outside of the figure in the legend."""
    left, right, bottom, top = window
    for number, (mark, (x0, x1)) in enumerate(scene.verdicts, 1):
        if not (left <= x0 <= right and bottom <= x1 <= top):
            mark.set_label(f"{mark.get_label().removesuffix(')')}; outside the figure)")
        elif len(scene.verdicts) > 1:
            # On the side of the mark that faces the middle of the figure.
            to_right = x0 < (left + right) / 2
            to_top = x1 < (bottom + top) / 2
            scene.ax.annotate(
                str(number),
                (x0, x1),
                (8 if to_right else -8, 5 if to_top else -5),
                textcoords="offset points",
                horizontalalignment="left" if to_right else "right",
                verticalalignment="bottom" if to_top else "top",
                bbox=BEHIND,
                zorder=5,
            )
