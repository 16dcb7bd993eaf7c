"""Kernel matrices as X: against SVC, against the kernel itself, and in scikit-learn's tools."""

import cvxpy as cp
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.multiclass import OneVsOneClassifier
from sklearn.svm import SVC

from priorsvm import (
    RBF,
    ClassCosts,
    Knowledge,
    NegativeDistance,
    Polynomial,
    PriorSVC,
    SampleCosts,
    Terms,
    load,
    plot,
    save,
)
from priorsvm.errors import InvalidInput, MissingCapability
from priorsvm.kernels import Centred, Precomputed

RNG = np.random.default_rng(2)
X = RNG.normal(size=(60, 3))
Y = (X[:, 0] + X[:, 1] ** 2 + 0.4 * RNG.normal(size=60) > 0.6).astype(int)
THREE = np.array(["a", "b", "c"])[np.digitize(X[:, 0], [-0.5, 0.5])]
NEW = RNG.normal(size=(20, 3))
KERNEL = RBF(gamma=0.3)
K = KERNEL(X)
K_NEW = KERNEL(NEW, X)
WEIGHT = RNG.integers(0, 4, len(X)) / 2.0


def precomputed(prior=None, **parameters):
    return PriorSVC(prior, kernel="precomputed", **parameters)


@pytest.mark.parametrize("solver", ["auto", "LIBSVM", "CLARABEL", "ROWS", "SCHUR"])
def test_the_model_equals_svc(solver):
    model = precomputed(C=3.0, solver=solver).fit(K, Y)
    reference = SVC(kernel="precomputed", C=3.0, tol=1e-10).fit(K, Y)
    np.testing.assert_allclose(model.decision_function(K_NEW), reference.decision_function(K_NEW), atol=1e-6)
    np.testing.assert_array_equal(model.support_, reference.support_[np.argsort(reference.support_)])
    np.testing.assert_array_equal(model.predict(K_NEW), reference.predict(K_NEW))
    assert model.n_features_in_ == len(X)


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"norm": "l1"},
        {"n_centres": 15},
        {"norm": "l1", "n_centres": 15},
        {"multi_class": "joint"},
        {"preselect": True},
        {"loss": "squared_hinge"},
        {"solver": "CLARABEL"},
    ],
    ids=str,
)
def test_the_matrix_and_the_kernel_give_one_model(parameters):
    prior = ClassCosts("balanced") + SampleCosts(np.linspace(0.5, 1.5, len(X)))
    given = precomputed(prior, **parameters).fit(K, THREE, sample_weight=WEIGHT)
    known = PriorSVC(prior, kernel=KERNEL, **parameters).fit(X, THREE, sample_weight=WEIGHT)
    np.testing.assert_allclose(given.decision_function(K_NEW), known.decision_function(NEW), atol=1e-6)
    np.testing.assert_allclose(given.objective_, known.objective_, rtol=1e-7)
    np.testing.assert_array_equal(given.support_, known.support_)
    # The attributes mean what they mean elsewhere: rows are indices of training samples.
    by_hand = given.kernel_(K_NEW, given.centres_) @ given.dual_coef_.T + given.intercept_
    np.testing.assert_allclose(by_hand, given.decision_function(K_NEW), atol=1e-9)
    assert given.centres_.shape[1] == 1


def test_a_conditionally_definite_matrix_equals_svc():
    distance = NegativeDistance()(X)
    model = precomputed().fit(distance, Y)
    reference = SVC(kernel="precomputed", tol=1e-10).fit(distance, Y)
    new = NegativeDistance()(NEW, X)
    np.testing.assert_allclose(model.decision_function(new), reference.decision_function(new), atol=1e-6)
    assert isinstance(model.kernel_, Centred)
    assert "z₀" in model.formulation().text()


def test_an_indefinite_or_lopsided_matrix_serves_the_1_norm():
    sigmoid = np.tanh(0.5 * X @ X.T - 1.0) + 0.1 * X[:, :1]
    model = precomputed(norm="l1").fit(sigmoid, Y)
    beta, b = cp.Variable(len(X)), cp.Variable()
    loss = cp.norm1(beta) + cp.sum(cp.pos(1 - cp.multiply(2.0 * Y - 1, sigmoid @ beta + b)))
    np.testing.assert_allclose(
        model.objective_, cp.Problem(cp.Minimize(loss)).solve(solver=cp.CLARABEL), rtol=1e-6
    )


def test_cross_validation_takes_rows_and_columns():
    ours = cross_val_score(precomputed(C=2.0), K, Y, cv=4)
    features = cross_val_score(PriorSVC(kernel=KERNEL, C=2.0), X, Y, cv=4)
    np.testing.assert_array_equal(ours, features)
    grid = {"C": [0.01, 1.0, 100.0]}
    search = GridSearchCV(precomputed(), grid, cv=4).fit(K, Y)
    reference = GridSearchCV(SVC(kernel="precomputed"), grid, cv=4).fit(K, Y)
    np.testing.assert_allclose(
        search.cv_results_["mean_test_score"], reference.cv_results_["mean_test_score"]
    )
    assert search.predict(K_NEW).shape == (20,)
    assert precomputed().__sklearn_tags__().input_tags.pairwise
    assert not PriorSVC(kernel="rbf").__sklearn_tags__().input_tags.pairwise
    assert clone(precomputed()).kernel == "precomputed"


def test_one_against_one_of_scikit_learn():
    ours = OneVsOneClassifier(precomputed()).fit(K, THREE)
    reference = SVC(kernel="precomputed").fit(K, THREE)
    np.testing.assert_array_equal(ours.predict(K_NEW), reference.predict(K_NEW))


def test_a_path():
    for model in precomputed().fit_path(K, Y, {"C": [0.1, 1.0, 10.0]}):
        reference = SVC(kernel="precomputed", C=model.C, tol=1e-10).fit(K, Y)
        np.testing.assert_allclose(
            model.decision_function(K_NEW), reference.decision_function(K_NEW), atol=1e-5
        )


def test_files_and_frames(tmp_path):
    pytest.importorskip("skops.io")
    frame = pd.DataFrame(K).add_prefix("sample ")
    model = precomputed(ClassCosts("balanced")).fit(frame, THREE)
    save(model, tmp_path / "model.skops")
    loaded = load(tmp_path / "model.skops")
    new = pd.DataFrame(K_NEW, columns=frame.columns)
    np.testing.assert_array_equal(loaded.decision_function(new), model.decision_function(new))
    assert str(loaded.report_).splitlines()[0] == str(model.report_).splitlines()[0]


def test_the_matrix_may_be_overwritten_after_the_fit():
    distance = NegativeDistance()(X)
    new = NegativeDistance()(NEW, X)
    model = precomputed().fit(distance, Y)
    before = model.decision_function(new)
    distance[:] = 7.0
    np.testing.assert_array_equal(model.decision_function(new), before)


class SameScore(Knowledge):
    """f is equal at two training rows: a block that needs no features."""

    accepts = frozenset({"dense", "precomputed"})

    def __init__(self, pairs):
        self.pairs = pairs

    def build(self, f, view):
        rows = view.sample.X_train
        first, second = np.transpose(self.pairs)
        return Terms(constraints={"equal": f(rows[first]) == f(rows[second])})


def test_a_block_of_ones_own_on_training_rows():
    block = SameScore([(0, 1), (2, 3), (4, 9)])
    given = precomputed(block).fit(K, Y)
    known = PriorSVC(block, kernel=KERNEL).fit(X, Y)
    np.testing.assert_allclose(given.decision_function(K_NEW), known.decision_function(NEW), atol=1e-5)
    scores = given.decision_function(K)
    np.testing.assert_allclose(scores[[0, 2, 4]], scores[[1, 3, 9]], atol=1e-6)
    plain = precomputed().fit(K, Y).decision_function(K)
    assert np.abs(plain[[0, 2, 4]] - plain[[1, 3, 9]]).max() > 0.1


@pytest.mark.parametrize(
    ("matrix", "definiteness"),
    [
        (K, "psd"),
        (np.zeros((4, 4)), "psd"),
        (np.ones((4, 4)), "psd"),
        (NegativeDistance()(X), "cpd"),
        (X @ X.T - 5.0, "cpd"),
        (-K, "indefinite"),
        (Polynomial(2, 1.0, -1.0)(X), "indefinite"),
        (np.triu(K), "unknown"),
    ],
    ids=["rbf", "zero", "ones", "distance", "shifted", "negative", "polynomial", "triangle"],
)
def test_the_definiteness_is_computed(matrix, definiteness):
    assert Precomputed(matrix).definiteness == definiteness


def test_rows_are_indices_or_values():
    kernel = Precomputed(K)
    some = np.array([[3.0], [1.0], [3.0]])
    np.testing.assert_array_equal(kernel(some), K[np.ix_([3, 1, 3], [3, 1, 3])])
    np.testing.assert_array_equal(kernel(K_NEW, some), K_NEW[:, [3, 1, 3]])
    np.testing.assert_array_equal(kernel.diag(some), np.diagonal(K)[[3, 1, 3]])
    np.testing.assert_array_equal(kernel(kernel.samples), K)
    assert repr(kernel) == "Precomputed(<60 x 60 matrix>)"
    assert clone(kernel).set_params(matrix=-K).definiteness == "indefinite"


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda k: k([[60.0]]), InvalidInput, "indices of training samples, from 0 to 59"),
        (lambda k: k([[0.5]]), InvalidInput, "indices of training samples"),
        (lambda k: k(X), InvalidInput, "A has 3 columns; expected 1 index .* or 60 values"),
        (lambda k: k(K_NEW), MissingCapability, "between two new samples is not known"),
        (lambda k: k.diag(K_NEW), MissingCapability, "between two new samples is not known"),
        (lambda k: Precomputed(K[1:])([[0.0]]), InvalidInput, r"matrix has shape \(59, 60\)"),
    ],
)
def test_wrong_rows_are_named(call, error, message):
    with pytest.raises(error, match=message):
        call(Precomputed(K))


def test_wrong_new_rows_are_named():
    model = precomputed().fit(K, Y)
    with pytest.raises(ValueError, match="20 features, but PriorSVC is expecting 60"):
        model.predict(K_NEW.T)
    with pytest.raises(InvalidInput, match=r"contains NaN, but with kernel='precomputed'"):
        model.predict(K_NEW * np.nan)
    with pytest.raises(InvalidInput, match=r"compares samples without features"):
        plot.decision(model)
