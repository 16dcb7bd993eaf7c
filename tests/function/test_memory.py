"""Matrices that do not fit in memory are refused."""

import os

import numpy as np
import pytest

from priorsvm import RBF, PriorSVC
from priorsvm.errors import TooLarge
from priorsvm.function.maps import FactorMap
from priorsvm.function.memory import refuse_beyond_memory
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
