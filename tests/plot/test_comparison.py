"""plot.compare: several models in one window and with one legend."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from numpy.testing import assert_allclose

from priorsvm import RBF, Box, PriorSVC, plot
from priorsvm.errors import InvalidInput

from .artists import lines_of, regions

pytestmark = pytest.mark.filterwarnings("error")


@pytest.fixture
def models(clouds):
    X, y = clouds
    far = Box({0: (5.0, 5.6), 1: (0, 1)}, label=1, hard=True)
    return {"plain": PriorSVC(kernel=RBF(0.3)).fit(X, y), "far box": PriorSVC(far, kernel=RBF(0.3)).fit(X, y)}


def legend_texts(figure):
    [legend] = figure.legends
    return [text.get_text() for text in legend.get_texts()]


def test_each_panel_is_the_decision_function_of_its_model_in_one_window(models):
    axes = plot.compare(models)
    for ax, (title, model) in zip(axes, models.items(), strict=True):
        assert ax.get_title() == title
        assert_allclose(model.decision_function(lines_of(ax, 1.6)), 0.0, atol=5e-3)
    assert axes[0].get_xlim() == axes[1].get_xlim()
    assert axes[0].get_ylim() == axes[1].get_ylim()
    assert axes[0].get_xlim()[1] > 5.6
    assert not any(regions(axes[0]))
    assert any(regions(axes[1]))


def test_one_legend_has_every_entry_once(models):
    axes = plot.compare(models)
    texts = legend_texts(axes[0].figure)
    assert len(texts) == len(set(texts))
    assert {"support vectors", "f = 0", "box: 1"} <= set(texts)
    assert all(ax.get_legend() is None for ax in axes)
    assert not plot.compare(models, legend=False)[0].figure.legends


def test_the_legend_fits_into_the_figure(models):
    figure = plot.compare(models)[0].figure
    figure.canvas.draw()
    box = figure.legends[0].get_window_extent()
    assert box.x0 >= 0
    assert box.x1 <= figure.bbox.width
    assert all(ax.get_window_extent().y0 > box.y1 for ax in figure.axes)


def test_axes_and_settings_of_the_user(models, clouds):
    X, y = clouds
    figure, axes = plt.subplots(1, 2)
    drawn = plot.compare(models, X[:5], y[:5], axes=axes, extent=(0, 1, 2, 3), verify=False, support=False)
    assert list(drawn) == list(axes)
    assert axes[1].get_xlim() == (0, 1)
    assert axes[1].get_ylim() == (2, 3)
    assert not any("holds" in text or "support" in text for text in legend_texts(figure))


def test_a_slice_is_named_in_the_legend(rng):
    X = rng.normal(size=(20, 3))
    model = PriorSVC().fit(X, X[:, 0] > 0)
    figure = plot.compare({"a": model})[0].figure
    assert "slice at x2" in figure.legends[0].get_title().get_text()


def test_names_are_shown_literally(clouds):
    X, y = clouds
    model = PriorSVC().fit(X, np.where(y == 0, r"$\foo$", "b"))
    figure = plot.compare({r"$\bar$ and $": model})[0].figure
    figure.canvas.draw()
    assert r"$\foo$" in legend_texts(figure)


@pytest.mark.parametrize("wrong", [{}, None, []])
def test_models_must_be_a_dict(wrong):
    with pytest.raises(InvalidInput, match="dict of title to fitted model"):
        plot.compare(wrong)


def test_axes_must_be_as_many_as_models(models):
    with pytest.raises(InvalidInput, match="1 axes are given for 2 models"):
        plot.compare(models, axes=[plt.subplots()[1]])
