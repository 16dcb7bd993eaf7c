"""What the blocks of a fitted model know, drawn on a plane: one function for each kind of knowledge."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from .._utils.arrays import Array
from ..knowledge.regions.search import Search
from ..knowledge.regions.sets import EllipsoidSet, LevelSet
from ..knowledge.worst_case.base import WorstCase
from ..knowledge.worst_case.curves import Curves, points_at
from ..knowledge.worst_case.ellipsoidal import EllipsoidalKnowledge
from ..knowledge.worst_case.orbit_columns import OrbitColumns
from ..knowledge.worst_case.trajectories import Trajectories
from ..solve.machine import Machine
from .geometry import Plane, Window, cut, ellipse, mesh, polygon
from .style import BEHIND, COLOURS, GREY, HATCHES, MARKERS, cycled, line

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# So many moved rows are drawn as dots; more would be a stain.
DOTS = 20_000


@dataclass(eq=False)
class Scene:
    """A plane and the machines that are drawn on it.

    Attributes
    ----------
    ax, plane : where.
    classes : all of them; colours and markers go by their places.
    machines : one, or one for every class.
    handles : what the legend lists.
    verdicts : the marks of verified and violated blocks, and their places.
    """

    ax: Axes
    plane: Plane
    classes: list[Any]
    machines: list[Machine]
    handles: list[Any] = field(default_factory=list)
    verdicts: list[tuple[Any, Array]] = field(default_factory=list)

    def side(self, machine: Machine, sign: float) -> int | None:
        """The class that a sign means in a machine; None for "all the others"."""
        if machine.training.positive not in self.classes:  # a joint machine
            return None
        positive = self.classes.index(machine.training.positive)
        if sign > 0:
            return positive
        return 1 - positive if len(self.classes) == 2 else None

    def shown(self, machine: Machine, sign: float) -> bool:
        """Whether what a machine says of a sign is drawn: "all the others" is, if it is alone."""
        return self.side(machine, sign) is not None or len(self.machines) == 1

    def name(self, side: int | None) -> str:
        """A class in words."""
        return "other" if side is None else str(self.classes[side])

    def colour(self, side: int | None) -> str:
        return GREY if side is None else cycled(COLOURS, side)

    def marker(self, side: int | None) -> str:
        return "." if side is None else cycled(MARKERS, side)

    def row_classes(self) -> Array:
        """The place of the class of each training row."""
        return np.searchsorted(np.asarray(self.classes), self.machines[0].training.labels)


def live(machine: Machine) -> list[tuple[str, Any, Any]]:
    """Name, block and state of every block that has a say."""
    return [(name, block, machine.states.get(name)) for name, block, weight in machine.members if weight > 0]


# ---------------------------------------------------------------------- regions


def demanded(scene: Scene) -> list[tuple[str, bool, int | None, Any]]:
    """Name, hardness, class and set of every region that a class is known on."""
    found = []
    for machine in scene.machines:
        for name, block, state in live(machine):
            if isinstance(state, Search):
                found += [
                    (name, block.hard, scene.side(machine, demand.sign), demand.region)
                    for demand in state.requirements
                    if demand.direction is None and scene.shown(machine, demand.sign)
                ]
    return found


def draw_regions(scene: Scene, window: Window, resolution: int) -> None:
    """Hatched, with a full border if the block is hard and a dashed one if it is soft."""
    from matplotlib.patches import Patch

    named = set()
    for name, hard, side, region in demanded(scene):
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
    """Of a box, a polyhedron or an ellipsoid; False if none of it is in the picture."""
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
    """Of a region given by a function, by its values on a grid."""
    a, b, points = mesh(window, resolution)
    rows = scene.plane.lift(points)
    # Negative inside: g, and how far beyond a side of the box.
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
    """Fainter than the border, and behind everything else."""
    from matplotlib import rc_context
    from matplotlib.colors import to_rgba
    from matplotlib.patches import PathPatch

    faint = to_rgba(look["edgecolor"], 0.4)
    with rc_context({"hatch.linewidth": 0.6}):
        patch = PathPatch(
            outline, facecolor="none", edgecolor=faint, linewidth=0.0, hatch=look["hatch"], zorder=1
        )
    scene.ax.add_patch(patch)


# ---------------------------------------------------------------------- what rows may be


def draw_spread(scene: Scene) -> None:
    """The ellipse of every uncertain row, the bar of every gap; their shadows if there are more columns."""
    from matplotlib.collections import PolyCollection

    machine = scene.machines[0]
    X = scene.plane.project(machine.training.X)
    classes = scene.row_classes()
    for name, block, state in live(machine):
        if not isinstance(block, EllipsoidalKnowledge) or state is None or block.radius == 0:
            continue
        spread = block.spread(state)
        rows = np.flatnonzero(spread.uncertain)
        shadow = scene.plane.project(spread.directions) * block.radius
        curves = []
        for row in rows:
            first = spread.start[spread.owner[row]]
            curves.append(ellipse(X[row], shadow[first : first + spread.rank[spread.owner[row]]].T))
        if curves:
            colours = [scene.colour(k) for k in classes[rows]]
            label = f"{name}: {block.confidence:g} confidence"
            scene.ax.add_collection(
                PolyCollection(curves, facecolors="none", edgecolors=colours, linewidths=0.8, zorder=2.2)
            )
            scene.handles.append(line(GREY, label, linewidth=0.8))


def curves_of(block: Trajectories, path: Curves, X: Array, rows: Array, count: int = 61) -> list[Array]:
    """Trajectories of rows, (n, count, d), one array for each parameter: the others are in the middle."""
    found = []
    for axis in np.eye(path.nodes.shape[1]):
        thetas = path.theta(np.linspace(-1.0, 1.0, count)[:, None] * axis)
        moved = [
            points_at(path.coefficients[rows], theta)
            if block.transform is None and path.coefficients is not None
            else block.transform.apply(X[rows], theta)
            for theta in thetas
        ]
        found.append(np.stack(moved, axis=1))
    return found


def draw_trajectories(scene: Scene) -> None:
    """The curve of every training row."""
    from matplotlib.collections import LineCollection

    machine = scene.machines[0]
    X = machine.training.X
    classes = scene.row_classes()
    for name, block, path in live(machine):
        if isinstance(block, Trajectories) and path is not None:
            for curves in curves_of(block, path, X, np.arange(len(X))):
                colours = [scene.colour(k) for k in classes]
                lines = LineCollection(
                    list(scene.plane.project(curves)), colors=colours, linewidths=1.0, alpha=0.6, zorder=2.2
                )
                scene.ax.add_collection(lines)
            scene.handles.append(line(GREY, name, linewidth=1.0))


def draw_moves(scene: Scene) -> None:
    """Dots where an invariant loss may move the rows."""
    machine = scene.machines[0]
    classes = scene.row_classes()
    for name, _, state in live(machine):
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
    """Diamonds at the places, other than the rows themselves, that hold f up."""
    found = []
    for machine in scene.machines:
        for worst in machine.findings.values():
            if isinstance(worst, WorstCase):
                moved = np.abs(worst.points - machine.training.X[worst.rows]).max(axis=1)
                size = 1e-5 * (1.0 + np.abs(worst.points).max(axis=1))
                found.append(scene.plane.project(worst.points[worst.support & (moved > size)]))
    if found and sum(map(len, found)):
        scene.handles.append(diamonds(scene.ax, np.vstack(found)))


def diamonds(ax: Axes, points: Array) -> Any:
    """Marks at points that hold f up."""
    x0, x1 = points.T
    return ax.scatter(
        x0,
        x1,
        marker="D",
        s=42,
        facecolors="none",
        edgecolors="black",
        linewidths=1.2,
        label="worst points that hold f up",
        zorder=4,
    )


# ---------------------------------------------------------------------- rows that blocks add


def draw_added_rows(scene: Scene) -> None:
    """Virtual rows hollow and small, unlabelled ones half full: in the shape of the class they stand for."""
    for machine in scene.machines:
        sample = machine.sample
        added = np.arange(len(sample)) >= sample.n_train
        for name, share in sample.shares.items():
            for sign in (-1.0, 1.0):
                side = scene.side(machine, sign)
                rows = added & (share != 0) & (sample.y == sign)
                if not rows.any() or not scene.shown(machine, sign):
                    continue
                virtual = bool((sample.source[rows] >= 0).all())
                [marks] = scene.ax.plot(
                    *scene.plane.project(sample.X[rows]).T,
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


def draw_verdicts(scene: Scene) -> None:
    """A cross where a block is violated most, a plus where it holds by the least; one for each block.

    Where the place is not in the slice that is drawn the mark is a thin one: there f is another.
    """
    from ..explain.verify import verify

    found = verify(scene.machines)
    places = {
        name: np.asarray(found[name].where, float)
        for name in dict.fromkeys(check.block for check in found.checks)
        if found[name].holds is not None and found[name].where is not None
    }
    places = {name: place for name, place in places.items() if np.isfinite(place).all()}
    for number, (name, place) in enumerate(places.items(), 1):
        verdict = found[name]
        how = "proven" if verdict.proven else "sampled"
        worst = 0.0 if abs(verdict.worst) < 1e-6 else verdict.worst  # rounding
        seen = scene.plane.holds(place, np.ptp(scene.machines[0].training.X, axis=0))
        edge: str | None
        marker = "P"
        face = "white"
        edge = "black"
        word = "holds"
        if not verdict.holds:
            marker = "X"
            face = "black"
            edge = "white"
            word = "violated"
        if not seen:
            marker = {"P": "+", "X": "x"}[marker]
            face = "black"
            edge = None
        seat = scene.plane.project(place)
        mark = scene.ax.scatter(
            seat[0],
            seat[1],
            marker=marker,
            s=110,
            facecolors=face,
            edgecolors=edge,
            linewidths=1.2 if seen else 1.8,
            label=(f"{number}: " if len(places) > 1 else "")
            + f"{name} {word} (worst {worst:+.2g}, {how}{'' if seen else '; off this slice'})",
            zorder=5,
        )
        scene.handles.append(mark)
        scene.verdicts.append((mark, seat))


def number_verdicts(scene: Scene, window: Window) -> None:
    """Which mark is whose, on that side of it where the middle of the picture is; and which are not in it."""
    left, right, bottom, top = window
    for number, (mark, (x0, x1)) in enumerate(scene.verdicts, 1):
        if not (left <= x0 <= right and bottom <= x1 <= top):
            mark.set_label(f"{mark.get_label().removesuffix(')')}; outside the picture)")
        elif len(scene.verdicts) > 1:
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
