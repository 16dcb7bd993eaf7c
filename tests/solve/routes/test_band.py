"""Newton's method on the rows near the margin."""

import numpy as np
import pytest
from scipy.sparse import csr_array, random_array

from priorsvm import ClassCosts, OddnessHint, PriorSVC, SampleCosts, VirtualSamples
from priorsvm.errors import SolverFailed, SolverUnsuited
from priorsvm.solve import auto
from priorsvm.solve.methods import band
from priorsvm.solve.routes.band import Band
from priorsvm.transforms.vectors import Shift

N = 400
D = 220


def rows(seed=0, noise=0.5, n=N, d=D):
    "Rows whose features are correlated, with wrong labels."
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) @ (np.eye(d) + 0.5 * rng.normal(size=(d, d)) / np.sqrt(d)) + 0.7
    score = X @ rng.normal(size=d) / np.sqrt(d)
    return X, np.where(score + noise * rng.normal(size=n) > 0.6, 1, 0)


PRIORS = {
    "plain": None,
    "costs": ClassCosts({1: 3.0}) + SampleCosts(np.linspace(0.0, 2.0, N)),
    "margins": SampleCosts(margins=np.linspace(0.5, 1.5, N)),
    "added": VirtualSamples(Shift(np.eye(D)[0])),
}


@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("C", [1e-3, 1.0, 100.0])
@pytest.mark.parametrize("sparse", [False, True])
def test_the_answer_is_that_of_the_interior_point(prior, C, sparse):
    if sparse and prior == "added":
        pytest.skip("VirtualSamples takes dense rows")
    X, y = rows()
    if sparse:
        X = np.where(np.abs(X) > 2.0, X, 0.0)
        X = csr_array(X)
    found, other = (PriorSVC(PRIORS[prior], C=C, solver=s).fit(X, y) for s in ("BAND", "NORMAL"))
    assert found.report_.solves[0]["residuals"].worst < 1e-9
    assert found.objective_ == pytest.approx(other.objective_, rel=1e-9)
    np.testing.assert_allclose(found.coef_, other.coef_, atol=1e-6 * np.abs(other.coef_).max())
    np.testing.assert_allclose(found.intercept_, other.intercept_, atol=1e-5)


def test_the_answer_is_that_of_clarabel():
    X, y = rows(n=320)
    found, other = (PriorSVC(solver=s).fit(X, y) for s in ("auto", "CLARABEL"))
    assert found.solver_ == "BAND"
    assert found.objective_ == pytest.approx(other.objective_, rel=1e-7)


def test_equal_rows_and_rows_far_from_the_origin():
    X, y = rows()
    twice = np.vstack([X, X[:100], X[:100]]) + 1e6
    labels = np.concatenate([y, y[:100], y[:100]])
    found, other = (PriorSVC(C=0.1, solver=s).fit(twice, labels) for s in ("BAND", "NORMAL"))
    # The bias is rounded at 1e-10 here, and 265 rows lie on the margin.
    assert found.objective_ == pytest.approx(other.objective_, rel=1e-8)
    near = PriorSVC(C=0.1, solver="BAND").fit(twice - 1e6, labels)
    assert near.objective_ == pytest.approx(found.objective_, rel=1e-8)


def test_sparse_rows_with_many_entries_are_solved_as_dense_rows():
    X, y = rows()
    X = np.where(np.abs(X) > 1.0, X, 0.0)
    dense = PriorSVC(solver="NORMAL").fit(X, y)
    for solver in ("BAND", "NORMAL"):
        sparse = PriorSVC(solver=solver).fit(csr_array(X), y)
        assert sparse.objective_ == pytest.approx(dense.objective_, rel=1e-9)
    few = csr_array(random_array((400, 500), density=0.2, rng=0, format="csr"))
    labels = few @ np.random.default_rng(0).normal(size=500) > 0
    fits = [PriorSVC(solver=s).fit(few, labels) for s in ("SPARSE", "BAND")]
    assert fits[0].objective_ == pytest.approx(fits[1].objective_, rel=1e-8)
    assert fits[0].intercept_ == pytest.approx(fits[1].intercept_, abs=1e-5)


def test_classes_that_one_feature_separates():
    X, y = rows(noise=0.0)
    X[:, 0] = 10.0 * (2 * y - 1)
    found, other = (PriorSVC(C=1.0, solver=s).fit(X, y) for s in ("BAND", "LIBSVM"))
    assert found.objective_ == pytest.approx(other.objective_, rel=1e-8)


def test_rows_that_are_all_at_their_bounds():
    X, y = rows()
    y = np.arange(N) % 2
    found, other = (PriorSVC(C=1e-9, solver=s).fit(X, y) for s in ("BAND", "NORMAL"))
    assert found.objective_ == pytest.approx(other.objective_, rel=1e-9)


def test_a_slowly_growing_sigma_takes_few_steps():
    X, y = rows()
    found = PriorSVC(C=100.0, solver="BAND").fit(X, y)
    assert found.report_.solves[0]["iterations"] <= 85  # 100 if sigma grows eightfold


def test_without_an_active_set_the_steps_reach_the_answer(monkeypatch):
    monkeypatch.setattr(band, "polish", lambda *arguments: None)
    X, y = rows()
    found, other = (PriorSVC(C=0.1, solver=s).fit(X, y) for s in ("BAND", "NORMAL"))
    assert found.objective_ == pytest.approx(other.objective_, rel=1e-9)


def test_another_route_follows_if_steps_do_not_suffice(monkeypatch):
    monkeypatch.setattr(band, "LIMIT", 1)
    X, y = rows()
    assert PriorSVC().fit(X, y).solver_ == "NORMAL"
    with pytest.raises(
        SolverFailed, match=r"BAND: the duality gap is .* after \d+ steps\. Use solver='auto'"
    ):
        PriorSVC(solver="BAND").fit(X, y)
    with pytest.raises(SolverFailed, match="BAND: all rows are zero"):
        PriorSVC(solver="BAND").fit(np.zeros_like(X), y)


def test_many_sparse_rows_near_the_margin_are_left_to_sparse(monkeypatch):
    X = csr_array(random_array((400, 900), density=0.02, rng=0, format="csr"))
    y = X @ np.random.default_rng(0).normal(size=900) > 0
    monkeypatch.setattr(auto, "FEW_NEAR", Band(most=20))
    found = PriorSVC().fit(X, y)
    assert found.solver_ == "SPARSE"
    assert PriorSVC(solver="BAND").fit(X, y).objective_ == pytest.approx(found.objective_, rel=1e-8)


@pytest.mark.parametrize(
    ("prior", "parameters", "reason"),
    [
        (OddnessHint(), {}, "block 'oddness_hint' does more than add or reweight rows"),
        (None, {"norm": "l1"}, "not norm='l1'"),
        (None, {"kernel": "rbf"}, "it takes linear models only"),
        (None, {"loss": "squared_hinge"}, "not loss='squared_hinge'"),
        (None, {"C": np.inf}, "it requires a finite C"),
    ],
)
def test_refusals_state_the_reason(prior, parameters, reason):
    X, y = rows(n=60, d=10)
    with pytest.raises(SolverUnsuited, match=f"BAND cannot solve this problem: .*{reason}"):
        PriorSVC(prior, solver="BAND", **parameters).fit(X, y)
