"""The band method on arrays: sums, bounds and passes in chunks."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from priorsvm.function.fitted import FittedLinear
from priorsvm.solve.methods.chunks import ArrayChunks, crossed, divide, drawn
from priorsvm.solve.methods.loss_rows import LossRows, Sums, distinct, stacked


def some_rows(rng, n=300, d=3):
    X = rng.normal(size=(n, d))
    y = np.where(X[:, 0] + rng.normal(size=n) > 0, 1.0, -1.0)
    bound = rng.exponential(size=n) * (rng.random(n) > 0.1)  # some rows are left out
    return LossRows(X, y, bound, rng.uniform(0.5, 1.5, size=n))


def some_function(rng, d=3):
    return FittedLinear(float(rng.normal()), rng.normal(size=d))


def in_chunks(rows, size=70):
    return ArrayChunks(rows.X, rows.y, rows.bound, rows.margin, size)


def loss(rows, f):
    return float(rows.bound @ np.maximum(rows.excess(f), 0.0))


def gradient(rows, f):
    over = np.where(rows.excess(f) > 0, -rows.bound * rows.y, 0.0)
    return np.append(over @ rows.X, over.sum())


def test_the_loss_of_a_band_is_never_above_the_loss_of_all_rows():
    for seed in range(200):
        rng = np.random.default_rng(seed)
        rows = some_rows(rng)
        band = divide(in_chunks(rows), some_function(rng), float(rng.exponential()))
        for _ in range(5):
            f = some_function(rng)
            true = loss(rows, f)
            found = crossed(in_chunks(rows), band, f)
            assert loss(band.rows, f) <= true * (1 + 1e-12)
            assert true <= loss(band.rows, f) + found.lost + 1e-12 * true
            assert found.loss == pytest.approx(true, rel=1e-12)


def test_the_losses_are_equal_if_no_row_changes_side(rng):
    rows = some_rows(rng)
    f = some_function(rng)
    band = divide(in_chunks(rows), f, 0.4)
    near = FittedLinear(f.bias + 0.01, f.coef + 0.01)
    found = crossed(in_chunks(rows), band, near)
    assert len(found.index) == 0
    assert len(band.near) < len(rows)
    assert loss(band.rows, near) == pytest.approx(loss(rows, near), rel=1e-12)


def test_rows_that_changed_side_join_the_band_once(rng):
    rows = some_rows(rng)
    f = some_function(rng)
    other = some_function(rng)
    band = divide(in_chunks(rows), f, 0.2)
    found = crossed(in_chunks(rows), band, other)
    assert len(found.index) > 0
    joined = band.joined(found)
    assert np.all(np.diff(joined.index) > 0)
    assert_allclose(joined.near.X, rows.X[joined.index])
    assert loss(joined.rows, other) == pytest.approx(loss(rows, other), rel=1e-12)
    assert len(crossed(in_chunks(rows), joined, other).index) == 0


def test_chunks_do_not_change_the_passes(rng):
    rows = some_rows(rng)
    f = some_function(rng)
    everything = np.ones(2)
    first = divide(in_chunks(rows, 1000), f, 0.3, everything)
    for size in (1, 7, 300):
        band = divide(in_chunks(rows, size), f, 0.3, everything)
        assert np.array_equal(band.index, first.index)
        assert_allclose(band.far.X, first.far.X, rtol=1e-12)
        assert_allclose(band.inside.bound, first.inside.bound, rtol=1e-12)


def test_chunks_of_one_class(rng):
    rows = some_rows(rng)
    rows = rows[np.argsort(rows.y, kind="stable")]
    f = some_function(rng)
    band = divide(in_chunks(rows, 20), f, 0.3)
    assert loss(band.rows, f) == pytest.approx(loss(rows, f), rel=1e-12)


def test_chunks_of_single_precision_are_summed_in_double(rng):
    rows = some_rows(rng)
    single = rows.X.astype(np.float32)
    f = some_function(rng)
    chunks = ArrayChunks(single, rows.y, rows.bound, rows.margin, 50)
    assert all(chunks.map(lambda number, start, chunk: chunk.X.dtype == np.float64))
    known = divide(in_chunks(LossRows(single.astype(float), rows.y, rows.bound, rows.margin)), f, 0.3)
    assert_allclose(divide(chunks, f, 0.3).far.X, known.far.X, rtol=1e-12)


def test_drawn_rows_have_the_cost_and_the_number_of_all_rows_of_their_class(rng):
    rows = some_rows(rng)
    sample = drawn(in_chunks(rows), 50, seed=3)
    assert len(sample.rows) == 50
    for sign in (-1.0, 1.0):
        of_class = (rows.y == sign) & (rows.bound > 0)
        assert sample.rows.bound[sample.rows.y == sign].sum() == pytest.approx(rows.bound[of_class].sum())
        assert sample.count[sample.rows.y == sign].sum() == pytest.approx(of_class.sum())
    assert_allclose(
        sample.numbers(some_function(rng), np.inf),
        [np.sum((rows.y == s) & (rows.bound > 0)) for s in (-1, 1)],
    )


def test_half_of_the_drawn_rows_have_the_cost_of_all_rows_of_their_class(rng):
    rows = some_rows(rng)
    sample = drawn(in_chunks(rows), 51, seed=3)
    half = sample.half()
    assert len(half) in (26, 27)
    for sign in (-1.0, 1.0):
        of_class = (rows.y == sign) & (rows.bound > 0)
        assert half.bound[half.y == sign].sum() == pytest.approx(rows.bound[of_class].sum())


def test_a_small_class_is_drawn_whole(rng):
    rows = some_rows(rng)
    rows.y[:] = -1.0
    rows.y[:4] = 1.0
    rows.bound[:4] = 2.0
    sample = drawn(in_chunks(rows), 50, seed=0)
    assert np.sum(sample.rows.y > 0) == 4


def test_the_loss_of_a_linear_term_has_its_gradient(rng):
    sums = Sums(rng.normal(size=2), rng.normal(size=2), rng.normal(size=(2, 3)))
    term = sums.linear_term(rng.normal(size=3), rng.uniform(0.5, 2.0, size=3))
    assert np.all(term.bound > 0)
    known = np.append(sums.X[0] - sums.X[1], sums.bound[0] - sums.bound[1])
    for _ in range(5):
        assert_allclose(gradient(term, some_function(rng)), known, atol=1e-12)


def test_a_thinned_band_has_the_gradient_of_all_rows(rng):
    rows = some_rows(rng, 2000)
    f = some_function(rng)
    band = divide(in_chunks(rows), f, 0.8, np.array([0.2, 0.3]), seed=1)
    assert len(band.near) < 0.5 * np.sum(np.abs(rows.excess(f)) <= 0.8)
    assert_allclose(gradient(band.corrected(), f), gradient(rows, f), rtol=1e-9)


def test_stacked_rows_keep_their_order(rng):
    rows = some_rows(rng)
    both = stacked([rows[:10], rows[10:]])
    assert_allclose(both.X, rows.X)
    assert_allclose(both.margin, rows.margin)


def test_equal_rows_are_merged_with_the_sum_of_their_costs():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, size=(200, 2)).astype(float)
    rows = LossRows(X, np.where(rng.random(200) < 0.5, 1.0, -1.0), rng.random(200), np.ones(200))
    merged, place = distinct(rows)
    assert len(merged) == 8
    np.testing.assert_array_equal(merged.X[place], rows.X)
    np.testing.assert_array_equal(merged.y[place], rows.y)
    assert merged.bound.sum() == pytest.approx(rows.bound.sum())


def test_distinct_rows_are_not_merged():
    rows = LossRows(np.random.default_rng(0).normal(size=(50, 2)), np.ones(50), np.ones(50), np.ones(50))
    assert distinct(rows) is None
