"""plot.path."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import load_digits, load_iris

from priorsvm import RBF, Box, PriorSVC, plot
from priorsvm.errors import InvalidInput, InvalidType, NotFitted

from .artists import legend

pytestmark = pytest.mark.filterwarnings("error")


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


def test_a_path_of_kernel_models_shows_terms_of_the_objective():
    X, y = load_iris(return_X_y=True)
    X, y = X[50:, 2:], y[50:]
    values = [0.1, 1.0]
    models = PriorSVC(Box({0: (6, 7)}, label=2, holds="everywhere"), kernel=RBF(1.0)).fit_path(
        X, y, {"box__mu": values}
    )
    ax = plot.path(models, values)
    lines = {line.get_label(): line.get_ydata() for line in ax.lines}
    assert_allclose(lines.pop("objective"), [m.objective_ for m in models])
    assert_allclose(sum(lines.values()), [m.objective_ for m in models])
    assert set(lines) == {"svm regulariser", "svm loss", "box mu"}
    alone = plot.path(models, ["low", "high"], X, y, show="score")
    assert [label.get_text() for label in alone.get_xticklabels()] == ["low", "high"]
    assert_allclose(alone.lines[0].get_ydata(), [m.score(X, y) for m in models])


def test_only_the_largest_of_many_weights_have_names():
    X, y = load_digits(n_class=2, return_X_y=True)
    models = PriorSVC().fit_path(X[:60] / 16, y[:60], {"C": [0.1, 1.0]})
    ax = plot.path(models, [0.1, 1.0], X[:60] / 16, y[:60])
    named = [line for line in ax.lines if not line.get_label().startswith("_")]
    assert len(named) == 7
    largest = np.argsort(-np.abs([m.coef_[0] for m in models]).max(axis=0), kind="stable")[:6]
    assert {line.get_label() for line in named} == {*(f"x{j}" for j in largest), "58 more features, in grey"}
    assert legend(ax)[-2:] == ["58 more features, in grey", "score"]
    # Black is for the score.
    assert not {"black", "k", "#000000"} & {line.get_color() for line in named}


@pytest.mark.parametrize("show", ["weights", "score"])
def test_the_axis_of_scores_ends_at_one(show):
    X, y = np.array([[0.0, 1.0], [1.0, 0.0], [3.0, 1.0], [4.0, 0.0]]), [0, 0, 1, 1]
    models = PriorSVC().fit_path(X, y, {"C": [1e-3, 10, 100]})
    ax = plot.path(models, [1e-3, 10, 100], X, y, show=show)
    [scores] = [a for a in ax.figure.axes if a.get_ylabel() == "score"]
    assert scores.lines[0].get_ydata().max() == 1.0
    assert scores.get_ylim()[1] == 1.0
    assert not scores.lines[0].get_clip_on()


def test_invalid_arguments(clouds):
    X, y = clouds
    models = PriorSVC(kernel=RBF(1.0)).fit_path(X, y, {"C": [1, 2]})
    for arguments, error, message in (
        (((), []), InvalidType, "list of fitted models"),
        ((models, [1]), InvalidInput, "there are 2 models and 1 values"),
        ((models, {"C": [1, 2], "tol": [1]}), InvalidInput, "values must have one parameter, got C, tol"),
        ((models, [1, 2], X), InvalidInput, "the score requires both X and y"),
    ):
        with pytest.raises(error, match=message):
            plot.path(*arguments)
    with pytest.raises(InvalidInput, match="show='weights' requires linear models"):
        plot.path(models, [1, 2], show="weights")
    with pytest.raises(InvalidInput, match="show must be 'weights', 'shares' or 'score', got 'all'"):
        plot.path(models, [1, 2], show="all")
    with pytest.raises(InvalidInput, match="the score requires both"):
        plot.path(models, [1, 2], show="score")
    with pytest.raises(NotFitted, match=r"plot.path"):
        plot.path([PriorSVC()], [1])


def test_models_with_different_columns_are_rejected(clouds):
    X, y = clouds
    two, three = PriorSVC().fit(X, y), PriorSVC().fit(np.c_[X, X[:, 0]], y)
    frames = [PriorSVC().fit(pd.DataFrame(X, columns=list(names)), y) for names in ("ab", "ba")]
    for show in ("weights", "shares"):
        with pytest.raises(InvalidInput, match="model 1 was fitted on 3 columns, but model 0 on 2 columns"):
            plot.path([two, three], [1, 2], show=show)
        with pytest.raises(
            InvalidInput, match=r"model 1 was fitted on \['b', 'a'\], but model 0 on \['a', 'b'\]"
        ):
            plot.path(frames, [1, 2], show=show)
