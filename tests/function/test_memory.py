"""Matrices that do not fit in memory are refused."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_array

from priorsvm import (
    RBF,
    Box,
    ClassCosts,
    Elastic,
    InvarianceHint,
    Monotone,
    MonotonicityHint,
    OddnessHint,
    PriorSVC,
    Rotation,
    Shift,
    VirtualSamples,
    Zoom,
)
from priorsvm.errors import TooLarge
from priorsvm.function.maps import FactorMap
from priorsvm.function.memory import refuse_beyond_memory, refusing_beyond_memory
from priorsvm.kernels import FromCallable


def test_what_does_not_fit_is_refused_with_its_size(centres, monkeypatch):
    monkeypatch.setattr(os, "sysconf", lambda name: {"SC_PAGE_SIZE": 4096, "SC_PHYS_PAGES": 2**18}[name])
    refuse_beyond_memory(8192, 8192, "the kernel matrix", "Set n_centres.")  # just half of 1 GiB
    with pytest.raises(
        TooLarge, match=r"the matrix would have 8192 x 8193 entries, 0\.5 GiB of the 1\.0 GiB.*Way out"
    ):
        refuse_beyond_memory(8192, 8193, "the matrix", "Way out.")


def test_kernel_models_refuse_before_any_matrix_is_computed(centres, monkeypatch):
    monkeypatch.setattr(os, "sysconf", lambda name: {"SC_PAGE_SIZE": 4096, "SC_PHYS_PAGES": 10}[name])

    def never(A, B):
        raise AssertionError("a matrix was computed")

    with pytest.raises(TooLarge, match=r"the kernel matrix would have 60 x 60 entries.*Set n_centres"):
        FactorMap(FromCallable(never), centres, None)
    with pytest.raises(TooLarge, match=r"the Nyström factor would have 60 x 50 entries.*Lower n_centres"):
        FactorMap(FromCallable(never), centres, None, 50)
    assert FactorMap(RBF(0.5), centres, None, 40).size == 40
    with pytest.raises(TooLarge, match="60 x 60"):
        PriorSVC(kernel="rbf", solver="CLARABEL").fit(centres, np.tile([0, 1], 30))


@pytest.mark.parametrize("form", [np.asarray, csr_array])
def test_linear_models_refuse_before_a_solver_compiles_them(rng, monkeypatch, form):
    """1e6 rows with the 1-norm and a hint take about 3 GB."""
    from priorsvm.function import memory
    from priorsvm.solve.routes.conic import Schur

    X = np.where(rng.random((200, 20)) < 0.5, rng.normal(size=(200, 20)), 0.0)
    entries = 200 * 260 + (7 * X.size + 49 * 20**2 if form is np.asarray else 7 * np.count_nonzero(X))
    model = PriorSVC(ClassCosts({0: 2.0}), norm="l1", solver="SCHUR")
    monkeypatch.setattr(memory, "memory", lambda: 2 * 8 * entries * 1.01)
    model.fit(form(X), np.arange(200) % 2)
    monkeypatch.setattr(memory, "memory", lambda: 2 * 8 * entries * 0.98)
    monkeypatch.setattr(Schur, "_run", lambda *_: pytest.fail("the problem was compiled"))
    with pytest.raises(TooLarge, match=r"SCHUR: its matrices would have 200 x \d+ entries.* Use fewer rows"):
        model.fit(form(X), np.arange(200) % 2)


@pytest.mark.slow
def test_the_size_of_a_linear_model_is_about_what_it_takes():
    """The peak of a process is between once and twice the numbers of the refusal."""
    from priorsvm.solve.routes.conic import OF_ENTRY, OF_ROW

    if not os.access("/proc/self/clear_refs", os.W_OK):
        pytest.skip("only Linux has the largest memory since a reset")
    ended = subprocess.run([sys.executable, "-c", PEAK], capture_output=True, text=True, check=True)
    taken = float(ended.stdout)
    counted = 8 * 100_000 * (OF_ROW + OF_ENTRY * 10)
    assert 0.7 * counted < taken < 2 * counted


PEAK = """
from pathlib import Path
import numpy as np
from priorsvm import MonotonicityHint, PriorSVC
def peak():  # getrusage would count the memory of the parent process
    status = Path("/proc/self/status").read_text()
    return 1024 * int(next(line for line in status.splitlines() if line.startswith("VmHWM")).split()[1])
def fit(n):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 10))
    y = (X[:, 0] + 0.5 * rng.normal(size=n) > 0).astype(int)
    PriorSVC(MonotonicityHint({0: 1}), norm="l1", solver="SCHUR").fit(X, y)
fit(100)
Path("/proc/self/clear_refs").write_text("5")
before = peak()
fit(100_000)
print(peak() - before)
"""
LIMITED = """
import os, resource, sys, warnings
import numpy as np
import priorsvm, cvxpy, sklearn.svm
from priorsvm import PriorSVC, Box, OddnessHint, RBF
from priorsvm.errors import TooLarge
from pathlib import Path
warnings.simplefilter("ignore")
rng = np.random.default_rng(0)
X = rng.normal(size=(30, 3))
y = np.arange(30) % 2
PriorSVC(OddnessHint(), kernel=RBF(1.0)).fit(X, y)
LARGE, LABELS = rng.normal(size=(6000, 3)), np.arange(6000) % 2
def fit(prior, solver):
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    limit = used + 150 * 2**20
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    try:
        PriorSVC(prior, kernel=RBF(1.0), solver=solver, max_seconds=20).fit(LARGE, LABELS)
    except TooLarge as error:
        print("TooLarge", error, flush=True)
for prior, solver in CASES:
    print(prior, solver, flush=True)
    child = os.fork()
    if child == 0:  # a process of its own for each limit
        code = 1
        try:
            fit(prior, solver)
            code = 0
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0, (prior, solver)
"""
LIMITED = LIMITED.replace(
    "CASES",
    """[
    (OddnessHint(), "auto"),
    (OddnessHint(), "CLARABEL"),
    (OddnessHint(), "SCHUR"),
    (Box({0: (0, 1)}, 1, hard=True), "auto"),
]""",
)


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="requires the address space of a process")
def test_a_process_with_a_hard_limit_gets_an_error_of_the_library():
    ended = subprocess.run([sys.executable, "-c", LIMITED], capture_output=True, text=True, timeout=240)
    assert ended.returncode == 0, (ended.stdout, ended.stderr)
    lines = ended.stdout.splitlines()
    assert len(lines) == 8, ended.stdout
    assert all(line.startswith("TooLarge") for line in lines[1::2]), ended.stdout


def test_a_memory_error_of_any_origin_becomes_an_error_with_its_size():
    allocation = r"not enough: Unable to allocate .* Use fewer rows"
    with pytest.raises(TooLarge, match=allocation), refusing_beyond_memory():
        np.empty((10**9, 10**9))
    with pytest.raises(TooLarge, match=r"is not enough\. Use fewer rows"), refusing_beyond_memory():
        raise MemoryError


@pytest.mark.parametrize(
    "block",
    [
        Box({0: (0, 1)}, 1, method="points", points=10**12),
        Box({0: (0, 1)}, 1, points=10**12),
        Box({0: (0, 1)}, 1, method="guaranteed", max_cells=10**12),
        Monotone({0: 1}, points=10**12),
        MonotonicityHint({0: 1}, pairs=10**10),
        VirtualSamples(Elastic((8, 8), copies=10**9)),
        InvarianceHint(Elastic((8, 8), copies=10**9)),
        VirtualSamples(Shift(np.ones(64), steps=10**9 + 1)),
        InvarianceHint(Rotation((8, 8), 10, steps=10**400 + 1)),
        VirtualSamples(Rotation((8, 8), 10, steps=999) @ Zoom((8, 8), 10, steps=999)),
    ],
    ids=lambda block: type(block).__name__,
)
def test_sizes_beyond_memory_are_refused_before(block):
    X = np.random.default_rng(0).random((20, 64))
    with pytest.raises(TooLarge, match=r"^block '.*': .* would take .* GiB\. .* must be at most [0-9]+"):
        PriorSVC(block, kernel="rbf").fit(X, np.arange(20) % 2)


def test_a_proof_of_too_many_cells_is_refused_before():
    X = np.random.default_rng(0).random((20, 3))
    model = PriorSVC(OddnessHint(), kernel="rbf").fit(X, np.arange(20) % 2)
    for cells in (10**12, 10**400, 1e9):
        with pytest.raises(TooLarge, match=r"verify: max_cells=.* must be at most 10000000"):
            model.verify(max_cells=cells)
    assert list(model.verify(max_cells=1e6)) == ["oddness_hint"]


def test_more_centres_than_rows_are_all_rows():
    X = np.random.default_rng(0).random((20, 3))
    y = np.arange(20) % 2
    many = PriorSVC(OddnessHint(), kernel="rbf", n_centres=10**15).fit(X, y)
    all_rows = PriorSVC(OddnessHint(), kernel="rbf").fit(X, y)
    np.testing.assert_allclose(many.decision_function(X), all_rows.decision_function(X), atol=1e-6)
