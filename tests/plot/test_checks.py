"""Arguments that all plot functions check."""

import matplotlib.pyplot as plt
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from priorsvm import PriorSVC, plot
from priorsvm.errors import InvalidType, NotFitted

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
