"""plot.decision: decision boundary, rows, slices, classes and arguments."""

import pickle

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_hex, to_rgba
from numpy.testing import assert_allclose
from scipy.sparse import csr_array
from sklearn.datasets import load_iris

from priorsvm import RBF, Bhattacharyya, Box, MissingValues, PriorSVC, Shift, VirtualSamples, plot
from priorsvm.errors import InvalidInput
from priorsvm.plot.style import COLOURS, SHADES

from .artists import BLUE, VERMILION, labelled, legend, lines_of, places, regions, same_points

pytestmark = pytest.mark.filterwarnings("error")


@pytest.mark.parametrize("scale", [None, "standard"])
@pytest.mark.parametrize(("kernel", "tol"), [("linear", 1e-9), (RBF(0.3), 2e-3)])
def test_boundary_and_margins_are_contours_of_f(clouds, kernel, tol, scale):
    X, y = clouds
    unit = [1.0, 1.0 if scale is None else 40.0]
    model = PriorSVC(C=10, kernel=kernel, scale=scale).fit(X * unit, y)
    ax = plot.decision(model)
    border, margins = lines_of(ax, 1.6), lines_of(ax, 1.0)
    assert_allclose(model.decision_function(border), 0.0, atol=tol)
    assert_allclose(np.abs(model.decision_function(margins)), 1.0, atol=tol)
    assert len(border) > 10
    assert {-1.0, 1.0} == set(np.sign(model.decision_function(margins)))


def test_shades_of_classes_differ_in_colour_and_in_greyscale(clouds):
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


def test_given_rows_are_drawn_and_support_vectors_keep_their_rings(clouds):
    X, y = clouds
    model = PriorSVC().fit(X, y)
    chosen = np.r_[model.support_[:2], 0]
    others, classes = np.vstack([X[chosen], [[9.0, 9.0]]]), [*y[chosen], 1]
    ax = plot.decision(model, others, classes)
    same_points(np.vstack([places(ax, "0"), places(ax, "1")]), others)
    assert_allclose(places(ax, "support vectors"), X[model.support_[:2]])
    assert ax.get_xlim()[1] > 9


def test_given_axes_are_returned_and_can_be_saved(clouds, tmp_path):
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


def test_columns_of_a_data_frame_are_names_of_features_and_axes(clouds):
    X, y = clouds
    frame = pd.DataFrame(X, columns=["width", "height"])
    model = PriorSVC().fit(frame, np.where(y == 1, "big", "small"))
    ax = plot.decision(model, frame, np.where(y == 1, "big", "small"), features=("height", "width"))
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("height", "width")
    assert_allclose(places(ax, "big"), X[y == 1][:, ::-1])
    assert_allclose(
        model.decision_function(pd.DataFrame(lines_of(ax, 1.6)[:, ::-1], columns=frame.columns)), 0, atol=1e-9
    )


def test_a_restored_model_gives_an_equal_figure(clouds):
    X, y = clouds
    model = PriorSVC(Box({0: (5, 6)}, label=1, hard=True)).fit(X, y)
    one, two = plot.decision(model), plot.decision(pickle.loads(pickle.dumps(model)))
    assert legend(one) == legend(two)
    assert_allclose(lines_of(one, 1.6), lines_of(two, 1.6))


def test_contours_outside_of_the_figure_are_not_in_the_legend(clouds):
    model = PriorSVC().fit(*clouds)
    assert legend(plot.decision(model, extent=(8, 9, 0, 1))) == ["0", "1", "support vectors"]
    X, y = load_iris(return_X_y=True)
    away = plot.decision(PriorSVC().fit(X[:, 2:], y), extent=(0.5, 1.5, 0, 0.5))
    assert "decision boundary" not in legend(away)


def test_blocks_can_be_omitted(clouds):
    prior = (
        VirtualSamples(Shift([0.0, 1.0]))
        + Box({0: (5, 6)}, label=1, holds="everywhere")
        + 0 * Box({0: (7, 8)}, label=1, holds="everywhere").named("idle")
    )
    model = PriorSVC(prior).fit(*clouds)
    ax = plot.decision(model, blocks=False, verify=False)
    assert len(ax.patches) == 0
    assert legend(ax) == ["0", "1", "support vectors", "f = 0", "f = ±1"]
    assert len(regions(plot.decision(model))[0]) == 1


def test_a_legend_of_long_names_fits_into_the_figure():
    X, y = load_iris(return_X_y=True, as_frame=True)
    names = [f"{name} as measured in the field by the first of two people" for name in X.columns]
    model = PriorSVC(Box({names[2]: (5.5, 7.0)}, label=2, holds="everywhere"), scale="standard").fit(
        X.set_axis(names, axis=1), y
    )
    ax = plot.decision(model, features=(2, 3))
    ax.figure.canvas.draw()
    whole = ax.figure.bbox
    for part in (ax.get_legend(), ax.xaxis.label, ax.yaxis.label):
        own = part.get_window_extent()
        assert whole.x0 <= own.x0 < own.x1 <= whole.x1
        assert whole.y0 <= own.y0 < own.y1 <= whole.y1
    assert ax.get_window_extent().width > 0.6 * whole.width
    assert ax.get_legend().get_window_extent().y1 < ax.xaxis.label.get_window_extent().y0


# ---------------------------------------------------------------------- slices and classes


def test_a_slice_fixes_other_features_at_their_median_or_at_given_values():
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


def test_with_many_classes_the_two_highest_scores_are_equal_at_the_boundary():
    X, y = load_iris(return_X_y=True)
    model = PriorSVC(kernel=RBF(0.5)).fit(X[:, 2:], y)
    ax = plot.decision(model)
    scores = np.sort(model.decision_function(lines_of(ax, 1.6)), axis=1)
    gap = scores[:, -1] - scores[:, -2]
    # Contours cut the corners of grid cells at which three classes meet.
    assert np.quantile(gap, 0.95) < 5e-3
    assert "f = ±1" not in legend(ax)
    shadings = [c for c in ax.collections if getattr(c, "filled", False)]
    assert [to_hex(c.get_facecolor()[0]) for c in shadings] == [c.lower() for c in COLOURS[:3]]
    assert_allclose(places(ax, "support vectors"), X[model.support_][:, 2:])


def test_a_class_of_interest_has_its_own_margins_and_support_vectors():
    X, y = load_iris(return_X_y=True)
    model = PriorSVC(kernel=RBF(0.5)).fit(X[:, 2:], y)
    ax = plot.decision(model, class_of_interest=1)
    assert_allclose(model.decision_function(lines_of(ax, 1.6))[:, 1], 0.0, atol=5e-3)
    assert_allclose(np.abs(model.decision_function(lines_of(ax, 1.0))[:, 1]), 1.0, atol=5e-3)
    binary = PriorSVC(kernel=RBF(0.5)).fit(X[:, 2:], y == 1)
    assert_allclose(places(ax, "support vectors"), X[binary.support_][:, 2:])
    assert "f = 0, 1 against the rest" in legend(ax)
    joint = PriorSVC(kernel=RBF(0.5), multi_class="joint").fit(X[:, 2:], y)
    scores = joint.decision_function(lines_of(plot.decision(joint, class_of_interest=1), 1.0))
    lead = scores[:, 1] - np.delete(scores, 1, axis=1).max(axis=1)
    assert np.quantile(np.abs(np.abs(lead) - 1.0), 0.95) < 5e-3


def test_each_of_two_classes_can_be_the_class_of_interest(clouds):
    model = PriorSVC().fit(*clouds)
    one, other = (plot.decision(model, class_of_interest=label) for label in (1, 0))
    same_points(lines_of(one, 1.6), lines_of(other, 1.6), 1e-9)
    [shading] = [c for c in other.collections if getattr(c, "filled", False)]
    assert [to_hex(c) for c in shading.get_facecolor()] == [VERMILION, BLUE]


# ---------------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"features": 0}, "features must be two columns, got 0"),
        ({"features": (0, 0)}, "two different columns"),
        ({"features": (0, 5)}, "features: there is no column 5"),
        ({"features": ("a", "b")}, "features: there is no column 'a'"),
        ({"at": {7: 1.0}}, "at: there is no column 7"),
        ({"at": {1: "x"}}, r"at\[1\] must be a finite number, got 'x'"),
        ({"at": [1.0]}, "one finite number for each of the 2 columns"),
        ({"extent": (1, 0, 0, 1)}, r"extent must be \(left, right, bottom, top\)"),
        ({"extent": 3}, "extent must be"),
        ({"grid_resolution": 1}, "grid_resolution must be a whole number of at least 2, got 1"),
        ({"class_of_interest": "c"}, r"class_of_interest='c' is not one of the classes \[0, 1\]"),
        ({"X": [[0.0, 0.0]]}, "X is given without y"),
        ({"y": [0]}, "y is given without X"),
        ({"X": [[0.0, 0.0]], "y": [0, 1]}, "X has 1 rows"),
        ({"X": [[0.0, 0.0]], "y": [9]}, r"y contains 9, but the classes are \[0, 1\]"),
    ],
)
def test_invalid_arguments(clouds, arguments, message):
    model = PriorSVC().fit(*clouds)
    with pytest.raises(InvalidInput, match=message) as error:
        plot.decision(model, **arguments)
    assert str(error.value).startswith("plot.decision: ")
    assert not plt.get_fignums()


def test_models_without_a_plane_are_rejected(clouds):
    X, y = clouds
    with pytest.raises(InvalidInput, match="requires two columns, but the model has one"):
        plot.decision(PriorSVC().fit(X[:, :1], y))
    with pytest.raises(InvalidInput, match="fitted on sparse rows"):
        plot.decision(PriorSVC().fit(csr_array(X), y))
    sets = PriorSVC(kernel=Bhattacharyya()).fit(X[:20].reshape(4, 5, 2), [0, 0, 1, 1])
    with pytest.raises(InvalidInput, match="compares sets of vectors"):
        plot.decision(sets)
    holed = X.copy()
    holed[0, 0] = np.nan
    model = PriorSVC(MissingValues()).fit(holed, y)
    with pytest.raises(InvalidInput, match="X has missing values in the drawn columns"):
        plot.decision(model, holed[:3], y[:3])
