"""Pictures: what is drawn, where, and what it is called."""

import pickle
import sys
from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_hex, to_rgba
from numpy.testing import assert_allclose
from scipy.stats import norm
from sklearn.datasets import load_digits, load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import priorsvm
from priorsvm import (
    RBF,
    Bhattacharyya,
    Box,
    ClassCosts,
    Ellipsoid,
    FeatureDeletion,
    FromFunction,
    HaarIntegration,
    InvariantLoss,
    MissingValues,
    Monotone,
    Polyhedron,
    PriorSVC,
    Region,
    Rotation,
    Rule,
    SampleCosts,
    Shift,
    Trajectories,
    Transductive,
    Translation,
    UncertainSamples,
    UnlabeledSamples,
    VirtualSamples,
    plot,
)
from priorsvm.errors import InvalidInput, InvalidType, NotFitted
from priorsvm.knowledge.regions.sets import EllipsoidSet
from priorsvm.plot.geometry import Plane, cut, ellipse, polygon
from priorsvm.plot.style import COLOURS, MARKERS, SHADES, cycled

pytestmark = pytest.mark.filterwarnings("error")

BLUE, VERMILION = "#0072b2", "#d55e00"
TRIANGLE = np.array([[2.0, 2.0], [4.0, 2.0], [2.0, 5.0]])
B, D = [[-1.0, 0.0], [0.0, -1.0], [3.0, 2.0]], [-2.0, -2.0, 16.0]


@pytest.fixture(autouse=True)
def no_window(monkeypatch):
    monkeypatch.setattr(plt, "show", lambda *_: pytest.fail("a picture was shown"))
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def clouds():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(24, 2)) + np.repeat([[0.0, 0.0], [3.0, 1.0]], 12, axis=0)
    X.flags.writeable = False
    return X, np.repeat([0, 1], 12)


@pytest.fixture(scope="module")
def zeros_and_ones():
    X, y = load_digits(n_class=2, return_X_y=True)
    return X[:40] / 16, y[:40]


def lines_of(ax, width):
    """The points of all contour lines of a width."""
    found = [
        c
        for c in ax.collections
        if type(c).__name__ == "QuadContourSet" and not c.filled and c.get_linewidth()[0] == width
    ]
    return np.vstack([path.vertices for c in found for path in c.get_paths() if len(path.vertices)])


def labelled(ax, label):
    """The one artist of a label."""
    [found] = [a for a in [*ax.collections, *ax.lines, *ax.patches] if a.get_label() == label]
    return found


def places(ax, label):
    artist = labelled(ax, label)
    return np.asarray(artist.get_offsets() if hasattr(artist, "get_offsets") else artist.get_xydata())


def regions(ax):
    """The borders of regions, and their hatches."""
    borders = [patch for patch in ax.patches if patch.get_linewidth() > 0]
    hatches = [patch.get_hatch() for patch in ax.patches if patch.get_linewidth() == 0]
    return borders, hatches


def legend(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def same_points(found, expected, tol=1e-9):
    """The same set of points, in any order."""
    found, expected = np.asarray(found), np.asarray(expected)
    distance = np.linalg.norm(found[:, None] - expected[None], axis=2)
    assert distance.min(axis=1).max() <= tol
    assert distance.min(axis=0).max() <= tol


# ---------------------------------------------------------------------- the decision function


@pytest.mark.parametrize("scale", [None, "standard"])
@pytest.mark.parametrize(("kernel", "tol"), [("linear", 1e-9), (RBF(0.3), 2e-3)])
def test_border_and_margins_are_where_f_is_zero_and_one(clouds, kernel, tol, scale):
    X, y = clouds
    unit = [1.0, 1.0 if scale is None else 40.0]
    model = PriorSVC(C=10, kernel=kernel, scale=scale).fit(X * unit, y)
    ax = plot.decision(model)
    border, margins = lines_of(ax, 1.6), lines_of(ax, 1.0)
    assert_allclose(model.decision_function(border), 0.0, atol=tol)
    assert_allclose(np.abs(model.decision_function(margins)), 1.0, atol=tol)
    assert len(border) > 10
    assert {-1.0, 1.0} == set(np.sign(model.decision_function(margins)))


def test_the_plane_is_shaded_by_class_and_in_grey_too(clouds):
    ax = plot.decision(PriorSVC().fit(*clouds))
    [shading] = [c for c in ax.collections if getattr(c, "filled", False)]
    assert [to_hex(c) for c in shading.get_facecolor()] == [BLUE, VERMILION]
    grey = [
        alpha * (np.array(to_rgba(colour)[:3]) @ [0.299, 0.587, 0.114]) + 1 - alpha
        for colour, alpha in zip(COLOURS[:3], SHADES[:3], strict=True)
    ]
    assert np.diff(np.sort(grey)).min() > 0.04


def test_rows_are_the_training_rows_and_support_vectors_have_rings(clouds):
    X, y = clouds
    model = PriorSVC().fit(X, y)
    ax = plot.decision(model)
    for label, colour in ((0, BLUE), (1, VERMILION)):
        assert_allclose(places(ax, str(label)), X[y == label])
        assert to_hex(labelled(ax, str(label)).get_facecolor()[0]) == colour
    assert_allclose(places(ax, "support vectors"), X[model.support_])
    markers = [labelled(ax, str(label)).get_paths()[0].vertices.shape for label in (0, 1)]
    assert markers[0] != markers[1]
    assert ax.get_xlabel() == "x0"
    assert ax.get_ylabel() == "x1"
    assert not any(
        a.get_label() == "support vectors" for a in plot.decision(model, support=False).collections
    )


def test_other_rows_can_be_drawn_and_keep_their_rings_if_they_were_trained_on(clouds):
    X, y = clouds
    model = PriorSVC().fit(X, y)
    chosen = np.r_[model.support_[:2], 0]
    others, classes = np.vstack([X[chosen], [[9.0, 9.0]]]), [*y[chosen], 1]
    ax = plot.decision(model, others, classes)
    same_points(np.vstack([places(ax, "0"), places(ax, "1")]), others)
    assert_allclose(places(ax, "support vectors"), X[model.support_[:2]])
    assert ax.get_xlim()[1] > 9


def test_axes_given_are_drawn_on_and_returned_and_a_file_can_be_written(clouds, tmp_path):
    _, given = plt.subplots()
    model = PriorSVC().fit(*clouds)
    ax = plot.decision(model, ax=given, extent=(-1, 2, -3, 4), legend=False)
    assert ax is given
    assert ax.get_legend() is None
    assert_allclose([*ax.get_xlim(), *ax.get_ylim()], [-1, 2, -3, 4])
    ax.figure.savefig(tmp_path / "picture.png")
    ax = plot.decision(model, legend="upper left")
    assert ax is not given
    assert legend(ax)[:2] == ["0", "1"]


def test_a_data_frame_gives_the_axes_their_names_and_its_columns_can_be_named(clouds):
    X, y = clouds
    frame = pd.DataFrame(X, columns=["width", "height"])
    model = PriorSVC().fit(frame, np.where(y == 1, "big", "small"))
    ax = plot.decision(model, frame, np.where(y == 1, "big", "small"), features=("height", "width"))
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("height", "width")
    assert_allclose(places(ax, "big"), X[y == 1][:, ::-1])
    assert_allclose(
        model.decision_function(pd.DataFrame(lines_of(ax, 1.6)[:, ::-1], columns=frame.columns)), 0, atol=1e-9
    )


def test_a_model_from_a_file_looks_the_same(clouds):
    X, y = clouds
    model = PriorSVC(Box({0: (5, 6)}, label=1, hard=True)).fit(X, y)
    one, two = plot.decision(model), plot.decision(pickle.loads(pickle.dumps(model)))
    assert legend(one) == legend(two)
    assert_allclose(lines_of(one, 1.6), lines_of(two, 1.6))


def test_lines_that_are_not_in_the_picture_are_not_in_the_legend(clouds):
    model = PriorSVC().fit(*clouds)
    assert legend(plot.decision(model, extent=(8, 9, 0, 1))) == ["0", "1", "support vectors"]
    X, y = load_iris(return_X_y=True)
    away = plot.decision(PriorSVC().fit(X[:, 2:], y), extent=(0.5, 1.5, 0, 0.5))
    assert "border" not in legend(away)


def test_many_classes_have_a_colour_and_a_marker_of_their_own():
    looks = {(cycled(COLOURS, k), cycled(MARKERS, k)) for k in range(50)}
    assert len(looks) == 50


# ---------------------------------------------------------------------- slices and classes


def test_a_slice_has_the_others_at_their_median_or_where_they_are_told():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(40, 4)) + np.array([0, 5, 0, 2])
    y = (X.sum(axis=1) > 7).astype(int)
    model = PriorSVC(kernel=RBF(0.2)).fit(X, y)
    for at, expected in (
        (None, np.median(X, axis=0)),
        ({1: 4.0}, np.r_[0, 4.0, 0, np.median(X[:, 3])]),
        ([0, 5.5, 0, 1.5], np.array([0, 5.5, 0, 1.5])),
    ):
        ax = plot.decision(model, features=(2, 0), at=at)
        border = lines_of(ax, 1.6)
        rows = np.tile(expected, (len(border), 1))
        rows[:, [2, 0]] = border
        assert_allclose(model.decision_function(rows), 0.0, atol=2e-3)
        assert_allclose(places(ax, "0"), X[y == 0][:, [2, 0]])
        assert (ax.get_xlabel(), ax.get_ylabel()) == ("x2", "x0")
        assert f"x1 = {expected[1]:.3g}" in ax.get_legend().get_title().get_text()


def test_with_many_classes_the_border_is_where_two_scores_tie():
    X, y = load_iris(return_X_y=True)
    model = PriorSVC(kernel=RBF(0.5)).fit(X[:, 2:], y)
    ax = plot.decision(model)
    scores = np.sort(model.decision_function(lines_of(ax, 1.6)), axis=1)
    gap = scores[:, -1] - scores[:, -2]
    assert np.quantile(gap, 0.95) < 5e-3  # the corners of the grid's cells are cut where three meet
    assert "f = ±1" not in legend(ax)
    shadings = [c for c in ax.collections if getattr(c, "filled", False)]
    assert [to_hex(c.get_facecolor()[0]) for c in shadings] == [c.lower() for c in COLOURS[:3]]
    assert_allclose(places(ax, "support vectors"), X[model.support_][:, 2:])


def test_a_class_of_interest_has_its_own_machine_and_margins():
    X, y = load_iris(return_X_y=True)
    model = PriorSVC(kernel=RBF(0.5)).fit(X[:, 2:], y)
    ax = plot.decision(model, class_of_interest=1)
    assert_allclose(model.decision_function(lines_of(ax, 1.6))[:, 1], 0.0, atol=5e-3)
    assert_allclose(np.abs(model.decision_function(lines_of(ax, 1.0))[:, 1]), 1.0, atol=5e-3)
    assert_allclose(places(ax, "support vectors"), X[model._machines[1].support[:150]][:, 2:])
    assert "f = 0, 1 against the rest" in legend(ax)
    joint = PriorSVC(kernel=RBF(0.5), multi_class="joint").fit(X[:, 2:], y)
    scores = joint.decision_function(lines_of(plot.decision(joint, class_of_interest=1), 1.0))
    lead = scores[:, 1] - np.delete(scores, 1, axis=1).max(axis=1)
    assert np.quantile(np.abs(np.abs(lead) - 1.0), 0.95) < 5e-3


def test_either_of_two_classes_can_be_of_interest(clouds):
    model = PriorSVC().fit(*clouds)
    one, other = (plot.decision(model, class_of_interest=label) for label in (1, 0))
    same_points(lines_of(one, 1.6), lines_of(other, 1.6), 1e-9)
    [shading] = [c for c in other.collections if getattr(c, "filled", False)]
    assert [to_hex(c) for c in shading.get_facecolor()] == [VERMILION, BLUE]


# ---------------------------------------------------------------------- regions


@pytest.mark.parametrize(("hard", "style"), [(True, "-"), (False, "--")])
def test_the_corners_of_a_region_are_those_of_the_rule(clouds, hard, style):
    X, y = clouds
    rule = Rule("x0 >= 2 and x1 >= 2 and 3 * x0 + 2 * x1 <= 16", label=1, hard=hard)
    ax = plot.decision(PriorSVC(rule).fit(X, y))
    [patch], [hatch] = regions(ax)
    same_points(patch.get_xy(), TRIANGLE)
    assert patch.get_linestyle() == style
    assert to_hex(patch.get_edgecolor()) == VERMILION
    assert hatch
    assert ("rule: 1" if hard else "rule: 1 (soft)") in legend(ax)


def test_hatches_of_two_classes_differ(clouds):
    prior = Box({0: (4, 5), 1: (0, 1)}, label=1) + Box({0: (-4, -3), 1: (0, 1)}, label=0).named("left")
    ax = plot.decision(PriorSVC(prior).fit(*clouds))
    (right, left), hatches = regions(ax)
    same_points(right.get_xy(), [[4, 0], [5, 0], [5, 1], [4, 1]])
    same_points(left.get_xy(), [[-4, 0], [-3, 0], [-3, 1], [-4, 1]])
    assert hatches[0] != hatches[1]
    assert [to_hex(p.get_edgecolor()) for p in (right, left)] == [VERMILION, BLUE]


def test_an_open_region_ends_where_the_picture_does(clouds):
    model = PriorSVC(Polyhedron([[-1.0, 0.0]], [-4.0], label=1)).fit(*clouds)
    ax = plot.decision(model, extent=(-1, 6, -2, 3))
    same_points(regions(ax)[0][0].get_xy(), [[4, -2], [6, -2], [6, 3], [4, 3]])


def test_an_alternative_has_a_region_of_its_own_and_one_line_in_the_legend(clouds):
    model = PriorSVC(Rule("x0 >= 4 or x1 >= 3", label=1)).fit(*clouds)
    ax = plot.decision(model)
    assert len(regions(ax)[0]) == 2
    assert legend(ax).count("rule: 1 (soft)") == 1


def test_an_ellipsoid_is_drawn_with_its_border(clouds):
    A = np.array([[1.0, 0.3], [0.0, 0.5]])
    ax = plot.decision(PriorSVC(Ellipsoid([4.0, -1.0], A, label=1)).fit(*clouds))
    z = np.linalg.solve(A, (regions(ax)[0][0].get_xy() - [4.0, -1.0]).T)
    assert_allclose(np.linalg.norm(z, axis=0), 1.0, atol=1e-9)


def test_a_region_given_by_a_function_ends_where_the_function_is_zero(clouds):
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


def test_a_slice_cuts_a_region_of_more_columns():
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(30, 3)), np.tile([0, 1], 15)
    corner = Polyhedron([[1.0, 1.0, 1.0], [-1, 0, 0], [0, -1, 0], [0, 0, -1]], [2.0, 0, 0, 0], label=1)
    model = PriorSVC(corner).fit(X, y)
    ax = plot.decision(model, at={2: 0.5})
    same_points(regions(ax)[0][0].get_xy(), [[0, 0], [1.5, 0], [0, 1.5]])
    ax = plot.decision(model, at={2: -0.5})
    assert len(ax.patches) == 0
    assert not any("polyhedron: 1" in text for text in legend(ax))


def test_a_plane_cuts_an_ellipsoid_where_its_surface_is():
    rng = np.random.default_rng(3)
    region = EllipsoidSet(rng.normal(size=4), rng.normal(size=(4, 4)))
    inside = region.centre + region.A @ [0.2, -0.3, 0.1, 0.2]
    plane = Plane((2, 0), inside)
    rows = plane.lift(cut(region, plane))
    z = np.linalg.solve(region.A, (rows - region.centre).T)
    assert_allclose(np.linalg.norm(z, axis=0), 1.0, atol=1e-9)
    assert_allclose(rows[:, [1, 3]], np.tile(inside[[1, 3]], (len(rows), 1)))
    assert cut(region, Plane((2, 0), inside + 100.0)) is None
    flat = EllipsoidSet(np.zeros(3), np.eye(3)[:, :2])
    assert cut(flat, Plane((0, 1), np.array([0, 0, 1.0]))) is None
    assert_allclose(np.ptp(cut(flat, Plane((0, 2), np.zeros(3))), axis=0), [2.0, 0.0], atol=1e-9)


@pytest.mark.parametrize("seed", range(20))
def test_polygons_are_what_their_inequalities_say(seed):
    rng = np.random.default_rng(seed)
    normals, sides = rng.normal(size=(5, 2)), rng.uniform(0.1, 1, size=5)
    corners = polygon(normals, sides, (-2, 2, -2, 2))
    points = rng.uniform(-2, 2, size=(2000, 2))
    inside = np.all(points @ normals.T <= sides, axis=1)
    edges = np.roll(corners, -1, axis=0) - corners
    cross = edges[:, 0] * (points[:, None, 1] - corners[:, 1]) - edges[:, 1] * (
        points[:, None, 0] - corners[:, 0]
    )
    assert np.array_equal(np.all(cross >= -1e-9, axis=1), inside)


def test_thin_and_empty_polygons():
    window = (-1, 1, -1, 1)
    same_points(polygon(np.array([[1.0, 0], [-1, 0]]), np.array([0.5, -0.5]), window), [[0.5, -1], [0.5, 1]])
    assert len(polygon(np.array([[1.0, 0], [-1, 0]]), np.array([0.2, -0.5]), window)) == 0
    assert len(polygon(np.array([[0.0, 0.0]]), np.array([-1.0]), window)) == 0  # a slice beside the set
    assert len(polygon(np.array([[0.0, 0.0]]), np.array([1.0]), window)) == 4


def test_many_classes_see_each_region_once_in_the_colour_of_its_class():
    X, y = load_iris(return_X_y=True)
    model = PriorSVC(Box({0: (5, 6), 1: (0, 1)}, label=2), kernel=RBF(1.0)).fit(X[::3, 2:], y[::3])
    ax = plot.decision(model)
    [patch] = regions(ax)[0]
    assert to_hex(patch.get_edgecolor()) == COLOURS[2].lower()
    alone = plot.decision(model, class_of_interest=0)
    assert "box: other (soft)" in legend(alone)


# ---------------------------------------------------------------------- what rows may be


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


def test_an_ellipse_in_more_columns_casts_its_shadow():
    M = np.random.default_rng(0).normal(size=(2, 5))
    curve = ellipse(np.array([1.0, 2.0]), M)
    z = np.random.default_rng(1).normal(size=(5, 4000))
    shadow = (M @ (z / np.linalg.norm(z, axis=0))).T
    for v in np.random.default_rng(2).normal(size=(10, 2)):
        assert (shadow @ v).max() <= ((curve - [1.0, 2.0]) @ v).max() + 1e-2 * np.linalg.norm(v)
        assert_allclose(((curve - [1.0, 2.0]) @ v).max(), np.linalg.norm(M.T @ v), rtol=2e-3)


def test_gaps_are_bars_and_the_rows_that_have_them_are_hollow(clouds):
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
        hollow = labelled(ax, "0, with gaps")
        assert len(hollow.get_facecolor()) == 0
        assert_allclose(hollow.get_offsets()[0], model._machines[0].training.X[0])
        assert len(places(ax, "0")) == 11


def turned(X, angle):
    return X @ [[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]]


def test_trajectories_run_from_end_to_end_and_worst_points_are_diamonds(clouds):
    X, y = clouds
    model = PriorSVC(Trajectories(FromFunction(turned, thetas=[-0.4, 0.3])), C=10).fit(X, y)
    ax = plot.decision(model)
    [curves] = [c for c in ax.collections if type(c).__name__ == "LineCollection"]
    for path, x in zip(curves.get_paths(), X, strict=True):
        assert_allclose(path.vertices[[0, -1]], [turned(x, -0.4), turned(x, 0.3)], atol=1e-9)
    worst = model.findings_["trajectories"]
    away = np.abs(worst.thetas) > 1e-4
    held = worst.support & away
    same_points(places(ax, "worst points that hold f up"), worst.points[held])
    fewer = held & (np.arange(len(held)) != np.flatnonzero(held)[0])
    model._machines[0].findings["trajectories"] = replace(worst, support=fewer)
    same_points(places(plot.decision(model), "worst points that hold f up"), worst.points[fewer])


def test_trajectories_given_by_coefficients_are_polynomials(clouds):
    X, y = clouds
    path = np.stack([X, np.ones_like(X), np.tile([0.0, 0.5], (len(X), 1))], axis=1)
    model = PriorSVC(Trajectories(coefficients=path, span=(-1, 1))).fit(X, y)
    [curves] = [c for c in plot.decision(model).collections if type(c).__name__ == "LineCollection"]
    assert_allclose(curves.get_paths()[0].vertices[[0, -1]], X[0] + [[-1.0, -0.5], [1.0, 1.5]])


def test_moves_of_an_invariant_loss_are_dots(clouds):
    X, y = clouds
    model = PriorSVC(InvariantLoss(Shift([0.0, 0.5])), C=10).fit(X, y)
    ax = plot.decision(model)
    same_points(places(ax, "invariant_loss: 0"), np.vstack([X[y == 0] - [0, 0.5], X[y == 0] + [0, 0.5]]))
    worst = model.findings_["invariant_loss"]
    moved = np.abs(worst.thetas).ravel() > 0
    same_points(places(ax, "worst points that hold f up"), worst.points[worst.support & moved])


def test_virtual_rows_are_hollow_and_unlabelled_ones_half_full(clouds):
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


def test_labels_that_were_found_are_shown(clouds):
    X, y = clouds
    rest = np.arange(24) % 3 != 0
    model = PriorSVC(Transductive(X[rest], n_positive=8), C=10).fit(X[~rest], y[~rest])
    ax = plot.decision(model)
    found = model._machines[0].states["transductive"].y
    assert_allclose(places(ax, "transductive: 1"), X[rest][found > 0])
    assert_allclose(places(ax, "transductive: 0"), X[rest][found < 0])


def test_blocks_can_be_left_out(clouds):
    prior = (
        VirtualSamples(Shift([0.0, 1.0]))
        + Box({0: (5, 6)}, label=1)
        + 0 * Box({0: (7, 8)}, label=1).named("idle")
    )
    model = PriorSVC(prior).fit(*clouds)
    ax = plot.decision(model, blocks=False, verify=False)
    assert len(ax.patches) == 0
    assert legend(ax) == ["0", "1", "support vectors", "f = 0", "f = ±1"]
    assert len(regions(plot.decision(model))[0]) == 1


# ---------------------------------------------------------------------- verified or violated


def test_marks_are_where_verify_finds_the_worst_place(clouds):
    prior = Box({0: (4, 5)}, label=1, hard=True).named("kept") + Box({0: (5, 6)}, label=0, mu=0.01).named(
        "broken"
    )
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


def test_numbers_of_marks_are_inside_the_frame(clouds):
    X, y = clouds
    (left, bottom), (right, top) = X.min(axis=0), X.max(axis=0)
    corners = [(left, bottom), (left, top), (right, bottom), (right, top)]
    boxes = [Box({0: (a, a), 1: (b, b)}, label=y[0]).named(f"corner{k}") for k, (a, b) in enumerate(corners)]
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
    assert words.count("outside the picture)") == 4


def test_a_legend_of_long_names_is_no_wider_than_its_figure():
    X, y = load_iris(return_X_y=True, as_frame=True)
    names = [f"{name} as it was measured in the field by the first of two people" for name in X.columns]
    model = PriorSVC(Box({names[2]: (5.5, 7.0)}, label=2), scale="standard").fit(X.set_axis(names, axis=1), y)
    ax = plot.decision(model, features=(2, 3))
    ax.figure.canvas.draw()
    whole = ax.figure.bbox
    for part in (ax.get_legend(), ax.xaxis.label, ax.yaxis.label):
        own = part.get_window_extent()
        assert whole.x0 <= own.x0 < own.x1 <= whole.x1
        assert whole.y0 <= own.y0 < own.y1 <= whole.y1
    assert ax.get_window_extent().width > 0.6 * whole.width
    assert ax.get_legend().get_window_extent().y1 < ax.xaxis.label.get_window_extent().y0


def test_a_worst_place_off_the_slice_has_a_thin_mark():
    X = np.random.default_rng(2).normal(size=(30, 3))
    y = (X[:, 0] > 0).astype(int)
    prior = Box({0: (1, 2)}, label=0, mu=0.1).named("broken") + Box({0: (-9, -7)}, 0, mu=100).named("kept")
    model = PriorSVC(prior).fit(X, y)
    found = model.verify()
    words = {name: "holds" if found[name].holds else "violated" for name in ("broken", "kept")}
    assert words == {"broken": "violated", "kept": "holds"}

    def marks(at):
        ax = plot.decision(model, at=at)
        return {text.split()[1]: (text, labelled(ax, text)) for text in legend(ax) if "worst" in text}

    elsewhere = marks({2: 0.0})
    for name in ("broken", "kept"):
        text, mark = elsewhere[name]
        assert text.endswith("proven; off this slice)")
        assert_allclose(mark.get_offsets()[0], found[name].where[:2])
        assert len(mark.get_paths()[0].vertices) == 4  # two strokes
    inside = marks({2: found["broken"].where[2]})
    assert inside["broken"][0].endswith("proven)")
    assert len(inside["broken"][1].get_paths()[0].vertices) > 4
    assert inside["kept"][0].endswith("off this slice)") == (
        found["kept"].where[2] != found["broken"].where[2]
    )


def test_blocks_that_ask_nothing_of_places_have_no_mark(clouds):
    ax = plot.decision(PriorSVC(ClassCosts({0: 2}) + Monotone({0: 1}, hard=True)).fit(*clouds))
    assert legend(ax) == ["0", "1", "support vectors", "f = 0", "f = ±1"]


# ---------------------------------------------------------------------- kernels and images


def test_a_kernel_has_its_levels_where_it_takes_these_values():
    ax = plot.kernel(RBF(1.5), [0.5, -0.2], extent=(-2, 2, -1, 1))
    shown = ax.collections[0]
    rims = [path.vertices for path in shown.get_paths()]
    value = RBF(1.5)(np.vstack([r for r in rims if len(r)]), [[0.5, -0.2]])[:, 0]
    inside = np.abs(np.vstack([r for r in rims if len(r)])) < [1.99, 0.99]
    gaps = np.abs(value[inside.all(axis=1), None] - shown.levels).min(axis=1)
    assert gaps.max() < 2e-3
    assert_allclose(places(ax, "x"), [[0.5, -0.2]])
    assert_allclose([*ax.get_xlim(), *ax.get_ylim()], [-2, 2, -1, 1])


def test_the_orbit_of_the_point_is_drawn_for_a_kernel_that_has_one():
    turns = FromFunction(turned, thetas=np.linspace(-1, 1, 5), isometric=True)
    kernel = HaarIntegration(RBF(3.0), turns)
    ax = plot.kernel(kernel, [1.0, 0.0], extent=(-2, 2, -2, 2))
    same_points(places(ax, "orbit of x"), turns.orbit([[1.0, 0.0]])[0, 1:])
    assert ax.get_title().startswith("HaarIntegration(base=RBF(gamma=3.0)")
    assert plot.kernel("linear", [1.0, 0.0], extent=(-1, 1, -1, 1)).get_title() == "Linear()"


def test_images_stand_in_lines_under_their_titles():
    rows = np.arange(5 * 6.0).reshape(5, 6)
    ax = plot.images(rows, (2, 3), titles=list("abcde"), columns=3)
    for image, row in zip(ax.images, rows, strict=True):
        assert_allclose(image.get_array(), row.reshape(2, 3))
        assert image.get_clim() == (0.0, 29.0)
    left, right, bottom, top = np.array([image.get_extent() for image in ax.images]).T
    assert_allclose(right - left, 3)
    assert_allclose(bottom - top, 2)
    assert_allclose(left[:3], left[0] + np.arange(3) * (left[1] - left[0]))
    assert_allclose(left[3:], left[:2])
    assert (top[3:] > bottom[0]).all()
    assert ax.get_ylim()[0] > ax.get_ylim()[1]  # the first line is above
    for text, image in zip(ax.texts, ax.images, strict=True):
        assert text.get_position()[0] == pytest.approx(np.mean(image.get_extent()[:2]))
        assert text.get_position()[1] < image.get_extent()[3]
    assert [text.get_text() for text in ax.texts] == list("abcde")
    assert plot.images(rows[0], (2, 3), limits=(0, 1)).images[0].get_clim() == (0, 1)


def brute_worst(model, transform, X, y):
    """The member of every orbit at which the own class leads by the least."""
    orbit = transform.orbit(X)
    scores = model.decision_function(orbit.reshape(-1, X.shape[1])).reshape(*orbit.shape[:2], -1)
    own = np.where(y == 1, 1.0, -1.0)[:, None] * scores[..., 0]
    return orbit[np.arange(len(X)), own.argmin(axis=1)], own[:, 0], own.min(axis=1)


@pytest.mark.parametrize("block", [InvariantLoss(Translation((8, 8))), VirtualSamples(Translation((8, 8)))])
def test_worst_moves_are_those_a_search_through_all_finds(zeros_and_ones, block):
    X, y = zeros_and_ones
    model = PriorSVC(block, kernel=RBF(0.05), C=10).fit(X, y)
    worst, before, after = brute_worst(model, Translation((8, 8)), X, y)
    most = np.argsort(after - before, kind="stable")[:10]
    ax = plot.worst_moves(model, count=10)
    drawn = np.array([image.get_array() for image in ax.images]).reshape(20, -1)
    assert_allclose(drawn[:10], X[most])
    assert_allclose(drawn[10:], worst[most])
    titles = [text.get_text() for text in ax.texts]
    assert titles[:10] == [f"{y[i]}: {before[i]:+.1f}" for i in most]
    assert titles[10:] == [f"moved: {after[i]:+.1f}" for i in most]
    tops = [image.get_extent()[3] for image in ax.images]
    assert all(below > above for above, below in zip(tops[:10], tops[10:], strict=True))
    chosen = plot.worst_moves(model, rows=[3, 7])
    drawn = np.array([image.get_array() for image in chosen.images]).reshape(4, -1)
    assert_allclose(drawn[:2], X[[3, 7]])
    own = np.where(y[[3, 7]] == 1, 1, -1) * model.decision_function(drawn[2:])
    assert_allclose(own, after[[3, 7]], atol=1e-9)  # two moves may be equally bad


@pytest.mark.parametrize("multi_class", ["ovr", "joint"])
def test_worst_moves_of_many_classes(multi_class):
    X, y = load_digits(n_class=3, return_X_y=True)
    X, y = X[:45] / 16, y[:45]
    model = PriorSVC(InvariantLoss(Translation((8, 8))), kernel=RBF(0.05), multi_class=multi_class).fit(X, y)
    ax = plot.worst_moves(model, rows=np.arange(6))
    orbit = Translation((8, 8)).orbit(X[:6])
    scores = model.decision_function(orbit.reshape(-1, 64)).reshape(6, -1, 3)
    own = np.take_along_axis(scores, y[:6, None, None], axis=2)[..., 0]
    rivals = np.where(np.arange(3) == y[:6, None, None], -np.inf, scores).max(axis=2)
    measure = own if multi_class == "ovr" else own - rivals
    expected = orbit[np.arange(6), measure.argmin(axis=1)]
    drawn = np.array([image.get_array() for image in ax.images[6:]]).reshape(6, -1)
    at = [np.abs(orbit[i] - drawn[i]).max(axis=1).argmin() for i in range(6)]
    assert_allclose(measure[np.arange(6), at], measure.min(axis=1), atol=1e-9)
    assert_allclose(drawn, expected)


def test_worst_moves_of_pixels_that_can_be_lost(zeros_and_ones):
    X, y = zeros_and_ones
    model = PriorSVC(InvariantLoss(FeatureDeletion(3)), C=1).fit(X, y)
    ax = plot.worst_moves(model, rows=[0], shape=(8, 8))
    before, after = (np.asarray(image.get_array()).ravel() for image in ax.images)
    lost = np.flatnonzero(before != after)
    gain = (1 if y[0] == 1 else -1) * X[0] * model.coef_[0]
    assert_allclose(after[lost], 0.0)
    assert_allclose(np.sort(gain[lost]), np.sort(gain)[-3:])


def test_support_trajectories_in_the_plane(clouds):
    X, y = clouds
    model = PriorSVC(Trajectories(FromFunction(turned, thetas=[-0.4, 0.3])), C=10).fit(X, y)
    worst = model.findings_["trajectories"]
    ax = plot.support_trajectories(model, count=2)
    weight = np.bincount(worst.rows[worst.support], worst.weights[worst.support])
    first = np.argsort(-weight)[:2]
    assert [line.get_label() for line in ax.lines] == [f"row {row}" for row in first]
    for line, row in zip(ax.lines, first, strict=True):
        assert_allclose(line.get_xydata()[[0, -1]], [turned(X[row], -0.4), turned(X[row], 0.3)], atol=1e-9)
    held = worst.support & np.isin(worst.rows, first)
    same_points([text.xy for text in ax.texts], worst.points[held])
    assert sorted(float(text.get_text()) for text in ax.texts) == pytest.approx(
        np.sort(worst.thetas[held]), abs=2e-3
    )
    assert_allclose(model.decision_function(lines_of(ax, 1.6)), 0.0, atol=1e-9)


def test_support_trajectories_of_images_end_in_frames(zeros_and_ones):
    X, y = zeros_and_ones
    turns = Rotation((8, 8), degrees=20)
    model = PriorSVC(Trajectories(turns), C=10).fit(X, y)
    worst = model.findings_["trajectories"]
    weight = np.bincount(worst.rows[worst.support], worst.weights[worst.support])
    row = int(np.argmax(weight))
    held = np.flatnonzero(worst.support & (worst.rows == row))
    ax = plot.support_trajectories(model, count=1)
    assert len(ax.images) == 5 + len(held)
    for image, angle in zip(ax.images[:5], (-20, -10, 0, 10, 20), strict=True):
        assert_allclose(np.ravel(image.get_array()), turns.apply(X[[row]], angle)[0])
    for image, k in zip(ax.images[5:], held, strict=True):
        assert_allclose(np.ravel(image.get_array()), worst.points[k])
    assert [frame.get_linewidth() for frame in ax.patches] == [0.5] * 5 + [2.0] * len(held)
    assert [text.get_text() for text in ax.texts][:5] == ["-20", "-10", "0", "+10", "+20"]


# ---------------------------------------------------------------------- how the fit went


def test_convergence_has_the_numbers_of_the_history(zeros_and_ones):
    X, y = zeros_and_ones
    model = PriorSVC(InvariantLoss(Translation((8, 8)), method="columns"), kernel=RBF(0.05), C=10).fit(X, y)
    ax = plot.convergence(model)
    for label, key in (("objective", "objective"), ("lower bound", "lower"), ("upper bound", "upper")):
        line = labelled(ax, label)
        assert_allclose(line.get_xdata(), [entry["round"] for entry in model.history_])
        assert_allclose(line.get_ydata(), [entry[key] for entry in model.history_])
    assert len(model.history_) > 1
    assert ax.get_xlabel() == "round"


def test_convergence_of_one_round_and_of_many_classes():
    X, y = load_iris(return_X_y=True)
    assert_allclose(plot.convergence(PriorSVC().fit(X[:100], y[:100])).lines[0].get_xdata(), [1])
    model = PriorSVC().fit(X, y)
    ax = plot.convergence(model)
    assert [line.get_label() for line in ax.lines] == ["class 0", "class 1", "class 2"]
    assert_allclose([line.get_ydata()[0] for line in ax.lines], model.objective_)
    one = plot.convergence(model, class_of_interest=2)
    assert_allclose(one.lines[0].get_ydata(), model.objective_[2])


def test_numbers_at_the_axes_can_be_read_as_they_are(zeros_and_ones):
    model = PriorSVC(InvariantLoss(Translation((8, 8)), method="columns")).fit(*zeros_and_ones)
    history = model._machines[0].history
    for k, entry in enumerate(history):  # objectives that differ in their sixth digit
        entry.update(objective=12.34567 + 1e-6 * k, lower=12.34567 + 5e-7 * k, upper=12.346 - 1e-6 * k)
    ax = plot.convergence(model)
    ax.figure.draw_without_rendering()
    assert ax.yaxis.get_offset_text().get_text() == ""
    low, high = ax.get_ylim()
    ticks = [float(label.get_text()) for label in ax.get_yticklabels()]
    assert sum(low <= tick <= high for tick in ticks) >= 3
    assert len(set(ticks)) == len(ticks)


def test_one_round_is_round_one(clouds):
    ax = plot.convergence(PriorSVC().fit(*clouds))
    ax.figure.draw_without_rendering()
    assert [label.get_text() for label in ax.get_xticklabels()] == ["0", "1", "2"]


@pytest.mark.parametrize("show", ["weights", "score"])
def test_no_axis_of_scores_goes_beyond_one(show):
    X, y = np.array([[0.0, 1.0], [1.0, 0.0], [3.0, 1.0], [4.0, 0.0]]), [0, 0, 1, 1]
    models = PriorSVC().fit_path(X, y, {"C": [1e-3, 10, 100]})
    ax = plot.path(models, [1e-3, 10, 100], X, y, show=show)
    [scores] = [a for a in ax.figure.axes if a.get_ylabel() == "score"]
    assert scores.lines[0].get_ydata().max() == 1.0
    assert scores.get_ylim()[1] == 1.0
    assert not scores.lines[0].get_clip_on()


def test_shares_add_up_to_the_objective(clouds):
    X, y = clouds
    prior = (
        VirtualSamples(Shift([0.0, 1.0])) + Box({0: (5, 6)}, label=0, mu=0.3) + SampleCosts(np.full(24, 0.5))
    )
    model = PriorSVC(prior).fit(X, y)
    ax = plot.shares(model)
    terms = [label.get_text() for label in ax.get_yticklabels()]
    widths = np.array([bar.get_width() for bar in ax.patches])
    expected = {f"{b} {t}": v for (b, t), v in model._machines[0].contributions().items()}
    assert dict(zip(terms, widths, strict=True)) == pytest.approx(expected)
    assert widths.sum() == pytest.approx(model.objective_)
    assert widths.min() < 0  # cheaper rows
    assert [text.get_text() for text in ax.texts] == [f"{100 * w / widths.sum():.1f} %" for w in widths]
    assert [bool(bar.get_hatch()) for bar in ax.patches] == [not term.startswith("svm") for term in terms]
    again = plot.shares(model.report_)
    assert_allclose([bar.get_width() for bar in again.patches], widths)


def test_shares_above_100_percent_are_explained(clouds):
    X, y = clouds
    cheaper = plot.shares(PriorSVC(ClassCosts(dict.fromkeys(np.unique(y).tolist(), 0.1))).fit(X, y))
    assert any(bar.get_width() < 0 for bar in cheaper.patches)
    assert "add up to 100 %" in cheaper.get_xlabel()
    assert plot.shares(PriorSVC().fit(X, y)).get_xlabel() == "contribution to the objective"


def test_shares_of_many_classes_have_a_bar_each():
    X, y = load_iris(return_X_y=True)
    model = PriorSVC(ClassCosts("balanced")).fit(X, y)
    ax = plot.shares(model)
    total = np.zeros(3)
    for k, bar in enumerate(ax.patches):
        total[k * 3 // len(ax.patches)] += bar.get_width()
    assert_allclose(total, model.objective_)
    assert legend(ax) == ["class 0", "class 1", "class 2"]


def test_a_path_shows_weights_and_the_score():
    X, y = load_iris(return_X_y=True, as_frame=True)
    X, y = X[50:], y[50:]
    grid = {"C": [0.01, 1, 100]}
    models = PriorSVC(scale="standard").fit_path(X, y, grid)
    ax = plot.path(models, grid, X, y)
    for j, line in enumerate(ax.lines[:4]):
        assert line.get_label() == X.columns[j]
        assert_allclose(line.get_xdata(), grid["C"])
        assert_allclose(line.get_ydata(), [m.coef_[0, j] * X.iloc[:, j].std(ddof=0) for m in models])
    assert ax.get_xscale() == "log"
    assert ax.get_xlabel() == "C"
    [right] = [other for other in ax.figure.axes if other is not ax]
    assert_allclose(right.lines[0].get_ydata(), [m.score(X, y) for m in models])
    assert legend(ax) == [*X.columns, "score"]


def test_a_path_of_kernel_machines_shows_shares():
    X, y = load_iris(return_X_y=True)
    X, y = X[50:, 2:], y[50:]
    values = [0.1, 1.0]
    models = PriorSVC(Box({0: (6, 7)}, label=2), kernel=RBF(1.0)).fit_path(X, y, {"box__mu": values})
    ax = plot.path(models, values)
    lines = {line.get_label(): line.get_ydata() for line in ax.lines}
    assert_allclose(lines.pop("objective"), [m.objective_ for m in models])
    assert_allclose(sum(lines.values()), [m.objective_ for m in models])
    assert set(lines) == {"svm regulariser", "svm loss", "box mu"}
    alone = plot.path(models, ["low", "high"], X, y, show="score")
    assert [label.get_text() for label in alone.get_xticklabels()] == ["low", "high"]
    assert_allclose(alone.lines[0].get_ydata(), [m.score(X, y) for m in models])


def test_many_columns_on_a_path_are_named_as_far_as_they_can_be_told_apart():
    X, y = load_digits(n_class=2, return_X_y=True)
    models = PriorSVC().fit_path(X[:60] / 16, y[:60], {"C": [0.1, 1.0]})
    ax = plot.path(models, [0.1, 1.0], X[:60] / 16, y[:60])
    named = [line for line in ax.lines if not line.get_label().startswith("_")]
    assert len(named) == 7
    largest = np.argsort(-np.abs([m.coef_[0] for m in models]).max(axis=0), kind="stable")[:6]
    assert {line.get_label() for line in named} == {*(f"x{j}" for j in largest), "58 more columns, in grey"}
    assert legend(ax)[-2:] == ["58 more columns, in grey", "score"]
    assert not {"black", "k", "#000000"} & {line.get_color() for line in named}  # the score alone is black


# ---------------------------------------------------------------------- what cannot be drawn


@pytest.mark.slow
def test_importing_it_does_not_import_matplotlib():
    import subprocess

    code = "import sys, priorsvm; priorsvm.plot.decision; print('matplotlib' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.strip() == "False"


FUNCTIONS = ["decision", "worst_moves", "support_trajectories", "convergence", "shares"]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_an_unfitted_model_is_named_with_the_function(function):
    with pytest.raises(NotFitted, match=f"plot.{function}: this PriorSVC is not fitted yet. Call fit"):
        getattr(plot, function)(PriorSVC())


@pytest.mark.parametrize("function", FUNCTIONS)
def test_what_is_no_model_is_refused(function, clouds):
    pipeline = make_pipeline(StandardScaler(), PriorSVC()).fit(*clouds)
    with pytest.raises(
        InvalidType, match=rf"plot.{function} draws a fitted PriorSVC, got Pipeline.*pipeline\[-1\]"
    ):
        getattr(plot, function)(pipeline)
    with pytest.raises(InvalidType, match="best_estimator_"):
        getattr(plot, function)("model")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"features": 0}, "features must be two columns, got 0"),
        ({"features": (0, 0)}, "two different columns"),
        ({"features": (0, 5)}, "features: there is no column 5"),
        ({"features": ("a", "b")}, "features: there is no column 'a'"),
        ({"at": {7: 1.0}}, "at: there is no column 7"),
        ({"at": {1: "x"}}, r"at\[1\] must be a number, got 'x'"),
        ({"at": [1.0]}, "one number for each of the 2 columns"),
        ({"extent": (1, 0, 0, 1)}, r"extent must be \(left, right, bottom, top\)"),
        ({"extent": 3}, "extent must be"),
        ({"grid_resolution": 1}, "grid_resolution must be a whole number from 2 on, got 1"),
        ({"class_of_interest": "c"}, r"class_of_interest='c' is none of the classes \[0, 1\]"),
        ({"X": [[0.0, 0.0]]}, "X was given without y"),
        ({"y": [0]}, "y was given without X"),
        ({"X": [[0.0, 0.0]], "y": [0, 1]}, "X has 1 rows"),
        ({"X": [[0.0, 0.0]], "y": [9]}, r"y has 9, and the classes are \[0, 1\]"),
    ],
)
def test_wrong_arguments_of_decision(clouds, arguments, message):
    model = PriorSVC().fit(*clouds)
    with pytest.raises(InvalidInput, match=message) as error:
        plot.decision(model, **arguments)
    assert str(error.value).startswith("plot.decision: ")
    assert not plt.get_fignums()  # found before anything is drawn


def test_models_that_have_no_plane(clouds):
    X, y = clouds
    with pytest.raises(InvalidInput, match="needs two columns, and the model has one"):
        plot.decision(PriorSVC().fit(X[:, :1], y))
    from scipy.sparse import csr_array

    with pytest.raises(InvalidInput, match="fitted on sparse rows"):
        plot.decision(PriorSVC().fit(csr_array(X), y))
    sets = PriorSVC(kernel=Bhattacharyya()).fit(X[:20].reshape(4, 5, 2), [0, 0, 1, 1])
    with pytest.raises(InvalidInput, match="compares sets of vectors"):
        plot.decision(sets)
    with pytest.raises(InvalidType, match="compares sets of vectors"):
        plot.kernel(Bhattacharyya(), [0, 0], extent=(0, 1, 0, 1))
    holed = X.copy()
    holed[0, 0] = np.nan
    model = PriorSVC(MissingValues()).fit(holed, y)
    with pytest.raises(InvalidInput, match="X has missing values in the columns to be drawn"):
        plot.decision(model, holed[:3], y[:3])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: plot.kernel(RBF(1.0), [1, 2, 3], extent=(0, 1, 0, 1)), "at must be a point of the plane"),
        (lambda: plot.kernel(RBF(1.0), "x", extent=(0, 1, 0, 1)), "at must be a point of the plane"),
        (lambda: plot.kernel(RBF("scale"), [0, 0], extent=(0, 1, 0, 1)), "takes a number from training rows"),
        (lambda: plot.kernel(RBF(1.0), [0, 0], extent=(0, 0, 0, 1)), "plot.kernel: extent must be"),
        (
            lambda: plot.images(np.zeros((2, 6)), (2, 2)),
            r"rows of shape \(2, 6\) are no images of 2 x 2 = 4 pixels",
        ),
        (lambda: plot.images(np.zeros((2, 6)), 6), r"shape must be \(height, width\) in pixels, got 6"),
        (lambda: plot.images([["a"]], (1, 1)), "rows must be numbers"),
        (lambda: plot.images([[np.nan, 1.0]], (1, 2)), "some pixels are NaN or infinite. .*nan_to_num"),
        (lambda: plot.images([[np.inf, 1.0]], (1, 2)), "some pixels are NaN or infinite"),
        (lambda: plot.images(np.zeros((2, 6)), (2, 3), titles=["a"]), "there are 1 titles for 2 images"),
        (
            lambda: plot.images(np.zeros((2, 6)), (2, 3), columns=0),
            "columns must be a whole number from 1 on",
        ),
    ],
)
def test_wrong_arguments_of_pictures(call, message):
    with pytest.raises(InvalidInput, match=message):
        call()


def test_blocks_and_images_that_are_not_there(clouds, zeros_and_ones):
    X, y = clouds
    plain, shifted = (
        PriorSVC(ClassCosts({0: 2})).fit(X, y),
        PriorSVC(VirtualSamples(Shift([1.0, 0.0]))).fit(X, y),
    )
    with pytest.raises(
        InvalidInput, match=r"a block with a transform, such as InvariantLoss; .*: 'class_costs'"
    ):
        plot.worst_moves(plain)
    with pytest.raises(InvalidInput, match="blocks of this model: none"):
        plot.worst_moves(PriorSVC().fit(X, y))
    with pytest.raises(
        InvalidInput, match=r"needs block='nose' to be a block with a transform.*'virtual_samples'"
    ):
        plot.worst_moves(shifted, block="nose")
    with pytest.raises(
        InvalidInput, match=r"shape=\(height, width\). Rows of two columns are drawn by plot.decision"
    ):
        plot.worst_moves(shifted)
    with pytest.raises(InvalidInput, match="rows must be indices from 0 to 23"):
        plot.worst_moves(shifted, rows=[24], shape=(1, 2))
    with pytest.raises(InvalidInput, match="count must be a whole number"):
        plot.worst_moves(shifted, count=0, shape=(1, 2))
    with pytest.raises(InvalidInput, match="are no images of 3 x 3"):
        plot.worst_moves(shifted, shape=(3, 3))
    with pytest.raises(InvalidInput, match=r"plot.support_trajectories needs a Trajectories block"):
        plot.support_trajectories(shifted)
    X, y = load_iris(return_X_y=True)
    model = PriorSVC(Trajectories(Shift([0.1, 0.0])), kernel=RBF(0.5)).fit(X[::3, 2:], y[::3])
    with pytest.raises(InvalidInput, match=r"machine for each of the classes \[0, 1, 2\]. Say whose"):
        plot.support_trajectories(model)
    with pytest.raises(InvalidInput, match="support_trajectories: count must be a whole number"):
        plot.support_trajectories(model, count=0.5, class_of_interest=1)
    assert plot.support_trajectories(model, class_of_interest=1).lines


def test_wrong_arguments_of_path(clouds):
    X, y = clouds
    models = PriorSVC(kernel=RBF(1.0)).fit_path(X, y, {"C": [1, 2]})
    for arguments, error, message in (
        (((), []), InvalidType, "list of fitted models"),
        ((models, [1]), InvalidInput, "there are 2 models and 1 values"),
        ((models, {"C": [1, 2], "tol": [1]}), InvalidInput, "along one parameter, and values has C, tol"),
        ((models, [1, 2], X), InvalidInput, "the score needs both X and y"),
    ):
        with pytest.raises(error, match=message):
            plot.path(*arguments)
    with pytest.raises(InvalidInput, match="show='weights' is for linear machines"):
        plot.path(models, [1, 2], show="weights")
    with pytest.raises(InvalidInput, match="show must be 'weights', 'shares' or 'score', got 'all'"):
        plot.path(models, [1, 2], show="all")
    with pytest.raises(InvalidInput, match="the score needs both"):
        plot.path(models, [1, 2], show="score")
    with pytest.raises(NotFitted, match=r"plot.path"):
        plot.path([PriorSVC()], [1])


def test_models_of_other_columns_are_no_path(clouds):
    X, y = clouds
    two, three = PriorSVC().fit(X, y), PriorSVC().fit(np.c_[X, X[:, 0]], y)
    frames = [PriorSVC().fit(pd.DataFrame(X, columns=list(names)), y) for names in ("ab", "ba")]
    for show in ("weights", "shares"):
        with pytest.raises(InvalidInput, match="model 1 was fitted on 3 columns, and the first on 2 columns"):
            plot.path([two, three], [1, 2], show=show)
        with pytest.raises(
            InvalidInput, match=r"model 1 was fitted on \['b', 'a'\], and the first on \['a', 'b'\]"
        ):
            plot.path(frames, [1, 2], show=show)


@pytest.mark.parametrize("name", plot.__all__)
def test_axes_that_are_none_are_refused_by_name(name):
    for wrong in (3, "left", plt.figure()):
        with pytest.raises(
            InvalidType, match=rf"plot\.{name}: ax must be matplotlib Axes.*got {type(wrong).__name__}"
        ):
            getattr(plot, name)(None, None, ax=wrong)


def test_every_function_is_published():
    assert priorsvm.plot is plot
    assert "plot" in dir(priorsvm)
    for name in plot.__all__:
        assert getattr(plot, name).__name__ == name
        assert ">>>" in getattr(plot, name).__doc__


@pytest.mark.parametrize("label", ["earns > $10 or < $5", r"$\foo$", "", "_hidden"])
def test_classes_are_drawn_as_they_are_called(label):
    model = PriorSVC().fit([[0.0, 1.0], [1.0, 0.0], [2.0, 1.0]], ["b", "b", label])
    ax = plot.decision(model)
    ax.figure.canvas.draw()  # mathematics that cannot be read would raise here
    texts = ax.get_legend().get_texts()
    assert any(text.get_text().strip("\u200b'") == label for text in texts)
    assert not any(text.get_parse_math() for text in texts)


def test_an_error_leaves_no_figure_behind():
    model = PriorSVC().fit([[0.0, 1.0], [1.0, 0.0], [2.0, 1.0]], [0, 0, 1])
    before = plt.get_fignums()
    with pytest.raises(ValueError, match="nowhere"):
        plot.decision(model, legend="nowhere")
    assert plt.get_fignums() == before
