"""Keys of rows."""

import hashlib

import numpy as np
import pandas as pd
import pytest

from priorsvm import MissingValues, Monotone, PriorSVC, Rule
from priorsvm._utils.row_keys import digests, name_order, truth_columns


def test_columns_are_ordered_by_name():
    X = np.random.default_rng(0).normal(size=(5, 3))
    names = np.array(["b", "c", "a"], object)
    turned = [2, 0, 1]
    first = digests(X, order=name_order(names, 3))
    assert first == digests(X[:, turned], order=name_order(names[turned], 3))
    assert digests(X, order=name_order(None, 3)) == digests(X)


@pytest.mark.parametrize("width", [0, 3])
def test_a_key_is_the_hash_of_the_bytes_of_the_row(width):
    X = np.random.default_rng(0).normal(size=(4, width))
    found = [hashlib.blake2b(row.tobytes(), digest_size=8).digest() for row in X]
    assert digests(X) == found
    assert digests(X[:, ::-1], order=np.arange(width)[::-1]) == found


def table(n=60):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "bmi": rng.normal(27, 4, n).round(1),
            "glucose": rng.normal(105, 15, n).round(1),
            "age": rng.integers(30, 80, n),
            "sex": rng.choice(["f", "m"], n),
            "zone": rng.choice(["a", "b", "c"], n),
        }
    )
    risk = (X.glucose - 105) / 15 + (X.bmi - 27) / 4 + rng.normal(0, 0.8, n)
    return X, np.where(risk > 0.6, "ill", "well")


@pytest.mark.filterwarnings("ignore::priorsvm.errors.PriorSVMWarning")
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize(
    "prior",
    [
        Rule("bmi >= 33 and glucose >= 120 and age > 60", label="ill"),
        Rule("sex == 'f' and bmi > 30 and zone in ('a', 'b')", label="ill", mu=5.0),
        Rule("bmi * glucose > 3500 or age > 70", label="ill", mu=5.0),
        Monotone({"bmi": 1}, label="ill", mu=30.0),
        MissingValues(confidence=0.6) + Rule("bmi > 32", label="ill", mu=5.0),
    ],
)
def test_the_order_of_the_columns_does_not_change_a_rule(prior, kernel):
    X, y = table()
    if not isinstance(prior, (Rule, Monotone)):
        X.loc[::7, "bmi"] = np.nan
    f = PriorSVC(prior, kernel=kernel, scale="standard").fit(X, y).decision_function(X)
    turned = X[["zone", "glucose", "sex", "bmi", "age"]]
    other = PriorSVC(prior, kernel=kernel, scale="standard").fit(turned, y)
    np.testing.assert_allclose(other.decision_function(turned), f, atol=1e-6)


def test_columns_of_truth_values():
    X = pd.DataFrame({"a": [True, False], "b": [1, 0], "c": [None, True], "d": ["x", "y"]})
    X["e"] = X["a"].astype("boolean")
    assert truth_columns(X) == [0, 2, 4]
    assert truth_columns(np.array([[True, False]])) == [0, 1]
    assert truth_columns([[1.0, 2.0]]) == []
    assert truth_columns(X[["d", "b"]]) == []
