"""Models of rows that are read in chunks, against models of the same rows in memory."""

from itertools import pairwise

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from priorsvm import (
    Box,
    ClassCosts,
    Monotone,
    MonotonicityHint,
    PriorSVC,
    Rule,
    SampleCosts,
    UnlabeledSamples,
)
from priorsvm._utils.deadline import Deadline
from priorsvm.errors import OppositeRules, OutOfTime
from priorsvm.large import task
from priorsvm.large.facts import read_facts
from priorsvm.large.loss_chunks import SourceChunks
from priorsvm.large.sources import ChunkSource
from priorsvm.solve.methods import chunks as method
from priorsvm.solve.routes import chunks
from tests.fuzz.fuzzing import TRIES
from tests.large import rows
from tests.large.rows import rows_of

pytestmark = pytest.mark.filterwarnings("ignore::priorsvm.errors.CollapsedModel")

PRIOR = (
    ClassCosts("balanced")
    + Monotone({0: 1, 1: -1}, mu=40.0, holds="everywhere")
    + Box({2: (0.5, None)}, 1, mu=20.0, holds="everywhere", within="data")
)


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Make drawn rows and smaller problems smaller than the tests."""
    monkeypatch.setattr(task, "DRAWN", 600)
    monkeypatch.setattr(chunks, "LEAST", 300)
    monkeypatch.setattr(chunks, "FOR_FEATURE", 10)


def data(kind="normal", n=20_000, seed=0):
    return rows_of(kind, n, seed)


def in_chunks(X, y, *weight, size=1700, edges=()):
    ends = sorted({*range(0, len(y), size), len(y), *edges})
    return [tuple(part[a:b] for part in (X, y, *weight)) for a, b in pairwise(ends)]


def check(prior, kind="normal", rel=1e-9, n=20_000, **parameters):
    X, y = data(kind, n)
    edges = [int(np.sum(y == 0))] if kind == "one class in each chunk" else []
    given = in_chunks(X, y, size=17 * n // 200, edges=edges)
    if edges:
        assert all(len(np.unique(labels)) == 1 for _, labels in given)
    found = PriorSVC(prior, **parameters).fit(given)
    known = PriorSVC(prior, solver="NORMAL" if prior is None else "SCHUR", **parameters).fit(X, y)
    assert found.solver_ == "CHUNKS"
    assert found.status_ == "optimal"
    assert found.objective_ == pytest.approx(known.objective_, rel=rel)
    assert found.history_[-1]["lower"] <= known.objective_
    assert found.history_[-1]["rows"] == len(y)
    return found, known


KINDS = [*rows.KINDS, "float32", "one class in each chunk"]


@pytest.mark.parametrize("kind", KINDS)
def test_plain_models(kind):
    found, known = check(None, kind)
    X, _ = data(kind)
    np.testing.assert_allclose(found.decision_function(X), known.decision_function(X), atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("C", [1e-4, 1e-2, 100.0])
def test_plain_models_for_small_and_large_costs(kind, C):
    check(None, kind, C=C)


@pytest.mark.parametrize("C", [1e-4, 1e-2])
def test_few_rows_of_a_rare_class_do_not_move_f_out_of_the_band(C):
    """The linear term of a thinned band has a slope of hundreds of rows, and the rare class has 60 rows."""
    found, _ = check(None, "rare", C=C)
    assert found.history_[-1]["passes"] <= 10
    assert found.history_[-1]["band"] < 5000


@pytest.mark.parametrize("prior", [None, Box({2: (0.5, None)}, 0, mu=2.0, holds="everywhere")])
@pytest.mark.parametrize("C", [1e-2, 1.0, 100.0])
def test_a_constant_f_has_all_rows_on_their_margins(prior, C):
    """The classes have no difference, so f is -1: no radius leaves rows out of the band."""
    X = np.random.default_rng(0).normal(size=(20_000, 5))
    y = (np.arange(20_000) % 400 == 0).astype(int)
    found = PriorSVC(prior, C=C).fit(in_chunks(X, y))
    assert found.solver_ == "CHUNKS"
    assert found.objective_ == pytest.approx(2.0 * C * 50, rel=1e-8)
    assert found.history_[-1]["lower"] <= 2.0 * C * 50
    assert found.history_[-1]["band"] < 5000
    assert np.abs(found.decision_function(X) + 1.0).max() < 1e-6


@pytest.mark.parametrize("kind", ["normal", *(pytest.param(k, marks=pytest.mark.slow) for k in KINDS[1:])])
@pytest.mark.parametrize("scale", ["standard", pytest.param("minmax", marks=pytest.mark.slow)])
def test_models_with_blocks(kind, scale):
    found, known = check(PRIOR, kind, 1e-7, scale=scale)
    np.testing.assert_allclose(found.coef_, known.coef_, atol=1e-4 * np.abs(known.coef_).max())


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("C", [1e-4, 1e-2, 100.0])
def test_models_with_blocks_for_small_and_large_costs(kind, C):
    check(PRIOR, kind, 1e-7, n=8000, C=C)


def test_reports_have_the_sums_of_all_rows():
    found, known = check(PRIOR, rel=1e-8)
    for ours, theirs in zip(found.report_.rows, known.report_.rows, strict=True):
        assert (ours.block, ours.term, ours.rows) == (theirs.block, theirs.term, theirs.rows)
        assert ours.contribution == pytest.approx(theirs.contribution, rel=1e-6, abs=1e-6)
        assert ours.price == pytest.approx(theirs.price, rel=1e-3, abs=1e-3)
        assert ours.active == pytest.approx(theirs.active, rel=1e-2, abs=1)
        if not np.isnan(ours.slack):
            assert ours.slack == pytest.approx(theirs.slack, rel=1e-6)
    text = str(found.report_)
    assert "20000 rows were read in chunks, in " in text
    assert "rows near their margins have multipliers of their own" in text
    trained = "was trained on 20000 rows with 5 columns (12000 of class 0 and 8000 of class 1)."
    assert trained in found.methods_text()
    assert "20000" in str(found.formulation())


def test_counts_of_rules_are_those_of_drawn_rows():
    X, y = data("rare")
    model = PriorSVC(Rule("x0 > 1", 0, mu=1.0)).fit(_frames(X, y))
    found = model.findings_["rule"]
    assert found.drawn
    assert found.total < 1000
    text = f"{found.rows} drawn rows inside, {found.contrary} of another class (as many rows of each class "
    assert text in str(model.report_)
    wrong = Rule("x0 > 1", 1, mu=1.0) + Rule("x0 > 1.2", 0, mu=1.0)
    with pytest.warns(OppositeRules, match=r"common drawn rows to different classes"):
        PriorSVC(wrong).fit(_frames(X, y))


def test_explanations_start_at_the_mean_of_all_rows():
    X, y = data()
    found = PriorSVC().fit(in_chunks(X, y)).explain(X[3])
    known = PriorSVC(solver="NORMAL").fit(X, y).explain(X[3])
    for ours, theirs in zip(found.parts, known.parts, strict=True):
        assert ours.part == pytest.approx(theirs.part, abs=1e-6)


def test_explanations_have_the_numbers_of_rows_among_all_rows():
    X, y = data()
    text = str(PriorSVC().fit(in_chunks(X, y)).explain(X[12_345] + 1e-9))
    found = PriorSVC().fit(in_chunks(X, y)).explain(X[3]).rows
    for row in found:
        assert row.label == y[row.row]
        assert row.distance == pytest.approx(np.linalg.norm(X[row.row] - X[3]))
        assert row.place == f"{row.row}"
    assert "[" not in text.split("nearest support vectors")[1].split(".")[0]


def test_sample_weights_are_part_of_the_chunks():
    X, y = data()
    weight = np.random.default_rng(1).integers(0, 3, size=len(y)).astype(float)
    weight[:2000] = 0.0
    prior = ClassCosts("balanced")
    found = PriorSVC(prior, scale="standard").fit(in_chunks(X, y, weight))
    known = PriorSVC(prior, scale="standard", solver="NORMAL").fit(X, y, sample_weight=weight)
    assert found.objective_ == pytest.approx(known.objective_, rel=1e-9)
    assert found.score(in_chunks(X, y, weight)) == pytest.approx(known.score(X, y, weight))
    assert ", with sample weights" in found.methods_text()


@pytest.mark.parametrize("multi_class", ["ovr", "ovo"])
def test_more_than_two_classes(multi_class):
    X, y = data()
    y = np.array(["a", "b", "c"])[np.where(X[:, 0] > 1.0, 2, y)]
    prior = ClassCosts("balanced")
    found = PriorSVC(prior, multi_class=multi_class).fit(in_chunks(X, y))
    known = PriorSVC(prior, multi_class=multi_class, solver="NORMAL").fit(X, y)
    assert found.objective_ == pytest.approx(known.objective_, rel=1e-9)
    scores = found.decision_function(in_chunks(X, y))
    np.testing.assert_allclose(scores, known.decision_function(X), atol=1e-8)
    first, second = np.sort(scores, axis=1)[:, :-3:-1].T
    clear = first - second > 1e-8  # a row on its margin in two models is a tie
    assert np.sum(~clear) <= 3 * (X.shape[1] + 1)
    assert np.array_equal(found.predict(in_chunks(X, y))[clear], known.predict(X)[clear])


def test_a_model_of_chunks_is_saved(tmp_path):
    import pickle

    pytest.importorskip("skops")
    from priorsvm import load, save

    X, y = data()
    model = PriorSVC(PRIOR, scale="standard").fit(in_chunks(X, y))
    save(model, tmp_path / "model.skops")
    for copy in (load(tmp_path / "model.skops"), pickle.loads(pickle.dumps(model))):
        assert np.array_equal(copy.predict(X), model.predict(X))
        assert copy.objective_ == model.objective_
        assert str(copy.report_) == str(model.report_)


def test_costs_may_be_a_function_of_the_rows():
    X, y = data()
    prior = SampleCosts(lambda X, y: 1.0 + (X[:, 0] > 0) + y, lambda X, y: 1.0 + 0.1 * y)
    found = PriorSVC(prior).fit(in_chunks(X, y))
    known = PriorSVC(prior, solver="NORMAL").fit(X, y)
    assert found.objective_ == pytest.approx(known.objective_, rel=1e-9)


def test_given_rows_are_added_once():
    X, y = data()
    prior = UnlabeledSamples(X[:40] + 3.0, np.ones(40, int), 2.0, 0.5)
    found = PriorSVC(prior).fit(in_chunks(X, y))
    known = PriorSVC(prior, solver="NORMAL").fit(X, y)
    assert found.objective_ == pytest.approx(known.objective_, rel=1e-9)


def test_drawn_points_and_pairs_are_those_of_the_drawn_rows(monkeypatch):
    X, y = data()
    prior = MonotonicityHint({3: 1, 1: -1}, mu=500.0) + Rule("x0 > 1 and x1 < 0", 1, mu=30.0)
    found = PriorSVC(prior).fit(_frames(X, y))
    binary = found._models[0]
    import pandas as pd

    table = pd.DataFrame(X, columns=[f"x{j}" for j in range(5)])
    pairs = binary.states["monotonicity_hint"]
    added = binary.sample
    rows = slice(added.n_train, None)
    same = UnlabeledSamples(added.X[rows], (added.y[rows] > 0).astype(int), added.cost[rows])
    monkeypatch.setattr(MonotonicityHint, "start", lambda self, sample: pairs)
    known = PriorSVC(MonotonicityHint({3: 1, 1: -1}, mu=500.0) + same, solver="SCHUR").fit(table, y)
    assert found.objective_ == pytest.approx(known.objective_, rel=1e-7)


def _frames(X, y):
    import pandas as pd

    names = [f"x{j}" for j in range(X.shape[1])]
    return [(pd.DataFrame(part, columns=names), labels) for part, labels in in_chunks(X, y)]


def test_the_ranges_of_all_rows_are_facts_of_the_sample():
    X, y = data("heavy tails")
    facts = read_facts(ChunkSource(in_chunks(X, y)), 200, 0)
    rows = facts.sample
    assert len(rows) <= 200 + 2 * 5
    assert np.array_equal(rows.X.min(axis=0), X.min(axis=0))
    assert np.array_equal(rows.X.max(axis=0), X.max(axis=0))
    assert np.array_equal(rows.X, X[rows.index])
    for label in (0, 1):
        assert rows.weight[rows.labels == label].sum() == pytest.approx(np.sum(y == label))
        assert facts.count[rows.labels == label].sum() == pytest.approx(np.sum(y == label))
    np.testing.assert_allclose(facts.moments.mean, X.mean(axis=0), atol=1e-9)
    np.testing.assert_allclose(facts.scale("standard").width, X.std(axis=0), rtol=1e-12)
    np.testing.assert_allclose(facts.scale("minmax").width, np.ptp(X, axis=0), rtol=1e-12)


def solved_directly(X, y, weight, C, directions, box):
    """Return the optimum that Clarabel finds for the problem as written here, without the library."""
    import cvxpy as cp

    w = cp.Variable(X.shape[1])
    b = cp.Variable()
    sign = np.where(y == 1, 1.0, -1.0)
    loss = cp.sum(cp.multiply(C * weight, cp.pos(1 - cp.multiply(sign, X @ w + b))))
    limits = [s * w[j] >= 0 for j, s in directions.items()]
    objective = 0.5 * cp.sum_squares(w) + loss
    if box is not None:
        column, low, mu = box  # f >= 1 where the column is at least low, and within the data
        ends = np.vstack([X.min(axis=0), X.max(axis=0)])
        ends[0, column] = low
        half = 0.5 * (ends[1] - ends[0])
        worst = ends.mean(axis=0) @ w + b - half @ cp.abs(w)
        objective += mu * cp.pos(1 - worst)
    problem = cp.Problem(cp.Minimize(objective), limits)
    problem.solve(solver="CLARABEL", tol_gap_abs=1e-11, tol_gap_rel=1e-11, tol_feas=1e-11)
    return problem.value


@pytest.mark.parametrize(
    "seed", [*range(20), *(pytest.param(k, marks=pytest.mark.slow) for k in range(20, 100))]
)
def test_chunks_of_seven_rows_against_the_problem_as_written_down(seed, monkeypatch):
    monkeypatch.setattr(chunks, "LEAST", 30)
    monkeypatch.setattr(task, "DRAWN", 40)
    monkeypatch.setattr(task, "FOR_FEATURE", 8)
    rng = np.random.default_rng(seed)
    X, y = data(rows.KINDS[seed % 6], n=int(rng.integers(100, 300)), seed=seed)
    if seed % 3 == 0:
        X = np.repeat(X, 2, axis=0)
        y = np.repeat(y, 2)
    if seed % 4 == 0:
        X[:, 1] = 3.0
    weight = rng.integers(0, 3, size=len(y)).astype(float)
    weight[np.argmax(y)] = 1.0
    weight[np.argmin(y)] = 1.0
    C = float(10 ** rng.uniform(-2, 1))
    directions = {} if seed % 2 else {0: 1, 2: -1}
    used = X[weight > 0]
    box = None if seed % 5 < 2 else (3, float(np.quantile(used[:, 3], 0.4)), 2.0)
    prior = Monotone(directions, hard=True) if directions else None
    if box is not None:
        region = Box({3: (box[1], None)}, 1, mu=box[2] / C, holds="everywhere", within="data")
        prior = region if prior is None else prior + region
    found = PriorSVC(prior, C=C).fit(in_chunks(X, y, weight, size=7))
    optimum = solved_directly(used, y[weight > 0], weight[weight > 0], C, directions, box)
    assert found.solver_ == "CHUNKS"
    assert found.objective_ == pytest.approx(optimum, rel=1e-7)
    assert found.history_[-1]["lower"] <= optimum * (1 + 1e-9)


BOUNDED = [None, PRIOR, Box({2: (0.5, None)}, 1, mu=20.0, holds="everywhere"), Monotone({0: 1}, hard=True)]
EXACT = dict.fromkeys(("tol_gap_abs", "tol_gap_rel", "tol_feas"), 1e-12)


@pytest.mark.slow
def test_the_lower_bound_is_never_above_the_optimum(monkeypatch):
    """The bound of a smaller problem, and the bound of the last one less the residuals of its solver."""
    bounds = []
    exact = method._exact

    def recorded(chunks, band, fit, *limits):
        def kept(*arguments):
            answer = fit(*arguments)
            loss = arguments[0].bound @ np.maximum(arguments[0].excess(answer.f), 0.0)
            bounds.append(0.5 * answer.f.norm("l2") ** 2 + float(loss))
            return answer

        return exact(chunks, band, kept, *limits)

    monkeypatch.setattr(method, "_exact", recorded)
    monkeypatch.setattr(method, "QUANTILE", 0.3)  # bands that are too narrow
    monkeypatch.setattr(chunks, "LEAST", 30)
    monkeypatch.setattr(task, "DRAWN", 40)
    monkeypatch.setattr(task, "FOR_FEATURE", 8)
    crossing = 0
    inexact = 0
    problems = max(48, TRIES // 100)
    for seed in range(problems):
        rng = np.random.default_rng(seed)
        X, y = data(KINDS[seed % len(KINDS)], n=400, seed=seed)
        C = float(10 ** rng.uniform(-2, 1))
        prior = BOUNDED[rng.integers(len(BOUNDED))]
        peer = {"solver": "NORMAL"} if prior is None else {"solver": "CLARABEL", "solver_options": EXACT}
        optimum = PriorSVC(prior, C=C, **peer).fit(X, y).objective_
        bounds.clear()
        found = PriorSVC(prior, C=C, tol=1e-4).fit(in_chunks(X, y, size=90))
        assert found.history_[-1]["lower"] < optimum
        assert found.history_[-1]["lower"] == pytest.approx(optimum, rel=1e-6)
        inexact += found.objective_ > optimum * (1 + 1e-12)
        assert bounds
        if prior is None:
            assert max(bounds) <= optimum * (1 + 1e-9)
        crossing += len(bounds) > 1
    assert crossing > problems / 10
    assert inexact >= problems / 40


@pytest.mark.parametrize("prior", [None, PRIOR])
@pytest.mark.parametrize("checks", [1, 5, 30])
def test_after_the_time_the_last_smaller_problem_is_the_answer(prior, checks, monkeypatch):
    X, y = data()
    left = [checks]
    whole = SourceChunks.map

    def counted(self, work):
        for found in whole(self, work):
            left[0] -= 1
            yield found

    monkeypatch.setattr(SourceChunks, "map", counted)
    monkeypatch.setattr(Deadline, "passed", property(lambda self: self.limited and left[0] <= 0))
    with pytest.warns(ConvergenceWarning, match="ended at max_seconds=900 .* answer of some of the rows"):
        found = PriorSVC(prior, max_seconds=900).fit(in_chunks(X, y))
    monkeypatch.undo()
    known = PriorSVC(prior, solver="NORMAL" if prior is None else "SCHUR").fit(X, y)
    assert found.status_ == "time_limit"
    assert found.objective_ == pytest.approx(known.objective_, rel=0.15)
    assert found.history_[-1]["rows"] == len(y)
    assert not found.history_[-1]["lower"] > known.objective_ * (1 + 1e-9)
    assert np.mean(found.predict(X) == known.predict(X)) > 0.9
    assert "estimates from" in str(found.report_)


def test_without_an_answer_of_drawn_rows_the_time_raises_an_error():
    X, y = data()
    with pytest.raises(OutOfTime):
        PriorSVC(max_seconds=1e-6).fit(in_chunks(X, y))
