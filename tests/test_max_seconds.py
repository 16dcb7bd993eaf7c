"""max_seconds: a long fit ends in time, with a finite answer and a warning, or with a clear error."""

import contextlib
import time
import warnings

import cvxpy  # noqa: F401 - its import is not part of a fit
import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.exceptions import ConvergenceWarning

from priorsvm import (
    Box,
    Ellipsoid,
    InvariantLoss,
    Monotone,
    OddnessHint,
    Polyhedron,
    PriorSVC,
    Translation,
    training,
)
from priorsvm.errors import InvalidInput, NotKept, OutOfTime, SolverFailed

X, Y = make_classification(300, 8, n_informative=4, flip_y=0.1, random_state=0)
WIDE = Box({0: (0.0, 3.0)}, 1, hard=True)
RISES = Monotone({0: 1, 1: -1, 2: 1}, hard=True)


def fitted(model, X=X, y=Y):
    """Return the model, its warnings and its seconds."""
    start = time.monotonic()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, y)
    return model, caught, time.monotonic() - start


def orbits():
    rng = np.random.default_rng(0)
    return rng.random((500, 64)), np.arange(500) % 2


# Each of these fits takes more than 10 seconds without a limit, on one core.
LONG = {
    "monotone": lambda: (RISES, {"kernel": "rbf", "C": 100.0}, X, Y),
    "box and monotone": lambda: (WIDE + RISES, {"kernel": "rbf", "C": 100.0}, X, Y),
    "polyhedron": lambda: (
        Polyhedron(-np.ones((1, 8)), [-2.0], 1, hard=True, within="data") + RISES,
        {"kernel": "rbf", "C": 100.0},
        X,
        Y,
    ),
    "ellipsoid": lambda: (
        Ellipsoid(np.zeros(8), 4.0 * np.eye(8), 1, hard=True) + RISES,
        {"kernel": "rbf", "C": 100.0},
        X,
        Y,
    ),
    "pegasos": lambda: (
        InvariantLoss(Translation((8, 8), 1), method="pegasos"),
        {"tol": 1e-8, "max_rounds": 10**6},
        *orbits(),
    ),
}


@pytest.mark.parametrize(
    "name", ["monotone", *(pytest.param(name, marks=pytest.mark.slow) for name in list(LONG)[1:])]
)
def test_a_long_fit_ends_with_the_answer_so_far(name):
    prior, parameters, rows, labels = LONG[name]()
    seconds = 1.5
    model, caught, taken = fitted(PriorSVC(prior, max_seconds=seconds, **parameters), rows, labels)
    assert taken < seconds + 1.0
    assert np.isfinite(model.decision_function(rows)).all()
    categories = [w.category for w in caught]
    assert ConvergenceWarning in categories
    [limit] = [w for w in caught if w.category is ConvergenceWarning]
    assert "max_seconds=1.5" in str(limit.message)
    assert model.status_ == model.history_[-1]["status"] == "time_limit"
    assert "ended by max_seconds after" in str(model.report_)
    assert "optimal" not in str(model.report_)


def test_the_violation_of_a_hard_block_is_stated():
    model, caught, _ = fitted(PriorSVC(RISES, kernel="rbf", C=100.0, max_seconds=0.7))
    texts = [str(w.message) for w in caught if w.category is NotKept]
    assert all("violated by at least" in text for text in texts)
    assert all("by a short check. verify() searches longer. Raise" in text for text in texts)
    stated = float(texts[0].split("at least ")[1].split(",")[0])
    assert -model.verify()["monotone"].worst > 0.9 * stated
    assert all("Raise max_seconds, which ended the fit" in text for text in texts)
    assert not any("max_rounds" in text for text in texts)
    [limit] = [str(w.message) for w in caught if w.category is ConvergenceWarning]
    assert "'monotone' may be violated" in limit


def test_a_model_keeps_no_deadline():
    model, _, _ = fitted(PriorSVC(RISES, kernel="rbf", C=100.0, max_seconds=0.7))
    [binary] = model._models
    assert binary.spec.limit is None
    assert "deadline" not in vars(binary.f)
    assert model.verify().holds in (True, False)


def test_without_an_answer_the_error_names_the_limit():
    with pytest.raises(OutOfTime, match=r"no answer within max_seconds=1e-06"):
        PriorSVC(OddnessHint(), kernel="rbf", max_seconds=1e-6).fit(X, Y)


def test_a_failed_fit_leaves_the_model_as_it_was():
    model = PriorSVC(kernel="rbf").fit(X, Y)
    before = model.decision_function(X)
    model.max_seconds = 1e-6
    with pytest.raises(OutOfTime):
        model.fit(X, 1 - Y)
    assert np.array_equal(model.decision_function(X), before)


def test_a_fit_in_time_is_the_fit_without_a_limit():
    limited = PriorSVC(Box({0: (1, 2)}, 1), kernel="rbf", max_seconds=60.0).fit(X, Y)
    assert limited.objective_ == PriorSVC(Box({0: (1, 2)}, 1), kernel="rbf").fit(X, Y).objective_


@pytest.mark.parametrize("solver", ["CLARABEL", "SCS", "OSQP", "SCHUR", "LIBSVM", "NORMAL"])
def test_named_solvers_end_in_time(solver):
    rows, labels = make_classification(300, 20, flip_y=0.3, random_state=1)
    kernel = "linear" if solver == "NORMAL" else "rbf"
    model = PriorSVC(kernel=kernel, C=1e5, solver=solver, max_seconds=0.5, tol=1e-9)
    start = time.monotonic()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with contextlib.suppress(OutOfTime, SolverFailed):  # SCS 3.2.7 gives up before the limit
            assert np.isfinite(model.fit(rows, labels).decision_function(rows)).all()
    assert time.monotonic() - start < 1.5


def test_schur_stops_at_its_time_limit():
    rows, labels = make_classification(200, 20, flip_y=0.3, random_state=1)
    model = PriorSVC(kernel="rbf", solver="SCHUR", solver_options={"time_limit": 0.0})
    with pytest.raises(Exception, match=r"iteration limit reached|no more progress"):
        model.fit(rows, labels)


@pytest.mark.slow
def test_classes_share_the_time():
    rows, labels = make_classification(300, 8, n_informative=6, n_classes=4, random_state=1)
    prior = Monotone({0: 1, 1: 1}, hard=True, label=1) + Monotone({2: 1}, hard=True, label=2).named("b")
    seconds = 2.0
    model, caught, taken = fitted(PriorSVC(prior, kernel="rbf", C=100.0, max_seconds=seconds), rows, labels)
    assert taken < seconds + 1.0
    assert len(model.solver_) == 4
    assert any(w.category is ConvergenceWarning for w in caught)


@pytest.mark.slow
def test_a_joint_model_ends_in_time():
    rows, labels = make_classification(900, 8, n_informative=6, n_classes=4, flip_y=0.3, random_state=1)
    model = PriorSVC(multi_class="joint", kernel="rbf", C=100.0, max_seconds=1.0)
    start = time.monotonic()
    with pytest.warns(ConvergenceWarning, match="joint model did not converge within max_seconds=1"):
        model.fit(rows, labels)
    assert time.monotonic() - start < 2.0
    assert set(np.ravel(model.status_)) == {"time_limit"}


@pytest.mark.slow
def test_every_model_of_a_path_has_the_time():
    start = time.monotonic()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        models = PriorSVC(RISES, kernel="rbf", max_seconds=0.7).fit_path(X, Y, {"C": [50.0, 100.0]})
    assert 2 * 0.7 < time.monotonic() - start < 2 * 0.7 + 1.0
    assert len(models) == 2
    assert sum(w.category is ConvergenceWarning for w in caught) == 2


def test_the_choice_of_mu_takes_half_of_the_time():
    prior = Box({0: (0, 3)}, 1) + RISES
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        PriorSVC(prior, kernel="rbf", C=100.0, max_seconds=2.0).fit(X, Y)
    texts = [str(w.message) for w in caught if w.category is ConvergenceWarning]
    assert any(
        "mu='auto' is the standard weight" in text and "50% of max_seconds=2" in text for text in texts
    )


@pytest.mark.parametrize("seconds", [0, -1, "soon", float("nan"), True])
def test_seconds_are_a_positive_number(seconds):
    with pytest.raises(InvalidInput, match="max_seconds must be a positive number or None, got"):
        PriorSVC(max_seconds=seconds).fit(X, Y)


def test_workers_start_only_if_there_is_time_for_it(monkeypatch):
    started = []

    def train(self, model, jobs, fit):
        started.append(len(jobs))
        return [job.run(fit) for job in jobs]

    monkeypatch.setattr(training._Processes, "worth", 1e-9)
    monkeypatch.setattr(training._Processes, "train", train)
    rows, labels = make_classification(60, 4, n_informative=4, n_redundant=0, n_classes=3, random_state=1)
    for room, expected in ((1e12, []), (20.0, [2])):  # 1000 seconds have to be left, or next to none
        monkeypatch.setattr(training, "ROOM", room)
        PriorSVC(OddnessHint(), kernel="rbf", n_jobs=2, max_seconds=60.0, multi_class="ovo").fit(rows, labels)
        assert started == expected


@pytest.mark.slow
def test_workers_end_in_time(monkeypatch):
    monkeypatch.setattr(training, "ROOM", 0.0)
    rows, labels = make_classification(300, 8, n_informative=6, n_classes=4, random_state=1)
    prior = Monotone({0: 1, 1: 1}, hard=True, label=1) + Monotone({2: 1}, hard=True, label=2).named("b")
    model = PriorSVC(prior, kernel="rbf", C=100.0, max_seconds=4.0, n_jobs=2)
    start = time.monotonic()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with contextlib.suppress(OutOfTime):
            model.fit(rows, labels)
    assert time.monotonic() - start < 8.0  # the workers start, too
