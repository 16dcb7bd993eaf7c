"""Rows of dask: arrays and DataFrames, lazy scores, and a cluster that loses a worker."""

import os
import time

import numpy as np
import pytest

from priorsvm import ClassCosts, PriorSVC
from priorsvm.errors import InvalidInput, InvalidType, MissingCapability, TooLarge
from priorsvm.large import dask_source, memory, task
from priorsvm.large.dask_source import DaskSource
from priorsvm.large.facts import ReadFacts, SomeRows
from priorsvm.large.sources import RowChunk
from priorsvm.solve.routes import chunks

da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
pd = pytest.importorskip("pandas")


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Make drawn rows and smaller problems smaller than the tests."""
    monkeypatch.setattr(task, "DRAWN", 300)
    monkeypatch.setattr(chunks, "LEAST", 150)
    monkeypatch.setattr(chunks, "FOR_FEATURE", 10)


def data(n=6000):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 4))
    return X, (X @ rng.normal(size=4) + rng.normal(size=n) > 0.5).astype(int)


PRIOR = ClassCosts("balanced")


@pytest.fixture(scope="module")
def known():
    return PriorSVC(PRIOR, solver="NORMAL").fit(*data())


@pytest.mark.parametrize("given", ["dask", "other chunks", "array"])
def test_arrays(given, known):
    X, y = data()
    lazy = da.from_array(X, chunks=(1100, 2))
    labels = {"dask": da.from_array(y, 1100), "other chunks": da.from_array(y, 999), "array": y}[given]
    model = PriorSVC(PRIOR).fit(lazy, labels)
    assert model.solver_ == "CHUNKS"
    assert model.objective_ == pytest.approx(known.objective_, rel=1e-9)
    assert model.score(lazy, labels) == pytest.approx(known.score(X, y), abs=1e-3)


def test_partitions_are_divided(known, monkeypatch):
    X, y = data()
    monkeypatch.setattr(memory, "MOST_ROWS", 1000)
    model = PriorSVC(PRIOR).fit(da.from_array(X, chunks=((2500, 0, 3500), 4)), y)
    alike = PriorSVC(PRIOR).fit([(X[:2500], y[:2500]), (X[2500:], y[2500:])])
    assert np.array_equal(model.coef_, alike.coef_)
    assert model.objective_ == pytest.approx(known.objective_, rel=1e-9)


def test_weights(known):
    X, y = data()
    weight = np.arange(len(y)) % 3.0
    lazy = da.from_array(X, chunks=(1100, 4))
    model = PriorSVC(PRIOR).fit(lazy, y, da.from_array(weight, 1100))
    other = PriorSVC(PRIOR, solver="NORMAL").fit(X, y, weight)
    assert model.objective_ == pytest.approx(other.objective_, rel=1e-9)


def test_tables(known):
    X, y = data()
    table = pd.DataFrame(X, columns=list("abcd")).assign(ill=y, w=1.0)
    lazy = dd.from_pandas(table, npartitions=5)
    model = PriorSVC(PRIOR).fit(lazy, "ill", sample_weight="w")
    assert model.feature_names_in_.tolist() == list("abcd")
    assert model.objective_ == pytest.approx(known.objective_, rel=1e-9)
    assert model.score(lazy, "ill") == pytest.approx(known.score(X, y), abs=1e-3)
    found = model.predict(lazy)
    assert isinstance(found, da.Array)
    assert np.mean(found.compute() == known.predict(X)) > 0.999
    series = PriorSVC(PRIOR).fit(lazy[list("abcd")], lazy["ill"])
    assert series.objective_ == pytest.approx(known.objective_, rel=1e-9)


def test_scores_are_lazy(known):
    X, _ = data()
    computed = []

    def noted(block):
        computed.append(len(block))
        return block

    lazy = da.from_array(X, chunks=(1100, 4)).map_blocks(noted, dtype=float, meta=np.empty((0, 0)))
    scores = known.decision_function(lazy)
    classes = known.predict(lazy)
    assert isinstance(scores, da.Array)
    assert isinstance(classes, da.Array)
    assert scores.shape == classes.shape == (len(X),)
    assert scores.chunks == classes.chunks == (lazy.chunks[0],)
    assert not computed
    np.testing.assert_allclose(scores.compute(), known.decision_function(X))
    assert np.array_equal(classes.compute(), known.predict(X))


def test_lazy_scores_of_three_classes_and_of_kernels():
    X, y = data(300)
    y = np.where(X[:, 0] > 1.0, 2, y)
    model = PriorSVC(kernel="rbf").fit(X, y)
    lazy = da.from_array(X, chunks=(110, 2))
    scores = model.decision_function(lazy)
    assert scores.shape == (300, 3)
    np.testing.assert_allclose(scores.compute(), model.decision_function(X))


def test_bad_collections():
    X, y = data(300)
    lazy = da.from_array(X, chunks=(110, 4))
    with pytest.raises(MissingCapability, match=r"X is a dask array, .* kernel='rbf' needs all rows"):
        PriorSVC(kernel="rbf").fit(lazy, y)
    with pytest.raises(InvalidInput, match=r"y is missing. Give a dask array, an array, or the name"):
        PriorSVC().fit(lazy)
    with pytest.raises(InvalidType, match=r"with 1 dimensions. Give a dask array with two dimensions"):
        PriorSVC().fit(lazy[:, 0], y)
    with pytest.raises(InvalidType, match=r"y is the text 'ill', and a dask array has no names"):
        PriorSVC().fit(lazy, "ill")
    with pytest.raises(
        InvalidInput, match=r"y has shape \(10,\), but X has 300 rows. Give a dask array with"
    ):
        PriorSVC().fit(lazy, y[:10])
    with pytest.raises(InvalidInput, match=r"y has shape \(10,\), but X has 300 rows."):
        PriorSVC().fit(lazy, da.from_array(y[:10], 5))
    unknown = lazy[lazy[:, 0] > 0]
    with pytest.raises(InvalidInput, match=r"y has shape \(300,\), but X has an unknown number of rows"):
        PriorSVC().fit(unknown, y)
    with pytest.raises(InvalidInput, match=r"y has 2 chunks, but X has 3. Give the same chunks"):
        PriorSVC().fit(unknown, da.from_array(y, 150))


def test_collections_that_are_no_matrices_of_numbers():
    import dask
    from scipy.sparse import csr_array

    X, y = data(300)
    lazy = da.from_array(X, chunks=(110, 4))
    with pytest.raises(InvalidType, match=r"X is a dask Delayed.* with no dimensions. Give a dask array"):
        PriorSVC().fit(dask.delayed(X), y)
    with pytest.raises(InvalidInput, match=r"X is a dask array and has no feature. Give at least one column"):
        PriorSVC().fit(lazy[:, :0], y)
    with pytest.raises(InvalidInput, match=r"chunk [0-9]: X is sparse"):
        PriorSVC().fit(lazy.map_blocks(csr_array), y)
    with pytest.raises(InvalidInput, match=r"chunk 2: row 79 has nan in column 0"):
        PriorSVC().fit(da.where(da.arange(300, chunks=110)[:, None] == 299, np.nan, lazy), y)
    model = PriorSVC().fit(lazy, y)
    with pytest.raises(InvalidType, match=r"X is a dask Array with 1 dimensions. Give a dask array with two"):
        model.predict(lazy[:, 0])


def test_chunks_of_unknown_length(known):
    X, y = data()
    lazy = da.from_array(X, chunks=(1100, 4))
    labels = da.from_array(y, 1100)
    some = X[:, 0] > 0
    rows = lazy[lazy[:, 0] > 0]
    model = PriorSVC(PRIOR).fit(rows, labels[lazy[:, 0] > 0])
    reference = PriorSVC(PRIOR, solver="NORMAL").fit(X[some], y[some])
    assert model.objective_ == pytest.approx(reference.objective_, rel=1e-9)
    found = model.predict(rows)
    assert np.isnan(found.shape[0])
    assert np.array_equal(found.compute(), model.predict(X[some]))
    assert model.score(rows, labels[lazy[:, 0] > 0]) == pytest.approx(model.score(X[some], y[some]))


def test_tables_whose_columns_are_numbers_have_no_names(known):
    X, y = data()
    lazy = dd.from_pandas(pd.DataFrame(X), npartitions=5)
    model = PriorSVC(PRIOR).fit(lazy, dd.from_pandas(pd.Series(y), npartitions=5))
    assert model.objective_ == pytest.approx(known.objective_, rel=1e-9)
    assert not hasattr(model, "feature_names_in_")
    assert np.array_equal(model.predict(lazy).compute(), model.predict(X))


def test_bad_tables():
    X, y = data(300)
    table = pd.DataFrame(X, columns=list("abcd")).assign(ill=y)
    lazy = dd.from_pandas(table, npartitions=3)
    with pytest.raises(InvalidInput, match=r"y is 'sick', but X has no such column. The columns are: a, b"):
        PriorSVC().fit(lazy, "sick")
    with pytest.raises(InvalidType, match=r"y is a ndarray. With a dask DataFrame give the name of a column"):
        PriorSVC().fit(lazy, y)
    with pytest.raises(InvalidInput, match=r"X is a dask DataFrame and has no feature"):
        PriorSVC().fit(lazy[["ill"]], "ill")
    with pytest.raises(InvalidInput, match=r"y has 2 partitions, but X has 3. Give the same partitions"):
        PriorSVC().fit(lazy, dd.from_pandas(table["ill"], npartitions=2))


def test_any_scheduler_of_dask_does_the_work(known):
    """Such as that of ray, which is a function with these parameters, too."""
    import dask

    X, y = data()
    given = []

    def scheduler(graph, keys, **options):
        given.append(len(keys))
        return dask.get(graph, keys, **options)

    with dask.config.set(scheduler=scheduler):
        model = PriorSVC(PRIOR).fit(da.from_array(X, chunks=(1100, 4)), y)
    assert model.objective_ == pytest.approx(known.objective_, rel=1e-9)
    assert sum(given) == 6 * model.history_[-1]["passes"]


@pytest.mark.slow
def test_the_scheduler_of_ray_does_the_work(known):
    ray = pytest.importorskip("ray")
    import dask
    from ray.util.dask import ray_dask_get

    X, y = data()
    lazy = da.from_array(X, chunks=(1100, 4))
    ray.init(num_cpus=2, include_dashboard=False)
    try:
        with dask.config.set(scheduler=ray_dask_get):
            model = PriorSVC(PRIOR).fit(lazy, y)
    finally:
        ray.shutdown()
    assert model.objective_ == pytest.approx(known.objective_, rel=1e-9)


def test_a_chunk_beyond_the_share_of_a_thread_is_refused_before_the_work(monkeypatch):
    import dask

    monkeypatch.setattr(memory, "FEWEST", 10)
    X, y = data()
    computed = []

    def noted(block):
        computed.append(len(block))
        return block

    lazy = da.from_array(X, chunks=(3000, 4)).map_blocks(noted, dtype=float, meta=np.empty((0, 0)))
    message = (
        r"chunk 0 of X has 3000 rows and takes 96 KB, but a thread may take 75 KB .*"
        r"Make chunks of at most 2343 rows where X is made, or raise the limit"
    )
    with dask.config.set(num_workers=10), pytest.raises(TooLarge, match=message):
        PriorSVC(memory_limit="3 MB").fit(lazy, y)
    assert not computed
    with dask.config.set(num_workers=10):
        PriorSVC(memory_limit="3 MB").fit(lazy.rechunk({0: 2000}), y)
    unknown = lazy[lazy[:, 0] > -np.inf]
    with dask.config.set(num_workers=10), pytest.raises(TooLarge, match=r"chunk \d of X has 3000 rows and"):
        PriorSVC(memory_limit="3 MB").fit(unknown, da.from_array(y, 3000))


@pytest.mark.parametrize("cores", [2, 16, 64])
def test_chunks_of_the_default_size_of_dask_fit_on_computers_with_many_cores(monkeypatch, cores):
    import dask

    monkeypatch.setattr(memory, "free_memory", lambda: 16e9)
    monkeypatch.setattr("dask.system.CPU_COUNT", cores)
    for columns in (20, 2000):
        lazy = da.zeros((200_000_000 // columns, columns), chunks=("auto", -1))
        y = da.zeros(len(lazy), chunks=(lazy.chunks[0],), dtype=int)
        assert memory.planned(DaskSource(lazy, y), None, False).limit == 8e9
    assert dask_source._own_threads() == min(cores, 8)
    with dask.config.set(scheduler="synchronous"):
        assert dask_source._own_threads() == 1


def test_chunks_of_a_partition_have_few_drawn_rows_in_all():
    X, y = data()
    y[:5990] = 0  # most rows of class 1 are in the last chunk
    parts = [RowChunk(X[k : k + 500], y[k : k + 500]) for k in range(0, 6000, 500)]
    work = ReadFacts(None, 4, 30, seed=3)
    found = work.partition(enumerate(parts))
    alone = [work(k, part) for k, part in enumerate(parts)]
    together, known = (SomeRows.stacked([facts.drawn for facts in each]) for each in (found, alone))
    assert len(together) == 30 + np.sum(y == 1) < len(known)
    assert np.array_equal(np.sort(together.random), np.sort(known.first(30).random))
    assert not work.enough


@pytest.fixture(scope="module")
def clusters():
    """Return a function that gives the client of a cluster of some workers, each a process."""
    distributed = pytest.importorskip("distributed")
    made = {}

    def client(n):
        if n not in made:
            cluster = distributed.LocalCluster(
                n_workers=n, threads_per_worker=1, processes=True, dashboard_address=None
            )
            made[n] = (cluster, distributed.Client(cluster, set_as_default=False))
        return made[n][1]

    yield client
    for cluster, opened in made.values():
        opened.close()
        cluster.close()


@pytest.mark.slow
def test_the_answer_does_not_depend_on_the_workers(clusters, known):
    X, y = data()
    lazy = da.from_array(X, chunks=(600, 4))
    alone = PriorSVC(PRIOR).fit(lazy, y)
    with clusters(1).as_current():
        one = PriorSVC(PRIOR).fit(lazy, y)
    with clusters(2).as_current():
        two = PriorSVC(PRIOR).fit(lazy, y)
    assert one.objective_ == pytest.approx(known.objective_, rel=1e-9)
    assert np.array_equal(one.coef_, alone.coef_)
    assert np.array_equal(one.coef_, two.coef_)


@pytest.mark.slow
def test_the_memory_of_a_worker_limits_its_chunks(monkeypatch):
    distributed = pytest.importorskip("distributed")
    monkeypatch.setattr(memory, "FEWEST", 10)
    X, y = data()
    with (
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=2, memory_limit="500 kB", processes=False, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster, set_as_default=False).as_current(),
        pytest.raises(TooLarge, match=r"chunk 0 of X has 6000 rows and takes 192 KB.* may take 62.5 KB"),
    ):
        PriorSVC().fit(da.from_array(X, chunks=(6000, 4)), y)


@pytest.mark.slow
@pytest.mark.parametrize("kills", [[(2, 2)], [(1, 3), (2, 2), (3, 1)]])
def test_a_killed_worker_costs_its_pass_only(clusters, monkeypatch, kills):
    def slowly(block):  # a local function: workers do not import this file
        time.sleep(0.05)
        return block

    X, y = data()
    lazy = da.from_array(X, chunks=(600, 4)).map_blocks(slowly, dtype=float, meta=np.empty((0, 0)))
    alone = PriorSVC(PRIOR).fit(da.from_array(X, chunks=(600, 4)), y)
    client = clusters(2)
    passes = []
    from priorsvm.large.loss_chunks import SourceChunks

    whole = SourceChunks.map

    def interrupted(self, work):
        passes.append(0)
        for found in whole(self, work):
            passes[-1] += 1
            if (len(passes), passes[-1]) in kills:
                pids = client.run(os.getpid)
                os.kill(next(iter(pids.values())), 9)
            yield found

    monkeypatch.setattr(SourceChunks, "map", interrupted)
    with client.as_current():
        model = PriorSVC(PRIOR).fit(lazy, y)
    assert np.array_equal(model.coef_, alone.coef_)
    assert len(passes) == model.history_[-1]["passes"] - 1 == alone.history_[-1]["passes"] - 1
    assert set(passes) == {10}
