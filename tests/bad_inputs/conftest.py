"""Fixtures of the tests of bad inputs."""

import cvxpy as cp
import pytest

from priorsvm import Kernel
from tests.bad_inputs.cases import HeavyWork


@pytest.fixture
def no_heavy_work(monkeypatch):
    """Fail as soon as a kernel matrix is computed, a problem is assembled, or LIBSVM runs."""

    def fail(*_, **__):
        raise HeavyWork

    monkeypatch.setattr(Kernel, "__call__", fail)
    monkeypatch.setattr(Kernel, "diag", fail)
    monkeypatch.setattr(cp.Problem, "__init__", fail)
    monkeypatch.setattr("priorsvm.solve.routes.libsvm.fit_libsvm", fail)
