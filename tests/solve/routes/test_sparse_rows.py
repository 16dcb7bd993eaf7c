"""Newton's method on the dual of models with sparse rows."""

import os

import numpy as np
import pytest
from scipy.sparse import csr_array, random_array, vstack

from priorsvm import ClassCosts, OddnessHint, PriorSVC, SampleCosts
from priorsvm.errors import InvalidInput, SolverFailed, SolverUnsuited, TooLarge
from priorsvm.solve import auto
from priorsvm.solve.methods import dual_newton
from priorsvm.solve.routes.band import Band


def texts(n=320, d=400, words=12, seed=0):
    "Rows of word counts of length one, a tenth of the labels wrong."
    rng = np.random.default_rng(seed)
    X = csr_array(random_array((n, d), density=words / d, rng=rng, format="csr"))
    X.data = rng.poisson(1, X.nnz) + 1.0
    X = csr_array(X.multiply(1.0 / np.sqrt(X.multiply(X).sum(axis=1) + 1e-300)[:, None]))
    score = X @ rng.normal(size=d) + 0.2
    return X, np.where((score > 0) ^ (rng.random(n) < 0.1), 1, 0)


PRIORS = {
    "plain": None,
    "costs": ClassCosts({1: 3.0}) + SampleCosts(np.linspace(0.0, 2.0, 320)),
    "margins": SampleCosts(margins=np.linspace(0.5, 1.5, 320)),
}


@pytest.mark.slow
@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("C", [0.1, 1.0, 100.0])
def test_the_answer_is_that_of_the_interior_point(prior, loss, C):
    X, y = texts()
    # From LIBLINEAR's margins of 1 steps do not always lead to others.
    solver = "auto" if (prior, loss) == ("margins", "hinge") else "SPARSE"
    found, other = (PriorSVC(PRIORS[prior], C=C, loss=loss, solver=s).fit(X, y) for s in (solver, "NORMAL"))
    assert found.report_.solves[0]["residuals"].worst < 1e-8
    assert found.objective_ == pytest.approx(other.objective_, rel=1e-8)
    np.testing.assert_allclose(found.coef_, other.coef_, atol=1e-5 * np.abs(other.coef_).max())


def test_so_small_a_C_that_the_bias_does_most():
    X, y = texts()
    found, other = (PriorSVC(C=1e-5, solver=s).fit(X, y) for s in ("SPARSE", "LIBSVM"))
    assert found.objective_ == pytest.approx(other.objective_, rel=1e-10)
    np.testing.assert_allclose(found.coef_, other.coef_, atol=1e-8 * np.abs(other.coef_).max())
    # With margins of their own only one row is free, and steps from all that are near do not find it.
    uneven = [PriorSVC(PRIORS["margins"], C=1e-5, solver=s).fit(X, y) for s in ("auto", "NORMAL")]
    assert uneven[0].solver_ == "BAND"
    assert uneven[0].objective_ == pytest.approx(uneven[1].objective_, rel=1e-9)


def test_auto_takes_it_where_columns_are_many():
    X, y = texts()
    model = PriorSVC().fit(X, y)
    assert model.solver_ == "BAND"
    assert PriorSVC(loss="squared_hinge").fit(X, y).solver_ == "SPARSE"
    assert PriorSVC(solver="LIBSVM").fit(X, y).objective_ == pytest.approx(model.objective_, rel=1e-8)
    assert PriorSVC().fit(X[:300], y[:300]).solver_ == "LIBSVM"
    assert PriorSVC().fit(X[:, :200], y).solver_ == "NORMAL"
    assert PriorSVC().fit(X.toarray(), y).solver_ == "LIBSVM"
    few = csr_array(X[:, :200].toarray())
    assert PriorSVC().fit(csr_array(vstack([few, few])), np.append(y, y)).solver_ == "NORMAL"


def test_equal_and_empty_rows_share_what_they_hold():
    X, y = texts()
    twice = csr_array(vstack([X, X[:50], 0.0 * X[:3]]))
    labels = np.concatenate([y, y[:50], [0, 1, 1]])
    fits = [PriorSVC(C=5.0, solver=s).fit(twice, labels) for s in ("SPARSE", "NORMAL")]
    assert fits[0].objective_ == pytest.approx(fits[1].objective_, rel=1e-8)


def test_where_steps_lead_astray_the_next_route_is_taken(monkeypatch):
    X, y = texts()
    monkeypatch.setattr(dual_newton, "STEPS", 1)
    monkeypatch.setattr(auto, "FEW_NEAR", Band(most=1))
    assert PriorSVC().fit(X, y).solver_ == "LIBSVM"
    with pytest.raises(SolverFailed, match="SPARSE: Newton's steps do not converge"):
        PriorSVC(solver="SPARSE").fit(X, y)


@pytest.mark.parametrize("C", [1e-3, 100.0])
def test_more_rows_than_columns_lead_astray_at_any_c(C):
    rng = np.random.default_rng(0)
    X = csr_array(rng.uniform(size=(400, 20)) * (rng.uniform(size=(400, 20)) < 0.2))
    y = X @ rng.normal(size=20) + 0.3 * rng.normal(size=400) > 0
    with pytest.raises(SolverFailed, match=r"more rows than features\. Use solver='auto'\.$"):
        PriorSVC(C=C, solver="SPARSE").fit(X, y)


def test_an_f_worse_than_none_ends_the_search(monkeypatch):
    X, y = texts()
    monkeypatch.setattr(dual_newton, "GRADIENTS", 1)
    monkeypatch.setattr(dual_newton, "_loss", lambda short, *_: float(np.abs(short).sum()))
    steps = []
    system = dual_newton._System
    monkeypatch.setattr(dual_newton, "_System", lambda *parts: steps.append(1) or system(*parts))
    with pytest.raises(SolverFailed, match="do not converge"):
        PriorSVC(solver="SPARSE", C=1e6).fit(X, y)
    assert len(steps) < dual_newton.STEPS


def test_products_that_memory_cannot_hold_are_refused_with_a_way_out(monkeypatch):
    X, y = texts()
    monkeypatch.setattr(os, "sysconf", lambda name: {"SC_PAGE_SIZE": 4096, "SC_PHYS_PAGES": 10}[name])
    monkeypatch.setattr(auto, "FEW_NEAR", Band(most=1))
    assert PriorSVC().fit(X, y).solver_ == "SPARSE"
    monkeypatch.setattr(dual_newton, "STEPS", 1)
    with pytest.raises(TooLarge, match="a smaller C, for which SPARSE does without it"):
        PriorSVC().fit(X, y)


@pytest.mark.parametrize(
    ("prior", "parameters", "reason"),
    [
        (OddnessHint(), {}, "block 'oddness_hint' does more than add or reweight rows"),
        (None, {"norm": "l1"}, "not norm='l1'"),
        (None, {"kernel": "rbf"}, "sparse rows of a linear model only"),
        (None, {}, "sparse rows of a linear model only"),
    ],
)
def test_refusals_say_why(prior, parameters, reason):
    X, y = texts(60, 20)
    with pytest.raises(SolverUnsuited, match=f"SPARSE cannot solve this problem: .*{reason}"):
        PriorSVC(prior, solver="SPARSE", **parameters).fit(X.toarray(), y)


def test_options_are_refused():
    with pytest.raises(InvalidInput, match="SPARSE takes no solver_options, got max_iter"):
        PriorSVC(solver="SPARSE", solver_options={"max_iter": 3}).fit(*texts(60, 20))


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_rows_of_zeros_go_the_next_way_without_a_word():
    y = np.arange(320) % 3 == 0
    found = PriorSVC().fit(csr_array((320, 400)), y)
    assert (found.solver_, found.status_) == ("LIBSVM", "optimal")
    assert found.objective_ == pytest.approx(2.0 * y.sum())
