"""CHUNKS: linear models on many rows, against routes that use all rows."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from priorsvm import (
    RBF,
    Box,
    ClassCosts,
    InvarianceHint,
    Monotone,
    MonotonicityHint,
    Polyhedron,
    PriorSVC,
    Shift,
    UncertainSamples,
    UnlabeledSamples,
)
from priorsvm._utils.deadline import Deadline
from priorsvm.errors import Infeasible, SolverUnsuited
from priorsvm.solve import auto, model
from priorsvm.solve.methods import chunks as method
from priorsvm.solve.routes import chunks
from priorsvm.solve.weighted import Weighted, judged
from tests.large.rows import KINDS, rows_of

pytestmark = pytest.mark.filterwarnings("ignore::priorsvm.errors.CollapsedModel")

PRIOR = (
    ClassCosts("balanced")
    + Monotone({0: 1, 1: -1}, mu=40.0, holds="everywhere")
    + Box({2: (0.5, 1.0)}, 1, mu=20.0, holds="everywhere")
    + MonotonicityHint({3: 1}, mu=5.0)
)


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Make the smaller problems smaller than the tests."""
    monkeypatch.setattr(chunks, "LEAST", 150)
    monkeypatch.setattr(chunks, "FOR_FEATURE", 10)


def data(kind="normal", n=3000):
    return rows_of(kind, n)


def check(prior, kind="normal", peer="NORMAL", **parameters):
    X, y = data(kind)
    found = PriorSVC(prior, solver="CHUNKS", **parameters).fit(X, y)
    known = PriorSVC(prior, solver=peer, **parameters).fit(X, y)
    assert found.solver_ == "CHUNKS"
    assert found.status_ == "optimal"
    assert found.objective_ == pytest.approx(known.objective_, rel=1e-8)
    assert found.history_[-1]["objective"] == pytest.approx(found.objective_, rel=1e-9)
    return found, known


@pytest.mark.parametrize("kind", KINDS)
def test_weighted_models_are_those_of_normal(kind):
    check(None, kind)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("C", [1e-4, 1e-2, 100.0])
def test_weighted_models_for_small_and_large_costs(kind, C):
    check(ClassCosts({1: 2.0}), kind, "CLARABEL", C=C)


@pytest.mark.parametrize("scale", [None, pytest.param("standard", marks=pytest.mark.slow)])
def test_models_with_blocks_are_those_of_schur(scale):
    found, known = check(PRIOR, peer="SCHUR", scale=scale)
    np.testing.assert_allclose(found.coef_, known.coef_, atol=1e-6)
    ours, theirs = (m._models[0] for m in (found, known))
    for label in theirs.duals:
        np.testing.assert_allclose(ours.duals[label], theirs.duals[label], atol=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("C", [1e-2, 10.0])
def test_models_with_blocks_on_all_kinds_of_rows(kind, C):
    check(PRIOR, kind, "CLARABEL", C=C)


@pytest.mark.parametrize("prior", [None, PRIOR])
@pytest.mark.parametrize("passes", [2, 3, 4])
def test_after_the_time_the_objective_of_the_last_answer_is_that_of_all_rows(prior, passes, monkeypatch):
    X, y = data()
    left = [passes]
    whole = method.ArrayChunks.map

    def counted(self, work):
        for found in whole(self, work):
            left[0] -= 1
            yield found

    monkeypatch.setattr(method.ArrayChunks, "map", counted)
    monkeypatch.setattr(Deadline, "passed", property(lambda self: self.limited and left[0] <= 0))
    with pytest.warns(ConvergenceWarning, match=r"ended at max_seconds=900 "):
        found = PriorSVC(prior, solver="CHUNKS", max_seconds=900).fit(X, y)
    monkeypatch.undo()
    known = PriorSVC(prior, solver="NORMAL" if prior is None else "SCHUR").fit(X, y)
    entry = found.history_[-1]
    assert found.status_ == "time_limit"
    assert entry["estimated"] is False
    assert not entry["lower"] > known.objective_
    assert known.objective_ * (1 - 1e-9) <= found.objective_ <= 1.2 * known.objective_
    if prior is None:
        half = 0.5 * float(found.coef_[0] @ found.coef_[0])
        loss = np.maximum(1 - (2 * y - 1) * found.decision_function(X), 0).sum()
        assert found.objective_ == pytest.approx(half + loss, rel=1e-12)


def test_the_dual_variables_certify_the_whole_problem():
    found, _ = check(ClassCosts({1: 2.0}))
    binary = found._models[0]
    sample = binary.sample
    weighted = Weighted(binary.spec, sample)
    w = (sample.y * binary.alpha) @ weighted.Z
    scores = sample.y * binary.f.value(sample.X)
    halves = 0.5 * float(found.coef_[0] @ found.coef_[0]), 0.5 * float(w @ w)
    _, residuals = judged(halves, scores, binary.alpha, weighted.bound, sample.y, sample.margin)
    assert residuals.worst < 1e-8
    assert np.all(binary.alpha <= weighted.bound * (1 + 1e-9))


def test_a_too_small_first_problem_grows(monkeypatch):
    monkeypatch.setattr(chunks, "LEAST", 8)
    monkeypatch.setattr(chunks, "SHARE", 0.0)
    monkeypatch.setattr(chunks, "FOR_FEATURE", 0)
    check(None)


def test_blocks_build_on_the_ranges_of_all_rows():
    X, y = data()
    X[17, 0] = 40.0  # far from every margin, and it sets the range of the column
    y[17] = 1
    prior = Monotone({0: -1}, mu=1.0, holds="everywhere")
    found, known = (PriorSVC(prior, solver=s).fit(X, y) for s in ("CHUNKS", "CLARABEL"))
    assert found.objective_ == pytest.approx(known.objective_, rel=1e-8)


def test_samples_of_weight_zero_are_left_out():
    X, y = data()
    weight = np.random.default_rng(1).integers(0, 3, size=len(y))
    found, known = (PriorSVC(solver=s).fit(X, y, sample_weight=weight) for s in ("CHUNKS", "NORMAL"))
    assert found.objective_ == pytest.approx(known.objective_, rel=1e-9)
    assert not found._models[0].alpha[weight == 0].any()


def test_rows_that_blocks_add_have_their_own_costs_and_margins():
    X, y = data()
    prior = Box({0: (0.5, 1.5)}, 1, mu=30.0) + UnlabeledSamples(X[:40] + 3.0, np.ones(40, int), 2.0, 0.5)
    found, known = (PriorSVC(prior, solver=s).fit(X, y) for s in ("CHUNKS", "NORMAL"))
    assert len(found._models[0].alpha) > len(X)
    assert found.objective_ == pytest.approx(known.objective_, rel=1e-9)


def test_more_than_two_classes():
    X, y = data()
    y = y + (X[:, 0] > 1.0)
    found, known = (PriorSVC(solver=s).fit(X, y) for s in ("CHUNKS", "NORMAL"))
    assert found.objective_ == pytest.approx(known.objective_, rel=1e-9)


def test_hard_blocks_that_conflict_are_named():
    X, y = data()
    upper = Polyhedron(np.eye(5), -np.ones(5), 1, hard=True)
    lower = Box(dict.fromkeys(range(5), (1.0, 2.0)), 0, hard=True)
    rising = Monotone(dict.fromkeys(range(5), 1), hard=True)
    with pytest.raises(Infeasible, match="box"):
        PriorSVC(upper + lower + rising, solver="CHUNKS").fit(X, y)


def test_the_problem_is_assembled_on_demand():
    X, y = data(n=800)
    found = PriorSVC(PRIOR, solver="CHUNKS").fit(X, y)
    assert found._models[0].compiled is None
    assert found.problem.value == pytest.approx(found.objective_, rel=1e-6)


def test_a_large_problem_is_not_kept(monkeypatch):
    monkeypatch.setattr(model, "KEPT_ROWS", 500)
    X, y = data(n=800)
    found = PriorSVC(PRIOR, solver="SCHUR").fit(X, y)
    assert found._models[0].compiled is None
    assert found.history_[-1]["objective"] == pytest.approx(found.objective_, rel=1e-7)
    assert found.problem.value == pytest.approx(found.objective_, rel=1e-6)


@pytest.mark.parametrize(
    ("prior", "parameters", "reason"),
    [
        (None, {"kernel": RBF(1.0)}, "linear models only"),
        (None, {"norm": "l1"}, "2-norm only"),
        (None, {"loss": "squared_hinge"}, "hinge only"),
        (None, {"C": np.inf}, "finite C"),
        (UncertainSamples(0.1 * np.eye(5)), {}, "block 'uncertain_samples' has terms for each row"),
        (InvarianceHint(Shift(np.ones(5))), {}, "block 'invariance_hint': it evaluates f at .* points"),
    ],
)
def test_obstacles(prior, parameters, reason, monkeypatch):
    monkeypatch.setattr(chunks, "POINTS", 100)
    X, y = data(n=200)
    with pytest.raises(SolverUnsuited, match=reason):
        PriorSVC(prior, solver="CHUNKS", **parameters).fit(X, y)


def test_the_limit_on_points_is_not_one_on_rows_of_the_loss(monkeypatch):
    monkeypatch.setattr(chunks, "POINTS", 10)
    prior = Monotone({0: 1}, hard=True)
    X, y = data(n=1000)
    found, known = (PriorSVC(prior, solver=s).fit(X, y) for s in ("CHUNKS", "CLARABEL"))
    assert found.objective_ == pytest.approx(known.objective_, rel=1e-8)


def test_sparse_rows_are_refused():
    from scipy.sparse import csr_array

    X, y = data(n=200)
    with pytest.raises(SolverUnsuited, match="no sparse X"):
        PriorSVC(solver="CHUNKS").fit(csr_array(X), y)


def test_auto_chooses_it_for_many_rows_of_a_suitable_model(monkeypatch):
    monkeypatch.setattr(auto, "CHUNKS_ROWS", 700)
    monkeypatch.setattr(auto, "CHUNKS_ROWS_FOR_FEATURE", 100)
    X, y = data(n=800)
    assert PriorSVC().fit(X, y).solver_ == "CHUNKS"
    assert PriorSVC(PRIOR).fit(X, y).solver_ == "CHUNKS"
    assert PriorSVC(loss="squared_hinge").fit(X, y).solver_ == "NORMAL"
    assert PriorSVC(UncertainSamples(0.1 * np.eye(5))).fit(X, y).solver_ in ("SCHUR", "CLARABEL")
    assert PriorSVC().fit(X[:600], y[:600]).solver_ == "NORMAL"
    monkeypatch.setattr(auto, "CHUNKS_ROWS_FOR_FEATURE", 200)
    assert PriorSVC().fit(X, y).solver_ == "NORMAL"


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("prior", [None, Box({0: (0.0, 1.0)}, 1, mu=1.0, holds="everywhere")])
def test_many_equal_rows_are_merged(prior, seed):
    rng = np.random.default_rng(seed)
    X = (rng.random((4000, 1 + seed % 3)) < 0.4).astype(float)
    y = (X.sum(axis=1) + 0.2 * (seed % 2) * rng.normal(size=4000) > 0.5).astype(int)
    found = PriorSVC(prior, solver="CHUNKS").fit(X, y)
    known = PriorSVC(prior, solver="CLARABEL").fit(X, y)
    assert found.objective_ == pytest.approx(known.objective_, rel=1e-7)
    assert found.report_["svm"][1].price == pytest.approx(known.report_["svm"][1].price, rel=1e-4)


def test_a_constant_column_has_an_answer():
    X = np.full((3000, 1), 1001.0)
    y = np.arange(3000) % 3 == 0
    model = PriorSVC(Monotone({0: -1}, hard=True), solver="CHUNKS").fit(X, y)
    assert model.objective_ == pytest.approx(2000.0)
