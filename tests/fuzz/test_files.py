"""Files with random changes: each is refused, or is a model after all checksums were made again."""

import io
import warnings
import zipfile

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import BaseEstimator

from priorsvm import Box, PriorSVC, load, save
from priorsvm.errors import BadFile
from priorsvm.io.persist import _sealed
from tests.fuzz.fuzzing import tries

pytest.importorskip("skops")


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return tmp_path_factory.mktemp("fuzz") / "model.skops"


@pytest.fixture(scope="module")
def content(path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(12, 2))
    save(PriorSVC(Box({0: (1, 2)}, 1, mu=1.0), kernel="rbf").fit(X, np.arange(12) % 2), path)
    return path.read_bytes()


def loaded(path, data):
    """Return the model, or None if the file is refused; any other error fails the test."""
    path.write_bytes(data)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return load(path)
        except BadFile:
            return None


CHANGES = st.lists(st.tuples(st.floats(0, 1), st.integers(1, 255)), min_size=1, max_size=4)


def changed(data, changes):
    """Return the bytes with some bytes replaced."""
    found = bytearray(data)
    for place, change in changes:
        found[min(int(place * len(found)), len(found) - 1)] ^= change
    return bytes(found)


@tries(150)
@given(CHANGES)
def test_changed_bytes_are_refused(path, content, changes):
    other = changed(content, changes)
    assert other == content or loaded(path, other) is None


@tries(100)
@given(st.floats(0, 1), st.binary(max_size=40), st.integers(0, 200))
def test_inserted_and_deleted_bytes_are_refused(path, content, place, inserted, deleted):
    at = int(place * len(content))
    other = content[:at] + inserted + content[at + deleted :]
    assert other == content or loaded(path, other) is None


@tries(150)
@given(st.integers(0, 10**6), CHANGES)
def test_changed_parts_with_new_checksums_are_refused_or_models(path, content, number, changes):
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    name = sorted(parts)[number % len(parts)] if number % 3 else "schema.json"
    parts[name] = changed(parts[name], changes)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for part, data in parts.items():
            archive.writestr(part, data)
    model = loaded(path, _sealed(buffer.getvalue()))
    assert model is None or isinstance(model, BaseEstimator)
