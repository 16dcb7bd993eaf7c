"""The conditions by which the campaign judges solutions, and a slice of it."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from priorsvm.schur.cones import cones_from_dims
from priorsvm.schur.definitions import Dims
from priorsvm.schur.interface import solve

campaign = pytest.importorskip("benchmarks.campaign")


@pytest.mark.parametrize("seed", range(8))
def test_conditions_of_optimality_detect_changed_solutions(seed, programme):
    """Both solvers' answers meet them; none does whose x, z, or sign of a multiplier is changed."""
    data = programme(seed)
    dims = data[-1]
    ours = solve(*data)
    theirs = campaign.by_clarabel(*data)
    assert campaign.optimality(ours, *data) < 1e-7
    assert campaign.optimality(theirs, *data) < 1e-7
    rng = np.random.default_rng(seed)
    for part in ("x", "z"):
        moved = getattr(ours, part) + 1e-3 * rng.normal(size=len(getattr(ours, part)))
        assert campaign.optimality(replace(ours, **{part: moved}), *data) > 1e-6
    # Cone by cone: a point on the other side of its boundary is outside, by what it lacks.
    cones, order = cones_from_dims(dims.nonneg, dims.soc, dims.psd)
    v = np.zeros(len(order))
    v[order] = cones.identity()
    v = np.concatenate([np.zeros(dims.zero), v])
    one = np.ones(len(v))
    assert campaign.outside(v, one, dims, equations=True) == 0
    assert campaign.outside(-v, one, dims) == pytest.approx(1.0)
    for first in (dims.zero, dims.zero + dims.nonneg):
        moved = v.copy()
        moved[first] -= 1.5
        assert campaign.outside(moved, one, dims) == pytest.approx(0.5)
    assert campaign.outside(v + 2.0 * (np.arange(len(v)) == 0), one, dims, equations=True) == pytest.approx(
        2.0
    )


def test_changed_certificates_are_detected():
    A = sparse.csc_array([[-1.0], [1.0]])
    b = np.array([-1.0, 0.0])  # x ≥ 1 and x ≤ 0
    dims = Dims(zero=0, nonneg=2, soc=[], psd=[])
    data = sparse.csc_array((1, 1)), np.ones(1), A, b, dims
    answer = solve(*data)
    assert campaign.proof(answer, *data) < 1e-8
    for z in ([1.0, 0.0], [-1.0, -1.0], [0.0, 1.0], [2.0, 1.0]):
        assert campaign.proof(replace(answer, z=np.array(z)), *data) > 0.1


@pytest.mark.slow
def test_a_slice_of_the_campaign():
    outcomes = {row["outcome"]: row["count"] for row in campaign.campaign(quick=True)}
    assert sum(outcomes.values()) == campaign.QUICK
    assert not any("WRONG" in kind for kind in outcomes)
    assert sum(count for kind, count in outcomes.items() if "did not converge" in kind) <= 1
