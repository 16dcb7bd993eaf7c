"""UncertainSamples: all forms of its arguments, refused arguments, and use with scikit-learn."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, KFold

from priorsvm import (
    RBF,
    NegativeDistance,
    Polynomial,
    PriorSVC,
    UncertainSamples,
    check_knowledge,
)
from priorsvm.errors import InvalidInput, MissingCapability

from .uncertain_problems import (
    NAMES,
    SHARP,
    N,
    cones,
    is_own,
    own_norm,
    own_socp,
)

BARS = np.array([0.3, 0.0, 0.2])


MATRIX = np.array([[0.09, 0.03, 0.0], [0.03, 0.06, -0.03], [0.0, -0.03, 0.08]])


ROOT = np.linalg.cholesky(MATRIX)


WAYS = {
    "number": (0.3, {"covariance": 0.3}),
    "number to fit": (0.3, {"fit": 0.3}),
    "numbers": (0.3, {"covariance": np.full(3, 0.3)}),
    "all columns": (0.3, {"covariance": dict.fromkeys(NAMES, 0.3)}),
    "function to a number": (0.3, {"covariance": lambda X, y: 0.3}),
    "round factor": (0.3, {"factor": 0.3 * np.eye(3)}),
    "list": (BARS, {"covariance": BARS.tolist()}),
    "some columns": (BARS, {"covariance": {"dose": 0.3, "weight": 0.2}}),
    "columns by index": (BARS, {"covariance": {0: 0.3, 2: 0.2}}),
    "diagonal": (BARS, {"covariance": np.diag(BARS**2)}),
    "bars of rows": (BARS, {"covariance": np.tile(BARS, (N, 1))}),
    "bars of rows to fit": (BARS, {"fit": np.tile(BARS, (N, 1))}),
    "function to bars": (BARS, {"covariance": lambda X, y: np.tile(BARS, (len(X), 1))}),
    "thin factor": (BARS, {"factor": np.diag(BARS)[:, [0, 2]]}),
    "matrix": (MATRIX, {"covariance": MATRIX}),
    "matrix as lists": (MATRIX, {"covariance": MATRIX.tolist()}),
    "matrix as a frame": (MATRIX, {"covariance": pd.DataFrame(MATRIX, NAMES, NAMES)}),
    "matrices of rows": (MATRIX, {"covariance": np.tile(MATRIX, (N, 1, 1))}),
    "matrices of rows to fit": (MATRIX, {"fit": np.tile(MATRIX, (N, 1, 1))}),
    "function to matrices": (MATRIX, {"covariance": lambda X, y: np.tile(MATRIX, (len(y), 1, 1))}),
    "factor": (MATRIX, {"factor": ROOT}),
    "wide factor": (MATRIX, {"factor": np.hstack([0.6 * ROOT, 0.8 * ROOT])}),
    "factors of rows": (MATRIX, {"factor": np.tile(ROOT, (N, 1, 1))}),
    "factors of rows to fit": (MATRIX, {"fit factor": np.tile(ROOT, (N, 1, 1))}),
    "function to a factor": (MATRIX, {"factor": lambda X, y: ROOT}),
}


@pytest.fixture(scope="module")
def meant(few):
    return {0: own_norm(*few, 0.3 * np.eye(3)), 1: own_norm(*few, np.diag(BARS)), 2: own_norm(*few, ROOT)}


@pytest.mark.parametrize("way", WAYS)
def test_all_forms_of_a_covariance_are_equivalent(few, meant, way):
    X, y = few
    value, given = WAYS[way]
    given = dict(given)
    rows = {}
    if "fit" in given:
        rows["uncertain_samples__covariance"] = given.pop("fit")
    if "fit factor" in given:
        rows["uncertain_samples__factor"] = given.pop("fit factor")
    frame = pd.DataFrame(X, columns=NAMES)
    model = PriorSVC(UncertainSamples(**given), **SHARP).fit(frame, y, **rows)
    is_own(model, meant[np.ndim(value)])
    assert sum(cones(model).values()) == 1


@pytest.mark.parametrize(
    "given",
    [
        pd.Series([0.2, 0.3, 0.0], index=["weight", "dose", "age"]),
        pd.DataFrame(np.tile([0.2, 0.3, 0.0], (N, 1)), columns=["weight", "dose", "age"]),
        pd.DataFrame(
            np.diag([0.04, 0.09, 0.0]), index=["weight", "dose", "age"], columns=["weight", "dose", "age"]
        ),
    ],
    ids=["series", "bars of rows", "matrix"],
)
def test_columns_in_another_order_are_matched_by_name(few, meant, given):
    frame = pd.DataFrame(few[0], columns=NAMES)
    is_own(PriorSVC(UncertainSamples(given), **SHARP).fit(frame, few[1]), meant[1])


def test_functions_see_rows_and_labels(few):
    X, y = few
    words = np.where(y == 1, "ill", "well")

    def by_class(rows, labels):
        np.testing.assert_array_equal(rows, X)
        return 0.1 + 0.3 * np.outer(labels == "ill", [1.0, 1.0, 0.0]) * np.abs(rows[:, :1])

    model = PriorSVC(UncertainSamples(by_class), **SHARP).fit(X, words)
    bars = by_class(X, words)
    turned = np.where(words == "ill", 0, 1)  # +1 is the second class in order, "well"
    is_own(model, own_socp(X, turned, np.array([np.diag(bar) for bar in bars])))


def test_arguments_of_fit_replace_arguments_of_the_constructor(few, covariances):
    replaced = PriorSVC(UncertainSamples(7.0)).fit(*few, uncertain_samples__covariance=covariances)
    np.testing.assert_array_equal(replaced.coef_, PriorSVC(UncertainSamples(covariances)).fit(*few).coef_)
    assert replaced.prior.covariance == 7.0


def test_a_square_of_rows_and_columns_is_ambiguous(few):
    X, y = few
    rows = np.concatenate([np.flatnonzero(y == 0)[:2], np.flatnonzero(y == 1)[:1]])
    with pytest.raises(InvalidInput, match=r"'uncertain_samples': covariance of shape \(3, 3\) is ambiguous"):
        PriorSVC(UncertainSamples(np.full((3, 3), 0.1))).fit(X[rows], y[rows])
    PriorSVC(UncertainSamples(np.full(3, 0.1))).fit(X[rows], y[rows])


def test_a_confidence_in_percent_is_suggested_as_a_share(few):
    with pytest.raises(InvalidInput, match=r"got 90\. Did you mean 0\.9\?"):
        PriorSVC(UncertainSamples(0.1, confidence=90)).fit(*few)


def test_a_function_that_fails_is_named(few):
    with pytest.raises(
        InvalidInput, match=r"covariance was given as a function, .* with X, an array, and y failed"
    ):
        PriorSVC(UncertainSamples(lambda X: 0.1)).fit(*few)


SKEW = np.array([[1.0, 0.5, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])


SADDLE = np.array([[1.0, 2.0, 0.0], [2.0, 1.0, 0.0], [0.0, 0.0, 1.0]])


SMALL = np.diag([1e-6, 1.0, 1e6])


HOLE = np.array([[0.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1.0]])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"confidence": 0.49}, r"confidence must be at least 0.5 and below 1, got 0.49. Below 0.5"),
        ({"confidence": 1.0}, r"confidence must be .* got 1.0.*at 1 the ellipsoids are infinite"),
        ({"confidence": 1}, r"confidence must be .* got 1\."),
        ({"confidence": np.nan}, r"confidence must be .* got nan"),
        ({"confidence": -np.inf}, r"confidence must be .* got -inf"),
        ({"confidence": "a"}, r"confidence must be .* got 'a'"),
        ({"confidence": True}, r"confidence must be .* got True"),
        ({"confidence": None}, r"confidence must be .* got None"),
        ({"distribution": "normal"}, r"distribution must be 'gaussian' or 'any', got 'normal'"),
        ({"guarantee": "yes"}, r"guarantee must be True or False, got 'yes'"),
        ({"covariance": None}, r"exactly one of covariance and factor.*to fit as <block>__covariance"),
        ({"factor": np.eye(3)}, r"exactly one of covariance and factor is required"),
        ({"covariance": "wide"}, r"covariance must be numbers, got 'wide'"),
        ({"covariance": [[1.0], [1.0, 2.0]]}, r"covariance must be numbers"),
        ({"covariance": [0.1, 0.2]}, r"covariance has shape \(2,\), expected .* \(3,\) or \(40, 3\)"),
        ({"covariance": np.eye(2)}, r"covariance has shape \(2, 2\).*pass arrays per row to fit"),
        ({"covariance": np.ones((39, 3))}, r"covariance has shape \(39, 3\).*to fit as <block>__covariance"),
        ({"covariance": np.ones((40, 3, 2))}, r"covariance has shape \(40, 3, 2\)"),
        ({"covariance": lambda X, y: np.ones(7)}, r"covariance has shape \(7,\)"),
        ({"covariance": [0.1, np.nan, 0.1]}, r"covariance contains NaN or infinity"),
        ({"covariance": np.inf}, r"covariance contains NaN or infinity"),
        ({"covariance": -0.1}, r"standard deviation of -0.1\. It must not be negative"),
        ({"covariance": [0.1, -2.0, 0.1]}, r"standard deviation of -2\. It must not be negative"),
        ({"covariance": {2: -2.0}}, r"standard deviation of -2\. It must not be negative"),
        ({"covariance": -np.ones((40, 3))}, r"standard deviation of -1\. It must not be negative"),
        ({"covariance": SKEW}, r"covariance is not symmetric.*factor"),
        ({"covariance": SMALL @ SKEW @ SMALL}, r"covariance is not symmetric.*factor"),
        ({"covariance": SADDLE}, r"covariance is not positive semidefinite"),
        ({"covariance": SMALL @ SADDLE @ SMALL}, r"covariance is not positive semidefinite"),
        ({"covariance": -np.eye(3)}, r"covariance is not positive semidefinite"),
        ({"covariance": np.diag([-1e-12, 1e-12, 1e-12])}, r"covariance is not positive semidefinite"),
        ({"covariance": HOLE}, r"covariance is not positive semidefinite"),
        ({"covariance": 1e-12 * HOLE}, r"covariance is not positive semidefinite"),
        (
            {"covariance": np.stack([np.eye(3)] * 30 + [SADDLE] * 10)},
            r"covariance of row 30 is not positive semidefinite",
        ),
        ({"covariance": {"dose": 0.1}}, r"there is no column 'dose'. Fit on a DataFrame to use names"),
        ({"covariance": {3: 0.1}}, r"there is no column 3: give a name, or an index from 0 to 2"),
        ({"covariance": None, "factor": np.ones(3)}, r"factor has shape \(3,\), expected \(3, k\)"),
        ({"covariance": None, "factor": np.ones((2, 2))}, r"factor has shape \(2, 2\), expected \(3, k\)"),
        ({"covariance": None, "factor": np.ones((3, 0))}, r"factor has shape \(3, 0\)"),
        ({"covariance": None, "factor": np.ones((39, 3, 2))}, r"factor has shape \(39, 3, 2\)"),
        ({"covariance": None, "factor": 0.3}, r"factor has shape \(\)"),
        ({"covariance": None, "factor": np.full((3, 1), np.nan)}, r"factor contains NaN or infinity"),
        ({"covariance": None, "factor": "thin"}, r"factor must be numbers, got 'thin'"),
    ],
)
def test_bad_arguments_are_named(few, given, message):
    with pytest.raises(InvalidInput, match=f"(?s)block 'uncertain_samples': .*{message}"):
        PriorSVC(UncertainSamples(**{"covariance": 0.1, **given})).fit(*few)


def test_an_unknown_column_of_a_frame_is_named(few):
    frame = pd.DataFrame(few[0], columns=NAMES)
    message = "block 'uncertain_samples': there is no column 'height'.* The columns are: dose, age, weight"
    with pytest.raises(InvalidInput, match=message):
        PriorSVC(UncertainSamples({"height": 0.1})).fit(frame, few[1])


def test_a_guarantee_needs_a_kernel_that_has_one(few):
    message = "block 'uncertain_samples': guarantee=True requires .* RBF or Polynomial.*guarantee=False"
    for kernel in (Polynomial(2, 1.0) * RBF(1.0), "laplacian"):
        with pytest.raises(MissingCapability, match=message):
            PriorSVC(UncertainSamples(0.1, guarantee=True), kernel=kernel).fit(*few)
    with pytest.raises(MissingCapability, match=message):
        PriorSVC(UncertainSamples(0.1, guarantee=True), kernel=NegativeDistance(), norm="l1").fit(*few)


@pytest.mark.parametrize(
    ("kernel", "norm"),
    [("laplacian", "l2"), (lambda A, B: A @ B.T, "l2"), (NegativeDistance(), "l1")],
    ids=["laplacian", "function", "kinks"],
)
def test_the_first_order_requires_second_derivatives(few, kernel, norm):
    message = (
        "block 'uncertain_samples': a kernel with second derivatives.*RBF or Polynomial, or a linear model"
    )
    with pytest.raises(MissingCapability, match=message):
        PriorSVC(UncertainSamples(0.1), kernel=kernel, norm=norm).fit(*few)


@pytest.mark.parametrize("weight", [0.5, 2.0])
def test_an_outer_weight_is_refused(few, weight):
    message = "block 'uncertain_samples' uses the slack of the training rows.*Remove the weight.*C or"
    with pytest.raises(InvalidInput, match=message):
        PriorSVC(weight * UncertainSamples(0.1)).fit(*few)


def test_an_outer_weight_of_zero_leaves_it_out(few, new):
    model = PriorSVC(0 * UncertainSamples(0.1)).fit(*few)
    np.testing.assert_array_equal(model.decision_function(new), PriorSVC().fit(*few).decision_function(new))
    assert model.findings_ == {}


def test_an_outer_weight_of_one_is_none(few):
    model = PriorSVC(1.0 * UncertainSamples(0.1)).fit(*few)
    np.testing.assert_array_equal(model.coef_, PriorSVC(UncertainSamples(0.1)).fit(*few).coef_)


def test_libsvm_is_refused(few):
    with pytest.raises(InvalidInput, match="LIBSVM cannot solve this problem: block 'uncertain_samples'"):
        PriorSVC(UncertainSamples(0.1), solver="LIBSVM").fit(*few)


def test_clone_and_pickle(few, new, covariances):
    model = PriorSVC(UncertainSamples(0.2 * covariances, 0.8, "any"), C=0.7).fit(*few)
    twin = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(twin.decision_function(new), model.decision_function(new))
    assert twin.verify()["uncertain_samples"].worst == pytest.approx(
        model.verify()["uncertain_samples"].worst, abs=1e-12
    )
    assert twin.objective_ == model.objective_
    np.testing.assert_array_equal(
        twin.findings_["uncertain_samples"].points, model.findings_["uncertain_samples"].points
    )
    again = clone(model)
    assert again.prior is not model.prior
    np.testing.assert_array_equal(again.prior.covariance, 0.2 * covariances)
    np.testing.assert_array_equal(again.fit(*few).coef_, model.coef_)


@pytest.mark.slow
@pytest.mark.parametrize("shape", ["bars", "matrices"])
def test_a_search_splits_the_error_bars_with_the_rows(data, shape):
    X, y = data
    rng = np.random.default_rng(14)
    bars = rng.uniform(0.0, 0.4, size=(80, 3))
    given = bars if shape == "bars" else bars[:, :, None] ** 2 * np.eye(3)
    folds = KFold(3)
    search = GridSearchCV(
        PriorSVC(UncertainSamples()),
        {"prior__uncertain_samples__confidence": [0.6, 0.95]},
        cv=folds,
        error_score="raise",
    )
    search.fit(X, y, uncertain_samples__covariance=given)
    for k, confidence in enumerate([0.6, 0.95]):
        for j, (train, test) in enumerate(folds.split(X)):
            block = UncertainSamples(given[train], confidence)
            score = PriorSVC(block).fit(X[train], y[train]).score(X[test], y[test])
            assert search.cv_results_[f"split{j}_test_score"][k] == score
    best = search.best_params_["prior__uncertain_samples__confidence"]
    alone = PriorSVC(UncertainSamples(given, best)).fit(X, y)
    np.testing.assert_array_equal(search.best_estimator_.coef_, alone.coef_)


def test_an_array_in_the_constructor_is_explained_under_cross_validation(data):
    X, y = data
    search = GridSearchCV(
        PriorSVC(UncertainSamples(np.full((80, 3), 0.1))), {"C": [1.0]}, cv=2, error_score="raise"
    )
    with pytest.raises(InvalidInput, match=r"\(80, 3\).*Under cross-validation pass arrays per row to fit"):
        search.fit(X, y)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("block", "kernels"),
    [
        (UncertainSamples(0.2), ("linear", "rbf")),
        (UncertainSamples([0.3, 0.0, 0.0]), ("linear", "rbf")),
        (UncertainSamples({0: 0.2, 2: 0.1}, 0.7, "any"), ("linear", "rbf")),
        (UncertainSamples(0.02, guarantee=True), ("linear", "rbf", "poly")),
        (UncertainSamples(factor=np.array([[0.2], [0.1], [0.0]])), ("linear", "poly")),
        (UncertainSamples(0.2, 0.5), ("linear", "rbf")),
    ],
)
def test_laws(block, kernels):
    assert "the answer satisfies KKT" in check_knowledge(block, kernels=kernels)


def test_laws_with_rows_given_to_fit():
    bars = np.random.default_rng(15).uniform(0.0, 0.3, size=(40, 3))
    passed = check_knowledge(UncertainSamples(), uncertain_samples__covariance=bars)
    assert "the order of the rows has no effect" in passed
