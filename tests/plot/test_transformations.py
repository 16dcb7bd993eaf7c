"""plot.worst_moves and plot.support_trajectories."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import load_digits, load_iris

from priorsvm import (
    RBF,
    ClassCosts,
    FeatureDeletion,
    FromFunction,
    InvariantLoss,
    PriorSVC,
    Rotation,
    Shift,
    Trajectories,
    Translation,
    VirtualSamples,
    plot,
)
from priorsvm.errors import InvalidInput

from .artists import lines_of, same_points, turned

pytestmark = pytest.mark.filterwarnings("error")


def brute_worst(model, transform, X, y):
    """Return the member of every orbit with the smallest margin, and the margins before and after."""
    orbit = transform.orbit(X)
    scores = model.decision_function(orbit.reshape(-1, X.shape[1])).reshape(*orbit.shape[:2], -1)
    own = np.where(y == 1, 1.0, -1.0)[:, None] * scores[..., 0]
    return orbit[np.arange(len(X)), own.argmin(axis=1)], own[:, 0], own.min(axis=1)


@pytest.mark.parametrize("block", [InvariantLoss(Translation((8, 8))), VirtualSamples(Translation((8, 8)))])
def test_worst_moves_equal_a_search_through_the_orbits(zeros_and_ones, block):
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
    assert titles[10:] == [f"worst: {after[i]:+.1f}" for i in most]
    tops = [image.get_extent()[3] for image in ax.images]
    assert all(below > above for above, below in zip(tops[:10], tops[10:], strict=True))
    chosen = plot.worst_moves(model, rows=[3, 7])
    drawn = np.array([image.get_array() for image in chosen.images]).reshape(4, -1)
    assert_allclose(drawn[:2], X[[3, 7]])
    own = np.where(y[[3, 7]] == 1, 1, -1) * model.decision_function(drawn[2:])
    # Margins, since two transformations can have equal margins.
    assert_allclose(own, after[[3, 7]], atol=1e-9)


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


@pytest.mark.parametrize("block", ["invariant_loss", "virtual_samples"])
@pytest.mark.parametrize("method", ["columns", "pegasos"])
def test_worst_moves_beside_added_rows(method, block):
    X, y = load_digits(n_class=3, return_X_y=True)
    X, y = X[:45] / 16, y[:45]
    shift = Translation((8, 8))
    prior = VirtualSamples(shift) + InvariantLoss(shift, method=method)
    model = PriorSVC(prior, C=0.1, kernel=RBF(0.05), multi_class="joint", tol=0.1).fit(X, y)
    ax = plot.worst_moves(model, block=block, rows=np.arange(6))
    orbit = shift.orbit(X[:6])
    drawn = np.array([image.get_array() for image in ax.images[6:]]).reshape(6, -1)
    scores = model.decision_function(orbit.reshape(-1, 64)).reshape(6, -1, 3)
    own = np.take_along_axis(scores, y[:6, None, None], axis=2)[..., 0]
    rivals = np.where(np.arange(3) == y[:6, None, None], -np.inf, scores).max(axis=2)
    assert_allclose(drawn, orbit[np.arange(6), (own - rivals).argmin(axis=1)])


def test_worst_moves_of_deleted_pixels(zeros_and_ones):
    X, y = zeros_and_ones
    model = PriorSVC(InvariantLoss(FeatureDeletion(3)), C=1).fit(X, y)
    ax = plot.worst_moves(model, rows=[0], shape=(8, 8))
    before, after = (np.asarray(image.get_array()).ravel() for image in ax.images)
    deleted = np.flatnonzero(before != after)
    gain = (1 if y[0] == 1 else -1) * X[0] * model.coef_[0]
    assert_allclose(after[deleted], 0.0)
    assert_allclose(np.sort(gain[deleted]), np.sort(gain)[-3:])


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
    active = worst.support & np.isin(worst.rows, first)
    same_points([text.xy for text in ax.texts], worst.points[active])
    assert sorted(float(text.get_text()) for text in ax.texts) == pytest.approx(
        np.sort(worst.thetas[active]), abs=2e-3
    )
    assert_allclose(model.decision_function(lines_of(ax, 1.6)), 0.0, atol=1e-9)


def test_support_trajectories_of_images_end_with_framed_images(zeros_and_ones):
    X, y = zeros_and_ones
    turns = Rotation((8, 8), degrees=20)
    model = PriorSVC(Trajectories(turns), C=10).fit(X, y)
    worst = model.findings_["trajectories"]
    weight = np.bincount(worst.rows[worst.support], worst.weights[worst.support])
    row = int(np.argmax(weight))
    active = np.flatnonzero(worst.support & (worst.rows == row))
    ax = plot.support_trajectories(model, count=1)
    assert len(ax.images) == 5 + len(active)
    for image, angle in zip(ax.images[:5], (-20, -10, 0, 10, 20), strict=True):
        assert_allclose(np.ravel(image.get_array()), turns.apply(X[[row]], angle)[0])
    for image, k in zip(ax.images[5:], active, strict=True):
        assert_allclose(np.ravel(image.get_array()), worst.points[k])
    assert [frame.get_linewidth() for frame in ax.patches] == [0.5] * 5 + [2.0] * len(active)
    assert [text.get_text() for text in ax.texts][:5] == ["-20", "-10", "0", "+10", "+20"]


def test_blocks_and_images_that_are_not_there(clouds, zeros_and_ones):
    X, y = clouds
    plain, shifted = (
        PriorSVC(ClassCosts({0: 2})).fit(X, y),
        PriorSVC(VirtualSamples(Shift([1.0, 0.0]))).fit(X, y),
    )
    with pytest.raises(
        InvalidInput, match=r"a block with a transform, such as InvariantLoss\. .*: 'class_costs'"
    ):
        plot.worst_moves(plain)
    with pytest.raises(InvalidInput, match="Blocks of this model: none"):
        plot.worst_moves(PriorSVC().fit(X, y))
    with pytest.raises(
        InvalidInput, match=r"requires block='nose' to be a block with a transform.*'virtual_samples'"
    ):
        plot.worst_moves(shifted, block="nose")
    with pytest.raises(
        InvalidInput, match=r"shape=\(height, width\). For rows of two columns use plot.decision"
    ):
        plot.worst_moves(shifted)
    with pytest.raises(InvalidInput, match="rows must be indices from 0 to 23"):
        plot.worst_moves(shifted, rows=[24], shape=(1, 2))
    with pytest.raises(InvalidInput, match="count must be a whole number"):
        plot.worst_moves(shifted, count=0, shape=(1, 2))
    with pytest.raises(InvalidInput, match="are not images of 3 x 3"):
        plot.worst_moves(shifted, shape=(3, 3))
    with pytest.raises(InvalidInput, match=r"plot.support_trajectories requires a Trajectories block"):
        plot.support_trajectories(shifted)
    X, y = load_iris(return_X_y=True)
    model = PriorSVC(Trajectories(Shift([0.1, 0.0])), kernel=RBF(0.5)).fit(X[::3, 2:], y[::3])
    with pytest.raises(InvalidInput, match=r"each of the classes \[0, 1, 2\] has its own model"):
        plot.support_trajectories(model)
    with pytest.raises(InvalidInput, match="support_trajectories: count must be a whole number"):
        plot.support_trajectories(model, count=0.5, class_of_interest=1)
    assert plot.support_trajectories(model, class_of_interest=1).lines
