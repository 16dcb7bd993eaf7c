"""Points for the tests of this folder."""

import numpy as np
import pytest

from priorsvm.function.atoms import Atoms


@pytest.fixture(scope="module")
def centres():
    X = np.random.default_rng(0).normal(size=(60, 4))
    X.setflags(write=False)
    return X


@pytest.fixture(scope="module")
def new():
    X = np.random.default_rng(1).normal(size=(25, 4))
    X.setflags(write=False)
    return X


@pytest.fixture(scope="module")
def atoms(centres):
    return Atoms.both(centres[:15], centres[10:22], np.random.default_rng(5).normal(size=(12, 4)))
