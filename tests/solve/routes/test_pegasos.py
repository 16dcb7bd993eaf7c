"""Passes in small batches: the best bias by brute force, and bounds with the exact optimum in between."""

import pickle
import re
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.preprocessing import StandardScaler

from priorsvm import (
    Box,
    ClassCosts,
    FeatureDeletion,
    FeatureScaling,
    InvariantLoss,
    PriorSVC,
    SampleCosts,
    Shift,
    Transductive,
    UnlabeledSamples,
    VirtualSamples,
)
from priorsvm.errors import (
    CollapsedModel,
    InaccurateSolution,
    InvalidInput,
    MissingCapability,
    SolverUnsuited,
)
from priorsvm.prior import as_prior
from priorsvm.solve.methods.bias import best_bias

MOVES = Shift([[0.3, 0.1, 0.0, 0.0], [0.0, 0.2, 0.2, 0.0]])
ROUGH = pytest.mark.filterwarnings("ignore::priorsvm.errors.InaccurateSolution")


def draw(n=150, d=4, seed=0, noise=1.0):
    """Two classes that overlap, the second one rarer."""
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < 0.35).astype(int)
    return np.where(y == 1, 1.0, -0.5)[:, None] * np.linspace(1.5, 0.2, d) + noise * rng.normal(
        size=(n, d)
    ), y


def few(n=150, seed=0, most=0.6):
    """Rows of counts, most of them zero."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    rates = np.where(y[:, None] == 1, np.linspace(0.1, most, 20), np.linspace(most, 0.1, 20))
    return rng.poisson(rates).astype(float), y


def streamed(transform=MOVES, prior=None, **parameters):
    """A model that passes through its rows, with a block beside."""
    block = InvariantLoss(transform, method="pegasos")
    return PriorSVC(
        block if prior is None else prior + block, **{"tol": 1e-2, "max_rounds": 30, **parameters}
    )


def exactly(model):
    """The same model, solved exactly."""
    model = clone(model)
    spoils = isinstance(as_prior(model.prior)["invariant_loss"].transform, FeatureScaling)
    method = "closed" if spoils else "all"
    return model.set_params(
        prior__invariant_loss__method=method, tol=1e-8, max_rounds=100, solver_options=None
    )


# -------------------------------------------------------------------------------- the best bias


def loss_of(b, asked, y, C):
    return float(C @ np.maximum(asked - y * b, 0.0))


def check_best(asked, y, C):
    """It is a minimum, since it is one over all kinks of a convex broken line, and a proves it."""
    b, a = best_bias(asked, y, C)
    least = min(loss_of(kink, asked, y, C) for kink in y * asked)
    size = 1e-10 * (1.0 + float(C @ np.abs(asked)))
    assert loss_of(b, asked, y, C) == pytest.approx(least, abs=size)
    assert abs(float(y @ a)) <= 1e-10 * C.sum()
    assert (a >= 0).all()
    assert (a <= C * (1 + 1e-12)).all()
    assert float(a @ asked) == pytest.approx(least, abs=size)
    assert_allclose(a[asked - y * b > 1e-9], C[asked - y * b > 1e-9])
    assert_array_equal(a[asked - y * b < -1e-9], 0.0)


@pytest.mark.parametrize("seed", range(60))
def test_best_bias(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 40))
    y = np.where(rng.random(n) < rng.uniform(0.05, 0.95), 1.0, -1.0)
    C = rng.uniform(0.0, 3.0, n) * 10.0 ** rng.integers(-3, 4)
    check_best(rng.normal(scale=10.0 ** rng.integers(-2, 3), size=n), y, C)


@pytest.mark.parametrize("seed", range(60))
def test_best_bias_with_ties(seed):
    rng = np.random.default_rng(1000 + seed)
    n = int(rng.integers(1, 30))
    y = np.where(rng.random(n) < 0.5, 1.0, -1.0)
    asked = rng.integers(-2, 3, n).astype(float)
    C = np.ones(n) if seed % 2 else rng.integers(1, 4, n).astype(float)
    check_best(asked, y, C)


@pytest.mark.parametrize(
    ("asked", "y", "C"),
    [
        ([1.0], [1], [2.0]),
        ([1.0], [-1], [2.0]),
        ([1.0, 3.0, -2.0], [1, 1, 1], [1.0, 2.0, 1.0]),
        ([1.0, 3.0, -2.0], [-1, -1, -1], [1.0, 2.0, 1.0]),
        ([1.0, 1.0, 1.0, 1.0], [1, 1, -1, -1], [1.0, 1.0, 1.0, 1.0]),
        ([1.0, 1.0, 1.0], [1, 1, -1], [1.0, 1.0, 1.0]),
        ([0.0, 0.0, 0.0], [1, -1, -1], [0.1, 0.1, 0.1]),
        ([-1.0, -1.0], [1, -1], [1.0, 1.0]),
        ([1.0, 1.0], [1, -1], [1e-9, 1e9]),
    ],
    ids=["one", "one below", "all above", "all below", "even", "uneven", "zero", "none short", "far apart"],
)
def test_best_bias_of_few(asked, y, C):
    check_best(np.array(asked), np.array(y, float), np.array(C))


def test_best_bias_by_hand():
    b, a = best_bias(np.array([1.0, 1.0, 1.0]), np.array([1.0, 1.0, -1.0]), np.ones(3))
    assert b == 1.0  # two rows ask for more, one for less
    assert_allclose(a.sum(), 2.0)
    assert a[2] == 1.0


# -------------------------------------------------------------------------------- bounds

X3, Y3 = draw()
COUNTS, SPAM = few()
WEIGHT = np.random.default_rng(8).uniform(0.0, 2.0, 150) * (np.arange(150) % 5 > 0)
RHO = np.random.default_rng(9).uniform(0.2, 2.0, 150)

CASES = {
    "moves": (streamed(), X3, Y3, None),
    "moves of less cost": (PriorSVC(InvariantLoss(MOVES, 0.4, method="pegasos"), tol=1e-2), X3, Y3, None),
    "small C": (streamed(C=0.01), X3, Y3, None),
    "large C": (streamed(C=20.0), X3, Y3, None),
    "small batches": (streamed(solver_options={"batch": 10}), X3, Y3, None),
    "weights": (streamed(), X3, Y3, WEIGHT),
    "class costs": (streamed(prior=ClassCosts({1: 5.0})), X3, Y3, None),
    "balanced": (streamed(prior=ClassCosts("balanced")), X3, Y3, WEIGHT),
    "margins": (streamed(prior=SampleCosts(margins=RHO)), X3, Y3, WEIGHT),
    "standard": (streamed(scale="standard"), 7 * X3 + 3, Y3, None),
    "minmax": (streamed(scale="minmax", C=10.0), 7 * X3 + 3, Y3, WEIGHT),
    "virtual samples": (streamed(prior=VirtualSamples(Shift([0, 0, 0, 0.5]))), X3, Y3, WEIGHT),
    "half of them": (streamed(prior=0.5 * VirtualSamples(Shift([0, 0, 0, 0.5]))), X3, Y3, None),
    "other rows": (streamed(prior=UnlabeledSamples(X3[:9] + 1, Y3[:9])), X3, Y3, None),
    "deletion": (streamed(FeatureDeletion(2)), COUNTS, SPAM, None),
    "deletion, sparse": (streamed(FeatureDeletion(2)), csr_array(COUNTS), SPAM, None),
    "scaling, sparse, weights": (
        streamed(FeatureScaling(3, 0.5, 2.0), ClassCosts({0: 2.0})),
        csr_array(COUNTS),
        SPAM,
        WEIGHT,
    ),
    "deletion, standard": (streamed(FeatureDeletion(1), scale="standard", C=0.1), COUNTS, SPAM, None),
}


@pytest.mark.slow
@ROUGH
@pytest.mark.parametrize("name", CASES)
def test_the_optimum_is_between_the_bounds_in_every_pass(name):
    model, X, y, weight = CASES[name]
    model = clone(model).fit(X, y, weight)
    exact = exactly(model).fit(X, y, weight).objective_
    lower, upper, gap = (np.array([e[key] for e in model.history_]) for key in ("lower", "upper", "gap"))
    assert len(lower) == model.n_rounds_ >= 1
    assert (lower <= exact * (1 + 1e-7)).all()
    assert (upper >= exact * (1 - 1e-7)).all()
    assert (np.diff(lower) >= 0).all()
    assert (np.diff(upper) <= 0).all()
    beyond = np.array([(u - l) / g for u, l, g in zip(upper, lower, gap, strict=True)]) - (1 + upper)
    assert (beyond <= 1e-9).all()  # relative to 1 + upper, or to all costs where these are less
    assert [e["objective"] for e in model.history_] == upper.tolist()
    assert model.objective_ == pytest.approx(upper[-1], rel=1e-9)
    assert upper[-1] < (2.0 if name == "large C" else 1.2) * exact
    assert model.solver_ == "PEGASOS"
    assert model.status_ == ("optimal" if gap[-1] <= 1e-2 else "optimal_inaccurate")
    assert model.problem.solve(solver="CLARABEL") == pytest.approx(exact, rel=1e-5)


@pytest.mark.filterwarnings("ignore::priorsvm.errors.CollapsedModel")
@ROUGH
@pytest.mark.parametrize("seed", range(6))
def test_random_problems(seed):
    rng = np.random.default_rng(50 + seed)
    n, d = int(rng.integers(5, 120)), int(rng.integers(1, 8))
    X, y = draw(n, d, seed, noise=rng.uniform(0.2, 2.0))
    y[:2] = [0, 1]
    moves = Shift(rng.normal(scale=0.3, size=(2, d)))
    options = {"batch": int(rng.integers(2, 60))}
    model = streamed(moves, C=float(10 ** rng.uniform(-2, 1)), solver_options=options, random_state=seed)
    model.fit(X, y)
    exact = exactly(model).fit(X, y).objective_
    assert model.history_[0]["lower"] <= model.history_[-1]["lower"] <= exact * (1 + 1e-7)
    assert model.objective_ >= exact * (1 - 1e-7)


def test_the_bounds_meet():
    X, y = draw()
    model = streamed(C=0.05, tol=1e-2, max_rounds=2000).fit(X, y)
    exact = exactly(model).fit(X, y)
    assert model.objective_ == pytest.approx(exact.objective_, rel=1e-2)
    assert model.history_[-1]["lower"] == pytest.approx(exact.objective_, rel=2e-2)
    assert_allclose(model.coef_, exact.coef_, atol=0.1 * np.abs(exact.coef_).max())


# -------------------------------------------------------------------------------- by hand


def by_hand(w, b, orbit, y, C, demand=1.0):
    """The primal with the worst of the listed moves of each row."""
    sign = np.where(y == 1, 1.0, -1.0)
    asked = demand - sign[:, None] * (orbit @ w + b)
    return 0.5 * w @ w + np.broadcast_to(C, len(y)) @ np.maximum(asked, 0.0).max(axis=1)


@ROUGH
@pytest.mark.parametrize("cost", [None, 0.4])
def test_the_objective_is_the_primal_at_its_coefficients(cost):
    X, y = draw()
    block = InvariantLoss(MOVES, cost, method="pegasos")
    model = PriorSVC(block, C=2.0, tol=1e-2, max_rounds=5).fit(X, y)
    demand = 1.0 if cost is None else 1.0 - 0.6 * np.abs(MOVES.theta_grid()).max(axis=1)
    primal = by_hand(model.coef_[0], model.intercept_[0], MOVES.orbit(X), y, 2.0, demand)
    assert model.objective_ == pytest.approx(primal, rel=1e-9)
    assert model.history_[-1]["upper"] == pytest.approx(primal, rel=1e-9)


@ROUGH
def test_the_objective_with_features_that_go():
    X, y = few()
    model = streamed(FeatureDeletion(2), max_rounds=5).fit(csr_array(X), y, WEIGHT)
    w, b = model.coef_[0], model.intercept_[0]
    sign = np.where(y == 1, 1.0, -1.0)
    shares = sign[:, None] * X * w
    least = sign * b + shares.sum(axis=1) - np.maximum(np.sort(shares, axis=1)[:, -2:], 0.0).sum(axis=1)
    assert model.objective_ == pytest.approx(0.5 * w @ w + WEIGHT @ np.maximum(1 - least, 0.0), rel=1e-9)


@ROUGH
def test_no_bias_is_better():
    X, y = draw()
    model = streamed(max_rounds=3, C=2.0).fit(X, y)
    w, b, orbit = model.coef_[0], model.intercept_[0], MOVES.orbit(X)
    at = by_hand(w, b, orbit, y, 2.0)
    assert all(at <= by_hand(w, b + change, orbit, y, 2.0) + 1e-9 for change in np.linspace(-1, 1, 41))


@ROUGH
def test_scale_is_a_scaler_before_the_model():
    X, y = draw()
    X = X * [1.0, 10.0, 0.1, 3.0] + 2
    scaler = StandardScaler().fit(X)
    inside = streamed(Shift([1.0, 5.0, 0.0, 0.0]), scale="standard", max_rounds=5).fit(X, y)
    outside = streamed(Shift([1.0, 5.0, 0.0, 0.0] / scaler.scale_), max_rounds=5).fit(scaler.transform(X), y)
    assert_allclose(inside.decision_function(X), outside.decision_function(scaler.transform(X)), atol=1e-8)
    assert_allclose(inside.decision_function(X), X @ inside.coef_[0] + inside.intercept_, atol=1e-9)


@ROUGH
def test_sparse_rows_are_dense_rows():
    X, y = few()
    dense, sparse = (streamed(FeatureDeletion(2), max_rounds=5).fit(A, y) for A in (X, csr_array(X)))
    assert_allclose(sparse.coef_, dense.coef_, atol=1e-9)
    assert sparse.objective_ == pytest.approx(dense.objective_, rel=1e-9)


@ROUGH
def test_rows_of_weight_zero_are_not_there():
    X, y = draw()
    kept = np.arange(len(y)) % 3 != 0
    weighted = streamed(max_rounds=5).fit(X, y, kept.astype(float))
    removed = streamed(max_rounds=5).fit(X[kept], y[kept])
    assert_allclose(weighted.coef_, removed.coef_, atol=1e-9)
    assert_array_equal(weighted.support_, np.flatnonzero(kept)[removed.support_])


# -------------------------------------------------------------------------------- how the fit goes


@ROUGH
def test_the_same_state_gives_the_same_model():
    X, y = draw()
    options = {"solver_options": {"batch": 20}, "max_rounds": 3}
    one, two, other = (streamed(random_state=seed, **options).fit(X, y) for seed in (3, 3, 4))
    assert_array_equal(one.coef_, two.coef_)
    assert_array_equal(one.intercept_, two.intercept_)
    assert np.abs(one.coef_ - other.coef_).max() > 1e-6
    assert_array_equal(streamed(**options).fit(X, y).coef_, streamed(**options).fit(X, y).coef_)


@ROUGH
def test_one_batch_needs_no_draws():
    X, y = draw()
    one, two = (
        streamed(random_state=seed, solver_options={"batch": 10**6}, max_rounds=3).fit(X, y)
        for seed in (3, 4)
    )
    assert_allclose(one.coef_, two.coef_, atol=1e-9)


@ROUGH
def test_the_size_of_batches_is_of_effect():
    X, y = draw()
    small, large = (streamed(solver_options={"batch": size}, max_rounds=3).fit(X, y) for size in (10, 75))
    default, hundred = (streamed(solver_options=o, max_rounds=3).fit(X, y) for o in (None, {"batch": 100}))
    assert np.abs(small.coef_ - large.coef_).max() > 1e-6
    assert_array_equal(default.coef_, hundred.coef_)


def test_too_few_passes_warn_with_the_gap():
    X, y = draw()
    said = r"'invariant_loss': .* after 2 of max_rounds=2 passes, and tol=0\.001"
    with pytest.warns(InaccurateSolution, match=said) as caught:
        model = streamed(tol=1e-3, max_rounds=2).fit(X, y)
    gap = float(re.search(r"within (\S+) of", str(caught[0].message))[1])
    assert gap == pytest.approx(model.history_[-1]["gap"], rel=0.06)
    assert model.status_ == "optimal_inaccurate"
    assert model.n_rounds_ == 2


def test_a_loose_tolerance_is_met_in_silence():
    X, y = draw()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = streamed(tol=0.1, max_rounds=1000).fit(X, y)
    assert model.status_ == "optimal"
    assert model.n_rounds_ < 1000
    assert model.history_[-1]["gap"] <= 0.1
    assert all(entry["gap"] > 0.1 for entry in model.history_[:-1])


def test_what_is_told_of_the_fit():
    X, y = draw()
    model = streamed(prior=ClassCosts({1: 2.0}), tol=0.1, max_rounds=1000).fit(X, y)
    report = model.report_
    assert sum(row.contribution for row in report.rows) == pytest.approx(model.objective_, rel=1e-12)
    assert "PEGASOS optimal" in str(report)
    assert model.verify().holds
    assert model.verify()["invariant_loss"].checked == len(y)
    assert "invariant" in str(model.formulation())
    assert model.findings_ == {}
    f = np.where(y == 1, 1, -1) * model.decision_function(X)
    assert set(np.flatnonzero(f < 0.5)) <= set(model.support_)


def test_clone_pickle_and_path():
    X, y = draw()
    model = streamed(tol=0.2, max_rounds=1000, C=0.5)
    assert_array_equal(clone(model).fit(X, y).coef_, model.fit(X, y).coef_)
    again = pickle.loads(pickle.dumps(model))
    assert_array_equal(again.decision_function(X), model.decision_function(X))
    assert again.objective_ == model.objective_
    assert again.problem.solve(solver="CLARABEL") == pytest.approx(
        exactly(model).fit(X, y).objective_, rel=1e-6
    )
    path = model.fit_path(X, y, {"C": [0.1, 0.5]})
    assert_array_equal(path[1].coef_, model.coef_)
    assert path[0].objective_ < path[1].objective_


def test_a_path_over_methods():
    X, y = draw()
    methods = ["pegasos", "all", "pegasos", "columns"]
    path = streamed(tol=0.1, max_rounds=500).fit_path(X, y, {"invariant_loss__method": methods})
    assert [m.solver_ == "PEGASOS" for m in path] == [True, False, True, False]
    assert path[1].objective_ == pytest.approx(path[3].objective_, rel=1e-1)
    assert all(m.objective_ >= 0.9 * path[1].objective_ for m in path)


# -------------------------------------------------------------------------------- classes and accuracy


def test_three_classes_are_one_against_the_rest():
    X, y = make_classification(
        90, 4, n_informative=3, n_redundant=0, n_classes=3, n_clusters_per_class=1, random_state=2
    )
    model = streamed(tol=0.1, max_rounds=1000).fit(X, y)
    exact = exactly(model).fit(X, y)
    assert model.decision_function(X).shape == (90, 3)
    assert model.solver_ == ["PEGASOS"] * 3
    for history, value, optimum in zip(model.history_, model.objective_, exact.objective_, strict=True):
        assert history[-1]["lower"] <= optimum * (1 + 1e-7)
        assert optimum * (1 - 1e-7) <= value <= optimum + 0.1 * (1 + value)
    for k, value in enumerate(model.objective_):
        alone = streamed(tol=0.1, max_rounds=1000).fit(X, (y == k).astype(int))
        assert alone.objective_ == pytest.approx(value, rel=1e-9)
    assert abs(model.score(X, y) - exact.score(X, y)) <= 0.04


@pytest.mark.slow
@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
def test_accuracy_is_that_of_the_exact_model(sparse):
    X, y = few(400, seed=1, most=1.5)
    new, truth = few(1000, seed=2, most=1.5)
    model = streamed(FeatureDeletion(2), tol=0.03, max_rounds=1000, C=0.05)
    model.fit(csr_array(X) if sparse else X, y)
    exact = exactly(model).set_params(prior__invariant_loss__method="columns", tol=1e-4).fit(X, y)
    assert abs(model.score(new, truth) - exact.score(new, truth)) <= 0.02
    assert exact.score(new, truth) > 0.8


# -------------------------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"kernel": "rbf", "n_centres": 5}, MissingCapability, "requires n_centres=None"),
        ({"norm": "l1"}, MissingCapability, "norm='l2'"),
        ({"loss": "squared_hinge"}, MissingCapability, "loss='hinge'"),
        ({"solver": "CLARABEL"}, SolverUnsuited, "solver='CLARABEL'"),
        ({"solver": ["CLARABEL", "SCS"]}, SolverUnsuited, "solver=['CLARABEL', 'SCS']"),
        (
            {"solver_options": {"max_iter": 5}},
            InvalidInput,
            "solver_options: max_iter. It takes: batch, budget.",
        ),
        ({"solver_options": {"batch": 1}}, InvalidInput, "batch must be a whole number of at least 2, got 1"),
        ({"solver_options": {"batch": 2.5}}, InvalidInput, "got 2.5"),
        ({"solver_options": {"batch": True}}, InvalidInput, "got True"),
        ({"solver_options": {"batch": "all"}}, InvalidInput, "got 'all'"),
        ({"solver_options": {"budget": 9}}, InvalidInput, "budget limits the centres of a kernel model"),
        ({"solver_options": {"budget": 1}, "kernel": "rbf"}, InvalidInput, "budget must be a whole number"),
    ],
    ids=str,
)
def test_parameters_that_are_refused(parameters, error, message):
    X, y = draw()
    with pytest.raises(error, match=re.escape(message)) as refused:
        streamed(**parameters).fit(X, y)
    assert re.search("pegasos|batch|budget", str(refused.value), re.IGNORECASE)


@pytest.mark.parametrize(
    ("block", "message"),
    [
        (InvariantLoss(MOVES, scaling="slack", method="pegasos"), "scaling='margin'"),
        (InvariantLoss(MOVES, continuous=True, method="pegasos"), "continuous=False"),
        (InvariantLoss(MOVES, cost=2.0, method="pegasos"), "cost"),
        (InvariantLoss(MOVES, confusion={(0, 1): 2.0}, method="pegasos"), "confusion"),
        (InvariantLoss(MOVES, method="sgd"), "'pegasos', got 'sgd'"),
    ],
    ids=["slack", "continuous", "cost", "confusion", "method"],
)
def test_losses_that_are_refused(block, message):
    X, y = draw()
    with pytest.raises(InvalidInput, match=re.escape(message)) as refused:
        PriorSVC(block).fit(X, y)
    assert "'invariant_loss'" in str(refused.value)


@pytest.mark.parametrize(
    ("other", "name"),
    [
        (Box({0: (0.0, 1.0)}, 1, holds="everywhere"), "box"),
        (Transductive(np.ones((3, 4))), "transductive"),
        (InvariantLoss(MOVES).named("second"), "second"),
        (InvariantLoss(MOVES, method="pegasos").named("second"), "second"),
    ],
    ids=["box", "transductive", "loss", "streamed loss"],
)
def test_other_blocks_are_refused_by_name(other, name):
    X, y = draw()
    with pytest.raises(InvalidInput, match=f"method='pegasos'.*'{name}'.*method='columns'"):
        PriorSVC(InvariantLoss(MOVES, method="pegasos") + other).fit(X, y)


def test_other_blocks_of_weight_zero_are_not_there():
    X, y = draw()
    model = streamed(prior=0 * Box({0: (0.0, 1.0)}, 1, holds="everywhere"), tol=0.2, max_rounds=1000).fit(
        X, y
    )
    assert_array_equal(model.coef_, streamed(tol=0.2, max_rounds=1000).fit(X, y).coef_)


# -------------------------------------------------------------------------------- edges


def test_two_rows():
    model = streamed(Shift([0.1]), tol=0.1, max_rounds=1000).fit([[-1.0], [1.0]], [0, 1])
    assert_array_equal(model.predict([[-2.0], [2.0]]), [0, 1])
    # The support vectors are at -0.9 and 0.9.
    assert 0.5 / 0.81 <= model.objective_ <= 0.5 / 0.81 + 0.1 * (1 + model.objective_)


@ROUGH
def test_a_batch_without_one_of_the_classes():
    X, y = draw()
    order = np.r_[np.flatnonzero(y == 1)[:3], np.flatnonzero(y == 0)]
    X, y = X[order], y[order]
    model = streamed(prior=ClassCosts("balanced"), solver_options={"batch": 5}).fit(X, y)
    exact = exactly(model).fit(X, y).objective_
    assert model.history_[-1]["lower"] <= exact * (1 + 1e-7)
    assert model.objective_ >= exact * (1 - 1e-7)


@ROUGH
@pytest.mark.parametrize(
    "method",
    [
        "columns",
        "pegasos",
    ],
)
def test_a_constant_f_is_warned_of(method):
    X, y = few(300)
    with pytest.warns(CollapsedModel, match="'invariant_loss'"):
        PriorSVC(InvariantLoss(FeatureDeletion(20), method=method), C=0.05, tol=1e-2).fit(X, y)
