"""Curves of Trajectories: Taylor polynomials, interpolation, given coefficients."""

import warnings

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, KFold, cross_validate

from priorsvm import (
    FromFunction,
    PriorSVC,
    Trajectories,
)
from priorsvm.errors import CoarsePolynomial
from priorsvm.sample import Sample

from .trajectory_problems import (
    FINE,
    Own,
    along,
    column_generation,
    derivatives,
    fitted,
    labels,
    on_a_grid,
    paths,
    signs,
    three_by_three,
    turn,
    two_by_two,
)

pytestmark = pytest.mark.slow  # part of `make test` only


def by_differences(X, y, degree):
    block = Trajectories(FromFunction(turn, [-0.5, 0.5]), degree=degree, coefficients="taylor")
    return block.start(Sample.training(X, y, np.array([0, 1]), 1)).coefficients


@pytest.mark.parametrize(("degree", "atol"), [(1, 1e-11), (2, 1e-8), (4, 1e-4)])
def test_taylor_coefficients_are_the_derivatives(ring, degree, atol):
    X, y = ring
    found = by_differences(X, y, degree)
    np.testing.assert_array_equal(found[:, 0], X)
    np.testing.assert_allclose(found, derivatives(X, degree), atol=atol)


def test_taylor_polynomials_come_closer_with_the_degree(ring):
    X, y = ring
    thetas = np.linspace(-0.5, 0.5, 11)
    true = np.stack([turn(X, theta) for theta in thetas], axis=1)
    apart = [np.abs(true - along(by_differences(X, y, degree), thetas)).max() for degree in (1, 2, 4, 6)]
    left_out = [np.abs(true - along(derivatives(X, degree), thetas)).max() for degree in (1, 2, 4, 6)]
    np.testing.assert_allclose(apart[:3], left_out[:3], rtol=1e-3)
    assert apart[3] < 1.5 * left_out[3]


@pytest.mark.parametrize("degree", [1, 2, 4])
@pytest.mark.parametrize("span", ["transform", (-0.2, 0.4)], ids=str)
def test_taylor_is_the_polynomial_path(ring, degree, span):
    X, y = ring
    turns = FromFunction(turn, [-0.3, 0.3])
    block = Trajectories(turns, degree=degree, span=span, coefficients="taylor")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CoarsePolynomial)
        model = PriorSVC(block, **FINE).fit(X, y)
    exact = fitted(derivatives(X, degree), X, y, (-0.3, 0.3) if span == "transform" else span)
    assert model.objective_ == pytest.approx(exact.objective_, rel=1e-6)
    np.testing.assert_allclose(model.coef_, exact.coef_, atol=2e-6)


def test_interpolation_is_the_polynomial_through_both_ends_and_the_middle(ring):
    X, y = ring[0][:24], ring[1][:24]
    model = PriorSVC(Trajectories(FromFunction(turn, [-0.6, 0.6])), **FINE).fit(X, y)
    low, high = turn(X, -0.6), turn(X, 0.6)
    path = np.stack([X, (high - low) / 2, (high + low) / 2 - X], axis=1)
    value, w, _ = three_by_three(path, y, 1.0)
    assert model.objective_ == pytest.approx(value, rel=1e-9)
    np.testing.assert_allclose(model.coef_[0], w, atol=1e-6)


def test_a_span_of_ones_own_is_interpolated_at_its_own_nodes(ring):
    X, y = ring
    model = PriorSVC(Trajectories(FromFunction(turn, [-0.6, 0.6]), span=(0.1, 0.5)), **FINE).fit(X, y)
    low, middle, high = (turn(X, theta) for theta in (0.1, 0.3, 0.5))
    path = np.stack([middle, (high - low) / 2, (high + low) / 2 - middle], axis=1)
    points = np.concatenate([X[:, None], along(path, np.linspace(-1, 1, 401))], axis=1)  # and the row itself
    value, _, _ = Own(y, 3).at(points).solve()
    assert model.objective_ == pytest.approx(value, rel=1e-6)


def test_one_sided_transforms_have_one_sided_spans(ring):
    X, y = ring
    model = PriorSVC(Trajectories(FromFunction(turn, [0.6])), **FINE).fit(X, y)
    given = PriorSVC(Trajectories(FromFunction(turn, [-0.6, 0.6]), span=(0.0, 0.6)), **FINE).fit(X, y)
    assert model.objective_ == pytest.approx(given.objective_, rel=1e-12)
    assert (model.findings_["trajectories"].thetas >= -1e-12).all()
    assert (model.findings_["trajectories"].thetas <= 0.6 + 1e-12).all()


def test_on_the_line_the_polynomial_of_the_transforms_range_goes_on(ring):
    X, y = ring[0][:24], ring[1][:24]
    X = X.copy()
    X[:, 2] = 2 * signs(y)
    low, high = turn(X, -0.6), turn(X, 0.6)
    path = np.stack([X, (high - low) / 1.2, ((high + low) / 2 - X) / 0.36], axis=1)
    value, w, _ = two_by_two(path, y)
    model = PriorSVC(Trajectories(FromFunction(turn, [-0.6, 0.6]), span="line"), **FINE).fit(X, y)
    assert model.objective_ == pytest.approx(value, rel=1e-8)
    np.testing.assert_allclose(model.coef_[0], w, atol=1e-5)


def test_coefficients_as_array_as_function_and_to_fit_are_the_same():
    X, y, coefficients = paths(2)
    as_array = fitted(coefficients, X, y)
    as_function = fitted(lambda rows, labels: coefficients[: len(rows)], X, y)
    to_fit = PriorSVC(Trajectories(span=(-1, 1)), **FINE).fit(X, y, trajectories__coefficients=coefficients)
    as_list = fitted(coefficients.tolist(), X, y)
    for other in (as_function, to_fit, as_list):
        np.testing.assert_array_equal(other.coef_, as_array.coef_)
    named = PriorSVC(Trajectories(span=(-1, 1)).named("curves"), **FINE)
    np.testing.assert_array_equal(named.fit(X, y, curves__coefficients=coefficients).coef_, as_array.coef_)


def test_a_function_of_rows_and_classes_gets_both(data):
    X, y = data
    seen = []

    def straight(rows, labels):
        seen.append((rows, labels))
        return np.stack([rows, np.where(labels == 1, 0.2, 0.1)[:, None] * np.ones_like(rows)], axis=1)

    model = fitted(straight, X, y)
    np.testing.assert_array_equal(seen[0][0], X)
    np.testing.assert_array_equal(seen[0][1], y)
    value, _, _ = on_a_grid(straight(X, y), y, [-1.0, 1.0])
    assert model.objective_ == pytest.approx(value, rel=1e-9)


def test_the_degree_of_given_coefficients_is_theirs_made_even():
    X, y, coefficients = paths(3)
    model = fitted(coefficients, X, y)
    squares = ["trajectories.squares", "trajectories.sigma_0", "trajectories.sigma_1"]
    assert labels(model) == ["svm.margin", *squares]
    value, _, _ = column_generation(coefficients, y, (-1.0, 1.0))
    assert model.objective_ == pytest.approx(value, rel=1e-8)
    np.testing.assert_allclose(model.findings_["trajectories"].errors, 0.0, atol=1e-12)


def test_a_lower_degree_than_that_of_the_coefficients_interpolates_them():
    X, y, coefficients = paths(4)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CoarsePolynomial)
        model = fitted(coefficients, X, y, degree=2)
    low, middle, high = along(coefficients, [-1.0, 0.0, 1.0]).swapaxes(0, 1)
    value, _, _ = three_by_three(
        np.stack([middle, (high - low) / 2, (high + low) / 2 - middle], axis=1), y, 1.0
    )
    assert model.objective_ == pytest.approx(value, rel=1e-9)


@pytest.mark.parametrize("routing", [False, True], ids=["plain", "metadata routing"])
def test_coefficients_are_split_along_with_the_rows(routing):
    X, y, coefficients = paths(2, n=40)
    folds = KFold(2)
    with config_context(enable_metadata_routing=routing):
        result = cross_validate(
            PriorSVC(Trajectories(span=(-1, 1)), C=2.0),
            X,
            y,
            cv=folds,
            params={"trajectories__coefficients": coefficients},
            return_estimator=True,
            error_score="raise",
        )
    for model, (train, _) in zip(result["estimator"], folds.split(X), strict=True):
        alone = PriorSVC(Trajectories(span=(-1, 1), coefficients=coefficients[train]), C=2.0)
        np.testing.assert_array_equal(model.coef_, alone.fit(X[train], y[train]).coef_)


def test_a_search_over_degrees_splits_coefficients():
    X, y, coefficients = paths(2, n=40)
    coefficients[:, 2] /= 50
    grid = {"prior__trajectories__degree": [1, 2], "C": [0.5, 2.0]}
    search = GridSearchCV(PriorSVC(Trajectories(span=(-1, 1))), grid, cv=2, error_score="raise")
    search.fit(X, y, trajectories__coefficients=coefficients)
    assert set(search.best_params_) == set(grid)
    best = search.best_estimator_
    alone = clone(best).fit(X, y, trajectories__coefficients=coefficients)
    np.testing.assert_array_equal(best.coef_, alone.coef_)


def test_a_search_over_degrees_of_a_transform(ring):
    X, y = ring
    model = PriorSVC(Trajectories(FromFunction(turn, [-0.3, 0.3])))
    search = GridSearchCV(model, {"prior__trajectories__degree": [2, 4]}, cv=2, error_score="raise").fit(X, y)
    assert search.best_estimator_.verify().holds
