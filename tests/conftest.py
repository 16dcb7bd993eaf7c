"""Settings and fixtures shared by all tests."""

import inspect
import os
import re
import sys
from importlib.util import find_spec

# Before NumPy is imported: two BLAS pools on two cores slow each other down.
for _variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_variable] = "1"
os.environ["MPLBACKEND"] = "Agg"

import numpy as np  # noqa: E402
import pytest  # noqa: E402

# Solvers that have no wheel on some platforms: tests that name them are skipped there.
MISSING = [name for name in ("ECOS", "QOCO") if find_spec(name.lower()) is None]


def names_a_missing_solver(item):
    """Whether the parameters or the body of a test name a solver that is not installed."""
    text = item.name + re.sub(r"(?s)\A.*?^def ", "", inspect.getsource(item.function), flags=re.M)
    return any(re.search(rf"\b{name}(_BB)?\b", text, re.I) for name in MISSING)


def pytest_collection_modifyitems(items):
    skip = pytest.mark.skip(reason=f"{', '.join(MISSING)} cannot be installed here")
    for item in items if MISSING else ():
        if hasattr(item, "function") and names_a_missing_solver(item):
            item.add_marker(skip)
    for item in items:
        if item.nodeid.startswith("docs/"):  # examples of the pages tell a story and take their time
            item.add_marker(pytest.mark.slow)
    if os.environ.get("PRIORSVM_DATA"):
        return
    skip = pytest.mark.skip(reason="needs the data sets: set PRIORSVM_DATA to the folder that holds them")
    for item in items:
        if item.get_closest_marker("data"):
            item.add_marker(skip)


def pytest_sessionfinish(session):
    """Save what a worker measured: pytest-xdist kills a worker whose exit takes longer than ten seconds."""
    coverage = sys.modules.get("coverage")
    measured = None if coverage is None else coverage.Coverage.current()
    if measured is not None and hasattr(session.config, "workerinput"):
        measured.stop()
        measured.save()


@pytest.fixture
def rng():
    return np.random.default_rng(0)
