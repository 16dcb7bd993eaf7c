"""Verdicts on requirements: proven by cells, or at sampled points."""

from types import SimpleNamespace

import numpy as np
import pytest

from priorsvm import RBF, Box, PriorSVC
from priorsvm.errors import InvalidInput
from priorsvm.function.fitted import FittedKernel
from priorsvm.knowledge.regions.requirement import CHECK, Requirement
from priorsvm.knowledge.regions.sets import BoxSet
from priorsvm.knowledge.regions.verdict import verdict_on

GAMMA = 0.6
SQUARE = {0: (-1.0, -0.3), 1: (-0.2, 0.6)}


@pytest.mark.slow
@pytest.mark.parametrize("mu", [1e-3, 1.0])
def test_verify_proves_the_least_value(plane, square, shape, mu):
    X, y = plane
    model = PriorSVC(shape.block(1, mu=mu), kernel=RBF(GAMMA)).fit(X, y)
    verdict = model.verify()[shape.block_name]
    Z = shape.points(1001)
    values = model.decision_function(Z) - 1
    assert verdict.proven
    assert not verdict.holds
    assert verdict.worst == pytest.approx(values.min(), abs=2e-4)
    assert model.decision_function(verdict.where[None])[0] - 1 == pytest.approx(verdict.worst, abs=1e-6)
    assert np.linalg.norm(Z - verdict.where, axis=1).min() < 0.01
    assert verdict.violated > 0


def test_a_proof_that_may_take_no_cells_is_sampled(plane, square, capsys):
    X, y = plane
    model = PriorSVC(Box({0: (0, 1), 1: (0, 1)}, 1, hard=True), kernel=RBF(1.0)).fit(X, y)
    assert model.verify()["box"].proven
    few = model.verify(max_cells=3)["box"]
    assert (few.proven, few.holds) == (False, True)
    assert capsys.readouterr().err == ""
    model.set_params(verbose=1).verify(max_cells=100_000)
    shown = capsys.readouterr().err
    assert "blocks verified" in shown
    assert "cells of 'box'" in shown
    for wrong in (-1, 0.5, "all", None):
        with pytest.raises(InvalidInput, match="max_cells must be a whole number"):
            model.verify(max_cells=wrong)


def test_verify_of_a_hard_region_is_proven(plane, square):
    X, y = plane
    model = PriorSVC(Box(SQUARE, 1, hard=True), kernel=RBF(GAMMA)).fit(X, y)
    verdict = model.verify()["box"]
    assert (verdict.holds, verdict.proven) == (True, True)
    assert -2e-4 <= verdict.worst <= model.decision_function(square.points()).min() - 1 + 2e-4
    assert "proven" in str(model.verify())


@pytest.mark.parametrize("d", [5, 6])
def test_verify_beyond_four_columns_is_sampled(d):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, d))
    y = (X[:, 0] > 0).astype(int)
    model = PriorSVC(Box(dict.fromkeys(range(d), (-0.5, 0.5)), 1, hard=True), kernel=RBF(0.1)).fit(X, y)
    verdict = model.verify()["box"]
    assert not verdict.proven
    assert verdict.holds
    assert "sampled" in str(model.verify())
    Z = rng.uniform(-0.5, 0.5, size=(100_000, d))
    assert model.decision_function(Z).min() > 1 - 2e-4
    soft = PriorSVC(
        Box(dict.fromkeys(range(d), (-0.5, 0.5)), 1, mu=1e-3, holds="everywhere"), kernel=RBF(0.1)
    ).fit(X, y)
    verdict = soft.verify()["box"]
    assert (verdict.holds, verdict.proven) == (False, False)
    assert verdict.worst <= soft.decision_function(Z).min() - 1 + 1e-3


@pytest.mark.parametrize(
    ("n", "gamma", "seed", "searches"),
    [(200, 0.3, 0, [1, CHECK]), (800, 0.3, 1, [1, CHECK]), (800, 0.1, 1, [CHECK])],
)
def test_verify_finds_narrow_minima_that_a_loose_search_misses(n, gamma, seed, searches):
    """In the last case only the search with the seed of the warning NotKept finds it."""
    d = 12
    rng = np.random.default_rng(seed)
    cube = BoxSet(-np.ones(d), np.ones(d))
    f = FittedKernel(0.0, RBF(gamma), rng.uniform(-1, 1, (n, d)), np.abs(rng.normal(size=n)), None)
    least = Requirement(cube, 1.0, 0.0)
    known = cube.points(8)
    seen = np.vstack([known, cube.points(4096, 1), least.lowest(f, known, 1, 64)])
    loose = least.excess(f, seen).min()
    found = {s: least.excess(f, least.lowest_strictly(f, known, s)).min() for s in (1, CHECK)}
    assert [s for s in found if found[s] < loose - 0.05] == searches
    h = loose - 0.02
    sample = SimpleNamespace(seed=0, weighted_rows=lambda: (known, None))
    view = SimpleNamespace(sample=sample, tol=1e-6, max_cells=1000, verbose=0, name="box")
    verdict = verdict_on(f, Requirement(cube, 1.0, h), known, "f >= h", 1e-4, 4, view)
    assert (verdict.holds, verdict.proven) == (False, False)
    assert verdict.worst == pytest.approx(min(found.values()) - h)
    assert f.value(verdict.where[None])[0] - h == pytest.approx(verdict.worst)
