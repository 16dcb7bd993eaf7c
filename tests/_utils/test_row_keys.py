"""Keys of rows."""

import numpy as np
import pandas as pd
import pytest

from priorsvm import MissingValues, Monotone, PriorSVC, Rule
from priorsvm._utils.row_keys import digests, name_order, truth_columns


def test_single_precision_has_the_keys_of_its_decimals():
    X = np.random.default_rng(0).normal(50, 20, size=(40, 3)).round(2)
    X[0] = [0.1, 1e-5, -3.25]
    single = X.astype(np.float32).astype(float)
    assert not np.array_equal(single, X)
    assert digests(single) == digests(X)
    other = X.copy()
    other[:, 1] += 0.01
    assert set(digests(other)).isdisjoint(digests(X))


def test_extreme_numbers_have_keys_without_a_warning():
    X = np.array([[1e300, 1e-300, np.nan], [np.inf, -0.0, 0.5], [np.inf, 0.0, 0.5]])
    with np.errstate(all="raise"):
        found = digests(X)
    assert found[1] == found[2] != found[0]


def test_columns_are_ordered_by_name():
    X = np.random.default_rng(0).normal(size=(5, 3))
    names = np.array(["b", "c", "a"], object)
    turned = [2, 0, 1]
    first = digests(X, order=name_order(names, 3))
    assert first == digests(X[:, turned], order=name_order(names[turned], 3))
    assert digests(X, order=name_order(None, 3)) == digests(X)


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
def test_neither_the_order_of_the_columns_nor_single_precision_changes_a_rule(prior, kernel):
    X, y = table()
    if not isinstance(prior, (Rule, Monotone)):
        X.loc[::7, "bmi"] = np.nan
    f = PriorSVC(prior, kernel=kernel, scale="standard").fit(X, y).decision_function(X)
    turned = X[["zone", "glucose", "sex", "bmi", "age"]]
    other = PriorSVC(prior, kernel=kernel, scale="standard").fit(turned, y)
    np.testing.assert_allclose(other.decision_function(turned), f, atol=1e-6)
    single = X.astype({"bmi": np.float32, "glucose": np.float32})
    third = PriorSVC(prior, kernel=kernel, scale="standard").fit(single, y)
    np.testing.assert_allclose(third.decision_function(single), f, atol=1e-4)


def test_columns_of_truth_values():
    X = pd.DataFrame({"a": [True, False], "b": [1, 0], "c": [None, True], "d": ["x", "y"]})
    X["e"] = X["a"].astype("boolean")
    assert truth_columns(X) == [0, 2, 4]
    assert truth_columns(np.array([[True, False]])) == [0, 1]
    assert truth_columns([[1.0, 2.0]]) == []
    assert truth_columns(X[["d", "b"]]) == []
