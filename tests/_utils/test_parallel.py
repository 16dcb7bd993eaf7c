"""The search for worst-case transformations on several workers, and on a cluster."""

import os
import threading

import joblib
import numpy as np
import pytest
from sklearn.datasets import load_digits

from priorsvm import RBF, FromFunction, InvariantLoss, PriorSVC, Shift, Translation
from priorsvm._utils import parallel
from priorsvm._utils.parallel import in_threads, over_rows


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    chosen = np.flatnonzero(np.isin(y, (3, 8)))[:60]
    return X[chosen] / 16, y[chosen]


class Where:
    """Sum of each row, and the process that computed it."""

    def __call__(self, rows):
        return np.column_stack([rows.sum(axis=1), np.full(len(rows), os.getpid())])


def processes(**configuration):
    """Return the processes that computed the rows."""
    rows = np.arange(100_000.0).reshape(20, 5000)
    with joblib.parallel_config(**configuration):
        found = over_rows(Where(), rows)
    np.testing.assert_array_equal(found[:, 0], rows.sum(axis=1))
    return set(found[:, 1].astype(int).tolist())


def test_without_workers_it_runs_here():
    assert processes() == {os.getpid()}


def test_small_arrays_stay_in_this_process():
    with joblib.parallel_config(n_jobs=2):
        assert set(over_rows(Where(), np.ones((20, 2)))[:, 1]) == {os.getpid()}


def threads(**configuration):
    """Return the threads in which parts ran; with two workers each part waits for another one."""
    found = set()
    both = threading.Barrier(2) if configuration.get("n_jobs") == 2 else None

    def work(part):
        found.add(threading.get_ident())
        if both is not None:
            both.wait(timeout=30)

    with joblib.parallel_config(**configuration):
        in_threads(work, range(4))
    return found


def test_parts_run_in_this_thread_without_workers():
    assert threads() == {threading.get_ident()}


def test_parts_run_in_as_many_threads_as_workers():
    assert len(threads(n_jobs=2)) == 2


@pytest.mark.slow
def test_several_processes():
    assert os.getpid() not in processes(n_jobs=2)


@pytest.mark.slow
@pytest.mark.parametrize("multi_class", ["ovr", "joint"])
def test_a_fit_with_workers_is_the_same_fit(monkeypatch, digits, multi_class):
    X, y = digits
    prior = InvariantLoss(Translation((8, 8), pixels=1), method="columns")
    model = PriorSVC(prior, kernel=RBF(0.05), multi_class=multi_class).fit(X, y)
    monkeypatch.setattr(parallel, "LEAST", 0)
    again = PriorSVC(prior, kernel=RBF(0.05), multi_class=multi_class, n_jobs=2).fit(X, y)
    np.testing.assert_allclose(again.decision_function(X), model.decision_function(X), atol=1e-12)


@pytest.mark.slow
def test_a_local_dask_cluster_finds_the_same_model(monkeypatch, digits):
    distributed = pytest.importorskip("distributed", reason="the extra 'dask' is not installed")
    X, y = digits
    gate = FromFunction(lambda rows, theta: rows * (1 + theta[0]), [[-0.2], [0.2]])
    priors = [
        InvariantLoss(Translation((8, 8), pixels=1), method="columns"),
        InvariantLoss(gate, method="all"),
    ]
    exact = [PriorSVC(prior, kernel=RBF(0.05)).fit(X, y) for prior in priors]
    monkeypatch.setattr(parallel, "LEAST", 0)
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
        joblib.parallel_config(backend="dask"),
    ):
        assert joblib.effective_n_jobs(None) == 2
        for prior, model in zip(priors, exact, strict=True):
            again = PriorSVC(prior, kernel=RBF(0.05)).fit(X, y)
            np.testing.assert_allclose(again.decision_function(X), model.decision_function(X), atol=1e-12)
        assert client.run_on_scheduler(lambda dask_scheduler: len(dask_scheduler.transition_log)) > 0


@pytest.mark.slow
def test_workers_search_between_the_points_of_the_grid(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2)) + np.repeat([[2.0, 0.0], [-2.0, 0.0]], 20, axis=0)
    y = np.repeat([0, 1], 20)
    prior = InvariantLoss(Shift([0.6, 0.4]), continuous=True)
    model = PriorSVC(prior, kernel=RBF(0.3)).fit(X, y)
    monkeypatch.setattr(parallel, "LEAST", 0)
    again = PriorSVC(prior, kernel=RBF(0.3), n_jobs=2).fit(X, y)
    np.testing.assert_allclose(again.decision_function(X), model.decision_function(X), atol=1e-10)
