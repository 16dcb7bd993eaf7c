"""Kernels of the package in estimators of scikit-learn that accept a kernel matrix."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.cluster import SpectralClustering
from sklearn.decomposition import PCA, KernelPCA
from sklearn.exceptions import NotFittedError
from sklearn.kernel_ridge import KernelRidge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC, SVR
from sklearn.utils.estimator_checks import check_estimator

from priorsvm import RBF, HaarIntegration, NegativeDistance, Polynomial, PriorSVC, Shift, load, save
from priorsvm.errors import InvalidInput
from priorsvm.kernels import KernelMatrix

RNG = np.random.default_rng(4)
X = RNG.normal(size=(50, 3))
TARGET = np.sin(X[:, 0]) + 0.1 * RNG.normal(size=50)
LABEL = TARGET > 0
NEW = RNG.normal(size=(12, 3))
SHIFT = Shift([0.3, 0.0, 0.0])

# A kernel, and its name and parameters in scikit-learn.
SAME = [
    (RBF(gamma=0.4), {"kernel": "rbf", "gamma": 0.4}),
    (Polynomial(degree=2, gamma=0.5, coef0=1.0), {"kernel": "poly", "degree": 2, "gamma": 0.5, "coef0": 1.0}),
]


def haar(A, B):
    """Haar integration of the RBF over a shift, by scikit-learn's kernel: one pair of rows."""
    a, b = (np.stack([x, *SHIFT.orbit(x[None])[0, 1:]]) for x in (A, B))
    return np.mean(np.exp(-0.4 * ((a[:, None] - b) ** 2).sum(axis=2)))


SAME.append((HaarIntegration(RBF(gamma=0.4), SHIFT), {"kernel": haar}))
same = pytest.mark.parametrize(("kernel", "parameters"), SAME, ids=lambda value: repr(value)[:20])


@same
def test_kernel_ridge(kernel, parameters):
    ours = make_pipeline(KernelMatrix(kernel), KernelRidge(alpha=0.1, kernel="precomputed")).fit(X, TARGET)
    reference = KernelRidge(alpha=0.1, **parameters).fit(X, TARGET)
    np.testing.assert_allclose(ours.predict(NEW), reference.predict(NEW), atol=1e-9)


@same
def test_kernel_pca(kernel, parameters):
    ours = make_pipeline(KernelMatrix(kernel), KernelPCA(3, kernel="precomputed")).fit(X)
    reference = KernelPCA(3, **parameters).fit(X)
    np.testing.assert_allclose(np.abs(ours.transform(NEW)), np.abs(reference.transform(NEW)), atol=1e-8)


def test_kernel_pca_centres_a_conditionally_definite_kernel_itself():
    # -|x - z|² / 2 is x·z after centring.
    kernel = 0.5 * NegativeDistance(2)
    ours = make_pipeline(KernelMatrix(kernel), KernelPCA(2, kernel="precomputed")).fit(X)
    np.testing.assert_allclose(np.abs(ours.transform(NEW)), np.abs(PCA(2).fit(X).transform(NEW)), atol=1e-8)


def test_support_vector_regression_and_clusters():
    ours = make_pipeline(KernelMatrix(RBF(0.4)), SVR(kernel="precomputed", tol=1e-8)).fit(X, TARGET)
    reference = SVR(gamma=0.4, tol=1e-8).fit(X, TARGET)
    np.testing.assert_allclose(ours.predict(NEW), reference.predict(NEW), atol=1e-6)
    clusters = SpectralClustering(2, affinity="precomputed", random_state=0)
    given = clone(clusters).fit_predict(KernelMatrix(RBF(0.4)).fit_transform(X))
    named = clusters.set_params(affinity="rbf", gamma=0.4).fit_predict(X)
    np.testing.assert_array_equal(given, named)


@same
def test_a_kernel_is_a_function_for_svc(kernel, parameters):
    if not isinstance(parameters["kernel"], str):
        return
    ours = SVC(kernel=kernel).fit(X, LABEL)
    np.testing.assert_allclose(
        ours.decision_function(NEW), SVC(**parameters).fit(X, LABEL).decision_function(NEW), atol=1e-5
    )


def test_a_grid_search_reaches_the_kernel():
    pipeline = make_pipeline(KernelMatrix(RBF()), KernelRidge(alpha=0.1, kernel="precomputed"))
    values = [0.01, 0.1, 1.0]
    search = GridSearchCV(pipeline, {"kernelmatrix__kernel__gamma": values}).fit(X, TARGET)
    reference = GridSearchCV(KernelRidge(alpha=0.1, kernel="rbf"), {"gamma": values}).fit(X, TARGET)
    np.testing.assert_allclose(
        search.cv_results_["mean_test_score"], reference.cv_results_["mean_test_score"], atol=1e-9
    )


def test_parameters_that_depend_on_the_rows_are_those_of_the_training_rows():
    transformer = KernelMatrix("rbf").fit(X)
    assert transformer.kernel_.gamma == RBF().resolved(X).gamma
    np.testing.assert_array_equal(transformer.transform(NEW), transformer.kernel_(NEW, X))


def test_a_pipeline_with_the_classifier_is_saved(tmp_path):
    pytest.importorskip("skops.io")
    pipeline = make_pipeline(KernelMatrix(RBF()), PriorSVC(kernel="precomputed")).fit(X, LABEL)
    direct = PriorSVC(kernel="rbf").fit(X, LABEL)
    np.testing.assert_allclose(pipeline.decision_function(NEW), direct.decision_function(NEW), atol=1e-8)
    save(pipeline, tmp_path / "pipeline.skops")
    loaded = load(tmp_path / "pipeline.skops")
    np.testing.assert_array_equal(loaded.decision_function(NEW), pipeline.decision_function(NEW))


def test_it_is_a_transformer_of_scikit_learn():
    failed = [
        found["check_name"]
        for found in check_estimator(KernelMatrix(RBF()), on_skip=None, on_fail=None)
        if found["status"] == "failed"
    ]
    assert failed == []


def test_wrong_input_is_named():
    with pytest.raises(NotFittedError):
        KernelMatrix(RBF()).transform(X)
    with pytest.raises(ValueError, match="2 features, but KernelMatrix is expecting 3"):
        KernelMatrix(RBF()).fit(X).transform(X[:, :2])
    with pytest.raises(InvalidInput, match="Unknown kernel 'rfb'"):
        KernelMatrix("rfb").fit(X)
