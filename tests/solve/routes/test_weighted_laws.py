"""Laws of every route of weighted SVMs: answers, refusals, degenerate rows and the deadline."""

import contextlib
import itertools
import time
import warnings
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.sparse import csr_array, random_array

from priorsvm import ClassCosts, OddnessHint, PriorSVC, SampleCosts
from priorsvm._utils.deadline import NEVER, Deadline
from priorsvm.errors import OutOfTime, SolverFailed, SolverUnsuited
from priorsvm.solve.registry import registry
from priorsvm.solve.routes.weighted_route import WeightedRoute

N = 60
ROUTES = [name for name, route in registry().items() if isinstance(route, WeightedRoute)]
PRIORS = {
    "plain": None,
    "costs": ClassCosts({1: 3.0}) + SampleCosts(np.linspace(0.0, 2.0, N)),
    "margins": SampleCosts(margins=np.linspace(0.5, 1.5, N)),
}


def drawn(n=N, d=4):
    """Return rows and labels, some of them wrong."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(n, d)) + 0.4
    return X, (X @ rng.normal(size=d) + rng.normal(size=n) > 0.3).astype(int)


def sparse_rows(n=N, d=150):
    """Return sparse rows with more columns than rows, and their labels."""
    rng = np.random.default_rng(4)
    X = csr_array(random_array((n, d), density=0.05, rng=rng))
    return X, (X @ rng.normal(size=d) + 0.2 * rng.normal(size=n) > 0).astype(int)


# Rows and kernel. A route has to solve one of these models.
MODELS = {
    "dense, linear": (drawn(), "linear"),
    "dense, rbf": (drawn(), "rbf"),
    "sparse, linear": (sparse_rows(), "linear"),
}


@pytest.fixture(scope="module")
def right():
    """Function that returns CLARABEL's model of a case, which is fitted once."""
    known = {}

    def fit(case):
        if case not in known:
            known[case] = fitted("CLARABEL", case)
        return known[case]

    return fit


def fitted(solver, case):
    """Return the model of a case: rows and kernel, prior, loss and C."""
    name, prior, loss, C = case
    (X, y), kernel = MODELS[name]
    return PriorSVC(PRIORS[prior], kernel=kernel, loss=loss, C=C, tol=1e-7, solver=solver).fit(X, y)


@pytest.mark.parametrize("solver", ROUTES)
def test_every_answer_is_that_of_clarabel(solver, right):
    solved = []
    for case in itertools.product(MODELS, PRIORS, ["hinge", "squared_hinge"], [0.1, 10.0]):
        try:
            model = fitted(solver, case)
        except SolverUnsuited:
            continue
        except SolverFailed as error:
            if "The answer is discarded" in str(error):
                pytest.fail(f"{case}: {error}")
            continue
        solved.append(case)
        other = right(case)
        X = MODELS[case[0]][0][0]
        assert (model.solver_, model.status_) == (solver, "optimal"), case
        assert model.report_.solves[0]["residuals"].worst <= 1e-6, case
        assert model.objective_ == pytest.approx(other.objective_, rel=1e-6), case
        difference = model.decision_function(X) - other.decision_function(X)
        # The bias is not unique if no row is between its bounds.
        assert np.ptp(difference) <= 1e-2 * np.ptp(other.decision_function(X)), case
    assert solved, f"{solver} solves none of MODELS: add a model to {__file__}."


@pytest.mark.parametrize("solver", ROUTES)
@pytest.mark.parametrize(
    ("prior", "parameters", "reason"),
    [
        (OddnessHint(), {}, "block 'oddness_hint' does more than add or reweight rows"),
        (None, {"norm": "l1"}, "it has the 2-norm only, not norm='l1'"),
        (None, {"kernel": "rbf", "n_centres": 5}, "it takes no n_centres"),
        (None, {"C": np.inf}, "it requires a finite C"),
    ],
)
def test_every_route_refuses_what_is_not_a_weighted_svm(solver, prior, parameters, reason):
    with pytest.raises(SolverUnsuited, match=f"{solver} cannot solve this problem: {reason}"):
        PriorSVC(prior, solver=solver, **parameters).fit(*drawn())


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("solver", ROUTES)
@pytest.mark.parametrize("model", MODELS)
def test_rows_of_zeros_and_equal_rows(solver, model):
    (X, y), kernel = MODELS[model]
    zeros = 0.0 * X
    equal = X[np.arange(N) // 10]
    for rows in (zeros, equal):
        try:
            found = PriorSVC(kernel=kernel, solver=solver).fit(rows, y)
        except (SolverUnsuited, SolverFailed):
            continue
        other = PriorSVC(kernel=kernel, solver="CLARABEL").fit(rows, y)
        assert found.objective_ == pytest.approx(other.objective_, rel=1e-5)


@pytest.mark.parametrize("solver", ROUTES)
@pytest.mark.parametrize("model", MODELS)
def test_every_route_ends_in_time(solver, model):
    """A model that takes long without a limit; the time of this thread does not depend on other programs."""
    kernel = MODELS[model][1]
    X, y = sparse_rows(600, 400) if "sparse" in model else drawn(600, 20)
    estimator = PriorSVC(kernel=kernel, C=1e6, tol=1e-9, solver=solver, max_seconds=0.5)
    start = time.thread_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with contextlib.suppress(OutOfTime, SolverFailed, SolverUnsuited):
            assert np.isfinite(estimator.fit(X, y).decision_function(X)).all()
    assert time.thread_time() - start < 2.5  # LIBSVM's iterations are limited by a guess of their time


def test_more_steps_are_advised_unless_the_time_ran_out():
    def advice(name, deadline, status="user_limit"):
        solution = SimpleNamespace(outcome=SimpleNamespace(status=status, iterations=7))
        return registry()[name].hint(SimpleNamespace(spec=SimpleNamespace(deadline=deadline)), solution)

    assert "stopped after 7 iterations" in advice("LIBSVM", NEVER)
    assert "max_iter" in advice("LIBSVM", Deadline.after(60.0))
    assert advice("LIBSVM", Deadline.after(-1.0)) == ""
    assert advice("LIBSVM", NEVER, "optimal") == ""
    assert advice("NORMAL", NEVER) == ""  # it has no option max_iter
