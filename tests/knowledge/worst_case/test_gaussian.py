"""The Gaussian of rows with gaps, against formulas written out row by row and a maximiser of one's own."""

import warnings

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import multivariate_normal
from sklearn.covariance import EmpiricalCovariance
from sklearn.exceptions import ConvergenceWarning

from priorsvm.knowledge.worst_case.gaussian import Gaussian

MIXING = np.array([[1.0, 0.0, 0.0], [0.8, 0.6, 0.0], [-0.5, 0.3, 0.7]])
MEAN = np.array([1.0, -2.0, 0.5])
SPREAD = np.array([1.2, 0.9, 1.5])


def with_gaps(X, share, seed):
    gaps = np.random.default_rng(seed).uniform(size=X.shape) < share
    return np.where(gaps, np.nan, X)


@pytest.fixture(scope="module")
def whole():
    return MEAN + np.random.default_rng(0).normal(size=(60, 3)) @ MIXING.T


@pytest.fixture(scope="module")
def rows(whole):
    return with_gaps(whole, 0.3, 1)


@pytest.fixture(scope="module")
def weight():
    return np.random.default_rng(2).integers(0, 4, size=60).astype(float)


def own_objective(X, weight, mean, covariance, spread=SPREAD, ridge=1.0):
    total = 0.0
    for s in np.unique(~np.isnan(X), axis=0):
        of_pattern = (~np.isnan(X) == s).all(axis=1)
        if s.any():
            seen = multivariate_normal(mean[s], covariance[np.ix_(s, s)])
            total += weight[of_pattern] @ np.atleast_1d(seen.logpdf(X[of_pattern][:, s]))
    V = np.diag(spread**2)
    prior = np.linalg.slogdet(covariance)[1] + np.trace(V @ np.linalg.inv(covariance))
    return total - ridge / 2 * prior


def own_conditional(x, mean, covariance):
    """Mean and covariance of all entries of a row given those that are seen."""
    m, s = np.isnan(x), ~np.isnan(x)
    filled, left = x.copy(), np.zeros_like(covariance)
    inverse = np.linalg.inv(covariance[np.ix_(s, s)])
    across = covariance[np.ix_(m, s)]
    filled[m] = mean[m] + across @ inverse @ (x[s] - mean[s])
    left[np.ix_(m, m)] = covariance[np.ix_(m, m)] - across @ inverse @ across.T
    return filled, left


def same(a, b, **tolerance):
    np.testing.assert_allclose(a.mean, b.mean, **tolerance)
    np.testing.assert_allclose(a.covariance, b.covariance, **tolerance)


@pytest.mark.parametrize("ridge", [0.01, 1.0, 30.0])
def test_without_gaps_it_is_the_formula(whole, weight, ridge):
    found = Gaussian.fit(whole, weight, SPREAD, ridge)
    mean = np.average(whole, axis=0, weights=weight)
    scatter = sum(w * np.outer(x - mean, x - mean) for x, w in zip(whole, weight, strict=True))
    covariance = (scatter + ridge * np.diag(SPREAD**2)) / (weight.sum() + ridge)
    same(found, Gaussian(mean, covariance), rtol=1e-13, atol=1e-14)


def test_without_gaps_and_prior_it_is_the_empirical_covariance(whole):
    found = Gaussian.fit(whole, np.ones(60), SPREAD, 1e-12)
    reference = EmpiricalCovariance().fit(whole)
    same(found, Gaussian(reference.location_, reference.covariance_), rtol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.1, 0.3, 0.6])
@pytest.mark.parametrize("ridge", [0.1, 1.0])
def test_the_penalised_likelihood_never_falls(whole, weight, ridge, share):
    rows, values = with_gaps(whole, share, 7), []
    for steps in range(2, 40):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            found = Gaussian.fit(rows, weight, SPREAD, ridge, tol=1e-14, max_iter=steps)
        values.append(own_objective(rows, weight, found.mean, found.covariance, ridge=ridge))
    assert np.diff(values).min() > -1e-10
    assert values[-1] - values[0] > 1e-3


def test_it_ends_where_the_penalised_likelihood_is_level(rows, weight):
    found = Gaussian.fit(rows, weight, SPREAD, tol=1e-13)

    def slope(mean, covariance):
        def value(h):
            return own_objective(rows, weight, found.mean + h * mean, found.covariance + h * covariance)

        return (8 * (value(1e-4) - value(-1e-4)) - (value(2e-4) - value(-2e-4))) / 12e-4

    for i in range(3):
        assert abs(slope(np.eye(3)[i], np.zeros((3, 3)))) < 1e-9
        for j in range(3):
            turn = np.outer(np.eye(3)[i], np.eye(3)[j])
            assert abs(slope(np.zeros(3), turn + turn.T)) < 1e-9


def test_it_is_level_to_its_default_tolerance_too(rows, weight):
    loose, tight = (Gaussian.fit(rows, weight, SPREAD, tol=t) for t in (1e-6, 1e-13))
    same(loose, tight, rtol=0, atol=1e-6)


@pytest.mark.slow
def test_in_the_plane_it_is_what_a_search_finds(rows):
    X, spread = rows[:, :2], SPREAD[:2]

    def lower(p):
        L = np.array([[np.exp(p[2]), 0.0], [p[3], np.exp(p[4])]])
        return -own_objective(X, np.ones(60), p[:2], L @ L.T, spread)

    near = minimize(lower, np.zeros(5), method="BFGS").x
    search = minimize(lower, near, method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-13})
    L = np.array([[np.exp(search.x[2]), 0.0], [search.x[3], np.exp(search.x[4])]])
    same(Gaussian.fit(X, np.ones(60), spread, tol=1e-12), Gaussian(search.x[:2], L @ L.T), rtol=0, atol=1e-7)


def test_gaps_in_the_last_column_only_are_a_regression(whole):
    """Anderson 1957: the likelihood falls into that of the first columns and a regression on them."""
    X = whole.copy()
    X[35:, 2] = np.nan
    found = Gaussian.fit(X, np.ones(60), SPREAD, 1e-12, tol=1e-13, max_iter=20_000)
    mean = X[:, :2].mean(axis=0)
    block = np.cov(X[:, :2].T, bias=True)
    design = np.column_stack([np.ones(35), X[:35, :2]])
    line, [squares], *_ = np.linalg.lstsq(design, X[:35, 2])
    across = block @ line[1:]
    covariance = np.block([[block, across[:, None]], [across[None], squares / 35 + line[1:] @ across]])
    same(found, Gaussian(np.append(mean, line[0] + line[1:] @ mean), covariance), rtol=0, atol=1e-12)


def test_conditionals_are_the_textbook_formula(rows):
    own = Gaussian(MEAN, MIXING @ MIXING.T + 0.1 * np.eye(3))
    X = np.vstack([rows, np.full(3, np.nan)])
    for which, means, covariances in own.conditionals(X):
        for x, mean, covariance in zip(X[which], means, covariances, strict=True):
            filled, left = own_conditional(x, own.mean, own.covariance)
            np.testing.assert_allclose(mean, filled, rtol=0, atol=1e-13)
            np.testing.assert_allclose(covariance, left, rtol=0, atol=1e-13)


def test_the_density_is_that_of_what_is_seen(rows):
    own = Gaussian(MEAN, MIXING @ MIXING.T + 0.1 * np.eye(3))
    X = np.vstack([rows, np.full(3, np.nan)])
    expected = []
    for x in X:
        s = ~np.isnan(x)
        seen = multivariate_normal(own.mean[s], own.covariance[np.ix_(s, s)]) if s.any() else None
        expected.append(0.0 if seen is None else seen.logpdf(x[s]))
    np.testing.assert_allclose(own.log_density(X), expected, rtol=0, atol=1e-12)
    assert own.log_density(X[:0]).shape == (0,)


def test_completed_rows_keep_what_was_seen(rows):
    own = Gaussian(MEAN, MIXING @ MIXING.T + 0.1 * np.eye(3))
    full = own.completed(rows)
    np.testing.assert_array_equal(full[~np.isnan(rows)], rows[~np.isnan(rows)])
    expected = [own_conditional(x, own.mean, own.covariance)[0] for x in rows]
    np.testing.assert_allclose(full, expected, rtol=0, atol=1e-13)


def test_conditional_covariances_depend_on_the_pattern_alone(rows):
    own = Gaussian(MEAN, MIXING @ MIXING.T + 0.1 * np.eye(3))
    expected = [own_conditional(x, own.mean, own.covariance)[1] for x in rows]
    np.testing.assert_allclose(own.conditional_covariances(np.isnan(rows)), expected, rtol=0, atol=1e-13)


def test_weights_are_repeated_rows(rows, weight):
    repeated = np.repeat(rows, weight.astype(int), axis=0)
    once = Gaussian.fit(rows, weight, SPREAD, tol=1e-13)
    same(once, Gaussian.fit(repeated, np.ones(len(repeated)), SPREAD, tol=1e-13), rtol=0, atol=1e-11)


def test_a_row_without_observed_entries_changes_nothing(rows):
    more = np.vstack([rows, np.full((5, 3), np.nan)])
    with_them = Gaussian.fit(more, np.ones(65), SPREAD, tol=1e-13)
    same(with_them, Gaussian.fit(rows, np.ones(60), SPREAD, tol=1e-13), rtol=0, atol=1e-11)


def test_it_is_deterministic(rows, weight):
    same(Gaussian.fit(rows, weight, SPREAD), Gaussian.fit(rows.copy(), weight, SPREAD), rtol=0)


def test_it_leaves_its_rows_as_they_are(rows):
    before = rows.copy()
    Gaussian.fit(rows, np.ones(60), SPREAD).completed(rows)
    np.testing.assert_array_equal(rows, before)


def test_the_order_of_rows_is_nothing(rows, weight):
    order = np.random.default_rng(3).permutation(60)
    turned = Gaussian.fit(rows[order], weight[order], SPREAD)
    same(turned, Gaussian.fit(rows, weight, SPREAD), rtol=0, atol=1e-12)


def test_the_order_of_columns_is_nothing(rows, weight):
    order = [2, 0, 1]
    found, turned = (
        Gaussian.fit(rows, weight, SPREAD),
        Gaussian.fit(rows[:, order], weight, SPREAD[order]),
    )
    same(turned, Gaussian(found.mean[order], found.covariance[np.ix_(order, order)]), rtol=0, atol=1e-12)


@pytest.mark.parametrize("unit", [[1.0, 100.0, 0.1], [1e-8, 1.0, 1e8], [1e-150, 1e150, 1.0]])
def test_units_are_those_of_the_rows(rows, weight, unit):
    unit = np.array(unit)
    shift = unit * [3.0, -1.0, 10.0]
    found = Gaussian.fit(rows, weight, SPREAD)
    moved = Gaussian.fit(rows * unit + shift, weight, SPREAD * unit)
    np.testing.assert_allclose((moved.mean - shift) / unit, found.mean, rtol=0, atol=1e-12)
    np.testing.assert_allclose(moved.covariance / unit[:, None] / unit, found.covariance, rtol=0, atol=1e-12)


def test_a_column_far_from_zero_keeps_its_digits(rows, weight):
    shift = np.array([0.0, 1e6, 0.0])
    found, moved = (Gaussian.fit(X, weight, SPREAD) for X in (rows, rows + shift))
    np.testing.assert_allclose(moved.covariance, found.covariance, rtol=0, atol=1e-10)


@pytest.mark.slow
@pytest.mark.parametrize("ridge", [0.1, 1.0])
def test_few_rows_of_many_columns_stay_as_regular_as_the_prior(ridge):
    X = with_gaps(np.random.default_rng(4).normal(size=(4, 12)), 0.4, 5)
    X[0] = np.where(np.isnan(X).all(axis=0), 0.0, X[0])
    spread = np.linspace(0.5, 2.0, 12)
    found = Gaussian.fit(X, np.ones(4), spread, ridge, tol=1e-4)
    lowest = np.linalg.eigvalsh(found.covariance - ridge / (4 + ridge) * np.diag(spread**2))[0]
    assert lowest > -1e-12
    np.linalg.cholesky(found.covariance)


def test_a_single_row_shares_its_covariance_with_the_prior():
    found = Gaussian.fit(np.array([[2.0, -1.0, 4.0]]), np.ones(1), SPREAD)
    same(found, Gaussian(np.array([2.0, -1.0, 4.0]), np.diag(SPREAD**2) / 2), rtol=1e-14)


def test_equal_columns_are_one_column_seen_twice(whole):
    X = np.column_stack([whole[:, :2], whole[:, 1]])
    X[:20, 2] = np.nan
    found = Gaussian.fit(X, np.ones(60), np.ones(3), 1e-6, max_iter=100_000)
    np.testing.assert_allclose(found.completed(X)[:20, 2], X[:20, 1], rtol=0, atol=1e-6)


def test_many_columns_are_completed_in_parts():
    """With 200 columns a part has 104 rows."""
    rng = np.random.default_rng(3)
    found = Gaussian(np.zeros(200), np.eye(200) + 0.1)
    X = rng.normal(size=(210, 200))
    X[::2, :20] = np.nan
    X[1::2, 10:40] = np.nan
    assert [len(means) for _, means, _ in found.conditionals(X)] == [104, 104, 2]
    in_parts = [found.completed(X[i : i + 1])[0] for i in (0, 103, 104, 209)]
    np.testing.assert_allclose(found.completed(X)[[0, 103, 104, 209]], in_parts, rtol=0, atol=1e-12)
    density = found.log_density(X)
    assert density.shape == (210,)
    np.testing.assert_allclose(density[[0, 209]], found.log_density(X[[0, 209]]), rtol=1e-12)


def test_too_few_steps_are_warned_of(rows):
    with pytest.warns(ConvergenceWarning, match=r"did not converge in 3 steps: .* Increase ridge"):
        Gaussian.fit(rows, np.ones(60), SPREAD, max_iter=3)


def test_enough_steps_are_not(rows):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Gaussian.fit(rows, np.ones(60), SPREAD)
