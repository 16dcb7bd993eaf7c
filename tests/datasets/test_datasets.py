import re
import subprocess
import sys
from urllib.error import URLError

import numpy as np
import pytest
import sklearn.datasets
from sklearn.utils import Bunch, gen_batches

from priorsvm import load_mnist, load_usps
from priorsvm.datasets import _MNIST, _USPS
from priorsvm.errors import DataNotFound, InvalidInput

LOADERS = [
    pytest.param(_USPS, load_usps, id="usps"),
    pytest.param(_MNIST, load_mnist, id="mnist", marks=pytest.mark.slow),
]


def imitation(source, rng):
    """Return arrays in the format of the .npz file: the standard labels in random order, random pixels."""
    arrays = {}
    for part, counts in (("train", source.train_counts), ("test", source.test_counts)):
        y = rng.permutation(np.repeat(np.arange(10, dtype=np.uint8), counts))
        dtype = np.int16 if source is _USPS else np.uint8
        X = np.full((len(y), source.image_shape[0] * source.image_shape[1]), source.low, dtype=dtype)
        X[:, 7] = rng.integers(source.low, source.high, size=len(y), endpoint=True)
        X[0, 7] = source.high
        arrays |= {f"X_{part}": X, f"y_{part}": y}
    return arrays


def at_openml(source, arrays):
    """Return these arrays in the format of ``fetch_openml(as_frame=False)``: one table, labels as strings."""
    X = np.vstack([arrays["X_train"], arrays["X_test"]])
    y = np.concatenate([arrays["y_train"], arrays["y_test"]]).astype(int)
    if source is _USPS:
        return Bunch(data=X / 1000.0, target=np.array([str(label + 1) for label in y], dtype=object))
    return Bunch(data=X.astype(np.int64), target=np.array([str(label) for label in y], dtype=object))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("PRIORSVM_DATA", str(tmp_path))
    return tmp_path


@pytest.fixture
def openml(monkeypatch):
    """Replace the download: return the data sets put into this dict, and fail for all other data sets."""
    available = {}

    def fetch_openml(*, data_id, as_frame, parser):
        assert as_frame is False
        assert parser in {"pandas", "liac-arff"}
        if data_id not in available:
            raise URLError("no network")
        return available[data_id]

    monkeypatch.setattr(sklearn.datasets, "fetch_openml", fetch_openml)
    return available


def assert_same(digits, arrays, high):
    for part in ("train", "test"):
        X, y = getattr(digits, f"X_{part}"), getattr(digits, f"y_{part}")
        assert X.dtype == np.float64
        assert y.dtype == np.int64
        # In batches: another 376 MB of MNIST would be slow.
        for batch in gen_batches(len(X), 5000):
            assert np.array_equal(X[batch], arrays[f"X_{part}"][batch] / float(high))
        np.testing.assert_array_equal(y, arrays[f"y_{part}"])


@pytest.mark.parametrize(("source", "load"), LOADERS)
def test_file(source, load, folder, openml, rng):
    arrays = imitation(source, rng)
    np.savez(folder / f"{source.name}.npz", **arrays)
    digits = load()
    assert_same(digits, arrays, source.high)
    assert digits.X_train[0].reshape(digits.image_shape).shape == source.image_shape
    assert digits.background == digits.X_train.min() == {"usps": -1.0, "mnist": 0.0}[source.name]
    assert digits.X_train.max() == 1.0


@pytest.mark.parametrize(("source", "load"), LOADERS)
def test_openml_gives_equal_arrays(source, load, folder, openml, rng):
    arrays = imitation(source, rng)
    openml[source.openml_id] = at_openml(source, arrays)
    assert_same(load(), arrays, source.high)


def test_openml_rounding_restores_thousandths(folder, openml, rng):
    arrays = imitation(_USPS, rng)
    bunch = at_openml(_USPS, arrays)
    openml[_USPS.openml_id] = Bunch(data=bunch.data.astype(np.float32), target=bunch.target)
    assert_same(load_usps(), arrays, 1000)


def test_openml_rows_in_another_order_are_rejected(folder, openml, rng):
    bunch = at_openml(_USPS, imitation(_USPS, rng))
    openml[_USPS.openml_id] = Bunch(data=bunch.data[::-1], target=bunch.target[::-1])
    with pytest.raises(InvalidInput, match=r"OpenML data set 41082 is not .* y_train has class counts"):
        load_usps()


def test_openml_pixels_in_another_range_are_rejected(folder, openml, rng):
    bunch = at_openml(_USPS, imitation(_USPS, rng))
    openml[_USPS.openml_id] = Bunch(data=(bunch.data + 1) / 2, target=bunch.target)
    with pytest.raises(InvalidInput, match="X_train has values from"):
        load_usps()


@pytest.mark.parametrize(("source", "load"), LOADERS)
def test_neither_file_nor_network(source, load, folder, openml):
    file = folder / f"{source.name}.npz"
    with pytest.raises(DataNotFound, match=re.escape(f"{file} does not exist")) as caught:
        load()
    assert isinstance(caught.value.__cause__, URLError)
    assert isinstance(caught.value, FileNotFoundError)
    for words in ("PRIORSVM_DATA", "fetch_openml", "no network"):
        assert words in str(caught.value)


def test_variable_not_set_and_no_network(monkeypatch, openml):
    monkeypatch.delenv("PRIORSVM_DATA", raising=False)
    with pytest.raises(DataNotFound, match=r"PRIORSVM_DATA is not set.*folder that contains usps\.npz"):
        load_usps()


def test_file_without_an_array(folder, openml, rng):
    arrays = imitation(_USPS, rng)
    del arrays["y_test"]
    np.savez(folder / "usps.npz", **arrays)
    with pytest.raises(InvalidInput, match=r"usps\.npz cannot be read as .*: .*y_test") as caught:
        load_usps()
    assert isinstance(caught.value.__cause__, KeyError)


@pytest.mark.parametrize(
    "content", [b"", b"no archive", b"PK\x03\x04 cut off"], ids=["empty", "text", "damaged zip"]
)
def test_file_that_is_not_an_archive(content, folder, openml):
    (folder / "usps.npz").write_bytes(content)
    with pytest.raises(InvalidInput, match=r"usps\.npz cannot be read"):
        load_usps()


def test_file_with_a_single_array(folder, openml):
    with open(folder / "usps.npz", "wb") as file:
        np.save(file, np.zeros(3))
    with pytest.raises(InvalidInput, match=r"usps\.npz cannot be read"):
        load_usps()


def test_pickled_arrays_are_rejected(folder, openml, rng):
    np.savez(folder / "usps.npz", **(imitation(_USPS, rng) | {"y_test": np.array([None], dtype=object)}))
    with pytest.raises(InvalidInput, match="allow_pickle=False"):
        load_usps()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"X_train": lambda X: X[:-1]}, r"X_train has shape \(7290, 256\), expected \(7291, 256\)"),
        ({"X_test": lambda X: X[:, :-1]}, r"X_test has shape \(2007, 255\)"),
        ({"y_test": lambda y: y[:, None]}, r"y_test has shape \(2007, 1\)"),
        ({"y_train": lambda y: y + 1}, r"y_train has labels \(1, 2, .*10\)"),
        ({"y_train": lambda y: (y + 1) % 10}, "y_train has class counts"),
        (
            {"X_train": lambda X: X / 1000},
            r"X_train has values from \(-1\.0, 1\.0\), expected \(-1000, 1000\)",
        ),
    ],
    ids=["rows", "columns", "dimensions", "labels", "counts", "range"],
)
def test_file_of_another_data_set(change, message, folder, openml, rng):
    arrays = imitation(_USPS, rng)
    for name, function in change.items():
        arrays[name] = function(arrays[name])
    np.savez(folder / "usps.npz", **arrays)
    with pytest.raises(InvalidInput, match=r"usps\.npz is not the standard data set: " + message):
        load_usps()


def test_import_is_light():
    code = "import sys, priorsvm.datasets; print({'sklearn', 'scipy', 'cvxpy'} & set(sys.modules))"
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "set()"


@pytest.mark.data
@pytest.mark.parametrize(("source", "load"), LOADERS)
def test_real_data(source, load):
    digits = load()
    assert np.bincount(digits.y_train).tolist() == list(source.train_counts)
    assert np.bincount(digits.y_test).tolist() == list(source.test_counts)
    # The corner of an image is background, its middle row is not.
    assert np.median(digits.X_train[:, 0]) == digits.background
    centre = digits.X_train.reshape(-1, *source.image_shape)[:, source.image_shape[0] // 2, :].max(axis=1)
    assert np.median(centre) > 0.9
    assert digits.y_train[:5].tolist() == {"usps": [6, 5, 4, 7, 3], "mnist": [5, 0, 4, 1, 9]}[source.name]


@pytest.mark.data
def test_real_usps_has_the_published_values():
    X = load_usps().X_train
    np.testing.assert_array_equal(X[0, 7:10], [-0.631, 0.862, -0.167])
