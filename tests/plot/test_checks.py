"""Arguments that all plot functions check."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from priorsvm import RBF, InvariantLoss, PriorSVC, Shift, plot
from priorsvm.errors import InvalidInput, InvalidType, NotFitted, TooLarge

pytestmark = pytest.mark.filterwarnings("error")


FUNCTIONS = ["decision", "worst_moves", "support_trajectories", "convergence", "shares"]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_unfitted_models_are_rejected(function):
    with pytest.raises(NotFitted, match=f"plot.{function}: this PriorSVC is not fitted yet. Call fit"):
        getattr(plot, function)(PriorSVC())


@pytest.mark.parametrize("function", FUNCTIONS)
def test_other_objects_are_rejected(function, clouds):
    pipeline = make_pipeline(StandardScaler(), PriorSVC()).fit(*clouds)
    with pytest.raises(
        InvalidType, match=rf"plot.{function} requires a fitted PriorSVC, got Pipeline.*pipeline\[-1\]"
    ):
        getattr(plot, function)(pipeline)
    with pytest.raises(InvalidType, match="best_estimator_"):
        getattr(plot, function)("model")


@pytest.mark.parametrize("name", plot.__all__)
def test_invalid_axes_are_rejected(name):
    for wrong in (3, "left", plt.figure()):
        with pytest.raises(
            InvalidType, match=rf"plot\.{name}: ax must be matplotlib Axes.*got {type(wrong).__name__}"
        ):
            getattr(plot, name)(None, None, ax=wrong)


PIXELS = np.arange(8.0).reshape(2, 4)
PLANE = {"extent": (-1, 1, -1, 1)}


@pytest.mark.parametrize(
    ("function", "arguments", "text"),
    [
        ("decision", {"support": [1, 2]}, "support must be True or False"),
        ("decision", {"verify": np.ones(2)}, "verify must be True or False"),
        ("decision", {"legend": np.ones(2)}, "legend must be True or False"),
        ("decision", {"class_of_interest": np.ones(2)}, "is not one of the classes"),
        ("decision", {"class_of_interest": [0, 1]}, "is not one of the classes"),
        ("worst_moves", {"block": ["invariant_loss"]}, "to be a block with a transform"),
    ],
)
def test_bad_arguments_of_a_figure_of_a_model(function, arguments, text, clouds):
    model = PriorSVC(InvariantLoss(Shift([0.1, 0.0]))).fit(*clouds)
    with pytest.raises(InvalidInput, match=text):
        getattr(plot, function)(model, **arguments)


@pytest.mark.parametrize("resolution", [5001, 10**6, 10**400])
def test_a_huge_grid_is_refused_before(resolution, clouds):
    with pytest.raises(TooLarge, match=r"grid_resolution=.* would take .* at most 5000"):
        plot.decision(PriorSVC().fit(*clouds), grid_resolution=resolution)
    with pytest.raises(TooLarge, match=r"grid_resolution=.* would take .* at most 5000"):
        plot.kernel(RBF(1.0), (0, 0), grid_resolution=resolution, **PLANE)


@pytest.mark.parametrize("resolution", [1, 2.5, None, True, "fine"])
def test_the_grid_of_a_kernel_has_two_points_a_side(resolution):
    with pytest.raises(
        InvalidInput, match=r"plot\.kernel: grid_resolution must be a whole number of at least 2"
    ):
        plot.kernel(RBF(1.0), (0, 0), grid_resolution=resolution, **PLANE)


@pytest.mark.parametrize("wrong", [3, "ab", np.array(3.0), (1, 2, 3), {1: 2}, object()])
def test_bad_lists_of_figures(wrong, clouds):
    with pytest.raises(InvalidInput, match=r"plot\.images: (titles must be a list|there are 3 titles)"):
        plot.images(PIXELS, (2, 2), titles=wrong)
    with pytest.raises(InvalidInput, match=r"plot\.images: limits must be two numbers"):
        plot.images(PIXELS, (2, 2), limits=wrong)
    model = PriorSVC().fit(*clouds)
    with pytest.raises(InvalidInput, match=r"plot\.path: (values must be a list|there are 1 models and 3)"):
        plot.path([model], wrong if not isinstance(wrong, dict) else {"C": 3})
    with pytest.raises(InvalidInput, match="legend must be True or False"):
        plot.compare({"a": model}, legend=wrong)
    with pytest.raises(InvalidInput, match=r"plot\.compare: axes must be matplotlib Axes"):
        plot.compare({"a": model}, axes=[wrong])


def test_limits_of_pixels_may_be_an_array():
    ax = plot.images(PIXELS, (2, 2), limits=np.array([0.0, 9.0]))
    assert ax.images[0].get_clim() == (0.0, 9.0)
