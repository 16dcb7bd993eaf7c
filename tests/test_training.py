"""Models of several classes: one after the other, in threads, or in processes."""

import threading

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning

from priorsvm import (
    RBF,
    ClassCosts,
    MissingValues,
    MonotonicityHint,
    PriorSVC,
    Shift,
    UncertainSamples,
    VirtualSamples,
    VirtualSupportVectors,
    training,
)
from priorsvm._utils.cache import Cache
from priorsvm._utils.threads import CvxpyNeeded, without_cvxpy
from priorsvm.solve import weighted
from priorsvm.solve.routes import libsvm


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X[:300] / 16, y[:300]


@pytest.fixture
def threads(monkeypatch):
    """Use threads for any work, and return the names of threads that fitted a model."""
    names = []
    solve = libsvm.solve

    def recorded(*arguments):
        names.append(threading.current_thread().name)
        return solve(*arguments)

    monkeypatch.setattr(libsvm, "solve", recorded)
    monkeypatch.setattr(training._Threads, "worth", -1.0)
    monkeypatch.setattr(weighted, "THREADED_ROWS", 0)
    return names


@pytest.mark.parametrize("multi_class", ["ovr", "ovo"])
@pytest.mark.parametrize("prior", [None, ClassCosts("balanced") + VirtualSamples(Shift(np.full(64, 0.1)))])
def test_threads_give_the_same_models(threads, digits, multi_class, prior):
    X, y = digits
    parameters = {"prior": prior, "kernel": RBF(0.05), "C": 5.0, "multi_class": multi_class}
    alone = PriorSVC(**parameters).fit(X, y)
    assert len(set(threads)) == 1
    together = PriorSVC(**parameters, n_jobs=2).fit(X, y)
    assert len(set(threads)) > 1
    assert_array_equal(together.decision_function(X), alone.decision_function(X))
    assert together.objective_ == alone.objective_
    assert together.solver_ == alone.solver_


def test_short_fits_use_one_thread(threads, monkeypatch, digits):
    monkeypatch.setattr(training._Threads, "worth", np.inf)
    PriorSVC(kernel=RBF(0.05), n_jobs=2).fit(*digits)
    assert set(threads) == {threading.main_thread().name}


def test_the_shared_kernel_matrix_is_not_part_of_the_expected_time(monkeypatch, digits):
    """A kernel matrix of a minute does not make the remaining models long."""
    monkeypatch.setattr(training._Threads, "worth", 1.0)
    monkeypatch.setattr(training._Threads, "train", lambda *_: pytest.fail("threads were used"))
    get = Cache.get

    def slow(self, key, make):
        first = not self.entries
        value = get(self, key, make)
        if first:
            self.seconds += 60.0
        return value

    monkeypatch.setattr(Cache, "get", slow)
    PriorSVC(kernel=RBF(0.05), n_jobs=2).fit(*digits)


def test_warnings_of_threads_are_issued_here(threads, digits):
    X, y = digits
    few = y < 3
    prior = VirtualSupportVectors(Shift(np.full(64, 0.1)))
    model = PriorSVC(prior, kernel=RBF(0.05), max_rounds=1, n_jobs=2)
    with pytest.warns(ConvergenceWarning, match="max_rounds=1") as caught:
        model.fit(X[few], y[few])
    assert len(set(threads)) > 1
    assert {warning.filename for warning in caught} == {__file__}


def test_a_model_that_needs_cvxpy_is_fitted_without_threads(threads, monkeypatch, digits):
    X, y = digits
    few = y < 3
    alone = PriorSVC(kernel=RBF(0.05)).fit(X[few], y[few])
    run = training._Threads.run
    needed = []

    def once(job, fit, share):
        if job.sample.positive == 1:
            needed.append(1)
            return None, []
        return run(job, fit, share)

    monkeypatch.setattr(training._Threads, "run", staticmethod(once))
    together = PriorSVC(kernel=RBF(0.05), n_jobs=2).fit(X[few], y[few])
    assert needed == [1]
    assert_allclose(together.decision_function(X), alone.decision_function(X), rtol=0, atol=1e-12)


def test_cvxpy_is_refused_in_threads(digits):
    X, y = digits
    model = PriorSVC(MonotonicityHint({0: 1}, pairs=3), kernel=RBF(0.05), solver="CLARABEL")
    with without_cvxpy(), pytest.raises(CvxpyNeeded):
        model.fit(X[:40], y[:40] > 4)
    model.fit(X[:40], y[:40] > 4)


@pytest.mark.slow
def test_processes_share_the_kernel_matrix(monkeypatch, digits):
    X, y = digits
    few = y < 4
    monkeypatch.setattr(training._Processes, "worth", -1.0)
    prior = MonotonicityHint({20: 1}, label=1, pairs=5)
    parameters = {"prior": prior, "kernel": RBF(0.05), "random_state": 0}
    alone = PriorSVC(**parameters).fit(X[few], y[few])
    together = PriorSVC(**parameters, n_jobs=2).fit(X[few], y[few])
    assert_allclose(together.decision_function(X), alone.decision_function(X), rtol=0, atol=1e-9)


@pytest.mark.parametrize("multi_class", ["ovr", "ovo"])
@pytest.mark.parametrize("block", [UncertainSamples(0.2), MissingValues()], ids=["uncertain", "missing"])
def test_workers_of_blocks_whose_state_is_not_known_yet(block, multi_class):
    X = np.random.default_rng(0).normal(size=(60, 3))
    y = np.digitize(X[:, 0], [-0.5, 0.5])
    X[::7, 2] = np.nan if isinstance(block, MissingValues) else 0.0
    models = [PriorSVC(block, kernel="rbf", multi_class=multi_class, n_jobs=k).fit(X, y) for k in (1, 2)]
    np.testing.assert_allclose(models[0].objective_, models[1].objective_, rtol=1e-9)
