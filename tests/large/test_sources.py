"""Row sources: memory maps, chunks, functions and Parquet folders, and every message about them."""

import subprocess
import sys

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError

from priorsvm import PriorSVC
from priorsvm.errors import DataNotFound, InvalidInput, InvalidType, PackageNotInstalled
from priorsvm.large import sources, task
from priorsvm.large.detect import is_source
from priorsvm.solve.routes import chunks

pd = pytest.importorskip("pandas")


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Make drawn rows, smaller problems and chunks smaller than the tests."""
    monkeypatch.setattr(task, "DRAWN", 300)
    monkeypatch.setattr(chunks, "LEAST", 150)
    monkeypatch.setattr(chunks, "FOR_FEATURE", 10)
    monkeypatch.setattr(sources, "SMALL_MAP", 1000)
    monkeypatch.setattr("priorsvm.large.memory.MOST_ROWS", 1000)


def data(n=4000):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 4)).astype(np.float32)
    y = (X @ rng.normal(size=4) + rng.normal(size=n) > 0.5).astype(int)
    return X, y


@pytest.fixture(scope="module")
def known():
    return PriorSVC(solver="NORMAL").fit(*data())


def check(model, known, X):
    """Compare a model of rows in chunks, and its methods on the rows, with the model in memory."""
    assert model.solver_ == "CHUNKS"
    assert model.objective_ == pytest.approx(known.objective_, rel=1e-9)
    scores = known.decision_function(data()[0])
    np.testing.assert_allclose(model.decision_function(X), scores, atol=1e-5)
    assert np.mean(model.predict(X) == known.predict(data()[0])) > 0.999


def on_disk(folder, X):
    mapped = np.memmap(folder / "rows.dat", dtype=X.dtype, mode="w+", shape=X.shape)
    mapped[:] = X
    mapped.flush()
    return np.memmap(folder / "rows.dat", dtype=X.dtype, mode="r", shape=X.shape)


def test_a_memory_map_is_read_in_chunks(tmp_path, known):
    X, y = data()
    mapped = on_disk(tmp_path, X)
    model = PriorSVC().fit(mapped, y)
    check(model, known, mapped)
    assert model.score(mapped, y) == pytest.approx(known.score(X, y), abs=1e-3)
    assert model.n_features_in_ == 4
    weight = np.arange(len(y)) % 3.0
    weighted = PriorSVC().fit(mapped, y, sample_weight=weight)
    assert weighted.objective_ == pytest.approx(PriorSVC().fit(X, y, weight).objective_, rel=1e-7)


def test_a_small_memory_map_is_an_array(tmp_path, monkeypatch):
    monkeypatch.setattr(sources, "SMALL_MAP", 2**23)
    X, y = data()
    mapped = on_disk(tmp_path, X)
    assert not is_source(mapped)
    assert PriorSVC(kernel="rbf").fit(mapped[:200], y[:200]).solver_ == "LIBSVM"


def test_labels_of_a_memory_map_have_its_rows(tmp_path):
    X, y = data()
    mapped = on_disk(tmp_path, X)
    with pytest.raises(InvalidInput, match=r"y has shape \(10,\), but X has 4000 rows"):
        PriorSVC().fit(mapped, y[:10])
    with pytest.raises(InvalidInput, match=r"sample_weight has shape \(3,\), but X has 4000 rows"):
        PriorSVC().fit(mapped, y, sample_weight=[1.0, 2.0, 3.0])
    with pytest.raises(InvalidInput, match=r"y is missing. Give one label for each row"):
        PriorSVC().fit(mapped)
    with pytest.raises(InvalidInput, match=r"X must have two dimensions, got 1"):
        PriorSVC().fit(mapped.reshape(-1), y)


def test_a_function_returns_chunks(known):
    X, y = data()
    calls = []

    def read():
        calls.append(1)
        for start in range(0, len(y), 900):
            yield X[start : start + 900], y[start : start + 900]

    model = PriorSVC().fit(read)
    check(model, known, read)
    assert model.score(read) == pytest.approx(known.score(X, y), abs=1e-3)
    assert len(calls) >= model.history_[-1]["passes"]


def test_a_generator_is_refused():
    X, y = data()
    with pytest.raises(InvalidType, match=r"can be read once.*Give the function that returns it"):
        PriorSVC().fit((X, y) for _ in range(2))


def test_chunks_have_their_labels():
    X, y = data()
    with pytest.raises(InvalidInput, match=r"and y is given, too. Leave it out"):
        PriorSVC().fit([(X, y)], y)
    with pytest.raises(InvalidInput, match=r"and sample_weight is given, too"):
        PriorSVC().fit([(X, y)], sample_weight=y)
    with pytest.raises(InvalidType, match=r"chunk 1 is a list. Each chunk must be a tuple \(X, y\)"):
        PriorSVC().fit([(X, y), [X, y]])
    with pytest.raises(InvalidType, match=r"returns a int. It must return an iterator"):
        PriorSVC().fit(lambda: 3)
    with pytest.raises(InvalidInput, match=r"X contains no chunk"):
        PriorSVC().fit(lambda: iter([]))
    with pytest.raises(InvalidInput, match=r"chunk 0: X has shape \(4000,\). Give two dimensions"):
        PriorSVC().fit(lambda: [(X[:, 0], y)])
    with pytest.raises(InvalidInput, match=r"chunk 0: X, y and sample_weight have 10, 4000 rows"):
        PriorSVC().fit(lambda: [(X, y[:10])])


def test_bad_values_name_the_chunk_and_the_column():
    X, y = data()
    bad = X.copy()
    bad[7, 2] = np.nan
    with pytest.raises(
        InvalidInput, match=r"chunk 1: row 7 has nan in column 2. Rows that are read in chunks"
    ):
        PriorSVC().fit([(X[:500], y[:500]), (bad[:500], y[:500])])
    bad[7, 2] = 1e30
    big = bad.astype(float) ** 4
    with pytest.raises(InvalidInput, match=r"chunk 0: .* is too large"):
        PriorSVC().fit([(big[:500], y[:500])])
    with pytest.raises(InvalidInput, match=r"chunk 1: X has shape \(500, 3\), but the first chunk has 4 col"):
        PriorSVC().fit([(X[:500], y[:500]), (X[:500, :3], y[:500])])
    with pytest.raises(InvalidInput, match=r"chunk 0: X has values that are not numbers"):
        PriorSVC().fit([(np.full((3, 2), "a"), y[:3])])
    with pytest.raises(InvalidInput, match=r"chunk 0: sample_weight must be nonnegative numbers"):
        PriorSVC().fit([(X[:9], y[:9], -np.ones(9))])
    with pytest.raises(
        InvalidInput, match=r"chunk 0: sample_weight has shape \(9, 1\), but there are 9 rows"
    ):
        PriorSVC().fit([(X[:9], y[:9], np.ones((9, 1)))])
    with pytest.raises(InvalidInput, match=r"chunk 0: y has shape \(9, 1\), but X has 9 rows"):
        PriorSVC().fit([(X[:9], y[:9, None])])


def test_bad_labels():
    X, y = data(400)
    with pytest.raises(InvalidInput, match=r"y contains one class only, 1"):
        PriorSVC().fit([(X, np.ones(400, int))])
    with pytest.raises(InvalidInput, match=r"y contains both strings and numbers"):
        PriorSVC().fit([(X, y), (X, y.astype(str))])
    with pytest.raises(InvalidInput, match=r"y has 1200 different labels"):
        PriorSVC().fit([(np.vstack([X] * 3), np.arange(1200))])
    with pytest.raises(ValueError, match=r"Unknown label type"):
        PriorSVC().fit([(X, X[:, 0])])
    with pytest.raises(InvalidInput, match=r"sample_weight is 0 for every row of class 1"):
        PriorSVC().fit([(X, y, 1.0 - y)])
    with pytest.raises(InvalidInput, match=r"Input y contains NaN or None"):
        PriorSVC().fit([(X, np.where(y == 1, None, "a"))])
    with pytest.raises(InvalidInput, match=r"X contains no rows"):
        PriorSVC().fit([(X[:0], y[:0])])


def test_rows_that_change_between_passes_are_refused():
    X, y = data()
    calls = []

    def shorter():
        calls.append(1)
        cut = 0 if len(calls) < 3 else 10
        yield X[: 600 - cut], y[: 600 - cut]
        yield X[600:], y[600:]

    with pytest.raises(InvalidInput, match=r"chunk 0 has 590 rows, and had another number of rows"):
        PriorSVC().fit(shorter)
    calls.clear()

    def fewer():
        calls.append(1)
        yield X[:600], y[:600]
        if len(calls) < 3:
            yield X[600:1200], y[600:1200]

    with pytest.raises(InvalidInput, match=r"X has 1 chunks, and had 2 chunks in the first pass"):
        PriorSVC().fit(fewer)


def changed(how):
    """Return a function whose chunks are changed from the third call on: the first reads the columns only."""
    X, y = data()
    calls = []

    def read():
        calls.append(1)
        rows, labels, weight = X.copy(), y.copy(), np.ones(len(y))
        if len(calls) > 2:
            rows, labels, weight = how(rows, labels, weight)
        for start in range(0, len(y), 900):
            part = slice(start, start + 900)
            yield rows[part], labels[part], weight[part]

    return read


def with_nan(X, y, weight):
    X[3999, 1] = np.nan
    return X, y, weight


CHANGES = {
    "another order": lambda X, y, weight: (X[::-1], y[::-1], weight),
    "noise": lambda X, y, weight: (X + np.random.default_rng(1).normal(size=X.shape), y, weight),
    "labels": lambda X, y, weight: (X, 1 - y, weight),
    "weights": lambda X, y, weight: (X, y, 2.0 * weight),
}


@pytest.mark.parametrize("how", CHANGES)
def test_other_rows_in_a_later_pass_are_refused(how):
    with pytest.raises(InvalidInput, match=r"chunk 0 has other rows, labels or weights than in the first"):
        PriorSVC().fit(changed(CHANGES[how]))


def test_values_of_later_passes_are_checked():
    with pytest.raises(InvalidInput, match=r"chunk 4: row 399 has nan in column 1"):
        PriorSVC().fit(changed(with_nan))
    PriorSVC().fit(changed(lambda *parts: parts))


def test_sparse_chunks_are_refused():
    X, y = data()
    for chunk in (sparse.csr_array(X), sparse.csr_matrix(X)):
        with pytest.raises(InvalidInput, match=r"chunk 1: X is sparse.*Give X.toarray\(\)"):
            PriorSVC().fit([(X, y), (chunk, y)])


def test_chunks_without_rows_change_nothing(known):
    X, y = data()
    empty = (X[:0], y[:0])
    model = PriorSVC().fit([empty, (X[:900], y[:900]), empty, (X[900:], y[900:]), empty])
    assert model.objective_ == pytest.approx(known.objective_, rel=1e-9)
    assert model.predict([empty, (X[:5], y[:5])]).shape == (5,)


def test_classes_of_later_chunks_are_classes():
    X, y = data()
    labels = np.array(["no", "yes"])[y].astype(object)
    labels[3900:] = "perhaps, later"
    model = PriorSVC().fit([(X[:2000], labels[:2000]), (X[2000:], labels[2000:].tolist())])
    assert model.classes_.tolist() == ["no", "perhaps, later", "yes"]


def test_new_rows_need_no_labels(known):
    X, y = data()
    model = PriorSVC().fit([(X, y)])
    expected = model.predict(X)
    parts = [X[:1500], X[1500:]]
    for new in (lambda: iter(parts), [(part,) for part in parts], [(part, None) for part in parts]):
        assert np.array_equal(model.predict(new), expected)
    with pytest.raises(InvalidType, match=r"X is a generator, which can be read once"):
        model.predict(part for part in parts)
    with pytest.raises(ValueError, match=r"X has 3 features, but PriorSVC is expecting 4"):
        model.predict([(X[:, :3],)])


def test_models_that_are_not_fitted():
    X, y = data()
    for method in ("predict", "decision_function"):
        with pytest.raises(NotFittedError):
            getattr(PriorSVC(), method)([(X, y)])
    with pytest.raises(NotFittedError):
        PriorSVC().score([(X, y)])


def tables():
    X, y = data()
    table = pd.DataFrame(X, columns=["age", "dose", "size", "time"])
    return table, y


def test_chunks_may_be_tables(known):
    table, y = tables()
    parts = [(table[:1500], y[:1500]), (table[1500:][["time", "age", "dose", "size"]], y[1500:])]
    model = PriorSVC().fit(parts)
    assert model.feature_names_in_.tolist() == ["age", "dose", "size", "time"]
    assert model.objective_ == pytest.approx(known.objective_, rel=1e-9)
    with pytest.raises(InvalidInput, match=r"chunk 1 has no column 'dose', which the first chunk has"):
        PriorSVC().fit([parts[0], (table.drop(columns="dose"), y)])
    with pytest.raises(InvalidInput, match=r"chunk 0: column 'dose' is not a column of numbers"):
        PriorSVC().fit([(table.assign(dose="high"), y)])
    with pytest.raises(InvalidInput, match=r"column 'dose' is not a column of numbers.*one 0/1 column for"):
        PriorSVC().fit([(table.assign(dose=pd.Categorical(y)), y)])
    whole = table.assign(dose=pd.array(y, dtype="Int64"))
    assert PriorSVC().fit([(whole, y)]).status_ == "optimal"
    whole.loc[3000, "dose"] = pd.NA
    with pytest.raises(InvalidInput, match=r"chunk 0 from row 3000: row 0 has nan in column 'dose'"):
        PriorSVC().fit([(whole, y)])
    X, _ = data()
    model.fit([(X, y)])
    assert not hasattr(model, "feature_names_in_")


def test_tables_whose_columns_are_numbers_have_no_names(known):
    X, y = data()
    table = pd.DataFrame(X)
    given = [(table[:1500], y[:1500]), (table[1500:], y[1500:])]
    model = PriorSVC().fit(given)
    check(model, known, given)
    assert not hasattr(model, "feature_names_in_")
    assert np.array_equal(model.predict(table), model.predict(X))
    assert model.score(given) == pytest.approx(known.score(X, y), abs=1e-3)
    with pytest.raises(InvalidInput, match=r"chunk 0: the name of column 1 is not a text. Use X.columns ="):
        PriorSVC().fit([(table.rename(columns={0: "age"}), y)])
    with pytest.raises(InvalidInput, match=r"chunk 0: two columns have the name 'age'. Give each column its"):
        PriorSVC().fit([(table.set_axis(["age", "age", "dose", "time"], axis=1), y)])


def test_chunks_may_be_a_tuple_and_have_two_dimensions(known):
    X, y = data()
    given = ((X[:1500], y[:1500]), (X[1500:], y[1500:]))
    check(PriorSVC().fit(given), known, given)
    with pytest.raises(InvalidInput, match=r"chunk 0: X has shape \(4000, 4, 1\). Give two dimensions"):
        PriorSVC().fit([(X[:, :, None], y)])


@pytest.mark.parametrize("dtype", ["datetime64[D]", "timedelta64[s]", "U4"])
def test_types_that_are_not_numbers_are_refused(dtype):
    X = np.ones((4, 2), int).astype(dtype)
    with pytest.raises(InvalidInput, match=r"chunk 0: X has values that are not numbers: their type is"):
        PriorSVC().fit([(X, [0, 1, 0, 1])])


@pytest.mark.parametrize("dtype", [bool, np.uint8, np.int64, np.float16, np.longdouble, object])
def test_types_of_numbers(dtype):
    X, y = data()
    X = np.asfortranarray(np.abs(3 * X).astype(int).astype(dtype))
    model = PriorSVC().fit([(X[:1500], y[:1500]), (X[1500:], y[1500:])])
    reference = PriorSVC(solver="CLARABEL").fit(X.astype(float), y)
    assert model.objective_ == pytest.approx(reference.objective_, rel=1e-7)


def test_no_new_rows_have_no_scores():
    X, y = data()
    model = PriorSVC().fit([(X, np.array(["no", "yes"])[y])])
    assert model.predict([(X[:0],)]).shape == (0,)
    assert model.predict([(X[:0],), (X[:2],)]).dtype == model.classes_.dtype
    three = PriorSVC().fit([(X, y + (X[:, 0] > 1.0))])
    assert three.decision_function([(X[:0],)]).shape == (0, 3)


def test_the_rows_that_a_function_returns_once_are_refused():
    X, y = data()
    once = iter([(X[:1500], y[:1500]), (X[1500:], y[1500:])])
    with pytest.raises(InvalidInput, match=r"X has 0 chunks, and had .* Give a source that returns the same"):
        PriorSVC().fit(lambda: once)


def test_an_interrupted_fit_keeps_the_model():
    X, y = data()
    model = PriorSVC().fit([(X, y)])
    before = model.__dict__.copy()
    calls = []

    def read():
        calls.append(1)
        yield X[:1500], y[:1500]
        if len(calls) > 2:
            raise KeyboardInterrupt
        yield X[1500:], y[1500:]

    with pytest.raises(KeyboardInterrupt):
        model.fit(read)
    assert vars(model) == before


@pytest.fixture
def folder(tmp_path):
    pytest.importorskip("pyarrow")
    table, y = tables()
    table = table.assign(ill=np.array(["no", "yes"])[y], weight=1.0 + np.arange(len(y)) % 2)
    table[:1500].to_parquet(tmp_path / "part0.parquet")
    table[1500:].to_parquet(tmp_path / "part1.parquet")
    return tmp_path


def test_a_folder_of_parquet_files(folder, known):
    table, y = tables()
    both = PriorSVC(solver="NORMAL").fit(table.assign(weight=1.0 + np.arange(len(y)) % 2), y)
    assert PriorSVC().fit(str(folder), "ill").objective_ == pytest.approx(both.objective_, rel=1e-8)
    model = PriorSVC().fit(folder, "ill", sample_weight="weight")
    weighted = PriorSVC(solver="NORMAL").fit(table, y, 1.0 + np.arange(len(y)) % 2)
    assert model.objective_ == pytest.approx(weighted.objective_, rel=1e-8)
    assert model.feature_names_in_.tolist() == ["age", "dose", "size", "time"]
    assert model.classes_.tolist() == ["no", "yes"]
    assert np.mean(model.predict(folder) == np.array(["no", "yes"])[weighted.predict(table)]) > 0.999
    assert model.score(folder, "ill") == pytest.approx(weighted.score(table, y), abs=1e-3)


def test_parquet_files_with_columns_in_another_order_and_of_other_types(folder, known):
    table, y = tables()
    table = table.assign(ill=y)
    (folder / "rows").mkdir()
    table[:1500].to_parquet(folder / "rows" / "part0.parquet")
    second = table[1500:][["ill", "time", "size", "dose", "age"]].astype({"age": np.float64})
    second.to_parquet(folder / "rows" / "part1.parquet")
    model = PriorSVC().fit(folder / "rows", "ill")
    assert model.feature_names_in_.tolist() == ["age", "dose", "size", "time"]
    assert model.objective_ == pytest.approx(known.objective_, rel=1e-9)
    table[:1500].astype({"age": int}).to_parquet(folder / "rows" / "part0.parquet")
    with pytest.raises(InvalidInput, match=r"truncated .*Write all files with the same types of columns"):
        PriorSVC().fit(folder / "rows", "ill")
    table[["ill"]].to_parquet(folder / "labels.parquet")
    with pytest.raises(InvalidInput, match=r"labels.parquet' and has no feature. Give at least one column"):
        PriorSVC().fit(folder / "labels.parquet", "ill")


def test_bad_parquet_folders(folder, monkeypatch):
    with pytest.raises(
        InvalidInput, match=r"y must be the name of a column of .*, got 'healthy'. The columns"
    ):
        PriorSVC().fit(folder, "healthy")
    with pytest.raises(InvalidInput, match=r"sample_weight must be the name of a column"):
        PriorSVC().fit(folder, "ill", sample_weight=[1.0])
    with pytest.raises(InvalidInput, match=r"y is missing. Give the name of the column of labels"):
        PriorSVC().fit(folder)
    with pytest.raises(DataNotFound, match=r"there is no such Parquet file or folder"):
        PriorSVC().fit(str(folder / "absent"), "ill")
    other = folder / "other"
    other.mkdir()
    with pytest.raises(DataNotFound, match=r"there is no Parquet file in this folder"):
        PriorSVC().fit(other, "ill")
    (other / "rows.csv").write_text("a,ill\n1,0\n")
    for path in (other, other / "rows.csv"):
        with pytest.raises(InvalidInput, match=r"not a Parquet file or a folder of.*function that returns"):
            PriorSVC().fit(path, "ill")
    model = PriorSVC().fit(*data())
    with pytest.raises(InvalidInput, match=r"X is a path, but the model was fitted on columns without names"):
        model.predict(str(folder))
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    with pytest.raises(PackageNotInstalled, match=r"requires the package pyarrow: pip install pyarrow\."):
        PriorSVC().fit(folder, "ill")


WITHOUT = """
import sys
for name in ("dask", "distributed", "pyarrow", "psutil", "pandas"):
    sys.modules[name] = None
import numpy as np
from priorsvm import PriorSVC
from priorsvm.errors import PackageNotInstalled
rng = np.random.default_rng(0)
X = rng.normal(size=(300, 3))
y = (X[:, 0] + rng.normal(size=300) > 0).astype(int)
known = PriorSVC(solver="NORMAL").fit(X, y)
model = PriorSVC().fit(lambda: iter([(X[:200], y[:200]), (X[200:], y[200:])]))
assert abs(model.objective_ / known.objective_ - 1) < 1e-8
assert model.predict([(X, y)]).shape == (300,)
try:
    PriorSVC().fit(".", "ill")
except PackageNotInstalled as error:
    print(error)
"""


@pytest.mark.slow
def test_the_extra_is_needed_for_parquet_only():
    done = subprocess.run([sys.executable, "-c", WITHOUT], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "a Parquet folder requires the package pyarrow: pip install pyarrow." in done.stdout


def test_one_row_or_label_that_changes_between_passes_is_refused():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(900, 2))
    y = (X[:, 0] + rng.normal(size=900) > 0).astype(int)

    def moving(part):
        calls = iter(range(100))

        def chunks():
            number = next(calls)
            rows, labels = X.copy(), y.copy()
            if part == "row":
                rows[450, 1] += 100.0 * number
            else:
                labels[451:455] = number % 2
            yield rows, labels

        return chunks

    for part in ("row", "label"):
        with pytest.raises(InvalidInput, match="same rows in every pass"):
            PriorSVC().fit(moving(part))


def test_complex_chunks_and_broken_files_are_refused(tmp_path):
    X = np.random.default_rng(0).normal(size=(50, 2))
    y = np.arange(50) % 2
    with pytest.raises(InvalidInput, match="complex numbers"):
        PriorSVC().fit([(X + 1j, y)])
    file = tmp_path / "rows.parquet"
    file.write_bytes(b"PAR1xx")
    with pytest.raises(InvalidInput, match="not a Parquet file"):
        PriorSVC().fit(file, "y")
