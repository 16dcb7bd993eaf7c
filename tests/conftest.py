"""Settings and fixtures shared by all tests."""

import os

# Before NumPy is imported: two BLAS pools on two cores slow each other down.
for _variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_variable] = "1"
os.environ["MPLBACKEND"] = "Agg"

import numpy as np  # noqa: E402
import pytest  # noqa: E402


def pytest_collection_modifyitems(items):
    for item in items:
        if item.nodeid.startswith("docs/"):  # examples of the pages tell a story and take their time
            item.add_marker(pytest.mark.slow)
    if os.environ.get("PRIORSVM_DATA"):
        return
    skip = pytest.mark.skip(reason="needs the data sets: set PRIORSVM_DATA to the folder that holds them")
    for item in items:
        if item.get_closest_marker("data"):
            item.add_marker(skip)


@pytest.fixture
def rng():
    return np.random.default_rng(0)
