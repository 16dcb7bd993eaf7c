"""The route of the 1-norm model, against HiGHS through CVXPY on the same model."""

import warnings
from dataclasses import replace

import numpy as np
import pytest

from priorsvm import (
    RBF,
    Box,
    ClassCosts,
    NegativeDistance,
    Polynomial,
    PriorSVC,
    SampleCosts,
    Shift,
    UnlabeledSamples,
    VirtualSamples,
    VirtualSupportVectors,
)
from priorsvm.errors import InaccurateSolution, InvalidInput, SolverFailed, SolverUnsuited
from priorsvm.solve.routes import centres


def rows(seed=0, n=60, d=3, classes=2):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    values = X[:, 0] + 0.3 * rng.normal(size=n)
    return X, np.digitize(values, np.quantile(values, np.arange(1, classes) / classes))


def both(prior=None, X=None, y=None, weight=None, **settings):
    fits = [PriorSVC(prior, norm="l1", solver=s, **settings) for s in ("CENTRES", "HIGHS")]
    return [model.fit(X, y, sample_weight=weight) for model in fits]


def assert_same(ours, theirs, X):
    np.testing.assert_allclose(ours.objective_, theirs.objective_, rtol=1e-9)
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-6)


SETTINGS = {
    "rbf": {"kernel": RBF(0.5)},
    "any kernel": {"kernel": NegativeDistance()},
    "indefinite": {"kernel": "sigmoid"},
    "polynomial": {"kernel": Polynomial(3, 0.3, 1.0)},
    "not symmetric": {"kernel": lambda A, B: np.exp(-((A[:, None] - 1.1 * B) ** 2).sum(axis=2))},
    "scaled": {"kernel": RBF(0.3), "scale": "minmax"},
    "some centres": {"kernel": RBF(0.5), "n_centres": 15},
    "linear": {},
    "linear, scaled": {"scale": "standard"},
}


@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS.keys())
def test_same_model_as_highs(settings):
    X, y = rows()
    ours, theirs = both(X=X, y=y, **{"C": 2.0, **settings})
    assert (ours.solver_, ours.status_) == ("CENTRES", "optimal")
    assert_same(ours, theirs, X)
    assert ours.support_.tolist() == theirs.support_.tolist()
    assert PriorSVC(norm="l1", **{"C": 2.0, **settings}).fit(X, y).solver_ == "CENTRES"


def test_small_and_very_large_C():
    X, y = rows(11)
    for C, kernel in ((1e-3, RBF(0.5)), (1e6, RBF(2.0))):
        ours, theirs = both(X=X, y=y, kernel=kernel, C=C)
        assert ours.status_ == "optimal"
        # With this C what HiGHS leaves of a slack is worth more than the ninth digit.
        assert ours.objective_ <= theirs.objective_ * (1 + 1e-9)
        assert ours.objective_ == pytest.approx(theirs.problem.value, rel=1e-6)


PRIORS = {
    "class costs": ClassCosts({1: 3.0}),
    "costs and margins": SampleCosts(np.linspace(0.0, 2.0, 60), np.linspace(0.5, 1.5, 60)),
    "extra rows": UnlabeledSamples([[1.0, 0.0, 0.0], [-2.0, 1.0, 0.0]], [1, 0], margins=0.5),
    "virtual rows": VirtualSamples(Shift([0.3, 0.0, 0.1])) + ClassCosts("balanced"),
    "two rounds": VirtualSupportVectors(Shift([0.3, 0.0, 0.1])),
}


@pytest.mark.parametrize("prior", PRIORS.values(), ids=PRIORS.keys())
@pytest.mark.parametrize("kernel", ["linear", RBF(0.5)], ids=["linear", "rbf"])
def test_blocks_that_add_or_reweight_rows(prior, kernel):
    X, y = rows(1)
    ours, theirs = both(prior, X, y, kernel=kernel)
    assert_same(ours, theirs, X)
    for mine, other in zip(ours.report_.rows, theirs.report_.rows, strict=True):
        assert (mine.block, mine.term) == (other.block, other.term)
        assert mine.contribution == pytest.approx(other.contribution, rel=1e-6, abs=1e-6)


def test_rows_of_no_weight_are_neither_rows_nor_centres():
    X, y = rows(2)
    weight = np.where(np.arange(60) % 3 == 0, 0.0, 1.0)
    ours, theirs = both(X=X, y=y, weight=weight, kernel=RBF(0.5))
    assert_same(ours, theirs, X)
    kept = PriorSVC(norm="l1", kernel=RBF(0.5)).fit(X[weight > 0], y[weight > 0])
    np.testing.assert_allclose(ours.decision_function(X), kept.decision_function(X), atol=1e-9)
    assert not set(ours.support_) & set(np.flatnonzero(weight == 0))


def test_repeated_rows():
    X, y = rows(3, n=20)
    X, y = np.tile(X, (3, 1)), np.tile(y, 3)
    ours, theirs = both(X=X, y=y, kernel=RBF(0.5))
    assert_same(ours, theirs, X)


def test_two_rows():
    ours, theirs = both(X=[[0.0], [2.0]], y=[0, 1], kernel=RBF(0.5), C=10)
    assert ours.objective_ == pytest.approx(theirs.objective_, rel=1e-12)  # of many f
    np.testing.assert_allclose(ours.decision_function([[0.0], [2.0]]), [-1.0, 1.0], atol=1e-12)


def watched(shapes):
    """Return an RBF kernel that records the shape of every matrix."""

    def kernel(A, B):
        shapes.append((len(A), len(B)))
        return RBF(0.5)(A, B)

    return kernel


def test_several_classes_share_one_matrix():
    X, y = rows(4, n=90, classes=3)
    shapes = []
    ours = PriorSVC(norm="l1", kernel=watched(shapes), solver="CENTRES").fit(X, y)
    assert shapes.count((90, 90)) == 1
    assert ours.solver_ == ["CENTRES"] * 3
    assert_same(ours, PriorSVC(norm="l1", kernel=RBF(0.5), solver="HIGHS").fit(X, y), X)


def test_a_path_is_its_fits_with_one_matrix():
    X, y = rows(5)
    shapes = []
    values = [1e-3, 0.1, 10.0, 1e3]
    path = PriorSVC(norm="l1", kernel=watched(shapes)).fit_path(X, y, {"C": values})
    assert shapes.count((60, 60)) == 1
    for C, model in zip(values, path, strict=True):
        alone = PriorSVC(norm="l1", kernel=RBF(0.5), C=C, solver="HIGHS").fit(X, y)
        assert model.objective_ == pytest.approx(alone.objective_, rel=1e-9)


def test_multipliers_are_those_of_highs_and_prove_the_optimum():
    X, y = rows(6)
    ours, theirs = both(X=X, y=y, kernel=RBF(0.5), C=2.0)
    mine, other = (m._models[0].duals["svm.margin"] for m in (ours, theirs))
    np.testing.assert_allclose(mine, np.abs(other), atol=1e-7)
    sign, K = np.where(y == 1, 1.0, -1.0), RBF(0.5)(X)
    assert np.abs(K.T @ (sign * mine)).max() <= 1 + 1e-12
    assert mine.sum() == pytest.approx(ours.objective_, rel=1e-12)
    assert ours.report_.solves[0]["residuals"].worst < 1e-10


def test_report_formulation_and_problem_are_those_of_any_route():
    X, y = rows(7)
    ours, theirs = both(ClassCosts({1: 2.0}), X, y, kernel=RBF(0.5))
    assert "CENTRES" in str(ours.report_)
    assert str(ours.formulation()) == str(theirs.formulation())
    ours.problem.solve(solver="HIGHS")
    assert ours.problem.value == pytest.approx(ours.objective_, rel=1e-8)
    assert ours.verify().holds == theirs.verify().holds
    assert ours.history_[-1]["objective"] == pytest.approx(ours.objective_, rel=1e-12)
    assert ours.history_[-1]["gap"] < 1e-10


def test_named_it_solves_only_what_it_can():
    X, y = rows(8, n=20)
    for settings, reason in (
        ({"norm": "l2"}, "it has the 1-norm only"),
        ({"norm": "l1", "loss": "squared_hinge"}, "it has the hinge only"),
        (
            {"norm": "l1", "prior": Box({0: (2, 3)}, label=1, holds="everywhere")},
            "block 'box' does more than add or reweight rows",
        ),
    ):
        with pytest.raises(SolverUnsuited, match=f"CENTRES cannot solve this problem: {reason}"):
            PriorSVC(**settings, solver="CENTRES").fit(X, y)
        assert PriorSVC(**settings).fit(X, y).solver_ != "CENTRES"
    with pytest.raises(InvalidInput, match="CENTRES takes no solver_options, got presolve"):
        PriorSVC(norm="l1", solver="CENTRES", solver_options={"presolve": "off"}).fit(X, y)


def test_sparse_rows_go_to_highs():
    from scipy.sparse import csr_array

    X, y = rows(9, n=20)
    assert PriorSVC(norm="l1").fit(csr_array(X), y).solver_ == "HIGHS"
    with pytest.raises(SolverUnsuited, match="takes no sparse X"):
        PriorSVC(norm="l1", solver="CENTRES").fit(csr_array(X), y)


def test_another_solver_is_asked_where_the_gap_stays_wide(monkeypatch):
    X, y = rows(10, n=20)
    solve = centres.solve_1norm
    for gap, told in ((0.5, SolverFailed), (1e-3, InaccurateSolution)):
        monkeypatch.setattr(centres, "solve_1norm", lambda *a, gap=gap, **k: replace(solve(*a, **k), gap=gap))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert PriorSVC(norm="l1", kernel=RBF(0.5)).fit(X, y).solver_ == "HIGHS"
            with pytest.raises(told, match="CENTRES reported 'optimal'"):
                PriorSVC(norm="l1", kernel=RBF(0.5), solver="CENTRES").fit(X, y)
