"""Messages of rules on rows: unlabelled rows with gaps, and warnings of several models."""

import warnings

import numpy as np
import pytest

from priorsvm import MissingValues, PriorSVC, Rule
from priorsvm.errors import InvalidInput, Outbid


def table(n=60):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3))
    y = (X[:, 0] + X[:, 1] + rng.normal(size=n) > 0).astype(int)
    return X, y


@pytest.mark.parametrize("gaps", [False, True])
def test_unlabelled_rows_with_gaps_have_a_way_out(gaps):
    X, y = table()
    unlabeled = X[:10].copy()
    unlabeled[3, 1] = np.nan
    rule = Rule("x0 > 0.3", label=1, unlabeled=unlabeled)
    with pytest.raises(InvalidInput, match=r"unlabeled contains NaN.*unlabeled\.dropna\(\)"):
        PriorSVC(MissingValues() + rule if gaps else rule).fit(X, y)


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
