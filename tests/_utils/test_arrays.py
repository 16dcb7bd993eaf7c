"""Distinct rows, which an interrupt leaves as an interrupt."""

import ast
import signal
import sys
from pathlib import Path

import numpy as np
import pytest

import priorsvm
from priorsvm._utils.arrays import column_means, distinct_rows


@pytest.mark.parametrize("shape", [(0, 3), (1, 1), (40, 1), (60, 2), (200, 4)])
@pytest.mark.parametrize("kind", ["numbers", "whole", "truth"])
def test_distinct_rows_are_those_of_numpy(shape, kind, rng):
    rows = rng.integers(-2, 3, shape)
    if kind != "whole":
        rows = rows > 0 if kind == "truth" else rows / 3.0
    expected = np.unique(rows, axis=0, return_index=True, return_inverse=True)
    for found, values in zip(distinct_rows(rows), expected, strict=True):
        np.testing.assert_array_equal(found, values.reshape(found.shape))


def test_means_of_columns_are_those_of_numpy(rng):
    rows = 1e6 + rng.normal(size=(300, 4))
    np.testing.assert_allclose(column_means(rows), rows.mean(axis=0), rtol=1e-14)
    np.testing.assert_allclose(column_means(rows[::7, ::2]), rows[::7, ::2].mean(axis=0), rtol=1e-14)


def test_rows_without_columns_are_equal():
    found, first, place = distinct_rows(np.empty((3, 0)))
    assert found.shape == (1, 0)
    assert (first.tolist(), place.tolist()) == ([0], [0, 0, 0])


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="the system has no timers")
def test_an_interrupt_stays_an_interrupt(rng):
    """NumPy's comparison of structured arrays replaces an interrupt by a TypeError."""
    coverage = sys.modules.get("coverage")
    if coverage is not None and coverage.Coverage.current() is not None:
        pytest.skip("an interrupt inside coverage leaves its lock locked, and the process hangs")

    def stop(*_):
        raise KeyboardInterrupt

    rows = rng.normal(size=(16, 4))
    before = signal.signal(signal.SIGALRM, stop)
    try:
        for _ in range(200):
            with pytest.raises(KeyboardInterrupt):  # noqa: PT012
                signal.setitimer(signal.ITIMER_REAL, float(rng.uniform(1e-5, 2e-4)))
                while True:
                    distinct_rows(rows)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


def test_the_library_compares_no_structured_arrays():
    for path in Path(priorsvm.__file__).parent.rglob("*.py"):
        for call in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(call, ast.Call) and ast.unparse(call.func) == "np.unique":
                words = {keyword.arg for keyword in call.keywords}
                assert "axis" not in words, f"{path.name}, line {call.lineno}: use distinct_rows"
