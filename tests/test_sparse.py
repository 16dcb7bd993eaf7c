"""Sparse rows: the same problem, the same answer as with dense ones."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.svm import SVC

from priorsvm import (
    ClassCosts,
    FeatureDeletion,
    FeatureScaling,
    InvariantLoss,
    PriorSVC,
    SampleCosts,
    Shift,
    VirtualSamples,
)
from priorsvm._utils.arrays import as_keys, dense_row, products, same, stack
from priorsvm.errors import InvalidType

N_ROWS, N_WORDS = 48, 80


@pytest.fixture(scope="module")
def words():
    rng = np.random.default_rng(0)
    X = sparse.random_array((N_ROWS, N_WORDS), density=0.08, rng=rng, format="csr")
    X.data[:] = rng.poisson(2, X.nnz) + 1.0
    y = np.where(X @ rng.normal(size=N_WORDS) + 0.5 * rng.normal(size=N_ROWS) > 0, "spam", "ham")
    return X, y


@pytest.mark.slow
@pytest.mark.parametrize(
    "prior",
    [
        None,
        ClassCosts({"spam": 3}) + SampleCosts(margins=np.full(N_ROWS, 1.5)),
        InvariantLoss(FeatureDeletion(2)),
        InvariantLoss(FeatureDeletion(2), method="columns"),
        InvariantLoss(FeatureScaling(3, 0.5, 3), method="columns") + ClassCosts("balanced"),
    ],
    ids=["plain", "costs", "closed", "columns", "scaling"],
)
@pytest.mark.parametrize("solver", ["auto", "CLARABEL"])
def test_sparse_rows_give_the_answer_of_dense_ones(words, prior, solver):
    X, y = words
    a = PriorSVC(prior, C=0.1, solver=solver).fit(X, y)
    b = PriorSVC(prior, C=0.1, solver=solver).fit(X.toarray(), y)
    assert a.objective_ == pytest.approx(b.objective_, rel=2e-6)
    np.testing.assert_allclose(a.coef_, b.coef_, atol=2e-3 * np.abs(b.coef_).max())
    np.testing.assert_allclose(a.decision_function(X), a.decision_function(X.toarray()), atol=1e-12)
    assert a.verify().holds
    assert str(a.report_)
    a.problem.solve(solver="CLARABEL")
    assert a.problem.value == pytest.approx(a.objective_, rel=2e-6)


def test_plain_sparse_rows_as_libsvm_has_them(words):
    X, y = words
    ours, theirs = PriorSVC(C=0.3).fit(X, y), SVC(kernel="linear", C=0.3, tol=1e-10).fit(X, y)
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-6)


def test_more_rows_than_words():
    rng = np.random.default_rng(1)
    X = sparse.random_array((600, 10), density=0.3, rng=rng, format="csc")
    y = rng.choice([0, 1, 2], 600)
    a, b = PriorSVC().fit(X, y), PriorSVC().fit(X.toarray(), y)
    np.testing.assert_allclose(a.coef_, b.coef_, atol=1e-5)


@pytest.mark.parametrize(
    ("parameters", "words_of_error"),
    [
        ({"kernel": "rbf"}, "linear model"),
        ({"scale": "standard"}, "scale='standard'"),
        (
            {"prior": VirtualSamples(Shift(np.eye(N_WORDS)[0]))},
            "block 'virtual_samples' does not accept sparse X",
        ),
        (
            {"prior": InvariantLoss(Shift(np.eye(N_WORDS)[0]))},
            "block 'invariant_loss' does not accept sparse X",
        ),
    ],
)
def test_what_would_make_rows_dense_is_refused(words, parameters, words_of_error):
    with pytest.raises(InvalidType, match=words_of_error):
        PriorSVC(**parameters).fit(*words)


def test_a_function_of_the_rows_gets_them_sparse(words):
    X, y = words
    costs = lambda rows, labels: 1.0 + rows.sum(axis=1)  # noqa: E731
    a = PriorSVC(SampleCosts(costs)).fit(X, y)
    b = PriorSVC(SampleCosts(costs)).fit(X.toarray(), y)
    np.testing.assert_allclose(a.coef_, b.coef_, atol=1e-6)


def test_rows_of_both_kinds():
    A = np.array([[0.0, 1.0], [-0.0, 1.0], [2.0, 0.0]])
    S = sparse.csr_array(A)
    np.testing.assert_array_equal(stack(S, S[:1]).toarray(), np.vstack([A, A[:1]]))
    for rows in (A, S):
        keys = as_keys(rows)
        assert keys[0] == keys[1] != keys[2]
        np.testing.assert_array_equal(products(rows, rows), A @ A.T)
        np.testing.assert_array_equal(dense_row(rows, 2), A[2])
        assert same(rows, rows.copy())
        assert not same(rows, rows[:2])
    assert not same(A, S)
