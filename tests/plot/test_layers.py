"""Layers of plot.decision: one for each kind of prior knowledge, and verdicts."""

from types import SimpleNamespace

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import to_hex
from numpy.testing import assert_allclose
from scipy.stats import norm
from sklearn.datasets import load_iris

from priorsvm import (
    RBF,
    Box,
    ClassCosts,
    Ellipsoid,
    FromFunction,
    InvariantLoss,
    MissingValues,
    Monotone,
    Polyhedron,
    PriorSVC,
    Region,
    Rule,
    Shift,
    Trajectories,
    Transductive,
    UncertainSamples,
    UnlabeledSamples,
    VirtualSamples,
    plot,
)
from priorsvm.knowledge.worst_case.base import WorstCase
from priorsvm.plot.geometry import Plane
from priorsvm.plot.layers import Scene, draw_worst_points
from priorsvm.plot.style import COLOURS

from .artists import BLUE, VERMILION, labelled, legend, places, regions, same_points, turned

pytestmark = [
    pytest.mark.filterwarnings("error"),
    *(
        pytest.mark.filterwarnings(f"ignore::priorsvm.errors.{name}")
        for name in ("AgainstData", "FarFromData", "Outbid", "ZeroedColumns")
    ),
]


TRIANGLE = np.array([[2.0, 2.0], [4.0, 2.0], [2.0, 5.0]])


# ---------------------------------------------------------------------- regions


@pytest.mark.parametrize(("hard", "style"), [(True, "-"), (False, "--")])
def test_the_outline_of_a_region_has_the_corners_of_the_rule(clouds, hard, style):
    X, y = clouds
    rule = Rule("x0 >= 2 and x1 >= 2 and 3 * x0 + 2 * x1 <= 16", label=1, hard=hard, holds="everywhere")
    ax = plot.decision(PriorSVC(rule).fit(X, y))
    [patch], [hatch] = regions(ax)
    same_points(patch.get_xy(), TRIANGLE)
    assert patch.get_linestyle() == style
    assert to_hex(patch.get_edgecolor()) == VERMILION
    assert hatch
    assert ("rule: 1" if hard else "rule: 1 (soft)") in legend(ax)


def test_hatches_of_two_classes_differ(clouds):
    prior = Box({0: (4, 5), 1: (0, 1)}, label=1, holds="everywhere") + Box(
        {0: (-4, -3), 1: (0, 1)}, label=0, holds="everywhere"
    ).named("left")
    ax = plot.decision(PriorSVC(prior).fit(*clouds))
    (right, left), hatches = regions(ax)
    same_points(right.get_xy(), [[4, 0], [5, 0], [5, 1], [4, 1]])
    same_points(left.get_xy(), [[-4, 0], [-3, 0], [-3, 1], [-4, 1]])
    assert hatches[0] != hatches[1]
    assert [to_hex(p.get_edgecolor()) for p in (right, left)] == [VERMILION, BLUE]


def test_an_unbounded_region_ends_at_the_window(clouds):
    model = PriorSVC(Polyhedron([[-1.0, 0.0]], [-4.0], label=1, holds="everywhere")).fit(*clouds)
    ax = plot.decision(model, extent=(-1, 6, -2, 3))
    same_points(regions(ax)[0][0].get_xy(), [[4, -2], [6, -2], [6, 3], [4, 3]])


def test_alternatives_are_two_regions_and_one_line_of_the_legend(clouds):
    model = PriorSVC(Rule("x0 >= 4 or x1 >= 3", label=1, holds="everywhere")).fit(*clouds)
    ax = plot.decision(model)
    assert len(regions(ax)[0]) == 2
    assert legend(ax).count("rule: 1 (soft)") == 1


def test_the_outline_of_an_ellipsoid_is_its_surface(clouds):
    A = np.array([[1.0, 0.3], [0.0, 0.5]])
    ax = plot.decision(PriorSVC(Ellipsoid([4.0, -1.0], A, label=1, holds="everywhere")).fit(*clouds))
    z = np.linalg.solve(A, (regions(ax)[0][0].get_xy() - [4.0, -1.0]).T)
    assert_allclose(np.linalg.norm(z, axis=0), 1.0, atol=1e-9)


def test_the_outline_of_a_level_set_has_level_zero(clouds):
    def ring(X):
        return np.abs(np.hypot(X[:, 0] - 3, X[:, 1]) - 1) - 0.4

    block = Region(ring, 64, label=1, method="points", within={0: (1, 5), 1: (-2, 0.5)})
    ax = plot.decision(PriorSVC(block, kernel=RBF(0.3)).fit(*clouds), verify=False, grid_resolution=300)
    [line] = [
        c
        for c in ax.collections
        if not getattr(c, "filled", True)
        and c.get_linestyle()[0][1] is not None
        and to_hex(c.get_edgecolor()[0]) == VERMILION
    ]
    edge = np.vstack([path.vertices for path in line.get_paths()])
    beyond = np.maximum(ring(edge), edge[:, 1] - 0.5)
    assert np.abs(beyond).max() < 0.02
    assert (edge[:, 1] > 0.49).any()
    assert "region: 1 (soft)" in legend(ax)
    [hatched] = ax.patches
    inside = np.random.default_rng(0).uniform([1, -2], [5, 1], size=(500, 2))
    inside = inside[np.abs(np.maximum(ring(inside), inside[:, 1] - 0.5)) > 0.03]
    drawn = hatched.get_path().contains_points(inside)
    assert np.array_equal(drawn, np.maximum(ring(inside), inside[:, 1] - 0.5) < 0)


def test_a_slice_shows_the_section_of_a_region():
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(30, 3)), np.tile([0, 1], 15)
    corner = Polyhedron(
        [[1.0, 1.0, 1.0], [-1, 0, 0], [0, -1, 0], [0, 0, -1]], [2.0, 0, 0, 0], label=1, holds="everywhere"
    )
    model = PriorSVC(corner).fit(X, y)
    ax = plot.decision(model, at={2: 0.5})
    same_points(regions(ax)[0][0].get_xy(), [[0, 0], [1.5, 0], [0, 1.5]])
    ax = plot.decision(model, at={2: -0.5})
    assert len(ax.patches) == 0
    assert not any("polyhedron: 1" in text for text in legend(ax))


def test_with_many_classes_a_region_is_drawn_once_in_the_colour_of_its_class():
    X, y = load_iris(return_X_y=True)
    model = PriorSVC(Box({0: (5, 6), 1: (0, 1)}, label=2, holds="everywhere"), kernel=RBF(1.0)).fit(
        X[::3, 2:], y[::3]
    )
    ax = plot.decision(model)
    [patch] = regions(ax)[0]
    assert to_hex(patch.get_edgecolor()) == COLOURS[2].lower()
    alone = plot.decision(model, class_of_interest=0)
    assert "box: other (soft)" in legend(alone)


# ---------------------------------------------------------------------- uncertainty and orbits of rows


def test_ellipses_of_uncertain_rows_have_the_size_of_the_confidence(clouds):
    X, y = clouds
    S = np.array([[0.2, 0.1], [0.1, 0.3]])
    ax = plot.decision(PriorSVC(UncertainSamples(S, confidence=0.8)).fit(X, y))
    [ellipses] = [c for c in ax.collections if type(c).__name__ == "PolyCollection"]
    paths = ellipses.get_paths()
    assert len(paths) == len(X)
    for path, x in zip(paths, X, strict=True):
        away = path.vertices[:-1] - x
        assert_allclose(np.sqrt(np.sum(away @ np.linalg.inv(S) * away, axis=1)), norm.ppf(0.8), atol=1e-9)
    colours = [to_hex(c) for c in ellipses.get_edgecolor()]
    assert colours == [BLUE] * 12 + [VERMILION] * 12


def test_missing_values_are_bars_and_their_rows_are_hollow(clouds):
    X, y = clouds
    holed = X.copy()
    holed[[0, 15], 1] = np.nan
    model = PriorSVC(MissingValues()).fit(holed, y)
    for arguments in ((), (holed, y)):
        ax = plot.decision(model, *arguments)
        [bars] = [c for c in ax.collections if type(c).__name__ == "PolyCollection"]
        assert len(bars.get_paths()) == 2
        for path, row in zip(bars.get_paths(), (0, 15), strict=True):
            assert_allclose(path.vertices[:, 0], X[row, 0])
            assert np.ptp(path.vertices[:, 1]) > 0.1
        hollow = labelled(ax, "0, with missing values")
        assert len(hollow.get_facecolor()) == 0
        bar = bars.get_paths()[0].vertices
        assert_allclose(hollow.get_offsets()[0], (bar.min(axis=0) + bar.max(axis=0)) / 2)
        assert len(places(ax, "0")) == 11


def test_trajectories_are_curves_and_their_active_points_are_diamonds(clouds):
    X, y = clouds
    model = PriorSVC(Trajectories(FromFunction(turned, thetas=[-0.4, 0.3])), C=10).fit(X, y)
    ax = plot.decision(model)
    [curves] = [c for c in ax.collections if type(c).__name__ == "LineCollection"]
    for path, x in zip(curves.get_paths(), X, strict=True):
        assert_allclose(path.vertices[[0, -1]], [turned(x, -0.4), turned(x, 0.3)], atol=1e-9)
    worst = model.findings_["trajectories"]
    away = np.abs(worst.thetas) > 1e-4
    same_points(places(ax, "active worst-case points"), worst.points[worst.support & away])


def test_only_active_points_that_differ_from_their_rows_are_diamonds():
    X = np.array([[0.0, 0.0], [1.0, 0.0]])
    points = np.array([[0.0, 0.0], [0.0, 0.5], [1.0, 0.5], [1.0, -0.5]])
    support = np.array([True, True, False, True])
    worst = WorstCase(np.array([0, 0, 1, 1]), points, np.ones(4), support)
    binary = SimpleNamespace(training=SimpleNamespace(X=X), findings={"block": worst, "other": "a text"})
    scene = Scene(plt.subplots()[1], Plane((0, 1), np.zeros(2)), [0, 1], [binary])
    draw_worst_points(scene)
    same_points(places(scene.ax, "active worst-case points"), points[[1, 3]])


def test_trajectories_given_by_coefficients_are_polynomials(clouds):
    X, y = clouds
    path = np.stack([X, np.ones_like(X), np.tile([0.0, 0.5], (len(X), 1))], axis=1)
    model = PriorSVC(Trajectories(coefficients=path, span=(-1, 1))).fit(X, y)
    [curves] = [c for c in plot.decision(model).collections if type(c).__name__ == "LineCollection"]
    assert_allclose(curves.get_paths()[0].vertices[[0, -1]], X[0] + [[-1.0, -0.5], [1.0, 1.5]])


def test_orbits_of_an_invariant_loss_are_dots(clouds):
    X, y = clouds
    model = PriorSVC(InvariantLoss(Shift([0.0, 0.5])), C=10).fit(X, y)
    ax = plot.decision(model)
    same_points(places(ax, "invariant_loss: 0"), np.vstack([X[y == 0] - [0, 0.5], X[y == 0] + [0, 0.5]]))
    worst = model.findings_["invariant_loss"]
    moved = np.abs(worst.thetas).ravel() > 0
    same_points(places(ax, "active worst-case points"), worst.points[worst.support & moved])


# ---------------------------------------------------------------------- rows that blocks add


def test_virtual_rows_are_hollow_and_unlabelled_rows_half_filled(clouds):
    X, y = clouds
    extra = np.array([[1.0, 1.0], [2.0, -2.0], [0.0, -1.0]])
    prior = VirtualSamples(Shift([0.0, 1.0])) + UnlabeledSamples(extra, [0, 1, 0])
    ax = plot.decision(PriorSVC(prior).fit(X, y))
    virtual = labelled(ax, "virtual_samples: 1")
    same_points(virtual.get_xydata(), np.vstack([X[y == 1] + [0, 1], X[y == 1] - [0, 1]]))
    assert virtual.get_fillstyle() == "none"
    unlabelled = labelled(ax, "unlabeled_samples: 0")
    assert_allclose(unlabelled.get_xydata(), extra[[0, 2]])
    assert unlabelled.get_fillstyle() == "left"
    assert unlabelled.get_color().lower() == BLUE
    assert unlabelled.get_marker() != virtual.get_marker()


def test_transductive_rows_are_drawn_as_their_class(clouds):
    X, y = clouds
    rest = np.arange(24) % 3 != 0
    model = PriorSVC(Transductive(X[rest], n_positive=8), C=10).fit(X[~rest], y[~rest])
    ax = plot.decision(model)
    order = np.argsort(model.decision_function(X[rest]))
    same_points(places(ax, "transductive: 1"), X[rest][order[-8:]])
    same_points(places(ax, "transductive: 0"), X[rest][order[:-8]])


# ---------------------------------------------------------------------- verdicts


def test_marks_are_at_the_worst_points_of_verify(clouds):
    prior = Box({0: (4, 5)}, label=1, hard=True).named("kept") + Box(
        {0: (5, 6)}, label=0, mu=0.01, holds="everywhere"
    ).named("broken")
    model = PriorSVC(prior, kernel=RBF(0.3)).fit(*clouds)
    found, ax = model.verify(), plot.decision(model)
    assert found["kept"].holds
    assert not found["broken"].holds
    kept, broken = (0.0 if abs(v := found[name].worst) < 1e-6 else v for name in ("kept", "broken"))
    assert_allclose(places(ax, f"1: kept holds (worst {kept:+.2g}, proven)")[0], found["kept"].where)
    assert_allclose(places(ax, f"2: broken violated (worst {broken:+.2g}, proven)")[0], found["broken"].where)
    assert [text.get_text() for text in ax.texts] == ["1", "2"]
    marks = [labelled(ax, text) for text in legend(ax) if "worst" in text]
    assert [to_hex(mark.get_facecolor()[0]) for mark in marks] == ["#ffffff", "#000000"]
    assert not any("worst" in text for text in legend(plot.decision(model, verify=False)))


def test_numbers_of_marks_are_inside_the_axes(clouds):
    X, y = clouds
    (left, bottom), (right, top) = X.min(axis=0), X.max(axis=0)
    corners = [(left, bottom), (left, top), (right, bottom), (right, top)]
    boxes = [
        Box({0: (a, a), 1: (b, b)}, label=y[0], holds="everywhere").named(f"corner{k}")
        for k, (a, b) in enumerate(corners)
    ]
    ax = plot.decision(PriorSVC(sum(boxes)).fit(X, y), extent=(left, right, bottom, top))
    ax.figure.canvas.draw()
    frame = ax.get_window_extent()
    assert sorted(text.get_text() for text in ax.texts) == ["1", "2", "3", "4"]
    for text in ax.texts:
        own = text.get_window_extent()
        assert frame.contains(own.x0, own.y0)
        assert frame.contains(own.x1, own.y1)
    small = plot.decision(PriorSVC(sum(boxes)).fit(X, y), extent=(left - 9, left - 5, bottom, top))
    small.figure.canvas.draw()
    assert not small.texts
    words = " ".join(" ".join(legend(small)).split())
    assert words.count("outside the figure)") == 4


def test_worst_points_outside_the_slice_have_thin_marks():
    X = np.random.default_rng(2).normal(size=(30, 3))
    y = (X[:, 0] > 0).astype(int)
    prior = Box({0: (1, 2)}, label=0, mu=0.1, holds="everywhere").named("broken") + Box(
        {0: (-9, -7)}, 0, mu=100, holds="everywhere"
    ).named("kept")
    model = PriorSVC(prior).fit(X, y)
    found = model.verify()
    words = {name: "holds" if found[name].holds else "violated" for name in ("broken", "kept")}
    assert words == {"broken": "violated", "kept": "holds"}

    def marks(at):
        ax = plot.decision(model, at=at)
        return {text.split()[1]: (text, labelled(ax, text)) for text in legend(ax) if "worst" in text}

    outside = marks({2: 0.0})
    for name in ("broken", "kept"):
        text, mark = outside[name]
        assert text.endswith("proven; not in slice)")
        assert_allclose(mark.get_offsets()[0], found[name].where[:2])
        # Two strokes.
        assert len(mark.get_paths()[0].vertices) == 4
    inside = marks({2: found["broken"].where[2]})
    assert inside["broken"][0].endswith("proven)")
    assert len(inside["broken"][1].get_paths()[0].vertices) > 4
    assert inside["kept"][0].endswith("not in slice)") == (found["kept"].where[2] != found["broken"].where[2])


def test_blocks_without_a_worst_point_have_no_mark(clouds):
    ax = plot.decision(PriorSVC(ClassCosts({0: 2}) + Monotone({0: 1}, hard=True)).fit(*clouds))
    assert legend(ax) == ["0", "1", "support vectors", "f = 0", "f = ±1"]
