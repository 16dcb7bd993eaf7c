"""Messages of rules on rows: unlabelled rows with gaps, and warnings of several models."""

import warnings

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from priorsvm import MissingValues, PriorSVC, Rule
from priorsvm.errors import BadRule, InvalidInput, Outbid


def table(n=60):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3))
    y = (X[:, 0] + X[:, 1] + rng.normal(size=n) > 0).astype(int)
    return X, y


def test_unlabelled_rows_with_gaps_have_a_way_out():
    X, y = table()
    unlabeled = X[:10].copy()
    unlabeled[3, 1] = np.nan
    rule = Rule("x0 > 0.3", label=1, unlabeled=unlabeled)
    advice = r"unlabeled contains NaN.*Add MissingValues\(\).*unlabeled\.dropna\(\)"
    with pytest.raises(InvalidInput, match=advice):
        PriorSVC(rule).fit(X, y)
    unlabeled[4, 1] = np.inf
    with pytest.raises(InvalidInput, match=r"unlabeled contains infinity\."):
        PriorSVC(MissingValues() + rule).fit(X, y)


def test_unlabelled_rows_with_gaps_are_completed_by_the_probabilities_of_the_classes():
    X, y = table()
    unlabeled = np.random.default_rng(1).normal(size=(30, 3))
    unlabeled[::3, 1] = np.nan
    unlabeled[1, :2] = np.nan
    done = MissingValues().complete(X, y, np.ones(len(y)))
    expected = np.zeros(unlabeled.shape)
    for i, row in enumerate(unlabeled):
        seen = ~np.isnan(row)
        odds = {}
        rows = {}
        for label, gaussian in done.gaussians.items():
            S = gaussian.covariance[np.ix_(seen, seen)]
            step = row[seen] - gaussian.mean[seen]
            density = multivariate_normal(gaussian.mean[seen], S).pdf(row[seen])
            odds[label] = done.shares[label] * density
            rows[label] = row.copy()
            across = gaussian.covariance[np.ix_(~seen, seen)]
            rows[label][~seen] = gaussian.mean[~seen] + across @ np.linalg.solve(S, step)
        expected[i] = sum(odds[c] * rows[c] for c in odds) / sum(odds.values())
    np.testing.assert_allclose(done.completed(unlabeled), expected, atol=1e-9)
    given = Rule("x0 > 0.3", label=1, mu=5.0, unlabeled=unlabeled)
    completed = Rule("x0 > 0.3", label=1, mu=5.0, unlabeled=done.completed(unlabeled))
    f = [PriorSVC(MissingValues() + rule).fit(X, y).decision_function(X) for rule in (given, completed)]
    np.testing.assert_allclose(f[0], f[1], atol=1e-9)
    assert PriorSVC(MissingValues() + given).fit(X, y).verify()["rule"].checked > 0


@pytest.mark.parametrize(("multi_class", "named"), [("ovr", "class 2: "), ("ovo", "class 1 against 2: ")])
def test_a_rule_that_is_outbid_names_the_class_of_the_model(multi_class, named):
    X, y = table()
    y = y + (X[:, 2] > 0.5)
    with warnings.catch_warnings(record=True) as issued:
        warnings.simplefilter("always")
        PriorSVC(Rule("x0 < -0.3", label=2, mu=0.1), multi_class=multi_class).fit(X, y)
    texts = [str(warning.message) for warning in issued if warning.category is Outbid]
    assert len(texts) == len(set(texts)) > 0
    assert all(text.startswith("model of class ") for text in texts)
    assert any(text.startswith(f"model of {named}") for text in texts)
    with warnings.catch_warnings(record=True) as issued:
        warnings.simplefilter("always")
        PriorSVC(Rule("x0 < -0.3", label=1, mu=0.1)).fit(X, (y > 0).astype(int))
    assert not any("model of" in str(warning.message) for warning in issued)


def test_a_column_without_a_comparison_gets_an_example():
    X, y = table()
    with pytest.raises(BadRule, match=r"is missing here, such as 'x1 == True' or 'x1 >= 1'"):
        PriorSVC(Rule("x0 > 1 and x1", label=1)).fit(X, y)
