"""The order of the training rows has no effect on rules, on missing values and on the choice of mu."""

import numpy as np
import pytest

from priorsvm import MissingValues, PriorSVC, Rule, SampleCosts, weights
from priorsvm._utils.row_keys import digests
from priorsvm.knowledge.regions.on_rows import Pool
from priorsvm.validation import make_task

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::priorsvm.errors.PriorSVMWarning")]


def table(n=40, seed=0):
    """Return rows of three columns with missing values in two of them."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    y = (X[:, 0] + X[:, 1] + rng.normal(size=n) > 0).astype(int)
    X[::5, 0] = np.nan
    X[1::7, 2] = np.nan
    return X, y


@pytest.mark.parametrize("mu", [5.0, "auto"])
@pytest.mark.parametrize("text", ["x1 > 1", "x0 > 0.3", "x2 is missing"])
def test_the_order_of_rows_with_gaps_has_no_effect(text, mu):
    X, y = table()
    prior = MissingValues() + Rule(text, label=1, mu=mu)
    f = PriorSVC(prior).fit(X, y).decision_function(X)
    for seed in range(2):
        order = np.random.default_rng(seed).permutation(len(y))
        other = PriorSVC(prior).fit(X[order], y[order])
        np.testing.assert_allclose(other.decision_function(X), f, atol=1e-6)


def test_completed_values_do_not_depend_on_the_order_of_rows():
    X, y = table()
    order = np.random.default_rng(1).permutation(len(y))
    ones = np.ones(len(y))
    found = MissingValues().complete(X, y, ones)
    other = MissingValues().complete(X[order], y[order], ones)
    np.testing.assert_array_equal(other.X, found.X[order])
    np.testing.assert_array_equal(other.missing, found.missing[order])
    pools = []
    for rows in (np.arange(len(y)), order):
        task = make_task(PriorSVC(MissingValues()), X[rows], y[rows], None, {})
        pools.append(Pool.of(task.samples[0], None))
    for name in ("X", "deviation", "correlation", "keys"):
        np.testing.assert_array_equal(getattr(pools[0], name), getattr(pools[1], name))


def test_digests_count_completed_values_as_gaps():
    X = np.array([[1.0, 2.0], [1.0, 2.0 + 1e-15], [1.0, np.nan], [-0.0, 1.0], [0.0, 1.0]])
    gaps = np.zeros(X.shape, bool)
    gaps[:2, 1] = True
    plain = digests(X)
    marked = digests(X, gaps)
    assert plain[0] != plain[1]
    assert marked[0] == marked[1] == plain[2]
    assert marked[3:] == plain[3:]
    assert plain[3] == plain[4]
    assert digests(X, salt=b"\x01") != plain


def test_equal_rows_of_different_weights_have_a_fold_of_their_own():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, size=(15, 3)).astype(float)
    X = np.vstack([X, X])
    y = np.resize((X[:15, 0] + X[:15, 1] + rng.normal(size=15) > 2).astype(int), 30)
    weight = rng.uniform(0.1, 3, 30)
    costs = rng.uniform(0.1, 3, 30)
    for given, prior, parameters in [
        (weight, Rule("x0 > 1", label=1), {}),
        (None, Rule("x0 > 1", label=1) + SampleCosts(), {"sample_costs__costs": costs}),
    ]:
        order = rng.permutation(30)
        folds = []
        for rows in (np.arange(30), order):
            shifted = {key: value[rows] for key, value in parameters.items()}
            part = None if given is None else given[rows]
            task = make_task(PriorSVC(prior), X[rows], y[rows], part, shifted)
            folds.append([sorted(rows[test].tolist()) for test in weights._folds(task)])
        assert folds[0] == folds[1]
