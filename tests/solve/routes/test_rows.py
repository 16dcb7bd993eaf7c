"""The route of models whose blocks are rows of f, against Clarabel on the same model."""

import warnings

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.datasets import make_classification

from priorsvm import (
    RBF,
    Box,
    ClassCosts,
    InvarianceHint,
    Knowledge,
    MissingValues,
    Monotone,
    MonotonicityHint,
    NegativeDistance,
    OddnessHint,
    Polyhedron,
    Polynomial,
    PriorSVC,
    Region,
    Rule,
    SampleCosts,
    Shift,
    TangentPenalty,
    Terms,
    UncertainSamples,
    UnlabeledSamples,
    VirtualSamples,
)
from priorsvm._utils.cache import Cache
from priorsvm.errors import (
    InaccurateSolution,
    Infeasible,
    InvalidInput,
    KernelNotPSD,
    Outbid,
    PriorSVMError,
    SolverFailed,
    SolverUnsuited,
)
from priorsvm.problem.assemble import Compiled, prepare
from priorsvm.solve import auto
from priorsvm.solve.route import Problem
from priorsvm.solve.routes import point_rows, rows
from priorsvm.validation import make_task

compositions = pytest.importorskip("benchmarks.compositions")


def two_classes(n=60, d=3, seed=0):
    X, y = make_classification(
        n, d, n_informative=d, n_redundant=0, n_clusters_per_class=1, flip_y=0.1, random_state=seed
    )
    return X, y


def ball(X):
    return np.linalg.norm(X - 1.0, axis=1) - 5.0


POINTS = 1.0 + 0.5 * np.random.default_rng(3).normal(size=(8, 3))


def priors(C=2.0):
    """Return priors for a model of weight C, with the weights of regions in the units of the objective."""
    return {
        "margins": SampleCosts(np.linspace(0.1, 2, 60), margins=np.linspace(0.5, 1.5, 60)),
        "costs": ClassCosts({1: 3.0}) + UnlabeledSamples(POINTS, 1, costs=0.3, margins=2.0),
        "region": Region(ball, POINTS, 1, mu=0.3 / C),
        "region, another h": Region(ball, POINTS, 0, mu=2.0 / C, h=0.3),
        "hard region": Region(ball, POINTS, 1, hard=True),
        "monotonicity": MonotonicityHint({0: 1, 1: -1}, mu=10.0, pairs=10),
        "hard monotonicity": MonotonicityHint({0: 1}, hard=True, pairs=10),
        "invariance": InvarianceHint(Shift([0.3, 0.0, 0.0]), mu=5.0),
        "oddness": OddnessHint(mu=4.0),
        "virtual": VirtualSamples(Shift([0.1, 0.2, 0.0])) + OddnessHint(),
        "hints": 0.5 * InvarianceHint(Shift([0.0, 0.3, 0.0])) + MonotonicityHint({2: 1}, pairs=12),
        "all": Region(ball, POINTS, 1, mu=0.5 / C)
        + OddnessHint()
        + MonotonicityHint({1: 1}, pairs=9)
        + ClassCosts({0: 2}),
        "no weight": InvarianceHint(Shift([0.3, 0.0, 0.0]), mu=0.0)
        + Region(ball, POINTS, 1, mu=0.0)
        + OddnessHint(),
        "box at points": Box({0: (0.5, 1.0), 1: (0.0, 1.0)}, 1, mu=2.0 / C, method="points", points=10),
        "two boxes": Box({0: (0.5, 1.0)}, 1, mu=2.0 / C, method="points", points=10).named("one")
        + Box({1: (0.5, 1.5)}, 0, mu=0.2 / C, method="points", points=10).named("two"),
    }


PRIORS = priors()
SETTINGS = {
    "rbf": {"kernel": RBF(0.4)},
    "squared hinge": {"kernel": RBF(0.4), "loss": "squared_hinge"},
    "polynomial": {"kernel": Polynomial(2, 0.3, 1.0), "scale": "standard"},
    "linear": {"scale": "minmax"},
}


def both(prior, X, y, **parameters):
    return [PriorSVC(prior, solver=s, **{"C": 2.0, **parameters}).fit(X, y) for s in ("ROWS", "CLARABEL")]


def assert_same(ours, theirs, X, atol=1e-5):
    assert (ours.solver_, ours.status_) == ("ROWS", "optimal")
    np.testing.assert_allclose(ours.objective_, theirs.objective_, rtol=1e-8)
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=atol)


PAIRS = [(name, "rbf") for name in PRIORS]
PAIRS += [(name, kind) for name in ("all", "two boxes", "hints") for kind in ("squared hinge", "polynomial")]
PAIRS += [(name, "linear") for name in ("all", "hints", "margins")]


@pytest.mark.parametrize(("name", "kind"), PAIRS)
def test_same_model_as_clarabel(name, kind):
    X, y = two_classes()
    ours, theirs = both(PRIORS[name], X, y, **SETTINGS[kind])
    assert_same(ours, theirs, X)
    found = ours.report_.solves[0]["residuals"]
    assert max(found.primal, found.dual, found.stationarity, found.gap) < 1e-8


@pytest.mark.parametrize("name", ["all", "two boxes", "hints", "hard region", "oddness"])
def test_multipliers_are_those_of_clarabel(name):
    X, y = two_classes()
    ours, theirs = (m._models[0] for m in both(PRIORS[name], X, y, kernel=RBF(0.4)))
    assert ours.duals.keys() == theirs.duals.keys()
    for label, dual in theirs.duals.items():
        assert np.sum(ours.duals[label]) == pytest.approx(np.sum(dual), abs=1e-4)
    np.testing.assert_allclose(ours.alpha, theirs.alpha, atol=1e-4)
    np.testing.assert_array_equal(ours.support, theirs.support)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["all", "two boxes", "invariance"])
def test_a_model_can_be_questioned_afterwards(name):
    X, y = two_classes()
    ours, theirs = both(PRIORS[name], X, y, kernel=RBF(0.4))
    assert "ROWS optimal" in str(ours.report_)
    told = [(r.block, r.term, r.contribution, r.price) for r in ours.report_.rows]
    for (block, term, share, price), other in zip(told, theirs.report_.rows, strict=True):
        assert (block, term) == (other.block, other.term)
        assert share == pytest.approx(other.contribution, abs=1e-5)
        assert price == pytest.approx(other.price, abs=1e-4)
    assert sum(share for _, _, share, _ in told) == pytest.approx(ours.objective_)
    assert str(ours.formulation()) == str(theirs.formulation())
    ours.problem.solve(solver="CLARABEL")
    assert ours.problem.value == pytest.approx(ours.objective_, rel=1e-6)
    verdicts = [[c.verdict.holds for c in model.verify().checks] for model in (ours, theirs)]
    assert verdicts[0] == verdicts[1]


def test_slopes_that_f_expands_over_are_rows_too():
    X, y = two_classes()
    ours, theirs = both(
        TangentPenalty(Shift([0.0, 1.0, 0.0]), gamma=0.5) + OddnessHint(), X, y, kernel=RBF(0.4)
    )
    assert_same(ours, theirs, X)
    ours, theirs = both(TangentPenalty(Shift([0.0, 1.0, 0.0]), gamma=0.5), X, y, loss="squared_hinge")
    assert_same(ours, theirs, X)


class Untold(Polynomial):
    "A kernel that does not say whether it is positive semidefinite."

    definiteness = "unknown"


def test_slopes_of_a_kernel_that_is_positive_on_the_rows_alone_are_refused():
    X = np.array([[0.0], [1.0]] * 10)  # the square of a row is the row, and its slope is another
    y = np.array([0, 1] * 9 + [1, 0])
    hint = TangentPenalty(Shift([1.0]), gamma=0.01)
    for solver in ("ROWS", "CLARABEL"):
        with pytest.raises(KernelNotPSD, match="lowest eigenvalue"):
            PriorSVC(hint, kernel=Untold(2, 1.0, -0.3), solver=solver).fit(X, y)


def test_constraints_may_be_written_as_cones():
    X, y = two_classes()
    assert_same(*both(Odd("plain cones"), X, y, kernel=RBF(0.4)), X)


def test_a_fitted_model_does_not_keep_the_kernel_matrix():
    X, y = two_classes()
    model = PriorSVC(OddnessHint(), kernel=RBF(0.4), solver="ROWS")
    fitted = [model.fit(X, y), *model.fit_path(X, y, {"C": [1.0, 2.0]})]
    kept = [m._models[0].compiled for m in fitted]
    assert all(compiled is None or compiled.memo == {} for compiled in kept)


def test_several_classes():
    X, y = make_classification(
        90, 3, n_informative=3, n_redundant=0, n_clusters_per_class=1, n_classes=3, random_state=0
    )
    prior = Region(ball, POINTS, 1, mu=0.5) + InvarianceHint(Shift([0.1, 0.0, 0.0]))
    ours, theirs = both(prior, X, y, kernel=RBF(0.4))
    assert ours.solver_ == ["ROWS"] * 3
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-5)


@pytest.mark.slow
def test_cuts_are_added_round_by_round():
    X, y = two_classes()
    prior = Box({0: (0.0, 1.0)}, 1, mu=10.0, holds="everywhere")
    ours, theirs = both(prior, X, y, kernel=RBF(0.4))
    assert {entry["solver"] for entry in ours.history_} == {"ROWS"}
    assert ours.n_rounds_ > 1
    assert ours.objective_ == pytest.approx(theirs.objective_, rel=1e-3)


# ------------------------------------------------------------------------------- what is degenerate


@pytest.mark.parametrize("C", [1e-6, 1e5])
@pytest.mark.parametrize("name", ["region", "all", "box at points"])
def test_extreme_costs(name, C):
    X, y = two_classes()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ours, theirs = both(priors(C)[name], X, y, kernel=RBF(0.4), C=C)
    np.testing.assert_allclose(ours.objective_, theirs.objective_, rtol=1e-6)


@pytest.mark.parametrize("kind", SETTINGS)
def test_equal_rows(kind):
    X, y = two_classes(30)
    X, y = np.vstack([X, X, X[:5]]), np.concatenate([y, y, 1 - y[:5]])
    prior = Region(ball, np.vstack([POINTS, POINTS]), 1, mu=0.25) + OddnessHint()
    assert_same(*both(prior, X, y, **SETTINGS[kind]), X)


def test_hard_rows_that_contradict_each_other_are_not_called_solved():
    X, y = two_classes(120)
    prior = Region(ball, POINTS, 1, hard=True).named("up") + Region(ball, POINTS, 0, hard=True).named("down")
    with pytest.raises(Infeasible, match=r"'up'.*'down'"):
        PriorSVC(prior, kernel=RBF(0.4)).fit(X, y)
    with pytest.raises(PriorSVMError):
        PriorSVC(prior, kernel=RBF(0.4), solver="ROWS").fit(X, y)


class Opposed(Knowledge):
    """f(point) >= 1 and f(point) <= -1, and nobody sees it before a solver does."""

    def build(self, f, view):
        value = f(view.sample.X[:1])
        return Terms(constraints={"up": value >= 1, "down": value <= -1})


def test_contradictions_that_only_a_solver_finds():
    X, y = two_classes(120)
    with pytest.raises(SolverFailed):
        PriorSVC(Opposed(), kernel=RBF(0.4), solver="ROWS").fit(X, y)
    with pytest.raises(Infeasible):
        PriorSVC(Opposed(), kernel=RBF(0.4)).fit(X, y)


@pytest.mark.parametrize(
    "seeds",
    [range(20), *(pytest.param(range(k, k + 60), marks=pytest.mark.slow) for k in (20, 80, 140))],
    ids=str,
)
@pytest.mark.parametrize("arrays", [False, True])
def test_random_compositions_are_solved_refused_or_given_up(seeds, arrays):
    solved = 0
    route = rows.Rows(arrays=arrays, compiled=not arrays)
    for seed in seeds:
        model, X, y = compositions.composition(seed)
        task = make_task(model, X, y, None, {})
        members, training = list(task.prior), task.samples[0]
        states = {m.name: m.block.start(training) for m in members}
        sample = prepare(members, training, states)
        problem = Problem(task.spec, members, states, training, sample, Cache())
        if route.obstacle(problem) is not None:
            continue
        try:
            found = route.solve(problem, {})
        except (SolverUnsuited, SolverFailed):
            continue
        if found.outcome.residuals.worst > 1e-6:
            continue
        if not arrays:
            at_rows = found.f.value(sample.X[found.compiled.active])
            values = found.compiled.values.value
            np.testing.assert_allclose(at_rows, values, atol=1e-6 * (1 + np.abs(at_rows).max()))
        other = Compiled(task.spec, members, states, sample).problem
        other.solve(solver="CLARABEL")
        assert other.status == "optimal", seed
        assert found.value == pytest.approx(other.value, rel=1e-6, abs=1e-6), seed
        solved += 1
    assert solved >= len(seeds) / 10


# ------------------------------------------------------------------------------- what "auto" does


def test_auto_takes_it_for_kernel_models_with_rows_enough():
    X, y = two_classes(auto.ROWS_FROM)
    prior = PRIORS["all"]
    assert PriorSVC(prior, kernel=RBF(0.4)).fit(X, y).solver_ == "ROWS"
    assert PriorSVC(prior, kernel=RBF(0.4)).fit(X[1:], y[1:]).solver_ == "SCHUR"
    assert PriorSVC(prior).fit(X, y).solver_ == "CLARABEL"
    assert PriorSVC(None, kernel=RBF(0.4)).fit(X, y).solver_ == "LIBSVM"
    assert PriorSVC(None, kernel=RBF(0.4), loss="squared_hinge").fit(X, y).solver_ == "ROWS"
    assert PriorSVC(UncertainSamples(0.01 * np.eye(3)), scale=None).fit(X, y).solver_ == "CLARABEL"


def test_auto_goes_on_where_it_is_refused_or_given_up(monkeypatch):
    X, y = two_classes(auto.ROWS_FROM)
    block = Monotone({0: 1}, method="points", points=10)
    slopes = PriorSVC(block, kernel=NegativeDistance(1.5)).fit(X, y)
    assert slopes.solver_ in ("CLARABEL", "SCHUR")
    assert slopes.report_.solves[0]["before"] == ()
    monkeypatch.setattr(rows, "optimise", lambda *arguments: None)
    monkeypatch.setattr(point_rows, "optimise", lambda *arguments, **options: None)
    model = PriorSVC(OddnessHint(), kernel=RBF(0.4)).fit(X, y)
    assert (model.solver_, model.report_.solves[0]["before"]) == ("SCHUR", ("ROWS",))
    assert "SCHUR after ROWS failed" in str(model.report_)
    with pytest.raises(SolverFailed, match="ROWS: too many rows change"):
        model.set_params(solver="ROWS").fit(X, y)


def test_an_answer_is_judged_by_its_residuals(monkeypatch):
    X, y = two_classes()
    optimise = rows.optimise

    def off(by):
        def wrong(kernel, bounds, *more):
            found = optimise(kernel, bounds, *more)
            inside = (found.a != bounds.lower) & (found.a != bounds.upper)
            found.a[inside] *= 1 + by
            return found

        return wrong

    monkeypatch.setattr(rows, "optimise", off(1e-4))
    with pytest.warns(InaccurateSolution, match="ROWS reported 'optimal'"):
        PriorSVC(PRIORS["all"], kernel=RBF(0.4), solver="ROWS").fit(X, y)
    monkeypatch.setattr(rows, "optimise", off(0.5))
    with pytest.raises(SolverFailed, match="residuals of the original problem are too large"):
        PriorSVC(PRIORS["all"], kernel=RBF(0.4), solver="ROWS").fit(X, y)


# ------------------------------------------------------------------------------- what it refuses


class Odd(Knowledge):
    """Terms that are no rows with a slack."""

    def __init__(self, kind):
        self.kind = kind
        self.mu = 1.0

    def build(self, f, view):
        import cvxpy as cp

        g, t, u = f(view.sample.X), cp.Variable(60, name="t"), cp.Variable(60, nonneg=True, name="u")
        s = cp.Variable(nonneg=True, name="s")
        penalties, constraints = {
            "two slacks": (cp.sum(u) + cp.sum_squares(t), {"row": g <= t + u}),
            "bound above": (cp.sum(u), {"row": g <= u, "end": u <= 3.0}),
            "helps itself": (cp.sum(u), {"row": g + u <= 9.0}),
            "squares and prices": (cp.sum(u) + cp.sum_squares(u), {"row": g <= u}),
            "an equation with a price": (cp.sum(u), {"row": g == u}),
            "a square of several": (cp.square(s), {"row": g <= s}),
            "values tied": (cp.quad_form(g, np.eye(60) + 0.1), {}),
            "a line": (cp.sum(g) + cp.sum_squares(g), {}),
            "plain cones": (cp.sum(u), {"row": cp.NonNeg(u - g), "other": cp.Zero(g[0] - g[1])}),
            "a cone": (cp.sum(u), {"row": cp.SOC(u[0], g)}),
        }[self.kind]
        return Terms({"mu": penalties}, constraints)


REFUSALS = [
    ({"norm": "l1"}, OddnessHint(), "it has the 2-norm only, not norm='l1'"),
    ({"n_centres": 5, "kernel": RBF()}, OddnessHint(), "it takes no n_centres"),
    ({}, UncertainSamples(0.01 * np.eye(3)), "block 'uncertain_samples' shares the slack of the rows"),
    ({}, Polyhedron(np.eye(3), np.ones(3), 1, hard=True), "block 'polyhedron' uses more of f than values"),
    (
        {"kernel": NegativeDistance(1.5)},
        Monotone({0: 1}, method="points", points=10),
        "f is evaluated at slopes that it does not expand over",
    ),
    ({"kernel": RBF()}, Odd("two slacks"), "'.*' of block 'odd' is not the only slack of its row"),
    ({"kernel": RBF()}, Odd("bound above"), "'u' of block 'odd' has conditions of its own"),
    ({"kernel": RBF()}, Odd("helps itself"), "'u' of block 'odd' is not a slack: it makes a row harder"),
    (
        {"kernel": RBF()},
        Odd("squares and prices"),
        "'u' of block 'odd' has a cost that is neither linear nor",
    ),
    ({"kernel": RBF()}, Odd("an equation with a price"), "'u' of block 'odd' softens an equation"),
    ({"kernel": RBF()}, Odd("a square of several"), "'s' of block 'odd' is in several rows"),
    ({"kernel": RBF()}, Odd("values tied"), "it has a penalty that ties values to each other"),
    ({"kernel": RBF()}, Odd("a line"), "it has a linear penalty on f"),
    ({"kernel": RBF()}, Odd("a cone"), "block 'odd' adds cones"),
]


@pytest.mark.parametrize(("settings", "prior", "reason"), REFUSALS, ids=[reason for _, _, reason in REFUSALS])
def test_refusals_say_why(settings, prior, reason):
    X, y = two_classes()
    with pytest.raises(SolverUnsuited, match=f"ROWS cannot solve this problem: {reason}"):
        PriorSVC(prior, solver="ROWS", **settings).fit(X, y)


def test_sparse_rows_and_options_are_refused():
    X, y = two_classes()
    with pytest.raises(SolverUnsuited, match="it takes no sparse X"):
        PriorSVC(solver="ROWS").fit(csr_array(X), y)
    with pytest.raises(InvalidInput, match="ROWS takes no solver_options, got max_iter"):
        PriorSVC(solver="ROWS", kernel="rbf", solver_options={"max_iter": 3}).fit(X, y)


# ------------------------------------------------------------------------------- paths


def test_a_path_assembles_once_and_equals_its_fits(monkeypatch):
    X, y = two_classes(auto.ROWS_FROM)
    made = []

    class Counting(rows.RowsProblem):
        def __init__(self, *arguments):
            made.append(self)
            super().__init__(*arguments)

    monkeypatch.setattr(rows, "RowsProblem", Counting)
    base = PriorSVC(PRIORS["all"], kernel=RBF(0.4))
    values = {"monotonicity_hint__mu": [0.0, 10.0], "C": [0.01, 100.0]}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", Outbid)
        models = base.fit_path(X, y, values)
    assert len(made) == 1
    for model in models:
        alone = clone(model).fit(X, y)
        assert (model.solver_, alone.solver_) == ("ROWS", "ROWS")
        np.testing.assert_allclose(model.objective_, alone.objective_, rtol=1e-9)
        np.testing.assert_allclose(model.decision_function(X), alone.decision_function(X), atol=1e-6)
        assert sum(row.contribution for row in model.report_.rows) == pytest.approx(model.objective_)


def test_a_hard_rule_after_completion_by_conditional_means_is_solved_by_rows():
    """With confidence 0.5 there are no cones, so the fit is the fit on the completed rows."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    y = (X.sum(axis=1) + 0.8 * rng.normal(size=40) > 0.3).astype(int)
    X[rng.random(X.shape) < 0.1] = np.nan
    rule = Rule("x0 >= 1.2 and x1 >= 0.8", 1, hard=True)
    model = PriorSVC(rule + MissingValues(confidence=0.5), kernel="rbf").fit(X, y)
    assert model.report_.solves[0]["solver"] == "ROWS"
    completed = model._models[0].training.X
    f = PriorSVC(rule, kernel="rbf").fit(completed, y).decision_function(completed)
    np.testing.assert_allclose(model.decision_function(completed), f, atol=1e-6)
    cones = PriorSVC(rule + MissingValues(), kernel="rbf", solver="ROWS")
    with pytest.raises(SolverUnsuited, match="shares the slack of the rows"):
        cones.fit(X, y)
